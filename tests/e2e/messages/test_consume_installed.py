"""The consumer in docs/library.md, word for word: built against an installed copy of the library, and run."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from harness import ROOT
from harness.semel import eventually, new_key


class Nobody:
    url = ""


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def documented_program():
    blocks = re.findall(r"^```cpp\n(.*?)^```", (ROOT / "docs/library.md").read_text(), re.M | re.S)
    [program] = [block for block in blocks if "int main" in block]
    return program


@pytest.mark.parametrize("broker", ["nats"], indirect=True)
def test_the_documented_consumer_consumes(broker, tmp_path):
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    source = tmp_path / "payments.cc"
    source.write_text(documented_program())
    run("cmake", "--install", build, "--component", "library", "--prefix", tmp_path / "installed")
    run("cmake", "-S", ROOT / "tests/library/consumer", "-B", tmp_path / "build", "-G", "Ninja",
        "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror",
        f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}", f"-DPAYMENTS_SOURCE={source}")
    run("cmake", "--build", tmp_path / "build")

    queue = broker.queue()
    entry = {name: value for name, value in broker.entry(queue, Nobody).items()
             if name not in ("to", "headers")}
    (tmp_path / "semel.yaml").write_text(json.dumps(
        {"store": {"kind": "embedded", "path": "data"}, "admin": {"listen": "127.0.0.1:0"},
         "consume": [{**entry, "name": "payments"}]}))
    key = new_key()
    queue.publish([(key, b"5 EUR")] * 3)
    with open(tmp_path / "said", "wb") as said:
        program = subprocess.Popen([tmp_path / "build" / "payments"], cwd=tmp_path, stdout=said,
                                   stderr=subprocess.PIPE)
    try:
        eventually(lambda: (tmp_path / "said").read_text() and queue.counts() == (0, 0))
        program.send_signal(signal.SIGTERM)
        log = program.communicate(timeout=30)[1].decode()
    finally:
        program.kill()
        program.wait()
    assert program.returncode == 0, log
    assert (tmp_path / "said").read_text() == f"charge {key}, attempt 1: 5 EUR\n"
