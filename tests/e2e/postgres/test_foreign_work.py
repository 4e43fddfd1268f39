"""Gateways on one database with different routes: work whose route one of them does not have is left to those
that have it, and is never lost meanwhile."""

from harness.semel import eventually
from harness.servers.postgres_nodes import start_node
from harness.clients.webhook_senders import Stripe, new_event, route

PATH = "/hooks/stripe"
LEFT_ALONE = "semel_work_left_to_others_total"


def test_lost_work_waits_for_a_node_that_has_its_route(start_gateway, upstream, database):
    sender = Stripe()
    hook = route(sender, PATH, unknown="retry", lease="1s",
                 webhook={"mode": "queue", "backoff": {"min": "10ms", "max": "20ms"}})
    knows = start_node(start_gateway, database.url, hook)
    other = start_node(start_gateway, database.url, {"name": "charges", "path": "/charges"})
    event = new_event()
    body = sender.body(event)
    assert knows.post(PATH, body, headers=sender.sign(event, body), test="gate=g; first=1").status == 202
    upstream.wait_effects(1, event)
    knows.kill9()

    eventually(lambda: other.metrics()[LEFT_ALONE] >= 1, timeout=40)  # its lease, and the others' patience
    record = other.record(event)
    assert (record["state"], record["attempt"]) == ("in_progress", 1)
    assert "work waits for a process that has its route" in other.stderr()
    assert event.encode() in other.keys("ls", "--where", "state=in_progress").stdout

    upstream.open_gate("g")
    knows.start()
    eventually(lambda: knows.record(event)["state"] == "completed", timeout=60)
    assert [r["attempt"] for r in upstream.requests(event)] == ["1", "2"]
