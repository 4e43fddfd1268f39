"""A machine for one process whose wall clock and disk a test has in its hands, also while the process
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
        self.environment = {"LD_PRELOAD": _library(), "SEMEL_ODD_MACHINE": path}
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

    def discard(self):
        self.path.unlink(missing_ok=True)
