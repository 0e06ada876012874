"""_numpy.py - NumPy's arrays, on the CPU

SPDX-License-Identifier: MIT
"""
import numpy as np

from . import _core
from ._call import Library
from ._types import NUMBERS

_DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4",
           "u32": "u4", "i64": "i8", "u64": "u8", "bool": "?"}
AxisError = getattr(np, "exceptions", np).AxisError


class _NumPy(Library):

    def array(self, x):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError("x is a masked array: give x.data, and mask=~x.mask")
        if isinstance(x, np.generic):
            x = np.asarray(x)
        if not x.dtype.isnative:
            raise TypeError(f"x.dtype is {x.dtype.str}, of another byte order: x.astype({x.dtype.newbyteorder('=')!r}) "
                            "copies it")
        return x

    def dim_error(self, dim, rank):
        return AxisError(dim, rank)

    def beside(self, array, what, x):
        if what == "out" and not array.flags.writeable:
            raise ValueError("out is read-only")
        return array

    def refusal(self, s):
        return f"x can't be scanned as it lies in memory: strides {s.x.strides} are no multiples of {s.x.itemsize} bytes"


library = _NumPy(np, {NUMBERS[name]: np.dtype(dtype) for name, dtype in _DTYPES.items()}, "u64")
_core.add_kind(np.ndarray, "numpy", False, np.empty_like,
               {number: {"dtype": dtype, "order": "C"} for number, dtype in library.dtypes.items()},
               {**library.numbers, **{dtype.type: number for dtype, number in library.numbers.items()}}, None,
               library.unsigned_sum)
