"""`semel keys export` writes every record that matches as a line of JSON; `extend` keeps one for longer."""
import json

import pytest

from harness.program import run_semel
from harness.semel import new_key

ROUTES = [{"name": "charges", "path": "/charges"}, {"name": "refunds", "path": "/refunds"}]
BODY = {"amount": 100}
MANY = 1100  # more than a page


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(*ROUTES, store="memory")


def keys(gateway, *args):
    done = gateway.keys(*args)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def exported(gateway, *args):
    code, out, err = keys(gateway, "export", *args)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_every_record_is_exported_across_pages(gateway):
    sent = [new_key() for _ in range(MANY)]
    with gateway.connect() as connection:
        for key in sent:
            assert connection.request("POST", "/refunds", json=BODY, key=key).status == 200
    lines = exported(gateway, "--operation", "refunds")
    assert sorted(line["key"] for line in lines) == sorted(sent)
    assert all("answer" not in line and line["operation"] == "refunds" for line in lines)


def test_filters_choose(gateway):
    lost = new_key()
    gateway.post("/charges", json=BODY, key=lost, test="close=reset")
    gateway.post("/charges", json=BODY, key=new_key())
    assert [line["key"] for line in exported(gateway, "--state", "unknown")] == [lost]
    assert [line["key"] for line in exported(gateway, "--where", f"key={lost}")] == [lost]
    code, out, err = keys(gateway, "export", "--state", "lost")
    assert code == 2 and out == "" and "is not a state" in err


def test_nobody_answers():
    done = run_semel("keys", "ls", "--admin", "http://127.0.0.1:1")
    assert done.returncode == 1 and "no answer from the admin listener at 127.0.0.1:1" in done.stderr


@pytest.fixture
def kept(start_gateway):
    """A gateway with a token, and a record that made a resource."""
    gateway = start_gateway({"name": "charges", "path": "/charges", "resource": {"type": "charge", "id": "X-Charge"}},
                            store="embedded")
    gateway.key = new_key()
    gateway.first = gateway.post("/charges", json=BODY, key=gateway.key, test="header.X-Charge=ch_17; status=201")
    assert gateway.first.status == 201
    return gateway


def test_answers_are_exported_with_a_token_only(kept):
    kept.post("/charges", json=BODY, key=new_key(), test="close=reset")
    lines = exported(kept, "--answers")
    answers = {line["key"]: line["answer"] for line in lines}
    assert len(lines) == 2 and answers[kept.key]["status"] == 201
    assert answers[kept.key]["body"].encode() == kept.first.body
    assert [answer for key, answer in answers.items() if key != kept.key] == [None]
    assert "answer shown" in kept.stderr()
    without = run_semel("keys", "export", "--answers", "--admin", "http://%s:%d" % kept.admin_address)
    assert without.returncode == 5 and kept.first.body.decode() not in without.stdout
    kept.stop()
    direct = run_semel("keys", "export", kept.folder / "semel.yaml", "--answers", "--state", "completed")
    assert json.loads(direct.stdout)["answer"] == answers[kept.key]
    (kept.folder / "data" / "admin-token").unlink()
    assert run_semel("keys", "export", kept.folder / "semel.yaml", "--answers").returncode == 5


def test_a_record_is_found_by_what_it_made(kept):
    kept.post("/charges", json=BODY, key=new_key())
    expected = kept.record(kept.key)
    for search in (("--resource", "ch_17"), ("--search", "ch_17"), ("--search", kept.key),
                   ("--record", expected["id"][:12]), ("--where", f"key={kept.key}")):
        code, out, _ = keys(kept, "show", *search, "--json")
        assert code == 0 and json.loads(out)["id"] == expected["id"], search
        code, out, _ = keys(kept, "ls", *search, "--json")
        assert [record["id"] for record in json.loads(out)["keys"]] == [expected["id"]]
    assert "\nresource      charge ch_17\n" in keys(kept, "show", expected["id"])[1]
    code, out, err = keys(kept, "show", "--where", "state=completed")
    assert (code, out) == (4, "") and "several records match" in err and expected["id"] in err
    assert keys(kept, "show", "--search", "nobody")[0] == 3
    assert keys(kept, "show", expected["id"], "--search", "x")[0] == 2


def test_a_record_is_kept_for_longer(kept):
    record = kept.record(kept.key)
    code, out, err = keys(kept, "extend", record["id"], "--ttl", "30d", "--reason", "disputed")
    after = kept.record(kept.key)
    assert code == 0 and out == f"{record['id']} expires at {after['expires_at']}\n", err
    assert after["expires_at"] > record["expires_at"] and "disputed" in after["history"][-1]["note"]
    code, out, err = keys(kept, "extend", record["id"], "--ttl", "soon", "--reason", "x")
    assert code == 2 and "is not a duration" in err
