// Access: keys with their permissions, and the lens: what answer a key would get, and why.

import { useEffect, useState } from "preact/hooks";
import { ask, inWorld } from "./api.js";
import { useAnswer } from "./reading.js";
import { refine, route } from "./route.js";
import { act, revision, world } from "./state.js";
import { Act, Code, copy, Empty, Go, Heading, html, Icon, Panel, Steps, Trouble, walk } from "./ui.js";
import { asMarkdown } from "./markdown.js";
import { worldNow } from "./clockface.js";
import { day } from "./words.js";

const nameOf = (key) => key.cast ?? key.name;

/** Copies what the lens found as Markdown, with the request that it was opened from. */
async function copied(seen) {
  const { of } = route.value.query;
  const lines = [];
  if (of) {
    const entry = await ask("GET", inWorld(route.value.world, "requests", of));
    lines.push(asMarkdown(entry), "");
  }
  const target = seen.target ? ` on \`${seen.target}\`` : "";
  lines.push(`**${seen.operation}**${target} with the key \`${nameOf(seen.key)}\` would get **${seen.status}**`, "",
    ...seen.decisions.map((one) => `- ${one.step}: ${one.verdict}, ${one.reason} (${one.clause ?? ""})`));
  if (seen.missing.length) lines.push("", `One of these permissions is missing: ${seen.missing.map((one) => `\`${one}\``).join(", ")}`);
  if (seen.could.length) lines.push("", `These keys could: ${seen.could.map((key) => `\`${nameOf(key)}\``).join(", ")}`);
  await copy(lines.join("\n"), "it as Markdown");
}

/** Reads in this world, and again after each change. */
const useLook = (rest, query) => useAnswer(() => act("GET", rest, undefined, query), [rest.join("/"), revision.value]);

const Seen = ({ seen }) => html`<div class="pad col"><div class="row wrap"><${Code} status=${seen.status} />
    <b>${seen.allowed ? "It would be carried out." : `It would be refused${seen.error ? `: ${seen.error}` : ""}.`}</b></div>
  <${Steps} flat decisions=${seen.decisions} />
  ${seen.missing.length ? html`<p>One of these permissions is missing: <code>${seen.missing.join(", ")}</code></p>` : ""}
  ${seen.could.length ? html`<p>These keys could: ${seen.could.map((key) => html`<${Go} room="access" id=${nameOf(key)}
    query=${route.value.query}>${nameOf(key)}<//> `)}</p>` : html`<p>No key of this world could.</p>`}
  <div><${Act} run=${() => copied(seen)}><${Icon} name="copy" size=${13} />Copy as Markdown<//></div></div>`;

function Lens({ id, operations }) {
  const { operation = "", target = "" } = route.value.query;
  const [seen, setSeen] = useState(null);
  const [error, setError] = useState(null);
  const look = async () => {
    const body = { key: id, operation, ...(target ? { target } : {}) };
    setSeen(await act("POST", ["lens"], body));
    setError(null);
  };
  useEffect(() => {
    setSeen(null);
    if (operation) look().catch(setError);
  }, [id, operation]);
  const { of } = route.value.query;
  return html`<${Panel} title="Lens" about="the answer that this key would get; nothing changes" more=${of ? html`<span class="q sm">of${" "}
      <${Go} room="journal" id=${of}>${of}<//></span>` : ""}>
    <div class="pf wrap"><label class="inl">Operation<select value=${operation} onChange=${(event) => refine({ operation: event.target.value })}>
      <option value="">choose one</option>${operations.map((name) => html`<option selected=${name === operation}>${name}</option>`)}</select></label>
    <label class="inl">On<input placeholder="an id (optional)" value=${target} onInput=${(event) => refine({ target: event.target.value })} /></label>
    <${Act} reads class="btn p" run=${look} disabled=${!operation}>Look<//></div>
    <${Trouble} error=${error} />${seen ? html`<${Seen} seen=${seen} />` : ""}<//>`;
}

function Detail({ id, entry }) {
  const [table, error] = useLook(["lens", id]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!table) return html`<p class="q">Reading ${id}</p>`;
  return html`<div class="dh"><h2 class="big2">${table.key.name}</h2><p class="q sm"><code>${table.key.id}</code>
      ${entry?.grants?.length ? html` may <code>${entry.grants.join(", ")}</code>` : ""}</p>
    ${table.unusable ? html`<p class="oops"><${Icon} name="warning" /><span>${table.unusable}</span></p>` : ""}</div>
  <${Lens} id=${id} operations=${table.rows.map(({ operation }) => operation)} />
  <${Panel} title="All operations" about="on its own account, on one below it, and elsewhere"><div class="scroll" tabindex="0"><table><thead><tr>
    <th>operation</th><th>own</th><th>below</th><th>elsewhere</th><th>why</th></tr></thead><tbody>${table.rows.map((row) => html`<tr key=${row.operation}
    class=${row.operation === route.value.query.operation ? "on" : ""}><td><${Go} room="access" id=${id} query=${{ ...route.value.query, operation: row.operation }}>${row.operation}<//></td><td><${Code} status=${row.own} /></td><td><${Code} status=${row.descendant} /></td>
    <td><${Code} status=${row.outside} /></td><td class="q wraps">${row.why}</td></tr>`)}</tbody></table></div><//>`;
}

const isExpired = ({ status, expires_at: end }) => status === "active" && end && Date.parse(end) <= Number(worldNow());

/** Until when a key is valid, or since when no longer. */
const validity = (one) => !one.expires_at ? "does not expire" : `${isExpired(one) ? "since" : "until"} ${day(one.expires_at)}`;

export function Access() {
  const { id, query } = route.value;
  const [page, error] = useLook(["directory"], "kind=key&limit=500");
  const q = (query.q ?? "").toLowerCase();
  // The cast in its order, after the newest of the other keys.
  const cast = Object.keys(world.value?.keys ?? {});
  const order = (one) => cast.indexOf(one.cast);
  const list = (page?.entries ?? []).toSorted((a, b) => order(a) - order(b)).filter((one) => `${one.cast} ${one.name} ${one.id}`.toLowerCase().includes(q));
  return html`<section class="list"><div class="lh"><div class="row"><${Heading} text="Access" count=${page && list.length} /></div>
    <input type="search" aria-label="Filter keys" placeholder="a name or an id" value=${query.q ?? ""} onInput=${(event) => refine({ q: event.target.value })} />
    <${Trouble} error=${error} /></div>
    <ul onKeyDown=${walk} aria-label="Keys">${list.map((one) => html`<li key=${one.id}><${Go} room="access" id=${one.cast ?? one.id}
      query=${query} class=${`row one ${id === (one.cast ?? one.id) ? "on" : ""}`}><b class="el">${one.cast ?? one.name}</b>
      <span class="qq sm">${isExpired(one) ? "expired" : one.status}</span><span class="qq sm el">${validity(one)}</span><//></li>`)}</ul>
    ${page && !list.length ? html`<${Empty}><p class="q">No key matches this filter.</p><//>` : ""}</section>
  <section class="det" aria-label="Key">${id ? html`<${Detail} key=${id} id=${id} entry=${list.find((one) => (one.cast ?? one.id) === id)} />`
    : html`<${Empty}><p class="q">Choose a key to see what it may do, and how its requests would be answered.</p><//>`}</section>`;
}
