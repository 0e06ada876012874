#!/usr/bin/env python3
"""sharded.py - cumulative sums of one row that is cut over the processes of torchrun, beside what else users do

SPDX-License-Identifier: MIT

usage: torchrun --nproc-per-node R sharded.py [--device cuda] [--elements N ...] [--repeat 9]

Ways, each from a part on every process to a part of the results there:

  one        rowscan.cumsum of the whole row, by the first process alone: what R processes are to beat
  rowscan    rowscan.distributed.cumsum
  dtensor    torch.cumsum of a DTensor, which gathers the row
  late       torch.cumsum of the part, an all-gather of the parts' sums, and one more addition to each result

Prints a CSV: the median time of all, from a barrier to the last process's end, GB/s of reading and writing the row
once, and how many results of this way have other bits than those of `one`.
"""
import argparse
import statistics
import time

import torch
import torch.distributed as dist

import rowscan
import rowscan.distributed


def late(part):
    y = torch.cumsum(part, 0)
    sums = torch.empty(dist.get_world_size(), dtype=part.dtype, device=part.device)
    dist.all_gather_into_tensor(sums, y[-1:].clone())
    return y + sums[:dist.get_rank()].sum()


def ways(device):
    from torch.distributed.tensor import Shard, DTensor
    mesh = dist.init_device_mesh(device, (dist.get_world_size(),))

    def gathering(part):
        n = len(part) * dist.get_world_size()
        whole = DTensor.from_local(part, mesh, [Shard(0)], run_check=False, shape=(n,), stride=(1,))
        y = torch.cumsum(whole, 0).to_local()
        return y if len(y) == len(part) else y[len(part) * dist.get_rank():][:len(part)]

    return {"rowscan": lambda part: rowscan.distributed.cumsum(part, 0), "dtensor": gathering, "late": late}


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


def measure(device, n, repeat):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    x = torch.randn(n // ranks * ranks, device=device)
    part = x.tensor_split(ranks)[rank].clone()
    should, took = timed(device, lambda: rowscan.cumsum(x, 0) if rank == 0 else None, repeat)
    should = rowscan.cumsum(x, 0).tensor_split(ranks)[rank]
    rows = [("one", took, 0)]
    for name, call in ways(device).items():
        y, took = timed(device, lambda: call(part), repeat)
        other = (y != should).sum()
        dist.all_reduce(other)
        rows.append((name, took, other.item()))
    for name, took, other in rows if rank == 0 else ():
        print(f"{name},{ranks},{device},{len(x)},{1e3 * took:.4f},{2 * x.nbytes / took / 1e9:.1f},{other}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--elements", type=int, nargs="+", default=[1 << 20, 1 << 24])
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    dist.init_process_group("nccl" if options.device == "cuda" else "gloo")
    if options.device == "cuda":
        torch.cuda.set_device(dist.get_rank())
    if dist.get_rank() == 0:
        print("way,ranks,device,elements,ms,gbs,other_bits")
    for n in options.elements:
        measure(options.device, n, options.repeat)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
