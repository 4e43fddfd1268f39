"""A machine for one process whose wall clock, disk and host names a test has in its hands, also while the process
runs (odd_machine.cc). Debian's libfaketime does not get along with jemalloc, which Redis and Semel use."""

import os
import pathlib
import struct
import tempfile

from harness.semel import binary


def _library():
    path = pathlib.Path(binary()).parent / "tests" / "libodd_machine.so"
    assert path.exists(), f"{path} is not built"
    return str(path)


class OddMachine:
    def __init__(self, ahead=0):
        handle, path = tempfile.mkstemp(prefix="semel-machine-")
        os.write(handle, bytes(16))
        os.fchmod(handle, 0o644)  # for servers of another user
        os.close(handle)
        self.path = pathlib.Path(path)
        self.hosts = pathlib.Path(path + "-hosts")
        self.environment = {"LD_PRELOAD": _library(), "SEMEL_ODD_MACHINE": path,
                            "SEMEL_ODD_HOSTS": str(self.hosts)}
        self.set_clock(ahead)

    def _write(self, offset, value):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(struct.pack("=q", value))

    def set_clock(self, ahead):
        """Seconds ahead of the real one; negative: behind."""
        self._write(0, int(ahead * 1e9))

    def hang_disk(self, hangs=True):
        self._write(8, int(hangs))

    def set_addresses(self, name, *addresses):
        """The addresses of a host name from now on; none: there is no such name."""
        new = self.hosts.with_suffix(".new")
        new.write_text(" ".join([name, *addresses]) + "\n")
        new.rename(self.hosts)

    def discard(self):
        self.path.unlink(missing_ok=True)
        self.hosts.unlink(missing_ok=True)
