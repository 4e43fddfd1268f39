// Nodes: who shares the store.
import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { count, long, plural, time } from "../lib/format.js";
import { shape } from "../lib/icons.js";
import { on } from "../lib/store.js";
import { empty, trouble } from "../parts/empty.js";
import { Table } from "../parts/table.js";

const CLOCK_MS_MAX = 1000;  // beyond this, leases are in doubt on some stores

function offset(one) {
  if (one.clock_ahead_ms === null || one.clock_ahead_ms === undefined) return "–";
  const words = `${one.clock_ahead_ms > 0 ? "+" : ""}${count(one.clock_ahead_ms)} ms`;
  return Math.abs(one.clock_ahead_ms) < CLOCK_MS_MAX ? words : h("span", { class: "mark" }, shape("triangle", "conflict"), h("span", {}, words));
}

const COLUMNS = [
  { title: "Node", width: "minmax(140px, 1.5fr)", cell: (one) => [h("span", { class: "strong" }, one.node), one.is_this_process ? h("span", { class: "quiet" }, "  this process") : null] },
  { title: "Run", width: "minmax(96px, 1fr)", cell: (one) => long(one.run) },
  { title: "Version", width: "80px", cell: (one) => one.version ?? "–" },
  { title: "Since", width: "112px", end: true, cell: (one) => time(one.since) },
  { title: "Claims held", width: "88px", end: true, cell: (one) => count(one.claims_held) },
  { title: "Last seen", width: "112px", end: true, cell: (one) => time(one.last_seen) },
  { title: "Clock ahead", width: "96px", end: true, cell: offset },
];

export function mount(root) {
  const total = h("span", { class: "about", role: "status" });
  const place = h("div", { hidden: true });
  const table = new Table({ label: "Nodes", flows: true, columns: COLUMNS, key: (one) => `${one.node}-${one.run}`,
    narrow: (one) => [one.node, `${count(one.claims_held)} claims`, one.is_this_process ? "this process" : one.run, time(one.last_seen)] });
  fill(root, h("div", { class: "head" }, h("h1", {}, "Nodes"), total), place, table.element,
    h("div", { class: "aside" }, "Every gateway that shares this store and executes something is listed, with the claims that it held within the last 30 s. They need to know nothing of each other; a claim is safe with its holder until its lease has run out."));
  async function load() {
    try {
      const { nodes, complete } = await get("/api/nodes");
      table.show(nodes);
      table.redraw();
      total.textContent = plural(nodes.length, "node") + (complete ? "" : " seen; the store has too many records to look at them all");
      table.element.hidden = nodes.length === 0;
      place.hidden = nodes.length > 0;
      fill(place, nodes.length ? null : h("div", { class: "box" }, empty("No node has been seen", "A gateway appears here once it holds a claim in the store.")));
    } catch (failure) {
      place.hidden = false;
      fill(place, trouble(failure));
    }
  }
  const off = on("token", load);
  const timer = setInterval(() => { if (!document.hidden) load(); }, 5000);
  load();
  return { table: () => table, destroy() { off(); clearInterval(timer); table.destroy(); } };
}
