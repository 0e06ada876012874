/*
 * view.c - where the elements of an array lie: what the library must know of it
 * SPDX-License-Identifier: MIT
 */
#include "view.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ------------------------------------------------------------------------------------------------------- */

rowscan_type rp_type_of(int code, int bits, int lanes) {
  static const struct {
    unsigned char code, bits, type;
  } table[] = {
      {DL_INT, 8, ROWSCAN_I8},     {DL_INT, 16, ROWSCAN_I16},   {DL_INT, 32, ROWSCAN_I32},
      {DL_INT, 64, ROWSCAN_I64},   {DL_UINT, 8, ROWSCAN_U8},    {DL_UINT, 16, ROWSCAN_U16},
      {DL_UINT, 32, ROWSCAN_U32},  {DL_UINT, 64, ROWSCAN_U64},  {DL_FLOAT, 16, ROWSCAN_F16},
      {DL_FLOAT, 32, ROWSCAN_F32}, {DL_FLOAT, 64, ROWSCAN_F64}, {DL_BFLOAT, 16, ROWSCAN_BF16},
      {DL_BOOL, 8, ROWSCAN_BOOL},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table && lanes == 1; i++)
    if (table[i].code == code && table[i].bits == bits)
      return (rowscan_type)table[i].type;
  return ROWSCAN_TYPE_DEFAULT;
}

/* Of the letter and the bytes of an array interface's typestr. */
static rowscan_type type_of_letter(char letter, int bytes) {
  static const char letters[] = {[DL_INT] = 'i', [DL_UINT] = 'u', [DL_FLOAT] = 'f', [DL_BOOL] = 'b'};
  for (size_t code = 0; code < sizeof letters; code++)
    if (letters[code] == letter && letter)
      return rp_type_of((int)code, 8 * bytes, 1);
  return ROWSCAN_TYPE_DEFAULT;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Gives back up to two objects of a look that did not succeed, and forgets the exception. */
static rp_looked decline(PyObject *a, PyObject *b) {
  Py_XDECREF(a);
  Py_XDECREF(b);
  PyErr_Clear();
  return RP_DECLINED;
}

/* Numbers of a tuple, of which there may be RP_MOST_RANK; -1: it is none, or too long. */
static int numbers(PyObject *tuple, int64_t *to) {
  Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
  if (count > RP_MOST_RANK)
    return -1;
  for (Py_ssize_t i = 0; i < count; i++)
    if ((to[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i))) == -1 && PyErr_Occurred())
      return -1;
  return (int)count;
}

/*
 * Strides in bytes to own strides in elements; false where they are no multiple of the element, and a second one lies
 * there.
 */
static bool take_byte_strides(rp_view *view, const int64_t *strides) {
  int64_t bytes = (int64_t)rowscan_type_bytes(view->type);
  bool empty = rp_view_is_empty(view);
  for (int d = 0; d < view->rank; d++) {
    if (strides[d] % bytes && view->shape[d] > 1 && !empty)
      return false;
    view->own[RP_MOST_RANK + d] = strides[d] / bytes;
  }
  view->strides = view->own + RP_MOST_RANK;
  return true;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

rp_looked rp_view_dl(rp_view *view, const dl_tensor *tensor) {
  view->data = (char *)tensor->data + tensor->byte_offset;
  view->type = rp_type_of(tensor->type.code, tensor->type.bits, tensor->type.lanes);
  view->rank = tensor->rank;
  view->read_only = false;
  view->shape = tensor->shape;
  view->strides = tensor->strides;
  switch (tensor->device.type) {
  case DL_CPU:
  case DL_CUDA_HOST:
    view->device = RP_HOST;
    break;
  case DL_CUDA:
  case DL_CUDA_MANAGED:
    view->device = tensor->device.id;
    break;
  default:
    return RP_DECLINED;
  }
  return view->type && view->rank <= RP_MOST_RANK ? RP_SEEN : RP_DECLINED;
}

/* Whether elements lie nowhere: torch has tensors of zeros that it did not make, which its dispatcher makes. */
static bool is_nowhere(const rp_view *view) {
  return !view->data && !rp_view_is_empty(view);
}

rp_looked rp_view_exchange(rp_view *view, PyObject *array, const dl_exchange *exchange) {
  dl_tensor tensor;
  if (exchange->view(array, &tensor)) /* it has no memory of its own: sparse, or a wrapper of a transform */
    return decline(NULL, NULL);
  rp_looked looked = rp_view_dl(view, &tensor);
  return looked == RP_SEEN && is_nowhere(view) ? RP_DECLINED : looked;
}

static bool torch_device(rp_view *view, PyObject *array) {
  static PyObject *s_device, *s_type, *s_index;
  if (!s_device) {
    s_device = PyUnicode_InternFromString("device");
    s_type = PyUnicode_InternFromString("type");
    s_index = PyUnicode_InternFromString("index");
  }
  PyObject *device = PyObject_GetAttr(array, s_device), *type = device ? PyObject_GetAttr(device, s_type) : NULL;
  PyObject *index = type ? PyObject_GetAttr(device, s_index) : NULL;
  bool cuda = index && !PyUnicode_CompareWithASCIIString(type, "cuda");
  bool known = cuda || (index && !PyUnicode_CompareWithASCIIString(type, "cpu"));
  view->device = cuda ? (int)PyLong_AsLong(index) : RP_HOST;
  Py_XDECREF(index);
  Py_XDECREF(type);
  Py_XDECREF(device);
  return known;
}

/* The type that an array's dtype stands for. */
static rowscan_type type_of_dtype(PyObject *array, PyObject *types) {
  static PyObject *s_dtype;
  if (!s_dtype)
    s_dtype = PyUnicode_InternFromString("dtype");
  PyObject *dtype = PyObject_GetAttr(array, s_dtype), *number = dtype ? PyDict_GetItemWithError(types, dtype) : NULL;
  Py_XDECREF(dtype);
  return number ? (rowscan_type)PyLong_AsLong(number) : ROWSCAN_TYPE_DEFAULT;
}

rp_looked rp_view_torch(rp_view *view, PyObject *array, PyObject *types) {
  static PyObject *s_data_ptr, *s_shape, *s_stride;
  if (!s_data_ptr) {
    s_data_ptr = PyUnicode_InternFromString("data_ptr");
    s_shape = PyUnicode_InternFromString("shape");
    s_stride = PyUnicode_InternFromString("stride");
  }
  PyObject *data = PyObject_CallMethodObjArgs(array, s_data_ptr, NULL);
  if (!data)
    return decline(NULL, NULL);
  view->data = PyLong_AsVoidPtr(data);
  Py_DECREF(data);
  view->type = type_of_dtype(array, types);
  PyObject *shape = PyObject_GetAttr(array, s_shape); /* torch.Size is a tuple */
  PyObject *strides = shape ? PyObject_CallMethodObjArgs(array, s_stride, NULL) : NULL;
  view->rank = strides ? numbers(shape, view->own) : -1;
  if (!view->type || view->rank < 0 || numbers(strides, view->own + RP_MOST_RANK) != view->rank ||
      !torch_device(view, array))
    return decline(shape, strides);
  Py_DECREF(shape);
  Py_DECREF(strides);
  view->read_only = false;
  view->shape = view->own;
  view->strides = view->own + RP_MOST_RANK;
  return is_nowhere(view) ? RP_DECLINED : RP_SEEN;
}

/* NumPy's PyArrayInterface: https://numpy.org/doc/stable/reference/arrays.interface.html */
typedef struct array_interface {
  int two, rank;
  char letter;
  int bytes, flags;
  Py_intptr_t *shape, *strides;
  void *data;
  PyObject *description;
} array_interface;
enum { NATIVE_ORDER = 0x200, WRITEABLE = 0x400 };

rp_looked rp_view_numpy(rp_view *view, PyObject *array, PyObject *types) {
  static PyObject *s_struct;
  if (!s_struct)
    s_struct = PyUnicode_InternFromString("__array_struct__");
  PyObject *capsule = PyObject_GetAttr(array, s_struct);
  array_interface *a = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
  if (!a || a->two != 2 || a->rank > RP_MOST_RANK || !(a->flags & NATIVE_ORDER))
    return decline(capsule, NULL);
  view->data = a->data;
  view->type = a->letter == 'V' ? type_of_dtype(array, types) : type_of_letter(a->letter, a->bytes);
  view->rank = a->rank;
  view->device = RP_HOST;
  view->read_only = !(a->flags & WRITEABLE);
  for (int d = 0; d < a->rank; d++) /* the capsule owns them */
    view->own[d] = a->shape[d];
  view->shape = view->own;
  int64_t strides[RP_MOST_RANK];
  for (int d = 0; d < a->rank; d++)
    strides[d] = a->strides[d];
  bool seen = view->type && take_byte_strides(view, strides);
  Py_DECREF(capsule);
  return seen ? RP_SEEN : decline(NULL, NULL);
}

/* What a __cuda_array_interface__ says: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html */
static bool take_interface(rp_view *view, PyObject *dict) {
  PyObject *shape = PyDict_GetItemString(dict, "shape"), *strides = PyDict_GetItemString(dict, "strides");
  PyObject *data = PyDict_GetItemString(dict, "data"), *type = PyDict_GetItemString(dict, "typestr");
  PyObject *text = type ? PyUnicode_AsASCIIString(type) : NULL;
  const char *letters = text ? PyBytes_AsString(text) : "";
  bool native = letters[0] == '<' || letters[0] == '|';
  view->type = native ? type_of_letter(letters[1], atoi(letters + 2)) : ROWSCAN_TYPE_DEFAULT;
  Py_XDECREF(text);
  view->rank = shape ? numbers(shape, view->own) : -1;
  if (!view->type || view->rank < 0 || !data || !PyTuple_Check(data) || PyTuple_Size(data) != 2)
    return false;
  view->data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
  view->read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1;
  view->shape = view->own;
  view->strides = NULL;
  int64_t given[RP_MOST_RANK];
  return !strides || strides == Py_None || (numbers(strides, given) == view->rank && take_byte_strides(view, given));
}

/* The ordinal of the GPU: CuPy's arrays have it, and for others the driver knows. */
static bool read_device(rp_view *view, PyObject *array) {
  static PyObject *s_device, *s_id;
  if (!s_device) {
    s_device = PyUnicode_InternFromString("device");
    s_id = PyUnicode_InternFromString("id");
  }
  PyObject *device = PyObject_GetAttr(array, s_device), *id = device ? PyObject_GetAttr(device, s_id) : NULL;
  view->device = id ? (int)PyLong_AsLong(id) : RP_HOST;
  Py_XDECREF(device);
  Py_XDECREF(id);
  PyErr_Clear();
  if (view->device < 0 && view->data && rowscan_device_of(view->data, &view->device))
    return false;
  if (view->device < 0)
    view->device = 0; /* pinned memory, which every GPU reaches; or no memory, for no elements */
  return true;
}

rp_looked rp_view_cuda(rp_view *view, PyObject *array) {
  static PyObject *s_interface;
  if (!s_interface)
    s_interface = PyUnicode_InternFromString("__cuda_array_interface__");
  PyObject *dict = PyObject_GetAttr(array, s_interface);
  bool seen = dict && PyDict_Check(dict) && take_interface(view, dict) && read_device(view, array);
  Py_XDECREF(dict);
  return seen ? RP_SEEN : decline(NULL, NULL);
}

rp_looked rp_view_capsule(rp_view *view, PyObject *capsule) {
  dl_managed *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (versioned) {
    if (versioned->version.major != 1)
      return RP_DECLINED;
    rp_looked looked = rp_view_dl(view, &versioned->tensor);
    view->read_only = versioned->flags & DL_FLAG_READ_ONLY;
    return looked;
  }
  PyErr_Clear();
  dl_managed_unversioned *managed = PyCapsule_GetPointer(capsule, "dltensor");
  return managed ? rp_view_dl(view, &managed->tensor) : RP_FAILED;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

bool rp_view_is_empty(const rp_view *view) {
  for (int d = 0; d < view->rank; d++)
    if (!view->shape[d])
      return true;
  return false;
}

bool rp_view_is_dense(const rp_view *view) {
  int64_t step = 1;
  if (rp_view_is_empty(view))
    return true;
  for (int d = view->rank - 1; view->strides && d >= 0; step *= view->shape[d--])
    if (view->shape[d] != 1 && view->strides[d] != step)
      return false;
  return true;
}

bool rp_view_same_shape(const rp_view *a, const rp_view *b) {
  return a->rank == b->rank && (!a->rank || !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape));
}

bool rp_view_broadcast(rp_view *view, int rank, const int64_t *shape) {
  int64_t strides[RP_MOST_RANK], step = 1;
  if (view->rank > rank)
    return false;
  for (int d = rank - 1; d >= 0; d--) {
    int own = d - (rank - view->rank);
    int64_t extent = own < 0 ? 1 : view->shape[own];
    strides[d] = own < 0 || (extent == 1 && shape[d] != 1) ? 0 : view->strides ? view->strides[own] : step;
    if (extent != 1 && extent != shape[d])
      return false;
    step *= extent;
  }
  for (int d = 0; d < rank; d++) {
    view->own[d] = shape[d];
    view->own[RP_MOST_RANK + d] = strides[d];
  }
  view->rank = rank;
  view->shape = view->own;
  view->strides = view->own + RP_MOST_RANK;
  return true;
}
