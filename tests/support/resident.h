/*
 * resident.h - how much memory this process has
 * SPDX-License-Identifier: MIT
 */
#ifndef RESIDENT_H
#define RESIDENT_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WATCHED = 1 }; /* memory and time are the sanitizer's */
#else
enum { WATCHED = 0 };
#endif

static inline int64_t resident_bytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

#endif
