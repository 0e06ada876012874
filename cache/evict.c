/*
 * evict.c - keeps the store within its bound
 * SPDX-License-Identifier: MIT
 *
 * Nobody knows how much the store holds, for many processes write to it, and a survey of a full one takes longer than a
 * compile. So they keep a ledger of what they have put since the last survey: a file that grows by a byte for each
 * 4096, by appends, which need no lock. Whoever brings it to a thirty-second part of the limit surveys. What is found
 * above fifteen sixteenths goes down to fourteen: so the limit holds, with as much again for what others put during the
 * survey, and only one put of many pays.
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

#include "file.h"
#include "inside.h"

enum {
  STALE_SECONDS = 3600, /* no put takes so long: the writer of such a temporary is gone */
  UNIT = 4096           /* bytes put for a byte in the ledger; this file must stay small, and a put counts */
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
  rs_store_pruned sum;
  bool failed; /* out of memory */
  bool stuck;  /* something can't be removed */
} survey;

int64_t rs_store_target(const rs_store *store) {
  return store->options.limit_bytes - store->options.limit_bytes / 8;
}

static bool grow(survey *all) {
  if (all->count < all->room)
    return true;
  size_t room = all->room ? 2 * all->room : 256;
  candidate *list = realloc(all->list, room * sizeof *list);
  if (!list)
    return false;
  all->list = list;
  all->room = room;
  return true;
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
    all->sum.swept_bytes += swept ? found->status.st_size : 0;
    return 0;
  }
  if (!grow(all)) {
    all->failed = true;
    return 1;
  }
  candidate *next = &all->list[all->count++];
  next->ahead = rs_file_age(&found->status) < -RS_AHEAD_SECONDS;
  next->used = found->status.st_mtim;
  next->bytes = found->status.st_size;
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
  if (sum->left_bytes <= store->options.limit_bytes - store->options.limit_bytes / 16)
    return;
  qsort(all->list, all->count, sizeof *all->list, by_use);
  for (size_t i = 0; i < all->count && sum->left_bytes > rs_store_target(store); i++) {
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
  rs_store_say(store, RS_INFORMATION, "%s: %lld entries (%lld bytes) removed, least recently used first", store->path,
               (long long)sum->removed, (long long)sum->removed_bytes);
}

/* Its time is that of the last survey's begin, by the clock that gives entries theirs. */
static const char surveyed[] = "surveyed";

static void mark_survey(const rs_store *store) {
  struct stat status;
  const char *wrong;
  if (store->dir < 0 || utimensat(store->dir, surveyed, NULL, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
    return;
  int fd = rs_file_open(store->dir, surveyed, O_WRONLY | O_CREAT, &status, &wrong);
  if (fd >= 0)
    close(fd);
}

/* In the same tick of that clock counts as after it. */
bool rs_surveyed_since(const rs_store *store, const struct timespec *time) {
  struct stat status;
  if (fstatat(store->dir, surveyed, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return false;
  const struct timespec *survey = &status.st_mtim;
  return survey->tv_sec > time->tv_sec || (survey->tv_sec == time->tv_sec && survey->tv_nsec >= time->tv_nsec);
}

static bool survey_and_evict(rs_store *store, rs_store_pruned *pruned) { /* may be NULL */
  survey all = {.store = store};
  double start = rs_store_ms();
  mark_survey(store);
  bool complete = rs_walk(store, survey_one, &all);
  if (!all.failed)
    evict(store, &all);
  free(all.list);
  rs_store_say(store, RS_DEBUG, "%s: surveyed in %.2f ms: %lld entries (%lld bytes) of at most %lld, %lld stale files",
               store->path ? store->path : "no cache", rs_store_ms() - start, (long long)all.sum.left,
               (long long)all.sum.left_bytes, (long long)store->options.limit_bytes, (long long)all.sum.swept);
  if (pruned)
    *pruned = all.sum;
  return complete && !all.failed && !all.stuck;
}

static bool note(int fd, int64_t units) {
  static const char zeros[64];
  for (; units > 0; units -= (int64_t)sizeof zeros)
    if (!rs_file_write(fd, zeros, units < (int64_t)sizeof zeros ? (size_t)units : sizeof zeros))
      return false;
  return true;
}

/* Adds to the ledger. Its first byte stands for the survey that it began with; what can't be noted is not forgotten. */
static bool is_due(const rs_store *store, int64_t bytes) {
  struct stat status;
  const char *wrong;
  int fd = rs_file_open(store->dir, "ledger", O_WRONLY | O_APPEND | O_CREAT, &status, &wrong);
  if (fd < 0)
    return true;
  int64_t units = bytes / UNIT + 1;
  bool noted = note(fd, units);
  bool due = !noted || status.st_size == 0 || status.st_size > store->options.limit_bytes / 32 / UNIT - units;
  if (due && !rs_file_resize(fd, 1)) /* before the survey, so that no put is missed */
    rs_store_say(store, RS_WARNING, "%s/ledger: %m", store->path);
  close(fd);
  return due;
}

void rs_evict_after_put(rs_store *store, int64_t bytes) {
  if (is_due(store, bytes))
    survey_and_evict(store, NULL);
}

bool rs_store_prune(rs_store *store, rs_store_pruned *pruned) {
  return survey_and_evict(store, pruned);
}
