// How to make something happen on the platform: the requests for each entry of the coverage.
// The platform's own document has an example of every operation; the other steps are here.

import { ask as typed, inWorld } from "./api.js";
import { fitted } from "./shapes.js";

/** Asks what the examples say, which have no types. @type {(method: string, path: string, body?: any) => Promise<any>} */
const ask = /** @type {any} */ (typed);

const MISSING = "00000000-0000-4000-8000-000000000000";
const SALE = "payments.create";
const HOLD = "payments.preauth";

/** A step: an operation with changes to its example, an outcome for the next attempt, or an action of the control API. */
const operation = (name, more = {}) => ({ operation: name, ...more });
const queue = (body) => ({ queue: body });
const control = (method, path, body) => ({ control: { method, path, body } });
const raw = (request) => ({ raw: request });

const CLOSED = [operation(SALE), control("PUT", ["switches"], { "batch.settlement": "manual" }), { close: true }];
const answered = (answer, more = {}) => [...CLOSED, { answer: { answer, ...more } }];
const faulty = (fault) => [queue({ fault }), operation(SALE)];
const ending = (outcome, then = SALE) => [queue({ outcome }), operation(then)];

const STATUSES = {
  pending: ending("pending_forever"),
  surcharge_pending: [{ first: "payments.confirm" }],
  authorized: [operation(HOLD)],
  captured: [operation(SALE)],
  settled: answered("accepted"),
  refunded: [operation("payments.refund", { body: { amount: 2500 } })],
  reversed: [operation("payments.reverse")],
  declined: ending("do_not_honor"),
  error: ending("general_error"),
  canceled: ending("user_canceled"),
};

const EVENTS = {
  "transaction.authorize": [operation(HOLD)],
  "transaction.sale": [operation(SALE)],
  "transaction.capture": [operation("payments.capture")],
  "transaction.cancel": ending("user_canceled"),
  "transaction.create": ending("pending_forever"),
  "transaction.reverse": [operation("payments.reverse")],
  "transaction.refund": [operation("payments.refund")],
  "transaction.increment": [operation("payments.increment")],
  "transaction.tip_adjust": [operation("payments.adjust")],
  "batch.opened": [operation("batches.open")],
  "batch.submitted": [operation("batches.close")],
  "batch.edited": [operation("batches.edit")],
  "batch.accepted": answered("accepted"),
  "batch.rejected": answered("rejected", { reason: "hash_mismatch" }),
  "batch.partially_accepted": answered("partially_accepted", { rejected: ["the payment"] }),
  "api_key.revoked": [operation("apikeys.update")],
  "api_key.reinstated": [operation("apikeys.update"), { again: { status: "active" } }],
  "terminal.unblocked": [operation("terminals.block"), { path: ["/block", "/unblock"] }],
  "location.unblocked": [operation("locations.block"), { path: ["/block", "/unblock"] }],
  "credential.blocked": [operation("credentials.block")],
  "credential.unblocked": [operation("credentials.block"), { path: ["/block", "/unblock"] }],
};
const DEEDS = { created: "create", updated: "update", blocked: "block", unblocked: "unblock", deleted: "delete" };

const REFUSALS = {
  validation_error: [operation(SALE, { body: { amount: -1 } })],
  authentication_failed: [operation(SALE, { by: null })],
  permission_denied: [operation(SALE, { by: "merchant_read_only" })],
  not_found: [raw({ method: "GET", path: `/v1/transactions/${MISSING}`, key: "merchant" })],
  method_not_allowed: [raw({ method: "PATCH", path: "/v3/payment", key: "merchant" })],
  not_acceptable: [raw({ method: "GET", path: "/v2/transactions", key: "merchant", headers: { accept: "text/html" } })],
  unsupported_media_type: [raw({ method: "POST", path: "/v3/payment", key: "merchant", body: "a=1", headers: { "content-type": "text/plain" } })],
  duplicate_event: [operation(SALE, { body: { event_id: "order-1" } }), operation(SALE, { body: { event_id: "order-1" } })],
  invalid_transaction_state: [operation("payments.reverse"), { path: ["/reverse", "/auth"], body: { amount: 500 } }],
  exceeds_original_auth: [operation("payments.capture", { body: { amount: 9_000_000 } })],
  reverse_exceeds_available: [operation("payments.reverse", { body: { amount: 2501 } })],
  refund_exceeds_captured: [operation("payments.refund", { body: { amount: 2501 } })],
  invalid_tip_adjustment: ending("invalid_tip_adjustment", "payments.adjust"),
  invalid_capture_sequence: ending("invalid_capture_sequence", "payments.capture"),
  account_blocked: [operation(SALE, { at: "blocked_merchant", by: "blocked_merchant" })],
  rate_limited: faulty("http_429"),
  internal_error: faulty("http_500"),
  bad_gateway: faulty("http_502"),
  unavailable: faulty("http_503"),
  gateway_timeout: faulty("http_504"),
};

const FIRST = { sale: SALE, auth: HOLD, incremental_auth: "payments.increment", capture: "payments.capture", reverse: "payments.reverse",
  confirm: "payments.confirm", refund: "payments.refund", tip_adjust: "payments.adjust" };

/** The steps that make an entry of a section happen; null if no request does. */
export function way(section, name, catalogue) {
  const known = { statuses: STATUSES, events: EVENTS, refusals: REFUSALS }[section];
  if (known?.[name]) return known[name];
  if (section === "operations") return [operation(name)];
  if (section === "scenarios") return [control("PUT", ["scenario"], { name }), operation(SALE)];
  if (section === "events") {
    const [kind, deed] = name.split(".");
    return DEEDS[deed] ? [operation(`${kind === "api_key" ? "apikey" : kind}s.${DEEDS[deed]}`)] : null;
  }
  if (section === "outcomes" && catalogue.faults.some(({ key }) => key === name)) return faulty(name);
  const found = catalogue.outcomes.find((one) => (section === "outcomes" ? one.key === name : one.status_reason === name));
  if (!found || !["outcomes", "status_reasons"].includes(section)) return null;
  const at = Object.keys(FIRST).find((one) => found.operations.includes(one));
  return at ? [queue({ outcome: found.key, operation: at }), operation(FIRST[at])] : null;
}

let document = null;

/** The operations of the platform by name, with their examples for a world of this cast. */
async function operations(cast) {
  document ??= await ask("GET", "/platform/openapi.json");
  const found = new Map();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, one] of Object.entries(methods)) {
      if (!one?.operationId) continue;
      const body = one.requestBody?.content?.["application/json"]?.example;
      const id = one.parameters?.find((each) => each.in === "path")?.example;
      const example = { ...one["x-example"], method: method.toUpperCase(), path, ...(id ? { id } : {}), ...(body ? { body } : {}) };
      found.set(one.operationId, fitted(example, document, cast));
    }
  }
  return found;
}

const idOf = (body) => body?.transaction_id ?? body?.id ?? body?.terminal_id ?? body?.batch_id ?? body?.key_id;

/** Carries out the steps in a world. Returns the id of the last request. */
export async function carryOut(steps, world) {
  const cast = await ask("GET", inWorld(world));
  const all = await operations(cast);
  const send = (request) => ask("POST", inWorld(world, "send"), request);
  /** @type {any} */
  let last = null;
  let id = "";
  const shot = async (example, more = {}) => {
    let { body, path } = example;
    let target = example.id ?? "";
    if (example.first) {
      const before = all.get(example.first.operation);
      const made = await send({ method: before.method, path: before.path, key: example.first.by, body: example.first.body });
      target = idOf(made.body);
    }
    if (example.takes) body = { ...body, [example.takes]: target };
    else path = path.replace(/\{[^}]+\}/, target);
    if (more.body) body = { ...body, ...more.body };
    if (more.at) body = { ...body, terminal_id: cast.terminals[more.at] };
    const key = more.by === undefined ? example.by ?? "merchant" : more.by;
    last = { method: example.method, path, key: more.by === "blocked_merchant" && !cast.keys[more.by] ? "partner" : key, ...(body ? { body } : {}) };
    return send(last);
  };
  let answer = null;
  for (const step of steps) {
    if (step.queue) {
      await ask("POST", inWorld(world, "scenario", "next"), step.queue);
      continue;
    }
    if (step.control) {
      await ask(step.control.method, inWorld(world, ...step.control.path), step.control.body);
      continue;
    }
    if (step.operation) answer = await shot(all.get(step.operation), step);
    else if (step.first) {
      const { first } = all.get(step.first);
      answer = await shot({ ...all.get(first.operation), ...first });
    } else if (step.raw) answer = await send(step.raw);
    else if (step.again) answer = await send({ ...last, body: step.again });
    else if (step.path) answer = await send({ ...last, path: last.path.replace(...step.path), body: step.body ?? {} });
    else if (step.close) answer = await send({ method: "POST", path: `/v1/batches/${answer.body.batch_id}/close`, key: "merchant", body: {} });
    else if (step.answer) {
      const rejected = step.answer.rejected ? { rejected: [id] } : {};
      await ask("POST", inWorld(world, "batches", idOf(answer.body), "answer"), { ...step.answer, ...rejected });
    }
    if (answer.body?.transaction_id) id = answer.body.transaction_id;
  }
  return answer.request_id;
}

/** Makes it happen in a fork of the world. Returns the fork's id and the request that shows it. */
export async function show(world, name, steps) {
  const fork = await ask("POST", inWorld(world, "fork"), { name: `Shows ${name}` });
  try {
    return { world: fork.id, request: await carryOut(steps, fork.id) };
  } catch (error) {
    await ask("DELETE", inWorld(fork.id));
    throw error;
  }
}
