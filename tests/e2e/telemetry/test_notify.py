"""docs/operations.md, Notifications: somebody is told, by a signed event, that an outcome is unknown or a message dead."""

import base64
import hashlib
import hmac
import re
import time

from harness.clients.webhook_senders import Standard
from harness.semel import at_once, eventually, new_key

SECRET = b"thirty-two bytes that sign things"
WHSEC = "whsec_" + base64.b64encode(SECRET).decode()
BODY = {"amount": 100}
CHARGES = {"name": "charges", "path": "/charges"}
SENT = "semel_notifications_total{result=%s}"
FIELDS = {"type", "at", "record", "operation", "tenant", "key", "reason", "attempt", "count"}


def notify(receiver):
    return {"notify": {"url": receiver.url, "secret": "${NOTIFY_SECRET}"}, "environment": {"NOTIFY_SECRET": WHSEC}}


def check_signature(delivery):
    signed = f"{delivery.headers['webhook-id']}.{delivery.headers['webhook-timestamp']}.".encode() + delivery.body
    mac = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert delivery.headers["webhook-signature"] == f"v1,{mac}"
    assert abs(time.time() - int(delivery.headers["webhook-timestamp"])) < 60


def test_an_unknown_outcome_is_told(start_gateway, upstream, receiver, key):
    gateway = start_gateway(CHARGES, tenant={"from": "header", "name": "X-Tenant"}, trusted_proxies=["127.0.0.1"],
                            log={"keys": "full"}, **notify(receiver))
    gateway.post("/charges", json=BODY, key=key, test="close=before", headers=[("X-Tenant", "acme")])
    receiver.wait(lambda r: r.accepted)
    [delivery] = receiver.accepted
    check_signature(delivery)
    event = delivery.json
    assert set(event) == FIELDS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event.pop("at"))
    record = gateway.record(key)
    assert event == {"type": "semel.outcome.unknown", "record": record["id"], "operation": "charges", "tenant": "acme",
                     "key": key, "reason": record["reason"], "attempt": 1, "count": 1}
    eventually(lambda: gateway.metrics()[SENT % "sent"] == 1)
    assert WHSEC not in gateway.stderr() and SECRET.decode() not in gateway.stderr()


def test_keys_and_tenants_are_digests_unless_the_log_shows_them(start_gateway, upstream, receiver, key):
    gateway = start_gateway(CHARGES, tenant={"from": "header", "name": "X-Tenant"}, trusted_proxies=["127.0.0.1"],
                            **notify(receiver))
    gateway.post("/charges", json=BODY, key=key, test="close=before", headers=[("X-Tenant", "acme")])
    receiver.wait(lambda r: r.accepted)
    event = receiver.accepted[0].json
    assert event["key"] == hashlib.sha256(key.encode()).hexdigest()[:16]
    assert event["tenant"] == hashlib.sha256(b"acme").hexdigest()[:16]
    assert key.encode() not in receiver.accepted[0].body


def test_what_is_not_unknown_is_not_told(start_gateway, upstream, receiver, key):
    gateway = start_gateway(CHARGES, **notify(receiver))
    gateway.post("/charges", json=BODY, key=new_key())
    gateway.post("/charges", json=BODY, key=new_key(), test="status=400")
    gateway.post("/charges", json=BODY, key=new_key(), test="status=503")
    gateway.post("/charges", json=BODY, key=key, test="close=before")
    gateway.post("/charges", json=BODY, key=key)  # still unknown
    gateway.stop()
    assert len(receiver.arrived) == 1


def test_a_receiver_that_fails_is_told_again_under_the_same_id(start_gateway, upstream, receiver, key):
    statuses = iter([500, 503, 204])
    receiver.answer = lambda delivery: next(statuses)
    gateway = start_gateway(CHARGES, **notify(receiver))
    gateway.post("/charges", json=BODY, key=key, test="close=before")
    receiver.wait(lambda r: r.accepted)
    assert len(receiver.arrived) == 3
    for delivery in receiver.arrived:
        check_signature(delivery)
    assert len({(d.headers["webhook-id"], d.body) for d in receiver.arrived}) == 1
    assert receiver.arrived[1].at - receiver.arrived[0].at > 0.2
    eventually(lambda: gateway.metrics()[SENT % "sent"] == 1)


def test_an_outage_is_told_in_few_words(start_gateway, upstream, receiver):
    gateway = start_gateway(CHARGES, **notify(receiver))
    begun = time.monotonic()
    for _ in range(6):
        for _ in range(50):
            gateway.post("/charges", json=BODY, key=new_key(), test="close=before")
    receiver.wait(lambda r: sum(d.json["count"] for d in r.accepted) >= 300)
    seconds = time.monotonic() - begun
    assert sum(d.json["count"] for d in receiver.accepted) == 300
    assert len(receiver.arrived) <= seconds + 2
    gaps = [b.at - a.at for a, b in zip(receiver.arrived, receiver.arrived[1:])]
    assert all(gap > 0.9 for gap in gaps), gaps
    assert len({d.headers["webhook-id"] for d in receiver.arrived}) == len(receiver.arrived)


def test_what_happens_while_the_receiver_is_down_is_summed(start_gateway, upstream, receiver):
    receiver.down()
    gateway = start_gateway(CHARGES, **notify(receiver))
    at_once(20, gateway, "/charges", json=BODY, key=new_key(), test="close=before")
    for _ in range(20):
        gateway.post("/charges", json=BODY, key=new_key(), test="close=before")
    eventually(lambda: "notification not accepted" in gateway.stderr())
    receiver.up()
    receiver.wait(lambda r: sum(d.json["count"] for d in r.accepted) >= 21)
    assert len(receiver.accepted) == 2 and receiver.accepted[0].json["count"] == 1


def test_what_waits_is_told_at_the_end(start_gateway, upstream, receiver):
    receiver.answer = lambda delivery: 500 if len(receiver.arrived) == 1 else 200
    gateway = start_gateway(CHARGES, **notify(receiver))
    gateway.post("/charges", json=BODY, key=new_key(), test="close=before")
    gateway.post("/charges", json=BODY, key=new_key(), test="close=before")
    receiver.wait(lambda r: r.arrived)
    gateway.stop()
    assert sum(d.json["count"] for d in receiver.accepted) == 2
    receiver.down()
    gateway.start()
    gateway.post("/charges", json=BODY, key=new_key(), test="close=before")
    begun = time.monotonic()
    gateway.stop()
    assert time.monotonic() - begun < 5
    assert "notification given up" in gateway.stderr()


def test_a_reload_does_not_change_who_is_told(start_gateway, upstream, receiver, key):
    gateway = start_gateway(CHARGES, **notify(receiver))
    assert gateway.reload(notify={"url": "http://127.0.0.1:9/", "secret": WHSEC},
                          tracing={"otlp": "http://127.0.0.1:9"})
    eventually(lambda: 'keys="tracing, notify"' in gateway.stderr())
    gateway.post("/charges", json=BODY, key=key, test="close=before")
    receiver.wait(lambda r: r.accepted)


def test_a_webhook_that_became_a_dead_letter_is_told(start_gateway, upstream, receiver):
    sender = Standard()
    gateway = start_gateway(
        {"name": "events", "path": "/events", "unknown": "retry",
         "webhook": {"provider": sender.provider, "secrets": [sender.secret], "mode": "queue", "max_attempts": 2,
                     "backoff": {"min": "50ms", "max": "100ms"}}}, **notify(receiver))
    event = "msg_" + new_key()
    body = sender.body(event)
    headers = list(sender.sign(event, body).items()) + [("Content-Type", "application/json")]
    assert gateway.post("/events", body, headers=headers, test="status=503").status == 202
    receiver.wait(lambda r: r.accepted)
    [delivery] = receiver.accepted
    assert delivery.json["type"] == "semel.dead-letter" and delivery.json["attempt"] == 2
    assert delivery.json["reason"] == "dead letter after 2 attempts: status 503"
    assert delivery.json["operation"] == "events"


def test_a_message_that_became_a_dead_letter_is_told(broker, consumers, upstream, receiver, key):
    queue = broker.queue()
    consumer = consumers(broker.entry(queue, upstream, max_attempts=2), log={"keys": "full"}, **notify(receiver))
    queue.publish([(key, b"{}", {"X-Test": "status=503"})])
    receiver.wait(lambda r: r.accepted)
    [delivery] = receiver.accepted
    check_signature(delivery)
    assert delivery.json["type"] == "semel.dead-letter" and delivery.json["operation"] == queue.name
    assert delivery.json["key"] == key and delivery.json["attempt"] == 2
    assert delivery.json["reason"].startswith("attempts-exhausted: ")
    eventually(lambda: consumer.metrics()[SENT % "sent"] == 1)
