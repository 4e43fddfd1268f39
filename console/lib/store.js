// The one place for what is known of the gateway, and who wants to hear of it.

export const known = {
  status: null,       // GET /api/status
  points: [],         // one per second, oldest first
  decisions: null,    // newest first; null: not heard of yet
  link: "connecting", // live, polling, lost, connecting
  unknown: 0,
};

const listeners = new Map();

// Calls `use` whenever `what` changes. Returns the function that ends it.
export function on(what, use) {
  if (!listeners.has(what)) listeners.set(what, new Set());
  listeners.get(what).add(use);
  return () => listeners.get(what).delete(use);
}

export function tell(what, value) {
  for (const use of listeners.get(what) ?? []) use(value);
}
