// Examples of a scenario: proved in a world of their own, or played in this one.

import { useState } from "preact/hooks";
import { isReport } from "./capture.js";
import { act, scenario } from "./state.js";
import { Act, Code, Go, html, Icon, Panel, Status } from "./ui.js";

/** The mistakes of a proof as the file box shows them, each under its example. */
export const problemsOf = (proof) => (proof ? proof.examples : []).flatMap(({ number, line, mistakes }) =>
  mistakes.map((message) => ({ rule: `example ${number}`, field: null, line, message, nearest: null })));

const Mistakes = ({ mistakes }) => html`${mistakes.map((one) => html`<div class="x">${one}</div>`)}`;

/** How a proof ended, in words. */
function verdict({ ok, examples }) {
  if (!examples.length) return "It has no examples, so nothing is proved.";
  const wrong = examples.filter(({ mistakes }) => mistakes.length).length;
  return ok ? `All ${examples.length} passed.` : `${wrong} of ${examples.length} failed.`;
}

/** The results of a proof, an example a line. */
export const Proof = ({ proof }) => html`<div class="proof" role="region" aria-label="Proof"><p class=${`pad ${proof.ok ? "q" : "x"}`} role="status">${verdict(proof)}</p>
  <ol class="pad">${proof.examples.map(({ number, name, mistakes }) => html`<li key=${number}><b>${name}</b>
    <span class=${mistakes.length ? "x" : "q"}>${mistakes.length ? "failed" : "passed"}</span><${Mistakes} mistakes=${mistakes} /></li>`)}</ol></div>`;

function Asked({ sent }) {
  const { request_id: id, method, path, status, answer } = sent;
  const where = html`<code>${method} ${path}</code>`;
  return html`<li>${id ? html`<${Go} room="journal" id=${id}>${where}<//>` : where} <${Code} status=${status} />
    ${answer?.error ? html` <span class="x">${answer.error}</span>` : ""}</li>`;
}

/** The result of one example that was played here. */
function Came({ step }) {
  const { number, name, operation, requests, messages, subject, status, status_reason: reason, mistakes } = step;
  const title = html`${status ? html`<${Status} status=${status} />` : ""} ${reason ?? ""}`;
  return html`<tr class=${mistakes.length ? "bad" : ""}><td>${number}</td><td class="wraps"><b>${name}</b> <span class="q">${operation}</span>
      <ul>${requests.map((sent, i) => html`<${Asked} key=${i} sent=${sent} />`)}</ul><${Mistakes} mistakes=${mistakes} /></td>
    <td class="wraps">${subject && operation !== "close_batch" ? html`<${Go} room="payments" id=${subject}>${title}<//>` : title}
      <ul>${messages.map(({ id, event_type: event }) => html`<li key=${id}><${Go} room="webhooks" id=${id}>${event}<//></li>`)}</ul></td></tr>`;
}

const Played = ({ play }) => html`<div class="played" role="region" aria-label="What was played"><p class=${`pad ${play.ok ? "q" : "x"}`} role="status">${play.ok
  ? `${play.total} played, all as expected.` : "The result differs from what the scenario expects. Rules keep their counts: a rule that is used up matches nothing until the scenario restarts."}</p>
  <div class="scroll" tabindex="0"><table><thead><tr><th><span class="vh">number</span></th><th>sent and answered</th><th>result</th></tr></thead>
  <tbody>${play.steps.map((step) => html`<${Came} key=${step.number} step=${step} />`)}</tbody></table></div></div>`;

/** The examples of the scenario that runs: a button that proves all, and one that plays each. */
export function Examples() {
  const [proof, setProof] = useState(null);
  const [play, setPlay] = useState(null);
  const names = scenario.value?.examples ?? [];
  if (!names.length || isReport) return null;
  const prove = async () => { setPlay(null); setProof(await act("POST", ["scenario", "prove"], {})); };
  const playOne = async (example) => { setProof(null); setPlay(await act("POST", ["scenario", "play"], { example })); };
  return html`<${Panel} title="Examples" about="playing them here pays, moves the clock and sends webhooks" more=${html`<${Act} class="btn s" run=${prove}>Prove all<//>`}>
    <ol class="plays">${names.map((name, i) => html`<li key=${i}><span class="el grow">${i + 1}. ${name}</span>
      <${Act} class="btn s" aria-label=${`${i ? "Play up to here" : "Play"}: ${name}`} run=${() => playOne(i + 1)}><${Icon} name="next" size=${13} />${i ? "Play up to here" : "Play"}<//></li>`)}</ol>
    ${proof ? html`<${Proof} proof=${proof} />` : ""}${play ? html`<${Played} play=${play} />` : ""}<//>`;
}
