// Overview: what needs attention, what happens, what falls due, how the endpoints are doing.

import { useMemo, useState } from "preact/hooks";
import { refusal } from "./api.js";
import { act, agenda, endpoints, glance, held, hold, listed, messages, named, requests, send, taps, waiting, world }
  from "./state.js";
import { Act, Code, Empty, Go, html, Icon, Panel, Choice, Status, walk, What } from "./ui.js";
import { decider, isNear, money, purpose, shows, subject, took, until } from "./words.js";
import { deliveriesTo, failing, tick } from "./health.js";
import { brief, exact, useTicks, worldNow } from "./clockface.js";

const FILTERS = [["", "Everything"], ["refused", "Refusals"], ["payments", "Payments"]];

/** The room for each need that only the server sees. */
const ROOMS = { surcharge: ["payments", "A payment"], batch: ["batches", "A batch"], key: ["access", "A key"] };

function Needs() {
  const seen = (glance.value?.needs ?? []).filter(({ kind }) => ROOMS[kind]);
  const bad = endpoints.value.filter((one) => failing(one, messages.value));
  const off = endpoints.value.filter((one) => one.disabled);
  if (!taps.value.length && !bad.length && !off.length && !seen.length) return null;
  return html`<ul class="panel needs" aria-label="Needs you">
    ${taps.value.map((tap) => html`<li><${Icon} name="terminal" /><span class="grow">
      <b>Waiting for a card</b>: ${money(tap.amount, tap.currency)} <span class="q">since ${exact(tap.since)}</span></span>
      <${Go} room="terminal" class="btn p">Tap a card<//></li>`)}
    ${bad.map((one) => html`<li class="bad"><${Icon} name="webhooks" /><span class="grow el">
      <b>${one.description || one.url}</b> does not accept its webhooks</span>
      <${Go} room="webhooks" class="btn">Look at it<//></li>`)}
    ${off.map((one) => html`<li class="bad"><${Icon} name="webhooks" /><span class="grow el">
      <b>${one.description || one.url}</b> is disabled ${one.disabled_reason ?? ""}</span>
      <${Act} run=${() => act("POST", ["endpoints", one.id, "enable"])} done="Enabled">Enable<//></li>`)}
    ${seen.map((one) => html`<li key=${one.id}><${Icon} name=${ROOMS[one.kind][0]} /><span class="grow el">
      <b>${ROOMS[one.kind][1]}</b>${one.amount === null ? "" : ` of ${money(one.amount, one.currency)}`} ${one.says}</span>
      <${Go} room=${ROOMS[one.kind][0]} id=${one.id} class="btn">Look at it<//></li>`)}
  </ul>`;
}

const Dots = ({ sent }) => html`<span class="evs">${sent.map((message) => html`<span class="ev">
    ${message.event_type.split(".").pop()}<span class="dots">${message.deliveries.map((one) => html`<i
      class=${{ x: "no", w: "wait", "": "" }[tick({ status: one.status, tries: one.attempts })]}
      title=${one.status}></i>`)}</span></span>`)}</span>`;

function Line({ entry, sent }) {
  const { why, payment } = entry;
  return html`<li><${Go} room="journal" id=${entry.id} class=${`ln ${why ? "rf" : ""}`}>
    <time class="qq">${brief(entry.at)}</time>
    <${What} entry=${entry} />
    <span class="w">${payment && (entry.status ?? 0) < 400 ? html`<${Status} status=${payment.status} />`
      : html`<${Code} status=${entry.status} />`}</span>
    <span class="el">${decider(entry) ? html`<span class="by">${decider(entry)}</span>`
      : why ? html`<code class="qq">${entry.method} ${entry.path}</code>` : html`<span class="qq">${payment?.last4 ? `${payment.brand ?? ""} ${payment.last4}` : ""}</span>`}</span>
    <${Dots} sent=${sent} />
    <span class="q el mer">${payment?.merchant ?? ""}</span>
    <span class="qq r ms">${entry.duration_ms == null ? "" : took(entry.duration_ms)}</span>
    ${why && html`<span class="why el">${named(why)} <span class="cl">${entry.clause ?? ""}</span></span>`}
  <//></li>`;
}

/** The messages of each request, in the order in which they were made. */
function byRequest(list) {
  const found = new Map();
  for (const one of list) found.set(one.request_id, [one, ...(found.get(one.request_id) ?? [])]);
  return found;
}

/** Lines of the same kind that follow each other fold into one with a count. */
function folded(list) {
  const lines = [];
  for (const entry of list) {
    const last = lines.at(-1);
    const same = last && last.entry.route === entry.route && last.entry.status === entry.status
      && entry.status >= 400 && last.entry.why === entry.why;
    if (same) last.more += 1;
    else lines.push({ entry, more: 0 });
  }
  return lines;
}

function Feed() {
  const [only, setOnly] = useState("");
  const [q, setQ] = useState("");
  const told = useMemo(() => byRequest(messages.value), [messages.value]);
  const fits = (entry) => (only !== "refused" || entry.status >= 400)
    && (only !== "payments" || entry.payment)
    && (!q || JSON.stringify([entry.id, purpose(entry), entry.status, entry.payment?.status,
      entry.payment?.merchant, entry.payment?.id]).toLowerCase().includes(q.toLowerCase()));
  const lines = folded(listed.value.filter(fits)).slice(0, 60);
  return html`<${Panel} title="Recent activity" class="feed" more=${html`
    <input type="search" aria-label="Filter" placeholder="merchant, status, id" value=${q}
      onInput=${(event) => setQ(event.target.value)} />`}
    about=${html`<${Choice} label="Show" options=${FILTERS} value=${only} onChoose=${setOnly} />`}>
    ${held.value && waiting.value ? html`<button class="new" onClick=${() => hold(false)}>
      ${waiting.value} new</button>` : ""}
    <ol aria-label="Requests, newest first" onKeyDown=${walk}>${lines.map(({ entry, more }) => html`
      <${Line} key=${entry.id} entry=${entry} sent=${told.get(entry.id) ?? []} />
      ${more ? html`<li class="fold q sm">and ${more} more like it</li>` : ""}`)}</ol>
    ${listed.value.length ? !lines.length && html`<${Empty}><p>None of the last
      ${listed.value.length} requests match.</p><//>` : html`<${First} />`}<//>`;
}

/** What to do in a world without requests, which may have been loaded with payments. */
function First() {
  const terminal = world.value?.terminals?.merchant;
  return html`<${Empty}><p><b>${messages.value.length ? "The journal has no requests yet." : "Nothing has happened in this world."}</b></p>
    <p class="q">Requests from your software show up here as they arrive, with the reasons for each answer.</p>
    ${terminal && html`<${Act} class="btn p" done=${({ body }) => shows(body)} run=${async () => {
      const answer = await send({ method: "POST", path: "/v3/payment", key: "merchant", body: { amount: 1000,
        terminal_id: terminal, card_reader_data: { paymentCardData: "tok_visa_credit" } } });
      const refused = refusal(answer);
      if (refused) throw refused;
      return answer;
    }}>Tap a first payment<//>`}<//>`;
}

function Due() {
  useTicks();
  const now = worldNow();
  const list = (agenda.value?.agenda ?? []).filter((one) => isNear(now, one));
  return html`<${Panel} title="Coming up" more=${html`<${Go} room="time">All ${agenda.value?.total ?? ""}<//>`}>
    ${list.length ? html`<ul class="due">${list.slice(0, 6).map((one) => html`<li><${Icon} name="time" size=${14} />
      <span class="el"><b>${named(subject(one.subject))}</b> ${one.says}</span><span class="q">${until(now, one.due)}</span></li>`)}</ul>`
    : html`<${Empty}><p class="q">Nothing falls due within a year.</p><//>`}
    <div class="pf"><${Act} disabled=${!list.length} run=${() => act("POST", ["clock", "advance"], { to: "next" })}
      done="The clock moved"><${Icon} name="next" size=${13} />To the next<//>
    ${["1m", "1h", "1d"].map((by) => html`<${Act} run=${() => act("POST", ["clock", "advance"], { by })}
      done="The clock moved">+${{ "1m": "1 min", "1h": "1 h", "1d": "1 day" }[by]}<//>`)}</div><//>`;
}

export const Ticks = ({ endpoint }) => html`<span class="ticks" aria-hidden="true">${
  deliveriesTo(endpoint, messages.value).map((one) => html`<i class=${tick(one)}></i>`)}</span>`;

const Endpoints = () => html`<${Panel} title="Webhook endpoints" more=${html`<${Go} room="webhooks">Open<//>`}>
  ${endpoints.value.length ? html`<ul class="eps">${endpoints.value.slice(0, 6).map((one) => {
    const last = deliveriesTo(one, messages.value);
    const good = last.filter((each) => tick(each) === "").length;
    const isBad = last.some((each) => tick(each) === "x");
    return html`<li><b class="el">${one.description || one.url}</b><${Ticks} endpoint=${one} />
      <span class=${isBad ? "x r" : "q r"}>${good} / ${last.length}</span></li>`;
  })}</ul>` : html`<${Empty}><p class="q">No endpoints yet: webhooks are stored, but not delivered.</p>
    <${Go} room="webhooks" class="btn">Add an endpoint<//><//>`}<//>`;

/** How many payments have each status: of the world, or of the requests where that is unknown. */
function statuses() {
  if (glance.value) return new Map(Object.entries(glance.value.statuses));
  const last = new Map();
  for (const { payment, subject } of requests.value) {
    // An action may answer with a record of its own. That does not count as a payment.
    if (payment && (!subject || subject === payment.id) && !last.has(payment.id)) last.set(payment.id, payment.status);
  }
  const counts = new Map();
  for (const status of last.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

function Statuses() {
  const counts = statuses();
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
  if (!counts.size) return null;
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return html`<${Panel} title=${glance.value ? "Payments of this world" : "Payments of these requests"} more=${html`<b>${all.toLocaleString("en")}</b>`}>
    <svg class="dist" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${
      sorted.map(([status, count], i) => {
        const before = sorted.slice(0, i).reduce((sum, [, n]) => sum + n, 0);
        return html`<rect class=${`st-${status}`} fill="currentColor" height="4"
          x=${(100 * before) / all} width=${Math.max(0.4, (100 * count) / all - 0.6)} />`;
      })}</svg>
    <ul class="leg">${sorted.map(([status, count]) => html`<li><${Status} status=${status} />
      <b>${count.toLocaleString("en")}</b></li>`)}</ul><//>`;
}

export const Overview = () => html`<div class="row"><h1 tabindex="-1">Overview</h1><span class="sp"></span>
    <button class="btn g" aria-pressed=${String(held.value)} onClick=${() => hold()}>
    <${Icon} name="hold" />${held.value ? "Resume updates" : "Pause updates"}</button></div>
  <${Needs} /><div class="grid2"><${Feed} /><div class="side"><${Due} /><${Endpoints} /><${Statuses} /></div></div>`;
