"""Runs clang-tidy on a room of src/, or on one of the technologies in src/stores/:  clang_tidy.py BUILD FOLDER

A file costs about 4 seconds when it is checked alone, and nearly all of them go to the headers that it includes. So the
sources of a room are checked as one, and with the precompiled header of the build. What is checked: .clang-tidy."""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_THE_OBJECT_FILE = ("-o", "-c", "-MT", "-MF")  # each with an argument


def sources_of(folder):
    """Each technology in stores/ is checked for itself: their files share names."""
    path = ROOT / "src" / folder
    return sorted(path.glob("*.cc") if folder == "stores" else path.rglob("*.cc"))


def options_of(build, folder):
    """The options that the build compiles the folder's room with."""
    room = folder.split("/")[0]
    target = "semel" if room == "cli" else f"semel_{room}"
    command = next(entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())
                   if f" -o CMakeFiles/{target}.dir/" in entry["command"] and "cmake_pch" not in entry["file"])
    words = iter(shlex.split(command))
    next(word for word in words if "clang++" in word)
    options = []
    for word in words:
        if word in OF_THE_OBJECT_FILE:
            next(words)
        else:
            options.append(word)
    return options


def check(sources, options):
    """(exit code, findings) of clang-tidy on the sources as one."""
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as together:
        together.writelines(f'#include "{source}"\n' for source in sources)
        together.flush()
        result = subprocess.run(
            ["clang-tidy-19", f"--config-file={ROOT}/.clang-tidy", "--quiet", together.name, "--", *options],
            capture_output=True, text=True)
    return result.returncode, result.stdout or result.stderr


if __name__ == "__main__":
    build, folder = pathlib.Path(sys.argv[1]), sys.argv[2]
    code, found = check(sources_of(folder), options_of(build, folder))
    if code:
        print(found)
    sys.exit(code)
