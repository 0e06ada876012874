/*
 * view.h - where the elements of an array lie: what the library must know of it
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_VIEW_H
#define RP_VIEW_H

#include <rowscan.h>
#include <stdbool.h>

#include "dlpack.h"
#include "python.h"

enum { RP_MOST_RANK = 64, RP_TYPES = ROWSCAN_BOOL + 1, RP_HOST = -1 };

typedef struct rp_view {
  void *data;
  rowscan_type type;
  int rank;
  int device; /* ordinal of the GPU, or RP_HOST */
  bool read_only;
  const int64_t *shape, *strides; /* strides in elements; NULL: dense, C order */
  int64_t own[2 * RP_MOST_RANK];  /* where they had to be copied to */
  double number;                  /* where one element is that no array has */
} rp_view;

/* What looking at an array came to. */
typedef enum rp_looked { RP_FAILED = -1 /* an exception is set */, RP_DECLINED, RP_SEEN } rp_looked;

static inline bool rp_is_floating(rowscan_type type) {
  return type >= ROWSCAN_F16 && type <= ROWSCAN_F64;
}

/* Whether what is given is a number of Python's, which a coefficient may be. */
static inline bool rp_is_number(PyObject *given) {
  return PyFloat_CheckExact(given) || PyLong_CheckExact(given);
}

/* The library's type of DLPack's; ROWSCAN_TYPE_DEFAULT: there is none. */
rowscan_type rp_type_of(int code, int bits, int lanes);

rp_looked rp_view_dl(rp_view *view, const dl_tensor *tensor);

/* By DLPack's exchange API. */
rp_looked rp_view_exchange(rp_view *view, PyObject *array, const dl_exchange *exchange);

/* By torch's attributes; `types` is a dict from its dtypes to the library's types, as numbers. */
rp_looked rp_view_torch(rp_view *view, PyObject *array, PyObject *types);

/* By NumPy's __array_struct__; where that does not tell the type, `types` has it by the array's dtype. */
rp_looked rp_view_numpy(rp_view *view, PyObject *array, PyObject *types);

/* By __cuda_array_interface__, and by a capsule of __dlpack__(). */
rp_looked rp_view_cuda(rp_view *view, PyObject *array);
rp_looked rp_view_capsule(rp_view *view, PyObject *capsule);

bool rp_view_is_empty(const rp_view *view);

/* In C order, with the strides of a new array also where there are one or no elements. */
bool rp_view_is_dense(const rp_view *view);
bool rp_view_same_shape(const rp_view *a, const rp_view *b);

/* As seen in another shape, which its own broadcasts to: strides of 0 where it repeats. False: it does not broadcast.
 */
bool rp_view_broadcast(rp_view *view, int rank, const int64_t *shape);

/* The library's description of the same elements, as an input. */
static inline rowscan_input rp_view_input(const rp_view *view) {
  return (rowscan_input){.data = view->data, .type = view->type, .strides = view->strides};
}

#endif
