"""The pages that a newcomer reads first are short, complete and true: CONTRIBUTING.md, src/README.md and the walk through
one request in docs/architecture.md name only files that exist."""
import pathlib
import re

from test_shape import LAYERS

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
ARCHITECTURE = ROOT / "docs/architecture.md"
ROOMS = ROOT / "src/README.md"

SCREEN_LINES_MAX = 55
COLUMNS_MAX = 120
WALK_FILES_MAX = 12
CHANGES = ["A metric", "A configuration key", "A webhook provider", "A rule of the state machine", "A store"]
# The order in which a change names its files.
KINDS = {"include": "source", "src": "source", "sql": "source", "cmake": "source", "scripts": "source",
         "tests": "test", "docs": "document", "examples": "document"}
ORDER = ["source", "test", "document"]


def prose(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def section(page, heading):
    found = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", prose(page), re.M | re.S)
    assert found, f"{page.name} has no section '{heading}'"
    return found[1]


def paths_in(text):
    """The words in backticks that are paths: those with a slash inside, and those that end like a file of the project."""
    words = [word for code in re.findall(r"`([^`]+)`", text) for word in code.split()]
    return [word for word in words if re.fullmatch(r"[\w.-]+/[\w./-]*|[\w-]+\.(cc|h|py|md|sql|json|yaml|txt)", word)]


def missing_from(text, *bases):
    return [path for path in paths_in(text) if not any((base / path).exists() for base in bases)]


def items(text):
    """The entries of a list, numbered or not, each with its further lines."""
    return re.findall(r"^(?:\d+\.|-) .*(?:\n +.*)*", text, re.M)


def walk():
    """(number, path, function) of each step."""
    steps = [re.match(r"(\d+)\. `([^`]+)`, `([^`]+)`\. ", step) for step in
             items(section(ARCHITECTURE, "One request in twelve files"))]
    assert steps and all(steps), "a step begins with its number, a path and a function"
    return [(int(step[1]), step[2], step[3]) for step in steps]


def test_paths_are_told_from_other_words():
    text = "`src/a.cc`, `core/`, `scripts/test release`, `open.cc`; `/readyz`, `sql/NNN_*.sql`, `area: verb`, `Engine::admit`"
    assert paths_in(text) == ["src/a.cc", "core/", "scripts/test", "open.cc"]
    assert missing_from("`src/core/transition.cc` and `src/core/transitions.cc`", ROOT) == ["src/core/transitions.cc"]
    assert missing_from("`core/transition.cc` and `transition.cc`", ROOT, ROOT / "src") == ["transition.cc"]


def test_contributing_fits_on_a_screen():
    lines = CONTRIBUTING.read_text().splitlines()
    assert len(lines) <= SCREEN_LINES_MAX
    assert [line for line in lines if len(line) > COLUMNS_MAX] == []


def test_contributing_names_what_exists():
    assert len(paths_in(prose(CONTRIBUTING))) > 30
    assert missing_from(prose(CONTRIBUTING), ROOT) == []


def test_each_change_names_its_source_its_test_and_its_document_in_this_order():
    changes = items(section(CONTRIBUTING, "A newcomer's five changes"))
    assert [re.match(r"- \*\*(.*?)\.\*\*", change)[1] for change in changes] == CHANGES
    for name, change in zip(CHANGES, changes):
        kinds = [KINDS[path.split("/")[0]] for path in paths_in(change)]
        assert kinds == sorted(kinds, key=ORDER.index) and set(kinds) == set(ORDER), name


def test_the_walk_has_few_files_and_each_has_its_function():
    steps = walk()
    assert [number for number, _, _ in steps] == list(range(1, len(steps) + 1))
    files = {path for path in paths_in(section(ARCHITECTURE, "One request in twelve files"))}
    assert files == {path for _, path, _ in steps} and len(files) == len(steps) <= WALK_FILES_MAX
    absent = [f"{path}: {function}" for _, path, function in steps
              if not re.search(rf"^[\w:<>]+ {function}\(", (ROOT / path).read_text(), re.M)]
    assert absent == []


def test_architecture_names_what_exists():
    assert len(paths_in(prose(ARCHITECTURE))) > 40
    assert missing_from(prose(ARCHITECTURE), ROOT, ROOT / "src") == []
    assert [line for line in ARCHITECTURE.read_text().splitlines() if len(line) > COLUMNS_MAX] == []


def test_the_diagram_shows_each_room_above_those_it_may_include():
    diagram = re.search(r"^```text\n(.*?)^```", ARCHITECTURE.read_text(), re.M | re.S)[1]
    shown = [room for line in diagram.splitlines() for room in re.split(r" {4,}", line)[0].split()]
    assert shown == LAYERS[:0:-1]


def test_each_room_has_one_paragraph():
    rooms = re.findall(r"^\*\*(\w+)/\*\* \S", ROOMS.read_text(), re.M)
    assert sorted(rooms) == sorted({path.relative_to(ROOT / "src").parts[0] for path in (ROOT / "src").rglob("*.cc")})
    assert rooms == LAYERS[1:]
    others = [text for text in ROOMS.read_text().split("\n\n")[1:] if not text.startswith("**")]
    assert len(others) == 1, "one paragraph before the rooms, and none between them"
    assert missing_from(prose(ROOMS), ROOT, ROOT / "src") == []
