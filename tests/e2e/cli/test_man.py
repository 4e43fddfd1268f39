"""Manual pages say what --help says, and groff has nothing to complain about."""
import re
import subprocess

from harness.program import run_semel


def rendered(roff, device="ascii"):
    done = subprocess.run(["groff", "-man", "-ww", f"-T{device}", "-P-cbou", "-rLL=200n"], input=roff, capture_output=True,
                          text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def words_of(text):
    return " ".join(text.split())


def test_every_command_has_a_page_without_a_warning(tmp_path):
    assert run_semel("man", "--to", tmp_path).returncode == 0
    pages = {path.name: path.read_text() for path in tmp_path.iterdir()}
    commands = [line.split()[0] for line in run_semel("help").stdout.split("\nOptions:")[0].splitlines()
                if re.match(r"  \w", line)]
    assert {"semel.1", "semel-keys-ls.1", *(f"semel-{name}.1" for name in commands)} <= set(pages)
    for name, roff in pages.items():
        text = rendered(roff, "utf8")
        for heading in ("NAME", "SYNOPSIS", "OPTIONS", "SEE ALSO"):
            assert f"\n{heading}\n" in text, name
        assert f"{name[:-2].upper()}(1)" in text
        for other in re.findall(r"([\w-]+)\(1\)", text.split("SEE ALSO")[1]):
            assert f"{other.lower()}.1" in pages, (name, other)


def test_a_page_says_what_help_says():
    page = words_of(rendered(run_semel("man", "keys", "resolve").stdout))
    shown = run_semel("help", "keys", "resolve").stdout
    for option in re.findall(r"^  (--[\w-]+)", shown, re.M):
        assert option in page
    for sentence in ("Complete records whose outcome is unknown with a given answer", "4 refused (it may still run",
                     "The answer's body; - for standard input", "semel keys resolve [OPTIONS] [ID]"):
        assert sentence in page and sentence in words_of(shown)


def test_what_roff_would_take_for_its_own_is_escaped():
    """The scripts in the description of `completion` begin and end with such characters."""
    page = rendered(run_semel("man", "completion").stdout)
    assert 'eval "$(semel completion bash)" in ~/.bashrc' in page and "${fpath[1]}/_semel" in page


def test_a_page_of_nothing():
    done = run_semel("man", "kyes")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "semel: no command 'kyes'. Did you mean 'keys'?\n")
    done = run_semel("man", "--to", "/proc/nowhere")
    assert done.returncode == 1 and "cannot be written" in done.stderr
