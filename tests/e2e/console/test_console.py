"""The console in a browser, against the real gateway: what an on-call engineer, a support engineer and a developer do
with it. Effects are checked where they happen: in the API, at the client, at the upstream."""

import json
import time

import pytest

from harness.clients.http_client import Connection, request_bytes
from harness.clients.webhook_senders import Stripe, new_event, route as webhook_route
from harness.ports import free_port
from harness.semel import Gateway, assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
PAGES = ["live", "keys", "unknown", "queues", "routes", "nodes", "why"]
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


def is_local(browser, url):
    return url.startswith((browser.origin + "/", "data:"))


def test_every_page_loads_without_a_word_and_asks_nobody_else(gateway, upstream, browser, key):
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    browser.open(gateway)
    for page in PAGES:
        browser.go(page)
        browser.see(f'nav a[aria-current="page"][data-page="{page}"]')
        browser.see("main h1")
    browser.see("main h1", "Why did I get this?")
    assert browser.words() == []
    asked = browser.asked()
    assert len(asked) > 30 and [url for url in asked if not is_local(browser, url)] == []


def test_the_top_says_which_gateway_this_is(gateway, browser):
    status = gateway.admin("/api/status").json()
    browser.open(gateway)
    browser.see("#identity", status["node"])
    assert status["version"] in browser.text("#identity") and "embedded" in browser.text("#identity")


def test_a_request_is_seen_within_two_seconds(gateway, upstream, browser, key):
    browser.open(gateway)
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    shown = gateway.admin("/api/decisions?limit=1").json()["decisions"][0]
    assert browser.within(2, lambda: browser.all(".tr", shown["record"][:8])) < 2
    assert "executed" in browser.see(".tr", shown["record"][:8]).text
    assert_replay(gateway.post("/charges", json=BODY, key=key), gateway.post("/charges", json=BODY, key=key))
    browser.see(".tr", "replayed")


def test_a_paused_table_stays_as_it_is(gateway, upstream, browser, key):
    browser.open(gateway)
    browser.click("main button", "Pause")
    gateway.post("/charges", json=BODY, key=key)
    record = gateway.record(key)["id"][:8]
    eventually(lambda: browser.run("return performance.now()") and gateway.result_count("charges", "executed") > 0)
    assert browser.all(".tr", record) == []
    browser.click("main button", "Go on")
    browser.see(".tr", record)


def test_a_record_is_found_by_its_key_and_its_address_can_be_shared(gateway, upstream, browser, key):
    gateway.post("/charges", json=BODY, key=key)
    record = gateway.record(key)
    browser.open(gateway)
    browser.press("/")
    browser.search(key)
    browser.see(".tr", record["id"][:8])
    assert len(browser.all(".tr")) == 1
    browser.press("j", "\ue007")  # Enter
    browser.see("#panel", key)
    browser.see("#panel .timeline li")
    address = browser.driver.current_url
    assert f"open={record['id']}" in address
    browser.press("\ue00c")  # Escape
    browser.gone("#panel")
    browser.driver.get("about:blank")
    browser.driver.get(address)
    browser.see("#panel", key)


def test_filters_are_chips_and_part_of_the_address(gateway, upstream, browser, unknown, key):
    browser.open(gateway)
    browser.search("state:unknown operation:charges")
    browser.see(".tr", unknown["id"][:8])
    assert "state=unknown" in browser.driver.current_url and "operation=charges" in browser.driver.current_url
    browser.see(".chip", "charges")
    browser.search("state:completed operation:charges")
    browser.gone(".tr", unknown["id"][:8])


def test_it_explains_a_422(gateway, upstream, browser, key):
    assert gateway.post("/charges", json=BODY, key=key).status == 200
    refused = gateway.post("/charges", json={"amount": 7}, key=key)
    problem = assert_problem(refused, 422, "key-reused")
    browser.open(gateway, "why")
    browser.type("The error", json.dumps(problem))
    browser.click("main button", "Tell me")
    story = browser.see(".story", "it is another request").text
    assert "422" in story and "nothing was executed" in story and "operation charges" in story
    for part in problem["differs"]:
        assert part in story


def test_explain_says_what_would_happen_and_does_nothing(gateway, upstream, browser, key):
    gateway.post("/charges", json=BODY, key=key)
    effects = upstream.effects()
    browser.open(gateway, "routes")
    browser.see(".card", "charges")
    browser.type("A curl line", f"""curl -X POST http://127.0.0.1/charges -H 'Idempotency-Key: "{key}"' """
                                """-H 'Content-Type: application/json' -d '{"amount": 100}'""")
    browser.click("main button", "Explain")
    browser.see(".steps", key)
    browser.see(".verdict", "replayed")
    fresh = new_key()
    browser.type("Headers", f'Idempotency-Key: "{fresh}"\nContent-Type: application/json')
    browser.click("main button", "Explain")
    browser.see(".verdict", "would be executed")
    assert upstream.effects() == effects and gateway.admin(f"/api/keys?key={fresh}").json()["keys"] == []


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
