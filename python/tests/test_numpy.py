"""test_numpy.py - NumPy's arrays: results in its types, shapes and strides, bits in the order that is promised

SPDX-License-Identifier: MIT
"""
import gc
import operator
import pickle
import re
import sys
import tracemalloc

import pytest

np = pytest.importorskip("numpy")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import given, settings, strategies as st  # noqa: E402
from hypothesis.extra import numpy as hnp  # noqa: E402

import order  # noqa: E402
import rowscan  # noqa: E402

ALL = list(order.DTYPES)
FUNCTIONS = {"sum": (rowscan.cumsum, np.cumsum), "prod": (rowscan.cumprod, np.cumprod)}
quick = settings(deadline=None, max_examples=150)


# ---- maxima and minima ----------------------------------------------------------------------------------------------

EXTREMES = {"max": (rowscan.cummax, np.maximum), "min": (rowscan.cummin, np.minimum)}


@pytest.mark.parametrize("op", EXTREMES)
@pytest.mark.parametrize("name", ALL)
def test_extremes(op, name):
    function, numpys = EXTREMES[op]
    dtype = np.dtype(order.DTYPES[name])
    random = np.random.default_rng(7)
    x = random.integers(0, 256, (3, 1001, dtype.itemsize), np.uint8).view(dtype)[..., 0]
    if dtype.kind == "b":
        x = x.view(np.uint8) % 2 == (op == "min")
    elif dtype.kind == "f":
        x = np.nan_to_num(x, posinf=1, neginf=-1)
    y, totals = function(x, 1, totals=True)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, numpys.accumulate(x, axis=1))
    np.testing.assert_array_equal(totals.astype(dtype), numpys.reduce(x, axis=1))
    np.testing.assert_array_equal(function(x, 1, reverse=True), numpys.accumulate(x[:, ::-1], axis=1)[:, ::-1])
    before = function(x, 1, exclusive=True)
    np.testing.assert_array_equal(before[:, 1:], y[:, :-1])
    if dtype.kind == "f":
        first = -np.inf if op == "max" else np.inf
    elif dtype.kind == "b":
        first = op == "min"
    else:
        first = np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max
    assert (before[:, 0] == first).all()
    mask = random.integers(0, 2, x.shape).astype(bool)
    np.testing.assert_array_equal(function(x, 1, mask=mask),
                                  numpys.accumulate(np.where(mask, x, np.array(first, dtype)), axis=1))
    np.testing.assert_array_equal(function(x, 1, init=x[:, 5:6]),
                                  numpys(numpys.accumulate(x, axis=1), x[:, 5:6]))


@pytest.mark.parametrize("op", EXTREMES)
def test_extremes_of_zeros_and_nans(op):
    function, _ = EXTREMES[op]
    zeros = function(np.array([[0.0, -0.0], [-0.0, 0.0]], np.float32), 1)
    last = 1.0 if op == "max" else -1.0
    assert np.copysign(1.0, zeros)[:, 1].tolist() == [last, last]
    for nan in (np.nan, -np.nan):
        y = function(np.array([1.0, nan, np.inf, -np.inf]), 0)
        assert y[0] == 1 and np.isnan(y[1:]).all()
    assert not np.isnan(function(np.array([1.0, np.nan, 2.0]), 0, mask=np.array([True, False, True]))).any()
    with pytest.raises(rowscan.BadArgument, match=op + " rejects multiply; use select"):
        function(np.ones(3), 0, mask=np.ones(3), mask_mode="multiply")
    with pytest.raises(rowscan.BadArgument, match="i8 cannot hold every result of "):
        function(np.arange(3), 0, dtype=np.int8)


# ---- what is drawn ---------------------------------------------------------------------------------------------------

def elements_of(dtype):
    if dtype.kind == "f":  # with NaN, infinities, both zeros and denormals
        return hnp.from_dtype(dtype, allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, -0.0, 1.0, -1.5])
    return hnp.from_dtype(dtype)


@st.composite
def arrays(draw, names=ALL, min_dims=1):
    """An array of any type that lies in memory in any way: transposed, stepped, backwards, repeated."""
    dtype = np.dtype(order.DTYPES[draw(st.sampled_from(names))])
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=4, min_side=0, max_side=11))
    x = draw(hnp.arrays(dtype, shape, elements=elements_of(dtype)))
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    for d in range(x.ndim):
        step = draw(st.sampled_from([1, 1, 2, -1, -3]))
        x = x[(slice(None),) * d + (slice(None, None, step),)]
        if x.shape[d] == 1 and draw(st.booleans()):
            x = np.broadcast_to(x, x.shape[:d] + (draw(st.integers(0, 9)),) + x.shape[d + 1:])
    return x


@st.composite
def problems(draw):
    x = draw(arrays())
    dim = draw(st.integers(-x.ndim, x.ndim - 1))
    kind = order.name_of(x.dtype)
    outs = [n for n in ALL if n != "bool" and (n in order.FLOATING or kind not in order.FLOATING)]
    options = {"reverse": draw(st.booleans()), "exclusive": draw(st.booleans())}
    out = draw(st.none() | st.sampled_from(outs))
    rows = list(x.shape)
    rows[dim] = 1
    if draw(st.booleans()):
        shape = draw(st.sampled_from([x.shape, x.shape[1:], (1,) * x.ndim, tuple(rows)]))
        dtype = draw(st.sampled_from([np.dtype("?"), np.dtype("u1"), x.dtype]))
        options["mask"] = draw(hnp.arrays(dtype, shape, elements=elements_of(dtype)))
        options["mask_mode"] = draw(st.sampled_from(["select", "multiply"]))
    acc = draw(st.sampled_from([None, "f64"])) if (out or order.default_out(kind)) in order.FLOATING else None
    if draw(st.booleans()):
        wide = np.dtype(order.DTYPES[order.accumulator(kind, out or order.default_out(kind), acc)])
        shape = draw(st.sampled_from([(), tuple(rows), (1,) * x.ndim]))
        options["init"] = draw(hnp.arrays(wide, shape[::-1], elements=elements_of(wide))).T
    return draw(st.sampled_from(["sum", "prod"])), x, dim, out, acc, options


# ---- operators by their names ----------------------------------------------------------------------------------------

BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
INTEGERS = [n for n in ALL if n not in order.FLOATING]


def accumulated(op, x, dim, reverse=False, exclusive=False, mask=None, init=None):
    """(y, totals) by NumPy's ufunc over each row, in front of which stands what it starts from."""
    identity = np.invert(np.zeros((), x.dtype)) if op == "and" else np.zeros((), x.dtype)
    rows = np.moveaxis(x if mask is None else np.where(mask, x, identity), dim, -1)
    first = np.broadcast_to(identity if init is None else np.moveaxis(init, dim, -1), rows.shape[:-1] + (1,))
    y = BITWISE[op].accumulate(np.concatenate([first, rows[..., ::-1] if reverse else rows], -1), axis=-1)
    totals, y = y[..., -1], y[..., :-1] if exclusive else y[..., 1:]
    return np.moveaxis(y[..., ::-1] if reverse else y, -1, dim), totals


@settings(deadline=None, max_examples=400)
@given(arrays(INTEGERS), st.sampled_from(list(BITWISE)), st.data())
def test_bitwise(x, op, data):
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    rows = [1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)]
    kind = data.draw(st.sampled_from([bool, np.uint8, x.dtype]))
    options = {"reverse": data.draw(st.booleans()), "exclusive": data.draw(st.booleans()),
               "mask": data.draw(st.none() | hnp.arrays(kind, x.shape)),
               "init": data.draw(st.none() | hnp.arrays(x.dtype, rows))}
    y, totals = rowscan.scan(x, dim, op, totals=True, **options)
    expected, expected_totals = accumulated(op, x, dim, **options)
    order.assert_bits(y, expected)
    order.assert_bits(totals, expected_totals)
    order.assert_bits(rowscan.scan(x, op=op, axis=dim, **options), expected)
    out = np.empty_like(y)
    assert rowscan.scan(x, dim, op, out=out, **options) is out
    order.assert_bits(out, expected)


@pytest.mark.parametrize("op", BITWISE)
@pytest.mark.parametrize("name", INTEGERS)
def test_bitwise_of_longer_rows(op, name):
    """Whose bits are mostly set for 'and', and mostly not for 'or', so that no result is settled early."""
    random = np.random.default_rng(3)
    dtype = np.dtype(order.DTYPES[name])
    x = np.zeros((3, 5000), dtype)
    at = random.integers(0, x.size, 40)
    x.flat[at] = random.integers(0, 256, (40, dtype.itemsize), np.uint8).view(dtype)[:, 0] if name != "bool" else True
    x = np.invert(x) if op == "and" else x
    for dim, view in ((1, x), (0, x.T)):
        order.assert_bits(rowscan.scan(view, dim, op), accumulated(op, view, dim)[0])
        order.assert_bits(rowscan.scan(view, dim, op, reverse=True), accumulated(op, view, dim, reverse=True)[0])


def test_bitwise_types():
    x = np.array([5, 3, 6], "i1")
    assert rowscan.scan(x, 0, "or").dtype == np.int8 and rowscan.scan(x > 4, 0, "xor").dtype == bool
    wide = rowscan.scan(x, 0, "or", dtype="i8")
    assert wide.dtype == np.int64 and wide.tolist() == [5, 7, 7]
    assert rowscan.scan(np.array([5.5, 3]), 0, "or", dtype=int).tolist() == [5, 7]  # elements are converted first
    assert "op=xor in=i8 out=i8" in rowscan.spec(x, 0, "xor") and rowscan.prepare(x, 0, op="and") is None
    for options in ({}, {"totals": True}, {"init": 1}, {"out": np.empty(3, "f4")}):
        with pytest.raises(rowscan.BadArgument, match="field 'in': and requires integers or bool, not f32"):
            rowscan.scan(x.astype("f4"), 0, "and", **options)
    for options in ({"dtype": "f4"}, {"out": np.empty(3, "f4")}):
        with pytest.raises(rowscan.BadArgument, match="field 'out': or returns integers or bool, not f32"):
            rowscan.scan(x, 0, "or", **options)
    with pytest.raises(rowscan.BadArgument, match="field 'out': u8 cannot hold every result of xor over i8"):
        rowscan.scan(x, 0, "xor", dtype="u1")
    with pytest.raises(rowscan.BadArgument, match="or rejects multiply; use select"):
        rowscan.scan(x, 0, "or", mask=x, mask_mode="multiply")


@quick
@given(problems())
def test_functions_are_scans_of_one_operator(problem):
    _, x, dim, out, acc, options = problem
    for op in ("sum", "prod", "max", "min"):
        arguments = {**options, "dtype": np.dtype(order.DTYPES[out]) if out else None, "acc": acc, "totals": True}
        try:
            wanted = getattr(rowscan, "cum" + op)(x, dim, **arguments)
        except rowscan.Error as error:
            with pytest.raises(type(error)) as info:
                rowscan.scan(x, dim, op, **arguments)
            assert str(info.value) == str(error)
            continue
        for a, b in zip(rowscan.scan(x, dim, op, **arguments), wanted):
            order.assert_bits(a, b)
        order.assert_bits(rowscan.scan(x, dim, op, **{**arguments, "totals": False}), wanted[0])
    order.assert_bits(rowscan.scan(x, dim, reverse=True), rowscan.cumsum(x, dim, reverse=True))


# ---- bits ------------------------------------------------------------------------------------------------------------

@settings(deadline=None, max_examples=400)
@given(problems())
def test_bits_are_those_of_the_order(problem):
    op, x, dim, out, acc, options = problem
    before = x.copy()
    dtype = np.dtype(order.DTYPES[out]) if out else None
    if options.get("mask_mode") == "multiply" and options["mask"].dtype == np.uint8 and x.dtype.kind in "b":
        options["mask"] = options["mask"] != 0  # a product of these is unsigned: see test_masks_promote
    y, totals = FUNCTIONS[op][0](x, dim, dtype=dtype, acc=acc, totals=True, **options)
    expected, expected_totals = order.scan(x, dim, op, out=out, acc=acc, **options)
    order.assert_bits(y, expected)
    order.assert_bits(totals, expected_totals)
    order.assert_bits(x, before)
    assert y.flags.c_contiguous and y.flags.writeable and y.flags.owndata


@quick
@given(arrays(), st.data())
def test_include_initial(x, data):
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    for op, function in (("sum", rowscan.cumulative_sum), ("prod", rowscan.cumulative_prod)):
        order.assert_bits(function(x, axis=dim, include_initial=True), order.scan(x, dim, op, include_initial=True)[0])
        order.assert_bits(function(x, axis=dim), order.scan(x, dim, op)[0])


@quick
@given(arrays([n for n in ALL if n not in order.FLOATING], min_dims=0), st.data())
def test_integers_are_numpys(x, data):
    """Types, shapes, values and memory order of results, the axis given or not; no dimension, too."""
    axis = data.draw(st.none() | st.integers(-max(x.ndim, 1), max(x.ndim, 1) - 1))
    for op, (ours, theirs) in FUNCTIONS.items():
        y, expected = ours(x, axis), theirs(x, axis)
        np.testing.assert_array_equal(y, expected)
        assert y.dtype == expected.dtype and type(y) is type(expected)
        assert y.flags.c_contiguous
        if not axis and hasattr(np, "cumulative_sum") and x.ndim == 1:
            standard = getattr(np, "cumulative_" + op), getattr(rowscan, "cumulative_" + op)
            for initial in (False, True):
                a, b = (f(x, axis=axis, include_initial=initial) for f in standard)
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype


@quick
@given(arrays(["f16", "f32", "f64"], min_dims=0), st.data())
def test_floats_are_numpys_but_for_rounding(x, data):
    axis = data.draw(st.none() | st.integers(-max(x.ndim, 1), max(x.ndim, 1) - 1))
    x = np.where(np.abs(x) < 4, x, x.dtype.type(1))
    y, exact = rowscan.cumsum(x, axis), np.cumsum(x, axis, dtype="f8")
    roundings = np.log2(max(x.size, 2)) + 1  # along the tree, and to the result; NumPy's own have more
    bound = float(np.finfo(x.dtype).eps) * roundings * (np.abs(x).sum(dtype="f8") + 1)
    np.testing.assert_allclose(y.astype("f8"), exact, rtol=0, atol=bound)
    assert y.dtype == np.cumsum(x, axis).dtype and y.shape == exact.shape


@pytest.mark.parametrize("length", [127, 128, 1000, 4097])
@pytest.mark.parametrize("dim", [0, 1])
def test_longer_rows(length, dim):
    x = np.random.default_rng(length).standard_normal((3, length)).astype("f4")
    x = x if dim else x.T
    order.assert_bits(rowscan.cumsum(x, dim), order.scan(x, dim)[0])


# ---- calls -----------------------------------------------------------------------------------------------------------

def test_dim_and_axis_are_one_argument():
    x = np.arange(24).reshape(2, 3, 4)
    for dim in range(-3, 3):
        for given_dim in (dim, np.int8(dim), np.array(dim)):
            np.testing.assert_array_equal(rowscan.cumsum(x, given_dim), np.cumsum(x, dim))
            np.testing.assert_array_equal(rowscan.cumsum(x, axis=given_dim), np.cumsum(x, dim))
    np.testing.assert_array_equal(rowscan.cumsum(x), np.cumsum(x))
    np.testing.assert_array_equal(rowscan.cumsum(x.T), np.cumsum(x.T))
    y, totals = rowscan.cumsum(x.T, totals=True, reverse=True)
    np.testing.assert_array_equal(y, x.T.ravel()[::-1].cumsum()[::-1])
    assert totals.shape == () and totals == x.sum()


@pytest.mark.parametrize("dim", [2, -3, 64, 10**30, -10**30])
def test_dim_out_of_range(dim):
    x = np.zeros((2, 3))
    with pytest.raises((np.exceptions if hasattr(np, "exceptions") else np).AxisError, match="dimension 2"):
        rowscan.cumsum(x, dim)
    with pytest.raises(IndexError):
        rowscan.cumprod(x, axis=dim, totals=True)


@pytest.mark.parametrize("dim", [1.0, "1", (0,), [1]])
def test_dim_of_a_wrong_type(dim):
    with pytest.raises(TypeError, match="dim is"):
        rowscan.cumsum(np.zeros((2, 3)), dim)


def test_scalars_and_no_dimension():
    for x in (np.float32(3), np.array(3, "f4"), np.int8(-2), np.array(True)):
        for axis in (None, 0, -1):
            y, expected = rowscan.cumsum(x, axis), np.cumsum(x, axis)
            np.testing.assert_array_equal(y, expected)
            assert y.dtype == expected.dtype and y.shape == (1,)
        assert rowscan.cumsum(x, 0, exclusive=True) == 0 and rowscan.cumprod(x, 0, exclusive=True) == 1
    with pytest.raises(ValueError, match="out has shape"):
        rowscan.cumsum(np.array(3.0), 0, out=np.empty(()))
    assert rowscan.cumsum(np.array(3.0), 0, out=np.empty(1)) == 3


@pytest.mark.parametrize("shape,dim", [((0,), 0), ((0, 3), 0), ((0, 3), 1), ((3, 0), 1), ((2, 0, 3), -1)])
def test_empty(shape, dim):
    y, totals = rowscan.cumsum(np.zeros(shape), dim, totals=True, init=7)
    assert y.shape == shape
    np.testing.assert_array_equal(totals, np.full(np.delete(shape, dim), 7.0))


def test_many_dimensions():
    most = 64 if int(np.__version__.split(".")[0]) >= 2 else 32
    shape = (1,) * (most - 3) + (2, 1, 3)
    x = np.arange(6).reshape(shape)
    for dim in (most - 1, most - 3, 0, -most):
        np.testing.assert_array_equal(rowscan.cumsum(x, dim), np.cumsum(x, dim))
    y, totals = rowscan.cumsum(x, -1, mask=np.ones(3, bool), init=np.ones((2, 1, 1), int), totals=True)
    np.testing.assert_array_equal(y, np.cumsum(x, -1) + 1)
    assert totals.shape == shape[:-1]


def test_types_are_refused_by_name():
    for dtype in ("c8", "O", "M8[s]", "V3", "U3", "g", [("a", "f4")]):
        with pytest.raises(TypeError, match="x.dtype is") as info:
            rowscan.cumsum(np.zeros(3, dtype), 0)
        assert str(np.dtype(dtype)) in str(info.value)
        with pytest.raises(TypeError, match="dtype is|no scan"):
            rowscan.cumsum(np.zeros(3), 0, dtype=dtype)
    with pytest.raises(TypeError, match=r"x is a builtins\.list"):
        rowscan.cumsum([1, 2], 0)
    with pytest.raises(NotImplementedError, match="bool"):
        rowscan.cumsum(np.zeros(3, bool), 0, dtype=bool)


def test_dtypes_in_all_spellings():
    x = np.arange(5, dtype="i4")
    for dtype in ("f4", np.float32, np.dtype("f4"), "float32", float, int, np.longlong):
        assert rowscan.cumsum(x, 0, dtype=dtype).dtype == np.dtype(dtype)
    np.testing.assert_array_equal(rowscan.cumsum(np.array([1.7, 2.6]), 0, dtype=int), np.cumsum([1.7, 2.6], dtype=int))
    with_metadata = np.dtype("f4", metadata={"unit": "m"})
    np.testing.assert_array_equal(rowscan.cumsum(x.astype(with_metadata), 0), np.cumsum(x))


def test_acc():
    x = np.full(1000, 0.1, "f4")
    wide = rowscan.cumsum(x, 0, acc="f64")
    assert wide.dtype == x.dtype
    np.testing.assert_array_equal(wide, np.cumsum(x, dtype="f8").astype("f4"))
    for acc in ("float64", "double", np.float64, np.dtype("f8")):
        np.testing.assert_array_equal(rowscan.cumsum(x, 0, acc=acc), wide)
    np.testing.assert_array_equal(rowscan.cumsum(x, 0, acc="f32"), rowscan.cumsum(x, 0))
    with pytest.raises(ValueError, match="acc is 'f12'"):
        rowscan.cumsum(x, 0, acc="f12")
    with pytest.raises(rowscan.Unsupported, match="f64 to f64 accumulates in f64, not in f32"):
        rowscan.cumsum(x.astype("f8"), 0, acc="f32")


# ---- masks, initial values, totals -----------------------------------------------------------------------------------

def test_nan_under_a_mask():
    x = np.array([1, np.nan, 2, np.inf, 3], "f4")
    mask = np.isfinite(x)
    np.testing.assert_array_equal(rowscan.cumsum(x, 0, mask=mask), np.array([1, 1, 3, 3, 6], "f4"))
    np.testing.assert_array_equal(rowscan.cumprod(x, 0, mask=mask), np.array([1, 1, 2, 2, 6], "f4"))
    y = rowscan.cumsum(x, 0, mask=mask, mask_mode="multiply")
    np.testing.assert_array_equal(y, np.array([1] + 4 * [np.nan], "f4"))


@pytest.mark.parametrize("a", [n for n in ALL])
@pytest.mark.parametrize("b", [n for n in ALL])
def test_masks_promote_as_a_product_does(a, b):
    x = np.arange(6).reshape(2, 3).astype(order.DTYPES[a])
    mask = np.array([2, 0, 1]).astype(order.DTYPES[b])
    expected = np.cumsum(x * mask, 1)
    y = rowscan.cumsum(x, 1, mask=mask, mask_mode="multiply")
    np.testing.assert_array_equal(y, expected)
    assert y.dtype == expected.dtype
    selected = rowscan.cumsum(x, 1, mask=mask, mask_mode="select")
    np.testing.assert_array_equal(selected, np.cumsum(np.where(mask, x, 0), 1))
    assert selected.dtype == np.cumsum(x, 1).dtype


def test_masks_of_large_and_negative_integers():
    x = np.array([1, -2, 3], "i1")
    for mask in (np.array([300, -1, 70000], "i4"), np.array([-1, 1, 200], "i2"), np.array([255, 255, 255], "u1")):
        np.testing.assert_array_equal(rowscan.cumsum(x, 0, mask=mask, mask_mode="multiply"),
                                      np.cumsum(x.astype(int) * mask))


def test_floating_masks_want_a_word():
    """One of weights must not count fully: in all libraries, with all operators, quickly and not."""
    x, weights = np.arange(6.).reshape(2, 3), np.array([0.5, 0, 2])
    words = r"mask is floating \(.*\), and mask_mode is not given: 'select' .* 'multiply' scans x \* mask"
    for mask in (weights, weights.astype("f2"), 0.5, [0.5, 1, 1], weights[:1], np.float32(1)):
        for call in (lambda **more: rowscan.cumsum(x, 1, mask=mask, **more), lambda **more: rowscan.cummax(
                x, 1, mask=mask, indices=True, **more), lambda **more: rowscan.prepare(x, 1, mask=mask, **more),
                     lambda **more: rowscan.scan(x, 1, "prod", mask=mask, keys=[0, 1, 1], **more),
                     lambda **more: rowscan.cumsum(x.astype(int), 1, mask=mask, totals=True, **more),
                     lambda **more: rowscan.linear_recurrence(x, 0.5, 1, mask=mask, heads=[1, 0, 1], **more)):
            for given in {}, {"mask_mode": None}:
                with pytest.raises(TypeError, match=words):
                    call(**given)
            call(mask_mode="select")
    want = np.cumsum(x * [1, 0, 1], 1)
    for kind in ("?", "u1", "i1", "i8", "u4"):
        np.testing.assert_array_equal(rowscan.cumsum(x, 1, mask=(weights * 2).astype(kind)), want)
    np.testing.assert_array_equal(rowscan.cumsum(x, 1, mask=weights, mask_mode="select"), want)
    np.testing.assert_array_equal(rowscan.cumsum(x, 1, heads=weights), rowscan.cumsum(x, 1, heads=weights != 0))
    for mask in (2, 1, True, 0, False):
        np.testing.assert_array_equal(rowscan.cumsum(x, 1, mask=mask), np.cumsum(x * bool(mask), 1))
        np.testing.assert_array_equal(rowscan.linear_recurrence(x, 1., 1, mask=mask), np.cumsum(x * bool(mask), 1))


def test_masks_that_are_numbers_and_lists():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    for mask in (True, [True, False, True], [[1], [0]], np.bool_(True)):
        np.testing.assert_array_equal(rowscan.cumsum(x, 1, mask=mask), np.cumsum(np.where(mask, x, 0), 1))
    for mask in (2, 0.5, True):
        y = rowscan.cumsum(x, 1, mask=mask, mask_mode="multiply")
        np.testing.assert_array_equal(y, np.cumsum(x * mask, 1))
        assert y.dtype == x.dtype


@pytest.mark.parametrize("what", ["mask", "init"])
@pytest.mark.parametrize("shape", [(4,), (2, 2, 3), (3, 1)])
def test_what_does_not_broadcast(what, shape):
    with pytest.raises(ValueError, match=f"{what} has shape .* not broadcast to"):
        rowscan.cumsum(np.zeros((2, 3)), 1, **{what: np.ones(shape, int)})


def test_init_must_fit_the_accumulator():
    x = np.arange(3)
    with pytest.raises(TypeError, match="init is floating .2.5."):
        rowscan.cumsum(x, 0, init=2.5)
    with pytest.raises(TypeError, match="init is floating .float64."):
        rowscan.cumsum(x, 0, init=np.array([2.5]))
    np.testing.assert_array_equal(rowscan.cumsum(x, 0, init=2.5, dtype=float), np.cumsum(x) + 2.5)
    np.testing.assert_array_equal(rowscan.cumsum(x.astype("f4"), 0, init=np.array([2], "u1")), np.cumsum(x) + 2.0)
    with pytest.raises(TypeError, match="init.dtype is complex128"):
        rowscan.cumsum(x, 0, init=np.array([1j]))


def test_totals_go_on():
    x = np.arange(1, 41).reshape(4, 10)
    first, totals = rowscan.cumsum(x[:, :6], 1, totals=True)
    second = rowscan.cumsum(x[:, 6:], 1, init=totals[:, None])
    np.testing.assert_array_equal(np.concatenate([first, second], 1), np.cumsum(x, 1))


def test_initial_values_lie_as_they_like(monkeypatch):
    """Beside totals, too: none is copied to lie as those do."""
    x, memory = np.arange(60.0).reshape(3, 4, 5), np.random.default_rng(3).random((10, 6))
    seen, scan = [], rowscan._core.scan_settled
    monkeypatch.setattr(rowscan._core, "scan_settled", lambda *args: seen.append(args[8]) or scan(*args))
    columns = memory[::2, ::2].T
    for init in (columns, columns[::-1], columns[:1], columns[:, -1:], memory[0, :5], memory[0, 0]):
        init = init[:, None] if init.ndim == 2 else init
        y, totals = rowscan.cumsum(x, 1, init=init, totals=True)
        want, want_totals = order.scan(x, 1, init=init)
        order.assert_bits(y, want)
        order.assert_bits(totals, want_totals)
        assert init.ndim == 0 or np.shares_memory(seen[-1], memory)
    assert len(seen) == 6


# ---- out -------------------------------------------------------------------------------------------------------------

@quick
@given(problems(), st.data())
def test_out_is_written_and_returned(problem, data):
    op, x, dim, out, acc, options = problem
    name = out or order.default_out(order.name_of(x.dtype))
    if options.get("mask_mode") == "multiply":
        options["mask"] = options["mask"] != 0
    room = np.zeros([2 * n + 1 for n in x.shape], order.DTYPES[name])
    at = tuple(slice(None, 2 * n, 2) if data.draw(st.booleans()) else slice(n, n and 2 * n, None) for n in x.shape)
    y = room[at]
    if data.draw(st.booleans()):
        y = y[::-1]
    given_dtype = np.dtype(order.DTYPES[out]) if out else None
    assert FUNCTIONS[op][0](x, dim, out=y, dtype=given_dtype, acc=acc, **options) is y
    order.assert_bits(np.ascontiguousarray(y), order.scan(x, dim, op, out=name, acc=acc, **options)[0])
    y[...] = 0
    assert not room.any()  # nothing beside it was written


def test_in_place():
    for dtype in ("f4", "i8", "u8", "f2"):
        for x in (np.arange(12).reshape(3, 4).astype(dtype), np.arange(24).reshape(4, 6).astype(dtype)[::-1, ::2]):
            for dim in (0, 1):
                y = x.copy()[::-1] if dim else x.copy()
                expected = np.cumsum(y, dim, dtype=dtype)
                assert rowscan.cumsum(y, dim, out=y) is y
                np.testing.assert_array_equal(y, expected)
    x = np.arange(6).reshape(2, 3)
    rowscan.cumsum(x, out=x.reshape(-1))
    np.testing.assert_array_equal(x, [[0, 1, 3], [6, 10, 15]])


def test_in_place_with_totals_and_masks():
    x = np.arange(6.0).reshape(2, 3)
    y, totals = rowscan.cumsum(x, 1, out=x, totals=True, mask=np.array([True, False, True]), init=1)
    assert y is x
    np.testing.assert_array_equal(x, [[1, 1, 3], [4, 4, 9]])
    np.testing.assert_array_equal(totals, [3, 9])


def test_overlap():
    x = np.zeros(10)
    with pytest.raises(rowscan.BadArgument, match="'output' and 'input': the arrays overlap") as info:
        rowscan.cumsum(x[:-1], 0, out=x[1:])
    assert isinstance(info.value, ValueError) and isinstance(info.value, rowscan.Error)
    with pytest.raises(rowscan.BadArgument, match="overlap"):
        rowscan.cumsum(x, 0, out=x[::-1])
    with pytest.raises(rowscan.BadArgument, match="overlap"):
        rowscan.cumsum(np.zeros((2, 5)), 1, out=np.lib.stride_tricks.as_strided(np.zeros(5), (2, 5), (0, 8)))
    y = np.arange(10.0)
    rowscan.cumsum(y[::2], 0, out=y[1::2])  # they interleave, and share nothing
    np.testing.assert_array_equal(y[1::2], np.cumsum([0, 2, 4, 6, 8]))


def test_out_that_does_not_fit():
    x = np.zeros((2, 3))
    for out, error, words in ((np.empty((3, 2)), ValueError, r"out has shape \(3, 2\), not \(2, 3\)"),
                              (np.empty(6), ValueError, "out has shape"),
                              (np.empty((2, 3), int), TypeError, "out.dtype is int64"),
                              (np.empty((2, 3), "c16"), TypeError, "out.dtype is complex128"),
                              ([0], TypeError, "list")):
        with pytest.raises(error, match=words):
            rowscan.cumsum(x, 1, out=out)
    with pytest.raises(TypeError, match="out.dtype is float64, dtype is float32"):
        rowscan.cumsum(x, 1, out=np.empty((2, 3)), dtype="f4")
    read_only = np.zeros((2, 3))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        rowscan.cumsum(x, 1, out=read_only)
    np.testing.assert_array_equal(rowscan.cumsum(read_only, 1), x)
    with pytest.raises(TypeError, match="out.dtype is"):
        rowscan.cumsum(x, 1, out=np.empty((2, 3), ">f8"))


# ---- how arrays lie --------------------------------------------------------------------------------------------------

def test_unaligned_and_of_another_byte_order():
    x = np.frombuffer(bytes(33), np.uint8)[1:].view("f4")
    assert not x.flags.aligned
    with pytest.raises(rowscan.BadArgument, match="'input'.* not aligned"):
        rowscan.cumsum(x, 0)
    field = np.zeros(5, [("a", "f4"), ("b", "u1")])["a"]
    with pytest.raises(TypeError, match=r"strides \(5,\) are no multiples of 4 bytes"):
        rowscan.cumsum(field, 0)
    with pytest.raises(TypeError, match=r"x.dtype is >f4, of another byte order: x.astype\('<f4'\)"):
        rowscan.cumsum(np.zeros(3, ">f4"), 0)
    whole = np.zeros((3, 2), [("a", "f4"), ("b", "f4")])["b"]  # strides are no problem where they are whole elements
    whole[...] = 1
    np.testing.assert_array_equal(rowscan.cumsum(whole, 0), np.cumsum(whole, 0))


def test_the_array_at_fault_is_named():
    """Not x, where it is another one that lies oddly, or has another byte order; and what can be done about it."""
    x, field = np.arange(4.), np.zeros(4, [("a", "u1"), ("b", "f8")])["b"]
    lies = r" can't be scanned as it lies in memory: strides \(9,\) are no multiples of 8 bytes"
    other = np.arange(4.).astype(">f8")
    rec = rowscan.linear_recurrence
    for name, call in (
            ("mask", lambda odd: rowscan.cumsum(x, 0, mask=odd, mask_mode="multiply")),
            ("coefficient", lambda odd: rec(x, odd, 0)),
            ("coefficient", lambda odd: rec(x, odd, 0, mask=x > 2)),
            ("coefficient", lambda odd: rec(x, odd, 0, keys=[0, 0, 1, 1])),
            ("more[1]", lambda odd: rowscan.scan(x, 0, "gae", reverse=True, more=(x, odd, False, 0), params=(1, 1))),
            ("x", lambda odd: rowscan.cumsum(odd, 0, mask=x > 2, totals=True))):
        with pytest.raises(TypeError, match=f"^{re.escape(name)}{lies}, those of {re.escape(name)}.copy"):
            call(field)
        call(field.copy())
        with pytest.raises(TypeError) as info:
            call(other)
        assert str(info.value) == f"{name}.dtype is >f8, of another byte order: {name}.astype('<f8') copies it"
    with pytest.raises(TypeError, match=f"^out{lies}$"):
        rowscan.cumsum(x, 0, out=field)
    with pytest.raises(TypeError, match=r"^out is a builtins.list, not an array \(numpy.asarray\(out\) is one\)"):
        rowscan.cumsum(x, 0, out=[0.] * 4)
    for name in ("heads", "tails", "keys", "mask", "out", "init"):
        odd = other[:1] if name == "init" else other.astype(">i4" if name == "keys" else ">f8")
        with pytest.raises(TypeError, match=f"{name}.dtype is >.*, of another byte order: {name}.astype"):
            rowscan.cumsum(x, 0, **{name: odd})
    with pytest.raises(TypeError, match="dtype is >f4, of another byte order than '<f4'"):
        rowscan.cumsum(x, 0, dtype=">f4")
    keys = np.zeros(4, [("a", "u1"), ("b", "i8")])["b"]
    for given in {"keys": keys}, {"keys": keys.astype("i4")[::1], "mask": x > 2}:
        rowscan.cumsum(x.astype("f4"), 0, **{**given, "keys": given["keys"].copy()})
    with pytest.raises(TypeError, match=f"^keys{lies}"):
        rowscan.cumsum(x.astype("f4"), 0, keys=keys)
    buffer = np.zeros(33, "u1")[1:]
    for name, given in (("mask", {"mask": buffer.view("f8"), "mask_mode": "multiply"}),
                        ("output", {"out": buffer.view("f8")}), ("init", {"init": buffer[:8].view("f8")})):
        with pytest.raises(rowscan.BadArgument, match=f"'{name}'.* not aligned"):
            rowscan.cumsum(x, 0, **given)


def test_strides_that_lead_nowhere():
    """Of dimensions that have no second element, in any array."""
    buffer = np.arange(200.).view("u1")
    x = np.ndarray((10, 5, 1), "f8", buffer, strides=(8, 80, 4))
    for dim in range(3):
        np.testing.assert_array_equal(rowscan.cumsum(x, dim, mask=x, mask_mode="multiply"), np.cumsum(x * x, dim))
    y = np.ndarray((10, 5, 1), "f8", np.zeros(1600, "u1"), strides=(8, 80, 3))
    assert rowscan.cumsum(x, 0, out=y) is y
    np.testing.assert_array_equal(y, np.cumsum(x, 0))
    assert rowscan.cumsum(np.ndarray((0, 5), "f8", buffer, strides=(3, 5)), 1).shape == (0, 5)
    assert rowscan.cumsum(np.ndarray((1,), "f8", buffer, strides=(-3,)), 0).tolist() == [x.flat[0]]
    with pytest.raises(TypeError, match=r"strides \(8, 4, 80\)"):
        rowscan.cumsum(np.ndarray((10, 2, 1), "f8", buffer, strides=(8, 4, 80)), 0)


def test_what_is_no_array_is_told_how_to_become_one():
    class Series:
        def to_numpy(self):
            return np.ones(3)

        def __array__(self, *given, **options):
            return self.to_numpy()

    class Lent:
        def __array__(self, *given, **options):
            return np.ones(3)
    for x, words in ((Series(), r"Series, not an array \(x.to_numpy\(\) is one\): rowscan takes those of"),
                     (Lent(), r"Lent, not an array \(numpy.asarray\(x\) is one\):"),
                     ([1, 2], r"x is a builtins.list, not an array \(numpy.asarray\(x\) is one\):"),
                     (3, r"x is a builtins.int, not an array \(numpy.asarray\(x\) is one\):"),
                     ("text", "x is a builtins.str, not an array: rowscan takes"),
                     (None, "x is a builtins.NoneType, not an array: rowscan takes")):
        for call in (lambda: rowscan.cumsum(x, 0), lambda: rowscan.spec(x, 0), lambda: rowscan.cumulative_sum(x)):
            with pytest.raises(TypeError, match=words):
                call()


def test_subclasses(tmp_path):
    class Plain(np.ndarray):
        pass

    class Meaning(np.ndarray):
        def __array_ufunc__(self, *arguments, **options):
            return NotImplemented

    x = np.arange(6.0).reshape(2, 3)
    y, totals = rowscan.cumsum(x.view(Plain), 1, totals=True)
    assert type(y) is Plain and type(totals) is Plain
    np.testing.assert_array_equal(y, np.cumsum(x, 1))
    out = np.empty((2, 3)).view(Plain)
    assert rowscan.cumsum(x, 1, out=out) is out and (out == np.cumsum(x, 1)).all()
    mapped = np.memmap(tmp_path / "x", dtype="f4", mode="w+", shape=(4, 3))
    mapped[...] = 2
    assert type(rowscan.cumsum(mapped, 0)) is type(np.cumsum(mapped, 0)) is np.ndarray
    assert rowscan.cumsum(mapped, 0, out=mapped) is mapped
    np.testing.assert_array_equal(mapped[:, 0], [2, 4, 6, 8])
    for refused, words in ((np.ma.array(x, mask=x > 3), "masked array"), (np.matrix(x), "matrix"),
                           (x.view(Meaning), "Meaning")):
        for call in (lambda a: rowscan.cumsum(a, 1), lambda a: rowscan.cumsum(x, 1, mask=a),
                     lambda a: rowscan.cumsum(x, 1, out=a), lambda a: rowscan.cumsum(x, 1, init=a[:, :1])):
            with pytest.raises(TypeError, match=words):
                call(refused)


def test_bfloat16_of_ml_dtypes():
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x = np.random.default_rng(0).standard_normal((3, 40)).astype(bfloat16)
    for view in (x, x.T[::-1], x[:, ::2]):
        for dim in (0, 1):
            y, totals = rowscan.cumsum(view, dim, totals=True, mask=view > 0)
            expected, expected_totals = order.scan(view, dim, mask=view > 0)
            order.assert_bits(y, expected)
            order.assert_bits(totals, expected_totals)
    assert rowscan.cumsum(x.astype("f4"), 1, dtype=bfloat16).dtype == bfloat16
    assert "in=bf16 out=bf16 acc=f32" in rowscan.spec(x, 1)


def test_results_are_no_views():
    x = np.arange(6.0)
    y = rowscan.cumsum(x, 0)
    assert y.base is None and not np.shares_memory(x, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(y)), y)


@pytest.mark.parametrize("call", [
    lambda x: rowscan.cumsum(x, 1), lambda x: rowscan.cumsum(x, 1, out=x),
    lambda x: rowscan.cumsum(x, 1, totals=True, init=1, mask=x > 0), lambda x: rowscan.cumsum(x),
    lambda x: rowscan.cumulative_sum(x, axis=0, include_initial=True), lambda x: rowscan.spec(x, 0),
    lambda x: rowscan.prepare(x, 0), lambda x: rowscan.scan(x, 1, "max"), lambda x: rowscan.scan(x, op="min"),
    lambda x: pytest.raises(ValueError, rowscan.scan, x, 1, "no" * x.size),
    lambda x: pytest.raises(ValueError, rowscan.scan, x, 1, 3),
    lambda x: pytest.raises(TypeError, rowscan.cumsum, x, 1, dtype="O"),
    lambda x: pytest.raises(ValueError, rowscan.cumsum, x, 1, mask=x.T > 0),
    lambda x: pytest.raises(ValueError, rowscan.cumsum, x.T, 1, out=x),
    lambda x: pytest.raises(TypeError, rowscan.cumsum, x, 1, axis=1)])
def test_nothing_is_leaked(call):
    """Neither memory nor references to what a call is given, right or wrong."""
    x = np.zeros((4, 8))
    objects = (x, None, NotImplemented, True, np.dtype("f8"), np.ndarray)
    for _ in range(3):
        call(x)
    tracemalloc.start()
    before, counts = tracemalloc.get_traced_memory()[0], [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        call(x)
    gc.collect()  # tracebacks are cycles
    after, more = tracemalloc.get_traced_memory()[0], [sys.getrefcount(o) for o in objects]
    tracemalloc.stop()
    assert after - before < 100_000  # 50 bytes a call
    assert all(b - a < 500 for a, b in zip(counts, more)), list(map(operator.sub, more, counts))
