"""cupy - a stand-in for CuPy over whatever libcuda.so.1 is there: as much of it as rowscan and its tests use

SPDX-License-Identifier: MIT

It is for the GPU that tests/simt simulates. Arrays live in the driver's memory, streams are the driver's, and what is
no scan is computed by NumPy on a copy, when the current stream is done.
"""
import contextlib
import ctypes
import threading

import numpy as np
from numpy import promote_types  # noqa: F401

_driver = ctypes.CDLL("libcuda.so.1")


def _call(name, *arguments):
    status = getattr(_driver, name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: error {status}")


class _Local(threading.local):
    device = 0

    def __init__(self):
        self.streams = {}


_local = _Local()
_call("cuInit", 0)
_contexts = {}


def _enter(device):
    if device not in _contexts:
        context = ctypes.c_void_p()
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        _contexts[device] = context
    _call("cuCtxSetCurrent", _contexts[device])


class Stream:
    def __init__(self, non_blocking=False):
        _enter(_local.device)
        handle = ctypes.c_void_p()
        _call("cuStreamCreate", ctypes.byref(handle), int(non_blocking))
        self.ptr, self.device, self.before = handle.value, _local.device, []

    def synchronize(self):
        _enter(self.device)
        _call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))

    def __enter__(self):
        self.before.append(_local.streams.get(self.device))
        _local.streams[self.device] = self
        return self

    def __exit__(self, *_):
        _local.streams[self.device] = self.before.pop()

    def begin_capture(self):
        _call("cuStreamBeginCapture_v2", ctypes.c_void_p(self.ptr), 0)

    def end_capture(self):
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuStreamEndCapture", ctypes.c_void_p(self.ptr), ctypes.byref(graph))
        _call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
        return _Graph(executable)


class _Graph:
    def __init__(self, executable):
        self.executable = executable

    def launch(self, stream):
        _call("cuGraphLaunch", self.executable, ctypes.c_void_p(stream.ptr))


class _Null:
    ptr = 0

    def synchronize(self):
        _enter(_local.device)
        _call("cuStreamSynchronize", ctypes.c_void_p(0))


def _current_stream(device=-1):
    return _local.streams.get(_local.device if device < 0 else device) or _Null()


class Device:
    def __init__(self, device):
        self.id, self.before = device, []

    def __enter__(self):
        self.before.append(_local.device)
        _local.device = self.id
        _enter(self.id)
        return self

    def __exit__(self, *_):
        _local.device = self.before.pop()
        _enter(_local.device)


class _Memory:
    def __init__(self, size, device):
        self.device, self.ptr = device, None
        if size:
            pointer = ctypes.c_void_p()
            with Device(device):
                _call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
            self.ptr = pointer.value

    def __del__(self):
        if self.ptr:
            with contextlib.suppress(RuntimeError), Device(self.device):
                _call("cuMemFree_v2", ctypes.c_void_p(self.ptr))


class ndarray:
    __array_priority__ = 100

    def __init__(self, shape, dtype, memory=None, offset=0, strides=None):
        self.dtype = np.dtype(dtype)
        like = np.empty(shape, self.dtype) if strides is None else None
        self.shape = tuple(shape)
        self.strides = like.strides if strides is None else strides
        self.memory = memory or _Memory(like.nbytes, _local.device)
        self.offset = offset
        self.device = Device(self.memory.device)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    itemsize = property(lambda self: self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "strides": self.strides, "version": 3,
                "stream": _current_stream(self.device.id).ptr or 1,
                "data": ((self.memory.ptr or 0) + self.offset if self.memory.ptr else 0, False)}

    def _window(self):
        """All bytes of the memory that the array reaches, and the array in a copy of them."""
        low = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s < 0)
        high = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s > 0) + self.itemsize
        buffer = np.empty(high - low, np.uint8)
        array = np.ndarray(self.shape, self.dtype, buffer, -low, self.strides)
        return self.memory.ptr + self.offset + low, buffer, array

    def get(self):
        if not self.size:
            return np.empty(self.shape, self.dtype)
        with self.device:
            _current_stream().synchronize()
            address, buffer, array = self._window()
            _call("cuMemcpyDtoH_v2", ctypes.c_void_p(buffer.ctypes.data), ctypes.c_void_p(address),
                  ctypes.c_size_t(buffer.nbytes))
        return array.copy()

    def set(self, values):
        if self.size:
            with self.device:
                _current_stream().synchronize()
                address, buffer, array = self._window()
                data = ctypes.c_void_p(buffer.ctypes.data), ctypes.c_size_t(buffer.nbytes)
                _call("cuMemcpyDtoH_v2", data[0], ctypes.c_void_p(address), data[1])
                array[...] = values
                _call("cuMemcpyHtoD_v2", ctypes.c_void_p(address), *data)

    fill = set

    def _viewed(self, change):
        """A view, by what NumPy makes of an array that lies alike."""
        base = np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides)
        view = change(base)
        return ndarray(view.shape, self.dtype, self.memory, self.offset + view.ctypes.data - base.ctypes.data,
                       view.strides)

    def __getitem__(self, key):
        return self._viewed(lambda a: a[key])

    def transpose(self, *axes):
        return self._viewed(lambda a: a.transpose(*axes))

    T = property(transpose)

    def reshape(self, *shape):
        if self.strides == np.empty(self.shape, self.dtype).strides:
            return self._viewed(lambda a: a.reshape(*shape))
        return asarray(self.get().reshape(*shape))

    def astype(self, dtype):
        return asarray(self.get().astype(dtype))

    def __ne__(self, other):
        return asarray(self.get() != (other.get() if isinstance(other, ndarray) else other))

    def __gt__(self, other):
        return asarray(self.get() > other)

    def __add__(self, other):
        return asarray(self.get() + other.get())

    def __sub__(self, other):
        return asarray(self.get() - other.get())

    def __and__(self, other):
        return asarray(self.get() & other.get())

    def __or__(self, other):
        return asarray(self.get() | other.get())

    def __invert__(self):
        return asarray(~self.get())

    def __rmul__(self, number):
        return asarray(number * self.get())


def empty(shape, dtype=float):
    return ndarray((shape,) if isinstance(shape, int) else shape, dtype)


def empty_like(x, dtype=None, order="K"):
    return ndarray(x.shape, dtype or x.dtype)


def asarray(values, dtype=None):
    if isinstance(values, ndarray):
        return values if dtype is None or dtype == values.dtype else values.astype(dtype)  # f8 == None
    if hasattr(values, "__cuda_array_interface__"):
        raise NotImplementedError
    values = np.asarray(values, dtype)
    x = ndarray(values.shape, values.dtype)
    x.set(values)
    return x


def arange(count):
    return asarray(np.arange(count))


def roll(x, shift, axis):
    return asarray(np.roll(x.get(), shift, axis))


def full(shape, value, dtype=None):
    return asarray(np.full(shape, value, dtype))


def where(condition, a, b):
    return asarray(np.where(condition.get(), a, b.get()))


def asnumpy(x):
    return x.get()


def broadcast_to(x, shape):
    return x._viewed(lambda a: np.broadcast_to(a, shape))


def squeeze(x, axis):
    return x._viewed(lambda a: np.squeeze(a, axis))


class _Runtime:
    @staticmethod
    def getDevice():
        return _local.device

    @staticmethod
    def getDeviceCount():
        count = ctypes.c_int()
        _call("cuDeviceGetCount", ctypes.byref(count))
        return count.value


class cuda:
    Stream, Device, runtime, get_current_stream = Stream, Device, _Runtime, staticmethod(_current_stream)
