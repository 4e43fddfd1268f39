// Why did I get this? An error, or a record's digits, and the story behind it.
import { get } from "../lib/api.js";
import { button, field, fill, h } from "../lib/dom.js";
import { change, here } from "../lib/place.js";
import { parseEvidence, tell } from "../lib/story.js";
import { mark } from "../lib/states.js";
import { empty, trouble } from "../parts/empty.js";
import { timeline } from "../parts/timeline.js";

export function mount(root, parameters) {
  const text = h("textarea", { rows: "8", spellcheck: "false", placeholder: '{"code": "key-reused", "status": 422, "record": "18d49d2ce9934ad1", …}\nor  Semel-Record: 18d49d2ce9934ad1\nor  18d49d2ce9934ad1' });
  const result = h("div", { class: "stack", role: "status" });
  const form = h("form", { class: "ask" }, field("The error, its header Semel-Record, or a record's first 8 digits", text),
    h("div", { class: "row" }, h("button", { class: "button main", type: "submit" }, "Tell me")));
  fill(root, h("div", { class: "head" }, h("h1", {}, "Why did I get this?")), h("div", { class: "why" }, form, result));

  async function answer() {
    const problem = parseEvidence(text.value);
    if (!problem) return void fill(result, empty("Nothing to go by", "Paste the whole problem document that the client got, or at least 8 hexadecimal digits of the record."));
    let record = null;
    let failure = null;
    if (problem.record) record = await get(`/api/keys/${problem.record}`).catch((one) => { failure = one; return null; });
    const { paragraphs, next } = tell(problem, record);
    fill(result, failure && failure.code !== "no-such-key" && trouble(failure),
      failure?.code === "no-such-key" && h("p", { class: "quiet" }, `The record ${problem.record} is gone: its time has passed, or it belongs to another gateway.`),
      paragraphs.length > 0 && h("div", { class: "story" }, record && h("p", {}, mark(record.state, undefined, "large")), paragraphs.map((words) => h("p", {}, words)),
        next && h("p", { class: "next" }, next)),
      record && h("div", { class: "row" }, button("Open the record", () => change({ open: record.id }))),
      record && h("section", {}, timeline(record)));
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const about = text.value.trim();
    if (here().parameters.about === about) answer();
    else change({ about });
  });
  function begin(about) {
    if (about) text.value = about;
    if (about) answer();
  }
  begin(parameters.about);
  return { update(next) { begin(next.about); } };
}
