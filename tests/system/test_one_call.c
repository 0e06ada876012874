/*
 * test_one_call.c - problems in one call, and chunk by chunk: P(0) included, strided totals, made ready ahead, carried
 * SPDX-License-Identifier: MIT
 *
 * With the engine that there is: a GPU, the simulated one under tests/system/simulated.sh, else the host. What is right
 * is put together from plain calls of the host engine, which tests/unit/test_host.c compares with the judge.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu/any_op.h"
#include "../gpu/device.h"
#include "../support/judge.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "base/ints.h"

enum { RANK = 3 };

static uint64_t seed = 1;
static bool on_gpu;
static rowscan_context *context, *host;

static void open_contexts(void) {
  if (on_gpu)
    ck_assert_msg(!device_open(), "no GPU in this process");
  ck_assert_msg(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = on_gpu ? ROWSCAN_ENGINE_CUDA : ROWSCAN_ENGINE_HOST)),
                "%s", rowscan_last_error());
  ck_assert(!rowscan_open(&host, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 1)));
}

static void close_contexts(void) {
  rowscan_close(context);
  rowscan_close(host);
  if (on_gpu)
    device_close();
}

static int64_t below(uint64_t *random, int64_t n) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((*random >> 33) % (uint64_t)n);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* In host memory and, on a GPU, in the device's as well. */
typedef struct array {
  rowscan_type type;
  int64_t count, strides[RANK];
  char *memory, *device;
} array;

static size_t bytes_of(const array *a) {
  return (size_t)a->count * rowscan_type_bytes(a->type) + 1;
}

static void write_random(array *a, uint64_t *random) {
  for (int64_t i = 0; i < a->count; i++) {
    double x = (double)(below(random, 2001) - 1000) / 512;
    char *at = a->memory + i * (int64_t)rowscan_type_bytes(a->type);
    if (a->type == ROWSCAN_F32)
      *(float *)(void *)at = (float)x;
    else if (a->type == ROWSCAN_F64)
      *(double *)(void *)at = x / 3;
    else if (a->type == ROWSCAN_F16 || a->type == ROWSCAN_BF16)
      *(uint16_t *)(void *)at = judge_round(a->type, x);
    else
      judge_write(a->type, at, a->type == ROWSCAN_BOOL ? (uint64_t)below(random, 2) : (uint64_t)below(random, 1 << 20));
  }
}

/* Of a shape in C order, or with every second element of it alone. */
static array make_array(rowscan_type type, int rank, const int64_t *shape, int64_t spread, uint64_t *random) {
  array a = {.type = type, .count = spread};
  for (int d = rank - 1; d >= 0; d--) {
    a.strides[d] = a.count;
    a.count *= shape[d];
  }
  ck_assert_ptr_nonnull(a.memory = malloc(bytes_of(&a)));
  write_random(&a, random);
  if (on_gpu) {
    a.device = device_alloc(bytes_of(&a));
    device_upload(a.device, a.memory, bytes_of(&a), NULL);
    device_wait(NULL);
  }
  return a;
}

static void free_array(array *a) {
  free(a->memory);
  if (a->device)
    device_free(a->device);
}

static char *reach(const array *a) {
  return a->device ? a->device : a->memory;
}

static void fetch(array *a) {
  if (!a->device)
    return;
  device_download(a->memory, a->device, bytes_of(a), NULL);
  device_wait(NULL);
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

typedef struct kind {
  rowscan_op op;
  rowscan_type in, out, acc;
  unsigned flags;
  rowscan_mask_mode mask;
} kind;

static const kind kinds[] = {
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F32, 0, 0},
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_REVERSE, ROWSCAN_MASK_SELECT},
    {ROWSCAN_PROD, ROWSCAN_F64, ROWSCAN_F64, ROWSCAN_F64, 0, 0},
    {ROWSCAN_SUM, ROWSCAN_F16, ROWSCAN_F16, ROWSCAN_F32, ROWSCAN_REVERSE, 0},
    {ROWSCAN_SUM, ROWSCAN_BF16, ROWSCAN_F32, ROWSCAN_F32, 0, ROWSCAN_MASK_MULTIPLY},
    {ROWSCAN_SUM, ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_FIXED(30), 0, 0},
    {ROWSCAN_SUM, ROWSCAN_BF16, ROWSCAN_F16, ROWSCAN_FIXED(9), ROWSCAN_REVERSE, 0},
    {ROWSCAN_SUM, ROWSCAN_U8, ROWSCAN_U64, ROWSCAN_U64, 0, 0},
    {ROWSCAN_SUM, ROWSCAN_I32, ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_REVERSE, 0},
    {ROWSCAN_SUM, ROWSCAN_I16, ROWSCAN_I16, ROWSCAN_I16, 0, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static rowscan_problem problem_of(const kind *k, int rank, int dim, const int64_t *shape) {
  return (rowscan_problem){.size = sizeof(rowscan_problem),
                           .op = k->op,
                           .flags = k->flags,
                           .rank = rank,
                           .dim = dim,
                           .shape = shape,
                           .mask_mode = k->mask,
                           .acc_type = k->acc};
}

static rowscan_input input_of(const array *a, bool in_host) {
  return (rowscan_input){.data = in_host ? a->memory : reach(a), .type = a->type, .strides = a->strides};
}

static rowscan_input mask_of(const kind *k, const array *a, bool in_host) {
  return k->mask ? input_of(a, in_host) : (rowscan_input){NULL};
}

static rowscan_output output_of(const array *a, bool in_host) {
  return (rowscan_output){.data = in_host ? a->memory : reach(a), .type = a->type, .strides = a->strides};
}

static void must(rowscan_status status) {
  ck_assert_msg(status == ROWSCAN_OK, "%s: %s", rowscan_status_name(status), rowscan_last_error());
}

/* Element `index` of the scanned dimension, of row (outer, inner) of a [outer, n, inner] tensor. */
static const char *element(const array *a, int64_t outer, int64_t index, int64_t inner) {
  int64_t at = outer * a->strides[0] + index * a->strides[1] + inner * a->strides[2];
  return a->memory + at * (int64_t)rowscan_type_bytes(a->type);
}

static void same(const array *is, int64_t is_index, const array *should, int64_t index, int64_t outer, int64_t inner) {
  ck_assert_msg(judge_equal(is->type, element(is, outer, is_index, inner), element(should, outer, index, inner)),
                "row (%lld, %lld): element %lld is not element %lld of what is right", (long long)outer,
                (long long)inner, (long long)is_index, (long long)index);
}

/* ---- P(0) included ----------------------------------------------------------------------------------------------- */

/* P(0) .. P(n): an exclusive scan, and the last of an inclusive one. */
static void check_initial(const kind *k, int64_t n, uint64_t *random) {
  int64_t shape[RANK] = {1 + below(random, 4), n, 1 + below(random, 5)}, longer[RANK], ends[RANK];
  memcpy(longer, shape, sizeof longer);
  memcpy(ends, shape, sizeof ends);
  longer[1] = n + 1;
  ends[1] = 1;
  int64_t spread = 1 + below(random, 2);
  array in = make_array(k->in, RANK, shape, spread, random), mask = make_array(ROWSCAN_BOOL, RANK, shape, 1, random);
  array init = make_array(rs_kept_type(k->acc), RANK, ends, spread, random);
  array out = make_array(k->out, RANK, longer, 1 + below(random, 2), random);
  array exclusive = make_array(k->out, RANK, longer, 1, random),
        inclusive = make_array(k->out, RANK, longer, 1, random);
  rowscan_problem p = problem_of(k, RANK, 1, shape);
  p.input = input_of(&in, true);
  p.mask = mask_of(k, &mask, true);
  if (below(random, 2))
    p.init = input_of(&init, true);
  p.output = output_of(&inclusive, true);
  must(rowscan_scan_host(host, &p));
  p.flags |= ROWSCAN_EXCLUSIVE;
  p.output = output_of(&exclusive, true);
  must(rowscan_scan_host(host, &p));

  p.flags = k->flags | ROWSCAN_INCLUDE_INITIAL;
  for (int in_host = 0; in_host < 2; in_host++) {
    write_random(&out, random);
    p.input = input_of(&in, in_host);
    p.mask = mask_of(k, &mask, in_host);
    p.init.data = !p.init.data ? NULL : in_host ? init.memory : reach(&init);
    p.output = output_of(&out, in_host);
    must(in_host ? rowscan_scan_host(context, &p) : rowscan_scan(context, &p, NULL));
    if (!in_host)
      fetch(&out);
    for (int64_t i = 0; i < shape[0]; i++)
      for (int64_t j = 0; j < shape[2]; j++) {
        for (int64_t e = 0; e < n; e++)
          same(&out, e, k->flags & ROWSCAN_REVERSE ? &inclusive : &exclusive, e, i, j);
        if (n > 0)
          same(&out, n, k->flags & ROWSCAN_REVERSE ? &exclusive : &inclusive, n - 1, i, j);
      }
  }
  free_array(&in);
  free_array(&mask);
  free_array(&init);
  free_array(&out);
  free_array(&exclusive);
  free_array(&inclusive);
}

START_TEST(initial_included) {
  static const int64_t lengths[] = {1, 2, 31, 300, 5000};
  uint64_t random = seed + (uint64_t)_i;
  open_contexts();
  for (int i = 0; i < (is_quick() ? 3 : 5); i++)
    for (int turn = 0; turn < 2; turn++)
      check_initial(&kinds[_i], lengths[i], &random);
  close_contexts();
}
END_TEST

/* A row of no elements has P(0) all the same. */
START_TEST(initial_of_nothing) {
  uint64_t random = seed;
  int64_t shape[] = {3, 0}, longer[] = {3, 1};
  open_contexts();
  for (int reverse = 0; reverse < 2; reverse++)
    for (int with_init = 0; with_init < 2; with_init++) {
      array out = make_array(ROWSCAN_F32, 2, longer, 1, &random), init = make_array(ROWSCAN_F32, 2, longer, 1, &random);
      rowscan_problem p = problem_of(&kinds[0], 2, 1, shape);
      p.op = ROWSCAN_PROD;
      p.flags = ROWSCAN_INCLUDE_INITIAL | (reverse ? ROWSCAN_REVERSE : 0);
      p.output = output_of(&out, false);
      if (with_init)
        p.init = input_of(&init, false);
      must(rowscan_scan(context, &p, NULL));
      fetch(&out);
      for (int i = 0; i < 3; i++) {
        float is = ((float *)(void *)out.memory)[i], should = with_init ? ((float *)(void *)init.memory)[i] : 1;
        ck_assert(is == should);
      }
      free_array(&out);
      free_array(&init);
    }
  close_contexts();
}
END_TEST

/* ---- further arrays ---------------------------------------------------------------------------------------------- */

enum { MORE = 4, BESIDE = MORE + 2, OUTPUTS = 2 };

/* A problem of arrays in host memory or the engine's: further inputs, mask and segments, and two outputs. */
static void give_arrays(rowscan_problem *p, const array *in, const array *beside, const array *out, const array *second,
                        bool in_host) {
  p->input = input_of(in, in_host);
  p->output = output_of(out, in_host);
  bool masked_recurrence = p->op == ROWSCAN_LINEAR_RECURRENCE && p->mask_mode;
  for (int i = 0; i < (p->op == ROWSCAN_GAE ? MORE : masked_recurrence); i++)
    p->more[i] = input_of(&beside[i], in_host);
  if (p->op != ROWSCAN_GAE)
    p->mask = input_of(&beside[MORE], in_host);
  if (p->segment_mode)
    p->segments = input_of(&beside[MORE + 1], in_host);
  if (p->op != ROWSCAN_LINEAR_RECURRENCE && p->op != ROWSCAN_SUM)
    p->second = output_of(second, in_host);
}

/* With P(0), which is what an exclusive scan begins with; the second output has none. */
static void check_further(rowscan_problem p, int64_t n, uint64_t *random) {
  int64_t shape[RANK] = {1 + below(random, 4), n, 1 + below(random, 5)}, longer[RANK] = {shape[0], n + 1, shape[2]};
  rowscan_type result = p.op == ROWSCAN_ARGMAX ? ROWSCAN_I64 : ROWSCAN_F32;
  bool coefficient = p.op == ROWSCAN_LINEAR_RECURRENCE && !p.mask_mode;
  const rowscan_type types[BESIDE] = {
      ROWSCAN_F32, ROWSCAN_F32, ROWSCAN_BOOL, ROWSCAN_BOOL, coefficient ? ROWSCAN_F32 : ROWSCAN_BOOL, ROWSCAN_U8};
  array in = make_array(ROWSCAN_F32, RANK, shape, 1, random), beside[BESIDE];
  for (int i = 0; i < BESIDE; i++)
    beside[i] = make_array(types[i], RANK, shape, 1 + below(random, 2), random);
  array out = make_array(result, RANK, longer, 1 + below(random, 2), random);
  array inclusive = make_array(result, RANK, longer, 1, random),
        exclusive = make_array(result, RANK, longer, 1, random);
  array second = make_array(ROWSCAN_F32, RANK, shape, 1 + below(random, 2), random);
  array right = make_array(ROWSCAN_F32, RANK, shape, 1, random);
  unsigned flags = p.flags;
  p.shape = shape;
  p.flags = flags | ROWSCAN_EXCLUSIVE;
  give_arrays(&p, &in, beside, &exclusive, &right, true);
  must(rowscan_scan_host(host, &p));
  p.flags = flags;
  give_arrays(&p, &in, beside, &inclusive, &right, true);
  must(rowscan_scan_host(host, &p));
  p.flags |= ROWSCAN_INCLUDE_INITIAL;
  for (int in_host = 0; in_host < 2; in_host++) {
    write_random(&out, random);
    write_random(&second, random);
    give_arrays(&p, &in, beside, &out, &second, in_host);
    must(rowscan_prepare(context, &p));
    must(in_host ? rowscan_scan_host(context, &p) : rowscan_scan(context, &p, NULL));
    if (!in_host) {
      fetch(&out);
      fetch(&second);
    }
    bool reverse = flags & ROWSCAN_REVERSE;
    for (int64_t i = 0; i < shape[0]; i++)
      for (int64_t j = 0; j < shape[2]; j++) {
        same(&out, reverse ? n : 0, &exclusive, reverse ? n - 1 : 0, i, j);
        for (int64_t e = 0; e < n; e++)
          same(&out, reverse ? e : e + 1, &inclusive, e, i, j);
        for (int64_t e = 0; e < n && p.second.data; e++)
          same(&second, e, &right, e, i, j);
      }
  }
  array *const all[] = {&in, &out, &inclusive, &exclusive, &second, &right};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free_array(all[i]);
  for (int i = 0; i < BESIDE; i++)
    free_array(&beside[i]);
}

START_TEST(further_arrays) {
  const rowscan_problem problems[] = {
      {.op = ROWSCAN_GAE, .flags = ROWSCAN_REVERSE, .params = {0.99, 0.95}},
      {.op = ROWSCAN_ARGMAX, .mask_mode = ROWSCAN_MASK_SELECT, .segment_mode = ROWSCAN_MASK_HEADS},
      {.op = ROWSCAN_LINEAR_RECURRENCE, .segment_mode = ROWSCAN_MASK_TAILS},
      {.op = ROWSCAN_LINEAR_RECURRENCE, .mask_mode = ROWSCAN_MASK_SELECT},
      {.op = ROWSCAN_SUM, .mask_mode = ROWSCAN_MASK_MULTIPLY, .segment_mode = ROWSCAN_MASK_KEYS}};
  static const int64_t lengths[] = {1, 31, 300, 9000};
  uint64_t random = seed + 300;
  open_contexts();
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    for (int n = 0; n < 4; n++) {
      rowscan_problem p = problems[i];
      p.size = sizeof p;
      p.rank = RANK;
      p.dim = 1;
      check_further(p, lengths[n], &random);
    }
  close_contexts();
}
END_TEST

/* ---- P(0) of any operator ---------------------------------------------------------------------------------------- */

/* Any operator, each type, one of those that tests create with coefficients more often than others. */
static bool draw_spec(rowscan_spec *spec, uint64_t *random) {
  uint64_t number = rs_random(random) >> 8, ops = (uint64_t)op_count() + 1;
  *spec = (rowscan_spec){.in_type = (rowscan_type)(1 + below(random, ROWSCAN_BOOL)),
                         .mask_mode = (rowscan_mask_mode)below(random, ROWSCAN_MASK_MULTIPLY + 1),
                         .flags = below(random, 2) ? ROWSCAN_REVERSE : 0};
  spec->mask_type = below(random, 2) ? ROWSCAN_BOOL : spec->in_type;
  if (below(random, 4) == 0)
    number = number / ops * ops + (uint64_t)(rowscan_op_by_name("Damped") - ROWSCAN_FIRST_CREATED) + ROWSCAN_GAE + 1;
  op_take(spec, number);
  if (below(random, 2))
    further_take(spec, rs_random(random) >> 8);
  if (spec->segment_mode && !spec->mask_mode) { /* which a problem reads as the other */
    spec->mask_mode = spec->segment_mode;
    spec->mask_type = spec->segment_type;
    spec->segment_mode = ROWSCAN_MASK_NONE;
    spec->segment_type = ROWSCAN_TYPE_DEFAULT;
  }
  return spec_fits(spec);
}

typedef struct any_arrays {
  array in, mask, segments, more[RS_MOST_MORE], init, out, second;
} any_arrays;

static void make_arrays(any_arrays *a, const rowscan_spec *spec, const int64_t *shape, uint64_t *random) {
  const rowscan_type types[] = {spec->in_type, spec->mask_mode ? spec->mask_type : ROWSCAN_BOOL,
                                spec->segment_mode ? spec->segment_type : ROWSCAN_BOOL};
  array *const read[] = {&a->in, &a->mask, &a->segments};
  for (int i = 0; i < 3; i++)
    *read[i] = make_array(types[i], RANK, shape, 1 + below(random, 2), random);
  for (int i = 0; i < RS_MOST_MORE; i++)
    a->more[i] = make_array(spec->more_types[i] ? spec->more_types[i] : ROWSCAN_BOOL, RANK, shape, 1, random);
  int64_t longer[RANK] = {shape[0], shape[1] + 1, shape[2]}, ends[RANK] = {shape[0], 1, shape[2]};
  a->init = make_array(rs_kept_type(spec->acc_type), RANK, ends, 1, random);
  a->out = make_array(spec->out_type, RANK, longer, 1 + below(random, 2), random);
  a->second = make_array(spec->second_type ? spec->second_type : ROWSCAN_BOOL, RANK, shape, 1, random);
}

static void free_arrays(any_arrays *a) {
  array *const all[] = {&a->in, &a->mask, &a->segments, &a->init, &a->out, &a->second};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free_array(all[i]);
  for (int i = 0; i < RS_MOST_MORE; i++)
    free_array(&a->more[i]);
}

static rowscan_problem any_problem(const rowscan_spec *spec, const any_arrays *a, const int64_t *shape, bool with_init,
                                   bool in_host) {
  rowscan_problem p = {.size = sizeof p,
                       .op = spec->op,
                       .flags = spec->flags | ROWSCAN_INCLUDE_INITIAL,
                       .rank = RANK,
                       .dim = 1,
                       .shape = shape,
                       .input = input_of(&a->in, in_host),
                       .output = output_of(&a->out, in_host),
                       .mask_mode = spec->mask_mode,
                       .segment_mode = spec->segment_mode,
                       .acc_type = spec->acc_type};
  if (spec->mask_mode)
    p.mask = input_of(&a->mask, in_host);
  if (spec->segment_mode)
    p.segments = input_of(&a->segments, in_host);
  for (int i = 0; i < RS_MOST_MORE && spec->more_types[i]; i++)
    p.more[i] = input_of(&a->more[i], in_host);
  if (spec->second_type)
    p.second = output_of(&a->second, in_host);
  if (with_init && op_begins(spec))
    p.init = input_of(&a->init, in_host);
  for (int i = 0; i < rs_op_of(spec->op)->params; i++)
    p.params[i] = 0.875;
  return p;
}

/* The judge scans the same arrays, into memory of its own. */
static void judge_problem(const rowscan_problem *problem, char *right, char *second) {
  rowscan_problem p = *problem;
  rowscan_spec spec = {.size = sizeof spec};
  rs_rows rows;
  p.output.data = right;
  if (p.second.data)
    p.second.data = second;
  must(rs_rows_from_problem(&rows, &spec, &p));
  judge_scan(&spec, &rows);
}

static void check_any_initial(rowscan_spec spec, int64_t n, uint64_t *random) {
  int64_t shape[RANK] = {1 + below(random, 3), n, 1 + below(random, 4)};
  bool with_init = below(random, 2);
  any_arrays a;
  make_arrays(&a, &spec, shape, random);
  array right = make_array(a.out.type, 1, &a.out.count, 1, random);
  array second = make_array(a.second.type, 1, &a.second.count, 1, random);
  for (int in_host = 0; in_host < 2; in_host++) {
    rowscan_problem p = any_problem(&spec, &a, shape, with_init, in_host);
    must(in_host ? rowscan_scan_host(context, &p) : rowscan_scan(context, &p, NULL));
    if (!in_host)
      fetch(&a.out);
    memcpy(right.memory, a.out.memory, bytes_of(&right));
    p = any_problem(&spec, &a, shape, with_init, true);
    judge_problem(&p, right.memory, second.memory);
    for (int64_t i = 0, width = (int64_t)rowscan_type_bytes(a.out.type); i < a.out.count; i++)
      ck_assert_msg(judge_equal(a.out.type, a.out.memory + i * width, right.memory + i * width),
                    "%s of %s, flags %u, init %d, %lld elements a row: element %lld of the output",
                    rowscan_op_name(spec.op), rowscan_type_name(spec.in_type), spec.flags, with_init, (long long)n,
                    (long long)i);
  }
  free_arrays(&a);
  free_array(&right);
  free_array(&second);
}

/* On a simulated GPU each is some kernels, which take seconds to compile. */
START_TEST(initial_of_any_operator) {
  uint64_t random = seed + 900 + (uint64_t)_i;
  rowscan_spec spec;
  open_contexts();
  for (int turn = 0; turn < (on_gpu ? 2 : 100); turn++) {
    while (!draw_spec(&spec, &random) || (turn == 0) != (spec.op == (rowscan_op)rowscan_op_by_name("Damped")))
      ;
    check_any_initial(spec, below(&random, 3) ? below(&random, 40) : 500, &random);
  }
  close_contexts();
}
END_TEST

/* ---- strides of initial values and totals ------------------------------------------------------------------------ */

/* Each has its own; some initial values are those of several rows. */
START_TEST(initial_values_and_totals_have_strides) {
  uint64_t random = seed + 50 + (uint64_t)_i;
  const kind *k = &kinds[_i];
  open_contexts();
  for (int turn = 0; turn < (is_quick() ? 3 : 10); turn++) {
    int64_t shape[RANK] = {1 + below(&random, 4), 1 + below(&random, 2) * 77, 1 + below(&random, 5)};
    int64_t ends[RANK] = {shape[0], 1, shape[2]};
    array in = make_array(k->in, RANK, shape, 1, &random), mask = make_array(ROWSCAN_BOOL, RANK, shape, 1, &random);
    array out = make_array(k->out, RANK, shape, 1, &random), right_out = make_array(k->out, RANK, shape, 1, &random);
    array init = make_array(rs_kept_type(k->acc), RANK, ends, 1 + below(&random, 3), &random);
    array totals = make_array(rs_kept_type(k->acc), RANK, ends, 1 + below(&random, 3), &random);
    array right = make_array(rs_kept_type(k->acc), RANK, ends, 1 + below(&random, 3), &random);
    if (below(&random, 2))
      init.strides[2 * below(&random, 2)] = 0;
    rowscan_problem p = problem_of(k, RANK, 1, shape);
    p.input = input_of(&in, false);
    p.output = output_of(&out, false);
    p.mask = mask_of(k, &mask, false);
    p.init = input_of(&init, false);
    p.totals = output_of(&totals, false);
    must(rowscan_scan(context, &p, NULL));
    fetch(&out);
    fetch(&totals);
    p.input = input_of(&in, true);
    p.output = output_of(&right_out, true);
    p.mask = mask_of(k, &mask, true);
    p.init = input_of(&init, true);
    p.totals = output_of(&right, true);
    must(rowscan_scan_host(host, &p));
    for (int64_t i = 0; i < shape[0]; i++)
      for (int64_t j = 0; j < shape[2]; j++) {
        for (int64_t e = 0; e < shape[1]; e++)
          same(&out, e, &right_out, e, i, j);
        same(&totals, 0, &right, 0, i, j);
      }
    free_array(&in);
    free_array(&mask);
    free_array(&out);
    free_array(&right_out);
    free_array(&init);
    free_array(&totals);
    free_array(&right);
  }
  close_contexts();
}
END_TEST

/* Rows of no elements have totals, too. */
START_TEST(totals_of_nothing_have_strides) {
  uint64_t random = seed;
  int64_t shape[] = {3, 0}, ends[] = {3, 1};
  open_contexts();
  array totals = make_array(ROWSCAN_F32, 2, ends, 2, &random);
  rowscan_problem p = problem_of(&kinds[0], 2, 1, shape);
  p.totals = output_of(&totals, false);
  float before = ((float *)(void *)totals.memory)[1];
  must(rowscan_scan(context, &p, NULL));
  fetch(&totals);
  const float *is = (const float *)(const void *)totals.memory;
  ck_assert(is[0] == 0 && is[1] == before && is[2] == 0 && is[4] == 0);
  int64_t wild[] = {INT64_MAX / 2, 1};
  p.totals.strides = wild;
  ck_assert_int_eq(rowscan_scan(context, &p, NULL), ROWSCAN_BAD_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(rowscan_last_error(), "'totals.strides'"));
  free_array(&totals);
  close_contexts();
}
END_TEST

/* ---- fixed point ------------------------------------------------------------------------------------------------- */

enum { FIXED_ROWS = 3000 };

/* Rows of one element: what becomes of it, or of an initial value. */
static void check_fixed(rowscan_type in, rowscan_type out, int point, const void *input, const int64_t *init) {
  static const int64_t shape[] = {FIXED_ROWS, 1};
  static char got[FIXED_ROWS * 8], want[FIXED_ROWS * 8];
  static int64_t totals[FIXED_ROWS], right[FIXED_ROWS];
  rowscan_spec spec = {.size = sizeof spec,
                       .in_type = in,
                       .out_type = out,
                       .acc_type = ROWSCAN_FIXED(point),
                       .flags = init ? ROWSCAN_EXCLUSIVE : 0,
                       .length = 1};
  must(rowscan_spec_complete(&spec));
  must(rowscan_scan_host(context, ROWSCAN_PROBLEM(.flags = spec.flags, .rank = 2, .dim = 1, .shape = shape,
                                                  .input = {.data = input, .type = in},
                                                  .output = {.data = got, .type = out}, .acc_type = spec.acc_type,
                                                  .init = {.data = init}, .totals = {.data = totals})));
  rs_rows rows = {.rank = 1,
                  .shape = {FIXED_ROWS},
                  .count = FIXED_ROWS,
                  .array[RS_IN] = {.data = (void *)input, .step = 1, .stride = {1}},
                  .array[RS_OUT] = {.data = want, .step = 1, .stride = {1}},
                  .array[RS_INIT] = {.data = (void *)init, .stride = {1}},
                  .array[RS_TOTALS] = {.data = right, .stride = {1}}};
  judge_scan(&spec, &rows);
  size_t size = rowscan_type_bytes(out);
  for (int r = 0; r < FIXED_ROWS; r++)
    ck_assert_msg(totals[r] == right[r] && judge_equal(out, got + (size_t)r * size, want + (size_t)r * size),
                  "%s to %s, fixed:%d, row %d: its result, or its total: %lld, not %lld", rowscan_type_name(in),
                  rowscan_type_name(out), point, r, (long long)totals[r], (long long)right[r]);
}

/* Numbers about halfway between two that f16, bf16, f32 and f64 have. */
START_TEST(fixed_point_is_rounded_once) {
  static const int point[] = {0, 20, 62};
  static const int bits[] = {9, 12, 25, 54}; /* one more than a type has */
  static float zeros[FIXED_ROWS];
  static int64_t init[FIXED_ROWS];
  uint64_t random = seed;
  open_contexts();
  for (int r = 0; r < FIXED_ROWS; r++) {
    int of = bits[r % 4], shift = (int)below(&random, 63 - of);
    int64_t odd = (INT64_C(1) << (of - 1)) | (below(&random, INT64_C(1) << (of < 31 ? of - 1 : 30)) | 1);
    init[r] = (odd << shift) + below(&random, 3) - 1;
    init[r] = below(&random, 2) ? init[r] : -init[r];
  }
  for (int p = 0; p < 3; p++)
    for (rowscan_type out = ROWSCAN_F16; out <= ROWSCAN_F64; out++)
      check_fixed(ROWSCAN_F32, out, point[p], zeros, init);
  close_contexts();
}
END_TEST

/* Halfway between two whole numbers, beyond all, infinite and NaN. */
START_TEST(fixed_point_of_anything) {
  static float single[FIXED_ROWS];
  static double real[FIXED_ROWS];
  static const double odd[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, 0x1p63, -0x1p63, 0x1p-1074, -0.0};
  uint64_t random = seed + 1;
  open_contexts();
  for (int r = 0; r < FIXED_ROWS; r++) {
    int64_t half = 2 * below(&random, INT64_C(1) << below(&random, 31)) + 1;
    double x = ldexp((double)half, -1 - (int)below(&random, 2) * 31 + (int)below(&random, 3) * 20);
    real[r] = r % 8 == 7 ? odd[r / 8 % 7] : below(&random, 2) ? x : -x;
    single[r] = (float)real[r];
  }
  for (int p = 0; p < 63; p += 31) {
    check_fixed(ROWSCAN_F32, ROWSCAN_F32, p, single, NULL);
    check_fixed(ROWSCAN_F64, ROWSCAN_F64, p, real, NULL);
  }
  close_contexts();
}
END_TEST

/* ---- made ready ahead -------------------------------------------------------------------------------------------- */

/* Kernels that were compiled, or found in the cache. */
static int64_t kernels(void) {
  rowscan_cache_info info = ROWSCAN_INFO(info);
  must(rowscan_cache_info_get(context, &info));
  return info.counts.compiles + info.counts.hits;
}

START_TEST(prepared) {
  uint64_t random = seed + 70;
  int64_t shape[] = {5, 200}, longer[] = {5, 201};
  open_contexts();
  array in = make_array(ROWSCAN_F32, 2, shape, 1, &random), out = make_array(ROWSCAN_F32, 2, longer, 1, &random);
  memset(out.memory, 0x5a, bytes_of(&out));
  rowscan_problem p = problem_of(&kinds[0], 2, 1, shape);
  p.flags = ROWSCAN_INCLUDE_INITIAL;
  p.input = input_of(&in, false);
  p.output = output_of(&out, false);
  if (out.device)
    device_upload(out.device, out.memory, bytes_of(&out), NULL);
  must(rowscan_prepare(context, &p));
  fetch(&out);
  for (size_t i = 0; i < bytes_of(&out); i++)
    ck_assert_int_eq(out.memory[i], 0x5a);
  int64_t before = kernels();
  must(rowscan_scan(context, &p, NULL));
  ck_assert_int_eq(kernels(), before);
  ck_assert(before > 0 || !on_gpu);

  rowscan_spec spec = ROWSCAN_INFO(spec);
  char *text;
  must(rowscan_problem_spec(&p, &spec));
  must(rowscan_spec_text(&spec, &text));
  ck_assert_str_eq(text,
                   "op=sum in=f32 out=f32 acc=f32 mask=none reverse=0 exclusive=0 length=200 layout=rows row_rank=1");
  rowscan_free(text);
  p.output.type = 99;
  ck_assert_int_eq(rowscan_prepare(context, &p), ROWSCAN_BAD_ARGUMENT);
  ck_assert_int_eq(rowscan_problem_spec(&p, &spec), ROWSCAN_BAD_ARGUMENT);
  free_array(&in);
  free_array(&out);
  close_contexts();
}
END_TEST

/* ---- chunk by chunk ---------------------------------------------------------------------------------------------- */

typedef struct way {
  unsigned flags; /* besides the kind's */
  int64_t power;  /* of two: chunks of 2^power elements; -1: of any length */
  bool in_place, init;
} way;

static char *at_index(const array *a, int64_t index) {
  return reach(a) + index * a->strides[1] * (int64_t)rowscan_type_bytes(a->type);
}

static void carry_through(rowscan_carry *carry, const kind *k, int64_t n, const way *w, uint64_t *random) {
  int64_t shape[RANK] = {1 + below(random, 3), n, 1 + below(random, 3)}, ends[RANK] = {shape[0], 1, shape[2]};
  unsigned flags = k->flags | w->flags;
  bool in_place = w->in_place && k->in == k->out, reverse = flags & ROWSCAN_REVERSE;
  array in = make_array(k->in, RANK, shape, 1, random), mask = make_array(ROWSCAN_BOOL, RANK, shape, 1, random);
  array out = make_array(k->out, RANK, shape, 1, random), right = make_array(k->out, RANK, shape, 1, random);
  array init = make_array(rs_kept_type(k->acc), RANK, ends, 1 + below(random, 3), random);
  array totals = make_array(rs_kept_type(k->acc), RANK, ends, 1 + below(random, 3), random);
  array right_totals = make_array(rs_kept_type(k->acc), RANK, ends, 1, random);
  rowscan_problem p = problem_of(k, RANK, 1, shape);
  p.flags = flags;
  p.input = input_of(&in, true);
  p.mask = mask_of(k, &mask, true);
  if (w->init)
    p.init = input_of(&init, true);
  p.output = output_of(&right, true);
  p.totals = output_of(&right_totals, true);
  must(rowscan_scan_host(host, &p));

  array *to = in_place ? &in : &out;
  for (int64_t done = 0; done < n;) {
    int64_t part = w->power >= 0 ? INT64_C(1) << w->power : below(random, n / 3 + 2);
    part = part < n - done ? part : n - done;
    int64_t first = reverse ? n - done - part : done, some[RANK] = {shape[0], part, shape[2]};
    p = problem_of(k, RANK, 1, some);
    p.flags = flags;
    p.input = input_of(&in, false);
    p.input.data = at_index(&in, first);
    p.output = output_of(to, false);
    p.output.data = at_index(to, first);
    p.mask = mask_of(k, &mask, false);
    if (k->mask)
      p.mask.data = at_index(&mask, first);
    if (w->init && !done)
      p.init = input_of(&init, false);
    p.totals = output_of(&totals, false);
    must(rowscan_carry_scan(carry, &p, NULL));
    done += part;
  }
  fetch(to);
  fetch(&totals);
  for (int64_t i = 0; i < shape[0]; i++)
    for (int64_t j = 0; j < shape[2]; j++) {
      for (int64_t e = 0; e < n; e++)
        same(to, e, &right, e, i, j);
      same(&totals, 0, &right_totals, 0, i, j);
    }
  free_array(&in);
  free_array(&mask);
  free_array(&out);
  free_array(&right);
  free_array(&init);
  free_array(&totals);
  free_array(&right_totals);
}

START_TEST(chunks_are_one_scan) {
  uint64_t random = seed + 100 + (uint64_t)_i;
  rowscan_carry *carry;
  open_contexts();
  must(rowscan_carry_create(&carry, context));
  for (int turn = 0; turn < (is_quick() ? 4 : 16); turn++) {
    way w = {.flags = turn & 1 ? ROWSCAN_EXCLUSIVE : 0,
             .power = turn & 2 ? -1 : 4 + below(&random, 3),
             .in_place = below(&random, 2),
             .init = below(&random, 2)};
    carry_through(carry, &kinds[_i], 1 + below(&random, 1000), &w, &random);
    rowscan_carry_reset(carry);
  }
  rowscan_carry_destroy(carry);
  close_contexts();
}
END_TEST

/* Each chunk with the prefix before it: the first one's is P(0). */
START_TEST(chunks_with_the_prefix_before) {
  uint64_t random = seed + 200;
  int64_t shape[] = {100}, longer[] = {101};
  rowscan_carry *carry;
  open_contexts();
  must(rowscan_carry_create(&carry, context));
  array in = make_array(ROWSCAN_F32, 1, shape, 1, &random), right = make_array(ROWSCAN_F32, 1, longer, 1, &random);
  rowscan_problem p = problem_of(&kinds[0], 1, 0, shape);
  p.flags = ROWSCAN_INCLUDE_INITIAL;
  p.input = input_of(&in, true);
  p.output = output_of(&right, true);
  must(rowscan_scan_host(host, &p));
  for (int64_t done = 0, part = 25; done < 100; done += part) {
    int64_t some[] = {part}, more[] = {part + 1};
    array out = make_array(ROWSCAN_F32, 1, more, 1, &random);
    p.shape = some;
    p.input.data = reach(&in) + 4 * done;
    p.output = output_of(&out, false);
    must(rowscan_carry_scan(carry, &p, NULL));
    fetch(&out);
    ck_assert_mem_eq(out.memory, right.memory + 4 * done, 4 * (size_t)(part + 1));
    free_array(&out);
  }
  rowscan_carry_destroy(carry);
  rowscan_carry_destroy(NULL);
  free_array(&in);
  free_array(&right);
  close_contexts();
}
END_TEST

START_TEST(chunks_of_another_form) {
  uint64_t random = seed + 300;
  int64_t shape[] = {4, 10}, other[] = {5, 10}, nothing[] = {4, 0};
  rowscan_carry *carry;
  open_contexts();
  must(rowscan_carry_create(&carry, context));
  array in = make_array(ROWSCAN_F32, 2, other, 1, &random), out = make_array(ROWSCAN_F32, 2, other, 1, &random);
  rowscan_problem p = problem_of(&kinds[0], 2, 1, shape), good;
  p.input = input_of(&in, false);
  p.output = output_of(&out, false);
  must(rowscan_carry_scan(carry, &p, NULL));
  good = p;
  const struct {
    const char *field;
    rowscan_problem problem;
  } bad[] = {{"'op': prod, but the first chunk's is sum", (p = good, p.op = ROWSCAN_PROD, p)},
             {"'reverse': 1, but the first chunk's is 0", (p = good, p.flags = ROWSCAN_REVERSE, p)},
             {"'mask': select, but", (p = good, p.mask_mode = ROWSCAN_MASK_SELECT, p.mask.data = reach(&in), p)},
             {"'dim'", (p = good, p.dim = 0, p)},
             {"'shape'", (p = good, p.shape = other, p)},
             {"'acc': f64, but the first chunk's is f32", (p = good, p.acc_type = ROWSCAN_F64, p)},
             {"'init.type': f64", (p = good, p.init.data = reach(&in), p.init.type = ROWSCAN_F64, p)},
             {"'init'", (p = good, p.init.data = reach(&in), p)}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ck_assert_int_eq(rowscan_carry_scan(carry, &bad[i].problem, NULL), ROWSCAN_BAD_ARGUMENT);
    ck_assert_msg(strstr(rowscan_last_error(), bad[i].field), "%s", rowscan_last_error());
  }
  must(rowscan_carry_scan(carry, &good, NULL)); /* what was refused has changed nothing */
  good.shape = nothing;
  must(rowscan_carry_scan(carry, &good, NULL));
  rowscan_carry_reset(carry);
  good.shape = other;
  must(rowscan_carry_scan(carry, &good, NULL));
  rowscan_carry_reset(carry);
  bool gpu = rowscan_context_engine(context) == ROWSCAN_ENGINE_CUDA;
  rowscan_status refused = gpu ? ROWSCAN_UNSUPPORTED : ROWSCAN_OK;
  p = good;
  p.shape = other;
  p.mask_mode = ROWSCAN_MASK_HEADS;
  p.mask.data = reach(&in);
  p.mask.type = ROWSCAN_U8;
  must(rowscan_carry_scan(carry, &p, NULL));
  rowscan_carry_reset(carry);
  p.mask_mode = ROWSCAN_MASK_SELECT;
  p.segment_mode = ROWSCAN_MASK_HEADS;
  p.segments = p.mask;
  ck_assert_int_eq(rowscan_carry_scan(carry, &p, NULL), refused);
  ck_assert_msg(!gpu || strstr(rowscan_last_error(), "further arrays are not supported on GPUs"), "%s",
                rowscan_last_error());
  rowscan_carry_reset(carry);
  p = good;
  p.op = ROWSCAN_ARGMAX;
  p.flags = ROWSCAN_REVERSE;
  p.output.type = ROWSCAN_I32;
  p.acc_type = ROWSCAN_TYPE_DEFAULT;
  ck_assert_int_eq(rowscan_carry_scan(carry, &p, NULL), ROWSCAN_UNSUPPORTED);
  ck_assert_msg(strstr(rowscan_last_error(), "'op': a carry does not support argmax"), "%s", rowscan_last_error());
  rowscan_carry_destroy(carry);
  free_array(&in);
  free_array(&out);
  close_contexts();
}
END_TEST

/* So many rows that their bytes wrap: an initial value for all of them would be written where nothing is. */
START_TEST(an_empty_chunk_of_more_rows_than_memory) {
  static float a, b, initial = 3;
  int64_t shape[] = {(INT64_C(1) << 62) + 1, 0}, stay[] = {0, 0};
  rowscan_carry *carry;
  open_contexts();
  must(rowscan_carry_create(&carry, host));
  rowscan_problem p = problem_of(&kinds[0], 2, 1, shape);
  p.input.data = &a;
  p.output.data = &b;
  p.init = (rowscan_input){.data = &initial, .strides = stay};
  must(rowscan_scan(host, &p, NULL));
  ck_assert_int_eq(rowscan_carry_scan(carry, &p, NULL), ROWSCAN_BAD_ARGUMENT);
  ck_assert_msg(strstr(rowscan_last_error(), "'shape': 4611686018427387905 rows of 0 elements exceed 2^56 elements"),
                "%s", rowscan_last_error());
  rowscan_carry_destroy(carry);
  close_contexts();
}
END_TEST

/* ---- main -------------------------------------------------------------------------------------------------------- */

int main(void) {
  if (getenv("ROWSCAN_TEST_SEED"))
    seed = strtoull(getenv("ROWSCAN_TEST_SEED"), NULL, 0);
  on_gpu = device_there();
  printf("on %s\n", on_gpu ? "a GPU" : "the host");
  lot_tell();
  Suite *suite = suite_create("one call");
  TCase *cases = tcase_create("one call");
  tcase_set_timeout(cases, 1200);
  lot_add_loop_test(cases, initial_included, 0, KINDS);
  lot_add_test(cases, initial_of_nothing);
  lot_add_test(cases, further_arrays);
  lot_add_loop_test(cases, initial_of_any_operator, 0, 4);
  lot_add_loop_test(cases, initial_values_and_totals_have_strides, 0, KINDS);
  lot_add_test(cases, totals_of_nothing_have_strides);
  lot_add_test(cases, fixed_point_is_rounded_once);
  lot_add_test(cases, fixed_point_of_anything);
  lot_add_test(cases, prepared);
  lot_add_loop_test(cases, chunks_are_one_scan, 0, KINDS);
  lot_add_test(cases, chunks_with_the_prefix_before);
  lot_add_test(cases, chunks_of_another_form);
  lot_add_test(cases, an_empty_chunk_of_more_rows_than_memory);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
