"""JSON Web Tokens and the keys to them, made with nothing but the standard library and the openssl
program."""

import base64
import hashlib
import hmac
import json
import re
import time

from harness.clients.certificates import openssl

NEVER = object()  # leave the claim out


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims(sub="alice", **more):
    """Claims of a good token; NEVER leaves one out."""
    now = int(time.time())
    found = {"sub": sub, "iss": "https://id.test", "aud": "payments", "iat": now,
             "exp": now + 300, "jti": time.monotonic_ns(), **more}
    return {name: value for name, value in found.items() if value is not NEVER}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Secret:
    algorithm = "HS256"

    def __init__(self, secret, kid=None):
        self.secret, self.kid = secret, kid

    def sign(self, data):
        return hmac.digest(self.secret, data, hashlib.sha256)

    def token(self, body, **header):
        header = {"alg": self.algorithm, **({"kid": self.kid} if self.kid else {}), **header}
        text = ".".join(encoded(json.dumps(part).encode()) for part in (header, body))
        return text + "." + encoded(self.sign(text.encode()))

    def jwk(self):
        return {"kty": "oct", "k": encoded(self.secret), "kid": self.kid}


class KeyPair(Secret):
    """A pair for RS256, ES256 or EdDSA."""

    NEW = {"RS256": ("RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
           "ES256": ("EC", "-pkeyopt", "ec_paramgen_curve:P-256"), "EdDSA": ("ED25519",)}

    def __init__(self, folder, algorithm, kid):
        self.algorithm, self.kid = algorithm, kid
        self.file = folder / f"{kid}.key"
        openssl("genpkey", "-algorithm", *self.NEW[algorithm], "-out", self.file)
        self.public = openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")

    def sign(self, data):
        if self.algorithm == "EdDSA":
            message = self.file.with_suffix(".message")
            message.write_bytes(data)
            return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.file, "-in", message)
        made = openssl("dgst", "-sha256", "-sign", self.file, stdin=data)
        return self.side_by_side(made) if self.algorithm == "ES256" else made

    @staticmethod
    def side_by_side(der):
        numbers, at = [], 2
        for _ in range(2):
            length = der[at + 1]
            numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
            at += 2 + length
        return b"".join(numbers)

    def jwk(self):
        key = {"kid": self.kid, "use": "sig", "alg": self.algorithm}
        if self.algorithm == "EdDSA":
            return key | {"kty": "OKP", "crv": "Ed25519", "x": encoded(self.public[-32:])}
        if self.algorithm == "ES256":
            return key | {"kty": "EC", "crv": "P-256", "x": encoded(self.public[-64:-32]),
                          "y": encoded(self.public[-32:])}
        text = openssl("rsa", "-in", self.file, "-noout", "-modulus").decode()
        modulus = bytes.fromhex(re.search("=([0-9A-F]+)", text)[1])
        return key | {"kty": "RSA", "n": encoded(modulus), "e": "AQAB"}


def jwks(*keys):
    return json.dumps({"keys": [key.jwk() for key in keys]})
