/*
 * put.c - an entry into the directory, and out of it
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "file.h"
#include "inside.h"

/* ---- a file that appears as a whole or not at all ---------------------------------------------------------------- */

/* Unique by O_EXCL; process and time only make a second try rare. */
static int create_temporary(int dir, char name[RS_TEMPORARY_NAME]) {
  int fd = -1;
  for (int tries = 0; tries < 100 && fd < 0; tries++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, RS_TEMPORARY_NAME, RS_TEMPORARY "%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
    fd = rs_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  return fd;
}

static bool flush(int fd) {
  int result;
  do
    result = fsync(fd);
  while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL; /* EINVAL: a file system that has no such thing */
}

/* On disk before it gets its name: else a crash could leave a name with nothing behind it. */
static bool fill(int fd, const void *bytes, size_t count) {
  bool full = rs_file_write(fd, bytes, count) && flush(fd);
  int error = errno;
  if (close(fd) != 0 && errno != EINTR && full) /* EINTR: it is closed all the same, and was flushed */
    return false;
  errno = error;
  return full;
}

static bool publish_file(int shard, const char *file, const void *bytes, size_t count) {
  char temporary[RS_TEMPORARY_NAME];
  int fd = create_temporary(shard, temporary);
  if (fd < 0)
    return false;
  if (fill(fd, bytes, count) && renameat(shard, temporary, shard, file) == 0)
    return true;
  int error = errno;
  unlinkat(shard, temporary, 0);
  errno = error;
  return false;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static bool publish(const rs_store *store, const char *name, const void *bytes, size_t count) {
  char shard_name[3] = {name[0], name[1], 0};
  if (mkdirat(store->dir, shard_name, 0700) != 0 && errno != EEXIST)
    return false;
  int shard = rs_shard_open(store, name);
  if (shard < 0)
    return false;
  bool kept = publish_file(shard, name + 3, bytes, count);
  int error = errno;
  close(shard);
  errno = error;
  return kept;
}

bool rs_store_put(rs_store *store, const char *key, const rs_part parts[RS_STORE_PARTS]) {
  if (store->dir < 0)
    return false;
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  uint64_t size = rs_entry_bytes(key, parts);
  if (!size || size > (uint64_t)rs_store_target(store)) {
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING,
                "entry %s/%s is not kept: %llu bytes are too many for a cache of at most %lld", store->path, name,
                (unsigned long long)size, (long long)store->options.limit_bytes);
    return false;
  }
  size_t bytes;
  unsigned char *file = rs_entry_encode(key, parts, &bytes);
  if (!file)
    return false;
  bool noted = rs_evict_before_put(store, (int64_t)bytes), kept = publish(store, name, file, bytes);
  if (!kept)
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "entry %s/%s is not kept: %m", store->path, name);
  free(file);
  if (kept)
    rs_endings_note(store, key);
  if (kept && !noted)
    rs_evict_after_put(store);
  rs_counts_save(store);
  return kept;
}

_Static_assert((int)RS_STORE_NAME == (int)RS_ENTRY_NAME, "store.h tells the room that names take");
void rs_store_name(const char *key, char name[RS_STORE_NAME]) {
  rs_entry_name(key, name);
}

bool rs_store_has(rs_store *store, const char name[RS_STORE_NAME]) {
  int shard = rs_shard_open(store, name);
  bool has = shard >= 0 && faccessat(shard, name + 3, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (shard >= 0)
    close(shard);
  return has;
}

void rs_store_remove(rs_store *store, const char *key) {
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  int shard = rs_shard_open(store, name);
  if (shard < 0)
    return;
  unlinkat(shard, name + 3, 0);
  close(shard);
}
