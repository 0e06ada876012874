"""kernelbench_89_cumsum.py - a drop-in for KernelBench's level 1, problem 89: cumulative sums along a dimension

SPDX-License-Identifier: MIT
"""
import torch

import rowscan


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return rowscan.cumsum(x, self.dim)
