// Answers from captures, if the console is a file: the report of a test run, without a server.

const scripts = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("script[data-capture]"))];
const ledger = document.querySelector("script[data-ledger]");

/** Whether this is the console of a report, which has captures and no server. */
export const isReport = ledger !== null;

/** The captures in the file: the id of each in links, the test, its world, and how it failed. */
export const captures = scripts.map(({ dataset }) => ({
  id: dataset.capture, test: dataset.test, world: dataset.world, why: dataset.why,
}));

const opened = new Map();

/** The JSON in a script of the file, which is gzipped and written in letters. */
function content(script) {
  if (!opened.has(script)) {
    const bytes = Uint8Array.from(atob(script.textContent.trim()), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    opened.set(script, new Response(plain).json());
  }
  return opened.get(script);
}

/** Something that a capture cannot answer, as the server would refuse it. */
export class Missing extends Error {
  constructor(message, more = {}) {
    super(message);
    this.status = more.status ?? 404;
    this.details = more.details ?? "";
    this.nearest = more.nearest ?? "";
  }
}

const READ_ONLY = "This is a capture: it can be read, but not changed.";

const found = (list, fits, what) => {
  const one = list.find(fits);
  if (one === undefined) throw new Missing(`The capture has no ${what}.`);
  return one;
};

const newest = (list, { limit = "100" }) => list.slice(-Number(limit));

const listed = (query, value) => !query || query.split(",").includes(value);

/** Whether a payment fits the question, as the server reads it. */
function fits(one, query, { world }) {
  const named = (names, text, id) => !text || (names[text] ?? text) === id;
  const text = JSON.stringify(Object.values(one)).toLowerCase();
  return listed(query.status, one.status) && listed(query.type, one.type)
    && listed(query.status_reason, one.status_reason)
    && named(world.accounts, query.account, one.account_id)
    && named(world.terminals, query.terminal, one.terminal_id)
    && (!query.batch || query.batch === one.batch_id)
    && (!query.card_brand || query.card_brand === one.brand)
    && (!query.amount_min || one.total >= Number(query.amount_min))
    && (!query.amount_max || one.total <= Number(query.amount_max))
    && (!query.q || query.q.toLowerCase().split(" ").every((word) => text.includes(word)));
}

/** The requests that fit, as the server reads the question. */
function asked({ requests, request_rows: rows }, query) {
  const q = query.q?.toLowerCase();
  const all = requests.map((one, i) => ({ one, row: rows[i] })).filter(({ one }) => (
    (!query.status || one.status === Number(query.status))
    && (!query.status_class || `${Math.floor(one.status / 100)}xx` === query.status_class)
    && (!q || JSON.stringify([one.id, one.path, one.query, one.request, one.response]).toLowerCase().includes(q))));
  return { requests: newest(all, query).map(({ one, row }) => query.shape === "row" ? row : one), total: all.length };
}

const ORDERS = {
  oldest: (list) => [...list].reverse(),
  largest: (list) => [...list].sort((a, b) => b.total - a.total),
  smallest: (list) => [...list].sort((a, b) => a.total - b.total),
};

function search(capture, query) {
  const ordered = (ORDERS[query.order] ?? ((list) => list))(capture.payments);
  const fitting = ordered.filter((one) => fits(one, query, capture));
  const start = query.before ? Math.max(fitting.length - Number(query.before), 0) : 0;
  const page = fitting.slice(start, start + Number(query.limit ?? 100));
  const left = fitting.length - start - page.length;
  return { payments: page, total: fitting.length, next: left > 0 ? left : null };
}

function movesOf(capture, id, { key }) {
  const one = found(capture.moves, (each) => each.id === id, `payment ${id}`);
  if (key && key !== one.key) {
    throw new Missing(`The capture only has what the key ${one.key} could do.`);
  }
  return one;
}

const isKey = ({ key }, text) => key.cast === text || key.id === text;

function lens(capture, { key, operation, target = null }) {
  const fitting = capture.lens.answers.find((one) => isKey(one, key)
    && one.operation === operation && (one.target === target || one.target === null));
  if (fitting) return fitting;
  throw new Missing("The capture has no answer to this.", { details:
    "It has what each key would have got for the requests that were refused in the test; the table below has the rest." });
}

function directory(capture, { kind }) {
  if (kind !== "key") throw new Missing(`A capture has no list of ${kind}s.`);
  return { entries: capture.keys, total: capture.keys.length, next: null };
}

function batches({ batches: all, world }, { status, terminal }) {
  const list = all.map(({ batch }) => batch).filter((one) => listed(status, one.status)
    && (!terminal || (world.terminals[terminal] ?? terminal) === one.terminal_id));
  return { batches: list, total: list.length, next: null };
}

const LISTS = {
  "": ({ world }) => world,
  clock: ({ world }) => world.clock,
  coverage: ({ coverage }) => coverage,
  scenario: ({ scenario }) => scenario ?? found([], () => false, "running scenario"),
  taps: ({ taps }) => ({ taps, total: taps.length }),
  endpoints: ({ endpoints }) => ({ endpoints, total: endpoints.length }),
  agenda: ({ agenda, taken_at: now, totals }, query) => ({ now, total: totals.agenda, next: null,
    by_kind: {}, agenda: agenda.slice(0, Number(query.limit ?? 100)) }),
  requests: asked,
  messages: ({ messages, message_rows: rows, totals }, query) => ({
    messages: newest(query.shape === "row" ? rows : messages, query), total: totals.messages, next: null }),
  payments: search,
  batches,
  switches: ({ switches }) => switches,
  directory,
};

const ITEMS = {
  requests: ({ requests }, id) => found(requests, (one) => one.id === id, `request ${id}`),
  messages: ({ messages }, id) => found(messages, (one) => one.id === id, `message ${id}`),
  payments: ({ stories }, id) => found(stories, ({ payment }) => payment.transaction_id === id, `payment ${id}`),
  batches: (capture, id) => found(capture.batches, ({ batch }) => batch.id === id, `batch ${id}`),
  lens: (capture, id) => found(capture.lens.tables, (one) => isKey(one, id), `key ${id}`),
};

const PARTS = {
  "payments moves": movesOf,
  "messages verify": ({ checks }, id, query) => found(checks, (one) => one.message_id === id
    && one.endpoint_id === query.endpoint_id, "attempt that sent something"),
};

function answered(capture, [section = "", id, part], query) {
  const read = id === undefined ? LISTS[section] : part === undefined ? ITEMS[section] : PARTS[`${section} ${part}`];
  if (!read) throw new Missing(`A capture does not have this: ${[section, id, part].filter(Boolean).join(", ")}.`);
  return id === undefined ? read(capture, query) : read(capture, id, query);
}

async function capture(id) {
  const place = captures.findIndex((one) => one.id === id);
  if (place < 0) throw new Missing(`This report has no capture ${id}`, { nearest: captures[0]?.id });
  const opening = await content(scripts[place]);
  return { ...opening, world: { ...opening.world, name: captures[place].test } };
}

const ABOUT = [["requests", "journal", "request"], ["messages", "webhooks", "message"], ["payments", "payments", "payment"]];

/** Finds what has this id in all captures of the file. */
async function find({ q = "" }) {
  const hits = [];
  for (const { id: world } of captures) {
    const one = await capture(world);
    for (const [section, room, kind] of ABOUT) {
      for (const { id } of one[section].filter((each) => each.id === q)) {
        hits.push({ world, kind, id, says: `${kind} ${id} of ${one.world.name}`, href: `#/${world}/${room}/${id}` });
      }
    }
  }
  return { found: hits, total: hits.length };
}

async function session() {
  const first = captures.length ? await capture(captures[0].id) : null;
  const server = first?.server ?? { version: "", platform_url: "/", api_key_header: "" };
  return { needs_token: false, signed_in: true, ...server };
}

/** The answer of the captures, as the control API would give it. Throws Missing. */
export async function answer(method, path, body) {
  const [place, asked = ""] = path.split("?");
  const query = Object.fromEntries(new URLSearchParams(asked));
  const [, first, id, ...rest] = place.split("/").map(decodeURIComponent);
  const isLens = method === "POST" && first === "worlds" && rest[0] === "lens";
  if (method !== "GET" && !isLens) throw new Missing(READ_ONLY, { status: 409 });
  if (first === "session") return session();
  if (first === "ledger") return content(ledger);
  if (first === "find") return find(query);
  if (first !== "worlds" || id === undefined) throw new Missing("A report has captures of worlds, but no server.");
  const one = await capture(id);
  return isLens ? lens(one, body) : answered(one, rest, query);
}
