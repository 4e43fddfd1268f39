"""`semel top`: a gateway, live on a terminal, which is left as it was."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from harness.clients.http_client import TIMEOUT
from harness.program import run_semel
from harness.semel import binary, eventually, new_key

ROWS, COLUMNS = 24, 80
ENTER, LEAVE, HOME = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H"


@pytest.fixture(scope="module")
def gateway(module_gateway):
    gateway = module_gateway({"name": "charges", "path": "/charges"}, store="memory", log={"keys": "full"})
    key = new_key()
    for _ in range(3):
        gateway.post("/charges", json={}, key=key)
    return gateway


def admin_of(gateway):
    return "http://%s:%d" % gateway.admin_address


class Terminal:
    """`semel top` on a terminal of 24 rows and 80 columns."""

    def __init__(self, gateway):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen([binary(), "top", "--admin", admin_of(gateway)], stdin=theirs, stdout=theirs,
                                        stderr=theirs, env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        self.theirs = theirs
        self.shown = ""

    def read_until(self, check):
        deadline = time.monotonic() + TIMEOUT
        while not check(self.shown):
            assert select.select([self.ours], [], [], max(0, deadline - time.monotonic()))[0], self.shown
            self.shown += os.read(self.ours, 65536).decode()

    def press(self, key):
        os.write(self.ours, key.encode())

    def end(self):
        code = self.process.wait(timeout=TIMEOUT)
        while select.select([self.ours], [], [], 0)[0]:
            self.shown += os.read(self.ours, 65536).decode()
        assert termios.tcgetattr(self.theirs) == self.before
        os.close(self.theirs)
        os.close(self.ours)
        return code

    def frames(self):
        plain = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", part) for part in self.shown.split(HOME)[1:]]
        return [[line.rstrip("\r") for line in part.split("\n")] for part in plain]


def test_it_fits_and_is_refreshed_until_q(gateway):
    terminal = Terminal(gateway)
    terminal.read_until(lambda shown: shown.count(HOME) >= 3)
    terminal.press("q")
    assert terminal.end() == 0
    assert terminal.shown.startswith(ENTER) and terminal.shown.endswith(LEAVE)
    for frame in terminal.frames()[:3]:
        assert len(frame) == ROWS and all(len(line) <= COLUMNS for line in frame), frame
    first = terminal.frames()[0]
    assert first[0].startswith("semel ") and "store memory" in first[0] and "2 workers" in first[0]
    assert [line.split()[1] for line in first if "charges" in line] == ["replayed", "replayed", "executed"]
    assert first[-1] == "p pause   q quit"


def test_p_stops_the_picture(gateway):
    terminal = Terminal(gateway)
    terminal.read_until(lambda shown: HOME in shown)
    terminal.press("p")
    terminal.read_until(lambda shown: "PAUSED" in shown)
    gateway.post("/charges", json={}, key=(key := new_key()))
    seen = terminal.shown.count(HOME)
    terminal.read_until(lambda shown: shown.count(HOME) >= seen + 2)
    assert key[:10] not in terminal.shown
    terminal.press("p")
    terminal.read_until(lambda shown: key[:10] in shown)
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(gateway, sent):
    terminal = Terminal(gateway)
    terminal.read_until(lambda shown: HOME in shown)
    terminal.process.send_signal(sent)
    assert terminal.end() == 128 + sent
    assert terminal.shown.endswith(LEAVE)


def test_a_gateway_that_goes_away_is_said_to_have(start_gateway):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    terminal = Terminal(gateway)
    terminal.read_until(lambda shown: HOME in shown)
    gateway.stop()
    terminal.read_until(lambda shown: "no answer from the admin listener" in shown)
    terminal.press("q")
    assert terminal.end() == 0


def test_once_and_json(gateway):
    def frame():
        done = run_semel("top", "--once", "--admin", admin_of(gateway))
        assert done.returncode == 0 and done.stderr == "" and "\x1b" not in done.stdout
        return done.stdout
    assert re.search(r"^last +\d+ s", frame(), re.M) and "q quit" not in frame()
    eventually(lambda: re.search(r"executed [12]  replayed 2", frame()))
    seen = json.loads(run_semel("top", "--once", "--json", "--admin", admin_of(gateway)).stdout)
    assert set(seen) == {"status", "point", "decisions"} and seen["status"]["store"]["kind"] == "memory"
    assert {one["route"] for one in seen["decisions"]} == {"charges"}
    with subprocess.Popen([binary(), "top", "--json", "--admin", admin_of(gateway)], stdout=subprocess.PIPE) as process:
        first, second = (json.loads(process.stdout.readline()) for _ in range(2))
        process.terminate()
    assert first["point"]["at"] < second["point"]["at"]


def test_without_a_terminal_or_a_gateway(gateway):
    done = run_semel("top", "--admin", admin_of(gateway))
    assert done.returncode == 2 and "needs a terminal" in done.stderr
    done = run_semel("top", "--once", "--admin", "http://127.0.0.1:1")
    assert done.returncode == 1 and done.stdout == "" and "no answer from the admin listener" in done.stderr


def test_only_the_latest_points_are_asked_for(gateway):
    eventually(lambda: len(gateway.admin("/api/stats").json()["points"]) > 2)
    every, last = (gateway.admin(f"/api/stats{query}").json()["points"] for query in ("", "?limit=2"))
    assert len(last) == 2 and last[0]["at"] >= every[-2]["at"]
    assert gateway.admin("/api/stats?limit=0").status == 400
