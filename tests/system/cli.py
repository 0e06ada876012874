#!/usr/bin/env python3
"""cli.py - the rowscan command from outside: files made by NumPy in, values, messages and exit statuses out
SPDX-License-Identifier: MIT

ROWSCAN names the command; RS_QUICK=1 leaves out what takes long. RS_LOT=n and RS_SEED run one in n of the tests
(tests/support/lot.h). Values are compared with NumPy's own sums: to the bit for integers, within rounding for floats.
(The order to the bit is tested elsewhere; here only what must be equal to itself: exclusive to inclusive, reverse to a
flipped array, Fortran order to C order.) Exits with 77 where there is no NumPy.
"""
import csv
import glob
import io
import json
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib
from xml.etree import ElementTree

try:
    import numpy as np
except ImportError:
    print("SKIP: no NumPy")
    sys.exit(77)

ROWSCAN = os.environ.get("ROWSCAN", "rowscan")
LIBRARIES = os.path.join(os.path.dirname(os.path.abspath(ROWSCAN)), ".libs")
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUICK = os.environ.get("RS_QUICK", "") not in ("", "0")

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8"]
SHORT = {"f2": "f16", "f4": "f32", "f8": "f64", "b1": "bool", "i1": "i8", "u1": "u8", "i2": "i16", "u2": "u16",
         "i4": "i32", "u4": "u32", "i8": "i64", "u8": "u64"}
LOT, SEED = int(os.environ.get("RS_LOT") or 1), int(os.environ.get("RS_SEED") or time.time())
if "cli" in os.environ.get("RS_TOUCHED", "").split():
    LOT = (LOT + 3) // 4

FLAGS = [[], ["--exclusive"], ["--reverse"], ["--reverse", "--exclusive"]]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


class Case(unittest.TestCase):
    """A directory of its own, and a cache in it."""
    def setUp(self):
        if (zlib.crc32(self.id().encode()) + SEED) % LOT:
            self.skipTest("RS_LOT")
        self.dir = tempfile.mkdtemp(prefix="rowscan-cli-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.env = {k: v for k, v in os.environ.items() if k not in ("ROWSCAN_LOG", "ROWSCAN_CACHE")}
        self.env["ROWSCAN_CACHE_DIR"] = self.path("cache")
        self.env["ROWSCAN_CACHE_PACKS"] = "off"
        self.env["LC_ALL"] = "C"
        # A mapped file that became shorter is for the command to tell, not for a sanitizer.
        self.env["ASAN_OPTIONS"] = self.env.get("ASAN_OPTIONS", "") + ":handle_sigbus=0"
        self.random = np.random.default_rng(1)

    def path(self, name):
        return os.path.join(self.dir, name)

    def search_first(self, directory):
        """The command looks for libraries there first."""
        known = self.env.get("LD_LIBRARY_PATH", "")
        self.env["LD_LIBRARY_PATH"] = ":".join(path for path in (directory, known) if path)

    def rowscan(self, *args, status=0, **kwargs):
        """Runs the command in the directory; returns (stdout, stderr)."""
        done = subprocess.run([ROWSCAN, *map(str, args)], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, **kwargs)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f"rowscan {' '.join(map(str, args))}\n{out}{err}")
        return out, err

    def hold_up(self, process):
        """Stops a process for longer than a progress bar waits, then lets it end well."""
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.1)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)

    def save(self, name, array):
        np.save(self.path(name), array)
        return name

    def scan(self, array, *args):
        """Scans an array, on the host engine: what it computes is the same everywhere."""
        self.save("in.npy", array)
        self.rowscan("scan", "--engine", "host", *args, "in.npy", "out.npy")
        return np.load(self.path("out.npy"))

    def raw(self, name, header, data=b"", version=1, newline=True):
        """A file with this header; nothing is padded."""
        if isinstance(header, str):
            header = header.encode("utf-8" if version == 3 else "latin1")
        header += b"\n" if newline else b""
        length = len(header).to_bytes(2 if version == 1 else 4, "little")
        with open(self.path(name), "wb") as file:
            file.write(b"\x93NUMPY" + bytes([version, 0]) + length + header + data)
        return name

    def fails(self, status, words, *args, **kwargs):
        """The command fails, says all of the words, and leaves the directory as it was."""
        before = self.listing()
        out, err = self.rowscan(*args, status=status, **kwargs)
        for word in words:
            self.assertIn(word, err)
        self.assertTrue(err.startswith("rowscan: "), err)
        self.assertEqual(out, "")
        self.assertEqual(self.listing(), before)
        return err

    def listing(self):
        """Names, sizes and times of all files, and what the small ones hold; not the cache."""
        found = {}
        for name in sorted(os.listdir(self.dir)):
            if name == "cache":
                continue
            facts = os.lstat(self.path(name))
            found[name] = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode)
        return found

    def needs_compiler(self):
        """Only "all" asks NVRTC what it knows. The scan is an impossible one, so that nothing is compiled."""
        _, err = self.rowscan("compile", "--arch", "all", "--length", "1", "--out-type", "i32", status=1)
        if err.startswith("rowscan: compile: --arch all: "):
            self.skipTest(err.splitlines()[0])

    def same_bits(self, a, b):
        self.assertEqual(a.dtype, b.dtype)
        self.assertEqual(a.shape, b.shape)
        self.assertEqual(np.ascontiguousarray(a).tobytes(), np.ascontiguousarray(b).tobytes())


# ---- what it computes ------------------------------------------------------------------------------------------------


def default_out(dtype):
    kind = np.dtype(dtype).kind
    return np.dtype({"b": "i8", "i": "i8", "u": "u8"}.get(kind, dtype))


def reference(x, op="sum", dim=-1, flags=(), out=None, mask=None):
    """NumPy's answer, floats in f64."""
    out = np.dtype(out or default_out(x.dtype))
    wide = np.dtype("f8") if out.kind == "f" else out
    identity = 0 if op == "sum" else 1
    x = x.astype(wide)
    if mask is not None:
        x = np.where(mask, x, np.array(identity, wide))
    if "--reverse" in flags:
        x = np.flip(x, dim)
    with np.errstate(all="ignore"):
        y = (np.cumsum if op == "sum" else np.cumprod)(x, axis=dim, dtype=wide)
    if "--exclusive" in flags and x.shape[dim]:
        first = np.full_like(np.take(y, [0], dim), identity)
        y = np.concatenate([first, np.take(y, range(x.shape[dim] - 1), dim)], dim)
    if "--reverse" in flags:
        y = np.flip(y, dim)
    return y if wide.kind == "f" else y.astype(out)


class Values(Case):
    def sample(self, dtype, shape):
        kind = np.dtype(dtype).kind
        if kind == "f":
            return self.random.standard_normal(shape).astype(dtype)
        if kind == "b":
            return self.random.integers(0, 2, shape).astype(dtype)
        info = np.iinfo(dtype)
        return self.random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)

    def check(self, x, got, out=None, **how):
        want = reference(x, out=out, **how)
        self.assertEqual(got.dtype, np.dtype(out or default_out(x.dtype)))
        self.assertEqual(got.shape, x.shape)
        if got.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
            return
        # Rounding of the output, and of the accumulator along the row.
        with np.errstate(over="ignore"):
            size = max(1, np.abs(x).astype("f8").sum(axis=how.get("dim", -1)).max(initial=0))
        accumulator = np.finfo("f8" if got.dtype == "f8" else "f4").eps
        bound = np.finfo(got.dtype).eps * np.abs(want) + 64 * accumulator * size
        over = np.abs(got.astype("f8") - want) - bound
        self.assertLessEqual(over.max(initial=0), 0)

    def test_types_and_flags(self):
        for dtype in FLOATS + INTEGERS + ["b1"]:
            for flags in FLAGS:
                with self.subTest(dtype=dtype, flags=flags):
                    x = self.sample(dtype, (5, 67))
                    self.check(x, self.scan(x, *flags), flags=flags)

    def test_product(self):
        x = np.exp(0.1 * self.random.standard_normal((4, 50)))
        for dtype in ["f4", "f8"]:
            for flags in FLAGS:
                with self.subTest(dtype=dtype, flags=flags):
                    got = self.scan(x.astype(dtype), "--op", "prod", *flags)
                    np.testing.assert_allclose(got, reference(x.astype(dtype), "prod", flags=flags), rtol=1e-5)
        x = self.sample("i4", (3, 40))
        np.testing.assert_array_equal(self.scan(x, "--op=prod"), reference(x, "prod"))

    def test_extremes(self):
        for op, numpys in (("max", np.maximum), ("min", np.minimum)):
            for dtype in ("f2", "f4", "f8", "i1", "u1", "i4", "u8", "?"):
                x = self.sample(dtype, (3, 100))
                y = self.scan(x, "--op", op)
                self.assertEqual(y.dtype, x.dtype)
                np.testing.assert_array_equal(y, numpys.accumulate(x, axis=-1))
        y = self.scan(np.array([1, np.nan, -0.0, 0.0], "f4"), "--op=max", "--exclusive", "--reverse")
        self.assertEqual([str(v) for v in y.tolist()], ["nan", "0.0", "0.0", "-inf"])

    def test_bits(self):
        for op, numpys in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
            for dtype in ("i1", "u1", "i2", "u4", "i8", "?"):
                x, few = self.sample(dtype, (3, 100)), self.sample(dtype, (3, 100)) & self.sample(dtype, (3, 100))
                x = np.invert(x & few) if op == "and" else x & few
                y = self.scan(x, "--op", op)
                self.assertEqual(y.dtype, x.dtype)
                np.testing.assert_array_equal(y, numpys.accumulate(x, axis=-1))
        first = self.scan(np.array([6, 3], "i2"), "--op=and", "--exclusive")
        self.assertEqual(first.tolist(), [-1, 6])

    def test_shapes_and_dimensions(self):
        shapes = [(1,), (7,), (0,), (3, 0), (0, 3), (1, 1), (4, 1), (1, 129), (3, 5, 7), (2, 3, 1, 4), (2,) * 7,
                  (1,) * 31 + (5,), (1000, 3), (3, 1000)]
        for shape in shapes:
            for dim in sorted({0, len(shape) // 2, len(shape) - 1, -1, -len(shape)}):
                with self.subTest(shape=shape, dim=dim):
                    x = self.sample("f4", shape)
                    self.check(x, self.scan(x, "--dim", dim), dim=dim)

    def test_long_row(self):
        x = self.sample("f4", (1, 1 << 16 if QUICK else 1 << 20))
        self.check(x, self.scan(x))
        self.check(x, self.scan(x.T, "--dim=0").T)

    def test_out_types(self):
        for dtype, out in [("f4", "f8"), ("f2", "f4"), ("i1", "i4"), ("u1", "u1"), ("b1", "i4"), ("i4", "f4"),
                           ("i4", "i4"), ("u2", "f8")]:
            with self.subTest(dtype=dtype, out=out):
                x = self.sample(dtype, (3, 31))
                if out[0] == "f" and dtype[0] in "iu":
                    x = (x % 1000).astype(dtype)
                self.check(x, self.scan(x, "--dtype", SHORT[out]), out=out)
                self.check(x, self.scan(x, "--dtype", np.dtype(out).name), out=out)

    def test_wide_accumulator(self):
        x = np.array([[1e8] + [1.0] * 63] * 2, "f4")
        got = self.scan(x, "--acc", "f64")
        np.testing.assert_array_equal(got, np.cumsum(x, 1, "f8").astype("f4"))

    def test_fixed_point(self):
        """Of integers, whose sums are exact: no order changes a bit, and none steps down."""
        x = self.random.random((2, 1 << 18), "f4") / np.float32(1 << 18)
        self.assertTrue((np.diff(self.scan(x)) < 0).any())
        got = self.scan(x, "--acc", "fixed:40")
        self.assertEqual(got.dtype, np.float32)
        self.assertFalse((np.diff(got) < 0).any())
        np.testing.assert_array_equal(got, (np.cumsum(np.rint(x.astype("f8") * 2.0**40), 1) * 2.0**-40).astype("f4"))
        np.testing.assert_array_equal(self.scan(x[:, ::-1], "--acc=fixed:40")[:, -1], got[:, -1])
        got = self.scan(x, "--acc=fixed:40", "--reverse", "--exclusive", "--dtype", "f64")
        self.assertEqual(got[0, -1], 0)
        np.testing.assert_array_equal(got[:, 0], np.rint(x.astype("f8") * 2.0**40)[:, 1:].sum(1) * 2.0**-40)

    def test_mask(self):
        x = self.sample("f4", (6, 40))
        mask = self.random.random(x.shape) < 0.5
        for name, m in [("b1", mask), ("u1", mask * 7), ("f4", mask * 0.5)]:
            for order in "CF":
                with self.subTest(mask=name, order=order):
                    self.save("m.npy", np.asarray(m, name, order=order))
                    self.check(x, self.scan(x, "--mask", "m.npy"), mask=mask)
                    self.check(x, self.scan(x, "--mask", "m.npy", "--dim=0", "--reverse"), mask=mask, dim=0,
                               flags=["--reverse"])
        self.save("m.npy", np.asarray(mask * 0.5, "f4"))
        self.check(x * (mask * np.float32(0.5)), self.scan(x, "--mask", "m.npy", "--mask-mode", "multiply"))

    def segmented(self, x, beside, kind, dim=-1, reverse=False, exclusive=False):
        """A sum of whole numbers by a loop that starts anew with each segment."""
        x, beside = np.moveaxis(x, dim, 0).astype("i8"), np.moveaxis(beside, dim, 0)
        cuts = {"heads": beside[1:] != 0, "tails": beside[:-1] != 0, "keys": beside[1:] != beside[:-1]}[kind]
        y, held = np.zeros_like(x), np.zeros_like(x[0])
        for i in reversed(range(len(x))) if reverse else range(len(x)):
            at = i if reverse else i - 1  # of what lies between this element and the one before
            if 0 <= at < len(cuts):
                held = np.where(cuts[at], 0, held)
            y[i] = held
            held = held + x[i]
            y[i] = y[i] if exclusive else held
        return np.moveaxis(y, 0, dim)

    def test_segments(self):
        x = self.random.integers(-9, 9, (9, 300))
        flags = self.random.random(x.shape) < 0.05
        keys = np.cumsum(self.random.random(x.shape) < 0.05, 1)
        for kind, beside, types in [("heads", flags, ["b1", "u1", "f4"]), ("tails", flags, ["b1", "u1", "f4"]),
                                    ("keys", keys, ["i1", "u2", "i4", "i8", "u8"]), ("keys", keys % 2, ["b1"])]:
            for n, name in enumerate(types):
                self.save("s.npy", np.asarray(beside * (7 if kind != "keys" else 1), name, order="CF"[n % 2]))
                for dim, reverse, exclusive in [(1, False, False), (1, True, False), (0, True, True), (0, False, True)]:
                    with self.subTest(kind=kind, type=name, dim=dim, reverse=reverse, exclusive=exclusive):
                        got = self.scan(x.astype("f4"), f"--{kind}", "s.npy", f"--dim={dim}",
                                        *["--reverse"] * reverse, *["--exclusive"] * exclusive)
                        want = self.segmented(x, beside, kind, dim, reverse, exclusive)
                        np.testing.assert_array_equal(got, want)
                        self.assertEqual(got.dtype, np.float32)

    def test_what_segments_keep_apart(self):
        """A NaN stays in its segment, and so do maxima, and indices are those of the row."""
        x = np.array([1, np.nan, 2, 3, np.inf, 4, 9, 7], "f8")
        self.save("s.npy", np.array([0, 0, 1, 0, 0, 1, 0, 1], "u1"))
        nan, inf = np.nan, np.inf
        np.testing.assert_array_equal(self.scan(x, "--heads", "s.npy"), [1, nan, 2, 5, inf, 4, 13, 7])
        np.testing.assert_array_equal(self.scan(x, "--tails", "s.npy", "--reverse"), [nan, nan, 2, inf, inf, 4, 16, 7])
        np.testing.assert_array_equal(self.scan(x, "--heads", "s.npy", "--op=max"), [1, nan, 2, 3, inf, 4, 9, 7])
        narrow = x.astype("f4")
        np.testing.assert_array_equal(self.scan(narrow, "--heads", "s.npy", "--op=argmax"), [0, 1, 2, 3, 4, 5, 6, 7])
        np.testing.assert_array_equal(self.scan(narrow, "--heads", "s.npy", "--op=argmin"), [0, 1, 2, 2, 2, 5, 5, 7])
        self.save("in.npy", x)
        self.fails(1, ["a segmented total of argmax needs 20 bytes, and the limit is 16"],
                   "scan", "--heads", "s.npy", "--op=argmax", "in.npy", "new.npy")

    def test_segments_beside_others(self):
        """Beside a mask, and beside coefficients, whose recurrence drops what came before, a NaN too."""
        x = self.random.integers(-9, 9, (9, 300))
        flags, mask = self.random.random(x.shape) < 0.05, self.random.random(x.shape) < 0.5
        self.save("s.npy", flags)
        self.save("m.npy", mask)
        for kind, dim, reverse in [("heads", 1, False), ("tails", 0, True), ("keys", 1, True)]:
            got = self.scan(x.astype("f4"), f"--{kind}=s.npy", "--mask=m.npy", f"--dim={dim}", *["--reverse"] * reverse)
            np.testing.assert_array_equal(got, self.segmented(np.where(mask, x, 0), flags, kind, dim, reverse))
        self.save("s.npy", np.array([0, 0, 1, 0, 0, 1, 0, 1], "u1"))
        y = self.scan(np.array([1, np.nan, 2, 3, np.inf, 4, 8, 7], "f4"), "--op=linear_recurrence",
                      "--coefficient=0.5", "--heads=s.npy")
        np.testing.assert_array_equal(y, [1, np.nan, 2, 4, np.inf, 4, 10, 7])

    def test_second_output(self):
        x = self.random.standard_normal((3, 400)).astype("f4")
        index = self.scan(x, "--op=argmax", "--second=values.npy")
        values = np.load(self.path("values.npy"))
        np.testing.assert_array_equal(values, np.maximum.accumulate(x, 1))
        np.testing.assert_array_equal(values, np.take_along_axis(x, index, 1))
        self.assertEqual(values.dtype, np.float32)
        self.scan(x, "--op=argmin", "--second=values.npy", "--exclusive")
        np.testing.assert_array_equal(np.load(self.path("values.npy"))[:, 0], np.full(3, np.inf))

    def test_advantages(self):
        """Against a loop; gamma and lambda are numbers, as the flags may be."""
        x, v, w = self.random.standard_normal((3, 60, 4))
        ends = self.random.random(x.shape) < 0.1
        w[ends] = np.nan  # is not looked at
        for name, array in ("v", v), ("w", w), ("ends", ends):
            self.save(f"{name}.npy", array)
        got = self.scan(x, "--op=gae", "--reverse", "--dim=0", "--more1=v.npy", "--more2=w.npy", "--more3=ends.npy",
                        "--more4=ends.npy", "--params=0.99,0.95", "--second=returns.npy")
        want, after = np.zeros_like(x), np.zeros(4)
        for t in reversed(range(60)):
            after = want[t] = (x[t] + 0.99 * np.where(ends[t], 0, w[t]) - v[t]
                               + 0.99 * 0.95 * np.where(ends[t], 0, after))
        np.testing.assert_allclose(got, want, 1e-12, 1e-12)
        np.testing.assert_allclose(np.load(self.path("returns.npy")), want + v, 1e-12, 1e-12)
        got = self.scan(np.ones(3, "f4"), "--op=gae", "--reverse", "--more1=0", "--more2=0", "--more3=0", "--more4=0",
                        "--params=1,0.5")
        np.testing.assert_array_equal(got, [1.75, 1.5, 1])

    def test_segments_in_the_summary(self):
        self.save("in.npy", np.ones((2, 3), "f4"))
        self.save("s.npy", np.ones((2, 3), "i8"))
        out, _ = self.rowscan("scan", "--engine=host", "--json", "--keys", "s.npy", "in.npy", "out.npy")
        summary = json.loads(out)
        self.assertEqual((summary["mask"], summary["keys"]), (None, "s.npy"))
        self.assertNotIn("heads", summary)

    def test_recurrence(self):
        """Against a loop. With coefficients of 1 it is a sum in f64, bit for bit."""
        x, c = self.random.standard_normal((7, 900)).astype("f4"), self.random.random((7, 900)).astype("f4")
        self.save("c.npy", c)
        recurrence = ("--op", "linear_recurrence", "--coefficient")
        for axis in (0, 1):
            for backwards in (False, True):
                a, b = (np.moveaxis(v, axis, 0)[::-1 if backwards else 1].astype("f8") for v in (x, c))
                y = np.zeros_like(a)
                for i in range(len(a)):
                    y[i] = b[i] * (y[i - 1] if i else 0) + a[i]
                y = np.moveaxis(y[::-1 if backwards else 1], 0, axis)
                got = self.scan(x, *recurrence, "c.npy", f"--dim={axis}", *["--reverse"] * backwards)
                self.assertEqual(got.dtype, np.float32)
                np.testing.assert_allclose(got, y, 1e-6, 1e-6)
        got = self.scan(x, *recurrence, "c.npy", "--exclusive")
        self.same_bits(got[:, 1:], self.scan(x, *recurrence, "c.npy")[:, :-1])
        np.testing.assert_array_equal(got[:, 0], 0)
        self.same_bits(self.scan(x, *recurrence, "1"), self.scan(x, "--acc", "f64"))
        np.testing.assert_array_equal(self.scan(np.ones((2, 4), "f4"), *recurrence, "0.5"),
                                      [[1, 1.5, 1.75, 1.875]] * 2)
        np.testing.assert_array_equal(self.scan(np.arange(1, 5, dtype="i4"), *recurrence, "-3"), [1, -1, 6, -14])
        np.testing.assert_array_equal(self.scan(np.arange(5, dtype="f2"), *recurrence, "2", "--include-initial"),
                                      [0, 0, 1, 4, 11, 26])

    def test_masked_recurrence(self):
        """Where the mask is 0 it goes on as with a coefficient of 1 and an element of 0, whatever is there."""
        x, c = self.random.standard_normal((7, 300)).astype("f4"), self.random.random((7, 300)).astype("f4")
        mask, recurrence = self.random.random((7, 300)) < 0.6, ("--op", "linear_recurrence", "--coefficient")
        self.save("m.npy", mask)
        self.save("s.npy", self.random.random((7, 300)) < 0.05)
        self.save("c.npy", np.where(mask, c, 1).astype("f4"))
        self.save("nan.npy", np.where(mask, c, np.nan).astype("f4"))
        left, nan = np.where(mask, x, 0).astype("f4"), np.where(mask, x, np.nan).astype("f4")
        for more in ((), ("--reverse",), ("--exclusive", "--heads=s.npy"), ("--dim=0",)):
            self.same_bits(self.scan(nan, *recurrence, "nan.npy", "--mask=m.npy", *more),
                           self.scan(left, *recurrence, "c.npy", *more))
        self.save("half.npy", np.where(mask, np.float32(0.5), np.float32(1)))
        self.same_bits(self.scan(nan, *recurrence, "0.5", "--mask=m.npy"),
                       self.scan(left, *recurrence, "half.npy"))

    def test_recurrences_that_there_are_not(self):
        self.save("in.npy", np.ones((3, 4), "i1"))
        self.save("c.npy", np.ones((3, 5), "i1"))
        scan = ("scan", "--op", "linear_recurrence")
        for number in ("0.5", "128", "-129"):
            self.fails(1, ["--coefficient", number, "i8"], *scan, "--coefficient", number, "in.npy", "out.npy")
        self.fails(1, ["c.npy: field 'shape'", "(3, 5)"], *scan, "--coefficient", "c.npy", "in.npy", "out.npy")
        self.fails(1, ["no.npy"], *scan, "--coefficient", "no.npy", "in.npy", "out.npy")

    def test_indices(self):
        """Against a loop; the last of equal elements, or the first, and the element that the maximum is."""
        x = self.random.integers(0, 9, (5, 300)).astype("f4")
        for axis in (0, 1):
            best = np.maximum.accumulate(x, axis)
            for flags, last in (((), True), (("--ties-first",), False)):
                got = self.scan(x, "--op", "argmax", f"--dim={axis}", *flags)
                self.assertEqual(got.dtype, np.int64)
                np.testing.assert_array_equal(np.take_along_axis(x, got, axis), best)
                place = np.arange(x.shape[axis]).reshape((-1, 1) if axis == 0 else (1, -1))
                equal = x == best if last else np.diff(best, axis=axis, prepend=-1) > 0
                np.testing.assert_array_equal(got, np.maximum.accumulate(np.where(equal, place, 0), axis))
        got = self.scan(np.array([3, 1, 2, 1], "i2"), "--op", "argmin", "--reverse", "--dtype", "i32")
        self.assertEqual(got.dtype, np.int32)
        np.testing.assert_array_equal(got, [1, 1, 3, 3])
        np.testing.assert_array_equal(self.scan(np.ones(3, "f8"), "--op", "argmax", "--include-initial"), [-1, 0, 1, 2])

    def test_logarithms_and_extended_products(self):
        x = 50 * self.random.standard_normal((3, 400))
        np.testing.assert_allclose(self.scan(x, "--op", "logsumexp"), np.logaddexp.accumulate(x, 1), 1e-12)
        factors = np.array([1e30, 1e30, 1e-30, 0, 5], "f4")
        np.testing.assert_allclose(self.scan(factors, "--op", "extended_prod"), [1e30, np.inf, 1e30, 0, 0], 1e-6)

    def test_nan_omitted(self):
        x = self.random.standard_normal((4, 50))
        x[self.random.random(x.shape) < 0.3] = np.nan
        np.testing.assert_allclose(self.scan(x, "--omit-nan"), np.nancumsum(x, 1), 1e-12, 1e-12)
        got = self.scan(x, "--omit-nan", "--op", "max", "--dim=0")
        np.testing.assert_array_equal(got, np.fmax.accumulate(np.where(np.isnan(x), -np.inf, x), 0))

    def test_operators_that_there_are_not(self):
        self.save("in.npy", np.ones((3, 4), "i4"))
        self.fails(1, ["in", "logsumexp requires a floating type, not i32"], "scan", "--op", "logsumexp", "in.npy",
                   "out.npy")
        self.fails(1, ["'ties_first': 1 requires argmax or argmin, not sum"],
                   "scan", "--ties-first", "in.npy", "out.npy")
        self.fails(1, ["argmax returns indices"], "scan", "--op", "argmax", "--dtype", "f32", "in.npy", "out.npy")

    def test_mask_and_nan(self):
        x = np.array([[1, np.nan, 2, 3]], "f4")
        self.save("m.npy", np.array([[1, 0, 1, 1]], bool))
        np.testing.assert_array_equal(self.scan(x, "--mask", "m.npy"), [[1, 1, 3, 6]])
        got = self.scan(x, "--mask", "m.npy", "--mask-mode=multiply")
        np.testing.assert_array_equal(got, [[1, np.nan, np.nan, np.nan]])

    def test_bf16(self):
        x = self.random.standard_normal((3, 50)).astype("f4")
        bits = (x.view("u4") >> 16).astype("u2")
        x = (bits.astype("u4") << 16).view("f4")
        for descr in ["<V2", "|V2"]:
            self.raw("in.npy", f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (3, 50)}}", bits.tobytes())
            for name in ["bf16", "bfloat16"]:
                self.rowscan("scan", "--type", name, "in.npy", "out.npy")
                out = np.load(self.path("out.npy"))
                self.assertEqual(out.dtype, np.dtype("V2"))
                with open(self.path("out.npy"), "rb") as file:
                    self.assertIn(b"'descr': '<V2'", file.read(128))
                got = (out.view("u2").astype("u4") << 16).view("f4")
                np.testing.assert_allclose(got, np.cumsum(x, 1, "f8"), rtol=2**-8, atol=1e-4)
        self.rowscan("scan", "--type", "bf16", "--dtype", "f32", "in.npy", "out.npy")
        np.testing.assert_allclose(np.load(self.path("out.npy")), np.cumsum(x, 1, "f8"), rtol=1e-5, atol=1e-5)
        self.save("f.npy", x)
        self.rowscan("scan", "--dtype", "bf16", "f.npy", "out.npy", status=0)
        self.assertEqual(np.load(self.path("out.npy")).dtype, np.dtype("V2"))


class SameBits(Case):
    def setUp(self):
        super().setUp()
        self.x = self.random.standard_normal((9, 300)).astype("f4")

    def test_include_initial(self):
        x = self.x[:, :100]
        for dim in range(x.ndim):
            for reverse in [], ["--reverse"]:
                which = [*reverse, "--dim", str(dim)]
                inclusive = self.scan(x, *which)
                zeros = np.zeros_like(np.take(inclusive, [0] if x.shape[dim] else [], axis=dim))
                parts = [inclusive, zeros] if reverse else [zeros, inclusive]
                same = self.scan(x, "--include-initial", *which)
                np.testing.assert_array_equal(same, np.concatenate(parts, axis=dim))
        self.assertEqual(self.scan(np.ones((2, 0), "f4"), "--op", "prod", "--include-initial").tolist(), [[1], [1]])
        self.save("in.npy", x)
        self.fails(2, ["--include-initial", "--exclusive"], "scan", "in.npy", "out.npy", "--include-initial", "--exclusive")

    def test_exclusive_is_inclusive_shifted(self):
        for flip in ([], ["--reverse"]):
            inclusive, exclusive = self.scan(self.x, *flip), self.scan(self.x, "--exclusive", *flip)
            if flip:
                self.same_bits(exclusive[:, :-1], inclusive[:, 1:])
                self.same_bits(exclusive[:, -1], np.zeros(9, "f4"))
            else:
                self.same_bits(exclusive[:, 1:], inclusive[:, :-1])
                self.same_bits(exclusive[:, 0], np.zeros(9, "f4"))

    def test_reverse_is_flipped(self):
        self.same_bits(self.scan(self.x, "--reverse"), self.scan(self.x[:, ::-1])[:, ::-1])

    def test_fortran_order(self):
        x = self.random.standard_normal((7, 11, 13)).astype("f4")
        for dim in range(3):
            for flags in FLAGS:
                c = self.scan(x, "--dim", dim, *flags)
                f = self.scan(np.asfortranarray(x), "--dim", dim, *flags)
                self.same_bits(c, f)
                self.assertTrue(f.flags.c_contiguous)

    def test_dimension_is_transpose(self):
        self.same_bits(self.scan(self.x, "--dim", "0"), self.scan(np.ascontiguousarray(self.x.T)).T)

    def test_batch_and_threads(self):
        all_rows = self.scan(self.x)
        self.same_bits(all_rows[3:4], self.scan(self.x[3:4]))
        self.same_bits(all_rows, self.scan(self.x, "--threads", "1"))
        self.same_bits(all_rows, self.scan(self.x, "--threads", "3"))

    def test_mask_of_ones(self):
        self.save("m.npy", np.ones(self.x.shape, bool))
        self.same_bits(self.scan(self.x), self.scan(self.x, "--mask", "m.npy"))
        self.same_bits(self.scan(self.x), self.scan(self.x, "--mask", "m.npy", "--mask-mode", "multiply"))

    def test_engines(self):
        """--engine auto is the GPU where there is one."""
        host = self.scan(self.x)
        self.rowscan("scan", "in.npy", "auto.npy")
        self.same_bits(host, np.load(self.path("auto.npy")))


# ---- files that are odd, and right -----------------------------------------------------------------------------------


class Files(Case):
    def check_raw(self, header, want, data, **kwargs):
        self.raw("in.npy", header, data, **kwargs)
        self.rowscan("scan", "in.npy", "out.npy")
        self.same_bits(np.load(self.path("out.npy")), want)

    def test_versions(self):
        x = np.arange(12, dtype="f4").reshape(3, 4)
        for version in [(1, 0), (2, 0), (3, 0)]:
            with open(self.path("in.npy"), "wb") as file:
                np.lib.format.write_array(file, x, version)
            self.rowscan("scan", "in.npy", "out.npy")
            self.same_bits(np.load(self.path("out.npy")), np.cumsum(x, 1, "f4"))

    def test_any_alignment(self):
        """NumPy pads headers; others need not."""
        for dtype in ["f4", "f8", "i2", "b1"]:
            x = np.ones(9, dtype)
            want = np.arange(1, 10, dtype=default_out(dtype))
            for pad in range(9):
                header = f"{{'descr': '{x.dtype.str}', 'fortran_order': False, 'shape': (9,)}}" + " " * pad
                self.check_raw(header, want, x.tobytes(), version=1 + pad % 3)
        self.raw("in.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}")
        self.rowscan("scan", "in.npy", "out.npy")

    def test_headers_as_others_write_them(self):
        x = np.arange(6, dtype="f4").reshape(2, 3)
        want = np.cumsum(x, 1, "f4")
        for header in ["{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
                       '{"shape": (2, 3), "fortran_order": False, "descr": "<f4"}',
                       "{ 'descr' : '=f4' , 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , }   "]:
            self.check_raw(header, want, x.tobytes())
            self.check_raw(header, want, x.tobytes(), newline=False)

    def test_names_of_types(self):
        """All that NumPy reads and rowscan scans; where the two NumPys differ, this one's."""
        letters = "?bBhHiIlLqQpPefd"
        names = ["bool", "bool_", "byte", "ubyte", "short", "ushort", "intc", "uintc", "int", "uint", "int_", "intp",
                 "uintp", "long", "ulong", "longlong", "ulonglong", "half", "single", "double", "float", "float16",
                 "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
        for name in [*letters, *("<" + letter for letter in letters), *names]:
            dtype = np.dtype(name)
            with self.subTest(name=name):
                x = np.ones(3, dtype)
                self.check_raw(f"{{'descr': '{name}', 'fortran_order': False, 'shape': (3,)}}",
                               np.arange(1, 4, dtype=default_out(dtype.str[1:])), x.tobytes())

    def test_bytes_after_the_data(self):
        self.check_raw("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", np.array([1, 3]),
                       np.array([1, 2, 99]).tobytes())

    def test_output_is_as_numpy_writes(self):
        self.scan(np.ones((3, 4), "f4"))
        with open(self.path("out.npy"), "rb") as file:
            self.assertEqual(np.lib.format.read_magic(file), (1, 0))
            self.assertEqual(np.lib.format.read_array_header_1_0(file), ((3, 4), False, np.dtype("<f4")))
            self.assertEqual(file.tell() % 64, 0)
        self.assertEqual(os.path.getsize(self.path("out.npy")), 128 + 48)
        mapped = np.load(self.path("out.npy"), mmap_mode="r")
        self.assertEqual(mapped[2, 3], 4)

    def test_same_file(self):
        x = np.arange(5000, dtype="i8").reshape(5, 1000)
        self.save("x.npy", x)
        self.rowscan("scan", "x.npy", "x.npy")
        np.testing.assert_array_equal(np.load(self.path("x.npy")), np.cumsum(x, 1))
        os.symlink("x.npy", self.path("link.npy"))
        self.rowscan("scan", "--dtype=f64", "link.npy", "x.npy")
        np.testing.assert_array_equal(np.load(self.path("x.npy")), np.cumsum(np.cumsum(x, 1), 1))
        self.save("m.npy", np.ones((3, 3), "u1"))
        self.save("y.npy", np.ones((3, 3), "f4"))
        self.rowscan("scan", "--mask", "m.npy", "y.npy", "m.npy")
        self.assertEqual(np.load(self.path("m.npy"))[2, 2], 3)
        self.assertEqual(sorted(self.listing()), ["link.npy", "m.npy", "x.npy", "y.npy"])

    def test_permissions(self):
        self.save("in.npy", np.ones(3))
        for mask in (0o022, 0o077):
            self.rowscan("scan", "in.npy", "new.npy", preexec_fn=lambda: os.umask(mask))
            self.assertEqual(os.stat(self.path("new.npy")).st_mode & 0o777, 0o666 & ~mask)
            os.remove(self.path("new.npy"))
        self.save("old.npy", np.ones(1))
        os.chmod(self.path("old.npy"), 0o640)
        self.rowscan("scan", "in.npy", "old.npy")
        self.assertEqual(os.stat(self.path("old.npy")).st_mode & 0o777, 0o640)

    def test_link_as_output(self):
        os.mkdir(self.path("there"))
        self.save("there/y.npy", np.zeros(1))
        os.symlink("there/y.npy", self.path("link.npy"))
        self.save("in.npy", np.ones(3))
        self.rowscan("scan", "in.npy", "link.npy")
        self.assertTrue(os.path.islink(self.path("link.npy")))
        np.testing.assert_array_equal(np.load(self.path("there/y.npy")), [1, 2, 3])
        self.assertEqual(os.listdir(self.path("there")), ["y.npy"])

    def test_odd_names(self):
        for name in ["with space.npy", "-dash.npy", "no-ending", "\u00fc.npy", "n" * 255]:
            self.save("in.npy", np.ones(3))
            os.rename(self.path("in.npy"), self.path(name))
            self.rowscan("scan", "--", name, name)
            with open(self.path(name), "rb") as file:
                np.testing.assert_array_equal(np.load(file), [1, 2, 3])

    def test_summaries(self):
        x = self.save("in.npy", np.ones((3, 4), "f4"))
        out, err = self.rowscan("scan", "--dim", "-2", "--json", x, "out.npy")
        summary = json.loads(out)
        self.assertEqual(err, "")
        for key, value in {"in": "in.npy", "out": "out.npy", "shape": [3, 4], "dim": 0, "type": "f32",
                           "out_type": "f32"}.items():
            self.assertEqual(summary[key], value)
        self.assertIn(summary["engine"], ["host", "cuda"])
        self.assertGreaterEqual(summary["seconds"], 0)
        self.assertIsNotNone(summary["gbs"])
        self.assertEqual(self.rowscan("scan", x, "out.npy"), ("", ""))
        self.assertEqual(self.rowscan("scan", "-q", x, "out.npy"), ("", ""))
        out, err = self.rowscan("scan", "-v", x, "out.npy")
        self.assertEqual(out, "")
        self.assertRegex(err, r"out.npy: sum of f32 \(3, 4\) along dimension 1, .*GB/s")

    def test_figures_count_all_files(self):
        x = self.save("in.npy", np.ones((300, 40), "f4"))
        self.save("flags.npy", np.ones((300, 40), "?"))
        self.save("keys.npy", np.zeros((300, 40), "i4"))
        for bytes_each, *args in (
                (4 + 8 + 4, "--op", "argmax", "--second", "s.npy"),
                (4 + 1 + 4 + 4 + 4, "--op", "linear_recurrence", "--coefficient", x, "--mask", "flags.npy", "--keys",
                 "keys.npy"),
                (3 * 4 + 2 * 1 + 2 * 4, "--op", "gae", "--more1", x, "--more2", x, "--more3", "flags.npy", "--more4",
                 "flags.npy", "--params", "1,1", "--reverse", "--second", "s.npy")):
            summary = json.loads(self.rowscan("scan", "--json", *args, x, "out.npy")[0])
            self.assertAlmostEqual(1e9 * summary["gbs"] * summary["seconds"] / (300 * 40), bytes_each, 1)


# ---- files that are wrong --------------------------------------------------------------------------------------------


class BadFiles(Case):
    def fails_on(self, name, *words, args=()):
        return self.fails(1, [f"rowscan: scan: {name}: ", *words], "scan", *args, name, "out.npy")

    def bad_header(self, header, *words, **kwargs):
        self.fails_on(self.raw("in.npy", header, b"\0" * 64, **kwargs), *words)

    def test_no_npy(self):
        for data in [b"", b"\x93", b"\x93NUMPY", b"hello, world\n", b"PK\3\4", b"\x93NUMPY\1\0",
                     b"\x93NUMPY\1\0\xff\xff{"]:
            with open(self.path("in.npy"), "wb") as file:
                file.write(data)
            self.fails_on("in.npy")
        self.fails_on("missing.npy", "No such file")
        os.mkdir(self.path("directory"))
        self.fails_on("directory", "is a directory")
        os.mkfifo(self.path("pipe"))
        self.fails_on("pipe", "not a regular file")
        np.savez(self.path("in.npz"), np.ones(3))
        self.fails_on("in.npz", ".npz")

    def test_truncated(self):
        self.save("whole.npy", np.ones((10, 10), "f4"))
        with open(self.path("whole.npy"), "rb") as file:
            whole = file.read()
        for size in [5, 9, 12, 60, 127, 128, 129, 527]:
            with open(self.path("in.npy"), "wb") as file:
                file.write(whole[:size])
            if size < 128:
                self.fails_on("in.npy")
            else:
                self.fails_on("in.npy", "truncated data", f"the file has {size - 128}\n", "(10, 10)", "400 bytes")

    def test_dtypes(self):
        arrays = {"|O": np.array([None]), ">f4": np.arange(3, dtype=">f4"), ">i8": np.arange(3, dtype=">i8"),
                  "<c8": np.zeros(2, "c8"), "<U1": np.array(["a"]), "|S1": np.array([b"a"]), "|V8": np.zeros(2, "V8"),
                  "<M8[s]": np.zeros(2, "M8[s]"), "('a', '<f4')": np.zeros(2, [("a", "<f4")]), "V2": np.zeros(2, "V2")}
        for name, array in arrays.items():
            with self.subTest(dtype=name):
                np.save(self.path("in.npy"), array, allow_pickle=True)
                self.fails_on("in.npy", "field 'descr'", name)

    def test_headers(self):
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': "
        self.bad_header(head + "(5)}", "field 'shape'", "(5)")
        self.bad_header(head + "(-1,)}", "field 'shape'", "-1")
        self.bad_header(head + "(17,)}", "field 'shape'", "(17,)", "68 bytes", "the file has 64\n")
        self.bad_header(head + "(4294967296, 4294967296)}", "field 'shape'", "(4294967296, 4294967296)", "overflows")
        self.bad_header(head + "(9223372036854775808,)}", "field 'shape'", "9223372036854775808")
        self.bad_header(head + "(2,)", "header")
        self.bad_header(head + "(2,), 'x': 1}", "'x'")
        self.bad_header("{'descr': '<f4', 'shape': (2,)}", "'fortran_order'", "missing")
        self.bad_header("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", "field 'fortran_order'", "1")
        self.bad_header(b"\xff\xfe\0\0", "header")
        self.bad_header(head + "(2,)}", "version", version=4)

    def test_no_dimension(self):
        self.save("in.npy", np.float32(3))
        self.fails_on("in.npy", "field 'shape'", "()")

    def test_dimension_out_of_range(self):
        self.save("in.npy", np.ones((3, 4)))
        for dim in ["2", "-3", "2147483647", "-2147483648"]:
            self.fails_on("in.npy", "--dim", dim, "(3, 4)", args=["--dim", dim])

    def test_masks(self):
        self.save("in.npy", np.ones((3, 4), "f4"))
        for shape in [(4, 3), (3,), (12,), (3, 4, 1), ()]:
            self.save("m.npy", np.ones(shape, bool))
            self.fails(1, ["m.npy: field 'shape'", str(shape), "(3, 4)"],
                       "scan", "--mask", "m.npy", "in.npy", "out.npy")
        for dtype in ["i1", "f8", "i4"]:
            self.save("m.npy", np.ones((3, 4), dtype))
            self.fails(1, ["m.npy: field 'descr'", SHORT[dtype]], "scan", "--mask", "m.npy", "in.npy", "out.npy")
        self.fails(1, ["nosuch.npy"], "scan", "--mask", "nosuch.npy", "in.npy", "out.npy")
        self.raw("m.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4)}", b"\0" * 48)
        self.fails(1, ["m.npy: field 'descr'", ">f4"], "scan", "--mask", "m.npy", "in.npy", "out.npy")

    def test_flags_and_keys(self):
        self.save("in.npy", np.ones((3, 4), "f4"))
        for option in ("heads", "tails", "keys"):
            self.save("s.npy", np.ones((4, 3), bool))
            self.fails(1, ["s.npy: field 'shape'", "(4, 3)", "(3, 4)"],
                       "scan", f"--{option}", "s.npy", "in.npy", "out.npy")
            self.fails(1, ["nosuch.npy"], "scan", f"--{option}", "nosuch.npy", "in.npy", "out.npy")
            for dtype in ["f4", "f8", "f2"] if option == "keys" else ["i1", "f8", "i4"]:
                self.save("s.npy", np.ones((3, 4), dtype))
                self.fails(1, ["s.npy: field 'descr'", SHORT[dtype],
                               "a key must" if option == "keys" else "a flag must"],
                           "scan", f"--{option}", "s.npy", "in.npy", "out.npy")

    def test_impossible_types(self):
        self.save("in.npy", np.ones(4, "f4"))
        for args in [["--dtype", "i32"], ["--dtype", "bool"], ["--acc", "f16"], ["--acc", "i32"], ["--type", "f64"]]:
            self.fails_on("in.npy", args[1], args=args)
        self.fails_on("in.npy", "fixed:3", "requires a sum of floating elements", "prod",
                      args=["--op=prod", "--acc=fixed:3"])
        self.save("in.npy", np.ones(4, "i4"))
        self.fails_on("in.npy", "fixed:3", "sum of i32", args=["--acc=fixed:3"])


# ---- pipes -----------------------------------------------------------------------------------------------------------


class Pipes(Case):
    """Standard input and output as IN.npy and OUT.npy, both named -."""

    def pipe(self, data, *args, status=0, **kwargs):
        """What the command makes of these bytes, and what it says."""
        done = subprocess.run([ROWSCAN, "scan", *args], cwd=self.dir, env=self.env, input=data, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout, done.stderr.decode()

    def bytes_of(self, array, **kwargs):
        file = io.BytesIO()
        np.lib.format.write_array(file, array, **kwargs)
        return file.getvalue()

    def test_both(self):
        for x in [np.arange(12, dtype="f4").reshape(3, 4), np.zeros((0, 5)), np.ones(3000000, "f4"),
                  np.asfortranarray(np.arange(60, dtype="i8").reshape(3, 4, 5))]:
            for args in [[], ["--dim=0", "--reverse"]]:
                self.save("in.npy", x)
                self.rowscan("scan", *args, "in.npy", "out.npy")
                with open(self.path("out.npy"), "rb") as file:
                    want = file.read()
                self.assertEqual(self.pipe(self.bytes_of(x), *args, "-", "-"), (want, ""))
                self.assertEqual(self.pipe(b"", *args, "in.npy", "-"), (want, ""))
                self.assertEqual(self.pipe(self.bytes_of(x), *args, "-", "piped.npy"), (b"", ""))
                with open(self.path("piped.npy"), "rb") as file:
                    self.assertEqual(file.read(), want)
        self.assertEqual(sorted(self.listing()), ["in.npy", "out.npy", "piped.npy"])

    def test_header_of_any_length(self):
        """Data that is aligned to nothing."""
        self.raw("in.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", np.ones(3).tobytes())
        with open(self.path("in.npy"), "rb") as file:
            out, _ = self.pipe(file.read(), "-", "-")
        np.testing.assert_array_equal(np.load(io.BytesIO(out)), [1, 2, 3])

    def test_files_as_streams(self):
        """Standard input may be a file, at its beginning or behind something else; standard output may be one too."""
        x = np.ones(5)
        self.save("in.npy", x)
        with open(self.path("two"), "wb") as file:
            file.write(b"something" + self.bytes_of(x))
        for name, skipped in [("in.npy", 0), ("two", 9)]:
            with open(self.path(name), "rb") as source, open(self.path("out.npy"), "wb") as target:
                os.lseek(source.fileno(), skipped, os.SEEK_SET)
                done = subprocess.run([ROWSCAN, "scan", "-", "-"], env=self.env, stdin=source, stdout=target)
                self.assertEqual(done.returncode, 0)
            np.testing.assert_array_equal(np.load(self.path("out.npy")), np.cumsum(x))

    def test_verbose_goes_elsewhere(self):
        out, err = self.pipe(self.bytes_of(np.ones(3)), "-v", "-", "-")
        np.testing.assert_array_equal(np.load(io.BytesIO(out)), [1, 2, 3])
        self.assertTrue(err.startswith("rowscan: scan: standard output: sum of f64"), err)

    def test_failures_write_nothing(self):
        whole = self.bytes_of(np.ones((10, 10), "f4"))
        for data, args, words in [(b"", [], "it is empty"), (whole[:-1], [], "truncated data"),
                                  (b"hello", [], "not an .npy"), (whole, ["--dim=2"], "--dim"),
                                  (whole, ["--dtype=i8"], "i8"), (whole, ["--mask=no.npy"], "no.npy")]:
            out, err = self.pipe(data, *args, "-", "-", status=1)
            self.assertEqual(out, b"")
            self.assertIn(words, err)
            if not args:
                self.assertTrue(err.startswith("rowscan: scan: standard input: "), err)

    def test_streams_that_cannot_be(self):
        import pty
        self.save("in.npy", np.ones(3))
        mine, theirs = pty.openpty()
        run = lambda *args, **kwargs: subprocess.run([ROWSCAN, "scan", *args], cwd=self.dir, env=self.env, timeout=300,
                                                     stderr=subprocess.PIPE, **kwargs)
        done = run("-", "out.npy", stdin=theirs)
        self.assertEqual((done.returncode, b"standard input: is a terminal" in done.stderr), (1, True))
        done = run("in.npy", "-", stdout=theirs)
        self.assertEqual((done.returncode, b"standard output: is a terminal" in done.stderr), (1, True))
        os.close(mine)
        os.close(theirs)
        done = run("-", "out.npy", preexec_fn=lambda: os.close(0))
        self.assertEqual((done.returncode, b"standard input: cannot be read: Bad" in done.stderr), (1, True))
        done = run("in.npy", "-", preexec_fn=lambda: os.close(1))
        self.assertEqual((done.returncode, b"standard output: cannot be written: Bad" in done.stderr), (1, True))
        with open("/dev/full", "wb") as full:
            done = run("in.npy", "-", stdout=full)
        self.assertEqual((done.returncode, b"standard output: cannot be written: No space" in done.stderr), (1, True))
        with open("/dev/null", "rb") as null:
            done = run("-", "out.npy", stdin=null)
        self.assertEqual((done.returncode, b"standard input: not an .npy file: it is empty" in done.stderr), (1, True))
        self.assertEqual(list(self.listing()), ["in.npy"])

    def test_writer_that_never_ends(self):
        """The header says how much is read; what is no header is refused at once."""
        data = self.bytes_of(np.ones((300, 1000)))
        for begin, words in [(data, None), (b"", "not an .npy file"), (b"\x93NUMPY\x05\x00", "'version': 5.0"),
                             (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "'header length': 4294967295"),
                             (b"\x93NUMPY\x01\x00\xff\xff", "where '{' should be"),
                             (data[:50] + b"!" + data[51:], "'")]:
            process = subprocess.Popen([ROWSCAN, "scan", "--engine=host", "-", "-"], env=self.env, bufsize=0,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            output = []
            reader = threading.Thread(target=lambda: output.extend([process.stdout.read(), process.stderr.read()]))
            reader.start()
            with self.assertRaises(BrokenPipeError):
                process.stdin.write(begin)
                for _ in range(16):  # more than a pipe holds
                    process.stdin.write(bytes(1 << 20))
            process.stdin.close()
            reader.join()
            process.stdout.close()
            process.stderr.close()
            self.assertEqual(process.wait(), 1 if words else 0, output[1].decode())
            if words:
                self.assertEqual(output[0], b"")
                self.assertIn(words, output[1].decode())
            else:
                np.testing.assert_array_equal(np.load(io.BytesIO(output[0]))[-1], np.arange(1, 1001))

    def test_reader_that_goes(self):
        """As `| head -c 1`: the command dies of SIGPIPE or, where that is ignored, says so."""
        for ignored in [False, True]:
            how = lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)
            process = subprocess.Popen([ROWSCAN, "scan", "-", "-"], env=self.env, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=how,
                                       restore_signals=False)
            process.stdout.close()
            process.stdin.write(self.bytes_of(np.ones(1 << 20)))
            process.stdin.close()
            err = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(), 1 if ignored else -signal.SIGPIPE)
            self.assertEqual(b"standard output: cannot be written: Broken pipe" in err, ignored)

    def test_streams_that_do_not_block(self):
        """Another process may have made them so; slow ones are waited for."""
        data = self.bytes_of(np.ones(1 << 18))
        to, ours = os.pipe(), os.pipe()
        for end in (to[0], ours[1]):
            os.set_blocking(end, False)
        process = subprocess.Popen([ROWSCAN, "scan", "-", "-"], env=self.env, stdin=to[0], stdout=ours[1])
        os.close(to[0])
        os.close(ours[1])
        time.sleep(0.2)
        with open(to[1], "wb") as file:
            file.write(data)
        time.sleep(0.2)
        with open(ours[0], "rb") as file:
            got = file.read()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(np.load(io.BytesIO(got))[-1], 1 << 18)


# ---- where the output goes -------------------------------------------------------------------------------------------


class Output(Case):
    def setUp(self):
        super().setUp()
        self.save("in.npy", np.ones((100, 1000), "f4"))

    def test_places_that_cannot_be(self):
        os.mkdir(self.path("directory"))
        os.mkfifo(self.path("pipe"))
        os.symlink("nowhere", self.path("dangling"))
        for name in ["directory", "directory/", "nosuch/out.npy", "in.npy/out.npy", "pipe", "/dev/null", "dangling",
                     "n" * 300, "n/" * 3000]:
            with self.subTest(name=name[:20]):
                self.fails(1, [f"rowscan: scan: {name[:20]}"], "scan", "in.npy", name)
        self.assertEqual(os.listdir(self.path("directory")), [])

    def test_two_outputs_are_two_files(self):
        """By name, link or descriptor; nothing is written, and what was there stays."""
        scan = [ROWSCAN, "scan", "--engine=host", "--op=argmax", "in.npy"]
        self.save("there.npy", np.ones(1))
        os.mkdir(self.path("folder"))
        os.link(self.path("there.npy"), self.path("hard.npy"))
        os.symlink("there.npy", self.path("soft.npy"))
        os.symlink(".", self.path("here"))
        before, same = self.listing(), [("new.npy", "new.npy"), ("new.npy", "./new.npy"), ("new.npy", "here/new.npy"),
                                        ("new.npy", "folder/../new.npy"), ("new.npy", self.path("new.npy")),
                                        ("there.npy", "hard.npy"), ("there.npy", "soft.npy"), ("soft.npy", "there.npy")]
        for out, second in same:
            self.fails(2, [f"--second: '{second}' is the same file as the first output, {out}"], *scan[1:], out,
                       f"--second={second}")
        run = lambda *args, **kwargs: subprocess.run([*scan, *args], cwd=self.dir, env=self.env, stderr=subprocess.PIPE,
                                                     timeout=300, **kwargs)
        with open(self.path("there.npy"), "r+b") as there:
            for status, args in [(2, ["-", "--second=there.npy"]), (2, ["-", "--second=soft.npy"]),
                                 (2, ["-", "--second=/dev/stdout"]), (2, ["there.npy", "--second=/dev/stdout"]),
                                 (1, ["there.npy", "--json"]), (1, ["/dev/stdout", "--json"])]:
                done = run(*args, stdout=there)
                self.assertEqual(done.returncode, status, (args, done.stderr))
                self.assertIn(b"is the same file" if status == 2 else b"is standard output too", done.stderr)
            descriptor = there.fileno()
            done = run("there.npy", f"--second=/dev/fd/{descriptor}", pass_fds=[descriptor])
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.listing(), before)
        np.testing.assert_array_equal(np.load(self.path("there.npy")), [1])
        with open(self.path("there.npy"), "r+b") as there:  # where nothing else goes
            self.assertEqual(run("/dev/stdout", stdout=there).returncode, 0)
        self.assertEqual(self.rowscan(*scan[1:], "out.npy", "--second=folder/out.npy"), ("", ""))
        np.testing.assert_array_equal(np.load(self.path("folder/out.npy")), np.ones((100, 1000), "f4"))
        with open(self.path("text"), "w+b") as text:
            done = subprocess.run([ROWSCAN, "bench", "--engine=host", "--shapes=4 x 60", "--csv=text"], cwd=self.dir,
                                  env=self.env, stdout=text, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"text: is standard output too, which receives text", done.stderr)

    def as_nobody(self):
        os.setgid(65534)
        os.setuid(65534)

    def test_no_permission(self):
        how = {}
        if os.geteuid() == 0:
            probe = subprocess.run([ROWSCAN, "--version"], preexec_fn=self.as_nobody, env=self.env, cwd="/",
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if os.access(ROWSCAN, os.X_OK) else None
            if probe is None or probe.returncode:
                self.skipTest("another user cannot run the command")
            how = {"preexec_fn": self.as_nobody}
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("closed"), 0o555)
        self.fails(1, ["closed/out.npy", "ermission"], "scan", "in.npy", "closed/out.npy", **how)
        self.assertEqual(os.listdir(self.path("closed")), [])
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        self.save("open/out.npy", np.ones(1))
        os.chmod(self.path("open/out.npy"), 0o444)
        self.fails(1, ["open/out.npy", "ermission"], "scan", "in.npy", "open/out.npy", **how)
        self.assertEqual(os.listdir(self.path("open")), ["out.npy"])
        os.chmod(self.path("in.npy"), 0o000)
        self.fails(1, ["in.npy", "ermission"], "scan", "in.npy", "open/new.npy", **how)

    def test_file_too_large(self):
        """A limit on the size of files fails where a full disk does."""
        import resource
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        self.save("old.npy", np.ones(3))
        for name in ["new.npy", "old.npy"]:
            self.fails(1, [f"scan: {name}: ", "400128 bytes", "File too large"], "scan", "in.npy", name,
                       preexec_fn=limit)

    def test_full_disk(self):
        os.mkdir(self.path("small"))
        mount = "mount -t tmpfs -o size=128k none small 2>/dev/null || exit 99; "
        script = mount + '"$ROWSCAN" scan in.npy small/out.npy; status=$?; ls -A small; exit $status'
        try:
            done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=self.dir,
                                  env={**self.env, "ROWSCAN": os.path.abspath(shutil.which(ROWSCAN))},
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        except FileNotFoundError:
            self.skipTest("no unshare")
        if done.returncode == 99 or b"unshare" in done.stderr:
            self.skipTest("a small file system cannot be mounted here")
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(b"small/out.npy: no room for 400128 bytes: No space left", done.stderr)

    def test_failure_keeps_what_was_there(self):
        self.save("out.npy", np.arange(3))
        self.fails(1, ["in.npy"], "scan", "--dim", "7", "in.npy", "out.npy")
        self.fails(1, ["in.npy"], "scan", "--dtype", "i8", "in.npy", "out.npy")
        np.testing.assert_array_equal(np.load(self.path("out.npy")), [0, 1, 2])

    def test_closed_streams(self):
        """Whatever of 0, 1 and 2 is closed, nothing of what is printed goes into a file."""
        self.save("want.npy", np.cumsum(np.ones((100, 1000), "f4"), 1))
        with open(self.path("want.npy"), "rb") as file:
            want = file.read()
        self.env["ROWSCAN_CACHE"] = "nonsense"
        for log in ["", "debug", "loud"]:
            self.env["ROWSCAN_LOG"] = log
            for closed in range(8):
                for name in ["in.npy", "out.npy", "new.npy"]:
                    self.save("in.npy", np.ones((100, 1000), "f4"))
                    self.assertEqual(self.with_closed(closed, "scan", "in.npy", name), 0)
                    with open(self.path(name), "rb") as file:
                        self.assertEqual(file.read(), want, (closed, name))
                os.remove(self.path("new.npy"))

    def with_closed(self, closed, *args):
        """The exit status of the command, without those of its standard streams whose bits are set."""
        def close():
            for number in range(3):
                if closed >> number & 1:
                    os.close(number)
        return subprocess.run([ROWSCAN, *args], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300,
                              preexec_fn=close).returncode

    def test_closed_streams_of_other_commands(self):
        """What can't be printed, or read, is a failure, and no file has it instead."""
        self.rowscan("cache", "info")
        with open(self.path("list.txt"), "w") as file:
            file.write("length=1000\n")
        self.env["ROWSCAN_CACHE"] = "only"
        for closed in range(8):
            prints = 1 if closed & 2 else 0
            self.assertEqual(self.with_closed(closed, "--help"), prints)
            self.assertEqual(self.with_closed(closed, "cache", "info", "--json"), prints)
            self.assertEqual(self.with_closed(closed, "devices", "--json"), prints)
            self.assertEqual(self.with_closed(closed, "source", "--length", "5"), prints)
            self.assertEqual(self.with_closed(closed, "warm", "--arch", "sm_90", "list.txt"), 1)
            self.assertEqual(self.with_closed(closed, "warm", "--arch", "sm_90", "-"), 1)
            self.assertEqual(self.with_closed(closed, "frobnicate"), 2)
            self.assertEqual(self.with_closed(closed, "bench", "--engine", "host", "--shapes", "2 x 3", "--repeat", "1",
                                              "--csv", "out.csv"), prints)
            with open(self.path("out.csv")) as file:
                self.assertEqual(len(list(csv.DictReader(file))), 1 + 3)
        self.assertEqual(sorted(self.listing()), ["in.npy", "list.txt", "out.csv"])

    def test_owner_and_group_stay(self):
        self.save("out.npy", np.ones(1))
        if os.geteuid() != 0:
            self.skipTest("root alone gives files away")
        os.chown(self.path("out.npy"), 12345, 23456)
        self.rowscan("scan", "in.npy", "out.npy")
        facts = os.stat(self.path("out.npy"))
        self.assertEqual((facts.st_uid, facts.st_gid), (12345, 23456))

    def test_links_of_others(self):
        """As under protected_symlinks: not in a directory that all may write, and that has the sticky bit."""
        if os.geteuid() != 0:
            self.skipTest("root alone makes what others own")
        self.save("victim.npy", np.ones(1))
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o1777)
        os.symlink("../victim.npy", self.path("open/out.npy"))
        os.lchown(self.path("open/out.npy"), 12345, 12345)
        self.fails(1, ["open/out.npy: is a symbolic link of another user"], "scan", "in.npy", "open/out.npy")
        os.chmod(self.path("open"), 0o777)
        self.rowscan("scan", "in.npy", "open/out.npy")
        self.assertEqual(np.load(self.path("victim.npy")).shape, (100, 1000))

    def test_no_gpu(self):
        """No driver and no device: the cuda engine fails and leaves nothing."""
        self.env["CUDA_VISIBLE_DEVICES"] = ""
        self.fails(1, ["rowscan: scan: "], "scan", "--engine", "cuda", "in.npy", "out.npy")
        self.fails(1, ["rowscan: scan: "], "scan", "--device", "0", "in.npy", "out.npy")
        out, _ = self.rowscan("scan", "--json", "in.npy", "out.npy")
        self.assertEqual(json.loads(out)["engine"], "host")


def read_all(terminal):
    """What was written to a terminal."""
    told = b""
    while select.select([terminal], [], [], 0.1)[0]:
        try:
            told += os.read(terminal, 65536)
        except OSError:  # nobody has its other end
            break
    return told


def heed_signals():
    """Whoever runs the tests may ignore some: a shell's background job SIGINT, nohup SIGHUP."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


class Interrupted(Case):
    """A large, empty array keeps the command busy; its file takes no space."""

    def start(self, gigabytes, stderr=subprocess.PIPE, preexec_fn=heed_signals, threads=1):
        count = int(gigabytes * 2**30) // 4
        self.raw("in.npy", f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count // 1024}, 1024)}}".ljust(117))
        os.truncate(self.path("in.npy"), 128 + 4 * count)
        process = subprocess.Popen([ROWSCAN, "scan", "--engine=host", f"--threads={threads}", "in.npy", "out.npy"],
                                   cwd=self.dir, env=self.env, stdout=subprocess.PIPE, stderr=stderr,
                                   preexec_fn=preexec_fn)
        while process.poll() is None and not self.temporaries():
            time.sleep(0.001)
        return process

    def temporaries(self):
        return [name for name in os.listdir(self.dir) if name.startswith(".rowscan-")]

    def meddle(self, what, threads=1):
        """Starts ever larger jobs until one still runs when what() was done; returns it, ended, and its stderr."""
        for gigabytes in (0.25, 1, 4):
            process = self.start(gigabytes, threads=threads)
            what(process)
            _, err = process.communicate(timeout=300)
            if process.returncode != 0:
                return process, err.decode()
            np.load(self.path("out.npy"), mmap_mode="r")
            os.remove(self.path("out.npy"))
        self.skipTest("the command is too fast to be interrupted")

    def test_signals(self):
        for number in SIGNALS:
            with self.subTest(signal=number):
                process, err = self.meddle(lambda process: process.send_signal(number))
                self.assertEqual(process.returncode, -number, err)
                self.assertEqual(list(self.listing()), ["in.npy"])

    def test_signals_while_compiling(self):
        """NVRTC takes SIGINT and SIGTERM for as long as it compiles, and gives up by itself with 4 now and then."""
        self.needs_compiler()
        with open(self.path("list.txt"), "w") as file:
            file.write("".join(f"length={n}\n" for n in range(1000, 1100)))
        for number in SIGNALS[:3]:
            with self.subTest(signal=number):
                process = subprocess.Popen([ROWSCAN, "warm", "-q", "-j", "2", "--arch", "sm_80", "list.txt"],
                                           cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_signals)
                while len(glob.glob(self.path("cache/*/*"))) < 2 and process.poll() is None:
                    time.sleep(0.02)
                process.send_signal(number)
                _, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, [-number, 4], err.decode())
                shutil.rmtree(self.path("cache"))

    def test_what_the_killed_leave(self):
        process, _ = self.meddle(lambda process: process.send_signal(signal.SIGKILL))
        self.assertEqual(process.returncode, -signal.SIGKILL)
        (left,) = self.temporaries()
        mine = ["notes.tmp", ".rowscan-1-2-3.temporary", ".rowscan-1-2.tmp"]
        for name in mine + [".rowscan-1-2-3.tmp"]:
            with open(self.path(name), "wb"):
                pass
        for name in mine + [left]:
            os.utime(self.path(name), (10**9, 10**9))
        self.scan(np.arange(3))
        self.assertEqual(list(self.listing()), sorted(mine + ["in.npy", "out.npy", ".rowscan-1-2-3.tmp"]))

    def test_old_output_stays(self):
        self.save("out.npy", np.arange(3))
        process = self.start(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
        if process.returncode:
            np.testing.assert_array_equal(np.load(self.path("out.npy")), [0, 1, 2])
        self.assertEqual(self.temporaries(), [])

    def test_ignored_signal(self):
        """As under nohup."""
        process = self.start(0.25, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(list(self.listing()), ["in.npy", "out.npy"])

    def test_input_becomes_shorter(self):
        for threads in (1, 4):
            with self.subTest(threads=threads):
                process, err = self.meddle(lambda process: os.truncate(self.path("in.npy"), 4096), threads)
                self.assertEqual(process.returncode, 1)
                self.assertIn("rowscan: scan: in.npy: cannot be read to its end", err)
                self.assertEqual(list(self.listing()), ["in.npy"])

    def test_output_becomes_another(self):
        """Longer, for a file that is cut may end the scan itself."""
        self.save("out.npy", np.arange(3))

        def grow(process):
            whole = os.path.getsize(self.path("in.npy"))
            while process.poll() is None:
                for name in self.temporaries():
                    if os.path.getsize(self.path(name)) == whole:
                        os.truncate(self.path(name), whole + 1)
                        return

        for gigabytes in (0.25, 1, 4):
            process = self.start(gigabytes)
            grow(process)
            _, err = process.communicate(timeout=300)
            if process.returncode != 0:
                self.assertEqual(process.returncode, 1)
                self.assertIn(b"out.npy: does not have the size that was written", err)
                self.assertEqual(list(self.listing()), ["in.npy", "out.npy"])
                np.testing.assert_array_equal(np.load(self.path("out.npy")), [0, 1, 2])
                return
        self.skipTest("the command is too fast to be meddled with")

    def test_progress_line(self):
        """On a terminal, and after a second: the command is made to sleep that long."""
        import pty
        for delay in (0.02, 0.05, 0.1):
            mine, theirs = pty.openpty()
            process = self.start(0.25, stderr=theirs)
            time.sleep(delay)
            self.hold_up(process)
            os.close(theirs)
            told = read_all(mine)
            os.close(mine)
            if told:
                self.assertRegex(told, rb"^\r( *\d+% of|writing)")
                self.assertTrue(told.endswith(b"\r\x1b[K"), told)
                return
        self.skipTest("never caught in the right moment")


# ---- the command line ------------------------------------------------------------------------------------------------


class CommandLine(Case):
    def usage(self, *args, words=()):
        err = self.fails(2, [*words, "--help"], *args)
        self.assertLessEqual(err.count("\n"), 2)

    def test_usage_errors(self):
        self.save("in.npy", np.ones(3))
        self.usage()
        self.usage("frobnicate", words=["frobnicate"])
        self.usage("--frobnicate", words=["--frobnicate"])
        self.usage("help", "frobnicate", words=["frobnicate"])
        scan = ["scan", "in.npy", "out.npy"]
        self.usage("scan", words=["IN.npy OUT.npy"])
        self.usage("scan", "in.npy")
        self.usage(*scan, "more", words=["more"])
        self.usage(*scan, "--frobnicate", words=["--frobnicate"])
        self.usage(*scan, "-x", words=["-x"])
        self.usage(*scan, "--dim", words=["--dim"])
        self.usage(*scan, "--reverse=yes", words=["--reverse", "yes"])
        for option, value in [("dim", "x"), ("dim", "1.5"), ("dim", ""), ("dim", "99999999999"), ("dim", "0x1"),
                              ("dim", " 1"), ("op", "maximum"), ("dtype", "complex64"), ("acc", "q"), ("type", "<f4"),
                              ("engine", "gpu"), ("device", "-1"), ("mask-mode", "xor"), ("threads", "many"),
                              ("mask", "-"), ("mask", ""), ("coefficient", "-"), ("coefficient", ""),
                              ("heads", "-"), ("tails", ""), ("keys", "-")]:
            self.usage(*scan, f"--{option}={value}", words=[f"--{option}", f"'{value}'"])
            self.usage(*scan, f"--{option}", value, words=[f"--{option}", f"'{value}'"])
        for value in ["fixed:63", "fixed:-1", "fixed:", "fixed:1x"]:
            self.usage(*scan, "--acc", value, words=["--acc", f"'{value}'", "fixed:0 to fixed:62"])
        self.usage(*scan, "--dtype", "fixed:3", words=["--dtype", "'fixed:3'"])
        for name, instead in [("float", "write f64 or f32"), ("int", "write i64 or i32"), ("uint", "write u64 or u32"),
                              ("long", "write i64 or i32"), ("byte", "write i8 or u8"), ("f4", "write f32"),
                              ("<f8", "write f64"), ("<i8", "write i64"), ("=u8", "write u64"), ("b1", "write bool")]:
            for option in ["dtype", "acc", "type"]:
                self.usage(*scan, f"--{option}={name}", words=[f"--{option}: '{name}'", instead])
        self.usage("compile", "--arch", "sm_90", "--length", "5", "--out-type", "float", words=["write f64 or f32"])
        self.usage("scan", "--json", "in.npy", "-", words=["--json", "'-'"])
        self.usage("scan", "in.npy", "", words=["OUT.npy"])
        self.usage(*scan, "--mask-mode", "select", words=["--mask"])
        self.usage(*scan, "--coefficient", "2", words=["--coefficient", "sum"])
        recurrence = (*scan, "--op", "linear_recurrence")
        self.usage(*recurrence, words=["--coefficient"])
        self.usage(*recurrence, "--coefficient", "2", "--mask", "c.npy", "--mask-mode", "multiply",
                   words=["--mask-mode", "linear_recurrence rejects multiply; use select"])
        self.usage(*recurrence, "--coefficient", "2", "--mask-mode", "select",
                   words=["--mask-mode: select requires --mask"])
        for option in ("coefficient", "heads", "tails", "keys"):
            self.usage(*scan, "--mask-mode", option,
                       words=[f"--mask-mode: {option} is an option of its own; use --{option}"])
        for option in ("heads", "tails", "keys"):
            self.usage(*scan, f"--{option}=s.npy", "--mask-mode=select", words=["--mask-mode"])
            self.usage(*recurrence, f"--{option}=s.npy", words=["--coefficient"])
        self.usage(*scan, "--keys=k.npy", "--heads=h.npy", words=["--keys", "'k.npy'", "--heads", "'h.npy'"])
        self.usage(*scan, "--more1=v.npy", words=["--more1", "'v.npy'", "sum has 0 further inputs"])
        self.usage(*scan, "--second=y.npy", words=["--second", "'y.npy'", "sum has one output"])
        self.usage(*scan, "--params=0.9", words=["--params", "'0.9'", "sum has 0 parameters"])
        gae = (*scan, "--op=gae", "--more1=v.npy", "--more2=w.npy", "--more3=0")
        self.usage(*gae, "--params=1,1", words=["--more4", "not given", "gae has 4 further inputs"])
        for params in ("1", "1,1,1", "1,1,1,1,1"):
            self.usage(*gae, "--more4=0", f"--params={params}",
                       words=["--params", f"'{params}'", "gae has 2 parameters"])
        self.usage(*gae, "--more4=0", words=["--params", "not given", "gae has 2 parameters"])
        self.usage("bench", "--second", words=["--second", "sum has one output"])
        self.usage("bench", "--op=max", "--second", words=["--second", "max has one output"])
        self.usage("bench", "--segments=select", words=["--segments", "'select'", "heads, tails, keys"])
        self.usage("bench", "--segments=keys", "--mask-mode=tails", words=["--segments: keys", "--mask-mode is tails"])
        for params in ("1,x", "1,1,", ""):
            self.usage(*gae, "--more4=0", f"--params={params}",
                       words=["--params", f"'{params}' is not a list of numbers"])
        self.usage(*scan, "--engine=host", "--device=0", words=["--device"])
        self.usage(*scan, "--engine=host", "--devices=1,0", words=["--devices: 1", "--engine is host"])
        self.usage(*scan, "--device=1", "--devices=1,0", words=["--devices: '1,0'", "--device is given"])
        for devices in ("", "0,", ",1", "0 1", "-1", "x", "99999999999"):
            self.usage(*scan, f"--devices={devices}", words=[f"--devices: '{devices}' is not a list of numbers"])
        self.usage(*scan, "--devices=" + ",".join(map(str, range(17))), words=["more than 16"])
        self.usage("cache", words=["path|info"])
        self.usage("cache", "purge", words=["unknown cache command 'purge'"])
        self.usage("cache", "list", "--limit", "5", words=["--limit"])
        self.usage("cache", "list", "--arch", "sm_90", words=["--arch"])
        self.usage("cache", "why", "--arch", "sm_90", words=["why requires a scan"])
        self.usage("cache", "why", "length=5", words=["--arch"])
        self.usage("cache", "why", "--arch", "sm_90", "length=5", "more", words=["more"])
        self.usage("cache", "prune", "--limit", "0", words=["--limit", "clear"])
        self.usage("cache", "import", "x.pack", "--limit", "0", words=["--limit", "clear"])
        self.usage("cache", "prune", "--limit", "-1", words=["--limit", "-1"])
        self.usage("cache", "list", "more", words=["more"])
        self.usage("cache", "export", words=["export requires a FILE"])
        self.usage("cache", "export", "", words=["export requires a FILE"])
        self.usage("cache", "import", words=["import requires a FILE"])
        self.usage("cache", "import", "--arch", "sm_90", "x.pack", words=["--arch"])
        self.usage("cache", "list", "--spec", "in=f32", words=["--spec"])
        self.usage("cache", "export", "-", words=["FILE: '-' is not the name of a file"])
        self.usage("cache", "import", "-", words=["FILE: '-' is not the name of a file"])
        self.usage("devices", "more", words=["more"])
        self.usage("bench", "--suite", "slow", words=["slow"])
        for shapes in ["12 y 3", "12 in", "0 x 5", "3 x 4 dim 2", "3 x 4 f33", "3 x 4 f32 ->", "3 x 4 f32 more",
                       "3 x 4 of every", "3 x 4 paddedf32", "3 x 4 padded transposed", "3 x 4 x 5 padded",
                       "3 x 4 dim 0 padded", "3 x -4", "1 x 2 x 3 x 4 x 5 x 6 x 7 x 8 x 9", "9000000000 x 9000000000",
                       "99999999999999999999 x 1", "3 x 4 " + 80 * "9"]:
            self.usage("bench", "--list", "--shapes", shapes, words=["--shapes", shapes[:20]])
        self.usage("bench", "--list", "--shapes", "3 x 4||3 x 5", words=["--shapes", "''"])
        self.usage("bench", "--shapes", "3 x 4 f16 in f64 ->", words=["--shapes", "f16 in f64 ->"])
        self.usage("bench", "--shapes", "3 x 4 bool -> bool", words=["--shapes", "3 x 4 bool -> bool", "out"])
        self.usage("bench", "--shapes", "", words=["--shapes"])
        self.usage("bench", "--regime", "rows", words=["--regime", "rows", "short"])
        self.usage("bench", "--shapes", "3 x 4", "--suite", "full", words=["--shapes", "full"])
        self.usage("bench", "--shapes", "|".join(65 * ["3 x 4"]), words=["--shapes", "64"])
        self.usage("compile", "--length", "5", words=["--arch"])
        self.usage("compile", "--arch", "sm_90", words=["--length"])
        self.usage("compile", "--arch", "sm_90", "--length", "-5", words=["--length", "-5"])
        self.usage("compile", "--arch", "sm_90", "--length", "-1", words=["--length", "-1", "or any"])
        for arch in ["", "90", "sm_", "sm_9x0", "sm_90,", ",sm_90", "sm_90x", "sm_90 ", "sm_090", "sm_" + "9" * 40]:
            self.usage("compile", "--arch", arch, "--length", "5", words=["--arch"])
        self.usage("warm", "--arch", "sm_90", words=["FILE"])
        self.usage("warm", "in.npy", words=["--arch"])
        self.usage("warm", "--arch", "90", "in.npy", words=["--arch"])
        self.usage("warm", "--arch", "sm_90,sm_70", "--universal", words=["--arch: sm_70 is older than sm_75"])
        self.usage("bench", "--universal", "--engine", "host", words=["--universal", "GPUs"])
        self.usage("warm", "--arch", "sm_90", "--jobs", "-1", "in.npy", words=["--jobs", "-1"])
        self.usage("source", "--arch", "all", "--length", "5", words=["--arch"])
        self.usage("source", "--json", "--length", "5", words=["--json"])

    def read_terminal(self, end):
        try:
            return os.read(end, 4096)
        except OSError:  # the other end was closed
            return b""

    def test_names_do_not_control_the_terminal(self):
        """Names of files may have any bytes; in messages they are one line of text."""
        import pty
        self.save("in.npy", np.ones(3))
        name, shown = "\x1b[31m\n\x7f\u0085\u00fc.npy", r"\x1b[31m\x0a\x7f\xc2\x85" + "\u00fc.npy"
        for args in [["scan", name, "out.npy"], ["scan", "in.npy", name + "/x"],
                     ["scan", "--mask", name, "in.npy", "o"], ["cache", "import", name],
                     ["cache", "export", name], ["warm", "--arch", "sm_90", name]]:
            err = self.fails(1, [shown], *args)
            self.assertEqual(err.count("\n"), 1)
        for args in [["frobnicate" + name], ["scan", "--" + name], ["scan", "in.npy", "out.npy", name],
                     ["scan", "in.npy", "out.npy", "--dtype", name], ["cache", name],
                     ["bench", "--list", "--shapes", name[:8]]]:
            self.assertEqual(self.fails(2, [shown[:14]], *args).count("\n"), 2)
        np.save(self.path("odd"), np.ones(3))
        os.rename(self.path("odd.npy"), self.path(name))
        _, err = self.rowscan("scan", "-v", name, name)
        self.assertIn(shown, err)
        self.assertEqual(err.count("\n"), 1)
        self.env["ROWSCAN_CACHE_DIR"] = self.path(name)
        self.assertIn(shown, "".join(self.rowscan("cache", "info")))
        self.env["ROWSCAN_CACHE_DIR"] = self.path("dir" + name)
        out, err = self.rowscan("cache", "info")
        self.assertIn("dir" + shown, out)
        self.assertEqual(self.rowscan("cache", "path")[0], self.path("dir" + name) + "\n")
        self.assertEqual(json.loads(self.rowscan("cache", "path", "--json")[0])["path"], self.path("dir" + name))
        self.assertIn(r"dir\u001b[31m\u000a\u007f\u0085ü.npy", self.rowscan("cache", "path", "--json")[0])
        text = "// rowscan: op=Odd\n// \x1b[31m\n"
        with open(self.path("odd.cuh"), "w") as file:
            file.write(text)
        source = ["source", "--length=5", "--op-file=odd.cuh"]
        self.assertIn(text, self.rowscan(*source)[0])
        for args, words in [(["cache", "path"], "dir" + shown), (source, text.replace("\x1b", r"\x1b"))]:
            mine, theirs = pty.openpty()
            process = subprocess.Popen([ROWSCAN, *args], env=self.env, cwd=self.dir, stdout=theirs)
            os.close(theirs)
            told = b""
            while part := self.read_terminal(mine):
                told += part
            os.close(mine)
            self.assertEqual(process.wait(), 0)
            self.assertIn(words, told.decode().replace("\r\n", "\n"))
        self.env["ROWSCAN_LOG"] = name
        self.assertIn(shown, self.rowscan("cache", "info")[1])

    def test_axis_is_another_name_of_dim(self):
        self.save("in.npy", np.ones((2, 3), "f4"))
        for args in [["--axis", "0"], ["--axis=-2"], ["--dim=1", "--axis=0"]]:
            self.rowscan("scan", *args, "in.npy", "out.npy")
            np.testing.assert_array_equal(np.load(self.path("out.npy")), np.cumsum(np.ones((2, 3), "f4"), 0))
        self.usage("scan", "in.npy", "out.npy", "--axis", "x", words=["--axis", "'x'"])

    def test_last_option_counts(self):
        self.save("in.npy", np.ones((2, 3), "f4"))
        self.rowscan("scan", "--dim=0", "in.npy", "--dim", "1", "out.npy", "--dtype=f64", "--dtype", "f32")
        np.testing.assert_array_equal(np.load(self.path("out.npy")), np.cumsum(np.ones((2, 3), "f4"), 1))

    def test_help(self):
        overview, err = self.rowscan("--help")
        self.assertEqual((overview, err), self.rowscan("help"))
        self.assertEqual(err, "")
        for command in Completion.COMMANDS:
            self.assertIn(f"\n  {command} ", overview)
            text, err = self.rowscan(command, "--help")
            self.assertEqual(err, "")
            self.assertTrue(text.startswith(f"Usage: rowscan {command}"))
            self.assertEqual((text, err), self.rowscan("help", command))
            self.assertEqual((text, err), self.rowscan(command, "-h"))
            self.assertLessEqual(max(map(len, text.splitlines())), 110)

    def test_help_has_all_words(self):
        """Operators are more than a column has room for."""
        err = self.fails(2, ["--op", "--help"], "scan", "in.npy", "out.npy", "--op=no")
        words = err.split("\n")[0].split(" is not one of ")[1]
        self.assertIn("linear_recurrence, logsumexp, ", words)
        for command in ["scan", "compile", "source", "bench"]:
            lines = re.sub(r"\|\n +", "|", self.rowscan(command, "--help")[0]).splitlines()
            at = lines.index("      --op " + words.replace(", ", "|"))
            self.assertEqual(lines[at + 1], " " * 35 + "the operator (sum)")
        self.assertIn("\n      --mask-mode select|multiply ", self.rowscan("scan", "--help")[0])
        self.usage("scan", "in.npy", "out.npy", "--mask-mode=no", words=["'no' is not one of select, multiply\n"])

    def test_help_explains_kernels(self):
        """Every name that the table of `rowscan compile` may have, by the source that names them; and every regime."""
        with open(os.path.join(TESTS, "..", "src", "family", "tune.c")) as file:
            names = re.findall(r'"rowscan_(\w+)",', file.read())
        self.assertGreater(len(names), 15)
        words = re.findall(r"\w+", self.rowscan("compile", "--help")[0])
        for name in [*names, "row", "short", "long", "column"]:
            self.assertIn(name, words)

    def test_version(self):
        out, _ = self.rowscan("--version")
        self.assertRegex(out, r"^rowscan \d+\.\d+\.\d+")

    def test_man_page_has_all_options(self):
        page = os.path.join(TESTS, "..", "src", "cli", "rowscan.1")
        with open(page) as file:
            manual = file.read().replace("\\-", "-")
        for command in Completion.COMMANDS:
            for word in self.rowscan(command, "--help")[0].split():
                if word.startswith("--"):
                    self.assertIn(word.rstrip(",:;."), manual, command)

    def test_man_page_is_clean(self):
        """Of mistakes, and of what one formatter shows and another does not; and it begins with what most look for."""
        page = os.path.join(TESTS, "..", "src", "cli", "rowscan.1")
        for tool in [["mandoc", "-T", "lint", page], ["groff", "-man", "-ww", "-z", "-T", "utf8", page]]:
            if shutil.which(tool[0]):
                done = subprocess.run(tool, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual((done.returncode, done.stdout), (0, ""), tool)
        with open(page) as file:
            sections = re.findall(r"^\.SH (.*)", file.read(), re.MULTILINE)
        self.assertEqual(sections[:4], ["NAME", "SYNOPSIS", "EXAMPLES", "DESCRIPTION"])
        self.assertLess(sections.index("SCAN"), sections.index("BENCH"))
        for command in Completion.COMMANDS:
            self.assertIn(command.upper(), " ".join(sections))

    def test_standard_output_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([ROWSCAN, "--help"], stdout=full, stderr=subprocess.PIPE, env=self.env)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)

    def test_log(self):
        self.save("in.npy", np.ones(3))
        for level in ["warning", "info", "debug", ""]:
            self.env["ROWSCAN_LOG"] = level
            self.rowscan("scan", "in.npy", "out.npy")
        self.env["ROWSCAN_LOG"] = "loud"
        self.assertIn("ROWSCAN_LOG: 'loud'", self.rowscan("scan", "in.npy", "out.npy")[1])
        self.env["ROWSCAN_LOG"] = "debug"
        self.assertIn(f"rowscan: debug: the cache is {self.path('cache')}, ", self.rowscan("cache", "path")[1])


# ---- the other subcommands -------------------------------------------------------------------------------------------

COLUMNS = ["arch", "regime", "kernel", "registers", "shared_bytes", "local_bytes", "spill_bytes", "ptx_bytes",
           "cubin_bytes", "ms", "cache"]


class Completion(Case):
    """What shells themselves make of the scripts. A function takes the command's place, and prints its arguments."""
    COMMANDS = ["scan", "compile", "warm", "source", "bench", "tune", "ops", "devices", "cache", "completion"]

    def script(self, shell):
        name = self.path({"zsh": "_rowscan"}.get(shell, f"rowscan.{shell}"))
        with open(name, "w") as file:
            file.write(self.rowscan("completion", shell)[0])
        return name

    def needs(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"no {shell}")
        return shell

    def options(self, command):
        text = self.rowscan(command, "--help")[0]
        return sorted(re.findall(r"^  (?:-\w,|   ) --([\w-]+)", text, re.MULTILINE))

    def typed(self, shell, *lines):
        """What the command is given when the keys of the last line, with tabs, are typed after the other lines."""
        import pty
        mine, theirs = pty.openpty()
        env = {**self.env, "TERM": "dumb", "PS1": "> ", "INPUTRC": "/dev/null", "HOME": self.dir}
        process = subprocess.Popen(shell, cwd=self.dir, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
                                   start_new_session=True)
        os.close(theirs)
        *before, keys = lines

        def type_and_wait(text, wanted):
            told = b""
            os.write(mine, text.encode())
            while not re.search(wanted, told):
                self.assertTrue(select.select([mine], [], [], 120)[0], told)
                told += os.read(mine, 4096)
            return re.search(wanted, told)
        try:
            type_and_wait("".join(line + "\n" for line in [*before, "echo rea''dy"]), b"ready")
            return type_and_wait(keys + "\n", b"GIVEN (.*) END")[1].decode()
        finally:
            process.kill()
            process.wait()
            os.close(mine)

    # Keys, and what the command is given.
    KEYS = [("rowscan dev\t", "devices"), ("rowscan scan --op=lin\t", "scan --op=linear_recurrence"),
            ("rowscan scan --inc\tin\t", "scan --include-initial input.npy"),
            ("rowscan cache ver\t", "cache verify"),
            ("rowscan scan --mask inp\t --op max", "scan --mask input.npy --op max")]

    def test_bash(self):
        self.needs("bash")
        script = self.script("bash")
        self.save("input.npy", np.ones(3))
        setup = ["rowscan() { echo GIVEN $* EN''D; }", f". {script}"]
        for keys, given in self.KEYS:
            self.assertEqual(self.typed(["bash", "--norc", "-i"], *setup, keys), given)
        # All words of a position, asked of the function as Bash asks it.
        def offered(*words):
            asks = f'. {script}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _rowscan; echo "${{COMPREPLY[@]}}"'
            done = subprocess.run(["bash", "-uc", asks, "bash", *words], stdout=subprocess.PIPE, text=True, env=self.env,
                                  check=True)
            return done.stdout.split()
        self.assertEqual(offered("rowscan", ""), ["help", "--help", "--version", *self.COMMANDS])
        self.assertEqual(offered("rowscan", "help", "c"), ["compile", "cache", "completion"])
        for command in self.COMMANDS:
            self.assertEqual(sorted(offered("rowscan", command, "--")), ["--" + name for name in self.options(command)])
        self.assertEqual(offered("rowscan", "scan", "--mask-mode", "="), ["select", "multiply"])
        self.assertEqual(offered("rowscan", "scan", "--mask-mode", "=", "m"), ["multiply"])
        self.assertEqual(offered("rowscan", "bench", "--suite", ""), ["quick", "full", "growth", "random"])
        self.assertEqual(offered("rowscan", "warm", "-j", ""), [])
        self.assertEqual(offered("rowscan", "cache", "--json", "p"), ["path", "prune"])
        self.assertEqual(offered("rowscan", "cache", "export", ""), [])

    def test_bash_finds_it(self):
        """bash-completion loads the script of a command from where it is installed."""
        loader = "/usr/share/bash-completion/bash_completion"
        if not os.path.exists(loader):
            self.skipTest("no bash-completion")
        folder = self.path("share/bash-completion/completions")
        os.makedirs(folder)
        shutil.copy(self.script("bash"), os.path.join(folder, "rowscan"))
        self.env["XDG_DATA_DIRS"] = self.path("share")
        setup = [f". {loader}", "rowscan() { echo GIVEN $* EN''D; }"]
        self.assertEqual(self.typed(["bash", "--norc", "-i"], *setup, "rowscan scan --tie\t"), "scan --ties-first")

    def test_zsh(self):
        self.needs("zsh")
        script = self.script("zsh")
        self.save("input.npy", np.ones(3))
        begin = ["unsetopt zle_bracketed_paste 2>/dev/null", f"fpath=({self.dir} $fpath)", "autoload -Uz compinit",
                 "compinit -u -D", "rowscan() { echo GIVEN $* EN''D; }"]
        for keys, given in self.KEYS:
            self.assertEqual(self.typed(["zsh", "-f", "-i"], *begin, keys).split(), given.split())
        self.assertEqual(self.typed(["zsh", "-f", "-i"], *begin, f". {script}", self.KEYS[0][0]), "devices")
        for option in self.options("compile"):
            with open(script) as file:
                self.assertIn(f"--{option}", re.search(r"_rowscan_compile\(\) \{(.*?)\n\}", file.read(), re.DOTALL)[1])

    def test_fish(self):
        self.needs("fish")
        script = self.script("fish")
        self.save("input.npy", np.ones(3))
        self.env["HOME"] = self.dir

        def offered(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=self.dir,
                                  env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
            self.assertEqual(done.stderr, "")
            return [text.split("\t")[0] for text in done.stdout.splitlines()]
        self.assertEqual(sorted(offered("rowscan ")), sorted([*self.COMMANDS, "help"]))
        for command in self.COMMANDS:
            self.assertEqual(sorted(offered(f"rowscan {command} --")), ["--" + name for name in self.options(command)])
        self.assertEqual(offered("rowscan scan --op=lin"), ["--op=linear_recurrence"])
        self.assertEqual(offered("rowscan scan --mask in"), ["input.npy"])
        self.assertEqual(sorted(offered("rowscan cache p")), ["path", "prune"])
        self.assertEqual(offered("rowscan bench --size "), ["large", "small"])
        self.assertEqual(offered("rowscan help war"), ["warm"])

    def test_usage(self):
        for args in [(), ("tcsh",), ("bash", "zsh"), ("--json", "bash")]:
            self.fails(2, ["completion"], "completion", *args)


class Compile(Case):
    def setUp(self):
        super().setUp()
        self.needs_compiler()

    def compile(self, *args):
        out, err = self.rowscan("compile", *args)
        self.assertEqual(err, "")
        return out

    def test_table(self):
        lines = self.compile("--arch", "sm_90", "--length", "1000").splitlines()
        self.assertGreaterEqual(len(lines), 2)
        self.assertEqual(lines[0].split()[:3], ["arch", "regime", "kernel"])
        for line in lines[1:]:
            self.assertRegex(line, r"^sm_90 +(row|short|long|column) +[a-z_]+ .* (hit|miss)$")

    def test_json_and_cache(self):
        args = ["--arch", "sm_80,sm_90", "--length", "4096", "--json"]
        first, second = json.loads(self.compile(*args)), json.loads(self.compile(*args))
        self.assertEqual({row["arch"] for row in first}, {"sm_80", "sm_90"})
        for row in first + second:
            self.assertEqual(list(row), COLUMNS)
            self.assertEqual(row["spill_bytes"], 0)
            self.assertGreater(row["registers"], 0)
        self.assertEqual({row["cache"] for row in first}, {"miss"})
        self.assertEqual({row["cache"] for row in second}, {"hit"})
        strip = lambda rows: [{k: v for k, v in row.items() if k not in ("ms", "cache")} for row in rows]
        self.assertEqual(strip(first), strip(second))

    def test_tuned_for_another(self):
        """Other kernels, where the architecture holds the other's; what names none is told."""
        def tuned(name, arch):
            self.env["ROWSCAN_TUNE"] = name
            out, err = self.rowscan("compile", "--arch", arch, "--regime", "long", "--length", "100000", "--json")
            return {row["cache"] for row in json.loads(out)}, err
        self.assertEqual(tuned("", "sm_80"), ({"miss"}, ""))
        for name in ("sm_80", "sm_90", "sm_120"):
            self.assertEqual(tuned(name, "sm_80"), ({"hit"}, ""), name)
        self.assertIn("miss", tuned("sm_75", "sm_80")[0])
        for name in ("sm_70", "86"):
            cached, err = tuned(name, "sm_80")
            self.assertEqual((cached, err), ({"hit"}, "rowscan: compile: ROWSCAN_TUNE: '%s' is not an architecture of "
                                             "sm_75 or later\n" % name))

    def test_files(self):
        rows = json.loads(self.compile("--arch", "sm_80,sm_90", "--length", "777", "--type", "i8", "--out-type", "i32",
                                       "--reverse", "--mask-type", "u8", "--json", "-o", "made"))
        names = sorted(os.listdir(self.path("made")))
        self.assertEqual(len(names), 3 * len(rows))
        for row in rows:
            stem = f"made/{row['arch']}-{row['regime']}-{row['kernel']}-sum-i8-777-to-i32-reverse-select-u8"
            self.assertEqual(os.path.getsize(self.path(stem + ".ptx")), row["ptx_bytes"])
            self.assertEqual(os.path.getsize(self.path(stem + ".cubin")), row["cubin_bytes"])
            with open(self.path(stem + ".cubin"), "rb") as file:
                self.assertEqual(file.read(4), b"\x7fELF")
            with open(self.path(stem + ".ptx")) as file:
                self.assertIn(f".target {row['arch']}", file.read())
            with open(self.path(stem + ".cu")) as file:
                self.assertIn(f" rowscan_{row['kernel']}(", file.read())

    def test_names_of_files(self):
        """What differs in one field has files of its own."""
        for n, more in enumerate([[], ["--row-rank=3"], ["--layout=columns"], ["--op=prod"], ["--acc=f64"]], 1):
            rows = json.loads(self.compile("--arch", "sm_80", "--length", "3", "--regime=" +
                                           ("column" if "columns" in "".join(more) else "short"), "--json",
                                           "-o", f"made{n}", *more))
            for name in os.listdir(self.path(f"made{n}")):
                self.assertFalse(os.path.exists(self.path("all/" + name)), name)
            shutil.copytree(self.path(f"made{n}"), self.path("all"), dirs_exist_ok=True)
            self.assertEqual(len(os.listdir(self.path(f"made{n}"))), 3 * len(rows))

    def test_segments(self):
        """Of a spec, segments are a field like others."""
        for more, text in [(["--mask-mode=heads"], "heads-bool"), (["--mask-mode=tails", "--mask-type=u8"], "tails-u8"),
                           (["--mask-mode=keys"], "keys-i32"), (["--mask-mode=keys", "--mask-type=u64"], "keys-u64")]:
            rows = json.loads(self.compile("--arch", "sm_80", "--length", "300", "--regime=row", "--json", "-o", "made",
                                           *more))
            for row in rows:
                self.assertTrue(os.path.exists(self.path(f"made/sm_80-row-{row['kernel']}-sum-f32-300-{text}.ptx")))
        _, err = self.rowscan("compile", "--arch", "sm_80", "--length", "300", "--mask-mode=keys", "--mask-type=f32",
                              status=1)
        self.assertIn("field 'mask_type': keys must be integers or bool, not f32", err)

    def test_directory_that_cannot_be(self):
        self.save("file.npy", np.ones(1))
        self.rowscan("compile", "--arch", "sm_90", "--length", "10", "-o", "file.npy", status=1)
        self.rowscan("compile", "--arch", "sm_90", "--length", "10", "-o", "no/such", status=1)

    @unittest.skipIf(QUICK, "RS_QUICK")
    def test_all(self):
        rows = json.loads(self.compile("--arch", "all", "--length", "100", "--json"))
        self.assertGreater(len({row["arch"] for row in rows}), 3)

    def test_errors(self):
        out, err = self.rowscan("compile", "--arch", "sm_90", "--length", "10", "--out-type", "i32", status=1)
        self.assertIn("i32", err)
        out, err = self.rowscan("compile", "--arch", "sm_99,sm_90", "--length", "10", "--json", status=1)
        self.assertIn("rowscan: compile: sm_99: ", err)
        self.assertEqual({row["arch"] for row in json.loads(out)}, {"sm_90"})


class Warm(Case):
    """Compiles take NVRTC long: there are few."""
    def list(self, text):
        with open(self.path("list.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        return "list.txt"

    def warm(self, text, *args, status=0):
        out, err = self.rowscan("warm", "--json", "--arch", "sm_80", *args, self.list(text), status=status)
        return json.loads(out), err

    def test_general_is_a_list(self):
        """What is missing, of the architecture whose kernels serve the one that is named."""
        self.env["ROWSCAN_CACHE"] = "only"
        out, _ = self.rowscan("warm", "--json", "--general", "--arch", "sm_86", status=1)
        told = json.loads(out)
        self.assertEqual((told["specs"], told["failed"]), (56, 56))
        errors = {failure["error"] for failure in told["failures"]}
        self.assertEqual(len(errors), 56)
        for error in errors:
            self.assertRegex(error, "sm_80, kernel .*length=any")
        self.fails(2, ["extra operand 'list.txt': --general replaces the list"],
                   "warm", "--general", "--arch=sm_80", "list.txt")

    def test_fills_the_cache(self):
        self.needs_compiler()
        text = "\ufeff# scans\n\n  length=7 in=i32 # short\r\nop=prod in=i32 length=7\n#length=8\nlength=7 in=i32"
        told, err = self.warm(text)
        self.assertEqual(err, "")
        seconds = told.pop("seconds")
        self.assertGreater(seconds, 0)
        kernels = told["kernels"]
        self.assertGreaterEqual(kernels, 3)
        self.assertEqual(told, {"specs": 3, "archs": ["sm_80"], "failures": [], "kernels": kernels,
                                "compiled": kernels * 2 // 3, "failed": 0, "error": None})
        self.env["ROWSCAN_CACHE"] = "only"
        out, _ = self.rowscan("compile", "--arch", "sm_80", "--length", "7", "--type", "i32", "--op", "prod")
        self.assertIn(" hit", out)
        out, _ = self.rowscan("warm", "--arch=sm_80", "list.txt")
        self.assertRegex(out, rf"^specs 3, architectures 1, kernels {kernels}: 0 compiled, {kernels} found in the "
                              r"cache; 0 failed; \d\.\d s\n$")

    def test_names_given_twice(self):
        self.env["ROWSCAN_CACHE"] = "only"
        out, _ = self.rowscan("warm", "--json", "--arch=sm_80,sm_75,sm_80", self.list("length=7"), status=1)
        self.assertEqual(json.loads(out)["archs"], ["sm_80", "sm_75"])
        self.fails(2, ["FILE: '' is not the name of a file"], "warm", "--arch=sm_80", "")

    def test_standard_input(self):
        self.env["ROWSCAN_CACHE"] = "only"
        with open(self.path(self.list("length=7\nlenght=8"))) as file:
            done = subprocess.run([ROWSCAN, "warm", "--arch=sm_80", "-"], cwd=self.dir, env=self.env, stdin=file,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard input:2: spec: field 'lenght'", done.stderr)

    def test_limit(self):
        """For programs that give their cache more, or less."""
        self.needs_compiler()
        text = "".join(f"length={n} in=i32\n" for n in range(7, 10))
        self.rowscan("warm", "--limit=0", "--arch=sm_80", self.list(text), status=2)
        told, err = self.warm(text, "--limit=150000", status=1)
        self.assertRegex(err, r"^rowscan: warm: \d of \d+ entries were evicted again: "
                              r"the cache \(.*\) keeps at most 150000 ")
        self.assertEqual((told["failed"], told["failures"]), (0, []))
        self.assertEqual(err, f"rowscan: warm: {told['error']}\n")
        told, err = self.warm("length=7", "--limit=1000", status=1)
        self.assertRegex(err, r"is not kept: \d+ bytes are too many for a cache of at most 1000\n")
        self.assertRegex(told["failures"][0]["error"], r"^kernel [a-z_]+: compiled, but the cache \(.*\) did not ")
        told, err = self.warm(text, "--limit=1500000")
        self.assertEqual(err, "")
        self.assertGreater(told["compiled"], 0)

    def test_what_is_missing(self):
        """No compile: every failure has its line, and standard error has the first of many."""
        self.needs_compiler()
        self.env["ROWSCAN_CACHE"] = "only"
        told, err = self.warm("".join(f"length={n}\n" for n in range(30)), "-j", "3", status=1)
        self.assertEqual((told["failed"], told["kernels"], told["compiled"]), (30, 0, 0))
        self.assertEqual(sorted(one["line"] for one in told["failures"]), list(range(1, 31)))
        for one in told["failures"]:
            self.assertEqual(one["arch"], "sm_80")
            self.assertIn(f" length={one['line'] - 1} ", one["error"])
        self.assertEqual(len(err.splitlines()), 21)
        self.assertRegex(err, r"^rowscan: warm: list.txt:\d+: sm_80: the kernel is not in the cache ")
        self.assertTrue(err.endswith("rowscan: warm: and 10 more failed\n"), err)
        # What the message shows of the spec is a line for the list.
        line = re.split(r"disables compilation: sm_80, kernel [a-z_]+: ", err.splitlines()[0])[1]
        self.assertEqual(self.warm(line, status=1)[0]["failures"][0]["line"], 1)

    def test_more_jobs_than_there_is_work(self):
        self.env["ROWSCAN_CACHE"] = "only"
        for jobs in 100000, 2**31 - 1:
            told, err = self.warm("length=7\nlength=8", f"--jobs={jobs}", status=1)
            self.assertEqual(told["failed"], 2, err)

    def test_bad_lists(self):
        for text, words in [("length=5\n# ok\nlength=5 in=f99\n", [":3: ", "'in'", "'f99'"]),
                            ("in=f32", [":1: ", "'length'", "missing"]),
                            ("length=5\nlength=5 size=5", [":2: ", "'size'"]),
                            ("length=5 in=f16 out=i32", [":1: ", "'out'", "i32"]),
                            ("\ufefflength=5\n\ufefflength=6", [":2: "]), ("\ufeff", ["no spec"]),
                            ("length=5\0", [":1: ", "is not text"]),
                            ("length=5\n" + 5000 * " ", [":2: ", "the line exceeds 4096 bytes"]),
                            ("# nothing\n\n", ["no spec"]), ("", ["no spec"])]:
            with self.subTest(text=text):
                self.list(text)
                self.fails(1, ["rowscan: warm: list.txt:", *words], "warm", "--arch", "sm_80", "list.txt")
        self.fails(1, ["no.txt: cannot be opened"], "warm", "--arch", "sm_80", "no.txt")
        self.fails(1, [".: cannot be read"], "warm", "--arch", "sm_80", ".")

    def test_no_cache(self):
        self.needs_compiler()
        self.env["ROWSCAN_CACHE"] = "off"
        self.list("length=5")
        out, err = self.rowscan("warm", "--arch", "sm_80", "list.txt", status=1)
        self.assertIn(" kernels 0: 0 compiled, ", out)
        self.assertRegex(err, r"list.txt:1: sm_80: the kernel is not in the cache \(turned off by ROWSCAN_CACHE=off\): "
                              ".* length=5 .*, and there is no cache on disk to fill\n")

    def test_progress_bar(self):
        """On a terminal, and after a second: the command is made to sleep that long after its first compile."""
        import pty
        self.needs_compiler()
        self.list("".join(f"length={n}\n" for n in range(1, 4)))
        mine, theirs = pty.openpty()
        process = subprocess.Popen([ROWSCAN, "warm", "--arch=sm_80", "-j1", "list.txt"], cwd=self.dir, env=self.env,
                                   stdout=subprocess.PIPE, stderr=theirs)
        while process.poll() is None and not glob.glob(self.path("cache/??/*")):
            time.sleep(0.001)
        self.hold_up(process)
        os.close(theirs)
        told = read_all(mine)
        os.close(mine)
        if not told:
            self.skipTest("was not caught in the right moment")
        self.assertRegex(told, rb"^\r\[=+>? *\] [123] of 3, \d+ s left \x1b\[K")
        self.assertTrue(told.endswith(b"\r\x1b[K"), told)


class Tune(Case):
    """Times of the simulated GPU are noise: which kernels it finds to be fast decides nothing here."""

    SCAN = "in=f32 length=70 rows=30"
    SPEC = "op=sum in=f32 out=f32 acc=f32 mask=none reverse=0 exclusive=0 length=70 layout=rows row_rank=1"
    SIZED = f"{SPEC}; rows=30 columns=1; "

    def on_the_gpu(self):
        simt = os.environ.get("RS_SIMT", "")
        if not os.path.exists(os.path.join(simt, "libcuda.so.1")):
            self.skipTest("there is no simulated GPU (RS_SIMT)")
        self.search_first(simt)
        self.env.update(ROWSCAN_NVRTC=os.path.join(simt, "libnvrtc.so.13"), ROWSCAN_COMPILE="now")
        self.env.setdefault("SIMT_CACHE_DIR", self.path("simt-cache"))

    def listing(self):
        return {name: facts for name, facts in super().listing().items() if not name.startswith("simt-cache")}

    def tables(self):
        return glob.glob(self.path("cache/tuning-*"))

    def table(self):
        """The file beside the cache: its name, head and lines."""
        tables = self.tables()
        self.assertEqual(len(tables), 1)
        with open(tables[0]) as file:
            lines = file.read().splitlines(keepends=True)
        self.assertRegex("".join(lines[:2]), r"\A# rowscan \S+: .*\n# simulated GPU, sm_90, \d+ multiprocessors\n\Z")
        self.assertEqual([line for line in lines if not line.endswith("\n")], [])
        return tables[0], lines[:2], lines[2:]

    def write(self, lines):
        name, head, _ = self.table()
        with open(name, "w") as file:
            file.writelines([*head, *lines])

    def bench(self, *args, shapes="30 x 70"):
        """(regime, geometry) of each scan that is timed, none of which is wrong."""
        self.rowscan("bench", "--engine=cuda", "--repeat=1", "--filter=inclusive", "--csv=bench.csv", "--shapes",
                     shapes, *args)
        with open(self.path("bench.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["wrong"] for row in rows}, {"0"})
        return [(row["regime"], row["geometry"]) for row in rows]

    KERNELS = "any", "neighbours", "dense", "aligned", "aligned_slow", "few", "long_any", "long_dense", "long_aligned"

    def named(self, choice, sized=SIZED):
        """Lines of a kernel as bench shows it, one for each place in a plan; nearly all are of no contender."""
        return [f"{sized}{choice[0]} {kernel} {choice[1]}; ms=7 before=77\n" for kernel in self.KERNELS]

    def test_usage_errors(self):
        for args, words in [([], ["missing operand: SPEC", "--list", "--suite", "--cache"]),
                            (["--seed=3"], ["--seed: requires --suite random"]),
                            (["--seed=3", self.SCAN], ["--seed: requires --suite random"]),
                            (["--seed=3", "--suite=full"], ["--seed: requires --suite random"]),
                            (["--cells=3", "--cache"], ["--cells: requires --suite random"]),
                            (["--size=small", "--suite=quick"], ["--size: requires --suite random"]),
                            (["--seed=x", "--suite=random"], ["--seed: 'x'"]),
                            (["--rows=-1", self.SCAN], ["--rows: '-1'"]),
                            (["--export=", self.SCAN], ["--export: ''"]),
                            (["--export=-", self.SCAN], ["--export: '-'"]),
                            (["--device=x", self.SCAN], ["--device: 'x'"]),
                            (["--frobnicate", self.SCAN], ["--frobnicate"])]:
            with self.subTest(args=args):
                self.fails(2, [*words, "--help"], "tune", *args)
        self.assertEqual(self.tables(), [])

    def test_no_gpu(self):
        """On the host there is nothing to tune, whatever the scan."""
        self.env["CUDA_VISIBLE_DEVICES"] = ""
        for args in [self.SCAN], ["in=f32 length=70 rows=x"], ["--suite=quick"], ["--cache"], ["--export=t", self.SCAN]:
            err = self.fails(1, ["rowscan: tune: "], "tune", *args)
            self.assertRegex(err, r"CUDA|GPU|libcuda")
        self.assertEqual(self.tables(), [])

    def test_bad_scans(self):
        self.on_the_gpu()
        for scan, words in [("in=f32 length=70 rows=0", ["'rows=0' is not a number of 1 or more"]),
                            ("rows=-3 in=f32 length=70", ["'rows=-3' is not a number of 1 or more"]),
                            ("in=f32 rows=x length=70", ["'rows=x' is not a number of 1 or more"]),
                            ("in=f32 rows= length=70", ["'rows=' is not a number of 1 or more"]),
                            ("in=f32 length=70 rows=30x", ["'rows=30x' is not a number of 1 or more"]),
                            ("in=f32 length=70 rows=3.5", ["'rows=3.5' is not a number of 1 or more"]),
                            ("in=f32 length=70 layout=columns columns=0", ["'columns=0' is not a number of 1 or more"]),
                            ("in=f32 length=70 layout=columns", ["layout=columns requires columns=N"]),
                            ("in=f32 length=70 layout=columns rows=3", ["layout=columns requires columns=N"]),
                            ("in=f32 length=70 columns=3", ["columns=N requires layout=columns"]),
                            ("in=f32 length=70 layout=rows rows=3 columns=1", ["columns=N requires layout=columns"]),
                            ("in=f32 lenght=70 rows=3", ["field 'lenght': unknown"]),
                            ("in=f32 length=70 row=3", ["field 'row': unknown"]),
                            ("in=f32 rows=3", ["field 'length': missing"]), ("", ["field 'length': missing"]),
                            ("in=f32 length=any rows=3", ["field 'length': tuning requires"]),
                            ("in=f32 length=0 rows=3", ["field 'length': tuning requires"])]:
            with self.subTest(scan=scan):
                self.fails(1, [f"rowscan: tune: {scan}: ", *words], "tune", scan)
                self.fails(1, [f"rowscan: tune: {scan}: ", *words], "tune", self.SCAN, scan)
                with open(self.path("list.txt"), "w") as file:
                    file.write(f"# scans\n{self.SCAN}\n{scan}\n")
                if scan:
                    self.fails(1, ["rowscan: tune: list.txt:3: ", *words], "tune", "--list=list.txt")
        self.assertEqual(self.tables(), [], "nothing is measured before all scans are known")
        with open(self.path("list.txt"), "w") as file:
            file.write("# nothing\n")
        self.fails(1, ["there is no scan to measure"], "tune", "--list=list.txt")
        self.fails(1, ["no.txt: cannot be opened"], "tune", "--list=no.txt")
        self.fails(1, ["there is no scan to measure"], "tune", "--cache")

    def test_nowhere_to_write(self):
        self.on_the_gpu()
        _, err = self.rowscan("tune", "--export=no/such/table", self.SCAN, status=1)
        self.assertRegex(err, r"^rowscan: tune: no/such/table: .*No such file or directory\n$")
        self.env["ROWSCAN_CACHE"] = "off"
        err = self.fails(1, ["rowscan: tune: the tuning table tuning-"], "tune", self.SCAN)
        self.assertIn("cannot be kept: there is no cache on disk: turned off by ROWSCAN_CACHE=off\n", err)
        self.assertEqual(self.tables(), [])

    def test_tune(self):
        """What was measured is what serves from then on, and is measured anew."""
        self.on_the_gpu()
        out, err = self.rowscan("tune", self.SCAN, f"op=sum rows=30\t{self.SCAN.replace(' rows=30', '')}")
        self.assertEqual(err, "")
        name, _, lines = self.table()
        told = out.splitlines()
        self.assertEqual(len(told), 2, "the same scan is measured once")
        self.assertRegex(told[0], rf"^{self.SPEC} rows=30: [0-9.e-]+ ms, (was|the fastest of \d+ kernels already)")
        self.assertRegex(told[1], rf"^{len(lines)} of 1 scans are faster now(, .* times)?: {re.escape(name)}$")
        self.assertEqual(os.stat(name).st_mode & 0o777, 0o600)
        if lines:
            shape = re.fullmatch(re.escape(self.SIZED) + r"(\S+) \S+ (.*); ms=[0-9.e-]+ before=[0-9.e-]+\n", lines[0])
            self.assertTrue(shape, lines)
            self.assertTrue(told[0].endswith(f" times as fast): {shape[2]}"), told)
            self.assertEqual(self.bench(), [shape.groups()])

        others = [line.replace("length=70", "length=71") for line in self.named(("short", "rows threads=128"))]
        others += self.named(("short", "rows threads=128"), self.SIZED.replace("rows=30 ", "rows=3 "))
        self.write(others + self.named(("row", "rows threads=1")))
        out, _ = self.rowscan("tune", self.SCAN)
        _, _, lines = self.table()
        own = lines[:len(lines) - len(others)]  # the last that was measured comes first
        self.assertEqual(lines[len(own):], others)
        self.assertLessEqual(len(own), 1)
        self.assertEqual([line for line in own if not line.startswith(self.SIZED) or "ms=7 " in line], [])
        self.assertTrue(out.splitlines()[-1].startswith(f"{len(own)} of 1 scans"), out)

    def test_export(self):
        self.on_the_gpu()
        out, _ = self.rowscan("tune", "--export=table.txt", self.SCAN)
        self.assertTrue(out.endswith(": table.txt\n"), out)
        self.assertEqual(self.tables(), [])
        with open(self.path("table.txt")) as file:
            text = file.read()
        self.assertTrue(text.startswith("# rowscan "))
        self.assertIn(text.count("\n"), (2, 3))
        self.assertEqual(text.count(self.SIZED), text.count("\n") - 2)

    def test_table_decides(self):
        """A table by hand: each kernel that it names serves rows of about that number, with the same bits."""
        self.on_the_gpu()
        self.rowscan("tune", "in=f32 length=3 rows=2")
        self.write([])
        shapes = "30 x 70|37 x 70|23 x 70|38 x 70|22 x 70|30 x 71|30 x 70 padded|30 x 70 transposed|30 x 70 f64"
        usual = self.bench(shapes=shapes)
        x = self.save("in.npy", self.random.standard_normal((30, 70)).astype("f4"))
        self.rowscan("scan", "--engine=cuda", x, "usual.npy")
        others = {}
        for choice in self.bench("--all-candidates"):
            others.setdefault((choice[0], choice[1].split()[0]), choice)  # of each regime and template
        others = [choice for choice in others.values() if choice not in usual[:3]]
        self.assertGreater(len(others), 2)
        for choice in others:
            with self.subTest(choice=choice):
                self.write(self.named(choice))
                self.assertEqual(self.bench(shapes=shapes), 3 * [choice] + usual[3:])
                self.rowscan("scan", "--engine=cuda", x, "tuned.npy")
                self.same_bits(np.load(self.path("usual.npy")), np.load(self.path("tuned.npy")))
        name, head, _ = self.table()
        of_80 = head[1].replace("sm_90", "sm_80")
        for other in [head[0].replace("rowscan ", "rowscan 1"), head[1]], [head[0], of_80]:
            with open(name, "w") as file:
                file.writelines(other + self.named(others[0]))
            self.assertEqual(self.bench(), usual[:1])
        self.env["ROWSCAN_LOG"] = "info"
        self.assertIn(f"{name} is not used: another version", self.rowscan("scan", "--engine=cuda", x, "y.npy")[1])
        for text in "", "\n", "".join(head)[:-1], "".join(head) + 1000 * "x", "\0" + "".join(head):
            with open(name, "w") as file:
                file.write(text)
            self.assertEqual(self.bench(), usual[:1])


class Source(Case):
    def test_source(self):
        out, err = self.rowscan("source", "--length", "1000", "--exclusive")
        self.assertEqual(err, "")
        self.assertEqual(out, self.rowscan("source", "--length", "1000", "--exclusive", "--arch=sm_90,sm_80")[0])
        self.assertIn("sum", out)
        kernels = re.findall(r"^// rowscan, ([a-z_]+), regime short: ", out, re.M)
        self.assertEqual(kernels, re.findall(r" rowscan_([a-z_]+)\(", out))
        self.assertEqual(len(kernels), len(set(kernels)))
        self.assertGreater(len(kernels), 1)
        self.assertNotEqual(out, self.rowscan("source", "--length", "1000", "--op", "prod", "--exclusive")[0])

    def test_source_of_any_length(self):
        for layout in ["rows", "columns"]:
            out, err = self.rowscan("source", "--length", "any", "--layout", layout)
            self.assertEqual(err, "")
            kernels = len(re.findall(r"^// rowscan, [a-z_]+, regime [a-z]+: .* of any length, ", out, re.M))
            self.assertGreater(kernels, 0)
            self.assertEqual(kernels, out.count("length = RS_ANY_LENGTH, most = "))
            self.assertEqual(kernels, out.count("(RS_PARAMETER(AnyRows<"))

    def test_errors(self):
        self.fails(1, ["rowscan: source: ", "i32"], "source", "--length", "10", "--out-type", "i32")


class Cache(Case):
    def fill(self):
        self.needs_compiler()
        self.rowscan("compile", "--arch", "sm_90", "--length", "100")

    def entries(self):
        return json.loads(self.rowscan("cache", "list", "--json")[0])

    def test_no_other_cache_is_taken_for_it(self):
        """Where $ROWSCAN_CACHE_DIR can't be used, there is none: that of the home is another one."""
        home = self.path("home")
        os.mkdir(home)
        self.env["HOME"] = home
        self.env.pop("XDG_CACHE_HOME", None)
        with open(self.path("cache"), "w") as file:
            file.write("no directory")
        with open(self.path("list.txt"), "w") as file:
            file.write("length=7\n")
        for command in (("cache", "clear"), ("cache", "prune"), ("cache", "import", "no.pack"), ("cache", "list"),
                        ("cache", "verify"), ("cache", "export", "x.pack"), ("warm", "--arch=sm_80", "list.txt")):
            _, err = self.rowscan(*command, status=1)
            self.assertRegex(err, f"(no cache on disk: |not in the cache .){self.path('cache')}: Not a directory")
        self.rowscan("cache", "path", status=1)
        out, err = self.rowscan("cache", "info")
        self.assertIn(f"There is no cache on disk: {self.path('cache')}: Not a directory\n", out)
        self.assertIn(f"nothing is kept on disk: {self.path('cache')}: Not a directory\n", err)
        self.assertEqual(os.listdir(home), [])

    def test_the_host_needs_none(self):
        """What compiles nothing makes no directory, and warns of none that can't be made."""
        self.save("in.npy", np.ones(3))
        for place in "cache", "in.npy/below":
            self.env["ROWSCAN_CACHE_DIR"] = self.path(place)
            for command in (("scan", "--engine=host", "in.npy", "out.npy"), ("source", "--length=5"),
                            ("bench", "--engine=host", "--shapes", "2 x 3 f32", "--repeat=1")):
                self.assertNotIn("disk", self.rowscan(*command)[1])
        self.assertEqual(sorted(os.listdir(self.dir)), ["in.npy", "out.npy"])

    def test_words_have_any_case(self):
        for word in "OFF", "Off":
            self.env["ROWSCAN_CACHE"] = word
            self.assertIn("turned off by ROWSCAN_CACHE=off", self.rowscan("cache", "info")[0])
        self.env["ROWSCAN_CACHE"] = "ON"
        self.env["ROWSCAN_CACHE_PACKS"] = "OFF"
        self.assertEqual(self.rowscan("cache", "info")[1], "")

    def test_want_of_descriptors_is_no_damage(self):
        self.fill()
        entries = len(self.entries())
        self.env["ROWSCAN_CACHE_DIR"] = self.path("cache")
        self.rowscan("cache", "export", "x.pack")
        told = set()
        for number in range(3, 24):
            limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
            for command in "export y.pack", "verify":
                done = subprocess.run([ROWSCAN, "cache", "--json", *command.split()], cwd=self.dir, env=self.env,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
                told.add(done.returncode)
                if command == "verify" and done.stdout and done.returncode in (0, 1):
                    self.assertEqual(json.loads(done.stdout)["damaged"], [])
                if done.returncode == 0:
                    self.assertEqual(json.loads(done.stdout)["entries"], entries)
        self.assertLessEqual({0, 1}, told)
        with open(self.path("x.pack"), "rb") as one, open(self.path("y.pack"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_path(self):
        self.assertEqual(self.rowscan("cache", "path")[0], self.path("cache") + "\n")
        self.assertEqual(json.loads(self.rowscan("cache", "path", "--json")[0]), {"path": self.path("cache")})

    def test_off(self):
        self.env["ROWSCAN_CACHE"] = "off"
        for command in ("path", "list", "verify", "prune", "clear", "export x.pack", "import x.pack"):
            self.fails(1, ["rowscan: cache: there is no cache on disk: turned off by ROWSCAN_CACHE=off"],
                       "cache", *command.split())
        self.assertIsNone(json.loads(self.rowscan("cache", "info", "--json")[0])["path"])

    def test_warnings(self):
        """What a library only logs; who asks for the log has it there, and once."""
        self.env["ROWSCAN_CACHE"] = "onyl"
        words = "ROWSCAN_CACHE: 'onyl' is not one of on, off, only\n"
        self.assertEqual(self.rowscan("cache", "info")[1], "rowscan: cache: " + words)
        self.env["ROWSCAN_LOG"] = "warning"
        self.assertEqual(self.rowscan("cache", "info")[1], "rowscan: warning: " + words)
        self.env["ROWSCAN_LOG"] = "DEBUG"
        self.assertIn("rowscan: warning: " + words + "rowscan: debug: ", self.rowscan("cache", "info")[1])
        self.env["ROWSCAN_LOG"] = "loud"
        self.assertEqual(self.rowscan("cache", "info")[1],
                         "rowscan: warning: ROWSCAN_LOG: 'loud' is not one of warning, info, debug\n"
                         "rowscan: warning: " + words)
        self.env["ROWSCAN_LOG"] = ""
        self.save("in.npy", np.ones(3))
        self.assertEqual(self.rowscan("scan", "--engine=host", "in.npy", "out.npy")[1], "rowscan: scan: " + words)
        self.env["ROWSCAN_CACHE_PACKS"] = self.path("in.npy")
        self.assertIn("in.npy is not used: ", self.rowscan("cache", "info")[1])

    def test_looking_leaves_a_directory_as_it_is(self):
        os.mkdir(self.path("cache"), 0o700)
        self.save("cache/other.npy", np.ones(1))
        for command in "path", "info", "list", "verify":
            self.rowscan("cache", command)
        self.rowscan("cache", "why", "--arch=sm_80", "length=7")
        self.assertEqual(os.listdir(self.path("cache")), ["other.npy"])

    def test_empty(self):
        self.assertEqual(self.entries(), [])
        self.assertEqual(self.rowscan("cache", "list")[0], "")
        self.assertEqual(json.loads(self.rowscan("cache", "info", "--json")[0])["entries"], 0)
        self.assertEqual(self.rowscan("cache", "verify")[0], "0 entries (0 bytes), 0 damaged (0 bytes)\n")
        self.assertEqual(json.loads(self.rowscan("cache", "clear", "--json")[0]), {"removed": 0, "bytes": 0})

    def test_filled(self):
        self.fill()
        entries = self.entries()
        self.assertGreater(len(entries), 0)
        for entry in entries:
            self.assertIsNone(entry["damage"])
            self.assertIn("=", entry["key"])
        info = json.loads(self.rowscan("cache", "info", "--json")[0])
        self.assertEqual(info["entries"], len(entries))
        self.assertEqual(info["bytes"], sum(entry["bytes"] for entry in entries))
        self.assertIn(entries[0]["name"], self.rowscan("cache", "list")[0])
        self.assertIn(str(info["bytes"]), self.rowscan("cache", "info")[0])
        self.rowscan("cache", "verify")
        cleared = json.loads(self.rowscan("cache", "clear", "--json")[0])
        self.assertEqual(cleared, {"removed": info["entries"], "bytes": info["bytes"]})
        self.assertEqual(self.entries(), [])

    def test_damage(self):
        self.fill()
        name = self.entries()[0]["name"]
        path = os.path.join(self.path("cache"), name)
        os.chmod(path, 0o600)
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 1]))
        out, _ = self.rowscan("cache", "verify", status=1)
        self.assertIn(name, out)
        found = json.loads(self.rowscan("cache", "verify", "--json", status=1)[0])
        self.assertEqual([entry["name"] for entry in found["damaged"]], [name])
        self.assertEqual(found["damaged_bytes"], os.path.getsize(path))
        entries = self.entries()
        sizes = [os.path.getsize(os.path.join(self.path("cache"), entry["name"])) for entry in entries]
        self.assertEqual((found["entries"], found["bytes"]), (len(entries), sum(sizes)))
        self.assertEqual(out.splitlines()[-1], f"{len(entries)} entries ({sum(sizes)} bytes), 1 damaged "
                                               f"({os.path.getsize(path)} bytes)")

    def test_counts(self):
        """Of all processes, though each command is one of its own."""
        counts = {"hits": 0, "misses": 0, "compiles": 0, "saved_ms": 0, "evictions": 0, "damaged": 0, "rejected": 0}
        info = lambda: {k: v for k, v in json.loads(self.rowscan("cache", "info", "--json")[0]).items() if k in counts}
        self.assertEqual(info(), counts)
        self.fill()
        made = len(self.entries())
        self.assertGreater(made, 1)
        self.assertEqual(info(), {**counts, "misses": made, "compiles": made})
        self.fill()
        self.fill()
        told = info()
        self.assertGreater(told.pop("saved_ms"), 1)
        self.assertEqual(told.pop("hits"), 2 * made)
        out, _ = self.rowscan("cache", "info")
        self.assertRegex(out, rf"\nhits       {2 * made}, which saved \d+\.\d s\nmisses     {made}\n"
                              rf"compiles   {made}\nevictions  0\n")

    def test_why(self):
        self.fill()
        why = lambda *args: json.loads(self.rowscan("cache", "why", "--json", *args)[0])
        told = why("--arch", "sm_90", "length=100")
        names = {one["kernel"]: one["name"] for one in told}
        self.assertEqual([(one["arch"], one["cache"], one["differences"]) for one in told],
                         [("sm_90", "hit", [])] * len(names))
        self.assertEqual(sorted(names.values()), sorted(entry["name"] for entry in self.entries()))
        self.assertIn("sm_90 short, aligned: hit: ", self.rowscan("cache", "why", "--arch=sm_90", "length=100")[0])
        told = why("--arch", "sm_90,sm_80", "length=101 exclusive=1")
        for one in told:
            self.assertEqual((one["cache"], one["nearest"]), ("miss", names[one["kernel"]]))
        told = [next(one for one in told if (one["arch"], one["kernel"]) == (arch, "any"))
                for arch in ("sm_90", "sm_80")]
        differences = [{one["field"]: (one["asked"], one["found"]) for one in each["differences"]} for each in told]
        self.assertEqual(differences[0]["length"], ("101", "100"))
        self.assertEqual(differences[0]["exclusive"], ("1", "0"))
        self.assertNotIn("arch", differences[0])
        self.assertEqual(differences[1]["arch"], ("sm_80", "sm_90"))
        out, _ = self.rowscan("cache", "why", "--arch=sm_90", "length=101 exclusive=1")
        self.assertRegex(out, r"^sm_90 short, [a-z]+: miss: the nearest entry, [0-9a-f/]+, differs in:\n"
                              r"  exclusive  0, not 1\n  length     100, not 101\n")
        self.fails(1, ["'in'", "'f99'"], "cache", "why", "--arch", "sm_90", "in=f99 length=5")
        # Without NVRTC: that is what differs, and what is there serves all the same, in every mode.
        told = why("--arch", "sm_90", "length=100 exclusive=1")
        self.env["ROWSCAN_NVRTC"] = "/no/such/libnvrtc.so"
        build_id = next(line[6:] for line in self.entries()[0]["key"].splitlines() if line.startswith("nvrtc="))
        without = {"field": "nvrtc", "asked": None, "found": build_id}
        self.assertEqual(why("--arch", "sm_90", "length=100 exclusive=1"),
                         [{**one, "name": None, "differences": one["differences"] + [without]} for one in told])
        for mode in "on", "only":
            self.env["ROWSCAN_CACHE"] = mode
            self.assertEqual(self.rowscan("cache", "why", "--arch=sm_90", "length=100")[0],
                             "".join(f"sm_90 short, {kernel}: hit: {name}\n  nvrtc      {build_id}, not (none)\n"
                                     for kernel, name in names.items()))
            self.assertIn(" hit", self.rowscan("compile", "--arch", "sm_90", "--length", "100")[0])
        self.env["ROWSCAN_CACHE"] = "on"
        self.rowscan("cache", "clear")
        self.assertEqual(self.rowscan("cache", "why", "--arch=sm_90", "length=100")[0],
                         "".join(f"sm_90 short, {kernel}: miss: the cache has no kernel of one scan\n"
                                 for kernel in names))

    def test_numbers_that_do_not_fit(self):
        for option, most in ("--limit", "2^63 - 1"), ("--jobs", "2^31 - 1"):
            self.fails(2, [f"{option}: '99999999999999999999' is not a whole number, 0 to {most}"],
                       "warm", "--arch=sm_80", option, "9" * 20, "list.txt")

    def test_strays(self):
        """What others put among its directories is told, and hides nothing else."""
        self.rowscan("cache", "path")
        os.mkdir(self.path("cache/ab"), 0o700)
        with open(self.path("cache/00"), "w") as file:
            file.write("a file")
        os.symlink("ab", self.path("cache/01"))
        for number, command in enumerate(("info", "list", "verify", "prune", "clear")):
            with open(self.path(f"cache/ab/{number:030x}"), "wb"):
                pass
            out, err = self.rowscan("cache", command, status=1 if command == "verify" else 0)
            self.assertIn(f"{self.path('cache/00')} is not used: Not a directory\n", err)
            self.assertIn(f"{self.path('cache/01')} is not used: a symbolic link\n", err)
            self.assertRegex(out, "entries +1|damaged|removed [05] entries")
        os.mkdir(self.path("cache/02"), 0o770)
        os.chmod(self.path("cache/02"), 0o770)
        self.assertIn("entries    0\n", self.rowscan("cache", "info")[0])
        for command in "list", "verify", "prune", "clear":
            _, err = self.rowscan("cache", command, status=1)
            self.assertIn(f"{self.path('cache/02')} is not used: writable by others\n", err)
            self.assertIn(f"the cache directory {self.path('cache')} cannot be ", err)

    def test_prune(self):
        """The oldest go, and what was left behind; none of it needs a compiler."""
        self.rowscan("cache", "path")
        sizes = {"left": 0, "left_bytes": 0, "removed": 0, "removed_bytes": 0, "swept": 0, "swept_bytes": 0}
        self.assertEqual(json.loads(self.rowscan("cache", "prune", "--json")[0]), sizes)
        os.mkdir(self.path("cache/ab"), 0o700)
        for number in range(8):
            name = self.path(f"cache/ab/{number:030x}")
            with open(name, "wb") as file:
                file.write(bytes(100))
            os.chmod(name, 0o600)
            os.utime(name, (10**9 + number, 10**9 + number))
        for name, when in ("tmp-1-1-1", 10**9), ("tmp-2-2-2", None):
            with open(self.path("cache/ab/" + name), "wb") as file:
                file.write(bytes(7))
            if when:
                os.utime(self.path("cache/ab/" + name), (when, when))
        told = json.loads(self.rowscan("cache", "prune", "--json")[0])
        self.assertEqual(told, {**sizes, "left": 8, "left_bytes": 800, "swept": 1, "swept_bytes": 7})
        out, _ = self.rowscan("cache", "prune", "--limit", "500")
        self.assertEqual(out, "removed 4 entries (400 bytes) and 0 stale temporaries (0 bytes); "
                              "left 4 entries (400 bytes)\n")
        self.assertEqual(sorted(os.listdir(self.path("cache/ab"))), [f"{n:030x}" for n in range(4, 8)] + ["tmp-2-2-2"])
        self.assertIn("damaged", self.rowscan("cache", "list")[0])


    def test_packs(self):
        """From one cache to another, of two specs for two architectures what is asked for."""
        self.needs_compiler()
        for length in "100", "101":
            self.rowscan("compile", "--arch", "sm_90,sm_80", "--length", length, "--type", "i32")
        keys = sorted(entry["key"] for entry in self.entries())
        count_of = lambda *lines: sum(all(line in key.splitlines() for line in lines) for key in keys)
        one = count_of("arch=sm_90", "length=100")
        self.assertGreater(one, 1)
        for args, count, name in [([], len(keys), "all"), (["--arch", "all"], len(keys), "2"),
                                  (["--arch", "sm_80"], count_of("arch=sm_80"), "3"),
                                  (["--spec", "length=101"], count_of("length=101"), "4"),
                                  (["--arch", "sm_90", "--spec", " length=100\tin=i32 "], one, "one")]:
            told = json.loads(self.rowscan("cache", "export", "--json", *args, f"{name}.pack")[0])
            size = os.path.getsize(self.path(told["file"]))
            self.assertEqual((told["entries"], told["bytes"], told["damaged"]), (count, size, 0))
        self.assertEqual(os.listdir(self.dir).count("all.pack"), 1)
        self.fails(1, ["none.pack: not written: no entry for sm_75 with 'length=100' is in the cache ("],
                   "cache", "export", "--arch", "sm_90,sm_75", "--spec", "length=100", "none.pack")
        self.assertFalse(os.path.exists(self.path("none.pack")))
        self.env["ROWSCAN_CACHE_DIR"] = self.path("other")
        sizes = {"entries": one, "added": one, "present": 0, "damaged": 0, "failed": 0}
        told = json.loads(self.rowscan("cache", "import", "--json", "one.pack")[0])
        self.assertEqual(told, {"file": "one.pack", **sizes})
        self.assertEqual(self.rowscan("cache", "import", "all.pack")[0],
                         f"all.pack: {len(keys)} entries: {len(keys) - one} added, {one} in the cache before, "
                         "0 damaged, 0 not kept\n")
        self.assertEqual(sorted(entry["key"] for entry in self.entries()), keys)
        self.env["ROWSCAN_CACHE"] = "only"
        self.assertEqual(self.rowscan("compile", "--arch", "sm_90,sm_80", "--length", "101", "--type", "i32")[0]
                         .count(" hit"), count_of("length=101"))

    def test_lines_of_keys_filter(self):
        """Every one that a key has, so that a field that is added to keys is known to filters."""
        self.fill()
        keys = [entry["key"] for entry in self.entries()]
        for line in {line for key in keys for line in key.splitlines() if " " not in line}:
            told = json.loads(self.rowscan("cache", "export", "--json", "--spec", line, "x.pack")[0])
            self.assertEqual(told["entries"], sum(line in key.splitlines() for key in keys), line)

    def test_packs_without_ptx(self):
        """They serve who has no compiler; who has one and asks for PTX compiles it."""
        self.fill()
        self.rowscan("cache", "export", "all.pack")
        self.rowscan("cache", "export", "--no-ptx", "x.pack")
        size = os.path.getsize(self.path("x.pack"))
        self.assertLess(size, os.path.getsize(self.path("all.pack")))
        self.env.update(ROWSCAN_CACHE_PACKS=self.path("x.pack"), ROWSCAN_CACHE_DIR=self.path("other"))
        compile_it = ["compile", "--json", "--arch", "sm_90", "--length", "100", "-o", "made"]
        nvrtc = self.env.get("ROWSCAN_NVRTC")
        self.env["ROWSCAN_NVRTC"] = "/no/such/libnvrtc.so"
        rows = json.loads(self.rowscan(*compile_it)[0])
        self.assertEqual({(row["cache"], row["ptx_bytes"]) for row in rows}, {("hit", 0)})
        self.assertEqual({name.rpartition(".")[2] for name in os.listdir(self.path("made"))}, {"cu", "cubin"})
        self.env.pop("ROWSCAN_NVRTC")
        if nvrtc:
            self.env["ROWSCAN_NVRTC"] = nvrtc
        rows = json.loads(self.rowscan(*compile_it)[0])
        self.assertTrue(all(row["ptx_bytes"] for row in rows), rows)
        self.assertIn("ptx", {name.rpartition(".")[2] for name in os.listdir(self.path("made"))})
        self.fails(2, ["--no-ptx: only 'cache export'"], "cache", "list", "--no-ptx")

    def test_packs_in_place(self):
        """With no compiler, and nothing in the cache but what a pack has."""
        self.fill()
        made = len(self.entries())
        self.rowscan("cache", "export", "x.pack")
        self.env.update(ROWSCAN_CACHE_PACKS=self.path("x.pack"), ROWSCAN_CACHE_DIR=self.path("other"))
        hit = json.loads(self.rowscan("cache", "why", "--arch=sm_90", "length=100", "--json")[0])[0]
        self.assertEqual((hit["cache"], hit["pack"]), ("hit", self.path("x.pack")))
        self.assertIn(f" in pack {self.path('x.pack')}\n",
                      self.rowscan("cache", "why", "--arch=sm_90", "length=100")[0])
        self.env["ROWSCAN_NVRTC"] = "/no/such/libnvrtc.so"
        compile_it = ["compile", "--arch", "sm_90", "--length"]
        self.assertIn(" hit", self.rowscan(*compile_it, "100")[0])
        self.assertIn("/no/such/libnvrtc.so", self.rowscan(*compile_it, "101", status=1)[1])
        info = json.loads(self.rowscan("cache", "info", "--json")[0])
        self.assertEqual((info["packs"], info["pack_entries"], info["entries"]), (1, made, 0))
        self.assertIn(f"packs      1 with {made} entries\n", self.rowscan("cache", "info")[0])
        os.chmod(self.path("x.pack"), 0o666)
        self.env["ROWSCAN_LOG"] = "warning"
        self.assertIn("x.pack is not used: writable by others", self.rowscan(*compile_it, "100", status=1)[1])

    def test_packs_alone(self):
        """Where nothing can be written and nothing compiled: what a script asks for that starts a server."""
        self.fill()
        self.rowscan("cache", "export", "x.pack")
        with open(self.path("x.pack"), "rb") as file:
            pack = file.read()
        with open(self.path("list.txt"), "w") as file:
            file.write("length=100\n")
        warm = ["warm", "--arch=sm_90", "list.txt"]
        self.env["ROWSCAN_CACHE_DIR"] = self.path("again")
        self.rowscan(*warm)
        self.rowscan("cache", "export", "again.pack")
        with open(self.path("again.pack"), "rb") as file:
            self.assertEqual(file.read(), pack)  # the same kernels, the same bytes
        self.env.update(ROWSCAN_CACHE_PACKS=self.path("x.pack"), ROWSCAN_CACHE_DIR=self.path("list.txt/below"))
        for mode in "off", "only", "off,only":
            self.env["ROWSCAN_CACHE"] = mode
            out, err = self.rowscan(*warm)
            self.assertRegex(out, r" kernels (\d+): 0 compiled, \1 found in the cache; 0 failed")
            self.assertEqual(err, "")
            self.assertIn(" hit: ", self.rowscan("cache", "why", "--arch=sm_90", "length=100")[0])
            self.rowscan("cache", "export", "y.pack")
            with open(self.path("y.pack"), "rb") as file:
                self.assertEqual(file.read(), pack)
        os.chmod(self.path("x.pack"), 0o660)
        self.assertIn(f" nor in any pack (pack {self.path('x.pack')} is not used: writable by others), and ROWSCAN_",
                      self.rowscan(*warm, status=1)[1])

    def test_bad_packs(self):
        self.rowscan("cache", "path")
        for args, words in [(["export", "x.pack"], ["x.pack: not written", "no entry"]),
                            (["import", "none.pack"], ["none.pack", "no such file"])]:
            self.fails(1, words, "cache", *args)
        for fields, words in [("length", ["'length' is not field=value"]),
                              ("lenght=5", ["'lenght'", " length,"])]:
            self.fails(2, ["cache: --spec: spec: ", *words], "cache", "export", "--spec", fields, "x.pack")
        for name, data, words in [("empty", b"", "truncated"), ("text", b"n" * 100, "not a pack of rowscan")]:
            with open(self.path(name), "wb") as file:
                file.write(data)
            os.chmod(self.path(name), 0o600)
            self.fails(1, [name, words], "cache", "import", name)
        os.chmod(self.path("text"), 0o666)
        self.fails(1, ["text", "writable by others"], "cache", "import", "text")
        self.env["ROWSCAN_CACHE"] = "off"
        self.fails(1, ["no cache on disk"], "cache", "import", "text")
        self.fails(1, ["no cache on disk"], "cache", "export", "text")

    def flip(self, name):
        """A bit of the first entry of a pack."""
        with open(self.path(name), "r+b") as file:
            file.seek(100)
            byte = file.read(1)
            file.seek(100)
            file.write(bytes([byte[0] ^ 4]))

    def test_damaged_pack(self):
        """The sound entries are used, whatever the umask was when it was written."""
        self.fill()
        self.rowscan("compile", "--arch", "sm_90", "--length", "101")
        made = len(self.entries())
        self.rowscan("cache", "export", "x.pack", preexec_fn=lambda: os.umask(0))
        self.assertEqual(os.stat(self.path("x.pack")).st_mode & 0o777, 0o644)
        self.flip("x.pack")
        self.rowscan("cache", "clear")
        self.assertEqual(self.rowscan("cache", "import", "x.pack", status=1)[0],
                         f"x.pack: {made} entries: {made - 1} added, 0 in the cache before, 1 damaged, 0 not kept\n")
        self.rowscan("cache", "verify")

    def packed(self):
        """An empty cache, and a pack of two lengths in use, with a damaged entry: all that there were, and that one."""
        self.fill()
        self.rowscan("compile", "--arch", "sm_90", "--length", "101")
        entries = self.entries()
        self.rowscan("cache", "export", "x.pack")
        self.env.update(ROWSCAN_CACHE_PACKS=self.path("x.pack"), ROWSCAN_CACHE_DIR=self.path("other"))
        self.assertEqual(self.entries(), [])
        sums = [0, 0, 0, 1, len(entries), sum(entry["bytes"] for entry in entries)]
        self.assertEqual(self.verified(), ([], sums + [0]))
        self.flip("x.pack")
        first = min(entries, key=lambda entry: entry["name"])
        self.assertEqual(self.verified(1)[1], sums + [first["bytes"]])
        return entries, first

    def verified(self, status=0):
        told = json.loads(self.rowscan("cache", "verify", "--json", status=status)[0])
        return told["damaged"], [told[key] for key in ("entries", "bytes", "damaged_bytes", "packs", "pack_entries",
                                                       "pack_bytes", "pack_damaged_bytes")]

    def test_verify_packs(self):
        entries, bad = self.packed()
        size = sum(entry["bytes"] for entry in entries)
        packs = (f"{bad['name']} in pack {self.path('x.pack')}: its digest differs\n"
                 "{}" f"1 pack with {len(entries)} entries ({size} bytes), 1 damaged ({bad['bytes']} bytes)\n")
        self.assertEqual(self.rowscan("cache", "verify", status=1)[0],
                         packs.format("0 entries (0 bytes), 0 damaged (0 bytes)\n"))
        damaged = {"name": bad["name"], "bytes": bad["bytes"], "used": 0, "key": None,
                   "damage": "its digest differs", "pack": self.path("x.pack")}
        self.assertEqual(self.verified(1)[0], [damaged])
        self.env["ROWSCAN_CACHE_DIR"] = self.path("cache")
        self.assertEqual(self.rowscan("cache", "verify", status=1)[0],
                         packs.format(f"{len(entries)} entries ({size} bytes), 0 damaged (0 bytes)\n"))
        # Packs are checked where there is no directory. One that is refused as a whole is told, and has no entries.
        with open(self.path("file"), "w"):
            pass
        self.env.update(ROWSCAN_CACHE_DIR=self.path("file"), XDG_CACHE_HOME="", HOME="")
        self.assertEqual(self.verified(1)[0], [damaged])
        os.chmod(self.path("x.pack"), 0o666)
        self.fails(1, ["x.pack is not used: writable by others", "no cache on disk"], "cache", "verify")
        self.env["ROWSCAN_CACHE_DIR"] = self.path("other")
        out, err = self.rowscan("cache", "verify")
        self.assertEqual(out, "0 entries (0 bytes), 0 damaged (0 bytes)\n")
        self.assertIn("x.pack is not used: writable by others", err)

    def test_why_packs(self):
        """Their entries are the nearest, or damaged, as others are."""
        entries, bad = self.packed()
        pack = self.path("x.pack")
        length = next(line for line in bad["key"].splitlines() if line.startswith("length="))
        why = lambda *args: json.loads(self.rowscan("cache", "why", "--arch=sm_90", "--json", *args)[0])
        for mode in {}, {"ROWSCAN_CACHE": "only"}, {"ROWSCAN_CACHE": "on", "ROWSCAN_NVRTC": "/no/such/libnvrtc.so"}:
            self.env.update(mode)
            told = why(length)
            self.assertEqual([(one["cache"], one["pack"]) for one in told if one["name"] != bad["name"]],
                             [("hit", pack)] * (len(told) - 1))
            one = next(one for one in told if one["name"] == bad["name"])
            self.assertEqual((one["cache"], one["damage"], one["pack"], one["nearest"], one["differences"]),
                             ("damaged", "its digest differs", pack, None, []))
            self.assertIn(f"damaged: {bad['name']} in pack {pack}: its digest differs\n",
                          self.rowscan("cache", "why", "--arch=sm_90", length)[0])
            told = why("length=102")
            names = {entry["name"] for entry in entries if entry is not bad}
            for one in told:
                self.assertEqual((one["cache"], one["pack"]), ("miss", pack))
                self.assertIn(one["nearest"], names)
            self.assertRegex(self.rowscan("cache", "why", "--arch=sm_90", "length=102")[0],
                             rf"^sm_90 short, [a-z]+: miss: the nearest entry, [0-9a-f/]+ in pack {pack}, differs in:\n"
                             r"  length     10[01], not 102\n")
        # None is near where the only one is damaged.
        self.env["ROWSCAN_CACHE_DIR"] = self.path("cache")
        kernel = next(line for line in bad["key"].splitlines() if line.startswith("kernel="))
        self.rowscan("cache", "export", "--spec", f"{length} {kernel}", "y.pack")
        self.flip("y.pack")
        self.env.update(ROWSCAN_CACHE_PACKS=self.path("y.pack"), ROWSCAN_CACHE_DIR=self.path("other"))
        self.assertIn(": miss: the cache has no kernel of one scan, nor has any pack a sound one\n",
                      self.rowscan("cache", "why", "--arch=sm_90", "length=102")[0])

    def test_only(self):
        """Nothing is compiled, and what is missing is told as rowscan warm would read it."""
        self.needs_compiler()
        self.env["ROWSCAN_CACHE"] = "only"
        args = ["compile", "--arch", "sm_90", "--length", "100"]
        _, err = self.rowscan(*args, status=1)
        for words in ("sm_90, kernel aligned: op=sum in=f32 out=f32 ", " length=100 ", " row_rank=1\n",
                      "ROWSCAN_CACHE=only disables compilation", self.path("cache")):
            self.assertIn(words, err)
        self.assertEqual(self.entries(), [])
        self.env["ROWSCAN_CACHE"] = "on"
        self.rowscan(*args)
        self.env["ROWSCAN_CACHE"] = "only"
        self.assertIn(" hit", self.rowscan(*args)[0])
        self.env.update(ROWSCAN_CACHE="never", ROWSCAN_LOG="warning")
        self.assertIn("ROWSCAN_CACHE: 'never' is not one of on, off, only", self.rowscan(*args)[1])


class OpFile(Case):
    """--op-file: an operator of one's own, for GPUs."""
    TEXTS = os.path.join(TESTS, "gpu")

    def file(self, line="// rowscan: op=Larger", combine="l > r ? l : r", name="larger.cuh"):
        with open(self.path(name), "w") as file:
            file.write(f"""{line}
template <class A, class K> struct Larger {{
  using Total = A;
  RS_METHOD static A load(A x) {{ return x; }}
  RS_METHOD static A neutral() {{ return 0; }}
  RS_METHOD static A combine(A l, A r) {{ return {combine}; }}
  RS_METHOD static A store(A t) {{ return t; }}
}};
""")
        return name

    def on_the_gpu(self):
        simt = os.environ.get("RS_SIMT", "")
        if not os.path.exists(os.path.join(simt, "libcuda.so.1")):
            self.skipTest("there is no simulated GPU (RS_SIMT)")
        self.search_first(simt)
        self.env.update(ROWSCAN_NVRTC=os.path.join(simt, "libnvrtc.so.13"))
        self.env.setdefault("SIMT_CACHE_DIR", self.path("simt-cache"))

    def scan(self, x, *args):
        np.save(self.path("in.npy"), x)
        self.assertEqual(self.rowscan("scan", "--engine=cuda", *args, "in.npy", "out.npy"), ("", ""))
        return np.load(self.path("out.npy"))

    def test_variance(self):
        self.on_the_gpu()
        x = self.random.random((3, 40), "f4")
        got = self.scan(x, "--op-file", os.path.join(self.TEXTS, "welford.cuh"))
        wanted = [[row[:i + 1].astype("f8").var() for i in range(len(row))] for row in x]
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-7)
        got = self.scan(x.astype("f8"), "--op-file", os.path.join(self.TEXTS, "welford.cuh"))
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-15)

    def test_several_gpus(self):
        self.on_the_gpu()
        self.env.update(SIMT_DEVICES="2")
        x = self.random.random((5, 3001), "f4")
        one = self.scan(x)
        np.testing.assert_array_equal(self.scan(x, "--devices=1,0"), one)
        self.fails(1, ["'device': 2 is not the number of a GPU"], "scan", "--devices=0,2", "in.npy", "out.npy")
        self.fails(1, ["'devices': names GPU 1 twice"], "scan", "--devices=1,1", "in.npy", "out.npy")

    def average(self):
        """An exponential average of x * w, which begins anew where `begins` is not 0, and how far x is from it."""
        with open(self.path("average.cuh"), "w") as file:
            file.write("""// rowscan: op=Average numbers=2 types=floats inputs=3 params=1 outputs=2
template <class A, class K> struct Average {
  struct Total { A factor, term; };
  RS_METHOD static Total load(A x, A w, A begins, A part) { return {begins != 0 ? 0 : 1 - part, part * (x * w)}; }
  RS_METHOD static Total begin(A y) { return {1, y}; }
  RS_METHOD static Total neutral() { return {1, 0}; }
  RS_METHOD static Total combine(Total l, Total r) { return {l.factor * r.factor, r.factor * l.term + r.term}; }
  RS_METHOD static A store(Total t) { return t.term; }
  RS_METHOD static A second(Total t, A x, A, A, A) { return x - t.term; }
};
""")
        return "--op-file=average.cuh"

    def test_several_inputs(self):
        self.on_the_gpu()
        text = self.average()
        x, begins = self.random.standard_normal((3, 500)), self.random.random((3, 500)) < 0.02
        np.save(self.path("begins.npy"), begins)
        scan = [text, "--more1=2", "--more2=begins.npy", "--second=second.npy"]
        for part in (0.25, 0.125):
            got = self.scan(x, *scan, f"--params={part}")
            want, after = np.zeros_like(x), np.zeros(3)
            for i in range(500):
                after = want[:, i] = np.where(begins[:, i], 0, 1 - part) * after + part * (2 * x[:, i])
            np.testing.assert_allclose(got, want, 1e-12, 1e-12)
            np.testing.assert_allclose(np.load(self.path("second.npy")), x - want, 1e-12, 1e-12)
        self.fails(2, ["--more1: not given, but Average has 2 further inputs"], "scan", scan[0], "in.npy", "o.npy")

    def test_what_takes_the_host_on_a_gpu(self):
        self.on_the_gpu()
        np.save(self.path("in.npy"), np.ones(5, "f4"))
        self.fails(1, ["'op': Larger has no host functions"], "scan", "--engine=cuda", "--include-initial",
                   "--op-file", self.file(), "in.npy", "out.npy")
        np.save(self.path("in.npy"), np.ones((5, 0), "f4"))
        self.rowscan("scan", "--engine=cuda", "--op-file", self.file(), "in.npy", "out.npy")
        self.assertEqual(np.load(self.path("out.npy")).shape, (5, 0))

    def test_continued_fractions(self):
        self.on_the_gpu()
        x = 1 + self.random.integers(0, 9, (2, 30)).astype("f4")
        got = self.scan(x, f"--op-file={os.path.join(self.TEXTS, 'continuants.cuh')}", "--dim=1")

        def fraction(row):
            value = row[-1]
            for a in row[-2::-1]:
                value = a + 1 / value
            return value
        wanted = [[fraction(row[:i + 1].astype("f8")) for i in range(len(row))] for row in x]
        np.testing.assert_allclose(got, wanted, rtol=1e-5)

    def test_coefficients(self):
        self.on_the_gpu()
        with open(self.path("damped.cuh"), "w") as file:
            file.write("""// rowscan: op=Damped numbers=2 coefficient=1
template <class A, class K> struct Damped {
  struct Total { A factor, term; };
  static constexpr bool commutative = false;
  RS_METHOD static Total load(A x, A coefficient) { return {coefficient, x}; }
  RS_METHOD static Total begin(A y) { return {1, y}; }
  RS_METHOD static Total neutral() { return {1, 0}; }
  RS_METHOD static Total combine(Total l, Total r) {
    return {l.factor * r.factor, fused(r.factor, l.term, r.term)};
  }
  RS_METHOD static A store(Total t) { return t.term; }
};
""")
        x = np.ones(5, "f4")
        np.testing.assert_array_equal(self.scan(x, "--op-file=damped.cuh", "--coefficient=.5"),
                                      np.array([1, 1.5, 1.75, 1.875, 1.9375], "f4"))
        self.fails(2, ["--op-file: Damped requires --coefficient"], "scan", "--op-file=damped.cuh", "in.npy", "o.npy")

    def test_bench(self):
        self.on_the_gpu()
        bench = ["bench", "--engine=cuda", "--repeat=1", "--shapes=4 x 60", "--filter=inclusive", "--op-file"]
        out, err = self.rowscan(*bench, self.file())
        self.assertRegex(out, r"4 x 60 +Larger inclusive +f32")
        self.assertEqual(err, "rowscan: bench: Larger has no host functions; its results are not checked\n")
        err = self.rowscan(*bench, self.file(combine="r == 0 ? l : l == 0 ? r : (l + r) / 2"))[1]
        self.assertRegex(err, r"Larger of f32 is not associative: for x = \S+, y = \S+, z = \S+, \(x o y\) o z is \S+, "
                              r"but x o \(y o z\) is \S+; results will depend on where blocks of elements end\n")

    def test_bench_of_several_inputs(self):
        """Whether it is associative is not tried: its elements are made of more than one number."""
        self.on_the_gpu()
        out, err = self.rowscan("bench", "--engine=cuda", "--repeat=1", "--shapes=4 x 60", "--second", self.average(),
                                "--csv=table.csv")
        self.assertEqual(err,
                         "rowscan: bench: Average has no host functions; its results are not checked\n")
        with open(self.path("table.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["variant"] for row in rows], [f"Average second {name}" for name in Bench.VARIANTS])
        self.assertEqual([int(row["bytes"]) for row in rows], [240 * n for n in (20, 20, 20, 21)])
        err = self.rowscan("bench", "--engine=host", "--shapes=4 x 60", "--op-file=average.cuh", status=1)[1]
        self.assertIn("'op': Average has no host functions for accumulators of f32", err)

    def test_the_host_has_none(self):
        self.save("in.npy", np.ones(5, "f4"))
        self.fails(1, ["'op': Larger has no host functions for accumulators of f32; it runs only on GPUs"],
                   "scan", "--engine=host", "--op-file", self.file(), "in.npy", "out.npy")
        self.assertFalse(os.path.exists(self.path("out.npy")))

    def test_source(self):
        out, err = self.rowscan("source", "--length=1000", "--op-file", self.file())
        self.assertEqual(err, "")
        self.assertIn('#line 1 "Larger"\n// rowscan: op=Larger\ntemplate', out)
        self.assertIn("using Op = Created<caller::Larger<f32, f32>, f32, 1>;", out)

    def test_errors_have_its_lines(self):
        self.needs_compiler()
        compile_it = ["compile", "--arch=sm_90", "--length=1000", "--op-file"]
        err = self.rowscan(*compile_it, self.file(combine="larger_of(l, r)"), status=1)[1]
        self.assertRegex(err, r"Larger(\(6\)|:6:).*error.*larger_of")
        err = self.rowscan(*compile_it, self.file("// rowscan: op=Smaller"), status=1)[1]
        self.assertRegex(err, r"error:.*\bSmaller\b")
        with open(os.path.join(self.TEXTS, "welford.cuh")) as text, open(self.path("two.cuh"), "w") as file:
            file.write(text.read().replace("numbers=3", "numbers=2"))
        err = self.rowscan(*compile_it, "two.cuh", status=1)[1]
        self.assertIn("Total is larger than the first line says, by numbers=", err)

    def test_kernels_are_of_the_text(self):
        self.needs_compiler()
        compile_it = ["compile", "--arch=sm_90", "--length=1000", "--op-file"]
        for combine, what in ("l > r ? l : r", "miss"), ("l > r ? l : r", "hit"), ("l < r ? r : l", "miss"):
            out = self.rowscan(*compile_it, self.file(combine=combine))[0]
            self.assertEqual({line.split()[-1] for line in out.splitlines()[1:]}, {what})
        with open(self.path("list"), "w") as file:
            file.write("op=Larger length=1000\n")
        self.assertIn("list:1: spec: field 'op': 'Larger' is not one of sum,",
                      self.fails(1, ["Larger"], "warm", "--arch=sm_90", "list"))
        done = json.loads(self.rowscan("warm", "--arch=sm_90", "--json", "--op-file", "larger.cuh", "list")[0])
        self.assertEqual(done["compiled"], 0)

    def test_files_that_are_none(self):
        scan = ["scan", "in.npy", "out.npy", "--op-file"]
        self.fails(1, ["none.cuh: cannot be opened"], *scan, "none.cuh")
        self.fails(1, [".: cannot be read"], *scan, ".")
        self.fails(1, ["larger.cuh: operator: field 'source'", "numbers must be 1, 2, 3 or 4"], *scan,
                   self.file("// rowscan: op=Larger numbers=9"))
        self.fails(1, ["does not begin with '// rowscan:'"], *scan, self.file("// op=Larger"))
        self.fails(2, ["--op-file: 'larger.cuh' defines the operator, but --op is prod"],
                   *scan, self.file(), "--op=prod")
        with open(self.path("zero.cuh"), "wb") as file:
            file.write(b"// rowscan: op=Larger\n\0")
        self.fails(1, ["zero.cuh: has a zero byte, and is not text"], *scan, "zero.cuh")
        with open(self.path("large.cuh"), "wb") as file:
            file.write(b"/" * ((1 << 20) + 1))
        self.fails(1, ["large.cuh: exceeds the 1048576 bytes of an operator"], *scan, "large.cuh")


class Devices(Case):
    def test_devices(self):
        out, err = self.rowscan("devices", "--json")
        devices = json.loads(out)
        self.assertEqual(bool(devices), not err, err)
        for number, device in enumerate(devices):
            self.assertEqual(device["device"], number)
            self.assertRegex(device["arch"], r"^sm_\d+")
            self.assertEqual(device["served"], int(device["arch"][3:]) >= 75)
        self.assertEqual(len(self.rowscan("devices")[0].splitlines()), len(devices) + 1 if devices else 0)

    def test_an_old_gpu(self):
        simt = os.environ.get("RS_SIMT", "")
        if not os.path.exists(os.path.join(simt, "libcuda.so.1")):
            self.skipTest("there is no simulated GPU (RS_SIMT)")
        self.search_first(simt)
        self.env["SIMT_ARCH"] = "70"
        out, err = self.rowscan("devices")
        self.assertIn(" sm_70 ", out)
        self.assertIn("GPU 0 is sm_70, older than sm_75, the oldest supported architecture: scans run on the CPU", err)
        self.assertIs(json.loads(self.rowscan("devices", "--json")[0])[0]["served"], False)
        np.save(self.path("in.npy"), np.ones(5, "f4"))
        args = ["scan", self.path("in.npy"), self.path("out.npy")]
        self.assertIn("GPU 0 is sm_70, older than sm_75", self.rowscan(*args)[1])
        self.assertIn("GPU 0 is sm_70, older than sm_75", self.rowscan(*args, "--engine=cuda", status=1)[1])


class Ops(Case):
    """Which operators there are, by scans with each."""

    def test_ops(self):
        ops = json.loads(self.rowscan("ops", "--json")[0])
        err = self.fails(2, ["--op"], "scan", "in.npy", "out.npy", "--op=no")
        self.assertEqual(", ".join(op["op"] for op in ops), err.split("\n")[0].split(" is not one of ")[1])
        rows = self.rowscan("ops")[0].splitlines()
        self.assertEqual([row.split()[0] for row in rows], ["operator"] + [op["op"] for op in ops])
        for op, row in zip(ops, rows[1:]):
            of = op["accumulators"]
            types = "all" if len(of) == 13 else "floats" if "f32" in of else "integers, bool"
            self.assertEqual(row.split(), [op["op"], str(op["inputs"]), str(op["params"]), str(op["outputs"]),
                                           *types.split(), *op["identity"].split(),
                                           *(of[t] for t in ("f32", "i32") if t in of)])
            self.assertEqual(len(op["accumulators"]), 4 * ("f32" in of) + 9 * ("i32" in of))

    def test_what_they_say(self):
        lowest = {"f2": -np.inf, "f4": -np.inf, "f8": -np.inf, "b1": 0, **{t: np.iinfo(t).min for t in INTEGERS}}
        highest = {"f2": np.inf, "f4": np.inf, "f8": np.inf, "b1": 1, **{t: np.iinfo(t).max for t in INTEGERS}}
        for op in json.loads(self.rowscan("ops", "--json")[0]):
            arguments = [f"--more{i}=0" for i in range(1, op["inputs"])] if op["inputs"] > 2 else []
            one = "--more1=0" if op["op"] == "sum_gradient" else "--coefficient=1"
            arguments += [one] * (op["inputs"] == 2) + ["--params=" + ",".join("1" * op["params"])]
            arguments = [a for a in arguments if a != "--params="] + ["--second=s.npy"] * (op["outputs"] == 2)
            for dtype, name in SHORT.items():
                scan = ["scan", "--exclusive", "--json", f"--op={op['op']}", *arguments, "in.npy", "out.npy"]
                self.save("in.npy", np.ones(1, dtype))
                if name not in op["accumulators"]:
                    self.fails(1, ["field 'in'", name], *scan)
                    continue
                self.assertEqual(json.loads(self.rowscan(*scan)[0])["acc"], op["accumulators"][name])
                first = np.load(self.path("out.npy"))[0]
                want = {"lowest value": lowest[dtype], "highest value": highest[dtype], "all bits": ~first.dtype.type(0)
                        if dtype[0] in "iub" else None}.get(op["identity"])
                self.assertEqual(first, float(op["identity"]) if want is None else want, (op["op"], dtype))


class Bench(Case):
    def bench(self, *args, status=0):
        return self.rowscan("bench", "--engine=host", "--repeat=1", *args, status=status)

    def table(self, *args):
        """Lines of the table, and of the CSV as dictionaries."""
        out, _ = self.bench("--csv", "table.csv", *args)
        with open(self.path("table.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertGreater(len(rows), 0)
        return out.splitlines(), rows

    def test_one_cell(self):
        lines, rows = self.table("--filter", "x 512")
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0].split()[:4], ["shape", "variant", "type", "regime"])
        self.assertEqual(lines[0].split()[-6:], ["memcpy", "kernel", "target", "met", "wrong", "geometry"])
        self.assertIn("inclusive f32", lines[1])
        self.assertTrue(lines[2].startswith("worst: "))
        row = rows[0]
        self.assertEqual((row["length"], row["type"], row["wrong"]), ("512", "f32", "0"))
        self.assertEqual((row["suite"], row["group"], row["view"]), ("quick", "short", "dense"))
        self.assertEqual((row["target"], row["kernel_ms"]), ("", ""), "targets are for GPUs, as copy kernels are")
        self.assertGreater(float(row["ratio"]), 0)

    def test_elements(self):
        self.assertIn("reduced to at most 16777216", self.bench("--filter", "x 512")[1])
        _, rows = self.table("--suite=full", "--filter=f32", "--elements=1000")
        self.assertEqual(len(rows), 67)
        for row in rows:
            self.assertLessEqual(int(row["outer"]) * int(row["length"]) * int(row["inner"]), 1000, row)
            self.assertGreater(int(row["checked"]), 0, row)

    def test_shapes(self):
        lines, rows = self.table("--shapes", "7 x 100|2 x 3 x 40 x 5 dim 2 bf16|30 x 70 transposed f64")
        self.assertEqual([(row["suite"], row["group"], row["variant"], row["wrong"]) for row in rows],
                         [("shapes", "given", variant, "0")
                          for variant in 3 * ["inclusive", "exclusive", "reverse", "masked"]])
        self.assertEqual([int(rows[4][name]) for name in ("length", "inner")], [40, 5])
        self.assertEqual([row["view"] for row in rows[7:9]], ["dense", "transposed"])
        self.assertTrue(lines[-1].startswith("worst: "))

    def test_op(self):
        """Cells that an operator has no types for are left out."""
        for op, variants in (("max", 4), ("linear_recurrence", 4), ("and", 0)):
            shapes = ("--op", op, "--shapes", "7 x 100 f32|3 x 50 i32")
            _, rows = self.table(*shapes)
            names = ["inclusive", "exclusive", "reverse", "masked"]
            ints = [f"{op} {name}" for name in names[:variants or 4]]
            self.assertEqual([row["variant"] for row in rows], ints[:variants] + ints)
            self.assertEqual({row["wrong"] for row in rows}, {"0"})

    VARIANTS = "inclusive", "exclusive", "reverse", "masked"

    def further(self, *args, per_element, outputs=1, variants=VARIANTS):
        """Figures of 5 x 100: what moves, and that all outputs are compared."""
        _, rows = self.table("--shapes", "5 x 100", *args)
        self.assertEqual([row["variant"].rsplit(" ", 1)[-1] for row in rows], list(variants))
        self.assertEqual({(row["wrong"], row["checked"], row["target"]) for row in rows},
                         {("0", str(outputs * 500), "")})
        self.assertEqual([int(row["bytes"]) for row in rows],
                         [500 * (per_element + row["variant"].endswith("masked")) for row in rows])
        return {row["variant"].rsplit(" ", 1)[0] for row in rows}

    def test_further_arrays(self):
        """Bytes are those of all arrays: of gae three inputs and two of flags."""
        self.assertEqual(self.further("--op=gae", per_element=14 + 4), {"gae"})
        self.assertEqual(self.further("--op=gae", "--second", per_element=14 + 8, outputs=2), {"gae second"})
        self.assertEqual(self.further("--op=argmin", "--second", per_element=4 + 8 + 4, outputs=2), {"argmin second"})

    def test_segments(self):
        """Beside a mask or coefficients; without them they are the mask, whose kernels are others."""
        self.assertEqual(self.further("--segments=heads", per_element=9), {"heads"})
        self.assertEqual(self.further("--op=max", "--segments=keys", per_element=12), {"max keys"})
        self.assertEqual(self.further("--op=linear_recurrence", "--segments=tails", per_element=13),
                         {"linear_recurrence tails"})
        self.assertEqual(self.further("--mask-mode=multiply", "--segments=keys", per_element=13,
                                      variants=self.VARIANTS[:3]), {"multiply keys"})

    def test_further_arrays_of_other_cells(self):
        """Rows as views and columns lie, one by one and long, and what is drawn; integers are left out."""
        shapes = "30 x 70 transposed|30 x 8 of every 2nd bf16|64 x 9 dim 0 f64|1 x 5000 f16|9 x 9 i32"
        for op, cells in ("gae", 4), ("argmax", 5):
            _, rows = self.table("--op", op, "--second", "--filter=inclusive", "--shapes", shapes)
            self.assertEqual(len(rows), cells)
            self.assertEqual({row["wrong"] for row in rows}, {"0"})
        _, rows = self.table("--op=gae", "--suite=random", "--cells=16", "--elements=300", "--seed=3")
        self.assertTrue(2 < len(rows) < 16, len(rows))
        self.assertEqual({row["wrong"] for row in rows}, {"0"})

    def test_no_cell_is_served(self):
        self.assertIn("no cell of suite shapes is supported: spec: field 'in': gae requires a floating type, not i32\n",
                      self.bench("--op=gae", "--shapes=5 x 9 i32", status=1)[1])
        self.assertIn("no cell of suite shapes is supported: "
                      "spec: field 'segments': heads of bool: a segmented total "
                      "of gae needs 20 bytes", self.bench("--op=gae", "--segments=heads", "--mask-mode=select",
                                                          "--shapes=5 x 9", status=1)[1])

    def test_acc(self):
        """Cells that may not have it are left out."""
        _, rows = self.table("--acc=fixed:12", "--shapes", "7 x 100 bf16|3 x 50 i32|9 x 60 f64 in f64|30 x 7 dim 0")
        self.assertEqual([row["type"] for row in rows],
                         [f"{name} in fixed:12" for name in ["bf16"] * 4 + ["f64"] * 4 + ["f32"] * 4])
        self.assertEqual({row["wrong"] for row in rows}, {"0"})
        _, rows = self.table("--shapes", "7 x 100 f16 in fixed:62", "--filter=masked")
        self.assertEqual([(row["type"], row["wrong"]) for row in rows], [("f16 in fixed:62", "0")])

    def test_regime(self):
        for regime in "row", "short", "long", "column":
            _, rows = self.table("--shapes", "3 x 40000", "--filter=inclusive", "--regime", regime)
            self.assertEqual([(row["regime"], row["wrong"]) for row in rows], [(self.regime_shown(regime), "0")])

    def regime_shown(self, regime):
        return ""  # the host engine has none

    def test_filters(self):
        self.bench("--filter", "no such cell", status=1)
        self.bench("--suite", "full", "--filter", "1 x 1024 inc")
        self.bench("--filter", "x 512", "--csv", "no/such.csv", status=1)
        self.assertEqual(self.listing(), {})

    def test_groups_and_alternatives(self):
        _, rows = self.table("--suite=full", "--filter=small:|strided: 32768", "--elements=1000")
        self.assertEqual([row["group"] for row in rows], ["strided"] + 6 * ["small"])
        _, rows = self.table("--suite=full", "--filter=no such|1 x 1024 inc|", "--elements=1000")
        self.assertEqual(len(rows), 1)

    def test_growth(self):
        lines, rows = self.table("--suite=growth", "--elements=100")
        self.assertTrue(lines[-1].startswith("worst: "))
        self.assertEqual({row["group"] for row in rows}, {"length", "bytes", "columns"})
        self.assertEqual({row["wrong"] for row in rows}, {"0"})
        self.assertEqual(len(rows), 52 + 59 + 2 * 24)

    def drawn(self, *args):
        """Cells of suite random: sizes, length, variant, bytes that are read and written."""
        cells = []
        for line in self.rowscan("bench", "--suite=random", "--list", *args)[0].splitlines():
            sizes, dim, variant, *types = re.fullmatch(
                r"random: ([\dx ]+?)(?: dim (\d))? (\w+) (\w+)(?: -> (\w+))?(?: in f64)?", line).groups()
            sizes = [int(size) for size in sizes.split(" x ")]
            names = types[0], types[1] or types[0]
            widths = [1 if name == "bool" else int(name.lstrip("bfiu")) // 8 for name in names]
            bytes = math.prod(sizes) * (sum(widths) + (variant == "masked"))
            cells.append((sizes, sizes[int(dim or len(sizes) - 1)], variant, bytes))
        return cells

    def test_random(self):
        lines, rows = self.table("--suite=random", "--cells=24", "--elements=500", "--seed=7")
        self.assertEqual([(row["suite"], row["group"], row["wrong"]) for row in rows], 24 * [("random", "random", "0")])
        ratios = sorted(float(row["ratio"]) for row in rows)
        told = re.fullmatch(r"24 cells: worst (.*), 5% (.*), 10% (.*), 25% (.*), median (.*)", lines[-11])
        for text, place in zip(told.groups(), (0, 1, 2, 5, 11)):
            self.assertAlmostEqual(float(text), ratios[place], delta=0.001)
        worst = [float(re.search(r", ([\d.]+) of memcpy$", line)[1]) for line in lines[-10:]]
        for ratio, least in zip(worst, ratios):
            self.assertAlmostEqual(ratio, least, delta=0.001)

    def test_random_draws(self):
        """A seed says all, and a longer suite begins as a shorter one; there is something of everything."""
        cells = self.drawn("--cells=2000", "--seed=5")
        self.assertEqual(cells[:50], self.drawn("--cells=50", "--seed=5"))
        self.assertNotEqual(cells[:50], self.drawn("--cells=50", "--seed=6"))
        self.assertEqual(self.drawn(), self.drawn("--cells=64", "--seed=1", "--size=large"))
        variants = [cell[2] for cell in cells]
        self.assertGreater(min(variants.count(v) for v in ("inclusive", "exclusive", "reverse", "masked")), 400)
        lengths = [cell[1] for cell in cells]
        for odd in 0, 1:
            self.assertGreater(sum(length % 2 == odd for length in lengths), 700)
        for power in range(0, 24, 4):
            self.assertGreater(sum(2 ** power <= length < 2 ** (power + 4) for length in lengths), 100)
        last = sum(sizes[-1] == length for sizes, length, *_ in cells)
        self.assertTrue(800 < last < 1200, last)
        for size, least, most in ("large", 0.25e9, 0.5e9), ("small", 3e3, 20e6):
            for cell in self.drawn("--cells=300", f"--size={size}"):
                self.assertTrue(least <= cell[3] <= most, cell)

    def test_random_errors(self):
        for args, told in ((["--seed=4"], "--seed: requires --suite random"),
                           (["--suite=full", "--cells=4"], "--cells: requires --suite random"),
                           (["--suite=random", "--size=big"], "--size: 'big' is not one of large, small"),
                           (["--suite=random", "--cells=100001"], "--cells: 100001 exceeds 100000"),
                           (["--suite=random", "--seed=-1"], "--seed")):
            self.assertIn(told, self.bench(*args, status=2)[1])


class Cells(Case):
    def test_peers_have_the_same(self):
        """tests/peers, which needs PyTorch and runs nowhere but on a GPU, times what rowscan bench does."""
        folder = os.path.join(TESTS, "peers")
        code = "import cells; print(*(c.label(v) for c in cells.FULL for v in c.variants), sep='\\n')"
        theirs = subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True)
        ours, _ = self.rowscan("bench", "--suite=full", "--list")
        self.assertEqual(theirs.stdout.splitlines(), ours.splitlines())
        self.assertEqual(len(ours.splitlines()), 83)

    def test_peers_have_its_structs(self):
        """tests/peers/rowscan.py has the structs of rowscan.h once more."""
        library = os.path.join(LIBRARIES, "librowscan.so")
        if not os.path.exists(library):
            self.skipTest("the library is not a shared one")
        with open(library, "rb") as file:
            if b"__asan_init" in file.read():
                self.skipTest("only a program that has the sanitizer too can load the library")
        script = os.path.join(TESTS, "peers", "on_host.py")
        done = subprocess.run([sys.executable, "-B", script], env=self.env | {"ROWSCAN_LIB": library},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(int(done.stdout), 70)

    def test_list(self):
        out, _ = self.rowscan("bench", "--list", "--filter=short:")
        self.assertEqual(out.splitlines()[0], "short: 65536 x 512 inclusive f32")
        self.rowscan("bench", "--list", "--filter=nothing of the kind", status=1)

    def test_shapes(self):
        shapes = "7 x 100|2 x 3 x 40 x 5 dim 2 bf16|64 x 9 dim 0 i8 -> i32|5x6 f32 in f64|17|3 x 4 x 5 x 6 dim 1"
        out, _ = self.rowscan("bench", "--list", "--filter=inclusive", "--shapes", shapes)
        self.assertEqual(out.splitlines(), ["given: 7 x 100 inclusive f32", "given: 6 x 40 x 5 dim 1 inclusive bf16",
                                            "given: 64 x 9 dim 0 inclusive i8 -> i32",
                                            "given: 5 x 6 inclusive f32 in f64", "given: 1 x 17 inclusive f32",
                                            "given: 3 x 4 x 30 dim 1 inclusive f32"])

    def test_shapes_are_those_that_are_printed(self):
        printed, _ = self.rowscan("bench", "--list", "--suite=full", "--filter=inclusive")
        shapes = [line.split(": ")[1].replace(" inclusive", "") for line in printed.splitlines()]
        self.assertIn("8192 x 8192 of every 2nd f32", shapes)
        given, _ = self.rowscan("bench", "--list", "--filter=inclusive", "--shapes", "|".join(shapes))
        self.assertEqual(given.splitlines(), [f"given: {line.split(': ')[1]}" for line in printed.splitlines()])


class BenchSimulated(Bench):
    """The same on the simulated GPU, with its copy kernels, graphs and targets."""

    def setUp(self):
        super().setUp()
        simt = os.environ.get("RS_SIMT", "")
        if not os.path.exists(os.path.join(simt, "libcuda.so.1")):
            self.skipTest("there is no simulated GPU (RS_SIMT)")
        self.search_first(simt)
        self.env.update(ROWSCAN_NVRTC=os.path.join(simt, "libnvrtc.so.13"), SIMT_L2="16k")
        self.env.setdefault("SIMT_CACHE_DIR", self.path("simt-cache"))

    def listing(self):
        return {name: facts for name, facts in super().listing().items() if not name.startswith("simt-cache")}

    def bench(self, *args, status=0):
        small = [] if any(arg.startswith("--elements") for arg in args) else ["--elements=500"]
        return self.rowscan("bench", "--engine=cuda", "--repeat=1", *small, *args, status=status)

    def test_one_cell(self):
        lines, rows = self.table("--suite=full", "--filter=small: 8192")
        self.assertIn("simulated GPU, sm_90, 16 GB/s", lines[0])
        self.assertEqual(lines[-2], f"targets reached: {'yes' in lines[2].split():d} of 1")
        self.assertIn(" of copy kernel, target 0.80", lines[-1])
        row = rows[0]
        self.assertEqual((row["target"], row["yardstick"], row["wrong"]), ("0.80", "copy kernel", "0"))
        self.assertAlmostEqual(float(row["kernel_ratio"]), float(row["kernel_ms"]) / float(row["scan_ms"]), 4)
        self.assertGreater(float(row["peak_percent"]), 0)

    def test_elements(self):
        """All cells but for those that differ in their number of rows alone."""
        chosen = "strided:|small:|i8 ->|bool ->|in f64|4194304 x 7|16 dim 1|x 2 dim 0"
        lines, rows = self.table("--suite=full", "--elements=600", "--filter", chosen)
        scores = {}
        for row in rows:
            self.assertEqual((row["wrong"], row["reached"] in ("yes", "NO")), ("0", True), row)
            self.assertGreater(int(row["checked"]), 0)
            of_kernel = row["group"] in ("strided", "small")
            self.assertEqual(row["yardstick"], "copy kernel" if of_kernel else "memcpy", row)
            ratio = float(row["kernel_ratio" if of_kernel else "ratio"])
            self.assertEqual(row["reached"] == "yes", ratio >= float(row["target"]), row)
            scores[f"{row['shape']} {row['variant']} {row['type']}"] = ratio / float(row["target"])
        self.assertEqual({row["view"] for row in rows}, {"dense", "second", "transposed", "padded"})
        self.assertEqual(len(rows), 3 + 6 + 3 + 4 + 2)
        self.assertIn(f"worst: {min(scores, key=scores.get)}, ", lines[-1])

    def regime_shown(self, regime):
        return regime

    def test_copies_of_views(self):
        """Large enough for copies by several blocks."""
        _, rows = self.table("--suite=full", "--elements=17000", "--filter=strided:")
        self.assertEqual([row["view"] for row in rows], ["second", "transposed", "padded"])
        for row in rows:
            self.assertGreater(min(int(row["outer"]), int(row["length"])), 64)
            self.assertGreater(float(row["kernel_ms"]), 0)

    def test_growth(self):
        """Some of it: kernels have to be compiled."""
        _, rows = self.table("--suite=growth", "--filter=length: 67108864 |length: 22369622 |x 1000 ", "--elements=50")
        self.assertEqual([row["length"] for row in rows][:2], ["1", "3"])
        self.assertEqual(len(rows), 2 + 19)

    def test_graphs(self):
        """What takes little time is replayed, and a graph that can't be made is no reason to crash."""
        self.table("--suite=full", "--filter=x 2 dim 0", "--elements=32")
        for call in ("cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"):
            self.env["SIMT_FAIL"] = f"{call}:1:999"
            _, err = self.bench("--suite=full", "--filter=x 2 dim 0", "--elements=32", status=1)
            self.assertIn("column: 16 x 2 dim 0 inclusive f32: ", err)


    def plant(self, bytes):
        """Kernels that store a wrong bit with every word of so many bytes."""
        with open(self.path("planted.h"), "w") as file:
            file.write('''#include "device.cuh"
template <class T> static inline void planted_store(T *at, typename simt_same<T>::type value) {
  if (sizeof(T) == %d)
    *reinterpret_cast<char *>(&value) ^= 1;
  store_word(at, value);
}
#define store_word planted_store
''' % bytes)
        flags = f" -include {self.path('planted.h')} -I{os.environ.get('SIMT_DIR', '')}"
        self.env["SIMT_CXXFLAGS"] = os.environ.get("SIMT_CXXFLAGS", "") + flags
        self.env["SIMT_CACHE_DIR"] = self.path(f"simt-cache-{bytes}")  # which is not by flags

    def test_wrong_scans_are_found(self):
        """Copies are of 16 bytes here; rows of an odd number of bf16 have words of 2."""
        self.plant(2)
        _, err = self.bench("--suite=full", "--filter=1048576 x 65 ", status=1)
        self.assertRegex(err, r"short: 4 x 65 inclusive bf16: [1-9]\d* of 260 elements are wrong")

    def test_wrong_copies_are_found(self):
        for bytes, cell in (16, "1 x 1024"), (4, "every 2nd"), (4, "transposed"):
            with self.subTest(cell=cell):
                self.plant(bytes)
                _, err = self.bench("--suite=full", f"--filter={cell} inc", status=1)
                self.assertIn("the copy kernel that scans are compared with returns wrong results", err)


# ---- how a scan grows ------------------------------------------------------------------------------------------------


class Growth(Case):
    """growth.py, on figures that are made up."""
    COLUMNS = ("suite", "group", "outer", "length", "inner", "regime", "geometry", "scan_ms", "copy_ms", "kernel_ms",
               "bytes")

    def figures(self, change=lambda **cell: (1, 1), sizes=(20, 16), without=()):
        """A CSV in which change() multiplies the times of scan and copy. sizes: of columns, logarithms."""
        cells = [("length", -(-2**20 // length), length, 1) for k in range(20) for length in (2**k, 3 << k | 1)]
        cells += [("bytes", 2**k, 1000, 1) for k in range(16)]
        widths = sorted({2**k for k in range(8)} | {3 << k | 1 for k in range(7)})
        cells += [("columns", 1, 2**size // width, width) for size in sizes for width in widths]
        names = [name for name in self.COLUMNS if name not in without]
        with open(self.path("made.csv"), "w") as file:
            made = csv.DictWriter(file, names, extrasaction="ignore")
            made.writeheader()
            for group, rows, length, width in cells:
                moved = 8 * rows * length * width
                regime, geometry = ("column", "abreast threads=640") if group == "columns" else ("row", "ring warps=8")
                scan, copy = (factor * (2e-3 + moved / 4e9)
                              for factor in change(group=group, rows=rows, length=length, width=width))
                made.writerow(dict(suite="growth", group=group, outer=rows, length=length, inner=width, regime=regime,
                                   geometry=geometry, scan_ms=1.05 * scan, copy_ms=copy, bytes=moved))

    def growth(self, *args, status=0):
        script = os.path.join(TESTS, "bench", "growth.py")
        done = subprocess.run([sys.executable, script, "made.csv", "grown", *args], cwd=self.dir, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, status, done.stderr)
        return [line for line in done.stdout.splitlines() if line.startswith("cliff: ")]

    def test_smooth(self):
        self.figures()
        self.assertEqual(self.growth("--check", "--machine", "a <machine>"), [])
        with open(self.path("grown.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("(grown.svg)", text)
        self.assertEqual(text.count("\nNone.\n"), 3)
        self.assertEqual(text.count("| row |"), 40 + 16)
        self.assertEqual(text.count("| abreast |"), 2 * 15)
        self.assertIn("\n| 1 | 1048576 | abreast | 0.0043 | 1950 | 0.952 |  |\n| 2 | 524288 | abreast |", text)
        self.assertIn("\n| 1 | 65536 | abreast | 0.0022 | 234 | 0.952 |  |\n", text)
        words = self.words()
        for word in ("memcpy", "rowscan", "rows of 1000", "256 K", "1 MB", "rowscan, 8.39 MB", "memcpy, 0.524 MB"):
            self.assertIn(word, words)
        self.assertIn("a <machine>", "".join(words))

    def words(self):
        picture = ElementTree.parse(self.path("grown.svg")).getroot()
        return [element.text for element in picture.iter() if element.tag.endswith("text")]

    def test_no_columns(self):
        """As of a bench that had none, whose CSV says less."""
        self.figures(lambda length, **_: (1.4 if length == 97 else 1, 1), sizes=(), without=("inner", "geometry"))
        self.assertEqual(len(self.growth("--check", status=1)), 2)
        with open(self.path("grown.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("\n## "), 3)
        self.assertNotIn("width", text)
        self.assertEqual([word for word in self.words() if "memcpy" in word], 2 * ["memcpy"])

    def test_cliffs_between_lengths(self):
        self.figures(lambda length, **_: (1.4 if length == 97 else 1, 1))
        found = self.growth("--check", status=1)
        self.assertEqual([" ".join(line.split()[1:5]) for line in found], ["length 64 to 97:", "length 97 to 128:"])
        self.figures(lambda length, **_: (1.25 if length == 97 else 1, 1))
        self.assertEqual(self.growth("--check"), [])
        self.figures(lambda length, **_: 2 * (1.4 if length == 97 else 1,))
        self.assertEqual(self.growth("--check"), [], "memcpy has the same")
        self.figures(lambda length, **_: (1.4, 1 / 1.4) if length == 97 else (1, 1))
        self.assertEqual(len(self.growth()), 2, "memcpy has the opposite")

    def test_cliffs_between_widths(self):
        def odd(scan, copy, above=2**18):
            return lambda length, width, **_: (scan, copy) if width == 97 and length * width > above else (1, 1)

        self.figures(odd(1.4, 1))
        found = self.growth("--check", status=1)
        self.assertEqual([line.partition("cliff: columns, 8.39 MB, ")[2].partition(" x ")[0] for line in found],
                         ["width 64 to 97: 1.40", "width 97 to 128: 0.71"])
        self.assertTrue(found[0].endswith(" kernel abreast to abreast"), found[0])
        with open(self.path("grown.md"), encoding="utf-8") as file:
            text = file.read()
        listed = text.partition("## Cliffs between neighbouring widths")[2].partition("## ")[0]
        self.assertEqual(listed.count("\n- columns, 8.39 MB, width "), 2)
        self.assertEqual(text.count("| **1.40** |") + text.count("| **0.71** |"), 2)
        self.assertEqual(text.count("\nNone.\n"), 2, "lengths and rows have no cliff")
        with open(self.path("grown.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read().count('r="7"'), 2)
        self.figures(odd(1.4, 1, above=0))
        self.assertEqual(len(self.growth("--check", status=1)), 4)
        self.figures(odd(1.25, 1))
        self.assertEqual(self.growth("--check"), [])
        self.figures(odd(1.4, 1.4))
        self.assertEqual(self.growth("--check"), [], "memcpy has the same")

    def test_sizes_of_columns(self):
        """No step leads from one size to the next, be they the same."""
        for sizes in (20, 20), (16, 20), (22, 20, 18):
            with self.subTest(sizes=sizes):
                self.figures(sizes=sizes)
                self.assertEqual(self.growth("--check"), [])
                with open(self.path("grown.md"), encoding="utf-8") as file:
                    self.assertEqual(file.read().count("\n| width | "), len(sizes))
        self.figures(lambda length, width, **_: (3 if length * width < 2**18 else 1, 1))
        with open(self.path("made.csv")) as file:
            lines = [line for line in file if ",columns," not in line or ",1,column," in line]
        with open(self.path("made.csv"), "w") as file:
            file.writelines(lines)
        self.growth()
        with open(self.path("grown.md"), encoding="utf-8") as file:
            self.assertEqual(file.read().count("\n| width | "), 2, "one width of each")

    def test_cliffs_between_rows(self):
        self.figures(lambda group, rows, **_: (10 if group == "bytes" and rows == 4096 else 1, 1))
        found = self.growth("--check", status=1)
        self.assertEqual(len(found), 2)
        self.assertIn("rows of 1000, rows 2048 to 4096: ", found[0])
        self.assertIn("rows of 1000, rows 4096 to 8192: ", found[1])

    def test_no_growth(self):
        with open(self.path("made.csv"), "w") as file:
            print(",".join(self.COLUMNS), file=file)
        self.growth(status=1)
        self.assertEqual(list(self.listing()), ["made.csv"])

    @unittest.skipIf(QUICK, "RS_QUICK")
    def test_what_bench_writes(self):
        self.rowscan("bench", "--engine=host", "--repeat=1", "--suite=growth", "--elements=10000", "--csv=made.csv",
                     "--filter=length: |x 4096|columns: ")
        self.growth()
        ElementTree.parse(self.path("grown.svg"))
        with open(self.path("grown.md"), encoding="utf-8") as file:
            columns = file.read().split("\n## Columns ")[1:]
        self.assertEqual([text.count("\n| 4096 | 2 |  | ") for text in columns], [1, 1])


if __name__ == "__main__":
    if not shutil.which(ROWSCAN):
        sys.exit(f"ROWSCAN: {ROWSCAN} is not a command")
    if LOT > 1:
        print(f"RS_LOT={LOT} RS_SEED={SEED}", flush=True)
    unittest.main(verbosity=2)
