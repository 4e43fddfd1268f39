"""Large bodies of keyed requests: hashed and kept in a nameless file, not in memory."""

import base64
import hashlib
import json
import os
import resource
import stat

import pytest

from harness.semel import (SANITIZED, TRIED_STORES, Background, assert_problem, assert_replay,
                           eventually)

MIB = 1 << 20
ROUTES = [
    {"name": "big", "path": "/big", "max_request_body": "100MiB", "key": {"required": True}},
    {"name": "digest", "path": "/digest", "max_request_body": "100MiB",
     "fingerprint": {"body": "digest"}},
    {"name": "pointer", "path": "/pointer", "max_request_body": "100MiB",
     "key": {"from": "pointer", "pointer": "/idempotency_key", "required": True}},
    {"name": "small", "path": "/small", "max_request_body": "1MiB"},
]


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(*ROUTES)


def pattern(size, seed=b"x"):
    block = b"".join(hashlib.sha256(seed + bytes([i])).digest() for i in range(256))
    return (block * (size // len(block) + 1))[:size]


@pytest.mark.parametrize("size", [256 * 1024, 256 * 1024 + 1, 3 * MIB + 7])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_a_large_body_arrives_byte_for_byte_and_replays(gateway, upstream, key, size, chunked):
    body = pattern(size)
    first = gateway.post("/big", body, key=key, chunked=chunked)
    assert first.status == 200
    entry = upstream.requests(key)[-1]
    assert (entry["bytes"], entry["digest"]) == (size, hashlib.sha256(body).hexdigest())
    assert_replay(gateway.post("/big", body, key=key), first)
    answer = gateway.post("/big", body[:-1] + b"!", key=key)
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["body"]
    assert upstream.effects(key) == 1


def test_large_json_is_still_compared_by_meaning(gateway, upstream, key):
    members = {f"m{i}": i for i in range(40000)}
    headers = {"Content-Type": "application/json"}
    first = gateway.post("/big", json.dumps(members).encode(), key=key, headers=headers)
    backwards = dict(reversed(members.items()))
    assert_replay(gateway.post("/big", json.dumps(backwards, indent=1).encode(), key=key,
                               headers=headers), first)
    members["m7"] = 8
    answer = gateway.post("/big", json.dumps(members).encode(), key=key, headers=headers)
    assert_problem(answer, 422, "key-reused")
    assert upstream.effects(key) == 1


def test_json_too_large_to_be_read_whole_counts_byte_for_byte(gateway, upstream, key):
    body = b'{"a":"' + b"x" * (9 * MIB) + b'"}'
    headers = {"Content-Type": "application/json"}
    first = gateway.post("/big", body, key=key, headers=headers)
    assert_replay(gateway.post("/big", body, key=key, headers=headers), first)
    assert_problem(gateway.post("/big", body + b" ", key=key, headers=headers), 422, "key-reused")


def form(boundary, body):
    return (b"--" + boundary + b'\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' +
            body + b"\r\n--" + boundary + b"--\r\n")


def test_a_large_upload_under_another_boundary_is_the_same(gateway, upstream, key):
    body = pattern(2 * MIB)
    first = gateway.post("/big", form(b"one", body), key=key,
                         headers={"Content-Type": "multipart/form-data; boundary=one"})
    again = gateway.post("/big", form(b"other", body), key=key,
                         headers={"Content-Type": "multipart/form-data; boundary=other"})
    assert_replay(again, first)
    assert upstream.effects(key) == 1


def test_the_digest_of_a_large_body_is_verified(gateway, upstream, key):
    body = pattern(2 * MIB)
    headers = {"Content-Digest":
               f"sha-512=:{base64.b64encode(hashlib.sha512(body).digest()).decode()}:"}
    assert_problem(gateway.post("/digest", body[:-1] + b"!", key=key, headers=headers), 400,
                   "bad-request")
    assert upstream.effects(key) == 0
    first = gateway.post("/digest", body, key=key, headers=headers)
    assert_replay(gateway.post("/digest", body, key=key), first)


def test_the_key_is_found_in_a_large_body(gateway, upstream, key):
    body = json.dumps({"pad": "x" * MIB, "idempotency_key": key}).encode()
    headers = {"Content-Type": "application/json"}
    first = gateway.post("/pointer", body, headers=headers)
    assert first.status == 200
    assert_replay(gateway.post("/pointer", body, headers=headers), first)
    assert upstream.effects(key) == 1


def test_a_body_too_large_to_find_a_key_in_is_refused_not_passed(gateway, upstream, key):
    body = json.dumps({"pad": "x" * (9 * MIB), "idempotency_key": key}).encode()
    assert_problem(gateway.post("/pointer", body, headers={"Content-Type": "application/json"}),
                   400, "key-invalid")
    assert upstream.effects(path="/pointer") == 0


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_above_the_limit_it_is_413_and_nothing_runs(gateway, upstream, key, chunked):
    assert_problem(gateway.post("/small", pattern(2 * MIB), key=key, chunked=chunked), 413,
                   "body-too-large")
    assert upstream.effects(key) == 0


def spool_files(gateway):
    for fd in os.listdir(f"/proc/{gateway.process.pid}/fd"):
        path = f"/proc/{gateway.process.pid}/fd/{fd}"
        try:
            target = os.readlink(path)
        except FileNotFoundError:
            continue
        if target.endswith(" (deleted)"):
            yield target, os.stat(path)


@pytest.mark.parametrize("kind", TRIED_STORES)
def test_the_file_has_no_name_and_no_other_reader_and_goes_with_the_request(
        start_gateway, upstream, key, kind, tmp_path):
    gateway = start_gateway(*ROUTES, store=kind, environment={"TMPDIR": str(tmp_path)})
    client = Background(gateway.post, "/big", pattern(MIB), key=key,
                        headers={"X-Test": "gate=g"})
    upstream.wait_effects(key=key)
    (target, status), = spool_files(gateway)
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_nlink == 0
    assert status.st_size == MIB
    folder = gateway.folder / "data" if kind == "embedded" else tmp_path
    assert os.path.realpath(os.path.dirname(target)) == os.path.realpath(folder)
    assert not list(tmp_path.iterdir())
    upstream.open_gate("g")
    assert client.result().status == 200
    eventually(lambda: not list(spool_files(gateway)))


# The file's size is limited, which fails its writes as a full disk does.
def test_a_full_disk_is_503_and_nothing_runs(start_gateway, upstream, key):
    gateway = start_gateway(*ROUTES, store="memory", inherit_signals=True)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (MIB, MIB))
    assert_problem(gateway.post("/big", pattern(4 * MIB), key=key), 503, "overloaded")
    assert upstream.effects(key) == 0
    eventually(lambda: not list(spool_files(gateway)))
    small = pattern(MIB // 2)
    assert gateway.post("/big", small, key=key).status == 200


def test_a_folder_that_is_gone_is_503_and_nothing_runs(start_gateway, upstream, key, tmp_path):
    gateway = start_gateway(*ROUTES, store="memory",
                            environment={"TMPDIR": str(tmp_path / "not-there")})
    assert_problem(gateway.post("/big", pattern(MIB), key=key), 503, "overloaded")
    assert upstream.effects(key) == 0
    assert gateway.post("/big", b"small", key=key).status == 200


def anonymous_kib(gateway):
    with open(f"/proc/{gateway.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def test_memory_stays_flat_under_many_large_uploads(start_gateway, upstream):
    gateway = start_gateway(*ROUTES, store="memory")
    size, clients = 8 * MIB, 20
    body = pattern(size)
    gateway.post("/big", body, key="warm-up")
    before = anonymous_kib(gateway)
    uploads = [Background(gateway.post, "/big", body, key=f"upload-{i}",
                          headers={"X-Test": "gate=all"}) for i in range(clients)]
    upstream.wait_effects(clients + 1)
    grown = anonymous_kib(gateway) - before
    upstream.open_gate("all")
    assert [upload.result().status for upload in uploads] == [200] * clients
    # All of them together are 160 MiB; a buffer of one piece each is about 10.
    if not SANITIZED:
        assert grown < 40 * 1024, f"{grown} KiB"


def test_a_record_made_under_an_older_recipe_is_compared_under_that(start_gateway, upstream, key):
    """Trap 21 with a body in a file: the recipe was `raw` when the record was made."""
    route = {"path": "/up", "upstream": upstream.url}
    gateway = start_gateway({**route, "fingerprint": {"body": "raw"}})
    body = pattern(MIB)
    one, two = ({"Content-Type": f"multipart/form-data; boundary={b}"} for b in ("one", "two"))
    first = gateway.post("/up", form(b"one", body), key=key, headers=one)
    assert gateway.reload(routes=[route])
    assert_replay(gateway.post("/up", form(b"one", body), key=key, headers=one), first)
    assert_problem(gateway.post("/up", form(b"two", body), key=key, headers=two), 422, "key-reused")
    new = gateway.post("/up", form(b"one", body), key="new-" + key, headers=one)
    assert_replay(gateway.post("/up", form(b"two", body), key="new-" + key, headers=two), new)
    assert upstream.effects() == 2


# --- what it may take -----------------------------------------------------------------------------


def begin_upload(gateway, key, size, sent, path="/big", headers=""):
    """Declares `size` bytes, sends `sent` of them, and stalls."""
    connection = gateway.connect()
    connection.send(f"POST {path} HTTP/1.1\r\nHost: semel.test\r\nIdempotency-Key: {key}\r\n"
                    f"Content-Length: {size}\r\n{headers}\r\n".encode() + pattern(size)[:sent])
    return connection


def spooled_bytes(gateway):
    return gateway.metrics()["semel_spool_bytes"]


def test_stalled_uploads_take_the_spool_and_nothing_else(start_gateway, upstream, key):
    gateway = start_gateway(*ROUTES, spool={"bytes_max": 2 * MIB},
                            trusted_proxies=["127.0.0.1"])  # which may take all of it
    stalled = [begin_upload(gateway, f"{key}-{n}", MIB, MIB - 1000) for n in range(2)]
    eventually(lambda: spooled_bytes(gateway) > MIB + MIB // 4)
    for chunked in (False, True):
        answer = gateway.post("/big", pattern(MIB), key=key, chunked=chunked)
        assert_problem(answer, 503, "overloaded")
    assert gateway.metrics()["semel_spool_refused_total"] == 2
    assert "spool.bytes_max" in gateway.stderr()
    assert spooled_bytes(gateway) <= 2 * MIB
    assert upstream.effects(key) == 0
    assert gateway.post("/big", b"small", key=f"{key}-small").status == 200
    stalled[0].reset()
    eventually(lambda: spooled_bytes(gateway) < MIB)
    assert gateway.post("/big", pattern(MIB), key=key).status == 200
    stalled[1].send(pattern(MIB)[-1000:])
    assert stalled[1].read_response().status == 200
    stalled[1].close()
    assert upstream.effects() == 3
    eventually(lambda: spooled_bytes(gateway) == 0)


def test_one_peer_leaves_room_in_the_spool(start_gateway, upstream, key):
    gateway = start_gateway(*ROUTES, spool={"bytes_max": 4 * MIB})
    stalled = [begin_upload(gateway, f"{key}-{n}", MIB, MIB - 1000) for n in range(3)]
    eventually(lambda: spooled_bytes(gateway) >= 2 * MIB)
    answer = gateway.post("/big", pattern(MIB), key=key)
    assert_problem(answer, 503, "overloaded")
    eventually(lambda: spooled_bytes(gateway) <= 3 * MIB)  # what was refused is gone
    assert gateway.post("/big", pattern(MIB - 4000), key=key, source="127.0.0.2").status == 200
    for connection in stalled:
        connection.close()
    eventually(lambda: spooled_bytes(gateway) == 0)
    assert gateway.post("/big", pattern(MIB), key=f"{key}-later").status == 200
    assert upstream.effects() == 2


def test_one_tenant_leaves_room_in_the_spool(start_gateway, upstream, key):
    gateway = start_gateway(*ROUTES, spool={"bytes_max": 4 * MIB}, trusted_proxies=["127.0.0.1"],
                            tenant={"from": "header", "name": "X-Tenant"})
    stalled = [begin_upload(gateway, f"{key}-{n}", MIB, MIB - 1000, headers="X-Tenant: greedy\r\n")
               for n in range(3)]
    eventually(lambda: spooled_bytes(gateway) >= 2 * MIB)
    body = pattern(MIB - 4000)
    answer = gateway.post("/big", body, key=key, headers={"X-Tenant": "greedy"})
    assert_problem(answer, 503, "overloaded")
    eventually(lambda: spooled_bytes(gateway) <= 3 * MIB)  # what was refused is gone
    assert gateway.post("/big", body, key=key, headers={"X-Tenant": "modest"}).status == 200
    for connection in stalled:
        connection.close()


def test_however_a_request_ends_its_room_is_given_back(start_gateway, upstream, key):
    gateway = start_gateway(*ROUTES, limits={"body_timeout": "1s"}, store="memory")
    with begin_upload(gateway, key, MIB, MIB - 1) as late:
        assert late.read_response().status == 408
    begin_upload(gateway, key, MIB, MIB - 1).reset()
    assert gateway.post("/small", pattern(2 * MIB), key=key, chunked=True).status == 413
    wrong = {"Content-Digest": f"sha-256=:{base64.b64encode(bytes(32)).decode()}:"}
    assert gateway.post("/digest", pattern(MIB), key=key, headers=wrong).status == 400
    assert gateway.post("/pointer", pattern(MIB)).status == 400
    assert gateway.post("/big", pattern(MIB), key=key, test="status=503").status == 503
    client = Background(gateway.post, "/big", pattern(MIB), key=key, test="gate=g")
    eventually(lambda: spooled_bytes(gateway) == MIB)
    upstream.open_gate("g")
    assert client.result().status == 200
    eventually(lambda: spooled_bytes(gateway) == 0)


def test_the_spool_can_have_a_folder_of_its_own(start_gateway, upstream, key, tmp_path):
    folder = tmp_path / "spool"
    gateway = start_gateway(*ROUTES, spool={"path": str(folder)})
    with begin_upload(gateway, key, MIB, MIB - 1):
        (target, _), = eventually(lambda: list(spool_files(gateway)))
    assert os.path.dirname(target) == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


# More than any disk has: as if it were nearly full.
def test_with_little_free_space_only_what_is_new_is_refused(start_gateway, upstream, key):
    gateway = start_gateway(*ROUTES, store="embedded")
    first = gateway.post("/big", b"x", key=key)
    roomy = gateway.config["store"]
    gateway.restart(store={**roomy, "free_bytes_min": 1 << 50})
    assert_replay(gateway.post("/big", b"x", key=key), first)
    assert_problem(gateway.post("/big", b"x", key="new-" + key), 503, "store-unavailable")
    assert_problem(gateway.post("/big", pattern(MIB), key="new-" + key), 503, "overloaded")
    assert upstream.effects() == 1
    ready = gateway.admin("/readyz")
    assert ready.status == 200
    assert b"accepts no new keys: " in ready.body and b"accepts no large bodies: " in ready.body
    metrics = gateway.metrics()
    for of in ("store", "spool"):
        assert 0 < metrics[f"semel_free_bytes{{of={of}}}"] < metrics["semel_free_bytes_min"]
    assert "nothing new is accepted" in gateway.stderr()

    # Uploads stop before new keys do.
    left = os.statvfs(gateway.folder)
    gateway.restart(store={**roomy, "free_bytes_min": left.f_bavail * left.f_frsize * 9 // 10})
    assert_problem(gateway.post("/big", pattern(MIB), key="large-" + key), 503, "overloaded")
    assert gateway.post("/big", b"x", key="next-" + key).status == 200

    gateway.restart(store=roomy)
    assert gateway.admin("/readyz").body == b"ready\n"
    assert gateway.post("/big", b"x", key="new-" + key).status == 200
