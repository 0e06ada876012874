/*
 * test_kernels.c - the embedded kernels are the files of kernels/, byte for byte
 * SPDX-License-Identifier: MIT
 *
 * What NVRTC compiles is the copy in the library. It must be the text that people read, and the digest over it, which
 * stands in every cache key, must be there.
 */
#include "../support/run_tests.h"
#include "compile/kernels.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(files_are_embedded) {
  const rs_kernel_file *file = &rs_kernel_files[_i];
  char path[4096];
  snprintf(path, sizeof path, "%s/kernels/%s", getenv("srcdir"), file->name);
  FILE *stream = fopen(path, "rb");
  ck_assert_msg(stream != NULL, "%s", path);
  size_t room = strlen(file->text) + 2;
  char *text = calloc(1, room);
  ck_assert_ptr_nonnull(text);
  ck_assert_uint_eq(fread(text, 1, room, stream), room - 2);
  fclose(stream);
  ck_assert_str_eq(text, file->text);
  free(text);
}
END_TEST

START_TEST(names_are_sorted) {
  for (int i = 1; i < rs_kernel_count; i++)
    ck_assert_str_lt(rs_kernel_files[i - 1].name, rs_kernel_files[i].name);
}
END_TEST

START_TEST(digest_is_hex) {
  ck_assert_uint_ge(strlen(rs_kernels_digest), 16);
  ck_assert_uint_eq(strspn(rs_kernels_digest, "0123456789abcdef"), strlen(rs_kernels_digest));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("kernels");
  TCase *cases = tcase_create("embedded");
  tcase_add_loop_test(cases, files_are_embedded, 0, rs_kernel_count);
  tcase_add_test(cases, names_are_sorted);
  tcase_add_test(cases, digest_is_hex);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
