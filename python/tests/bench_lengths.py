#!/usr/bin/env python3
"""bench_lengths.py - what lengths cost that a program has not had: torch's cumsum and rowscan's, each waited for

SPDX-License-Identifier: MIT

As tests/bench/bench_lengths.c, through the package: kinds of scans, each of so many lengths once, and then all again.
The first call of a kind is told apart, since it may load or compile what serves all others. Milliseconds.
"""
import argparse
import csv
import math
import statistics
import sys
import time

import torch

import rowscan


def lengths_of(least, most, count):
    """Evenly on a scale of logarithms; few of them are multiples of 4."""
    if most <= 512:
        return [1 + i * 131 % 512 for i in range(count)]
    return [int(least * math.exp(math.log(most / least) / count * i)) + i % 7 for i in range(count)]


KINDS = [
    ("exclusive offsets of 1 row of 1 to 512 i32 to i64", 1, (1, 512), torch.int32, {"exclusive": True}),
    ("64 rows of 512 to 8192 f32", 64, (512, 8192), torch.float32, {}),
    ("1 row of 2^18 to 2^22 f32", 1, (1 << 18, 1 << 22), torch.float32, {}),
]
LIBRARIES = {"rowscan": rowscan.cumsum, "torch": lambda x, dim, exclusive=False: torch.cumsum(x, dim)}


def clocked(call):
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begin)


def measure(call, kind, count):
    """first, median and worst of the others, all, all again."""
    _, rows, (least, most), dtype, flags = kind
    memory = torch.ones(rows * (most + 8), dtype=dtype, device="cuda")
    arrays = [memory[:rows * n].view(rows, n) for n in lengths_of(least, most, count)]
    torch.cuda.synchronize()
    times = [clocked(lambda: call(x, 1, **flags)) for x in arrays]
    again = sum(clocked(lambda: call(x, 1, **flags)) for x in arrays)
    return times[0], statistics.median(times[1:]), max(times[1:]), sum(times), again


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", type=int, default=1000)
    arguments = parser.parse_args()
    torch.cumsum(torch.ones(8, device="cuda"), 0)
    rowscan.cumsum(torch.ones(8, dtype=torch.float64, device="cuda"), 0)  # opens the library
    table = csv.writer(sys.stdout)
    table.writerow(["scans", "lengths", "library", "first", "median", "worst", "all", "again"])
    for kind in KINDS:
        for library, call in LIBRARIES.items():
            times = measure(call, kind, arguments.lengths)
            table.writerow([kind[0], arguments.lengths, library, *(f"{ms:.3f}" for ms in times)])
    print(f"# packs: {rowscan.cache.info()['packs']}; compiles: {rowscan.cache.info()['counts']['compiles']}")


if __name__ == "__main__":
    main()
