/*
 * last_cache.c - how large the last cache of a processor is
 * SPDX-License-Identifier: MIT
 *
 * Linux tells what the cores of one cluster share. sysconf() of glibc counts the caches of all clusters of a socket
 * (256 MB where eight cores share 32), says 0 on other processors than x86, and other C libraries have no such
 * question.
 */
#include "last_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "32768K"; 0 for what is no size. */
static int64_t read_size(const char *path) {
  char text[32], *unit;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0)
    return 0;
  ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  text[bytes > 0 ? bytes : 0] = 0;
  long long number = strtoll(text, &unit, 10);
  int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
  return number > 0 && number < 1 << 30 ? (int64_t)number << shift : 0;
}

int64_t rs_last_cache_told(const char *root) {
  enum { CACHES = 8 };
  int64_t most = 0;
  char path[1024];
  for (int i = 0; i < CACHES; i++) {
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index%d/size", root, i);
    int64_t bytes = read_size(path);
    most = bytes > most ? bytes : most;
  }
  return most;
}

int64_t rs_last_cache_bytes(void) {
  int64_t bytes = rs_last_cache_told("");
#ifdef _SC_LEVEL3_CACHE_SIZE
  if (!bytes)
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return bytes > 0 ? bytes : 0;
}
