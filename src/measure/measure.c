/*
 * measure.c - times a spec against copies of the same bytes, and checks what it times
 * SPDX-License-Identifier: MIT
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/status.h"
#include "copier.h"
#include "family/tune.h"
#include "meter.h"
#include "run/plan.h"
#include "sets.h"
#include "verify.h"

enum {
  BATCH_US = 200,         /* between two readings of the clock at least: far more than it resolves */
  MOST_BATCH = 1000,      /* runs */
  REPLAY_US = 50,         /* what takes less is replayed from a graph: else the host's launches would be timed */
  REPLAY_BATCH_US = 1000, /* of a graph: its own start takes a few */
  MOST_REPLAYED = 200,    /* runs of a graph, unless there are more sets */
  LEAD_US = 2000,         /* batches that are shorter are led in, see lead_in() */
  BUDGET_MS = 500,        /* for all repetitions, if the caller leaves their number to us */
  LEAST_REPEAT = 7,
  MOST_REPEAT = 51
};

/* Things that are timed, in turn. */
enum { SCAN, COPY, KERNEL, TASKS };

typedef struct measuring measuring;

typedef struct task {
  measuring *job;
  rowscan_status (*queue)(void *task, int64_t number); /* one run, on the set with that number, going round */
  int64_t turn;                                        /* runs so far */
  int64_t batch;                                       /* runs for one reading of the clock */
  double batch_ms;                                     /* about */
  rs_replay replay;
  double *times; /* milliseconds of one run */
} task;

struct measuring {
  rowscan_context *context;
  rs_meter meter;
  rs_sets sets;
  rowscan_plan *plan;
  bool alone;  /* copies are not timed */
  bool kernel; /* there is a copy kernel */
  rs_copier copier;
  rs_rows rows; /* of the set in turn */
  task task[TASKS];
  double best_ms; /* of a scan by the best of several plans so far; 0: there is one plan */
};

/* ---- what is timed ----------------------------------------------------------------------------------------------- */

static rowscan_status queue_scan(void *user, int64_t number) {
  measuring *job = ((task *)user)->job;
  rs_sets_rows(&job->sets, number % job->sets.count, &job->rows);
  return rs_plan_run(job->plan, job->sets.spec, &job->rows, NULL, 0, job->meter.stream);
}

static rowscan_status queue_copy(void *user, int64_t number) {
  measuring *job = ((task *)user)->job;
  int64_t set = number % job->sets.count;
  return rs_meter_copy(&job->meter, rs_sets_target(&job->sets, set), rs_sets_source(&job->sets, set), job->sets.half);
}

static rowscan_status queue_kernel(void *user, int64_t number) {
  measuring *job = ((task *)user)->job;
  rs_copy_sides sides = rs_sets_sides(&job->sets, number % job->sets.count);
  return rs_copier_run(&job->copier, sides.to, sides.from, job->meter.stream);
}

static bool is_timed(const measuring *job, int which) {
  return which == SCAN || (!job->alone && (which == COPY || job->kernel));
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static rowscan_status queue_runs(task *it, int64_t count) {
  rowscan_status status = ROWSCAN_OK;
  for (int64_t i = 0; i < count && !status; i++)
    status = it->queue(it, it->turn++);
  return status;
}

static rowscan_status queue_batch(task *it) {
  return it->replay.graph ? rs_replay_run(&it->replay, &it->job->meter) : queue_runs(it, it->batch);
}

/*
 * Keeps the GPU busy until the host has queued what is timed: else the time from the first reading of the clock to the
 * arrival of the first launch, some microseconds, would be in it.
 */
static rowscan_status lead_in(task *it) {
  if (!it->job->meter.device || it->batch_ms > 1e-3 * LEAD_US)
    return ROWSCAN_OK;
  return it->replay.graph ? queue_batch(it) : queue_runs(it, 1);
}

/* Milliseconds of one run in a batch. */
static rowscan_status time_batch(task *it, double *milliseconds) {
  rs_meter *meter = &it->job->meter;
  rowscan_status status = lead_in(it);
  if (!status)
    status = rs_meter_start(meter);
  if (!status)
    status = queue_batch(it);
  if (!status)
    status = rs_meter_stop(meter, milliseconds);
  *milliseconds /= (double)it->batch;
  return status;
}

/* Runs for one reading of the clock. Of a graph a multiple of the sets, so that its next replay finds none in a cache.
 */
static int64_t choose_batch(const task *it, double milliseconds, bool replayed) {
  int64_t most = replayed ? MOST_REPLAYED : MOST_BATCH, sets = it->job->sets.count;
  double wanted = milliseconds > 0 ? 1e-3 * (replayed ? REPLAY_BATCH_US : BATCH_US) / milliseconds : (double)most;
  int64_t batch = wanted > (double)most ? most : (int64_t)wanted + 1;
  return replayed ? (batch + sets - 1) / sets * sets : batch;
}

/*
 * Replays have no launches of the host in them. But a graph's copies of memory may be slower than a stream's (40 x
 * 152000 f32 on an H200: 0.0197 ms, 0.0167 ms), and each task is timed in the way in which it is the faster.
 */
static rowscan_status try_replay(task *it, double launched) {
  int64_t batch = it->batch;
  double replayed = 0;
  it->batch = choose_batch(it, launched, true);
  rowscan_status status = rs_replay_record(&it->replay, &it->job->meter, it->queue, it, it->batch);
  for (int i = 0; i < 2 && !status && it->replay.graph; i++)
    status = time_batch(it, &replayed);
  if (status)
    return status;
  if (!it->replay.graph || replayed >= launched) {
    rs_replay_free(&it->replay);
    it->batch = batch;
    replayed = launched;
  }
  it->batch_ms = replayed * (double)it->batch;
  return ROWSCAN_OK;
}

static rowscan_status warm_up(task *it) {
  double milliseconds = 0;
  rowscan_status status = ROWSCAN_OK;
  it->batch = 1;
  for (int i = 0; i < 2 && !status && milliseconds < BUDGET_MS; i++)
    status = time_batch(it, &milliseconds);
  bool short_run = it->job->meter.device && milliseconds < 1e-3 * REPLAY_US;
  it->batch = choose_batch(it, milliseconds, false);
  if (!status && it->batch > 1)
    status = time_batch(it, &milliseconds);
  it->batch_ms = milliseconds * (double)it->batch;
  return status || !short_run ? status : try_replay(it, milliseconds);
}

static int choose_repeat(double milliseconds) {
  double repeat = milliseconds > 0 ? BUDGET_MS / milliseconds : MOST_REPEAT;
  if (repeat < 1) /* nothing that a benchmark is for */
    return 1;
  return repeat < LEAST_REPEAT ? LEAST_REPEAT : repeat > MOST_REPEAT ? MOST_REPEAT : (int)repeat;
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Those that are not warm yet: of several plans the copies are warmed up once. */
static rowscan_status warm_all_up(measuring *job, double *milliseconds) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < TASKS && !status; i++)
    if (is_timed(job, i)) {
      status = job->task[i].batch ? ROWSCAN_OK : warm_up(&job->task[i]);
      *milliseconds += job->task[i].batch_ms;
    }
  return status;
}

/* One after the other, again and again, so that whatever drifts does so for all of them. */
static rowscan_status interleave(measuring *job, int repeat) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < repeat; i++)
    for (int k = 0; k < TASKS && !status; k++)
      if (is_timed(job, k))
        status = time_batch(&job->task[k], &job->task[k].times[i]);
  return status;
}

/* Far slower than the best so far: one time of it is enough. */
static bool is_beaten(const measuring *job) {
  enum { TIMES = 2 };
  const task *scan = &job->task[SCAN];
  return job->best_ms > 0 && scan->batch_ms > TIMES * job->best_ms * (double)scan->batch;
}

static rowscan_status time_all(measuring *job, int repeat, rs_timing *timing) {
  double milliseconds = 0;
  rowscan_status status = warm_all_up(job, &milliseconds);
  if (status)
    return status;
  if (is_beaten(job))
    repeat = 1;
  if (!repeat)
    repeat = choose_repeat(milliseconds);
  double *times = calloc(TASKS * (size_t)repeat, sizeof *times);
  if (!times)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "field 'repeat': out of memory for the times of %d runs", repeat);
  for (int i = 0; i < TASKS; i++)
    job->task[i].times = times + (size_t)i * (size_t)repeat;
  status = interleave(job, repeat);
  timing->scan_ms = median(job->task[SCAN].times, repeat);
  timing->copy_ms = median(job->task[COPY].times, repeat);
  timing->kernel_ms = median(job->task[KERNEL].times, repeat); /* 0 if there is none */
  free(times);
  return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static rowscan_status verify_results(const measuring *job, rs_timing *timing) {
  const task *scan = &job->task[SCAN];
  bool all = scan->replay.graph || scan->turn >= job->sets.count;
  rs_verdict verdict = {0};
  rowscan_status status = rs_verify_scan(&job->sets, all ? job->sets.count : scan->turn, job->context->host, &verdict);
  timing->wrong = verdict.wrong;
  timing->checked = verdict.checked;
  return status;
}

static void describe(const measuring *job, rs_timing *timing) {
  timing->bytes = (int64_t)job->sets.bytes;
  timing->replayed = job->task[SCAN].replay.graph != NULL;
  if (!job->meter.device) {
    snprintf(timing->geometry, sizeof timing->geometry, "threads=%d", rs_host_threads(job->context->host));
    return;
  }
  rs_program *program = rs_program_for(&job->plan->program, &job->rows);
  const rs_kernels *kernels = &program->kernels;
  const rs_geometry *geometry = &kernels->geometry;
  rs_kernel kernel = rs_kernels_choose(kernels, &job->rows);
  rs_text words = {0};
  if (atomic_load(&program->modules.of[kernel].function))
    rs_shape_text(&geometry->shape[kernel], &words);
  else
    rs_text_add(&words, "by another kernel: its own is not compiled");
  timing->regime = rs_kernel_regime(geometry, kernel);
  snprintf(timing->geometry, sizeof timing->geometry, "%s", words.failed ? "" : words.data);
  rs_text_free(&words);
}

static rowscan_status prepare_kernel(measuring *job) {
  rs_box box;
  job->kernel = job->meter.device && rs_sets_box(&job->sets, &box);
  return job->kernel ? rs_copier_open(&job->copier, job->context, &box) : ROWSCAN_OK;
}

/* Cold, without a replay. */
static void begin_task(measuring *job, int which) {
  static rowscan_status (*const queue[TASKS])(void *task, int64_t number) = {
      [SCAN] = queue_scan, [COPY] = queue_copy, [KERNEL] = queue_kernel};
  rs_replay_free(&job->task[which].replay);
  job->task[which] = (task){.job = job, .queue = queue[which]};
}

/* Arrays, numbers in them, and the copies that scans are measured against. */
static rowscan_status prepare_arrays(measuring *job, const rowscan_spec *spec, const rowscan_args *args) {
  rowscan_status status = rs_meter_open(&job->meter, job->context);
  if (!status)
    status = rs_sets_open(&job->sets, &job->meter, spec, args);
  if (status)
    return status;
  job->rows = job->sets.rows;
  rs_sets_rows(&job->sets, 0, &job->rows);
  begin_task(job, COPY);
  begin_task(job, KERNEL);
  status = prepare_kernel(job);
  if (!status)
    status = rs_sets_fill(&job->sets);
  return !status && job->kernel ? rs_verify_copy(&job->sets, &job->copier) : status;
}

/* planned: the plan's spec, which may be for any length. */
static rowscan_status prepare_plan(measuring *job, const rowscan_spec *planned) {
  const rs_tiers *tiers = job->context->gpu.tiers;
  rowscan_status status = rs_plan_create(&job->plan, job->context, planned, &job->rows);
  /* with the kernel for its length, whatever serves meanwhile, unless that is never compiled */
  return status || (tiers && tiers->compile == ROWSCAN_COMPILE_NEVER) ? status : rs_plan_prepare(job->plan, &job->rows);
}

static void clean_up(measuring *job) {
  if (job->meter.device && job->meter.stream)
    (void)rs_meter_wait(&job->meter);
  for (int i = 0; i < TASKS; i++)
    rs_replay_free(&job->task[i].replay);
  rs_copier_close(&job->copier);
  rs_plan_destroy(job->plan);
  rs_sets_close(&job->sets);
  rs_meter_close(&job->meter);
}

/* The job's plan. */
static rowscan_status measure_plan(measuring *job, int repeat, rs_timing *timing) {
  *timing = (rs_timing){0};
  begin_task(job, SCAN);
  rowscan_status status = time_all(job, repeat, timing);
  if (!status)
    status = verify_results(job, timing);
  if (!status)
    describe(job, timing);
  return status ? status : rs_meter_wait(&job->meter);
}

rowscan_status rs_measure(rowscan_context *context, const rowscan_spec *given, const rowscan_args *args, int repeat,
                          rs_timing *timing) {
  rowscan_spec planned, own;
  const rowscan_spec *spec = &planned;
  measuring job = {.context = context};
  *timing = (rs_timing){0};
  rowscan_status status = rs_spec_read(&planned, given);
  if (!status)
    status = rs_spec_of_run(&spec, &own, args);
  if (!status)
    status = prepare_arrays(&job, spec, args);
  if (!status)
    status = prepare_plan(&job, &planned);
  if (!status)
    status = measure_plan(&job, repeat, timing);
  timing->chosen = true;
  clean_up(&job);
  return status;
}

/* ---- all that could serve ---------------------------------------------------------------------------------------- */

/* Plans of the contenders that take the rows. */
typedef struct rivals {
  measuring *job;
  rs_contender kernel[RS_MOST_CONTENDERS];
  rowscan_plan *plan[RS_MOST_CONTENDERS];
  rowscan_status status[RS_MOST_CONTENDERS];
  char *message[RS_MOST_CONTENDERS]; /* of those that could not be compiled */
  int count;
} rivals;

static rowscan_status open_rivals(rivals *all, const rowscan_spec *spec) {
  rs_gpu *gpu = &all->job->context->gpu;
  rs_contender *list = calloc(RS_MOST_CONTENDERS, sizeof *list);
  if (!list)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a list of kernels");
  int count = rs_contenders(spec, rs_tuned_arch(gpu->builder, spec, gpu->device.arch), list);
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < count && !status; i++) {
    rowscan_plan **plan = &all->plan[all->count];
    status = rs_plan_create_forced(plan, all->job->context, spec, &list[i]);
    if (status)
      break;
    all->kernel[all->count] = list[i];
    if (rs_kernels_forced_serves(&(*plan)->program.kernels, &all->job->rows))
      all->count++;
    else
      rs_plan_destroy(*plan);
  }
  free(list);
  return status;
}

static void build_rival(void *what, int64_t i, void *seat) {
  (void)seat;
  rivals *all = what;
  rs_program *program = &all->plan[i]->program;
  const rs_binary *binary;
  all->status[i] = rs_program_binary(program, program->kernels.only, &binary);
  if (all->status[i])
    all->message[i] = strdup(rowscan_last_error());
}

/* Most are tried once: the cache is for kernels that serve. */
static bool build_rivals(rivals *all) {
  rs_builder *builder = all->job->context->gpu.builder;
  rs_builder_try(builder, true);
  bool worked = rs_pool_once(rs_host_threads(all->job->context->host), all->count, build_rival, all);
  rs_builder_try(builder, false);
  return worked;
}

static void close_rivals(rivals *all) {
  for (int i = 0; i < all->count; i++) {
    rs_plan_destroy(all->plan[i]);
    free(all->message[i]);
  }
  free(all);
}

/* The geometry that the library chooses for the rows. */
static rowscan_status name_choice(measuring *job, const rowscan_spec *spec, char geometry[], size_t bytes) {
  rs_timing chosen = {0};
  rowscan_status status = prepare_plan(job, spec);
  if (status)
    return status;
  begin_task(job, SCAN);
  describe(job, &chosen);
  snprintf(geometry, bytes, "%s %s", rowscan_regime_name(chosen.regime), chosen.geometry);
  rs_plan_destroy(job->plan);
  job->plan = NULL;
  return ROWSCAN_OK;
}

static rowscan_status measure_rival(rivals *all, int i, int repeat, rs_timing *timing) {
  measuring *job = all->job;
  job->plan = all->plan[i];
  rowscan_status status = rs_sets_poison(&job->sets);
  if (!status)
    status = rs_plan_prepare(job->plan, &job->rows);
  if (!status)
    status = measure_plan(job, repeat, timing);
  begin_task(job, SCAN); /* without this plan */
  job->plan = NULL;
  return status;
}

/* Of those that were compiled, the best so far is noted; *failed: the others. The first one's message is the error's.
 */
static rowscan_status measure_rivals(rivals *all, const char *choice, int repeat, rs_each_timing *each, void *user,
                                     int *failed) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < all->count && !status; i++) {
    rs_timing timing = {0};
    char geometry[sizeof timing.geometry + 16];
    if (all->status[i]) {
      *failed += 1;
      continue;
    }
    status = measure_rival(all, i, repeat, &timing);
    if (!status && (!all->job->best_ms || timing.scan_ms < all->job->best_ms))
      all->job->best_ms = timing.scan_ms;
    snprintf(geometry, sizeof geometry, "%s %s", rowscan_regime_name(timing.regime), timing.geometry);
    timing.chosen = choice && !strcmp(geometry, choice);
    if (!status)
      status = each(user, &timing, i);
  }
  for (int i = all->count - 1; i >= 0 && !status; i--)
    if (all->status[i])
      rs_fail_lines(all->status[i], "%s", all->message[i] ? all->message[i] : "");
  return status;
}

static rowscan_status check_contest(const rowscan_context *context, const rowscan_spec *spec) {
  if (!context->gpu.device.arch)
    return rs_fail(ROWSCAN_NO_DEVICE, "comparing kernels requires a GPU, but this context runs on the CPU");
  return spec->length > 0 ? ROWSCAN_OK
                          : rs_fail(ROWSCAN_BAD_ARGUMENT,
                                    "spec: field 'length': %lld, but comparing kernels requires a length of 1 or more",
                                    (long long)spec->length);
}

/* Plans of all that could serve, compiled; to be closed in any case. */
static rowscan_status open_contest(rivals **out, measuring *job, rowscan_spec *spec, const rowscan_spec *given,
                                   const rowscan_args *args) {
  rivals *all = *out = calloc(1, sizeof *all);
  rowscan_status status = all ? rs_spec_read(spec, given) : rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for plans");
  if (!status)
    status = check_contest(job->context, spec);
  if (!status)
    status = prepare_arrays(job, spec, args);
  if (!status) {
    all->job = job;
    status = open_rivals(all, spec);
  }
  if (!status && !build_rivals(all))
    status = rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for threads that compile");
  return status;
}

static void close_contest(rivals *all, measuring *job) {
  if (all)
    close_rivals(all);
  clean_up(job);
}

rowscan_status rs_measure_contenders(rowscan_context *context, const rowscan_spec *given, const rowscan_args *args,
                                     int repeat, rs_each_timing *each, void *user, int *failed) {
  rowscan_spec spec;
  measuring job = {.context = context};
  char choice[sizeof((rs_timing *)0)->geometry + 16];
  rivals *all;
  *failed = 0;
  rowscan_status status = open_contest(&all, &job, &spec, given, args);
  if (!status)
    status = name_choice(&job, &spec, choice, sizeof choice);
  if (!status)
    status = measure_rivals(all, choice, repeat, each, user, failed);
  close_contest(all, &job);
  return status;
}

/* ---- the fastest ------------------------------------------------------------------------------------------------- */

enum { FIRST_REPEAT = 3, FINAL_REPEAT = 9, FINALISTS = 4, ROUNDS = 3 };

typedef struct final {
  rs_fastest *told;
  double ms[RS_MOST_CONTENDERS]; /* 0: out of the contest */
} final;

static rowscan_status note_rival(void *user, const rs_timing *timing, int i) {
  final *all = user;
  all->told->timed++;
  all->told->wrong += timing->wrong > 0;
  all->ms[i] = timing->wrong ? 0 : timing->scan_ms;
  return ROWSCAN_OK;
}

/* -1: none is left. */
static int least(const double ms[], int count) {
  int found = -1;
  for (int i = 0; i < count; i++)
    if (ms[i] > 0 && (found < 0 || ms[i] < ms[found]))
      found = i;
  return found;
}

/* The median of a few times of a plan that was timed before. */
static rowscan_status time_again(measuring *job, rowscan_plan *plan, double *ms) {
  rs_timing timing = {0};
  job->plan = plan;
  job->best_ms = 0;
  begin_task(job, SCAN);
  rowscan_status status = time_all(job, FINAL_REPEAT, &timing);
  begin_task(job, SCAN);
  job->plan = NULL;
  *ms = timing.scan_ms;
  return status;
}

/* Finalists and the plan of before, in turn; *found: the fastest, if one is faster than that. */
static rowscan_status run_final(rivals *all, final *last, rowscan_plan *before, int *found) {
  double times[FINALISTS + 1][ROUNDS], ms[FINALISTS + 1];
  int who[FINALISTS], count = 0;
  for (int i; count < FINALISTS && (i = least(last->ms, all->count)) >= 0; last->ms[i] = 0)
    who[count++] = i;
  rowscan_status status = ROWSCAN_OK;
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i <= count && !status; i++)
      status = time_again(all->job, i < count ? all->plan[who[i]] : before, &times[i][round]);
  for (int i = 0; i <= count && !status; i++)
    ms[i] = median(times[i], ROUNDS);
  if (status)
    return status;
  int best = least(ms, count);
  last->told->before_ms = ms[count];
  *found = best < 0 ? -1 : who[best];
  last->told->ms = best < 0 ? ms[count] : ms[best];
  return ROWSCAN_OK;
}

/* Without what was measured before. */
static rowscan_status open_before(measuring *job, const rowscan_spec *spec, rowscan_plan **before) {
  char *tuning = job->context->gpu.tuning;
  job->context->gpu.tuning = NULL;
  rowscan_status status = prepare_plan(job, spec);
  job->context->gpu.tuning = tuning;
  *before = job->plan;
  job->plan = NULL;
  return status;
}

/* Whether a plan would serve the rows by this kernel. */
static bool is_choice(const measuring *job, const rowscan_plan *before, const rs_contender *one) {
  const rs_kernels *kernels = &before->program.kernels;
  rs_kernel kernel = rs_kernels_choose(kernels, &job->rows);
  rs_text chosen = {0}, own = {0};
  rs_shape_text(&kernels->geometry.shape[kernel], &chosen);
  rs_shape_text(&one->shape, &own);
  bool same = kernel == one->kernel && rs_kernel_regime(&kernels->geometry, kernel) == one->regime && chosen.data &&
              own.data && !strcmp(chosen.data, own.data);
  rs_text_free(&chosen);
  rs_text_free(&own);
  return same;
}

/* Errors: NOT_CACHED, for then few of the kernels were there. */
static rowscan_status check_built(const rivals *all) {
  for (int i = 0; i < all->count; i++)
    if (all->status[i] == ROWSCAN_NOT_CACHED || all->status[i] == ROWSCAN_NO_COMPILER)
      return rs_fail_lines(all->status[i], "%s", all->message[i] ? all->message[i] : "");
  return ROWSCAN_OK;
}

/* So that the cache has it. */
static rowscan_status keep_kernel(measuring *job, const rowscan_spec *spec, const rs_contender *kernel) {
  rowscan_plan *plan;
  const rs_binary *binary;
  rowscan_status status = rs_plan_create_forced(&plan, job->context, spec, kernel);
  if (status)
    return status;
  status = rs_program_binary(&plan->program, kernel->kernel, &binary);
  rs_plan_destroy(plan);
  return status;
}

static rowscan_status find_fastest(rivals *all, const rowscan_spec *spec, rs_fastest *fastest) {
  enum { PART = 30 };
  final last = {.told = fastest};
  rowscan_plan *before = NULL;
  int found = -1;
  all->job->alone = true;
  rowscan_status status = check_built(all);
  if (!status)
    status = measure_rivals(all, NULL, FIRST_REPEAT, note_rival, &last, &fastest->failed);
  if (!status)
    status = open_before(all->job, spec, &before);
  if (!status)
    status = run_final(all, &last, before, &found);
  if (!status && found >= 0) {
    fastest->kernel = all->kernel[found];
    fastest->better = PART * (fastest->before_ms - fastest->ms) > fastest->before_ms &&
                      !is_choice(all->job, before, &fastest->kernel);
  }
  rs_plan_destroy(before);
  return !status && fastest->better ? keep_kernel(all->job, spec, &fastest->kernel) : status;
}

rowscan_status rs_measure_fastest(rowscan_context *context, const rowscan_spec *given, const rowscan_args *args,
                                  rs_fastest *fastest) {
  rowscan_spec spec;
  measuring job = {.context = context};
  rivals *all;
  *fastest = (rs_fastest){.better = false};
  rowscan_status status = open_contest(&all, &job, &spec, given, args);
  if (!status)
    status = find_fastest(all, &spec, fastest);
  close_contest(all, &job);
  return status;
}
