"""The disk fills and empties while a gateway runs. The space is really taken, by a file of somebody else."""

import os

import pytest

from harness.semel import Background, assert_problem, assert_replay, eventually, new_key

GIB = 1 << 30
LARGE = b"x" * (1 << 20)  # goes to the spool
ROUTE = {"name": "charges", "path": "/charges"}


class Disk:
    """The file system of `folder`. `mark` is below the space that is free on it now, and above what fill() leaves."""

    def __init__(self, folder):
        self._folder = folder
        self._file = folder / "of-somebody-else"
        # A sixteenth at most, so that other tests do not notice; 1 GiB is much more than they write meanwhile.
        self._step = min(GIB, self.free() // 16)
        self.mark = self.free() - self._step // 2

    def free(self):
        status = os.statvfs(self._folder)
        return status.f_bavail * status.f_frsize

    def fill(self):
        with open(self._file, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, self._step)
        assert self.free() < self.mark

    def empty(self):
        self._file.unlink(missing_ok=True)


@pytest.fixture
def disk(tmp_path):
    made = Disk(tmp_path)
    yield made
    made.empty()


def executed_before_refusal(gateway, body, code):
    """Sends requests with new keys until they are refused. Returns how many were executed before that: the gateway may
    know the free space from a moment ago."""
    executed = 0

    def is_refused():
        nonlocal executed
        answer = gateway.post("/charges", body, key=new_key())
        executed += answer.status == 200
        return answer.status == 503
    eventually(is_refused)
    for _ in range(3):
        assert_problem(gateway.post("/charges", body, key=new_key()), 503, code)
    return executed


def test_new_keys_stop_while_the_disk_is_full_and_go_on_without_a_restart(start_gateway, upstream, disk, tmp_path):
    gateway = start_gateway(ROUTE, store={"kind": "embedded", "path": str(tmp_path / "data"),
                                          "free_bytes_min": disk.mark})
    process = gateway.process.pid
    for turn in ("first", "second"):
        done = gateway.post("/charges", b"x", key=f"{turn} done")
        assert done.status == 200
        running = Background(gateway.post, "/charges", b"x", key=f"{turn} running", test=f"gate={turn}")
        upstream.wait_effects(key=f"{turn} running")
        eventually(lambda: b"accepts no new keys" not in gateway.admin("/readyz").body)

        arrived = upstream.arrived()
        disk.fill()
        arrived += executed_before_refusal(gateway, b"x", "store-unavailable")
        assert_problem(gateway.post("/charges", b"x", key=f"{turn} new"), 503, "store-unavailable")
        assert upstream.arrived() == arrived
        ready = eventually(lambda: b"accepts no new keys: " in (a := gateway.admin("/readyz")).body and a)
        assert ready.status == 200 and ready.body.startswith(b"ready\n")
        metrics = gateway.metrics()
        assert metrics["semel_free_bytes{of=store}"] < metrics["semel_free_bytes_min"]
        # Keys that are there go on: their outcomes are recorded and replayed.
        assert_replay(gateway.post("/charges", b"x", key=f"{turn} done"), done)
        upstream.open_gate(turn)
        ended = running.result()
        assert ended.status == 200
        assert_replay(gateway.post("/charges", b"x", key=f"{turn} running"), ended)

        disk.empty()
        answer = eventually(lambda: (a := gateway.post("/charges", b"x", key=f"{turn} new")).status == 200 and a)
        assert not answer.replayed
        assert_replay(gateway.post("/charges", b"x", key=f"{turn} new"), answer)
        assert [upstream.effects(f"{turn} {which}") for which in ("done", "running", "new")] == [1, 1, 1]
    assert gateway.process.pid == process


def test_large_bodies_stop_while_the_disk_is_full_and_small_ones_go_on(start_gateway, upstream, disk, tmp_path):
    """The records are in memory: only the spool is on the disk."""
    gateway = start_gateway(ROUTE, store={"kind": "memory", "free_bytes_min": disk.mark},
                            spool={"path": str(tmp_path / "spool")})
    first = gateway.post("/charges", LARGE, key="first")
    assert first.status == 200

    disk.fill()
    assert executed_before_refusal(gateway, LARGE, "overloaded") == 0
    assert upstream.arrived() == 1
    ready = eventually(lambda: (a := gateway.admin("/readyz")).body != b"ready\n" and a)
    assert ready.status == 200 and ready.body.startswith(b"ready\naccepts no large bodies: ")
    assert gateway.post("/charges", b"x", key="small").status == 200
    assert gateway.metrics()["semel_spool_refused_total"] >= 4

    disk.empty()
    second = eventually(lambda: (a := gateway.post("/charges", LARGE, key="second")).status == 200 and a)
    assert upstream.last("second")["bytes"] == len(LARGE)
    eventually(lambda: gateway.admin("/readyz").body == b"ready\n")
    assert_replay(gateway.post("/charges", LARGE, key="second"), second)
    assert_replay(gateway.post("/charges", LARGE, key="first"), first)
    assert upstream.effects() == 3
