# distributed.pyi - the types of rowscan.distributed
# SPDX-License-Identifier: MIT
from typing import Any, SupportsIndex

__all__ = ["scan", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_recurrence"]

# group: a process group of torch; comm: a communicator of mpi4py. options: those of rowscan's functions, whose results
# may be tuples. Among them, places: where the parts are among all, of which x is then a list, as the results are; and
# axis_name, of an axis of a mesh of JAX.
def cumsum(x: Any, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None, group: Any = None,
           comm: Any = None, **options: Any) -> Any: ...
def cumprod(x: Any, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None, group: Any = None,
            comm: Any = None, **options: Any) -> Any: ...
def cummax(x: Any, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None, group: Any = None,
           comm: Any = None, **options: Any) -> Any: ...
def cummin(x: Any, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None, group: Any = None,
           comm: Any = None, **options: Any) -> Any: ...
def logcumsumexp(x: Any, dim: SupportsIndex | None = None, *, axis: SupportsIndex | None = None, group: Any = None,
                 comm: Any = None, **options: Any) -> Any: ...
def linear_recurrence(x: Any, coefficient: Any, dim: SupportsIndex | None = None, *,
                      axis: SupportsIndex | None = None, group: Any = None, comm: Any = None,
                      **options: Any) -> Any: ...
def scan(x: Any, dim: SupportsIndex | None = None, op: str = "sum", *, axis: SupportsIndex | None = None,
         group: Any = None, comm: Any = None, **options: Any) -> Any: ...
