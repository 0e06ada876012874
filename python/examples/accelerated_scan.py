"""accelerated_scan.py - a drop-in for accelerated-scan's scan(gates, tokens), with its gradients

SPDX-License-Identifier: MIT

It replaces `scan` of accelerated_scan.warp, .triton and .ref (github.com/proger/accelerated-scan). Tensors may have any
length and any strides, and may be on the CPU.
"""
import rowscan


def scan(gates, tokens, *, reverse=False):
    """y[t] = gates[t] * y[t-1] + tokens[t], in tensors [batch, channels, length]; reverse: y[t+1] instead of y[t-1]."""
    return rowscan.linear_recurrence(tokens, gates, -1, reverse=reverse)
