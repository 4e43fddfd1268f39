"""How often and when `semel call` tries, against a server that cuts, delays, lies and refuses: the number of tries, the
one key that all of them have, and the exit code."""

import datetime
import email.utils
import signal
import time

import pytest

from harness.clients.semel_call import Call, call, call_json, key_of

UNKNOWN = b'{"code":"outcome-unknown","new_key_safe":false}'
IN_PROGRESS = b'{"code":"in-progress","new_key_safe":false}'
ANSWER = b"HTTP/1.1 201 Made\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nmade"
CHUNKED = b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nmade\r\n0\r\n\r\n"


class Script:
    """Answers the n-th request by the n-th step, the last one for ever; keeps the requests."""

    def __init__(self, *steps):
        self.steps, self.requests = steps, []

    def __call__(self, peer, _):
        while request := peer.read_request():
            self.requests.append(request)
            step = self.steps[min(len(self.requests), len(self.steps)) - 1]
            if step(peer) is False:
                return

    def keys(self):
        return {key_of(request) for request in self.requests}


def answers(status=201, body=b"made", headers=""):
    return lambda peer: peer.answer(body, status, headers)


def cuts(data, at):
    def step(peer):
        peer.send(data[:at])
        return False
    return step


def resets(peer):
    peer.reset()
    return False


def is_silent(peer):
    peer.wait_closed()
    return False


@pytest.fixture
def serve(raw_upstream):
    def start(*steps, **options):
        script = Script(*steps)
        script.url = raw_upstream(script, **options).url + "/v1/charges"
        return script
    return start


def test_an_answer_is_printed_with_its_key(serve):
    server = serve(answers())
    done = call("POST", server.url, "-d", '{"amount":1}', "-H", "X-Who: me")
    assert (done.code, done.out) == (0, "made")
    [key] = server.keys()
    assert f"answered: 201; 1 try" in done.errors and f"key {key}" in done.errors
    assert len(key) == 36 and key[14] == "4"
    assert b"\r\nX-Who: me\r\n" in server.requests[0] and server.requests[0].endswith(b'\r\n\r\n{"amount":1}')


@pytest.mark.parametrize("whole", [ANSWER, CHUNKED], ids=["length", "chunked"])
def test_an_answer_that_is_cut_anywhere_is_asked_for_again_with_the_same_key(serve, whole):
    # tests/client/answer_reader_test.cc tries every byte.
    for at in [*range(0, len(whole), 7), *range(len(whole) - 3, len(whole))]:
        server = serve(cuts(whole, at), lambda peer: peer.send(whole))
        done = call("POST", server.url, "-d", "x", "--key", "k-1", "-q")
        assert (done.code, done.out) == (0, "made"), at
        assert server.keys() == {"k-1"} and len(server.requests) == 2


def test_resets_and_closed_connections_are_retried_and_counted(serve):
    server = serve(resets, cuts(b"", 0), answers())
    code, sent = call_json("POST", server.url, "-d", "x")
    assert (code, sent["tries"], sent["end"]) == (0, 3, "answered")
    assert server.keys() == {sent["key"]} and len(server.requests) == 3


def test_an_idle_connection_that_breaks_is_tried_again_at_once_and_counted(serve):
    # The second request goes out on the first one's connection. Nothing below the rules sends it again.
    server = serve(answers(409, IN_PROGRESS, "Retry-After: 0\r\n"), resets, answers())
    done = call("POST", server.url, "-d", "x", "--key", "k-1", "-v")
    first, second, third, _ = done.errors.splitlines()
    assert done.code == 0 and len(server.requests) == 3 and server.keys() == {"k-1"}
    assert "try 2: " in second and second.endswith("again in 0.000 s") and "try 3: 201" in third


def test_a_host_that_cannot_be_found():
    code, sent = call_json("POST", "http://no-such-host.invalid/", "--deadline", "20s", "--tries", "2")
    assert code == 75 and sent["status"] == 0 and sent["new_key_safe"] and "no-such-host.invalid" in sent["why"]


def test_garbage_is_no_answer(serve):
    server = serve(cuts(b"220 mail ready\r\n\r\n", 18), answers())
    assert call_json("POST", server.url)[1]["tries"] == 2


def test_a_timeout_is_retried_and_the_deadline_ends_it(serve):
    server = serve(is_silent, answers())
    assert call_json("POST", server.url, "--timeout", "300ms")[1]["tries"] == 2
    server = serve(is_silent)
    begun = time.monotonic()
    code, sent = call_json("POST", server.url, "--timeout", "400ms", "--deadline", "1s")
    assert time.monotonic() - begun < 3
    assert (code, sent["end"], sent["same_key_may_retry"], sent["new_key_safe"]) == (75, "gave_up", True, False)
    assert len(server.requests) == sent["tries"] and "deadline" in sent["why"]


def test_eight_tries_and_no_more(serve):
    server = serve(answers(409, IN_PROGRESS, "Retry-After: 0\r\n"))
    code, sent = call_json("POST", server.url, "-d", "x")
    assert (code, sent["end"], sent["tries"]) == (75, "gave_up", 8)
    assert len(server.requests) == 8 and server.keys() == {sent["key"]}
    assert sent["same_key_may_retry"] and not sent["new_key_safe"]


def test_retry_after_in_seconds_is_a_floor(serve):
    server = serve(answers(429, b"", "Retry-After: 1\r\n"), answers())
    code, sent = call_json("POST", server.url)
    assert (code, sent["tries"]) == (0, 2) and sent["seconds"] >= 1


def test_retry_after_as_a_date_counts_from_the_servers_clock(serve):
    # The server's clock is years behind; what counts is the second between its two dates.
    before = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)
    dates = [email.utils.format_datetime(before + datetime.timedelta(seconds=s), usegmt=True) for s in (0, 1)]
    server = serve(answers(503, b"", f"Date: {dates[0]}\r\nRetry-After: {dates[1]}\r\n"), answers())
    code, sent = call_json("POST", server.url)
    assert (code, sent["tries"]) == (0, 2) and 1 <= sent["seconds"] < 10


@pytest.mark.parametrize("asked", ["61", "409600", "99999999999999999999"])
def test_a_longer_retry_after_ends_the_call_and_is_said(serve, asked):
    server = serve(answers(503, b"", f"Retry-After: {asked}\r\n"))
    code, sent = call_json("POST", server.url)
    assert (code, sent["tries"], sent["end"]) == (75, 1, "gave_up")
    assert "retry_at" in sent and "60 s" in sent["why"]


@pytest.mark.parametrize("lie", ["soon", "-5", "1.5", "Sun, 32 Foo 2026 99:99:99 GMT"])
def test_a_retry_after_that_is_none_is_ignored(serve, lie):
    server = serve(answers(409, IN_PROGRESS, f"Retry-After: {lie}\r\n"), answers())
    assert call_json("POST", server.url)[1]["tries"] == 2


@pytest.mark.parametrize("status, body, code, end", [
    (400, b"{}", 65, "refused"), (410, b"{}", 65, "refused"),
    (422, b'{"code":"key-reused","new_key_safe":true}', 65, "refused"),
    (409, b'{"error":{"code":"key-reused","new_key_safe":true}}', 65, "refused"),
    (401, b"{}", 22, "answered"), (404, b"{}", 22, "answered"), (501, b"{}", 22, "answered"),
    (409, UNKNOWN, 70, "unknown"), (204, b"", 0, "answered")])
def test_final_answers_are_not_retried(serve, status, body, code, end):
    server = serve(answers(status, body))
    got, sent = call_json("POST", server.url)
    assert (got, sent["end"], sent["tries"], sent["status"]) == (code, end, 1, status)
    assert len(server.requests) == 1
    assert sent["new_key_safe"] == (b"true" in body)


def test_unknown_says_that_a_new_key_must_not_be_used(serve):
    done = call("POST", serve(answers(409, UNKNOWN)).url)
    assert done.code == 70
    assert "it may have happened; the same key may be tried later, a new one must not" in done.errors


def test_the_servers_hint_wins(serve):
    server = serve(answers(503, b"", "Stripe-Should-Retry: false\r\n"))
    assert call("POST", server.url).code == 22 and len(server.requests) == 1
    server = serve(answers(402, b"", "Stripe-Should-Retry: true\r\n"), answers())
    assert call("POST", server.url).code == 0 and len(server.requests) == 2


def test_a_kept_failure_is_not_asked_for_again(serve):
    server = serve(answers(500, b"", "Idempotency-Replayed: true\r\n"))
    code, sent = call_json("POST", server.url)
    assert (code, sent["end"], len(server.requests)) == (22, "replayed", 1)


def test_without_a_key_a_post_is_sent_once(serve):
    server = serve(resets)
    code, sent = call_json("POST", server.url, "-d", "x", "--no-key")
    assert (code, sent["end"], sent["same_key_may_retry"], sent["new_key_safe"]) == (70, "unknown", False, False)
    assert len(server.requests) == 1 and server.keys() == {None}
    server = serve(answers(503, b""))
    assert call("POST", server.url, "--no-key").code == 22 and len(server.requests) == 1


def test_without_a_key_idempotent_methods_are_repeated(serve):
    for method in ("GET", "PUT", "DELETE"):
        server = serve(resets, answers())
        assert call(method, server.url, "--no-key").code == 0 and len(server.requests) == 2
    server = serve(answers())
    assert call("GET", server.url).code == 0 and server.keys() == {None}  # needs none


def test_an_unprotected_answer_is_not_retried(serve):
    server = serve(answers(502, b"", "Idempotency-Degraded: true\r\n"))
    code, sent = call_json("POST", server.url)
    assert (code, sent["end"], sent["same_key_may_retry"]) == (70, "unknown", False) and len(server.requests) == 1


def test_nobody_listening(raw_upstream):
    url = raw_upstream(None, listening=False).url
    code, sent = call_json("POST", url, "--tries", "3")
    assert (code, sent["tries"], sent["status"]) == (75, 3, 0)
    assert sent["new_key_safe"] and sent["same_key_may_retry"]  # nothing was sent


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_wait_at_once(serve, number):
    for step in (is_silent, answers(429, b"", "Retry-After: 30\r\n")):
        server = serve(step)
        running = Call("POST", server.url, "--key", "k-1")
        while not server.requests:
            time.sleep(0.01)
        begun = time.monotonic()
        running.process.send_signal(number)
        done = running.end()
        assert time.monotonic() - begun < 2
        assert done.code == 130 and "interrupted" in done.errors and "--key 'k-1'" in done.errors


def test_each_try_is_a_line_and_the_key_is_shortened(serve):
    server = serve(answers(503, b'{"code":"overloaded"}', "Retry-After: 0\r\n"), answers())
    done = call("POST", server.url, "-v", "-q", "-H", "Authorization: Bearer sesame", "--key", "order-1001-secret")
    first, second = done.errors.splitlines()
    assert first.startswith("semel: try 1: 503 overloaded; ") and "again in" in first
    assert second.startswith("semel: try 2: 201; ")
    assert "sesame" not in done.errors and "order-10" in first and "order-1001-secret" not in done.errors


def test_the_key_is_sent_as_it_was_given(serve):
    server = serve(answers())
    assert call("POST", server.url, "--key", 'a"b\\c').code == 0
    assert b'\r\nIdempotency-Key: "a\\"b\\\\c"\r\n' in server.requests[0]
    assert call("POST", server.url, "--key", "abc", "--bare", "--key-header", "X-Key").code == 0
    assert b"\r\nX-Key: abc\r\n" in server.requests[1]
    assert call("POST", server.url, "--key-format", "v7").code == 0
    assert key_of(server.requests[2])[14] == "7"


@pytest.mark.parametrize("arguments, word", [
    (["POST", "ftp://h/"], "http://"), (["POST", "http://u:p@h/"], "Authorization"), (["POST"], "URL"),
    (["POST", "http://h/", "--key", "a\nb"], "ASCII"), (["POST", "http://h/", "--key", "k" * 256], "255"),
    (["POST", "http://h/", "--key", "a", "--no-key"], "one of"), (["POST", "http://h/", "--name", "a"], "--key-file"),
    (["POST", "http://h/", "-H", "Idempotency-Key: a"], "key"), (["POST", "http://h/", "-H", "secret"], "Name: value"),
    (["POST", "http://h/", "--deadline", "soon"], "--deadline"), (["POST", "http://h/", "-d", "@/no/such"], "cannot be read")])
def test_bad_usage_sends_nothing_and_says_what_to_do(arguments, word):
    done = call(*arguments)
    assert done.code == 2 and word in done.errors and "secret" not in done.errors
