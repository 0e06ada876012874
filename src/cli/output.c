/*
 * output.c - a file that appears whole or not at all
 * SPDX-License-Identifier: MIT
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"
#include "guard.h"
#include "say.h"

static int failed(cli_output *output, const char *what) {
  int status = say_failed("%s: %s: %s", output->name, what, strerror(errno));
  output_abandon(output);
  return status;
}

/* Where the file goes: through a symbolic link to what it names. *mode is that of a file already there, else 0. */
static int find_target(cli_output *output, mode_t *mode) {
  struct stat facts;
  if (strlen(output->name) >= sizeof output->target)
    return say_failed("%s: the name is too long", output->name);
  strcpy(output->target, output->name);
  *mode = 0;
  if (lstat(output->name, &facts))
    return errno == ENOENT ? EXIT_OK : failed(output, "cannot be written");
  if (S_ISLNK(facts.st_mode) && (!realpath(output->name, output->target) || stat(output->target, &facts)))
    return failed(output, "is a symbolic link to what cannot be written");
  if (S_ISDIR(facts.st_mode))
    return say_failed("%s: is a directory", output->name);
  if (!S_ISREG(facts.st_mode))
    return say_failed("%s: is not a regular file", output->name);
  if (access(output->target, W_OK))
    return failed(output, "cannot be written");
  *mode = facts.st_mode & 0777;
  return EXIT_OK;
}

/* Length of the directory part, "/" included: 0 for a name without one. */
static int directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (int)(slash + 1 - path) : 0;
}

/* -1: it can't be read. */
static int open_directory(const cli_output *output) {
  char path[PATH_MAX];
  int length = directory_length(output->target);
  snprintf(path, sizeof path, "%.*s", length ? length : 1, length ? output->target : ".");
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* What commands that were killed left there. */
static void sweep(const cli_output *output) {
  int directory = open_directory(output);
  rs_beside_sweep(directory);
  if (directory >= 0)
    close(directory);
}

/* A name that nobody has; signals are held, so that no file is made that nobody would remove. */
static int create(cli_output *output) {
  sigset_t before;
  char name[RS_BESIDE_NAME];
  guard_hold(&before);
  for (int tries = 0; tries < 1000 && output->file < 0; tries++) {
    rs_beside_name(name);
    snprintf(output->temporary, sizeof output->temporary, "%.*s%s", directory_length(output->target), output->target,
             name);
    output->file = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (output->file < 0 && errno != EEXIST)
      break;
  }
  if (output->file >= 0) {
    guard_file(output->temporary);
    rs_beside_hold(output->file);
  }
  int error = errno;
  guard_release(&before);
  errno = error;
  return output->file >= 0 ? EXIT_OK : failed(output, "cannot be written in its directory");
}

int output_open(cli_output *output, const char *name) {
  mode_t mode;
  output->name = name;
  output->file = -1;
  output->map = NULL;
  int status = find_target(output, &mode);
  if (status == EXIT_OK) {
    sweep(output);
    status = create(output);
  }
  if (status == EXIT_OK && mode && fchmod(output->file, mode))
    return failed(output, "its permissions cannot be kept");
  return status;
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
  if (reserve(output->file, (off_t)bytes))
    return failed(output, what);
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, output->file, 0);
  if (map == MAP_FAILED)
    return failed(output, "cannot be mapped");
  output->map = map;
  output->map_bytes = bytes;
  guard_map(map, bytes, output->name, "cannot be written to its end: is the disk full, or did it fail?");
  return EXIT_OK;
}

int output_write(cli_output *output, const void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t written = write(output->file, (const char *)bytes + done, length - done);
    if (written < 0 && errno != EINTR)
      return failed(output, "cannot be written");
    done += written > 0 ? (size_t)written : 0;
  }
  return EXIT_OK;
}

int output_private(cli_output *output) {
  struct stat facts;
  if (fstat(output->file, &facts) || fchmod(output->file, facts.st_mode & 0777 & ~(mode_t)(S_IWGRP | S_IWOTH)))
    return failed(output, "its permissions cannot be set");
  return EXIT_OK;
}

/* So that the rename is on the disk too; where that cannot be asked for, the file is whole all the same. */
static void sync_directory(const cli_output *output) {
  int directory = open_directory(output);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

int output_commit(cli_output *output) {
  if (output->map && munmap(output->map, output->map_bytes))
    return failed(output, "cannot be written");
  output->map = NULL;
  if (fsync(output->file))
    return failed(output, "cannot be written");
  int file = output->file;
  output->file = -1;
  if (close(file) || rename(output->temporary, output->target)) {
    int error = errno;
    unlink(output->temporary);
    guard_file(NULL);
    errno = error;
    return failed(output, "cannot be put in its place");
  }
  guard_file(NULL);
  sync_directory(output);
  return EXIT_OK;
}

void output_abandon(cli_output *output) {
  if (output->map)
    munmap(output->map, output->map_bytes);
  output->map = NULL;
  if (output->file < 0)
    return;
  unlink(output->temporary);
  guard_file(NULL);
  close(output->file);
  output->file = -1;
}

int output_file(const char *name, const void *bytes, size_t length) {
  cli_output output;
  int status = output_open(&output, name);
  if (status == EXIT_OK)
    status = output_write(&output, bytes, length);
  return status == EXIT_OK ? output_commit(&output) : status;
}
