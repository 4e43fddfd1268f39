"""Every fenced block of the documents does what it says: C++ is compiled against an installed copy of the library, and
linked and run where this folder has a main() around it; YAML passes `semel config check`; SQL and Python run on a
PostgreSQL with the schema; commands exist, with their options; JSON parses. A block without a rule here fails.
Tutorials are run by test_tutorials.py, HTTP by test_http_reference.py.

`<!-- snippet: NAME -->` before a C++ block names the line of tests/docs/PAGE.cc that it stands for. tests/docs/PAGE.sql makes what
the page's SQL and Python expect to be there, tests/docs/pages.py the values that its Python uses."""

import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

import pages
from blocks import BLOCKS, DOCUMENTS, ROOT, TUTORIALS, blocks_of
from harness.clients.certificates import Authority
from harness.servers.postgres_server import BINARIES
from harness.semel import binary

HERE = pathlib.Path(__file__).resolve().parent
LANGUAGES = {"text", "cpp", "cmake", "yaml", "sql", "python", "sh", "json", "http"}
# Of tutorials, which test_tutorials.py runs; the Java of one of them is not compiled.
TUTORIALS_LANGUAGES = LANGUAGES | {"js", "ruby", "java"}


def of(language):
    return [block for block in BLOCKS if block.language == language and block.page not in TUTORIALS]


def pages_with(*languages):
    return list(dict.fromkeys(block.page for language in languages for block in of(language)))


def parametrize(what, values):
    return pytest.mark.parametrize(what, values, ids=lambda value: value.stem if isinstance(value, pathlib.Path) else str(value))


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_block_has_a_rule():
    assert len(BLOCKS) > 40
    assert not [f"{block}: '{block.language}'" for block in BLOCKS
                if block.language not in (TUTORIALS_LANGUAGES if block.page in TUTORIALS else LANGUAGES)]
    fences = sum(len(re.findall(r"^\s*```", page.read_text(), re.M)) for page in DOCUMENTS)
    assert fences == 2 * len(BLOCKS), "a fence that is indented, or not closed"
    snippets = [(block.page, block.name) for block in BLOCKS if block.name and block.language == "cpp"]
    named = set(snippets)
    assert len(named) == len(snippets)
    places = {(ROOT / "docs" / f"{path.stem}.md", name) for path in HERE.glob("*.cc")
              for name in re.findall(r"// snippet: (\w+)", path.read_text())}
    assert named == places


# C++ and CMake

def is_program(block):
    return "int main" in block.text


def assembled(page):
    """tests/docs/PAGE.cc with the page's snippets in it; the compiler's messages name their lines."""
    around = HERE / f"{page.stem}.cc"
    source = around.read_text()
    for block in blocks_of(page):
        if block.language != "cpp" or is_program(block):
            continue
        assert block.name, f"{block}: say which line of tests/docs/{page.stem}.cc it stands for"
        place = re.search(rf"^ *// snippet: {block.name}$", source, re.M)
        after = source.count("\n", 0, place.end()) + 2
        source = (source[:place.start()] + f'#line {block.line} "{page.relative_to(ROOT)}"\n{block.text}'
                  f'#line {after} "{around.relative_to(ROOT)}"' + source[place.end():])
    return source


def test_cpp_compiles_against_an_installed_copy_and_holds_what_it_says(tmp_path, database):
    build = pathlib.Path(os.environ["SEMEL_BINARY"]).parent
    run("cmake", "--install", build, "--component", "library", "--prefix", tmp_path / "installed")
    for page in pages_with("cpp"):
        if not all(is_program(block) for block in blocks_of(page) if block.language == "cpp"):
            (tmp_path / f"{page.stem}.cc").write_text(assembled(page))
        for number, block in enumerate(filter(is_program, blocks_of(page))):
            (tmp_path / f"{page.stem}_program_{number}.cc").write_text(f'#line {block.line} "{block.page}"\n{block.text}')
    parts = [block.text for block in of("cmake")]
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(docs LANGUAGES CXX)\n"
        "add_executable(service library.cc)\nadd_executable(payments EXCLUDE_FROM_ALL library_program_0.cc)\n"
        f"add_library(file_store EXCLUDE_FROM_ALL {ROOT}/examples/store/file_store.cc)\n"
        f"target_include_directories(file_store INTERFACE {ROOT}/examples/store)\n"
        "add_executable(store_tests EXCLUDE_FROM_ALL stores_program_0.cc)\n"
        "add_executable(shop EXCLUDE_FROM_ALL client_program_0.cc client.cc)\n"
        "add_executable(night EXCLUDE_FROM_ALL once_program_0.cc once.cc)\n"
        "set_target_properties(night PROPERTIES CXX_STANDARD 20)\n"
        + "".join(parts) +
        "add_library(checked OBJECT EXCLUDE_FROM_ALL consume.cc library_program_0.cc)\n"
        "target_link_libraries(checked PRIVATE semel::consume)\n"
        "target_compile_options(checked PRIVATE -fsyntax-only)\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-19",
        "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    run("cmake", "--build", tmp_path / "build", "--target", "service")
    for command in json.loads((tmp_path / "build" / "compile_commands.json").read_text()):
        if "checked.dir" in command["command"] or command["file"].endswith(
                ("/stores_program_0.cc", "/client_program_0.cc", "/client.cc", "/once_program_0.cc", "/once.cc")):
            run(*shlex.split(command["command"]), cwd=command["directory"])
    database.execute((HERE / "library.sql").read_text())
    assert run(tmp_path / "build" / "service", database.url) == "all of it\n"


# YAML

MEMORY = "store: {kind: memory}"
POSTGRES = "store: {kind: postgres, url: 'postgresql://semel@db.example/semel'}"
TENANT = "tenant: {from: authorization}"
ROUTES = "routes: [{path: /*, upstream: 'http://127.0.0.1:3000'}]"
ONLY_ON_TOP = {"listen", "store", "tenant", "routes", "defaults", "cleanup", "relay", "consume", "tls",
               "trusted_proxies", "admin", "log", "namespace", "workers", "service", "tracing", "notify"}


def keys_of(text):
    return set(re.findall(r"^([a-z_]+):", text, re.M))


def indented(text, columns):
    return re.sub(r"^(?=.)", " " * columns, text, flags=re.M)


def completed(text):
    """A whole configuration: what a fragment leaves out is added. A fragment is some of the top-level keys, one entry of `routes`, or
    some keys of such an entry."""
    flush = re.sub(rf"^ {{{len(re.match(' *', text)[0])}}}", "", text, flags=re.M)
    if flush.startswith("- "):
        flush = "routes:\n" + indented(flush + "  upstream: http://127.0.0.1:3000\n", 2)
    elif not keys_of(flush) & ONLY_ON_TOP:
        flush = "routes:\n  - path: /a\n    name: a\n    upstream: http://127.0.0.1:3000\n" + indented(flush, 4)
    there = keys_of(flush)
    needs = {"store": MEMORY, "tenant": TENANT, "routes": ROUTES}
    if "consume" in there:
        needs = {}
    if "relay" in there:
        needs = {"store": POSTGRES}
    return flush + "".join(line + "\n" for key, line in needs.items() if key not in there)


@pytest.fixture(scope="module")
def etc_semel(tmp_path_factory):
    """The files that configurations name."""
    folder = tmp_path_factory.mktemp("etc")
    authority = Authority(folder, "ca")
    server = authority.issue("server")
    (folder / "clients.pem").write_bytes(authority.cert.read_bytes())
    (folder / "server.pem").write_bytes(server.cert.read_bytes())
    (folder / "server.key").write_bytes(server.key.read_bytes())
    (folder / "server.key").chmod(0o600)
    (folder / "jwks.json").write_text(json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "alg": "EdDSA",
                                                             "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}))
    return folder


@parametrize("block", of("yaml"))
def test_yaml_is_a_configuration(block, etc_semel):
    text = completed(block.text).replace("/etc/semel/", f"{etc_semel}/")
    file = etc_semel / "semel.yaml"
    file.write_text(text)
    variables = {name: "whsec_MDEyMzQ1Njc4OWFiY2RlZg==" for name in re.findall(r"\$\{(\w+)\}", text)}
    done = subprocess.run([binary(), "config", "check", "--no-files", file], capture_output=True, text=True, cwd=etc_semel,
                          env={**os.environ, **variables})
    assert done.returncode == 0, f"{block}\n{text}\n{done.stderr}"


# SQL and Python

def said(block):
    """The rows that a block's comments show: `--  a | b | …`."""
    return [row.strip() for row in re.findall(r"^--  (.* \| .*)$", block.text, re.M)]


@parametrize("page", pages_with("sql", "python"))
def test_sql_and_python_run(page, database):
    setup = HERE / f"{page.stem}.sql"
    if setup.exists():
        database.execute(setup.read_text())
    for block in blocks_of(page):
        if block.language == "sql":
            shown = run(BINARIES / "psql", "-X", "-q", "-A", "-F", " | ", "-v", "ON_ERROR_STOP=1", "-d", database.url,
                        input=block.text)
            for row in said(block):
                pattern = re.escape(re.sub(r" *\| *", " | ", row)).replace("…", ".*")
                assert re.search(rf"^{pattern}$", shown, re.M), f"{block}: {row}\n{shown}"
        elif block.language == "python":
            values, check = pages.PYTHON[page.stem](database)
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), values)
            check()
    for statement in re.findall(r"`(SELECT semel\.[^`…]*)`", page.read_text()):
        database.execute(" ".join(statement.split()))


# Commands

ELSEWHERE = {"cmake", "ssh", "createuser", "createdb", "psql", "curl", "python3", "export", "systemctl", "adduser", "apt-get", "editor"}


def options_of(words, cache={}):
    if words not in cache:
        cache[words] = run(binary(), *words, "--help")
    return cache[words]


def groups(cache=[]):
    if not cache:
        cache.extend(re.findall(r"^  (\w+)  ", options_of(()).split("\nOptions:")[0], re.M))
    return cache


def trouble_of(command):
    """Returns the fault in a command line of `semel`, or None."""
    arguments = shlex.split(command, comments=True)[1:]
    if arguments in ([], ["--help"]):
        return None
    if arguments[0] not in groups():
        return f"there is no semel {arguments[0]}"
    words = (arguments[0],)
    if "\nCommands:" in options_of(words) and len(arguments) > 1:
        listed = re.findall(r"^  (\w+)  ", options_of(words).split("\nCommands:")[1], re.M)
        if arguments[1] not in listed:
            return f"there is no semel {arguments[0]} {arguments[1]}"
        words = (arguments[0], arguments[1])
    help_text = options_of(words)
    for option in (a.split("=")[0] for a in arguments if a.startswith("--")):
        if not re.search(rf"(^|[\s,]){re.escape(option)}\b", help_text, re.M):
            return f"semel {' '.join(words)} has no {option}"
    return None


def commands(text):
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def test_commands_exist_with_their_options():
    bad, seen = [], 0
    for block in of("sh"):
        for command in commands(block.text):
            word = command.split()[0]
            beside = block.page.parent / word
            if word == "semel":
                seen += 1
                trouble = trouble_of(command)
            elif word.startswith("build/"):
                trouble = None  # made by the build
            else:
                trouble = None if word in ELSEWHERE or (ROOT / word).exists() or beside.exists() else "no such command"
            if trouble:
                bad.append(f"{block}: {command}: {trouble}")
    assert seen > 15 and not bad


def test_commands_in_the_prose_exist_with_their_options():
    bad, seen = [], 0
    for page in DOCUMENTS:
        prose = re.sub(r"^```(?!text).*?^```", "", page.read_text(), flags=re.M | re.S)
        for command in re.findall(r"`(semel [a-z][^`]*)`", prose) + re.findall(r"^\$ (semel .*)$", prose, re.M):
            seen += 1
            if trouble := trouble_of(command.replace("…", "")):
                bad.append(f"{page.relative_to(ROOT)}: {command}: {trouble}")
    assert seen > 40 and not bad


# JSON

@parametrize("block", of("json"))
def test_json_parses(block):
    json.loads(block.text)
