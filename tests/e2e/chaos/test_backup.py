"""A store is backed up while clients write to it as fast as they can, and while its gateway is killed."""

import json
import pathlib
import random
import time

from harness.clients.http_client import request_bytes
from harness.clients.retrying_client import Fleet, assert_once_and_remembered
from harness.program import run_semel
from harness.semel import Background, assert_replay, eventually, new_key

SEED = 20260102
CLIENTS = 8
LARGE = 3_000_000  # twelve chunks
ROUTE = {"name": "charges", "path": "/charges", "unknown": "hold", "max_stored_body": "64KiB"}


def ask_for_backup(gateway, to):
    host, port = gateway.admin_address
    return run_semel("backup", gateway.folder / "semel.yaml", "--to", to, "--admin", f"http://{host}:{port}",
                     cwd=gateway.folder)


def restored(start_gateway, backup, folder):
    done = run_semel("restore", "--from", backup, "--to", folder)
    assert done.returncode == 0, done
    checked = run_semel("store", "check", "--path", folder)
    assert checked.returncode == 0 and "all sound" in checked.stdout, checked
    return start_gateway(ROUTE, store={"kind": "embedded", "path": str(folder)})


class Flood:
    """New keys, a hundred at once on each connection, until it is told to end."""

    def __init__(self, gateway):
        self._gateway = gateway
        self.ending = False
        self.acknowledged = {}  # in the order of their answers
        self._writers = [Background(self._write) for _ in range(CLIENTS)]

    def _write(self):
        with self._gateway.connect() as connection:
            while not self.ending:
                keys = [new_key() for _ in range(100)]
                connection.send(b"".join(request_bytes("POST", "/charges", b"{}", key=key) for key in keys))
                for key in keys:
                    answer = connection.read_response()
                    assert answer.status == 200, answer
                    self.acknowledged[key] = answer

    def end(self):
        self.ending = True
        for writer in self._writers:
            writer.result()


def test_everything_acknowledged_before_a_backup_under_load_replays_from_it(start_gateway, upstream, tmp_path):
    gateway = start_gateway(ROUTE)
    large = gateway.post("/charges", b"{}", key="large", test=f"size={LARGE}")
    flood = Flood(gateway)
    begun = time.monotonic()
    moments = []  # a backup, and what had been acknowledged when it was asked for
    for number in range(3):
        enough = len(flood.acknowledged) + 600
        eventually(lambda: len(flood.acknowledged) >= enough)
        known = dict(flood.acknowledged)
        backup = tmp_path / f"backup{number}"
        done = ask_for_backup(gateway, backup)
        assert done.returncode == 0, done
        moments.append((backup, known, len(flood.acknowledged)))
    flood.end()
    print(f"{len(flood.acknowledged)} keys in {time.monotonic() - begun:.1f} s; "
          f"{[(len(known), during) for _, known, during in moments]}")
    assert any(during > len(known) for _, known, during in moments)  # it went on serving

    backup, known, _ = moments[-1]
    effects = upstream.effects()
    second = restored(start_gateway, backup, tmp_path / "restored")
    with second.connect() as connection:
        for key, first in known.items():
            connection.send(request_bytes("POST", "/charges", b"{}", key=key))
            assert_replay(connection.read_response(), first)
    assert_replay(second.post("/charges", b"{}", key="large"), large)
    assert upstream.effects() == effects


def test_kill_9_in_the_middle_of_backups_does_no_harm(start_gateway, upstream, tmp_path):
    chance = random.Random(SEED)
    gateway = start_gateway(ROUTE)
    for _ in range(20):  # something to sum: a backup takes a while
        assert gateway.post("/charges", b"{}", key=new_key(), test=f"size={LARGE}").status == 200
    gateway.restart()
    incomplete = 0
    with Fleet(CLIENTS, [gateway], SEED) as fleet:
        for number in range(6):
            upstream.wait_effects(upstream.effects() + chance.randint(20, 80))
            backup = tmp_path / f"backup{number}"
            asked = Background(ask_for_backup, gateway, backup)
            eventually(backup.exists, every=0.0005)
            gateway.kill9()
            done = asked.result()
            gateway.start()
            manifest = backup / "backup.json"
            if manifest.exists():  # it was quicker than the signal
                assert json.loads(manifest.read_text())["files"]
                continue
            incomplete += 1
            assert done.returncode == 1
            refused = run_semel("restore", "--from", backup, "--to", tmp_path / "restored")
            assert refused.returncode == 1 and "the backup is incomplete" in refused.stderr
            assert not (tmp_path / "restored").exists()
        upstream.wait_effects(upstream.effects() + 50)
    assert incomplete > 0
    assert_once_and_remembered(fleet, gateway, upstream)
    last = tmp_path / "last"
    assert ask_for_backup(gateway, last).returncode == 0
    gateway.stop()
    checked = run_semel("store", "check", "--path", pathlib.Path(gateway.config["store"]["path"]))
    assert checked.returncode == 0 and "all sound" in checked.stdout
    assert_once_and_remembered(fleet, restored(start_gateway, last, tmp_path / "restored"), upstream)
