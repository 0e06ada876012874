/*
 * publish.c - makes a file appear as a whole or not at all
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "beside.h"
#include "file.h"
#include "inside.h"

enum { TEMPORARY_NAME = (int)RS_BESIDE_NAME > (int)RS_TEMPORARY_NAME ? (int)RS_BESIDE_NAME : (int)RS_TEMPORARY_NAME };

static void name_temporary(char name[TEMPORARY_NAME], bool beside) {
  struct timespec now;
  if (beside) {
    rs_beside_name(name);
    return;
  }
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, RS_TEMPORARY_NAME, RS_TEMPORARY "%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
}

/* Unique by O_EXCL; process and time only make a second try rare. */
static int create_temporary(int dir, char name[TEMPORARY_NAME], mode_t mode, bool beside) {
  int fd = -1;
  for (int tries = 0; tries < 100 && fd < 0; tries++) {
    name_temporary(name, beside);
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST && errno != EINTR)
      break;
  }
  if (fd >= 0 && beside)
    rs_beside_hold(fd);
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

static bool publish(int dir, const char *file, const void *bytes, size_t count, mode_t mode, bool beside) {
  char temporary[TEMPORARY_NAME];
  int fd = create_temporary(dir, temporary, mode, beside);
  if (fd < 0)
    return false;
  if (fill(fd, bytes, count) && renameat(dir, temporary, dir, file) == 0)
    return true;
  int error = errno;
  unlinkat(dir, temporary, 0);
  errno = error;
  return false;
}

bool rs_publish(int fan, const char *file, const void *bytes, size_t count) {
  return publish(fan, file, bytes, count, 0600, false);
}

bool rs_publish_beside(int dir, const char *file, const void *bytes, size_t count) {
  rs_beside_sweep(dir);
  return publish(dir, file, bytes, count, 0644, true);
}
