"""examples/beside as it stands: the same worker in three languages, killed where it hurts, and beside each other."""

import os
import pathlib
import subprocess
import uuid

import pytest

from harness.clients.service_client import TOKEN, ServiceClient
from harness.ports import free_port
from harness.semel import TIMEOUT, Gateway, eventually, new_key

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples/beside"
WORKERS = {"sh": ["sh", EXAMPLE / "worker.sh"], "py": ["/usr/bin/python3", EXAMPLE / "worker.py"],
           "js": ["node", EXAMPLE / "worker.mjs"]}
LINES_MAX = 60


class Shop:
    """Semel with the example's configuration, on ports of its own, and a ledger."""

    def __init__(self, folder):
        self.ledger = folder / "ledger"
        self.ledger.touch()
        port = free_port()
        text = (EXAMPLE / "semel.yaml").read_text()
        assert "127.0.0.1:8090" in text
        file = folder / "semel.yaml"
        file.write_text(text.replace("127.0.0.1:8090", f"127.0.0.1:{port}").replace(
            "path: ./semel-data", f"path: {folder}/data, free_bytes_min: 1MiB") +
            "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\n")
        self.gateway = Gateway(config_file=file, environment={"WORKER_TOKEN": TOKEN}).start()
        self.environment = {**os.environ, "SEMEL": f"http://127.0.0.1:{port}",
                            "WORKER_TOKEN": TOKEN, "LEDGER": str(self.ledger)}

    def begin(self, kind, key, amount, **environment):
        return subprocess.Popen([*WORKERS[kind], key, str(amount)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**self.environment, **environment})

    def run(self, *args):
        worker = self.begin(*args)
        out, err = worker.communicate(timeout=TIMEOUT)
        return worker.returncode, out.decode().strip(), err.decode()

    def admin_token(self):
        return (self.ledger.parent / "data/admin-token").read_text().split()[1]

    def booked(self, key):
        return [line for line in self.ledger.read_text().splitlines() if line.startswith(key)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    shop = Shop(tmp_path_factory.mktemp("beside"))
    yield shop
    shop.gateway.discard()


@pytest.mark.parametrize("kind", WORKERS)
def test_a_worker_books_once_and_says_the_same_again(shop, kind):
    key = new_key()
    assert shop.run(kind, key, 10)[:2] == (0, "booked 10")
    for other in WORKERS:
        assert shop.run(other, key, 10)[:2] == (0, "booked 10")
    assert shop.booked(key) == [f"{key} 10"]
    code, _, why = shop.run(kind, key, 11)
    assert code != 0 and "key-reused" in why
    assert len((EXAMPLE / f"worker.{'mjs' if kind == 'js' else kind}").read_text().splitlines()) < LINES_MAX


def test_workers_of_all_kinds_at_once_book_once(shop):
    key = new_key()
    workers = [shop.begin(kind, key, 7) for kind in WORKERS for _ in range(3)]
    assert [w.communicate(timeout=TIMEOUT)[0].strip() for w in workers] == [b"booked 7"] * 9
    assert shop.booked(key) == [f"{key} 7"]


def fifo(folder):
    """A ledger at which a worker stands still, until somebody reads."""
    path = folder / f"ledger-{uuid.uuid4().hex}"
    os.mkfifo(path)
    return path


def claimed(shop, key):
    return lambda: [k for k in shop.gateway.admin(f"/api/keys?key={key}").json()["keys"]
                    if k["state"] == "in_progress"]


@pytest.mark.parametrize("kind", WORKERS)
def test_a_worker_that_is_killed_leaves_the_outcome_unknown(shop, kind, tmp_path):
    """Nobody knows whether it booked: no other worker does it before somebody has looked."""
    key = new_key()
    worker = shop.begin(kind, key, 5, LEDGER=str(fifo(tmp_path)))
    record = eventually(claimed(shop, key))[0]["id"]
    worker.kill()
    worker.communicate(timeout=TIMEOUT)
    client = ServiceClient(shop.gateway)
    body = client.claim_body(key, operation="invoices", payload={"amount": 5})
    assert client.request("POST", "/v1/claims", body).json()["code"] == "in-progress"
    decision = {"reason": "not in the ledger", "force": True}
    assert shop.gateway.change(f"/api/keys/{record}/release", decision, token=shop.admin_token()).status == 200
    assert shop.run(kind, key, 5)[:2] == (0, "booked 5")
    assert shop.booked(key) == [f"{key} 5"]


@pytest.mark.parametrize("kind", WORKERS)
def test_a_worker_outlives_a_killed_gateway(shop, kind, tmp_path):
    key = new_key()
    ledger = fifo(tmp_path)
    worker = shop.begin(kind, key, 6, LEDGER=str(ledger))
    eventually(claimed(shop, key))
    shop.gateway.kill9()
    written = ledger.read_text()  # the worker executes while there is no gateway
    shop.gateway.start()
    out, err = worker.communicate(timeout=TIMEOUT)
    assert (worker.returncode, out.strip(), written) == (0, b"booked 6", f"{key} 6\n"), err
    assert shop.run(kind, key, 6)[:2] == (0, "booked 6")
