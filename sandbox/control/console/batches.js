// Batches: what each terminal submitted, what the processor answered, and where every record is now.

import { useEffect, useState } from "preact/hooks";
import { ask, inWorld, refusal } from "./api.js";
import { isReport } from "./capture.js";
import { exact } from "./clockface.js";
import { Save } from "./exporting.js";
import { refine, route } from "./route.js";
import { act, keyOf, revision, send, world } from "./state.js";
import { Act, Choice, Copy, Empty, FileButton, Go, Heading, html, Icon, Mark, Panel, Status, Trouble, walk } from "./ui.js";
import { day, money, time } from "./words.js";

const CHIPS = [["", "All"], ["open", "Open"], ["submitted", "Submitted"], ["accepted,partially_accepted,rejected", "Answered"]];
const PAGE = 100;
const PAGE_MAX = 500;
/** Why a processor sends a batch back, as the control API names it. */
export const REASONS = { hash_mismatch: "the amounts do not add up", bad_record_count: "the number of records is wrong", net_deposit: "the net deposit is wrong",
  duplicate_batch: "it was sent before", bad_merchant: "the merchant number is wrong", bad_terminal: "the terminal number is wrong",
  bad_mcc: "the merchant category is unknown", bad_card_range: "an account number is out of range", comms: "the line failed" };

const net = (one) => money(one.captured_amount - one.refunded_amount, one.currency);

const Row = ({ one, on }) => html`<li><${Go} room="batches" id=${one.id} query=${route.value.query} class=${`row pay ${on ? "on" : ""}`}>
  <${Mark} status=${one.status} /><span class="el">${one.merchant ?? ""}</span><span class="m r">${net(one)}</span>
  <span></span><span class="qq el sm">${one.status.replaceAll("_", " ")}${one.refused ? `, ${one.refused} refused` : ""}</span>
  <span class="qq r sm el">${one.terminal ?? ""} · ${one.transaction_count}</span><//></li>`;

function Close({ batch, onDone }) {
  const run = async () => {
    /** @type {any} */
    const answer = await send({ method: "POST", path: `/v1/batches/${batch.id}/close`, key: keyOf(batch.account_id), body: {} });
    onDone(refusal(answer));
  };
  return html`<${Act} class="btn p" run=${run}>Close it<//>`;
}

/** Puts a refused record into the open batch of its terminal, and opens one if there is none. */
async function putBack(id, batch, onDone) {
  const key = keyOf(batch.account_id);
  const open = new URLSearchParams({ status: "open", terminal: batch.terminal_id, limit: "1" });
  let [into] = (await act("GET", ["batches"], undefined, open)).batches;
  if (!into) {
    /** @type {any} */
    const opened = await send({ method: "POST", path: "/v1/batches/open", key, body: { terminal_id: batch.terminal_id } });
    if (refusal(opened)) return onDone(refusal(opened));
    into = opened.body;
  }
  return onDone(refusal(await send({ method: "PUT", path: `/v1/batches/${into.id}/edit`, key, body: { added_transactions: [id] } })));
}

const Settlement = ({ open }) => html`<p class="note row wrap"><span class="grow">The switch <code>batch.settlement</code> is auto: the processor answers on
  its own, ${open ? "at once or when a scenario says so." : "and you may answer before it does."}</span><${Act} run=${() => act("PUT", ["switches"], { "batch.settlement": "manual" })}
  done="Batches that are closed from now on wait for you">Have batches wait for me<//></p>`;

function Answer({ batch, chosen, auto }) {
  const [reason, setReason] = useState("hash_mismatch");
  const give = (body) => act("POST", ["batches", batch.id, "answer"], body);
  return html`<${Panel} title="Answer for the processor" about=${auto ? "before it does" : "it waits for you"}>
    <div class="pf wrap"><${Act} class="btn p" run=${() => give({ answer: "accepted" })} done="Accepted">Accept<//>
      <${Act} disabled=${!chosen.length} run=${() => give({ answer: "partially_accepted", rejected: chosen })}
        done="Accepted in part">Accept without the ${chosen.length || ""} ticked<//>
      <${Act} class="btn dng" run=${() => give({ answer: "rejected", reason })} done="Rejected">Reject<//>
      <label class="inl">because<select value=${reason} onChange=${(event) => setReason(event.target.value)}>
        ${Object.entries(REASONS).map(([name, text]) => html`<option value=${name} selected=${name === reason}>${text}</option>`)}</select></label></div><//>`;
}

const SUMS = [["captured_amount", "Captured"], ["refunded_amount", "Refunded"], ["transaction_count", "Records"]];

function Sums({ batch, sums }) {
  const shown = (name, value) => (name === "transaction_count" ? value : money(value, batch.currency));
  return html`<${Panel} title="Sums" about="of the records, against what was submitted"><div class="scroll" tabindex="0"><table><thead><tr><th><span class="vh">sum</span></th><th class="r">submitted</th>
    <th class="r">records</th><th><span class="vh">compared</span></th></tr></thead><tbody>${SUMS.map(([name, title]) => html`<tr key=${name}><td>${title}</td><td class="r">${shown(name, batch[name])}</td>
    <td class="r">${shown(name, sums[name])}</td><td>${batch[name] === sums[name] ? html`<span class="q">equal</span>` : html`<b class="x">differs</b>`}</td></tr>`)}
    <tr><td>Refused</td><td></td><td class="r">${money(sums.refused_amount, batch.currency)}</td><td></td></tr></tbody></table></div><//>`;
}

function Where({ record, batch, onDone }) {
  if (record.now_in === null && record.status !== "captured") return "in no batch";
  if (record.now_in === null) return html`in no batch <${Act} class="btn g s" run=${() => putBack(record.transaction_id, batch, onDone)}>Put into the open batch<//>`;
  return record.now_in === batch.id ? "in this batch" : html`<${Go} room="batches" id=${record.now_in}>in another batch<//>`;
}

/** As many records are shown at first, and those that were refused. */
const FIRST_RECORDS = 100;

function Records({ found, chosen, onChoose, onDone }) {
  const { batch, records } = found;
  const [all, setAll] = useState(false);
  const shown = all ? records : records.filter(({ result }, number) => number < FIRST_RECORDS || result === "refused");
  const ticks = batch.status === "submitted" && !isReport;
  const toggle = (id) => onChoose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return html`<${Panel} title="Records" more=${html`<b>${records.length}</b>`}><div class="scroll" tabindex="0"><table><thead><tr>${ticks ? html`<th><span class="vh">Refuse</span></th>` : ""}
    <th>at</th><th>record</th><th class="r">amount</th><th>card</th><th>result</th><th>now</th></tr></thead><tbody>${shown.map((one) => html`<tr
      key=${`${one.kind} ${one.transaction_id} ${one.at}`} class=${one.result === "refused" ? "bad" : ""}>
    ${ticks ? html`<td>${one.kind === "capture" ? html`<input type="checkbox" checked=${chosen.includes(one.transaction_id)}
      aria-label=${`Refuse ${money(one.amount, batch.currency)} of ${one.last4}`} onChange=${() => toggle(one.transaction_id)} />` : ""}</td>` : ""}
    <td>${exact(one.at)}</td><td><${Go} room="payments" id=${one.transaction_id}>${one.kind} of ${one.transaction_id.slice(0, 8)}<//></td>
    <td class="r">${money(one.amount, batch.currency)}</td><td>${one.brand} ${one.last4}</td>
    <td>${one.result === "refused" ? html`<b class="x">refused</b>` : one.result ?? html`<span class="q">no answer yet</span>`}</td>
    <td><${Where} record=${one} batch=${batch} onDone=${onDone} /></td></tr>`)}</tbody></table></div>
    ${shown.length < records.length ? html`<p class="pad"><button class="btn" onClick=${() => setAll(true)}>Show all ${records.length.toLocaleString("en")}</button></p>` : ""}
    ${records.length ? "" : html`<${Empty}><p class="q">It has no records yet.</p><//>`}<//>`;
}

const PARTS = { missing_here: "missing here", missing_there: "missing there", other_amount: "different amount", other_status: "different status" };

/** Asks for a tester's file, and has the server compare it with the world. */
function Reconcile({ onDone }) {
  const [error, setError] = useState(null);
  const read = async (file) => {
    setError(null);
    try {
      onDone({ name: file.name, ...await act("POST", ["reconciliation"], { text: await file.text() }) });
    } catch (caught) {
      setError(caught);
    }
  };
  return html`<${FileButton} accept=".csv,.json,text/csv,application/json" onFile=${read}>Reconcile a file<//>
    <${Trouble} error=${error} />`;
}

/** What a file and the world do not agree on. */
function Reconciled({ found, onClose }) {
  const { name, rows, matched, differences, ignored_columns: ignored } = found;
  return html`<div class="hd"><h2>${name}</h2><button class="btn" onClick=${onClose}>Close</button></div>
  <p>${matched} of ${rows} rows match the sandbox.${ignored.length ? ` Not compared: ${ignored.join(", ")}.` : ""}</p>
  <${Panel} title="Differences" more=${html`<b>${differences.length}</b>`}>${differences.length ? html`<div class="scroll" tabindex="0"><table>
    <thead><tr><th>line</th><th>difference</th><th>transaction</th><th>event</th><th class="r">in the file</th><th class="r">here</th></tr></thead>
    <tbody>${differences.map((one, number) => html`<tr key=${number}><td>${one.line ?? ""}</td><td>${PARTS[one.kind]}</td>
      <td>${one.transaction_id && one.kind !== "missing_here" ? html`<${Go} room="payments" id=${one.transaction_id}>${one.transaction_id.slice(0, 8)}<//>` : one.transaction_id ?? ""}</td>
      <td class="el">${one.event_id ?? ""}</td><td class="r">${one.there ?? "–"}</td><td class="r">${one.here ?? "–"}</td></tr>`)}</tbody></table></div>`
    : html`<${Empty}><p class="q">The file and the sandbox agree.</p><//>`}<//>`;
}

const Files = ({ id }) => {
  const path = `worlds/${encodeURIComponent(route.value.world)}/batches/${encodeURIComponent(id)}`;
  return isReport ? "" : html`<span class="row wrap"><a class="btn" href=${`${path}?format=csv`} download=${`batch-${id}.csv`}>Settlement as CSV</a>
    <a class="btn" href=${path} download=${`batch-${id}.json`}>JSON</a></span>`;
};

function Detail({ id }) {
  const [found, setFound] = useState(null);
  const [auto, setAuto] = useState(false);
  const [chosen, setChosen] = useState([]);
  const [error, setError] = useState(null);
  const [refused, setRefused] = useState(null);
  useEffect(() => {
    let over = false;
    Promise.all([ask("GET", inWorld(route.value.world, "batches", id)), ask("GET", inWorld(route.value.world, "switches"))]).then(([answer, switches]) => {
      if (over) return;
      setFound(answer);
      setAuto(switches["batch.settlement"] === "auto");
      setError(null);
    }, (caught) => !over && setError(caught));
    return () => { over = true; };
  }, [id, revision.value]);
  if (error) return html`<${Trouble} error=${error} />`;
  if (found?.batch.id !== id) return html`<p class="q">Reading ${id}</p>`;
  const { batch } = found;
  return html`<div class="hd"><h2 class="am">${net(batch)} <small>${batch.currency}</small></h2>
    <div class="col0"><span><${Status} status=${batch.status} /> · ${batch.merchant} · ${batch.terminal} · ${batch.processor}${batch.number ? `, number ${batch.number}` : ""}</span>
    <span class="row wrap q sm"><code>${id}</code><${Copy} text=${id} what="the id" />
      <span>opened ${day(batch.opened_at)} ${time(batch.opened_at)}${batch.closed_at ? `, closed ${day(batch.closed_at)} ${time(batch.closed_at)}` : ""}</span></span></div></div>
  <div class="row wrap"><p>${found.why[0].toUpperCase() + found.why.slice(1)}.${found.is_due_at ? ` Due ${day(found.is_due_at)} ${time(found.is_due_at)}.` : ""}</p>
    ${batch.status === "open" ? html`<${Close} batch=${batch} onDone=${setRefused} />` : ""}<${Files} id=${id} /><${Save} subjects=${[id]} /></div><${Trouble} error=${refused} />
  ${auto && !isReport && ["open", "submitted"].includes(batch.status) ? html`<${Settlement} open=${batch.status === "open"} />` : ""}
  ${batch.status === "submitted" && !isReport ? html`<${Answer} batch=${batch} chosen=${chosen} auto=${auto} />` : ""}
  <${Records} found=${found} chosen=${chosen} onChoose=${setChosen} onDone=${setRefused} /><div class="cols"><${Sums} batch=${batch} sums=${found.sums} />
    <${Panel} title="Payments"><p class="pad"><${Go} room="payments" query=${{ q: `batch:${id}` }}>Payments in this batch<//></p><//></div>`;
}

/** The room. */
export function Batches() {
  const { id, query } = route.value;
  const { status = "", terminal = "" } = query;
  const [page, setPage] = useState({ batches: [], total: null, next: null });
  const [error, setError] = useState(null);
  const [file, setFile] = useState(null);
  const asked = (more = {}) => new URLSearchParams({ limit: String(PAGE), ...(status ? { status } : {}), ...(terminal ? { terminal } : {}), ...more });
  useEffect(() => {
    let over = false;
    act("GET", ["batches"], undefined, asked({ limit: String(Math.min(PAGE_MAX, Math.max(PAGE, page.batches.length))) })).then((answer) => !over && (setPage(answer), setError(null)), (caught) => !over && setError(caught));
    return () => { over = true; };
  }, [status, terminal, revision.value]);
  const more = async () => {
    const answer = await act("GET", ["batches"], undefined, asked({ before: String(page.next) }));
    setPage({ ...answer, batches: [...page.batches, ...answer.batches] });
  };
  return html`<section class="list"><div class="lh"><div class="row"><${Heading} text="Batches" count=${page.total} /></div>
    <label class="inl">Terminal<select value=${terminal} onChange=${(event) => refine({ terminal: event.target.value })}><option value="">all</option>
      ${Object.keys(world.value?.terminals ?? {}).map((name) => html`<option value=${name} selected=${name === terminal}>${name.replaceAll("_", " ")}</option>`)}</select></label>
    <${Choice} wide label="Show" options=${CHIPS} value=${status} onChoose=${(one) => refine({ status: one })} />${isReport ? "" : html`<${Reconcile} onDone=${setFile} />`}<${Trouble} error=${error} /></div>
    <ul onKeyDown=${walk} aria-label="Batches">${page.batches.map((one) => html`<${Row} key=${one.id} one=${one} on=${one.id === id} />`)}
      ${page.next === null ? "" : html`<li class="pad"><${Act} run=${more}>Show more<//></li>`}</ul>
    ${page.total !== 0 || error ? "" : html`<${Empty}><p class="q">${status || terminal ? "No batch matches this filter." : "No batch yet: a captured payment opens one."}</p>
      ${status || terminal ? html`<button class="btn" onClick=${() => refine({ status: "", terminal: "" })}>Show all</button>`
      : html`<${Go} room="terminal" class="btn"><${Icon} name="terminal" size=${13} />Take a payment<//>`}<//>`}</section>
  <section class="det" aria-label="Batch">${file ? html`<${Reconciled} found=${file} onClose=${() => setFile(null)} />` : id ? html`<${Detail} key=${id} id=${id} />`
    : html`<${Empty}><p class="q">Choose a batch to see its records, close it, or answer for the processor.</p><//>`}</section>`;
}
