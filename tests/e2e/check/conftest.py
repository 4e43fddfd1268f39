"""Servers that `semel check` is tried on, shared by all tests, and the tool itself."""
import json
import subprocess
import sys
import urllib.request

import pytest

from harness.semel import binary
from harness.semel_fixtures import *  # noqa: F401,F403

BODY = '{"amount": {{n}}, "currency": "eur"}'
SLOW = 0.4
# Everything that unlocks checks on the payments API, but for --ttl.
UNLOCK = ["--required", "--slow-body", '{"amount": {{n}}, "slow": %s}' % SLOW, "--error-body", '{"declined": {{n}}}',
          "--retryable-body", '{"amount": 5, "flaky": "{{uuid}}"}', "--broken-body", '{"broken": {{n}}}',
          "--large-body", '{"amount": {{n}}, "large": 40000}', "--other-query", "dry=1", "--other-method", "PUT",
          "--other-auth", "Bearer bob", "--bad-auth", "Bearer eve"]


class Payments:
    """harness.peers.faulty_payments in a process of its own."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-m", "harness.peers.faulty_payments"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def url(self, fault, page=""):
        return f"http://127.0.0.1:{self.port}/{fault}{page}"

    def made(self, fault):
        with urllib.request.urlopen(self.url(fault, "/count")) as answer:
            return json.load(answer)["charges"]["made"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="session")
def payments():
    server = Payments()
    yield server
    server.stop()


class Checked:
    def __init__(self, done):
        self.code, self.output, self.errors = done.returncode, done.stdout, done.stderr

    @property
    def report(self):
        assert self.output, self.errors
        return json.loads(self.output)

    def ids(self, verdict):
        return {check["id"] for check in self.report["checks"] if check["verdict"] == verdict}

    def why(self, verdict):
        return {check["id"]: check["why"] for check in self.report["checks"] if check["verdict"] == verdict}


def semel_check(url, *options, form=("--json", "-"), timeout=120):
    command = [binary(), "check", url, "-H", "Authorization: Bearer alice", "--body", BODY, "--patience", "3s",
               *form, *options]
    return Checked(subprocess.run(command, capture_output=True, text=True, timeout=timeout))


def unlocked(payments, fault):
    """The options that unlock everything on one of the payments APIs."""
    return [*UNLOCK, "--other-path", f"/{fault}/refunds", "--delete-path", f"/{fault}/charges/{{{{witness}}}}",
            "--restart-cmd", f"curl -s {payments.url(fault, '/restart')}"]
