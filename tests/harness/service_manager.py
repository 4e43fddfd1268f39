"""Plays the service manager (systemd): hears what a process says of itself, and opens its sockets for it."""

import select
import socket
import sys

from harness.clients.http_client import TIMEOUT
from harness.semel import Gateway

# Puts the sockets where they are expected, from descriptor 3 on, and becomes the program.
BECOME = """
import fcntl, os, sys
passed = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split(",") if fd]
for number, fd in enumerate(passed, 3):
    os.dup2(fd, number)
    os.close(fd)
os.environ.setdefault("LISTEN_PID", str(os.getpid()))
os.environ["LISTEN_FDS"] = str(len(passed))
os.execv(sys.argv[2], sys.argv[2:])
"""


class ServiceManager:
    """`name`: of its datagram socket, a path, or "@…" for one without a file."""

    def __init__(self, name):
        self.environment = {"NOTIFY_SOCKET": str(name)}
        self._hears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._hears.bind(str(name).replace("@", "\0", 1) if str(name).startswith("@") else str(name))
        self._hears.settimeout(TIMEOUT)
        self.opened = []  # (name, socket)

    def next_message(self):
        """What the process said next, as it says it: a dictionary."""
        return dict(line.split("=", 1) for line in self._hears.recv(4096).decode().splitlines())

    def has_message(self):
        return bool(select.select([self._hears], [], [], 0)[0])

    def open(self, name, listens=True):
        """Opens a socket on a free port. Returns its address as the configuration has it."""
        made = socket.socket()
        made.bind(("127.0.0.1", 0))
        if listens:
            made.listen(128)
        self.opened.append((name, made))
        return "127.0.0.1:%d" % made.getsockname()[1]

    def close(self):
        self._hears.close()
        for _, made in self.opened:
            made.close()


class Service(Gateway):
    """A gateway that the service manager starts, with the sockets that it has opened."""

    def __init__(self, manager, routes, environment=None, **more):
        names = ":".join(name for name, _ in manager.opened)
        super().__init__(routes, environment={**manager.environment, "LISTEN_FDNAMES": names,
                                              **(environment or {})}, **more)
        self.passed_fds = [made.fileno() for _, made in manager.opened]

    def command_line(self, config_path):
        return [sys.executable, "-S", "-c", BECOME, ",".join(map(str, self.passed_fds)),
                *super().command_line(config_path)]
