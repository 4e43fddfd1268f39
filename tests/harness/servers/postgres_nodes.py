"""Gateways that share one PostgreSQL database."""

import subprocess

from harness.semel import binary


def apply_schema(url, *options):
    subprocess.run([binary(), "schema", "apply", "--url", url, *options], check=True,
                   stdout=subprocess.DEVNULL)


def start_node(start_gateway, url, *routes, **top):
    """Another gateway on the database."""
    return start_gateway(*routes, store={"kind": "postgres", "url": url}, **top)
