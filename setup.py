"""setup.py - builds rowscan._core, the extension module, with the static library inside
SPDX-License-Identifier: MIT

The library is described once, for Autotools: it is configured and made in the temporary folder of the build, or taken
from ROWSCAN_BUILD, the build folder of a tree that was configured and made already. CC, CFLAGS, CPPFLAGS and LDFLAGS
hold for the library and the extension. Whichever CPython makes the wheel, it serves all from 3.10 on (the stable ABI).
"""
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import ExecError, LinkError

ROOT = Path(__file__).resolve().parent
CORE = "python/core"
DEBIAN = ("Debian: apt-get install build-essential libxxhash-dev libpython3-dev, and for a checkout of the repository "
          "autoconf automake libtool pkg-config")

# The command, which `python -m rowscan` is, and what it and the extension are linked with.
LIBRARIES = ("librowscan_cli", "librowscan")

# What autoreconf and `make` read for them.
LIBRARY_SOURCES = ("Makefile.am", "configure.ac", "cache", "kernels", "src")


def version():
    """The version of the library, from the one place where it is written."""
    numbers = re.findall(r"^#define ROWSCAN_VERSION_[A-Z]+ +(\d+)$", (ROOT / "src/rowscan.h").read_text(), re.MULTILINE)
    assert len(numbers) == 3, "src/rowscan.h: no version"
    return ".".join(numbers)


def refuse_other_pythons():
    """Ends the build where its result could not be imported."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit(f"rowscan: {sys.executable} is a free-threaded Python 3.{sys.version_info[1]}, which does not load "
                 "extensions of the stable ABI, as rowscan's is; use a Python with the GIL")
    if sys.implementation.name != "cpython":
        sys.exit(f"rowscan: {sys.executable} is {sys.implementation.name}, which does not load extensions of CPython's "
                 "stable ABI, as rowscan's is; use CPython 3.10 or later")


def run(folder, *command):
    """Runs a command, whose messages are the user's to read."""
    try:
        subprocess.run(command, cwd=folder, check=True)
    except FileNotFoundError:
        raise ExecError(f"rowscan: the build needs {command[0]}, which is not installed ({DEBIAN})") from None
    except subprocess.CalledProcessError as error:
        raise ExecError(f"rowscan: {Path(command[0]).name} failed with status {error.returncode} in {folder}; what it "
                        f"said stands above ({DEBIAN})") from None


class Build(build_ext):
    def run(self):
        if not Path(sysconfig.get_path("include"), "Python.h").exists():
            raise ExecError(f"rowscan: the build needs Python.h, Python's headers, and {sysconfig.get_path('include')} "
                            f"has none ({DEBIAN})")
        if given := os.environ.get("ROWSCAN_BUILD"):
            build = Path(given).resolve()
        else:
            build = self.make_libraries(Path(self.build_temp).resolve() / "library")
        libraries = [build / ".libs" / f"{name}.a" for name in LIBRARIES]
        for library in libraries:
            if not library.exists():
                raise ExecError(f"rowscan: ROWSCAN_BUILD is {given}, and there is no {library}: it names the folder in "
                                "which rowscan was configured (without --disable-static) and made")
        for extension in self.extensions:
            extension.extra_objects += map(str, libraries)
            extension.depends += map(str, libraries)
        super().run()

    def make_libraries(self, folder):
        source = ROOT
        if not (ROOT / "configure").exists():
            # A checkout, which is left as it is.
            source = folder / "source"
            for name in LIBRARY_SOURCES:
                copy = shutil.copy2 if (ROOT / name).is_file() else shutil.copytree
                shutil.rmtree(source / name, ignore_errors=True)
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                copy(ROOT / name, source / name)
            run(source, "autoreconf", "-i")
        build = folder / "build"
        build.mkdir(parents=True, exist_ok=True)
        if not (build / "config.status").exists():
            # C++ and pkg-config's Check are for the tests of the library.
            run(build, source / "configure", "--quiet", "--disable-shared", "--with-pic", "CXX=no", "PKG_CONFIG=false")
        jobs = self.parallel or len(os.sched_getaffinity(0))
        run(build, os.environ.get("MAKE", "make"), "-s", f"-j{jobs}", *(f"{name}.la" for name in LIBRARIES))
        return build

    def build_extension(self, extension):
        try:
            super().build_extension(extension)
        except LinkError as error:
            raise LinkError(f"rowscan: {error}; is {extension.extra_objects[-1]} position-independent (configured "
                            "with a shared library beside it, or with --with-pic)?") from None


refuse_other_pythons()
core = Extension(
    "rowscan._core",
    sources=sorted(os.path.relpath(path, ROOT) for path in (ROOT / CORE).glob("*.c")),
    depends=sorted(os.path.relpath(path, ROOT) for path in [*(ROOT / CORE).glob("*.h"), ROOT / "src/rowscan.h"]),
    include_dirs=["src", CORE],
    define_macros=[("Py_LIMITED_API", "0x030A0000")],
    extra_compile_args=["-std=gnu11", "-fvisibility=hidden", "-fexceptions", "-pthread"],
    # The names of the library are the extension's alone, and threads of the library outlive a module: never unloaded.
    extra_link_args=[f"-Wl,--version-script={CORE}/exports.map", "-Wl,-z,nodelete", "-Wl,--strip-debug", "-pthread"],
    libraries=["dl", "m"],
    py_limited_api=True,
)
setup(
    version=version(),
    ext_modules=[core],
    cmdclass={"build_ext": Build},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
