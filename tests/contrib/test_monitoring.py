"""contrib/alerts.yaml and contrib/grafana.json name metrics and labels that a running gateway has, and every alert has its
entry in the runbook."""

import json
import re

import pytest
import yaml

import promql
import units
from harness.semel import eventually, new_key

ALERTS = yaml.safe_load((units.ROOT / "contrib/alerts.yaml").read_text())
DASHBOARD = json.loads((units.ROOT / "contrib/grafana.json").read_text())
OPERATIONS = (units.ROOT / "docs/operations.md").read_text()
SCRAPED = {"instance", "job"}  # labels that Prometheus adds
RESULTS = re.findall(r"`(\w+)`", re.search(r"^\| `semel_requests_total.*$", OPERATIONS, re.M)[0])


def rules():
    [group] = ALERTS["groups"]
    return group["rules"]


def expressions():
    """(where it stands, expression) of every rule, panel and variable."""
    found = [(rule["alert"], rule["expr"]) for rule in rules()]
    found += [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
    found += [(each["name"], each["query"]) for each in DASHBOARD["templating"]["list"] if each["type"] == "query"]
    return found


@pytest.fixture(scope="module")
def samples(module_gateway, upstream_process):
    """{metric: {label: values}} of a gateway that has met a little of everything."""
    upstream_process.reset()
    gateway = module_gateway({"name": "charges", "path": "/charges", "limits": {"new_keys_per_second": 1, "burst": 1}},
                             {"name": "watched", "path": "/watched", "mode": "observe"}, store="embedded",
                             notify={"url": upstream_process.url, "secret": "c2l4dGVlbiBieXRlcyBvciBtb3Jl"})
    for key in (new_key(), new_key()):
        gateway.post("/charges", json={}, key=key)
    gateway.post("/watched", json={}, key=new_key())
    eventually(lambda: "semel_observed_total" in gateway.admin("/metrics").body.decode())
    found = {"up": {"job": {"semel"}}}
    for line in gateway.admin("/metrics").body.decode().splitlines():
        if not line.startswith("#"):
            metric, labels = re.match(r"([\w:]+)(?:\{(.*)\})? ", line).groups()
            values = found.setdefault(metric, {})
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""):
                values.setdefault(label, set()).add(value)
    return found


@pytest.mark.parametrize("where, expression", expressions(), ids=[where for where, _ in expressions()])
def test_it_asks_for_what_a_gateway_has(samples, where, expression):
    selectors, grouped = promql.read(expression)
    selectors = [each for each in selectors if "label_values" not in expression or each.metric.startswith("semel_")]
    assert selectors
    for each in selectors:
        assert each.metric in samples, f"there is no {each.metric}"
        assert set(each.labels) <= set(samples[each.metric]) | SCRAPED, f"{each.metric} has no such label"
        assert each.ranged == bool(re.search(r"_(total|bucket|sum|count)$", each.metric)) or "label_values" in expression
        for operator, value in each.labels.values():
            values = value.split("|") if operator == "=~" else [value]
            known = {v for values_of in samples[each.metric].values() for v in values_of} | set(RESULTS)
            assert all(v.startswith("$") or v in known for v in values), (each.metric, value)
    assert grouped <= SCRAPED | {label for each in selectors for label in samples[each.metric]}


def test_a_mistake_is_found():
    for wrong in ("sum(rate(a[5m])", "rate(a[5m]))", "a{b=c}", "a[5m]", "sum a", "a # b"):
        with pytest.raises((AssertionError, IndexError)):
            promql.read(wrong)


def test_every_alert_has_its_entry_in_the_runbook():
    chapter = re.search(r"^## Alerts$(.*?)(?=^## |\Z)", OPERATIONS, re.M | re.S)[1]
    assert re.findall(r"^### (\w+)$", chapter, re.M) == [rule["alert"] for rule in rules()]
    for entry in re.split(r"^### \w+$", chapter, flags=re.M)[1:]:
        assert len(entry.split()) > 20, entry


def test_every_alert_says_who_is_woken_why_and_where_to_read_on():
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert "for" not in rule or units.seconds(rule["for"]) > 0
        assert rule["annotations"]["summary"].count("{{") == rule["annotations"]["summary"].count("}}")
        selectors, grouped = promql.read(rule["expr"])
        aggregated = re.match(r"\w+(\(| by)", rule["expr"]) and not rule["expr"].startswith(("increase", "rate"))
        for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
            assert label in (grouped if aggregated else SCRAPED | {"of"}), (rule["alert"], label)


def test_the_panels_of_the_dashboard_do_not_overlap():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    variables = {each["name"] for each in DASHBOARD["templating"]["list"]}
    assert set(re.findall(r"\$(\w+)", "".join(expr for where, expr in expressions() if where not in
                                               {rule["alert"] for rule in rules()}))) <= variables
