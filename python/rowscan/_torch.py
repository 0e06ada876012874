"""_torch.py - torch's tensors: torch's conventions, the quick way, and what torch.compile sees

SPDX-License-Identifier: MIT

The quick way in C is for plain tensors of which nothing but the numbers matters, and for the gradient of their sums.
All else are operators that torch knows: _torch_operators.py. What looks through torch's dispatcher sees those.
"""
import functools
import warnings

import torch

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
    raise ImportError(f"torch is {torch.__version__}: rowscan serves its tensors from 2.6 on")

from . import _core, _torch_operators as operators
from ._after import after_import
from ._call import Library, serve
from ._torch_operators import DTYPES, TYPES, X
from ._types import COEFFICIENT, DECAYED, DEFAULT, FUNCTIONS, NUMBERS, PROD, RECURRENCE, SUM, accumulator

# What may look through the dispatcher: modes (FakeTensorMode, make_fx, ...), also those before autograd, transforms of
# torch.func, a trace (torch.jit.trace, ONNX's exporter, TensorBoard's graphs), a profiler. Each does where all its
# functions say so, the quick ones first.
_WATCHERS = ((torch._C._len_torch_dispatch_stack,),
             (torch._C._len_torch_function_stack, functools.partial(torch._C._dispatch_tls_is_dispatch_key_included,
                                                                    torch._C.DispatchKey.PreDispatch)),
             (torch._C._are_functorch_transforms_active,), (torch._C._is_tracing,),
             (torch.autograd._profiler_enabled,))
_AUTOCAST = torch._C._is_any_autocast_enabled, torch.is_autocast_enabled
_dynamo = torch.compiler.is_dynamo_compiling


# ---- calls -----------------------------------------------------------------------------------------------------------

def _quiet_in_traces(method):
    """In a trace sizes are tensors, and torch would warn of checks that compare them."""
    def quiet(*arguments, **options):
        if _dynamo() or not torch._C._is_tracing():
            return method(*arguments, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", torch.jit.TracerWarning)
            return method(*arguments, **options)
    return quiet


class _Torch(Library):

    scan, gae, discounted_returns = map(_quiet_in_traces, (Library.scan, Library.gae, Library.discounted_returns))

    def settle(self, op, x, dim, flags, mask, mask_mode, init, totals, dtype, acc, out, *rest):
        if dtype is None and out is None and _autocasts(op, x):
            dtype = torch.float32
        return super().settle(op, x, dim, flags, mask, mask_mode, init, totals, dtype, acc, out, *rest)

    def array(self, x, what="x"):
        if not isinstance(x, torch.Tensor):
            way_out = ": make_fx traces scans, and symbolic_trace those in functions that torch.fx.wrap is told of"
            raise TypeError(f"{what} is a {type(x).__module__}.{type(x).__qualname__}, not a torch.Tensor"
                            f"{way_out if isinstance(x, torch.fx.Proxy) else ''}")
        if x.layout is not torch.strided:
            raise TypeError(f"{what} is a tensor of layout {x.layout}, not torch.strided")
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

    def of(self, value, number, like, what):
        dtype = self.dtypes[number] if number is not None else None
        if isinstance(value, torch.Tensor):
            return value if dtype is None else value.to(dtype)
        return torch.as_tensor(value, dtype=dtype, device=like.device)

    def expand(self, x, shape):
        return x.expand(shape)

    def empty(self, shape, number, like):
        return torch.empty(shape, dtype=self.dtypes[number], device=like.device)

    def full(self, value, number, like):
        return torch.full((), value, dtype=self.dtypes[number] if number is not None else None, device=like.device)

    def beginnings(self, keys, dim):
        if not keys.ndim:
            return keys != keys
        later = torch.arange(keys.shape[dim], device=keys.device) > 0
        return (torch.roll(keys, 1, dim) != keys) & later.reshape((-1,) + (1,) * (-1 - dim))

    def cleared(self, where, x):
        return torch.where(where, 0, x)

    def is_array(self, x, what="x"):
        return isinstance(x, torch.Tensor)

    def is_cut(self):
        return not _dynamo() and super().is_cut()

    def may_ask(self):
        return not _dynamo()

    def runs_at_once(self):
        return not _dynamo() and not _is_watched()

    def out_shape(self, x, s):
        return operators.out_shape(x, s.dim, s.flags)

    def run(self, s, wanted):
        if wanted:
            return super().run(s, wanted)
        arguments = s.x, s.dim, s.op, s.flags, s.number, s.acc, s.mask_mode, s.mask, s.init
        if s.has_further():
            return self.run_further(s, arguments)
        if s.out is not None:
            return self.run_into(s, arguments)
        if not s.totals:
            return _scanned(*arguments, 0)
        y, totals = _scanned(*arguments, s.totals)
        return y, totals.squeeze(s.dim)

    def run_further(self, s, arguments):
        if s.out is not None:
            self.refuse_gradient(s)
        further = operators.op_further if _is_seen(s.x) else operators.composite_further
        made = further(*arguments, s.more, s.params, s.second or 0, s.totals or 0, s.segment_mode)
        y = made[0] if s.out is None else s.out.copy_(made[0])
        return self.results(y, made[1] if s.second else None, made[-1].squeeze(s.dim) if s.totals else None)

    def refuse_gradient(self, s):
        if operators.wants_gradient(s.out, *operators.changing(s.x, s.mask_mode, s.mask, s.init, s.more,
                                                               s.segment_mode)):
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of "
                               "the arguments requires grad.")

    def run_into(self, s, arguments):
        self.refuse_gradient(s)
        if not _dynamo() and operators.transform() is not None:  # for which operators that write have no rules
            made = operators.dispatched(*arguments, s.totals or 0)
            y, totals = made if s.totals else (made, None)
            s.out.copy_(y)
        else:
            totals = self.empty(operators.rows_shape(s.x, s.dim), s.totals, s.x) if s.totals else None
            operators.into(*arguments, out=s.out, totals=totals)
        return (s.out, totals.squeeze(s.dim)) if s.totals else s.out


def _autocasts(op, x):
    """Whether autocast makes f32 of a scan, as it does of torch.cumsum and cumprod, and of no other."""
    return (op in (SUM, PROD) and isinstance(x, torch.Tensor) and x.device.type == "cuda"
            and x.dtype in (torch.float16, torch.bfloat16) and torch.is_autocast_enabled("cuda"))


def _is_watched():
    return any(all(looks() for looks in watcher) for watcher in _WATCHERS)


def _is_seen(x):
    """Whether torch is to see the operator of a scan, not what it is made of."""
    return _dynamo() or type(x) not in operators.PLAIN or _is_watched()


def _scanned(*arguments):
    """The operator where torch is to see it, else at once what it is made of."""
    return (operators.dispatched if _is_seen(arguments[X]) else operators.differentiable)(*arguments)


library = _Torch(torch, DTYPES, "i64")


# ---- the quick way ---------------------------------------------------------------------------------------------------

def _make_node(kept):
    """A class of nodes of autograd's graph, for the gradients that the quick way makes: see core/torch.c.

    Functions stand in the class itself, for torch looks them up anew in each call. backward is for compiled autograd.
    """
    base = torch.autograd.Function
    *_, mask_mode, _, op = kept
    saves = mask_mode != 0 or op not in (SUM, DECAYED)

    def backward(ctx, g):
        saved = ctx.saved_tensors if saves else None
        return _node_backward(kept, saved, getattr(ctx, "rowscan_coefficient", None), ctx.needs_input_grad, g)
    node = type(base)("RowscanCumsum", (base,), {
        "forward": _core.torch_forward, "backward": staticmethod(backward), "setup_context": base.setup_context,
        "vjp": base.vjp, "__module__": __name__})
    for name in ("clear_saved_tensors_on_access", "boxed_grads_call"):
        if hasattr(base, name):
            setattr(node, name, getattr(base, name))
    node._backward_cls = type("RowscanCumsumBackward", (_core.TorchContext, node._backward_cls),
                              {"rowscan": kept, "__module__": __name__})
    return super(base, node).apply


def _node_backward(kept, saved, number, wanted, g):
    """What the quick way declines in the backward pass: masks, modes, shifted arrays, gradients that aren't plain."""
    dim, flags, kind, mask_mode, _, op = kept
    x, mask, y = saved or (None, None, None)
    several = mask is not None
    if op == DECAYED:
        op, mask_mode, mask = RECURRENCE, COEFFICIENT, torch.full((), number, dtype=DTYPES[kind], device=g.device)
    if mask is not None:
        mask = operators.condition(mask, mask_mode)
        mask = mask.expand(g.shape) if g.dim() else mask.reshape(())
    wanted = wanted[0], several and wanted[2], False
    node = operators.Node(dim, op, flags, DEFAULT, mask_mode, kind, TYPES[g.dtype], 0, g.shape, x, mask, None, y, None,
                          wanted)
    d, d_mask, _ = operators.gradients(operators.usable(node), g)
    return (d, None, d_mask) if several else (d, None)


def _make_known():
    _core.set_torch({"grad_enabled": torch.is_grad_enabled, "watchers": _WATCHERS, "autocast": _AUTOCAST,
                     "is_neg": torch.Tensor.is_neg, "written": torch._C._increment_version,
                     "forward_ad": torch.autograd.forward_ad, "node": _make_node, "backward": _node_backward})
    exchange = type(getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)).__name__ == "PyCapsule"
    stream = None if exchange else getattr(torch._C, "_cuda_getCurrentRawStream", None)
    for kind in operators.PLAIN:
        _core.add_kind(kind, "exchange" if exchange else "torch", True, torch.empty_like,
                       {number: {"dtype": dtype, "memory_format": torch.contiguous_format}
                        for number, dtype in DTYPES.items()}, TYPES, stream, library.unsigned_sum)
        # What inductor makes its buffers with takes half of the time of empty_like.
        host, gpu = (getattr(torch._C._dynamo.guards, "_empty_strided_" + d, None) for d in ("cpu", "cuda"))
        if host is not None:
            _core.set_fresh(kind, host, gpu if hasattr(torch._C, "_cuda_getDevice") else None,
                            getattr(torch._C, "_cuda_getDevice", None))
    serve(operators.PLAIN, library)


_make_known()


# ---- torch.compile ---------------------------------------------------------------------------------------------------

def _traceable_scan(x, dim=None, op='sum', *, coefficient=None, axis=None, reverse=False, exclusive=False,
                    omit_nan=False, mask=None, mask_mode=None, heads=None, tails=None, keys=None, init=None,
                    totals=False, dtype=None, acc=None, out=None, ties='last', more=None, params=None, second=False):
    return library.asked(x, dim, op, coefficient, axis, reverse, exclusive, omit_nan, mask, mask_mode, heads, tails,
                         keys, init, totals, dtype, acc, out, ties, more, params, second)


def _traceable_recurrence(x, coefficient, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False,
                          mask=None, mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False,
                          dtype=None, acc=None, out=None):
    return library.asked(x, dim, 'linear_recurrence', coefficient, axis, reverse, exclusive, omit_nan, mask, mask_mode,
                         heads, tails, keys, init, totals, dtype, acc, out)


def _traceable(op):
    def function(x, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False, mask=None,
                 mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None,
                 out=None):
        return library.asked(x, dim, op, None, axis, reverse, exclusive, omit_nan, mask, mask_mode, heads, tails, keys,
                             init, totals, dtype, acc, out)
    return function


def _traceable_order(op):
    def function(x, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False, mask=None,
                 mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None,
                 out=None, indices=False, ties='last'):
        rest = axis, reverse, exclusive, omit_nan, mask, mask_mode, heads, tails, keys, init, totals
        if not indices:
            return library.asked(x, dim, op, None, *rest, dtype, acc, out, ties)
        if init is not None or totals or out is not None:
            raise TypeError("init, totals or out is given, and indices, which has none")
        return (library.asked(x, dim, op, None, *rest, dtype, acc, None),
                library.asked(x, dim, "arg" + op, None, *rest, None, None, None, ties))
    return function


def _substitute():
    torch.compiler.substitute_in_graph(_core.scan)(_traceable_scan)
    torch.compiler.substitute_in_graph(_core.linear_recurrence)(_traceable_recurrence)
    for name, op in FUNCTIONS.items():
        traceable = _traceable_order(op) if op in ("max", "min") else _traceable(op)
        torch.compiler.substitute_in_graph(getattr(_core, name))(traceable)
    accumulator(SUM, NUMBERS["f32"], NUMBERS["f32"])  # makes its table, for a call of the library can't be traced


after_import("torch._dynamo", _substitute)  # which takes torch seconds
