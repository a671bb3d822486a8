// Asks the control API. Addresses are relative to the page, so it works under any prefix.

import { signal } from "@preact/signals";
import { answer as captured, isReport, Missing } from "./capture.js";

/**
 * Since when the server has not answered (milliseconds), or null.
 * @type {import("@preact/signals").Signal<number | null>}
 */
export const away = signal(null);

/** How often the server answered again after it had not. */
export const returns = signal(0);

/** Whether the server asks for its token. */
export const locked = signal(false);

/** A refusal of the control API, in its own words. */
export class Refused extends Error {
  constructor(status, said) {
    super(said.message || `the server answered ${status}`);
    this.status = status;
    this.code = said.error || "";
    this.details = said.details || "";
    this.nearest = said.nearest || "";
  }
}

/**
 * The platform's refusal of a request that the console sent; null if it took it.
 * A reading may give a decline another status; its body is the payment all the same.
 * @param {any} answer
 */
export function refusal({ status, body, fault }) {
  // A transport fault may break the JSON of the answer.
  const isText = typeof body === "string";
  if (status !== null && ((status < 400 && !isText) || body?.transaction_id)) return null;
  const message = !status ? `The connection closed without an answer: ${fault}.`
    : status < 400 ? `The platform answered ${status}, and the answer is not JSON.`
    : `The platform answered ${status}: ${body?.error ?? "no error"}.`;
  return new Refused(status ?? 0, { message, details: typeof body?.detail === "string" ? body.detail : "" });
}

/** The server did not answer. */
export class Away extends Error {}

/**
 * The decoded answer. Throws Refused or Away.
 * @template {Api.Method} M
 * @template {Api.Path} P
 * @param {M} method
 * @param {P} path
 * @param {Api.Body<M, P>} [body]
 * @returns {Promise<Api.Answer<M, P>>}
 */
export async function ask(method, path, body) {
  if (isReport) return askCapture(method, path, body);
  const answer = await raw(method, path, body);
  if (answer.status === 204) return null;
  return answer.json();
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 */
async function askCapture(method, path, body) {
  try {
    return await captured(method, path, body);
  } catch (error) {
    throw error instanceof Missing ? new Refused(error.status, error) : error;
  }
}

/**
 * The answer as fetch gives it, if it is a success.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {RequestInit} [more]
 * @returns {Promise<Response>}
 */
export async function raw(method, path, body, more = {}) {
  // Nothing happens in a capture: its stream never has anything.
  if (isReport) return new Promise(() => {});
  /** @type {RequestInit} */
  const options = { method, credentials: "same-origin", cache: "no-store", ...more };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "content-type": "application/json" };
  }
  let answer;
  try {
    answer = await fetch(`.${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    away.value = away.value ?? Date.now();
    throw new Away("the server does not answer");
  }
  if (away.value !== null) returns.value += 1;
  away.value = null;
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401 && path !== "/session") locked.value = true;
  throw new Refused(answer.status, said);
}

/**
 * The path of a world, or of something in it.
 * @template {Api.Rest} R
 * @param {string} world
 * @param {R} rest
 */
export const inWorld = (world, ...rest) => /** @type {Api.At<R>} */ (
  ["/worlds", ...[world, ...rest].map(encodeURIComponent)].join("/"));
