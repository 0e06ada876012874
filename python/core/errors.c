/*
 * errors.c - one exception a status of the library
 * SPDX-License-Identifier: MIT
 */
#include "errors.h"

enum { STATUSES = ROWSCAN_COMM_FAILED + 1 };
static PyObject *exception_types[STATUSES];

PyObject *rp_fail(rowscan_status status) {
  PyObject *type =
      (unsigned)status < STATUSES && exception_types[status] ? exception_types[status] : PyExc_RuntimeError;
  PyErr_Format(type, "%s", rowscan_last_error());
  return NULL;
}

PyObject *rp_set_errors(PyObject *self, PyObject *types) {
  (void)self;
  if (!PyTuple_Check(types) || PyTuple_Size(types) != STATUSES) {
    PyErr_Format(PyExc_TypeError, "a tuple of %d exceptions is needed", STATUSES);
    return NULL;
  }
  for (int i = 0; i < STATUSES; i++) {
    Py_XDECREF(exception_types[i]);
    exception_types[i] = rp_new_ref(PyTuple_GetItem(types, i));
  }
  Py_RETURN_NONE;
}
