// A request of the journal as Markdown, to paste where people read it.

/** What was asked and answered, with every decision and its clause. */
export function asMarkdown(entry) {
  const codeBlock = "```";
  const lines = [`**${entry.method} ${entry.path}** answered **${entry.status}** (${entry.id})`, "",
    ...(entry.decisions ?? []).map((one) => `- ${one.step}: ${one.verdict}, ${one.reason} (${one.clause ?? ""})`),
    "", `${codeBlock}json`, JSON.stringify({ request: entry.request, response: entry.response }, null, 2), codeBlock];
  return lines.join("\n");
}
