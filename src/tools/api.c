/*
 * api.c - the API border of the tools: measuring, warming, and what looks into the cache
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "base/cancel.h"
#include "base/sized.h"
#include "base/status.h"
#include "measure.h"
#include "packs.h"
#include "spec/arch.h"
#include "warm.h"
#include "why.h"

/* ---- measuring --------------------------------------------------------------------------------------------------- */

rowscan_status rowscan_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args, int repeat,
                               rowscan_timing *timing) {
  RS_UNCANCELLED;
  if (repeat < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'repeat': %d is negative", repeat);
  rowscan_spec complete;
  rowscan_args given;
  rowscan_timing found = {.size = sizeof found};
  rowscan_status status = rs_sized_check(timing, "timing", "ROWSCAN_INFO");
  if (!status)
    status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_sized_read(&given, sizeof given, args, "args", "ROWSCAN_ARGS");
  if (!status)
    status = rs_measure(context, &complete, &given, repeat, &found);
  if (!status)
    rs_sized_write(timing, &found, sizeof found);
  return status;
}

/* ---- ahead of need ----------------------------------------------------------------------------------------------- */

rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *given) {
  RS_UNCANCELLED;
  rowscan_warming read, *list = &read;
  rowscan_status status = rs_sized_read(list, sizeof *list, given, "warming", "ROWSCAN_WARMING");
  if (status)
    return status;
  if (list->spec_count < 0 || (list->spec_count && !list->specs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'spec_count': %lld%s", (long long)list->spec_count,
                   list->specs ? " is negative" : ", but 'specs' is NULL");
  if (list->arch_count < 0 || (list->arch_count && !list->archs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'arch_count': %d%s", list->arch_count,
                   list->archs ? " is negative" : ", but 'archs' is NULL");
  if (list->threads < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'threads': %d is negative", list->threads);
  return rs_warm(context, list);
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static rowscan_cache_counts tell_counts(const rs_store_counts *counts) {
  return (rowscan_cache_counts){.hits = counts->of[RS_COUNT_hits],
                                .misses = counts->of[RS_COUNT_misses],
                                .compiles = counts->of[RS_COUNT_compiles],
                                .saved_ms = 1e-3 * (double)counts->of[RS_COUNT_saved_us],
                                .evictions = counts->of[RS_COUNT_evictions],
                                .damaged = counts->of[RS_COUNT_damaged],
                                .rejected = counts->of[RS_COUNT_rejected]};
}

rowscan_status rowscan_cache_info_get(rowscan_context *context, rowscan_cache_info *info) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(info, "info", "ROWSCAN_INFO");
  if (status)
    return status;
  rs_store *store = rs_builder_store(context->gpu.builder);
  rs_store_counts mine, all;
  if (!rs_store_counted(store, &mine, &all))
    return rs_fail(ROWSCAN_CACHE_FAILED, "the counts of the cache directory %s can't be read: %m",
                   rs_store_path(store));
  rowscan_cache_info found = {.size = sizeof found,
                              .path = rs_store_path(store),
                              .why = rs_store_why(store),
                              .limit_bytes = rs_store_limit(store),
                              .packs = rs_store_packs(store, NULL),
                              .counts = tell_counts(&mine),
                              .all = tell_counts(&all)};
  rs_store_packs(store, &found.pack_entries);
  if (!rs_store_count(store, &found.entries, &found.bytes) && errno != EACCES) /* of those the log tells */
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read: %m", rs_store_path(store));
  rs_sized_write(info, &found, sizeof found);
  return ROWSCAN_OK;
}

typedef struct visitor {
  int (*visit)(void *user, const rowscan_cache_entry *entry);
  void *user;
} visitor;

static int visit_item(void *user, const rs_store_item *item) {
  const visitor *to = user;
  rowscan_cache_entry entry = {.size = sizeof entry,
                               .name = item->name,
                               .key = item->key,
                               .bytes = item->bytes,
                               .used = item->used,
                               .damage = item->damage,
                               .pack = item->pack};
  return to->visit(to->user, &entry);
}

rowscan_status rowscan_cache_visit(rowscan_context *context, int (*visit)(void *user, const rowscan_cache_entry *entry),
                                   void *user) {
  RS_UNCANCELLED;
  rs_store *store = rs_builder_store(context->gpu.builder);
  visitor to = {visit, user};
  if (!rs_store_visit(store, visit_item, &to))
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read", rs_store_path(store));
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                         int (*visit)(void *user, const rowscan_cache_entry *entry), void *user) {
  RS_UNCANCELLED;
  visitor to = {visit, user};
  return rs_store_visit_packs(rs_builder_store(context->gpu.builder), visit_item, &to)
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_CACHE_FAILED, "not all entries of the packs can be read: %m");
}

rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                 int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  return status ? status : rs_why(context, &complete, number, visit, user);
}

rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(pruned, "pruned", "ROWSCAN_INFO");
  if (status)
    return status;
  rs_store *store = rs_builder_store(context->gpu.builder);
  rs_store_pruned sum;
  if (!rs_store_prune(store, &sum))
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read and pruned",
                   rs_store_path(store));
  rowscan_cache_pruned found = {.removed = sum.removed,
                                .removed_bytes = sum.removed_bytes,
                                .swept = sum.swept,
                                .swept_bytes = sum.swept_bytes,
                                .left = sum.left,
                                .left_bytes = sum.left_bytes};
  rs_sized_write(pruned, &found, sizeof found);
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_clear(rowscan_context *context, int64_t *removed, int64_t *bytes) {
  RS_UNCANCELLED;
  rs_store *store = rs_builder_store(context->gpu.builder);
  int64_t gone = 0, gone_bytes = 0;
  bool cleared = rs_store_clear(store, &gone, &gone_bytes);
  if (removed)
    *removed = gone;
  if (bytes)
    *bytes = gone_bytes;
  return cleared
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be cleared", rs_store_path(store));
}

static rowscan_status check_file(const char *file) {
  return *file ? ROWSCAN_OK : rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'file': \"\", which names none");
}

rowscan_status rowscan_cache_export(rowscan_context *context, const char *file, const rowscan_cache_filter *filter,
                                    rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  rowscan_status status = check_file(file);
  return status ? status : rs_packs_export_file(rs_builder_store(context->gpu.builder), filter, file, exported);
}

rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter, void **pack,
                                           size_t *bytes, rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  return rs_packs_export(rs_builder_store(context->gpu.builder), filter, pack, bytes, exported);
}

rowscan_status rowscan_cache_import(rowscan_context *context, const char *file, rowscan_cache_imported *imported) {
  RS_UNCANCELLED;
  rowscan_status status = check_file(file);
  return status ? status : rs_packs_import(rs_builder_store(context->gpu.builder), file, NULL, 0, imported);
}

rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                           rowscan_cache_imported *imported) {
  RS_UNCANCELLED;
  if (!pack && bytes)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "pack: NULL, but bytes: %zu", bytes);
  return rs_packs_import(rs_builder_store(context->gpu.builder), NULL, pack, bytes, imported);
}
