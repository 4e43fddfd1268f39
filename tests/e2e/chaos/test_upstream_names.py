"""The addresses of an upstream's name change while the gateway runs."""

import pytest

from harness.odd_machine import OddMachine
from harness.ports import free_port
from harness.semel import eventually, new_key

NAME = "api.semel.test"


@pytest.fixture
def machine():
    made = OddMachine()
    yield made
    made.discard()


def test_names_are_followed(start_gateway, raw_upstream, machine):
    port, hosts = free_port(), ("127.0.0.2", "127.0.0.3")

    def serve_as(host):
        def serve(peer, number):
            while request := peer.read_request():
                assert b"\r\nSemel-Record: " in request
                peer.answer(host.encode())
        return serve
    for host in hosts:
        raw_upstream(serve_as(host), address=(host, port))
    machine.set_addresses(NAME, hosts[0])
    gateway = start_gateway({"path": "/*", "upstream": f"http://{NAME}:{port}"}, workers=2,
                            environment=machine.environment)

    def addresses():
        """Those that the metrics know."""
        return {host for host in hosts
                if f"semel_upstream_up{{route=/*,upstream=http://{NAME}:{port} ({host})}}" in gateway.metrics()}

    def answered_by(count=12):
        answers = [gateway.post("/", key=new_key()) for _ in range(count)]
        assert {answer.status for answer in answers} == {200}
        return {answer.body.decode() for answer in answers}
    assert answered_by() == {hosts[0]}
    machine.set_addresses(NAME, *hosts)
    eventually(lambda: addresses() == set(hosts))
    eventually(lambda: answered_by() == set(hosts))  # every worker is told
    machine.set_addresses(NAME, hosts[1])
    eventually(lambda: addresses() == {hosts[1]})
    eventually(lambda: answered_by() == {hosts[1]})
    machine.set_addresses(NAME)
    eventually(lambda: "upstream not resolved" in gateway.stderr())
    assert answered_by() == {hosts[1]}  # the last that was known
