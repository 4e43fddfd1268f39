"""The command line: what is wrong is said with file, line, key and the nearest name, and the exit
code means something."""

import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from harness.clients.http_client import TIMEOUT
from harness.semel import binary

GOOD = """\
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
store: {kind: memory}
tenant: {from: none}
routes:
  - name: charges
    path: /v1/charges
    upstream: http://127.0.0.1:3000
    ttl: 24h
    key: {required: true, max_length: 255}
"""


def run(*args, env=None, cwd=None):
    return subprocess.run([binary(), *map(str, args)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT, cwd=cwd,
                          env={**os.environ, **(env or {})})


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="semel-test-") as path:
        yield pathlib.Path(path)


@pytest.fixture
def config(folder):
    def write(text):
        path = folder / "semel.yaml"
        path.write_text(text)
        return path
    return write


def check_bad(path, *said):
    """Both commands refuse it, and say all of this on stderr."""
    for command in (("config", "check", path), ("serve", "--config", path)):
        done = run(*command)
        assert done.returncode == 2, (command, done)
        for words in said:
            assert words in done.stderr, (command, done.stderr)
    return done.stderr


def test_a_good_configuration(config):
    done = run("config", "check", config(GOOD))
    assert done.returncode == 0, done


def test_a_configuration_that_says_only_what_it_must(config):
    done = run("config", "check", config(
        "tenant: {from: none}\nroutes:\n  - {path: /a, upstream: 'http://127.0.0.1:1'}\n"))
    assert done.returncode == 0, done


def test_an_unknown_key_names_file_line_key_and_the_nearest(config):
    path = config(GOOD.replace("    ttl: 24h", "    tll: 24h"))
    check_bad(path, f"{path}:9:", "routes[0].tll", "ttl")


def test_an_unknown_key_at_the_top(config):
    path = config(GOOD.replace("tenant:", "tennant:"))
    check_bad(path, f"{path}:4:", "tennant", "tenant")


def test_an_unknown_nested_key(config):
    path = config(GOOD.replace("max_length", "max_lenght"))
    check_bad(path, f"{path}:10:", "routes[0].key.max_lenght", "max_length")


def test_an_unknown_word(config):
    path = config(GOOD + "    unknown: hodl\n")
    check_bad(path, f"{path}:11:", "routes[0].unknown", "hold")


@pytest.mark.parametrize("line, key", [
    ("ttl: 24", "ttl"), ("ttl: 46d", "ttl"), ("ttl: 500ms", "ttl"), ("ttl: -1s", "ttl"),
    ("lease: soon", "lease"), ("max_stored_body: 1MB", "max_stored_body"),
    ("statuses: {mismatch: 42}", "statuses.mismatch"), ("methods: POST, PUT", "methods"),
    ("fingerprint: {include: [amount]}", "fingerprint.include"),
    ("fingerprint: {exclude: ['/a~2b']}", "fingerprint.exclude"),
    ("outcomes: {final: [2xy]}", "outcomes.final"), ("upstream: ftp://127.0.0.1", "upstream"),
    ("key: {from: fingerprint}", "ttl"), ("path: v1", "path"), ("errors: xml", "errors"),
    ("in_progress: [wait]", "in_progress"), ("key: 17", "key"),
], ids=lambda v: v)
def test_a_bad_value_is_refused_with_its_key(config, line, key):
    name = line.split(":")[0]
    path_of_route = "" if name == "path" else "    path: /v1/charges\n"
    text = re.sub(rf"^    ({name}|path):.*\n", "", GOOD, flags=re.M) + path_of_route
    path = config(text + f"    {line}\n")
    check_bad(path, str(path), key)


def test_a_fingerprint_key_needs_a_short_ttl(config):
    base = GOOD.replace("key: {required: true, max_length: 255}", "key: {from: fingerprint}")
    check_bad(config(base.replace("ttl: 24h", "ttl: 11m")), "ttl")
    assert run("config", "check", config(base.replace("ttl: 24h", "ttl: 10m"))).returncode == 0


def test_keyed_routes_need_a_tenant(config):
    check_bad(config(GOOD.replace("tenant: {from: none}\n", "")), "tenant")


def test_two_routes_of_one_name(config):
    check_bad(config(GOOD + "  - {name: charges, path: /b, upstream: 'http://127.0.0.1:1'}\n"),
              "charges")


def test_a_key_given_twice(config):
    check_bad(config(GOOD + "    ttl: 1h\n"), "ttl")


def test_every_error_is_reported_not_only_the_first(config):
    path = config(GOOD.replace("listen: 127", "lisen: 127", 1).replace("ttl: 24h", "ttl: never"))
    check_bad(path, f"{path}:1:", "lisen", f"{path}:9:", "ttl")


def test_broken_yaml_names_its_line(config):
    path = config("listen: 127.0.0.1:0\nroutes: [\n  - broken: {\n")
    check_bad(path, str(path))


@pytest.mark.parametrize("text", ["", "[]", "routes", "- a\n- b\n", "\x00", "a: &a [*a]\n"],
                         ids=repr)
def test_a_file_that_is_no_configuration(config, text):
    check_bad(config(text))


@pytest.mark.parametrize("store", ["{kind: dynamodb}"])
def test_later_stores_are_not_in_this_version(config, store):
    check_bad(config(GOOD.replace("{kind: memory}", store)), "store.kind", "not in this version")


def test_variables_are_expanded(config):
    path = config(GOOD.replace("ttl: 24h", "ttl: ${SEMEL_TEST_TTL:-24h}")
                  .replace("http://127.0.0.1:3000", "${SEMEL_TEST_URL}"))
    url = {"SEMEL_TEST_URL": "http://127.0.0.1:3000"}
    assert run("config", "check", path, env=url).returncode == 0
    done = run("config", "check", path)
    assert done.returncode == 2 and "SEMEL_TEST_URL" in done.stderr and f"{path}:8:" in done.stderr
    assert run("config", "check", path, env={**url, "SEMEL_TEST_TTL": "never"}).returncode == 2


def test_a_file_that_is_not_there(folder):
    for command in (("config", "check"), ("serve", "--config")):
        done = run(*command, folder / "missing.yaml")
        assert done.returncode == 2 and "missing.yaml" in done.stderr


@pytest.mark.parametrize("line", ["listen: 127.0.0.1:0\n", "{listen: 127.0.0.1:0}"])
def test_a_port_in_use_is_said_at_start(config, upstream, line):
    port = str(upstream.address[1])
    done = run("serve", "--config", config(GOOD.replace(line, line.replace(":0", ":" + port), 1)))
    assert done.returncode > 0 and port in done.stderr, done


def test_version():
    done = run("version")
    assert done.returncode == 0 and re.search(r"\d+\.\d+", done.stdout), done


def test_help_everywhere():
    for args in ([], ["serve"], ["demo"], ["config"], ["config", "check"], ["version"]):
        done = run(*args, "--help")
        assert done.returncode == 0 and "Usage" in done.stdout, (args, done)
        assert done.stderr == ""
    top = run("--help").stdout
    for command in ("serve", "demo", "config", "version"):
        assert command in top


@pytest.mark.parametrize("args", [["srve"], ["serve", "--confg", "x"], ["config", "chek"],
                                  ["serve"], ["config"], ["version", "extra"]], ids=" ".join)
def test_a_wrong_command_line_is_exit_2_and_says_what_is_wrong(args):
    done = run(*args)
    assert done.returncode == 2, done
    assert done.stderr.strip() and done.stdout == ""


@pytest.mark.parametrize("path, why", [("/dev/zero", "larger than 1MiB"), ("/tmp", "it is a directory")])
def test_what_is_no_configuration_file_is_refused(path, why):
    done = run("config", "check", path)
    assert done.returncode == 2 and why in done.stderr


@pytest.mark.parametrize("command", [("ls",), ("ls", "--json"), ("show", "0" * 64),
                                     ("release", "0" * 64, "--reason", "x")],
                         ids=lambda command: " ".join(command[:2]))
def test_without_a_gateway_keys_says_so_and_nothing_else(command):
    down = run("keys", *command, "--admin", "http://127.0.0.1:1")
    assert (down.returncode, down.stdout) == (1, ""), down
    assert down.stderr.startswith("semel: no answer from the admin listener at 127.0.0.1:1: "
                                  "Connection refused\nIs the gateway running there?"), down.stderr
    assert "--admin" in down.stderr and "--help" in down.stderr and "boost" not in down.stderr
