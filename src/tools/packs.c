/*
 * packs.c - entries of the cache into packs, by what their keys say, and out of them
 * SPDX-License-Identifier: MIT
 */
#include "packs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "compile/key.h"
#include "spec/arch.h"
#include "spec/spec.h"

static const char blanks[] = " \t\r\n";

/* ---- filters ----------------------------------------------------------------------------------------------------- */

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

/* ---- export ------------------------------------------------------------------------------------------------------ */

static rowscan_status need_directory(const rs_store *store) {
  if (*rs_store_path(store))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s", rs_store_why(store));
}

rowscan_status rs_packs_export(rs_store *store, const rowscan_cache_filter *filter, void **pack, size_t *bytes,
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
  void *made = rs_store_export(store, is_wanted, &all, &count, &sum, &wrong);
  if (!made)
    return rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s can't be exported: %s", rs_store_path(store), wrong);
  *pack = made;
  *bytes = count;
  rowscan_cache_exported told = {.entries = sum.entries, .damaged = sum.damaged, .bytes = (int64_t)count};
  rs_sized_write(exported, &told, sizeof told);
  return ROWSCAN_OK;
}

rowscan_status rs_packs_export_file(rs_store *store, const rowscan_cache_filter *filter, const char *file,
                                    rowscan_cache_exported *exported) {
  void *pack;
  size_t bytes;
  rowscan_cache_exported told = {.size = sizeof told};
  rowscan_status status = rs_sized_check(exported, "exported", "ROWSCAN_INFO");
  if (!status)
    status = rs_packs_export(store, filter, &pack, &bytes, &told);
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

/* ---- import ------------------------------------------------------------------------------------------------------ */

rowscan_status rs_packs_import(rs_store *store, const char *file, const void *pack, size_t bytes,
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
