"""The gateway before an API that knows nothing of keys gets full marks, whatever it does with duplicates in flight and
wherever it keeps its records."""
import concurrent.futures
import os
import threading

import pytest

from conftest import UNLOCK, semel_check
from harness.ports import free_port

# What a duplicate in flight gets, and how the card says it.
MODES = {"conflict": "get 409", "wait": "are held until the answer", "accept": "get 202"}
STORES = ["postgres", "redis"]


def routes(payments, name, mode):
    route = {"upstream": payments.url("").rstrip("/"), "key": {"required": True}, "in_progress": mode,
             "methods": ["POST", "PUT", "DELETE"]}
    return [{"name": f"short-{name}", "path": f"/plain-{name}/short-lived", "ttl": "2s", **route},
            {"name": name, "path": f"/plain-{name}/*", **route}]


def check(gateway, payments, name):
    url = "http://%s:%d/plain-%s" % (*gateway.address, name)
    return semel_check(url + "/charges", "--strict", *UNLOCK, "--other-path", f"/plain-{name}/refunds",
                       "--delete-path", f"/plain-{name}/charges/{{{{witness}}}}",
                       "--count", payments.url(f"plain-{name}", "/count") + "#/charges/made")


def check_expiry(gateway, name):
    url = "http://%s:%d/plain-%s" % (*gateway.address, name)
    return semel_check(url + "/short-lived", "--only", "expiry", "--ttl", "2s")


@pytest.fixture(scope="module")
def results(module_gateway, payments):
    tenant = {"from": "authorization"}
    # The expiry has an API of its own: what others charge there would be counted as well.
    gateway = module_gateway(*[route for mode in MODES for route in routes(payments, mode, mode)],
                             *routes(payments, "expiry", "conflict"), tenant=tenant)
    others = {store: module_gateway(*routes(payments, store, "conflict"), tenant=tenant, store=store) for store in STORES}
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        jobs = {mode: pool.submit(check, gateway, payments, mode) for mode in MODES}
        jobs.update({store: pool.submit(check, others[store], payments, store) for store in STORES})
        jobs["expiry"] = pool.submit(check_expiry, gateway, "expiry")
        return {name: job.result() for name, job in jobs.items()}


@pytest.mark.parametrize("name", [*MODES, *STORES])
def test_full_marks(results, name):
    result = results[name]
    assert result.why("failed") == {} and result.why("unproven") == {} and result.code == 0
    grades = result.report["grades"]
    assert grades["safety"]["graded"] >= 33 and grades["draft"]["graded"] >= 16 and grades["profile"]["graded"] >= 5
    behaviour = result.report["behaviour"]
    assert behaviour["duplicates in flight"] == MODES.get(name, MODES["conflict"])
    assert behaviour["replays"] == "are marked with Idempotency-Replayed"
    assert behaviour["503"] == "may be tried again"


def test_what_was_answered_survives_kill_9(start_gateway, payments, tmp_path):
    port = free_port()
    gateway = start_gateway(*routes(payments, "killed", "conflict"), tenant={"from": "authorization"},
                            listen=f"127.0.0.1:{port}")
    asked, done = tmp_path / "asked", tmp_path / "done"
    os.mkfifo(asked)
    os.mkfifo(done)

    def restart():
        asked.read_text()
        gateway.kill9()
        gateway.start()
        done.write_text("up")

    thread = threading.Thread(target=restart, daemon=True)
    thread.start()
    result = semel_check(f"http://127.0.0.1:{port}/plain-killed/charges", "--only", "retry/after-restart",
                         "--restart-cmd", f"echo now > {asked}; cat {done}",
                         "--count", payments.url("plain-killed", "/count") + "#/charges/made")
    assert result.ids("passed") == {"retry/after-restart"}, result.output
    thread.join()


def test_keys_expire_as_configured(results):
    assert results["expiry"].ids("passed") == {"expiry/kept-as-said", "expiry/then"}
