"""torch_cases.py - tensors for the tests, and what a scan of them is to be, computed by torch in f64

SPDX-License-Identifier: MIT

Elements are small integers: sums and products of them are exact in every type and order, so that results are compared
for equality.
"""
import torch
from hypothesis import strategies as st

import rowscan

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
FLOATING = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]
MORE_UNSIGNED = [torch.uint16, torch.uint32, torch.uint64]  # of which torch scans none itself


def numbers(shape, dtype, seed, low=-3, high=4):
    """Integers of [low, high) as a tensor of a type."""
    x = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
    return (x > 0) if dtype is torch.bool else (x.abs() if "uint" in str(dtype) else x).to(dtype)


def _sliced(x):
    return x[..., ::2]


VIEWS = {"itself": lambda x: x,
         "transposed": lambda x: x.movedim(0, -1) if x.dim() else x,
         "every second": lambda x: _sliced(x) if x.dim() else x,
         "the rest": lambda x: x[1:] if x.dim() else x,
         "repeated": lambda x: x.unsqueeze(0).expand(3, *x.shape),
         "overlapping": lambda x: x.unfold(-1, 2, 1) if x.dim() and x.shape[-1] > 1 else x}


# All functions, of x and of flags beside it, in two dimensions: those with gradients, and others.
SMOOTH = {
    "cumsum": lambda x, m: rowscan.cumsum(x, -1),
    "cumsum, masked": lambda x, m: rowscan.cumsum(x, 1, mask=m, reverse=True),
    "cumsum, by keys": lambda x, m: rowscan.cumsum(x, 1, keys=m),
    "cumsum, weighed": lambda x, m: rowscan.cumsum(x, 1, mask=x * m, mask_mode="multiply", exclusive=True),
    "cumsum, init": lambda x, m: rowscan.cumsum(x, 1, init=x[:, :1], totals=True),
    "cumsum, omit_nan": lambda x, m: rowscan.cumsum(x / x, 1, omit_nan=True, init=1.),
    "cumsum, all": lambda x, m: rowscan.cumsum(x, 0, mask=m[:1], heads=m, totals=True),
    "cumsum, fixed": lambda x, m: rowscan.cumsum(x, 1, acc="fixed:20"),
    "cumulative_sum": lambda x, m: rowscan.cumulative_sum(x, axis=1, include_initial=True),
    "cumprod": lambda x, m: rowscan.cumprod(x, 1, exclusive=True),
    "cumprod, by heads": lambda x, m: rowscan.cumprod(x, 1, heads=m),
    "cummax": lambda x, m: rowscan.cummax(x, 1),
    "cummin, indices": lambda x, m: rowscan.cummin(x, 1, indices=True),
    "logcumsumexp": lambda x, m: rowscan.logcumsumexp(x, 1, mask=m),
    "linear_recurrence": lambda x, m: rowscan.linear_recurrence(x, 0.5, 1, mask=m),
    "linear_recurrence, all": lambda x, m: rowscan.linear_recurrence(x, x / 4, 1, tails=m, init=x[:, :1], totals=True),
    "discounted_returns": lambda x, m: rowscan.discounted_returns(x, 0.5, done=m, dim=1),
    "gae": lambda x, m: rowscan.gae(x[:, 1:], x, 0.5, 0.5, dim=1),
    "gae, done": lambda x, m: rowscan.gae(x, x, 0.5, 0.5, next_values=2 * x, terminated=m, done=m, dim=1),
    "gae, mask": lambda x, m: rowscan.gae(x[:, 1:], x, 0.5, 0.5, done=x[:, 1:] > 1, dim=1, mask=m[:, 1:]),
}
OTHERS = {
    "argmax": lambda x, m: rowscan.scan(x, 1, "argmax", mask=m),
    "argmin, second": lambda x, m: rowscan.scan(x, 1, "argmin", second=True),
    "xor": lambda x, m: rowscan.scan(m, 1, "xor"),
    "keys of 64 bits": lambda x, m: rowscan.cumsum(x.double(), 1, keys=m.long()),
    "dtype": lambda x, m: rowscan.cumsum(x, 1, dtype=torch.int32),
    "out": lambda x, m: rowscan.cumsum(x, 1, out=torch.empty_like(x)),
    "out, totals": lambda x, m: rowscan.cumsum(x, 1, init=1., totals=True, out=torch.empty_like(x)),
    "out, by heads beside a mask": lambda x, m: rowscan.cumsum(x, 1, mask=m, heads=m, out=torch.empty_like(x)),
}


def given(rows=3, length=5, seed=0):
    """What those take."""
    return numbers((rows, length), torch.float32, seed), numbers((rows, length), torch.bool, seed + 1)


def results(made):
    return made if isinstance(made, tuple) else (made,)


def assert_same(got, want):
    for a, b in zip(results(got), results(want), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        torch.testing.assert_close(a, b, equal_nan=True)


@st.composite
def tensors(draw, dtypes, most=6, low=-3, high=4, device="cpu"):
    shape = draw(st.lists(st.integers(0, most), max_size=4).map(tuple))
    x = numbers(shape, draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)), low, high).to(device)
    return VIEWS[draw(st.sampled_from(sorted(VIEWS)))](x)


@st.composite
def with_dim(draw, *args, **kwargs):
    x = draw(tensors(*args, **kwargs))
    rank = max(x.dim(), 1)
    return x, draw(st.integers(-rank, rank - 1))


def expected(op, x, dim, *, reverse=False, exclusive=False, mask=None, mask_mode="select", init=None):
    """(results, totals) in f64."""
    scan, identity = (torch.cumsum, 0.) if op == "cumsum" else (torch.cumprod, 1.)
    scalar = x.dim() == 0
    x = x.double()
    if mask is not None:
        mask = torch.as_tensor(mask, device=x.device).expand(x.shape)
        x = x * mask.double() if mask_mode == "multiply" else torch.where(mask != 0, x, identity)
    if scalar:
        x = x.reshape(1)
    first = torch.full_like(x.sum(dim, keepdim=True), identity)
    if init is not None:
        first = torch.as_tensor(init, dtype=torch.float64, device=x.device).expand(first.shape)
    x = torch.cat([first, x.flip(dim) if reverse else x], dim)
    y = scan(x, dim)
    length = y.shape[dim] - 1
    total = y.select(dim, length)
    y = y.narrow(dim, 0 if exclusive else 1, length)
    y = y.flip(dim) if reverse else y
    return (y.reshape(()), total.reshape(())) if scalar else (y, total)
