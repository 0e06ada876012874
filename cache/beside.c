/*
 * beside.c - files of a store's directory beside its entries, which its user names
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "file.h"
#include "inside.h"

/* NULL: errno, and where that does not tell it *wrong, say why. */
static char *read_text(int file, int64_t bytes, const char **wrong) {
  if (bytes > RS_STORE_FILE_MOST) {
    *wrong = "too large";
    return NULL;
  }
  char *text = malloc((size_t)bytes + 1);
  if (text && !rs_file_read(file, text, (size_t)bytes)) {
    free(text);
    return NULL;
  }
  if (text)
    text[bytes] = 0;
  return text;
}

char *rs_store_read_file(rs_store *store, const char *name) {
  struct stat status;
  const char *wrong = NULL;
  char *text = NULL;
  if (store->dir < 0)
    return NULL;
  int file = rs_file_open(store->dir, name, O_RDONLY, &status, &wrong);
  if (file >= 0) {
    text = read_text(file, status.st_size, &wrong);
    close(file);
  } else if (errno == ENOENT)
    return NULL;
  if (!text)
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s/%s is not used: %s", store->path, name,
                wrong ? wrong : strerror(errno));
  return text;
}

/* Under a name of this process, and then in the place of `name`. *wrong: what failed; errno tells more. */
static bool write_at(int dir, const char *name, const char *text, size_t bytes, const char **wrong) {
  char temporary[RS_TEMPORARY_NAME];
  snprintf(temporary, sizeof temporary, RS_TEMPORARY "%ld", (long)getpid());
  unlinkat(dir, temporary, 0); /* of a process that had its number, and crashed */
  *wrong = "cannot be created";
  int file = rs_openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
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
