// Numbers, times and ids as people read them.
import { h } from "./dom.js";

let ahead = 0;  // milliseconds that the gateway's clock is ahead of this one

export function setGatewayTime(text) {
  const at = Date.parse(text);
  if (Number.isFinite(at)) ahead = at - Date.now();
}
export const now = () => Date.now() + ahead;

export function count(value) {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) >= 10000) return `${(value / 1000).toPrecision(digits)} k`;
  if (Math.abs(value) >= 100) return count(value);
  return Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 2 });
}

export function milliseconds(value) {
  if (!Number.isFinite(value)) return "–";
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))} ms`;
}

export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 1024) return `${value} B`;
  return value < 1024 * 1024 ? `${(value / 1024).toFixed(1)} KiB` : `${(value / 1024 / 1024).toFixed(1)} MiB`;
}

export function span(seconds) {
  const value = Math.max(0, Math.round(seconds));
  if (value < 60) return `${value} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.floor(value % 3600 / 60)} min`;
  return `${Math.floor(value / 86400)} d ${Math.floor(value % 86400 / 3600)} h`;
}

export function ago(text) {
  const seconds = (now() - Date.parse(text)) / 1000;
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < -1) return `in ${span(-seconds)}`;
  if (seconds < 1) return "now";
  return seconds < 86400 ? `${span(seconds)} ago` : day(text);
}

function day(text) {
  const at = new Date(text);
  const words = at.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return `${words} ${clock(text, false)}`;
}

export function clock(text, seconds = true) {
  return new Date(text).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }) });
}

// A time that stays relative: the exact one is shown on hover and copied on click.
export function time(text, form = "ago") {
  if (!text) return h("span", { class: "quiet" }, "–");
  const shown = form === "clock" ? clock(text) : ago(text);
  return h("time", { datetime: text, title: text, class: "copy", data: { copy: text, form } }, shown);
}

export function refreshTimes(root = document) {
  for (const element of root.querySelectorAll('time[data-form="ago"]')) {
    const words = ago(element.dateTime);
    if (element.textContent !== words) element.textContent = words;
  }
}

// An id, a key or a tenant: shortened, whole on hover, copied on click.
export function id(text, digits = 8) {
  if (!text) return h("span", { class: "quiet" }, "–");
  return h("span", { class: "mono copy", title: text, data: { copy: text } }, text.slice(0, digits));
}
export function long(text) {
  if (!text) return h("span", { class: "quiet" }, "–");
  return h("span", { class: "mono copy", title: text, data: { copy: text } }, text);
}

export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
