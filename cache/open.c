/*
 * open.c - a store opened and closed, and what it says of itself
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "inside.h"

static void open_place(rs_store *store) {
  double start = rs_now_ms();
  store->dir = rs_place_open(&store->place, &store->path, store->why);
  rs_plain_in_place(store->why, sizeof store->why, false);
  if (store->dir < 0)
    rs_log_line(&store->options.log, store->options.optional ? ROWSCAN_LOG_INFO : ROWSCAN_LOG_WARNING,
                "nothing is kept on disk: %s", store->why);
  else if (*store->why)
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "the cache is in %s: %s", store->path, store->why);
  if (store->dir < 0)
    return;
  *store->why = 0;
  rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG, "the cache is %s, limited to %lld bytes; opened in %.2f ms",
              store->path, (long long)store->options.limit_bytes, rs_now_ms() - start);
}

void rs_store_need(rs_store *store) {
  if (atomic_load_explicit(&store->needed, memory_order_acquire))
    return;
  pthread_mutex_lock(&store->lock);
  if (!store->needed) {
    if (store->options.off_by)
      rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG, "there is no cache on disk: %s", store->why);
    else
      open_place(store);
    rs_tier_open(store);
  }
  atomic_store_explicit(&store->needed, true, memory_order_release);
  pthread_mutex_unlock(&store->lock);
}

rs_store *rs_store_open(const rs_store_options *options) {
  rs_store *store = calloc(1, sizeof *store);
  if (!store || pthread_mutex_init(&store->lock, NULL) != 0) {
    free(store);
    return NULL;
  }
  store->options = *options;
  if (store->options.limit_bytes <= 0)
    store->options.limit_bytes = RS_DEFAULT_LIMIT;
  store->dir = -1;
  if (options->off_by)
    snprintf(store->why, sizeof store->why, "turned off by %s", options->off_by);
  if ((!options->off_by && !rs_place_choose(&store->place, options->dir, options->later)) || !rs_tier_choose(store)) {
    rs_store_close(store);
    return NULL;
  }
  store->options.dir = store->options.packs = store->options.installed_packs = NULL;
  if (!options->later)
    rs_store_need(store);
  return store;
}

void rs_store_close(rs_store *store) {
  if (!store)
    return;
  rs_counts_save(store);
  if (store->dir >= 0)
    close(store->dir);
  rs_tier_close(store->tier);
  rs_place_free(&store->place);
  pthread_mutex_destroy(&store->lock);
  free(store);
}

const char *rs_store_path(const rs_store *store) {
  return store->path ? store->path : "";
}

const char *rs_store_why(const rs_store *store) {
  return store->why;
}

int64_t rs_store_limit(const rs_store *store) {
  return store->options.limit_bytes;
}
