/*
 * beside.c - files of a store's directory beside its entries, which its user names
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "file.h"
#include "inside.h"

/* NULL: *wrong says why, and errno, if it is not 0, more. */
static char *read_text(int file, int64_t bytes, const char **wrong) {
  errno = 0;
  *wrong = "too large";
  if (bytes > RS_STORE_FILE_MOST)
    return NULL;
  *wrong = "cannot be read";
  char *text = malloc((size_t)bytes + 1);
  if (text && rs_file_read(file, text, (size_t)bytes)) {
    text[bytes] = 0;
    *wrong = NULL;
    return text;
  }
  free(text);
  return NULL;
}

char *rs_store_read_file(rs_store *store, const char *name, const char **wrong) {
  struct stat status;
  *wrong = NULL;
  if (store->dir < 0)
    return NULL;
  int file = rs_file_open(store->dir, name, O_RDONLY, &status, wrong);
  if (file < 0) {
    if (*wrong)
      errno = 0;
    else if (errno != ENOENT)
      *wrong = "cannot be opened";
    return NULL;
  }
  char *text = read_text(file, status.st_size, wrong);
  int error = errno;
  close(file);
  errno = error;
  return text;
}

/* Under another name, one writer at a time; what a crash has left there makes way after a minute. */
static int open_new(int dir, const char *name) {
  enum { LEFT_SECONDS = 60 };
  struct stat left;
  int file = rs_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file >= 0 || errno != EEXIST || fstatat(dir, name, &left, AT_SYMLINK_NOFOLLOW) != 0 ||
      rs_file_age(&left) < LEFT_SECONDS || unlinkat(dir, name, 0) != 0)
    return file;
  return rs_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

/* *wrong: what failed; errno tells more. */
static bool write_at(int dir, const char *name, const char *text, size_t bytes, const char **wrong) {
  char temporary[NAME_MAX + 1];
  *wrong = "cannot be created";
  snprintf(temporary, sizeof temporary, "%.*s.new", NAME_MAX - 4, name);
  int file = open_new(dir, temporary);
  if (file < 0)
    return false;
  *wrong = "cannot be written";
  bool done = rs_file_write(file, text, bytes) && fsync(file) == 0;
  int error = errno;
  close(file);
  if (done && renameat(dir, temporary, dir, name) == 0)
    return true;
  error = done ? errno : error;
  unlinkat(dir, temporary, 0);
  errno = error;
  return false;
}

bool rs_store_write_file(rs_store *store, const char *name, const char *text, size_t bytes, const char **wrong) {
  errno = 0;
  if (store->dir >= 0)
    return write_at(store->dir, name, text, bytes, wrong);
  *wrong = "there is no cache on disk";
  return false;
}
