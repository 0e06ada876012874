/*
 * kinds.c - the types of arrays that are known, each looked at in the cheapest way that it has
 * SPDX-License-Identifier: MIT
 */
#include "kinds.h"

#include <string.h>

enum { MOST_KINDS = 32 };
static rp_kind kinds[MOST_KINDS];
static int kind_count;

const rp_kind *rp_kind_of(PyObject *array, bool subclasses) {
  PyTypeObject *type = Py_TYPE(array);
  for (int i = 0; i < kind_count; i++)
    if (kinds[i].type == type)
      return &kinds[i];
  for (int i = 0; i < kind_count && subclasses; i++)
    if (PyType_IsSubtype(type, kinds[i].type))
      return &kinds[i];
  return NULL;
}

rp_looked rp_look(rp_view *view, const rp_kind *kind, PyObject *array) {
  switch (kind->how) {
  case RP_BY_EXCHANGE:
    return rp_view_exchange(view, array, kind->exchange);
  case RP_BY_TORCH:
    return rp_view_torch(view, array, kind->types);
  case RP_BY_NUMPY:
    return rp_view_numpy(view, array, kind->types);
  case RP_BY_CUDA:
    return rp_view_cuda(view, array);
  default:
    return rp_view_capsule(view, array);
  }
}

/* By the protocols that any library may have, which arrays of one call may mix. */
static bool is_borrowed(const rp_kind *kind) {
  return kind->how == RP_BY_CUDA || kind->how == RP_BY_CAPSULE;
}

rp_looked rp_look_beside(rp_view *view, PyObject *array, const rp_kind *kind, const rp_view *x) {
  const rp_kind *its = rp_kind_of(array, kind->torch); /* others' subclasses may mean more than their elements say */
  if (!its || its->exchange != kind->exchange || (its->how != kind->how && !(is_borrowed(its) && is_borrowed(kind))))
    return RP_DECLINED;
  rp_looked looked = rp_look(view, its, array);
  return looked == RP_SEEN && view->device != x->device ? RP_DECLINED : looked;
}

bool rp_stream_of(const rp_kind *kind, const rp_view *x, void **stream) {
  *stream = NULL;
  if (x->device == RP_HOST)
    return true;
  if (kind->stream) {
    PyObject *device = PyLong_FromLong(x->device);
    PyObject *number = device ? PyObject_CallFunctionObjArgs(kind->stream, device, NULL) : NULL;
    *stream = number ? PyLong_AsVoidPtr(number) : NULL;
    Py_XDECREF(device);
    Py_XDECREF(number);
    return !PyErr_Occurred();
  }
  return !kind->exchange || !kind->exchange->stream(DL_CUDA, x->device, stream);
}

/* Whether the operator's results have the elements' type by default: asked once. */
static bool keeps_type(rowscan_op op) {
  enum { MOST = 64, KEEPS = 1, WIDENS = 2 };
  static signed char known[MOST];
  if ((unsigned)op >= MOST)
    return false;
  if (!known[op]) {
    rowscan_spec spec = {.size = sizeof spec, .op = op, .in_type = ROWSCAN_I8, .length = 1};
    known[op] = !rowscan_spec_complete(&spec) && spec.out_type == spec.in_type ? KEEPS : WIDENS;
  }
  return known[op] == KEEPS;
}

rowscan_type rp_default_out(rowscan_op op, rowscan_type unsigned_sum, rowscan_type in) {
  if (rp_op_makes_indices(op))
    return ROWSCAN_I64;
  if (op != ROWSCAN_SUM && keeps_type(op))
    return in;
  switch (in) {
  case ROWSCAN_F16:
  case ROWSCAN_BF16:
  case ROWSCAN_F32:
  case ROWSCAN_F64:
    return in;
  case ROWSCAN_U8:
  case ROWSCAN_U16:
  case ROWSCAN_U32:
  case ROWSCAN_U64:
    return unsigned_sum;
  default:
    return ROWSCAN_I64;
  }
}

static PyObject *tuple_of(const int64_t *numbers, int count) {
  PyObject *tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; i++) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (!number || PyTuple_SetItem(tuple, i, number)) {
      Py_DECREF(tuple);
      return NULL;
    }
  }
  return tuple;
}

/* What makes new arrays on x's device; NULL where nothing does, or with an exception. */
static PyObject *fresh_on(const rp_kind *kind, const rp_view *x) {
  if (x->device == RP_HOST || !kind->fresh[1])
    return x->device == RP_HOST ? kind->fresh[0] : NULL;
  PyObject *current = PyObject_CallNoArgs(kind->current);
  long device = current ? PyLong_AsLong(current) : -1;
  Py_XDECREF(current);
  return device == x->device ? kind->fresh[1] : NULL;
}

static PyObject *new_fresh(PyObject *fresh, const rp_view *x, PyObject *dtype) {
  int64_t strides[RP_MOST_RANK], step = 1;
  for (int d = x->rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= x->shape[d] ? x->shape[d] : 1;
  }
  PyObject *shape = tuple_of(x->shape, x->rank), *steps = tuple_of(strides, x->rank);
  PyObject *made = shape && steps ? PyObject_CallFunctionObjArgs(fresh, shape, steps, dtype, NULL) : NULL;
  Py_XDECREF(shape);
  Py_XDECREF(steps);
  return made;
}

PyObject *rp_new_like(const rp_kind *kind, PyObject *x, const rp_view *seen, rowscan_type type) {
  static PyObject *s_dtype;
  if (!s_dtype)
    s_dtype = PyUnicode_InternFromString("dtype");
  if (kind->keywords[type] && seen->shape != seen->strides) { /* they are equal in a view of no dimensions */
    PyObject *fresh = fresh_on(kind, seen);
    if (fresh)
      return new_fresh(fresh, seen, PyDict_GetItemWithError(kind->keywords[type], s_dtype));
    if (PyErr_Occurred())
      return NULL;
  }
  if (type == seen->type && rp_view_is_dense(seen))
    return PyObject_CallFunctionObjArgs(kind->empty_like, x, NULL);
  if (!kind->keywords[type]) {
    PyErr_Format(PyExc_TypeError, "dtype is %s, of which this library has no arrays", rowscan_type_name(type));
    return NULL;
  }
  PyObject *tuple = PyTuple_Pack(1, x),
           *made = tuple ? PyObject_Call(kind->empty_like, tuple, kind->keywords[type]) : NULL;
  Py_XDECREF(tuple);
  return made;
}

PyObject *rp_look_for_python(PyObject *self, PyObject *array) {
  (void)self;
  rp_view view;
  const rp_kind *kind = rp_kind_of(array, true);
  rp_looked looked = kind ? rp_look(&view, kind, array) : RP_DECLINED;
  if (looked != RP_SEEN)
    return looked == RP_DECLINED ? rp_new_ref(Py_None) : NULL;
  PyObject *shape = tuple_of(view.shape, view.rank);
  return shape ? Py_BuildValue("iNii", (int)view.type, shape, view.device, (int)view.read_only) : NULL;
}

/* ---- what Python tells ------------------------------------------------------------------------------------------- */

static bool take_exchange(rp_kind *kind) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)kind->type, "__dlpack_c_exchange_api__");
  kind->exchange = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  Py_XDECREF(capsule);
  if (kind->exchange && kind->exchange->header.version.major != 1) {
    PyErr_Format(PyExc_RuntimeError, "DLPack's exchange API has version %u, not 1",
                 kind->exchange->header.version.major);
    return false;
  }
  return kind->exchange != NULL;
}

static bool take_keywords(rp_kind *kind, PyObject *keywords) {
  for (long i = 1; i < RP_TYPES; i++) {
    PyObject *number = PyLong_FromLong(i);
    if (!number)
      return false;
    kind->keywords[i] = PyDict_GetItemWithError(keywords, number);
    Py_XINCREF(kind->keywords[i]);
    Py_DECREF(number);
  }
  return !PyErr_Occurred();
}

PyObject *rp_set_fresh(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *type, *host, *gpu, *current;
  if (!PyArg_ParseTuple(args, "OOOO", &type, &host, &gpu, &current))
    return NULL;
  for (int i = 0; i < kind_count; i++)
    if ((PyObject *)kinds[i].type == type) {
      kinds[i].fresh[0] = rp_new_ref(host);
      kinds[i].fresh[1] = gpu == Py_None ? NULL : rp_new_ref(gpu);
      kinds[i].current = rp_new_ref(current);
      Py_RETURN_NONE;
    }
  return PyErr_Format(PyExc_KeyError, "%R is no kind of arrays", type);
}

PyObject *rp_add_kind(PyObject *self, PyObject *args) {
  static const char *const hows[] = {"exchange", "torch", "numpy", "cuda", "capsule"};
  (void)self;
  PyObject *type, *like, *keywords, *types, *stream;
  const char *name;
  int torch, unsigned_sum, how = 0;
  if (!PyArg_ParseTuple(args, "OspOOOOi", &type, &name, &torch, &like, &keywords, &types, &stream, &unsigned_sum))
    return NULL;
  while (how <= RP_BY_CAPSULE && strcmp(hows[how], name))
    how++;
  if (how > RP_BY_CAPSULE || !PyType_Check(type) || !PyDict_Check(keywords) || !PyDict_Check(types)) {
    PyErr_SetString(PyExc_TypeError, "add_kind takes a type, a way to look, and two dicts");
    return NULL;
  }
  int at = 0; /* a type that is known gets another description */
  while (at < kind_count && kinds[at].type != (PyTypeObject *)type)
    at++;
  if (at == MOST_KINDS) {
    PyErr_SetString(PyExc_RuntimeError, "there are too many kinds of arrays");
    return NULL;
  }
  rp_kind kind = {.type = (PyTypeObject *)type,
                  .how = (rp_how)how,
                  .torch = torch != 0,
                  .empty_like = like,
                  .types = types,
                  .stream = stream == Py_None ? NULL : stream,
                  .unsigned_sum = (rowscan_type)unsigned_sum};
  if ((how == RP_BY_EXCHANGE && !take_exchange(&kind)) || !take_keywords(&kind, keywords))
    return NULL;
  Py_INCREF(type);
  Py_INCREF(like);
  Py_INCREF(types);
  Py_XINCREF(kind.stream);
  kinds[at] = kind;
  kind_count += at == kind_count;
  Py_RETURN_NONE;
}
