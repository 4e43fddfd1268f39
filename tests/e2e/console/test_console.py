"""The console in a browser, against the real gateway: what it shows, how records are found, and how an answer is explained."""

import json

import pytest

from harness.semel import assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}
PAGES = ["live", "keys", "unknown", "queues", "routes", "nodes", "why"]


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "charges", "path": "/charges"})


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
    # The numbers above go on, so what was decided has arrived.
    eventually(lambda: browser.run("return (async () => (await import('/console/lib/store.js')).known)()"
                                   ".then(known => known.decisions[0]?.record)") == gateway.record(key)["id"])
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
    browser.type("Body", '{"amount": 101}')
    browser.click("main button", "Explain")
    browser.see(".verdict", "422 key-reused")
    fresh = new_key()
    browser.type("Headers", f'Idempotency-Key: "{fresh}"\nContent-Type: application/json')
    browser.click("main button", "Explain")
    browser.see(".verdict", "would be executed")
    assert upstream.effects() == effects and gateway.admin(f"/api/keys?key={fresh}").json()["keys"] == []
