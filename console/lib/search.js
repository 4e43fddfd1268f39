// What is typed into the search field: filters as name:value, and anything else as text.

export const FILTERS = ["state", "operation", "tenant", "key", "record", "resource", "described", "reason", "older", "newer"];
export const STATES = ["queued", "in_progress", "completed", "released", "unknown", "tombstone"];

// "state:unknown operation:charges older:10m 8e03" → {state, operation, older, q}. A value may stand in quotes.
export function parse(text) {
  const found = {};
  const rest = [];
  for (const [, name, quoted, bare, word] of text.matchAll(/(\w+):(?:"([^"]*)"|(\S+))|(\S+)/g)) {
    if (name && FILTERS.includes(name)) found[name] = quoted ?? bare;
    else rest.push(word ?? `${name}:${quoted ?? bare}`);
  }
  if (rest.length) found.q = rest.join(" ");
  return found;
}

export function write(filters) {
  const words = FILTERS.filter((name) => filters[name]).map((name) => {
    const value = filters[name];
    return /\s/.test(value) ? `${name}:"${value}"` : `${name}:${value}`;
  });
  if (filters.q) words.push(filters.q);
  return words.join(" ");
}
