/*
 * suite.h - what all groups of tests share: contexts, limits, counts
 * SPDX-License-Identifier: MIT
 */
#ifndef GPU_SUITE_H
#define GPU_SUITE_H

#include <stdatomic.h>

#include "cases.h"

typedef struct suite_state {
  rowscan_context *gpu, *host;
  uint64_t seed;
  int64_t cases;    /* specs of the group random */
  int64_t longest;  /* length of a row in most groups */
  int64_t elements; /* of a case, about */
  bool quick;       /* a sample of everything, small: for a simulated GPU */
  const char *group;
  atomic_int passed, failed, skipped;
} suite_state;

extern suite_state suite;

/* Each may be called by any thread. Failures are told, at most some of each group in full. */
void suite_pass(void);
void suite_skip(const char *why);
void suite_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A library call that must succeed: counts and tells a failure. */
bool suite_ok(rowscan_status status, const char *what);

/* A spec made ready on both engines. */
typedef struct suite_plans {
  rowscan_spec spec; /* complete */
  rowscan_plan *gpu, *host;
  rowscan_plan *any; /* for any length; NULL: not yet */
} suite_plans;
bool suite_plan(suite_plans *plans, const rowscan_spec *spec);
bool suite_plan_any(suite_plans *plans);
bool suite_draws(const rowscan_spec *spec); /* whether the lot fell on it */
void suite_plan_free(suite_plans *plans);

/* The groups. */
void group_types(void);
void group_regimes(void);
void group_created(void);
void group_further(void);
void group_geometries(void);
void group_lengths(void);
void group_widths(void);
void group_views(void);
void group_ends(void);
void group_few(void);
void group_offsets(void);
void group_random(void);
void group_batch(void);
void group_repeat(void);
void group_delays(void);
void group_held(void);
void group_chain(void);
void group_capture(void);
void group_stay(void);
void group_outlive(void);
void group_threads(void);
void group_host(void);
void group_big(void);
void group_parts(void);
void group_issue(void);
void group_contest(void);
void group_tuned(void);
void group_once(void);
void group_pieces(void);
void group_issue_full(void);

#endif
