// Curl lines: read as developers paste them, and written for them to paste.
import { get } from "./api.js";

function words(line) {
  const found = [];
  const pattern = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(\s+)|([^\s'"\\]+)/gs;
  let word = null;
  for (const [, single, double, escaped, space, bare] of line.replace(/\\\r?\n/g, " ").matchAll(pattern)) {
    if (space !== undefined) {
      if (word !== null) found.push(word);
      word = null;
    } else {
      word = (word ?? "") + (single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? bare);
    }
  }
  if (word !== null) found.push(word);
  return found;
}

const WITH_VALUE = new Set(["-u", "--user", "-A", "-e", "-o", "--output", "-m", "--max-time", "--cacert", "--cert", "--key", "-b", "-w"]);

// → {method, target, headers, body}: only what a request is made of. null: it is no curl line.
export function parse(line) {
  const [program, ...rest] = words(line.trim());
  if (program !== "curl") return null;
  const request = { method: "", target: "/", headers: {}, body: "" };
  for (let i = 0; i < rest.length; i++) {
    const word = rest[i];
    if (word === "-X" || word === "--request") request.method = rest[++i] ?? "";
    else if (/^-X./.test(word)) request.method = word.slice(2);
    else if (word === "-H" || word === "--header") header(request, rest[++i] ?? "");
    else if (/^-H./.test(word)) header(request, word.slice(2));
    else if (["-d", "--data", "--data-raw", "--data-binary", "--json"].includes(word)) {
      request.body += rest[++i] ?? "";
      request.headers["Content-Type"] ??= word === "--json" ? "application/json" : "application/x-www-form-urlencoded";
    } else if (WITH_VALUE.has(word)) i++;
    else if (!word.startsWith("-")) request.target = word.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/#.*/, "") || "/";
  }
  request.method ||= request.body ? "POST" : "GET";
  return request;
}

function header(request, text) {
  const [, name, value] = text.match(/^([^:]+):\s*(.*)$/s) ?? [];
  if (!name) return;
  for (const other of Object.keys(request.headers)) {
    if (other.toLowerCase() === name.toLowerCase()) delete request.headers[other];
  }
  request.headers[name] = value;
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// A line that works against this gateway, for pages that have nothing to show yet.
export async function example(status) {
  const { routes } = await get("/api/routes").catch(() => ({ routes: [] }));
  const route = routes.find((one) => one.mode !== "observe") ?? routes[0];
  const base = status?.listening?.[0] ?? "http://GATEWAY";
  const path = (route?.path ?? "/").replace(/\*+$/, "").replace(/\{[^}]*\}/g, "1");
  const method = route?.methods?.[0] ?? "POST";
  return `curl -i -X ${method} ${base}${path} -H ${quote('Idempotency-Key: "console-1"')} -H ${quote("Content-Type: application/json")} -d ${quote('{"amount": 5}')}`;
}
