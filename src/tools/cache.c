/*
 * cache.c - what looks into the cache, and takes entries into packs, by what their keys say, and out of them
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/sized.h"
#include "base/status.h"
#include "compile/key.h"
#include "run/plan.h"
#include "spec/arch.h"
#include "spec/spec.h"

/* ---- what it holds ----------------------------------------------------------------------------------------------- */

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

/* ---- packs: filters ---------------------------------------------------------------------------------------------- */

static const char blanks[] = " \t\r\n";

/* A key that has this line. */
static bool has_line(const char *key, const char *line, size_t length) {
  for (const char *at = key; *at;) {
    size_t here = strcspn(at, "\n");
    if (here == length && memcmp(at, line, length) == 0)
      return true;
    at += here + (at[here] == '\n');
  }
  return false;
}

static bool has_arch(const char *key, const rowscan_cache_filter *filter) {
  for (int i = 0; i < filter->arch_count; i++) {
    char line[32];
    int length = snprintf(line, sizeof line, "arch=%s", filter->archs[i]);
    if (has_line(key, line, (size_t)length))
      return true;
  }
  return !filter->arch_count;
}

/* The next field=value of a filter's text; its length is 0 at the end. */
static size_t next_word(const char **at) {
  *at += strspn(*at, blanks);
  return strcspn(*at, blanks);
}

static bool is_wanted(void *user, const char *key) {
  const rowscan_cache_filter *filter = user;
  if (!has_arch(key, filter))
    return false;
  const char *at = filter->spec ? filter->spec : "";
  for (size_t length; (length = next_word(&at)) > 0; at += length)
    if (!has_line(key, at, length))
      return false;
  return true;
}

static rowscan_status check_filter(const rowscan_cache_filter *filter) {
  if (filter->arch_count < 0 || (filter->arch_count && !filter->archs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "filter: field 'arch_count': %d%s", filter->arch_count,
                   filter->archs ? " is negative" : ", but 'archs' is NULL");
  int number;
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < filter->arch_count && !status; i++)
    status = rs_arch_read(filter->archs[i], &number);
  if (status)
    return status;
  const char *at = filter->spec ? filter->spec : "";
  for (size_t length; (length = next_word(&at)) > 0 && !status; at += length)
    if (!rs_key_has_field(at, strcspn(at, "=")) || !memchr(at, '=', length))
      status = rs_spec_check_pair(at, length);
  return status ? rs_fail_more(status, " (filter: field 'spec')") : ROWSCAN_OK;
}

/* ---- packs: export ----------------------------------------------------------------------------------------------- */

static rowscan_status need_directory(const rs_store *store) {
  if (*rs_store_path(store))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s", rs_store_why(store));
}

static rowscan_status export(rs_store *store, const rowscan_cache_filter *filter, void **pack, size_t *bytes,
                             rowscan_cache_exported *exported) {
  rowscan_cache_filter all = {.size = sizeof all};
  rowscan_status status = rs_sized_check(exported, "exported", "ROWSCAN_INFO");
  if (!status && filter)
    status = rs_sized_read(&all, sizeof all, filter, "filter", "ROWSCAN_CACHE_FILTER");
  if (!status && filter)
    status = check_filter(&all);
  if (!status)
    status = need_directory(store);
  if (status)
    return status;
  rs_store_exported sum;
  size_t count;
  const char *wrong;
  void *made =
      rs_store_export(store, is_wanted, &all, all.without_ptx ? RS_BINARY_PTX : RS_STORE_PARTS, &count, &sum, &wrong);
  if (!made)
    return rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s can't be exported: %s", rs_store_path(store), wrong);
  *pack = made;
  *bytes = count;
  rowscan_cache_exported told = {.entries = sum.entries, .damaged = sum.damaged, .bytes = (int64_t)count};
  rs_sized_write(exported, &told, sizeof told);
  return ROWSCAN_OK;
}

static rowscan_status check_file(const char *file) {
  return *file ? ROWSCAN_OK : rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'file': \"\", which names none");
}

rowscan_status rowscan_cache_export(rowscan_context *context, const char *file, const rowscan_cache_filter *filter,
                                    rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  void *pack;
  size_t bytes;
  rowscan_cache_exported told = {.size = sizeof told};
  rowscan_status status = check_file(file);
  if (!status)
    status = rs_sized_check(exported, "exported", "ROWSCAN_INFO");
  if (!status)
    status = export(rs_builder_store(context->gpu.builder), filter, &pack, &bytes, &told);
  if (status)
    return status;
  const char *wrong;
  if (rs_store_write_pack(file, pack, bytes, &wrong))
    rs_sized_write(exported, &told, sizeof told);
  else
    status = errno ? rs_fail(ROWSCAN_CACHE_FAILED, "the pack %s can't be written: %m", file)
                   : rs_fail(ROWSCAN_CACHE_FAILED, "the pack %s can't be written: it %s", file, wrong);
  free(pack);
  return status;
}

rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter, void **pack,
                                           size_t *bytes, rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  return export(rs_builder_store(context->gpu.builder), filter, pack, bytes, exported);
}

/* ---- packs: import ----------------------------------------------------------------------------------------------- */

/* file: NULL: the pack lies in memory. */
static rowscan_status import(rs_store *store, const char *file, const void *pack, size_t bytes,
                             rowscan_cache_imported *imported) {
  rowscan_status status = rs_sized_check(imported, "imported", "ROWSCAN_INFO");
  if (!status)
    status = need_directory(store);
  if (status)
    return status;
  rs_store_imported sum;
  const char *wrong = file ? rs_store_import_file(store, file, &sum) : rs_store_import(store, pack, bytes, &sum);
  if (wrong)
    return rs_fail(ROWSCAN_CACHE_FAILED, "the pack %s is not used: %s", file ? file : "in memory", wrong);
  rowscan_cache_imported told = {
      .entries = sum.entries, .added = sum.added, .present = sum.present, .damaged = sum.damaged, .failed = sum.failed};
  rs_sized_write(imported, &told, sizeof told);
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_import(rowscan_context *context, const char *file, rowscan_cache_imported *imported) {
  RS_UNCANCELLED;
  rowscan_status status = check_file(file);
  return status ? status : import(rs_builder_store(context->gpu.builder), file, NULL, 0, imported);
}

rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                           rowscan_cache_imported *imported) {
  RS_UNCANCELLED;
  if (!pack && bytes)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "pack: NULL, but bytes: %zu", bytes);
  return import(rs_builder_store(context->gpu.builder), NULL, pack, bytes, imported);
}
