"""What cmake/hardening.cmake asks of the compiler is in the program that was built."""
import os
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
    # libstdc++'s assertions, at which the program ends rather than reads past the end of a container.
    assert any("glibcxx_assert_fail" in name for name in symbols)


def test_indirect_calls_land_where_calls_may_land():
    if os.uname().machine != "x86_64":
        return
    shown = subprocess.run(["llvm-objdump-19", "-d", "--disassemble-symbols=main", PROGRAM], capture_output=True,
                           text=True, check=True).stdout
    assert "endbr64" in shown
