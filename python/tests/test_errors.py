"""test_errors.py - exceptions: one a status of the library, each of Python's own kind too, with a message

SPDX-License-Identifier: MIT
"""
import os
import pickle
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")

import rowscan  # noqa: E402
from rowscan import _core  # noqa: E402

KINDS = {rowscan.BadArgument: ValueError, rowscan.Unsupported: NotImplementedError, rowscan.OutOfMemory: MemoryError,
         rowscan.NoDriver: OSError, rowscan.NoDevice: OSError, rowscan.NoCompiler: OSError,
         rowscan.CompileFailed: RuntimeError, rowscan.CudaFailed: RuntimeError, rowscan.CacheFailed: OSError,
         rowscan.NotCached: RuntimeError,
         rowscan.CommFailed: ConnectionError}


OPS = "sum, prod, max, min, and, or, xor, linear_recurrence, logsumexp, extended_prod, argmax, argmin, gae"


def in_child(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
                          text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("error", KINDS, ids=lambda error: error.__name__)
def test_kinds(error):
    assert issubclass(error, rowscan.Error) and issubclass(error, KINDS[error])
    assert error.__doc__ and error.__module__.startswith("rowscan")
    again = pickle.loads(pickle.dumps(error("message")))
    assert type(again) is error and str(again) == "message"


def test_every_error_is_public():
    assert {e for e in vars(rowscan).values() if isinstance(e, type) and issubclass(e, rowscan.Error)} == {
        rowscan.Error, *KINDS}
    assert all(e.__name__ in rowscan.__all__ for e in KINDS)


def test_stories_of_the_library():
    for call, error, words in (
            (lambda: rowscan.warm(["in=f12 length=3"], ["sm_90"]), rowscan.BadArgument, "f12"),
            (lambda: rowscan.warm(["length=-3"], ["sm_90"]), rowscan.BadArgument, "-3"),
            (lambda: _core.complete("in=f64 out=i64 length=1"), rowscan.Unsupported, "f64"),
            (lambda: rowscan.cache.import_("/nowhere/pack"), rowscan.CacheFailed, "/nowhere/pack")):
        with pytest.raises(error, match=words):
            call()


def test_arguments_are_named():
    x = np.zeros((2, 3))
    for call, words in (
            (lambda: rowscan.cumsum(), r"cumsum\(\) needs x"), (lambda: rowscan.cumprod(dim=1), r"cumprod\(\) needs x"),
            (lambda: rowscan.cumsum(x, 1, 2), "x and dim by position, and was given 3"),
            (lambda: rowscan.scan(x, 1, "or", 2), "x, dim and op by position, and was given 4"),
            (lambda: rowscan.scan(x, 1, "sum", op="sum"), r"scan\(\) got two values for 'op'"),
            (lambda: rowscan.cumsum(x, 1, op="sum"), r"cumsum\(\) has no argument 'op'"),
            (lambda: rowscan.cumsum(x, 1, reversed=True), "no argument 'reversed'"),
            (lambda: rowscan.cumsum(x, 1, x=x), "two values for 'x'"),
            (lambda: rowscan.cumsum(x, 1, axis=1), "dim and axis"),
            (lambda: rowscan.prepare(x, 1, axis=1), "dim and axis"),
            (lambda: rowscan.spec(x, 1, axis=1), "dim and axis"),
            (lambda: rowscan.cumulative_sum(x, axis=0, out=x), "out"),
            (lambda: rowscan.warm("in=f32 length=3"), "specs is 'in=f32 length=3', not a list"),
            (lambda: rowscan.warm(["length=3"], "sm_90"), "archs is 'sm_90', not a list"),
            (lambda: rowscan.warm([3], ["sm_90"]), "specs has 3, not a string")):
        with pytest.raises(TypeError, match=words):
            call()
    for call, words in ((lambda: rowscan.cumsum(x, 1, mask=x, mask_mode="drop"), "mask_mode is 'drop'"),
                        (lambda: rowscan.cumsum(x, 1, mask=x, mask_mode=0), "mask_mode is 0"),
                        (lambda: rowscan.prepare(x, 1, mask=x, mask_mode="drop"), "mask_mode is 'drop'"),
                        (lambda: rowscan.spec(x, 1, op="maximum"), "op is 'maximum', not one of " + OPS),
                        (lambda: rowscan.warm(["in=f32 length=3", "in=f32\0 length=3"], ["sm_90"]),
                         r"specs has 'in=f32.x00 length=3', which has a NUL in it"),
                        (lambda: rowscan.warm(["length=3"], ["sm_90\0"]), "archs has 'sm_90.x00', which has a NUL"),
                        (lambda: rowscan.cache.export("/nowhere/pack", archs=["sm_90\0"]), "archs has 'sm_90.x00'"),
                        (lambda: rowscan.set_threads(-1), "threads is -1"),
                        (lambda: rowscan.set_threads(10**6), "threads is 1000000")):
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("op", ["foo", "", "SUM", "sum\0", "\ud800", 3, None, ["sum"], b"sum"], ids=repr)
def test_names_of_no_operator(op):
    created = list(rowscan._types.OPS)[len(OPS.split(", ")):]  # by other tests of this process
    for call in (rowscan.scan, rowscan.prepare, rowscan.spec):
        with pytest.raises(ValueError) as info:
            call(np.zeros(3), 0, op)
        assert str(info.value) == f"op is {op!r}, not one of {', '.join([OPS, *created])}"


def test_flags_are_truth_values():
    x = np.arange(4.0)
    for yes in (True, 1, "yes", np.bool_(True)):
        np.testing.assert_array_equal(rowscan.cumsum(x, 0, reverse=yes), rowscan.cumsum(x, 0, reverse=True))

    class Neither:
        def __bool__(self):
            raise RuntimeError("neither")
    for name in ("reverse", "exclusive", "totals"):
        with pytest.raises(RuntimeError, match="neither"):
            rowscan.cumsum(x, 0, **{name: Neither()})


def test_an_error_leaves_the_output_as_it_was():
    x, out = np.arange(6.0).reshape(2, 3), np.full((2, 3), 7.0)
    for options in ({"mask": np.ones(4, bool)}, {"init": np.ones(9)}, {"acc": "f12"}):
        with pytest.raises(ValueError):
            rowscan.cumsum(x, 1, out=out, **options)
    assert (out == 7).all()


@pytest.mark.parametrize("imports", ["import rowscan, torch", "import torch, rowscan"])
@pytest.mark.parametrize("version, told", [("2.5.1", "torch is 2.5.1: rowscan serves its tensors from 2.6 on"),
                                           ("99.0", "'torch' is not a package")])
def test_another_torch_can_be_imported(tmp_path, imports, version, told):
    """One that is too old, or too new to be known: that is told at once and when a tensor comes, and all else works."""
    (tmp_path / "torch.py").write_text(f"__version__ = {version!r}\nclass Tensor: pass\n")
    code = f"""
{imports}
import numpy
assert rowscan.cumsum(numpy.ones(2), 0).tolist() == [1, 2]
try:
    rowscan.cumsum(torch.Tensor(), 0)
except ImportError as error:
    print(error)
"""
    status, out, err = in_child(code, PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    assert status == 0 and "RuntimeWarning: rowscan does not serve this torch" in err and told in err, err
    assert told in out


def test_free_threaded_python_is_told():
    code = """
import sys
sys.abiflags += "t"
try:
    import rowscan
except ImportError as error:
    assert "free-threaded" in str(error) and "GIL" in str(error), error
else:
    raise SystemExit("it was imported")
"""
    assert in_child(code) == (0, "", "")


def test_another_interpreter_is_told():
    """One of a process has rowscan; what it caught before another one tried, it catches afterwards."""
    code = """
import numpy as np, rowscan
try:
    import _interpreters as interpreters
    create, run = lambda: interpreters.create("legacy"), interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    create, run = lambda: interpreters.create(isolated=False), interpreters.run_string
x = np.arange(6.)
for _ in range(2):
    other = create()
    told = run(other, '''if True:
        try:
            import rowscan
        except ImportError as error:
            assert "rowscan serves one interpreter of a process" in str(error), error
        else:
            raise SystemExit("it was imported")
    ''')
    assert told is None, told
    interpreters.destroy(other)
    try:
        rowscan.cumsum(x[1:], 0, out=x[:-1])
    except rowscan.BadArgument:
        pass
assert rowscan.cumsum(x, 0)[-1] == 15
"""
    status, out, err = in_child(code)
    if "No module named '_xxsubinterpreters'" in err:
        pytest.skip("this Python has no interpreters to make")
    assert status == 0, out + err


def test_the_extension_alone_is_no_crash():
    """What needs the Python modules says so."""
    code = """
import importlib.util, sys, pathlib
folder = next(p for p in map(pathlib.Path, sys.path) if (p / "rowscan").is_dir()) / "rowscan"
path = next(folder.glob("_core*.so"))
spec = importlib.util.spec_from_file_location("rowscan._core", path)
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
try:
    core.cumsum([1], 0)
except RuntimeError as error:
    assert "without rowscan" in str(error), error
for wrong in ((int, "magic", False, len, {}, {}, None, 12), (3, "numpy", False, len, {}, {}, None, 12),
              (int, "numpy", False, len, [], {}, None, 12)):
    try:
        core.add_kind(*wrong)
        raise SystemExit(wrong)
    except TypeError:
        pass
for call in (lambda: core.scan_settled(1), lambda: core.set_errors(()), lambda: core.set_threads("two"),
             lambda: core.add_kind(1)):
    try:
        call()
        raise SystemExit("no error")
    except (TypeError, ValueError):
        pass
"""
    assert in_child(code)[0] == 0, in_child(code)
