// Payments: found by a question, each with its story and the available actions.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, inWorld, refusal } from "./api.js";
import { isReport } from "./capture.js";
import { brief, exact } from "./clockface.js";
import { Diagram } from "./diagram.js";
import { CopyCurl, Save } from "./exporting.js";
import { Slip } from "./receipt.js";
import { keysOn } from "./keys.js";
import { refine, route } from "./route.js";
import { act, keyOf, named, revision, send, world } from "./state.js";
import { Act, Choice, Copy, Empty, Go, Heading, html, Icon, Json, Mark, Panel, Status, Trouble, copy, focus, walk } from "./ui.js";
import { useWindows, Windowed } from "./windowed.js";
import { cardOf, minor, money, units } from "./words.js";

const CHIPS = [["", "All"], ["pending,surcharge_pending", "Needs me"], ["declined,error", "Declined"], ["authorized", "Holds"]];
const FIELDS = { status: "status", merchant: "account", account: "account", terminal: "terminal", batch: "batch",
  type: "type", brand: "card_brand", reason: "status_reason", order: "order" };

/** The question as the control API takes it: words like status:captured, amount>100, and free text. */
export function asked(text) {
  const query = new URLSearchParams();
  const free = [];
  for (const word of text.trim().split(/\s+/).filter(Boolean)) {
    const [, name, value] = /^(\w+):(.+)$/.exec(word) ?? [];
    const [, sign, amount] = /^amount([<>])(.+)$/.exec(word) ?? [];
    if (FIELDS[name]) query.set(FIELDS[name], value);
    else if (name === "last4") free.push(value);
    else if (sign === ">" && minor(amount) !== null) query.set("amount_min", String(minor(amount) + 1));
    else if (sign && minor(amount)) query.set("amount_max", String(minor(amount) - 1));
    else free.push(word);
  }
  if (free.length) query.set("q", free.join(" "));
  return query;
}

/** The largest possible total, which does not limit this payment. */
const NO_LIMIT = 99_999_999;
const HEIGHT = 52;

const Row = ({ one, on, marked, mark }) => html`<input type="checkbox" tabindex="-1" checked=${marked} aria-label=${`Mark ${one.id}`} onChange=${() => mark(one.id)} />
  <${Go} room="payments" id=${one.id} query=${route.value.query} class=${`row pay ${on ? "on" : ""}`}>
  <${Mark} status=${one.status} /><span class="el">${one.merchant ?? ""}</span><span class="m r">${money(one.total, one.currency)}</span>
  <span></span><span class="qq el sm">${one.status}${one.status_reason && !["approved", one.status].includes(one.status_reason) ? ` · ${one.status_reason}` : ""}</span>
  <span class="qq r sm"><span class="wide">${one.brand} ${one.last4} · </span>${brief(one.created_at, 5)}</span><//>`;

const NAMES = { "payments.confirm": "Accept the surcharge", "payments.capture": "Capture", "payments.increment": "Increment",
  "payments.adjust": "Adjust the tip", "payments.reverse": "Reverse", "payments.refund": "Refund" };

/** The name of an action: a confirmation may decline too. */
const titleOf = ({ operation, example }) => example.confirm === false ? "Decline the surcharge" : NAMES[operation] ?? operation;

/** The limit of an action's amount, if the payment sets one. */
function limitOf({ min, max }, { total_amount: total, currency }) {
  if (max === null || max + total >= NO_LIMIT) return "";
  return min === max ? money(max, currency) : `up to ${money(max, currency)}`;
}

/** The form of an action that takes an amount. It begins with the amount that the action has by itself, if any. */
function AmountForm({ move, payment, label, run }) {
  const field = useRef(null);
  const [text, setText] = useState(null);
  const first = move.amount === null ? "" : units(move.amount, payment.currency);
  // It may be read again after the last action: what is typed replaces it all the same.
  useLayoutEffect(() => {
    if (text !== null) return;
    field.current.focus();
    field.current.select();
  }, [first]);
  const typed = minor(text ?? first, payment.currency);
  const fits = typed !== null && typed >= move.min && typed <= move.max;
  return html`<form class="row wrap" onSubmit=${(event) => { event.preventDefault(); event.target.querySelector("button")?.click(); }}>
    <input ref=${field} class="short" aria-label=${`Amount: ${label}`} inputmode="decimal" aria-invalid=${String((text ?? first) !== "" && !fits)} value=${text ?? first}
      onFocus=${(event) => event.target.select()} onInput=${(event) => setText(event.target.value)} />
    <${Act} class="btn p" run=${() => run({ amount: typed })} disabled=${!fits}>${label}<//></form>`;
}

function Move({ move, payment, as, onDone }) {
  // Null before the form was open: once it is closed, its button has the focus again.
  const [open, setOpen] = useState(null);
  const run = async (amount = {}) => {
    const answer = await send({ method: "POST", path: move.path, key: as, body: { ...move.example, ...amount } });
    if (!refusal(answer)) setOpen(false);
    onDone(answer);
  };
  const label = titleOf(move);
  const limit = html`<span class="q">${limitOf(move, payment)}</span>`;
  if (isReport) return html`<li><span>${label}</span>${limit}</li>`;
  if (move.max === null) return html`<li><${Act} run=${() => run()}>${label}<//>${limit}</li>`;
  return html`<li>${open ? html`<${AmountForm} move=${move} payment=${payment} label=${label} run=${run} />`
    : html`<button class="btn" ref=${open === null ? null : focus} onClick=${() => setOpen(true)}>${label}…</button>`}${limit}</li>`;
}

function Moves({ payment, as, setAs, moves, onDone }) {
  const can = moves?.moves.filter(({ possible }) => possible) ?? [];
  const cannot = moves?.moves.filter(({ possible }) => !possible) ?? [];
  return html`<${Panel} title="Available actions" more=${html`<label class="inl">as <select value=${as} disabled=${isReport} onChange=${(event) => setAs(event.target.value)}>
    ${Object.keys(world.value?.keys ?? {}).map((name) => html`<option selected=${name === as}>${name}</option>`)}</select></label>`}>
    <ul class="mv">${can.map((move) => html`<${Move} key=${titleOf(move)} move=${move} payment=${payment} as=${as} onDone=${onDone} />`)}
    ${moves && !can.length ? html`<li class="q">None with this key.</li>` : ""}</ul>
    ${cannot.length ? html`<h3>Not available, and why</h3><dl class="mv no">${cannot.map((move) => html`<dt>${titleOf(move)}</dt>
      <dd>${move.says} <${Go} room="clauses" query=${{ q: move.clause }} class="cl">${move.clause}<//></dd>`)}</dl>` : ""}
    ${moves?.by_itself.length ? html`<h3>Without a request</h3><dl class="mv no">${moves.by_itself.map((one) => html`<dt>${one.trigger.replaceAll("_", " ")}</dt>
      <dd>then ${one.next_status}${one.due ? `, due ${exact(one.due)}` : ""}</dd>`)}</dl>` : ""}<//>`;
}

/** The attempts whose processor has not answered yet: an operator can answer for it, late. */
function Unanswered({ found }) {
  const { payment, unanswered = [] } = found;
  if (!unanswered.length) return "";
  const give = (one, outcome) => () => act("POST", ["payments", payment.transaction_id, "answer"], { event_id: one.event_id, outcome });
  return html`<${Panel} title="The processor may still answer" about="it timed out, or left it pending"><ul class="mv">${unanswered.map((one) => html`<li key=${one.event_id} class="row wrap">
    <span class="grow">${one.operation.replaceAll("_", " ")} of ${money(one.amount, payment.currency)}</span>
    <${Act} run=${give(one, "approved")} done="Approved late">Approve it late<//><${Act} run=${give(one, "do_not_honor")} done="Declined late">Decline it late<//></li>`)}</ul><//>`;
}

/** The sums of a payment. Of those after the first two, only what is not zero is shown. */
const MONEY = [["authorized", "Authorized"], ["captured", "Captured"], ["released", "Released"], ["refunded", "Refunded"],
  ["reversed_before", "Reversed before capture"], ["reversed_after", "Reversed after capture"], ["refundable", "Can be refunded"], ["remaining", "Remains"]];

function Money({ ledger, currency }) {
  const whole = Math.max(1, ledger.authorized, ledger.captured);
  const parts = [["c1", ledger.captured - ledger.refunded], ["c2", ledger.refunded], ["c3", whole - ledger.captured]];
  let at = 0;
  return html`<${Panel} title="Money" more=${html`<span class="q">${currency}</span>`}><div class="pad">
    <svg class="wf" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${parts.map(([kind, amount]) => {
      const rect = html`<rect class=${kind} x=${(100 * at) / whole} width=${Math.max(0, (100 * amount) / whole - 0.4)} height="4" />`;
      at += amount;
      return rect;
    })}</svg>
    <dl class="mb">${MONEY.filter(([name], i) => i < 2 || ledger[name]).map(([name, text]) => html`<dt>${text}</dt><dd>${money(ledger[name], currency)}</dd>`)}</dl></div><//>`;
}

const LINKS = { request: "journal", message: "webhooks", due: "time" };

function Story({ story, currency }) {
  const attempts = story.filter(({ kind }) => kind === "attempt");
  return html`<ol class="story">${story.map((step) => html`<li key=${`${step.kind} ${step.id}`} class=${step.kind}>
    <span class="num">${step.kind === "attempt" ? attempts.indexOf(step) + 1 : html`<${Icon} name=${{ request: "refused", message: "webhooks", due: "time" }[step.kind]} size=${13} />`}</span>
    <time class="qq">${exact(step.at)}</time><div><span>${step.kind === "attempt" ? html`<b>${step.says}</b>` : named(step.says)}
    ${step.amount ? html` <b>${money(step.amount, currency)}</b>` : ""}</span>
    ${LINKS[step.kind] ? html`<div class="sub"><${Go} room=${LINKS[step.kind]} id=${step.id}>${step.id}<//></div>` : ""}</div></li>`)}</ol>`;
}

const TABS = [["story", "Story"], ["receipt", "Receipt"], ["record", "Record"]];

function Detail({ id }) {
  const { query } = route.value;
  const [found, setFound] = useState(null);
  const [moves, setMoves] = useState(null);
  const [noMoves, setNoMoves] = useState(null);
  const [error, setError] = useState(null);
  const [refused, setRefused] = useState(null);
  const payment = found?.payment;
  const as = query.as || keyOf(payment?.account_id);
  const here = route.value.world;
  useEffect(() => {
    ask("GET", inWorld(here, "payments", id)).then((answer) => { setFound(answer); setError(null); }, setError);
  }, [id, revision.value]);
  useEffect(() => {
    if (payment) ask("GET", `${inWorld(here, "payments", id, "moves")}?key=${encodeURIComponent(as)}`)
      .then((answer) => { setMoves(answer); setNoMoves(null); }, setNoMoves);
  }, [id, as, found]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (payment?.transaction_id !== id) return html`<p class="q">Reading ${id}</p>`;
  const onDone = (answer) => setRefused(refusal(answer));
  const tab = query.tab || "story";
  const original = payment.additional_details.original_transaction_id;
  return html`<div class="hd"><h2 class="am">${money(payment.total_amount, payment.currency)} <small>${payment.currency}</small></h2>
    <div class="col0"><span><${Status} status=${payment.status} /> ${payment.status_reason === payment.status ? "" : payment.status_reason} · ${payment.merchant_name} · ${cardOf(payment)}</span>
    <span class="row wrap q sm"><code>${id}</code><${Copy} text=${id} what="the id" />
    <button class="btn g s" aria-label="Copy the link" onClick=${() => copy(location.href, "the link")}><${Icon} name="link" size=${13} /></button>
    ${original ? html`<span>of <${Go} room="payments" id=${original}>${original.slice(0, 8)}<//></span>` : ""}<${CopyCurl} id=${id} /><${Save} subjects=${[id]} /></span></div></div>
  <div class="grid2"><div class="side">
    <${Panel} title="Status" about=${found.outcome ? `${found.outcome.key}, by ${found.outcome.source}` : ""}><${Diagram} payment=${payment} moves=${moves} /><//>
    <${Panel} title=${TABS.find(([one]) => one === tab)?.[1] ?? "Record"} more=${html`<${Choice} label="Show" options=${TABS} value=${tab} onChoose=${(one) => refine({ tab: one })} />`}>
    ${tab === "story" ? html`<${Story} story=${found.story} currency=${payment.currency} />`
      : tab === "receipt" ? html`<div class="slip"><${Slip} record=${payment} /></div>` : html`<${Json} value=${payment} />`}<//></div>
  <div class="side"><${Moves} payment=${payment} as=${as} setAs=${(one) => refine({ as: one })} moves=${moves} onDone=${onDone} />
    <${Trouble} error=${noMoves ?? refused} /><${Unanswered} found=${found} /><${Money} ledger=${found.ledger} currency=${payment.currency} />
    ${found.batch ? html`<${Panel} title="Batch"><p class="pad"><${Go} room="batches" id=${found.batch.id}>${found.batch.number ?? found.batch.id}<//> is ${found.batch.status}</p><//>` : ""}</div></div>`;
}

export function Payments() {
  const { id, query } = route.value;
  const q = query.q ?? "";
  const list = useWindows(["payments"], "payments", asked(q));
  const [marks, setMarks] = useState([]);
  const mark = (one) => setMarks(marks.includes(one) ? marks.filter((other) => other !== one) : [...marks, one]);
  const pressed = (event) => {
    const row = event.target.closest?.("li")?.querySelector("a.row");
    if (keysOn.value && event.key === "x" && row && !event.ctrlKey && !event.metaKey && !event.altKey) mark(idOf(row));
    else walk(event);
  };
  return html`<section class="list"><div class="lh"><div class="row"><${Heading} text="Payments" count=${list.ready ? list.total.toLocaleString("en") : null} /></div>
    <input type="search" aria-label="Filter payments" placeholder="status:captured amount>100 0011" value=${q} onInput=${(event) => refine({ q: event.target.value })} />
    <div class="fl" role="group" aria-label="Show">${CHIPS.map(([status, text]) => html`<button aria-pressed=${String(q === (status && `status:${status}`))}
      onClick=${() => refine({ q: status && `status:${status}` })}>${text}</button>`)}</div><${Trouble} error=${list.error} />
    ${marks.length ? html`<div class="row wrap sm" role="group" aria-label="Marked payments"><b>${marks.length} marked</b><${Save} subjects=${marks}>
      <button class="btn g s" onClick=${() => setMarks([])}>Clear</button><//></div>` : ""}</div>
    <${Windowed} label="Payments" list=${list} height=${HEIGHT} place=${q} onKeyDown=${pressed}
      row=${(one) => html`<${Row} one=${one} on=${one.id === id} marked=${marks.includes(one.id)} mark=${mark} />`} />
    ${list.total || list.error || !list.ready ? "" : html`<${Empty}><p class="q">${q ? "No payment matches this filter." : "No payments yet."}</p>
      ${q ? html`<button class="btn" onClick=${() => refine({ q: "" })}>Show all</button>` : html`<${Go} room="terminal" class="btn">Take a payment<//>`}<//>`}</section>
  <section class="det" aria-label="Payment">${id ? html`<${Detail} key=${id} id=${id} />` : html`<${Empty}><p class="q">Choose a payment to see its timeline and the available actions.</p><//>`}</section>`;
}

/** The id of the payment that a line leads to. */
const idOf = (link) => decodeURIComponent(new URL(link.href).hash.split("?")[0].split("/")[3]);
