#!/usr/bin/env python3
# first_calls.py - hundreds of scans, each of another kind and each once, by rowscan and by torch
# SPDX-License-Identifier: MIT
"""Draws scans that torch has too: operators, types, directions, masks, rows and columns of 10 KB to 4 MB. Times each by
the clock on the wall, from the call until its result is there, in a fresh process for rowscan and one for torch, and
prints a line for each: who, calls, ms: all, median, nine in ten, most. With rowscan a call makes a plan and runs it;
with torch it is the expression that users write. What is made for all calls, such as the context, comes before.

--nvrtc none: NVRTC is not to be found; background: it compiles beside the calls. The cache is off in both.
Results are compared after all are timed. On a CPU, where the script can be tried, by the host engine."""

import argparse
import ctypes as c
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

FLOATS, WHOLE = ("f16", "bf16", "f32", "f64"), ("i8", "u8", "i16", "i32", "i64", "bool")
OPS = {"sum": FLOATS + WHOLE, "prod": ("f32", "f64", "i32", "i64"), "max": FLOATS + WHOLE[:5],
       "min": FLOATS + WHOLE[:5], "logsumexp": ("f32", "f64")}


@dataclass(frozen=True)
class Kind:
    op: str
    type: str
    out: str
    variant: str
    outer: int
    length: int
    inner: int
    columns: bool
    acc: str = ""
    view: str = "dense"

    @property
    def strides(self):
        return self.length, 1


def draw(count, seed):
    """All different, but for their shapes."""
    dice, kinds, seen = random.Random(seed), [], set()
    while len(kinds) < count:
        op = dice.choice(list(OPS))
        type = dice.choice(OPS[op])
        out = "i64" if type in WHOLE and op in ("sum", "prod") else type
        variant = dice.choice(("inclusive", "reverse") + (("exclusive", "masked") if op == "sum" else ()))
        columns, length = dice.random() < 0.5, round(2 ** dice.uniform(0, 16))
        inner = round(2 ** dice.uniform(0.6, 9)) if columns else 1
        outer = max(1, round(2 ** dice.uniform(11, 20)) // (length * inner))
        if (op, type, variant, columns, length) not in seen:
            seen.add((op, type, variant, columns, length))
            kinds.append(Kind(op, type, out, variant, outer, length, inner, columns))
    return kinds


def by_torch(torch, kind, x, mask):
    dim = 1
    if kind.op in ("max", "min"):
        scan = lambda a: (torch.cummax if kind.op == "max" else torch.cummin)(a, dim).values
    elif kind.op == "logsumexp":
        scan = lambda a: torch.logcumsumexp(a, dim)
    else:
        scan = lambda a: (torch.cumsum if kind.op == "sum" else torch.cumprod)(a, dim)
    if kind.variant == "reverse":
        return scan(x.flip(dim)).flip(dim)
    if kind.variant == "exclusive":
        return scan(x) - x
    return scan(x * mask if kind.variant == "masked" else x)


def run(options):
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8,
             "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    if options.who == "rowscan":
        import rowscan

        library = rowscan.Library("cuda" if device.type == "cuda" else "host")
        library.lib.rowscan_op_name.restype = c.c_char_p
        numbers = {library.lib.rowscan_op_name(i).decode(): i for i in range(32)}
    milliseconds, results = [], []
    for kind in draw(options.count, options.seed):
        x = torch.randint(0, 2, (kind.outer, kind.length, kind.inner), device=device).to(types[kind.type])
        mask = torch.randint(0, 2, x.shape, device=device).to(torch.bool) if kind.variant == "masked" else None
        y = torch.empty(x.shape, dtype=types[kind.out], device=device) if options.who == "rowscan" else None
        wait()
        start = time.perf_counter()
        if options.who == "torch":
            y = by_torch(torch, kind, x, mask)
        else:
            plan = rowscan.Plan(library, kind, kind.variant, numbers[kind.op])
            plan(x.data_ptr(), None if mask is None else mask.data_ptr(), y.data_ptr(),
                 torch.cuda.current_stream().cuda_stream if device.type == "cuda" else None)
        wait()
        milliseconds.append(1e3 * (time.perf_counter() - start))
        if options.who == "rowscan":
            results.append((kind, x, mask, y))
            plan.close()
    for kind, x, mask, y in results:
        expected = by_torch(torch, kind, x.to(torch.float64) if kind.type in FLOATS else x, mask)
        right = torch.allclose(y.to(torch.float64), expected.to(torch.float64), rtol=1e-2, atol=1e-2)
        assert right or kind.op == "sum" and kind.type in ("f16", "bf16"), kind  # whose sums outgrow their type
    milliseconds.sort()
    print(f"{options.who}, {len(milliseconds)} calls, ms: all {sum(milliseconds):.1f}, "
          f"median {statistics.median(milliseconds):.3f}, nine in ten {milliseconds[len(milliseconds) * 9 // 10]:.3f}, "
          f"most {milliseconds[-1]:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nvrtc", choices=("none", "background"), default="none")
    parser.add_argument("--who", choices=("rowscan", "torch"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.who:
        run(options)
        return
    environment = dict(os.environ, ROWSCAN_COMPILE="background", ROWSCAN_CACHE="off")
    if options.nvrtc == "none":
        environment["ROWSCAN_NVRTC"] = "/nonexistent"
    for who in ("rowscan", "torch"):
        subprocess.run([sys.executable, __file__, "--who", who, "--count", str(options.count), "--seed",
                        str(options.seed)], env=environment, check=True)


main()
