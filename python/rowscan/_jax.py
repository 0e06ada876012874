"""_jax.py - JAX's arrays: an operator of XLA, which works in jit, grad, vmap and what else transforms functions

SPDX-License-Identifier: MIT

A scan is one primitive. Sums and recurrences are linear, and their derivatives are scans again, in the same segments:
forward mode, reverse mode and any order of both; those of logsumexp are recurrences, those of maxima and minima sums by
runs of equal indices. Derivatives of products are those of jax.lax.cumprod.
Results' types are those of jax.numpy.cumsum. Without 64 bits in JAX, initial values and totals of an f64 accumulator
are f32 outside of XLA's call.
"""
import functools
import itertools

import jax
import jax.extend
import jax.ffi
import jax.numpy as jnp
import numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.interpreters import ad, batching, mlir

from . import _core
from ._call import Library
from ._errors import Unsupported
from ._types import (COEFFICIENT, DEFAULT, EXCLUSIVE, FACTORS, HEADS, INCLUDE_INITIAL, INDEX_OF, INDICES, KEYS,
                     LOGSUMEXP, MULTIPLY, NUMBERS, OMIT_NAN, OP_NAMES, PREPARE, PROD, RECURRENCE, REVERSE, SCAN,
                     SEGMENTS, SELECT, SPEC, SUM, TAILS, accumulator, check_extreme, index_type, is_fixed, is_floating,
                     of_changes)

_DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8",
           "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
           "bool": "bool"}
_TARGET = "rowscan"
_MASK, _INIT, _TOTALS, _SECOND = 1, 2, 4, 8  # the attribute "has" of a call: see xla.c

_scan_p = jax.extend.core.Primitive(_TARGET)
_scan_p.multiple_results = True


def _bind(x, mask, init, *, op, flags, dim, mask_mode, number, acc, totals, more=(), params=(), second=0,
          segment_mode=0):
    """[y], and a second output and totals if they have types. dim is counted from the end, so that a batch in front
    changes nothing."""
    given = [a for a in (x, mask, init) if a is not None]
    has = (_MASK if mask is not None else 0) | (_INIT if init is not None else 0) | (_TOTALS if totals else 0)
    return _scan_p.bind(*given, *more, op=op, flags=flags, dim=dim, mask_mode=mask_mode if mask is not None else 0,
                        number=number, acc=acc, totals=totals, params=params, second=second,
                        segment_mode=segment_mode, has=has | (_SECOND if second else 0))


def _operands(given, has):
    """(x, mask, init) of what is given: None for what is not."""
    rest = list(given[1:])
    return given[0], rest.pop(0) if has & _MASK else None, rest.pop(0) if has & _INIT else None


def _more(given, has):
    """Further inputs among what is given."""
    return list(given[1 + bool(has & _MASK) + bool(has & _INIT):])


def _rows(shape, dim):
    """The shape with a scanned dimension of 1, and without it."""
    at = len(shape) + dim
    return shape[:at] + (1,) + shape[at + 1:], shape[:at] + shape[at + 1:]


# ---- the primitive ---------------------------------------------------------------------------------------------------

def _abstract(x, *rest, flags, dim, number, totals, second, **_):
    shape = list(x.shape)
    shape[dim] += 1 if flags & INCLUDE_INITIAL else 0
    made = [x.update(shape=tuple(shape), dtype=library.dtypes[number], weak_type=False)]
    if second:
        made.append(x.update(dtype=library.dtypes[second], weak_type=False))
    if not totals:
        return made
    return [*made, jax.core.ShapedArray(_rows(x.shape, dim)[1], library.dtypes[totals],
                                    **({"vma": x.vma} if getattr(x, "vma", None) else {}))]


@functools.lru_cache(maxsize=4096)
def _compiled(params):
    return jax.jit(lambda *given: _scan_p.bind(*given, **dict(params)))


def _eager(*given, **params):
    return _compiled(tuple(params.items()))(*given)


def _shared_dimensions(avals, dim):
    """How many dimensions in front all arrays have and none scans: those XLA may split between devices."""
    count = avals[0].ndim + dim
    for other in avals[1:]:
        same = 0
        while other.ndim == avals[0].ndim and same < count and other.shape[same] == avals[0].shape[same]:
            same += 1
        count = same
    return count


def _sharding_rule(avals_in, avals_out, shared):
    """For Shardy: the shared dimensions are factors of all arrays, each other dimension is one by itself."""
    names = (chr(ord("i") + n) if n < 18 else f"z_{n - 17}" for n in itertools.count())
    sizes = dict(zip(itertools.islice(names, shared), avals_in[0].shape))
    common = list(sizes)

    def factors(aval):
        own = list(itertools.islice(names, aval.ndim - shared))
        sizes.update(zip(own, aval.shape[shared:]))
        return f"[{', '.join(common + own)}]"
    rule = "->".join(f"({', '.join(map(factors, avals))})" for avals in (avals_in, avals_out))
    return f"#sdy.op_sharding_rule<{rule} {{{', '.join(f'{name}={size}' for name, size in sizes.items())}}}, custom>"


def _converted(operand, dtype):
    """An operand of XLA as f32 or f64, of which JAX may have no arrays."""
    element = (mlir.ir.F64Type if dtype == np.float64 else mlir.ir.F32Type).get()
    kind = mlir.ir.RankedTensorType.get(mlir.ir.RankedTensorType(operand.type).shape, element)
    return mlir.ir.Operation.create("stablehlo.convert", [kind], [operand]).result


def _lower(context, *operands, op, flags, dim, mask_mode, number, acc, totals, has, params, second,
           segment_mode):
    extra, operands = {}, list(operands)
    given, made = list(context.avals_in), list(context.avals_out)
    wide = library.dtypes[accumulator(op, library.numbers[given[0].dtype], number, acc)]
    init_at = 1 + bool(has & _MASK)
    if has & _INIT and given[init_at].dtype != wide:
        given[init_at] = given[init_at].update(dtype=wide)
        operands[init_at] = _converted(operands[init_at], wide)
    if totals:
        made[-1] = made[-1].update(dtype=wide)
    narrow, context = context.avals_out, context.replace(avals_in=given, avals_out=made)
    if getattr(context.module_context.axis_context, "num_devices", 1) != 1:
        ir = mlir.ir
        shared = _shared_dimensions(context.avals_in, dim)
        extra["mhlo.frontend_attributes"] = ir.DictAttr.get({"num_batch_dims": ir.StringAttr.get(str(shared))})
        if getattr(jax.config, "jax_use_shardy_partitioner", False):
            extra["sdy.sharding_rule"] = ir.Attribute.parse(_sharding_rule(context.avals_in, context.avals_out, shared))
    attributes = {"op": op, "flags": flags, "dim": dim, "mask_mode": mask_mode, "acc_type": acc, "has": has,
                  "more": len(_more(operands, has)), "segment_mode": segment_mode}
    numbers = {f"param{i}": np.float64(number) for i, number in enumerate(params)}
    results = jax.ffi.ffi_lowering(_TARGET, extra_attributes=extra)(
        context, *operands, **{name: np.int64(value) for name, value in attributes.items()}, **numbers)
    return [result if a.dtype == b.dtype else _converted(result, b.dtype) for result, a, b in
            zip(results, made, narrow)]


def _batch(given, at, **params):
    has, dim = params["has"], params["dim"]
    x, mask, init = _operands(given, has)
    x_at, mask_at, init_at = _operands(at, has)
    size = next(a.shape[i] for a, i in zip(given, at) if i is not None)
    x = jnp.broadcast_to(x, (size,) + x.shape) if x_at is None else jnp.moveaxis(x, x_at, 0)

    def beside(array, its):  # it broadcasts to x from the end
        if array is None or its is None:
            return array
        array = jnp.moveaxis(array, its, 0)
        return array.reshape(array.shape[:1] + (1,) * (x.ndim - array.ndim) + array.shape[1:])

    mask, init = beside(mask, mask_at), beside(init, init_at)
    more = map(beside, _more(given, has), _more(at, has))
    results = _scan_p.bind(*(a for a in (x, mask, init) if a is not None), *more, **params)
    return results, [0] * len(results)


# ---- derivatives -----------------------------------------------------------------------------------------------------

# Of results that never change, such as indices. JAX 0.10 has no from_primal_value, older ones no typeof.
_zero = getattr(ad.Zero, "from_primal_value", None) or (lambda primal: ad.Zero(jax.typeof(primal).to_tangent_aval()))


def _is_zero(tangent):
    return tangent is None or type(tangent) is ad.Zero


def _jvp(primals, tangents, **params):
    results = _scan_p.bind(*primals, **params)
    if _is_masked_recurrence(params):
        mask = _operands(primals, params["has"])[1]
        primals, tangents = (_unmasked(given, params["has"], mask, factor)
                             for given, factor in ((primals, 1), (tangents, 0)))
        params = {**params, "mask_mode": COEFFICIENT}
    if params["op"] in (PROD, LOGSUMEXP) and params["mask_mode"] == SELECT and params["segment_mode"]:
        primals, tangents, params = _chain_of_the_rest(primals, tangents, params)
    unused = _unused(primals, params)
    if unused is not None:
        primals, tangents = (_usable(unused, given, params) for given in (primals, tangents))
    ordered = (params["op"] in INDEX_OF or params["op"] in INDICES) and params["mask_mode"] == SELECT
    beside = params["segment_mode"] and not params["second"] and (params["op"] in (SUM, RECURRENCE) or ordered)
    if not beside and (params["params"] or params["second"] or _more(primals, params["has"])):
        if any(not _is_zero(tangent) and tangent.dtype != jax.dtypes.float0 for tangent in tangents):
            raise Unsupported(f"a scan of operator {OP_NAMES[params['op']]} with more, params, second, or segments "
                              "beside a mask has no derivative here")
        return results, [_zero(result) for result in results]
    if is_fixed(params["acc"]):  # initial values and totals are whole numbers, which do not change
        params = {**params, "acc": of_changes(params["acc"]), "totals": 0}
    if all(map(_is_zero, tangents)) or not is_floating(params["number"]):
        changes = [None] * len(results)
    elif params["op"] in INDEX_OF:
        changes = _extreme_changes(results, primals, tangents, **params)
    elif params["flags"] & OMIT_NAN:
        changes = _omitting_changes(results, primals, tangents, **params)
    elif params["op"] == LOGSUMEXP or params["op"] == PROD and params["mask_mode"] in SEGMENTS.values():
        changes = _chained_changes(results, primals, tangents, **params)
    elif params["mask_mode"] in SEGMENTS.values():
        changes = _segments_changes(results, primals, tangents, **params)
    elif params["segment_mode"] and params["op"] == SUM:
        changes = _masked_changes(results, primals, tangents, **params)
    elif params["op"] == RECURRENCE:
        changes = _recurrence_changes(results, primals, tangents, **params)
    elif params["op"] not in (SUM, PROD):
        raise Unsupported(f"a scan of operator {OP_NAMES[params['op']]} has no derivative here")
    elif params["op"] == PROD:
        changes = _product_changes(primals, tangents, **params)
    else:
        changes = _sum_changes(results, primals, tangents, **params)
    changes = list(changes) + [None] * (len(results) - len(changes))
    return results, [_zero(a) if b is None else b for a, b in zip(results, changes)]


def _unused(primals, params):
    """Flags of the elements that no result depends on: in an exclusive scan the last one of each segment, and that of
    a row where no total is wanted. None where no derivative is multiplied by elements.
    """
    x, mask, _ = _operands(primals, params["has"])
    dim, flags, mode, beside = params["dim"], params["flags"], params["mask_mode"], params["segment_mode"]
    if not flags & EXCLUSIVE or not x.size or not (params["op"] in (PROD, LOGSUMEXP) or _weighs(mode)):
        return None
    if beside or mode in SEGMENTS.values():
        segments = _more(primals, params["has"])[-1] if beside else mask
        starts = _starts(segments, beside or mode, x.shape, dim, flags)
    else:
        starts = jnp.zeros(x.shape, bool)
    reverse, end = bool(flags & REVERSE), jnp.full(_rows(x.shape, dim)[0], not params["totals"])
    rest = _without(starts, dim, reverse, first=1)
    return jnp.concatenate([end, rest] if reverse else [rest, end], x.ndim + dim)


def _weighs(mask_mode):
    """Whether elements are multiplied by a mask."""
    return mask_mode in (MULTIPLY, COEFFICIENT)


def _usable(unused, given, params):
    """A scan's arrays, or their changes, with 0 in the place of elements that no result depends on."""
    def cleared(array):
        return array if _is_zero(array) or array.dtype == jax.dtypes.float0 else _cleared(unused, array)
    x, mask, init = _operands(given, params["has"])
    mask = cleared(mask) if _weighs(params["mask_mode"]) else mask
    return [cleared(x), *([mask] if params["has"] & _MASK else []), *([init] if params["has"] & _INIT else []),
            *_more(given, params["has"])]


def _is_masked_recurrence(params):
    """Whether coefficients are beside a mask, the first of `more`."""
    return params["op"] == RECURRENCE and params["mask_mode"] == SELECT


def _unmasked(given, has, mask, factor):
    """A recurrence's arrays, or their changes, as without its mask: 0, and `factor` among coefficients, where it is 0.
    """
    def left(array, other):
        if ad.is_undefined_primal(array) or _is_zero(array) or array.dtype == jax.dtypes.float0:
            return array
        return jnp.where(mask != 0, array, jnp.asarray(other, array.dtype))
    x, _, init = _operands(given, has)
    a, *segments = _more(given, has)
    return [left(x, 0), left(a, factor), *([init] if has & _INIT else []), *segments]


def _chain_of_the_rest(primals, tangents, params):
    """A product or logsumexp by segments beside a mask as without it, of the identity where it is 0."""
    has, identity = params["has"], 1 if params["op"] == PROD else -jnp.inf
    (x, mask, init), (dx, _, dinit) = _operands(primals, has), _operands(tangents, has)
    starts = _starts(_more(primals, has)[-1], params["segment_mode"], x.shape, params["dim"], params["flags"])
    left = lambda array, other: jnp.where(mask != 0, array, jnp.asarray(other, array.dtype))
    moved = dx if _is_zero(dx) or dx.dtype == jax.dtypes.float0 else left(dx, 0)
    return ([left(x, identity), starts, *([init] if has & _INIT else [])],
            [moved, None, *([dinit] if has & _INIT else [])],
            {**params, "mask_mode": _start_mode(params["flags"]), "segment_mode": 0})


def _omitting_changes(results, primals, tangents, **params):
    """Of a sum that leaves out what is NaN: that without those elements."""
    if params["op"] != SUM:
        raise Unsupported(f"a scan of operator {OP_NAMES[params['op']]} has no derivative here with omit_nan")
    x, mask, _ = _operands(primals, params["has"])
    if is_floating(library.numbers[x.dtype]):
        multiplies = params["mask_mode"] == MULTIPLY and mask is not None
        nan = jnp.isnan(x * mask if multiplies else x)
        kept = lambda array: jnp.where(nan, jnp.zeros((), array.dtype), array)
        primals = [kept(x), kept(mask), *primals[2:]] if multiplies else [kept(x), *primals[1:]]
        tangents = [tangents[0] if _is_zero(tangents[0]) else kept(tangents[0]), *tangents[1:]]
    changes = (_masked_changes if params["segment_mode"] else
               _segments_changes if params["mask_mode"] in SEGMENTS.values() else _sum_changes)
    return changes(results, primals, tangents, **{**params, "flags": params["flags"] & ~OMIT_NAN})


def _sum_changes(results, primals, tangents, *, has, **params):
    x, mask, _ = _operands(primals, has)
    dx, dmask, dinit = _operands(tangents, has)
    terms = []
    if not _is_zero(dx):
        terms.append(_bind(dx, mask, None, **params))
    if not _is_zero(dmask) and params["mask_mode"] == MULTIPLY:
        terms.append(_bind(x * dmask, None, None, **params))
    if not _is_zero(dinit):
        rows, dropped = _rows(x.shape, params["dim"])
        dinit = jnp.broadcast_to(dinit, rows)
        terms.append([jnp.broadcast_to(dinit, results[0].shape).astype(results[0].dtype), dinit.reshape(dropped)])
    return [functools.reduce(jnp.add, parts) for parts in zip(*terms)] if terms else [None] * len(results)


def _segments_changes(results, primals, tangents, *, has, **params):
    """Of a sum by segments, which is linear in x and the initial values together."""
    if params["op"] != SUM:
        raise Unsupported(f"a scan of operator {OP_NAMES[params['op']]} has no derivative here with heads, tails or "
                          "keys")
    x, mask, _ = _operands(primals, has)
    dx, _, dinit = (None if _is_zero(d) else d for d in _operands(tangents, has))
    if dx is None and dinit is None:
        return [None] * len(results)
    return _bind(jnp.zeros_like(x) if dx is None else dx, mask,
                 jnp.broadcast_to(dinit, _rows(x.shape, params["dim"])[0]) if dinit is not None else None, **params)


def _start_mode(flags):
    """The mode of flags that say where a scan begins anew."""
    return TAILS if flags & REVERSE else HEADS


def _starts(segments, mode, shape, dim, flags):
    """Segments beside a mask or coefficients as flags of that mode, in x's shape."""
    segments, reverse = jnp.broadcast_to(segments, shape), bool(flags & REVERSE)
    if mode == _start_mode(flags) or not shape[dim]:
        return segments != 0
    rest = _without(segments, dim, reverse, last=1)
    told = rest != (_without(segments, dim, reverse, first=1) if mode == KEYS else 0)
    none = jnp.zeros(_rows(shape, dim)[0], bool)
    return jnp.concatenate([told, none] if reverse else [none, told], len(shape) + dim)


def _cleared(flags, array):
    """One with 0 where flags are set: what is there is not looked at, be it NaN."""
    return array if flags is None else jnp.where(flags, jnp.zeros((), array.dtype), array)


def _masked_changes(results, primals, tangents, *, has, segment_mode, **params):
    """Of a sum by segments beside a mask: the sum by segments of what the mask leaves."""
    x, mask, init = _operands(primals, has)
    dx, dmask, dinit = (None if _is_zero(d) else d for d in _operands(tangents, has))
    starts = _starts(_more(primals, has)[-1], segment_mode, x.shape, params["dim"], params["flags"])
    if params["mask_mode"] == MULTIPLY:
        terms = [] if dx is None else [dx * mask.astype(dx.dtype)]
        terms += [] if dmask is None or dmask.dtype == jax.dtypes.float0 else [x * dmask]
    else:
        terms = [] if dx is None else [jnp.where(mask != 0, dx, jnp.zeros((), dx.dtype))]
    moved = functools.reduce(jnp.add, terms) if terms else jnp.zeros_like(x) if dinit is not None else None
    if moved is None:
        return [None] * len(results)
    return _segments_changes(results, [moved, starts, *([init] if has & _INIT else [])],
                             [moved, None, *([tangents[2]] if has & _INIT else [])], has=has, segment_mode=0,
                             **{**params, "mask_mode": _start_mode(params["flags"])})


def _extreme_changes(results, primals, tangents, *, has, **params):
    """A result changes as the element that it is, which begins a run of equal indices: the sum of a run of no other."""
    x, mask, init = _operands(primals, has)
    dx, dim, flags, starts = tangents[0], params["dim"], params["flags"], None
    beside, told = params["segment_mode"], mask is not None and params["mask_mode"] in SEGMENTS.values()
    check_extreme(params["op"], library.numbers[x.dtype], x.shape[dim], flags, init is not None, beside or told,
                  library.numbers[mask.dtype] if beside else None)
    if _is_zero(dx):
        return [None] * len(results)
    if beside:
        starts = _starts(_more(primals, has)[-1], beside, x.shape, dim, flags)
        params = {**params, "segment_mode": _start_mode(flags), "more": (starts,)}
    elif told:
        mask = starts = _starts(mask, params["mask_mode"], x.shape, dim, flags)
        params = {**params, "mask_mode": _start_mode(flags)}
    reverse, kept = bool(flags & REVERSE), flags & ~(EXCLUSIVE | INCLUDE_INITIAL)
    at = _bind(x, mask, None, **{**params, "op": INDEX_OF[params["op"]], "acc": DEFAULT, "totals": 0, "flags": kept,
                                 "number": index_type(x.shape[dim])})[0]
    own = at == jax.lax.broadcasted_iota(at.dtype, x.shape, x.ndim + dim)
    dy = _bind(jnp.where(own, dx, jnp.zeros((), dx.dtype)), at, None, op=SUM, flags=flags & REVERSE, dim=dim,
               mask_mode=KEYS, number=params["number"], acc=DEFAULT, totals=0)[0]
    rows, dropped = _rows(x.shape, dim)
    zeros = jnp.zeros(rows, dy.dtype)
    last = _end(dy, dim, reverse) if x.shape[dim] else zeros
    if flags & INCLUDE_INITIAL:
        dy = jnp.concatenate([dy, zeros] if reverse else [zeros, dy], x.ndim + dim)
    elif flags & EXCLUSIVE:
        dy = _cleared(starts, _before(dy, None, dim, reverse))  # nothing is before the first element of a segment
    return [dy, last.reshape(dropped).astype(results[1].dtype)] if len(results) > 1 else [dy]


def _without(array, dim, reverse, first=0, last=0):
    """An array without so many elements where a scan begins, and where it ends."""
    start, stop = (last, first) if reverse else (first, last)
    return jax.lax.slice_in_dim(array, start, array.shape[dim] - stop, axis=array.ndim + dim)


def _end(array, dim, reverse):
    """The element where a scan ends."""
    return _without(array, dim, reverse, first=array.shape[dim] - 1)


def _repeats(array, dim):
    """Whether all elements of a row are one."""
    return array.ndim < -dim or array.shape[dim] == 1


def _before(y, init, dim, reverse, identity=0):
    """What an inclusive scan with results y has before each element."""
    if not y.shape[dim]:
        return y
    rows = _rows(y.shape, dim)[0]
    first = jnp.full(rows, identity, y.dtype) if init is None else jnp.broadcast_to(init, rows).astype(y.dtype)
    y = _without(y, dim, reverse, last=1)
    return jnp.concatenate([y, first] if reverse else [first, y], y.ndim + dim)


def _recurrence_changes(results, primals, tangents, *, has, **params):
    """The same recurrence, of x's changes and what comes of those of the coefficients."""
    x, mask, init = _operands(primals, has)
    dx, dmask, dinit = (None if _is_zero(d) or not is_floating(library.numbers.get(d.dtype, 0)) else d
                        for d in _operands(tangents, has))
    dim, flags, rows = params["dim"], params["flags"], _rows(x.shape, params["dim"])[0]
    starts, more = None, ()
    if params["segment_mode"]:
        starts = _starts(_more(primals, has)[-1], params["segment_mode"], x.shape, dim, flags)
        more, params["segment_mode"] = (starts,), _start_mode(flags)
    if dmask is not None:
        y, reverse = results[0], bool(flags & REVERSE)
        if flags & INCLUDE_INITIAL:
            y = _without(y, dim, reverse, last=1)
        elif not flags & EXCLUSIVE:
            y = _before(y, init, dim, reverse)
        moved = (_cleared(starts, dmask) * _cleared(starts, y)).astype(x.dtype)
        dx = moved if dx is None else dx + moved
    if dx is None and dinit is None:
        return [None] * len(results)
    return _bind(jnp.zeros_like(x) if dx is None else dx, mask,
                 jnp.broadcast_to(dinit, rows) if dinit is not None else None, more=more, **params)


def _factor(a, b):
    """exp(a - b) of a <= b: 0 where both are -inf, and 1 where both are inf."""
    return jnp.exp(jnp.where((a == b) & jnp.isinf(a), jnp.minimum(a, 0), a - b))


def _chained_changes(results, primals, tangents, *, has, **params):
    """Of y[t] = log(exp(y[t-1]) + exp(x[t])): a recurrence of x's changes, times exp(x[t] - y[t]).

    Its coefficients are exp(y[t-1] - y[t]). No factor is more than 1, and where y[t] is -inf all are 0. Of a product,
    y[t] = y[t-1] * x[t], changes are multiplied by y[t-1], and coefficients are x[t].
    """
    segments, identity, more = params["mask_mode"] in SEGMENTS.values(), 1 if params["op"] == PROD else -jnp.inf, ()
    x, mask, init = _operands(primals, has)
    dx, _, dinit = (None if _is_zero(d) else d for d in _operands(tangents, has))
    dim, flags, y = params["dim"], params["flags"], results[0]
    number = library.narrowed(accumulator(params["op"], library.numbers[x.dtype], params["number"], params["acc"]))
    if flags & EXCLUSIVE or number != params["number"]:
        y = _bind(x, mask, init, **{**params, "flags": flags & ~EXCLUSIVE, "number": number, "totals": 0})[0]
    x = x.astype(y.dtype)
    before = _before(y, init, dim, bool(flags & REVERSE), identity)
    if segments:
        more = _starts(mask, params["mask_mode"], x.shape, dim, flags),
        before = jnp.where(more[0], jnp.asarray(identity, y.dtype), before)
        params["segment_mode"] = _start_mode(flags)
    elif mask is not None:
        x = jnp.where(mask != 0, x, jnp.asarray(identity, y.dtype))
    of_x, along = (before, x) if params["op"] == PROD else (_factor(x, y), _factor(before, y))
    moved = jnp.zeros_like(y) if dx is None else of_x * dx.astype(y.dtype)
    return _bind(moved, along, jnp.broadcast_to(dinit, _rows(x.shape, dim)[0]) if dinit is not None else None,
                 more=more, **{**params, "op": RECURRENCE, "mask_mode": COEFFICIENT})


def _recurrence_transpose(changes, *given, has, dim, flags, mask_mode, acc, segment_mode, **_):
    """Of h[t] = a[t] h[t-1] + x[t] in x and init: from the other end, s[t] = dh[t] + a[t+1] s[t+1].

    x[t] has s[t], and init, which is h[-1], s[-1]. Nothing goes back to before where the recurrence starts, whatever a
    is there.
    """
    x, a, init = _operands(given, has)
    assert not ad.is_undefined_primal(a)
    dy, dtotals = changes if has & _TOTALS else (changes[0], None)
    aval, reverse, whole = x.aval if ad.is_undefined_primal(x) else x, bool(flags & REVERSE), flags & INCLUDE_INITIAL
    length = aval.shape[dim]
    shifted = not whole and not flags & EXCLUSIVE and length > 0  # s[-1] is not among what follows
    dy = jnp.zeros(dy.aval.shape, dy.aval.dtype) if _is_zero(dy) else dy
    both = jnp.promote_types(dy.dtype, a.dtype) if is_floating(library.numbers[a.dtype]) else dy.dtype
    number = library.numbers[jnp.dtype(both)]
    wide = library.dtypes[library.narrowed(accumulator(RECURRENCE, number, number, acc))]
    dy, along = dy.astype(both), a if a.dtype in (np.bool_, np.uint8) else a.astype(both)
    last = None if _is_zero(dtotals) else jnp.expand_dims(dtotals, aval.ndim + dim).astype(wide)
    first = along if _repeats(along, dim) else _end(along, dim, not reverse) if length else None
    starts = _starts(_more(given, has)[-1], segment_mode, aval.shape, dim, flags) if segment_mode else None
    first_starts = _end(starts, dim, not reverse) if segment_mode and length else None
    if flags & EXCLUSIVE:  # where results are 0
        dy = _cleared(starts, dy)
    if whole or shifted:
        own = _end(dy, dim, reverse).astype(wide)
        dy, last = _without(dy, dim, reverse, last=1), own if last is None else own + last
    if shifted and not _repeats(along, dim):
        along = _without(along, dim, reverse, first=1)
    if shifted and segment_mode:
        starts = _without(starts, dim, reverse, first=1)
    back = flags & REVERSE ^ REVERSE | INCLUDE_INITIAL
    s = _bind(dy, along, last, op=RECURRENCE, flags=back, dim=dim, mask_mode=mask_mode, number=number, acc=acc,
              totals=0, more=(starts,) if segment_mode else (),
              segment_mode=_start_mode(back) if segment_mode else 0)[0]
    d = [None] * len(given)
    if ad.is_undefined_primal(x):
        d[0] = (s if shifted else _without(s, dim, reverse, first=1)).astype(aval.dtype)
    if ad.is_undefined_primal(init):
        start = _end(s, dim, not reverse)
        if shifted:
            start = _cleared(first_starts, start) * _cleared(first_starts, first.astype(both))
        d[2] = start.astype(init.aval.dtype)
    return d


def _masked_recurrence_transpose(changes, *given, has, **params):
    """That of one without a mask, which takes nothing back to what is left out."""
    mask = _operands(given, has)[1]
    d = _recurrence_transpose(changes, *_unmasked(given, has, mask, 1), has=has, **{**params, "mask_mode": COEFFICIENT})
    return [d[0] if d[0] is None else _cleared(mask == 0, d[0]), *d[1:], None]


def _transpose(changes, *given, **params):
    """Of what is linear: there, some argument has changes."""
    if all(map(_is_zero, changes)):
        return [ad.Zero(a.aval) if ad.is_undefined_primal(a) else None for a in given]
    transpose = (_masked_recurrence_transpose if _is_masked_recurrence(params) else
                 _recurrence_transpose if params["op"] == RECURRENCE else
                 _masked_transpose if params["segment_mode"] else
                 _segments_transpose if params["mask_mode"] in SEGMENTS.values() else _sum_transpose)
    return transpose(changes, *given, **params)


def _marks_start(mask_mode, flags):
    """Whether the flag of a scan's first element says that a segment begins with it, and drops an initial value."""
    return mask_mode == _start_mode(flags)


def _masked_transpose(changes, *given, has, dim, flags, mask_mode, segment_mode, **params):
    """Of a sum by segments beside a mask: that of a sum by segments, under the same mask."""
    x, mask, init = _operands(given, has)
    assert not ad.is_undefined_primal(mask)
    shape = x.aval.shape if ad.is_undefined_primal(x) else x.shape
    starts = _starts(_more(given, has)[-1], segment_mode, shape, dim, flags)
    d = _segments_transpose(changes, x, starts, *([init] if has & _INIT else []), has=has, dim=dim, flags=flags,
                            mask_mode=_start_mode(flags), **params)
    if d[0] is not None:
        d[0] = d[0] * mask.astype(d[0].dtype) if mask_mode == MULTIPLY else _cleared(mask == 0, d[0])
    return d + [None] * (len(given) - len(d))


def _segments_transpose(changes, *given, has, dim, flags, mask_mode, number, acc, **_):
    """Of a sum by segments in x and init: the same from the other end, whose flags are the same.

    It begins with the totals' changes, which no flag of its first element drops.
    """
    x, mask, init = _operands(given, has)
    assert not ad.is_undefined_primal(mask)
    dy, dtotals = changes if has & _TOTALS else (changes[0], None)
    aval, reverse = x.aval if ad.is_undefined_primal(x) else x, bool(flags & REVERSE)
    back, length = (flags ^ REVERSE) & ~INCLUDE_INITIAL, aval.shape[dim]
    dy = jnp.zeros(dy.aval.shape, dy.aval.dtype) if _is_zero(dy) else dy
    first, last, along = None, None, mask
    if flags & INCLUDE_INITIAL:
        first, dy = _end(dy, dim, not reverse), _without(dy, dim, reverse, first=1)
    if mask_mode != KEYS and library.numbers[mask.dtype] not in FACTORS and mask.dtype != dy.dtype:
        along = mask = mask != 0
    wide = library.narrowed(accumulator(SUM, library.numbers[dy.dtype], number, acc))
    if not _is_zero(dtotals):
        last = jnp.expand_dims(dtotals, aval.ndim + dim).astype(library.dtypes[wide])
        if _marks_start(mask_mode, back) and length:
            along = jnp.broadcast_to(mask, aval.shape)
            rest, zeros = _without(along, dim, reverse, last=1), jnp.zeros_like(_end(along, dim, reverse))
            along = jnp.concatenate([zeros, rest] if reverse else [rest, zeros], along.ndim + dim)
    wants_init = ad.is_undefined_primal(init)
    results = _bind(dy, along, last, op=SUM, flags=back, dim=dim, mask_mode=mask_mode, number=number, acc=acc,
                    totals=wide if wants_init else 0)
    d = [None] * len(given)
    if ad.is_undefined_primal(x):
        d[0] = results[0].astype(aval.dtype)
    if wants_init:
        d_init = jnp.expand_dims(results[1], aval.ndim + dim)
        if _marks_start(mask_mode, flags) and length:
            start = mask if _repeats(mask, dim) else _end(mask, dim, not reverse)
            d_init = jnp.where(start != 0, jnp.zeros((), d_init.dtype), d_init)
        d[-1] = (d_init if first is None else d_init + first).astype(init.aval.dtype)
    return d


def _sum_transpose(changes, *given, has, dim, flags, mask_mode, number, acc, **_):
    """Of a sum in x: backwards a scan from the other end, under the same mask."""
    x, mask, init = _operands(given, has)
    assert ad.is_undefined_primal(x) and not ad.is_undefined_primal(mask) and init is None
    dy, dtotals = changes if has & _TOTALS else (changes[0], None)
    aval, d = x.aval, None
    if not _is_zero(dy):
        if flags & INCLUDE_INITIAL:  # P(0) depends on nothing
            length = aval.shape[dim]
            start = 0 if flags & REVERSE else 1
            dy = jax.lax.slice_in_dim(dy, start, start + length, axis=dy.ndim + dim)
        d = _bind(dy, None, None, op=SUM, flags=(flags ^ REVERSE) & (REVERSE | EXCLUSIVE), dim=dim, mask_mode=0,
                  number=number, acc=acc, totals=0)[0]
    if not _is_zero(dtotals):
        dtotals = jnp.broadcast_to(jnp.expand_dims(dtotals, aval.ndim + dim), aval.shape)
        d = dtotals if d is None else d + dtotals
    if mask is not None:
        d = d * mask.astype(d.dtype) if mask_mode == MULTIPLY else jnp.where(mask != 0, d, jnp.zeros((), d.dtype))
    return [d.astype(aval.dtype)] + [None] * (len(given) - 1)


def _product_changes(primals, tangents, *, has, **params):
    """Of what jax.lax computes, which is right at zeros too."""
    moving = [i for i, tangent in enumerate(tangents) if not _is_zero(tangent)]

    def product(*moved):
        given = list(primals)
        for i, value in zip(moving, moved):
            given[i] = value
        return _product(*_operands(given, has), **params)

    return jax.jvp(product, [primals[i] for i in moving], [tangents[i] for i in moving])[1]


def _product(x, mask, init, *, flags, dim, mask_mode, number, acc, totals, **_):
    wide = library.dtypes[accumulator(PROD, library.numbers[x.dtype], number, acc)]
    x = x.astype(wide if library.has(wide) else library.dtypes[number])
    if mask is not None:
        x = x * mask.astype(x.dtype) if mask_mode == MULTIPLY else jnp.where(mask != 0, x, jnp.ones((), x.dtype))
    axis, reverse, length = x.ndim + dim, bool(flags & REVERSE), x.shape[dim]
    first = jnp.ones(_rows(x.shape, dim)[0], x.dtype)
    y = jax.lax.cumprod(x, axis, reverse=reverse)
    y = jnp.concatenate([y, first] if reverse else [first, y], axis)  # P(0) to P(length)
    last = jax.lax.index_in_dim(y, 0 if reverse else length, axis)
    if not flags & INCLUDE_INITIAL:
        start = int(reverse == bool(flags & EXCLUSIVE))
        y = jax.lax.slice_in_dim(y, start, start + length, axis=axis)
    if init is not None:
        y, last = y * init.astype(x.dtype), last * init.astype(x.dtype)
    y = y.astype(library.dtypes[number])
    return [y, jnp.squeeze(last, axis).astype(library.dtypes[totals])] if totals else [y]


# ---- arrays that are cut along the scanned axis ----------------------------------------------------------------------

sharded_over = None  # the name of an axis of a mesh, while rowscan.distributed calls


def _part(x, mask, static):
    """One device's part of a scan over an axis of the mesh: its record, all records, and a scan that goes on from those
    before. static: (axis, op, flags, dim, mask_mode, number, acc)."""
    axis, op, flags, dim, mask_mode, number, acc = static
    ranks, n = jax.lax.axis_size(axis), x.shape[dim]
    kinds = (library.numbers[x.dtype], number, acc, mask_mode, 0 if mask is None else library.numbers[mask.dtype])
    room = max(_core.record_bytes(op, flags, *kinds, x.shape, dim, r * n, (r + 1) * n) for r in range(ranks))
    given = [x] if mask is None else [x, mask]
    attributes = (("op", op), ("flags", flags), ("dim", dim), ("mask_mode", 0 if mask is None else mask_mode),
                  ("acc_type", acc), ("has", 0 if mask is None else _MASK), ("ranks", ranks), ("out_type", number))
    index = jax.lax.axis_index(axis).astype(jnp.int32)
    record = _part_p.bind(*given, index, part=1, shape=(room,), dtype=np.dtype("uint8"), attributes=attributes)
    return _part_p.bind(*given, jax.lax.all_gather(record, axis), index, part=2, shape=x.shape,
                        dtype=library.dtypes[number], attributes=attributes)


def _part_abstract(x, *rest, part, shape, dtype, attributes):
    like = x if part == 2 else rest[-1]  # a record varies as the index does, and neither is cut
    return like.update(shape=shape, dtype=dtype, weak_type=False)


def _part_lower(context, *operands, part, shape, dtype, attributes):
    return jax.ffi.ffi_lowering(_TARGET)(context, *operands, part=np.int64(part),
                                         **{name: np.int64(value) for name, value in attributes})


_part_p = jax.extend.core.Primitive("rowscan_part")
_part_p.def_abstract_eval(_part_abstract)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _sum_part(x, mask, static, dtype):
    """dtype: x's."""
    return _part(x, mask, static)


def _sum_part_back(static, dtype, mask, g):
    axis, op, flags, dim, mask_mode, number, acc = static
    segments = mask if mask_mode in SEGMENTS.values() else None
    dx = _part(g, segments, (axis, op, flags ^ REVERSE, dim, mask_mode, number, acc))
    if mask_mode == SELECT:
        dx = jnp.where(mask != 0, dx, jnp.zeros((), dx.dtype))
    return dx.astype(dtype), None if mask is None else np.zeros(mask.shape, jax.dtypes.float0)


_sum_part.defvjp(lambda x, mask, static, dtype: (_part(x, mask, static), mask), _sum_part_back)


def _scan_part(s):
    """A scan of which each device of an axis has a part."""
    if s.init is not None or s.totals or s.more or s.params or s.second or s.segment_mode or s.flags & INCLUDE_INITIAL:
        raise NotImplementedError("init, totals, more, params, second, include_initial, and segments beside a mask: "
                                  "scans over an axis of a mesh have none")
    mask = None if s.mask is None else jnp.broadcast_to(s.mask, s.x.shape)
    static = (sharded_over, s.op, s.flags, s.dim - s.x.ndim, s.mask_mode, s.number, s.acc)
    differentiable = s.op == SUM and (mask is None or s.mask_mode != MULTIPLY) and not s.flags & OMIT_NAN
    return _sum_part(s.x, mask, static, s.x.dtype) if differentiable else _part(s.x, mask, static)


# ---- the same without shard_map --------------------------------------------------------------------------------------

# XLA asks how to distribute a scan where its arrays are cut. It gathers what it is not told about.

try:
    from jax._src.dispatch import prim_requires_devices_during_lowering as _with_devices
    from jax.lax import axis_size as _  # of JAX 0.6.1, for _part
    _with_devices.add(_scan_p)
except ImportError:  # then no lowering sees devices, and arrays are gathered
    pass


def _has_parts(context, params):
    """Whether a scan by the primitive has parts, as _scan_part says, and XLA a mesh for them."""
    module, avals = context.module_context, context.avals_in
    axes = module.axis_context
    return (getattr(axes, "device_assignment", None) is not None and getattr(axes, "abstract_mesh", None) is not None
            and axes.num_devices != 1  # and what is exported calls no function back:
            and not getattr(getattr(module, "lowering_parameters", None), "for_export", True)
            and not params["has"] & ~_MASK and not params["params"] and not params["segment_mode"]
            and not params["flags"] & INCLUDE_INITIAL and len(avals) == 1 + bool(params["has"] & _MASK)
            and all(aval.shape == avals[0].shape for aval in avals)
            and any(size > 1 and avals[0].shape[params["dim"]] % size == 0 for size in axes.abstract_mesh.axis_sizes))


@functools.lru_cache(maxsize=4096)
def _partitioned(params):
    """A scan by the primitive as a function that XLA has distributed."""
    static = dict(params)
    dim = static["dim"]

    def whole(*given):
        return _scan_p.bind(*given, **static)[0]

    def partition(mesh, shapes, result):
        spec, axis = list(shapes[0].sharding.spec), shapes[0].sharding.spec[dim]
        if axis is not None and shapes[0].shape[dim] % np.prod([mesh.shape[name] for name in np.atleast_1d(axis)]):
            spec[dim] = axis = None  # XLA would pad the last part
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))

        def part(x, mask=None):
            return _part(x, mask, (axis, *(static[name] for name in ("op", "flags", "dim", "mask_mode", "number",
                                                                     "acc"))))

        return mesh, whole if axis is None else part, sharding, (sharding,) * len(shapes)

    def rule(mesh, given, results):
        factors = " ".join(f"d{i}" for i in range(given[0].rank))
        return f"{', '.join([factors] * len(given))} -> {factors}"

    scan = custom_partitioning(whole)
    scan.def_partition(partition, infer_sharding_from_operands=lambda mesh, shapes, result: shapes[0].sharding,
                       sharding_rule=rule)
    return scan


def _lower_on_cpu(context, *operands, **params):
    """GPUs have no scans of parts yet."""
    if not _has_parts(context, params):
        return _lower(context, *operands, **params)
    scan = _partitioned(tuple(params.items()))
    results = mlir.lower_fun(lambda *given: [scan(*given)], multiple_results=True)(context, *operands)
    # JAX's cache on disk may leave out the number of the function, which is new in each process: this says what it
    # does.
    told = mlir.ir.DictAttr.get({_TARGET: mlir.ir.StringAttr.get(str(params))})
    results[0].owner.attributes["mhlo.frontend_attributes"] = told
    return results


# ---- conventions -----------------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def _standard(op, dtype, wanted, wide):
    """The type of jnp.cumulative_sum's result; `wide` is part of what it depends on."""
    function = jnp.cumulative_prod if op == PROD else jnp.cumulative_sum
    return jax.eval_shape(lambda x: function(x, dtype=wanted), jax.ShapeDtypeStruct((1,), dtype)).dtype


@functools.lru_cache(maxsize=None)
def _canonical(dtype, wide):
    return jax.eval_shape(lambda: jnp.zeros((), dtype)).dtype


class _Jax(Library):

    def array(self, x, what="x"):
        if not isinstance(x, jax.Array):
            raise TypeError(f"{what} is a {type(x).__module__}.{type(x).__qualname__}, not an array of JAX")
        return x

    def is_cut(self):
        return sharded_over is not None

    def may_ask(self):
        return False

    def runs_at_once(self):
        return False

    def wide(self):
        return jnp.result_type(int) == np.int64

    def has(self, dtype):
        """Whether there are arrays of a type: those of 64 bits are an option of JAX."""
        return dtype.itemsize < 8 or self.wide()

    def dtype(self, dtype):
        return _canonical(dtype, self.wide())

    def rows(self, x, dim):
        return (x.reshape(-1), 0) if dim is None else (x, self.normalised(dim, x.ndim))

    def dim_error(self, dim, rank):
        return ValueError(f"axis {dim} is out of bounds for array of dimension {rank}")

    def default(self, kind):
        return self.numbers[jnp.result_type(int)] if kind == NUMBERS["bool"] else kind

    def index(self):
        return self.numbers[jnp.result_type(int)]

    def converts_first(self, kind, wanted):
        """Also without 64 bits, where no totals could have the type that wide integers are summed up in as floating."""
        return super().converts_first(kind, wanted) or (is_floating(wanted) and not is_floating(kind)
                                                        and not self.wide())

    def promote(self, a, b):
        return jnp.promote_types(a, b)

    def of(self, value, number, like, what):
        return super().of(value, None if number is None else self.narrowed(number), like, what)

    def narrowed(self, number):
        """A type, or f32 in the place of f64, where JAX has no arrays of that."""
        return number if self.has(self.dtypes[number]) else NUMBERS["f32"]

    def expand(self, x, shape):
        return x  # the library repeats elements where they lie

    def checked_out(self, x, s, out, wanted):
        if out is not None:
            raise TypeError("out is given, and JAX's arrays are never written")

    def cumulative(self, op, x, axis, dtype, include_initial):
        dtype = _standard(op, self.array(x).dtype, dtype, self.wide())
        return super().cumulative(op, x, axis, dtype, include_initial)

    def settled_fixed(self, s):
        if is_fixed(s.acc) and (s.init is not None or s.totals) and not self.wide():
            raise Unsupported("initial values and totals in fixed point are int64, of which JAX has arrays with "
                              "jax_enable_x64 alone")

    def scan(self, *arguments, wanted=SCAN):
        s = self.settle(*arguments)
        self.settled_fixed(s)
        if wanted == SPEC:
            return self.spec(s)
        if wanted == PREPARE:
            return self.prepare(s)
        if sharded_over is not None:
            return _scan_part(s)
        dim = s.dim - s.x.ndim
        results = _bind(s.x, s.mask, s.init, op=s.op, flags=s.flags, dim=dim, mask_mode=s.mask_mode, number=s.number,
                        acc=s.acc, totals=self.narrowed(s.totals) if s.totals else 0, more=s.more, params=s.params,
                        second=s.second or 0, segment_mode=s.segment_mode)
        return tuple(results) if len(results) > 1 else results[0]

    def spec(self, s):
        """Of arrays that lie as XLA's do; traced ones have a spec, too."""
        from ._numpy import library as numpy

        def stand_in(array):
            numpy.number(array.dtype, "x.dtype")
            return np.empty(array.shape, array.dtype)
        mask = None if s.mask is None else stand_in(s.mask)
        further = (tuple(map(stand_in, s.more)), s.params, s.second, s.segment_mode) if s.has_further() else ()
        return _core.scan_settled(stand_in(s.x), s.dim, s.op, s.flags, s.number, s.acc, s.mask_mode, mask, None, None,
                                  None, SPEC, *further)

    def prepare(self, s):
        """Kernels of a GPU. There is nothing to do for a CPU, and for arrays that are being traced."""
        if isinstance(s.x, jax.core.Tracer) or all(device.platform == "cpu" for device in s.x.devices()):
            return None
        from ._dlpack import library as others
        s.init = None  # no kernel depends on it, and its type may be narrower than the accumulator's
        return others.prepare(s)


library = _Jax(jnp, {NUMBERS[name]: jnp.dtype(dtype) for name, dtype in _DTYPES.items()}, "u64")
_scan_p.def_impl(_eager)
_scan_p.def_abstract_eval(_abstract)
batching.primitive_batchers[_scan_p] = _batch
ad.primitive_jvps[_scan_p] = _jvp
ad.primitive_transposes[_scan_p] = _transpose
for _platform, _gpu in (("cpu", False), ("cuda", True)):
    jax.ffi.register_ffi_target(_TARGET, _core.xla_handler(_gpu), platform={"cuda": "CUDA"}.get(_platform, _platform))
    mlir.register_lowering(_scan_p, _lower if _gpu else _lower_on_cpu, platform=_platform)
    mlir.register_lowering(_part_p, _part_lower, platform=_platform)
jax.ffi.register_ffi_target_as_batch_partitionable(_TARGET)
