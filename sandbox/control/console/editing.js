// The file of a scenario, edited and checked. The running one stays until the new one is valid.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask } from "./api.js";
import { download } from "./exporting.js";
import { FileBox, told } from "./filebox.js";
import { problemsOf, Proof } from "./proving.js";
import { route } from "./route.js";
import { act, scenario } from "./state.js";
import { Act, html, Panel, Trouble } from "./ui.js";

const CHECK_MS = 250;
/** The titles of files that are not of the library. */
const TITLES = { new: "New scenario", running: "The file that runs" };
const SECRET = /whsec_|\bsecret\b/;
const FRESH = `name = "My scenario"
about = "What it shows, in a sentence."

[[rule]]
name = "every third sale is declined"
when = { operation = "sale", nth = 3 }
then = { outcome = "insufficient_funds" }
`;

/** The key of a file's draft: each file of each world has its own. */
const place = (of) => `sandbox-draft ${route.value.world} ${of}`;

const draftOf = (of) => localStorage.getItem(place(of));

/** Keeps a draft in this browser. One with a secret is not kept. */
function keep(of, text) {
  if (SECRET.test(text)) localStorage.removeItem(place(of));
  else localStorage.setItem(place(of), text);
}

/** The file name for a scenario, from the scenario's name. */
function fileName(text) {
  const name = /^name\s*=\s*"([^"]*)"/m.exec(text)?.[1] ?? "";
  return `${name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "") || "scenario"}.toml`;
}

/** The file as it was before it was changed: of the library, of what runs, or a new one. */
async function original(of) {
  if (of === "new") return FRESH;
  if (of === "running") return scenario.value?.toml ?? FRESH;
  return (await ask("GET", `/scenarios/${encodeURIComponent(of)}`)).toml;
}

/** Checks a text once typing pauses. Its mistakes are null before the first answer. */
function useProblems(text) {
  const [found, setFound] = useState({ text: null, problems: null, total: 0, error: null });
  useEffect(() => {
    if (text === null) return undefined;
    let over = false;
    const timer = setTimeout(() => ask("POST", "/scenarios/check", { toml: text })
      .then(({ problems, total }) => { if (!over) setFound({ text, problems, total, error: null }); }, (error) => { if (!over) setFound({ text, problems: null, total: 0, error }); }), CHECK_MS);
    return () => { over = true; clearTimeout(timer); };
  }, [text]);
  return { ...found, current: found.text === text };
}

/** The editor of one file: the name of one of the library, `running` or `new`. */
export function Editing({ of, close }) {
  const [text, setText] = useState(null);
  const [first, setFirst] = useState(null);
  const [version, setVersion] = useState(0);
  const [error, setError] = useState(null);
  const [proved, setProved] = useState({ text: null, proof: null });
  const { problems, total, error: unchecked, current } = useProblems(text);
  const proof = proved.text === text ? proved.proof : null;
  const shown = useMemo(() => [...(problems ?? []), ...problemsOf(proof)], [problems, proof]);
  useEffect(() => {
    original(of).then((one) => { setFirst(one); setText(draftOf(of) ?? one); }, setError);
  }, [of]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (text === null) return html`<p class="q">Reading the file</p>`;
  const change = (one) => { setText(one); keep(of, one); };
  const count = total;
  const loose = (problems ?? []).filter(({ line }) => line === null);
  const usable = current && problems !== null && count === 0;
  const prove = async () => setProved({ text, proof: await act("POST", ["scenario", "prove"], { toml: text }) });
  const back = () => { setText(first); setVersion(version + 1); localStorage.removeItem(place(of)); };
  const save = () => download({ name: fileName(text), media_type: "application/toml", content: text });
  return html`<${Panel} title=${TITLES[of] ?? `File of ${of}`} about="checked as you write; drafts stay in this browser" more=${html`<button class="btn s" onClick=${close}>Close</button>`}>
    <${FileBox} label="Scenario file" text=${text} version=${version} problems=${shown} onText=${change} />
    <div class="pf"><${Act} class="btn p" disabled=${!usable} run=${() => act("PUT", ["scenario"], { toml: text })}
      done=${({ name }) => `${name} runs`}>Run this file<//>
    <${Act} class="btn" disabled=${!usable} run=${prove}>Prove<//>
    <button class="btn" onClick=${save}>Save the file</button>
    <button class="btn" disabled=${text === first} onClick=${back}>Undo all changes</button>
    <span class=${count ? "x" : "q"} role="status">${count ? `${count} ${count === 1 ? "mistake" : "mistakes"}${scenario.value ? `; ${scenario.value.name} keeps running until it is fixed` : ""}`
      : current ? "No mistakes" : "Checking"}</span></div>
    ${loose.length ? html`<ul class="pad">${loose.map((one) => html`<li class="x">${told(one)}</li>`)}</ul>` : ""}
    ${proof ? html`<${Proof} proof=${proof} />` : ""}<${Trouble} error=${unchecked} /><//>`;
}
