"""libsemel as others use it: installed into an empty folder, by the compilers that they have, as C++17, by CMake and by
pkg-config, shared and static, and in a plugin. It shows the symbols of cmake/libsemel.symbols and no others."""

import ctypes
import os
import pathlib
import shutil
import subprocess

import pytest

from harness import ROOT

EXAMPLE = ROOT / "examples/inside"
SYMBOLS = sorted((ROOT / "cmake/libsemel.symbols").read_text().split())
# Debian 12 has clang-14, Debian 13 clang-17.
OLD_CLANG = next(name for name in ("clang++-14", "clang++-17") if shutil.which(name))
STRICT = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
# For programs that link the archive: what it is made of.
PRIVATE = ["-lrocksdb", "-lpq", "-lhiredis", "-lyaml-cpp", "-lboost_json", "-lboost_container", "-lsimdjson", "-lfmt",
           "-lssl", "-lcrypto", "-lz", "-lpthread"]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    run("cmake", "--install", build, "--component", "library", "--prefix", folder / "made")
    (folder / "made").rename(folder / "moved")
    return folder / "moved"


def library(installed, name):
    [found] = installed.rglob(name)
    return found


def check(program, folder, **options):
    store = f"embedded:{folder}/data?free_bytes_min=0"
    assert run(program, store, "monday", cwd=folder, **options) == "closed 12 accounts\n"
    assert run(program, store, "monday", cwd=folder, **options) == "were closed before: 12 accounts\n"
    assert run(program, store, "tuesday", cwd=folder, **options) == "closed 12 accounts\n"
    keys = (folder / "ledger").read_text().split()
    assert len(keys) == 2 and len(set(keys)) == 2


@pytest.mark.parametrize("compiler", ["g++", OLD_CLANG, "clang++-19"])
def test_the_example_closes_the_books_once(installed, tmp_path, compiler):
    # All that it is made of is hidden from CMake.
    without = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in
               ("Boost", "OpenSSL", "PostgreSQL", "ZLIB", "simdjson", "fmt", "RocksDB", "yaml-cpp", "PkgConfig")]
    run("cmake", "-S", EXAMPLE, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DCMAKE_CXX_STANDARD=17", f"-DCMAKE_CXX_FLAGS={' '.join(STRICT)}", *without, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    check(tmp_path / "build/close_the_books", tmp_path)

    results, effects = [1, 0], []
    plugin = ctypes.CDLL(str(tmp_path / "build/libbooks.so"))
    effect = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: effects.append(1) or results.pop(0))
    store = f"embedded:{tmp_path}/plugin?free_bytes_min=0".encode()
    released, executed, replayed = 2, 0, 1
    assert [plugin.once_with_key(store, b"a", effect) for _ in range(4)] == [released, executed, replayed, replayed]
    assert plugin.once_with_key(b"nonsense:", b"a", effect) == -1
    assert len(effects) == 2


def test_pkg_config_finds_the_shared_library(installed, tmp_path):
    folder = library(installed, "semel.pc").parent
    flags = run("pkg-config", "--cflags", "--libs", "semel", env={**os.environ, "PKG_CONFIG_PATH": str(folder)}).split()
    run("g++", *STRICT, EXAMPLE / "main.cc", "-o", tmp_path / "program", *flags)
    assert "libsemel.so.1" in run("readelf", "-d", tmp_path / "program")
    check(tmp_path / "program", tmp_path, env={**os.environ, "LD_LIBRARY_PATH": str(folder.parent)})


def test_the_archive_needs_no_semel_to_run(installed, tmp_path):
    run("g++", *STRICT, f"-I{installed}/include", EXAMPLE / "main.cc", "-o", tmp_path / "program",
        library(installed, "libsemel.a"), *PRIVATE)
    assert "libsemel" not in run("readelf", "-d", tmp_path / "program")
    check(tmp_path / "program", tmp_path)


def test_it_shows_its_own_symbols_and_no_others(installed):
    shown = run("nm", "-D", "--defined-only", library(installed, "libsemel.so.1"))
    assert sorted(line.split()[-1].split("@")[0] for line in shown.splitlines()
                  if not line.endswith(" SEMEL_1")) == SYMBOLS
    defined = run("nm", "--defined-only", "--extern-only", library(installed, "libsemel.a"))
    assert sorted(line.split()[-1] for line in defined.splitlines() if len(line.split()) == 3) == SYMBOLS


def test_the_guide_shows_the_example():
    assert f"```cpp\n{(EXAMPLE / 'main.cc').read_text()}```" in (ROOT / "docs/once.md").read_text()
