#!/usr/bin/env python3
# docs.py - the pages that people read are true: every code block runs, every link leads somewhere
# SPDX-License-Identifier: MIT
"""usage: docs.py [WORD...]: only pages whose name has one of these words.

Each page has a folder of its own, in which its blocks run one after another; python/tests/test_tour.py runs those of
Python. By kind:

  c           A program is built against an installed rowscan, and runs; a block without main() does in
              tests/support/stand_in/fragment.c. One with a name (```c NAME.c) for which no output is shown is for a
              shell to run, as ./NAME. What takes a GPU runs on the simulated one, with a stand-in for the CUDA runtime;
              else it runs on the host engine and, if it has main(), on the simulated GPU as well.
  cpp         Is the file NAME: an operator, for the command.
  sh          Runs as it stands there, with the built command. What changes the machine (STUBS) is looked up: the
              target of make exists, configure has the option. With mpirun the command is one that has MPI, if there
              is one here. In a block with the name `image` it runs in what the
              dockerfile before made, as a user without a name or a home, if this is root.
  cmake       Builds the page's last program.
  dockerfile  COPY and ENV are done in a folder; other instructions are read.

Prints a line for each block, and ends with 1 if one failed.
"""
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from blocks import PAGES, TOUR, blocks, is_output  # noqa: E402
from mpi_command import environment_of_mpi, flags_of_mpi, link_command  # noqa: E402

STAND_IN = ROOT / "tests" / "support" / "stand_in"
BUILD = Path(os.environ["ROWSCAN"]).parent if "ROWSCAN" in os.environ else ROOT / "build"
MOST_WORDS, FIRST_LINES = 900, 40  # of README.md; and of its code, in which there is a stream
ANYONE = 12345                     # a user whom no file knows
TAKES_GPU = re.compile(r"cuda_runtime|ENGINE_CUDA|--op-file|engine[= ]cuda|rowscan (warm|compile|cache)|^\./", re.M)


class Wrong(Exception):
    pass


class Skipped(Exception):
    pass


# ---- commands that change the machine are looked up ------------------------------------------------------------------


def options_of(words):
    return [word.split("=")[0] for word in words if word.startswith("-")]


def makes(*words):
    """There are such targets."""
    makefile = (BUILD / "Makefile").read_text(encoding="utf-8")
    words = words[2:] if words[:1] == ("-C",) else words
    for target in (word for word in words if "=" not in word and not word.startswith("-")):
        if not re.search(f"^{re.escape(target)}:", makefile, re.M):
            raise Wrong(f"make {target}: no such target")


def configures(*words):
    told = (ROOT / "configure.ac").read_text(encoding="utf-8")
    for option in options_of(words):
        stem, _, name = option[2:].partition("-")
        if option not in ("--prefix", "--host", "--libdir") and f"AC_ARG_{stem.upper()}([{name}]" not in told:
            raise Wrong(f"configure {option}: no such option")


def bootstraps(what):
    if what not in re.search(r"usage: ./bootstrap (.*)", (ROOT / "bootstrap").read_text(encoding="utf-8"))[1].split():
        raise Wrong(f"bootstrap {what}: no such word")


def runs_ci(*words):
    if set(words) - {"all"}:
        raise Wrong(f".ci/run {' '.join(words)}: no such words")


def ignores(*_words):
    pass


STUBS = {"make": makes, "configure": configures, "bootstrap": bootstraps, "run": runs_ci, "autoreconf": ignores,
         "apt-get": ignores, "docker": ignores, "pip": ignores, "sudo": ignores}


def stub(name, words):
    try:
        STUBS[name](*words)
    except Wrong as error:
        sys.exit(f"docs: {error}")


# ---- an installed rowscan, and a folder for a page -------------------------------------------------------------------


class Installed:
    """What `make install` makes, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKEF", "MFLAGS", "MAKEL"))}
        done = subprocess.run([os.environ.get("MAKE", "make"), "-C", str(BUILD), "install", f"DESTDIR={folder}"],
                              capture_output=True, text=True, env=env, check=False)
        if done.returncode:
            raise Wrong(f"make install failed:\n{done.stdout}{done.stderr}")
        self.pkgconfig = next(folder.rglob("rowscan.pc")).parent
        self.lib = self.pkgconfig.parent
        self.prefix = self.lib.parent
        self.shared = (self.lib / "librowscan.so").exists()


class Page:
    def __init__(self, path, installed, folder):
        self.path, self.installed, self.folder = path, installed, folder
        self.image, self.image_env, self.program = folder / "image", {}, None
        folder.mkdir(mode=0o755)
        self.bin = folder / ".bin"
        self.bin.mkdir()
        (self.bin / "rowscan").symlink_to(BUILD / "rowscan")
        self.script(self.bin / "python3", f'"{sys.executable}" "$@"')
        self.script(self.bin / "cc", shlex.join([*compiler(), *sanitizers()]) + ' "$@"')
        for name in STUBS:
            place = {"configure": folder, "bootstrap": folder, "run": folder / ".ci"}.get(name, self.bin)
            # The blocks' environment names no build.
            self.script(place / name, f'env ROWSCAN="{BUILD}/rowscan" "{sys.executable}" "{Path(__file__).resolve()}" '
                                      f'--stub {name} "$@"')

    def script(self, path, command):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\nexec {command}\n", encoding="utf-8")
        path.chmod(0o755)

    def environment(self, gpu):
        """As a user has it who installed rowscan; gpu: the simulated one is there, and the compiler."""
        simulated = os.environ.get("RS_SIMT", str(BUILD / "tests" / "simt" / ".libs"))
        if gpu and not Path(simulated, "libcuda.so.1").exists():
            raise Skipped("the simulated GPU is not built")
        env = {key: value for key, value in os.environ.items() if not key.startswith("ROWSCAN")}
        libraries = [str(self.installed.lib), *([simulated] if gpu else []), env.get("LD_LIBRARY_PATH", "")]
        return {**env, "HOME": str(self.folder),
                "LD_LIBRARY_PATH": ":".join(filter(None, libraries)), "ROWSCAN_CACHE_PACKS": "off",
                "ROWSCAN_CACHE_DIR": str(self.folder / "cache"), "ROWSCAN_COMPILE": "now",
                "ROWSCAN_NVRTC": simulated + "/libnvrtc.so.13" if gpu else "/nowhere/libnvrtc.so",
                "SIMT_DIR": env.get("SIMT_DIR", str(ROOT / "tests" / "simt")),
                "SIMT_CACHE_DIR": env.get("SIMT_CACHE_DIR", str(BUILD / "tests" / "simt" / "cache")),
                "PKG_CONFIG_LIBDIR": str(self.installed.pkgconfig), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
                "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}

    def call(self, words, env, cwd=None, user=None):
        done = subprocess.run(words, cwd=cwd or self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600, check=False,
                              **({"user": user, "group": user, "extra_groups": []} if user else {}))
        if done.returncode:
            raise Wrong(f"{shlex.join(map(str, words))} ended with {done.returncode}:\n"
                        f"{done.stdout}{done.stderr}")
        return done.stdout

    # What blocks of a kind do; each returns what was printed, or a list of that.

    def c(self, block):
        whole = "main(" in block.text
        source = self.folder / (block.name if whole and block.name else "program.c" if whole else "fragment.inc")
        source.write_text(block.text, encoding="utf-8")
        program = source.with_suffix("")
        if not self.installed.shared:
            raise Skipped("no shared library")
        flags = shlex.split(self.call(["pkg-config", "--cflags", "--libs", "rowscan"], self.environment(False)))
        self.call([*compiler(), "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem",
                   STAND_IN, *([] if whole else [f'-DFRAGMENT="{source}"']), "-o", program,
                   source if whole else STAND_IN / "fragment.c", *flags, *sanitizers()], self.environment(False))
        if whole:
            self.program = source
        if block.name and block.output is None:
            return []
        only_gpu = TAKES_GPU.search(block.text)
        if only_gpu:
            return self.call([program], self.environment(True))
        where = [False, True] if whole and self.simulates() else [False]
        return [self.call([program], self.environment(gpu)) for gpu in where]

    def cpp(self, block):
        if not block.name:
            raise Wrong("a block of C++ without a file name")
        (self.folder / block.name).write_text(block.text, encoding="utf-8")
        return block.output

    def sh(self, block):
        env, user = self.environment(bool(TAKES_GPU.search(block.text)) or block.name == "image"), None
        env["PATH"] = f"{self.bin}:{env['PATH']}"
        if re.search(r"^mpirun", block.text, re.M):
            env = self.with_mpi(env)
        if block.name == "image":
            env = {**{key: env[key] for key in env if not key.startswith("ROWSCAN")}, "ROWSCAN_NVRTC": "/nowhere",
                   **self.image_env}
            del env["HOME"]
            user = ANYONE if os.geteuid() == 0 else None
        return self.call(["sh", "-eu", "-c", block.text], env, self.image if block.name == "image" else None, user)

    def with_mpi(self, env):
        """Where the command is the one that configure --with-mpi makes."""
        if not flags_of_mpi():
            raise Skipped("no mpicc or no mpirun")
        place = self.folder / ".mpi"
        place.mkdir()
        try:
            link_command(BUILD, place / "rowscan")
        except subprocess.CalledProcessError as error:
            raise Wrong(str(error)) from error
        return environment_of_mpi({**env, "PATH": f"{place}:{env['PATH']}"})

    def cmake(self, block):
        if not shutil.which("cmake") or not self.installed.shared or not self.program:
            raise Skipped("no cmake, no shared library or no program")
        tree = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copy(self.program, tree / "program.c")
        (tree / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.13)\nproject(program C)\n"
                                             f"add_executable(program program.c)\n{block.text}", encoding="utf-8")
        env = self.environment(False)
        self.call(["cmake", "-S", tree, "-B", tree / "build", f"-DCMAKE_C_FLAGS={' '.join(sanitizers())}",
                   f"-DCMAKE_PREFIX_PATH={self.installed.prefix}"], env)
        self.call(["cmake", "--build", tree / "build"], env)
        return self.call([tree / "build" / "program"], env)

    def meson(self, block):
        if "dependency('rowscan'" not in block.text:
            raise Wrong("asks for another dependency than rowscan")
        return block.output

    def dockerfile(self, block):
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
            word, _, rest = line.partition(" ")
            if word == "COPY":
                self.copy(shlex.split(rest))
            elif word == "ENV":
                for setting in shlex.split(rest):
                    name, _, value = setting.partition("=")
                    self.image_env[name] = re.sub(r"(^|:)/", rf"\1{self.image}/", value)
            elif word and word not in ("FROM", "USER", "RUN", "#"):
                raise Wrong(f"{word}: unknown here")
        return block.output

    def copy(self, words):
        options = dict(word[2:].split("=") for word in words if word.startswith("--"))
        *sources, to = (word for word in words if not word.startswith("--"))
        place = self.image / to.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copy(self.folder / source, place)
            (place / Path(source).name).chmod(int(options.get("chmod", "0644"), 8))

    def simulates(self):
        with contextlib.suppress(Skipped):
            return bool(self.environment(True))
        return False


def compiler():
    program, *options = shlex.split(os.environ.get("CC", "cc"))
    return [shutil.which(program) or program, *options]


def sanitizers():
    return shlex.split(os.environ.get("RS_SANITIZE", ""))


# ---- checks ----------------------------------------------------------------------------------------------------------


def run_block(page, block):
    printed = getattr(page, block.kind)(block)
    for got in printed if isinstance(printed, list) else [printed]:
        if block.output is not None and not is_output(block.output, got):
            raise Wrong(f"prints\n{got}and not\n{block.output}")


def anchors(path):
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check_links(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text):
        target, _, anchor = (link[0] or link[1]).partition("#")
        to = path if not target else path.parent / target
        if re.match(r"\w+:", target):
            continue
        if not to.exists():
            raise Wrong(f"links to {target}, which does not exist")
        if anchor and anchor not in anchors(to):
            raise Wrong(f"links to {target}#{anchor}, and there is no such title")


def check_readme():
    """It is short, and a scan on a stream is the first thing that it shows."""
    path = ROOT / "README.md"
    words = len(path.read_text(encoding="utf-8").split())
    if words > MOST_WORDS:
        raise Wrong(f"has {words} words, and {MOST_WORDS} are wanted at most")
    code = "".join(block.text for block in blocks(path)).splitlines()
    if not any("stream" in line for line in code[:FIRST_LINES]):
        raise Wrong(f"shows no stream in its first {FIRST_LINES} lines of code")


def check_examples():
    """The operator that operators.md shows is the one that suites run on a GPU."""
    shown = [block for page in PAGES for block in blocks(page) if block.name == "welford.cuh"]
    first, rest = (ROOT / "tests/gpu/welford.cuh").read_text(encoding="utf-8").split("\n", 1)
    if [block.text for block in shown] != [first + "\n" + re.sub("^//.*\n", "", rest, flags=re.M)]:
        raise Wrong("welford.cuh is not that of tests/gpu")


def check_installed(folder):
    """Whoever has no source tree has the pages, where README.md's links lead."""
    home = next(folder.rglob("NEWS")).parent
    missing = [name for name in (str(page.relative_to(ROOT)) for page in PAGES if page != TOUR)
               if not (home / name).exists()]
    if missing:
        raise Wrong(f"make install leaves out {', '.join(missing)}")


def main():
    if sys.argv[1:2] == ["--stub"]:
        return stub(sys.argv[2], sys.argv[3:])
    wanted, failed = sys.argv[1:], 0

    def attempt(what, call, *arguments):
        nonlocal failed
        try:
            call(*arguments)
            print(f"ok {what}", flush=True)
            return True
        except Skipped as why:
            print(f"skipped {what}: {why}", flush=True)
        except (Wrong, subprocess.TimeoutExpired, OSError, ValueError) as error:
            print(f"FAIL {what}: {error}", flush=True)
            failed += 1
        return False

    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        installed = Installed(Path(work) / "installed")
        attempt("pages are installed", check_installed, installed.folder)
        for number, path in enumerate(PAGES):
            name = str(path.relative_to(ROOT))
            if wanted and not any(word in name for word in wanted):
                continue
            attempt(f"{name}: links", check_links, path)
            if not attempt(f"{name}: kinds of blocks", blocks, path):
                continue
            page = Page(path, installed, Path(work) / str(number))
            for block in blocks(path):
                if block.kind != "python" and path != TOUR:
                    attempt(f"{block.where} {block.kind} {block.name}".rstrip(), run_block, page, block)
    attempt("README.md: size", check_readme)
    attempt("welford.cuh", check_examples)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
