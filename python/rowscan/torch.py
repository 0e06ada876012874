"""torch.py - rowscan.torch: rowscan in the place of torch's own cumsum and cumprod

SPDX-License-Identifier: MIT
"""
from ._torch import install, patched

__all__ = ["install", "patched"]
