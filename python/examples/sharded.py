"""sharded.py - one sequence over several processes: sums, a recurrence and its gradients, with the bits of one process

SPDX-License-Identifier: MIT

    torchrun --nproc-per-node 2 sharded.py

Each process holds its part of the sequence alone. To show the bits, it then scans the whole sequence by itself.
"""
import torch
import torch.distributed as dist

import rowscan
from rowscan import distributed


def main():
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # so that each process knows the whole sequence, to compare
    batch, length = 4, 100_003
    x, gates = torch.randn(batch, length), torch.rand(batch, length)
    begin, end = length * rank // ranks, length * (rank + 1) // ranks

    part, gate = x[:, begin:end].clone().requires_grad_(), gates[:, begin:end].clone().requires_grad_()
    sums = distributed.cumsum(part, 1)
    states = distributed.linear_recurrence(part, gate, 1)
    (sums.sum() + states.sum()).backward()

    x.requires_grad_(), gates.requires_grad_()
    all_sums, all_states = rowscan.cumsum(x, 1), rowscan.linear_recurrence(x, gates, 1)
    (all_sums.sum() + all_states.sum()).backward()
    same = all(torch.equal(own, whole[:, begin:end]) for own, whole in (
        (sums, all_sums), (states, all_states), (part.grad, x.grad), (gate.grad, gates.grad)))
    print(f"rank {rank}: {end - begin} of {length} elements, "
          f"{'the bits of one process' if same else 'OTHER BITS than those of one process'}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
