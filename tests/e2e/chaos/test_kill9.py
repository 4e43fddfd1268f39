"""The gateway is killed with -9 fifty times under the load of clients that retry. Under `hold` no
key is executed twice, and every answer that was acknowledged replays byte for byte."""

import random
import time

from harness.clients.http_client import TIME_SCALE
from harness.clients.retrying_client import Fleet, assert_once_and_remembered

KILLS = 50
CLIENTS = 8
READY_SECONDS_MAX = 2 * TIME_SCALE
TOTAL_SECONDS_MAX = 90 * TIME_SCALE
SEED = 20260101  # of the moments of killing and of the requests; the scheduling is the machine's


def test_kill_9_fifty_times_under_load(start_gateway, upstream):
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    gateway = start_gateway({"name": "charges", "path": "/charges", "unknown": "hold"})
    begun = time.monotonic()
    slowest_start = 0.0
    with Fleet(CLIENTS, [gateway], SEED) as fleet:
        for _ in range(KILLS):
            # The moment is counted in work done, so that every run of the gateway is under load.
            upstream.wait_effects(upstream.effects() + chance.randint(1, 60))
            gateway.kill9()
            gateway.start()
            slowest_start = max(slowest_start, gateway.ready_seconds)
        upstream.wait_effects(upstream.effects() + 50)
    assert slowest_start < READY_SECONDS_MAX
    print(f"{len(fleet.acknowledged)} acknowledged, {len(fleet.held)} held, {fleet.tries} tries, "
          f"slowest start {slowest_start:.2f} s")
    assert len(fleet.acknowledged) > KILLS
    assert_once_and_remembered(fleet, gateway, upstream)
    assert time.monotonic() - begun < TOTAL_SECONDS_MAX
