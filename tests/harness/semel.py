"""Runs the gateway under test as a process on free ports in a folder of its own, and gives the
tests the few verbs they are told in."""

import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid

from harness.servers import redis_server
from harness.servers import shared_server
from harness.clients.http_client import TIME_SCALE, TIMEOUT, Connection, request_bytes

SANITIZER_REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
                     "WARNING: ThreadSanitizer", "runtime error:")
SANITIZED = bool(os.environ.get("SEMEL_SANITIZER"))
STDERR_TAIL_LINES = 60

# How each kind of store is configured in a folder. A new kind is one line here.
STORES = {
    "memory": lambda folder: {"kind": "memory"},
    "embedded": lambda folder: {"kind": "embedded", "path": str(folder / "data")},
    "postgres": lambda folder: {"kind": "postgres", "url": shared_server.new_database()},
    "redis": lambda folder: {"kind": "redis", "url": redis_server.new_database()},
    "tiered": lambda folder: {
        "kind": "tiered", "durable": {"kind": "postgres", "url": shared_server.new_database()},
        "cache": {"kind": "redis", "url": redis_server.new_database()}},
}
# The store of a gateway that names none. The whole suite can run on another kind.
DEFAULT_STORE = os.environ.get("SEMEL_TEST_STORE", "embedded")
# The stores for tests that try every store. Each of the others has a run of the whole suite.
TRIED_STORES = ["memory", "embedded"] if DEFAULT_STORE == "embedded" else [DEFAULT_STORE]


def binary():
    path = os.environ.get("SEMEL_BINARY")
    assert path and os.access(path, os.X_OK), "SEMEL_BINARY must name the program under test"
    return path


def new_key():
    return str(uuid.uuid4())


class Gateway:
    """`semel serve` with one configuration: `store` is one of STORES, or as the file has it.
    Starting again keeps the store."""

    live = []  # for the failure report
    command = "serve"

    def __init__(self, routes=(), store=DEFAULT_STORE, inherit_signals=False, config_file=None,
                 environment=None, **top):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-test-"))
        self.config = {"listen": "127.0.0.1:0", "admin": {"listen": "127.0.0.1:0"}, "workers": 2,
                       "store": store if isinstance(store, dict) else STORES[store](self.folder),
                       "tenant": {"from": "none"},
                       "drain_timeout": "5s", "routes": routes, **top}
        if not routes and "service" in top:
            del self.config["routes"]
        # Tests run on small disks, too.
        self.config["store"] = {"free_bytes_min": "1MiB", **self.config["store"]}
        self._database = None  # to be given back
        if store in ("postgres", "tiered"):
            self._database = self.config["store"].get("durable", self.config["store"])["url"]
        if self.config["store"]["kind"] not in ("embedded", "memory") and "admin" not in top:
            self._make_token()
        self.stderr_path = self.folder / "stderr"
        self.process = None
        self.address = self.admin_address = self.service_address = None
        self.ready_seconds = None
        self._inherit_signals = inherit_signals
        self._config_file = config_file  # used as it is, instead of `config`
        self._environment = {**os.environ, **(environment or {})}
        self._stderr_open = None
        self.passed_fds = ()
        self.tls = None  # an ssl.SSLContext for its clients, where it speaks TLS

    # --- its life -------------------------------------------------------------------------------

    def command_line(self, config_path):
        return [binary(), self.command, "--config", str(config_path)]

    def start(self):
        config_path = self._config_file or self.folder / "semel.yaml"
        if not self._config_file:
            config_path.write_text(json.dumps(self.config, indent=1))
        begun = time.monotonic()
        self.process = subprocess.Popen(
            self.command_line(config_path), cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self._environment, restore_signals=not self._inherit_signals,
            pass_fds=self.passed_fds)
        Gateway.live.append(self)
        lines = queue.Queue()
        self._pumps = [threading.Thread(target=self._pump_stdout, args=(self.process, lines)),
                       threading.Thread(target=self._pump_stderr, args=(self.process,))]
        for pump in self._pumps:
            pump.start()
        self._await_ready(lines)
        self.ready_seconds = time.monotonic() - begun
        return self

    @staticmethod
    def _pump_stdout(process, lines):
        for line in process.stdout:
            lines.put(line.decode().strip())
        lines.put(None)

    def _pump_stderr(self, process):
        # Through a pipe, so that limits on the size of files do not touch the log.
        with open(self.stderr_path, "ab") as out:
            while data := process.stderr.read1(65536):
                out.write(data)
                out.flush()

    def _await_ready(self, lines):
        found = {}
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.kill9()
                raise AssertionError(f"not ready in {TIMEOUT} s\n{self.stderr_tail()}") from None
            if line is None:
                code = self.process.wait()
                self._reap()
                raise AssertionError(f"exit code {code} before ready\n{self.stderr_tail()}")
            if line == "ready":
                self._lines = lines
                break
            if match := re.fullmatch(
                    r"listening (https?|admin|service) (?:127\.0\.0\.1|0\.0\.0\.0):(\d+)", line):
                found.setdefault(match[1].rstrip("s"), []).append(("127.0.0.1", int(match[2])))
        self.addresses = found.get("http", [None])  # consumers listen for the admin only
        self.address, self.admin_address = self.addresses[0], found["admin"][0]
        self.service_address = found.get("service", [None])[0]

    def next_line(self):
        """Its next line on standard output after "ready"; None: it has ended."""
        return self._lines.get(timeout=TIMEOUT)

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout=TIMEOUT):
        """Its exit code."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise AssertionError(f"still running {timeout} s after it should have ended\n"
                                 f"{self.stderr_tail()}") from None
        self._reap()
        return code

    def stop(self):
        """SIGTERM; it must end by itself, with exit code 0 and nothing for a sanitizer to say."""
        if self.process is None:
            return
        self.terminate()
        code = self.wait()
        assert code == 0, f"exit code {code}\n{self.stderr_tail()}"
        self.check_sanitizers()

    def kill9(self):
        self.process.kill()
        self.process.wait()
        self._reap()
        self.check_sanitizers()

    def _reap(self):
        for pump in self._pumps:
            pump.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process = None
        Gateway.live.remove(self)

    def restart(self, **changes):
        """Stops it, edits the configuration's top level, and starts it on the same store."""
        self.stop()
        self.config.update(changes)
        return self.start()

    def reload(self, **changes):
        """Edits the configuration's top level and has it read again. True: it was taken."""
        self.config.update(changes)
        return self.reload_text(json.dumps(self.config, indent=1))

    def reload_text(self, text):
        before = self.metrics()
        (self.folder / "semel.yaml").write_text(text)
        self.process.send_signal(signal.SIGHUP)
        name = "semel_config_reloads_total{result=%s}"
        done = eventually(lambda: [r for r in ("loaded", "refused")
                                   if self.metrics()[name % r] > before[name % r]])
        return done == ["loaded"]

    def discard(self):
        """Ends it whatever state it is in and leaves nothing behind."""
        try:
            if self.process is not None:
                code = self.process.poll()
                assert code is None, f"it ended by itself, exit code {code}\n{self.stderr_tail()}"
                self.stop()
        finally:
            if self.process is not None:
                self.process.kill()
                self.process.wait()
                self._reap()
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._database:
                shared_server.give_back(self._database)

    def stderr(self):
        return self.stderr_path.read_text(errors="replace") if self.stderr_path.exists() else ""

    def stderr_tail(self):
        return "\n".join(self.stderr().splitlines()[-STDERR_TAIL_LINES:])

    def check_sanitizers(self):
        text = self.stderr()
        for report in SANITIZER_REPORTS:
            assert report not in text, text[max(0, text.index(report) - 500):][:8000]

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    # --- talking to it --------------------------------------------------------------------------

    def connect(self, **options):
        return Connection(self.address, **{"tls": self.tls, **options})

    def request(self, method, target, body=b"", source=None, **more):
        """One request on a connection of its own."""
        with self.connect(source=source) as connection:
            return connection.request(method, target, body, **more)

    def post(self, target, body=b"", **more):
        return self.request("POST", target, body, **more)

    def get(self, target, **more):
        return self.request("GET", target, **more)

    def admin(self, target, method="GET", host=None, **more):
        host = host or "%s:%d" % self.admin_address
        with Connection(self.admin_address) as connection:
            return connection.request(method, target, host=host, **more)

    def _make_token(self):
        """A store on a server has no folder in which a token could be generated."""
        path = self.folder / "data" / "admin-token"
        path.parent.mkdir(mode=0o700)
        path.touch(mode=0o600)
        path.write_text(f"admin {uuid.uuid4().hex}\n")
        self.config["admin"] = {**self.config["admin"], "tokens_file": str(path)}

    def admin_token(self):
        """The token that lies beside the data."""
        return (self.folder / "data" / "admin-token").read_text().split()[1]

    def change(self, target, decision, token=None, headers=()):
        """POST to the admin API, with a token."""
        headers = [("Authorization", f"Bearer {token or self.admin_token()}"), *headers]
        return self.admin(target, method="POST", json=decision, headers=headers)

    def record(self, key):
        """Returns the only record with this key, as the admin API shows it."""
        found = self.admin(f"/api/keys?key={key}").json()["keys"]
        assert len(found) == 1, found
        return self.admin(f"/api/keys/{found[0]['id']}").json()

    def keys(self, *args, stdin=None):
        """`semel keys …` against this gateway."""
        return subprocess.run(
            [binary(), "keys", *map(str, args), "--config", "semel.yaml",
             "--admin", "http://%s:%d" % self.admin_address], cwd=self.folder,
            input=stdin or b"", capture_output=True, timeout=TIMEOUT)

    def refuses_connections(self):
        try:
            socket.create_connection(self.address, timeout=1).close()
            return False
        except (ConnectionRefusedError, ConnectionResetError):
            return True
        except TimeoutError:  # it was closing just then; whoever asks, asks again
            return False

    def metrics(self):
        """Every sample: its name with its labels sorted, as "name{a=1,b=2}", to its value."""
        samples = {}
        for line in self.admin("/metrics").body.decode().splitlines():
            if line and not line.startswith("#"):
                name, labels, value = re.fullmatch(r"([\w:]+)(?:\{(.*)\})? (\S+)", line).groups()
                pairs = sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
                text = ",".join(f"{n}={v}" for n, v in pairs)
                samples[f"{name}{{{text}}}" if text else name] = float(value)
        return samples

    def result_count(self, route, result):
        return self.metrics().get(
            f"semel_requests_total{{result={result},route={route}}}", 0)


# --- verbs for the tests --------------------------------------------------------------------------


class Background:
    """A call on a thread of its own."""

    def __init__(self, call, *args, **more):
        self._outcome = None
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(call, args, more), daemon=True)
        self._thread.start()

    def _run(self, call, args, more):
        try:
            self._outcome = call(*args, **more)
        except BaseException as failure:
            self._failure = failure

    @property
    def done(self):
        return not self._thread.is_alive()

    def result(self, timeout=2 * TIMEOUT):
        self._thread.join(timeout)
        assert not self._thread.is_alive(), f"no result within {timeout} s"
        if self._failure:
            raise self._failure
        return self._outcome


def at_once(count, gateway, *args, **more):
    """Sends one POST on each of `count` connections, all before it reads the first answer."""
    wire = request_bytes("POST", *args, **more)
    connections = [gateway.connect() for _ in range(count)]
    try:
        for connection in connections:
            connection.send(wire)
        return [connection.read_response() for connection in connections]
    finally:
        for connection in connections:
            connection.close()


def break_store(gateway):
    """From now on it can write to no file. It must have been started with inherit_signals: SIGXFSZ
    is ignored in Python and inherited, so that a write fails instead of killing."""
    limits = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))


def eventually(check, timeout=TIMEOUT, every=0.02):
    """The first truthy result of `check`; for what the program does in its own time and offers no
    event for."""
    deadline = time.monotonic() + timeout
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {timeout} s; last: {found!r}"
        time.sleep(every)


def scaled(milliseconds):
    """A duration for the configuration that a slow build must be able to keep, too."""
    return f"{int(milliseconds * TIME_SCALE)}ms"


def let_pass(seconds):
    """Time that has to pass because the contract counts it."""
    time.sleep(seconds)


def settle():
    """Lets the gateway take in what was sent to it. Only where a request is to be held in silence,
    which shows nowhere outside."""
    time.sleep(0.25 * TIME_SCALE)


def assert_problem(response, status, code):
    """The answer is Semel's own, in the default shape, and complete. Returns its members."""
    assert response.status == status, response
    assert response.header("Content-Type") == "application/problem+json", response
    problem = response.json()
    assert problem["code"] == code, problem
    assert problem["type"] == f"urn:semel:problem:{code}", problem
    assert problem["status"] == status, problem
    assert problem["title"] and problem["detail"], problem
    assert isinstance(problem["new_key_safe"], bool), problem
    if code in ("in-progress", "outcome-unknown", "store-unavailable", "overloaded"):
        assert int(response.header("Retry-After")) >= 1, response
    if code in ("key-missing", "key-invalid"):
        assert 'rel="describedby"' in response.header("Link"), response
    return problem


def store_calls(metrics):
    """Returns the metrics of calls to the store, without the clock, which the store reports unasked."""
    return {name: value for name, value in metrics.items()
            if name.startswith("semel_store_") and name != "semel_store_clock_ahead_seconds"}


def assert_replay(replay, first):
    """Byte for byte the first answer, and marked as a replay."""
    assert replay.status == first.status, (first, replay)
    assert replay.body == first.body, (first, replay)
    assert replay.header("Idempotency-Replayed") == "true", replay
    assert int(replay.header("Age")) >= 0, replay
