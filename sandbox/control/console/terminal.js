// Terminal: the phone of the merchant, the card wallet, and what the cardholder gets.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, inWorld, refusal } from "./api.js";
import { exact, useTicks, worldNow } from "./clockface.js";
import { queued } from "./failures.js";
import { keysOn } from "./keys.js";
import { Receipt } from "./receipt.js";
import { useAnswer } from "./reading.js";
import { useLast } from "./records.js";
import { route } from "./route.js";
import { act, revision, clock, named, platformUrl, requests, scenario, send, session, taps, world } from "./state.js";
import { Act, Choice, copy, Empty, Go, html, Icon, Mark, Panel, say, Trouble } from "./ui.js";
import { approved, curl, minor, money, shows, sign, time, units, until } from "./words.js";

/** From this amount on, in minor units, an amount can choose an outcome. Source: assumed 6.2. */
const AMOUNTS_FROM = 900_000;

/** The amount that the form begins with, in minor units. */
const FIRST_AMOUNT = 5600;

/** As many characters of an amount fit on the phone in large letters. */
const SHORT = 9;

const plain = (reason) => String(reason ?? "").replaceAll("_", " ");

/** The cards and the outcomes of the sandbox. */
function useCatalogue() {
  const [found] = useAnswer(() => Promise.all([ask("GET", "/cards"), ask("GET", "/outcomes")]));
  return { cards: found?.[0].cards ?? [], outcomes: found?.[1].outcomes ?? [] };
}

const says = (card, currency) => card.above_amount != null ? `only ${money(card.above_amount, currency)} on it`
  : Object.keys(card.later).length ? `its ${Object.keys(card.later)[0].replace("incremental_auth", "increment")} is declined` : plain(card.outcome);

const isGood = (card) => card.outcome === "approved" && !Object.keys(card.later).length && card.above_amount == null;

function Card({ card, number, tap, currency }) {
  return html`<li><${Act} class="cd" aria-keyshortcuts=${number || undefined} run=${() => tap({ card: card.token })}>
    ${number ? html`<kbd>${number}</kbd>` : ""}<b>${card.brand}</b><code>${card.number.slice(-4)}</code>
    <span class="q el">${isGood(card) ? card.type.toLowerCase() : says(card, currency)}</span><//></li>`;
}

/** The approved cards; the keys 1 to 9 tap the first ones. */
const goodOf = (cards) => cards.filter(isGood);

const KEYS = "123456789";

/**
 * Taps a card with its key, once however long it is held down, and not again for the same payment
 * before the answer: its button cannot be pressed then either.
 */
function useCardKeys(cards, tap, waits, onError) {
  const underWay = useRef(new Set());
  // Before the next paint, so that a key pressed right after typing pays what was typed.
  useLayoutEffect(() => {
    const pressed = (event) => {
      const typing = event.target.closest?.("input, textarea, select, dialog");
      const card = goodOf(cards)[KEYS.indexOf(event.key)];
      if (!card || !keysOn.value || event.repeat || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const one = `${card.token} ${waits?.transaction_id}`;
      if (underWay.current.has(one)) return;
      underWay.current.add(one);
      tap({ card: card.token }).catch(onError).finally(() => underWay.current.delete(one));
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

function Wallet({ cards, outcomes, tap, waits, currency }) {
  const good = goodOf(cards);
  const rest = cards.filter((card) => !good.includes(card));
  const [wanted, setWanted] = useState("");
  return html`<${Panel} title="Tap a card" about=${waits ? "for the waiting payment" : "starts a payment and taps the card"}>
    <div class="wallet"><div><h3>Approved</h3><ul>${good.map((card, i) => html`<${Card} key=${card.token} card=${card} number=${KEYS[i]} tap=${tap} currency=${currency} />`)}</ul></div>
    <div><h3>Other outcomes</h3><ul>${rest.map((card) => html`<${Card} key=${card.token} card=${card} tap=${tap} currency=${currency} />`)}</ul></div></div>
    <div class="pf wrap"><label class="inl">Or any outcome <select value=${wanted} onChange=${(event) => setWanted(event.target.value)}>
      <option value="">choose one</option>${outcomes.filter(({ operations }) => operations.includes("sale")).map(({ key }) => html`<option>${key}</option>`)}</select></label>
      <${Act} disabled=${!wanted} run=${() => tap({ outcome: wanted })}>Force this outcome<//></div><//>`;
}

function Phone({ tap, last, error }) {
  useTicks();
  const now = worldNow();
  const amount = tap ? money(tap.amount, tap.currency) : last ? money(approved(last), last.currency) : "";
  const left = tap && now ? until(now, tap.until) : "";
  const status = tap ? "pending" : error ? "refused" : last?.status;
  const hold = tap ? "Hold card here" : status ? shows({ status }) : "Start a payment";
  return html`<div class="stage"><div class="phone"><div class="scr" role="img" aria-label=${`The phone shows: ${status ? hold : "ready"} ${amount}`}>
    <div class="sb"><span>${now ? time(now).slice(0, 5) : ""}</span><span class="isl"></span><span>5G</span></div>
    <p class="mer el">${tap ? nameOf(tap.terminal_id) : last?.merchant_name ?? "Ready"}</p><p class=${`bigm ${amount.length > SHORT ? "long" : ""}`}>${amount || "–"}</p>
    <div class=${`nf nf-${status ?? "ready"}`}>${tap || !status ? html`<${Icon} name="terminal" size=${72} />` : html`<${Mark} status=${shows({ status }) === "Approved" ? "accepted" : status === "refused" ? "error" : status} />`}</div>
    <p class="hold">${hold}</p>
    <p class="brs">${tap || !last ? "Visa · Mastercard · Amex · Discover"
      : last.status_reason === "partial_approval" ? `${money(last.total_amount - approved(last), last.currency)} is still to be paid` : plain(last.status_reason)}</p></div></div>
    ${tap ? html`<div class="under"><div class="row"><b>Waits for a card</b><span class="sp"></span><span class="q">${left} left</span></div>
      <p class="q sm">Since ${exact(tap.since)}. ${clock.value?.mode === "frozen" ? "The clock is frozen: the payment waits until you move the clock." : ""}</p>
      <div class="row wrap"><${Act} class="btn s" run=${() => act("POST", ["taps", tap.transaction_id], { cancel: "user" })}>Customer cancels<//>
      <${Act} class="btn s" run=${() => act("POST", ["taps", tap.transaction_id], { cancel: "merchant" })}>Merchant cancels<//>
      <${Act} class="btn s" run=${() => act("POST", ["clock", "advance"], { to: tap.until })}>Time out<//></div></div>` : ""}
    <${Trouble} error=${error} /></div>`;
}

const nameOf = (terminal) =>
  Object.entries(world.value?.terminals ?? {}).find(([, id]) => id === terminal)?.[0]?.replaceAll("_", " ") ?? "";

/** Enter in a field starts the payment on the phone, and presses no other button. */
function entered(event) {
  if (event.key !== "Enter" || event.target.localName !== "input") return;
  event.preventDefault();
  event.currentTarget.querySelector(".bigb")?.click();
}

/** The oldest terminals and accounts of the world, to which its cast belongs, by their ids; null until they are read. */
function useDirectory() {
  const { world: id } = route.value;
  const read = (kind) => ask("GET", `${inWorld(id, "directory")}?kind=${kind}&limit=500&before=500`);
  const [pages] = useAnswer(() => Promise.all([read("terminal"), read("account")]), [id]);
  return useMemo(() => pages && new Map(pages.flatMap(({ entries }) => entries.map((one) => [one.id, one]))), [pages]);
}

/** The key of the merchant to whom a terminal belongs, or else of the nearest account above it that has one. */
function keyFor(terminal, directory) {
  const keys = world.value?.keys ?? {};
  if (keys[terminal]) return terminal;
  let one = directory.get(world.value?.terminals?.[terminal]);
  while (one && !keys[one.cast]) one = directory.get(one.parent_id);
  return one?.cast ?? null;
}

/** Why the key may not use the terminal, and which keys may; null if it may. */
function useWhyNot(key, terminal, operation) {
  const [found, setFound] = useState(null);
  const here = route.value.world;
  const target = world.value?.terminals?.[terminal];
  useEffect(() => {
    let over = false;
    setFound(null);
    if (target && world.value?.keys[key]) {
      ask("POST", inWorld(here, "lens"), { key, operation, target }).then((seen) => {
        if (!over) setFound(seen.allowed ? null : { why: seen.decisions.at(-1)?.reason ?? "", could: seen.could });
      }, () => {});
    }
    return () => { over = true; };
  }, [here, key, target, operation]);
  return found;
}

/** The outcomes that wait for the next attempts that match. */
function useQueue() {
  const [found, setFound] = useState([]);
  const here = route.value.world;
  useEffect(() => {
    let over = false;
    ask("GET", inWorld(here, "scenario", "next")).then(({ queue }) => { if (!over) setFound(queue); }, () => {});
    return () => { over = true; };
  }, [here, revision.value]);
  return found;
}

const Queue = ({ queue, currency }) => queue.length ? html`<span><span class="q">waits for the next request:</span> <b>${queue.map((one) => queued(one, currency)).join(", ")}</b>
    <${Act} class="btn s" run=${() => act("DELETE", ["scenario", "next"])} done="The queue is empty">Empty the queue<//></span>`
  : html`<span class="q">empty: no outcome waits for the next request</span>`;

/** The tip in minor units: 0 without one, null for what the platform refuses as it was typed. */
const tipOf = ({ tip }, currency) => (tip.trim() ? minor(tip, currency) : 0);

function Form({ form, setForm, body, waits, start, currency, directory }) {
  const queue = useQueue();
  const whyNot = useWhyNot(form.key, form.terminal, form.kind === "sale" ? "payments.create" : "payments.preauth");
  const set = (name) => (event) => setForm((now) => ({ ...now, [name]: event.target.value }));
  const choose = ({ target: { value: terminal } }) => setForm((now) => ({ ...now, terminal, key: keyFor(terminal, directory) ?? now.key }));
  const runs = scenario.value;
  const amount = minor(form.amount, currency);
  return html`<${Panel} title="New payment" class="form" more=${html`<button class="btn g s" onClick=${() => copy(curl({ method: "POST",
      url: platformUrl() + body.path, header: session.value.api_key_header, key: "$API_KEY", body: body.body }), "a curl command")}>
      <${Icon} name="shell" size=${13} />as curl</button>`}>
    <form class="pad col" onSubmit=${(event) => { event.preventDefault(); }} onKeyDown=${entered}>
    <label>Terminal<select value=${form.terminal} disabled=${!directory} onChange=${choose}>${Object.keys(world.value?.terminals ?? {}).map((name) => html`
      <option value=${name} selected=${name === form.terminal}>${name.replaceAll("_", " ")}</option>`)}</select></label>
    <label>Sent with key<select value=${form.key} onChange=${set("key")}>${Object.keys(world.value?.keys ?? {}).map((name) => html`
      <option value=${name} selected=${name === form.key}>${name}</option>`)}</select></label>
    ${whyNot ? html`<p class="q sm" role="note">This key cannot: ${named(whyNot.why)}. ${whyNot.could.length ? `These keys can: ${whyNot.could.map((one) => one.cast ?? one.name).join(", ")}.`
      : "No key of this world can."}</p>` : ""}
    <div class="fld"><span>Kind</span><${Choice} wide label="Kind" options=${[["sale", "Sale"], ["hold", "Hold"]]} value=${form.kind}
      onChoose=${(kind) => setForm((now) => ({ ...now, kind }))} /></div>
    <label>Amount<span class="amt"><span class="q">${sign(currency)}</span><input inputmode="decimal" value=${form.amount} aria-invalid=${String(amount === null)}
      onInput=${set("amount")} /><code class="q">${amount ?? "no amount"}</code></span></label>
    <label>Tip<span class="amt sml"><span class="q">${sign(currency)}</span><input inputmode="decimal" value=${form.tip} aria-invalid=${String(tipOf(form, currency) === null)} onInput=${set("tip")} /></span></label>
    <div class="dec"><h3>What decides the outcome, first to last</h3><ol><li class=${queue.length ? "hit" : ""}><span>queue</span><${Queue} queue=${queue} currency=${currency} /></li>
      <li class=${runs && !queue.length ? "hit" : ""}><span>scenario</span><span>${runs ? html`<b>${runs.name}</b>` : html`<span class="q">none runs</span>`}</span></li>
      <li class=${runs || queue.length ? "" : "hit"}><span>card</span><span>the one that is tapped</span></li>
      <li><span>amount</span><span class="q">${money(AMOUNTS_FROM, currency)} and above can choose an outcome</span></li></ol></div>
    ${waits ? html`<${Act} class="btn p bigb" run=${start} disabled=${amount === null}>Start on the phone<//>`
    : html`<p class="q sm">Tap a card to pay. To make payments from your software wait for a card:</p>
      <${Act} run=${() => act("PUT", ["scenario"], { name: "slow_tap" })} done="Payments wait for a card now">Have payments wait for a card<//>`}
    </form><//>`;
}

export function Terminal() {
  const { cards, outcomes } = useCatalogue();
  const directory = useDirectory();
  const [typed, setForm] = useState({ terminal: "merchant", key: "merchant", kind: "sale", amount: null, tip: "" });
  const [last, setLast] = useState(null);
  const [error, setError] = useState(null);
  const [begun, setBegun] = useState("");
  const [present, setPresent] = useState(false);
  const tap = taps.value[0] ?? null;
  const waits = scenario.value?.name === "Slow tap";
  useEffect(() => {
    const pressed = (event) => {
      if (event.key.toLowerCase() === "p" && keysOn.value && !event.ctrlKey && !event.metaKey && !event.target.closest?.("input, textarea, select")) setPresent((on) => !on);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  // The world may have been reset: then the payment is gone, like the receipts.
  useEffect(() => setLast(null), [world.value]);
  const { terminals = {}, keys = {} } = world.value ?? {};
  const terminal = terminals[typed.terminal] ? typed.terminal : Object.keys(terminals)[0];
  const currency = directory?.get(terminals[terminal])?.currency ?? "USD";
  const form = { ...typed, terminal, key: keys[typed.key] ? typed.key : (directory && keyFor(terminal, directory)) ?? Object.keys(keys)[0],
    amount: typed.amount ?? units(FIRST_AMOUNT, currency) };
  const amount = minor(form.amount, currency);
  const tip = tipOf(form, currency);
  const body = (more = {}) => ({ method: "POST", path: form.kind === "sale" ? "/v3/payment" : "/v3/preauth", key: form.key, body: {
    amount: tip ? amount + tip : amount, terminal_id: terminals[terminal],
    ...(tip === 0 ? {} : { breakdown: { subtotal: amount, tipAmount: tip ?? form.tip } }), ...more } });
  const ended = (answer) => {
    const refused = refusal(answer);
    setError(refused);
    if (answer.body?.transaction_id) setLast(answer.body);
    say(refused ? refused.message : `${shows(answer.body)}: ${money(approved(answer.body), answer.body.currency)}`);
  };
  const start = async () => {
    setError(null);
    setBegun((await send({ ...body(), wait: false })).request_id);
  };
  // A payment that was started on the phone may be refused: the journal has it.
  const failed = requests.value.find(({ id, status, payment }) => id === begun && status >= 400 && !payment);
  useEffect(() => {
    if (failed) setError({ message: `The platform answered ${failed.status}.`, details: failed.why ?? "" });
  }, [failed?.id]);
  const pay = async (how) => {
    if (tap) return act("POST", ["taps", tap.transaction_id], how);
    // The outcome goes with its request, so that none is left behind if that is refused.
    const headers = how.outcome ? { "x-sandbox-outcome": how.outcome } : {};
    return ended(await send({ ...body(how.card ? { card_reader_data: { paymentCardData: how.card } } : {}), headers }));
  };
  useCardKeys(cards, pay, tap, setError);
  const records = useLast(present ? 1 : 3);
  // After a refusal the phone shows no earlier payment.
  const shown = error ? null : last ?? records[0];
  const phone = html`<${Phone} tap=${tap} last=${shown} error=${error} />`;
  const receipts = records.length ? html`<ul class="rcs">${records.map((one) => html`<${Receipt} key=${one.transaction_id} record=${one} />`)}</ul>`
    : html`<${Empty}><p class="q">Recent receipts appear here.</p><//>`;
  const head = html`<div class="row wrap"><h1 tabindex="-1">Terminal</h1><span class="q">the phone of the merchant, and the cardholder in front of it</span><span class="sp"></span>
    <button class="btn" aria-pressed=${String(present)} onClick=${() => setPresent(!present)}><${Icon} name="eye" />Presenter view <kbd>P</kbd></button></div>`;
  if (present) return html`${head}<div class="present">${phone}<div><p class="plain">${sentence(tap, shown, error)}</p>${receipts}</div></div>`;
  return html`${head}<div class="grid3"><${Form} form=${form} setForm=${setForm} body=${body()} waits=${waits} start=${start} currency=${currency} directory=${directory} />${phone}
    <div class="side"><${Wallet} cards=${cards} outcomes=${outcomes} tap=${pay} waits=${tap} currency=${currency} />
    <${Panel} title="What the cardholder got" more=${html`<${Go} room="payments">All payments<//>`}>${receipts}<//></div></div>`;
}

function sentence(tap, record, error) {
  if (tap) return `The phone asks for a card for ${money(tap.amount, tap.currency)}.`;
  if (error) return "The payment was not accepted: the platform refused the request.";
  if (!record) return "The phone is ready for a payment.";
  const amount = money(approved(record), record.currency);
  if (record.status_reason === "partial_approval") return `The card had only ${amount} on it. That was approved; the rest is still to be paid.`;
  if (["captured", "authorized"].includes(record.status)) return `${amount} was approved.`;
  if (["settled", "refunded", "reversed"].includes(record.status)) return `${amount} was approved, and is ${record.status} by now.`;
  if (record.status === "pending") return `The payment of ${amount} has no answer yet.`;
  if (record.status === "surcharge_pending") return `${amount}, with a fee of ${money(record.surcharge_amount, record.currency)}, waits for the cardholder's answer.`;
  return `${amount} was not paid: ${plain(record.status_reason)}.`;
}
