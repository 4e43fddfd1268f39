"""Measuring tools for the benchmarks of stores."""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import time


def drive(driver, *arguments):
    """Runs a driver to its end; what it printed."""
    done = subprocess.run([driver, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["failed"] == 0, seen
    return seen


def processor_seconds(server):
    """Returns the processor time used so far by the server and by this script's children: on a busy machine
    the steadier figure."""
    def used(pid, first, last):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[first:last])) / os.sysconf("SC_CLK_TCK")
    postmaster = server.process.pid
    children = pathlib.Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    mine = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used(postmaster, 11, 15) + sum(used(pid, 11, 13) for pid in children),
            mine.ru_utime + mine.ru_stime)


def metered(server, count_of, measure):
    """The result of `measure`, and the microseconds that the server and its client used for each of what it
    counts."""
    before = processor_seconds(server)
    result = measure()
    time.sleep(0.2)  # its connections have gone, and their use is the postmaster's
    count = count_of(result)
    return result, [1e6 * (b - a) / count for a, b in zip(before, processor_seconds(server))]


def median(rounds, name):
    return statistics.median(one[name] for one in rounds)
