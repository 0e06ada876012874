"""test_omit_nan.py - scans that leave out what is NaN, in every library, against a loop

SPDX-License-Identifier: MIT

Elements are small integers where results are compared for equality: those are exact in every type and every order.
"""
import itertools

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)
OPERATORS = {"sum": (lambda a, b: a + b, 0), "prod": (lambda a, b: a * b, 1), "max": (max, -np.inf),
             "min": (min, np.inf), "logsumexp": (np.logaddexp, -np.inf)}
EXACT = ["sum", "prod", "max", "min"]


def elements(dtype, shape=(6, 40), seed=3):
    random = np.random.default_rng(seed)
    x = random.choice([-2, -1, 1, 2], shape).astype(dtype)
    x[random.random(shape) < 0.2] = np.nan
    x[0] = np.nan
    return x


def loop(x, op, reverse=False, exclusive=False, mask=None, mask_mode="select", heads=None, init=None):
    """(results, totals) of the rows of two dimensions."""
    combine, identity = OPERATORS[op]
    y, totals = np.empty(x.shape), np.empty(len(x))
    for r, row in enumerate(x.astype("f8")):
        held = identity if init is None else init
        for i in reversed(range(len(row))) if reverse else range(len(row)):
            at, value = i + 1 if reverse else i, row[i]
            if heads is not None and at < len(row) and heads[r, at]:
                held = identity
            if mask is not None and mask_mode == "select":
                value = value if mask[r, i] else identity
            elif mask is not None:
                value = value * mask[r, i]
            before, held = held, held if value != value else combine(held, value)
            y[r, i] = before if exclusive else held
        totals[r] = held
    return y, totals


def assert_near(op, got, want):
    if op in EXACT:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, 1e-2 if got.dtype == np.float16 else 1e-5)


# ---- NumPy -----------------------------------------------------------------------------------------------------------

@with_flags
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_numpy(dtype, op, flags):
    x = elements(dtype, (6, 9) if dtype == "f2" else (6, 20))
    random = np.random.default_rng(1)
    mask, heads = random.random(x.shape) < 0.5, random.random(x.shape) < 0.3
    for given in ({}, {"init": 2}, {"mask": mask}, {"heads": heads}):
        if op == "logsumexp" and dtype == "f8" and "heads" in given:
            continue
        want, want_totals = loop(x, op, **given, **flags)
        y, totals = rowscan.scan(x, 1, op, omit_nan=True, totals=True, **given, **flags)
        assert y.dtype == x.dtype
        assert_near(op, y, want)
        assert_near(op, totals, want_totals)
        across = {name: v if name == "init" else v.T for name, v in given.items()}
        order.assert_bits(rowscan.scan(x.T, 0, op, omit_nan=True, **across, **flags).T, y)
    named = {"logsumexp": rowscan.logcumsumexp}.get(op) or getattr(rowscan, "cum" + op)
    order.assert_bits(named(x, 1, omit_nan=True, **flags), rowscan.scan(x, 1, op, omit_nan=True, **flags))
    order.assert_bits(named(x, 1, omit_nan=False, **flags), named(x, 1, **flags))


@with_flags
def test_products_with_a_mask(flags):
    """What is left out is NaN once it is multiplied by the mask."""
    x, mask = elements("f4"), np.random.default_rng(2).choice([0, 1, 2, np.nan], (6, 40)).astype("f4")
    x[1, 3:9] = np.inf
    y, totals = rowscan.cumsum(x, 1, omit_nan=True, totals=True, mask=mask, mask_mode="multiply", **flags)
    want, want_totals = loop(x, "sum", mask=mask, mask_mode="multiply", **flags)
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(totals, want_totals)


@with_flags
def test_recurrence(flags):
    x, a = elements("f8"), np.random.default_rng(2).choice([-1., 0, 1], (6, 40))
    want = np.empty(x.shape)
    for r, row in enumerate(x):
        held = 0.
        for i in reversed(range(40)) if flags["reverse"] else range(40):
            before, held = held, held if row[i] != row[i] else a[r, i] * held + row[i]
            want[r, i] = before if flags["exclusive"] else held
    np.testing.assert_array_equal(rowscan.linear_recurrence(x, a, 1, omit_nan=True, **flags), want)


def test_indices():
    x = np.array([[np.nan, 1, np.nan, 3, 2, np.nan, 3], [np.nan] * 7])
    values, at = rowscan.cummax(x, 1, indices=True, omit_nan=True)
    assert values.tolist() == [[-np.inf, 1, 1, 3, 3, 3, 3], [-np.inf] * 7]
    assert at.tolist() == [[-1, 1, 1, 3, 3, 3, 6], [-1] * 7]
    assert rowscan.scan(x, 1, "argmin", omit_nan=True, reverse=True).tolist() == [[1, 1, 4, 4, 4, 6, 6], [-1] * 7]


def test_conventions():
    x = np.array([[1, 2, 3]])
    assert rowscan.cumsum(x, 1, omit_nan=True).tolist() == [[1, 3, 6]]  # integers have none
    assert rowscan.spec(x, 1, omit_nan=True) == rowscan.spec(x, 1)
    assert "omit_nan=1" in rowscan.spec(x * 1., 1, omit_nan=True)
    assert rowscan.prepare(x * 1., 1, omit_nan=True) is None
    bad = np.array([1, np.nan, 3])
    assert rowscan.cumsum(bad, 0, omit_nan=1, out=bad) is bad and bad.tolist() == [1, 1, 4]
    with pytest.raises(ValueError, match="truth value"):
        rowscan.cumsum(bad, 0, omit_nan=bad)


# ---- torch -----------------------------------------------------------------------------------------------------------

@with_flags
@pytest.mark.parametrize("op", ["sum", "prod", "max"])
def test_torch(torch, op, flags):
    for dtype in ("f4", "f8"):
        x = elements(dtype, (6, 20))
        y, totals = rowscan.scan(torch.from_numpy(x), 1, op, omit_nan=True, totals=True, **flags)
        want, want_totals = loop(x, op, **flags)
        np.testing.assert_array_equal(y.numpy(), want)
        np.testing.assert_array_equal(totals.numpy(), want_totals)
    assert rowscan.cumsum(torch.tensor([1., torch.nan]).bfloat16(), 0, omit_nan=True).tolist() == [1, 1]
    assert rowscan.cumsum(torch.tensor([1, 2]), 0, omit_nan=True).tolist() == [1, 3]


@with_flags
def test_torch_gradients(torch, flags):
    """Those of the sum of what is left, of everything, twice and forward-mode."""
    x = torch.randn(3, 6, dtype=torch.float64)
    x[0, 2], x[1], x[2, 5] = torch.nan, torch.nan, torch.nan
    weights, init = torch.randn(3, 6, dtype=torch.float64), torch.randn(3, 1, dtype=torch.float64)
    weights[2, 0] = torch.nan
    random = torch.rand(3, 6)
    for given in ({}, {"mask": random < 0.6}, {"heads": random < 0.3}, {"tails": random < 0.3},
                  {"mask": weights, "mask_mode": "multiply"}):
        for dim, totals in itertools.product((0, 1), (False, True)):
            multiplies = given.get("mask_mode") == "multiply"

            def ours(x, weights, init):
                more = {"mask": weights} if multiplies else {}
                return rowscan.cumsum(x, dim, omit_nan=True, init=init, totals=totals, **{**given, **more}, **flags)

            def theirs(x, weights, init):
                if multiplies:
                    nan = (x * weights).isnan()
                    return rowscan.cumsum(torch.where(nan, 0, x) * torch.where(nan, 0, weights), dim, init=init,
                                          totals=totals, **flags)
                return rowscan.cumsum(torch.where(x.isnan(), 0, x), dim, init=init, totals=totals, **given, **flags)
            results = []
            for f in (ours, theirs):
                leaves = [t.clone().requires_grad_() for t in (x, weights, init if dim else init.mT.repeat(1, 2))]
                y = f(*leaves)
                y = torch.cat([part.reshape(-1) for part in y]) if totals else y.reshape(-1)
                g = torch.arange(y.numel(), dtype=y.dtype)
                moved = torch.autograd.grad(y, leaves, g, allow_unused=True, create_graph=True)
                change = [torch.ones_like(leaf) for leaf in leaves]
                _, moves = torch.func.jvp(f, tuple(leaf.detach() for leaf in leaves), tuple(change))
                results.append([y, *(m for m in moved if m is not None), *(moves if totals else (moves,))])
            torch.testing.assert_close(*results)
    kept = torch.ones(4, requires_grad=True)
    g = torch.tensor([1., torch.nan, 1, 1])
    d, = torch.autograd.grad(rowscan.cumsum(kept, 0, omit_nan=True), kept, g)
    assert d.isnan().tolist() == [True, True, False, False]  # a gradient that is NaN is none to leave out


def test_torch_gradients_of_others(torch):
    x = torch.tensor([torch.nan, 1, torch.nan, 3, 2], requires_grad=True)
    assert torch.autograd.grad(rowscan.cummax(x, 0, omit_nan=True)[1:].sum(), x)[0].tolist() == [0, 2, 0, 2, 0]
    grown = lambda x, dim, **options: rowscan.linear_recurrence(x, 0.5, dim, **options)
    for call in (rowscan.cumprod, rowscan.logcumsumexp, grown):
        with pytest.raises(rowscan.Unsupported, match="no gradient here with omit_nan"):
            call(x, 0, omit_nan=True)
        call(x.detach(), 0, omit_nan=True)


def test_torch_transforms(torch):
    x = torch.randn(4, 5)
    x[1, 2] = x[2, 0] = torch.nan
    f = lambda x: rowscan.cumsum(x, 0, omit_nan=True)
    g = lambda x: torch.cumsum(torch.where(x.isnan(), 0, x), 0)
    cubed = lambda f: lambda x: (f(x) ** 3).sum()
    for change in (torch.vmap, torch.func.jacrev, torch.func.jacfwd, lambda f: torch.vmap(torch.func.grad(cubed(f))),
                   lambda f: torch.func.hessian(cubed(f))):
        torch.testing.assert_close(change(f)(x), change(g)(x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, backend):
    torch._dynamo.reset()

    def f(x):
        y = rowscan.cumsum(x, 1, reverse=True, omit_nan=True) + rowscan.scan(x, 0, omit_nan=True)
        z, at = rowscan.cummax(x.detach(), 1, omit_nan=True, indices=True)
        return y, z, at, rowscan.linear_recurrence(x.detach(), 0.5, 1, omit_nan=True)
    x, results = torch.from_numpy(elements("f4")), []
    for function in (f, torch.compile(f, backend=backend, fullgraph=True)):
        leaf = x.clone().requires_grad_()
        y, *rest = function(leaf)
        results.append((y, *rest, *torch.autograd.grad((y ** 2).sum(), leaf)))
    torch.testing.assert_close(*results)


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.fixture
def jax():
    pytest.importorskip("jax.ffi")
    return pytest.importorskip("jax")


@with_flags
def test_jax(jax, flags):
    jnp = jax.numpy
    for dtype, op in (("f4", "sum"), ("f2", "sum"), ("f4", "max"), ("f4", "prod")):
        x = elements(dtype, (6, 9))
        f = lambda x: rowscan.scan(x, 1, op, omit_nan=True, totals=True, **flags)
        for got, want in zip(jax.jit(f)(jnp.asarray(x)), loop(x, op, **flags)):
            np.testing.assert_array_equal(np.asarray(got, "f8"), want)
    assert rowscan.cumsum(jnp.arange(3), 0, omit_nan=True).tolist() == [0, 1, 3]


@with_flags
def test_jax_derivatives(jax, flags):
    jnp = jax.numpy
    x = jnp.asarray(elements("f4", (3, 6))).at[1, 0].set(jnp.inf)
    random = np.random.default_rng(5)
    mask, init = random.random((3, 6)) < 0.5, jnp.asarray(random.integers(-3, 4, (3, 1)), "f4")
    weights = jnp.asarray(random.integers(0, 3, (3, 6)), "f4").at[1, 0].set(0).at[2, 1].set(jnp.nan)
    for given in ({}, {"mask": mask}, {"heads": mask}):
        def ours(x, init):
            return rowscan.cumsum(x, 1, omit_nan=True, init=init, totals=True, **given, **flags)

        def theirs(x, init):
            return rowscan.cumsum(jnp.where(jnp.isnan(x), 0, x), 1, init=init, totals=True, **given, **flags)
        for change in (lambda f: jax.jacrev(f, (0, 1)), lambda f: jax.jacfwd(f, (0, 1))):
            jax.tree.map(np.testing.assert_array_equal, change(ours)(x, init), change(theirs)(x, init))

    def weighed(x, weights):
        return rowscan.cumsum(x, 1, omit_nan=True, mask=weights, mask_mode="multiply", **flags)

    def kept(x, weights):
        nan = jnp.isnan(x * weights)
        return rowscan.cumsum(jnp.where(nan, 0, x) * jnp.where(nan, 0, weights), 1, **flags)
    x, weights = x.at[1, 1].set(2), weights.at[1, 1].set(2)
    for change in (lambda f: jax.jacrev(f, (0, 1)), lambda f: jax.jacfwd(f, (0, 1))):
        jax.tree.map(np.testing.assert_array_equal, change(weighed)(x, weights), change(kept)(x, weights))
    grown = lambda x, dim, **options: rowscan.linear_recurrence(x, 0.5, dim, **options)
    for call in (rowscan.cumprod, rowscan.logcumsumexp, grown):
        with pytest.raises(rowscan.Unsupported, match="no derivative here with omit_nan"):
            jax.grad(lambda x: call(x, 1, omit_nan=True).sum())(x)
