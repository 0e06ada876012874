/*
 * load.c - reads an entry and verifies it
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

static bool read_on(void *user, void *to, size_t bytes) {
  return rs_file_read(*(const int *)user, to, bytes);
}

/* The header first, and of what is large the digest: no memory is taken for a file that has nothing but a size. */
static const char *read_file(int fd, const struct stat *status, int without, rs_loaded *loaded) {
  unsigned char header[RS_ENTRY_HEADER];
  if (status->st_size < RS_ENTRY_HEADER)
    return "truncated";
  if (!rs_file_read(fd, header, sizeof header))
    return "can't be read";
  errno = 0; /* of a signal */
  const char *damage = rs_entry_check_header(header, (uint64_t)status->st_size);
  if (!damage && status->st_size > RS_ENTRY_AT_ONCE) {
    damage = rs_entry_check_digest(header, (uint64_t)status->st_size, read_on, &fd);
    if (!damage && lseek(fd, sizeof header, SEEK_SET) < 0)
      damage = "can't be read";
  }
  if (damage)
    return damage;
  return rs_entry_read(header, without, read_on, &fd, &loaded->memory, &loaded->texts);
}

static bool load_once(int fan, const char *file, int without, rs_loaded *loaded, const char **damage, int *error) {
  int fd = rs_file_open(fan, file, O_RDONLY, &loaded->status, damage);
  if (fd < 0) {
    *error = errno;
    if (!*damage && errno != ENOENT)
      *damage = "can't be opened";
    return false;
  }
  errno = 0;
  loaded->memory = NULL;
  *damage = read_file(fd, &loaded->status, without, loaded);
  *error = errno;
  close(fd);
  return !*damage;
}

/* A file of a network file system is stale once another machine has replaced it: the new one is there. */
bool rs_load(int fan, const char *file, int without, rs_loaded *loaded, const char **damage) {
  int error = 0;
  bool sound = load_once(fan, file, without, loaded, damage, &error) ||
               (error == ESTALE && load_once(fan, file, without, loaded, damage, &error));
  loaded->error = sound || rs_file_is_at_fault(error) ? 0 : error;
  return sound;
}
