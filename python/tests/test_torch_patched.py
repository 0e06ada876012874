"""test_torch_patched.py - rowscan in the place of torch's own functions, and torch's own back afterwards

SPDX-License-Identifier: MIT
"""
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("hypothesis")
from hypothesis import given, strategies as st

import rowscan
from torch_cases import DEVICES, FLOATING, INTEGERS, with_dim

on_devices = pytest.mark.parametrize("device", DEVICES)
OWN_KERNELS = hasattr(torch.library, "get_kernel")


def is_torchs(x):
    """Whether torch.cumsum has other bits than rowscan.cumsum, which sums up in another order."""
    return not torch.equal(torch.cumsum(x, 0), rowscan.cumsum(x, 0))


@pytest.fixture(params=DEVICES)
def x(request):
    return torch.randn(10000, generator=torch.Generator().manual_seed(0)).to(request.param)


def test_all_callers_are_served(x):
    own = torch.cumsum(x, 0)
    y = rowscan.cumsum(x, 0)
    p = rowscan.cumprod(x[:50], 0)
    assert is_torchs(x)
    with rowscan.torch.patched(x.device.type.upper()):
        assert torch.equal(torch.cumsum(x, 0), y) and torch.equal(x.cumsum(-1), y)
        out = torch.empty_like(x)
        assert torch.cumsum(x, 0, out=out) is out and torch.equal(out, y)
        z = x.clone()
        version = z._version
        assert z.cumsum_(0) is z and torch.equal(z, y) and z._version > version
        assert torch.equal(torch.ops.aten.cumsum(x, 0), y)
        assert torch.equal(torch.cumprod(x[:50], 0), p) and torch.equal(x[:50].clone().cumprod_(0), p)
        assert torch.equal(torch.cumprod(x[:50], 0, out=torch.empty(50, device=x.device)), p)
        pieces = .5 * (x[:-1] + x[1:])
        assert torch.equal(torch.cumulative_trapezoid(x), rowscan.cumsum(pieces, 0))  # which is a caller in C++
    assert is_torchs(x) and torch.equal(torch.cumsum(x, 0), own)


def test_gradients_stay_torchs(x):
    leaf = x.clone().requires_grad_()
    with rowscan.torch.patched(x.device.type.upper()):
        y = leaf.cumsum(0)
        assert "CumsumBackward" in y.grad_fn.name()
        y.sum().backward()
        h = leaf[:4].detach().requires_grad_()
        h.cumprod(0).sum().backward()
    assert torch.equal(leaf.grad, torch.arange(10000, 0, -1., device=x.device)) and h.grad is not None
    with rowscan.torch.patched(x.device.type.upper()):
        assert torch.func.jvp(lambda x: x.cumsum(0), (x,), (x,))[1].equal(rowscan.cumsum(x, 0))
        assert torch.vmap(lambda r: r.cumsum(0))(x.reshape(10, 1000)).equal(rowscan.cumsum(x.reshape(10, 1000), 1))


@given(case=with_dim(FLOATING + INTEGERS, low=-2, high=3), name=st.sampled_from(["cumsum", "cumprod"]),
       dtype=st.sampled_from([None, torch.float32, torch.float64, torch.int64, torch.int32]))
@on_devices
def test_results_are_as_torchs(device, case, name, dtype):
    x, dim = case[0].to(device), case[1]
    f = getattr(torch, name)
    want = f(x, dim, dtype=dtype)
    with rowscan.torch.patched(device.upper()):
        got = f(x, dim, dtype=dtype)
        out = f(x, dim, out=torch.empty_like(want))
        small = torch.empty(0, dtype=want.dtype, device=device)
        f(x, dim, out=small)
        if x.dtype is not torch.bool:
            z = getattr(x.clone(), name + "_")(dim)
    assert (got.dtype, got.stride()) == (want.dtype, want.stride())
    assert torch.equal(got, want) and torch.equal(out, want) and torch.equal(small, want)
    if x.dtype is not torch.bool:
        assert torch.equal(z, getattr(x.clone(), name + "_")(dim))


def outcome(f, *args, **kwargs):
    """What it returns, as a tuple, or its error's type."""
    try:
        got = f(*args, **kwargs)
    except (RuntimeError, IndexError) as error:
        return type(error)
    return (got,) if isinstance(got, torch.Tensor) else tuple(got)


@given(case=with_dim(FLOATING + INTEGERS, low=-2, high=3), name=st.sampled_from(["cummax", "cummin", "logcumsumexp"]))
@on_devices
def test_other_functions_are_as_torchs(device, case, name):
    """Values and indices; logarithms to within rounding, and of integers the error that there are none.

    Logarithms are compared with exact ones, for torch may round in between.
    """
    x, dim = case[0].to(device), case[1]
    f = getattr(torch, name)
    want = outcome(f, x, dim)
    exact = [f(x.double(), dim).to(x.dtype)] if name == "logcumsumexp" and isinstance(want, tuple) else want
    empty = [torch.empty(0, dtype=a.dtype, device=device) for a in want] if isinstance(want, tuple) else []
    outs = lambda: [empty[0].clone()] if len(empty) == 1 else [tuple(a.clone() for a in empty)]
    with rowscan.torch.patched(device.upper()):
        got = [outcome(f, x, dim), outcome(getattr(x, name), dim)]
        got += [outcome(f, x, dim, out=out) for out in outs() if empty]
        if name != "logcumsumexp":
            z = x.clone()
            got.append(outcome(f, z, dim, out=(z, torch.empty(x.shape, dtype=torch.int64, device=device))))
    for one in got:
        if not isinstance(want, tuple):
            assert one is want or not OWN_KERNELS
            continue
        close = {} if name == "logcumsumexp" else dict(rtol=0, atol=0)
        for a, theirs, b in zip(one, want, exact, strict=True):
            assert (a.dtype, a.shape) == (theirs.dtype, theirs.shape)
            torch.testing.assert_close(a, b, equal_nan=True, **close)


def test_other_functions_are_rowscans(x):
    y = rowscan.logcumsumexp(x, 0)
    zeros = torch.tensor([0., -0., -0.], device=x.device)
    own = torch.cummax(zeros, 0)
    assert not torch.equal(torch.logcumsumexp(x, 0), y) and own.indices.tolist() == [0, 1, 2]
    leaf = x[:50].clone().requires_grad_()
    functions = (lambda x: torch.cummax(x, 0)[0], lambda x: torch.cummin(x, 0)[0], lambda x: torch.logcumsumexp(x, 0))
    gradients = [torch.autograd.grad(f(leaf).sum(), leaf)[0] for f in functions]
    with rowscan.torch.patched(x.device.type.upper()):
        assert torch.equal(torch.logcumsumexp(x, 0), y)
        assert torch.cummax(zeros, 0).indices.tolist() == [0, 0, 0]
        for f, gradient in zip(functions, gradients):
            torch.testing.assert_close(torch.autograd.grad(f(leaf).sum(), leaf)[0], gradient)
            torch.testing.assert_close(torch.vmap(f)(leaf.reshape(5, 10))[2], f(leaf[20:30]))
    assert not torch.equal(torch.logcumsumexp(x, 0), y) and torch.cummax(zeros, 0).indices.tolist() == [0, 1, 2]


@on_devices
def test_errors_are_told(device):
    x = torch.ones(2, 3, device=device)
    with rowscan.torch.patched(device.upper()):
        for _ in range(3):
            with pytest.raises((IndexError, RuntimeError), match=r"Dimension out of range .*\[-2, 1\], but got 5"):
                torch.cumsum(x, 5)
            with pytest.raises(RuntimeError, match="dtype"):
                torch.cumsum(x, 0, dtype=torch.float64, out=torch.empty(2, 3, device=device))
            with pytest.raises(RuntimeError, match="dtype"):
                x.clone().cumsum_(0, dtype=torch.float64)
    with pytest.raises(ValueError, match="'cuda0'"):
        with rowscan.torch.patched("cuda0"):
            pass


@on_devices
@pytest.mark.skipif(not OWN_KERNELS, reason="torch does not hand out its kernels")
def test_other_types_stay_torchs(device):
    x = torch.randn(3, 4, dtype=torch.complex64, device=device)
    f = lambda: (torch.cumsum(x, 1), torch.cumprod(x, 0), torch.cumsum(x.real, 1, dtype=torch.complex128),
                 torch.logcumsumexp(x, 1))
    want = f()
    with rowscan.torch.patched(device.upper()):
        got = f()
        assert torch.equal(x.clone().cumsum_(1), want[0])
        assert torch.equal(torch.cumsum(x, 1, out=torch.empty_like(x)), want[0])
    assert all(torch.equal(a, b) for a, b in zip(got, want))


def test_nesting_and_exceptions(x):
    key = x.device.type.upper()
    with rowscan.torch.patched(key):
        with pytest.raises(KeyError):
            with rowscan.torch.patched(key):
                assert not is_torchs(x)
                raise KeyError
        assert not is_torchs(x)
    assert is_torchs(x)
    first, second = rowscan.torch.patched(key), rowscan.torch.patched(key)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not is_torchs(x)
    second.__exit__(None, None, None)
    assert is_torchs(x)

    @rowscan.torch.patched(key)
    def decorated():
        return is_torchs(x)
    assert not decorated() and not decorated() and is_torchs(x)


def test_install_and_nothing_is_printed_or_warned_of():
    code = ("import warnings, torch, rowscan\nwarnings.simplefilter('error')\nx = torch.randn(10000)\n"
            "for _ in range(2):\n  with rowscan.torch.patched('CPU'):\n    torch.cumsum(x, 0)\n"
            "assert not torch.equal(torch.cumsum(x, 0), rowscan.cumsum(x, 0))\n"
            "rowscan.torch.install('CPU')\nwith rowscan.torch.patched('CPU'): pass\n"
            "assert torch.equal(torch.cumsum(x, 0), rowscan.cumsum(x, 0))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stdout and "verrid" not in done.stderr, done.stderr
