"""right_numpy.py - calls with NumPy's arrays that type checkers accept, and the types that they find

SPDX-License-Identifier: MIT
"""
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import rowscan

x = np.ones((3, 4), np.float32)
i = np.ones((3, 4), np.int32)
flag = bool(x.size)

assert_type(rowscan.cumsum(x, 1), NDArray[np.float32])
assert_type(rowscan.cumprod(x, axis=-1, reverse=True, exclusive=True), NDArray[np.float32])
assert_type(rowscan.cumsum(x, 1, mask=i, mask_mode="multiply", init=2, acc="f64"), NDArray[np.float32])
assert_type(rowscan.cumsum(x, 1, mask=[True, False, True, True], init=np.zeros((3, 1))), NDArray[np.float32])
assert_type(rowscan.cumsum(x, 1, keys=[0, 0, 1, 1]), NDArray[np.float32])
assert_type(rowscan.cummax(x, 1, heads=x > 0, indices=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.spec(x, 1, tails=i), str)
assert_type(rowscan.cumsum(i, 1), NDArray[Any])
assert_type(rowscan.cumsum(x, 1, dtype=np.float64), NDArray[Any])
assert_type(rowscan.cumsum(x, 1, out=x), NDArray[Any])
assert_type(rowscan.cumsum(x), NDArray[np.float32])
assert_type(rowscan.cumsum(x, np.int64(1), totals=False), NDArray[np.float32])
assert_type(rowscan.cumprod(x, 1, totals=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.cumsum(x, 1, totals=flag), Any)
assert_type(rowscan.logcumsumexp(x, 1), NDArray[np.float32])
assert_type(rowscan.cummax(x, 1), NDArray[np.float32])
assert_type(rowscan.cummin(x, 1, indices=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.cumprod(x, 1, omit_nan=True), NDArray[np.float32])
assert_type(rowscan.cummin(x, 1, indices=True, ties="first"), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.scan(x, 1, "argmax", ties="first", dtype=np.int32), NDArray[Any])
assert_type(rowscan.linear_recurrence(x, 0.5, 1, omit_nan=True, totals=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.linear_recurrence(x, 0.5, 1, init=2), NDArray[np.float32])
assert_type(rowscan.linear_recurrence(x, 0.5, 1, heads=x > 0), NDArray[np.float32])
assert_type(rowscan.linear_recurrence(x, 0.5, 1, mask=x > 0), NDArray[np.float32])
assert_type(rowscan.linear_recurrence(x, x, axis=1, totals=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.discounted_returns(x, 0.9, x > 0, 0), NDArray[np.float32])
assert_type(rowscan.discounted_returns(x, x, init=1), NDArray[Any])
assert_type(rowscan.gae(x, x, 0.9, 0.8, x, done=x > 0), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.gae(x, x, 0.9, 0.8, "next_step", x > 0, axis=0, truncated=x), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.gae(x, x, 0.9, 0.8, mask=x > 0), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.cumsum(x, 1, mask=x > 0, mask_mode=None), NDArray[np.float32])
assert_type(rowscan.scan(x, 1, "linear_recurrence", coefficient=[1, 2, 3, 4]), NDArray[np.float32])
assert_type(rowscan.scan(x, 1, "max"), NDArray[np.float32])
own = rowscan.create_op("// rowscan: op=Own")
assert_type(rowscan.scan(x, 1, own), NDArray[np.float32])
rowscan.prepare(x, 1, own, reverse=True, more=(x, 2), params=(0.5,), second=True)
assert_type(rowscan.scan(x, 1, own, more=(x, x > 0, 1), params=[0.5]), NDArray[np.float32])
assert_type(rowscan.scan(x, 1, "argmax", second=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.scan(x, 1, "gae", more=(x, x, False, False), params=(0.99, 0.95), second=True, totals=True),
            tuple[NDArray[Any], NDArray[Any], NDArray[Any]])
assert_type(rowscan.scan(x > 0, axis=1, op="or", totals=True), tuple[NDArray[Any], NDArray[Any]])
assert_type(rowscan.cumulative_sum(x, axis=1, include_initial=True), NDArray[np.float32])
assert_type(rowscan.cumulative_prod(i, axis=1), NDArray[Any])
rowscan.prepare(x, 1, "prod", out=x)
assert_type(rowscan.spec(i, 1, op="xor"), str)
assert_type(rowscan.warm([rowscan.spec(x, 1, totals=flag)], ["sm_90"], threads=1), tuple[int, int])
assert_type(rowscan.devices()[0]["arch"], str)
assert_type(rowscan.archs(), list[str])
assert_type(rowscan.cache.info()["counts"]["hits"], int)
assert_type(rowscan.cache.export("a.pack", archs=["sm_90"])["entries"], int)
rowscan.set_threads(2)
try:
    rowscan.cumsum(x, 2)
except (rowscan.BadArgument, rowscan.Error) as error:
    assert_type(error, rowscan.BadArgument | rowscan.Error)


class Foreign:
    """An array of a library that rowscan was never told of."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        return x.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class OnCuda:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


assert_type(rowscan.cumsum(Foreign(), 0), Foreign)
assert_type(rowscan.cumsum(OnCuda(), 0, totals=True), tuple[OnCuda, OnCuda])
