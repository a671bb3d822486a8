// Time: the clock, what falls due, and moving ahead to it. A pane over every room, and a room.

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Group, Happened, Preview, shade } from "./agenda.js";
import { isReport } from "./capture.js";
import { Failures } from "./failures.js";
import { Marks } from "./marks.js";
import { route } from "./route.js";
import { act, agenda, clock, world } from "./state.js";
import { Act, Choice, Empty, html, Icon, say, Trouble } from "./ui.js";
import { useTicks, worldNow } from "./clockface.js";
import { day, isNear, time } from "./words.js";

/** Whether the pane is open. */
export const pane = signal(false);

const RATES = [["frozen", "Frozen"], ["1", "Runs"], ["60", "×60"], ["3600", "×3600"]];
const STEPS = [["1m", "+1 min"], ["5m", "+5 min"], ["1h", "+1 h"], ["1d", "+1 day"], ["7d", "+1 week"]];
const SCALE = [[1, "now"], [60, "1 min"], [3600, "1 h"], [86_400, "1 d"], [604_800, "1 wk"], [2_592_000, "1 mo"], [31_536_000, "1 y"]];
const END_S = 4 * 31_536_000;
const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

/** The instant, or null if there is no such day or it is too far away. */
const valid = (instant) => (Number.isNaN(instant.getTime()) ? null : instant);

/** The instant that the user typed, as "3d", "23:30", "31 Jul" or in full; null if it is none. */
export function moment(text, now) {
  const plain = text.trim();
  const steps = plain.replaceAll(" ", "");
  if (/^(\d+(ms|s|m|h|d))+$/.test(steps)) {
    const ahead = [...steps.matchAll(/(\d+)(ms|s|m|h|d)/g)].reduce((sum, [, count, unit]) => sum + count * UNITS[unit], 0);
    return valid(new Date(now.getTime() + ahead));
  }
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(plain) ?? [];
  if (hour) {
    const today = new Date(now);
    today.setUTCHours(Number(hour), Number(minute), 0, 0);
    return today > now ? today : new Date(today.getTime() + UNITS.d);
  }
  const [, number, name, year] = /^(\d{1,2}) ([a-z]{3})[a-z]*( \d{4})?$/i.exec(plain) ?? [];
  const month = MONTHS.indexOf(name?.toLowerCase());
  if (month >= 0) {
    const at = (when) => new Date(Date.UTC(when, month, Number(number)));
    const then = year ? at(Number(year)) : at(now.getUTCFullYear()) > now ? at(now.getUTCFullYear()) : at(now.getUTCFullYear() + 1);
    return then.getUTCMonth() === month ? then : null;
  }
  const full = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/i.test(plain) ? new Date(plain) : null;
  return full && valid(full);
}

const along = (seconds) => (540 * Math.log(Math.max(1, seconds))) / Math.log(END_S) + 14;

function Strip({ now, list }) {
  return html`<svg class="strip" viewBox="-8 0 588 44" role="img"
    aria-label=${`${list.length} events fall due, on a scale from now to years ahead`}>
    <path d="M14 26H554" class="axis" />
    ${SCALE.map(([seconds, text]) => html`<g><path d=${`M${along(seconds)} 26v4`} class="axis" />
      <text x=${along(seconds)} y="41">${text}</text></g>`)}
    ${list.map((one) => html`<rect class=${`due ${shade(one.kind)}`} y="8" width="2" height="16"
      x=${Math.min(564, along((Date.parse(one.due) - Number(now)) / 1000)) - 1} />`)}</svg>`;
}

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

function Moves({ list, now, advance, value }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState(null);
  const there = typed && moment(typed, now);
  const setMode = (mode) => act("PUT", ["clock"], mode === "frozen" ? { mode } : { mode: "running", rate: Number(mode) })
    .then(() => setError(null), setError);
  return html`<div class="row wrap"><${Choice} label="How the clock runs" options=${RATES} value=${value} onChoose=${setMode} />
      <form class="row" onSubmit=${(event) => { event.preventDefault(); event.target.querySelector("button")?.click(); }}>
      <input class="when" aria-label="Advance by or to" placeholder="3d, 23:30, 31 Jul" value=${typed} aria-invalid=${String(Boolean(typed) && !there)}
        onInput=${(event) => setTyped(event.target.value)} />
      <${Act} type="button" disabled=${!there} run=${() => advance({ to: there.toISOString() }).then(() => setTyped(""))}><${Icon} name="ahead" size=${13} />Go there<//></form></div>
    <div class="row wrap"><${Act} class="btn p" disabled=${!list.some((one) => isNear(now, one))} title="The next thing that falls due within a year" run=${() => advance({ to: "next" })}><${Icon} name="next" size=${13} />To the next<//>
      ${STEPS.map(([by, text]) => html`<${Act} run=${() => advance({ by })}>${text}<//>`)}</div>
    ${there ? there > now ? html`<div class="q"><${Preview} to=${there.toISOString()} /></div>` : html`<p class="q">${day(there)} ${time(there)} is in the past of this world.</p>`
    : typed ? html`<p class="q">Write a duration like 3d or 1h30m, a time like 23:30, a day like 31 Jul, or an instant like 2026-07-31T00:00:00Z.</p>` : ""}
    <${Trouble} error=${error} />`;
}

function Clockwork({ heading }) {
  useTicks();
  const [fired, setFired] = useState(null);
  const now = worldNow();
  // A reset or a return to a mark undoes what happened.
  useEffect(() => setFired(null), [world.value]);
  if (!now || !agenda.value) return heading("Time", "");
  const list = agenda.value.agenda;
  const value = clock.value.mode === "frozen" ? "frozen" : String(clock.value.rate);
  const advance = async (body) => {
    const answer = await act("POST", ["clock", "advance"], body);
    setFired(answer.fired);
    say(answer.fired.length ? `${answer.fired.length} fell due` : "The clock moved; nothing fell due");
  };
  return html`${heading(time(now), day(now), value === "frozen")}
  <${Moves} list=${list} now=${now} advance=${advance} value=${value} />
  <${Happened} fired=${fired} />
  <${Strip} now=${now} list=${list} />
  <div class="panel"><h2 class="vh">What falls due</h2>${groups(list, now).map((one) => html`<${Group} key=${one.title} ...${one} now=${now} advance=${advance} />`)}
  ${agenda.value.total > list.length ? html`<p class="q pad">and ${agenda.value.total - list.length} more,
    which <code>sandbox agenda --limit 500</code> lists</p>` : ""}
  ${list.length ? "" : html`<${Empty}><p class="q">Nothing falls due in this world. A hold, a retry or a payment
    that waits for a card shows up here.</p><//>`}</div>
  ${isReport ? "" : html`<section class="panel"><div class="ph"><h2>Failures</h2><span class="q sm">of any request to the platform</span></div><${Failures} /></section>
  <section class="panel"><div class="ph"><h2>Marks</h2><span class="q sm">moments to return to</span></div><${Marks} /></section>`}`;
}

const Day = ({ on, frozen }) => html`<span class="q">${on}<br />UTC${frozen ? ", frozen" : ""}</span>`;

/** The room. */
export const Time = () => html`<${Clockwork} heading=${(at, on, frozen) => html`<div class="row wrap"><${Icon} name=${frozen ? "frozen" : "time"} size=${20} />
  <h1 tabindex="-1" class="clockh"><span class="vh">Time </span>${at}</h1><${Day} on=${on} frozen=${frozen} /></div>`} />`;

/** The pane over every other room. */
export function TimePane() {
  useLayoutEffect(() => {
    if (!pane.value) return undefined;
    const before = /** @type {HTMLElement} */ (document.activeElement);
    /** @type {HTMLElement | null} */ (document.querySelector(".pane h2"))?.focus();
    const close = (event) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) pane.value = false;
    };
    addEventListener("keydown", close);
    return () => {
      removeEventListener("keydown", close);
      if (document.activeElement === document.body) before.focus();
    };
  }, [pane.value]);
  if (!pane.value || route.value.room === "time") return null;
  return html`<aside class="pane" aria-label="Time"><${Clockwork} heading=${(at, on, frozen) => html`<div class="row">
    <${Icon} name=${frozen ? "frozen" : "time"} size=${20} /><h2 tabindex="-1" class="clockh"><span class="vh">Time </span>${at}</h2>
    <${Day} on=${on} frozen=${frozen} /><span class="sp"></span><button class="btn g" aria-label="Close the clock"
      onClick=${() => { pane.value = false; }}><${Icon} name="close" /></button></div>`} /></aside>`;
}
