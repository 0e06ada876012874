/*
 * test_tuning.c - tuning tables: what is written is found, and nothing else is
 * SPDX-License-Identifier: MIT
 *
 * Tables lie at the end of a page that nobody may read beyond.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/run_tests.h"
#include "family/tuning.h"

enum { ARCH = 90, MOST_TABLE = 4 << 20 };

static const rowscan_spec like[] = {
    {.in_type = ROWSCAN_F32, .length = 1000},
    {.in_type = ROWSCAN_U8, .length = 26, .layout = ROWSCAN_LAYOUT_COLUMNS},
    {.op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_F32, .length = 700, .mask_mode = ROWSCAN_MASK_COEFFICIENT},
    {.in_type = ROWSCAN_BF16, .length = 4096, .mask_mode = ROWSCAN_MASK_SELECT}};

enum { ROWS, COLUMNS, RECURRENCE, MASKED, SPECS };

static rowscan_spec spec_of(int which) {
  rowscan_spec spec = like[which];
  spec.size = sizeof spec;
  spec.row_rank = spec.layout == ROWSCAN_LAYOUT_COLUMNS ? 2 : 1;
  ck_assert_msg(rowscan_spec_complete(&spec) == ROWSCAN_OK, "%s", rowscan_last_error());
  return spec;
}

static rs_contender all[RS_MOST_CONTENDERS];
static rs_tuned found[RS_MOST_TUNED];

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static rs_text head_of(const char *gpu, int arch, int multiprocessors) {
  rs_text text = {0};
  rs_tuning_head(&text, gpu, arch, multiprocessors);
  ck_assert(!text.failed);
  return text;
}

static void add_line(rs_text *text, int which, int64_t rows, int64_t columns, const rs_contender *kernel) {
  rowscan_spec spec = spec_of(which);
  rs_tuned tuned = {rows, columns, *kernel};
  rs_tuning_line(text, &spec, &tuned, 0.12345, 0.54321);
  ck_assert(!text->failed);
}

/* A copy that ends where memory ends; only one at a time. */
static const char *guarded(const char *table, size_t length) {
  static char *memory;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  ck_assert_uint_lt(length, MOST_TABLE);
  if (!memory) {
    memory = mmap(NULL, MOST_TABLE + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED && mprotect(memory + MOST_TABLE, page, PROT_NONE) == 0);
  }
  char *at = memory + MOST_TABLE - length - 1;
  memcpy(at, table, length);
  at[length] = 0;
  return at;
}

static int look_up(const char *table, size_t length, int which) {
  rowscan_spec spec = spec_of(which);
  memset(found, 0xAA, sizeof found);
  int count = rs_tuning_of(guarded(table, length), &spec, ARCH, found);
  ck_assert(count >= 0 && count <= RS_MOST_TUNED);
  return count;
}

static bool same(const rs_contender *a, const rs_contender *b) {
  return a->regime == b->regime && a->kernel == b->kernel && !memcmp(&a->shape, &b->shape, sizeof a->shape);
}

static void expect(const rs_tuned *tuned, int64_t rows, int64_t columns, const rs_contender *kernel) {
  ck_assert_int_eq(tuned->rows, rows);
  ck_assert_int_eq(tuned->columns, columns);
  ck_assert(same(&tuned->kernel, kernel));
}

static int contenders_of(int which) {
  rowscan_spec spec = spec_of(which);
  int count = rs_contenders(&spec, ARCH, all);
  ck_assert_int_gt(count, 5);
  return count;
}

/* "op=sum ...; rows=4096 columns=1; row aligned row_ring threads=128 ...; ms=0.12345 before=0.54321" */
static void expect_words(const char *line, int which, int64_t rows, int64_t columns, const rs_contender *kernel) {
  rowscan_spec spec = spec_of(which);
  rs_text words = {0};
  rs_spec_line(&spec, &words);
  rs_text_add(&words, "; rows=%lld columns=%lld; %s %s ", (long long)rows, (long long)columns,
              rowscan_regime_name(kernel->regime), rs_kernel_name(kernel->kernel));
  rs_shape_text(&kernel->shape, &words);
  rs_text_add(&words, "; ms=0.12345 before=0.54321\n");
  ck_assert_str_eq(line, words.data);
  rs_text_free(&words);
}

START_TEST(each_contender_is_found) {
  int count = contenders_of(_i);
  int64_t columns = _i == COLUMNS ? 5 : 1;
  for (int i = 0; i < count; i++) {
    rs_text table = head_of("GPU", ARCH, 132);
    size_t head = table.length;
    add_line(&table, _i, 1 + i, columns, &all[i]);
    expect_words(table.data + head, _i, 1 + i, columns, &all[i]);
    ck_assert_int_eq(look_up(table.data, table.length, _i), 1);
    expect(&found[0], 1 + i, columns, &all[i]);
    for (int other = 0; other < SPECS; other++)
      ck_assert_int_eq(look_up(table.data, table.length, other), other == _i);
    rs_text_free(&table);
  }
}
END_TEST

/* Names of contenders are theirs on an architecture: on another one, too, nothing but its contenders is found. */
START_TEST(other_architectures_have_their_own) {
  static rs_contender theirs[RS_MOST_CONTENDERS];
  rowscan_spec spec = spec_of(_i);
  int count = contenders_of(_i), of_80 = rs_contenders(&spec, 80, theirs), both = 0;
  for (int i = 0; i < count; i++) {
    rs_text table = {0};
    add_line(&table, _i, 10, 1, &all[i]);
    bool one = rs_tuning_of(guarded(table.data, table.length), &spec, 80, found) == 1, is_theirs = false;
    for (int k = 0; k < of_80 && one; k++)
      is_theirs |= same(&found[0].kernel, &theirs[k]);
    ck_assert(!one || is_theirs);
    both += one;
    rs_text_free(&table);
  }
  ck_assert_int_lt(both, count);
}
END_TEST

START_TEST(lines_keep_their_order) {
  rs_text table = head_of("GPU", ARCH, 132);
  contenders_of(MASKED);
  rs_contender masked = all[2];
  int count = contenders_of(ROWS);
  for (int i = 0; i < 4; i++) {
    add_line(&table, ROWS, 10 * (i + 1), 1, &all[i % count]);
    add_line(&table, MASKED, 7 + i, 1, &masked);
  }
  ck_assert_int_eq(look_up(table.data, table.length, ROWS), 4);
  for (int i = 0; i < 4; i++)
    expect(&found[i], 10 * (i + 1), 1, &all[i % count]);
  ck_assert_int_eq(look_up(table.data, table.length, MASKED), 4);
  for (int i = 0; i < 4; i++)
    expect(&found[i], 7 + i, 1, &masked);
  ck_assert_int_eq(look_up(table.data, table.length, RECURRENCE), 0);
  rs_text_free(&table);
}
END_TEST

START_TEST(others_are_all_but_one_line) {
  static const int64_t size[][2] = {{1, 5}, {15, 1}, {10, 5}, {1, 51}, {100, 5}};
  enum { SIZES = sizeof size / sizeof *size };
  rs_text table = head_of("GPU", ARCH, 132);
  contenders_of(MASKED);
  rs_contender masked = all[0];
  contenders_of(COLUMNS);
  size_t end[2 * SIZES + 1] = {table.length};
  for (int i = 0; i < SIZES; i++) {
    add_line(&table, COLUMNS, size[i][0], size[i][1], &all[i]);
    end[2 * i + 1] = table.length;
    add_line(&table, MASKED, size[i][0], size[i][1], &masked);
    end[2 * i + 2] = table.length;
  }
  rs_text_append(&table, "# a remark\n", 11);
  rowscan_spec spec = spec_of(COLUMNS), reversed = spec;
  reversed.flags = ROWSCAN_REVERSE;
  for (int i = 0; i < SIZES; i++) {
    rs_text others = {0}, wanted = {0};
    rs_tuning_others(&others, guarded(table.data, table.length), &spec, size[i][0], size[i][1]);
    rs_text_append(&wanted, table.data + end[0], end[2 * i] - end[0]);
    rs_text_append(&wanted, table.data + end[2 * i + 1], end[2 * SIZES] - end[2 * i + 1]);
    ck_assert_str_eq(others.data, wanted.data);
    rs_text_free(&others);
    rs_text_free(&wanted);
  }
  for (int i = 0; i < 3; i++) { /* what no line has */
    rs_text others = head_of("GPU", ARCH, 132);
    size_t head = others.length;
    rs_tuning_others(&others, table.data, i ? &spec : &reversed, 1, i == 2 ? 50 : i ? 1 : 5);
    ck_assert_uint_eq(others.length - head, end[2 * SIZES] - end[0]);
    ck_assert_mem_eq(others.data + head, table.data + end[0], end[2 * SIZES] - end[0]);
    rs_text_free(&others);
  }
  rs_text_free(&table);
}
END_TEST

/* A file that an editor has left without the end of its last line: the next one must not become part of it. */
START_TEST(others_end_with_an_end_of_line) {
  contenders_of(ROWS);
  rs_text table = head_of("GPU", ARCH, 132), after = head_of("GPU", ARCH, 132);
  rowscan_spec spec = spec_of(ROWS);
  add_line(&table, ROWS, 10, 1, &all[0]);
  rs_tuning_others(&after, guarded(table.data, table.length - 1), &spec, 20, 1);
  add_line(&after, ROWS, 20, 1, &all[1]);
  ck_assert_int_eq(look_up(after.data, after.length, ROWS), 2);
  expect(&found[0], 10, 1, &all[0]);
  expect(&found[1], 20, 1, &all[1]);
  rs_text_free(&table);
  rs_text_free(&after);
}
END_TEST

START_TEST(heads_are_of_one_gpu_and_version) {
  rs_text head = head_of("NVIDIA H200", ARCH, 132), table = head_of("NVIDIA H200", ARCH, 132);
  contenders_of(ROWS);
  ck_assert(rs_tuning_has_head(guarded(table.data, table.length), &head));
  add_line(&table, ROWS, 10, 1, &all[0]);
  ck_assert(rs_tuning_has_head(guarded(table.data, table.length), &head));
  const rs_text others[] = {head_of("NVIDIA H20", ARCH, 132), head_of("NVIDIA H200 NVL", ARCH, 132),
                            head_of("NVIDIA H200", 100, 132), head_of("NVIDIA H200", ARCH, 13),
                            head_of("NVIDIA H200", ARCH, 1320)};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    ck_assert(!rs_tuning_has_head(guarded(others[i].data, others[i].length), &head));
    ck_assert(!rs_tuning_has_head(guarded(table.data, table.length), &others[i]));
    free(others[i].data);
  }
  for (size_t length = 0; length < head.length; length++)
    ck_assert(!rs_tuning_has_head(guarded(head.data, length), &head));
  char *version = strstr(table.data, ROWSCAN_VERSION_STRING);
  ck_assert_ptr_nonnull(version);
  version[strlen(ROWSCAN_VERSION_STRING) - 1] ^= 1;
  ck_assert(!rs_tuning_has_head(guarded(table.data, table.length), &head));
  head.failed = true;
  ck_assert(!rs_tuning_has_head(guarded(head.data, head.length), &head));
  rs_text_free(&head);
  rs_text_free(&table);
}
END_TEST

/* ---- what is no line --------------------------------------------------------------------------------------------- */

/* Puts words in the place of others in a line. */
static rs_text changed(const char *line, const char *from, const char *to) {
  rs_text text = {0};
  const char *at = strstr(line, from);
  ck_assert_msg(at != NULL, "\"%s\" has no \"%s\"", line, from);
  rs_text_add(&text, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
  ck_assert(!text.failed);
  return text;
}

/* Between two sound lines, of 77 and 88 rows, it is as if it were not there. */
static void expect_nothing(const char *line) {
  rs_text table = head_of("GPU", ARCH, 132);
  add_line(&table, ROWS, 77, 1, &all[1]);
  rs_text_append(&table, line, strlen(line));
  add_line(&table, ROWS, 88, 1, &all[2]);
  int count = look_up(table.data, table.length, ROWS);
  ck_assert_msg(count == 2, "%d lines are found: %s", count, line);
  expect(&found[0], 77, 1, &all[1]);
  expect(&found[1], 88, 1, &all[2]);
  rs_text_free(&table);
}

START_TEST(what_is_no_line_is_not_there) {
  static const char *const instead[][2] = {{"rows=40 ", "rows=0 "},
                                           {"rows=40 ", "rows=-40 "},
                                           {"rows=40 ", "rows= "},
                                           {"rows=40 ", "rows=x "},
                                           {"rows=40 ", "rows=40x "},
                                           {"rows=40 ", ""},
                                           {"rows=40 ", "row=40 "},
                                           {"rows=40 ", "rows=4.0 "},
                                           {"rows=40 ", "rows=40 rows=40 "},
                                           {"columns=1;", "columns=0;"},
                                           {"columns=1;", "columns=-1;"},
                                           {"columns=1;", "columns=;"},
                                           {"columns=1;", "columns=1"},
                                           {"columns=1;", ";"},
                                           {"columns=1;", "columns=1;;"},
                                           {" columns=1", ""},
                                           {"threads=", "threads=1"},
                                           {"threads=", "Threads="},
                                           {"threads=", ""},
                                           {" threads=", "  threads="},
                                           {" threads=", " threads= "},
                                           {"; ms=", " ; ms="},
                                           {"; ms=", " more=1; ms="},
                                           {"; ms=", "x; ms="},
                                           {"op=sum", "op=prod"},
                                           {"op=sum", "op=su"},
                                           {"op=sum", " op=sum"},
                                           {"op=sum", "#op=sum"},
                                           {"length=1000", "length=100"},
                                           {"length=1000", "length=10000"},
                                           {"in=f32", "in=f64"},
                                           {"; rows=", " rows="},
                                           {"; rows=", ";rows="},
                                           {"op=sum", "\n; "},
                                           {"op=sum", "%s%n%s"}};
  rs_text line = {0};
  contenders_of(ROWS);
  add_line(&line, ROWS, 40, 1, &all[0]);
  for (size_t i = 0; i < sizeof instead / sizeof *instead; i++) {
    rs_text bad = changed(line.data, instead[i][0], instead[i][1]);
    expect_nothing(bad.data);
    rs_text_free(&bad);
  }
  static const char *const plain[] = {"",    "\n",    "\n\n\n",  "#\n",           "# op=sum\n",
                                      ";\n", "op=\n", "; ; ;\n", "\xff\xfe\x80\n"};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    expect_nothing(plain[i]);
  rs_text_free(&line);
}
END_TEST

/* A file that was cut: lines before are as they were, and what is left of the last one is a contender or nothing. */
START_TEST(a_table_may_end_anywhere) {
  int count = contenders_of(ROWS);
  for (int i = 0; i < count; i++) {
    rs_text table = head_of("GPU", ARCH, 132);
    add_line(&table, ROWS, 77, 1, &all[0]);
    size_t first = table.length;
    add_line(&table, ROWS, 40, 1, &all[i]);
    size_t last = (size_t)(strstr(table.data + first, "; ms=") - table.data);
    for (size_t length = first; length <= table.length; length++) {
      int lines = look_up(table.data, length, ROWS);
      expect(&found[0], 77, 1, &all[0]);
      if (lines == 2)
        ck_assert(found[1].rows == 40 && found[1].columns == 1);
      bool is_contender = false;
      for (int k = 0; k < count && lines == 2; k++)
        is_contender |= same(&found[1].kernel, &all[k]);
      ck_assert(lines == 1 || is_contender);
      if (length > last)
        ck_assert(lines == 2 && same(&found[1].kernel, &all[i]));
    }
    for (size_t length = 0; length < first; length++)
      ck_assert_int_le(look_up(table.data, length, ROWS), 1);
    rs_text_free(&table);
  }
}
END_TEST

/* Words of the next line are not those of this one. */
START_TEST(a_line_ends_with_its_line) {
  static const char *const torn[][2] = {{"rows=40", "rows=\n40"},
                                        {" columns=", "\ncolumns="},
                                        {"columns=", "columns=\n"},
                                        {"columns=1; ", "columns=1;\n"},
                                        {"columns=1; ", "columns=1; \n"}};
  rs_text line = {0};
  contenders_of(ROWS);
  add_line(&line, ROWS, 40, 1, &all[0]);
  rs_text bad = changed(line.data, torn[_i][0], torn[_i][1]);
  expect_nothing(bad.data);
  rs_text_free(&bad);
  rs_text_free(&line);
}
END_TEST

static rs_rows dense_rows(int which, int64_t outer, int64_t columns);

/* Numbers that no run has serve none, and nothing overflows. */
START_TEST(huge_numbers_serve_nobody) {
  static const char *const huge[] = {"9223372036854775807", "9223372036854775808", "18446744073709551616",
                                     "99999999999999999999999999999999999999"};
  rs_text line = {0};
  contenders_of(COLUMNS);
  add_line(&line, COLUMNS, 40, 50, &all[0]);
  rowscan_spec spec = spec_of(COLUMNS);
  for (size_t i = 0; i < 2 * sizeof huge / sizeof *huge; i++) {
    rs_text word = {0};
    rs_text_add(&word, i % 2 ? "rows=%s " : "columns=%s;", huge[i / 2]);
    rs_text bad = changed(line.data, i % 2 ? "rows=40 " : "columns=50;", word.data);
    int count = look_up(bad.data, bad.length, COLUMNS);
    rs_rows rows = dense_rows(COLUMNS, 40, 50), large = dense_rows(COLUMNS, INT64_C(1) << 40, 50);
    ck_assert_int_eq(rs_tuning_for(found, count, &rows, &spec), -1);
    ck_assert_int_eq(rs_tuning_for(found, count, &large, &spec), -1);
    rs_text_free(&word);
    rs_text_free(&bad);
  }
  rs_text_free(&line);
}
END_TEST

START_TEST(of_many_lines_some_are_found) {
  enum { LINES = 1000 };
  rs_text table = head_of("GPU", ARCH, 132);
  int count = contenders_of(ROWS);
  for (int i = 0; i < LINES; i++)
    add_line(&table, ROWS, 1 + i, 1, &all[i % count]);
  ck_assert_int_eq(look_up(table.data, table.length, ROWS), RS_MOST_TUNED);
  for (int i = 0; i < RS_MOST_TUNED; i++)
    expect(&found[i], 1 + i, 1, &all[i % count]);
  ck_assert_int_eq(look_up(table.data, table.length, MASKED), 0);
  rs_text_free(&table);
}
END_TEST

/* Lines of no contender do not take the place of those that follow. */
START_TEST(lines_of_nothing_take_no_place) {
  rs_text table = {0}, line = {0};
  contenders_of(ROWS);
  add_line(&line, ROWS, 40, 1, &all[0]);
  rs_text bad = changed(line.data, "threads=", "thread=");
  for (int i = 0; i < 3 * RS_MOST_TUNED; i++)
    rs_text_append(&table, bad.data, bad.length);
  add_line(&table, ROWS, 88, 1, &all[1]);
  ck_assert_int_eq(look_up(table.data, table.length, ROWS), 1);
  expect(&found[0], 88, 1, &all[1]);
  rs_text_free(&table);
  rs_text_free(&line);
  rs_text_free(&bad);
}
END_TEST

/* ---- for rows ---------------------------------------------------------------------------------------------------- */

static char memory[64]; /* that nobody reads */

static void set_dense(rs_operand *a, const rs_rows *rows, int64_t length, bool by_columns) {
  int64_t next = by_columns ? 1 : length, columns = rows->shape[rows->rank - 1];
  a->data = memory;
  a->step = by_columns ? columns : 1;
  for (int d = rows->rank - 1; d >= 0; d--) {
    a->stride[d] = next;
    next *= rows->shape[d] * (by_columns && d == rows->rank - 1 ? length : 1);
  }
}

/* Input, output, and where the spec has it a mask; outer 0: there is no dimension of outers. */
static rs_rows dense_rows(int which, int64_t outer, int64_t columns) {
  bool by_columns = like[which].layout == ROWSCAN_LAYOUT_COLUMNS;
  rs_rows rows = {.rank = by_columns && outer ? 2 : 1};
  rows.count = outer ? outer * columns : columns;
  rows.shape[0] = by_columns ? outer : rows.count;
  rows.shape[rows.rank - 1] = by_columns ? columns : rows.count;
  for (int a = RS_IN; a <= (like[which].mask_mode ? RS_MASK : RS_OUT); a++)
    set_dense(&rows.array[a], &rows, like[which].length, by_columns);
  return rows;
}

static int serving(const rs_tuned *list, int count, const rs_rows *rows, int which) {
  rowscan_spec spec = spec_of(which);
  return rs_tuning_for(list, count, rows, &spec);
}

static bool serves(int64_t tuned, int64_t rows) {
  rs_tuned one = {.rows = tuned, .columns = 1};
  rs_rows here = dense_rows(ROWS, rows, 1);
  int i = serving(&one, 1, &here, ROWS);
  ck_assert(i == 0 || i == -1);
  return i == 0;
}

START_TEST(a_quarter_more_or_fewer_rows) {
  static const int64_t sizes[] = {1, 2, 3, 4, 7, 100, 4096, 1000003, INT64_C(1) << 40};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int64_t rows = sizes[i], away = rows / 4;
    ck_assert(serves(rows, rows));
    ck_assert(serves(rows, rows + away));
    ck_assert(serves(rows, rows - away));
    ck_assert(!serves(rows, rows + away + 1));
    ck_assert(rows - away - 1 < 1 || !serves(rows, rows - away - 1));
    ck_assert(!serves(rows, 3 * rows));
  }
}
END_TEST

START_TEST(the_nearest_serves) {
  static const rs_tuned list[] = {{.rows = 200, .columns = 1}, {.rows = 100, .columns = 1}, {.rows = 110, .columns = 1},
                                  {.rows = 110, .columns = 1}, {.rows = 105, .columns = 2}, {.rows = 90, .columns = 1}};
  static const int64_t rows[] = {100, 104, 105, 106, 107, 110, 120, 96, 94, 200, 160, 60, 251, 1};
  static const int wanted[] = {1, 1, 1, 2, 2, 2, 2, 1, 5, 0, 0, -1, -1, -1};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rs_rows here = dense_rows(ROWS, rows[i], 1);
    ck_assert_int_eq(serving(list, sizeof list / sizeof *list, &here, ROWS), wanted[i]);
  }
  rs_rows here = dense_rows(ROWS, 100, 1);
  ck_assert_int_eq(serving(list, 1, &here, ROWS), -1);
  ck_assert_int_eq(serving(list, 0, &here, ROWS), -1);
  ck_assert_int_eq(serving(NULL, 0, &here, ROWS), -1);
}
END_TEST

START_TEST(columns_are_as_many) {
  static const rs_tuned list[] = {{.rows = 1, .columns = 50}, {.rows = 8, .columns = 50}, {.rows = 8, .columns = 51}};
  enum { COUNT = sizeof list / sizeof *list };
  static const int64_t size[][2] = {{0, 50}, {1, 50}, {8, 50}, {10, 50}, {6, 50}, {8, 51},  {11, 50}, {2, 50},
                                    {0, 51}, {8, 49}, {8, 1},  {8, 400}, {50, 8}, {0, 400}, {400, 1}};
  static const int wanted[] = {0, 0, 1, 1, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
    rs_rows here = dense_rows(COLUMNS, size[i][0], size[i][1]);
    ck_assert_int_eq(serving(list, COUNT, &here, COLUMNS), wanted[i]);
  }
  for (int64_t outer = 0; outer < 2; outer++) { /* nothing to scan */
    rs_rows none = dense_rows(COLUMNS, outer, 0);
    ck_assert_int_eq(serving(list, COUNT, &none, COLUMNS), -1);
  }
  rs_rows none = dense_rows(COLUMNS, 8, 50);
  none.shape[0] = none.count = 0;
  ck_assert_int_eq(serving(list, COUNT, &none, COLUMNS), -1);
}
END_TEST

/* More dimensions are more rows, in the order of their memory alone. */
START_TEST(rows_of_several_dimensions) {
  static const rs_tuned by_rows = {.rows = 60, .columns = 1}, by_columns = {.rows = 12, .columns = 5};
  rs_rows rows = {.rank = 3, .count = 60, .shape = {3, 4, 5}};
  for (int which = ROWS; which <= COLUMNS; which++) {
    const rs_tuned *one = which == ROWS ? &by_rows : &by_columns;
    for (int a = RS_IN; a <= RS_OUT; a++)
      set_dense(&rows.array[a], &rows, like[which].length, which == COLUMNS);
    ck_assert_int_eq(serving(one, 1, &rows, which), 0);
    for (int a = RS_IN; a <= RS_OUT; a++)
      for (int d = 0; d < 3; d++) {
        rs_rows other = rows;
        other.array[a].stride[d] *= 2;
        ck_assert_int_eq(serving(one, 1, &other, which), -1);
        other.array[a].stride[d] = 0;
        ck_assert_int_eq(serving(one, 1, &other, which), -1);
        other.array[a].stride[d] = -rows.array[a].stride[d];
        ck_assert_int_eq(serving(one, 1, &other, which), -1);
      }
    rs_rows turned = rows; /* the first two are in the other order */
    for (int a = RS_IN; a <= RS_OUT; a++) {
      turned.array[a].stride[0] = rows.array[a].stride[1];
      turned.array[a].stride[1] = rows.array[a].stride[1] * 3;
    }
    ck_assert_int_eq(serving(one, 1, &turned, which), -1);
  }
}
END_TEST

/* Of each array of elements. */
START_TEST(only_dense_arrays) {
  static const rs_tuned by_rows = {.rows = 40, .columns = 1}, by_columns = {.rows = 8, .columns = 5};
  const rs_tuned *one = _i == COLUMNS ? &by_columns : &by_rows;
  const rs_rows dense = _i == COLUMNS ? dense_rows(_i, 8, 5) : dense_rows(_i, 40, 1);
  int64_t length = like[_i].length;
  ck_assert_int_eq(serving(one, 1, &dense, _i), 0);
  for (int a = RS_IN; a <= (like[_i].mask_mode ? RS_MASK : RS_OUT); a++) {
    const rs_operand is = dense.array[a];
    const rs_operand others[] = {{is.data, 0, 2 * is.step, {2 * is.stride[0], 2 * is.stride[1]}}, /* every 2nd */
                                 {is.data, 0, 2 * is.step, {is.stride[0], is.stride[1]}},
                                 {is.data, 0, is.step, {is.stride[0] + 8, is.stride[1]}}, /* padded */
                                 {is.data, 0, is.step, {0, is.stride[1]}},                /* broadcast */
                                 {is.data, 0, 0, {is.stride[0], is.stride[1]}},
                                 {is.data, 0, is.step, {0, 0}},
                                 {is.data, 0, -is.step, {is.stride[0], is.stride[1]}}, /* backward */
                                 {is.data, 0, is.step, {-is.stride[0], is.stride[1]}},
                                 {is.data, 0, 40, {1, 1}}, /* transposed */
                                 {is.data, 0, 1, {5 * length, length}},
                                 {is.data, 0, 5, {1, 8 * 5}}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
      rs_rows rows = dense;
      rows.array[a] = others[i];
      bool as_before = others[i].step == is.step && !memcmp(others[i].stride, is.stride, 2 * sizeof *is.stride);
      ck_assert_int_eq(serving(one, 1, &rows, _i), as_before ? 0 : -1);
    }
  }
  rs_rows beside = dense; /* initial values and totals, and no mask: as they like */
  beside.array[RS_INIT] = beside.array[RS_TOTALS] = (rs_operand){memory, 0, 0, {3, 7}};
  beside.array[RS_MASK].data = NULL;
  beside.array[RS_MASK].stride[0] = 3;
  ck_assert_int_eq(serving(one, 1, &beside, _i), 0);
}
END_TEST

START_TEST(further_arrays_are_dense_too) {
  static const rs_tuned one = {.rows = 40, .columns = 1};
  rs_rows rows = dense_rows(ROWS, 40, 1);
  for (int a = RS_MORE_IN; a < RS_ALL_ARRAYS; a++) {
    set_dense(&rows.array[a], &rows, like[ROWS].length, false);
    rows.array[a].stride[0] += 8;
    rows.further = false; /* then nobody has set them */
    ck_assert_int_eq(serving(&one, 1, &rows, ROWS), 0);
    rows.further = true;
    ck_assert_int_eq(serving(&one, 1, &rows, ROWS), -1);
    rows.array[a].stride[0] -= 8;
    ck_assert_int_eq(serving(&one, 1, &rows, ROWS), 0);
  }
}
END_TEST

/* A stride that no index is multiplied with may be anything, and so may the step of rows of one element. */
START_TEST(what_is_one_has_any_stride) {
  rs_tuned one = {.rows = 1, .columns = 1};
  rs_rows rows = dense_rows(ROWS, 1, 1);
  rows.array[RS_IN].stride[0] = rows.array[RS_OUT].stride[0] = -77;
  ck_assert_int_eq(serving(&one, 1, &rows, ROWS), 0);
  one = (rs_tuned){.rows = 1, .columns = 5};
  rows = dense_rows(COLUMNS, 1, 5);
  rows.array[RS_IN].stride[0] = -77;
  ck_assert_int_eq(serving(&one, 1, &rows, COLUMNS), 0);
  one = (rs_tuned){.rows = 8, .columns = 1};
  rows = dense_rows(COLUMNS, 8, 1);
  rows.array[RS_IN].stride[1] = -77;
  ck_assert_int_eq(serving(&one, 1, &rows, COLUMNS), 0);
  one = (rs_tuned){.rows = 40, .columns = 1};
  rowscan_spec spec = spec_of(ROWS);
  spec.length = 1;
  rows = dense_rows(ROWS, 40, 1);
  for (int a = RS_IN; a <= RS_OUT; a++)
    rows.array[a] = (rs_operand){memory, 0, -77, {1}};
  ck_assert_int_eq(rs_tuning_for(&one, 1, &rows, &spec), 0);
  rows.array[RS_OUT].stride[0] = 2;
  ck_assert_int_eq(rs_tuning_for(&one, 1, &rows, &spec), -1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tuning");
  TCase *tables = tcase_create("tables");
  tcase_set_timeout(tables, 120);
  tcase_add_loop_test(tables, each_contender_is_found, 0, SPECS);
  tcase_add_loop_test(tables, other_architectures_have_their_own, 0, SPECS);
  tcase_add_test(tables, lines_keep_their_order);
  tcase_add_test(tables, others_are_all_but_one_line);
  tcase_add_test(tables, others_end_with_an_end_of_line);
  tcase_add_test(tables, heads_are_of_one_gpu_and_version);
  tcase_add_test(tables, what_is_no_line_is_not_there);
  tcase_add_test(tables, a_table_may_end_anywhere);
  tcase_add_loop_test(tables, a_line_ends_with_its_line, 0, 5);
  tcase_add_test(tables, huge_numbers_serve_nobody);
  tcase_add_test(tables, of_many_lines_some_are_found);
  tcase_add_test(tables, lines_of_nothing_take_no_place);
  suite_add_tcase(suite, tables);
  TCase *rows = tcase_create("rows");
  tcase_add_test(rows, a_quarter_more_or_fewer_rows);
  tcase_add_test(rows, the_nearest_serves);
  tcase_add_test(rows, columns_are_as_many);
  tcase_add_test(rows, rows_of_several_dimensions);
  tcase_add_loop_test(rows, only_dense_arrays, 0, SPECS);
  tcase_add_test(rows, further_arrays_are_dense_too);
  tcase_add_test(rows, what_is_one_has_any_stride);
  suite_add_tcase(suite, rows);
  return run_tests(suite);
}
