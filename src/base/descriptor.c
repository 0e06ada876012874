/*
 * descriptor.c - files that never get the numbers of the standard streams
 * SPDX-License-Identifier: MIT
 */
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { STANDARD = 3 };

static bool is_free(int number) {
  return fcntl(number, F_GETFD) < 0 && errno == EBADF;
}

/* Takes the standard numbers that are free; returns how many. Nothing can be read or written through these. */
static int occupy(int taken[STANDARD]) {
  int count = 0;
  for (int number = 0; number < STANDARD; number++)
    if (is_free(number) && (taken[count] = open("/", O_PATH | O_CLOEXEC)) >= 0)
      count++;
  return count;
}

static int raise_number(int fd) {
  if (fd < 0 || fd >= STANDARD)
    return fd;
  int higher = fcntl(fd, F_DUPFD_CLOEXEC, STANDARD), error = errno;
  close(fd);
  errno = error;
  return higher;
}

int rs_openat(int at, const char *name, int flags, mode_t mode) {
  int taken[STANDARD], count = (flags & O_ACCMODE) == O_RDONLY ? 0 : occupy(taken);
  int fd;
  do /* network file systems wait, and may be interrupted */
    fd = openat(at, name, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  int error = errno;
  while (count > 0)
    close(taken[--count]);
  errno = error;
  return raise_number(fd);
}

/* Standard input cannot be read, and the other two cannot be written: what is lost is told, not taken for done. */
bool rs_fill_standard(void) {
  for (int number = 0; number < STANDARD; number++) {
    if (!is_free(number))
      continue;
    int fd = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (fd < 0)
      fd = open("/", O_PATH);
    if (fd != number)
      return false;
  }
  return true;
}
