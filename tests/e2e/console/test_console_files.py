"""The console as files: what the admin listener serves at /, under which headers, and to whom."""

import pathlib
import re

import pytest

from harness.semel import binary

FILES = pathlib.Path(__file__).resolve().parents[3] / "console"
BYTES_MAX = 150 * 1024  # all of it, without Chart.js
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return module_gateway({"name": "charges", "path": "/charges"})


def address_of(path):
    return "/" if path.name == "index.html" else f"/console/{path.relative_to(FILES)}"


def test_every_file_is_in_the_program_as_it_is_in_the_tree(gateway):
    files = [path for path in FILES.rglob("*") if path.is_file()]
    assert len(files) > 30
    for path in files:
        answer = gateway.admin(address_of(path))
        assert (answer.status, answer.body) == (200, path.read_bytes()), path
        assert answer.header("Content-Type") == TYPES[path.suffix]
        assert answer.header("X-Content-Type-Options") == "nosniff"
    chart = gateway.admin("/console/chart.js")
    assert chart.status == 200 and b"Chart.js v" in chart.body[:200]
    assert b"The MIT License" in chart.body[:400] or b"MIT License" in chart.body[:400]


def test_it_stays_small():
    assert sum(path.stat().st_size for path in FILES.rglob("*") if path.is_file()) < BYTES_MAX


def test_the_policy_lets_nothing_in_and_nothing_out(gateway):
    for path in ("/", "/console/app.js", "/console/style/tokens.css"):
        policy = dict(part.strip().split(" ", 1) for part in gateway.admin(path).header("Content-Security-Policy").split(";"))
        assert "unsafe" not in str(policy) and policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"


def test_no_page_has_script_or_style_of_its_own_and_no_data_becomes_markup():
    page = (FILES / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=|https?:", page) == []
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"style\"|https?://(?!www\.w3\.org/2000/svg|GATEWAY)")
    bad = [f"{path.name}: {found[0]}" for path in FILES.rglob("*.js") for found in forbidden.finditer(path.read_text())]
    assert bad == []


def test_a_file_that_the_browser_has_is_not_sent_again(gateway):
    first = gateway.admin("/console/app.js")
    tag = first.header("ETag")
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = gateway.admin("/console/app.js", headers=[("If-None-Match", known)])
        assert (again.status, again.body, again.header("ETag")) == (304, b"", tag)
        assert again.all("Content-Length") == []
    changed = gateway.admin("/console/app.js", headers=[("If-None-Match", '"other"')])
    assert changed.status == 200 and changed.body == first.body
    assert first.header("Cache-Control") == "no-cache"
    assert gateway.admin("/").header("ETag") != tag


def test_head_and_what_is_not_there(gateway):
    head = gateway.admin("/", method="HEAD")
    assert head.status == 200 and head.body == b""
    assert int(head.header("Content-Length")) == (FILES / "index.html").stat().st_size
    for path in ("/console/", "/console/nobody.js", "/index.html"):
        assert gateway.admin(path).status == 404, path
    for path in ("/console/../admin-token", "/console/%2e%2e/x"):
        assert gateway.admin(path).status == 400, path
    assert gateway.admin("/", method="POST").status == 405


def test_pages_from_elsewhere_get_nothing(gateway):
    assert gateway.admin("/", host="evil.example").status == 421
    assert gateway.admin("/console/app.js", host="evil.example").status == 421


def test_beyond_loopback_the_page_is_free_and_the_data_are_not(start_gateway, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text("alice 0123456789abcdef0123\n")
    gateway = start_gateway({"name": "charges", "path": "/charges"},
                            admin={"listen": "0.0.0.0:0", "tokens_file": str(tokens)})
    assert gateway.admin("/").status == 200 and gateway.admin("/console/app.js").status == 200
    for path in ("/api/keys", "/api/status", "/metrics"):
        assert gateway.admin(path).status == 401, path
    known = gateway.admin("/api/status", headers=[("Authorization", "Bearer 0123456789abcdef0123")])
    assert known.status == 200


def test_the_program_names_no_file_of_the_machine_that_built_it():
    program = pathlib.Path(binary()).read_bytes()
    assert b"/usr/share/javascript" not in program
