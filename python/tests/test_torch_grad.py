"""test_torch_grad.py - gradients: of all that is differentiable, twice, forward-mode, under torch.func, with masks

SPDX-License-Identifier: MIT
"""
import itertools
import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("hypothesis")
from hypothesis import given, strategies as st

import rowscan
from torch_cases import DEVICES, FLOATING, VIEWS, expected, numbers, results
from torch.autograd import gradcheck, gradgradcheck
from torch.utils._python_dispatch import TorchDispatchMode

FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
on_devices = pytest.mark.parametrize("device", DEVICES)
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)
F64 = torch.float64


def leaf(*shape, device="cpu", dtype=F64, seed=0):
    x = torch.randn(shape, dtype=F64, generator=torch.Generator().manual_seed(seed))
    return x.to(device, dtype).requires_grad_()


def gradient(y, x, g):
    return torch.autograd.grad(y, x, g)[0]


# ---- the quick way: a sum of x alone ---------------------------------------------------------------------------------

@given(shape=st.lists(st.integers(0, 5), max_size=3).map(tuple), dim=st.integers(0, 2), flags=st.sampled_from(FLAGS),
       view=st.sampled_from(sorted(VIEWS)), g_view=st.sampled_from(["dense", "repeated", "transposed"]),
       dtypes=st.sampled_from([(d, d) for d in FLOATING] + [(torch.float16, torch.float32), (torch.float32, F64),
                                                            (torch.bfloat16, F64)]),
       mask=st.sampled_from(["none", "bool", "row", "weights"]))
@on_devices
def test_gradient_of_a_sum(device, shape, dim, flags, view, g_view, dtypes, mask):
    base = numbers(shape, dtypes[0], 1).to(device).requires_grad_()
    x = VIEWS[view](base)
    dim = min(dim, max(x.dim() - 1, 0))
    kwargs = dict(flags)
    if mask != "none":
        m = numbers(x.shape[-1:] if mask == "row" else x.shape, torch.bool, 2, -1, 3).to(device)
        kwargs.update(mask=m.to(x.dtype) * 2 if mask == "weights" else m,
                      mask_mode="multiply" if mask == "weights" else "select")
    y = rowscan.cumsum(x, dim, dtype=dtypes[1], **kwargs)
    assert y.requires_grad and y.dtype is dtypes[1] and not y.is_leaf
    g = numbers(y.shape, y.dtype, 3).to(device)
    if g_view == "repeated":
        g = torch.ones((), dtype=y.dtype, device=device).expand(y.shape)
    elif g_view == "transposed" and g.dim() > 1:
        g = g.transpose(0, -1).contiguous().transpose(0, -1)
    wide = base.detach().double().requires_grad_()
    want = gradient(expected("cumsum", VIEWS[view](wide), dim, **kwargs)[0], wide, g.double())
    got = gradient(y, base, g)
    assert got.dtype is base.dtype and torch.equal(got.double(), want)


@on_devices
@with_flags
def test_gradcheck(device, flags):
    x, m = leaf(3, 4, device=device), torch.rand(3, 4, generator=torch.Generator().manual_seed(2)).to(device) > .5
    for dim in (0, -1):
        for kwargs in ({}, {"mask": m}, {"mask": m, "mask_mode": "multiply"}):
            f = lambda x: rowscan.cumsum(x, dim, **kwargs, **flags)
            assert gradcheck(f, x, check_forward_ad=True, check_batched_grad=True)
            assert gradgradcheck(f, x, check_fwd_over_rev=True)


@on_devices
@with_flags
@pytest.mark.parametrize("totals", [False, True])
def test_gradcheck_of_weights_initial_values_and_totals(device, flags, totals):
    x, w, i = (leaf(*s, device=device, seed=n) for n, s in enumerate([(3, 4), (1, 4), (3, 1)]))
    f = lambda x, w, i: rowscan.cumsum(x, 1, mask=w, mask_mode="multiply", init=i, totals=totals, **flags)
    assert gradcheck(f, (x, w, i), check_forward_ad=True) and gradgradcheck(f, (x, w, i))
    m = torch.tensor([True, False, True, True], device=device)
    f = lambda x, i: rowscan.cumsum(x, 1, mask=m, init=i, totals=totals, **flags)
    assert gradcheck(f, (x, i), check_forward_ad=True) and gradgradcheck(f, (x, i))
    only = lambda i: rowscan.cumsum(x.detach(), 1, init=i, totals=totals, **flags)
    assert gradcheck(only, i, check_forward_ad=True)
    one = lambda x: rowscan.cumsum(x, 0, totals=totals, **flags)
    assert gradcheck(one, leaf(device=device), check_forward_ad=True)
    assert gradcheck(one, leaf(5, device=device), check_forward_ad=True)


@on_devices
def test_gradcheck_with_initial(device):
    f = lambda x: rowscan.cumulative_sum(x, axis=0, include_initial=True)
    x = leaf(3, 4, device=device)
    assert gradcheck(f, x, check_forward_ad=True) and gradgradcheck(f, x)


def zeroed(*shape, device="cpu"):
    """With a row of one zero and one of two."""
    x = leaf(*shape, device=device)
    with torch.no_grad():
        x[1, 2] = x[2, 0] = x[2, 3] = 0
    return x


class _Scans(TorchDispatchMode):
    """Counts the operators of rowscan."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "rowscan":
            self.names.append(func.name().split("::")[1])
        return func(*args, **(kwargs or {}))


ROUNDED = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-6, F64: 1e-14}


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
@pytest.mark.parametrize("init", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape, dim", [((3, 70), 1), ((33, 4), 0), ((2, 9, 5), 1), ((4, 1), 1), ((6,), 0),
                                        ((0, 3), 1)])
@on_devices
def test_both_gradients_of_a_recurrence_in_one_scan(device, dtype, init, reverse, shape, dim):
    """They are those that more scans make where these are to be seen: of x bit by bit, of coefficients but for the
    rounding of results that are multiplied."""
    x, a, g = (leaf(*shape, device=device, dtype=dtype, seed=seed) for seed in range(3))
    rows = [1 if d == dim else n for d, n in enumerate(shape)]
    start = leaf(*rows, device=device, seed=3) if init else None
    leaves = (x, a, start) if init else (x, a)
    y = rowscan.linear_recurrence(x, a, dim, reverse=reverse, init=start)
    with _Scans() as scans:
        one = torch.autograd.grad(y, leaves, g.detach(), retain_graph=True)
    assert scans.names == ["_recurrence_back"]
    several = torch.autograd.grad(y, leaves, g.detach(), create_graph=True)
    assert torch.equal(one[0], several[0])
    for mine, reference in zip(one[1:], several[1:]):
        assert mine.dtype == reference.dtype
        assert torch.allclose(mine, reference, rtol=ROUNDED[dtype], atol=ROUNDED[dtype])
    z = rowscan.cumprod(x, dim, reverse=reverse)
    with _Scans() as scans:
        one = torch.autograd.grad(z, x, g.detach(), retain_graph=True)[0]
    if dtype in (torch.float32, F64):  # of others the results are not what they were multiplied with
        assert scans.names == ["_product_back"]
    reference = torch.autograd.grad(z, x, g.detach(), create_graph=True)[0]
    assert torch.allclose(one, reference, rtol=4 * ROUNDED[dtype], atol=4 * ROUNDED[dtype])


@pytest.mark.parametrize("dtype", ROUNDED, ids=str)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape, dim", [((3, 70), 1), ((33, 4), 0), ((2, 9, 5), 1), ((4, 1), 1), ((6,), 0)])
@on_devices
def test_gradients_in_one_scan(device, dtype, reverse, shape, dim):
    """They are those that more scans make where these are to be seen: bit by bit, but for exponentials."""
    x, g = (leaf(*shape, device=device, dtype=dtype, seed=seed) for seed in range(2))
    x = (4 * x).round().detach().requires_grad_()  # with equal elements
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)).to(device) > .3
    start = leaf(*[1 if d == dim else n for d, n in enumerate(shape)], device=device, seed=3)
    for scan, leaves in ((lambda: rowscan.cummax(x, dim, reverse=reverse), [x]),
                         (lambda: rowscan.cummin(x, dim, reverse=reverse), [x]),
                         (lambda: rowscan.cumsum(x, dim, reverse=reverse, mask=mask), [x]),
                         (lambda: rowscan.cumsum(x, dim, reverse=reverse, exclusive=True, mask=mask.to(x.dtype),
                                                 mask_mode="select", init=start), [x, start]),
                         (lambda: rowscan.logcumsumexp(x, dim, reverse=reverse), [x])):
        y = scan()
        with _Scans() as scans:
            one = torch.autograd.grad(y, leaves, g.detach(), retain_graph=True)
        assert scans.names in (["_scan_back"], ["_scan_back_totals"]) or dtype not in (torch.float32, F64)
        several = torch.autograd.grad(y, leaves, g.detach(), create_graph=True)
        for mine, reference in zip(one, several):
            assert mine.dtype == reference.dtype
            assert torch.allclose(mine, reference, rtol=4 * ROUNDED[dtype], atol=4 * ROUNDED[dtype])


@pytest.mark.parametrize("flags", [{}, {"reverse": True}, {"exclusive": True}], ids=str)
@pytest.mark.parametrize("c", [0.9, 1, 0.0, -2.5])
@on_devices
def test_gradient_beside_a_number(device, c, flags):
    """It is that beside an array of that number, and has gradients of its own."""
    x, g = leaf(3, 17, device=device), leaf(3, 17, device=device, seed=1).detach()
    one, = torch.autograd.grad(rowscan.linear_recurrence(x, c, 1, **flags), x, g)
    array = torch.full_like(x, c).detach()
    assert torch.allclose(one, torch.autograd.grad(rowscan.linear_recurrence(x, array, 1, **flags), x, g)[0])
    assert gradgradcheck(lambda x: rowscan.linear_recurrence(x, c, 1, **flags), x)


@on_devices
def test_gradients_that_are_not_what_they_look_like(device):
    """With torch's negative bit, batched, or zeros without memory."""
    x, a = leaf(6, device=device), leaf(6, device=device, seed=1)
    g = torch.complex(torch.zeros(6, dtype=F64), torch.arange(1., 7, dtype=F64)).to(device).conj().imag
    assert g.is_neg()
    for scan in (lambda x: rowscan.cumprod(x, 0), lambda x: rowscan.linear_recurrence(x, a, 0),
                 lambda x: rowscan.cummax(x, 0), lambda x: rowscan.linear_recurrence(x, .5, 0)):
        y = scan(x)
        plain, = torch.autograd.grad(y, x, g.resolve_neg().clone(), retain_graph=True)
        assert torch.equal(torch.autograd.grad(y, x, g, retain_graph=True)[0], plain)
        zeros = torch._efficientzerotensor(6, dtype=F64, device=device)
        assert not torch.autograd.grad(y, x, zeros)[0].any()
        whole = torch.autograd.functional.jacobian(scan, x.detach())
        assert torch.allclose(torch.autograd.functional.jacobian(scan, x.detach(), vectorize=True), whole)


@on_devices
def test_a_mask_for_one_element_without_dimensions(device):
    x = torch.tensor(2., requires_grad=True, device=device)
    rowscan.cumsum(x, 0, mask=torch.tensor([3.], device=device), mask_mode="multiply").backward()
    assert x.grad == 3


@on_devices
def test_each_backward_pass_can_be_repeated_or_not(device):
    """What is saved is let go of, but where nothing is."""
    x, a = leaf(3, 9, device=device), leaf(3, 9, device=device, seed=1)
    for scan, saves in ((lambda: rowscan.cummax(x, 1), True), (lambda: rowscan.logcumsumexp(x, 1), True),
                        (lambda: rowscan.cumprod(x, 1), True), (lambda: rowscan.linear_recurrence(x, a, 1), True),
                        (lambda: rowscan.cumsum(x, 1), False), (lambda: rowscan.linear_recurrence(x, .5, 1), False)):
        y = scan()
        first = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
        assert torch.equal(first, torch.autograd.grad(y.sum(), x)[0])
        if saves:
            with pytest.raises(RuntimeError, match="second time"):
                torch.autograd.grad(y.sum(), x)


@on_devices
def test_extremes_have_the_gradients_of_their_elements(device):
    """Of equal ones the last has them; a NaN has those of all results behind it."""
    x = torch.tensor([[1., 3, 3, 2, 5, torch.nan, 1]], dtype=F64, device=device, requires_grad=True)
    g = torch.tensor([[1., 2, 4, 8, 16, 32, 64]], dtype=F64, device=device)
    d, = torch.autograd.grad(rowscan.cummax(x, 1), x, g)
    assert torch.equal(d, torch.tensor([[1., 2, 12, 0, 16, 96, 0]], dtype=F64, device=device))


@on_devices
def test_logarithms_of_infinite_elements(device):
    """What is infinite has the gradients of all results that it is; elements of -inf have none."""
    inf = torch.inf
    x = torch.tensor([[-inf, -inf, 0, 0, -inf, inf, 1, inf]], dtype=F64, device=device, requires_grad=True)
    g = torch.ones(1, 8, dtype=F64, device=device)
    d, = torch.autograd.grad(rowscan.logcumsumexp(x, 1), x, g)
    assert torch.allclose(d, torch.tensor([[0, 0, 2, 1, 0, 3, 0, 1]], dtype=F64, device=device))


@on_devices
def test_recurrences_that_one_scan_does_not_serve(device):
    """Exclusive ones, totals, segments, and coefficients that are flags: by more scans, with the same gradients."""
    x, a = leaf(3, 9, device=device), leaf(3, 9, device=device, seed=1)
    heads = torch.rand(3, 9, generator=torch.Generator().manual_seed(2)).to(device) > .7
    for kwargs in {"exclusive": True}, {"totals": True}, {"heads": heads}:
        y = rowscan.linear_recurrence(x, a, 1, **kwargs)
        with _Scans() as scans:
            torch.autograd.grad(y[0].sum() + y[1].sum() if kwargs.get("totals") else y.sum(), (x, a))
        assert "_recurrence_back" not in scans.names and scans.names, kwargs
        assert gradcheck(lambda x, a: rowscan.linear_recurrence(x, a, 1, **kwargs), (x, a))
    flags = heads.to(torch.uint8)
    with _Scans() as scans:
        gradient(rowscan.linear_recurrence(x, flags, 1).sum(), x, None)
    assert "_recurrence_back" not in scans.names


@on_devices
def test_where_nothing_goes_back(device):
    """The first coefficient multiplies no gradient, be it infinite, and has one of 0; one of 0 lets nothing by."""
    x = torch.tensor([[1., 2, 3, 4, 5]], dtype=F64, device=device, requires_grad=True)
    a = torch.tensor([[torch.inf, 1, 0, 1, 1]], dtype=F64, device=device, requires_grad=True)
    g = torch.tensor([[1., 1, 5, 1, 1]], dtype=F64, device=device)
    dx, da = torch.autograd.grad(rowscan.linear_recurrence(x, a, 1), (x, a), g)
    assert torch.equal(dx, torch.tensor([[2., 1, 7, 2, 1]], dtype=F64, device=device)) and da[0, 0] == 0


@on_devices
@with_flags
def test_gradient_of_a_product(device, flags):
    x, w, i = zeroed(3, 4, device=device), leaf(1, 4, device=device, seed=1), leaf(3, 1, device=device, seed=2)
    m = torch.tensor([True, False, True, True], device=device)
    for f, given in ((lambda x: rowscan.cumprod(x, 1, **flags), (x,)),
                     (lambda x: rowscan.cumprod(x, 0, mask=m, totals=True, **flags), (x,)),
                     (lambda x, i: rowscan.cumprod(x, 1, mask=m, init=i, **flags), (x, i)),
                     (lambda x, w, i: rowscan.cumprod(x, 1, mask=w, mask_mode="multiply", init=i, totals=True, **flags),
                      (x, w, i)),
                     (lambda i: rowscan.cumprod(x.detach(), 1, init=i, totals=True, **flags), (i,)),
                     (lambda x: rowscan.cumprod(x, 0, totals=True, **flags), (leaf(device=device),))):
        assert gradcheck(f, given, check_forward_ad=True, check_batched_grad=True)
        assert gradgradcheck(f, given, check_fwd_over_rev=True)


@on_devices
def test_gradient_of_a_product_with_initial(device):
    f = lambda x: rowscan.cumulative_prod(x, axis=1, include_initial=True)
    x = zeroed(3, 4, device=device)
    assert gradcheck(f, x, check_forward_ad=True) and gradgradcheck(f, x)


@on_devices
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_gradient_of_a_narrow_product(device, dtype):
    """Of products that are powers of 2, and rounded to nothing where they are f16: they are kept as they were made."""
    x = torch.tensor([2.**-20, 2.**10, 2.**9, -2.**3], device=device).to(dtype).requires_grad_()
    g = torch.ones(4, dtype=dtype, device=device)
    for out in (dtype, torch.float32):
        got = gradient(rowscan.cumprod(x, 0, dtype=out), x, g.to(out))
        wide = x.detach().double().requires_grad_()
        want = gradient(torch.cumprod(wide, 0), wide, g.double())
        assert got.dtype is dtype and torch.equal(got, want.to(dtype))


def test_gradient_of_a_product_has_no_division():
    """Elements so small that a quotient by one is infinite."""
    x = torch.tensor([3., 1e-40, 5., 7.], requires_grad=True)
    got = gradient(rowscan.cumprod(x, 0), x, torch.ones(4))
    assert got.isfinite().all() and got[1].item() == 3 + 15 + 105


def test_products_without_nans_have_no_gradient():
    x = leaf(3, dtype=torch.float32)
    with pytest.raises(rowscan.Unsupported, match="prod has no gradient here with omit_nan"):
        rowscan.cumprod(x, 0, omit_nan=True)
    with torch.no_grad():
        rowscan.cumprod(x, 0, omit_nan=True)


# ---- conditions: masks that select, and flags ------------------------------------------------------------------------

SCANS = {"cumsum": rowscan.cumsum, "cumprod": rowscan.cumprod, "logcumsumexp": rowscan.logcumsumexp,
         "cummax": rowscan.cummax,
         "linear_recurrence": lambda x, dim, **o: rowscan.linear_recurrence(x, x.sin(), dim, **o)}
CONDITIONS = [("mask",), ("heads",), ("tails",), ("mask", "heads"), ("mask", "keys")]


def conditional(name, words):
    """A scan by a tensor of conditions, of which the last is in the place of keys where they are among those."""
    def f(x, c):
        return SCANS[name](x, -1, **given_as(words, c))
    return f


def given_as(words, c):
    """The arguments of these names, of which a mask that may be floating says that it selects."""
    given = {word: c != 0 if word == "keys" else c for word in words}
    return {**given, "mask_mode": "select"} if "mask" in words else given


def conditions(dtype=torch.float32):
    """Elements, and conditions of their type."""
    c = torch.tensor([[1, 0, -2, 0.5, 0], [0, 3, 1, 0, 1]], dtype=dtype)
    return leaf(2, 5, dtype=dtype).detach(), c, leaf(2, 5, dtype=dtype, seed=1).detach()


def with_scans(*names):
    return pytest.mark.parametrize("name, words", [
        pytest.param(name, words, id=f"{name}-{'-'.join(words)}") for name, words in itertools.product(
            names, CONDITIONS)])


@with_scans(*SCANS)
def test_conditions_have_no_gradient(name, words):
    """They are as bool is, also where they are floating and require one."""
    x, c, g = conditions()
    f = conditional(name, words)
    a, b, its = x.clone().requires_grad_(), x.clone().requires_grad_(), c.clone().requires_grad_()
    y, want = f(a, its), f(b, c != 0)
    assert torch.equal(y, want)
    d, none = torch.autograd.grad(y, (a, its), g, allow_unused=True)
    assert none is None and torch.equal(d, gradient(want, b, g))
    assert not f(x, its).requires_grad
    out = torch.empty_like(x)
    assert SCANS[name](x, -1, **given_as(words, its), out=out) is out
    assert torch.equal(out, want)


@with_scans(*SCANS)
def test_transforms_of_conditions(name, words):
    x, c, t = conditions()
    f = conditional(name, words)
    plain, value = lambda x: f(x, c != 0), lambda x, c: f(x, c).nan_to_num(0, 0, 0).square().sum()
    for c_moves in (c, c.clone().requires_grad_()):
        for got, want in zip(torch.func.jvp(f, (x, c_moves), (t, t)), torch.func.jvp(plain, (x,), (t,))):
            torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    assert not torch.func.jvp(lambda c: f(x, c), (c,), (t,))[1].any()
    want = torch.func.grad(value)(x, c != 0)
    for change in (lambda of: of, torch.vmap):
        d, none = change(torch.func.grad(value, (0, 1)))(x, c)
        assert torch.equal(d, want) and not none.any()
    twice = torch.func.grad(lambda x, c: torch.func.grad(value)(x, c).square().sum(), (0, 1))(x, c)
    assert torch.equal(twice[0], torch.func.grad(lambda x: torch.func.grad(value)(x, c != 0).square().sum())(x))
    assert not twice[1].any()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(c, t)
        assert torch.autograd.forward_ad.unpack_dual(f(x, dual)).tangent is None


@with_scans("cumsum", "cumprod", "linear_recurrence")  # others have no segments of elements of 64 bits
def test_gradcheck_beside_conditions(name, words):
    x, c, _ = conditions(F64)
    f = lambda x: conditional(name, words)(x, c.requires_grad_())
    assert gradcheck(f, x.requires_grad_(), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(f, x, check_fwd_over_rev=True)


@pytest.mark.parametrize("words", [("mask",), ("mask", "heads")], ids="-".join)
def test_compiled_conditions(words):
    x, c, g = conditions()
    torch._dynamo.reset()
    f, a, b, its = conditional("cumsum", words), *(tensor.clone().requires_grad_() for tensor in (x, x, c))
    y = torch.compile(f, fullgraph=True, backend="aot_eager")(a, its)
    d, none = torch.autograd.grad(y, (a, its), g, materialize_grads=True)
    assert torch.equal(d, gradient(f(b, c != 0), b, g)) and not none.any()


def test_conditions_of_other_scans():
    """Flags of integers, beside gradients that are floating; and a scan that has no gradient, for which none is wanted.
    """
    init = torch.ones(1, requires_grad=True)
    y, totals = rowscan.cumsum(torch.arange(4), 0, heads=torch.tensor([0, 0, 3, 0]), init=init, dtype=torch.float32,
                               totals=True)
    assert gradient(y, init, torch.ones(4)).item() == 2
    y = rowscan.scan(torch.ones(3), 0, "extended_prod", mask=torch.ones(3, requires_grad=True), mask_mode="select")
    assert y.tolist() == [1, 1, 1] and not y.requires_grad


# ---- elements that no result depends on ------------------------------------------------------------------------------

def weighed(function):
    return lambda x, w, **options: function(x, 1, mask=w, mask_mode="multiply", **options)


PRODUCTS = {"cumprod": lambda x, w, **o: rowscan.cumprod(x, 1, **o), "cumprod, weighed": weighed(rowscan.cumprod),
            "cumsum, weighed": weighed(rowscan.cumsum),
            "logcumsumexp": lambda x, w, **o: rowscan.logcumsumexp(x, 1, **o),
            "linear_recurrence": lambda x, w, **o: rowscan.linear_recurrence(x, w, 1, **o),
            "cummax": lambda x, w, **o: rowscan.cummax(x, 1, **o)}
SEGMENTED = {"row": {}, "keys": {"keys": [4, 4, 4, 2, 2]}, "heads": {"heads": [0, 0, 0, 1, 0]},
             "tails": {"tails": [0, 0, 1, 0, 0]}, "mask": {"mask": [1, 0, 1, 1, 1]},
             "mask and keys": {"mask": [1, 0, 1, 1, 1], "keys": [4, 4, 4, 2, 2]}}


def all_gradients(f, x, w, w_moves):
    """Gradients, those of them, and changes."""
    moving = [x.clone().requires_grad_(), w.clone().requires_grad_(w_moves)]
    wanted = moving[:1 + w_moves]
    y = results(f(*moving))
    first = torch.autograd.grad(sum((a * a).sum() for a in y), wanted, create_graph=True, allow_unused=True)
    first = [d for d in first if d is not None]
    total = sum((d * d).sum() for d in first)
    second = torch.autograd.grad(total, wanted, allow_unused=True) if total.requires_grad else ()
    changes = results(torch.func.jvp(f, (x, w), (torch.ones_like(x), torch.ones_like(w)))[1])
    return [*first, *(d for d in second if d is not None)], changes


@on_devices
@pytest.mark.parametrize("totals", [False, True], ids=["", "totals"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("beside", SEGMENTED)
@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_do_not_depend_on_what_no_result_does(device, name, beside, reverse, totals):
    """The last element of an exclusive scan, and of each segment, may be anything."""
    if "weighed" in name and ("mask" in beside or beside != "row" and name != "cumsum, weighed"):
        pytest.skip("two masks, or no such gradient")
    options = {word: torch.tensor([flags], dtype=torch.int32 if word == "keys" else torch.bool, device=device)
               for word, flags in SEGMENTED[beside].items()}
    f = lambda x, w: PRODUCTS[name](x, w, exclusive=True, reverse=reverse, totals=totals, **options)
    x, w = (leaf(2, 5, device=device, dtype=torch.float32, seed=n).detach() for n in range(2))
    ends = [0, 3] if reverse else [4, 2]  # of the row, and of the first segment
    unused = ends[:1 - totals] if beside in ("row", "mask") else ends[totals:]
    at = torch.tensor(unused, dtype=torch.int64, device=device)
    for w_moves in (False, True):
        want, want_changes = all_gradients(f, x, w, w_moves)
        for bad in (torch.inf, torch.nan):
            got, changes = all_gradients(f, *(tensor.index_fill(1, at, bad) for tensor in (x, w)), w_moves)
            assert not any(d[:, unused].any() for d in got)
            for a, b in zip([*got, *changes], [*want, *want_changes], strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=0)


# ---- what autograd offers --------------------------------------------------------------------------------------------

@with_flags
def test_graph_can_be_kept_and_freed(flags):
    x = leaf(4)
    m = torch.tensor([True, False, True, True])
    y = rowscan.cumsum(x, 0, mask=m, **flags)
    first = torch.autograd.grad(y.sum(), x, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], first)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y.sum(), x)


def test_a_mask_that_changes_is_noticed():
    x, m = leaf(4), torch.tensor([True, False, True, True])
    y = rowscan.cumsum(x, 0, mask=m)
    m.fill_(True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_results_may_change_in_place():
    x = leaf(4)
    y = rowscan.cumsum(x, 0)
    y.mul_(2)
    assert gradient(y, x, torch.ones(4, dtype=F64)).tolist() == [8, 6, 4, 2]


def test_hooks():
    x, seen = leaf(4), []
    y = rowscan.cumsum(x, 0)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.grad_fn.register_hook(lambda ins, outs: seen.append(ins[0].tolist()))
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 10,))
    y.sum().backward()
    assert seen == [[1.] * 4, [40., 30, 20, 10]] and x.grad.tolist() == [40, 30, 20, 10]
    assert y.grad_fn.next_functions[0][0].variable is x


def test_saved_tensors_hooks():
    x, m, packed = leaf(4), torch.tensor([True, False, True, True]), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t.clone(), lambda t: t):
        y = rowscan.cumsum(x, 0, mask=m)
        z = rowscan.cumsum(x, 0, mask=m.double(), mask_mode="multiply", init=leaf(1))
    assert len(packed) >= 2
    assert torch.equal(gradient(y + z, x, torch.ones(4, dtype=F64)), torch.tensor([8., 0, 4, 2], dtype=F64))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant):
    from torch.utils.checkpoint import checkpoint
    x = leaf(4)
    y = checkpoint(lambda x: rowscan.cumsum(rowscan.cumsum(x * 2, 0), 0, reverse=True), x, use_reentrant=reentrant)
    z = rowscan.cumsum(rowscan.cumsum(x * 2, 0), 0, reverse=True)
    g = leaf(4, seed=4).detach()
    assert torch.equal(gradient(z, x, g), (y.backward(g), x.grad)[1])


def test_no_gradient_is_recorded_where_none_is_wanted():
    x = leaf(4)
    with torch.no_grad():
        assert not rowscan.cumsum(x, 0).requires_grad
    assert not rowscan.cumsum(x.detach(), 0).requires_grad
    with torch.inference_mode():
        assert not rowscan.cumsum(x, 0).requires_grad
    assert rowscan.cumsum(torch.nn.Parameter(torch.ones(4)), 0).requires_grad
    assert not rowscan.cumsum(torch.ones(4), 0, mask=torch.ones(4, dtype=torch.bool)).requires_grad


def test_create_graph():
    x = leaf(4)
    g = torch.autograd.grad(rowscan.cumsum(x ** 2, 0).sum(), x, create_graph=True)[0]
    assert torch.allclose(torch.autograd.grad(g.sum(), x)[0], torch.tensor([8., 6, 4, 2], dtype=F64))


def test_operators_have_the_gradient_too():
    x = leaf(3, 4)
    want = gradient(rowscan.cumsum(x, 1, reverse=True), x, torch.ones(3, 4, dtype=F64))
    assert torch.equal(gradient(torch.ops.rowscan.scan(x, 1, 0, 2), x, torch.ones(3, 4, dtype=F64)), want)
    y, totals = torch.ops.rowscan.scan_totals(x, -1)
    assert totals.shape == (3, 1) and y.requires_grad and totals.requires_grad


def test_operators_under_transforms():
    f = lambda x: torch.ops.rowscan.scan(x, 0, 0, 2)
    g = lambda x: rowscan.cumsum(x, 0, reverse=True)
    x = leaf(4).detach()
    for change in (torch.func.jacrev, torch.func.jacfwd, torch.func.hessian,
                   lambda f: torch.func.grad(lambda x: (torch.func.grad(lambda x: (f(x) ** 3).sum())(x) ** 2).sum()),
                   lambda f: torch.vmap(torch.func.grad(lambda r: (f(r[None]) ** 2).sum()))):
        assert torch.allclose(change(f)(x), change(g)(x))


def test_many_threads_go_backward():
    import threading
    bad = []

    def one():
        for _ in range(50):
            x = leaf(64)
            if gradient(rowscan.cumsum(x, 0), x, torch.ones(64, dtype=F64))[0] != 64:
                bad.append(x)
    threads = [threading.Thread(target=one) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not bad


# ---- torch.func and forward mode -------------------------------------------------------------------------------------

def triangle(flags, n=4):
    t = torch.ones(n, n, dtype=F64).tril(-1 if flags["exclusive"] else 0)
    return t.flip(0, 1) if flags["reverse"] else t


@with_flags
def test_jacobians(flags):
    f = lambda x: rowscan.cumsum(x, 0, **flags)
    x = leaf(4).detach()
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        assert torch.equal(jacobian(f)(x), triangle(flags))
    h = torch.func.hessian(lambda x: (f(x) ** 2).sum())(x)
    assert torch.allclose(h, 2 * triangle(flags).T @ triangle(flags))


def test_jvp_vjp_and_grad():
    f = lambda x: rowscan.cumsum(x, 0)
    x, t = leaf(4).detach(), leaf(4, seed=1).detach()
    y, dy = torch.func.jvp(f, (x,), (t,))
    assert torch.equal(y, f(x)) and torch.equal(dy, f(t))
    y, back = torch.func.vjp(f, x)
    assert torch.equal(back(t)[0], rowscan.cumsum(t, 0, reverse=True))
    assert torch.func.grad(lambda x: f(x).sum())(x).tolist() == [4, 3, 2, 1]
    assert torch.func.grad(lambda x: torch.func.grad(lambda x: (f(x) ** 3).sum())(x).sum())(x).shape == (4,)
    with torch.autograd.forward_ad.dual_level():
        y, dy = torch.autograd.forward_ad.unpack_dual(f(torch.autograd.forward_ad.make_dual(x, t)))
        assert torch.equal(dy, f(t))
        assert torch.autograd.forward_ad.unpack_dual(f(x)).tangent is None
    with pytest.raises(rowscan.Unsupported):
        torch.func.jvp(lambda x: rowscan.scan(x, 0, "extended_prod"), (x,), (t,))
    _, dy = torch.func.jvp(lambda x: rowscan.cumprod(x, 0), (x,), (t,))
    torch.testing.assert_close(dy, torch.func.jvp(lambda x: torch.cumprod(x, 0), (x,), (t,))[1])


VMAPS = [{"in_dims": 0}, {"in_dims": 2, "out_dims": 2}, {"in_dims": -1, "out_dims": 1}]


@with_flags
@pytest.mark.parametrize("dims", VMAPS, ids=str)
def test_vmap(flags, dims):
    x = leaf(5, 3, 4).detach()
    for dim in (0, 1, -1):
        f = lambda op: lambda r: op(r, dim)
        want = torch.vmap(f(lambda r, d: expected("cumsum", r, d, **flags)[0]), **dims)(x)
        torch.testing.assert_close(torch.vmap(f(lambda r, d: rowscan.cumsum(r, d, **flags)), **dims)(x), want)
        torch.testing.assert_close(torch.vmap(f(lambda r, d: torch.ops.rowscan.scan(
            r, d, 0, 2 * flags["reverse"] + flags["exclusive"])), **dims)(x), want)


def test_vmap_of_masks_initial_values_totals_and_scalars():
    x, m, i = leaf(5, 3).detach(), numbers((5, 3), torch.bool, 1), leaf(5).detach()
    f = lambda x, m, i: rowscan.cumsum(x, 0, mask=m, init=i, totals=True)
    want = expected("cumsum", x, 1, mask=m, init=i[:, None])
    for got in (torch.vmap(f)(x, m, i), torch.vmap(f, (1, 1, 0))(x.T, m.T, i)):
        assert all(torch.allclose(a, b) for a, b in zip(got, want))
    got = torch.vmap(f, (0, None, None))(x, m[0], i[0])
    assert torch.allclose(got[0], expected("cumsum", x, 1, mask=m[0], init=i[0])[0])
    got = torch.vmap(f, (None, 0, None))(x[0], m, i[0])
    assert torch.allclose(got[0], expected("cumsum", x[0].expand(5, 3), 1, mask=m, init=i[0])[0])
    assert torch.equal(torch.vmap(lambda s: rowscan.cumsum(s, 0))(i), i)
    assert torch.equal(torch.vmap(torch.vmap(lambda r: rowscan.cumsum(r, 0)))(x[None]), rowscan.cumsum(x, 1)[None])
    p = torch.vmap(lambda r: rowscan.cumprod(r, 0))(x)
    assert torch.allclose(p, torch.cumprod(x, 1))


def test_vmap_of_gradients():
    x = leaf(5, 4).detach()
    f = lambda r: (rowscan.cumsum(r, 0, mask=r > 0) ** 2).sum()
    g = lambda r: (torch.cumsum(torch.where(r > 0, r, 0), 0) ** 2).sum()
    assert torch.allclose(torch.vmap(torch.func.grad(f))(x), torch.vmap(torch.func.grad(g))(x))
    assert torch.allclose(torch.func.jacrev(torch.vmap(f))(x), torch.func.jacrev(torch.vmap(g))(x))
    h = torch.vmap(torch.func.grad(lambda r: rowscan.cumprod(r, 0).sum()))(x)
    assert torch.allclose(h, torch.vmap(torch.func.grad(lambda r: torch.cumprod(r, 0).sum()))(x))


def test_batched_gradients():
    x = leaf(4)
    g = torch.eye(4, dtype=F64)
    for kwargs in ({}, {"mask": torch.tensor([True, False, True, True])}):
        y = rowscan.cumsum(x, 0, **kwargs)
        got = torch.autograd.grad(y, x, g, is_grads_batched=True)[0]
        z = torch.cumsum(torch.where(kwargs["mask"], x, 0) if kwargs else x, 0)
        assert torch.equal(got, torch.autograd.grad(z, x, g, is_grads_batched=True)[0])


# ---- tensors that are not plain, modes ------------------------------------------------------------------------------

def test_negative_bit():
    x = torch.randn(4, 6, dtype=torch.complex64).conj().imag
    plain = x.clone()
    assert x.is_neg() and not plain.is_neg()
    m = numbers((4, 6), torch.bool, 1)
    neg_w = torch.randn(4, 6, dtype=torch.complex64).conj().imag
    for dim in (0, 1):
        assert torch.equal(rowscan.cumsum(x, dim), rowscan.cumsum(plain, dim))
        assert torch.equal(rowscan.cumsum(x, dim, mask=m, init=1.), rowscan.cumsum(plain, dim, mask=m, init=1.))
        assert torch.equal(rowscan.cumsum(plain, dim, mask=neg_w, mask_mode="multiply"),
                           rowscan.cumsum(plain, dim, mask=neg_w.clone(), mask_mode="multiply"))
        out = torch.zeros(4, 6, dtype=torch.complex64).conj().imag
        rowscan.cumsum(plain, dim, out=out)
        assert torch.equal(out.clone(), rowscan.cumsum(plain, dim))
    y = leaf(4, dtype=torch.float32)
    g = torch.complex(torch.zeros(4), -torch.ones(4)).conj().imag
    assert g.is_neg() and gradient(rowscan.cumsum(y, 0), y, g).tolist() == [4, 3, 2, 1]


def test_dispatch_modes_see_the_scan():
    from torch.utils._python_dispatch import TorchDispatchMode
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))
    x = leaf(3)
    with Mode():
        y = rowscan.cumsum(x, 0)
        y.sum().backward()
        rowscan.cumsum(torch.ones(3), 0, out=torch.empty(3))
    assert [s for s in seen if "rowscan" in s] == ["rowscan._scan.default"] * 2 + ["rowscan.scan_out.default"]
    assert x.grad.tolist() == [3, 2, 1]


def test_fake_and_meta_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        x = torch.zeros(3, 2, requires_grad=True)
        y, totals = rowscan.cumsum(x.half(), 0, totals=True)
        assert y.shape == (3, 2) and totals.shape == (2,) and totals.dtype is torch.float32 and y.requires_grad
        assert rowscan.cumulative_sum(x, axis=1, include_initial=True).shape == (3, 3)
    x = torch.zeros(3, 2, dtype=torch.int32, device="meta").t()
    y = rowscan.cumsum(x, 0)
    assert y.device.type == "meta" and y.dtype is torch.int64 and y.stride() == torch.cumsum(x, 0).stride()
    assert rowscan.cumsum(x, 0, out=y) is y


@pytest.mark.parametrize("options", [{}, {"reverse": True, "mask": True}, {"totals": True, "init": 2.}], ids=str)
def test_a_scan_of_sums_has_their_gradient(options):
    options = {**options, **({"mask": numbers((3, 4), torch.bool, 1)} if "mask" in options else {})}
    a, b = leaf(3, 4), leaf(3, 4)
    for x, results in ((a, rowscan.scan(a, 1, "sum", **options)), (b, rowscan.cumsum(b, 1, **options))):
        results = results if isinstance(results, tuple) else (results,)
        sum((y ** 2).sum() for y in results).backward()
    assert torch.equal(a.grad, b.grad)
    f = lambda function: torch.vmap(torch.func.grad(lambda r: (function(r, 0) ** 2).sum()))(b.detach())
    assert torch.equal(f(rowscan.scan), f(rowscan.cumsum))
    f = lambda x: rowscan.scan(x, 0, "prod")
    assert torch.autograd.gradcheck(f, leaf(3, 2).double().detach().requires_grad_())


@pytest.mark.parametrize("op", ["max", "or"])
def test_vmap_of_other_operators(op):
    x = numbers((5, 4), torch.int32, 1)
    assert torch.equal(torch.vmap(lambda r: rowscan.scan(r, 0, op))(x), rowscan.scan(x, 1, op))


def test_operators_without_gradient():
    x = torch.tensor([1., 3., 2.], requires_grad=True)
    with pytest.raises(rowscan.Unsupported, match="extended_prod has no gradient"):
        rowscan.scan(x, 0, "extended_prod")
    assert rowscan.scan(x.detach(), 0, "extended_prod").dtype is torch.float32


def test_refusals_are_those_of_other_calls():
    """What the library refuses has its own error where a gradient is wanted, too, and under transforms."""
    x, heads = leaf(4), torch.tensor([True, False, True, False])
    f = lambda x: rowscan.logcumsumexp(x, 0, heads=heads)
    for call in (lambda: f(x.detach()), lambda: f(x), lambda: torch.func.grad(lambda x: f(x).sum())(x.detach()),
                 lambda: torch.vmap(f)(x.detach().expand(2, 4)), lambda: rowscan.cumprod(x, 0, acc="f16", totals=True)):
        with pytest.raises(rowscan.Unsupported):
            call()


def test_subclasses():
    class Plain(torch.Tensor):
        pass

    assert rowscan.cumsum(torch.ones(3).as_subclass(Plain), 0).tolist() == [1, 2, 3]
    x = torch.ones(3).as_subclass(Plain).requires_grad_()
    rowscan.cumsum(x, 0).sum().backward()
    assert x.grad.tolist() == [3, 2, 1]
    m = torch.ones(3, dtype=torch.bool).as_subclass(Plain)
    assert rowscan.cumsum(torch.ones(3), 0, mask=m).tolist() == [1, 2, 3]
    from torch.testing._internal.two_tensor import TwoTensor  # a wrapper with a __torch_dispatch__ of its own
    y = rowscan.cumsum(TwoTensor(torch.ones(3), torch.arange(3.)), 0)
    assert y.a.tolist() == [1, 2, 3] and y.b.tolist() == [0, 1, 3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_goes_backward():
    x = leaf(4)
    rowscan.cumsum(x, 0)
    child = os.fork()
    if not child:
        y = leaf(4)
        rowscan.cumsum(y.detach(), 0)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
