"""The store suite outside of this project: installed, compiled with the example store, and able to find what is wrong with
broken variants of it."""

import os
import pathlib
import re
import subprocess

import pytest
from broken_stores import BROKEN_STORES
from harness import ROOT, TESTS

EXAMPLE = ROOT / "examples/store"
# Packages that a store and its tests do not need; hides them from CMake.
WITHOUT = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("PostgreSQL", "simdjson", "fmt", "RocksDB", "yaml-cpp",
                                                                  "prometheus-cpp")]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_with(installed, source, build, *options):
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-19", f"-DCMAKE_PREFIX_PATH={installed}",
        *options)
    run("cmake", "--build", build)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    run("cmake", "--install", build, "--component", "library", "--prefix", folder / "made")
    return (folder / "made").rename(folder / "moved")


@pytest.fixture(scope="module")
def broken(installed, tmp_path_factory):
    """The folder with the programs that test the broken stores."""
    folder = tmp_path_factory.mktemp("broken")
    original = (EXAMPLE / "file_store.cc").read_text()
    for name, (_, *edits) in BROKEN_STORES.items():
        source = original
        for old, new in edits:
            assert source.count(old) == 1, f"{name}: {old}"
            source = source.replace(old, new)
        (folder / "sources" / name).mkdir(parents=True)
        (folder / "sources" / name / "file_store.cc").write_text(source)
    build_with(installed, TESTS / "library/broken_stores", folder / "build", "-DCMAKE_CXX_FLAGS=-O0", f"-DEXAMPLE={EXAMPLE}",
               f"-DBROKEN={folder / 'sources'}")
    return folder / "build"


def promises():
    """The promise of each test of the suite."""
    text = "".join(path.read_text() for path in (TESTS / "conformance").glob("*.cc"))
    found = re.findall(r'^TEST_P\(StoreSuite, (\w+)\) \{\n  promise\(((?:\s*"[^"]*")+)\);', text, re.M)
    assert len(found) == len(re.findall(r"^TEST_P\(", text, re.M)) > 40
    return {test: re.sub(r'"\s*"|^\s*"|"$', "", promise) for test, promise in found}


def test_the_example_keeps_every_promise(installed, tmp_path):
    example = tmp_path / "example"
    run("cp", "-r", EXAMPLE, example)
    build_with(installed, example, tmp_path / "build", "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror", *WITHOUT)
    said = run(tmp_path / "build/store_tests")
    assert set(re.findall(r"\[       OK \] Stores/StoreSuite\.(\w+)/file", said)) == set(promises())
    assert "breaks" not in said
    run("ctest", "--test-dir", tmp_path / "build")

    nothing = subprocess.run([tmp_path / "build/store_tests", "--gtest_filter=Nothing*"], capture_output=True, text=True)
    assert nothing.returncode == 2 and "no test was run" in nothing.stderr


@pytest.mark.parametrize("name", BROKEN_STORES)
def test_a_broken_promise_is_found_and_named(broken, name):
    memory = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
    done = subprocess.run([broken / name], capture_output=True, text=True, env={**os.environ, **memory}, timeout=300)
    assert done.returncode == 1, f"{done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    [found] = re.findall(r"^file breaks \d+ of the promises of semel::Store:\n((?:- .*\n)+)", done.stdout, re.M)
    broken_promises = {test: promise for promise, test in re.findall(r"^- (.*) \((\w+)\)$", found, re.M)}
    expected = BROKEN_STORES[name][0]
    assert broken_promises.get(expected) == promises()[expected], found
    assert f"file breaks this promise: {promises()[expected]}" in done.stdout


def test_only_a_kill_shows_that_a_store_writes_when_it_is_closed(broken):
    done = subprocess.run([broken / "written_when_it_is_closed", "--gtest_filter=*ARestartKeeps*"], capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


def test_the_page_shows_the_examples_tests_and_lists_every_promise():
    text = (ROOT / "docs/stores.md").read_text()
    assert f"```cpp\n{(EXAMPLE / 'store_tests.cc').read_text()}```\n" in text
    page = " ".join(text.split())
    assert [promise for promise in promises().values() if promise not in page] == []
