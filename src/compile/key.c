/*
 * key.c - what a binary depends on, as text
 * SPDX-License-Identifier: MIT
 */
#include "key.h"

#include <string.h>

#include "digest.h"
#include "kernels.h"

/* Changes with the meaning of a line, or of what an entry holds (build.c). */
enum { FORMAT = 4 };

void rs_key_print(const rs_key *key, rs_text *text) {
  char digest[RS_DIGEST_ROOM];
  size_t length = strlen(key->canonical);
  rs_text_append(text, key->canonical, length);
  if (length && key->canonical[length - 1] != '\n')
    rs_text_append(text, "\n", 1);
  rs_digest(digest, key->source, strlen(key->source));
  rs_text_add(text, "format=%d\nversion=%s\nkernels=%s\nsource=%s\n", FORMAT, ROWSCAN_VERSION_STRING, rs_kernels_digest,
              digest);
  rs_text_add(text, "arch=sm_%d\n", key->arch);
  for (const char *const *option = key->options; *option; option++)
    rs_text_add(text, "option=%s\n", *option);
  if (key->nvrtc)
    rs_text_add(text, "nvrtc=%s\n", key->nvrtc);
}

/* Of the key of anything, whose spec has no field: that one has all others. */
bool rs_key_has_field(const char *name, size_t length) {
  static const char *const options[] = {"", NULL};
  static const rs_key any = {.canonical = "\nregime=\nkernel=\nshape=", .source = "", .options = options, .nvrtc = ""};
  rs_text text = {0}, line = {0};
  rs_key_print(&any, &text);
  rs_text_add(&line, "\n%.*s=", (int)length, name);
  bool found = !text.failed && !line.failed && strstr(text.data, line.data);
  rs_text_free(&text);
  rs_text_free(&line);
  return found;
}
