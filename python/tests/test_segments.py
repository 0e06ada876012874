"""test_segments.py - flags and keys that cut rows into segments, in every library, against a loop

SPDX-License-Identifier: MIT

Elements are small integers where results are compared for equality: those are exact in every type and every order.
"""
import functools
import itertools

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("hypothesis")

from hypothesis import given, settings, strategies as st  # noqa: E402

import order  # noqa: E402
import rowscan  # noqa: E402

ALL = list(order.DTYPES)
WHOLE = [name for name in ALL if name not in order.FLOATING]
KINDS = ["heads", "tails", "keys"]
FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)
with_kinds = pytest.mark.parametrize("kind", KINDS)

OPERATORS = {"sum": (lambda a, b: a + b, 0), "prod": (lambda a, b: a * b, 1), "max": (max, -np.inf),
             "min": (min, np.inf)}


def rows(shape, dim):
    return tuple(1 if d == dim % len(shape) else n for d, n in enumerate(shape))


def begins(kind, beside, at):
    """Whether a segment begins, in memory, between an element and the one before it: by a row's flags or keys."""
    return {"heads": lambda: at < len(beside) and beside[at] != 0, "tails": lambda: at > 0 and beside[at - 1] != 0,
            "keys": lambda: 0 < at < len(beside) and beside[at] != beside[at - 1]}[kind]()


def scan_row(row, beside, kind, combine, identity, reverse, exclusive, init):
    """(results, total) of a list of numbers."""
    y, held = [None] * len(row), identity if init is None else init
    for i in reversed(range(len(row))) if reverse else range(len(row)):
        if begins(kind, beside, i + 1 if reverse else i):
            held = identity
        before, held = held, combine(held, row[i])
        y[i] = before if exclusive else held
    return y, held


def loop(x, beside, kind, dim, op="sum", reverse=False, exclusive=False, init=None):
    """(results, totals) as Python's numbers."""
    x = np.asarray(x)
    beside, lists = np.moveaxis(np.broadcast_to(beside, x.shape), dim, -1), np.moveaxis(x, dim, -1)
    firsts = None if init is None else np.moveaxis(np.broadcast_to(init, rows(x.shape, dim)), dim, -1)
    y, totals = np.empty(lists.shape, object), np.empty(lists.shape[:-1], object)
    for at in np.ndindex(*lists.shape[:-1]):
        y[at], totals[at] = scan_row([v * 1 for v in lists[at].tolist()], beside[at].tolist(), kind, *OPERATORS[op],
                                     reverse, exclusive, None if firsts is None else firsts[at].tolist()[0])
    return np.moveaxis(y, -1, dim), totals


def typed(values, dtype):
    """Python's numbers as a type, in which integers wrap."""
    values, dtype = np.asarray(values, object), np.dtype(dtype)
    return values.astype(dtype) if dtype.kind == "f" else np.asarray(values % 2**64, np.uint64).astype(dtype)


def numbers(random, shape, dtype):
    x = random.integers(-9, 10, shape)
    return np.asarray(abs(x) if dtype.kind in "ub" else x, dtype)


def some(random, kind, shape, dtype):
    """Flags, few of which are set, or keys that change now and then."""
    if kind != "keys":
        return np.asarray((random.random(shape) < 0.3) * 3, dtype)
    return np.asarray(random.integers(0, 2, shape) * 2, dtype)


@st.composite
def problems(draw):
    """Elements and flags or keys of any types and layouts, and what may go with them."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    shape = tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    dtype, kind = np.dtype(order.DTYPES[draw(st.sampled_from(ALL))]), draw(st.sampled_from(KINDS))
    steps = tuple(slice(None, None, draw(st.sampled_from([1, 2, -1]))) for _ in shape)
    x = numbers(random, [2 * n for n in shape], dtype)[steps][tuple(slice(n) for n in shape)]
    own = draw(st.sampled_from([shape, rows(shape, dim), shape[1:], (1,) * len(shape), ()]))
    its = [order.DTYPES[name] for name in WHOLE] if kind == "keys" else ["?", "u1", dtype]
    beside = some(random, kind, own[::-1], np.dtype(draw(st.sampled_from(its)))).T
    options = draw(st.sampled_from(FLAGS))
    if draw(st.booleans()):
        options = {**options, "init": numbers(random, rows(shape, dim), np.dtype("i1"))}
    return x, beside, kind, dim, options


# ---- NumPy -----------------------------------------------------------------------------------------------------------

@settings(max_examples=400)
@given(problems(), st.booleans())
def test_numpy(problem, by_name):
    x, beside, kind, dim, options = problem
    y, totals = loop(x, beside, kind, dim, **options)
    out = order.default_out(order.name_of(x.dtype))
    function = functools.partial(rowscan.scan, op="sum") if by_name else rowscan.cumsum
    got, sums = function(x, dim, totals=True, **{kind: beside}, **options)
    order.assert_bits(got, typed(y, order.DTYPES[out]))
    order.assert_bits(sums, typed(totals, order.DTYPES[order.accumulator(order.name_of(x.dtype), out)]))
    into = np.empty(x.shape[::-1], got.dtype).T
    assert rowscan.cumsum(x, axis=dim, out=into, **{kind: beside}, **options) is into
    order.assert_bits(np.ascontiguousarray(into), got)
    plain = {name: value for name, value in options.items() if name != "init"}
    order.assert_bits(rowscan.cumsum(x, dim, **{kind: beside}, **plain),
                      typed(loop(x, beside, kind, dim, **plain)[0], got.dtype))


def beside_loop(x, mask, coefficient, segments, kind, reverse, exclusive, init):
    """Along the last of two dimensions, in float64, of what is not masked or with coefficients."""
    y = np.empty(x.shape)
    for at, row in enumerate(x):
        marks = segments[at]
        new = {"heads": marks != 0, "tails": np.append(False, marks[:-1] != 0),
               "keys": np.append(False, marks[1:] != marks[:-1])}[kind]
        gone = marks[-1 if reverse else 0] != 0 and kind == ("tails" if reverse else "heads")
        state, order_of = 0. if gone else init, range(len(row))
        for i in reversed(order_of) if reverse else order_of:
            begins = (i + 1 < len(row) and new[i + 1]) if reverse else new[i]
            before = 0. if begins else state
            if coefficient is None:
                state = before + (row[i] if mask[at, i] else 0.)
            else:
                state = row[i] if begins or not before else coefficient[at, i] * before + row[i]
            y[at, i] = before if exclusive else state
    return y


def beside_cases():
    """Scans with segments beside a mask and coefficients: a function of arrays, these, and the results."""
    random = np.random.default_rng(11)
    x, c = random.integers(-9, 10, (3, 40)).astype("f8"), random.integers(1, 3, (3, 40)).astype("f8")
    x[1, 7] = np.nan
    for kind, flags, key in itertools.product(KINDS, FLAGS, ("i4", "i8")):
        for own in ((3, 40), (40,), (3, 1)):
            told, m = random.integers(0, 2, own).astype(key), random.random((3, 40)) < 0.6
            wide = np.broadcast_to(told, x.shape)
            yield (lambda x, c, s, kind=kind, flags=flags, **o: rowscan.linear_recurrence(
                x, c, 1, init=2., **{kind: s}, **flags, **o), (x, c, told),
                beside_loop(x, None, c, wide, kind, init=2., **flags))
            yield (lambda x, m, s, kind=kind, flags=flags, **o: rowscan.cumsum(
                x, 1, mask=m, init=2., **{kind: s}, **flags, **o), (x, m, told),
                beside_loop(x, m, None, wide, kind, init=2., **flags))


def test_beside_masks_and_coefficients():
    for f, arrays, want in beside_cases():
        np.testing.assert_allclose(f(*arrays), want, rtol=1e-12)
        y, totals = f(*arrays, totals=True)
        assert totals.shape == (3,)
        out = np.empty(want.shape[::-1]).T
        assert f(*arrays, out=out) is out
        np.testing.assert_array_equal(out, y)
    x, keys = np.array([3., 1., 5., 2.]), np.array([1, 1, 2, 2])
    assert rowscan.cummax(x, 0, mask=[1, 1, 0, 1], keys=keys).tolist() == [3, 3, -np.inf, 2]
    values, at = rowscan.cummax(x.astype("f4"), 0, mask=[1, 1, 0, 1], heads=keys - 1, indices=True)
    assert values.tolist() == [3, 3, -np.inf, 2] and at.tolist() == [0, 0, -1, 3]
    assert rowscan.linear_recurrence(np.float32(2), 0.5, 0, heads=0, init=4).tolist() == [4]
    assert rowscan.linear_recurrence(np.ones((2, 0)), 0.5, 1, tails=np.ones((2, 0))).shape == (2, 0)
    assert "mask=coefficient" in rowscan.spec(x, 0, "linear_recurrence", coefficient=0.5, tails=x > 2)
    assert "segments=tails" in rowscan.spec(x, 0, "linear_recurrence", coefficient=0.5, tails=x > 2)
    rowscan.prepare(x, 0, mask=x > 1, keys=keys)


def joined(a, b):
    """The totals of two blocks, each with whether a segment begins in it."""
    return (b[0] if b[1] else a[0] + b[0]), a[1] or b[1]


@with_flags
@with_kinds
@pytest.mark.parametrize("length", [1, 37, 256, 1000])
def test_bits(kind, flags, length):
    """The order is that of rows without segments; of a block the total is that of what follows the last beginning."""
    random = np.random.default_rng(length)
    for dtype, init in itertools.product(("f4", "f8"), (None, np.float32(0.3))):
        x, flat = random.standard_normal(length).astype(dtype), random.random(length) < 0.05
        flat[-1] = flat[0] = length % 2
        beside = np.cumsum(flat) if kind == "keys" else flat
        new = [bool(begins(kind, beside, i + flags["reverse"])) for i in range(length)]
        first = None if init is None else (x.dtype.type(init), False)
        y, total = order.scan_row(joined, list(zip(x, new)), **flags, init=first, identity=(x.dtype.type(0), False))
        y = [0 if flags["exclusive"] and its else value for (value, _), its in zip(y, new)]
        got, sums = rowscan.cumsum(x, 0, init=init, totals=True, **{kind: beside}, **flags)
        order.assert_bits(got, np.array(y, dtype))
        order.assert_bits(np.asarray(sums), np.array(total[0], dtype))


@with_flags
@with_kinds
def test_long_rows_of_other_operators(kind, flags):
    random = np.random.default_rng(3)
    x = random.integers(-1000, 1000, (3, 2000)).astype("f4")
    flat = random.random((3, 2000))
    beside = flat < 0.02 if kind != "keys" else np.cumsum(flat < 0.02, 1)
    for name, op in (("cumsum", "sum"), ("cummax", "max"), ("cummin", "min")):
        y, totals = getattr(rowscan, name)(x, 1, totals=True, **{kind: beside}, **flags)
        want, want_totals = loop(x, beside, kind, 1, op, **flags)
        np.testing.assert_array_equal(y, want.astype("f4"))
        np.testing.assert_array_equal(totals, want_totals.astype("f4"))
    signs = np.sign(x) + (x == 0)
    np.testing.assert_array_equal(rowscan.cumprod(signs, 1, **{kind: beside}, **flags),
                                  loop(signs, beside, kind, 1, "prod", **flags)[0].astype("f4"))
    y = rowscan.logcumsumexp(np.log(abs(x) + 1), 1, **{kind: beside}, **flags)
    with np.errstate(divide="ignore"):
        want = np.log(loop(abs(x) + 1, beside, kind, 1, **flags)[0].astype("f8"))
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


@with_kinds
def test_nothing_leaves_a_segment(kind):
    x = np.array([1, np.nan, 2, np.inf, -np.inf, 5, 6])
    beside = {"heads": [0, 0, 1, 0, 0, 1, 0], "tails": [0, 1, 0, 0, 1, 0, 0], "keys": [7, 7, 0, 0, 0, 7, 7]}[kind]
    nan, inf = np.nan, np.inf
    given = {kind: beside}
    np.testing.assert_array_equal(rowscan.cumsum(x, 0, **given), [1, nan, 2, inf, nan, 5, 11])
    np.testing.assert_array_equal(rowscan.cumsum(x, 0, reverse=True, **given), [nan, nan, nan, nan, -inf, 11, 6])
    np.testing.assert_array_equal(rowscan.cumsum(x, 0, exclusive=True, **given), [0, 1, 0, 2, inf, 0, 5])
    x = x.astype("f4")  # indices of wider elements take too much room
    if kind == "keys":
        given = dict(heads=[0, 0, 1, 0, 0, 1, 0])
    y, at = rowscan.cummax(x, 0, indices=True, **given)
    np.testing.assert_array_equal(y, [1, nan, 2, inf, inf, 5, 6])
    np.testing.assert_array_equal(at, [0, 1, 2, 3, 3, 5, 6])
    np.testing.assert_array_equal(rowscan.scan(x, 0, "argmin", reverse=True, exclusive=True, **given),
                                  [1, -1, 4, 4, -1, 6, -1])


def test_flags_stay_where_they_are():
    """They are in memory's order, and so sums from both ends are of the same segments."""
    random = np.random.default_rng(2)
    x, heads = random.integers(-9, 9, (4, 50)), random.random((4, 50)) < 0.2
    tails = np.concatenate([heads[:, 1:], np.zeros((4, 1), bool)], 1)
    keys = np.cumsum(heads, 1)
    for flags in FLAGS:
        y = rowscan.cumsum(x, 1, heads=heads, **flags)
        order.assert_bits(rowscan.cumsum(x, 1, tails=tails, **flags), y)
        for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            order.assert_bits(rowscan.cumsum(x, 1, keys=keys.astype(name), **flags), y)
        order.assert_bits(rowscan.cumsum(x.T, 0, keys=keys.T, **flags), y.T)
    whole = rowscan.cumsum(x, 1, heads=heads) + rowscan.cumsum(x, 1, heads=heads, reverse=True, exclusive=True)
    np.testing.assert_array_equal(whole, [[row[k == key].sum() for key in k] for row, k in zip(x, keys)])


def test_types_of_flags_and_keys():
    x = np.ones(4, "f4")
    for flags in ([False, True, False, True], [0, 1, 0, -1], np.array([0, .5, 0, 1]), np.array([0, 1, 0, 3], "i8"),
                  np.array([0., -1., -0., np.nan], "f4"), np.array([0, 256, 0, 1], "u2")):
        assert rowscan.cumsum(x, 0, heads=flags).tolist() == [1, 1, 2, 1]
        assert rowscan.cumsum(x, 0, tails=flags).tolist() == [1, 2, 1, 2]
    for keys in ([3, 3, 4, 3], np.array([0, 0, 1, 0], bool), np.array([0, 0, 2**63, 0], "u8")):
        assert rowscan.cumsum(x, 0, keys=keys).tolist() == [1, 2, 1, 1]
    for one in (dict(heads=True), dict(tails=1)):
        assert rowscan.cumsum(x, 0, **one).tolist() == [1, 1, 1, 1]
    for none in (dict(heads=False), dict(tails=0), dict(keys=5), dict(heads=None), dict(keys=None, mask=None)):
        assert rowscan.cumsum(x, 0, **none).tolist() == [1, 2, 3, 4]
    for given in (dict(heads=[[1, 0], [1, 0]]), dict(keys=[[1, 1], [2, 2]])):  # with no dimension, as one row
        with pytest.raises(ValueError, match="does not broadcast"):
            rowscan.cumsum(np.ones((2, 2)), **given)
    assert rowscan.cumsum(np.ones(4, bool), 0, tails=np.array([0, 2, 0, 0], "u1")).tolist() == [1, 2, 1, 2]


def test_keys_for_which_there_is_no_room():
    """Keys of 64 bits beside numbers of 64, or beside indices, are compared before the scan."""
    x, keys = np.array([3, 1, 2, 5, 4], "f4"), np.array([7, 7, 0, 0, 7])
    for flags in FLAGS:
        for init in (None, 10):
            y = rowscan.cumsum(x.astype("f8"), 0, keys=keys, init=init, **flags)
            order.assert_bits(y, rowscan.cumsum(x, 0, keys=keys, init=init, **flags).astype("f8"))
    assert rowscan.scan(x, 0, "argmax", keys=keys).tolist() == [0, 0, 2, 3, 4]
    assert rowscan.scan(x, 0, "argmax", keys=keys.astype("i4"), reverse=True).tolist() == [0, 1, 3, 3, 4]
    assert "mask=heads" in rowscan.spec(x.astype("f8"), 0, keys=keys)


def test_spec_and_prepare():
    x = np.zeros((4, 1000), "f4")
    assert "mask=heads mask_type=bool" in rowscan.spec(x, 1, heads=x > 0)
    assert "mask=tails mask_type=f32" in rowscan.spec(x, 1, tails=x)
    assert "mask=keys mask_type=i64" in rowscan.spec(x, 1, "max", keys=np.zeros(1000, "i8"))
    assert rowscan.prepare(x, 1, heads=x, init=1) is None


def test_what_is_refused():
    x = np.ones((2, 3))
    call = rowscan.cumsum
    for f, error, words in (
            (lambda: call(x, 1, heads=x, tails=x, mask=x), TypeError,
             "heads and tails are given, of which a scan takes one"),
            (lambda: call(x, 1, keys=x, tails=x), TypeError, "tails and keys are given, of which a scan takes one"),
            (lambda: rowscan.spec(x, 1, mask=x, coefficient=x), TypeError, "coefficient is given, and sum has none"),
            (lambda: rowscan.spec(x, 1, heads=x, keys=x), TypeError, "heads and keys are given"),
            (lambda: call(x, 1, keys=x), TypeError, "keys.dtype is float64, and keys are integers or bool"),
            (lambda: call(x, 1, keys=0.5), TypeError, "keys.dtype is float64, and keys are integers or bool"),
            (lambda: call(x, 1, keys=1j), TypeError, "keys.dtype is complex128"),
            (lambda: call(x, 1, heads="one"), TypeError, "heads.dtype is <U3"),
            (lambda: call(x, 1, heads=[True, False]), ValueError, r"heads has shape \(2,\), which does not broadcast"),
            (lambda: call(x, 1, keys=np.ones((1, 2, 3), int)), ValueError, r"keys has shape \(1, 2, 3\)"),
            (lambda: call(x, 1, tails=np.ma.array(x)), TypeError, "tails is a masked array"),
            (lambda: call(x, 1, mask=x, mask_mode="heads"), ValueError, "mask_mode is 'heads'"),
            (lambda: rowscan.linear_recurrence(x, x, 1, heads=x, keys=x), TypeError, "heads and keys are given"),
            (lambda: rowscan.linear_recurrence(x, x, 1, keys=x), TypeError, "keys.dtype is float64"),
            (lambda: rowscan.linear_recurrence(x, x, 1, tails=[True, False]), ValueError, r"tails has shape \(2,\)"),
            (lambda: call(x, 1, mask=x > 2, keys=x), TypeError, "keys.dtype is float64"),
            (lambda: rowscan.scan(x, 1, coefficient=x, heads=x), TypeError, "coefficient is given, and sum has none"),
            (lambda: rowscan.scan(x, 1, "linear_recurrence", heads=x), TypeError,
             "coefficient is not given, and linear_recurrence needs one")):
        with pytest.raises(error, match=words):
            f()
    for f in (lambda: rowscan.logcumsumexp(x, 1, heads=x), lambda: rowscan.scan(x, 1, "argmax", tails=x)):
        with pytest.raises(rowscan.Unsupported, match="a segmented total of [a-z]* needs 20 bytes"):
            f()
    with pytest.raises(rowscan.BadArgument, match="'output' and 'mask': the arrays overlap"):
        call(x, 1, heads=x[:, :1], out=x)


# ---- DLPack ----------------------------------------------------------------------------------------------------------

class Lent:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self.array = array
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


@with_flags
def test_dlpack(flags):
    x, y = np.arange(12.).reshape(3, 4), Lent(np.empty((3, 4)))
    keys, heads = np.array([5, 5, 0, 0], "i2"), np.array([[0, 1, 0, 0]] * 3, "u1")
    assert rowscan.cumsum(Lent(x), 1, keys=Lent(keys), out=y, init=Lent(np.ones((1, 1))), **flags) is y
    np.testing.assert_array_equal(y.array, loop(x, keys, "keys", 1, init=1, **flags)[0].astype("f8"))
    assert rowscan.cumsum(Lent(x), 1, heads=Lent(heads), out=y, **flags) is y
    np.testing.assert_array_equal(y.array, loop(x, heads, "heads", 1, **flags)[0].astype("f8"))
    with pytest.raises(TypeError, match="keys.dtype is float64, and keys are integers or bool"):
        rowscan.cumsum(Lent(x), 1, keys=Lent(x), out=y)
    with pytest.raises(TypeError, match="heads is int16, not bool, uint8 or x's float64"):
        rowscan.cumsum(Lent(x), 1, heads=Lent(keys), out=y)


# ---- torch -----------------------------------------------------------------------------------------------------------

def test_torch(torch):
    """All that NumPy's arrays are tested with, and tensors that lie in memory as those do."""
    @settings(max_examples=200)
    @given(problems())
    def check(problem):
        x, beside, kind, dim, options = problem
        if any(step < 0 for array in (x, beside) for step in array.strides):
            x, beside = x.copy(), beside.copy()
        options = {name: torch.from_numpy(v) if name == "init" else v for name, v in options.items()}
        y, totals = rowscan.cumsum(torch.from_numpy(x), dim, totals=True, **{kind: torch.from_numpy(beside)}, **options)
        want, want_totals = loop(x, beside, kind, dim, **options)
        order.assert_bits(y.numpy(), typed(want, x.dtype if x.dtype.kind == "f" else "i8"))
        np.testing.assert_array_equal(totals.numpy(), typed(want_totals, totals.numpy().dtype))
    check()


def test_tensors(torch):
    x = torch.arange(1, 7.)
    heads, keys = torch.tensor([0, 0, 1, 0, 0, 1]), torch.tensor([1, 1, 2, 2, 2, 3])
    want = torch.tensor([1., 3., 3., 7., 12., 6.])
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for given in (dict(heads=heads), dict(heads=heads.bool()), dict(heads=heads.to(dtype)), dict(keys=keys),
                      dict(keys=keys.char()), dict(keys=[1, 1, 2, 2, 2, 3])):
            y = rowscan.cumsum(x.to(dtype), 0, **given)
            assert y.dtype is dtype and torch.equal(y.float(), want)
    assert torch.equal(rowscan.cumsum(x, 0, keys=keys, out=x), want) and torch.equal(x, want)
    assert rowscan.cumsum(torch.tensor(3.), 0, heads=True, init=1).tolist() == 3
    assert rowscan.cumsum(torch.tensor(3.), 0, tails=True, init=1).tolist() == 4
    for f, error, words in (
            (lambda: rowscan.cumsum(x, 0, keys=x), TypeError, "keys.dtype is torch.float32"),
            (lambda: rowscan.cumsum(x, 0, heads=heads[1:]), ValueError, r"heads has shape \(5,\)"),
            (lambda: rowscan.cumsum(x, 0, tails=torch.ones(6, device="meta")), ValueError, "tails is on meta")):
        with pytest.raises(error, match=words):
            f()


SHAPES = [(3, 5), (3, 1), (5,), ()]


@with_flags
@with_kinds
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_torch_gradients(torch, kind, flags, shape):
    """Of x and initial values, twice, forward-mode and batched."""
    random = np.random.default_rng(4)
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    beside = torch.from_numpy(some(random, kind, shape, np.dtype("i8")))
    beside = beside if kind == "keys" else beside != 0
    for dim, totals, whole in itertools.product((0, 1), (False, True), (False, True)):
        init = torch.randn(rows(x.shape, dim) if whole else (), dtype=torch.float64, requires_grad=True)
        for first in (None, init):
            def f(x, first):
                return rowscan.cumsum(x, dim, init=first, totals=totals, **{kind: beside}, **flags)
            assert torch.autograd.gradcheck(f, (x, first), check_forward_ad=True, check_batched_grad=True)
            assert torch.autograd.gradgradcheck(f, (x, first))


@with_flags
@with_kinds
def test_torch_gradients_at_the_ends(torch, kind, flags):
    """Flags of the first element and of the last one, of rows of few elements, and of those of none."""
    for length in (0, 1, 2, 3):
        for marked in itertools.product((0, 1), repeat=length):
            beside = torch.tensor(marked, dtype=torch.int64)
            x = torch.randn(2, length, dtype=torch.float64, requires_grad=True)
            init = torch.randn(2, 1, dtype=torch.float64, requires_grad=True)
            f = lambda x, init: rowscan.cumsum(x, 1, init=init, totals=True, **{kind: beside}, **flags)
            assert torch.autograd.gradcheck(f, (x, init), check_forward_ad=True)
            assert torch.autograd.gradgradcheck(f, (x, init))
            g = lambda init: rowscan.cumsum(x.detach(), 1, init=init, totals=True, **{kind: beside}, **flags)
            assert torch.autograd.gradcheck(g, (init,), check_forward_ad=True)
    scalar = torch.randn((), dtype=torch.float64, requires_grad=True)
    one = torch.tensor(1) if kind == "keys" else torch.tensor(True)
    f = lambda x: rowscan.cumsum(x, 0, init=x, totals=True, **{kind: one}, **flags)
    assert torch.autograd.gradcheck(f, (scalar,), check_forward_ad=True)


def test_torch_gradients_stay_in_their_segments(torch):
    """They are the same scan from the other end, bit for bit, and a NaN is no other segment's."""
    x, g = torch.randn(3, 200), torch.randn(3, 200)
    heads = torch.rand(3, 200) < 0.1
    heads[:, 100] = True
    g[:, 100] = torch.nan
    x.requires_grad_()
    for flags in FLAGS:
        for given in (heads, heads.float(), heads.byte()):
            d, = torch.autograd.grad(rowscan.cumsum(x, 1, heads=given, **flags), x, g)
            back = rowscan.cumsum(g, 1, heads=heads, **{**flags, "reverse": not flags["reverse"]})
            order.assert_bits(d.numpy(), back.numpy())
            assert not d[:, :100].isnan().any()
    for dtype, out in itertools.product((torch.float16, torch.float32), (None, torch.float64)):
        leaf = torch.ones(4, dtype=dtype, requires_grad=True)
        for given in (dict(tails=torch.tensor([0, 1, 0, 0], dtype=dtype)), dict(keys=torch.tensor([1, 1, 2, 2]))):
            d, = torch.autograd.grad(rowscan.cumsum(leaf, 0, dtype=out, **given).sum(), leaf)
            assert d.dtype is dtype and d.tolist() == [2, 1, 2, 1]
    init = torch.ones((), requires_grad=True)
    y = rowscan.cumsum(torch.arange(4), 0, keys=torch.tensor([1, 1, 2, 2]), init=init, dtype=torch.float32)
    assert torch.autograd.grad(y.sum(), init)[0] == 2


def test_torch_beside_masks_and_coefficients(torch):
    for f, arrays, _ in beside_cases():
        np.testing.assert_array_equal(f(*map(torch.tensor, arrays)).numpy(), f(*arrays))
    x, c, tails = torch.rand(2, 9), torch.rand(2, 9), torch.rand(2, 9) < 0.3
    f = lambda x: rowscan.linear_recurrence(x, c, 1, tails=tails)
    assert torch.equal(torch.compile(f, fullgraph=True, backend="aot_eager")(x), f(x))
    leaf = x.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="out=... arguments don't support"):
        rowscan.linear_recurrence(leaf, c, 1, tails=tails, out=torch.empty(2, 9))
    for call, words in (
            (lambda x: rowscan.cumprod(x, 1, mask=c, mask_mode="multiply", tails=tails), "segments beside a mask"),
            (lambda x: rowscan.cummax(x, 1, mask=c > 0.5, tails=tails, init=0.), "initial values have no index"),
            (lambda x: rowscan.cummin(x.double(), 1, mask=c > 0.5, tails=tails), "total of argmin needs 20 bytes")):
        for g in lambda: call(leaf), lambda: torch.func.grad(lambda x: call(x).sum())(x):
            with pytest.raises(rowscan.Unsupported, match=words):
                g()


def beside_functions(o, m):
    """Scans of x, a and i along the last dimension, with segments beside coefficients and masks."""
    rec, add = rowscan.linear_recurrence, rowscan.cumsum
    return (lambda x, a, i: rec(x, a, 1, init=i, totals=True, **o), lambda x, a, i: rec(x, a, 1, **o),
            lambda x, a, i: rec(x, 0.5, 1, init=i, **o), lambda x, a, i: add(x, 1, mask=m, init=i, totals=True, **o),
            lambda x, a, i: add(x, 1, mask=a, mask_mode="multiply", init=i, totals=True, **o))


@with_flags
@with_kinds
def test_torch_gradients_beside(torch, kind, flags):
    """Of x, coefficients or factors, and initial values; each alone, too, and of rows of few elements."""
    leaf = lambda *shape: torch.randn(shape, dtype=torch.float64, requires_grad=True)
    told, m = torch.tensor([[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]), torch.tensor([True, True, False, True, True])
    x, a, i = leaf(2, 5), leaf(2, 5), leaf(2, 1)
    for f in beside_functions({kind: told, **flags}, m):
        assert torch.autograd.gradcheck(f, (x, a, i), check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(f, (x, a, i), check_fwd_over_rev=True)
    for leaf_at in range(3):
        f = lambda some: beside_functions({kind: told, **flags}, m)[0](
            *[some if at == leaf_at else leaf.detach() for at, leaf in enumerate((x, a, i))])
        assert torch.autograd.gradcheck(f, (x, a, i)[leaf_at], check_forward_ad=True)
    for length in range(3):
        x, a, told = leaf(2, length), leaf(2, length), torch.tensor([[1, 0], [1, 1]])[:, :length]
        f = lambda x, a, i: rowscan.linear_recurrence(x, a, 1, init=i, totals=True, **{kind: told}, **flags)
        assert torch.autograd.gradcheck(f, (x, a, i), check_forward_ad=True)
    one = torch.tensor(1)
    f = lambda x: rowscan.linear_recurrence(x, x, 0, init=x, totals=True, **{kind: one}, **flags)
    assert torch.autograd.gradcheck(f, (leaf(),), check_forward_ad=True)


def check_stays(all_of, reverse):
    """Of what all_of() gives for (x, a, g), where elements, coefficients and gradients of a segment are bad."""
    random = np.random.default_rng(3)
    good = random.random((3, 9))
    for bad in np.nan, np.inf:
        odd = good.copy()
        odd[:, 4] = bad
        odd[1, [5, 2] if reverse else [3, 6]] = bad  # with which segments begin: not looked at
        for a, b in zip(all_of(*good), all_of(*odd)):
            if len(a) == 9:
                order.assert_bits(np.asarray(a)[[0, 1, 2, 6, 7, 8]], np.asarray(b)[[0, 1, 2, 6, 7, 8]])
            else:  # of the initial value
                order.assert_bits(np.asarray(a), np.asarray(b))


@with_flags
def test_torch_gradients_beside_stay_in_their_segments(torch, flags):
    heads = torch.tensor([0, 0, 0, 1, 0, 0, 1, 0, 0])

    def all_of(*given):
        x, a, g = map(torch.tensor, given)
        x, a, i = (leaf.requires_grad_() for leaf in (x, a, torch.ones(1, dtype=torch.float64)))
        y = rowscan.linear_recurrence(x, a, 0, init=i, heads=heads, **flags)
        d = torch.autograd.grad(y, (x, a, i), g, create_graph=True)
        twice = torch.autograd.grad(d[:2], (x, a), (g, g))
        moved = torch.func.jvp(lambda x, a: rowscan.linear_recurrence(x, a, 0, heads=heads, **flags),
                               (x.detach(), a.detach()), (g, g))
        return [t.detach().numpy() for t in (y, *d, *twice, *moved)]
    check_stays(all_of, flags["reverse"])


def test_torch_transforms_beside(torch):
    x, a = torch.rand(2, 3, 6, dtype=torch.float64)
    tails = torch.rand(3, 6) < 0.3
    row = lambda x, a, tails: rowscan.linear_recurrence(x, a, 0, tails=tails, reverse=True)
    whole = lambda x: rowscan.linear_recurrence(x, a, 1, tails=tails, reverse=True)
    leaf = x.clone().requires_grad_()
    want, = torch.autograd.grad(whole(leaf).square().sum(), leaf)
    rows = torch.func.vmap(torch.func.grad(lambda x, a, tails: row(x, a, tails).square().sum()))
    assert torch.equal(torch.func.vmap(row)(x, a, tails), whole(x))
    assert torch.equal(torch.func.vmap(row, 1, 1)(x.T, a.T, tails.T), whole(x).T)
    assert torch.equal(torch.func.vmap(lambda x: row(x, a[0], tails[0]))(x)[0], whole(x)[0])
    torch.testing.assert_close(rows(x, a, tails), want)
    torch.testing.assert_close(torch.func.jacrev(whole)(x), torch.func.jacfwd(whole)(x))
    compiled = lambda f: torch.compile(f, fullgraph=True, backend="aot_eager")
    d, = torch.autograd.grad(compiled(whole)(leaf).square().sum(), leaf)
    torch.testing.assert_close(d, want)
    torch.testing.assert_close(compiled(lambda x, a: rows(x, a, tails))(x, a), want)
    assert torch.equal(compiled(lambda x, a: torch.func.vmap(row)(x, a, tails))(x, a), whole(x))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, a)
        assert torch.equal(torch.autograd.forward_ad.unpack_dual(whole(dual)).tangent, whole(a))


def chains_beside(o, told, m):
    """Products and logsumexp by segments, beside a mask; and as without it, given what it leaves."""
    for f, identity in (rowscan.cumprod, 1), (rowscan.logcumsumexp, -np.inf):
        yield (lambda x, i, f=f: f(x, 1, init=i, totals=True, mask=m, **told, **o),
               lambda x, i, f=f: f(x, 1, init=i, totals=True, **told, **o), identity)


@with_flags
@with_kinds
def test_torch_gradients_of_chains_beside_masks(torch, kind, flags):
    """Those of what the mask leaves, bit for bit; and none of what it does not, be it NaN."""
    told, m = torch.tensor([[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]), torch.tensor([True, True, False, True, False])
    for dtype in torch.float64, torch.float32, torch.bfloat16:
        for masked, plain, identity in chains_beside(flags, {kind: told}, m):
            if dtype is torch.float64 and identity != 1:  # its totals have no room
                continue
            x, i = torch.rand(2, 5).to(dtype) + 0.5, torch.rand(2, 1)
            i = i.to(masked(x, None)[1].dtype)
            odd, left = x.masked_fill(~m, torch.nan), x.masked_fill(~m, identity)
            given, wanted = ([leaf.clone().requires_grad_() for leaf in (x, i)] for x in (odd, left))
            y, want, alone = masked(*given), plain(*wanted), masked(odd, i)
            weights = torch.rand(y[0].shape).to(y[0].dtype).masked_fill(~y[0].isfinite(), 0)
            value = lambda y: (y[0].nan_to_num(0, 0, 0) * weights).sum() + y[1].sum()
            d = torch.autograd.grad(value(y), given)
            for a, b, c in zip(y, want, alone):
                assert torch.equal(a, b) and torch.equal(a, c)
            for a, b in zip(d, torch.autograd.grad(value(want), wanted)):
                assert torch.equal(a, b.masked_fill(~m, 0) if a.shape == x.shape else b)
            if dtype is not torch.bfloat16:
                t = torch.rand(2, 5, dtype=dtype), torch.rand(2, 1, dtype=dtype)
                moved = torch.func.jvp(masked, (odd, i), t)[1]
                for a, b in zip(moved, torch.func.jvp(plain, (left, i), (t[0].masked_fill(~m, 0), t[1]))[1]):
                    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
    x, i = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 5), (2, 1)))
    product = next(chains_beside(flags, {kind: told}, m))[0]
    assert torch.autograd.gradcheck(product, (x, i), check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(product, (x, i), check_fwd_over_rev=True)


@with_flags
@with_kinds
def test_torch_gradients_of_products(torch, kind, flags):
    """Of elements, of which some are 0, and initial values; of rows of few elements, too."""
    told = torch.tensor([[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]])
    x = torch.tensor([[2., 0, 3, -1, 0.5], [0, 0, 1.5, 2, -3]], dtype=torch.float64, requires_grad=True)
    init = torch.tensor([[1.5], [-2]], dtype=torch.float64, requires_grad=True)
    for length in 0, 1, 2, 5:
        f = lambda x, i: rowscan.cumprod(x, 1, init=i, totals=True, **{kind: told[:, :length]}, **flags)
        short = x.detach()[:, :length].requires_grad_()
        assert torch.autograd.gradcheck(f, (short, init), check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(f, (short, init))
    f = lambda x: rowscan.cumprod(x, 0, **{kind: told}, **flags)
    assert torch.autograd.gradcheck(f, x, check_forward_ad=True)
    f = lambda x: rowscan.cumprod(x, 0, init=x, totals=True, **{kind: torch.tensor(1)}, **flags)
    assert torch.autograd.gradcheck(f, x.detach()[0, 0].requires_grad_(), check_forward_ad=True)


@with_flags
@with_kinds
def test_torch_gradients_of_logsumexp(torch, kind, flags):
    """Beside those of a loop in f64; f64 itself has no segments."""
    random = np.random.default_rng(5)
    told = torch.from_numpy(some(random, kind, (2, 3, 12), np.dtype("i8")))
    x, t, g = torch.randn(3, 2, 3, 12) * torch.tensor([9, 1, 1]).reshape(3, 1, 1, 1)
    init, t_init = torch.randn(2, 2, 3, 1)
    f = lambda x, i: rowscan.logcumsumexp(x, -1, init=i, **{kind: told}, **flags)

    def slow(x, i):
        none = torch.tensor(-torch.inf, dtype=x.dtype)
        return torch.stack([torch.stack(scan_row(list(row), beside.tolist(), kind, torch.logaddexp, none,
                                                 flags["reverse"], flags["exclusive"], first)[0])
                            for row, beside, first in zip(x.reshape(-1, 12), told.reshape(-1, 12), i.reshape(-1))]
                           ).reshape(x.shape)
    results = []
    for of, given in (f, (x, init)), (slow, (x.double(), init.double())):
        leaves = [leaf.clone().requires_grad_() for leaf in given]
        y = of(*leaves)
        d = torch.autograd.grad(y, leaves, g.to(y.dtype), create_graph=True)
        twice = torch.autograd.grad(d[0], leaves, t.to(y.dtype), allow_unused=True)
        results.append([y, *d, *(leaf if leaf is not None else torch.zeros(()) for leaf in twice)])
    for got, want in zip(*results):
        torch.testing.assert_close(got.double(), want.expand(got.shape), rtol=1e-4, atol=1e-4)
    _, moved = torch.func.jvp(f, (x, init), (t, t_init))
    d, d_init = results[0][1:3]
    torch.testing.assert_close((moved * g).sum(), (d * t).sum() + (d_init * t_init).sum(), rtol=1e-4, atol=1e-3)


def test_torch_gradients_of_chains_stay_in_their_segments(torch):
    """Be it NaN what is elsewhere, in elements or gradients."""
    heads = torch.tensor([0, 0, 0, 1, 0, 0, 1, 0, 0])
    for call, flags in itertools.product((rowscan.cumprod, rowscan.logcumsumexp), FLAGS):
        def d(bad):
            x, g = torch.arange(1., 10) / 4, torch.ones(9)
            x[4] = g[4] = bad
            leaf = x.requires_grad_()
            return torch.autograd.grad(call(leaf, 0, heads=heads, **flags), leaf, g)[0].numpy()
        order.assert_bits(d(torch.nan)[[0, 1, 2, 6, 7, 8]], d(1.)[[0, 1, 2, 6, 7, 8]])
        assert np.isnan(d(torch.nan)[3:6]).any()


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_torch_changes_of_chains_have_their_types(torch, name):
    dtype, keys = getattr(torch, name), torch.tensor([0, 0, 1, 1, 1, 2])
    x = torch.tensor([1.5, 2, 0, 3, 0.5, 2], dtype=dtype)
    for call, exclusive in itertools.product((rowscan.cumprod, rowscan.logcumsumexp), (False, True)):
        f = lambda x: call(x, 0, keys=keys, totals=True, exclusive=exclusive)
        for y, moved in zip(*torch.func.jvp(f, (x,), (torch.ones_like(x),))):
            assert moved.dtype is y.dtype and moved.shape == y.shape
        leaf = x.clone().requires_grad_()
        assert torch.autograd.grad(f(leaf)[1].sum(), leaf)[0].dtype is dtype
    _, (moved, _) = torch.func.jvp(lambda x: rowscan.cumprod(x, 0, keys=keys, totals=True), (x,), (torch.ones_like(x),))
    assert moved.tolist() == [1, 3.5, 1, 3, 1.5, 1]


def test_torch_indices_have_no_gradients(torch):
    x, heads = torch.rand(4, requires_grad=True), torch.tensor([True, False, True, False])
    assert rowscan.scan(x, 0, "argmax", heads=heads).tolist()[2:] == [2, 2 + bool(x[3] >= x[2])]


def test_torch_transforms(torch):
    x, keys = torch.randn(5, 6, dtype=torch.float64), torch.randint(0, 2, (5, 6))
    f = lambda x, keys: rowscan.cumsum(x, 0, keys=keys, exclusive=True)

    def g(x, keys):
        same = (keys[1:] == keys[:-1]).to(x.dtype)
        y = [torch.zeros_like(x[0])]
        for i in range(1, len(x)):
            y.append((y[-1] + x[i - 1]) * same[i - 1])
        return torch.stack(y)
    for change in (lambda f: torch.vmap(f), lambda f: torch.vmap(f, (1, 1)), lambda f: lambda x, k: torch.vmap(
            f, (0, None))(x, k[0]), lambda f: lambda x, k: torch.vmap(f, (None, 0))(x[0], k),
            lambda f: torch.func.jacrev(f), lambda f: torch.func.jacfwd(f),
            lambda f: lambda x, k: torch.func.hessian(lambda x: (f(x, k) ** 3).sum())(x),
            lambda f: torch.vmap(torch.func.grad(lambda x, k: (f(x, k) ** 2).sum()))):
        torch.testing.assert_close(change(f)(x, keys), change(g)(x, keys))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, backend):
    torch._dynamo.reset()

    def f(x, keys):
        y, totals = rowscan.cumsum(x, 1, reverse=True, totals=True, heads=keys > 2)
        z = rowscan.cumsum(x, 1, init=2., exclusive=True, tails=keys > 2)
        return y + z + rowscan.scan(x, 0, keys=keys), totals, *rowscan.cummax(x.detach(), 1, keys=keys, indices=True)
    x, keys = torch.randn(3, 8), torch.randint(0, 4, (3, 8))
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    results = []
    for function in (f, compiled):
        leaf = x.clone().requires_grad_()
        y, totals, *most = function(leaf, keys)
        results.append((y, totals, *most, *torch.autograd.grad((y ** 2).sum() + totals.sum(), leaf)))
    torch.testing.assert_close(*results)
    torch.library.opcheck(torch.ops.rowscan._scan.default, (x, 1, 0, 0, 0, 0, 6, keys))


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@with_flags
@with_kinds
def test_jax(jax, wide, flags, kind):
    jnp = jax.numpy
    random = np.random.default_rng(1)
    with order.set_wide(jax, wide):
        for name, shape, dim in itertools.product(("f16", "bf16", "f32", "i32", "u8", "bool"),
                                                  ((3, 7), (3, 1), (7,), ()), (0, 1)):
            dtype = jnp.dtype("bfloat16" if name == "bf16" else order.DTYPES[name])
            x = numbers(random, (3, 7), dtype if name in order.DTYPES else np.dtype("f4"))
            beside = some(random, kind, shape, np.dtype("i4" if kind == "keys" else "u1"))
            f = jax.jit(lambda x, beside: rowscan.cumsum(x, dim, init=1, totals=True, **{kind: beside}, **flags))
            for got, want in zip(f(jnp.asarray(x, dtype), jnp.asarray(beside)),
                                 loop(x, beside, kind, dim, init=1, **flags)):
                want = typed(want, got.dtype if got.dtype.kind in "iu" else "f8")
                np.testing.assert_array_equal(np.asarray(got, "f8"), want)


def test_jax_beside_masks_and_coefficients(jax):
    with order.set_wide(jax, True):
        for at, (f, arrays, _) in enumerate(beside_cases()):
            given = list(map(jax.numpy.asarray, arrays))
            for call in (f, jax.jit(f)) if at % 7 == 0 else (f,):
                np.testing.assert_array_equal(np.asarray(call(*given)), f(*arrays))
        x, c, tails = jax.numpy.ones((2, 4)), jax.numpy.full((2, 4), 0.5), jax.numpy.array([[0, 1, 0, 0]] * 2)
        row = lambda x, c, tails: rowscan.linear_recurrence(x, c, 0, tails=tails)
        np.testing.assert_array_equal(jax.vmap(row)(x, c, tails), rowscan.linear_recurrence(x, c, 1, tails=tails))
        with pytest.raises(rowscan.Unsupported, match="segments beside a mask"):
            jax.grad(lambda x: rowscan.cumprod(x, 1, mask=c, mask_mode="multiply", tails=tails).sum())(x)


@with_flags
@with_kinds
def test_jax_derivatives_beside(jax, kind, flags):
    from jax.test_util import check_grads
    random = np.random.default_rng(8)
    with order.set_wide(jax, True):
        x, a, i = (jax.numpy.asarray(random.standard_normal(shape)) for shape in ((2, 5), (2, 5), (2, 1)))
        m = jax.numpy.asarray([True, True, False, True, True])
        for told in ([[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]], [0, 1, 1, 0, 1], [[1], [0]]):
            for f in beside_functions({kind: jax.numpy.asarray(told), **flags}, m):
                check_grads(f, (x, a, i), order=2)
        for length in range(3):
            told = jax.numpy.asarray([[1, 0], [1, 1]])[:, :length]
            f = lambda x, a, i: rowscan.linear_recurrence(x, a, 1, init=i, totals=True, **{kind: told}, **flags)
            check_grads(f, (x[:, :length], a[:, :length], i), order=1)
        told = jax.numpy.asarray([1, 0, 0, 1, 1])
        for f in beside_functions({kind: told, **flags}, m)[1::2]:  # linear in x: transposed as they are
            g = lambda x: jax.tree.leaves(f(x, a, 0.))[0]
            linear = jax.linear_transpose(g, x)
            np.testing.assert_allclose(linear(a)[0], jax.vjp(g, x)[1](a)[0], rtol=1e-12)


@with_flags
@with_kinds
def test_jax_derivatives_of_chains_beside_masks(jax, kind, flags):
    from jax.test_util import check_grads
    random = np.random.default_rng(9)
    with order.set_wide(jax, True):
        x, t, i = (jax.numpy.asarray(random.random(shape) + 0.5) for shape in ((2, 5), (2, 5), (2, 1)))
        m, told = (jax.numpy.asarray(a) for a in ([True, True, False, True, False], [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]))
        for masked, plain, identity in chains_beside(flags, {kind: told}, m):
            if identity != 1:  # totals of float64 have no room
                x, t, i = (a.astype("f4") for a in (x, t, i))
            odd, left = (jax.numpy.where(m, x, jax.numpy.asarray(other, x.dtype))
                         for other in (jax.numpy.nan, identity))
            (y, back), (want, plain_back) = jax.vjp(masked, odd, i), jax.vjp(plain, left, i)
            weights = jax.numpy.isfinite(y[0]).astype(y[0].dtype), jax.numpy.ones_like(y[1])
            d, plain_d = back(weights), plain_back(weights)
            moved, plain_moved = (jax.jvp(f, (x, i), (dx, i))[1]
                                  for f, x, dx in ((masked, odd, t), (plain, left, jax.numpy.where(m, t, 0))))
            for got, should in ((y, want), (d, (jax.numpy.where(m, plain_d[0], 0), plain_d[1])), (moved, plain_moved)):
                for a, b in zip(got, should):
                    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        check_grads(next(chains_beside(flags, {kind: told}, m))[0], (x.astype("f8"), i.astype("f8")), order=2)


@with_flags
def test_jax_derivatives_beside_stay_in_their_segments(jax, flags):
    def all_of(*given):
        x, a, g = map(jax.numpy.asarray, given)
        heads = jax.numpy.asarray([0, 0, 0, 1, 0, 0, 1, 0, 0])
        f = lambda x, a, i: rowscan.linear_recurrence(x, a, 0, init=i, heads=heads, **flags)
        y, back = jax.vjp(f, x, a, jax.numpy.ones(1))
        twice = jax.vjp(lambda x, a: jax.vjp(f, x, a, jax.numpy.ones(1))[1](g)[:2], x, a)[1]((g, g))
        return [y, *back(g), *twice, *jax.jvp(lambda x, a: f(x, a, 1.), (x, a), (g, g))]
    with order.set_wide(jax, True):
        check_stays(all_of, flags["reverse"])


def test_jax_transforms_beside(jax):
    with order.set_wide(jax, True):
        random = np.random.default_rng(8)
        x, a, tails = (jax.numpy.asarray(array) for array in (*random.random((2, 3, 6)), random.random((3, 6)) < 0.3))
        row = lambda x, a, tails: (rowscan.linear_recurrence(x, a, 0, tails=tails, reverse=True)**2).sum()
        whole = lambda x: (rowscan.linear_recurrence(x, a, 1, tails=tails, reverse=True)**2).sum()
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(row)))(x, a, tails), jax.grad(whole)(x), rtol=1e-12)
        alone = jax.vmap(jax.grad(row), (0, None, None))(x, a[0], tails[0])
        np.testing.assert_allclose(alone[0], jax.grad(whole)(x)[0], rtol=1e-12)


def test_jax_types(jax):
    jnp = jax.numpy
    x = jnp.arange(1, 7.)
    for given in (dict(heads=[0, 0, 1, 0, 0, 1]), dict(tails=jnp.array([0, 2., 0, 0, 1, 0])),
                  dict(keys=jnp.array([1, 1, 2, 2, 2, 3], "u1")), dict(keys=np.array([1, 1, 2, 2, 2, 3]))):
        assert rowscan.cumsum(x, 0, **given).tolist() == [1, 3, 3, 7, 12, 6]
    y, at = rowscan.cummax(-x, 0, keys=[1, 1, 2, 2, 2, 3], indices=True)
    assert y.tolist() == [-1, -1, -3, -3, -3, -6] and at.tolist() == [0, 0, 2, 2, 2, 5]
    assert "mask=tails mask_type=bool" in rowscan.spec(x, 0, tails=x > 2)
    for f, error, words in ((lambda: rowscan.cumsum(x, 0, keys=x), TypeError, "keys.dtype is float32"),
                            (lambda: rowscan.cumsum(x, 0, heads=x[1:]), ValueError, r"heads has shape \(5,\)"),
                            (lambda: rowscan.cumsum(x, 0, heads=x, keys=x), TypeError, "heads and keys are given")):
        with pytest.raises(error, match=words):
            f()


def test_jax_keys_that_repeat_and_have_no_room(jax):
    """Keys of 64 bits beside sums of 64, which are compared before the scan, with fewer dimensions than x."""
    x = np.random.default_rng(9).integers(-9, 9, (2, 3, 4)).astype("f8")
    with order.set_wide(jax, True):
        for shape, dim in itertools.product([(4,), (3, 1), (1,), (), (1, 3, 4), (2, 1, 1)], range(3)):
            keys = np.random.default_rng(dim).integers(0, 2, shape)
            want = rowscan.cumsum(x, dim, keys=np.broadcast_to(keys, x.shape))
            got = rowscan.cumsum(jax.numpy.asarray(x), dim, keys=jax.numpy.asarray(keys))
            np.testing.assert_array_equal(np.asarray(got), want)


def through_numbers(jnp, x, beside, kind, dim, reverse, exclusive, init):
    """(y, totals) by JAX's own operations, with their derivatives."""
    x, beside = jnp.moveaxis(x, dim, 0), jnp.moveaxis(jnp.broadcast_to(beside, x.shape), dim, 0)
    held, y, length = jnp.moveaxis(init, dim, 0)[0], [None] * len(x), len(x)
    for i in reversed(range(length)) if reverse else range(length):
        at = i + 1 if reverse else i
        if kind == "heads":
            new = beside[at] != 0 if at < length else False
        elif kind == "tails":
            new = beside[at - 1] != 0 if at > 0 else False
        else:
            new = beside[at] != beside[at - 1] if 0 < at < length else False
        before = jnp.where(new, 0, held)
        held = before + x[i]
        y[i] = before if exclusive else held
    return jnp.moveaxis(jnp.stack(y), 0, dim), held


@with_flags
@with_kinds
def test_jax_derivatives(jax, kind, flags):
    jnp = jax.numpy
    random = np.random.default_rng(6)
    with order.set_wide(jax, True):
        x = jnp.asarray(random.standard_normal((3, 6)))
        for shape, dim in itertools.product(((3, 6), (3, 1), (6,)), (0, 1)):
            beside = jnp.asarray(some(random, kind, shape, np.dtype("i4")))
            beside = beside if kind == "keys" else beside != 0
            init = jnp.asarray(random.standard_normal(rows((3, 6), dim)))

            def f(x, init):
                return rowscan.cumsum(x, dim, init=init, totals=True, **{kind: beside}, **flags)

            def g(x, init):
                return through_numbers(jnp, x, beside, kind, dim, **flags, init=init)
            for change in (lambda f: jax.jacrev(f, (0, 1)), lambda f: jax.jacfwd(f, (0, 1)),
                           lambda f: jax.hessian(lambda x, i: sum((v ** 3).sum() for v in f(x, i)), (0, 1)),
                           lambda f: jax.grad(lambda x, i: (f(x, i)[0] ** 2).sum(), (0, 1)),
                           lambda f: jax.grad(lambda x, i: (f(x, i)[1] ** 2).sum(), 1)):
                got, want = change(f)(x, init), change(g)(x, init)
                jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12), got, want)


def test_jax_batches(jax):
    jnp = jax.numpy
    x, keys = jnp.arange(24.).reshape(4, 6), jnp.asarray(np.random.default_rng(7).integers(0, 2, (4, 6)))
    want = rowscan.cumsum(x, 1, keys=keys)
    f = lambda x, keys: rowscan.cumsum(x, 0, keys=keys)
    assert jax.vmap(f)(x, keys).tolist() == want.tolist()
    assert jax.vmap(f, (1, 1), 1)(x.T, keys.T).tolist() == want.T.tolist()
    assert jax.vmap(f, (0, None))(x, keys[0]).tolist() == rowscan.cumsum(x, 1, keys=keys[:1]).tolist()
    assert jax.vmap(f, (None, 0))(x[0], keys).tolist() == rowscan.cumsum(jnp.tile(x[:1], (4, 1)), 1, keys=keys).tolist()
    d = jax.vmap(jax.grad(lambda x, keys: f(x, keys).sum()))(x, keys)
    assert d.tolist() == rowscan.cumsum(jnp.ones((4, 6)), 1, keys=keys, reverse=True).tolist()


@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_jax_changes_of_chains_have_their_types(jax, wide, name):
    with order.set_wide(jax, wide):
        x, keys = jax.numpy.asarray([1.5, 2, 0, 3, 0.5, 2], name), jax.numpy.asarray([0, 0, 1, 1, 1, 2])
        for call, exclusive in itertools.product((rowscan.cumprod, rowscan.logcumsumexp), (False, True)):
            f = lambda x: call(x, 0, keys=keys, totals=True, exclusive=exclusive)
            for y, moved in zip(*jax.jvp(f, (x,), (jax.numpy.ones_like(x),))):
                assert moved.dtype == y.dtype and moved.shape == y.shape
            assert jax.grad(lambda x: f(x)[1].sum().astype("f4"))(x).dtype == x.dtype
        moved = jax.jvp(lambda x: rowscan.cumprod(x, 0, keys=keys), (x,), (jax.numpy.ones_like(x),))[1]
        assert moved.tolist() == [1, 3.5, 1, 3, 1.5, 1]


@with_flags
@with_kinds
def test_jax_derivatives_of_chains(jax, kind, flags):
    """Of products, some of whose elements are 0, and of logsumexp, beside those of a loop in f64."""
    from jax.test_util import check_grads
    jnp, random = jax.numpy, np.random.default_rng(9)
    with order.set_wide(jax, True):
        x = jnp.asarray([[2., 0, 3, -1, 0.5], [0, 0, 1.5, 2, -3]])
        i = jnp.asarray([[1.5], [-2]])
        for told in ([[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]], [0, 1, 1, 0, 1], [[1], [0]]):
            f = lambda x, i: rowscan.cumprod(x, 1, init=i, totals=True, **{kind: jnp.asarray(told)}, **flags)
            check_grads(f, (x, i), order=2)
            check_grads(lambda x: f(x, 1.)[0], (x,), order=1)
        told = some(random, kind, (3, 7), np.dtype("i8"))
        x, g, t = (jnp.asarray(random.standard_normal((3, 7)), "f4") for _ in range(3))
        i = jnp.asarray(random.standard_normal((3, 1)), "f4")
        f = lambda x, i: rowscan.logcumsumexp(x, 1, init=i, **{kind: jnp.asarray(told)}, **flags)
        slow = lambda x, i: jnp.stack([jnp.stack(scan_row(list(row), beside, kind, jnp.logaddexp, -jnp.inf,
                                                          flags["reverse"], flags["exclusive"], first)[0])
                                       for row, beside, first in zip(x, told.tolist(), i[:, 0])])

        def derivatives(of, *given):
            y, back = jax.vjp(of, *given)
            weights = jnp.where(jnp.isinf(y), 0, g)
            first = jax.grad(lambda x: (weights * of(x, given[1])).sum())
            twice = jax.grad(lambda x: (first(x) ** 2).sum())(given[0])
            return *back(g.astype(y.dtype)), jax.jvp(of, given, (t.astype(y.dtype), given[1]))[1], twice
        for got, want in zip(derivatives(f, x, i), derivatives(slow, x.astype("f8"), i.astype("f8"))):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
