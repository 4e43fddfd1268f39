"""Lists that exist in several languages agree: the numbers of states, results and flags, which SQL has as literals with
their names beside them, and the lists of headers that are not kept."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def snake(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def enumerators(path, enum):
    """{number: name} of an enum whose numbers are written out."""
    body = re.search(rf"enum (?:class )?{enum}\b[^{{]*{{(.*?)}};", (ROOT / path).read_text(), re.S)[1]
    found = {int(number): name for name, number in re.findall(r"(\w+) = (\d+)", re.sub(r"//.*", "", body))}
    assert found
    return found


# A removal comes to semel.swap_batch as a record without a state.
STATES = {0: "removal", **enumerators("include/semel/driver/record.h", "RecordState")}
RESULTS = enumerators("include/semel/driver/record.h", "RecordResult")
FLAGS = {number: snake(name[1:]) for number, name in enumerators("src/core/codec.cc", "Flag").items()}

NAMED = r"(\d+)(?: /\* ([\w, ]+) \*/)?"
PLACES = [  # where a number is one of these
    (re.compile(rf"\b(?:was_)?state (?:=|<>|<|>|<=|>=) {NAMED}"), STATES),
    (re.compile(rf"\bCASE \w+\.state\s+WHEN {NAMED}"), STATES),
    (re.compile(rf"\bsemel\.note\([\w.]+, \w+, {NAMED}"), STATES),
    (re.compile(rf"\bresult = {NAMED}"), RESULTS),
    (re.compile(rf"\bflags & ~?{NAMED}"), FLAGS),
]


def name_of(number, names):
    if number in names:
        return names[number]
    return ", ".join(name for bit, name in names.items() if number & bit)  # several flags


def unnamed(text):
    """Numbers without their names, or with those of others."""
    lists = re.findall(r"\bstate (?:NOT )?IN \(([^)]*)\)", text)
    found = [(*one, STATES) for items in lists for one in re.findall(NAMED, items)]
    found += [(*one, names) for pattern, names in PLACES for one in pattern.findall(text)]
    wrong = [f"{number} {name}" for number, name, names in found if name != name_of(int(number), names)]
    every = {**{name: number for names in (STATES, RESULTS) for number, name in names.items()}}
    wrong += [f"{number} {name}" for number, name in re.findall(r"(\d+) /\* (\w+) \*/", text)
              if name in every and int(number) != every[name]]
    return len(found), wrong


def test_a_number_that_is_misnamed_is_found():
    for bad in ("r.state = 3", "r.state = 3 /* released */", "state IN (1 /* queued */, 2)", "x.flags & 16", "flags & ~2 /* body_omitted */",
                "result = 1 /* failed */", "semel.note(r.noted, at, 4, r.attempt", "CASE r.state\n WHEN 4 THEN", "VALUES (1, 2 /* released */)"):
        assert unnamed(bad)[1], bad
    for good in ("r.state > 2 /* in_progress */", "n.was_state = n.state", "flags & 3 /* only_auth_failures, ttl_from_creation */"):
        assert not unnamed(good)[1], good


def test_every_number_in_sql_has_its_name():
    numbers, wrong = 0, []
    for path in sorted((ROOT / "sql/functions").glob("*.sql")):
        count, bad = unnamed(re.sub(r"--.*", "", path.read_text()))
        numbers += count
        wrong += [f"{path.name}: {one}" for one in bad]
    assert numbers > 80 and not wrong


def listed_in_cpp(path, array):
    body = re.search(rf"constexpr (?:auto|std::array) {array} =(.*?);", (ROOT / path).read_text(), re.S)[1]
    return {name.lower() for name in re.findall(r'"([^"]+)"', body)}


def test_the_lists_of_headers_are_those_of_the_table():
    table = json.loads((ROOT / "tests/vectors/headers.json").read_text())
    named = {kind: {name.lower() for name in table[kind]} for kind in ("connection", "ours", "moment", "credentials", "prefixes")}
    headers = "src/execution/headers.cc"
    assert listed_in_cpp(headers, "kHopByHop") == named["connection"]
    assert listed_in_cpp(headers, "kOurs") == named["ours"]
    assert listed_in_cpp(headers, "kNeverReplayed") - named["connection"] == named["moment"]
    assert listed_in_cpp(headers, "kNeverReplayedPrefixes") == named["prefixes"]
    assert listed_in_cpp("src/http/fields/never_kept.cc", "kNeverKept") == named["credentials"]

    sql = (ROOT / "sql/functions/3_application.sql").read_text()
    names = re.search(r"CONTINUE WHEN lower\(pair ->> 0\) IN \((.*?)\)\s+OR", sql, re.S)[1]
    assert set(re.findall(r"'([^']+)'", names)) == set.union(*(named[kind] for kind in named if kind != "prefixes"))
    prefixes = re.search(r"lower\(pair ->> 0\) ~ '\^\(([^)]*)\)'", sql)[1]
    assert set(prefixes.split("|")) == named["prefixes"]
