// What happened, as a file to share.

import { useState } from "preact/hooks";
import { isReport } from "./capture.js";
import { act } from "./state.js";
import { Act, copy, html, Icon } from "./ui.js";

const FORMATS = [["curl", "curl"], ["har", "HAR"], ["markdown", "Markdown"], ["pytest", "a test for pytest"], ["scenario", "a scenario"]];
const MOST = 500;

/** Has the browser save a file. */
export function download({ name, media_type: kind, content }) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The ids of the requests about these payments, oldest first. */
async function requestsOf(subjects) {
  const found = new Set();
  for (const subject of subjects) {
    const query = new URLSearchParams({ subject, shape: "row", limit: "200" });
    for (const { id } of (await act("GET", ["requests"], undefined, query)).requests) found.add(id);
  }
  return [...found].slice(0, MOST);
}

/** The file with the requests about these payments. */
export async function written(as, subjects) {
  if (subjects.length === 1) return act("POST", ["export"], { as, subject: subjects[0] });
  return act("POST", ["export"], { as, requests: await requestsOf(subjects) });
}

const counted = ({ name, requests }) => `Saved ${name} with ${requests} ${requests === 1 ? "request" : "requests"}`;

/** Buttons that save the requests about payments, in each of the formats. */
export function Save({ subjects, children }) {
  const [as, setAs] = useState(FORMATS[0][0]);
  if (isReport) return children;
  const run = async () => {
    const file = await written(as, subjects);
    download(file);
    return file;
  };
  return html`<label class="inl">Save as <select aria-label="Save as" value=${as} onChange=${(event) => setAs(event.target.value)}>
    ${FORMATS.map(([name, text]) => html`<option value=${name} selected=${name === as}>${text}</option>`)}</select></label>
    <${Act} class="btn s" run=${run} done=${counted}>Save<//>${children}`;
}

/** Copies the commands that were sent about a payment. */
export const CopyCurl = ({ id }) => html`<${Act} class="btn g s" aria-label="Copy as curl" title="Copy as curl"
  run=${async () => copy((await written("curl", [id])).content, "the curl commands")}><${Icon} name="shell" size=${13} /><//>`;
