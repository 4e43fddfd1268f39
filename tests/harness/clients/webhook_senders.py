"""Webhook providers as the tests know them: made from the providers' documents with Python's hmac
and the openssl program, so that nothing of the program under test signs what it is to verify."""

import base64
import hashlib
import hmac
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import uuid
import weakref

SECRET = "a secret of thirty-two characters"
OTHER_SECRET = "another secret, of more characters"


def mac(secret, content):
    return hmac.new(secret, content, hashlib.sha256).digest()


def b64(data):
    return base64.b64encode(data).decode()


def seconds(at):
    """A timestamp as it is sent: of now, if no other is wanted."""
    return str(int(time.time() if at is None else at))


class Sender:
    """sign() gives the headers of one delivery, by name; body() what is in it."""
    kept_by_id = True  # the signature covers the id; where it does not, the body's digest decides too
    has_time = True

    def __init__(self, secret=SECRET):
        self.secret = secret


class Standard(Sender):
    provider = "standard"
    signature = "webhook-signature"

    def __init__(self, secret=SECRET):
        self.raw = secret.encode()
        self.secret = "whsec_" + b64(self.raw)

    def sign(self, event_id, body, at=None):
        at = seconds(at)
        content = f"{event_id}.{at}.".encode() + body
        return {"webhook-id": event_id, "webhook-timestamp": at,
                "webhook-signature": "v1," + b64(mac(self.raw, content))}

    def body(self, event_id):
        return json.dumps({"type": "invoice.paid", "data": {"n": event_id}}).encode()


class StandardAsymmetric(Standard):
    """v1a: the provider keeps the private key."""

    def __init__(self, secret=SECRET):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="semel-ed25519-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.key = self.folder / "key.pem"
        self._openssl("genpkey", "-algorithm", "ed25519", "-out", self.key)
        public = self._openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")
        self.secret = "whpk_" + b64(public[-32:])

    @staticmethod
    def _openssl(*args):
        return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True).stdout

    def sign(self, event_id, body, at=None):
        at = seconds(at)
        content = self.folder / uuid.uuid4().hex
        content.write_bytes(f"{event_id}.{at}.".encode() + body)
        signature = self._openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.key, "-in", content)
        return {"webhook-id": event_id, "webhook-timestamp": at,
                "webhook-signature": "v1a," + b64(signature)}


class Stripe(Sender):
    provider = "stripe"
    signature = "Stripe-Signature"

    def __init__(self, secret=SECRET):
        self.secret = "whsec_" + secret  # not base64: the whole text is the key

    def sign(self, event_id, body, at=None):
        at = seconds(at)
        digest = mac(self.secret.encode(), at.encode() + b"." + body).hex()
        return {"Stripe-Signature": f"t={at},v1={digest},v0={'0' * 64}"}

    def body(self, event_id):
        return json.dumps({"id": event_id, "object": "event", "pending_webhooks": 1}).encode()


class GitHub(Sender):
    provider = "github"
    kept_by_id = False
    has_time = False
    signature = "X-Hub-Signature-256"

    def sign(self, event_id, body, at=None):
        return {"X-Hub-Signature-256": "sha256=" + mac(self.secret.encode(), body).hex(),
                "X-GitHub-Delivery": event_id, "X-GitHub-Event": "push"}

    def body(self, event_id):
        return json.dumps({"ref": "refs/heads/main", "after": event_id}).encode()


class Shopify(Sender):
    provider = "shopify"
    kept_by_id = False
    has_time = False
    signature = "X-Shopify-Hmac-Sha256"

    def sign(self, event_id, body, at=None):
        return {"X-Shopify-Hmac-Sha256": b64(mac(self.secret.encode(), body)),
                "X-Shopify-Event-Id": event_id, "X-Shopify-Topic": "orders/create"}

    def body(self, event_id):
        return json.dumps({"id": 820982911946154508, "note": event_id}).encode()


class Slack(Sender):
    provider = "slack"
    signature = "X-Slack-Signature"

    def sign(self, event_id, body, at=None):
        at = seconds(at)
        digest = mac(self.secret.encode(), b"v0:" + at.encode() + b":" + body).hex()
        return {"X-Slack-Signature": "v0=" + digest, "X-Slack-Request-Timestamp": at}

    def body(self, event_id):
        return json.dumps({"type": "event_callback", "event_id": event_id}).encode()


class Custom(Sender):
    """An HMAC over time and body, the id in a header that is signed along."""
    provider = "custom"
    signature = "X-Sig"
    options = {"signature_header": "X-Sig", "algorithm": "hmac-sha256", "encoding": "base64",
               "prefix": "mac:", "timestamp_header": "X-Time", "id_header": "X-Event",
               "signed": "{body}/{id}/{timestamp}"}

    def sign(self, event_id, body, at=None):
        at = seconds(at)
        content = body + f"/{event_id}/{at}".encode()
        return {"X-Sig": "mac:" + b64(mac(self.secret.encode(), content)), "X-Time": at,
                "X-Event": event_id}

    def body(self, event_id):
        return b"<event/>"


SENDERS = (Standard, StandardAsymmetric, Stripe, GitHub, Shopify, Slack, Custom)


def route(sender, path=None, **more):
    """A route that takes what the sender sends; `webhook` holds more keys of that mapping."""
    webhook = {"provider": sender.provider, "secrets": [sender.secret],
               **getattr(sender, "options", {}), **more.pop("webhook", {})}
    path = path or "/hooks/" + type(sender).__name__.lower()
    return {"name": path.strip("/").replace("/", "-"), "path": path, "webhook": webhook, **more}


def new_event():
    return "evt_" + uuid.uuid4().hex
