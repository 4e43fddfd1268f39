"""`semel config explain` says of a request what the gateway then does with it."""
import json

import pytest

from harness.program import run_semel
from harness.semel import new_key

ROUTES = [
    {"name": "charges", "path": "/v1/charges", "key": {"required": True}, "fingerprint": {"exclude": ["/at"]},
     "describe": ["/amount", "/none"]},
    {"name": "notes", "path": "/v1/notes"},
    {"name": "orders", "path": "/v1/orders/{id}", "scope": "path", "key": {"from": "pointer", "pointer": "/id"}},
    {"name": "mail", "path": "/v1/mail", "key": {"from": "fingerprint"}, "ttl": "5m"},
]


@pytest.fixture
def config(tmp_path):
    def write(tenant={"from": "none"}, **top):
        routes = [{**route, "upstream": "http://127.0.0.1:1"} for route in ROUTES]
        path = tmp_path / "semel.yaml"
        path.write_text(json.dumps({"store": {"kind": "memory"}, "tenant": tenant, "routes": routes, **top}))
        return path
    return write


def explained(path, *words):
    done = run_semel("config", "explain", path, *words, "--json")
    assert done.returncode == 0 and done.stderr == "", done
    return json.loads(done.stdout)


def test_it_names_the_record_that_the_gateway_makes(start_gateway, upstream):
    key = new_key()
    gateway = start_gateway(ROUTES[0])
    words = ["-H", f'Idempotency-Key: "{key}"', "-H", "Content-Type: application/json", "-d", '{"amount": 5}']
    found = explained(gateway.folder / "semel.yaml", "POST", "/v1/charges", *words)
    assert upstream.arrived() == 0, "explaining executes nothing"
    reply = gateway.post("/v1/charges", b'{"amount": 5}', key=key, headers=[("Content-Type", "application/json")])
    assert reply.status < 300 and gateway.record(key)["id"] == found["record"]
    assert gateway.record(key)["request"]["described"] == found["described"] == {"/amount": "5"}


def test_route_key_tenant_operation_and_rules(config):
    found = explained(config({"from": "header", "name": "X-Tenant"}, trusted_proxies=["127.0.0.1"]), "--trusted-proxy",
                      "POST", "/v1/charges?a=b", "-H", "Idempotency-Key: abc-0123456789abcdef", "-H", "X-Tenant: acme")
    assert (found["route"], found["operation"], found["keyed"]) == ("charges", "charges", True)
    assert found["tenant"] == {"from": "header", "name": "acme"}
    assert found["key"] == {"from": "header", "value": "abc-0123456789abcdef"}
    assert found["result"] == "executed once per key"
    assert found["policy"]["statuses"]["mismatch"] == 422 and found["policy"]["ttl_seconds"] == 86400
    assert [part["part"] for part in found["fingerprint"]["parts"]] == ["method", "path", "query", "media-type", "body"]


def fingerprint(path, body, *words):
    return explained(path, "POST", "/v1/charges", "-H", "Idempotency-Key: k", "-H", "Content-Type: application/json", "-d", body,
                     *words)["fingerprint"]


def test_the_canonical_form_shows_why_two_bodies_are_one_request(config):
    path = config()
    one = fingerprint(path, '{"amount": 5.0, "b": "x", "at": 1}')
    same = fingerprint(path, '{"b":"x","at":2,"amount":5}')
    other = fingerprint(path, '{"b":"x","amount":6}')
    assert one == same and one["body"] == "json" and "amount" in one["canonical"] and "at" not in one["canonical"].split("k")
    assert [a["part"] for a, b in zip(one["parts"], other["parts"]) if a != b] == ["body"]
    assert one["canonical"] != other["canonical"]


def test_a_body_from_a_file(config, tmp_path):
    path = config()
    (tmp_path / "body.json").write_text('{"amount": 5}')
    assert fingerprint(path, f"@{tmp_path}/body.json") == fingerprint(path, '{"amount":5}')
    missing = run_semel("config", "explain", path, "POST", "/", "-d", "@/nowhere")
    assert missing.returncode == 2 and "/nowhere cannot be read" in missing.stderr


@pytest.mark.parametrize("words, result, why", [
    (["GET", "/v1/charges"], "proxied without a record", "GET is not one of the route's methods."),
    (["POST", "/v1/notes"], "proxied without a record", "It has no Idempotency-Key"),
    (["POST", "/nowhere"], "refused", "No route is configured"),
    (["post", "/v1/charges"], "refused", "upper case"),
    (["POST", "/v1/charges"], "refused", "Send a unique key"),
    (["POST", "/v1/charges", "-H", "Idempotency-Key: a", "-H", "Idempotency-Key: b"], "refused", "more than once"),
    (["POST", "/a/../b"], "refused", ""), (["GET", "/.semel/policy"], "answered by the gateway itself", None),
    (["POST", "/v1/orders/7", "-d", '{"no": "id"}'], "proxied without a record", "no key at /id"),
])
def test_requests_that_get_no_record(config, words, result, why):
    found = explained(config(), *words)
    assert found["result"] == result and "record" not in found
    assert why is None or why in found["why"]


def test_keys_from_the_body_and_from_the_fingerprint(config):
    found = explained(config(), "POST", "/v1/orders/7", "-d", '{"id": "order-7"}')
    assert found["key"] == {"from": "body", "value": "order-7"} and found["operation"] == "orders\t/v1/orders/7"
    found = explained(config(), "POST", "/v1/mail", "-d", "x")
    assert found["key"] == {"from": "fingerprint", "value": found["fingerprint"]["digest"]}


def test_a_tenant_that_has_to_be_asked_for_can_be_assumed(config):
    path = config({"from": "introspect", "url": "http://127.0.0.1:1/who", "tenant_header": "X-Tenant"})
    words = ["POST", "/v1/charges", "-H", "Idempotency-Key: abc", "-H", "Authorization: Bearer x"]
    assert explained(path, *words)["code"] == "tenant-unknown"
    found = explained(path, *words, "--tenant", "acme")
    assert found["tenant"] == {"from": "introspect", "assumed": True, "name": "acme"} and found["record"]


def test_text_for_people(config):
    done = run_semel("config", "explain", config(), "POST", "/v1/charges", "-H", "Idempotency-Key: abc", "-d", "\x1b[2J")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if len(line.split()) > 1)
    assert done.returncode == 0 and lines["route"] == "charges" and lines["result"] == "executed once per key"
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [["POST", "/", "-H", "nothing"], ["POST", "/", "-H", "A: b\r\nC: d"], ["PO ST", "/"]])
def test_what_is_no_request(config, words):
    done = run_semel("config", "explain", config(), *words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr
