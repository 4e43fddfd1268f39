"""Runs a command with a private PostgreSQL server beside it, whose URL is in SEMEL_TEST_POSTGRES.

    python3 -m harness.servers.with_postgres COMMAND [ARGUMENT...]
"""

import os
import subprocess
import sys

from harness.servers.postgres_server import PostgresServer

server = PostgresServer()
try:
    server.start()
    url = server.create_database("semel")
    code = subprocess.run(sys.argv[1:], env={**os.environ, "SEMEL_TEST_POSTGRES": url}).returncode
finally:
    server.discard()
sys.exit(code)
