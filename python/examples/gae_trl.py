"""gae_trl.py - a drop-in for the loop over tokens in TRL's PPO trainer: advantages and returns

SPDX-License-Identifier: MIT

It replaces the loop that begins with `lastgaelam = 0`, up to `returns = advantages + values` (ppo_trainer.py of
github.com/huggingface/trl). Whitening and padding masks stay as they are there:

    advantages, returns = gae(rewards, values, args.gamma, args.lam)
"""
from torch.nn import functional

import rowscan


def gae(rewards, values, gamma, lam):
    """Advantages and returns. rewards and values are [batch, time]; the value after the last token is 0."""
    return rowscan.gae(rewards, functional.pad(values, (0, 1)), gamma, lam, dim=1)
