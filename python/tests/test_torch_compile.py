"""test_torch_compile.py - torch.compile without graph breaks, export, and the operators that they see

SPDX-License-Identifier: MIT
"""
import pytest

torch = pytest.importorskip("torch")

import rowscan
from torch_cases import DEVICES

on_devices = pytest.mark.parametrize("device", DEVICES)
backends = pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
COMPILED_IN_C = tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 8)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def compiled(function, backend="aot_eager", **kwargs):
    return torch.compile(function, backend=backend, fullgraph=True, **kwargs)


def many(x, m):
    a = rowscan.cumsum(x * 2, -1, reverse=True) + rowscan.cumsum(x, axis=0, mask=m, init=1.)
    b, totals = rowscan.cumsum(x, 1, exclusive=True, totals=True)
    w = rowscan.cumsum(x, 1, mask=x.detach().abs(), mask_mode="multiply", init=totals[:, None].detach())
    return a + b + w + rowscan.cumprod(x, 1) + rowscan.cumsum(x.half(), 0, dtype=torch.float32), totals


def few(x, m):
    """With little for inductor to compile."""
    y, totals = rowscan.cumsum(x, 1, mask=m, exclusive=True, totals=True)
    return rowscan.cumsum(y, 0, reverse=True), totals


@backends
@on_devices
def test_forward_and_backward(device, backend):
    x, m = torch.randn(3, 4, device=device), torch.rand(3, 4, device=device) > .5
    function = few if backend == "inductor" else many
    f = compiled(function, backend)
    for got, want in zip(f(x, m), function(x, m)):
        torch.testing.assert_close(got, want)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    for leaf, function in ((a, f), (b, function)):
        y, totals = function(leaf, m)
        (y.sum() + (totals ** 2).sum()).backward()
    torch.testing.assert_close(a.grad, b.grad)


@backends
def test_lengths_that_vary(backend):
    torch._dynamo.utils.counters.clear()
    f = compiled(lambda x: rowscan.cumsum(x, 1, totals=True), backend, dynamic=True)
    for n in (5, 6, 9):
        y, totals = f(torch.ones(2, n))
        assert y[1].tolist() == list(range(1, n + 1)) and totals.tolist() == [n, n]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@backends
def test_outputs_are_written(backend):
    def f(x):
        y = x + 1
        rowscan.cumsum(y, 0, out=y)
        z = torch.empty_like(x)
        return rowscan.cumsum(x, 1, reverse=True, out=z) + y * 2
    x = torch.randn(3, 4)
    torch.testing.assert_close(compiled(f, backend)(x), f(x))
    x = torch.randn(5)
    y, z = torch.zeros(5), torch.zeros(5)
    compiled(lambda x, out: rowscan.cumsum(x, 0, out=out), backend)(x, y)
    assert torch.equal(y, rowscan.cumsum(x, 0, out=z))


def test_every_argument():
    x = torch.arange(6).reshape(2, 3)
    def f(x):
        return (rowscan.cumsum(x, dim=0, dtype=torch.int32), rowscan.cumsum(x.float(), 0, dtype=torch.int64),
                rowscan.cumsum(x.float(), -2, acc="f64", init=torch.ones(1, 3)), rowscan.cumsum(x, 1, mask=x > 1),
                rowscan.cumulative_sum(x, axis=1, include_initial=True), rowscan.cumsum(x[0]),
                rowscan.cumsum(x.sum(), 0), rowscan.cumsum(x, 1, mask=x.float() / 2, mask_mode="multiply"))
    for got, want in zip(compiled(f)(x), f(x)):
        assert got.dtype == want.dtype and torch.equal(got, want)


@pytest.mark.parametrize("call", [lambda x: rowscan.cumsum(x, 2), lambda x: rowscan.cumsum(x),
                                  lambda x: rowscan.cumsum(x, 0, mask_mode="add"),
                                  lambda x: rowscan.cumsum(x, 0, out=torch.empty(7))])
def test_errors_are_told_while_tracing(call):
    with pytest.raises(Exception) as eager:
        call(torch.ones(2, 3))
    with pytest.raises(Exception) as traced:
        compiled(call)(torch.ones(2, 3))
    told = str(traced.value)
    assert str(eager.value)[:40] in told or "Observed exception" in told  # which is all that old versions of dynamo say


@backends
def test_operators_by_name(backend):
    x = torch.randint(0, 99, (3, 50), generator=torch.Generator().manual_seed(0))

    def f(x):
        y, totals = rowscan.scan(x, 1, "or", exclusive=True, totals=True)
        return (y, totals, rowscan.scan(x > 50, 0, op="xor", mask=x > 9), rowscan.scan(x, 1, "and", init=127),
                rowscan.scan(x, 0), rowscan.cummax(x, 1), rowscan.scan(x, 0, "max"), rowscan.cummin(x.float(), 0))
    for got, want in zip(compiled(f, backend)(x), f(x)):
        assert got.dtype == want.dtype and torch.equal(got, want)


@pytest.mark.parametrize("call", [lambda x: rowscan.scan(x, 1, "mean"), lambda x: rowscan.scan(x, 1, "and")])
def test_operators_are_refused_while_tracing(call):
    with pytest.raises(Exception, match="op is 'mean', not one of|and requires integers or bool|Observed exception"):
        compiled(call)(torch.ones(2, 3))


def test_transforms_are_traced():
    x = torch.randn(3, 4)
    for f in (torch.vmap(lambda r: rowscan.cumsum(r, 0, reverse=True)),
              torch.vmap(torch.func.grad(lambda r: (rowscan.cumsum(r, 0) ** 2).sum()))):
        torch.testing.assert_close(compiled(lambda x: f(x))(x), f(x))


def test_the_graph_has_the_scan_alone():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    x = torch.randn(3, 4, requires_grad=True)
    f = compiled(lambda x: rowscan.cumsum(x, 1, reverse=True),
                 aot_autograd(fw_compiler=lambda g, i: graphs.append(g) or make_boxed_func(g.forward)))
    f(x).sum().backward()
    calls = [str(n.target) for g in graphs for n in g.graph.nodes if n.op == "call_function"]
    assert [c for c in calls if "rowscan" in c] == ["rowscan._scan.default"] * 2


def test_export():
    class Module(torch.nn.Module):
        def forward(self, x):
            return rowscan.cumsum(x, 1, reverse=True)
    x = torch.randn(2, 3)
    for strict in (False, True):
        program = torch.export.export(Module(), (x,), strict=strict)
        assert "rowscan.scan.default" in str(program.graph)
        assert torch.equal(program.module()(x), rowscan.cumsum(x, 1, reverse=True))
        assert "rowscan._scan.default" in str(program.run_decompositions().graph)


def test_make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx
    graph = make_fx(lambda x: rowscan.cumsum(x, 0), tracing_mode="symbolic")(torch.ones(3))
    assert "rowscan._scan" in graph.code and graph(torch.ones(5))[-1].item() == 5


def test_opcheck():
    x, m, ops = torch.randn(3, 4), torch.rand(3, 4) > .5, torch.ops.rowscan
    check = torch.library.opcheck
    for args in ((x, 1), (x.t(), 0, 0, 2, 0, 0, 1, m.t(), torch.zeros(1, 3)), (x.half(), -1, 1, 0, 3),
                 (torch.tensor(1), 0), (x, 1, 0, 8)):
        check(ops._scan.default, args)
        check(ops._scan_totals.default, args + (0, 0, 0, 0, 0, None, None)[len(args) - 2:] + (4 if args[0].dtype is
              torch.float64 else 11 if not args[0].is_floating_point() else 3,))
    check(ops.scan_out.default, (x, 1, 0, 2, 0, 0, 1, m, None), {"out": torch.empty(3, 4)})
    check(ops.scan_out.default, (x, 1), {"out": torch.empty(4, 3).t(), "totals": torch.empty(3, 1)})


# ---- the kernels in C ------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not COMPILED_IN_C, reason="libtorch registers C kernels from 2.8 on")
def test_kernels_are_in_c_where_they_can_be():
    import rowscan._torch_operators as operators
    calls = []
    original, operators.run = operators.run, lambda *args: calls.append(args)
    try:
        torch.ops.rowscan._scan(torch.ones(3), 0)
        torch.ops.rowscan._scan_totals(torch.ones(3), 0, 0, 0, 0, 0, 0, None, None, 3)
        torch.ops.rowscan.scan_out(torch.ones(3), 0, out=torch.empty(3))
    finally:
        operators.run = original
    assert not calls


@on_devices
def test_wrong_calls_of_operators_are_errors(device):
    x, ops = torch.ones(2, 3, device=device), torch.ops.rowscan
    wrong = [lambda: ops._scan(x, 5), lambda: ops._scan(x, 0, 7), lambda: ops._scan(x, 0, 0, 999),
             lambda: ops._scan(x, 0, 0, 0, 99), lambda: ops._scan(x, 0, 0, 0, 0, 99), lambda: ops._scan(x, 0, 0, 0, 9),
             lambda: ops._scan(x, 0, 0, 0, 0, 0, 9, x > 0), lambda: ops._scan(x.to(torch.complex64), 0),
             lambda: ops._scan(x, 0, 0, 0, 0, 0, 1, torch.ones(5, device=device)),
             lambda: ops._scan(x, 0, 0, 0, 0, 0, 0, None, torch.ones(5, device=device)),
             lambda: ops._scan_totals(x, 0, 0, 0, 0, 0, 0, None, None, 99),
             lambda: ops.scan_out(x, 0, out=torch.empty(7, device=device)),
             lambda: ops.scan_out(x, 0, out=torch.empty(2, 3, dtype=torch.int32, device=device)),
             lambda: ops.scan_out(x, 0, out=torch.empty(2, 3, device=device), totals=torch.empty(1, device=device)),
             lambda: ops._scan(torch.ones([1] * 65, device=device), 0)]
    for call in wrong:
        for _ in range(3):  # and nothing is left behind that the next call would trip over
            with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)) as caught:
                call()
            assert str(caught.value) and "INTERNAL" not in str(caught.value)
    assert ops._scan(x, 0).tolist() == [[1, 1, 1], [2, 2, 2]]


@on_devices
def test_operators_give_memory_back(device):
    ops, size = torch.ops.rowscan, 64 * 1024 * 4

    def resident():
        if device == "cuda":
            return torch.cuda.memory_allocated()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def use():
        x, m, i = (torch.ones(64, n, device=device) for n in (1024, 1024, 1))
        ops._scan(x, 1, 0, 0, 0, 0, 1, m, i)
        ops._scan_totals(x, 1, 0, 0, 0, 0, 1, m, i, 3)
        for bad in (lambda: ops._scan(x, 1, 0, 999, 0, 0, 1, m, i), lambda: ops.scan_out(x, 1, out=m, totals=m)):
            with pytest.raises((RuntimeError, ValueError, TypeError)):
                bad()
    for _ in range(20):
        use()
    before = resident()
    for _ in range(300):
        use()
    assert resident() - before < 32 * size
