/*
 * torch.h - what torch must see for itself, and the node that records a scan
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_TORCH_H
#define RP_TORCH_H

#include "scan.h"

typedef enum rp_guard {
  RP_GUARD_FAILED = -1, /* an exception is set */
  RP_GUARD_PLAIN,       /* nothing but the numbers matters */
  RP_GUARD_GRADIENT,    /* gradients are wanted that the node has */
  RP_GUARD_OTHER        /* a mode, a transform, a wrapper, or another gradient has a say */
} rp_guard;

rp_guard rp_torch_guard(const rp_call *call, const rp_kind *kind);

/* Whether autocast makes f32 of what is asked for, as it does of torch.cumsum and cumprod: 1 or 0; -1 with an
 * exception.
 */
int rp_torch_autocasts(const rp_call *call, const rp_view *x);

/* The result y of a call as the output of a node of autograd's graph. Takes the reference; NULL: an exception is set.
 */
PyObject *rp_torch_record(const rp_call *call, PyObject *y);

/* Tells autograd that an array was written. False: an exception is set. */
bool rp_torch_written(PyObject *array);

/* set_torch(dict of what torch has: see torch.c) */
PyObject *rp_set_torch(PyObject *self, PyObject *dict);

/* All gradients of a node, as Python makes them where no quick scan does; `kept` is the node's, of rp_torch_record. */
PyObject *rp_torch_leave(PyObject *kept, PyObject *saved, PyObject *number, PyObject *wanted, PyObject *gradient);

#endif
