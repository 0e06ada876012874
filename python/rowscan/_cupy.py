"""_cupy.py - CuPy's arrays: on their own GPU, in its current stream, with memory of its pool

SPDX-License-Identifier: MIT
"""
import cupy as cp
import numpy as np

from . import _core
from ._call import Library
from ._numpy import AxisError, library as numpy
from ._types import SCAN


def _stream(device):
    return cp.cuda.get_current_stream(device).ptr


def _empty_like(x, **options):
    """CuPy allocates on the current device, which need not be x's."""
    with x.device:
        return cp.empty_like(x, **options)


class _CuPy(Library):

    def array(self, x, what="x"):
        if type(x) is not cp.ndarray:
            raise TypeError(f"{what} is a {type(x).__module__}.{type(x).__qualname__}, not a cupy.ndarray")
        return x

    def dtype(self, dtype):
        return np.dtype(dtype)

    def promote(self, a, b):
        return np.promote_types(a, b)

    def device(self, x):
        return f"GPU {x.device.id}"

    def dim_error(self, dim, rank):
        return AxisError(f"axis {dim} is out of bounds for array of dimension {rank}")

    def of(self, value, number, like, what):
        if isinstance(value, np.ndarray):
            raise TypeError(f"{what} is a numpy.ndarray beside an array of CuPy: cupy.asarray() copies it")
        return super().of(value, number, like, what)

    def beside(self, array, what, x):
        if type(array) is not cp.ndarray:
            raise TypeError(f"{what} is a {type(array).__module__}.{type(array).__qualname__}, not a cupy.ndarray")
        return super().beside(array, what, x)

    def scan(self, op, x, *rest, wanted=SCAN):
        with self.array(x).device:
            return super().scan(op, x, *rest, wanted=wanted)

    def discounted_returns(self, rewards, *rest):
        with self.array(rewards, "rewards").device:
            return super().discounted_returns(rewards, *rest)

    def gae(self, rewards, *rest):
        with self.array(rewards, "rewards").device:
            return super().gae(rewards, *rest)

    def lies(self, array, name):
        return numpy.lies(array, name)


library = _CuPy(cp, {number: dtype for number, dtype in numpy.dtypes.items() if dtype.kind in "fiub"}, "u64")
_core.add_kind(cp.ndarray, "cuda", False, _empty_like,
               {number: {"dtype": dtype, "order": "C"} for number, dtype in library.dtypes.items()},
               {**library.numbers, **{dtype.type: number for dtype, number in library.numbers.items()}}, _stream,
               library.unsigned_sum)
