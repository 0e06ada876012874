"""_torch.py - torch's tensors: the quick way, operators for all that torch does with its own, and gradients

SPDX-License-Identifier: MIT

The quick way in C is for plain tensors of which nothing but the numbers matters, and for the gradient of their sums.
Else one of these is called:

  rowscan::scan, scan_totals    what torch.compile and export see. They are composite: made of the next two, with the
                                gradient of _Scan
  rowscan::_scan, _scan_totals  the scan alone, which compiled code calls: kernels in C where libtorch has what they
                                need (2.8), else in Python
  rowscan::scan_out             the same into given arrays, without a gradient
  _Scan                         autograd.Function: gradients, forward-mode too, and torch.func's transforms
"""
import contextlib
import glob
import os
import threading
import warnings

import torch
from torch._functorch.utils import enable_single_level_autograd_function

from . import _core
from ._after import after_import
from ._call import Library, serve
from ._errors import Unsupported
from ._types import (DEFAULT, INCLUDE_INITIAL, MULTIPLY, NUMBERS, PROD, REVERSE, SCAN, SELECT, SUM, EXCLUSIVE,
                     accumulator, is_floating)

_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8",
          "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
          "bool": "bool"}
_DTYPES = {NUMBERS[name]: getattr(torch, dtype) for name, dtype in _NAMES.items()}
_NUMBERS = {dtype: number for number, dtype in _DTYPES.items()}
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_I64 = NUMBERS["i64"]

_modes = torch._C._len_torch_dispatch_stack
_transform = torch._C._functorch.peek_interpreter_stack
_forward_ad = torch.autograd.forward_ad
_dynamo = torch.compiler.is_dynamo_compiling


# ---- the scan alone --------------------------------------------------------------------------------------------------

_ARGUMENTS = ("Tensor x, int dim, int op=0, int flags=0, int out_type=0, int acc=0, int mask_mode=0, "
              "Tensor? mask=None, Tensor? init=None")
_SCHEMAS = {"_scan": f"({_ARGUMENTS}) -> Tensor",
            "_scan_totals": f"({_ARGUMENTS}, int totals_type=0) -> (Tensor, Tensor)",
            "scan": f"({_ARGUMENTS}) -> Tensor",
            "scan_totals": f"({_ARGUMENTS}, int totals_type=0) -> (Tensor, Tensor)",
            "scan_out": f"({_ARGUMENTS}, *, Tensor(a!) out, Tensor(b!)? totals=None) -> ()",
            "other_cumsum": "(Tensor x, int dim, ScalarType? dtype) -> Tensor",
            "other_cumprod": "(Tensor x, int dim, ScalarType? dtype) -> Tensor"}
_library = torch.library.Library("rowscan", "DEF")
for _name, _schema in _SCHEMAS.items():
    _library.define(_name + _schema, tags=(torch.Tag.pt2_compliant_tag, torch.Tag.flexible_layout))
_op_scan, _op_totals, _op_scan_alone, _op_totals_alone, _op_out = (
    getattr(torch.ops.rowscan, name).default for name in ("scan", "scan_totals", "_scan", "_scan_totals", "scan_out"))


def _rows_shape(x, dim):
    return tuple(1 if d == dim else extent for d, extent in enumerate(x.shape))


def _out_shape(x, dim, flags):
    if not flags & INCLUDE_INITIAL:
        return tuple(x.shape)
    return tuple(extent + 1 if d == dim else extent for d, extent in enumerate(x.shape)) or (2,)


def _front(x, dim):
    """dim, counted from the front; one that is out of range stays so."""
    return dim + max(x.dim(), 1) if dim < 0 else dim


def _out_type(x, out_type):
    kind = _NUMBERS[x.dtype]
    return out_type or (kind if is_floating(kind) else _I64)


def _run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out):
    y = _core.scan(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out, SCAN)
    if y is NotImplemented:
        raise TypeError(f"rowscan can't scan along dim {dim} a {x.dtype} tensor of shape {tuple(x.shape)} and layout "
                        f"{x.layout} on {x.device} with these arguments")
    return y


def _new(x, dim, flags, out_type):
    return torch.empty(_out_shape(x, dim, flags), dtype=_DTYPES[_out_type(x, out_type)], device=x.device)


def _kernel_scan(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None):
    out = _new(x, _front(x, dim), flags, out_type) if flags & INCLUDE_INITIAL else None
    return _run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, None, out)


def _kernel_totals(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None,
                   totals_type=0):
    out = _new(x, _front(x, dim), flags, out_type) if flags & INCLUDE_INITIAL else None
    if totals_type not in _DTYPES:
        raise ValueError(f"totals_type is {totals_type}, the number of no type")
    totals = torch.empty(_rows_shape(x, _front(x, dim)), dtype=_DTYPES[totals_type], device=x.device)
    return _run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out), totals


def _kernel_out(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None, *, out,
                totals=None):
    _run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out)


def _libraries():
    """File names of libtorch as it is loaded, and of its CUDA part where torch has one."""
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    cuda = glob.glob(os.path.join(folder, "libtorch_cuda.so")) if torch.version.cuda else []
    return os.path.join(folder, "libtorch_cpu.so"), cuda[0] if cuda else None


_KERNELS = {"_scan": ("scan", _kernel_scan), "_scan_totals": ("scan_totals", _kernel_totals),
            "scan_out": ("scan_out", _kernel_out)}


def _give_kernels():
    cpu, cuda = _libraries()
    boxed = {name: kernel for name, (kernel, _) in _KERNELS.items()}
    for key in ("CPU", "CUDA"):
        if _core.box(cpu, cuda, "rowscan", key, boxed) is None:
            for name, (_, kernel) in _KERNELS.items():
                _library.impl(name, kernel, key)


_give_kernels()
# The gradient is _Scan's. Without a word of their own these would warn that they have none.
_library.impl("_scan", torch.library.fallthrough_kernel, "Autograd")
_library.impl("_scan_totals", torch.library.fallthrough_kernel, "Autograd")


def _fake_scan(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None):
    return _new(x, _front(x, dim), flags, out_type)


def _fake_totals(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None,
                 totals_type=0):
    dim = _front(x, dim)
    return (_new(x, dim, flags, out_type),
            torch.empty(_rows_shape(x, dim), dtype=_DTYPES[totals_type], device=x.device))


def _fake_out(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None, *, out,
              totals=None):
    pass


# torch.library.register_fake would read source files for several milliseconds.
for _name, _kernel in (("_scan", _fake_scan), ("_scan_totals", _fake_totals), ("scan_out", _fake_out)):
    _library.impl(_name, _kernel, "Meta")


def _counted_out(keyset, *args, out, totals=None):
    """Tells autograd what was written, which operators of a library have to do themselves."""
    torch.autograd.graph.increment_version([out] if totals is None else [out, totals])
    with torch._C._AutoDispatchBelowADInplaceOrView():
        return _op_out.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *args, out=out, totals=totals)


def _plain_out(*args, out, totals=None):
    """Torch's own fallback for the negative bit wants operators that return what they write."""
    plain, plain_totals = out.resolve_neg(), totals.resolve_neg() if totals is not None else None
    _op_out(*(a.resolve_neg() if isinstance(a, torch.Tensor) else a for a in args), out=plain, totals=plain_totals)
    for written, own in ((plain, out), (plain_totals, totals)):
        if written is not own:
            own.copy_(written)


_library.impl("scan_out", _counted_out, "ADInplaceOrView", with_keyset=True)
_library.impl("scan_out", _plain_out, "Negative")


# ---- gradients -------------------------------------------------------------------------------------------------------

# What a differentiable scan is asked for: x, dim (from the front), op, flags, out_type, acc, mask_mode, mask, init, and
# totals_type, 0 for none. mask has x's shape; init has that of the rows.
_X, _MASK, _INIT, _COUNT = 0, 7, 8, 10


def _alone(*args):
    if not args[-1]:
        return _op_scan_alone(*args[:-1])
    if args[_INIT] is not None:  # the library wants the strides of initial values and totals to be equal
        args = (*args[:_INIT], args[_INIT].contiguous(), args[-1])
    return _op_totals_alone(*args)


def _sum(x, dim, flags, out_type, acc, mask_mode=0, mask=None, init=None, totals_type=0):
    return _differentiable(x, dim, SUM, flags, out_type, acc, mask_mode, mask, init, totals_type)


def _gradients(ctx, g, g_totals=None):
    """Of x, mask and init. The gradient of a sum is the same scan from the other end, which begins with the totals'."""
    dim, op, flags, acc, mask_mode, kind = ctx.rowscan
    x, mask, init, y = ctx.saved_tensors
    if op == PROD:
        return torch.ops.aten.cumprod_backward(g, x.to(y.dtype), dim, y).to(x.dtype), None, None
    of_x, of_mask, of_init = (ctx.needs_input_grad[i] for i in (_X, _MASK, _INIT))
    first = None
    if flags & INCLUDE_INITIAL:
        length = g.shape[dim] - 1
        first = g.narrow(dim, length if flags & REVERSE else 0, 1)
        g = g.narrow(dim, 0 if flags & REVERSE else 1, length)
    if g_totals is not None:
        g_totals = g_totals.to(_DTYPES[accumulator(_NUMBERS[g.dtype], kind, acc)]).contiguous()
    d = d_mask = d_init = None
    if of_x or of_mask:
        wide = accumulator(_NUMBERS[g.dtype], kind, acc) if of_init else 0
        d = _sum(g, dim, (flags ^ REVERSE) & ~INCLUDE_INITIAL, kind, acc, init=g_totals, totals_type=wide)
        if of_init:
            d, d_init = d
    elif of_init:
        d_init = g.sum(dim, keepdim=True)
        if g_totals is not None:
            d_init = d_init + g_totals
    if of_mask:
        d_mask = d * x
    if mask is not None and d is not None:
        d = d * mask if mask_mode == MULTIPLY else torch.where(mask != 0, d, 0)
    if d_init is not None:
        d_init = (d_init if first is None else d_init + first).reshape(init.shape).to(init.dtype)
    return d if of_x else None, d_mask, d_init


def _tangents(ctx, t_x, t_mask, t_init):
    """A sum is linear in x and init, and in a mask that multiplies."""
    dim, op, flags, acc, mask_mode, _ = ctx.rowscan
    out_type, totals_type, shape = ctx.rowscan_out
    x, mask, _, _ = ctx.saved_tensors
    if op == PROD:
        raise Unsupported("products have no forward-mode gradient here: torch.cumprod has one")
    terms = []
    if t_x is not None:
        terms.append(_sum(t_x, dim, flags, out_type, acc, mask_mode, mask, t_init, totals_type))
    elif t_init is not None:
        y = t_init.to(_DTYPES[out_type]).expand(shape)
        terms.append((y, t_init) if totals_type else y)
    if t_mask is not None:
        terms.append(_sum(x * t_mask, dim, flags, out_type, acc, totals_type=totals_type))
    if not terms:
        return (None, None) if totals_type else None
    if len(terms) == 1:
        return terms[0]
    return tuple(a + b for a, b in zip(*terms)) if totals_type else terms[0] + terms[1]


class _Scan(torch.autograd.Function):
    """A differentiable scan, also under torch.func's transforms."""

    @staticmethod
    def forward(*args):
        return _alone(*args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals_type = inputs
        if op == PROD and (flags or mask is not None or init is not None or totals_type):
            raise Unsupported("the gradient of a product is there for plain ones alone: from the first element on, "
                              "inclusive, without mask, init and totals")
        y = output[0] if totals_type else output
        ctx.rowscan = dim, op, flags, acc, mask_mode, _NUMBERS[x.dtype]
        ctx.rowscan_out = _NUMBERS[y.dtype], totals_type, y.shape
        weighed = mask_mode == MULTIPLY and mask is not None and mask.is_floating_point()
        saved = (x if op == PROD or weighed else None, mask, init, y if op == PROD else None)
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx, g, g_totals=None):
        d, d_mask, d_init = _gradients(ctx, g, g_totals)
        return d, None, None, None, None, None, None, d_mask, d_init, None

    @staticmethod
    def jvp(ctx, *tangents):
        return _tangents(ctx, tangents[_X], tangents[_MASK], tangents[_INIT])

    @staticmethod
    def vmap(info, in_dims, *args):
        return _batched(_differentiable, info.batch_size, in_dims, *args)


def _to_front(tensor, dim, size):
    if tensor is None:
        return None
    return tensor.unsqueeze(0).expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _batched(scan, size, in_dims, x, dim, *rest):
    """A scan of tensors with one more dimension, the batch's, which goes to the front."""
    rank = x.dim() - (in_dims[_X] is not None)
    rest = list(rest)
    x = _to_front(x, in_dims[_X], size)
    for i in (_MASK, _INIT):
        rest[i - 2] = _to_front(rest[i - 2], in_dims[i], size)
    dim %= max(rank, 1)
    if not rank:  # a row of one element
        x, dim = x.unsqueeze(1), 0
        for i in (_MASK, _INIT):
            rest[i - 2] = rest[i - 2].unsqueeze(1) if rest[i - 2] is not None else None
    result = scan(x, dim + 1, *rest)
    results = list(result) if isinstance(result, tuple) else [result]
    if not rank:
        results = [y.squeeze(1) if y.shape[1] == 1 else y for y in results]
    return (tuple(results), (0,) * len(results)) if isinstance(result, tuple) else (results[0], 0)


def _wants_gradient(*tensors):
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


class _Below(torch.autograd.function._SingleLevelFunction):
    """At one level of torch.func's transforms, whose next one sees the operator again, with its gradient."""

    setup_context, backward, jvp = (staticmethod(getattr(_Scan, name)) for name in ("setup_context", "backward", "jvp"))

    @staticmethod
    def forward(*args):
        with (torch.enable_grad(), _forward_ad._set_fwd_grad_enabled(True),  # of the next level
              torch._C._AutoDispatchBelowAutograd()):
            return _op_totals(*args) if args[-1] else _op_scan(*args[:-1])


_FRONT = torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode


def _differentiable(*args):
    if _transform() is not None:
        if not torch._C._dispatch_tls_is_dispatch_key_excluded(_FRONT):
            return _Scan.apply(*args)
        with enable_single_level_autograd_function():  # the dispatcher has called an operator for one level of them
            return _Below.apply(*args)
    if _forward_ad._current_level >= 0 or _wants_gradient(args[_X], args[_MASK], args[_INIT]):
        return _Scan.apply(*args)
    return _alone(*args)


def _composite_scan(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None):
    return _differentiable(x, _front(x, dim), op, flags, out_type, acc, mask_mode, mask, init, 0)


def _composite_totals(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None,
                      totals_type=0):
    return _differentiable(x, _front(x, dim), op, flags, out_type, acc, mask_mode, mask, init,
                           totals_type or accumulator(_NUMBERS[x.dtype], _out_type(x, out_type), acc))


_library.impl("scan", _composite_scan, "CompositeImplicitAutograd")
_library.impl("scan_totals", _composite_totals, "CompositeImplicitAutograd")


@torch.library.register_vmap("rowscan::_scan", lib=_library)
def _vmap_scan(info, in_dims, *args):
    args, in_dims = args + (None,) * (9 - len(args)), in_dims + (None,) * (9 - len(in_dims))
    return _batched(_op_scan_alone, info.batch_size, in_dims, *args)


@torch.library.register_vmap("rowscan::_scan_totals", lib=_library)
def _vmap_totals(info, in_dims, *args):
    return _batched(_op_totals_alone, info.batch_size, in_dims, *args)


# ---- calls -----------------------------------------------------------------------------------------------------------

class _Torch(Library):

    def array(self, x):
        if x.layout is not torch.strided:
            raise TypeError(f"x is a tensor of layout {x.layout}, not torch.strided")
        return x

    def dtype(self, dtype):
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"dtype is {dtype!r}, not a torch.dtype")
        return dtype

    def rows(self, x, dim):
        if dim is None:
            if x.dim() > 1:
                raise TypeError(f"dim is needed: x has {x.dim()} dimensions")
            dim = 0
        return x, self.normalised(dim, max(x.dim(), 1))

    def dim_error(self, dim, rank):
        return IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")

    def device(self, x):
        return x.device

    def cast(self, x, number):
        return x.to(self.dtypes[number])

    def of(self, value, number, like):
        dtype = self.dtypes[number] if number is not None else None
        if isinstance(value, torch.Tensor):
            return value if dtype is None else value.to(dtype)
        return torch.as_tensor(value, dtype=dtype, device=like.device)

    def expand(self, x, shape):
        return x.expand(shape)

    def contiguous(self, x):
        return x.contiguous()

    def empty(self, shape, number, like):
        return torch.empty(shape, dtype=self.dtypes[number], device=like.device)

    def is_array(self, x):
        return isinstance(x, torch.Tensor)

    def out_shape(self, x, s):
        return _out_shape(x, s.dim, s.flags)

    def run(self, s, wanted):
        if wanted:
            return super().run(s, wanted)
        arguments = s.x, s.dim, s.op, s.flags, s.number, s.acc, s.mask_mode, s.mask, s.init
        if s.out is not None:
            return self.run_into(s, arguments)
        if not s.totals:
            return _dispatched(_op_scan, *arguments, 0)
        y, totals = _dispatched(_op_totals, *arguments, s.totals)
        return y, totals.squeeze(s.dim)

    def run_into(self, s, arguments):
        if _wants_gradient(s.x, s.mask, s.init, s.out):
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of "
                               "the arguments requires grad.")
        totals = self.empty(_rows_shape(s.x, s.dim), s.totals, s.x) if s.totals else None
        _op_out(*arguments, out=s.out, totals=totals)
        return (s.out, totals.squeeze(s.dim)) if s.totals else s.out


def _dispatched(operator, *args):
    """The operator where torch is to see it, else at once what it is made of."""
    if _dynamo() or (_transform() is None and (_modes() or type(args[_X]) not in _PLAIN)):
        return operator(*args) if args[-1] else operator(*args[:-1])
    return _differentiable(*args)


library = _Torch(torch, _DTYPES, "i64")


# ---- the quick way ---------------------------------------------------------------------------------------------------

def _make_node(kept):
    """A class of nodes of autograd's graph, for the gradient of a sum that the quick way makes: see core/torch.c.

    The functions are builtins, and stand in the class itself, for torch looks them up anew in each call.
    """
    base = torch.autograd.Function
    node = type(base)("RowscanCumsum", (base,), {
        "forward": _core.torch_forward, "backward": _core.torch_backward, "setup_context": base.setup_context,
        "vjp": base.vjp, "__module__": __name__})
    for name in ("clear_saved_tensors_on_access", "boxed_grads_call"):
        if hasattr(base, name):
            setattr(node, name, getattr(base, name))
    node._backward_cls = type("RowscanCumsumBackward", (_core.TorchContext, node._backward_cls),
                              {"rowscan": kept, "__module__": __name__})
    return super(base, node).apply


def _node_backward(ctx, g):
    """What the quick way declines in the backward pass: masks, modes, and gradients that aren't plain."""
    dim, flags, kind, mask_mode = ctx.rowscan
    dim %= max(g.dim(), 1)
    d = _core.cumsum(g, dim, reverse=not flags & REVERSE, exclusive=bool(flags & EXCLUSIVE), dtype=_DTYPES[kind])
    if mask_mode:
        mask, = ctx.saved_tensors
        d = d * mask if mask_mode == MULTIPLY else torch.where(mask != 0, d, 0)
    return d


def _make_known():
    exchange = type(getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)).__name__ == "PyCapsule"
    stream = None if exchange else getattr(torch._C, "_cuda_getCurrentRawStream", None)
    for kind in _PLAIN:
        _core.add_kind(kind, "exchange" if exchange else "torch", True, torch.empty_like,
                       {number: {"dtype": dtype, "memory_format": torch.contiguous_format}
                        for number, dtype in _DTYPES.items()}, _NUMBERS, stream, library.unsigned_sum)
        # What inductor makes its buffers with takes half of the time of empty_like.
        host, gpu = (getattr(torch._C._dynamo.guards, "_empty_strided_" + d, None) for d in ("cpu", "cuda"))
        if host is not None:
            _core.set_fresh(kind, host, gpu if hasattr(torch._C, "_cuda_getDevice") else None,
                            getattr(torch._C, "_cuda_getDevice", None))
    _core.set_torch({"grad_enabled": torch.is_grad_enabled, "modes": _modes,
                     "transforms": torch._C._are_functorch_transforms_active, "is_neg": torch.Tensor.is_neg,
                     "written": torch._C._increment_version, "forward_ad": _forward_ad, "node": _make_node,
                     "backward": _node_backward})
    serve(_PLAIN, library)


_make_known()


# ---- torch.compile ---------------------------------------------------------------------------------------------------

def _traceable(op):
    def function(x, dim=None, *, axis=None, reverse=False, exclusive=False, mask=None, mask_mode='select', init=None,
                 totals=False, dtype=None, acc=None, out=None):
        if dim is not None and axis is not None:
            raise TypeError("dim and axis are two names of one argument")
        if mask_mode not in ("select", "multiply"):
            raise ValueError(f"mask_mode is {mask_mode!r}, not 'select' or 'multiply'")
        return library.scan(op, x, axis if dim is None else dim,
                            (EXCLUSIVE if exclusive else 0) | (REVERSE if reverse else 0), mask,
                            SELECT if mask_mode == "select" else MULTIPLY, init, totals, dtype, acc, out)
    return function


def _substitute():
    for function, op in ((_core.cumsum, SUM), (_core.cumprod, PROD)):
        torch.compiler.substitute_in_graph(function)(_traceable(op))
    accumulator(NUMBERS["f32"], NUMBERS["f32"], DEFAULT)  # makes its table, for a call of the library can't be traced


after_import("torch._dynamo", _substitute)  # which takes torch seconds


# ---- in the place of torch's own -------------------------------------------------------------------------------------

_OWN = ("cumsum", SUM), ("cumprod", PROD)


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
        _patches[self.key] = self
        self.library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():  # torch warns once in a process that a kernel is overridden
            warnings.simplefilter("ignore")
            for name, op in _OWN:
                self.library.impl(name + "_", _aten_kernel_(op), self.key)
                self.library.impl(name + ".out", _aten_kernel_out(op), self.key)
            self.boxed = _core.box(*_libraries(), "aten", self.key, {name: name for name, _ in _OWN})
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


def _served(x, dtype):
    return x.dtype in _NUMBERS and (dtype is None or dtype in _NUMBERS)


def _aten_kernel(op):
    name = _OWN[op][0]

    def kernel(x, dim, *, dtype=None):
        if not _served(x, dtype):
            return _patches[x.device.type.upper()].other(name, x, dim, dtype=dtype)
        return _alone_of(op, x, dim, dtype)
    return kernel


def _alone_of(op, x, dim, dtype):
    s = library.settle(op, x, dim, 0, None, SELECT, None, False, dtype, None, None)
    return _op_scan_alone(s.x, s.dim, op, 0, s.number)


def _into_of(op, x, dim, out):
    s = library.settle(op, x, dim, 0, None, SELECT, None, False, out.dtype, None, out)
    _run(s.x, s.dim, op, 0, s.number, DEFAULT, 0, None, None, None, out)
    return out


def _aten_kernel_(op):
    name = _OWN[op][0] + "_"

    def kernel(x, dim, *, dtype=None):
        if not _served(x, dtype):
            return _patches[x.device.type.upper()].other(name, x, dim, dtype=dtype)
        if dtype is not None and dtype != x.dtype:
            raise RuntimeError(f"Bad in-place call: input tensor dtype {x.dtype} and output tensor dtype {dtype} "
                               "should match")
        return _into_of(op, x, dim, x)
    return kernel


def _aten_kernel_out(op):
    name = _OWN[op][0] + ".out"

    def kernel(x, dim, *, dtype=None, out):
        if not _served(x, dtype) or not _served(out, None):
            return _patches[x.device.type.upper()].other(name, x, dim, dtype=dtype, out=out)
        if dtype is not None and dtype != out.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {dtype}, but got {out.dtype} instead")
        if out.shape != x.shape:
            out.resize_(x.shape)
        return _into_of(op, x, dim, out)
    return kernel


def _other(op):
    def function(x, dim, dtype):
        if _served(x, dtype):  # floating elements to integers: these are converted first
            return _alone_of(op, x, dim, dtype)
        return _patches[x.device.type.upper()].other(_OWN[op][0], x, dim, dtype=dtype)
    return function


for _name, _op in _OWN:
    for _key in ("CPU", "CUDA"):
        _library.impl("other_" + _name, _other(_op), _key)


def _patches_of(devices):
    for device in devices:
        if device not in ("CPU", "CUDA"):
            raise ValueError(f"device is {device!r}, not 'CPU' or 'CUDA'")
    return [_patches.get(device) or _patches.setdefault(device, _Patch(device)) for device in devices]


@contextlib.contextmanager
def patched(*devices):
    """torch.cumsum and torch.cumprod of all callers are rowscan's while this lasts.

    devices    "CUDA" (the default), "CPU", or both

    Methods, in-place and out= forms and callers in C++ are served too, with torch's own gradients. Not served: code
    that inductor makes of them, and dtypes that rowscan has no type for, such as complex ones, which stay torch's
    (where torch.library.get_kernel is not there yet, they are refused). A dim out of range may be a RuntimeError in
    place of an IndexError. The dispatcher is the process's: other threads see the change too. It may be nested; the
    last to leave brings torch's own kernels back, after an exception too.

    >>> with rowscan.torch.patched("CPU"):
    ...     torch.cumsum(torch.ones(3), 0)
    tensor([1., 2., 3.])
    """
    with _patch_lock:
        patches = _patches_of(devices or ("CUDA",))
        for patch in patches:
            patch.enter()
    try:
        yield
    finally:
        with _patch_lock:
            for patch in patches:
                patch.leave()


def install(*devices):
    """torch.cumsum and torch.cumprod are rowscan's from now on: patched() for good."""
    with _patch_lock:
        for patch in _patches_of(devices or ("CUDA",)):
            patch.enter()
