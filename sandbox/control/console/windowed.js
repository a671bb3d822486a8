// Long lists: windows of rows by cursor, and only the rows that can be seen in the page.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { act, revision } from "./state.js";
import { html } from "./ui.js";

const WINDOW = 200;
const BEYOND = 10;

/** The windows of a list that are needed. A cursor is how many records are still to come, so any
 * window can be asked for once the total is known. `path` and `field` say what is listed. */
export function useWindows(path, field, query) {
  const [found, setFound] = useState({ total: null, windows: new Map(), error: null });
  const known = useRef(found);
  const range = useRef([0, 1]);
  const turn = useRef(0);
  const asking = useRef(new Set());
  const put = (next) => { known.current = next; setFound(next); };
  const needed = () => {
    const [first, last] = range.current.map((index) => Math.floor(index / WINDOW));
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  };
  const read = (number, total, limit = WINDOW) => {
    const asked = new URLSearchParams(query);
    asked.set("limit", String(limit));
    if (number) asked.set("before", String(total - number * WINDOW));
    return act("GET", path, undefined, asked);
  };
  const more = async () => {
    const mine = turn.current;
    const { total } = known.current;
    const missing = needed().filter((one) => one * WINDOW < total && !known.current.windows.has(one) && !asking.current.has(one));
    await Promise.all(missing.map(async (one) => {
      asking.current.add(one);
      try {
        const answer = await read(one, total);
        if (mine === turn.current) put({ ...known.current, windows: new Map(known.current.windows).set(one, answer[field]) });
      } finally {
        asking.current.delete(one);
      }
    })).catch((error) => put({ ...known.current, error }));
  };
  const reload = async () => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const wanted = needed();
      const first = await read(0, 0, wanted.includes(0) ? WINDOW : 1);
      const rest = wanted.filter((one) => one > 0 && one * WINDOW < first.total);
      const answers = await Promise.all(rest.map((one) => read(one, first.total)));
      if (mine !== turn.current) return;
      const windows = new Map(rest.map((one, i) => [one, answers[i][field]]));
      if (wanted.includes(0)) windows.set(0, first[field]);
      put({ total: first.total, windows, error: null });
    } catch (error) {
      if (mine === turn.current) put({ ...known.current, error });
    }
  };
  useEffect(() => {
    const timer = setTimeout(reload, 120);
    return () => clearTimeout(timer);
  }, [String(query), revision.value]);
  const show = (first, last) => {
    range.current = [first, Math.max(first, last)];
    if (known.current.total !== null) more();
  };
  const at = (index) => found.windows.get(Math.floor(index / WINDOW))?.[index % WINDOW];
  return { total: found.total ?? 0, ready: found.total !== null, error: found.error, at, show };
}

/** A list of which only what can be seen is in the page. Each row is `height` pixels high. */
export function Windowed({ label, list, height, row, place, onKeyDown }) {
  const box = useRef(null);
  const inner = useRef(null);
  const [seen, setSeen] = useState([0, 40]);
  const look = () => {
    if (!box.current) return;
    const { scrollTop, clientHeight } = box.current;
    const first = Math.max(0, Math.floor(scrollTop / height) - BEYOND);
    const last = Math.ceil((scrollTop + clientHeight) / height) + BEYOND;
    setSeen((old) => (old[0] === first && old[1] === last ? old : [first, last]));
  };
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => { box.current.scrollTop = 0; }, [place]);
  const first = Math.min(seen[0], Math.max(0, list.total - 1));
  const last = Math.min(list.total, seen[1]);
  useLayoutEffect(() => {
    inner.current.style.paddingTop = `${first * height}px`;
    inner.current.style.paddingBottom = `${Math.max(0, list.total - last) * height}px`;
  });
  const before = useRef({ total: 0, id: "" });
  useLayoutEffect(() => {
    // New rows above those in sight do not move them, unless the list is at its top.
    const top = () => Math.floor(box.current.scrollTop / height);
    const added = list.total - before.current.total;
    if (top() && list.at(top() + added)?.id === before.current.id) box.current.scrollTop += added * height;
    before.current = { total: list.total, id: list.at(top())?.id };
  });
  useEffect(() => { list.show(first, Math.max(first, last - 1)); }, [first, last, list.total]);
  const rows = [];
  for (let index = first; index < last; index += 1) {
    const one = list.at(index);
    rows.push(one ? html`<li key=${one.id} aria-setsize=${list.total} aria-posinset=${index + 1}>${row(one)}</li>`
      : html`<li key=${`w${index}`} class="blank" aria-setsize=${list.total} aria-posinset=${index + 1}><span class="vh">loading</span></li>`);
  }
  return html`<div class="windowed" ref=${box} onScroll=${look}><ul ref=${inner} onKeyDown=${onKeyDown} aria-label=${label}>${rows}</ul></div>`;
}
