// What rooms read from the server beside what the page follows.

import { useEffect, useState } from "preact/hooks";
import { returns } from "./api.js";
import { route } from "./route.js";
import { act as typed, revision } from "./state.js";
import { html } from "./ui.js";

/** Requests and messages have rows of their own types. @type {(method: string, rest: string[], body: undefined, query: string) => Promise<any>} */
const act = /** @type {any} */ (typed);

/** As many rows as the server gives at once. */
const ROWS_MAX = 1000;
/** From this many rows on, the server may have more than the page follows. */
const FOLLOWED = 100;
const WAIT_MS = 150;

/**
 * What `read` gives, and why it failed. It reads again when one of the values of `again` changes,
 * and when the server answers again after it did not.
 * @template T
 * @param {() => Promise<T>} read
 * @param {any[]} [again]
 * @returns {[T | null, any]}
 */
export function useAnswer(read, again = []) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let over = false;
    read().then((answer) => !over && (setFound(answer), setError(null)), (caught) => !over && setError(caught));
    return () => { over = true; };
  }, [...again, returns.value]);
  return [found, error];
}

/** Reads again when the user comes back to the window: other programs may have changed what it shows. */
export function useFocus(read) {
  useEffect(() => {
    addEventListener("focus", read);
    return () => removeEventListener("focus", read);
  }, []);
}

/** The query for all rows that the server gives at once, or for those that match `more`. */
export const everyRow = (more = {}) => String(new URLSearchParams({ shape: "row", limit: String(ROWS_MAX), ...more }));

/**
 * Rows of the world, newest first: `followed`, or what the server has for a query. `total` is how
 * many it has; null if that is unknown.
 * @param {"requests" | "messages"} name
 * @param {any[]} followed
 * @param {string | null} query
 */
export function useRows(name, followed, query) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (query === null) {
      setFound(null);
      setError(null);
      return undefined;
    }
    let over = false;
    const timer = setTimeout(() => act("GET", [name], undefined, query).then((answer) => {
      if (over) return;
      setFound({ query, rows: answer[name].reverse(), total: answer.total });
      setError(null);
    }, (caught) => !over && setError(caught)), WAIT_MS);
    return () => { over = true; clearTimeout(timer); };
  }, [name, query, route.value.world, revision.value]);
  const ready = query === null || found?.query === query;
  if (query !== null && found) return { rows: found.rows, total: found.total, error, ready };
  return { rows: followed, total: followed.length < FOLLOWED ? followed.length : null, error, ready };
}

/** How many rows a list shows, for its heading. */
export const counted = (list, total) => (total === null ? `the last ${list.length}` : list.length);

/** The end of a list: a button for older rows, or how many the server has besides. */
export function Older({ rows, total, show }) {
  if (total === null) return html`<li class="pad"><button class="btn" onClick=${show}>Show older</button></li>`;
  if (rows.length === total) return "";
  return html`<li class="pad q">The newest ${rows.length.toLocaleString("en")} of ${total.toLocaleString("en")}</li>`;
}
