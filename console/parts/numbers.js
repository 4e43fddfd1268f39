// The five numbers above the charts: the last ten seconds, and how that differs from the five minutes before.
import { h, say } from "../lib/dom.js";
import { short } from "../lib/format.js";
import { shape } from "../lib/icons.js";
import { meaning } from "../lib/states.js";

const NOW = 10;
const BEFORE = 300;

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
const sum = (points, name) => points.reduce((all, point) => all + (point.results[name] ?? 0), 0);

function replayed(points) {
  const again = sum(points, "replayed") + sum(points, "waited");
  const all = again + sum(points, "executed");
  return all ? 100 * again / all : null;
}
const highest = (values) => (values.length ? Math.max(...values) : null);

const NUMBERS = [
  { title: "Requests", unit: "/s", value: (points) => mean(points.map((point) => point.requests)) },
  { title: "Replayed", unit: "%", shown: "replayed", value: replayed },
  { title: "In progress", unit: "", shown: "in_progress", last: true, value: (points) => points.at(-1)?.in_progress ?? null },
  { title: "Unknown", unit: "", shown: "unknown", last: true, value: (points) => points.at(-1)?.unknown_records ?? null },
  { title: "Store p99", unit: "ms", value: (points) => highest(points.map((point) => point.store_ms?.p99).filter(Number.isFinite)) },
];

function changeWords(now, before, unit) {
  if (now === null || before === null) return "no comparison yet";
  const by = now - before;
  if (Math.abs(by) < 0.005 || short(Math.abs(by)) === "0") return "as 5 min ago";
  return `${by > 0 ? "↑" : "↓"} ${short(Math.abs(by))}${unit && ` ${unit}`} from 5 min ago`;
}

export function numbers() {
  const parts = NUMBERS.map((one) => {
    const value = h("span", {}, "–");
    const change = h("div", { class: "change" }, " ");
    const mark = one.shown ? shape(meaning(one.shown).form, meaning(one.shown).tone) : null;
    const element = h("section", { class: "number" }, h("h2", {}, mark, one.title), h("output", {}, value, one.unit && h("small", {}, one.unit)), change);
    return { one, element, value, change };
  });
  return {
    element: h("div", { class: "numbers" }, parts.map((part) => part.element)),
    draw(points) {
      const recent = points.slice(-NOW);
      const earlier = points.slice(-NOW - BEFORE, -NOW);
      for (const { one, element, value, change } of parts) {
        const now = one.value(recent);
        const before = earlier.length < NOW ? null : one.value(one.last ? earlier.slice(0, 1) : earlier);
        say(value, now === null ? "–" : short(now));
        say(change, changeWords(now, before, one.unit));
        element.classList.toggle("alarm", one.shown === "unknown" && now > 0);
      }
    },
  };
}
