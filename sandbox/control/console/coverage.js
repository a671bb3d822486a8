// Coverage: which parts of the platform were used. Clauses: the sentences behind every answer.

import { useEffect, useState } from "preact/hooks";
import { ask, inWorld } from "./api.js";
import { refine, route } from "./route.js";
import { beat } from "./state.js";
import { Choice, Empty, Go, html, Panel, Trouble } from "./ui.js";

function useRead(path, again) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let over = false;
    ask("GET", path).then((answer) => !over && (setFound(answer), setError(null)), (caught) => !over && setError(caught));
    return () => { over = true; };
  }, [path, again]);
  return [found, error];
}

const title = (name) => name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());

function Section({ name, content }) {
  const met = Object.entries(content.exercised);
  const all = met.length + content.never.length;
  return html`<${Panel} title=${title(name)} more=${html`<b>${met.length}</b><span class="q"> of ${all}</span>`}>
    <ul class="map">${met.map(([one, count]) => html`<li class="met">${one} <b>${count}</b></li>`)}
      ${content.never.map((one) => html`<li>${one}${name === "scenarios" ? html` <${Go} room="scenarios" id=${one}>Show me<//>` : ""}</li>`)}</ul>
    ${all ? "" : html`<${Empty}><p class="q">Nothing of this was met yet.</p><//>`}<//>`;
}

export function Coverage() {
  const all = route.value.query.of === "all";
  const [found, error] = useRead(all ? "/coverage" : inWorld(route.value.world, "coverage"), beat.value);
  return html`<div class="row wrap"><h1 tabindex="-1">Coverage</h1><span class="q">what was used, and what never came up</span><span class="sp"></span>
    <${Choice} label="Of" options=${[["", "This world"], ["all", "All worlds"]]} value=${all ? "all" : ""} onChoose=${(of) => refine({ of })} /></div>
  <p class="q sm">What this console sends does not count as an operation or an answer.</p>
  <${Trouble} error=${error} />
  ${found && Object.entries(found).filter(([, one]) => one?.exercised).map(([name, content]) => html`<${Section} key=${name} name=${name} content=${content} />`)}`;
}

const MOST = 80;

export function Clauses() {
  const [found, error] = useRead("/ledger");
  const q = route.value.query.q ?? "";
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const exact = found?.clauses.filter((one) => one.id === q) ?? [];
  const list = exact.length ? exact : found?.clauses.filter((one) => {
    const text = `${one.id} ${one.title} ${one.summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }) ?? [];
  return html`<div class="row wrap"><h1 tabindex="-1">Clauses</h1><span class="qq">${list.length}</span><span class="sp"></span>
    <input type="search" aria-label="Filter clauses" placeholder="spec 5.9, refund, batch" value=${q} onInput=${(event) => refine({ q: event.target.value })} /></div>
  <${Trouble} error=${error} />
  <div class="panel"><dl class="clauses">${list.slice(0, MOST).map((one) => html`<div key=${one.id}><dt><code>${one.id}</code> <b>${one.title}</b></dt>
    <dd>${one.summary}<p class="q sm">${one.rows.length ? `Rows: ${one.rows.join(", ")}. ` : ""}${one.code.length ? `Code: ${one.code.join(", ")}. ` : ""}
    ${one.needs_no_proof ?? (one.proved ? "Proved by tests." : "")}</p></dd></div>`)}</dl>
    ${found && !list.length ? html`<${Empty}><p class="q">No clause has these words.</p><//>` : ""}</div>
  ${list.length > MOST ? html`<p class="q">and ${list.length - MOST} more: a longer filter finds them</p>` : ""}`;
}
