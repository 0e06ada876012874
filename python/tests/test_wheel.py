"""test_wheel.py - the package as pip has it: what it asks for, what it shows to a process, what it weighs

SPDX-License-Identifier: MIT
"""
import importlib.metadata as metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rowscan

CORE = Path(rowscan._core.__file__)


def distribution():
    try:
        found = metadata.distribution("rowscan")
    except metadata.PackageNotFoundError:
        pytest.skip("rowscan was imported without being installed")
    if not found.read_text("WHEEL") or Path(found.locate_file("rowscan")) != CORE.parent:
        pytest.skip("rowscan was not installed from a wheel")
    return found


def readelf(option):
    if not shutil.which("readelf"):
        pytest.skip("there is no readelf")
    return subprocess.run(["readelf", "--wide", option, CORE], check=True, stdout=subprocess.PIPE, text=True).stdout


def test_one_binary_serves_every_python():
    assert CORE.name == "_core.abi3.so"
    tags = re.findall(r"^Tag: (.+)$", distribution().read_text("WHEEL"), re.MULTILINE)
    assert tags and all(re.fullmatch(r"cp310-abi3-(many)?linux\w+", tag) for tag in tags)


def test_nothing_is_required():
    found = distribution()
    assert [one for one in found.requires or [] if "extra ==" not in one] == []
    assert set(found.metadata.get_all("Provides-Extra")) == {"cuda12", "cuda13"}
    assert found.metadata["Requires-Python"] == ">=3.10"
    code = "import sys; before = set(sys.modules); import rowscan; " \
           "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    assert [name for name in done.stdout.split() if not name.startswith("_sysconfigdata_")] == ["rowscan"]


def test_versions_agree():
    assert distribution().version == rowscan.__version__


def test_all_of_it_is_there():
    found = distribution()
    names = {str(file) for file in found.files}
    assert {"rowscan/__init__.py", "rowscan/__init__.pyi", "rowscan/py.typed"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.endswith((".c", ".h", ".map", ".a"))]
    assert sum(file.size or 0 for file in found.files) < 25e6


def test_only_the_entry_is_exported():
    symbols = [line.split() for line in readelf("--dyn-syms").splitlines()]
    shown = [one[7] for one in symbols if len(one) == 8 and one[4] in ("GLOBAL", "WEAK") and one[6] != "UND"]
    assert shown == ["PyInit__core"]


def test_only_the_c_library_is_needed():
    dynamic = readelf("--dynamic")
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\.so", dynamic)
    assert set(needed) <= {"libc", "libdl", "libm", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert not re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic)


def test_threads_outlive_no_code():
    assert re.search(r"FLAGS_1.*NODELETE", readelf("--dynamic"))


def test_packs_beside_the_library_are_read(tmp_path):
    package = tmp_path / "rowscan"
    shutil.copytree(CORE.parent, package, ignore=shutil.ignore_patterns("rowscan-packs", "__pycache__"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ROWSCAN_")}
    environment |= {"PYTHONPATH": str(tmp_path), "ROWSCAN_CACHE_DIR": str(tmp_path / "cache")}
    (package / "rowscan-packs").mkdir()
    (package / "rowscan-packs/no.pack").write_bytes(b"")
    done = subprocess.run([sys.executable, "-c", "import rowscan; rowscan.cache.info(); print(rowscan.__file__)"],
                          check=True, capture_output=True, text=True, env=environment | {"ROWSCAN_LOG": "warning"},
                          cwd=tmp_path)
    assert Path(done.stdout.strip()).parent == package
    assert f"pack {package.resolve()}/rowscan-packs/no.pack is not used: truncated" in done.stderr
