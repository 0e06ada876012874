/*
 * table.h - the plans that one-call scans have made, by spec
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TABLE_H
#define RS_TABLE_H

#include "rows.h"
#include "spec.h"

enum { RS_TABLE_BUCKETS = 256 };

typedef struct rs_table_node rs_table_node;

/* Nodes are only ever added, at the head of their bucket, so that finding one takes no lock. */
typedef struct rs_table {
  _Atomic(rs_table_node *) bucket[RS_TABLE_BUCKETS];
} rs_table;

void rs_table_init(rs_table *table);
void rs_table_free(rs_table *table); /* destroys the plans */

/* The plan of a spec, made by the first who asks, and then ready for these rows. */
rowscan_status rs_table_plan(rs_table *table, rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                             rowscan_plan **plan);

#endif
