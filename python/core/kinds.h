/*
 * kinds.h - the types of arrays that are known, each looked at in the cheapest way that it has
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_KINDS_H
#define RP_KINDS_H

#include "view.h"

typedef enum rp_how { RP_BY_EXCHANGE, RP_BY_TORCH, RP_BY_NUMPY, RP_BY_CUDA, RP_BY_CAPSULE } rp_how;

/* A type of arrays, as rowscan/_numpy.py and its like have made it known. */
typedef struct rp_kind {
  PyTypeObject *type;
  rp_how how;
  const dl_exchange *exchange;  /* of RP_BY_EXCHANGE */
  bool torch;                   /* autograd, modes and transforms are asked for first: see torch.h */
  PyObject *empty_like;         /* (x): an array of its shape, type and device, in C order where it is dense */
  PyObject *keywords[RP_TYPES]; /* and of another type, in C order: dicts, NULL where the library has no such type */
  PyObject *fresh[2];           /* (shape, strides, dtype) on the host, on the current GPU; NULL: empty_like alone */
  PyObject *current;            /* (): the current GPU, where fresh[1] makes arrays */
  PyObject *types;              /* dict from the library's dtypes to numbers */
  PyObject *stream;             /* (device): the current stream, as a number; NULL: of the exchange, else the default */
  rowscan_type unsigned_sum;    /* what unsigned integers are summed up in */
} rp_kind;

/* The kind of exactly this type; with `subclasses` of one that it derives from, too. NULL: none. */
const rp_kind *rp_kind_of(PyObject *array, bool subclasses);

rp_looked rp_look(rp_view *view, const rp_kind *kind, PyObject *array);

/* Another array of the same call: of the same library and on the same device as x, or it is declined. */
rp_looked rp_look_beside(rp_view *view, PyObject *array, const rp_kind *kind, const rp_view *x);

/* The stream that work on an array's device is queued on. False: an exception is set. */
bool rp_stream_of(const rp_kind *kind, const rp_view *x, void **stream);

/* Whether an operator's results are indices, whatever the elements are. */
static inline bool rp_op_makes_indices(rowscan_op op) {
  return op == ROWSCAN_ARGMAX || op == ROWSCAN_ARGMIN;
}

/* The type of a result, where unsigned integers are summed up in unsigned_sum. */
rowscan_type rp_default_out(rowscan_op op, rowscan_type unsigned_sum, rowscan_type in);

/* A new array of x's shape on its device, in C order. NULL: an exception is set. */
PyObject *rp_new_like(const rp_kind *kind, PyObject *x, const rp_view *seen, rowscan_type type);

/* set_fresh(type, host, gpu or None, current): a quicker way to new arrays than empty_like. */
PyObject *rp_set_fresh(PyObject *self, PyObject *args);

/* look(array) -> (type, shape, device or -1 for the host, read_only), or None if the array can't be scanned as it is.
 */
PyObject *rp_look_for_python(PyObject *self, PyObject *array);

/* add_kind(type, how, torch, empty_like, keywords, types, stream or None, unsigned_sum) */
PyObject *rp_add_kind(PyObject *self, PyObject *args);

#endif
