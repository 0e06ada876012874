/*
 * options.c - the options and operands of a subcommand
 * SPDX-License-Identifier: MIT
 */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

/* ---- kinds of values --------------------------------------------------------------------------------------------- */

#define WORD(enumerator, name, ...) {#name, enumerator},

static bool find_word(const char *text, int *number, const cli_word *words, int count) {
  for (int i = 0; i < count; i++)
    if (!strcmp(text, words[i].name)) {
      *number = words[i].number;
      return true;
    }
  return false;
}

/* Other names of types that say their width, as NumPy has them. */
static const cli_word type_aliases[] = {
    {"float16", ROWSCAN_F16}, {"half", ROWSCAN_F16},    {"bfloat16", ROWSCAN_BF16}, {"float32", ROWSCAN_F32},
    {"single", ROWSCAN_F32},  {"float64", ROWSCAN_F64}, {"double", ROWSCAN_F64},    {"int8", ROWSCAN_I8},
    {"uint8", ROWSCAN_U8},    {"int16", ROWSCAN_I16},   {"uint16", ROWSCAN_U16},    {"int32", ROWSCAN_I32},
    {"uint32", ROWSCAN_U32},  {"int64", ROWSCAN_I64},   {"uint64", ROWSCAN_U64},
};

static bool has_types(const cli_kind *kind) {
  return kind == &kind_type || kind == &kind_acc;
}

static bool read_word(const cli_kind *kind, const char *text, void *target) {
  int number;
  if (!find_word(text, &number, kind->words, kind->count) &&
      !(has_types(kind) && find_word(text, &number, type_aliases, COUNT_OF(type_aliases))))
    return false;
  memcpy(target, &number, sizeof number);
  return true;
}

static bool read_number(const cli_kind *kind, const char *text, void *target) {
  char *end;
  errno = 0;
  int64_t number = strtoll(text, &end, 10);
  bool any = kind->least == RS_ANY_LENGTH && !strcmp(text, "any");
  int64_t least = kind->least == RS_ANY_LENGTH ? 0 : kind->least;
  if (any)
    number = RS_ANY_LENGTH;
  else if (errno || end == text || *end || (*text != '-' && (*text < '0' || *text > '9')) || number < least ||
           number > kind->most)
    return false;
  memcpy(target, &number, kind->bytes); /* the low bytes, which are the first: see base/machine.h */
  return true;
}

static bool read_text(const cli_kind *kind, const char *text, void *target) {
  (void)kind;
  *(const char **)target = text;
  return true;
}

static bool read_stream_name(const cli_kind *kind, const char *text, void *target) {
  return *text && read_text(kind, text, target);
}

static bool read_file(const cli_kind *kind, const char *text, void *target) {
  return *text && strcmp(text, "-") && read_text(kind, text, target);
}

/* What to write for a name that says one width here and another one there; NULL: it is no such name. */
static const char *type_instead(const char *text) {
  static const char *const names[][2] = {
      {"float", "is 64 bits wide in NumPy and 32 in C and PyTorch: write f64 or f32"},
      {"int", "is 64 bits wide in NumPy and 32 in C and PyTorch: write i64 or i32"},
      {"uint", "is 64 bits wide in NumPy and 32 in C: write u64 or u32"},
      {"long", "is as wide as C has it on the machine: write i64 or i32"},
      {"byte", "has a sign in NumPy and none in PyTorch: write i8 or u8"},
  };
  static const char *const codes[][2] = {
      {"f2", "f16"}, {"f4", "f32"}, {"f8", "f64"}, {"b1", "bool"}, {"i1", "i8"},  {"i2", "i16"},
      {"i4", "i32"}, {"i8", "i64"}, {"u1", "u8"},  {"u2", "u16"},  {"u4", "u32"}, {"u8", "u64"},
  };
  static char counts_bytes[80];
  for (int i = 0; i < COUNT_OF(names); i++)
    if (!strcmp(text, names[i][0]))
      return names[i][1];
  text += *text && strchr("<=|", *text);
  for (int i = 0; i < COUNT_OF(codes); i++)
    if (!strcmp(text, codes[i][0])) {
      snprintf(counts_bytes, sizeof counts_bytes, "counts bytes, and names here count bits: write %s", codes[i][1]);
      return counts_bytes;
    }
  return NULL;
}

const cli_kind kind_switch = {0};
const cli_kind kind_text = {.value = "TEXT", .expected = "text", .read = read_text};
const cli_kind kind_list = {.value = "LIST", .expected = "a list", .read = read_text};
const cli_kind kind_file = {
    .value = "FILE", .expected = "the name of a file; standard input and output cannot be used", .read = read_file};
const cli_kind kind_stream = {.value = "FILE", .expected = "the name of a file", .read = read_stream_name};
const cli_kind kind_directory = {.value = "DIR", .expected = "the name of a directory", .read = read_file};

#define ENGINES(X) X(ROWSCAN_ENGINE_AUTO, auto) X(ROWSCAN_ENGINE_HOST, host) X(ROWSCAN_ENGINE_CUDA, cuda)
#define WORDS(values, table, usage, listed)                                                                            \
  static const cli_word values##_words[] = {table(WORD)};                                                              \
  const cli_kind kind_##values = {.value = usage,                                                                      \
                                  .expected = listed,                                                                  \
                                  .read = read_word,                                                                   \
                                  .words = values##_words,                                                             \
                                  .count = COUNT_OF(values##_words)};
#define MODES(values, table, usage) WORDS(values, table, usage, RS_LISTED(table))
#define NUMBERS(values, type, from, to, range)                                                                         \
  const cli_kind kind_##values = {                                                                                     \
      .value = "N", .expected = range, .read = read_number, .least = from, .most = to, .bytes = sizeof(type)};
WORDS(engine, ENGINES, RS_BARRED(ENGINES), RS_LISTED(ENGINES))
NUMBERS(int, int, INT_MIN, INT_MAX, "a whole number, -2^31 to 2^31 - 1")
NUMBERS(natural, int, 0, INT_MAX, "a whole number, 0 to 2^31 - 1")
NUMBERS(count, int64_t, 0, INT64_MAX, "a whole number, 0 to 2^63 - 1")
RS_SPEC_VALUES(WORDS, MODES, NUMBERS)

/* ---- help -------------------------------------------------------------------------------------------------------- */

/* Behind `wide` columns, with a new line where words would not fit. Returns the columns of the longest line. */
static int print_value(const char *value, int wide) {
  enum { MOST = 110 };
  int indent = wide, widest = 0;
  for (;;) {
    size_t length = strcspn(value, "|");
    bool last = !value[length];
    if (wide + (int)length + !last > MOST)
      wide = printf("\n%*s", indent, "") - 1;
    wide += printf("%.*s%s", (int)length, value, last ? "" : "|");
    widest = wide > widest ? wide : widest;
    if (last)
      return widest;
    value += length + 1;
  }
}

/* What is long stands on a line of its own. */
static void print_option(const cli_option *option) {
  const char *value = option->kind->value;
  int wide = printf("  %c%c%s --%s%s", option->letter ? '-' : ' ', option->letter ? option->letter : ' ',
                    option->letter ? "," : " ", option->name, value ? " " : "");
  if (value)
    wide = print_value(value, wide);
  printf("%s%*s %s\n", wide > 34 ? "\n" : "", wide > 34 ? 34 : 34 - wide, "", option->help);
}

static void print_help(const cli_syntax *syntax) {
  printf("Usage: rowscan %s%s%s%s\n\n%s\n", syntax->name, syntax->option_count ? " [OPTION]..." : "",
         syntax->operands ? " " : "", syntax->operands ? syntax->operands : "", syntax->about);
  printf("\nOptions:\n");
  for (int i = 0; i < syntax->option_count; i++)
    if (syntax->options[i].name)
      print_option(&syntax->options[i]);
  printf("  %-32s %s\n", "-h, --help", "this text");
}

static void (*help)(const cli_syntax *syntax) = print_help;

void options_help_with(void (*print)(const cli_syntax *syntax)) {
  help = print ? print : print_help;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The option that the argument names; *value is what follows '=' or the letter, else NULL. */
static const cli_option *find_option(const cli_syntax *syntax, const char *argument, const char **value) {
  size_t length = strcspn(argument, "=");
  for (int i = 0; i < syntax->option_count; i++) {
    const cli_option *option = &syntax->options[i];
    if (!option->name)
      continue;
    if (option->letter && argument[1] == option->letter) {
      *value = argument[2] ? argument + 2 : NULL;
      return option;
    }
    if (!strncmp(argument, "--", 2) && strlen(option->name) == length - 2 &&
        !memcmp(argument + 2, option->name, length - 2)) {
      *value = argument[length] ? argument + length + 1 : NULL;
      return option;
    }
  }
  return NULL;
}

/* Reads the option at argv[*at] and goes to its last argument. */
static int read_option(const cli_syntax *syntax, int argc, char **argv, int *at) {
  const char *value = NULL, *given = argv[*at];
  const cli_option *option = find_option(syntax, given, &value);
  if (!option)
    return say_usage("unknown option '%s'", given);
  if (!option->kind->read) {
    if (value)
      return say_usage("--%s: '%s', but the option accepts no value", option->name, value);
    *(bool *)option->target = true;
    return OPTIONS_READ;
  }
  const char *one_of = option->kind->words ? "one of " : "";
  if (!value && *at + 1 == argc)
    return say_usage("--%s: requires a value, %s%s", option->name, one_of, option->kind->expected);
  if (!value)
    value = argv[++*at];
  if (option->kind->read(option->kind, value, option->target))
    return OPTIONS_READ;
  const char *instead = has_types(option->kind) ? type_instead(value) : NULL;
  return instead ? say_usage("--%s: '%s' %s", option->name, value, instead)
                 : say_usage("--%s: '%s' is not %s%s", option->name, value, one_of, option->kind->expected);
}

static int check_operands(const cli_syntax *syntax, int count, const char *last) {
  if (count > syntax->operand_count + syntax->operand_more)
    return say_usage("extra operand '%s'", last);
  if (count < syntax->operand_count)
    return say_usage("missing operand: %s required, %d given", syntax->operands, count);
  return OPTIONS_READ;
}

int options_read(const cli_syntax *syntax, int argc, char **argv, const char **operands) {
  int count = 0, status = OPTIONS_READ;
  bool only_operands = false;
  const char *last = NULL;
  for (int i = 0; i < argc && status == OPTIONS_READ; i++) {
    if (!only_operands && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
      help(syntax);
      return EXIT_OK;
    }
    if (!only_operands && !strcmp(argv[i], "--"))
      only_operands = true;
    else if (!only_operands && argv[i][0] == '-' && argv[i][1])
      status = read_option(syntax, argc, argv, &i);
    else {
      last = argv[i];
      if (count < syntax->operand_count + syntax->operand_more)
        operands[count] = last;
      count++;
    }
  }
  return status == OPTIONS_READ ? check_operands(syntax, count, last) : status;
}
