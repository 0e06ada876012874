/*
 * gradient.h - the gradient of a scan, for torch
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_GRADIENT_H
#define RP_GRADIENT_H

#include "python.h"

/* forward(context, x, (y, coefficient if it is a number), mask if there is one) of the node. */
PyObject *rp_torch_forward(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Adds the type TorchContext, a base of the node's context; 0, or -1 with an exception. */
int rp_add_torch_context(PyObject *module);

#endif
