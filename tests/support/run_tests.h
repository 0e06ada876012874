/*
 * run_tests.h - how a suite of Check ends
 * SPDX-License-Identifier: MIT
 */
#ifndef RUN_TESTS_H
#define RUN_TESTS_H

#include <check.h>
#include <stdlib.h>

/* Runs the tests, and says how main is to end. */
static inline int run_tests(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
