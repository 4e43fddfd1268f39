// Queues: work that waits, dead letters, and lanes of the outbox that are blocked.
import { get } from "../lib/api.js";
import { button, field, fill, h } from "../lib/dom.js";
import { count, plural, time } from "../lib/format.js";
import { change } from "../lib/place.js";
import { mark } from "../lib/states.js";
import { on, tell } from "../lib/store.js";
import { sendDecision } from "../parts/actions.js";
import { dialog } from "../parts/dialog.js";
import { empty, trouble } from "../parts/empty.js";
import { ensureToken } from "../parts/sign_in.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";

const PAGE = 1000;
const PAGES_MAX = 20;  // then it asks before it searches on
const EVERY_MS = 5000;
const VIEWS = [["queued", "Waiting"], ["dead", "Dead letters"], ["outbox", "Outbox"]];
const CONSEQUENCE = {
  retry: "It is executed now. A dead letter gets one more try: if that one fails as well, it is a dead letter again.",
  drop: "Semel does not execute it any more, and whoever sent it is not told. The key is released: a request that comes with it again is executed. The record says who dropped it, and why.",
};

async function decide(item, verb) {
  if (!await ensureToken("This goes into the record's history under your name, so it needs a named token.")) return;
  const reason = h("input", { required: true, autocomplete: "off", placeholder: verb === "retry" ? "The receiver is back" : "Superseded by …" });
  const done = await dialog({
    title: verb === "retry" ? "Try again" : "Drop it", action: verb === "retry" ? "Queue it again" : "Drop it",
    body: [h("p", {}, h("strong", {}, item.operation), " · ", h("span", { class: "mono" }, item.key)), field("Reason", reason), h("p", { class: "consequence" }, CONSEQUENCE[verb])],
    submit: () => sendDecision(`/api/queue/${item.id}/${verb}`, item, { reason: reason.value }),
  });
  if (!done) return;
  toast(verb === "retry" ? "Queued again" : "Dropped");
  tell("changed", item.id);
}

function act(words, item, verb) {
  return button(words, (event) => { event.stopPropagation(); event.preventDefault(); decide(item, verb); }, { kind: "small" });
}

const COLUMNS = [
  { title: "State", width: "108px", cell: (one) => mark(one.state) },
  { title: "Kind", width: "72px", cell: (one) => one.kind },
  { title: "Operation", width: "minmax(88px, 1fr)", cell: (one) => one.operation },
  { title: "Key", width: "minmax(110px, 1.3fr)", cell: (one) => h("span", { class: "mono", title: one.key }, one.key) },
  { title: "Why", width: "minmax(120px, 2fr)", cell: (one) => h("span", { title: one.reason }, one.reason || "–") },
  { title: "Tries", width: "40px", end: true, cell: (one) => one.attempt },
  { title: "Since", width: "112px", end: true, cell: (one) => time(one.created_at) },
  { title: "Next try", width: "88px", end: true, cell: (one) => time(one.next_try_at) },
  { title: "", width: "136px", end: true, cell: (one) => h("span", { class: "row end" }, one.state === "dead" ? act("Retry…", one, "retry") : null, one.state !== "running" ? act("Drop…", one, "drop") : null) },
];

const LANES = [
  { title: "Lane", width: "100px", cell: (one) => mark(one.blocked ? "blocked" : "queued", one.blocked ? "blocked" : "moving") },
  { title: "Destination", width: "minmax(100px, 1fr)", cell: (one) => one.destination },
  { title: "Ordering key", width: "minmax(100px, 1fr)", cell: (one) => h("span", { class: "mono" }, one.ordering_key || "–") },
  { title: "Waiting", width: "64px", end: true, cell: (one) => count(one.waiting) },
  { title: "Tries", width: "48px", end: true, cell: (one) => one.attempts },
  { title: "Next try", width: "96px", end: true, cell: (one) => time(one.next_try_at) },
  { title: "Last error", width: "minmax(140px, 2fr)", cell: (one) => h("span", { title: one.last_error }, one.last_error || "–") },
];

function emptyOf(view) {
  if (view === "dead") return empty("No dead letters", "Queued work that failed as often as its route allows is put here, with the last reason, for somebody to retry or drop.");
  return empty("Nothing waits", "Requests answered 202 (Prefer: respond-async, or a webhook route in mode queue) wait here until they are executed.");
}

export function mount(root, parameters) {
  root.classList.add("full");
  let view = parameters.view ?? "queued";
  let table = null;
  let loading = null;  // an AbortController while pages are on their way
  let pagesMax = PAGES_MAX;
  let restsUntil = 0;    // a search that took long is not repeated at once
  let drawn = "";  // what the table shows, to tell whether it changed
  const total = h("span", { class: "about", role: "status" });
  const tabs = h("div", { class: "segments", role: "group", "aria-label": "Which queue" }, VIEWS.map(([name, words]) =>
    h("button", { type: "button", data: { view: name }, onclick: () => change({ view: name }) }, words)));
  const further = button("Search on", () => { pagesMax += PAGES_MAX; load(); }, { kind: "small" });
  further.hidden = true;
  const place = h("div", { class: "page-body" });
  fill(root, h("div", { class: "head" }, h("h1", {}, "Queues"), tabs, total, further), place);

  function show(rows, columns, key, narrow) {
    if (!table || table.columns !== columns) {
      table?.destroy();
      table?.element.remove();
      drawn = "";
      table = new Table({ label: "Queue", columns, key, narrow, open: view === "outbox" ? null : (one) => change({ open: one.id }) });
    }
    table.viewport.setAttribute("aria-label", VIEWS.find(([name]) => name === view)[1]);
    if (table.element.parentNode !== root) { place.hidden = true; root.append(table.element); }
    const seen = JSON.stringify(rows);
    if (seen === drawn) return;  // what has the focus keeps it
    drawn = seen;
    table.show(rows);
    table.redraw();
  }

  function nothing(content) {
    table?.element.remove();
    place.hidden = false;
    fill(place, h("div", { class: "box" }, content));
    total.textContent = "";
  }

  async function loadOutbox(turn) {
    const found = await get("/api/outbox", {}, { signal: turn.signal }).catch((failure) => {
      if (failure.status !== 404) throw failure;
      return { available: false, why: "This gateway does not show an outbox." };
    });
    if (loading !== turn) return;
    if (!found.available) return nothing(empty("No outbox here", found.why));
    const rows = [...found.lanes, ...(found.dead ?? []).map((one) => ({ ...one, blocked: true }))];
    if (!rows.length) return nothing(empty("The outbox is empty", "Messages that a service wrote with its transaction wait here until the relay has delivered them."));
    total.textContent = plural(rows.length, "lane");
    show(rows, LANES, (one) => `${one.destination}-${one.ordering_key}-${one.id ?? ""}`, (one) => [one.destination, count(one.waiting), one.last_error || "–", time(one.next_try_at)]);
  }

  // A page examines a part of the store only, so that an empty one says nothing about the rest.
  async function findItems(turn) {
    const found = { items: [], examined: 0, next: null };
    for (let pages = 0; pages < pagesMax; pages++) {
      const page = await get("/api/queue", { state: view, limit: PAGE, cursor: found.next }, { signal: turn.signal });
      found.items.push(...page.items);
      found.examined += page.examined;
      found.next = page.next;
      if (!page.next || found.items.length >= PAGE) break;
    }
    return found;
  }

  async function loadWork(turn) {
    const { items, examined, next } = await findItems(turn);
    if (loading !== turn) return;
    further.hidden = !next || items.length >= PAGE;
    if (!items.length) {
      nothing(next ? empty("Nothing found yet", `${count(examined)} records were examined, and there are more.`) : emptyOf(view));
      return;
    }
    total.textContent = plural(items.length, "item") + (next ? ` and maybe more · ${count(examined)} records examined` : "");
    show(items, COLUMNS, (one) => one.id, (one) => [mark(one.state), time(one.created_at), h("span", { class: "mono" }, one.key), one.reason || one.operation]);
  }

  async function load() {
    loading?.abort();
    const turn = loading = new AbortController();
    const begun = Date.now();
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.view === view));
    try {
      if (view === "outbox") further.hidden = true;
      await (view === "outbox" ? loadOutbox(turn) : loadWork(turn));
    } catch (failure) {
      if (loading === turn) nothing(trouble(failure));
    }
    if (loading !== turn) return;
    loading = null;
    restsUntil = Date.now() + 4 * (Date.now() - begun);
  }

  const ends = [on("changed", load), on("token", load)];
  const timer = setInterval(() => {
    if (!loading && Date.now() >= restsUntil && !document.hidden && !document.querySelector("dialog[open]")) load();
  }, EVERY_MS);
  load();
  return {
    table: () => table ?? { move: () => false, openCurrent: () => false },
    update(next) { if ((next.view ?? "queued") !== view) { view = next.view ?? "queued"; pagesMax = PAGES_MAX; load(); } },
    destroy() { loading?.abort(); loading = null; ends.forEach((end) => end()); clearInterval(timer); table?.destroy(); },
  };
}
