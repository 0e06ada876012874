# distributed_cuda_cases.py - one process of test_distributed_cuda.py: python distributed_cuda_cases.py STORE RANKS RANK
# SPDX-License-Identifier: MIT
"""usage: distributed_cuda_cases.py STORE RANKS RANK [DEVICE]

All processes know the whole tensors, and each scans its part: with `cuda` on the GPU of its rank, over NCCL; with `cpu`
over gloo, which shows that the checks are right where there is no GPU. Whole tensors are scanned on the same device.
"""
import contextlib
import datetime
import os
import sys
import unittest.mock

# Each combination has kernels of its own: one for any length takes a second, and those of each length would take more.
os.environ.setdefault("ROWSCAN_COMPILE", "never")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.tensor import DTensor, Replicate, Shard  # noqa: E402

import rowscan  # noqa: E402
import rowscan.torch  # noqa: E402
from distributed_cases import cuts_of, distribute, fails, part, same  # noqa: E402
from rowscan import distributed  # noqa: E402

SCANS = "cumsum", "cumprod", "cummax", "logcumsumexp"
KINDS = torch.float32, torch.bfloat16, torch.float64
MOST_SENT = 1 << 16  # bytes of a rank in one exchange: records have fewer, parts of the longest tensors more


class Case:
    """A tensor of two dimensions, where its rows are cut, and what stands beside it: the same on all ranks."""
    def __init__(self, device, ranks, turn, length, kind=torch.float32, parts=None):
        self.dim, self.device = turn % 2, device
        self.shape = [length, 3] if self.dim == 0 else [4, length]
        ends = [1 if d == self.dim else extent for d, extent in enumerate(self.shape)]
        self.x = self.drawn(torch.randn(self.shape) * 10 ** torch.randint(-3, 4, self.shape), kind)
        self.coefficient = self.drawn(torch.rand(self.shape), kind)
        self.init = self.drawn(torch.randn(ends), torch.float64 if kind == torch.float64 else torch.float32)
        self.mask, self.heads = (self.drawn(torch.rand(self.shape) < p, torch.bool) for p in (0.7, 0.1))
        self.keys = self.heads.int().cumsum(self.dim).int()
        parts = parts or ranks
        self.cuts = [cuts_of(length, parts, False), cuts_of(length, parts, True), [0] * parts + [length],
                     [0] + [length] * parts][turn // 2 % 4]

    def drawn(self, t, kind):
        """On the CPU, so that ranks with other GPUs have the same."""
        return t.to(self.device, kind)

    def mine(self, t, place):
        return part(t, self.dim, self.cuts, place)

    def options(self):
        """What may stand beside the elements. True is not cut, and of init all have the whole."""
        return [{}, {"mask": self.mask}, {"heads": self.heads}, {"tails": self.heads}, {"keys": self.keys},
                {"init": self.init}, {"totals": True}, {"mask": self.coefficient, "mask_mode": "multiply"}]

    def own(self, options, place):
        cut = "mask", "heads", "tails", "keys", "coefficient"
        return {name: self.mine(value, place) if name in cut else value for name, value in options.items()}


def same_all(got, should, case, place, what):
    """Of a tensor, or of a pair with indices, which are cut as the values are, or with totals, which are not."""
    if isinstance(should, torch.Tensor):
        return same(got, case.mine(should, place), what)
    same(got[0], case.mine(should[0], place), what)
    return same(got[1], case.mine(should[1], place) if should[1].shape == should[0].shape else should[1], what)


def turns(device, count):
    """On a GPU some: each has some thirty kernels to compile."""
    return range(0, count, 7 if device.type == "cuda" else 1)


def bits(device, ranks, rank):
    """Each function has another option in each turn, and all of them in eight."""
    for turn in turns(device, 16):
        kind, length = KINDS[turn % 3], [0, 1, 5, 300, 257, 64, 40_001, 1000][turn % 8]
        case = Case(device, ranks, turn, length, kind)
        flags = {"reverse": bool(turn & 4), "exclusive": bool(turn % 3 == 1)}
        for number, name in enumerate(SCANS):
            more = case.options()[(turn + 2 * number + turn // 8) % 8]
            if name == "logcumsumexp" and kind == torch.float64 and {"heads", "tails", "keys"} & set(more):
                continue  # whose totals have no room for a flag
            if name in ("cummax", "logcumsumexp") and "mask_mode" in more:
                continue
            got = getattr(distributed, name)(case.mine(case.x, rank), case.dim, **flags, **case.own(more, rank))
            should = getattr(rowscan, name)(case.x, case.dim, **flags, **more)
            assert (got[0] if isinstance(got, tuple) else got).device == case.x.device
            same_all(got, should, case, rank, (name, turn, flags, more.keys()))
        got = distributed.cummax(case.mine(case.x, rank), case.dim, indices=True, **flags)
        same_all(got, rowscan.cummax(case.x, case.dim, indices=True, **flags), case, rank, ("indices", turn, flags))
        for more in {}, {"init": case.init}:
            got = distributed.linear_recurrence(case.mine(case.x, rank), case.mine(case.coefficient, rank), case.dim,
                                                reverse=flags["reverse"], **more)
            should = rowscan.linear_recurrence(case.x, case.coefficient, case.dim, reverse=flags["reverse"], **more)
            same_all(got, should, case, rank, ("recurrence", turn, flags, more.keys()))


def places(device, ranks, rank):
    """Two parts each, first and last: context parallelism's zigzag; with the gradient of the sums."""
    for turn, length in enumerate((13, 300, 1, 5, 40_001, 64)):
        case = Case(device, ranks, turn, length, parts=2 * ranks)
        own, reverse = [rank, 2 * ranks - 1 - rank], bool(turn % 2)
        if turn % 3:
            own.reverse()

        def mine(t):
            return [case.mine(t, place) for place in own]

        got = distributed.linear_recurrence(mine(case.x), mine(case.coefficient), case.dim, reverse=reverse, places=own)
        should = rowscan.linear_recurrence(case.x, case.coefficient, case.dim, reverse=reverse)
        for y, place in zip(got, own):
            same_all(y, should, case, place, ("places", turn))
        whole, parts = case.x.clone().requires_grad_(), [t.requires_grad_() for t in mine(case.x)]
        y = rowscan.cumsum(whole, case.dim, reverse=reverse, mask=case.mask)
        y.backward(case.coefficient)
        own_y = distributed.cumsum(parts, case.dim, reverse=reverse, mask=mine(case.mask), places=own)
        torch.autograd.backward(own_y, mine(case.coefficient))
        for own_part, made, place in zip(parts, own_y, own):
            same_all(made, y, case, place, ("places of sums", turn))
            same_all(own_part.grad, whole.grad, case, place, ("gradient of places", turn))


def gradients(device, ranks, rank):
    for turn in turns(device, 8):
        case = Case(device, ranks, turn, [1, 300, 5, 40_001][turn % 4])
        reverse = bool(turn & 2)

        def both(function, own_function, *inputs, **more):
            leaves = [t.clone().requires_grad_() for t in inputs]
            function(*leaves, case.dim, reverse=reverse, **more).backward(case.init * case.x)
            parts = [case.mine(t, rank).requires_grad_() for t in inputs]
            y = own_function(*parts, case.dim, reverse=reverse, **case.own(more, rank))
            y.backward(case.mine(case.init * case.x, rank))
            for leaf, one in zip(leaves, parts):
                same_all(one.grad, leaf.grad, case, rank, ("gradient", function, turn, more.keys()))

        both(rowscan.cumsum, distributed.cumsum, case.x, **case.options()[turn % 5])
        both(rowscan.cumsum, distributed.cumsum, case.x, exclusive=True)

        both(rowscan.linear_recurrence, distributed.linear_recurrence, case.x, case.coefficient)


@contextlib.contextmanager
def only_records():
    """Nothing that is exchanged is as large as a tensor, and nothing but rowscan's own all-gathers is exchanged."""
    from torch.distributed.tensor.debug import CommDebugMode
    names, sent = ("all_gather_into_tensor", "all_gather"), []  # of memory of a GPU, and of the host

    def noted(plain):
        def gather(received, data, **more):
            sent.append(data.nbytes)
            return plain(received, data, **more)

        return gather

    with contextlib.ExitStack() as patches, CommDebugMode() as mode:
        for name in names:
            patches.enter_context(unittest.mock.patch.object(dist, name, noted(getattr(dist, name))))
        yield sent
    others = [str(op) for op in mode.get_comm_counts() if "allgather_" not in str(op)]
    assert not others and max(sent, default=0) < MOST_SENT, (others, sent)


def dtensor(device, ranks, rank):
    """Sharded along the scanned dimension or another one, it stays so; torch's own functions do the same if patched."""
    mesh = dist.init_device_mesh(device.type, (ranks,))
    cuts = (1, Shard(1)), (1, Shard(0)), (0, Replicate()), (0, Shard(0))
    for length, rows in (5, 4), (64, 3), (40_001, 4):
        x = torch.randn(rows, length).to(device)
        for dim, placement in cuts if length < 100 else cuts[:3]:  # records of short rows are larger than the rows
            d = distribute(x, mesh, [placement])
            with only_records() as sent:
                results = {"cumsum": distributed.cumsum(d, dim, reverse=True), "cumprod": distributed.cumprod(d, dim)}
                with rowscan.torch.patched(device.type.upper()):
                    results.update(patched=torch.cumsum(d, dim), method=d.cumsum(dim),
                                   values=torch.cummax(d, dim).values, indices=torch.cummax(d, dim).indices)
            assert bool(sent) == (ranks > 1 and placement == Shard(dim)), (sent, placement)
            values, indices = rowscan.cummax(x, dim, indices=True)
            should = {"cumsum": rowscan.cumsum(x, dim, reverse=True), "cumprod": rowscan.cumprod(x, dim),
                      "patched": rowscan.cumsum(x, dim), "method": rowscan.cumsum(x, dim), "values": values,
                      "indices": indices}
            for name, y in results.items():
                assert isinstance(y, DTensor) and y.placements == d.placements and y.shape == d.shape, name
                same(y.to_local(), distribute(should[name], mesh, [placement]).to_local(), (name, length, placement))
    g = torch.randn(3, 8 * ranks).to(device)
    whole, own = g.clone().requires_grad_(), distribute(g, mesh, [Shard(1)]).requires_grad_()
    rowscan.cumsum(whole, 1).backward(g)
    with rowscan.torch.patched(device.type.upper()):
        torch.cumsum(own, 1).backward(distribute(g, mesh, [Shard(1)]))
    same(own.grad.to_local(), distribute(whole.grad, mesh, [Shard(1)]).to_local(), "gradient of a DTensor")


def another_device(device, ranks, rank):
    """The tensor's GPU is not torch's current one, which stays what it is."""
    other = (rank + 1) % torch.cuda.device_count()
    case = Case(device, ranks, 1, 300)
    with torch.cuda.device(other):
        got = distributed.cumsum(case.mine(case.x, rank), case.dim)
        assert torch.cuda.current_device() == other and got.device == device
        should = rowscan.cumsum(case.x, case.dim)
    same_all(got, should, case, rank, "another device")


def mixed(device, ranks, rank):
    """A group that has gloo for memory of the host: records take it. The first part may lie there, and have the bits
    of the GPU."""
    group = dist.new_group(backend="gloo" if device.type == "cpu" else "cpu:gloo,cuda:nccl")
    for turn in 1, 2:
        case = Case(device, ranks, turn, 300)
        should = rowscan.cumsum(case.x, case.dim, reverse=True)
        got = distributed.cumsum(case.mine(case.x, rank), case.dim, reverse=True, group=group)
        same_all(got, should, case, rank, "mixed group")
        x = case.mine(case.x, rank)
        got = distributed.cumsum(x if rank else x.cpu(), case.dim, reverse=True, group=group)
        assert got.device == (device if rank else torch.device("cpu")), got.device
        same_all(got.to(device), should, case, rank, "a part in memory of the host")
    dist.destroy_process_group(group)


def errors(device, ranks, rank):
    """One rank that fails fails all, and all are told which; the next call is served."""
    x, last = torch.ones(2, 5, device=device), ranks - 1
    fails(ValueError, f"rank {last}: scans 'op=sum in=f64",
          lambda: distributed.cumsum(x.double() if rank == last else x, 1))
    fails(ValueError, f"rank {last}: has 3 rows",
          lambda: distributed.cumsum(torch.ones(3, 5, device=device) if rank == last else x, 1))
    fails((TypeError, ValueError), "dim is missing", lambda: distributed.cumsum(x, None if rank == last else 1))
    kind, words = (IndexError, "Dimension out of range") if rank == last else (ValueError, f"rank {last}: ")
    fails(kind, words, lambda: distributed.cumsum(x, 7 if rank == last else 1))
    same(distributed.cumsum(x, 1)[:, -1:], torch.full((2, 1), 5.0 * (rank + 1), device=device), "after errors")


def main(store, ranks, rank, kind="cuda"):
    device = torch.device(kind, rank) if kind == "cuda" else torch.device(kind)
    if kind == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo", init_method=f"file://{store}", world_size=ranks,
                            rank=rank, timeout=datetime.timedelta(seconds=300))  # others may have kernels to compile
    torch.manual_seed(4321 + ranks)
    tests = [bits, places, gradients, dtensor, mixed]
    if ranks > 1:
        tests += [errors, *[another_device] * (kind == "cuda")]
    for test in tests:
        print(test.__name__, flush=True)
        test(device, ranks, rank)
        dist.barrier()
    dist.destroy_process_group()
    print("good")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
