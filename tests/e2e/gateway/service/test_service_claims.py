"""docs/service.md: a worker beside the gateway claims a key, executes, and reports. Whatever is lost on the way, one
worker executes, and everybody else gets its answer."""

import pytest

from harness.clients.service_client import (ENVIRONMENT, ServiceClient, cut_off, new_token,
                                            service_config)
from harness.semel import (TIME_SCALE, Background, assert_problem, assert_replay, eventually,
                           new_key, settle)

CLAIMANTS = 50
OPERATIONS = {"jobs": {}, "short": {"lease": "1s"}, "again": {"lease": "1s", "unknown": "retry"}}


def start(start_gateway, *routes, **more):
    return start_gateway(*routes, service=service_config(operations=OPERATIONS),
                         environment=ENVIRONMENT, **more)


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return start(module_gateway, {"name": "charges", "path": "/charges", "describe": ["/amount"]},
                 {"name": "waiting", "path": "/waiting", "in_progress": "wait",
                  "wait_timeout": "20s"})


@pytest.fixture
def worker(gateway):
    return ServiceClient(gateway)


def test_a_job_is_claimed_completed_and_answered_from_the_record(worker, key):
    claim = worker.granted(key)
    assert claim["attempt"] == 1 and 0 < claim["lease_ms"] <= 30_000
    assert worker.show(claim["record"]).json()["state"] == "in_progress"
    done = worker.complete(claim, body='{"sum": 3}', status=201,
                           headers={"Content-Type": "application/json"})
    assert done.status == 200 and done.json()["state"] == "completed"
    again = worker.claim(key)
    assert again.status == 200
    assert again.json()["answer"] == {"status": 201, "body": '{"sum": 3}',
                                      "headers": [["Content-Type", "application/json"]]}
    assert again.json() == worker.show(claim["record"]).json()
    assert claim["token"] not in again.body.decode()


def test_a_claim_describes_its_request(worker, gateway, key):
    worker.granted(key, operation="charges", payload={"amount": 4200, "card": 1},
                   request={"method": "POST", "path": "/charges"})
    assert gateway.record(key)["request"] == {"method": "POST", "path": "/charges", "bytes": 0,
                                              "described": {"/amount": "4200"}}


def test_of_50_claimants_at_once_one_executes(worker, key):
    wires = [worker.wire("POST", "/v1/claims", worker.claim_body(key)) for _ in range(CLAIMANTS)]
    connections = [worker.connect() for _ in wires]
    for connection, wire in zip(connections, wires):
        connection.send(wire)
    answers = [connection.read_response() for connection in connections]
    for connection in connections:
        connection.close()
    assert sorted(a.status for a in answers) == [201] + [409] * (CLAIMANTS - 1)
    for refused in (a for a in answers if a.status == 409):
        assert_problem(refused, 409, "in-progress")


def test_a_claim_whose_reply_was_lost_is_repeated(worker, key):
    body = worker.claim_body(key)
    assert cut_off(worker, "POST", "/v1/claims", body)
    first = worker.request("POST", "/v1/claims", body)
    second = worker.request("POST", "/v1/claims", body)
    assert first.status == second.status == 201
    for member in ("record", "token", "attempt", "lease_until"):
        assert first.json()[member] == second.json()[member]
    assert first.json()["attempt"] == 1
    # Another token is another claimant, and another payload another job.
    assert_problem(worker.claim(key), 409, "in-progress")
    other = worker.request("POST", "/v1/claims", {**body, "payload": {"job": 2}})
    assert assert_problem(other, 422, "key-reused")["differs"] == ["body"]


@pytest.mark.parametrize("verb, members, state", [
    ("complete", {"answer": {"status": 200, "body": "x"}}, "completed"),
    ("release", {"reason": "no stock"}, "released"), ("give-up", {}, "unknown")])
def test_a_report_whose_reply_was_lost_is_repeated(worker, key, verb, members, state):
    claim = worker.granted(key)
    path, body = f"/v1/claims/{claim['record']}/{verb}", {"token": claim["token"], **members}
    assert cut_off(worker, "POST", path, body)
    first, second = worker.request("POST", path, body), worker.request("POST", path, body)
    assert first.status == second.status == 200
    assert first.body == second.body and first.json()["state"] == state
    assert first.json()["attempt"] == 1


def test_what_ended_in_one_way_does_not_end_in_another(worker, key):
    claim = worker.granted(key)
    worker.complete(claim)
    assert_problem(worker.complete(claim, body="other"), 409, "claim-lost")
    assert_problem(worker.report("release", claim), 409, "claim-lost")
    assert_problem(worker.report("renew", claim), 409, "claim-lost")
    assert worker.claim(key).json()["answer"]["body"] == "done"


def test_a_released_key_is_claimed_again_under_a_new_token(worker, key):
    claim = worker.granted(key)
    assert worker.report("release", claim).status == 200
    # A late repetition of the first claim must not begin a second attempt that nobody knows of.
    assert_problem(worker.claim(key, token=claim["token"]), 409, "token-used")
    second = worker.granted(key)
    assert second["attempt"] == 2
    assert_problem(worker.complete(claim), 409, "claim-lost")
    assert worker.complete(second).status == 200


def test_a_lease_that_runs_out_leaves_the_outcome_unknown(worker, key):
    claim = worker.granted(key, operation="short")
    lost = eventually(lambda: [a for a in [worker.claim(key, operation="short")]
                               if a.json()["code"] == "outcome-unknown"])[0]
    assert_problem(lost, 409, "outcome-unknown")
    # The worker was only slow: its answer counts, because nobody else has executed.
    assert worker.complete(claim, body="late").status == 200
    assert worker.claim(key, operation="short").json()["answer"]["body"] == "late"


def test_where_the_policy_is_retry_the_next_worker_executes_again(worker, key):
    claim = worker.granted(key, operation="again")
    answer = worker.claim(key, operation="again", wait="20s")
    assert answer.status == 201 and answer.json()["attempt"] == 2
    assert_problem(worker.complete(claim), 409, "claim-lost")
    assert worker.complete(answer.json(), body="second").status == 200


def test_a_renewal_never_shortens_a_lease_unasked(worker, key):
    claim = worker.granted(key, operation="short", lease="60s")
    assert worker.report("renew", claim).json()["lease_ms"] > 50_000
    assert worker.report("renew", claim, lease="5s").json()["lease_ms"] <= 5_000


def test_a_renewed_lease_outlives_its_first_length(worker, key):
    claim = worker.granted(key, operation="short")
    renewed = worker.report("renew", claim, lease="60s")
    assert renewed.status == 200 and renewed.json()["lease_ms"] > 50_000
    waited = worker.claim(key, operation="short", wait=f"{int(1500 * TIME_SCALE)}ms")
    assert_problem(waited, 409, "in-progress")
    assert worker.complete(claim).status == 200


def test_a_waiting_claim_is_woken_with_the_answer(worker, key):
    claim = worker.granted(key)
    waiting = [Background(worker.claim, key, wait="20s") for _ in range(5)]
    settle()
    assert not any(one.done for one in waiting)
    worker.complete(claim, body="for all")
    for one in waiting:
        answer = one.result()
        assert answer.status == 200 and answer.json()["answer"]["body"] == "for all"


def test_of_those_who_wait_for_a_release_one_executes(worker, key):
    claim = worker.granted(key)
    waiting = [Background(worker.claim, key, wait="3s") for _ in range(5)]
    settle()
    worker.report("release", claim)
    assert sorted(one.result().status for one in waiting) == [201] + [409] * 4


def test_a_killed_gateway_does_not_end_a_workers_claim(start_gateway, key):
    """Its worker runs on, whatever becomes of the gateway: only the lease decides."""
    gateway = start(start_gateway, {"name": "charges", "path": "/charges"})
    worker = ServiceClient(gateway)
    body = worker.claim_body(key)
    claim = worker.request("POST", "/v1/claims", body).json()
    gateway.kill9()
    gateway.start()
    assert_problem(worker.claim(key), 409, "in-progress")
    assert worker.request("POST", "/v1/claims", body).json()["attempt"] == 1
    assert worker.report("renew", claim).status == 200
    assert worker.complete(claim, body="survived").status == 200
    gateway.kill9()
    gateway.start()
    assert worker.claim(key).json()["answer"]["body"] == "survived"


def test_a_killed_gateway_does_not_make_a_dead_workers_claim_immortal(start_gateway, key):
    gateway = start(start_gateway, {"name": "charges", "path": "/charges"})
    worker = ServiceClient(gateway)
    worker.granted(key, operation="short")
    gateway.kill9()
    gateway.start()
    eventually(lambda: worker.claim(key, operation="short").json()["code"] == "outcome-unknown")


CHARGE = {"amount": 100}


def as_charge(path="/charges"):
    return {"method": "POST", "path": path, "content_type": "application/json"}


def test_a_route_replays_what_a_worker_completed(gateway, worker, upstream, key):
    claim = worker.granted(key, operation="charges", payload=CHARGE, request=as_charge())
    assert_problem(gateway.post("/charges", json=CHARGE, key=key), 409, "in-progress")
    worker.complete(claim, body='{"effect": "worker"}', status=201,
                    headers={"Content-Type": "application/json"})
    answer = gateway.post("/charges", json=CHARGE, key=key)
    assert (answer.status, answer.body) == (201, b'{"effect": "worker"}') and answer.replayed
    assert upstream.effects(key) == 0
    assert_problem(gateway.post("/charges", json={"amount": 1}, key=key), 422, "key-reused")


def test_a_worker_gets_what_a_route_has_done(gateway, worker, upstream, key):
    first = gateway.post("/charges", json=CHARGE, key=key)
    assert_replay(gateway.post("/charges", json=CHARGE, key=key), first)
    found = worker.claim(key, operation="charges", payload=CHARGE, request=as_charge())
    assert found.status == 200
    assert found.json()["answer"]["body"].encode() == first.body
    other = worker.claim(key, operation="charges", payload=CHARGE, request=as_charge("/other"))
    assert assert_problem(other, 422, "key-reused")["differs"] == ["path"]
    assert upstream.effects(key) == 1


def test_a_request_to_a_route_waits_for_a_worker(gateway, worker, upstream, key):
    claim = worker.granted(key, operation="waiting", payload=CHARGE, request=as_charge("/waiting"))
    waiting = Background(gateway.post, "/waiting", json=CHARGE, key=key)
    settle()
    assert not waiting.done
    worker.complete(claim, body="from the worker")
    assert waiting.result().body == b"from the worker"
    assert upstream.effects(key) == 0


def test_a_worker_waits_for_a_request_to_a_route(gateway, worker, upstream, key):
    running = Background(gateway.post, "/charges", json=CHARGE, key=key, test="gate=service")
    upstream.wait_effects(1, key)
    waiting = Background(worker.claim, key, operation="charges", payload=CHARGE,
                         request=as_charge(), wait="20s")
    settle()
    upstream.open_gate("service")
    answer = waiting.result()
    assert answer.status == 200
    assert answer.json()["answer"]["body"].encode() == running.result().body


def test_numbers_are_compared_exactly(worker, key):
    wire = worker.claim_body(key, payload="NUMBER", token=new_token())
    import json
    text = json.dumps(wire).replace('"NUMBER"', "9007199254740993.10")
    assert send_text(worker, text).status == 201
    same = text.replace("9007199254740993.10", "9007199254740993.1")
    assert send_text(worker, same).status == 201
    other = text.replace("9007199254740993.10", "9007199254740993.2")
    assert_problem(send_text(worker, other), 422, "key-reused")


def send_text(worker, text):
    with worker.connect() as connection:
        return connection.request("POST", "/v1/claims", text.encode(),
                                  headers=[("Authorization", f"Bearer {worker.token}")])


def test_two_keys_are_two_jobs(worker):
    assert worker.granted(new_key())["record"] != worker.granted(new_key())["record"]
