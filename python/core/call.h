/*
 * call.h - scan(), cumsum() and their like: arguments as users write them, the quick way, and what is left to Python
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_CALL_H
#define RP_CALL_H

#include "scan.h"

/* A call whose arrays may be what their library likes. NotImplemented: Python has to serve it. */
PyObject *rp_call_quick(rp_call *call);

/*
 * X(name, operator): the functions of one operator, name(x, dim, *, axis, ...); a recurrence's takes coefficients
 * behind x. docs.c has their manuals.
 */
#define RP_SCANS(X)                                                                                                    \
  X(cumsum, ROWSCAN_SUM)                                                                                               \
  X(cumprod, ROWSCAN_PROD)                                                                                             \
  X(cummax, ROWSCAN_MAX)                                                                                               \
  X(cummin, ROWSCAN_MIN)                                                                                               \
  X(logcumsumexp, ROWSCAN_LOGSUMEXP)                                                                                   \
  X(linear_recurrence, ROWSCAN_LINEAR_RECURRENCE)

#define X(name, op) PyObject *rp_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
RP_SCANS(X)
#undef X

/* scan(x, dim, op, *, axis, ...): of the operator that op names, with coefficients where it has any. */
PyObject *rp_scan_by_name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

/* cumulative(x, dim, op, dtype): an inclusive scan by the number of an operator, or NotImplemented. dtype may be None.
 */
PyObject *rp_cumulative(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* set_python(function): what serves calls that the quick way does not. */
PyObject *rp_set_python(PyObject *self, PyObject *function);

/*
 * scan_settled(x, dim, op, flags, out_type, acc_type, mask_mode, mask, init, totals, out, wanted, more, params,
 * second, segment_mode): rp_scan(), for Python that has settled all conventions. Types and modes are the library's
 * numbers; wanted is 0 (scan), 1 (prepare) or 2 (spec). The last four may be left out: tuples of arrays and of numbers;
 * an array that is filled, None, or where nothing is scanned the type of one; and, if it is not 0, the mode of segments
 * that the last array of `more` tells.
 */
PyObject *rp_scan_settled(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
