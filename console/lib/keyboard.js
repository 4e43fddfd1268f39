// The keyboard: single letters, and `g` with a letter for a page. Not while something is typed, nor in a dialog.
import { go } from "./place.js";

export const PAGES_BY_LETTER = { l: "live", k: "keys", u: "unknown", q: "queues", r: "routes", n: "nodes", w: "why" };
const CHORD_MS = 1200;

const isTyping = (element) => element.closest?.("input, textarea, select, [contenteditable]") && element.type !== "checkbox";

// `act(name)` does "search", "help", "escape", "down", "up", "open" or "resolve"; false: nothing happened.
export function start(act) {
  let chord = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return void (isTyping(event.target) ? event.target.blur() : act("escape"));
    if (isTyping(event.target)) return;
    if (event.timeStamp < chord) {
      chord = 0;
      const page = PAGES_BY_LETTER[event.key];
      if (page) { go(page); event.preventDefault(); }
      return;
    }
    if (event.key === "g") return void (chord = event.timeStamp + CHORD_MS);
    const name = { "/": "search", "?": "help", j: "down", k: "up", Enter: "open", r: "resolve" }[event.key];
    if (event.key === "Enter" && event.target.closest("button, a, summary")) return;
    if (name && act(name) !== false) event.preventDefault();
  });
}
