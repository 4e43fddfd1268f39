// The frame around the pages: the bar, the top line, the notice and the help.
import { button, fill, h, say } from "../lib/dom.js";
import { icon, shape } from "../lib/icons.js";
import { count, span, now } from "../lib/format.js";
import { address } from "../lib/place.js";
import { known, on } from "../lib/store.js";
import { current, next } from "../lib/theme.js";
import { dialog } from "./dialog.js";
import { signIn, signOut } from "./sign_in.js";
import { toast } from "./toast.js";

const PAGES = [["live", "Live"], ["keys", "Keys"], ["unknown", "Unknown"], ["queues", "Queues"], ["routes", "Routes"], ["nodes", "Nodes"], ["why", "Why?"]];
const LINKS = {
  live: ["executed", "dot", "Live"], polling: ["waited", "half", "Polling"],
  lost: ["conflict", "triangle", "Reconnecting"], connecting: ["quiet", "ring", "Connecting"],
};

export function nav() {
  const badge = h("span", { class: "count", hidden: true });
  const unseen = h("span", { class: "unseen" });
  const links = PAGES.map(([page, word]) => h("a", { href: address(page), data: { page } }, icon(page), h("span", {}, word),
    page === "unknown" ? [badge, unseen] : null));
  fill(document.getElementById("nav"), h("span", { class: "brand" }, "Semel"), links);
  const draw = () => {
    badge.hidden = !(known.unknown > 0);
    say(badge, known.unknown > 999 ? "999+" : String(known.unknown));
    badge.setAttribute("aria-hidden", "true");
    say(unseen, known.unknown > 0 ? ` (${known.unknown} to decide)` : "");
  };
  on("unknown", draw);
  draw();
}

export function markPage(page) {
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${PAGES.find(([name]) => name === page)?.[1] ?? "Semel"} · ${known.status?.node ?? "Semel"}`;
}

function identity() {
  const name = h("strong", {}, "Semel");
  const rest = h("span", {}, " ");
  fill(document.getElementById("identity"), name, rest);
  const draw = () => {
    const status = known.status;
    if (!status) return;
    say(name, status.node);
    const up = span((now() - Date.parse(status.started_at)) / 1000);
    const words = [status.namespace || "default", status.store.kind, status.version, `up ${up}`, status.draining && "draining"].filter(Boolean).join(" · ");
    say(rest, words);
    rest.title = `namespace, store, version; running since ${status.started_at}`;
  };
  on("status", draw);
  setInterval(draw, 30000);
}

function linkState() {
  const element = h("span", { class: "link-state", role: "status" });
  const draw = () => {
    const [tone, form, word] = LINKS[known.link];
    fill(element, shape(form, tone), h("span", {}, word));
    element.title = { live: "Events arrive as they happen", polling: "Asking every 2 seconds: no stream is free", lost: "The gateway does not answer", connecting: "" }[known.link];
  };
  on("link", draw);
  draw();
  return element;
}

function account() {
  const element = h("span");
  const draw = () => {
    const you = known.status?.you;
    if (you?.name) {
      fill(element, button([icon("person"), h("span", { class: "who-words" }, `${you.name} · ${you.may_change ? "may change" : "may read"}`)],
        () => { signOut(); toast("Signed out"); }, { kind: "small", title: `Signed in as ${you.name}. Click to sign out.`, "aria-label": `Signed in as ${you.name}, sign out` }));
    } else {
      fill(element, button("Sign in", () => signIn(), { kind: "small", title: "Reading is free here; changes need a token" }));
    }
  };
  on("status", draw);
  draw();
  return element;
}

function themeSwitch() {
  const element = button("", () => { next(); draw(); }, { kind: "icon" });
  const draw = () => {
    fill(element, icon({ system: "system", light: "sun", dark: "moon" }[current()]));
    element.setAttribute("aria-label", `Colours: ${current()}. Change`);
    element.title = `Colours: ${current()}`;
  };
  draw();
  return element;
}

export function top() {
  identity();
  fill(document.getElementById("tools"), linkState(), account(), themeSwitch(),
    button("?", help, { kind: "icon", "aria-label": "Keyboard", title: "Keyboard: ?" }));
}

const DOUBTS = { clock: "nothing expires while the clocks disagree", claims: "nothing new is begun, because claims are in doubt" };

// Says what is wrong with the gateway or with the way to it, until it is over.
export function notices() {
  const element = document.getElementById("notice");
  const draw = () => {
    const store = known.status?.store;
    const words = known.link === "lost" ? "The gateway does not answer. What you see is from before; trying again…"
      : store?.trouble ? `The store has failed: ${store.trouble}`
        : store?.doubts?.length ? `The store has doubts: ${store.doubts.map((one) => DOUBTS[one] ?? one).join("; ")}.`
          : known.status?.draining ? "The gateway is ending: it finishes what is running and takes nothing new."
            : (store?.notes ?? []).join(" · ");
    element.hidden = !words;
    if (words) fill(element, shape("triangle", "conflict"), h("span", {}, words));
  };
  on("link", draw);
  on("status", draw);
  let lost = false;
  on("link", (state) => {
    if (state === "live" && lost) toast("Connected again");
    lost = state === "lost" || (lost && state !== "live");
  });
  on("restarted", () => toast("The gateway was restarted"));
  on("skipped", (some) => toast(`${count(some)} decisions were too many to show`));
}

const KEYS = [
  [["/"], "search"], [["g", "l"], "Live"], [["g", "k"], "Keys"], [["g", "u"], "Unknown"], [["g", "q"], "Queues"], [["g", "r"], "Routes"],
  [["g", "n"], "Nodes"], [["g", "w"], "Why did I get this?"], [["j"], "next row"], [["k"], "previous row"], [["Enter"], "open it"],
  [["r"], "resolve it"], [["Esc"], "close"], [["?"], "this list"],
];
export function help() {
  return dialog({ title: "Keyboard", body: h("dl", { class: "keys" },
    KEYS.map(([keys, words]) => [h("dt", {}, keys.map((key) => h("kbd", {}, key))), h("dd", {}, words)])) });
}
