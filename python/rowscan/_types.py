"""_types.py - the library's numbers for operators, types, flags and modes, and what it accumulates in

SPDX-License-Identifier: MIT
"""
import collections
import functools
import math
import threading

from . import _core
from ._errors import BadArgument, Unsupported

OPS = _core.ops()  # and those that users make: see create_op
OP_NAMES = {number: name for name, number in OPS.items()}
SUM, PROD, RECURRENCE, WEIGHTED, DECAYED, LOGSUMEXP = map(OPS.get, ("sum", "prod", "linear_recurrence",
                                                                    "weighted_recurrence", "decayed_sum", "logsumexp"))
SUM_GRADIENT, EXTREMUM_GRADIENT, LOGSUMEXP_GRADIENT = map(OPS.get, ("sum_gradient", "extremum_gradient",
                                                                    "logsumexp_gradient"))
COEFFICIENTS = [RECURRENCE]  # operators that have coefficients in the place of a mask
INDICES = OPS["argmax"], OPS["argmin"]
# What operators have besides one array and a mask: further inputs, numbers of a run, and outputs; of most it is LONE.
Further = collections.namedtuple("Further", "more params outputs")
LONE = Further(0, 0, 1)
FURTHER = {OPS["gae"]: Further(4, 2, 2), WEIGHTED: Further(2, 0, 2), DECAYED: Further(0, 1, 1),
           SUM_GRADIENT: Further(1, 0, 2), **dict.fromkeys((EXTREMUM_GRADIENT, LOGSUMEXP_GRADIENT), Further(2, 0, 2)),
           **dict.fromkeys(INDICES, Further(0, 0, 2))}
INDEX_OF = {OPS["max"]: OPS["argmax"], OPS["min"]: OPS["argmin"]}  # what tells where an extreme is
# Functions of one operator and one array each.
FUNCTIONS = {"cum" + name: name for name in OPS if hasattr(_core, "cum" + name)} | {"logcumsumexp": "logsumexp"}
EXCLUSIVE, REVERSE, INCLUDE_INITIAL, OMIT_NAN, TIES_FIRST = 1, 2, 8, 16, 32
SELECT, MULTIPLY, COEFFICIENT, HEADS, TAILS, KEYS = 1, 2, 3, 4, 5, 6
MASK_MODES = {"select": SELECT, "multiply": MULTIPLY}
SEGMENTS = {"heads": HEADS, "tails": TAILS, "keys": KEYS}  # arguments in the place of a mask
SCAN, PREPARE, SPEC = 0, 1, 2  # what a call of _core.scan_settled is wanted for

NAMES = (None, "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool")
NUMBERS = {name: number for number, name in enumerate(NAMES) if name}
FIXED = {f"fixed:{k}": 256 + k for k in range(63)}  # accumulators by the bits after the point: ROWSCAN_FIXED
FIRST_FIXED = FIXED["fixed:0"]
LAST_FLOATING = NUMBERS["f64"]
FACTORS = (NUMBERS["bool"], NUMBERS["u8"])  # types of masks besides x's own
DEFAULT = 0


def is_floating(number):
    return 0 < number <= LAST_FLOATING


def is_fixed(acc):
    return acc >= FIRST_FIXED


def of_changes(acc):
    """The accumulator for derivatives, which may be of any size: no fixed point."""
    return DEFAULT if is_fixed(acc) else acc


def _keeps(name):
    try:
        return _core.complete(f"op={name} in=i8 length=1")[1] == NUMBERS["i8"]
    except (BadArgument, Unsupported):  # it scans no integers
        return False


KEEPING = [op for name, op in OPS.items() if _keeps(name)]  # whose results have the elements' type by default


def index_type(length):
    """The narrowest type of indices in a row: keys of 64 bits are refused beside sums in f64."""
    return NUMBERS["i32" if length < 1 << 31 else "i64"]


@functools.lru_cache(maxsize=None)
def _refusal(spec):
    try:
        _core.complete(spec)
    except (BadArgument, Unsupported) as error:
        return str(error)
    return None


def check_extreme(op, kind, length, flags, has_init, has_starts, mask_kind):
    """Unsupported, where there are no indices to make the gradient of a maximum or minimum of.

    Those are made with flags that say where segments start, beside a mask that selects if that has a type.
    """
    refusal = "initial values have no index" if has_init else None
    if has_starts and not refusal:
        reverse = bool(flags & REVERSE)
        starts = "tails" if reverse else "heads"
        beside = (f"mask=select mask_type={NAMES[mask_kind]} segments={starts} segment_type=bool" if mask_kind else
                  f"mask={starts} mask_type=bool")
        refusal = _refusal(f"op={OP_NAMES[INDEX_OF[op]]} in={NAMES[kind]} out={NAMES[index_type(length)]} length=1 "
                           f"reverse={int(reverse)} {beside}")
    if refusal:
        raise Unsupported(f"this scan of operator {OP_NAMES[op]} has no gradient here: {refusal}")


def holds(number, value):
    """Whether a type has a number, but for rounding."""
    if is_floating(number) or NAMES[number] == "bool":
        return True
    signed, bits = NAMES[number][0] == "i", int(NAMES[number][1:])
    return -(1 << bits - 1) * signed <= value < 1 << bits - signed


def rounds(number, value):
    """Whether a type of 16 bits does not have a number of Python's but for rounding."""
    bits = {NUMBERS["f16"]: 11, NUMBERS["bf16"]: 8}.get(number)
    return bits is not None and isinstance(value, float) and (math.frexp(value)[0] * (1 << bits)) % 1 != 0


def op_number(name):
    """The number of an operator that a user names."""
    if not isinstance(name, str) or name not in OPS:
        raise ValueError(f"op is {name!r}, not one of {', '.join(OPS)}")
    return OPS[name]


def _acc_name(acc):
    return f"fixed:{acc - FIRST_FIXED}" if is_fixed(acc) else NAMES[acc]


def _accumulators(ops):
    """By operator, of those given, types and what is asked for: the type, or how the library refuses such a scan.

    One fixed point is as good as another.
    """
    table = {}
    for name, op in ops.items():
        for kind in NUMBERS.values():
            for number in NUMBERS.values():
                for acc in (DEFAULT, NUMBERS["f32"], NUMBERS["f64"], FIRST_FIXED):
                    text = f"op={name} in={NAMES[kind]} out={NAMES[number]} length=1"
                    text += f" acc={_acc_name(acc)}" if acc else ""
                    try:
                        table[op, kind, number, acc] = _core.complete(text)[2]
                    except (BadArgument, Unsupported) as error:
                        table[op, kind, number, acc] = type(error), str(error)
    return table


_table = None
_growing = threading.Lock()  # of the tables that have rows by operators


def _make_table():
    global _table
    with _growing:
        if _table is None:
            _table = _accumulators(OPS)


def accumulator(op, kind, number, acc=DEFAULT):
    """The type of initial values and totals of scans from type `kind` to `number`, if accumulator `acc` is asked for.

    A table, for torch.compile can't trace a call of the library.
    """
    if _table is None:
        _make_table()
    usual = _table[op, kind, number, DEFAULT]
    found = usual if acc == usual else _table.get((op, kind, number, FIRST_FIXED if is_fixed(acc) else acc))
    if found is None:
        raise Unsupported(f"no scan goes from {NAMES[kind]} to {NAMES[number]} in {_acc_name(acc)}")
    if isinstance(found, tuple):
        error, text = found
        raise error(text.replace(_acc_name(FIRST_FIXED) + " ", _acc_name(acc) + " ") if is_fixed(acc) else text)
    return found


def is_wide(number):
    return NAMES[number].endswith("64")


def _rooms(ops):
    """Whether the library has room for keys beside totals: by operator, and whether those and the keys are wide."""
    table = {}
    for name, op in ops.items():
        for wide, key_wide in ((0, 0), (0, 1), (1, 0), (1, 1)):
            for types in (("i32", "i64"), ("f32", "f64")):
                out = "" if op in INDICES else f"out={types[wide]}"
                spec = f"op={name} in={types[wide]} {out} mask=keys mask_type={('i32', 'i64')[key_wide]} length=1"
                try:
                    _core.complete(spec)
                    table[op, wide, key_wide] = True
                except Unsupported:
                    table[op, wide, key_wide] = False
                except BadArgument:  # an operator of other types
                    continue
    return table


_ROOMS = _rooms(OPS)


def keys_fit(op, kind, number, acc, keys):
    """Whether keys of a type may lie beside the elements of a scan; if not, they are made flags before."""
    wide = is_wide(kind if op in INDICES else accumulator(op, kind, number, acc))
    return _ROOMS[op, int(wide), int(is_wide(keys))]


def create_op(source):
    """The name of an operator of the user's, which is in all of the tables above then."""
    name, op, has_coefficient, *further = _core.create_op(source)
    with _growing:
        if name not in OPS:
            if _table is not None:
                _table.update(_accumulators({name: op}))
            _ROOMS.update(_rooms({name: op}))
            if has_coefficient:
                COEFFICIENTS.append(op)
            FURTHER[op] = Further(*further)
            OP_NAMES[op] = name
            OPS[name] = op
    return name
