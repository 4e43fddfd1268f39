"""The program has the hardening that cmake/hardening.cmake requests from the compiler."""
import json
import os
import pathlib
import re
import subprocess

PROGRAM = os.environ["SEMEL_BINARY"]


def readelf(*flags):
    return subprocess.run(["llvm-readelf-19", *flags, PROGRAM], capture_output=True, text=True, check=True).stdout


def test_every_address_is_random_and_what_was_relocated_is_read_only():
    assert re.search(r"Type:\s+DYN", readelf("-h"))
    dynamic = readelf("-d")
    assert "NOW" in dynamic and "PIE" in dynamic
    segments = readelf("-lW")
    assert "GNU_RELRO" in segments
    assert re.search(r"GNU_STACK.*\sRW\s", segments)


def test_stacks_and_copies_are_checked():
    symbols = set(re.findall(r"\s(\w+)(?:@\S+)?(?:\s\(\d+\))?$", readelf("--dyn-syms", "-W"), re.M))
    assert "__stack_chk_fail" in symbols
    assert any(re.fullmatch(r"__\w+_chk", name) for name in symbols)
    commands = json.loads((pathlib.Path(PROGRAM).parent / "compile_commands.json").read_text())
    own = [entry["command"] for entry in commands if re.search(r" -o CMakeFiles/semel\w*\.dir/", entry["command"])]
    assert len(own) > 200 and all("-D_FORTIFY_SOURCE=3" in command for command in own)
    # libstdc++'s assertions, at which the program ends rather than reads past the end of a container.
    assert any("glibcxx_assert_fail" in name for name in symbols)


def test_indirect_calls_land_where_calls_may_land():
    if os.uname().machine != "x86_64":
        return
    shown = subprocess.run(["llvm-objdump-19", "-d", "--disassemble-symbols=main", PROGRAM], capture_output=True,
                           text=True, check=True).stdout
    assert "endbr64" in shown
