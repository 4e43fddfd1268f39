"""Reads the unit files of contrib/systemd as systemd does, as far as they need it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = ROOT / "contrib/systemd"


def read_unit(path):
    """{section: {key: [value, …]}}; an empty value forgets those before it, and stays as ""."""
    sections, section = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = sections.setdefault(header[1], {})
            continue
        assignment = re.fullmatch(r"(\w+)=(.*)", line)
        assert assignment and section is not None, f"{path.name}:{number}: {line}"
        key, value = assignment.groups()
        section[key] = section.get(key, []) + [value] if value else [""]
    return sections


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|min|m|h)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "min": 60, "m": 60, "h": 3600}[unit]
