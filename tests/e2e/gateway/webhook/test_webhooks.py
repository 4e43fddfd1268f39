"""docs/spec.md 12: webhook routes verify first, then deduplicate. What is not signed as it has to
be is neither kept nor passed on."""

import hashlib
import json
import time

import pytest

from harness import ROOT
from harness.clients.http_client import request_bytes
from harness.semel import (TIME_SCALE, Background, Gateway, assert_problem, eventually,
                           let_pass)
from harness.peers.upstream_control import field
from harness.clients.webhook_senders import (OTHER_SECRET, SENDERS, Custom, GitHub, Shopify, Slack, Standard,
                             StandardAsymmetric, Stripe, mac, new_event, route)

MINUTE = 60
EXAMPLE = ROOT / "examples" / "webhooks.yaml"


@pytest.fixture(scope="module")
def senders():
    return {kind: kind() for kind in SENDERS}


@pytest.fixture(scope="module")
def gateway(module_gateway, senders):
    # No tenant: these routes need none.
    return module_gateway(*(route(sender) for sender in senders.values()), tenant={"from": "none"})


@pytest.fixture(params=SENDERS, ids=lambda kind: kind.__name__)
def sender(request, senders):
    return senders[request.param]


def deliver(gateway, sender, event, body=None, headers=None, at=None, path=None, **more):
    body = sender.body(event) if body is None else body
    headers = sender.sign(event, body, at) if headers is None else headers
    path = path or "/hooks/" + type(sender).__name__.lower()
    return gateway.post(path, body, headers=headers, **more)


def store_writes(gateway):
    return gateway.metrics()["semel_store_swap_seconds_count"]


def refuses(gateway, upstream, sender, event, **delivery):
    """401, and neither the store nor the upstream is asked."""
    writes, arrived = store_writes(gateway), upstream.arrived()
    problem = assert_problem(deliver(gateway, sender, event, **delivery), 401, "signature-invalid")
    assert (store_writes(gateway), upstream.arrived()) == (writes, arrived)
    assert sender.secret not in problem["detail"]
    return problem


# --- every provider --------------------------------------------------------------------------


def test_what_is_wrong_with_the_headers_is_said_before_the_body_is_sent(gateway, upstream, sender):
    path, body = "/hooks/" + type(sender).__name__.lower(), sender.body(new_event())
    heads = [{}]
    if sender.has_time:
        heads.append(sender.sign(new_event(), body, time.time() - 10 * MINUTE))
    for headers in heads:
        lines = [f"POST {path} HTTP/1.1", "Host: semel.test", f"Content-Length: {1 << 20}",
                 *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        with gateway.connect() as connection:
            connection.send("\r\n".join(lines).encode())
            assert_problem(connection.read_response(), 401, "signature-invalid")
    assert upstream.arrived() == 0


def test_an_event_is_passed_on_once_and_its_duplicate_gets_the_stored_answer(gateway, upstream,
                                                                             sender):
    event = new_event()
    body = sender.body(event)
    first = deliver(gateway, sender, event, body, test="status=201; header.X-Kept=yes")
    assert first.status == 201 and not first.replayed, first
    again = deliver(gateway, sender, event, body)
    assert again.status == 201 and again.replayed and again.body == first.body
    assert again.header("X-Kept") == "yes"
    assert upstream.effects() == 1
    got = upstream.last()
    assert got["digest"] == hashlib.sha256(body).hexdigest()
    assert field(got, sender.signature)  # who wants to verify again can
    of_body = "sha256:" + hashlib.sha256(b"r" + body).hexdigest()  # docs/webhooks.md
    assert got["key"] == (event if sender.kept_by_id else of_body)


def test_a_tampered_body_is_refused(gateway, upstream, sender):
    event = new_event()
    body = sender.body(event)
    headers = sender.sign(event, body)
    refuses(gateway, upstream, sender, event, body=body + b" ", headers=headers)
    refuses(gateway, upstream, sender, event, body=body[:-1], headers=headers)
    refuses(gateway, upstream, sender, event, body=b"", headers=headers)


def test_another_secret_is_refused(gateway, upstream, sender):
    event = new_event()
    body = sender.body(event)
    stranger = type(sender)(OTHER_SECRET)
    refuses(gateway, upstream, sender, event, headers=stranger.sign(event, body))


def test_a_missing_header_is_refused(gateway, upstream, sender):
    event = new_event()
    headers = sender.sign(event, sender.body(event))
    not_needed = ("X-GitHub-Delivery", "X-GitHub-Event", "X-Shopify-Event-Id", "X-Shopify-Topic")
    for name in headers:
        if name in not_needed:
            continue
        rest = {n: v for n, v in headers.items() if n != name}
        problem = refuses(gateway, upstream, sender, event, headers=rest)
        assert name in problem["detail"]


def test_a_repeated_header_is_refused(gateway, upstream, sender):
    event = new_event()
    headers = sender.sign(event, sender.body(event))
    for name in headers:
        if name in ("X-GitHub-Event", "X-Shopify-Topic"):
            continue
        problem = refuses(gateway, upstream, sender, event,
                          headers={**headers, name: [headers[name], headers[name]]})
        assert name in problem["detail"]


def test_nonsense_in_the_signature_is_refused(gateway, upstream, sender):
    event = new_event()
    headers = sender.sign(event, sender.body(event))
    good = headers[sender.signature].split(",v0=")[0]
    for bad in ("", "=", ",", " ", "v1", "t=1", good[:-1], good + "0", good.replace("=", ""),
                "x" + good, "v1," * 400, good[:-2] + "\xe4\xb6"):
        if bad == good:
            continue
        refuses(gateway, upstream, sender, event, headers={**headers, sender.signature: bad})


@pytest.mark.parametrize("sender", [k for k in SENDERS if k.has_time], indirect=True,
                         ids=lambda kind: kind.__name__)
def test_a_timestamp_counts_five_minutes_both_ways(gateway, upstream, sender):
    now = time.time()
    for good in (now - 4 * MINUTE, now + 4 * MINUTE):
        assert deliver(gateway, sender, new_event(), at=good).status == 200
    assert "too old" in refuses(gateway, upstream, sender, new_event(),
                                at=now - 6 * MINUTE)["detail"]
    assert "future" in refuses(gateway, upstream, sender, new_event(),
                               at=now + 6 * MINUTE)["detail"]
    refuses(gateway, upstream, sender, new_event(), at=0)


@pytest.mark.parametrize("sender", [Standard, Slack, Custom], indirect=True,
                         ids=lambda kind: kind.__name__)
def test_a_timestamp_is_part_of_what_is_signed(gateway, upstream, sender):
    event = new_event()
    headers = sender.sign(event, sender.body(event), at=time.time() - 3600)
    name = next(n for n in headers if "time" in n.lower())
    for other in (str(int(time.time())), "now", "", "-1", "1e9", "9" * 40, " "):
        refuses(gateway, upstream, sender, event, headers={**headers, name: other})


@pytest.mark.parametrize("size", [0, 200_000, 300_000, 1 << 20, 3 << 20])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_bodies_of_every_size_are_verified_as_they_came(gateway, upstream, senders, size, chunked):
    """Above 256 KiB the body lies in a file."""
    for kind in (Standard, StandardAsymmetric, GitHub, Custom):
        sender = senders[kind]
        event = new_event()
        body = (event.encode() * (size // len(event) + 1))[:size]
        first = deliver(gateway, sender, event, body, chunked=chunked)
        assert first.status == 200, first
        assert upstream.last()["digest"] == hashlib.sha256(body).hexdigest()
        assert deliver(gateway, sender, event, body, chunked=chunked).replayed
        if size:
            changed = body[:-1] + b"?"
            refuses(gateway, upstream, sender, event, body=changed,
                    headers=sender.sign(event, body))


def test_an_event_id_in_a_large_body_is_found(gateway, upstream, senders):
    stripe = senders[Stripe]
    event = new_event()
    body = json.dumps({"data": "x" * 400_000, "id": event}).encode()
    assert deliver(gateway, stripe, event, body).status == 200
    assert upstream.last()["key"] == event


def test_several_secrets_at_once_for_rotation(start_gateway, upstream):
    for kind in SENDERS:
        old, new, gone = kind(), kind(OTHER_SECRET), kind("the one before the last, long retired")
        gateway = start_gateway(route(new, webhook={"secrets": [new.secret, old.secret]}))
        for sender in (old, new):
            assert deliver(gateway, sender, new_event()).status == 200
        refuses(gateway, upstream, gone, new_event())
        # The old one is taken away, without a restart.
        gateway.config["routes"][0]["webhook"]["secrets"] = [new.secret]
        assert gateway.reload()
        refuses(gateway, upstream, old, new_event())
        assert deliver(gateway, new, new_event()).status == 200
        gateway.stop()
        for sender in (old, new, gone):
            assert sender.secret not in gateway.stderr()


# --- one provider's own ----------------------------------------------------------------------


def test_standard_takes_any_of_several_signatures(start_gateway, upstream):
    ours, theirs, public = Standard(), Standard(OTHER_SECRET), StandardAsymmetric()
    gateway = start_gateway(route(ours, webhook={"secrets": [ours.secret, public.secret]}))
    event, now = new_event(), time.time()
    body = ours.body(event)
    signed = {kind: kind.sign(event, body, now) for kind in (ours, theirs, public)}

    def with_signatures(*parts):
        return {**signed[ours], "webhook-signature": " ".join(parts)}
    one, other, asymmetric = (s["webhook-signature"] for s in signed.values())
    for parts in ((other, one), (one, other), (other, asymmetric), ("v2,abc", one), (asymmetric,)):
        assert deliver(gateway, ours, event, headers=with_signatures(*parts)).status == 200
    assert upstream.effects() == 1
    wrong_kind = ("v1a," + one[3:], "v1," + asymmetric[4:])
    for parts in ((other,), (other, other), wrong_kind, ("v1, " + one[3:],)):
        refuses(gateway, upstream, ours, event, headers=with_signatures(*parts))


def test_stripe_takes_any_of_several_signatures(gateway, upstream, senders):
    stripe, stranger = senders[Stripe], Stripe(OTHER_SECRET)
    event, now = new_event(), time.time()
    body = stripe.body(event)
    at, ours = stripe.sign(event, body, now)["Stripe-Signature"].split(",")[:2]
    theirs = stranger.sign(event, body, now)["Stripe-Signature"].split(",")[1]
    for parts in ((at, theirs, ours), (ours, at), (at, ours, theirs), (at, ours.upper().replace(
            "V1=", "v1=")), (at + " ", " " + ours)):
        good = {"Stripe-Signature": ",".join(parts)}
        assert deliver(gateway, stripe, event, headers=good).status == 200
    assert upstream.effects() == 1
    for parts in ((at, theirs), (at, ours.replace("v1=", "v0=")), (ours,), (at, at, ours),
                  (at[:-1], ours)):
        bad = {"Stripe-Signature": ",".join(parts)}
        refuses(gateway, upstream, stripe, event, headers=bad)


@pytest.mark.parametrize("sender", [GitHub, Slack], indirect=True, ids=lambda k: k.__name__)
def test_hexadecimal_digits_may_be_upper_case(gateway, upstream, sender):
    event = new_event()
    headers = sender.sign(event, sender.body(event))
    prefix, digits = headers[sender.signature].split("=")
    headers[sender.signature] = f"{prefix}={digits.upper()}"
    assert deliver(gateway, sender, event, headers=headers).status == 200


def test_slack_may_verify_the_url_which_is_no_event(gateway, upstream, senders):
    slack = senders[Slack]
    body = json.dumps({"type": "url_verification", "challenge": new_event()}).encode()
    answer = deliver(gateway, slack, "", body, test="body=the-challenge")
    assert (answer.status, answer.body) == (200, b"the-challenge")
    assert deliver(gateway, slack, "", body).replayed
    assert upstream.effects() == 1


def test_shopify_has_an_older_name_for_the_id(gateway, upstream, senders):
    shopify = senders[Shopify]
    event = new_event()
    headers = shopify.sign(event, shopify.body(event))
    headers["X-Shopify-Webhook-Id"] = headers.pop("X-Shopify-Event-Id")
    assert deliver(gateway, shopify, event, headers=headers).status == 200


def test_a_custom_id_is_found_in_the_body_and_must_be_there(start_gateway, upstream):
    sender = Custom()
    options = {"signature_header": "X-Sig", "encoding": "hex", "id_pointer": "/meta/id"}
    gateway = start_gateway({"path": "/hooks/custom", "webhook": {
        "provider": "custom", "secrets": [sender.secret], **options}})

    def send(document):
        body = json.dumps(document).encode()
        digest = mac(sender.secret.encode(), body).hex()
        return gateway.post("/hooks/custom", body, headers={"X-Sig": digest})
    assert send({"meta": {"id": "e1"}, "try": 1}).status == 200
    assert send({"meta": {"id": "e1"}, "try": 2}).replayed
    assert upstream.effects() == 1 and upstream.last()["key"] == "e1"
    assert_problem(send({"meta": {}}), 400, "key-missing")
    assert_problem(send({"meta": {"id": 7}}), 400, "key-invalid")
    assert_problem(send({"meta": {"id": ""}}), 400, "key-invalid")
    assert_problem(send({"meta": {"id": "x" * 256}}), 400, "key-invalid")
    assert upstream.effects() == 1
    for _ in range(2):
        assert send({"total": 10 ** 30, "note": "\ud800", "meta": {"id": "e2"}}).status == 200
    assert upstream.effects() == 2 and upstream.last()["key"] == "e2"


# --- what makes two deliveries one event -----------------------------------------------------


@pytest.mark.parametrize("sender", [k for k in SENDERS if k.kept_by_id and k is not Custom],
                         indirect=True, ids=lambda kind: kind.__name__)
def test_trap_30_a_signed_id_decides_alone_whatever_the_body(gateway, upstream, sender):
    event = new_event()
    first = deliver(gateway, sender, event)
    changed = sender.body(event).replace(b"}", b', "pending_webhooks": 0}', 1)
    if changed.endswith(b"}}"):
        changed = sender.body(event) + b"\n"
    again = deliver(gateway, sender, event, changed)
    assert again.replayed and again.body == first.body
    path = "/hooks/" + type(sender).__name__.lower() + "?moved=1"
    retyped = {**sender.sign(event, changed), "Content-Type": "text/plain; charset=utf-8"}
    assert deliver(gateway, sender, event, changed, headers=retyped, path=path).replayed
    assert upstream.effects() == 1
    assert deliver(gateway, sender, new_event()).status == 200
    assert upstream.effects() == 2


@pytest.mark.parametrize("sender", [GitHub, Shopify], indirect=True, ids=lambda k: k.__name__)
def test_trap_30_an_id_outside_the_signature_decides_nothing(gateway, upstream, sender):
    """Otherwise an attacker who has seen one signed body could send it under ever new ids."""
    event = new_event()
    body = sender.body(event)
    first = deliver(gateway, sender, event, body)
    for forged in (new_event(), "", "x" * 300, new_event()):
        headers = {**sender.sign(event, body)}
        name = next(n for n in headers if n.endswith(("Delivery", "Event-Id")))
        headers[name] = forged
        again = deliver(gateway, sender, event, body, headers=headers)
        assert again.replayed and again.body == first.body
    assert upstream.effects() == 1
    # Another body is another event, also under a used id.
    other = sender.body(new_event())
    assert not deliver(gateway, sender, event, other).replayed
    assert upstream.effects() == 2


@pytest.mark.parametrize("sender", [GitHub, Shopify], indirect=True, ids=lambda k: k.__name__)
def test_an_invented_kind_does_not_make_a_new_event(gateway, upstream, sender):
    """The kind is not signed: whoever has one signed body could send it under ever new kinds."""
    event = new_event()
    headers = sender.sign(event, sender.body(event))
    name = next(n for n in headers if n.endswith(("-Topic", "GitHub-Event")))
    first = deliver(gateway, sender, event, headers=headers)
    for kind in ("orders/paid", "invented", "", "x" * 300):
        again = deliver(gateway, sender, event, headers={**headers, name: kind})
        assert again.replayed and again.body == first.body, kind
    without = {n: v for n, v in headers.items() if n != name}
    assert deliver(gateway, sender, event, headers=without).replayed
    assert upstream.effects() == 1
    assert_problem(deliver(gateway, sender, event, headers={**headers, name: ["a", "b"]}),
                   400, "key-invalid")


def test_kinds_that_the_route_lists_are_told_apart(start_gateway, upstream):
    """Shopify sends one order's bytes as orders/create and as orders/paid."""
    sender = Shopify()
    gateway = start_gateway({"path": "/hooks/shopify", "webhook": {
        "provider": "shopify", "secrets": [sender.secret],
        "kinds": ["orders/create", "orders/paid"]}})
    event = new_event()
    headers = sender.sign(event, sender.body(event))
    for kind in ("orders/create", "orders/paid", "invented", "orders/Paid", "orders/create"):
        deliver(gateway, sender, event, headers={**headers, "X-Shopify-Topic": kind})
    kinds = [field(r, "X-Shopify-Topic") for r in upstream.requests()]
    assert kinds == ["orders/create", "orders/paid", "invented"]


def test_a_key_that_the_sender_brings_along_means_nothing(gateway, upstream, senders, key):
    stripe = senders[Stripe]
    event = new_event()
    body = stripe.body(event)
    headers = {**stripe.sign(event, body), "Idempotency-Key": [key, "another"]}
    assert deliver(gateway, stripe, event, body, headers=headers).status == 200
    got = upstream.last()
    assert got["key"] == event and field(got, "Idempotency-Key") == f'"{event}"'
    assert deliver(gateway, stripe, event, body, headers={**stripe.sign(event, body),
                                                          "Idempotency-Key": "new"}).replayed
    assert upstream.effects() == 1


def test_the_same_id_on_two_routes_is_two_events(start_gateway, upstream):
    stripe = Stripe()
    gateway = start_gateway(route(stripe, "/a"), route(stripe, "/b"))
    event = new_event()
    for path in ("/a", "/b"):
        assert not deliver(gateway, stripe, event, path=path).replayed
    assert upstream.effects() == 2


# --- in flight, failures, and the rest of a route -------------------------------------------------


def test_a_duplicate_in_flight_waits_for_the_answer(gateway, upstream, sender):
    event = new_event()
    body = sender.body(event)
    first = Background(deliver, gateway, sender, event, body, test="gate=g-" + event)
    upstream.wait_effects(1)
    second = Background(deliver, gateway, sender, event, body)
    eventually(lambda: gateway.metrics()["semel_waiting"] == 1)
    assert not first.done and not second.done
    upstream.open_gate("g-" + event)
    assert first.result().status == second.result().status == 200
    assert second.result().replayed and second.result().body == first.result().body
    assert upstream.effects() == 1


def test_a_retry_outcome_lets_the_redelivery_execute(gateway, upstream, senders):
    stripe = senders[Stripe]
    event = new_event()
    assert deliver(gateway, stripe, event, test="status=503").status == 503
    assert deliver(gateway, stripe, event).status == 200
    assert [r["attempt"] for r in upstream.requests(event)] == ["1", "2"]


def test_an_unknown_outcome_is_held(gateway, upstream, senders):
    stripe = senders[Stripe]
    event = new_event()
    assert deliver(gateway, stripe, event, test="close=before").status == 502
    assert_problem(deliver(gateway, stripe, event), 409, "outcome-unknown")
    assert upstream.effects() == 1
    assert gateway.record(event)["tenant"] == "webhook"


def test_an_expired_event_is_not_gone_but_well(start_gateway, upstream):
    """Standard Webhooks has providers stop sending at a 410."""
    stripe = Stripe()
    gateway = start_gateway(route(stripe, ttl="1s", tombstone="1h"))
    event = new_event()
    assert deliver(gateway, stripe, event).status == 200
    let_pass(1.1)
    again = deliver(gateway, stripe, event)
    assert (again.status, again.body, again.replayed) == (200, b"", True)
    assert upstream.effects() == 1


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_nothing_but_post_gets_through(gateway, upstream, senders, method):
    stripe = senders[Stripe]
    event = new_event()
    body = b"" if method in ("GET", "HEAD", "TRACE") else stripe.body(event)
    with gateway.connect() as connection:
        answer = connection.request(method, "/hooks/stripe", body,
                                    headers=stripe.sign(event, body))
    assert answer.status == 405 and answer.header("Allow") == "POST"
    assert upstream.arrived() == 0


@pytest.mark.parametrize("target", [
    "/gh/../hooks/github", "/gh/%2e%2e/hooks/github", "/gh/.%2E/hooks/github", "/gh/..%2fhooks/github",
    "/gh/..%5Chooks/github", "/gh/..;/hooks/github", "/gh/%252e%252e/hooks/github",
    "/gh\\..\\hooks/github", "/hooks/%2e/github", "/hooks/./github"])
def test_no_spelling_of_a_path_gets_round_the_signature(start_gateway, upstream, target):
    """Semel sends the path that it has routed: the executor never reads it differently."""
    gateway = start_gateway({"path": "/gh/*", "methods": []}, route(GitHub()), {"path": "/*"})
    for method in ("POST", "GET"):
        assert_problem(gateway.request(method, target, b"{}"), 400, "bad-request")
    assert upstream.arrived() == 0


def test_the_policy_says_what_is_taken_and_no_more(gateway, senders):
    routes = gateway.get("/.semel/policy").json()["routes"]
    stripe = next(r for r in routes if r["path"] == "/hooks/stripe")
    assert stripe["webhook"] == {"provider": "stripe", "mode": "direct"}
    assert stripe["methods"] == ["POST"] and stripe["ttl_seconds"] == 7 * 24 * 3600
    assert "key" not in stripe and senders[Stripe].secret not in json.dumps(routes)


def test_events_survive_a_restart(start_gateway, upstream):
    github = GitHub()
    gateway = start_gateway(route(github))
    event = new_event()
    first = deliver(gateway, github, event)
    gateway.kill9()
    gateway.start()
    again = deliver(gateway, github, event)
    assert again.replayed and again.body == first.body and upstream.effects() == 1


def test_what_comes_too_large_is_not_read_to_its_end(start_gateway, upstream):
    github = GitHub()
    gateway = start_gateway(route(github, max_request_body="64KiB"))
    assert_problem(deliver(gateway, github, new_event(), b"x" * 70_000), 413, "body-too-large")
    assert upstream.arrived() == 0


def test_refusals_are_logged_without_the_secret_and_counted(start_gateway, upstream):
    sender = Standard()
    gateway = start_gateway(route(sender))
    refuses(gateway, upstream, sender, new_event(), headers={})
    assert gateway.result_count("hooks-standard", "refused") == 1
    eventually(lambda: "signature invalid" in gateway.stderr())
    assert sender.secret not in gateway.stderr() and sender.raw.decode() not in gateway.stderr()


def test_forged_events_do_not_fill_the_log(start_gateway, upstream):
    sender = Standard()
    gateway = start_gateway(route(sender))
    for _ in range(20):
        refuses(gateway, upstream, sender, new_event(), headers={})
    gateway.stop()
    # One line in ten seconds.
    assert 1 <= gateway.stderr().count("signature invalid") <= 4 * TIME_SCALE


def test_the_order_of_two_requests_on_a_connection_is_kept(gateway, upstream, senders):
    """A refused event leaves the connection fit for the next."""
    stripe = senders[Stripe]
    event = new_event()
    body = stripe.body(event)
    bad = request_bytes("POST", "/hooks/stripe", body, {"Stripe-Signature": "t=1,v1=00"})
    good = request_bytes("POST", "/hooks/stripe", body, stripe.sign(event, body))
    with gateway.connect() as connection:
        connection.send(bad + good)
        assert connection.read_response().status == 401
        assert connection.read_response().status == 200


def test_the_example_takes_events_of_every_provider(upstream):
    senders = {kind: kind() for kind in SENDERS}
    environment = {f"{kind.__name__.upper()}_SECRET": sender.secret
                   for kind, sender in senders.items()}
    environment |= {"SEMEL_LISTEN": "127.0.0.1:0", "SEMEL_ADMIN": "127.0.0.1:0",
                    "HANDLERS_URL": upstream.url, "PARTNER_SECRET": senders[Custom].secret,
                    "STANDARD_PUBLIC_KEY": senders[StandardAsymmetric].secret}
    gateway = Gateway(config_file=EXAMPLE, environment=environment).start()
    try:
        for kind, path in ((Standard, "standard"), (StandardAsymmetric, "standard"),
                           (Stripe, "stripe"), (GitHub, "github"), (Shopify, "shopify"),
                           (Slack, "slack")):
            answer = deliver(gateway, senders[kind], new_event(), path="/hooks/" + path)
            assert answer.status == (202 if kind in (GitHub, Shopify) else 200), (kind, answer)
        body, at = json.dumps({"event": {"id": new_event()}}).encode(), str(int(time.time()))
        digest = mac(senders[Custom].secret.encode(), at.encode() + b"." + body).hex()
        answer = gateway.post("/hooks/partner", body, headers={"X-Signature": "sha256=" + digest,
                                                               "X-Timestamp": at})
        assert answer.status == 200, answer
        upstream.wait_effects(7)
    finally:
        gateway.discard()
