/*
 * check.h - as much of the Check library as the suites use, for C libraries and processors that it is not packaged for
 * SPDX-License-Identifier: MIT
 *
 * Each test runs in a process of its own, so that one that fails or crashes ends alone. See tests/system/portable.sh.
 */
#ifndef PORTABLE_CHECK_H
#define PORTABLE_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- assertions -------------------------------------------------------------------------------------------------- */

#define ck_abort_msg(...)                                                                                              \
  (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), fflush(stdout), _exit(EXIT_FAILURE))
#define ck_assert_msg(condition, ...) ((condition) ? (void)0 : ck_abort_msg(__VA_ARGS__))
#define ck_assert(condition) ck_assert_msg(condition, "failed: %s", #condition)

#define CHECK_COMPARE(type, format, a, relation, b)                                                                    \
  do {                                                                                                                 \
    type check_a = (a);                                                                                                \
    type check_b = (b);                                                                                                \
    ck_assert_msg(check_a relation check_b, "failed: %s %s %s: %" format ", %" format, #a, #relation, #b, check_a,     \
                  check_b);                                                                                            \
  } while (0)
#define ck_assert_int_eq(a, b) CHECK_COMPARE(intmax_t, PRIdMAX, a, ==, b)
#define ck_assert_int_ne(a, b) CHECK_COMPARE(intmax_t, PRIdMAX, a, !=, b)
#define ck_assert_int_lt(a, b) CHECK_COMPARE(intmax_t, PRIdMAX, a, <, b)
#define ck_assert_int_le(a, b) CHECK_COMPARE(intmax_t, PRIdMAX, a, <=, b)
#define ck_assert_int_gt(a, b) CHECK_COMPARE(intmax_t, PRIdMAX, a, >, b)
#define ck_assert_int_ge(a, b) CHECK_COMPARE(intmax_t, PRIdMAX, a, >=, b)
#define ck_assert_uint_eq(a, b) CHECK_COMPARE(uintmax_t, PRIuMAX, a, ==, b)
#define ck_assert_uint_ne(a, b) CHECK_COMPARE(uintmax_t, PRIuMAX, a, !=, b)
#define ck_assert_uint_lt(a, b) CHECK_COMPARE(uintmax_t, PRIuMAX, a, <, b)
#define ck_assert_uint_le(a, b) CHECK_COMPARE(uintmax_t, PRIuMAX, a, <=, b)
#define ck_assert_uint_gt(a, b) CHECK_COMPARE(uintmax_t, PRIuMAX, a, >, b)
#define ck_assert_uint_ge(a, b) CHECK_COMPARE(uintmax_t, PRIuMAX, a, >=, b)
#define ck_assert_float_eq(a, b) CHECK_COMPARE(float, "g", a, ==, b)
#define ck_assert_double_eq(a, b) CHECK_COMPARE(double, "g", a, ==, b)
#define ck_assert_ptr_eq(a, b) CHECK_COMPARE(const void *, "p", a, ==, b)
#define ck_assert_ptr_ne(a, b) CHECK_COMPARE(const void *, "p", a, !=, b)
#define ck_assert_ptr_null(a) ck_assert_ptr_eq(a, NULL)
#define ck_assert_ptr_nonnull(a) ck_assert_ptr_ne(a, NULL)

#define CHECK_STRINGS(a, relation, b)                                                                                  \
  do {                                                                                                                 \
    const char *check_a = (a), *check_b = (b);                                                                         \
    ck_assert_msg(check_a &&check_b &&strcmp(check_a, check_b) relation 0, "failed: %s %s %s: \"%s\", \"%s\"", #a,     \
                  #relation, #b, check_a ? check_a : "NULL", check_b ? check_b : "NULL");                              \
  } while (0)
#define ck_assert_str_eq(a, b) CHECK_STRINGS(a, ==, b)
#define ck_assert_str_ne(a, b) CHECK_STRINGS(a, !=, b)
#define ck_assert_str_lt(a, b) CHECK_STRINGS(a, <, b)
#define ck_assert_mem_eq(a, b, bytes) ck_assert_msg(!memcmp(a, b, bytes), "failed: %s is not %s", #a, #b)

/* ---- suites ------------------------------------------------------------------------------------------------------ */

#define START_TEST(name) static void name(int _i __attribute__((unused)))
#define END_TEST

enum { CHECK_MOST = 500, CK_NORMAL };

typedef struct check_test {
  const char *name;
  void (*run)(int i);
  int first, end;
} check_test;

typedef struct TCase {
  check_test test[CHECK_MOST];
  int count;
  void (*setup)(void);
  void (*teardown)(void);
  unsigned seconds;
} TCase;

typedef struct Suite {
  const char *name;
  TCase *cases[CHECK_MOST];
  int count, failed;
} Suite;
typedef Suite SRunner;

static inline void *check_room(size_t bytes) {
  void *memory = calloc(1, bytes);
  return memory ? memory : (_exit(EXIT_FAILURE), NULL);
}

static inline Suite *suite_create(const char *name) {
  Suite *suite = (Suite *)check_room(sizeof *suite);
  suite->name = name;
  return suite;
}

static inline TCase *tcase_create(const char *name) {
  const char *seconds = getenv("CK_DEFAULT_TIMEOUT");
  TCase *cases = (TCase *)check_room(sizeof *cases);
  (void)name;
  cases->seconds = seconds ? (unsigned)atoi(seconds) : 4;
  return cases;
}

static inline void suite_add_tcase(Suite *suite, TCase *cases) {
  suite->cases[suite->count++] = cases;
}

static inline void tcase_set_tags(TCase *cases, const char *tags) {
  (void)cases;
  (void)tags;
}

static inline void tcase_set_timeout(TCase *cases, double seconds) {
  cases->seconds = (unsigned)seconds;
}

static inline void tcase_add_checked_fixture(TCase *cases, void (*setup)(void), void (*teardown)(void)) {
  cases->setup = setup;
  cases->teardown = teardown;
}

static inline void check_add(TCase *cases, check_test test) {
  cases->test[cases->count++] = test;
}
#define tcase_add_loop_test(cases, name, first, end) check_add(cases, (check_test){#name, name, first, end})
#define tcase_add_test(cases, name) tcase_add_loop_test(cases, name, 0, 1)

/* ---- running ----------------------------------------------------------------------------------------------------- */

static inline void check_run_here(const TCase *cases, const check_test *test, int i) {
  alarm(cases->seconds);
  if (cases->setup)
    cases->setup();
  test->run(i);
  if (cases->teardown)
    cases->teardown();
  exit(EXIT_SUCCESS);
}

static inline void check_run(Suite *suite, const TCase *cases, const check_test *test, int i) {
  int told = -1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0)
    check_run_here(cases, test, i);
  if (child > 0 && waitpid(child, &told, 0) == child && told == 0)
    return;
  suite->failed++;
  printf("%s:%s:%d: FAILED: %s %d\n", suite->name, test->name, i, WIFSIGNALED(told) ? "signal" : "exit status",
         WIFSIGNALED(told) ? WTERMSIG(told) : WEXITSTATUS(told));
}

static inline SRunner *srunner_create(Suite *suite) {
  return suite;
}

static inline void srunner_run_all(SRunner *suite, int how) {
  int count = 0;
  (void)how;
  for (int c = 0; c < suite->count; c++)
    for (int t = 0; t < suite->cases[c]->count; t++)
      for (int i = suite->cases[c]->test[t].first; i < suite->cases[c]->test[t].end; i++, count++)
        check_run(suite, suite->cases[c], &suite->cases[c]->test[t], i);
  printf("%s: %d tests, %d failed\n", suite->name, count, suite->failed);
}

static inline int srunner_ntests_failed(const SRunner *suite) {
  return suite->failed;
}

static inline void srunner_free(SRunner *suite) {
  for (int c = 0; c < suite->count; c++)
    free(suite->cases[c]);
  free(suite);
}

#endif
