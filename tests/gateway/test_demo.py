"""`semel demo --once`: the story of the README, for real, with its own check of every step."""

import os
import pathlib
import signal
import subprocess
import tempfile

from semel_harness import TIME_SCALE, binary, eventually


def group_is_gone(group):
    try:
        os.killpg(group, 0)
        return False
    except ProcessLookupError:
        return True


def test_the_walk_ends_well_and_leaves_nothing_running():
    with tempfile.TemporaryDirectory(prefix="semel-test-") as folder:
        process = subprocess.Popen([binary(), "demo", "--once"], cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=60 * TIME_SCALE)
            assert process.returncode == 0, output
            eventually(lambda: group_is_gone(process.pid), 5)
        finally:
            if not group_is_gone(process.pid):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        assert list(pathlib.Path(folder).iterdir()) == [], "the demo left files behind"
    story = output.lower()
    # first, retry, another amount, 50 at once, the answer lost, kill -9
    for word in ("201", "idempotency-replayed", "422", "50", "lost", "kill"):
        assert word in story, f"{word} is missing in:\n{output}"
