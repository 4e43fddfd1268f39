"""Request bodies in memory: 512 MiB for all callers, of which one tenant or one peer gets three quarters. The last
quarter is for the others (docs/configuration.md, "Shares")."""


import pytest

from harness.semel import Background, assert_problem, eventually, new_key

KIB, MIB = 1 << 10, 1 << 20
SHARE = 384 * MIB
BODY = b"x" * (256 * KIB)  # a larger one would lie in a file
FEWEST = SHARE // (2 * len(BODY))  # a body's buffer has at most twice its size
MOST = SHARE // len(BODY)
MODEST = 16
# Needs fewer than 4096 files, and nobody is too slow for it.
LIMITS = {"connections": 3000, "in_flight": 64, "body_timeout": "5m"}


def begin_upload(gateway, token):
    """Sends all of a body but its last byte."""
    connection = gateway.connect()
    connection.send(f"POST /up HTTP/1.1\r\nHost: semel.test\r\nIdempotency-Key: {new_key()}\r\n"
                    f"Authorization: Bearer {token}\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY[:-1])
    return connection


def greedy(kind):
    """Returns the token for the greedy caller's next request: always the same, or each time another one."""
    return "greedy" if kind == "tenant" else new_key()


@pytest.mark.parametrize("kind", ["tenant", "peer"])
def test_bodies_in_memory_leave_room_for_those_of_others(start_gateway, upstream, key, many_descriptors, kind):
    """`tenant`: one tenant behind a trusted proxy, which is no peer. `peer`: one address under many names."""
    gateway = start_gateway({"name": "up", "path": "/up"}, store="memory", limits=LIMITS, workers=1,
                            tenant={"from": "authorization"},
                            trusted_proxies=["127.0.0.1"] if kind == "tenant" else [])

    def post(token, source, **more):
        return gateway.post("/up", BODY, source=source, headers={"Authorization": f"Bearer {token}"}, **more)

    uploads = [begin_upload(gateway, greedy(kind)) for _ in range(FEWEST)]
    try:
        executed = 0
        while (answer := post(greedy(kind), "127.0.0.1", key=new_key())).status == 200:
            executed += 1
            uploads.append(begin_upload(gateway, greedy(kind)))
            assert len(uploads) <= MOST + MODEST, "more than the share is held"
        assert_problem(answer, 503, "overloaded")
        assert executed > 0 and upstream.effects() == executed

        # Another caller's bodies are held as well, and executed.
        source = "127.0.0.1" if kind == "tenant" else "127.0.0.2"
        others = [Background(post, "modest", source, key=f"{key}-{n}", test="gate=modest") for n in range(MODEST)]
        upstream.wait_effects(executed + MODEST)
        token = greedy(kind)
        for _ in range(3):
            refused = post(token, "127.0.0.1", key=key)
            assert "bodies are being held" in assert_problem(refused, 503, "overloaded")["detail"]
        assert upstream.arrived() == executed + MODEST
        upstream.open_gate("modest")
        assert [other.result().status for other in others] == [200] * MODEST
        assert {upstream.last(f"{key}-{n}")["bytes"] for n in range(MODEST)} == {len(BODY)}
    finally:
        for connection in uploads:
            connection.close()
    eventually(lambda: post(token, "127.0.0.1", key=key).status == 200)
    assert upstream.effects(key) == 1
