/*
 * say.c - what a store tells the log
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plain.h"
#include "inside.h"

void rs_store_say(const rs_store *store, int level, const char *format, ...) {
  if (!store->options.log)
    return;
  char line[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  rs_plain_in_place(line, sizeof line, false);
  store->options.log(store->options.user, level, line);
}

void rs_tell_unread(const rs_store *store, const char *name, const rs_loaded *loaded) {
  errno = loaded->error;
  rs_store_say(store, RS_WARNING, "%s/%s can't be read: %m", store->path, name);
}
