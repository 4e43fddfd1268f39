// Routes: each as a card in words; below them, Explain.
import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { address } from "../lib/place.js";
import { mark } from "../lib/states.js";
import { on } from "../lib/store.js";
import { empty, trouble } from "../parts/empty.js";
import { explainForm } from "../parts/explain.js";

function towards(route) {
  const ejected = route.upstreams.filter((one) => one.state === "ejected").length;
  const methods = route.methods?.length ? route.methods.join(", ") : "any method";
  return `${methods} ${route.path} → ${plural(route.upstreams.length, "upstream")}${ejected ? ` (${ejected} ejected)` : ""}`;
}

function card(route) {
  return h("section", { class: "card" },
    h("header", {}, h("h2", {}, route.name), route.mode === "observe" && h("span", { class: "quiet" }, "observes only"),
      h("span", { class: "end" }, route.circuit && route.circuit !== "closed" ? mark(route.circuit, `circuit ${route.circuit}`) : null)),
    h("p", { class: "mono" }, towards(route)),
    h("p", {}, route.words.join(" ")),
    h("ul", {}, route.upstreams.map((one) => h("li", { class: "upstream" }, mark(one.state), h("span", { class: "mono", title: one.why ?? one.url }, one.url), one.why && h("span", { class: "quiet" }, one.why)))),
    h("div", { class: "foot" }, h("span", {}, `${route.in_progress} in progress`),
      route.unknown > 0 ? h("a", { href: address("keys", { state: "unknown", operation: route.name }) }, mark("unknown", `${route.unknown} unknown`)) : h("span", {}, "none unknown"),
      route.probe && h("span", {}, "can be probed")));
}

export function mount(root) {
  const total = h("span", { class: "about", role: "status" });
  const place = h("div", { class: "cards" });
  fill(root, h("div", { class: "head" }, h("h1", {}, "Routes"), total), place, h("div", { class: "head" }, h("h1", {}, "Explain"),
    h("span", { class: "about" }, "What the gateway would make of a request. Nothing is executed or stored.")), explainForm());
  let drawn = "";  // what is shown, to tell whether it changed
  async function load() {
    try {
      const { routes } = await get("/api/routes");
      const seen = JSON.stringify(routes);
      if (seen === drawn) return;  // what has the focus keeps it
      drawn = seen;
      total.textContent = plural(routes.length, "route");
      fill(place, routes.length ? routes.map(card) : h("div", { class: "box" }, empty("No routes", "This gateway serves its service API only. Routes are configured in `routes`.")));
    } catch (failure) {
      drawn = "";
      fill(place, trouble(failure));
    }
  }
  const off = on("token", load);
  const timer = setInterval(() => { if (!document.hidden) load(); }, 5000);
  load();
  return { destroy() { off(); clearInterval(timer); } };
}
