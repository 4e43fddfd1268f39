// Keeps `known` up to date: by server-sent events, by asking every two seconds where there are none, and again after
// the gateway was away.
import { events, get } from "./api.js";
import { setGatewayTime } from "./format.js";
import { known, on, tell } from "./store.js";

const POINTS_MAX = 3600;
const DECISIONS_MAX = 1000;
const POLL_MS = 2000;
const RETRY_MS = [500, 1000, 2000, 3000, 5000];

let stop = new AbortController();  // ends the stream that is read now
let isAway = false;                // kept by the browser for going back to, and not shown

export function start() {
  on("token", () => stop.abort());  // begin again with it, or without
  document.addEventListener("visibilitychange", () => { if (!document.hidden && known.link === "lost") wake(); });
  // A page that is only kept must not hold one of the six connections that a browser opens to a server.
  addEventListener("pagehide", () => { isAway = true; stop.abort(); });
  addEventListener("pageshow", () => { isAway = false; tell("shown"); });
  run();
}

const next = (what) => new Promise((done) => { const off = on(what, () => { off(); done(); }); });

let wake = () => {};
const pause = (ms) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  wake = () => { clearTimeout(timer); done(); };
});

function link(state) {
  if (known.link === state) return;
  known.link = state;
  tell("link", state);
}

async function run() {
  for (let failures = 0; ; ) {
    if (isAway) await next("shown");
    stop = new AbortController();
    try {
      await begin();
      failures = 0;
      await events("/api/events", stop.signal, take);
    } catch (failure) {
      if (stop.signal.aborted) continue;
      if (failure.status === 401 || failure.status === 403) {
        tell("locked", failure);
        await next("token");
        continue;
      }
      if (failure.status >= 400) {  // it answers, but has no stream for this page
        await poll().catch(() => {});
        if (failure.status === 404 || failure.status === 503) continue;
      }
    }
    link("lost");
    await pause(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  }
}

async function begin() {
  const status = get("/api/status").then(takeStatus);
  const decided = get("/api/decisions", { limit: 50 }).then(({ decisions }) => {
    known.decisions = decisions;
    tell("decisions");
  });
  const stats = get("/api/stats", { step: "1s" }).then(({ points }) => takePoints(points));
  await Promise.all([status, decided, stats]);
  link("live");
}

function take(name, data) {
  if (name === "point") takePoint(data);
  else if (name === "decision") takeDecisions([data]);
  else if (name === "status") takeStatus(data);
  else if (name === "skipped") tell("skipped", data.count);
}

function takePoints(points) {
  known.points = points.slice(-POINTS_MAX);
  known.unknown = known.points.at(-1)?.unknown_records ?? 0;
  tell("points");
  tell("unknown");
}

function takePoint(point) {
  if (known.points.at(-1)?.at >= point.at) return;
  known.points.push(point);
  if (known.points.length > POINTS_MAX) known.points.shift();
  known.unknown = point.unknown_records;
  tell("points");
  tell("unknown");
}

// Decisions may come from the stream and from a poll: each once, by its number.
function takeDecisions(some) {
  const newest = known.decisions?.[0]?.seq ?? -1;
  const fresh = some.filter((one) => one.seq > newest);
  if (!fresh.length) return;
  known.decisions = [...fresh, ...(known.decisions ?? [])].slice(0, DECISIONS_MAX);
  tell("decisions");
}

function takeStatus(status) {
  const before = known.status;
  known.status = status;
  setGatewayTime(status.now);
  tell("status");
  if (before && before.run !== status.run) tell("restarted");
}

// Asks until the stream is there again; tries that once a minute.
async function poll() {
  link("polling");
  for (let round = 0; round < 30 && !stop.signal.aborted; round++) {
    const [status, stats, decided] = await Promise.all([
      get("/api/status"), get("/api/stats", { step: "1s" }), get("/api/decisions", { limit: 50 })]);
    takeStatus(status);
    takePoints(stats.points);
    takeDecisions(decided.decisions);
    await pause(POLL_MS);
  }
}
