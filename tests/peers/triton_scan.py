# triton_scan.py - what a careful user writes in Triton, for each kind of shape, tuned for the shape at hand
# SPDX-License-Identifier: MIT
"""Short rows lie side by side in one tile; long rows go tile by tile with a carry; columns go by tiles of steps x
columns, and so does a transposed input, whose output is written across. Where that would leave most of the GPU idle,
rows and columns are cut into chunks: totals first, then their prefixes, then the scans. An exclusive scan subtracts the
element, as is usual.

Run as a program it compiles all candidates of all cells, for which it needs no GPU, and exits with 1 if one fails."""

import sys
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

ACC = {"f16": tl.float32, "bf16": tl.float32, "f32": tl.float32, "f64": tl.float64, "i32": tl.int32, "i64": tl.int64}
KEPT = {tl.float32: torch.float32, tl.float64: torch.float64, tl.int32: torch.int32, tl.int64: torch.int64}
PROGRAMS = 264  # of a grid, twice the multiprocessors of an H100 or H200: fewer leave it idle


@triton.jit
def load(x, mask, x_at, at, inside, EVEN: tl.constexpr, MASKED: tl.constexpr, ACC: tl.constexpr):
    if EVEN:
        value = tl.load(x + x_at).to(ACC)
    else:
        value = tl.load(x + x_at, mask=inside, other=0).to(ACC)
    if MASKED:
        if EVEN:
            keep = tl.load(mask + at)
        else:
            keep = tl.load(mask + at, mask=inside, other=0)
        value = tl.where(keep != 0, value, tl.zeros_like(value))
    return value


@triton.jit
def store(y, at, value, inside, EVEN: tl.constexpr):
    if EVEN:
        tl.store(y + at, value.to(y.dtype.element_ty))
    else:
        tl.store(y + at, value.to(y.dtype.element_ty), mask=inside)


# ---- rows ------------------------------------------------------------------------------------------------------------


@triton.jit
def rows_kernel(x, mask, y, prefix, length, chunk, x_row, STEP: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
                EVEN: tl.constexpr, REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, MASKED: tl.constexpr,
                PREFIX: tl.constexpr, ACC: tl.constexpr):
    x_base = tl.program_id(0).to(tl.int64) * x_row
    base = tl.program_id(0).to(tl.int64) * length
    first = 0
    last = length
    carry = tl.sum(tl.zeros((1,), dtype=ACC), 0)
    if PREFIX:  # a chunk is a multiple of a block
        first = tl.program_id(1) * chunk
        last = tl.minimum(first + chunk, length)
        carry = tl.load(prefix + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)).to(ACC)
    blocks = tl.cdiv(last - first, BLOCK)
    for b in tl.range(0, blocks, num_stages=STAGES):
        if REVERSE:
            at = first + (blocks - 1 - b) * BLOCK + tl.arange(0, BLOCK)
        else:
            at = first + b * BLOCK + tl.arange(0, BLOCK)
        value = load(x + x_base, mask + base, at * STEP, at, at < length, EVEN, MASKED, ACC)
        result = tl.cumsum(value, 0, reverse=REVERSE) + carry
        carry += tl.sum(value, 0)
        if EXCLUSIVE:
            result -= value
        store(y + base, at, result, at < length, EVEN)


@triton.jit
def row_totals_kernel(x, mask, totals, length, chunk, x_row, STEP: tl.constexpr, BLOCK: tl.constexpr,
                      EVEN: tl.constexpr, MASKED: tl.constexpr, ACC: tl.constexpr):
    x_base = tl.program_id(0).to(tl.int64) * x_row
    base = tl.program_id(0).to(tl.int64) * length
    first = tl.program_id(1) * chunk
    last = tl.minimum(first + chunk, length)
    sums = tl.zeros((BLOCK,), dtype=ACC)
    for start in range(first, last, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += load(x + x_base, mask + base, at * STEP, at, at < length, EVEN, MASKED, ACC)
    tl.store(totals + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), tl.sum(sums, 0))


@triton.jit
def short_kernel(x, mask, y, rows, length, x_row, STEP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                 EVEN: tl.constexpr, REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, MASKED: tl.constexpr,
                 ACC: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows - first) & (i < length)
    value = load(x + first * x_row, mask + first * length, row * x_row + i * STEP, row * length + i, inside, EVEN,
                 MASKED, ACC)
    result = tl.cumsum(value, 1, reverse=REVERSE)
    if EXCLUSIVE:
        result -= value
    store(y + first * length, row * length + i, result, inside, EVEN)


# ---- columns ---------------------------------------------------------------------------------------------------------


@triton.jit
def columns_kernel(x, mask, y, prefix, length, inner, chunk, STEPS: tl.constexpr, COLUMNS: tl.constexpr,
                   STAGES: tl.constexpr, EVEN: tl.constexpr, REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr,
                   MASKED: tl.constexpr, PREFIX: tl.constexpr, ACROSS: tl.constexpr, ACC: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * length * inner
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    first = 0
    last = length
    carry = tl.zeros((1, COLUMNS), dtype=ACC)
    if PREFIX:  # a chunk is a multiple of the steps
        first = tl.program_id(2) * chunk
        last = tl.minimum(first + chunk, length)
        prefix += (tl.program_id(0) * tl.num_programs(2) + tl.program_id(2)) * inner
        carry = tl.load(prefix + column, mask=column < inner, other=0).to(ACC)
    blocks = tl.cdiv(last - first, STEPS)
    for b in tl.range(0, blocks, num_stages=STAGES):
        if REVERSE:
            step = first + (blocks - 1 - b) * STEPS + tl.arange(0, STEPS)[:, None]
        else:
            step = first + b * STEPS + tl.arange(0, STEPS)[:, None]
        inside = (step < length) & (column < inner)
        at = step * inner + column
        value = load(x + base, mask + base, at, at, inside, EVEN, MASKED, ACC)
        result = tl.cumsum(value, 0, reverse=REVERSE) + carry
        carry += tl.sum(value, 0, keep_dims=True)
        if EXCLUSIVE:
            result -= value
        if ACROSS:
            at = column * length + step
        store(y + base, at, result, inside, EVEN)


@triton.jit
def column_totals_kernel(x, mask, totals, length, inner, chunk, STEPS: tl.constexpr, COLUMNS: tl.constexpr,
                         EVEN: tl.constexpr, MASKED: tl.constexpr, ACC: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * length * inner
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    first = tl.program_id(2) * chunk
    last = tl.minimum(first + chunk, length)
    sums = tl.zeros((STEPS, COLUMNS), dtype=ACC)
    for start in range(first, last, STEPS):
        step = start + tl.arange(0, STEPS)[:, None]
        at = step * inner + column
        sums += load(x + base, mask + base, at, at, (step < length) & (column < inner), EVEN, MASKED, ACC)
    totals += (tl.program_id(0) * tl.num_programs(2) + tl.program_id(2)) * inner
    tl.store(totals + column, tl.sum(sums, 0, keep_dims=True), mask=column < inner)


@triton.jit
def prefixes_kernel(totals, prefix, chunks, inner, STEPS: tl.constexpr, COLUMNS: tl.constexpr, REVERSE: tl.constexpr,
                    ACC: tl.constexpr):
    """The sum of all chunks before each; of rows, inner is 1."""
    base = tl.program_id(0).to(tl.int64) * chunks * inner
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    carry = tl.zeros((1, COLUMNS), dtype=ACC)
    blocks = tl.cdiv(chunks, STEPS)
    for b in range(0, blocks):
        if REVERSE:
            step = (blocks - 1 - b) * STEPS + tl.arange(0, STEPS)[:, None]
        else:
            step = b * STEPS + tl.arange(0, STEPS)[:, None]
        inside = (step < chunks) & (column < inner)
        value = tl.load(totals + base + step * inner + column, mask=inside, other=0)
        before = tl.cumsum(value, 0, reverse=REVERSE) - value + carry
        carry += tl.sum(value, 0, keep_dims=True)
        tl.store(prefix + base + step * inner + column, before, mask=inside)


# ---- candidates ------------------------------------------------------------------------------------------------------


@dataclass
class Candidate:
    """launches(x, mask, y, empty) is a list of (kernel, grid, arguments, meta-parameters), in order; empty(shape,
    dtype) makes scratch memory. All of the arrays may be dtypes, to compile without any."""

    name: str
    launches: object

    def run(self, x, mask, y):
        def empty(shape, dtype):
            return torch.empty(shape, dtype=dtype, device=x.device)

        for kernel, grid, arguments, meta in self.launches(x, mask, y, empty):
            kernel[grid](*arguments, **meta)

    def compile(self, x, mask, y):
        for kernel, grid, arguments, meta in self.launches(x, mask, y, lambda shape, dtype: dtype):
            kernel.warmup(*arguments, grid=grid, **meta)


def candidates(cell, variant):
    """All do the same; the caller times them and keeps the fastest."""
    acc = ACC[cell.acc or (cell.out if cell.out in ACC else "i32")]
    common = dict(REVERSE=variant == "reverse", EXCLUSIVE=variant == "exclusive", MASKED=variant == "masked", ACC=acc)
    if cell.columns or cell.view == "transposed":
        return list(column_candidates(cell, common))
    if cell.length <= 1024:
        return list(short_candidates(cell, common))
    few = cell.outer < PROGRAMS and cell.length >= 16384
    found = list(chunk_candidates(cell, common)) if few else []
    if cell.outer >= 32 or cell.length <= 131072 or not found:
        found += row_candidates(cell, common)
    return found


def row_candidates(cell, common):
    x_row, step = cell.strides
    for block, warps, stages in ((2048, 4, 1), (4096, 8, 1), (8192, 16, 1), (8192, 16, 2), (16384, 32, 1)):
        if block >= 2 * cell.length and block > 2048:
            continue

        def launches(x, mask, y, empty, block=block, warps=warps, stages=stages):
            arguments = (x, mask, y, x, cell.length, cell.length, x_row)
            meta = dict(STEP=step, BLOCK=block, STAGES=stages, EVEN=cell.length % block == 0, PREFIX=False,
                        num_warps=warps, **common)
            return [(rows_kernel, (cell.outer, 1), arguments, meta)]

        yield Candidate(f"BLOCK={block} warps={warps} stages={stages}", launches)


def kinds_of(common):
    return {"MASKED": common["MASKED"], "ACC": common["ACC"]}


def prefixes(totals, prefix, outer, chunks, inner, common):
    """A launch of prefixes_kernel."""
    width = min(32, triton.next_power_of_2(inner))
    steps = max(16, min(triton.next_power_of_2(chunks), 2048 // width))
    meta = dict(STEPS=steps, COLUMNS=width, REVERSE=common["REVERSE"], ACC=common["ACC"], num_warps=4)
    return prefixes_kernel, (outer, triton.cdiv(inner, width)), (totals, prefix, chunks, inner), meta


def chunk_candidates(cell, common):
    x_row, step = cell.strides
    kept = KEPT[common["ACC"]]
    for chunk, block, warps in ((4096, 2048, 4), (8192, 4096, 8), (32768, 4096, 8), (65536, 8192, 16),
                                (131072, 8192, 16)):
        chunks = triton.cdiv(cell.length, chunk)
        if chunks > 65535 or (chunk > 4096 and cell.outer * chunks < PROGRAMS / 4):
            continue

        def launches(x, mask, y, empty, chunk=chunk, block=block, warps=warps, chunks=chunks):
            totals, prefix = empty((cell.outer, chunks), kept), empty((cell.outer, chunks), kept)
            grid, even = (cell.outer, chunks), cell.length % block == 0
            sums = dict(STEP=step, BLOCK=block, EVEN=even, num_warps=warps, **kinds_of(common))
            scan = dict(STEP=step, BLOCK=block, STAGES=1, EVEN=even, PREFIX=True, num_warps=warps, **common)
            return [(row_totals_kernel, grid, (x, mask, totals, cell.length, chunk, x_row), sums),
                    prefixes(totals, prefix, cell.outer, chunks, 1, common),
                    (rows_kernel, grid, (x, mask, y, prefix, cell.length, chunk, x_row), scan)]

        yield Candidate(f"CHUNK={chunk} BLOCK={block} warps={warps}", launches)


def short_candidates(cell, common):
    block = triton.next_power_of_2(cell.length)
    x_row, step = cell.strides
    for tile, warps in ((1024, 2), (2048, 4), (4096, 4), (4096, 8), (8192, 8)):
        rows = max(1, tile // block)

        def launches(x, mask, y, empty, rows=rows, warps=warps):
            even = cell.length == block and cell.outer % rows == 0
            meta = dict(STEP=step, ROWS=rows, BLOCK=block, EVEN=even, num_warps=warps, **common)
            arguments = (x, mask, y, cell.outer, cell.length, x_row)
            return [(short_kernel, (triton.cdiv(cell.outer, rows),), arguments, meta)]

        yield Candidate(f"ROWS={rows} BLOCK={block} warps={warps}", launches)


def column_candidates(cell, common):
    across = cell.view == "transposed"
    outer, length, inner = (1, cell.length, cell.outer) if across else (cell.outer, cell.length, cell.inner)
    kept = KEPT[common["ACC"]]
    most, tiles = triton.next_power_of_2(length), []
    for steps, width, warps, stages in ((16, 64, 4, 1), (32, 32, 4, 1), (32, 64, 4, 2), (64, 64, 8, 1),
                                        (128, 16, 4, 1)):
        width = min(width, triton.next_power_of_2(inner))
        tiles.append((max(steps, min(1024 // width, most)), width, warps, stages))  # few columns: more steps
    for steps, width, warps, stages in dict.fromkeys(tiles):
        even = length % steps == 0 and inner % width == 0
        programs = outer * triton.cdiv(inner, width)

        def whole(x, mask, y, empty, steps=steps, width=width, warps=warps, stages=stages, even=even):
            meta = dict(STEPS=steps, COLUMNS=width, STAGES=stages, EVEN=even, PREFIX=False, ACROSS=across,
                        num_warps=warps, **common)
            grid = (outer, triton.cdiv(inner, width), 1)
            return [(columns_kernel, grid, (x, mask, y, x, length, inner, length), meta)]

        def cut(x, mask, y, empty, steps=steps, width=width, warps=warps, even=even, programs=programs):
            chunk = steps * max(1, triton.cdiv(length * programs, steps * 8 * PROGRAMS))
            chunks = triton.cdiv(length, chunk)
            totals, prefix = empty((outer, chunks, inner), kept), empty((outer, chunks, inner), kept)
            grid = (outer, triton.cdiv(inner, width), chunks)
            sums = dict(STEPS=steps, COLUMNS=width, EVEN=even, num_warps=warps, **kinds_of(common))
            scan = dict(STEPS=steps, COLUMNS=width, STAGES=1, EVEN=even, PREFIX=True, ACROSS=across, num_warps=warps,
                        **common)
            return [(column_totals_kernel, grid, (x, mask, totals, length, inner, chunk), sums),
                    prefixes(totals, prefix, outer, chunks, inner, common),
                    (columns_kernel, grid, (x, mask, y, prefix, length, inner, chunk), scan)]

        name = f"STEPS={steps} COLUMNS={width} warps={warps} stages={stages}"
        if programs >= PROGRAMS / 4:
            yield Candidate(name, whole)
        if programs < PROGRAMS and stages == 1:
            yield Candidate("chunks, " + name, cut)


# ---- compiling without a GPU -----------------------------------------------------------------------------------------


class NoGPU:
    """As much of a driver as compiling for sm_90 needs."""

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


def compile_all():
    """How many candidates of all cells do not compile; says which, and why."""
    import torch_scan
    from cells import FULL

    triton.runtime.driver.set_active(NoGPU())
    kinds, failed = dict(torch_scan.TYPES, bool=torch.uint8), 0
    for cell in FULL:
        for variant in cell.variants:
            x = kinds[cell.type]
            for candidate in candidates(cell, variant):
                try:
                    candidate.compile(x, torch.uint8 if variant == "masked" else x, kinds[cell.out])
                except Exception as error:
                    failed += 1
                    print(f"{cell.label(variant)}, {candidate.name}: {error}")
    return failed


if __name__ == "__main__":
    sys.exit(min(1, compile_all()))
