"""test_torch.py - scans of torch's tensors: values, types, shapes, strides, views, masks, outputs, errors

SPDX-License-Identifier: MIT
"""
import concurrent.futures
import itertools
import os
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("hypothesis")
from hypothesis import given, strategies as st

import rowscan
from torch_cases import DEVICES, FLOATING, INTEGERS, MORE_UNSIGNED, expected, numbers, tensors, with_dim

OPS = st.sampled_from(["cumsum", "cumprod"])
FLAGS = [{}, {"reverse": True}, {"exclusive": True}, {"reverse": True, "exclusive": True}]
on_devices = pytest.mark.parametrize("device", DEVICES)


def scan(op, *args, **kwargs):
    return getattr(rowscan, op)(*args, **kwargs)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.cpu().reshape(-1).view(torch.uint8),
                                                                      b.cpu().reshape(-1).view(torch.uint8))


# ---- as torch does it ------------------------------------------------------------------------------------------------

@given(op=OPS, case=with_dim(FLOATING + INTEGERS, low=-2, high=3))
@on_devices
def test_is_torchs(device, op, case):
    x, dim = case[0].to(device), case[1]
    want, got = getattr(torch, op)(x, dim), scan(op, x, dim)
    assert (got.dtype, got.shape, got.stride(), got.device) == (want.dtype, want.shape, want.stride(), want.device)
    assert torch.equal(got, want)


@given(op=OPS, case=with_dim(FLOATING + INTEGERS, low=-2, high=3),
       dtype=st.sampled_from(FLOATING + [torch.int8, torch.int32, torch.int64]))
@on_devices
def test_dtype_is_torchs(device, op, case, dtype):
    x, dim = case[0].to(device), case[1]
    if op == "cumprod" and dtype is torch.int8:
        dtype = torch.int16
    want, got = getattr(torch, op)(x, dim, dtype=dtype), scan(op, x, dim, dtype=dtype)
    assert got.dtype == want.dtype and got.stride() == want.stride() and torch.equal(got, want)


def folded(op, x, dim):
    """Element by element, with torch's own operators."""
    combine = {"max": torch.maximum, "min": torch.minimum, "and": torch.bitwise_and, "or": torch.bitwise_or,
               "xor": torch.bitwise_xor}[op]
    return torch.stack(list(itertools.accumulate(x.unbind(dim), combine)), dim) if x.numel() else x


@given(op=st.sampled_from(["max", "min", "and", "or", "xor"]), case=with_dim(INTEGERS), reverse=st.booleans())
@on_devices
def test_operators_by_name(device, op, case, reverse):
    x, dim = case[0].to(device), case[1]
    want = folded(op, x.flip(dim) if reverse else x, dim) if x.dim() else x
    y, totals = rowscan.scan(x, dim, op, reverse=reverse, totals=True)
    assert torch.equal(y, want.flip(dim) if reverse else want) and y.dtype is x.dtype
    assert same_bits(rowscan.scan(x, dim, op, reverse=reverse), y)
    if x.numel() and x.dim():
        assert torch.equal(totals, want.select(dim, -1)) and totals.dtype is x.dtype
        mask, init = x.select(dim, 0).unsqueeze(dim) > 0, x.narrow(dim, 0, 1)
        got = rowscan.scan(x, dim, op, mask=mask, init=init)
        first = folded(op, torch.cat([init, x], dim), dim).narrow(dim, 1, x.shape[dim])
        assert torch.equal(got, torch.where(mask, first, init))
    assert torch.equal(rowscan.scan(x, dim, reverse=reverse), rowscan.cumsum(x, dim, reverse=reverse))


@on_devices
def test_operators_that_are_refused(device):
    x = torch.ones(2, 3, device=device)
    for options in ({}, {"totals": True}, {"init": 1.}, {"acc": "f32"}, {"out": torch.empty_like(x)}):
        with pytest.raises(rowscan.BadArgument, match="field 'in': xor requires integers or bool, not f32"):
            rowscan.scan(x, 1, "xor", **options)
    with pytest.raises(ValueError, match="op is 'mean', not one of sum, prod, max, min, and, or, xor"):
        rowscan.scan(x, 1, "mean")


@given(op=OPS, case=with_dim(MORE_UNSIGNED, low=-2, high=3))
def test_unsigned_sum_up_to_int64(op, case):
    x, dim = case
    got = scan(op, x, dim)
    assert got.dtype is torch.int64 and torch.equal(got.double(), expected(op, x, dim)[0])


def test_elements_are_converted_before_they_are_summed():
    x = torch.tensor([.9, .9, 1.9])
    assert rowscan.cumsum(x, 0, dtype=torch.int64).tolist() == [0, 0, 1]


@on_devices
def test_size_one_and_size_zero_have_torchs_strides(device):
    for x in (torch.ones(5, 1, device=device).t(), torch.ones(1, 5, device=device).t(), torch.ones(0, 4, device=device),
              torch.ones(4, 0, device=device).t(), torch.ones(2, 3, 4, device=device)[:, :1]):
        for dim in range(x.dim()):
            assert rowscan.cumsum(x, dim).stride() == torch.cumsum(x, dim).stride(), (x.shape, x.stride(), dim)


# ---- flags, masks, initial values, totals ----------------------------------------------------------------------------

MASKS = ["none", "bool", "uint8", "own", "int32", "row", "column", "number"]


@given(op=OPS, case=with_dim(FLOATING + INTEGERS, low=-2, high=3), flags=st.sampled_from(FLAGS),
       mask=st.sampled_from(MASKS), mode=st.sampled_from(["select", "multiply"]),
       init=st.sampled_from(["none", "number", "rows", "one"]), totals=st.booleans(),
       acc=st.sampled_from([None, "f64"]))
@on_devices
def test_everything(device, op, case, flags, mask, mode, init, totals, acc):
    x, dim = case[0].to(device), case[1]
    kwargs = dict(flags, mask_mode=mode)
    shape = x.shape
    if mask == "number":
        kwargs["mask"] = True
    elif mask != "none":
        if mask == "row" and shape:
            shape = shape[-1:]
        elif mask == "column" and shape:
            shape = (shape[0],) + (1,) * (len(shape) - 1)
        dtype = {"uint8": torch.uint8, "own": x.dtype, "int32": torch.int32}.get(mask, torch.bool)
        kwargs["mask"] = numbers(shape, dtype, 3, 0, 2).to(device)
    rows = list(x.shape)
    if rows:
        rows[dim] = 1
    if init != "none":
        dtype = x.dtype if x.is_floating_point() else torch.int32
        kwargs["init"] = {"number": 2, "rows": numbers(rows, dtype, 5, 0, 3).to(device),
                          "one": torch.tensor(2, device=device)}[init]
    if not x.is_floating_point():
        acc = None
    want, want_totals = expected(op, x, dim, **kwargs)
    got = scan(op, x, dim, totals=totals, acc=acc, **kwargs)
    if totals:
        got, got_totals = got
        assert got_totals.shape == want_totals.shape and torch.equal(got_totals.double(), want_totals)
        assert got_totals.dtype == {None: {torch.float64: torch.float64}.get(x.dtype, torch.float32),
                                    "f64": torch.float64}[acc] if x.is_floating_point() else torch.int64
    assert got.shape == x.shape and got.is_contiguous() and torch.equal(got.double(), want)


@on_devices
def test_select_removes_nan_and_multiply_keeps_it(device):
    x = torch.tensor([1., float("nan"), 3., float("inf")], device=device)
    m = torch.tensor([True, False, True, False], device=device)
    assert rowscan.cumsum(x, 0, mask=m).tolist() == [1, 1, 4, 4]
    y = rowscan.cumsum(x, 0, mask=m, mask_mode="multiply")
    assert y[0] == 1 and y[1:].isnan().all()


@on_devices
def test_weights_promote_integers(device):
    x, w = torch.arange(4, device=device), torch.tensor([.5, .5, 1, 1], device=device)
    y = rowscan.cumsum(x, 0, mask=w, mask_mode="multiply")
    assert y.dtype == (x * w).dtype and y.tolist() == [0, .5, 2.5, 5.5]


@given(case=with_dim(FLOATING + INTEGERS))
def test_cumulative_sum_with_initial(case):
    x, dim = case
    y = rowscan.cumulative_sum(x, axis=dim, include_initial=True)
    want = expected("cumsum", x.reshape(1) if not x.dim() else x, dim)[0]
    zero = torch.zeros_like(want.narrow(dim, 0, 1)) if want.shape[dim] else want.new_zeros(
        [1 if d == dim % want.dim() else n for d, n in enumerate(want.shape)])
    assert torch.equal(y.double(), torch.cat([zero, want], dim))


# ---- bits ------------------------------------------------------------------------------------------------------------

@given(case=with_dim([torch.float16, torch.float32, torch.float64]), flags=st.sampled_from(FLAGS))
def test_bits_are_those_of_a_copy_and_of_one_row(case, flags):
    x, dim = case[0] / 7, case[1]
    y = rowscan.cumsum(x, dim, **flags)
    assert same_bits(y, rowscan.cumsum(x.clone(memory_format=torch.contiguous_format), dim, **flags))
    if x.dim() > 1 and x.shape[0] and dim not in (0, -x.dim()):
        assert same_bits(y[0], rowscan.cumsum(x[0], dim if dim < 0 else dim - 1, **flags))


@on_devices
@pytest.mark.parametrize("shape,dim", [((1, 70000), 1), ((300, 1000), 1), ((1000, 300), 0), ((3, 5, 7000), 2)])
def test_bits_are_the_hosts(device, shape, dim):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    m = torch.rand(shape, generator=torch.Generator().manual_seed(1)) > .5
    for kwargs in FLAGS + [{"mask": m}, {"dtype": torch.float64}]:
        there = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
        assert same_bits(rowscan.cumsum(x.to(device), dim, **there), rowscan.cumsum(x, dim, **kwargs))
    y = rowscan.cumsum(x.to(device), dim).cpu().double()
    torch.testing.assert_close(y, torch.cumsum(x.double(), dim), rtol=1e-4, atol=1e-3)


# ---- outputs ---------------------------------------------------------------------------------------------------------

@given(op=OPS, case=with_dim(FLOATING + INTEGERS, low=-2, high=3), transposed=st.booleans(), totals=st.booleans())
@on_devices
def test_out(device, op, case, transposed, totals):
    x, dim = case[0].to(device), case[1]
    want = getattr(torch, op)(x, dim)
    out = torch.empty_like(want)
    if transposed and x.dim() > 1:
        out = torch.empty(x.shape[::-1], dtype=want.dtype, device=device).permute(*range(x.dim() - 1, -1, -1))
    version = out._version
    got = scan(op, x, dim, out=out, totals=totals)
    if totals:
        got, sums = got
        assert torch.equal(sums.double(), expected(op, x, dim)[1])
    assert got is out and out._version > version and torch.equal(out, want)


@on_devices
def test_in_place(device):
    x = torch.randn(5, 300, device=device)
    for dim in (0, 1):
        y = x.clone()
        version = y._version
        assert rowscan.cumsum(y, dim, reverse=True, out=y) is y
        assert same_bits(y, rowscan.cumsum(x, dim, reverse=True)) and y._version > version


@on_devices
def test_initial_values_and_totals_lie_as_they_like(device):
    """Each in its own way, and out in another: nothing is copied."""
    from torch.utils._python_dispatch import TorchDispatchMode
    asked = set()

    class Asked(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            asked.add(function.overloadpacket.__name__)
            return function(*args, **kwargs or {})

    x = torch.arange(60., device=device).reshape(3, 4, 5)
    memory = torch.arange(100., device=device).reshape(10, 10)
    spread = torch.full((6, 10), -1., device=device)
    for init in (memory[:5, :3].t(), memory[::2, 1::3][:, :3].t(), memory[0, :5].expand(3, 5),
                 memory[1, :1].expand(3, 5)):
        want, given = torch.cumsum(x, 1) + init[:, None], init[:, None]
        with Asked():
            y, totals = rowscan.cumsum(x, 1, init=given, totals=True)
        assert torch.equal(y, want) and torch.equal(totals, want[:, -1])
        out, totals = torch.empty(5, 4, 3, device=device).permute(2, 1, 0), spread[::2, ::2]
        torch.ops.rowscan.scan_out(x, 1, 0, 0, 0, 0, 0, None, given, out=out, totals=totals[:, None])
        assert torch.equal(out, want) and torch.equal(totals, want[:, -1])
        assert (spread[1::2] == -1).all() and (spread[:, 1::2] == -1).all()
    assert not asked & {"clone", "contiguous", "copy_", "_to_copy"}, asked
    for totals in (memory[:1, :1].expand(3, 5)[:, None], memory[:3, :1].expand(3, 5)[:, None]):  # written twice
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            torch.ops.rowscan.scan_out(x, 1, out=torch.empty_like(x), totals=totals)


def test_out_of_another_type():
    x = torch.arange(6.).reshape(2, 3)
    for dtype in FLOATING:
        out = torch.empty(2, 3, dtype=dtype)
        assert torch.equal(rowscan.cumsum(x, 1, out=out), torch.cumsum(x, 1).to(dtype))
    with pytest.raises(TypeError, match="out.dtype is torch.float32, dtype is torch.float64"):
        rowscan.cumsum(x, 1, out=torch.empty(2, 3), dtype=torch.float64)
    with pytest.raises(TypeError, match="can't be cast"):
        rowscan.cumsum(x, 1, out=torch.empty(2, 3, dtype=torch.int64))


def test_writing_is_seen_by_autograd():
    w = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    y = w * x
    rowscan.cumsum(x, 0, out=x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_out_and_gradients():
    x = torch.ones(3, requires_grad=True)
    for call in (lambda: rowscan.cumsum(x, 0, out=torch.empty(3)), lambda: rowscan.cumsum(torch.ones(3), 0, out=x),
                 lambda: rowscan.cumsum(torch.ones(3), 0, init=x[0], out=torch.empty(3))):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call()
    with torch.no_grad():
        assert rowscan.cumsum(x, 0, out=torch.empty(3)).tolist() == [1, 2, 3]


def test_inference_mode():
    with torch.inference_mode():
        x = torch.ones(3)
        y = torch.empty(3)
        assert rowscan.cumsum(x, 0).is_inference() and rowscan.cumsum(x, 0, out=y) is y and y.tolist() == [1, 2, 3]
        assert rowscan.cumsum(x, 0, init=1., totals=True)[1].item() == 4


# ---- dimensions and errors -------------------------------------------------------------------------------------------

def test_dim_and_axis():
    x = torch.ones(2, 3)
    assert torch.equal(rowscan.cumsum(x, axis=-1), rowscan.cumsum(x, 1))
    assert rowscan.cumsum(torch.ones(3)).tolist() == [1, 2, 3] and rowscan.cumsum(torch.tensor(5)).item() == 5
    with pytest.raises(TypeError, match="dim is needed: x has 2 dimensions"):
        rowscan.cumsum(x)
    with pytest.raises(TypeError):
        rowscan.cumsum(x, 1.5)


@given(x=tensors([torch.float32], most=3), dim=st.integers(-100, 100))
def test_bad_dims_are_told_as_torch_does(x, dim):
    try:
        torch.cumsum(x, dim)
    except IndexError as error:
        with pytest.raises(IndexError) as caught:
            rowscan.cumsum(x, dim)
        assert str(caught.value) == str(error)
    else:
        rowscan.cumsum(x, dim)


@pytest.mark.parametrize("call,kind,text", [
    (lambda x: rowscan.cumsum([1, 2], 0), TypeError, "list"),
    (lambda x: rowscan.cumsum(x.to(torch.complex64), 0), TypeError, "complex64"),
    (lambda x: rowscan.cumsum(torch.eye(3).to_sparse(), 0), TypeError, "sparse"),
    (lambda x: rowscan.cumsum(x, 0, dtype="float32"), TypeError, "'float32'"),
    (lambda x: rowscan.cumsum(x, 0, dtype=torch.complex64), TypeError, "complex64"),
    (lambda x: rowscan.cumsum(x, 0, mask=torch.ones(3, device="meta") > 0), ValueError, "mask is on meta, not on"),
    (lambda x: rowscan.cumsum(x, 0, out=torch.ones(2, 3, device="meta")), ValueError, "out is on meta"),
    (lambda x: rowscan.cumsum(x, 0, mask=torch.ones(3)), TypeError,
     r"mask is floating \(torch.float32\), and mask_mode is not given: 'select' .* 'multiply'"),
    (lambda x: rowscan.cumsum(x, 0, mask=0.5, totals=True), TypeError, r"mask is floating \(0.5\), and mask_mode is"),
    (lambda x: rowscan.linear_recurrence(x, x, 0, mask=torch.ones(3).half()), TypeError, "mask is floating"),
    (lambda x: rowscan.cumsum(x, 0, mask=torch.ones(4) > 0), ValueError, "mask has shape"),
    (lambda x: rowscan.cumsum(x, 0, init=torch.ones(4)), ValueError, "init has shape"),
    (lambda x: rowscan.cumsum(x, 0, out=torch.empty(3, 2)), ValueError, r"out has shape \(3, 2\), not \(2, 3\)"),
    (lambda x: rowscan.cumsum(x, 0, out=[1]), TypeError, "list"),
    (lambda x: rowscan.cumsum(x, 0, mask_mode="add"), ValueError, "'add'"),
    (lambda x: rowscan.cumsum(x, 0, acc="f31"), ValueError, "'f31'"),
    (lambda x: rowscan.cumsum(x, 0, axis=0), TypeError, "two names"),
    (lambda x: rowscan.cumsum(x, 0, out=x[:1].expand(2, 3)), rowscan.BadArgument, "out"),
])
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call(torch.ones(2, 3))


@pytest.mark.parametrize("options", [{}, {"init": 1.}, {"totals": True}, {"acc": "fixed:10"}], ids=str)
def test_overlap_is_told(options):
    x = torch.ones(10)
    with pytest.raises(rowscan.BadArgument):
        rowscan.cumsum(x[:8], 0, out=x[1:9], **options)


def test_refusals_with_outputs_are_those_without():
    x, y = torch.ones(5), torch.empty(5)
    for out in (None, y):
        with pytest.raises(rowscan.BadArgument, match="fixed"):
            rowscan.cumprod(x, 0, acc="fixed:10", out=out)
    with pytest.raises(rowscan.Unsupported):
        rowscan.logcumsumexp(x, 0, acc="f64", heads=x > 0, init=1., out=y)


def test_zeros_that_are_not_in_memory():
    """Tangents and gradients of torch's own: tensors whose zeros its dispatcher makes."""
    zeros = torch._efficientzerotensor((4,))
    assert rowscan.cumsum(zeros, 0).tolist() == rowscan.cumsum(torch.zeros(4), 0).tolist() == [0] * 4
    assert rowscan.cumsum(zeros, 0, out=torch.ones(4)).tolist() == [0] * 4
    assert rowscan.gae(zeros, torch.zeros(5), 0.5, 0.5)[0].tolist() == [0] * 4
    with pytest.raises(TypeError, match="^x can't be scanned as it lies in memory"):
        rowscan.spec(zeros, 0)


# ---- ahead of need ---------------------------------------------------------------------------------------------------

def test_prepare_and_spec():
    x = torch.zeros(4, 1000)
    assert rowscan.prepare(x, 1, reverse=True) is None
    assert "in=f32 out=f32" in rowscan.spec(x, 1) and "length=1000" in rowscan.spec(x, 1)
    assert "out=i64" in rowscan.spec(x.byte(), 1)


# ---- processes and threads -------------------------------------------------------------------------------------------

@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork():
    rowscan.cumsum(torch.ones(9), 0)
    child = os.fork()
    if not child:
        os._exit(0 if rowscan.cumsum(torch.ones(9), 0)[-1].item() == 9 else 1)
    assert os.waitpid(child, 0)[1] == 0


@on_devices
def test_threads(device):
    def one(i):
        x = torch.full((100,), float(i), device=device, requires_grad=i % 2 == 0)
        y = rowscan.cumsum(x, 0)
        if x.requires_grad:
            y.sum().backward()
            return y[-1].item() == 100 * i and x.grad[0].item() == 100
        return y[-1].item() == 100 * i
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(400)))


def python(code):
    with warnings.catch_warnings():
        return subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300)


def test_either_import_may_come_first():
    code = ("import sys, rowscan; assert 'torch' not in sys.modules\nimport torch\n"
            "assert 'rowscan._torch' in sys.modules\nassert 'torch._dynamo' not in sys.modules, 'it takes seconds'\n"
            "f = torch.compile(lambda x: rowscan.cumsum(rowscan.cumulative_sum(x, axis=0), 0, init=0.), "
            "fullgraph=True, backend='eager')\n"
            "assert f(torch.ones(3)).tolist() == [1, 3, 6]; rowscan.torch.patched")
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_importing_torch_is_not_rowscans_to_do():
    done = python("import sys, rowscan; assert not {'torch', 'numpy', 'jax', 'cupy'} & set(sys.modules)")
    assert done.returncode == 0, done.stderr


# ---- CUDA ------------------------------------------------------------------------------------------------------------

needs_cuda = pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")


@needs_cuda
def test_a_side_stream_waits_for_its_own_work():
    x = torch.zeros(64, 4096, device="cuda")
    rowscan.cumsum(x, 1)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        x.fill_(1)
        y = rowscan.cumsum(x, 1)
        z = torch.ops.rowscan._scan(x, 1)
    assert not stream.query(), "the scan waited for the GPU"
    stream.synchronize()
    assert y[:, -1].eq(4096).all() and torch.equal(y, z)


@needs_cuda
def test_capture_and_replay():
    x = torch.randn(64, 4096, device="cuda")
    xg = x.clone().requires_grad_()
    rowscan.prepare(x, 1)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        rowscan.cumsum(xg, 1).backward(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    xg.grad = None
    with torch.cuda.graph(graph):
        y = rowscan.cumsum(x, 1)
        z = torch.ops.rowscan._scan(x, 1, 0, 2)
        rowscan.cumsum(xg, 1).backward(x)
    for seed in range(3):
        x.copy_(torch.randn(64, 4096, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        assert same_bits(y, rowscan.cumsum(x, 1)) and same_bits(z, rowscan.cumsum(x, 1, reverse=True))
        assert same_bits(xg.grad, z)


@needs_cuda
def test_devices_are_not_mixed():
    x = torch.ones(3, device="cuda")
    with pytest.raises(ValueError, match="mask is on cpu, not on cuda:0"):
        rowscan.cumsum(x, 0, mask=torch.ones(3) > 0)
    with pytest.raises(ValueError, match="out is on cpu"):
        rowscan.cumsum(x, 0, out=torch.ones(3))
