/*
 * publish.c - makes a file appear as a whole or not at all
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "file.h"
#include "inside.h"

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

bool rs_publish(int fan, const char *file, const void *bytes, size_t count) {
  char temporary[RS_TEMPORARY_NAME];
  int fd = create_temporary(fan, temporary);
  if (fd < 0)
    return false;
  if (fill(fd, bytes, count) && renameat(fan, temporary, fan, file) == 0)
    return true;
  int error = errno;
  unlinkat(fan, temporary, 0);
  errno = error;
  return false;
}
