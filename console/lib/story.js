// Tells what happened to a request in plain words: from its record, and from the answer that its client got.
import { clock, span } from "./format.js";

// "…{"code": "key-reused", "record": "18d4…"}…", a Semel-Record header, or bare digits → {code, record, differs, …}; null: none.
export function parseEvidence(text) {
  const trimmed = text.trim();
  const from = trimmed.indexOf("{");
  if (from >= 0) {
    try {
      const found = JSON.parse(trimmed.slice(from, trimmed.lastIndexOf("}") + 1));
      const inner = found.error && typeof found.error === "object" ? found.error : found;
      return { ...inner, record: inner.record ?? header(trimmed) };
    } catch { /* not JSON after all */ }
  }
  const digits = header(trimmed) ?? trimmed.match(/^[0-9a-f]{8,64}$/)?.[0];
  return digits ? { record: digits } : null;
}

const header = (text) => text.match(/semel-record:\s*"?([0-9a-f]{8,64})/i)?.[1];

const onDay = (text) => {
  const at = new Date(text);
  const today = new Date().toDateString() === at.toDateString();
  return `${today ? "" : `${at.toLocaleDateString("en-GB", { day: "numeric", month: "long" })} `}at ${clock(text)}`.trim();
};

function firstUse(record) {
  const asked = [record.request?.method ?? record.method, record.request?.path ?? record.path].filter(Boolean).join(" ");
  return `This key was first used ${onDay(record.created_at)}${asked ? ` for ${asked}` : ""}, operation ${record.operation}${record.tenant ? `, by ${record.tenant}` : ""}.`;
}

const STATES = {
  queued: () => "The request was accepted and waits in the queue; it has not been executed yet.",
  in_progress: (record) => `Attempt ${record.attempt} is running now on ${record.owner?.node || "a node"}, since ${onDay(record.updated_at)}. Nothing is recorded until it ends.`,
  completed: (record) => `It was executed${record.attempt > 1 ? `, at attempt ${record.attempt},` : ""} and answered ${record.status} ${onDay(record.updated_at)}. Every retry gets exactly this answer${record.expires_at ? ` until ${onDay(record.expires_at)}` : ""}.`,
  released: (record) => `Its last attempt had no effect${record.reason ? ` (${record.reason})` : ""}, so the key was released ${onDay(record.updated_at)}. A retry executes it.`,
  unknown: (record) => `It was sent on, and no answer came back${record.reason ? `: ${record.reason}` : ""}. Since ${onDay(record.updated_at)} nobody knows whether it took effect.`,
  tombstone: (record) => `Its answer is gone: its time has passed, or it was forgotten ${onDay(record.updated_at)}. The key stays used for a while, so that a late retry is not executed anew.`,
};

const list = (words) => words.map((word) => `“${word}”`).join(", ");

const CODES = {
  "key-reused": (problem) => `The request that was refused used the same key, but it is another request${problem.differs?.length ? `: it differs in ${list(problem.differs)}` : ""}. One key stands for one request, so it was refused with 422 and nothing was executed.`,
  "in-progress": () => "The request that was refused is a duplicate of one that was still running. It got 409 and nothing was executed twice.",
  "outcome-unknown": () => "The request that was refused is a retry of one whose outcome is unknown. Repeating it could do it twice, so it got 409.",
  "key-expired": () => "The retry came after the answer's time had passed. It got 410, so that it is not executed a second time.",
  "key-missing": () => "The route requires a key, and the request had none. Nothing was executed and nothing is recorded.",
  "key-invalid": () => "The key in the request is not one that the route takes. Nothing was executed and nothing is recorded.",
  "tenant-unknown": () => "The request did not prove who sent it, so no key of anybody could be looked up. Nothing was executed.",
  "store-unavailable": () => "The store could not be written, so the request was not sent on: without a record it could not be made safe.",
  "upstream-unreachable": () => "No connection to the service could be made, so the request provably had no effect. The key is free again.",
  "upstream-timeout": () => "The service did not answer in time. Whether it did the work is unknown.",
  "circuit-open": () => "The service failed too often lately, so the request was not sent on.",
  "overloaded": () => "The gateway had no room for the request. Nothing was executed.",
  "too-many-keys": () => "This caller has used up its share of keys. Nothing was executed.",
  "body-too-large": () => "The body is larger than the route takes for requests with a key. Nothing was executed.",
};

const NEXT = {
  "key-reused": "Send the original request again under this key, or use a new key for the new request.",
  "in-progress": "Try again with the same key, after Retry-After.",
  "outcome-unknown": "Look into the service's books, then decide under Unknown. A new key is not safe.",
  "key-expired": "Find out whether the first request took effect before you use a new key.",
  "key-missing": "Send a unique key with each operation, and the same one with its retries.",
};
const NEXT_BY_STATE = {
  in_progress: "Try again with the same key in a moment.", completed: "Nothing: a retry with the same key gets the answer.",
  unknown: "Look into the service's books, then decide: it happened, or it did not.", released: "A retry with the same key executes it.",
};

// → {paragraphs, next}
export function tell(problem, record) {
  const paragraphs = [];
  if (record) paragraphs.push(firstUse(record), STATES[record.state]?.(record));
  const byCode = CODES[problem.code];
  if (byCode) paragraphs.push(byCode(problem));
  else if (problem.detail) paragraphs.push(problem.detail);
  const decided = record?.timeline?.filter((entry) => entry.who) ?? [];
  for (const entry of decided.slice(-2)) paragraphs.push(`${onDay(entry.at)[0].toUpperCase()}${onDay(entry.at).slice(1)}, ${entry.who}: ${entry.what}${entry.why ? ` (${entry.why})` : ""}.`);
  if (record && record.attempt > 1) paragraphs.push(`It took ${record.attempt} attempts over ${span((Date.parse(record.updated_at) - Date.parse(record.created_at)) / 1000)}.`);
  return { paragraphs: paragraphs.filter(Boolean), next: NEXT[problem.code] ?? NEXT_BY_STATE[record?.state] ?? null };
}
