// The shell around all rooms: header, navigation, finding, the server that is away, the token.

import { render } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, away, locked, Refused } from "./api.js";
import { Access } from "./access.js";
import { Batches } from "./batches.js";
import { Coverage, Clauses } from "./coverage.js";
import { Journal } from "./journal.js";
import { Operations } from "./operations.js";
import { Overview } from "./overview.js";
import { Payments } from "./payments.js";
import { Scenarios } from "./scenarios.js";
import { Terminal } from "./terminal.js";
import { pane, Time, TimePane } from "./time.js";
import { Webhooks } from "./webhooks.js";
import { Worlds } from "./worlds.js";
import { Finder, finding } from "./finder.js";
import { listen } from "./keys.js";
import { go, linked, route, tokenOfLink } from "./route.js";
import { agenda, endpoints, follow, held, hold, isRead, live, messages, scenario, session, taps,
  trouble, world } from "./state.js";
import { Go, html, Icon, refocus, said, Trouble } from "./ui.js";
import { ClockFace } from "./clockface.js";
import { countNear } from "./words.js";
import { failing } from "./health.js";
import { isReport } from "./capture.js";
import { Band, beginReport, roomsOf } from "./report.js";

const ROOMS = roomsOf([
  ["overview", "Overview", Overview],
  ["", "Act"],
  ["terminal", "Terminal", Terminal],
  ["scenarios", "Scenarios", Scenarios],
  ["time", "Time", Time],
  ["", "Look"],
  ["payments", "Payments", Payments],
  ["batches", "Batches", Batches],
  ["webhooks", "Webhooks", Webhooks],
  ["journal", "Journal", Journal],
  ["", "Understand"],
  ["access", "Access", Access],
  ["coverage", "Coverage", Coverage],
  ["clauses", "Clauses", Clauses],
  ["api", "API", Operations],
  ["worlds", "Worlds", Worlds],
]);

const counts = {
  terminal: () => taps.value.length && [taps.value.length, "w", "waiting for a card"],
  scenarios: () => scenario.value && ["running", "", ""],
  time: () => {
    const near = agenda.value ? countNear(Date.parse(agenda.value.now), agenda.value) : 0;
    return near && [near, "", "due within a year"];
  },
  webhooks: () => {
    const bad = endpoints.value.filter((one) => failing(one, messages.value)).length;
    return bad && [bad, "w bad", "failing"];
  },
};

function Room({ id, text }) {
  const [count, kind, means] = counts[id]?.() || [];
  const here = route.value.room === id;
  return html`<a href=${`#/${encodeURIComponent(route.value.world)}/${id}`}
    class=${here ? "on" : ""} aria-current=${here ? "page" : undefined}>
    <${Icon} name=${id} size=${16} />${text}
    ${count ? html`<span class=${`n ${kind}`}>${count}<span class="vh"> ${means}</span></span>` : ""}</a>`;
}

/** Opens the clock over this room, or closes it. */
function toggleTime() {
  if (route.value.room !== "time") pane.value = !pane.value;
}

function Navigation() {
  // On a narrow screen only some of the rooms can be seen at once.
  useEffect(() => document.querySelector("nav a.on")?.scrollIntoView({ block: "nearest", inline: "center" }), [route.value.room, isRead.value]);
  return html`<nav aria-label="Rooms">
  ${ROOMS.map(([id, text]) => id === "worlds" ? "" : id
    ? html`<${Room} id=${id} text=${text} />` : html`<p>${text}</p>`)}
  <div class="ft"><${Room} id="worlds" text=${isReport ? "Captures" : "Worlds"} /></div></nav>`;
}

const Header = () => html`<header class="bar">
  <a class="skip" href="#main" onClick=${(event) => {
    event.preventDefault();
    /** @type {HTMLElement} */ (document.querySelector("main h1"))?.focus();
  }}>Skip to the room</a>
  <span class="brand"><i></i>uat-sandbox</span>
  <${Go} room="worlds" class="chip"><${Icon} name="world" />
    <b class="el">${world.value?.name || route.value.world}</b>
    ${world.value?.name && !isReport ? html`<span class="qq mono">${route.value.world}</span>` : ""}
    <${Icon} name="down" size=${14} /><//>
  <${ClockFace} open=${pane.value} toggle=${toggleTime} />
  ${scenario.value && html`<${Go} room="scenarios" class="chip opt"><${Icon} name="scenarios" />
    <span class="el">${scenario.value.name}</span><//>`}
  <span class="sp"></span>
  <button class="in hint" title="Find, or paste an id" onClick=${() => { finding.value = true; }}>
    <${Icon} name="search" /><span class="opt">Find, or paste an id</span><span class="sp"></span>
    <kbd class="opt">Ctrl K</kbd></button>
  <span class=${`live ${live.value && !held.value ? "" : "off"}`}>${
    isReport ? "a capture" : held.value ? "held" : live.value ? "live" : "not live"}</span></header>`;

function AwayBar() {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  if (away.value === null) return null;
  const since = new Date(away.value).toISOString().slice(11, 19);
  const seconds = Math.round((Date.now() - away.value) / 1000);
  return html`<p class="away" role="status"><${Icon} name="warning" /><span>The server has not
    answered since ${since} UTC<span aria-hidden="true">, ${seconds} s ago</span>. The console tries again every 2 s; what you see is from
    before.</span></p>`;
}

/** The refusal of the token of a link. */
const wrong = signal(null);

function Token() {
  const [token, setToken] = useState("");
  const [error, setError] = useState(null);
  const field = useRef(null);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(token);
    } catch (caught) {
      setError(caught);
      setToken("");
      field.current?.focus();
    }
  };
  return html`<main class="lock"><form class="panel" onSubmit=${submit}>
    <h1 tabindex="-1">Sign in</h1>
    <p class="q">The server printed its token at startup, or was given one (SANDBOX_TOKEN, --token-file). You stay
    signed in for 12 hours, and return to the link that you opened.</p>
    <label>Token<input ref=${field} type="password" autocomplete="off" value=${token}
      onInput=${(event) => setToken(event.target.value)} /></label>
    <button class="btn p" disabled=${!token}>Sign in</button>
    <${Trouble} error=${error ?? wrong.value} /></form></main>`;
}

async function signIn(token) {
  session.value = await ask("POST", "/session", { token });
  locked.value = false;
}

/** Signs in with the token of a link. The form shows a refusal. */
async function signInByLink(token) {
  try {
    await signIn(token);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    wrong.value = error;
  }
}

function Gone() {
  const [worlds, setWorlds] = useState([]);
  useEffect(() => {
    ask("GET", "/worlds?shape=row").then((answer) => setWorlds(answer.worlds.filter(({ id }) => id !== trouble.value?.nearest)), () => {});
  }, [trouble.value]);
  const { nearest } = trouble.value;
  return html`<main class="room"><h1 tabindex="-1">There is no world ${route.value.world}</h1>
    <div class="panel pad gone">${nearest && html`<p>Did you mean <${Go} world=${nearest}>${nearest}<//>?</p>`}
    ${worlds.length ? html`<p>${session.value?.team ? `The team ${session.value.team} has:` : "This server has:"}</p><ul>${worlds.map(({ id, name }) => html`<li key=${id}>
      <${Go} world=${id}>${id}<//> ${name}</li>`)}</ul>` : ""}
    <p><${Go} room="worlds">All worlds, and new ones<//></p></div></main>`;
}

/** Puts the focus on the heading of a room that replaces the one in which the focus was. */
function useHeading(place) {
  const shown = useRef("");
  useEffect(() => {
    if (shown.current) refocus();
    shown.current = place;
  }, [place]);
}

function Content() {
  useHeading(`${route.value.world} ${route.value.room}`);
  if (locked.value || (session.value && !session.value.signed_in)) return html`<${Token} />`;
  // Until this browser may ask, no room asks: an early refusal could arrive after a link has signed in.
  if (!session.value) return html`<main class="room" aria-busy="true"></main>`;
  const { room } = route.value;
  const found = ROOMS.find(([id]) => id && id === room);
  if (trouble.value?.status === 404 && room !== "worlds") return html`<${Gone} />`;
  if (!found) {
    return html`<main class="room"><h1 tabindex="-1">There is no room ${room}</h1>
      <p><${Go} room="overview">To the overview<//></p></main>`;
  }
  document.title = `${found[1]} · ${route.value.world} · uat-sandbox`;
  const [, text, View] = found;
  if (!isRead.value && room !== "worlds") {
    return html`<main class="room" aria-busy="true"><h1 tabindex="-1">${text}</h1><p class="q">Reading the world ${route.value.world}</p>
      <${Trouble} error=${trouble.value} /></main>`;
  }
  return html`<main class=${`room r-${room}`} key=${`${route.value.world} ${room}`}><${View} /></main>`;
}

const App = () => html`<${Header} /><${Navigation} />
  <div class=${`stack ${away.value === null ? "" : "old"}`}><${AwayBar} /><${Band} /><div class="beside">${session.value?.signed_in && !locked.value ? html`<${TimePane} />` : ""}<div class="frame" id="main"><${Content} /></div></div></div><${Finder} />
  <p class="said" role="status">${said.value}</p>`;

const KEYS = { o: "overview", b: "batches", t: "terminal", s: "scenarios", p: "payments", w: "webhooks",
  j: "journal", a: "access", v: "coverage", l: "worlds", c: "clauses", i: "api" };

async function start() {
  beginReport();
  const token = tokenOfLink();
  // Asked before anything is drawn: the answer is on its way meanwhile.
  let asked = token ? null : ask("GET", "/session");
  asked?.catch(() => {});
  render(html`<${App} />`, document.getElementById("app"));
  listen({
    rooms: (key) => KEYS[key] && go({ room: KEYS[key] }),
    find: () => { finding.value = true; },
    time: toggleTime,
    hold: () => hold(),
    leave: () => {
      const { id, query } = route.value;
      if (!id || pane.value) return;
      /** @type {HTMLElement} */ (document.querySelector("main a.on"))?.focus();
      go({ query });
    },
  });
  follow();
  linked.subscribe((later) => later && signInByLink(later).catch(() => {}));
  for (;;) {
    try {
      if (token) await signInByLink(token);
      if (!session.value) session.value = await (asked ?? ask("GET", "/session"));
      return;
    } catch {
      asked = null;
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

start();
