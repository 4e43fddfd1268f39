"""`cmake --install build --component program`: a program that runs by the installed unit's command line and the installed
configuration, at whatever prefix; and nothing of an operator's is overwritten."""

import os
import pathlib
import re
import shlex
import subprocess

import pytest

import units
from harness.ports import free_port
from harness.semel import Gateway, assert_replay

BUILD = pathlib.Path(os.environ["SEMEL_BINARY"]).parent


def install(prefix, destination=None):
    environment = {**os.environ, **({"DESTDIR": str(destination)} if destination else {})}
    done = subprocess.run(["cmake", "--install", BUILD, "--component", "program", "--prefix", prefix],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    install(prefix)
    return prefix


class Installed(Gateway):
    """A gateway by the command line of the installed unit."""

    def __init__(self, prefix, **more):
        self._unit = units.read_unit(prefix / "lib/systemd/system/semel.service")
        super().__init__(config_file=prefix / "etc/semel/semel.yaml", **more)

    def command_line(self, config_path):
        return shlex.split(self._unit["Service"]["ExecStart"][0])


def test_what_is_installed_runs(installed, upstream, key, tmp_path):
    port = free_port()
    gateway = Installed(installed, environment={
        "SEMEL_DATA": str(tmp_path / "data"), "SEMEL_LISTEN": f"127.0.0.1:{port}", "SEMEL_ADMIN": "127.0.0.1:0",
        "PAYMENTS_URL": upstream.url})
    try:
        gateway.start()
        assert gateway.address == ("127.0.0.1", port)
        charge = {"json": {"amount": 100}, "key": key, "headers": [("Authorization", "Bearer a")]}
        first = gateway.post("/v1/charges", **charge)
        assert first.status == 200
        assert_replay(gateway.post("/v1/charges", **charge), first)
        assert upstream.effects(key) == 1
    finally:
        gateway.discard()


def test_every_path_that_the_units_name_is_there(installed):
    for name in ("semel.service", "semel.socket"):
        text = (installed / "lib/systemd/system" / name).read_text()
        named = re.findall(rf"(?<!-)({re.escape(str(installed))}/\S*[\w])", text)
        assert named and [path for path in named if not pathlib.Path(path).exists()] == []
        assert not re.search(r"[ =/](/usr/|/etc/)", text)


def test_a_configuration_that_is_there_is_kept(tmp_path):
    path = tmp_path / "etc/semel/semel.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("# an operator's\n")
    assert f"Kept: {path}" in install(tmp_path)
    assert path.read_text() == "# an operator's\n"


def test_a_distribution_installs_it_where_it_belongs(tmp_path):
    install("/usr", tmp_path)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"usr/bin/semel", "etc/semel/semel.yaml", "usr/lib/systemd/system/semel.service",
            "usr/lib/systemd/system/semel.socket", "usr/share/doc/semel/docs/operations.md"} <= files
    assert not [name for name in files if not name.startswith(("usr/", "etc/semel/"))]
    unit = (tmp_path / "usr/lib/systemd/system/semel.service").read_text()
    assert unit == (units.UNITS / "semel.service").read_text()
    text = (tmp_path / "etc/semel/semel.yaml").read_text()
    [state] = units.read_unit(units.UNITS / "semel.service")["Service"]["StateDirectory"]
    assert f"path: ${{SEMEL_DATA:-/var/lib/{state}/data}}\n" in text
    check = subprocess.run([os.environ["SEMEL_BINARY"], "config", "check", tmp_path / "etc/semel/semel.yaml"],
                           capture_output=True, text=True)
    assert check.returncode == 0, check.stderr
