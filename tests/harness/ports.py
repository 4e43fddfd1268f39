"""Ports for servers that may be killed and started again.

Below the range that the system takes for outgoing connections: a port of that range can be anybody's while its
server is down, also that of a client which keeps on trying to reach the server."""

import pathlib
import random
import socket

_FIRST = 15000
_dice = random.SystemRandom()


def _end():
    return int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(and_above=0):
    """`and_above`: the port so much higher is free as well."""
    while True:
        port = _dice.randrange(_FIRST, _end() - and_above)
        if _is_free(port) and _is_free(port + and_above):
            return port
