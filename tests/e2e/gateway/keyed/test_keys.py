"""docs/spec.md 5: what is a key, where it is read from, and what is refused."""

import gzip

import pytest

from harness.clients.http_client import chunks, request_bytes
from harness.semel import assert_problem, assert_replay, new_key

BODY = {"amount": 100}
KEY_LENGTH_MAX = 255


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "plain", "path": "/plain"},
        {"name": "required", "path": "/required", "key": {"required": True}},
        {"name": "aliases", "path": "/aliases",
         "key": {"aliases": ["X-Idempotency-Key", "PayPal-Request-Id"], "required": True}},
        {"name": "renamed", "path": "/renamed",
         "key": {"header": "X-Once", "required": True}},
        {"name": "uuid", "path": "/uuid", "key": {"format": "uuid"}},
        {"name": "strong", "path": "/strong", "key": {"format": "strong"}},
        {"name": "sized", "path": "/sized", "key": {"min_length": 8, "max_length": 16}},
        {"name": "pointer", "path": "/pointer",
         "key": {"from": "pointer", "pointer": "/order/idempotency_key", "required": True}},
        {"name": "pointer-optional", "path": "/pointer-optional",
         "key": {"from": "pointer", "pointer": "/idempotency_key"}},
        {"name": "fingerprint", "path": "/fingerprint", "key": {"from": "fingerprint"},
         "ttl": "10m"},
        {"name": "keyless", "path": "/keyless", "forward_key": "none"},
        limits={"header_bytes": "128KiB"})


def same(gateway, path, one, other, **more):
    """Both are the same operation."""
    first = gateway.post(path, json=BODY, headers=one, **more)
    assert first.status == 200 and not first.replayed, first
    assert_replay(gateway.post(path, json=BODY, headers=other, **more), first)


def refused(gateway, upstream, path, headers, code="key-invalid", **more):
    problem = assert_problem(gateway.post(path, json=BODY, headers=headers, **more), 400, code)
    assert upstream.arrived() == 0
    return problem


# --- syntax ---------------------------------------------------------------------------------------


def test_a_quoted_key_is_the_same_as_a_bare_one(gateway, upstream, key):
    same(gateway, "/plain", {"Idempotency-Key": f'"{key}"'}, {"Idempotency-Key": key})
    other = new_key()
    same(gateway, "/plain", {"Idempotency-Key": other}, {"Idempotency-Key": f'"{other}"'})


def test_escapes_in_a_quoted_key_are_undone(gateway, upstream, key):
    same(gateway, "/plain", {"Idempotency-Key": f'"a\\\\{key}"'}, {"Idempotency-Key": f"a\\{key}"})
    same(gateway, "/plain", {"Idempotency-Key": f'"q\\"{key}"'},
         {"Idempotency-Key": f'"q\\"{key}"'})


def test_a_key_is_case_sensitive_and_its_header_is_not(gateway, upstream, key):
    same(gateway, "/plain", {"IDEMPOTENCY-KEY": key + "a"}, {"idempotency-key": key + "a"})
    assert not gateway.post("/plain", json=BODY, key=key + "A").replayed
    assert upstream.effects() == 2


def test_surrounding_blanks_are_no_part_of_the_key(gateway, upstream, key):
    same(gateway, "/plain", {"Idempotency-Key": f" \t {key} \t"}, {"Idempotency-Key": key})


@pytest.mark.parametrize("value", [
    "", '""', '"   "', '"unterminated', 'un"quoted', '"bad \\x escape"', '"a" "b"', '"a" b',
    '"a", "b"', "a,b", "a, b", '"a";p=1', '("a" "b")',
], ids=repr)
def test_a_malformed_key_is_refused(gateway, upstream, value):
    refused(gateway, upstream, "/plain", {"Idempotency-Key": value})
    refused(gateway, upstream, "/required", {"Idempotency-Key": value})


@pytest.mark.parametrize("value", ["a\tb", '"a\tb"', "caf\xe9", "\xc3\xa9", '"\x80"'], ids=repr)
def test_a_key_of_other_bytes_is_refused(gateway, upstream, value):
    refused(gateway, upstream, "/plain", {"Idempotency-Key": value})


@pytest.mark.parametrize("value", ["\x01", "a\x1fb", "\x7f", "a\x00b", '"\x08"'], ids=repr)
def test_a_key_of_control_bytes_is_refused(gateway, upstream, value):
    answer = gateway.post("/plain", json=BODY, headers={"Idempotency-Key": value})
    assert answer.status == 400
    assert upstream.arrived() == 0


def test_the_longest_key_is_taken_and_one_more_is_refused(gateway, upstream, key):
    longest = key.ljust(KEY_LENGTH_MAX, "x")
    same(gateway, "/plain", {"Idempotency-Key": longest}, {"Idempotency-Key": f'"{longest}"'})
    upstream.reset()
    refused(gateway, upstream, "/plain", {"Idempotency-Key": longest + "x"})
    refused(gateway, upstream, "/plain", {"Idempotency-Key": f'"{longest}x"'})


def test_a_key_of_64_kib_is_refused(gateway, upstream):
    problem = refused(gateway, upstream, "/plain", {"Idempotency-Key": "k" * 65536})
    assert "kkkk" not in str(problem)


def test_the_header_sent_twice_is_refused(gateway, upstream, key):
    refused(gateway, upstream, "/plain", {"Idempotency-Key": [key, key]})
    refused(gateway, upstream, "/plain", {"Idempotency-Key": [key, new_key()]})
    refused(gateway, upstream, "/plain", {"Idempotency-Key": [key, ""]})


def test_a_key_in_a_trailer_is_not_a_key(gateway, upstream, key):
    def send(path):
        with gateway.connect() as connection:
            connection.send(
                f"POST {path} HTTP/1.1\r\nHost: semel.test\r\nTransfer-Encoding: chunked\r\n"
                "Trailer: Idempotency-Key\r\n\r\n".encode()
                + chunks(b"abc", trailers=[("Idempotency-Key", key)]))
            return connection.read_response()
    assert_problem(send("/required"), 400, "key-missing")
    assert upstream.arrived() == 0
    answers = [send("/plain"), send("/plain")]
    assert [a.status for a in answers] == [200, 200]
    assert upstream.effects() == 2 and not any(a.replayed for a in answers)


def test_a_key_is_never_read_from_the_url(gateway, upstream, key):
    target = f"/plain?Idempotency-Key={key}&idempotency_key={key}"
    assert not any(gateway.post(target, json=BODY).replayed for _ in range(2))
    assert upstream.effects() == 2
    assert_problem(gateway.post(f"/required?Idempotency-Key={key}"), 400, "key-missing")


def test_the_length_limits_of_a_route(gateway, upstream):
    refused(gateway, upstream, "/sized", {"Idempotency-Key": "1234567"})
    refused(gateway, upstream, "/sized", {"Idempotency-Key": "1" * 17})
    for key in ("12345678", "1" * 16):
        assert gateway.post("/sized", json=BODY, key=key).status == 200


def test_format_uuid(gateway, upstream, key):
    for wrong in ("order-17", key[:-1], key + "0", key.replace("-", ""), "g" + key[1:]):
        refused(gateway, upstream, "/uuid", {"Idempotency-Key": wrong})
    same(gateway, "/uuid", {"Idempotency-Key": key}, {"Idempotency-Key": f'"{key}"'})


def test_format_strong(gateway, upstream, key):
    for weak in ("1", "order-17", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"):
        refused(gateway, upstream, "/strong", {"Idempotency-Key": weak})
    same(gateway, "/strong", {"Idempotency-Key": key}, {"Idempotency-Key": key})


# --- where it is read from ------------------------------------------------------------------------


def test_a_required_key_that_is_missing_is_refused_with_a_link(gateway, upstream):
    answer = gateway.post("/required", json=BODY)
    assert_problem(answer, 400, "key-missing")
    assert "/.semel/policy" in answer.header("Link")
    assert upstream.arrived() == 0


def test_an_alias_is_as_good_as_the_name(gateway, upstream, key):
    same(gateway, "/aliases", {"X-Idempotency-Key": key}, {"Idempotency-Key": key})
    other = new_key()
    same(gateway, "/aliases", {"PayPal-Request-Id": f'"{other}"'}, {"X-Idempotency-Key": other})


def test_aliases_that_agree_are_one_key(gateway, upstream, key):
    same(gateway, "/aliases", {"Idempotency-Key": key, "X-Idempotency-Key": f'"{key}"'},
         {"PayPal-Request-Id": key})


def test_aliases_that_disagree_are_refused(gateway, upstream, key):
    refused(gateway, upstream, "/aliases", {"Idempotency-Key": key, "PayPal-Request-Id": new_key()})
    refused(gateway, upstream, "/aliases", {"Idempotency-Key": key, "X-Idempotency-Key": ""})
    refused(gateway, upstream, "/aliases", {"X-Idempotency-Key": [key, key]})


def test_an_alias_of_another_route_is_not_read(gateway, upstream, key):
    refused(gateway, upstream, "/required", {"X-Idempotency-Key": key}, "key-missing")


def test_a_configured_name_replaces_the_default(gateway, upstream, key):
    same(gateway, "/renamed", {"X-Once": key}, {"X-Once": key})
    upstream.reset()
    refused(gateway, upstream, "/renamed", {"Idempotency-Key": key}, "key-missing")


def test_a_pointer_into_the_body(gateway, upstream, key):
    body = {"amount": 1, "order": {"idempotency_key": key}}
    first = gateway.post("/pointer", json=body)
    assert first.status == 200
    assert_replay(gateway.post("/pointer", json=body), first)
    assert first.header("Idempotency-Key") == f'"{key}"'
    answer = gateway.post("/pointer", json={**body, "amount": 2})
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["body"]
    assert upstream.effects() == 1


@pytest.mark.parametrize("value, code", [
    ({"order": {}}, "key-missing"), ({}, "key-missing"), ([1], "key-missing"),
    ({"order": {"idempotency_key": 17}}, "key-invalid"),
    ({"order": {"idempotency_key": None}}, "key-invalid"),
    ({"order": {"idempotency_key": ""}}, "key-invalid"),
    ({"order": {"idempotency_key": "caf\xe9"}}, "key-invalid"),
    ({"order": {"idempotency_key": "k" * 256}}, "key-invalid"),
], ids=lambda v: str(v)[:40])
def test_a_pointer_that_finds_no_key(gateway, upstream, value, code):
    assert_problem(gateway.post("/pointer", json=value), 400, code)
    assert upstream.arrived() == 0


def test_an_optional_pointer_that_finds_nothing_is_plain_proxying(gateway, upstream):
    for body in (b"{}", b'{"idempotency-key": "k"}', b'[1e400, "\\ud800"]', b""):
        answers = [gateway.post("/pointer-optional", body) for _ in range(2)]
        assert [a.status for a in answers] == [200, 200]
        assert not any(a.replayed for a in answers)
    assert upstream.effects() == 8


@pytest.mark.parametrize("beside", [
    b"123456789012345678901234567890", b"-1e400", b"1" * 5000, b'"\\ud800"', b'"\\udc00\\ud800"',
    b"[" * 2000 + b"]" * 2000, b'{"a":1,"a":2}',
], ids=lambda b: str(b)[:20])
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_a_key_is_found_beside_what_a_strict_parser_refuses(gateway, upstream, key, before, beside):
    body = before + b'{"x":' + beside + b',"idempotency_key":"' + key.encode() + b'"}'
    first = gateway.post("/pointer-optional", body)
    assert first.status == 200 and first.header("Idempotency-Key") == f'"{key}"'
    assert_replay(gateway.post("/pointer-optional", body), first)
    assert upstream.effects() == 1


@pytest.mark.parametrize("headers, body", [
    ({}, b"not json"), ({}, b'{"idempotency_key":"k1"'), ({}, b'{"idempotency_key":"k1"}{}'),
    ({}, b'{"idempotency_key":"k1","idempotency_key":"k2"}'),
    ({}, b'{"idempotency_key":"k1","idempotency_k\\u0065y":"k1"}'),
    ({}, b'{"idempotency_key":"k1","x":NaN}'), ({}, b'{"x":"\xff","idempotency_key":"k1"}'),
    ({}, '{"idempotency_key":"k1"}'.encode("utf-16")), ({}, b" "),
    ({}, gzip.compress(mtime=0, data=b'{"idempotency_key":"k1"}')),
    ({"Content-Encoding": "gzip"}, gzip.compress(mtime=0, data=b'{"idempotency_key":"k1"}')),
    ({"Content-Encoding": ["identity", "x-own"]}, b'{"idempotency_key":"k1"}'),
    ({"Content-Type": "application/x-www-form-urlencoded"}, b"idempotency_key=k1"),
], ids=lambda v: str(v)[:40])
def test_a_body_that_cannot_be_read_for_its_key_is_refused(gateway, upstream, headers, body):
    for _ in range(2):
        answer = gateway.post("/pointer-optional", body, headers=headers)
        assert "/idempotency_key" in assert_problem(answer, 400, "key-invalid")["detail"]
    assert upstream.arrived() == 0
    # A key in the header needs no reading of the body.
    assert gateway.post("/pointer-optional", body, headers=headers, key=new_key()).status == 200


def test_the_fingerprint_as_the_key(gateway, upstream, key):
    body = {"order": key, "amount": 1}
    first = gateway.post("/fingerprint", json=body)
    assert_replay(gateway.post("/fingerprint", json=body), first)
    assert_replay(gateway.post("/fingerprint", json=dict(reversed(body.items()))), first)
    assert not gateway.post("/fingerprint", json={**body, "amount": 2}).replayed
    assert upstream.effects() == 2


def test_an_explicit_key_wins_over_the_fingerprint(gateway, upstream, key):
    body = {"order": key}
    first = gateway.post("/fingerprint", json=body, key="one-" + key)
    second = gateway.post("/fingerprint", json=body, key="two-" + key)
    assert {first.replayed, second.replayed} == {False} and first.body != second.body
    assert_replay(gateway.post("/fingerprint", json=body, key="one-" + key), first)
    assert_problem(gateway.post("/fingerprint", json={"order": 2}, key="one-" + key), 422,
                   "key-reused")
    assert upstream.effects() == 2


# --- what the executor sees -----------------------------------------------------------------------


def test_the_key_is_forwarded_as_it_came(gateway, upstream, key):
    for value in (f"a{key}", f'"b{key}"'):
        gateway.post("/plain", json=BODY, key=value)
        assert f"Idempotency-Key: {value}\r\n".encode().lower() in upstream.raw_head().lower()


def test_forward_key_none_keeps_it_here(gateway, upstream, key):
    first = gateway.post("/keyless", json=BODY, key=key)
    assert first.status == 200
    assert b"idempotency-key" not in upstream.raw_head().lower()
    assert_replay(gateway.post("/keyless", json=BODY, key=key), first)


def test_a_pipelined_key_belongs_to_its_own_request(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/plain", json=BODY, key=key)
                        + request_bytes("POST", "/plain", json=BODY))
        first, second = connection.read_response(), connection.read_response()
    assert first.effect != second.effect and second.header("Idempotency-Key") is None
