"""examples/client, built against an installed copy of the library by the compilers that users have, and run."""

import os
import pathlib
import re
import subprocess

import pytest

from harness import ROOT

EXAMPLE = ROOT / "examples/client"
# Packages that the client does not need; hides them from CMake.
WITHOUT = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in
           ("PostgreSQL", "ZLIB", "simdjson", "fmt", "RocksDB", "GTest", "yaml-cpp", "CLI11")]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    run("cmake", "--install", build, "--component", "library", "--prefix", folder)
    return folder


@pytest.mark.parametrize("compiler, standard", [("g++", 17), ("clang++-19", 20)])
def test_the_example_charges_once(installed, tmp_path, start_gateway, upstream, compiler, standard):
    run("cmake", "-S", EXAMPLE, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DCMAKE_CXX_STANDARD={standard}", "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Wpedantic -Werror", *WITHOUT,
        f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    program = tmp_path / "build" / "charge"
    needed = set(re.findall(r"\(NEEDED\).*\[lib([a-z_+-]+)", run("readelf", "-d", program)))
    assert needed <= {"ssl", "crypto", "boost_json", "boost_container", "stdc++", "m", "gcc_s", "c"}, needed
    gateway = start_gateway({"path": "/*", "key": {"required": True}})
    url = "http://{}:{}".format(*gateway.address)
    first = run(program, url, "order-1001", cwd=tmp_path)
    again = run(program, url, "order-1001", cwd=tmp_path)
    assert first.startswith("200 200\n") and again == first.replace("200 200\n", "200 200, replayed\n")
    assert upstream.effects() == 1


def test_the_guide_shows_the_example():
    program = (EXAMPLE / "main.cc").read_text()
    assert f"```cpp\n{program}```" in (ROOT / "docs/client.md").read_text()
