/*
 * facts.c - what a kernel takes of the hardware, and what making it took
 * SPDX-License-Identifier: MIT
 *
 * The assembler's lines look so (NVRTC 11.8 to 13; "Used 0 barriers" and the cumulative stack came later):
 *   ptxas info    : Compiling entry function 'row' for 'sm_90'
 *   ptxas info    : Function properties for row
 *   ptxas         .     256 bytes stack frame, 232 bytes spill stores, 456 bytes spill loads
 *   ptxas info    : Used 32 registers, used 1 barriers, 256 bytes cumulative stack size, 1024 bytes smem
 */
#include "facts.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_most(int *most, int value) {
  if (value > *most)
    *most = value;
}

/* The number before `unit` in a line, which is not NUL-terminated; 0 if it isn't there. */
static int number_before(const char *line, size_t length, const char *unit) {
  const char *at = memmem(line, length, unit, strlen(unit));
  long long value = 0, scale = 1;
  while (at && at > line && at[-1] >= '0' && at[-1] <= '9' && scale < 1000000000) {
    value += (*--at - '0') * scale;
    scale *= 10;
  }
  return (int)value;
}

static void read_line(rs_facts *facts, const char *line, size_t length) {
  keep_most(&facts->registers, number_before(line, length, " registers"));
  keep_most(&facts->shared_bytes, number_before(line, length, " bytes smem"));
  keep_most(&facts->local_bytes, number_before(line, length, " bytes stack frame"));
  keep_most(&facts->local_bytes, number_before(line, length, " bytes cumulative stack size"));
  keep_most(&facts->spill_bytes,
            number_before(line, length, " bytes spill stores") + number_before(line, length, " bytes spill loads"));
}

static bool is_told(const char *line, size_t length) {
  static const char info[] = "ptxas info ", more[] = "ptxas         . ";
  return (length >= sizeof info - 1 && memcmp(line, info, sizeof info - 1) == 0) ||
         (length >= sizeof more - 1 && memcmp(line, more, sizeof more - 1) == 0);
}

rs_facts rs_facts_from_log(const char *log, rs_text *rest) {
  rs_facts facts = {0};
  while (*log) {
    size_t length = strcspn(log, "\n");
    if (is_told(log, length))
      read_line(&facts, log, length);
    else if (length)
      rs_text_add(rest, "%.*s\n", (int)length, log);
    log += length + (log[length] == '\n');
  }
  return facts;
}

static const struct {
  const char *name;
  size_t offset;
} fields[] = {{"registers", offsetof(rs_facts, registers)},       {"shared_bytes", offsetof(rs_facts, shared_bytes)},
              {"local_bytes", offsetof(rs_facts, local_bytes)},   {"spill_bytes", offsetof(rs_facts, spill_bytes)},
              {"fewer_blocks", offsetof(rs_facts, fewer_blocks)}, {"compile_us", offsetof(rs_facts, compile_us)}};
enum { FIELDS = sizeof fields / sizeof *fields };

void rs_facts_print(const rs_facts *facts, rs_text *text) {
  for (int i = 0; i < FIELDS; i++)
    rs_text_add(text, "%s=%d\n", fields[i].name, *(const int *)((const char *)facts + fields[i].offset));
}

static bool parse_field(const char **text, const char *name, int *value) {
  char written[64];
  size_t length = strlen(name);
  if (strncmp(*text, name, length) != 0 || (*text)[length] != '=')
    return false;
  long number = strtol(*text + length + 1, NULL, 10);
  if (number < 0 || number > 0x7fffffff)
    return false;
  /* What prints the same is the only way to write it. */
  int count = snprintf(written, sizeof written, "%s=%ld\n", name, number);
  if (strncmp(*text, written, (size_t)count) != 0)
    return false;
  *text += count;
  *value = (int)number;
  return true;
}

bool rs_facts_parse(rs_facts *facts, const char *text) {
  rs_facts read = {0};
  for (int i = 0; i < FIELDS; i++)
    if (!parse_field(&text, fields[i].name, (int *)((char *)&read + fields[i].offset)))
      return false;
  if (*text)
    return false;
  *facts = read;
  return true;
}
