/*
 * status.c - how a failure is told
 * SPDX-License-Identifier: MIT
 */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"

static _Thread_local char story[16384];

/* A story that ends with a list has no empty line after it. */
static void end_story(void) {
  size_t length = strlen(story);
  while (length && story[length - 1] == '\n')
    story[--length] = 0;
}

rowscan_status rs_fail(rowscan_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(story, sizeof story, format, list);
  va_end(list);
  end_story();
  rs_plain_in_place(story, sizeof story, false);
  return status;
}

rowscan_status rs_fail_lines(rowscan_status status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(story, sizeof story, format, list);
  va_end(list);
  end_story();
  rs_plain_in_place(story, sizeof story, true);
  return status;
}

rowscan_status rs_fail_more(rowscan_status status, const char *format, ...) {
  size_t length = strlen(story);
  va_list list;
  va_start(list, format);
  vsnprintf(story + length, sizeof story - length, format, list);
  va_end(list);
  rs_plain_in_place(story + length, sizeof story - length, false);
  return status;
}

const char *rowscan_last_error(void) {
  return story;
}

const char *rowscan_status_name(rowscan_status status) {
  static const char *const names[] = {
      [ROWSCAN_OK] = "ROWSCAN_OK",
      [ROWSCAN_BAD_ARGUMENT] = "ROWSCAN_BAD_ARGUMENT",
      [ROWSCAN_UNSUPPORTED] = "ROWSCAN_UNSUPPORTED",
      [ROWSCAN_OUT_OF_MEMORY] = "ROWSCAN_OUT_OF_MEMORY",
      [ROWSCAN_NO_DRIVER] = "ROWSCAN_NO_DRIVER",
      [ROWSCAN_NO_DEVICE] = "ROWSCAN_NO_DEVICE",
      [ROWSCAN_NO_COMPILER] = "ROWSCAN_NO_COMPILER",
      [ROWSCAN_COMPILE_FAILED] = "ROWSCAN_COMPILE_FAILED",
      [ROWSCAN_CUDA_FAILED] = "ROWSCAN_CUDA_FAILED",
      [ROWSCAN_CACHE_FAILED] = "ROWSCAN_CACHE_FAILED",
      [ROWSCAN_NOT_CACHED] = "ROWSCAN_NOT_CACHED",
  };
  return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown status";
}

void rs_log_write(const rs_log *log, rowscan_log_level level, const char *format, ...) {
  if (!log || !log->call)
    return;
  char line[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  rs_plain_in_place(line, sizeof line, true);
  log->call(log->user, level, line);
}
