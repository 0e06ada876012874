"""test_rollouts.py - the lines in help(rowscan.gae) that do what other libraries do, against those libraries' loops

SPDX-License-Identifier: MIT

The loops are written for these tests, from what the libraries compute, in plain NumPy.
"""
import inspect
import re
import textwrap
import types

import pytest

np = pytest.importorskip("numpy")

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
        "CleanRL", "Stable-Baselines3", "TorchRL", "RLlib", "Gymnasium", "Gymnasium"]
