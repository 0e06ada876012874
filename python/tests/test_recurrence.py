"""test_recurrence.py - linear_recurrence in every library, against a loop: types, shapes, flags, layouts, derivatives

SPDX-License-Identifier: MIT

Elements and coefficients are small integers where results are compared for equality: those are exact in every type.
"""
import itertools
import tracemalloc

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("hypothesis")

from hypothesis import given, settings, strategies as st  # noqa: E402

import order  # noqa: E402
import rowscan  # noqa: E402

ALL = list(order.DTYPES)
FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)


def loop(x, coefficient, dim, reverse=False, exclusive=False, init=0, mask=True, dtype=None):
    """(results, totals) by a loop over the elements of all rows, in Python's own numbers."""
    x = np.asarray(x)
    beside = [(x, x.shape), (coefficient, x.shape), (init, rows(x.shape, dim))]
    mask = np.moveaxis(np.broadcast_to(mask, x.shape), dim, 0) != 0
    x, a, held = (np.moveaxis(np.broadcast_to(v, shape), dim, 0).astype(object) for v, shape in beside)
    x, a, held, y = x * 1, a * 1, held.sum(0) * 1, np.empty(x.shape, object)  # numbers in the place of bools
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        before, held = held, np.where(mask[t], *(np.asarray(v, object) for v in (a[t] * held + x[t], held)))[()]
        y[t] = before if exclusive else held
    y, held = np.moveaxis(y, 0, dim), np.asarray(held, object)
    return (y, held) if dtype is None else (typed(y, dtype), typed(held, dtype))


def typed(values, dtype):
    """Python's numbers as a type, in which integers wrap."""
    values, dtype = np.asarray(values, object), np.dtype(dtype)
    return values.astype(dtype) if dtype.kind == "f" else np.asarray(values % 2**64, np.uint64).astype(dtype)


def rows(shape, dim):
    return tuple(1 if d == dim % len(shape) else n for d, n in enumerate(shape))


def numbers(random, shape, dtype):
    x = random.integers(-3, 4, shape)
    return np.asarray(abs(x) if dtype.kind in "ub" else x, dtype)


@st.composite
def problems(draw):
    """Elements and coefficients of any types and layouts, and what may go with them."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    shape = tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    dtype = np.dtype(order.DTYPES[draw(st.sampled_from(ALL))])
    steps = tuple(slice(None, None, draw(st.sampled_from([1, 2, -1]))) for _ in shape)
    x = numbers(random, [2 * n for n in shape], dtype)[steps][tuple(slice(n) for n in shape)]
    own = draw(st.sampled_from([shape, rows(shape, dim), shape[1:], (1,) * len(shape), ()]))
    a = numbers(random, own[::-1], np.dtype(draw(st.sampled_from(["?", "u1", dtype])))).T
    options = draw(st.sampled_from(FLAGS))
    if draw(st.booleans()):
        options = {**options, "init": numbers(random, rows(shape, dim), np.dtype("i1"))}
    if draw(st.booleans()):
        own = draw(st.sampled_from([shape, rows(shape, dim), shape[1:], ()]))
        options = {**options, "mask": numbers(random, own[::-1], np.dtype(draw(st.sampled_from(["?", "u1", "i4"])))).T}
    return x, a, dim, options


# ---- NumPy -----------------------------------------------------------------------------------------------------------

@settings(max_examples=400)
@given(problems(), st.booleans())
def test_numpy(problem, by_name):
    x, a, dim, options = problem
    kind = order.default_out(order.name_of(x.dtype))
    if x.dtype.kind == "b" and a.dtype == np.uint8:  # NumPy's product is one of uint8
        kind = "u64"
    y, totals = loop(x, a, dim, **options)
    wide = "f8" if kind in order.FLOATING else order.DTYPES[kind]
    if by_name:
        got, sums = rowscan.scan(x, dim, "linear_recurrence", coefficient=a, totals=True, **options)
    else:
        got, sums = rowscan.linear_recurrence(x, a, dim, totals=True, **options)
    order.assert_bits(got, typed(y, order.DTYPES[kind]))
    order.assert_bits(sums, typed(totals, wide))
    out = np.empty(x.shape[::-1], got.dtype).T
    assert rowscan.linear_recurrence(x, a, axis=dim, out=out, **options) is out
    order.assert_bits(np.ascontiguousarray(out), got)


@with_flags
@pytest.mark.parametrize("name, acc", [("f64", None), ("f32", None), ("f32", "f32"), ("f16", None)])
def test_long_rows(name, acc, flags):
    random = np.random.default_rng(4)
    x = random.standard_normal((3, 3001)).astype(order.DTYPES[name])
    a = random.uniform(-1, 1, x.shape).astype(x.dtype)
    tolerance = {"f64": 1e-12, "f32": 1e-6, "f16": 1e-3}[name]
    for coefficient in (a, a[:, :1], a[:1], a[:1, :1]):
        y, totals = rowscan.linear_recurrence(x, coefficient, 1, totals=True, init=2, acc=acc, **flags)
        assert y.dtype == x.dtype and totals.dtype == (acc or "f8").replace("f32", "f4")
        want, want_totals = loop(x, coefficient, 1, init=2, dtype="f8", **flags)
        np.testing.assert_allclose(y, want, rtol=tolerance, atol=10 * tolerance)
        np.testing.assert_allclose(totals, want_totals, rtol=tolerance, atol=1e-5 if acc else 1e-10)
        order.assert_bits(rowscan.linear_recurrence(x.T, coefficient.T, 0, init=2, acc=acc, **flags), y.T)


@pytest.mark.parametrize("name", [n for n in ALL if n not in order.FLOATING])
def test_integers_wrap(name):
    dtype = np.dtype(order.DTYPES[name])
    random = np.random.default_rng(5)
    x, a = (random.integers(0, 256, (2, 70, dtype.itemsize), np.uint8).view(dtype)[..., 0] for _ in "xa")
    if name == "bool":
        x, a = (v.view(np.uint8) % 2 == 1 for v in (x, a))
    outs = [n for n in ALL if n not in order.FLOATING and n != "bool"]
    for out in outs:
        y, totals = rowscan.linear_recurrence(x, a, 1, dtype=order.DTYPES[out], totals=True, reverse=True)
        want = loop(x, a, 1, reverse=True, dtype=order.DTYPES[out])
        order.assert_bits(y, want[0])
        order.assert_bits(totals, want[1])


def test_a_hash():
    """Of a text, as Java's hashCode()."""
    text = "Linear recurrences of integers wrap."
    want = 0
    for letter in text.encode():
        want = (31 * want + letter + 2**31) % 2**32 - 2**31
    y = rowscan.linear_recurrence(np.frombuffer(text.encode(), np.uint8), 31, 0, dtype=np.int32)
    assert y[-1] == want and y.dtype == np.int32


def test_a_coefficient_for_all_is_one_element(monkeypatch):
    seen, scan = [], rowscan._core.scan_settled
    monkeypatch.setattr(rowscan._core, "scan_settled", lambda *args: seen.append(args[7]) or scan(*args))
    x = np.ones((100, 1000), "f4")
    y = rowscan.linear_recurrence(x, np.float32(3), 1)  # imports what it needs
    for coefficient in (0.5, 2, True, np.float64(.5), np.float32(.5), np.uint8(2)):
        tracemalloc.start()
        assert rowscan.linear_recurrence(x, coefficient, 1, out=y) is y
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 20000 and seen[-1].strides == (0, 0) and seen[-1].dtype in ("f4", "u1")
    want = loop(x[0], 0.5, 0, dtype="f4")[0]
    order.assert_bits(rowscan.linear_recurrence(x, 0.5, 1)[7], want)


@pytest.mark.parametrize("a", ALL)
@pytest.mark.parametrize("b", ALL)
def test_types_are_those_of_sums_of_products(a, b):
    x = np.arange(6).reshape(2, 3).astype(order.DTYPES[a])
    coefficient = np.array([0, 2, 1]).astype(order.DTYPES[b])
    y = rowscan.linear_recurrence(x, coefficient, 1)
    assert y.dtype == np.cumsum(x * coefficient, 1).dtype
    np.testing.assert_array_equal(y, loop(x, coefficient, 1, dtype=y.dtype)[0])


def test_numbers_adapt():
    for dtype in ("f2", "f4", "f8"):
        for coefficient in (2, 0.5, True):
            assert rowscan.linear_recurrence(np.ones(3, dtype), coefficient, 0).dtype == dtype
    assert rowscan.linear_recurrence(np.ones(3, "i2"), 0.5, 0).tolist() == [1, 1.5, 1.75]
    assert rowscan.linear_recurrence(np.ones(3, bool), 3, 0).tolist() == [1, 4, 13]
    assert rowscan.linear_recurrence(np.ones(3, "i1"), -128, 0).tolist() == [1, -127, 16257]


def test_no_dimension_and_no_elements():
    x = np.arange(6.).reshape(2, 3)
    np.testing.assert_array_equal(rowscan.linear_recurrence(x, 2), loop(x.reshape(-1), 2, 0, dtype="f8")[0])
    assert rowscan.linear_recurrence(np.array(3.), 2, 0, init=1).tolist() == [5]
    assert rowscan.linear_recurrence(np.empty((0, 3)), 2, 1).shape == (0, 3)
    y, totals = rowscan.linear_recurrence(np.empty((2, 0)), 2, 1, init=7, totals=True)
    assert y.shape == (2, 0) and totals.tolist() == [7, 7]


def test_rows_go_on_where_others_ended():
    x, a = np.arange(1, 41.).reshape(4, 10), np.arange(10.) % 3 - 1
    first, totals = rowscan.linear_recurrence(x[:, :6], a[:6], 1, totals=True)
    second = rowscan.linear_recurrence(x[:, 6:], a[6:], 1, init=totals[:, None])
    np.testing.assert_array_equal(np.concatenate([first, second], 1), rowscan.linear_recurrence(x, a, 1))


@pytest.mark.parametrize("reverse", [False, True])
def test_coefficients_of_the_element_before(reverse):
    """By views alone, as rowscan.h says: y[i] = a[i - 1] * y[i - 1] + x[i]."""
    x, a = np.random.default_rng(5).integers(-1, 2, (2, 4, 70)).astype(np.float32)
    first, rest, before = (x[:, -1:], x[:, :-1], a[:, 1:]) if reverse else (x[:, :1], x[:, 1:], a[:, :-1])
    y = rowscan.linear_recurrence(rest, before, 1, reverse=reverse, init=first)
    by_hand = loop(rest, before, 1, reverse=reverse, init=first)[0]
    np.testing.assert_array_equal(y, by_hand.astype(np.float32))
    t = 30  # a step by hand
    assert (y[:, t] == (a[:, t + 1] * y[:, t + 1] + x[:, t] if reverse else a[:, t] * y[:, t - 1] + x[:, t + 1])).all()


def test_in_place_and_overlap():
    x, a = np.arange(6.).reshape(2, 3), np.full((2, 3), 2.)
    want = rowscan.linear_recurrence(x, a, 1)
    assert rowscan.linear_recurrence(x, a, 1, out=x) is x
    np.testing.assert_array_equal(x, want)
    with pytest.raises(rowscan.BadArgument, match="'output' and 'coefficient': the arrays overlap"):
        rowscan.linear_recurrence(x, a[:, :1], 1, out=a)


def test_spec_and_prepare():
    x = np.zeros((4, 1000), "f4")
    text = rowscan.spec(x, 1, "linear_recurrence", coefficient=0.5, reverse=True)
    assert text == ("op=linear_recurrence in=f32 out=f32 acc=f64 mask=coefficient mask_type=f32 reverse=1 exclusive=0 "
                    "length=1000 layout=rows row_rank=1")
    assert "mask_type=bool" in rowscan.spec(x, 0, "linear_recurrence", coefficient=x > 0)
    assert rowscan.prepare(x, 1, "linear_recurrence", coefficient=x, init=1) is None


@with_flags
@pytest.mark.parametrize("name", ["f16", "f32", "f64", "i32", "bool"])
def test_masks(name, flags):
    """What a mask leaves out is not looked at, and the bits are those of an element of 0 with a coefficient of 1."""
    random, dtype = np.random.default_rng(7), order.DTYPES[name]
    x, a = (np.asarray(random.uniform(-2, 2, (3, 500)), dtype) for _ in "xa")
    mask, keys = random.random(x.shape) < 0.6, random.integers(0, 40, x.shape)
    keys.sort(1)
    left, one = np.where(mask, x, 0).astype(dtype), np.where(mask, a, 1).astype(dtype)
    if name in order.FLOATING:
        x, a = np.where(mask, x, np.nan).astype(dtype), np.where(mask, a, np.inf).astype(dtype)
    for options in ({}, {"init": 1}, {"keys": keys}, {"tails": keys % 7 == 0, "init": 1}):
        for dim in (0, 1):
            want = rowscan.linear_recurrence(left, one, dim, totals=True, **options, **flags)
            for given in (mask, mask.astype("u1") * 7, mask.astype("i8") * 300):
                got = rowscan.linear_recurrence(x, a, dim, mask=given, totals=True, **options, **flags)
                for g, w in zip(got, want):
                    order.assert_bits(g, w)
            got = rowscan.scan(x, dim, "linear_recurrence", coefficient=a, mask=mask, **options, **flags)
            order.assert_bits(got, want[0])
    whole = rowscan.linear_recurrence(left, one, 1, **flags)
    order.assert_bits(rowscan.linear_recurrence(left, one, 1, mask=True, **flags), whole)
    assert rowscan.linear_recurrence(x, a, 1, mask=mask, out=whole, **flags) is whole
    assert (rowscan.linear_recurrence(x, 2, 1, mask=0, init=3, **flags) == 3).all()


def test_spec_of_a_mask():
    x = np.zeros((4, 1000), "f4")
    text = rowscan.spec(x, 1, "linear_recurrence", coefficient=0.5, mask=x > 0, keys=np.zeros(1000, "i4"))
    assert text == ("op=linear_recurrence in=f32 out=f32 acc=f64 mask=select mask_type=bool reverse=0 exclusive=0 "
                    "length=1000 layout=rows row_rank=1 more1=f32 segments=keys segment_type=i32")
    assert rowscan.prepare(x, 1, "linear_recurrence", coefficient=x, mask=x > 0) is None


def test_what_is_refused():
    x = np.ones((2, 3))
    call = rowscan.linear_recurrence
    for f, error, words in (
            (lambda: call(), TypeError, r"linear_recurrence\(\) needs x"),
            (lambda: call(x), TypeError, r"linear_recurrence\(\) needs coefficient, a number or an array"),
            (lambda: call(x, None, 1), TypeError, "coefficient is not given, and linear_recurrence needs one"),
            (lambda: call(x, 1, 1, 1), TypeError, "x, coefficient and dim by position, and was given 4"),
            (lambda: call(x, 1, 1, coefficient=2), TypeError, "two values for 'coefficient'"),
            (lambda: call(x, 1, 1, mask=x, mask_mode="multiply"), ValueError, "multiply.*no meaning beside a coef"),
            (lambda: call(x, 1, 1, mask=[1, 0]), ValueError, r"mask has shape \(2,\), which does not broadcast"),
            (lambda: call(x, 1, 1, mask=np.ma.array(x)), TypeError, "mask is a masked array"),
            (lambda: call(x, 1, 1, op="sum"), TypeError, r"linear_recurrence\(\) has no argument 'op'"),
            (lambda: call(x, 1, 1, axis=1), TypeError, "dim and axis"),
            (lambda: call(x, 1, 2), IndexError, "axis 2 is out of bounds"),
            (lambda: call(x, "one", 1), TypeError, "coefficient.dtype is <U3"),
            (lambda: call(x, 1j, 1), TypeError, "coefficient.dtype is complex128"),
            (lambda: call(x, [1, 2], 1), ValueError, r"coefficient has shape \(2,\), which does not broadcast"),
            (lambda: call(x, np.ma.array(x), 1), TypeError, "coefficient is a masked array"),
            (lambda: call(x.astype("i1"), 300, 1), ValueError, "coefficient is 300, which x's type, i8, does not have"),
            (lambda: call(x.astype("u2"), -1, 1), ValueError, "coefficient is -1, which x's type, u16, does not have"),
            (lambda: call(x, 0.5, 1, dtype=int), TypeError, "coefficient is floating .float64., .* goes on in i64"),
            (lambda: call(x, x, 1, acc="f32"), rowscan.Unsupported, "f64 to f64 accumulates in f64, not in f32"),
            (lambda: call(x, x, 1, init=np.ones(3)), ValueError, "init has shape"),
            (lambda: call(x > 0, x > 0, 1, dtype=bool), NotImplementedError, "bool"),
            (lambda: rowscan.cumsum(x, 1, coefficient=x), TypeError, r"cumsum\(\) has no argument 'coefficient'"),
            (lambda: rowscan.scan(x, 1, coefficient=x), TypeError, "coefficient is given, and sum has none"),
            (lambda: rowscan.scan(x, 1, "linear_recurrence"), TypeError, "coefficient is not given"),
            (lambda: rowscan.scan(x, 1, "linear_recurrence", mask=x), TypeError, "coefficient is not given"),
            (lambda: rowscan.scan(x, 1, "max", mask=x, coefficient=x), TypeError, "coefficient is given, and max has"),
            (lambda: rowscan.spec(x, 1, "linear_recurrence", mask=x, coefficient=x, mask_mode="multiply"), ValueError,
             "multiply.*no meaning beside a coefficient")):
        with pytest.raises(error, match=words):
            f()


# ---- DLPack ----------------------------------------------------------------------------------------------------------

class Lent:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self.array = array
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


@with_flags
def test_dlpack(flags):
    x, a, y = np.arange(12.).reshape(3, 4), np.array([[1.], [2.], [3.]]), Lent(np.empty((3, 4)))
    assert rowscan.linear_recurrence(Lent(x), Lent(a), 1, out=y, init=Lent(np.ones((1, 1))), **flags) is y
    np.testing.assert_array_equal(y.array, loop(x, a, 1, init=1, dtype="f8", **flags)[0])
    with pytest.raises(TypeError, match="coefficient is a number, and x's .*Lent has no __array_namespace__"):
        rowscan.linear_recurrence(Lent(x), 0.5, 1, out=y)
    with pytest.raises(TypeError, match="x is float64, mask or coefficient int8: .* convert one"):
        rowscan.linear_recurrence(Lent(x), Lent(a.astype("i1")), 1, out=y)


def test_dlpack_with_a_mask():
    x, a, y = np.arange(12.).reshape(3, 4), np.array([[1.], [2.], [3.]]), Lent(np.empty((3, 4)))
    mask = (np.eye(3, 4) == 0).astype("u1")  # NumPy lends no bool before 1.25
    assert rowscan.linear_recurrence(Lent(x), Lent(a), 1, mask=Lent(mask), out=y) is y
    np.testing.assert_array_equal(y.array, loop(x, a, 1, mask=mask, dtype="f8")[0])


def test_array_api():
    xp = pytest.importorskip("array_api_strict")
    y = rowscan.linear_recurrence(xp.asarray([[1., 2.], [3., 4.]]), 0.5, 1)
    assert type(y) is type(xp.asarray(1)) and np.asarray(y).tolist() == [[1, 2.5], [3, 5.5]]


# ---- torch -----------------------------------------------------------------------------------------------------------

def test_torch(torch):
    """All that NumPy's arrays are tested with, and tensors that lie in memory as those do."""
    @settings(max_examples=200)
    @given(problems())
    def check(problem):
        x, a, dim, options = problem
        if any(step < 0 for array in (x, a) for step in array.strides):
            x, a = x.copy(), a.copy()
        if x.dtype in ("u2", "u4", "u8") and a.dtype == "u1":  # torch has no type for their product
            a = np.asarray(a > 0)
        given_options = {name: torch.from_numpy(np.asarray(v)) if name in ("init", "mask") else v
                         for name, v in options.items()}
        y, totals = rowscan.linear_recurrence(torch.from_numpy(x), torch.from_numpy(a), dim, totals=True,
                                              **given_options)
        (want, want_totals), floating = loop(x, a, dim, **options), x.dtype.kind == "f"
        order.assert_bits(y.numpy(), typed(want, x.dtype if floating else "i8"))
        np.testing.assert_array_equal(totals.numpy(), typed(want_totals, "f8" if floating else "i8"))  # not rounded
    check()


def test_tensors(torch):
    x = torch.arange(12.).reshape(3, 4)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for coefficient in (0.5, torch.tensor(0.5), torch.tensor([[.5], [2], [0]]), x / 8):
            a = coefficient.to(dtype) if isinstance(coefficient, torch.Tensor) else coefficient
            y = rowscan.linear_recurrence(x.to(dtype), a, 1)
            want = loop(x.to(dtype).double(), a.double() if isinstance(a, torch.Tensor) else a, 1, dtype="f8")[0]
            assert y.dtype is dtype and torch.equal(y, torch.from_numpy(want).to(dtype))
    out = torch.empty(3, 4)
    version = out._version
    assert rowscan.linear_recurrence(x, x / 2, 0, out=out) is out and out._version == version + 1
    np.testing.assert_array_equal(out, loop(x, x / 2, 0, dtype="f4")[0])
    scalar = torch.tensor(3.)
    assert rowscan.linear_recurrence(scalar, 2, 0, init=1).tolist() == 5
    assert rowscan.linear_recurrence(torch.arange(3), 0.5, 0).dtype is torch.float32
    assert rowscan.linear_recurrence(torch.empty(2, 0), 2, 1, init=7, totals=True)[1].tolist() == [7, 7]
    for f, error, words in (
            (lambda: rowscan.linear_recurrence(x, 1, 2), IndexError, "Dimension out of range"),
            (lambda: rowscan.linear_recurrence(x, torch.ones(3), 1), ValueError, r"coefficient has shape \(3,\)"),
            (lambda: rowscan.linear_recurrence(x.char(), 300, 1), ValueError, "coefficient is 300"),
            (lambda: rowscan.linear_recurrence(x, torch.ones(4, device="meta"), 1), ValueError, "coefficient is on"),
            (lambda: rowscan.linear_recurrence(x.requires_grad_(), 1, 1, out=out), RuntimeError, "out=")):
        with pytest.raises(error, match=words):
            f()


SHAPES = [(3, 4), (3, 1), (4,), ()]


@with_flags
@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_torch_gradients(torch, flags, totals, shape):
    """Of each argument, twice, forward-mode and batched."""
    def leaf(*shape):
        return torch.randn(shape, dtype=torch.float64, requires_grad=True)
    x, a = leaf(3, 4), leaf(*shape)
    for dim in (0, 1):
        for init in (None, leaf(*rows(x.shape, dim)), leaf()):
            def f(x, a, init):
                return rowscan.linear_recurrence(x, a, dim, init=init, totals=totals, **flags)
            assert torch.autograd.gradcheck(f, (x, a, init), check_forward_ad=True, check_batched_grad=True)
            assert torch.autograd.gradgradcheck(f, (x, a, init))


@with_flags
@pytest.mark.parametrize("beside", [{}, {"tails": [0, 1, 0, 0]}], ids=str)
@pytest.mark.parametrize("shape", [(3, 4), ()], ids=str)
def test_torch_gradients_with_masks(torch, flags, beside, shape):
    def leaf(*shape):
        return torch.randn(shape, dtype=torch.float64, requires_grad=True)
    x, a, init = leaf(3, 4), leaf(*shape), leaf(3, 1)
    beside = {name: torch.tensor(v) for name, v in beside.items()}
    for mask in (torch.rand(3, 4) < 0.6, torch.tensor([1, 0, 1, 2])):
        def f(x, a, init):
            return rowscan.linear_recurrence(x, a, 1, mask=mask, init=init, totals=True, **beside, **flags)
        assert torch.autograd.gradcheck(f, (x, a, init), check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(f, (x, a, init))


def through_loop(torch, x, a, dim, reverse=False, exclusive=False, init=None, mask=None):
    """The recurrence by torch's own operations, with their gradients."""
    if mask is not None:
        x, a = torch.where(mask, x, 0), torch.where(mask, a, 1)
    x, a = x.movedim(dim, 0), a.expand(x.shape).movedim(dim, 0)
    held, y = x.new_zeros(x.shape[1:]) if init is None else init.squeeze(dim), [None] * len(x)
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        before, held = held, a[t] * held + x[t]
        y[t] = before if exclusive else held
    return torch.stack(y).movedim(0, dim)


@with_flags
def test_torch_gradients_are_those_of_a_loop(torch, flags):
    x, a, init, g = (torch.randint(-3, 4, s).double() for s in ((5, 9), (5, 9), (5, 1), (5, 9)))
    arguments = [t.requires_grad_() for t in (x, a, init)]
    want = torch.autograd.grad(through_loop(torch, x, a, 1, init=init, **flags), arguments, g)
    got = torch.autograd.grad(rowscan.linear_recurrence(x, a, 1, init=init, **flags), arguments, g)
    assert all(map(torch.equal, got, want))
    for i in range(3):  # what is wanted alone is the same
        x, a, init = (t if i == j else t.detach() for j, t in enumerate(arguments))
        y = rowscan.linear_recurrence(x, a, 1, init=init, **flags)
        assert torch.equal(torch.autograd.grad(y, arguments[i], g)[0], want[i])


@with_flags
def test_torch_masks_and_their_gradients_are_those_of_a_loop(torch, flags):
    """Where an element is left out it has a gradient of 0, and so has its coefficient, were they NaN."""
    x, a, init, g = (torch.randint(-3, 4, s).double() for s in ((5, 9), (5, 9), (5, 1), (5, 9)))
    mask = torch.rand(5, 9) < 0.6
    arguments = [t.requires_grad_() for t in (x, a, init)]
    want = through_loop(torch, x, a, 1, init=init, mask=mask, **flags)
    of_want = torch.autograd.grad(want, arguments, g)
    with torch.no_grad():
        x, a = (torch.where(mask, t, torch.nan) for t in (x, a))
        assert torch.equal(rowscan.linear_recurrence(x, a, 1, init=init, mask=mask, **flags), want)
    arguments = [t.detach().requires_grad_() for t in (x, a, init)]
    got = rowscan.linear_recurrence(*arguments[:2], 1, init=arguments[2], mask=mask, **flags)
    assert torch.equal(got, want) and all(map(torch.equal, torch.autograd.grad(got, arguments, g), of_want))


@with_flags
def test_torch_gradients_of_few_elements(torch, flags):
    """Of none and one, of a scalar, and of types that differ."""
    for shape in ((2, 0), (2, 1), ()):
        x, a, init = (torch.randn(s, dtype=torch.float64, requires_grad=True)
                      for s in (shape, shape, shape[:1] + (1,) * len(shape[1:])))
        for totals in (False, True):
            f = lambda x, a, i: rowscan.linear_recurrence(x, a, -1, init=i, totals=totals, **flags)
            assert torch.autograd.gradcheck(f, (x, a, init), check_forward_ad=True)
    for a_type, out_type in itertools.product((torch.float16, torch.float32, torch.bool, torch.uint8),
                                              (None, torch.float32)):
        x = torch.ones(4, dtype=torch.float16, requires_grad=True)
        a = torch.ones(4).to(a_type).requires_grad_(a_type.is_floating_point)
        rowscan.linear_recurrence(x, a, 0, dtype=out_type, **flags).sum().backward()
        assert x.grad.dtype is torch.float16
        assert x.grad.sum() == 10 - 4 * flags["exclusive"] and (a.grad is None or a.grad.dtype is a_type)


def test_torch_transforms(torch):
    x, a = torch.randn(5, 4, dtype=torch.float64), torch.rand(5, 4, dtype=torch.float64)
    f = lambda x, a: rowscan.linear_recurrence(x, a, 0, reverse=True)
    g = lambda x, a: through_loop(torch, x, a, 0, reverse=True)
    for change in (lambda f: torch.vmap(f), lambda f: torch.vmap(f, (1, 1)), lambda f: lambda x, a: torch.vmap(
            f, (0, None))(x, a[0]), lambda f: lambda x, a: torch.vmap(f, (None, 0))(x[0], a),
            lambda f: torch.func.jacrev(f, (0, 1)), lambda f: torch.func.jacfwd(f, (0, 1)),
            lambda f: lambda x, a: torch.func.hessian(lambda a: (f(x, a) ** 2).sum())(a),
            lambda f: torch.vmap(torch.func.grad(lambda x, a: (f(x, a) ** 2).sum(), (0, 1)))):
        torch.testing.assert_close(change(f)(x, a), change(g)(x, a))


def test_torch_transforms_with_masks(torch):
    x, a = torch.randn(5, 4, dtype=torch.float64), torch.rand(5, 4, dtype=torch.float64)
    m = torch.rand(5, 4) < 0.6
    f = lambda x, a, m: rowscan.linear_recurrence(x, a, 0, mask=m)
    g = lambda x, a, m: through_loop(torch, x, a, 0, mask=m)
    for change in (lambda f: torch.vmap(f), lambda f: torch.vmap(f, (1, 1, 1)),
                   lambda f: lambda x, a, m: torch.vmap(f, (0, None, None))(x, a[0], m[0]),
                   lambda f: lambda x, a, m: torch.vmap(f, (None, None, 0))(x[0], a[0], m),
                   lambda f: torch.func.jacrev(f, (0, 1)), lambda f: torch.func.jacfwd(f, (0, 1)),
                   lambda f: lambda x, a, m: torch.func.hessian(lambda a: (f(x, a, m) ** 2).sum())(a),
                   lambda f: torch.vmap(torch.func.grad(lambda x, a, m: (f(x, a, m) ** 2).sum(), (0, 1)))):
        torch.testing.assert_close(change(f)(x, a, m), change(g)(x, a, m))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_with_masks(torch, backend):
    torch._dynamo.reset()

    def f(x, a, m):
        y, totals = rowscan.linear_recurrence(x, a, 1, mask=m, reverse=True, totals=True)
        return y + rowscan.linear_recurrence(x, 0.5, 0, mask=m, heads=m), totals
    x, a, m = torch.randn(3, 4), torch.rand(3, 4), torch.rand(3, 4) < 0.6
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    results, plain = [], []
    for function in (f, compiled):
        leaves = [t.clone().requires_grad_() for t in (x, a)]
        y, totals = function(*leaves, m)
        results.append((y, totals, *torch.autograd.grad((y ** 2).sum() + totals.sum(), leaves)))
        plain.append(function(x, a, m))
    torch.testing.assert_close(*results)
    torch.testing.assert_close(*plain)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, backend):
    torch._dynamo.reset()

    def f(x, a):
        y, totals = rowscan.linear_recurrence(x, a, 1, reverse=True, totals=True)
        z = rowscan.linear_recurrence(x, 0.5, 1, init=2., exclusive=True)
        return y + z + rowscan.scan(x, 0, "linear_recurrence", coefficient=a), totals
    x, a = torch.randn(3, 4), torch.rand(3, 4)
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    results = []
    for function in (f, compiled):
        leaves = [t.clone().requires_grad_() for t in (x, a)]
        y, totals = function(*leaves)
        results.append((y, totals, *torch.autograd.grad((y ** 2).sum() + totals.sum(), leaves)))
    torch.testing.assert_close(*results)
    op = rowscan._core.ops()["linear_recurrence"]
    torch.library.opcheck(torch.ops.rowscan._scan.default, (x, 1, op, 0, 0, 0, 3, a))


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@with_flags
def test_jax(jax, wide, flags):
    jnp = jax.numpy
    with order.set_wide(jax, wide):
        for name, shape, dim in itertools.product(("f16", "bf16", "f32", "i32", "u8", "bool"),
                                                  ((3, 7), (3, 1), (7,), ()), (0, 1)):
            dtype = jnp.dtype("bfloat16" if name == "bf16" else order.DTYPES[name])
            random = np.random.default_rng(1)
            x, a = (numbers(random, s, dtype if name in order.DTYPES else np.dtype("f4")) for s in ((3, 7), shape))
            kind = jnp.result_type(int) if name == "bool" else dtype
            exact = kind if kind.kind in "iu" else "f8"
            want, want_totals = loop(x, a, dim, init=2, dtype=exact, **flags)

            def f(x, a):
                return rowscan.linear_recurrence(x, a, dim, init=2, totals=True, **flags)
            for y, totals in (f(jnp.asarray(x, dtype), jnp.asarray(a, dtype)),
                              jax.jit(f)(jnp.asarray(x, dtype), jnp.asarray(a, dtype))):
                assert y.dtype == kind
                np.testing.assert_array_equal(y, want.astype(kind))
                np.testing.assert_array_equal(np.asarray(totals, exact), want_totals)


def test_jax_bits_do_not_depend_on_64_bits(jax):
    """Initial values and totals of the f64 accumulator are f32 where JAX has no f64."""
    random = np.random.default_rng(2)
    x, a, init = (random.uniform(-1, 1, s).astype("f4") for s in ((3, 100), (3, 100), (3, 1)))
    want = rowscan.linear_recurrence(x, a, 1, init=init, totals=True)
    for wide in (False, True):
        with order.set_wide(jax, wide):
            y, totals = rowscan.linear_recurrence(*map(jax.numpy.asarray, (x, a)), 1, init=init, totals=True)
            order.assert_bits(np.asarray(y), want[0])
            order.assert_bits(np.asarray(totals), want[1] if wide else want[1].astype("f4"))


@with_flags
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_jax_derivatives(jax, flags, shape):
    from jax.test_util import check_grads
    random = np.random.default_rng(3)
    with order.set_wide(jax, True):
        x, a = (jax.numpy.asarray(random.standard_normal(s)) for s in ((3, 4), shape))
        dim = int(flags["reverse"])
        init = jax.numpy.asarray(random.standard_normal(rows(x.shape, dim)))

        def f(x, a, init):
            y, totals = rowscan.linear_recurrence(x, a, dim, init=init, totals=True, **flags)
            return jax.numpy.sin(y).sum() + (totals ** 2).sum()

        def without(x, a):
            return rowscan.linear_recurrence(x, a, 1 - dim, **flags)
        for function, arguments, times in ((f, (x, a, init), 2), (without, (x, a), 1)):
            check_grads(jax.jit(function), arguments, order=times, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)


@with_flags
@pytest.mark.parametrize("beside", [{}, {"tails": np.array([0, 1, 0, 0])}], ids=str)
@pytest.mark.parametrize("shape", [(3, 4), ()], ids=str)
def test_jax_derivatives_with_masks(jax, flags, beside, shape):
    from jax.test_util import check_grads
    random = np.random.default_rng(3)
    with order.set_wide(jax, True):
        x, a, init = (jax.numpy.asarray(random.standard_normal(s)) for s in ((3, 4), shape, (3, 1)))
        for mask in (jax.numpy.asarray(random.random((3, 4)) < 0.6), jax.numpy.asarray([1, 0, 1, 2])):
            def f(x, a, init):
                y, totals = rowscan.linear_recurrence(x, a, 1, mask=mask, init=init, totals=True, **beside, **flags)
                return jax.numpy.sin(y).sum() + (totals ** 2).sum()
            check_grads(jax.jit(f), (x, a, init), order=2, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)
            g = lambda x: rowscan.linear_recurrence(x, a, 1, mask=mask, **beside, **flags)
            back, = jax.linear_transpose(g, x)(x)
            np.testing.assert_allclose(back, jax.vjp(g, x)[1](x)[0], rtol=1e-12)


@with_flags
def test_jax_masks(jax, flags):
    """What is left out may be NaN, and has derivatives of 0."""
    jnp, random = jax.numpy, np.random.default_rng(8)
    x, a, mask = random.uniform(-1, 1, (3, 50)), random.uniform(-1, 1, (3, 50)), random.random((3, 50)) < 0.6
    for dtype in ("f4", "i4", "?"):
        left, one = np.where(mask, x, 0).astype(dtype), np.where(mask, a, 1).astype(dtype)
        given = (left, one) if dtype != "f4" else (np.where(mask, v, np.nan).astype("f4") for v in (x, a))
        want = rowscan.linear_recurrence(jnp.asarray(left), jnp.asarray(one), 1, **flags)
        f = lambda x, a, mask: rowscan.linear_recurrence(x, a, 1, mask=mask, **flags)
        given = [*map(jnp.asarray, given), jnp.asarray(mask)]
        batched = jax.vmap(lambda x, a, mask: rowscan.linear_recurrence(x, a, 0, mask=mask, **flags))
        for function in (f, jax.jit(f), batched):
            order.assert_bits(np.asarray(function(*given)), np.asarray(want))
        if dtype == "f4":
            without = lambda x, a: rowscan.linear_recurrence(x, a, 1, **flags).sum()
            masked = lambda *given: f(*given).sum()
            of_masked = jax.grad(masked, (0, 1))(*given)
            of_whole = jax.grad(without, (0, 1))(*map(jnp.asarray, (left, one)))
            for d, w in zip(of_masked, of_whole):
                np.testing.assert_array_equal(d, np.where(mask, w, 0))


@with_flags
def test_jax_gradients_of_few_elements(jax, flags):
    jnp = jax.numpy
    for length, dtype in itertools.product((0, 1, 4), (jnp.float16, jnp.bfloat16, jnp.float32)):
        x, a, init = jnp.ones((2, length), dtype), jnp.ones((2, length), dtype), jnp.ones((2, 1))
        f = lambda x, a, init: rowscan.linear_recurrence(x, a, 1, init=init, **flags).sum()
        of_x, of_a, of_init = jax.jit(jax.grad(f, (0, 1, 2)))(x, a, init)
        assert of_x.dtype == of_a.dtype == dtype
        counted = np.arange(length)[None] if flags["exclusive"] else np.arange(1, length + 1)[None]
        np.testing.assert_array_equal(of_x.astype(float), np.broadcast_to(
            counted if flags["reverse"] else counted[:, ::-1], x.shape))
        assert (of_init == length).all()


def test_jax_transforms(jax):
    jnp = jax.numpy
    random = np.random.default_rng(6)
    x, a = (jnp.asarray(random.uniform(-1, 1, (5, 4)), jnp.float32) for _ in "xa")
    f = lambda x, a: rowscan.linear_recurrence(x, a, 0)

    def g(x, a):
        return jax.lax.scan(lambda held, xa: (xa[1] * held + xa[0],) * 2, jnp.zeros(x.shape[1:]), (x, a))[1]
    for change in (lambda f: jax.vmap(f), lambda f: jax.vmap(f, (1, 1)),
                   lambda f: lambda x, a: jax.vmap(f, (0, None))(x, a[0]),
                   lambda f: lambda x, a: jax.vmap(f, (None, 0))(x[0], a), lambda f: jax.jacrev(f, (0, 1)),
                   lambda f: jax.jacfwd(f, (0, 1)),
                   lambda f: lambda x, a: jax.hessian(lambda a: (f(x, a) ** 2).sum())(a),
                   lambda f: jax.vmap(jax.grad(lambda x, a: (f(x, a) ** 2).sum(), (0, 1)))):
        for got, want in zip(*(jax.tree.leaves(jax.jit(change(h))(x, a)) for h in (f, g))):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    for function in (lambda x: rowscan.linear_recurrence(x, jnp.ones(3), 1), jax.jit(
            lambda x: rowscan.linear_recurrence(x, jnp.ones(3), 1))):
        with pytest.raises(ValueError, match=r"coefficient has shape \(3,\)"):
            function(x)
