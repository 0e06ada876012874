/*
 * measure.c - times a spec against a copy of the same bytes, and checks what it times
 * SPDX-License-Identifier: MIT
 */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "meter.h"
#include "sample.h"
#include "status.h"

enum {
  ALIGNMENT = 256,         /* of arrays */
  PATTERN_BYTES = 8 << 20, /* of random numbers at most, repeated */
  BATCH_US = 200,          /* between two readings of the clock at least: far more than it resolves */
  MOST_BATCH = 1000,       /* launches */
  BUDGET_MS = 500,         /* for all repetitions, if the caller leaves their number to us */
  LEAST_REPEAT = 7,
  MOST_REPEAT = 51,
  CHECK_ELEMENTS = 1 << 22, /* about as many are checked, unless rows are longer */
  CHECK_RUNS = 16           /* places they are taken from */
};

/* Rows longer than this are checked in part: the elements that the scan takes first. */
static const int64_t MOST_CHECK_ELEMENTS = 1 << 28;
static const int64_t MOST_CHECK_BYTES = INT64_C(3) << 30;

/*
 * Rows are seen as `blocks` of `inner` neighbouring rows, element by element; inner is 1 for LAYOUT_ROWS. A set is an
 * input, a mask and an output, one after the other.
 */
typedef struct measuring {
  rowscan_context *context;
  const rowscan_spec *spec;
  int64_t blocks, inner;
  int64_t elements;
  size_t in_bytes, mask_bytes, out_bytes; /* of an array */
  size_t mask_at, out_at, stride;         /* of a set */
  size_t bytes, half;                     /* that a scan moves; that a copy reads, and writes */
  size_t copy_stride;
  int64_t sets, scans, copies; /* sets that there are; runs so far */
  rs_meter meter;
  rowscan_plan *plan;
  void *memory, *copied;
  rs_rows rows; /* of set 0 */
} measuring;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static size_t align(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t in_element(const measuring *job) {
  return rowscan_type_bytes(job->spec->in);
}

static size_t out_element(const measuring *job) {
  return rowscan_type_bytes(job->spec->out);
}

static size_t mask_element(const measuring *job) {
  return job->spec->mask_mode ? rowscan_type_bytes(job->spec->mask_type) : 0;
}

static rowscan_status lay_out(measuring *job) {
  const int64_t most = INT64_C(1) << 56; /* bytes: sums of a few such don't overflow */
  int64_t elements;
  if (__builtin_mul_overflow(job->blocks, job->inner, &elements) ||
      __builtin_mul_overflow(elements, job->spec->length, &elements) || elements > most / 8)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "%lld x %lld x %lld elements to measure on fit no memory",
                   (long long)job->blocks, (long long)job->spec->length, (long long)job->inner);
  job->elements = elements;
  job->in_bytes = (size_t)elements * in_element(job);
  job->mask_bytes = (size_t)elements * mask_element(job);
  job->out_bytes = (size_t)elements * out_element(job);
  job->bytes = job->in_bytes + job->mask_bytes + job->out_bytes;
  job->half = job->bytes / 2;
  job->mask_at = align(job->in_bytes);
  job->out_at = job->mask_at + align(job->mask_bytes);
  job->stride = job->out_at + align(job->out_bytes + 1); /* never empty */
  job->copy_stride = align(job->half + 1);
  int64_t beyond = 3 * rs_meter_cache_bytes(&job->meter), set = (int64_t)job->stride;
  job->sets = set >= beyond ? 1 : (beyond + set - 1) / set;
  return ROWSCAN_OK;
}

static char *set_memory(const measuring *job, int64_t set) {
  return (char *)job->memory + (size_t)set * job->stride;
}

/* A prime number, so that rows of no usual length begin at the same place of the pattern. */
static int64_t pattern_elements(int64_t elements, size_t bytes) {
  const int64_t most = 1048573;
  int64_t room = PATTERN_BYTES / (int64_t)bytes < most ? PATTERN_BYTES / (int64_t)bytes : most;
  return elements < room ? elements : room;
}

/* Repeats the first `have` bytes up to `bytes`. */
static rowscan_status repeat_pattern(measuring *job, char *to, size_t have, size_t bytes) {
  rowscan_status status = ROWSCAN_OK;
  while (have < bytes && !status) {
    size_t more = have < bytes - have ? have : bytes - have;
    status = rs_meter_copy(&job->meter, to + have, to, more);
    have += more;
  }
  return status;
}

static rowscan_status fill_array(measuring *job, size_t at, rowscan_type type, bool mask) {
  size_t element = rowscan_type_bytes(type);
  int64_t count = pattern_elements(job->elements, element);
  if (!count)
    return ROWSCAN_OK;
  void *pattern = malloc((size_t)count * element);
  if (!pattern)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for random numbers");
  if (mask)
    rs_sample_mask(pattern, type, count, 2);
  else
    rs_sample_elements(pattern, type, job->spec->op, count, 1);
  char *to = set_memory(job, 0) + at;
  rowscan_status status = rs_meter_write(&job->meter, to, pattern, (size_t)count * element);
  free(pattern);
  return status ? status : repeat_pattern(job, to, (size_t)count * element, (size_t)job->elements * element);
}

/* All sets hold the same inputs; what outputs hold at first is no number, or -1. */
static rowscan_status fill(measuring *job) {
  rowscan_status status = rs_meter_fill(&job->meter, job->memory, 0xff, (size_t)job->sets * job->stride);
  if (!status)
    status = rs_meter_fill(&job->meter, job->copied, 0xff, (size_t)job->sets * job->copy_stride);
  if (!status)
    status = fill_array(job, 0, job->spec->in, false);
  if (!status && job->spec->mask_mode)
    status = fill_array(job, job->mask_at, job->spec->mask_type, true);
  if (!status)
    status = repeat_pattern(job, job->memory, job->stride, (size_t)job->sets * job->stride);
  return status ? status : rs_meter_wait(&job->meter);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Dense rows of a spec whose layout and rank are the job's. */
static rowscan_status make_rows(const measuring *job, rs_rows *rows, const rowscan_spec *spec, rowscan_args *args,
                                int64_t blocks) {
  int64_t shape[RS_MAX_ROW_RANK];
  int rank = spec->row_rank;
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  if (columns && rank == 1 && blocks > 1)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'outer': %lld, but the spec's row_rank is 1", (long long)blocks);
  for (int d = 0; d < rank; d++)
    shape[d] = 1;
  if (columns)
    shape[rank - 1] = job->inner;
  if (!columns || rank > 1)
    shape[columns ? rank - 2 : rank - 1] = blocks;
  args->size = sizeof *args;
  args->row_shape = shape;
  return rs_rows_from_args(rows, spec, args);
}

static rowscan_status make_job_rows(measuring *job) {
  char *set = set_memory(job, 0);
  rowscan_args args = {.in = set, .out = set + job->out_at};
  if (job->spec->mask_mode)
    args.mask = set + job->mask_at;
  return make_rows(job, &job->rows, job->spec, &args, job->blocks);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static rowscan_status scan_once(measuring *job) {
  char *set = set_memory(job, job->scans++ % job->sets);
  job->rows.in = set;
  job->rows.out = set + job->out_at;
  if (job->spec->mask_mode)
    job->rows.mask = set + job->mask_at;
  return rs_plan_run(job->plan, &job->rows, NULL, 0, job->meter.stream);
}

static rowscan_status copy_once(measuring *job) {
  int64_t set = job->copies++ % job->sets;
  return rs_meter_copy(&job->meter, (char *)job->copied + (size_t)set * job->copy_stride, set_memory(job, set),
                       job->half);
}

typedef rowscan_status (*work)(measuring *job);

/* Milliseconds of one run in a batch. */
static rowscan_status time_batch(measuring *job, work once, int batch, double *milliseconds) {
  rowscan_status status = rs_meter_start(&job->meter);
  for (int i = 0; i < batch && !status; i++)
    status = once(job);
  if (!status)
    status = rs_meter_stop(&job->meter, milliseconds);
  *milliseconds /= batch;
  return status;
}

/* Warms up and chooses how many runs one reading of the clock is for. */
static rowscan_status choose_batch(measuring *job, work once, int *batch, double *milliseconds) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < 2 && !status && *milliseconds < BUDGET_MS; i++)
    status = time_batch(job, once, 1, milliseconds);
  double wanted = *milliseconds > 0 ? 1e-3 * BATCH_US / *milliseconds : MOST_BATCH;
  *batch = wanted > MOST_BATCH ? MOST_BATCH : (int)wanted + 1;
  if (!status && *batch > 1)
    status = time_batch(job, once, *batch, milliseconds);
  return status;
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

static rowscan_status time_both(measuring *job, int repeat, rowscan_timing *timing) {
  int scan_batch, copy_batch;
  double scan_ms = 0, copy_ms = 0;
  rowscan_status status = choose_batch(job, scan_once, &scan_batch, &scan_ms);
  if (!status)
    status = choose_batch(job, copy_once, &copy_batch, &copy_ms);
  if (status)
    return status;
  if (!repeat)
    repeat = choose_repeat(scan_ms * scan_batch + copy_ms * copy_batch);
  double *times = malloc(2 * (size_t)repeat * sizeof *times);
  if (!times)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "field 'repeat': %d: out of memory for their times", repeat);
  for (int i = 0; i < repeat && !status; i++) {
    status = time_batch(job, scan_once, scan_batch, &times[i]);
    if (!status)
      status = time_batch(job, copy_once, copy_batch, &times[repeat + i]);
  }
  if (!status) {
    timing->scan_ms = median(times, repeat);
    timing->copy_ms = median(times + repeat, repeat);
  }
  free(times);
  return status;
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

/* Blocks that lie together, copied to the host; only the first `part` elements of each row in the order of the scan. */
typedef struct excerpt {
  int64_t part, blocks, elements;
  void *in, *mask, *out, *expected;
} excerpt;

static void free_piece(excerpt *piece) {
  free(piece->in);
  free(piece->mask);
  free(piece->out);
  free(piece->expected);
}

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t choose_part(const measuring *job) {
  int64_t element = (int64_t)(in_element(job) + mask_element(job) + 2 * out_element(job));
  int64_t steps = lesser(MOST_CHECK_ELEMENTS, MOST_CHECK_BYTES / element) / job->inner;
  return lesser(job->spec->length, steps > 1 ? steps : 1);
}

static rowscan_status make_piece(const measuring *job, excerpt *piece) {
  piece->part = choose_part(job);
  int64_t unit = piece->part * job->inner;
  int64_t fitting = piece->part < job->spec->length ? 1 : CHECK_ELEMENTS / CHECK_RUNS / unit;
  piece->blocks = lesser(fitting > 1 ? fitting : 1, job->blocks);
  piece->elements = piece->blocks * unit;
  size_t elements = (size_t)piece->elements;
  piece->in = malloc(elements * in_element(job));
  piece->out = malloc(elements * out_element(job));
  piece->expected = malloc(elements * out_element(job));
  piece->mask = malloc(elements * mask_element(job) + 1);
  if (piece->in && piece->out && piece->expected && piece->mask)
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory to check %lld elements", (long long)piece->elements);
}

static rowscan_status read_piece(measuring *job, const excerpt *piece, int64_t set, int64_t block) {
  bool reverse = job->spec->flags & ROWSCAN_REVERSE;
  int64_t at = (block * job->spec->length + (reverse ? job->spec->length - piece->part : 0)) * job->inner;
  size_t first = (size_t)at, elements = (size_t)piece->elements;
  const char *from = set_memory(job, set);
  rowscan_status status =
      rs_meter_read(&job->meter, piece->in, from + first * in_element(job), elements * in_element(job));
  if (!status && job->spec->mask_mode)
    status = rs_meter_read(&job->meter, piece->mask, from + job->mask_at + first * mask_element(job),
                           elements * mask_element(job));
  if (!status)
    status = rs_meter_read(&job->meter, piece->out, from + job->out_at + first * out_element(job),
                           elements * out_element(job));
  return status;
}

static rowscan_status check_piece(measuring *job, const excerpt *piece, rowscan_timing *timing) {
  rowscan_spec spec = *job->spec;
  spec.length = piece->part;
  rowscan_args args = {.in = piece->in, .out = piece->expected, .mask = piece->mask};
  rs_rows rows;
  rowscan_status status = make_rows(job, &rows, &spec, &args, piece->blocks);
  if (status)
    return status;
  rs_host_run(job->context->host, &spec, &rows);
  timing->wrong += rs_sample_differ(spec.out, piece->out, piece->expected, piece->elements);
  timing->checked += piece->elements;
  return ROWSCAN_OK;
}

/* The first rows, the last, and some between. */
static int64_t place(const measuring *job, const excerpt *piece, int run) {
  int64_t last = job->blocks - piece->blocks;
  uint64_t random = (uint64_t)(run + 1) * 0x9e3779b97f4a7c15u;
  return run == 0 ? 0 : run == 1 ? last : (int64_t)((random >> 1) % (uint64_t)(last + 1));
}

static int choose_runs(const measuring *job, const excerpt *piece) {
  int64_t wanted = CHECK_ELEMENTS / piece->elements, there = (job->blocks - 1) / piece->blocks + 1;
  if (wanted < 3) /* rows are long: three of them, unless one is enough to wait for */
    wanted = lesser(3, MOST_CHECK_ELEMENTS / piece->elements);
  wanted = lesser(lesser(wanted, there), CHECK_RUNS);
  return wanted > 1 ? (int)wanted : 1;
}

static rowscan_status check(measuring *job, rowscan_timing *timing) {
  if (!job->elements)
    return ROWSCAN_OK;
  excerpt piece = {0};
  rowscan_status status = make_piece(job, &piece);
  int64_t written = lesser(job->sets, job->scans);
  for (int run = 0, runs = status ? 0 : choose_runs(job, &piece); run < runs && !status; run++) {
    status = read_piece(job, &piece, written - 1 - run % written, place(job, &piece, run));
    if (!status)
      status = check_piece(job, &piece, timing);
  }
  free_piece(&piece);
  return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void describe(const measuring *job, rowscan_timing *timing) {
  timing->bytes = (int64_t)job->bytes;
  if (!job->meter.device) {
    snprintf(timing->geometry, sizeof timing->geometry, "threads=%d", rs_host_threads(job->context->host));
    return;
  }
  const rs_module *module = rs_launch_module(job->plan, job->rows.count);
  const char *words = strchr(module->words.data, ' '); /* after the regime, which is told beside them */
  timing->regime = module->geometry.regime;
  snprintf(timing->geometry, sizeof timing->geometry, "%s", words ? words + 1 : "");
}

static rowscan_status prepare(measuring *job) {
  rowscan_status status = lay_out(job);
  if (!status)
    status = rs_plan_create(&job->plan, job->context, job->spec, 0);
  if (!status)
    status = rs_meter_alloc(&job->meter, &job->memory, (size_t)job->sets * job->stride);
  if (!status)
    status = rs_meter_alloc(&job->meter, &job->copied, (size_t)job->sets * job->copy_stride);
  if (!status)
    status = make_job_rows(job);
  return status ? status : fill(job);
}

static void clean_up(measuring *job) {
  if (job->meter.device && job->meter.stream)
    (void)rs_meter_wait(&job->meter);
  rs_plan_destroy(job->plan);
  rs_meter_free(&job->meter, job->memory);
  rs_meter_free(&job->meter, job->copied);
  rs_meter_close(&job->meter);
}

rowscan_status rs_measure(rowscan_context *context, const rowscan_spec *spec, int64_t outer, int64_t inner, int repeat,
                          rowscan_timing *timing) {
  bool columns = spec->layout == ROWSCAN_LAYOUT_COLUMNS;
  measuring job = {.context = context, .spec = spec, .blocks = outer, .inner = columns ? inner : 1};
  rowscan_timing found = {.size = sizeof found};
  if (!columns && __builtin_mul_overflow(outer, inner, &job.blocks))
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "%lld x %lld rows to measure on fit no memory", (long long)outer,
                   (long long)inner);
  rowscan_status status = rs_meter_open(&job.meter, context);
  if (!status)
    status = prepare(&job);
  if (!status)
    status = time_both(&job, repeat, &found);
  if (!status)
    status = check(&job, &found);
  if (!status) {
    describe(&job, &found);
    *timing = found;
  }
  clean_up(&job);
  return status;
}
