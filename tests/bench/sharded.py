#!/usr/bin/env python3
"""sharded.py - cumulative sums of one row that is cut over the processes of torchrun, beside what else users do

SPDX-License-Identifier: MIT

usage: torchrun --nproc-per-node R sharded.py [--device cuda] [--elements N ...] [--rows 1024] [--repeat 9]

Ways, each from a part on every process to a part of the results there:

  one        rowscan.cumsum of the whole row, by the first process alone: what R processes are to beat
  rowscan    rowscan.distributed.cumsum
  dtensor    torch.cumsum of a DTensor, which gathers the row
  late       torch.cumsum of the part, an all-gather of the parts' sums, and one more addition to each result

The same elements as several rows, of which nothing is exchanged; R processes should take 1/R of the time:

  one_rows   rowscan.cumsum of all rows, by the first process alone
  rows       rowscan.distributed.cumsum of a DTensor that is sharded along the other dimension: each has its own rows

And what every scan of a cut row takes at least:

  exchange   rowscan.distributed.cumsum of parts without elements: its all-gathers, which are two, as records are small

Prints a CSV: the median time of all, from a barrier to the last process's end, GB/s of reading and writing the elements
once, and how many results of this way have other bits than those of `one` or `one_rows`.
"""
import argparse
import functools
import os
import statistics
import time

# Each call waits for the kernels of its length. Else the first ones run on kernels for any length, while a thread
# compiles: a way's median would depend on when that thread is done.
os.environ.setdefault("ROWSCAN_COMPILE", "now")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.tensor import DTensor, Shard  # noqa: E402

import rowscan  # noqa: E402
import rowscan.distributed  # noqa: E402


def late(part):
    y = torch.cumsum(part, 0)
    sums = torch.empty(dist.get_world_size(), dtype=part.dtype, device=part.device)
    dist.all_gather_into_tensor(sums, y[-1:].clone())
    return y + sums[:dist.get_rank()].sum()


@functools.lru_cache(maxsize=None)  # to make one takes longer than a scan
def mesh_of(device):
    return dist.init_device_mesh(device, (dist.get_world_size(),))


def gathering(part):
    n = len(part) * dist.get_world_size()
    whole = DTensor.from_local(part, mesh_of(part.device.type), [Shard(0)], run_check=False, shape=(n,), stride=(1,))
    y = torch.cumsum(whole, 0).to_local()
    return y if len(y) == len(part) else y[len(part) * dist.get_rank():][:len(part)]


WAYS = {"rowscan": lambda part: rowscan.distributed.cumsum(part, 0), "dtensor": gathering, "late": late}


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(device, call, repeat):
    times = []
    for _ in range(repeat + 2):
        wait(device)
        dist.barrier()
        start = time.perf_counter()
        y = call()
        wait(device)
        took = torch.tensor(time.perf_counter() - start, device=device)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        times.append(took.item())
    return y, statistics.median(times[2:])


def show(name, device, n, took, other=0):
    if dist.get_rank() == 0:
        print(f"{name},{dist.get_world_size()},{device},{n},{1e3 * took:.4f},{8 * n / took / 1e9:.1f},{other}",
              flush=True)


def measure_ways(device, x, along, names, repeat):
    """The first of the names is that of one process; the others are those of ways, from parts that it is cut into."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    part = x.tensor_split(ranks)[rank].clone()
    _, took = timed(device, lambda: rowscan.cumsum(x, along) if rank == 0 else None, repeat)
    should = rowscan.cumsum(x, along).tensor_split(ranks)[rank]
    name, *others = names
    show(name, device, x.numel(), took)
    for name, call in others:
        y, took = timed(device, lambda: call(part), repeat)
        other = (y != should).sum()
        dist.all_reduce(other)
        show(name, device, x.numel(), took, other.item())


def measure(device, n, rows, repeat):
    torch.manual_seed(1)
    x = torch.randn(n // rows * rows, device=device)
    measure_ways(device, x, 0, ["one", *WAYS.items()], repeat)
    mesh, x = mesh_of(device), x.view(rows, -1)

    def own_rows(part):
        whole = DTensor.from_local(part, mesh, [Shard(0)], run_check=False, shape=x.shape, stride=x.stride())
        return rowscan.distributed.cumsum(whole, 1).to_local()

    measure_ways(device, x, 1, ["one_rows", ("rows", own_rows)], repeat)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--elements", type=int, nargs="+", default=[1 << 20, 1 << 24])
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    dist.init_process_group("nccl" if options.device == "cuda" else "gloo")
    if options.device == "cuda":
        torch.cuda.set_device(dist.get_rank())
    if dist.get_rank() == 0:
        print("way,ranks,device,elements,ms,gbs,other_bits")
    nothing = torch.empty(0, device=options.device)
    show("exchange", options.device, 0,
         timed(options.device, lambda: rowscan.distributed.cumsum(nothing, 0), options.repeat)[1])
    rows = max(options.rows // dist.get_world_size(), 1) * dist.get_world_size()  # as many for each process
    for n in options.elements:
        measure(options.device, n, rows, options.repeat)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
