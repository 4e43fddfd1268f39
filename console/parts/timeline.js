// The life of a record, from above to below.
import { h } from "../lib/dom.js";
import { shape } from "../lib/icons.js";
import { time } from "../lib/format.js";
import { meaning } from "../lib/states.js";

// Older gateways have a history of states only.
const entriesOf = (record) => record.timeline ??
  (record.history ?? []).map((one) => ({ at: one.at, what: meaning(one.state).word, state: one.state, attempt: one.attempt, why: one.note }));

export function timeline(record) {
  const entries = entriesOf(record);
  if (!entries.length) return h("p", { class: "quiet" }, "Nothing was noted.");
  return h("ol", { class: "timeline" }, entries.map((entry) => {
    const { tone, form } = meaning(entry.state);
    const more = [entry.who && `by ${entry.who}`, entry.why, entry.trace && `trace ${entry.trace}`].filter(Boolean).join(" · ");
    return h("li", {}, shape(form, tone),
      h("span", { class: "what" }, entry.what, entry.attempt > 1 ? h("span", { class: "quiet" }, ` · attempt ${entry.attempt}`) : null),
      time(entry.at), more && h("span", { class: "why" }, more));
  }));
}
