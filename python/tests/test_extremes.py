"""test_extremes.py - gradients of maxima and minima, in torch and JAX, against a loop

SPDX-License-Identifier: MIT
"""
import itertools

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402
from test_indices import FLAGS, above, with_flags  # noqa: E402
from test_segments import begins  # noqa: E402

FUNCTIONS = ["cummax", "cummin"]
with_functions = pytest.mark.parametrize("name", FUNCTIONS)
SEGMENTS = [("heads",), ("tails",), ("keys",)]
BESIDE = [(), ("mask",), *SEGMENTS, *(("mask", *told) for told in SEGMENTS)]


def loop(name, x, g, g_totals, reverse=False, exclusive=False, mask=None, **told):
    """The gradient of the rows of two dimensions, where the last of equal elements counts."""
    d = np.zeros(x.shape)
    for r, row in enumerate(x.tolist()):
        best = -1
        for i in reversed(range(len(row))) if reverse else range(len(row)):
            if any(begins(kind, beside[r], i + 1 if reverse else i) for kind, beside in told.items()):
                best = -1
            before = best
            if (mask is None or mask[r, i]) and (best < 0 or above(row[i], row[best], name == "cummin")):
                best = i
            at = before if exclusive else best
            if at >= 0:
                d[r, at] += g[r, i]
        if best >= 0 and g_totals is not None:
            d[r, best] += g_totals[r]
    return d


def cases(dtype, kinds=BESIDE, shapes=((4, 50), (3, 1), (2, 0))):
    """x, gradients of results and totals, and what lies beside: small integers, of which sums are exact.

    Where there are no ties, elements that a mask leaves out are NaN.
    """
    random = np.random.default_rng(5)
    for shape, words, ties in itertools.product(shapes, kinds, (False, True)):
        x = random.integers(-3, 4, shape) if ties else random.permuted(np.arange(np.prod(shape)).reshape(shape), axis=1)
        x = x.astype(dtype)
        if ties and shape[1] > 40:
            x[0, 30], x[0, 40], x[1, :3], x[2] = np.nan, np.nan, -np.inf, np.sort(x[2])
            x[1, ::5], x[3, ::5] = -np.inf, np.inf
        beside = {word: (random.random(shape) < (0.5 if word == "mask" else 0.2)).astype("u1") for word in words}
        if "mask" in words and not ties:
            x[beside["mask"] == 0] = np.nan
        yield x, random.integers(-3, 4, shape), random.integers(-3, 4, shape[:1]), beside


# ---- torch -----------------------------------------------------------------------------------------------------------

@with_flags
@with_functions
def test_torch(torch, name, flags):
    """Along both dimensions, with totals and without them; of floating types, written as others too. And forward-mode.
    """
    function = getattr(rowscan, name)
    for dtype, out in (("f4", None), ("f2", None), ("f4", torch.float64), ("f8", None), ("f8", torch.float32)):
        for x, g, g_totals, beside in cases(dtype, BESIDE if dtype != "f8" else BESIDE[:2]):
            for dim, totals in itertools.product((0, 1), (False, True)):
                leaf = torch.from_numpy(x if dim else x.T).requires_grad_()
                given = {word: torch.from_numpy(array if dim else array.T) for word, array in beside.items()}
                f = lambda x: function(x, dim, dtype=out, totals=totals, **given, **flags)
                results = f(leaf) if totals else (f(leaf),)
                changes = [torch.from_numpy(g if dim else g.T), torch.from_numpy(g_totals)][:len(results)]
                d, = torch.autograd.grad(results, leaf, [c.to(y.dtype) for c, y in zip(changes, results)])
                want = loop(name, x, g, g_totals if totals else None, **beside, **flags)
                assert d.dtype is leaf.dtype
                np.testing.assert_array_equal(d.numpy().astype("f8"), want if dim else want.T)
                t = torch.arange(x.size).reshape(leaf.shape) % 5 - 2
                moved = torch.func.jvp(f, (leaf.detach(),), (t.to(leaf.dtype),))[1]
                moved = moved if totals else (moved,)
                assert sum((m * c).sum() for m, c in zip(moved, changes)) == (d * t).sum()


@with_functions
def test_torch_has_the_same(torch, name):
    """torch's own gradients, at ties and NaN too; but 0.0 and -0.0 are equal there."""
    own, function = getattr(torch, name), getattr(rowscan, name)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x, g = (torch.randint(-4, 5, (5, 60)).to(dtype) for _ in range(2))
        x[1, 20], x[1, 30], x[2, :5], x[3, 7:9] = torch.nan, torch.nan, -torch.inf, torch.inf
        for dim in (0, 1):
            a, b, c = (x.clone().requires_grad_() for _ in range(3))
            values, indices = function(c, dim, indices=True)
            assert not indices.requires_grad
            want, = torch.autograd.grad(own(a, dim).values, a, g)
            assert torch.equal(torch.autograd.grad(function(b, dim), b, g)[0], want)
            assert torch.equal(torch.autograd.grad(values, c, g)[0], want)
    scalar = torch.tensor(2., requires_grad=True)
    y, total = function(scalar, 0, totals=True)
    assert torch.autograd.grad(y + total, scalar)[0] == 2


def test_torch_nan_stays_where_it_is(torch):
    """A gradient that is NaN is of one element alone."""
    x, g = torch.tensor([1., 0, 3, 2, 5], requires_grad=True), torch.tensor([1., torch.nan, 1, 1, 1])
    d, = torch.autograd.grad(rowscan.cummax(x, 0), x, g)
    assert d[0].isnan() and d[1:].tolist() == [0, 2, 0, 1]
    d, = torch.autograd.grad(rowscan.cummax(x, 0, mask=x > 2), x, g)
    assert d.tolist() == [0, 0, 2, 0, 1]


@with_flags
@with_functions
def test_torch_gradcheck(torch, name, flags):
    function, mask = getattr(rowscan, name), torch.rand(4, 6) < 0.6
    x = torch.randperm(24).double().reshape(4, 6).requires_grad_()
    for dim, given, totals in itertools.product((0, 1), ({}, {"mask": mask}), (False, True)):
        def f(x):
            results = function(x, dim, totals=totals, **given, **flags)
            return [y.nan_to_num(0, 0, 0) for y in (results if totals else [results])]
        assert torch.autograd.gradcheck(f, x, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(f, x, check_fwd_over_rev=True)


def test_torch_transforms(torch):
    x = torch.randperm(30).double().reshape(5, 6)
    f, g = lambda x: rowscan.cummax(x, 0), lambda x: torch.cummax(x, 0).values
    cubed = lambda f: lambda x: (f(x) ** 3).sum()
    for change in (torch.vmap, lambda f: torch.vmap(f, 1), torch.func.jacrev,
                   lambda f: torch.func.grad(cubed(f)), lambda f: torch.vmap(torch.func.grad(cubed(f))),
                   lambda f: torch.vmap(torch.func.grad(cubed(f)), 1)):
        assert torch.equal(change(f)(x), change(g)(x))
    dense = torch.func.jacrev(lambda x: torch.func.grad(cubed(g))(x))(x[0])
    for second in (torch.func.hessian(cubed(f)), torch.func.jacrev(torch.func.grad(cubed(f))),
                   torch.func.jacfwd(torch.func.jacfwd(cubed(f)))):
        assert torch.equal(second(x[0]), dense)
    y, t = torch.func.jvp(f, (x,), (x * 2,))
    assert torch.equal(t, y * 2) and torch.equal(torch.func.jacfwd(f)(x), torch.func.jacrev(g)(x))


@with_flags
@pytest.mark.parametrize("words", BESIDE[1:], ids="-".join)
def test_torch_transforms_of_segments(torch, words, flags):
    """Of rows, each as it is in a scan of all of them; second derivatives are 0. And of indices, which have none."""
    x, g, _, beside = list(cases("f4", [words], ((4, 50),)))[1]
    x, g, beside = torch.from_numpy(x), torch.from_numpy(g), list(map(torch.from_numpy, beside.values()))
    scan = lambda op, dim: lambda x, *beside: rowscan.scan(x, dim, op, **dict(zip(words, beside)), **flags)
    value = lambda dim: lambda x, g, *beside: (scan("max", dim)(x, *beside).nan_to_num(0, 0, 0) * g).sum()
    for op in ("max", "argmax"):
        got, want = torch.vmap(scan(op, 0))(x, *beside), scan(op, 1)(x, *beside)
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    want = torch.func.grad(value(1))(x, g, *beside)
    assert torch.equal(torch.vmap(torch.func.grad(value(0)))(x, g, *beside), want)
    assert torch.equal(torch.vmap(torch.func.grad(value(0)), 1, 1)(x.T, g.T, *(b.T for b in beside)), want.T)
    alone = torch.vmap(torch.func.grad(value(0)), (0, None, *(None for _ in beside)))(x, g[0], *(b[0] for b in beside))
    assert torch.equal(alone[0], want[0])
    f = lambda x: scan("max", 0)(x, *(b[1] for b in beside))
    assert torch.equal(torch.func.jacrev(f)(x[1]), torch.func.jacfwd(f)(x[1]))
    assert not torch.func.hessian(lambda x: value(0)(x, g[1], *(b[1] for b in beside)))(x[1]).any()
    leaf = x.clone().requires_grad_()
    assert not scan("argmax", 1)(leaf, *beside).requires_grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, backend):
    torch._dynamo.reset()

    def f(x, mask):
        y, totals = rowscan.cummax(x, 1, reverse=True, totals=True, mask=mask)
        z, at = rowscan.cummin(x, 0, indices=True)
        beside = rowscan.cummax(x, 1, mask=mask, keys=at)
        return y + z + rowscan.scan(x, 1, "min", heads=mask) + beside, totals, at
    x, mask, results = torch.randn(4, 8), torch.ones(4, 8, dtype=torch.bool), []
    mask[:, 3] = False
    for function in (f, torch.compile(f, backend=backend, fullgraph=True)):
        leaf = x.clone().requires_grad_()
        y, totals, at = function(leaf, mask)
        (y.nan_to_num(0, 0, 0) ** 2).sum().add(totals.sum()).backward()
        results.append((y.detach(), totals.detach(), at, leaf.grad))
    torch.testing.assert_close(*results)


def test_torch_gradients_that_there_are_not(torch):
    x = torch.rand(4, requires_grad=True)
    for options, words in ((dict(init=0.5), "max has no gradient here: initial values have no index"),
                           (dict(heads=x > 0, dtype=torch.float64), None)):
        if words is None:
            assert rowscan.cummax(x, 0, **options).requires_grad
            words, x = "max has no gradient here: .*heads of bool", x.detach().double().requires_grad_()
            options = dict(heads=x > 0)
        with pytest.raises(rowscan.Unsupported, match=words):
            rowscan.cummax(x, 0, **options)
        with torch.no_grad():
            rowscan.scan(x.float(), 0, "max", **options)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rowscan.cummax(x, 0, out=torch.empty(4, dtype=x.dtype))


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.fixture
def jax():
    pytest.importorskip("jax.ffi")
    return pytest.importorskip("jax")


@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@with_flags
@with_functions
def test_jax(jax, wide, name, flags):
    jnp, function = jax.numpy, getattr(rowscan, name)
    with order.set_wide(jax, wide):
        for dtype, out in (("f4", None), ("f2", None)) + ((("f4", "f8"), ("f8", None)) if wide else ()):
            kinds = BESIDE if (dtype, out) == ("f4", None) else BESIDE[:2]
            for x, g, g_totals, beside in cases(dtype, kinds, ((4, 50), (2, 0))):
                for dim in (1,) if beside else (0, 1):
                    given = {word: jnp.asarray(array) for word, array in beside.items()}
                    f = lambda x: function(x, dim, dtype=out, totals=True, **given, **flags)
                    (y, totals), back = jax.vjp(f, jnp.asarray(x if dim else x.T))
                    d, = back((jnp.asarray(g if dim else g.T, y.dtype), jnp.asarray(g_totals, totals.dtype)))
                    want = loop(name, x, g, g_totals, **beside, **flags)
                    np.testing.assert_array_equal(np.asarray(d, "f8"), want if dim else want.T)


def test_jax_transforms(jax):
    """JAX's own, where there are no ties: those it divides."""
    jnp = jax.numpy
    with order.set_wide(jax, True):
        x = jnp.asarray(np.random.default_rng(2).permuted(np.arange(30.)).reshape(5, 6))
        for options in ({}, {"reverse": True}):
            f, g = lambda x: rowscan.cummax(x, 0, **options), lambda x: jax.lax.cummax(x, 0, **options)
            cubed = lambda f: lambda x: (f(x) ** 3).sum()
            for change in (jax.jacrev, jax.jacfwd, lambda f: jax.vmap(f, 1), lambda f: jax.grad(cubed(f)),
                           lambda f: jax.vmap(jax.grad(cubed(f))), lambda f: jax.hessian(cubed(f)),
                           lambda f: jax.jit(jax.vmap(jax.jacrev(f), 1)),
                           lambda f: jax.grad(lambda x: (jax.grad(cubed(f))(x) ** 2).sum())):
                np.testing.assert_array_equal(change(f)(x), change(g)(x))


@with_flags
@pytest.mark.parametrize("words", BESIDE[1:], ids="-".join)
def test_jax_transforms_of_segments(jax, words, flags):
    """Of rows, each as it is in a scan of all of them; second derivatives are 0. And of indices, which have none."""
    jnp = jax.numpy
    x, g, _, beside = list(cases("f4", [words], ((4, 50),)))[1]
    x, g, beside = jnp.asarray(x), jnp.asarray(g), list(map(jnp.asarray, beside.values()))
    scan = lambda op, dim: lambda x, *beside: rowscan.scan(x, dim, op, **dict(zip(words, beside)), **flags)
    value = lambda dim: lambda x, g, *beside: (jnp.nan_to_num(scan("max", dim)(x, *beside), False, 0, 0, 0) * g).sum()
    same = np.testing.assert_array_equal
    want = jax.grad(value(1))(x, g, *beside)
    for change in lambda f: f, jax.jit:
        same(change(jax.vmap(scan("argmax", 0)))(x, *beside), scan("argmax", 1)(x, *beside))
        same(change(jax.vmap(jax.grad(value(0))))(x, g, *beside), want)
    f = lambda x: scan("max", 0)(x, *(b[1] for b in beside))
    same(jax.jacrev(f)(x[1]), jax.jacfwd(f)(x[1]))
    assert not jax.hessian(lambda x: value(0)(x, g[1], *(b[1] for b in beside)))(x[1]).any()
    with_index = lambda x: (value(1)(x, g, *beside), scan("argmax", 1)(x, *beside))
    same(jax.grad(with_index, has_aux=True)(x)[0], want)


def test_jax_derivatives_that_there_are_not(jax):
    x = jax.numpy.ones(4)
    with pytest.raises(rowscan.Unsupported, match="max has no gradient here: initial values have no index"):
        jax.grad(lambda x: rowscan.cummax(x, 0, init=0.5).sum())(x)
    with order.set_wide(jax, True):
        x, m, keys = jax.numpy.ones(4), jax.numpy.ones(4, bool), jax.numpy.asarray([0, 0, 1, 1])
        for given in dict(keys=keys), dict(mask=m, keys=keys):
            with pytest.raises(rowscan.Unsupported, match="max has no gradient here: .*heads of bool"):
                jax.grad(lambda x: rowscan.cummax(x, 0, **given).sum())(x)
