/*
 * walk.c - goes through the directories of a store: what looks at all entries, or removes them
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

static void shard_name(int shard, char name[3]) {
  snprintf(name, 3, "%02x", (unsigned)shard & 0xff);
}

int rs_shard_open(const rs_store *store, const char *name) {
  errno = ENOENT;
  if (store->dir < 0)
    return -1;
  char shard[3] = {name[0], name[1], 0};
  const char *wrong;
  int fd = rs_dir_open(store->dir, shard, false, &wrong);
  if (fd >= 0 || errno == ENOENT)
    return fd;
  int error = errno;
  rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s/%s is not used: %s", store->path, shard,
              wrong ? wrong : strerror(error));
  errno = error;
  return -1;
}

/* What does not look like a name of ours is not ours, and is left alone. */
static bool is_ours(const char *file, bool *temporary) {
  size_t length = strlen(file);
  *temporary = strncmp(file, RS_TEMPORARY, strlen(RS_TEMPORARY)) == 0;
  return *temporary ? length < RS_TEMPORARY_NAME
                    : length == RS_ENTRY_NAME - 4 && strspn(file, "0123456789abcdef") == length;
}

/* What a walk could not read. */
typedef struct unread {
  bool any;
  int error; /* of the first that was not at fault itself; 0: each was */
} unread;

static void note_unread(unread *all, int error) {
  all->any = true;
  if (!all->error && !rs_file_is_at_fault(error))
    all->error = error;
}

static void tell_unread(const rs_store *store, const char *name, unread *all) {
  note_unread(all, errno);
  rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s/%s cannot be read: %m", store->path, name);
}

/* The next name; NULL: there is none, or (which is noted) it can't be read. */
static const struct dirent *next_name(const rs_store *store, const char *shard, DIR *list, unread *all) {
  errno = 0;
  const struct dirent *at = readdir(list);
  if (!at && errno)
    tell_unread(store, shard, all);
  return at;
}

static int walk_shard(const rs_store *store, DIR *list, const char *shard,
                      int (*each)(void *user, const rs_found *found), void *user, unread *all) {
  rs_found found = {.shard = dirfd(list)};
  int end = 0;
  for (const struct dirent *at; !end && (at = next_name(store, shard, list, all)) != NULL;) {
    if (!is_ours(at->d_name, &found.temporary))
      continue;
    snprintf(found.name, sizeof found.name, "%.2s/%.*s", shard, RS_TEMPORARY_NAME - 1, at->d_name);
    found.file = found.name + 3;
    if (fstatat(found.shard, at->d_name, &found.status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) /* it vanished */
        tell_unread(store, found.name, all);
      continue;
    }
    found.bytes = rs_countable((uint64_t)found.status.st_size);
    end = each(user, &found);
  }
  return end;
}

bool rs_walk(const rs_store *store, int (*each)(void *user, const rs_found *found), void *user) {
  unread all = {false, 0};
  for (int i = 0, end = 0; i < RS_SHARDS && !end; i++) {
    char shard[3];
    shard_name(i, shard);
    int fd = rs_shard_open(store, shard);
    if (fd < 0) {
      if (errno != ENOENT && errno != ENOTDIR) /* a file or link of that name has no entries */
        note_unread(&all, errno);
      continue;
    }
    DIR *list = fdopendir(fd);
    if (list) {
      end = walk_shard(store, list, shard, each, user, &all);
      closedir(list);
    } else {
      tell_unread(store, shard, &all);
      close(fd);
    }
  }
  errno = all.error ? all.error : EACCES;
  return !all.any;
}

rs_removal rs_remove(const rs_store *store, const char *name, bool tell) {
  if (unlinkat(store->dir, name, 0) == 0)
    return RS_REMOVED;
  if (errno == ENOENT)
    return RS_GONE;
  if (tell)
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s/%s cannot be removed: %m", store->path, name);
  return RS_STAYS;
}

/* ---- what looks at all entries, or removes them ------------------------------------------------------------------ */

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
  if (!rs_load(found->shard, found->file, RS_STORE_PARTS, &loaded, &item.damage)) {
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
    item.damage = "it holds another key";
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
  for (int i = 0; store->dir >= 0 && i < RS_SHARDS; i++) {
    char shard[3];
    shard_name(i, shard);
    unlinkat(store->dir, shard, AT_REMOVEDIR); /* fails where something is left */
  }
  give(&sum, removed, bytes);
  return complete && !sum.failed;
}
