/*
 * cancel.h - a call that is under way ends before its thread is cancelled
 * SPDX-License-Identifier: MIT
 *
 * Calls hold locks, seats and memory, and wait for other threads: a thread that went away in the middle of one would
 * leave them behind for ever. So a call is no cancellation point; a request that comes meanwhile waits for the next.
 * For the same reason no exception passes through a call.
 */
#ifndef RS_CANCEL_H
#define RS_CANCEL_H

#include <pthread.h>

#include "must_return.h"

static inline int rs_cancel_defer(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void rs_cancel_restore(const int *before) {
  pthread_setcancelstate(*before, NULL);
}

/* From here to the end of the block. */
#define RS_UNCANCELLED                                                                                                 \
  RS_MUST_RETURN;                                                                                                      \
  __attribute__((cleanup(rs_cancel_restore), unused)) const int rs_cancel_before = rs_cancel_defer()

#endif
