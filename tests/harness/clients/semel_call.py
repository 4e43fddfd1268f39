"""`semel call` as a process, and what it said."""

import json
import re
import subprocess

from harness.semel import binary
from harness.clients.http_client import TIMEOUT


class Call:
    def __init__(self, *arguments, stdin=None):
        self.process = subprocess.Popen(
            [binary(), "call", *[str(argument) for argument in arguments]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._stdin = stdin

    def end(self):
        out, self.errors = [part.decode() for part in self.process.communicate(self._stdin, TIMEOUT)]
        self.out, self.code = out, self.process.returncode
        return self

    def kill9(self):
        self.process.kill()
        self.process.communicate()


def call(*arguments, stdin=None):
    """Runs it to its end."""
    return Call(*arguments, stdin=stdin).end()


def call_json(*arguments):
    """Returns the exit code and the object that --json prints."""
    done = call(*arguments, "--json")
    assert done.out, done.errors
    return done.code, json.loads(done.out)


def key_of(request):
    """The key of a request's bytes, without its quotes; None: it has none."""
    found = re.search(rb'^Idempotency-Key: "(.*)"\r$', request, re.M)
    return found and found[1].decode()
