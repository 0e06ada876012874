# cells.py - the shapes that are timed, and their names
# SPDX-License-Identifier: MIT
"""A cell is a dense array [outer, length, inner], scanned along `length`; inner is 1 where rows are contiguous."""

from dataclasses import dataclass, replace

VARIANTS = ("inclusive", "exclusive", "reverse", "masked")


@dataclass(frozen=True)
class Cell:
    outer: int
    length: int
    inner: int
    columns: bool
    type: str  # of the elements
    out: str  # of the results
    acc: str  # "" for the usual
    variants: tuple

    @property
    def elements(self):
        return self.outer * self.length * self.inner

    @property
    def shape(self):
        """As a user has it, and the scanned dimension."""
        if not self.columns:
            return (self.outer, self.length), 1
        if self.outer == 1:
            return (self.length, self.inner), 0
        return (self.outer, self.length, self.inner), 1

    @property
    def name(self):
        shape, dim = self.shape
        text = " x ".join(str(n) for n in shape) + (f" dim {dim}" if self.columns else "")
        types = self.type if self.out == self.type else f"{self.type} -> {self.out}"
        return f"{text} {types}" + (f" in {self.acc}" if self.acc else "")


def rows(outer, length, type="f32", out="", acc="", every=False):
    return Cell(outer, length, 1, False, type, out or type, acc, VARIANTS if every else VARIANTS[:1])


def columns(outer, length, inner, type="f32", every=False):
    return Cell(outer, length, inner, True, type, type, "", VARIANTS if every else VARIANTS[:1])


QUICK = [
    rows(32768, 32768, every=True),
    rows(32768, 65536, "bf16"),
    rows(32768, 65536, "f16"),
    rows(32768, 16384, "f64"),
    rows(32768, 32768, "i32"),
    rows(32768, 16384, "i64"),
]

FULL = [
    rows(32768, 32768, every=True),
    rows(16384, 16384),
    rows(65536, 4096),
    rows(1024, 128256, every=True),
    rows(256, 151936),
    rows(40, 152000),
    rows(16384, 4097, every=True),
    rows(8192, 50257, every=True),
    rows(4096, 65535),
    rows(32768, 32768, "f16"),
    rows(32768, 32768, "bf16", every=True),
    rows(16384, 32768, "f64"),
    rows(16384, 32768, "i64"),
    rows(32768, 32768, "i32"),
    rows(32768, 32768, "i8", "i32"),
    rows(32768, 32768, "bool", "i64"),
    rows(32768, 32768, acc="f64"),
    rows(65536, 512),
    rows(131072, 300),
    rows(2**20, 64, every=True),
    rows(2**20, 100),
    rows(2**22, 7, every=True),
    rows(2**23, 16),
    rows(2**24, 3),
    rows(2**27, 1),
    rows(2**20, 64, "bf16"),
    rows(2**20, 65, "bf16"),
    rows(1, 2**30),
    rows(1, 2**28, every=True),
    rows(3, 50_000_000),
    rows(8, 2**24),
    rows(100, 1_000_000),
    rows(1, 100_000_007),
    rows(1, 2**28, "bf16"),
    rows(1, 2**28, "f64"),
    rows(1, 2**28, "i32"),
    columns(1, 16384, 4096, every=True),
    columns(64, 4096, 1024, every=True),
    columns(1, 2**20, 2),
    columns(1, 2**20, 32),
    columns(262144, 64, 16),
    columns(8, 2**20, 7),
    columns(1, 32768, 129),
    columns(1, 16384, 4096, "bf16"),
    rows(1, 1024),
    rows(64, 1024),
    rows(1, 2**16),
    rows(1, 2**20),
    rows(1024, 1024),
    rows(8192, 64),
]


def shrink(cell, limit):
    """The cell with at most `limit` elements."""
    while cell.elements > limit:
        if cell.outer > 8 or cell.outer >= cell.length:
            cell = replace(cell, outer=(cell.outer + 1) // 2)
        elif cell.inner > 64:
            cell = replace(cell, inner=(cell.inner + 1) // 2)
        else:
            cell = replace(cell, length=(cell.length + 1) // 2)
    return cell
