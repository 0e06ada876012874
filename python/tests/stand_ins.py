#!/usr/bin/env python3
"""stand_ins.py - empty libraries under the names of NVIDIA's, so that torch's CUDA builds import without CUDA
SPDX-License-Identifier: MIT

    python3 stand_ins.py PACKAGES OUT           PACKAGES: the folder that torch was installed in (site-packages)
    LD_LIBRARY_PATH=OUT python3 -c 'import torch'

What PyPI calls torch is a build for CUDA, which links to a dozen of NVIDIA's libraries, of several GB in all. A test on
the CPU calls none of them, but the dynamic loader wants each name, with all of the symbols and symbol versions that
torch refers to: one C function and one line of a version script a symbol, compiled by CC (default: gcc). The stand-in
for the driver has the calls that rowscan asks a driver for, too. Both take this for a machine with a driver and no GPU:
what starts CUDA or counts the GPUs returns NO_DEVICE, and all others do nothing and return 0. Prints the libraries,
none where torch needs none.
"""
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NVIDIA = re.compile(r"lib(cu|nccl|nv)\w*\.so")
NO_DEVICE = 100
FAILING = ("cudaGetDeviceCount", "cuInit")
DRIVER = "libcuda.so.1"
CALLS = Path(__file__).resolve().parents[2] / "src/gpu/cuda.h"


def readelf(option, library):
    command = ["readelf", "--wide", option, library]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def references(libraries):
    """The names of the libraries that these need, and of each the symbols that are asked of it, by version."""
    needed, versioned, bare = set(), defaultdict(lambda: defaultdict(set)), set()
    for library in libraries:
        needed.update(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", library)))
        owner, name = {}, None
        for line in readelf("--version-info", library).splitlines():
            if match := re.search(r"Version: \d+  File: (\S+)", line):
                name = match[1]
            elif name and (match := re.search(r"Name: (\S+)  Flags", line)):
                owner[match[1]] = name
        for symbol, version in re.findall(r" UND (\w+)(?:@(\S+))?", readelf("--dyn-syms", library)):
            if version:
                versioned[owner[version]][version].add(symbol)
            elif re.match("cu|nccl|nv", symbol):
                bare.add(symbol)
    return needed, versioned, bare


def share_out(bare, names):
    """Symbols without a version go to the library whose name they begin with; CUDA's driver has the others."""
    shares = defaultdict(set)
    stems = {re.match("lib([a-z]+)", name.lower())[1]: name for name in names}
    for symbol in bare:
        stem = max((s for s in stems if symbol.lower().startswith(s)), key=len, default="cuda")
        shares[stems.get(stem)].add(symbol)
    return shares


def compile_one(path, symbols, versions):
    """A library of functions without a version, and of those of each version."""
    def function(symbol):
        return f"int {symbol}(void) {{ return {NO_DEVICE if symbol in FAILING else 0}; }}\n"

    command = [os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-fno-builtin", "-w", "-x", "c", "-", "-o", path,
               f"-Wl,-soname,{path.name}"]
    if versions:
        script = path.with_suffix(".map")
        script.write_text("".join(f"{version} {{ {' '.join(f'{s};' for s in sorted(names))} }};\n"
                                  for version, names in sorted(versions.items())))
        command.append(f"-Wl,--version-script={script}")
    source = "".join(map(function, sorted(symbols.union(*versions.values()))))
    subprocess.run(command, input=source, check=True, text=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    packages, out = map(Path, sys.argv[1:])
    libraries = [*packages.glob("torch/lib/*.so*"), *packages.glob("torch/_C.*.so")]
    if not libraries:
        sys.exit(f"stand_ins.py: there is no torch in {packages}")
    needed, versioned, bare = references(libraries)
    names = sorted(name for name in needed - {library.name for library in libraries} if NVIDIA.match(name))
    shares = share_out(bare, [name for name in names if name not in versioned])
    shares[DRIVER].update(re.findall(r"\bX\((cu[A-Z]\w+),", CALLS.read_text()))
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        compile_one(out / name, shares[name], versioned[name])
        print(out / name)


main()
