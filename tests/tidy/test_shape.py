"""The shape of the tree: which folder may include which, no circles among modules, and nothing too long to read.

Each rule has a list of today's exceptions. Take an entry out when it is mended; a test fails if an entry is no longer
needed, so the lists only get shorter."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("include", "src", "tests", "bench", "fuzz", "examples") for p in
           (ROOT / folder).rglob("*") if p.suffix in (".h", ".cc")]

# A folder includes only folders that stand before it here. "semel" is include/semel.
LAYERS = ["semel", "base", "core", "auth", "pg", "client", "engine", "http", "postgres", "stores", "config", "library", "telemetry", "runtime",
          "execution", "gateway", "server", "admin", "service", "brokers", "relay", "consume", "check", "cli"]
# Folders that may not be included although they stand before.
FORBIDDEN = {"base": {"semel"}, "pg": {"auth"}, "engine": {"pg", "auth"}, "http": {"pg", "auth", "engine"},
             "postgres": {"pg", "auth", "engine", "http"}, "stores": {"pg"}, "config": {"pg", "engine"}, "library": {"pg"},
             "telemetry": {"pg"}, "runtime": {"pg"}, "execution": {"pg"}, "gateway": {"pg"}, "server": {"pg"}, "admin": {"pg"}, "service": {"pg", "admin"},
             "relay": {"pg", "admin", "service"}, "consume": {"pg", "relay", "service"},
             "brokers": {"pg", "auth", "engine", "http", "stores", "telemetry", "runtime", "execution", "gateway", "server", "admin", "service"},
             # It judges any endpoint, the gateway too: it shares only what is below both.
             "check": set(LAYERS) - {"base", "core", "check"},
             "client": {"auth", "pg"}}
for room in set(LAYERS) - {"client", "cli"}:
    FORBIDDEN.setdefault(room, set()).add("client")
# It is for programs that have none of what follows; the command line has `semel once`.
for room in set(LAYERS) - {"library", "cli"}:
    FORBIDDEN.setdefault(room, set()).add("library")

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
FILES_IN_A_FOLDER_MAX = 27  # about 25; base/ is a collection of small things

LONG_FUNCTIONS = set()
LONG_FILES = set()
LARGE_FOLDERS = set()
# Rooms that do not have a namespace of their own yet.
ROOMS_WITHOUT_NAMESPACE = set()


def included(path):
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


def module_of(path):
    """`runtime/worker` for src/runtime/worker.h and .cc: the folder and the name, without include/ or src/."""
    return str(path.relative_to(ROOT).with_suffix("")).split("/", 1)[1]


def modules():
    """Returns the modules that each module of include/ and src/ includes."""
    files = [p for p in SOURCES if p.relative_to(ROOT).parts[0] in ("include", "src")]
    found = {module_of(p): set() for p in files}
    for path in files:
        names = {name.rsplit(".", 1)[0] for name in included(path)}
        found[module_of(path)] |= {name for name in names if name in found and name != module_of(path)}
    return found


def circles(graph):
    """The sets of nodes of which each can be reached from each other, those of one node left out."""
    def reached(start, edges):
        seen, waiting = {start}, [start]
        while waiting:
            for other in edges.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen

    back = {}
    for node, others in graph.items():
        for other in others:
            back.setdefault(other, set()).add(node)
    left, found = set(graph), []
    while left:
        node = left.pop()
        circle = reached(node, graph) & reached(node, back)
        left -= circle
        if len(circle) > 1:
            found.append(circle)
    return found


def functions(text):
    """(name, first line, lines) of every function, method and lambda, as clang-format lays them out."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.endswith("{") or re.match(r"\s*(namespace|class|struct|enum|union|extern)\b", line):
            continue
        first = number
        while first > 0 and not re.search(r"[;{}:>]$|^\s*(//|#|$)", lines[first - 1]):
            first -= 1
        head = " ".join(part.strip() for part in lines[first:number + 1])
        name = re.search(r"([\w:~]+)\(", head)
        if not name or name[1] in ("if", "for", "while", "switch", "catch"):
            continue
        if head.startswith("{") or (first < number and re.search(r"\](\(.*\))?.*{$", head)):
            continue  # a lambda inside an expression: the end of its body cannot be told by the margin
        indent = lines[first][:len(lines[first]) - len(lines[first].lstrip())]
        last = next((n for n in range(number + 1, len(lines)) if lines[n].startswith(indent + "}")), number)
        yield name[1], first + 1, last - first + 1


def test_dependencies_point_down_the_page():
    bad = []
    for module, others in modules().items():
        folder = module.split("/")[0]
        allowed = set(LAYERS[:LAYERS.index(folder) + 1]) - FORBIDDEN.get(folder, set())
        bad += [f"{module} includes {other}" for other in others if other.split("/")[0] not in allowed]
    assert sorted(bad) == []


def test_what_a_service_uses_shows_nothing_of_the_driver():
    headers = {module: others for module, others in modules().items()
               if module.startswith("semel/") and not module.startswith("semel/driver/")}
    assert "semel/pg" in headers
    assert [f"{module} includes {other}" for module, others in sorted(headers.items()) for other in sorted(others)
            if other.startswith("semel/driver/")] == []


def test_no_modules_include_each_other_in_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == [{"b", "c"}]
    assert {min(circle): len(circle) for circle in circles(modules())} == {}


def test_a_function_fits_on_a_screen():
    text = (ROOT / "src/core/transition.cc").read_text()
    assert "put_off" in [name for name, _, _ in functions(text)] and len(list(functions(text))) > 20
    long = {f"{p.relative_to(ROOT)} {name}" for p in SOURCES for name, _, lines in functions(p.read_text())
            if lines > FUNCTION_LINES_MAX}
    assert long == LONG_FUNCTIONS


def test_a_file_has_one_job():
    long = {str(p.relative_to(ROOT)) for p in SOURCES if len(p.read_text().splitlines()) > FILE_LINES_MAX}
    assert long == LONG_FILES


def test_a_folder_can_be_taken_in_at_a_glance():
    files = [p for p in ROOT.rglob("*") if p.suffix in (".h", ".cc", ".py", ".sql")
             and p.relative_to(ROOT).parts[0] in ("include", "src", "sql", "tests")]
    counts = collections.Counter(p.parent for p in files)
    large = {str(folder.relative_to(ROOT)) for folder, count in counts.items() if count > FILES_IN_A_FOLDER_MAX}
    assert large == LARGE_FOLDERS


def namespaces(text):
    """The namespaces that something is defined in, unnamed ones left out. Declaring a class of another room in advance
    is no definition."""
    inside, found = [], set()
    for line in text.splitlines():
        opened = re.match(r"(?:inline )?namespace ([\w:]*) ?{$", line)
        if opened:
            inside.append(opened[1])
        elif line.startswith("}  // namespace"):
            inside.pop()
        elif not re.match(r"$|\s*//|#|namespace \w+ = |(class|struct|enum class) \w+( : [\w:]+)?;$", line):
            found.add("::".join(name for name in inside if name))
    return found


def test_a_room_has_one_namespace():
    text = ("namespace a {\nclass Early;\n}  // namespace a\nnamespace semel::b {\nnamespace {\nint x;\n}  // namespace\n"
            "namespace c {\nint y;\n}  // namespace c\n}  // namespace semel::b\n")
    assert namespaces(text) == {"semel::b", "semel::b::c"}
    headers = [p for p in SOURCES if p.relative_to(ROOT).parts[0] == "include"]
    public = {p.stem for p in headers}
    classes = "|".join({name for p in headers for name in re.findall(r"^(?:class|struct) (\w+)", p.read_text(), re.M)})
    without = set()
    for path in SOURCES:
        folder, room = path.relative_to(ROOT).parts[:2]
        if folder != "src":
            continue
        own = rf"semel::{room}(::.*)?"
        text = path.read_text()
        # Defines what a public header declares, or a member of a class there.
        if path.stem in public or re.search(
                rf"^(?! )[\w:<>,&* ]*\b(?:{classes})(?:::\w+)*::~?\w+\(|^(?:class|struct) (?:v1::)?(?:{classes})\b.*{{$", text, re.M):
            own += "|semel"
        if any(name.startswith("semel") and not re.fullmatch(own, name) for name in namespaces(text)):
            without.add(room)
    assert without == ROOMS_WITHOUT_NAMESPACE
