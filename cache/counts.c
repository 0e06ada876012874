/*
 * counts.c - what happened to a store, by this process and by all
 * SPDX-License-Identifier: MIT
 *
 * Each open store counts in memory. What it has counted is added to the file `counts` when it has put an entry, and
 * when it is closed: a hit must not cost a write. The file is written over in place, under a lock where locks work; its
 * digest tells when a crash has torn it, and counting then begins anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

enum { LOCK_MILLISECONDS = 500 };

static const char counts_name[] = "counts", counts_key[] = "counts=1\n";

static const char *const names[RS_COUNTS] = {
#define X(name) #name,
    RS_STORE_COUNTS(X)
#undef X
};

void rs_store_add(rs_store *store, rs_store_event event, int64_t number) {
  atomic_fetch_add_explicit(&store->counts[event], number, memory_order_relaxed);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* What can't be read is nothing. */
static void parse(const char *text, rs_store_counts *counts) {
  rs_store_counts read;
  for (int i = 0; i < RS_COUNTS; i++) {
    size_t length = strlen(names[i]);
    char *end;
    if (strncmp(text, names[i], length) != 0 || text[length] != '=')
      return;
    read.of[i] = strtoll(text + length + 1, &end, 10);
    if (read.of[i] < 0 || *end != '\n')
      return;
    text = end + 1;
  }
  *counts = read;
}

/* False: it can't be read, which says nothing of it, and errno says why. */
static bool read_counts_file(const rs_store *store, rs_store_counts *counts) {
  const char *damage = NULL;
  rs_loaded loaded;
  *counts = (rs_store_counts){{0}};
  if (rs_load(store->dir, counts_name, RS_STORE_PARTS, &loaded, &damage)) {
    if (strcmp(loaded.texts.key, counts_key) == 0)
      parse(loaded.texts.part[0].data, counts);
    free(loaded.memory);
  } else if (loaded.error) {
    rs_tell_unread(store, counts_name, &loaded);
    errno = loaded.error;
    return false;
  } else if (damage)
    rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG, "%s/%s is not used: %s", store->path, counts_name, damage);
  return true;
}

/* Numbers have a fixed width, so that the file keeps its size, and needs no more of a full disk. */
static unsigned char *encode(const rs_store_counts *counts, size_t *bytes) {
  char text[64 * RS_COUNTS];
  int length = 0;
  for (int i = 0; i < RS_COUNTS; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, "%s=%019lld\n", names[i], (long long)counts->of[i]);
  return rs_entry_encode(counts_key, (rs_part[RS_STORE_PARTS]){{text, (size_t)length}}, bytes);
}

static bool write_file(const rs_store *store, const rs_store_counts *counts) {
  struct stat status;
  size_t count;
  unsigned char *bytes = encode(counts, &count);
  int fd = bytes ? rs_file_open(store->dir, counts_name, O_WRONLY | O_CREAT, &status, NULL) : -1;
  bool written =
      fd >= 0 && rs_file_write(fd, bytes, count) && (status.st_size <= (off_t)count || rs_file_resize(fd, count));
  if (fd >= 0)
    close(fd);
  free(bytes);
  return written;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

void rs_counts_save(rs_store *store) {
  int64_t more[RS_COUNTS], any = 0;
  for (int i = 0; i < RS_COUNTS; i++)
    any |= atomic_load(&store->counts[i]) - atomic_load(&store->saved[i]);
  if (store->dir < 0 || !any)
    return;
  rs_store_lock lock = rs_store_acquire(store, counts_key, LOCK_MILLISECONDS);
  rs_store_counts all;
  bool known = read_counts_file(store, &all);    /* else what it has is not to be lost */
  for (int i = 0; known && i < RS_COUNTS; i++) { /* each is saved once, whichever thread is first */
    int64_t now = atomic_load(&store->counts[i]);
    more[i] = now - atomic_exchange(&store->saved[i], now);
    all.of[i] += more[i];
  }
  if (known && !write_file(store, &all))
    for (int i = 0; i < RS_COUNTS; i++)
      atomic_fetch_sub(&store->saved[i], more[i]);
  rs_store_release(lock);
}

bool rs_store_counted(rs_store *store, rs_store_counts *mine, rs_store_counts *all) {
  rs_store_counts file = {{0}};
  bool known = true;
  bool any = all && store->dir >= 0 && faccessat(store->dir, counts_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (any) { /* else a lock would be all that there is: looking leaves a directory as it is */
    rs_store_lock lock = rs_store_acquire(store, counts_key, LOCK_MILLISECONDS);
    known = read_counts_file(store, &file);
    int error = errno;
    rs_store_release(lock);
    errno = error;
  }
  for (int i = 0; i < RS_COUNTS; i++) {
    int64_t now = atomic_load(&store->counts[i]);
    if (mine)
      mine->of[i] = now;
    if (all)
      all->of[i] = file.of[i] + now - atomic_load(&store->saved[i]);
  }
  return known;
}
