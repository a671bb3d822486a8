// The form that injects faults into future webhooks.

import { useEffect, useState } from "preact/hooks";
import { act, revision, endpoints } from "./state.js";
import { Act, html, Icon, Trouble } from "./ui.js";

const EVENTS = ["transaction.sale", "transaction.authorize", "transaction.capture", "transaction.refund", "transaction.reverse",
  "transaction.increment", "transaction.tip_adjust", "transaction.cancel", "transaction.create", "batch.submitted", "batch.accepted", "batch.partially_accepted", "batch.rejected"];
const SIGNATURES = [["", "correct"], ["wrong", "wrong"], ["missing", "missing"], ["old_secret", "with the old secret"]];
const NOTHING = { delay: "", field: "status", value: "", signature: "", order: "", duplicate: "", truncate: false,
  stale: false, before: false, drop: false, event: "", endpoint: "", times: "1" };

const number = (text) => (/^\d{1,9}$/.test(text.trim()) ? Number(text) : text);

/** What the user typed, as JSON or else as text. */
function typedAs(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The faults that the form describes. */
function faultsOf(form) {
  if (form.drop) return { drop: true };
  return {
    ...(form.delay ? { delay_ms: number(form.delay) } : {}),
    ...(form.value ? { contradict: { [form.field]: typedAs(form.value) } } : {}),
    ...(form.signature ? { signature: form.signature } : {}),
    ...(form.order ? { order: form.order } : {}),
    ...(form.duplicate ? { duplicate: number(form.duplicate) } : {}),
    ...(form.truncate ? { truncate: true } : {}),
    ...(form.stale ? { stale_timestamp: true } : {}),
    ...(form.before ? { before_answer: true } : {}),
  };
}

const whenOf = ({ event, endpoint }) => ({ ...(event ? { event } : {}), ...(endpoint ? { endpoint } : {}) });

const SAYS = {
  drop: () => "never sent",
  delay_ms: (ms) => `${ms.toLocaleString("en")} ms late`,
  contradict: (changes) => `contradicted: ${Object.entries(changes).map(([name, value]) => `${name} = ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ")}`,
  signature: (how) => `signature ${how.replaceAll("_", " ")}`,
  order: (place) => `${place} of its request`,
  duplicate: (count) => `${count} times`,
  truncate: () => "cut off",
  stale_timestamp: () => "with an old timestamp",
  before_answer: () => "before the answer",
};

/** Effects of a rule in words. */
export const effects = (then) => Object.entries(then).filter(([name, value]) => SAYS[name] && value != null && value !== false)
  .map(([name, value]) => SAYS[name](value)).join(", ");

function Waiting({ queue, again }) {
  return html`<h3>Waiting faults</h3><ul class="waits">${queue.map((one) => html`<li key=${one.id}><b>${one.when.event ?? "any event"}</b>
    ${effects(one.then)}${one.left > 1 ? `, ${one.left} more` : ""}</li>`)}</ul>
    <${Act} class="btn s" run=${async () => { await act("DELETE", ["webhooks", "next"]); again(); }} done="No faults are waiting">Clear<//>`;
}

const Field = ({ label, children }) => html`<label>${label}${children}</label>`;

/** The form, and the faults that wait already. */
export function InjectFault({ close }) {
  const [form, setForm] = useState(NOTHING);
  const [queue, setQueue] = useState([]);
  const [error, setError] = useState(null);
  const read = () => act("GET", ["webhooks", "next"]).then((found) => { setQueue(found.queue); setError(null); }, setError);
  useEffect(() => { read(); }, [revision.value]);
  const set = (name) => (event) => setForm((now) => ({ ...now, [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value }));
  const faults = faultsOf(form);
  const nothing = !Object.keys(faults).length;
  const run = async () => {
    await act("POST", ["webhooks", "next"], { then: faults, when: whenOf(form), times: number(form.times) });
    setForm(NOTHING);
    await read();
  };
  const tick = (name, text) => html`<label class="inl tick"><input type="checkbox" checked=${form[name]} disabled=${form.drop && name !== "drop"} onChange=${set(name)} />${text}</label>`;
  const choose = (name, options) => html`<select value=${form[name]} disabled=${form.drop && ["signature", "order"].includes(name)} onChange=${set(name)}>
    ${options.map(([value, text]) => html`<option value=${value} selected=${value === form[name]}>${text}</option>`)}</select>`;
  const write = (name, more) => html`<input value=${form[name]} disabled=${form.drop && !["times"].includes(name)} onInput=${set(name)} ...${more} />`;
  return html`<form class="panel inject" aria-label="Inject a fault" onSubmit=${(event) => event.preventDefault()}>
    <div class="ph"><h2>Inject a fault</h2><span class="sp"></span>
      <button type="button" class="btn g s" aria-label="Close" onClick=${close}><${Icon} name="close" size=${13} /></button></div>
    <div class="pad col"><div class="form4">
      <${Field} label="Of event">${choose("event", [["", "any"], ...EVENTS.map((one) => [one, one])])}<//>
      <${Field} label="To endpoint">${choose("endpoint", [["", "any"], ...endpoints.value.map((one) => [one.id, one.description || one.url])])}<//>
      <${Field} label="How many">${write("times", { inputmode: "numeric" })}<//>
      <${Field} label="Delay in ms">${write("delay", { inputmode: "numeric", placeholder: "1500" })}<//>
      <${Field} label="Contradict the field">${write("field", { placeholder: "status" })}<//>
      <${Field} label="with the value">${write("value", { placeholder: "declined" })}<//>
      <${Field} label="Signature">${choose("signature", SIGNATURES)}<//>
      <${Field} label="Order">${choose("order", [["", "unchanged"], ["first", "first"], ["last", "last"]])}<//>
      <${Field} label="Copies to send">${write("duplicate", { inputmode: "numeric", placeholder: "1" })}<//></div>
    <div class="row wrap">${tick("truncate", "Cut the body off")}${tick("stale", "Old timestamp")}${tick("before", "Before the answer")}${tick("drop", "Never send it")}</div>
    <div class="row wrap"><${Act} class="btn p" run=${run} disabled=${nothing} done="The next matching delivery gets this fault">Inject it<//>
      <span class="q sm">${nothing ? "Choose what goes wrong." : `It will be ${effects(faults)}. Retries are correct.`}</span></div>
    ${queue.length ? html`<${Waiting} queue=${queue} again=${read} />` : ""}<${Trouble} error=${error} /></div></form>`;
}
