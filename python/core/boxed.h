/*
 * boxed.h - kernels of torch's dispatcher in C, through libtorch's C functions that are found at run time
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_BOXED_H
#define RP_BOXED_H

#include "python.h"

/*
 * box(libtorch, libtorch_cuda or None, namespace, key, {operator: kernel}) -> a number for unbox(), or None where this
 * libtorch lacks a function that is needed. Kernels: "scan", "scan_totals", "scan_out" of the operators in
 * rowscan/_torch.py, "cumsum" and "cumprod" of aten's.
 */
PyObject *rp_box(PyObject *self, PyObject *args);

/* unbox(number): what the kernels were put in place of is back. */
PyObject *rp_unbox(PyObject *self, PyObject *number);

#endif
