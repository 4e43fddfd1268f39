"""`semel config check` opens the files that a configuration names, and says of each why it cannot be used; `semel serve`
refuses them in the same words."""
import json

import pytest

from harness.program import run_semel

ROUTE = {"path": "/a", "upstream": "https://127.0.0.1:1"}


@pytest.fixture
def config(tmp_path):
    def write(**top):
        path = tmp_path / "semel.yaml"
        path.write_text(json.dumps({"listen": "127.0.0.1:0", "admin": {"listen": "127.0.0.1:0"}, "store": {"kind": "memory"},
                                    "tenant": {"from": "none"}, "routes": [ROUTE], **top}))
        return path
    return write


@pytest.mark.parametrize("top", [
    {"tls": {"cert": "/nowhere/a.pem", "key": "/nowhere/a.key"}},
    {"tenant": {"from": "jwt", "claim": "sub", "jwks_file": "/nowhere/jwks.json"}},
    {"tenant": {"from": "jwt", "claim": "sub", "secret_file": "/nowhere/secret"}},
    {"hash_key_file": "/nowhere/hash", "store_keys": "digest"},
    {"encryption": {"keys_file": "/nowhere/keys"}},
    {"routes": [{**ROUTE, "upstream_tls": {"ca": "/nowhere/ca.pem"}}]},
    {"admin": {"listen": "127.0.0.1:0", "tokens_file": "/nowhere/tokens"}},
], ids=lambda top: " ".join(top))
def test_a_file_that_is_missing(config, top):
    path = config(**top)
    done, served = run_semel("config", "check", path), run_semel("serve", path)
    assert done.returncode == 2 and done.stdout == "" and "/nowhere/" in done.stderr, done
    assert served.returncode == 1
    # In the same words, behind the name of the file or of the program.
    assert done.stderr.splitlines()[-1].split(": ", 1)[1] in served.stderr, (done.stderr, served.stderr)
    assert run_semel("config", "check", path, "--no-files").returncode == 0


def test_every_file_is_named_not_only_the_first(config, tmp_path):
    open_to_all = tmp_path / "tokens"
    open_to_all.write_text("ops 0123456789abcdef\n")
    open_to_all.chmod(0o644)
    path = config(tls={"cert": "/nowhere/a.pem", "key": "/nowhere/a.key"}, hash_key_file="/nowhere/hash",
                  admin={"listen": "127.0.0.1:0", "tokens_file": str(open_to_all)})
    done = run_semel("config", "check", path)
    lines = done.stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith(f"{path}: ") for line in lines)
    assert "a.pem" in done.stderr and "/nowhere/hash" in done.stderr and str(open_to_all) in done.stderr
    found = json.loads(run_semel("config", "check", path, "--json").stdout)
    assert found == {"file": str(path), "usable": False, "errors": lines, "warnings": []}


def test_json_of_a_good_and_of_a_bad_file(config, tmp_path):
    assert json.loads(run_semel("config", "check", config(), "--json").stdout)["usable"] is True
    bad = tmp_path / "bad.yaml"
    bad.write_text("routes: 5\n")
    done = run_semel("config", "check", bad, "--json")
    assert done.returncode == 2 and f"{bad}:1:" in json.loads(done.stdout)["errors"][0]
