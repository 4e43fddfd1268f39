"""`cleanup.window`: expired records stay until the hours for removing them; their keys do not wait for that."""

import time

from harness.semel import eventually, let_pass, new_key

ROUTE = {"name": "charges", "path": "/v1/charges", "ttl": "1s", "tombstone": "0"}


def window(hours_from_now):
    """Two hours of the day, around a moment that many hours from now."""
    at = time.localtime(time.time() + hours_from_now * 3600).tm_hour
    return {"window": f"{(at - 1) % 24:02}:00-{(at + 1) % 24:02}:00"}


def keys_of(gateway):
    return sorted(key["key"] for key in gateway.admin("/api/keys").json()["keys"])


def test_expired_records_stay_until_the_window_and_their_keys_are_new_at_once(start_gateway, upstream):
    gateway = start_gateway(ROUTE, store="embedded", cleanup=window(12))
    left, used = "left-" + new_key(), "used-" + new_key()
    first = gateway.post("/v1/charges", b"{}", key=used)
    assert gateway.post("/v1/charges", b"{}", key=left).status == first.status == 200
    let_pass(3)  # the ttl, and two sweeps
    assert keys_of(gateway) == sorted([left, used])
    again = gateway.post("/v1/charges", b"{}", key=used)
    assert again.status == 200 and again.header("Idempotency-Replayed") is None
    assert upstream.effects(used) == 2

    gateway.restart(cleanup=window(0))
    eventually(lambda: keys_of(gateway) == [])


def test_what_a_killed_gateway_was_executing_is_unknown_outside_the_window_too(start_gateway, upstream):
    gateway = start_gateway({**ROUTE, "unknown": "hold"}, store="embedded", cleanup=window(12))
    with gateway.connect() as connection:
        connection.send(b"POST /v1/charges HTTP/1.1\r\nHost: a\r\nIdempotency-Key: running\r\nX-Test: gate=runs\r\n"
                        b"Content-Length: 2\r\n\r\n{}")
        upstream.wait_effects(1, "running")
        gateway.kill9()
    gateway.start()
    eventually(lambda: [key["state"] for key in gateway.admin("/api/keys").json()["keys"]] == ["unknown"])
