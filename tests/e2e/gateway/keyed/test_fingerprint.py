"""docs/spec.md 6 through the gateway: what makes two requests the same. The recipes themselves are
covered by the unit tests; here, that requests really reach them."""

import base64
import hashlib

import pytest

from harness.semel import assert_problem, assert_replay

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "auto", "path": "/auto"},
        {"name": "raw", "path": "/raw", "fingerprint": {"body": "raw"}},
        {"name": "digest", "path": "/digest", "fingerprint": {"body": "digest"}},
        {"name": "none", "path": "/none", "fingerprint": {"body": "none"}},
        {"name": "exclude", "path": "/exclude",
         "fingerprint": {"exclude": ["/sent_at", "/items/*/trace"]}},
        {"name": "include", "path": "/include", "fingerprint": {"include": ["/amount"]}},
        {"name": "typo", "path": "/typo", "fingerprint": {"include": ["/amuont"]}})


def same(gateway, upstream, path, key, one, other, headers):
    first = gateway.post(path, one, key=key, headers=headers)
    assert first.status == 200, first
    assert_replay(gateway.post(path, other, key=key, headers=headers), first)
    assert upstream.effects(key) == 1


def different(gateway, upstream, path, key, one, other, headers):
    assert gateway.post(path, one, key=key, headers=headers).status == 200
    answer = gateway.post(path, other, key=key, headers=headers)
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["body"]
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("one, other", [
    (b'{"a":1,"b":2}', b' { "b" : 2 ,\n"a" : 1 } '),
    (b'{"a":1}', b'{"a":1.0}'), (b'{"a":100}', b'{"a":1e2}'), (b'{"a":-0}', b'{"a":0}'),
    (b'{"a":"\\u00e9"}', '{"a":"é"}'.encode()), (b'{"\\u0061":"/"}', b'{"a":"\\/"}'),
], ids=repr)
def test_json_written_differently_is_the_same(gateway, upstream, key, one, other):
    same(gateway, upstream, "/auto", key, one, other, JSON)


@pytest.mark.parametrize("one, other", [
    (b'{"a":9007199254740993}', b'{"a":9007199254740992}'),
    (b'{"a":0.1}', b'{"a":0.10000000000000001}'), (b'{"a":1}', b'{"a":"1"}'), (b'[1,2]', b'[2,1]'),
    (b'{"a":null}', b'{}'), (b'{"a":1}', b'[["a",1]]'),
    (b'{"a":1,"a":2}', b'{"a":2}'), (b'{"a":1,"a":2}', b'{"a":2,"a":1}'), (b'{"a":1', b'{"a":1 '),
    (b'', b'null'),
], ids=repr)
def test_json_that_says_something_else_is_different(gateway, upstream, key, one, other):
    different(gateway, upstream, "/auto", key, one, other, JSON)


def test_a_json_suffix_counts_as_json(gateway, upstream, key):
    same(gateway, upstream, "/auto", key, b'{"a":1,"b":2}', b'{"b":2,"a":1}',
         {"Content-Type": "application/vnd.api+json; charset=utf-8"})


def test_form_fields_in_another_order_are_the_same(gateway, upstream, key):
    same(gateway, upstream, "/auto", key, b"a=1&b=x+y&a=2", b"b=x%20y&a=1&a=2", FORM)


def test_form_fields_that_an_executor_groups_by_their_order_are_different(gateway, upstream, key):
    different(gateway, upstream, "/auto", key, b"a[][x]=1&a[][y]=2&a[][x]=3",
              b"a[][x]=1&a[][x]=3&a[][y]=2", FORM)


@pytest.mark.parametrize("one, other", [
    ({}, {"Content-Encoding": "gzip"}),
    ({"Content-Encoding": "gzip"}, {"Content-Encoding": "br"}),
    ({}, {"Content-Type": "text/plain; profile=b"}),
    ({"Content-Type": "text/plain; profile=a"}, {"Content-Type": "text/plain; profile=b"}),
], ids=str)
def test_a_body_that_is_to_be_read_differently_is_different(gateway, upstream, key, one, other):
    text = {"Content-Type": "text/plain"}
    assert gateway.post("/auto", b"same", key=key, headers={**text, **one}).status == 200
    answer = gateway.post("/auto", b"same", key=key, headers={**text, **other})
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["media-type"]
    assert upstream.effects(key) == 1


def test_what_changes_nothing_about_a_body_is_the_same(gateway, upstream, key):
    first = gateway.post("/auto", b"{}", key=key, headers=JSON)
    for more in ({"Content-Type": "application/json; charset=UTF-8"},
                 {**JSON, "Content-Encoding": "identity"}):
        assert_replay(gateway.post("/auto", b"{}", key=key, headers=more), first)


def test_values_of_one_form_field_in_another_order_are_different(gateway, upstream, key):
    different(gateway, upstream, "/auto", key, b"a=1&a=2&b=3", b"a=2&a=1&b=3", FORM)


def test_other_media_types_count_byte_for_byte(gateway, upstream, key):
    different(gateway, upstream, "/auto", key, b'{"a":1}', b'{"a": 1}',
              {"Content-Type": "text/plain"})


def test_raw_counts_byte_for_byte(gateway, upstream, key):
    different(gateway, upstream, "/raw", key, b'{"a":1}', b'{"a": 1}', JSON)


def test_none_leaves_the_body_out(gateway, upstream, key):
    same(gateway, upstream, "/none", key, b'{"a":1}', b'{"a":2}', JSON)


def test_excluded_members_do_not_count(gateway, upstream, key):
    same(gateway, upstream, "/exclude", key,
         b'{"sent_at":1,"items":[{"id":1,"trace":"x"},{"id":2,"trace":"y"}]}',
         b'{"sent_at":2,"items":[{"id":1,"trace":"z"},{"id":2}]}', JSON)


def test_the_rest_still_counts(gateway, upstream, key):
    different(gateway, upstream, "/exclude", key, b'{"sent_at":1,"items":[{"id":1}]}',
              b'{"sent_at":1,"items":[{"id":2}]}', JSON)


def test_only_included_members_count(gateway, upstream, key):
    same(gateway, upstream, "/include", key, b'{"amount":1,"note":"a"}',
         b'{"note":"b","amount":1.0}', JSON)


def test_an_included_member_that_changes_is_different(gateway, upstream, key):
    different(gateway, upstream, "/include", key, b'{"amount":1}', b'{"amount":2}', JSON)


def test_an_include_list_with_a_typo_does_not_make_every_body_equal(gateway, upstream, key):
    different(gateway, upstream, "/typo", key, b'{"amount":1}', b'{"amount":2}', JSON)


def test_a_body_sent_in_chunks_is_the_same_body(gateway, upstream, key):
    body = b'{"amount":1,"note":"' + b"x" * 10000 + b'"}'
    first = gateway.post("/auto", body, key=key, headers=JSON)
    assert_replay(gateway.post("/auto", body, key=key, headers=JSON, chunked=True), first)


def test_a_hostile_body_neither_crashes_nor_confuses(gateway, upstream, key):
    deep = b"[" * 100000 + b"]" * 100000
    same(gateway, upstream, "/auto", "deep-" + key, deep, deep, JSON)
    different(gateway, upstream, "/auto", "number-" + key, b'{"a":1e999999999}',
              b'{"a":1e999999998}', JSON)
    different(gateway, upstream, "/auto", "digits-" + key, b"[" + b"1" * 100000 + b"]",
              b"[" + b"1" * 99999 + b"2]", JSON)


def form_data(boundary, *parts):
    lines = b"".join(b"--" + boundary + b'\r\nContent-Disposition: form-data; name="' + name +
                     b'"\r\n\r\n' + body + b"\r\n" for name, body in parts)
    return lines + b"--" + boundary + b"--\r\n"


def test_a_form_under_another_boundary_is_the_same(gateway, upstream, key):
    parts = (b"amount", b"1999"), (b"file", bytes(range(256)) * 40)
    first = gateway.post("/auto", form_data(b"one", *parts), key=key,
                         headers={"Content-Type": "multipart/form-data; boundary=one"})
    again = gateway.post("/auto", form_data(b"two", *parts), key=key, chunked=True,
                         headers={"Content-Type": 'multipart/form-data; boundary="two"'})
    assert_replay(again, first)
    assert upstream.effects(key) == 1


def test_a_form_with_another_part_is_different(gateway, upstream, key):
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    different(gateway, upstream, "/auto", key, form_data(b"b", (b"amount", b"1")),
              form_data(b"b", (b"amount", b"2")), headers)


def test_a_malformed_form_counts_byte_for_byte(gateway, upstream, key):
    different(gateway, upstream, "/auto", key, b"--b\r\n\r\nx", b"--b\r\n\r\nx ",
              {"Content-Type": "multipart/form-data; boundary=b"})


def content_digest(body, *algorithms):
    return {"Content-Digest": ", ".join(
        f"{name}=:{base64.b64encode(hashlib.new(name.replace('-', ''), body).digest()).decode()}:"
        for name in algorithms or ["sha-256"])}


def test_a_verified_digest_stands_for_the_body(gateway, upstream, key):
    body = b"x" * 100000
    first = gateway.post("/digest", body, key=key, headers=content_digest(body))
    assert first.status == 200
    assert_replay(gateway.post("/digest", body, key=key,
                               headers=content_digest(body, "sha-512", "sha-256")), first)
    assert_replay(gateway.post("/digest", body, key=key), first)
    other = b"y" + body[1:]
    answer = gateway.post("/digest", other, key=key, headers=content_digest(other))
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["body"]
    assert upstream.effects(key) == 1


@pytest.mark.parametrize("algorithm", ["sha-256", "sha-512"])
def test_a_body_that_its_digest_does_not_fit_is_refused(gateway, upstream, key, algorithm):
    headers = content_digest(b"sent", algorithm)
    answer = gateway.post("/digest", b"arrived", key=key, headers=headers)
    assert "Content-Digest" in assert_problem(answer, 400, "bad-request")["detail"]
    assert upstream.effects(key) == 0
    assert gateway.post("/digest", b"sent", key=key, headers=headers).status == 200


def test_a_digest_that_cannot_be_read_is_refused(gateway, upstream, key):
    answer = gateway.post("/digest", b"x", key=key, headers={"Content-Digest": "sha-256=nonsense"})
    assert_problem(answer, 400, "bad-request")
    assert upstream.effects(key) == 0


def test_without_a_digest_that_is_understood_the_bytes_count(gateway, upstream, key):
    first = gateway.post("/digest", b"x", key=key, headers={"Content-Digest": "md5=:AAAA:"})
    assert_replay(gateway.post("/digest", b"x", key=key, headers=content_digest(b"x")), first)
    answer = gateway.post("/digest", b"y", key=key)
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["body"]


def test_two_content_types_are_refused(gateway, upstream, key):
    """Some executors go by the first, some by the last."""
    two = {"Content-Type": ["application/json", "text/plain"]}
    assert_problem(gateway.post("/auto", b"{}", key=key, headers=two), 400, "bad-request")
    assert upstream.arrived() == 0
