# distributed_cases.py - one process of test_distributed.py: python distributed_cases.py STORE RANKS RANK
# SPDX-License-Identifier: MIT
"""All processes know the whole arrays, and each scans its part: bits, gradients, DTensor, errors."""
import datetime
import sys

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import rowscan
import rowscan.torch
from rowscan import distributed


def cuts_of(length, ranks, ragged):
    if not ragged:
        chunk = -(-length // ranks)
        return [min(i * chunk, length) for i in range(ranks + 1)]
    inner = torch.randint(0, length + 1, (ranks - 1,)).sort().values.tolist()
    return [0, *inner, length]


def part(t, dim, cuts, rank):
    return t.narrow(dim, cuts[rank], cuts[rank + 1] - cuts[rank]).clone()


def same(a, b, what):
    assert a.dtype == b.dtype and a.shape == b.shape, (what, a.dtype, b.dtype, a.shape, b.shape)
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    equal = (a.contiguous().view(kind) == b.contiguous().view(kind)) | (a.isnan() & b.isnan())
    assert equal.all(), (what, a, b)


def bits(ranks, rank):
    for turn in range(80 // ranks):
        length, dim = int(torch.randint(0, 300, ())), turn % 2
        shape = [length, 3] if dim == 0 else [4, length]
        x = torch.randn(shape) * 10 ** torch.randint(-3, 4, shape)
        x = x.to([torch.float32, torch.bfloat16, torch.float64][turn % 3])
        cuts = cuts_of(length, ranks, turn % 4 < 3)
        mask, heads = torch.rand(shape) < 0.7, torch.rand(shape) < 0.1
        reverse, exclusive = bool(turn & 4), bool(turn & 8)

        def mine(t):
            return part(t, dim, cuts, rank)

        for name in ("cumsum", "cumprod", "logcumsumexp"):
            wide = name == "logcumsumexp" and x.dtype == torch.float64  # whose totals have no room for a flag
            for more in ({}, {"mask": mask}, {"heads": heads}, {"tails": heads})[:2 if wide else 4]:
                got = getattr(distributed, name)(mine(x), dim, reverse=reverse, exclusive=exclusive,
                                                 **{key: mine(value) for key, value in more.items()})
                should = getattr(rowscan, name)(x, dim, reverse=reverse, exclusive=exclusive, **more)
                same(got, mine(should), (name, turn, more.keys()))
        for got, should in zip(distributed.cummax(mine(x), dim, reverse=reverse, indices=True),
                               rowscan.cummax(x, dim, reverse=reverse, indices=True)):
            same(got, mine(should), ("cummax", turn))
        c = torch.rand(shape).to(x.dtype)
        same(distributed.linear_recurrence(mine(x), mine(c), dim, reverse=reverse),
             mine(rowscan.linear_recurrence(x, c, dim, reverse=reverse)), ("recurrence", turn))
        got, totals = distributed.scan(mine(x), dim, "sum", totals=True)
        should, all_totals = rowscan.scan(x, dim, "sum", totals=True)
        same(got, mine(should), "scan")
        same(totals, all_totals, "totals")


def gradients(ranks, rank):
    for turn in range(24 // ranks):
        length, reverse = int(torch.randint(1, 200, ())), bool(turn & 1)
        x, c, g = torch.randn(3, length), torch.rand(3, length), torch.randn(3, length)
        cuts = cuts_of(length, ranks, turn % 3 > 0)
        heads = torch.rand(3, length) < 0.1

        def mine(t):
            return part(t, 1, cuts, rank)

        def both(whole, own, *inputs):
            leaves = [t.clone().requires_grad_() for t in inputs]
            whole(*leaves).backward(g)
            parts = [mine(t).requires_grad_() for t in inputs]
            own(*parts).backward(mine(g))
            for leaf, one in zip(leaves, parts):
                same(one.grad, mine(leaf.grad), ("gradient", turn))

        both(lambda x: rowscan.cumsum(x, 1, reverse=reverse, exclusive=bool(turn & 2)),
             lambda x: distributed.cumsum(x, 1, reverse=reverse, exclusive=bool(turn & 2)), x)
        both(lambda x: rowscan.cumsum(x, 1, reverse=reverse, heads=heads),
             lambda x: distributed.cumsum(x, 1, reverse=reverse, heads=mine(heads)), x)
        both(lambda x: rowscan.cumsum(x, 1, reverse=reverse, mask=heads),
             lambda x: distributed.cumsum(x, 1, reverse=reverse, mask=mine(heads), mask_mode="select"), x)
        both(lambda x: rowscan.cumsum(x, 1, reverse=reverse, tails=heads),
             lambda x: distributed.cumsum(x, 1, reverse=reverse, tails=mine(heads)), x)
        keys = heads.int().cumsum(1).int()
        both(lambda x: rowscan.cumsum(x, 1, reverse=reverse, keys=keys),
             lambda x: distributed.cumsum(x, 1, reverse=reverse, keys=mine(keys)), x)
        both(lambda x, c: rowscan.linear_recurrence(x, c, 1, reverse=reverse),
             lambda x, c: distributed.linear_recurrence(x, c, 1, reverse=reverse), x, c)


def zigzag(ranks, rank):
    """Two parts each, whose gradients wait for one another."""
    places = [rank, 2 * ranks - 1 - rank]
    for turn, length in enumerate((1, 13, 300)):
        cuts, reverse = cuts_of(length, 2 * ranks, True), bool(turn % 2)
        x, c, g = torch.randn(3, length), torch.rand(3, length), torch.randn(3, length)

        def mine(t):
            return [part(t, 1, cuts, place) for place in places]

        for call in (lambda f, x, c, **more: f.linear_recurrence(x, c, 1, reverse=reverse, **more),
                     lambda f, x, c, **more: f.cumsum(x, 1, reverse=reverse, mask=masks(c), **more)):
            leaves = [t.clone().requires_grad_() for t in (x, c)]
            parts = [[t.requires_grad_() for t in mine(t)] for t in (x, c)]
            y, own = call(rowscan, *leaves), call(distributed, *parts, places=places)
            y.backward(g)
            torch.autograd.backward(own, mine(g))
            for got, want in zip((own, *([t.grad for t in each] for each in parts)), (y, *(t.grad for t in leaves))):
                for a, b in zip(got, [None] * 2 if want is None else mine(want)):
                    assert a is None is b if want is None else same(a, b, ("zigzag", turn)) is None
    with torch.no_grad():
        y = distributed.cumprod(parts[0], 1, places=places)
        assert not any(t.requires_grad for t in y), "the threads' own state"
        for a, b in zip(y, mine(rowscan.cumprod(x, 1))):
            same(a, b, "no_grad")
    fails(NotImplementedError, "cumsum and linear_recurrence alone",
          lambda: distributed.cumprod(parts[0], 1, places=places))
    d = DTensor.from_local(x, torch.distributed.init_device_mesh("cpu", (ranks,)), [Replicate()])
    fails(ValueError, "parts of a DTensor", lambda: distributed.cumsum([d], 1, places=[rank]))


def masks(t):
    return [masks(part) for part in t] if isinstance(t, list) else t.detach() < 0.7


def distribute(t, mesh, placements):
    """As torch cuts, without talking: the mesh's last dimension cuts first beside a strided placement, else last."""
    own, order = t, range(mesh.ndim)
    for i in reversed(order) if "Strided" in repr(placements[0]) else order:
        if (dim := getattr(placements[i], "dim", None)) is not None:
            own = part(own, dim, cuts_of(own.shape[dim], mesh.size(i), False), mesh.get_coordinate()[i])
    return DTensor.from_local(own, mesh, placements, run_check=False, shape=t.shape, stride=t.stride())


def dtensor(ranks, rank):
    from torch.distributed.tensor.debug import CommDebugMode
    mesh = torch.distributed.init_device_mesh("cpu", (ranks,))
    for length in (0, 1, 7, 64, 1001):
        x = torch.randn(6, length)
        for dim in range(2):
            should = rowscan.cumsum(x, dim)
            for placement in (Shard(0), Shard(1), Replicate()):
                d = distribute(x, mesh, [placement])
                with CommDebugMode() as mode:
                    y = distributed.cumsum(d, dim)
                assert not mode.get_total_counts(), mode.get_comm_counts()
                assert isinstance(y, DTensor) and y.placements == d.placements and y.shape == d.shape
                same(y.to_local(), distribute(should, mesh, [placement]).to_local(), (length, dim, placement))
    x = torch.randn(4, 6)
    turned = distribute_tensor(x, mesh, [Shard(0)]).t()
    y = distributed.cumsum(turned, 1)
    same(y.full_tensor(), rowscan.cumsum(x.t(), 1), "what torch distributes and gathers")
    assert y.stride() == (4, 1) and y.to_local().is_contiguous()
    leaf = distribute_tensor(torch.randn(4, 6), mesh, [Replicate()]).requires_grad_()
    distributed.cumprod(leaf, 1).sum().backward()
    assert leaf.grad.shape == leaf.shape
    if ranks == 4:
        meshes(torch.distributed.init_device_mesh("cpu", (2, 2)))
    fails(NotImplementedError, "redistribute() what is Partial first",
          lambda: distributed.cumsum(DTensor.from_local(torch.ones(2), mesh, [Partial()]), 0))
    fails(IndexError, "dim is 5", lambda: distributed.cumsum(turned, 5))
    fails(NotImplementedError, "totals is given", lambda: distributed.cumsum(turned, 1, totals=True))


def meshes(mesh):
    """Several dimensions of a mesh cut the scanned one: records travel along each of them, and nothing else."""
    from torch.distributed.tensor.debug import CommDebugMode
    from torch.distributed.tensor.placement_types import _StridedShard
    strided = _StridedShard(1, split_factor=2)
    for length in (0, 1, 2, 3, 5, 64, 1001):  # of 5: 2, 1, 1, 1; of 3: 1, 1, 1, 0
        x = torch.randn(6, length)
        mask, c = torch.rand(6, length) < 0.7, torch.rand(6, length)
        for placements in ([Shard(1), Shard(1)], [Shard(0), Shard(1)], [Shard(1), Replicate()], [Shard(0), Shard(0)],
                           [strided, Shard(1)]):
            if placements[0] is strided and length % 4:
                continue
            d, m, e = (distribute(t, mesh, placements) for t in (x, mask, c))
            with CommDebugMode() as mode:
                results = (distributed.cumsum(d, 1, mask=m, reverse=True), distributed.linear_recurrence(d, e, 1),
                           *distributed.cummax(d, -1, indices=True))
                with rowscan.torch.patched("CPU"):
                    same(torch.cumsum(d, 1).to_local(), distributed.cumsum(d, 1).to_local(), "patched")
            assert not mode.get_total_counts(), (placements, mode.get_comm_counts())
            should = (rowscan.cumsum(x, 1, mask=mask, reverse=True), rowscan.linear_recurrence(x, c, 1),
                      *rowscan.cummax(x, 1, indices=True))
            for y, want in zip(results, should):
                assert y.placements == d.placements and y.shape == d.shape
                same(y.to_local(), distribute(want, mesh, placements).to_local(), (length, placements))
    x, g = torch.randn(3, 100), torch.randn(3, 100)  # of uneven parts torch 2.6 gathers gradients itself
    whole, own = x.clone().requires_grad_(), distribute(x, mesh, [Shard(1)] * 2).requires_grad_()
    rowscan.cumsum(whole, 1).backward(g)
    distributed.cumsum(own, 1).backward(distribute(g, mesh, [Shard(1)] * 2))
    same(own.grad.to_local(), distribute(whole.grad, mesh, [Shard(1)] * 2).to_local(), "gradient over a mesh")
    for placements, length in (([strided, Shard(1)], 6), ([Shard(1), strided], 8)):
        d = DTensor.from_local(torch.ones(2, 2), mesh, placements, run_check=False, shape=(2, length),
                               stride=(length, 1))
        fails(NotImplementedError, f"{strided!r} of {length} elements", lambda: distributed.cumsum(d, 1))
        same(distributed.cumsum(d, 0).to_local(), torch.tensor([[1.0, 1.0], [2.0, 2.0]]), "strided elsewhere")
    d, e = (distribute(torch.ones(2, 8), mesh, [first, Shard(1)]) for first in (strided, Shard(1)))
    fails(ValueError, "mask has the placements", lambda: distributed.cumsum(d, 1, mask=e > 0))


def compiled(ranks, rank):
    x, keys = torch.randn(3, 12 * ranks), torch.arange(12 * ranks).expand(3, -1) // 12

    def mine(t):
        return part(t, 1, cuts_of(12 * ranks, ranks, False), rank)

    def twice(x, keys):
        return distributed.cumsum(x * 2, 1, keys=keys) + 1

    leaf, own = x.clone().requires_grad_(), mine(x).requires_grad_()
    y, should = torch.compile(twice, backend="aot_eager")(own, mine(keys)), rowscan.cumsum(leaf * 2, 1, keys=keys) + 1
    same(y, mine(should), "compiled")
    y.square().sum().backward(), should.square().sum().backward()
    same(own.grad, mine(leaf.grad), "compiled gradient")
    masked = torch.compile(lambda x, m, k: distributed.cumsum(x, 1, mask=m, keys=k), backend="aot_eager")
    fails(NotImplementedError, "keys of torch.int64", lambda: masked(mine(x), mine(x) > 0, mine(keys)))
    fails(torch._dynamo.exc.Unsupported, "disable",
          lambda: torch.compile(twice, backend="aot_eager", fullgraph=True)(mine(x), mine(keys)))
    d = distribute(x, torch.distributed.init_device_mesh("cpu", (ranks,)), [Shard(0)])
    with rowscan.torch.patched("CPU"):  # what is compiled is torch's, in one graph
        scan = torch.relu if torch.__version__.startswith("2.6.") else lambda x: torch.cumsum(x, 1)
        y = torch.compile(lambda x: scan(x * 2) + 1, backend="aot_eager", fullgraph=True)(d)
    torch.testing.assert_close(y.to_local(), scan(d.to_local() * 2) + 1)


def patched(ranks, rank):
    """torch's own functions of a DTensor: nothing is gathered, with the bits of a plain tensor's."""
    from torch.distributed.tensor.debug import CommDebugMode
    mesh = torch.distributed.init_device_mesh("cpu", (ranks,))
    off = DTensor.__torch_function__
    with rowscan.torch.patched("CPU"):
        for kind in (torch.float32, torch.bfloat16, torch.float64, torch.int32, torch.uint8, torch.bool):
            x = (torch.randn(5, 23) * 4).to(kind)
            for dim, placement in ((1, Shard(1)), (-2, Shard(0)), (1, Shard(0)), (0, Replicate())):
                d = distribute(x, mesh, [placement])
                for name in ("cumsum", "cumprod", "cummax", "cummin", *["logcumsumexp"] * kind.is_floating_point):
                    function = getattr(torch, name)
                    calls = [lambda x: function(x, dim), lambda x: getattr(x, name)(dim=dim)]
                    if name in ("cumsum", "cumprod"):
                        calls += [lambda x: function(x, axis=dim, dtype=torch.float32),
                                  lambda x: function(x, dim, dtype=torch.int64)]
                    for number, call in enumerate(calls):
                        with CommDebugMode() as mode:
                            y = call(d)
                        assert not mode.get_total_counts(), (name, placement, mode.get_comm_counts())
                        want = call(x)
                        assert type(want) is torch.Tensor or type(y) is type(want), (type(y), type(want))
                        for a, b in zip(*((y,), (want,)) if type(want) is torch.Tensor else (y, want)):
                            assert a.placements == d.placements, (name, a.placements)
                            same(a.to_local(), distribute(b, mesh, [placement]).to_local(), (name, kind, dim, number))
        for placement in Shard(1), Shard(0):
            x, g = torch.randn(3, 5 * ranks), torch.randn(3, 5 * ranks)
            whole, own = x.clone().requires_grad_(), distribute(x, mesh, [placement]).requires_grad_()
            for name in ("cumsum", "cumprod", "cummax")[:1 if placement == Shard(1) else 3]:
                for t, up in (whole, g), (own, distribute(g, mesh, [placement])):
                    y = getattr(torch, name)(t, 1)
                    (y if name != "cummax" else y[0]).backward(up)
                same(own.grad.to_local(), distribute(whole.grad, mesh, [placement]).to_local(), ("gradient of", name))
        left_to_torch(distribute(torch.randn(3, 23), mesh, [Shard(1)]), mesh)
    assert DTensor.__torch_function__ is off


def left_to_torch(d, mesh):
    """Which gathers, or has no rule: in 2.6 for none of these functions, later for none with out=."""
    whole = d.full_tensor()
    for call in (lambda x: torch.cumprod(x.detach().requires_grad_(), 1).detach(),
                 lambda x: torch.cumsum(x, 1, out=x + 0), lambda x: torch.cumsum(x + 1j, 1)):
        try:
            y = call(d)
        except RuntimeError as error:
            assert "sharding strategy" in str(error), error
        else:
            same(torch.view_as_real(y.full_tensor() + 0j), torch.view_as_real(call(whole) + 0j), "torch's own")
    fails((IndexError, RuntimeError), "Dimension out of range", lambda: torch.cumsum(d, 2))


def fails(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), (words, error)
    else:
        raise AssertionError(f"no {kind}: {words}")


def errors(ranks, rank):
    """One rank that fails fails all."""
    x = torch.ones(2, 5)
    last = ranks - 1
    fails(ValueError, f"rank {last}: scans", lambda: distributed.cumsum(x.double() if rank == last else x, 1))
    fails(ValueError, f"rank {last}: has 3 rows",
          lambda: distributed.cumsum(torch.ones(3, 5) if rank == last else x, 1))
    kind, words = (IndexError, "Dimension out of range") if rank == 1 else (ValueError, "rank 1: ")
    fails(kind, words, lambda: distributed.cumsum(x, 7 if rank == 1 else 1))
    fails(NotImplementedError, "cumsum and linear_recurrence alone",
          lambda: distributed.cumprod(x.clone().requires_grad_(), 1))
    fails((NotImplementedError, ValueError), "cumsum and linear_recurrence alone",
          lambda: distributed.cumprod(x.clone().requires_grad_(rank == 1), 1))
    fails((TypeError, ValueError), "dim is missing", lambda: distributed.cumsum(x, None if rank == last else 1))
    fails(ValueError, "rank 1: scans 'op=sum in=f32",
          lambda: distributed.cumsum(x.double() if rank == 0 else x, 1, reverse=True))
    fails(NotImplementedError, "keys of torch.int64",
          lambda: distributed.cumsum(x.double(), 1, keys=torch.full((2, 5), rank)))
    fails(NotImplementedError, "keys of torch.int64",
          lambda: distributed.cumsum(x, 1, mask=x > 0, keys=torch.full((2, 5), rank)))
    fails(TypeError, "two names of one thing", lambda: distributed.cumsum(x, 1, group=dist.group.WORLD, comm=1))
    same(distributed.cumsum(x, 1)[:, -1:], torch.full((2, 1), 5.0 * (rank + 1)), "after errors")


def main(store, ranks, rank):
    dist.init_process_group("gloo", init_method=f"file://{store}", world_size=ranks, rank=rank,
                            timeout=datetime.timedelta(seconds=60))
    torch.manual_seed(1234 + ranks)
    for test in (bits, gradients, zigzag, dtensor, patched, errors, *[compiled] * (ranks == 2)):
        test(ranks, rank)
    dist.barrier()
    dist.destroy_process_group()
    print("good")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
