"""TLS to upstreams: verified unless switched off, and a failed handshake is "not delivered"
(docs/spec.md 7): nothing was executed, and the same key may be tried again."""

import re
import ssl

import pytest

from harness.semel import assert_problem, assert_replay, eventually, new_key

BODY = {"amount": 100}


def route(url, **more):
    return {"name": "charges", "path": "/v1/charges", "upstream": url, **more}


def plain(url, **more):
    return {"path": "/*", "methods": [], "upstream": url, **more}


@pytest.fixture
def trusting(certificates):
    return {"upstream_tls": {"ca": str(certificates.ca.cert)}}


def test_requests_of_every_kind_pass_over_tls_on_both_sides(start_gateway, certificates, trusting,
                                                            upstream, key):
    url = upstream.listen_tls(certificates.upstream)
    gateway = start_gateway(route(url, **trusting), plain(url, **trusting), workers=1,
                            tls=certificates.server.files())
    gateway.tls = certificates.ca.client_context()
    first = gateway.post("/v1/charges", json=BODY, key=key)
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1
    assert upstream.last(key)["tls"] == "TLSv1.3"
    body = bytes(range(256)) * 8192
    assert gateway.post("/plain", body, chunked=True, test="echo").body == body
    events = gateway.post("/v1/charges", json=BODY, key=new_key(), test="sse=3")
    assert events.body.count(b"data: event") == 3
    assert gateway.get("/plain", test="nolength; size=100000").body.endswith(b"abcdef")
    assert len(gateway.get("/plain", test="chunked; size=3000000").body) == 3000000


def test_a_session_is_used_again(start_gateway, certificates, trusting, upstream):
    """Tickets that a TLS 1.3 server sends after the handshake do not make a connection unfit."""
    url = upstream.listen_tls(certificates.upstream)
    gateway = start_gateway(route(url, **trusting), plain(url, **trusting), workers=1)
    for _ in range(4):
        assert gateway.post("/v1/charges", json=BODY, key=new_key()).status == 200
        assert gateway.get("/plain").status == 200
    assert upstream.connections() == 1


def test_a_session_that_the_upstream_ended_is_not_used_again(start_gateway, certificates, trusting,
                                                             upstream):
    """DESIGN 6.15 and 6.32, over TLS: the end has arrived as bytes, not as the end of a stream."""
    url = upstream.listen_tls(certificates.upstream)
    gateway = start_gateway(route(url, **trusting), workers=1)
    for _ in range(4):
        answer = gateway.post("/v1/charges", json=BODY, key=new_key(), test="close=silent")
        assert answer.status == 200
        upstream.wait("open", 0, at_most=True)
    assert upstream.effects() == 4


@pytest.mark.parametrize("wrong", ["authority", "name"])
def test_an_upstream_that_cannot_prove_itself_gets_nothing_and_the_key_stays_good(
        start_gateway, certificates, trusting, upstream, key, store, wrong):
    bad = (certificates.other_ca.issue("liar", san="IP:127.0.0.1") if wrong == "authority"
           else certificates.ca.issue("elsewhere", san="DNS:elsewhere.test,IP:127.0.0.9"))
    url = upstream.listen_tls(bad)
    gateway = start_gateway(route(url, **trusting), plain(url, **trusting), store=store)
    answer = gateway.post("/v1/charges", json=BODY, key=key)
    problem = assert_problem(answer, 502, "upstream-unreachable")
    assert problem["new_key_safe"] is True and "same key" in problem["detail"]
    assert_problem(gateway.post("/plain", b"x"), 502, "upstream-unreachable")
    assert upstream.arrived() == 0
    eventually(lambda: "the certificate was not accepted" in gateway.stderr())

    upstream.listen_tls(certificates.upstream, port=int(url.rpartition(":")[2]))
    second = gateway.post("/v1/charges", json=BODY, key=key)
    assert second.status == 200 and upstream.last(key)["attempt"] == "2"
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), second)
    assert upstream.effects(key) == 1


def test_the_systems_authorities_are_believed_by_default(start_gateway, certificates, upstream,
                                                         key):
    gateway = start_gateway(route(upstream.listen_tls(certificates.upstream)))
    assert_problem(gateway.post("/v1/charges", json=BODY, key=key), 502, "upstream-unreachable")
    assert upstream.arrived() == 0


def test_verification_can_be_switched_off_and_that_is_said(start_gateway, certificates, upstream,
                                                           key):
    url = upstream.listen_tls(certificates.other_ca.issue("self", san="DNS:nobody"))
    gateway = start_gateway(route(url, upstream_tls={"verify": False}))
    assert gateway.post("/v1/charges", json=BODY, key=key).status == 200
    eventually(lambda: "verify: false: anyone between" in gateway.stderr())


def test_a_name_is_sent_and_looked_for_in_the_certificate(start_gateway, certificates, trusting,
                                                          upstream):
    url = upstream.listen_tls(certificates.upstream)
    by_name = url.replace("127.0.0.1", "localhost")
    gateway = start_gateway(route(by_name, **trusting),
                            {**route(url, **trusting), "name": "a", "path": "/address"})
    assert gateway.post("/v1/charges", json=BODY, key=new_key()).status == 200
    assert upstream.last()["sni"] == "localhost"
    assert gateway.post("/address", json=BODY, key=new_key()).status == 200
    assert upstream.last()["sni"] is None  # an address is no name


def test_server_name_stands_for_the_host(start_gateway, certificates, upstream, key):
    url = upstream.listen_tls(certificates.ca.issue("payments.internal"))
    gateway = start_gateway(route(url, upstream_tls={"ca": str(certificates.ca.cert),
                                                     "server_name": "payments.internal"}))
    assert gateway.post("/v1/charges", json=BODY, key=key).status == 200
    assert upstream.last()["sni"] == "payments.internal"


def test_our_certificate_is_shown_to_an_upstream_that_asks(start_gateway, certificates, trusting,
                                                           upstream, key):
    url = upstream.listen_tls(certificates.upstream, client_ca=certificates.ca.cert)
    shown = {"upstream_tls": {**trusting["upstream_tls"], **certificates.client.files()}}
    gateway = start_gateway(route(url, **shown))
    assert gateway.post("/v1/charges", json=BODY, key=key).status == 200
    assert ["commonName", "alice"] in upstream.last()["peer"]["subject"][0]


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_an_upstream_that_does_not_take_our_certificate_has_executed_nothing(
        start_gateway, certificates, trusting, raw_upstream, key, size):
    """With TLS 1.3 that shows only after the request was written; it is a TLS failure all the same."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.ca.cert)
    context.load_cert_chain(certificates.upstream.cert, certificates.upstream.key)
    context.verify_mode = ssl.CERT_REQUIRED
    attempts = []

    def script(peer, number):
        while request := peer.read_request():
            attempts.append(re.search(rb"Semel-Attempt: (\d+)", request)[1])
            peer.answer()

    started = raw_upstream(script, tls=context)
    gateway = start_gateway(route(started.url, **trusting))
    body = b"x" * size
    for _ in range(2):
        answer = gateway.post("/v1/charges", body, key=key)
        problem = assert_problem(answer, 502, "upstream-unreachable")
        assert problem["new_key_safe"] is True, problem
    assert not attempts and started.accepted == 2
    shown = {"upstream_tls": {**trusting["upstream_tls"], **certificates.client.files()}}
    assert gateway.reload(routes=[route(started.url, **shown)])
    assert gateway.post("/v1/charges", body, key=key).status == 200
    assert attempts == [b"3"]


def test_an_answer_that_ends_without_a_goodbye_is_not_whole(start_gateway, certificates, trusting,
                                                            raw_upstream, key):
    """Where the end of the connection is the end of the answer, anybody could have ended it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.upstream.cert, certificates.upstream.key)
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n0123456789"

    def script(peer, number):
        peer.read_request()
        peer.send(whole)
        if number == 2:
            peer.socket = peer.socket.unwrap()

    started = raw_upstream(script, tls=context)
    gateway = start_gateway(route(started.url, **trusting))
    assert_problem(gateway.post("/v1/charges", json=BODY, key=key), 502, "upstream-unreachable")
    assert_problem(gateway.post("/v1/charges", json=BODY, key=key), 409, "outcome-unknown")
    said = gateway.post("/v1/charges", json=BODY, key=new_key())
    assert said.status == 200 and said.body == b"0123456789"


def test_a_handshake_that_hangs_is_ended_by_connect_timeout(start_gateway, trusting, raw_upstream,
                                                            key):
    silent = raw_upstream(lambda peer, number: peer.wait_closed())
    gateway = start_gateway(route(silent.url.replace("http:", "https:"), connect_timeout="200ms",
                                  **trusting))
    answer = gateway.post("/v1/charges", json=BODY, key=key)
    assert assert_problem(answer, 502, "upstream-unreachable")["new_key_safe"] is True
    eventually(lambda: "handshake took too long" in gateway.stderr())


def test_new_files_are_taken_at_sighup(start_gateway, certificates, upstream, key):
    url = upstream.listen_tls(certificates.upstream)
    gateway = start_gateway({"path": "/none", "methods": []})
    ca = gateway.folder / "ca.pem"
    ca.write_bytes(certificates.other_ca.cert.read_bytes())
    assert gateway.reload(routes=[route(url, upstream_tls={"ca": str(ca)})])
    assert_problem(gateway.post("/v1/charges", json=BODY, key=key), 502, "upstream-unreachable")
    ca.write_bytes(certificates.ca.cert.read_bytes())
    assert gateway.reload()
    assert gateway.post("/v1/charges", json=BODY, key=key).status == 200
    ca.write_text("")
    assert not gateway.reload()
    assert gateway.post("/v1/charges", json=BODY, key=new_key()).status == 200
    assert upstream.effects(key) == 1
