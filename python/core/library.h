/*
 * library.h - what the library tells and does beside scans: specs, kernels made ahead, GPUs, the cache
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_LIBRARY_H
#define RP_LIBRARY_H

#include "python.h"

/* complete(text) -> (input, output, accumulator): types of a spec, its defaults filled in, as numbers. */
PyObject *rp_complete(PyObject *self, PyObject *args);

/* ops(): numbers of the library's operators, by their names. */
PyObject *rp_ops(PyObject *self, PyObject *none);

/* create_op(text) -> (name, number, whether it has coefficients, further inputs, params, outputs). */
PyObject *rp_create_op(PyObject *self, PyObject *args);

/* warm(specs, archs or None, threads) -> (modules, compiled). */
PyObject *rp_warm(PyObject *self, PyObject *args);

/* devices() -> list of dicts; archs() -> list of numbers. */
PyObject *rp_devices(PyObject *self, PyObject *none);
PyObject *rp_archs(PyObject *self, PyObject *none);

/* cache_info() -> dict; cache_entries() -> list of dicts; cache_prune() -> dict; cache_clear() -> (entries, bytes). */
PyObject *rp_cache_info(PyObject *self, PyObject *none);
PyObject *rp_cache_entries(PyObject *self, PyObject *none);
PyObject *rp_cache_prune(PyObject *self, PyObject *none);
PyObject *rp_cache_clear(PyObject *self, PyObject *none);

/* cache_export(file, archs or None, spec or None) -> dict; cache_import(file) -> dict. */
PyObject *rp_cache_export(PyObject *self, PyObject *args);
PyObject *rp_cache_import(PyObject *self, PyObject *args);

#endif
