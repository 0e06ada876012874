/*
 * load.c - an entry by its file, verified
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

static bool read_from_file(void *user, void *to, size_t bytes) {
  return rs_file_read(*(const int *)user, to, bytes);
}

/* The header first, and of what is large the digest: no memory is taken for a file that has nothing but a size. */
static const char *read_entry_file(int fd, const struct stat *status, int without, rs_loaded *loaded) {
  unsigned char header[RS_ENTRY_HEADER];
  if (status->st_size < RS_ENTRY_HEADER)
    return "truncated";
  if (!rs_file_read(fd, header, sizeof header))
    return rs_entry_unread;
  errno = 0; /* of a signal */
  const char *damage = rs_entry_check_header(header, (uint64_t)status->st_size);
  if (!damage && status->st_size > RS_ENTRY_AT_ONCE) {
    damage = rs_entry_check_digest(header, (uint64_t)status->st_size, read_from_file, &fd);
    if (!damage && lseek(fd, sizeof header, SEEK_SET) < 0)
      damage = rs_entry_unread;
  }
  if (damage)
    return damage;
  return rs_entry_read(header, without, read_from_file, &fd, &loaded->memory, &loaded->texts);
}

static bool load_once(int shard, const char *file, int without, rs_loaded *loaded, const char **damage, int *error) {
  int fd = rs_file_open(shard, file, O_RDONLY, &loaded->status, damage);
  if (fd < 0) {
    *error = errno;
    if (!*damage && errno != ENOENT)
      *damage = "cannot be opened";
    return false;
  }
  errno = 0;
  loaded->memory = NULL;
  *damage = read_entry_file(fd, &loaded->status, without, loaded);
  *error = errno;
  close(fd);
  return !*damage;
}

/* A file of a network file system is stale once another machine has replaced it: the new one is there. */
bool rs_load(int shard, const char *file, int without, rs_loaded *loaded, const char **damage) {
  int error = 0;
  bool sound = load_once(shard, file, without, loaded, damage, &error) ||
               (error == ESTALE && load_once(shard, file, without, loaded, damage, &error));
  loaded->error = sound || rs_file_is_at_fault(error) ? 0 : error;
  return sound;
}

void rs_tell_unread(const rs_store *store, const char *name, const rs_loaded *loaded) {
  errno = loaded->error;
  rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s/%s cannot be read: %m", store->path, name);
}
