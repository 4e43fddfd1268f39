"""docs/spec.md 3, 17: what an execution made is kept in the record, and named where its answer is
not given."""

import pytest

from harness.semel import assert_problem

BODY = {"amount": 100}
CHARGE = 'body=%7B"data"%3A%7B"id"%3A"ch_1"%7D%7D'


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "pointer", "path": "/pointer", "resource": {"type": "charge", "id": "/data/id"}},
        {"name": "header", "path": "/header", "resource": {"type": "charge", "id": "Location"}},
        {"name": "none", "path": "/none"})


@pytest.mark.parametrize("path, test, expected", [
    ("/pointer", CHARGE, {"type": "charge", "id": "ch_1"}),
    ("/pointer", "status=402; " + CHARGE, None),  # nothing was made
    ("/pointer", "body=not json", None),
    ("/header", "header.Location=/charges/7", {"type": "charge", "id": "/charges/7"}),
    ("/header", "status=201", None),
    ("/none", CHARGE, None),
])
def test_a_mismatch_names_what_the_key_made(gateway, upstream, key, path, test, expected):
    gateway.post(path, json=BODY, key=key, test=test)
    problem = assert_problem(gateway.post(path, json={}, key=key), 422, "key-reused")
    assert problem.get("resource") == expected
    assert upstream.effects(key) == 1


def test_a_gone_answer_names_it_too_and_it_survives_a_restart(start_gateway, upstream, key):
    route = {"upstream": upstream.url, "path": "/p", "resource": {"type": "charge", "id": "/data/id"}}
    gateway = start_gateway(route)
    gateway.post("/p", json=BODY, key=key, test=CHARGE)
    gateway.restart(routes=[{**route, "response_version": "2"}])
    problem = assert_problem(gateway.post("/p", json=BODY, key=key), 410, "key-expired")
    assert problem["resource"] == {"type": "charge", "id": "ch_1"}
    assert upstream.effects(key) == 1


def test_a_mismatch_while_it_runs_or_after_a_release_names_nothing(gateway, upstream, key):
    gateway.post("/pointer", json=BODY, key=key, test="status=503; " + CHARGE)
    problem = assert_problem(gateway.post("/pointer", json={}, key=key), 422, "key-reused")
    assert "resource" not in problem
