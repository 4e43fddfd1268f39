"""An entry of `consume` for a topic of a KafkaCluster."""

import json

from harness.semel import eventually


def kafka_entry(kafka, topic, to, properties=None, **more):
    return {"name": topic, "from": {"kind": "kafka", "brokers": kafka.addresses, "topic": topic,
                                    "group": f"g-{topic}", "prefetch": more.pop("prefetch", 64),
                                    # So soon a member that was killed is out of its group.
                                    "properties": {"session.timeout.ms": "6000",
                                                   "heartbeat.interval.ms": "500",
                                                   **(properties or {})}},
            "to": to, "headers": ["X-Test"], "key": {"from": "header", "name": "id"},
            "unknown": "hold", "dead_letter": {"topic": f"{topic}.dead"},
            "backoff": {"min": "50ms", "max": "200ms"}, **more}


def messages(keys, body=b'{"amount": 1}', **headers):
    """One for each id, spread over the partitions."""
    return [(f"k{number}", body, {"id": key, **headers}) for number, key in enumerate(keys)]


def until_settled(kafka, topic, timeout=300):
    """The group has committed every offset: all was acknowledged, or is among the dead letters."""
    eventually(lambda: kafka.is_settled(topic, f"g-{topic}"), timeout=timeout, every=0.5)


def dead_letters(kafka, topic):
    """id → reasons, one for each letter."""
    found = {}
    for _, _, headers in kafka.read(f"{topic}.dead"):
        found.setdefault(headers.get("id"), set()).add(headers["Semel-Dead-Letter"])
    return found


def order(key):
    return json.dumps({"item": key, "quantity": 1}).encode()
