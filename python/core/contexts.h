/*
 * contexts.h - the library's contexts: one for the host, one a GPU, opened when first needed and never closed
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_CONTEXTS_H
#define RP_CONTEXTS_H

#include <rowscan.h>

#include "python.h"

/*
 * The context of a GPU, or of the host if `device` is negative. Any thread may ask, and without the GIL, which none
 * should hold: opening a GPU takes long.
 */
rowscan_status rp_context_of(int device, rowscan_context **context);

/* set_threads(n): of scans on the host, 0 for the default. */
PyObject *rp_set_threads(PyObject *self, PyObject *count);

/* forget(): in a child of fork(), which may not use what its parent opened. */
PyObject *rp_forget(PyObject *self, PyObject *none);

#endif
