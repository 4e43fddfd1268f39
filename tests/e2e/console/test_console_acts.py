"""What is done with the console, against the real gateway: decisions and retries, who may make them, what markup in a
request can do (nothing), and what happens without a gateway or without a stream. Effects are checked where they happen: in
the API, at the client, at the upstream."""

import json
import time

import pytest

from harness.clients.http_client import Connection, request_bytes
from harness.clients.webhook_senders import Stripe, new_event, route as webhook_route
from harness.ports import free_port
from harness.semel import Gateway, eventually, new_key

BODY = {"amount": 100}
HOOKS = "/hooks/stripe"
STRIPE = Stripe()


@pytest.fixture(scope="module")
def gateway(module_gateway):
    hooks = webhook_route(STRIPE, HOOKS, unknown="hold",
                          webhook={"mode": "queue", "max_attempts": 1, "backoff": {"min": "10ms", "max": "20ms"}})
    return module_gateway({"name": "charges", "path": "/charges"}, {"name": "free", "path": "/free"}, hooks)


@pytest.fixture
def unknown(gateway, upstream, key):
    """A key whose answer was lost on its way back."""
    assert gateway.post("/charges", json=BODY, key=key, test="close=reset").status == 502
    return gateway.record(key)


def test_an_unknown_outcome_is_resolved_by_hand_and_replayed(gateway, upstream, browser, unknown, key):
    browser.open(gateway)
    browser.sign_in(gateway)
    browser.press("g", "u")
    browser.see(".case", key)
    browser.see(".aside", "does not decide by itself")
    browser.run("[...document.querySelectorAll('.case')].find(e => e.textContent.includes(arguments[0]))"
                ".querySelector('.acts button').click()", key)
    browser.type("Status", "201")
    browser.type("Body", '{"id":"ch_17"}')
    browser.type("Reason", "found in the ledger")
    assert "final" in browser.text("dialog .consequence")
    browser.click("dialog .main")
    eventually(lambda: gateway.record(key)["state"] == "completed")
    browser.gone(".case", key)
    replay = gateway.post("/charges", json=BODY, key=key)
    assert (replay.status, replay.body, replay.replayed) == (201, b'{"id":"ch_17"}', True)
    assert "admin: found in the ledger" in json.dumps(gateway.record(key)["history"])
    assert upstream.effects(key) == 1


def test_a_decision_about_an_attempt_that_is_over_is_refused(gateway, upstream, browser, unknown, key):
    browser.open(gateway, "live")
    browser.sign_in(gateway)
    browser.go(f"keys?open={unknown['id']}")
    browser.click("#panel button", "It did not")
    browser.type("Reason", "not in the ledger")
    gateway.change(f"/api/keys/{unknown['id']}/release", {"reason": "somebody else looked"})
    assert gateway.post("/charges", json=BODY, key=key, test="close=reset").status == 502
    browser.click("dialog .main")
    browser.see("dialog .trouble", "attempt 2 now")
    assert gateway.record(key)["state"] == "unknown"
    browser.click("dialog footer button", "Cancel")
    browser.click("#panel button", "It did not")
    browser.see("dialog", "attempt 2")
    browser.type("Reason", "not in the ledger")
    browser.click("dialog .main")
    eventually(lambda: gateway.record(key)["state"] == "released")


def test_nothing_is_changed_without_a_token(gateway, upstream, browser, unknown, key):
    browser.open(gateway, "unknown")
    browser.see(".case", key)
    browser.run("[...document.querySelectorAll('.case')].find(e => e.textContent.includes(arguments[0]))"
                ".querySelector('.acts button').click()", key)
    browser.see("dialog", "Sign in")
    browser.type("Token", "not-the-token-of-anybody")
    browser.click("dialog .main")
    browser.see("dialog .trouble", "does not know the token")
    assert gateway.record(key)["state"] == "unknown"
    assert browser.run("return Object.keys(sessionStorage).length + Object.keys(localStorage).length") == 0


def test_many_are_released_after_the_operation_is_typed(gateway, upstream, browser):
    lost = [new_key() for _ in range(3)]
    for one in lost:
        gateway.post("/free", json=BODY, key=one, test="close=reset")
    browser.open(gateway)
    browser.sign_in(gateway)
    browser.go("unknown")
    browser.click('.group[aria-label="free"] header input')
    browser.click(".bulk button", "They did not")
    for one in lost:
        browser.see("dialog .list", one)
    browser.type("Reason", "outage 12")
    browser.type("Type", "charges")
    browser.click("dialog .main")
    browser.see("dialog .trouble", "free")
    assert {gateway.record(one)["state"] for one in lost} == {"unknown"}
    browser.type("Type", "free")
    browser.click("dialog .main")
    browser.see("dialog", "3 of 3")
    assert {gateway.record(one)["state"] for one in lost} == {"released"}
    assert gateway.post("/free", json=BODY, key=lost[0]).status == 200
    assert [r["attempt"] for r in upstream.requests(lost[0])] == ["1", "2"]
    browser.click("dialog footer button", "Close")


def test_a_dead_letter_is_retried(gateway, upstream, browser):
    event = new_event()
    body = STRIPE.body(event)
    assert gateway.post(HOOKS, body, headers=STRIPE.sign(event, body), test="status=503; first=1").status == 202
    eventually(lambda: gateway.record(event)["state"] == "unknown")
    browser.open(gateway)
    browser.sign_in(gateway)
    browser.go("queues?view=dead")
    browser.see(".tr", event)
    browser.click(".tr button", "Retry")
    browser.type("Reason", "the receiver is back")
    browser.click("dialog .main")
    eventually(lambda: gateway.record(event)["state"] == "completed")
    assert [r["attempt"] for r in upstream.requests(event)] == ["1", "2"]
    browser.gone(".tr", event)


def test_an_answer_is_hidden_until_somebody_with_a_name_looks(gateway, upstream, browser, key):
    secret = "card-4242"
    gateway.post("/charges", json=BODY, key=key, test=f"body={secret}; type=text/plain")
    browser.open(gateway, f"keys?open={gateway.record(key)['id']}")
    browser.see("#panel", "are hidden")
    assert secret not in browser.text("#panel")
    browser.click("#panel button", "Show")
    browser.type("Token", gateway.admin_token())
    browser.click("dialog .main")
    browser.see("#panel pre", secret)
    eventually(lambda: "answer shown" in gateway.stderr())


def test_markup_in_a_request_stays_text(gateway, upstream, browser):
    nasty = f"<img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>{time.time_ns()}"
    key = "<script>document.title=1</script>" + str(time.time_ns())
    answer = gateway.post("/charges", json={"name": nasty}, key=key, test="body=%3Cscript%3Edocument.title%3D1%3C/script%3E; type=text/html")
    assert answer.status == 200
    record = gateway.record(key.replace("<", "%3C").replace(">", "%3E"))
    browser.open(gateway, "live")
    browser.sign_in(gateway)
    browser.search(f"record:{record['id'][:16]}")
    browser.see(".tr", key)
    browser.click(".tr", key)
    browser.see("#panel", key)
    browser.click("#panel button", "Show")
    browser.see("#panel pre", "<script>document.title=1</script>")
    assert browser.run("return document.querySelectorAll('main script, aside script, img').length") == 0
    assert browser.run("return document.title") not in ("1", "pwned")
    assert browser.words() == []


def test_it_says_when_the_gateway_is_away_and_goes_on_when_it_is_back(upstream, browser, key):
    gateway = Gateway([{"name": "charges", "path": "/charges", "upstream": upstream.url}], admin={"listen": f"127.0.0.1:{free_port()}"})
    gateway.start()
    try:
        browser.open(gateway)
        gateway.kill9()
        browser.see("#notice", "does not answer")
        browser.see(".link-state", "Reconnecting")
        gateway.start()
        browser.see(".link-state", "Live")
        browser.gone("#notice")
        gateway.post("/charges", json=BODY, key=key)
        browser.see(".tr", gateway.record(key)["id"][:8])
    finally:
        gateway.discard()



def test_pages_that_were_left_hold_no_connection(gateway, browser):
    """A browser keeps pages for going back to, and opens six connections to one server."""
    browser.open(gateway)
    begun = time.monotonic()
    for _ in range(8):
        browser.driver.get("about:blank")
        browser.driver.get(f"{browser.origin}/#/keys")
        browser.see(".link-state", "Live")
    assert time.monotonic() - begun < 15


def test_where_no_stream_is_free_it_asks(start_gateway, upstream, browser, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    held = []
    try:
        for _ in range(32):
            connection = Connection(gateway.admin_address)
            held.append(connection)
            connection.send(request_bytes("GET", "/api/events", host="%s:%d" % gateway.admin_address))
            assert connection.begin_response("GET").status == 200
        browser.driver.get("http://%s:%d/" % gateway.admin_address)
        browser.see(".link-state", "Polling")
        gateway.post("/charges", json=BODY, key=key)
        browser.see(".tr", gateway.record(key)["id"][:8])
    finally:
        for connection in held:
            connection.close()
