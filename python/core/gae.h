/*
 * gae.h - advantages and returns of a rollout in one pass
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_GAE_H
#define RP_GAE_H

#include "python.h"

/*
 * gae(rewards, values, next_values, terminated, done, advantages, returns, gamma, lam, dim, acc) -> None: fills
 * advantages and returns, which are of rewards' shape, as others are or broadcast to. NotImplemented, with nothing
 * done, where the arrays are not what the library takes as they are, or where torch has more to see of them than
 * numbers.
 */
PyObject *rp_gae(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
