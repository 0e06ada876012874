"""test_returns.py - discounted returns and advantages in every library, against a loop

SPDX-License-Identifier: MIT
"""
import itertools
import math

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

GAMMA, LAM = 0.9, 0.75
T = 23


def returns_loop(rewards, gamma, done=None, init=0.):
    """Along the first dimension, in float64."""
    rewards = np.asarray(rewards, "f8")
    done = np.zeros(rewards.shape) if done is None else np.broadcast_to(done, rewards.shape)
    gamma, after = np.broadcast_to(gamma, rewards.shape), np.broadcast_to(np.asarray(init, "f8"), rewards.shape[1:])
    y = np.empty_like(rewards)
    for t in reversed(range(len(rewards))):
        after = y[t] = rewards[t] + gamma[t] * np.where(done[t], 0, after)
    return y


def gae_loop(rewards, values, next_values, gamma, lam, terminated, done):
    """Along the first dimension, in float64, as CleanRL and torchrl have it."""
    rewards, values, next_values = (np.asarray(a, "f8") for a in (rewards, values, next_values))
    y, after = np.empty_like(rewards), np.zeros(rewards.shape[1:])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        after = y[t] = delta + gamma * lam * ~done[t] * after
    return y, y + values


@pytest.fixture
def episodes():
    """rewards, values, next_values, terminated, done: of T steps in 4 environments."""
    random = np.random.default_rng(8)
    rewards, values, next_values = random.standard_normal((3, T, 4))
    terminated = random.random((T, 4)) < 0.1
    done = terminated | (random.random((T, 4)) < 0.1)
    return rewards, values, next_values, terminated, done


def close(got, want, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(got, "f8"), want, rtol=tolerance, atol=tolerance)


def narrow_cases(array, f16):
    """Rewards of 1 in a type of 16 bits, which has no 0.999, and what their returns should be."""
    x, done = array(np.ones(3000)).astype(f16), array(np.zeros(3000, bool))
    for f in (lambda x: rowscan.discounted_returns(x, 0.999), lambda x: rowscan.discounted_returns(x, 0.999, done),
              lambda x: rowscan.linear_recurrence(x, 0.999, 0, reverse=True)):
        yield x, f


def check_narrow(y):
    """950.3, or within half an ulp of bf16; f16's nearest to 0.999 would come to 969, bf16's, which is 1, to 3000."""
    assert abs(float(y[0]) - (1 - 0.999**3000) / 0.001) <= 2


# ---- NumPy -----------------------------------------------------------------------------------------------------------

def test_returns(episodes):
    rewards, values, _, _, done = episodes
    given = None, done, done.astype("f4"), done.astype(int), done[:, :1], done[0], [1, 0, 0, 1]
    for flags, init in itertools.product(given, (None, 2, values[:1])):
        want = returns_loop(rewards, GAMMA, flags, 0 if init is None else init if np.isscalar(init) else init[0])
        close(rowscan.discounted_returns(rewards, GAMMA, flags, 0, init=init), want)
    for time in (dict(dim=1), dict(axis=1), dict(axis=-1)):
        got = rowscan.discounted_returns(rewards.T, GAMMA, done.T, init=3, **time)
        close(got, returns_loop(rewards, GAMMA, done, 3).T)
    close(rowscan.discounted_returns(rewards, abs(values), done, 0), returns_loop(rewards, abs(values), done))
    close(rowscan.discounted_returns(rewards, 1, done, 0), returns_loop(rewards, 1, done))


def test_types(episodes):
    rewards, values, _, _, done = episodes
    for dtype, flags in itertools.product(("f2", "f4", "f8"), (None, done)):
        y = rowscan.discounted_returns(rewards.astype(dtype), GAMMA, flags, 0)
        assert y.dtype == dtype
        close(y, returns_loop(rewards.astype(dtype), GAMMA, flags), {"f2": 1e-2, "f4": 1e-6, "f8": 1e-12}[dtype])
        for more in ({}, dict(done=done)):
            longer = np.zeros((T + 1, 4), dtype)
            both = rowscan.gae(rewards.astype(dtype), longer, GAMMA, LAM, dim=0, **more)
            assert [a.dtype for a in both] == [dtype, dtype]
    assert rowscan.discounted_returns(np.ones((2, 0)), 0.5, np.ones((2, 0)), 1).shape == (2, 0)
    assert rowscan.discounted_returns(np.array(3.), 0.5).tolist() == [3.]
    y = rowscan.discounted_returns(rewards.astype("f4"), GAMMA, done, 0, acc="f32")
    close(y, returns_loop(rewards, GAMMA, done), 1e-5)


def check_integers(array, floating):
    """Results of integers and bool have the type that a float has, with flags and without, whatever gamma is."""
    for dtype, gamma, done in itertools.product(("i1", "i8", "u1", "?"), (1, True, 0.5, array([1, 1, 1])),
                                                (None, [0, 0, 0], array([0, 1, 0]))):
        given = array(np.array([1, 1, 0]).astype(dtype))
        y = rowscan.discounted_returns(given, gamma, done)
        assert y.dtype == floating
        close(y, returns_loop([1, 1, 0], np.asarray(gamma), done if done is None else np.asarray(done)), 1e-6)
        both = rowscan.gae(given, array(np.array([1, 1, 1, 1])), gamma, 1, done=done)
        assert [a.dtype for a in both] == [floating, floating]


def test_integers():
    check_integers(np.asarray, "f8")
    assert rowscan.gae(np.array([1, 2]), np.ones(3, "f4"), 1, 1)[0].dtype == "f8"


def test_numbers_that_types_of_16_bits_do_not_have():
    for x, f in narrow_cases(np.asarray, "f2"):
        assert f(x).dtype == "f2"
        check_narrow(f(x))
    x = np.ones(3000, "f2")
    assert rowscan.linear_recurrence(x, 0.999, 0, out=x) is x and abs(x[-1] - 950.3) < 1
    assert "in=f16" in rowscan.spec(x, 0, "linear_recurrence", coefficient=0.5)


def test_advantages(episodes):
    rewards, values, next_values, terminated, done = episodes
    for given in (dict(terminated=terminated, done=done), dict(done=done), dict(terminated=terminated), {}):
        ends = given.get("terminated", given.get("done", np.zeros((T, 4), bool)))
        cuts = given.get("done", ends)
        want = gae_loop(rewards, values, next_values, GAMMA, LAM, ends, cuts)
        for got in (rowscan.gae(rewards, values, GAMMA, LAM, next_values, dim=0, **given),
                    [a.T for a in rowscan.gae(rewards.T, values.T, GAMMA, LAM, next_values.T, axis=1,
                                              **{name: flags.T for name, flags in given.items()})]):
            for a, b in zip(got, want):
                close(a, b)
        longer = np.concatenate([values, next_values[-1:]])
        want = gae_loop(rewards, values, longer[1:], GAMMA, LAM, ends, cuts)
        word = ("next_step",) if len(given) == 2 else ()
        for a, b in zip(rowscan.gae(rewards, longer, GAMMA, LAM, *word, dim=-2, **given), want):
            close(a, b)


def flags_of(terminated, truncated):
    """Ways to give both, and what they say: where nothing comes behind a step, and where an episode ends."""
    over = terminated | truncated
    return ((dict(terminated=terminated, truncated=truncated), terminated, over),
            (dict(terminated=terminated, truncated=truncated, done=over), terminated, over),
            (dict(terminated=terminated, done=truncated), terminated, over),  # a terminal step ends an episode
            (dict(terminated=terminated, done=np.zeros_like(over)), terminated, terminated),
            (dict(terminated=terminated, truncated=truncated, done=np.zeros_like(over)), terminated, over),
            (dict(truncated=truncated, done=over), over & ~truncated, over),  # gym's TimeLimit.truncated
            (dict(truncated=truncated), np.zeros_like(over), truncated),
            (dict(truncated=truncated[:, :1], terminated=terminated[0]), np.broadcast_to(terminated[0], over.shape),
             truncated[:, :1] | terminated[0]))


def check_flags(f, episodes, tolerance):
    """Of f(gamma, next_values, flags), of the rewards and values of episodes."""
    rewards, values, next_values, terminated, _ = episodes
    random = np.random.default_rng(9).random((T, 4))
    truncated = (random < 0.15) | (terminated & (random < 0.5))
    assert (terminated & truncated).any() and (terminated & ~truncated).any()
    for given, ends, cuts in flags_of(terminated, truncated):
        want = gae_loop(rewards, values, next_values, GAMMA, LAM, ends, cuts)
        for gamma in GAMMA, np.full((T, 1), GAMMA):  # in one pass, and not
            for a, b in zip(f(gamma, next_values, given), want):
                close(a, b, tolerance)


def test_flags(episodes):
    check_flags(lambda gamma, following, given: rowscan.gae(*episodes[:2], gamma, LAM, following, dim=0, **given),
                episodes, 1e-12)
    check_flags(lambda gamma, following, given: rowscan.gae(
        *episodes[:2], gamma, LAM, following, dim=0, **{name: flags.astype("f4") for name, flags in given.items()}),
                episodes, 1e-12)


def test_where_an_episode_was_cut_off():
    """values[t+1] may be of the next episode there, and is not taken without a word: 100 is not the 5 that is right."""
    rewards, values = np.zeros((3, 1)), np.array([[0.], [0.], [100.], [0.]])
    cut, never = np.array([[0], [1], [0]]), np.zeros((3, 1))
    for given, words in ((dict(terminated=never, done=cut), "terminated and done are"),
                         (dict(truncated=cut), "truncated is"), (dict(truncated=cut, done=cut), "truncated is"),
                         (dict(terminated=never, truncated=cut), "truncated is")):
        with pytest.raises(TypeError, match=f"next_values is not given, and {words}, .* 'next_step' if values"):
            rowscan.gae(rewards, values, 1., 1., dim=0, **given)
        right = rowscan.gae(rewards, values[:-1], 1., 1., np.array([[0.], [5.], [0.]]), dim=0, **given)
        assert right[0].ravel().tolist() == [5, 5, -100]
        told = rowscan.gae(rewards, values, 1., 1., "next_step", dim=0, **given)
        assert told[0].ravel().tolist() == [100, 100, -100]
    for given in (dict(done=cut), dict(terminated=cut)):
        assert rowscan.gae(rewards, values, 1., 1., dim=0, **given)[0].ravel().tolist() == [0, 0, -100]


def test_what_is_not_looked_at(episodes):
    """A value behind a terminal state may be NaN, and what is behind a cut."""
    rewards, values, next_values, terminated, done = episodes
    odd = np.where(terminated, np.nan, next_values)
    for a, b in zip(rowscan.gae(rewards, values, GAMMA, LAM, odd, terminated, done, 0),
                    rowscan.gae(rewards, values, GAMMA, LAM, next_values, terminated, done, 0)):
        order.assert_bits(a, b)
    got = rowscan.discounted_returns(np.array([1, 1, np.nan]), 0.5, np.array([0, 1, 0]))
    np.testing.assert_array_equal(got, [1.5, 1, np.nan])
    got = rowscan.discounted_returns(np.array([1., 1, 1]), np.array([0.5, np.inf, 0.5]), [0, 1, 1], init=np.nan)
    np.testing.assert_array_equal(got, [1.5, 1, 1])
    odd = values.copy()
    odd[-1], done = np.nan, done.copy()
    done[-2] = True
    for gamma in GAMMA, np.full(rewards.shape, GAMMA):  # in one pass, and not
        right, got = (rowscan.gae(rewards, v, gamma, LAM, next_values, terminated, done, 0) for v in (values, odd))
        for a, b in zip(got, right):
            order.assert_bits(a[:-1], b[:-1])
            assert np.isnan(a[-1]).all()


def check_parted(results, array):
    """Of results(f, rewards, values, factors), gradients too: nothing of an episode of NaN or inf is in another."""
    done = array(np.array([False, False, True, False, True, False]))
    good = np.random.default_rng(2).random((3, 6))
    for f in (lambda r, v, gamma: rowscan.discounted_returns(r, gamma, done),
              lambda r, v, gamma: rowscan.gae(r, v, gamma, LAM, v + r, done=done)[0],
              lambda r, v, gamma: rowscan.gae(r, v, gamma, LAM, v + r, done=done)[1]):
        right = results(f, *map(array, good))
        for bad in np.nan, np.inf:
            odd = good.copy()
            odd[:, 3:5] = bad
            for at, (a, b) in enumerate(zip(results(f, *map(array, odd)), right)):
                order.assert_bits(np.asarray(a)[[0, 1, 2, 5]], np.asarray(b)[[0, 1, 2, 5]])
                assert at or not np.isfinite(np.asarray(a)[3])


def test_advantages_in_one_pass(episodes):
    """Plain arrays of one type: what is behind a cut is dropped, a NaN too, and arrays lie and repeat as they like."""
    rewards, values, next_values, terminated, done = episodes
    odd, cut = rewards.copy(), done.copy()
    odd[-1], cut[-2] = np.nan, True
    for got, right in zip(rowscan.gae(odd, values, GAMMA, LAM, next_values, terminated, cut, 0),
                          rowscan.gae(rewards, values, GAMMA, LAM, next_values, terminated, cut, 0)):
        order.assert_bits(got[:-1], right[:-1])
        assert np.isnan(got[-1]).all()
    want = gae_loop(rewards, values, next_values, GAMMA, LAM, terminated, done)
    lies = [np.asfortranarray(np.repeat(a, 2, 1))[::-1, ::2][::-1] for a in (rewards, values, next_values)]
    for got, right in zip(rowscan.gae(*lies[:2], GAMMA, LAM, lies[2], terminated, done, 0), want):
        close(got, right)
    for dtype in ("f2", "f4"):
        x, v, w = (a.astype(dtype) for a in (rewards, values, next_values))
        right = gae_loop(x, v, w, GAMMA, LAM, terminated[:, 1:2], terminated[:, 1:2] | done[0])
        for got, one in zip(rowscan.gae(x, v, GAMMA, LAM, w, terminated[:, 1:2], done[0], 0), right):
            np.testing.assert_array_equal(got, one.astype(dtype)) if dtype == "f2" else close(got, one, 1e-6)
            assert got.dtype == dtype
    assert [a.shape for a in rowscan.gae(np.ones((2, 0)), np.ones((2, 1)), 1, 1, dim=1)] == [(2, 0)] * 2


def test_advantages_by_definition(episodes):
    """With lam of 1 returns are discounted ones; with 0 advantages are deltas."""
    rewards, values, next_values, _, done = episodes
    longer = np.concatenate([values, next_values[-1:]])
    _, returns = rowscan.gae(rewards, longer, GAMMA, 1, done=done, dim=0)
    close(returns, returns_loop(rewards, GAMMA, done, next_values[-1]))
    advantages, _ = rowscan.gae(rewards, longer, GAMMA, 0, dim=0)
    close(advantages, rewards + GAMMA * longer[1:] - values)
    a = rowscan.gae(rewards, longer, np.full((T, 1), GAMMA), np.full(4, LAM), done=done, dim=0)
    for one, other in zip(a, rowscan.gae(rewards, longer, GAMMA, LAM, done=done, dim=0)):
        close(one, other)


def test_what_is_refused(episodes):
    rewards, values, next_values, _, done = episodes
    packed = np.zeros(4, dtype=[("a", "u1"), ("b", "f8")])["b"]
    for f, error, words in (
            (lambda: rowscan.discounted_returns(rewards, GAMMA, done[:-1], 0), ValueError, r"done has shape \(22, 4\)"),
            (lambda: rowscan.discounted_returns(rewards, values[:2], None, 0), ValueError, r"gamma has shape \(2, 4\)"),
            (lambda: rowscan.discounted_returns(rewards, GAMMA, done, 2), IndexError, "axis 2 is out of bounds"),
            (lambda: rowscan.discounted_returns(rewards, GAMMA, "no", 0), TypeError, "done.dtype is <U2"),
            (lambda: rowscan.discounted_returns(rewards, GAMMA), TypeError,
             "dim is needed, the dimension of time: rewards has 2 dimensions"),
            (lambda: rowscan.discounted_returns(rewards, GAMMA, dim=0, axis=0), TypeError, "dim and axis are given"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values), TypeError, "dim is needed"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values, dim=0, axis=0), TypeError, "dim and axis"),
            (lambda: rowscan.gae(np.array(1.), np.ones(2), GAMMA, LAM), IndexError, "of dimension 0"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, "same_step", dim=0), ValueError,
             "next_values is 'same_step', not an array or 'next_step'"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, "next_step", dim=0), ValueError,
             r"values has shape \(23, 4\), not \(24, 4\): .* next_values is 'next_step'"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values[-1], dim=0), ValueError,
             r"next_values has shape \(4,\), not that of rewards, .* of the last step alone is the last of values"),
            (lambda: rowscan.discounted_returns([1.], GAMMA), TypeError,
             r"rewards is a builtins.list, not an array \(numpy.asarray\(rewards\) is one\)"),
            (lambda: rowscan.gae(3., values, GAMMA, LAM), TypeError, "rewards is a builtins.float, not an array"),
            (lambda: rowscan.gae(rewards * 1j, values, GAMMA, LAM, dim=0), TypeError, "rewards.dtype is complex128"),
            (lambda: rowscan.discounted_returns(rewards * 1j, GAMMA, dim=0), TypeError, "rewards.dtype is complex128"),
            (lambda: rowscan.discounted_returns(rewards.astype(">f8"), GAMMA, dim=0), TypeError,
             r"rewards.dtype is >f8, of another byte order: rewards.astype\('<f8'\) copies it"),
            (lambda: rowscan.discounted_returns(packed, GAMMA), TypeError,
             r"rewards can't be scanned as it lies in memory: strides \(9,\)"),
            (lambda: rowscan.discounted_returns(packed[:].copy(), packed), TypeError,
             r"gamma can't be scanned as it lies in memory: strides \(9,\)"),
            (lambda: rowscan.discounted_returns(rewards, GAMMA * 1j, dim=0), TypeError, "gamma.dtype is complex128"),
            (lambda: rowscan.gae(rewards, values * 1j, GAMMA, LAM, values, dim=0), TypeError, "values.dtype is comp"),
            (lambda: rowscan.gae(rewards, values, GAMMA, np.ones(3), values, dim=0), ValueError, "lam has shape"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values, truncated="no", dim=0), TypeError,
             "truncated.dtype is <U2"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, dim=0), ValueError,
             r"values has shape \(23, 4\), not \(24, 4\): .* next_values is not given"),
            (lambda: rowscan.gae(rewards, values[1:], GAMMA, LAM, values, dim=0), ValueError,
             r"values has shape \(22, 4\), not \(23, 4\): .* next_values is given"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values[1:], dim=0), ValueError, "next_values has shape"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values, done=done[1:], dim=0), ValueError,
             "done has shape"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values, terminated=done[1:], dim=0), ValueError,
             "terminated has shape"),
            (lambda: rowscan.gae(rewards, values, GAMMA, LAM, values, dim=3), IndexError, "axis 3")):
        with pytest.raises(error, match=words):
            f()


class Lent:
    """An array that is known by DLPack alone."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_a_gamma_is_needed():
    with pytest.raises(TypeError, match="^gamma is None, not a number or an array$"):
        rowscan.discounted_returns(np.ones(3), None)


def test_arrays_without_arithmetic():
    for f in (lambda x: rowscan.discounted_returns(x, 0.5), lambda x: rowscan.gae(x, x, 0.5, 0.5)):
        with pytest.raises(TypeError, match="rewards is a .*Lent, not an array of NumPy, torch, CuPy or JAX"):
            f(Lent(np.ones(3)))


# ---- torch -----------------------------------------------------------------------------------------------------------

def test_torch(torch, episodes):
    rewards, values, next_values, terminated, done = map(torch.from_numpy, episodes)
    numpy = episodes
    for flags in (None, done, done.float(), done.int(), [1, 0, 0, 1]):
        y = rowscan.discounted_returns(rewards, GAMMA, flags, 0, init=values[:1])
        close(y, returns_loop(numpy[0], GAMMA, None if flags is None else np.asarray(flags), numpy[1][0]))
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert rowscan.discounted_returns(rewards.to(dtype), GAMMA, done, 0).dtype is dtype
    want = gae_loop(*numpy[:3], GAMMA, LAM, *numpy[3:])
    for a, b in zip(rowscan.gae(rewards, values, GAMMA, LAM, next_values, terminated, done, 0), want):
        close(a, b)
    check_integers(lambda a: torch.from_numpy(np.asarray(a)), torch.float32)
    with pytest.raises(ValueError, match="done is on meta, not on cpu"):
        rowscan.discounted_returns(rewards, GAMMA, done.to("meta"), 0)
    with pytest.raises(ValueError, match="truncated is on meta, not on cpu"):
        rowscan.gae(rewards, values, GAMMA, LAM, next_values, truncated=done.to("meta"), dim=0)
    with pytest.raises(TypeError, match="rewards is a tensor of layout torch.sparse_coo"):
        rowscan.discounted_returns(rewards.to_sparse(), GAMMA, dim=0)


def test_torch_flags(torch, episodes):
    rewards, values = map(torch.from_numpy, episodes[:2])
    for leaf in values, values.clone().requires_grad_():
        check_flags(lambda gamma, following, given: [a.detach() for a in rowscan.gae(
            rewards, leaf, torch.as_tensor(gamma) if np.ndim(gamma) else gamma, LAM, torch.from_numpy(following), dim=0,
            **{name: torch.from_numpy(np.ascontiguousarray(flags)) for name, flags in given.items()})], episodes, 1e-12)
    with pytest.raises(TypeError, match="next_values is not given, and truncated is"):
        rowscan.gae(rewards, torch.cat((values, values[:1])), GAMMA, LAM, truncated=torch.ones(T, 4), dim=0)


def test_torch_numbers_that_types_of_16_bits_do_not_have(torch):
    for dtype in torch.float16, torch.bfloat16:
        x, done = torch.ones(3000, dtype=dtype, requires_grad=True), torch.zeros(3000, dtype=torch.bool)
        for f in (lambda x: rowscan.discounted_returns(x, 0.999), lambda x: rowscan.discounted_returns(x, 0.999, done),
                  lambda x: rowscan.gae(x, torch.zeros(3001, dtype=dtype), 0.999, 1., done=done)[0]):
            y = f(x)
            d, = torch.autograd.grad(y[0], x)
            assert y.dtype is d.dtype is dtype and abs(d[-1].item() - 0.999**2999) < 2e-4
            check_narrow(y)


def test_torch_episodes_are_apart(torch):
    def results(f, *given):
        leaves = [t.requires_grad_() for t in given]
        y = f(*leaves)
        d = torch.autograd.grad(y.sum(), leaves, create_graph=True, allow_unused=True)
        moved = torch.func.jvp(f, tuple(t.detach() for t in leaves), tuple(torch.ones(6) for _ in leaves))
        return [t.detach().numpy() for t in (f(*(t.detach() for t in leaves)), y, *d, *moved) if t is not None]
    check_parted(results, lambda a: torch.tensor(a).float() if a.dtype == float else torch.tensor(a))


def test_torch_gradients(torch):
    def leaf(*shape):
        return torch.rand(shape, dtype=torch.float64, requires_grad=True)
    done = torch.tensor([[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]])
    for flags in (None, done, done != 0):
        f = lambda r, g, i: rowscan.discounted_returns(r, g, flags, 1, init=i)
        for arguments in ((leaf(2, 5), leaf(), leaf(2, 1)), (leaf(2, 5), leaf(2, 5), leaf())):
            assert torch.autograd.gradcheck(f, arguments, check_forward_ad=True)
            assert torch.autograd.gradgradcheck(f, arguments)
        f = lambda r, v, n, g, lam: rowscan.gae(r, v, g, lam, n, done=flags, dim=1)
        arguments = leaf(2, 5), leaf(2, 5), leaf(2, 5), leaf(), leaf()
        assert torch.autograd.gradcheck(f, arguments, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, arguments)
        assert torch.autograd.gradcheck(lambda r, v: rowscan.gae(r, v, 0.9, 0.8, terminated=flags, dim=1),
                                        (leaf(2, 5), leaf(2, 6)))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(torch, episodes, backend):
    torch._dynamo.reset()
    rewards, values, next_values, terminated, done = map(torch.from_numpy, episodes)

    def f(rewards, values):
        advantages, returns = rowscan.gae(rewards, values, GAMMA, LAM, next_values, terminated, done, dim=0)
        return advantages, returns, rowscan.discounted_returns(rewards, GAMMA, done, 0)
    compiled = torch.compile(f, backend=backend, fullgraph=True)
    results = []
    for function in (f, compiled):
        leaves = [t.clone().requires_grad_() for t in (rewards, values)]
        y = function(*leaves)
        results.append((*y, *torch.autograd.grad(sum((v ** 2).sum() for v in y), leaves)))
    torch.testing.assert_close(*results)
    rows = torch.vmap(lambda r, d: rowscan.discounted_returns(r, GAMMA, d))(rewards.T, done.T)
    close(rows, returns_loop(episodes[0], GAMMA, episodes[4]).T)


# ---- JAX -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
def test_jax(jax, wide, episodes):
    jnp, tolerance = jax.numpy, 1e-12 if wide else 1e-5
    with order.set_wide(jax, wide):
        rewards, values, next_values, terminated, done = map(jnp.asarray, episodes)
        for flags in (None, done, done.astype("f4"), np.asarray(done)):
            f = jax.jit(lambda r: rowscan.discounted_returns(r, GAMMA, flags, 0, init=values[:1]))
            y = f(rewards)
            assert y.dtype == rewards.dtype
            close(y, returns_loop(episodes[0], GAMMA, None if flags is None else np.asarray(flags), episodes[1][0]),
                  tolerance)
        want = gae_loop(*episodes[:3], GAMMA, LAM, *episodes[3:])
        f = jax.jit(lambda *a: rowscan.gae(*a[:2], GAMMA, LAM, *a[2:], 0))
        for a, b in zip(f(rewards, values, next_values, terminated, done), want):
            close(a, b, tolerance)
            assert a.dtype == rewards.dtype
        assert rowscan.discounted_returns(rewards.astype("bfloat16"), GAMMA, done, 0).dtype == "bfloat16"
        check_integers(jnp.asarray, jnp.asarray(0.5).dtype)
        check_flags(lambda gamma, following, given: rowscan.gae(rewards, values, gamma, LAM, following, dim=0, **given),
                    episodes, tolerance)
        with pytest.raises(TypeError, match="rewards.dtype is complex"):
            rowscan.gae(rewards * 1j, values, GAMMA, LAM, next_values, dim=0)


def test_jax_episodes_are_apart(jax):
    def results(f, *given):
        y, back = jax.vjp(f, *given)
        ones = jax.numpy.ones(6, y.dtype)
        return [y, *back(ones), *jax.jvp(f, given, (ones,) * 3), jax.jit(f)(*given)]
    check_parted(results, jax.numpy.asarray)


def test_jax_derivatives(jax, episodes):
    jnp = jax.numpy
    with order.set_wide(jax, True):
        rewards, values, next_values, _, done = map(jnp.asarray, episodes)

        def f(r, v, gamma):
            y, after = [None] * T, 0.
            for t in reversed(range(T)):
                delta = r[t] + gamma * jnp.where(done[t], 0, next_values[t]) - v[t]
                after = y[t] = delta + gamma * LAM * jnp.where(done[t], 0, after)
            return (jnp.stack(y) ** 2).sum()

        def g(r, v, gamma):
            return (rowscan.gae(r, v, gamma, LAM, next_values, done=done, dim=0)[0] ** 2).sum()
        for got, want in zip(jax.grad(g, (0, 1, 2))(rewards, values, jnp.asarray(GAMMA)),
                             jax.grad(f, (0, 1, 2))(rewards, values, jnp.asarray(GAMMA))):
            close(got, want, 1e-10)
        batched = jax.vmap(lambda r, d: rowscan.discounted_returns(r, GAMMA, d))(rewards.T, done.T)
        close(batched, returns_loop(episodes[0], GAMMA, episodes[4]).T)


# ---- one call of C ---------------------------------------------------------------------------------------------------

@pytest.fixture(params=["numpy", "torch"])
def alone(request, monkeypatch):
    """Arrays of a library, of whose plain calls Python has no part: what C leaves to it fails."""
    from rowscan import _call, _core

    def fail(*arguments):
        raise AssertionError("C left it to Python")
    make = np.asarray
    if request.param == "torch":
        make = pytest.importorskip("torch").as_tensor
    _core.set_python(fail)
    monkeypatch.setattr(_call.Library, "settle", fail)
    yield make
    _core.set_python(_call.call)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [0.1, -2, 0, math.nan, math.inf, 1e-300])
def test_a_number_is_that_coefficient_of_each_element(alone, dtype, number):
    x, mask = alone(np.arange(12, dtype=dtype).reshape(3, 4) - 5), alone(np.arange(12).reshape(3, 4) % 3 != 1)
    each = alone(np.full((3, 4), number, dtype))
    for dim, flags in itertools.product((0, 1), ({}, {"reverse": True}, {"exclusive": True}, {"mask": mask},
                                                 {"heads": mask}, {"tails": mask, "mask": mask})):
        y = rowscan.linear_recurrence(x, number, dim, **flags)
        want = rowscan.linear_recurrence(x, each, dim, **flags)
        assert type(y) is type(x) and y.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(y), np.asarray(want))


def test_returns_and_advantages_ask_python_for_nothing(alone, episodes):
    given = [alone(np.ascontiguousarray(array)) for array in episodes]
    rewards, values, next_values, terminated, done = given
    longer = alone(np.concatenate((episodes[1], episodes[1][:1])))
    got = [rowscan.discounted_returns(rewards, GAMMA, done, 0), rowscan.discounted_returns(rewards, GAMMA, axis=-2),
           rowscan.discounted_returns(rewards[:, 0], 1, done[:, 0], 0),
           *rowscan.gae(rewards, values, GAMMA, LAM, next_values, terminated, done, 0),
           *rowscan.gae(rewards, values, GAMMA, LAM, next_values, terminated, dim=0),
           *rowscan.gae(rewards, longer, GAMMA, LAM, done=done, dim=-2),
           *rowscan.gae(rewards, longer, GAMMA, LAM, "next_step", terminated, done, axis=0),
           *rowscan.gae(rewards[:, 0], longer[:, 0], GAMMA, 1),
           rowscan.cumulative_sum(rewards, axis=0), rowscan.cumulative_prod(rewards, axis=1)]
    from rowscan import _call, _core
    _core.set_python(_call.call)
    r, v, n, t, d, w = (np.asarray(array, "f8") if array.dtype != bool else array
                        for array in map(np.asarray, (*given, longer)))
    none = np.zeros_like(d)

    def advantages(v, n, t, d, lam=LAM):
        return gae_loop(r, v, n, GAMMA, lam, t, d | t)
    want = [returns_loop(r, GAMMA, d), returns_loop(r, GAMMA, none), returns_loop(r[:, :1], 1, d[:, :1])[:, 0],
            *advantages(v, n, t, d), *advantages(v, n, t, none), *advantages(w[:-1], w[1:], d, d),
            *advantages(w[:-1], w[1:], t, d), *(a[:, 0] for a in advantages(w[:-1], w[1:], none, none, 1)),
            np.cumsum(r, 0), np.cumprod(r, 1)]
    for mine, reference in zip(got, want):
        close(mine, reference)


def test_what_c_does_not_take_python_does():
    """Lists, flags that are numbers, halves, whole numbers, and numbers that the type of the elements lacks."""
    x = np.arange(6, dtype="f4").reshape(2, 3)
    flags = np.array([[0, 2, 0], [0, 0, 1]])
    for done in flags, flags.tolist(), flags != 0, flags.astype("f4"):
        close(rowscan.discounted_returns(x, 0.5, done, 1), returns_loop(x.T, 0.5, (flags != 0).T).T)
    assert rowscan.linear_recurrence(x.astype("f2"), 0.999, 1).dtype == np.float16
    assert rowscan.linear_recurrence(np.arange(4), 3, 0).tolist() == [0, 1, 5, 18]
    with np.errstate(over="ignore"):
        assert not np.isfinite(rowscan.linear_recurrence(x, 1e300, 1)[1, 2])
    with pytest.raises(ValueError, match="gamma|rewards|done"):
        rowscan.discounted_returns(x, 0.5, np.zeros((5, 5), bool), 1)
    with pytest.raises(IndexError):
        rowscan.discounted_returns(x, 0.5, None, 7)
    two = np.zeros((2, 3), bool), np.zeros((1, 3), bool), np.zeros((3, 3), bool)
    close(rowscan.gae(x, x, GAMMA, LAM, x, two[0], two[1], 1)[0], rowscan.gae(x, x, GAMMA, LAM, x, *two[:1] * 2, 1)[0])
    with pytest.raises(ValueError, match="done|terminated"):
        rowscan.gae(x, x, GAMMA, LAM, x, two[0], two[2], 1)
    ones = np.ones(3, bool)
    for mask in {}, {"mask": ones}:  # a factor of another type decides that of the result
        assert rowscan.linear_recurrence(ones, ones.astype("u1"), 0, **mask).dtype == np.uint64


def test_an_output_may_be_a_further_array(torch):
    x, a, mask = torch.arange(6.), torch.full((6,), 0.5), torch.arange(6) % 2 == 0
    want = rowscan.linear_recurrence(x, a, 0, mask=mask)
    assert rowscan.linear_recurrence(x, a, 0, mask=mask, out=a) is a and torch.equal(a, want)


def test_a_number_beside_what_the_quick_way_declines(tmp_path):
    """The call is then Python's, as it was made."""
    x = np.arange(6, dtype="f4").reshape(2, 3)
    wanted = rowscan.linear_recurrence(x, 0.5, 1)
    out = np.memmap(tmp_path / "out", "f4", "w+", shape=(2, 3))
    rowscan.linear_recurrence(x, 0.5, 1, out=out)
    assert np.array_equal(out, wanted)
    out[:] = 0
    rowscan.scan(x, 1, "linear_recurrence", coefficient=0.5, out=out)
    assert np.array_equal(out, wanted)
    with pytest.raises((TypeError, ValueError), match="out"):
        rowscan.linear_recurrence(x, 0.5, 1, out=np.empty((3, 3), "f4"))


def test_a_torch_call_beside_an_array_of_numpy():
    torch = pytest.importorskip("torch")
    x, ones = torch.ones(2, 3), np.ones((2, 3), bool)
    rowscan.cumsum(np.ones(3, "f4"), 0)  # the quick way knows NumPy's arrays now
    assert torch.equal(rowscan.cumsum(x, 1, mask=ones), rowscan.cumsum(x, 1))
    assert torch.equal(rowscan.linear_recurrence(x, ones.astype("f4"), 1), rowscan.cumsum(x, 1))
