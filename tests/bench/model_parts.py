#!/usr/bin/env python3
"""model_parts.py - how long a scan over many GPUs would take: a model, fitted on two H200, with simulated latencies

SPDX-License-Identifier: MIT

usage: model_parts.py [--runs N]

Nothing here is measured but what is fitted: tests/results/h200_0cbb955_parts.csv, sums of f32. Each GPU reads its part,
takes part in two all-gathers of some kilobytes, reads its part again and writes it. An all-gather is a ring: each rank
sends on what it has got, size - 1 times. A rank begins when it begins: late by some microseconds, now and then by many.
The row is done when the last rank is. Prints, for rows of 2^30 elements a GPU and a few other sizes, the median and the
99th percentile of the simulated times, beside one GPU with the whole row, and beside gathering the row on each GPU.
"""
import argparse
import random
import statistics

BYTES_A_MS = 4.15e9    # that one GPU moves: 2^30 and 2^32 elements in 2.08 and 8.26 ms
LAUNCHES_MS = 0.15     # what a scan of two parts takes besides its bytes and its exchanges: 2^30 in 1.83 ms
EXCHANGE_MS = 0.042    # an all-gather of two, its copies between host and GPU included: 0.09 ms for both
NVLINK_MS = 0.0025     # a further step of the ring to a GPU of the same host, and to one of another host: assumed
NETWORK_MS = 0.008
GATHER_BYTES_A_MS = 2.4e8  # that arrive while a row is gathered: DTensor's 2^30 elements of two in 11 ms
LATE_MS = 0.005        # by which a rank begins late, on average; one in 500 by a hundred times that: assumed


def all_gather(begins, hosts):
    """When it ends, on each rank: of a ring in which what rank i sends reaches i + 1."""
    size = len(begins)
    ends = list(begins)
    for _ in range(size - 1):
        hops = [NETWORK_MS if hosts > 1 and (i + 1) % (size // hosts) == 0 else NVLINK_MS for i in range(size)]
        ends = [max(ends[i], ends[i - 1] + hops[i - 1]) for i in range(size)]
    return [end + EXCHANGE_MS - NVLINK_MS for end in ends]


def late(random_numbers):
    more = 100 if random_numbers.random() < 0.002 else 1
    return random_numbers.expovariate(1 / LATE_MS) * more


def parts(elements, size, hosts, random_numbers):
    """Milliseconds from the first rank's begin to the last one's end."""
    read = 4 * elements / size / BYTES_A_MS
    now = [late(random_numbers) + LAUNCHES_MS / 2 for _ in range(size)]
    now = all_gather(now, hosts)  # what the ranks scan, and whether they can
    now = all_gather([t + read for t in now], hosts)
    return max(t + 2 * read + LAUNCHES_MS / 2 for t in now)


def one(elements):
    return 8 * elements / BYTES_A_MS


def gathered(elements, size):
    return 4 * elements * (size - 1) / size / GATHER_BYTES_A_MS + one(elements)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="of each line (200)")
    runs = parser.parse_args().runs
    random_numbers = random.Random(1)
    print("| GPUs | hosts | elements | one GPU, ms | parts, median, ms | 99% | times as fast | gathered, ms |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for size, hosts, log in ((2, 1, 30), (2, 1, 32), (8, 1, 30), (8, 1, 33), (8, 8, 33), (64, 8, 33), (64, 8, 36)):
        times = sorted(parts(1 << log, size, hosts, random_numbers) for _ in range(runs))
        median, worst = statistics.median(times), times[int(0.99 * (runs - 1))]
        print(f"| {size} | {hosts} | 2^{log} | {one(1 << log):.3g} | {median:.3g} | {worst:.3g} | "
              f"{one(1 << log) / median:.3g} | {gathered(1 << log, size):.3g} |")


if __name__ == "__main__":
    main()
