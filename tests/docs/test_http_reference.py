"""docs/http.md: every exchange on it happens so against a gateway, and everything that the source can say is on it.

An exchange is two `http` blocks, a request after `<!-- exchange: NAME -->` and its answer; http_examples.NAME sets the stage for it.
`…` in an answer stands for anything. `Host`, `Content-Length`, `Date` and `Connection` are left out on the page."""

import json
import re

import pytest

import http_examples
from blocks import ROOT, blocks_of
from harness.clients.http_client import Connection

PAGE = ROOT / "docs/http.md"
TEXT = PAGE.read_text()
LEFT_OUT = {"host", "content-length", "date", "connection", "transfer-encoding", "x-test"}
PAIRS = [block for block in blocks_of(PAGE) if block.language == "http"]
EXCHANGES = list(zip(PAIRS[::2], PAIRS[1::2]))


class Message:
    def __init__(self, text):
        head, _, self.body = text.strip("\n").partition("\n\n")
        self.start, *fields = head.split("\n")
        self.fields = [tuple(field.split(": ", 1)) for field in fields]


def fits(said, found):
    return re.fullmatch(".*".join(map(re.escape, said.split("…"))), found, re.S)


def differences(said, found, at=""):
    """Yields where two JSON values differ: in their members, and in values that are said without `…`."""
    if isinstance(said, dict) and isinstance(found, dict):
        if said.keys() != found.keys():
            yield f"{at}: {sorted(said)} on the page, {sorted(found)} in the answer"
        for name in said.keys() & found.keys():
            yield from differences(said[name], found[name], f"{at}/{name}")
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for number, (one, other) in enumerate(zip(said, found)):
            yield from differences(one, other, f"{at}/{number}")
    elif said != "…" and said != found and not (isinstance(said, str) and isinstance(found, str) and fits(said, found)):
        yield f"{at}: {said!r} on the page, {found!r} in the answer"


def compare_head(block, found):
    said = Message(block.text)
    assert fits(said.start, found.start), f"{block}: {found.start} {found.fields}"
    names = {name.lower() for name, _ in found.fields} - LEFT_OUT
    assert {name.lower() for name, _ in said.fields} == names, f"{block}: {found.fields}"
    for name, value in said.fields:
        values = [one for other, one in found.fields if other.lower() == name.lower()]
        assert any(fits(value, one) for one in values), f"{block}: {name}: {values}"


def wire(stage, request):
    text = request.text
    for word, value in stage.values.items():
        text = text.replace(word, value)
    message = Message(text)
    body = message.body.encode()
    fields = [("Host", "api.example"), ("X-Test", stage.script), *message.fields]
    if message.start.split()[0].upper() == "POST":
        fields.append(("Content-Length", str(len(body))))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"{message.start}\r\n{head}\r\n".encode() + body


@pytest.fixture(scope="module")
def gateway(module_gateway):
    return start(module_gateway)


def start(factory, **more):
    return factory(*http_examples.routes(), tenant={"from": "authorization"}, service=http_examples.SERVICE,
                   environment=http_examples.TOKENS, store="embedded", **more)


@pytest.mark.parametrize("request_block, answer_block", EXCHANGES, ids=lambda block: f"{block.name}" if block.name else "")
def test_exchange(request_block, answer_block, request, upstream):
    assert request_block.name and not answer_block.name, f"{request_block}: not a request and its answer"
    if request_block.name == "broken":
        gateway = start(request.getfixturevalue("start_gateway"), inherit_signals=True)
    else:
        gateway = request.getfixturevalue("gateway")
    stage = http_examples.Stage(gateway, upstream)
    getattr(http_examples, request_block.name)(stage)
    try:
        with Connection(stage.address) as connection:
            connection.send(wire(stage, request_block))
            answer = connection.read_response(Message(request_block.text).start.split()[0])
        if request_block.name == "forwarded":
            compare_head(answer_block, Message(upstream.raw_head().decode().strip().replace("\r\n", "\n")))
            return
    finally:
        stage.end()
        upstream.reset()
    found = Message(f"HTTP/1.1 {answer.status} {answer.reason}")
    found.fields = answer.headers
    compare_head(answer_block, found)
    said = Message(answer_block.text)
    if said.body.startswith(("{", "[")):
        different = list(differences(json.loads(said.body), answer.json()))
        assert not different, "\n".join([str(request_block), *different])
    else:
        assert fits(said.body, answer.body.decode()), answer


def test_published_rules(gateway):
    answer = gateway.get("/.semel/policy")
    assert answer.status == 200 and answer.header("Content-Type") == "application/json"
    [said] = [json.loads(block.text) for block in blocks_of(PAGE) if block.language == "json"]
    assert said["routes"] == answer.json()["routes"][:1]


# Everything that the source can say

def source(*folders):
    return "\n".join(file.read_text() for folder in folders for file in sorted((ROOT / "src" / folder).rglob("*.cc")))


def table_of(title):
    """Returns the first cell of each row under this heading."""
    section = re.search(rf"^#+ {re.escape(title)}$(.*?)(?=^#+ |\Z)", TEXT, re.M | re.S)[1]
    return " ".join(re.findall(r"^\| (.*?) \|", section, re.M))


def test_every_code_has_a_row_and_an_exchange():
    named = re.findall(r'\{Code::\w+, (\d+), "([\w-]+)"', source("core"))
    assert len(named) > 20
    answers = [json.loads(Message(answer.text).body or "{}") for _, answer in EXCHANGES
               if "problem+json" in answer.text]
    shown = {answer["code"] for answer in answers}
    for status, code in named:
        assert re.search(rf"^\| {status}[^|]*\| `{code}` \|", TEXT, re.M), f"{code}: no row with status {status}"
        assert code in shown, f"{code}: no exchange"


def test_every_status_is_on_the_page():
    statuses = set(re.findall(r"\.status = (\d{3})\b", source("gateway", "execution"))) | set(
        re.findall(r"status = (\d{3});", source("gateway", "execution")))
    assert len(statuses) > 5
    assert not [status for status in statuses if not re.search(rf"\b{status}\b", table_of("Statuses"))]


def test_every_header_is_on_the_page():
    not_replayed = re.search(r"kNeverReplayed = .*?;", source("execution"), re.S)[0]  # docs/spec.md has those
    literals = set(re.findall(r'"((?:Idempotency|Semel|X|Access-Control|Preference)-[A-Za-z-]*[A-Za-z])"',
                              source("gateway", "execution").replace(not_replayed, "")))
    assert len(literals) > 20
    assert not [name for name in literals if f"`{name}`" not in TEXT]
    read = set(re.findall(r'(?:message|request|fields\w*)\(?\)?[.,] ?(?:field\()?"([A-Z][A-Za-z-]+)"', source("gateway", "execution")))
    assert len(read) >= 3
    assert not [name for name in read if f"`{name}`" not in TEXT]


def test_every_member_is_on_the_page():
    problem = set(re.findall(r'body\["(\w+)"\]', source("core"))) | {"error"}
    status = set(re.findall(r'out\["(\w+)"\]', (ROOT / "src/gateway/keyed/status_resource.cc").read_text()))
    policy = set(re.findall(r'out\["(\w+)"\]', (ROOT / "src/config/policy_page.cc").read_text()))
    assert len(problem) > 9 and len(status) > 9 and len(policy) > 12
    for members, title in ((problem, "The problem document"), (status, "The status of an operation"),
                           (policy, "The published rules")):
        row = table_of(title)
        assert not [name for name in members if f"`{name}`" not in row], title
