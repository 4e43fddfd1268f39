"""Runs each tutorial from top to bottom as its reader does: writes the files that it shows, runs its commands in one shell, and
compares what they print with the page. `…` on a page stands for anything.

The service is the page's own, but for Spring, which Debian does not have: there the `java` of the page runs FastAPI's."""

import concurrent.futures
import os
import re
import signal
import subprocess

import pytest

from blocks import TUTORIALS, blocks_of
from harness.ports import free_port
from harness.semel import binary

PORTS = ("3000", "8080", "9090")
SECONDS_MAX = 120
END = "-- end of block {} --"


class Reader:
    """A folder, ports and a PATH of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = {port: str(free_port()) for port in PORTS}
        self.programs = folder / "programs"
        self.programs.mkdir()
        (self.programs / "semel").symlink_to(binary())

    def on_own_ports(self, text):
        for port, own in self.ports.items():
            text = text.replace(f":{port}", f":{own}").replace(f"port {port}", f"port {own}")
            text = text.replace(f"listen({port}", f"listen({own}")
        # Tests run on small disks, too.
        return text.replace("path: ./semel-data", "path: ./semel-data, free_bytes_min: 1MiB")

    def write(self, name, text):
        (self.folder / name).write_text(self.on_own_ports(text))

    def stand_in(self, program, command):
        path = self.programs / program
        path.write_text(self.on_own_ports(f"#!/bin/sh\nexec {command}\n"))
        path.chmod(0o755)

    def run(self, script):
        environment = {**os.environ, "PATH": f"{self.programs}:/usr/bin:/bin", "NODE_PATH": "/usr/share/nodejs"}
        shell = subprocess.Popen(["bash", "-c", self.on_own_ports(script)], cwd=self.folder, env=environment,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)
        try:
            return shell.communicate(timeout=SECONDS_MAX)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # whatever the page has left running
            except ProcessLookupError:
                pass

    def logs(self):
        return "\n".join(f"{log.name}:\n{log.read_text()}" for log in self.folder.glob("*.log"))


def matches(shown, said):
    """A line of three dots stands for any number of lines, also none."""
    pattern = re.escape("\n".join(line.rstrip() for line in said.strip().splitlines()))
    pattern = pattern.replace("…\\\n", "(?:.*\n)*?").replace("…", ".*")
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in shown.replace("\r", "").strip().splitlines()))


def commands_of(page):
    """Returns the numbers of the blocks that are commands."""
    return [number for number, block in enumerate(blocks_of(page)) if block.language == "sh"]


def follow(page, folder):
    """Returns what the page's commands print, what they complain of, and the logs that they leave."""
    reader = Reader(folder)
    blocks = blocks_of(page)
    for block in blocks:
        if block.name:
            reader.write(block.name, block.text)
    if page.stem == "spring":
        [service] = [block for block in blocks_of(page.with_name("fastapi.md")) if block.name == "app.py"]
        reader.write("app.py", service.text)
        reader.stand_in("java", "/usr/bin/python3 -m uvicorn --port 3000 app:app")
    printed, complaints = reader.run(
        "".join(f"{blocks[number].text}\necho; echo '{END.format(number)}'\n" for number in commands_of(page)))
    return printed, f"{complaints}\n{reader.logs()}"


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """All of them at once: they mostly wait for their banks."""
    with concurrent.futures.ThreadPoolExecutor(len(TUTORIALS)) as readers:
        begun = {page: readers.submit(follow, page, tmp_path_factory.mktemp(page.stem)) for page in TUTORIALS}
        return {page: one.result() for page, one in begun.items()}


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page, followed):
    printed, trouble = followed[page]
    blocks = blocks_of(page)
    assert len(commands_of(page)) > 8
    for number in commands_of(page):
        shown, ended, printed = printed.partition(END.format(number))
        assert ended, f"{blocks[number]}: not reached\n{shown}\n{trouble}"
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        said = after.text if after and after.language == "text" else ""
        assert matches(shown, said), f"{blocks[number]}: prints\n{shown}\n{trouble}"
