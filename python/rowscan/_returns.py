"""_returns.py - returns and advantages of reinforcement learning, as recurrences from the end

SPDX-License-Identifier: MIT

Arithmetic is that of the array's library, and so are gradients; but where no gradient is asked for, advantages take one
pass in C.
"""
from . import _core
from ._types import COEFFICIENT, NUMBERS, RECURRENCE, REVERSE, SELECT, SUM, TAILS, is_floating

NEXT_STEP = "next_step"  # next_values are values[t+1], also where an episode was cut off


def _rewards(library, given, dim, axis):
    """Rewards of a floating type, and the dimension of time; None: the one that there is."""
    x, dim = library.array(given, "rewards"), library.one_of(dim, axis)
    if not is_floating(library.number(x.dtype, "rewards.dtype")):
        x = library.cast(x, library.number(library.full(0.0, None, x).dtype, "the type of a float"))
    if dim is None and x.ndim > 1:
        raise TypeError(f"dim is needed, the dimension of time: rewards has {x.ndim} dimensions")
    return x, dim


def _beside(library, given, what, x):
    """An array beside the rewards."""
    array = library.beside(library.of(given, None, x, what), what, x)
    library.number(array.dtype, what + ".dtype")  # or an error
    return array


def _array(library, given, what, x):
    """One that broadcasts to them."""
    array = _beside(library, given, what, x)
    library.broadcast(array, what, tuple(x.shape))  # or an error
    return array


def _flags(library, given, what, x):
    """Whether steps are marked, as bools."""
    if given is None:
        return None
    flags = _array(library, given, what, x)
    return flags if library.numbers[flags.dtype] == NUMBERS["bool"] else flags != 0


def _number_or_array(library, given, what, x):
    return given if isinstance(given, (int, float)) else _array(library, given, what, x)


def _recurrence(library, x, factor, done, dim, init, acc, names=None, mask=None):
    """From the end, of episodes that end where done: segments, so that nothing of one is in another, be it NaN."""
    factor = float(factor) if isinstance(factor, int) else factor
    selected = (factor, COEFFICIENT) if mask is None else (mask, SELECT)
    return library.scan(RECURRENCE, x, dim, REVERSE, *selected, init, False, None, acc, None, None, None, False, done,
                        TAILS if done is not None else 0, None if mask is None else factor, names)


def discounted_returns(library, rewards, gamma, done, dim, axis, init, acc):
    if init is None and acc is None and (dim is None or axis is None) and library.may_ask():
        returns = _core.returns(rewards, gamma, done, axis if dim is None else dim)
        if returns is not NotImplemented:
            return returns
    rewards, dim = _rewards(library, rewards, dim, axis)
    if gamma is None:
        raise TypeError("gamma is None, not a number or an array")
    return _recurrence(library, rewards, gamma, done, dim, init, acc,
                       {"x": "rewards", "coefficient": "gamma", "tails": "done"})


def _ends(library, terminated, truncated, done, x):
    """Flags of the steps behind which nothing comes, and of those with which an episode ends; None: there are none."""
    terminated, truncated, done = (_flags(library, given, what, x) for given, what in (
        (terminated, "terminated"), (truncated, "truncated"), (done, "done")))
    cuts = None
    for flags in terminated, truncated, done:
        cuts = flags if cuts is None else cuts if flags is None else cuts | flags
    if terminated is None and done is not None:
        terminated = done if truncated is None else done & ~truncated
    return terminated, cuts


def _check_following(next_values, terminated, truncated, done):
    """values[t+1] is the value of another episode's state where one was cut off."""
    if isinstance(next_values, str) and next_values != NEXT_STEP:
        raise ValueError(f"next_values is {next_values!r}, not an array or {NEXT_STEP!r}")
    if next_values is None and (truncated is not None or (terminated is not None and done is not None)):
        given = "truncated is" if truncated is not None else "terminated and done are"
        raise TypeError(f"next_values is not given, and {given}, so that an episode may be cut off where values[t+1] "
                        f"is of the next one's first state: give the values of the states behind each step, or "
                        f"{NEXT_STEP!r} if values[t+1] are these (Gymnasium's AutoresetMode.NEXT_STEP)")


def _values(library, values, next_values, x, dim):
    """Those of each step and of the next one."""
    values = _beside(library, values, "values", x)
    shape, longer = tuple(x.shape), tuple(n + int(d == dim) for d, n in enumerate(x.shape))
    told = "not given" if next_values is None else repr(NEXT_STEP) if isinstance(next_values, str) else "given"
    wanted = shape if told == "given" else longer
    if tuple(values.shape) != wanted:
        raise ValueError(f"values has shape {tuple(values.shape)}, not {wanted}: rewards has {shape}, and next_values "
                         f"is {told}")
    if wanted is longer:
        before = (slice(None),) * dim
        return values[before + (slice(None, shape[dim]),)], values[before + (slice(1, None),)]
    next_values = _beside(library, next_values, "next_values", x)
    if tuple(next_values.shape) != shape:
        raise ValueError(f"next_values has shape {tuple(next_values.shape)}, not that of rewards, {shape}: that of the "
                         "last step alone is the last of values, one longer")
    return values, next_values


def _carried(library, following, mask, terminated, cuts, dim):
    """The next values of steps, given those of the step right behind each, where steps may be masked out.

    Behind step t is the value of t + 1 if that step counts, or t is the last of its episode or row; else it is what is
    behind t + 1. So each run of steps with the same next value is a segment, whose sum is that value and zeros.
    """
    before = (slice(None),) * dim
    last = mask[before + (slice(-1, None),)]
    ends = library.xp.concatenate((mask[before + (slice(1, None),)], last | ~last), dim)
    ends = ends if cuts is None else ends | cuts
    x = library.cleared(~ends if terminated is None else ~ends | terminated, following)
    carried = library.scan(SUM, x, dim, REVERSE, ends, TAILS, None, False, None, None, None)
    return carried if carried.dtype == x.dtype else library.cast(carried, library.numbers[x.dtype])  # of integers


def _in_one_pass(library, rewards, values, following, gamma, lam, terminated, done, dim, acc, mask=None):
    """Advantages and returns; None where the arrays are not of one floating type, or not plain."""
    both = _core.gae(rewards, values, following, terminated, done, mask, gamma, lam, dim,
                     library.accumulator_number(acc))
    return None if both is NotImplemented else both


def _at_once(library, rewards, values, gamma, lam, next_values, terminated, done, dim, acc):
    """The same of arrays as they are given; None: they have to be looked at first."""
    step = isinstance(next_values, str) and next_values == NEXT_STEP
    if isinstance(next_values, str) and not step or next_values is None and terminated is not None is not done:
        return None
    if terminated is None:
        terminated = done
    elif done is None:
        done = terminated
    elif done is not terminated:
        if not all(type(flags) is type(rewards) and flags.dtype == library.dtypes[NUMBERS["bool"]] and
                   flags.shape == rewards.shape and library.device(flags) == library.device(rewards)
                   for flags in (terminated, done)):
            return None
        done = terminated | done
    return _in_one_pass(library, rewards, values, None if step else next_values, gamma, lam, terminated, done, dim, acc)


def gae(library, rewards, values, gamma, lam, next_values, terminated, done, dim, axis, truncated, acc, mask):
    if truncated is None and mask is None and (dim is None or axis is None) and library.may_ask():
        both = _at_once(library, rewards, values, gamma, lam, next_values, terminated, done,
                        axis if dim is None else dim, acc)
        if both is not None:
            return both
    rewards, dim = _rewards(library, rewards, dim, axis)
    dim = library.normalised(0 if dim is None else dim, rewards.ndim)
    _check_following(next_values, terminated, truncated, done)
    are_given = next_values is not None and not isinstance(next_values, str)
    values, following = _values(library, values, next_values, rewards, dim)
    terminated, done = _ends(library, terminated, truncated, done, rewards)
    mask, counts = _flags(library, mask, "mask", rewards), None
    if mask is not None:
        mask = library.xp.broadcast_to(mask, tuple(rewards.shape))
        if not are_given:
            following = _carried(library, following, mask, terminated, done, dim)
        rewards, values, following = (library.cleared(~mask, array) for array in (rewards, values, following))
        counts = mask if done is None else mask | done  # a pass in C sees no flags of what its mask leaves out
    if library.runs_at_once():
        told = (library.full(False, NUMBERS["bool"], rewards) if flags is None else flags
                for flags in (terminated, done))
        both = _in_one_pass(library, rewards, values, following, gamma, lam, *told, dim, acc, counts)
        if both is not None:
            return both
    if terminated is not None:
        following = library.cleared(terminated, following)
    gamma, lam = _number_or_array(library, gamma, "gamma", rewards), _number_or_array(library, lam, "lam", rewards)
    delta = rewards + gamma * following - values
    advantages = _recurrence(library, delta, gamma * lam, done, dim, None, acc, mask=mask)
    return advantages, advantages + values
