"""A private PostgreSQL server from Debian's package: a free port, a folder of its own, an
unprivileged user, nothing left behind."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg2

from harness.ports import free_port

# The newest installed version: Debian 12 has 15, Debian 13 has 17.
BINARIES = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"),
               key=lambda path: float(path.parts[-3])).parent
START_SECONDS = 60

# Durable where it matters to a test (kill -9 of the server is one), without more than that.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "wal_level": "replica",
    "log_min_messages": "warning",
    "timezone": "UTC",
}


def unprivileged():
    """Arguments for subprocess: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def process_state(pid):
    """The letter of proc(5); X for a process that is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or before it was read
        return "X"


def is_running(pid):
    return process_state(pid) not in "ZX"


class PostgresServer:
    """`start()` may be called again after `stop()` or `kill9()`: the data is kept until `discard()`."""

    def __init__(self, **settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-postgres-"))
        if ids := unprivileged():
            os.chown(self.folder, ids["user"], ids["group"])
        self.data = self.folder / "data"
        self.port = free_port()
        self.settings = {**SETTINGS, **settings}
        self.process = None

    def init(self):
        self.run("initdb", "-D", self.data, "-U", "semel", "-A", "trust", "-E", "UTF8", "--locale=C",
                 "--no-sync")
        return self

    def run(self, program, *arguments):
        subprocess.run([BINARIES / program, *map(str, arguments)], check=True, cwd=self.folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **unprivileged())

    def start(self):
        if not self.data.exists():
            self.init()
        self._launch()
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.connect("postgres").close()
                return self
            except psycopg2.OperationalError:
                assert time.monotonic() < deadline, self.log_tail()
                time.sleep(0.02)  # the server says nowhere else that it takes connections
                if self.process.poll() is not None:
                    self._launch_again()

    def _launch(self):
        options = [f"-c{name}={value}" for name, value in self.settings.items()]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [BINARIES / "postgres", "-D", self.data, f"-p{self.port}", *options],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **unprivileged())

    def _launch_again(self):
        """Once more, if only something that is about to go kept the server from starting: the memory of the server
        before it, or a test that holds the port for a moment to see whether it is free."""
        log = self.log_tail()
        assert "still in use" in log or "Address already in use" in log, log
        self._launch()

    def add_standby(self):
        """Another server that follows this one; from now on a commit here waits for it."""
        standby = PostgresServer(**self.settings)
        self.run("pg_basebackup", "-D", standby.data, "-R", "-X", "stream", "-c", "fast", "-d",
                 f"host=127.0.0.1 port={self.port} user=semel application_name=standby")
        standby.start()
        self.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'", database="postgres")
        self.execute("SELECT pg_reload_conf()", database="postgres")
        deadline = time.monotonic() + START_SECONDS
        while self.execute("SELECT sync_state FROM pg_stat_replication",
                           database="postgres") != [("sync",)]:
            assert time.monotonic() < deadline, self.log_tail()
            time.sleep(0.02)
        return standby

    def promote(self):
        """This standby becomes the primary, and waits for nobody."""
        self.execute("SELECT pg_promote()", database="postgres")

    def url(self, database="semel", user="semel"):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def connect(self, database="semel", user="semel", **options):
        return psycopg2.connect(self.url(database, user), **options)

    def execute(self, statement, *values, database="semel", user="semel"):
        """Runs one statement by itself. The rows, if it gives any."""
        connection = self.connect(database, user)
        try:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement, values or None)
                return cursor.fetchall() if cursor.description else None
        finally:
            connection.close()

    def create_database(self, name):
        self.execute(f'CREATE DATABASE "{name}"', database="postgres")
        return self.url(name)

    def log_tail(self):
        log = self.folder / "log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-40:]) if log.exists() else ""

    def _end(self, how):
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait()
        self.process = None

    def stop(self):
        """Ends open connections and shuts down in order."""
        self._end(signal.SIGINT)

    def stop_immediately(self):
        """As if it had crashed: the next start recovers."""
        self._end(signal.SIGQUIT)

    def stand_still(self):
        """Every process of it stops, and answers nothing, until go_on()."""
        # None may be born while they are counted, and a signal that was sent has not stopped it yet.
        self.process.send_signal(signal.SIGSTOP)
        while process_state(self.process.pid) not in "TZX":
            time.sleep(0.001)
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True,
                                  text=True).stdout.split()
        self.stopped = [self.process.pid, *map(int, children)]
        self._signal_stopped(signal.SIGSTOP)

    def go_on(self):
        self._signal_stopped(signal.SIGCONT)

    def _signal_stopped(self, number):
        for pid in self.stopped:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill9(self):
        """Every process of it, at once."""
        if self.process is None:
            return
        self.stand_still()
        self._signal_stopped(signal.SIGKILL)
        self.process.wait()
        self.process = None
        # The next server does not start while one of them still holds the memory they shared.
        while any(is_running(pid) for pid in self.stopped[1:]):
            time.sleep(0.01)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def discard(self):
        self.stop_immediately()
        shutil.rmtree(self.folder, ignore_errors=True)
