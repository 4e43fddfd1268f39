// The side panel with one record: header, timeline, request, answer, raw.
import { get } from "../lib/api.js";
import { button, fill, h } from "../lib/dom.js";
import { bytes, id, long, pretty, time } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { change } from "../lib/place.js";
import { mark } from "../lib/states.js";
import { on } from "../lib/store.js";
import { actionsFor } from "./actions.js";
import { trouble } from "./empty.js";
import { ensureToken } from "./sign_in.js";
import { timeline } from "./timeline.js";

const panel = document.getElementById("panel");
let opened = null;     // the digits that are shown
let record = null;
let canProbe = false;
let opener = null;     // gets the focus back

on("changed", () => { if (opened) load(opened); });

export const isOpen = () => opened !== null;
export const shownRecord = () => record;

export function show(digits) {
  if (!digits) return hide();
  if (digits === opened) return;
  opener ??= document.activeElement;
  opened = digits;
  panel.hidden = false;
  panel.tabIndex = -1;
  load(digits).then(() => panel.focus({ preventScroll: true }));
}

function hide() {
  if (!opened) return;
  opened = record = null;
  panel.hidden = true;
  fill(panel);
  opener?.focus?.({ preventScroll: true });
  opener = null;
}

const close = () => change({ open: undefined });
const closer = () => button(icon("close"), close, { kind: "icon close", "aria-label": "Close the record" });

async function load(digits) {
  try {
    const [found, { routes }] = await Promise.all([get(`/api/keys/${encodeURIComponent(digits)}`), get("/api/routes").catch(() => ({ routes: [] }))]);
    if (digits !== opened) return;
    record = found;
    canProbe = routes.some((route) => route.name === found.operation && route.probe);
    draw();
  } catch (failure) {
    if (digits !== opened) return;
    fill(panel, h("div", { class: "panel-head" }, h("div", { class: "panel-title" }, h("strong", {}, "Record ", id(digits, 12)), closer())),
      h("div", { class: "section" }, trouble(failure)));
  }
}

function fact(name, value) {
  return value === null || value === undefined || value === "" ? null : [h("dt", {}, name), h("dd", {}, value)];
}

function head() {
  const resource = record.resource?.id ? `${record.resource.type || "resource"} ${record.resource.id}` : null;
  return h("div", { class: "panel-head" },
    h("div", { class: "panel-title" }, mark(record.state, undefined, "large"),
      h("span", { class: "quiet" }, `attempt ${record.attempt}`, record.status ? ` · ${record.status}` : ""), closer()),
    h("dl", { class: "facts" },
      fact("Operation", record.scope_path ? `${record.operation} ${record.scope_path}` : record.operation),
      fact("Key", long(record.key)), fact("Tenant", record.tenant ? long(record.tenant) : h("span", { class: "quiet" }, "none")),
      fact("Resource", resource && long(resource)), fact("Record", id(record.id, 16)),
      fact("Why", record.reason)),
    h("div", { class: "row" }, actionsFor(record, { canProbe })));
}

function requestSection() {
  const request = record.request ?? {};
  const described = Object.entries(request.described ?? {});
  return h("section", { class: "section" }, h("h2", {}, "Request"),
    h("dl", { class: "facts" },
      fact("Asked", h("span", { class: "mono" }, [request.method ?? record.method, request.path ?? record.path].filter(Boolean).join(" ") || "not kept")),
      described.map(([pointer, value]) => fact(h("span", { class: "mono" }, pointer), long(String(value)))),
      fact("Kept", request.bytes ? bytes(request.bytes) : null),
      fact("Fingerprint", id(record.fingerprint, 16)), fact("Trace", record.trace ? long(record.trace) : null)));
}

function ownerSection() {
  const owner = record.owner ?? {};
  return h("section", { class: "section" }, h("h2", {}, "Held"),
    h("dl", { class: "facts" },
      fact("By", owner.node ? `${owner.node}${owner.is_this_process ? " (this process)" : ""}` : null),
      fact("Lease until", record.state === "in_progress" && record.lease_until ? time(record.lease_until) : null),
      fact("Created", time(record.created_at)), fact("Changed", time(record.updated_at)),
      fact("Expires", record.expires_at ? time(record.expires_at) : null),
      fact("Refused until", record.tombstone_until ? time(record.tombstone_until) : null)));
}

function answerBody(answer) {
  if (answer.body_base64) return h("p", { class: "quiet" }, `Not text: ${bytes(Math.floor(answer.body_base64.length * 3 / 4))}, as base64 in the API.`);
  if (answer.body) return h("pre", { class: "text" }, pretty(answer.body));
  return h("p", { class: "quiet" }, answer.body_note && answer.body_note !== "kept" ? `The body was ${answer.body_note}.` : "No body.");
}

function answerSection() {
  if (!record.answer) return h("section", { class: "section" }, h("h2", {}, "Answer"), h("p", { class: "quiet" }, "None is recorded."));
  const place = h("div", { class: "stack" }, h("p", { class: "quiet" },
    `${record.answer.status}, ${bytes(record.answer.body_bytes ?? 0)}. Headers and body are hidden: who looks is in the log.`));
  const reveal = button("Show", async () => {
    if (!await ensureToken("Answers may hold a customer's data. Looking at one needs a named token, and is logged.")) return;
    try {
      const answer = await get(`/api/keys/${record.id}/answer`);
      fill(place, h("pre", { class: "text" }, [`${answer.status}`, ...answer.headers.map(([name, value]) => `${name}: ${value}`)].join("\n")), answerBody(answer));
      reveal.remove();
    } catch (failure) {
      fill(place, trouble(failure));
    }
  }, { kind: "small" });
  return h("section", { class: "section" }, h("h2", {}, h("span", {}, "Answer"), reveal), place);
}

function draw() {
  const top = panel.querySelector(".panel-body")?.scrollTop ?? 0;
  const body = h("div", { class: "panel-body" },
    h("section", { class: "section" }, h("h2", {}, "Timeline"), timeline(record)),
    requestSection(), answerSection(), ownerSection(),
    h("section", { class: "section" }, h("details", {}, h("summary", {}, "Raw"), h("pre", { class: "text" }, JSON.stringify(record, null, 2)))));
  fill(panel, head(), body);
  body.scrollTop = top;
}
