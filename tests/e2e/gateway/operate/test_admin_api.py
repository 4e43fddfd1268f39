"""docs/spec.md 16: who may see and change what through the admin listener, and how much at once."""

import hashlib
import signal
import stat
import subprocess
import urllib.parse

import pytest

from harness.clients.http_client import Connection
from harness.semel import Gateway, binary, eventually, new_key

BODY = {"amount": 100}
TOKEN = "0123456789abcdef-alice"
OTHER = "fedcba9876543210-bob"


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "charges", "path": "/charges"},
                          {"name": "orders", "path": "/orders/{id}", "scope": "path"})


@pytest.fixture
def unknown(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    return gateway.record(key)["id"]


def tokens_file(folder, text, mode=0o600):
    path = folder / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


# --- tokens ---------------------------------------------------------------------------------------


def test_the_generated_token_is_private_and_stays(start_gateway):
    gateway = start_gateway({"path": "/charges"}, store="embedded")
    path = gateway.folder / "data" / "admin-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = gateway.admin_token()
    assert len(before) == 64
    gateway.restart()
    assert gateway.admin_token() == before


def test_changing_needs_a_token_also_on_loopback(gateway, upstream, key, unknown):
    target, decision = f"/api/keys/{unknown}/release", {"reason": "x"}
    without = gateway.admin(target, method="POST", json=decision)
    assert without.status == 401 and without.header("WWW-Authenticate").startswith("Bearer")
    for bad in ("wrong", gateway.admin_token()[:-1], gateway.admin_token() + "0", "admin"):
        assert gateway.change(target, decision, token=bad).status == 401
    basic = [("Authorization", "Basic " + gateway.admin_token())]
    assert gateway.admin(target, method="POST", json=decision, headers=basic).status == 401
    twice = [("Authorization", "Bearer " + gateway.admin_token())] * 2
    assert gateway.admin(target, method="POST", json=decision, headers=twice).status == 401
    assert gateway.admin("/api/keys/release", method="POST",
                         json={**decision, "where": {"key": key}}).status == 401
    assert gateway.record(key)["state"] == "unknown"
    assert gateway.change(target, decision).status == 200


def test_a_web_page_cannot_change_anything(gateway, upstream, key, unknown):
    """Requests that a browser sends across sites without a preflight are refused, even with a token."""
    target = f"/api/keys/{unknown}/release"
    token = [("Authorization", "Bearer " + gateway.admin_token())]
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        refused = gateway.admin(target, method="POST", body=b'{"reason":"x"}',
                                headers=[*token, ("Content-Type", kind)])
        assert refused.status == 415
    for host in ("evil.example", "127.0.0.1.evil.example", "[::2]:9090", "localhost.evil", "[::1"):
        for method in ("GET", "POST"):
            refused = gateway.admin(target if method == "POST" else "/api/keys", method=method,
                                    host=host, headers=token)
            assert refused.status == (400 if host == "[::1" else 421), host
    with Connection(gateway.admin_address) as connection:
        refused = connection.request("GET", "/api/keys", host=None)
        assert refused.status in (400, 421)
    assert gateway.record(key)["state"] == "unknown"


def test_tokens_have_names_and_may_be_given_as_digests(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    digest = hashlib.sha256(OTHER.encode()).hexdigest()
    path = tokens_file(gateway.folder, f"# who may\n\nalice {TOKEN}\nbob sha256:{digest}\n")
    gateway.restart(admin={"listen": "127.0.0.1:0", "tokens_file": path})
    for name, token in (("alice", TOKEN), ("bob", OTHER)):
        one = new_key()
        gateway.post("/charges", json=BODY, key=one, test="close=reset")
        target = f"/api/keys/{gateway.record(one)['id']}/release"
        assert gateway.change(target, {"reason": "y"}, token=digest).status == 401
        assert gateway.change(target, {"reason": "y"}, token=gateway.admin_token()).status == 401
        assert gateway.change(target, {"reason": "y"}, token=token).status == 200
        assert gateway.record(one)["history"][-1]["note"] == f"released by {name}: y"


def test_tokens_are_read_again_on_sighup(start_gateway, upstream, key):
    gateway = start_gateway({"name": "charges", "path": "/charges"})
    path = tokens_file(gateway.folder, f"alice {TOKEN}\n")
    gateway.restart(admin={"listen": "127.0.0.1:0", "tokens_file": path})
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    target = f"/api/keys/{gateway.record(key)['id']}/release"
    decision = {"reason": ""}  # bad, but only a known token is told so
    tokens_file(gateway.folder, f"bob {OTHER}\n")
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: gateway.change(target, decision, token=OTHER).status == 400)
    assert gateway.change(target, decision, token=TOKEN).status == 401
    tokens_file(gateway.folder, "bob\n")
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: "new admin tokens rejected" in gateway.stderr())
    assert gateway.change(target, decision, token=OTHER).status == 400


@pytest.mark.parametrize("text, mode, said", [
    (f"alice {TOKEN}\n", 0o644, "chmod 600"),
    (f"alice {TOKEN}\n", 0o620, "chmod 600"),
    (f"alice {TOKEN}\n", 0o640, "chmod 600"),
    ("alice short\n", 0o600, "line 1"),
    (f"alice {TOKEN}\nalice {OTHER}\n", 0o600, "line 2"),
    ("alice sha256:abc\n", 0o600, "line 1"),
    (f"# nobody\n", 0o600, "no token"),
    (f"ali/ce {TOKEN}\n", 0o600, "line 1"),
    (None, 0o600, "cannot be read"),
])
def test_a_bad_tokens_file_is_refused_at_the_start(upstream, text, mode, said):
    gateway = Gateway([{"path": "/*", "upstream": upstream.url}], store="memory")
    path = tokens_file(gateway.folder, text, mode) if text else str(gateway.folder / "none")
    gateway.config["admin"] = {"listen": "127.0.0.1:0", "tokens_file": path}
    try:
        with pytest.raises(AssertionError, match="exit code 1"):
            gateway.start()
        assert said in gateway.stderr() and TOKEN not in gateway.stderr()
    finally:
        gateway.discard()


def test_without_a_place_for_a_token_nothing_can_be_changed(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/charges"}, store="memory")
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    record = gateway.record(key)
    refused = gateway.change(f"/api/keys/{record['id']}/release", {"reason": "x"}, token=TOKEN)
    assert refused.status == 403 and "tokens_file" in refused.json()["detail"]
    path = tokens_file(gateway.folder, f"alice {TOKEN}\n")
    gateway.restart(admin={"listen": "127.0.0.1:0", "tokens_file": path})
    gateway.post("/charges", json=BODY, key=key, test="close=reset")
    assert gateway.change(f"/api/keys/{record['id']}/release", {"reason": "x"},
                          token=TOKEN).status == 200


def test_off_loopback_everything_but_health_and_the_pages_needs_a_token(start_gateway, upstream, key):
    gateway = start_gateway({"path": "/charges"}, store="embedded",
                            admin={"listen": "0.0.0.0:0"})
    token = [("Authorization", "Bearer " + gateway.admin_token())]
    for path in ("/healthz", "/readyz", "/"):  # the console's pages have no data in them
        assert gateway.admin(path).status == 200
    for path in ("/metrics", "/api/keys", "/elsewhere", "/api/keys/" + "0" * 64):
        assert gateway.admin(path).status == 401
        assert gateway.admin(path, headers=token).status in (200, 404)
        assert gateway.admin(path, headers=token, host="gateway.internal").status in (200, 404)


# --- looking --------------------------------------------------------------------------------------


def test_what_is_shown_and_what_is_not(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key, test="size=1000; header.X-Kept=yes",
                 headers=[("traceparent", "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01")])
    record = gateway.record(key)
    assert record["state"] == "completed" and record["attempt"] == 1
    assert (record["tenant"], record["operation"], record["key"]) == ("", "charges", key)
    assert record["answer"]["status"] == 200 and record["answer"]["body_bytes"] == 1000
    assert ["X-Kept", "yes"] in record["answer"]["headers"]
    assert record["owner"]["node"] and record["result"] == "succeeded"
    assert record["expires_at"] > record["created_at"] and record["trace"].startswith("00-abab")
    assert [h["note"] for h in record["history"]] == ["claimed", "status 200"]
    text = gateway.admin(f"/api/keys/{record['id']}").body.decode()
    forwarded = upstream.last(key)
    assert "token" not in text and "handle" not in text and "amount" not in text
    assert dict(forwarded["headers"])["Semel-Record"] == record["id"]


def test_looking_up_by_tenant_operation_and_key_reads_one_record(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key)
    found = gateway.admin(f"/api/keys?tenant=&operation=charges&key={key}").json()
    assert found["examined"] == 1 and [k["key"] for k in found["keys"]] == [key]
    other = gateway.admin(f"/api/keys?tenant=x&operation=charges&key={key}").json()
    assert other["keys"] == []
    wrong_state = gateway.admin(f"/api/keys?tenant=&operation=charges&key={key}&state=unknown")
    assert wrong_state.json()["keys"] == []


def test_an_operation_scoped_by_path_is_found_by_its_name(gateway, upstream, key):
    gateway.post("/orders/17", json=BODY, key=key)
    for operation in ("orders", "orders\t/orders/17"):
        query = urllib.parse.urlencode({"tenant": "", "operation": operation, "key": key})
        [found] = gateway.admin(f"/api/keys?{query}").json()["keys"]
        assert (found["operation"], found["scope_path"]) == ("orders", "/orders/17")


def test_a_key_with_odd_characters_is_found(gateway, upstream):
    odd = "a b+c&d=%41/" + new_key()
    gateway.post("/charges", json=BODY, key=f'"{odd}"')
    query = urllib.parse.urlencode({"tenant": "", "operation": "charges", "key": odd})
    assert [k["key"] for k in gateway.admin(f"/api/keys?{query}").json()["keys"]] == [odd]


def test_text_that_is_not_utf8_does_not_spoil_the_json(start_gateway, upstream):
    gateway = start_gateway({"name": "charges", "path": "/charges"}, trusted_proxies=["127.0.0.1"],
                            tenant={"from": "header", "name": "X-Tenant"})
    # As bytes on the wire: Latin-1 or nothing at all, ASCII, and UTF-8, which is shown as it is.
    keys = {"ten\xff": new_key(), "ann": new_key(), "J\xc3\xb6rg": new_key()}
    for tenant, one in keys.items():
        answer = gateway.post("/charges", json=BODY, key=one, headers=[("X-Tenant", tenant)],
                              test="header.X-Name=J%F6rg")
        assert answer.status == 200
    listed = gateway.admin("/api/keys").json()["keys"]
    assert {k["tenant"]: k["key"] for k in listed} == {
        r"ten\xff": keys["ten\xff"], "ann": keys["ann"], "Jörg": keys["J\xc3\xb6rg"]}
    assert [k["key"] for k in gateway.admin("/api/keys?tenant=ten%FF").json()["keys"]] == [
        keys["ten\xff"]]
    record = gateway.record(keys["ten\xff"])
    assert record["tenant"] == r"ten\xff"
    assert ["X-Name", r"J\xf6rg"] in record["answer"]["headers"]
    printed = gateway.keys("ls")
    assert printed.returncode == 0, printed
    assert all(one.encode() in printed.stdout for one in keys.values())


def test_pages_are_whole_and_without_repetition(start_gateway, upstream, store):
    gateway = start_gateway({"path": "/charges", "name": "charges"}, store=store)
    keys = {new_key() for _ in range(25)}
    with gateway.connect() as connection:
        for one in keys:
            connection.request("POST", "/charges", json=BODY, key=one)
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        answer = gateway.admin("/api/keys?limit=7" + (f"&cursor={cursor}" if cursor else "")).json()
        assert len(answer["keys"]) <= 7
        seen += [k["key"] for k in answer["keys"]]
        cursor, pages = answer["next"], pages + 1
    assert sorted(seen) == sorted(keys) and pages >= 4
    assert gateway.admin("/api/keys?older=1h").json()["keys"] == []
    assert len(gateway.admin("/api/keys?newer=1h&operation=charges").json()["keys"]) == 25


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "limit=", "cursor=x",
                                   "state=done", "older=tomorrow", "stat=unknown", "key=%4",
                                   "key=%zz"])
def test_a_bad_query_is_refused(gateway, query):
    answer = gateway.admin(f"/api/keys?{query}")
    assert answer.status == 400 and answer.json()["detail"]


@pytest.mark.parametrize("path, status", [
    ("/api/keys/" + "0" * 64, 404), ("/api/keys/short", 400), ("/api/keys/" + "0" * 65, 400),
    ("/api/keys/" + "F" * 64, 400), ("/api/keys/", 400), ("/api", 404), ("/api/keysx", 404)])
def test_a_record_that_is_not_there(gateway, path, status):
    assert gateway.admin(path).status == status


def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(gateway, upstream, key):
    gateway.post("/charges", json=BODY, key=key)
    record = gateway.record(key)
    assert gateway.admin(f"/api/keys/{record['id'][:12]}").json()["id"] == record["id"]
    assert gateway.admin(f"/api/keys/{record['id'][:7]}").status == 400


# --- what a decision may say ----------------------------------------------------------------------


@pytest.mark.parametrize("path, decision", [
    ("release", {}),
    ("release", {"reason": ""}),
    ("release", {"reason": "  "}),
    ("release", {"reason": 7}),
    ("release", {"reason": "x" * 501}),
    ("release", {"reason": "a\nb"}),
    ("release", {"reason": "x", "force": "yes"}),
    ("release", {"reason": "x", "answer": {"status": 200}}),
    ("release", {"reason": "x", "where": {"state": "unknown"}}),
    ("resolve", {"reason": "x"}),
    ("resolve", {"reason": "x", "answer": {}}),
    ("resolve", {"reason": "x", "answer": {"status": 100}}),
    ("resolve", {"reason": "x", "answer": {"status": 600}}),
    ("resolve", {"reason": "x", "answer": {"status": 204, "body": "x"}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "body": "x", "body_base64": "eA=="}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "body_base64": "not base64"}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "body_base64": "eA="}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "headers": {"A": "b\r\nC: d"}}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "headers": {"A\r\nB": "c"}}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "headers": {"Content-Length": "1"}}}),
    ("resolve", {"reason": "x",
                 "answer": {"status": 200, "headers": [["Transfer-Encoding", "chunked"]]}}),
    ("resolve", {"reason": "x",
                 "answer": {"status": 200, "headers": {"Idempotency-Replayed": "false"}}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "headers": [["A"]]}}),
    ("resolve", {"reason": "x", "answer": {"status": 200, "heads": {}}}),
])
def test_a_bad_decision_changes_nothing(gateway, upstream, key, unknown, path, decision):
    refused = gateway.change(f"/api/keys/{unknown}/{path}", decision)
    assert refused.status == 400 and refused.json()["detail"], refused
    assert gateway.record(key)["state"] == "unknown"


@pytest.mark.parametrize("decision", [
    {"reason": "x"}, {"reason": "x", "where": {}}, {"where": {"state": "unknown"}},
    {"reason": "x", "where": {"sate": "unknown"}}, {"reason": "x", "where": []},
    {"reason": "x", "where": {"state": "unknown"}, "limit": 1001},
    {"reason": "x", "where": {"state": "unknown"}, "cursor": "x"}])
def test_a_bad_decision_about_many_changes_nothing(gateway, upstream, key, unknown, decision):
    assert gateway.change("/api/keys/release", decision).status == 400
    assert gateway.record(key)["state"] == "unknown"


def test_a_body_that_is_no_json_or_too_large_is_refused(gateway, upstream, key, unknown):
    headers = [("Authorization", "Bearer " + gateway.admin_token()),
               ("Content-Type", "application/json")]
    target = f"/api/keys/{unknown}/release"
    for body in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000):
        refused = gateway.admin(target, method="POST", body=body, headers=headers)
        assert refused.status == 400, refused
    with Connection(gateway.admin_address) as connection:
        head = (f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 30}\r\n"
                + "".join(f"{n}: {v}\r\n" for n, v in headers) + "\r\n").encode()
        connection.send(head)
        try:
            for _ in range(20):
                connection.send(b" " * (1 << 20))
        except ConnectionError:
            pass
        assert connection.read_response().status == 413
    assert gateway.record(key)["state"] == "unknown"


def test_nobody_without_a_token_makes_it_read_a_body(gateway, upstream, unknown):
    with Connection(gateway.admin_address) as connection:
        connection.send(f"POST /api/keys/{unknown}/release HTTP/1.1\r\nHost: localhost\r\n"
                        f"Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n".encode())
        assert connection.read_response().status == 401


def test_help_says_what_the_exit_codes_mean():
    for command in (("keys",), ("keys", "ls"), ("keys", "show"), ("keys", "resolve"),
                    ("keys", "release")):
        done = subprocess.run([binary(), *command, "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and "4 refused" in done.stdout
