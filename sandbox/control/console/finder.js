// Ctrl K: takes any id, and opens what it belongs to.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./api.js";
import { isReport } from "./capture.js";
import { brief } from "./clockface.js";
import { act, agenda, messages, requests, world } from "./state.js";
import { keysOn, switchKeys } from "./keys.js";
import { route, to } from "./route.js";
import { html, Icon, Trouble } from "./ui.js";
import { purpose } from "./words.js";

export const finding = signal(false);

const ROOMS = ["overview", "terminal", "scenarios", "time", "payments", "batches", "webhooks", "journal", "access",
  "coverage", "clauses", "api", "worlds"];
const MOST = 12;
const WAIT_MS = 120;

/** The question without what was copied along with it, like the name of a header. */
const plain = (question) => question.trim().replace(/^[\w-]+:\s+/, "").trim();

/** Where the console shows something that the server found. */
const PLACES = {
  payment: ({ id }) => ({ room: "payments", id }),
  request: ({ id }) => ({ room: "journal", id }),
  message: ({ id }) => ({ room: "webhooks", id }),
  key: ({ id }) => ({ room: "access", id }),
  batch: ({ id }) => ({ room: "batches", id }),
  account: ({ id }) => ({ room: "payments", query: { q: `account:${id}` } }),
  terminal: ({ id }) => ({ room: "payments", query: { q: `terminal:${id}` } }),
  location: () => ({ room: "payments" }),
};

/** The accounts of this world with this text in their names. */
async function accountsNamed(q) {
  if (!world.value || isReport) return [];
  const { entries } = await act("GET", ["directory"], undefined, new URLSearchParams({ q, limit: String(MOST) }));
  return entries.map(({ kind, id, name }) => ({ kind, id, says: name, world: route.value.world }));
}

/** What the server knows by this id, name or four digits, in this world first. */
async function known(question) {
  const q = plain(question);
  if (!q || q.length > 200) return [];
  const here = route.value.world;
  const [{ found }, merchants] = await Promise.all([ask("GET", `/find?${new URLSearchParams({ q })}`), accountsNamed(q)]);
  const elsewhere = (one) => Number(one.world !== here);
  return [...found, ...merchants].sort((a, b) => elsewhere(a) - elsewhere(b)).map((one) => ({
    says: `${one.kind[0].toUpperCase()}${one.kind.slice(1)}: ${one.says}${one.world === here ? "" : ` (world ${one.world})`}`,
    href: to({ world: one.world, ...PLACES[one.kind](one) }),
  }));
}

/** What matches the question, among what this page has read. */
function listed(question) {
  const q = plain(question).toLowerCase();
  if (!q) return [];
  const hits = [];
  const add = (says, place) => hits.push({ says, href: to(place) });
  for (const room of ROOMS) if (room.startsWith(q)) add(`Room: ${room}`, { room });
  for (const one of requests.value) {
    const { payment } = one;
    const fits = [one.id, payment?.id, payment?.brand, payment?.last4]
      .some((text) => text && String(text).toLowerCase().includes(q));
    if (fits || purpose(one).toLowerCase().includes(q)) {
      add(`${brief(one.at)} ${purpose(one)}, ${one.status}`, { room: "journal", id: one.id });
    }
  }
  for (const one of messages.value) {
    if (one.id.toLowerCase().includes(q) || one.event_type.includes(q)) {
      add(`${brief(one.created_at)} ${one.event_type}`, { room: "webhooks", id: one.id });
    }
  }
  for (const [name, { id }] of Object.entries(world.value?.keys ?? {})) {
    if (name.includes(q) || id.startsWith(q)) add(`Key ${name}`, { room: "access", id: name });
  }
  for (const one of agenda.value?.agenda ?? []) {
    if (one.subject.id.startsWith(q)) add(`Due: ${one.says}`, { room: "time", id: one.id });
  }
  return hits;
}

/** Both, each place once: the rooms, what the server knows, and the rest. */
function merged(question, by) {
  const all = listed(question);
  const rooms = all.filter(({ says }) => says.startsWith("Room: "));
  const places = new Map();
  for (const hit of [...rooms, ...by, ...all]) if (!places.has(hit.href)) places.set(hit.href, hit);
  return [...places.values()].slice(0, MOST);
}

export function Finder() {
  const dialog = useRef(null);
  const [question, setQuestion] = useState("");
  const [by, setBy] = useState({ question: "", hits: [] });
  const [error, setError] = useState(null);
  const open = finding.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  const look = (text) => known(text).then((hits) => {
    setError(null);
    setBy({ question: text, hits });
    return hits;
  });
  useEffect(() => {
    const timer = setTimeout(() => look(question).catch(setError), WAIT_MS);
    return () => clearTimeout(timer);
  }, [question]);
  if (!open) return null;
  const hits = merged(question, by.question === question ? by.hits : []);
  const close = () => {
    // Before it leaves the page: a browser gives the focus back to where it was.
    dialog.current?.close();
    finding.value = false;
    setQuestion("");
  };
  const submit = async (event) => {
    event.preventDefault();
    try {
      const [first] = merged(question, by.question === question ? by.hits : await look(question));
      if (!first) return;
      location.href = first.href;
      close();
    } catch (caught) {
      setError(caught);
    }
  };
  return html`<dialog ref=${dialog} class="finder" aria-label="Find" closedby="any" onClose=${close}>
    <form onSubmit=${submit}><input type="search" aria-label="Find" autofocus value=${question}
      placeholder="Any id, a name, the last four digits of a card, a room"
      onInput=${(event) => setQuestion(event.target.value)}
      onKeyDown=${(event) => event.key === "Escape" && close()} /></form>
    <ul>${hits.map(({ says, href }) => html`<li><a href=${href} onClick=${close}>${says}</a></li>`)}</ul>
    <${Trouble} error=${error} />
    ${question && by.question === question && !hits.length ? html`<p class="q pad" role="status">Nothing in any world of this
      server has this id, name or card. Press Escape to close.</p>` : ""}
    <p class="q sm pad">Keys: <kbd>g</kbd> and o t s p b w j a v c i l go to a room, <kbd>t</kbd> to the
      clock, <kbd>/</kbd> to the filter, <kbd>j</kbd> <kbd>k</kbd> walk a list, <kbd>Enter</kbd> opens a line and <kbd>Esc</kbd> leaves
      it, <kbd>x</kbd> marks a payment, <kbd>Space</kbd> pauses updates. In the terminal <kbd>1</kbd> to <kbd>9</kbd> tap a card,
      and <kbd>p</kbd> presents.
      <label class="tick"><input type="checkbox" checked=${keysOn.value}
        onChange=${(event) => switchKeys(event.target.checked)} /> Single-key shortcuts are on</label></p>
    <button class="btn g" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>
  </dialog>`;
}
