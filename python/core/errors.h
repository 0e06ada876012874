/*
 * errors.h - one exception a status of the library
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_ERRORS_H
#define RP_ERRORS_H

#include <rowscan.h>

#include "python.h"

/* Raises what a status stands for, with the library's message. Always NULL. */
PyObject *rp_fail(rowscan_status status);

/* set_errors(types): the exception of each status, by its number. */
PyObject *rp_set_errors(PyObject *self, PyObject *types);

#endif
