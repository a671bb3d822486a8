// Reads both documents, lists their operations, and sends requests by hand.
// Nothing here comes from, or goes to, any other server than the one that serves this page.

const $ = (id) => document.getElementById(id);
const world = "default";

/** What the page knows: both documents, the cast of the world, and what is open. */
const known = { documents: {}, operations: new Map(), cast: null, surface: "platform", open: null };

/** A request under way, so that it can be stopped. */
let underWay = null;

// --- elements ---------------------------------------------------------------------------------

function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
  return made;
}

/** Text with `words` in code. */
function prose(text) {
  return text.split(/(`[^`]+`)/).map((part) =>
    part.startsWith("`") ? el("code", {}, part.slice(1, -1)) : part);
}

const pretty = (value) => JSON.stringify(value, null, 2);

// --- the documents ----------------------------------------------------------------------------

async function ask(path, options = {}) {
  const token = $("token").value.trim();
  const headers = { accept: "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(path, { headers, ...options });
  if (!answer.ok) throw Object.assign(new Error(`${path}: ${answer.status}`), { status: answer.status });
  return answer.json();
}

async function load() {
  const [platform, control] = await Promise.all([ask("platform/openapi.json?strict=1"), ask("openapi.json?strict=1")]);
  // Before there is a list: one that is drawn again loses what the keyboard has reached.
  await loadCast();
  known.documents = { platform, control };
  $("version").textContent = platform.info.version;
  for (const [surface, doc] of Object.entries(known.documents)) {
    for (const [path, item] of Object.entries(doc.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        known.operations.set(operation.operationId, { surface, path, method, operation });
      }
    }
    for (const [event, item] of Object.entries(doc.webhooks ?? {})) {
      const operation = item.post;
      known.operations.set(operation.operationId, { surface, path: event, method: "hook", operation });
    }
  }
  show();
}

/** The keys of the world; without the right token there is a field for it instead. */
async function loadCast() {
  try {
    known.cast = await ask(`worlds/${world}`);
    fillKeys();
  } catch (error) {
    known.cast = null;
    fillKeys();
    if (error.status === 401) reveal("token", true);
  }
}

function fillKeys() {
  const names = Object.keys(known.cast?.keys ?? {});
  const options = names.map((name) => el("option", { value: name }, name));
  options.push(el("option", { value: "" }, "no key"), el("option", { value: "*" }, "another key"));
  $("key").replaceChildren(...options);
  chooseKey(names.includes("merchant") ? "merchant" : names[0] ?? "*");
}

function chooseKey(name) {
  $("key").value = name;
  reveal("other", name === "*");
}

function reveal(id, shown) {
  for (const one of [$(id), document.querySelector(`label[for=${id}]`)]) {
    one.classList.toggle("hidden", !shown);
  }
}

function keyText(name = $("key").value) {
  if (name === "*") return $("other").value.trim();
  return known.cast?.keys[name]?.key ?? "";
}

// --- the list ---------------------------------------------------------------------------------

function list() {
  const wanted = $("search").value.trim().toLowerCase();
  const groups = new Map();
  let found = 0;
  for (const one of known.operations.values()) {
    if (one.surface !== known.surface || !matches(one, wanted)) continue;
    const tag = one.operation.tags[0];
    if (!groups.has(tag)) groups.set(tag, []);
    groups.get(tag).push(entry(one));
    found += 1;
  }
  const said = wanted ? `${found} of this surface fit` : `${found} operations`;
  $("found").textContent = said;
  $("list").replaceChildren(...[...groups].flatMap(([tag, entries]) => [
    el("h2", {}, tag), el("ul", {}, entries)]));
}

function matches({ path, method, operation }, wanted) {
  const text = [operation.operationId, path, method, operation.summary,
    ...(operation["x-events"] ?? []), ...(operation["x-permissions"] ?? [])];
  return text.join(" ").toLowerCase().includes(wanted);
}

function entry({ path, method, operation }) {
  const id = operation.operationId;
  const current = known.open === id ? "page" : undefined;
  return el("li", {}, el("a", { href: `#${id}`, "aria-current": current },
    el("span", { class: `method ${method}` }, method === "hook" ? "EVENT" : method.toUpperCase()),
    el("span", {}, operation.summary, el("span", { class: "path" }, path))));
}

// --- an operation -----------------------------------------------------------------------------

function show() {
  // What is chosen before the documents are there is shown once they are.
  if (!known.documents[known.surface]) return;
  const id = decodeURIComponent(location.hash.slice(1));
  const one = known.operations.get(id);
  underWay?.abort();
  if (one && one.surface !== known.surface) turnTo(one.surface);
  known.open = one ? id : null;
  list();
  const page = one ? shown(one) : beginning();
  $("operation").replaceChildren(...page);
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });
  $("operation").scrollTop = 0;
  document.title = one ? `${id} – uat-sandbox` : "uat-sandbox: read and try";
}

function turnTo(surface) {
  known.surface = surface;
  for (const one of ["platform", "control"]) $(one).setAttribute("aria-pressed", one === surface);
}

function beginning() {
  const info = known.documents[known.surface].info;
  const name = known.surface === "platform" ? "platform/openapi.json" : "openapi.json";
  return [
    el("h1", {}, info.title),
    el("p", {}, prose(info.description)),
    el("p", {}, "Choose an operation on the left. The form is filled with something that works, and ",
      "the key belongs to the cast of the world ", el("code", {}, world), "."),
    el("p", {}, "For tools: ", el("a", { href: name }, name), " (OpenAPI 3.1).")];
}

function shown(one) {
  const { path, method, operation } = one;
  const head = [
    el("h1", {}, operation.summary),
    el("p", { class: "address" },
      el("span", { class: `method ${method}` }, method === "hook" ? "EVENT" : method.toUpperCase()),
      el("span", { class: "path" }, path)),
    facts(one)];
  if (method === "hook") return [...head, ...hookShape(one)];
  return [...head, ...form(one), ...responses(one)];
}

function facts({ operation, surface }) {
  const rows = [["name", el("code", {}, operation.operationId)]];
  const permissions = operation["x-permissions"];
  if (permissions) rows.push(["permission", listed(permissions.map((name) => el("code", {}, name)), " or ")]);
  if (operation["x-also-permission"]) rows.push(["and", el("code", {}, operation["x-also-permission"])]);
  if (operation["x-source"]) rows.push(["clause", clause(operation["x-source"])]);
  if (operation["x-events"]) {
    const links = operation["x-events"].map((name) => el("a", { href: `#webhook.${name}` }, name));
    rows.push(["fires", listed(links, ", ")]);
  }
  if (operation.deprecated) rows.push(["retired", "always answers 405"]);
  if (surface === "platform" && operation["x-example"]) rows.push(["example by", operation["x-example"].by]);
  return el("dl", { class: "facts" },
    rows.map(([term, value]) => [el("dt", {}, term), el("dd", {}, value)]));
}

function listed(items, between) {
  return items.flatMap((item, at) => (at ? [between, item] : [item]));
}

/** A clause, with what it says once the ledger has told. */
function clause(source) {
  const said = el("span", { class: "quiet" });
  const query = new URLSearchParams({ search: source });
  ask(`ledger?${query}`).then(({ clauses }) => {
    const found = clauses.find((one) => one.id === source);
    if (found) said.replaceChildren(...prose(` ${found.title}: ${found.summary}`));
  }).catch(() => {});
  return el("span", {}, source, said);
}

// --- the form ---------------------------------------------------------------------------------

function form(one) {
  const { operation } = one;
  const example = operation["x-example"];
  if (example && known.cast?.keys[example.by] && $("key").value !== "*") chooseKey(example.by);
  const inputs = (operation.parameters ?? []).map((parameter) => field(parameter));
  const content = operation.requestBody?.content["application/json"];
  const body = content
    ? el("textarea", { id: "body", spellcheck: "false" }) : null;
  if (body) {
    body.value = pretty(content.example ?? {});
    body.rows = Math.max(4, body.value.split("\n").length + 1);
  }
  const answer = el("div", { class: "answer", id: "answer", "aria-live": "polite" });
  const command = el("pre", { class: "wrapped", id: "curl" });
  const filled = { one, inputs, body, answer, command };
  const update = () => { command.textContent = curl(filled); };
  const apart = one.surface === "platform" && isElsewhere();
  const send = el("button", { type: "submit", class: "send", disabled: apart }, "Send");
  const made = el("form", { oninput: update, onsubmit: (event) => {
    event.preventDefault();
    if (underWay) underWay.abort();
    else sendNow(filled, send);
  } },
  inputs.length ? el("h2", {}, "Parameters") : null,
  inputs.length ? el("div", { class: "fields" }, inputs.map((input) => input.row)) : null,
  body ? el("h2", {}, el("label", { for: "body" }, "Body")) : null,
  body,
  apart ? el("p", { class: "note" }, "The platform is served at ",
    el("code", {}, base("platform")),
    ", apart from this page, so that the browser may not ask it from here. Use the command below.") : null,
  el("div", { class: "actions" }, send, beforehand(filled, update, apart)));
  body?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) made.requestSubmit();
  });
  known.update = update;
  update();
  return [made, answer,
    el("details", { open: true }, el("summary", {}, "As a command"), command),
    ...(content ? [el("details", {}, el("summary", {}, "Shape of the body"),
      el("pre", {}, shape(content.schema, one.surface)))] : [])];
}

function field(parameter) {
  const { name, schema = {}, description, required, example } = parameter;
  const id = `p-${parameter.in}-${name}`;
  const words = schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : null);
  const input = words
    ? el("select", { id }, el("option", { value: "" }, ""), words.map((word) => el("option", {}, String(word))))
    : el("input", { id, autocomplete: "off", spellcheck: "false", required,
      placeholder: schema.default === undefined ? hint(schema) : String(schema.default) });
  if (example !== undefined) input.value = example;
  const about = description ?? (schema.items?.enum ? schema.items.enum.join(", ") : parameter.in);
  const row = [el("label", { for: id, class: required ? "required" : "" }, name), input,
    el("span", { class: "quiet" }, prose(about))];
  return { parameter, input, row };
}

function hint(schema) {
  return schema.type === "array" ? "several, with commas" : schema.type ?? "";
}

/** Where something has to be made first, a button that does it and takes over its id. */
function beforehand({ one, inputs, body }, update, apart) {
  const example = one.operation["x-example"];
  if (!example?.first) return null;
  const { operation, by, body: sent } = example.first;
  const said = el("span", { class: "quiet", role: "status" });
  const button = el("button", { type: "button", disabled: apart, onclick: async () => {
    const { path, method } = known.operations.get(operation);
    const answer = await fetch(base("platform") + path, { method: method.toUpperCase(), body: JSON.stringify(sent),
      headers: { accept: "application/json", "content-type": "application/json", ...keyHeader(by) } });
    const shownAs = await answer.json();
    const id = shownAs.transaction_id ?? shownAs.id ?? shownAs.terminal_id;
    if (!answer.ok) { said.textContent = `${operation} answered ${answer.status}`; return; }
    if (example.takes) {
      body.value = pretty({ ...JSON.parse(body.value), [example.takes]: id });
    } else {
      inputs.find((input) => input.parameter.in === "path").input.value = id;
    }
    said.textContent = `made ${id}`;
    update();
  } }, `First: ${operation}`);
  return el("span", { class: "actions" }, button, said);
}

// --- sending ----------------------------------------------------------------------------------

function isElsewhere() {
  return new URL(base("platform")).origin !== location.origin;
}

/** Where a surface is served. One that listens everywhere is found where this page is. */
function base(surface) {
  const source = new URL(surface === "platform" ? "platform/openapi.json" : "openapi.json", location);
  const at = new URL(known.documents[surface].servers[0].url, source);
  if (["0.0.0.0", "[::]"].includes(at.hostname)) at.hostname = location.hostname;
  return at.origin + at.pathname.replace(/\/$/, "");
}

function keyHeader(name) {
  const key = keyText(name);
  const header = known.documents.platform.components.securitySchemes.apiKey.name;
  return key ? { [header]: key } : {};
}

/** What would be sent: address, method, headers, body. */
function request({ one, inputs, body }) {
  let { path } = one;
  const query = new URLSearchParams();
  const token = $("token").value.trim();
  const headers = { accept: "application/json" };
  if (one.surface === "platform") Object.assign(headers, keyHeader());
  else if (token) headers.authorization = `Bearer ${token}`;
  for (const { parameter, input } of inputs) {
    const value = input.value.trim();
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value) || `{${parameter.name}}`);
    else if (value === "") continue;
    else if (parameter.in === "header") headers[parameter.name] = value;
    else if (parameter.schema.type === "array") {
      for (const part of value.split(",")) query.append(parameter.name, part.trim());
    } else query.append(parameter.name, value);
  }
  if (body) headers["content-type"] = "application/json";
  if ("text/event-stream" in (one.operation.responses["200"]?.content ?? {})) headers.accept = "text/event-stream";
  const search = query.size ? `?${query}` : "";
  return { url: base(one.surface) + path + search, method: one.method.toUpperCase(), headers, body: body?.value };
}

function curl(filled) {
  const { url, method, headers, body } = request(filled);
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl -sS -X ${method} ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)];
  if (body !== undefined) parts.push(`-d ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

async function sendNow(filled, send) {
  const { url, ...options } = request(filled);
  const { answer } = filled;
  underWay = new AbortController();
  send.textContent = "Stop";
  answer.replaceChildren(el("h2", {}, "Answer"), el("p", { class: "quiet" }, "Waiting…"));
  const began = performance.now();
  try {
    const came = await fetch(url, { ...options, signal: underWay.signal, cache: "no-store" });
    if ((came.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
      await readAlong(came, answer);
    } else {
      const text = await came.text();
      answered(came, text, performance.now() - began, answer);
      if (filled.one.surface === "platform") await explain(came, answer);
    }
  } catch (error) {
    const said = error.name === "AbortError" ? "Stopped." : `No answer: ${error.message}`;
    answer.append(el("p", { class: "note" }, said));
  } finally {
    underWay = null;
    send.textContent = "Send";
  }
}

function answered(came, text, took, answer) {
  let body = text;
  try { body = pretty(JSON.parse(text)); } catch { /* It is shown as it is. */ }
  const headers = [...came.headers].filter(([name]) => name.startsWith("x-sandbox-") || name === "retry-after");
  answer.replaceChildren(
    el("h2", {}, "Answer"),
    el("p", {},
      el("span", { class: `status ${came.ok ? "good" : "bad"}`, id: "status" }, String(came.status)),
      el("span", { class: "quiet" }, ` in ${Math.round(took)} ms`)),
    ...(headers.length ? [el("table", {}, headers.map(([name, value]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "value" }, value))))] : []),
    el("pre", { id: "answered" }, body || "(no body)"));
}

async function readAlong(came, answer) {
  const lines = el("pre", { id: "answered" });
  answer.replaceChildren(el("h2", {}, "Answer"),
    el("p", {}, el("span", { class: "status good", id: "status" }, String(came.status)),
      el("span", { class: "quiet" }, " and on, until it is stopped")), lines);
  const reader = came.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    lines.append(part.value);
    lines.scrollTop = lines.scrollHeight;
  }
}

/** Why it was answered like that, as the journal has it. */
async function explain(came, answer) {
  const id = came.headers.get("x-sandbox-request-id");
  if (!id) return;
  let noted;
  try {
    noted = await ask(`worlds/${world}/requests/${id}`);
  } catch (error) {
    const why = error.status === 401 ? "the control API asks for its token"
      : `the journal of the world ${world} does not have it`;
    answer.append(el("p", { class: "quiet" }, `No explanation: ${why}.`));
    return;
  }
  const rows = noted.decisions.map(({ step, verdict, reason, clause: source }) =>
    el("tr", {}, el("td", {}, step), el("td", {}, verdict), el("td", {}, reason),
      el("td", { class: "quiet" }, source)));
  answer.append(el("h3", {}, "Why"),
    el("table", { id: "why" }, el("thead", {}, el("tr", {}, ["step", "verdict", "reason", "clause"].map((head) =>
      el("th", { scope: "col" }, head)))), el("tbody", {}, rows)));
  const outcome = noted.outcome && `outcome ${noted.outcome.key}, chosen by ${noted.outcome.source} (${noted.outcome.rule})`;
  const more = [outcome, ...noted.near_misses.map((one) => `near miss: ${one}`), ...noted.notes].filter(Boolean);
  if (noted.events.length) more.push(`fired ${noted.events.length}: see messages.list under Control`);
  if (more.length) answer.append(el("ul", { class: "plain" }, more.map((said) => el("li", {}, said))));
}

// --- what may come ----------------------------------------------------------------------------

function resolved(value, surface) {
  if (!value?.$ref) return value;
  return value.$ref.split("/").slice(1).reduce((at, part) => at[part], known.documents[surface]);
}

function responses({ operation, surface }) {
  const rows = Object.entries(operation.responses).map(([status, response]) => {
    const { description, content } = resolved(response, surface);
    const schema = content?.["application/json"]?.schema;
    const about = el("summary", {}, el("span", { class: `status ${status < 400 ? "good" : "bad"}` }, status), " ", prose(description));
    if (!schema) return el("p", {}, [...about.childNodes]);
    return el("details", {}, about, el("pre", {}, shape(schema, surface)));
  });
  return [el("h2", {}, "Answers"), ...rows];
}

function hookShape({ operation, surface }) {
  const schema = operation.requestBody.content["application/json"].schema;
  const headers = operation.parameters.map(({ name, description }) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, prose(description))));
  const by = [...known.operations.values()].filter((one) =>
    one.operation["x-events"]?.includes(operation.operationId.replace("webhook.", "")));
  return [
    el("h2", {}, "Fired by"),
    by.length ? el("ul", { class: "plain" }, by.map((one) => el("li", {},
      el("a", { href: `#${one.operation.operationId}` }, one.operation.operationId)))) : el("p", {}, "What happens by itself."),
    el("h2", {}, "Headers"), el("table", {}, headers),
    el("h2", {}, "Body"), el("pre", {}, shape(schema, surface))];
}

/** A schema as a person would write the shape down. */
function shape(schema, surface, indent = "", depth = 0) {
  const at = resolved(schema, surface);
  if (at.const !== undefined) return JSON.stringify(at.const);
  if (at.enum) return at.enum.map((word) => JSON.stringify(word)).join(" | ");
  const any = at.anyOf?.filter((one) => !one.required);
  if (any?.length && !at.properties) return any.map((one) => shape(one, surface, indent, depth)).join(" | ");
  const types = [at.type ?? "anything"].flat();
  return types.map((type) => {
    if (type === "array") return `[${shape(at.items ?? {}, surface, indent, depth)}]`;
    if (type === "object" && at.properties && depth < 6) return fields(at, surface, indent, depth);
    if (type === "object" && at.additionalProperties?.type) {
      return `{ name: ${shape(at.additionalProperties, surface, indent, depth)} }`;
    }
    return [type, limits(at, type)].filter(Boolean).join(" ");
  }).join(" | ");
}

function fields(at, surface, indent, depth) {
  const inner = `${indent}  `;
  const lines = Object.entries(at.properties).map(([name, value]) => {
    const optional = at.required?.includes(name) ? "" : "?";
    return `${inner}"${name}"${optional}: ${shape(value, surface, inner, depth + 1)}`;
  });
  return lines.length ? `{\n${lines.join(",\n")}\n${indent}}` : "{}";
}

function limits({ format, minimum, maximum, minLength, maxLength, pattern }, type) {
  if (type === "string") {
    const lengths = maxLength !== undefined ? `${minLength ?? 0} to ${maxLength} characters` : "";
    return [format, pattern, lengths].filter(Boolean).join(" ");
  }
  if (type !== "integer" && type !== "number") return "";
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return minimum !== undefined ? `from ${minimum}` : "";
}

// --- what a person does -----------------------------------------------------------------------

$("search").addEventListener("input", list);
$("who").addEventListener("submit", (event) => event.preventDefault());
$("key").addEventListener("change", () => { chooseKey($("key").value); known.update?.(); });
$("other").addEventListener("input", () => known.update?.());
$("token").addEventListener("change", async () => { await loadCast(); show(); });
for (const surface of ["platform", "control"]) {
  $(surface).addEventListener("click", () => {
    turnTo(surface);
    history.pushState(null, "", location.pathname);
    show();
  });
}
addEventListener("hashchange", () => {
  if (location.hash === "#operation") return;
  show();
  $("operation").focus();
});

load().catch((error) => {
  $("operation").replaceChildren(el("p", { class: "note" }, `The documents could not be read: ${error.message}`));
});
