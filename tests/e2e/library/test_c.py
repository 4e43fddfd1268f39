"""semel/c.h: examples/python/semel.py runs on it, and a C compiler reads it."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

from harness import ROOT
from harness.semel import new_key

EXAMPLE = ROOT / "examples/python/semel.py"
LIBRARY = pathlib.Path(os.environ["SEMEL_BINARY"]).parent / "libsemel.so.1"


@pytest.fixture(scope="module")
def semel():
    os.environ["LIBSEMEL"] = str(LIBRARY)
    spec = importlib.util.spec_from_file_location("semel_by_ctypes", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def engine(semel, tmp_path):
    engine = semel.Engine(f"embedded:{tmp_path}/data?free_bytes_min=0")
    yield engine
    engine.close()


def test_a_block_runs_once(engine):
    key, effects = new_key(), []
    for verdict in ("executed", "replayed"):
        with engine.once("pay", key, b"7 EUR", tenant="ann") as once:
            if once.claim:
                effects.append(once.derive("charge"))
                once.finish(b"paid\0", 201)
        assert (once.verdict, once.body) == (verdict, b"paid\0")
    assert len(effects) == 1 and len(effects[0]) == 43
    assert engine.once("pay", key, b"8 EUR", tenant="ann").verdict == "mismatch"


def test_released_left_and_raised(engine):
    key = new_key()
    with engine.once("pay", key) as once:
        assert engine.once("pay", key).verdict == "busy"
        once.release("the bank is closed")
    assert once.verdict == "released"
    with engine.once("pay", key) as once:
        assert once.attempt == 2
    assert once.verdict == "unknown"
    with pytest.raises(ZeroDivisionError):
        with engine.once("pay", new_key()) as once:
            1 / 0
    assert once.verdict == "unknown"
    assert "ZeroDivisionError" in once.why
    held = engine.once("pay", key)
    assert held.verdict == "unknown" and "left without a word" in held.why
    assert engine.once("pay", key, unknown=1).attempt == 3


def test_a_block_that_closes_its_engine_is_unknown(semel, tmp_path):
    url, keys = f"embedded:{tmp_path}/data?free_bytes_min=0", [new_key(), new_key()]
    engine = semel.Engine(url)
    with engine.once("pay", keys[0]) as left, engine.once("pay", keys[1]) as finished:
        engine.close()
        finished.finish(b"paid")
        assert finished.verdict == "unknown" and "closed" in finished.why
    assert left.verdict == "unknown"
    with pytest.raises(ValueError, match="closed"):
        engine.once("pay", new_key())
    engine = semel.Engine(url)
    assert [engine.once("pay", key).verdict for key in keys] == ["unknown", "unknown"]
    engine.close()


def test_errors_are_sentences(semel, engine):
    with pytest.raises(RuntimeError, match="embedded:PATH"):
        semel.Engine("mysql://u:secret@h/d")
    with pytest.raises(ValueError, match="name"):
        engine.once("", "key")


def test_what_was_kept_is_there_for_the_next_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import semel, sys\nengine = semel.Engine(sys.argv[1])\n"
                       "with engine.once('pay', 'key') as once:\n    if once.claim: once.finish(b'42')\n"
                       "print(once.verdict, once.body.decode())\n")
    line = [sys.executable, program, f"embedded:{tmp_path}/data?free_bytes_min=0"]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE.parent), "LIBSEMEL": str(LIBRARY)}
    said = [subprocess.run(line, env=environment, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert said == ["executed 42\n", "replayed 42\n"]


def test_c_reads_the_header(tmp_path):
    (tmp_path / "program.c").write_text(
        '#include <semel/c.h>\n#include <stdio.h>\nint main(void) { puts(semel_version()); return 0; }\n')
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT}/include", tmp_path / "program.c",
                    "-o", tmp_path / "program", LIBRARY], check=True)
    said = subprocess.run([tmp_path / "program"], env={"LD_LIBRARY_PATH": str(LIBRARY.parent)}, capture_output=True, text=True)
    assert said.stdout.strip() == (ROOT / "CMakeLists.txt").read_text().split("project(semel VERSION ")[1].split()[0]


def test_the_binding_is_short():
    assert len(EXAMPLE.read_text().splitlines()) < 100
