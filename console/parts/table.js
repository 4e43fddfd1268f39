// A table of rows of one height. Only the rows that can be seen are in the page, so that ten thousand scroll as smoothly
// as ten. With `flows`, it is as long as its rows and new ones slide in at the top.
import { fill, h } from "../lib/dom.js";

const BEYOND = 8;  // rows drawn above and below what is seen
const narrow = matchMedia("(max-width: 719px)");

export class Table {
  // columns: [{title, width, end, cell(row)}]; narrow(row): the four parts of a row on a phone; key(row): its identity.
  constructor({ label, columns, narrow: narrowRow, key, open, nearEnd, flows = false }) {
    Object.assign(this, { columns, narrowRow, key, open, nearEnd, flows });
    this.rows = [];
    this.drawn = new Map();
    this.selected = -1;
    this.space = h("div", { class: "space", role: "rowgroup" });
    const titles = columns.map((one) => h("div", { role: "columnheader", class: one.end ? "end-aligned" : "" }, one.title));
    this.viewport = h("div", { class: "rows", role: "grid", tabindex: "0", "aria-label": label, "aria-rowcount": "0" },
      h("div", { role: "rowgroup" }, h("div", { class: "thead", role: "row" }, titles)), this.space);
    this.below = h("div", { class: "below", hidden: true });
    this.element = h("div", { class: `table ${flows ? "flows" : "scrolls"}` }, this.viewport, this.below);
    this.element.style.setProperty("--columns", columns.map((one) => one.width).join(" "));
    this.viewport.addEventListener("scroll", () => this.#later(), { passive: true });
    this.space.addEventListener("click", (event) => this.#click(event));
    this.resized = new ResizeObserver(() => this.#later());
    this.resized.observe(this.viewport);
    this.turned = () => this.redraw();
    narrow.addEventListener("change", this.turned);
  }

  destroy() {
    this.resized.disconnect();
    narrow.removeEventListener("change", this.turned);
  }

  get rowHeight() { return narrow.matches ? 52 : 32; }
  get current() { return this.rows[this.selected]; }

  show(rows) {
    const chosen = this.current && this.key(this.current);
    this.rows = rows;
    this.selected = chosen === undefined ? -1 : rows.findIndex((row) => this.key(row) === chosen);
    this.viewport.setAttribute("aria-rowcount", String(rows.length + 1));
    this.#draw();
  }

  // Draws rows whose contents changed.
  redraw() {
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.#draw();
  }

  note(...words) {
    fill(this.below, ...words);
    this.below.hidden = words.length === 0;
  }

  move(by) {
    if (!this.rows.length) return false;
    this.selected = Math.max(0, Math.min(this.rows.length - 1, this.selected + by));
    const top = this.selected * this.rowHeight;
    const head = narrow.matches ? 0 : 32;
    const view = this.flows ? null : this.viewport;
    if (view && top < view.scrollTop) view.scrollTop = top;
    if (view && top + this.rowHeight > view.scrollTop + view.clientHeight - head) {
      view.scrollTop = top + this.rowHeight - view.clientHeight + head;
    }
    this.#draw();
    if (this.flows) this.drawn.get(this.key(this.current))?.scrollIntoView({ block: "nearest" });
    return true;
  }

  openCurrent() {
    if (!this.current) return false;
    this.open?.(this.current);
    return true;
  }

  #later() {
    this.waiting ??= requestAnimationFrame(() => { this.waiting = null; this.#draw(); });
  }

  #click(event) {
    const row = event.target.closest(".tr");
    if (!row || event.defaultPrevented) return;
    this.selected = Number(row.dataset.index);
    this.#draw();
    this.openCurrent();
  }

  #range() {
    if (this.flows) return [0, this.rows.length];
    const height = this.rowHeight;
    const first = Math.max(0, Math.floor(this.viewport.scrollTop / height) - BEYOND);
    return [first, Math.min(this.rows.length, Math.ceil((this.viewport.scrollTop + this.viewport.clientHeight) / height) + BEYOND)];
  }

  #draw() {
    this.space.style.height = `${this.rows.length * this.rowHeight}px`;
    const [first, end] = this.#range();
    const wanted = new Map();
    for (let i = first; i < end; i++) wanted.set(this.key(this.rows[i]), i);
    for (const [key, element] of this.drawn) {
      if (wanted.has(key)) continue;
      element.remove();
      this.drawn.delete(key);
    }
    const isFirst = this.drawn.size === 0;
    for (const [key, index] of wanted) this.#place(key, index, isFirst);
    const active = this.current && this.drawn.get(this.key(this.current));
    if (active) this.viewport.setAttribute("aria-activedescendant", active.id);
    else this.viewport.removeAttribute("aria-activedescendant");
    if (end >= this.rows.length - 50) this.nearEnd?.();
  }

  #place(key, index, isFirst) {
    let element = this.drawn.get(key);
    if (!element) {
      element = this.#make(this.rows[index]);
      if (!isFirst) element.classList.add("fresh");
      this.drawn.set(key, element);
      this.space.append(element);
    }
    element.dataset.index = String(index);
    element.id = `row-${key}`;
    element.setAttribute("aria-rowindex", String(index + 2));
    element.setAttribute("aria-selected", String(index === this.selected));
    element.style.transform = `translateY(${index * this.rowHeight}px)`;
  }

  #make(row) {
    const cells = narrow.matches && this.narrowRow
      ? h("div", { class: "narrow-row", role: "gridcell" }, this.narrowRow(row).map((part) => h("div", {}, part)))
      : this.columns.map((one) => h("div", { role: "gridcell", class: `td ${one.end ? "end-aligned" : ""}` }, one.cell(row)));
    return h("div", { class: `tr ${this.open ? "opens" : ""}`, role: "row" }, cells);
  }
}
