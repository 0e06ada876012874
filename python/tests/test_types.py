"""test_types.py - type checkers accept right calls, with the types that these have, and reject wrong ones

SPDX-License-Identifier: MIT

The calls are in typed/: mypy and pyright, each where it is installed, must find no error in the files of right ones,
and one in each line of wrong.py that says so, and in no other. mypy's stubtest compares the stubs with the package.
"""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rowscan

PACKAGE = Path(rowscan.__file__).parent
CALLS = Path(__file__).parent / "typed"
RIGHT = {"right_numpy.py": "numpy", "right_torch.py": "torch", "right_jax.py": "jax"}


def run(tmp_path, *command, **env):
    """Runs a checker of this Python in tmp_path, which finds the package where this test has it."""
    path = [] if "site-packages" in PACKAGE.parts else [str(PACKAGE.parent)]
    env = {**os.environ, "MYPYPATH": ":".join(path), **env}
    return subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def mypy(folder, files):
    done = run(folder, "mypy", "--strict", "--no-error-summary", "--hide-error-context", *files)
    errors = re.findall(r"^(.*):(\d+): error: (.*)", done.stdout, re.MULTILINE)
    assert done.returncode == (1 if errors else 0), done.stdout
    return [(file, int(line), text) for file, line, text in errors]


def pyright(folder, files):
    settings = {"include": files, "extraPaths": [str(PACKAGE.parent)], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable)
    assert done.returncode in (0, 1), done.stdout
    told = json.loads(done.stdout[done.stdout.index("{"):])["generalDiagnostics"]
    return [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]) for one in told
            if one["severity"] == "error"]


@pytest.fixture(scope="module", params=[mypy, pyright], ids=lambda checker: checker.__name__)
def errors(request, tmp_path_factory):
    """What a checker finds wrong in all files of calls to libraries that are here: file, line and message."""
    pytest.importorskip("numpy")
    pytest.importorskip("typing_extensions")
    folder, checker = tmp_path_factory.mktemp("typed"), request.param.__name__
    if not importlib.util.find_spec(checker) or run(folder, checker, "--version").returncode:
        pytest.skip(f"no {checker}")
    files = ["wrong.py", *(file for file, library in RIGHT.items() if importlib.util.find_spec(library))]
    for file in files:
        shutil.copy(CALLS / file, folder)
    return request.param(folder, files)


def test_says_that_it_has_types():
    assert (PACKAGE / "py.typed").exists()


def test_operators_are_those_of_the_library():
    stubs = (PACKAGE / "__init__.pyi").read_text()
    names = re.search(r"^_Op: TypeAlias = Literal\[([^\]]*)\] \| _OwnOp$", stubs, re.MULTILINE)
    assert re.findall(r'"(\w+)"', names[1]) == list(rowscan._core.ops())


@pytest.mark.parametrize("file", RIGHT)
def test_right(errors, file):
    if not importlib.util.find_spec(RIGHT[file]):
        pytest.skip(f"no {RIGHT[file]}")
    assert [error for error in errors if error[0] == file] == []


def test_wrong(errors):
    lines = (CALLS / "wrong.py").read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert {line for file, line, _ in errors if file == "wrong.py"} == wrong


def test_without_numpy(tmp_path):
    """A checker that finds no NumPy has no complaint: results are Any."""
    pytest.importorskip("mypy")
    (tmp_path / "rowscan").mkdir()
    for file in ("__init__.pyi", "cache.pyi", "torch.pyi", "py.typed"):
        shutil.copy(PACKAGE / file, tmp_path / "rowscan")
    (tmp_path / "calls.py").write_text("import rowscan\nclass Mine:\n    def __dlpack__(self) -> object: ...\n"
                                       "reveal_type(rowscan.cumsum(Mine(), 0))\n")
    (tmp_path / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n"
                                       "[mypy-rowscan.*]\nfollow_imports = silent\n"
                                       "follow_imports_for_stubs = True\n")  # as where it is installed
    done = run(tmp_path, "mypy", "--no-site-packages", "calls.py", MYPYPATH=str(tmp_path))
    assert (done.returncode, 'Revealed type is "Any"' in done.stdout) == (0, True), done.stdout


def test_stubs_are_those_of_the_package(tmp_path):
    pytest.importorskip("mypy")
    pytest.importorskip("numpy")
    stubs = tmp_path / "stubs" / "rowscan"
    stubs.mkdir(parents=True)
    for file in PACKAGE.glob("*.pyi"):
        shutil.copy(file, stubs)
    allowed = ["rowscan.__main__"]  # a program
    if not importlib.util.find_spec("torch"):
        allowed.append("rowscan.torch")
    (tmp_path / "allowed").write_text("\n".join(allowed))
    done = run(tmp_path, "mypy.stubtest", "--allowlist", "allowed", "--ignore-unused-allowlist", "rowscan",
               MYPYPATH=str(stubs.parent), PYTHONPATH=str(PACKAGE.parent))
    assert done.returncode == 0, done.stdout
