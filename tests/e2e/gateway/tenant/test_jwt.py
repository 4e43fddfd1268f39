"""docs/spec.md 5, `tenant: {from: jwt}`: the tenant is a claim of a token that was verified. What
is not proven is refused before the store or the upstream is touched."""

import hashlib
import hmac
import json

import pytest

from harness.semel import assert_problem, assert_replay, eventually, new_key, store_calls
from harness.clients.tokens import NEVER, KeyPair, Secret, bearer, claims, encoded, jwks

BODY = {"amount": 100}
ROUTE = {"name": "charges", "path": "/v1/charges"}
RULES = {"from": "jwt", "issuer": "https://id.test", "audience": "payments", "leeway": "0s"}
ALGORITHMS = ["RS256", "ES256", "EdDSA", "HS256"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("token-keys")
    made = {algorithm: KeyPair(folder, algorithm, algorithm.lower())
            for algorithm in ("RS256", "ES256", "EdDSA")}
    return {**made, "HS256": Secret(b"a secret of no less than 32 bytes", "hs256")}


@pytest.fixture(scope="module")
def gateway(module_gateway, keys, tmp_path_factory):
    file = tmp_path_factory.mktemp("jwks") / "jwks.json"
    file.touch(mode=0o600)  # there is a shared secret among them
    file.write_text(jwks(*keys.values()))
    return module_gateway(ROUTE, tenant={**RULES, "jwks_file": str(file)}, store="embedded")


def post(gateway, key, token, **more):
    return gateway.post("/v1/charges", json=BODY, key=key, headers=bearer(token), **more)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_refreshed_between_two_tries_is_one_effect(gateway, upstream, keys, key, algorithm):
    """DESIGN 6.19: the retry comes with another token of the same caller."""
    first = post(gateway, key, keys[algorithm].token(claims()))
    assert first.status == 200
    refreshed = keys[algorithm].token(claims(exp=claims()["exp"] + 600))
    assert_replay(post(gateway, key, refreshed), first)
    # Signed with another key as well, as after a rotation.
    assert_replay(post(gateway, key, keys["HS256"].token(claims())), first)
    assert upstream.effects(key) == 1


def test_two_callers_have_keys_of_their_own(gateway, upstream, keys, key):
    alice = post(gateway, key, keys["ES256"].token(claims("alice")))
    bob = post(gateway, key, keys["ES256"].token(claims("bob")))
    assert not bob.replayed and bob.body != alice.body
    assert_replay(post(gateway, key, keys["ES256"].token(claims("alice"))), alice)
    assert upstream.effects(key) == 2


def confused(keys):
    """HS256 with the public key, which everybody knows, as the secret."""
    text = ".".join(encoded(json.dumps(part).encode()) for part in (
        {"alg": "HS256", "kid": "rs256"}, claims()))
    made = [keys["RS256"].public, json.dumps(keys["RS256"].jwk()).encode(), b""]
    return [text + "." + encoded(hmac.digest(secret, text.encode(), hashlib.sha256))
            for secret in made]


def tampered(token):
    head, body, signature = token.split(".")
    return ".".join((head, encoded(json.dumps(claims("mallory")).encode()), signature))


BAD = {
    "none": lambda k: [".".join((encoded(json.dumps({"alg": alg}).encode()),
                                 encoded(json.dumps(claims()).encode()), ""))
                       for alg in ("none", "None", "nOnE")],
    "algorithm confusion": confused,
    "another algorithm's name": lambda k: [k["RS256"].token(claims(), alg="ES256", kid="rs256"),
                                           k["RS256"].token(claims(), alg="RS512"),
                                           k["HS256"].token(claims(), alg="RS256")],
    "expired": lambda k: [k["ES256"].token(claims(exp=claims()["iat"] - 1))],
    "no expiry": lambda k: [k["ES256"].token(claims(exp=NEVER))],
    "not yet valid": lambda k: [k["ES256"].token(claims(nbf=claims()["iat"] + 60))],
    "wrong audience": lambda k: [k["ES256"].token(claims(aud=aud))
                                 for aud in ("refunds", [], ["x"], NEVER)],
    "wrong issuer": lambda k: [k["ES256"].token(claims(iss=iss))
                               for iss in ("https://id.test.evil", "", NEVER)],
    "wrong kid": lambda k: [k["ES256"].token(claims(), kid="eddsa"),
                            k["ES256"].token(claims(), kid="nobody")],
    "tampered payload": lambda k: [tampered(k["ES256"].token(claims())),
                                   tampered(k["HS256"].token(claims()))],
    "no claim": lambda k: [k["ES256"].token(claims(sub=sub)) for sub in ("", NEVER, None, {"a": 1})],
    "not a token": lambda k: ["", "sk_live_alice", "a.b.c", "..", k["ES256"].token(claims()) + "."],
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_not_proven_is_refused_and_nothing_is_touched(gateway, upstream, keys, key, kind):
    before = gateway.metrics()
    for token in BAD[kind](keys):
        problem = assert_problem(post(gateway, key, token), 401, "tenant-unknown")
        assert problem["new_key_safe"] is False
    assert upstream.arrived() == 0
    assert store_calls(gateway.metrics()) == store_calls(before)
    first = post(gateway, key, keys["ES256"].token(claims()))
    assert first.status == 200 and upstream.last(key)["attempt"] == "1"


def test_the_token_comes_once_and_as_a_bearers(gateway, upstream, keys, key):
    token = keys["ES256"].token(claims())
    for headers in ({}, {"Authorization": token}, {"Authorization": f"DPoP {token}"},
                    {"Authorization": [f"Bearer {token}"] * 2}, {"Authorization": "Bearer"}):
        answer = gateway.post("/v1/charges", json=BODY, key=key, headers=headers)
        assert_problem(answer, 401, "tenant-unknown")
    assert upstream.arrived() == 0
    for scheme in ("bearer", "BEARER "):
        answer = gateway.post("/v1/charges", json=BODY, key=key,
                              headers={"Authorization": f"{scheme} {token}"})
        assert answer.status == 200
    assert upstream.effects(key) == 1


def test_without_a_key_the_token_is_the_upstreams_business(gateway, upstream):
    assert gateway.post("/v1/charges", json=BODY).status == 200


def test_the_token_reaches_the_upstream_as_it_came(gateway, upstream, keys, key):
    token = keys["ES256"].token(claims())
    post(gateway, key, token)
    assert ["Authorization", f"Bearer {token}"] in upstream.last(key)["headers"]
    assert token not in gateway.stderr()


def test_a_claim_deeper_down_can_name_the_tenant(start_gateway, upstream, keys, tmp_path, key):
    file = tmp_path / "secret"
    file.touch(mode=0o600)
    file.write_bytes(keys["HS256"].secret + b"\n")
    gateway = start_gateway(ROUTE, tenant={**RULES, "secret_file": str(file), "claim": "/org/id"})
    one = post(gateway, key, keys["HS256"].token(claims("alice", org={"id": 7})))
    assert_replay(post(gateway, key, keys["HS256"].token(claims("bob", org={"id": 7}))), one)
    other = post(gateway, key, keys["HS256"].token(claims("alice", org={"id": 8})))
    assert other.status == 200 and not other.replayed
    assert_problem(post(gateway, key, keys["RS256"].token(claims(org={"id": 7}))), 401,
                   "tenant-unknown")
    assert upstream.effects(key) == 2


def test_keys_rotate_while_it_runs(start_gateway, upstream, keys, tmp_path, key):
    file = tmp_path / "jwks.json"
    file.write_text(jwks(keys["RS256"]))
    gateway = start_gateway(ROUTE, tenant={**RULES, "jwks_file": str(file)})
    first = post(gateway, key, keys["RS256"].token(claims()))
    assert first.status == 200
    assert_problem(post(gateway, key, keys["ES256"].token(claims())), 401, "tenant-unknown")

    (tmp_path / "new").write_text(jwks(keys["ES256"]))
    (tmp_path / "new").rename(file)
    eventually(lambda: post(gateway, key, keys["ES256"].token(claims())).status == 200)
    assert_replay(post(gateway, key, keys["ES256"].token(claims())), first)
    assert_problem(post(gateway, key, keys["RS256"].token(claims())), 401, "tenant-unknown")

    # A file that cannot be used keeps the old keys, and the log says so once.
    file.write_text('{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}')
    eventually(lambda: "new token keys rejected; keeping the old ones" in gateway.stderr())
    assert_replay(post(gateway, key, keys["ES256"].token(claims())), first)
    file.unlink()
    eventually(lambda: "cannot be read" in gateway.stderr())
    assert_replay(post(gateway, key, keys["ES256"].token(claims())), first)
    file.write_text(jwks(keys["EdDSA"]))
    eventually(lambda: post(gateway, key, keys["EdDSA"].token(claims())).status == 200)
    assert gateway.stderr().count("new token keys rejected; keeping the old ones") == 2
    assert upstream.effects(key) == 1


def test_leeway_is_given_to_clocks_that_differ(start_gateway, upstream, keys, tmp_path):
    file = tmp_path / "jwks.json"
    file.write_text(jwks(keys["EdDSA"]))
    gateway = start_gateway(ROUTE, tenant={**RULES, "jwks_file": str(file), "leeway": "5m"})
    now = claims()["iat"]
    for late in (claims(exp=now - 60), claims(nbf=now + 60)):
        assert post(gateway, new_key(), keys["EdDSA"].token(late)).status == 200
    for later in (claims(exp=now - 400), claims(nbf=now + 400)):
        assert_problem(post(gateway, new_key(), keys["EdDSA"].token(later)), 401, "tenant-unknown")


def test_a_file_that_cannot_be_used_is_said_at_start(start_gateway, tmp_path):
    file = tmp_path / "jwks.json"
    file.write_text('{"keys": []}')
    with pytest.raises(AssertionError, match="(?s)exit code 1.*jwks.json has no key for"):
        start_gateway(ROUTE, tenant={**RULES, "jwks_file": str(file)})


def test_a_secret_that_others_can_reach_is_refused_at_start(start_gateway, keys, tmp_path):
    secret, mixed = tmp_path / "secret", tmp_path / "mixed.json"
    secret.write_bytes(keys["HS256"].secret)
    mixed.write_text(jwks(keys["ES256"], keys["HS256"]))
    for name, file in (("secret_file", secret), ("jwks_file", mixed)):
        file.chmod(0o640)
        with pytest.raises(AssertionError, match="(?s)exit code 1.*chmod 600"):
            start_gateway(ROUTE, tenant={**RULES, name: str(file)})
        link = tmp_path / f"link-{name}"
        file.chmod(0o600)
        link.symlink_to(file)
        with pytest.raises(AssertionError, match="(?s)exit code 1.*symbolic link"):
            start_gateway(ROUTE, tenant={**RULES, name: str(link)})
