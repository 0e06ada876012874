"""test_fixed_point.py - sums in fixed point, in every library, against sums of integers

SPDX-License-Identifier: MIT
"""
import itertools

import pytest

np = pytest.importorskip("numpy")

import rowscan  # noqa: E402

FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)
POINT = 20
ACC = f"fixed:{POINT}"


def fixed(x):
    return np.rint(x.astype("f8") * 2.0 ** POINT).astype("i8")


def wanted(x, reverse=False, exclusive=False, init=0, dtype=None):
    """(results, totals) along the last of two dimensions; all integers are exact in f8."""
    whole = fixed(x)[:, ::-1] if reverse else fixed(x)
    sums = np.concatenate([np.zeros_like(whole[:, :1]), np.cumsum(whole, 1)], 1) + init
    y = sums[:, :-1] if exclusive else sums[:, 1:]
    y = (y[:, ::-1] if reverse else y) * 2.0 ** -POINT
    return y.astype(dtype or x.dtype), sums[:, -1]


def elements(dtype, shape=(5, 300)):
    return np.random.default_rng(4).standard_normal(shape).astype(dtype)


def probabilities(count=100_000):
    return np.random.default_rng(0).random(count, dtype="f4") / np.float32(count)


@with_flags
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_numpy(dtype, flags):
    x = elements(dtype)
    init = np.arange(5)[:, None] << 18
    for given, of in (({}, x), ({"mask": x > 0}, np.where(x > 0, x, 0)),
                      ({"mask": (x > 0) * x, "mask_mode": "multiply"}, x.astype("f8") * ((x > 0) * x))):
        for more in ({}, {"init": init}):
            want, want_totals = wanted(of, **more, **flags, dtype=x.dtype)
            y, totals = rowscan.cumsum(x, 1, acc=ACC, totals=True, **given, **more, **flags)
            assert y.dtype == x.dtype and totals.dtype == np.int64
            np.testing.assert_array_equal(y, want)
            np.testing.assert_array_equal(totals, want_totals)
    heads = np.zeros(x.shape, bool)
    heads[:, [0, 100]] = True
    parts = [wanted(part, **flags)[0] for part in (x[:, :100], x[:, 100:])]
    np.testing.assert_array_equal(rowscan.cumsum(x, 1, acc=ACC, heads=heads, **flags), np.concatenate(parts, 1))
    x[:, ::7] = np.nan
    want, _ = wanted(np.nan_to_num(x), **flags)
    np.testing.assert_array_equal(rowscan.cumsum(x, 1, acc=ACC, omit_nan=True, **flags), want)


def test_search_in_a_distribution():
    """Where floats step down a search finds another element than the first that is above, and in fixed point none."""
    p = probabilities()
    floats, exact = rowscan.cumsum(p, 0), rowscan.cumsum(p, 0, acc="fixed:60")
    down = np.flatnonzero(np.diff(floats) < 0)
    assert down.size and (np.diff(exact) >= 0).all()
    first_above = lambda y, u: int(np.argmax(y > u))
    astray = [i for i in down if np.searchsorted(floats, floats[i + 1], "right") != first_above(floats, floats[i + 1])]
    assert astray
    for i in down:
        assert np.searchsorted(exact, exact[i + 1], "right") == first_above(exact, exact[i + 1])
    np.testing.assert_allclose(exact, np.cumsum(p, dtype="f8"), 1e-7)


def test_order_does_not_matter():
    p = probabilities()
    totals = set()
    for seed in range(4):
        y, total = rowscan.cumsum(np.random.default_rng(seed).permutation(p), 0, acc="fixed:60", totals=True)
        totals.add((float(y[-1]), int(total)))
    assert len(totals) == 1


def test_conventions():
    x = elements("f4")
    assert "acc=fixed:20 " in rowscan.spec(x, 1, acc=ACC)
    assert rowscan.prepare(x, 1, acc=ACC) is None
    assert rowscan.cumsum(x, 1, acc=ACC, dtype="f8").dtype == np.float64
    assert rowscan.cumsum(np.array([np.inf, -1.]), 0, acc="fixed:0").tolist() == [2.0 ** 63, 2.0 ** 63]
    assert rowscan.cumsum(np.array([np.nan, 1.]), 0, acc="fixed:62").tolist() == [-2, -1]
    assert rowscan.scan(x, 1, "sum", acc=ACC).tolist() == rowscan.cumsum(x, 1, acc=ACC).tolist()
    for bad in ("fixed:63", "fixed:-1", "fixed:", "fixed:1x", "fixed"):
        with pytest.raises(ValueError, match="not one of f16.*fixed:0 to fixed:62"):
            rowscan.cumsum(x, 1, acc=bad)
    for call, given in ((rowscan.cumprod, x), (rowscan.cumsum, np.arange(3)), (rowscan.cummax, x)):
        for totals in (False, True):
            with pytest.raises(rowscan.BadArgument, match="fixed:20 requires a sum of floating elements, not "):
                call(given, 0, acc=ACC, totals=totals)
    with pytest.raises(TypeError, match="init is floating.*accumulates in i64"):
        rowscan.cumsum(x, 1, acc=ACC, init=0.5)


# ---- torch -----------------------------------------------------------------------------------------------------------

@with_flags
def test_torch(torch, flags):
    for dtype in ("f4", "f8"):
        x = elements(dtype)
        want, want_totals = wanted(x, init=3, **flags)
        y, totals = rowscan.cumsum(torch.from_numpy(x), 1, acc=ACC, init=3, totals=True, **flags)
        np.testing.assert_array_equal(y.numpy(), want)
        np.testing.assert_array_equal(totals.numpy(), want_totals)
    halves = torch.from_numpy(elements("f4")).bfloat16()
    want, _ = wanted(halves.float().numpy(), **flags)
    assert torch.equal(rowscan.cumsum(halves, 1, acc=ACC, **flags), torch.from_numpy(want).bfloat16())


@with_flags
def test_torch_gradients(torch, flags):
    """Those of an ordinary sum, however large; totals and initial values have none."""
    x = torch.from_numpy(elements("f8", (3, 7)))
    g = torch.from_numpy(elements("f8", (3, 7))) * 1e30
    for given in ({}, {"mask": x > 0}, {"keys": torch.arange(7) // 3}):
        results = []
        for more in ({}, {"acc": ACC, "init": 5}, {"acc": ACC, "totals": True}):
            leaf = x.clone().requires_grad_()
            f = lambda x: rowscan.cumsum(x, 1, **given, **more, **flags)
            y = f(leaf)
            if more.get("totals"):
                y, totals = y
                assert not totals.requires_grad
            else:
                _, moved = torch.func.jvp(f, (x,), (g,))
                results.append(moved)
            results.append(torch.autograd.grad(y, leaf, g)[0])
        assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])
        assert torch.equal(results[1], results[4])


def test_torch_transforms(torch):
    x = torch.from_numpy(elements("f4", (4, 6)))
    f = lambda x: rowscan.cumsum(x, 0, acc=ACC)
    np.testing.assert_array_equal(torch.vmap(f)(x).numpy(), wanted(x.numpy())[0])
    torch.testing.assert_close(torch.func.jacrev(f)(x[0]), torch.ones(6, 6).tril())
    y, total = torch.vmap(lambda x: rowscan.cumsum(x, 0, acc=ACC, totals=True))(x)
    assert total.dtype == torch.int64
    np.testing.assert_array_equal(total.numpy(), wanted(x.numpy())[1])


# ---- JAX -------------------------------------------------------------------------------------------------------------

@with_flags
def test_jax(jax, flags):
    x = elements("f4")
    f = lambda x: rowscan.cumsum(x, 1, acc=ACC, **flags)
    np.testing.assert_array_equal(jax.jit(f)(x := jax.numpy.asarray(x)), wanted(np.asarray(x), **flags)[0])
    weights = jax.numpy.asarray(elements("f4", x.shape)) * 1e20
    mine = jax.grad(lambda x: (f(x) * weights).sum())(x)
    usual = jax.grad(lambda x: (rowscan.cumsum(x, 1, **flags) * weights).sum())(x)
    np.testing.assert_array_equal(mine, usual)
    if jax.numpy.result_type(int) == np.int64:
        y, totals = jax.jit(lambda x: rowscan.cumsum(x, 1, acc=ACC, init=3, totals=True, **flags))(x)
        want, want_totals = wanted(np.asarray(x), init=3, **flags)
        np.testing.assert_array_equal(y, want)
        assert totals.dtype == np.int64
        np.testing.assert_array_equal(totals, want_totals)
        total = lambda x: rowscan.cumsum(x, 1, acc=ACC, totals=True, **flags)[0].sum()
        assert jax.grad(total)(x).shape == x.shape
    else:
        for more in ({"init": 3}, {"totals": True}):
            with pytest.raises(rowscan.Unsupported, match="jax_enable_x64"):
                rowscan.cumsum(x, 1, acc=ACC, **more)
