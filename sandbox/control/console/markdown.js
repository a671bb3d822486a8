// A request of the journal as Markdown, to paste where people read it.

/** What was asked and answered, with every decision and its clause. */
export function asMarkdown(entry) {
  const fence = "```";
  const lines = [`**${entry.method} ${entry.path}** answered **${entry.status}** (${entry.id})`, "",
    ...(entry.decisions ?? []).map((one) => `- ${one.step}: ${one.verdict}, ${one.reason} (${one.clause ?? ""})`),
    "", `${fence}json`, JSON.stringify({ request: entry.request, response: entry.response }, null, 2), fence];
  return lines.join("\n");
}
