"""SIGHUP reads the configuration again: new requests follow the new one, what runs ends under the
old one, no connection is dropped, and a file that cannot be used changes nothing."""

import errno
import json
import os
import signal
import threading

import pytest

from harness.clients.http_client import request_bytes
from harness.semel import Background, Gateway, assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100, "sent_at": 1}


def route(upstream, **more):
    return {"name": "charges", "path": "/charges", "upstream": upstream.url, **more}


@pytest.fixture
def gateway(start_gateway, upstream):
    return start_gateway(route(upstream))


def test_a_new_route_is_served_on_a_connection_that_was_open_before(gateway, upstream, key):
    with gateway.connect() as connection:
        assert connection.request("POST", "/refunds", json=BODY, key=key).status == 404
        assert gateway.reload(routes=[route(upstream), route(upstream, name="refunds",
                                                             path="/refunds")])
        assert connection.request("POST", "/refunds", json=BODY, key=key).status == 200
    assert upstream.effects(key) == 1
    assert gateway.result_count("refunds", "executed") == 1


def test_a_bad_file_is_refused_the_old_one_stays_and_the_log_says_why(gateway, upstream, key):
    assert not gateway.reload(routes=[route(upstream, unknwon="hold")])
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    text = eventually(lambda: gateway.stderr() if "rejected" in gateway.stderr() else None)
    assert "unknwon" in text and "did you mean 'unknown'" in text
    assert not gateway.reload_text("routes: [")
    (gateway.folder / "semel.yaml").unlink()
    assert gateway.post("/charges", json=BODY, key=key).replayed
    assert upstream.effects(key) == 1


def test_what_runs_ends_under_the_configuration_it_began_with(gateway, upstream, key):
    first = Background(gateway.post, "/charges", json=BODY, key=key, test="gate=old;status=201")
    upstream.wait_effects(1, key)
    assert gateway.reload(routes=[route(upstream, name="other", path="/other")])
    assert gateway.post("/charges", json=BODY, key=new_key()).status == 404
    upstream.open_gate("old")
    answer = first.result()
    assert answer.status == 201
    assert gateway.reload(routes=[route(upstream)])
    assert_replay(gateway.post("/charges", json=BODY, key=key), answer)
    assert upstream.effects(key) == 1


def test_an_edited_recipe_does_not_turn_honest_retries_into_mismatches(gateway, upstream, key):
    """DESIGN 6.21: the record keeps the recipe that made it."""
    first = gateway.post("/charges", json=BODY, key=key)
    assert gateway.reload(routes=[route(upstream, fingerprint={"exclude": ["/sent_at"]})])
    assert_replay(gateway.post("/charges", json=BODY, key=key), first)
    later = dict(BODY, sent_at=2)
    assert_problem(gateway.post("/charges", json=later, key=key), 422, "key-reused")
    other = new_key()
    second = gateway.post("/charges", json=BODY, key=other)
    assert_replay(gateway.post("/charges", json=later, key=other), second)
    assert upstream.effects(key) == 1 and upstream.effects(other) == 1


def test_a_bumped_response_version_is_gone_and_never_runs_again(gateway, upstream, key):
    """DESIGN 6.21."""
    gateway.post("/charges", json=BODY, key=key)
    assert gateway.reload(routes=[route(upstream, response_version="2")])
    assert_problem(gateway.post("/charges", json=BODY, key=key), 410, "key-expired")
    assert upstream.effects(key) == 1


def test_the_tenant_source_changes_with_the_reload(gateway, upstream, key):
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    assert gateway.reload(tenant={"from": "authorization"})
    assert_problem(gateway.post("/charges", json=BODY, key=key), 401, "tenant-unknown")
    assert upstream.effects(key) == 1


def test_a_proxy_that_is_trusted_no_longer_names_no_tenant(start_gateway, upstream, key):
    """Not on the connections that it has open, either."""
    gateway = start_gateway(route(upstream), tenant={"from": "header", "name": "X-Tenant"},
                            trusted_proxies=["127.0.0.1"])
    tenant = {"X-Tenant": "acme"}
    with gateway.connect() as connection:
        assert connection.request("POST", "/charges", json=BODY, key=key,
                                  headers=tenant).status == 200
        assert gateway.reload(trusted_proxies=["10.0.0.1"])
        answer = connection.request("POST", "/charges", json=BODY, key=key, headers=tenant)
        assert_problem(answer, 401, "tenant-unknown")


def test_limits_change_with_the_reload(gateway, upstream):
    body = b"x" * 2000
    assert gateway.post("/charges", body, key=new_key()).status == 200
    assert gateway.reload(routes=[route(upstream, max_request_body="1KiB")])
    key = new_key()
    assert_problem(gateway.post("/charges", body, key=key), 413, "body-too-large")
    assert upstream.effects(key) == 0


def test_what_needs_a_restart_is_left_out_and_said(gateway, upstream, key):
    assert gateway.reload(namespace="other", log={"level": "debug"},
                          routes=[route(upstream), route(upstream, name="b", path="/b")])
    assert gateway.post("/b", json=BODY, key=key).status == 200
    text = eventually(lambda: gateway.stderr() if "restart" in gateway.stderr() else None)
    assert "namespace" in text and "log" in text


def test_no_request_is_lost_while_the_configuration_is_loaded_again_and_again(gateway, upstream):
    stop = threading.Event()
    wrong = []

    def client():
        with gateway.connect() as connection:
            while not stop.is_set():
                key = new_key()
                wire = request_bytes("POST", "/charges", json=BODY, key=key)
                for replayed in (False, True):
                    connection.send(wire)
                    answer = connection.read_response()
                    if answer.status != 200 or answer.replayed != replayed:
                        wrong.append(answer)

    clients = [Background(client) for _ in range(4)]
    for i in range(20):
        assert gateway.reload(routes=[route(upstream, ttl=f"{i + 1}h")])
    stop.set()
    for one in clients:
        one.result()
    assert not wrong
    keys = [request["key"] for request in upstream.requests()]
    assert len(keys) > 20 and len(keys) == len(set(keys))


def test_a_gateway_that_ends_waits_for_the_file_that_it_reads(gateway):
    """The file is a pipe: it has been opened, and nothing comes until the gateway has stopped."""
    file = gateway.folder / "semel.yaml"
    text = file.read_text()
    file.unlink()
    os.mkfifo(file)
    gateway.process.send_signal(signal.SIGHUP)
    with open(file, "w") as pipe:
        gateway.terminate()
        eventually(lambda: "stopped" in gateway.stderr())
        pipe.write(text)
    assert gateway.wait() == 0


def opened_for_writing(pipe):
    """None: nobody reads it yet."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        assert error.errno == errno.ENXIO, error
        return None


def test_a_reload_that_is_asked_for_too_early_waits(start_gateway, upstream, tmp_path, key):
    """While the gateway is still reading its file for the first time, which the test holds up."""
    tmp_path.chmod(0o755)
    path = tmp_path / "semel.yaml"
    os.mkfifo(path)
    gateway = Gateway([route(upstream)], config_file=path)
    try:
        starting = Background(gateway.start)
        eventually(lambda: gateway.process or starting.done)
        with os.fdopen(eventually(lambda: opened_for_writing(path)), "w") as pipe:
            gateway.process.send_signal(signal.SIGHUP)
            path.unlink()
            later = {**gateway.config, "routes": [route(upstream, name="refunds", path="/refunds")]}
            path.write_text(json.dumps(later))
            pipe.write(json.dumps(gateway.config))
        starting.result()
        eventually(lambda: gateway.post("/refunds", json=BODY, key=key).status == 200)
    finally:
        gateway.discard()
