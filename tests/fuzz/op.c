/*
 * op.c - any text as the text of an operator
 * SPDX-License-Identifier: MIT
 *
 * It becomes an operator if and only if its first line is one by rowscan.h, it reads no files, and there is none of its
 * name, and room. It has the name that the line says, and the same text again is the same operator. A refusal has a
 * message, and leaves the number alone.
 */
#include <ctype.h>

#include "fuzz.h"
#include "rowscan.h"

typedef struct field {
  const char *name, *values; /* each between blanks; NULL: a name */
} field;

enum { OP, NUMBERS, TYPES, COEFFICIENT, INPUTS, PARAMS, OUTPUTS, FIELDS, MOST_NAME = 40 };

static const field fields[FIELDS] = {
    [OP] = {"op=", NULL},
    [NUMBERS] = {"numbers=", " 1 2 3 4 "},
    [TYPES] = {"types=", " any floats integers "},
    [COEFFICIENT] = {"coefficient=", " 0 1 "},
    [INPUTS] = {"inputs=", " 1 2 3 4 5 "},
    [PARAMS] = {"params=", " 0 1 2 3 4 "},
    [OUTPUTS] = {"outputs=", " 1 2 "},
};

static bool is_name(const char *text) {
  static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  size_t length = strlen(text);
  return length && length <= MOST_NAME && strspn(text, letters) == length && !strchr("0123456789", *text);
}

static bool is_value(const field *of, const char *value) {
  char wanted[64];
  if (!of->values)
    return is_name(value);
  snprintf(wanted, sizeof wanted, " %s ", value);
  return *value && strlen(value) < sizeof wanted - 3 && strstr(of->values, wanted);
}

static bool says(const char *value, const char *wanted) {
  return value && strcmp(value, wanted) == 0;
}

/* Whether a line is one; the name that it says goes to `name`. Takes the line apart. */
static bool is_line(char *line, char name[MOST_NAME + 1]) {
  static const char head[] = "// rowscan:", blanks[] = " \t\r";
  const char *said[FIELDS] = {NULL};
  bool good = strncmp(line, head, strlen(head)) == 0;
  char *rest = NULL;
  for (char *pair = good ? strtok_r(line + strlen(head), blanks, &rest) : NULL; pair && good;
       pair = strtok_r(NULL, blanks, &rest)) {
    int i = 0;
    while (i < FIELDS && strncmp(pair, fields[i].name, strlen(fields[i].name)) != 0)
      i++;
    const char *value = i < FIELDS ? pair + strlen(fields[i].name) : "";
    good = i < FIELDS && !said[i] && is_value(&fields[i], value);
    if (good)
      said[i] = value;
  }
  if (!good || !said[OP])
    return false;
  snprintf(name, MOST_NAME + 1, "%s", said[OP]);
  bool coefficient = says(said[COEFFICIENT], "1"), more = said[INPUTS] && !says(said[INPUTS], "1");
  bool params = said[PARAMS] && !says(said[PARAMS], "0");
  return !(coefficient && more) && (!params || says(said[TYPES], "floats"));
}

static bool is_blank(char c) {
  return c && strchr(" \t\v\f\r", c);
}

/* The text without blanks, and with each joined line as one; of digraphs and trigraphs what they stand for. */
static char *joined(const char *text) {
  char *to = malloc(strlen(text) + 1), *end = to;
  MUST(to);
  while (*text) {
    bool trigraph = strncmp(text, "?\?/", 3) == 0;
    if (*text == '\\' || trigraph) {
      text += trigraph ? 3 : 1;
      while (is_blank(*text))
        text++;
      text += *text == '\n';
    } else if (is_blank(*text)) {
      text++;
    } else {
      *end++ = *text++;
    }
  }
  *end = 0;
  for (char *at; (at = strstr(to, "%:"));)
    at[0] = at[1] = '#';
  for (char *at; (at = strstr(to, "?\?="));)
    at[0] = at[1] = at[2] = '#';
  return to;
}

/* Whether words of the text make up a name from a place on; bit by bit, from where that was found not to be. */
static bool made_of_words(const char *text, const char *name, size_t from, unsigned *not_from) {
  const char *rest = name + from;
  for (const char *at = text; *at && !(*not_from >> from & 1); at++) {
    size_t length = 0;
    while (at[length] == '_' || isalnum((unsigned char)at[length]))
      length++;
    bool begins = length && (at == text || !(at[-1] == '_' || isalnum((unsigned char)at[-1])));
    size_t part = length < strlen(rest) ? length : strlen(rest);
    if (begins && memcmp(at, rest, part) == 0 && (!rest[part] || made_of_words(text, name, from + part, not_from)))
      return true;
  }
  *not_from |= 1u << from;
  return false;
}

static bool reads_files(const char *text) {
  static const char *const signs[] = {"#include", "#import", "#embed", "#/*"};
  char *plain = joined(text);
  unsigned not_include = 0, not_embed = 0;
  bool so = made_of_words(text, "__has_include", 0, &not_include) || made_of_words(text, "__has_embed", 0, &not_embed);
  for (int i = 0; i < 4; i++)
    so = so || strstr(plain, signs[i]);
  free(plain);
  return so;
}

/* Messages cite the text, but for their ends. */
static bool ends_with(const char *words) {
  const char *message = rowscan_last_error();
  size_t all = strlen(message), last = strlen(words);
  return all >= last && strcmp(message + all - last, words) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = strndup((const char *)data, size), *line = strndup((const char *)data, strcspn(text, "\n"));
  MUST(text && line);
  char name[MOST_NAME + 1] = "";
  const rowscan_op none = (rowscan_op)12345;
  rowscan_op op = none, again = none;
  rowscan_status status = rowscan_op_create(&op, ROWSCAN_OPERATOR(.source = text));
  bool good = is_line(line, name) && !reads_files(text);
  if (status == ROWSCAN_OK) {
    MUST(good && op >= ROWSCAN_FIRST_CREATED && strcmp(rowscan_op_name(op), name) == 0);
    MUST(rowscan_op_create(&again, ROWSCAN_OPERATOR(.source = text)) == ROWSCAN_OK && again == op);
  } else {
    MUST(op == none && strncmp(rowscan_last_error(), "operator: ", 10) == 0);
    MUST(status == ROWSCAN_BAD_ARGUMENT || status == ROWSCAN_UNSUPPORTED);
    bool taken = ends_with("; choose another name") || ends_with("exists already, with other text");
    MUST(good == (taken || status == ROWSCAN_UNSUPPORTED)); /* or there is no room */
  }
  free(line);
  free(text);
  return 0;
}
