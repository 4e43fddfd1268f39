"""docs/spec.md 11: the key that the executor is told, where it calls on with keys of its own."""

import base64
import hashlib
import struct

import pytest

from harness.semel import assert_replay, break_store, new_key
from harness.peers.upstream_control import field

BODY = {"amount": 100}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "derived", "path": "/derived", "forward_key": "derived"},
        {"name": "own-header", "path": "/own-header", "forward_key": "derived",
         "key": {"header": "PayPal-Request-Id", "aliases": ["X-Old-Key"]}},
        {"name": "pointer", "path": "/pointer", "forward_key": "derived",
         "key": {"from": "pointer", "pointer": "/key"}})


def derived(record_hex, label):
    """As docs/formats.md has it, in another language."""
    def sized(data):
        return struct.pack("<I", len(data)) + data
    digest = hashlib.sha256(sized(b"semel derived key 1") + bytes.fromhex(record_hex) +
                            sized(label.encode())).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_the_executor_is_told_a_derived_key_that_it_can_compute_itself(gateway, upstream, key):
    first = gateway.post("/derived", json=BODY, key=key)
    seen = upstream.last(path="/derived")
    assert field(seen, "Idempotency-Key") == f'"{derived(field(seen, "Semel-Record"), "upstream")}"'
    assert not any(key in value for _, value in seen["headers"])
    assert first.header("Idempotency-Key") == f'"{key}"'  # the client's own comes back to it
    assert_replay(gateway.post("/derived", json=BODY, key=key), first)


def test_the_derived_key_is_the_same_for_every_attempt_and_no_other_request(gateway, upstream, key):
    for test in ("status=503", "status=503", "status=200"):
        gateway.post("/derived", json=BODY, key=key, test=test)
    gateway.post("/derived", json=BODY, key=new_key())
    seen = upstream.requests(path="/derived")
    assert [r["attempt"] for r in seen] == ["1", "2", "3", "1"]
    keys = [field(r, "Idempotency-Key") for r in seen]
    assert keys[0] == keys[1] == keys[2] != keys[3]


def test_it_stands_in_the_header_the_route_takes_keys_in(gateway, upstream, key):
    gateway.post("/own-header", json=BODY, headers={"X-Old-Key": key})
    seen = upstream.last(path="/own-header")
    assert field(seen, "PayPal-Request-Id") == f'"{derived(field(seen, "Semel-Record"), "upstream")}"'
    assert field(seen, "X-Old-Key") is None


def test_a_key_from_the_body_is_derived_too(gateway, upstream, key):
    gateway.post("/pointer", json={**BODY, "key": key})
    seen = upstream.last(path="/pointer")
    assert field(seen, "Idempotency-Key") == f'"{derived(field(seen, "Semel-Record"), "upstream")}"'


@pytest.mark.parametrize("forward", ["derived", "none"])
def test_let_through_while_the_store_is_down_the_executor_is_told_the_same(
        start_gateway, upstream, key, forward):
    """Another key now than in the retry would be a second effect at one who deduplicates by it."""
    gateway = start_gateway({"name": "pay", "path": "/pay", "forward_key": forward,
                             "store_down": "pass", "outcomes": {"retry": ["200"]}},
                            store="embedded", inherit_signals=True)
    gateway.post("/pay", json=BODY, key=key)
    break_store(gateway)
    assert gateway.post("/pay", json=BODY, key=key).header("Idempotency-Degraded") == "true"
    assert upstream.effects() == 2
    keys = {field(r, "Idempotency-Key") for r in upstream.requests(path="/pay")}
    assert len(keys) == 1 and (forward == "derived") == (None not in keys)
