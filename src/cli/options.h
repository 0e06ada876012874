/*
 * options.h - the options and operands of a subcommand: one table, from which they are read and its help is printed
 * SPDX-License-Identifier: MIT
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "rowscan.h"
#include "spec/spec_fields.h"

typedef struct cli_word {
  const char *name;
  int number;
} cli_word;

/*
 * A kind of value: what help calls it, what a message says was expected, and how it is read; read is NULL for a switch.
 * One of words is stored as an int, a number as its type, of so many bytes.
 */
typedef struct cli_kind {
  const char *value;
  const char *expected; /* of words: "sum, prod" */
  bool (*read)(const struct cli_kind *kind, const char *text, void *target);
  const cli_word *words;
  int count;
  int64_t least, most; /* a least of RS_ANY_LENGTH: of no sign, or "any" */
  size_t bytes;
} cli_kind;

extern const cli_kind kind_switch;    /* bool */
extern const cli_kind kind_text;      /* const char * */
extern const cli_kind kind_list;      /* likewise */
extern const cli_kind kind_file;      /* const char *, not "-" */
extern const cli_kind kind_stream;    /* const char *, "-" for a standard stream */
extern const cli_kind kind_directory; /* likewise */
extern const cli_kind kind_int;       /* int */
extern const cli_kind kind_natural;   /* int, at least 0 */
extern const cli_kind kind_count;     /* int64_t, at least 0 */
extern const cli_kind kind_engine;    /* rowscan_engine */

/* Values of a spec's fields: kind_op, kind_type, ... */
#define DECLARED(values, ...) extern const cli_kind kind_##values;
RS_SPEC_VALUES(DECLARED, DECLARED, DECLARED)
#undef DECLARED

typedef struct cli_option {
  const char *name; /* "dim" is given as --dim N or --dim=N; NULL: there is no such option */
  char letter;      /* 'o' is given as -o FILE; 0: no short form */
  const cli_kind *kind;
  void *target; /* left alone if the option is not given; the last one counts */
  const char *help;
} cli_option;

typedef struct cli_syntax {
  const char *name;     /* of the subcommand */
  const char *operands; /* "IN.npy OUT.npy"; NULL: none. Small letters are a word to write: "info|why SPEC" */
  int operand_count;
  int operand_more;  /* so many may follow; those that don't are left as they were */
  const char *about; /* a paragraph for --help */
  const cli_option *options;
  int option_count;
} cli_syntax;

enum { OPTIONS_READ = -1 };

/*
 * Reads the arguments after the subcommand's name. Returns OPTIONS_READ, or the exit status if that was all: after
 * --help, or after a mistake, which it has told.
 */
int options_read(const cli_syntax *syntax, int argc, char **argv, const char **operands);

/* What --help does with a table from now on; NULL: it prints the help text, as at first. */
void options_help_with(void (*print)(const cli_syntax *syntax));

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

#endif
