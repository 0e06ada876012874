/*
 * output.c - a file that appears whole or not at all
 * SPDX-License-Identifier: MIT
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"
#include "say.h"

enum { MOST_BYTES = 1 << 30 }; /* that are written at a time */

static void unmap(cli_output *output) {
  if (output->map)
    munmap(output->map, output->map_bytes);
  output->map = NULL;
}

void output_abandon(cli_output *output) {
  unmap(output);
  rs_whole_abandon(&output->whole);
  guard_file(-1, NULL);
}

/* error: 0: `what` is all that is to be told. */
static int failed(cli_output *output, const char *what, int error) {
  output_abandon(output);
  return say_failed("%s: %s%s%s", output->name, what, error ? ": " : "", error ? strerror(error) : "");
}

/* Of a call of base/whole.h. */
static int check(cli_output *output, bool done) {
  return done ? EXIT_OK : failed(output, output->whole.wrong, errno);
}

/* Signals are held, so that no file is made that nobody would remove. */
static bool create(cli_output *output) {
  sigset_t before;
  guard_hold(&before);
  bool created = rs_whole_create(&output->whole, 0666);
  int error = errno;
  if (created)
    guard_file(output->whole.dir, output->whole.temporary);
  guard_release(&before);
  errno = error;
  return created;
}

/* It is asked now what would else be told after a long scan. */
static int open_standard(cli_output *output) {
  int flags = fcntl(STDOUT_FILENO, F_GETFL);
  *output = (cli_output){.name = "standard output", .standard = true, .whole = RS_WHOLE_NONE};
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
    return failed(output, "cannot be written", EBADF);
  return isatty(STDOUT_FILENO) ? failed(output, "is a terminal, and an array is no text", 0) : EXIT_OK;
}

int output_open(cli_output *output, const char *name) {
  if (!strcmp(name, "-"))
    return open_standard(output);
  *output = (cli_output){.name = name};
  return check(output, rs_whole_find(&output->whole, name) && create(output));
}

/*
 * Without a reservation a full disk shows only when a page is written, as SIGBUS, which guard.c turns into a message.
 * Some file systems cannot reserve.
 */
static int reserve(int file, off_t bytes) {
  int result;
  do
    result = fallocate(file, 0, 0, bytes);
  while (result && errno == EINTR);
  if (result && (errno == EOPNOTSUPP || errno == ENOSYS))
    result = ftruncate(file, bytes);
  return result;
}

int output_map(cli_output *output, size_t bytes) {
  char what[80];
  snprintf(what, sizeof what, "no room for %zu bytes", bytes);
  if (!output->standard && reserve(output->whole.file, (off_t)bytes))
    return failed(output, what, errno);
  int flags = output->standard ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, output->whole.file, 0);
  if (map == MAP_FAILED)
    return failed(output, output->standard ? what : "cannot be mapped", errno);
  output->map = map;
  output->bytes = output->map_bytes = bytes;
  if (!output->standard)
    guard_map(map, bytes, output->name, "cannot be written to its end: is the disk full, or did it fail?");
  return EXIT_OK;
}

static int write_all(cli_output *output, int file, const char *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    size_t left = length - done;
    ssize_t written = write(file, bytes + done, left < MOST_BYTES ? left : MOST_BYTES);
    if (written < 0 && errno == EAGAIN)
      poll(&(struct pollfd){.fd = file, .events = POLLOUT}, 1, -1);
    else if (written < 0 && errno != EINTR)
      return failed(output, "cannot be written", errno);
    done += written > 0 ? (size_t)written : 0;
  }
  return EXIT_OK;
}

int output_write(cli_output *output, const void *bytes, size_t length) {
  output->bytes += length;
  return write_all(output, output->whole.file, bytes, length);
}

int output_private(cli_output *output) {
  return check(output, rs_whole_private(&output->whole));
}

int output_commit(cli_output *output) {
  if (output->standard) {
    int written = write_all(output, STDOUT_FILENO, output->map, output->map_bytes);
    unmap(output);
    return written;
  }
  unmap(output);
  int status = check(output, rs_whole_commit(&output->whole, output->bytes));
  guard_file(-1, NULL);
  return status;
}

int output_file(const char *name, const void *bytes, size_t length) {
  cli_output output;
  int status = output_open(&output, name);
  if (status == EXIT_OK)
    status = output_write(&output, bytes, length);
  return status == EXIT_OK ? output_commit(&output) : status;
}
