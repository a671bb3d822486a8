// Marks: moments of a world that it can return to.

import { useEffect, useState } from "preact/hooks";
import { useFocus } from "./reading.js";
import { route } from "./route.js";
import { act, revision, enter } from "./state.js";
import { Act, html, Sure, Trouble } from "./ui.js";
import { day, time } from "./words.js";

const size = (bytes) => (bytes < 100_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** Mark now, return, remove: the list and its form. */
export function Marks() {
  const [marks, setMarks] = useState([]);
  const [name, setName] = useState("");
  const [error, setError] = useState(null);
  const here = route.value.world;
  const read = () => act("GET", ["marks"]).then((answer) => { setMarks(answer.marks); setError(null); }, setError);
  useEffect(() => { read(); }, [here, revision.value]);
  useFocus(read);
  const add = async () => {
    await act("POST", ["marks"], { name: name.trim() });
    setName("");
    await read();
  };
  const back = async (mark) => {
    await act("POST", ["marks", mark.id, "return"]);
    enter(here);
  };
  return html`<div class="pad col"><form class="row wrap" onSubmit=${(event) => { event.preventDefault(); event.target.querySelector("button").click(); }}>
      <input aria-label="Name of the mark" placeholder="before the refund" maxlength="100" value=${name} onInput=${(event) => setName(event.target.value)} />
      <${Act} type="button" run=${add} done="Marked">Mark this moment<//></form>
    <${Trouble} error=${error} />
    ${marks.length ? html`<ul class="marks">${marks.toReversed().map((one) => html`<li key=${one.id} class="row wrap"><b class="el">${one.name || one.id}</b>
      <span class="q sm">${day(one.now)} ${time(one.now)}, ${size(one.bytes)}</span><span class="sp"></span>
      <${Sure} ask="Forget what has happened since?" yes="Return" class="btn s" run=${() => back(one)} done="Returned to the mark">Return to mark<//>
      <${Sure} ask="Remove this mark?" yes="Remove it" class="btn s g" run=${async () => { await act("DELETE", ["marks", one.id]); await read(); }} done="Removed">Remove<//></li>`)}</ul>`
    : html`<p class="q sm">No marks yet. A return restores payments, batches, keys and the clock. The ten newest marks are kept until the server
      stops.</p>`}</div>`;
}
