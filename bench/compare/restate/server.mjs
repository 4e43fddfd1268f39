// A handler behind Restate's ingress: the server from npm, in a folder of its own, and the SDK's endpoint beside it.
import { spawn } from "node:child_process";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as restate from "@restatedev/restate-sdk";
import { charge, counted, ready } from "../service.mjs";

// The SDK uses it; Node.js has it from version 22 on.
Promise.withResolvers ??= function () {
  const parts = {};
  parts.promise = new this((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const port = (offset) => Number(process.env.PORT) + offset;
const charges = restate.service({
  name: "charges",
  handlers: { create: (context, order) => context.run("charge", () => charge(order)) },
});
await restate.serve({ services: [charges], port: port(1) });
http.createServer((request, response) => response.end(JSON.stringify(counted()))).listen(port(2), "127.0.0.1");

const program = createRequire(import.meta.url).resolve("@restatedev/restate-server-linux-x64/bin/restate-server");
const server = spawn(program, ["--base-dir", path.resolve("data"), "--no-logo"], {
  env: { ...process.env, RESTATE_BIND_IP: "127.0.0.1", RESTATE_LISTEN_MODE: "tcp", RESTATE_BIND_PORT: port(4),
         RESTATE_INGRESS__BIND_PORT: port(0), RESTATE_ADMIN__BIND_PORT: port(3), RESTATE_DISABLE_TELEMETRY: "true",
         DO_NOT_TRACK: "1" },
  stdio: ["ignore", "ignore", "inherit"],
});
process.on("SIGTERM", () => server.kill("SIGTERM"));
server.on("exit", (code) => process.exit(code ?? 0));

for (;;) {
  const registered = await fetch(`http://127.0.0.1:${port(3)}/deployments`, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port(1)}` }),
  }).catch(() => null);
  if (registered?.ok) break;
  await pause(200);
}
ready();
