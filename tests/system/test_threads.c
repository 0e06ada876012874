/*
 * test_threads.c - what the library asks of an application's threads, and what it does for them
 * SPDX-License-Identifier: MIT
 *
 * Threads with the smallest stack that there is, threads that are cancelled in the middle of a call, threads that call
 * all at once; and how many threads of its own the library starts, and when.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "base/processors.h"
#include "base/status.h"
#include "host/host.h"
#include "rowscan.h"

enum { N = 1 << 20 };

static float in[N];

static rowscan_context *open_host(int threads) {
  rowscan_context *context;
  ck_assert(
      !rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .cache_off = 1, .threads = threads)));
  return context;
}

static rowscan_status scan_by(bool staged, rowscan_context *context, float *out, int64_t n) {
  const rowscan_problem *problem =
      ROWSCAN_PROBLEM(.rank = 1, .dim = 0, .shape = &n, .input = {.data = in, .type = ROWSCAN_F32},
                      .output = {.data = out, .type = ROWSCAN_F32});
  return staged ? rowscan_scan_host(context, problem) : rowscan_scan(context, problem, NULL);
}

static rowscan_status scan(rowscan_context *context, float *out, int64_t n) {
  return scan_by(true, context, out, n);
}

static void pause_us(long us) {
  nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Sanitizers have stacks and threads of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STACKS_AND_THREADS
static void *nothing(void *argument) {
  return argument;
}

/* What the library has of thread-local memory is taken from every stack. */
START_TEST(the_smallest_stack_does) {
  pthread_attr_t attributes;
  pthread_t thread;
  void *result;
  ck_assert(!pthread_attr_init(&attributes));
  ck_assert(!pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN));
  int error = pthread_create(&thread, &attributes, nothing, in);
  ck_assert_msg(error == 0, "pthread_create: %s", strerror(error));
  ck_assert(!pthread_join(thread, &result));
  ck_assert_ptr_eq(result, in);
  pthread_attr_destroy(&attributes);
}
END_TEST
#endif

static void *fail_with_a_number(void *argument) {
  const int *number = argument;
  char should[32];
  snprintf(should, sizeof should, "number %d", *number);
  ck_assert_str_eq(rowscan_last_error(), "");
  for (int i = 0; i < 100; i++) {
    rs_fail(ROWSCAN_BAD_ARGUMENT, "number %d", *number);
    pause_us(10);
    ck_assert_str_eq(rowscan_last_error(), should);
  }
  return NULL;
}

START_TEST(each_thread_has_its_story) {
  enum { THREADS = 20 };
  pthread_t threads[THREADS];
  int numbers[THREADS];
  rs_fail(ROWSCAN_BAD_ARGUMENT, "of the first");
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    ck_assert(!pthread_create(&threads[i], NULL, fail_with_a_number, &numbers[i]));
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  ck_assert_str_eq(rowscan_last_error(), "of the first");
  rs_fail_more(ROWSCAN_BAD_ARGUMENT, " and %s", "more");
  ck_assert_str_eq(rowscan_last_error(), "of the first and more");
}
END_TEST

/* ---- cancelled threads ------------------------------------------------------------------------------------------- */

typedef struct victim {
  rowscan_context *context;
  float *out;
  bool staged;
  atomic_int begun, done, failed;
} victim;

static void *scan_for_ever(void *argument) {
  victim *v = argument;
  while (!v->failed) {
    v->begun++;
    v->failed +=
        scan_by(v->staged, v->context, v->out, N) != ROWSCAN_OK; /* Check's own calls are cancellation points */
    v->done++;
    pthread_testcancel();
  }
  return NULL;
}

/* Whenever the request comes, the call that is under way ends first, and the context serves others. */
START_TEST(a_cancelled_thread_leaves_nothing_held) {
  victim v = {.context = open_host(3), .out = malloc(sizeof in)};
  ck_assert_ptr_nonnull(v.out);
  for (int i = 0; i < (is_quick() ? 40 : 200); i++) {
    pthread_t thread;
    void *result;
    v.begun = v.done = v.failed = 0;
    v.staged = i % 2;
    ck_assert(!pthread_create(&thread, NULL, scan_for_ever, &v));
    while (!v.begun)
      pause_us(10);
    pause_us(i * 7 % 400);
    ck_assert(!pthread_cancel(thread));
    ck_assert(!pthread_join(thread, &result));
    ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    ck_assert_int_eq(v.done, v.begun);
    ck_assert_int_eq(v.failed, 0);
    ck_assert(!scan(v.context, v.out, N));
  }
  rowscan_close(v.context);
  free(v.out);
}
END_TEST

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

#ifdef STACKS_AND_THREADS
static int threads_of_process(void) {
  int count = 0;
  DIR *list = opendir("/proc/self/task");
  ck_assert_ptr_nonnull(list);
  for (const struct dirent *at; (at = readdir(list)) != NULL;)
    count += *at->d_name != '.';
  closedir(list);
  return count;
}

START_TEST(helpers_start_when_there_is_work) {
  float *out = malloc(sizeof in);
  ck_assert_ptr_nonnull(out);
  int before = threads_of_process(); /* an emulator may have some */
  rowscan_context *context = open_host(4);
  ck_assert_int_eq(threads_of_process(), before);
  ck_assert(!scan(context, out, 16));
  ck_assert_int_eq(threads_of_process(), before);
  for (int i = 0; i < 5; i++) {
    ck_assert(!scan(context, out, N));
    ck_assert_int_eq(threads_of_process(), before + 3);
  }
  rowscan_close(context);
  for (int i = 0; i < 1000 && threads_of_process() > before; i++)
    pause_us(1000); /* a thread that was joined may be listed for a while */
  ck_assert_int_eq(threads_of_process(), before);
  free(out);
}
END_TEST
#endif

/* Where one waits for the other, both are in their seats at the same time. */
static atomic_int met;

static void meet(void *what, int64_t chunk, void *seat) {
  (void)what;
  (void)chunk;
  *(char *)seat = 1;
  met++;
  while (met < 20)
    pause_us(100);
}

static void *work_in_pool(void *argument) {
  rs_pool *pool = argument;
  void *seat = rs_pool_enter(pool);
  rs_pool_run(pool, seat, 1, meet, NULL);
  rs_pool_leave(pool, seat);
  return NULL;
}

/* A pool of one thread is as good for twenty callers at a time: none waits for another. */
START_TEST(callers_do_not_wait_for_one_another) {
  enum { CALLERS = 20 };
  pthread_t threads[CALLERS];
  rs_pool *pool = rs_pool_open(1, 10000);
  for (int round = 0; round < 3; round++) {
    met = 0;
    for (int i = 0; i < CALLERS; i++)
      ck_assert(!pthread_create(&threads[i], NULL, work_in_pool, pool));
    for (int i = 0; i < CALLERS; i++)
      pthread_join(threads[i], NULL);
  }
  rs_pool_close(pool);
}
END_TEST

static void wait_for_two(void *what, int64_t chunk, void *seat) {
  atomic_int *workers = what;
  (void)chunk;
  (void)seat;
  ++*workers;
  while (*workers < 2)
    pause_us(100);
}

typedef struct long_run {
  rs_pool *pool;
  atomic_int chunks;
  atomic_bool stop;
} long_run;

static void until_stopped(void *what, int64_t chunk, void *seat) {
  long_run *run = what;
  (void)chunk;
  (void)seat;
  run->chunks++;
  while (!run->stop)
    pause_us(100);
}

static void *run_long(void *argument) {
  long_run *run = argument;
  rs_pool_run_in(run->pool, 2, 100, until_stopped, run);
  return NULL;
}

/* A run in two threads of three leaves the third to others; who asks for at most so many gets no more. */
START_TEST(a_run_takes_no_more_helpers_than_it_may) {
  long_run run = {.pool = rs_pool_open(3, 0)};
  pthread_t thread;
  atomic_int workers = 0;
  ck_assert(!pthread_create(&thread, NULL, run_long, &run));
  while (run.chunks < 2)
    pause_us(100);
  rs_pool_run(run.pool, NULL, 2, wait_for_two, &workers);
  ck_assert_int_eq(workers, 2);
  ck_assert_int_eq(run.chunks, 2);
  run.stop = true;
  pthread_join(thread, NULL);
  ck_assert_int_eq(run.chunks, 100);
  rs_pool_close(run.pool);
}
END_TEST

typedef struct caller {
  rowscan_context *context;
  const float *should;
  uint64_t random;
} caller;

static void *scan_many(void *argument) {
  caller *c = argument;
  float *out = malloc(sizeof in);
  ck_assert_ptr_nonnull(out);
  for (int i = 0; i < (is_quick() ? 16 : 300); i++) {
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    int64_t n = (int64_t)(c->random >> 33) % (i % 4 ? 3000 : N) + 1;
    ck_assert(!scan(c->context, out, n));
    ck_assert(!memcmp(out, c->should, (size_t)n * sizeof *out));
  }
  free(out);
  return NULL;
}

START_TEST(many_callers_of_one_context) {
  enum { CALLERS = 24 };
  pthread_t threads[CALLERS];
  caller callers[CALLERS];
  float *should = malloc(sizeof in);
  rowscan_context *context = open_host(_i);
  ck_assert_ptr_nonnull(should);
  ck_assert(!scan(context, should, N));
  for (int i = 0; i < CALLERS; i++) {
    callers[i] = (caller){context, should, (uint64_t)i};
    ck_assert(!pthread_create(&threads[i], NULL, scan_many, &callers[i]));
  }
  for (int i = 0; i < CALLERS; i++)
    pthread_join(threads[i], NULL);
  rowscan_close(context);
  free(should);
}
END_TEST

/* ---- processors -------------------------------------------------------------------------------------------------- */

static char root[] = "/tmp/rowscan_root_XXXXXX";

static void make_root(void) {
  strcpy(root + strlen(root) - 6, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  ck_assert_int_eq(system(command), 0);
}

/* A file below the root, with the directories above it. */
static void put(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
    *at = 0;
    ck_assert(mkdir(path, 0777) == 0 || errno == EEXIST);
    *at = '/';
  }
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  fclose(file);
}

START_TEST(without_control_groups_there_is_no_quota) {
  ck_assert_int_eq(rs_processors_quota(root), INT_MAX);
  put("/proc/self/cgroup", "0::/a/b\n");
  ck_assert_int_eq(rs_processors_quota(root), INT_MAX);
  put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), INT_MAX);
}
END_TEST

/* The group's own, and those of all above it. */
START_TEST(the_least_quota_counts) {
  put("/proc/self/cgroup", "0::/a/b/c\n");
  put("/sys/fs/cgroup/a/b/c/cpu.max", "700000 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), 7);
  put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), 3);
  put("/sys/fs/cgroup/cpu.max", "10000 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), 1);
  put("/sys/fs/cgroup/other/cpu.max", "1 100000\n");
  put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), 2);
}
END_TEST

/* A container sees its own group as the root, under another name. */
START_TEST(a_group_that_can_not_be_seen) {
  put("/proc/self/cgroup", "0::/../../elsewhere\n");
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  put("/elsewhere/cpu.max", "100000 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), 4);
  put("/proc/self/cgroup", "0::/docker/0123456789\n");
  ck_assert_int_eq(rs_processors_quota(root), 4);
}
END_TEST

START_TEST(version_1) {
  put("/proc/self/cgroup", "12:cpuset:/x\n5:cpuacct,cpu:/docker/1\n1:name=systemd:/y\n0::/z\n");
  put("/sys/fs/cgroup/cpuacct,cpu/docker/1/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpuacct,cpu/docker/1/cpu.cfs_period_us", "100000\n");
  ck_assert_int_eq(rs_processors_quota(root), INT_MAX);
  put("/sys/fs/cgroup/cpuacct,cpu/docker/1/cpu.cfs_quota_us", "150000\n");
  ck_assert_int_eq(rs_processors_quota(root), 2);
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000\n"); /* where each container sees its own */
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  ck_assert_int_eq(rs_processors_quota(root), 7);
  put("/sys/fs/cgroup/unified/z/cpu.max", "100000 100000\n");
  ck_assert_int_eq(rs_processors_quota(root), 1);
}
END_TEST

START_TEST(nonsense_is_no_quota) {
  static const char *const nonsense[] = {
      "", "\n", "max", "x 100000", "0 100000", "-5 100000", "100000", "100000 0", "99999999999999999999 x"};
  put("/proc/self/cgroup", "\n:\n::\n0\n0:\nx:cpu\n0::/a\n3:cpu:\n4:cpux,xcpu:/a\n5:cpu:/a");
  for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
    put("/sys/fs/cgroup/a/cpu.max", nonsense[i]);
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", nonsense[i]);
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", i % 2 ? "0" : "");
    ck_assert_int_eq(rs_processors_quota(root), INT_MAX);
  }
  ck_assert_int_ge(rs_processors(), 1);
}
END_TEST

START_TEST(the_last_cache_is_the_largest) {
  ck_assert_int_eq(rs_last_cache_told(root), 0);
  put("/sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n");
  put("/sys/devices/system/cpu/cpu0/cache/index2/size", "1M\n");
  put("/sys/devices/system/cpu/cpu0/cache/index3/size", "36608K\n");
  ck_assert_int_eq(rs_last_cache_told(root), 36608 << 10);
  put("/sys/devices/system/cpu/cpu0/cache/index3/size", "-36608K\n");
  ck_assert_int_eq(rs_last_cache_told(root), 1 << 20);
}
END_TEST

int main(void) {
  lot_tell();
  for (int i = 0; i < N; i++)
    in[i] = (float)(i % 1000) / 7;
  Suite *suite = suite_create("threads");
  TCase *cases = tcase_create("threads");
#ifdef STACKS_AND_THREADS
  lot_add_test(cases, the_smallest_stack_does);
  lot_add_test(cases, helpers_start_when_there_is_work);
#endif
  lot_add_test(cases, each_thread_has_its_story);
  lot_add_test(cases, a_cancelled_thread_leaves_nothing_held);
  lot_add_test(cases, callers_do_not_wait_for_one_another);
  lot_add_test(cases, a_run_takes_no_more_helpers_than_it_may);
  tcase_add_loop_test(cases, many_callers_of_one_context, 1, 4);
  suite_add_tcase(suite, cases);
  TCase *machine = tcase_create("machine");
  tcase_set_tags(machine, "alone");
  tcase_add_checked_fixture(machine, make_root, remove_root);
  lot_add_test(machine, without_control_groups_there_is_no_quota);
  lot_add_test(machine, the_least_quota_counts);
  lot_add_test(machine, a_group_that_can_not_be_seen);
  lot_add_test(machine, version_1);
  lot_add_test(machine, nonsense_is_no_quota);
  lot_add_test(machine, the_last_cache_is_the_largest);
  suite_add_tcase(suite, machine);
  return run_tests(suite);
}
