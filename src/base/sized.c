/*
 * sized.c - structs of callers, whose first field is their size
 * SPDX-License-Identifier: MIT
 */
#include "sized.h"

#include <string.h>

#include "status.h"

static size_t size_of(const void *sized) {
  size_t size;
  memcpy(&size, sized, sizeof size);
  return size;
}

static bool is_zero(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i])
      return false;
  return true;
}

rowscan_status rs_sized_check(const void *sized, const char *what, const char *macro) {
  size_t size = size_of(sized);
  if (size >= sizeof size && size <= RS_SIZED_MOST && size % sizeof size == 0) /* as the sizeof of all of them is */
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_BAD_ARGUMENT,
                 "%s: field 'size': %zu is not a size of this struct; use %s, or set it to sizeof the struct", what,
                 size, macro);
}

rowscan_status rs_sized_read(void *to, size_t known, const void *from, const char *what, const char *macro) {
  rowscan_status status = rs_sized_check(from, what, macro);
  if (status)
    return status;
  size_t size = size_of(from), given = size < known ? size : known;
  if (size > known && !is_zero((const char *)from + known, size - known))
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "%s: field 'size': %zu: the bytes after the first %zu, all that rowscan %s supports, must be 0",
                   what, size, known, ROWSCAN_VERSION_STRING);
  memset(to, 0, known);
  memcpy(to, from, given);
  memcpy(to, &known, sizeof known);
  return ROWSCAN_OK;
}

void rs_sized_write(void *to, const void *from, size_t known) {
  size_t size = size_of(to), given = size < known ? size : known;
  memcpy(to, from, given);
  memset((char *)to + given, 0, size - given);
  memcpy(to, &size, sizeof size);
}

bool rs_sized_holds(size_t size, const void *from, size_t known) {
  return size >= known || is_zero((const char *)from + size, known - size);
}
