#!/usr/bin/env python3
"""bench_first.py - what the first call of a scan takes: cold, from disk, and from there on

SPDX-License-Identifier: MIT

usage: bench_first.py PROGRAM [--samples N] [--arch sm_90] [--specs REGEX] [--check]

PROGRAM is tests/bench/bench_first, as make check builds it. Each sample is a process of its own; each number is the
median of N. Creating the driver's context and the arrays is done before the clock starts.

  cold   no cache of rowscan's, the driver's own off (CUDA_CACHE_DISABLE=1), and NVRTC's own unused (--no-cache)
  disk   a filled cache, the file in memory: a process that never saw the kernel
  hot    the same process: a plan's run and the one-call form, 200 bursts of 100 calls each, in turn

Columns, in milliseconds unless they say nanoseconds:

  kernels  of the plan, of which a call makes the one that it needs
  alone    nvrtcCompileProgram of the same source in a process that does nothing else
  cold     a plan as the one-call form makes it, to the end of its first launch call, without the dlopen of NVRTC, which
           `dlopen` has
  ratio    cold / alone: at most 1.3
  find     looking for NVRTC, whose build-id is part of the key: when a context with a GPU is opened
  disk     the same from a filled cache: at most 1; of this
  read     reading and verifying entries
  load     the driver's part: cuModuleLoadData and what belongs to it
  scratch  memory of runs that are cut over blocks: allocating it, and telling the GPU to clear it
  launch   the first launch call
  eager    the kernel was on the GPU before the launch, as the driver says
  run      nanoseconds of rowscan_plan_run
  scan     of rowscan_scan beyond that: at most 100

--arch ARCH: no GPU is needed, and nothing is loaded or launched: `cold` and `disk` end with a plan to look at, with all
its kernels, for which NVRTC is looked for.
The exit status is not 0 if what does not depend on the machine's speed is not so: from disk nothing is compiled, NVRTC
is not in the process, no kernel is loaded late, and a plan on a GPU does not look for NVRTC. --check looks at that
alone: one sample of a few rows of the first spec. With no arguments, as make check runs it, that is done on the
simulated GPU.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

# Regime, rows (or columns), and the length; regimes are what a plan comes to by itself for so many rows.
SHAPES = [("row", 132, "length=4096"), ("short", 1024, "length=64"), ("long", 1, "length=65536"),
          ("column", 512, "length=256 layout=columns")]
TYPES = ["f32", "bf16", "f64"]
COLUMNS = [("kernels", 7, 0), ("alone", 8, 1), ("dlopen", 7, 1), ("cold", 8, 1), ("ratio", 6, 2), ("find", 6, 3),
           ("disk", 7, 3), ("read", 6, 3), ("load", 6, 3), ("scratch", 7, 3), ("launch", 7, 3), ("eager", 6, None),
           ("run", 6, 0), ("scan", 6, 0)]


def sample(args, mode, rows, spec, cache):
    """One process; a dictionary of what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ROWSCAN_CACHE")}
    environment |= {"CUDA_CACHE_DISABLE": "1", "ROWSCAN_CACHE_PACKS": "off"}
    environment |= {"ROWSCAN_CACHE_DIR": cache} if cache else {"ROWSCAN_CACHE": "off"}
    done = subprocess.run([args.program, mode, args.arch, str(rows), spec], env=environment, text=True,
                          stdout=subprocess.PIPE)
    if done.returncode == 77:
        print("SKIP: no GPU; --arch sm_90 measures what needs none")
        sys.exit(77)
    if done.returncode:
        sys.exit(f"bench_first.py: {mode} {args.arch} {rows} '{spec}' failed")
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def median(samples):
    return {name: statistics.median(one[name] for one in samples) for name in samples[0]}


def measure(args, rows, spec, folder):
    """A row of the table, and what is wrong that does not depend on speed."""
    make = "run" if args.arch == "gpu" else "make"
    whole = "first" if args.arch == "gpu" else "plan"
    cache = os.path.join(folder, "cache")
    shutil.rmtree(cache, ignore_errors=True)
    kernel = int(sample(args, make, rows, spec, None)["kernel"])  # and NVRTC's file into memory
    alone, cold = [], []
    for _ in range(args.samples):
        alone.append(sample(args, "nvrtc", kernel, spec, None))
        cold.append(sample(args, make, rows, spec, None))
    filled = sample(args, make, rows, spec, cache)
    disk = [sample(args, make, rows, spec, cache) for _ in range(args.samples * 4)]
    hot = sample(args, "hot", rows, spec, cache) if args.arch == "gpu" and not args.check else None
    wrong = [what for what, so in [
        ("a cold call did not compile", any(not one["compiled"] for one in cold + [filled])),
        ("a call with a filled cache compiled", any(one["compiled"] for one in disk)),
        ("a call with a filled cache has NVRTC in its process", any(one["mapped"] for one in disk)),
        ("a call was not one load", args.arch == "gpu" and any(one["loads"] != 1 for one in disk)),
        ("a kernel was not loaded before its launch", any(one.get("loaded") == 0 for one in disk)),
        ("a plan looked for NVRTC", any(one.get("looked") for one in disk)),
        ("opening a GPU did not look for NVRTC", any(one.get("opened") == 0 for one in disk))] if so]
    alone, cold, disk = median(alone), median(cold), median(disk)
    row = {"kernels": cold["kernels"], "alone": alone["alone"], "dlopen": cold["dlopen"],
           "cold": cold[whole] - cold["dlopen"], "disk": disk[whole]}
    row["ratio"] = row["cold"] / row["alone"]
    row |= {name: disk[name] for name in ("find", "read")}
    if args.arch == "gpu":
        row |= {name: disk[name] for name in ("load", "scratch", "launch")}
        row["eager"] = {1: "yes", 0: "no"}.get(disk["loaded"], "?")
    if hot:
        row |= {"run": hot["run_ns"], "scan": hot["scan_ns"] - hot["run_ns"]}
    return row, wrong


def simulated():
    """The arguments of a check on the simulated GPU, where make check has built it; and the environment for it."""
    folder = os.environ.get("RS_SIMT", "")
    if not os.path.exists(os.path.join(folder, "libcuda.so.1")):
        print("skipped: the simulated GPU is not built (it needs Check, shared libraries and __builtin_longjmp)")
        sys.exit(77)
    os.environ["LD_LIBRARY_PATH"] = ":".join([folder] + os.environ.get("LD_LIBRARY_PATH", "").split(":")).rstrip(":")
    os.environ["ROWSCAN_NVRTC"] = os.path.join(folder, "libnvrtc.so.13")
    return ["tests/bench/bench_first", "--check"]


def cell(row, name, width, digits):
    value = row.get(name, "")
    return (value if isinstance(value, str) else f"{value:.{digits}f}").rjust(width)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--arch", default="gpu")
    parser.add_argument("--specs", default="")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(sys.argv[1:] or simulated())
    args.program = os.path.abspath(args.program)
    specs = [(f"{regime} {kind}", rows, f"in={kind} {text}") for regime, rows, text in SHAPES for kind in TYPES]
    specs = [one for one in specs if re.search(args.specs, one[0])]
    if args.check:
        args.samples, specs = 1, [(name, min(rows, 4), text) for name, rows, text in specs[:1]]
    print(f"medians of {args.samples} processes cold, {4 * args.samples} from disk; milliseconds, the last two"
          f" nanoseconds; {args.arch}")
    print("".ljust(12) + " ".join(name.rjust(width) for name, width, _ in COLUMNS), flush=True)
    rows, faults = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, count, text in specs:
            row, wrong = measure(args, count, text, folder)
            rows.append(row)
            faults += [f"FAIL {name}: {what}" for what in wrong]
            print(name.ljust(12) + " ".join(cell(row, *column) for column in COLUMNS), flush=True)
    for what, name, most in [("cold at most 1.3 x NVRTC alone", "ratio", 1.3), ("disk at most 1 ms", "disk", 1),
                             ("the one-call form at most 100 ns beyond plan_run", "scan", 100)]:
        values = [row[name] for row in rows if name in row]
        if values and not args.check:
            print(f"{what}: {sum(value <= most for value in values)} of {len(values)}, the worst {max(values):.2f}")
    print("\n".join(faults) if faults else "from disk nothing was compiled, NVRTC was not in the process, no kernel was"
          " seen to be loaded late, and no plan on a GPU looked for NVRTC")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
