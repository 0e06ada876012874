/*
 * test_builtin.c - packs of kernels inside of the library: found by a generation, expanded once, as far as is read
 * SPDX-License-Identifier: MIT
 *
 * The suite has rs_builtin_data of its own, in the place of what is linked in.
 */
#include "../support/run_tests.h"
#include "base/squeeze.h"
#include "gpu/builtin.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { ROOM = 1 << 16, NUMBER = 8, ITEM = 32, RANGE = 16, RANGES = 3 };

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

static size_t item_at(int i) {
  return NUMBER + (size_t)i * ITEM;
}
static size_t range_at(int i, int k) {
  return NUMBER + 2 * ITEM + (size_t)(i * RANGES + k) * RANGE;
}

/* As builtin_make.c writes it: the last third comes first, and then the second and the first. */
static size_t add_pack(int i, size_t at, int generation, const unsigned char *bytes, size_t count) {
  static unsigned char in_order[sizeof of_80];
  size_t size, squeezed_bytes = 0, third = count / RANGES;
  for (int k = 0; k < RANGES; k++) {
    size_t begin = (size_t)(RANGES - 1 - k) * third, end = k ? begin + third : count;
    memcpy(in_order + squeezed_bytes, bytes + begin, end - begin);
    squeezed_bytes += end - begin;
    put_number(range_at(i, k), begin);
    put_number(range_at(i, k) + NUMBER, end - begin);
  }
  unsigned char *squeezed = rs_squeeze(in_order, count, &size);
  ck_assert_ptr_nonnull(squeezed);
  memcpy(data + at, squeezed, size);
  free(squeezed);
  put_number(item_at(i), (uint64_t)generation);
  put_number(item_at(i) + NUMBER, count);
  put_number(item_at(i) + 2 * NUMBER, size);
  put_number(item_at(i) + 3 * NUMBER, RANGES);
  return at + size;
}

static void fill(void) {
  for (size_t i = 0; i < sizeof of_80; i++)
    of_80[i] = i & 16 ? 0 : (unsigned char)(i * i / 7 ^ i >> 3); /* many steps */
  for (size_t i = 0; i < sizeof of_90; i++)
    of_90[i] = (unsigned char)(i % 100);
  put_number(0, 2);
  used = add_pack(0, range_at(2, 0), 80, of_80, sizeof of_80);
  used = add_pack(1, used, 90, of_90, sizeof of_90);
}

/* Whether a read gives the bytes that there are; 0, or what errno says. */
static int read_of(int generation, const unsigned char *bytes, size_t offset, size_t count) {
  static _Thread_local unsigned char read[sizeof of_80];
  rs_source pack;
  ck_assert(rs_builtin_pack(generation, &pack));
  if (!pack.read(pack.user, read, offset, count))
    return errno;
  return memcmp(read, bytes + offset, count) ? -1 : 0;
}

static bool gives(int generation, const unsigned char *bytes, size_t count) {
  rs_source pack;
  bool all = rs_builtin_pack(generation, &pack) && pack.bytes == count;
  for (size_t at = 0; at < count && all; at += 700) /* across ranges */
    all = !read_of(generation, bytes, at, count - at < 1000 ? count - at : 1000);
  return all && !read_of(generation, bytes, 0, count) && !read_of(generation, bytes, count, 0);
}

START_TEST(nothing_is_linked_in) {
  rs_source pack;
  ck_assert(!rs_builtin_has(90) && !rs_builtin_pack(90, &pack));
}
END_TEST

START_TEST(each_generation_has_its_own) {
  rs_source pack;
  fill();
  ck_assert(rs_builtin_has(80) && rs_builtin_has(90) && !rs_builtin_has(75) && !rs_builtin_has(0));
  ck_assert(gives(90, of_90, sizeof of_90));
  ck_assert(gives(80, of_80, sizeof of_80));
  ck_assert(!rs_builtin_pack(100, &pack));
}
END_TEST

static void *ask(void *user) {
  *(bool *)user = gives(80, of_80, sizeof of_80);
  return NULL;
}

START_TEST(many_threads_have_one) {
  enum { THREADS = 8 };
  pthread_t thread[THREADS];
  bool right[THREADS];
  fill();
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, &right[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++)
    ck_assert(right[i]);
}
END_TEST

/* What comes first needs nothing of what comes after it. */
START_TEST(no_more_is_expanded_than_is_read) {
  fill();
  size_t end = used - (size_t)data[item_at(1) + 2 * NUMBER] - 256 * (size_t)data[item_at(1) + 2 * NUMBER + 1];
  memset(data + end - 200, 0xff, 200);
  ck_assert_int_eq(read_of(80, of_80, sizeof of_80 - 100, 100), 0);
  ck_assert_int_eq(read_of(80, of_80, sizeof of_80 / RANGES - 100, 100), EIO);
  ck_assert_int_eq(read_of(80, of_80, sizeof of_80 - 100, 100), EIO); /* nothing of it is trusted any more */
}
END_TEST

/* No end of the data is passed, and what does not expand is not there. */
START_TEST(what_is_damaged_is_not_there) {
  fill();
  size_t all = used;
  for (used = 0; used < all; used += used < 300 ? 1 : 97)
    ck_assert_msg(!rs_builtin_has(90), "%zu of %zu bytes", used, all);
  used = all;
  put_number(0, UINT64_C(1) << 60);
  ck_assert(!rs_builtin_has(80));
  put_number(0, 2);
  put_number(item_at(0) + 3 * NUMBER, UINT64_C(1) << 61); /* ranges */
  ck_assert(!rs_builtin_has(80) && !rs_builtin_has(90));
  put_number(item_at(0) + 3 * NUMBER, RANGES);
  put_number(range_at(0, 0) + NUMBER, UINT64_MAX);
  ck_assert_int_eq(read_of(80, of_80, sizeof of_80 - 1, 1), EIO);
  put_number(range_at(0, 0) + NUMBER, 10); /* bytes that no range has */
  ck_assert_int_eq(read_of(80, of_80, sizeof of_80 - 1, 1), EIO);
  put_number(item_at(0) + NUMBER, UINT64_MAX); /* of more than any memory */
  ck_assert(!rs_builtin_has(80));
  ck_assert(gives(90, of_90, sizeof of_90));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builtin");
  TCase *cases = tcase_create("packs inside of the library");
  tcase_add_test(cases, nothing_is_linked_in);
  tcase_add_test(cases, each_generation_has_its_own);
  tcase_add_test(cases, many_threads_have_one);
  tcase_add_test(cases, no_more_is_expanded_than_is_read);
  tcase_add_test(cases, what_is_damaged_is_not_there);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
