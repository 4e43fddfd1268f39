"""The library in services outside of this project: an installed copy, wherever it was moved to, or built with
them. For users of libpq it needs neither Asio nor RocksDB, nor what fingerprints are made with."""

import os
import pathlib
import re
import subprocess

from harness import ROOT, TESTS

SERVICE = TESTS / "library"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


COMPILER = ["-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_FLAGS=-O0"]
# Packages that the component for users of libpq does not need; hides them from CMake.
WITHOUT = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("ZLIB", "simdjson", "fmt", "RocksDB", "GTest",
                                                                  "yaml-cpp", "CLI11")]


def check(service, database):
    assert run(service, database.url) == "one order\n"
    needed = set(re.findall(r"\(NEEDED\).*\[lib([a-z_+-]+)", run("readelf", "-d", service)))
    assert needed <= {"pq", "crypto", "boost_json", "boost_container", "stdc++", "m", "gcc_s", "c"}, needed


def test_a_service_of_its_own_uses_an_installed_copy(tmp_path, database):
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    run("cmake", "--install", build, "--component", "library", "--prefix", tmp_path / "made")
    (tmp_path / "made").rename(tmp_path / "moved")
    for file in (tmp_path / "moved").rglob("*.cmake"):
        for folder in (build, ROOT, tmp_path):
            # As the beginning of a path: the tree may be in a folder as short as /semel.
            assert not re.search(rf"(?<![\w}}./-]){re.escape(str(folder))}(?![\w-])", file.read_text()), file
    run("cmake", "-S", SERVICE, "-B", tmp_path / "build", *COMPILER, *WITHOUT, f"-DCMAKE_PREFIX_PATH={tmp_path / 'moved'}")
    run("cmake", "--build", tmp_path / "build")
    check(tmp_path / "build" / "service", database)


def test_a_service_of_its_own_builds_the_library_with_itself(tmp_path, database):
    run("cmake", "-S", SERVICE / "subproject", "-B", tmp_path, *COMPILER, *WITHOUT, f"-DSEMEL={ROOT}")
    run("cmake", "--build", tmp_path)
    check(tmp_path / "service", database)
    assert (tmp_path / "liborders.so").exists()
    assert "Total Tests: 0" in run("ctest", "-N", "--test-dir", tmp_path)
