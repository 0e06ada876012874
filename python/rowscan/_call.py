"""_call.py - a call as its user wrote it, settled by the conventions of the array's library

SPDX-License-Identifier: MIT

The quick way in C takes plain arrays. What it declines comes here: which library the array is of, what its dimension,
types, mask and initial values mean there. Each library has a module of its own with a class Library that derives from
the one below, and its instance `library`.
"""
import importlib
import operator

from . import _core, _returns
from ._types import (COEFFICIENT, COEFFICIENTS, DEFAULT, EXCLUSIVE, FACTORS, FIXED, FURTHER, HEADS, INCLUDE_INITIAL,
                     INDICES, KEEPING, KEYS, LONE, MASK_MODES, MULTIPLY, NAMES, NUMBERS, OMIT_NAN, OP_NAMES, REVERSE,
                     SCAN, SEGMENTS, SELECT, TIES_FIRST, accumulator, holds, is_floating, is_wide, keys_fit, op_number,
                     rounds)

# By the package that defines an array's type. None of these is imported before one of its arrays is seen.
MODULES = {"numpy": "_numpy", "torch": "_torch", "cupy": "_cupy", "jax": "_jax", "jaxlib": "_jax"}
_library_of_type = {}


def library_of(x, what="x"):
    """The Library that serves x, which its user calls so."""
    found = _library_of_type.get(type(x))
    if found is None:
        found = _library_of_type[type(x)] = _find(x, what)
    return found


def serve(types, library):
    """Arrays of exactly these types need no search, which torch.compile could not trace."""
    _library_of_type.update(dict.fromkeys(types, library))


def _find(x, what):
    for base in type(x).__mro__:
        module = MODULES.get((base.__module__ or "").partition(".")[0])
        if module and base.__name__ not in ("generic",):
            return importlib.import_module("." + module, __package__).library
    if hasattr(x, "__cuda_array_interface__") or hasattr(x, "__dlpack__"):
        return importlib.import_module("._dlpack", __package__).library
    raise TypeError(f"{what} is a {type(x).__module__}.{type(x).__qualname__}, not an array{_way_out(x, what)}: "
                    "rowscan takes those of NumPy, torch, CuPy and JAX, and what has __dlpack__ or "
                    "__cuda_array_interface__")


def _way_out(x, what):
    """What makes an array of a column of a table, a sequence, or a number."""
    if hasattr(x, "to_numpy"):
        return f" ({what}.to_numpy() is one)"
    makes_sense = isinstance(x, (int, float, list, tuple, range)) or hasattr(x, "__array__")
    return f" (numpy.asarray({what}) is one)" if makes_sense else ""


class Settled:
    """A scan of which nothing is left to a convention. Types are the library's numbers.

    Coefficients, and flags and keys of segments, are a mask in all that follows, of a mode of their own. Beside one,
    coefficients are the first of `more`, and flags and keys the last, and have the segment_mode.
    """
    __slots__ = ("x", "dim", "op", "flags", "mask_mode", "number", "acc", "mask", "init", "totals", "out", "more",
                 "params", "second", "segment_mode", "names")

    def has_further(self):
        return len(self.more) > 0 or len(self.params) > 0 or self.second is not None

    def named(self):
        """The arrays that are given, each with what its user calls it."""
        arrays = self.x, self.mask, self.init, self.out, *self.more
        return [(name, array) for name, array in zip(self.names, arrays) if array is not None]


class Library:
    """The conventions of a library of arrays; those of NumPy, where a method is not overridden.

    xp           its module, with NumPy's names
    dtypes       its dtype of each of rowscan's types, by number
    """

    def __init__(self, xp, dtypes, unsigned_sum):
        self.xp, self.dtypes, self.unsigned_sum = xp, dtypes, NUMBERS[unsigned_sum]
        self.numbers = {dtype: number for number, dtype in dtypes.items()}

    # ---- conventions ------------------------------------------------------------------------------------------------

    def array(self, x, what="x"):
        """x itself, or a TypeError that says why it is not served."""
        return x

    def dtype(self, dtype):
        """What a user gave as dtype, in the form that x.dtype has."""
        return self.xp.dtype(dtype)

    def rows(self, x, dim):
        """x and dim as they are scanned; without a dimension NumPy scans all elements as one row."""
        if dim is None:
            return x.reshape(-1), 0
        if not x.ndim:
            x = x.reshape(1)
        return x, self.normalised(dim, x.ndim)

    def normalised(self, dim, rank):
        if not isinstance(dim, int):  # torch.compile traces no index() of numbers that are its own
            try:
                dim = operator.index(dim)
            except TypeError:
                raise TypeError(f"dim is {dim!r}, not an integer") from None
        if not -rank <= dim < rank:
            raise self.dim_error(dim, rank)
        return dim % rank

    def dim_error(self, dim, rank):
        return IndexError(f"dim is {dim}, not in {-rank} to {rank - 1}")

    def result_type(self, op, kind):
        return self.index() if op in INDICES else kind if op in KEEPING else self.default(kind)

    def index(self):
        """The type of an index."""
        return NUMBERS["i64"]

    def default(self, kind):
        """The type of a sum."""
        if is_floating(kind):
            return kind
        return self.unsigned_sum if NAMES[kind].startswith("u") else NUMBERS["i64"]

    def converts_first(self, kind, wanted):
        """Whether elements are converted to the type wanted before they are scanned."""
        return is_floating(kind) and not is_floating(wanted)

    def device(self, x):
        """Equal for arrays on the same device."""
        return None

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def cast(self, x, number):
        return x.astype(self.dtypes[number])

    def of(self, value, number, like, what):
        """value, a number or an array, as an array of a type on the device of another; number None: of its own type."""
        return self.xp.asarray(value, self.dtypes[number] if number is not None else None)

    def expand(self, x, shape):
        return self.xp.broadcast_to(x, shape)

    def empty(self, shape, number, like):
        return self.xp.empty(shape, self.dtypes[number])

    def full(self, value, number, like):
        """A number as an array without dimensions, of a type or, for None, of its own."""
        return self.xp.full((), value, self.dtypes[number] if number is not None else None)

    def cleared(self, where, x):
        """x, and 0 where flags are set."""
        return self.xp.where(where, x.dtype.type(0), x)

    def drop(self, x, dim):
        return self.xp.squeeze(x, dim)

    def runs_at_once(self):
        """Whether a call of the library in C may be made now, and is not to be seen by others."""
        return True

    def may_ask(self):
        """Whether C may be asked, which declines what others are to see."""
        return True

    def is_array(self, x, what="x"):
        return library_of(x, what) is self

    # ---- the scan ----------------------------------------------------------------------------------------------------

    def number(self, dtype, what):
        try:
            return self.numbers[dtype]
        except (KeyError, TypeError):
            raise TypeError(f"{what} is {dtype}, which rowscan has no type for") from None

    def settle(self, op, x, dim, flags, mask, mask_mode, init, totals, dtype, acc, out, more=None, params=None,
               second=False, segments=None, segment_mode=0, coefficient=None, names=None):
        """mask_mode is 0 where its user gave none; names: what x, coefficient and segments are called in messages."""
        s, called, select = Settled(), (names or {}).get, None
        s.op, s.flags = op, flags
        if flags & TIES_FIRST and op not in INDICES:
            raise TypeError(f"ties is 'first', and {OP_NAMES[op]} makes no indices, of which equal elements have two: "
                            "argmax and argmin do, and cummax and cummin with indices=True")
        x, s.dim = self.rows(self.array(x), dim)
        kind = self.number(x.dtype, called("x", "x") + ".dtype")
        wanted = self.number(self.dtype(dtype), "dtype") if dtype is not None else DEFAULT
        s.acc = self.accumulator_number(acc)
        what, own = self.mask_name(op, mask, mask_mode if coefficient is None else COEFFICIENT), DEFAULT
        if mask is not None and not mask_mode:
            mask, mask_mode = self.without_a_word(mask, x)
        if coefficient is not None:
            if mask_mode == MULTIPLY:
                raise ValueError("mask_mode is 'multiply', which has no meaning beside a coefficient: 'select' has")
            mask, mask_mode, select = coefficient, COEFFICIENT, mask
        if mask_mode == COEFFICIENT and rounds(kind, mask):  # which would be another recurrence: 0.999 is 1 in bf16
            x, kind, own = self.cast(x, NUMBERS["f32"]), NUMBERS["f32"], kind
        what, is_segments = called(what, what), what in SEGMENTS
        if mask is not None:
            mask = self.of(mask, None, x, what) if is_segments else self.mask(mask, x, kind, what)
            mask = self.beside(mask, what, x)
            if mask_mode in (MULTIPLY, COEFFICIENT):
                x, kind = self.promoted(x, kind, mask, what)
        if wanted and op not in INDICES and self.converts_first(kind, wanted):
            x, kind = self.cast(x, wanted), wanted
        s.x = x
        s.out = self.checked_out(x, s, out, wanted)
        s.number = wanted or (self.numbers[s.out.dtype] if s.out is not None else own or self.result_type(op, kind))
        accumulator(op, kind, s.number)  # or an error, where there is no such scan
        if init is not None and op in INDICES:
            raise TypeError(f"init is given, and {OP_NAMES[op]} has none")
        wide = accumulator(op, kind, s.number, s.acc) if init is not None or totals else None
        s.mask_mode = mask_mode if mask is not None else SELECT
        s.mask = self.settled_mask(x, kind, mask, mask_mode, what) if mask is not None else None
        if s.mask_mode == KEYS and not keys_fit(op, kind, s.number, s.acc, self.number(s.mask.dtype, "keys.dtype")):
            s.mask, s.mask_mode = self.starts_of(s.mask, s.dim - x.ndim), HEADS
        s.init = self.settled_init(x, wide, init, self.rows_shape(x, s.dim)) if init is not None else None
        s.totals = wide if totals else None
        s.more, s.params = self.settled_more(op, x, kind, more), self.settled_params(op, params)
        s.second = self.second_type(op, kind, s.number) if second else None
        s.names = [called("x", "x"), what, "init", "out", *(f"more[{i}]" for i in range(len(s.more)))]
        self.settle_beside(s, kind, select, segments, segment_mode, called)
        return s

    def settle_beside(self, s, kind, select, segments, segment_mode, called):
        """A mask beside coefficients, and flags or keys beside one in the place of a mask."""
        s.segment_mode = segment_mode
        if select is not None:
            select = self.beside(self.mask(select, s.x, kind, "mask"), "mask", s.x)
            s.names.append(s.names[1])
            s.names[1], s.more = "mask", (s.mask,)
            s.mask, s.mask_mode = self.settled_mask(s.x, kind, select, SELECT, "mask"), SELECT
        if segment_mode:
            what = next(word for word, number in SEGMENTS.items() if number == segment_mode)
            s.names.append(called(what, what))
            segments, s.segment_mode = self.settled_segments(s.x, kind, segments, segment_mode, s.dim, s.names[-1])
            s.more += segments,

    def without_a_word(self, mask, x):
        """A mask for which no mask_mode is given, and its mode: SELECT, unless it may be one of weights."""
        is_number = isinstance(mask, (int, float))
        mask = mask if is_number else self.of(mask, None, x, "mask")
        if isinstance(mask, float) if is_number else is_floating(self.number(mask.dtype, "mask.dtype")):
            raise TypeError(f"mask is floating ({mask if is_number else mask.dtype}), and mask_mode is not given: "
                            "'select' leaves out elements where it is 0, 'multiply' scans x * mask")
        return mask, SELECT

    def settled_segments(self, x, kind, segments, mode, dim, what):
        """Flags or keys beside a mask or coefficients, and their mode; keys of 64 bits become flags."""
        segments = self.settled_mask(x, kind, self.beside(self.of(segments, None, x, what), what, x), mode, what)
        if mode == KEYS and is_wide(self.number(segments.dtype, what + ".dtype")):
            return self.starts_of(segments, dim - x.ndim), HEADS
        return segments, mode

    def settled_more(self, op, x, kind, more):
        """Further inputs in x's shape, of bool, uint8 or x's type."""
        name, count = OP_NAMES[op], FURTHER.get(op, LONE).more
        if more is not None and not isinstance(more, (tuple, list)):
            raise TypeError(f"more is a {type(more).__qualname__}, not a tuple of arrays and numbers")
        if len(more or ()) != count:
            raise TypeError(f"more is {'not given' if more is None else f'a tuple of {len(more)}'}, and {name} has "
                            f"{count} input{'' if count == 1 else 's'} beside x")
        settled = []
        for i, array in enumerate(more or ()):
            what = f"more[{i}]"
            array = self.beside(self.mask(array, x, kind, what), what, x)
            settled.append(self.settled_mask(x, kind, array, COEFFICIENT, what))
        return tuple(settled)

    def settled_params(self, op, params):
        name, count = OP_NAMES[op], FURTHER.get(op, LONE).params
        if params is not None and not isinstance(params, (tuple, list)):
            raise TypeError(f"params is a {type(params).__qualname__}, not a tuple of numbers")
        if len(params or ()) != count:
            raise TypeError(f"params is {'not given' if params is None else f'a tuple of {len(params)}'}, and {name} "
                            f"has {count} number{'' if count == 1 else 's'} of a run")
        return tuple(float(number) for number in params or ())

    def second_type(self, op, kind, number):
        """That of a second output: of an index's an element's, else the first one's."""
        if FURTHER.get(op, LONE).outputs < 2:
            raise TypeError(f"second is True, and {OP_NAMES[op]} has one output")
        return kind if op in INDICES else number

    def accumulator_number(self, acc):
        if acc is None:
            return DEFAULT
        name = acc if isinstance(acc, str) else NAMES[self.number(self.dtype(acc), "acc")]
        name = {"float64": "f64", "double": "f64"}.get(name, name)
        if name not in NUMBERS and name not in FIXED:
            raise ValueError(f"acc is {acc!r}, not one of {', '.join(NUMBERS)}, fixed:0 to fixed:62")
        return NUMBERS.get(name) or FIXED[name]

    def beside(self, array, what, x):
        if self.device(array) != self.device(x):
            raise ValueError(f"{what} is on {self.device(array)}, not on {self.device(x)}")
        return array

    def mask_name(self, op, mask, mode):
        """What messages call the mask, or what is given in its place."""
        name = OP_NAMES[op]
        segments = [word for word, number in SEGMENTS.items() if number == mode and mask is not None]
        if segments and op not in COEFFICIENTS:
            return segments[0]
        if op in COEFFICIENTS:
            if mask is None or mode != COEFFICIENT:
                raise TypeError(f"coefficient is not given, and {name} needs one: a number or an array")
        elif mask is not None and mode == COEFFICIENT:
            raise TypeError(f"coefficient is given, and {name} has none: linear_recurrence has")
        return "coefficient" if op in COEFFICIENTS else "mask"

    def mask(self, mask, x, kind, what):
        """A mask as an array; a number adapts to x's type, unless it is floating or more than a bool, and x is not."""
        adapts = isinstance(mask, bool) or (isinstance(mask, (int, float)) and is_floating(kind)) or (
            isinstance(mask, int) and kind != NUMBERS["bool"])
        if adapts and not holds(kind, mask):
            raise ValueError(f"{what} is {mask}, which x's type, {NAMES[kind]}, does not have")
        return self.of(mask, kind if adapts else None, x, what)

    def promoted(self, x, kind, mask, what):
        """x as x * mask has it: an integer x with a floating mask is scanned as floating."""
        number = self.number(mask.dtype, what + ".dtype")
        if number in (kind, NUMBERS["bool"]):
            return x, kind
        both = self.number(self.promote(x.dtype, mask.dtype), "the type of x * " + what)
        if both == kind or (number in FACTORS and self.default(both) == self.default(kind)):
            return x, kind  # the library multiplies in the accumulator's type, which holds such products
        return self.cast(x, both), both

    def promote(self, a, b):
        return self.xp.promote_types(a, b)

    def settled_mask(self, x, kind, mask, mode, what):
        """The mask in x's shape, of a type that the library takes: bool, uint8 or x's own; of keys any integer."""
        number = self.number(mask.dtype, what + ".dtype")
        if mode == KEYS:
            self.check_keys(number, mask.dtype)
            return self.broadcast(mask, what, tuple(x.shape))
        if mode == COEFFICIENT and is_floating(number) and not is_floating(kind):
            raise TypeError(f"{what} is floating ({mask.dtype}), and the scan goes on in {NAMES[kind]}")
        if number not in FACTORS and number != kind:
            mask = self.cast(mask, kind) if mode in (MULTIPLY, COEFFICIENT) else mask != 0
        return self.broadcast(mask, what, tuple(x.shape))

    def is_cut(self):
        """Whether rows go on elsewhere: see rowscan.distributed."""
        return _core.is_sharded()

    def starts_of(self, keys, dim):
        """beginnings() of whole rows."""
        if self.is_cut():
            raise NotImplementedError(f"keys of {keys.dtype} here: rows that are cut over ranks have none beside a "
                                      "mask or an accumulator of 64 bits")
        return self.beginnings(keys, dim)

    def beginnings(self, keys, dim):
        """Flags of the elements whose keys are not those before them; the first has none before it.

        dim is counted from the end, for keys may have fewer dimensions than x where a library repeats them itself.
        """
        if keys.ndim < -dim or not keys.ndim:
            return keys != keys
        inner = (1,) * (-1 - dim)
        return (self.xp.roll(keys, 1, dim) != keys) & (self.xp.arange(keys.shape[dim]) > 0).reshape((-1,) + inner)

    def check_keys(self, number, dtype):
        if is_floating(number):
            raise TypeError(f"keys.dtype is {dtype}, and keys are integers or bool")

    def settled_init(self, x, wide, init, rows):
        """Initial values, which broadcast to the rows, of the accumulator's type."""
        dtype = getattr(init, "dtype", None)
        floating = isinstance(init, float) if dtype is None else is_floating(self.number(dtype, "init.dtype"))
        if floating and not is_floating(wide):
            raise TypeError(f"init is floating ({init if dtype is None else dtype}), and the scan accumulates in "
                            f"{NAMES[wide]}")
        return self.broadcast(self.beside(self.of(init, wide, x, "init"), "init", x), "init", rows)

    def broadcast(self, array, what, shape):
        own = tuple(array.shape)
        if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(reversed(own), reversed(shape))):
            raise ValueError(f"{what} has shape {own}, which does not broadcast to {shape}")
        return self.expand(array, shape)

    def checked_out(self, x, s, out, wanted):
        if out is None:
            return None
        if not self.is_array(out, "out"):
            raise TypeError(f"out is a {type(out).__qualname__}, x a {type(x).__qualname__}")
        number = self.number(out.dtype, "out.dtype")
        shape = self.out_shape(x, s)
        if tuple(out.shape) != shape:
            raise ValueError(f"out has shape {tuple(out.shape)}, not {shape}")
        if wanted and number != wanted:
            raise TypeError(f"out.dtype is {out.dtype}, dtype is {self.dtypes[wanted]}")
        if is_floating(self.numbers[x.dtype]) and not is_floating(number) and s.op not in INDICES:
            raise TypeError(f"out.dtype is {out.dtype}, which results of {x.dtype} can't be cast to")
        return self.beside(out, "out", x)

    def rows_shape(self, x, dim):
        """One value a row."""
        return tuple(1 if d == dim else extent for d, extent in enumerate(x.shape))

    def out_shape(self, x, s):
        shape = list(x.shape)
        shape[s.dim] += 1 if s.flags & INCLUDE_INITIAL else 0
        return tuple(shape)

    def asked(self, x, dim, op, coefficient, axis, reverse, exclusive, omit_nan, mask, mask_mode, heads, tails, keys,
              init, totals, dtype, acc, out, ties="last", more=None, params=None, second=False, wanted=SCAN):
        """A scan by the arguments of scan(), which C has checked where the call comes from there."""
        dim = self.one_of(dim, axis)
        if mask_mode is not None and mask_mode not in MASK_MODES:
            raise ValueError(f"mask_mode is {mask_mode!r}, not 'select' or 'multiply'")
        if ties not in ("last", "first"):
            raise ValueError(f"ties is {ties!r}, not 'last' or 'first'")
        mask_mode = MASK_MODES[mask_mode] if mask_mode is not None else 0
        if mask is None and coefficient is not None:
            mask, mask_mode, coefficient = coefficient, COEFFICIENT, None
        told = [(name, given) for name, given in (("heads", heads), ("tails", tails), ("keys", keys))
                if given is not None]
        if len(told) > 1:
            raise TypeError(f"{told[0][0]} and {told[1][0]} are given, of which a scan takes one")
        segments, segment_mode = (told[0][1], SEGMENTS[told[0][0]]) if told else (None, 0)
        if told and mask is None:
            mask, mask_mode, segments, segment_mode = segments, segment_mode, None, 0
        flags = (EXCLUSIVE if exclusive else 0) | (REVERSE if reverse else 0) | (OMIT_NAN if omit_nan else 0)
        flags |= TIES_FIRST if ties == "first" else 0
        return self.scan(op_number(op), x, dim, flags, mask, mask_mode, init, bool(totals), dtype, acc, out, more,
                         params, bool(second), segments, segment_mode, coefficient, wanted=wanted)

    def one_of(self, dim, axis):
        if dim is not None and axis is not None:
            raise TypeError("dim and axis are given, which are two names of one argument")
        return axis if dim is None else dim

    def scan(self, *arguments, wanted=SCAN):
        return self.run(self.settle(*arguments), wanted)

    def run(self, s, wanted):
        out = s.out
        if out is None and s.flags & INCLUDE_INITIAL:
            out = self.empty(self.out_shape(s.x, s), s.number, s.x)
        sums = None
        if s.totals is not None and wanted == SCAN:
            sums = self.empty(self.rows_shape(s.x, s.dim), s.totals, s.x)
        second = s.second
        if second is not None and wanted == SCAN:
            second = self.empty(tuple(s.x.shape), s.second, s.x)
        further = (s.more, s.params, second, s.segment_mode) if s.has_further() else ()
        y = _core.scan_settled(s.x, s.dim, s.op, s.flags, s.number, s.acc, s.mask_mode, s.mask, s.init, sums, out,
                               wanted, *further)
        if y is NotImplemented:
            raise TypeError(self.refusal(s))
        return self.results(y, second if wanted == SCAN else None, self.drop(sums, s.dim) if sums is not None else None)

    def results(self, y, second, totals):
        """What a call returns: y alone, or with what else was asked for."""
        others = [array for array in (second, totals) if array is not None]
        return (y, *others) if others else y

    def cumulative(self, op, x, axis, dtype, include_initial):
        """cumulative_sum() and cumulative_prod() of the array API standard."""
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"axis is needed: x has {x.ndim} dimensions")
            axis = 0
        if not include_initial and self.may_ask():
            y = _core.cumulative(x, axis, op, dtype)
            if y is not NotImplemented:
                return y
        flags = INCLUDE_INITIAL if include_initial else 0
        return self.scan(op, x, axis, flags, None, SELECT, None, False, dtype, None, None)

    def discounted_returns(self, *arguments):
        return _returns.discounted_returns(self, *arguments)

    def gae(self, *arguments):
        return _returns.gae(self, *arguments)

    def refusal(self, s):
        """Why the arrays of a settled call can't be scanned as they lie."""
        unseen = [(name, array) for name, array in s.named() if _core.look(array) is None]
        name, array = unseen[0] if unseen else s.named()[0]
        return f"{name} can't be scanned as it lies in memory: {self.lies(array, name)}"

    def lies(self, array, name):
        return f"{type(array).__qualname__} of {array.dtype}"


def call(x, dim, op, flags, mask, mask_mode, init, totals, dtype, acc, out, more, params, second,
         segments=None, segment_mode=0, coefficient=None, wanted=SCAN):
    """What scan(), cumsum() and their like of _core call where the quick way does not serve.

    mask_mode is 0 where none is given. Coefficients are in the place of a mask; beside one they are the last argument.
    """
    return library_of(x).scan(op_number(op), x, dim, flags, mask, mask_mode, init, bool(totals), dtype, acc, out, more,
                              params, bool(second), segments, segment_mode, coefficient, wanted=wanted)


_core.set_python(call)
