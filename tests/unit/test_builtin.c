/*
 * test_builtin.c - packs of kernels inside of the library: found by a generation, expanded once, and never half
 * SPDX-License-Identifier: MIT
 *
 * The suite has rs_builtin_data of its own, in the place of what is linked in.
 */
#include "../support/run_tests.h"
#include "base/squeeze.h"
#include "gpu/builtin.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 1 << 16, NUMBER = 8, ITEM = 24 };

static unsigned char data[ROOM];
static size_t used;
static unsigned char of_80[5000], of_90[3000];

const unsigned char *rs_builtin_data(size_t *bytes) {
  *bytes = used;
  return used ? data : NULL;
}

static void put_number(size_t at, uint64_t number) {
  for (int i = 0; i < NUMBER; i++, number >>= 8)
    data[at + (size_t)i] = (unsigned char)number;
}

/* As builtin_make.c writes it. */
static size_t add_pack(int i, size_t at, int generation, const unsigned char *bytes, size_t count) {
  size_t size, item = NUMBER + (size_t)i * ITEM;
  unsigned char *squeezed = rs_squeeze(bytes, count, &size);
  ck_assert_ptr_nonnull(squeezed);
  memcpy(data + at, squeezed, size);
  free(squeezed);
  put_number(item, (uint64_t)generation);
  put_number(item + NUMBER, count);
  put_number(item + 2 * NUMBER, size);
  return at + size;
}

static void fill(void) {
  for (size_t i = 0; i < sizeof of_80; i++)
    of_80[i] = (unsigned char)(i * i / 7);
  for (size_t i = 0; i < sizeof of_90; i++)
    of_90[i] = (unsigned char)(i % 100);
  put_number(0, 2);
  used = add_pack(0, NUMBER + 2 * ITEM, 80, of_80, sizeof of_80);
  used = add_pack(1, used, 90, of_90, sizeof of_90);
}

static bool gives(int generation, const unsigned char *bytes, size_t count) {
  size_t size = 0;
  const void *pack = rs_builtin_pack(generation, &size);
  return pack && size == count && !memcmp(pack, bytes, count) && pack == rs_builtin_pack(generation, &size);
}

START_TEST(nothing_is_linked_in) {
  size_t bytes;
  ck_assert(!rs_builtin_has(90));
  ck_assert_ptr_null(rs_builtin_pack(90, &bytes));
}
END_TEST

START_TEST(each_generation_has_its_own) {
  fill();
  ck_assert(rs_builtin_has(80) && rs_builtin_has(90) && !rs_builtin_has(75) && !rs_builtin_has(0));
  ck_assert(gives(90, of_90, sizeof of_90));
  ck_assert(gives(80, of_80, sizeof of_80));
  size_t bytes;
  ck_assert_ptr_null(rs_builtin_pack(100, &bytes));
}
END_TEST

static void *ask(void *user) {
  size_t bytes;
  *(const void **)user = rs_builtin_pack(80, &bytes);
  return NULL;
}

START_TEST(many_threads_have_one) {
  enum { THREADS = 8 };
  pthread_t thread[THREADS];
  const void *pack[THREADS];
  fill();
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, &pack[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++)
    ck_assert(pack[i] && pack[i] == pack[0]);
}
END_TEST

/* No end of the data is passed, and what does not expand is not there. */
START_TEST(what_is_damaged_is_not_there) {
  size_t bytes;
  fill();
  size_t all = used;
  for (used = 0; used < all; used += used < 100 ? 1 : 97)
    ck_assert_msg(!rs_builtin_has(90), "%zu of %zu bytes", used, all);
  used = all;
  put_number(0, UINT64_C(1) << 60);
  ck_assert(!rs_builtin_has(80));
  put_number(0, 2);
  put_number(NUMBER + NUMBER, sizeof of_80 + 1); /* of one byte more than there is */
  ck_assert(rs_builtin_has(80));
  ck_assert_ptr_null(rs_builtin_pack(80, &bytes));
  put_number(NUMBER + NUMBER, UINT64_MAX); /* of more than any memory */
  ck_assert_ptr_null(rs_builtin_pack(80, &bytes));
  ck_assert(gives(90, of_90, sizeof of_90));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builtin");
  TCase *cases = tcase_create("packs inside of the library");
  tcase_add_test(cases, nothing_is_linked_in);
  tcase_add_test(cases, each_generation_has_its_own);
  tcase_add_test(cases, many_threads_have_one);
  tcase_add_test(cases, what_is_damaged_is_not_there);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
