"""docs/spec.md 5: which methods are keyed, and inside which scope a key means something."""

import pytest

from harness.semel import assert_problem, assert_replay, new_key

BODY = {"amount": 100}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway(
        {"name": "default", "path": "/default/{id}"},
        {"name": "all", "path": "/all", "methods": ["POST", "PATCH", "PUT", "DELETE"]},
        {"name": "only-put", "path": "/only-put", "methods": ["PUT"],
         "key": {"required": True}},
        {"name": "operation-a", "path": "/operation/a/{id}"},
        {"name": "operation-b", "path": "/operation/b/{id}"},
        {"name": "path", "path": "/path/{id}", "scope": "path"},
        {"name": "tenant-a", "path": "/tenant/a/{id}", "scope": "tenant"},
        {"name": "tenant-b", "path": "/tenant/b/{id}", "scope": "tenant"},
        {"name": "prefix", "path": "/prefix/*"})


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_keyed_by_default(gateway, upstream, key, method):
    first = gateway.request(method, "/default/1", json=BODY, key=key)
    assert_replay(gateway.request(method, "/default/1", json=BODY, key=key), first)
    assert upstream.effects() == 1


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_opt_in(gateway, upstream, key, method):
    answers = [gateway.request(method, "/default/1", json=BODY, key=key) for _ in range(2)]
    assert [a.status for a in answers] == [200, 200] and not any(a.replayed for a in answers)
    assert upstream.effects() == 2
    first = gateway.request(method, "/all", json=BODY, key=key)
    assert_replay(gateway.request(method, "/all", json=BODY, key=key), first)
    assert upstream.effects() == 3


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_safe_methods_ignore_keys(gateway, upstream, key, method):
    for value in (key, key, '"unterminated'):
        answer = gateway.request(method, "/all", key=value)
        assert answer.status == 200 and not answer.replayed
    assert upstream.arrived() == 3


def test_a_required_key_is_required_of_the_keyed_methods_only(gateway, upstream):
    for method in ("GET", "POST", "DELETE"):
        assert gateway.request(method, "/only-put").status == 200
    assert_problem(gateway.request("PUT", "/only-put"), 400, "key-missing")


def test_operations_have_keys_of_their_own(gateway, upstream, key):
    one = gateway.post("/operation/a/1", json=BODY, key=key)
    two = gateway.post("/operation/b/1", json=BODY, key=key)
    assert not one.replayed and not two.replayed and one.body != two.body
    assert_replay(gateway.post("/operation/a/1", json=BODY, key=key), one)
    assert_replay(gateway.post("/operation/b/1", json=BODY, key=key), two)


def test_an_operation_is_one_scope_for_all_its_paths(gateway, upstream, key):
    gateway.post("/operation/a/1", json=BODY, key=key)
    answer = gateway.post("/operation/a/2", json=BODY, key=key)
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["path"]
    assert upstream.effects() == 1


def test_scope_path_tells_paths_apart(gateway, upstream, key):
    one = gateway.post("/path/1", json=BODY, key=key)
    two = gateway.post("/path/2", json={"other": 1}, key=key)
    assert (one.status, two.status) == (200, 200) and not two.replayed
    assert_replay(gateway.post("/path/1", json=BODY, key=key), one)
    assert_replay(gateway.post("/path/2", json={"other": 1}, key=key), two)


def test_scope_tenant_is_one_key_space_for_all_operations(gateway, upstream, key):
    first = gateway.post("/tenant/a/1", json=BODY, key=key)
    answer = gateway.post("/tenant/b/1", json=BODY, key=key)
    assert assert_problem(answer, 422, "key-reused")["differs"] == ["path"]
    assert_replay(gateway.post("/tenant/a/1", json=BODY, key=key), first)
    assert upstream.effects() == 1
    digits = answer.header("Semel-Record")
    assert gateway.admin(f"/api/keys/{digits}").json()["operation"] == "*"
    [found] = gateway.admin(f"/api/keys?operation=*&key={key}").json()["keys"]
    assert found["id"].startswith(digits) and found["scope_path"] is None


def test_another_spelling_of_a_path_is_no_way_round_its_route(gateway, upstream, key):
    first = gateway.post("/path/a-b", json=BODY, key=key)
    for target in ("/path//a-b", "/%70ath/a%2Db", "//path/a-b", "/path/a%2db"):
        assert_replay(gateway.post(target, json=BODY, key=key), first)
    for target in ("/path/./a-b", "/x/../path/a-b", "/path/%2e/a-b", "/x/..%2Fpath/a-b"):
        assert gateway.post(target, json=BODY, key=key).status == 400, target
    assert upstream.effects() == 1


def test_routes_match_whole_segments_and_the_first_wins(gateway, upstream):
    for target in ("/default/1/2", "/default/", "/default", "/all/", "/allx", "/prefixed/1"):
        assert gateway.post(target, key=new_key()).status == 404, target
    for target in ("/default/a%2Fb", "/prefix/1/2/3", "/prefix/"):
        assert gateway.post(target, key=new_key()).status == 200, target
        assert upstream.last()["target"] == target
