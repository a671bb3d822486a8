// Worlds: isolated from each other, each with its own clock.

import { signal, effect } from "@preact/signals";
import { useState } from "preact/hooks";
import { ask, inWorld, raw } from "./api.js";
import { Marks } from "./marks.js";
import { useAnswer, useFocus } from "./reading.js";
import { go, route } from "./route.js";
import { act, revision, enter, session, world } from "./state.js";
import { Act, FileButton, Go, Heading, html, Icon, Panel, say, Sure, Trouble } from "./ui.js";
import { day, time } from "./words.js";

/** The time of the last payments in the fixture `busy`. */
const BUSY_ENDS = "2026-03-01T06:00:00Z";

/** The room that the reader came from: another world opens in the same one. */
const room = signal("overview");
effect(() => {
  if (route.value.room !== "worlds") room.value = route.value.room;
});

const Row = ({ one, here, again, shared }) => html`<tr class=${here ? "on" : ""}><td><${Go} world=${one.id} room=${room.value}>${one.id}<//></td>
  <td class="wraps">${one.name}</td><td>${day(one.clock.now)} ${time(one.clock.now)} ${one.clock.mode}</td><td class="wraps">${one.scenario ?? ""}</td>
  ${[one.payments, one.requests, one.refused].map((count) => html`<td class="r">${count.toLocaleString("en")}</td>`)}${shared ? html`<td>${one.server ?? "–"}</td>` : ""}
  <td class="r">${one.id === "default" ? "" : html`<${Sure} ask=${`Delete ${one.id} and all that is in it?`} yes="Delete it" class="btn s dng" done="Deleted"
    run=${async () => { await ask("DELETE", inWorld(one.id)); if (here) go({ world: "default", room: "worlds" }); again(); }}>Delete<//>`}</td></tr>`;

/** Makes a new world of a file that the user chose. A file that is refused leaves none. */
async function opened(file) {
  const made = await ask("POST", "/worlds", {});
  try {
    await raw("PUT", inWorld(made.id, "snapshot"), undefined, { body: file });
  } catch (error) {
    await ask("DELETE", inWorld(made.id));
    throw error;
  }
  return made.id;
}

function New() {
  const [form, setForm] = useState({ id: "", name: "", fixture: "" });
  const [known, unread] = useAnswer(() => ask("GET", "/fixtures"));
  const [error, setError] = useState(null);
  const set = (name) => (event) => setForm((now) => ({ ...now, [name]: event.target.value }));
  const make = async () => {
    const given = Object.entries(form).map(([name, text]) => [name, text.trim()]).filter(([, text]) => text);
    const made = await ask("POST", "/worlds", Object.fromEntries(given));
    go({ world: made.id, room: room.value });
  };
  const busy = async () => {
    const made = await ask("POST", "/worlds", { name: "A busy month", fixture: "busy", clock: BUSY_ENDS });
    go({ world: made.id, room: room.value });
  };
  const load = async (file) => {
    setError(null);
    try {
      const id = await opened(file);
      go({ world: id, room: room.value });
      say(`${file.name} is the world ${id}`);
    } catch (caught) {
      setError(caught);
    }
  };
  return html`<${Panel} title="A new world"><form class="pad col" onSubmit=${(event) => event.preventDefault()}>
    <label>Id (optional)<input placeholder="friday" value=${form.id} onInput=${set("id")} /></label>
    <label>Name<input placeholder="Friday demo" value=${form.name} onInput=${set("name")} /></label>
    <label>Starts from<select value=${form.fixture} onChange=${set("fixture")}><option value="">the server's default fixture</option>
      ${(known?.fixtures ?? []).map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
    <div class="row wrap"><${Act} class="btn p" run=${make}>Create it<//>
    <${Act} type="button" run=${busy}>Load a busy month<//>
    <${FileButton} onFile=${load}>Open a saved file<//></div>
    <${Trouble} error=${error ?? unread} /></form><//>`;
}

function This({ again }) {
  const here = route.value.world;
  const [name, setName] = useState(world.value?.name ?? "");
  const [copy, setCopy] = useState("");
  const changed = () => { enter(here); again(); };
  const fork = async () => {
    const made = await act("POST", ["fork"], copy.trim() ? { id: copy.trim() } : {});
    go({ world: made.id, room: room.value });
  };
  return html`<${Panel} title=${`This world, ${here}`}><div class="pad col">
    <div class="row wrap"><label class="inl">Name<input maxlength="100" value=${name} onInput=${(event) => setName(event.target.value)} /></label>
      <${Act} run=${async () => { await act("PATCH", [], { name }); changed(); }} done="Renamed">Rename<//></div>
    <div class="row wrap"><label class="inl">Copy<input placeholder="id, or none" value=${copy} onInput=${(event) => setCopy(event.target.value)} /></label>
      <${Act} run=${fork} done="You are in the copy now">Fork it<//></div>
    <div class="row wrap"><a class="btn" href=${`worlds/${encodeURIComponent(here)}/snapshot`} download=${`${here}.json`}>Save it as a file</a>
      <${Sure} ask="Forget its payments, journal and messages?" yes="Reset it" class="btn dng" done="Reset"
        run=${async () => { await act("POST", ["reset"]); changed(); }}><${Icon} name="again" size=${13} />Reset<//></div>
    <p class="q sm">A reset restores the accounts and keys that the world started with. The file contains its API keys; “Open a saved file” makes
      a world of it, here or on another server. A fork has its own keys.</p></div><//>`;
}

/** The heading of the list: a team sees its own worlds. */
function whose() {
  const team = session.value?.team;
  return team ? `All worlds of the team ${team}` : "All worlds of this server";
}

export function Worlds() {
  const [turn, setTurn] = useState(0);
  const [found, error] = useAnswer(() => ask("GET", "/worlds?shape=row"), [turn, revision.value]);
  const list = found?.worlds ?? [];
  const again = () => setTurn((n) => n + 1);
  useFocus(again);
  const here = route.value.world;
  const shared = list.some((one) => one.server);
  return html`<div class="row wrap"><${Heading} text="Worlds" count=${found && list.length} />
    <span class="q">choose a world to open its ${room.value}</span></div>
  <${Trouble} error=${error} />
  <${Panel} title=${whose()} about="isolated from each other"><div class="scroll" tabindex="0"><table><thead><tr>
    <th>world</th><th>name</th><th>clock</th><th>scenario</th><th class="r">payments</th><th class="r">requests</th><th class="r">refused</th>${shared ? html`<th>server</th>` : ""}
    <th><span class="vh">Actions</span></th></tr></thead><tbody>
    ${list.map((one) => html`<${Row} key=${one.id} one=${one} here=${one.id === here} again=${again} shared=${shared} />`)}</tbody></table></div><//>
  ${world.value ? html`<div class="cols"><${This} key=${`${here} ${world.value.name}`} again=${again} /><${Panel} title="Marks"
    about="moments of this world to return to"><${Marks} /><//></div>` : ""}
  <div class="cols"><${New} /></div>`;
}
