#!/usr/bin/env python3
"""bench_kernelbench.py - KernelBench's level 1 problems 89 to 93: eager torch, torch.compile and our drop-ins, timed

SPDX-License-Identifier: MIT

    python3 bench_kernelbench.py [--size 32768] [--trials 100] [--device cuda] [--csv FILE]

As KernelBench times: after some calls unmeasured, each trial lies between two CUDA events, the L2 cache is written over
before it, and the device is waited for behind it. (On a CPU it is a clock.) Results are compared first. Writes CSV: the
problem, the way, median, least and greatest milliseconds, and how many times as long as the drop-in it takes.
"""
import argparse
import csv
import os
import statistics
import sys
import time

import torch

import kernelbench
import rowscan

WARM_UP = 5
COLUMNS = ["problem", "way", "size", "median_ms", "min_ms", "max_ms", "ratio", "device", "torch", "rowscan"]


def milliseconds(call, device, trials):
    """The time of each trial."""
    for _ in range(WARM_UP):
        call()
    if device == "cpu":
        return [clocked(call) for _ in range(trials)]
    other = torch.empty(256 << 20, dtype=torch.uint8, device=device)
    times = []
    for _ in range(trials):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        other.zero_()
        torch.cuda.synchronize()
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return times


def clocked(call):
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


def ways(problem):
    torch.compiler.reset()
    return {"rowscan": problem.drop_in()(1), "eager": problem.model(1), "compiled": torch.compile(problem.model(1))}


def differs(got, want):
    """Whether a result is another than eager torch's. In parts, for the tensors fill half of a GPU's memory."""
    return got.shape != want.shape or any(
        not torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(got.split(1024), want.split(1024)))


def main():
    os.environ.setdefault("ROWSCAN_COMPILE", "now")  # what is timed is each length's own kernel
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=kernelbench.SIZE)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--csv", default="-", help="file to write; default: standard output")
    options = parser.parse_args()
    device = torch.cuda.get_device_name() if options.device == "cuda" else options.device
    file = sys.stdout if options.csv == "-" else open(options.csv, "w", newline="")
    table = csv.DictWriter(file, COLUMNS)
    table.writeheader()
    failed = False
    for problem in kernelbench.PROBLEMS:
        inputs = problem.inputs(options.size, options.size, device=options.device)
        own = None
        for way, model in ways(problem).items():
            if way != "eager" and differs(model(*inputs), problem.model(1)(*inputs)):
                print(f"{problem.name}: {way} and eager differ", file=sys.stderr)
                failed = True
            times = milliseconds(lambda: model(*inputs), options.device, options.trials)
            median = statistics.median(times)
            own = own or median
            table.writerow({"problem": problem.name, "way": way, "size": options.size, "median_ms": f"{median:.4f}",
                            "min_ms": f"{min(times):.4f}", "max_ms": f"{max(times):.4f}",
                            "ratio": f"{median / own:.3f}", "device": device, "torch": torch.__version__,
                            "rowscan": rowscan.__version__})
            file.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
