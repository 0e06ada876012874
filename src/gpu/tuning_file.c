/*
 * tuning_file.c - the tuning table of a GPU: a file of the cache's directory, one for each kind of GPU
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* "tuning-NVIDIA-H200-132.txt" */
static void name_file(const rowscan_device_info *device, rs_text *name) {
  rs_text_add(name, "tuning-%s-%d.txt", device->name, device->multiprocessors);
  for (char *at = name->failed ? NULL : name->data; at && *at; at++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-", *at))
      *at = '-';
}

/* Of the GPU: the name of its file, and the head of its table. */
static rowscan_status identify(const rs_gpu *gpu, rs_text *name, rs_text *head) {
  rowscan_device_info device;
  rowscan_status status = rs_device_info(gpu->device.ordinal, &device);
  if (status)
    return status;
  name_file(&device, name);
  rs_tuning_head(head, device.name, gpu->device.arch, device.multiprocessors);
  return name->failed || head->failed ? rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a tuning table") : ROWSCAN_OK;
}

/* Of the file; NULL: there is none, or *wrong says what is wrong with it. Of another GPU or version it is none. */
static char *read_table(const rs_gpu *gpu, const rs_text *name, const rs_text *head, const char **wrong) {
  rs_store *store = rs_builder_store(gpu->builder);
  char *table = rs_store_read_file(store, name->data, wrong);
  if (!table || rs_tuning_has_head(table, head))
    return table;
  rs_log_write(
      gpu->log, ROWSCAN_LOG_INFO,
      "%s/%s is not used: another version of rowscan made it, or for another GPU; 'rowscan tune' makes it anew",
      rs_store_path(store), name->data);
  free(table);
  return NULL;
}

rowscan_status rs_tuning_load(const rs_gpu *gpu, char **table) {
  rs_text name = {0}, head = {0};
  const char *wrong = NULL;
  rowscan_status status = identify(gpu, &name, &head);
  *table = status ? NULL : read_table(gpu, &name, &head, &wrong);
  if (wrong)
    rs_log_write(gpu->log, ROWSCAN_LOG_WARNING, "%s/%s is not used: %s%s%s",
                 rs_store_path(rs_builder_store(gpu->builder)), name.data, wrong, errno ? ": " : "",
                 errno ? strerror(errno) : "");
  rs_text_free(&name);
  rs_text_free(&head);
  return status;
}

rowscan_status rs_tuning_begin(const rs_gpu *gpu, rs_text *table) {
  rs_text name = {0};
  rowscan_status status = identify(gpu, &name, table);
  rs_text_free(&name);
  return status;
}

/* errno: 0, or more of what is wrong. */
static rowscan_status tell_unwritten(const rs_store *store, const char *name, const char *wrong) {
  const char *path = rs_store_path(store), *more = errno ? strerror(errno) : *path ? "" : rs_store_why(store);
  return rs_fail(ROWSCAN_CACHE_FAILED, "the tuning table %s%s%s cannot be kept: %s%s%s", path, *path ? "/" : "", name,
                 wrong, *more ? ": " : "", more);
}

/* table: its head. */
static rowscan_status change_file(const rs_gpu *gpu, const rs_text *name, rs_text *table, rs_tuning_change *change,
                                  void *user) {
  rs_store *store = rs_builder_store(gpu->builder);
  const char *wrong = NULL;
  char *before = read_table(gpu, name, table, &wrong);
  rowscan_status status = wrong ? tell_unwritten(store, name->data, wrong) : ROWSCAN_OK;
  if (!status)
    status = change(user, before ? before : "", table);
  if (!status && !rs_store_write_file(store, name->data, table->data, table->length, &wrong))
    status = tell_unwritten(store, name->data, wrong);
  free(before);
  return status;
}

rowscan_status rs_tuning_save(const rs_gpu *gpu, rs_tuning_change *change, void *user, rs_text *path) {
  enum { WAIT_MS = 2000 };
  rs_text name = {0}, table = {0};
  rs_store *store = rs_builder_store(gpu->builder);
  rowscan_status status = identify(gpu, &name, &table);
  if (!status) {
    rs_store_lock lock = rs_store_acquire(store, name.data, WAIT_MS);
    status = change_file(gpu, &name, &table, change, user);
    rs_store_release(lock);
  }
  if (!status)
    rs_text_add(path, "%s/%s", rs_store_path(store), name.data);
  rs_text_free(&name);
  rs_text_free(&table);
  return status;
}
