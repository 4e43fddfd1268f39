"""docs/configuration.md, "Error answers": pages of other origins may read Semel's own answers."""

import pytest

from harness.semel import new_key

BODY = {"amount": 100}
APP = "https://app.example"


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "named", "path": "/named", "cors": {"origins": [APP, "https://b.example:8443"], "expose": ["X-Trace"]}},
        {"name": "all", "path": "/all", "cors": {"origins": ["*"]}},
        {"name": "cookies", "path": "/cookies", "cors": {"origins": [APP], "credentials": True}},
        {"name": "accepted", "path": "/accepted", "in_progress": "accept", "cors": {"origins": [APP]}},
        {"name": "closed", "path": "/closed"})


def refused(gateway, path, origin):
    """A 422, which Semel itself answers."""
    key = new_key()
    assert gateway.post(path, json=BODY, key=key).status == 200
    headers = {"Origin": origin} if origin else {}
    answer = gateway.post(path, json={"amount": 2}, key=key, headers=headers)
    assert answer.status == 422
    return answer


def allowed(answer):
    return answer.header("Access-Control-Allow-Origin")


@pytest.mark.parametrize("origin", [APP, "https://b.example:8443"])
def test_a_page_of_a_configured_origin_reads_the_refusal(gateway, upstream, origin):
    answer = refused(gateway, "/named", origin)
    assert allowed(answer) == origin and answer.header("Vary") == "Origin"
    exposed = answer.header("Access-Control-Expose-Headers").split(", ")
    assert {"Retry-After", "Semel-Record", "X-Trace"} <= set(exposed)
    assert answer.header("Access-Control-Allow-Credentials") is None


@pytest.mark.parametrize("origin", ["https://evil.example", "https://app.example.evil", "http://app.example", "null"])
def test_another_origin_is_not_allowed(gateway, upstream, origin):
    answer = refused(gateway, "/named", origin)
    assert allowed(answer) is None and answer.header("Access-Control-Expose-Headers") is None
    assert answer.header("Vary") == "Origin", "a cache may keep it"


def test_a_request_that_comes_from_no_page_is_answered_as_ever(gateway, upstream):
    assert allowed(refused(gateway, "/named", None)) is None
    closed = refused(gateway, "/closed", APP)
    assert allowed(closed) is None and closed.header("Vary") is None


def test_every_origin(gateway, upstream):
    answer = refused(gateway, "/all", "https://any.example")
    assert allowed(answer) == "*" and answer.header("Vary") is None


def test_cookies_are_allowed_where_the_route_says_so(gateway, upstream):
    answer = refused(gateway, "/cookies", APP)
    assert allowed(answer) == APP and answer.header("Access-Control-Allow-Credentials") == "true"


def test_the_status_resource_is_readable_too(gateway, upstream, key):
    accepted = gateway.post("/accepted", json=BODY, key=key, headers={"Origin": APP, "Prefer": "respond-async"})
    assert accepted.status == 202 and allowed(accepted) == APP
    status = gateway.get(accepted.header("Location") + "?wait=10s", headers={"Origin": APP})
    assert status.status == 200 and allowed(status) == APP
    assert allowed(gateway.get(accepted.header("Location"), headers={"Origin": "https://evil.example"})) is None


def test_answers_of_the_service_and_preflights_have_its_own_fields(gateway, upstream, key):
    says = "header.Access-Control-Allow-Origin=https://service.example"
    for _ in range(2):
        answer = gateway.post("/named", json=BODY, key=key, headers={"Origin": APP}, test=says)
        assert answer.status == 200 and allowed(answer) == "https://service.example"
    preflight = gateway.request("OPTIONS", "/named", headers={
        "Origin": APP, "Access-Control-Request-Method": "POST", "X-Test": says})
    assert allowed(preflight) == "https://service.example"
    assert upstream.effects(key) == 1
