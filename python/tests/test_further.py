"""test_further.py - scans with further inputs, numbers of a run and a second output: scan()'s more, params and second

SPDX-License-Identifier: MIT

gae and argmax have them on the CPU; operators of a user's need a GPU and CuPy, which test_simulated.py stands in for.
"""
import itertools

import pytest

np = pytest.importorskip("numpy")

import rowscan  # noqa: E402

PARAMS = 0.99, 0.95

# An exponential average of x * w, which begins anew where `begins` is not 0, and how far x is from it.
AVERAGE = """// rowscan: op=Average numbers=2 types=floats inputs=3 params=1 outputs=2
template <class A, class K> struct Average {
  struct Total { A factor, term; };
  RS_METHOD static Total load(A x, A w, A begins, A part) { return {begins != 0 ? 0 : 1 - part, part * (x * w)}; }
  RS_METHOD static Total begin(A y) { return {1, y}; }
  RS_METHOD static Total neutral() { return {1, 0}; }
  RS_METHOD static Total combine(Total l, Total r) { return {l.factor * r.factor, r.factor * l.term + r.term}; }
  RS_METHOD static A store(Total t) { return t.term; }
  RS_METHOD static A second(Total t, A x, A, A, A) { return x - t.term; }
};
"""
SHIFTED = """// rowscan: op=Shifted types=floats params=1
template <class A, class K> struct Shifted {
  using Total = A;
  RS_METHOD static Total load(A x, A by) { return x + by; }
  RS_METHOD static Total begin(A y) { return y; }
  RS_METHOD static Total neutral() { return 0; }
  RS_METHOD static Total combine(Total l, Total r) { return l + r; }
  RS_METHOD static A store(Total t) { return t; }
};
"""


def rollout(shape=(3, 50), dtype="f4"):
    """Rewards, values, next values, and where steps end in a terminal state, and an episode."""
    random = np.random.default_rng(len(shape))
    terminated = random.random(shape) < 0.1
    return *(random.standard_normal(shape).astype(dtype) for _ in range(3)), terminated, terminated | (
        random.random(shape) < 0.1)


def advantages(x, more, dim=-1, **options):
    return rowscan.scan(x, dim, "gae", reverse=True, more=more, params=PARAMS, second=True, **options)


def wanted(x, values, following, terminated, done, dim=-1, **options):
    return rowscan.gae(x, values, *PARAMS, following, terminated, done, dim, **options)


def assert_same(got, want):
    assert isinstance(got, tuple) and len(got) == len(want)
    for a, b in zip(got, want):
        a = np.asarray(a)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)


# ---- NumPy -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape, dim", [((50,), 0), ((3, 50), 1), ((50, 7), 0), ((2, 30, 5), 1)], ids=str)
def test_gae_is_a_scan(shape, dim, dtype):
    x, *more = rollout(shape, dtype)
    want = wanted(x, *more, dim)
    assert_same(advantages(x, more, dim), want)
    assert_same(advantages(np.asfortranarray(x), [np.asfortranarray(array) for array in more], dim), want)
    alone = rowscan.scan(x, dim, "gae", reverse=True, more=more, params=PARAMS)
    np.testing.assert_array_equal(alone, want[0])
    out = np.empty_like(x)
    y, _ = advantages(x, more, dim, out=out)
    assert y is out
    np.testing.assert_array_equal(out, want[0])


def test_what_they_broadcast_from_and_convert():
    x, values, following, terminated, done = rollout()
    want = wanted(x, np.full_like(x, 2), np.broadcast_to(following[:1], x.shape), np.zeros_like(terminated), done)
    assert_same(advantages(x, (2, following[:1].astype("f8"), False, done.astype("i4"))), want)
    assert_same(advantages(x, (np.full((1, 1), 2, "u1"), following[0], 0, done.astype("f4"))), want)


def test_second_outputs_of_indices():
    x = np.random.default_rng(3).integers(-50, 50, (4, 60)).astype("i2")
    for reverse, ties in itertools.product((False, True), ("last", "first")):
        for name, extreme in ("argmax", rowscan.cummax), ("argmin", rowscan.cummin):
            options = {"reverse": reverse, "ties": ties}
            got = rowscan.scan(x, 1, name, second=True, **options)
            assert_same(got, (rowscan.scan(x, 1, name, **options), extreme(x, 1, reverse=reverse)))
            at, values, totals = rowscan.scan(x, 1, name, second=True, totals=True, **options)
            np.testing.assert_array_equal(totals, at[:, 0 if reverse else -1])
            np.testing.assert_array_equal(values, got[1])


def test_the_order_of_results():
    x, *more = rollout()
    y, returns, totals = advantages(x, more, totals=True, acc="f64")
    np.testing.assert_array_equal(totals.astype("f4"), y[:, 0])
    np.testing.assert_allclose(returns, y + more[0], rtol=1e-5, atol=1e-6)
    y, totals = rowscan.scan(x, 1, "gae", reverse=True, more=more, params=PARAMS, totals=True)
    assert totals.shape == (3,)


def test_masks_and_segments():
    x, *more = rollout()
    keep = np.random.default_rng(1).random(x.shape) < 0.5
    assert_same(advantages(x, more, mask=np.ones_like(keep)), wanted(x, *more))
    y, _ = advantages(x, (*more[:3], more[2]), mask=keep)
    for row in range(3):  # a step that is left out is passed over
        short, = (wanted(*(array[row, keep[row]] for array in (x, *more[:3])), None)[:1])
        np.testing.assert_array_less(abs(y[row, keep[row]] - short), 1e-5 * (1 + abs(short)))
    parts, _ = advantages(x, (*more[:3], False), acc="f32", tails=more[3])
    np.testing.assert_allclose(parts, wanted(x, *more)[0], rtol=1e-4, atol=1e-4)


def test_spec_and_prepare():
    x, *more = rollout()
    options = {"reverse": True, "more": more, "params": PARAMS}
    text = rowscan.spec(x, 1, "gae", second=True, **options)
    assert text.endswith(" row_rank=1 more1=f32 more2=f32 more3=bool more4=bool second=f32")
    assert rowscan.spec(x, 1, "gae", **options) == text.replace(" second=f32", "")
    rowscan.prepare(x, 1, "gae", second=True, **options)


def test_calls_that_are_refused():
    x, *more = rollout()
    for options, error, words in (
            ({}, TypeError, "more is not given, and gae has 4 inputs beside x"),
            ({"more": x}, TypeError, "more is a ndarray, not a tuple of arrays and numbers"),
            ({"more": more[:3]}, TypeError, "more is a tuple of 3, and gae has 4 inputs beside x"),
            ({"more": more}, TypeError, "params is not given, and gae has 2 numbers of a run"),
            ({"more": more, "params": 0.9}, TypeError, "params is a float, not a tuple of numbers"),
            ({"more": more, "params": (1, 1, 1)}, TypeError, "params is a tuple of 3, and gae has 2"),
            ({"more": more, "params": ("a", 1)}, ValueError, "could not convert"),
            ({"more": (x[:, :7], *more[1:]), "params": PARAMS}, ValueError, r"more\[0\] has shape \(3, 7\)"),
            ({"more": more, "params": PARAMS, "coefficient": x}, TypeError, "coefficient is given, and gae has none"),
            ({"op": "sum", "second": True}, TypeError, "second is True, and sum has one output"),
            ({"op": "max", "more": (x,)}, TypeError, "more is a tuple of 1, and max has 0 inputs beside x"),
            ({"op": "sum", "params": (1,)}, TypeError, "params is a tuple of 1, and sum has 0 numbers of a run")):
        with pytest.raises(error, match=words):
            rowscan.scan(x, 1, **{"op": "gae", **options})
    with pytest.raises(TypeError, match="cumsum.* has no argument 'more'"):
        rowscan.cumsum(x, 1, more=(x,))
    with pytest.raises(rowscan.BadArgument, match="gae requires a floating type"):
        rowscan.scan(x.astype("i4"), 1, "gae", more=more, params=PARAMS)


# ---- torch -----------------------------------------------------------------------------------------------------------

def test_torch(torch):
    x, *more = rollout()
    want, its, (y, *others) = wanted(x, *more), torch.from_numpy, map(torch.from_numpy, (x, *more))
    assert_same(advantages(y, others), want)
    assert_same(advantages(y.T.contiguous().T, others), want)
    out = torch.empty_like(y)
    version = out._version
    assert advantages(y, others, out=out)[0] is out and out._version > version
    np.testing.assert_array_equal(out.numpy(), want[0])
    with torch.no_grad():
        assert_same(advantages(y.clone().requires_grad_(), others), want)
    assert advantages(y.to("meta"), [array.to("meta") for array in others])[1].shape == y.shape
    at, values = rowscan.scan(its(x), 1, "argmax", second=True)
    assert_same((at, values), rowscan.scan(x, 1, "argmax", second=True))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, backend):
    x, *more = rollout()
    y, *others = map(torch.from_numpy, (x, *more))
    compiled = torch.compile(lambda x, others: advantages(x, others, totals=True), fullgraph=True, backend=backend)
    assert_same(compiled(y, others)[:2], wanted(x, *more))


def test_torch_has_no_gradient(torch):
    y, *others = map(torch.from_numpy, rollout())
    words = "a scan of operator gae with more, params, second, or .* has no gradient here"
    with pytest.raises(rowscan.Unsupported, match=words):
        advantages(y.clone().requires_grad_(), others)
    with pytest.raises(rowscan.Unsupported, match=words):
        advantages(y, [others[0].clone().requires_grad_(), *others[1:]])
    with pytest.raises(rowscan.Unsupported, match="operator argmax with"):
        rowscan.scan(y.clone().requires_grad_(), 1, "argmax", second=True)
    for transformed in (lambda: torch.func.grad(lambda y: advantages(y, others)[0].sum())(y),
                        lambda: torch.func.jvp(lambda y: advantages(y, others)[0], (y,), (y,))):
        with pytest.raises(rowscan.Unsupported, match=words):
            transformed()
    compiled = torch.compile(lambda y: advantages(y, others)[0], backend="eager")
    with pytest.raises(Exception, match=words):
        compiled(y.clone().requires_grad_())
    assert_same(torch.vmap(lambda y, *others: advantages(y, others))(y, *others), wanted(*rollout()))


# ---- JAX -------------------------------------------------------------------------------------------------------------

def test_jax(jax):
    x, *more = rollout()
    want, (y, *others) = wanted(x, *more), map(jax.numpy.asarray, (x, *more))
    for call in (advantages, jax.jit(advantages), jax.vmap(advantages)):
        assert_same(tuple(call(y, others)), want)
    part = jax.vmap(lambda y: advantages(y, (others[0][0], others[1][0], False, False)))(y)
    no = np.zeros_like(more[2])
    assert_same(part, wanted(x, *(np.broadcast_to(array[0], x.shape) for array in more[:2]), no, no))
    y2, _, totals = advantages(y, others, totals=True, init=3)
    assert totals.shape == (3,)
    np.testing.assert_allclose(totals, y2[:, 0], rtol=1e-6)
    np.testing.assert_array_equal(rowscan.scan(y, 1, "argmax", second=True)[1], rowscan.cummax(x, 1))
    text = rowscan.spec(y, 1, "gae", reverse=True, more=others, params=PARAMS, second=True)
    assert text == rowscan.spec(x, 1, "gae", reverse=True, more=more, params=PARAMS, second=True)
    rowscan.prepare(y, 1, "gae", reverse=True, more=others, params=PARAMS, second=True)


def test_jax_has_no_derivative(jax):
    y, *others = map(jax.numpy.asarray, rollout())
    for function in (lambda y: advantages(y, others)[0].sum(), lambda y: advantages(y, others)[1].sum(),
                     lambda v: advantages(y, [v, *others[1:]])[0].sum(),
                     lambda y: rowscan.scan(y, 1, "argmax", second=True)[1].sum()):
        with pytest.raises(rowscan.Unsupported, match="with more, params, second, or .* has no derivative"):
            jax.grad(function)(y)


# ---- operators of a user's, and other libraries ----------------------------------------------------------------------

def test_own_operators_say_what_they_have():
    x = np.ones((2, 3), "f4")
    average, shifted = rowscan.create_op(AVERAGE), rowscan.create_op(SHIFTED)
    assert (average, shifted) == ("Average", "Shifted")
    text = rowscan.spec(x, 1, average, more=(x, x > 0), params=(0.5,), second=True)
    assert text.endswith(" row_rank=1 more1=f32 more2=bool second=f32")
    for op, options, words in (
            (average, {"params": (1,)}, "more is not given, and Average has 2 inputs beside x"),
            (average, {"more": (x, x)}, "params is not given, and Average has 1 number of a run"),
            (shifted, {}, "params is not given, and Shifted has 1 number of a run"),
            (shifted, {"params": (1,), "second": True}, "second is True, and Shifted has one output")):
        with pytest.raises(TypeError, match=words):
            rowscan.scan(x, 1, op, **options)
    with pytest.raises(rowscan.Unsupported, match="Average has no host functions"):
        rowscan.scan(x, 1, average, more=(x, x), params=(0.5,), second=True)


@pytest.fixture
def cp():
    module = pytest.importorskip("cupy")
    try:
        module.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy's own
        pytest.skip(f"no GPU: {error}")
    return module


def test_own_operators_on_a_gpu(cp):
    average, shifted = rowscan.create_op(AVERAGE), rowscan.create_op(SHIFTED)
    random = np.random.default_rng(5)
    x, begins = random.standard_normal((3, 200)).astype("f4"), random.random((3, 200)) < 0.03
    for part in (0.25, 0.125):
        y, far = rowscan.scan(cp.asarray(x), 1, average, more=(2, cp.asarray(begins)), params=(part,), second=True)
        want, after = np.zeros_like(x), np.zeros(3)
        for i in range(200):
            after = want[:, i] = np.where(begins[:, i], 0, 1 - part) * after + part * (2 * x[:, i])
        np.testing.assert_allclose(cp.asnumpy(y), want, 1e-4, 1e-4)
        np.testing.assert_allclose(cp.asnumpy(far), x - want, 1e-4, 1e-4)
        y = rowscan.scan(cp.asarray(x), 1, shifted, params=(part,))
        np.testing.assert_allclose(cp.asnumpy(y), np.cumsum(x + part, 1), 1e-4, 1e-4)
    rowscan.prepare(cp.asarray(x), 1, average, more=(2, cp.asarray(begins)), params=(0.5,), second=True)


def test_gae_on_a_gpu(cp):
    x, *more = rollout((2, 40))
    got = advantages(cp.asarray(x), [cp.asarray(array) for array in more])
    assert_same(tuple(map(cp.asnumpy, got)), wanted(x, *more))


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="NumPy 1 lends no bools by DLPack")
def test_by_dlpack():
    """An array of a library that nobody knows."""
    class Other:
        def __init__(self, array):
            self.array, self.ndim, self.device = array, array.ndim, "cpu"

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __array_namespace__(self):
            return Namespace

    class Namespace:
        float32 = np.float32

        @staticmethod
        def empty(shape, dtype, device):
            return Other(np.empty(shape, dtype))

    x, *more = rollout()
    got = advantages(Other(x), [Other(array) for array in more])
    assert_same(tuple(array.array for array in got), wanted(x, *more))
