"""zigzag.py - context parallelism: a recurrence over a sequence of which each process holds two chunks

SPDX-License-Identifier: MIT

    torchrun --nproc-per-node 2 zigzag.py

Causal attention is balanced when process r of R holds chunks r and 2R-1-r of 2R. Layers of linear attention or of Mamba
beside it get these chunks, too: `places` says which ones they are. The states have the bits of one process.
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
    places = [rank, 2 * ranks - 1 - rank]

    def chunks(t):
        return [t.tensor_split(2 * ranks, dim=1)[place] for place in places]

    parts = [t.clone().requires_grad_() for t in chunks(x)]
    part_gates = [t.clone().requires_grad_() for t in chunks(gates)]
    states = distributed.linear_recurrence(parts, part_gates, 1, places=places)
    sum(part.square().sum() for part in states).backward()

    x.requires_grad_(), gates.requires_grad_()
    all_states = rowscan.linear_recurrence(x, gates, 1)
    all_states.square().sum().backward()
    own = states + [t.grad for t in parts + part_gates]
    whole = chunks(all_states) + chunks(x.grad) + chunks(gates.grad)
    same = all(map(torch.equal, own, whole))
    print(f"rank {rank}: chunks {places} of {2 * ranks}, "
          f"{'the bits of one process' if same else 'OTHER BITS than those of one process'}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
