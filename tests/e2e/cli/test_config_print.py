"""`semel config print`: the configuration in effect, which can be read again, without its secrets."""
import json
import pathlib

import pytest

from harness.program import run_semel

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["minimal", "payments"])
def test_an_example_can_be_read_again(tmp_path, name):
    done = run_semel("config", "print", ROOT / "examples" / f"{name}.yaml")
    assert done.returncode == 0 and "hold_for: never" in done.stdout and "drain_timeout: 30s" in done.stdout
    again = tmp_path / "again.yaml"
    again.write_text(done.stdout)
    assert run_semel("config", "check", again).returncode == 0
    assert run_semel("config", "print", again).stdout == done.stdout
    as_json = json.loads(run_semel("config", "print", again, "--json").stdout)
    assert as_json == {"file": str(again), "yaml": done.stdout}


def test_variables_are_replaced_and_secrets_hidden(tmp_path):
    path = tmp_path / "semel.yaml"
    path.write_text("store: {kind: postgres, url: 'postgresql://semel:${PASSWORD}@${HOST}/semel'}\n"
                    "tenant: {from: none}\n"
                    "routes: [{path: /*, upstream: 'http://127.0.0.1:1'}]\n")
    done = run_semel("config", "print", path, env={"PASSWORD": "hunter2", "HOST": "db.example"})
    assert "postgresql://semel:***@db.example/semel" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_a_bad_file_is_explained(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("routes: 5\n")
    done = run_semel("config", "print", path)
    assert done.returncode == 2 and done.stdout == "" and f"{path}:1: routes" in done.stderr
