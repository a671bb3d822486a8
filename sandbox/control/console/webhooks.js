// Webhooks: endpoints with their health, messages, and what was sent in each attempt.

import { useEffect, useState } from "preact/hooks";
import { ask, inWorld } from "./api.js";
import { isReport } from "./capture.js";
import { brief, exact } from "./clockface.js";
import { Contradiction } from "./contradiction.js";
import { tick } from "./health.js";
import { Endpoint, isInside, nameOf, NewEndpoint, ReceivedBy, useInside } from "./hooks.js";
import { counted, everyRow, Older, useRows } from "./reading.js";
import { refine, route } from "./route.js";
import { InjectFault } from "./webhook_faults.js";
import { act, revision, endpoints, messages } from "./state.js";
import { Act, Copy, Empty, Go, html, Icon, Json, Panel, Status, Trouble, walk } from "./ui.js";
import { took } from "./words.js";

const Delivery = ({ one }) => html`<span class=${`dv ${tick({ status: one.status, tries: one.attempts })}`}>
  <i></i>${nameOf(one.endpoint_id)}</span>`;

const Message = ({ one, on }) => html`<li><${Go} room="webhooks" id=${one.id} query=${route.value.query} class=${`row two3 ${on ? "on" : ""}`}>
  <time class="qq">${brief(one.created_at)}</time><b class="el">${one.event_type}</b><span></span>
  <span class="q sm el">${one.deliveries.map((each) => html`<${Delivery} one=${each} /> `)} ${one.merchant ?? ""}</span><//></li>`;

const STEPS = [["verdict", "verdict"], ["says", "meaning"], ["step", "decided at"], ["signed", "signed"], ["age_s", "age, s"], ["secrets", "secret"],
  ["expected", "expected"], ["sent", "sent"]];
const SIGNED_SHOWN = 120;

const shortened = (text) => text.length > SIGNED_SHOWN ? `${text.slice(0, SIGNED_SHOWN)}… ${text.length.toLocaleString("en")} characters` : text;
const plain = (value) => Array.isArray(value) ? value.map(plain).join("\n") : value && typeof value === "object" ? JSON.stringify(value) : String(value ?? "–");

/** How the signature of an attempt is checked: by the server, which has the secret. */
function Signature({ message, endpoint, attempt }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    const query = new URLSearchParams({ endpoint_id: endpoint, attempt: String(attempt) });
    ask("GET", `${inWorld(route.value.world, "messages", message, "verify")}?${query}`).then(setFound, setError);
  }, [message, endpoint, attempt]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!found) return null;
  return html`<dl class="sg">${STEPS.filter(([name]) => found[name] != null).map(([name, text]) => html`<dt>${text}</dt>
    <dd><code>${shortened(plain(found[name]))}</code></dd>`)}</dl>`;
}

function Attempts({ message, read }) {
  const all = message.deliveries.flatMap((one) => one.attempts.map((attempt, i) => ({ ...attempt, endpoint: one.endpoint_id, number: i + 1 })));
  const waits = message.deliveries.filter((one) => one.next_attempt_at);
  // The button waits for the result of the attempt: until then it would ask for the same time again.
  const tryNext = () => act("POST", ["clock", "advance"], { to: waits[0].next_attempt_at }).then(read);
  return html`<${Panel} title="Attempts" about="first attempts in order, retries on the world's clock" more=${waits.length
    ? html`<${Act} run=${tryNext}><${Icon} name="ahead" size=${13} />To the next try<//>` : ""}>
    <div class="scroll" tabindex="0"><table><thead><tr><th>endpoint</th><th>at</th><th>by</th><th>answer</th><th>took</th></tr></thead><tbody>
    ${all.map((one) => html`<tr><td class="wraps">${nameOf(one.endpoint)}</td><td>${exact(one.at)}</td>
      <td>${one.trigger ?? ""}</td><td class="wraps"><b class=${(one.status_code ?? 999) < 300 ? "code2" : "code5"}>
      ${one.status_code ?? one.error ?? "no answer"}</b></td><td>${one.duration_ms == null ? "" : took(one.duration_ms)}</td></tr>`)}
    ${message.deliveries.filter((one) => !one.attempts.length).map((one) => html`<tr><td class="wraps">${nameOf(one.endpoint_id)}</td>
      <td colspan="4" class="q">${one.status}${one.next_attempt_at ? `, due ${exact(one.next_attempt_at)}` : ""}${one.rule ? `, by ${one.rule}` : ""}</td></tr>`)}
    </tbody></table></div>${message.deliveries.length ? "" : html`<${Empty}><p class="q">No endpoint was subscribed when it was created.</p><//>`}<//>`;
}

function Detail({ id }) {
  const [message, setMessage] = useState(null);
  const [error, setError] = useState(null);
  const read = () => ask("GET", inWorld(route.value.world, "messages", id)).then((found) => { setMessage(found); setError(null); }, setError);
  useEffect(() => { read(); }, [id, revision.value]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (message?.id !== id) return html`<p class="q">Reading ${id}</p>`;
  const first = message.deliveries.find((one) => one.attempts.some(({ sent }) => sent));
  const last = first ? first.attempts.findLastIndex(({ sent }) => sent) + 1 : 0;
  return html`<div class="dh"><div class="row wrap"><h2 class="big2">${message.event_type}</h2>
      ${message.body?.status ? html`<${Status} status=${message.body.status} />` : ""}<span class="sp"></span>
      <${Act} run=${() => act("POST", ["messages", id, "resend"], {})}
        done=${({ endpoints: to }) => to.length ? "Sent again" : NOT_SENT}><${Icon} name="send" size=${13} />Send again<//></div>
    <div class="row wrap q sm"><code>${id}</code><${Copy} text=${id} what="the id" /><span>${exact(message.created_at)} UTC</span>
      ${message.request_id ? html`<span>by <${Go} room="journal" id=${message.request_id}>${message.request_id}<//></span>` : html`<span>without a request</span>`}</div></div>
  <${Contradiction} message=${message} />
  <div class="cols"><${Panel} title="Payload" more=${html`<${Copy} text=${JSON.stringify(message.body)} what="the payload" />`}><${Json} value=${message.body} /><//>
    <${Panel} title="Signature" about=${first ? nameOf(first.endpoint_id) : ""}>${last ? html`<${Signature} message=${id} endpoint=${first.endpoint_id} attempt=${last} />`
      : html`<${Empty}><p class="q">Nothing has reached an endpoint yet, so nothing was signed.</p><//>`}<//></div>
  <${Attempts} message=${message} read=${read} />`;
}

/** What is said of a message that is kept, and goes nowhere. */
const NOT_SENT = "No endpoint takes it: nothing was sent";

const SAMPLES = ["transaction.sale", "transaction.capture", "transaction.refund", "transaction.reverse", "batch.accepted", "batch.partially_accepted"];

export function Webhooks() {
  const { id, query } = route.value;
  const [adding, setAdding] = useState(false);
  const [injecting, setInjecting] = useState(false);
  const [sample, setSample] = useState(SAMPLES[0]);
  const [all, setAll] = useState(false);
  const q = (query.q ?? "").toLowerCase();
  const { rows, total, error, ready } = useRows("messages", messages.value, q || all ? everyRow() : null);
  const inside = endpoints.value.find((one) => one.id === query.receiver && isInside(one));
  const list = rows.filter((one) => JSON.stringify([one.id, one.event_type, one.subject, one.merchant, one.status]).toLowerCase().includes(q));
  return html`<section class="list eplist"><div class="lh"><div class="row"><h1 tabindex="-1">Webhooks</h1><span class="sp"></span>
      <button class="btn" onClick=${() => setAdding(true)}><${Icon} name="add" size=${13} />Endpoint</button></div>
      ${isReport ? "" : html`<button class="btn" aria-expanded=${String(injecting)} onClick=${() => setInjecting(!injecting)}><${Icon} name="warning" size=${13} />Inject a fault</button>`}</div>
    ${adding ? html`<${NewEndpoint} close=${() => setAdding(false)} />` : ""}
    <ul>${endpoints.value.map((one) => html`<${Endpoint} key=${one.id} one=${one} />`)}</ul>
    ${endpoints.value.length ? "" : html`<${Empty}><p class="q">No endpoints yet: messages are stored, but not delivered.
      ${" "}<code>sandbox listen 9000</code> forwards them to a program on this machine.</p>
      ${isReport ? "" : html`<${Act} class="btn p" run=${useInside} done="The built-in receiver gets them now">Use the built-in receiver<//>
      <p class="q sm">It refuses each message twice before it accepts it, so that you see retries.</p>`}<//>`}</section>
  <section class="list"><div class="lh"><div class="row"><h2>Messages</h2><span class="qq">${ready ? counted(list, total) : ""}</span></div>
    <input type="search" aria-label="Filter messages" placeholder="event, status, id" value=${query.q ?? ""} onInput=${(event) => refine({ q: event.target.value })} /><${Trouble} error=${error} />
    <div class="row"><label class="vh" for="sample">Sample</label><select id="sample" value=${sample} onChange=${(event) => setSample(event.target.value)}>
      ${SAMPLES.map((one) => html`<option>${one}</option>`)}</select>
      <${Act} class="btn s" run=${() => act("POST", ["messages"], { event_type: sample })}
        done=${({ deliveries }) => deliveries.length ? "A sample was sent" : NOT_SENT}>Send a sample<//></div></div>
    <ul onKeyDown=${walk} aria-label="Messages, newest first">${list.map((one) => html`<${Message} key=${one.id} one=${one} on=${one.id === id} />`)}
      <${Older} rows=${rows} total=${total} show=${() => setAll(true)} /></ul>
    ${list.length || error || !ready ? "" : html`<${Empty}><p class="q">${messages.value.length ? "No message matches this filter." : "No messages yet: a payment sends some."}</p><//>`}</section>
  <section class="det" aria-label="Message">${injecting ? html`<${InjectFault} close=${() => setInjecting(false)} />` : ""}${id ? html`<${Detail} key=${id} id=${id} />` : inside ? html`<${ReceivedBy} one=${inside} />` : html`<${Empty}><p class="q">Choose a message to see its
    payload beside its signature.</p><//>`}</section>`;
}
