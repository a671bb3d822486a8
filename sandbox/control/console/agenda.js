// What falls due, in groups: each thing with what it leads to, and a preview of an advance to it.

import { useEffect, useState } from "preact/hooks";
import { isReport } from "./capture.js";
import { act, agenda, endpoints, named } from "./state.js";
import { Act, Go, html, Icon, Trouble } from "./ui.js";
import { day, subject, time, until } from "./words.js";

const PAYMENT = "payments";
const KINDS = {
  authorization_expires: ["hold expires", "holds expire", PAYMENT],
  surcharge_expires: ["surcharge prompt expires", "surcharge prompts expire", PAYMENT],
  tap_expires: ["payment that waits for a card times out", "payments that wait for a card time out", PAYMENT],
  hold_reversed: ["hold is reversed by the host", "holds are reversed by the host", PAYMENT],
  late_answer: ["late answer of the processor arrives", "late answers of the processor arrive", PAYMENT],
  cancel: ["payment is canceled by a scenario", "payments are canceled by a scenario", PAYMENT],
  batch_result: ["batch gets its result", "batches get their result", ""],
  batch_closes: ["batch closes on schedule", "batches close on schedule", ""],
  key_expires: ["key expires", "keys expire", ""],
  revoke_key: ["key is revoked", "keys are revoked", ""],
  reinstate_key: ["key is reinstated", "keys are reinstated", ""],
  block_terminal: ["terminal is blocked", "terminals are blocked", ""],
  unblock_terminal: ["terminal is unblocked", "terminals are unblocked", ""],
  webhook_retry: ["webhook is sent again", "webhooks are sent again", ""],
};
const ICONS = { webhook_retry: "refresh", tap_expires: "terminal", surcharge_expires: "hourglass", key_expires: "access",
  revoke_key: "access", reinstate_key: "access", batch_result: "batches", batch_closes: "batches" };
const FOLD_FROM = 5;
const DAY_MS = 86_400_000;

const when = (due, now) => (Date.parse(due) - Number(now) > DAY_MS ? day(due).slice(4) : time(due));

/** Counts of kinds as a sentence: "1 hold expires, 4 webhooks are sent again". */
export const counted = (kinds) => Object.entries(kinds)
  .map(([kind, count]) => `${count} ${KINDS[kind]?.[count === 1 ? 0 : 1] ?? kind.replaceAll("_", " ")}`).join(", ");

/** The colour of something due on the strip, as a class. */
export const shade = (kind) => (kind === "webhook_retry" ? "retry" : KINDS[kind]?.[2] === PAYMENT ? "pays" : "");

/** What falls due until a moment, as a sentence. */
export function Preview({ to }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    act("GET", ["agenda"], undefined, new URLSearchParams({ until: to, limit: "1" })).then((answer) => {
      setFound(answer);
      setError(null);
    }, setError);
  }, [to, agenda.value]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!found) return html`<p class="q">Looking ahead</p>`;
  const many = found.total === 1 ? "1 event happens" : `${found.total} events happen, in order`;
  return html`<p><b>Advance to ${day(to)} ${time(to)}</b>${found.total ? ` and ${many}: ${counted(found.by_kind)}.${endpoints.value.length ? " Webhooks that fail are sent again on the way." : ""}`
    : " and nothing falls due."}</p>`;
}

/** What happened during an advance, with links to the payments. */
export function Happened({ fired }) {
  if (!fired?.length) return "";
  const kinds = {};
  for (const { kind } of fired) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const paid = [...new Set(fired.filter(({ kind }) => shade(kind) === "pays").map((one) => one.subject))].slice(0, 4);
  return html`<p class="happened" role="status">${counted(kinds)}. ${paid.map((id) => html`<${Go} room="payments" id=${id}>Story of ${id.slice(0, 8)}<//> `)}</p>`;
}

function Due({ one, now, open, onOpen, advance }) {
  const then = one.then ? `${one.then.status}${one.then.status_reason ? ` / ${one.then.status_reason}` : ""}` : "";
  return html`<li class=${open ? "on" : ""}><button class="dueb" aria-expanded=${String(open)} onClick=${onOpen}>
    <${Icon} name=${ICONS[one.kind] ?? "payments"} size=${14} /><span class="el"><b>${named(subject(one.subject))}</b> ${one.says}</span>
    <span class="q">${until(now, one.due)}</span><span class="m">${when(one.due, now)}</span></button>
    ${open && html`<div class="pv">${isReport ? "" : html`<${Preview} to=${one.due} />`}<p>${then ? `Then it is ${then}. ` : ""}<${Go} room="clauses"
        query=${{ q: one.clause }} class="cl">${one.clause}<//>${one.subject.kind === "payment" ? html` · <${Go} room="payments" id=${one.subject.id}>Story<//>` : ""}</p>
      <div class="row wrap"><${Act} class="btn p" run=${() => advance({ to: one.due })}>Advance<//>
      <${Act} class="btn g" run=${() => advance({ to: one.due, before: true })}>Stop just before it<//></div></div>`}</li>`;
}

/** Groups things of the same kind that follow each other. */
function runs(list) {
  const found = [];
  for (const one of list) {
    if (found.at(-1)?.[0].kind === one.kind) found.at(-1).push(one);
    else found.push([one]);
  }
  return found;
}

/** One group of the agenda, with its title. */
export function Group({ title, list, now, advance }) {
  const [open, setOpen] = useState("");
  const [whole, setWhole] = useState(new Set());
  return html`<section class="due-group"><h3>${title} <span class="qq">${list.length}</span></h3><ul class="agenda">${runs(list).map((run) => {
    const { id, kind } = run[0];
    const folds = run.length >= FOLD_FROM && !whole.has(id);
    return html`${(folds ? run.slice(0, 2) : run).map((one) => html`<${Due} key=${one.id} one=${one} now=${now} advance=${advance}
        open=${open === one.id} onOpen=${() => setOpen(open === one.id ? "" : one.id)} />`)}
      ${folds ? html`<li><button class="dueb" onClick=${() => setWhole(new Set([...whole, id]))}><${Icon} name=${ICONS[kind] ?? "payments"} size=${14} />
        <span class="el q">${counted({ [kind]: run.length - 2 }).replace(" ", " more ")}</span><span></span>
        <span class="m q">to ${when(run.at(-1).due, now)}</span></button></li>` : ""}`;
  })}</ul></section>`;
}
