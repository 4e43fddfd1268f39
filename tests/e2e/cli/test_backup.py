"""`semel backup` copies an embedded store while a gateway serves from it; `semel restore` puts such a copy in place, or
refuses it if a bit of it has changed."""

import json
import pathlib
import shutil

import pytest

from harness.program import run_semel
from harness.semel import Background, assert_problem, assert_replay, new_key

ROUTE = {"name": "charges", "path": "/v1/charges", "max_stored_body": "1KiB", "unknown": "hold"}
LARGE = 700_000  # three chunks


@pytest.fixture
def gateway(start_gateway):
    return start_gateway(ROUTE, store="embedded")


def charge(gateway, key, **more):
    answer = gateway.post("/v1/charges", b"{}", key=key, **more)
    assert answer.status < 300
    return answer


def back_up(gateway, to):
    """Asks the gateway itself: the configuration has port 0, so the address is named."""
    host, port = gateway.admin_address
    return run_semel("backup", gateway.folder / "semel.yaml", "--to", to, "--admin", f"http://{host}:{port}",
                     cwd=gateway.folder)


def made(done):
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def restored_gateway(start_gateway, backup, folder):
    """A gateway on a restored store, which `semel store check` has found sound."""
    made(run_semel("restore", "--from", backup, "--to", folder))
    checked = run_semel("store", "check", "--path", folder)
    assert checked.returncode == 0 and "all sound" in checked.stdout, checked
    return start_gateway(ROUTE, store={"kind": "embedded", "path": str(folder)})


def copy_of(backup):
    """The backup with files of its own: on one disk it shares its tables with the store."""
    copy = backup.with_name(backup.name + "-copy")
    shutil.copytree(backup, copy)
    return copy


def test_a_backup_has_what_was_acknowledged_and_nothing_that_came_later(gateway, start_gateway, upstream, tmp_path):
    keys = [new_key() for _ in range(20)]
    firsts = [charge(gateway, key) for key in keys]
    large = charge(gateway, "large", test=f"size={LARGE}")
    running = Background(gateway.post, "/v1/charges", b"{}", key="running", test="gate=runs")
    upstream.wait_effects(1, "running")
    backup = tmp_path / "backup"
    said = made(back_up(gateway, backup))
    manifest = json.loads((backup / "backup.json").read_text())
    assert manifest["format"] == 1 and manifest["store_format"] == 2 and manifest["node"] and manifest["time"].endswith("Z")
    assert manifest["files_total"] == len(manifest["files"]) == len(list((backup / "store").iterdir()))
    assert said == f"{backup}: {manifest['files_total']} files, {sum(f['bytes'] for f in manifest['files'])} bytes\n"
    assert {file["name"] for file in manifest["files"]}.isdisjoint({"admin-token", "LOCK"})
    assert backup.stat().st_mode & 0o777 == 0o700
    charge(gateway, "later")
    upstream.open_gate("runs")
    assert running.result().status < 300
    assert "operator did=backup" in gateway.stderr() and "who=admin" in gateway.stderr()

    second = restored_gateway(start_gateway, backup, tmp_path / "restored")
    for key, first in zip(keys, firsts):
        assert_replay(second.post("/v1/charges", b"{}", key=key), first)
    assert_replay(second.post("/v1/charges", b"{}", key="large"), large)
    assert_problem(second.post("/v1/charges", b"{}", key="running"), 409, "outcome-unknown")
    assert upstream.effects("running") == 1
    charge(second, "later")
    assert upstream.effects("later") == 2  # acknowledged after the backup, so it is forgotten
    assert "Keys acknowledged after that are forgotten" in run_semel("restore", "--from", backup, "--to", tmp_path / "third").stdout


def test_without_a_gateway_the_command_opens_the_store_itself(gateway, start_gateway, tmp_path):
    first = charge(gateway, "one")
    gateway.stop()
    backup = tmp_path / "backup"
    made(run_semel("backup", gateway.folder / "semel.yaml", "--to", backup, cwd=gateway.folder))
    second = restored_gateway(start_gateway, backup, tmp_path / "restored")
    assert_replay(second.post("/v1/charges", b"{}", key="one"), first)


def test_where_a_backup_may_not_go(gateway, tmp_path):
    data = pathlib.Path(gateway.config["store"]["path"])
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(data)
    for to, why in ((tmp_path / "there", "exists already"), (data / "inside", "is inside the data folder"),
                    (tmp_path / "link" / "inside", "is inside the data folder"),
                    (tmp_path / "link", "exists already"), (tmp_path / "no" / "such", "its parent is not a folder")):
        done = back_up(gateway, to)
        assert done.returncode == 1 and why in done.stderr, done
    assert list((tmp_path / "there").iterdir()) == [] and not (data / "inside").exists()
    charge(gateway, new_key())


def test_the_listener_wants_a_token_and_a_whole_request(gateway, tmp_path):
    body = {"to": str(tmp_path / "backup")}
    token = (pathlib.Path(gateway.config["store"]["path"]) / "admin-token").read_text().split()[-1]
    allowed = {"Authorization": f"Bearer {token}"}
    ask = lambda headers, **more: gateway.admin("/api/backup", method="POST", headers=headers, **more)
    assert ask({}, json=body).status == 401
    assert ask({"Authorization": "Bearer nobody-knows-this-one"}, json=body).status == 401
    assert ask(allowed, body=json.dumps(body).encode()).status == 415
    for wrong in ({}, [], {"to": 5}, {"to": "relative"}, {"to": "/tmp/a\nb"}, {**body, "more": 1}, {"to": "/" + 5000 * "a"}):
        answer = ask(allowed, json=wrong)
        assert (answer.status, answer.json()["code"]) == (400, "bad-backup"), answer
    assert not (tmp_path / "backup").exists()
    answer = ask(allowed, json=body)
    assert answer.status == 200 and answer.json()["files"] > 3 and (tmp_path / "backup" / "backup.json").exists()


@pytest.fixture
def backup(gateway, tmp_path):
    """A backup with tables, in files of its own."""
    charge(gateway, "large", test=f"size={LARGE}")
    gateway.restart()
    charge(gateway, "one")
    folder = tmp_path / "backup"
    made(back_up(gateway, folder))
    assert list((folder / "store").glob("*.sst")) and list((folder / "store").glob("*.log"))
    return copy_of(folder)


def change(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("kind", ["*.sst", "*.log", "MANIFEST-*", "CURRENT"])
def test_a_file_that_was_damaged_shortened_or_lost_is_named(backup, tmp_path, kind):
    file = max((backup / "store").glob(kind), key=lambda path: path.stat().st_size)
    whole = file.read_bytes()

    def refused(why):
        done = run_semel("restore", "--from", backup, "--to", tmp_path / "restored")
        assert done.returncode == 1 and f"its file store/{file.name} {why}" in done.stderr, done
        assert not (tmp_path / "restored").exists() and not (tmp_path / "restored.restoring").exists()

    change(file, len(whole) // 2)
    refused("is damaged")
    file.write_bytes(whole[:-1])
    refused(f"has {len(whole) - 1} bytes, and had {len(whole)}")
    file.unlink()
    refused("is missing")
    file.write_bytes(whole)
    made(run_semel("restore", "--from", backup, "--to", tmp_path / "restored"))


def test_other_backups_that_are_refused(backup, tmp_path):
    def refused(why):
        done = run_semel("restore", "--from", backup, "--to", tmp_path / "restored")
        assert done.returncode == 1 and why in done.stderr and not (tmp_path / "restored").exists(), done

    manifest = backup / "backup.json"
    whole = manifest.read_text()
    (backup / "store" / "999999.sst").write_text("x")
    refused("the file store/999999.sst is not part of it")
    (backup / "store" / "999999.sst").unlink()
    manifest.write_text(whole[:-10])
    refused("its backup.json is damaged")
    outside = json.loads(whole)
    outside["files"][0]["name"] = "../../outside"
    manifest.write_text(json.dumps(outside))
    refused("its backup.json is damaged")
    manifest.write_text(json.dumps({**json.loads(whole), "format": 2}))
    refused("was made by a newer semel")
    manifest.write_text(json.dumps({**json.loads(whole), "files": json.loads(whole)["files"][1:]}))
    refused("the list of files is not whole")
    manifest.unlink()
    refused("the backup is incomplete")


def test_a_folder_with_something_in_it_is_not_written_over(backup, gateway, tmp_path):
    data = pathlib.Path(gateway.config["store"]["path"])
    for target in (data, tmp_path):
        before = sorted(target.iterdir())
        done = run_semel("restore", "--from", backup, "--to", target)
        assert done.returncode == 1 and "is not empty" in done.stderr and sorted(target.iterdir()) == before
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o755)
    made(run_semel("restore", "--from", backup, "--to", empty))
    assert empty.stat().st_mode & 0o777 == 0o700 and {path.stat().st_mode & 0o777 for path in empty.iterdir()} == {0o600}


@pytest.mark.parametrize("store, means", [
    ({"kind": "postgres", "url": "postgresql://127.0.0.1:1/x"}, "pg_dump"),
    ({"kind": "redis", "url": "redis://127.0.0.1:1"}, "RDB or AOF"), ({"kind": "memory"}, "keeps nothing")])
def test_other_stores_have_means_of_their_own(tmp_path, store, means):
    config = tmp_path / "semel.yaml"
    config.write_text(json.dumps({"store": store, "tenant": {"from": "none"},
                                  "routes": [{"path": "/a", "upstream": "http://127.0.0.1:1"}]}))
    done = run_semel("backup", config, "--to", tmp_path / "backup")
    assert done.returncode == 2 and means in done.stderr and not (tmp_path / "backup").exists()


def test_a_gateway_of_another_store_says_so(start_gateway, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("alice 0123456789abcdef0123\n")
    tokens.chmod(0o600)
    gateway = start_gateway(ROUTE, store="memory", admin={"listen": "127.0.0.1:0", "tokens_file": str(tokens)})
    answer = gateway.admin("/api/backup", method="POST", json={"to": str(tmp_path / "backup")},
                           headers={"Authorization": "Bearer 0123456789abcdef0123"})
    assert (answer.status, answer.json()["code"]) == (409, "no-backup")
    assert "only the embedded store" in answer.json()["detail"] and not (tmp_path / "backup").exists()
