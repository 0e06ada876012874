"""test_tour.py - the Python of the pages that people read is true: each section runs as it stands there

SPDX-License-Identifier: MIT

Of python/README.md, README.md and docs/. The blocks of a section run one after another: doctests, or programs, whose
output is the block after them. A block that names a library which is not here, or the GPU where there is none, is left
out, and the section is skipped if none is left. Of blocks for the shell on python/README.md, lines that start the
command are run; all other blocks are those of tests/system/docs.py.
"""
import contextlib
import doctest
import importlib
import io
import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rowscan

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from blocks import PAGES, TOUR, blocks, is_output  # noqa: E402

LIBRARIES = {"numpy": r"\bnp\.", "torch": r"import torch", "jax": r"\bjax\b", "cupy": r"\bcupy\b"}


def sections():
    """The blocks of each section that has some for us."""
    ours = (block for page in PAGES for block in blocks(page)
            if block.kind == "python" or (block.kind == "sh" and page == TOUR))
    for (page, section), group in itertools.groupby(ours, lambda block: (block.page, block.section)):
        name = section if page == TOUR else f"{page.stem} {section}"
        yield pytest.param(list(group), id=name.replace(" ", "-"))


def has_gpu():
    return any(gpu["arch"] >= "sm_75" for gpu in rowscan.devices())


def has_compiler():
    try:
        return bool(rowscan.archs())
    except rowscan.NoCompiler:
        return False


def lacks(text):
    """What a block needs and is not here, or None."""
    for library, words in LIBRARIES.items():
        if re.search(words, text):
            try:
                importlib.import_module(library)
            except ImportError:
                return library
    if re.search(r'"cuda"|cupy', text) and not has_gpu():
        return "a GPU"
    if "rowscan.warm" in text and not has_compiler():
        return "NVRTC"
    return None


def run_doctest(block):
    """A failure shows all of its lines that failed."""
    told = []
    test = doctest.DocTestParser().get_doctest(block.text, {}, block.where, str(block.page), block.line - 1)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not told, "".join(told)


def run_program(block, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, block.where, "exec"), names)
    assert block.output is None or is_output(block.output, printed.getvalue()), printed.getvalue()


def run_python(block):
    if ">>> " in block.text:
        run_doctest(block)
    else:
        run_program(block, {})


def run_shell(text):
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:3] == ["python", "-m", "rowscan"]:
            done = subprocess.run([sys.executable, *words[1:]], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("section", list(sections()))
def test_section(section, monkeypatch, tmp_path):
    monkeypatch.setenv("ROWSCAN_CACHE_DIR", str(tmp_path))
    missing = []
    for block in section:
        if block.kind == "sh":
            run_shell(block.text)
        elif lack := lacks(block.text):
            missing.append(lack)
        else:
            run_python(block)
    if len(missing) == len(section):
        pytest.skip(f"no {', '.join(missing)}")


def test_sections_are_found():
    """Those that need nothing but NumPy are some, so that this suite is not an empty one."""
    titles = [section.id for section in sections()]
    assert len(titles) > 20 and "NumPy" in titles and "Errors" in titles and "recipes-Exclusive-cumsum" in titles
