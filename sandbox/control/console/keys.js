// Single keys. They can be switched off, and never take what the user types into a field.

import { signal } from "@preact/signals";

const OFF = "sandbox-keys-off";

/** Whether single keys do something. */
export const keysOn = signal(localStorage.getItem(OFF) === null);

/** Switches single keys on or off, and remembers it in this browser. */
export function switchKeys(on) {
  keysOn.value = on;
  if (on) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "yes");
}

/** Listens to the keys that mean the same in every room. */
export function listen({ rooms, find, time, hold, leave }) {
  let going = false;
  addEventListener("keydown", (event) => {
    const at = /** @type {Element} */ (event.target);
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      find();
      return;
    }
    const typing = at.closest?.("input, textarea, select, dialog, .filebox");
    if (!keysOn.value || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (going) {
      going = false;
      rooms(event.key);
    } else if (event.key === "g") going = true;
    else if (event.key === "t") time();
    else if (event.key === "?") find();
    else if (event.key === "Escape") leave();
    else if ((event.key === "j" || event.key === "k") && !event.defaultPrevented) {
      /** @type {HTMLElement} */ (document.querySelector("main a.row, main a.ln"))?.focus();
    }
    else if (event.key === "/") {
      const field = /** @type {HTMLElement} */ (document.querySelector("main input[type=search]"));
      if (field) {
        event.preventDefault();
        field.focus();
      }
    } else if (event.key === " " && !at.closest?.("a, button, summary")) {
      event.preventDefault();
      hold();
    }
  });
}
