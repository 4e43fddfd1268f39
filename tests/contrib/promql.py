"""Reads PromQL as far as needed to see which metrics and labels an expression names, and that it is well formed: what
stands where, not what it means. promtool (test_promtool.py) knows more of PromQL,
but neither the dashboard nor which metrics a gateway has."""

import re

FUNCTIONS = {"rate", "increase", "histogram_quantile", "sum", "max", "min", "count", "avg", "label_values"}
KEYWORDS = {"by", "on", "group_left", "and", "or", "unless"}
TOKEN = re.compile(r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<range>\[\d+[smhd]\])|(?P<number>\d+(?:\.\d+)?)
                       |(?P<word>[a-zA-Z_:][\w:]*)|(?P<operator>=~|!~|!=|==|>=|<=|[-+*/<>=(){},]))""", re.X)
PAIRS = {")": "(", "}": "{"}


class Selector:
    """A metric and the labels that it is asked for: {label: (operator, value)}."""

    def __init__(self, metric):
        self.metric, self.labels, self.ranged = metric, {}, False


def tokens(text):
    at, found = 0, []
    while text[at:].strip():
        match = TOKEN.match(text, at)
        assert match, f"cannot be read: {text[at:at + 30]}"
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def read(text):
    """Returns the selectors, and the labels that results are grouped by."""
    selectors, grouped, opened, before = [], set(), [], None
    stream = tokens(text)
    for number, (kind, token) in enumerate(stream):
        following = stream[number + 1][1] if number + 1 < len(stream) else ""
        inside = opened[-1] if opened else ("", "")
        if token in "({" and kind == "operator":
            opened.append((token, before))
        elif token in PAIRS:
            assert opened and opened.pop()[0] == PAIRS[token], f"'{token}' closes nothing: {text}"
        elif kind == "range":
            assert inside[1] in ("rate", "increase"), f"a range outside of rate() and increase(): {text}"
            selectors[-1].ranged = True
        elif kind == "word" and inside[0] == "{":
            operator, value = stream[number + 1][1], stream[number + 2]
            assert operator in ("=", "=~", "!=", "!~") and value[0] == "string", f"'{token}' is no matcher: {text}"
            selectors[-1].labels[token] = (operator, value[1][1:-1])
        elif kind == "word" and inside[1] in ("by", "on", "group_left"):
            grouped.add(token)
        elif kind == "word" and token in FUNCTIONS:
            assert following in ("(", "by"), f"'{token}' is a function: {text}"
        elif kind == "word" and token not in KEYWORDS:
            selectors.append(Selector(token))
        before = token
    assert not opened, f"'{opened[-1][0]}' is not closed: {text}"
    return selectors, grouped
