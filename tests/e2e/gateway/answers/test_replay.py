"""docs/spec.md 9: a replay is the first answer again, byte for byte, and says that it is one."""

import email.utils
import time

import pytest

from harness.semel import TIME_SCALE, assert_problem, assert_replay, let_pass

BODY = {"amount": 100}
TTL_SECONDS = 3600
# Headers of the message, not of the answer: they may differ between the first and the replay.
OF_THE_MESSAGE = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "age",
                  "idempotency-replayed", "idempotency-expires", "idempotency-key"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "charges", "path": "/charges", "ttl": f"{TTL_SECONDS}s"},
        {"name": "lists", "path": "/lists",
         "replay_headers": {"deny": ["X-Secret"], "allow": ["X-Request-Id", "Set-Cookie"]}},
        {"name": "renamed", "path": "/renamed", "replayed_header": "Idempotent-Replayed"},
        {"name": "small", "path": "/small", "max_stored_body": "64KiB",
         "max_spilled_body": 0})


def twice(gateway, key, test, path="/charges"):
    first = gateway.post(path, json=BODY, key=key, test=test)
    return first, gateway.post(path, json=BODY, key=key)


def kept(response):
    return sorted((n.lower(), v) for n, v in response.headers if n.lower() not in OF_THE_MESSAGE)


def expires(response):
    """Idempotency-Expires in seconds since 1970: an HTTP date, or an RFC 9651 date (@seconds)."""
    value = response.header("Idempotency-Expires")
    if value.startswith("@"):
        return int(value[1:])
    return email.utils.parsedate_to_datetime(value).timestamp()


def test_status_headers_and_body_are_identical(gateway, upstream, key):
    first, replay = twice(gateway, key, "status=201; header.Location=/charges/1; "
                          "header.Content-Language=la; header.Vary=Accept; header.X-Two=one; "
                          "header.X-Two=two; header.ETag=%22abc%22; header.Cache-Control=no-store")
    assert first.status == 201 and first.header("Age") is None
    assert_replay(replay, first)
    assert kept(replay) == kept(first)
    assert replay.all("X-Two") == ["one", "two"]
    assert replay.header("Content-Length") == str(len(first.body))


def test_the_key_is_echoed_as_a_string_on_both(gateway, upstream, key):
    for sent, echoed in ((key, f'"{key}"'), (f'"q{key}"', f'"q{key}"'),
                         (f'"a\\"b\\\\{key}"', f'"a\\"b\\\\{key}"')):
        first, replay = twice(gateway, sent, "")
        assert first.header("Idempotency-Key") == echoed
        assert replay.header("Idempotency-Key") == echoed


def test_the_expiry_is_told_on_both(gateway, upstream, key):
    now = time.time()
    first, replay = twice(gateway, key, "")
    assert abs(expires(first) - (now + TTL_SECONDS)) < 10 * TIME_SCALE
    assert expires(replay) == expires(first)


def test_age_counts_from_the_first_answer(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key)
    let_pass(1.1)
    replay = gateway.post("/charges", json=BODY, key=key)
    assert 1 <= int(replay.header("Age")) <= 1 + 5 * TIME_SCALE


def test_what_belongs_to_the_first_exchange_is_not_kept(gateway, upstream, key):
    dropped = {"Set-Cookie": "session=1", "Server": "app/1", "Alt-Svc": "h3=%22:443%22",
               "WWW-Authenticate": "Basic", "RateLimit": "limit=10", "RateLimit-Policy": "10",
               "RateLimit-Limit": "10", "RateLimit-Remaining": "9", "RateLimit-Reset": "1",
               "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "9", "X-Rate-Limit-Reset": "1",
               "X-Request-Id": "r1", "Request-Id": "r2", "X-Correlation-Id": "r3",
               "Authorization": "Bearer a", "Proxy-Authorization": "Basic b",
               "Authentication-Info": "nextnonce=c", "Proxy-Authentication-Info": "nextnonce=d",
               "Set-Cookie2": "session=2", "Clear-Site-Data": "*"}
    script = "; ".join(f"header.{n}={v}" for n, v in dropped.items())
    first, replay = twice(gateway, key, script + "; header.Date=Tue, 15 Nov 1994 08:12:31 GMT; "
                          "header.X-Kept=yes")
    assert_replay(replay, first)
    for name in dropped:
        assert first.header(name) is not None, f"{name} did not reach the first client"
        assert replay.header(name) is None, name
    assert replay.header("X-Kept") == "yes"
    shown = {name.lower() for name, _ in gateway.record(key)["answer"]["headers"]}
    assert "x-kept" in shown and not shown & {name.lower() for name in dropped}
    assert replay.header("Date") != "Tue, 15 Nov 1994 08:12:31 GMT"


def test_hop_by_hop_headers_are_not_kept(gateway, upstream, key):
    first, replay = twice(gateway, key, "header.Connection=X-Hop; header.X-Hop=1; "
                          "header.Keep-Alive=timeout=5; header.Proxy-Authenticate=Basic")
    for answer in (first, replay):
        assert answer.header("X-Hop") is None and answer.header("Keep-Alive") != "timeout=5"
    assert replay.header("Proxy-Authenticate") is None


def test_the_routes_own_lists(gateway, upstream, key):
    first, replay = twice(gateway, key, "header.X-Secret=1; header.X-Request-Id=r1; "
                          "header.Set-Cookie=a=1; header.Set-Cookie=b=2; header.Server=app",
                          "/lists")
    assert first.header("X-Secret") == "1"
    assert replay.header("X-Secret") is None and replay.header("Server") is None
    assert replay.header("X-Request-Id") == "r1"
    assert replay.all("Set-Cookie") == ["a=1", "b=2"]


def test_the_markers_name_is_configurable(gateway, upstream, key):
    first, replay = twice(gateway, key, "", "/renamed")
    assert first.header("Idempotent-Replayed") is None
    assert replay.header("Idempotent-Replayed") == "true"
    assert replay.header("Idempotency-Replayed") is None
    assert replay.body == first.body


def test_the_routes_own_marker_is_taken_off_the_executors_answers(gateway, upstream, key):
    script = "header.idempotent-replayed=true; header.X-Kept=yes"
    first, replay = twice(gateway, key, script, "/renamed")
    plain = gateway.post("/renamed", json=BODY, test=script)
    for answer in (first, plain):
        assert answer.header("Idempotent-Replayed") is None and answer.header("X-Kept") == "yes"
    assert replay.all("Idempotent-Replayed") == ["true"]


def test_a_forged_marker_of_the_executor_does_not_pass_as_a_replay(gateway, upstream, key):
    first, replay = twice(gateway, key, "header.Idempotency-Replayed=true; header.Age=99")
    assert first.header("Idempotency-Replayed") is None
    assert replay.all("Idempotency-Replayed") == ["true"]


@pytest.mark.parametrize("script", [
    "status=204", "body=", "status=201; body=", "size=1", "size=65535", "size=1048576",
    "chunked; size=100000", "nolength; size=5000", "status=404; body=none", "chunked; body=",
    "interim=103; body=after an interim answer", "status=200; nolength; body=",
])
def test_bodies_of_every_kind_replay(gateway, upstream, key, script):
    first, replay = twice(gateway, key, script)
    assert_replay(replay, first)
    assert replay.header("Idempotency-Replay") is None
    assert upstream.arrived(key) == 1


def test_binary_and_encoded_bodies_replay_byte_for_byte(gateway, upstream, key):
    every_byte = "".join(f"%{n:02x}" for n in range(256))
    first, replay = twice(gateway, key, f"body={every_byte}; type=application/octet-stream; "
                          "header.Content-Encoding=gzip")
    assert first.body == bytes(range(256))
    assert_replay(replay, first)
    assert replay.header("Content-Encoding") == "gzip"
    assert replay.header("Content-Type") == "application/octet-stream"


def test_204_has_no_length(gateway, upstream, key):
    for answer in twice(gateway, key, "status=204"):
        assert answer.status == 204
        assert answer.header("Content-Length") is None
        assert answer.header("Transfer-Encoding") is None


@pytest.mark.parametrize("script", ["size=65537", "size=3000000", "chunked; size=65537",
                                    "chunked; size=3000000", "nolength; size=200000"])
def test_an_answer_too_large_to_store_is_whole_and_never_executed_again(gateway, upstream, key,
                                                                        script):
    size = int(script.split("size=")[1])
    first = gateway.post("/small", json=BODY, key=key,
                         test=f"status=201; header.X-Kept=1; {script}")
    assert first.status == 201 and len(first.body) == size
    for _ in range(2):
        replay = gateway.post("/small", json=BODY, key=key)
        assert replay.status == 201 and replay.body == b""
        assert replay.header("Idempotency-Replayed") == "true"
        assert replay.header("Idempotency-Replay") == "body-omitted"
        assert replay.header("X-Kept") == "1"
        assert replay.header("Content-Type") == "application/json"
    assert upstream.arrived(key) == 1


@pytest.mark.parametrize("script", ["size=65536", "chunked; size=65536", "nolength; size=65536"])
def test_an_answer_of_exactly_the_limit_is_stored(gateway, upstream, key, script):
    first, replay = twice(gateway, key, script, "/small")
    assert_replay(replay, first)
    assert replay.header("Idempotency-Replay") is None


def test_many_replays_on_one_connection(gateway, upstream, key):
    first = gateway.post("/charges", json=BODY, key=key, test="size=5000")
    with gateway.connect() as connection:
        for _ in range(50):
            assert_replay(connection.request("POST", "/charges", json=BODY, key=key), first)


def test_a_replay_survives_a_restart(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/charges"})
    first = gateway.post("/charges", json=BODY, key=key, test="status=201; header.X-Kept=1")
    gateway.restart()
    replay = gateway.post("/charges", json=BODY, key=key)
    assert_replay(replay, first)
    assert kept(replay) == kept(first) and expires(replay) == expires(first)
    assert_problem(gateway.post("/charges", json={"other": 1}, key=key), 422, "key-reused")
    assert upstream.effects() == 1
