// Coverage: which parts of the platform were used. Clauses: the sentences behind every answer.

import { useState } from "preact/hooks";
import { ask, inWorld } from "./api.js";
import { isReport } from "./capture.js";
import { useAnswer } from "./reading.js";
import { go, refine, route } from "./route.js";
import { show, way } from "./showing.js";
import { revision } from "./state.js";
import { Act, Choice, Empty, FileButton, Heading, html, Panel, prose, say, Trouble } from "./ui.js";

const title = (name) => name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());

/** Makes something happen in a fork, and opens the request that shows it. */
async function shown(name, steps) {
  const { world, request } = await show(route.value.world, name, steps);
  go({ world, room: "journal", id: request });
  say(`${name}, in the fork ${world}`);
}

function Never({ section, name, catalogue, file }) {
  const steps = catalogue && way(section, name, catalogue);
  const there = file?.[section]?.exercised?.[name];
  return html`<li class=${there ? "there" : ""}>${name}${there ? html` <b>${there}</b><span class="vh"> in the file</span>` : ""}
    ${steps ? html` <${Act} class="link" run=${() => shown(name, steps)} aria-label=${`Show me ${name}`}>Show me<//>` : ""}</li>`;
}

function Section({ name, content, catalogue, file }) {
  const met = Object.entries(content.exercised);
  const other = file?.[name]?.exercised ?? {};
  const never = [...content.never, ...Object.keys(other).filter((one) => !(one in content.exercised) && !content.never.includes(one))];
  const only = met.filter(([one]) => file && !other[one]).length;
  return html`<${Panel} title=${title(name)} about=${file ? `${only} only here, ${never.filter((one) => other[one]).length} only in the file` : ""}
    more=${html`<b>${met.length}</b><span class="q"> of ${met.length + never.length}</span>`}>
    <ul class="map">${met.map(([one, count]) => html`<li class=${`met ${file && !other[one] ? "only" : ""}`}>${one} <b>${count}</b></li>`)}
      ${never.map((one) => html`<${Never} key=${one} section=${name} name=${one} catalogue=${catalogue} file=${file} />`)}</ul>
    ${met.length + never.length ? "" : html`<${Empty}><p class="q">Nothing covered yet.</p><//>`}<//>`;
}

/** A coverage file, as `--sandbox-coverage` and `sandbox coverage --json` write it. Throws an Error with a sentence. */
async function readFile(file) {
  const content = await file.text().then(JSON.parse).catch(() => null);
  const sections = Object.values(content ?? {}).filter((one) => one?.exercised && Array.isArray(one.never));
  if (!sections.length) throw new Error(`${file.name} is not a coverage file: pytest --sandbox-coverage=FILE and sandbox coverage --json write one.`);
  return { ...content, name: file.name };
}

function Compare({ file, onFile }) {
  const [error, setError] = useState(null);
  const take = (chosen) => readFile(chosen).then((found) => { setError(null); onFile(found); }, setError);
  return html`<div class="drop row wrap" onDragOver=${(event) => event.preventDefault()} onDrop=${(event) => {
    event.preventDefault();
    const [dropped] = event.dataTransfer.files;
    if (dropped) take(dropped);
  }}>${file ? html`<span>Compared with <b>${file.name}</b>. <span class="key met">met in both</span> <span class="key met only">only here</span>
      <span class="key there">only in the file</span></span><span class="sp"></span><button class="btn" onClick=${() => onFile(null)}>Stop comparing</button>`
    : html`<span class="q">Drop a coverage file here to compare, as <code>pytest --sandbox-coverage</code> writes it, or</span>
      <${FileButton} onFile=${take}>choose one<//>`}<${Trouble} error=${error} /></div>`;
}

export function Coverage() {
  const all = route.value.query.of === "all";
  const path = all ? "/coverage" : inWorld(route.value.world, "coverage");
  const [found, error] = useAnswer(() => ask("GET", path), [path, revision.value]);
  const [catalogue] = useAnswer(() => ask("GET", "/outcomes"));
  const [file, setFile] = useState(null);
  return html`<div class="row wrap"><h1 tabindex="-1">Coverage</h1><span class="q">what was used, and what never came up</span><span class="sp"></span>
    ${isReport ? "" : html`<${Choice} label="Of" options=${[["", "This world"], ["all", "All worlds"]]} value=${all ? "all" : ""} onChoose=${(of) => refine({ of })} />`}</div>
  ${isReport ? "" : html`<p class="q sm">Requests from this console do not count. “Show me” makes it happen in a fork of this world.</p>`}
  <${Trouble} error=${error} /><${Compare} file=${file} onFile=${setFile} />
  ${found && Object.entries(found).filter(([, one]) => one?.exercised).map(([name, content]) => html`<${Section} key=${name} name=${name} content=${content}
    catalogue=${catalogue} file=${file} />`)}`;
}

const MOST = 80;

export function Clauses() {
  const [found, error] = useAnswer(() => ask("GET", "/ledger"));
  const q = route.value.query.q ?? "";
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const exact = found?.clauses.filter((one) => one.id === q) ?? [];
  const list = exact.length ? exact : found?.clauses.filter((one) => {
    const text = `${one.id} ${one.title} ${one.summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }) ?? [];
  return html`<div class="row wrap"><${Heading} text="Clauses" count=${found && list.length} /><span class="sp"></span>
    <input type="search" aria-label="Filter clauses" placeholder="spec 5.9, refund, batch" value=${q} onInput=${(event) => refine({ q: event.target.value })} /></div>
  <${Trouble} error=${error} />
  <div class="panel"><dl class="clauses">${list.slice(0, MOST).map((one) => html`<div key=${one.id}><dt><code>${one.id}</code> <b>${one.title}</b></dt>
    <dd>${prose(one.summary)}<p class="q sm">${one.rows.length ? `Rows: ${one.rows.join(", ")}. ` : ""}${one.code.length ? `Code: ${one.code.join(", ")}. ` : ""}
    ${one.needs_no_proof ?? (one.proved ? "Proved by tests." : "")}</p></dd></div>`)}</dl>
    ${found || error ? "" : html`<p class="pad q">Reading the clauses</p>`}
    ${found && !list.length ? html`<${Empty}><p class="q">No matching clauses.</p><//>` : ""}</div>
  ${list.length > MOST ? html`<p class="q">and ${list.length - MOST} more: a longer filter narrows them down</p>` : ""}`;
}
