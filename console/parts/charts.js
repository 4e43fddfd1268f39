// Charts over time, with Chart.js. Their scale only ever grows, and nothing moves but the data.
import { h, say } from "../lib/dom.js";
import { shape } from "../lib/icons.js";
import { clock, short } from "../lib/format.js";
import { colours } from "../lib/theme.js";

const DASH = [4, 3];

const LINES = 4;

// The next number that divides into four round steps.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value / LINES));
  return LINES * [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step * LINES >= value);
}

export class TimeChart {
  // series: [{name, word, tone, form, dashed, value(point)}]
  constructor({ title, series, stacked = false, unit = "", max = 0, least = 4 }) {
    Object.assign(this, { title, series, stacked, unit, fixed: max, top: least, least });
    this.values = series.map(() => h("b", {}, "–"));
    this.canvas = h("canvas", { role: "img" });
    this.element = h("section", { class: "chart" }, h("h2", {}, title),
      h("div", { class: "legend" }, series.map((one, i) =>
        h("span", {}, shape(one.form, one.tone), one.word, this.values[i]))),
      h("div", { class: "canvas" }, this.canvas));
  }

  #options() {
    const colour = colours();
    const font = { family: getComputedStyle(document.body).fontFamily, size: 11 };
    const ticks = { color: colour.quiet, font, maxRotation: 0 };
    return {
      animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
      interaction: { mode: "index", intersect: false },
      elements: { point: { radius: 0, hitRadius: 0, hoverRadius: 3 }, line: { borderWidth: 1.5, tension: 0 } },
      plugins: {
        legend: { display: false },
        tooltip: {
          backgroundColor: colour.text, titleColor: colour.ground, bodyColor: colour.ground, titleFont: font, bodyFont: font,
          cornerRadius: 4, padding: 8, boxWidth: 8, boxHeight: 8, filter: (item) => item.raw !== null,
          callbacks: { label: (item) => ` ${item.dataset.label}  ${short(item.raw)}${this.unit}` },
        },
      },
      scales: {
        x: { grid: { display: false, drawBorder: true, borderColor: colour.line }, afterFit: (scale) => { scale.paddingRight = 16; }, ticks: { ...ticks, autoSkip: false, callback: (_, index) => this.#minute(index) } },
        y: {
          stacked: this.stacked, beginAtZero: true, max: this.fixed || this.top,
          grid: { color: colour.line, drawBorder: false, drawTicks: false },
          ticks: { ...ticks, stepSize: (this.fixed || this.top) / LINES, padding: 8, callback: (value) => `${short(value)}${this.unit}` },
          afterFit: (scale) => { scale.width = 56; },
        },
      },
    };
  }

  #make() {
    const colour = colours();
    this.chart = new globalThis.Chart(this.canvas, {
      type: "line",
      data: {
        labels: [],
        datasets: this.series.map((one) => ({
          label: one.word, data: [], borderColor: colour[one.tone], backgroundColor: colour[one.tone],
          fill: this.stacked ? "stack" : false, borderDash: one.dashed ? DASH : [], borderWidth: this.stacked ? 0 : 1.5,
        })),
      },
      options: this.#options(),
    });
  }

  // A label where a whole minute, or ten of them, begins.
  #minute(index) {
    const at = (point) => Math.floor(Date.parse(point.at) / this.every);
    const isFirst = index > 0 && at(this.points[index]) > at(this.points[index - 1]);
    return isFirst ? clock(at(this.points[index]) * this.every, false) : null;
  }

  restyle() {
    this.chart?.destroy();
    this.chart = null;
    if (this.points) this.draw(this.points);
  }

  forget() { this.top = this.least; }

  draw(points) {
    this.points = points;
    if (!globalThis.Chart) return;
    if (!this.chart) this.#make();
    const { data, options } = this.chart;
    data.labels = points.map((point) => clock(point.at));
    this.every = points.length > 60 && Date.parse(points.at(-1).at) - Date.parse(points[0].at) < 600e3 ? 60e3 : 600e3;
    let highest = 0;
    this.series.forEach((one, i) => { data.datasets[i].data = points.map((point) => one.value(point)); });
    points.forEach((_, at) => {
      const here = data.datasets.map((set) => set.data[at] ?? 0);
      highest = Math.max(highest, this.stacked ? here.reduce((a, b) => a + b, 0) : Math.max(...here));
    });
    if (highest > this.top) this.top = nice(highest);
    options.scales.y.max = this.fixed || this.top;
    options.scales.y.ticks.stepSize = (this.fixed || this.top) / LINES;
    this.chart.update("none");
    this.#tell(points.at(-1));
  }

  #tell(last) {
    const words = this.series.map((one, i) => {
      const value = last ? one.value(last) : null;
      const text = value === null || value === undefined ? "–" : `${short(value)}${this.unit}`;
      say(this.values[i], text);
      return `${one.word} ${text}`;
    });
    this.canvas.setAttribute("aria-label", `${this.title}, last: ${words.join(", ")}`);
  }

  destroy() { this.chart?.destroy(); }
}
