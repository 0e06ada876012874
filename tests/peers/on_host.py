#!/usr/bin/env python3
# on_host.py - scans of small cells through rowscan.py's structs, by the host engine, compared with NumPy's
# SPDX-License-Identifier: MIT
"""tests/system/cli.py runs it: a member that rowscan.h has and rowscan.py lacks is found without a GPU."""

import numpy as np

import rowscan
from cells import FULL, shrink

KINDS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64,
         "bool": np.bool_}


def array(cell, random, kind):
    """Of a view: the view. Sums are small integers, which every type has."""
    shape = cell.shape[0]
    base = {"second": (cell.outer, 2 * cell.length), "transposed": (cell.length, cell.outer),
            "padded": (cell.outer, cell.length + 4)}.get(cell.view, shape)
    x = random.integers(0, 2, base).astype(kind)
    return {"second": lambda: x[:, ::2], "transposed": lambda: x.T,
            "padded": lambda: x[:, :cell.length]}.get(cell.view, lambda: x)()


def expected(x, mask, variant, dim):
    x = x.astype(np.int64) * (1 if mask is None else mask)
    if variant == "reverse":
        return np.flip(np.flip(x, dim).cumsum(dim), dim)
    return x.cumsum(dim) - (x if variant == "exclusive" else 0)


def main():
    library, random, tried = rowscan.Library("host"), np.random.default_rng(1), 0
    for cell in FULL:
        if cell.type not in KINDS:
            continue
        cell = shrink(cell, 1000)
        for variant in cell.variants:
            x = array(cell, random, KINDS[cell.type])
            mask = random.integers(0, 2, x.shape).astype(np.bool_) if variant == "masked" else None
            y = np.empty(x.shape, KINDS[cell.out])
            plan = rowscan.Plan(library, cell, variant)
            plan(x.ctypes.data, None if mask is None else mask.ctypes.data, y.ctypes.data, None)
            plan.close()
            assert np.array_equal(y, expected(x, mask, variant, cell.shape[1])), cell.label(variant)
            tried += 1
    print(tried)


main()
