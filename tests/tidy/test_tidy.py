"""The rules of the house that a machine can check: where time and randomness come from, formatting, and that documents
name what exists. What concerns the shape of the tree is in test_shape.py."""
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("include", "src", "tests", "bench", "fuzz", "examples") for p in
           (ROOT / folder).rglob("*") if p.suffix in (".h", ".cc")]


def includes(path):
    return re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


def test_the_core_is_pure():
    pure = [path for folder in ("src/base", "src/core") for path in (ROOT / folder).rglob("*.*") if path.stem != "blocking_pool"]
    bad = [f"{path.name}: {name}" for path in pure for name in includes(path) if name.startswith("boost/asio") or
           name in ("semel/driver/store.h", "semel/driver/clock.h", "semel/driver/engine.h", "thread")]
    bad += [f"{path.name}: a clock" for path in pure if re.search(r"\w_clock\b", path.read_text())]
    assert not bad


def test_time_and_randomness_come_from_one_file_each():
    allowed = {"src/engine/system_clock.cc", "src/base/random.cc",
               "src/client/clock.cc"}  # of programs that have no engine
    pattern = re.compile(r"system_clock::now|random_device|RAND_bytes|\bgettimeofday\b|\bgetrandom\b")
    bad = [str(p.relative_to(ROOT)) for p in SOURCES if "src" in p.parts or "include" in p.parts
           if pattern.search(p.read_text()) and str(p.relative_to(ROOT)) not in allowed]
    assert not bad


def test_formatting():
    files = [str(p) for p in SOURCES]
    result = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *files],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[:3000]


def ranges_of_loops(text):
    """(line, range) of every range-for."""
    for loop in re.finditer(r"\bfor \(", text):
        end, depth = loop.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        declared = re.match(r"[^:]*(?:::[^:]*)*?(?<!:):(?!:)", text[loop.end():end - 1])
        if declared:
            yield (text.count("\n", 0, loop.start()) + 1,
                   text[loop.end() + declared.end():end - 1].strip())


def looks_into_a_temporary(what):
    """A function's result on which something is called (`f(x).g()`), or which is dereferenced (`*f(x)`). Methods of what has
    a name are taken to give references, except for those that give away what they hold."""
    free_call = r"[\w:]+(<[^()]*>)?\(.*\)"
    return bool(re.fullmatch(free_call + r"\s*(\.|->)\w+\(.*\)|\*" + free_call, what, re.S) or
                re.search(r"\)\s*(\.|->)(value|value_or|rows|body)\(", what) or
                re.match(r"\*[\w.>-]+\(", what))


def test_no_loop_runs_over_a_part_of_a_temporary():
    """Before P2718 (C++23, which few compilers have) the temporary dies before the first turn."""
    assert looks_into_a_temporary("json::parse(text).as_array()")
    assert looks_into_a_temporary("*find(x)") and looks_into_a_temporary("run(store().sweep(at, 1)).value()")
    assert not looks_into_a_temporary("record.at(\"keys\").as_array()") and not looks_into_a_temporary("split(path)")
    bad, loops = [], 0
    for path in SOURCES:
        for line, what in ranges_of_loops(path.read_text()):
            loops += 1
            if looks_into_a_temporary(what):
                bad.append(f"{path.relative_to(ROOT)}:{line}: {what}")
    assert loops > 300 and not bad


def test_documents_link_to_what_exists():
    bad = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#]+)", prose):
            if "://" not in target and not (page.parent / target).exists():
                bad.append(f"{page.relative_to(ROOT)}: {target}")
    assert not bad


def test_every_trap_and_attack_has_the_tests_it_names():
    text = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*")
                     if path.suffix in (".py", ".cc"))
    named = re.findall(r"`((?:test_\w+)|(?:[A-Z]\w+\.\w+))`", (ROOT / "docs/traps.md").read_text() +
                       (ROOT / "docs/security.md").read_text())
    missing = []
    for name in named:
        suite, dot, test = name.partition(".")
        found = (re.search(rf"^TEST(_[FP])?\({suite}, {test}\)", text, re.M) if dot
                 else re.search(rf"^def {name}\(", text, re.M))
        if not found:
            missing.append(name)
    assert len(named) > 40 and not missing


def test_no_task_ends_without_a_word():
    """A task spawned `detached` drops its exception: engine/spawn.h has what reports it, or begins the task anew."""
    bad = [f"{path.relative_to(ROOT)}:{number}" for path in SOURCES if "src" in path.parts
           for number, line in enumerate(path.read_text().splitlines(), 1)
           if re.search(r"asio::detached\b|\[[^\]]*\]\(std::exception_ptr\)", line)]
    assert not bad


def test_what_the_sanitizers_call_is_installed():
    """Without llvm-symbolizer no suppression matches. clang 19 looks for it under this name."""
    assert re.search(r"\bllvm-19\b", (ROOT / "scripts/setup").read_text())
    assert shutil.which("llvm-symbolizer-19")
