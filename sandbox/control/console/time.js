// Time: the clock, what falls due, and moving ahead to it.

import { useState } from "preact/hooks";
import { named } from "./health.js";
import { act, agenda, clock, endpoints } from "./state.js";
import { Act, Choice, Empty, html, Icon, Panel, say } from "./ui.js";
import { useTicks, worldNow } from "./clockface.js";
import { day, time, until } from "./words.js";

const RATES = [["frozen", "Frozen"], ["1", "Runs"], ["60", "×60"], ["3600", "×3600"]];
const STEPS = [["1m", "+1 min"], ["5m", "+5 min"], ["1h", "+1 h"], ["1d", "+1 day"], ["7d", "+1 week"]];
const MARKS = [[1, "now"], [60, "1 min"], [3600, "1 h"], [86_400, "1 d"], [2_592_000, "1 mo"], [31_536_000, "1 y"]];
const END_S = 4 * 31_536_000;

const advance = async (body) => {
  const { fired } = await act("POST", ["clock", "advance"], body);
  say(fired.length ? `${fired.length} fell due` : "The clock moved; nothing fell due");
};

async function setMode(value) {
  /** @type {Api.ClockBody} */
  const body = value === "frozen" ? { mode: "frozen" } : { mode: "running", rate: Number(value) };
  await act("PUT", ["clock"], body);
}

const along = (seconds) => (540 * Math.log(Math.max(1, seconds))) / Math.log(END_S) + 10;

function Strip({ now, list }) {
  const ahead = list.map((one) => (Date.parse(one.due) - Number(now)) / 1000);
  return html`<svg class="strip" viewBox="0 0 580 44" role="img"
    aria-label=${`${list.length} things fall due, on a scale from now to years ahead`}>
    <path d="M10 26H550" class="axis" />
    ${MARKS.map(([seconds, text]) => html`<g><path d=${`M${along(seconds)} 26v4`} class="axis" />
      <text x=${along(seconds)} y="41">${text}</text></g>`)}
    ${ahead.map((seconds) => html`<rect class="due" x=${along(seconds) - 1} y="8" width="2" height="16" />`)}</svg>`;
}

/**
 * What falls due, by how far it is away.
 * @param {Api.DueView[]} list
 * @param {Date} now
 */
function groups(list, now) {
  /** @type {[string, number][]} */
  const limits = [["Within the hour", 3600], ["Within a day", 86_400], ["Within a month", 2_592_000], ["Later", Infinity]];
  const found = limits.map(([title, limit]) => ({ title, limit, list: [] }));
  for (const one of list) {
    const ahead = (Date.parse(one.due) - Number(now)) / 1000;
    found.find(({ limit }) => ahead <= limit).list.push(one);
  }
  return found.filter(({ list: some }) => some.length);
}

function Due({ one, now, ahead, open, onOpen }) {
  const then = one.then ? `${one.then.status}${one.then.status_reason ? ` / ${one.then.status_reason}` : ""}` : "";
  return html`<li class=${open ? "on" : ""}><button class="dueb" aria-expanded=${String(open)} onClick=${onOpen}>
    <${Icon} name="time" size=${14} /><span class="el"><b>${named(one.subject.says, endpoints.value)}</b> ${one.says}</span>
    <span class="q">${until(now, one.due)}</span><span class="m">${ahead > 86_400_000 ? day(one.due) : time(one.due)}</span></button>
    ${open && html`<div class="pv"><p>${then ? `Then it is ${then}. ` : ""}Everything that is due before it happens
      first, in order. <span class="cl">${one.clause}</span></p>
      <div class="row wrap"><${Act} class="btn p" run=${() => advance({ to: one.due })}>Advance<//>
      <${Act} class="btn g" run=${() => advance({ to: one.due, before: true })}>Stop just before it<//></div></div>`}</li>`;
}

export function Time() {
  useTicks();
  const [open, setOpen] = useState("");
  const [typed, setTyped] = useState("");
  const [error, setError] = useState(null);
  const now = worldNow();
  if (!now || !agenda.value) return html`<h1 tabindex="-1">Time</h1>`;
  const list = agenda.value.agenda;
  const value = clock.value.mode === "frozen" ? "frozen" : String(clock.value.rate);
  const there = () => advance(/^\d+\s*(ms|s|m|h|d)/.test(typed.trim()) ? { by: typed.trim() } : { to: typed.trim() });
  return html`<div class="row wrap"><${Icon} name=${value === "frozen" ? "frozen" : "time"} size=${20} />
    <h1 tabindex="-1" class="clockh"><span class="vh">Time </span>${time(now)}</h1>
    <span class="q">${day(now)} UTC</span></div>
  <div class="row wrap"><${Choice} label="How the clock runs" options=${RATES} value=${value}
      onChoose=${(one) => setMode(one).then(() => setError(null), setError)} />
    <${Act} class="btn p" disabled=${!list.length} run=${() => advance({ to: "next" })}><${Icon} name="next" size=${13} />To the next<//>
    ${STEPS.map(([by, text]) => html`<${Act} run=${() => advance({ by })}>${text}<//>`)}
    <input aria-label="Advance by or to" placeholder="3d or 2026-07-31T00:00:00Z" value=${typed}
      onInput=${(event) => setTyped(event.target.value)} />
    <${Act} disabled=${!typed} run=${there}><${Icon} name="ahead" size=${13} />Go there<//></div>
  ${error && html`<p class="oops" role="alert">${error.message}</p>`}
  <${Strip} now=${now} list=${list} />
  ${groups(list, now).map(({ title, list: some }) => html`<${Panel} title=${title}
    more=${html`<span class="qq">${some.length}</span>`}><ul class="agenda">${some.map((one) => html`<${Due} key=${one.id}
      one=${one} now=${now} ahead=${Date.parse(one.due) - Number(now)} open=${open === one.id}
      onOpen=${() => setOpen(open === one.id ? "" : one.id)} />`)}</ul><//>`)}
  ${agenda.value.total > list.length ? html`<p class="q">and ${agenda.value.total - list.length} more,
    which <code>sandbox agenda --limit 500</code> lists</p>` : ""}
  ${list.length ? "" : html`<${Empty}><p class="q">Nothing falls due in this world. A hold, a retry or a payment
    that waits for a card shows up here.</p><//>`}`;
}
