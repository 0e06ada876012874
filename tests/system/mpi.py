#!/usr/bin/env python3
"""mpi.py - rowscan scan --mpi: ranks that write one file together, beside the command by itself
SPDX-License-Identifier: MIT

The build under test may have no MPI: the command with it is made of its objects and of src/cli/ranks_mpi.c, as
configure --with-mpi makes it. Files are compared byte for byte. RS_LOT=n and RS_SEED run one in n of the tests
(tests/support/lot.h). Exits with 77 where mpicc, mpirun or NumPy is missing.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from mpi_command import environment_of_mpi, flags_of_mpi, link_command  # noqa: E402

try:
    import numpy as np
except ImportError:
    print("SKIP: no NumPy")
    sys.exit(77)
if not flags_of_mpi():
    print("SKIP: no mpicc or no mpirun")
    sys.exit(77)

ROWSCAN = os.path.abspath(os.environ.get("ROWSCAN", "build/rowscan"))
WORK = tempfile.mkdtemp(prefix="rowscan-mpi-")
unittest.addModuleCleanup(shutil.rmtree, WORK, ignore_errors=True)
PROGRAM = os.path.join(WORK, "rowscan")
ANYONE = 12345  # a user whom no file knows
LOT, SEED = int(os.environ.get("RS_LOT") or 1), int(os.environ.get("RS_SEED") or time.time())
if "mpi" in os.environ.get("RS_TOUCHED", "").split():
    LOT = (LOT + 3) // 4


def setUpModule():
    link_command(os.path.dirname(ROWSCAN), PROGRAM)


class Case(unittest.TestCase):
    def setUp(self):
        if (zlib.crc32(self.id().encode()) + SEED) % LOT:
            self.skipTest("RS_LOT")
        self.dir = tempfile.mkdtemp(dir=WORK)
        self.env = environment_of_mpi(os.environ)
        self.env["LC_ALL"] = "C"
        self.random = np.random.default_rng(7)
        self.user = {}

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def call(self, words, status=0):
        done = subprocess.run([str(word) for word in words], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **self.user)
        self.assertEqual(done.returncode, status, f"{shlex.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def ranks(self, count, *args, status=0):
        return self.call(["mpirun", "-n", count, PROGRAM, "scan", "--mpi", *args], status)

    def floats(self, dtype, *shape):
        """Of many sizes, so that the order of adding shows."""
        return (self.random.standard_normal(shape) * 2.0 ** self.random.integers(-6, 6, shape)).astype(dtype)

    def same(self, array, *args, ranks, second=False, save=np.save, **files):
        """The files of so many ranks are those of the command by itself; returns what --json said last."""
        save(self.path("in.npy"), array)
        for name, beside in files.items():
            save(self.path(f"{name}.npy"), beside)
            args += (f"--{name}={name}.npy",)
        seconds = [[f"--second={name}"] if second else [] for name in ("second1.npy", "second2.npy")]
        self.call([ROWSCAN, "scan", "--engine=host", *args, *seconds[0], "in.npy", "one.npy"])
        told = None
        for count in ranks:
            with self.subTest(shape=array.shape, args=args, ranks=count):
                told = json.loads(self.ranks(count, *args, *seconds[1], "--json", "in.npy", "many.npy")[0])
                self.assertEqual(told["ranks"], count)
                self.assertEqual(self.read("many.npy"), self.read("one.npy"))
                if second:
                    self.assertEqual(self.read("second2.npy"), self.read("second1.npy"))
        return told


def save_raw(name, array):
    """As others than NumPy may write it: in Fortran order, and with data off any element's size."""
    code = "<" + array.dtype.str[1:]
    header = f"{{'descr': '{code}', 'fortran_order': True, 'shape': {array.shape}}}".encode()
    header += b" " * (len(header) % 2) + b"\n"
    assert (10 + len(header)) % 2
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + array.tobytes("F"))


class Bytes(Case):
    def test_rows(self):
        told = self.same(self.floats("f4", 100003), ranks=(1, 2, 3, 5))
        self.assertEqual((told["engine"], told["shape"]), ("host", [100003]))

    def test_dimensions(self):
        """Parts in one piece, and in many: short ones, which ranks exchange, and long ones."""
        self.same(self.floats("f4", 3, 50000), "--reverse", ranks=(2, 3))
        self.same(self.floats("f8", 1000, 7), "--dim=0", ranks=(3, 5))
        self.same(self.floats("f2", 7, 1000), "--reverse", "--exclusive", ranks=(2, 5))
        self.same(self.floats("f4", 5, 301, 6), "--dim=1", "--reverse", ranks=(2, 3))
        self.same(self.random.integers(-9, 9, (4, 50, 3)).astype("i2"), "--dim=-2", "--exclusive", ranks=(3,))

    def test_few_elements(self):
        """Fewer than ranks, none, no rows."""
        self.same(self.floats("f4", 3, 4), ranks=(3, 5))
        self.same(self.floats("f4", 2, 3), "--dim=0", "--reverse", "--exclusive", ranks=(5,))
        self.same(self.floats("f4", 3, 0), ranks=(2,))
        self.same(self.floats("f4", 0, 10), ranks=(2,))

    def test_many_rows(self):
        """More than ranks exchange at a time."""
        self.same(self.random.random((300001, 16), "f4"), ranks=(3,))

    def test_initial(self):
        """One element more than the input: between parts it is written once."""
        self.same(self.floats("f4", 6, 1000), "--include-initial", ranks=(2, 5))
        self.same(self.floats("f4", 1000, 3), "--include-initial", "--reverse", "--dim=0", ranks=(3,))
        self.same(self.floats("f4", 5, 2), "--include-initial", ranks=(5,))
        self.same(self.floats("f8", 3, 20000), "--include-initial", ranks=(3,))
        self.same(self.floats("f8", 3, 20000), "--include-initial", "--reverse", ranks=(2,))
        self.same(self.floats("f4", 2), "--include-initial", "--reverse", ranks=(5,))

    def test_masks_and_segments(self):
        x = self.floats("f4", 5, 777)
        flags, few = self.random.random(x.shape) < 0.5, self.random.random(x.shape) < 0.01
        self.same(x, "--exclusive", ranks=(3,), mask=flags)
        self.same(x, "--mask-mode=multiply", ranks=(2,), mask=self.floats("f4", 5, 777))
        self.same(x, "--reverse", ranks=(3,), heads=few, mask=flags.astype("u1"))
        self.same(x, "--dim=0", ranks=(2,), tails=few)
        self.same(x, ranks=(5,), keys=np.sort(self.random.integers(0, 9, x.shape).astype("i4"), axis=1))

    def test_operators(self):
        x = self.floats("f4", 3, 900)
        weights = self.random.random(x.shape).astype("f4")
        self.same(x, "--op=linear_recurrence", ranks=(3,), coefficient=weights)
        self.same(x, "--op=linear_recurrence", "--coefficient=0.5", ranks=(2,))
        self.same(np.where(weights < 0.1, np.nan, x), "--op=logsumexp", "--omit-nan", ranks=(3,))
        self.same(x, "--acc=fixed:20", "--dtype=f64", ranks=(2,))
        self.same(np.round(x), "--op=argmax", "--ties-first", ranks=(3,), second=True)
        values, following = self.floats("f4", 3, 900), self.floats("f4", 3, 900)
        self.same(x, "--op=gae", "--params=0.99,0.95", "--reverse", ranks=(2,), second=True, more1=values,
                  more2=following, more3=weights < 0.01, more4=weights < 0.02)

    def test_files_of_others(self):
        """Fortran order, and data that is not aligned; bfloat16."""
        x = self.floats("f4", 30, 40)
        self.same(np.asfortranarray(x), ranks=(3,), mask=np.asfortranarray(x > 0))
        self.same(x, ranks=(3,), save=save_raw, mask=x)
        self.same(x, "--dim=0", ranks=(2,), save=save_raw)
        self.same(np.ones((2, 50), "f4").view("u4").__rshift__(16).astype("u2").view("V2"), "--type=bf16", ranks=(3,))

    def test_in_place(self):
        self.same(self.floats("f4", 10, 100), ranks=(1,))
        self.ranks(3, "in.npy", "in.npy")
        self.assertEqual(self.read("in.npy"), self.read("one.npy"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["in.npy", "many.npy", "one.npy"])

    def test_without_mpirun(self):
        np.save(self.path("in.npy"), self.floats("f4", 1000))
        self.call([ROWSCAN, "scan", "--engine=host", "in.npy", "one.npy"])
        self.call([PROGRAM, "scan", "--mpi", "in.npy", "many.npy"])
        self.assertEqual(self.read("many.npy"), self.read("one.npy"))

    def test_file_of_that_name(self):
        """Two processes that each take it for a name only would write one file."""
        x = np.round(self.floats("f4", 3, 1000))
        self.same(x, "--op=argmax", ranks=(2,), second=True)
        self.call(["mpirun", "-n", "2", PROGRAM, "scan", "--op=argmax", "--second", "--mpi", "in.npy", "many.npy"])
        self.assertEqual(self.read("many.npy"), self.read("one.npy"))
        self.assertEqual(self.read("--mpi"), self.read("second1.npy"))

    def test_summary(self):
        """One rank speaks."""
        np.save(self.path("in.npy"), np.ones((2, 5)))
        out, err = self.ranks(3, "-v", "in.npy", "out.npy")
        self.assertEqual(out, "")
        self.assertRegex(err, r"^rowscan: scan: out.npy: sum of f64 \(2, 5\) .* on the host engine of 3 ranks: .*\n$")


class Failures(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("other"))
        np.save(self.path("in.npy"), np.ones((50, 4000), "f4"))
        np.save(self.path("other/in.npy"), np.ones((50, 4001), "f4"))
        self.shim = f'"$@"; echo $? >{self.dir}/status.$$'

    def listing(self):
        return {name: os.stat(self.path(name)).st_size for name in os.listdir(self.dir) if name[:7] != "status."}

    def all_fail(self, status, message, *groups):
        """
        All ranks end with the status, the message is the command's only one, and nothing is left. Groups: numbers of
        ranks and their command lines.
        """
        before = self.listing()
        words = []
        for count, *line in groups:
            words += [":"] * bool(words) + ["-n", count, "sh", "-c", self.shim, "sh", *line]
        out, err = self.call(["mpirun", *words])
        statuses = [self.read(name) for name in os.listdir(self.dir) if name.startswith("status.")]
        self.assertEqual(statuses, [b"%d\n" % status] * sum(group[0] for group in groups), err)
        for name in os.listdir(self.dir):
            if name.startswith("status."):
                os.unlink(self.path(name))
        told = [line for line in err.splitlines() if line.startswith("rowscan:")]
        self.assertEqual(len(told), 1, err)
        self.assertIn(message, told[0])
        self.assertEqual(out, "")
        self.assertEqual(self.listing(), before)
        self.assertEqual(os.listdir(self.path("other")), ["in.npy"])

    def test_all_ranks(self):
        """What each of them finds says no number; what only the first one does, its."""
        os.mkdir(self.path("directory"))
        with open(self.path("short.npy"), "wb") as file:
            file.write(self.read("in.npy")[:-1])
        np.save(self.path("mask.npy"), np.ones((50, 4001), "?"))
        for status, message, *args in [
                (1, "scan: no.npy: cannot be opened: No such file", "no.npy", "out.npy"),
                (1, "scan: short.npy: truncated data", "short.npy", "out.npy"),
                (1, "scan: mask.npy: field 'shape': (50, 4001), but", "--mask=mask.npy", "in.npy", "out.npy"),
                (1, "scan: in.npy: --dim: 2 is not between", "--dim=2", "in.npy", "out.npy"),
                (1, "scan: rank 0: no/out.npy: its directory cannot be opened", "in.npy", "no/out.npy"),
                (1, "scan: rank 0: directory: cannot be written: Is a directory", "in.npy", "directory"),
                (2, "scan: --mpi: IN.npy is '-', but ranks", "-", "out.npy"),
                (2, "scan: --mpi: OUT.npy is '-', but ranks", "in.npy", "-"),
                (2, "scan: --engine: cuda, but --mpi", "--engine=cuda", "in.npy", "out.npy"),
                (2, "scan: --device: 0 is the number of a GPU, but --mpi", "--device=0", "in.npy", "out.npy"),
                (2, "scan: --devices: '0,1' are numbers of GPUs, but --mpi", "--devices=0,1", "in.npy", "out.npy"),
                (2, "scan: unknown option '--no'", "--no", "in.npy", "out.npy"),
                (2, "scan: rank 0: --second: 'out.npy' is the same", "--op=argmax", "--second=out.npy", "in.npy",
                 "out.npy")]:
            with self.subTest(args=args):
                self.all_fail(status, message, (3, PROGRAM, "scan", "--mpi", *args))

    def test_status(self):
        """That of mpirun, which ends ranks that it still finds."""
        self.ranks(2, "no.npy", "out.npy", status=1)
        self.ranks(2, "--no", status=2)

    def test_one_rank(self):
        """In another directory, under other limits: the message has its number."""
        scan = [PROGRAM, "scan", "--mpi", "in.npy", "out.npy"]
        there = lambda *words: ["env", "-C", self.path("other"), *words]
        with self.subTest("an input that only some have"):
            os.rename(self.path("other/in.npy"), self.path("other.npy"))
            os.mkdir(self.path("nothing"))
            os.rename(self.path("other.npy"), self.path("other/in.npy"))
            self.all_fail(1, "scan: rank 2: in.npy: cannot be opened", (2, *scan),
                          (1, "env", "-C", self.path("nothing"), *scan))
        with self.subTest("another command line"):
            self.all_fail(1, "scan: --mpi: rank 1 has other arguments than rank 0", (1, *scan), (1, *scan, "--reverse"))
        with self.subTest("an input of another shape"):
            self.all_fail(1, "scan: in.npy: rank 1 found another array than rank 0", (1, *scan), (2, *there(*scan)))
        with self.subTest("a directory that not all see"):
            scan[-2] = self.path("in.npy")
            self.all_fail(1, "scan: rank 1: out.npy: the temporary file that was created", (1, *scan),
                          (1, *there(*scan)))
        with self.subTest("a disk that is full for one"):
            self.all_fail(1, "scan: rank 1: out.npy: cannot be written: File too large", (1, *scan),
                          (1, "sh", "-c", 'ulimit -f 300; "$@"', "sh", *scan))
        with self.subTest("the same, and the others want its pieces"):
            np.save(self.path("in.npy"), np.ones((300001, 16), "f4"))
            self.all_fail(1, "scan: rank 1: out.npy: cannot be written: File too large", (1, *scan),
                          (1, "sh", "-c", 'ulimit -f 300; "$@"', "sh", *scan))

    def test_no_permission(self):
        """Root may write everywhere, so that it becomes somebody else."""
        os.mkdir(self.path("closed"), 0o555)
        root = os.geteuid() == 0
        if root:
            os.chmod(WORK, 0o755)
            os.chown(self.dir, ANYONE, ANYONE)
            self.user = {"user": ANYONE, "group": ANYONE, "extra_groups": []}
            self.env["HOME"] = self.dir
        self.all_fail(1, "scan: rank 0: closed/out.npy: cannot be created: Permission denied",
                      (3, PROGRAM, "scan", "--mpi", "in.npy", "closed/out.npy"))
        if root:  # a file whose owner may not open it, but others: the new one has its rights
            with open(self.path("theirs.npy"), "wb") as file:
                os.fchmod(file.fileno(), 0o002)
            self.all_fail(1, "scan: theirs.npy: the temporary file that was created",
                          (1, PROGRAM, "scan", "--mpi", "in.npy", "theirs.npy"))

    @unittest.skipIf(os.environ.get("RS_SANITIZE"), "a sanitizer wants to be the first library")
    def test_killed(self):
        """A rank that is killed as it writes: the others end, and remove the file."""
        with open(self.path("die.c"), "w") as file:
            file.write("#include <signal.h>\n#include <unistd.h>\n"
                       "int fsync(int file) { return kill(getpid(), SIGKILL) + file; }\n")
        self.call([*shlex.split(os.environ.get("CC") or "cc"), "-shared", "-fPIC", "-o", "die.so", "die.c"])
        before, scan = self.listing(), [PROGRAM, "scan", "--mpi", "in.npy", "out.npy"]
        for words in (["-n", "2", *scan, ":", "-n", "1", "env", "LD_PRELOAD=./die.so", *scan],
                      ["-n", "1", "env", "LD_PRELOAD=./die.so", *scan, ":", "-n", "2", *scan]):
            done = subprocess.run(["mpirun", *words], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertEqual(self.listing(), before, done.stdout)

    def test_without_mpi(self):
        """The command of this build, unless it was configured with MPI."""
        done = subprocess.run([ROWSCAN, "scan", "--mpi", "no.npy", "out.npy"], cwd=self.dir, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^rowscan: scan: (--mpi: this command was built without MPI; .* --with-mpi to "
                                      "configure|no.npy: cannot be opened: No such file or directory)\n$")


if __name__ == "__main__":
    if LOT > 1:
        print(f"RS_LOT={LOT} RS_SEED={SEED}", flush=True)
    unittest.main(verbosity=2)
