// A box in which a file is edited, with the mistakes under their lines. The editor is loaded when
// it is needed; if that fails, a plain field takes its place.

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "./ui.js";

const STYLE = {
  "&": { fontSize: "12.5px", color: "var(--ink)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: '"JetBrains Mono", ui-monospace, Menlo, Consolas, monospace', lineHeight: "20px", maxHeight: "56vh" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunk)", color: "var(--ink3)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--sel)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-wash) !important" },
  ".mistake": { color: "var(--declined)", backgroundColor: "var(--bad-wash)", padding: "2px 8px", whiteSpace: "normal", fontFamily: "system-ui, sans-serif" },
};

/** A mistake in one sentence, with the word that was probably meant. */
export const told = ({ rule, field, message, nearest }) =>
  `${[rule, field].filter(Boolean).join(", ")}${rule || field ? ": " : ""}${message}${nearest && !message.includes(nearest) ? `; did you mean ${nearest}?` : ""}`;

/** The field that shows mistakes under their lines, and the effect that sets them. */
function mistakes(cm) {
  const put = cm.StateEffect.define();
  class Under extends cm.WidgetType {
    constructor(text) { super(); this.text = text; }
    eq(other) { return other.text === this.text; }
    toDOM() {
      const line = document.createElement("div");
      line.className = "mistake";
      line.textContent = this.text;
      return line;
    }
  }
  const shown = (problems, doc) => cm.Decoration.set(problems.filter(({ line }) => line !== null)
    .map((one) => cm.Decoration.widget({ widget: new Under(told(one)), block: true, side: 1 })
      .range(doc.line(Math.min(Math.max(one.line, 1), doc.lines)).to)), true);
  const field = cm.StateField.define({
    create: () => cm.Decoration.none,
    update: (old, change) => {
      const given = change.effects.findLast((effect) => effect.is(put));
      return given ? shown(given.value, change.state.doc) : old.map(change.changes);
    },
    provide: (one) => cm.EditorView.decorations.from(one),
  });
  return { put, field };
}

function colours({ HighlightStyle, tags, syntaxHighlighting }) {
  return syntaxHighlighting(HighlightStyle.define([
    { tag: tags.comment, color: "var(--ink3)" },
    { tag: [tags.propertyName, tags.atom], color: "var(--accent)" },
    { tag: tags.string, color: "var(--captured)" },
    { tag: tags.number, color: "var(--refunded)" },
    { tag: tags.heading, fontWeight: "bold" },
  ]));
}

/** Builds the editor in a shadow root, where its styles are allowed. */
function build(cm, root, { label, text, onText }) {
  const { put, field } = mistakes(cm);
  const view = new cm.EditorView({
    root,
    parent: root,
    state: cm.EditorState.create({ doc: text, extensions: [
      cm.lineNumbers(), cm.history(), cm.drawSelection(), cm.highlightActiveLine(), field,
      cm.StreamLanguage.define(cm.toml), colours(cm), cm.EditorView.lineWrapping, cm.EditorView.theme(STYLE),
      cm.keymap.of([...cm.defaultKeymap, ...cm.historyKeymap]),
      cm.EditorView.contentAttributes.of({ "aria-label": label }),
      cm.EditorView.updateListener.of((change) => { if (change.docChanged) onText(change.state.doc.toString()); }),
    ] }),
  });
  return {
    mark: (problems) => view.dispatch({ effects: put.of(problems) }),
    write: (wanted) => wanted !== view.state.doc.toString()
      && view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: wanted } }),
    end: () => view.destroy(),
  };
}

const Plain = ({ label, text, problems, onText }) => html`<textarea class="plainbox" aria-label=${label} spellcheck="false" value=${text}
  onInput=${(event) => onText(event.target.value)}></textarea>
  <ul class="pad">${problems.map((one) => html`<li class="x">${one.line === null ? "" : `line ${one.line}: `}${told(one)}</li>`)}</ul>`;

/** The box. `problems` have a line, a message and perhaps the nearest word. A new `version` says
 * that the text was changed elsewhere. */
export function FileBox({ label, text, version, problems, onText }) {
  const place = useRef(null);
  const editor = useRef(null);
  const latest = useRef(onText);
  const [failed, setFailed] = useState(false);
  const [there, setThere] = useState(false);
  latest.current = onText;
  useEffect(() => {
    let over = false;
    const loaded = import("./editor.mjs");
    loaded.then((cm) => {
      if (over) return;
      const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
      editor.current = build(cm, root, { label, text, onText: (one) => latest.current(one) });
      setThere(true);
    }, () => { if (!over) setFailed(true); });
    return () => { over = true; editor.current?.end(); editor.current = null; };
  }, []);
  useEffect(() => { editor.current?.write(text); }, [version, there]);
  useEffect(() => { editor.current?.mark(problems); }, [problems, there]);
  if (failed) return html`<${Plain} label=${label} text=${text} problems=${problems} onText=${onText} />`;
  return html`<div class="filebox" ref=${place}></div>${there ? "" : html`<p class="pad q">Loading the editor</p>`}`;
}
