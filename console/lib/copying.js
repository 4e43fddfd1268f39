// Copies what is clicked: anything with data-copy.
import { toast } from "../parts/toast.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // without TLS, off this machine
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  toast(`Copied ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`);
}

export function start() {
  document.addEventListener("click", (event) => {
    const element = event.target.closest("[data-copy]");
    if (!element || getSelection().toString()) return;
    event.stopPropagation();
    copy(element.dataset.copy);
  }, true);
}
