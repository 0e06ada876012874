/*
 * evict.c - keeps the store within its bound
 * SPDX-License-Identifier: MIT
 *
 * A survey of a full store takes longer than a compile, and many processes write to it: so they know by its ledger how
 * much it holds. Who has noted a thirty-second part of the limit since the last survey makes the next one, under a
 * lock, and the others go on, as far as the limit: who would pass it waits until there is room. A survey that finds
 * more than fifteen sixteenths goes down to fourteen, the entry that is to be put included; so there is room for a
 * thirty-second part at least while the next one is under way, and only one put of many pays.
 *
 * What goes first is told by the time of use that a file has. A hit sets it if there was a survey since, or it is a
 * minute old: so, at a survey, what was used since the one before it is newer than what was not, however fast the store
 * turns over; and where nothing is put, a hit writes once a minute at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "file.h"
#include "inside.h"

enum {
  STALE_SECONDS = 3600,   /* no put takes so long: the writer of such a temporary is gone */
  WAIT_MILLISECONDS = 500 /* for another's survey: some times what one takes on a local disk */
};

typedef struct candidate {
  bool ahead; /* its time of use has yet to come: the clock was set back, and it was not used since */
  struct timespec used;
  int64_t bytes;
  char name[RS_ENTRY_NAME];
} candidate;

typedef struct survey {
  const rs_store *store;
  candidate *list;
  size_t count, room;
  int64_t coming; /* bytes of the entry that is to be put */
  rs_store_pruned sum;
  bool failed; /* out of memory */
  bool stuck;  /* something can't be removed */
} survey;

int64_t rs_store_target(const rs_store *store) {
  return store->options.limit_bytes - store->options.limit_bytes / 8;
}

/* Without eviction. */
static int64_t most_left(const rs_store *store) {
  return store->options.limit_bytes - store->options.limit_bytes / 16;
}

static bool removes(survey *all, const char *name, bool *gone) {
  rs_removal removal = rs_remove(all->store, name, !all->stuck);
  all->stuck = all->stuck || removal == RS_STAYS;
  *gone = removal != RS_STAYS;
  return removal == RS_REMOVED;
}

static int survey_one(void *user, const rs_found *found) {
  survey *all = user;
  if (found->temporary) {
    int64_t age = rs_file_age(&found->status);
    bool stale = age > STALE_SECONDS || age < -STALE_SECONDS;
    bool gone, swept = stale && removes(all, found->name, &gone);
    all->sum.swept += swept;
    all->sum.swept_bytes += swept ? found->bytes : 0;
    return 0;
  }
  candidate *list = rs_list_room(all->list, all->count, &all->room, sizeof *list);
  if (!list) {
    all->failed = true;
    return 1;
  }
  all->list = list;
  candidate *next = &list[all->count++];
  next->ahead = rs_file_age(&found->status) < -RS_AHEAD_SECONDS;
  next->used = found->status.st_mtim;
  next->bytes = found->bytes;
  memcpy(next->name, found->name, sizeof next->name);
  all->sum.left++;
  all->sum.left_bytes += next->bytes;
  return 0;
}

static int by_use(const void *left, const void *right) {
  const candidate *a = left, *b = right;
  if (a->ahead != b->ahead)
    return a->ahead ? -1 : 1;
  if (a->used.tv_sec != b->used.tv_sec)
    return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec)
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* What another process removed meanwhile is gone as well, but was not removed here. */
static void evict(rs_store *store, survey *all) {
  rs_store_pruned *sum = &all->sum;
  if (sum->left_bytes + all->coming <= most_left(store))
    return;
  qsort(all->list, all->count, sizeof *all->list, by_use);
  for (size_t i = 0; i < all->count && sum->left_bytes + all->coming > rs_store_target(store); i++) {
    const candidate *oldest = &all->list[i];
    bool gone, done = removes(all, oldest->name, &gone);
    if (!gone)
      continue;
    sum->left--;
    sum->left_bytes -= oldest->bytes;
    sum->removed += done;
    sum->removed_bytes += done ? oldest->bytes : 0;
  }
  rs_store_add(store, RS_COUNT_evictions, sum->removed);
  rs_log_line(&store->options.log, ROWSCAN_LOG_INFO, "%s: %lld entries (%lld bytes) removed, least recently used first",
              store->path, (long long)sum->removed, (long long)sum->removed_bytes);
}

/* Its time is that of the last survey's begin, by the clock that gives entries theirs. */
static const char surveyed[] = "surveyed";

static void mark_survey(const rs_store *store) {
  if (store->dir < 0 || rs_file_touch(store->dir, surveyed) || errno != ENOENT)
    return;
  int fd = rs_file_open(store->dir, surveyed, O_WRONLY | O_CREAT, NULL, NULL);
  if (fd < 0)
    return;
  close(fd);
  rs_file_touch(store->dir, surveyed);
}

struct timespec rs_surveyed(const rs_store *store, bool *ahead) {
  struct stat status;
  bool known = fstatat(store->dir, surveyed, &status, AT_SYMLINK_NOFOLLOW) == 0;
  *ahead = known && rs_file_age(&status) < 0;
  return known ? status.st_mtim : (struct timespec){0};
}

/* What can't be looked at or removed is not asked for again by each put. */
static int64_t to_note(const rs_store *store, const survey *all) {
  int64_t bytes = all->sum.left_bytes + all->coming;
  return all->failed || bytes > most_left(store) ? rs_store_target(store) : bytes;
}

/* coming: see above; -1: no put makes this survey. pruned: may be NULL. */
static bool survey_and_evict(rs_store *store, int64_t coming, rs_store_pruned *pruned) {
  survey all = {.store = store, .coming = coming < 0 ? 0 : coming};
  double start = rs_now_ms();
  mark_survey(store);
  rs_ledger_survey ledger = rs_ledger_begin(store, coming >= 0);
  bool complete = rs_walk(store, survey_one, &all);
  if (!all.failed)
    evict(store, &all);
  rs_ledger_end(&ledger, to_note(store, &all));
  free(all.list);
  rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG,
              "%s: surveyed in %.2f ms: %lld entries (%lld bytes) of at most %lld, %lld stale files",
              store->path ? store->path : "no cache", rs_now_ms() - start, (long long)all.sum.left,
              (long long)all.sum.left_bytes, (long long)store->options.limit_bytes, (long long)all.sum.swept);
  if (pruned)
    *pruned = all.sum;
  return complete && !all.failed && !all.stuck;
}

/* One survey at a time where locks work. False: another is under way. */
static bool survey_alone(rs_store *store, int64_t coming, bool anyway) {
  bool busy;
  rs_store_lock lock = rs_lock_try(store, "survey\n", &busy);
  if (busy && !anyway)
    return false;
  survey_and_evict(store, coming, NULL);
  rs_store_release(lock);
  return true;
}

bool rs_evict_before_put(rs_store *store, int64_t bytes) {
  int64_t limit = store->options.limit_bytes;
  uint64_t noted = 0;
  double end = rs_now_ms() + WAIT_MILLISECONDS;
  for (double pause = 1;; pause = pause < 8 ? 2 * pause : 8) {
    rs_ledger known;
    if (!rs_ledger_note(store, bytes, &noted, &known))
      return false;
    bool full = known.bytes > limit;
    if (!full && known.since < limit / 32)
      return true;
    if (survey_alone(store, bytes, full && rs_now_ms() > end) || !full)
      return true;
    rs_sleep_ms(pause);
  }
}

void rs_evict_after_put(rs_store *store) {
  survey_and_evict(store, 0, NULL);
}

bool rs_store_prune(rs_store *store, rs_store_pruned *pruned) {
  return survey_and_evict(store, -1, pruned);
}
