#!/usr/bin/env python3
"""examples.py - the programs of examples/, built against an installed rowscan as users build them, and run
SPDX-License-Identifier: MIT

Those that use a stream run on the simulated GPU of tests/simt. Where cuda.h, CMake, Rust or root's rights are missing,
what needs them is left out. With RS_LOT the fleet of the container is one GPU, drawn by RS_SEED (tests/support/lot.h).
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")
SIMT = os.environ.get("RS_SIMT", "")
CUDA = next((place for place in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda") if
             os.path.exists(os.path.join(place, "include", "cuda.h"))), None)
CC, CXX = os.environ.get("CC") or "cc", os.environ.get("CXX") or "c++"
FLAGS = os.environ.get("RS_SANITIZE", "").split()
LOT, SEED = int(os.environ.get("RS_LOT") or 1), int(os.environ.get("RS_SEED") or time.time())
FLEET = ["sm_80", "sm_89", "sm_90", "sm_100"]
FLEET = FLEET if LOT == 1 else FLEET[SEED % 4:][:1]
FIRST_SUMS = "the sums of the first four tokens: 0.5 0.75 0.875 0.9375\n"
SOME_USER = 54321
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")  # the harness's make is another make's business


def run(*command, env=None, cwd=None, status=0):
    done = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=540)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}, not {status}\n{done.stdout}")
    return done.stdout


DEST = os.path.join(tempfile.gettempdir(), f"rowscan-examples-{os.getpid()}")


def setUpModule():
    """rowscan as `make install` leaves it, below a directory of its own."""
    os.mkdir(DEST, 0o755)
    unittest.addModuleCleanup(shutil.rmtree, DEST, ignore_errors=True)
    env = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    run(os.environ.get("MAKE") or "make", "install", f"DESTDIR={DEST}", env=env)


def installed(path):
    found = glob.glob(f"{DEST}/**/{path}", recursive=True)
    assert len(found) == 1, f"{path}: {found}"
    return found[0]


class Installed(unittest.TestCase):
    """What users have of it, and a directory to build in."""
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="rowscan-examples-")
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.pc = os.path.dirname(installed("pkgconfig/rowscan.pc"))
        self.lib = os.path.dirname(self.pc)
        if not os.path.exists(os.path.join(self.lib, "librowscan.so")):
            self.skipTest("no shared library")
        self.env = {**os.environ, "PKG_CONFIG_LIBDIR": self.pc, "LD_LIBRARY_PATH": self.lib,
                    "ROWSCAN_CACHE_DIR": os.path.join(self.work, "cache")}
        self.env.pop("PKG_CONFIG_SYSROOT_DIR", None)

    def on_simulated_gpu(self):
        if not os.path.exists(os.path.join(SIMT, "libcuda.so.1")):
            self.skipTest("the simulated GPU is not built")
        if not CUDA:
            self.skipTest("no cuda.h")
        self.env["LD_LIBRARY_PATH"] = f"{SIMT}:{self.lib}"
        self.env["ROWSCAN_NVRTC"] = os.path.join(SIMT, "libnvrtc.so.13")

    def build(self, source, *more):
        """The program, built without a warning as the comment at its top says."""
        program = os.path.join(self.work, os.path.splitext(os.path.basename(source))[0])
        cpp = source.endswith(".cpp")
        pkg = run(os.environ.get("PKG_CONFIG") or "pkg-config", "--cflags", "--libs", "rowscan", env=self.env).split()
        compiler = [*CXX.split(), "-std=c++17"] if cpp else [*CC.split(), "-std=c11"]
        run(*compiler, "-Wall", "-Wextra", "-pedantic", "-Werror", *FLAGS, "-o", program,
            os.path.join(EXAMPLES, source), *pkg, *more)
        return program

    def build_for_cuda(self, source):
        self.on_simulated_gpu()
        return self.build(source, "-isystem", os.path.join(CUDA, "include"), f"-L{SIMT}", "-lcuda")

    def try_cxx(self):
        if not shutil.which(CXX.split()[0]):
            self.skipTest("no C++ compiler")


class Programs(Installed):
    def test_top_p(self):
        """The tokens kept are those of exact sums of 1 / (k + shift), whose rows differ."""
        out = run(self.build_for_cuda("top_p.c"), "3", "4000", env=self.env)
        kept = []
        for shift in range(1, 6):
            weights = [1 / (k + shift) for k in range(4000)]
            total, count = 0, 0
            while total < 0.9 * sum(weights):
                total, count = total + weights[count], count + 1
            kept.append(count)
        for step, line in enumerate(out.splitlines()):
            self.assertEqual(line, "step {} keeps {} {} {} tokens".format(step, *kept[step:step + 3]))
        self.assertEqual(out.count("\n"), 3)

    def test_top_p_in_cxx17(self):
        self.try_cxx()
        program = self.build_for_cuda("top_p.cpp")
        self.assertEqual(run(program, "4000", env=self.env), FIRST_SUMS)
        self.assertIn(" acc=fixed:60 ", run(program, "--specs", "4000", env=self.env))
        self.env["ROWSCAN_CACHE"] = "only"
        out = run(program, "4001", env=self.env, status=1)
        self.assertRegex(out, "^engine: ROWSCAN_NOT_CACHED: .* sm_90, .* length=4001 ")

    def test_chunks(self):
        self.assertRegex(run(self.build("chunks.c"), env=self.env), r"^\d\d chunks, sums .* the bits of one scan\n$")


    @unittest.skipUnless(shutil.which("mpicc") and shutil.which("mpirun"), "no MPI")
    def test_mpi(self):
        """With the MPI at hand, as its compiler's flags have it."""
        flags = run("mpicc", "-show").split()[1:]
        program = self.build("mpi.c", *(flag.replace("-I", "-isystem", 1) for flag in flags))
        env = {**self.env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "ASAN_OPTIONS": "detect_leaks=0"}  # MPI's are many
        for ranks in (1, 3):
            self.assertIn(f"{ranks} processes, 100003 elements, ",
                          out := run("mpirun", "-n", str(ranks), program, "100003", env=env))
            self.assertIn("the bits of one process", out)


@unittest.skipUnless(shutil.which("cmake"), "no CMake")
class CMake(Installed):
    def configure(self, folder, build):
        """With $CC and its arguments, which CMake takes from the environment."""
        return run("cmake", "-S", folder, "-B", build, "-DCMAKE_C_FLAGS=" + " ".join(["-Wall -Wextra -Werror", *FLAGS]),
                   f"-DCMAKE_PREFIX_PATH={os.path.dirname(self.lib)}", env={**self.env, "CC": CC})

    def project(self, *lines):
        """A folder with these lines, and two to begin with."""
        folder = os.path.join(self.work, "project")
        os.mkdir(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w") as file:
            file.write("\n".join(["cmake_minimum_required(VERSION 3.19)", *lines, ""]))
        return folder

    def test_columns(self):
        build = os.path.join(self.work, "build")
        self.configure(os.path.join(EXAMPLES, "columns"), build)
        run("cmake", "--build", build, env=self.env)
        self.env["OMP_NUM_THREADS"] = "3"
        self.assertIn("pressure at the bottom", run(os.path.join(build, "columns"), env=self.env))

    def test_versions(self):
        """Those that find_package accepts, and those that it does not; and a target is made once."""
        version = tuple(map(int, os.environ["VERSION"].split(".")))
        series, exact = "{}.{}".format(*version), "{}.{}.{}".format(*version)
        later = ["{}.{}".format(version[0], version[1] + 1), f"{series}.{version[2] + 1}", f"{version[0] + 1}"]
        good = ["", series, exact, f"{exact} EXACT", f"{series}...{later[0]}", f"0.0.1...{exact}",
                f"0.0.1...<{later[0]}"]
        bad = [*later, "0.0.9", f"0.0.1...<{exact}", "0.0.1...0.0.9", f"{later[0]}...9"]
        lines = []
        for text in good + bad:
            lines += ["unset(rowscan_DIR CACHE)", f"find_package(rowscan {text} QUIET CONFIG)",
                      f'message("{text}: ${{rowscan_FOUND}}")']
        out = self.configure(self.project("project(versions NONE)", *lines), os.path.join(self.work, "build"))
        for text in good + bad:
            self.assertIn(f"\n{text}: {int(text in good)}\n", "\n" + out)

    def test_static(self):
        if not os.path.exists(os.path.join(self.lib, "librowscan.a")):
            self.skipTest("no static library")
        folder = self.project("project(chunks C)", "find_package(rowscan REQUIRED)", "add_executable(chunks chunks.c)",
                              "target_link_libraries(chunks PRIVATE rowscan::rowscan_static)")
        shutil.copy(os.path.join(EXAMPLES, "chunks.c"), folder)
        self.configure(folder, folder)
        run("cmake", "--build", folder, env=self.env)
        program = os.path.join(folder, "chunks")
        self.assertNotIn("librowscan", run(os.environ.get("READELF") or "readelf", "-d", program))
        self.assertIn("the bits of one scan", run(program))


class Rust(Installed):
    def test_runs(self):
        if FLAGS:
            self.skipTest("Rust does not link the sanitizers of C")
        if not shutil.which("cargo") or subprocess.run(["cargo", "--version"], stdout=subprocess.DEVNULL).returncode:
            self.skipTest("no cargo")
        folder = os.path.join(self.work, "rust")
        shutil.copytree(os.path.join(EXAMPLES, "rust"), folder)
        run("chmod", "-R", "u+w", folder)
        self.env["RUSTFLAGS"] = "-D warnings"
        out = run("cargo", "run", "--quiet", "--offline", cwd=folder, env=self.env)
        self.assertEqual(out, "[6.0, 5.0, 3.0, 60.0, 50.0, 30.0]\n")

    def test_declares_what_the_header_has(self):
        """Sizes and offsets of its structs, values of its constants, and the calls: asked of the C compiler."""
        with open(os.path.join(EXAMPLES, "rust", "main.rs")) as file:
            text = re.sub(r"//.*", "", file.read())
        sizes = {"c_int": 4, "c_uint": 4, "usize": 8, "f64": 8, "Array": 40}
        asserts = [f'_Static_assert((int)ROWSCAN_{name} == {value}, "{name}");'
                   for name, value in re.findall(r"const (\w+): \w+ = (\d+);", text)]
        self.assertGreaterEqual(len(asserts), 4)
        for struct, body in re.findall(r"struct (\w+) \{(.*?)\n\}", text, re.DOTALL):
            c_struct = {"Array": "rowscan_input", "Problem": "rowscan_problem"}[struct]
            at = 0
            for field, kind in re.findall(r"(\w+): ([^\n]+),\n?", body):
                count = int(re.search(r"; (\d+)\]", kind)[1]) if "[" in kind else 1
                element = re.sub(r"^\[|; \d+\]$", "", kind)
                size = 8 if element.startswith("*") else sizes[element]
                at += -at % min(size, 8)
                name = {"kind": "type"}.get(field, field)
                asserts.append(f'_Static_assert(offsetof({c_struct}, {name}) == {at}, "{field}");')
                at += size * count
            asserts.append(f'_Static_assert(sizeof({c_struct}) == {at + -at % 8}, "{struct}");')
        for name in re.findall(r"fn (rowscan_\w+)", text):
            asserts.append(f"const void *const use_{name} = (const void *){name};")
        source = os.path.join(self.work, "layout.c")
        with open(source, "w") as file:
            file.write("#include <stddef.h>\n#include <rowscan.h>\n" + "\n".join(asserts) + "\n")
        run(*CC.split(), "-std=gnu11", "-fsyntax-only", "-I", os.path.dirname(installed("include/rowscan.h")), source)


@unittest.skipIf(FLAGS, "sanitizers want more of a system than an image has")
@unittest.skipIf(os.geteuid() != 0, "only root may change its root directory")
class Container(Installed):
    """The build and the image of examples/container, without a container engine: the Dockerfile's lines for the image
    fill a folder, which is then the root directory of a user whom it does not know. The GPUs are simulated."""

    def build_pack(self):
        self.on_simulated_gpu()
        self.try_cxx()
        self.program = self.build_for_cuda("top_p.cpp")
        self.env["ARCHS"] = ",".join(FLEET)
        self.env["PATH"] = f"{os.path.dirname(installed('bin/rowscan'))}:{self.env['PATH']}"
        pack = os.path.join(self.work, "top_p.pack")
        run(os.path.join(EXAMPLES, "container", "build.sh"), self.program, pack, env=self.env)
        return pack

    def needed(self, program):
        """Libraries of the machine that stand for those of the base image."""
        return re.findall(r"(/\S+) \(0x", run("ldd", program, env=self.env))

    def make_image(self, pack):
        """Does what the Dockerfile's second stage says, and returns the folder and the environment."""
        image, variables = os.path.join(self.work, "image"), {}
        library, command = os.path.join(self.lib, "librowscan.so.1"), installed("bin/rowscan")
        built = {"/usr/local/lib/librowscan.so.1": library, "/usr/local/bin/rowscan": command,
                 "/usr/local/bin/top_p": self.program, "/top_p.pack": pack}
        for path in self.needed(self.program) + self.needed(command):
            if not path.startswith((DEST, SIMT)):
                os.makedirs(image + os.path.dirname(path), exist_ok=True)
                shutil.copy(path, image + path)
        with open(os.path.join(EXAMPLES, "container", "Dockerfile")) as file:
            lines = file.read().replace("\\\n", "").split("\nFROM ")[2].splitlines()
        for line in lines:
            word, *rest = line.split() or ["#"]
            if word == "COPY":
                source, target = rest[-2], image + rest[-1]
                if target.endswith("/"):
                    target += os.path.basename(source)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(built[source], target)
                run("chown", "0:0", target)
                for mode in [word.split("=")[1] for word in rest if word.startswith("--chmod=")]:
                    run("chmod", mode, target)
            elif word == "ENV":
                variables.update(setting.split("=") for setting in rest)
        # Mounted by NVIDIA's runtime, and what the simulated driver wants for itself.
        shutil.copy(os.path.join(SIMT, "libcuda.so.1"), image + "/usr/local/lib")
        os.makedirs(image + "/simt")
        for name in ["device.cuh", "races.cuh", "runtime.h"]:
            shutil.copy(os.path.join(os.path.dirname(HERE), "simt", name), image + "/simt")
        variables.update({name: value for name, value in self.env.items() if name.startswith("SIMT_CXX")})
        variables["SIMT_DIR"] = "/simt"
        os.makedirs(image + "/tmp")
        os.chmod(image + "/tmp", 0o1777)
        os.makedirs(image + "/etc", exist_ok=True)
        with open(image + "/etc/ld.so.conf", "w") as file:
            file.write("/usr/local/lib\n" + "\n".join({os.path.dirname(path) for path in self.needed(self.program)}))
        run("ldconfig", "-r", image)
        return image, variables

    def in_image(self, image, variables):
        """What runs a command there: no HOME, no name, nothing of this environment."""
        os.chmod(self.work, 0o755)
        settings = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin", **variables}
        return ["env", "-i", *[f"{name}={value}" for name, value in settings.items()],
                "chroot", f"--userspec={SOME_USER}:{SOME_USER}", image]

    def test_fleet(self):
        image, variables = self.make_image(self.build_pack())
        check = os.path.join(EXAMPLES, "container", "check.sh")
        run(check, *self.in_image(image, variables), env=self.env)
        for arch in FLEET:
            run_there = self.in_image(image, {**variables, "SIMT_ARCH": arch[3:]})
            self.assertIn(FIRST_SUMS, run(*run_there, "top_p"))
        # Another vocabulary has no kernels: the engine does not start, and names the kernel. Nor has another GPU: the
        # check names it.
        arch, other = FLEET[-1], "50257"
        run_there = self.in_image(image, {**variables, "SIMT_ARCH": arch[3:]})
        self.assertRegex(run(*run_there, "top_p", other, status=1), f"NOT_CACHED: .* {arch}, .* length={other} ")
        why = run(*run_there, "rowscan", "cache", "why", "--arch", arch, f"in=f32 acc=fixed:60 length={other}")
        self.assertRegex(why, rf"{arch} .*: miss: the nearest entry, .*\n  length +128256, not {other}\n")
        out = run(check, *run_there, env={**self.env, "ARCHS": f"{arch},sm_120"}, status=1)
        self.assertRegex(out, r"standard input:1: sm_120: .* length=128256 ")
        self.assertNotIn(f" {arch}", out)
        # A pack that others may write is not read.
        os.chmod(image + "/usr/lib/top_p/packs/top_p.pack", 0o666)
        run(*run_there, "top_p", status=1)
        # Nothing was written.
        self.assertEqual(os.listdir(image + "/tmp"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
