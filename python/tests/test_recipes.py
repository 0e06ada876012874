"""test_recipes.py - the functions of docs/recipes.md against the library that people come from, or against a plain loop

SPDX-License-Identifier: MIT
"""
import ast
import contextlib
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from blocks import ROOT, blocks  # noqa: E402

PYTHON = [block for block in blocks(ROOT / "docs" / "recipes.md") if block.kind == "python"]
GAMMA, LAM, T, B = 0.9, 0.75, 29, 3


def recipe(name):
    """The function of that name, as it stands on the page."""
    text = next(block.text for block in PYTHON if f"def {name}(" in block.text)
    if "import torch" in text:
        pytest.importorskip("torch")
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(text, names)
    return names[name]


@pytest.fixture
def random():
    return np.random.default_rng(0)


# ---- pandas and SciPy ------------------------------------------------------------------------------------------------


def test_groupby(random):
    pandas = pytest.importorskip("pandas")
    x, groups = random.standard_normal(500), random.integers(0, 7, 500)
    np.testing.assert_allclose(recipe("groupby_cumsum")(x, groups), pandas.Series(x).groupby(groups).cumsum(), 1e-10,
                               1e-12)
    words = np.array(["b", "a", "b", "a"])
    codes = np.unique(words, return_inverse=True)[1]
    want = pandas.Series(np.arange(4.)).groupby(words).cumsum()
    assert (recipe("groupby_cumsum")(np.arange(4.), codes) == want).all()


def test_groupby_loop(random):
    x, groups = random.standard_normal(500), random.integers(0, 7, 500)
    want = [x[:i + 1][groups[:i + 1] == groups[i]].sum() for i in range(500)]
    np.testing.assert_allclose(recipe("groupby_cumsum")(x, groups), want, 1e-10, 1e-12)


@pytest.mark.parametrize("adjust", [True, False])
def test_ewm(random, adjust):
    pandas = pytest.importorskip("pandas")
    x = random.standard_normal(300)
    for alpha in (0.3, 2 / (10 + 1), 1 - np.exp(-np.log(2) / 5), 1 / (1 + 4)):
        want = pandas.Series(x).ewm(alpha=alpha, adjust=adjust).mean()
        np.testing.assert_allclose(recipe("ewm_mean")(x, alpha, adjust), want, 1e-10, 1e-12)
    for words, alpha in (({"span": 10}, 2 / 11), ({"halflife": 5}, 1 - np.exp(-np.log(2) / 5)), ({"com": 4}, 1 / 5)):
        want = pandas.Series(x).ewm(adjust=adjust, **words).mean()
        np.testing.assert_allclose(recipe("ewm_mean")(x, alpha, adjust), want, 1e-10, 1e-12)


@pytest.mark.parametrize("adjust", [True, False])
def test_ewm_loop(random, adjust):
    x, alpha = random.standard_normal(50), 0.3
    weights = [(1 - alpha) ** np.arange(i, -1, -1) * np.where((np.arange(i + 1) > 0) & (not adjust), alpha, 1)
               for i in range(50)]
    want = [np.dot(x[:len(w)], w) / (w.sum() if adjust else 1) for w in weights]
    np.testing.assert_allclose(recipe("ewm_mean")(x, alpha, adjust), want, 1e-10, 1e-12)


def test_drawdown_and_mean(random):
    pandas = pytest.importorskip("pandas")
    prices = pandas.Series(np.exp(random.standard_normal(300).cumsum() / 10))
    assert (recipe("drawdown")(prices.to_numpy()) == prices / prices.cummax() - 1).all()
    np.testing.assert_allclose(recipe("expanding_mean")(prices.to_numpy()), prices.expanding().mean(), 1e-12)


def test_drawdown_and_mean_loops(random):
    x = np.exp(random.standard_normal(200) / 10)
    assert (recipe("drawdown")(x) == [x[i] / x[:i + 1].max() - 1 for i in range(200)]).all()
    np.testing.assert_allclose(recipe("expanding_mean")(x), [x[:i + 1].mean() for i in range(200)], 1e-12)


@pytest.mark.parametrize("b, a", [([0.25, 0.25], [1., -0.5]), ([2., -1.], [4., 3.])])
def test_lfilter(random, b, a):
    signal = pytest.importorskip("scipy.signal")
    x = random.standard_normal((2, 300))
    np.testing.assert_allclose(recipe("lfilter1")(b, a, x), signal.lfilter(b, a, x), 1e-10, 1e-12)
    want, state = signal.lfilter(b, a, x[:, :100], zi=[[0.5], [0.5]])
    np.testing.assert_allclose(recipe("lfilter1")(b, a, x[:, :100], 0.5), want, 1e-10, 1e-12)
    np.testing.assert_allclose(recipe("lfilter1")(b, a, x[:, 100:], state[:, 0]),
                               signal.lfilter(b, a, x[:, 100:], zi=state)[0], 1e-10, 1e-12)


def test_lfilter_loop(random):
    (b0, b1), (a0, a1) = b, a = [2., -1.], [4., 3.]
    x = random.standard_normal(100)
    y, before = [], 0
    for i, value in enumerate(x):
        before = (b0 * value + (b1 * x[i - 1] if i else 0) - a1 * before) / a0
        y.append(before)
    np.testing.assert_allclose(recipe("lfilter1")(b, a, x), y, 1e-10, 1e-12)


# ---- language models -------------------------------------------------------------------------------------------------


def test_positions(random):
    lengths = random.integers(0, 5, 40)
    want = np.concatenate([np.arange(n) for n in lengths])
    documents = np.repeat(np.arange(40), lengths)
    assert (recipe("positions_of_documents")(documents) == want).all()
    assert (recipe("positions_of_offsets")(np.append(0, lengths.cumsum())) == want).all()


def test_top_p(torch):
    logits = torch.randn(20, 5000)
    kept = recipe("kept_by_top_p")(logits, 0.9)
    for row, count in zip(logits.double(), kept.tolist()):
        exact = row.softmax(-1).sort(descending=True).values.cumsum(-1)
        assert exact[count - 1] > 0.9 - 1e-6 and (count == 1 or exact[count - 2] < 0.9 + 1e-6)
    assert recipe("kept_by_top_p")(logits, 0.).tolist() == [1] * 20


# ---- reinforcement learning ------------------------------------------------------------------------------------------


@pytest.fixture
def rollout(random):
    """rewards, values and flags, [T, B], in which next is V of the observation that follows a step in its episode."""
    given = SimpleNamespace(rewards=random.standard_normal((T, B)), values=random.standard_normal((T + 1, B)))
    given.terminated = random.random((T, B)) < 0.1
    given.truncated = (random.random((T, B)) < 0.1) & ~given.terminated
    given.done = given.terminated | given.truncated
    given.final = random.standard_normal((T, B))
    given.next = np.where(given.truncated, given.final, given.values[1:])
    return given


def loop(rewards, values, next_values, terminated, done):
    y, after = np.empty_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + GAMMA * next_values[t] * ~terminated[t] - values[t]
        after = y[t] = delta + GAMMA * LAM * ~done[t] * after
    return y


def check(got, advantages, values):
    np.testing.assert_allclose(np.asarray(got[0]), advantages, 1e-10, 1e-12)
    np.testing.assert_allclose(np.asarray(got[1]), advantages + values, 1e-10, 1e-12)


def test_cleanrl(torch, rollout):
    """Its ppo.py, in which dones are those of the observation."""
    values, next_value = rollout.values[:-1], rollout.values[-1]
    dones = np.concatenate([np.zeros((1, B)), rollout.done[:-1]]).astype("f8")
    next_done = rollout.done[-1].astype("f8")
    advantages, last = np.zeros((T, B)), 0
    for t in reversed(range(T)):
        going_on = 1 - (next_done if t == T - 1 else dones[t + 1])
        following = next_value if t == T - 1 else values[t + 1]
        delta = rollout.rewards[t] + GAMMA * following * going_on - values[t]
        advantages[t] = last = delta + GAMMA * LAM * going_on * last
    given = map(torch.from_numpy, (rollout.rewards, values, dones, next_value, next_done))
    check(recipe("gae_cleanrl")(*given, GAMMA, LAM), advantages, values)


def test_trl(torch, rollout):
    """Its ppo_trainer.py, in which nothing follows the last token."""
    rewards, values = rollout.rewards, rollout.values[:-1]
    never = np.zeros((T, B), bool)
    want = loop(rewards, values, np.append(values[1:], np.zeros((1, B)), 0), never, never)
    got = recipe("gae_trl")(torch.from_numpy(rewards.T), torch.from_numpy(values.T), GAMMA, LAM)
    check([g.T for g in got], want, values)


def test_verl(torch, rollout):
    """Its core_algos.py, in which observations have no part: nothing follows the last token of the policy's."""
    rewards, values = rollout.rewards.T, rollout.values[:-1].T
    mask = (np.random.default_rng(1).random((B, T)) < 0.6).astype("i8")
    advantages, following, last = np.zeros((B, T)), 0, 0
    for t in reversed(range(T)):
        step = rewards[:, t] + GAMMA * following - values[:, t] + GAMMA * LAM * last
        following = values[:, t] * mask[:, t] + (1 - mask[:, t]) * following
        advantages[:, t] = last = step * mask[:, t] + (1 - mask[:, t]) * last
    for bad in rewards, np.nan:
        given = (torch.tensor(np.where(mask, a, bad)) for a in (rewards, values))
        check(recipe("gae_verl")(*given, torch.tensor(mask), GAMMA, LAM), advantages, values * mask)


def test_sb3(rollout):
    """Truncated episodes have the value of their last observation in their last reward."""
    rewards = rollout.rewards + GAMMA * np.where(rollout.truncated, rollout.final, 0)
    starts = np.concatenate([np.ones((1, B)), rollout.done[:-1]]).astype("f4")
    buffer = SimpleNamespace(rewards=rewards, values=rollout.values[:-1], episode_starts=starts)
    want = loop(rollout.rewards, rollout.values[:-1], rollout.next, rollout.terminated, rollout.done)
    check(recipe("gae_sb3")(buffer, rollout.values[-1:].T, rollout.done[-1], GAMMA, LAM), want, rollout.values[:-1])


def test_torchrl(torch, rollout):
    def its(x):
        return torch.from_numpy(np.ascontiguousarray(x.T))[..., None]
    got = recipe("gae_torchrl")(GAMMA, LAM, its(rollout.values[:-1]), its(rollout.next), its(rollout.rewards),
                                its(rollout.done), its(rollout.terminated))
    want = loop(rollout.rewards, rollout.values[:-1], rollout.next, rollout.terminated, rollout.done)
    check([g[..., 0].T for g in got], want, rollout.values[:-1])


@pytest.mark.parametrize("last_r", [0., 1.5])
def test_rllib(rollout, last_r):
    rewards, values = rollout.rewards[:, 0], rollout.values[:-1, 0]
    delta = rewards + GAMMA * np.append(values[1:], last_r) - values
    want = [sum(delta[t + k] * (GAMMA * LAM) ** k for k in range(T - t)) for t in range(T)]
    check(recipe("gae_rllib")(rewards, values, last_r, GAMMA, LAM), np.array(want), values)


def test_gymnasium(rollout):
    want = loop(rollout.rewards, rollout.values[:-1], rollout.next, rollout.terminated, rollout.done)
    got = recipe("gae_same_step")(rollout.rewards, rollout.values, rollout.final, rollout.terminated, rollout.truncated,
                                  GAMMA, LAM)
    check(got, want, rollout.values[:-1])
    want = loop(rollout.rewards, rollout.values[:-1], rollout.values[1:], rollout.terminated, rollout.done)
    got = recipe("gae_next_step")(rollout.rewards, rollout.values, rollout.terminated, rollout.truncated, GAMMA, LAM)
    check(got, want, rollout.values[:-1])


def test_all_recipes_are_tried():
    functions = {node.name for block in PYTHON for node in ast.parse(block.text).body
                 if isinstance(node, ast.FunctionDef)}
    here = Path(__file__).read_text(encoding="utf-8")
    assert functions and not {name for name in functions if f'recipe("{name}")' not in here}
