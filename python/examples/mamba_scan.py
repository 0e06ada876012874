"""mamba_scan.py - Mamba's selective scan: mamba_ssm's selective_scan_fn by one linear recurrence for each state

SPDX-License-Identifier: MIT

The arguments are those of github.com/state-spaces/mamba, with a real A, and B and C that vary over time and have no
groups. It runs on the CPU, too, and needs no extension to be built. It is not a fused kernel: each state is written to
memory, and all of them are kept if a gradient is required.
"""
import torch
from torch.nn import functional

import rowscan


def selective_scan_fn(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False,
                      return_last_state=False):
    """h[t] = exp(delta[t] * A) * h[t-1] + delta[t] * B[t] * u[t], y[t] = the sum of C[t] * h[t] over states.

    u, delta, z are [batch, dim, length]; A is [dim, states]; B, C are [batch, states, length]; D, delta_bias are [dim].
    All is computed in A's type, and y is rounded to u's. The last states are [batch, dim, states].
    """
    delta, y, last = delta.to(A.dtype), 0, []
    if delta_bias is not None:
        delta = delta + delta_bias[:, None]
    if delta_softplus:
        delta = functional.softplus(delta)
    for n in range(A.shape[1]):
        h = rowscan.linear_recurrence(delta * B[:, n, None] * u, torch.exp(delta * A[:, n, None]), -1)
        y = y + C[:, n, None] * h
        last.append(h[..., -1])
    if D is not None:
        y = y + D[:, None] * u
    if z is not None:
        y = y * functional.silu(z)
    y = y.to(u.dtype)
    return (y, torch.stack(last, -1)) if return_last_state else y
