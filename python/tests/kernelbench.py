"""kernelbench.py - KernelBench's level 1 problems 89 to 93: models with their semantics, their inputs, our drop-ins

SPDX-License-Identifier: MIT

The models are written for these tests, from what the problems compute, with torch alone.
"""
import importlib.util
from pathlib import Path
from typing import NamedTuple

import torch

EXAMPLES = Path(__file__).parents[1] / "examples"
SIZE = 32768  # of the problems: x is SIZE x SIZE float32, scanned along dimension 1


class Model(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim


class Sums(Model):
    def forward(self, x):
        return torch.cumsum(x, self.dim)


class Products(Model):
    def forward(self, x):
        return torch.cumprod(x, self.dim)


class FromTheEnd(Model):
    def forward(self, x):
        return x.flip(self.dim).cumsum(self.dim).flip(self.dim)


class Exclusive(Model):
    """Zeros before x along dim, and the last of these elements dropped: the model since December 2025."""

    def forward(self, x):
        zeros = torch.zeros_like(x.narrow(self.dim, 0, 1))
        return torch.cat((zeros, x.narrow(self.dim, 0, x.shape[self.dim] - 1)), self.dim).cumsum(self.dim)


class Masked(Model):
    def forward(self, x, mask):
        return (x * mask).cumsum(self.dim)


class Problem(NamedTuple):
    name: str
    model: type
    masked: bool = False

    def drop_in(self):
        """The class ModelNew of the example."""
        spec = importlib.util.spec_from_file_location(self.name, EXAMPLES / f"{self.name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.ModelNew

    def inputs(self, *shape, device="cpu"):
        """As the problems have them: random numbers from 0 to 1, and a mask that is True for half of them."""
        x = torch.rand(shape, device=device)
        return [x, torch.randint(0, 2, shape, device=device).bool()] if self.masked else [x]


PROBLEMS = [Problem("kernelbench_89_cumsum", Sums), Problem("kernelbench_90_cumprod", Products),
            Problem("kernelbench_91_cumsum_reverse", FromTheEnd),
            Problem("kernelbench_92_cumsum_exclusive", Exclusive),
            Problem("kernelbench_93_masked_cumsum", Masked, masked=True)]
