// A short word at the bottom that goes away by itself.
import { h } from "../lib/dom.js";

const SHOWN_MS = 3200;

export function toast(text) {
  const element = h("div", { class: "toast" }, text);
  const all = document.getElementById("toasts");
  all.append(element);
  while (all.children.length > 3) all.firstChild.remove();
  setTimeout(() => element.remove(), SHOWN_MS);
}
