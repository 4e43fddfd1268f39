"""`semel demo`: the story of the README, for real, with its own check of every step."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest

from harness.clients.http_client import Connection
from harness.semel import TIME_SCALE, binary, eventually

SECONDS_MAX = 60 * TIME_SCALE
# first, retry, another amount, 50 at once, the answer lost on the way back, kill -9
STORY = [r"\b201\b", "idempotency-replayed: true", "422 key-reused", r"\b50\b",
         "lost|goes away|never arrives", "-9", "outcome-unknown"]


def group_is_gone(group):
    try:
        os.killpg(group, 0)
        return False
    except ProcessLookupError:
        return True


@contextlib.contextmanager
def demo(*args):
    """The demo in a folder and a process group of its own; neither may keep anything."""
    with tempfile.TemporaryDirectory(prefix="semel-test-") as folder:
        process = subprocess.Popen([binary(), "demo", *args], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            yield process
            eventually(lambda: group_is_gone(process.pid), 5 * TIME_SCALE)
            assert list(pathlib.Path(folder).iterdir()) == [], "the demo left files behind"
        finally:
            if not group_is_gone(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()


def test_the_walk_ends_well_and_leaves_nothing_behind():
    with demo("--once") as process:
        output, _ = process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == 0, output
    for step in STORY:
        assert re.search(step, output.lower()), f"{step} is missing in:\n{output}"


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
def test_it_stays_up_for_curl_until_it_is_told_to_end(ends):
    with demo() as process:
        output = ""
        while "/metrics" not in output:
            line = process.stdout.readline()
            assert line, f"it ended by itself:\n{output}"
            output += line
        host, port = re.search(r"http://([\d.]+):(\d+)/v1/charges", output).groups()
        with Connection((host, int(port))) as connection:
            for _ in range(2):
                answer = connection.request("POST", "/v1/charges", key='"my-key"',
                                            json={"amount": 4200, "currency": "eur"})
                assert answer.status == 201, answer
        assert answer.replayed
        host, port = re.search(r"http://([\d.]+):(\d+)/metrics", output).groups()
        with Connection((host, int(port))) as connection:
            metrics = connection.request("GET", "/metrics", host=f"{host}:{port}")
        assert b"semel_requests_total" in metrics.body
        process.send_signal(ends)
        assert process.wait(SECONDS_MAX) == 0
