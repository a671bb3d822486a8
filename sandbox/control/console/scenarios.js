// Scenarios: the library, and the one that runs with what its rules did.

import { ask } from "./api.js";
import { isReport } from "./capture.js";
import { Editing } from "./editing.js";
import { Examples } from "./proving.js";
import { useAnswer } from "./reading.js";
import { refine, route } from "./route.js";
import { act, scenario } from "./state.js";
import { Act, Empty, Go, Heading, html, Icon, Panel, Trouble, walk } from "./ui.js";

function Rule({ rule, number }) {
  const { name, toml, fitted, applied, is_used_up: usedUp, last_request_id: last } = rule;
  return html`<tr><td>${number}</td><td class="wraps"><b>${name}</b><pre class="rule">${toml}</pre><span class="q">${usedUp ? "used up" : ""}${usedUp && last ? ", " : ""}
    ${last ? html`last by <${Go} room="journal" id=${last}>${last}<//>` : ""}</span></td>
    <td class="r"><span class="ct">matched <b>${fitted}</b></span> <span class="ct">applied <b>${applied}</b></span></td></tr>`;
}

function Running({ isChosen }) {
  const running = scenario.value;
  if (!running) return null;
  const rules = [...running.rules.map((rule, i) => [rule, `${i + 1}`]), ...running.webhooks.map((rule, i) => [rule, `w${i + 1}`])];
  return html`<${Panel} title=${`${running.name} runs`} about="the first rule that matches decides" more=${html`<${Act} class="btn s"
      run=${() => act("DELETE", ["scenario"])} done="Stopped">Stop<//>
      ${isReport ? "" : html`<button class="btn s" onClick=${() => refine({ edit: "running" })}>Edit the running file</button>`}`}>
    ${isChosen ? "" : html`<p class="pad q">${running.about}</p>`}
    <div class="scroll" tabindex="0"><table><thead><tr><th><span class="vh">Number</span></th><th>rule</th><th class="r">so far</th></tr></thead><tbody>
    ${rules.map(([rule, number]) => html`<${Rule} key=${number} rule=${rule} number=${number} />`)}</tbody></table></div>
    ${rules.length ? "" : html`<${Empty}><p class="q">It has no rules: the card or the amount decides.</p><//>`}<//>`;
}

export function Scenarios() {
  const { id, query } = route.value;
  const [read, error] = useAnswer(() => ask("GET", "/scenarios"));
  const library = read?.scenarios ?? null;
  const q = (query.q ?? "").toLowerCase();
  const list = library?.filter((one) => `${one.title} ${one.about}`.toLowerCase().includes(q)) ?? [];
  const runs = scenario.value?.name;
  const chosen = library?.find((one) => one.name === id) ?? library?.find((one) => one.title === runs);
  const edits = query.edit && !isReport;
  return html`<section class="list"><div class="lh"><div class="row"><${Heading} text="Scenarios" count=${library && list.length} />
      <span class="sp"></span>${isReport ? "" : html`<button class="btn" onClick=${() => refine({ edit: "new" })}><${Icon} name="add" size=${13} />New</button>`}</div>
    <input type="search" aria-label="Filter scenarios" placeholder=${library ? `${library.length} scenarios` : ""} value=${query.q ?? ""}
      onInput=${(event) => refine({ q: event.target.value })} /><${Trouble} error=${error} /></div>
    <ul onKeyDown=${walk} aria-label="Library">${list.map((one) => html`<li key=${one.name}><${Go} room="scenarios" id=${one.name}
      query=${{ ...query, edit: "" }} class=${`row one ${chosen?.name === one.name ? "on" : ""}`}><span class="el">${one.title}</span>
      ${one.title === runs ? html`<span class="tag good">runs</span>` : ""}<//></li>`)}</ul></section>
  <section class="det" aria-label="Scenario">${edits && query.edit !== chosen?.name ? "" : chosen ? html`<div class="dh"><div class="row wrap"><h2 class="big2">${chosen.title}</h2><span class="sp"></span>
      <${Act} class="btn p" run=${() => act("PUT", ["scenario"], { name: chosen.name })} done="It runs"><${Icon} name="again" size=${13} />
        ${chosen.title === runs ? "Start again" : "Run"}<//>
      ${isReport ? "" : html`<button class="btn" onClick=${() => refine({ edit: chosen.name })}>Edit its file</button>`}</div><p class="q">${chosen.about}</p>
      <p class="q sm"><code>sandbox scenario show ${chosen.name}</code> shows its file, <code>sandbox scenario play ${chosen.name}</code> plays its examples.</p></div>`
    : html`<${Empty}><p class="q">Choose a scenario to read what it does, and run it.</p><//>`}
    ${edits ? html`<${Editing} key=${query.edit} of=${query.edit} close=${() => refine({ edit: "" })} />` : ""}
    <${Running} isChosen=${chosen?.title === runs} /><${Examples} key=${`${scenario.value?.name} ${scenario.value?.since}`} /></section>`;
}
