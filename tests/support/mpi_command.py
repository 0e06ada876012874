"""mpi_command.py - the command with MPI, made of the objects of a build without it

SPDX-License-Identifier: MIT

`configure --with-mpi` adds one file, and compiles main.c with a macro.
"""
import os
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def flags_of_mpi():
    """What mpicc gives to its compiler; warnings of its headers are not ours. None: there is no MPI to run."""
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        return None
    done = subprocess.run(["mpicc", "-show"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return [flag.replace("-I", "-isystem", 1) for flag in shlex.split(done.stdout)[1:]] or None


def link_command(build, program):
    """Compiles main.c and ranks_mpi.c, and links them as Makefile.am does. Raises CalledProcessError."""
    names = ("librowscan_cli.a", "librowscan_internal.a", "librowscan_bare.a")
    libraries = [str(Path(build) / ".libs" / name) for name in names]
    subprocess.run([*shlex.split(os.environ.get("CC") or "cc"), "-std=gnu11", "-Wall", "-Wextra", "-Werror",
                    "-DROWSCAN_MPI", "-D_GNU_SOURCE=", "-I", str(ROOT / "src"), "-o", str(program),
                    str(ROOT / "src/cli/main.c"), str(ROOT / "src/cli/ranks_mpi.c"), *libraries, *flags_of_mpi(),
                    *shlex.split(os.environ.get("RS_SANITIZE", "")), "-pthread", "-ldl", "-lm"], check=True)


def environment_of_mpi(env):
    """For mpirun as root, with more ranks than processors. MPI leaks, which a sanitizer would tell."""
    return {**env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "ASAN_OPTIONS": env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
