"""docs/spec.md 4 and 14: limits are per tenant and route, and only what would execute counts. A
client that retries, replays or conflicts is never told that it has too many keys."""

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import (TIME_SCALE, assert_problem, assert_replay, eventually, let_pass, new_key,
                           scaled)

BODY = {"amount": 100}
TENANTS = {"tenant": {"from": "header", "name": "X-Tenant"}, "trusted_proxies": ["127.0.0.1"]}


def by(tenant):
    return {"headers": [("X-Tenant", tenant)]}


@pytest.fixture
def slow_keys(start_gateway, upstream):
    """Three new keys at once, and then hardly any."""
    return start_gateway(
        {"name": "charges", "path": "/charges", "in_progress": "wait",
         "limits": {"new_keys_per_second": 1, "burst": 3}},
        {"name": "free", "path": "/free"}, **TENANTS)


def used_up(gateway, tenant):
    """Uses new keys until there are no more. The keys that got through."""
    keys = []
    while True:
        one = new_key()
        answer = gateway.post("/charges", json=BODY, key=one, **by(tenant))
        if answer.status == 429:
            return keys, answer
        assert answer.status == 200
        keys.append(one)
        assert len(keys) < 100


def test_new_keys_above_the_rate_are_429_and_never_reach_the_upstream(slow_keys, upstream):
    keys, refused = used_up(slow_keys, "a")
    assert len(keys) >= 3
    problem = assert_problem(refused, 429, "too-many-keys")
    assert problem["new_key_safe"] is True
    assert int(refused.header("Retry-After")) >= 1
    assert upstream.effects() == len(keys)
    metrics = slow_keys.metrics()
    assert metrics["semel_limited_total{limit=new_keys,route=charges}"] >= 1
    assert slow_keys.result_count("charges", "refused") >= 1


def test_replays_mismatches_and_bad_keys_do_not_count(slow_keys, upstream):
    keys, _ = used_up(slow_keys, "a")
    first = slow_keys.post("/charges", json=BODY, key=keys[0], **by("a"))
    for _ in range(10):
        assert_replay(slow_keys.post("/charges", json=BODY, key=keys[0], **by("a")), first)
        mismatch = slow_keys.post("/charges", json={}, key=keys[0], **by("a"))
        assert_problem(mismatch, 422, "key-reused")
        assert_problem(slow_keys.post("/charges", json=BODY, key="a,b", **by("a")), 400,
                       "key-invalid")


def test_one_tenants_limit_is_not_anothers_nor_another_routes(slow_keys, upstream):
    used_up(slow_keys, "a")
    assert slow_keys.post("/charges", json=BODY, key=new_key(), **by("b")).status == 200
    assert slow_keys.post("/free", json=BODY, key=new_key(), **by("a")).status == 200


def test_a_refused_key_is_new_again_once_there_is_room(slow_keys, upstream):
    used_up(slow_keys, "a")
    key = new_key()
    assert slow_keys.post("/charges", json=BODY, key=key, **by("a")).status == 429
    answer = eventually(lambda: (x := slow_keys.post("/charges", json=BODY, key=key, **by("a")))
                        .status == 200 and x)
    assert not answer.replayed and upstream.effects(key) == 1


def test_a_retry_after_a_release_is_no_new_key(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges",
                             "limits": {"new_keys_per_second": 1, "burst": 1}})
    key = new_key()
    assert gateway.post("/charges", json=BODY, key=key, test="status=503").status == 503
    assert gateway.post("/charges", json=BODY, key=key, test="status=503").status == 503
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    assert upstream.effects(key) == 3


def test_live_keys_are_counted_over_a_restart_and_come_free_when_they_expire(start_gateway,
                                                                             upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges", "ttl": scaled(4000),
                             "limits": {"live_keys": 2}}, store="embedded", **TENANTS)
    for _ in range(2):
        assert gateway.post("/charges", json=BODY, key=new_key(), **by("a")).status == 200
    refused = gateway.post("/charges", json=BODY, key=new_key(), **by("a"))
    assert_problem(refused, 429, "too-many-keys")
    assert gateway.post("/charges", json=BODY, key=new_key(), **by("b")).status == 200
    gateway.restart()
    # The scan at the start runs beside the first requests.
    let_pass(0.3 * TIME_SCALE)
    assert gateway.post("/charges", json=BODY, key=new_key(), **by("a")).status == 429
    assert gateway.metrics()["semel_limited_total{limit=live_keys,route=charges}"] == 1
    eventually(lambda: gateway.post("/charges", json=BODY, key=new_key(), **by("a")).status == 200)


def test_executions_at_once_are_bounded_per_tenant(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges",
                             "limits": {"in_flight": 1}}, **TENANTS)
    done = new_key()
    first_done = gateway.post("/charges", json=BODY, key=done, **by("a"))
    assert first_done.status == 200
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/charges", json=BODY, key=key, test="gate=g",
                                      **by("a")))
        upstream.wait_effects(1, key)
        other = new_key()
        refused = gateway.post("/charges", json=BODY, key=other, **by("a"))
        assert_problem(refused, 503, "overloaded")
        assert gateway.post("/charges", json=BODY, key=new_key(), **by("b")).status == 200
        assert_replay(gateway.post("/charges", json=BODY, key=done, **by("a")), first_done)
        assert_problem(gateway.post("/charges", json=BODY, key=key, **by("a")), 409, "in-progress")
        upstream.open_gate("g")
        assert connection.read_response().status == 200
        # The place is free as soon as the answer is there.
        answer = gateway.post("/charges", json=BODY, key=other, **by("a"))
        assert answer.status == 200 and upstream.effects(other) == 1
    assert gateway.metrics()["semel_limited_total{limit=in_flight,route=charges}"] == 1


def test_a_flood_of_tenants_does_not_grow_memory(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges", "ttl": "1s",
                             "limits": {"new_keys_per_second": 1, "in_flight": 5}}, **TENANTS)
    with gateway.connect() as connection:
        for i in range(2000):
            answer = connection.request("POST", "/charges", json=BODY, key="k" * 20, **by(f"t{i}"))
            assert answer.status == 200
    assert gateway.admin("/healthz").status == 200


def test_the_limits_are_published(slow_keys, upstream):
    [charges, _] = slow_keys.get("/.semel/policy").json()["routes"]
    assert charges["limits"]["new_keys_per_second"] == 1 and charges["limits"]["burst"] == 3


def test_limits_over_all_tenants(start_gateway, upstream):
    """However many tenants share in it, and whatever each of them may have."""
    gateway = start_gateway({"name": "charges", "path": "/charges",
                             "limits": {"new_keys_per_second": 1}},
                            {"name": "others", "path": "/others"},
                            limits={"new_keys_per_second": 3, "live_keys": 5}, store="embedded",
                            **TENANTS)
    keys = [new_key() for _ in range(20)]
    answers = [gateway.post("/others", json=BODY, key=key, **by(key)) for key in keys]
    refused = [answer for answer in answers if answer.status != 200]
    assert len(answers) - len(refused) >= 3 and refused
    assert_problem(refused[0], 503, "overloaded")
    assert refused[0].json()["new_key_safe"] is True
    # A retry of what was done is no new key.
    assert gateway.post("/others", json=BODY, key=keys[0], **by(keys[0])).replayed

    def used_up_for_good():
        answer = gateway.post("/others", json=BODY, key=new_key(), **by(new_key()))
        assert answer.status in (200, 503)
        return gateway.metrics()["semel_limited_total{limit=all_live_keys,route=others}"] > 0
    eventually(used_up_for_good)
    assert gateway.metrics()["semel_limited_total{limit=all_new_keys,route=others}"] > 0
    assert upstream.effects() == 5


def test_one_tenants_refused_keys_do_not_use_up_what_all_have(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges",
                             "limits": {"new_keys_per_second": 1, "burst": 1}},
                            limits={"new_keys_per_second": 10}, **TENANTS)
    with gateway.connect() as connection:
        statuses = [connection.request("POST", "/charges", json=BODY, key=new_key(),
                                       **by("greedy")).status for _ in range(50)]
    assert set(statuses) == {200, 429}
    assert gateway.post("/charges", json=BODY, key=new_key(), **by("modest")).status == 200
