"""Runs a command with private Redis servers beside it: SEMEL_TEST_REDIS is the URL of one,
SEMEL_TEST_REDIS_REPLICATED that of a master with a replica, SEMEL_TEST_REDIS_CLUSTER the members of
a Cluster.

    python3 -m harness.servers.with_redis COMMAND [ARGUMENT...]
"""

import os
import subprocess
import sys

from harness.servers.redis_server import Cluster, RedisServer, until

# The suite empties the store before every test, and asks nothing of the disk.
FAST = {"appendonly": "no"}

servers = []
try:
    single = RedisServer(**FAST).start()
    servers.append(single)
    master = RedisServer(**FAST).start()
    servers.append(master)
    replica = RedisServer(replicaof=f"127.0.0.1 {master.port}", **FAST).start()
    servers.append(replica)
    cluster = Cluster()
    servers.append(cluster)
    until(lambda: replica.info("master_link_status") == "up")
    environment = {**os.environ, "SEMEL_TEST_REDIS": single.url(),
                   "SEMEL_TEST_REDIS_REPLICATED": master.url(),
                   "SEMEL_TEST_REDIS_CLUSTER": ",".join(s.address for s in cluster.servers)}
    code = subprocess.run(sys.argv[1:], env=environment).returncode
finally:
    for server in servers:
        server.discard()
sys.exit(code)
