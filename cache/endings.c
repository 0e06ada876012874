/*
 * endings.c - the last lines of keys, by which an entry is found whatever its key's last line says
 * SPDX-License-Identifier: MIT
 *
 * An entry's name is the hash of its whole key. Who knows a key but for its last line tries all last lines that any key
 * had: the store keeps them in a file. There are few, for they say what made the bytes. They are no more than a hint:
 * an entry that is found by one is verified like any other, and a line that is lost comes back with the next put.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

enum {
  MOST_BYTES = 4096, /* of the file, which begins again when it is full or can't be read: some 80 lines of a build-id */
  MOST_LINE = 256
};

static const char endings_name[] = "endings";

char *rs_endings_read(const rs_store *store) {
  struct stat status;
  int fd = store->dir < 0 ? -1 : rs_file_open(store->dir, endings_name, O_RDONLY, &status, NULL);
  size_t bytes = fd < 0 ? 0 : status.st_size < MOST_BYTES ? (size_t)status.st_size : MOST_BYTES;
  char *text = calloc(1, bytes + 1);
  if (text && (!rs_file_read(fd, text, bytes) || memchr(text, 0, bytes)))
    *text = 0; /* after a crash there may be no more than zeros where a line was */
  if (fd >= 0)
    close(fd);
  return text;
}

char *rs_endings_next(const char **at, const char *stem) {
  size_t length = *at ? strcspn(*at, "\n") : 0, stem_bytes = strlen(stem);
  if (!*at || (*at)[length] != '\n')
    return NULL;
  char *key = malloc(stem_bytes + length + 2);
  if (!key)
    return NULL;
  memcpy(key, stem, stem_bytes);
  memcpy(key + stem_bytes, *at, length + 1);
  key[stem_bytes + length + 1] = 0;
  *at += length + 1;
  return key;
}

static bool has_line(const char *text, const char *line, size_t length) {
  for (const char *at = text; (at = strstr(at, line)) != NULL; at += length)
    if (at == text || at[-1] == '\n')
      return true;
  return false;
}

static void append_line(const rs_store *store, const char *line, size_t length, bool anew) {
  struct stat status;
  int fd = rs_file_open(store->dir, endings_name, O_WRONLY | O_APPEND | O_CREAT, &status, NULL);
  if (fd < 0)
    return;
  anew = anew || status.st_size > MOST_BYTES - (off_t)length;
  if (!anew || rs_file_resize(fd, 0))
    rs_file_write(fd, line, length);
  close(fd);
}

void rs_endings_note(const rs_store *store, const char *key) {
  size_t stem_bytes = rs_entry_stem(key), length = strlen(key + stem_bytes);
  const char *line = key + stem_bytes;
  if (!stem_bytes || length < 2 || length > MOST_LINE || line[length - 1] != '\n')
    return;
  char *text = rs_endings_read(store);
  if (text && !has_line(text, line, length))
    append_line(store, line, length, !*text); /* lines behind what can't be read would not be found */
  free(text);
}
