"""The circuit breaker of a route: what would have to be sent on is refused while the service fails; what is recorded is
answered all the same."""

import pytest

from harness.semel import (TIME_SCALE, Background, assert_problem, assert_replay, eventually, let_pass, new_key,
                           scaled)

BODY = {"amount": 100}
OPEN_FOR = 2.0 * TIME_SCALE
TICKS = 0.2 * TIME_SCALE  # a worker looks at the clock every 20 ms
CIRCUIT = {"failures": 4, "window": "30s", "open_for": scaled(2000)}


def is_open(gateway, route="/*"):
    return gateway.metrics()[f"semel_circuit_open{{route={route}}}"] == 1


def open_circuit(gateway):
    for _ in range(CIRCUIT["failures"]):
        assert not is_open(gateway)
        assert gateway.post("/", json=BODY, key=new_key(), test="status=503").status == 503
    assert is_open(gateway)


def assert_refused(answer, open_for=OPEN_FOR):
    problem = assert_problem(answer, 503, "circuit-open")
    assert 1 <= int(answer.header("Retry-After")) <= open_for + 1
    assert len(answer.all("Retry-After")) == 1
    return problem


def test_it_opens_answers_what_it_knows_and_closes(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "circuit": CIRCUIT}, workers=2)
    first = gateway.post("/", json=BODY, key=key)
    open_circuit(gateway)
    arrived, fresh = upstream.arrived(), new_key()
    assert assert_refused(gateway.post("/", json=BODY, key=fresh))["new_key_safe"]
    assert_refused(gateway.post("/", json=BODY))
    assert_refused(gateway.get("/"))
    assert_replay(gateway.post("/", json=BODY, key=key), first)
    assert_problem(gateway.post("/", json={"amount": 1}, key=key), 422, "key-reused")
    assert upstream.arrived() == arrived
    assert gateway.admin(f"/api/keys?key={fresh}").json()["keys"] == []  # nothing was claimed
    assert gateway.admin("/readyz").body == b"ready\nroute /*: circuit open\n"
    metrics = gateway.metrics()
    assert metrics["semel_circuit_refused_total{route=/*}"] == 3
    assert metrics["semel_circuit_opened_total{route=/*}"] == 1

    let_pass(OPEN_FOR + TICKS)
    assert gateway.post("/", json=BODY, key=fresh).status == 200  # the trial
    assert not is_open(gateway)
    assert gateway.post("/", json=BODY).status == 200
    assert upstream.effects(key=fresh) == 1
    eventually(lambda: "circuit closed" in gateway.stderr())
    assert "circuit opened" in gateway.stderr()


def test_a_failed_trial_keeps_it_open_and_only_one_is_sent(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "circuit": CIRCUIT}, workers=2)
    open_circuit(gateway)
    let_pass(OPEN_FOR + TICKS)
    trial = Background(gateway.post, "/trial", json=BODY, key=new_key(), test="gate=g; status=503")
    upstream.wait_arrived(1, path="/trial")
    for n in range(4):
        assert_refused(gateway.post("/", json=BODY, key=new_key() if n % 2 else None))
    upstream.open_gate("g")
    assert trial.result().status == 503
    assert_refused(gateway.post("/", json=BODY, key=new_key()))
    assert is_open(gateway)
    let_pass(OPEN_FOR + TICKS)
    assert gateway.get("/").status == 200  # a plain request can be the trial, too
    assert not is_open(gateway)


def test_a_request_that_never_arrives_whole_uses_up_no_trial(start_gateway, upstream, key):
    """Otherwise one client could keep it open for everybody, although the service is back."""
    gateway = start_gateway({"path": "/*", "circuit": CIRCUIT}, workers=1)
    open_circuit(gateway)
    let_pass(OPEN_FOR + TICKS)
    with gateway.connect() as broken:
        broken.send(b"POST / HTTP/1.1\r\nHost: semel.test\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n")
        assert broken.read_response().status == 400
    assert gateway.post("/", json=BODY, key=key).status == 200
    assert not is_open(gateway)


def test_a_tenant_over_its_limit_uses_up_no_trial(start_gateway, upstream):
    limits = {"live_keys": CIRCUIT["failures"]}
    gateway = start_gateway({"path": "/*", "circuit": CIRCUIT, "limits": limits}, workers=1,
                            tenant={"from": "authorization"}, store="embedded")
    busy, other = {"Authorization": "Bearer busy"}, {"Authorization": "Bearer other"}
    for _ in range(CIRCUIT["failures"]):
        gateway.post("/", json=BODY, key=new_key(), test="status=503", headers=busy)
    assert is_open(gateway)
    let_pass(OPEN_FOR + TICKS)
    refused = [gateway.post("/", json=BODY, key=new_key(), test="status=503", headers=busy) for _ in range(5)]
    assert [answer.status for answer in refused] == [429] * 5
    assert gateway.post("/", json=BODY, key=new_key(), headers=other).status == 200
    assert not is_open(gateway)


def test_waiters_get_their_answer_while_it_is_open(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "circuit": CIRCUIT, "in_progress": "wait"}, workers=2)
    first = Background(gateway.post, "/", json=BODY, key=key, test="gate=g")
    upstream.wait_arrived(1, key=key)
    open_circuit(gateway)
    second = Background(gateway.post, "/", json=BODY, key=key, test="gate=g")
    eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
    upstream.open_gate("g")
    assert first.result().status == second.result().status == 200
    assert upstream.effects(key=key) == 1
    assert is_open(gateway)  # that it succeeded says nothing: it was sent before


@pytest.mark.parametrize("fault", ["unreachable", "timeout", "broken", "status"])
@pytest.mark.parametrize("keyed", [True, False])
def test_what_counts_as_a_failure(start_gateway, upstream, raw_upstream, fault, keyed):
    route = {"path": "/*", "circuit": {**CIRCUIT, "failures": 2, "open_for": "1h"}, "upstream_timeout": scaled(300)}
    if fault == "unreachable":
        route["upstream"] = raw_upstream(None, listening=False).url
    script = {"unreachable": None, "timeout": "gate=g", "broken": "close=before", "status": "status=504"}[fault]
    gateway = start_gateway(route)
    for _ in range(2):
        assert not is_open(gateway)
        assert gateway.post("/", key=new_key() if keyed else None, test=script).status in (502, 504)
    assert_refused(gateway.post("/", key=new_key() if keyed else None), open_for=3600)


def test_errors_of_the_client_and_of_the_program_count_for_nothing(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "circuit": {**CIRCUIT, "failures": 1}})
    for status in (400, 404, 429, 500, 501):
        assert gateway.post("/", key=new_key(), test=f"status={status}").status == status
        assert gateway.get("/", test=f"status={status}").status == status
    assert not is_open(gateway)


def test_each_route_has_its_own_and_a_reload_keeps_it(start_gateway, upstream):
    routes = [{"name": "a", "path": "/a", "upstream": upstream.url, "circuit": {**CIRCUIT, "failures": 1,
                                                                              "open_for": "1h"}},
              {"name": "b", "path": "/*", "upstream": upstream.url, "circuit": CIRCUIT}]
    gateway = start_gateway(*routes)
    assert gateway.post("/a", key=new_key(), test="status=503").status == 503
    assert is_open(gateway, "a") and not is_open(gateway, "b")
    assert gateway.post("/b", key=new_key()).status == 200
    assert gateway.reload(routes=routes)
    assert is_open(gateway, "a")
    assert gateway.reload(routes=[{**routes[0], "circuit": "off"}, routes[1]])
    assert gateway.post("/a", key=new_key()).status == 200


def test_an_observed_route_refuses_nothing(start_gateway, upstream):
    gateway = start_gateway({"path": "/*", "mode": "observe", "circuit": {**CIRCUIT, "failures": 1}})
    for _ in range(4):
        assert gateway.post("/", key=new_key(), test="status=503").status == 503
    assert upstream.arrived() == 4
    assert "has no effect with mode: observe" in gateway.stderr()


def test_queued_work_is_accepted_and_done_when_it_is_closed(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/*", "in_progress": "accept", "circuit": CIRCUIT}, workers=2)
    open_circuit(gateway)
    answer = gateway.post("/", json=BODY, key=key, headers={"Prefer": "respond-async"})
    assert answer.status == 202
    assert upstream.arrived(key=key) == 0
    eventually(lambda: upstream.effects(key=key) == 1)
    assert gateway.record(key)["attempt"] == 1
