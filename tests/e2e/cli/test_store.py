"""`semel store` examines an embedded store that nobody has open: what is in it, and whether all of it can be read."""
import json
import pathlib

import pytest

from harness.clients.http_client import request_bytes
from harness.program import run_semel
from harness.semel import Background, assert_problem, assert_replay, new_key

ROUTE = {"name": "charges", "path": "/v1/charges", "max_stored_body": "1KiB"}
LARGE = 700_000  # three chunks


@pytest.fixture
def gateway(start_gateway):
    """Twenty small answers and a large one, kept by a gateway that runs."""
    gateway = start_gateway(ROUTE, store="embedded")
    for _ in range(20):
        assert gateway.post("/v1/charges", b"{}", key=new_key()).status < 300
    reply = gateway.post("/v1/charges", b"{}", key=new_key(), test=f"size={LARGE}")
    assert reply.status < 300 and len(reply.body) == LARGE
    return gateway


@pytest.fixture
def folder(gateway):
    """The store of a gateway that has ended, in tables: opening it again writes them."""
    for _ in range(2):
        gateway.stop()
        gateway.start()
    gateway.stop()
    return pathlib.Path(gateway.config["store"]["path"])


def checked(folder):
    done = run_semel("store", "check", "--path", folder, "--json")
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_sound_store_is_counted_and_left_as_it_is(gateway, folder):
    before = contents(folder)
    code, found = checked(folder)
    assert code == 0 and found["sound"] and found["findings"] == []
    assert found["records"] == {"completed": 21} and found["chunks"] == 3 and found["index_entries"] == 21
    assert found["chunk_bytes"] == LARGE and found["disk_bytes"] == sum(map(len, before.values()))
    shown = json.loads(run_semel("store", "stat", gateway.folder / "semel.yaml", "--json").stdout)
    assert shown == {name: value for name, value in found.items() if name not in ("sound", "findings", "findings_total")}
    assert contents(folder) == before
    text = run_semel("store", "check", "--path", folder).stdout
    assert text == f"{folder}: 21 records, 3 chunks, all sound\n"
    assert "completed     21\n" in run_semel("store", "stat", "--path", folder).stdout


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0xff
    path.write_bytes(data)


def test_a_damaged_table_is_found(folder):
    flip(max(folder.glob("*.sst"), key=lambda path: path.stat().st_size), 50)  # in its first block of records or chunks
    code, found = checked(folder)
    assert code == 1 and not found["sound"] and found["findings_total"] == len(found["findings"]) > 0
    assert any("checksum mismatch" in finding for finding in found["findings"])
    done = run_semel("store", "check", "--path", folder)
    assert done.returncode == 1 and f"{found['findings_total']} findings\n" in done.stdout


def test_a_store_that_cannot_be_opened_at_all(folder):
    table = min(folder.glob("*.sst"))
    flip(table, table.stat().st_size - 1)  # the number that every table ends with
    done = run_semel("store", "check", "--path", folder)
    assert done.returncode == 1 and done.stdout == "" and f"store {folder}: cannot be read: " in done.stderr


def test_a_store_that_a_gateway_has_open_is_left_alone(gateway):
    for command in ("check", "stat"):
        done = run_semel("store", command, gateway.folder / "semel.yaml", cwd=gateway.folder)
        assert (done.returncode, done.stdout) == (1, "")
        assert "another semel has it open; stop it first" in done.stderr
    assert gateway.post("/v1/charges", b"{}", key=new_key()).status < 300


def test_what_is_no_store(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for path, why in ((tmp_path / "missing", "there is no such folder"), (empty, "there is no store in this folder")):
        done = run_semel("store", "check", "--path", path)
        assert done.returncode == 1 and why in done.stderr
    assert list(tmp_path.iterdir()) == [empty] and list(empty.iterdir()) == []


def test_which_store_has_to_be_said(tmp_path):
    config = tmp_path / "semel.yaml"
    config.write_text("store: {kind: memory}\ntenant: {from: none}\nroutes:\n  - {path: /a, upstream: 'http://127.0.0.1:1'}\n")
    for words, why in (([], "say which store"), ([config, "--path", "x"], "say which store"), ([config], "no store of kind embedded")):
        done = run_semel("store", "stat", *words)
        assert done.returncode == 2 and why in done.stderr


# --- repair ---------------------------------------------------------------------------------------


def table_of_records(folder):
    """The largest one; a table names its column family at its end."""
    return max((table for table in folder.glob("*.sst") if b"records" in table.read_bytes()[-4000:]), key=lambda path: path.stat().st_size)


def repaired(folder, to, *more):
    done = run_semel("store", "repair", "--path", folder, "--to", to, *more)
    assert not to.with_name(to.name + ".repairing").exists()
    return done


def test_a_repair_saves_what_can_be_read_and_says_what_it_cannot(start_gateway, upstream, tmp_path):
    gateway = start_gateway(ROUTE, store="embedded")
    keys = [new_key() for _ in range(300)]
    with gateway.connect() as connection:
        connection.send(b"".join(request_bytes("POST", "/v1/charges", b"{}", key=key, test="size=900") for key in keys))
        assert {connection.read_response().status for _ in keys} == {200}
    assert gateway.post("/v1/charges", b"{}", key="large", test=f"size={LARGE}").status < 300
    for _ in range(2):
        gateway.restart()
    gateway.stop()
    data = pathlib.Path(gateway.config["store"]["path"])
    records = table_of_records(data)
    flip(records, records.stat().st_size // 2)
    before = contents(data)

    to = tmp_path / "repaired"
    rehearsed = repaired(data, to)
    assert rehearsed.returncode == 1 and "repeat it with --accept-loss" in rehearsed.stderr and not to.exists()
    assert "a retry of it is executed again" in rehearsed.stdout and "checksum mismatch" in rehearsed.stdout
    done = repaired(data, to, "--accept-loss", "--json")
    assert done.returncode == 0, done
    report = json.loads(done.stdout)
    saved = report["records"]["completed"]
    assert 250 < saved < 301 and report["losses_total"] > 0  # a block is lost, not the table
    assert contents(data) == before
    assert checked(to)[1]["records"] == {"completed": saved}

    again = start_gateway(ROUTE, store={"kind": "embedded", "path": str(to)})
    with again.connect() as connection:
        connection.send(b"".join(request_bytes("POST", "/v1/charges", b"{}", key=key) for key in keys))
        replayed = [connection.read_response().header("Idempotency-Replayed") == "true" for _ in keys]
    assert saved - 1 <= sum(replayed) <= saved  # the large answer may be among the lost ones
    assert upstream.effects() == 301 + 300 - sum(replayed)


def test_what_may_have_gone_on_is_unknown_after_a_repair(start_gateway, upstream, tmp_path):
    gateway = start_gateway({**ROUTE, "unknown": "hold"}, store="embedded")
    completed = gateway.post("/v1/charges", b"{}", key="completed")
    gateway.post("/v1/charges", b"{}", key="released", test="status=503")
    assert [key["key"] for key in gateway.admin("/api/keys?state=released").json()["keys"]] == ["released"]
    Background(gateway.post, "/v1/charges", b"{}", key="running", test="gate=runs")
    upstream.wait_effects(1, "running")
    gateway.kill9()
    data = pathlib.Path(gateway.config["store"]["path"])
    (data / "CURRENT").unlink()
    refused = run_semel("serve", gateway.folder / "semel.yaml", cwd=gateway.folder)
    assert refused.returncode == 1 and "semel store repair" in refused.stderr
    to = tmp_path / "repaired"
    report = json.loads(repaired(data, to, "--accept-loss", "--json").stdout)
    assert report["records"] == {"completed": 1, "unknown": 2} and report["made_unknown"] == 2
    again = start_gateway({**ROUTE, "unknown": "hold"}, store={"kind": "embedded", "path": str(to)})
    effects = upstream.effects()
    assert_replay(again.post("/v1/charges", b"{}", key="completed"), completed)
    for key in ("released", "running"):
        assert_problem(again.post("/v1/charges", b"{}", key=key), 409, "outcome-unknown")
    assert upstream.effects() == effects


def test_a_table_that_cannot_be_opened_is_left_out_as_a_whole(folder, tmp_path):
    table = table_of_records(folder)
    flip(table, table.stat().st_size - 1)
    report = json.loads(repaired(folder, tmp_path / "repaired", "--accept-loss", "--json").stdout)
    assert any("cannot be opened" in loss for loss in report["losses"])
    assert any(loss.startswith(table.name) for loss in report["losses"])
    assert checked(tmp_path / "repaired")[0] == 0


def test_a_sound_store_is_not_repaired_and_no_place_is_written_over(gateway, folder, tmp_path):
    done = repaired(folder, tmp_path / "repaired", "--accept-loss")
    assert done.returncode == 1 and "nothing is damaged" in done.stderr and not (tmp_path / "repaired").exists()
    (folder / "CURRENT").unlink()
    done = repaired(folder, gateway.folder, "--accept-loss")
    assert done.returncode == 1 and "is not an empty folder" in done.stderr
    assert run_semel("store", "repair", "--path", folder).returncode == 2
