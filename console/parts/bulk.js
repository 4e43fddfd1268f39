// One decision about several records: which ones exactly, the operation's name typed to confirm, progress, and what
// became of each.
import { post } from "../lib/api.js";
import { field, h } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { mark } from "../lib/states.js";
import { tell } from "../lib/store.js";
import { answerFields, CONSEQUENCE } from "./actions.js";
import { dialog } from "./dialog.js";
import { ensureToken } from "./sign_in.js";

const AT_ONCE = 4;

async function each(items, work, done) {
  const waiting = [...items];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let item = waiting.shift(); item; item = waiting.shift()) done(item, await work(item));
  }));
}

function listed(records) {
  return h("ul", { class: "list" }, records.map((record) =>
    h("li", {}, h("span", { class: "mono quiet" }, record.id.slice(0, 8)), h("span", { class: "mono" }, record.key), h("span", { class: "quiet" }, record.tenant || "–"))));
}

async function carryOut(records, verb, body) {
  const bar = h("progress", { max: String(records.length), value: 0 });
  const words = h("p", { role: "status" }, `0 of ${records.length}`);
  const results = h("ul", { class: "list" });
  const shown = dialog({ title: verb === "resolve" ? "Recording the answer" : "Releasing", body: [bar, words, results] });
  let finished = 0;
  let refused = 0;
  await each(records, (record) => post(`/api/keys/${record.id}/${verb}`, { ...body, attempt: record.attempt }).then(() => null, (failure) => failure), (record, failure) => {
    finished++;
    if (failure) refused++;
    bar.value = finished;
    words.textContent = `${finished} of ${records.length}${refused ? `, ${refused} refused` : ""}`;
    const row = h("li", {}, mark(failure ? "refused" : verb === "resolve" ? "completed" : "released"), h("span", { class: "mono" }, record.key), failure && h("span", {}, failure.message));
    results[failure ? "prepend" : "append"](row);
  });
  tell("changed", null);
  return shown;
}

export async function decideMany(records, verb) {
  if (!await ensureToken("Each decision goes into the record's history under your name, so it needs a named token.")) return;
  const names = [...new Set(records.map((record) => record.operation))];
  const expected = names.length === 1 ? names[0] : "several operations";
  const answer = verb === "resolve" ? answerFields() : null;
  const reason = h("input", { required: true, placeholder: "Outage 12, checked against the ledger", autocomplete: "off" });
  const typed = h("input", { required: true, autocomplete: "off", spellcheck: "false" });
  const chosen = await dialog({
    title: verb === "resolve" ? `It happened: ${plural(records.length, "record")}` : `It did not happen: ${plural(records.length, "record")}`,
    action: verb === "resolve" ? "Record this answer for each" : "Release each",
    body: [h("p", {}, `Exactly these ${records.length}:`), listed(records), answer?.rows, field("Reason", reason), h("p", { class: "consequence" }, CONSEQUENCE[verb]),
      field(`Type “${expected}” to confirm`, typed)],
    submit: () => {
      if (typed.value !== expected) throw new Error(`Type “${expected}”, exactly so.`);
      return { reason: reason.value, ...(answer && { answer: answer.read() }) };
    },
  });
  if (chosen) await carryOut(records, verb, chosen);
}
