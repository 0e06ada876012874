# cells.py - the shapes that are timed, and their names
# SPDX-License-Identifier: MIT
"""A cell is an array [outer, length, inner], scanned along `length`; inner is 1 where rows are contiguous. Of a view
the input has strides, and the output is dense: that is what torch gives. The same cells as in src/cli/cells.c."""

from dataclasses import dataclass, replace

VARIANTS = ("inclusive", "exclusive", "reverse", "masked")
VIEWS = {"dense": "", "second": " of every 2nd", "transposed": " transposed", "padded": " padded"}


@dataclass(frozen=True)
class Cell:
    group: str
    outer: int
    length: int
    inner: int
    columns: bool
    type: str  # of the elements
    out: str  # of the results
    acc: str  # "" for the usual
    variants: tuple
    view: str = "dense"

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
    def strides(self):
        """Of the input, in elements: from row to row, and from element to element of a row (inner is 1)."""
        return {"second": (2 * self.length, 2), "transposed": (1, self.outer), "padded": (self.length + 4, 1)}.get(
            self.view, (self.length, 1))

    @property
    def types(self):
        types = self.type if self.out == self.type else f"{self.type} -> {self.out}"
        return types + (f" in {self.acc}" if self.acc else "")

    @property
    def size(self):
        shape, dim = self.shape
        return " x ".join(str(n) for n in shape) + (f" dim {dim}" if self.columns else "") + VIEWS[self.view]

    def label(self, variant):
        """What rowscan bench --list prints."""
        return f"{self.group}: {self.size} {variant} {self.types}"


def rows(group, outer, length, type="f32", out="", acc="", every=False, view="dense"):
    return Cell(group, outer, length, 1, False, type, out or type, acc, VARIANTS if every else VARIANTS[:1], view)


def columns(outer, length, inner, type="f32", every=False):
    return Cell("column", outer, length, inner, True, type, type, "", VARIANTS if every else VARIANTS[:1])


QUICK = [
    rows("row", 32768, 32768, every=True),
    rows("types", 32768, 65536, "bf16"),
    rows("types", 32768, 65536, "f16"),
    rows("types", 32768, 16384, "f64"),
    rows("types", 32768, 32768, "i32"),
    rows("types", 32768, 16384, "i64"),
]

FULL = [
    rows("row", 32768, 32768, every=True),
    rows("row", 16384, 16384),
    rows("row", 65536, 4096),
    rows("row", 1024, 128256, every=True),
    rows("row", 256, 151936),
    rows("row", 40, 152000),
    rows("off", 16384, 4097, every=True),
    rows("off", 8192, 50257, every=True),
    rows("off", 4096, 65535),
    rows("types", 32768, 32768, "f16"),
    rows("types", 32768, 32768, "bf16", every=True),
    rows("types", 16384, 32768, "f64"),
    rows("types", 16384, 32768, "i64"),
    rows("types", 32768, 32768, "i32"),
    rows("types", 32768, 32768, "i8", "i32"),
    rows("types", 32768, 32768, "bool", "i64"),
    rows("types", 32768, 32768, acc="f64"),
    rows("short", 65536, 512),
    rows("short", 131072, 300),
    rows("short", 2**20, 64, every=True),
    rows("short", 2**20, 100),
    rows("short", 2**22, 7, every=True),
    rows("short", 2**23, 16),
    rows("short", 2**24, 3),
    rows("short", 2**27, 1),
    rows("short", 2**20, 64, "bf16"),
    rows("short", 2**20, 65, "bf16"),
    rows("long", 1, 2**30),
    rows("long", 1, 2**28, every=True),
    rows("long", 3, 50_000_000),
    rows("long", 8, 2**24),
    rows("long", 100, 1_000_000),
    rows("long", 1, 100_000_007),
    rows("long", 1, 2**28, "bf16"),
    rows("long", 1, 2**28, "f64"),
    rows("long", 1, 2**28, "i32"),
    columns(1, 16384, 4096, every=True),
    columns(64, 4096, 1024, every=True),
    columns(1, 2**20, 2),
    columns(1, 2**20, 32),
    columns(262144, 64, 16),
    columns(8, 2**20, 7),
    columns(1, 32768, 129),
    columns(1, 16384, 4096, "bf16"),
    rows("strided", 8192, 8192, view="second"),
    rows("strided", 16384, 8192, view="transposed"),
    rows("strided", 32768, 32768, view="padded"),
    rows("small", 1, 1024),
    rows("small", 64, 1024),
    rows("small", 1, 2**16),
    rows("small", 1, 2**20),
    rows("small", 1024, 1024),
    rows("small", 8192, 64),
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
