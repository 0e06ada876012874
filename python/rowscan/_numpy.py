"""_numpy.py - NumPy's arrays, on the CPU

SPDX-License-Identifier: MIT
"""
import numpy as np

from . import _core
from ._call import Library
from ._types import NUMBERS, SCAN

_DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4",
           "u32": "u4", "i64": "i8", "u64": "u8", "bool": "?"}
OUT = 8  # among what follows x in the arguments of scan()
AxisError = getattr(np, "exceptions", np).AxisError


class _NumPy(Library):

    def array(self, x, what="x"):
        return x if type(x) is np.ndarray else self.plain(x, what)

    def plain(self, x, what):
        """The elements of a scalar, or of a subclass that is no more than its elements."""
        kind = type(x)
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"{what} is a masked array: give its data, and the inverse of its mask as mask")
        if isinstance(x, np.matrix):
            raise TypeError(f"{what} is a matrix, whose rows have two dimensions: give numpy.asarray({what})")
        if isinstance(x, np.ndarray):
            if (kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
                    or kind.__array_function__ is not np.ndarray.__array_function__):
                raise TypeError(f"{what} is a {kind.__module__}.{kind.__qualname__}, which has NumPy's functions of "
                                f"its own: give {what}.view(numpy.ndarray) if its elements are all that matters")
            return x.view(np.ndarray)
        return np.asarray(x)

    def number(self, dtype, what):
        if isinstance(dtype, np.dtype) and not dtype.isnative:
            native = repr(dtype.newbyteorder("=").str)
            raise TypeError(f"{what} is {dtype.str}, of another byte order" + (
                f": {what[:-6]}.astype({native}) copies it" if what.endswith(".dtype") else f" than {native}"))
        if dtype not in self.numbers and getattr(dtype, "name", None) == "bfloat16":
            self.add_bfloat16(dtype)
        return super().number(dtype, what)

    def add_bfloat16(self, dtype):
        """NumPy's own types have none; ml_dtypes, which comes with JAX, adds it."""
        self.dtypes[NUMBERS["bf16"]] = dtype
        self.numbers[dtype] = NUMBERS["bf16"]
        self.make_known()

    def make_known(self):
        _core.add_kind(np.ndarray, "numpy", False, np.empty_like,
                       {number: {"dtype": dtype, "order": "C"} for number, dtype in self.dtypes.items()},
                       {**self.numbers, **{dtype.type: number for dtype, number in self.numbers.items()}}, None,
                       self.unsigned_sum)

    def of(self, value, number, like, what):
        return super().of(value if type(value) is np.ndarray or not isinstance(value, (np.ndarray, np.generic))
                          else self.plain(value, what), number, like, what)

    def dim_error(self, dim, rank):
        return AxisError(f"axis {dim} is out of bounds for array of dimension {rank}")

    def beside(self, array, what, x):
        if what != "out":
            return array
        if not array.flags.writeable:
            raise ValueError("out is read-only")
        return self.array(array, "out")

    def scan(self, op, x, *rest, wanted=SCAN):
        result = super().scan(op, x, *rest, wanted=wanted)
        out = rest[OUT]
        if wanted != SCAN or (type(x) is np.ndarray and (out is None or type(out) is np.ndarray)):
            return result
        y, *others = result if isinstance(result, tuple) else (result,)
        y = out if out is not None else self.wrapped(y, x)
        return (y, *(self.wrapped(array, x) for array in others)) if others else y

    def wrapped(self, y, x):
        """A result in the type that NumPy's own functions give it, for x of a subclass."""
        return x.__array_wrap__(y) if isinstance(x, np.ndarray) and type(x) is not np.ndarray else y

    def lies(self, array, name):
        copied = "" if name == "out" else f", those of {name}.copy() are"
        return f"strides {array.strides} are no multiples of {array.itemsize} bytes{copied}"


library = _NumPy(np, {NUMBERS[name]: np.dtype(dtype) for name, dtype in _DTYPES.items()}, "u64")
library.make_known()
