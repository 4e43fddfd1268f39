// What an operator can do with a record. Each dialog says what follows from it before it is done.
import { post } from "../lib/api.js";
import { button, field, h } from "../lib/dom.js";
import { tell } from "../lib/store.js";
import { dialog } from "./dialog.js";
import { ensureToken } from "./sign_in.js";
import { toast } from "./toast.js";

const NEEDED = "A decision goes into the record's history under your name, so it needs a named token.";

export const CONSEQUENCE = {
  resolve: "Every retry of this key gets this answer, byte for byte. Nothing is executed. The decision is final.",
  release: "The next retry executes the request again. If the first one did take effect after all, it happens twice. There is no way back.",
  forget: "The answer is erased at once. The key is refused with 410 for a while and is new after that: the same request could then be executed again.",
  extend: "The answer is replayed for longer; the key stays used until then.",
};

const reasonInput = () => h("input", { required: true, placeholder: "Ticket, ledger entry, who confirmed it", autocomplete: "off" });

function forcing() {
  const check = h("input", { type: "checkbox" });
  return { check, row: h("label", { class: "check" }, check,
    h("span", {}, "Decide although it may still run. Its answer is then no longer recorded, but its effect cannot be stopped from here.")) };
}

// "HTTP/1.1 201 Created⏎Content-Type: …⏎⏎{…}" → its parts; null: it is none.
function parseAnswer(text) {
  const [, status, rest] = text.match(/^HTTP\/[\d.]+ (\d{3})[^\n]*\n([\s\S]*)$/) ?? [];
  if (!status) return null;
  const [head, ...body] = rest.replaceAll("\r", "").split("\n\n");
  return { status, headers: head, body: body.join("\n\n") };
}

// The fields of an answer, to be typed, or filled in by pasting a whole HTTP answer into the body.
export function answerFields() {
  const status = h("input", { type: "number", min: "200", max: "599", value: "201", required: true });
  const headers = h("textarea", { rows: "2", spellcheck: "false", value: "Content-Type: application/json" });
  const body = h("textarea", { rows: "6", spellcheck: "false", placeholder: 'The body, such as {"id": "ch_17"}; or paste a whole answer: HTTP/1.1 201 …' });
  body.addEventListener("input", () => {
    const found = parseAnswer(body.value);
    if (!found) return;
    status.value = found.status;
    headers.value = found.headers;
    body.value = found.body;
  });
  return {
    rows: [h("div", { class: "line" }, field("Status", status), field("Headers", headers)), field("Body", body)],
    read: () => ({
      status: Number(status.value),
      headers: headers.value.split("\n").map((line) => line.split(/:\s*(.*)/s).slice(0, 2)).filter(([name, value]) => name.trim() && value !== undefined),
      body: body.value,
    }),
  };
}

function about(record) {
  return h("p", {}, h("strong", {}, record.operation), " · ", h("span", { class: "mono" }, record.key), " · attempt ", record.attempt);
}

// Decides about the attempt that is shown: if there is another one meanwhile, the gateway refuses and it is shown.
export async function sendDecision(path, shown, body) {
  try {
    return await post(path, { ...body, attempt: shown.attempt });
  } catch (failure) {
    if (failure.code === "other-attempt") tell("changed", shown.id);
    throw failure;
  }
}

async function decide(record, verb, title, action, rows, more) {
  if (!await ensureToken(NEEDED)) return null;
  const reason = reasonInput();
  const force = forcing();
  const done = await dialog({
    title, action,
    body: [about(record), rows, field("Reason", reason), verb === "forget" || verb === "extend" ? null : force.row,
      h("p", { class: "consequence" }, CONSEQUENCE[verb])],
    submit: () => sendDecision(`/api/keys/${record.id}/${verb}`, record,
      { reason: reason.value, ...(force.check.checked && { force: true }), ...more() }),
  });
  if (!done) return null;
  toast({ resolve: "Resolved: retries get this answer", release: "Released: the next retry executes", forget: "Forgotten", extend: "Extended" }[verb]);
  tell("changed", record.id);
  return done;
}

export function resolve(record) {
  const answer = answerFields();
  return decide(record, "resolve", "It happened", "Record this answer", answer.rows, () => ({ answer: answer.read() }));
}
export const release = (record) => decide(record, "release", "It did not happen", "Release the key", [], () => ({}));
export const forget = (record) => decide(record, "forget", "Forget the answer", "Forget it", [], () => ({}));
export function extend(record) {
  const ttl = h("input", { value: "7d", required: true, pattern: "[0-9]+(ms|s|m|h|d)" });
  return decide(record, "extend", "Keep it longer", "Extend", [field("Expires this long from now", ttl)], () => ({ ttl: ttl.value }));
}

const PROBED = {
  final: "The executor knows the answer; it is recorded now.",
  retry: "The executor says that it did not happen; the key is released.",
  unknown: "The executor does not know either. The record stays unknown.",
};
export async function probe(record) {
  if (!await ensureToken(NEEDED)) return;
  try {
    const { outcome } = await post(`/api/keys/${record.id}/probe`, {});
    toast(PROBED[outcome] ?? outcome);
    tell("changed", record.id);
  } catch (failure) {
    toast(failure.message);
  }
}

// The buttons that make sense for a record in its state.
export function actionsFor(record, { canProbe = true, kind = "" } = {}) {
  const of = {
    unknown: [["It happened…", resolve, "main"], ["It did not…", release], canProbe && ["Ask again", probe]],
    in_progress: [["It did not…", release], ["It happened…", resolve]],
    queued: [["Take it out of the queue…", release]],
    completed: [["Keep longer…", extend], ["Forget…", forget]],
    released: [["Forget…", forget]],
  }[record.state] ?? [];
  return of.filter(Boolean).map(([words, act, main = ""]) =>
    button(words, (event) => { event.stopPropagation(); act(record); }, { kind: kind ? kind : main }));
}
