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
#include "host/host.h"
#include "meter.h"
#include "run/plan.h"
#include "sample.h"
#include "sets.h"
#include "spec/types.h"

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
  bool kernel; /* there is a copy kernel */
  rs_copier copier;
  rs_rows rows; /* of the set in turn */
  task task[TASKS];
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
  return which != KERNEL || job->kernel;
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

static rowscan_status warm_all_up(measuring *job, double *milliseconds) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < TASKS && !status; i++)
    if (is_timed(job, i)) {
      status = warm_up(&job->task[i]);
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

static rowscan_status time_all(measuring *job, int repeat, rs_timing *timing) {
  double milliseconds = 0;
  rowscan_status status = warm_all_up(job, &milliseconds);
  if (status)
    return status;
  if (!repeat)
    repeat = choose_repeat(milliseconds);
  double *times = calloc(TASKS * (size_t)repeat, sizeof *times);
  if (!times)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "field 'repeat': %d: out of memory for their times", repeat);
  for (int i = 0; i < TASKS; i++)
    job->task[i].times = times + (size_t)i * (size_t)repeat;
  status = interleave(job, repeat);
  timing->scan_ms = median(job->task[SCAN].times, repeat);
  timing->copy_ms = median(job->task[COPY].times, repeat);
  timing->kernel_ms = median(job->task[KERNEL].times, repeat); /* 0 if there is none */
  free(times);
  return status;
}

/* ---- a sample ---------------------------------------------------------------------------------------------------- */

enum {
  CHECK_ELEMENTS = 1 << 22, /* about as many are checked, unless rows are longer */
  CHECK_RUNS = 16,          /* places they are taken from */
  COPY_PIECES = 16,
  COPY_BYTES = 1 << 22 /* of a piece of a copy, at most */
};

/* Rows longer than this are checked in part: the elements that the scan takes first. */
static const int64_t MOST_CHECK_ELEMENTS = 1 << 28;
static const int64_t MOST_CHECK_BYTES = INT64_C(3) << 30;

/* All memory that is read to check; rows of a transposed array lie all over it. */
static const int64_t MOST_READ_BYTES = INT64_C(1) << 30;

/* The first, the last, and some between of `count` places. */
static int64_t place(int64_t count, int run) {
  uint64_t random = (uint64_t)(run + 1) * 0x9e3779b97f4a7c15u;
  return run == 0 ? 0 : run == 1 ? count - 1 : (int64_t)((random >> 1) % (uint64_t)count);
}

/* ---- whether a scan is right ------------------------------------------------------------------------------------- */

/* An array of an excerpt: what of it lies between the first and the last of its elements, copied to the host. */
typedef struct image {
  rs_span span;
  char *data;     /* NULL: there is no such array */
  char *expected; /* of an output, what the host engine makes of it */
} image;

/* Slices of the first dimension of the rows; only the first `part` elements of each row in the order of the scan. */
typedef struct excerpt {
  int64_t part, slices, elements;
  rs_rows rows;
  image image[RS_ALL_ARRAYS];
} excerpt;

static size_t image_bytes(const excerpt *piece, int which) {
  return (size_t)(piece->image[which].span.count * piece->rows.array[which].bytes);
}

static bool make_image(excerpt *piece, int which) {
  image *made = &piece->image[which];
  return rs_span_of(&made->span, &piece->rows, &piece->rows.array[which], piece->part) &&
         (made->data = malloc(image_bytes(piece, which) + 1)) != NULL &&
         (!rs_is_output(which) || (made->expected = malloc(image_bytes(piece, which) + 1)) != NULL);
}

static void free_images(excerpt *piece) {
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    free(piece->image[a].data);
    free(piece->image[a].expected);
  }
}

/* Of all images. */
static int64_t element_bytes(const rowscan_spec *spec) {
  return rs_spec_element_bytes(spec) + (int64_t)rowscan_type_bytes(spec->out_type) +
         (int64_t)rowscan_type_bytes(spec->second_type);
}

static rowscan_status make_excerpt(const rs_sets *sets, excerpt *piece) {
  const rowscan_spec *spec = sets->spec;
  const rs_rows *rows = &sets->rows;
  int64_t inner = rows->count / rows->shape[0]; /* rows of a slice */
  int64_t steps = rs_smaller(MOST_CHECK_ELEMENTS, MOST_CHECK_BYTES / element_bytes(spec)) / inner;
  piece->part = rs_smaller(spec->length, steps > 1 ? steps : 1);
  int64_t unit = piece->part * inner;
  int64_t fitting = piece->part < spec->length ? 1 : CHECK_ELEMENTS / CHECK_RUNS / unit;
  piece->slices = rs_smaller(fitting > 1 ? fitting : 1, rows->shape[0]);
  piece->elements = piece->slices * unit;
  piece->rows = *rows;
  piece->rows.shape[0] = piece->slices;
  piece->rows.count = piece->slices * inner;
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    if (rs_sets_have(sets, a) && !make_image(piece, a))
      return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory to check %lld elements", (long long)piece->elements);
  return ROWSCAN_OK;
}

static int choose_runs(const rs_sets *sets, const excerpt *piece) {
  int64_t wanted = CHECK_ELEMENTS / piece->elements, there = (sets->rows.shape[0] - 1) / piece->slices + 1, read = 1;
  if (wanted < 3) /* rows are long: three of them, unless one is enough to wait for */
    wanted = rs_smaller(3, MOST_CHECK_ELEMENTS / piece->elements);
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    read += (int64_t)image_bytes(piece, a);
  wanted = rs_smaller(rs_smaller(rs_smaller(wanted, there), CHECK_RUNS), MOST_READ_BYTES / read);
  return wanted > 1 ? (int)wanted : 1;
}

/* Elements of each row, in memory, before those of the excerpt. */
static int64_t left_out(const rs_sets *sets, const excerpt *piece) {
  return sets->spec->flags & ROWSCAN_REVERSE ? sets->spec->length - piece->part : 0;
}

/* `array` is the whole one; `first`, its slice that becomes the excerpt's first. */
static rowscan_status read_image(const rs_sets *sets, const excerpt *piece, int which, const rs_operand *array,
                                 int64_t first) {
  const image *to = &piece->image[which];
  int64_t at = first * array->stride[0] + left_out(sets, piece) * array->step + to->span.low;
  return rs_meter_read(sets->meter, to->data, (const char *)array->data + at * array->bytes, image_bytes(piece, which));
}

/* Counted from the excerpt's first element on, as the host engine counts; one before it is wrong, -1 is none. */
static int64_t index_in_part(int64_t index, int64_t before) {
  return index < 0 ? index : index >= before ? index - before : -2;
}

static void shift_indices(const rs_sets *sets, const excerpt *piece) {
  const image *out = &piece->image[RS_OUT];
  int64_t before = left_out(sets, piece), count = out->span.count;
  if (rs_op_of(sets->spec->op)->kind != RS_INDEX || before == 0)
    return;
  for (int64_t i = 0; i < count && sets->spec->out_type == ROWSCAN_I64; i++)
    ((int64_t *)out->data)[i] = index_in_part(((int64_t *)out->data)[i], before);
  for (int64_t i = 0; i < count && sets->spec->out_type == ROWSCAN_I32; i++)
    ((int32_t *)out->data)[i] = (int32_t)index_in_part(((int32_t *)out->data)[i], before);
}

static rowscan_status read_excerpt(const rs_sets *sets, const excerpt *piece, int64_t set, int64_t first) {
  rs_rows rows = sets->rows;
  rowscan_status status = ROWSCAN_OK;
  rs_sets_rows(sets, set, &rows);
  for (int a = 0; a < RS_ALL_ARRAYS && !status; a++)
    if (piece->image[a].data)
      status = read_image(sets, piece, a, &rows.array[a], first);
  if (!status)
    shift_indices(sets, piece);
  return status;
}

/* What the host engine leaves alone is as the GPU has it, and does not differ. */
static void compare(const rs_sets *sets, excerpt *piece, rs_host *host, rs_timing *timing) {
  rowscan_spec spec = *sets->spec;
  spec.length = piece->part;
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    const image *image = &piece->image[a];
    rs_operand *array = &piece->rows.array[a];
    if (!image->data)
      continue;
    if (rs_is_output(a))
      memcpy(image->expected, image->data, image_bytes(piece, a));
    array->data = (rs_is_output(a) ? image->expected : image->data) - image->span.low * array->bytes;
  }
  rs_host_run(host, &spec, &piece->rows);
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    const image *image = &piece->image[a];
    if (!image->expected)
      continue;
    timing->wrong +=
        rs_sample_differ(rs_array_type(&spec, (rs_which)a), image->data, image->expected, image->span.count);
    timing->checked += piece->elements;
  }
}

/*
 * Compares a sample of rows with the host engine's, bit for bit: the first, the last and some between, from the first
 * `written` sets in turn; of a row that is very long, the elements that the scan takes first. Fills timing's `wrong`
 * and `checked`, which stay 0 of an operator that the host has no functions of.
 */
static rowscan_status check_scan(const rs_sets *sets, int64_t written, rs_host *host, rs_timing *timing) {
  if (!sets->elements || rs_spec_check_host(sets->spec) != ROWSCAN_OK)
    return ROWSCAN_OK;
  excerpt piece = {0};
  rowscan_status status = make_excerpt(sets, &piece);
  int64_t places = sets->rows.shape[0] - piece.slices + 1;
  for (int run = 0, runs = status ? 0 : choose_runs(sets, &piece); run < runs && !status; run++) {
    status = read_excerpt(sets, &piece, written - 1 - run % written, place(places, run));
    if (!status)
      compare(sets, &piece, host, timing);
  }
  free_images(&piece);
  return status;
}

/* ---- whether a copy is right ------------------------------------------------------------------------------------- */

/* Words of a line's piece, such that neither side of it spans too much memory. */
static int64_t piece_words(const rs_box *box) {
  const rs_axis *last = &box->axis[RS_BOX_RANK - 1];
  int64_t step = rs_distance(last->in) > rs_distance(last->out) ? rs_distance(last->in) : rs_distance(last->out);
  int64_t words = COPY_BYTES / box->bytes / (step > 1 ? step : 1);
  return rs_smaller(words > 1 ? words : 1, last->size);
}

/* A piece of a line on one side: word i lies at data + (low + i * step) * bytes. */
typedef struct line {
  int64_t step, low, count;
  char *data;
} line;

static rowscan_status read_line(const rs_sets *sets, line *to, const char *from, int64_t words, int64_t step,
                                int bytes) {
  *to = (line){.step = step, .low = step < 0 ? (words - 1) * step : 0, .count = (words - 1) * rs_distance(step) + 1};
  to->data = malloc((size_t)to->count * (size_t)bytes);
  if (!to->data)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory to check a copy");
  return rs_meter_read(sets->meter, to->data, from + to->low * bytes, (size_t)to->count * (size_t)bytes);
}

static bool same_words(const line *in, const line *out, int64_t words, int bytes) {
  for (int64_t i = 0; i < words; i++)
    if (memcmp(in->data + (i * in->step - in->low) * bytes, out->data + (i * out->step - out->low) * bytes,
               (size_t)bytes))
      return false;
  return true;
}

static rowscan_status check_piece(const rs_sets *sets, const rs_box *box, const char *in, const char *out, int run) {
  const rs_axis *axis = box->axis;
  int64_t words = piece_words(box),
          at[] = {place(axis[0].size, run), place(axis[1].size, run), place(axis[2].size - words + 1, run)};
  for (int i = 0; i < RS_BOX_RANK; i++) {
    in += at[i] * axis[i].in * box->bytes;
    out += at[i] * axis[i].out * box->bytes;
  }
  line from = {0}, to = {0};
  rowscan_status status = read_line(sets, &from, in, words, axis[2].in, box->bytes);
  if (!status)
    status = read_line(sets, &to, out, words, axis[2].out, box->bytes);
  if (!status && !same_words(&from, &to, words, box->bytes))
    status = rs_fail(ROWSCAN_CUDA_FAILED, "the copy kernel that scans are measured against is wrong");
  free(from.data);
  free(to.data);
  return status;
}

/* Has the kernel copy set 0 anew, and compares pieces of it. CUDA_FAILED, with a message, if it is no copy. */
static rowscan_status check_copy(const rs_sets *sets, const rs_copier *copier) {
  const rs_copy_sides sides = rs_sets_sides(sets, 0);
  rowscan_status status = rs_meter_fill(sets->meter, rs_sets_target(sets, 0), 0xff, sets->copy_stride);
  if (!status)
    status = rs_copier_run(copier, sides.to, sides.from, sets->meter->stream);
  if (!status)
    status = rs_meter_wait(sets->meter);
  for (int run = 0; run < COPY_PIECES && !status; run++)
    status = check_piece(sets, &copier->box, sides.from, sides.to, run);
  return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static rowscan_status check(const measuring *job, rs_timing *timing) {
  const task *scan = &job->task[SCAN];
  bool all = scan->replay.graph || scan->turn >= job->sets.count;
  rowscan_status status = check_scan(&job->sets, all ? job->sets.count : scan->turn, job->context->host, timing);
  return !status && job->kernel ? check_copy(&job->sets, &job->copier) : status;
}

static void describe(const measuring *job, rs_timing *timing) {
  timing->bytes = (int64_t)job->sets.bytes;
  timing->replayed = job->task[SCAN].replay.graph != NULL;
  if (!job->meter.device) {
    snprintf(timing->geometry, sizeof timing->geometry, "threads=%d", rs_host_threads(job->context->host));
    return;
  }
  const rs_geometry *geometry = &job->plan->program.kernels.geometry;
  rs_kernel kernel = rs_kernels_choose(&job->plan->program.kernels, &job->rows);
  rs_text words = {0};
  rs_shape_text(&geometry->shape[kernel], &words);
  timing->regime = rs_kernel_regime(geometry, kernel);
  snprintf(timing->geometry, sizeof timing->geometry, "%s", words.failed ? "" : words.data);
  rs_text_free(&words);
}

static rowscan_status prepare_kernel(measuring *job) {
  rs_box box;
  job->kernel = job->meter.device && rs_sets_box(&job->sets, &box);
  return job->kernel ? rs_copier_open(&job->copier, job->context, &box) : ROWSCAN_OK;
}

/* planned: the plan's, which may be for any length. */
static rowscan_status prepare(measuring *job, const rowscan_spec *planned, const rowscan_spec *spec,
                              const rowscan_args *args) {
  rowscan_status status = rs_meter_open(&job->meter, job->context);
  if (!status)
    status = rs_sets_open(&job->sets, &job->meter, spec, args);
  if (!status) {
    job->rows = job->sets.rows;
    rs_sets_rows(&job->sets, 0, &job->rows);
    status = rs_plan_create(&job->plan, job->context, planned, &job->rows);
  }
  if (!status)
    status = rs_plan_prepare(job->plan, &job->rows); /* with the kernel for its length, whatever serves meanwhile */
  if (!status)
    status = prepare_kernel(job);
  return status ? status : rs_sets_fill(&job->sets);
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

rowscan_status rs_measure(rowscan_context *context, const rowscan_spec *given, const rowscan_args *args, int repeat,
                          rs_timing *timing) {
  rowscan_spec planned, own;
  const rowscan_spec *spec = &planned;
  measuring job = {.context = context};
  job.task[SCAN] = (task){.job = &job, .queue = queue_scan};
  job.task[COPY] = (task){.job = &job, .queue = queue_copy};
  job.task[KERNEL] = (task){.job = &job, .queue = queue_kernel};
  *timing = (rs_timing){0};
  rowscan_status status = rs_spec_read(&planned, given);
  if (!status)
    status = rs_spec_of_run(&spec, &own, args);
  if (!status)
    status = prepare(&job, &planned, spec, args);
  if (!status)
    status = time_all(&job, repeat, timing);
  if (!status)
    status = check(&job, timing);
  if (!status)
    describe(&job, timing);
  clean_up(&job);
  return status;
}
