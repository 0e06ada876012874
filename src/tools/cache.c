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
    return rs_fail(ROWSCAN_CACHE_FAILED, "the counts of the cache directory %s cannot be read: %m",
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
    return rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s cannot be read completely: %m", rs_store_path(store));
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
    return rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s cannot be read completely", rs_store_path(store));
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                         int (*visit)(void *user, const rowscan_cache_entry *entry), void *user) {
  RS_UNCANCELLED;
  visitor to = {visit, user};
  return rs_store_visit_packs(rs_builder_store(context->gpu.builder), visit_item, &to)
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_CACHE_FAILED, "some entries of the packs cannot be read: %m");
}

rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(pruned, "pruned", "ROWSCAN_INFO");
  if (status)
    return status;
  rs_store *store = rs_builder_store(context->gpu.builder);
  rs_store_pruned sum;
  if (!rs_store_prune(store, &sum))
    return rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s cannot be read and pruned completely",
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
  return cleared ? ROWSCAN_OK
                 : rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s cannot be cleared completely",
                           rs_store_path(store));
}

/* ---- packs: filters ---------------------------------------------------------------------------------------------- */

static const char blanks[] = " \t\r\n";

/* What is asked for, and what of it was found. */
typedef struct selection {
  rowscan_cache_filter filter;
  int *archs;
  bool *found;   /* an entry for an architecture */
  rs_text facts; /* of the entry that is exported */
  bool failed;   /* out of memory */
} selection;

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

/* A kernel for any length is made for a generation of architectures, as rs_compiled_arch says. */
static bool is_for(const char *key, int arch) {
  static const char any[] = "length=any";
  char line[32];
  int made_for = has_line(key, any, sizeof any - 1) ? rs_arch_generation(arch) : arch;
  return has_line(key, line, (size_t)snprintf(line, sizeof line, "arch=sm_%d", made_for));
}

/* Notes for which of the architectures it is. */
static bool has_arch(selection *asked, const char *key) {
  bool any = !asked->filter.arch_count;
  for (int i = 0; i < asked->filter.arch_count; i++)
    if (is_for(key, asked->archs[i]))
      any = asked->found[i] = true;
  return any;
}

/* The next field=value of a filter's text; its length is 0 at the end. */
static size_t next_word(const char **at) {
  *at += strspn(*at, blanks);
  return strcspn(*at, blanks);
}

static bool take(void *user, const char *key, rs_part parts[RS_STORE_PARTS]) {
  selection *asked = user;
  const char *at = asked->filter.spec ? asked->filter.spec : "";
  for (size_t length; (length = next_word(&at)) > 0; at += length)
    if (!has_line(key, at, length))
      return false;
  if (!has_arch(asked, key))
    return false;
  asked->failed = asked->failed || !rs_binary_pack(parts, asked->filter.without_ptx != 0, &asked->facts);
  return !asked->failed;
}

static rowscan_status read_filter_archs(selection *asked) {
  size_t count = (size_t)asked->filter.arch_count;
  asked->archs = calloc(count + 1, sizeof *asked->archs);
  asked->found = calloc(count + 1, sizeof *asked->found);
  if (!asked->archs || !asked->found)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for %zu architectures", count);
  rowscan_status status = ROWSCAN_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = rs_arch_read(asked->filter.archs[i], &asked->archs[i]);
  return status;
}

static rowscan_status check_filter(selection *asked) {
  const rowscan_cache_filter *filter = &asked->filter;
  if (filter->arch_count < 0 || (filter->arch_count && !filter->archs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "filter: field 'arch_count': %d%s", filter->arch_count,
                   filter->archs ? " is negative" : ", but 'archs' is NULL");
  rowscan_status status = read_filter_archs(asked);
  if (status)
    return status;
  const char *at = filter->spec ? filter->spec : "";
  for (size_t length; (length = next_word(&at)) > 0 && !status; at += length)
    if (!rs_key_has_field(at, strcspn(at, "=")) || !memchr(at, '=', length))
      status = rs_spec_check_pair(at, length);
  return status ? rs_fail_more(status, " (filter: field 'spec')") : ROWSCAN_OK;
}

/* ---- packs: export ----------------------------------------------------------------------------------------------- */

/* Where to look for what was asked for. */
static rowscan_status need_any(const rs_store *store) {
  if (*rs_store_path(store) || rs_store_packs(store, NULL))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s%s", rs_store_why(store), rs_store_unused(store));
}

/* What is missing, of what was asked for: all of it, or all for some of the architectures. */
static rowscan_status check_found(rs_builder *builder, const selection *asked, int64_t entries) {
  rs_text archs = {0}, where = {0};
  for (int i = 0; i < asked->filter.arch_count; i++)
    if (!asked->found[i])
      rs_text_add(&archs, "%s sm_%d", archs.length ? "," : " for", asked->archs[i]);
  if (entries && !archs.length && !archs.failed)
    return ROWSCAN_OK;
  rs_builder_where(builder, &where);
  const char *fields = asked->filter.spec ? asked->filter.spec : "";
  bool any = !fields[strspn(fields, blanks)];
  rs_fail(ROWSCAN_CACHE_FAILED, "no entry%s%s%s%s is in %s", archs.length && !archs.failed ? archs.data : "",
          any ? "" : " with '", any ? "" : fields, any ? "" : "'", where.failed ? "the cache" : where.data);
  rs_text_free(&archs);
  rs_text_free(&where);
  return ROWSCAN_CACHE_FAILED;
}

static rowscan_status make_pack(rs_builder *builder, selection *asked, void **pack, size_t *bytes,
                                rs_store_exported *sum) {
  const char *wrong;
  size_t count;
  void *made = rs_store_export(rs_builder_store(builder), take, asked, &count, sum, &wrong);
  if (asked->failed)
    wrong = "out of memory";
  rowscan_status status = wrong ? rs_fail(ROWSCAN_CACHE_FAILED, "the pack cannot be made: %s", wrong)
                                : check_found(builder, asked, sum->entries);
  if (status) {
    free(made);
    return status;
  }
  *pack = made;
  *bytes = count;
  return ROWSCAN_OK;
}

static rowscan_status export(rs_builder *builder, const rowscan_cache_filter *filter, void **pack, size_t *bytes,
                             rowscan_cache_exported *exported) {
  selection asked = {.filter.size = sizeof asked.filter};
  rs_store_exported sum;
  rowscan_status status = rs_sized_check(exported, "exported", "ROWSCAN_INFO");
  if (!status && filter)
    status = rs_sized_read(&asked.filter, sizeof asked.filter, filter, "filter", "ROWSCAN_CACHE_FILTER");
  if (!status)
    status = check_filter(&asked);
  if (!status)
    status = need_any(rs_builder_store(builder));
  if (!status)
    status = make_pack(builder, &asked, pack, bytes, &sum);
  free(asked.archs);
  free(asked.found);
  rs_text_free(&asked.facts);
  if (status)
    return status;
  rowscan_cache_exported told = {.entries = sum.entries, .damaged = sum.damaged, .bytes = (int64_t)*bytes};
  rs_sized_write(exported, &told, sizeof told);
  return ROWSCAN_OK;
}

static rowscan_status check_file(const char *file) {
  return *file ? ROWSCAN_OK : rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'file': '' is not the name of a file");
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
    status = export(context->gpu.builder, filter, &pack, &bytes, &told);
  if (status)
    return status;
  const char *wrong;
  if (rs_store_write_pack(file, pack, bytes, &wrong))
    rs_sized_write(exported, &told, sizeof told);
  else
    status = errno ? rs_fail(ROWSCAN_CACHE_FAILED, "the pack %s cannot be written: %m", file)
                   : rs_fail(ROWSCAN_CACHE_FAILED, "the pack %s cannot be written: it %s", file, wrong);
  free(pack);
  return status;
}

rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter, void **pack,
                                           size_t *bytes, rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  return export(context->gpu.builder, filter, pack, bytes, exported);
}

/* ---- packs: import ----------------------------------------------------------------------------------------------- */

static rowscan_status need_directory(const rs_store *store) {
  if (*rs_store_path(store))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s", rs_store_why(store));
}

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
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'pack': NULL, but 'bytes' is %zu", bytes);
  return import(rs_builder_store(context->gpu.builder), NULL, pack, bytes, imported);
}
