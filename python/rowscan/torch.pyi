# torch.pyi - the types of rowscan.torch
# SPDX-License-Identifier: MIT
from contextlib import AbstractContextManager
from typing import Literal, TypeAlias

__all__ = ["install", "patched"]

_Device: TypeAlias = Literal["CUDA", "CPU"]

def patched(*devices: _Device) -> AbstractContextManager[None]: ...
def install(*devices: _Device) -> None: ...
