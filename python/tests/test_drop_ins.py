"""test_drop_ins.py - the drop-ins for accelerated-scan, Mamba, CleanRL and TRL, against those projects' formulas

SPDX-License-Identifier: MIT

The loops are written for these tests, from what the projects compute. They run in float64, on inputs that were rounded
to the type under test: errors are those of the drop-ins, whose recurrences and GAE accumulate in float64 and round
once.
"""
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import accelerated_scan  # noqa: E402
import gae_cleanrl  # noqa: E402
import gae_trl  # noqa: E402
import mamba_scan  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
TYPES = [torch.float64, torch.float32, torch.bfloat16]
devices = pytest.mark.parametrize("device", DEVICES)
types = pytest.mark.parametrize("dtype", TYPES, ids=str)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def leaves(*tensors):
    """Copies that require gradients."""
    return [t.detach().clone().requires_grad_() for t in tensors]


def gradients(y, inputs):
    """Gradients of a weighted sum of y. The weights are positive, and differ."""
    weights = torch.linspace(0.5, 1.5, y.numel(), dtype=torch.float64, device=y.device).reshape(y.shape)
    return torch.autograd.grad((y.double() * weights).sum(), inputs)


def close(got, want, roundings, terms=0, sizes=None):
    """The error is at most `roundings` in got's type and `terms` in float64, relative to sizes (default: to want). A
    rounding errs by eps / 2; the bound is twice that, which leaves room for products of errors."""
    sizes = want.abs() if sizes is None else sizes
    bound = (roundings * torch.finfo(got.dtype).eps + 2 * terms * torch.finfo(torch.float64).eps) * sizes
    assert got.shape == want.shape
    assert ((got.double() - want).abs() <= bound).all(), ((got.double() - want).abs() / bound).max()


# ---- accelerated-scan ------------------------------------------------------------------------------------------------


def scan_loop(gates, tokens, reverse=False):
    """github.com/proger/accelerated-scan: x[t] = gates[t] * x[t-1] + tokens[t]."""
    x, out = torch.zeros_like(tokens[..., 0]), [None] * tokens.shape[-1]
    for t in reversed(range(len(out))) if reverse else range(len(out)):
        out[t] = x = gates[..., t] * x + tokens[..., t]
    return torch.stack(out, -1)


def gated(*shape, dtype=torch.float64, device="cpu"):
    """As in its README, all are positive: nothing cancels, so errors are relative to the result."""
    return ((0.9 + 0.1 * torch.rand(shape)).to(device, dtype), torch.rand(shape).to(device, dtype))


@devices
@pytest.mark.parametrize("reverse", [False, True])
def test_accelerated_scan_exact(device, reverse):
    """With whole numbers, whose sums are exact in float32 in any order."""
    for shape in (3, 5, 512), (2, 7, 33), (1, 1, 1), (4, 3, 1000):
        gates = torch.randint(-1, 2, shape, device=device).float()
        tokens = torch.randint(-9, 10, shape, device=device).float()
        got = accelerated_scan.scan(gates, tokens, reverse=reverse)
        assert torch.equal(got, scan_loop(gates, tokens, reverse)) and got.is_contiguous()


@devices
@types
def test_accelerated_scan(device, dtype):
    """A result is rounded once. In float64 a step of the loop, and of the scan, errs twice."""
    for shape in (3, 5, 512), (2, 7, 1000):
        gates, tokens = gated(*shape, dtype=dtype, device=device)
        got = accelerated_scan.scan(gates, tokens)
        assert got.dtype == dtype
        close(got, scan_loop(gates.double(), tokens.double()), 1, 4 * shape[-1])


@devices
@types
def test_accelerated_scan_gradients(device, dtype):
    """The incoming gradient is rounded to the result's type, and the gradient of tokens is rounded once more. That of
    gates is its product with the previous result: two more roundings. In float64 there are two scans."""
    inputs = leaves(*gated(2, 3, 300, dtype=dtype, device=device))
    in_float64 = leaves(*(t.double() for t in inputs))
    got = gradients(accelerated_scan.scan(*inputs), inputs)
    want = gradients(scan_loop(*in_float64), in_float64)
    for mine, reference, roundings in zip(got, want, (4, 2)):
        assert mine.dtype == dtype
        close(mine, reference, roundings, 2 * 4 * 300)


@devices
def test_accelerated_scan_gradcheck(device):
    inputs = leaves(*(torch.randn(2, 2, 5, dtype=torch.float64, device=device) for _ in range(2)))
    for reverse in False, True:
        def f(gates, tokens):
            return accelerated_scan.scan(gates, tokens, reverse=reverse)
        assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(f, inputs)


# ---- Mamba -----------------------------------------------------------------------------------------------------------

STATES, LENGTH = 4, 60
WORDS = ["u", "delta", "A", "B", "C", "D", "z", "delta_bias"]


def mamba_loop(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
    """github.com/state-spaces/mamba, selective_scan_ref: one step after the other, with all states at once. Returns the
    last states, too."""
    if delta_bias is not None:
        delta = delta + delta_bias[None, :, None]
    if delta_softplus:
        delta = torch.log1p(torch.exp(delta))
    h, y = torch.zeros(u.shape[0], *A.shape, dtype=u.dtype, device=u.device), []
    for t in range(u.shape[-1]):
        step = delta[:, :, t, None]
        h = torch.exp(step * A) * h + step * B[:, None, :, t] * u[:, :, t, None]
        y.append((C[:, None, :, t] * h).sum(-1))
    y = torch.stack(y, -1)
    if D is not None:
        y = y + D[None, :, None] * u
    return y if z is None else y * z * torch.sigmoid(z), h


def mamba_inputs(dtype=torch.float64, kept=torch.float64, device="cpu", length=LENGTH):
    """Arguments by name. Mamba keeps A, D and the bias in float32, whatever type activations have. A is negative."""
    batch, dim = 2, 3
    activations = {"u": (batch, dim), "B": (batch, STATES), "C": (batch, STATES), "z": (batch, dim)}
    given = {name: torch.randn(*shape, length) for name, shape in activations.items()}
    given["delta"] = 0.1 + torch.rand(batch, dim, length)
    given = {name: t.to(device, dtype) for name, t in given.items()}
    for name, t in ("A", -0.5 - torch.rand(dim, STATES)), ("D", torch.randn(dim)), ("delta_bias", torch.rand(dim)):
        given[name] = t.to(device, kept)
    return given


@devices
@pytest.mark.parametrize("all_of_them", [False, True])
@pytest.mark.parametrize("dtype, kept", [(torch.float64, torch.float64), (torch.float32, torch.float32),
                                         (torch.bfloat16, torch.float32)], ids=str)
def test_mamba(device, dtype, kept, all_of_them):
    """Errors are relative to the sum of all magnitudes, which the loop computes from those of u, B, C, D and silu(z).

    Roundings to A's type: delta has 4 (bias, softplus) and delta * A one more. |delta * A| is at most
    1.5 * (0.1 + 1 + 1 + log 2) < 4.2, so that exp(delta * A) errs by at most 4.2 * 5 + 2 < 24 roundings. They add up
    over the steps. The element, its product with C, the sum over states, D * u and silu(z) add 12 + STATES at most.
    Roundings to u's type: silu(z) has two, and y one."""
    given = mamba_inputs(dtype, kept, device)
    options = {"delta_softplus": True} if all_of_them else {}
    given = given if all_of_them else {name: given[name] for name in WORDS[:5]}
    got, last = mamba_scan.selective_scan_fn(**given, **options, return_last_state=True)
    exact = {name: t.double() for name, t in given.items()}
    want, state = mamba_loop(**exact, **options)
    sizes = {name: t.abs() if name in ("u", "B", "C", "D") else t for name, t in exact.items()}
    z = sizes.pop("z", None)
    sizes, state_sizes = mamba_loop(**sizes, **options)
    sizes = sizes if z is None else sizes * (z * torch.sigmoid(z)).abs()
    assert got.dtype == dtype and torch.equal(mamba_scan.selective_scan_fn(**given, **options), got)
    terms = (24 * LENGTH + 12 + STATES) * torch.finfo(kept).eps / torch.finfo(torch.float64).eps
    close(got, want, 3, terms, sizes)
    close(last, state, 1, terms, state_sizes)


@devices
def test_mamba_gradients(device):
    """Against torch's gradients of the loop. Terms of sums have both signs. The bound is 1e-11 of the largest gradient,
    which is 1500 roundings of float64 for each of the 60 steps: 24 as in test_mamba, there and back, and 30 times as
    much for what cancels."""
    given = dict(zip(WORDS, leaves(*(mamba_inputs(device=device)[name] for name in WORDS))))
    got = gradients(mamba_scan.selective_scan_fn(**given, delta_softplus=True), list(given.values()))
    want = gradients(mamba_loop(**given, delta_softplus=True)[0], list(given.values()))
    for name, mine, reference in zip(WORDS, got, want):
        assert reference.abs().max() > 0.1, name
        torch.testing.assert_close(mine, reference, rtol=0, atol=1e-11 * reference.abs().max().item(), msg=name)


@devices
def test_mamba_gradcheck(device):
    given = leaves(*(mamba_inputs(device=device, length=4)[name] for name in WORDS))
    assert torch.autograd.gradcheck(lambda *inputs: mamba_scan.selective_scan_fn(*inputs, delta_softplus=True), given)


# ---- GAE -------------------------------------------------------------------------------------------------------------

GAMMA, LAM = 0.99, 0.95


def check_gae(got, advantages, values, sizes):
    """Advantages and returns are rounded once each. In float64 a step has 6 operations, in the loop and in the scan."""
    for mine, reference, magnitudes in zip(got, (advantages, advantages + values), (sizes, sizes + values.abs())):
        close(mine, reference, 1, 12 * max(values.shape), magnitudes)


def cleanrl_loop(rewards, values, dones, next_value, next_done, sign=-1):
    """github.com/vwxyzjn/cleanrl, ppo.py. With magnitudes and a sign of 1 it is the sum of all magnitudes."""
    advantages, after = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        last = t + 1 == len(rewards)
        nextnonterminal = 1 - (next_done if last else dones[t + 1])
        nextvalues = next_value if last else values[t + 1]
        delta = rewards[t] + GAMMA * nextvalues * nextnonterminal + sign * values[t]
        advantages[t] = after = delta + GAMMA * LAM * nextnonterminal * after
    return advantages


@devices
@pytest.mark.parametrize("dtype", TYPES[:2], ids=str)
@pytest.mark.parametrize("of_a_row", [False, True])
def test_cleanrl(device, dtype, of_a_row):
    """next_value is [1, envs] in ppo.py. [envs] is accepted as well."""
    for steps, envs in (128, 4), (1, 3), (2000, 1), (5, 130):
        rewards, values = torch.randn(2, steps, envs).to(device, dtype)
        dones = (torch.rand(steps, envs) < 0.1).to(device, dtype)
        next_value, next_done = torch.randn(envs).to(device, dtype), (torch.rand(envs) < 0.5).to(device, dtype)
        given = [rewards, values, dones, next_value, next_done]
        exact = [t.double() for t in given]
        given[3] = next_value[None] if of_a_row else next_value
        got = gae_cleanrl.gae(*given, GAMMA, LAM)
        check_gae(got, cleanrl_loop(*exact), exact[1], cleanrl_loop(*(t.abs() for t in exact), sign=1))


def test_cleanrl_by_hand():
    """Step 1 ends an episode, because observation 2 begins one. dones[0] is about a step before the rollout."""
    dones = torch.tensor([[1.], [0.], [1.], [0.]])
    advantages, returns = gae_cleanrl.gae(torch.ones(4, 1), torch.zeros(4, 1), dones, torch.tensor([8.]),
                                          torch.tensor([0.]), 0.5, 1.)
    assert advantages.ravel().tolist() == returns.ravel().tolist() == [1.5, 1, 3.5, 5]


def trl_loop(rewards, values, sign=-1):
    """github.com/huggingface/trl, ppo_trainer.py. With magnitudes and a sign of 1 it is the sum of all magnitudes."""
    advantages, after, steps = torch.zeros_like(rewards), 0, rewards.shape[1]
    for t in reversed(range(steps)):
        nextvalues = values[:, t + 1] if t < steps - 1 else 0
        advantages[:, t] = after = rewards[:, t] + GAMMA * nextvalues + sign * values[:, t] + GAMMA * LAM * after
    return advantages


@devices
@types
def test_trl(device, dtype):
    for shape in (8, 53), (3, 1), (1, 2000), (130, 5):
        given = torch.randn(2, *shape).to(device, dtype)
        exact = given.double()
        got = gae_trl.gae(*given, GAMMA, LAM)
        assert all(mine.dtype == dtype for mine in got)
        check_gae(got, trl_loop(*exact), exact[1], trl_loop(*exact.abs(), sign=1))


def test_trl_by_hand():
    advantages, returns = gae_trl.gae(torch.tensor([[0., 0., 8.]]), torch.tensor([[1., 2., 4.]]), 0.5, 0.5)
    assert advantages.tolist() == [[0.25, 1, 4]] and returns.tolist() == [[1.25, 3, 8]]
