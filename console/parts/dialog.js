// A dialog with a form. It resolves to what `submit` returns, or to null if it is closed.
import { append, button, fill, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { trouble } from "./empty.js";

// `submit(close)` is called when the form is sent; an exception is shown in the dialog, which stays open.
export function dialog({ title, body, action, submit, wide = false }) {
  return new Promise((done) => {
    const failed = h("div");
    const main = action && h("button", { class: "button main", type: "submit" }, action);
    const form = h("form", {}, h("div", { class: "body" }, body, failed),
      h("footer", {}, button(action ? "Cancel" : "Close", () => box.close()), main));
    const box = h("dialog", { class: wide ? "wide" : "", "aria-labelledby": "dialog-title" },
      h("header", {}, h("h2", { id: "dialog-title" }, title),
        button(icon("close"), () => box.close(), { kind: "icon", "aria-label": "Close" })), form);
    let result = null;
    const finish = (value) => { result = value; box.close(); };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!submit) return finish(true);
      main.disabled = true;
      fill(failed);
      try {
        const value = await submit();
        if (value !== undefined) finish(value);
      } catch (failure) {
        append(failed, [trouble(failure)]);
        form.dispatchEvent(new CustomEvent("refused", { detail: failure }));
      } finally {
        main.disabled = false;
      }
    });
    box.addEventListener("close", () => { box.remove(); done(result); });
    document.body.append(box);
    box.showModal();
    form.querySelector("[autofocus], input, textarea, .main")?.focus();
  });
}
