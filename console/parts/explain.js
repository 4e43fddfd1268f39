// Explain: a request, as a curl line or in fields, and what the gateway would make of it, step by step.
import { get, post } from "../lib/api.js";
import { button, field, fill, h } from "../lib/dom.js";
import { id, long, pretty, time } from "../lib/format.js";
import { parse } from "../lib/curl.js";
import { change } from "../lib/place.js";
import { mark } from "../lib/states.js";
import { trouble } from "./empty.js";

function step(name, ...content) {
  return h("li", {}, h("b", {}, name), h("div", {}, content));
}

// Whether the member at `pointer` is left out of the fingerprint.
function isLeftOut(pointer, { include = [], exclude = [] }) {
  const within = (other) => pointer === other || pointer.startsWith(`${other}/`);
  if (exclude.some(within)) return true;
  return include.length > 0 && !include.some((other) => within(other) || other.startsWith(`${pointer}/`));
}

// The body as it was sent, with what is not compared struck through.
function compared(body, recipe) {
  let value;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  const lines = [];
  const write = (one, pointer, indent, prefix, suffix) => {
    const isOut = pointer !== "" && isLeftOut(pointer, recipe);
    const put = (text) => lines.push(indent, isOut ? h("s", {}, text) : text, "\n");
    if (one === null || typeof one !== "object") return put(`${prefix}${JSON.stringify(one)}${suffix}`);
    const [open, close] = Array.isArray(one) ? ["[", "]"] : ["{", "}"];
    const entries = Object.entries(one);
    put(`${prefix}${open}`);
    entries.forEach(([name, inner], i) => {
      const label = Array.isArray(one) ? "" : `${JSON.stringify(name)}: `;
      const path = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      write(inner, path, `${indent}  `, label, i < entries.length - 1 ? "," : "");
    });
    put(`${close}${suffix}`);
  };
  write(value, "", "", "", "");
  return h("pre", { class: "text" }, lines);
}

function fingerprintStep(found, request) {
  if (!found) return null;
  const parts = found.parts?.map((one) => one.part).join(", ");
  const body = (found.include || found.exclude) && request.body ? compared(request.body, found) : null;
  return step("Compared", h("span", {}, `By ${parts || "nothing"}; the body as ${found.body}. Digest `, id(found.digest, 16)),
    body, found.canonical && h("details", {}, h("summary", { class: "quiet" }, "Canonical form that is hashed"), h("pre", { class: "text" }, found.canonical)));
}

// What the store holds under this key, in a sentence.
async function nowStep(found) {
  if (!found.record) return null;
  const record = found.now && await get(`/api/keys/${found.record}`).catch(() => null);  // with its fingerprint
  if (!record?.state) return { words: "The key is new: the request would be executed.", record: null };
  const same = record.fingerprint === found.fingerprint?.digest;
  const words = !same ? "Another request used this key: this one would be refused with 422 key-reused." : {
    completed: `It would be replayed: ${record.status}.`, in_progress: "The first request is still running: this one would wait, or get 409.",
    queued: "It is queued: the status would be given.", released: "It was released: it would be executed again.",
    unknown: "Its outcome is unknown: it would get 409 outcome-unknown.", tombstone: "The key has expired: it would get 410 key-expired." }[record.state];
  return { words, record };
}

async function draw(place, request) {
  const found = await post("/api/explain", request);
  const now = await nowStep(found);
  const isRefused = found.result === "refused";
  const tenant = found.tenant && (found.tenant.name !== undefined ? [`${found.tenant.name || "(none)"}`, h("span", { class: "quiet" }, ` from ${found.tenant.from}`)] : `from ${found.tenant.from}`);
  fill(place,
    h("div", { class: "verdict" }, h("p", {}, mark(isRefused ? "refused" : "executed", isRefused ? `Refused: ${found.status} ${found.code}` : found.result, "large")),
      found.why && h("p", {}, found.why), now && h("p", {}, h("strong", {}, "Now: "), now.words),
      now?.record && h("p", {}, mark(now.record.state), " ", time(now.record.updated_at), " ", button("Open the record", () => change({ open: now.record.id }), { kind: "small" }))),
    h("ol", { class: "steps" },
      step("Route", found.route ? [h("span", {}, found.route, h("span", { class: "quiet" }, ` ${found.path}${found.mode === "observe" ? ", observes only" : ""}`))] : "none matches"),
      found.keyed === false && step("Key", "not a request that has one"),
      found.key && step("Key", h("span", {}, found.key.value ? long(found.key.value) : "", h("span", { class: "quiet" }, ` from the ${found.key.from}`))),
      tenant && step("Tenant", h("span", {}, tenant)), fingerprintStep(found.fingerprint, request),
      found.operation && step("Operation", found.operation), found.record && step("Record", id(found.record, 16)),
      step("Then", isRefused ? `answered ${found.status} by the gateway; nothing is sent on` : found.result)),
    h("details", {}, h("summary", { class: "quiet" }, "As JSON"), h("pre", { class: "text" }, pretty(JSON.stringify(found)))));
}

export function explainForm() {
  const line = h("textarea", { rows: "3", spellcheck: "false", placeholder: "curl -X POST …/v1/charges -H 'Idempotency-Key: \"order-1001\"' -d '{\"amount\": 4200}'" });
  const method = h("input", { value: "POST", required: true });
  const target = h("input", { value: "/", class: "mono", required: true });
  const tenant = h("input", { placeholder: "as the request proves it", autocomplete: "off" });
  const headers = h("textarea", { rows: "3", spellcheck: "false", placeholder: "Idempotency-Key: \"order-1001\"\nContent-Type: application/json" });
  const body = h("textarea", { rows: "6", spellcheck: "false", placeholder: "{\"amount\": 4200}" });
  line.addEventListener("input", () => {
    const found = parse(line.value);
    if (!found) return;
    method.value = found.method;
    target.value = found.target;
    headers.value = Object.entries(found.headers).map(([name, value]) => `${name}: ${value}`).join("\n");
    body.value = found.body;
  });
  const result = h("div", { class: "stack", role: "status" }, h("div", { class: "verdict quiet" }, "Route, tenant, key, the form that is compared, and what would happen now appear here."));
  const read = () => ({
    method: method.value.trim(), target: target.value.trim(), body: body.value, ...(tenant.value && { tenant: tenant.value }),
    headers: Object.fromEntries(headers.value.split("\n").map((one) => one.split(/:\s*(.*)/s).slice(0, 2)).filter(([name, value]) => name.trim() && value !== undefined)),
  });
  const form = h("form", { class: "ask" }, field("A curl line", line), h("div", { class: "line" }, field("Method", method), field("Path and query", target)),
    field("Headers", headers), field("Body", body), field("Tenant to assume", tenant), h("div", { class: "row" }, h("button", { class: "button main", type: "submit" }, "Explain")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await draw(result, read());
    } catch (failure) {
      fill(result, trouble(failure));
    }
  });
  return h("div", { class: "explain" }, form, result);
}
