// The receipt of a payment, as its cardholder gets it.

import { Go, html, Status } from "./ui.js";
import { approved, cardOf, time, units } from "./words.js";

const plain = (reason) => String(reason ?? "").replaceAll("_", " ");
const GOOD = ["captured", "authorized", "settled"];

/** The receipt alone. */
export function Slip({ record }) {
  const line = (name, amount) => (amount ? html`<div><span>${name}</span><span>${units(amount, record.currency)}</span></div>` : "");
  const good = GOOD.includes(record.status);
  return html`<div class="rt"><div class="rh">${record.merchant_name}</div>
    <div><span>${new Date(record.created_at).toISOString().slice(0, 10)}</span><span>${time(record.created_at)}</span></div>
    <div><span>${cardOf(record) || "NO CARD"}</span></div>${line("SUBTOTAL", record.subtotal)}${line("TIP", record.tip_amount)}
    ${line("SURCHARGE", record.surcharge_amount)}<div class="tt"><span>${good ? "TOTAL" : plain(record.status).toUpperCase()}</span>
    <span>${good ? units(approved(record), record.currency) : ""}</span></div>
    <div class="rf">${plain(record.status_reason).toUpperCase()}</div></div>`;
}

/** The receipt in a list, with the state of its payment. */
export const Receipt = ({ record }) => html`<li><${Slip} record=${record} />
  <div class="row sm"><${Status} status=${record.status} /><span class="sp"></span><${Go} room="payments" id=${record.transaction_id}>Story<//></div></li>`;
