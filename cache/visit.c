/*
 * visit.c - what looks at all entries, or removes them
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inside.h"

typedef struct visit_call {
  const rs_store *store;
  int (*visit)(void *user, const rs_store_item *item);
  void *user;
  int error; /* that kept an entry from being read; 0: none */
} visit_call;

static int visit_entry(void *user, const rs_found *found) {
  visit_call *call = user;
  rs_loaded loaded;
  rs_store_item item = {.name = found->name, .bytes = found->bytes, .used = found->status.st_mtim.tv_sec};
  if (found->temporary)
    return 0;
  if (!rs_load(found->fan, found->file, RS_STORE_PARTS, &loaded, &item.damage)) {
    if (!loaded.error)
      return item.damage ? call->visit(call->user, &item) : 0;
    rs_tell_unread(call->store, found->name, &loaded);
    call->error = loaded.error;
    return 0;
  }
  char name[RS_ENTRY_NAME];
  rs_entry_name(loaded.texts.key, name);
  if (strcmp(name, found->name) == 0)
    item.key = loaded.texts.key;
  else
    item.damage = "under the name of another key";
  int end = call->visit(call->user, &item);
  free(loaded.memory);
  return end;
}

bool rs_store_visit(rs_store *store, int (*visit)(void *user, const rs_store_item *item), void *user) {
  visit_call call = {store, visit, user, 0};
  bool complete = rs_walk(store, visit_entry, &call);
  if (call.error)
    errno = call.error;
  return complete && !call.error;
}

typedef struct tally {
  const rs_store *store;
  int64_t entries;
  int64_t bytes;
  bool failed;
} tally;

static void give(const tally *sum, int64_t *entries, int64_t *bytes) {
  if (entries)
    *entries = sum->entries;
  if (bytes)
    *bytes = sum->bytes;
}

static int count_entry(void *user, const rs_found *found) {
  tally *sum = user;
  sum->entries += !found->temporary;
  sum->bytes += found->temporary ? 0 : found->bytes;
  return 0;
}

bool rs_store_count(rs_store *store, int64_t *entries, int64_t *bytes) {
  tally sum = {0};
  bool complete = rs_walk(store, count_entry, &sum);
  give(&sum, entries, bytes);
  return complete;
}

static int clear_entry(void *user, const rs_found *found) {
  tally *sum = user;
  rs_removal removal = rs_remove(sum->store, found->name, !sum->failed);
  if (removal == RS_REMOVED)
    count_entry(sum, found);
  sum->failed = sum->failed || removal == RS_STAYS;
  return 0;
}

bool rs_store_clear(rs_store *store, int64_t *removed, int64_t *bytes) {
  tally sum = {.store = store};
  bool complete = rs_walk(store, clear_entry, &sum);
  for (int i = 0; store->dir >= 0 && i < RS_FANS; i++) {
    char fan[3];
    rs_fan_name(i, fan);
    unlinkat(store->dir, fan, AT_REMOVEDIR); /* fails where something is left */
  }
  give(&sum, removed, bytes);
  return complete && !sum.failed;
}
