/*
 * verdicts.c - kernels that the driver rejects even when they were compiled a moment before
 * SPDX-License-Identifier: MIT
 */
#include "verdicts.h"

#include <stdlib.h>
#include <string.h>

typedef struct rs_verdict {
  struct rs_verdict *older;
  char *key, *story;
  rowscan_status status;
} verdict;

void rs_verdicts_init(rs_verdicts *all) {
  *all = (rs_verdicts){.newest = NULL};
  pthread_mutex_init(&all->lock, NULL);
}

static void free_one(verdict *one) {
  free(one->key);
  free(one->story);
  free(one);
}

void rs_verdicts_free(rs_verdicts *all) {
  while (all->newest) {
    verdict *one = all->newest;
    all->newest = one->older;
    free_one(one);
  }
  pthread_mutex_destroy(&all->lock);
}

/* The next three are called with the lock held. */
static verdict *find(const rs_verdicts *all, const char *key) {
  verdict *one = all->newest;
  while (one && strcmp(one->key, key) != 0)
    one = one->older;
  return one;
}

static void drop_oldest(rs_verdicts *all) {
  verdict **at = &all->newest;
  while ((*at)->older)
    at = &(*at)->older;
  free_one(*at);
  *at = NULL;
  all->count--;
}

static void keep(rs_verdicts *all, verdict *one) {
  one->older = all->newest;
  all->newest = one;
  if (++all->count > RS_MOST_VERDICTS)
    drop_oldest(all);
}

void rs_verdicts_add(rs_verdicts *all, const char *key, rowscan_status status) {
  verdict *one = calloc(1, sizeof *one);
  if (!one)
    return;
  one->status = status;
  one->key = strdup(key);
  one->story = strdup(rowscan_last_error());
  pthread_mutex_lock(&all->lock);
  bool wanted = one->key && one->story && !find(all, key);
  if (wanted)
    keep(all, one);
  pthread_mutex_unlock(&all->lock);
  if (!wanted)
    free_one(one);
}

bool rs_verdicts_any(rs_verdicts *all) {
  pthread_mutex_lock(&all->lock);
  bool any = all->newest != NULL;
  pthread_mutex_unlock(&all->lock);
  return any;
}

rowscan_status rs_verdicts_ask(rs_verdicts *all, const char *key) {
  pthread_mutex_lock(&all->lock);
  const verdict *one = find(all, key);
  rowscan_status status = one ? rs_fail_lines(one->status, "%s", one->story) : ROWSCAN_OK;
  pthread_mutex_unlock(&all->lock);
  return status;
}
