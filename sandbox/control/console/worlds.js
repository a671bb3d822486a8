// Worlds: isolated from each other, each with a clock of its own.

import { useEffect, useState } from "preact/hooks";
import { ask } from "./api.js";
import { go, route } from "./route.js";
import { act, beat, enter } from "./state.js";
import { Act, Go, html, Panel, Trouble } from "./ui.js";
import { day, time } from "./words.js";

export function Worlds() {
  const [list, setList] = useState([]);
  const [error, setError] = useState(null);
  const [id, setId] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    ask("GET", "/worlds").then(({ worlds }) => { setList(worlds); setError(null); }, setError);
  }, [turn, beat.value]);
  const again = () => setTurn((n) => n + 1);
  const make = async () => {
    const made = await ask("POST", "/worlds", id.trim() ? { id: id.trim() } : {});
    setId("");
    go({ world: made.id, room: "overview" });
  };
  const here = route.value.world;
  const reset = async () => {
    await act("POST", ["reset"]);
    enter(here);
  };
  return html`<div class="row wrap"><h1 tabindex="-1">Worlds</h1><span class="qq">${list.length}</span></div>
  <${Trouble} error=${error} />
  <${Panel} title="All worlds of this server" about="what happens in one, no other sees"><div class="scroll" tabindex="0"><table><thead><tr>
    <th>world</th><th>name</th><th>clock</th><th>scenario</th><th>fixture</th><th>seed</th><th><span class="vh">Actions</span></th></tr></thead><tbody>
    ${list.map((one) => html`<tr key=${one.id} class=${one.id === here ? "on" : ""}><td><${Go} world=${one.id} room="overview">${one.id}<//></td>
      <td>${one.name}</td><td>${day(one.clock.now)} ${time(one.clock.now)} ${one.clock.mode}</td><td>${one.scenario?.name ?? one.scenario ?? ""}</td>
      <td>${one.fixture}</td><td>${one.seed}</td><td class="r">${one.id === "default" ? "" : html`<${Act} class="btn s dng" done="Removed"
        run=${async () => { await ask("DELETE", `/worlds/${encodeURIComponent(one.id)}`); again(); }}>Remove<//>`}</td></tr>`)}</tbody></table></div><//>
  <div class="cols"><${Panel} title="A new world"><div class="pad col"><label>Id, or none to have one made up<input value=${id}
      placeholder="friday" onInput=${(event) => setId(event.target.value)} /></label>
    <div><${Act} class="btn p" run=${make}>Make it<//></div></div><//>
  <${Panel} title=${`This world, ${here}`}><div class="pad col"><p class="q">A reset puts back the accounts and keys with which it began, and forgets
    payments, journal and messages.</p><div class="row wrap"><${Act} class="btn dng" run=${reset} done="Reset">Reset it<//>
    <a class="btn" href=${`worlds/${encodeURIComponent(here)}/snapshot`} download=${`${here}.json`}>Save it as a file</a></div>
    <p class="q sm">The file holds its API keys. <code>sandbox world load</code> opens it.</p></div><//></div>`;
}
