// The endpoints of a world: their health, their secrets, and the actions on them.

import { useEffect, useState } from "preact/hooks";
import { isReport } from "./capture.js";
import { exact, worldNow } from "./clockface.js";
import { failing } from "./health.js";
import { Ticks } from "./overview.js";
import { act, revision, clock, endpoints, messages } from "./state.js";
import { Act, Copy, Empty, Go, html, Panel, Sure, Trouble } from "./ui.js";
import { day, time, until } from "./words.js";

/** The name of an endpoint, from its id. */
export const nameOf = (id) => {
  const found = endpoints.value.find((one) => one.id === id);
  return found ? found.description || found.url : "a deleted endpoint";
};

const INSIDE = /^http:\/\/receiver\.invalid\//;

/** Whether an endpoint is a built-in receiver. */
export const isInside = ({ url }) => INSIDE.test(url);

/** Adds a built-in receiver, which refuses each message twice before it accepts it. */
export const useInside = () => act("POST", ["receivers"], { answers: [500, 500, 200] });

/** A form for a built-in receiver, with the answers to the attempts at each message. */
function Inside({ close }) {
  const [text, setText] = useState("500, 500, 200");
  const answers = text.split(/[\s,]+/).filter(Boolean).map(Number);
  const run = async () => {
    await act("POST", ["receivers"], { answers });
    close();
  };
  return html`<form class="pad col line" onSubmit=${(event) => event.preventDefault()}><h2>Or a built-in receiver</h2>
    <label>Its answers to each message, in turn<input value=${text} onInput=${(event) => setText(event.target.value)} /></label>
    <${Act} class="btn" run=${run} disabled=${!answers.length || answers.some((one) => !Number.isInteger(one))} done="Added">Use the built-in receiver<//></form>`;
}

/** The deliveries to a built-in receiver, newest first. */
export function ReceivedBy({ one }) {
  const [page, setPage] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    act("GET", ["receivers", one.id, "received"]).then((found) => { setPage(found); setError(null); }, setError);
  }, [one.id, revision.value]);
  const list = [...(page?.received ?? [])].reverse();
  return html`<${Panel} title="What the built-in receiver received" about=${page ? `the last ${list.length}` : ""}>
    <${Trouble} error=${error} />
    ${list.length ? html`<div class="scroll" tabindex="0"><table><thead><tr><th>at</th><th>message</th><th>try</th><th>signature</th><th>answered</th></tr></thead><tbody>
      ${list.map((got) => html`<tr><td>${exact(got.at)}</td><td><${Go} room="webhooks" id=${got.message_id}>${got.event_type ?? got.message_id}<//></td><td>${got.attempt}</td>
        <td class=${got.genuine ? "" : "x"}>${got.genuine ? "genuine" : got.says}</td><td><b class=${`code${Math.floor((got.answer ?? 999) / 100)}`}>${got.answer ?? "too late"}</b></td></tr>`)}</tbody></table></div>`
    : page ? html`<${Empty}><p class="q">Nothing has been sent to it yet.</p><//>` : ""}<//>`;
}

/** A form for a new endpoint. */
export function NewEndpoint({ close }) {
  const [url, setUrl] = useState("");
  const [name, setName] = useState("");
  const run = async () => {
    await act("POST", ["endpoints"], { url, ...(name ? { description: name } : {}) });
    close();
  };
  return html`<form class="pad col" onSubmit=${(event) => event.preventDefault()}><label>Address<input value=${url} placeholder="http://127.0.0.1:9000/hook"
      onInput=${(event) => setUrl(event.target.value)} /></label>
    <label>Name<input value=${name} onInput=${(event) => setName(event.target.value)} /></label>
    <div class="row wrap"><${Act} class="btn p" run=${run} disabled=${!url} done="Added">Add it<//>
    <button type="button" class="btn g" onClick=${close}>Cancel</button></div></form><${Inside} close=${close} />`;
}

const Secret = ({ title, secret, shown }) => html`<dt>${title}</dt><dd><code>${shown ? secret : `${secret.slice(0, 6)}••••••••`}</code>
  ${shown ? html`<${Copy} text=${secret} what=${`the ${title}`} />` : ""}</dd>`;

function Secrets({ one }) {
  const [shown, setShown] = useState(false);
  if (isReport) return html`<p class="q sm">A capture has no secrets.</p>`;
  return html`<dl class="secs"><${Secret} title="secret" secret=${one.secret} shown=${shown} />
    ${one.old_secrets.map((old) => html`<${Secret} key=${old.until} title=${`until ${day(old.until)}, ${time(old.until).slice(0, 5)}`} secret=${old.secret} shown=${shown} />`)}</dl>
    ${one.old_secrets.length ? html`<p class="q sm">Webhooks are signed with each of them.</p>` : ""}
    <div class="row wrap"><button class="btn s" onClick=${() => setShown(!shown)}>${shown ? "Hide" : "Show"} the ${one.old_secrets.length ? "secrets" : "secret"}</button>
    <${Act} class="btn s" run=${() => act("POST", ["endpoints", one.id, "rotate-secret"], { grace_s: 3600 })} done="A new secret signs; the old one is valid for an hour">Rotate<//></div>`;
}

/** The time this many hours ago, on the world's clock. */
const ago = (hours) => new Date(worldNow().getTime() - hours * 3_600_000).toISOString();

function Recover({ one }) {
  const [hours, setHours] = useState("24");
  return html`<div class="row wrap"><label class="inl">Missed in the last <select value=${hours} onChange=${(event) => setHours(event.target.value)}>
    ${[["1", "1 hour"], ["24", "1 day"], ["168", "7 days"]].map(([value, text]) => html`<option value=${value} selected=${value === hours}>${text}</option>`)}</select></label>
    <${Act} class="btn s" run=${() => act("POST", ["endpoints", one.id, "recover"], { since: ago(Number(hours)) })}
      done=${({ messages: count }) => `${count} ${count === 1 ? "message is" : "messages are"} sent again`}>Recover<//></div>`;
}

function Health({ one }) {
  if (one.disabled) return html`<p class="sm x">Disabled: ${one.disabled_reason}.</p>`;
  if (!one.disables_at || !clock.value) return null;
  return html`<p class="sm x">Failing since ${day(one.failing_since)}, ${time(one.failing_since).slice(0, 5)}. The first failure
    from ${day(one.disables_at)} on, in ${until(clock.value.now, one.disables_at)}, disables it.</p>`;
}

/** An endpoint in the list. */
export function Endpoint({ one }) {
  const bad = failing(one, messages.value);
  return html`<li class="ep"><div class="row"><b class="el">${one.description || (isInside(one) ? "Built-in receiver" : "Endpoint")}</b><span class="sp"></span>
      ${one.disabled ? html`<span class="tag">disabled</span>` : bad ? html`<span class="x sm">failing</span>` : ""}</div>
    ${isInside(one) && !isReport ? html`<${Go} room="webhooks" query=${{ receiver: one.id }} class="el">What it received<//>` : html`<code class="el q">${one.url}</code>`}<${Ticks} endpoint=${one} /><${Health} one=${one} />
    <span class="q sm">${one.event_types.length ? one.event_types.join(", ") : "all events"}</span>
    <details><summary class="sm">More</summary><div class="col"><${Secrets} one=${one} />
      ${one.disabled || isReport ? "" : html`<${Recover} one=${one} />`}
      <div class="row wrap">${one.disabled ? html`<${Act} class="btn s" run=${() => act("POST", ["endpoints", one.id, "enable"])} done="Enabled">Enable<//>`
      : html`<${Act} class="btn s" run=${() => act("PATCH", ["endpoints", one.id], { disabled: true })} done="Disabled">Disable<//>`}
      ${isReport ? "" : html`<${Sure} class="btn s dng" ask="Remove this endpoint and its pending deliveries?" yes="Remove it" run=${() => act("DELETE", ["endpoints", one.id])} done="Removed">Remove<//>`}</div></div></details></li>`;
}
