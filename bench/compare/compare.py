"""Runs `semel check` against the servers of this folder, one after the other, on loopback, and prints a table in markdown.

Each server is copied to build/compare/NAME, with the packages of its lock file from the npm registry. It gets PORT in its
environment and prints `ready`. Its reports stay beside it: card.txt and report.json.

usage: compare.py [NAME …]"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
FIRST_PORT = 21000
PORTS_EACH = 10
LEVELS = ("safety", "draft", "profile")

# By name: the package whose version the table shows, the path of the endpoint, and where its effects are counted, as an
# offset of the port.
SERVERS = {
    "express-idempotency": ("express-idempotency", "/charges", 0),
    "node-idempotency": ("@node-idempotency/nestjs", "/charges", 0),
    "idempotency-backend-express": ("idempotency-backend", "/charges", 0),
    "idempotency-backend-fastify": ("idempotency-backend", "/charges", 0),
    "restate": ("@restatedev/restate-server-linux-x64", "/charges/create", 2),
    "plain-express": ("express", "/charges", 0),
    "semel": (None, "/charges", 1),
}
SEMEL = """listen: 127.0.0.1:{port}
admin: {{listen: 127.0.0.1:{admin}}}
store: {{kind: embedded, path: ./data, free_bytes_min: 1MiB}}
tenant: {{from: authorization}}
log: {{level: warn}}
routes:
  - {{name: charges, path: /charges, upstream: 'http://127.0.0.1:{upstream}'}}
"""


def free_port():
    """The first of PORTS_EACH ports that are free."""
    port = FIRST_PORT
    while True:
        try:
            for offset in range(PORTS_EACH):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port + offset))
            return port
        except OSError:
            port += PORTS_EACH


def install(name):
    folder = BUILD / "compare" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(HERE / "service.mjs", folder.parent)
    if name == "semel":
        return folder
    for file in (HERE / name).iterdir():
        shutil.copy(file, folder)
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def start(folder, command, **environment):
    """Returns the process once it has printed `ready`."""
    with open(folder / "stderr.txt", "ab") as stderr:
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE,
                                   stderr=stderr, text=True, start_new_session=True)
    for line in process.stdout:
        if line.strip() == "ready":
            return process
    raise SystemExit(f"{folder.name} did not start: see {folder}/stderr.txt")


def stop(process):
    os.killpg(process.pid, signal.SIGTERM)
    process.stdout.close()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def serve(name, folder, port):
    """Semel stands before the service that knows nothing of keys."""
    if name != "semel":
        return [start(folder, ["node", "server.mjs"], PORT=str(port))]
    (folder / "semel.yaml").write_text(SEMEL.format(port=port, upstream=port + 1, admin=port + 2))
    behind = start(install("plain-express"), ["node", "server.mjs"], PORT=str(port + 1))
    return [behind, start(folder, [BUILD / "semel", "serve", "semel.yaml"])]


def check(folder, port, path, counter):
    """Returns the report of `semel check`."""
    with open(folder / "card.txt", "w") as card:
        done = subprocess.run(
            [BUILD / "semel", "check", f"http://127.0.0.1:{port}{path}", "-H", "Authorization: Bearer alice",
             "--other-auth", "Bearer bob", "--body", '{"amount": {{n}}}',
             "--slow-body", '{"amount": {{n}}, "slow": true}',
             "--count", f"http://127.0.0.1:{port + counter}/count#/count", "--json", folder / "report.json"],
            stdout=card, stderr=subprocess.STDOUT)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{folder.name} could not be checked: see {folder}/card.txt")
    return json.loads((folder / "report.json").read_text())


def version_of(name, package):
    if package is None:
        return subprocess.run([BUILD / "semel", "version"], capture_output=True, text=True, check=True).stdout.split()[1]
    packages = json.loads((HERE / name / "package-lock.json").read_text())["packages"]
    return packages[f"node_modules/{package}"]["version"]


def row(name, version, report):
    marks = [f"{report['grades'][level]['passed']} of {report['grades'][level]['graded']}" for level in LEVELS]
    failed = [f"`{one['id']}`" for one in report["checks"] if one["verdict"] == "failed"]
    return f"| {name} | {version} | {' | '.join(marks)} | {', '.join(failed) or '–'} |"


def main(names):
    if unknown := set(names) - set(SERVERS):
        raise SystemExit(f"There is no {', '.join(sorted(unknown))} here. Choose from: {', '.join(SERVERS)}.")
    print("| name | version | safety | draft | profile | failed |\n|---|---|---|---|---|---|", flush=True)
    for name in names or SERVERS:
        package, path, counter = SERVERS[name]
        folder = install(name)
        port = free_port()
        processes = serve(name, folder, port)
        try:
            report = check(folder, port, path, counter)
        finally:
            for process in processes:
                stop(process)
        print(row(name, version_of(name, package), report), flush=True)


main(sys.argv[1:])
