"""test_examples.py - the examples do what they say: drop-ins equal KernelBench's models, sampling keeps to its tokens

SPDX-License-Identifier: MIT

With RS_LARGE=1 the drop-ins are also tried at the problems' own size, 32768 x 32768, on a GPU.
"""
import os
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path[:0] = map(str, (Path(__file__).parent, Path(__file__).parents[1] / "examples"))

import kernelbench  # noqa: E402

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
SHAPES = [(64, 4096), (5, 7), (1, 33), (33, 1), (3, 40, 20), (2, 3, 4, 5), (200,)]
problems = pytest.mark.parametrize("problem", kernelbench.PROBLEMS, ids=lambda problem: problem.name)
devices = pytest.mark.parametrize("device", DEVICES)


def exact(problem, x):
    """Elements of which all sums and products are exact in float32, in whatever order they are combined."""
    if problem.model is kernelbench.Products:
        return torch.where(x < 0.5, -1.0, 1.0)
    return (x * 16).floor()


def cases():
    return [(shape, dim) for shape in SHAPES for dim in (*range(len(shape)), -1)]


@problems
@devices
def test_kernelbench(problem, device):
    new = problem.drop_in()
    for shape, dim in cases():
        x, *mask = problem.inputs(*shape, device=device)
        x = exact(problem, x)
        want, got = problem.model(dim)(x, *mask), new(dim)(x, *mask)
        assert (got.shape, got.dtype, got.device) == (want.shape, want.dtype, want.device), (shape, dim)
        assert got.is_contiguous()
        assert torch.equal(got, want), (shape, dim)


@problems
@devices
def test_kernelbench_random(problem, device):
    """The problems' own inputs, within the rounding of float32."""
    inputs = problem.inputs(32, 5000, device=device)
    got = problem.drop_in()(1)(*inputs)
    want = problem.model(1)(*(t.double() if t.is_floating_point() else t for t in inputs))
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-30)


@problems
@devices
def test_kernelbench_nan(problem, device):
    """NaN, inf and -0 come out where the models have them."""
    x = torch.rand(8, 50, device=device)
    x[1, 3], x[2, 4], x[3, 5], x[4, :] = float("nan"), float("inf"), float("-inf"), -0.0
    mask = [torch.rand(8, 50, device=device) < 0.5] if problem.masked else []
    torch.testing.assert_close(problem.drop_in()(1)(x, *mask), problem.model(1)(x, *mask), equal_nan=True)


@pytest.mark.parametrize("kind", [torch.bool, torch.float32])
def test_kernelbench_mask_types(kind):
    """KernelBench's harness may hand the mask over as float32."""
    problem = kernelbench.PROBLEMS[-1]
    x, mask = problem.inputs(16, 300)
    x = exact(problem, x)
    assert torch.equal(problem.drop_in()(1)(x, mask.to(kind)), problem.model(1)(x, mask))


@problems
@pytest.mark.skipif(os.environ.get("RS_LARGE", "0") == "0" or "cuda" not in DEVICES, reason="RS_LARGE=1, and a GPU")
def test_kernelbench_large(problem):
    """At the problems' own size: close to the model in float64, and the CPU's bits in rows at both ends."""
    size = kernelbench.SIZE
    inputs = problem.inputs(size, size, device="cuda")
    new = problem.drop_in()(1)
    got = new(*inputs)
    ends = [0, 1, size - 3]
    for row in range(0, size, size // 16):
        part = [t[row:row + 2] for t in inputs]
        want = problem.model(1)(*(t.double() if t.is_floating_point() else t for t in part))
        torch.testing.assert_close(got[row:row + len(want)].double(), want, rtol=1e-5, atol=1e-30)
    for row in ends:
        on_cpu = new(*(t[row:row + 2].cpu() for t in inputs))
        assert torch.equal(got[row:row + len(on_cpu)].cpu(), on_cpu)


# ---- the others ------------------------------------------------------------------------------------------------------


@devices
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 1.0])
def test_top_p(device, p):
    from top_p import top_p
    generator = torch.Generator(device).manual_seed(1)
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1], device=device).log()[torch.tensor([2, 0, 3, 1], device=device)]
    kept = {0.1: [0.4], 0.5: [0.4, 0.3], 0.9: [0.4, 0.3, 0.2], 1.0: [0.4, 0.3, 0.2, 0.1]}[p]
    drawn = top_p(logits.expand(20000, 4), p, generator)
    for token, probability in ((1, 0.4), (3, 0.3), (0, 0.2), (2, 0.1)):
        want = probability / sum(kept) if probability in kept else 0
        assert (drawn == token).double().mean().item() == pytest.approx(want, abs=0.02 if want else 0)


@devices
def test_top_p_of_many_tokens(device):
    """No token is drawn that is not among those kept."""
    from top_p import top_p
    logits = torch.randn(50, 30000, device=device)
    probabilities = logits.double().softmax(-1)
    chosen = probabilities.gather(-1, top_p(logits, 0.8)[:, None])
    likelier = torch.where(probabilities > chosen, probabilities, 0).sum(-1)
    assert likelier.max() < 0.8 + 1e-5


@devices
def test_ragged(device):
    from ragged import positions, rewards_to_go
    lengths = torch.tensor([3, 0, 2], device=device)
    starts, total = positions(lengths)
    assert (starts.tolist(), total.item()) == ([0, 3, 3], 5)
    rewards = torch.full((3, 4), float("nan"), device=device)
    rewards[0, :3] = torch.tensor([1.0, 2.0, 4.0])
    rewards[2, :2] = torch.tensor([8.0, 16.0])
    assert rewards_to_go(rewards, lengths).tolist() == [[7, 6, 4, 0], [0, 0, 0, 0], [24, 16, 0, 0]]


def test_all_examples_are_tried():
    tried = {problem.name for problem in kernelbench.PROBLEMS} | {"top_p", "ragged"}
    assert {file.stem for file in kernelbench.EXAMPLES.glob("*.py")} == tried
