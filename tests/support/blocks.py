"""blocks.py - the code blocks of the pages that people read

SPDX-License-Identifier: MIT

Each block is run by a test: blocks of Python, and of the shell on python/README.md, by python/tests/test_tour.py, which
has the wheel; all others by tests/system/docs.py, which has the command and the library. A block of kind `text` is what
the block before it prints; words between < and > in it, and `...`, stand for anything.
"""
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TOUR = ROOT / "python" / "README.md"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", TOUR, *sorted((ROOT / "docs").glob("*.md"))]
KINDS = ("c", "cmake", "cpp", "dockerfile", "meson", "python", "sh", "text")


class Block(NamedTuple):
    page: Path
    section: str
    line: int     # of its first line, in the page
    kind: str     # the first word after ```
    name: str     # the second one, a file name, or ""
    text: str
    output: str   # what it is to print, or None

    @property
    def where(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page):
    """All blocks of a page, in order. Raises ValueError for what no test would run."""
    found, section, opened, lines = [], page.stem, None, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if opened is None and line.startswith("```"):
            opened, lines = (number + 1, *(line[3:].split() + ["", ""])[:2]), []
        elif opened is None:
            section = match[1] if (match := re.match(r"#+ (.*)", line)) else section
        elif line != "```":
            lines.append(line)
        else:
            _add(found, Block(page, section, *opened, "\n".join(lines) + "\n", None))
            opened = None
    if opened:
        raise ValueError(f"{page}:{opened[0]}: a block without an end")
    return found


def _add(found, block):
    if block.kind not in KINDS:
        raise ValueError(f"{block.where}: a block of kind '{block.kind}', which no test runs: one of {KINDS}")
    if block.kind != "text":
        found.append(block)
    elif not found or found[-1].output is not None:
        raise ValueError(f"{block.where}: no block before it prints this")
    else:
        found[-1] = found[-1]._replace(output=block.text)


def is_output(wanted, got):
    """Whether a program printed what the page shows, but for blanks at the ends of lines."""
    parts = re.split(r"<[^<>\n]*>|\.\.\.", "\n".join(line.rstrip() for line in wanted.strip().splitlines()))
    got = "\n".join(line.rstrip() for line in got.strip().splitlines())
    return re.fullmatch(".*?".join(map(re.escape, parts)), got, re.DOTALL) is not None
