/*
 * table.c - the plans that one-call scans have made, by spec
 * SPDX-License-Identifier: MIT
 */
#include "table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "plan.h"
#include "status.h"

/* All of a spec, in two words. */
typedef struct spec_key {
  uint64_t fields, length;
} spec_key;

struct rs_table_node {
  rs_table_node *next;
  spec_key key;
  rowscan_plan *plan;
};

static spec_key key_of(const rowscan_spec *spec) {
  uint64_t fields = (uint64_t)spec->op;
  fields = fields << 4 | (uint64_t)spec->in_type;
  fields = fields << 4 | (uint64_t)spec->out_type;
  fields = fields << 4 | (uint64_t)spec->acc_type;
  fields = fields << 4 | (uint64_t)spec->mask_type;
  fields = fields << 4 | (uint64_t)spec->mask_mode;
  fields = fields << 4 | (uint64_t)spec->flags;
  fields = fields << 4 | (uint64_t)spec->layout;
  fields = fields << 4 | (uint64_t)spec->regime;
  fields = fields << 8 | (uint64_t)spec->row_rank;
  return (spec_key){fields, (uint64_t)spec->length};
}

static size_t bucket_of(spec_key key) {
  uint64_t mixed = (key.fields ^ key.length * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  return mixed >> 56;
}
_Static_assert(RS_TABLE_BUCKETS == 256, "bucket_of() gives 8 bits");

static rs_table_node *find(rs_table_node *node, spec_key key) {
  while (node && (node->key.fields != key.fields || node->key.length != key.length))
    node = node->next;
  return node;
}

void rs_table_init(rs_table *table) {
  for (int i = 0; i < RS_TABLE_BUCKETS; i++)
    atomic_init(&table->bucket[i], NULL);
}

void rs_table_free(rs_table *table) {
  for (int i = 0; i < RS_TABLE_BUCKETS; i++) {
    rs_table_node *next;
    for (rs_table_node *node = atomic_load(&table->bucket[i]); node; node = next) {
      next = node->next;
      rs_plan_destroy(node->plan);
      free(node);
    }
  }
}

rowscan_status rs_table_plan(rs_table *table, rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                             rowscan_plan **plan) {
  spec_key key = key_of(spec);
  _Atomic(rs_table_node *) *bucket = &table->bucket[bucket_of(key)];
  rs_table_node *node = find(atomic_load_explicit(bucket, memory_order_acquire), key);
  if (node) {
    *plan = node->plan;
    return ROWSCAN_OK;
  }

  rowscan_plan *made;
  rowscan_status status = rs_plan_create(&made, context, spec, rows);
  if (status)
    return status;
  rs_table_node *mine = malloc(sizeof *mine);
  if (!mine) {
    rs_plan_destroy(made);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the table of plans");
  }
  *mine = (rs_table_node){.next = atomic_load(bucket), .key = key, .plan = made};
  while (!(node = find(mine->next, key)))
    if (atomic_compare_exchange_weak(bucket, &mine->next, mine)) {
      *plan = made;
      return ROWSCAN_OK;
    }
  rs_plan_destroy(made); /* another thread was first */
  free(mine);
  *plan = node->plan;
  return ROWSCAN_OK;
}
