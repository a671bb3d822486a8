// What the console takes of CodeMirror. `make vendor` bundles it into one file.

export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
export { toml } from "@codemirror/legacy-modes/mode/toml";
export { EditorState, StateEffect, StateField } from "@codemirror/state";
export { Decoration, EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, WidgetType } from "@codemirror/view";
export { tags } from "@lezer/highlight";
