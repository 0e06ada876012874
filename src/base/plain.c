/*
 * plain.c - text that may be shown: no character of it controls a terminal
 * SPDX-License-Identifier: MIT
 */
#include "plain.h"

#include <stdlib.h>
#include <string.h>

int rs_utf8_bytes(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  if (*at < 0x80)
    return 1;
  int length = *at >= 0xc2 && *at < 0xe0 ? 2 : *at >= 0xe0 && *at < 0xf0 ? 3 : *at >= 0xf0 && *at < 0xf5 ? 4 : 0;
  for (int i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  bool overlong = (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xf0 && at[1] < 0x90);
  bool outside = (*at == 0xed && at[1] > 0x9f) || (*at == 0xf4 && at[1] > 0x8f);
  return overlong || outside ? 0 : length;
}

/* U+0080 to U+009F are controls too. */
static bool is_plain(const unsigned char *at, int length, bool lines) {
  if (length == 1)
    return (*at >= ' ' && *at != 0x7f) || (lines && (*at == '\n' || *at == '\t'));
  return length > 2 || (length == 2 && (*at != 0xc2 || at[1] >= 0xa0));
}

size_t rs_plain_next(char to[RS_PLAIN_BYTES], const char **at, bool lines) {
  static const char digits[] = "0123456789abcdef";
  int length = rs_utf8_bytes(*at);
  const unsigned char *byte = (const unsigned char *)*at;
  if (is_plain(byte, length, lines)) {
    memcpy(to, byte, (size_t)length);
    *at += length;
    return (size_t)length;
  }
  ++*at;
  to[0] = '\\';
  to[1] = 'x';
  to[2] = digits[*byte >> 4];
  to[3] = digits[*byte & 15];
  return 4;
}

char *rs_plain(char *to, size_t room, const char *from, bool lines) {
  size_t used = 0;
  while (*from) {
    char next[RS_PLAIN_BYTES];
    size_t bytes = rs_plain_next(next, &from, lines);
    if (used + bytes >= room)
      break;
    memcpy(to + used, next, bytes);
    used += bytes;
  }
  to[used] = 0;
  return to;
}

void rs_plain_in_place(char *text, size_t room, bool lines) {
  char *from = text;
  for (int length; *from && is_plain((unsigned char *)from, length = rs_utf8_bytes(from), lines);)
    from += length;
  if (!*from)
    return;
  char *copy = strdup(from);
  if (copy)
    rs_plain(from, room - (size_t)(from - text), copy, lines);
  else
    for (; *from; from++)
      if (!is_plain((unsigned char *)from, 1, lines) || (*from & 0x80))
        *from = '?';
  free(copy);
}
