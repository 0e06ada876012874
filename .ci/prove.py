#!/usr/bin/env python3
"""prove.py - any 12 seeds that follow one another take every lot of every part, and a change of a file what it touches

By enumeration of what .ci/plan says, of all seeds of a period and of changes.
SPDX-License-Identifier: MIT
"""
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
MOST = 12


def plans(asked, words=""):
    """Of each (seed, change): {(step, part, lots, lot)}"""
    script = f"""set -euo pipefail
all={words}
. .ci/plan
while IFS=, read -r seed changed; do choose_touched; plan; echo; done"""
    told = subprocess.run(["bash", "-c", script], check=True, stdout=subprocess.PIPE, text=True, cwd=TREE,
                          input="".join(f"{seed},{change}\n" for seed, change in asked)).stdout
    return [{(step, part, int(lots), int(at) % int(lots)) for step, part, lots, at in map(str.split, lines.split("\n"))}
            for lines in told.split("\n\n")[:-1]]


PERIOD = 12  # of lots of 12, and turns of 12
taken = plans((seed, "") for seed in range(2 * PERIOD))
every = set().union(*taken)
wrong = []
for step, part, lots in sorted({line[:3] for line in every}):
    without = {(step, part, lots, lot) for lot in range(lots)} - every
    wrong += [f"{step} {part}: lot {line[3]} of {lots} is never taken" for line in sorted(without)]
parts = {line[:2] for line in every}
whole = {line[:2] for line in plans([(0, "")], "all")[0]}
wrong += [f"{step} {part}: {'not a part' if (step, part) in parts else 'only'} of `all`"
          for step, part in parts ^ whole if part != "-"]
for first in range(PERIOD):
    seen = set().union(*taken[first:first + MOST])
    wrong += [f"{' '.join(map(str, line))}: not taken by seeds {first} to {first + MOST - 1}" for line in every - seen]
    if taken[first] != taken[first + PERIOD]:
        wrong.append(f"seeds {first} and {first + PERIOD} differ")

# A change of one file, at any seed, takes this part.
for file, step, part in (("tests/fuzz/npy.c", "turns", "fuzz"), ("src/cli/npy.c", "turns", "fuzz"),
                         ("kernels/row_ring.cuh", "turns", "compilers"), ("src/host/blocks.h", "turns", "musl"),
                         ("Makefile.am", "turns", "distcheck"), ("+src/host/new.h", "turns", "distcheck"),
                         ("cache/put.c", "sanitizers", "asan"), ("src/gpu/launch.c", "sanitizers", "engine"),
                         ("python/rowscan/torch.py", "package", "torch_newest"),
                         ("python/tests/test_jax.py", "package", "jax"),
                         ("src/gpu/tiers.c", "sanitizers", "tsan")):
    for seed, lines in enumerate(plans((seed, file) for seed in range(MOST))):
        if (step, part) not in {line[:2] for line in lines}:
            wrong.append(f"seed {seed}: {file} is changed, and {step} {part} is not taken")

print("\n".join(wrong) or f"{len(every)} lots of {len(parts)} parts: any {MOST} seeds take all; the period is {PERIOD}")
sys.exit(bool(wrong))
