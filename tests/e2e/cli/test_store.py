"""`semel store` examines an embedded store that nobody has open: what is in it, and whether all of it can be read."""
import json
import pathlib

import pytest

from harness.program import run_semel
from harness.semel import new_key

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
