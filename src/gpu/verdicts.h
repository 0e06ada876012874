/*
 * verdicts.h - kernels that the driver rejects even when they were compiled a moment before
 * SPDX-License-Identifier: MIT
 *
 * To compile such a one again, at each plan, would take a second each time and come to the same end. Serves many
 * threads at once; asking costs next to nothing while there are none.
 */
#ifndef RS_VERDICTS_H
#define RS_VERDICTS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

enum { RS_MOST_VERDICTS = 256 }; /* the oldest go: what is forgotten is compiled once more */

typedef struct rs_verdicts {
  pthread_mutex_t lock;
  struct rs_verdict *newest;
  int count;
} rs_verdicts;

void rs_verdicts_init(rs_verdicts *all);
void rs_verdicts_free(rs_verdicts *all);

/* Keeps a failure of a key (build.h) and its story, which is the last error. Out of memory: it is not kept. */
void rs_verdicts_add(rs_verdicts *all, const char *key, rowscan_status status);

bool rs_verdicts_any(rs_verdicts *all);

/* What failed for this key, with its story; OK: nothing that is known. */
rowscan_status rs_verdicts_ask(rs_verdicts *all, const char *key);

#endif
