"""rowscan.distributed - scans of arrays that are cut over processes along the scanned dimension, with the bits of one

SPDX-License-Identifier: MIT

Each process calls the same function with its own part, of any length, also of none. What processes send one another is
a record of a few totals for each row, by a transport that is there: torch.distributed of any backend, or mpi4py. The
results are, bit for bit, those of one call with all elements, wherever the cuts are.

    y = rowscan.distributed.cumsum(part, dim=-1)                        # under torchrun, the default group
    y = rowscan.distributed.cumsum(part, dim=-1, group=mesh.get_group("context"))
    y = rowscan.distributed.cumsum(array, axis=0, comm=MPI.COMM_WORLD)  # of NumPy, under mpirun

Rank 0 has the first elements in memory, in reverse scans too. Arguments are those of rowscan's functions of the same
names; init is that of the whole rows, the same on each rank. Arrays lie in memory of the host; tensors of torch may
lie on GPUs, where they are scanned.

In shard_map of JAX, axis_name names the axis of the mesh along which dim is cut:

    y = rowscan.distributed.cumsum(x, dim=1, axis_name="context")

A process that holds several parts gives a list of them, and their places among all parts; so it gets results:

    first, last = rowscan.distributed.cumsum([first, last], dim=1, places=[rank, 2 * ranks - 1 - rank])

Gradients: of cumsum (masks that select, segments) and of linear_recurrence without a mask (not in JAX).
Others raise.

DTensor: one that is sharded along the scanned dimension stays so, and nothing is gathered; sharded along others it is
scanned where it is.
"""
import contextlib as _contextlib
import functools as _functools
import math as _math
import sys as _sys

from . import _core
from ._after import after_import as _after_import
from ._ranks import nested as _nested, of_mpi as _of_mpi, of_torch as _of_torch, parts_of as _parts_of
from ._types import NUMBERS, REVERSE, WEIGHTED
from . import cummax as _cummax, cummin as _cummin, cumprod as _cumprod, cumsum as _cumsum
from . import linear_recurrence as _linear_recurrence, logcumsumexp as _logcumsumexp, scan as _scan

__all__ = ["scan", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "linear_recurrence"]


def _is_torch(x):
    torch = _sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _ranks_of(x, group, comm):
    if group is not None and comm is not None:
        raise TypeError("group and comm are two names of one thing: give one of them")
    if comm is not None:
        return _of_mpi(comm)
    if group is not None or _is_torch(x) or x is None:
        return _of_torch(group, x if _is_torch(x) else None)
    raise TypeError(f"comm is missing: give the communicator of mpi4py whose ranks have the parts of x, {type(x)}")


# ---- gradients -------------------------------------------------------------------------------------------------------

def _dim_of(x, dim, axis):
    if dim is not None and axis is not None:
        raise TypeError("dim and axis are two names of one argument: give one of them")
    dim = axis if dim is None else dim
    if dim is None:
        if x.ndim > 1:
            raise TypeError(f"dim is missing: x has {x.ndim} dimensions")
        dim = 0
    return dim


def _wants_gradient(*tensors):
    torch = _sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled() and any(
        isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)


@_functools.lru_cache(maxsize=None)
def _functions():
    """torch.autograd.Function of sums and of recurrences, made when torch is there."""
    import torch
    from ._torch_operators import TYPES

    class Sum(torch.autograd.Function):
        """Gradients of sums are sums from the other end."""
        @staticmethod
        def forward(ctx, x, ranks, dim, flags):
            ctx.ranks, ctx.dim, ctx.flags, ctx.dtype = ranks, dim, flags, x.dtype
            return ranks.run(lambda: _cumsum(x.detach(), dim, **flags))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            kept = ("exclusive", "heads", "tails", "keys")
            flags = {name: value for name, value in ctx.flags.items() if name in kept}
            reverse = not ctx.flags.get("reverse", False)
            gx = ctx.ranks.run(lambda: _cumsum(g.contiguous(), ctx.dim, reverse=reverse, **flags))
            mask = ctx.flags.get("mask")
            gx = gx if mask is None else torch.where(mask.bool(), gx, 0)
            return gx.to(ctx.dtype), None, None, None

    class Recurrence(torch.autograd.Function):
        """s[t] = g[t] + c[t+1] s[t+1] is the gradient of x[t], and s[t] y[t-1] that of c[t]: one scan from the other
        end, as rowscan.linear_recurrence has it, which starts from the last g."""
        @staticmethod
        def forward(ctx, x, c, ranks, dim, reverse):
            y = ranks.run(lambda: _linear_recurrence(x.detach(), c.detach(), dim, reverse=reverse))
            ctx.ranks, ctx.dim, ctx.reverse = ranks, dim % x.ndim, reverse
            ctx.save_for_backward(c, y)
            return y

        @staticmethod
        @torch.autograd.function.once_differentiable
        @torch.autocast("cpu", enabled=False)
        def backward(ctx, g):
            c, y = ctx.saved_tensors
            ranks, dim, back = ctx.ranks, ctx.dim, not ctx.reverse  # back: from the last element to the first
            after, _ = _shifted(ranks, c, dim, back)
            before, is_first = _shifted(ranks, y, dim, not back)
            start, is_last = _end_of_all(ranks, g, dim, back)
            n = g.shape[dim]
            dx, dc = torch.empty_like(g), torch.empty_like(g)
            held, at = n - is_last, int(is_last and not back)  # elements that are scanned; the first of them

            def rest(t):
                return t.narrow(dim, at, held)

            ranks.run(lambda: _core.scan_settled(
                rest(g), dim, WEIGHTED, REVERSE * back, TYPES[g.dtype], NUMBERS["f64"], 0, None, start.double(), None,
                rest(dc), 0, (rest(after), rest(before)), (), rest(dx), 0))
            if is_last:
                last = n - 1 if back else 0
                dx.narrow(dim, last, 1).copy_(start)
                dc.narrow(dim, last, 1).copy_(start * before.narrow(dim, last, 1))
            if is_first:
                dc.narrow(dim, 0 if back else n - 1, 1).zero_()
            return dx, dc, None, None, None

    class Together(torch.autograd.Function):
        """Several parts, whose own functions' backward passes wait for one another: each has a graph of its own, inside
        of this node."""
        @staticmethod
        def forward(ctx, parts, run, options, *tensors):
            n = len(options)
            leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in tensors]

            def work(i, ranks):
                own = {**options[i], "coefficient": leaves[n + i]} if len(leaves) > n else options[i]
                return run(leaves[i], own, ranks)

            ctx.parts, ctx.each, ctx.ys = parts, len(leaves) // n, parts.run(work)
            return tuple(y.detach() for y in ctx.ys)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, *gs):
            # Each part's graph is one node, which is called: autograd has one thread for all of a GPU's nodes, and
            # that thread waits here.
            own = ctx.parts.run(lambda i, ranks: ctx.ys[i].grad_fn.apply(gs[i])[:ctx.each])
            return None, None, None, *(gradient for of_all in zip(*own) for gradient in of_all)

    return Sum, Recurrence, Together


def _edges(ranks, t, dim, last):
    """Of each rank the first or the last elements along dim, or None where it has none."""
    import torch
    n = t.shape[dim]
    edge = t.narrow(dim, n - 1 if last and n else 0, min(n, 1)).contiguous()
    data = edge.view(torch.uint8).cpu().numpy().tobytes() if edge.numel() else b""
    shape = [1 if d == dim else extent for d, extent in enumerate(t.shape)]
    return [torch.frombuffer(bytearray(part), dtype=torch.uint8).view(t.dtype).view(shape).to(t.device) if part else
            None for part in ranks.gather_any(data)]


def _shifted(ranks, t, dim, later):
    """The elements one step later than those of t along dim, or one before, those of other ranks included, and 0
    beyond; and whether this rank has what nothing lies beyond."""
    import torch
    edges = _edges(ranks, t, dim, not later)
    others = edges[ranks.rank + 1:] if later else edges[:ranks.rank][::-1]
    found = next((edge for edge in others if edge is not None), None)
    n = t.shape[dim]
    if not n:
        return t, False
    beyond = torch.zeros_like(t.narrow(dim, 0, 1)) if found is None else found
    rest = t.narrow(dim, 1 if later else 0, n - 1)
    return torch.cat([rest, beyond] if later else [beyond, rest], dim).contiguous(), found is None


def _end_of_all(ranks, t, dim, last):
    """The first or last elements of all ranks' arrays together; and whether they are this rank's."""
    import torch
    edges = _edges(ranks, t, dim, last)
    there = [r for r, edge in enumerate(edges) if edge is not None]
    if not there:
        return torch.zeros_like(t.sum(dim, keepdim=True)), False
    of = there[-1 if last else 0]
    return edges[of], of == ranks.rank


# ---- several parts in a process --------------------------------------------------------------------------------------

_OF_EACH_PART = "coefficient", "mask", "heads", "tails", "keys", "out"


def _of_parts(run, x, places, ranks_of, options):
    """The results of several parts, each of which run() scans on ranks."""
    problem = _problem_of(x, places, options)
    first = next(iter(x), None) if isinstance(x, (list, tuple)) else x
    parts = _parts_of(ranks_of(first), None if problem else list(map(int, places)), problem)
    each = [{name: value[i] if _is_of_parts(name, value) else value for name, value in options.items()}
            for i in range(len(x))]
    if _wants_gradient(*x, *(value for one in each for value in one.values())):
        coefficients = [one.get("coefficient") for one in each]
        return list(_functions()[2].apply(parts, run, each, *x, *coefficients * all(map(_is_torch, coefficients))))

    def work(i, ranks):
        with _sys.modules["torch"].no_grad() if _is_torch(x[i]) else _contextlib.nullcontext():  # is the thread's own
            return run(x[i], each[i], ranks)

    return parts.run(work)


def _is_of_parts(name, value):
    return name in _OF_EACH_PART and isinstance(value, (list, tuple))


def _problem_of(x, places, options):
    """Why they can't be scanned, in words, which all ranks are told; or None."""
    if not isinstance(places, (list, tuple, range)) or not all(isinstance(place, int) for place in places):
        return f"places is {places!r}, not a list of integers"
    if not isinstance(x, (list, tuple)) or not x or len(x) != len(places):
        what = f"a list of {len(x)}" if isinstance(x, (list, tuple)) else f"a {type(x).__name__}"
        return f"places is {places}, so x must be a list of as many parts, at least one, and is {what}"
    if any(_dtensor() and isinstance(part, _dtensor()) or _is_jax(part) for part in x):
        return "places is given, but parts of a DTensor or of an array of JAX have their places already"
    return next((f"{name} has {len(value)} parts, but x has {len(x)}" for name, value in options.items()
                 if _is_of_parts(name, value) and len(value) != len(x)), None)


# ---- DTensor ---------------------------------------------------------------------------------------------------------

def _dtensor():
    torch = _sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available():
        return None
    module = _sys.modules.get("torch.distributed.tensor")
    return module and module.DTensor


def _cut_along(x, dim):
    """The dimensions of a DTensor's mesh that cut dim, in the order in which they cut it.

    They do from the first to the last, but one with a _StridedShard cuts after those behind it whose sizes multiply to
    its split_factor: FSDP beside tensor parallelism has these.
    """
    along, order = [i for i, p in enumerate(x.placements) if getattr(p, "dim", None) == dim], []
    uneven = x.shape[dim] % _math.prod(map(x.device_mesh.size, along))
    for i in reversed(along):
        sizes = [_math.prod(map(x.device_mesh.size, order[:at])) for at in range(len(order) + 1)]
        factor = getattr(x.placements[i], "split_factor", 1)
        if factor not in sizes or factor > 1 and uneven:
            raise NotImplementedError(f"x has the placements {x.placements}: {x.placements[i]!r} of {x.shape[dim]} "
                                      "elements may have parts that lie apart")
        order.insert(sizes.index(factor), i)
    return order


def _of_dtensor(run, plain, x, dim, options):
    """Of a DTensor: on the groups of those dimensions of its mesh that cut the scanned one, or where it is."""
    from torch.distributed.tensor import DTensor
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"dim is {dim}, and x has {x.ndim} dimensions")
    dim %= x.ndim
    if any(p.is_partial() for p in x.placements):
        raise NotImplementedError(f"x has the placements {x.placements}: redistribute() what is Partial first")
    along = _cut_along(x, dim)
    for name, value in options.items():
        if name in ("totals", "out", "init", "second") and value is not None and value is not False:
            raise NotImplementedError(f"{name} is given, and scans of a DTensor have none")
        if isinstance(value, DTensor):
            if list(map(repr, value.placements)) != list(map(repr, x.placements)):  # of 2.6, == is not of all they say
                raise ValueError(f"{name} has the placements {value.placements}, and x {x.placements}")
            options[name] = value.to_local()
    if along:
        ranks = _functools.reduce(_nested, [_of_torch(x.device_mesh.get_group(i), x) for i in along])
        y = _told(run, x.to_local(), dim, ranks, options)
    else:
        y = plain(x.to_local(), dim, **options)
    stride = [1]
    for extent in x.shape[:0:-1]:
        stride.insert(0, stride[0] * max(extent, 1))

    def whole(t):
        return DTensor.from_local(t, x.device_mesh, x.placements, run_check=False, shape=x.shape, stride=tuple(stride))

    return type(y)(map(whole, y)) if isinstance(y, tuple) else whole(y)


def _of_torchs(name, function, x, dim, dtype=None):
    """torch.cumsum(x, dim, dtype=dtype) and the others of a DTensor, which are cut over ranks or where they are;
    NotImplemented: gradients, or a tensor, that torch alone serves. function: torch's own."""
    cut = _TORCHS[name]
    options = {} if dtype is None else {"dtype": dtype}
    try:
        along = _cut_along(x, dim % x.ndim)
    except NotImplementedError:
        return NotImplemented
    if along and (_wants_gradient(x) and (name != "cumsum" or dtype not in (None, x.dtype))):
        return NotImplemented
    differentiable = lambda x, dim, ranks, _: _differentiate_sum(x, dim, ranks, {})  # noqa: E731
    return _of_dtensor(_runner(cut, differentiable), function, x, dim, options)


_TORCHS = {"cumsum": _cumsum, "cumprod": _cumprod, "logcumsumexp": _logcumsumexp,
           "cummax": lambda x, dim: _sys.modules["torch"].return_types.cummax(_cummax(x, dim, indices=True)),
           "cummin": lambda x, dim: _sys.modules["torch"].return_types.cummin(_cummin(x, dim, indices=True))}


# ---- the functions ---------------------------------------------------------------------------------------------------

def _is_jax(x):
    jax = _sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def _over_axis(plain, x, dim, axis_name, options):
    """Of an array of JAX in shard_map: each device of an axis of the mesh has a part of the same length."""
    from . import _jax
    outer, _jax.sharded_over = _jax.sharded_over, axis_name
    try:
        return plain(x, dim, **options)
    finally:
        _jax.sharded_over = outer


def _told(run, x, dim, ranks, options):
    """run(), whose exceptions are raised on the other ranks, too."""
    try:
        return run(x, dim, ranks, options)
    except Exception as error:
        ranks.tell(error)
        raise


def _runner(plain, differentiable):
    """A scan of one rank's part, by the function that has its gradients where they are wanted."""
    def run(x, dim, ranks, options):
        if _wants_gradient(x, *options.values()):
            if differentiable is None:
                raise NotImplementedError("gradients of arrays that are cut over ranks: of cumsum and "
                                          "linear_recurrence alone; detach() x")
            return differentiable(x, dim, ranks, options)
        return ranks.run(lambda: plain(x, dim, **options))

    return run


def _run(plain, x, dim, axis, group, comm, options, differentiable=None):
    run, places = _runner(plain, differentiable), options.pop("places", None)

    def run_along(x, dim, ranks, options):
        return run(x, _dim_of(x, dim, axis), ranks, options)

    if places is not None:
        return _of_parts(lambda x, options, ranks: _told(run_along, x, dim, ranks, options), x, places,
                         lambda x: _ranks_of(x, group, comm), options)
    axis_name = options.pop("axis_name", None)
    if _is_jax(x) != (axis_name is not None):
        raise TypeError("axis_name is for arrays of JAX, in shard_map, and these need it")
    if axis_name is not None:
        return _over_axis(plain, x, _dim_of(x, dim, axis), axis_name, options)

    tensor = _dtensor()
    if tensor and isinstance(x, tensor):
        if group is not None or comm is not None:
            raise TypeError("x is a DTensor, whose mesh has the group: give neither group nor comm")
        return _of_dtensor(run, plain, x, _dim_of(x, dim, axis), dict(options))
    return _told(run_along, x, dim, _ranks_of(x, group, comm), options)


def _leave_out():
    """torch.compile breaks its graph at these functions: what they call back was traced as if rows were whole."""
    global _run
    _run = _sys.modules["torch"].compiler.disable(_run)


_after_import("torch._dynamo", _leave_out)


def _refuse(x, options, served, what):
    if not x.ndim:
        raise NotImplementedError("x has no dimension, and gradients of arrays that are cut over ranks need one")
    for name, value in options.items():
        if name not in served and value is not None and value is not False:
            raise NotImplementedError(f"{name}: gradients of {what} that are cut over ranks have "
                                      f"{', '.join(served)} alone")


def _differentiate_sum(x, dim, ranks, options):
    options = {name: value for name, value in options.items() if (name, value) != ("mask_mode", "select")}
    _refuse(x, options, ("reverse", "exclusive", "mask", "heads", "tails", "keys"), "sums")
    mask = options.get("mask")
    if mask is not None and (not _is_torch(mask) or mask.dtype.is_floating_point):
        raise NotImplementedError("mask: gradients of sums that are cut over ranks have tensors of integers or bool")
    return _functions()[0].apply(x, ranks, dim, options)


def cumsum(x, dim=None, *, axis=None, group=None, comm=None, **options):
    """rowscan.cumsum of arrays that are cut along dim: over the ranks of a group of torch or of a communicator of
    mpi4py, or over an axis of a mesh of JAX, axis_name=. With places=, x is a list of this rank's parts."""
    return _run(_cumsum, x, dim, axis, group, comm, options, _differentiate_sum)


def cumprod(x, dim=None, *, axis=None, group=None, comm=None, **options):
    """rowscan.cumprod of arrays that are cut along dim: see cumsum."""
    return _run(_cumprod, x, dim, axis, group, comm, options)


def cummax(x, dim=None, *, axis=None, group=None, comm=None, **options):
    """rowscan.cummax of arrays that are cut along dim: see cumsum. Indices are those in the whole rows."""
    return _run(_cummax, x, dim, axis, group, comm, options)


def cummin(x, dim=None, *, axis=None, group=None, comm=None, **options):
    """rowscan.cummin of arrays that are cut along dim: see cumsum. Indices are those in the whole rows."""
    return _run(_cummin, x, dim, axis, group, comm, options)


def logcumsumexp(x, dim=None, *, axis=None, group=None, comm=None, **options):
    """rowscan.logcumsumexp of arrays that are cut along dim: see cumsum."""
    return _run(_logcumsumexp, x, dim, axis, group, comm, options)


def linear_recurrence(x, coefficient, dim=None, *, axis=None, group=None, comm=None, **options):
    """rowscan.linear_recurrence of arrays that are cut along dim: see cumsum. Coefficients are cut like x."""
    def plain(x, dim, coefficient, **options):
        return _linear_recurrence(x, coefficient, dim, **options)

    def differentiable(x, dim, ranks, options):
        _refuse(x, options, ("reverse", "coefficient"), "recurrences")
        c = options["coefficient"]
        if not _is_torch(c) or c.shape != x.shape or c.dtype != x.dtype:
            raise NotImplementedError("coefficient: gradients of recurrences that are cut over ranks want one of x's "
                                      "shape and dtype")
        return _functions()[1].apply(x, c, ranks, dim, options.get("reverse", False))

    return _run(plain, x, dim, axis, group, comm, {"coefficient": coefficient, **options}, differentiable)


def scan(x, dim=None, op="sum", *, axis=None, group=None, comm=None, **options):
    """rowscan.scan of arrays that are cut along dim: see cumsum."""
    def plain(x, dim, **options):
        return _scan(x, dim, op, **options)

    return _run(plain, x, dim, axis, group, comm, options)
