/*
 * test_table.c - the plans of one-call scans: bounded, and none is destroyed before its runs are done
 * SPDX-License-Identifier: MIT
 *
 * A driver of our own making, on which time passes when the test says so: it knows how much of each stream's work is
 * done, and which of it each module has. Streams are destroyed with work left, and new ones get their handles.
 * Unloading a module that has work left, or that a graph has, is a mistake, which is counted.
 */
#include "../support/cache_help.h"

#include <pthread.h>

#include "../support/fake_nvrtc.h"
#include "../support/lot.h"
#include "../support/resident.h"
#include "gpu/table.h"
#include "run/context.h"
#include "run/plan.h"

/* ---- the driver -------------------------------------------------------------------------------------------------- */

enum { STREAMS = 4096, HANDLES = 16, EVENTS = 65536, MODULES = 16384, WAITS = 65536, LAUNCHES = 65536 };

/* Work of a stream, by its number. */
typedef struct moment {
  int stream, number;
} moment;

static struct {
  pthread_mutex_t mutex;
  int streams, issued[STREAMS], done[STREAMS];
  bool captures[HANDLES];
  int modules, alive, most_alive, launches;
  struct {
    int module;
    moment when;
  } launch[LAUNCHES];
  bool captured[MODULES], gone[MODULES];
  moment event[EVENTS];
  int events, events_alive, records, waits;
  struct {
    moment at, until;
  } wait[WAITS]; /* of the first, the second must be done before */
  int mistakes;
  CUresult create, record; /* what is said of the next */
  bool no_ids;
} gpu = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int handles[HANDLES], behind[HANDLES]; /* their addresses are the streams; which has that handle */
static char module_at[MODULES], event_at[EVENTS], some;
static _Thread_local int mode;

static CUstream handle(int number) {
  return (CUstream)(void *)&handles[number];
}

static int handle_of(CUstream stream) {
  return (int)((int *)(void *)stream - handles);
}

static CUresult get_current(CUcontext *context) {
  *context = (CUcontext)(void *)&some;
  return CUDA_SUCCESS;
}

static CUresult release_context(CUdevice device) {
  (void)device;
  return CUDA_SUCCESS;
}

static CUresult exchange_mode(int *with) {
  int before = mode;
  mode = *with;
  *with = before;
  return CUDA_SUCCESS;
}

static CUresult load_data(CUmodule *module, const void *image) {
  (void)image;
  pthread_mutex_lock(&gpu.mutex);
  ck_assert_int_lt(gpu.modules, MODULES);
  *module = (CUmodule)(void *)&module_at[gpu.modules++];
  gpu.alive++;
  gpu.most_alive = gpu.alive > gpu.most_alive ? gpu.alive : gpu.most_alive;
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}

static bool is_done(moment m) {
  return gpu.done[m.stream] >= m.number;
}

static CUresult unload(CUmodule module) {
  pthread_mutex_lock(&gpu.mutex);
  int i = (int)((char *)(void *)module - module_at);
  for (int k = 0; k < gpu.launches; k++)
    gpu.mistakes += gpu.launch[k].module == i && !is_done(gpu.launch[k].when);
  gpu.mistakes += gpu.captured[i] || gpu.gone[i] || mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  gpu.gone[i] = true;
  gpu.alive--;
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name) {
  (void)name;
  *function = (CUfunction)(void *)module;
  return CUDA_SUCCESS;
}

static CUresult set_attribute(CUfunction function, int attribute, int value) {
  (void)function, (void)attribute, (void)value;
  return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,
                       void **extra) {
  (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes;
  (void)parameters, (void)extra;
  pthread_mutex_lock(&gpu.mutex);
  int i = (int)((char *)(void *)function - module_at), h = handle_of(stream), s = behind[h];
  gpu.mistakes += gpu.gone[i];
  if (gpu.captures[h]) {
    gpu.captured[i] = true;
  } else {
    ck_assert_int_lt(gpu.launches, LAUNCHES);
    gpu.launch[gpu.launches].module = i;
    gpu.launch[gpu.launches++].when = (moment){s, ++gpu.issued[s]};
  }
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}

static CUresult capture_info(CUstream stream, int *status, unsigned long long *id) {
  *status = gpu.captures[handle_of(stream)] ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = 1;
  return CUDA_SUCCESS;
}

static CUresult stream_id(CUstream stream, unsigned long long *id) {
  ck_assert(!gpu.captures[handle_of(stream)]);
  *id = (unsigned long long)behind[handle_of(stream)];
  return gpu.no_ids ? 1 : CUDA_SUCCESS;
}

static CUresult create_event(CUevent *event, unsigned flags) {
  ck_assert(flags == CU_EVENT_DISABLE_TIMING && mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  pthread_mutex_lock(&gpu.mutex);
  CUresult result = gpu.create;
  gpu.create = CUDA_SUCCESS;
  ck_assert_int_lt(gpu.events, EVENTS);
  *event = (CUevent)(void *)&event_at[gpu.events];
  gpu.events += !result;
  gpu.events_alive += !result;
  pthread_mutex_unlock(&gpu.mutex);
  return result;
}

static CUresult destroy_event(CUevent event) {
  ck_assert_ptr_nonnull(event);
  pthread_mutex_lock(&gpu.mutex);
  gpu.events_alive--;
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}

static CUresult record_event(CUevent event, CUstream stream) {
  pthread_mutex_lock(&gpu.mutex);
  CUresult result = gpu.record;
  gpu.record = CUDA_SUCCESS;
  int s = behind[handle_of(stream)];
  gpu.mistakes += gpu.captures[handle_of(stream)];
  gpu.event[(char *)(void *)event - event_at] = (moment){s, gpu.issued[s]};
  gpu.records++;
  pthread_mutex_unlock(&gpu.mutex);
  return result;
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags) {
  (void)flags;
  pthread_mutex_lock(&gpu.mutex);
  int s = behind[handle_of(stream)];
  ck_assert_int_lt(gpu.waits, WAITS);
  gpu.wait[gpu.waits].at = (moment){s, ++gpu.issued[s]};
  gpu.wait[gpu.waits++].until = gpu.event[(char *)(void *)event - event_at];
  pthread_mutex_unlock(&gpu.mutex);
  return CUDA_SUCCESS;
}

static CUresult query_event(CUevent event) {
  pthread_mutex_lock(&gpu.mutex);
  bool done = is_done(gpu.event[(char *)(void *)event - event_at]);
  gpu.mistakes += mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  pthread_mutex_unlock(&gpu.mutex);
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult destroy_stream(CUstream stream) {
  (void)stream;
  return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name) {
  (void)error;
  *name = "CUDA_ERROR";
  return CUDA_SUCCESS;
}

static void pass_all(void);

static CUresult synchronize_context(void) {
  pass_all();
  return CUDA_SUCCESS;
}

static const rs_cuda cuda = {.cuCtxGetCurrent = get_current,
                             .cuCtxSynchronize = synchronize_context,
                             .cuDevicePrimaryCtxRelease_v2 = release_context,
                             .cuThreadExchangeStreamCaptureMode = exchange_mode,
                             .cuModuleLoadData = load_data,
                             .cuModuleUnload = unload,
                             .cuModuleGetFunction = get_function,
                             .cuFuncSetAttribute = set_attribute,
                             .cuLaunchKernel = launch,
                             .cuStreamGetCaptureInfo = capture_info,
                             .cuStreamGetId = stream_id,
                             .cuStreamWaitEvent = wait_event,
                             .cuStreamDestroy_v2 = destroy_stream,
                             .cuEventCreate = create_event,
                             .cuEventDestroy_v2 = destroy_event,
                             .cuEventRecord = record_event,
                             .cuEventQuery = query_event,
                             .cuGetErrorName = error_name,
                             .cuGetErrorString = error_name,
                             .version = 13000};

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* Some of a stream's work gets done, and before it what it waits for. */
static void pass_until(moment m) {
  if (is_done(m))
    return;
  for (int i = 0; i < gpu.waits; i++)
    if (gpu.wait[i].at.stream == m.stream && gpu.wait[i].at.number <= m.number && !is_done(gpu.wait[i].at))
      pass_until(gpu.wait[i].until);
  gpu.done[m.stream] = m.number;
}

static void pass_all(void) {
  for (int s = 0; s < gpu.streams; s++)
    gpu.done[s] = gpu.issued[s];
}

/* The stream goes, and another gets its handle. */
static void renew(int h) {
  ck_assert_int_lt(gpu.streams, STREAMS);
  behind[h] = gpu.streams++;
}

/* ---- the context ------------------------------------------------------------------------------------------------- */

static rowscan_context *context;

static void open_gpu(int most, int most_staying) {
  const rowscan_options *options =
      ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1, .cache_packs = "off");
  ck_assert_int_eq(rs_context_open(&context, options, make_compiler(13000)), ROWSCAN_OK);
  context->engine = ROWSCAN_ENGINE_CUDA;
  context->gpu.device =
      (rs_device){.cuda = &cuda, .context = (CUcontext)(void *)&some, .arch = 90, .multiprocessors = 4};
  context->programs.most = most;
  context->programs.most_staying = most_staying;
  for (int h = 0; h < HANDLES; h++)
    renew(h);
}

static void close_gpu(void) {
  memset(gpu.captured, 0, sizeof gpu.captured); /* graphs are destroyed before */
  pass_all();
  rowscan_close(context);
  ck_assert_int_eq(gpu.mistakes, 0);
  ck_assert_int_eq(gpu.alive, 0);
  ck_assert_int_eq(gpu.events_alive, 0);
}

static rowscan_status scan(int64_t length, int h) {
  static _Alignas(16) float in[8];
  rowscan_problem problem = {.size = sizeof problem, .rank = 1, .shape = &length};
  problem.input = (rowscan_input){.data = in, .type = ROWSCAN_F32, .strides = (int64_t[]){0}};
  problem.output = (rowscan_output){.data = (void *)((uintptr_t)1 << 40), .type = ROWSCAN_F32};
  return rowscan_scan(context, &problem, handle(h));
}

static void scans(int64_t length, int h) {
  ck_assert_msg(scan(length, h) == ROWSCAN_OK, "%s", rowscan_last_error());
}

/* Of this thread alone: machines are shared. */
static double cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

START_TEST(thousands_of_lengths) {
  enum { FIRST = 600, LENGTHS = 4000, LAG = 5 };
  open_gpu(RS_TABLE_PLANS, RS_TABLE_STAYING);
  int64_t before = 0;
  double start = 0, slow = 0, last = 0;
  for (int length = 1; length <= LENGTHS; length++) {
    if (length == FIRST)
      before = resident_bytes(), start = cpu_ms();
    scans(length, 0);
    pass_until((moment){0, gpu.issued[0] - LAG});
    if (length == 2 * FIRST)
      slow = cpu_ms() - start, start = cpu_ms();
    if (length == LENGTHS - FIRST)
      start = cpu_ms();
  }
  last = cpu_ms() - start;
  int64_t grown = resident_bytes() - before;
  printf("%d lengths: %d plans at most, %d modules loaded; %lld KB more after the first %d\n", LENGTHS, gpu.most_alive,
         gpu.modules, (long long)grown >> 10, FIRST);
  ck_assert_int_ge(gpu.most_alive, RS_TABLE_PLANS);
  ck_assert_int_le(gpu.most_alive, RS_TABLE_PLANS + LAG + 1);
  ck_assert_int_le(gpu.alive, RS_TABLE_PLANS + LAG);
  ck_assert(WATCHED || grown < 8 << 20); /* 3400 plans are 77 MB */
  ck_assert(WATCHED || last < 5 * slow + 1000);
  close_gpu();
}
END_TEST

/* What is run often stays, whatever comes, and its runs record nothing. */
START_TEST(what_runs_often_stays) {
  open_gpu(20, 5);
  for (int i = 0; i < RS_TABLE_SETTLED_RUNS; i++)
    for (int length = 1; length <= 7; length++)
      scans(length, length % 3);
  pass_all();
  int records = gpu.records, loads = gpu.modules;
  for (int i = 0; i < 100; i++)
    scans(1 + i % 5, i % 3);
  ck_assert_int_eq(gpu.records, records); /* five */
  scans(6, 0);
  scans(7, 0);
  ck_assert_int_eq(gpu.records, records + 2); /* for there is room for no more */
  ck_assert_int_eq(gpu.modules, loads);
  pass_all();
  for (int length = 100; length < 200; length++) {
    scans(length, 0);
    pass_all();
  }
  ck_assert_int_eq(gpu.alive, 20);
  loads = gpu.modules;
  for (int length = 1; length <= 5; length++)
    scans(length, 0);
  ck_assert_int_eq(gpu.modules, loads);
  scans(6, 0);
  ck_assert_int_eq(gpu.modules, loads + 1);
  close_gpu();
}
END_TEST

START_TEST(the_least_recently_used_goes) {
  open_gpu(8, 2);
  for (int length = 1; length <= 8; length++)
    scans(length, 0);
  scans(1, 0);
  pass_all();
  scans(9, 0); /* in place of 2 */
  int loads = gpu.modules;
  scans(1, 0);
  for (int length = 3; length <= 9; length++)
    scans(length, 0);
  ck_assert_int_eq(gpu.modules, loads);
  scans(2, 0);
  ck_assert_int_eq(gpu.modules, loads + 1);
  close_gpu();
}
END_TEST

/* Until then the bound is passed; nobody waits. */
START_TEST(nothing_goes_before_its_runs_are_done) {
  open_gpu(8, 2);
  for (int length = 1; length <= 50; length++)
    scans(length, length % HANDLES);
  ck_assert_int_eq(gpu.alive, 50);
  for (int h = 0; h < HANDLES; h++)
    renew(h); /* and what the streams had left is still not done */
  scans(51, 0);
  ck_assert_int_eq(gpu.alive, 51);
  pass_all();
  scans(52, 0);
  ck_assert_int_eq(gpu.alive, 8);
  close_gpu();
}
END_TEST

START_TEST(what_was_captured_stays) {
  open_gpu(8, 2);
  gpu.captures[1] = true;
  for (int length = 1; length <= 30; length++)
    scans(length, 1);
  gpu.captures[1] = false;
  int loads = gpu.modules, records = gpu.records;
  ck_assert_int_eq(records, 0);
  for (int length = 31; length <= 60; length++) {
    scans(length, 0);
    pass_all();
  }
  ck_assert_int_eq(gpu.alive, 30 + 6);
  loads = gpu.modules;
  for (int length = 1; length <= 30; length++)
    scans(length, 0);
  ck_assert_int_eq(gpu.modules, loads);
  close_gpu();
}
END_TEST

/* As the jobs of rowscan_scan_host have it. */
START_TEST(what_is_taken_stays_until_given_back) {
  open_gpu(4, 1);
  rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F32, .length = 1000};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_rows rows = {.array[RS_IN].data = &some,
                  .array[RS_OUT].data = &some,
                  .array[RS_IN].step = 1,
                  .array[RS_OUT].step = 1,
                  .rank = 1,
                  .shape = {1},
                  .count = 1};
  rs_table_node *taken;
  ck_assert_int_eq(rs_table_take(&context->programs, &context->gpu, &spec, &rows, &taken), ROWSCAN_OK);
  int first = gpu.modules - 1;
  for (int length = 1; length <= 20; length++) {
    scans(length, 0);
    pass_all();
  }
  ck_assert(!gpu.gone[first]);
  ck_assert_int_eq(gpu.alive, 4);
  rs_table_give(&context->programs, taken);
  scans(21, 0);
  ck_assert(gpu.gone[first]);
  close_gpu();
}
END_TEST

/* What the driver can't tell the end of is kept; the failure is told. */
START_TEST(events_that_fail) {
  open_gpu(4, 1);
  gpu.create = 999;
  ck_assert_int_eq(scan(1, 0), ROWSCAN_CUDA_FAILED);
  gpu.record = 999;
  ck_assert_int_eq(scan(2, 0), ROWSCAN_CUDA_FAILED);
  for (int length = 3; length <= 20; length++) {
    scans(length, 0);
    pass_until((moment){0, gpu.issued[0]});
  }
  int loads = gpu.modules;
  scans(1, 0);
  scans(2, 0);
  ck_assert_int_eq(gpu.modules, loads);
  close_gpu();
}
END_TEST

/* Any order of runs, streams that go, captures, and time. _i: 1: a driver that tells streams apart by handle alone. */
START_TEST(anything_at_random) {
  srand(1);
  open_gpu(12, 4);
  gpu.no_ids = _i;
  for (int i = 0; i < 5000; i++) {
    int h = rand() % HANDLES;
    switch (rand() % 12) {
    case 0:
      if (!gpu.captures[h] && gpu.streams < STREAMS)
        renew(h);
      break;
    case 1:
      pass_until((moment){behind[h], gpu.issued[behind[h]] - rand() % 3});
      break;
    case 2:
      if (rand() % 50 == 0)
        pass_all();
      break;
    case 3:
      gpu.captures[h] = rand() % 400 == 0;
      break;
    default:
      scans(1 + rand() % 40 * (rand() % 3), h);
      break;
    }
  }
  for (int h = 0; h < HANDLES; h++)
    gpu.captures[h] = false;
  pass_all();
  scans(1000, 0);
  int captured = 0;
  for (int i = 0; i < gpu.modules; i++)
    captured += gpu.captured[i];
  printf("%d loads, %d alive, %d of them captured, %d records, %d waits\n", gpu.modules, gpu.alive, captured,
         gpu.records, gpu.waits);
  ck_assert_int_le(gpu.alive, 12 + captured);
  ck_assert_int_gt(gpu.modules, 100);
  close_gpu();
}
END_TEST

static void *scan_many(void *argument) {
  unsigned random = *(const unsigned *)argument, bad = 0;
  int own = (int)random;
  for (int i = 0; i < 3000; i++) {
    bad += scan(1 + rand_r(&random) % 60, own) != ROWSCAN_OK;
    pthread_mutex_lock(&gpu.mutex);
    pass_until((moment){behind[own], gpu.issued[behind[own]] - 2});
    pthread_mutex_unlock(&gpu.mutex);
  }
  return bad ? argument : NULL;
}

START_TEST(many_threads) {
  enum { THREADS = 6 };
  pthread_t threads[THREADS];
  static unsigned numbers[THREADS];
  open_gpu(20, 8);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = (unsigned)i;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, scan_many, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *bad;
    pthread_join(threads[i], &bad);
    ck_assert_ptr_null(bad);
  }
  printf("%d loads, at most %d at a time\n", gpu.modules, gpu.most_alive);
  ck_assert_int_gt(gpu.modules, 100);
  ck_assert_int_le(gpu.most_alive, 20 + THREADS * 5);
  close_gpu();
}
END_TEST

/* The host engine has no plans: memory and time do not grow with the lengths. */
static void scan_on_host(int64_t length) {
  static float in[20000], out[20000];
  if (rowscan_scan(context,
                   ROWSCAN_PROBLEM(.rank = 1, .shape = &length, .input = {in, ROWSCAN_F32, NULL},
                                   .output = {out, ROWSCAN_F32, NULL}),
                   NULL))
    ck_abort_msg("%s", rowscan_last_error());
}

static double time_short(void) {
  double best = 1e9;
  for (int round = 0; round < 10; round++) {
    double start = cpu_ms();
    for (int i = 0; i < 2000; i++)
      scan_on_host(16);
    double time = cpu_ms() - start;
    best = time < best ? time : best;
  }
  return best;
}

START_TEST(the_host_has_none) {
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1, .cache_off = 1)));
  scan_on_host(20000);
  double before = time_short();
  int64_t grown = -resident_bytes();
  for (int64_t length = 1; length <= 20000; length++)
    scan_on_host(length);
  grown += resident_bytes();
  double after = time_short();
  printf("20000 lengths: %lld KB; a call of 16 elements takes %.2f times as long after as before\n",
         (long long)grown >> 10, after / before);
  ck_assert(WATCHED || grown < 2 << 20);
  ck_assert(WATCHED || after < 3 * before);
  rowscan_close(context);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("table");
  TCase *cases = add_case(suite, "table");
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  lot_add_loop_test(cases, thousands_of_lengths, 0, 1);
  tcase_add_test(cases, what_runs_often_stays);
  tcase_add_test(cases, the_least_recently_used_goes);
  tcase_add_test(cases, nothing_goes_before_its_runs_are_done);
  tcase_add_test(cases, what_was_captured_stays);
  tcase_add_test(cases, what_is_taken_stays_until_given_back);
  tcase_add_test(cases, events_that_fail);
  tcase_add_loop_test(cases, anything_at_random, 0, 2);
  lot_add_loop_test(cases, many_threads, 0, 1);
  lot_add_loop_test(cases, the_host_has_none, 0, 1);
  return run_suite(suite);
}
