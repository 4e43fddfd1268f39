"""docs/spec.md 12: `mode: queue` answers 202 once the event is durable, and delivers in the
background, with retries and dead letters: nobody sends it again."""

import base64

import pytest

from harness.semel import assert_problem, break_store, eventually
from harness.peers.upstream_control import field
from harness.clients.webhook_senders import SENDERS, GitHub, Standard, Stripe, new_event, route

QUICK = {"min": "10ms", "max": "20ms"}
PATH = "/hooks/stripe"


@pytest.fixture
def stripe():
    return Stripe()


def queue(sender, unknown="hold", path=PATH, **more):
    return route(sender, path, unknown=unknown,
                 webhook={"mode": "queue", "backoff": QUICK, **more.pop("webhook", {})}, **more)


def deliver(gateway, sender, event, body=None, path=PATH, **more):
    body = sender.body(event) if body is None else body
    return gateway.post(path, body, headers=sender.sign(event, body), **more)


def accepts(answer, known=False):
    assert (answer.status, answer.body, answer.replayed) == (202, b"", known), answer


def state(gateway, event):
    record = gateway.record(event)
    return record["state"], record["attempt"]


def becomes(gateway, event, *wanted):
    eventually(lambda: state(gateway, event) == wanted)


@pytest.mark.parametrize("kind", SENDERS, ids=lambda kind: kind.__name__)
def test_an_event_is_accepted_at_once_and_delivered_once(start_gateway, upstream, kind):
    sender = kind()
    gateway = start_gateway(queue(sender))
    event = new_event()
    body = sender.body(event)
    accepts(deliver(gateway, sender, event, body, test="gate=g"))
    upstream.wait_effects(1)
    for _ in range(2):  # the provider is impatient
        accepts(deliver(gateway, sender, event, body), known=True)
    upstream.open_gate("g")
    got = upstream.last()
    assert (got["method"], got["target"], got["attempt"]) == ("POST", PATH, "1")
    assert field(got, sender.signature) and field(got, "Semel-Record")
    key = got["key"]
    eventually(lambda: state(gateway, key) == ("completed", 1))
    accepts(deliver(gateway, sender, event, body), known=True)
    assert upstream.effects() == 1


def test_what_is_not_signed_is_not_queued(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe))
    writes = gateway.metrics()["semel_store_swap_seconds_count"]
    event = new_event()
    bad = gateway.post(PATH, stripe.body(event), headers=stripe.sign(event, b"another body"))
    assert_problem(bad, 401, "signature-invalid")
    assert gateway.metrics()["semel_store_swap_seconds_count"] == writes
    assert upstream.arrived() == 0


def test_a_failure_is_tried_again_by_itself(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe))
    failures = ("status=503", "status=500", "status=429", "status=403", "outcome=retry")
    events = {failure: new_event() for failure in failures}
    for failure, event in events.items():
        accepts(deliver(gateway, stripe, event, test=failure + "; first=2"))
    for event in events.values():
        becomes(gateway, event, "completed", 3)
        attempts = upstream.requests(event)
        assert [r["attempt"] for r in attempts] == ["1", "2", "3"]
        assert len({r["digest"] for r in attempts}) == 1
        accepts(deliver(gateway, stripe, event), known=True)
    assert upstream.arrived() == 3 * len(events)


def test_an_upstream_that_is_down_is_waited_for(start_gateway, upstream, raw_upstream, stripe):
    down = raw_upstream(lambda peer, number: None, listening=False)
    gateway = start_gateway(queue(stripe, upstream=down.url))
    event = new_event()
    accepts(deliver(gateway, stripe, event))
    eventually(lambda: gateway.record(event)["attempt"] >= 2)
    eventually(lambda: gateway.record(event)["reason"])  # not while the next attempt runs
    accepts(deliver(gateway, stripe, event), known=True)
    gateway.config["routes"][0]["upstream"] = upstream.url
    assert gateway.reload()
    upstream.wait_effects(1, event)
    eventually(lambda: state(gateway, event)[0] == "completed")
    assert upstream.effects() == 1


def test_a_final_refusal_of_the_upstream_is_not_tried_again(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="status=400"))
    becomes(gateway, event, "completed", 1)
    accepts(deliver(gateway, stripe, event), known=True)  # and not a 400 that nobody understands
    assert gateway.record(event)["result"] == "failed"
    assert upstream.effects() == 1


def test_a_dead_letter_is_listed_and_can_be_tried_once_more(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, webhook={"max_attempts": 2}))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="status=503; first=2"))
    becomes(gateway, event, "unknown", 2)
    record = gateway.record(event)
    assert record["reason"] == "dead letter after 2 attempts: status 503"
    eventually(lambda: gateway.metrics()["semel_unknown_records"] == 1)
    listed = gateway.keys("ls", "--where", "state=unknown,reason=dead letter")
    assert event.encode() in listed.stdout
    assert event.encode() not in gateway.keys("ls", "--where", "reason=status").stdout
    accepts(deliver(gateway, stripe, event), known=True)
    assert upstream.arrived() == 2
    done = gateway.keys("release", record["id"], "--reason", "the upstream is well again")
    assert done.returncode == 0, done
    becomes(gateway, event, "completed", 3)
    assert upstream.arrived() == 3
    notes = [h["note"] for h in gateway.record(event)["history"]]
    assert "released by admin: the upstream is well again" in notes


def test_a_dead_letter_can_be_resolved_by_hand(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, webhook={"max_attempts": 1}))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="status=503"))
    becomes(gateway, event, "unknown", 1)
    done = gateway.change(f"/api/keys/{gateway.record(event)['id']}/resolve",
                          {"reason": "entered by hand", "answer": {"status": 200}})
    assert done.status == 200, done
    assert state(gateway, event) == ("completed", 1)
    accepts(deliver(gateway, stripe, event), known=True)
    assert upstream.arrived() == 1


def test_an_unknown_outcome_is_held_where_the_route_says_so(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, unknown="hold"))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="close=before; first=1"))
    becomes(gateway, event, "unknown", 1)
    accepts(deliver(gateway, stripe, event), known=True)
    assert upstream.effects() == 1
    gateway.keys("release", gateway.record(event)["id"], "--reason", "it was not done")
    becomes(gateway, event, "completed", 2)
    assert upstream.effects() == 2


def test_an_unknown_outcome_is_tried_again_where_the_route_says_so(start_gateway, upstream,
                                                                   stripe):
    gateway = start_gateway(queue(stripe, unknown="retry"))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="close=before; first=2"))
    becomes(gateway, event, "completed", 3)
    assert {r["key"] for r in upstream.requests()} == {event}  # by which the upstream knows it


def test_a_late_answer_spares_the_next_try(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, unknown="retry", upstream_timeout="300ms",
                                  late_answer="20s"))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="gate=late"))
    eventually(lambda: state(gateway, event) == ("queued", 1))
    upstream.open_gate("late")
    becomes(gateway, event, "completed", 1)
    assert upstream.effects() == 1


def test_trap_31_what_was_answered_202_is_done_once_though_the_process_was_killed(
        start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe), limits={"in_flight": 4}, store="embedded")
    # Four places: one may run, and the others are kept and have not begun.
    events = [new_event() for _ in range(4)]
    for event in events:
        accepts(deliver(gateway, stripe, event, test="gate=never" if event == events[0] else ""))
    upstream.wait_arrived(1, events[0])
    gateway.kill9()
    assert upstream.arrived() == 1
    gateway.start()
    for event in events[1:]:
        becomes(gateway, event, "completed", 1)
        assert upstream.effects(event) == 1
    # The event whose execution had begun is unknown, and held: it may have taken effect.
    becomes(gateway, events[0], "unknown", 1)
    assert upstream.arrived(events[0]) == 1


def test_an_execution_lost_with_its_process_is_tried_again_where_the_route_says_so(
        start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe, unknown="retry"), store="embedded")
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="gate=never; first=1"))
    upstream.wait_arrived(1, event)
    gateway.kill9()
    gateway.start()
    becomes(gateway, event, "completed", 2)
    assert [r["attempt"] for r in upstream.requests(event)] == ["1", "2"]


def test_the_next_try_is_kept_over_a_restart_and_comes_when_it_is_due(start_gateway, upstream,
                                                                      stripe):
    gateway = start_gateway(queue(stripe, webhook={"backoff": {"min": "1h", "max": "2h"}}))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="status=503; first=1"))
    becomes(gateway, event, "queued", 1)
    gateway.kill9()
    gateway.start()
    eventually(lambda: gateway.admin("/readyz").status == 200)
    other = new_event()
    accepts(deliver(gateway, stripe, other))
    becomes(gateway, other, "completed", 1)
    assert state(gateway, event) == ("queued", 1) and upstream.arrived(event) == 1
    assert gateway.record(event)["reason"] == "status 503"


def test_a_route_that_is_no_longer_a_webhook_still_delivers_what_it_took(start_gateway, upstream,
                                                                         stripe):
    gateway = start_gateway(queue(stripe, webhook={"backoff": {"min": "300ms", "max": "300ms"}}))
    event = new_event()
    accepts(deliver(gateway, stripe, event, test="status=503; first=1"))
    becomes(gateway, event, "queued", 1)
    plain = {k: v for k, v in gateway.config["routes"][0].items() if k != "webhook"}
    assert gateway.reload(routes=[plain])
    becomes(gateway, event, "completed", 2)


def test_a_provider_is_told_when_nothing_could_be_kept(start_gateway, upstream, stripe):
    gateway = start_gateway(queue(stripe), inherit_signals=True, store="embedded")
    break_store(gateway)
    event = new_event()
    assert_problem(deliver(gateway, stripe, event), 503, "store-unavailable")
    assert upstream.arrived() == 0


def test_an_event_that_is_too_large_to_be_kept_is_refused(start_gateway, upstream):
    github = GitHub()
    gateway = start_gateway(queue(github))
    body = b"x" * (1 << 20)
    accepts(deliver(gateway, github, new_event(), body))
    upstream.wait_effects(1)
    assert upstream.last()["bytes"] == len(body)
    assert_problem(deliver(gateway, github, new_event(), body + b"x"), 413, "body-too-large")


def test_a_burst_is_taken_up_to_the_limit_and_all_that_was_taken_is_done(start_gateway, upstream):
    sender = Standard()
    gateway = start_gateway(queue(sender), limits={"in_flight": 16})
    events = [new_event() for _ in range(60)]
    taken = set()
    while len(taken) < len(events):  # as a provider would: what was refused comes again
        for event in (e for e in events if e not in taken):
            answer = deliver(gateway, sender, event)
            assert answer.status in (202, 503), answer
            if answer.status == 202:
                taken.add(event)
    upstream.wait_effects(len(events))
    assert upstream.effects() == len(events)
    assert {r["key"] for r in upstream.requests()} == set(events)


def test_encrypted_at_rest_the_event_is_not_in_the_files(start_gateway, upstream, stripe, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("k1:" + base64.b64encode(b"k" * 32).decode() + "\n")
    keys.chmod(0o600)
    gateway = start_gateway(queue(stripe, webhook={"backoff": {"min": "1h", "max": "1h"}}),
                            encryption={"keys_file": str(keys)}, store="embedded")
    event = new_event()
    body = stripe.body(event).replace(b'"event"', b'"a very private matter"')
    accepts(deliver(gateway, stripe, event, body, test="status=503"))
    becomes(gateway, event, "queued", 1)
    gateway.kill9()
    for file in (gateway.folder / "data").rglob("*"):
        assert not file.is_file() or b"a very private matter" not in file.read_bytes(), file
    gateway.start()
    assert state(gateway, event) == ("queued", 1)
