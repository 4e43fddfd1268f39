// Light, dark, or as the system has it. Remembered by the browser.
import { tell } from "./store.js";

const ORDER = ["system", "light", "dark"];
export const current = () => document.documentElement.dataset.theme ?? "system";

export function next() {
  const chosen = ORDER[(ORDER.indexOf(current()) + 1) % ORDER.length];
  if (chosen === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("semel.theme");
  } else {
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem("semel.theme", chosen);
  }
  tell("theme");
  return chosen;
}

// The colours as they are now, for canvases.
export function colours() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tell("theme"));
