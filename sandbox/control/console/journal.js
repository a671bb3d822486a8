// Journal: each request with the reasons for its answer, to read, copy, and send again.

import { useState } from "preact/hooks";
import { ask, inWorld } from "./api.js";
import { brief, exact } from "./clockface.js";
import { asMarkdown } from "./markdown.js";
import { isReport } from "./capture.js";
import { counted, everyRow, Older, useAnswer, useRows } from "./reading.js";
import { go, refine, route } from "./route.js";
import { act, listed, messages, named, platformUrl, requests, session, world } from "./state.js";
import { Act, Code, copy, Copy, Empty, Go, Heading, html, Icon, Json, Panel, Status, Steps, Trouble, walk, What } from "./ui.js";
import { amountOf, curl, decider, purpose, took } from "./words.js";

/** Splits a question into a query for the server, null without words, and a filter for its rows. */
function parted(question) {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  const named = words.map((word) => /^(status|route|method):(.+)$/.exec(word)).filter(Boolean);
  const free = words.filter((word) => !/^(status|route|method):/.test(word)).join(" ");
  const status = named.find(([, name, value]) => name === "status" && /^\d{3}$/.test(value))?.[2];
  const query = everyRow({ ...(free ? { q: free.slice(0, Q_MAX) } : {}), ...(status ? { status } : {}) });
  return { query: words.length ? query : null,
    fits: (row) => named.every(([, name, value]) => String(row[name] ?? "").toLowerCase().startsWith(value)) };
}

const Q_MAX = 200;

/** What a list would say about a request that is read whole. */
const short = ({ request, response, outcome }) => ({ amount: request?.amount, decided_by: outcome?.source,
  rule: outcome?.rule, outcome: outcome?.key,
  payment: response?.transaction_id ? { total: response.total_amount, currency: response.currency } : null });

const Row = ({ entry, on }) => html`<li><${Go} room="journal" id=${entry.id} query=${route.value.query}
  class=${`row two ${on ? "on" : ""}`}><time class="qq">${brief(entry.at)}</time>
  <${What} entry=${entry} />${entry.status === null ? html`<span class="tag">waits</span>` : html`<${Code} status=${entry.status} />`}
  <span></span><span class="qq el sm">${entry.why ? named(entry.why) : decider(entry)} ${entry.payment?.merchant ?? ""}</span><span class="qq sm r">${entry.origin === "console" ? "console" : ""}</span><//></li>`;

/** The headers of a request that change the answer: an outcome, and media types other than JSON. */
const unusual = ({ headers }) => Object.fromEntries(Object.entries(headers)
  .filter(([name, value]) => name !== "user-agent" && !["*/*", "application/json"].includes(value)));

function asCurl(entry) {
  const path = entry.path.split("/").map(encodeURIComponent).join("/");
  const query = entry.query ? `?${encodeURI(entry.query).replaceAll("%25", "%").replaceAll("#", "%23")}` : "";
  return curl({ method: entry.method, url: platformUrl() + path + query, headers: unusual(entry),
    header: session.value.api_key_header, key: entry.key && "$API_KEY",
    body: entry.method === "GET" ? null : entry.request });
}

/** The event of a message, if this page knows it, or else its id. */
const eventOf = (id) => messages.value.find((one) => one.id === id)?.event_type ?? id;

/** The id of what a request was to act on, from its path or from the refusal of its target. */
const targetOf = ({ path, decisions }) => {
  const { step, reason } = decisions?.at(-1) ?? {};
  return /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(`${path} ${step === "target" ? reason : ""}`)?.[0] ?? "";
};

function Replay({ entry }) {
  const [body, setBody] = useState(null);
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState(null);
  const run = async () => {
    const change = {};
    if (key) change.key = key;
    if (body !== null) {
      try {
        change.body = JSON.parse(body);
      } catch (error) {
        setProblem({ message: "The body is not JSON.", details: error.message });
        return;
      }
    }
    setProblem(null);
    const answer = await act("POST", ["requests", entry.id, "replay"], change);
    go({ room: "journal", id: answer.request_id });
  };
  return html`<${Panel} title="Send it again" about="as it is, edited, or with another key">
    <div class="pad col"><label>Key<select value=${key} onChange=${(event) => setKey(event.target.value)}>
      <option value="">the same</option>${Object.keys(world.value?.keys ?? {}).map((name) => html`<option>${name}</option>`)}
      </select></label>
    ${body === null ? "" : html`<label>Body<textarea rows="8" spellcheck="false" value=${body}
      onInput=${(event) => setBody(event.target.value)}></textarea></label>`}
    <div class="row"><${Act} class="btn p" run=${run}>Send again<//>
      ${body === null && entry.request != null ? html`<button class="btn"
        onClick=${() => setBody(JSON.stringify(entry.request, null, 2))}>Edit the body</button>` : ""}</div>
    <${Trouble} error=${problem} /></div><//>`;
}

function Detail({ id }) {
  // Once it is answered, it is read again.
  const waits = listed.value.some((one) => one.id === id && one.status === null);
  const [found, error] = useAnswer(() => ask("GET", inWorld(route.value.world, "requests", id)), [id, waits]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (found?.id !== id) return html`<p class="q">Reading ${id}</p>`;
  const entry = found;
  const row = short(entry);
  const [who] = Object.entries(world.value?.keys ?? {}).find(([, key]) => key.id === entry.key_id) ?? [];
  return html`<div class="dh"><div class="row wrap"><h2 class="big2" tabindex="-1">${purpose(entry)} ${amountOf(row)}</h2>
      ${entry.response?.status && entry.status < 400 ? html`<${Status} status=${entry.response.status} />` : ""}
      <${Code} status=${entry.status} /></div>
    <div class="row wrap q sm"><code>${entry.id}</code><${Copy} text=${entry.id} what="the id" />
      <span>${exact(entry.at)} UTC</span><span>${who ? `key ${who}` : entry.key ? `key ${entry.key}` : "no key"}</span>
      <span>${took(entry.duration_ms)}</span>
      ${entry.status >= 400 && entry.key_id && entry.route ? html`<span><${Go} room="access" id=${who ?? entry.key_id}
        query=${{ operation: entry.route, target: targetOf(entry), of: entry.id }}>Open in the lens<//></span>` : ""}</div>
    <div class="row wrap"><button class="btn" onClick=${() => copy(asMarkdown(entry), "it as Markdown")}>
      <${Icon} name="copy" />As Markdown</button></div></div>
  <${Panel} title="Why" about=${decider(row)}><${Steps} decisions=${entry.decisions ?? []} /><//>
  <div class="cols"><div class="side"><${Panel} title="Request" about=${`${entry.method} ${entry.path}${entry.query ? `?${entry.query}` : ""}`}
    more=${html`<${Copy} text=${JSON.stringify(entry.request, null, 2)} what="the body" />`}>
    ${entry.request == null ? html`<p class="q pad">No body</p>` : html`<${Json} value=${entry.request} />`}<//>
  ${entry.events?.length ? html`<${Panel} title="Webhooks" about=${`${entry.events.length} ${entry.events.length === 1 ? "message" : "messages"}`}>
    <ul class="pad evl">${entry.events.map((one) => html`<li><${Go} room="webhooks" id=${one}>${eventOf(one)}<//></li>`)}</ul><//>` : ""}
  <${Panel} title="As a curl command" more=${html`<button class="btn g s" onClick=${() => copy(asCurl(entry), "a curl command")}>
    <${Icon} name="shell" size=${13} />Copy</button>`}><pre class="json" tabindex="0">${asCurl(entry)}</pre><//></div>
  <${Panel} title="Answer" more=${html`<${Copy} text=${JSON.stringify(entry.response, null, 2)} what="the answer" />`}>
    ${entry.response == null ? html`<p class="q pad">No body</p>` : html`<${Json} value=${entry.response} />`}<//></div>
  ${isReport ? "" : html`<${Replay} entry=${entry} />`}`;
}

export function Journal() {
  const { id, query } = route.value;
  const q = query.q ?? "";
  const [all, setAll] = useState(false);
  const { query: asked, fits } = parted(q);
  const { rows, total, error, ready } = useRows("requests", asked ? [] : listed.value, asked ?? (all ? everyRow() : null));
  const list = rows.filter(fits);
  return html`<section class="list"><div class="lh"><div class="row"><${Heading} text="Journal" count=${ready ? counted(list, total) : null} /></div>
    <input type="search" aria-label="Filter requests" placeholder="status:404 route:payments Hotel" value=${q}
      onInput=${(event) => refine({ q: event.target.value })} /><${Trouble} error=${error} /></div>
    <ul onKeyDown=${walk} aria-label="Requests, newest first">${list.map((entry) => html`<${Row} key=${entry.id}
      entry=${entry} on=${entry.id === id} />`)}
      ${q ? "" : html`<${Older} rows=${rows} total=${total} show=${() => setAll(true)} />`}</ul>
    ${list.length || error || !ready ? "" : html`<${Empty}><p class="q">${requests.value.length ? "No request matches this filter."
      : "No requests yet."}</p>
      ${requests.value.length ? html`<button class="btn" onClick=${() => refine({ q: "" })}>Show all</button>`
      : html`<${Go} room="terminal" class="btn">Take a payment<//>`}<//>`}</section>
  <section class="det" aria-label="Request">${id ? html`<${Detail} key=${id} id=${id} />`
    : html`<${Empty}><p class="q">Choose a request to see why it got its answer.</p><//>`}</section>`;
}
