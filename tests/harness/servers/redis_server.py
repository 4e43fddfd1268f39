"""Private Redis servers from Debian's package: free ports, folders of their own, an unprivileged
user, nothing left behind. One server, a master with its replica and Sentinels, or a Cluster."""

import atexit
import functools
import itertools
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from harness.ports import free_port

START_SECONDS = 60

# Durable, so that kill -9 of a server is a test of the gateway and not of chance.
SETTINGS = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "always",
    "save": "",
    "repl-diskless-sync-delay": "0",
    "repl-ping-replica-period": "1",
    "loglevel": "notice",
}


def unprivileged():
    """Arguments for subprocess: nothing needs to run as root here."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("redis")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class RedisError(Exception):
    """An error reply."""


class RedisClient:
    """A connection that speaks RESP2, for what the tests want to see."""

    def __init__(self, port, timeout=10, password=None, user=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.file = self.socket.makefile("rb")
        if password:
            self("AUTH", *([user] if user else []), password)

    def __call__(self, *arguments):
        self.send(*arguments)
        return self.reply()

    def send(self, *arguments):
        parts = [a if isinstance(a, bytes) else str(a).encode() for a in arguments]
        self.socket.sendall(b"*%d\r\n" % len(parts) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == b"-1":
                return None
            data = self.file.read(int(rest) + 2)
            return data[:-2]
        assert kind == b"*", line
        return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]

    def close(self):
        self.file.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class RedisServer:
    """`start()` may be called again after `stop()` or `kill9()`: the data is kept until `discard()`."""

    sentinel = False

    def __init__(self, password=None, user=None, machine=None, **settings):
        """`machine`: an OddMachine that it runs on."""
        self.machine = machine
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-redis-"))
        self.port = free_port(and_above=10000)  # a Cluster's members use a second one
        self.settings = {**SETTINGS, **{k.replace("_", "-"): v for k, v in settings.items()}}
        self.password, self.user = password, user
        self.process = None
        self._own()

    def _own(self):
        if ids := unprivileged():
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, ids["user"], ids["group"])

    def config_lines(self):
        lines = [f"dir {self.folder}", f"port {self.port}"]
        for name, value in self.settings.items():
            for one in value if isinstance(value, list) else [value]:
                lines.append(f'{name} {one}' if one != "" else f'{name} ""')
        return lines

    def start(self):
        config = self.folder / "redis.conf"
        if not config.exists():  # a Sentinel, and REPLICAOF with CONFIG REWRITE, write to it
            config.write_text("\n".join(self.config_lines()) + "\n")
            self._own()
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", str(config), *(["--sentinel"] if self.sentinel else [])],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **(self.machine.environment if self.machine else {})},
                **unprivileged())
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self("PING")
                return self
            except (OSError, RedisError):
                assert self.process.poll() is None, self.log_tail()
                assert time.monotonic() < deadline, self.log_tail()
                time.sleep(0.01)  # the server says nowhere else that it takes connections

    def client(self):
        return RedisClient(self.port, password=self.password, user=self.user)

    def __call__(self, *arguments):
        """One command on a connection of its own."""
        with self.client() as client:
            return client(*arguments)

    def info(self, field):
        for line in self("INFO").decode().splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1]
        return None

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def url(self, database=0):
        who = f"{self.user or ''}:{self.password}@" if self.password else ""
        return f"redis://{who}{self.address}/{database}"

    def log_tail(self):
        log = self.folder / "log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-40:]) if log.exists() else ""

    def _end(self, how):
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def stop(self):
        self._end(signal.SIGTERM)

    def kill9(self):
        self._end(signal.SIGKILL)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def discard(self):
        self.kill9()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sentinel(RedisServer):
    sentinel = True

    def __init__(self, master, quorum=1, name="semel"):
        super().__init__()
        self.master, self.quorum, self.name = master, quorum, name

    def config_lines(self):
        return [f"dir {self.folder}", f"port {self.port}", "bind 127.0.0.1",
                f"sentinel monitor {self.name} 127.0.0.1 {self.master.port} {self.quorum}",
                f"sentinel down-after-milliseconds {self.name} 1000",
                f"sentinel failover-timeout {self.name} 5000"]

    def master_port(self):
        return int(self("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)[1])


def until(check, seconds=START_SECONDS, every=0.02):
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(every)
    return found


class Replicated:
    """A master, replicas that follow it, and a Sentinel that watches over them."""

    def __init__(self, replicas=1, sentinels=1, replicas_machine=None):
        self.servers = [RedisServer().start()]
        for _ in range(replicas):
            self.servers.append(RedisServer(replicaof=f"127.0.0.1 {self.servers[0].port}",
                                            machine=replicas_machine).start())
        until(lambda: self.servers[0].info("connected_slaves") == str(replicas))
        for replica in self.servers[1:]:
            until(lambda: replica.info("master_link_status") == "up")
        self.sentinels = [Sentinel(self.servers[0]).start() for _ in range(sentinels)]
        for sentinel in self.sentinels:
            until(lambda: len(sentinel("SENTINEL", "REPLICAS", sentinel.name)) == replicas)

    def master(self):
        port = self.sentinels[0].master_port()
        return next(s for s in self.servers if s.port == port)

    def discard(self):
        for server in [*self.sentinels, *self.servers]:
            server.discard()


class Cluster:
    """Three masters that share the slots."""

    def __init__(self, masters=3):
        self.servers = [RedisServer(cluster_enabled="yes", cluster_node_timeout=2000).start()
                        for _ in range(masters)]
        subprocess.run(["redis-cli", "--cluster", "create", *(s.address for s in self.servers),
                        "--cluster-yes"], check=True, stdout=subprocess.DEVNULL)
        for server in self.servers:
            until(lambda: b"cluster_state:ok" in server("CLUSTER", "INFO"))

    def owner_of(self, slot):
        for first, last, master, *_ in self.servers[0]("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(s for s in self.servers if s.port == master[1])
        raise AssertionError(f"nobody has slot {slot}")

    def move_slot(self, slot, to):
        """As redis-cli --cluster reshard does it."""
        source = self.owner_of(slot)
        if source is to:
            return
        to_id, source_id = to("CLUSTER", "MYID").decode(), source("CLUSTER", "MYID").decode()
        to("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source("CLUSTER", "SETSLOT", slot, "MIGRATING", to_id)
        while keys := source("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys)
        self._make_newest(to)
        for server in [to, source, *self.servers]:
            server("CLUSTER", "SETSLOT", slot, "NODE", to_id)

    def _make_newest(self, server):
        """Where the old owner's epoch is the higher one, its gossip takes a slot back from the new one just
        before it hears of the change, and they disagree for good. A resharding by hand is slow enough."""
        def epoch_of(one):
            return int(re.search(rb"cluster_my_epoch:(\d+)", one("CLUSTER", "INFO"))[1])

        def is_newest():
            newest = max(epoch_of(one) for one in self.servers if one is not server)
            return epoch_of(server) > newest or not server("CLUSTER", "BUMPEPOCH")
        until(is_newest)

    def agrees(self):
        """All members have the same map of all slots."""
        maps = [sorted((first, last, master[1]) for first, last, master, *_ in one("CLUSTER", "SLOTS"))
                for one in self.servers]
        return maps[0] == maps[1] == maps[2] and sum(b - a + 1 for a, b, _ in maps[0]) == 16384

    def discard(self):
        for server in self.servers:
            server.discard()


_databases = itertools.count()


@functools.cache
def _shared():
    server = RedisServer(databases=4096).start()
    atexit.register(server.discard)
    return server


def new_database():
    """The URL of an empty database, on one server for the whole process."""
    return _shared().url(next(_databases))
