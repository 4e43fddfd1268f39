"""docs/spec.md 4: what a request with a key gets, by the record that is found. A mismatch is never
replayed, never executed, and never changes the record."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, assert_replay, let_pass

BODY = {"amount": 100, "currency": "eur"}
OTHER = {"amount": 999, "currency": "eur"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "items", "path": "/items/{id}"},
        {"name": "no-query", "path": "/no-query", "fingerprint": {"query": False}},
        {"name": "headers", "path": "/headers", "fingerprint": {"headers": ["X-Api-Version"]}},
        {"name": "forget", "path": "/forget", "on_retry": "forget"},
        {"name": "wait", "path": "/wait", "in_progress": "wait", "wait_timeout": "60s"},
        {"name": "tombstone", "path": "/tombstone", "ttl": "1s", "tombstone": "1h"})


def differs(answer):
    problem = assert_problem(answer, 422, "key-reused")
    return problem["differs"]


# --- the rows of the table ------------------------------------------------------------------------


def test_no_record_executes_as_attempt_1(gateway, upstream, key):
    first = gateway.post("/items/1", json=BODY, key=key)
    assert first.status == 200 and not first.replayed
    assert upstream.last(key)["attempt"] == "1"


def test_completed_replays_the_same_and_refuses_another_payload(gateway, upstream, key):
    first = gateway.post("/items/1", json=BODY, key=key)
    assert differs(gateway.post("/items/1", json=OTHER, key=key)) == ["body"]
    assert_replay(gateway.post("/items/1", json=BODY, key=key), first)
    assert upstream.effects() == 1


def test_released_executes_as_the_next_attempt(gateway, upstream, key):
    for _ in range(3):
        assert gateway.post("/items/1", json=BODY, key=key, test="status=503").status == 503
    first = gateway.post("/items/1", json=BODY, key=key)
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2", "3", "4"]
    assert_replay(gateway.post("/items/1", json=BODY, key=key), first)


def test_released_refuses_another_payload(gateway, upstream, key):
    gateway.post("/items/1", json=BODY, key=key, test="status=503")
    assert differs(gateway.post("/items/1", json=OTHER, key=key)) == ["body"]
    assert upstream.effects() == 1
    assert gateway.post("/items/1", json=BODY, key=key).status == 200


def test_released_and_forgotten_is_new(gateway, upstream, key):
    gateway.post("/forget", json=BODY, key=key, test="status=503")
    first = gateway.post("/forget", json=OTHER, key=key)
    assert first.status == 200 and upstream.last(key)["attempt"] == "1"
    assert_replay(gateway.post("/forget", json=OTHER, key=key), first)


@pytest.mark.parametrize("path", ["/items/1", "/wait"])
def test_in_progress_refuses_another_payload_at_once(gateway, upstream, key, path):
    with gateway.connect() as first:
        first.send(request_bytes("POST", path, json=BODY, key=key, test="gate=slow"))
        upstream.wait_arrived(1, key)
        assert differs(gateway.post(path, json=OTHER, key=key)) == ["body"]
        upstream.open_gate("slow")
        assert first.read_response().status == 200
    assert upstream.effects() == 1


def test_unknown_refuses_another_payload(gateway, upstream, key):
    gateway.post("/items/1", json=BODY, key=key, test="close=reset")
    assert differs(gateway.post("/items/1", json=OTHER, key=key)) == ["body"]
    assert_problem(gateway.post("/items/1", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects() == 1


def test_a_tombstone_answers_gone_whatever_the_payload(gateway, upstream, key):
    gateway.post("/tombstone", json=BODY, key=key)
    let_pass(1.2)
    for body in (BODY, OTHER, BODY):
        problem = assert_problem(gateway.post("/tombstone", json=body, key=key), 410, "key-expired")
        assert problem["new_key_safe"] is False
    assert upstream.effects() == 1


# --- the part that differs ------------------------------------------------------------------------


def test_another_method(gateway, upstream, key):
    gateway.post("/items/1", json=BODY, key=key)
    assert differs(gateway.request("PATCH", "/items/1", json=BODY, key=key)) == ["method"]


def test_another_path(gateway, upstream, key):
    gateway.post("/items/1", json=BODY, key=key)
    assert differs(gateway.post("/items/2", json=BODY, key=key)) == ["path"]


def test_another_query(gateway, upstream, key):
    gateway.post("/items/1?expand=a", json=BODY, key=key)
    assert differs(gateway.post("/items/1?expand=b", json=BODY, key=key)) == ["query"]
    assert differs(gateway.post("/items/1", json=BODY, key=key)) == ["query"]


def test_a_query_that_does_not_count(gateway, upstream, key):
    first = gateway.post("/no-query?trace=1", json=BODY, key=key)
    assert_replay(gateway.post("/no-query?trace=2", json=BODY, key=key), first)


def test_another_media_type_is_compared_under_the_recipe_of_the_record(gateway, upstream, key):
    body = b'{"amount": 1}'
    gateway.post("/items/1", body, key=key, headers={"Content-Type": "application/json"})
    answer = gateway.post("/items/1", body, key=key, headers={"Content-Type": "text/plain"})
    assert differs(answer) == ["media-type"]


def test_another_value_of_a_header_that_counts(gateway, upstream, key):
    first = gateway.post("/headers", json=BODY, key=key, headers={"X-Api-Version": "2024-secret"})
    answer = gateway.post("/headers", json=BODY, key=key, headers={"X-Api-Version": "2025-secret"})
    assert differs(answer) == ["header x-api-version"]
    assert b"secret" not in answer.body
    same = {"X-Api-Version": "2024-secret", "User-Agent": "other", "Traceparent": "00-1-1-00"}
    assert_replay(gateway.post("/headers", json=BODY, key=key, headers=same), first)


def test_several_parts_are_all_named_and_no_value_is(gateway, upstream, key):
    gateway.post("/items/secret-1?q=secret-2", json={"a": "secret-3"}, key=key)
    answer = gateway.request("PATCH", "/items/9?q=9", json={"a": 9}, key=key)
    assert differs(answer) == ["method", "path", "query", "body"]
    assert b"secret" not in answer.body


# --- an edited configuration ----------------------------------------------------------------------


def test_an_edited_exclude_list_does_not_refuse_honest_retries(start_gateway, upstream, key):
    route = {"name": "charges", "path": "/v1/charges", "upstream": upstream.url}
    narrowed = {**route, "fingerprint": {"exclude": ["/sent_at"]}}
    body = {"amount": 100, "sent_at": 1}
    gateway = start_gateway(route)
    strict = gateway.post("/v1/charges", json=body, key="strict-" + key)
    gateway.restart(routes=[narrowed])
    loose = gateway.post("/v1/charges", json=body, key="loose-" + key)
    assert_replay(gateway.post("/v1/charges", json=body, key="strict-" + key), strict)
    late = {**body, "sent_at": 2}
    assert differs(gateway.post("/v1/charges", json=late, key="strict-" + key)) == ["body"]
    gateway.restart(routes=[route])
    assert_replay(gateway.post("/v1/charges", json=late, key="loose-" + key), loose)
    assert upstream.effects() == 2


def test_an_edited_body_recipe_or_header_list_does_not_either(start_gateway, upstream, key):
    route = {"name": "charges", "path": "/v1/charges", "upstream": upstream.url}
    gateway = start_gateway(route)
    first = gateway.post("/v1/charges", json=BODY, key=key)
    for fingerprint in ({"body": "raw"}, {"body": "none"}, {"headers": ["X-Api-Version"]},
                        {"query": False}, {"include": ["/currency"]}):
        gateway.restart(routes=[{**route, "fingerprint": fingerprint}])
        reordered = dict(reversed(BODY.items()))
        assert_replay(gateway.post("/v1/charges", json=reordered, key=key), first)
        assert differs(gateway.post("/v1/charges", json=OTHER, key=key)) == ["body"]
    assert upstream.effects() == 1


def test_an_edited_path_of_a_named_route_keeps_its_records(start_gateway, upstream, key):
    route = {"name": "charges", "path": "/v1/charges", "upstream": upstream.url}
    gateway = start_gateway(route)
    first = gateway.post("/v1/charges", json=BODY, key=key)
    gateway.restart(routes=[{**route, "path": "/v1/*"}])
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), first)


def test_a_new_response_version_answers_gone_and_never_runs_again(start_gateway, upstream, key):
    route = {"name": "charges", "path": "/v1/charges", "upstream": upstream.url}
    gateway = start_gateway(route)
    first = gateway.post("/v1/charges", json=BODY, key=key)
    gateway.restart(routes=[{**route, "response_version": "2"}])
    answer = gateway.post("/v1/charges", json=BODY, key=key)
    assert assert_problem(answer, 410, "key-expired")["new_key_safe"] is False
    assert differs(gateway.post("/v1/charges", json=OTHER, key=key)) == ["body"]
    gateway.restart(routes=[route])
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), first)
    assert upstream.effects() == 1


def test_a_new_response_version_may_count_as_new(start_gateway, upstream, key):
    route = {"name": "charges", "path": "/v1/charges", "upstream": upstream.url}
    gateway = start_gateway(route)
    first = gateway.post("/v1/charges", json=BODY, key=key)
    gateway.restart(routes=[{**route, "response_version": "2", "on_version_change": "new"}])
    assert differs(gateway.post("/v1/charges", json=OTHER, key=key)) == ["body"]
    second = gateway.post("/v1/charges", json=BODY, key=key)
    assert second.status == 200 and not second.replayed and second.body != first.body
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), second)
    assert upstream.effects() == 2
