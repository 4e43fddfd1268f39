"""`unknown: probe`: the executor is asked what became of an attempt. Only its explicit word settles
anything; whatever else it says, the key stays closed."""

import pytest

from harness.clients.http_client import TIMEOUT
from harness.peers.probe_service import ProbeService
from harness.semel import (TRIED_STORES, Background, assert_problem, assert_replay, eventually, new_key,
                           scaled)
from harness.peers.upstream_control import field

BODY = {"amount": 100}
TARGET = "/outcomes/{record}?key={key}&attempt={attempt}&token={token}"


@pytest.fixture
def service():
    service = ProbeService()
    yield service
    service.stop()


def probe_route(service, **more):
    return {"name": "charges", "path": "/charges", "unknown": "probe",
            "probe": {"url": service.url + TARGET, "timeout": scaled(400)}, **more}


@pytest.fixture
def gateway(start_gateway, service):
    return start_gateway(probe_route(service))


def lose_answer(gateway, key):
    """The effect happens, its answer does not arrive."""
    answer = gateway.post("/charges", json=BODY, key=key, test="close=reset")
    assert_problem(answer, 502, "upstream-unreachable")


@pytest.mark.parametrize("store", TRIED_STORES)
def test_final_is_recorded_as_the_answer(start_gateway, service, upstream, key, store):
    gateway = start_gateway(probe_route(service), store=store)
    service.says_final(201, b'{"id":"ch_1"}', **{"Content-Type": "application/json", "X-Kept": "a",
                                                 "Set-Cookie": "no=1"})
    lose_answer(gateway, key)
    first = gateway.post("/charges", json=BODY, key=key)
    assert first.status == 201 and first.body == b'{"id":"ch_1"}' and first.replayed
    assert first.header("Content-Type") == "application/json" and first.header("X-Kept") == "a"
    for name in ("Set-Cookie", "Idempotency-Outcome", "Semel-Status"):
        assert first.header(name) is None
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1 and service.count() == 1


def test_the_question_names_key_record_attempt_and_token(gateway, service, upstream):
    key = "a key/with?odd&bytes=" + new_key()
    service.says_final(200, b"")
    lose_answer(gateway, key)
    gateway.post("/charges", json=BODY, key=key)
    asked = service.asked.get(timeout=TIMEOUT)
    record = dict(upstream.last(key)["headers"])["Semel-Record"]
    assert asked["query"]["key"] == key and asked["query"]["attempt"] == "1"
    assert len(bytes.fromhex(asked["query"]["token"])) == 16
    assert asked["path"] == "/outcomes/" + record == "/outcomes/" + asked["headers"]["Semel-Record"]
    assert asked["headers"]["Semel-Token"] == asked["query"]["token"]
    assert asked["headers"]["Idempotency-Key"] == f'"{key}"'


def test_retry_releases_it_and_the_same_request_runs_attempt_2(gateway, service, upstream, key):
    service.says_retry()
    lose_answer(gateway, key)
    answer = gateway.post("/charges", json=BODY, key=key)
    assert answer.status == 200 and not answer.replayed
    assert [r["attempt"] for r in upstream.requests(key)] == ["1", "2"]


@pytest.mark.parametrize("status, headers", [
    (404, {}),
    (200, {}),
    (410, {"Semel-Status": "404"}),
    (500, {}),
    (302, {"Location": "/"}),
    (200, {"Idempotency-Outcome": "unknown"}),
    (200, {"Idempotency-Outcome": "Retry, maybe"}),
    (200, {"Idempotency-Outcome": "final"}),  # but which status?
    (200, {"Idempotency-Outcome": "final", "Semel-Status": "oops"}),
    (200, {"Idempotency-Outcome": "final", "Semel-Status": "100"}),
], ids=lambda value: "" if value == {} else str(value))
def test_anything_but_an_explicit_word_is_still_unknown(gateway, service, upstream, key, status,
                                                        headers):
    """DESIGN 6.23: a 404 may be a slow first attempt, or a mistyped URL."""
    service.says(status, b"not here", **headers)
    lose_answer(gateway, key)
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert service.count() == 1
    assert upstream.effects(key) == 1


def test_a_probe_that_times_out_leaves_it_unknown(gateway, service, upstream, key):
    service.silent = True
    lose_answer(gateway, key)
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert service.count() == 1 and upstream.effects(key) == 1


def test_an_executor_that_is_not_there_leaves_it_unknown(start_gateway, service, upstream, key):
    route = probe_route(service)
    route["probe"] = {"url": "http://127.0.0.1:1/{key}"}
    gateway = start_gateway(route)
    lose_answer(gateway, key)
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1


def test_an_answer_larger_than_may_be_stored_settles_nothing(start_gateway, service, upstream, key):
    gateway = start_gateway(probe_route(service, max_stored_body="1KiB"))
    service.says_final(200, b"x" * 2000)
    lose_answer(gateway, key)
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert upstream.effects(key) == 1


def test_it_is_not_asked_again_before_the_backoff_has_passed(gateway, service, upstream, key):
    service.says(404)
    lose_answer(gateway, key)
    for _ in range(20):
        assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert service.count() <= 2  # once on request; perhaps once in the background since
    assert upstream.effects(key) == 1


def test_while_one_is_asked_others_are_not_held_and_do_not_ask(gateway, service, upstream, key):
    service.silent = True
    lose_answer(gateway, key)
    first = Background(gateway.post, "/charges", json=BODY, key=key)
    service.asked.get(timeout=TIMEOUT)
    assert_problem(gateway.post("/charges", json=BODY, key=key), 409, "outcome-unknown")
    assert_problem(first.result(), 409, "outcome-unknown")
    assert service.count() == 0 and upstream.effects(key) == 1


def test_a_different_payload_is_refused_without_asking(gateway, service, upstream, key):
    service.says_retry()
    lose_answer(gateway, key)
    assert_problem(gateway.post("/charges", json={"amount": 1}, key=key), 422, "key-reused")
    assert upstream.effects(key) == 1


def test_it_settles_in_the_background_without_another_request(gateway, service, upstream, key):
    """Asked again with backoff until it says."""
    service.says(404)
    lose_answer(gateway, key)
    eventually(lambda: gateway.metrics()["semel_unknown_records"] == 1)
    service.asked.get(timeout=TIMEOUT)
    service.says_final(201, b"done")
    eventually(lambda: gateway.metrics()["semel_unknown_records"] == 0)
    answer = gateway.post("/charges", json=BODY, key=key)
    assert answer.status == 201 and answer.body == b"done" and answer.replayed
    assert upstream.effects(key) == 1


def test_with_scope_tenant_it_settles_in_the_background_as_well(start_gateway, service, upstream, key):
    """The record does not name its route: all routes of that scope ask the same executor."""
    gateway = start_gateway(probe_route(service, scope="tenant"),
                            probe_route(service, scope="tenant", name="refunds", path="/refunds"))
    service.says_final(201, b"done")
    lose_answer(gateway, key)
    eventually(lambda: service.count() == 1 and gateway.metrics()["semel_unknown_records"] == 0)
    answer = gateway.post("/charges", json=BODY, key=key)
    assert answer.status == 201 and answer.body == b"done" and answer.replayed
    assert upstream.effects(key) == 1


def test_what_was_unknown_before_a_restart_is_asked_about(start_gateway, service, upstream):
    """Both what was unknown already and what ran when the process was killed."""
    gateway = start_gateway(probe_route(service), store="embedded")
    service.says(404)
    lost, killed = new_key(), new_key()
    lose_answer(gateway, lost)
    running = Background(gateway.post, "/charges", json=BODY, key=killed, test="gate=killed")
    upstream.wait_effects(1, killed)
    gateway.kill9()
    service.says_final(201, b"done")
    gateway.start()
    eventually(lambda: gateway.metrics()["semel_unknown_records"] == 0 and service.count() >= 2)
    for key in (lost, killed):
        answer = gateway.post("/charges", json=BODY, key=key)
        assert answer.status == 201 and answer.replayed and upstream.effects(key) == 1
    upstream.open_gate("killed")
    with pytest.raises(BaseException):
        running.result()


def test_no_more_than_a_bounded_number_is_asked_at_once(start_gateway, service, upstream):
    route = probe_route(service)
    route["probe"]["timeout"] = "60s"
    gateway = start_gateway(route)
    service.silent = True
    keys = [new_key() for _ in range(40)]
    for key in keys:
        lose_answer(gateway, key)
    posts = [Background(gateway.post, "/charges", json=BODY, key=key) for key in keys]
    eventually(lambda: sum(post.done for post in posts) >= 8 and service.count() == 32)
    service.hang_up()
    for post in posts:  # the others may be asked about from now on
        assert_problem(post.result(), 409, "outcome-unknown")
    assert all(upstream.effects(key) == 1 for key in keys)


def test_a_probes_own_framing_is_no_part_of_the_answer(start_gateway, upstream, raw_upstream, key):
    """An answer that came in chunks, over a connection of its own, replays whole on any other."""
    executor = raw_upstream(lambda peer, _: peer.read_head() and peer.send(
        b"HTTP/1.1 200 OK\r\nIdempotency-Outcome: final\r\nSemel-Status: 201\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-Kept: 2\r\n"
        b"Idempotency-Replayed: false\r\nKeep-Alive: 1\r\n\r\n3\r\none\r\n0\r\n\r\n"))
    route = {"name": "charges", "path": "/charges", "unknown": "probe",
             "probe": {"url": executor.url + "/{record}"}}
    gateway = start_gateway(route)
    lose_answer(gateway, key)
    with gateway.connect() as connection:
        for _ in range(2):
            answer = connection.request("POST", "/charges", json=BODY, key=key)
            assert answer.status == 201 and answer.body == b"one" and answer.replayed
            assert answer.header("Content-Length") == "3" and answer.header("X-Kept") == "2"
            for name in ("Transfer-Encoding", "X-Hop", "Keep-Alive"):
                assert answer.header(name) is None
    assert upstream.effects(key) == 1


def test_the_executor_is_asked_by_the_name_it_knows(start_gateway, service, upstream):
    gateway = start_gateway(
        probe_route(service, forward_key="derived"),
        {"name": "none", "path": "/none", "unknown": "probe", "forward_key": "none",
         "probe": {"url": service.url + "/{record}"}})
    service.says_final(200, b"")
    gateway.post("/charges", json=BODY, key=new_key(), test="close=reset")
    told = field(upstream.last(), "Idempotency-Key").strip('"')
    asked = service.asked.get(timeout=TIMEOUT)
    assert asked["query"]["key"] == told == asked["headers"]["Idempotency-Key"].strip('"')
    gateway.post("/none", json=BODY, key=new_key(), test="close=reset")
    assert "Idempotency-Key" not in service.asked.get(timeout=TIMEOUT)["headers"]
