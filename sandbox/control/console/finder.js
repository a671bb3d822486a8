// Ctrl K: takes any id, and opens what it belongs to.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { agenda, messages, requests, world } from "./state.js";
import { keysOn, switchKeys } from "./keys.js";
import { to } from "./route.js";
import { html } from "./ui.js";
import { cardOf, purpose, time } from "./words.js";

export const finding = signal(false);

const ROOMS = ["overview", "terminal", "scenarios", "time", "payments", "webhooks", "journal", "access",
  "coverage", "clauses", "worlds"];
const MOST = 12;

/** What the question may mean, the likeliest first. */
function found(question) {
  const q = question.trim().toLowerCase();
  if (!q) return [];
  const hits = [];
  const add = (says, place) => hits.push({ says, href: to(place) });
  for (const room of ROOMS) if (room.startsWith(q)) add(`Room: ${room}`, { room });
  if (/^req_\d+$/.test(q)) add(`Request ${q}`, { room: "journal", id: q });
  if (/^msg_\w+$/.test(q)) add(`Message ${question.trim()}`, { room: "webhooks", id: question.trim() });
  if (/^[0-9a-f-]{36}$/.test(q)) add(`Payment ${q}`, { room: "payments", id: q });
  for (const one of requests.value) {
    const { response } = one;
    const fits = [one.id, response?.transaction_id, response?.batch_id, cardOf(response)]
      .some((text) => text && String(text).toLowerCase().includes(q));
    if (fits || purpose(one).toLowerCase().includes(q)) {
      add(`${time(one.at)} ${purpose(one)}, ${one.status}`, { room: "journal", id: one.id });
    }
  }
  for (const one of messages.value) {
    if (one.id.toLowerCase().includes(q) || one.event_type.includes(q)) {
      add(`${time(one.created_at)} ${one.event_type}`, { room: "webhooks", id: one.id });
    }
  }
  for (const [name, { id }] of Object.entries(world.value?.keys ?? {})) {
    if (name.includes(q) || id.startsWith(q)) add(`Key ${name}`, { room: "access", id: name });
  }
  for (const one of agenda.value?.agenda ?? []) {
    if (one.subject.id.startsWith(q)) add(`Due: ${one.says}`, { room: "time", id: one.id });
  }
  return hits.slice(0, MOST);
}

export function Finder() {
  const dialog = useRef(null);
  const [question, setQuestion] = useState("");
  const open = finding.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  if (!open) return null;
  const hits = found(question);
  const close = () => {
    finding.value = false;
    setQuestion("");
  };
  const submit = (event) => {
    event.preventDefault();
    if (hits.length) {
      location.href = hits[0].href;
      close();
    }
  };
  return html`<dialog ref=${dialog} class="finder" aria-label="Find" onClose=${close}>
    <form onSubmit=${submit}><input type="search" aria-label="Find" autofocus value=${question}
      placeholder="A request, a message, a payment, a key, four digits, a room"
      onInput=${(event) => setQuestion(event.target.value)} /></form>
    <ul>${hits.map(({ says, href }) => html`<li><a href=${href} onClick=${close}>${says}</a></li>`)}</ul>
    ${question && !hits.length ? html`<p class="q pad">Nothing in the last 200 requests and messages,
      the keys and what falls due has this. Press Escape to close.</p>` : ""}
    <p class="q sm pad">Keys: <kbd>g</kbd> and o t s p w j a v c l go to a room, <kbd>t</kbd> to the
      clock, <kbd>/</kbd> to the filter, <kbd>j</kbd> <kbd>k</kbd> walk a list, <kbd>Space</kbd> holds.
      <label class="tick"><input type="checkbox" checked=${keysOn.value}
        onChange=${(event) => switchKeys(event.target.checked)} /> Single keys are on</label></p>
  </dialog>`;
}
