/*
 * test_npy.c - the headers of .npy files, good and bad
 * SPDX-License-Identifier: MIT
 *
 * A header comes from anywhere. Each file is parsed from a block of memory of exactly its size, so that a sanitizer
 * sees any byte read beyond it; whatever is accepted must lie inside the file.
 */
#include "../support/run_tests.h"
#include "cli/npy.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parsed {
  bool good;
  npy_header header;
  char why[NPY_WHY_MAX];
} parsed;

static parsed parse(const void *file, size_t size, bool allow_bf16) {
  parsed result = {.why = ""};
  void *exact = malloc(size ? size : 1);
  ck_assert_ptr_nonnull(exact);
  memcpy(exact, file, size);
  result.good = npy_parse(&result.header, size ? exact : NULL, size, allow_bf16, result.why);
  bool lacks = npy_wanted(size ? exact : NULL, size, allow_bf16) > size;
  free(exact);
  ck_assert(result.good || *result.why);
  ck_assert_msg(lacks == (!size || !strncmp(result.why, "truncated", 9)), "%s", result.why);
  if (result.good) {
    ck_assert_uint_le(result.header.data_start, size);
    ck_assert_uint_le((size_t)result.header.bytes, size - result.header.data_start);
  }
  return result;
}

/* A file of version `major` with this header and that many bytes of data; returns its size. */
static size_t make(char file[4096], int major, const char *header, size_t data) {
  size_t length = strlen(header), start = major == 1 ? 10 : 12;
  memset(file, 0, 4096);
  memcpy(file, "\x93NUMPY", 6);
  file[6] = (char)major;
  file[8] = (char)(length & 255);
  file[9] = (char)(length >> 8);
  memcpy(file + start, header, length);
  return start + length + data;
}

static parsed parse_header(const char *header, size_t data) {
  char file[4096];
  return parse(file, make(file, 1, header, data), false);
}

/* ---- what is accepted -------------------------------------------------------------------------------------------- */

static const struct {
  const char *header;
  rowscan_type type;
  bool fortran;
  int rank;
  int64_t shape[4];
} good[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", ROWSCAN_F32, false, 2, {3, 4}},
    {"{'descr':'<f4','fortran_order':True,'shape':(3,4)}", ROWSCAN_F32, true, 2, {3, 4}},
    {"{\"shape\": (5,), \"fortran_order\": False, \"descr\": \"<f8\"}\n", ROWSCAN_F64, false, 1, {5}},
    {" \t{ 'shape' : ( 2 , 1 , 3 , ) ,\n 'descr' : '=i2' , 'fortran_order' : False } \r\n",
     ROWSCAN_I16,
     false,
     3,
     {2, 1, 3}},
    {"{'descr': 'u4', 'fortran_order': False, 'shape': (2L, 3L)}", ROWSCAN_U32, false, 2, {2, 3}},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': ()}", ROWSCAN_F16, false, 0, {0}},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (7,)}", ROWSCAN_BOOL, false, 1, {7}},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (7,)}", ROWSCAN_I8, false, 1, {7}},
    {"{'descr': '>u1', 'fortran_order': False, 'shape': (7,)}", ROWSCAN_U8, false, 1, {7}},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (7,)}", ROWSCAN_U16, false, 1, {7}},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (7,)}", ROWSCAN_I32, false, 1, {7}},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (0, 9)}", ROWSCAN_I64, false, 2, {0, 9}},
    {"{'descr': '<u8', 'fortran_order': False, 'shape': (00, 7)}", ROWSCAN_U64, false, 2, {0, 7}},
};

START_TEST(good_header) {
  parsed result = parse_header(good[_i].header, 200);
  ck_assert_msg(result.good, "%s: %s", good[_i].header, result.why);
  ck_assert_int_eq(result.header.type, good[_i].type);
  ck_assert_int_eq(result.header.fortran, good[_i].fortran);
  ck_assert_int_eq(result.header.rank, good[_i].rank);
  ck_assert_uint_eq(result.header.data_start, 10 + strlen(good[_i].header));
  int64_t count = 1;
  for (int d = 0; d < good[_i].rank; d++) {
    ck_assert_int_eq(result.header.shape[d], good[_i].shape[d]);
    count *= good[_i].shape[d];
  }
  ck_assert_int_eq(result.header.count, count);
}
END_TEST

/* The names that NumPy reads besides; what they mean is NumPy's to say, see tests/system/cli.py. */
START_TEST(other_names) {
  static const char *const names[] = {"float32", "f", "<f", "=f", "single", NULL};
  for (int i = 0; names[i]; i++) {
    char header[100];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,)}", names[i]);
    parsed result = parse_header(header, 12);
    ck_assert_msg(result.good, "%s: %s", names[i], result.why);
    ck_assert_int_eq(result.header.type, ROWSCAN_F32);
    ck_assert_str_eq(result.header.descr, names[i]);
  }
}
END_TEST

START_TEST(versions) {
  static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}";
  for (int major = 0; major <= 4; major++) {
    char file[4096];
    parsed result = parse(file, make(file, major, header, 12), false);
    ck_assert_int_eq(result.good, major >= 1 && major <= 3);
    if (result.good)
      ck_assert_uint_eq(result.header.data_start, (major == 1 ? 10 : 12) + strlen(header));
    else
      ck_assert_ptr_nonnull(strstr(result.why, "field 'version'"));
    file[7] = 1;
    ck_assert(!parse(file, 200, false).good);
  }
}
END_TEST

START_TEST(bf16_only_if_asked_for) {
  static const char *const names[] = {"<V2", "|V2", "V2"};
  for (int i = 0; i < 3; i++) {
    char header[100], file[4096];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,)}", names[i]);
    size_t size = make(file, 1, header, 6);
    parsed asked = parse(file, size, true), not_asked = parse(file, size, false);
    ck_assert(asked.good);
    ck_assert_int_eq(asked.header.type, ROWSCAN_BF16);
    ck_assert_int_eq(asked.header.bytes, 6);
    ck_assert(!not_asked.good);
    ck_assert_ptr_nonnull(strstr(not_asked.why, "--type bf16"));
  }
}
END_TEST

START_TEST(more_data_than_said) {
  parsed result = parse_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 13);
  ck_assert(result.good);
  ck_assert_int_eq(result.header.bytes, 12);
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------------------------------- */

#define SHAPE(shape) "{'descr': '<f4', 'fortran_order': False, 'shape': " shape "}"
#define DESCR(descr) "{'descr': " descr ", 'fortran_order': False, 'shape': (3,)}"
#define ORDER(order) "{'descr': '<f4', 'fortran_order': " order ", 'shape': (3,)}"

static const struct {
  const char *header, *why; /* the message has each of the parts, which ~ separates */
} bad[] = {
    {"", "header~'{'"},
    {"   \n", "header~'{'"},
    {"\r{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "header~'{'"},
    {"\n {'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "header~'{'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}\r ", "header~end"},
    {"{}", "'descr'~missing"},
    {"{,}", "header~a string"},
    {"{'descr': '<f4', 'fortran_order': False}", "'shape'~missing"},
    {"{'descr': '<f4', 'shape': (3,)}", "'fortran_order'~missing"},
    {"{'fortran_order': False, 'shape': (3,)}", "'descr'~missing"},
    {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "'descr'~twice"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "'more'"},
    {"{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}", "header~','"},
    {"{'descr' '<f4', 'fortran_order': False, 'shape': (3,)}", "header~':'"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "header~ends"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "header~x where"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}}", "header~} where"},
    {"['descr', '<f4']", "header~'{'"},
    {"{descr: '<f4'}", "header~descr: '<f4'~a string"},
    {"{'descr: <f4, ", "a plain string"},
    {"{'de\\x73cr': '<f4', 'fortran_order': False, 'shape': (3,)}", "a plain string"},
    {SHAPE("(3)"), "'shape'~(3)~not a tuple"},
    {SHAPE("3"), "'shape'~a tuple"},
    {SHAPE("[3]"), "'shape'~a tuple"},
    {SHAPE("None"), "'shape'~a tuple"},
    {SHAPE("(,)"), "'shape'~a dimension"},
    {SHAPE("(3,,4)"), "'shape'~a dimension"},
    {SHAPE("(3 4)"), "'shape'~','"},
    {SHAPE("(-1, 3)"), "'shape'~-1"},
    {SHAPE("(3.0,)"), "'shape'"},
    {SHAPE("(True,)"), "'shape'~True"},
    {SHAPE("('3',)"), "'shape'~'3'"},
    {SHAPE("((3,),)"), "'shape'"},
    {SHAPE("(0x3,)"), "'shape'"},
    {SHAPE("(3, 007)"), "'shape'~007~a zero"},
    {SHAPE("(9223372036854775808,)"), "'shape'~9223372036854775808~too large"},
    {SHAPE("(99999999999999999999999999,)"), "'shape'~too large"},
    {SHAPE("(9223372036854775807,)"), "'shape'~9223372036854775807~overflows"},
    {SHAPE("(4294967296, 4294967296)"), "'shape'~(4294967296, 4294967296)~overflows"},
    {SHAPE("(2097152, 2097152, 2097152)"), "'shape'~overflows"},
    {SHAPE("(0, 4294967296, 4294967296)"), "'shape'~overflows"},
    {SHAPE("(4294967296, 4294967296, 0)"), "'shape'~overflows"},
    {SHAPE("(1152921504606846976,)"), "'shape'~overflows"}, /* as 8 bytes an element */
    {SHAPE("(1152921504606846975,)"), "truncated data~4611686018427387900"},
    {SHAPE("(3,"), "'shape'"},
    {SHAPE("(51,)"), "truncated data~(51,)~204 bytes~of which the file has 200"},
    {DESCR("'|O'"), "'descr'~'|O'~Python objects"},
    {DESCR("'<U7'"), "'descr'~'<U7'~strings"},
    {DESCR("'|S7'"), "'descr'~'|S7'~byte strings"},
    {DESCR("'<c8'"), "'descr'~'<c8'~complex"},
    {DESCR("'|V8'"), "'descr'~'|V8'~raw bytes"},
    {DESCR("'<M8[ns]'"), "'descr'~'<M8[ns]'~dates"},
    {DESCR("'<m8[s]'"), "'descr'~'<m8[s]'~time spans"},
    {DESCR("'<f16'"), "'descr'~'<f16'~long doubles~.astype"},
    {DESCR("'longdouble'"), "'descr'~'longdouble'~long doubles"},
    {DESCR("'<f3'"), "'descr'~'<f3'"},
    {DESCR("'|f'"), "'descr'~'|f'~byte order"},
    {DESCR("'>d'"), "'descr'~'>d'~big-endian"},
    {DESCR("'<float32'"), "'descr'~'<float32'~is not a type"},
    {DESCR("'Float32'"), "'descr'~'Float32'~is not a type"},
    {DESCR("'d8'"), "'descr'~'d8'~is not a type"},
    {DESCR("'1f4'"), "'descr'~'1f4'~is not a type"},
    {DESCR("'complex64'"), "'descr'~'complex64'~complex"},
    {DESCR("''"), "'descr'~''"},
    {DESCR("'<'"), "'descr'~'<'"},
    {DESCR("'<<f4'"), "'descr'~'<<f4'"},
    {DESCR("'<f4 '"), "'descr'"},
    {DESCR("'>f4'"), "'descr'~'>f4'~big-endian"},
    {DESCR("'>i8'"), "'descr'~'>i8'~big-endian"},
    {DESCR("'|f4'"), "'descr'~'|f4'~byte order"},
    {DESCR("[('a', '<f4')]"), "'descr'~('a', '<f4')~structured"},
    {DESCR("('<f4', (2,))"), "'descr'~a string"},
    {DESCR("None"), "'descr'~None"},
    {DESCR("'\x1b[31m'"), "'descr'~'?[31m'"},
    {ORDER("true"), "'fortran_order'~true"},
    {ORDER("0"), "'fortran_order'~0"},
    {ORDER("'False'"), "'fortran_order'~'False'"},
    {ORDER("Falsey"), "header"},
};

/* Does the text have each of the parts? */
static bool has_all(const char *text, const char *parts) {
  char part[128];
  while (*parts) {
    size_t length = strcspn(parts, "~");
    snprintf(part, sizeof part, "%.*s", (int)length, parts);
    if (!strstr(text, part))
      return false;
    parts += length + (parts[length] == '~');
  }
  return true;
}

START_TEST(bad_header) {
  parsed result = parse_header(bad[_i].header, 200);
  ck_assert_msg(!result.good, "%s", bad[_i].header);
  ck_assert_msg(has_all(result.why, bad[_i].why), "%s: %s", bad[_i].header, result.why);
}
END_TEST

START_TEST(many_dimensions) {
  char header[1024];
  for (int rank = 63; rank <= 65; rank++) {
    int length = snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (int d = 0; d < rank; d++)
      length += snprintf(header + length, sizeof header - (size_t)length, "1, ");
    snprintf(header + length, sizeof header - (size_t)length, ")}");
    parsed result = parse_header(header, 4);
    ck_assert_int_eq(result.good, rank <= NPY_RANK_MAX);
    ck_assert(result.good ? result.header.rank == rank : !!strstr(result.why, "64 dimensions"));
  }
}
END_TEST

START_TEST(no_npy_at_all) {
  ck_assert_ptr_nonnull(strstr(parse("", 0, false).why, "empty"));
  ck_assert_ptr_nonnull(strstr(parse("PK\3\4", 4, false).why, ".npz"));
  ck_assert_ptr_nonnull(strstr(parse("hello, world", 12, false).why, "not an .npy file"));
  ck_assert_ptr_nonnull(strstr(parse("\x93NUMPX\1\0\0\0", 10, false).why, "not an .npy file"));
  ck_assert_ptr_nonnull(strstr(parse("\x93NUMPY", 6, false).why, "truncated header: the file has 6 bytes"));
  ck_assert_ptr_nonnull(strstr(parse("\x93NUMPY\2\0\4\0", 10, false).why, "truncated header: the file has 10 bytes"));
  ck_assert_ptr_nonnull(strstr(parse("\x93NUMPY\1\0\4\0{", 11, false).why,
                               "truncated header: field 'header length' is 4 bytes, of which the file has 1"));
  ck_assert_ptr_nonnull(strstr(parse("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, false).why, "4294967295"));
}
END_TEST

/* ---- any bytes --------------------------------------------------------------------------------------------------- */

START_TEST(cut_anywhere) {
  for (int major = 1; major <= 3; major++) {
    char file[4096];
    size_t size = make(file, major, good[0].header, 48);
    for (size_t cut = 0; cut < size; cut++)
      ck_assert_msg(!parse(file, cut, false).good, "%zu of %zu bytes", cut, size);
    ck_assert(parse(file, size, false).good);
  }
}
END_TEST

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Read as far as it asks for, and again, a file ends where its data do, whatever comes behind. */
START_TEST(read_as_a_stream) {
  char file[4096];
  for (int major = 1; major <= 3; major++) {
    size_t size = make(file, major, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3)}", 60), wanted, bytes = 0;
    while ((wanted = npy_wanted(file, bytes, false)) > bytes)
      bytes = wanted;
    ck_assert_uint_eq(bytes, size);
  }
  make(file, 2, "", 0);
  memset(file + 8, 0xff, 4);
  ck_assert_uint_le(npy_wanted(file, 12, false), 12);
  ck_assert_ptr_nonnull(strstr(parse(file, 4096, false).why, "field 'header length': 4294967295 exceeds 1048576"));
}
END_TEST

/* Bytes replaced by others that mean something somewhere: it must not crash, and parse() judges what is accepted. */
START_TEST(damaged_anywhere) {
  static const char odd[] = "'\"(){}[]:,<>|=0123456789LfiubV \n\\\0\x93\xff-";
  uint32_t state = 7;
  for (int round = 0; round < 50000; round++) {
    char file[4096];
    size_t size = make(file, 1 + round % 3, good[(unsigned)round % (sizeof good / sizeof *good)].header, 100);
    for (uint32_t i = 1 + next_random(&state) % 3; i; i--)
      file[8 + next_random(&state) % (size - 108)] = odd[next_random(&state) % (sizeof odd - 1)];
    parse(file, size, round & 1);
  }
}
END_TEST

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static const rowscan_type types[] = {ROWSCAN_F16, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_I8,
                                     ROWSCAN_U8,  ROWSCAN_I16,  ROWSCAN_U16, ROWSCAN_I32, ROWSCAN_U32,
                                     ROWSCAN_I64, ROWSCAN_U64,  ROWSCAN_BOOL};

START_TEST(written_and_read) {
  static const int64_t shape[] = {3, 0, 1, 5};
  for (int rank = 0; rank <= 4; rank++) {
    char file[NPY_HEADER_MAX + 64] = {0};
    size_t length = npy_format(file, types[_i], rank, shape);
    ck_assert_uint_eq(length % 64, 0);
    ck_assert_int_eq(file[length - 1], '\n');
    parsed result = parse(file, length + 64, true);
    ck_assert_msg(result.good, "%s", result.why);
    ck_assert_int_eq(result.header.type, types[_i]);
    ck_assert(!result.header.fortran);
    ck_assert_int_eq(result.header.rank, rank);
    ck_assert_mem_eq(result.header.shape, shape, (size_t)rank * sizeof *shape);
    ck_assert_uint_eq(result.header.data_start, length);
  }
}
END_TEST

START_TEST(longest_header) {
  int64_t shape[NPY_RANK_MAX];
  char header[NPY_HEADER_MAX];
  for (int d = 0; d < NPY_RANK_MAX; d++)
    shape[d] = INT64_MAX;
  size_t length = npy_format(header, ROWSCAN_BF16, NPY_RANK_MAX, shape);
  ck_assert_uint_lt(length, NPY_HEADER_MAX);
  ck_assert_ptr_nonnull(strstr(parse(header, length, true).why, "overflows"));
}
END_TEST

START_TEST(strides_of_a_shape) {
  static const int64_t shape[] = {2, 3, 4}, c_order[] = {12, 4, 1}, fortran[] = {1, 2, 6};
  int64_t strides[3];
  npy_strides(strides, 3, shape, false);
  ck_assert_mem_eq(strides, c_order, sizeof strides);
  npy_strides(strides, 3, shape, true);
  ck_assert_mem_eq(strides, fortran, sizeof strides);
}
END_TEST

START_TEST(shape_as_text) {
  static const int64_t shape[] = {2, 3};
  char text[NPY_SHAPE_TEXT_MAX];
  ck_assert_str_eq(npy_shape_text(text, 0, shape), "()");
  ck_assert_str_eq(npy_shape_text(text, 1, shape), "(2,)");
  ck_assert_str_eq(npy_shape_text(text, 2, shape), "(2, 3)");
}
END_TEST

static TCase *reading(void) {
  TCase *cases = tcase_create("reading");
  tcase_add_loop_test(cases, good_header, 0, sizeof good / sizeof *good);
  tcase_add_loop_test(cases, bad_header, 0, sizeof bad / sizeof *bad);
  tcase_add_test(cases, other_names);
  tcase_add_test(cases, versions);
  tcase_add_test(cases, bf16_only_if_asked_for);
  tcase_add_test(cases, more_data_than_said);
  tcase_add_test(cases, many_dimensions);
  tcase_add_test(cases, no_npy_at_all);
  tcase_add_test(cases, cut_anywhere);
  tcase_add_test(cases, damaged_anywhere);
  tcase_add_test(cases, read_as_a_stream);
  return cases;
}

static TCase *writing(void) {
  TCase *cases = tcase_create("writing");
  tcase_add_loop_test(cases, written_and_read, 0, sizeof types / sizeof *types);
  tcase_add_test(cases, longest_header);
  tcase_add_test(cases, strides_of_a_shape);
  tcase_add_test(cases, shape_as_text);
  return cases;
}

int main(void) {
  Suite *suite = suite_create("npy");
  suite_add_tcase(suite, reading());
  suite_add_tcase(suite, writing());
  return run_tests(suite);
}
