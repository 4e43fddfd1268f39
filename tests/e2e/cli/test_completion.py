"""A shell completes the commands: bash does it for real, with the script that it is given."""
import pathlib
import subprocess

import pytest

from harness.clients.http_client import TIMEOUT
from harness.program import run_semel
from harness.semel import binary

# Loads the script as a user would, and has bash complete the last of the words.
ASK = """
eval "$("$1" completion bash)"
complete -p semel >/dev/null || exit 1
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_semel
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words, cwd=None):
    done = subprocess.run(["bash", "-c", ASK, "bash", binary(), *words], capture_output=True, text=True, cwd=cwd,
                          timeout=TIMEOUT)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.split()


@pytest.mark.parametrize("words, found", [
    (["ser"], ["serve"]),
    (["keys", ""], ["ls", "show", "export", "resolve", "release", "forget", "extend"]),
    (["keys", "re"], ["resolve", "release"]),
    (["keys", "ls", "--l"], ["--limit"]),
    (["keys", "ls", "--json", "--j"], []),  # given already
    (["keys", "ls", "--where", "a=b", "--w"], ["--where"]),  # may be repeated
    (["keys", "ls", "--limit", ""], []),  # a number
    (["help", ""], None), (["help", "outbox", "d"], ["drop"]), (["man", "config", "c"], ["check"]),
    (["completion", ""], ["bash", "zsh", "fish"]), (["completion", "z"], ["zsh"]), (["completion", "zsh", ""], []),
    (["nonsense", "--"], ["--help", "--version"]),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_words(words, found):
    every = [line.split()[0] for line in run_semel("help").stdout.split("\nOptions:")[0].splitlines()
             if line.startswith("  ") and line[2] != " "]
    assert completed(*words) == (every if found is None else found)


def test_every_command_and_option_of_the_help_is_offered():
    for words in (["serve"], ["keys", "resolve"], ["complete"], ["outbox", "retry"]):
        listed = {part.strip(",") for line in run_semel("help", *words).stdout.split("\nOptions:")[1].splitlines()
                  for part in line.split("  ")[1:2] for part in part.split() if part.startswith("-")}
        assert set(completed(*words, "-")) == listed and "--help" in listed


@pytest.mark.parametrize("before", [["serve"], ["serve", "--config"], ["serve", "--config", "="], ["keys", "ls", "--config"]],
                         ids=" ".join)
def test_files(before, tmp_path):
    for name in ("semel.yaml", "other.yaml"):
        (tmp_path / name).touch()
    assert completed(*before, "se", cwd=tmp_path) == ["semel.yaml"]
    assert sorted(completed(*before, "", cwd=tmp_path)) == ["other.yaml", "semel.yaml"]


def test_only_folders(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "paper").touch()
    assert completed("man", "--to", "pa", cwd=tmp_path) == ["pages"]


def test_a_file_that_was_named_is_not_asked_for_again(tmp_path):
    (tmp_path / "semel.yaml").touch()
    assert completed("serve", "--config", "x", "", cwd=tmp_path) == []
    assert completed("serve", "x", "", cwd=tmp_path) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_ask_the_program(shell):
    """zsh and fish get what bash gets: a word, a tab and its help, or a colon and a kind of file."""
    script = run_semel("completion", shell).stdout
    assert " __candidates " in script and ":file)" in script.replace("':file'", ":file)")
    lines = run_semel("__candidates", "keys", "s").stdout.splitlines()
    assert lines == ["show\tShow one record and its history"]
    assert run_semel("__candidates", "serve", "--config=x").stdout == ":file\n"


def test_another_shell_is_refused():
    done = run_semel("completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert "SHELL must be one of: bash, zsh, fish" in done.stderr
