"""The units of contrib/systemd fit the program: its command line, its example of a configuration, its limits. That systemd
accepts them, and how far they are locked down by its measure, is seen by scripts/package-test."""

import re
import shlex
import subprocess

import units
from harness.semel import binary

SERVICE = units.read_unit(units.UNITS / "semel.service")
SOCKET = units.read_unit(units.UNITS / "semel.socket")
CONFIGURATION = (units.ROOT / "docs/configuration.md").read_text()
EXAMPLE = units.ROOT / "examples/payments.yaml"


def test_the_command_line_is_one_that_the_program_takes():
    [command] = SERVICE["Service"]["ExecStart"]
    program, *arguments = shlex.split(command)
    assert program == "/usr/bin/semel" and arguments[-1] == "/etc/semel/semel.yaml"
    # It gets as far as reading the file, which is not there.
    done = subprocess.run([binary(), *arguments[:-1], "/nonexistent/semel.yaml"], capture_output=True, text=True)
    assert SERVICE["Service"]["RestartPreventExitStatus"] == [str(done.returncode)]
    assert done.returncode == 2 and "/nonexistent/semel.yaml" in done.stderr
    assert SERVICE["Service"]["ExecReload"] == ['/bin/sh -c "kill -HUP $MAINPID"']
    assert SERVICE["Service"]["Type"] == ["notify"]


def test_it_may_open_as_many_files_as_the_default_limits_need():
    needed = int(re.search(r"The defaults need ([\d,]+)", CONFIGURATION)[1].replace(",", ""))
    assert int(SERVICE["Service"]["LimitNOFILE"][0]) >= needed


def test_it_is_not_killed_while_it_drains():
    drain = re.search(r"^\| `drain_timeout` \| `(\w+)`", CONFIGURATION, re.M)[1]
    assert units.seconds(SERVICE["Service"]["TimeoutStopSec"][0]) >= units.seconds(drain) + 10


def test_the_socket_is_one_that_the_example_listens_on():
    # tests/e2e/gateway/operate/test_service_manager.py: the program takes it by this name, at this address only.
    assert SOCKET["Socket"]["FileDescriptorName"] == ["gateway"]
    listen = re.search(r"^listen: \$\{SEMEL_LISTEN:-(.*)\}$", EXAMPLE.read_text(), re.M)[1]
    assert SOCKET["Socket"]["ListenStream"] == [listen]


def test_it_has_a_user_of_its_own_and_no_rights():
    service = SERVICE["Service"]
    assert service["User"] == service["Group"] == ["semel"]
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"] == [""]
    for key in ("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "ProtectKernelTunables",
                "RestrictNamespaces", "MemoryDenyWriteExecute", "LockPersonality", "RestrictSUIDSGID"):
        assert service[key] == ["yes"], key
    assert service["ProtectSystem"] == ["strict"] and service["UMask"] == ["0077"]
    assert service["StateDirectory"] == ["semel"] and service["StateDirectoryMode"] == ["0700"]
    assert service["SystemCallFilter"] == ["@system-service", "~@privileged"]
