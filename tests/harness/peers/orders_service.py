"""examples/python-orders as a process."""

import re
import signal
import subprocess
import sys

from harness import ROOT
from harness.ports import free_port

EXAMPLE = ROOT / "examples/python-orders"


class OrdersService:
    """`start()` may be called again after `kill9()`: it comes back on its port."""

    def __init__(self, url):
        self.url = url
        self.port = free_port()
        self.process = None

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, EXAMPLE / "orders.py", "--database", self.url, "--port", str(self.port)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.search(r":(\d+)$", self.process.stdout.readline().strip()).group(1))
        return self

    def kill9(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def set_up(database):
    """As the README says."""
    database.execute((EXAMPLE / "orders.sql").read_text())
