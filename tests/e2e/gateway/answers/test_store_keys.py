"""store_keys: digest and hash_key_file: the store keeps nothing from which a key or a request could
be guessed, and clients, executors and operators do not notice."""

import hashlib
import os

import pytest

from harness.semel import Gateway, assert_problem, assert_replay, eventually, new_key
from harness.peers.upstream_control import field

BODY = {"amount": 100}
OLD, NEW = os.urandom(32).hex(), os.urandom(32).hex()


def key_file(gateway, text, mode=0o600):
    path = gateway.folder / "hash-keys"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def in_the_store(gateway, text):
    """Whether the bytes stand anywhere in the store's files."""
    return any(text.encode() in path.read_bytes()
               for path in (gateway.folder / "data").rglob("*") if path.is_file())


def test_the_key_is_kept_as_a_digest_and_given_as_it_is(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, store_keys="digest")
    first = gateway.post("/charges", json=BODY, key=key, test="body=done")
    assert first.header("Idempotency-Key") == f'"{key}"'
    assert field(upstream.last(key), "Idempotency-Key").strip('"') == key
    replay = gateway.post("/charges", json=BODY, key=key)
    assert_replay(replay, first)
    assert replay.header("Idempotency-Key") == f'"{key}"'
    record = gateway.record(key)  # an operator who knows the key finds it
    assert record["key"] == hashlib.sha256(key.encode()).hexdigest()
    direct = gateway.admin(f"/api/keys?tenant=&operation=charges&key={key}").json()
    assert direct["examined"] == 1 and len(direct["keys"]) == 1
    gateway.stop()
    assert not in_the_store(gateway, key)
    assert key not in gateway.stderr()
    gateway.start()
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)


def test_a_key_from_the_body_is_forwarded_as_it_is(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges",
                             "key": {"from": "pointer", "pointer": "/id"}}, store_keys="digest")
    assert gateway.post("/charges", json={"id": key}).status == 200
    assert field(upstream.requests()[-1], "Idempotency-Key").strip('"') == key
    assert gateway.record(key)["key"] != key


def test_switching_it_on_and_off_keeps_every_key_known(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    plain, hashed = new_key(), new_key()
    gateway.post("/charges", json=BODY, key=plain)
    gateway.restart(store_keys="digest")
    gateway.post("/charges", json=BODY, key=hashed)
    for setting in ("digest", "plain"):
        gateway.restart(store_keys=setting)
        for one in (plain, hashed):
            assert gateway.post("/charges", json=BODY, key=one).replayed
            assert gateway.record(one)["state"] == "completed"
    assert upstream.effects() == 2


def test_fingerprints_under_a_key_and_its_rotation(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    keys = {"none": new_key(), "old": new_key(), "new": new_key()}
    gateway.post("/charges", json=BODY, key=keys["none"])
    gateway.restart(hash_key_file=key_file(gateway, f"old {OLD}\n"), store_keys="digest")
    gateway.post("/charges", json=BODY, key=keys["old"])
    key_file(gateway, f"# the first makes new ones\nnew {NEW}\nold {OLD}\n")
    gateway.restart()
    gateway.post("/charges", json=BODY, key=keys["new"])
    made_with = {name: gateway.record(one)["recipe"]["hash_key_id"] for name, one in keys.items()}
    assert made_with == {"none": "", "old": "old", "new": "new"}
    assert len({gateway.record(one)["fingerprint"] for one in keys.values()}) == 3
    for one in keys.values():
        assert gateway.post("/charges", json=BODY, key=one).replayed
        problem = assert_problem(gateway.post("/charges", json={}, key=one), 422, "key-reused")
        assert problem["differs"] == ["body"]
    assert upstream.effects() == 3


def test_observed_fingerprints_are_under_the_key_too(start_gateway, upstream, key):
    route = {"name": "charges", "path": "/charges", "mode": "observe"}
    gateway = start_gateway(route)
    gateway.restart(hash_key_file=key_file(gateway, f"old {OLD}\n"))

    def observed(count, what):
        name = f"semel_observed_total{{route=charges,would={what}}}"
        gateway.post("/charges", json=BODY, key=key)
        assert eventually(lambda: gateway.metrics().get(name, 0) == count)

    observed(1, "executed")
    assert eventually(lambda: "to=completed" in gateway.stderr())
    assert gateway.record(key)["recipe"]["hash_key_id"] == "old"
    observed(1, "replayed")
    key_file(gateway, f"new {NEW}\nold {OLD}\n")
    gateway.restart()
    observed(1, "replayed")
    key_file(gateway, f"new {NEW}\n")
    gateway.restart()
    observed(1, "store-unavailable")
    assert upstream.effects(key) == 4


def test_a_record_whose_hash_key_is_missing_is_never_executed(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    gateway.restart(hash_key_file=key_file(gateway, f"old {OLD}\n"))
    gateway.post("/charges", json=BODY, key=key)
    key_file(gateway, f"new {NEW}\n")
    gateway.restart()
    problem = assert_problem(gateway.post("/charges", json=BODY, key=key), 503, "store-unavailable")
    assert problem["new_key_safe"] is False
    assert upstream.effects(key) == 1
    eventually(lambda: "hash key that is missing: old" in gateway.stderr())


@pytest.mark.parametrize("text, mode, said", [
    (f"old {OLD}\n", 0o644, "chmod 600"), ("old abc\n", 0o600, "line 1"),
    (f"old {OLD}\nold {NEW}\n", 0o600, "line 2"), ("\n", 0o600, "no key"),
    (None, 0o600, "cannot be read")])
def test_a_bad_key_file_is_refused_at_the_start(upstream, text, mode, said):
    gateway = Gateway([{"path": "/*", "upstream": upstream.url}], store="memory")
    path = key_file(gateway, text, mode) if text else str(gateway.folder / "none")
    gateway.config["hash_key_file"] = path
    try:
        with pytest.raises(AssertionError, match="before ready"):
            gateway.start()
        assert said in gateway.stderr() and OLD not in gateway.stderr()
    finally:
        gateway.discard()
