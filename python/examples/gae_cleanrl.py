"""gae_cleanrl.py - a drop-in for the loop over steps in CleanRL's ppo.py: advantages and returns

SPDX-License-Identifier: MIT

It replaces the loop that begins with `lastgaelam = 0`, and the line after it (github.com/vwxyzjn/cleanrl):

    advantages, returns = gae(rewards, values, dones, next_value, next_done, args.gamma, args.gae_lambda)
"""
import torch

import rowscan


def gae(rewards, values, dones, next_value, next_done, gamma, gae_lambda):
    """Advantages and returns. rewards, values, dones are [steps, envs]; next_value and next_done are [envs].

    dones[t] says that the observation of step t begins an episode, so that step t-1 ended one.
    """
    ended = torch.cat((dones[1:], next_done.reshape(1, -1)))
    values = torch.cat((values, next_value.reshape(1, -1)))
    return rowscan.gae(rewards, values, gamma, gae_lambda, done=ended, dim=0)
