"""A collector of OTLP over HTTP: takes the spans of each batch apart, and writes them down once it has said 200."""

from harness.clients.http_client import TIMEOUT
from harness.peers.receiver import Receiver

KINDS = {1: "internal", 2: "server", 3: "client", 5: "consumer"}


class Span:
    def __init__(self, json):
        self.json = json
        self.trace, self.id, self.parent = json["traceId"], json["spanId"], json.get("parentSpanId")
        self.name, self.kind = json["name"], KINDS[json["kind"]]
        self.begun, self.ended = int(json["startTimeUnixNano"]), int(json["endTimeUnixNano"])
        self.links = [(link["traceId"], link["spanId"]) for link in json.get("links", [])]
        names = [each["key"] for each in json["attributes"]]
        assert len(names) == len(set(names)), f"a name twice: {names}"
        self.attributes = {each["key"]: value(each["value"]) for each in json["attributes"]}

    @property
    def traceparent(self):
        return f"00-{self.trace}-{self.id}-01"

    def __repr__(self):
        return f"<{self.kind} {self.name!r} {self.attributes}>"


def value(json):
    [(kind, found)] = json.items()
    return {"stringValue": str, "intValue": int}[kind](found)


class Collector(Receiver):
    @property
    def url(self):
        return super().url.removesuffix("/in")

    def batches(self):
        return [delivery.json for delivery in list(self.accepted)]

    def spans(self):
        return [Span(span) for batch in self.batches() for resource in batch["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]

    def wait_spans(self, count, timeout=TIMEOUT):
        """The spans, once there are that many."""
        self.wait(lambda collector: len(collector.spans()) >= count, timeout, f"awaited {count} spans")
        return self.spans()

    def wait_requests(self, count=1, timeout=TIMEOUT):
        """The spans by request, {name: span} of each trace, once that many requests have ended. A request's spans
        come together."""
        self.wait(lambda collector: len([s for s in collector.spans() if s.kind == "server"]) >= count, timeout,
                  f"awaited {count} requests")
        found = {}
        for span in self.spans():
            found.setdefault(span.trace, {})[span.name] = span
        return found
