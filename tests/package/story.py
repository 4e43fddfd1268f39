"""The life of the Debian packages, inside a Debian that has never seen them: checked, installed, started as the unit
starts it, used, upgraded, removed, purged. Run by scripts/package-test, as root, with nothing but Python."""

import ctypes
import fcntl
import glob
import grp
import http.server
import json
import os
import pathlib
import pwd
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import urllib.request

# Semel has no manual page yet.
LINTIAN_IGNORES = "no-manual-page"
EXPOSURE_MAX = 15  # of 100, by systemd's measure
UNIT = pathlib.Path("/usr/lib/systemd/system/semel.service")
CONFIG = pathlib.Path("/etc/semel/semel.yaml")
DATA = pathlib.Path("/var/lib/semel")


def step(what):
    print(f"== {what}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{shlex.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def package(name, before=False):
    [path] = glob.glob(f"/packages/{'before/' if before else ''}{name}_*.deb")
    return path


class Payments(http.server.BaseHTTPRequestHandler):
    """The service behind the gateway. It counts what it did."""

    charges = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Payments.charges += 1
        body = json.dumps({"id": f"ch_{Payments.charges}"}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def unit_value(key):
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.M)[-1]


def environment():
    """Of the service: what its EnvironmentFile says."""
    path = pathlib.Path(unit_value("EnvironmentFile").lstrip("-"))
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


class Service:
    """By the unit's command line, as its user, without any capability, in its folder and with its umask."""

    def __enter__(self):
        self._process = subprocess.Popen(
            ["setpriv", "--reuid", unit_value("User"), "--regid", unit_value("Group"), "--clear-groups",
             "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--", *shlex.split(unit_value("ExecStart"))],
            cwd=unit_value("WorkingDirectory"), env=environment(), umask=int(unit_value("UMask"), 8),
            stdout=subprocess.PIPE, text=True)
        while (line := self._process.stdout.readline()) != "ready\n":
            assert line, f"it ended, exit code {self._process.wait()}"
        return self

    def __exit__(self, *_):
        assert os.stat(f"/proc/{self._process.pid}").st_uid == pwd.getpwnam("semel").pw_uid
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(30) == 0


def charge(key):
    """Returns the status, the body, and whether it was replayed."""
    request = urllib.request.Request("http://127.0.0.1:8080/v1/charges", b'{"amount": 1}', {
        "Idempotency-Key": f'"{key}"', "Authorization": "Bearer a", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.status, answer.read(), answer.headers["Idempotency-Replayed"] == "true"


# A chroot has no systemd that runs. These stand in its place, and note what the maintainer scripts ask of it.
SAID = pathlib.Path("/packages/said")
ACTIVE = pathlib.Path("/packages/active")  # there while the service is to be taken for running
MANAGER = f"""#!/bin/sh
echo "${{0##*/}} $*" >>{SAID}
case "$*" in *is-active*) [ -e {ACTIVE} ];; esac
"""


def stand_in_for_systemd():
    pathlib.Path("/run/systemd/system").mkdir(parents=True)
    folder = pathlib.Path("/packages/bin")
    folder.mkdir()
    for name in ("systemctl", "deb-systemd-invoke"):
        (folder / name).write_text(MANAGER)
        (folder / name).chmod(0o755)
    # apt gives dpkg and its scripts a path of its own.
    pathlib.Path("/etc/apt/apt.conf.d/99path").write_text(f'DPkg::Path "{folder}:/usr/sbin:/usr/bin:/sbin:/bin";\n')


def asked_of_systemd():
    """What was asked since the last call, but for what changes nothing."""
    lines = SAID.read_text().splitlines()
    SAID.unlink()
    assert "systemctl --system daemon-reload" in lines
    return [line for line in lines if "daemon-reload" not in line and "is-active" not in line]


def install(*paths):
    run("apt-get", "install", "-y", "--no-install-recommends", *paths)


def left_over():
    found = run("find", "/", "-xdev", "-iname", "*semel*", "-not", "-path", "/packages/*", "-not", "-path", "/proc/*")
    return found.split()


def checked():
    for name in ("semel", "libsemel-dev"):
        run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", LINTIAN_IGNORES, package(name))
    run("apt-get", "update")
    run("apt-get", "install", "--simulate", package("libsemel-dev"))
    run("apt-get", "install", "-y", "--no-install-recommends", "--download-only", package("semel"))


def alone():
    """From here on, a network of its own: the ports of the first configuration may be taken on the machine."""
    clone_newnet, siocsifflags, iff_up = 0x40000000, 0x8914, 1
    assert ctypes.CDLL(None, use_errno=True).unshare(clone_newnet) == 0, os.strerror(ctypes.get_errno())
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, siocsifflags, struct.pack("16sh14x", b"lo", iff_up))


def installed():
    install(package("semel", before=True))
    assert run("semel", "config", "check", str(CONFIG)) is not None
    folder = CONFIG.parent.stat()
    assert (folder.st_uid, grp.getgrgid(folder.st_gid).gr_name, folder.st_mode & 0o777) == (0, "semel", 0o750)
    user = pwd.getpwnam("semel")
    assert user.pw_uid < 1000 and user.pw_shell.endswith("nologin") and user.pw_dir == str(DATA)
    assert not glob.glob("/etc/systemd/system/*.wants/semel*"), "nothing is enabled"
    assert asked_of_systemd() == [], "nothing is started"
    run("systemd-analyze", "verify", "--man=no", str(UNIT), str(UNIT.with_suffix(".socket")))
    run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(UNIT))


def served():
    first = charge("order-1-0123456789")
    assert first == (201, b'{"id": "ch_1"}', False) and Payments.charges == 1
    assert charge("order-1-0123456789") == (201, b'{"id": "ch_1"}', True) and Payments.charges == 1
    # The operator's command finds the listener and the token.
    keys = run("setpriv", "--reuid", "semel", "--regid", "semel", "--clear-groups", "semel", "keys", "ls", "--config", str(CONFIG))
    assert "completed" in keys, keys
    assert (DATA.stat().st_mode & 0o777, (DATA / "data").stat().st_mode & 0o077) == (0o700, 0)


def upgraded():
    edited = CONFIG.read_text() + "# edited here\n"
    CONFIG.write_text(edited)
    ACTIVE.touch()
    install(package("semel"))
    assert asked_of_systemd() == ["deb-systemd-invoke restart semel.service"]
    ACTIVE.unlink()
    assert "~before" not in run("dpkg-query", "-W", "-f=${Version}", "semel")
    assert CONFIG.read_text() == edited
    with Service():
        assert charge("order-1-0123456789") == (201, b'{"id": "ch_1"}', True)
        assert charge("order-2-0123456789") == (201, b'{"id": "ch_2"}', False) and Payments.charges == 2


def removed():
    run("apt-get", "remove", "-y", "semel")
    assert asked_of_systemd() == ["deb-systemd-invoke stop semel.socket semel.service"]
    assert not pathlib.Path("/usr/bin/semel").exists() and not UNIT.exists()
    assert "# edited here" in CONFIG.read_text() and (DATA / "data/CURRENT").exists()
    install(package("semel"))
    assert asked_of_systemd() == []
    with Service():
        assert charge("order-2-0123456789") == (201, b'{"id": "ch_2"}', True) and Payments.charges == 2


def purged():
    run("apt-get", "purge", "-y", "semel")
    assert left_over() == [], left_over()
    assert "semel" not in pathlib.Path("/etc/passwd").read_text() + pathlib.Path("/etc/group").read_text()


def main():
    assert left_over() == []
    step("lintian")
    checked()
    alone()
    stand_in_for_systemd()
    step("installed")
    installed()
    upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Payments)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    with open("/etc/default/semel", "a") as variables:
        variables.write(f"PAYMENTS_URL=http://127.0.0.1:{upstream.server_port}\n")
    step("served, as its own user")
    with Service():
        served()
    step("upgraded: data and configuration stay")
    upgraded()
    step("removed: data and configuration stay")
    removed()
    step("purged: nothing stays")
    purged()


if __name__ == "__main__":
    sys.exit(main())
