/*
 * gae.h - returns of a rollout, and its advantages and returns in one pass
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_GAE_H
#define RP_GAE_H

#include "python.h"

/*
 * returns(rewards, gamma, done, dim) -> an array: discounted by a number, in episodes that end where `done`, which may
 * be None, is set. NotImplemented, with nothing done, where the arrays are not what the library takes as they are, or
 * where torch has more to see of them than numbers.
 */
PyObject *rp_returns(PyObject *self, PyObject *const *args, Py_ssize_t count);

/*
 * gae(rewards, values, next_values, terminated, done, mask, gamma, lam, dim, acc) -> (advantages, returns), new arrays
 * of rewards' shape. So is that of values and next_values; where these are None, values are one longer along dim. Flags
 * broadcast to rewards; on the CPU they may be None. The mask, too, broadcasts, and may be None anywhere: where it is
 * false, the advantage is that of the next step, whatever the flags there are, and the return that plus the value. dim
 * is None if rewards have one dimension. NotImplemented as above.
 */
PyObject *rp_gae(PyObject *self, PyObject *const *args, Py_ssize_t count);

#endif
