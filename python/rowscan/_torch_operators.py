"""_torch_operators.py - torch's operators of rowscan, and their gradients

SPDX-License-Identifier: MIT

  rowscan::scan, scan_totals    what torch.compile and export see. They are composite: made of the next two, with the
                                gradient of _Scan
  rowscan::_scan, _scan_totals  the scan alone, which compiled code calls: kernels in C where libtorch has what they
                                need (2.8), else in Python
  rowscan::scan_out             the same into given arrays, without a gradient
  rowscan::scan_further         scans with further inputs, numbers of a run or a second output, in Python: a list of the
                                result, and of the second one and the totals where they are wanted. Composite, with the
                                gradient of _Scan where one of segments beside a mask or coefficients has one, or a
                                recurrence with a mask that selects
  rowscan::_scan_further        that scan alone
  rowscan::_scan_starts, _scan_starts_totals
                                the scan alone of those of them that have a gradient, without lists
  rowscan::_scan_back, _scan_back_totals
                                the scan alone that is a gradient, beside one or two more inputs
  rowscan::_recurrence_back, _product_back
                                the gradients of a recurrence, and of a product, that need no more than one scan
  _Scan                         autograd.Function: gradients, forward-mode too

Whatever looks through the dispatcher, such as torch.func's transforms and traces, sees the operators without a _.

Types, flags and modes are the library's numbers; a dim is counted from the front, but for the operators'.
"""
import collections
import glob
import os

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.utils._pytree import tree_map

from . import _core
from ._errors import Unsupported
from ._types import (COEFFICIENT, DEFAULT, EXCLUSIVE, EXTREMUM_GRADIENT, FACTORS, HEADS, INCLUDE_INITIAL, INDEX_OF,
                     INDICES, KEEPING, KEYS, LOGSUMEXP, LOGSUMEXP_GRADIENT, MULTIPLY, NUMBERS, OMIT_NAN, OP_NAMES, PROD,
                     RECURRENCE, REVERSE, SCAN, SEGMENTS, SELECT, SUM, SUM_GRADIENT, TAILS, WEIGHTED, accumulator,
                     check_extreme, index_type, is_fixed, is_floating, of_changes)

_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8",
          "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
          "bool": "bool"}
DTYPES = {NUMBERS[name]: getattr(torch, dtype) for name, dtype in _NAMES.items()}
TYPES = {dtype: number for number, dtype in DTYPES.items()}

PLAIN = torch.Tensor, torch.nn.Parameter
transform = torch._C._functorch.peek_interpreter_stack
_forward_ad = torch.autograd.forward_ad


# ---- the scan alone --------------------------------------------------------------------------------------------------

_ARGUMENTS = ("Tensor x, int dim, int op=0, int flags=0, int out_type=0, int acc=0, int mask_mode=0, "
              "Tensor? mask=None, Tensor? init=None")
_ALL = "Tensor x, int dim, int op, int flags, int out_type, int acc, int mask_mode, Tensor? mask, Tensor? init"
_FURTHER = f"({_ALL}, Tensor[] more, float[] params, int second_type, int totals_type, int segment_mode) -> Tensor[]"
_BACK = "Tensor x, Tensor a, Tensor? b, Tensor? init, int dim, int op, int flags, int out_type, int acc"
_SCHEMAS = {"_scan": f"({_ARGUMENTS}) -> Tensor",
            "_scan_totals": f"({_ARGUMENTS}, int totals_type=0) -> (Tensor, Tensor)",
            "scan": f"({_ARGUMENTS}) -> Tensor",
            "scan_totals": f"({_ARGUMENTS}, int totals_type=0) -> (Tensor, Tensor)",
            "_scan_further": _FURTHER,
            "_scan_starts": f"({_ALL}, int totals_type, Tensor starts) -> Tensor",
            "_scan_starts_totals": f"({_ALL}, int totals_type, Tensor starts) -> (Tensor, Tensor)",
            "scan_further": _FURTHER,
            "_scan_back": f"({_BACK}) -> Tensor",
            "_scan_back_totals": f"({_BACK}, int totals_type) -> (Tensor, Tensor)",
            "_recurrence_back": "(Tensor g, Tensor a, Tensor y, Tensor? init, int dim, int flags, int acc) -> "
                                "(Tensor, Tensor, Tensor)",
            "_product_back": "(Tensor g, Tensor x, Tensor y, Tensor? init, int dim, int flags, int acc) -> "
                             "(Tensor, Tensor)",
            "scan_out": f"({_ARGUMENTS}, *, Tensor(a!) out, Tensor(b!)? totals=None) -> ()"}
_library = torch.library.Library("rowscan", "DEF")
for _name, _schema in _SCHEMAS.items():
    _library.define(_name + _schema, tags=(torch.Tag.pt2_compliant_tag, torch.Tag.flexible_layout))
(op_scan, op_totals, op_scan_alone, op_totals_alone, op_out, op_further, op_further_alone, op_starts,
 op_starts_totals, op_back, op_back_totals, op_recurrence_back, op_product_back) = (
    getattr(torch.ops.rowscan, name).default
    for name in ("scan", "scan_totals", "_scan", "_scan_totals", "scan_out", "scan_further", "_scan_further",
                 "_scan_starts", "_scan_starts_totals", "_scan_back", "_scan_back_totals", "_recurrence_back",
                 "_product_back"))


def rows_shape(x, dim):
    return tuple(1 if d == dim else extent for d, extent in enumerate(x.shape))


def out_shape(x, dim, flags):
    if not flags & INCLUDE_INITIAL:
        return tuple(x.shape)
    return tuple(extent + 1 if d == dim else extent for d, extent in enumerate(x.shape)) or (2,)


def _front(x, dim):
    """dim, counted from the front; one that is out of range stays so."""
    return dim + max(x.dim(), 1) if dim < 0 else dim


def _out_type(x, op, out_type):
    kind = TYPES[x.dtype]
    keeps = (is_floating(kind) or op in KEEPING) and op not in INDICES
    return out_type or (kind if keeps else NUMBERS["i64"])


def run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out):
    y = _core.scan_settled(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out, SCAN)
    if y is NotImplemented:
        raise TypeError(f"rowscan can't scan along dim {dim} a {x.dtype} tensor of shape {tuple(x.shape)} and layout "
                        f"{x.layout} on {x.device} with these arguments")
    return y


def _new(x, dim, op, flags, out_type):
    return torch.empty(out_shape(x, dim, flags), dtype=DTYPES[_out_type(x, op, out_type)], device=x.device)


def _kernel_scan(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None):
    out = _new(x, _front(x, dim), op, flags, out_type) if flags & INCLUDE_INITIAL else None
    return run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, None, out)


def _kernel_totals(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None,
                   totals_type=0):
    out = _new(x, _front(x, dim), op, flags, out_type) if flags & INCLUDE_INITIAL else None
    if totals_type not in DTYPES:
        raise ValueError(f"totals_type is {totals_type}, the number of no type")
    totals = torch.empty(rows_shape(x, _front(x, dim)), dtype=DTYPES[totals_type], device=x.device)
    return run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out), totals


def _kernel_out(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None, *, out,
                totals=None):
    run(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals, out)


def _fake_further(x, dim, op, flags, out_type, acc, mask_mode, mask, init, more, params, second_type, totals_type,
                  segment_mode):
    made = [_new(x, dim, op, flags, out_type)]
    if second_type:
        made.append(torch.empty(tuple(x.shape), dtype=DTYPES[second_type], device=x.device))
    if totals_type:
        made.append(torch.empty(rows_shape(x, dim), dtype=DTYPES[totals_type], device=x.device))
    return made


def _kernel_further(*arguments):
    *before, more, params, second_type, totals_type, segment_mode = arguments
    made = _fake_further(*arguments)
    totals, second = made[-1] if totals_type else None, made[1] if second_type else None
    done = _core.scan_settled(*before, totals, made[0], SCAN, tuple(more), tuple(params), second,
                              segment_mode)
    if done is NotImplemented:
        raise TypeError(f"rowscan can't scan {arguments[X].dtype} tensors that lie so in memory with further arrays")
    return made


def _start_mode(flags):
    """The mode of flags that say where a scan begins anew."""
    return TAILS if flags & REVERSE else HEADS


def _kernel_starts(*args):
    *before, totals_type, starts = args
    made = _kernel_further(*before, [starts], [], 0, totals_type, _start_mode(args[3]))
    return tuple(made) if totals_type else made[0]


def _fake_starts(*args):
    made = _fake_further(*args[:-2], [], [], 0, args[-2], 0)
    return tuple(made) if args[-2] else made[0]


def _fake_back(x, a, b, init, dim, op, flags, out_type, acc, totals_type=0):
    made = _fake_further(x, dim, op, flags, out_type, acc, 0, None, init, [], [], 0, totals_type, 0)
    return tuple(made) if totals_type else made[0]


def _kernel_back(x, a, b, init, dim, op, flags, out_type, acc, totals_type=0):
    """A scan beside which a lies, or a and b."""
    more = [a] if b is None else [a, b]
    made = _kernel_further(x, dim, op, flags, out_type, acc, 0, None, init, more, [], 0, totals_type, 0)
    return tuple(made) if totals_type else made[0]


def _fake_product_back(g, x, y, init, dim, flags, acc):
    wide = DTYPES[accumulator(WEIGHTED, TYPES[g.dtype], TYPES[g.dtype], acc)]
    return (torch.empty(g.shape, dtype=g.dtype, device=g.device),
            torch.empty(rows_shape(g, dim), dtype=wide, device=g.device))


def _fake_recurrence_back(g, a, y, init, dim, flags, acc):
    da, totals = _fake_product_back(g, a, y, init, dim, flags, acc)
    return torch.empty_like(da), da, totals


def _weigh_back(g, a, y, dim, flags, acc, dx, da, totals):
    """Of y[t] = a[t] y[t-1] + x[t] the gradients of x[t] and a[t] but for the first, and that of x[0] as a total.

    These are s[t] = g[t] + a[t+1] s[t+1], and s[t] y[t-1]. So at t there are g[t], a[t+1] and y[t], and s[t+1], the
    exclusive prefix of a scan from the other end, and s[t+1] y[t] belong where a[t+1] lies. The total is s[0].
    """
    reverse = bool(flags & REVERSE)
    rest, last = _without(g, dim, reverse, last=1), _end(g, dim, reverse)
    done = _core.scan_settled(rest, dim, WEIGHTED, flags & REVERSE ^ REVERSE | EXCLUSIVE, TYPES[g.dtype], acc, 0, None,
                              last if last.dtype == totals.dtype else last.to(totals.dtype), totals,
                              _without(da, dim, reverse, first=1), SCAN,
                              (_without(a, dim, reverse, first=1), _without(y, dim, reverse, last=1)), (),
                              None if dx is None else _without(dx, dim, reverse, first=1), 0)
    if done is NotImplemented:
        raise TypeError(f"rowscan can't scan {g.dtype} tensors that lie so in memory with further arrays")


def _kernel_recurrence_back(g, a, y, init, dim, flags, acc):
    """Of x and a; and that of x[0] in the accumulator."""
    dx, da, totals = made = _fake_recurrence_back(g, a, y, init, dim, flags, acc)
    _weigh_back(g, a, y, dim, flags, acc, dx, da, totals)
    _end(dx, dim, not flags & REVERSE).copy_(totals)
    of_first = _end(da, dim, not flags & REVERSE)
    if init is None:
        of_first.zero_()
    else:
        of_first.copy_(totals * init)
    return made


def _kernel_product_back(g, x, y, init, dim, flags, acc):
    """Of x, which is its own coefficient; and what that of x[0] is times what comes before it, in the accumulator."""
    dx, totals = made = _fake_product_back(g, x, y, init, dim, flags, acc)
    _weigh_back(g, x, y, dim, flags, acc, None, dx, totals)
    _end(dx, dim, not flags & REVERSE).copy_(totals if init is None else totals * init)
    return made


def libraries():
    """File names of libtorch as it is loaded, and of its CUDA part where torch has one."""
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    cuda = glob.glob(os.path.join(folder, "libtorch_cuda.so")) if torch.version.cuda else []
    return os.path.join(folder, "libtorch_cpu.so"), cuda[0] if cuda else None


_KERNELS = {"_scan": ("scan", _kernel_scan), "_scan_totals": ("scan_totals", _kernel_totals),
            "scan_out": ("scan_out", _kernel_out)}


def _give_kernels():
    cpu, cuda = libraries()
    boxed = {name: kernel for name, (kernel, _) in _KERNELS.items()}
    for key in ("CPU", "CUDA"):
        if _core.box(cpu, cuda, "rowscan", key, boxed) is None:
            for name, (_, kernel) in _KERNELS.items():
                _library.impl(name, kernel, key)


_give_kernels()
for _key in ("CPU", "CUDA"):
    _library.impl("_scan_further", _kernel_further, _key)
    _library.impl("_scan_starts", _kernel_starts, _key)
    _library.impl("_scan_starts_totals", _kernel_starts, _key)
    _library.impl("_scan_back", _kernel_back, _key)
    _library.impl("_scan_back_totals", _kernel_back, _key)
    _library.impl("_recurrence_back", _kernel_recurrence_back, _key)
    _library.impl("_product_back", _kernel_product_back, _key)
_library.impl("_scan_further", _fake_further, "Meta")
_library.impl("_scan_starts", _fake_starts, "Meta")
_library.impl("_scan_starts_totals", _fake_starts, "Meta")
_library.impl("_scan_back", _fake_back, "Meta")
_library.impl("_scan_back_totals", _fake_back, "Meta")
_library.impl("_recurrence_back", _fake_recurrence_back, "Meta")
_library.impl("_product_back", _fake_product_back, "Meta")
# The gradient is _Scan's. Without a word of their own these would warn that they have none.
for _name in ("_scan", "_scan_totals", "_scan_further", "_scan_starts", "_scan_starts_totals", "_scan_back",
              "_scan_back_totals", "_recurrence_back", "_product_back"):
    _library.impl(_name, torch.library.fallthrough_kernel, "Autograd")


def _fake_scan(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None):
    return _new(x, _front(x, dim), op, flags, out_type)


def _fake_totals(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None,
                 totals_type=0):
    dim = _front(x, dim)
    return (_new(x, dim, op, flags, out_type),
            torch.empty(rows_shape(x, dim), dtype=DTYPES[totals_type], device=x.device))


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
        return op_out.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *args, out=out, totals=totals)


def _plain_out(*args, out, totals=None):
    """Torch's own fallback for the negative bit wants operators that return what they write."""
    plain, plain_totals = out.resolve_neg(), totals.resolve_neg() if totals is not None else None
    op_out(*(a.resolve_neg() if isinstance(a, torch.Tensor) else a for a in args), out=plain, totals=plain_totals)
    for written, own in ((plain, out), (plain_totals, totals)):
        if written is not own:
            own.copy_(written)


_library.impl("scan_out", _counted_out, "ADInplaceOrView", with_keyset=True)
_library.impl("scan_out", _plain_out, "Negative")


# ---- gradients -------------------------------------------------------------------------------------------------------

# What a differentiable scan is asked for: x, dim (from the front), op, flags, out_type, acc, mask_mode, mask, init, and
# totals_type, 0 for none; and, of segments beside a mask or coefficients, flags of the elements where the scan begins
# anew, in its own direction. mask and flags have x's shape; init has that of the rows.
X, MASK, INIT, STARTS = 0, 7, 8, 10
CHAINED = PROD, LOGSUMEXP  # operators whose results' changes are a recurrence of those of the elements


def _starts(segments, mode, dim, flags):
    """Segments as flags of that mode."""
    row, reverse = _row(segments), bool(flags & REVERSE)
    if mode == _start_mode(flags) or not row.shape[dim]:
        return segments != 0
    rest = _without(row, dim, reverse, last=1)
    told = rest != (_without(row, dim, reverse, first=1) if mode == KEYS else 0)
    none = torch.zeros_like(_end(row, dim, reverse), dtype=torch.bool)
    return torch.cat([told, none] if reverse else [none, told], dim).reshape(segments.shape)


def _alone(*args):
    if args[STARTS] is not None:
        return op_starts_totals(*args) if args[STARTS - 1] else op_starts(*args)
    args = args[:STARTS]
    return _told(op_totals_alone, _kernel_totals, *args) if args[-1] else _told(op_scan_alone, _kernel_scan, *args[:-1])


def into(*args, **outputs):
    _told(op_out, _kernel_out, *args, **outputs)


def _told(operator, kernel, *args, **outputs):
    """What an operator makes. Its kernel in C throws RuntimeErrors alone; the same scan in Python has others."""
    try:
        return operator(*args, **outputs)
    except RuntimeError:
        if transform() is None and type(args[X]) in PLAIN:
            kernel(*args, **outputs)
        raise


def _sum(x, dim, flags, out_type, acc, mask_mode=0, mask=None, init=None, totals_type=0):
    return differentiable(x, dim, SUM, flags, out_type, acc, mask_mode, mask, init, totals_type)


# What a gradient is made of: what was asked for, with the types of x and of the results, and their shape; what the node
# has saved, None where nothing needs it; which of x, the mask and init want gradients; and _unused() elements.
Node = collections.namedtuple("Node", "dim op flags acc mask_mode kind out_type totals_type shape x mask init y starts "
                                      "wanted unused", defaults=(None, None, None, (True, False, False), None))


def _read(ctx, wanted=None):
    """Reads what is saved once, for hooks of saved tensors, such as a checkpoint's, let nobody read it twice."""
    return usable(Node(*ctx.rowscan, *ctx.saved_tensors, wanted))


def usable(node):
    """A node as it would be without the elements that no result depends on."""
    unused = _unused(node)
    if unused is None:
        return node
    mask = _cleared(unused, node.mask) if _weighs(node.mask_mode) else node.mask
    return node._replace(x=_cleared(unused, node.x), mask=mask, unused=unused)


def _unused(node):
    """Flags of the elements that no result depends on: in an exclusive scan the last one of each segment, and that of
    a row where no total is wanted. None where no gradient is multiplied by elements.
    """
    dim, beside, reverse = node.dim, node.x if node.mask is None else node.mask, bool(node.flags & REVERSE)
    if not node.flags & EXCLUSIVE or not (node.op in CHAINED or _weighs(node.mask_mode)) or not beside.numel():
        return None
    row, starts = _row(beside), _row(node.starts)
    if node.mask_mode in SEGMENTS.values() and node.mask is not None:
        starts = _starts(row, node.mask_mode, dim, node.flags)
    elif starts is None:
        starts = torch.zeros_like(row, dtype=torch.bool)
    end = torch.full_like(_end(starts, dim, reverse), not node.totals_type)
    rest = _without(starts, dim, reverse, first=1)
    return torch.cat([end, rest] if reverse else [rest, end], dim).reshape(beside.shape)


def _cleared(flags, tensor):
    """One with 0 where flags are set: what is there is not looked at, be it NaN."""
    return tensor if flags is None or tensor is None else tensor.masked_fill(flags, 0)


def gradients(node, g, g_totals=None):
    """Of x, mask and init."""
    of_op = (_recurrence_gradients if node.op == RECURRENCE else _chained_gradients if node.op in CHAINED else
             _extreme_gradients if node.op in INDEX_OF else _sum_gradients)
    d, d_mask, d_init = of_op(node, g, g_totals)
    return _cleared(node.unused, d), _cleared(node.unused, d_mask), d_init


def _sum_gradients(node, g, g_totals):
    """The gradient of a sum is the same scan from the other end, which begins with the totals'."""
    dim, flags, acc, kind, init = node.dim, node.flags, node.acc, node.kind, node.init
    of_x, of_mask, of_init = node.wanted
    if node.mask_mode in SEGMENTS.values() and node.mask is not None:
        d, d_init = _segments_gradients(node, node.mask, node.mask_mode, g, g_totals)
        return _kept(node, d) if of_x else None, None, d_init
    if node.starts is not None:
        d, d_init = _segments_gradients(node, node.starts, _start_mode(flags), g, g_totals)
        return *_of_masked(node, _kept(node, d)), d_init
    first = None
    if flags & INCLUDE_INITIAL:
        first, g = _end(g, dim, not flags & REVERSE), _without(g, dim, flags & REVERSE, first=1)
    if g_totals is not None:
        g_totals = g_totals.to(DTYPES[accumulator(SUM, TYPES[g.dtype], kind, acc)])
    d = d_init = None
    if of_x or of_mask:
        wide = accumulator(SUM, TYPES[g.dtype], kind, acc) if of_init else 0
        selects = node.mask_mode == SELECT and not flags & OMIT_NAN and _selects_in_one_scan(node, g, g_totals)
        if selects:
            d = _in_one_scan(node, SUM_GRADIENT, g, node.mask, None, acc, g_totals, wide)
        else:
            d = _sum(g, dim, (flags ^ REVERSE) & ~(INCLUDE_INITIAL | OMIT_NAN), kind, acc, init=g_totals,
                     totals_type=wide)
        if of_init:
            d, d_init = d
    elif of_init:
        d_init = g.sum(dim, keepdim=True)
        if g_totals is not None:
            d_init = d_init + g_totals
    if d_init is not None:
        d_init = (d_init if first is None else d_init + first).reshape(init.shape).to(init.dtype)
    if of_x and selects:
        return d, None, d_init
    return *_of_masked(node, _kept(node, d)), d_init


def _selects_in_one_scan(node, g, g_totals):
    """Whether the gradient of a sum under a mask goes with it."""
    mask = node.mask
    if mask is None or not g.dim() or g.shape != mask.shape or _is_followed(g, g_totals):
        return False
    return mask.dtype in (g.dtype, torch.bool, torch.uint8)


def _of_masked(node, d):
    """The gradients of x and its mask, by those of what the mask leaves of x."""
    of_x, of_mask, _ = node.wanted
    d_mask = d * _kept(node, node.x) if of_mask else None
    if node.mask is not None and d is not None:
        d = d * _kept(node, node.mask) if node.mask_mode == MULTIPLY else torch.where(node.mask != 0, d, 0)
    return d if of_x else None, d_mask


def _kept(node, tensor):
    """One with 0 in the place of elements that were left out of a sum as NaN."""
    x, mask = node.x, node.mask
    if tensor is None or not node.flags & OMIT_NAN or not x.is_floating_point():
        return tensor
    return _cleared((x * mask if node.mask_mode == MULTIPLY and mask is not None else x).isnan(), tensor)


def condition(mask, mask_mode):
    """A mask that is a condition of a type that may lie beside elements of any type, and has no tangents."""
    return mask if _weighs(mask_mode) or mask_mode == KEYS or TYPES[mask.dtype] in FACTORS else mask != 0


def _marks_start(mask_mode, flags):
    """Whether the flag of a scan's first element says that a segment begins with it, and drops an initial value."""
    return mask_mode == _start_mode(flags)


def _segments_gradients(node, mask, mask_mode, g, g_totals):
    """Of a sum by segments, those of elements and init: the same from the other end, whose flags are the same.

    It begins with the totals' gradients, which no flag of its first element drops.
    """
    dim, flags, acc, kind, init = node.dim, node.flags, node.acc, node.kind, node.init
    shape, of_init = mask.shape, node.wanted[2]
    back = (flags ^ REVERSE) & ~(INCLUDE_INITIAL | OMIT_NAN)
    mask, g, g_totals = map(_row, (mask, g, g_totals))
    length, reverse, first = mask.shape[dim], bool(flags & REVERSE), None
    if flags & INCLUDE_INITIAL:
        first = _end(g, dim, not reverse)
        g = _without(g, dim, reverse, first=1)
    kind = kind if is_floating(kind) else TYPES[g.dtype]
    wide = accumulator(SUM, TYPES[g.dtype], kind, acc)
    along = mask
    if g_totals is not None:
        g_totals = g_totals.to(DTYPES[wide])
        if _marks_start(mask_mode, back) and length:
            rest = _without(mask, dim, reverse, last=1)
            zeros = torch.zeros_like(_end(mask, dim, reverse))
            along = torch.cat([zeros, rest] if reverse else [rest, zeros], dim)
    d = _sum(g, dim, back, kind, acc, mask_mode, along, g_totals, wide if of_init else 0)
    d, d_init = d if of_init else (d, None)
    if of_init:
        if _marks_start(mask_mode, flags) and length:
            d_init = torch.where(_end(mask, dim, not reverse) != 0, 0, d_init)
        d_init = (d_init if first is None else d_init + first).reshape(init.shape).to(init.dtype)
    return d.reshape(shape), d_init


def _without(tensor, dim, reverse, first=0, last=0):
    """A tensor without so many elements where a scan begins, and where it ends."""
    return tensor.narrow(dim, last if reverse else first, tensor.shape[dim] - first - last)


def _end(tensor, dim, reverse):
    """The element where a scan ends."""
    return tensor.narrow(dim, 0 if reverse else tensor.shape[dim] - 1, 1)


def _before(y, init, dim, flags, length, identity=0):
    """What a scan with results y has before each element."""
    if flags & EXCLUSIVE or not length:
        return y.narrow(dim, 0, length)
    rest = _without(y, dim, flags & REVERSE, last=1)
    if flags & INCLUDE_INITIAL:
        return rest
    first = rest.new_full(rows_shape(y, dim), identity) if init is None else init.to(y.dtype)
    return torch.cat([rest, first] if flags & REVERSE else [first, rest], dim)


def _row(tensor):
    """One without dimensions is a row of one element."""
    return tensor.reshape(1) if tensor is not None and not tensor.dim() else tensor


def _backwards(a, g, g_totals, dim, flags, acc, of_init, starts=None):
    """Of h[t] = a[t] h[t-1] + x[t]: a recurrence from the other end, s[t] = g[t] + a[t+1] s[t+1], g being h's gradient.

    The gradients of x[t], which is s[t], and, if wanted, of init, which is h[-1]: s[-1]. Nothing goes back to before
    where the recurrence starts, whatever a is there.
    """
    reverse, length = bool(flags & REVERSE), a.shape[dim]
    both = torch.promote_types(g.dtype, a.dtype) if a.is_floating_point() else g.dtype
    wide = DTYPES[accumulator(RECURRENCE, TYPES[both], TYPES[both], acc)]
    g, a = g.to(both), a if a.dtype in (torch.bool, torch.uint8) else a.to(both)
    whole = bool(flags & INCLUDE_INITIAL)
    shifted = not whole and not flags & EXCLUSIVE and length > 0  # s[-1] is not among what follows
    if starts is not None and flags & EXCLUSIVE:  # where these are 0
        g = _cleared(starts, g)
    rest, along, last = g, a, g_totals.to(wide) if g_totals is not None else None
    begins = starts
    if whole or shifted:
        rest, own = _without(g, dim, reverse, last=1), _end(g, dim, reverse).to(wide)
        last = own if last is None else own + last
    if shifted:
        along = _without(a, dim, reverse, first=1)
        begins = _without(starts, dim, reverse, first=1) if starts is not None else None
    s = differentiable(rest, dim, RECURRENCE, flags & REVERSE ^ REVERSE | INCLUDE_INITIAL, TYPES[both], acc,
                       COEFFICIENT, along, last, 0, begins)
    d, d_init = s if shifted else _without(s, dim, reverse, first=1), None
    if of_init:
        d_init = _end(s, dim, not reverse)
        if shifted:
            first = None if starts is None else _end(starts, dim, not reverse)
            d_init = _cleared(first, d_init) * _cleared(first, _end(a, dim, not reverse))
    return d, d_init


def _fits_one_scan(node, g, g_totals, *arrays):
    """Whether an operator of the library makes the gradients of a scan in one of its own.

    Not where that is to be seen, nor of scans that it does not support. The arrays lie beside the results' gradients g.
    """
    plain = not node.flags & (EXCLUSIVE | INCLUDE_INITIAL | OMIT_NAN) and node.starts is None and g_totals is None
    if not plain or not g.dim() or not g.shape[node.dim] or _is_followed(g, *arrays, node.init):
        return False
    return all(array is not None and array.dtype == g.dtype and array.shape == g.shape for array in arrays)


def _in_one_scan(node, op, g, a, b=None, acc=DEFAULT, init=None, totals_type=0):
    """What such an operator makes of g, from the other end, and its total if that is wanted."""
    args = g, a, b, init, node.dim, op, (node.flags ^ REVERSE) & ~INCLUDE_INITIAL, node.kind, acc
    return op_back_totals(*args, totals_type) if totals_type else op_back(*args)


def _of_init(node, last, a):
    """The gradient of an initial value, by that of the first result."""
    return (last * _end(a, node.dim, not node.flags & REVERSE)).reshape(node.init.shape).to(node.init.dtype)


def _recurrence_gradients(node, g, g_totals):
    """Those of x, a and init: a[t] has s[t] h[t-1]."""
    if node.wanted[1] and _fits_one_scan(node, g, g_totals, node.mask, node.y):
        d, d_a, last = op_recurrence_back(g, node.mask, node.y, node.init, node.dim, node.flags, node.acc)
        return (d.to(DTYPES[node.kind]) if node.wanted[0] else None, d_a,
                _of_init(node, last, node.mask) if node.wanted[2] else None)
    dim, flags, shape, (of_x, of_a, of_init) = node.dim, node.flags, node.mask.shape, node.wanted
    a, init, y, starts, g, g_totals = map(_row, (node.mask, node.init, node.y, node.starts, g, g_totals))
    d, d_init = _backwards(a, g, g_totals, dim, flags, node.acc, of_init, starts)
    d_a = None
    if of_a:
        before = _cleared(starts, _before(y, init, dim, flags, a.shape[dim]))
        d_a = (_cleared(starts, d) * before).reshape(shape).to(a.dtype)
    if d_init is not None:
        d_init = d_init.reshape(node.init.shape).to(init.dtype)
    return d.reshape(shape).to(DTYPES[node.kind]) if of_x else None, d_a, d_init


def _recurrence_tangents(node, t_x, t_a, t_init):
    """The same recurrence, of x's tangents and what comes of a's."""
    a, starts, dtype = node.mask, node.starts, DTYPES[node.kind]
    if t_a is not None:
        before = _before(*map(_row, (node.y, node.init)), node.dim, node.flags, _row(a).shape[node.dim])
        moved = (_cleared(starts, t_a) * _cleared(starts, before.reshape(a.shape))).to(dtype)
        t_x = moved if t_x is None else t_x + moved
    elif t_x is None:
        t_x = torch.zeros(a.shape, dtype=dtype, device=a.device)
    return differentiable(t_x, node.dim, node.op, node.flags, node.out_type, node.acc, node.mask_mode, a, t_init,
                          node.totals_type, starts)


def _factor(a, b):
    """exp(a - b) of a <= b: 0 where both are -inf, and 1 where both are inf."""
    return torch.exp(torch.where((a == b) & a.isinf(), a.clamp(max=0), a - b))


def _factors(node):
    """Of y[t], which comes of y[t-1] and x[t], the derivatives by x[t] and y[t-1]; where a mask is, by what it leaves.

    Of y[t] = y[t-1] * x[t] they are y[t-1] and x[t]: no division. Of y[t] = log(exp(y[t-1]) + exp(x[t])) they are
    exp(x[t] - y[t]) and so on: none is more than 1, and where y[t] is -inf both are 0. And of segments, flags of the
    elements that they begin with, which have nothing before them.
    """
    dim, op, flags, acc, mask_mode = node.dim, node.op, node.flags & ~EXCLUSIVE, node.acc, node.mask_mode
    x, mask, init, y = map(_row, (node.x, node.mask, node.init, node.y))
    starts = None
    if y is None:
        wide = accumulator(op, node.kind, node.out_type, acc)
        y = differentiable(x, dim, op, flags, wide, acc, mask_mode, mask, init, 0)
    x, identity = x.to(y.dtype), 1 if op == PROD else -torch.inf
    if mask is not None and mask_mode in SEGMENTS.values():
        starts = _starts(mask, mask_mode, dim, flags)
    elif mask is not None:
        x = x * mask if mask_mode == MULTIPLY else torch.where(mask != 0, x, identity)
    before = _before(y, init, dim, flags, x.shape[dim], identity)
    if starts is not None:
        before = torch.where(starts, identity, before)
    if op == PROD:
        return before, x, starts
    return _factor(x, y), _factor(before, y), starts


def _chained_gradients(node, g, g_totals):
    """y's changes are a recurrence of x's: without quotients, and differences of sums, in which what is small is lost.
    """
    x, mask, init, (wants_x, wants_mask, wants_init) = node.x, node.mask, node.init, node.wanted
    if mask is None and _fits_one_scan(node, g, g_totals, x, node.y):
        if node.op == PROD:
            d, last = op_product_back(g, x, node.y, init, node.dim, node.flags, node.acc)
            return d if wants_x else None, None, _of_init(node, last, x) if wants_init else None
        if not wants_init:
            return _in_one_scan(node, LOGSUMEXP_GRADIENT, g, x, node.y, node.acc), None, None
    of_x, of_y, starts = _factors(node)
    d, d_init = _backwards(of_y, _row(g), _row(g_totals), node.dim, node.flags, node.acc, wants_init, starts)
    d, d_mask = (of_x * d).reshape(x.shape), None
    if wants_mask:
        d_mask = (d * x).to(mask.dtype)
    if mask is not None and starts is None:
        d = d * mask if node.mask_mode == MULTIPLY else torch.where(mask != 0, d, 0)
    if d_init is not None:
        d_init = d_init.reshape(init.shape).to(init.dtype)
    return d.to(x.dtype) if wants_x else None, d_mask, d_init


def _chained_tangents(node, t_x, t_mask, t_init):
    x, mask, acc, out_type, totals_type = node.x, node.mask, node.acc, node.out_type, node.totals_type
    of_x, of_y, starts = _factors(node)
    t_x = torch.zeros_like(x) if t_x is None else t_x
    if mask is not None and starts is None:
        t_x = t_x * mask if node.mask_mode == MULTIPLY else torch.where(mask != 0, t_x, 0)
    if t_mask is not None:
        t_x = t_x + x * t_mask
    moved = of_x * _row(t_x).to(of_x.dtype)
    wide = accumulator(RECURRENCE, TYPES[moved.dtype], out_type, acc)
    t_init = _row(t_init).to(DTYPES[wide]) if t_init is not None else None
    result = differentiable(moved, node.dim, RECURRENCE, node.flags, out_type, acc, COEFFICIENT, of_y, t_init,
                            wide if totals_type else 0, starts)
    if not totals_type:
        return result.reshape(node.shape)
    return result[0].reshape(node.shape), result[1].reshape(rows_shape(x, node.dim)).to(DTYPES[totals_type])


def _where_extremes_are(node):
    """The index of each inclusive result of a maximum or minimum, and whether it is that of the element itself.

    And of segments, flags of the elements that they begin with.
    """
    dim, flags, mask_mode = node.dim, node.flags, node.mask_mode
    x, mask, starts = map(_row, (node.x, node.mask, node.starts))
    length, beside = x.shape[dim], starts
    if mask is not None and mask_mode in SEGMENTS.values():
        mask = starts = _starts(mask, mask_mode, dim, flags)
        mask_mode = _start_mode(flags)
    at = differentiable(x, dim, INDEX_OF[node.op], flags & ~(EXCLUSIVE | INCLUDE_INITIAL), index_type(length), DEFAULT,
                        mask_mode, mask, None, 0, beside)
    own = torch.arange(length, dtype=at.dtype, device=at.device)
    return at, at == own.reshape([-1 if d == dim else 1 for d in range(x.dim())]), starts


def _extreme_gradients(node, g, g_totals):
    """An element has the gradients of all results that it is: those of a run of equal indices, which it begins.

    They are summed up from the scan's end, anew in each run.
    """
    dim, flags, x, reverse = node.dim, node.flags, node.x, bool(node.flags & REVERSE)
    if node.mask is None and _fits_one_scan(node, g, g_totals, x, node.y):
        return _in_one_scan(node, EXTREMUM_GRADIENT, g, x, node.y), None, None
    shape = x.shape
    g, g_totals, length = _row(g), _row(g_totals), _row(x).shape[dim]
    if not length:
        return x.new_zeros(shape), None, None
    at, own, starts = _where_extremes_are(node)
    if flags & INCLUDE_INITIAL:
        g = _without(g, dim, reverse, first=1)
    elif flags & EXCLUSIVE:  # whose results where a segment begins are no element
        g, zeros = _without(_cleared(starts, g), dim, reverse, first=1), torch.zeros_like(_end(g, dim, reverse))
        g = torch.cat([zeros, g] if reverse else [g, zeros], dim)
    if g_totals is not None:
        rest, last = _without(g, dim, reverse, last=1), _end(g, dim, reverse) + g_totals.to(g.dtype)
        g = torch.cat([last, rest] if reverse else [rest, last], dim)
    d = _sum(g, dim, flags & REVERSE ^ REVERSE, node.kind, DEFAULT, KEYS, at)
    return torch.where(own, d, 0).reshape(shape), None, None


def _extreme_tangents(node, t_x):
    """A result has the tangent of the element that it is, which is the sum of a run that has no other."""
    dim, flags, totals_type, reverse = node.dim, node.flags, node.totals_type, bool(node.flags & REVERSE)
    at, own, starts = _where_extremes_are(node)
    y = _sum(torch.where(own, _row(t_x), 0), dim, flags & REVERSE, node.out_type, DEFAULT, KEYS, at)
    zeros = y.new_zeros(rows_shape(y, dim))
    totals = (_end(y, dim, reverse) if y.shape[dim] else zeros).to(DTYPES[totals_type]) if totals_type else None
    if flags & INCLUDE_INITIAL:
        y = torch.cat([y, zeros] if reverse else [zeros, y], dim)
    elif flags & EXCLUSIVE and y.shape[dim]:
        rest = _without(y, dim, reverse, last=1)
        y = _cleared(starts, torch.cat([rest, zeros] if reverse else [zeros, rest], dim))
    y = y.reshape(node.shape)
    return (y, totals.reshape(rows_shape(node.x, dim))) if totals_type else y


def _tangents(node, t_x, t_mask, t_init):
    """A sum is linear in x and init, and in a mask that multiplies."""
    if t_x is None and t_mask is None and t_init is None:
        return (None, None) if node.totals_type else None
    if node.op == RECURRENCE:
        return _recurrence_tangents(node, t_x, t_mask, t_init)
    if node.op in CHAINED:
        return _chained_tangents(node, t_x, t_mask, t_init)
    if node.op in INDEX_OF:
        return _extreme_tangents(node, t_x)
    if node.starts is not None:
        return _masked_tangents(node, _kept(node, t_x), t_mask, t_init)
    return _sum_tangents(node, _kept(node, t_x), t_mask, t_init)


def _sum_tangents(node, t_x, t_mask, t_init):
    rest = node.dim, node.flags & ~OMIT_NAN, node.out_type, node.acc
    totals_type, mask_mode, mask, terms = node.totals_type, node.mask_mode, node.mask, []
    if mask_mode == MULTIPLY:
        mask = _kept(node, mask)
    if mask_mode in SEGMENTS.values() and mask is not None and t_x is None:
        t_x = torch.zeros(mask.shape, dtype=DTYPES[node.kind], device=mask.device)
    if t_x is not None:
        terms.append(_sum(t_x, *rest, mask_mode, mask, t_init, totals_type))
    elif t_init is not None:
        y = t_init.to(DTYPES[node.out_type]).expand(node.shape)
        terms.append((y, t_init) if totals_type else y)
    if t_mask is not None:
        terms.append(_sum(_kept(node, node.x) * t_mask, *rest, totals_type=totals_type))
    if len(terms) == 1:
        return terms[0]
    return tuple(a + b for a, b in zip(*terms)) if totals_type else terms[0] + terms[1]


def _masked_tangents(node, t_x, t_mask, t_init):
    """Of a sum by segments beside a mask: the sum by segments of what the mask leaves."""
    mask, flags = node.mask, node.flags
    moved = torch.zeros(mask.shape, dtype=DTYPES[node.kind], device=mask.device)
    if t_x is not None:
        moved = t_x * _kept(node, mask) if node.mask_mode == MULTIPLY else torch.where(mask != 0, t_x, 0)
    if t_mask is not None:
        moved = moved + _kept(node, node.x) * t_mask
    return _sum(moved, node.dim, flags & ~OMIT_NAN, node.out_type, node.acc, _start_mode(flags), node.starts, t_init,
                node.totals_type)


class _Scan(torch.autograd.Function):
    """A differentiable scan."""

    @staticmethod
    def forward(*args):
        return _alone(*args)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals_type, starts = inputs
        if op in INDICES:
            ctx.mark_non_differentiable(*(output if totals_type else [output]))
            ctx.rowscan, ctx.rowscan_totals = None, totals_type
            return
        if op not in (SUM, RECURRENCE) and op not in CHAINED and op not in INDEX_OF:
            raise Unsupported(f"a scan of operator {OP_NAMES[op]} has no gradient here")
        if op in INDEX_OF:
            beside = starts is not None
            check_extreme(op, TYPES[x.dtype], _row(x).shape[dim], flags, init is not None,
                          beside or mask is not None and mask_mode in SEGMENTS.values(),
                          TYPES[mask.dtype] if beside else None)
        if flags & OMIT_NAN and (op == RECURRENCE or op in CHAINED):
            raise Unsupported(f"a scan of operator {OP_NAMES[op]} has no gradient here with omit_nan")
        y = output[0] if totals_type else output
        ctx.rowscan_whole = bool(totals_type) and is_fixed(acc)  # totals are whole numbers, which have no derivatives
        if ctx.rowscan_whole:
            ctx.mark_non_differentiable(output[1])
        acc = of_changes(acc)
        ctx.rowscan = (dim, op, flags, acc, mask_mode, TYPES[x.dtype], TYPES[y.dtype],
                       0 if ctx.rowscan_whole else totals_type, y.shape)
        weighed = mask_mode in (MULTIPLY, COEFFICIENT) and mask is not None and mask.is_floating_point()
        if op == RECURRENCE:
            keeps_x, keeps_y = False, weighed
        elif op in CHAINED:  # rounded results and exclusive ones are computed anew
            keeps_x, keeps_y = True, not flags & EXCLUSIVE and TYPES[y.dtype] == accumulator(op, TYPES[x.dtype],
                                                                                            TYPES[y.dtype], acc)
        elif op in INDEX_OF:
            keeps_x = True
            keeps_y = mask is None and starts is None and not totals_type and y.dtype == x.dtype and not (
                flags & (EXCLUSIVE | INCLUDE_INITIAL))
        else:
            keeps_x, keeps_y = weighed or flags & OMIT_NAN, False
        saved = x if keeps_x else None, mask, init, y if keeps_y else None, starts
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)

    @staticmethod
    def backward(ctx, g, g_totals=None):
        if ctx.rowscan is not None and ctx.rowscan_whole:
            g_totals = None
        d = d_mask = d_init = None
        if ctx.rowscan is not None:
            wanted = tuple(ctx.needs_input_grad[i] for i in (X, MASK, INIT))
            d, d_mask, d_init = gradients(_read(ctx, wanted), g, g_totals)
        return d, None, None, None, None, None, None, d_mask, d_init, None, None

    @staticmethod
    def jvp(ctx, *tangents):
        if ctx.rowscan is None:
            return (None, None) if ctx.rowscan_totals else None
        moved = _tangents(_read(ctx), tangents[X], tangents[MASK], tangents[INIT])
        return (moved, None) if ctx.rowscan_whole else moved


def _to_front(tensor, dim, size):
    if tensor is None:
        return None
    return tensor.unsqueeze(0).expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def _batched(scan, size, in_dims, x, dim, *rest):
    """A scan of tensors with one more dimension, the batch's, which goes to the front."""
    rank = x.dim() - (in_dims[X] is not None)
    rest = list(rest)
    x = _to_front(x, in_dims[X], size)
    beside = MASK, INIT, *range(STARTS, 2 + len(rest))  # and flags, where there are
    for i in beside:
        rest[i - 2] = _to_front(rest[i - 2], in_dims[i], size)
    dim %= max(rank, 1)
    if not rank:  # a row of one element
        x, dim = x.unsqueeze(1), 0
        for i in beside:
            rest[i - 2] = rest[i - 2].unsqueeze(1) if rest[i - 2] is not None else None
    result = scan(x, dim + 1, *rest)
    results = list(result) if isinstance(result, tuple) else [result]
    if not rank:
        results = [y.squeeze(1) if y.shape[1] == 1 else y for y in results]
    return (tuple(results), (0,) * len(results)) if isinstance(result, tuple) else (results[0], 0)


def wants_gradient(*tensors):
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)


def _weighs(mask_mode):
    """Whether elements are multiplied by a mask. Any other is a condition, which has no gradient, were it floating."""
    return mask_mode in (MULTIPLY, COEFFICIENT)


def changing(x, mask_mode, mask, init, more=(), segment_mode=0):
    """The arrays that results change with: all but conditions, which are masks that select, and flags and keys."""
    return x, mask if _weighs(mask_mode) else None, init, *(more[:-1] if segment_mode else more)


def _is_followed(*tensors):
    """Whether a transform or autograd is to see what is made of these."""
    return transform() is not None or _forward_ad._current_level >= 0 or wants_gradient(*tensors)


def dispatched(*args):
    """The scan as an operator that torch is to see."""
    if len(args) > STARTS and args[STARTS] is not None:
        *before, totals_type, starts = args
        made = op_further(*before, [starts], [], 0, totals_type, _start_mode(args[3]))
        return tuple(made) if totals_type else made[0]
    return op_totals(*args[:STARTS]) if args[STARTS - 1] else op_scan(*args[:STARTS - 1])


class _Below(torch.autograd.function._SingleLevelFunction):
    """At one level of torch.func's transforms, whose next one sees the operator again, with its gradient."""

    setup_context, backward, jvp = (staticmethod(getattr(_Scan, name)) for name in ("setup_context", "backward", "jvp"))

    @staticmethod
    def forward(*args):
        with (torch.enable_grad(), _forward_ad._set_fwd_grad_enabled(True),  # of the next level
              torch._C._AutoDispatchBelowAutograd()):
            return dispatched(*args)


_FRONT = torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode


def differentiable(*args):
    if torch.compiler.is_dynamo_compiling():  # of a backward function, which compiled autograd traces
        return dispatched(*args)
    args = args if len(args) > STARTS else args + (None,)
    if not _is_followed(*changing(args[X], *args[MASK - 1:INIT + 1])):
        return _alone(*args)
    if args[MASK] is not None:
        args = *args[:MASK], condition(args[MASK], args[MASK - 1]), *args[MASK + 1:]
    if transform() is not None:
        if not torch._C._dispatch_tls_is_dispatch_key_excluded(_FRONT):
            return dispatched(*args)
        with enable_single_level_autograd_function():  # the dispatcher has called an operator for one level of them
            return _Below.apply(*args)
    return _Scan.apply(*args)


def _composite_scan(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None):
    return differentiable(x, _front(x, dim), op, flags, out_type, acc, mask_mode, mask, init, 0)


def _composite_totals(x, dim, op=SUM, flags=0, out_type=DEFAULT, acc=DEFAULT, mask_mode=0, mask=None, init=None,
                      totals_type=0):
    return differentiable(x, _front(x, dim), op, flags, out_type, acc, mask_mode, mask, init,
                           totals_type or accumulator(op, TYPES[x.dtype], _out_type(x, op, out_type), acc))


def composite_further(x, dim, op, flags, out_type, acc, mask_mode, mask, init, more, params, second_type, totals_type,
                      segment_mode):
    """The scan alone where that serves; else segments are told in one way, for gradients.

    What a mask leaves out is then the identity: a recurrence has 0 and coefficients of 1 there.
    """
    if not _is_followed(*changing(x, mask_mode, mask, init, more, segment_mode)):
        return op_further_alone(x, dim, op, flags, out_type, acc, mask_mode, mask, init, more, params, second_type,
                                totals_type, segment_mode)
    chained = op in CHAINED and mask_mode == SELECT and segment_mode
    ordered = (op in INDEX_OF or op in INDICES) and mask_mode == SELECT and segment_mode
    if not (op in (SUM, RECURRENCE) or chained or ordered) or second_type:
        raise Unsupported(f"a scan of operator {OP_NAMES[op]} with more, params, second, or segments beside a mask "
                          "has no gradient here, and no transform of torch.func's that wants one")
    if op == RECURRENCE and mask_mode == SELECT:
        left_out = mask == 0
        x, mask, mask_mode = x.masked_fill(left_out, 0), more[0].masked_fill(left_out, 1), COEFFICIENT
    starts = _starts(more[-1], segment_mode, dim, flags) if segment_mode else None
    if chained:
        x = x.masked_fill(mask == 0, 1 if op == PROD else -torch.inf)
        mask, mask_mode, starts = starts, _start_mode(flags), None
    made = differentiable(x, dim, op, flags, out_type, acc, mask_mode, mask, init, totals_type, starts)
    return list(made) if totals_type else [made]


_library.impl("scan", _composite_scan, "CompositeImplicitAutograd")
_library.impl("scan_totals", _composite_totals, "CompositeImplicitAutograd")
_library.impl("scan_further", composite_further, "CompositeImplicitAutograd")


_DEFAULTS = None, None, SUM, 0, DEFAULT, DEFAULT, 0, None, None  # of arguments that torch leaves out


def _vmap_of(scan):
    def vmap(info, in_dims, *args):
        args, in_dims = args + _DEFAULTS[len(args):], in_dims + (None,) * (len(_DEFAULTS) - len(in_dims))
        return _batched(scan, info.batch_size, in_dims, *args)
    return vmap


for _name, _scan in (("scan", op_scan), ("scan_totals", op_totals), ("_scan", op_scan_alone),
                     ("_scan_totals", op_totals_alone), ("_scan_starts", op_starts),
                     ("_scan_starts_totals", op_starts_totals)):
    torch.library.register_vmap("rowscan::" + _name, _vmap_of(_scan), lib=_library)


@torch.library.register_vmap("rowscan::scan_further", lib=_library)
def _vmap_further(info, in_dims, *args):
    """Further inputs come as _batched() has flags where a scan begins anew."""
    before, more, rest = args[:STARTS - 1], args[STARTS - 1], args[STARTS:]

    def scan(*given):
        return tuple(op_further(*given[:STARTS - 1], list(given[STARTS:]), *rest))
    made, at = _batched(scan, info.batch_size, (*in_dims[:STARTS - 1], None, *in_dims[STARTS - 1]), *before, 0, *more)
    return list(made), list(at)


def _vmap_of_back(scan):
    def vmap(info, in_dims, *args):
        arrays = [_to_front(array, at, info.batch_size) for array, at in zip(args[:4], in_dims)]
        dim, *rest = args[4:]
        made = scan(*arrays, dim + 1, *rest)
        return made, (0,) * len(made) if isinstance(made, tuple) else 0
    return vmap


for _name, _scan in (("_scan_back", op_back), ("_scan_back_totals", op_back_totals),
                     ("_recurrence_back", op_recurrence_back), ("_product_back", op_product_back)):
    torch.library.register_vmap("rowscan::" + _name, _vmap_of_back(_scan), lib=_library)


def _functionalized(scan):
    """The same below functionalize, where old versions of torch would call what the operator is made of."""
    key = torch._C.DispatchKeySet(torch._C.DispatchKey.Functionalize)

    def below(tensor):
        if not isinstance(tensor, torch.Tensor) or not torch._is_functional_tensor(tensor):
            return tensor
        torch._sync(tensor)
        return torch._from_functional_tensor(tensor)

    def kernel(*args):
        args = tree_map(below, args)
        with torch._C._ExcludeDispatchKeyGuard(key):
            made = scan(*args)
        return tree_map(torch._to_functional_tensor, made)
    return kernel


for _name, _scan in (("scan", op_scan), ("scan_totals", op_totals), ("scan_further", op_further)):
    _library.impl(_name, _functionalized(_scan), "Functionalize")
