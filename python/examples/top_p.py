"""top_p.py - nucleus (top-p) sampling: draws from the likeliest tokens that together have probability p

SPDX-License-Identifier: MIT

The search in a cumulative distribution relies on sums that never step down. Sums of a tree of float32 roundings may, by
a unit in the last place; in fixed point they do not. With acc="fixed:60" totals are whole numbers of 2**-60.
"""
import torch

import rowscan


def top_p(logits, p, generator=None):
    """Token numbers, one a row of logits [rows, tokens]: each is among the fewest that reach probability p.

    p is a number from 0 to 1, or a tensor of them, [rows, 1], which is not checked. The likeliest token is always
    among them; with 0 it is the only one.
    """
    if not isinstance(p, torch.Tensor) and not 0 <= p <= 1:
        raise ValueError(f"p is {p}, not from 0 to 1")
    probabilities, tokens = logits.softmax(-1, dtype=torch.float32).sort(-1, descending=True)
    before = rowscan.cumsum(probabilities, -1, exclusive=True, acc="fixed:60")  # of all likelier tokens
    keep = before < p
    keep[:, 0] = True
    cdf, kept = rowscan.cumsum(probabilities, -1, mask=keep, acc="fixed:60", totals=True)
    drawn = torch.rand(kept.shape, device=logits.device, generator=generator, dtype=torch.float64) * kept * 2.0**-60
    place = torch.searchsorted(cdf, drawn[:, None].to(cdf.dtype), right=True)
    last = keep.sum(-1, keepdim=True) - 1  # a number drawn may round up to the whole sum
    return tokens.gather(-1, place.minimum(last)).squeeze(-1)
