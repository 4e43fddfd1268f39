"""The fenced blocks of the documents."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
             *sorted((ROOT / "examples").rglob("*.md"))]
# test_tutorials.py runs these from top to bottom.
TUTORIALS = sorted((ROOT / "docs/tutorial").glob("*.md"))


class Block:
    """`name` is in the comment `<!-- snippet: NAME -->` before the block, or `<!-- file: NAME -->`, or `<!-- exchange: NAME -->`."""

    def __init__(self, page, found, line):
        self.page, self.line = page, line
        self.name, self.language, self.text = found["name"], found["language"], found["text"]

    def __repr__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page):
    text = page.read_text()
    fences = re.compile(r"(?:^<!-- (?:snippet|file|exchange): (?P<name>[\w.-]+) -->\n)?"
                        r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
    return [Block(page, found, text.count("\n", 0, found.start("text")) + 1) for found in fences.finditer(text)]


BLOCKS = [block for page in DOCUMENTS for block in blocks_of(page)]
