"""torch_cases.py - tensors for the tests, and what a scan of them is to be, computed by torch in f64

SPDX-License-Identifier: MIT

Elements are small integers: sums and products of them are exact in every type and order, so that results are compared
for equality.
"""
import torch
from hypothesis import strategies as st

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
