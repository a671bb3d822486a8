// The clock of the world, in the header and wherever a room shows it.

import { useEffect, useState } from "preact/hooks";
import { clock } from "./state.js";
import { html, Icon } from "./ui.js";
import { date, day, time } from "./words.js";

/** The world's time at this moment, as a Date; null before it is known. */
export function worldNow() {
  const set = clock.value;
  if (!set) return null;
  const passed = set.mode === "frozen" ? 0 : (Date.now() - set.read) * set.rate;
  return new Date(Date.parse(set.now) + passed);
}

const isToday = (instant) => day(instant) === day(worldNow() ?? instant);

/** An instant as a list shows it: its time if its date is the world's, or else the date. `length` 5 leaves out seconds. */
export const brief = (instant, length = 8) => (isToday(instant) ? time(instant).slice(0, length) : date(instant));

/** The time of an instant, with its date if that is not the world's, and with its year if that is another. */
export function exact(instant) {
  if (isToday(instant)) return time(instant);
  const year = new Date(instant).getUTCFullYear();
  return `${date(instant)} ${year === worldNow().getUTCFullYear() ? "" : `${year} `}${time(instant)}`;
}

/** Renders the component again every second while the clock runs. */
export function useTicks() {
  const [, again] = useState(0);
  const frozen = clock.value?.mode === "frozen";
  useEffect(() => {
    if (frozen) return undefined;
    const timer = setInterval(() => again((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [frozen]);
}

export function ClockFace({ open, toggle }) {
  useTicks();
  const now = worldNow();
  if (!now) return null;
  const { mode, rate } = clock.value;
  const how = mode === "frozen" ? "UTC, frozen" : rate === 1 ? "UTC" : `UTC, ×${rate}`;
  return html`<button class=${`chip ${mode === "frozen" ? "ice" : ""}`} aria-expanded=${String(open)} title="Move the clock (t)" onClick=${toggle}>
    <${Icon} name=${mode === "frozen" ? "frozen" : "time"} />
    <span class="opt">${day(now)}</span><b>${time(now)}</b><span class="opt">${how}</span></button>`;
}
