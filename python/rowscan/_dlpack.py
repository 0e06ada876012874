"""_dlpack.py - arrays of any other library, by __cuda_array_interface__ or DLPack, where they lie and never copied

SPDX-License-Identifier: MIT

Elements are scanned as they are: what would have to be converted first is refused. Results are made by the array's own
namespace (the array API standard), or are given as out.

Streams. A scan runs on the stream that __cuda_array_interface__ tells, of out if that is given, else of x; without one
on the legacy default stream, which is where numba and others work by default. Producers that have DLPack make that
stream wait for their own; those whose interface tells another stream are waited for. As nothing tells where the result
of a DLPack producer will be used, the call returns when it is there.
"""
import contextlib
import ctypes
import threading

from . import _core
from ._call import Library
from ._errors import Unsupported
from ._types import FACTORS, KEYS, NAMES, NUMBERS, PREPARE, SCAN

_STANDARD = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8",
             "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
             "bool": "bool"}
_NUMBER_OF = {name: NUMBERS[short] for short, standard in _STANDARD.items() for name in (short, standard)}
_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13  # DLPack's kinds of devices
_LEGACY = 1  # the legacy default stream, in both protocols
_VERSION = (1, 0)  # of DLPack, whose capsules tell what is read-only


class _Type(int):
    """A type of the library in the place of a dtype."""

    def __str__(self):
        return _STANDARD[NAMES[self]]


class _Interface:
    """What a __cuda_array_interface__ said, for _core to look at."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


class _Current(threading.local):
    stream = _LEGACY


_current = _Current()


def _stream(device):
    return 0 if _current.stream == _LEGACY else _current.stream


def _synchronize(stream, device):
    """Waits for a stream. A default stream is one of the current context, which is the device's primary one then."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    driver.cuCtxGetCurrent(ctypes.byref(context))
    borrowed = not context.value
    if borrowed:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        driver.cuCtxPushCurrent_v2(context)
    status = driver.cuStreamSynchronize(ctypes.c_void_p(0 if stream == _LEGACY else stream))
    if borrowed:
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        driver.cuDevicePrimaryCtxRelease_v2(device)
    if status:
        raise RuntimeError(f"cuStreamSynchronize: error {status}")


def _interface(array):
    found = getattr(array, "__cuda_array_interface__", None)
    return found if isinstance(found, dict) else None


def _stream_told(array):
    """The stream that an array's interface tells; None: there is nothing to wait for, or no interface."""
    interface = _interface(array)
    stream = interface.get("stream") if interface else None
    if stream == 0:
        raise ValueError("__cuda_array_interface__ has stream 0, which the protocol forbids as ambiguous")
    return stream


def _capsule(array, what):
    """A capsule that lends the memory of an array until it is gone."""
    kind, index = (int(part) for part in array.__dlpack_device__())
    if kind not in (_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED):
        raise TypeError(f"{what} is on DLPack's device ({kind}, {index}): rowscan scans on CPUs and NVIDIA's GPUs")
    stream = {} if kind in (_CPU, _CUDA_HOST) else {"stream": _current.stream}
    try:
        return array.__dlpack__(max_version=_VERSION, copy=False, **stream)
    except (TypeError, NotImplementedError):  # it is of before version 1.0 of the protocol
        return array.__dlpack__(**stream)


class _View:
    """An array of a library that is not known here, as a protocol shows it."""
    __slots__ = ("array", "held", "dtype", "shape", "ndim", "device", "read_only", "waits")

    def __init__(self, array, what):
        interface = _interface(array)
        self.array = array
        self.waits = interface is None
        if interface is not None:
            if interface.get("mask") is not None:
                raise TypeError(f"{what} has a mask of its own in __cuda_array_interface__: give it as mask")
            self.held = _Interface(interface)
        else:
            self.held = _capsule(array, what)
        seen = _core.look(self.held)
        if seen is None:
            kind = interface["typestr"] if interface else getattr(array, "dtype", "a type")
            raise TypeError(f"{what} is a {type(array).__module__}.{type(array).__qualname__} of {kind}: rowscan takes "
                            "bool, integers of 8 to 64 and floats of 16 to 64 bits, in whole elements")
        number, self.shape, device, self.read_only = seen
        self.dtype, self.ndim = _Type(number), len(self.shape)
        self.device = None if device < 0 else device
        stream = _stream_told(array)
        if stream is not None and stream != _current.stream:
            _synchronize(stream, device)


class _Others(Library):

    def __init__(self):
        super().__init__(None, {number: _Type(number) for number in NUMBERS.values()}, "u64")

    # ---- arrays, which are views from here on

    def array(self, x, what="x"):
        return _View(x, what)

    def dtype(self, dtype):
        name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or getattr(dtype, "name", None)
        found = _NUMBER_OF.get((name or str(dtype)).rpartition(".")[2])
        return _Type(found) if found else dtype

    def device(self, x):
        return "the CPU" if x.device is None else f"GPU {x.device}"

    def rows(self, x, dim):
        if dim is None and x.ndim != 1:
            raise ValueError(f"dim is needed: x has {x.ndim} dimensions")
        if not x.ndim:
            raise ValueError("x has no dimension to scan along")
        return x, self.normalised(dim or 0, x.ndim)

    def cast(self, x, number):
        raise TypeError(f"elements of {x.dtype} would have to be converted to {_Type(number)}: convert them before")

    def promote(self, a, b):
        if is_same_kind(a, b):
            return max(a, b, key=lambda t: _BITS[t])
        return b if a == NUMBERS["bool"] else a if b == NUMBERS["bool"] else self.mixed(a, b)

    def mixed(self, a, b):
        raise TypeError(f"x is {a}, mask or coefficient {b}: which type their product has is for x's library to say, "
                        "convert one")

    def of(self, value, number, like, what):
        if isinstance(value, _View) or hasattr(value, "__dlpack__") or _interface(value) is not None:
            view = value if isinstance(value, _View) else _View(value, what)
            if number is not None and view.dtype != number:
                self.cast(view, number)
            return view
        if number is None or not isinstance(value, (int, float)):
            raise TypeError(f"{what} is a {type(value).__qualname__}, not an array")
        namespace = self.namespace(like, what + " is a number")  # which has to lie somewhere
        return _View(namespace.full((1,) * like.ndim, value, **self.made(namespace, number, like)), what)

    def settled_mask(self, x, kind, mask, mode, what):
        if mode == KEYS:
            self.check_keys(mask.dtype, mask.dtype)
        elif mask.dtype not in FACTORS and mask.dtype != kind:
            raise TypeError(f"{what} is {mask.dtype}, not bool, uint8 or x's {_Type(kind)}: convert it before")
        return self.broadcast(mask, what, x.shape)

    def beginnings(self, keys, dim):
        raise Unsupported(f"keys are {_Type(keys.dtype)}, for which there is no room beside the totals of this scan: "
                          "convert them to int32 before, or to heads")

    def expand(self, x, shape):
        return x  # the library repeats elements where they lie

    def is_array(self, x, what="x"):
        return isinstance(x, _View)

    def checked_out(self, x, s, out, wanted):
        if out is None:
            return None
        view = _View(out, "out") if hasattr(out, "__dlpack__") or _interface(out) is not None else out
        if view is out:
            raise TypeError(f"out is a {type(out).__qualname__}, not an array")
        if view.read_only:
            raise ValueError("out is read-only")
        return super().checked_out(x, s, view, wanted)

    def namespace(self, x, why):
        find = getattr(x.array, "__array_namespace__", None)
        if find is None:
            raise TypeError(f"{why}, and x's {type(x.array).__module__}.{type(x.array).__qualname__} has no "
                            "__array_namespace__ to make an array with: give one")
        return find()

    def made(self, namespace, number, like):
        dtype = getattr(namespace, _STANDARD[NAMES[number]], None)
        if dtype is None:
            raise TypeError(f"{namespace.__name__} has no type {_Type(number)}: give another dtype")
        return {"dtype": dtype, "device": like.array.device}

    def empty(self, shape, number, like):
        namespace = self.namespace(like, "out is not given")
        return _View(namespace.empty(shape, **self.made(namespace, number, like)), "out")

    # ---- the scan

    def scan(self, op, x, dim, flags, mask, mask_mode, init, totals, dtype, acc, out, more=None, params=None,
             second=False, segments=None, segment_mode=0, coefficient=None, names=None, wanted=SCAN):
        told = _stream_told(x if out is None else out)
        with self.stream(_LEGACY if told is None else told):
            s = self.settle(op, x, dim, flags, mask, mask_mode, init, totals, dtype, acc, out, more, params, second,
                            segments, segment_mode, coefficient, names)
            if wanted != SCAN:
                return self.run(s, s.out, None, s.second, wanted)
            y = self.empty(self.out_shape(s.x, s), s.number, s.x) if out is None else s.out
            rows = s.x.shape[:s.dim] + (1,) + s.x.shape[s.dim + 1:]
            sums = self.empty(rows, s.totals, s.x) if s.totals is not None else None
            other = self.empty(s.x.shape, s.second, s.x) if s.second is not None else None
            self.run(s, y, sums, other, wanted)
            if s.x.device is not None and (s.x.waits or y.waits):
                _synchronize(_current.stream, s.x.device)
            y = out if out is not None else y.array
            if sums is not None:
                sums = self.namespace(s.x, "totals are wanted").squeeze(sums.array, axis=s.dim)
            return self.results(y, other if other is None else other.array, sums)

    @contextlib.contextmanager
    def stream(self, stream):
        before, _current.stream = _current.stream, stream
        try:
            yield
        finally:
            _current.stream = before

    def run(self, s, y, sums, second, wanted):
        held = [None if view is None else view.held for view in (s.mask, s.init, sums, y)]
        further = ()
        if s.has_further():
            further = (tuple(view.held for view in s.more), s.params, getattr(second, "held", second),
                       s.segment_mode)
        done = _core.scan_settled(s.x.held, s.dim, s.op, s.flags, s.number, s.acc, s.mask_mode, *held, wanted, *further)
        if done is NotImplemented:
            raise TypeError(self.refusal(s))
        return done

    def refusal(self, s):
        return f"x can't be scanned as it lies in memory: {type(s.x.array).__qualname__} of {s.x.dtype}"

    def prepare(self, s):
        """Of a scan that another library's module has settled."""
        for name in ("x", "mask", "init"):
            array = getattr(s, name)
            setattr(s, name, array if array is None else _View(array, name))
        s.more = tuple(_View(array, f"more[{i}]") for i, array in enumerate(s.more))
        return self.run(s, None, None, s.second, PREPARE)

    def discounted_returns(self, rewards, *rest):
        raise TypeError(f"rewards is a {type(rewards).__module__}.{type(rewards).__qualname__}, not an array of NumPy, "
                        "torch, CuPy or JAX, whose arithmetic this needs: linear_recurrence needs none")

    gae = discounted_returns

    def cumulative(self, op, x, axis, dtype, include_initial):
        if axis is None and not hasattr(x, "ndim"):
            x_ndim = _View(x, "x").ndim
            if x_ndim != 1:
                raise ValueError(f"axis is needed: x has {x_ndim} dimensions")
            axis = 0
        return super().cumulative(op, x, axis, dtype, include_initial)


_BITS = {NUMBERS[name]: int(name[1:] if name != "bf16" else 16) for name in NUMBERS if name != "bool"}


def is_same_kind(a, b):
    """Both signed, both unsigned, or both floating and not of the same width."""
    first = {NAMES[a][0], NAMES[b][0]}
    return a == b or (NUMBERS["bool"] not in (a, b) and len(first) == 1)


library = _Others()
for _kind, _how in ((_Interface, "cuda"), (type(_core.xla_handler(False)), "capsule")):
    _core.add_kind(_kind, _how, False, library.empty, {}, {}, _stream, library.unsigned_sum)
