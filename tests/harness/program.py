"""Runs one command of the program under test to its end."""
import os
import pty
import subprocess

from harness.clients.http_client import TIMEOUT
from harness.semel import binary


def run_semel(*args, env=None, cwd=None, stdin=None):
    """`stdin` is text, or None for nothing."""
    return subprocess.run([binary(), *map(str, args)], input=stdin or "", capture_output=True, text=True,
                          timeout=TIMEOUT, cwd=cwd, env={**os.environ, **(env or {})})


def run_in_terminal(*args, env=None):
    """Returns what the command shows on a terminal: both of its outputs."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([binary(), *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs,
                               env={**os.environ, "TERM": "xterm", **(env or {})})
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # how the end of a terminal is told
        pass
    os.close(ours)
    process.wait(timeout=TIMEOUT)
    return shown.decode().replace("\r\n", "\n")
