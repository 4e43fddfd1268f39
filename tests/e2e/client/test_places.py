"""Where `semel call` sends a request and its key: TLS with a verified name, redirects within one origin only, and a
status resource after 202."""

import ssl
import time

import pytest

from harness.clients.certificates import Authority
from harness.clients.semel_call import call, call_json, key_of


def answering(*answers):
    """A script that gives the answers in turn, and the list of requests that it fills."""
    requests = []

    def script(peer, _):
        while request := peer.read_request():
            requests.append(request)
            status, body, headers = answers[min(len(requests), len(answers)) - 1]
            peer.answer(body, status, headers)
    return script, requests


def test_a_redirect_within_the_origin_keeps_method_body_and_key(raw_upstream):
    script, requests = answering((307, b"", "Location: /v2/charges\r\n"), (308, b"", "Location: /v3\r\n"), (201, b"made", ""))
    done = call("POST", raw_upstream(script).url + "/v1", "-d", "body", "--key", "k-1")
    assert (done.code, done.out) == (0, "made") and "1 try" in done.errors
    assert [request.split()[1] for request in requests] == [b"/v1", b"/v2/charges", b"/v3"]
    assert all(key_of(request) == "k-1" and request.endswith(b"\r\n\r\nbody") for request in requests)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_to_another_origin(raw_upstream, status):
    other_script, other_requests = answering((200, b"stolen", ""))
    other = raw_upstream(other_script).url
    for method in ("POST", "GET"):
        script, requests = answering((status, b"", f"Location: {other}/\r\n"))
        done = call(method, raw_upstream(script).url, "-H", "Authorization: Bearer secret")
        assert done.code == 22 and "not followed" in done.errors and len(requests) == 1
    assert other_requests == []


def test_a_post_is_not_turned_into_a_get(raw_upstream):
    script, requests = answering((303, b"", "Location: /done\r\n"))
    assert call("POST", raw_upstream(script).url).code == 22 and len(requests) == 1
    script, requests = answering((303, b"", "Location: /done\r\n"), (200, b"ok", ""))
    assert call("GET", raw_upstream(script).url).code == 0 and len(requests) == 2


def test_redirects_in_a_circle_end(raw_upstream):
    script, requests = answering((307, b"", "Location: /\r\n"))
    assert call("POST", raw_upstream(script).url).code == 22 and len(requests) == 6


def test_a_status_resource_is_followed(raw_upstream):
    pending = (202, b"", "Location: /status/1\r\nRetry-After: 0\r\n")
    script, requests = answering(pending, pending, (503, b"", "Retry-After: 0\r\n"), (200, b"done", ""))
    url = raw_upstream(script).url
    done = call("POST", url, "-d", "x", "-H", "Authorization: Bearer t", "--follow")
    assert (done.code, done.out) == (0, "done")
    assert [request.split()[:2] for request in requests] == [[b"POST", b"/"]] + 3 * [[b"GET", b"/status/1"]]
    assert all(b"Bearer t" in request for request in requests)
    assert [key_of(request) is None for request in requests] == [False, True, True, True]


def test_following_ends_with_the_deadline(raw_upstream):
    script, _ = answering((202, b"", "Location: /status/1\r\nRetry-After: 0\r\n"))
    begun = time.monotonic()
    code, sent = call_json("POST", raw_upstream(script).url, "--follow", "--deadline", "500ms")
    assert time.monotonic() - begun < 5
    assert (code, sent["end"], sent["same_key_may_retry"], sent["new_key_safe"]) == (75, "gave_up", True, False)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "ca")


def server_context(authority, **issued):
    certificate = authority.issue("server", **issued)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.cert, certificate.key)
    return context


def test_tls_is_verified_and_an_answer_without_its_end_is_asked_for_again(raw_upstream, authority):
    def script(peer, number):
        peer.read_request()
        if number == 1:
            peer.send(b"HTTP/1.1 201 Made\r\n\r\nhalf")
            peer.reset()
        else:
            peer.answer(b"whole", 201)
            peer.read_request()
    url = raw_upstream(script, tls=server_context(authority, san="IP:127.0.0.1")).url
    code, sent = call_json("POST", url, "--cacert", authority.cert)
    assert (code, sent["body"], sent["tries"]) == (0, "whole", 2)


@pytest.mark.parametrize("name, trusted", [("DNS:other.example", True), ("IP:127.0.0.1", False)])
def test_a_wrong_certificate_is_not_retried_and_nothing_is_sent(raw_upstream, authority, name, trusted):
    requests = []
    url = raw_upstream(lambda peer, _: requests.append(peer.read_request()), tls=server_context(authority, san=name)).url
    code, sent = call_json("POST", url, *(["--cacert", authority.cert] if trusted else []))
    assert (code, sent["tries"], sent["status"]) == (75, 1, 0) and "certificate" in sent["why"]
    assert sent["new_key_safe"] and [request for request in requests if request] == []


def test_a_server_without_tls_is_not_retried(raw_upstream):
    def script(peer, _):
        peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        peer.wait_closed()
    code, sent = call_json("POST", raw_upstream(script).url.replace("http:", "https:"))
    assert (code, sent["tries"]) == (75, 1) and "TLS" in sent["why"]
