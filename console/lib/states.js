// Every state and every result has a colour, a word and a shape, the same everywhere.
import { h } from "./dom.js";
import { shape } from "./icons.js";

const MEANINGS = {
  // states of a record
  queued: ["waited", "bars", "queued"],
  running: ["replayed", "half", "running"],
  in_progress: ["replayed", "half", "in progress"],
  completed: ["executed", "dot", "completed"],
  released: ["quiet", "ring", "released"],
  unknown: ["unknown", "diamond", "unknown"],
  tombstone: ["quiet", "cross", "tombstone"],
  dead: ["mismatch", "cross", "dead letter"],
  // results of a request
  executed: ["executed", "dot", "executed"],
  replayed: ["replayed", "again", "replayed"],
  waited: ["waited", "bars", "waited"],
  conflict: ["conflict", "triangle", "conflict"],
  mismatch: ["mismatch", "unequal", "mismatch"],
  expired: ["quiet", "ring", "expired"],
  passed: ["quiet", "arrow", "passed"],
  refused: ["conflict", "hollow", "refused"],
  failed: ["mismatch", "cross", "failed"],
  accepted: ["waited", "square", "accepted"],
  // upstreams, circuits, lanes
  healthy: ["executed", "dot", "healthy"],
  ejected: ["mismatch", "cross", "ejected"],
  unchecked: ["quiet", "ring", "unchecked"],
  open: ["mismatch", "triangle", "open"],
  "half-open": ["conflict", "half", "half-open"],
  closed: ["executed", "dot", "closed"],
  blocked: ["mismatch", "bars", "blocked"],
};

export function meaning(name) {
  const [tone, form, word] = MEANINGS[name] ?? ["quiet", "dash", String(name)];
  return { tone, form, word };
}

export function mark(name, word, more = "") {
  const found = meaning(name);
  return h("span", { class: `mark ${more}` }, shape(found.form, found.tone), h("span", {}, word ?? found.word));
}
