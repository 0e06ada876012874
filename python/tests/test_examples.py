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
import rowscan  # noqa: E402

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


def test_kernelbench_by_hand():
    """What the statements of the problems say, of one small matrix, in the shapes that they say."""
    x, mask = torch.tensor([[1., 2., 3.], [4., 5., 6.]]), torch.tensor([[True, False, True], [False, True, True]])
    for problem, want in zip(kernelbench.PROBLEMS, (
            [[1, 3, 6], [4, 9, 15]], [[1, 2, 6], [4, 20, 120]], [[6, 5, 3], [15, 11, 6]], [[0, 1, 3], [0, 4, 9]],
            [[1, 1, 4], [0, 5, 11]])):
        given = [x, mask] if problem.masked else [x]
        assert problem.drop_in()(1)(*given).tolist() == problem.model(1)(*given).tolist() == want, problem.name


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
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_top_p_of_next_to_nothing(device, dtype):
    """The likeliest token is always among those kept."""
    from top_p import top_p
    logits = torch.tensor([[1., 3., 2.], [5., 3., 2.]], device=device, dtype=dtype)
    for p in 0, 0., -0., 1e-45, 1e-9, torch.tensor([[0.], [float("nan")]], device=device):
        assert top_p(logits, p).tolist() == [1, 0], p


@pytest.mark.parametrize("p", [float("nan"), -0.1, 1.5, float("inf")])
def test_top_p_of_what_is_no_probability(p):
    from top_p import top_p
    with pytest.raises(ValueError, match=f"p is {p}, not from 0 to 1"):
        top_p(torch.zeros(1, 3), p)


@devices
def test_top_p_never_steps_down(device):
    """Of probabilities whose float32 sums do, the cumulative distribution that is searched."""
    import top_p
    sums, cumsum = [], rowscan.cumsum

    def watched(*given, **options):
        y = cumsum(*given, **options)
        sums.append(y[0] if options.get("totals") else y)
        return y
    logits = 5 * torch.randn(16, 3000, generator=torch.Generator().manual_seed(0)).to(device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(top_p.rowscan, "cumsum", watched)
        top_p.top_p(logits, 0.95)
    assert len(sums) == 2 and all((y.diff(dim=-1) >= 0).all() for y in sums)
    assert (cumsum(logits.softmax(-1).sort(-1, descending=True)[0], -1).diff(dim=-1) < 0).any()


@devices
def test_top_p_of_each_row(device):
    from top_p import top_p
    p = torch.tensor([[0.], [1.]], device=device)
    drawn = torch.stack([top_p(torch.tensor([[1., 2.], [1., 2.]], device=device), p) for _ in range(100)])
    assert drawn[:, 0].tolist() == [1] * 100 and set(drawn[:, 1].tolist()) == {0, 1}


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
    tried |= {"accelerated_scan", "gae_cleanrl", "gae_trl", "mamba_scan"}  # by test_drop_ins.py
    tried |= {"sharded", "zigzag"}  # by test_distributed.py
    assert {file.stem for file in kernelbench.EXAMPLES.glob("*.py")} == tried
