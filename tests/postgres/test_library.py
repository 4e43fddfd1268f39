"""The installed library: a service outside of this project finds it and links it, and needs neither
Asio nor RocksDB for that."""

import os
import pathlib
import subprocess

SERVICE = pathlib.Path(__file__).resolve().parent.parent / "library"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_service_of_its_own_uses_an_installed_copy(tmp_path, database):
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    run("cmake", "--install", build, "--component", "library", "--prefix", tmp_path / "installed")
    run("cmake", "-S", SERVICE, "-B", tmp_path / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-19",
        f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}", "-DCMAKE_CXX_FLAGS=-O0")
    run("cmake", "--build", tmp_path / "build")
    service = tmp_path / "build" / "service"
    assert run(service, database.url) == "one order\n"
    needed = run("readelf", "-d", service)
    assert "libpq" in needed and "rocksdb" not in needed
