"""test_jax.py - JAX's arrays, traced or not, on whatever devices JAX has: bits, types, derivatives, batches, devices

SPDX-License-Identifier: MIT
"""
import os
import subprocess
import sys
import textwrap

import pytest

jax = pytest.importorskip("jax")
if not hasattr(jax, "ffi"):
    pytest.skip("jax.ffi is needed", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import order  # noqa: E402
import rowscan  # noqa: E402

FLAGS = [{}, {"reverse": True}, {"exclusive": True}, {"reverse": True, "exclusive": True}]
ALL = list(order.DTYPES) + ["bf16"]


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def wide(request):
    with order.set_wide(jax, request.param):
        yield request.param


@pytest.fixture
def x64():
    with order.set_wide(jax, True):
        yield


def dtype_of(name):
    return jnp.dtype("bfloat16" if name == "bf16" else order.DTYPES[name])


def random(shape, dtype=np.float32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


# ---- values and types ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ALL)
def test_bits_are_those_of_the_order(name, wide):
    if not wide and name not in ("f32", "bf16", "i8", "bool"):
        pytest.skip("as with 64 bits, or no type of JAX without them")
    x = jnp.asarray(np.random.default_rng(1).standard_normal((3, 37, 2)) * 50, dtype_of(name))
    for op, flags, dim, masked in (("sum", FLAGS[0], 1, False), ("sum", FLAGS[1], 0, True),
                                   ("sum", FLAGS[2], -1, False), ("sum", FLAGS[3], 1, True),
                                   ("prod", FLAGS[3], 0, False), ("prod", FLAGS[0], 1, True)):
        function = rowscan.cumsum if op == "sum" else rowscan.cumprod
        mask = x > 0 if masked else None

        def call(x):
            return function(x, dim, mask=mask, totals=True, **flags)
        out = order.name_of(jnp.cumsum(x, dim).dtype)
        expected = order.scan(np.asarray(x), dim, op, mask=mask if mask is None else np.asarray(mask), out=out, **flags)
        for results in (call(x), jax.jit(call)(x)):
            for a, b in zip(results, expected):
                order.assert_bits(np.asarray(a), b)


@pytest.mark.parametrize("name", ALL)
def test_types_are_jaxs(name, wide):
    x = jnp.ones((2, 3), dtype_of(name))
    assert rowscan.cumsum(x, 1).dtype == jnp.cumsum(x, 1).dtype
    for dtype in (None, jnp.float32, "int8", float, int):
        expected = jnp.cumsum(x, 1, dtype=dtype)
        y = rowscan.cumsum(x, 1, dtype=dtype)
        assert y.dtype == expected.dtype
        np.testing.assert_array_equal(y, expected)
        assert rowscan.cumprod(x, 0, dtype=dtype).dtype == jnp.cumprod(x, 0, dtype=dtype).dtype
        for initial in (False, True):
            expected = jnp.cumulative_sum(x, axis=1, dtype=dtype, include_initial=initial)
            y = rowscan.cumulative_sum(x, axis=1, dtype=dtype, include_initial=initial)
            assert y.dtype == expected.dtype
            np.testing.assert_array_equal(y, expected)


def test_shapes():
    for shape in ((0,), (3, 0), (0, 3), (1,), (2, 3, 4, 5)):
        x = jnp.arange(np.prod(shape, dtype=int), dtype=jnp.float32).reshape(shape)
        for dim in range(-len(shape), len(shape)):
            y, totals = rowscan.cumsum(x, dim, totals=True, init=2)
            np.testing.assert_allclose(y, jnp.cumsum(x, dim) + 2)
            np.testing.assert_allclose(totals, x.sum(dim) + 2)
        np.testing.assert_allclose(rowscan.cumsum(x), jnp.cumsum(x))
    assert rowscan.cumsum(jnp.float32(3)).shape == jnp.cumsum(jnp.float32(3)).shape == (1,)


def test_masks_and_initial_values():
    x = random((4, 5, 6)).at[1, 2, 3].set(np.nan)
    for shape in ((4, 5, 6), (5, 6), (6,), (4, 1, 6), (1, 5, 1), ()):
        mask = jnp.asarray(np.random.default_rng(2).integers(0, 2, shape), bool)
        for dim in range(3):
            want = jnp.cumsum(jnp.where(mask, x, 0), dim)
            np.testing.assert_allclose(rowscan.cumsum(x, dim, mask=mask), want, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(rowscan.cumsum(x, dim, mask=mask.astype(x.dtype) * 3, mask_mode="multiply"),
                                       jnp.cumsum(x * mask * 3, dim), rtol=1e-5, atol=1e-5)
    x = jnp.nan_to_num(x)
    for shape in ((4, 1, 6), (1, 6), (1, 1, 1), ()):
        init = random(shape)
        np.testing.assert_allclose(rowscan.cumsum(x, 1, init=init), jnp.cumsum(x, 1) + init, rtol=1e-5, atol=1e-5)
        y, totals = rowscan.cumsum(x, 1, init=init, totals=True)
        np.testing.assert_allclose(totals, y[:, -1], rtol=1e-6)
        np.testing.assert_array_equal(y, rowscan.cumsum(x, 1, init=init))
        lowered = str(jax.make_jaxpr(lambda x, init: rowscan.cumsum(x, 1, init=init, totals=True))(x, init))
        assert "broadcast" not in lowered  # repeated where they lie
    np.testing.assert_array_equal(rowscan.cumsum(x, 1, mask=np.ones(6, bool)), rowscan.cumsum(x, 1))


@pytest.mark.parametrize("a", ["f16", "f32", "i8", "u8", "i32", "bool"])
@pytest.mark.parametrize("b", ["bf16", "f32", "i8", "u8", "bool"])
def test_masks_promote_as_a_product_does(a, b):
    x = jnp.arange(6).reshape(2, 3).astype(dtype_of(a))
    mask = jnp.array([2, 0, 1]).astype(dtype_of(b))
    want = jnp.cumsum(x * mask, 1)
    y = rowscan.cumsum(x, 1, mask=mask, mask_mode="multiply")
    assert y.dtype == want.dtype
    np.testing.assert_array_equal(y, want)


def test_wide_accumulators_without_wide_types():
    with order.set_wide(jax, False):
        x = random(1000)
        y = rowscan.cumsum(x, 0, acc="f64")
        assert y.dtype == jnp.float32
        order.assert_bits(np.asarray(y), order.scan(np.asarray(x), 0, acc="f64")[0])
        for function in (rowscan.cumsum, jax.jit(rowscan.cumsum, static_argnums=1, static_argnames=("acc", "totals"))):
            y, totals = function(x, 0, acc="f64", init=jnp.float32(0.1), totals=True)
            want, want_totals = order.scan(np.asarray(x), 0, acc="f64", init=np.float32(0.1))
            order.assert_bits(np.asarray(y), want)
            order.assert_bits(np.asarray(totals), want_totals.astype("f4"))
        y, totals = rowscan.cumsum(jnp.arange(5), 0, dtype=jnp.float32, totals=True)
        assert totals.dtype == jnp.float32 and totals == 10


def test_errors_come_when_tracing():
    x = jnp.zeros((2, 3))

    def traced(error, words, *arguments, **options):
        for function in (lambda x: rowscan.cumsum(x, *arguments, **options),
                         jax.jit(lambda x: rowscan.cumsum(x, *arguments, **options))):
            with pytest.raises(error, match=words):
                function(x)
    traced(ValueError, "axis 2 is out of bounds for array of dimension 2", 2)
    traced(TypeError, "dim is 'rows'", "rows")
    traced(TypeError, "out is given", 1, out=x)
    traced(TypeError, "complex64", 1, dtype=jnp.complex64)
    traced(ValueError, "mask has shape", 1, mask=jnp.ones(4, bool))
    traced(TypeError, r"mask is floating \(float32\), and mask_mode is not given: 'select' .* 'multiply'", 1,
           mask=jnp.ones(3))
    traced(TypeError, "mask is floating .* mask_mode is not given", 1, mask=0.5)
    traced(ValueError, "init has shape", 1, init=jnp.ones(4))
    traced(ValueError, "acc is 'f12'", 1, acc="f12")
    with pytest.raises(TypeError, match="init is floating"):
        rowscan.cumsum(jnp.arange(3), 0, init=2.5)
    with pytest.raises(TypeError, match="x.dtype is complex64"):
        rowscan.cumsum(jnp.zeros(3, jnp.complex64), 0)
    with pytest.raises(ValueError, match="axis 0"):
        rowscan.cumsum(jnp.float32(3), 0)
    with pytest.raises(ValueError, match="axis is needed"):
        rowscan.cumulative_sum(x)


@pytest.mark.parametrize("name", [n for n in ALL if n not in order.FLOATING])
def test_operators_by_name(name, wide):
    if not wide and name.endswith("64"):
        pytest.skip("no type of JAX without 64 bits")
    x = jnp.asarray(np.random.default_rng(4).integers(0, 99, (3, 37, 2)), dtype_of(name))
    numbers, mask = np.asarray(x), np.arange(37)[:, None] % 5 > 0
    for op, ufunc in (("max", np.maximum), ("min", np.minimum), ("and", np.bitwise_and), ("or", np.bitwise_or),
                      ("xor", np.bitwise_xor)):
        def call(x):
            y, totals = rowscan.scan(x, 1, op, reverse=True, totals=True)
            return y, totals, rowscan.scan(x, 0, op, init=x[:1]), rowscan.scan(x, 1, op, mask=mask)
        init = ufunc(ufunc.accumulate(numbers, axis=0), numbers[:1])
        kept = ufunc.accumulate(numbers[:, mask[:, 0]], axis=1)
        for y, totals, begun, masked in (call(x), jax.jit(call)(x)):
            np.testing.assert_array_equal(y, ufunc.accumulate(numbers[:, ::-1], axis=1)[:, ::-1])
            np.testing.assert_array_equal(totals, ufunc.reduce(numbers, axis=1))
            np.testing.assert_array_equal(begun, init)
            np.testing.assert_array_equal(masked[:, mask[:, 0]], kept)
            assert y.dtype == totals.dtype == begun.dtype == x.dtype
    np.testing.assert_array_equal(jax.vmap(lambda r: rowscan.scan(r, 0, "xor"))(x), rowscan.scan(x, 1, "xor"))
    np.testing.assert_array_equal(rowscan.scan(x, 1), rowscan.cumsum(x, 1))


def test_operators_are_refused_when_tracing():
    x = jnp.ones((2, 3))
    for function in (lambda op: rowscan.scan(x, 1, op), lambda op: jax.jit(lambda x: rowscan.scan(x, 1, op))(x)):
        with pytest.raises(rowscan.BadArgument, match="field 'in': or requires integers or bool, not f32"):
            function("or")
        with pytest.raises(ValueError, match="op is 'mean', not one of sum, prod, max"):
            function("mean")


def test_spec_and_prepare():
    x = jnp.zeros((4, 1000), jnp.bfloat16)
    text = "op=sum in=bf16 out=bf16 acc=f32 mask=none reverse=1 exclusive=0 length=1000 layout=rows row_rank=1"
    assert rowscan.spec(x, 1, reverse=True) == text
    seen = []
    jax.jit(lambda x: seen.append(rowscan.spec(x, 1, reverse=True)) or x)(x)
    assert seen == [text]
    assert "mask=select" in rowscan.spec(x, 0, mask=x > 0) and "layout=columns" in rowscan.spec(x, 0)
    assert rowscan.prepare(x, 1) is None
    assert jax.jit(lambda x: rowscan.prepare(x, 1) or x)(x).shape == x.shape


# ---- derivatives -----------------------------------------------------------------------------------------------------

def test_scans_by_name_have_the_derivatives_of_their_functions():
    x = random((3, 4))
    for op, function in (("sum", rowscan.cumsum), ("prod", rowscan.cumprod)):
        for derive in (jax.grad, lambda f: lambda x: jax.jvp(f, (x,), (x,))[1]):
            ours, theirs = (derive(lambda x: (f(x) ** 2).sum())(x)
                            for f in (lambda x: rowscan.scan(x, 1, op, exclusive=True),
                                      lambda x: function(x, 1, exclusive=True)))
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(rowscan.Unsupported, match="operator extended_prod has no derivative"):
        jax.grad(lambda x: rowscan.scan(x, 1, "extended_prod").sum())(x)


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_derivatives_of_all_orders(op, flags, x64):
    """Forward, reverse, and each of the other: by x, by a mask that multiplies, by initial values; of totals too."""
    function = rowscan.cumsum if op == "sum" else rowscan.cumprod
    dim = 0 if flags else 1
    x = random((3, 4), np.float64).at[1, 2].set(0).at[2, 2].set(0)  # zeros, for products
    select = jnp.asarray(np.random.default_rng(5).integers(0, 2, (4,)), bool)
    factor, init = random((1, 4), np.float64, 3), random((3, 1) if dim else (1, 4), np.float64, 4)

    def mixed(results):
        y, totals = results
        return jnp.sin(y).sum() + (totals ** 2).sum() + (y[..., ::2] * 3).sum()
    for f, arguments in (
            (lambda x: mixed(function(x, dim, totals=True, mask=select, **flags)), (x,)),
            (lambda x, m: mixed(function(x, dim, totals=True, mask=m, mask_mode="multiply", **flags)), (x, factor)),
            (lambda x, i: mixed(function(x, dim, totals=True, init=i, **flags)), (x, init)),
            (lambda i: function(x, dim, init=i, **flags), (init,)), (lambda x: function(x, dim, **flags), (x,)),
            (lambda m: function(x, dim, mask=m, mask_mode="multiply", **flags), (factor,))):
        twice = len(arguments) > 1 and (op == "sum" or not flags)  # products take XLA long to compile
        check_grads(jax.jit(f), arguments, order=1 + twice, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [rowscan.cumulative_sum, rowscan.cumulative_prod])
def test_derivatives_with_an_initial_element(function, x64):
    x = random((3, 4), np.float64)
    check_grads(lambda x: jnp.sin(function(x, axis=1, include_initial=True)), (x,), order=2, modes=["fwd", "rev"])


@pytest.mark.parametrize("op", ["sum", "prod"])
def test_what_users_try(op):
    ours, theirs = (rowscan.cumsum, jnp.cumsum) if op == "sum" else (rowscan.cumprod, jnp.cumprod)
    x = random((4, 6)) + 1
    for transform in (jax.jacfwd, jax.jacrev, jax.hessian, lambda f: jax.jacfwd(jax.jacfwd(f)),
                      lambda f: jax.jacrev(jax.jacrev(f)), lambda f: jax.grad(lambda r: (f(r) ** 2).sum()),
                      lambda f: jax.vmap(jax.grad(lambda r: f(r)[-1])), lambda f: jax.checkpoint(f),
                      lambda f: jax.grad(jax.checkpoint(lambda r: jnp.tanh(f(r)).sum())),
                      lambda f: lambda x: jax.linearize(f, x)[1](x), lambda f: lambda x: jax.vjp(f, x)[1](x)[0],
                      lambda f: lambda x: jax.lax.map(f, x), lambda f: lambda x: jax.lax.cond(x.sum() > 0, f, f, x),
                      lambda f: lambda x: jax.lax.fori_loop(0, 3, lambda i, v: f(v) / 8, x)):
        a, b = (transform(lambda r, f=f: f(r, 0))(x) for f in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)
        if op == "prod":  # which takes XLA long to compile
            continue
        a, b = (jax.jit(transform(lambda r, f=f: f(r, -1)))(x) for f in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def weighed(function):
    return lambda x, w, **options: function(x, 1, mask=w, mask_mode="multiply", **options)


PRODUCTS = {"cumprod": lambda x, w, **o: rowscan.cumprod(x, 1, **o), "cumprod, weighed": weighed(rowscan.cumprod),
            "cumsum, weighed": weighed(rowscan.cumsum),
            "logcumsumexp": lambda x, w, **o: rowscan.logcumsumexp(x, 1, **o),
            "linear_recurrence": lambda x, w, **o: rowscan.linear_recurrence(x, w, 1, **o),
            "cummax": lambda x, w, **o: rowscan.cummax(x, 1, **o)}
SEGMENTED = {"row": {}, "keys": {"keys": [4, 4, 4, 2, 2]},
             "mask and heads": {"mask": [1, 0, 1, 1, 1], "heads": [0, 0, 0, 1, 0]}}


@pytest.mark.parametrize("reverse,totals", [(False, False), (True, True)], ids=["", "reverse, totals"])
@pytest.mark.parametrize("beside", SEGMENTED)
@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_do_not_depend_on_what_no_result_does(name, beside, reverse, totals):
    """The last element of an exclusive scan, and of each segment, may be anything."""
    if "weighed" in name and (beside == "mask and heads" or beside != "row" and name == "cumprod, weighed"):
        pytest.skip("two masks, or no such gradient")
    options = {word: jnp.asarray([flags], jnp.int32 if word == "keys" else bool)
               for word, flags in SEGMENTED[beside].items()}

    def total(x, w):
        y = PRODUCTS[name](x, w, exclusive=True, reverse=reverse, totals=totals, **options)
        return sum((jnp.where(jnp.isfinite(a), a, 0) ** 2).sum() for a in (y if totals else (y,)))

    @jax.jit
    def derivatives(x, w):
        squares = lambda x, w: sum((d * d).sum() for d in jax.grad(total, (0, 1))(x, w))
        return (*jax.grad(total, (0, 1))(x, w), *jax.grad(squares, (0, 1))(x, w))
    x, w = random((2, 5)), random((2, 5), seed=1)
    ends = [0, 3] if reverse else [4, 2]  # of the row, and of the first segment
    unused = np.array(ends[:1 - totals] if beside == "row" else ends[totals:], int)
    want = derivatives(x, w)
    for bad in (np.inf, np.nan):
        got = derivatives(*(array.at[:, unused].set(bad) for array in (x, w)))
        for a, b in zip(got, want):
            assert not a[:, unused].any()
            np.testing.assert_array_equal(a, b)


def test_gradients_have_the_inputs_type():
    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32):
        x = jnp.arange(1, 5, dtype=dtype)
        g = jax.grad(lambda x: rowscan.cumsum(x, 0, dtype=jnp.float32).sum())(x)
        assert g.dtype == dtype
        np.testing.assert_array_equal(g.astype(float), [4, 3, 2, 1])
    y, pull = jax.vjp(lambda m: rowscan.cumsum(jnp.arange(3), 0, mask=m), jnp.array([True, False, True]))
    assert pull(np.zeros(3, jax.dtypes.float0))[0].dtype == jax.dtypes.float0
    nan = jax.grad(lambda x: rowscan.cumsum(x, 0, mask=~jnp.isnan(x)).sum())(jnp.array([1, jnp.nan, 2.0]))
    np.testing.assert_array_equal(nan, [3, 0, 1])


# ---- batches ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("x_axis,mask_axis,init_axis", [
    (0, None, None), (1, 0, None), (2, 1, 0), (None, 0, None), (None, None, 1), (0, 1, 1), (None, 1, 0), (2, None, 0)])
def test_vmap(x_axis, mask_axis, init_axis):
    """Of each argument along each axis, against a loop."""
    def with_axis(array, axis, size=5):
        return array if axis is None else jnp.stack([array * (i + 1) for i in range(size)], axis)
    for dim, flags, totals in ((0, {}, False), (1, {"reverse": True}, True), (-1, {"exclusive": True}, True)):
        x = with_axis(random((3, 4)), x_axis)
        mask = with_axis(random((4,)), mask_axis) > 0
        init = with_axis(random((1, 1)), init_axis)

        def f(x, mask, init):
            return rowscan.cumsum(x, dim, mask=mask, init=init, totals=totals, **flags)
        got = jax.vmap(f, (x_axis, mask_axis, init_axis))(x, mask, init)

        def at(array, axis, i):
            return array if axis is None else jnp.take(array, i, axis)
        for i in range(5):
            want = f(at(x, x_axis, i), at(mask, mask_axis, i), at(init, init_axis, i))
            for a, b in zip(got if totals else [got], want if totals else [want]):
                order.assert_bits(np.asarray(a[i]), np.asarray(b))


def test_vmap_of_vmap_and_out_axes():
    x = random((2, 3, 4, 5))
    f = jax.vmap(jax.vmap(lambda r: rowscan.cumsum(r, 0), 1, 1), 2, 0)
    np.testing.assert_allclose(f(x), jnp.moveaxis(jnp.cumsum(x, 0), 2, 0), rtol=1e-5)
    g = jax.vmap(jax.grad(lambda r, m: rowscan.cumsum(r, 0, mask=m).sum()), (0, None))
    np.testing.assert_allclose(g(x[0, 0], jnp.array([1, 0, 1, 1, 0], bool)), np.tile([5, 0, 3, 2, 0], (4, 1)))


# ---- calls -----------------------------------------------------------------------------------------------------------

def test_nothing_is_traced_twice():
    """An eager call is a call of a compiled function, found by its configuration."""
    from rowscan import _jax
    x = random((7, 11))
    rowscan.cumsum(x, 1)
    before = _jax._compiled.cache_info()
    for _ in range(20):
        rowscan.cumsum(x, 1)
    after = _jax._compiled.cache_info()
    assert after.hits == before.hits + 20 and after.misses == before.misses
    count = []
    f = jax.jit(lambda x: count.append(1) or rowscan.cumsum(x, 1))
    f(x), f(x + 1)
    assert len(count) == 1


def test_many_threads():
    import concurrent.futures
    x = random((64, 257))
    want = np.asarray(rowscan.cumsum(x, 1))
    f = jax.jit(lambda x: rowscan.cumsum(x, 1))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for y in pool.map(lambda i: f(x) if i % 2 else rowscan.cumsum(x, 1), range(200)):
            order.assert_bits(np.asarray(y), want)


def test_export():
    export = pytest.importorskip("jax.export")
    x = random((3, 4))
    pytest.importorskip("flatbuffers")
    exported = export.export(jax.jit(lambda x: rowscan.cumsum(x, 1)),
                             disabled_checks=[export.DisabledSafetyCheck.custom_call("rowscan")])(x)
    again = export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(x), rowscan.cumsum(x, 1))


def run_with_devices(count, code):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu",
                   "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}"}
    head = """
        import jax, jax.numpy as jnp, numpy as np, rowscan
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        mesh = Mesh(np.array(jax.devices()), ("d",))
        x = jnp.arange(32.0).reshape(8, 4)
        want = np.cumsum(np.asarray(x), 1)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(code)], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rows_stay_on_their_devices():
    run_with_devices(4, """
        split = jax.device_put(x, NamedSharding(mesh, P("d")))
        whole_rows = NamedSharding(mesh, P("d", None))
        for f, kinds in ((lambda x: rowscan.cumsum(x, 1), 1), (lambda x: rowscan.cumprod(x, -1, mask=x > 3), 1),
                         (lambda x: rowscan.cumsum(x, 1, totals=True, init=jnp.ones((8, 1))), 2),
                         (jax.grad(lambda x: (rowscan.cumsum(x, 1) ** 2).sum()), 1),
                         (jax.vmap(lambda x: rowscan.cumsum(x, 0)), 1)):
            compiled = jax.jit(f).lower(split).compile()
            assert "all-gather" not in compiled.as_text()
            y = jax.tree.leaves(f(split))
            for a, b in zip(jax.tree.leaves(compiled(split)), jax.tree.leaves(f(x))):
                assert a.sharding.is_equivalent_to(NamedSharding(mesh, P("d")), a.ndim), a.sharding
                np.testing.assert_array_equal(a, b)
        for spec in (P(None, "d"), P()):  # split along the row: scanned in parts
            y = jax.jit(lambda x: rowscan.cumsum(x, 1))(jax.device_put(x, NamedSharding(mesh, spec)))
            np.testing.assert_array_equal(y, want)
        y = jax.jit(lambda x: rowscan.cumsum(x, 0))(split)
        np.testing.assert_array_equal(y, np.cumsum(np.asarray(x), 0))
        mask = jnp.array([True, False, True, True])  # which has not all dimensions
        y = jax.jit(lambda x: rowscan.cumsum(x, 1, mask=mask))(split)
        np.testing.assert_array_equal(y, np.cumsum(np.where(mask, x, 0), 1))
    """)


def test_shard_map_and_pmap():
    run_with_devices(4, """
        try:
            from jax import shard_map
        except ImportError:
            from jax.experimental.shard_map import shard_map
        for f in (lambda x: rowscan.cumsum(x, 1), lambda x: rowscan.cumsum(x, 1, totals=True)[0],
                  jax.grad(lambda x: (rowscan.cumsum(x, 1) ** 2).sum())):
            mapped = shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
            for g in (mapped, jax.jit(mapped)):
                np.testing.assert_allclose(g(x), f(x), rtol=1e-6)
        totals = shard_map(lambda x: rowscan.cumsum(x, 1, totals=True)[1], mesh=mesh, in_specs=P("d"), out_specs=P("d"))
        np.testing.assert_array_equal(totals(x), want[:, -1])
        y = jax.pmap(lambda x: rowscan.cumsum(x, 1))(x.reshape(4, 2, 4))
        np.testing.assert_array_equal(np.asarray(y).reshape(8, 4), want)
    """)
