# __init__.pyi - the types of rowscan's functions, for type checkers and editors
# SPDX-License-Identifier: MIT
#
# NumPy is the one library that is imported here: its arrays carry the type of their elements, which integer sums
# change. Arrays of all others give arrays of their own type. Where NumPy is missing, results are Any.
from collections.abc import Sequence
from typing import Any, Literal, NewType, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import cache as cache
from . import torch as torch

__all__ = ["scan", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_recurrence", "cumulative_sum",
           "cumulative_prod", "discounted_returns", "gae", "create_op", "prepare", "spec", "warm", "devices", "archs",
           "set_threads", "cache", "Error", "BadArgument", "CacheFailed", "CommFailed", "CompileFailed", "CudaFailed",
           "NoCompiler", "NoDevice", "NoDriver", "NotCached", "OutOfMemory", "Unsupported"]

__version__: str
library_version: str

class Error(Exception): ...
class BadArgument(Error, ValueError): ...
class Unsupported(Error, NotImplementedError): ...
class OutOfMemory(Error, MemoryError): ...
class NoDriver(Error, OSError): ...
class NoDevice(Error, OSError): ...
class NoCompiler(Error, OSError): ...
class CompileFailed(Error, RuntimeError): ...
class CudaFailed(Error, RuntimeError): ...
class CacheFailed(Error, OSError): ...
class NotCached(Error, RuntimeError): ...
class CommFailed(Error, ConnectionError): ...

class _WithDLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

class _OnCuda(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _Device(TypedDict):
    device: int
    name: str
    arch: str
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    peak_gbs: float

_Array = TypeVar("_Array", bound=_WithDLPack | _OnCuda)
_Floating = TypeVar("_Floating", bound=np.floating[Any])
_Values: TypeAlias = _WithDLPack | _OnCuda | float | Sequence[float]  # a bool is an int, and that a float
_Dim: TypeAlias = SupportsIndex | None
_OwnOp = NewType("_OwnOp", str)  # of an operator that create_op() made
_Op: TypeAlias = Literal["sum", "prod", "max", "min", "and", "or", "xor", "linear_recurrence", "logsumexp",
                         "extended_prod", "argmax", "argmin", "gae", "weighted_recurrence", "decayed_sum",
                         "sum_gradient", "extremum_gradient", "logsumexp_gradient"] | _OwnOp
_Mode: TypeAlias = Literal["select", "multiply"]
_Ties: TypeAlias = Literal["last", "first"]
_More: TypeAlias = Sequence[_Values]
_Params: TypeAlias = Sequence[float]
_DType: TypeAlias = Any  # of x's library

@overload
def scan(x: NDArray[_Floating], dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None,
         axis: _Dim = None, reverse: bool = False, exclusive: bool = False, omit_nan: bool = False,
         mask: _Values | None = None, mask_mode: _Mode | None = None, heads: _Values | None = None,
         tails: _Values | None = None, keys: _Values | None = None, init: _Values | None = None,
         totals: Literal[False] = False, dtype: None = None, acc: _DType = None, out: None = None,
         ties: _Ties = "last",
         more: _More | None = None, params: _Params | None = None,
         second: Literal[False] = False) -> NDArray[_Floating]: ...
@overload
def scan(x: NDArray[Any], dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None,
         acc: _DType = None, out: NDArray[Any] | None = None, ties: _Ties = "last",
         more: _More | None = None, params: _Params | None = None,
         second: Literal[False] = False) -> NDArray[Any]: ...
@overload
def scan(x: NDArray[Any], dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[True], dtype: _DType = None,
         acc: _DType = None, out: NDArray[Any] | None = None,
         ties: _Ties = "last",
         more: _More | None = None, params: _Params | None = None,
         second: Literal[False] = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def scan(x: _Array, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None,
         acc: _DType = None, out: _Array | None = None, ties: _Ties = "last",
         more: _More | None = None, params: _Params | None = None,
         second: Literal[False] = False) -> _Array: ...
@overload
def scan(x: _Array, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[True], dtype: _DType = None,
         acc: _DType = None, out: _Array | None = None, ties: _Ties = "last",
         more: _More | None = None, params: _Params | None = None,
         second: Literal[False] = False) -> tuple[_Array, _Array]: ...
@overload
def scan(x: _Array, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: bool, dtype: _DType = None,
         acc: _DType = None, out: _Array | None = None, ties: _Ties = "last",
         more: _More | None = None, params: _Params | None = None,
         second: Literal[False] = False) -> Any: ...
@overload
def scan(x: NDArray[Any], dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None,
         acc: _DType = None, out: NDArray[Any] | None = None, ties: _Ties = "last", more: _More | None = None,
         params: _Params | None = None, second: Literal[True]) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def scan(x: NDArray[Any], dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[True], dtype: _DType = None,
         acc: _DType = None, out: NDArray[Any] | None = None, ties: _Ties = "last", more: _More | None = None,
         params: _Params | None = None, second: Literal[True]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
@overload
def scan(x: _Array, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None,
         acc: _DType = None, out: _Array | None = None, ties: _Ties = "last", more: _More | None = None,
         params: _Params | None = None, second: Literal[True]) -> tuple[_Array, _Array]: ...
@overload
def scan(x: _Array, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: Literal[True], dtype: _DType = None,
         acc: _DType = None, out: _Array | None = None, ties: _Ties = "last", more: _More | None = None,
         params: _Params | None = None, second: Literal[True]) -> tuple[_Array, _Array, _Array]: ...
@overload
def scan(x: _Array, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None, axis: _Dim = None,
         reverse: bool = False, exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None,
         mask_mode: _Mode | None = None, heads: _Values | None = None, tails: _Values | None = None,
         keys: _Values | None = None, init: _Values | None = None, totals: bool = False, dtype: _DType = None,
         acc: _DType = None, out: _Array | None = None, ties: _Ties = "last", more: _More | None = None,
         params: _Params | None = None, second: bool) -> Any: ...

@overload
def cumsum(x: NDArray[_Floating], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False,
           exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[False] = False, dtype: None = None, acc: _DType = None,
           out: None = None) -> NDArray[_Floating]: ...
@overload
def cumsum(x: NDArray[Any], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None,
           out: NDArray[Any] | None = None) -> NDArray[Any]: ...
@overload
def cumsum(x: NDArray[Any], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[True], dtype: _DType = None, acc: _DType = None,
           out: NDArray[Any] | None = None) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def cumsum(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None,
           out: _Array | None = None) -> _Array: ...
@overload
def cumsum(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[True], dtype: _DType = None, acc: _DType = None,
           out: _Array | None = None) -> tuple[_Array, _Array]: ...
@overload
def cumsum(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: bool, dtype: _DType = None, acc: _DType = None,
           out: _Array | None = None) -> Any: ...

cumprod = cumsum
logcumsumexp = cumsum

@overload
def cummax(x: NDArray[_Floating], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False,
           exclusive: bool = False, omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[False] = False, dtype: None = None, acc: _DType = None,
           out: None = None, indices: Literal[False] = False, ties: Literal["last"] = "last") -> NDArray[_Floating]: ...
@overload
def cummax(x: NDArray[Any], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None,
           out: NDArray[Any] | None = None, indices: Literal[False] = False,
           ties: Literal["last"] = "last") -> NDArray[Any]: ...
@overload
def cummax(x: NDArray[Any], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None, init: None = None,
           totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None, out: None = None,
           indices: Literal[True], ties: _Ties = "last") -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def cummax(x: NDArray[Any], dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[True], dtype: _DType = None, acc: _DType = None,
           out: NDArray[Any] | None = None, indices: Literal[False] = False,
           ties: Literal["last"] = "last") -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def cummax(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None,
           out: _Array | None = None, indices: Literal[False] = False, ties: Literal["last"] = "last") -> _Array: ...
@overload
def cummax(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None, init: None = None,
           totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None, out: None = None,
           indices: Literal[True], ties: _Ties = "last") -> tuple[_Array, _Array]: ...
@overload
def cummax(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: Literal[True], dtype: _DType = None, acc: _DType = None,
           out: _Array | None = None, indices: Literal[False] = False,
           ties: Literal["last"] = "last") -> tuple[_Array, _Array]: ...
@overload
def cummax(x: _Array, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False, exclusive: bool = False,
           omit_nan: bool = False, mask: _Values | None = None, mask_mode: _Mode | None = None,
           heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
           init: _Values | None = None, totals: bool, dtype: _DType = None, acc: _DType = None,
           out: _Array | None = None, indices: Literal[False] = False, ties: Literal["last"] = "last") -> Any: ...

cummin = cummax

@overload
def linear_recurrence(x: NDArray[_Floating], coefficient: float, dim: _Dim = None, *, axis: _Dim = None,
                      reverse: bool = False, exclusive: bool = False, omit_nan: bool = False,
                      mask: _Values | None = None, mask_mode: Literal["select"] | None = None,
                      heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
                      init: _Values | None = None, totals: Literal[False] = False, dtype: None = None,
                      acc: _DType = None, out: None = None) -> NDArray[_Floating]: ...
@overload
def linear_recurrence(x: NDArray[Any], coefficient: _Values, dim: _Dim = None, *, axis: _Dim = None,
                      reverse: bool = False, exclusive: bool = False, omit_nan: bool = False,
                      mask: _Values | None = None, mask_mode: Literal["select"] | None = None,
                      heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
                      init: _Values | None = None, totals: Literal[False] = False, dtype: _DType = None,
                      acc: _DType = None, out: NDArray[Any] | None = None) -> NDArray[Any]: ...
@overload
def linear_recurrence(x: NDArray[Any], coefficient: _Values, dim: _Dim = None, *, axis: _Dim = None,
                      reverse: bool = False, exclusive: bool = False, omit_nan: bool = False,
                      mask: _Values | None = None, mask_mode: Literal["select"] | None = None,
                      heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
                      init: _Values | None = None, totals: Literal[True], dtype: _DType = None, acc: _DType = None,
                      out: NDArray[Any] | None = None) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def linear_recurrence(x: _Array, coefficient: _Values, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False,
                      exclusive: bool = False, omit_nan: bool = False,
                      mask: _Values | None = None, mask_mode: Literal["select"] | None = None,
                      heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
                      init: _Values | None = None,
                      totals: Literal[False] = False, dtype: _DType = None, acc: _DType = None,
                      out: _Array | None = None) -> _Array: ...
@overload
def linear_recurrence(x: _Array, coefficient: _Values, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False,
                      exclusive: bool = False, omit_nan: bool = False,
                      mask: _Values | None = None, mask_mode: Literal["select"] | None = None,
                      heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
                      init: _Values | None = None,
                      totals: Literal[True], dtype: _DType = None, acc: _DType = None,
                      out: _Array | None = None) -> tuple[_Array, _Array]: ...
@overload
def linear_recurrence(x: _Array, coefficient: _Values, dim: _Dim = None, *, axis: _Dim = None, reverse: bool = False,
                      exclusive: bool = False, omit_nan: bool = False,
                      mask: _Values | None = None, mask_mode: Literal["select"] | None = None,
                      heads: _Values | None = None, tails: _Values | None = None, keys: _Values | None = None,
                      init: _Values | None = None, totals: bool,
                      dtype: _DType = None, acc: _DType = None, out: _Array | None = None) -> Any: ...

@overload
def cumulative_sum(x: NDArray[_Floating], /, *, axis: _Dim = None, dtype: None = None,
                   include_initial: bool = False) -> NDArray[_Floating]: ...
@overload
def cumulative_sum(x: NDArray[Any], /, *, axis: _Dim = None, dtype: _DType = None,
                   include_initial: bool = False) -> NDArray[Any]: ...
@overload
def cumulative_sum(x: _Array, /, *, axis: _Dim = None, dtype: _DType = None,
                   include_initial: bool = False) -> _Array: ...

cumulative_prod = cumulative_sum

@overload
def discounted_returns(rewards: NDArray[_Floating], gamma: float, done: _Values | None = None, dim: _Dim = None, *,
                       axis: _Dim = None, init: _Values | None = None, acc: _DType = None) -> NDArray[_Floating]: ...
@overload
def discounted_returns(rewards: NDArray[Any], gamma: _Values, done: _Values | None = None, dim: _Dim = None, *,
                       axis: _Dim = None, init: _Values | None = None, acc: _DType = None) -> NDArray[Any]: ...
@overload
def discounted_returns(rewards: _Array, gamma: _Values, done: _Values | None = None, dim: _Dim = None, *,
                       axis: _Dim = None, init: _Values | None = None, acc: _DType = None) -> _Array: ...

@overload
def gae(rewards: NDArray[Any], values: _Values, gamma: _Values, lam: _Values,
        next_values: _Values | Literal["next_step"] | None = None, terminated: _Values | None = None,
        done: _Values | None = None, dim: _Dim = None, *, axis: _Dim = None, truncated: _Values | None = None,
        mask: _Values | None = None, acc: _DType = None) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def gae(rewards: _Array, values: _Values, gamma: _Values, lam: _Values,
        next_values: _Values | Literal["next_step"] | None = None, terminated: _Values | None = None,
        done: _Values | None = None, dim: _Dim = None, *, axis: _Dim = None, truncated: _Values | None = None,
        mask: _Values | None = None, acc: _DType = None) -> tuple[_Array, _Array]: ...

def create_op(source: str) -> _OwnOp: ...
def prepare(x: _WithDLPack | _OnCuda, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None,
            axis: _Dim = None, reverse: bool = False, exclusive: bool = False, omit_nan: bool = False,
            mask: _Values | None = None, mask_mode: _Mode | None = None, heads: _Values | None = None,
            tails: _Values | None = None, keys: _Values | None = None, init: _Values | None = None,
            totals: bool = False, dtype: _DType = None, acc: _DType = None, out: _WithDLPack | _OnCuda | None = None,
            ties: _Ties = "last", more: _More | None = None, params: _Params | None = None,
            second: bool = False) -> None: ...
def spec(x: _WithDLPack | _OnCuda, dim: _Dim = None, op: _Op = "sum", *, coefficient: _Values | None = None,
         axis: _Dim = None, reverse: bool = False, exclusive: bool = False, omit_nan: bool = False,
         mask: _Values | None = None, mask_mode: _Mode | None = None, heads: _Values | None = None,
         tails: _Values | None = None, keys: _Values | None = None, init: _Values | None = None, totals: bool = False,
         dtype: _DType = None, acc: _DType = None, out: _WithDLPack | _OnCuda | None = None,
         ties: _Ties = "last", more: _More | None = None, params: _Params | None = None,
         second: bool = False) -> str: ...
def warm(specs: Sequence[str], archs: Sequence[str] | None = None, *, threads: int = 0) -> tuple[int, int]: ...
def devices() -> list[_Device]: ...
def archs() -> list[str]: ...
def set_threads(count: int, /) -> None: ...
