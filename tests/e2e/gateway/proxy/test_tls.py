"""TLS on the listener: real clients, versions, certificates that change under open connections, and
ends of connections that mean something only if they were said."""

import socket
import ssl
import warnings

import pytest

from harness.clients.http_client import Connection, ConnectionEnded, request_bytes
from harness.semel import assert_replay, eventually, new_key

BODY = {"amount": 100}
ROUTES = [{"name": "charges", "path": "/v1/charges"}, {"path": "/*", "methods": []}]


@pytest.fixture(scope="module")
def gateway(module_gateway, certificates):
    gateway = module_gateway(*ROUTES, tls=certificates.server.files())
    gateway.tls = certificates.ca.client_context()
    return gateway


def test_a_keyed_request_over_tls_is_executed_once_and_replayed(gateway, upstream, key):
    first = gateway.post("/v1/charges", json=BODY, key=key)
    assert first.status == 200
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1
    assert ["X-Forwarded-Proto", "https"] in upstream.last(key)["headers"]


def test_one_session_serves_many_requests(gateway, upstream):
    with gateway.connect() as connection:
        assert connection.socket.version() == "TLSv1.3"
        assert connection.socket.selected_alpn_protocol() is None
        for _ in range(5):
            assert connection.request("POST", "/v1/charges", json=BODY, key=new_key()).status == 200
        connection.send(b"".join(request_bytes("GET", f"/p/{i}") for i in range(5)))  # pipelined
        for i in range(5):
            assert connection.read_response("GET").json()["path"] == f"/p/{i}"


def test_large_bodies_pass_both_ways(gateway, upstream, key):
    body = bytes(range(256)) * 16384  # 4 MiB: many records
    plain = gateway.post("/anything", body, test="echo")
    assert plain.body == body
    keyed = gateway.post("/v1/charges", body, key=key, test="size=900000")
    assert len(keyed.body) == 900000
    assert_replay(gateway.post("/v1/charges", body, key=key), keyed)
    assert upstream.last(key)["bytes"] == len(body)


def test_events_come_through_as_they_are_sent(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/v1/charges", json=BODY, key=key,
                                      test="sse=3; gates=e"))
        answer = connection.begin_response()
        answer.read_until(b"data: event 1")
        upstream.open_gate("e2")
        answer.read_until(b"data: event 2")
        upstream.open_gate("e3")
        upstream.open_gate("e-end")
        answer.finish()
    assert_replay(gateway.post("/v1/charges", json=BODY, key=key), answer)
    assert upstream.effects(key) == 1


def test_a_client_that_announces_its_body_is_told_to_continue(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/v1/charges", key=key, headers={
            "Expect": "100-continue", "Content-Length": "4"}))
        assert connection.line() == b"HTTP/1.1 100 Continue"
        connection.line()
        connection.send(b"body")
        assert connection.read_response().status == 200


LENIENT_OPENSSL = """
openssl_conf = conf
[conf]
ssl_conf = ssl
[ssl]
system_default = lenient
[lenient]
MinProtocol = TLSv1
CipherString = ALL:@SECLEVEL=0
"""


def test_versions_below_1_2_are_refused(start_gateway, certificates, upstream, tmp_path,
                                        monkeypatch):
    """By us, whatever the system's configuration of OpenSSL allows."""
    (tmp_path / "openssl.cnf").write_text(LENIENT_OPENSSL)
    monkeypatch.setenv("OPENSSL_CONF", str(tmp_path / "openssl.cnf"))
    gateway = start_gateway(*ROUTES, tls=certificates.server.files())

    def context(version):
        made = certificates.ca.client_context()
        made.set_ciphers("ALL:@SECLEVEL=0")  # so that it is not the client that refuses
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            made.minimum_version = made.maximum_version = version
        return made

    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        with gateway.connect(tls=context(version)) as connection:
            assert connection.request("GET", "/x").status == 200
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(ssl.SSLError, match="(?i)protocol.version"):
            gateway.connect(tls=context(version))
    assert upstream.arrived() == 2


def test_http_1_1_is_what_is_agreed_on_and_nothing_else(gateway, certificates):
    context = certificates.ca.client_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with gateway.connect(tls=context) as connection:
        assert connection.socket.selected_alpn_protocol() == "http/1.1"
    context.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match="NO_APPLICATION_PROTOCOL|no application protocol"):
        gateway.connect(tls=context)


def test_a_plain_request_gets_no_answer_and_reaches_nobody(gateway, upstream):
    with Connection(gateway.address) as connection:
        connection.send(request_bytes("POST", "/v1/charges", json=BODY, key=new_key()))
        while data := connection.some(1 << 16):
            assert b"HTTP/" not in data
    assert upstream.arrived() == 0


def test_a_stalled_handshake_delays_nobody_and_ends(start_gateway, certificates, upstream):
    gateway = start_gateway(*ROUTES, tls=certificates.server.files(), workers=1,
                            limits={"header_timeout": "500ms"})
    gateway.tls = certificates.ca.client_context()
    silent = [socket.create_connection(gateway.address) for _ in range(50)]
    begun = [socket.create_connection(gateway.address) for _ in range(50)]
    for one in begun:
        one.sendall(b"\x16\x03\x01\x02\x00\x01")  # the first bytes of a ClientHello
    assert gateway.post("/v1/charges", json=BODY, key=new_key()).status == 200
    for one in silent + begun:
        one.settimeout(10)
        try:
            while one.recv(4096):  # an alert may come before the end
                pass
        except ConnectionResetError:
            pass
        one.close()


def test_the_end_of_a_connection_is_said(gateway, upstream):
    """Without a goodbye a client cannot tell a whole answer from one that was cut off."""
    with gateway.connect() as connection:
        connection.send(request_bytes("GET", "/x", headers={"Connection": "close"}))
        assert connection.read_response("GET").status == 200
        assert connection.ended() and connection.said_goodbye


def test_an_answer_that_was_cut_off_ends_without_a_goodbye(gateway, upstream):
    """To an HTTP/1.0 client the end of the connection is the end of the answer."""
    with gateway.connect() as connection:
        wire = request_bytes("GET", "/x", test="sse=3; cut=2")
        connection.send(wire.replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = connection.read_response("GET")
        assert b"event 2" in answer.body and not connection.said_goodbye


def test_a_request_body_that_breaks_off_is_not_taken_for_whole(gateway, upstream, key):
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/v1/charges", b"half", key=key,
                                      headers={"Content-Length": "8"}))
        connection.reset()
    with gateway.connect() as connection:
        connection.send(request_bytes("POST", "/v1/charges", b"half", key=key,
                                      headers={"Content-Length": "8"}))
    assert gateway.post("/v1/charges", json=BODY, key=key).status == 200
    assert upstream.effects(key) == 1


def test_sighup_changes_the_certificate_and_drops_no_connection(start_gateway, certificates,
                                                                 upstream, key):
    tls = {"cert": "server.pem", "key": "server.key"}

    def install(folder, certificate):
        (folder / "server.pem").write_bytes(certificate.cert.read_bytes())
        (folder / "server.key").touch(mode=0o600)
        (folder / "server.key").write_bytes(certificate.key.read_bytes())

    gateway = start_gateway(*ROUTES, tls=certificates.server.files())
    gateway.tls = certificates.ca.client_context()
    install(gateway.folder, certificates.server)
    assert gateway.reload(tls=tls)
    with gateway.connect() as old:
        before = old.socket.getpeercert(binary_form=True)
        first = old.request("POST", "/v1/charges", json=BODY, key=key)
        install(gateway.folder, certificates.ca.issue("semel.test"))
        assert gateway.reload()
        with gateway.connect() as new:
            after = new.socket.getpeercert(binary_form=True)
            assert after != before
            assert_replay(new.request("POST", "/v1/charges", json=BODY, key=key), first)
        assert_replay(old.request("POST", "/v1/charges", json=BODY, key=key), first)

        # An unusable key or certificate changes nothing, and the log says why.
        (gateway.folder / "server.key").write_bytes(certificates.client.key.read_bytes())
        assert not gateway.reload()
        eventually(lambda: "server.key cannot be used: key values mismatch" in gateway.stderr())
        (gateway.folder / "server.pem").write_text("nonsense")
        assert not gateway.reload()
        eventually(lambda: "server.pem cannot be used" in gateway.stderr())
        with gateway.connect() as still:
            assert still.socket.getpeercert(binary_form=True) == after
        assert_replay(old.request("POST", "/v1/charges", json=BODY, key=key), first)
    assert upstream.effects(key) == 1


def test_a_bad_certificate_is_said_at_start(start_gateway, certificates, tmp_path):
    missing = {"cert": str(tmp_path / "missing.pem"), "key": str(certificates.server.key)}
    with pytest.raises(AssertionError, match="(?s)exit code 1.*missing.pem cannot be used"):
        start_gateway(*ROUTES, tls=missing)


def test_a_key_that_others_can_reach_is_refused_at_start(start_gateway, certificates, tmp_path):
    copy, link = tmp_path / "copy.key", tmp_path / "link.key"
    copy.write_bytes(certificates.server.key.read_bytes())
    copy.chmod(0o644)
    link.symlink_to(certificates.server.key)
    for key, said in ((copy, "copy.key: users other .* chmod 600"), (link, "link.key: is a symbolic link")):
        files = {"cert": str(certificates.server.cert), "key": str(key)}
        with pytest.raises(AssertionError, match=f"(?s)exit code 1.*{said}"):
            start_gateway(*ROUTES, tls=files)


def connected(gateway):
    try:
        return gateway.connect()
    except (ssl.SSLError, ConnectionError):
        return None


def test_too_many_connections_are_closed_before_their_handshake(start_gateway, certificates,
                                                                upstream):
    gateway = start_gateway(*ROUTES, tls=certificates.server.files(), limits={"connections": 1})
    gateway.tls = certificates.ca.client_context()
    with gateway.connect() as only:
        only.send(request_bytes("GET", "/x", test="gate=busy"))
        upstream.wait_arrived(1)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            gateway.connect()
        upstream.open_gate("busy")
        assert only.read_response("GET").status == 200
        # Idle, it makes room, as soon as the gateway has seen that it is.
        with eventually(lambda: connected(gateway)) as another:
            assert another.request("GET", "/x").status == 200
            assert only.ended() and only.said_goodbye


# --- certificates of clients ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def asking(module_gateway, certificates):
    return module_gateway(*ROUTES, tls={**certificates.server.files(),
                                        "client_ca": str(certificates.ca.cert)})


def is_refused(gateway, context):
    """Over TLS 1.3 a client learns only when it reads that its certificate was not taken."""
    try:
        with gateway.connect(tls=context) as connection:
            connection.request("POST", "/v1/charges", json=BODY, key=new_key())
    except (ssl.SSLError, ConnectionError, ConnectionEnded):
        return True
    return False


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_of_another_authority_is_refused(asking, certificates, upstream, version):
    context = certificates.ca.client_context(certificates.other_ca.issue("stranger"))
    context.maximum_version = version
    assert is_refused(asking, context)
    assert upstream.arrived() == 0


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed_but_not_where_a_certificate_is_to_be_looked_at(
        gateway, asking, certificates, upstream, version):
    for server, resumed in ((gateway, True), (asking, False)):
        context = certificates.ca.client_context(certificates.client)
        context.maximum_version = version
        with server.connect(tls=context) as first:
            assert first.request("GET", "/x").status == 200
            session = first.socket.session
        with socket.create_connection(server.address) as plain:
            with context.wrap_socket(plain, server_hostname="semel.test", session=session) as again:
                assert again.session_reused is resumed


def test_a_clients_certificate_is_optional_by_default(asking, certificates, upstream):
    for context in (certificates.ca.client_context(),
                    certificates.ca.client_context(certificates.client)):
        with asking.connect(tls=context) as connection:
            assert connection.request("GET", "/x").status == 200


def test_a_clients_certificate_can_be_required(start_gateway, certificates, upstream):
    gateway = start_gateway(*ROUTES, tls={**certificates.server.files(),
                                          "client_ca": str(certificates.ca.cert),
                                          "client_cert": "required"})
    with gateway.connect(tls=certificates.ca.client_context(certificates.client)) as connection:
        assert connection.request("GET", "/x").status == 200
    assert is_refused(gateway, certificates.ca.client_context())
    assert upstream.arrived() == 1
