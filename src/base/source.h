/*
 * source.h - bytes that are no file, and need not be in memory before they are read
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SOURCE_H
#define RS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* read: the bytes from an offset on, all of which there are. False: errno says why. Any thread may call it. */
typedef struct rs_source {
  bool (*read)(void *user, void *to, uint64_t offset, size_t bytes);
  void *user;
  uint64_t bytes;
} rs_source;

#endif
