"""right_torch.py - calls with torch's tensors that type checkers accept, and the types that they find

SPDX-License-Identifier: MIT
"""
import torch
from typing_extensions import assert_type

import rowscan

x = torch.ones(3, 4)

assert_type(rowscan.cumsum(x, 1), torch.Tensor)
assert_type(rowscan.cumprod(x, dim=1, dtype=torch.float64, acc=torch.float64), torch.Tensor)
assert_type(rowscan.cumsum(x, 1, mask=x > 0, init=torch.zeros(3, 1), reverse=True, out=x), torch.Tensor)
assert_type(rowscan.cumsum(x, 1, totals=True), tuple[torch.Tensor, torch.Tensor])
assert_type(rowscan.scan(x > 0, 1, "and", mask=x > 1), torch.Tensor)
assert_type(rowscan.cumsum(x, 1, keys=torch.arange(4)), torch.Tensor)
assert_type(rowscan.discounted_returns(x, 0.9, x > 0, dim=0), torch.Tensor)
assert_type(rowscan.gae(x, x, torch.tensor(0.9), 0.8, x), tuple[torch.Tensor, torch.Tensor])
assert_type(rowscan.gae(x, x, 0.9, 0.8, x, mask=x > 0), tuple[torch.Tensor, torch.Tensor])
assert_type(rowscan.scan(x, 1, "argmin", second=True), tuple[torch.Tensor, torch.Tensor])
assert_type(rowscan.cummax(x, 1, indices=True), tuple[torch.Tensor, torch.Tensor])
assert_type(rowscan.logcumsumexp(x, 1, omit_nan=True), torch.Tensor)
assert_type(rowscan.cummax(x, 1, indices=True, ties="first"), tuple[torch.Tensor, torch.Tensor])
assert_type(rowscan.linear_recurrence(x, x > 0, -1, init=torch.zeros(3, 1)), torch.Tensor)
assert_type(rowscan.cumulative_sum(x, axis=1, include_initial=True), torch.Tensor)
assert_type(rowscan.cumsum(torch.nn.Parameter(x), 1).grad, torch.Tensor | None)
with rowscan.torch.patched("CUDA", "CPU") as nothing:
    assert_type(nothing, None)
rowscan.torch.install()
