"""ragged.py - a batch of sequences of unequal lengths: positions, and sums of what is left of each sequence

SPDX-License-Identifier: MIT
"""
import torch

import rowscan


def positions(lengths):
    """Where each sequence begins if they lie one after another, and how many elements there are in all."""
    return rowscan.cumsum(lengths, 0, exclusive=True, totals=True)


def rewards_to_go(rewards, lengths):
    """Sums of each step and all later ones of its sequence; rewards is [batch, longest], padded with anything."""
    valid = torch.arange(rewards.shape[1], device=rewards.device) < lengths[:, None]
    return rowscan.cumsum(rewards, 1, reverse=True, mask=valid)  # NaN in the padding does no harm
