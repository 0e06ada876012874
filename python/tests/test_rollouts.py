"""test_rollouts.py - the lines in help(rowscan.gae) that do what other libraries do, against those libraries' loops;
rollouts with masked-out steps

SPDX-License-Identifier: MIT

The loops are written for these tests, from what the libraries compute, in plain NumPy.
"""
import inspect
import itertools
import re
import textwrap
import types

import pytest

np = pytest.importorskip("numpy")

import order  # noqa: E402
import rowscan  # noqa: E402

GAMMA, LAM = 0.9, 0.75
T, B = 40, 3


def all_lines():
    """By what stands before them: the lines of code of the help."""
    told = inspect.getdoc(rowscan.gae).partition("These lines do what other libraries do")[2]
    parts = re.findall(r"^([A-Z].*(?:\n\S.*)*):.*(?:\n\S.*)*\n\n((?:    .*\n?)+)", told, re.MULTILINE)
    return {" ".join(words.split()): textwrap.dedent(code) for words, code in parts}


def lines_of(words):
    """Those of one library, which leave their results among the names that they are given."""
    code, = (code for told, code in all_lines().items() if told.startswith(words))

    def run(**names):
        names = {"np": np, "rowscan": rowscan, **names}
        exec(compile(code, words, "exec"), names)
        return types.SimpleNamespace(**names)
    return run


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5, atol=1e-5)


@pytest.fixture
def steps():
    """Rewards and values of T steps in B environments, of one observation more, and where episodes end."""
    random = np.random.default_rng(3)
    rewards, values = (random.standard_normal((n, B)).astype("f4") for n in (T, T + 1))
    return rewards, values, random.random((T, B)) < 0.15


def by_what_begins(rewards, values, begins, gamma, lam):
    """As CleanRL and Stable-Baselines3 go: begins[t+1] says that an episode ends with step t."""
    advantages, last = np.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        goes_on = 1.0 - begins[t + 1]
        delta = rewards[t] + gamma * values[t + 1] * goes_on - values[t]
        advantages[t] = last = delta + gamma * lam * goes_on * last
    return advantages, advantages + values[:-1]


def test_cleanrl(torch, steps):
    rewards, values, ended = steps
    begins = np.concatenate((np.zeros((1, B)), ended)).astype("f4")
    want = by_what_begins(rewards, values, begins, GAMMA, LAM)
    tensors = {name: torch.from_numpy(array) for name, array in dict(
        rewards=rewards, values=values[:-1], next_value=values[-1:], dones=begins[:-1], next_done=begins[-1]).items()}
    done = lines_of("CleanRL")(torch=torch, args=types.SimpleNamespace(gamma=GAMMA, gae_lambda=LAM), **tensors)
    close(done.advantages, want[0])
    close(done.returns, want[1])


def test_stable_baselines(steps):
    """What is behind a step that was cut off is added to its reward before."""
    rewards, values, ended = steps
    random = np.random.default_rng(4)
    cut = ended & (random.random((T, B)) < 0.5)
    final = random.standard_normal((T, B))
    rewards = (rewards + GAMMA * np.where(cut, final, 0)).astype("f4")
    begins = np.concatenate((np.zeros((1, B)), ended)).astype("f4")
    buffer = types.SimpleNamespace(rewards=rewards, values=values[:-1], episode_starts=begins[:-1], gamma=GAMMA,
                                   gae_lambda=LAM)
    lines_of("Stable-Baselines3")(self=buffer, last_values=values[-1], dones=ended[-1])
    want = by_what_begins(rewards, values, begins, GAMMA, LAM)
    close(buffer.advantages, want[0])
    close(buffer.returns, want[1])


def test_torchrl(steps):
    reward, values, done = (np.moveaxis(array, 0, 1)[..., None] for array in steps)
    state_value, next_state_value = values[:, :-1], np.random.default_rng(5).standard_normal((B, T, 1)).astype("f4")
    terminated = done & (np.random.default_rng(6).random(done.shape) < 0.5)
    want, last = np.empty_like(reward), 0
    for t in reversed(range(T)):
        delta = reward[:, t] + GAMMA * next_state_value[:, t] * (1 - terminated[:, t]) - state_value[:, t]
        want[:, t] = last = delta + GAMMA * LAM * last * (1 - done[:, t])
    got = lines_of("TorchRL")(reward=reward, state_value=state_value, next_state_value=next_state_value, done=done,
                              terminated=terminated, gamma=GAMMA, lmbda=LAM)
    close(got.advantage, want)
    close(got.value_target, want + state_value)


@pytest.mark.parametrize("terminates", [False, True])
def test_rllib(terminates):
    """Targets are those of TD(lambda): advantages are made of them afterwards."""
    rewards, values = np.random.default_rng(7).standard_normal((2, T)).astype("f4")
    terminateds, bootstrap = np.zeros(T, bool), 0.0 if terminates else 1.5
    terminateds[-1] = terminates
    want, target = np.empty_like(rewards), bootstrap
    for t in reversed(range(T)):
        following = values[t + 1] if t + 1 < T else bootstrap
        want[t] = target = rewards[t] + GAMMA * (1 - terminateds[t]) * ((1 - LAM) * following + LAM * target)
    got = lines_of("RLlib")(rewards=rewards, values=values, terminateds=terminateds, bootstrap_value=bootstrap,
                            gamma=GAMMA, lambda_=LAM)
    close(got.value_targets, want)
    assert got.value_targets.dtype == "f4"


def verl_loop(rewards, values, mask, gamma, lam):
    """As verl's compute_gae_advantage_return goes, [batch, time]."""
    advantages, following, last = np.zeros(rewards.shape), 0, 0
    for t in reversed(range(rewards.shape[1])):
        step = rewards[:, t] + gamma * following - values[:, t] + gamma * lam * last
        following = values[:, t] * mask[:, t] + (1 - mask[:, t]) * following
        advantages[:, t] = last = step * mask[:, t] + (1 - mask[:, t]) * last
    return advantages


def test_verl(torch, steps):
    rewards, values = steps[0].T, steps[1][:-1].T
    for mask in np.random.default_rng(9).integers(0, 2, (B, T)), np.ones((B, T), "f4"):
        want = verl_loop(rewards, values, mask, GAMMA, LAM)
        got = lines_of("RLHF")(torch=torch, token_level_rewards=torch.tensor(rewards), values=torch.tensor(values),
                               response_mask=torch.tensor(mask), gamma=GAMMA, lam=LAM)
        close(got.advantages, want)
        close(got.returns, np.where(mask, want + values, want))


def of_an_episode(rewards, values, terminated):
    """Advantages of steps that follow each other; values has one more."""
    advantages, last = np.zeros(len(rewards)), 0
    for t in reversed(range(len(rewards))):
        following = 0 if terminated and t + 1 == len(rewards) else values[t + 1]
        advantages[t] = last = rewards[t] + GAMMA * following - values[t] + GAMMA * LAM * last
    return advantages


def play(random, same_step):
    """An environment's T rewards, terminations, truncations, values of final observations, the right advantages, and
    T + 1 values. With same_step an observation that is final is not among the others; else there is a step that resets,
    whose advantage is NaN."""
    rows, values = [], []
    while len(rows) < T:
        length, terminates = random.integers(1, 9), random.random() < 0.5
        took = min(length, T - len(rows))
        rewards, its = random.standard_normal(took), random.standard_normal(took + 1)
        over = np.arange(took) + 1 == length
        right = of_an_episode(rewards, its, terminates and took == length)
        rows += zip(rewards, over & terminates, over & (not terminates), np.where(over, its[-1], np.nan), right)
        values += list(its[:-1] if same_step and took == length else its)
        if took == length and not same_step and len(rows) < T:
            rows.append((0., False, False, np.nan, np.nan))
    values.append(random.standard_normal())
    return *map(np.array, zip(*rows)), np.array(values)[:T + 1]


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP"])
def test_gymnasium(mode):
    random = np.random.default_rng(8)
    played = zip(*(play(random, mode == "SAME_STEP") for _ in range(20)))
    rewards, terminations, truncations, final_values, right, values = (np.stack(arrays, 1) for arrays in played)
    assert terminations.any() and truncations.any() and not (terminations & truncations).any()
    got = lines_of(f"Gymnasium, with AutoresetMode.{mode}")(
        rewards=rewards, values=values, terminations=terminations, truncations=truncations, gamma=GAMMA, lam=LAM,
        final_values=final_values, ended_before=np.zeros(20, bool))
    resets = getattr(got, "resets", np.zeros_like(terminations))
    np.testing.assert_array_equal(resets, np.isnan(right))
    close(got.advantages[~resets], right[~resets])
    close(got.returns, got.advantages + values[:-1])


def test_all_lines_are_tried():
    assert [re.match(r"[\w-]+", words)[0] for words in all_lines()] == [
        "CleanRL", "Stable-Baselines3", "TorchRL", "RLlib", "RLHF", "Gymnasium", "Gymnasium"]


# ---- masks -----------------------------------------------------------------------------------------------------------

class Masked:
    """Steps of which some do not count, with values in the three forms, and flags of ends in five."""
    ENDS = "none", "done", "terminated", "truncated", "all"

    def __init__(self, seed=1, shape=(T, B)):
        random = np.random.default_rng(seed)
        self.rewards, self.next_values = random.standard_normal((2, *shape))
        self.longer = random.standard_normal((shape[0] + 1, *shape[1:]))
        self.mask = random.random(shape) < 0.5
        self.over, self.cut = random.random((2, *shape)) < 0.12
        assert all((ends & kept).any() for ends in (self.over, self.cut) for kept in (self.mask, ~self.mask))

    def flags(self, ends):
        """Flags as they are given, the steps behind which nothing comes, and those with which an episode ends."""
        none, over, cut = np.zeros_like(self.over), self.over, self.cut
        return {"none": ({}, none, none), "done": ({"done": over}, over, over),
                "terminated": ({"terminated": over}, over, over),
                "truncated": ({"truncated": cut, "done": over}, over & ~cut, over | cut),
                "all": ({"terminated": over, "truncated": cut, "done": cut}, over, over | cut)}[ends]

    def values(self, form):
        """Values and next_values as they are given."""
        return (self.longer[:-1], self.next_values) if form == "given" else (self.longer, form)

    def poisoned(self, bad):
        """The same steps with what must not matter replaced: rewards and values where the mask is false."""
        other = Masked.__new__(Masked)
        other.__dict__.update(self.__dict__)
        other.rewards, other.next_values = (np.where(self.mask, a, bad) for a in (self.rewards, self.next_values))
        other.longer = self.longer.copy()
        other.longer[:-1][~self.mask] = bad
        return other


def masked_loop(rewards, values, next_values, gamma, lam, mask, ends, cuts):
    """Along the first dimension. ends: behind which nothing comes; cuts: with which an episode ends."""
    rewards, values = rewards.astype("f8"), values.astype("f8")
    advantages, returns = np.zeros(rewards.shape), np.zeros(rewards.shape)
    for at in np.ndindex(rewards.shape[1:]):
        last, following = 0., values[(-1, *at)] if len(values) > len(rewards) else None
        for t in reversed(range(len(rewards))):
            i = (t, *at)
            if cuts[i]:
                last = 0.
                following = 0. if ends[i] else values[(t + 1, *at)] if len(values) > len(rewards) else None
            if mask[i]:
                behind = following if next_values is None else 0. if ends[i] else next_values[i]
                last = rewards[i] + gamma * behind - values[i] + gamma * lam * last
                following = values[i]
            advantages[i] = last
            returns[i] = last + values[i] if mask[i] else last
    return advantages, returns


def loop_of(steps, form, ends):
    values, following = steps.values(form)
    return masked_loop(steps.rewards, values, None if following is None or form == "next_step" else following, GAMMA,
                       LAM, steps.mask, *steps.flags(ends)[1:])


def cases():
    """Forms of values, and flags that may be given with them."""
    return [(form, ends) for form, ends in itertools.product((None, "next_step", "given"), Masked.ENDS)
            if form is not None or ends not in ("truncated", "all")]


def got_of(steps, form, ends, array=np.asarray, gamma=GAMMA, mask=None, **words):
    values, following = steps.values(form)
    flags = {name: array(given) for name, given in steps.flags(ends)[0].items()}
    return rowscan.gae(array(steps.rewards), array(values), gamma, LAM,
                       array(following) if form == "given" else following, dim=0,
                       mask=array(steps.mask) if mask is None else mask, **flags, **words)


@pytest.mark.parametrize("form, ends", cases())
def test_masks(form, ends):
    steps = Masked()
    want = loop_of(steps, form, ends)
    for gamma in GAMMA, np.full((T, 1), GAMMA):  # in one pass, and not
        for mask in None, steps.mask.astype("f4"), steps.mask.astype(int), steps.mask.tolist():
            for a, b in zip(got_of(steps, form, ends, gamma=gamma, mask=mask), want):
                np.testing.assert_allclose(a, b, 1e-12, 1e-12)
        turned = [a.T for a in rowscan.gae(
            steps.rewards.T, steps.values(form)[0].T, gamma if np.ndim(gamma) == 0 else gamma.T, LAM,
            steps.next_values.T if form == "given" else form, mask=steps.mask.T, axis=1,
            **{name: given.T for name, given in steps.flags(ends)[0].items()})]
        for a, b in zip(turned, want):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)


@pytest.mark.parametrize("form, ends", cases())
def test_what_a_mask_leaves_out_does_not_matter(form, ends):
    """Be it NaN or infinite; but a value behind a step that cuts an episode off is one of values[t+1] by the word."""
    steps = Masked()
    if form == "next_step" and ends in ("truncated", "all"):
        steps.mask[1:] |= steps.cut[:-1]
    for gamma, bad in itertools.product((GAMMA, np.full((T, 1), GAMMA)), (np.nan, np.inf, 1e300)):
        for a, b in zip(got_of(steps.poisoned(bad), form, ends, gamma=gamma), got_of(steps, form, ends, gamma=gamma)):
            assert np.isfinite(b).all()
            order.assert_bits(a, b)


@pytest.mark.parametrize("form, ends", cases())
def test_a_mask_of_all_steps_or_of_none(form, ends):
    steps = Masked()
    for gamma in GAMMA, np.full((T, 1), GAMMA):
        plain = rowscan.gae(steps.rewards, steps.values(form)[0], gamma, LAM, steps.values(form)[1], dim=0,
                            **steps.flags(ends)[0])
        for mask in np.ones((T, B), bool), np.ones(B), True, 1:
            for a, b in zip(got_of(steps, form, ends, gamma=gamma, mask=mask), plain):
                np.testing.assert_array_equal(a, b)
        for mask in np.zeros((T, B), bool), np.zeros((T, 1)), False:
            for a in got_of(steps.poisoned(np.nan), form, ends, gamma=gamma, mask=mask):
                assert a.shape == (T, B) and not a.any()


def test_masks_by_hand():
    """A tool answers in tokens 1 and 2; the policy has 0 and 3."""
    rewards, values, mask = np.array([0., 9., 9., 8.]), np.array([1., 9., 9., 2., 0.]), np.array([1, 0, 0, 1])
    want = np.array([0 + 0.5 * 2 - 1 + 0.25 * 6, 6, 6, 8 - 2])
    for a, b in zip(rowscan.gae(rewards, values, 0.5, 0.5, mask=mask), (want, want + [1, 0, 0, 2])):
        np.testing.assert_array_equal(a, b)
    # An episode that ends with the tool's last token ends for what is before.
    for word in "done", "terminated":
        advantages, returns = rowscan.gae(rewards, values, 0.5, 0.5, mask=mask, **{word: [0, 0, 1, 0]})
        assert advantages.tolist() == [-1, 0, 0, 6] and returns.tolist() == [0, 0, 0, 8]
    # Cut off there, the value behind it is that of the state that it led to.
    advantages, returns = rowscan.gae(rewards, np.array([1., 9., 9., 4., 0.]), 0.5, 0.5, "next_step", mask=mask,
                                      truncated=[0, 0, 1, 0])
    assert advantages.tolist() == [0 + 0.5 * 4 - 1, 0, 0, 8 - 4]
    # The steps that reset, as Gymnasium has them, are left out, and the value of the state before still counts.
    advantages, _ = rowscan.gae(rewards, np.array([1., 9., 4., 2., 0.]), 0.5, 0.5, "next_step", mask=[1, 1, 0, 1],
                                truncated=[0, 1, 0, 0])
    assert advantages.tolist() == [0 + 0.5 * 9 - 1 + 0.25 * 2, 9 + 0.5 * 4 - 9, 6, 6]
    # At the end of a row what is behind it is the last of values, whatever is left out before.
    assert rowscan.gae(rewards, np.array([1., 9., 9., 9., 4.]), 0.5, 0.5, mask=[1, 0, 0, 0])[0].tolist() == [1, 0, 0, 0]


def test_masks_of_other_types():
    for dtype, tolerance in (("f2", 1e-3), ("f4", 1e-5)):
        steps = Masked()
        steps.rewards, steps.longer = steps.rewards.astype(dtype), steps.longer.astype(dtype)
        for acc in None, "f32":
            for a, b in zip(got_of(steps, None, "done", acc=acc), loop_of(steps, None, "done")):
                assert a.dtype == dtype
                np.testing.assert_allclose(a.astype("f8"), b, tolerance, tolerance)
    for dtype in "i1", "u1", "i8", "?":  # values of integers
        steps = Masked()
        steps.rewards, steps.longer = steps.rewards.astype("f4"), (abs(steps.longer) * 2).astype(dtype)
        for gamma in GAMMA, np.full((T, 1), GAMMA, "f4"):
            plain = rowscan.gae(steps.rewards, steps.longer, gamma, LAM, dim=0)
            for a, b, c in zip(got_of(steps, None, "done", gamma=gamma), loop_of(steps, None, "done"), plain):
                assert a.dtype == c.dtype
                np.testing.assert_allclose(a, b, 1e-5, 1e-5)
    assert [a.shape for a in rowscan.gae(np.ones((2, 0)), np.ones((2, 1)), 1, 1, dim=1, mask=np.ones((2, 0)))] == [
        (2, 0)] * 2
    assert [a.tolist() for a in rowscan.gae(np.ones(1), np.array([2., 4.]), 1, 1, mask=[1])] == [[3], [5]]


def test_masks_that_are_refused():
    steps = Masked()
    shorter = rf"^mask has shape \({T - 1}, {B}\), which does not broadcast to \({T}, {B}\)"
    for mask, error, words in (
            (steps.mask[1:], ValueError, shorter),
            (np.ones((2, T, B)), ValueError, rf"^mask has shape \(2, {T}, {B}\), which does not broadcast"),
            ("no", TypeError, "^mask.dtype is <U2"), (steps.mask * 1j, TypeError, "^mask.dtype is complex128")):
        for form in None, "given":
            with pytest.raises(error, match=words):
                got_of(steps, form, "done", mask=mask)
    with pytest.raises(TypeError, match="^next_values is not given, and truncated is"):
        rowscan.gae(steps.rewards, steps.longer, GAMMA, LAM, truncated=steps.cut, dim=0, mask=steps.mask)
    with pytest.raises(ValueError, match=rf"^values has shape \({T}, {B}\), not \({T + 1}, {B}\)"):
        rowscan.gae(steps.rewards, steps.longer[1:], GAMMA, LAM, dim=0, mask=steps.mask)


def test_torch_masks(torch):
    steps = Masked()
    tensor = lambda array: torch.from_numpy(np.ascontiguousarray(array))
    for form, ends in cases():
        want = loop_of(steps, form, ends)
        for gamma in GAMMA, torch.full((T, 1), GAMMA, dtype=torch.float64), torch.tensor(GAMMA, requires_grad=True):
            for mask in None, tensor(steps.mask).long(), steps.mask.tolist():
                for a, b in zip(got_of(steps, form, ends, tensor, gamma, mask), want):
                    close(a.detach(), b)
        for mask in torch.ones(T, B), torch.ones(()), True:
            values, following = steps.values(form)
            plain = rowscan.gae(tensor(steps.rewards), tensor(values), GAMMA, LAM,
                                tensor(following) if form == "given" else following, dim=0,
                                **{name: tensor(flags) for name, flags in steps.flags(ends)[0].items()})
            torch.testing.assert_close(got_of(steps, form, ends, tensor, mask=mask), plain, rtol=0, atol=0)
    half = torch.tensor([0., 1.], dtype=torch.bfloat16)
    assert rowscan.gae(half, torch.zeros(3, dtype=torch.bfloat16), 0.5, 0.5, mask=half)[0].dtype is torch.bfloat16
    with pytest.raises(ValueError, match="^mask is on meta, not on cpu"):
        got_of(steps, None, "done", tensor, mask=tensor(steps.mask).to("meta"))


@pytest.mark.parametrize("form, ends", cases())
def test_torch_gradients_of_masks(torch, form, ends):
    """By all that they are of; where the mask is false they are 0, a NaN there or not."""
    steps = Masked(2, (9, 2))
    flags = {name: torch.from_numpy(array) for name, array in steps.flags(ends)[0].items()}
    mask, given = torch.from_numpy(steps.mask), steps.values(form)

    def f(rewards, values, gamma, lam, *following):
        return rowscan.gae(rewards, values, gamma, lam, *(following or given[1:]), dim=0, mask=mask, **flags)

    def leaves(steps):
        arrays = steps.rewards, steps.values(form)[0], GAMMA, LAM, *([steps.next_values] if form == "given" else [])
        return [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]
    arguments = leaves(steps)
    assert torch.autograd.gradcheck(f, arguments, check_forward_ad=True)
    if form != "next_step":
        assert torch.autograd.gradgradcheck(f, arguments)
    if form == "next_step" and ends in ("truncated", "all"):
        steps.mask[1:] |= steps.cut[:-1]  # whose values count
        mask = torch.from_numpy(steps.mask)
    grads = [torch.autograd.grad(sum((y ** 2).sum() for y in f(*given)), given)
             for given in (leaves(steps), leaves(steps.poisoned(np.nan)))]
    for mine, poisoned in zip(*grads):
        assert torch.equal(mine, poisoned) and poisoned.isfinite().all()
    for gradient in (grads[1][0], grads[1][1][:len(steps.mask)], *grads[1][4:]):
        assert not gradient[~mask].any() and gradient[mask].any()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_of_masks(torch, backend):
    torch._dynamo.reset()
    steps = Masked()
    longer, mask, done = map(torch.from_numpy, (steps.longer, steps.mask, steps.over))
    f = lambda rewards, values: rowscan.gae(rewards, values, GAMMA, LAM, done=done, dim=0, mask=mask)
    results = []
    for function in f, torch.compile(f, backend=backend, fullgraph=True):
        leaves = [t.clone().requires_grad_() for t in (torch.from_numpy(steps.rewards), longer)]
        y = function(*leaves)
        results.append((*y, *torch.autograd.grad(sum((v ** 2).sum() for v in y), leaves)))
    torch.testing.assert_close(*results)
    rows = torch.vmap(lambda r, v, m: rowscan.gae(r, v, GAMMA, LAM, mask=m))(
        torch.from_numpy(steps.rewards).T, longer.T, mask.T)
    for a, b in zip(rows, loop_of(steps, None, "none")):
        close(a, b.T)


@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
def test_jax_masks(jax, wide):
    steps, tolerance = Masked(), 1e-12 if wide else 2e-5
    with order.set_wide(jax, wide):
        for form, ends in cases():
            want = loop_of(steps, form, ends)
            jitted = jax.jit(lambda mask: got_of(steps, form, ends, jax.numpy.asarray, mask=mask))
            for f in jitted, lambda mask: got_of(steps, form, ends, jax.numpy.asarray, mask=mask):
                for a, b in zip(f(jax.numpy.asarray(steps.mask)), want):
                    np.testing.assert_allclose(a, b, tolerance, tolerance)
        for mask in jax.numpy.ones(B), True:
            for a, b in zip(got_of(steps, None, "done", jax.numpy.asarray, mask=mask), masked_loop(
                    steps.rewards, steps.longer, None, GAMMA, LAM, np.ones((T, B)), steps.over, steps.over)):
                np.testing.assert_allclose(a, b, tolerance, tolerance)
        with pytest.raises(ValueError, match=rf"^mask has shape \({T - 1}, {B}\), which does not broadcast"):
            got_of(steps, None, "done", jax.numpy.asarray, mask=jax.numpy.ones((T - 1, B)))


def test_jax_gradients_of_masks(jax):
    from jax.test_util import check_grads
    steps = Masked(2, (9, 2))
    with order.set_wide(jax, True):
        for form, ends in cases():
            mask, flags = steps.mask.copy(), steps.flags(ends)[0]
            if form == "next_step" and ends in ("truncated", "all"):
                mask[1:] |= steps.cut[:-1]
            steps.mask = mask

            def f(rewards, values, gamma, lam, *following):
                return rowscan.gae(rewards, values, gamma, lam, *(following or (form,)), dim=0, mask=mask, **flags)

            def arguments(steps):
                arrays = steps.rewards, steps.values(form)[0], GAMMA, LAM, *([steps.next_values] * (form == "given"))
                return tuple(map(jax.numpy.asarray, arrays))
            check_grads(f, arguments(steps), 1, ("fwd", "rev"))
            g = jax.grad(lambda *given: sum((y ** 2).sum() for y in f(*given)), tuple(range(len(arguments(steps)))))
            mine, poisoned = g(*arguments(steps)), g(*arguments(steps.poisoned(np.nan)))
            for a, b in zip(mine, poisoned):
                np.testing.assert_array_equal(a, b)
                assert np.isfinite(b).all()
            assert not np.asarray(poisoned[0])[~mask].any() and np.asarray(poisoned[0])[mask].any()
