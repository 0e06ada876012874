"""test_torch_seen.py - what looks at scans from outside: hooks of saved tensors, transforms, traces, modes, profilers

SPDX-License-Identifier: MIT
"""
import contextlib
import functools
import io
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("hypothesis")

import rowscan
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from torch_cases import OTHERS, SMOOTH, assert_same, given, results

ALL = {**SMOOTH, **OTHERS}
of_smooth = pytest.mark.parametrize("name", SMOOTH)
of_all = pytest.mark.parametrize("name", ALL)


# ---- saved tensors ---------------------------------------------------------------------------------------------------

def read_once(f, *args):
    """Tensors are gone when they were read."""
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: [tensor.clone()], lambda packed: packed.pop()):
        return f(*args)


def on_cpu(f, *args):
    with torch.autograd.graph.save_on_cpu():
        return f(*args)


def selective(f, *args):
    """A checkpoint that keeps what scans make."""
    def policy(context, operator, *args, **kwargs):
        kept = operator.namespace == "rowscan"
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE
    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    return checkpoint(f, *args, use_reentrant=False, context_fn=contexts)


WAYS = {"read once": read_once, "save_on_cpu": on_cpu, "selective": selective,
        "checkpoint": functools.partial(checkpoint, use_reentrant=False),
        "reentrant": functools.partial(checkpoint, use_reentrant=True)}


def gradient(f, *args):
    """That of the first argument, by all results."""
    x = args[0].clone().requires_grad_()
    sum((y * y).sum() for y in results(f(x, *args[1:])) if y.requires_grad).backward()
    return x.grad


@of_smooth
@pytest.mark.parametrize("way", WAYS)
def test_saved_tensors_may_be_read_once(name, way):
    f, args = SMOOTH[name], given()
    assert_same(gradient(functools.partial(WAYS[way], f), *args), gradient(f, *args))


def test_gradients_of_gradients_in_a_checkpoint():
    f = lambda x: sum(rowscan.linear_recurrence(rowscan.cumprod(x, 0), x, 0))
    x = torch.tensor([0.5, 2., 3.], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: checkpoint(f, x, use_reentrant=False), x)


def test_compiled_checkpoint():
    torch._dynamo.reset()

    def f(x, m):
        return sum(y.sum() for y in results(SMOOTH["linear_recurrence, all"](x, m)))
    inside = torch.compile(lambda *args: checkpoint(f, *args, use_reentrant=False), backend="aot_eager", fullgraph=True)
    outside = torch.compile(f, backend="aot_eager", fullgraph=True)
    args = given()
    for call in (inside, lambda *args: checkpoint(outside, *args, use_reentrant=False)):
        assert_same(gradient(call, *args), gradient(f, *args))


@pytest.mark.filterwarnings("ignore:Graph break")  # of old torch
def test_compiled_autograd():
    compiled_autograd = pytest.importorskip("torch._dynamo.compiled_autograd")
    torch._dynamo.reset()
    for name in ("cumsum", "cumsum, by keys", "cumprod"):
        f, (x, m) = SMOOTH[name], given()
        leaf = x.clone().requires_grad_()
        y = f(leaf, m).square().sum()
        with compiled_autograd._enable(torch.compile(backend="eager")):
            y.backward()
        assert_same(leaf.grad, gradient(f, x, m))


# ---- transforms ------------------------------------------------------------------------------------------------------

@of_all
def test_functionalize(name):
    f, (x, m) = ALL[name], given()
    assert_same(torch.func.functionalize(f)(x, m), f(x, m))
    rows = lambda x, m: f(x[None], m[None])
    want = torch.vmap(rows)(x, m)
    for nested in (torch.func.functionalize(torch.vmap(rows)), torch.vmap(torch.func.functionalize(rows))):
        assert_same(nested(x, m), want)


@of_smooth
def test_functionalize_and_gradients(name):
    def total(x, m):
        return sum((y * y).sum() for y in results(f(x, m)) if y.is_floating_point())
    f, grad, functional, args = SMOOTH[name], torch.func.grad, torch.func.functionalize, given()
    want = gradient(f, *args)
    for got in (functional(grad(total))(*args), grad(functional(total))(*args), gradient(functional(f), *args)):
        assert_same(got, want)


def test_vmap_of_outputs_and_second_ones():
    x = given(3, 5)[0]
    for options in ({}, {"totals": True, "init": 2.}, {"mask": x[0] > 0, "keys": x[0] > 1}):
        want, out = rowscan.cumsum(x, 1, **options), torch.empty_like(x)
        assert_same(torch.vmap(lambda x, out: rowscan.cumsum(x, 0, out=out, **options))(x, out), want)
        assert torch.equal(out, results(want)[0])
        assert_same(torch.vmap(lambda x: rowscan.cumsum(x, 0, out=torch.empty_like(x), **options), 1)(x.T), want)
    with pytest.raises(RuntimeError, match="vmap"):  # all would be written into one
        torch.vmap(lambda x: rowscan.cumsum(x, 0, out=torch.empty(5)))(x)
    want = rowscan.scan(x, 1, "argmax", second=True)
    assert_same(torch.vmap(lambda x: rowscan.scan(x, 0, "argmax", second=True))(x), want)
    assert_same(torch.vmap(torch.vmap(lambda x: rowscan.scan(x, 0, "argmax", second=True)))(x[None]),
                tuple(y[None] for y in want))
    with pytest.raises(RuntimeError, match="out="):
        torch.func.grad(lambda x: rowscan.cumsum(x, 0, out=torch.empty(5)).sum())(x[0])
    with pytest.raises(rowscan.Unsupported, match="argmax with more, params, second"):
        torch.func.grad(lambda x: rowscan.scan(x, 0, "argmax", second=True)[1].sum())(x[0])


@pytest.mark.filterwarnings("error:There is a performance drop")
def test_vmap_of_operators_that_leave_out_arguments():
    x = given()[0]
    for operator in (torch.ops.rowscan.scan, torch.ops.rowscan._scan):
        assert torch.equal(torch.vmap(lambda x: operator(x, 0))(x), rowscan.cumsum(x, 1))


# ---- traces ----------------------------------------------------------------------------------------------------------

@of_all
@pytest.mark.parametrize("moves", [False, True], ids=["plain", "gradient"])
@pytest.mark.filterwarnings("error::torch.jit.TracerWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_traces_hold_for_other_tensors(name, moves):
    """Of other numbers and sizes; and nothing is warned of."""
    if moves and name in OTHERS:
        pytest.skip("no gradient")
    x, m = given(2, 4)
    traced = torch.jit.trace(ALL[name], (x.requires_grad_(moves), m))
    assert "rowscan::" in str(traced.graph)
    args = given(3, 7, seed=2)
    assert_same(traced(*args), ALL[name](*args))
    if moves:
        assert_same(gradient(traced, *args), gradient(ALL[name], *args))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return rowscan.cumsum(x * self.w, 0) + x


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_traced_modules():
    file = io.BytesIO()
    with torch.no_grad():
        torch.jit.save(torch.jit.trace(Model().eval(), torch.ones(3)), file)
    file.seek(0)
    assert torch.jit.load(file)(torch.tensor([1., 2, 3])).tolist() == [2, 5, 9]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_onnx_of_a_trace_names_the_operator():
    with pytest.raises(Exception, match="rowscan::scan"):
        torch.onnx.export(Model(), (torch.ones(3),), io.BytesIO(), dynamo=False)


SIZES = tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 8)  # their arithmetic fails before


@of_all
@pytest.mark.parametrize("options", [{}, {"pre_dispatch": True}, {"tracing_mode": "symbolic"}], ids=str)
def test_make_fx(name, options):
    if "tracing_mode" in options and name == "gae" and not SIZES:
        pytest.skip("old torch")
    traced = make_fx(ALL[name], **options)(*given(2 if "tracing_mode" in options else 3))
    args = given(3, 7 if "tracing_mode" in options else 5, seed=2)
    assert "rowscan" in traced.code
    assert_same(traced(*args), ALL[name](*args))


wrapped = rowscan.cumsum
torch.fx.wrap("wrapped")


def test_symbolic_trace():
    with pytest.raises(TypeError, match="torch.fx.proxy.Proxy, not a torch.Tensor: .*make_fx.*torch.fx.wrap"):
        torch.fx.symbolic_trace(Model())
    f, x = lambda x: wrapped(x, 0, reverse=True) + 1, given()[0]
    assert torch.equal(torch.fx.symbolic_trace(f)(x), f(x))


# ---- modes and profilers ---------------------------------------------------------------------------------------------

class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(str(function))
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def profiled():
    names = set()
    with torch.autograd.profiler.profile() as profile:
        yield names
    names.update(event.key for event in profile.key_averages())


@contextlib.contextmanager
def seen():
    with Seen() as mode:
        yield mode.names


@of_all
@pytest.mark.parametrize("look", [seen, profiled])
@pytest.mark.parametrize("moves", [False, True], ids=["plain", "gradient"])
def test_what_looks_sees_scans(name, look, moves):
    if moves and name in OTHERS:
        pytest.skip("no gradient")
    x, m = given()
    want = ALL[name](x, m)
    with look() as names:
        got = ALL[name](x.requires_grad_(moves), m)
    assert_same(got, want)
    assert any(name.startswith(("rowscan.", "rowscan::")) for name in names)


@of_all
def test_fake_tensors(name):
    from torch._subclasses.fake_tensor import FakeTensorMode
    x, m = given()
    with FakeTensorMode() as mode:
        made = results(ALL[name](mode.from_tensor(x), mode.from_tensor(m)))
    assert [(y.dtype, y.shape) for y in made] == [(y.dtype, y.shape) for y in results(ALL[name](x, m))]


# ---- autocast --------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def autocast(device):
    """Where there is no GPU, too."""
    before = torch.is_autocast_enabled(device)
    torch.set_autocast_enabled(device, True)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, before)


def types_under_autocast(x):
    for functions in (torch, rowscan):
        yield [getattr(functions, name)(x, 0, **options).dtype for name, options in (
            ("cumsum", {}), ("cumprod", {}), ("cumsum", {"dtype": torch.bfloat16}), ("logcumsumexp", {}),
            ("cumsum", {"out": torch.empty_like(x)}))]


DTYPES = torch.float16, torch.bfloat16, torch.float32, torch.float64


def test_autocast_makes_f32_of_what_it_does_in_torch():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        for dtype in DTYPES:
            for device, on in (("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cpu"), ("cpu", "cuda")):
                x = torch.ones(3, dtype=dtype, device=device)
                with autocast(on):
                    theirs, ours = types_under_autocast(x)
                    assert ours == theirs
                    assert rowscan.cumsum(x, 0, mask=x > 0, reverse=True).dtype is ours[0]
                    assert rowscan.linear_recurrence(x, x, 0).dtype is dtype
    x = torch.ones(3, dtype=torch.float16)
    with autocast("cuda"):
        assert rowscan.cumsum(x, 0).dtype is torch.float16


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_autocast_on_a_gpu():
    for dtype in DTYPES:
        x = torch.full((3,), 0.1, dtype=dtype, device="cuda", requires_grad=True)
        with torch.autocast("cuda"):
            for x in (x, x.detach()):
                theirs, ours = types_under_autocast(x.detach())
                y = rowscan.cumsum(x, 0)
                assert ours == theirs and torch.equal(y, rowscan.cumsum(x, 0, dtype=ours[0])) and y.dtype is ours[0]
                assert rowscan.spec(x, 0) == rowscan.spec(x, 0, dtype=ours[0])
                if x.requires_grad:
                    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3, 2, 1]
        assert rowscan.cumsum(x, 0).dtype is dtype
