// API: each operation of the platform and of the control API, to read and to try.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, inWorld, raw, refusal, Refused } from "./api.js";
import { useAnswer } from "./reading.js";
import { go, refine, route } from "./route.js";
import { documents, fitted, jsonOf, operationsIn, resolve, shape } from "./shapes.js";
import { act, platformUrl, send, serverUrl, session, world } from "./state.js";
import { Act, Choice, Code, Copy, Empty, Go, Heading, html, Json, Panel, prose, Steps, Trouble, walk } from "./ui.js";
import { curl } from "./words.js";

const SURFACES = [["platform", "Platform"], ["control", "Control"]];

const fits = ({ id, path, method, operation }, q) => [id, path, method, operation.summary,
  ...(operation["x-events"] ?? []), ...(operation["x-permissions"] ?? [])].join(" ").toLowerCase().includes(q);

const Method = ({ one }) => html`<code class="mth">${one.method}</code>`;

const Row = ({ one, on }) => html`<li><${Go} room="api" id=${one.id} query=${route.value.query}
  class=${`row two3 ${on ? "on" : ""}`}><${Method} one=${one} /><span class="el">${one.operation.summary}</span>
  <span></span><code class="qq el">${one.path}</code><//></li>`;

/** Some of the operations or events, each a link. */
const Links = ({ ids }) => ids.map((id, at) => html`${at ? ", " : ""}<${Go} room="api" id=${id}>${id.replace("webhook.", "")}<//>`);

function Facts({ one, all }) {
  const { "x-permissions": permissions, "x-also-permission": also, "x-source": source, "x-events": events = [] } = one.operation;
  const by = all.filter(({ operation }) => operation["x-events"]?.includes(one.path)).map(({ id }) => id);
  const fact = (term, value) => value && html`<dt>${term}</dt><dd>${value}</dd>`;
  return html`<dl class="facts">${fact("name", html`<code>${one.id}</code>`)}
    ${fact("permission", permissions && html`<code>${permissions.join(" or ")}</code>`)}
    ${fact("and", also && html`<code>${also}</code>`)}
    ${fact("clause", source && html`<${Go} room="clauses" query=${{ q: source }}>${source}<//>`)}
    ${fact("sends", events.length > 0 && html`<${Links} ids=${events.map((event) => `webhook.${event}`)} />`)}
    ${fact("sent by", one.method === "EVENT" && (by.length ? html`<${Links} ids=${by} />` : "changes without a request"))}
    ${fact("retired", one.operation.deprecated && "always answers 405")}</dl>`;
}

/** The keys of the world by the name or id that names each: those of the cast, then all others. */
function useKeys() {
  const [page] = useAnswer(() => act("GET", ["directory"], undefined, "kind=key&limit=500"), [route.value.world]);
  const cast = Object.keys(world.value?.keys ?? {});
  const others = (page?.entries ?? []).filter((one) => !one.cast).map(({ id, name }) => [id, `${name} (${id})`]);
  return [...cast.map((name) => [name, name]), ...others, ["", "no key"]];
}

/** A field for a parameter. */
function Field({ parameter, value, onText }) {
  const { name, schema = {}, description, required } = parameter;
  const words = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : null);
  const hint = schema.default ?? (schema.type === "array" ? "several, separated by commas" : schema.type ?? "");
  const about = description ?? schema.items?.enum?.join(", ") ?? parameter.in;
  const typed = (event) => onText(event.target.value);
  return html`<label><span>${name} <span class="qq">${prose(about)}</span></span>${words
    ? html`<select value=${value} onChange=${typed}>${["", ...words].map((word) => html`<option>${String(word)}</option>`)}</select>`
    : html`<input autocomplete="off" spellcheck="false" required=${required} placeholder=${String(hint)} value=${value} onInput=${typed} />`}</label>`;
}

/** What the form sends: the path, the query, the headers, and the body as it was typed. */
function requestOf(one, values, body) {
  const query = new URLSearchParams();
  const headers = {};
  let { path } = one;
  for (const { name, in: where, schema } of one.operation.parameters ?? []) {
    const value = (values[name] ?? "").trim();
    if (where === "path") path = path.replace(`{${name}}`, encodeURIComponent(value) || `{${name}}`);
    else if (value === "") continue;
    else if (where === "header") headers[name] = value;
    else for (const part of schema.type === "array" ? value.split(",") : [value]) query.append(name, part.trim());
  }
  return { method: one.method, path: query.size ? `${path}?${query}` : path, headers, ...(body === null ? {} : { body }) };
}

function commandOf(surface, key, request) {
  const header = surface === "platform" ? session.value?.api_key_header : "Authorization";
  const token = session.value?.needs_token ? "Bearer $SANDBOX_TOKEN" : "";
  const at = surface === "platform" ? platformUrl() : serverUrl();
  return curl({ ...request, url: at + request.path, header,
    key: surface === "control" ? token : world.value?.keys[key]?.key ?? (key && "$API_KEY") });
}

/**
 * Asks the control API, whatever it answers; `onText` gets a streamed answer so far, part by part.
 * @param {any} request
 */
async function askControl({ method, path, headers, body }, signal, onText) {
  const began = performance.now();
  const came = await fetch(`..${path}`, { method, signal, body, cache: "no-store",
    headers: body === undefined ? headers : { ...headers, "content-type": "application/json" } });
  const answer = { status: came.status, headers: {}, body: "" };
  if ((came.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    const reader = came.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      answer.body += part.value;
      onText({ ...answer });
    }
  } else answer.body = await came.text();
  return { ...answer, body: pretty(answer.body), duration_ms: performance.now() - began };
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Why the platform answered like that, from the journal. */
function Why({ id }) {
  const [entry, setEntry] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    ask("GET", inWorld(route.value.world, "requests", id)).then(setEntry, setError);
  }, [id]);
  if (!entry) return html`<${Trouble} error=${error} />`;
  const { outcome, near_misses: near, notes, events } = entry;
  const more = [...(outcome ? [`outcome ${outcome.key}, chosen by ${outcome.source} (${outcome.rule})`] : []),
    ...near.map((one) => `near miss: ${one}`), ...notes];
  return html`<${Panel} title="Why" more=${html`<${Go} room="journal" id=${id}>Open in the journal<//>`}>
    <${Steps} decisions=${entry.decisions} />
    ${more.length || events.length ? html`<ul class="pad">${more.map((one) => html`<li>${one}</li>`)}${events.map((one) => html`
      <li><${Go} room="webhooks" id=${one}>${one}<//></li>`)}</ul>` : ""}<//>`;
}

const SHOWN = /^(x-sandbox-|retry-after$)/;

const Answer = ({ answer }) => html`<${Panel} title="Answer" about=${answer.duration_ms === undefined ? "it continues until you stop it" : `in ${Math.round(answer.duration_ms)} ms`}
    more=${html`<${Code} status=${answer.status} />`}>
    ${Object.keys(answer.headers).length ? html`<ul class="pad line">${Object.entries(answer.headers).filter(([name]) => SHOWN.test(name))
      .map(([name, value]) => html`<li><code>${name}: ${value}</code></li>`)}</ul>` : ""}
    <${Json} value=${answer.body || answer.fault || "No body"} /><//>
  ${answer.request_id ? html`<${Why} key=${answer.request_id} id=${answer.request_id} />` : ""}`;

/** The body that was typed. Throws a Refused if it is not JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(0, { message: "The body is not JSON.", details: error.message });
  }
}

/** A button that creates what the request needs, and fills in its id. */
function First({ example, all, onId }) {
  const { operation, by, body } = example.first;
  const make = async () => {
    const { path, method } = all.find(({ id }) => id === operation);
    const answer = /** @type {Api.Schemas["Answered"]} */ (await send({ method, path, key: by, body }));
    const refused = refusal(answer);
    if (refused) throw refused;
    const made = answer.body;
    const id = made.transaction_id ?? made.id ?? made.terminal_id;
    onId(id);
    return `Created ${id}`;
  };
  return html`<${Act} type="button" class="btn" run=${make} done=${(text) => text}>First: ${operation}<//>`;
}

/** The initial value of a field. The world is the one that is shown. */
const startOf = ({ name, example }, surface) => surface === "control" && name === "w" ? route.value.world : String(example ?? "");

function Try({ one, all, document }) {
  const { surface } = one;
  const operation = useMemo(() => fitted(one.operation, document, world.value), [one]);
  const { parameters = [], "x-example": example, requestBody } = operation;
  const content = jsonOf(requestBody);
  const keys = useKeys();
  const [values, setValues] = useState(() => Object.fromEntries(parameters.map((each) => [each.name, startOf(each, surface)])));
  const [body, setBody] = useState(content ? JSON.stringify(content.example ?? {}, null, 2) : null);
  const [chosen, setChosen] = useState(null);
  const [answer, setAnswer] = useState(null);
  const [error, setError] = useState(null);
  const underWay = useRef(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => () => underWay.current?.abort(), []);
  const key = chosen ?? [example?.by, "merchant"].find((name) => keys.some(([each]) => each === name)) ?? keys[0][0];
  const request = requestOf(one, values, body);
  const command = commandOf(surface, key, request);
  const ask = async (signal) => {
    if (surface === "control") return askControl(request, signal, setAnswer);
    const asked = await raw("POST", inWorld(route.value.world, "send"), { ...request, ...(key ? { key } : {}) }, { signal });
    return asked.json();
  };
  const submit = async (event) => {
    event.preventDefault();
    if (busy) return underWay.current.abort();
    underWay.current = new AbortController();
    setBusy(true);
    setError(null);
    setAnswer(null);
    try {
      setAnswer(await ask(underWay.current.signal));
    } catch (caught) {
      setError(caught.name === "AbortError" ? { message: "Stopped." } : caught);
    } finally {
      setBusy(false);
    }
  };
  const take = (id) => {
    if (example.takes) setBody(JSON.stringify({ ...parsed(body), [example.takes]: id }, null, 2));
    else setValues((now) => ({ ...now, [parameters.find((each) => each.in === "path").name]: id }));
  };
  return html`<${Panel} title="Try it" about=${surface === "platform" ? "sent by the sandbox, and kept in the journal" : ""}><form class="pad col" onSubmit=${submit}
      onKeyDown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit(); }}>
    ${surface === "platform" ? html`<label>API key<select value=${key} onChange=${(event) => setChosen(event.target.value)}>${keys.map(([name, text]) => html`
      <option value=${name} selected=${name === key}>${text}</option>`)}</select></label>` : ""}
    ${parameters.map((each) => html`<${Field} key=${each.name} parameter=${each} value=${values[each.name]} onText=${(text) => setValues((now) => ({ ...now, [each.name]: text }))} />`)}
    ${content ? html`<label>Body<textarea spellcheck="false" rows=${Math.max(4, body.split("\n").length + 1)} value=${body}
      onInput=${(event) => setBody(event.target.value)}></textarea></label>` : ""}
    <div class="row wrap"><button class="btn p" disabled=${!world.value}>${busy ? "Stop" : "Send"}</button>
      ${example?.first ? html`<${First} example=${example} all=${all} onId=${take} />` : ""}</div></form><//>
  <${Trouble} error=${error} />${answer ? html`<${Answer} answer=${answer} />` : ""}
  <${Panel} title="As a command" more=${html`<${Copy} text=${command} what="a curl command" />`}><pre class="json" tabindex="0">${command}</pre><//>
  ${content ? html`<${Panel} title="Body"><pre class="json" tabindex="0">${shape(content.schema, document)}</pre><//>` : ""}`;
}

const Answers = ({ operation, document }) => html`<${Panel} title="Answers">${Object.entries(operation.responses).map(([status, response]) => {
  const found = resolve(response, document);
  const schema = jsonOf(found)?.schema;
  const head = html`<${Code} status=${Number(status)} /> ${prose(found.description)}`;
  return schema ? html`<details class="pad"><summary>${head}</summary><pre class="json" tabindex="0">${shape(schema, document)}</pre></details>`
    : html`<p class="pad">${head}</p>`;
})}<//>`;

const Event = ({ operation, document }) => html`<${Panel} title="Headers"><table>${operation.parameters.map(({ name, description }) => html`
    <tr><td><code>${name}</code></td><td class="wraps">${prose(description)}</td></tr>`)}</table><//>
  <${Panel} title="Body"><pre class="json" tabindex="0">${shape(jsonOf(operation.requestBody).schema, document)}</pre><//>`;

const Detail = ({ one, all, document }) => html`<div class="dh"><h2 class="big2" tabindex="-1">${one.operation.summary}</h2>
    <p><${Method} one=${one} /> <code>${one.path}</code></p><${Facts} one=${one} all=${all} /></div>
  ${one.method === "EVENT" ? html`<${Event} ...${one} document=${document} />`
    : html`<${Try} one=${one} all=${all} document=${document} /><${Answers} ...${one} document=${document} />`}`;

const Beginning = ({ surface, info }) => html`<div class="dh"><h2 class="big2">${info.title}</h2><p>${prose(info.description)}</p></div>
  <${Empty}><p class="q">Choose an operation. Its form is filled in with values that work.</p>
    <p class="q">For tools: <a href=${surface === "platform" ? "platform/openapi.json" : "openapi.json"}>the OpenAPI document</a></p><//>`;

export function Operations() {
  const { id, query } = route.value;
  const [found, error] = useAnswer(documents);
  const all = useMemo(() => (found ? operationsIn(found) : []), [found]);
  const one = all.find((each) => each.id === id);
  useEffect(() => document.querySelector(".list a.on")?.scrollIntoView({ block: "nearest" }), [one]);
  const surface = one?.surface ?? query.surface ?? "platform";
  const q = query.q ?? "";
  const list = all.filter((each) => each.surface === surface && fits(each, q.toLowerCase()));
  const tags = [...new Set(list.map(({ operation }) => operation.tags[0]))];
  return html`<section class="list"><div class="lh"><div class="row"><${Heading} text="API" count=${found && list.length} /></div>
    <${Choice} label="Surface" wide options=${SURFACES} value=${surface} onChoose=${(chosen) => go({ query: { q, surface: chosen } })} />
    <input type="search" aria-label="Filter operations" placeholder="a name, path, event or permission" value=${q}
      onInput=${(event) => refine({ q: event.target.value })} /><${Trouble} error=${error} /></div>
    <ul onKeyDown=${walk} aria-label="Operations">${tags.map((tag) => html`<li key=${tag}><h2 class="gh">${tag}</h2></li>${list
      .filter(({ operation }) => operation.tags[0] === tag).map((each) => html`<${Row} key=${each.id} one=${each} on=${each === one} />`)}`)}</ul>
    ${found && !list.length ? html`<${Empty}><p class="q">No operation matches this filter.</p><//>` : ""}</section>
  <section class="det" aria-label="Operation">${!found ? html`<p class="q">Reading the documents</p>` : one ? html`<${Detail} key=${id} one=${one} all=${all} document=${found[surface]} />`
    : html`<${Beginning} surface=${surface} info=${found[surface].info} />`}</section>`;
}
