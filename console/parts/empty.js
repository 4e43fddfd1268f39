// What a page says when there is nothing to show, or when it cannot be shown.
import { h } from "../lib/dom.js";
import { shape } from "../lib/icons.js";
import { copy } from "../lib/copying.js";

export function command(line) {
  return h("div", { class: "command" }, h("pre", {}, line),
    h("button", { type: "button", onclick: () => copy(line), "aria-label": "Copy the command" }, "Copy"));
}

// `line`: a command that makes something appear, or the promise of one.
export function empty(title, text, line) {
  const element = h("div", { class: "empty" }, h("strong", {}, title), text && h("p", {}, text));
  Promise.resolve(line).then((found) => { if (found) element.append(command(found)); });
  return element;
}

export function trouble(failure) {
  return h("div", { class: "trouble", role: "alert" }, shape("cross", "mismatch"), h("span", {}, failure.message));
}
