/*
 * call.c - scan(), cumsum() and their like: arguments as users write them, the quick way, and what is left to Python
 * SPDX-License-Identifier: MIT
 */
#include "call.h"

#include <string.h>

#include "torch.h"

static PyObject *python; /* (x, dim, op, flags, mask, mask_mode, init, totals, dtype, acc, out, more, params, second,
                            segments, segment_mode, coefficient) */

/* ---- the quick way ----------------------------------------------------------------------------------------------- */

PyObject *rp_call_quick(rp_call *call) {
  const rp_kind *kind = rp_kind_of(call->x, false);
  if (!kind)
    Py_RETURN_NOTIMPLEMENTED;
  rp_guard guard = kind->torch ? rp_torch_guard(call, kind) : RP_GUARD_PLAIN;
  if (guard == RP_GUARD_FAILED)
    return NULL;
  if (guard == RP_GUARD_OTHER)
    Py_RETURN_NOTIMPLEMENTED;
  PyObject *y = rp_scan(call, kind);
  if (!y || y == Py_NotImplemented || !kind->torch)
    return y;
  if (guard == RP_GUARD_GRADIENT)
    return rp_torch_record(call, y);
  if (call->out != Py_None && !rp_torch_written(y)) {
    Py_DECREF(y);
    return NULL;
  }
  return y;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

enum {
  X,
  DIM,
  OP,
  COEFFICIENT,
  AXIS,
  REVERSE,
  EXCLUSIVE,
  OMIT_NAN,
  MASK,
  MASK_MODE,
  HEADS,
  TAILS,
  KEYS,
  INIT,
  TOTALS,
  DTYPE,
  ACC,
  OUT,
  INDICES,
  TIES,
  MORE,
  PARAMS,
  SECOND,
  ARGUMENTS
};
static const char *const argument_names[ARGUMENTS] = {
    "x",    "dim",       "op",      "coefficient", "axis", "reverse", "exclusive", "omit_nan",
    "mask", "mask_mode", "heads",   "tails",       "keys", "init",    "totals",    "dtype",
    "acc",  "out",       "indices", "ties",        "more", "params",  "second"};
static PyObject *interned[ARGUMENTS];

/* Which arguments a function takes by position, and which not at all. */
typedef struct form {
  const char *words;
  int count, positions[3];
  unsigned lacks; /* bits by argument */
} form;

#define FURTHER_ARGUMENTS (1u << MORE | 1u << PARAMS | 1u << SECOND)
static const form of_one = {"x and dim",
                            2,
                            {X, DIM},
                            1u << OP | 1u << COEFFICIENT | 1u << INDICES | 1u << TIES | FURTHER_ARGUMENTS},
                  of_order = {"x and dim", 2, {X, DIM}, 1u << OP | 1u << COEFFICIENT | FURTHER_ARGUMENTS},
                  of_any = {"x, dim and op", 3, {X, DIM, OP}, 1u << INDICES},
                  of_recurrence = {"x, coefficient and dim",
                                   3,
                                   {X, COEFFICIENT, DIM},
                                   1u << OP | 1u << INDICES | 1u << TIES | FURTHER_ARGUMENTS};

static const form *form_of(rowscan_op op) {
  return rp_op_has_coefficient(op) ? &of_recurrence : op == ROWSCAN_MAX || op == ROWSCAN_MIN ? &of_order : &of_one;
}

static int argument_of(PyObject *name) {
  for (int i = 0; i < ARGUMENTS; i++)
    if (name == interned[i])
      return i;
  for (int i = 0; i < ARGUMENTS; i++)
    if (!PyUnicode_CompareWithASCIIString(name, argument_names[i]))
      return i;
  return -1;
}

/* All of them, borrowed; NULL where one is not given. */
static bool take_arguments(PyObject **to, const char *function, const form *form, PyObject *const *args,
                           Py_ssize_t count, PyObject *names) {
  if (count > form->count) {
    PyErr_Format(PyExc_TypeError, "%s() takes %s by position, and was given %zd", function, form->words, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++)
    to[form->positions[i]] = args[i];
  for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++) {
    PyObject *name = PyTuple_GetItem(names, i);
    int at = argument_of(name);
    bool known = at >= 0 && !(form->lacks >> at & 1);
    if (!known || to[at]) {
      PyErr_Format(PyExc_TypeError, !known ? "%s() has no argument %R" : "%s() got two values for %R", function, name);
      return false;
    }
    to[at] = args[count + i];
  }
  if (!to[X])
    PyErr_Format(PyExc_TypeError, "%s() needs x, an array", function);
  else if (to[DIM] && to[AXIS] && to[DIM] != Py_None && to[AXIS] != Py_None)
    PyErr_Format(PyExc_TypeError, "%s() got dim and axis, which are two names of one argument", function);
  else if (form == &of_recurrence && !to[COEFFICIENT])
    PyErr_Format(PyExc_TypeError, "%s() needs coefficient, a number or an array", function);
  return !PyErr_Occurred();
}

static bool is_given(PyObject *argument) {
  return argument && argument != Py_None;
}

/* ROWSCAN_MASK_NONE where no word is given: see rp_call. */
static bool take_mask_mode(rp_call *call, PyObject *text) {
  if (!is_given(text))
    return true;
  if (PyUnicode_Check(text) && !PyUnicode_CompareWithASCIIString(text, "multiply"))
    call->mask_mode = ROWSCAN_MASK_MULTIPLY;
  else if (PyUnicode_Check(text) && !PyUnicode_CompareWithASCIIString(text, "select"))
    call->mask_mode = ROWSCAN_MASK_SELECT;
  else
    PyErr_Format(PyExc_ValueError, "mask_mode is %R, not 'select' or 'multiply'", text);
  return !PyErr_Occurred();
}

/* True: on. -1 with an exception. */
static int flag(PyObject *given) {
  return !given || given == Py_False ? 0 : given == Py_True ? 1 : PyObject_IsTrue(given);
}

static bool take_flags(rp_call *call, PyObject *const *given) {
  int exclusive = flag(given[EXCLUSIVE]), reverse = flag(given[REVERSE]), omit_nan = flag(given[OMIT_NAN]);
  call->flags =
      (exclusive ? ROWSCAN_EXCLUSIVE : 0) | (reverse ? ROWSCAN_REVERSE : 0) | (omit_nan ? ROWSCAN_OMIT_NAN : 0);
  return exclusive >= 0 && reverse >= 0 && omit_nan >= 0;
}

static bool take_ties(rp_call *call, PyObject *text) {
  if (!text)
    return true;
  if (PyUnicode_Check(text) && !PyUnicode_CompareWithASCIIString(text, "first"))
    call->flags |= ROWSCAN_TIES_FIRST;
  else if (!PyUnicode_Check(text) || PyUnicode_CompareWithASCIIString(text, "last"))
    PyErr_Format(PyExc_ValueError, "ties is %R, not 'last' or 'first'", text);
  return !PyErr_Occurred();
}

/* A dtype as the library's type; false: Python finds out. */
static bool take_dtype(rp_call *call, PyObject *dtype) {
  if (!dtype || dtype == Py_None)
    return true;
  const rp_kind *kind = rp_kind_of(call->x, false);
  PyObject *number = kind ? PyDict_GetItemWithError(kind->types, dtype) : NULL;
  PyErr_Clear(); /* it can't be hashed */
  call->out_type = number ? (rowscan_type)PyLong_AsLong(number) : ROWSCAN_TYPE_DEFAULT;
  return number != NULL;
}

/* What tells segments and coefficients, where they are not in the place of a mask. */
typedef struct beside_mask {
  PyObject *segments, *coefficient; /* Py_None: there is none */
  rowscan_mask_mode segment_mode;
} beside_mask;

static bool refuse_both(int one, int other) {
  PyErr_Format(PyExc_TypeError, "%s and %s are given, of which a scan takes one", argument_names[one],
               argument_names[other]);
  return false;
}

/* Coefficients, else flags or keys, are in the place of a mask, where that is not taken; else they go beside it. */
static bool take_beside(rp_call *call, PyObject *const *given, beside_mask *beside) {
  static const rowscan_mask_mode modes[] = {ROWSCAN_MASK_HEADS, ROWSCAN_MASK_TAILS, ROWSCAN_MASK_KEYS};
  *beside = (beside_mask){.segments = Py_None, .coefficient = Py_None};
  int first = -1;
  for (int i = 0; i < 3; i++) {
    if (!is_given(given[HEADS + i]))
      continue;
    if (first >= 0)
      return refuse_both(first, HEADS + i);
    first = HEADS + i;
    beside->segments = given[first];
    beside->segment_mode = modes[i];
  }
  if (is_given(given[COEFFICIENT]) && call->mask != Py_None)
    beside->coefficient = given[COEFFICIENT];
  else if (is_given(given[COEFFICIENT])) {
    call->mask = given[COEFFICIENT];
    call->mask_mode = ROWSCAN_MASK_COEFFICIENT;
  } else if (first >= 0 && call->mask == Py_None) {
    call->mask = beside->segments;
    call->mask_mode = beside->segment_mode;
    *beside = (beside_mask){.segments = Py_None, .coefficient = Py_None};
  }
  return true;
}

/* An operator by its name; false: Python says which there are. */
static bool take_op(rp_call *call, PyObject *name) {
  Py_ssize_t length = 0;
  if (!name)
    return true;
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &length) : NULL;
  int op = text && strlen(text) == (size_t)length ? rowscan_op_by_name(text) : -1;
  PyErr_Clear(); /* it can't be encoded */
  if (op < 0 || rp_op_more((rowscan_op)op) || rp_op_params((rowscan_op)op))
    return false;
  call->op = (rowscan_op)op;
  return true;
}

static PyObject *none_if_missing(PyObject *given) {
  return given ? given : Py_None;
}

static PyObject *call_python(const rp_call *call, PyObject *const *given, PyObject *dim, const beside_mask *beside) {
  if (!python) {
    PyErr_SetString(PyExc_RuntimeError, "rowscan._core was imported without rowscan");
    return NULL;
  }
  PyObject *op = given[OP] ? rp_new_ref(given[OP]) : PyUnicode_FromString(rowscan_op_name(call->op));
  return PyObject_CallFunction(
      python, "OONiOiOOOOOOOOOiO", call->x, dim, op, (int)call->flags, call->mask, (int)call->mask_mode, call->init,
      none_if_missing(given[TOTALS]), none_if_missing(given[DTYPE]), none_if_missing(given[ACC]), call->out,
      none_if_missing(given[MORE]), none_if_missing(given[PARAMS]), none_if_missing(given[SECOND]), beside->segments,
      (int)beside->segment_mode, beside->coefficient);
}

/* Whether the mask is one, or coefficients, as the operator has it, and ties are not where it has none. */
static bool suits_op(const rp_call *call, const beside_mask *beside) {
  bool coefficient = call->mask_mode == ROWSCAN_MASK_COEFFICIENT || beside->coefficient != Py_None;
  return rp_op_has_coefficient(call->op) == coefficient &&
         (!(call->flags & ROWSCAN_TIES_FIRST) || rp_op_makes_indices(call->op));
}

/*
 * Coefficients and segments beside a mask. False: Python has to settle them, such as keys, for which there may be no
 * room beside totals, and an output that may be one of these arrays.
 */
static bool put_beside(rp_call *call, const beside_mask *beside, rp_further *further) {
  if (beside->coefficient == Py_None && !beside->segment_mode)
    return true;
  if (beside->segment_mode == ROWSCAN_MASK_KEYS || call->mask_mode == ROWSCAN_MASK_MULTIPLY || call->out != Py_None)
    return false;
  *further = (rp_further){.second = Py_None, .segment_mode = beside->segment_mode};
  if (beside->coefficient != Py_None)
    further->arrays[further->count++] = beside->coefficient;
  if (beside->segment_mode)
    further->arrays[further->count++] = beside->segments;
  call->further = further;
  return true;
}

/* A call of op, or of the operator that is given. */
static PyObject *scan_given(rowscan_op op, PyObject *const *given) {
  rp_call call = {.x = given[X],
                  .mask = none_if_missing(given[MASK]),
                  .init = none_if_missing(given[INIT]),
                  .totals = Py_None,
                  .out = none_if_missing(given[OUT]),
                  .op = op,
                  .autocasts = true};
  beside_mask beside;
  int totals = flag(given[TOTALS]);
  if (totals < 0 || !take_flags(&call, given) || !take_ties(&call, given[TIES]) ||
      !take_mask_mode(&call, given[MASK_MODE]) || !take_beside(&call, given, &beside))
    return NULL;
  PyObject *dim = none_if_missing(is_given(given[DIM]) ? given[DIM] : given[AXIS]);
  rp_further further;
  bool more = given[MORE] || given[PARAMS] || given[SECOND];
  bool quick = !more && !totals && call.init == Py_None && (!given[ACC] || given[ACC] == Py_None) &&
               PyLong_Check(dim) && take_op(&call, given[OP]) && suits_op(&call, &beside) &&
               take_dtype(&call, given[DTYPE]) && put_beside(&call, &beside, &further);
  if (quick) {
    int overflow;
    call.dim = PyLong_AsLongAndOverflow(dim, &overflow);
    PyObject *y = overflow ? rp_new_ref(Py_NotImplemented) : rp_call_quick(&call);
    if (y != Py_NotImplemented)
      return y;
    Py_DECREF(y);
  }
  return call_python(&call, given, dim, &beside);
}

/* A maximum or minimum, and where it is. */
static PyObject *pair_given(rowscan_op op, const char *function, PyObject **given) {
  static const int others[] = {INIT, TOTALS, OUT};
  for (int i = 0; i < 3; i++)
    if (given[others[i]] && given[others[i]] != Py_None && given[others[i]] != Py_False)
      return PyErr_Format(PyExc_TypeError, "%s() got %s and indices, which has none", function,
                          argument_names[others[i]]);
  PyObject *ties = given[TIES]; /* of the indices */
  given[TIES] = NULL;
  PyObject *values = scan_given(op, given);
  given[DTYPE] = given[ACC] = NULL; /* of the values */
  given[TIES] = ties;
  PyObject *indices = values ? scan_given(op == ROWSCAN_MAX ? ROWSCAN_ARGMAX : ROWSCAN_ARGMIN, given) : NULL;
  PyObject *both = indices ? PyTuple_Pack(2, values, indices) : NULL;
  Py_XDECREF(values);
  Py_XDECREF(indices);
  return both;
}

static PyObject *entry(rowscan_op op, const char *function, const form *form, PyObject *const *args, Py_ssize_t count,
                       PyObject *names) {
  PyObject *given[ARGUMENTS] = {NULL};
  if (!take_arguments(given, function, form, args, count, names))
    return NULL;
  int indices = flag(given[INDICES]);
  return indices < 0 ? NULL : indices ? pair_given(op, function, given) : scan_given(op, given);
}

#define X(name, op)                                                                                                    \
  PyObject *rp_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {                      \
    (void)self;                                                                                                        \
    return entry(op, #name, form_of(op), args, count, names);                                                          \
  }
RP_SCANS(X)
#undef X

PyObject *rp_scan_by_name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  (void)self;
  return entry(ROWSCAN_SUM, "scan", &of_any, args, count, names);
}

PyObject *rp_set_python(PyObject *self, PyObject *function) {
  (void)self;
  for (int i = 0; i < ARGUMENTS; i++)
    if (!interned[i] && !(interned[i] = PyUnicode_InternFromString(argument_names[i])))
      return NULL;
  Py_XDECREF(python);
  python = rp_new_ref(function);
  Py_RETURN_NONE;
}

PyObject *rp_cumulative(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != 4)
    return PyErr_Format(PyExc_TypeError, "cumulative takes 4 arguments, not %zd", count);
  int overflow = 0;
  bool whole = PyLong_Check(args[1]);
  rp_call call = {.x = args[0],
                  .mask = Py_None,
                  .init = Py_None,
                  .totals = Py_None,
                  .out = Py_None,
                  .dim = whole ? PyLong_AsLongAndOverflow(args[1], &overflow) : 0,
                  .op = (rowscan_op)PyLong_AsLong(args[2]),
                  .autocasts = true};
  if (PyErr_Occurred())
    return NULL;
  return whole && !overflow && take_dtype(&call, args[3]) ? rp_call_quick(&call) : rp_new_ref(Py_NotImplemented);
}

/* ---- the scan itself --------------------------------------------------------------------------------------------- */

/* more and params are tuples; second is an array, None, or the type of one that is not made. */
static bool take_further(rp_further *further, PyObject *more, PyObject *params, PyObject *second, PyObject *mode) {
  Py_ssize_t count = PyTuple_Size(more), numbers = PyTuple_Size(params);
  if (count < 0 || numbers < 0)
    return false;
  long segment_mode = PyLong_AsLong(mode);
  if (count > RP_MOST_MORE + (segment_mode != 0) || (segment_mode && !count) || numbers > 4) {
    PyErr_Format(PyExc_TypeError, "scan_settled takes up to 4 further inputs and params, not %zd and %zd", count,
                 numbers);
    return false;
  }
  *further = (rp_further){.second = Py_None, .count = (int)count, .segment_mode = (rowscan_mask_mode)segment_mode};
  for (Py_ssize_t i = 0; i < count; i++)
    further->arrays[i] = PyTuple_GetItem(more, i);
  for (Py_ssize_t i = 0; i < numbers; i++)
    further->params[i] = PyFloat_AsDouble(PyTuple_GetItem(params, i));
  if (PyLong_Check(second))
    further->second_type = (rowscan_type)PyLong_AsLong(second);
  else
    further->second = second;
  return !PyErr_Occurred();
}

PyObject *rp_scan_settled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  rp_further further;
  if (count != 12 && count != 16) {
    PyErr_Format(PyExc_TypeError, "scan_settled takes 12 or 16 arguments, not %zd", count);
    return NULL;
  }
  rp_call call = {.x = args[0],
                  .dim = PyLong_AsLong(args[1]),
                  .op = (rowscan_op)PyLong_AsLong(args[2]),
                  .flags = (unsigned)PyLong_AsLong(args[3]),
                  .out_type = (rowscan_type)PyLong_AsLong(args[4]),
                  .acc_type = (rowscan_type)PyLong_AsLong(args[5]),
                  .mask_mode = (rowscan_mask_mode)PyLong_AsLong(args[6]),
                  .mask = args[7],
                  .init = args[8],
                  .totals = args[9],
                  .out = args[10],
                  .wanted = (int)PyLong_AsLong(args[11])};
  if (PyErr_Occurred() || (count == 16 && !take_further(&further, args[12], args[13], args[14], args[15])))
    return NULL;
  if (count == 16)
    call.further = &further;
  const rp_kind *kind = rp_kind_of(call.x, true);
  return kind ? rp_scan(&call, kind) : rp_new_ref(Py_NotImplemented);
}
