// Keys: every record that the store holds, filtered, in pages that load as they are scrolled to.
import { get } from "../lib/api.js";
import { button, fill, h } from "../lib/dom.js";
import { count, plural, time } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { change, go } from "../lib/place.js";
import { FILTERS, STATES } from "../lib/search.js";
import { mark, meaning } from "../lib/states.js";
import { known, on } from "../lib/store.js";
import { example } from "../lib/curl.js";
import { empty, trouble } from "../parts/empty.js";
import { Table } from "../parts/table.js";

const PAGE = 500;
const EMPTY_PAGES_MAX = 20;  // then it asks before it searches on

const asked = (one) => [one.method, one.path].filter(Boolean).join(" ");

const COLUMNS = [
  { title: "State", width: "112px", cell: (one) => mark(one.state) },
  { title: "Operation", width: "minmax(88px, 1fr)", cell: (one) => one.operation + (one.scope_path ?? "") },
  { title: "Key", width: "minmax(120px, 1.6fr)", cell: (one) => h("span", { class: "mono", title: one.key }, one.key) },
  { title: "Tenant", width: "minmax(64px, .8fr)", cell: (one) => one.tenant || "–" },
  { title: "Request", width: "minmax(96px, 1.2fr)", cell: (one) => h("span", { class: "mono", title: asked(one) }, asked(one) || "–") },
  { title: "Status", width: "48px", end: true, cell: (one) => one.status ?? "–" },
  { title: "Attempt", width: "56px", end: true, cell: (one) => one.attempt },
  { title: "Changed", width: "112px", end: true, cell: (one) => time(one.updated_at) },
  { title: "Record", width: "80px", cell: (one) => h("span", { class: "mono quiet" }, one.id.slice(0, 8)) },
];

export function mount(root, parameters) {
  root.classList.add("full");
  let filters = parameters;
  let rows = [];
  let next = null;       // the cursor of the next page
  let loading = null;    // an AbortController while a page is on its way
  let examined = 0;
  const total = h("span", { class: "about", role: "status" });
  const chips = h("div", { class: "chips" });
  const place = h("div", { class: "box", hidden: true });
  const table = new Table({
    label: "Records", columns: COLUMNS, key: (one) => one.id, open: (one) => change({ open: one.id }),
    nearEnd: () => { if (next && !loading) load(); },
    narrow: (one) => [mark(one.state), time(one.updated_at), h("span", { class: "mono" }, one.key), one.operation],
  });
  fill(root, h("div", { class: "head" }, h("h1", {}, "Keys"), total), chips, place, table.element);

  function drawChips() {
    const names = [...FILTERS, "q"].filter((name) => filters[name]);
    const byState = h("select", { "aria-label": "Add a filter by state", onchange: (event) => change({ state: event.target.value || undefined }) },
      h("option", { value: "" }, "Any state"), STATES.map((state) => h("option", { value: state }, meaning(state).word)));
    byState.value = filters.state ?? "";
    fill(chips, byState, names.filter((name) => name !== "state").map((name) => h("span", { class: "chip" }, h("b", {}, name === "q" ? "anything" : name), h("i", {}, filters[name]),
      h("button", { type: "button", "aria-label": `Remove the filter ${name}`, onclick: () => change({ [name]: undefined }) }, icon("close")))),
    names.length > 0 && button("Clear", () => go("keys"), { kind: "small" }));
  }

  async function load(pages = EMPTY_PAGES_MAX) {
    const turn = loading = new AbortController();
    try {
      for (let tries = 0; tries < pages; tries++) {
        const found = await get("/api/keys", { ...filters, limit: filters.q ? undefined : PAGE, cursor: next }, { signal: turn.signal });
        if (loading !== turn) return;
        rows = rows.concat(found.keys);
        examined += found.examined ?? 0;
        next = found.next;
        if (found.keys.length || !next) break;
      }
      loading = null;
      draw();
    } catch (failure) {
      if (loading !== turn || failure.name === "AbortError") return;
      loading = null;
      next = null;
      place.hidden = false;
      fill(place, trouble(failure));
      table.element.hidden = true;
    }
  }

  function draw() {
    const isFiltered = Object.keys(filters).length > 0;
    table.element.hidden = rows.length === 0;
    place.hidden = rows.length > 0;
    table.show(rows);
    total.textContent = `${plural(rows.length, "record")}${next ? " so far" : ""}${isFiltered ? ` · ${count(examined)} examined` : ""}`;
    if (rows.length) return next ? table.note(`${count(rows.length)} loaded; more follow as you scroll`) : table.note(`All ${count(rows.length)} are here`);
    if (next) {
      fill(place, empty("Nothing found yet", `${count(examined)} records were examined, and there are more.`));
      place.firstChild.append(button("Search on", () => load()));
    } else if (isFiltered) {
      fill(place, empty("No record matches", "Take a filter away, or search for something else: a key, the first digits of a record, a tenant, a resource. Records go when their time has passed."));
    } else {
      fill(place, empty("No records yet", "Each key that a client sends to a route leaves a record here until its time has passed. Send one:", example(known.status)));
    }
  }

  function begin() {
    loading?.abort();
    loading = next = null;
    rows = [];
    examined = 0;
    table.viewport.scrollTop = 0;
    drawChips();
    load();
  }

  async function renew(changed) {  // one record, in place
    const at = rows.findIndex((one) => one.id === changed);
    if (at < 0) return;
    try {
      rows[at] = await get(`/api/keys/${changed}`);
      table.redraw();
    } catch {
      rows.splice(at, 1);
      table.show(rows);
    }
  }

  const ends = [on("changed", renew), on("token", begin)];
  begin();
  return {
    table: () => table,
    update(to) {
      if (JSON.stringify(to) === JSON.stringify(filters)) return;
      filters = to;
      begin();
    },
    destroy() { loading?.abort(); ends.forEach((end) => end()); table.destroy(); },
  };
}
