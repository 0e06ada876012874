"""order.py - the order in which a row's elements are combined, as rowscan.h promises it, written down slowly

SPDX-License-Identifier: MIT

It shares no code with the library. Rows are lists of NumPy's scalars of the accumulator's type, so that every operation
rounds, or wraps, once.
"""
import numpy as np

UNSIGNED = ("u8", "u16", "u32", "u64")
FLOATING = ("f16", "bf16", "f32", "f64")
DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4",
          "u32": "u4", "i64": "i8", "u64": "u8", "bool": "?"}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def name_of(dtype):
    return "bf16" if np.dtype(dtype).name == "bfloat16" else NAMES[np.dtype(dtype)]


def default_out(name):
    return name if name in FLOATING else "u64" if name in UNSIGNED else "i64"


def accumulator(name, out, acc=None):
    """What scans from one type to another accumulate in, by the table at rowscan_spec_complete."""
    if out not in FLOATING:
        return out
    return "f64" if acc == "f64" or out == "f64" or name in ("f64", "i32", "u32", "i64", "u64") else "f32"


def combine(op, a, b):
    return op(a, b) if callable(op) else a + b if op == "sum" else a * b


def block(op, row, start, count):
    """The total of an aligned block: of its left half and its right half."""
    if count == 1:
        return row[start]
    half = count // 2
    return combine(op, block(op, row, start, half), block(op, row, start + half, half))


def prefix(op, row, count, init, identity):
    """P(count): a left fold over the aligned blocks that make up [0, count), largest first."""
    value, start = init, 0
    for bit in reversed(range(count.bit_length())):
        if count >> bit & 1:
            total = block(op, row, start, 1 << bit)
            value = total if value is None else combine(op, value, total)
            start += 1 << bit
    return identity if value is None else value


def scan_row(op, row, reverse=False, exclusive=False, include_initial=False, init=None, identity=None):
    """Results of one row and its total, unrounded."""
    row = list(row[::-1] if reverse else row)
    counts = range(len(row) + 1) if include_initial else range(len(row)) if exclusive else range(1, len(row) + 1)
    y = [prefix(op, row, count, init, identity) for count in counts]
    return y[::-1] if reverse else y, prefix(op, row, len(row), init, identity)


def scan(x, dim, op="sum", reverse=False, exclusive=False, include_initial=False, mask=None, mask_mode="select",
         init=None, out=None, acc=None):
    """(y, totals) of NumPy's array x; out and acc are names of types, such as "f32"."""
    kind = name_of(x.dtype)
    out = out or default_out(kind)
    wide = np.dtype(DTYPES[accumulator(kind, out, acc)])
    identity = wide.type(op == "prod")
    dim %= x.ndim
    with np.errstate(all="ignore"):
        elements = x.astype(wide)
        if mask is not None:
            mask = np.broadcast_to(mask, x.shape)
            elements = (np.where(mask != 0, elements, identity) if mask_mode == "select"
                        else elements * mask.astype(wide))
        rows = np.moveaxis(elements, dim, -1)
        length = rows.shape[-1] + (1 if include_initial else 0)
        y, totals = np.empty(rows.shape[:-1] + (length,), wide), np.empty(rows.shape[:-1], wide)
        if init is not None:
            init = np.broadcast_to(np.asarray(init).astype(wide), x.shape[:dim] + (1,) + x.shape[dim + 1:])
            init = np.squeeze(init, dim)
        for at in np.ndindex(*rows.shape[:-1]):
            y[at], totals[at] = scan_row(op, rows[at], reverse, exclusive, include_initial,
                                         None if init is None else init[at], identity)
        return np.moveaxis(y, -1, dim).astype(x.dtype if out == kind else DTYPES[out]), totals


def assert_bits(a, b):
    """Equal bit for bit, but for the sign and the payload of a NaN."""
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    if name_of(a.dtype) in FLOATING:
        assert ((a != a) == (b != b)).all()
        a, b = np.where(a != a, a.dtype.type(0), a), np.where(b != b, b.dtype.type(0), b)
    assert a.astype(a.dtype, order="C").tobytes() == b.astype(b.dtype, order="C").tobytes()


def set_wide(jax, on):
    """JAX's numbers of 64 bits, on or off, as a context."""
    return jax.enable_x64(on) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(on)
