// How money, times and payments are written.

const OPERATIONS = {
  "payments.create": "Sale",
  "payments.preauth": "Hold",
  "payments.increment": "Increment",
  "payments.capture": "Capture",
  "payments.refund": "Refund",
  "payments.reverse": "Reverse",
  "payments.tip_adjust": "Adjust the tip",
  "payments.confirm_surcharge": "Answer the surcharge",
  "batches.close": "Close batch",
  "batches.open": "Open batch",
};

/** What a request wants, in words. */
export function purpose({ route, method, path }) {
  if (!route) return `${method} ${path}`;
  if (OPERATIONS[route]) return OPERATIONS[route];
  const [what, deed = ""] = route.split(".");
  const words = `${deed} ${what}`.replaceAll("_", " ").trim();
  return words[0].toUpperCase() + words.slice(1);
}

// The currencies of ISO 4217 whose minor unit is not a hundredth.
const WHOLE = new Set(("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF").split(" "));
const THOUSANDTHS = new Set(("BHD IQD JOD KWD LYD OMR TND").split(" "));

/** How many decimals amounts of a currency have. */
export const decimals = (currency) => (WHOLE.has(currency) ? 0 : THOUSANDTHS.has(currency) ? 3 : 2);

/** Minor units as a number that people read and type: 10.50. */
export const units = (minor, currency = "USD") =>
  (minor / 10 ** decimals(currency)).toFixed(decimals(currency));

// A format takes milliseconds to make, and a page writes hundreds of amounts.
const formats = new Map();

function formatOf(currency) {
  if (!formats.has(currency)) {
    const digits = decimals(currency);
    formats.set(currency, new Intl.NumberFormat("en-US", { style: "currency", currency,
      minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(currency);
}

/** Minor units with their currency. */
export function money(minor, currency = "USD") {
  if (typeof minor !== "number" || !Number.isFinite(minor)) return "";
  try {
    return formatOf(currency).format(minor / 10 ** decimals(currency));
  } catch {
    return `${units(minor, currency)} ${currency}`;
  }
}

/** What people write before an amount of a currency: $, or JP¥. */
export function sign(currency = "USD") {
  try {
    return formatOf(currency).formatToParts(0).find(({ type }) => type === "currency")?.value ?? currency;
  } catch {
    return currency;
  }
}

/** The amount that somebody typed, in minor units; null if it is none of the currency. */
export function minor(text, currency = "USD") {
  const plain = String(text).trim().replaceAll(",", "");
  const [whole, part = ""] = plain.split(".");
  const digits = decimals(currency);
  if (!/^\d{1,9}(\.\d+)?$/.test(plain) || part.length > digits) return null;
  return Number(whole + part.padEnd(digits, "0"));
}

const KINDS = { preauth: "hold", auth: "hold", incremental_auth: "hold", reverse: "hold" };

/** What something happens to, as the agenda names it: payments with their amount as people write it. */
export function subject({ says, amount, currency }) {
  if (amount === null) return says;
  const [kind] = says.split(" ");
  return `${KINDS[kind] ?? kind} of ${money(amount, currency)}`.replace(/^./, (first) => first.toUpperCase());
}

/** The time of day of an instant, in UTC. */
export const time = (instant) => (instant ? new Date(instant).toISOString().slice(11, 19) : "");

const DAYS = "Sun Mon Tue Wed Thu Fri Sat".split(" ");
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec".split(" ");

/** The day of an instant, in UTC. */
export function day(instant) {
  const at = new Date(instant);
  return `${DAYS[at.getUTCDay()]} ${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
}

/** @type {[string, number][]} */
const UNITS = [["y", 31_536_000], ["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];

/** How far one instant is behind another, in its two largest units. */
export function until(now, then) {
  let left = Math.round((Number(new Date(then)) - Number(new Date(now))) / 1000);
  if (left <= 0) return "now";
  const parts = [];
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(left / seconds);
    if (count && parts.length < 2) parts.push(`${count} ${unit}`);
    else if (parts.length) break;
    left -= count * seconds;
  }
  return parts.join(" ");
}

/** Who decided how an attempt ended, if it was not simply approved. */
export function decider({ decided_by: source, rule, outcome }) {
  if (!source || source === "default") return "";
  return `${source}: ${rule && rule !== source ? rule : outcome}`;
}

/** What of a payment was approved, which may be less than was asked for. */
export const approved = (record) =>
  record.additional_details?.captured_amount || record.additional_details?.authorized_amount || record.total_amount;

/** What a request asks for, or what its payment is about where it names no amount. */
export const amountOf = ({ amount, payment }) => money(amount ?? payment?.total, payment?.currency);

/** The last four digits with the brand. */
export function cardOf(record) {
  if (!record?.card) return "";
  return `${record.card_brand || ""} ${String(record.card).slice(-4)}`.trim();
}

/** A shell command for a request. Single quotes keep the shell from reading anything. */
export function curl({ method, url, header, key, body }) {
  const quoted = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;
  const parts = ["curl", "-s", ...(method === "GET" ? [] : ["-X", method]), quoted(url)];
  // In double quotes, so that the shell fills the key in.
  if (key) parts.push("-H", `"${header}: ${key}"`);
  if (body != null) {
    parts.push("-H", quoted("content-type: application/json"), "-d", quoted(JSON.stringify(body)));
  }
  return parts.join(" ");
}
