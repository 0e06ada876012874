"""test_indices.py - where the maximum or minimum so far is, in every library, against a loop

SPDX-License-Identifier: MIT
"""
import itertools

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)
OPS = ("argmax", "argmin")
ALL = list(order.DTYPES)


def above(a, b, least):
    """Whether a is taken after b: NaN before all else, 0.0 after -0.0, and the later of equal ones."""
    if a != a or b != b:
        return a != a
    if a == b == 0 and isinstance(a, float):
        a, b = np.copysign(1, a), np.copysign(1, b)
    return a <= b if least else a >= b


def loop(x, op, reverse=False, exclusive=False, mask=None, ties="last"):
    """(indices, totals) of the rows of two dimensions."""
    least = op == "argmin"
    y, totals = np.empty(x.shape, "i8"), np.empty(len(x), "i8")
    mask = np.ones(x.shape, bool) if mask is None else np.broadcast_to(mask, x.shape)
    for r, row in enumerate(x.tolist()):
        best = -1
        for i in reversed(range(len(row))) if reverse else range(len(row)):
            before = best
            if mask[r, i] and (best < 0 or (above(row[i], row[best], least) if ties == "last" else
                                            not above(row[best], row[i], least))):
                best = i
            y[r, i] = before if exclusive else best
        totals[r] = best
    return y, totals


def elements(name, shape=(7, 60), special=True):
    random = np.random.default_rng(3)
    x = random.integers(-4, 5, shape)
    if name not in order.FLOATING:
        return (x > 0) if name == "bool" else (abs(x) if name in order.UNSIGNED else x).astype(order.DTYPES[name])
    x = x + random.choice([0, 0.25], shape)  # which an integer type would lose
    if special:
        x = np.where(x == 0, -x, x)
        x[1::3, 20], x[1::3, 40], x[2::3, :5], x[2::3, 30:33] = np.nan, np.nan, -np.inf, np.inf
    return x.astype(order.DTYPES[name])


# ---- NumPy -----------------------------------------------------------------------------------------------------------

@with_flags
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ALL)
def test_numpy(name, op, flags):
    x, mask = elements(name), np.random.default_rng(4).random((7, 60)) < 0.5
    for options, dtype in itertools.product(({}, {"mask": mask}), (None, np.int64, "i4")):
        want, want_totals = loop(x, op, **flags, **options)
        y, totals = rowscan.scan(x, 1, op, dtype=dtype, totals=True, **flags, **options)
        assert y.dtype == totals.dtype == np.dtype(dtype or "i8")
        np.testing.assert_array_equal(y, want)
        np.testing.assert_array_equal(totals, want_totals)
        order.assert_bits(rowscan.scan(x, 1, op, dtype=dtype, **flags, **options), y)
        columns = {"mask": mask.T} if options else {}
        order.assert_bits(rowscan.scan(x.T, 0, op, dtype=dtype, **flags, **columns).T, y)
        out = np.empty(x.shape, dtype or "i8")
        assert rowscan.scan(x, 1, op, out=out, **flags, **options) is out
        order.assert_bits(out, y)


@pytest.mark.parametrize("op", OPS)
def test_the_value_there_is_the_extreme(op):
    x = elements("f32")
    y = np.take_along_axis(x, rowscan.scan(x, 1, op), 1)
    order.assert_bits(y, rowscan.scan(x, 1, op[3:]))


def test_conventions():
    x = np.array([[1.5, 1.2, 1.9]])
    assert rowscan.scan(x, op="argmax").tolist() == [0, 0, 2]
    assert rowscan.scan(np.float32(2), 0, "argmax").tolist() == [0]
    assert rowscan.scan(np.empty((2, 0)), 1, "argmin", totals=True)[1].tolist() == [-1, -1]
    assert rowscan.spec(x, 1, "argmax").startswith("op=argmax in=f64 out=i64 acc=i64 ")
    assert rowscan.prepare(x, 1, "argmin", dtype="i4") is None
    for options, error, words in (
            (dict(init=1), TypeError, "init is given, and argmax has none"),
            (dict(dtype="f4"), rowscan.BadArgument, "f32, but argmax returns indices of type i64 or i32"),
            (dict(dtype="u1"), rowscan.BadArgument, "u8, but argmax returns indices of type i64 or i32"),
            (dict(out=x), rowscan.BadArgument, "argmax returns indices"),
            (dict(acc="f64"), rowscan.Unsupported, "f64, but argmax with indices of type i64 accumulates in i64"),
            (dict(mask=x, mask_mode="multiply"), rowscan.BadArgument, "argmax rejects multiply; use select"),
            (dict(coefficient=x), TypeError, "coefficient is given, and argmax has none")):
        with pytest.raises(error, match=words):
            rowscan.scan(x, 1, "argmax", **options)


@with_flags
@pytest.mark.parametrize("op", OPS)
def test_pairs(op, flags):
    function, x = getattr(rowscan, "cum" + op[3:]), elements("f32")
    mask = np.random.default_rng(4).random((7, 60)) < 0.5
    values, indices = function(x, 1, indices=True, mask=mask, dtype="f8", **flags)
    order.assert_bits(values, function(x, 1, mask=mask, dtype="f8", **flags))
    order.assert_bits(indices, rowscan.scan(x, 1, op, mask=mask, **flags))
    assert type(function(x, 1, indices=False)) is np.ndarray
    for options in (dict(init=1), dict(totals=True), dict(out=x)):
        with pytest.raises(TypeError, match=f"got {list(options)[0]} and indices"):
            function(x, 1, indices=True, **options)
    with pytest.raises(TypeError, match=r"cumsum\(\) has no argument 'indices'"):
        rowscan.cumsum(x, 1, indices=True)


@with_flags
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ALL)
def test_ties(name, op, flags):
    """The first of equal elements, in the order of the scan."""
    x, mask = elements(name), np.random.default_rng(4).random((7, 60)) < 0.5
    for options in ({}, {"mask": mask}):
        want, want_totals = loop(x, op, ties="first", **flags, **options)
        y, totals = rowscan.scan(x, 1, op, ties="first", totals=True, **flags, **options)
        np.testing.assert_array_equal(y, want)
        np.testing.assert_array_equal(totals, want_totals)
        order.assert_bits(rowscan.scan(x, 1, op, ties="first", **flags, **options), y)
        values, indices = getattr(rowscan, "cum" + op[3:])(x, 1, indices=True, ties="first", **flags, **options)
        order.assert_bits(indices, y)
        order.assert_bits(values, rowscan.scan(x, 1, op[3:], **flags, **options))
        order.assert_bits(rowscan.scan(x, 1, op, ties="last", **flags, **options),
                          rowscan.scan(x, 1, op, **flags, **options))


def test_ties_where_there_are_none():
    x = np.ones((2, 3))
    assert "ties_first=1" in rowscan.spec(x, 1, "argmin", ties="first")
    assert rowscan.prepare(x, 1, "argmin", ties="first") is None
    assert rowscan.scan(x, 1, "max", ties="last").tolist() == x.tolist()
    for f, error, words in (
            (lambda: rowscan.scan(x, 1, "max", ties="first"), TypeError, "ties is 'first', and max makes no indices"),
            (lambda: rowscan.scan(x, 1, ties="first", totals=True), TypeError, "and sum makes no indices"),
            (lambda: rowscan.spec(x, 1, ties="first"), TypeError, "and sum makes no indices"),
            (lambda: rowscan.cummax(x, 1, ties="first"), TypeError, "and max makes no indices"),
            (lambda: rowscan.cummin(x, 1, ties="first", indices=False), TypeError, "cummin with indices=True"),
            (lambda: rowscan.scan(x, 1, "argmax", ties="both"), ValueError, "ties is 'both', not 'last' or 'first'"),
            (lambda: rowscan.scan(x, 1, "argmax", ties=None), ValueError, "ties is None, not 'last' or 'first'"),
            (lambda: rowscan.spec(x, 1, "argmax", ties="both"), ValueError, "ties is 'both'"),
            (lambda: rowscan.cummin(x, 1, indices=True, ties=1), ValueError, "ties is 1, not"),
            (lambda: rowscan.cumsum(x, 1, ties="first"), TypeError, r"cumsum\(\) has no argument 'ties'")):
        with pytest.raises(error, match=words):
            f()


class Lent:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self.array = array
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_dlpack():
    x, y = elements("f32"), Lent(np.empty((7, 60), "i4"))
    assert rowscan.scan(Lent(x), 1, "argmax", out=y) is y
    np.testing.assert_array_equal(y.array, loop(x, "argmax")[0])


# ---- torch -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", ["f16", "f32", "f64", "i8", "u8", "i32", "i64", "bool"])
def test_torch(torch, op, name):
    """torch's own indices, but that those take the later of -0.0 and 0.0."""
    x = torch.from_numpy(elements(name))
    if x.is_floating_point():
        x = torch.where(x == 0, 0, x)
    own = getattr(torch, "cum" + op[3:])
    for dim in (0, 1):
        y, totals = rowscan.scan(x, dim, op, totals=True)
        want = own(x, dim).indices
        assert y.dtype is totals.dtype is torch.int64
        assert torch.equal(y, want) and torch.equal(totals, want.select(dim, -1))
        assert torch.equal(rowscan.scan(x, dim, op, dtype=torch.int32), want.int())
        back = rowscan.scan(x, dim, op, reverse=True)
        assert torch.equal(back, x.shape[dim] - 1 - own(x.flip(dim), dim).indices.flip(dim))
        out = torch.empty_like(y)
        assert rowscan.scan(x, dim, op, out=out) is out and torch.equal(out, y)
    assert rowscan.scan(torch.tensor(3.), 0, op).tolist() == 0
    assert torch.equal(rowscan.scan(x.bfloat16(), 1, op), own(x.bfloat16(), 1).indices)


def test_torch_has_no_gradient_and_needs_none(torch):
    x = torch.tensor([[1.5, 3.2, -1., 3.2, 0.]], requires_grad=True)
    y, totals = rowscan.scan(x, 1, "argmax", totals=True)
    assert not y.requires_grad and not totals.requires_grad and y.tolist() == [[0, 1, 1, 3, 3]]
    x.gather(1, y).sum().backward()
    assert x.grad.tolist() == [[1, 2, 0, 2, 0]]
    f = lambda x: (x * rowscan.scan(x, 1, "argmax")).sum()
    assert torch.func.grad(f)(x.detach()).tolist() == [[0, 1, 1, 3, 3]]
    assert torch.func.jvp(f, (x.detach(),), (torch.ones(1, 5),))[1] == 8
    both = torch.stack([x.detach(), -x.detach()])
    assert torch.equal(torch.vmap(lambda x: rowscan.scan(x, 1, "argmin"))(both), rowscan.scan(both, 2, "argmin"))
    for pair in (rowscan.cummax(both, 2, indices=True), torch.compile(
            lambda x: rowscan.cummax(x, 2, indices=True), backend="aot_eager", fullgraph=True)(both)):
        for got, want in zip(pair, torch.cummax(both, 2)):
            assert torch.equal(got, want)
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    assert torch.autograd.grad(compiled(x), x)[0].tolist() == [[0, 1, 1, 3, 3]]


def test_torch_ties(torch):
    """The gradient of values is of the last of equal elements, as without ties."""
    x = torch.tensor([[1., 3., 3., 2., torch.nan, torch.nan]], requires_grad=True)
    f = lambda x: rowscan.cummax(x, 1, indices=True, ties="first")
    for function in (f, torch.compile(f, backend="aot_eager", fullgraph=True), torch.vmap(
            lambda x: rowscan.cummax(x, 0, indices=True, ties="first"))):
        values, at = function(x)
        assert at.tolist() == [[0, 1, 1, 1, 4, 4]] and not at.requires_grad
        assert torch.autograd.grad(values[0, :4].sum(), x)[0].tolist() == [[1, 1, 2, 0, 0, 0]]
    g = torch.compile(lambda x: rowscan.scan(x, 1, "argmax", ties="first"), backend="aot_eager", fullgraph=True)
    assert torch.equal(g(x), f(x)[1])
    assert rowscan.scan(x.detach(), 1, "argmax", ties="first", totals=True)[1].tolist() == [4]
    with pytest.raises(TypeError, match="max makes no indices"):
        rowscan.cummax(x, 1, ties="first")


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@with_flags
def test_jax(wide, flags):
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax.ffi")
    with jax.enable_x64(wide) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(wide):
        for name, op in itertools.product(("f16", "f32", "i8", "u32", "bool"), OPS):
            x, f = elements(name), lambda x: rowscan.scan(x, 1, op, totals=True, **flags)
            for y, totals in (f(jax.numpy.asarray(x)), jax.jit(f)(jax.numpy.asarray(x))):
                assert y.dtype == totals.dtype == ("i8" if wide else "i4")
                np.testing.assert_array_equal(y, loop(x, op, **flags)[0])
                np.testing.assert_array_equal(totals, loop(x, op, **flags)[1])
        x = jax.numpy.asarray([1.5, 3.2, -1., 3.2])
        assert rowscan.scan(x, 0, "argmax", dtype="int32").dtype == "i4"
        for pair in (rowscan.cummax(x, 0, indices=True), jax.jit(lambda x: rowscan.cummax(x, 0, indices=True))(x)):
            assert [part.tolist() for part in pair] == [x[jax.numpy.array([0, 1, 1, 3])].tolist(), [0, 1, 1, 3]]
        pair = jax.jit(lambda x: rowscan.cummax(x, 0, indices=True, ties="first"))(x)
        assert pair[1].tolist() == rowscan.scan(x, 0, "argmax", ties="first").tolist() == [0, 1, 1, 1]
        of_x = jax.jit(jax.grad(lambda x: (x * rowscan.scan(x, 0, "argmax")).sum()))(x)
        assert of_x.tolist() == [0, 1, 1, 3]
        assert jax.vmap(lambda x: rowscan.scan(x, 0, "argmin"))(x.reshape(2, 2)).tolist() == [[0, 0], [0, 0]]
