"""The program explains itself: what it can do, one command, and a command line that it cannot follow."""
import re

import pytest

from harness.program import run_in_terminal, run_semel

LEAVES = [("serve",), ("consume",), ("relay",), ("complete",), ("once",), ("keys", "ls"), ("keys", "show"), ("keys", "resolve"),
          ("outbox", "ls"), ("outbox", "drop"), ("config", "check"), ("schema", "apply"), ("demo",), ("help",), ("version",)]


def headings(text):
    return re.findall(r"^(\S.*):$", text, re.M)


def test_help_lists_the_commands_by_purpose():
    done = run_semel("help")
    assert (done.returncode, done.stderr) == (0, "")
    assert headings(done.stdout) == ["Run", "Call and judge any API", "Look and decide", "Set up", "Find out", "Options"]
    run_section = done.stdout.split("\nRun:\n")[1].split("\n\n")[0]
    assert re.findall(r"^  (\w+)  ", run_section, re.M) == ["serve", "consume", "relay", "complete", "once"]
    assert run_semel("--help").stdout == done.stdout


def test_nothing_to_do_shows_the_same_and_is_an_error():
    done = run_semel()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == run_semel("help").stdout


@pytest.mark.parametrize("words", LEAVES + [("keys",), ("outbox",)], ids=" ".join)
def test_each_command_is_explained_in_the_same_words_both_ways(words):
    done = run_semel("help", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: semel {' '.join(words)}" in done.stdout
    assert done.stdout == run_semel(*words, "--help").stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_the_version_is_an_option_too():
    assert run_semel("--version").stdout == run_semel("version").stdout
    assert re.fullmatch(r'\{"version":"\d+\.\d+\.\d+"\}\n', run_semel("version", "--json").stdout)


@pytest.mark.parametrize("line, said", [
    ("key", "no command 'key'. Did you mean 'keys'?"),
    ("srve", "no command 'srve'. Did you mean 'serve'?"),
    ("srve --help", "no command 'srve'. Did you mean 'serve'?"),
    ("help srve", "no command 'srve'. Did you mean 'serve'?"),
    ("keys sho", "no command 'sho' in 'semel keys'. Did you mean 'show'?"),
    ("ls", "no command 'ls'. Did you mean 'semel keys ls' or 'semel queue ls' or 'semel outbox ls'?"),
    ("frobnicate", "no command 'frobnicate'. See 'semel help'."),
    ("keys", "'semel keys' needs a command: ls, show, export, resolve, release, forget, extend. See 'semel help keys'."),
    ("serve --confg x", "'semel serve' has no option '--confg'. Did you mean '--config'?"),
    ("keys ls --jsno=1", "'semel keys ls' has no option '--jsno'. Did you mean '--json'?"),
    ("keys --json ls", "put the option behind its command: 'semel keys ls --json'."),
    ("--wat", "'semel' has no option '--wat'. See 'semel help'."),
    ("serve", "'semel serve' needs FILE. The configuration file (docs/configuration.md). See 'semel help serve'."),
    ("keys extend --ttl 1d --reason x",
     "'semel keys extend' needs ID. The record: its id, or the first 8 or more digits. See 'semel help keys extend'."),
    ("keys show", "give one ID, or search with --resource, --described, --search or --where"),
    ("serve a.yaml b.yaml", "'semel serve' cannot use the argument 'b.yaml'. See 'semel help serve'."),
    ("serve --config", "--config needs a value, as in '--config FILE'. See 'semel help serve'."),
    ("serve --config a --config b", "--config was given more than once; give it once. See 'semel help serve'."),
    ("keys ls --limit many", "--limit: 'many' is not a number in range. See 'semel help keys ls'."),
    ("complete --operation a --to b --max-attempts 0",
     "--max-attempts: Value 0 not in range 1 to 1000000. See 'semel help complete'."),
])
def test_a_command_line_that_cannot_be_followed(line, said):
    done = run_semel(*line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"semel: {said}\n"


def test_a_wrong_word_does_no_harm_to_a_terminal():
    done = run_semel("\x1b[2Jkeys")
    assert done.returncode == 2 and "\x1b" not in done.stderr


@pytest.mark.parametrize("words", [("config", "check"), ("serve",), ("consume",), ("relay",), ("outbox", "ls"),
                                   ("keys", "ls"), ("schema", "apply"),
                                   ("complete", "--operation", "a", "--to", "http://127.0.0.1:1")], ids=" ".join)
def test_the_configuration_file_needs_no_option(words, tmp_path):
    """The file is read, and refused, with and without the option's name."""
    path = tmp_path / "semel.yaml"
    path.write_text("routes: 5\n")
    plain, named = run_semel(*words, path), run_semel(*words, "--config", path)
    assert plain.returncode == named.returncode == 2
    assert plain.stderr == named.stderr and f"{path}:1:" in plain.stderr


def test_colours_are_for_terminals_that_want_them():
    assert "\x1b[" in run_in_terminal("help") and "\x1b[" in run_in_terminal("key")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in run_in_terminal("help", env=env) + run_in_terminal("key", env=env)
    assert re.sub(r"\x1b\[[\d;]*m", "", run_in_terminal("help")) == run_semel("help").stdout
