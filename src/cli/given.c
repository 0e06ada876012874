/*
 * given.c - cells of shapes that the caller of rowscan bench gives
 * SPDX-License-Identifier: MIT
 */
#include "given.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

enum { MOST_DIMS = 8 };

static const char *after_blanks(const char *at) {
  return at + strspn(at, " ");
}

static bool read_number(const char **at, int64_t *number) {
  char *end;
  *at = after_blanks(*at);
  if (**at < '0' || **at > '9')
    return false;
  errno = 0;
  *number = strtoll(*at, &end, 10);
  *at = end;
  return !errno;
}

/* A word, or several with a blank between each two. */
static bool read_word(const char **at, const char *word) {
  const char *from = after_blanks(*at);
  size_t length = strlen(word);
  if (strncmp(from, word, length) != 0 || (from[length] && from[length] != ' '))
    return false;
  *at = from + length;
  return true;
}

static bool read_type(const char **at, rowscan_type *type) {
  const char *from = after_blanks(*at);
  char name[16] = "";
  size_t length = strcspn(from, " ");
  if (length >= sizeof name)
    return false;
  memcpy(name, from, length);
  *at = from + length;
  return kind_type.read(&kind_type, name, type);
}

/* Sizes, with a x between each two; returns how many, 0 if one is none or there are too many. */
static int read_sizes(const char **at, int64_t *sizes) {
  int rank = 0;
  do {
    if (rank == MOST_DIMS || !read_number(at, &sizes[rank]) || sizes[rank] < 1)
      return 0;
    rank++;
    *at = after_blanks(*at);
  } while (**at == 'x' && (*at)++);
  return rank;
}

/* Of dimensions one after another; false: more elements than bytes can be counted of. */
static bool product(const int64_t *sizes, int count, int64_t *all) {
  const int64_t most = INT64_C(1) << 56;
  *all = 1;
  for (int i = 0; i < count; i++) {
    if (sizes[i] > most / *all)
      return false;
    *all *= sizes[i];
  }
  return true;
}

static bool read_types(const char **at, bench_cell *cell) {
  cell->in = cell->out = ROWSCAN_F32;
  if (!*after_blanks(*at))
    return true;
  if (!read_type(at, &cell->in))
    return false;
  cell->out = cell->in;
  if (read_word(at, "->"))
    return read_type(at, &cell->out);
  return !read_word(at, "in") || read_type(at, &cell->acc);
}

/* Of a shape that has rows and their length, and none else. */
static cell_view read_view(const char **at) {
  for (int view = CELL_DENSE + 1; view < CELL_VIEWS; view++)
    if (read_word(at, cell_view_text((cell_view)view)))
      return (cell_view)view;
  return CELL_DENSE;
}

bool given_cell(const char *text, bench_cell *cell) {
  int64_t sizes[MOST_DIMS], all;
  int rank = read_sizes(&text, sizes);
  int64_t dim = rank - 1;
  *cell = (bench_cell){.group = CELL_GIVEN, .variants = CELL_ALL};
  if (!rank || !product(sizes, rank, &all))
    return false;
  if (read_word(&text, "dim") && (!read_number(&text, &dim) || dim >= rank))
    return false;
  if (rank == 2 && dim == 1)
    cell->view = read_view(&text);
  product(sizes, (int)dim, &cell->outer);
  product(sizes + dim + 1, rank - 1 - (int)dim, &cell->inner);
  cell->length = sizes[dim];
  cell->columns = dim < rank - 1;
  return read_types(&text, cell) && !*after_blanks(text);
}
