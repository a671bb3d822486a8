// What the console of a report has besides the rooms: its captures, and a note for what needs a server.

import { captures, isReport } from "./capture.js";
import { route } from "./route.js";
import { world } from "./state.js";
import { Go, html, Icon, Panel } from "./ui.js";
import { day, time } from "./words.js";

/** The rooms that need a running sandbox. */
const ELSEWHERE = {
  terminal: ["Terminal", "A capture takes no payments. Those that were made are in the Payments room."],
  api: ["API", "A capture takes no requests. The recorded ones are in the Journal room."],
  scenarios: ["Scenarios", "A capture runs no scenarios. The Journal room shows what the scenario decided for each request."],
};

const Elsewhere = ({ title, says }) => html`<h1 tabindex="-1">${title}</h1>
  <div class="panel pad"><p>This room needs a running sandbox. ${says}</p>
  <p class="q">Start one with <code>sandbox serve</code>.</p></div>`;

const Captures = () => html`<div class="row wrap"><h1 tabindex="-1">Captures</h1><span class="qq">${captures.length}</span></div>
  <${Panel} title="Worlds in this report" about="each as it was when it was captured"><div class="scroll" tabindex="0"><table><thead><tr>
    <th>of</th><th>world</th><th>${captures.some(({ why }) => why) ? "why the test failed" : ""}</th></tr></thead><tbody>${captures.map((one) => html`<tr key=${one.id}
      class=${one.id === route.value.world ? "on" : ""}><td><${Go} world=${one.id} room="journal">${one.test}<//></td>
      <td><code>${one.world}</code></td><td class="wraps">${one.why}</td></tr>`)}</tbody></table></div><//>`;

/** Says above every room that this is a capture, and of what. */
export const Band = () => isReport && world.value ? html`<aside class="captured" aria-label="Capture"><${Icon} name="eye" /><span>A capture of
  the world <b>${world.value.id}</b> at ${day(world.value.clock.now)} ${time(world.value.clock.now)} UTC on its clock.
  It can be read, but not changed.</span></aside>` : null;

/** The rooms as a report has them. */
export const roomsOf = (rooms) => !isReport ? rooms : rooms.map(([id, title, View]) => {
  if (id === "worlds") return [id, "Captures", Captures];
  if (!ELSEWHERE[id]) return [id, title, View];
  const [name, says] = ELSEWHERE[id];
  return [id, title, () => html`<${Elsewhere} title=${name} says=${says} />`];
});

/** Begins with the first capture if the address names none. */
export function beginReport() {
  if (isReport && captures.length && !location.hash) {
    history.replaceState(null, "", `#/${encodeURIComponent(captures[0].id)}/${captures.length > 1 ? "worlds" : "journal"}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}
