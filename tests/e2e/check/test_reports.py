"""The forms of a report are well-formed whatever the endpoint sends, keep to what was seen, and hold no credentials."""
import html.parser
import json
import pathlib
import re
import subprocess
import time
import xml.etree.ElementTree

import pytest

from conftest import BODY, semel_check
from harness.semel import binary

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "docs/check.schema.json"
HOSTILE = b'{"id": "%d", "said": "<script>alert(1)</script> ]]> & \\" | \x1b[31m \xff"}'


def hostile(peer, number):
    """An API that ignores keys, and answers with what breaks reports."""
    while peer.read_request():
        peer.answer(HOSTILE % number)


@pytest.fixture(scope="module")
def files(tmp_path_factory, payments):
    """Every form of one run against an API with several kinds of verdicts."""
    folder = tmp_path_factory.mktemp("reports")
    forms = [word for form in ("json", "junit", "html", "markdown") for word in (f"--{form}", str(folder / form))]
    url = payments.url("mismatch-leaks", "/charges")
    done = semel_check(url, "--only", "first", "--only", "mismatch", "--only", "retry", form=forms)
    return done, {form: (folder / form).read_text() for form in ("json", "junit", "html", "markdown")}


def test_text_shows_what_failed_and_how_to_see_it(files):
    done, _ = files
    assert done.code == 3
    assert re.search(r"^  ✗ S mismatch/no-leak +§5   the refusal shows ch_\d+ of the first answer$", done.output, re.M)
    assert "Show it:  semel check … --only mismatch/no-leak -v" in done.output
    assert re.search(r"^  \? S mismatch/no-effect", done.output, re.M), "unproven without a counter"
    assert "witness: /id, Location" in done.output
    assert "More checks with: --restart-cmd" in done.output
    assert re.search(r"^\d+ checks: about \d+ requests with \d+ effects", done.errors)
    assert "✓" not in done.output, "what passed is shown with -v only"


def test_json_has_its_shape(files):
    report, schema = json.loads(files[1]["json"]), json.loads(SCHEMA.read_text())
    assert set(report) == set(schema["required"]) == set(schema["properties"])
    one = schema["properties"]["checks"]["items"]
    verdicts, levels = one["properties"]["verdict"]["enum"], one["properties"]["level"]["enum"]
    for check in report["checks"]:
        assert set(one["required"]) <= set(check) <= set(one["properties"])
        assert check["verdict"] in verdicts and check["level"] in levels
        for exchange in check["exchanges"]:
            assert set(exchange) == set(one["properties"]["exchanges"]["items"]["required"])
    by_id = {check["id"]: check for check in report["checks"]}
    assert by_id["mismatch/no-leak"]["verdict"] == "failed"
    assert len(by_id["mismatch/refused"]["exchanges"]) == len(by_id["mismatch/no-leak"]["exchanges"]) == 3
    assert by_id["retry/large"]["verdict"] == "n/a" and by_id["retry/large"]["needs"] == "--large-body"
    assert report["exit"] == 3 and report["effects"] < report["requests"]
    safety = report["grades"]["safety"]
    assert safety["passed"] == safety["graded"] - 1


def test_junit_is_xml_that_counts_right(files):
    suite = xml.etree.ElementTree.fromstring(files[1]["junit"])
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) and int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 1
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped")) > 3
    [failed] = [case for case in cases if case.find("failure") is not None]
    assert failed.get("name") == "mismatch/no-leak" and failed.find("failure").get("type") == "safety"


def test_markdown_is_a_row(files):
    lines = files[1]["markdown"].splitlines()
    assert len({line.count("|") for line in lines[:3]}) == 1
    assert any(line.startswith("- safety mismatch/no-leak (§5): ") for line in lines[3:])


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.linked = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.linked += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_balanced_and_needs_nothing_from_elsewhere(files):
    tags = Tags(files[1]["html"])
    assert tags.open == [] and tags.linked == [] and "details" in tags.seen


def test_what_the_endpoint_sends_is_escaped_in_every_form(raw_upstream, tmp_path):
    upstream = raw_upstream(hostile)
    forms = [word for form in ("json", "junit", "html", "markdown") for word in (f"--{form}", str(tmp_path / form))]
    done = semel_check(upstream.url + "/pay", "--only", "retry/one-effect", "--only", "mismatch", "-v", form=forms)
    assert done.code == 3, done.errors
    assert "\x1b" not in done.output, "nothing steers the terminal"
    json.loads((tmp_path / "json").read_text())
    suite = xml.etree.ElementTree.fromstring((tmp_path / "junit").read_text())
    assert "<script>" in suite.find("testcase/failure").text
    page = (tmp_path / "html").read_text()
    assert "script" not in Tags(page).seen and "&lt;script&gt;" in page


def chunked(peer, number):
    """An API that ignores keys, and does not know the length of its answers."""
    while peer.read_request():
        body = b'{"id": "made-%d"}' % number
        parts = b"".join(b"%x;x=y\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:]))
        peer.send(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n" + parts +
                  b"0\r\nTrailer: x\r\n\r\n")


def until_closed(peer, number):
    """The same, with answers that end with the connection."""
    peer.read_request()
    peer.send(b'HTTP/1.0 201 Made\r\n\r\n{"id": "made-%d"}' % number)
    peer.socket.close()


@pytest.mark.parametrize("script", [chunked, until_closed])
def test_answers_are_read_however_they_are_framed(raw_upstream, script):
    done = semel_check(raw_upstream(script).url, "--only", "retry/one-effect", "--only", "retry/status")
    assert done.report["witness"] == ["/id"] and done.ids("passed") == {"retry/status"}
    assert re.search(r"had 2 effects instead of 1 \(made-\d+; made-\d+\)", done.why("failed")["retry/one-effect"])


def echoing(peer, number):
    """An API that answers with the credentials it was sent."""
    while request := peer.read_request():
        caller = re.search(rb"Authorization: (\w+ ([^\r]*))", request)
        peer.answer(b'{"id": "%d", "caller": "%s", "token": "%s"}' % (number, caller[1], caller[2]))


def test_credentials_are_in_no_report(raw_upstream, tmp_path):
    upstream = raw_upstream(echoing)
    token = tmp_path / "token"
    token.write_text("Authorization: Bearer token-alice\n")
    command = [binary(), "check", upstream.url, "-H", f"@{token}", "--body", BODY, "--only", "tenant",
               "--other-auth", "Bearer token-bob", "--bad-auth", "Bearer token-eve", "-v"]
    for form in ("--json", "--junit", "--html", "--markdown"):
        command += [form, str(tmp_path / form[2:])]
    done = subprocess.run(command, capture_output=True, text=True)
    written = done.stdout + done.stderr + "".join((tmp_path / form).read_text() for form in ("json", "junit", "html", "markdown"))
    assert written.count('"caller": "***"') > 5, written
    assert not [word for word in ("token-alice", "token-bob", "token-eve") if word in written]


# Safety and use

def run(*arguments):
    return subprocess.run([binary(), "check", *arguments], capture_output=True, text=True, timeout=60)


def test_other_machines_need_a_yes_and_production_its_name():
    done = run("http://192.0.2.1/charges")
    assert done.returncode == 5 and "--yes" in done.stderr and "effects" in done.stderr
    done = run("-H", "A: b", "--only", "race", "http://192.0.2.1/charges", "--yes")
    assert done.returncode == 5 and "--confirm 192.0.2.1" in done.stderr


@pytest.mark.parametrize("arguments,sentence", [
    (["ftp://127.0.0.1/"], "must begin with http:// or https://"),
    (["http://user:word@127.0.0.1/"], "use -H 'Authorization: …'"),
    (["http://127.0.0.1/", "--only", "retry/nothing"], "there is no check or family 'retry/nothing'"),
    (["http://127.0.0.1/", "--body", "@/nowhere"], "--body: cannot read /nowhere"),
    (["http://127.0.0.1/", "--ttl", "soon"], "--ttl: 'soon'"),
    (["http://127.0.0.1/", "-H", "nonsense"], "write 'Name: value'"),
    (["http://127.0.0.1/", "--race", "13"], "--race"),
])
def test_a_bad_command_line_is_explained(arguments, sentence):
    done = run(*arguments)
    assert done.returncode == 2 and sentence in done.stderr


def test_an_endpoint_that_cannot_be_checked_has_a_code_of_its_own(payments):
    done = run(payments.url("right", "/charges"), "-H", "Authorization: Bearer eve")
    assert done.returncode == 4 and "Cannot be checked: a request with a new key got 401" in done.stdout
    done = run("http://127.0.0.1:9/")
    assert done.returncode == 4 and "cannot connect" in done.stdout


def test_a_dry_run_sends_nothing_and_lists_every_check(payments):
    made = payments.made("right")
    done = semel_check(payments.url("right", "/charges"), "--dry-run", form=())
    assert done.code == 0 and payments.made("right") == made
    assert len(re.findall(r"^  [ –] [SDPI] \w+/\S+", done.output, re.M)) > 60
    assert re.search(r"– S tenant/other .*\(unlocked by --other-auth\)$", done.output, re.M)


def test_the_limits_end_a_run_and_nothing_counts_as_passed_then(payments):
    done = semel_check(payments.url("right", "/charges"), "--max-requests", "20")
    assert done.report["requests"] == 20 and "--max-requests 20" in done.report["stopped"]
    assert {"race/one-effect", "lost/pipelined"} <= done.ids("unproven")
    done = semel_check(payments.url("right", "/charges"), "--max-effects", "10")
    assert 10 <= done.report["effects"] <= 12 and "--max-effects 10" in done.report["stopped"]


def test_an_interrupted_run_prints_what_it_has(payments):
    command = [binary(), "check", payments.url("right", "/charges"), "-H", "Authorization: Bearer alice", "--body", BODY,
               "--json", "-", "--rate", "10"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        made = payments.made("right")
        while payments.made("right") < made + 5:
            time.sleep(0.01)
        process.send_signal(2)
        report = json.loads(process.stdout.read())
    assert report["stopped"] == "interrupted"
    verdicts = {check["verdict"] for check in report["checks"]}
    assert {"passed", "unproven"} <= verdicts


def test_current_state_is_said_and_a_failure_only_if_asked(payments):
    url = payments.url("current-state", "/charges")
    done = semel_check(url, "--only", "retry/body")
    assert done.code == 0 and done.ids("said") == {"retry/body"}
    assert done.report["behaviour"]["a retry"] == "gets the current state"
    done = semel_check(url, "--only", "retry/body", "--strict")
    assert done.code == 1 and done.ids("failed") == {"retry/body"}


def test_profile_failures_count_only_if_asked(payments):
    url = payments.url("no-marker", "/charges")
    assert semel_check(url, "--only", "retry/marker").code == 0
    assert semel_check(url, "--only", "retry/marker", "--strict").code == 1


def test_repeat_and_gentle_do_as_they_say(payments):
    url = payments.url("right", "/charges")
    once = semel_check(url, "--only", "retry/one-effect").report["requests"]
    assert semel_check(url, "--only", "retry/one-effect", "--repeat", "3").report["requests"] == once + 2 * 2
    assert semel_check(url, "--only", "key/bad-bytes", "--only", "key/too-long", "--gentle").report["requests"] == once - 2


def test_it_waits_after_429(raw_upstream):
    def limited(peer, number):
        peer.read_request()
        if number == 1:
            peer.answer(b"{}", status=429, headers="Retry-After: 1\r\n")
        else:
            peer.answer(b'{"id": "%d"}' % number)

    begun = time.monotonic()
    done = semel_check(raw_upstream(limited).url, "--only", "first/executes")
    assert done.code == 0 and done.ids("passed") == {"first/executes"} and time.monotonic() - begun >= 1


def test_cleanup_gets_each_effect_without_a_shell_reading_it(payments, tmp_path):
    done = semel_check(payments.url("right", "/charges"), "--only", "first",
                       "--cleanup", f'printf "%s\\n" "$SEMEL_WITNESS" >> {tmp_path}/made')
    made = (tmp_path / "made").read_text().splitlines()
    assert len(made) == len(set(made)) == done.report["effects"] and all(line.startswith("ch_") for line in made)


def test_a_command_can_count(payments):
    url = payments.url("gone-forgets", "/count")
    count = f"curl -s {url} | tr -dc 0-9"
    done = semel_check(payments.url("gone-forgets", "/charges"), "--only", "lost/client-gone", "--count-cmd", count,
                       "--slow-body", '{"slow": 0.3}')
    assert done.ids("failed") == {"lost/client-gone"}
    done = semel_check(payments.url("right", "/charges"), "--count-cmd", "echo none", form=())
    assert done.code == 4 and "--count-cmd printed no number" in done.output


def test_over_tls(start_gateway, payments, certificates):
    gateway = start_gateway({"path": "/plain-tls/*", "upstream": payments.url("").rstrip("/")}, 
                            tls=certificates.server.files())
    url = "https://127.0.0.1:%d/plain-tls/charges" % gateway.address[1]
    only = ["--only", "race", "--only", "lost", "--only", "retry/at-once"]
    done = semel_check(url, *only, "--cacert", str(certificates.ca.cert), "--count",
                       payments.url("plain-tls", "/count") + "#/charges/made")
    assert done.code == 0 and done.why("failed") == {} and done.why("unproven") == {}
    done = semel_check(url, *only, form=())
    assert done.code == 4 and "certificate" in done.output


def test_the_documents_list_every_check(payments):
    plan = semel_check(payments.url("right", "/charges"), "--dry-run", form=()).output
    listed = re.findall(r"^  [ –] ([SDPI]) (\S+)", plan, re.M)
    page = (ROOT / "docs/check.md").read_text()
    assert re.findall(r"^\| `(\w+/[\w-]+)` \| ([SDPI]) \|", page, re.M) == [(name, level) for level, name in listed]
