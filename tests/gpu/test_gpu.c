/*
 * test_gpu.c - the GPU against the host engine, bit for bit
 * SPDX-License-Identifier: MIT
 *
 * Every regime, operator, type and flag, on random shapes, strides and alignments; the same rows in other batches and
 * in other GPUs' geometries, again and again, with next to no GPU to run on, in captured graphs and from many threads
 * at once. A program of its own, which needs the library and libc only, so that it can be carried to a machine that has
 * nothing but a GPU.
 *
 * usage: test_gpu [group ...]
 * environment: RS_GPU_SEED (1), RS_GPU_CASES (specs of the group random), RS_QUICK=1 (a sample of everything, small),
 * RS_LOT=n with RS_SEED (one spec in n, and of the groups that have few one in n; see tests/support/lot.h), RS_TOUCHED
 * (one in n/4 of the specs whose kernels include these templates, row_ring.cuh ...).
 * Exit status: 0, 1 if anything failed, 77 where there is no GPU.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/lot.h"
#include "device.h"
#include "suite.h"
#include "universal.h"

enum { TOLD = 10 }; /* failures of a group that are told in full */

suite_state suite;

static const struct {
  const char *name;
  void (*run)(void);
  bool asked_only;   /* takes long: runs only if it is named */
  const char *whole; /* of few specs: the lot falls on the group, or a change on the file that has it */
} groups[] = {
    {"types", group_types, false, NULL},
    {"regimes", group_regimes, false, NULL},
    {"created", group_created, false, NULL},
    {"geometries", group_geometries, false, NULL},
    {"further", group_further, false, NULL},
    {"lengths", group_lengths, false, NULL},
    {"widths", group_widths, false, NULL},
    {"views", group_views, false, NULL},
    {"ends", group_ends, false, NULL},
    {"few", group_few, false, NULL},
    {"offsets", group_offsets, false, NULL},
    {"random", group_random, false, NULL},
    {"batch", group_batch, false, "group_same"},
    {"repeat", group_repeat, false, "group_same"},
    {"delays", group_delays, false, "group_wait"},
    {"held", group_held, false, "group_wait"},
    {"chain", group_chain, false, "group_chain"},
    {"capture", group_capture, false, "group_streams"},
    {"stay", group_stay, false, "group_streams"},
    {"outlive", group_outlive, false, "group_streams"},
    {"threads", group_threads, false, "group_streams"},
    {"host", group_host, false, "group_host"},
    {"parts", group_parts, false, NULL},
    {"issue", group_issue, false, "group_issue"},
    {"contest", group_contest, false, "group_issue"},
    {"tuned", group_tuned, false, "group_tuned"},
    {"pieces", group_pieces, false, "group_pieces"},
    {"once", group_once, false, "group_once"},
    {"big", group_big, false, "group_big"},
    {"issue-full", group_issue_full, true, "group_issue"},
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static int failed_before; /* the group */

void suite_pass(void) {
  suite.passed++;
}

void suite_skip(const char *why) {
  suite.skipped++;
  printf("SKIP %s: %s\n", suite.group, why);
  fflush(stdout);
}

void suite_fail(const char *format, ...) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int nth = ++suite.failed - failed_before;
  if (nth > TOLD)
    return;
  va_list list;
  va_start(list, format);
  pthread_mutex_lock(&lock);
  printf("FAIL %s: ", suite.group);
  vprintf(format, list);
  printf(nth == TOLD ? "\n  and no more is told of this group\n" : "\n");
  fflush(stdout);
  pthread_mutex_unlock(&lock);
  va_end(list);
}

bool suite_ok(rowscan_status status, const char *what) {
  if (status)
    suite_fail("%s: %s: %s", what, rowscan_status_name(status), rowscan_last_error());
  return status == ROWSCAN_OK;
}

bool suite_plan(suite_plans *plans, const rowscan_spec *spec) {
  *plans = (suite_plans){.spec = *spec};
  return suite_ok(rowscan_spec_complete(&plans->spec), "rowscan_spec_complete") &&
         suite_ok(rowscan_plan_create(&plans->host, suite.host, &plans->spec), "rowscan_plan_create on the host") &&
         suite_ok(rowscan_plan_create(&plans->gpu, suite.gpu, &plans->spec), "rowscan_plan_create on the GPU");
}

/* Of a forced regime that has few elements a row, only while it takes them. */
bool suite_plan_any(suite_plans *plans) {
  enum { MOST_FORCED = 32640 };
  rowscan_spec spec = plans->spec;
  bool few = spec.regime == ROWSCAN_REGIME_ROW || spec.regime == ROWSCAN_REGIME_SHORT;
  if (few && spec.length > MOST_FORCED)
    spec.regime = ROWSCAN_REGIME_AUTO;
  spec.length = ROWSCAN_ANY_LENGTH;
  return plans->any || suite_ok(rowscan_plan_create(&plans->any, suite.gpu, &spec), "rowscan_plan_create, any length");
}

/* Whether a kernel of the spec is of a template that a change touches: what its source includes. */
static bool touches(const rowscan_spec *spec) {
  static const char include[] = "\n#include \"";
  bool touched = false;
  char *source;
  for (int i = 0; getenv("RS_TOUCHED") && !touched && !rowscan_source(spec, "sm_90", i, &source); i++) {
    for (const char *at = source; !touched && (at = strstr(at, include)); at++)
      touched = lot_touches(at + sizeof include - 1, strcspn(at + sizeof include - 1, "\""));
    rowscan_free(source);
  }
  return touched;
}

bool suite_draws(const rowscan_spec *spec) {
  uint64_t part = (uint64_t)spec->length << 16 ^ (uint64_t)spec->in_type << 12 ^ (uint64_t)spec->out_type << 8;
  random_source random = random_for(0, part, spec->flags << 4 ^ (unsigned)spec->mask_mode << 2 ^ spec->op);
  uint64_t bits = random_bits(&random);
  return lot_takes(suite.group, bits) || (lot_takes_touched(suite.group, bits) && touches(spec));
}

void suite_plan_free(suite_plans *plans) {
  rowscan_plan_destroy(plans->any);
  rowscan_plan_destroy(plans->gpu);
  rowscan_plan_destroy(plans->host);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int64_t number(const char *variable, int64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static void read_environment(void) {
  suite.quick = number("RS_QUICK", 0) != 0;
  suite.seed = (uint64_t)number("RS_GPU_SEED", 1);
  suite.cases = number("RS_GPU_CASES", suite.quick ? 8 : 300);
  suite.longest = suite.quick ? 2500 : 1000003;
  suite.elements = suite.quick ? 1 << 12 : 1 << 18;
}

static bool known(const char *name) {
  for (int g = 0; g < GROUPS; g++)
    if (!strcmp(groups[g].name, name))
      return true;
  return false;
}

static int usage(void) {
  printf("usage: test_gpu [group ...]\ngroups:");
  for (int g = 0; g < GROUPS; g++)
    printf(" %s%s", groups[g].name, groups[g].asked_only ? " (only if it is named)" : "");
  printf("\n");
  return 2;
}

static bool named(int group, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (!strcmp(names[i], groups[group].name))
      return true;
  return count == 0 && !groups[group].asked_only;
}

static bool wanted(int group, int count, char **names) {
  const char *file = groups[group].whole;
  return named(group, count, names) &&
         (!file || lot_takes("groups", (uint64_t)group) || lot_touches(file, strlen(file)));
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_group(int group) {
  int passed_before = suite.passed;
  double start = seconds();
  suite.group = groups[group].name;
  failed_before = suite.failed;
  groups[group].run();
  printf("%-10s %6d passed %4d failed %7.1f s\n", suite.group, suite.passed - passed_before,
         suite.failed - failed_before, seconds() - start);
  fflush(stdout);
}

/* Of any length serve too, and so the kernels that are tested might not be those that are meant. */
static bool open_contexts(void) {
  suite.group = "set-up";
  setenv("ROWSCAN_COMPILE", "now", 0);
  return suite_ok(rowscan_open(&suite.host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST)), "rowscan_open") &&
         suite_ok(rowscan_open(&suite.gpu, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_CUDA)), "rowscan_open");
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!known(argv[i]))
      return usage();
  const char *why = device_open();
  if (why) {
    printf("SKIP: %s\n0 passed, 0 failed, 1 skipped\n", why);
    return 77;
  }
  read_environment();
  printf("rowscan %s, %d multiprocessors%s, RS_GPU_SEED=%llu RS_GPU_CASES=%lld%s\n", rowscan_version(),
         device_multiprocessors(), device_simulated() ? " (simulated)" : "", (unsigned long long)suite.seed,
         (long long)suite.cases, suite.quick ? " RS_QUICK=1" : "");
  lot_tell();
  if (open_contexts())
    for (int g = 0; g < GROUPS; g++)
      if (wanted(g, argc - 1, argv + 1))
        run_group(g);
  universal_close();
  rowscan_close(suite.gpu);
  rowscan_close(suite.host);
  device_close();
  printf("%d passed, %d failed, %d skipped\n", suite.passed, suite.failed, suite.skipped);
  return suite.failed ? 1 : 0;
}
