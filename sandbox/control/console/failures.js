// Failures: a maintenance, and transport faults for the next requests of any operation.

import { useEffect, useState } from "preact/hooks";
import { ask as typed } from "./api.js";
import { useAnswer } from "./reading.js";
import { route } from "./route.js";
import { act, revision } from "./state.js";
import { Act, html, Trouble } from "./ui.js";
import { day, money, time } from "./words.js";

/** Also reads the platform's document, which has no types. @type {(method: string, path: string) => Promise<any>} */
const ask = /** @type {any} */ (typed);

const LENGTHS = [["1m", "1 minute"], ["10m", "10 minutes"], ["1h", "an hour"]];

const plain = (word) => String(word ?? "").replaceAll("_", " ");

/** What waits for the next request that matches, in words. */
export const queued = ({ outcome, fault, operation, method, path, amount }, currency) => [plain(outcome ?? fault), outcome && fault && `and ${fault}`,
  operation && `(${plain(operation)})`, method, path, amount !== null && `of ${money(amount, currency)}`].filter(Boolean).join(" ");

/** The faults and the operations to choose from. */
function useCatalogue() {
  const [found] = useAnswer(() => Promise.all([ask("GET", "/outcomes"), ask("GET", "/platform/openapi.json")]));
  const named = ({ paths }) => Object.values(paths).flatMap((one) => Object.values(one)).map((one) => one?.operationId).filter(Boolean);
  return { faults: found?.[0].faults.map(({ key }) => key) ?? [], operations: found ? named(found[1]).sort() : [] };
}

/** The maintenance of the world, the queue, and the form for the next fault. */
export function Failures() {
  const { faults, operations } = useCatalogue();
  const [until, setUntil] = useState(null);
  const [queue, setQueue] = useState([]);
  const [form, setForm] = useState({ fault: "http_503", operation: "" });
  const [error, setError] = useState(null);
  const here = route.value.world;
  const read = () => Promise.all([act("GET", ["maintenance"]), act("GET", ["scenario", "next"])])
    .then(([state, waiting]) => { setUntil(state.until); setQueue(waiting.queue); setError(null); }, setError);
  useEffect(() => { read(); }, [here, revision.value]);
  const set = (name) => (event) => setForm((now) => ({ ...now, [name]: event.target.value }));
  const then = (run) => async () => { await run(); await read(); };
  const option = (word, chosen) => html`<option selected=${word === chosen}>${word}</option>`;
  return html`<div class="pad col"><div class="row wrap">${until ? html`<b>Under maintenance until ${day(until)} ${time(until)}</b>
      <${Act} run=${then(() => act("DELETE", ["maintenance"]))} done="The maintenance is over">End the maintenance<//>`
    : html`<span>Maintenance: every request gets 503 for</span>${LENGTHS.map(([lasts, text]) => html`<${Act} aria-label=${`Maintenance for ${text}`}
      run=${then(() => act("PUT", ["maintenance"], { lasts }))} done="The platform is under maintenance">${text}<//>`)}`}</div>
    <div class="row wrap"><label class="inl">The next request gets <select aria-label="Fault of the next request" value=${form.fault} onChange=${set("fault")}>${faults.map((one) => option(one, form.fault))}</select></label>
      <label class="inl">for <select aria-label="Operation of the next request" value=${form.operation} onChange=${set("operation")}><option value="">any operation</option>${operations.map((one) => option(one, form.operation))}</select></label>
      <${Act} run=${then(() => act("POST", ["scenario", "next"], { fault: form.fault, ...(form.operation ? { operation: form.operation } : {}) }))}
        done="It is queued for that request">Queue the fault<//></div>
    ${queue.length ? html`<ul class="waits">${queue.map((one) => html`<li key=${one.id}>${queued(one)}</li>`)}</ul>
      <div class="row"><${Act} class="btn s" run=${then(() => act("DELETE", ["scenario", "next"]))} done="The queue is empty">Empty the queue<//></div>` : ""}
    <${Trouble} error=${error} /></div>`;
}
