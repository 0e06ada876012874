"""kernelbench_91_cumsum_reverse.py - a drop-in for KernelBench's level 1, problem 91: sums from the last element on

SPDX-License-Identifier: MIT
"""
import torch

import rowscan


class ModelNew(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return rowscan.cumsum(x, self.dim, reverse=True)
