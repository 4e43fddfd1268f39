// Starts the console: the frame, the stream, and the page that the address names.
import { fill, h } from "./lib/dom.js";
import { refreshTimes } from "./lib/format.js";
import * as copying from "./lib/copying.js";
import * as keyboard from "./lib/keyboard.js";
import * as live from "./lib/live.js";
import { change, go, here } from "./lib/place.js";
import * as searching from "./lib/search.js";
import { on } from "./lib/store.js";
import { resolve } from "./parts/actions.js";
import { help, markPage, nav, notices, top } from "./parts/frame.js";
import * as panel from "./parts/record_panel.js";
import { signIn } from "./parts/sign_in.js";
import * as keysPage from "./pages/keys.js";
import * as livePage from "./pages/live.js";
import * as nodesPage from "./pages/nodes.js";
import * as queuesPage from "./pages/queues.js";
import * as routesPage from "./pages/routes.js";
import * as unknownPage from "./pages/unknown.js";
import * as whyPage from "./pages/why.js";

const PAGES = { live: livePage, keys: keysPage, unknown: unknownPage, queues: queuesPage, routes: routesPage, nodes: nodesPage, why: whyPage };
const main = document.getElementById("main");
const search = document.getElementById("search-text");
let page = null;   // {name, update?, destroy?, table?, resolve?}

function show() {
  const at = here();
  const name = PAGES[at.page] ? at.page : "live";
  const { open, ...parameters } = at.parameters;
  if (page?.name !== name) {
    page?.destroy?.();
    const root = h("div", { class: "page" });
    fill(main, root);
    main.scrollTop = 0;
    page = { name, ...PAGES[name].mount(root, parameters) };
    if (document.activeElement === document.body || document.activeElement?.closest("#nav")) main.focus({ preventScroll: true });
  } else {
    page.update?.(parameters);
  }
  search.value = name === "keys" ? searching.write(parameters) : "";
  markPage(name);
  panel.show(open);
}

function find(text) {
  const typed = text.trim();
  if (typed.startsWith("{")) return go("why", { about: typed });
  go("keys", searching.parse(typed));
}

function act(name) {
  if (name === "search") return void (search.focus(), search.select());
  if (name === "help") return void help();
  if (name === "escape") return panel.isOpen() ? void change({ open: undefined }) : false;
  if (name === "down") return page.table?.().move(1) ?? false;
  if (name === "up") return page.table?.().move(-1) ?? false;
  if (name === "open") return page.table?.().openCurrent() ?? false;
  if (name === "resolve") {
    const record = panel.shownRecord() ?? page.table?.().current;
    return record?.state === "unknown" ? void resolve(record) : false;
  }
  return false;
}

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  find(search.value);
  search.blur();
  main.focus({ preventScroll: true });
});
addEventListener("hashchange", show);
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
on("locked", () => signIn("This gateway listens beyond its own machine, so reading needs a named token, too."));
on("status", () => markPage(page.name));

nav();
top();
notices();
copying.start();
keyboard.start(act);
show();
live.start();
setInterval(refreshTimes, 1000);
