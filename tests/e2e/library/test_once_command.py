"""`semel once`: one run of a command per key, whatever happens to it or to semel."""

import os
import pathlib
import signal
import subprocess

import pytest

from harness.semel import binary, eventually


@pytest.fixture
def once(tmp_path):
    """Runs `semel once` in a folder of its own, on one embedded store."""
    def run(key, *command, options=(), start=False, store=None):
        line = [binary(), "once", "--store", store or f"embedded:{tmp_path}/data?free_bytes_min=0", "--operation", "backup",
                "--key", key, *options, *(["--", *command] if command else [])]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path}
        if start:
            return subprocess.Popen(line, **pipes)
        return subprocess.run(line, **pipes)
    run.folder = tmp_path
    return run


WORK = ["sh", "-c", "echo effect >> effects; printf 'out\\0put'; printf 'err\\nor' >&2; exit 3"]


def effects(once):
    file = once.folder / "effects"
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_output_and_exit_code_are_kept_and_replayed(once):
    first = once("monday", *WORK)
    assert (first.returncode, first.stdout, first.stderr) == (3, b"out\0put", b"err\nor")
    again = once("monday", *WORK)
    assert (again.returncode, again.stdout) == (3, b"out\0put")
    assert again.stderr.startswith(b"err\nor") and b"replayed" in again.stderr
    assert once("monday", *WORK, options=["--quiet"]).stderr == b"err\nor"
    assert effects(once) == 1
    assert once("tuesday", *WORK).returncode == 3
    assert once("monday", *WORK, options=["--tenant", "ann"]).returncode == 3
    assert effects(once) == 3


def test_another_command_under_the_key_is_refused_unless_the_fingerprint_says_otherwise(once):
    assert once("monday", "true").returncode == 0
    refused = once("monday", *WORK)
    assert (refused.returncode, effects(once)) == (65, 0)
    assert b"another command" in refused.stderr
    assert once("a", "true", options=["--fingerprint", "v1"]).returncode == 0
    assert once("a", *WORK, options=["--fingerprint", "v1"]).returncode == 0
    assert once("a", *WORK, options=["--fingerprint", "v2"]).returncode == 65
    assert effects(once) == 0


def test_output_beyond_the_limit_is_shown_and_not_kept(once):
    work = ["sh", "-c", "head -c 100000 /dev/zero"]
    assert len(once("a", *work, options=["--output-max", "1KiB"]).stdout) == 100000
    again = once("a", *work, options=["--output-max", "1KiB"])
    assert len(again.stdout) == 1024 and b"98976 bytes of its output were not kept" in again.stderr


def test_a_command_that_says_so_or_cannot_be_started_has_not_happened(once):
    assert once("a", "/no/such/command").returncode == 127
    assert once("a", "/no/such/command").returncode == 127
    fails_first = ["sh", "-c", "echo effect >> effects; [ $SEMEL_ATTEMPT = 2 ] || exit 75; echo $SEMEL_RECORD"]
    assert once("b", *fails_first, options=["--retry-on", "75,111"]).returncode == 75
    done = once("b", *fails_first, options=["--retry-on", "75,111"])
    assert done.returncode == 0 and len(done.stdout.strip()) == 64
    assert once("b", *fails_first).returncode == 0 and effects(once) == 2


@pytest.mark.parametrize("victim", ["semel", "command", "both"])
def test_a_run_that_was_killed_is_unknown_until_somebody_says_what_happened(once, victim):
    work = ["sh", "-c", "echo effect >> effects; echo $$ > pid; exec sleep 600"]
    running = once("a", *work, start=True)
    pid = once.folder / "pid"
    eventually(lambda: pid.exists() and pid.read_text().strip())
    command = int(pid.read_text())
    if victim != "command":
        running.kill()
    if victim != "semel":
        os.kill(command, signal.SIGKILL)
    running.communicate(timeout=60)
    assert running.returncode == (70 if victim == "command" else -signal.SIGKILL)
    # With its parent gone, it has got SIGTERM.
    eventually(lambda: not pathlib.Path(f"/proc/{command}/cmdline").exists()
               or b"sleep" not in pathlib.Path(f"/proc/{command}/cmdline").read_bytes())
    held = once("a", *work)
    assert (held.returncode, effects(once)) == (70, 1)
    assert b"--release" in held.stderr
    assert once("a", options=["--done"]).returncode == 0
    assert once("a", *work).returncode == 0 and effects(once) == 1

    assert once("b", "sh", "-c", "kill -9 $$").returncode == 70
    assert once("b", options=["--release"]).returncode == 0
    assert once("b", "sh", "-c", "kill -9 $$").returncode == 70
    assert once("nobody", options=["--release"]).returncode == 3


def test_an_interrupted_command_is_told_and_unknown(once):
    work = ["sh", "-c", "trap 'echo told >> effects; exit 9' TERM; echo > ready; while :; do sleep 0.1; done"]
    running = once("a", *work, start=True)
    eventually(lambda: (once.folder / "ready").exists())
    running.terminate()
    running.communicate(timeout=60)
    assert (running.returncode, effects(once)) == (70, 1)


@pytest.mark.parametrize("kind", ["embedded", "postgres"])
def test_a_run_that_has_begun_is_busy_or_waited_for(once, kind, new_database):
    store = new_database().url if kind == "postgres" else None
    work = ["sh", "-c", "echo effect >> effects; while [ ! -e gate ]; do sleep 0.05; done; echo done"]
    running = once("a", *work, start=True, store=store)
    eventually(lambda: effects(once) == 1)
    assert once("a", *work, store=store).returncode == 75
    waiting = once("a", *work, start=True, store=store, options=["--wait", "60s"])
    (once.folder / "gate").touch()
    assert running.communicate(timeout=60)[0] == waiting.communicate(timeout=60)[0] == b"done\n"
    assert (running.returncode, waiting.returncode, effects(once)) == (0, 0, 1)


@pytest.mark.parametrize("options, said", [
    (["--wait", "long"], "--wait"),
    (["--retry-on", "0"], "--retry-on"),
    (["--done"], "no command"),
])
def test_a_bad_command_line_says_what_to_do(once, options, said):
    done = once("a", "true", options=options)
    assert done.returncode == 2 and said in done.stderr.decode()
    assert once("a").returncode == 2
    nowhere = once("a", "true", store="nonsense")
    assert nowhere.returncode == 2 and "embedded:PATH" in nowhere.stderr.decode()
    assert once("", "true").returncode == 2


def test_a_store_that_cannot_be_used_is_not_the_command_lines_fault(once, new_database):
    assert once("a", *WORK).returncode == 3
    for table in [*(once.folder / "data").glob("MANIFEST-*"), *(once.folder / "data").glob("CURRENT")]:
        table.write_bytes(b"damaged")
    for options, command in ((["--done"], []), ([], WORK)):
        refused = once("a", *command, options=options)
        assert refused.returncode == 75 and b"data" in refused.stderr, refused
    schema = new_database().url + "?semel.schema=nowhere"
    for options, command in ((["--done"], []), ([], WORK)):
        assert once("a", *command, options=options, store=schema).returncode == 75
    assert effects(once) == 1


def test_a_decision_that_is_refused_changes_nothing(once):
    assert once("a", *WORK).returncode == 3
    for decision in ("--done", "--release"):
        assert once("a", options=[decision]).returncode == 65
    assert once("a", *WORK).returncode == 3 and effects(once) == 1


def test_without_room_for_a_pipe_nothing_is_claimed(once):
    line = ["prlimit", "--nofile=5", binary(), "once", "--store", f"embedded:{once.folder}/data", "--operation", "backup",
            "--key", "a", "--", "true"]
    done = subprocess.run(line, capture_output=True)
    assert done.returncode == 127 and b"pipe" in done.stderr and not (once.folder / "data").exists(), done
