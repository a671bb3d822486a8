// The states of a payment, placed by hand: taken, now, possible, and the rest faint.

import { Mark, html } from "./ui.js";

const AT = { pending: [10, 76], authorized: [150, 76], captured: [290, 76], settled: [430, 76], surcharge_pending: [130, 10],
  refunded: [430, 10], declined: [10, 142], error: [148, 142], canceled: [286, 142], reversed: [430, 142] };
const EDGES = [["pending", "authorized"], ["pending", "captured"], ["pending", "declined"], ["pending", "error"], ["pending", "canceled"],
  ["pending", "surcharge_pending"], ["surcharge_pending", "captured"], ["surcharge_pending", "canceled"], ["authorized", "captured"],
  ["authorized", "canceled"], ["authorized", "reversed"], ["captured", "settled"], ["captured", "refunded"], ["captured", "reversed"], ["settled", "refunded"]];
const W = 118;

const middle = (name) => [AT[name][0] + W / 2, AT[name][1] + 14];

function path(from, to) {
  const [[x1, y1], [x2, y2]] = [middle(from), middle(to)];
  if (y1 === y2 && Math.abs(x2 - x1) < 150) return `M${x1 + W / 2} ${y1}H${x2 - W / 2}`;
  if (y1 === y2) return `M${x1} ${y1 + 14}C${x1} ${y1 + 40} ${x2} ${y2 + 40} ${x2} ${y2 + 14}`;
  const down = y2 > y1 ? 14 : -14;
  return `M${x1} ${y1 + down}C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2 - down}`;
}

/** The diagram, with a sentence for those who do not see it. */
export function Diagram({ payment, moves }) {
  const was = [...new Set((payment.history ?? []).map(({ status }) => status))];
  const now = payment.status;
  const next = new Set((moves?.moves ?? []).filter(({ possible }) => possible).map(({ next_status: status }) => status).filter(Boolean));
  next.delete(now);
  for (const one of moves?.by_itself ?? []) next.add(one.next_status);
  const kind = (name) => name === now ? "now" : was.includes(name) ? "was" : next.has(name) ? "next" : "";
  const taken = new Set(was.slice(1).map((to, i) => `${was[i]} ${to}`));
  const edge = (from, to) => taken.has(`${from} ${to}`) ? "did"
    : from === now && next.has(to) ? "can" : "off";
  const can = [...next].filter((name) => name !== now).join(", ") || "nothing else";
  return html`<div class="scroll" tabindex="0"><svg class="sm0" viewBox="0 0 558 180" role="img" aria-label=${`The payment is ${now}. It was ${was.join(", ")}. It can become ${can}.`}>
    ${EDGES.map(([from, to]) => html`<path class=${`e ${edge(from, to)}`} d=${path(from, to)} />`)}
    ${Object.entries(AT).map(([name, [x, y]]) => html`<g class=${`nd ${kind(name)} st-${name}`} transform=${`translate(${x} ${y})`}>
      <rect width=${W} height="28" rx="6" /><circle cx="15" cy="14" r="8" /><g transform="translate(9 8)"><${Mark} status=${name} /></g>
      <text x="26" y="18">${name === "surcharge_pending" ? "surcharge" : name}</text></g>`)}</svg></div>`;
}
