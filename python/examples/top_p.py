"""top_p.py - nucleus (top-p) sampling: draws from the likeliest tokens that together have probability p

SPDX-License-Identifier: MIT

The search in a cumulative distribution relies on sums that never step down. Sums of a tree of float32 roundings may, by
a unit in the last place; accumulated in float64 they do not.
"""
import torch

import rowscan


def top_p(logits, p, generator=None):
    """Token numbers, one a row of logits [rows, tokens]: each is among the fewest that reach probability p."""
    probabilities, tokens = logits.softmax(-1).sort(-1, descending=True)
    before = rowscan.cumsum(probabilities, -1, exclusive=True, acc="f64")  # of all likelier tokens
    cdf, kept = rowscan.cumsum(probabilities, -1, mask=before < p, acc="f64", totals=True)
    drawn = torch.rand(len(logits), 1, device=logits.device, generator=generator, dtype=kept.dtype) * kept[:, None]
    place = torch.searchsorted(cdf, drawn.to(cdf.dtype), right=True)
    last = (before < p).sum(-1, keepdim=True) - 1  # a number drawn may round up to the whole sum
    return tokens.gather(-1, place.minimum(last)).squeeze(-1)
