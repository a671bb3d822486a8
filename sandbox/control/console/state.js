// What is known about the world that is shown, and how it is kept up to date.

import { computed, effect, signal, untracked } from "@preact/signals";
import { ask, away, inWorld, locked, raw, Refused } from "./api.js";
import { isReport } from "./capture.js";
import { route } from "./route.js";

/**
 * @template T
 * @typedef {import("@preact/signals").Signal<T>} Signal
 */
/**
 * The time of the world, and when this browser read it (milliseconds).
 * @typedef {Api.Schemas["ClockView"] & { read: number }} ClockRead
 */

/**
 * What the server says about itself and this browser, null before it did.
 * @type {Signal<Api.Schemas["SessionView"] | null>}
 */
export const session = signal(null);
/**
 * The world that is shown; null before it is known.
 * @type {Signal<Api.Schemas["WorldView"] | null>}
 */
export const world = signal(null);
/**
 * A refusal that concerns the whole world, like one that is gone.
 * @type {Signal<Refused | null>}
 */
export const trouble = signal(null);
/** @type {Signal<ClockRead | null>} */
export const clock = signal(null);
/** @type {Signal<Api.Schemas["RunningScenario"] | null>} */
export const scenario = signal(null);
/** @type {Signal<Api.Schemas["TapView"][]>} */
export const taps = signal([]);
/** @type {Signal<Api.Schemas["Agenda"] | null>} */
export const agenda = signal(null);
/**
 * What the server sees at a glance; null if that is unknown, as in a capture.
 * @type {Signal<Api.Schemas["OverviewView"] | null>}
 */
export const glance = signal(null);
/** @type {Signal<Api.Schemas["EndpointView"][]>} */
export const endpoints = signal([]);
/**
 * Requests and messages as rows, newest first.
 * @type {Signal<Api.Schemas["RequestRow"][]>}
 */
export const requests = signal([]);
/** @type {Signal<Api.Schemas["MessageRow"][]>} */
export const messages = signal([]);
/** The requests with those that wait for a card or their processor, newest first. */
export const listed = computed(() => {
  const known = new Set(requests.value.map(({ id }) => id));
  const waits = (glance.value?.waiting ?? []).filter(({ id }) => !known.has(id));
  return [...waits.reverse(), ...requests.value];
});
/** The name of the key that acts for an account: the account's own, else that of the platform, else the first. */
export function keyOf(account) {
  const { accounts, keys } = world.value;
  const [owner] = Object.entries(accounts).find(([, id]) => id === account) ?? [];
  return [owner, "psp"].find((name) => keys[name]) ?? Object.keys(keys)[0];
}

/** The names of the cast and of the endpoints, by their ids. */
const names = computed(() => {
  const { accounts = {}, terminals = {}, locations = {}, keys = {} } = world.value ?? {};
  const found = new Map(endpoints.value.map(({ id, description, url }) => [id, description || url]));
  for (const kind of [accounts, terminals, locations]) for (const [name, id] of Object.entries(kind)) found.set(id, name);
  for (const [name, { id }] of Object.entries(keys)) found.set(id, name);
  return found;
});
/** A text of the server with those names in place of the ids, except in a path. */
export const named = (text) =>
  text.replace(/(?<!\/)\b(ep_\w+|[0-9a-f]{8}-[0-9a-f-]{27})\b/g, (id) => names.value.get(id) ?? id);

/** Whether all of this was read: before that, an empty list tells nothing. */
export const isRead = computed(() => world.value !== null && agenda.value !== null);
/** Whether the stream is open. */
export const live = signal(false);
/** Whether updates are paused, and how many requests arrived meanwhile. */
export const held = signal(false);
export const waiting = signal(0);
/** Counts up when something happened in the world; rooms read again when it changes. */
export const revision = signal(0);

/** The address of this server, as programs reach it. */
export const serverUrl = () => location.origin + location.pathname.replace(/\/_sandbox\/.*$/, "");

/** The address of the platform, as programs reach it. */
export function platformUrl() {
  const at = session.value?.platform_url ?? "/";
  return at === "/" ? serverUrl() : at.replace(/\/$/, "");
}

const FEED_MAX = 200;
const FLUSH_MS = 250;
/** From this many events in a flush on, no user can read along: it is drawn half as often. */
const BUSY = 50;
const QUIET_MS = 1500;
const HIDDEN_MS = 60_000;
const OPENING_MS = 2000;
/** How often the server is asked again while it does not answer. */
const AWAY_MS = 2000;

let entered = "";
let stopped = new AbortController();
let arrived = [];
let flushing = 0;
let isBusy = false;
let lastRead = 0;
let reading = 0;

/** Reads everything about the world of the address, and follows it from then on. */
export async function enter(id) {
  stopped.abort();
  stopped = new AbortController();
  const { signal: over } = stopped;
  trouble.value = null;
  arrived = [];
  waiting.value = 0;
  // What is shown of the same world stays until it is read again: no form in it is lost.
  if (id !== entered) forget();
  entered = id;
  while (!over.aborted && route.value.world === id) {
    try {
      if (isReport || document.hidden) await readAll(id);
      if (isReport) return;
      if (document.hidden) {
        // A tab opened in the background follows the world once it is shown: browsers limit the connections to a server.
        if (!over.aborted) stopped.abort();
        return;
      }
      await readAlong(id, over);
    } catch (error) {
      if (error.name === "AbortError" || over.aborted) return;
      if (error instanceof Refused) {
        // The world was there, and is gone.
        if (error.status === 404 && world.value) {
          forget();
          revision.value += 1;
        }
        trouble.value = error;
        if (error.status === 401) return;
      }
    }
    live.value = false;
    await new Promise((done) => setTimeout(done, AWAY_MS));
  }
}

/** Forgets what was read about a world. */
function forget() {
  for (const list of [taps, endpoints, requests, messages]) list.value = [];
  for (const one of [world, clock, scenario, agenda, glance]) one.value = null;
}

async function readAll(id) {
  const [view, ...rest] = await Promise.all([
    ask("GET", inWorld(id)),
    ask("GET", `${inWorld(id, "requests")}?limit=100&shape=row`),
    ask("GET", `${inWorld(id, "messages")}?limit=100&shape=row`),
  ]);
  world.value = view;
  clock.value = { ...view.clock, read: Date.now() };
  trouble.value = null;
  // Those that wait come with the glance, and leave with it.
  requests.value = rest[0].requests.filter(({ status }) => status !== null).reverse();
  messages.value = rest[1].messages.reverse();
  await readSmall(id);
}

/** Reads the short lists, which the stream does not carry. */
export async function readSmall(id = route.value.world) {
  lastRead = Date.now();
  const quiet = (error) => {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  };
  const [waits, due, ends, now, seen] = await Promise.all([
    ask("GET", inWorld(id, "taps")),
    ask("GET", `${inWorld(id, "agenda")}?limit=50`),
    ask("GET", inWorld(id, "endpoints")),
    ask("GET", inWorld(id, "clock")),
    ask("GET", inWorld(id, "overview")).catch(quiet),
  ]);
  if (route.value.world !== id) return;
  taps.value = waits.taps;
  agenda.value = due;
  endpoints.value = ends.endpoints;
  // A capture has no overview, but has the running scenario.
  scenario.value = seen ? seen.scenario : await ask("GET", inWorld(id, "scenario")).catch(quiet);
  glance.value = seen;
  clock.value = { ...now, read: Date.now() };
  revision.value += 1;
}

/** Reads the short lists soon, but not more often than every second and a half. */
function readSmallSoon() {
  if (reading) return;
  const wait = Math.max(0, lastRead + QUIET_MS - Date.now());
  reading = setTimeout(() => {
    reading = 0;
    readSmall().catch(() => {});
  }, Math.min(wait, QUIET_MS));
}

async function readAlong(id, over) {
  const kinds = "request,message,attempt,clock,tap,endpoint,scenario,world";
  const opening = raw("GET", `${inWorld(id, "stream")}?kinds=${kinds}&shape=row`, undefined, {
    signal: over,
  });
  // A proxy may hold the stream back: then the world is shown without it.
  const first = await Promise.race([opening, new Promise((done) => setTimeout(done, OPENING_MS))]);
  if (!first) await readAll(id);
  const answer = await opening;
  // What happens from now on waits in the stream, so nothing is missed between the two.
  await readAll(id);
  if (over.aborted) return;
  live.value = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) take(part);
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    away.value = away.value ?? Date.now();
  } finally {
    live.value = false;
  }
}

function take(part) {
  const kind = /^event: (.*)$/m.exec(part)?.[1];
  const data = /^data: (.*)$/m.exec(part)?.[1];
  if (!kind || !data) return;
  arrived.push([kind, JSON.parse(data)]);
  if (arrived.length > 5 * FEED_MAX) arrived.splice(0, arrived.length - FEED_MAX);
  waiting.value = held.value ? arrived.filter(([one]) => one === "request").length : 0;
  if (!flushing) flushing = setTimeout(flush, isBusy ? 2 * FLUSH_MS : FLUSH_MS);
}

function flush() {
  flushing = 0;
  if (held.value || !arrived.length) return;
  const came = arrived;
  isBusy = came.length > BUSY;
  arrived = [];
  waiting.value = 0;
  const of = (kind) => came.filter(([one]) => one === kind).map(([, content]) => content);
  const newest = (list, added) => {
    const known = new Set(added.map(({ id }) => id));
    return [...added.reverse(), ...list.filter(({ id }) => !known.has(id))].slice(0, FEED_MAX);
  };
  requests.value = newest(requests.value, of("request"));
  messages.value = tried(newest(messages.value, of("message")), of("attempt"));
  const changed = of("world").pop();
  if (changed && world.value) world.value = { ...world.value, name: changed.name };
  const moved = of("clock").pop();
  if (moved?.now) clock.value = { ...moved, read: Date.now() };
  // A reset, or the return to a mark, arrives as a clock event: what was read before may be gone.
  if (moved || of("gap").length) readAll(route.value.world).catch(() => {});
  readSmallSoon();
}

/** The messages with the latest state of their deliveries. */
function tried(list, attempts) {
  if (!attempts.length) return list;
  const by = new Map();
  for (const one of attempts) by.set(`${one.message_id} ${one.endpoint_id}`, one);
  return list.map((message) => ({
    ...message,
    deliveries: attempted(message, by),
  }));
}

function attempted(message, by) {
  const known = new Set(message.deliveries.map((one) => one.endpoint_id));
  const added = [...by.values()]
    .filter((one) => one.message_id === message.id && !known.has(one.endpoint_id))
    .map((one) => ({ endpoint_id: one.endpoint_id, status: "pending", attempts: 0 }));
  return [...message.deliveries, ...added].map((one) => {
    const last = by.get(`${message.id} ${one.endpoint_id}`);
    return last ? { ...one, status: last.delivery_status, attempts: one.attempts + 1 } : one;
  });
}

/** Pauses updates, or resumes them and shows what came. */
export function hold(on = !held.value) {
  held.value = on;
  flush();
}

/**
 * Asks in the world that is shown. Reads again what may have changed.
 * @template {Api.Method} M
 * @template {Api.Rest<M>} R
 * @param {M} method
 * @param {R} rest
 * @param {Api.BodyBelow<M, R>} [body]
 * @param {string | URLSearchParams} [query]
 * @returns {Promise<Api.AnswerBelow<M, R>>}
 */
export async function act(method, rest, body, query) {
  const asked = query ? `?${query}` : "";
  const path = /** @type {Api.Path} */ (inWorld(route.value.world, ...rest) + asked);
  const answer = /** @type {Api.AnswerBelow<M, R>} */ (await ask(method, path, body));
  if (method !== "GET") await readSmall();
  return answer;
}

/** Sends a request to the platform with a key of the cast. */
export const send = (request) => act("POST", ["send"], request);

// The page is hidden: the stream is closed, and everything is read again on return.
let hidden = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hidden);
  if (document.hidden) hidden = setTimeout(() => stopped.abort(), HIDDEN_MS);
  else if (stopped.signal.aborted) enter(route.value.world);
});

// A stream may survive what a request did not. Then nothing else asks whether the server answers again.
effect(() => {
  if (away.value === null || !live.value) return undefined;
  const timer = setInterval(() => readSmall().catch(() => {}), AWAY_MS);
  return () => clearInterval(timer);
});

let shown = "";
/** Follows the address from world to world, once this browser may ask. */
export function follow() {
  effect(() => {
    const { world: id } = route.value;
    if (locked.value || !session.value?.signed_in) {
      shown = "";
      return;
    }
    if (id !== shown) {
      shown = id;
      // At once, so that the answers are on their way while the room is drawn for the first time.
      untracked(() => enter(id));
    }
  });
}
