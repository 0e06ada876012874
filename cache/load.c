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

/* The header first: no memory is taken for a file whose size contradicts it. */
static const char *read_file(int fd, const struct stat *status, unsigned char **file) {
  unsigned char header[RS_ENTRY_HEADER];
  if (status->st_size < RS_ENTRY_HEADER)
    return "truncated";
  if (!rs_file_read(fd, header, sizeof header))
    return "can't be read";
  const char *damage = rs_entry_check_header(header, (uint64_t)status->st_size);
  if (damage)
    return damage;
  size_t bytes = (size_t)status->st_size;
  *file = malloc(bytes);
  if (!*file)
    return "too large for the memory left";
  memcpy(*file, header, sizeof header);
  if (!rs_file_read(fd, *file + sizeof header, bytes - sizeof header))
    return "can't be read";
  return NULL;
}

static bool load_once(int fan, const char *file, rs_loaded *loaded, const char **damage, int *error) {
  int fd = rs_file_open(fan, file, O_RDONLY, &loaded->status, damage);
  if (fd < 0) {
    *error = errno;
    if (!*damage && errno != ENOENT)
      *damage = "can't be opened";
    return false;
  }
  unsigned char *bytes = NULL;
  errno = 0;
  *damage = read_file(fd, &loaded->status, &bytes);
  *error = errno;
  close(fd);
  if (!*damage)
    *damage = rs_entry_decode(bytes, (size_t)loaded->status.st_size, &loaded->texts);
  if (*damage)
    free(bytes);
  loaded->memory = *damage ? NULL : bytes;
  return !*damage;
}

/* A file of a network file system is stale once another machine has replaced it: the new one is there. */
bool rs_load(int fan, const char *file, rs_loaded *loaded, const char **damage) {
  int error = 0;
  return load_once(fan, file, loaded, damage, &error) ||
         (error == ESTALE && load_once(fan, file, loaded, damage, &error));
}
