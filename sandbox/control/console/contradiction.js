// A message that contradicts the one before it: both, the answer, and the record.

import { useEffect, useState } from "preact/hooks";
import { ask, inWorld, Refused } from "./api.js";
import { route } from "./route.js";
import { revision } from "./state.js";
import { Go, html, Panel } from "./ui.js";

const absent = Symbol("absent");
const read = (record, name) => (record && Object.hasOwn(record, name) ? record[name] : absent);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Returns null for something that does not exist; throws every other error. */
const orNull = (error) => {
  if (error instanceof Refused && [404, 409].includes(error.status)) return null;
  throw error;
};

/** Another message about the same thing by the same request, with different content; or null. */
async function compared(message) {
  if (!message.request_id) return null;
  const { world } = route.value;
  const query = new URLSearchParams({ subject: message.subject, event_type: message.event_type, limit: "200" });
  const { messages } = await ask("GET", `${inWorld(world, "messages")}?${query}`);
  const told = messages.filter((one) => one.request_id === message.request_id
    && one.event_type === message.event_type && one.subject === message.subject);
  const first = told[0];
  const other = told.find((one) => !same(one.body, first.body));
  if (!other) return null;
  const last = message.id === first.id ? other : message;
  if (same(first.body, last.body)) return null;
  const [entry, found] = await Promise.all([
    ask("GET", inWorld(world, "requests", message.request_id)).catch(orNull),
    ask("GET", inWorld(world, "payments", message.subject)).catch(orNull),
  ]);
  return { first, last, answer: entry?.response ?? null, record: found?.payment ?? null };
}

const Cell = ({ value, wrong }) => html`<td class=${`wraps ${wrong ? "x" : ""}`}>${value === absent ? html`<span class="qq">–</span>`
  : html`<code>${typeof value === "string" ? value : JSON.stringify(value)}</code>`}${wrong ? html`<span class="vh"> contradicts</span>` : ""}</td>`;

/** The comparison, if the message contradicts another one or is contradicted. */
export function Contradiction({ message }) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    let over = false;
    compared(message).then((one) => { if (!over) setFound(one); }, () => {});
    return () => { over = true; };
  }, [message.id, revision.value]);
  if (!found) return null;
  const { first, last, answer, record } = found;
  const names = [...new Set([...Object.keys(first.body), ...Object.keys(last.body)])];
  const differ = names.filter((name) => !same(read(first.body, name), read(last.body, name)));
  const head = (text, id) => html`<th>${id ? html`<${Go} room="webhooks" id=${id} query=${route.value.query}>${text}<//>` : text}</th>`;
  return html`<${Panel} title="Two messages contradict each other" about="what each of them says, field by field" class="contra">
    <div class="scroll" tabindex="0"><table><thead><tr><th>field</th>
      <th><${Go} room="journal" id=${message.request_id}>answer<//></th>${head("first message", first.id)}${head(last.id === message.id ? "this one" : "the other", last.id)}
      <th>${record ? html`<${Go} room="payments" id=${message.subject}>record now<//>` : "record now"}</th></tr></thead><tbody>
    ${differ.map((name) => html`<tr key=${name}><td>${name}</td><${Cell} value=${read(answer, name)} /><${Cell} value=${read(first.body, name)} />
      <${Cell} value=${read(last.body, name)} wrong=${true} /><${Cell} value=${read(record, name)} /></tr>`)}</tbody></table></div>
    <p class="pad q">Receivers should believe the record, which they can read from the platform.</p><//>`;
}
