// Live: five numbers, four charts, and the last decisions.
import { get } from "../lib/api.js";
import { button, fill, h } from "../lib/dom.js";
import { milliseconds, time } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { change } from "../lib/place.js";
import { mark, meaning } from "../lib/states.js";
import { known, on } from "../lib/store.js";
import { TimeChart } from "../parts/charts.js";
import { empty } from "../parts/empty.js";
import { example } from "../lib/curl.js";
import { numbers } from "../parts/numbers.js";
import { Table } from "../parts/table.js";

const SHOWN = 50;
const STEPS = [["1s", "5 min by 1 s", 300], ["10s", "1 h by 10 s", 360], ["1m", "1 h by 1 min", 60]];
const RESULTS = ["executed", "replayed", "waited", "conflict", "mismatch", "unknown"];

const result = (name) => ({ name, word: meaning(name).word, tone: meaning(name).tone, form: meaning(name).form, value: (point) => point.results[name] ?? 0 });
const rest = {
  name: "rest", word: "other", tone: "quiet", form: "dash",
  value: (point) => Object.entries(point.results).reduce((sum, [name, value]) => sum + (RESULTS.includes(name) ? 0 : value), 0),
};
const line = (word, tone, form, value, dashed = false) => ({ word, tone, form, value, dashed });

function replayShare(point) {
  const { executed = 0, replayed = 0, waited = 0 } = point.results;
  const all = executed + replayed + waited;
  return all ? 100 * (replayed + waited) / all : null;
}

function makeCharts() {
  return [
    new TimeChart({ title: "Requests by result", stacked: true, least: 4, series: [...RESULTS.map(result), rest] }),
    new TimeChart({ title: "Latency", unit: " ms", least: 4, series: [
      line("store p50", "waited", "square", (point) => point.store_ms?.p50 ?? null), line("p99", "waited", "hollow", (point) => point.store_ms?.p99 ?? null, true),
      line("upstream p50", "executed", "dot", (point) => point.upstream_ms?.p50 ?? null), line("p99", "executed", "ring", (point) => point.upstream_ms?.p99 ?? null, true)] }),
    new TimeChart({ title: "In progress", least: 4, series: [
      line("executions", "replayed", "half", (point) => point.in_progress), line("oldest, s", "conflict", "triangle", (point) => point.oldest_in_progress_seconds ?? 0, true)] }),
    new TimeChart({ title: "Replay ratio", unit: " %", max: 100, series: [line("replayed or waited", "replayed", "again", replayShare)] }),
  ];
}

function keyOf(one) {
  if (one.key) return h("span", { class: "mono", title: one.key }, one.key);
  return one.record ? h("span", { class: "quiet", title: "log.keys: full shows keys here" }, "not shown") : "–";
}

const COLUMNS = [
  { title: "Time", width: "72px", cell: (one) => time(one.at, "clock") },
  { title: "Route", width: "minmax(80px, 1fr)", cell: (one) => one.route, filter: "route" },
  { title: "Result", width: "100px", cell: (one) => mark(one.result), filter: "result" },
  { title: "Status", width: "48px", end: true, cell: (one) => one.status || "–", filter: "status" },
  { title: "Key", width: "minmax(96px, 1.8fr)", cell: keyOf, filter: "key" },
  { title: "Tenant", width: "minmax(64px, 1fr)", cell: (one) => one.tenant || "–", filter: "tenant" },
  { title: "Took", width: "72px", end: true, cell: (one) => milliseconds(one.duration_ms) },
  { title: "Record", width: "80px", cell: (one) => (one.record ? h("span", { class: "mono" }, one.record.slice(0, 8)) : "–") },
];

// A cell that narrows the table to its value when it is clicked.
function withFilter(column) {
  if (!column.filter) return column;
  return { ...column, cell: (one) => {
    const content = column.cell(one);
    const value = one[column.filter];
    if (value === undefined || value === null || value === "") return content;
    return h("button", { class: "plain", type: "button", tabindex: "-1", title: `Only ${column.title.toLowerCase()} ${value}`,
      onclick: (event) => { event.stopPropagation(); change({ [column.filter]: value }); } }, content);
  } };
}

export function mount(root, parameters) {
  let filters = parameters;
  let step = STEPS[0];
  let paused = false;
  let held = null;    // the decisions as they were when it was paused
  let slower = null;  // points of a larger step
  const charts = makeCharts();
  const tiles = numbers();
  const segments = h("div", { class: "segments", role: "group", "aria-label": "Resolution" }, STEPS.map((one) =>
    h("button", { type: "button", onclick: () => choose(one), "aria-pressed": String(one === step) }, one[1])));
  const table = new Table({
    label: "Last decisions", flows: true, columns: COLUMNS.map(withFilter), key: (one) => one.seq,
    open: (one) => { if (one.record) change({ open: one.record }); },
    narrow: (one) => [mark(one.result), one.status || "–", h("span", { class: "mono" }, one.key || (one.record ?? one.route).slice(0, 24)), time(one.at, "clock")],
  });
  const chips = h("div", { class: "chips" });
  const pause = button("", () => { paused = !paused; held = paused ? known.decisions : null; drawPause(); drawTable(); }, { kind: "small" });
  const nothing = h("div", { class: "box", hidden: true });
  fill(root, h("div", { class: "head" }, h("h1", {}, "Live"), h("div", { class: "end" }, segments)), tiles.element,
    h("div", { class: "charts" }, charts.map((one) => one.element)),
    h("div", { class: "head" }, h("h1", {}, "Last decisions"), chips, h("div", { class: "end" }, pause)), nothing, table.element);

  function drawPause() {
    fill(pause, icon(paused ? "play" : "pause"), paused ? "Go on" : "Pause");
    pause.setAttribute("aria-pressed", String(paused));
  }

  async function choose(one) {
    step = one;
    [...segments.children].forEach((element, i) => element.setAttribute("aria-pressed", String(STEPS[i] === one)));
    slower = null;
    for (const chart of charts) chart.forget();
    await refresh();
  }

  async function refresh() {
    if (step[0] !== "1s") slower = (await get("/api/stats", { step: step[0] })).points;
    drawCharts();
  }

  function drawCharts() {
    if (document.hidden) return;
    const points = (step[0] === "1s" ? known.points : slower ?? []).slice(-step[2]);
    for (const chart of charts) chart.draw(points);
  }

  function drawTable() {
    const names = Object.keys(filters);
    const decisions = held ?? known.decisions;
    const all = (decisions ?? []).filter((one) => names.every((name) => String(one[name]) === filters[name]));
    table.show(all.slice(0, SHOWN));
    table.element.hidden = all.length === 0;
    nothing.hidden = all.length > 0 || !decisions;
    if (!all.length) {
      fill(nothing, names.length ? empty("No such decision among the last ones", "Take a filter away, or look among the records.")
        : empty("No request yet", "Each request that reaches a route appears here, with what was decided about it. Send one:", example(known.status)));
    }
    fill(chips, names.map((name) => h("span", { class: "chip" }, h("b", {}, name), h("i", {}, filters[name]),
      h("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => change({ [name]: undefined }) }, icon("close")))));
  }

  const ends = [
    on("points", () => { tiles.draw(known.points); if (step[0] === "1s") drawCharts(); }),
    on("decisions", () => { if (!paused) drawTable(); }),
    on("status", () => { if (!known.decisions?.length) drawTable(); }),
    on("theme", () => charts.forEach((chart) => chart.restyle())),
  ];
  const timer = setInterval(() => { if (step[0] !== "1s" && !document.hidden) refresh().catch(() => {}); }, 10000);
  drawPause();
  tiles.draw(known.points);
  drawTable();
  requestAnimationFrame(drawCharts);
  addEventListener("load", drawCharts, { once: true });
  return {
    table: () => table,
    update(next) { filters = next; drawTable(); },
    destroy() { ends.forEach((end) => end()); clearInterval(timer); charts.forEach((chart) => chart.destroy()); table.destroy(); },
  };
}
