"""Prefix scans along one dimension of an array: sums, products, maxima and more, for torch, NumPy, CuPy and JAX.

SPDX-License-Identifier: MIT

>>> import numpy as np, rowscan
>>> rowscan.cumsum(np.arange(6.0).reshape(2, 3), dim=1, reverse=True)
array([[ 3.,  3.,  2.],
       [12.,  9.,  5.]])

Results depend on the row alone, bit for bit: not on the batch, the device, the library, or the run.

cumsum              cumulative sums; help(rowscan.cumsum) is the manual of the arguments that all scans share
cumprod             cumulative products
cummax, cummin      cumulative maxima and minima, and where they are
logcumsumexp        logarithms of cumulative sums of exponentials
linear_recurrence   y[i] = coefficient[i] * y[i-1] + x[i]: moving averages, states of linear layers
scan                a scan with any operator, by its name: also and, or, xor, argmax, argmin, extended_prod
cumulative_sum, cumulative_prod
                    those of the Python array API standard
discounted_returns  returns of episodes, for reinforcement learning
gae                 generalized advantage estimation
create_op           makes an operator of your own, in CUDA C++, for arrays on GPUs
prepare             makes ready what a call needs, so that none waits for a compiler
spec                what the kernels of a call depend on, as text
warm                compiles the kernels of such texts, for GPUs that need not be present
cache               the kernels on disk: rowscan.cache.info, export, import_, ...
devices, archs      the GPUs; the architectures that can be compiled for
set_threads         how many threads a scan on the CPU uses
distributed         the same scans of arrays that are cut over processes
torch               rowscan.torch.patched, install: rowscan in the place of torch's own functions

Errors: all of the library's are a rowscan.Error, and of a subclass that says which kind.
"""
import importlib as _importlib
import sys as _sys

if "t" in _sys.abiflags:
    raise ImportError("rowscan needs a Python with the GIL: its extension is built for the stable ABI, which "
                      "free-threaded Pythons don't have yet")

import os as _os

from . import _core
from ._after import after_import as _after_import
from ._errors import (BadArgument, CacheFailed, CommFailed, CompileFailed, CudaFailed, Error, NoCompiler, NoDevice,
                      NoDriver, NotCached, OutOfMemory, Unsupported)
from ._call import library_of as _library_of
from ._types import PREPARE as _PREPARE, PROD as _PROD, SPEC as _SPEC, SUM as _SUM, create_op as _create_op
from . import cache


def __getattr__(name):
    if name in ("torch", "distributed"):
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__ = library_version = _core.library_version
__all__ = ["scan", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_recurrence", "cumulative_sum",
           "cumulative_prod", "discounted_returns", "gae", "create_op", "prepare", "spec", "warm", "devices", "archs",
           "set_threads", "cache", "Error", "BadArgument", "CacheFailed", "CommFailed", "CompileFailed", "CudaFailed",
           "NoCompiler", "NoDevice", "NoDriver", "NotCached", "OutOfMemory", "Unsupported"]
_os.register_at_fork(after_in_child=_core.forget)
_after_import("torch", lambda: _importlib.import_module("._torch", __name__))

scan = _core.scan
cumsum = _core.cumsum
cumprod = _core.cumprod
cummax = _core.cummax
cummin = _core.cummin
logcumsumexp = _core.logcumsumexp
linear_recurrence = _core.linear_recurrence
devices = _core.devices
archs = _core.archs
set_threads = _core.set_threads


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Cumulative sums, as the Python array API standard has them.

    x                array of any shape
    axis             dimension to sum along; may be left out if there is one alone
    dtype            of the result; default: x's if floating, else the library's widest integer
    include_initial  the result begins with 0 and is one longer along axis

    >>> rowscan.cumulative_sum(np.array([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    return _library_of(x).cumulative(_SUM, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Cumulative products, as the Python array API standard has them: see cumulative_sum.

    >>> rowscan.cumulative_prod(np.array([1, 2, 3]), include_initial=True)
    array([1, 1, 2, 6])
    """
    return _library_of(x).cumulative(_PROD, x, axis, dtype, include_initial)


def discounted_returns(rewards, gamma, done=None, dim=None, *, axis=None, init=None, acc=None):
    """Discounted returns of episodes: G[t] = rewards[t] + gamma * G[t+1], where G[t+1] counts as 0 if done[t].

    rewards    array of NumPy, torch, CuPy or JAX
    gamma      number, or array that broadcasts to rewards
    done       array that broadcasts to rewards, not 0 or False where an episode ends with a step; default: nowhere
    dim, axis  two names of one integer, the dimension of time; only rewards of one dimension need none
    init       G behind the last step, such as its value where the episode goes on: a number, or an array that
               broadcasts to rewards with size 1 along dim; default: 0
    acc        type of the accumulator, as for linear_recurrence

    It is linear_recurrence() from the end, in segments that end where done: nothing of an episode is in the returns of
    another, an infinity or NaN included. Where an episode was cut off (truncated), add gamma times the value of its
    last state to the reward of its last step. Gradients, in torch and JAX, are of rewards, gamma and init.

    Returns are floating: of the type of rewards * gamma, where a number for gamma is a float, and integer rewards are
    converted to what a float is in the array's library: float64 in NumPy and CuPy, the default dtype of torch, float32
    in JAX without 64 bits.

    >>> rowscan.discounted_returns(np.array([1., 1., 1., 1.]), 0.5, done=[0, 1, 0, 0], init=8)
    array([1.5, 1. , 3.5, 5. ])
    """
    return _library_of(rewards, "rewards").discounted_returns(rewards, gamma, done, dim, axis, init, acc)


def gae(rewards, values, gamma, lam, next_values=None, terminated=None, done=None, dim=None, *, axis=None,
        truncated=None, mask=None, acc=None):
    """Generalized advantage estimation: the pair of advantages A and of returns, which are A + values.

    A[t] = delta[t] + gamma * lam * A[t+1], where A[t+1] counts as 0 if an episode ends with step t, and
    delta[t] = rewards[t] + gamma * next_values[t] - values[t], where next_values[t] counts as 0 if terminated[t].

    rewards      array of NumPy, torch, CuPy or JAX
    values       of the states: in rewards' shape or, without next_values, one longer along dim
    gamma, lam   numbers, or arrays that broadcast to rewards
    next_values  of the states behind each step, in rewards' shape; default: values[t+1]. Where an episode may be cut
                 off (terminated and done are given, or truncated is) they must be given, for there values[t+1] may be
                 of the next episode's first state. The word 'next_step' says that values[t+1] is right there too.
    terminated   flags of the steps into a terminal state, behind which nothing comes; default: those that are done and
                 not truncated
    done         flags of the steps that an episode ends with, terminated or cut off; the next step is of another one.
                 Steps that are terminated or truncated are done, whatever is here
    truncated    flags of the steps behind which an episode was cut off, by a time limit, say
    mask         flags of the steps that count, the policy's own; default: all. The others, such as the tokens that a
                 tool answers with, are passed over: see below
    dim, axis    two names of one integer, the dimension of time; only rewards of one dimension need none
    acc          type of the accumulator, as for linear_recurrence

    Flags, and mask, are arrays that broadcast to rewards; what is not 0 or False is set.

    What is at next_values where terminated does not matter, NaN included. Where an episode ends nothing is passed on,
    an infinity or NaN included. Arrays of one floating type, with numbers for gamma and lam, take one pass, computed in
    f64 by default. With gradients, in JAX and otherwise delta is computed as the arrays' library does. Results are
    floating, as those of discounted_returns are. Gradients, in torch and JAX, are of rewards, values, next_values,
    gamma and lam.

    >>> advantages, returns = rowscan.gae(np.array([1., 1., 1.]), np.array([2., 2., 2., 4.]), 0.5, 0.5, done=[0, 1, 0])
    >>> advantages, returns
    (array([-0.25, -1.  ,  1.  ]), array([1.75, 1.  , 3.  ]))

    A step at which mask is false is masked out: its reward and value do not matter, NaN included. A[t] there is that of
    the next step of the episode that counts, or 0 if there is none, and the return there is A[t] alone, with no value
    added. The next value of a step that counts is

    - without next_values, or with 'next_step', the value of the next step of its episode that counts. If there is none
      it is what follows the episode's last step e, masked out or not: 0 where that is terminated, else values[e+1]
    - with next_values, next_values[t], or 0 if terminated[t]

    Flags of masked-out steps count: an episode that ends with one ends there, for the steps before it as well.

    >>> rewards, values, mask = np.array([0., 9., 9., 8.]), np.array([1., 9., 9., 2., 0.]), np.array([1, 0, 0, 1])
    >>> rowscan.gae(rewards, values, 0.5, 0.5, mask=mask)
    (array([1.5, 6. , 6. , 6. ]), array([2.5, 6. , 6. , 8. ]))

    These lines do what other libraries do, with the names that they have for their arrays.

    CleanRL, in ppo.py, where dones[t] says whether obs[t] begins an episode:

        ended = torch.cat((dones[1:], next_done[None]))
        advantages, returns = rowscan.gae(rewards, torch.cat((values, next_value)), args.gamma, args.gae_lambda,
                                          done=ended, dim=0)

    Stable-Baselines3, in RolloutBuffer.compute_returns_and_advantage(), whose rewards have in them already what comes
    behind a truncated step:

        ended = np.concatenate((self.episode_starts[1:], dones[None]))
        values = np.concatenate((self.values, last_values[None]))
        self.advantages, self.returns = rowscan.gae(self.rewards, values, self.gamma, self.gae_lambda, done=ended,
                                                    dim=0)

    TorchRL, as generalized_advantage_estimate(), of arrays [..., time, features]:

        advantage, value_target = rowscan.gae(reward, state_value, gamma, lmbda, next_state_value, terminated, done,
                                              dim=-2)

    RLlib, as compute_value_targets_with_bootstrap(), of one episode:

        values = np.append(values, np.float32(bootstrap_value))
        value_targets = rowscan.gae(rewards, values, gamma, lambda_, done=terminateds)[1]

    RLHF with tools, as verl in compute_gae_advantage_return() before it whitens, of arrays [batch, time]; response_mask
    is 0 at the tokens of a tool and at padding, and the value behind the last token is 0:

        advantages, returns = rowscan.gae(token_level_rewards, torch.nn.functional.pad(values, (0, 1)), gamma, lam,
                                          dim=1, mask=response_mask)

    Gymnasium, with AutoresetMode.NEXT_STEP, its default: values are those of all observations, one more than steps. The
    step behind the last one of an episode does nothing but reset: leave its advantage out of the loss. ended_before:
    for each environment, whether the step before the rollout ended its episode.

        advantages, returns = rowscan.gae(rewards, values, gamma, lam, next_values="next_step", terminated=terminations,
                                          truncated=truncations, dim=0)
        ended = terminations | truncations
        resets = np.concatenate((ended_before[None], ended[:-1]))

    Gymnasium, with AutoresetMode.SAME_STEP: final_values are those of infos["final_obs"], where there is one.

        next_values = np.where(truncations, final_values, values[1:])
        advantages, returns = rowscan.gae(rewards, values[:-1], gamma, lam, next_values, terminated=terminations,
                                          truncated=truncations, dim=0)
    """
    return _library_of(rewards, "rewards").gae(rewards, values, gamma, lam, next_values, terminated, done, dim, axis,
                                               truncated, acc, mask)


def create_op(source):
    """Makes an operator of a struct in CUDA C++, for arrays on GPUs; returns its name, which scan() takes as op.

    source   text, whose first line says what rowscan must know of the struct, and which defines it behind that

    The line is "// rowscan: op=NAME". Where the defaults will not do, there follow numbers=1 to 4 (what a total takes;
    default 1), types=any, floats or integers (what it computes in; default any) and coefficient=1 (it has coefficients,
    as linear_recurrence has); inputs=1 to 5 (arrays that an element is made of, x and those of scan()'s more), params=0
    to 4 (numbers that each call tells, of floats) and outputs=2 (there may be a second one). The struct is template
    <class A, class K> struct NAME; A is what is computed in:

    Total          what a block of elements comes to, of plain data
    load(x)        the Total of one element; where there are more, load(x, coefficient, more..., params...)
    combine(l, r)  the Total of two blocks, l before r: associative, but it need not commute
    store(t)       the A that is shown of a prefix
    neutral()      the Total of no elements, which changes none that it is combined with
    second(t, x, ...)
                   with outputs=2: the A that the second output shows of a prefix, whose own element load() made of the
                   rest

    With a coefficient, inputs or params there is begin(y), too, the Total of an initial value. All are RS_METHOD
    static. rowscan.h, where rowscan_op_create is, says what else it may have. The types of results are those of sums.
    Masks, segments (of totals of few bytes), init, totals and all other arguments of scan() are there, in torch, CuPy
    and JAX, more, params and second among them; gradients are not, and where one is wanted Unsupported is raised.

    The operator is the process's, and stays until that ends; prepare(), spec() and warm() know its name, too. The same
    text again gives the same name, in any thread. What torch.export and jax.export save has its number in the place of
    its name: where that is loaded, the same operators must have been made in the same order.

    Raises BadArgument, a ValueError, where the first line is wrong, the text has what reads or finds files (#include,
    __has_include and their like, in comments too: a text stands alone), or there is an operator of this name with
    another text; Unsupported where there are 64 already. What is wrong with the struct shows when it is compiled, by a scan,
    prepare() or warm(): CompileFailed, with the compiler's message. Arrays on the CPU are Unsupported.

    >>> name = rowscan.create_op('''// rowscan: op=LastNonzero
    ... template <class A, class K> struct LastNonzero {
    ...   using Total = A;
    ...   RS_METHOD static Total load(A x) { return x; }
    ...   RS_METHOD static Total neutral() { return 0; }
    ...   RS_METHOD static Total combine(Total l, Total r) { return r != 0 ? r : l; }
    ...   RS_METHOD static A store(Total t) { return t; }
    ... };
    ... ''')
    >>> name
    'LastNonzero'
    >>> rowscan.spec(np.zeros((4, 1000), np.float32), 1, name)
    'op=LastNonzero in=f32 out=f32 acc=f32 mask=none reverse=0 exclusive=0 length=1000 layout=rows row_rank=1'
    """
    return _create_op(source)


def prepare(x, dim=None, op="sum", *, coefficient=None, axis=None, reverse=False, exclusive=False, omit_nan=False,
            mask=None, mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None,
            acc=None, out=None, ties="last", more=None, params=None, second=False):
    """Makes ready what scan() of these arguments needs, or cumsum() and its like, and scans nothing.

    The call itself then compiles, loads and allocates nothing but its result. On a CPU there is nothing to do.

    Arguments are those of scan(), with every operator. Elements are not read.

    >>> rowscan.prepare(np.zeros((4, 1000)), 1, reverse=True)
    """
    _library_of(x).asked(x, dim, op, coefficient, axis, reverse, exclusive, omit_nan, mask, mask_mode, heads, tails,
                         keys, init, totals, dtype, acc, out, ties, more, params, second,
                         wanted=_PREPARE)


def spec(x, dim=None, op="sum", *, coefficient=None, axis=None, reverse=False, exclusive=False, omit_nan=False,
         mask=None, mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None,
         acc=None, out=None, ties="last", more=None, params=None, second=False):
    """The spec of a scan, as text: what its kernels are made for, and what warm() takes.

    Arguments are those of scan(), with every operator. Elements are not read.

    >>> rowscan.spec(np.zeros((4, 1000), np.float32), 1, reverse=True)
    'op=sum in=f32 out=f32 acc=f32 mask=none reverse=1 exclusive=0 length=1000 layout=rows row_rank=1'
    """
    return _library_of(x).asked(x, dim, op, coefficient, axis, reverse, exclusive, omit_nan, mask, mask_mode, heads,
                                tails, keys, init, totals, dtype, acc, out, ties, more, params, second,
                                wanted=_SPEC)


def warm(specs, archs=None, *, threads=0):
    """Fills the cache on disk with the kernels of specs, so that no call waits for the compiler. Needs no GPU.

    specs    list of texts as spec() gives them; all but length may be left out: "in=f32 length=4096"
    archs    list of architectures, ["sm_90"]; default: all that NVRTC knows
    threads  that compile at a time; default: one a processor

    With ROWSCAN_CACHE=only it compiles nothing, needs neither a directory nor NVRTC, and raises NotCached if a kernel
    is missing: a check at startup.

    Returns the number of modules (kernels) that the specs have, and how many of them were compiled now.
    """
    return _core.warm(specs, archs, threads)


for _public in map(globals().get, __all__):
    if hasattr(_public, "__module__"):
        _public.__module__ = __name__  # where users, help() and pickle find it
