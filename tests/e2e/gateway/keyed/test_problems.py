"""docs/spec.md 14: every refusal has a stable code, tells whether a new key is safe, and leaks
nothing."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import assert_problem, new_key

BODY = {"amount": 100}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "problem", "path": "/problem", "key": {"required": True}},
        {"name": "flat", "path": "/flat", "errors": "flat", "key": {"required": True}},
        {"name": "nested", "path": "/nested", "errors": "nested", "key": {"required": True}},
        {"name": "statuses", "path": "/statuses",
         "statuses": {"mismatch": 409, "in_progress": 425}},
        {"name": "stripe", "path": "/stripe", "profile": "stripe"},
        {"name": "ietf", "path": "/ietf", "profile": "ietf"},
        {"name": "overridden", "path": "/overridden", "profile": "stripe",
         "statuses": {"mismatch": 422}, "errors": "flat"},
        {"name": "documented", "path": "/documented", "key": {"required": True},
         "docs_url": "https://docs.example/idempotency"},
        {"name": "paced", "path": "/paced"},
        {"name": "set", "path": "/set", "retry_after": {"in_progress": "7s", "unknown": "90s"}},
        {"name": "asked", "path": "/asked", "unknown": "probe",
         "probe": {"url": "http://127.0.0.1:1/outcomes?key={key}"}})


def refusals(gateway, upstream, path):
    """One answer of each kind, by its code."""
    answers = {"key-missing": gateway.post(path, json=BODY),
               "key-invalid": gateway.post(path, json=BODY, key="a,b")}
    key = new_key()
    with gateway.connect() as first:
        first.send(request_bytes("POST", path, json=BODY, key=key, test=f"gate={key}"))
        upstream.wait_effects(1, key)
        answers["in-progress"] = gateway.post(path, json=BODY, key=key)
        answers["key-reused"] = gateway.post(path, json={"amount": 2}, key=key)
        upstream.open_gate(key)
        assert first.read_response().status == 200
    lost = new_key()
    answers["upstream-unreachable"] = gateway.post(path, json=BODY, key=lost, test="close=reset")
    answers["outcome-unknown"] = gateway.post(path, json=BODY, key=lost)
    return answers


STATUS = {"key-missing": 400, "key-invalid": 400, "in-progress": 409, "key-reused": 422,
          "upstream-unreachable": 502, "outcome-unknown": 409}
NEW_KEY_SAFE = {"key-missing": True, "key-invalid": True, "in-progress": False,
                "upstream-unreachable": False, "outcome-unknown": False}


def leaks(answer, upstream):
    return upstream.url.rsplit(":", 1)[1] in answer.body.decode()


def test_the_default_shape(gateway, upstream):
    for code, answer in refusals(gateway, upstream, "/problem").items():
        problem = assert_problem(answer, STATUS[code], code)
        if code in NEW_KEY_SAFE:
            assert problem["new_key_safe"] is NEW_KEY_SAFE[code], problem
        if code == "key-reused":
            assert problem["differs"] == ["body"]
        assert not leaks(answer, upstream)


def test_one_type_and_one_title_for_each_code(gateway, upstream):
    problems = [a.json() for a in refusals(gateway, upstream, "/problem").values()]
    for member in ("type", "title"):
        assert len({p[member] for p in problems}) == len(problems)


def test_the_flat_shape(gateway, upstream):
    for code, answer in refusals(gateway, upstream, "/flat").items():
        assert answer.status == STATUS[code]
        assert answer.header("Content-Type") == "application/json"
        body = answer.json()
        assert body["error"] == code and body["message"]
        assert isinstance(body["new_key_safe"], bool)
        if code == "key-reused":
            assert body["differs"] == ["body"]


def test_the_nested_shape(gateway, upstream):
    for code, answer in refusals(gateway, upstream, "/nested").items():
        assert answer.status == STATUS[code]
        assert answer.header("Content-Type") == "application/json"
        error = answer.json()["error"]
        assert error["code"] == code and error["type"] == "idempotency_error" and error["message"]
        assert isinstance(error["new_key_safe"], bool)


def test_headers_of_a_refusal_do_not_depend_on_its_shape(gateway, upstream):
    for path in ("/problem", "/flat", "/nested"):
        answers = refusals(gateway, upstream, path)
        for code in ("in-progress", "outcome-unknown"):
            assert int(answers[code].header("Retry-After")) >= 1
        for code in ("key-missing", "key-invalid"):
            assert answers[code].header("Link") == '</.semel/policy>; rel="describedby"'


def test_the_link_is_configurable(gateway, upstream):
    answer = gateway.post("/documented", json=BODY)
    assert answer.header("Link") == '<https://docs.example/idempotency>; rel="describedby"'


def test_configured_statuses(gateway, upstream, key):
    with gateway.connect() as first:
        first.send(request_bytes("POST", "/statuses", json=BODY, key=key, test="gate=s"))
        upstream.wait_effects(1, key)
        assert_problem(gateway.post("/statuses", json=BODY, key=key), 425, "in-progress")
        assert_problem(gateway.post("/statuses", json={}, key=key), 409, "key-reused")
        upstream.open_gate("s")
        first.read_response()
    gateway.post("/statuses", json=BODY, key="lost-" + key, test="close=reset")
    assert_problem(gateway.post("/statuses", json=BODY, key="lost-" + key), 409, "outcome-unknown")


def test_the_profile_of_stripe(gateway, upstream, key):
    first = gateway.post("/stripe", json=BODY, key=key)
    replay = gateway.post("/stripe", json=BODY, key=key)
    assert replay.header("Idempotent-Replayed") == "true" and replay.body == first.body
    answer = gateway.post("/stripe", json={"amount": 2}, key=key)
    assert answer.status == 400
    assert answer.json()["error"]["type"] == "idempotency_error"
    assert upstream.effects(key) == 1


def test_the_profile_of_the_draft_is_the_default(gateway, upstream, key):
    gateway.post("/ietf", json=BODY, key=key)
    assert_problem(gateway.post("/ietf", json={"amount": 2}, key=key), 422, "key-reused")


def test_a_routes_own_keys_win_over_its_profile(gateway, upstream, key):
    gateway.post("/overridden", json=BODY, key=key)
    answer = gateway.post("/overridden", json={"amount": 2}, key=key)
    assert answer.status == 422 and answer.json()["error"] == "key-reused"
    assert gateway.post("/overridden", json=BODY, key=key).header("Idempotent-Replayed") == "true"


def test_defaults_hold_where_a_route_says_nothing(start_gateway, upstream):
    gateway = start_gateway({"name": "a", "path": "/a"}, {"name": "b", "path": "/b",
                                                          "errors": "nested"},
                            defaults={"errors": "flat", "key": {"required": True}})
    a, b = gateway.post("/a"), gateway.post("/b")
    assert a.json()["error"] == b.json()["error"]["code"] == "key-missing"


def test_a_refusal_leaves_the_connection_usable(gateway, upstream, key):
    with gateway.connect() as connection:
        for _ in range(3):
            assert connection.request("POST", "/problem", json=BODY).status == 400
            assert connection.request("POST", "/problem", json=BODY, key=new_key()).status == 200


def test_a_hostile_key_is_not_repeated_in_the_answer(gateway, upstream):
    answer = gateway.post("/problem", json=BODY, key='<script>alert(1)</script>,"')
    assert answer.status == 400 and b"script" not in answer.body
    assert all("script" not in value for _, value in answer.headers)


def test_a_refusal_names_the_record_that_an_operator_finds(gateway, upstream):
    for path in ("/problem", "/flat", "/nested"):
        answers = refusals(gateway, upstream, path)
        for code in ("key-missing", "key-invalid"):
            assert answers.pop(code).header("Semel-Record") is None
        for code, answer in answers.items():
            body = answer.json()["error"] if path == "/nested" else answer.json()
            digits = body["record"]
            assert len(digits) == 16 and answer.header("Semel-Record") == digits, (code, answer)
            found = gateway.admin(f"/api/keys/{digits}").json()
            assert found["operation"] == path[1:], (code, found)


def test_a_service_cannot_name_a_record(gateway, upstream, key):
    answer = gateway.post("/problem", json=BODY, key=key, test="header.Semel-Record=0123456789abcdef")
    assert answer.status == 200 and answer.header("Semel-Record") is None


def pause(gateway, upstream, path):
    """Retry-After of a duplicate, while the first request is being executed."""
    key = new_key()
    with gateway.connect() as first:
        first.send(request_bytes("POST", path, json=BODY, key=key, test=f"gate={key}"))
        upstream.wait_effects(1, key)
        duplicate = gateway.post(path, json=BODY, key=key)
        upstream.open_gate(key)
        assert first.read_response().status == 200
    assert_problem(duplicate, 409, "in-progress")
    return int(duplicate.header("Retry-After"))


def test_a_duplicate_is_told_how_long_it_usually_takes(gateway, upstream, key):
    assert gateway.post("/paced", json=BODY, key=key, test="delay=2.2").status == 200
    assert 2 <= pause(gateway, upstream, "/paced") <= 30


def test_an_unknown_outcome_is_not_asked_about_every_second(gateway, upstream, key):
    assert gateway.post("/problem", json=BODY, key=key, test="close=reset").status == 502
    assert gateway.post("/problem", json=BODY, key=key).header("Retry-After") == "60"


def test_a_probed_outcome_is_asked_about_after_the_next_probe(gateway, upstream, key):
    assert gateway.post("/asked", json=BODY, key=key, test="close=reset").status == 502
    answer = gateway.post("/asked", json=BODY, key=key)
    assert_problem(answer, 409, "outcome-unknown")
    assert 1 <= int(answer.header("Retry-After")) <= 10


def test_the_pauses_are_configurable(gateway, upstream, key):
    assert pause(gateway, upstream, "/set") == 7
    assert gateway.post("/set", json=BODY, key=key, test="close=reset").status == 502
    assert gateway.post("/set", json=BODY, key=key).header("Retry-After") == "90"
