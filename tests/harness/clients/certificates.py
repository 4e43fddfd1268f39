"""Certificates for the tests, made with the openssl program: authorities, and what they sign."""

import dataclasses
import pathlib
import ssl
import subprocess

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
DAYS = ["-days", "2"]


def openssl(*arguments, stdin=None):
    done = subprocess.run(["openssl", *map(str, arguments)], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@dataclasses.dataclass
class Certificate:
    cert: pathlib.Path
    key: pathlib.Path

    def files(self):
        return {"cert": str(self.cert), "key": str(self.key)}


class Authority:
    """A CA in a folder of its own."""

    def __init__(self, folder, name):
        self.folder = folder / name
        self.folder.mkdir()
        self.cert, self.key = self.folder / "ca.pem", self.folder / "ca.key"
        openssl("req", "-x509", *NEW_KEY, *DAYS, "-keyout", self.key, "-out", self.cert,
                "-subj", f"/O=Semel tests/CN={name}",
                # From Python 3.13 on clients insist on it.
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def issue(self, name, subject=None, san=None):
        """A certificate; `san` is "DNS:a,IP:127.0.0.1,URI:spiffe://a" or "" for none at all."""
        made = Certificate(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        san = f"DNS:{name}" if san is None else san
        extensions = ["-addext", "basicConstraints=critical,CA:FALSE"]
        if san:
            extensions += ["-addext", f"subjectAltName={san}"]
        openssl("req", "-x509", "-CA", self.cert, "-CAkey", self.key, *NEW_KEY, *DAYS,
                "-keyout", made.key, "-out", made.cert, "-subj", subject or f"/CN={name}",
                *extensions)
        return made

    def client_context(self, certificate=None):
        """For a client that believes this authority, and shows `certificate`."""
        context = ssl.create_default_context(cafile=self.cert)
        if certificate:
            context.load_cert_chain(certificate.cert, certificate.key)
        return context


class Certificates:
    """Certificates for most tests: a server's, a client's, and an authority that nobody trusts."""

    def __init__(self, folder):
        self.ca = Authority(folder, "ca")
        self.other_ca = Authority(folder, "other-ca")
        self.server = self.ca.issue("semel.test", san="DNS:semel.test,IP:127.0.0.1")
        self.upstream = self.ca.issue("upstream", san="DNS:localhost,IP:127.0.0.1")
        self.client = self.ca.issue("alice", san="URI:spiffe://test/alice,DNS:alice.test")
