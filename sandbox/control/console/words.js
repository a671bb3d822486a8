// How money, times and payments are written.

/** What a request wants, in the words of its operation. */
export const purpose = ({ summary, method, path }) => summary ?? `${method} ${path}`;

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

/** The amount that the user typed, in minor units; null if it is not an amount of the currency. */
export function minor(text, currency = "USD") {
  const typed = String(text).trim();
  const digits = decimals(currency);
  // A comma stands before three digits of thousands, or else before the decimals: 1,250.00 or 12,50.
  const isGrouped = /^\d{1,3}(,\d{3})+(\.\d+)?$/.test(typed);
  const plain = isGrouped ? typed.replaceAll(",", "") : typed.replace(/^(\d+),(\d{1,2})$/, "$1.$2");
  const [whole, part = ""] = plain.split(".");
  if (!/^\d{1,9}(\.\d+)?$/.test(plain) || part.length > digits) return null;
  return Number(whole + part.padEnd(digits, "0"));
}

const KINDS = { preauth: "hold", auth: "hold", incremental_auth: "hold", reverse: "hold" };

/** What something happens to, as the agenda names it; payments have their formatted amount. */
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

/** How far the second instant is ahead of the first, in the two largest units. */
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

/** How long a request took: 0.8 ms, or 12.5 s. */
export const took = (ms) => (ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** The day of the month of an instant, in UTC: 28 Feb. */
export const date = (instant) => day(instant).split(" ").slice(1, 3).join(" ");

const YEAR_MS = 366 * 86_400_000;

/** Whether something falls due within a year. Later events are of no use to a user who looks for what comes next. */
export const isNear = (now, { due }) => Date.parse(due) - Number(now) <= YEAR_MS;

/** How many things of the agenda fall due within a year; `total` may be more than is in the list. */
export function countNear(now, { agenda: list, total }) {
  const near = list.filter((one) => isNear(now, one)).length;
  return near < list.length ? near : total;
}

/** Who decided how an attempt ended, if it was not simply approved. */
export function decider({ decided_by: source, rule, outcome }) {
  if (!source || source === "default") return "";
  return `${source}: ${rule && rule !== source ? rule : outcome}`;
}

const SHOWS = { captured: "Approved", authorized: "Approved", declined: "Declined", error: "Something went wrong",
  canceled: "Canceled", pending: "No answer yet", surcharge_pending: "A fee is added", refused: "Not accepted",
  settled: "Settled", refunded: "Refunded", reversed: "Reversed" };

/** What a terminal shows for a payment with this status. */
export const shows = ({ status }) => SHOWS[status] ?? status;

/** The approved amount of a payment, which may be less than was asked for; the total as long as its fee waits for an answer. */
export const approved = (record) => record.status === "surcharge_pending" ? record.total_amount
  : record.additional_details?.captured_amount || record.additional_details?.authorized_amount || record.total_amount;

/** What a request asks for, or the total of its payment if it names no amount. */
export const amountOf = ({ amount, payment }) => money(amount ?? payment?.total, payment?.currency);

/** The last four digits with the brand. */
export function cardOf(record) {
  if (!record?.card) return "";
  return `${record.card_brand || ""} ${String(record.card).slice(-4)}`.trim();
}

/** A shell command for a request. Single quotes keep the shell from reading anything. */
export function curl({ method, url, header, key, headers = {}, body }) {
  const quoted = (text) => `'${String(text).replaceAll("'", `'\\''`)}'`;
  // With `-X HEAD` curl would wait for the body of the answer.
  const how = { GET: [], HEAD: ["-I"] }[method] ?? ["-X", method];
  const parts = ["curl", "-s", ...how, quoted(url)];
  // In double quotes, so that the shell fills the key in.
  if (key) parts.push("-H", `"${header}: ${key}"`);
  for (const [name, value] of Object.entries(headers)) parts.push("-H", quoted(`${name}: ${value}`));
  if (body != null) {
    if (!headers["content-type"]) parts.push("-H", quoted("content-type: application/json"));
    // `-d` would read a file if the body begins with @.
    parts.push("--data-raw", quoted(typeof body === "string" ? body : JSON.stringify(body)));
  }
  return parts.join(" ");
}
