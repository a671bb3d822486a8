// The OpenAPI documents: their operations, and their schemas as people write shapes down.

import { ask } from "./api.js";

let read = null;

/** Both documents, which are read once. */
export function documents() {
  read ??= Promise.all([ask("GET", "/platform/openapi.json?strict=1"), ask("GET", "/openapi.json?strict=1")])
    .then(([platform, control]) => ({ platform, control }));
  read.catch(() => { read = null; });
  return read;
}

/** The operations and events of the documents, with their method, path and surface. */
export const operationsIn = (documents) => Object.entries(documents).flatMap(([surface, { paths, webhooks = {} }]) => [
  ...Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods)
    .map(([method, operation]) => ({ id: operation.operationId, surface, path, method: method.toUpperCase(), operation }))),
  ...Object.entries(webhooks).map(([path, { post: operation }]) => ({ id: operation.operationId, surface, path, method: "EVENT", operation })),
]);

/** A part of a document, in which the examples name what a world has, by its cast. */
export function fitted(part, document, cast) {
  const here = new Map();
  for (const [kind, ids] of Object.entries(document["x-cast"])) {
    for (const [name, id] of Object.entries(ids)) here.set(id, cast[kind][name] ?? id);
  }
  return JSON.parse(JSON.stringify(part), (_, one) => here.get(one) ?? one);
}

/** The JSON of a request or an answer in a document; undefined without one. */
export const jsonOf = (part) => part?.content?.["application/json"];

/** What a reference in a document leads to, or the value itself. */
export const resolve = (value, document) => value?.$ref
  ? value.$ref.split("/").slice(1).reduce((at, part) => at[part], document) : value;

/** A schema as a person would write the shape down. */
export function shape(schema, document, indent = "", depth = 0) {
  const at = resolve(schema, document);
  if (at.const !== undefined) return JSON.stringify(at.const);
  if (at.enum) return at.enum.map((word) => JSON.stringify(word)).join(" | ");
  const any = at.anyOf?.filter((one) => !one.required);
  if (any?.length && !at.properties) return any.map((one) => shape(one, document, indent, depth)).join(" | ");
  return [at.type ?? "anything"].flat().map((type) => {
    if (type === "array") return `[${shape(at.items ?? {}, document, indent, depth)}]`;
    if (type === "object" && at.properties && depth < 6) return fields(at, document, indent, depth);
    if (type === "object" && at.additionalProperties?.type) return `{ name: ${shape(at.additionalProperties, document, indent, depth)} }`;
    return [type, limits(at, type)].filter(Boolean).join(" ");
  }).join(" | ");
}

function fields(at, document, indent, depth) {
  const inner = `${indent}  `;
  const lines = Object.entries(at.properties).map(([name, value]) =>
    `${inner}"${name}"${at.required?.includes(name) ? "" : "?"}: ${shape(value, document, inner, depth + 1)}`);
  return lines.length ? `{\n${lines.join(",\n")}\n${indent}}` : "{}";
}

function limits({ format, minimum, maximum, minLength, maxLength, pattern }, type) {
  if (type === "string") {
    const lengths = maxLength !== undefined ? `${minLength ?? 0} to ${maxLength} characters` : "";
    return [format, pattern, lengths].filter(Boolean).join(" ");
  }
  if ((type !== "integer" && type !== "number") || minimum === undefined) return "";
  return maximum === undefined ? `from ${minimum}` : `${minimum} to ${maximum}`;
}
