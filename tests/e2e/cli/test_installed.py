"""`cmake --install --component program` puts the program, its pages and its completions where they are looked for."""
import os
import pathlib
import stat
import subprocess

from harness.semel import binary

BUILD = pathlib.Path(binary()).parent


def test_the_installed_program_with_its_pages_and_completions(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--component", "program", "--prefix", tmp_path], check=True,
                   capture_output=True)
    files = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    man = {name for name in files if name.startswith("share/man/man1/semel")}
    assert {"share/man/man1/semel.1", "share/man/man1/semel-serve.1", "share/man/man1/semel-keys-ls.1"} <= man
    completions = {"bash": "share/bash-completion/completions/semel", "zsh": "share/zsh/vendor-completions/_semel",
                   "fish": "share/fish/vendor_completions.d/semel.fish"}
    assert {"bin/semel", *completions.values()} <= set(files)

    program = files["bin/semel"]
    assert os.access(program, os.X_OK)
    said = lambda *words: subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    for shell, path in completions.items():
        assert files[path].read_text() == said("completion", shell)
    assert files["share/man/man1/semel-keys-ls.1"].read_text() == said("man", "keys", "ls")
    for name in man | set(completions.values()):
        assert stat.S_IMODE(files[name].stat().st_mode) == 0o644, name
