"""torch.py - rowscan.torch: rowscan in the place of torch's own cumulative functions

SPDX-License-Identifier: MIT
"""
import contextlib
import sys
import threading
import warnings

import torch
from torch._subclasses import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from . import _core, _torch_operators as operators
from ._after import after_import
from ._errors import Unsupported
from ._torch import library
from ._torch_operators import TYPES
from ._types import DEFAULT, INDEX_OF, LOGSUMEXP, OP_NAMES, PROD, SELECT, SUM

__all__ = ["install", "patched"]

_OWN = ("cumsum", SUM), ("cumprod", PROD)
_HELPERS = tuple((f"_cum{OP_NAMES[op]}_helper", op) for op in INDEX_OF)  # all that is in torch.cummax of a device's own


class _Patch:
    """Kernels of aten's for one dispatch key. They stay while somebody wants them."""

    def __init__(self, key):
        self.key, self.wanted, self.own, self.library, self.boxed = key, 0, {}, None, None
        self.keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def enter(self):
        self.wanted += 1
        if self.wanted > 1:
            return
        if not self.own and hasattr(torch.library, "get_kernel"):
            for name, _ in _OWN:
                for form in (name, name + ".out", name + "_"):
                    self.own[form] = torch.library.get_kernel("aten::" + form, self.key)
            for form in ("_logcumsumexp", "_logcumsumexp.out"):
                self.own[form] = torch.library.get_kernel("aten::" + form, self.key)
        self.library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():  # torch warns once in a process that a kernel is overridden
            warnings.simplefilter("ignore")
            for name, op in _OWN:
                self.library.impl(name + "_", _aten_kernel_(op), self.key)
                self.library.impl(name + ".out", _aten_kernel_out(op), self.key)
            for name, op in _HELPERS:
                self.library.impl(name, _aten_helper(op), self.key)
            self.library.impl("_logcumsumexp", _aten_logcumsumexp, self.key)
            self.library.impl("_logcumsumexp.out", _aten_logcumsumexp_out, self.key)
            self.boxed = _core.box(*operators.libraries(), "aten", self.key, {name: name for name, _ in _OWN})
            for name, op in _OWN if self.boxed is None else ():
                self.library.impl(name, _aten_kernel(op), self.key)

    def leave(self):
        self.wanted -= 1
        if self.wanted:
            return
        if self.boxed is not None:
            _core.unbox(self.boxed)
        self.library._destroy()
        self.library = self.boxed = None

    def other(self, name, *args, **kwargs):
        """What torch itself does, for dtypes that rowscan has no type for."""
        if name not in self.own:
            raise Unsupported(f"torch.{name} of {args[0].dtype} is not there while rowscan is in its place")
        return self.own[name].call_boxed(self.keys, *args, **kwargs)


_patches = {}
_patch_lock = threading.Lock()


def _torchs(name, x, *args, **kwargs):
    return _patches[x.device.type.upper()].other(name, x, *args, **kwargs)


def _served(x, dtype):
    return x.dtype in TYPES and (dtype is None or dtype in TYPES)


def _aten_kernel(op):
    name = _OWN[op][0]

    def kernel(x, dim, *, dtype=None):
        if not _served(x, dtype):
            return _torchs(name, x, dim, dtype=dtype)
        return _alone_of(op, x, dim, dtype)
    return kernel


def _alone_of(op, x, dim, dtype):
    s = library.settle(op, x, dim, 0, None, SELECT, None, False, dtype, None, None)
    return operators.op_scan_alone(s.x, s.dim, op, 0, s.number)


def _into_of(op, x, dim, out):
    s = library.settle(op, x, dim, 0, None, SELECT, None, False, out.dtype, None, out)
    operators.run(s.x, s.dim, op, 0, s.number, DEFAULT, 0, None, None, None, out)
    return out


def _aten_kernel_(op):
    name = _OWN[op][0] + "_"

    def kernel(x, dim, *, dtype=None):
        if not _served(x, dtype):
            return _torchs(name, x, dim, dtype=dtype)
        if dtype is not None and dtype != x.dtype:
            raise RuntimeError(f"Bad in-place call: input tensor dtype {x.dtype} and output tensor dtype {dtype} "
                               "should match")
        return _into_of(op, x, dim, x)
    return kernel


def _aten_kernel_out(op):
    name = _OWN[op][0] + ".out"

    def kernel(x, dim, *, dtype=None, out):
        if not _served(x, dtype) or not _served(out, None):
            return _torchs(name, x, dim, dtype=dtype, out=out)
        if dtype is not None and dtype != out.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {dtype}, but got {out.dtype} instead")
        if out.shape != x.shape:
            out.resize_(x.shape)
        return _into_of(op, x, dim, out)
    return kernel


def _aten_helper(op):
    def kernel(x, values, indices, dim):
        _into_of(INDEX_OF[op], x, dim, indices)  # first, for values may be x itself
        _into_of(op, x, dim, values)
    return kernel


def _aten_logcumsumexp(x, dim):
    if not x.is_floating_point() or not _served(x, None):
        return _torchs("_logcumsumexp", x, dim)
    return _alone_of(LOGSUMEXP, x, dim, None)


def _aten_logcumsumexp_out(x, dim, *, out):
    if not x.is_floating_point() or not _served(x, out.dtype):
        return _torchs("_logcumsumexp.out", x, dim, out=out)
    if out.shape != x.shape:
        out.resize_(x.shape)
    return _into_of(LOGSUMEXP, x, dim, out)


def _other(op):
    def function(x, dim, dtype):
        if _served(x, dtype):  # floating elements to integers: these are converted first
            return _alone_of(op, x, dim, dtype)
        return _torchs(_OWN[op][0], x, dim, dtype=dtype)
    return function


# What kernels in C leave to Python: see core/boxed.c.
_library = torch.library.Library("rowscan", "FRAGMENT")
for _name, _op in _OWN:
    _library.define(f"other_{_name}(Tensor x, int dim, ScalarType? dtype) -> Tensor")
    for _key in ("CPU", "CUDA"):
        _library.impl("other_" + _name, _other(_op), _key)


# ---- DTensor ---------------------------------------------------------------------------------------------------------

# torch's dispatcher of DTensor gathers what is cut along the scanned dimension, and is behind autograd. So a DTensor is
# met before: while something is patched, its class has this __torch_function__ in the place of the one that is off.

_NAMES = "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"
_FUNCTIONS = {function: name for name in _NAMES for function in (getattr(torch, name), getattr(torch.Tensor, name))}
_TRACED = FakeTensor, FunctionalTensor  # what lies in a DTensor while torch.compile traces


def _torch_function(cls, function, types, args=(), kwargs=None):
    kwargs = kwargs or {}
    name = None if torch.compiler.is_dynamo_compiling() else _FUNCTIONS.get(function)
    with torch._C.DisableTorchFunctionSubclass():
        y = NotImplemented if name is None else _of_dtensor(name, *args, **kwargs)
        return function(*args, **kwargs) if y is NotImplemented else y


def _of_dtensor(name, input=None, dim=None, *, axis=None, dtype=None, **others):
    """torch.cumsum and the others of a DTensor; NotImplemented: torch has what becomes of them."""
    from . import distributed
    dim = axis if dim is None else dim
    if others or not isinstance(input, _dtensor()) or type(dim) is not int or not -input.ndim <= dim < input.ndim:
        return NotImplemented
    patch = _patches.get(input.device.type.upper())
    if not patch or not patch.wanted or not _served(input, dtype) or any(p.is_partial() for p in input.placements):
        return NotImplemented
    if name == "logcumsumexp" and not input.is_floating_point() or isinstance(input._local_tensor, _TRACED):
        return NotImplemented
    return distributed._of_torchs(name, getattr(torch, name), input, dim, dtype)


def _dtensor():
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)


def _meet_dtensors():
    """Or no longer, where nothing is patched any more."""
    wanted = any(patch.wanted for patch in _patches.values())
    if _dtensor() is not None:
        _dtensor().__torch_function__ = (classmethod(_torch_function) if wanted else
                                         torch._C._disabled_torch_function_impl)


after_import("torch.distributed.tensor", _meet_dtensors)


def _patches_of(devices):
    for device in devices:
        if device not in ("CPU", "CUDA"):
            raise ValueError(f"device is {device!r}, not 'CPU' or 'CUDA'")
    return [_patches.get(device) or _patches.setdefault(device, _Patch(device)) for device in devices]


@contextlib.contextmanager
def patched(*devices):
    """torch.cumsum, cumprod, cummax, cummin and logcumsumexp of all callers are rowscan's while this lasts.

    devices    "CUDA" (the default), "CPU", or both

    Methods, in-place and out= forms and callers in C++ are served too, with torch's own gradients. Not served: code
    that inductor makes of them, and dtypes that rowscan has no type for, such as complex ones, which stay torch's
    (where torch.library.get_kernel is not there yet, they are refused). A dim out of range may be a RuntimeError in
    place of an IndexError. Of 0.0 and -0.0 a maximum is 0.0 and a minimum -0.0, and so is what the indices are of;
    torch takes the later one. A DTensor that is sharded along dim is not gathered: rowscan.distributed scans it, on the
    CPU and on GPUs. What is left to torch, which gathers or raises: out= and in-place forms, torch.compile, and
    gradients of all but cumsum. The dispatcher is the process's: other threads see the change too. It may be nested;
    the last to leave brings torch's own kernels back, after an exception too.

    >>> with rowscan.torch.patched("CPU"):
    ...     torch.cumsum(torch.ones(3), 0)
    tensor([1., 2., 3.])
    """
    with _patch_lock:
        patches = _patches_of(devices or ("CUDA",))
        for patch in patches:
            patch.enter()
        _meet_dtensors()
    try:
        yield
    finally:
        with _patch_lock:
            for patch in patches:
                patch.leave()
            _meet_dtensors()


def install(*devices):
    """torch.cumsum and the others are rowscan's from now on: patched() for good."""
    with _patch_lock:
        for patch in _patches_of(devices or ("CUDA",)):
            patch.enter()
        _meet_dtensors()
