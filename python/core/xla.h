/*
 * xla.h - scans as calls of XLA, for jax.ffi
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_XLA_H
#define RP_XLA_H

#include "python.h"

/* xla_handler(gpu) -> capsule of the function that XLA calls, for arrays on the host or on GPUs. */
PyObject *rp_xla_handler(PyObject *self, PyObject *gpu);

#endif
