"""A client of the service API at the level of its JSON: every verb is one request on a connection of its own."""

import json as jsonlib
import secrets

from harness.clients.http_client import Connection, request_bytes

TOKEN = "worker-secret-0123456789abcdef"


def service_config(**more):
    """One client that may do everything, with its token in WORKER_TOKEN, and what `more` says."""
    worker = {"name": "worker", "token_env": "WORKER_TOKEN", "tenants": [""], "operations": "*"}
    return {"listen": "127.0.0.1:0", "clients": [worker], "operations": {"jobs": {}}, **more}


ENVIRONMENT = {"WORKER_TOKEN": TOKEN}


def new_token():
    return secrets.token_hex(16)


class ServiceClient:
    def __init__(self, gateway, token=TOKEN, see=None):
        """`see` is called with the method, the path, what was sent, and the answer of every request."""
        self.gateway, self.token, self._see = gateway, token, see

    def wire(self, method, path, json=None):
        headers = [("Authorization", f"Bearer {self.token}")] if self.token else []
        return request_bytes(method, path, json=json, headers=headers)

    def connect(self, **options):
        return Connection(self.gateway.service_address, **options)

    def request(self, method, path, json=None):
        with self.connect() as connection:
            connection.send(self.wire(method, path, json))
            answer = connection.read_response(method)
        if self._see:
            self._see(method, path, json, answer)
        return answer

    @staticmethod
    def claim_body(key, operation="jobs", payload=None, token=None, **more):
        body = {"operation": operation, "key": key, "token": token or new_token(), **more}
        if "fingerprint" not in more and "payload_base64" not in more:
            body["payload"] = {"job": 1} if payload is None else payload
        return body

    def claim(self, key, **more):
        return self.request("POST", "/v1/claims", self.claim_body(key, **more))

    def granted(self, key, **more):
        """Claims the key, which must be free. Returns the claim's members."""
        answer = self.claim(key, **more)
        assert answer.status == 201, answer
        return answer.json()

    def report(self, verb, claim, **members):
        """`claim` is what granted() returned."""
        path = f"/v1/claims/{claim['record']}/{verb}"
        return self.request("POST", path, {"token": claim["token"], **members})

    def complete(self, claim, body="done", status=200, **answer):
        return self.report("complete", claim, answer={"status": status, "body": body, **answer})

    def show(self, record):
        return self.request("GET", f"/v1/records/{record}")


def cut_off(client, method, path, json):
    """Sends a request whole and goes away before the answer, as a worker does whose reply is lost."""
    connection = client.connect()
    connection.send(client.wire(method, path, json))
    connection.socket.settimeout(20)
    first = connection.socket.recv(1)  # it was handled: its answer is on the way
    connection.reset()
    return first


def members(answer):
    return jsonlib.loads(answer.body)
