"""test_logsumexp.py - logcumsumexp in every library, against a loop in long doubles: values, flags, derivatives

SPDX-License-Identifier: MIT
"""
import itertools

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

FLAGS = [dict(reverse=r, exclusive=e) for r, e in itertools.product((False, True), repeat=2)]
with_flags = pytest.mark.parametrize("flags", FLAGS, ids=str)
INF = np.inf


def loop(x, dim, reverse=False, exclusive=False, mask=None, init=None):
    """(results, totals) by one logaddexp an element, in long doubles."""
    x = np.asarray(x).astype(np.longdouble)
    if mask is not None:
        x = np.where(np.broadcast_to(mask, x.shape), x, -INF)
    first = -INF if init is None else np.asarray(init, np.longdouble)
    first = np.broadcast_to(first, tuple(1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)))
    x = np.flip(x, dim) if reverse else x
    with np.errstate(all="ignore"):
        y = np.logaddexp.accumulate(np.concatenate([first, x], dim), dim)
    n = x.shape[dim]
    kept = np.take(y, range(n) if exclusive else range(1, n + 1), dim)
    return np.flip(kept, dim) if reverse else kept, np.take(y, n, dim)


def assert_close(got, want, eps):
    got, want = np.asarray(got, np.longdouble), np.asarray(want, np.longdouble)
    assert ((got != got) == (want != want)).all()
    whole = np.isinf(want) | np.isinf(got)
    np.testing.assert_array_equal(got[whole], want[whole])
    rest = ~whole & (want == want)
    assert (abs(got - want)[rest] <= eps * np.maximum(abs(want[rest]), 1)).all()


def elements(kind, shape, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    if kind == "far":
        return 1e4 + 50 * x
    if kind == "rising":
        return x + np.arange(shape[-1]) * 2
    if kind == "holes":
        return np.where(x > 0.5, -INF, x)
    if kind == "none":
        return np.full(shape, -INF)
    if kind == "all":  # -inf first, an inf in the middle of some rows, a NaN near the end of others
        x[:, :3], x[::2, 50], x[::3, -2] = -INF, INF, np.nan
    return x


KINDS = ["normal", "far", "rising", "holes", "none", "all"]


# ---- NumPy -----------------------------------------------------------------------------------------------------------

@with_flags
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype, eps", [("f2", 1e-3), ("f4", 1e-6), ("f8", 2e-15)])
def test_numpy(kind, dtype, eps, flags):
    x = np.minimum(elements(kind, (6, 101)), 6e4).astype(dtype) if dtype == "f2" else elements(kind, (6, 101))
    x = x.astype(dtype)
    mask = np.random.default_rng(1).random(x.shape) < 0.7
    init = np.array([[-INF], [0], [3], [-5], [100], [-INF]])
    for dim, options in ((1, {}), (1, {"mask": mask}), (1, {"init": init}), (0, {"mask": mask, "init": 1.5})):
        y, totals = rowscan.logcumsumexp(x, dim, totals=True, **flags, **options)
        want, want_totals = loop(x, dim, **flags, **options)
        assert y.dtype == dtype and totals.dtype == ("f4" if dtype == "f2" else dtype)
        assert_close(y, want, eps)
        assert_close(totals, want_totals, 1e-6 if dtype == "f2" else eps)
        order.assert_bits(rowscan.scan(x, dim, "logsumexp", **flags, **options), y)
        out = np.empty_like(x)
        assert rowscan.logcumsumexp(x, axis=dim, out=out, **flags, **options) is out
        order.assert_bits(out, y)


def test_conventions():
    x = elements("normal", (3, 7)).astype("f4")
    order.assert_bits(rowscan.logcumsumexp(x, 1)[:, 0], x[:, 0])
    assert rowscan.logcumsumexp(x, 1, dtype="f8").dtype == "f8"
    assert_close(rowscan.logcumsumexp(x, 1, acc="f64"), loop(x, 1)[0], 6e-8)
    assert_close(rowscan.logcumsumexp(x[:, ::-2], 1), loop(x[:, ::-2], 1)[0], 1e-6)
    assert_close(rowscan.logcumsumexp(x), loop(x.reshape(-1), 0)[0], 1e-6)
    assert rowscan.logcumsumexp(np.float32(2), 0).tolist() == [2]
    assert rowscan.logcumsumexp(np.empty((2, 0)), 1, totals=True)[1].tolist() == [-INF, -INF]
    assert rowscan.spec(x, 1, "logsumexp").startswith("op=logsumexp in=f32 out=f32 acc=f32 ")
    for f, error, words in (
            (lambda: rowscan.logcumsumexp(np.arange(3), 0), rowscan.BadArgument, "logsumexp requires a floating type"),
            (lambda: rowscan.logcumsumexp(x, 1, mask=x, mask_mode="multiply"), rowscan.Error, "mask"),
            (lambda: rowscan.logcumsumexp(x, 2), IndexError, "axis 2"),
            (lambda: rowscan.logcumsumexp(x, 1, coefficient=x), TypeError, "no argument 'coefficient'")):
        with pytest.raises(error, match=words):
            f()


# ---- torch -----------------------------------------------------------------------------------------------------------

def through_loop(torch, x, dim, init, reverse=False, exclusive=False, mask=None):
    """By torch's own logsumexp of each prefix; all of it is finite."""
    x = (x if mask is None else torch.where(mask, x, -torch.inf)).movedim(dim, 0)
    x, init = x.flip(0) if reverse else x, init.movedim(dim, 0)
    y = [torch.logsumexp(torch.cat([init, x[:t]]), 0) for t in range(len(x) + 1)]
    y = torch.stack(y[:-1] if exclusive else y[1:])
    return (y.flip(0) if reverse else y).movedim(0, dim)


def test_tensors(torch):
    for kind, dtype in itertools.product(KINDS, (torch.float16, torch.bfloat16, torch.float32, torch.float64)):
        x = torch.from_numpy(elements(kind, (6, 101))).to(dtype)
        y = rowscan.logcumsumexp(x, 1)
        eps = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-6, torch.float64: 2e-15}[dtype]
        assert y.dtype is dtype
        assert_close(y.double().numpy(), loop(x.double().numpy(), 1)[0], eps)
    assert rowscan.logcumsumexp(torch.tensor(3.), 0).tolist() == 3
    with pytest.raises(rowscan.BadArgument, match="floating"):
        rowscan.logcumsumexp(torch.arange(3), 0)


@with_flags
@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_torch_gradients(torch, flags, totals, masked):
    """Of each argument, twice, forward-mode and batched."""
    def leaf(*shape):
        return torch.randn(shape, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(3, 4) < 0.6 if masked else None
    for dim, init in itertools.product((0, 1), (None, True, ())):
        x = leaf(3, 4)
        if init is None and (flags["exclusive"] or masked):
            continue  # -inf is among the results, which gradcheck can't have
        init = leaf(*(1 if d == dim else n for d, n in enumerate(x.shape))) if init is True else (
            None if init is None else leaf(*init))

        def f(x, init):
            return rowscan.logcumsumexp(x, dim, init=init, mask=mask, totals=totals, **flags)
        assert torch.autograd.gradcheck(f, (x, init), check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(f, (x, init))


@with_flags
def test_torch_gradients_are_those_of_logsumexp(torch, flags):
    x, init, g = (torch.randn(s, dtype=torch.float64) for s in ((5, 9), (5, 1), (5, 9)))
    leaves = [t.requires_grad_() for t in (x, init)]
    for mask in (None, torch.rand(5, 9) < 0.7):
        options = dict(mask=mask, init=init, **flags)
        y, other = rowscan.logcumsumexp(x, 1, **options), through_loop(torch, x, 1, **options)
        torch.testing.assert_close(y, other)
        for got, want in zip(torch.autograd.grad(y, leaves, g), torch.autograd.grad(other, leaves, g)):
            torch.testing.assert_close(got, want, rtol=1e-13, atol=1e-13)


@with_flags
@pytest.mark.parametrize("shape", [(2, 0), (2, 1), ()], ids=str)
def test_torch_gradients_of_few_elements(torch, flags, shape):
    x, init = (torch.randn(s, dtype=torch.float64, requires_grad=True)
               for s in (shape, shape[:1] + (1,) * len(shape[1:])))
    for totals in (False, True):
        f = lambda x, i: rowscan.logcumsumexp(x, -1, init=i, totals=totals, **flags)
        assert torch.autograd.gradcheck(f, (x, init), check_forward_ad=True)


def exact_gradient(x, g):
    """Of rows without flags: in long doubles, one factor after the other."""
    x, g = x.astype(np.longdouble), g.astype(np.longdouble)
    y, d = loop(x, 1)[0], np.zeros(x.shape, np.longdouble)
    for k in range(x.shape[1]):
        d[:, k] = (g[:, k:] * np.exp(x[:, k:k + 1] - y[:, k:])).sum(1)
    return d


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("dtype, eps", [("float32", 2e-5), ("float64", 1e-13), ("bfloat16", 5e-3), ("float16", 1e-3)])
def test_nothing_cancels(library, dtype, eps):
    """Falling elements, whose gradients are small, and gradients of both signs; of half precision rounded once."""
    module = pytest.importorskip(library)
    random = np.random.default_rng(5)
    x = np.stack([10 * np.arange(-64, 64.), -0.2 * np.arange(128), random.standard_normal(128)])
    if library == "torch":
        x = torch_x = module.from_numpy(x).to(getattr(module, dtype)).requires_grad_()
        x, g = torch_x.detach().double().numpy(), np.sign(random.standard_normal(x.shape))
        rowscan.logcumsumexp(torch_x, 1).backward(module.from_numpy(g).to(torch_x.dtype))
        got = torch_x.grad.double().numpy()
    elif dtype == "float64":
        return
    else:
        jnp, g = module.numpy, np.sign(random.standard_normal(x.shape))
        x = jnp.asarray(x, dtype)
        got = module.vjp(lambda x: rowscan.logcumsumexp(x, 1), x)[1](jnp.asarray(g, dtype))[0]
        x, got = np.asarray(x, "f8"), np.asarray(got, "f8")
    scale = exact_gradient(x, abs(g))
    assert (abs(got - exact_gradient(x, g)) <= eps * scale + 1e-7).all()


def test_torch_gradients_at_infinity(torch):
    x = torch.tensor([[-INF, -INF, 1., -INF, 2.], [-INF] * 5, [0, INF, 1, -INF, 2]], requires_grad=True)
    mask = torch.tensor([1, 0, 1, 1, 1])
    for options in ({}, {"reverse": True}, {"exclusive": True}, {"mask": mask}, {"totals": True}, {"init": -INF}):
        y = rowscan.logcumsumexp(x, 1, **options)
        g, = torch.autograd.grad([t.sum() for t in (y if options.get("totals") else [y])], x)
        assert not g.isnan().any() and (g[1] == 0).all() and (g[:2][x[:2] == -INF] == 0).all()
    bad = torch.tensor([1., torch.nan, 2.], requires_grad=True)
    rowscan.logcumsumexp(bad, 0, mask=torch.tensor([1, 0, 1])).sum().backward()
    assert bad.grad[1] == 0 and not bad.grad.isnan().any()


def test_torch_transforms(torch):
    x = torch.randn(5, 4, dtype=torch.float64)
    f = lambda x: rowscan.logcumsumexp(x, 0, reverse=True)

    def g(x):  # of operations that torch transforms in any order
        return torch.stack([torch.logsumexp(x[t:], 0) for t in range(x.shape[0])])
    for change in (lambda f: torch.vmap(f), lambda f: torch.vmap(f, 1), lambda f: torch.func.jacrev(f),
                   lambda f: torch.func.jacfwd(f), lambda f: torch.func.hessian(lambda x: (f(x) ** 2).sum()),
                   lambda f: torch.vmap(torch.func.grad(lambda x: (f(x) ** 2).sum()))):
        torch.testing.assert_close(change(f)(x), change(g)(x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, backend):
    torch._dynamo.reset()

    def f(x):
        y, totals = rowscan.logcumsumexp(x, 1, reverse=True, totals=True)
        return y + rowscan.logcumsumexp(x, 1, init=2., exclusive=True) + rowscan.scan(x, 0, "logsumexp"), totals
    x = torch.randn(3, 4)
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    results = []
    for function in (f, compiled):
        leaf = x.clone().requires_grad_()
        y, totals = function(leaf)
        results.append((y, totals, *torch.autograd.grad((y ** 2).sum() + totals.sum(), leaf)))
    torch.testing.assert_close(*results)


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@with_flags
def test_jax(jax, wide, flags):
    with order.set_wide(jax, wide):
        for kind, name in itertools.product(KINDS, ("float16", "bfloat16", "float32")):
            x = jax.numpy.asarray(elements(kind, (6, 101)), name)
            y, totals = jax.jit(lambda x: rowscan.logcumsumexp(x, 1, init=0.5, totals=True, **flags))(x)
            want, want_totals = loop(np.asarray(x, "f8"), 1, init=0.5, **flags)
            assert y.dtype == name
            assert_close(np.asarray(y, "f8"), want, {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6}[name])
            assert_close(totals, want_totals, 1e-6)


@with_flags
@pytest.mark.parametrize("masked", [False, True])
def test_jax_derivatives(jax, flags, masked):
    from jax.test_util import check_grads
    random = np.random.default_rng(3)
    with order.set_wide(jax, True):
        jnp = jax.numpy
        x, mask = jnp.asarray(random.standard_normal((3, 4))), random.random((3, 4)) < 0.6 if masked else None
        dim = int(flags["reverse"])
        init = jnp.asarray(random.standard_normal((1, 4) if dim == 0 else (3, 1)))

        def f(x, init):
            y, totals = rowscan.logcumsumexp(x, dim, init=init, mask=mask, totals=True, **flags)
            return jnp.sin(y).sum() + (totals ** 2).sum()
        check_grads(jax.jit(f), (x, init), order=2, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)
        if not masked and not flags["exclusive"]:
            check_grads(lambda x: rowscan.logcumsumexp(x, 1 - dim, **flags), (x,), 2, ["fwd", "rev"])


def test_jax_gradients_at_infinity(jax):
    jnp = jax.numpy
    x = jnp.asarray([[-INF, -INF, 1., -INF, 2.], [-INF] * 5, [0, INF, 1, -INF, 2]])
    for options in ({}, {"reverse": True}, {"exclusive": True}, {"mask": np.array([1, 0, 1, 1, 1])}, {"init": -INF}):
        g = np.asarray(jax.jit(jax.grad(lambda x: rowscan.logcumsumexp(x, 1, **options).sum()))(x))
        assert not np.isnan(g).any() and (g[1] == 0).all() and (g[:2][np.isinf(x[:2])] == 0).all()
    bad = jnp.asarray([1., np.nan, 2.])
    g = jax.grad(lambda x: rowscan.logcumsumexp(x, 0, mask=jnp.asarray([1, 0, 1])).sum())(bad)
    assert g[1] == 0 and not np.isnan(g).any()


def test_jax_transforms(jax):
    x = jax.numpy.asarray(np.random.default_rng(6).standard_normal((5, 4)), "float32")
    f = lambda x: rowscan.logcumsumexp(x, 0)
    g = lambda x: jax.lax.cumlogsumexp(x, 0)
    for change in (lambda f: jax.vmap(f), lambda f: jax.vmap(f, 1), lambda f: jax.jacrev(f), lambda f: jax.jacfwd(f),
                   lambda f: jax.hessian(lambda x: (f(x) ** 2).sum()),
                   lambda f: jax.vmap(jax.grad(lambda x: (f(x) ** 2).sum()))):
        np.testing.assert_allclose(jax.jit(change(f))(x), jax.jit(change(g))(x), rtol=1e-4, atol=1e-4)
