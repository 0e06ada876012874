/*
 * created_ops.c - operators of the caller's own: what the first line of a text says, and that the text reads no file
 * SPDX-License-Identifier: MIT
 *
 * An operator stays until the process ends, since contexts have kernels of it: the table of types.c only grows.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/sized.h"
#include "base/status.h"
#include "types.h"

enum { MOST_NAME = 40, MOST_NUMBERS = 4, FUNCTIONS = sizeof((rs_op){0}).given / sizeof(rs_op_on_host) };

static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

static int number_of(rowscan_type acc) {
  return 2 * (rs_type_kind(acc) != RS_FLOAT) + (rowscan_type_bytes(acc) == 8);
}

const rowscan_op_functions *rs_op_functions(const rs_op *op, rowscan_type acc) {
  const rowscan_op_functions *given = &op->given[number_of(acc)].functions;
  return given->load ? given : NULL;
}

rowscan_op_second *rs_op_second(const rs_op *op, rowscan_type acc) {
  return op->given[number_of(acc)].second;
}

/* ---- the first line ---------------------------------------------------------------------------------------------- */

static const char head[] = "// rowscan:", line_blanks[] = " \t\r";

/* A field of the line, cut out of it; the name is known before the operator has one. */
typedef struct fields {
  char name[MOST_NAME + 1], numbers[2], types[16], coefficient[2], inputs[2], params[2], outputs[2];
} fields;

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const char *text) {
  bool so = is_letter(*text);
  for (; *text; text++)
    so = so && (is_letter(*text) || (*text >= '0' && *text <= '9'));
  return so;
}

/* The number of a word in a list that ends with NULL; -1: it is none of them. */
static int find_word(const char *word, const char *const *words) {
  for (int i = 0; words[i]; i++)
    if (!strcmp(word, words[i]))
      return i;
  return -1;
}

static const char *const types_words[] = {"any", "floats", "integers", NULL}; /* by rs_op_types */
static const char *const numbers_words[] = {"1", "2", "3", "4", NULL};
static const char *const coefficient_words[] = {"0", "1", NULL};
static const char *const inputs_words[] = {"1", "2", "3", "4", "5", NULL};
static const char *const params_words[] = {"0", "1", "2", "3", "4", NULL};
static const char *const outputs_words[] = {"1", "2", NULL};

/* Reads one pair of so many characters; each field stands once. */
static rowscan_status read_op_pair(fields *read, const char *pair, size_t length) {
  const struct {
    const char *name;
    char *value;
    size_t room;
    const char *const *words; /* NULL: a name */
    const char *expected;
  } known[] = {
      {"op", read->name, sizeof read->name, NULL, "a letter or _, then letters, digits or _, at most 40 characters"},
      {"numbers", read->numbers, sizeof read->numbers, numbers_words, "1, 2, 3 or 4"},
      {"types", read->types, sizeof read->types, types_words, "any, floats or integers"},
      {"coefficient", read->coefficient, sizeof read->coefficient, coefficient_words, "0 or 1"},
      {"inputs", read->inputs, sizeof read->inputs, inputs_words, "1, 2, 3, 4 or 5"},
      {"params", read->params, sizeof read->params, params_words, "0, 1, 2, 3 or 4"},
      {"outputs", read->outputs, sizeof read->outputs, outputs_words, "1 or 2"},
  };
  enum { KNOWN = sizeof known / sizeof *known };
  const char *sign = memchr(pair, '=', length);
  int shown = length < MOST_NAME ? (int)length : MOST_NAME, i = 0;
  if (!sign)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'source': '%.*s' in its first line is not field=value", shown,
                   pair);
  size_t name = (size_t)(sign - pair), bytes = length - name - 1;
  while (i < KNOWN && (strlen(known[i].name) != name || memcmp(known[i].name, pair, name) != 0))
    i++;
  if (i == KNOWN)
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "operator: field 'source': '%.*s' in its first line is unknown; the fields are op, numbers, types, "
                   "coefficient, inputs, params, outputs",
                   shown, pair);
  if (*known[i].value)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'source': '%s' is given twice in its first line",
                   known[i].name);
  bool fits = bytes < known[i].room;
  if (fits)
    memcpy(known[i].value, sign + 1, bytes);
  if (!fits || !(known[i].words ? find_word(known[i].value, known[i].words) >= 0 : is_name(known[i].value)))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'source': '%.*s' in its first line: %s must be %s", shown,
                   pair, known[i].name, known[i].expected);
  return ROWSCAN_OK;
}

static rowscan_status read_line(fields *read, const char *source) {
  size_t length = strcspn(source, "\n");
  if (strncmp(source, head, sizeof head - 1) != 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "operator: field 'source': its first line, '%.*s', does not begin with '%s'; write '%s op=NAME "
                   "numbers=1 types=any'",
                   length < MOST_NAME ? (int)length : MOST_NAME, source, head, head);
  rowscan_status status = ROWSCAN_OK;
  for (const char *at = source + sizeof head - 1, *end = source + length; at < end && !status;) {
    at += strspn(at, line_blanks);
    size_t pair = strcspn(at, " \t\r\n");
    if (pair && at < end)
      status = read_op_pair(read, at, pair);
    at += pair;
  }
  if (!status && !*read->name)
    status = rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'source': its first line has no op=NAME");
  if (!status && *read->inputs > '1' && *read->coefficient == '1')
    status = rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "operator: field 'source': its first line has both coefficient=1 and inputs=%s; make the "
                     "coefficient one of the inputs",
                     read->inputs);
  if (!status && *read->params > '0' && strcmp(read->types, "floats") != 0)
    status = rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "operator: field 'source': params=%s in its first line requires types=floats", read->params);
  return status;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/*
 * A kernel's key has the text, but not the files that the text would read, and messages would show their lines. So what
 * reads or finds a file may not stand in a text, not even in a comment: then it does not matter what a compiler takes
 * for a comment, a string, a joined line or a trigraph.
 */

/* Past what may stand between two characters of a word or after a '#': blanks, and what joins lines. */
static const char *past_joints(const char *at) {
  for (;;) {
    at += strspn(at, " \t\v\f\r");
    size_t sign = *at == '\\' ? 1 : strncmp(at, "?\?/", 3) ? 0 : 3;
    if (!sign)
      return at;
    at += sign;
    at += strspn(at, " \t\v\f\r");
    at += *at == '\n';
  }
}

/* The end of a word that begins there, whatever joints are in it; NULL: it does not. */
static const char *past(const char *at, const char *word) {
  for (; *word; word++) {
    at = past_joints(at);
    if (*at++ != *word)
      return NULL;
  }
  return at;
}

/* The directive that begins there, or NULL. Between its '#' and its name a comment would hide it. */
static const char *directive_at(const char *at) {
  static const char *const signs[] = {"#", "%:", "?\?=", NULL};
  static const char *const words[] = {"include", "import", "embed", "/*", NULL};
  for (int s = 0; signs[s]; s++) {
    const char *name = past(at, signs[s]);
    for (int w = 0; name && words[w]; w++)
      if (past(name, words[w]))
        return words[w];
  }
  return NULL;
}

/* Of `wanted` the first i characters can be had for each bit i that is set; so can more, with this word after them. */
static uint32_t extend(uint32_t reached, const char *wanted, const char *word, size_t bytes) {
  for (int i = 0; wanted[i]; i++) {
    size_t left = strlen(wanted + i), part = bytes < left ? bytes : left;
    if (reached >> i & 1 && !strncmp(wanted + i, word, part))
      reached |= UINT32_C(1) << (i + (int)part);
  }
  return reached;
}

/* Whether words of the text make up `wanted`, or what begins so: one, or several that lines or macros join. */
static bool spells(const char *source, const char *wanted) {
  static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  uint32_t reached = 1, before = 0;
  while (reached != before) {
    before = reached;
    const char *at = source;
    for (size_t bytes; *at; at += bytes + !bytes) {
      bytes = strspn(at, letters);
      reached = bytes ? extend(reached, wanted, at, bytes) : reached;
    }
  }
  return reached >> strlen(wanted);
}

static rowscan_status check_reads_nothing(const char *source) {
  static const char *const words[] = {"__has_include", "__has_embed", NULL};
  int line = 1;
  for (const char *at = source; *at; line += *at++ == '\n') {
    const char *directive = strchr("#%?", *at) ? directive_at(at) : NULL;
    if (directive && *directive == '/')
      return rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "operator: field 'source': line %d: a comment follows '#', where a directive's name must follow",
                     line);
    if (directive)
      return rs_fail(
          ROWSCAN_BAD_ARGUMENT,
          "operator: field 'source': line %d: '#%s' is rejected, even in a comment: an operator must not read files",
          line, directive);
  }
  for (int i = 0; words[i]; i++)
    if (spells(source, words[i]))
      return rs_fail(ROWSCAN_BAD_ARGUMENT,
                     "operator: field 'source': '%s' is rejected, whole or in parts that spell it: an operator must "
                     "not look for files",
                     words[i]);
  return ROWSCAN_OK;
}

/* ---- an operator ------------------------------------------------------------------------------------------------- */

static rowscan_status copy_functions(rs_op *op, const rowscan_operator *given) {
  static const char *const names[] = {"f32", "f64", "u32", "u64"};
  const rowscan_op_functions *const from[FUNCTIONS] = {given->f32, given->f64, given->u32, given->u64};
  rowscan_op_second *const second[FUNCTIONS] = {given->second_f32, given->second_f64, given->second_u32,
                                                given->second_u64};
  for (int i = 0; i < FUNCTIONS; i++) {
    if (!from[i])
      continue;
    const char *lacks = !from[i]->load      ? "load"
                        : !from[i]->combine ? "combine"
                        : !from[i]->store   ? "store"
                        : !from[i]->neutral ? "neutral"
                                            : NULL;
    if (lacks)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field '%s': its '%s' is NULL", names[i], lacks);
    if ((op->coefficient || op->more || op->params) && !from[i]->begin)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field '%s': its 'begin' is NULL, but the operator has %s",
                     names[i],
                     op->coefficient ? "coefficients"
                     : op->more      ? "further inputs"
                                     : "parameters");
    if (op->second && !second[i])
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'second_%s': NULL, but the operator has two outputs",
                     names[i]);
    op->given[i] = (rs_op_on_host){*from[i], second[i]};
    if (!from[i]->identity)
      op->given[i].functions.identity = from[i]->neutral;
  }
  return ROWSCAN_OK;
}

/* Of the row that has a name, its number, if that is the same operator. With the lock held. */
static rowscan_status find_same(const rs_op *made, int number, rowscan_op *op) {
  const rs_op *row = rs_op_of((rowscan_op)number);
  if (!row->source)
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "operator: field 'source': op=%s is the name of an operator of the library; choose another name",
                   made->name);
  bool same_text = !strcmp(row->source, made->source);
  if (!same_text || memcmp(row->given, made->given, sizeof row->given) != 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'source': op=%s exists already, with other %s", made->name,
                   same_text ? "host functions" : "text");
  *op = (rowscan_op)number;
  return ROWSCAN_OK;
}

/* With the lock held. *made: it has a row, and what it points to belongs to that. */
static rowscan_status enter(rs_op *op, rowscan_op *number, bool *made) {
  int there = rowscan_op_by_name(op->name);
  if (there >= 0)
    return find_same(op, there, number);
  int added = rs_op_add(op);
  if (added < 0)
    return rs_fail(ROWSCAN_UNSUPPORTED, "operator: %s: the process has created %d operators, which is the limit",
                   op->name, RS_MOST_CREATED);
  *number = (rowscan_op)added;
  *made = true;
  return ROWSCAN_OK;
}

rowscan_status rowscan_op_create(rowscan_op *op, const rowscan_operator *given) {
  RS_UNCANCELLED;
  rowscan_operator read;
  fields line = {.name = ""};
  bool made = false;
  rowscan_status status = rs_sized_read(&read, sizeof read, given, "operator", "ROWSCAN_OPERATOR");
  if (!status && !read.source)
    status = rs_fail(ROWSCAN_BAD_ARGUMENT, "operator: field 'source': NULL");
  if (!status)
    status = read_line(&line, read.source);
  if (!status)
    status = check_reads_nothing(read.source);
  if (status)
    return status;
  char *name = strdup(line.name), *source = strdup(read.source);
  rs_op row = {.name = name,
               .kernel = name,
               .kind = RS_ARITHMETIC,
               .numbers = *line.numbers ? find_word(line.numbers, numbers_words) + 1 : 1,
               .coefficient = *line.coefficient == '1',
               .more = *line.inputs ? *line.inputs - '1' : 0,
               .params = *line.params ? *line.params - '0' : 0,
               .second = *line.outputs == '2',
               .types = *line.types ? (rs_op_types)find_word(line.types, types_words) : RS_ANY_TYPES,
               .source = source};
  if (!name || !source)
    status = rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for an operator");
  if (!status)
    status = copy_functions(&row, &read);
  if (!status) {
    pthread_mutex_lock(&creating);
    status = enter(&row, op, &made);
    pthread_mutex_unlock(&creating);
  }
  if (!made) {
    free(name);
    free(source);
  }
  return status;
}
