"""Runs `semel relay` as a process, and the command line beside it."""

import json
import pathlib
import shutil
import signal
import subprocess
import tempfile

from harness.clients.http_client import TIMEOUT
from harness.semel import SANITIZER_REPORTS, binary


class Relay:
    def __init__(self, url, destinations, schema="semel", **keys):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-relay-"))
        self.config = {
            "store": {"kind": "postgres", "url": url, "schema": schema},
            "log": {"level": "debug"},
            "relay": {"destinations": {name: value if isinstance(value, dict) else {"url": value}
                                       for name, value in destinations.items()},
                      "backoff": {"min": "10ms", "max": "200ms"}, **keys}}
        self.process = None

    def start(self):
        path = self.folder / "semel.yaml"
        path.write_text(json.dumps(self.config))
        with open(self.folder / "stderr", "ab") as stderr:
            self.process = subprocess.Popen([binary(), "relay", "--config", str(path)],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=stderr)
        assert self.process.stdout.readline() == b"ready\n", self.stderr()
        return self

    def stderr(self):
        return (self.folder / "stderr").read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def kill9(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; it must end by itself."""
        self.signal(signal.SIGTERM)
        code = self.process.wait(TIMEOUT)
        self.process.stdout.close()
        assert code == 0, f"exit code {code}\n{self.stderr()[-4000:]}"

    def discard(self):
        try:
            if self.process is not None and self.process.poll() is None:
                self.signal(signal.SIGCONT)
                self.stop()
            text = self.stderr()
            for report in SANITIZER_REPORTS:
                assert report not in text, text[max(0, text.index(report) - 500):][:8000]
        finally:
            if self.process is not None and self.process.poll() is None:
                self.kill9()
            shutil.rmtree(self.folder, ignore_errors=True)


def semel(*arguments, code=0):
    """Runs a command. What it printed."""
    done = subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
