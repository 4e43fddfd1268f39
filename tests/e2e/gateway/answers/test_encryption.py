"""docs/spec.md 9: what is kept of answers can be encrypted at rest. The key file rotates; without
its key a record is an error, never a new key."""

import base64
import os
import signal

import pytest

from harness.semel import TRIED_STORES, assert_problem, assert_replay, eventually

BODY = {"card": "4111"}
SECRET = b"pan-4111-1111-1111-1111"
TEST = f"status=201; header.X-Secret={SECRET.decode()}; body={SECRET.decode()}"
ROUTES = [{"name": "pay", "path": "/pay"},
          {"name": "open", "path": "/open", "store_down": "pass"},
          {"name": "big", "path": "/big", "max_stored_body": 16}]


def write_keys(path, *ids):
    path.write_text("# test keys\n" + "".join(
        f"{i}:{base64.b64encode(i.encode().ljust(32, b'.')).decode()}\n" for i in ids))
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def keys_file(tmp_path):
    return tmp_path / "keys"


def readable(folder, text):
    return [p for p in folder.rglob("*") if p.is_file() and text in p.read_bytes()]


@pytest.mark.parametrize("kind", TRIED_STORES)
def test_a_sealed_answer_replays(start_gateway, upstream, key, keys_file, kind):
    gateway = start_gateway(*ROUTES, store=kind,
                            encryption={"keys_file": write_keys(keys_file, "k1")})
    first = gateway.post("/pay", json=BODY, key=key, test=TEST)
    assert first.status == 201 and first.body == SECRET
    replay = gateway.post("/pay", json=BODY, key=key)
    assert_replay(replay, first)
    assert replay.header("X-Secret") == SECRET.decode()
    assert_problem(gateway.post("/pay", json={"other": 1}, key=key), 422, "key-reused")
    assert upstream.effects(key) == 1


def test_the_bytes_of_an_answer_are_not_on_the_disk(start_gateway, upstream, key, keys_file):
    plain = start_gateway(*ROUTES, store="embedded")
    sealed = start_gateway(*ROUTES, store="embedded",
                           encryption={"keys_file": write_keys(keys_file, "k1")})
    for gateway in (plain, sealed):
        for path in ("/pay", "/big"):
            first = gateway.post(path, json=BODY, key=key, test=TEST)
            assert_replay(gateway.post(path, json=BODY, key=key), first)
        gateway.stop()
    assert readable(plain.folder / "data", SECRET), "the search finds what is there"
    assert not readable(sealed.folder / "data", SECRET)
    assert readable(sealed.folder / "data", b"k1"), "the key's id is"
    sealed.start()
    plain.start()


def test_a_rotated_key_still_opens_what_it_sealed(start_gateway, upstream, key, keys_file):
    gateway = start_gateway(*ROUTES, encryption={"keys_file": write_keys(keys_file, "k1")})
    first = gateway.post("/pay", json=BODY, key=key, test=TEST)
    large = gateway.post("/big", json=BODY, key=key, test=TEST)
    write_keys(keys_file, "k2", "k1")
    gateway.restart()
    assert_replay(gateway.post("/pay", json=BODY, key=key), first)
    assert_replay(gateway.post("/big", json=BODY, key=key), large)
    new = gateway.post("/pay", json=BODY, key="new-" + key, test=TEST)
    write_keys(keys_file, "k2")
    gateway.restart()
    assert_replay(gateway.post("/pay", json=BODY, key="new-" + key), new)
    assert_problem(gateway.post("/pay", json=BODY, key=key), 503, "store-unavailable")


@pytest.mark.parametrize("path", ["/pay", "/open"])
def test_without_its_key_nothing_is_executed_and_the_record_stays(start_gateway, upstream, key,
                                                                  keys_file, path):
    gateway = start_gateway(*ROUTES, encryption={"keys_file": write_keys(keys_file, "k1")})
    first = gateway.post(path, json=BODY, key=key, test=TEST)
    write_keys(keys_file, "k2")
    gateway.restart()
    problem = assert_problem(gateway.post(path, json=BODY, key=key), 503, "store-unavailable")
    assert not problem["new_key_safe"]
    eventually(lambda: "is sealed with key 'k1', which is not in keys_file" in gateway.stderr())
    assert upstream.effects(key) == 1
    assert gateway.post(path, json=BODY, key="other-" + key).status == 200
    write_keys(keys_file, "k2", "k1")
    gateway.restart()
    assert_replay(gateway.post(path, json=BODY, key=key), first)
    assert upstream.effects(key) == 1


def test_what_was_stored_in_the_clear_still_replays(start_gateway, upstream, key, keys_file):
    gateway = start_gateway(*ROUTES)
    first = gateway.post("/pay", json=BODY, key=key, test=TEST)
    gateway.restart(encryption={"keys_file": write_keys(keys_file, "k1")})
    assert_replay(gateway.post("/pay", json=BODY, key=key), first)


def test_the_key_file_is_read_again_on_sighup(start_gateway, upstream, key, keys_file):
    gateway = start_gateway(*ROUTES, encryption={"keys_file": write_keys(keys_file, "k1")})
    first = gateway.post("/pay", json=BODY, key=key, test=TEST)
    write_keys(keys_file, "k2")
    assert gateway.reload()
    assert_problem(gateway.post("/pay", json=BODY, key=key), 503, "store-unavailable")
    keys_file.write_text("nonsense")
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: "keys_file" in gateway.stderr() and "line 1" in gateway.stderr())
    assert "new keys rejected; keeping the old ones" in gateway.stderr()
    assert gateway.post("/pay", json=BODY, key="new-" + key, test=TEST).status == 201
    write_keys(keys_file, "k2", "k1")
    assert gateway.reload()
    assert_replay(gateway.post("/pay", json=BODY, key=key), first)


@pytest.mark.parametrize("spoil, why", [
    (lambda path: path.chmod(0o640), "chmod 600"),
    (lambda path: path.rename(f"{path}.real").with_name(path.name).symlink_to(f"{path}.real"),
     "symbolic link"), (lambda path: path.unlink(), "cannot be read"),
    (lambda path: path.write_text("k1:short"), "32 bytes"),
    (lambda path: path.write_text(""), "no key")], ids=["mode", "link", "missing", "short", "empty"])
def test_a_key_file_that_cannot_be_used_stops_the_start(start_gateway, upstream, keys_file, spoil,
                                                        why):
    write_keys(keys_file, "k1")
    spoil(keys_file)
    with pytest.raises(AssertionError, match="before ready") as failure:
        start_gateway(*ROUTES, encryption={"keys_file": str(keys_file)})
    assert why in str(failure.value) and os.path.basename(str(keys_file)) in str(failure.value)
