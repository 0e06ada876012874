"""test_tour.py - python/README.md is true: each of its sections runs as it stands there

SPDX-License-Identifier: MIT

Blocks of Python are doctests, those of a section one after another. A block that names a library which is not here, or
the GPU where there is none, is left out, and the section is skipped if none is left. Of blocks for the shell, lines
that start the command are run.
"""
import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rowscan

README = Path(__file__).parents[1] / "README.md"
LIBRARIES = {"numpy": r"\bnp\.", "torch": r"import torch", "jax": r"\bjax\b", "cupy": r"\bcupy\b"}


def sections():
    """The title and the blocks of each section that has some: what they are in, and the text."""
    for text in re.split(r"^#+ ", README.read_text(), flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if blocks:
            yield pytest.param(blocks, id=text.splitlines()[0].replace(" ", "-"))


def has_gpu():
    return any(gpu["arch"] >= "sm_75" for gpu in rowscan.devices())


def has_compiler():
    try:
        return bool(rowscan.archs())
    except rowscan.NoCompiler:
        return False


def lacks(block):
    """What a block needs and is not here, or None."""
    for library, words in LIBRARIES.items():
        if re.search(words, block):
            try:
                importlib.import_module(library)
            except ImportError:
                return library
    if re.search(r'"cuda"|cupy', block) and not has_gpu():
        return "a GPU"
    if "rowscan.warm" in block and not has_compiler():
        return "NVRTC"
    return None


def run_python(block):
    """Runs a doctest; a failure shows all of its lines that failed."""
    told = []
    test = doctest.DocTestParser().get_doctest(block, {}, README.name, str(README), 0)
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert not told, "".join(told)
    return len(test.examples)


def run_shell(block):
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[:3] == ["python", "-m", "rowscan"]:
            done = subprocess.run([sys.executable, *words[1:]], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("blocks", list(sections()))
def test_section(blocks, monkeypatch, tmp_path):
    monkeypatch.setenv("ROWSCAN_CACHE_DIR", str(tmp_path))
    missing = []
    for kind, text in blocks:
        assert kind in ("python", "sh")
        if kind == "python" and (lack := lacks(text)):
            missing.append(lack)
        elif kind == "python":
            assert run_python(text), "no example"
        else:
            run_shell(text)
    if len(missing) == len(blocks):
        pytest.skip(f"no {', '.join(missing)}")


def test_sections_are_found():
    """Those that need nothing but NumPy are some, so that this suite is not an empty one."""
    titles = [section.id for section in sections()]
    assert len(titles) > 8 and "NumPy" in titles and "Errors" in titles
