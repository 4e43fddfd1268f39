// The admin API. Everything that the console does goes through here, and curl could do it as well.

const TOKEN = "semel.token";

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
  clear: () => sessionStorage.removeItem(TOKEN),
};

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || `The gateway answered ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
  }
}

function headers(more = {}) {
  const text = token.get();
  return { ...more, ...(text && { Authorization: `Bearer ${text}` }) };
}

async function read(response) {
  const text = await response.text();
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    body = { detail: text.slice(0, 300) };
  }
  if (!response.ok) throw new ApiError(response.status, body);
  return body;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new ApiError(0, { detail: "The gateway does not answer. Is it running?", code: "unreachable" });
  }
  return read(response);
}

export function query(parameters) {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  return text && `?${text}`;
}

export const get = (path, parameters = {}, options = {}) => send(path + query(parameters), { headers: headers(), ...options });

export const post = (path, body) =>
  send(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) });

// Reads server-sent events with fetch, which can send a token where EventSource cannot. Calls `use` with the name
// and the value of each; returns when the stream ends, throws when there is none.
export async function events(path, signal, use) {
  const response = await fetch(path, { headers: headers({ Accept: "text/event-stream" }), cache: "no-store", signal });
  if (!response.ok) await read(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parse(block);
      if (event) use(event.name, event.data);
    }
  }
}

function parse(block) {
  let name = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trim();
  }
  return data ? { name, data: JSON.parse(data) } : null;
}
