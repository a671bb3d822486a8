// The small parts that all rooms are made of.

import { h } from "preact";
import { useState } from "preact/hooks";
import htm from "htm";
import { signal } from "@preact/signals";
import { Away, Refused } from "./api.js";
import { isReport } from "./capture.js";
import { ICONS } from "./icons.js";
import { to } from "./route.js";
import { named } from "./state.js";
import { amountOf, purpose } from "./words.js";

export const html = htm.bind(h);

/** The heading of a list, with how many it has; null before that is known. */
export const Heading = ({ text, count }) => html`<h1 tabindex="-1">${text}</h1>${count === null ? "" : html`<span class="qq">${count}</span>`}`;

/** What was just done, shown and read out by screen readers. */
export const said = signal("");
let silence = 0;

/** Says it for a few seconds. */
export function say(text) {
  said.value = text;
  clearTimeout(silence);
  silence = setTimeout(() => {
    said.value = "";
  }, 4000);
}

export const Icon = ({ name, size = 15 }) => html`<svg class="i" width=${size} height=${size}
  viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75"
  stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;

const RING = "M1.25 6a4.75 4.75 0 1 0 9.5 0a4.75 4.75 0 1 0-9.5 0";
const DISC = "M.5 6a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0";
const FULL = { fill: "currentColor" };
const LINE = { fill: "none", stroke: "currentColor", "stroke-width": 1.5 };
const DASHED = { ...LINE, "stroke-dasharray": "2.2 1.6" };
const ON_IT = { fill: "none", stroke: "var(--surface)", "stroke-width": 1.5, "stroke-linecap": "round" };
const QUARTER = [[RING, LINE], ["M6 6V1.9A4.1 4.1 0 0 1 10.1 6Z", FULL]];

/** A mark with its own shape for each status, so that nothing depends on colour. */
const MARKS = {
  captured: [[DISC, FULL]],
  settled: [[DISC, FULL], ["M3.6 6.2 5.3 7.9 8.5 4.5", ON_IT]],
  authorized: [[RING, LINE], ["M6 1.6a4.4 4.4 0 0 0 0 8.8Z", FULL]],
  pending: [[RING, DASHED]],
  surcharge_pending: QUARTER,
  declined: [[DISC, FULL], ["m4.2 4.2 3.6 3.6m0-3.6L4.2 7.8", ON_IT]],
  error: [["M6 .9 11.6 11H.4Z", FULL], ["M6 4.6v2.8M6 9.1v.1", ON_IT]],
  canceled: [[RING, LINE], ["m2.9 9.1 6.2-6.2", LINE]],
  reversed: [[RING, LINE], ["M6 4.1 4 6l2 1.9M8.3 4.1 6.3 6l2 1.9", { ...LINE, "stroke-width": 1.3 }]],
  refunded: [[RING, LINE], ["M6.8 3.8 4.4 6l2.4 2.2", LINE]],
  submitted: QUARTER,
  partially_accepted: [[RING, LINE], ["M6 1.6a4.4 4.4 0 1 1-4.4 4.4H6Z", FULL]],
  accepted: [[DISC, FULL], ["M3.6 6.2 5.3 7.9 8.5 4.5", ON_IT]],
  rejected: [[DISC, FULL], ["m4.2 4.2 3.6 3.6m0-3.6L4.2 7.8", ON_IT]],
  open: [[RING, LINE]],
};

export const Mark = ({ status }) => html`<svg class=${`mk st-${MARKS[status] ? status : "other"}`}
  width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
  ${(MARKS[status] ?? MARKS.open).map(([d, style]) => html`<path d=${d} ...${style} />`)}</svg>`;

export const Status = ({ status }) => html`<span class=${`st st-${MARKS[status] ? status : "other"}`}>
  <${Mark} status=${status} />${status}</span>`;

/** The status of an answer, coloured by its class. */
export const Code = ({ status }) => html`<b class=${`code${Math.floor((status ?? 0) / 100)}`}>
  ${status ?? "no answer"}</b>`;

/** Focuses what has just come into the page. Browsers apply `autofocus` only once in a page. */
export const focus = (element) => element?.focus();

/** Puts the focus on the heading of the room, if what had it is gone from the page. */
export function refocus() {
  if (document.activeElement !== document.body) return;
  /** @type {HTMLElement | null} */ (document.querySelector("main h1"))?.focus({ preventScroll: true });
}

const focusButton = (element) => element?.querySelector("button").focus();

/** Copies a text. Without the clipboard of a secure page, it selects and copies the old way. */
export async function copy(text, what = "it") {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "offscreen";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  say(`Copied ${what}`);
}

export const Copy = ({ text, what }) => html`<button class="btn g s" title=${`Copy ${what}`}
  aria-label=${`Copy ${what}`} onClick=${() => copy(text, what)}><${Icon} name="copy" size=${13} /></button>`;

/** A button with which a file is chosen, also the same one again. */
export const FileButton = ({ accept = ".json,application/json", onFile, children }) => html`<label class="btn">${children}<input
  class="vh" type="file" accept=${accept} onChange=${(event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) onFile(file);
  }} /></label>`;

/** What went wrong, beside the button that was pressed. */
export const Trouble = ({ error }) =>
  error && html`<p class="oops" role="alert"><${Icon} name="mistake" />
    <span><b>${error.message}</b> ${error.details}
    ${error.nearest ? ` Did you mean ${error.nearest}?` : ""}</span></p>`;

/**
 * A button that does something on the server: it waits for the answer, with a refusal beside it.
 * A report only has those that read.
 */
export function Act({ run, done, class: kind = "btn", children, disabled, reads = false, ...rest }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  if (isReport && !reads) return null;
  const click = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      const answer = await run();
      if (done) say(typeof done === "function" ? done(answer) : done);
    } catch (caught) {
      if (!(caught instanceof Refused || caught instanceof Away)) throw caught;
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  // Not `disabled` meanwhile: a button that is disabled loses the focus.
  return html`<button class=${kind} disabled=${disabled} aria-disabled=${busy ? "true" : undefined} onClick=${click} ...${rest}>
    ${children}</button><${Trouble} error=${error} />`;
}

/** A button that asks first. `yes` is what the second button says. */
export function Sure({ ask: question, yes, run, done, children, class: kind = "btn" }) {
  // Null before it was asked: once it was answered, the first button has the focus again.
  const [asked, setAsked] = useState(null);
  const sure = async () => {
    const answer = await run();
    setAsked(false);
    // Once it is drawn again: what was removed takes this button along.
    setTimeout(refocus);
    return answer;
  };
  if (!asked) return html`<button type="button" ref=${asked === null ? null : focus} class=${kind} onClick=${() => setAsked(true)}>${children}</button>`;
  return html`<span ref=${focusButton} class="sure" role="group" aria-label=${question}><span>${question}</span>
    <${Act} type="button" class="btn s dng" run=${sure} done=${done}>${yes}<//>
    <button type="button" class="btn s" onClick=${() => setAsked(false)}>Keep it</button></span>`;
}

/** A choice of one of a few. `options` are pairs of value and text. */
export const Choice = ({ label, options, value, onChoose, wide }) => html`<div
  class=${`seg ${wide ? "wide" : ""}`} role="group" aria-label=${label}>
  ${options.map(([one, text]) => html`<button aria-pressed=${String(one === value)}
    onClick=${() => onChoose(one)}>${text}</button>`)}</div>`;

export const Panel = ({ title, about, more, children, class: kind = "" }) => html`<section
  class=${`panel ${kind}`}><div class="ph"><h2>${title}</h2><span class="q sm el">${about}</span>
  <span class="sp"></span>${more}</div>${children}</section>`;

export const Empty = ({ children }) => html`<div class="empty">${children}</div>`;

/** A link to a room or to something in it. */
export const Go = ({ room, id, query, world, children, class: kind = "" }) => html`<a class=${kind}
  href=${to({ room, id, query, world })}>${children}</a>`;

/** What a request wants, and its amount, which is never cut off. */
export const What = ({ entry }) => html`<span class="what"><b class="el">${purpose(entry)}</b> <span>${amountOf(entry)}</span></span>`;

/** Text with its `words` as code. */
export const prose = (text) => text.split(/(`[^`]+`)/).map((part) =>
  part.startsWith("`") ? html`<code>${part.slice(1, -1)}</code>` : part);

/** JSON with a line for each value. It is shown as text, whatever it contains. */
export const Json = ({ value }) => html`<pre class="json" tabindex="0">${
  typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>`;

/** A decision: it lets the request pass, refuses it with a status, or names an outcome or a note. */
function Step({ step, verdict, reason, clause }) {
  const [kind, icon] = verdict === "ok" ? ["", "check"] : /^\d+$/.test(verdict) ? ["no", "refused"] : ["q", "scenarios"];
  return html`<li class=${kind}><${Icon} name=${icon} size=${14} />
    <b>${step}</b><span>${kind === "q" ? `${verdict} · ` : ""}${named(reason)}</span>
    ${clause && html`<${Go} room="clauses" query=${{ q: clause }} class="cl">${clause}<//>`}</li>`;
}

/** The decisions that led to an answer, each with its clause. */
export const Steps = ({ decisions, flat = false }) => html`<ol class=${`steps ${flat ? "flat" : ""}`}>
  ${decisions.map((one) => html`<${Step} ...${one} />`)}</ol>`;

/** Walks a list by keys: from the link that has the focus to the one beside it. */
export function walk(event) {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...event.currentTarget.querySelectorAll("a.row, a.ln")];
  const next = links[links.indexOf(document.activeElement) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}
