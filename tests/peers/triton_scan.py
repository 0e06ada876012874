# triton_scan.py - what a careful user writes in Triton, for each kind of shape, tuned for the shape at hand
# SPDX-License-Identifier: MIT
"""Long rows go tile by tile with a carry, few of them in chunks (totals first, then the scans); short rows lie side by
side in one tile; columns go by tiles of steps x columns. An exclusive scan subtracts the element, as is usual."""

import torch
import triton
import triton.language as tl

ACC = {"f16": tl.float32, "bf16": tl.float32, "f32": tl.float32, "f64": tl.float64, "i32": tl.int32, "i64": tl.int64}


@triton.jit
def load(x, mask, at, inside, EVEN: tl.constexpr, MASKED: tl.constexpr, ACC: tl.constexpr):
    if EVEN:
        value = tl.load(x + at).to(ACC)
    else:
        value = tl.load(x + at, mask=inside, other=0).to(ACC)
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


@triton.jit
def rows_kernel(x, mask, y, prefix, length, chunk, BLOCK: tl.constexpr, STAGES: tl.constexpr, EVEN: tl.constexpr,
                REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, MASKED: tl.constexpr, PREFIX: tl.constexpr,
                ACC: tl.constexpr):
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
        value = load(x + base, mask + base, at, at < length, EVEN, MASKED, ACC)
        result = tl.cumsum(value, 0, reverse=REVERSE) + carry
        carry += tl.sum(value, 0)
        if EXCLUSIVE:
            result -= value
        store(y + base, at, result, at < length, EVEN)


@triton.jit
def totals_kernel(x, mask, totals, length, chunk, BLOCK: tl.constexpr, EVEN: tl.constexpr, MASKED: tl.constexpr,
                  ACC: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * length
    first = tl.program_id(1) * chunk
    last = tl.minimum(first + chunk, length)
    sums = tl.zeros((BLOCK,), dtype=ACC)
    for start in range(first, last, BLOCK):
        at = start + tl.arange(0, BLOCK)
        sums += load(x + base, mask + base, at, at < length, EVEN, MASKED, ACC)
    tl.store(totals + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), tl.sum(sums, 0))


@triton.jit
def short_kernel(x, mask, y, rows, length, ROWS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr,
                 REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, MASKED: tl.constexpr, ACC: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * ROWS
    base = first * length
    row = tl.arange(0, ROWS)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows - first) & (i < length)
    value = load(x + base, mask + base, row * length + i, inside, EVEN, MASKED, ACC)
    result = tl.cumsum(value, 1, reverse=REVERSE)
    if EXCLUSIVE:
        result -= value
    store(y + base, row * length + i, result, inside, EVEN)


@triton.jit
def columns_kernel(x, mask, y, length, inner, STEPS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr,
                   EVEN: tl.constexpr, REVERSE: tl.constexpr, EXCLUSIVE: tl.constexpr, MASKED: tl.constexpr,
                   ACC: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * length * inner
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    carry = tl.zeros((1, COLUMNS), dtype=ACC)
    blocks = tl.cdiv(length, STEPS)
    for b in tl.range(0, blocks, num_stages=STAGES):
        if REVERSE:
            step = (blocks - 1 - b) * STEPS + tl.arange(0, STEPS)[:, None]
        else:
            step = b * STEPS + tl.arange(0, STEPS)[:, None]
        inside = (step < length) & (column < inner)
        value = load(x + base, mask + base, step * inner + column, inside, EVEN, MASKED, ACC)
        result = tl.cumsum(value, 0, reverse=REVERSE) + carry
        carry += tl.sum(value, 0, keep_dims=True)
        if EXCLUSIVE:
            result -= value
        store(y + base, step * inner + column, result, inside, EVEN)


def flags(variant, acc):
    return dict(REVERSE=variant == "reverse", EXCLUSIVE=variant == "exclusive", MASKED=variant == "masked", ACC=acc)


def candidates(cell, variant):
    """Functions (x, mask, y) -> None that do the same, with names; the caller times them and keeps the fastest."""
    acc = ACC[cell.acc or (cell.out if cell.out in ACC else "i32")]
    common = flags(variant, acc)
    if cell.columns:
        return column_candidates(cell, common)
    if cell.length <= 1024:
        return short_candidates(cell, common)
    if cell.outer < 264 and cell.length >= 65536:
        return chunk_candidates(cell, common, torch.float64 if acc == tl.float64 else None)
    return row_candidates(cell, common)


def row_candidates(cell, common):
    for block, warps, stages in ((2048, 4, 1), (4096, 8, 1), (4096, 8, 2), (8192, 8, 1), (8192, 16, 1), (8192, 16, 2),
                                 (16384, 16, 1), (16384, 32, 1)):
        if block >= 2 * cell.length and block > 2048:
            continue

        def run(x, mask, y, block=block, warps=warps, stages=stages):
            rows_kernel[(cell.outer, 1)](x, mask, y, x, cell.length, cell.length, BLOCK=block, STAGES=stages,
                                         EVEN=cell.length % block == 0, PREFIX=False, num_warps=warps, **common)

        yield f"BLOCK={block} warps={warps} stages={stages}", run


def chunk_candidates(cell, common, wide):
    reverse, kinds = common["REVERSE"], {"MASKED": common["MASKED"], "ACC": common["ACC"]}
    for chunk, block, warps in ((32768, 4096, 8), (65536, 8192, 16), (131072, 8192, 16)):
        chunks = triton.cdiv(cell.length, chunk)

        def run(x, mask, y, chunk=chunk, block=block, warps=warps, chunks=chunks):
            kept = wide or (torch.float32 if x.is_floating_point() else y.dtype)
            totals = torch.empty((cell.outer, chunks), dtype=kept, device=x.device)
            grid = (cell.outer, chunks)
            even = cell.length % block == 0
            totals_kernel[grid](x, mask, totals, cell.length, chunk, BLOCK=block, EVEN=even, num_warps=warps, **kinds)
            sums = totals.flip(1).cumsum(1, dtype=kept).flip(1) if reverse else totals.cumsum(1, dtype=kept)
            rows_kernel[grid](x, mask, y, sums - totals, cell.length, chunk, BLOCK=block, STAGES=1, EVEN=even,
                              PREFIX=True, num_warps=warps, **common)

        yield f"CHUNK={chunk} BLOCK={block} warps={warps}", run


def short_candidates(cell, common):
    block = triton.next_power_of_2(cell.length)
    for tile, warps in ((1024, 2), (2048, 4), (4096, 4), (4096, 8), (8192, 8)):
        rows = max(1, tile // block)

        def run(x, mask, y, rows=rows, warps=warps):
            even = cell.length == block and cell.outer % rows == 0
            short_kernel[(triton.cdiv(cell.outer, rows),)](x, mask, y, cell.outer, cell.length, ROWS=rows, BLOCK=block,
                                                           EVEN=even, num_warps=warps, **common)

        yield f"ROWS={rows} BLOCK={block} warps={warps}", run


def column_candidates(cell, common):
    widest = triton.next_power_of_2(cell.inner)
    for steps, width, warps, stages in ((16, 64, 4, 1), (32, 32, 4, 1), (32, 64, 4, 2), (64, 32, 4, 1), (64, 64, 8, 1),
                                        (128, 16, 4, 1), (256, 8, 4, 1)):
        width = min(width, widest)

        def run(x, mask, y, steps=steps, width=width, warps=warps, stages=stages):
            grid = (cell.outer, triton.cdiv(cell.inner, width))
            even = cell.length % steps == 0 and cell.inner % width == 0
            columns_kernel[grid](x, mask, y, cell.length, cell.inner, STEPS=steps, COLUMNS=width, STAGES=stages,
                                 EVEN=even, num_warps=warps, **common)

        yield f"STEPS={steps} COLUMNS={width} warps={warps} stages={stages}", run
