"""_returns.py - returns and advantages of reinforcement learning, as recurrences from the end

SPDX-License-Identifier: MIT

Arithmetic is that of the array's library, and so are gradients; but where no gradient is asked for, advantages take one
pass in C.
"""
from . import _core
from ._types import DEFAULT, NUMBERS, is_floating


def _broadcasts(library, array, what, shape):
    library.broadcast(array, what, shape)  # or an error
    return array


def _flags(library, given, what, x):
    """Whether steps are marked, as bools beside x."""
    flags = library.beside(library.of(given, None, x, what), what, x)
    is_bool = library.number(flags.dtype, what + ".dtype") == NUMBERS["bool"]
    return _broadcasts(library, flags if is_bool else flags != 0, what, tuple(x.shape))


def _number_or_array(library, given, what, x):
    if isinstance(given, (int, float)):
        return given
    return _broadcasts(library, library.beside(library.of(given, None, x, what), what, x), what, tuple(x.shape))


def _recurrence(library, x, factor, done, dim, init, acc):
    """From the end, of episodes that end where done: segments, so that nothing of one is in another, be it NaN."""
    tails = _flags(library, done, "done", x) if done is not None else None
    factor = float(factor) if tails is not None and isinstance(factor, int) else factor
    return library.asked(x, dim, "linear_recurrence", factor, None, True, False, False, None, "select", None, tails,
                         None, init, False, None, acc, None)


def discounted_returns(library, rewards, gamma, done, dim, init, acc):
    x = library.array(rewards)
    gamma = _number_or_array(library, gamma, "gamma", x)
    return _recurrence(library, x, gamma, done, dim, init, acc)


def _values(library, values, next_values, x, dim):
    """Those of each step and of the next one."""
    values = library.beside(library.of(values, None, x, "values"), "values", x)
    shape, longer = tuple(x.shape), tuple(n + (d == dim) for d, n in enumerate(x.shape))
    wanted = longer if next_values is None else shape
    if tuple(values.shape) != wanted:
        raise ValueError(f"values has shape {tuple(values.shape)}, not {wanted}: rewards has {shape}, and next_values "
                         f"is {'not ' if next_values is None else ''}given")
    if next_values is None:
        before = (slice(None),) * dim
        return values[before + (slice(None, shape[dim]),)], values[before + (slice(1, None),)]
    next_values = library.beside(library.of(next_values, None, x, "next_values"), "next_values", x)
    if tuple(next_values.shape) != shape:
        raise ValueError(f"next_values has shape {tuple(next_values.shape)}, not that of rewards, {shape}")
    return values, next_values


def _in_one_pass(library, rewards, values, following, gamma, lam, terminated, done, dim, acc):
    """Advantages and returns; None where the arrays are not of one floating type, or not plain."""
    kind, acc = library.number(rewards.dtype, "rewards.dtype"), library.accumulator_number(acc)
    served = (DEFAULT, NUMBERS["f64"]) if kind == NUMBERS["f64"] else (DEFAULT, NUMBERS["f64"], NUMBERS["f32"])
    numbers = all(type(given) in (int, float) for given in (gamma, lam))
    if not (library.runs_at_once() and is_floating(kind) and numbers and acc in served):
        return None
    terminated, done = (library.full(False, NUMBERS["bool"], rewards) if given is None
                        else _flags(library, given, what, rewards)
                        for given, what in ((terminated, "terminated"), (done, "done")))
    advantages, returns = (library.empty(tuple(rewards.shape), kind, rewards) for _ in range(2))
    given = _core.gae(rewards, values, following, terminated, done, advantages, returns, gamma, lam, dim, acc)
    return None if given is NotImplemented else (advantages, returns)


def gae(library, rewards, values, gamma, lam, next_values, terminated, done, dim, acc):
    rewards = library.array(rewards)
    dim = library.normalised(dim, rewards.ndim)
    values, following = _values(library, values, next_values, rewards, dim)
    terminated, done = done if terminated is None else terminated, terminated if done is None else done
    both = _in_one_pass(library, rewards, values, following, gamma, lam, terminated, done, dim, acc)
    if both is not None:
        return both
    if terminated is not None:
        following = library.cleared(_flags(library, terminated, "terminated", rewards), following)
    gamma, lam = _number_or_array(library, gamma, "gamma", rewards), _number_or_array(library, lam, "lam", rewards)
    delta = rewards + gamma * following - values
    advantages = _recurrence(library, delta, gamma * lam, done, dim, None, acc)
    return advantages, advantages + values
