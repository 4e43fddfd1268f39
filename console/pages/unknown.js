// Unknown: what only a person, or the executor, can decide. Oldest first, by operation and hour.
import { get } from "../lib/api.js";
import { button, fill, h } from "../lib/dom.js";
import { clock, plural, time } from "../lib/format.js";
import { change } from "../lib/place.js";
import { on } from "../lib/store.js";
import { actionsFor } from "../parts/actions.js";
import { decideMany } from "../parts/bulk.js";
import { empty, trouble } from "../parts/empty.js";

const RECORDS_MAX = 5000;
const SHOWN_MAX = 100;  // per group, until it is unfolded
const HOUR = 3600e3;

const WHY = ["The request reached the executor and its answer was lost, so nobody at this end can know whether it took effect: repeating it could do it twice, refusing it could lose it.",
  "Look into the executor's books, then say what happened; Semel does not guess."];

async function fetchAll() {
  const found = [];
  let cursor;
  do {
    const page = await get("/api/keys", { state: "unknown", limit: 1000, cursor });
    found.push(...page.keys);
    cursor = page.next;
  } while (cursor && found.length < RECORDS_MAX);
  return { found, isCut: Boolean(cursor) };
}

// [{operation, hour, records}], the one with the oldest record first.
function grouped(records) {
  const groups = new Map();
  for (const record of [...records].sort((a, b) => Date.parse(a.updated_at) - Date.parse(b.updated_at))) {
    const hour = Math.floor(Date.parse(record.updated_at) / HOUR) * HOUR;
    const key = `${record.operation} ${hour}`;
    if (!groups.has(key)) groups.set(key, { key, operation: record.operation, hour, records: [] });
    groups.get(key).records.push(record);
  }
  return [...groups.values()];
}

function titleOf(group) {
  const first = group.records[0].updated_at;
  const last = group.records.at(-1).updated_at;
  const date = new Date(first).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const when = group.records.length === 1 || clock(first, false) === clock(last, false) ? `at ${clock(first, false)}` : `${clock(first, false)}–${clock(last, false)}`;
  return [h("h2", {}, group.operation), h("span", { class: "quiet" }, `${date} ${when} · ${plural(group.records.length, "outcome")} to decide`)];
}

export function mount(root) {
  let records = [];
  let isCut = false;     // there are more than RECORDS_MAX
  let loading = false;
  let loadAgain = false;  // something changed while it was loading
  let routes = new Map();
  let current = -1;
  let drawn = "";  // what is shown, to tell whether it changed
  const chosen = new Set();
  const unfolded = new Set();
  const total = h("span", { class: "about", role: "status" });
  const body = h("div", { class: "groups" });
  const bulk = h("div", { class: "bulk", hidden: true, role: "region", "aria-label": "Chosen records" });
  fill(root, h("div", { class: "head" }, h("h1", {}, "Unknown"), total),
    h("div", { class: "aside" }, h("strong", {}, "Why Semel does not decide by itself. "), WHY.join(" ")), body, bulk);

  const picked = () => records.filter((record) => chosen.has(record.id));

  function knows(record) {
    const route = routes.get(record.operation);
    if (!route) return "no route of this name here";
    return route.probe ? "the executor can be asked" : "the executor cannot be asked";
  }

  function caseRow(record) {
    const box = h("input", { type: "checkbox", "aria-label": `Choose ${record.key}`, checked: chosen.has(record.id), onchange: () => toggle([record], box.checked) });
    const canProbe = routes.get(record.operation)?.probe ?? false;
    return h("div", { class: "case", data: { id: record.id }, "aria-current": list()[current]?.id === record.id ? "true" : null }, box,
      h("div", { class: "asked" }, h("button", { class: "plain mono", type: "button", title: record.key, onclick: () => change({ open: record.id }) }, record.key),
        h("span", { class: "quiet" }, [record.method, record.path].filter(Boolean).join(" ") || `record ${record.id.slice(0, 8)}`)),
      h("div", { class: "ended" }, h("span", {}, record.reason || "no answer came back"), h("span", { class: "quiet" }, record.tenant ? `tenant ${record.tenant}` : "")),
      h("div", { class: "knows quiet" }, knows(record)),
      h("div", { class: "end-aligned quiet" }, time(record.updated_at)),
      h("div", { class: "acts" }, actionsFor({ ...record, state: "unknown" }, { canProbe, kind: "small" })));
  }

  function groupBox(group) {
    const all = group.records.every((record) => chosen.has(record.id));
    const box = h("input", { type: "checkbox", checked: all, "aria-label": `Choose all of ${group.operation}`, onchange: () => toggle(group.records, box.checked) });
    const shown = unfolded.has(group.key) ? group.records : group.records.slice(0, SHOWN_MAX);
    const more = group.records.length - shown.length;
    return h("section", { class: "group", "aria-label": group.operation }, h("header", {}, box, titleOf(group)), shown.map(caseRow),
      more > 0 && h("div", { class: "below" }, button(`Show ${more} more`, () => { unfolded.add(group.key); draw(); }, { kind: "small" })));
  }

  function toggle(some, isOn) {
    for (const record of some) isOn ? chosen.add(record.id) : chosen.delete(record.id);
    for (const row of body.querySelectorAll(".case")) row.querySelector("input").checked = chosen.has(row.dataset.id);
    drawBulk();
  }

  function drawBulk() {
    const some = picked();
    bulk.hidden = some.length === 0;
    fill(bulk, h("span", {}, `${plural(some.length, "record")} chosen`), button("None", () => { chosen.clear(); draw(); }),
      button("They did not…", () => decideMany(picked(), "release")), button("They happened…", () => decideMany(picked(), "resolve"), { kind: "main" }));
  }

  const list = () => grouped(records).flatMap((group) => group.records);

  function draw() {
    const groups = grouped(records);
    total.textContent = records.length ? plural(records.length, "outcome") + " to decide" + (isCut ? "; there are more, which come when these are decided" : "") : "";
    if (groups.length) fill(body, groups.map(groupBox));
    else {
      fill(body, h("div", { class: "box" }, empty("Nothing is unknown", "A request whose answer was lost on its way back (a timeout, a connection that broke, a gateway that died) waits here until somebody says what happened.")));
    }
    drawBulk();
  }

  async function load() {
    loadAgain = loading;
    if (loading) return;
    loading = true;
    await renew();
    loading = false;
    if (loadAgain) load();
  }

  async function renew() {
    try {
      const [all, known] = await Promise.all([fetchAll(), get("/api/routes").catch(() => ({ routes: [] }))]);
      const { found } = all;
      const seen = JSON.stringify([all.isCut, found.map((record) => [record.id, record.updated_at]), known.routes.map((route) => [route.name, route.probe])]);
      if (seen === drawn) return;  // what has the focus keeps it
      drawn = seen;
      records = found;
      isCut = all.isCut;
      routes = new Map(known.routes.map((route) => [route.name, route]));
      for (const id of [...chosen]) if (!found.some((record) => record.id === id)) chosen.delete(id);
      draw();
    } catch (failure) {
      drawn = "";
      fill(body, trouble(failure));
    }
  }

  const ends = [on("changed", load), on("token", load)];
  const timer = setInterval(() => { if (!loading && !document.hidden && !document.querySelector("dialog[open]")) load(); }, 10000);
  load();

  function move(by) {
    const all = list();
    if (!all.length) return false;
    current = Math.max(0, Math.min(all.length - 1, current + by));
    const seen = all[current].id;
    for (const row of body.querySelectorAll(".case")) {
      row.toggleAttribute("aria-current", row.dataset.id === seen);
      if (row.dataset.id === seen) row.scrollIntoView({ block: "nearest" });
    }
    return true;
  }
  const table = { move, get current() { const one = list()[current]; return one && { ...one, state: "unknown" }; },
    openCurrent() { const one = list()[current]; if (!one) return false; change({ open: one.id }); return true; } };
  return { table: () => table, destroy() { ends.forEach((end) => end()); clearInterval(timer); } };
}
