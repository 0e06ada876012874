"""kernelbench_92_cumsum_exclusive.py - a drop-in for KernelBench's level 1, problem 92: exclusive cumulative sums

SPDX-License-Identifier: MIT

The problem's model puts zeros before x along dim, then drops the last entry of dimension 0, whichever dim is. Along
dimension 0 that is an exclusive scan. Along any other, rows keep all of their sums, one more than x has elements, and
the last of dimension 0 goes.
"""
import torch

import rowscan


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        if self.dim in (0, -x.dim()):
            return rowscan.cumsum(x, 0, exclusive=True)
        return rowscan.cumulative_sum(x[:-1], axis=self.dim, include_initial=True)
