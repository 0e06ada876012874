/*
 * tuning.c - a tuning table: written, and looked up
 * SPDX-License-Identifier: MIT
 */
#include "tuning.h"

#include <stdlib.h>
#include <string.h>

#include "rowscan.h"

/* ---- written ----------------------------------------------------------------------------------------------------- */

void rs_tuning_head(rs_text *text, const char *gpu, int arch, int multiprocessors) {
  rs_text_add(text,
              "# rowscan %s: the fastest kernels, as 'rowscan tune' measured them\n# %s, sm_%d, %d multiprocessors\n",
              ROWSCAN_VERSION_STRING, gpu, arch, multiprocessors);
}

bool rs_tuning_has_head(const char *table, const rs_text *head) {
  return !head->failed && !strncmp(table, head->data, head->length);
}

/* "op=sum ...; ", "rows=4096 columns=1; " and "row aligned row_ring threads=128 ..." */
static void add_spec(rs_text *text, const rowscan_spec *spec) {
  rs_spec_line(spec, text);
  rs_text_add(text, "; ");
}
static void add_size(rs_text *text, int64_t rows, int64_t columns) {
  rs_text_add(text, "rows=%lld columns=%lld; ", (long long)rows, (long long)columns);
}
static void add_kernel(rs_text *text, const rs_contender *one) {
  rs_text_add(text, "%s %s ", rowscan_regime_name(one->regime), rs_kernel_name(one->kernel));
  rs_shape_text(&one->shape, text);
}

void rs_tuning_line(rs_text *text, const rowscan_spec *spec, const rs_tuned *tuned, double ms, double before_ms) {
  add_spec(text, spec);
  add_size(text, tuned->rows, tuned->columns);
  add_kernel(text, &tuned->kernel);
  rs_text_add(text, "; ms=%.5g before=%.5g\n", ms, before_ms);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The next line from `at` on that begins so; NULL: none. *at: behind it. */
static const char *next_line(const char **at, const char *begin, size_t length) {
  while (**at) {
    const char *line = *at, *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (!strncmp(line, begin, length))
      return line;
  }
  return NULL;
}

void rs_tuning_others(rs_text *text, const char *table, const rowscan_spec *spec, int64_t rows, int64_t columns) {
  rs_text own = {0};
  if (spec) {
    add_spec(&own, spec);
    add_size(&own, rows, columns);
  }
  text->failed |= own.failed;
  for (const char *at = table, *line; !own.failed && (line = next_line(&at, "", 0)) != NULL;)
    if (*line != '#' && (!spec || strncmp(line, own.data, own.length) != 0))
      rs_text_add(text, "%.*s\n", (int)strcspn(line, "\n"), line);
  rs_text_free(&own);
}

/* ---- looked up --------------------------------------------------------------------------------------------------- */

/* Contenders of a spec, and the words that name each. */
typedef struct named {
  int count;
  rs_contender one[RS_MOST_CONTENDERS];
  rs_text words[RS_MOST_CONTENDERS];
} named;

static named *name_all(const rowscan_spec *spec, int tuned) {
  named *all = calloc(1, sizeof *all);
  if (!all)
    return NULL;
  all->count = rs_contenders(spec, tuned, all->one);
  for (int i = 0; i < all->count; i++)
    add_kernel(&all->words[i], &all->one[i]);
  return all;
}

static void free_named(named *all) {
  for (int i = 0; all && i < all->count; i++)
    rs_text_free(&all->words[i]);
  free(all);
}

static const rs_contender *find_named(const named *all, const char *words, size_t length) {
  for (int i = 0; i < all->count; i++)
    if (!all->words[i].failed && all->words[i].length == length && !memcmp(all->words[i].data, words, length))
      return &all->one[i];
  return NULL;
}

/* "rows=4096", and moves on. False: it is not there, or no number of 1 or more. */
static bool read_number(const char **at, const char *name, int64_t *number) {
  enum { DIGITS = 18 }; /* no more, so that it fits */
  size_t length = strlen(name), digits;
  if (strncmp(*at, name, length) != 0)
    return false;
  digits = strspn(*at + length, "0123456789");
  if (!digits || digits > DIGITS)
    return false;
  *number = strtoll(*at + length, NULL, 10);
  *at += length + digits;
  return *number > 0;
}

/* What stands in a line behind its spec. False: nothing of ours. */
static bool read_line(const char *at, const named *all, rs_tuned *tuned) {
  int64_t rows, columns;
  if (!read_number(&at, "rows=", &rows) || !read_number(&at, " columns=", &columns) || strncmp(at, "; ", 2) != 0)
    return false;
  size_t length = strcspn(at + 2, ";\n");
  const rs_contender *kernel = at[2 + length] == ';' ? find_named(all, at + 2, length) : NULL;
  if (kernel)
    *tuned = (rs_tuned){rows, columns, *kernel};
  return kernel;
}

int rs_tuning_of(const char *table, const rowscan_spec *spec, int tuned, rs_tuned list[RS_MOST_TUNED]) {
  rs_text own = {0};
  named *all = NULL;
  int count = 0;
  add_spec(&own, spec);
  bool failed = own.failed;
  for (const char *at = table, *line; !failed && count < RS_MOST_TUNED;) {
    line = next_line(&at, own.data, own.length);
    if (!line)
      break;
    all = all ? all : name_all(spec, tuned);
    failed = !all;
    count += all && read_line(line + own.length, all, &list[count]);
  }
  free_named(all);
  rs_text_free(&own);
  return failed ? -1 : count;
}

/* ---- for rows ---------------------------------------------------------------------------------------------------- */

static int64_t columns_of(const rs_rows *rows, const rowscan_spec *spec) {
  return spec->layout == ROWSCAN_LAYOUT_COLUMNS ? rows->shape[rows->rank - 1] : 1;
}

/* An array as the allocator of a framework makes it. */
static bool is_dense(const rs_operand *a, const rs_rows *rows, int64_t length, bool columns) {
  int64_t next = columns ? 1 : length;
  for (int d = rows->rank - 1; d >= 0; next *= rows->shape[d--]) {
    if (rows->shape[d] > 1 && a->stride[d] != next)
      return false;
    if (columns && d == rows->rank - 1)
      next *= length;
  }
  return length == 1 || a->step == (columns ? rows->shape[rows->rank - 1] : 1);
}

int rs_tuning_for(const rs_tuned *list, int count, const rs_rows *rows, const rowscan_spec *spec) {
  enum { PART = 4 };
  bool by_columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  int64_t columns = columns_of(rows, spec), here = rows->count / rs_larger(columns, 1), nearest = INT64_MAX;
  int found = -1;
  for (int i = 0; i < count; i++) {
    int64_t away = here > list[i].rows ? here - list[i].rows : list[i].rows - here;
    if (list[i].columns != columns || away > list[i].rows / PART || away >= nearest)
      continue;
    nearest = away;
    found = i;
  }
  for (int a = 0; a < rs_arrays(rows) && found >= 0; a++)
    if (rs_has_elements(rows, a) && !is_dense(&rows->array[a], rows, spec->length, by_columns))
      found = -1;
  return found;
}
