/*
 * table.h - the programs that one-call scans have made on a GPU, by spec: a bounded number of them
 * SPDX-License-Identifier: MIT
 *
 * A program may be closed when no thread is inside it and all that it queued is done. To know the latter an event is
 * recorded after each of its runs, which costs more than all else that is done here, and keeps apart launches that
 * would overlap. So programs that run often stay for good, found without a lock and run without an event; so does one
 * that was captured, for its graph may run at any time. All others are guests: the least recently used goes when a new
 * one comes.
 */
#ifndef RS_TABLE_H
#define RS_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "program.h"

enum {
  RS_TABLE_PLANS = 256,       /* of a context, but for those that were captured, and guests whose runs aren't done */
  RS_TABLE_STAYING = 192,     /* of these; the rest is for guests, which may have all that is left */
  RS_TABLE_SETTLED_RUNS = 16, /* of a guest, after which it stays */
  RS_TABLE_STREAMS = 4,       /* that a guest tells apart; more of them wait for one another */
  RS_TABLE_BUCKETS = 256
};

typedef struct rs_table_node rs_table_node;

typedef struct rs_table {
  _Atomic(rs_table_node *) staying[RS_TABLE_BUCKETS]; /* only ever added to, at the head */
  pthread_mutex_t mutex;                              /* of all that follows, and of additions */
  rs_table_node *guest[RS_TABLE_BUCKETS];
  rs_table_node *oldest, *newest; /* of the guests, by use */
  int guests, stayed;
  int most, most_staying; /* RS_TABLE_PLANS and RS_TABLE_STAYING; tests have fewer */
} rs_table;

void rs_table_init(rs_table *table);
void rs_table_free(rs_table *table); /* closes the programs */

/*
 * Runs rows on a stream with the program of their spec, made by the first who asks. workspace: may be NULL, as of
 * rs_launch.
 */
rowscan_status rs_table_run(rs_table *table, rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows,
                            void *workspace, size_t workspace_bytes, CUstream stream);

/*
 * The program of a spec, ready for these rows if it is new, for many runs: it does not go before it is given back, when
 * all of them are done. With the device's context current.
 */
rowscan_status rs_table_take(rs_table *table, rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows,
                             rs_table_node **taken);
rs_program *rs_table_program(rs_table_node *taken);
void rs_table_give(rs_table *table, rs_table_node *taken);

/* Makes ready what a run of these rows needs. Likewise. */
rowscan_status rs_table_ready(rs_table *table, rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows);

#endif
