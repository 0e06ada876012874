"""test_library.py - what is beside scans: specs, prepare and warm, GPUs, architectures, the cache on disk

SPDX-License-Identifier: MIT

What compiles needs an NVRTC: the simulated one of $RS_SIMT serves.
"""
import json
import os
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")

import rowscan  # noqa: E402

SIMT = os.environ.get("RS_SIMT", "")
needs_compiler = pytest.mark.skipif(not os.path.exists(os.path.join(SIMT, "libnvrtc.so.13")),
                                    reason="the simulated compiler is not built, or $RS_SIMT does not tell where")


def in_child(code, **environment):
    """What the code leaves in `result`, in a process of its own: the library reads its environment once."""
    before = {name: value for name, value in os.environ.items() if not name.startswith("ROWSCAN_")}
    code = f"import json, numpy as np, rowscan\n{code}\nprint(json.dumps(result))"
    done = subprocess.run([sys.executable, "-c", code], env={**before, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


# ---- specs -----------------------------------------------------------------------------------------------------------

def test_spec():
    x = np.zeros((4, 1000), "f4")
    head = "op=sum in=f32 out=f32 acc=f32 mask=none reverse=0 exclusive=0"
    assert rowscan.spec(x, 1) == f"{head} length=1000 layout=rows row_rank=1"
    assert rowscan.spec(x, 0) == f"{head} length=4 layout=columns row_rank=1"
    assert rowscan.spec(x) == f"{head} length=4000 layout=rows row_rank=1"
    text = rowscan.spec(x.astype("i2"), -1, op="prod", reverse=True, exclusive=True, mask=x > 0, mask_mode="multiply",
                        dtype="f4", acc="f64")
    assert text.startswith("op=prod in=i16 out=f32 acc=f64 mask=multiply mask_type=bool reverse=1 exclusive=1 "
                           "length=1000")
    assert "acc=f32 mask=select mask_type=u8" in rowscan.spec(x, axis=1, mask=np.zeros(1000, "u1"), init=2, totals=True)
    assert rowscan.spec(x, 1, out=np.zeros((4, 1000))).split()[2] == "out=f64"
    with pytest.raises(IndexError):
        rowscan.spec(x, 2)
    with pytest.raises(ValueError, match="out has shape"):
        rowscan.spec(x, 1, out=x.T)


def test_a_spec_is_what_the_library_takes():
    from rowscan import _core
    for dtype in ("f2", "f4", "f8", "i1", "u8", "?"):
        text = rowscan.spec(np.zeros((4, 50), dtype), 1)
        assert _core.complete(text)


def test_elements_are_not_read():
    """prepare() and spec() are asked with arrays that are too large to touch."""
    x = np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))
    assert "length=1048576" in rowscan.spec(x, 1)
    assert rowscan.prepare(x, 1, mask=np.broadcast_to(True, x.shape)) is None
    out = np.full((2, 3), 7.0)
    assert rowscan.prepare(np.zeros((2, 3)), 1, out=out) is None and (out == 7).all()


# ---- devices and compilers -------------------------------------------------------------------------------------------

def test_without_a_gpu():
    empty = {"LD_LIBRARY_PATH": "", "PATH": "/usr/bin:/bin"}
    assert isinstance(in_child("result = rowscan.devices()", **empty), list)
    code = """
try:
    result = rowscan.archs()
except rowscan.NoCompiler as error:
    result = str(error)
"""
    found = in_child(code, ROWSCAN_NVRTC="/nowhere/libnvrtc.so")
    assert "/nowhere/libnvrtc.so" in found


@needs_compiler
def test_archs_and_devices():
    variables = {"LD_LIBRARY_PATH": SIMT, "ROWSCAN_NVRTC": f"{SIMT}/libnvrtc.so.13"}
    archs = in_child("result = rowscan.archs()", **variables)
    assert "sm_90" in archs and archs == sorted(archs, key=lambda name: int(name[3:]))
    devices = in_child("result = rowscan.devices()", SIMT_DEVICES="3", SIMT_ARCH="80", **variables)
    assert [d["device"] for d in devices] == [0, 1, 2] and {d["arch"] for d in devices} == {"sm_80"}
    assert set(devices[0]) == {"device", "name", "arch", "multiprocessors", "memory_bytes", "l2_bytes", "peak_gbs"}


# ---- kernels ahead of need, the cache --------------------------------------------------------------------------------

@needs_compiler
def test_warm_and_the_cache(tmp_path):
    code = f"""
pack = {str(tmp_path / 'a pack')!r}
spec = rowscan.spec(np.zeros((4, 100), "f4"), 1)
first = rowscan.warm([spec], ["sm_90"])
second = rowscan.warm((spec, "in=f32 length=100"), ["sm_90"], threads=1)
info, entries = rowscan.cache.info(), rowscan.cache.entries()
exported = rowscan.cache.export(pack, archs=["sm_90"], spec="in=f32")
try:
    none = rowscan.cache.export(pack + "2", archs=["sm_90", "sm_80"])
except rowscan.CacheFailed as error:
    none = str(error)
pruned = rowscan.cache.prune()
cleared = rowscan.cache.clear()
empty = rowscan.cache.info()
imported = rowscan.cache.import_(pack)
import pathlib
again = rowscan.cache.import_(pathlib.Path(pack))
third = rowscan.warm([spec], ["sm_90"])
result = dict(first=first, second=second, info=info, entries=entries, exported=exported, none=none, pruned=pruned,
              cleared=cleared, empty=empty, imported=imported, again=again, third=third)
"""
    r = in_child(code, ROWSCAN_NVRTC=f"{SIMT}/libnvrtc.so.13", LD_LIBRARY_PATH=SIMT,
                 ROWSCAN_CACHE_DIR=str(tmp_path / "c"), ROWSCAN_CACHE_PACKS="off",
                 SIMT_CXX=os.environ.get("SIMT_CXX", "g++"))
    modules, compiled = r["first"]
    assert modules == compiled > 0
    assert r["second"] == [2 * modules, 0]
    assert r["info"]["entries"] == modules == len(r["entries"]) and r["info"]["path"].startswith(str(tmp_path))
    assert r["info"]["why"] == "" and r["info"]["bytes"] > 0 and r["info"]["counts"]["compiles"] == modules
    for entry in r["entries"]:
        assert set(entry) == {"name", "key", "bytes", "used", "damage", "pack"}
        assert "in=f32" in entry["key"] and entry["damage"] is None and entry["pack"] is None and entry["bytes"] > 0
    assert r["exported"]["entries"] == modules and r["exported"]["damaged"] == 0
    assert os.path.getsize(tmp_path / "a pack") == r["exported"]["bytes"]
    assert r["none"].startswith("no entry for sm_80 is in the cache (") and not os.path.exists(tmp_path / "a pack2")
    assert r["pruned"]["left"] == modules and r["pruned"]["removed"] == 0
    assert r["cleared"][0] == modules and r["cleared"][1] == r["info"]["bytes"]
    assert r["empty"]["entries"] == 0
    assert (r["imported"]["added"], r["imported"]["present"]) == (modules, 0)
    assert (r["again"]["added"], r["again"]["present"]) == (0, modules)
    assert r["third"] == [modules, 0]
    # With packs alone: no directory, no home, no NVRTC.
    code = f"""
second = {str(tmp_path / "second")!r}
warmed = rowscan.warm(["in=f32 length=100"], ["sm_90"])
result = [warmed, rowscan.cache.export(second), rowscan.cache.info(), rowscan.cache.entries()]
"""
    warmed, exported, info, entries = in_child(code, ROWSCAN_NVRTC="/no/such.so", ROWSCAN_CACHE="off,only", HOME="",
                                               ROWSCAN_CACHE_PACKS=str(tmp_path / "a pack"))
    assert warmed == [modules, 0] and exported["entries"] == info["pack_entries"] == len(entries) == modules
    assert info["path"] == "" and all(entry["pack"] for entry in entries)
    assert (tmp_path / "second").read_bytes() == (tmp_path / "a pack").read_bytes()


def test_no_cache(tmp_path):
    code = """
result = [rowscan.cache.info(), rowscan.cache.entries()]
for call in (lambda: rowscan.cache.export("pack"), lambda: rowscan.cache.import_("pack")):
    try:
        call()
    except rowscan.CacheFailed as error:
        result.append(str(error))
"""
    info, entries, *messages = in_child(code, ROWSCAN_CACHE="off")
    assert info["path"] == "" and info["why"] and entries == [] and len(messages) == 2
    with pytest.raises(TypeError):
        rowscan.cache.export(3)


def test_versions():
    assert rowscan.__version__ == rowscan.library_version
    assert [int(part) for part in rowscan.__version__.split(".")]
    assert all(hasattr(rowscan, name) for name in rowscan.__all__)


def test_import_is_light():
    """Neither NumPy nor any other library is imported, nor the library opened, before it is needed."""
    code = """
import sys
result = [name for name in ("numpy", "torch", "jax", "cupy") if name in sys.modules]
"""
    done = subprocess.run([sys.executable, "-c", f"import rowscan\n{code}\nprint(result)"], capture_output=True,
                          text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
