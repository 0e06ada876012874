/*
 * test_host.c - the host engine against the judge, bit for bit
 * SPDX-License-Identifier: MIT
 *
 * The host engine is what kernels are compared with, so it must be right by something simpler: the judge, which
 * computes each element from the definition. Problems are random in everything that a caller may choose, with outputs
 * compared byte by byte, the gaps between rows included. They run with every set of inner loops that this processor
 * knows, and with pools of several sizes. ROWSCAN_TEST_SEED repeats a run; ROWSCAN_TEST_BIG=1 adds rows beyond 2^31 (2
 * GB of memory). RS_QUICK=1: an eighth of the random problems, half of the long rows, and those of tests of threads
 * half as long. CK_EXCLUDE_TAGS=alone leaves out what starts no threads.
 */
#include "host/host.h"

#include <check.h>
#include <dirent.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../gpu/any_op.h"
#include "../support/judge.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "base/ints.h"
#include "host/isa.h"

/* ---- random choices ---------------------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static int64_t below(uint64_t *state, int64_t n) {
  return (int64_t)(rs_random(state) % (uint64_t)n);
}

static double unit(uint64_t *state) {
  return (double)(rs_random(state) >> 11) * 0x1p-53;
}

static bool floating(rowscan_type type) {
  return rs_type_kind(type) == RS_FLOAT;
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

enum { MAX_DIMS = 5 };

/* What elements are made of. */
typedef enum flavour { PLAIN, SMALL, SPECIAL, ZEROS, FLAVOURS } flavour;

/* An array, its strides in the order [rows..., step], and the element that they start at. */
typedef struct field {
  char *memory;
  size_t bytes;
  int64_t stride[MAX_DIMS], start;
} field;

typedef struct problem {
  rowscan_spec spec;
  rs_rows rows;
  field in, out, mask, init, totals, more[RS_MOST_MORE], second, segments; /* without memory: there is none */
  bool in_place;
} problem;

static void put(rowscan_type type, void *p, double x) {
  uint16_t half;
  float single = (float)x;
  switch (type) {
  case ROWSCAN_F16:
  case ROWSCAN_BF16:
    half = judge_round(type, x);
    memcpy(p, &half, 2);
    break;
  case ROWSCAN_F32:
    memcpy(p, &single, 4);
    break;
  default:
    memcpy(p, &x, 8);
  }
}

static double smallest(rowscan_type type) {
  return type == ROWSCAN_F16 ? 0x1p-24 : type == ROWSCAN_BF16 ? 0x1p-133 : type == ROWSCAN_F32 ? 0x1p-149 : 0x1p-1074;
}

static double any_real(uint64_t *r, const rowscan_spec *spec, rowscan_type type, flavour f) {
  double sign = below(r, 2) ? 1 : -1;
  int64_t dice = below(r, 64);
  if (f == ZEROS)
    return sign * 0.0;
  if (f == SPECIAL && dice < 3)
    return dice == 0 ? (double)NAN : sign * (double)INFINITY;
  if (f != PLAIN && dice < 24)
    return dice < 6 ? sign * 0.0 : sign * (double)below(r, 2000) * smallest(type);
  if (spec->op == ROWSCAN_PROD)
    return sign * (0.9 + 0.2 * unit(r));
  return sign * ldexp(unit(r), (int)below(r, 13) - 6);
}

static void fill(uint64_t *r, const rowscan_spec *spec, rowscan_type type, flavour f, void *memory, int64_t n) {
  int64_t bytes = (int64_t)rowscan_type_bytes(type);
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = rs_random(r);
    if (floating(type))
      put(type, (char *)memory + i * bytes, any_real(r, spec, type, f));
    else
      judge_write(type, (char *)memory + i * bytes, bits);
  }
}

/* Masks: about one in three is 0; some differ from it as little as can be. Of flags and keys fewer may be other than 0,
 * down to one in some hundreds. */
static void fill_mask(uint64_t *r, const rowscan_spec *spec, void *memory, int64_t n) {
  rowscan_type type = spec->mask_type;
  int64_t bytes = (int64_t)rowscan_type_bytes(type), rare = rs_spec_has_segments(spec) ? 1 << below(r, 9) : 1;
  fill(r, spec, type, below(r, 2) ? PLAIN : SPECIAL, memory, n);
  for (int64_t i = 0; i < n; i++) {
    char *p = (char *)memory + i * bytes;
    int64_t dice = below(r, 9);
    if (dice < 4)
      memset(p, 0, (size_t)bytes);
    if (dice == 2)
      p[0] = 1;
    if (dice == 3)
      p[bytes - 1] = (char)0x80; /* -0.0, or the lowest integer */
    if (below(r, rare))
      memset(p, 0, (size_t)bytes);
  }
}

static void random_order(uint64_t *r, int *order, int n) {
  for (int d = 0; d < n; d++) {
    int other = (int)below(r, d + 1);
    order[d] = order[other];
    order[other] = d;
  }
}

/* Lays dimensions out in a random order, with gaps, some backwards, and for inputs some repeated. */
static void lay_out(uint64_t *r, field *f, rowscan_type type, const int64_t *shape, int dims, bool input, bool plain) {
  int64_t span = 1;
  int order[MAX_DIMS];
  f->start = 0;
  random_order(r, order, dims);
  for (int d = 0; plain && d < dims; d++)
    order[d] = dims - 1 - d;
  for (int i = 0; i < dims; i++) {
    int d = order[i];
    f->stride[d] = span;
    if (!plain && input && below(r, 12) == 0) {
      f->stride[d] = 0;
      continue;
    }
    span *= shape[d] + (!plain && below(r, 3) == 0 ? below(r, 3) : 0);
    if (!plain && below(r, 4) == 0 && shape[d] > 0) {
      f->start += f->stride[d] * (shape[d] - 1);
      f->stride[d] = -f->stride[d];
    }
  }
  f->bytes = (size_t)span * rowscan_type_bytes(type);
  f->memory = malloc(f->bytes + 1);
  ck_assert_ptr_nonnull(f->memory);
}

static void *field_start(const field *f, rowscan_type type) {
  return f->memory + f->start * (int64_t)rowscan_type_bytes(type);
}

static void set_rows(problem *p, const int64_t *shape, int dims) {
  const field *const fields[RS_ALL_ARRAYS] = {&p->in,      &p->out,     &p->mask,    &p->init,
                                              &p->totals,  &p->more[0], &p->more[1], &p->more[2],
                                              &p->more[3], &p->second,  &p->segments};
  const rowscan_type *more = p->spec.more_types, kept = rs_kept_type(p->spec.acc_type);
  const rowscan_type types[RS_ALL_ARRAYS] = {
      p->spec.in_type, p->spec.out_type,    p->spec.mask_type,   kept, kept, more[0], more[1], more[2],
      more[3],         p->spec.second_type, p->spec.segment_type};
  rs_rows *rows = &p->rows;
  *rows = (rs_rows){.count = 1, .rank = dims - 1, .further = rs_spec_has_further(&p->spec)};
  for (int d = 0; d < dims - 1; d++)
    rows->count *= rows->shape[d] = shape[d];
  for (int a = 0; a < rs_arrays(rows); a++) {
    rs_operand *array = &rows->array[a];
    memcpy(array->stride, fields[a]->stride, (size_t)(dims - 1) * sizeof *array->stride);
    array->step = a == RS_INIT || a == RS_TOTALS ? 0 : fields[a]->stride[dims - 1];
    array->data = fields[a]->memory ? field_start(fields[a], types[a]) : NULL;
  }
}

/*
 * Fills everything but types and operator at random. plain: dense arrays, rows one after another; initial values and
 * totals are so then half of the time.
 */
static problem any_problem(uint64_t *r, rowscan_spec spec, const int64_t *shape, int dims, bool plain) {
  problem p = {.spec = spec};
  rowscan_type kept = rs_kept_type(spec.acc_type);
  p.spec.length = shape[dims - 1];
  flavour f = (flavour)below(r, FLAVOURS);
  p.in_place = rowscan_type_bytes(spec.in_type) == rowscan_type_bytes(spec.out_type) && below(r, 5) == 0;
  lay_out(r, &p.in, spec.in_type, shape, dims, !p.in_place, plain);
  fill(r, &p.spec, spec.in_type, f, p.in.memory, (int64_t)(p.in.bytes / rowscan_type_bytes(spec.in_type)));
  if (p.in_place) {
    p.out = p.in;
  } else {
    lay_out(r, &p.out, spec.out_type, shape, dims, false, plain);
    memset(p.out.memory, 0xa5, p.out.bytes);
  }
  if (spec.mask_mode) {
    lay_out(r, &p.mask, spec.mask_type, shape, dims, true, plain);
    int64_t count = (int64_t)(p.mask.bytes / rowscan_type_bytes(spec.mask_type));
    if (spec.mask_mode == ROWSCAN_MASK_COEFFICIENT)
      fill(r, &(rowscan_spec){.op = ROWSCAN_PROD}, spec.mask_type, f, p.mask.memory, count);
    else
      fill_mask(r, &p.spec, p.mask.memory, count);
  }
  if (below(r, 3) == 0 && op_begins(&spec)) {
    lay_out(r, &p.init, kept, shape, dims - 1, true, plain && below(r, 2));
    fill(r, &p.spec, kept, f, p.init.memory, (int64_t)(p.init.bytes / rowscan_type_bytes(kept)));
  }
  if (below(r, 2)) {
    lay_out(r, &p.totals, kept, shape, dims - 1, false, plain && below(r, 2));
    memset(p.totals.memory, 0xa5, p.totals.bytes);
  }
  for (int i = 0; i < RS_MOST_MORE && spec.more_types[i]; i++) {
    lay_out(r, &p.more[i], spec.more_types[i], shape, dims, true, plain);
    fill(r, &p.spec, spec.more_types[i], f, p.more[i].memory,
         (int64_t)(p.more[i].bytes / rowscan_type_bytes(spec.more_types[i])));
  }
  if (spec.segment_mode) {
    rowscan_spec marks = {.mask_mode = spec.segment_mode, .mask_type = spec.segment_type, .length = p.spec.length};
    lay_out(r, &p.segments, spec.segment_type, shape, dims, true, plain);
    fill_mask(r, &marks, p.segments.memory, (int64_t)(p.segments.bytes / rowscan_type_bytes(spec.segment_type)));
  }
  if (spec.second_type) {
    lay_out(r, &p.second, spec.second_type, shape, dims, false, plain);
    memset(p.second.memory, 0xa5, p.second.bytes);
  }
  set_rows(&p, shape, dims);
  for (int i = 0; i < rs_op_of(spec.op)->params; i++)
    p.rows.params[i] = unit(r);
  return p;
}

static void free_problem(problem *p) {
  if (!p->in_place)
    free(p->out.memory);
  free(p->in.memory);
  free(p->mask.memory);
  free(p->init.memory);
  free(p->totals.memory);
  for (int i = 0; i < RS_MOST_MORE; i++)
    free(p->more[i].memory);
  free(p->second.memory);
  free(p->segments.memory);
}

static void describe(const problem *p, char *text, size_t room) {
  const rowscan_spec *s = &p->spec;
  int length =
      snprintf(text, room,
               "%s %s->%s acc %s mask %d %s more %s second %s segments %d %s flags %u length %lld init %d totals %d "
               "in_place %d rows",
               rowscan_op_name(s->op), rowscan_type_name(s->in_type), rowscan_type_name(s->out_type),
               rowscan_type_name(s->acc_type), s->mask_mode, rowscan_type_name(s->mask_type),
               rowscan_type_name(s->more_types[0]), rowscan_type_name(s->second_type), s->segment_mode,
               rowscan_type_name(s->segment_type), s->flags, (long long)s->length, p->init.memory != NULL,
               p->totals.memory != NULL, p->in_place);
  for (int d = 0; d < p->rows.rank; d++)
    length += snprintf(text + length, room - (size_t)length, " %lld(%lld,%lld,%lld,%lld)", (long long)p->rows.shape[d],
                       (long long)p->rows.array[RS_IN].stride[d], (long long)p->rows.array[RS_OUT].stride[d],
                       (long long)p->init.stride[d], (long long)p->totals.stride[d]);
  snprintf(text + length, room - (size_t)length, " step %lld,%lld", (long long)p->rows.array[RS_IN].step,
           (long long)p->rows.array[RS_OUT].step);
}

static void compare(const problem *p, rowscan_type type, const char *what, const void *is, const void *should,
                    size_t bytes, const char *where) {
  size_t size = rowscan_type_bytes(type);
  if (!memcmp(is, should, bytes))
    return;
  for (size_t i = 0; i < bytes / size; i++)
    if (!judge_equal(type, (const char *)is + i * size, (const char *)should + i * size)) {
      char text[1024];
      uint64_t a = 0, b = 0;
      memcpy(&a, (const char *)is + i * size, size);
      memcpy(&b, (const char *)should + i * size, size);
      describe(p, text, sizeof text);
      ck_abort_msg("%s, %s: %s element %zu is %llx, not %llx", text, where, what, i, (unsigned long long)a,
                   (unsigned long long)b);
    }
}

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

static const int pool_sizes[] = {1, 2, 3, 8};
enum { POOLS = sizeof pool_sizes / sizeof *pool_sizes };

static rs_host *hosts[POOLS];
static const rs_isa *isas[8];
static int levels;

static void open_hosts(void) {
  for (int i = 0; i < POOLS; i++)
    ck_assert_int_eq(rs_host_open(&hosts[i], pool_sizes[i]), ROWSCAN_OK);
  for (levels = 0; rs_isa_at(levels); levels++)
    isas[levels] = rs_isa_at(levels);
}

static void close_hosts(void) {
  for (int i = 0; i < POOLS; i++)
    rs_host_close(hosts[i]);
}

static field copy_of(const field *from) {
  field copy = *from;
  copy.memory = malloc(from->bytes + 1);
  memcpy(copy.memory, from->memory, from->bytes);
  return copy;
}

/* Runs the problem on copies of what it writes, and compares. `should` and `totals` are the judge's. */
static void run_one(problem *p, int pool, int level, int64_t cache, const void *should, const void *totals,
                    const void *second) {
  problem q = *p;
  char where[64];
  q.out = copy_of(&p->out);
  q.rows.array[RS_OUT].data = field_start(&q.out, p->spec.out_type);
  if (p->in_place)
    q.rows.array[RS_IN].data = q.rows.array[RS_OUT].data;
  if (p->totals.memory) {
    q.totals = copy_of(&p->totals);
    q.rows.array[RS_TOTALS].data = field_start(&q.totals, rs_kept_type(p->spec.acc_type));
  }
  if (second) {
    q.second = copy_of(&p->second);
    q.rows.array[RS_SECOND].data = field_start(&q.second, p->spec.second_type);
  }
  snprintf(where, sizeof where, "%d threads, %s, cache of %lld", pool_sizes[pool], isas[level]->name, (long long)cache);
  rs_host_force(hosts[pool], isas[level], cache);
  rs_host_run(hosts[pool], &q.spec, &q.rows);
  compare(p, p->spec.out_type, "output", q.out.memory, should, p->out.bytes, where);
  if (p->totals.memory) {
    compare(p, rs_kept_type(p->spec.acc_type), "total", q.totals.memory, totals, p->totals.bytes, where);
    free(q.totals.memory);
  }
  if (second) {
    compare(p, p->spec.second_type, "second", q.second.memory, second, p->second.bytes, where);
    free(q.second.memory);
  }
  free(q.out.memory);
}

/* Judges the problem and runs it: all pools and levels, or one of them. */
static void check_problem(uint64_t *r, problem *p, bool all) {
  rs_rows rows = p->rows;
  field should = copy_of(&p->out), totals = {0}, second = {0};
  rows.array[RS_OUT].data = field_start(&should, p->spec.out_type);
  if (p->totals.memory) {
    totals = copy_of(&p->totals);
    rows.array[RS_TOTALS].data = field_start(&totals, rs_kept_type(p->spec.acc_type));
  }
  if (p->second.memory) {
    second = copy_of(&p->second);
    rows.array[RS_SECOND].data = field_start(&second, p->spec.second_type);
  }
  judge_scan(&p->spec, &rows);
  for (int pool = 0; pool < POOLS; pool++)
    for (int level = 0; level < levels; level++)
      if (all || (below(r, POOLS * levels) == 0))
        run_one(p, pool, level, below(r, 2) ? 0 : INT64_MAX, should.memory, totals.memory, second.memory);
  if (!all)
    run_one(p, (int)below(r, POOLS), (int)below(r, levels), below(r, 2) ? 0 : INT64_MAX, should.memory, totals.memory,
            second.memory);
  free(should.memory);
  free(totals.memory);
  free(second.memory);
}

static int64_t any_length(uint64_t *r) {
  static const int64_t edges[] = {64, 128, 256, 512, 1024, 2048, 4096};
  if (below(r, 3) == 0)
    return edges[below(r, 7)] + below(r, 4) - 1;
  return below(r, 72);
}

static void random_shape(uint64_t *r, int64_t *shape, int *dims) {
  int64_t count = 1;
  *dims = 2 + (int)below(r, MAX_DIMS - 1);
  shape[*dims - 1] = any_length(r);
  for (int d = 0; d < *dims - 1; d++) {
    int64_t most = 12000 / (count * (shape[*dims - 1] + 1));
    int64_t limit = below(r, 3) == 0 ? 300 : 12;
    shape[d] = 1 + below(r, most < 1 ? 1 : most < limit ? most : limit);
    count *= shape[d];
  }
}

static rowscan_spec random_mask_and_flags(uint64_t *r, rowscan_spec spec) {
  static const rowscan_mask_mode modes[] = {ROWSCAN_MASK_NONE,     ROWSCAN_MASK_NONE,  ROWSCAN_MASK_SELECT,
                                            ROWSCAN_MASK_MULTIPLY, ROWSCAN_MASK_HEADS, ROWSCAN_MASK_TAILS,
                                            ROWSCAN_MASK_KEYS};
  rowscan_type types[] = {ROWSCAN_BOOL, ROWSCAN_U8, spec.in_type};
  spec.flags = (unsigned)below(r, 4);
  spec.mask_mode = modes[below(r, sizeof modes / sizeof *modes)];
  spec.mask_type = spec.mask_mode ? types[below(r, 3)] : ROWSCAN_TYPE_DEFAULT;
  if (spec.mask_mode == ROWSCAN_MASK_KEYS)
    spec.mask_type = (rowscan_type)(ROWSCAN_I8 + below(r, ROWSCAN_BOOL - ROWSCAN_I8 + 1));
  return spec;
}

static bool valid(rowscan_type in, rowscan_type out, rowscan_type acc) {
  if (out == ROWSCAN_BOOL || (floating(in) && !floating(out)))
    return in == ROWSCAN_BOOL && out == in && acc == in; /* of an order */
  return floating(out) ? acc == ROWSCAN_F32 || acc == ROWSCAN_F64 : acc == out;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static int random_cases = 48; /* for each combination of types */

START_TEST(everything_at_random) {
  rowscan_type in = (rowscan_type)(_i + 1);
  uint64_t r = seed + (uint64_t)_i;
  for (rowscan_type out = ROWSCAN_F16; out <= ROWSCAN_BOOL; out++)
    for (rowscan_type acc = ROWSCAN_F16; acc <= ROWSCAN_BOOL; acc++)
      for (int i = 0; valid(in, out, acc) && i < random_cases; i++) {
        int64_t shape[MAX_DIMS];
        int dims;
        random_shape(&r, shape, &dims);
        rowscan_spec spec = {.in_type = in, .out_type = out, .acc_type = acc};
        spec = random_mask_and_flags(&r, spec);
        op_take(&spec, out == ROWSCAN_BOOL ? ROWSCAN_MAX + (uint64_t)i % 2 : (uint64_t)i);
        problem p = any_problem(&r, spec, shape, dims, i % 4 == 0);
        check_problem(&r, &p, false);
        free_problem(&p);
      }
}
END_TEST

/* Operators of several inputs, two outputs, segments beside masks and coefficients; some rows are cut into pieces. */
START_TEST(further_arrays) {
  uint64_t r = seed + 700 + (uint64_t)_i;
  for (int i = 0; i < 8 * random_cases; i++) {
    int64_t shape[MAX_DIMS] = {1 + below(&r, 3), 60000 + below(&r, 100000)};
    int dims = 2;
    if (i % 16)
      random_shape(&r, shape, &dims);
    rowscan_spec spec = random_mask_and_flags(&r, (rowscan_spec){.in_type = (rowscan_type)(_i + 1)});
    op_take(&spec, rs_random(&r) >> 8);
    if (!further_take(&spec, rs_random(&r) >> 8))
      continue;
    problem p = any_problem(&r, spec, shape, dims, i % 4 == 0);
    check_problem(&r, &p, false);
    free_problem(&p);
  }
}
END_TEST

/* Operators whose first output shows a prefix with its element, by blocks and one by one, with flags that tell the
 * same. */
START_TEST(gradients) {
  static const rowscan_op ops[] = {ROWSCAN_WEIGHTED_RECURRENCE, ROWSCAN_DECAYED_SUM, ROWSCAN_SUM_GRADIENT,
                                   ROWSCAN_EXTREMUM_GRADIENT, ROWSCAN_LOGSUMEXP_GRADIENT};
  uint64_t r = seed + 950 + (uint64_t)_i;
  for (unsigned i = 0; i < 96; i++) {
    rowscan_type type = i % 3 ? ROWSCAN_F32 : i % 2 ? ROWSCAN_F64 : ROWSCAN_BF16;
    rowscan_spec spec = {.size = sizeof spec, .op = ops[_i], .in_type = type, .flags = i / 3 % 4};
    if (rs_op_of(spec.op)->second && i / 12 % 2)
      spec.second_type = type;
    if (i / 24 % 2)
      spec.segment_mode = (rowscan_mask_mode)(ROWSCAN_MASK_HEADS + i % 3);
    for (int k = 0; k < rs_op_of(spec.op)->more; k++)
      spec.more_types[k] = k > 0 && i % 5 == 0 ? ROWSCAN_BOOL : type;
    if (rowscan_spec_complete(&spec)) /* totals too large beside segments */
      continue;
    const int64_t shape[] = {1 + below(&r, 20), 1 + below(&r, i % 4 ? 300 : 9000)};
    problem p = any_problem(&r, spec, shape, 2, i % 2);
    for (size_t at = 0; spec.op == ROWSCAN_EXTREMUM_GRADIENT && at < p.more[0].bytes / rowscan_type_bytes(type); at++)
      put(type, p.more[0].memory + at * rowscan_type_bytes(type),
          (double)below(&r, 2)); /* many are one, and many not */
    for (size_t at = 0; spec.op == ROWSCAN_EXTREMUM_GRADIENT && spec.more_types[1] == type &&
                        at < p.more[1].bytes / rowscan_type_bytes(type);
         at++)
      put(type, p.more[1].memory + at * rowscan_type_bytes(type), (double)below(&r, 2));
    check_problem(&r, &p, false);
    free_problem(&p);
  }
}
END_TEST

/* Where a row is cut, what the second output shows is of the row's prefix, and not of the piece's: of sums, which other
 * factors of Blend would let fade. */
START_TEST(second_outputs_at_cuts) {
  uint64_t r = seed + 800;
  rowscan_spec spec = {.size = sizeof spec,
                       .op = (rowscan_op)rowscan_op_by_name("Blend"),
                       .in_type = ROWSCAN_F64,
                       .second_type = ROWSCAN_F64};
  ck_assert(!rowscan_spec_complete(&spec));
  for (spec.flags = 0; spec.flags < 4; spec.flags++) {
    problem p = any_problem(&r, spec, (int64_t[]){1, 4 * 65536 + 100}, 2, true);
    for (int64_t i = 0; i < p.spec.length; i++) {
      put(ROWSCAN_F64, p.in.memory + 8 * i, unit(&r));
      put(ROWSCAN_F64, p.more[0].memory + 8 * i, 1);
      put(ROWSCAN_F64, p.more[1].memory + 8 * i, 0.1);
    }
    check_problem(&r, &p, true);
    free_problem(&p);
  }
}
END_TEST

/* Two outputs of several strips, whose lines end within a line of the cache: neither has the other's ends. */
START_TEST(two_outputs_past_the_caches) {
  uint64_t r = seed + 900;
  rowscan_spec spec = {
      .size = sizeof spec, .op = ROWSCAN_WEIGHTED_RECURRENCE, .in_type = ROWSCAN_F64, .second_type = ROWSCAN_F64};
  ck_assert(!rowscan_spec_complete(&spec));
  for (int i = 0; i < 24; i++) {
    const int64_t columns = 97 + 2 * below(&r, 60), shape[] = {columns, i % 3 ? 8 : 40};
    spec.flags = (unsigned)i % 4;
    problem p = any_problem(&r, spec, shape, 2, true);
    field *const fields[] = {&p.in, &p.out, &p.more[0], &p.more[1], &p.second};
    for (int f = 0; f < 5; f++) {
      fields[f]->stride[0] = 1;
      fields[f]->stride[1] = columns;
    }
    set_rows(&p, shape, 2);
    check_problem(&r, &p, true);
    free_problem(&p);
  }
}
END_TEST

static const rowscan_type plain_types[] = {ROWSCAN_F32, ROWSCAN_F64, ROWSCAN_I32, ROWSCAN_I64, ROWSCAN_F16, ROWSCAN_U8};

/* Every length around the sizes of vectors, groups, panels and tiles, dense, as rows and as columns. */
START_TEST(every_length) {
  rowscan_type type = plain_types[_i];
  uint64_t r = seed + 100 + (uint64_t)_i;
  rowscan_spec spec = {.in_type = type, .out_type = type, .acc_type = type == ROWSCAN_F16 ? ROWSCAN_F32 : type};
  static const int64_t edges[] = {128, 256, 512, 1024, 2048, 4096};
  for (int64_t i = 0; i <= 76 + 6 * 3; i++) {
    int64_t length = i <= 76 ? i : edges[(i - 77) / 3] + (i - 77) % 3 - 1;
    for (int64_t rows = 1; rows <= 200; rows = 3 * rows + below(&r, 3)) {
      spec.flags = (unsigned)below(&r, 4);
      op_take(&spec, rs_random(&r) >> 8);
      problem p = any_problem(&r, spec, (int64_t[]){rows, length}, 2, true);
      check_problem(&r, &p, length * rows < 2000);
      free_problem(&p);
    }
  }
}
END_TEST

/* [length, inner], as integral images and state-space models have it. */
START_TEST(columns) {
  rowscan_type type = plain_types[_i];
  uint64_t r = seed + 200 + (uint64_t)_i;
  for (int i = 0; i < 150; i++) {
    rowscan_spec spec = {.in_type = type, .out_type = type, .acc_type = type == ROWSCAN_F16 ? ROWSCAN_F32 : type};
    spec = random_mask_and_flags(&r, spec);
    op_take(&spec, (uint64_t)i);
    int64_t inner = 1 + below(&r, 300), outer = 1 + below(&r, 3), length = below(&r, 20000 / (inner * outer) + 2);
    problem p = any_problem(&r, spec, (int64_t[]){outer, inner, length}, 3, true);
    int64_t strides[] = {length * inner, 1, inner};
    memcpy(p.in.stride, strides, sizeof strides);
    memcpy(p.out.stride, strides, sizeof strides);
    memcpy(p.mask.stride, strides, sizeof strides);
    set_rows(&p, (int64_t[]){outer, inner, length}, 3);
    check_problem(&r, &p, false);
    free_problem(&p);
  }
}
END_TEST

/* Puts the output `elements` further on, between bytes that must stay; a problem in place stays where it is. */
static void shift_output(problem *p, int64_t elements) {
  if (p->in_place)
    return;
  int64_t bytes = (int64_t)rowscan_type_bytes(p->spec.out_type);
  free(p->out.memory);
  p->out.start += elements;
  p->out.bytes += (size_t)(elements * bytes + 64);
  p->out.memory = malloc(p->out.bytes + 1);
  memset(p->out.memory, 0xa5, p->out.bytes);
  p->rows.array[RS_OUT].data = field_start(&p->out, p->spec.out_type);
}

/* Rows and columns of all sizes that loops tell apart, at every place of a cache line, on both sides of the caches. */
START_TEST(every_offset) {
  static const struct {
    rowscan_type in, out;
  } types[] = {{ROWSCAN_F32, ROWSCAN_F32}, {ROWSCAN_F64, ROWSCAN_F64},  {ROWSCAN_I32, ROWSCAN_I32},
               {ROWSCAN_I64, ROWSCAN_I64}, {ROWSCAN_BF16, ROWSCAN_F16}, {ROWSCAN_BOOL, ROWSCAN_I8}};
  static const struct {
    int64_t outer, length, inner;
  } shapes[] = {{1, 16, 1},   {1, 1000, 1}, {1, 4200, 1}, {7, 3, 1},    {300, 2, 1},
                {100, 7, 1},  {40, 31, 1},  {20, 64, 1},  {11, 100, 1}, {3, 700, 1},
                {1, 20, 300}, {1, 9, 1100}, {2, 33, 129}, {1, 40, 16},  {1, 7, 4096}};
  enum { SHAPES = sizeof shapes / sizeof *shapes, LINE = 64 };
  rowscan_type in = types[_i].in, out = types[_i].out;
  int64_t bytes = (int64_t)rowscan_type_bytes(out);
  uint64_t r = seed + 700 + (uint64_t)_i;
  for (int64_t offset = 0; offset < LINE / bytes; offset++)
    for (int i = (int)(offset % 2); i < SHAPES; i += is_quick() ? 5 : 2) {
      int64_t outer = shapes[i].outer, length = shapes[i].length, inner = shapes[i].inner;
      int64_t shape[] = {outer, inner, length}, strides[] = {length * inner, 1, inner};
      rowscan_spec spec = {.in_type = in, .out_type = out, .acc_type = floating(out) && bytes < 8 ? ROWSCAN_F32 : out};
      problem p = any_problem(&r, random_mask_and_flags(&r, spec), shape, 3, true);
      memcpy(p.in.stride, strides, sizeof strides);
      memcpy(p.out.stride, strides, sizeof strides);
      memcpy(p.mask.stride, strides, sizeof strides);
      set_rows(&p, shape, 3);
      shift_output(&p, offset);
      check_problem(&r, &p, outer * length * inner < 1200);
      free_problem(&p);
    }
}
END_TEST

/* Short rows with gaps of any size between them, in some of the arrays, forwards and backwards. */
START_TEST(short_rows_with_gaps) {
  rowscan_type type = plain_types[_i];
  uint64_t r = seed + 800 + (uint64_t)_i;
  for (int i = 0; i < (is_quick() ? 40 : 200); i++) {
    rowscan_spec spec = {.in_type = type, .out_type = type, .acc_type = type == ROWSCAN_F16 ? ROWSCAN_F32 : type};
    spec = random_mask_and_flags(&r, spec);
    int64_t length = 1 + below(&r, 130), step = 1 + below(&r, 3), rows = 1 + below(&r, 6000 / (length * step));
    int64_t pitch = length * step + below(&r, 3) * below(&r, 20);
    problem p = any_problem(&r, spec, (int64_t[]){rows, pitch}, 2, true);
    p.spec.length = length;
    for (int array = 0; array < 3; array++) {
      field *f = array == 0 ? &p.in : array == 1 ? &p.out : &p.mask;
      int64_t apart = below(&r, 2) || (p.in_place && array == 1) ? 1 : step;
      if (p.in_place && array == 1) {
        memcpy(p.out.stride, p.in.stride, sizeof p.in.stride);
        p.out.start = p.in.start;
        continue;
      }
      bool back = below(&r, 4) == 0, dense = apart == 1 && below(&r, 2);
      f->stride[0] = dense ? length : pitch;
      f->stride[1] = back ? -apart : apart;
      f->start = back ? (length - 1) * apart : 0;
    }
    set_rows(&p, (int64_t[]){rows}, 2);
    check_problem(&r, &p, i % 8 == 0);
    free_problem(&p);
  }
}
END_TEST

/* Few rows, long enough to be cut into pieces that go to several threads. */
START_TEST(long_rows) {
  static const struct {
    int64_t rows, length, inner;
  } shapes[] = {{1, 65537, 1}, {1, 131071, 1}, {1, 131073, 1},  {1, 1200007, 1}, {3, 262144, 1}, {2, 196608, 1},
                {1, 50000, 3}, {1, 30011, 7},  {1, 20000, 9},   {1, 10007, 31},  {1, 9000, 100}, {1, 8193, 64},
                {2, 8192, 40}, {5, 65536, 2},  {1, 3 << 15, 8}, {1, 1 << 16, 1}};
  uint64_t r = seed + 300 + (uint64_t)_i;
  for (size_t i = is_quick() ? (size_t)_i % 2 : 0; i < sizeof shapes / sizeof *shapes; i += is_quick() ? 2 : 1) {
    rowscan_type type = plain_types[_i];
    int64_t rows = shapes[i].rows, inner = shapes[i].inner, length = shapes[i].length;
    int64_t strides[] = {length * inner, 1, inner};
    rowscan_spec spec = {.in_type = type, .out_type = type, .acc_type = type == ROWSCAN_F16 ? ROWSCAN_F32 : type};
    problem p = any_problem(&r, random_mask_and_flags(&r, spec), (int64_t[]){rows, inner, length}, 3, true);
    memcpy(p.in.stride, strides, sizeof strides);
    memcpy(p.out.stride, strides, sizeof strides);
    memcpy(p.mask.stride, strides, sizeof strides);
    set_rows(&p, (int64_t[]){rows, inner, length}, 3);
    check_problem(&r, &p, i < 4);
    free_problem(&p);
  }
}
END_TEST

/* ---- threads of the program's, and as many as it says -------------------------------------------------------------
 *
 * How a program may run parts: one after another, the first or the last first; each in a thread of its own, which
 * rounds otherwise; all but the first late, when the first has ended; all in other threads than the caller's; none.
 */

static int tasks(void) {
  int count = 0;
  DIR *list = opendir("/proc/self/task");
  ck_assert_ptr_nonnull(list);
  for (const struct dirent *at; (at = readdir(list)) != NULL;)
    count += *at->d_name != '.';
  closedir(list);
  return count;
}

/* Whether there are so many at most, now or soon: a thread that has ended is seen a bit longer. */
static bool tasks_fall_to(int most) {
  for (int looks = 0; looks < 5000 && tasks() > most; looks++)
    usleep(1000);
  return tasks() <= most;
}

static void *no_work(void *unused) {
  return unused;
}

/* The threads that there are before a test starts any: a sanitizer starts one of its own beside the first. */
static int tasks_before(void) {
  pthread_t first;
  ck_assert(!pthread_create(&first, NULL, no_work, NULL));
  pthread_join(first, NULL);
  int count;
  do {
    count = tasks();
    usleep(10000);
  } while (tasks() != count);
  return count;
}

typedef enum programs_way { FORWARDS, BACKWARDS, AT_ONCE, ONE_FIRST, ELSEWHERE, NONE, WAYS } programs_way;

static const programs_way ways[WAYS] = {FORWARDS, BACKWARDS, AT_ONCE, ONE_FIRST, ELSEWHERE, NONE};
static atomic_int lent_runs, lent_most; /* and the most parts that there were */

typedef struct lent_part {
  void (*body)(void *data, int64_t index);
  void *data;
  int64_t first, end;
  pthread_t thread;
} lent_part;

static void *run_part(void *argument) {
  const lent_part *part = argument;
  fesetround(FE_UPWARD);
  for (int64_t i = part->first; i < part->end; i++)
    part->body(part->data, i);
  ck_assert_int_eq(fegetround(), FE_UPWARD);
  return NULL;
}

/* In threads, `at_once` of which begin before any is waited for. */
static void run_in_threads(lent_part *parts, int count, bool at_once) {
  for (int i = 0; i < count; i++) {
    ck_assert(!pthread_create(&parts[i].thread, NULL, run_part, &parts[i]));
    if (!at_once)
      pthread_join(parts[i].thread, NULL);
  }
  for (int i = 0; at_once && i < count; i++)
    pthread_join(parts[i].thread, NULL);
}

static void programs_own(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data) {
  programs_way way = *(const programs_way *)user;
  lent_part parts[16];
  ck_assert_int_le(count, 16);
  lent_runs++;
  lent_most = count > lent_most ? (int)count : lent_most;
  for (int i = 0; i < (int)count; i++)
    parts[i] = (lent_part){body, data, i, i + 1, 0};
  switch (way) {
  case FORWARDS:
    for (int64_t i = 0; i < count; i++)
      body(data, i);
    break;
  case BACKWARDS:
    for (int64_t i = count - 1; i >= 0; i--)
      body(data, i);
    break;
  case AT_ONCE:
    run_in_threads(parts + 1, (int)count - 1, true);
    body(data, 0);
    break;
  case ONE_FIRST:
    run_in_threads(parts, 1, false);
    run_in_threads(parts + 1, (int)count - 1, true);
    break;
  case ELSEWHERE:
    run_in_threads(parts, (int)count, true);
    break;
  default:
    break;
  }
}

static void lend_all(int way) {
  for (int i = 0; i < POOLS; i++)
    rs_pool_lend(rs_host_pool(hosts[i]), programs_own, (void *)&ways[way]);
}

static void few_long_rows(uint64_t *r) {
  static const int64_t shapes[][3] = {{1, 1200007, 1}, {3, 262144, 1}, {1, 9000, 100}, {7, 1000, 60}, {100, 30, 1}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int64_t rows = shapes[i][0], length = shapes[i][1] / (is_quick() ? 2 : 1), inner = shapes[i][2],
            sizes[] = {rows, inner, length};
    int64_t strides[] = {length * inner, 1, inner};
    rowscan_spec spec = {.in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .acc_type = ROWSCAN_F32};
    problem p = any_problem(r, random_mask_and_flags(r, spec), sizes, 3, true);
    memcpy(p.in.stride, strides, sizeof strides);
    memcpy(p.out.stride, strides, sizeof strides);
    memcpy(p.mask.stride, strides, sizeof strides);
    set_rows(&p, sizes, 3);
    check_problem(r, &p, true);
    free_problem(&p);
  }
}

START_TEST(threads_of_the_programs) {
  uint64_t r = seed + 800 + (uint64_t)_i;
  int before = tasks_before();
  lent_runs = lent_most = 0;
  lend_all(_i);
  few_long_rows(&r);
  ck_assert_int_gt(lent_runs, 0);
  ck_assert_int_eq(lent_most, pool_sizes[POOLS - 1]);
  ck_assert(tasks_fall_to(before));
}
END_TEST

/* Threads that are too many end; as many as are wanted then come back. */
START_TEST(threads_may_be_more_or_fewer) {
  static const int counts[] = {5, 1, 3, 2, 16, 1};
  uint64_t r = seed + 900;
  int before = tasks_before();
  close_hosts();
  memset(hosts, 0, sizeof hosts);
  ck_assert(!rs_host_open(&hosts[0], 2));
  for (int i = 1; i < POOLS; i++)
    ck_assert(!rs_host_open(&hosts[i], 1));
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    rs_host_set_threads(hosts[0], counts[i]);
    ck_assert_int_eq(rs_host_threads(hosts[0]), counts[i]);
    ck_assert(tasks_fall_to(before + counts[i] - 1));
    few_long_rows(&r);
    ck_assert_int_le(tasks(), before + counts[i] - 1);
    ck_assert(counts[i] == 1 || tasks() > before);
  }
  rs_host_set_threads(hosts[0], 0);
  ck_assert_int_gt(rs_host_threads(hosts[0]), 0);
}
END_TEST

/* Runs from several threads at once, on one pool; long and short ones, whole and in pieces. */
typedef struct crowd {
  problem *problem;
  char *should;
  int wrong;
} crowd;

static void *one_of_a_crowd(void *argument) {
  crowd *c = argument;
  problem q = *c->problem;
  for (int i = 0; i < 8; i++) {
    q.out.memory = malloc(q.out.bytes + 1);
    memcpy(q.out.memory, c->problem->out.memory, q.out.bytes);
    q.rows.array[RS_OUT].data = field_start(&q.out, q.spec.out_type);
    rs_host_run(hosts[2], &q.spec, &q.rows);
    for (size_t e = 0; e < q.out.bytes / rowscan_type_bytes(q.spec.out_type); e++)
      c->wrong += !judge_equal(q.spec.out_type, q.out.memory + e * rowscan_type_bytes(q.spec.out_type),
                               c->should + e * rowscan_type_bytes(q.spec.out_type));
    free(q.out.memory);
  }
  return NULL;
}

static atomic_bool crowd_gone;

static void *change_threads(void *unused) {
  uint64_t r = seed;
  while (!crowd_gone)
    rs_host_set_threads(hosts[2], 1 + (int)below(&r, 6));
  return unused;
}

/* _i: with threads of their own, while those become more and fewer, or of the program's. */
START_TEST(many_callers) {
  enum { CALLERS = 6 };
  static const int64_t shapes[CALLERS][2] = {{1, 300000}, {100, 1000}, {1, 150000}, {2, 131072}, {5000, 7}, {1, 10}};
  uint64_t r = seed + 400;
  problem p[CALLERS];
  crowd crowds[CALLERS];
  pthread_t threads[CALLERS], changer;
  if (_i > 1)
    lend_all(_i - 2);
  for (int i = 0; i < CALLERS; i++) {
    rowscan_spec spec = {.in_type = ROWSCAN_F32, .out_type = ROWSCAN_F64, .acc_type = ROWSCAN_F64};
    p[i] = any_problem(&r, spec, shapes[i], 2, true);
    free(p[i].totals.memory);
    p[i].totals.memory = NULL;
    p[i].rows.array[RS_TOTALS].data = NULL;
    rs_rows rows = p[i].rows;
    crowds[i] = (crowd){.problem = &p[i], .should = malloc(p[i].out.bytes + 1)};
    rows.array[RS_OUT].data = crowds[i].should;
    judge_scan(&p[i].spec, &rows);
  }
  for (int i = 0; i < CALLERS; i++)
    ck_assert(!pthread_create(&threads[i], NULL, one_of_a_crowd, &crowds[i]));
  if (_i == 1)
    ck_assert(!pthread_create(&changer, NULL, change_threads, NULL));
  for (int i = 0; i < CALLERS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_int_eq(crowds[i].wrong, 0);
    free(crowds[i].should);
    free_problem(&p[i]);
  }
  crowd_gone = true;
  if (_i == 1)
    pthread_join(changer, NULL);
}
END_TEST

/* What stands in rowscan.h about zeros and empty rows, without the judge. */
static void scan_f32(rowscan_spec spec, const float *in, const bool *mask, const float *init, float *out, void *total) {
  rs_rows rows = {.array[RS_IN].data = (void *)in,
                  .array[RS_OUT].data = out,
                  .array[RS_MASK].data = (void *)mask,
                  .array[RS_INIT].data = (void *)init,
                  .array[RS_TOTALS].data = total,
                  .count = 1,
                  .array[RS_IN].step = 1,
                  .array[RS_OUT].step = 1,
                  .array[RS_MASK].step = 1,
                  .rank = 1,
                  .shape = {1}};
  spec.in_type = spec.out_type = ROWSCAN_F32;
  spec.acc_type = spec.acc_type ? spec.acc_type : ROWSCAN_F32;
  spec.mask_type = ROWSCAN_BOOL;
  rs_host_run(hosts[0], &spec, &rows);
}

static void is_float(float is, float should) {
  ck_assert_msg(judge_equal(ROWSCAN_F32, &is, &should), "%a is not %a", (double)is, (double)should);
}

START_TEST(zeros_and_empty_rows) {
  const float minus[] = {-0.0f, -0.0f, -0.0f}, init = -0.0f;
  const bool none[] = {false, false, false};
  float out[3] = {7, 7, 7}, total = 7;
  scan_f32((rowscan_spec){.length = 3}, minus, NULL, NULL, out, &total);
  is_float(out[0], -0.0f);
  is_float(out[2], -0.0f);
  is_float(total, -0.0f);
  scan_f32((rowscan_spec){.length = 3, .flags = ROWSCAN_EXCLUSIVE}, minus, NULL, NULL, out, &total);
  is_float(out[0], 0.0f);
  is_float(out[1], -0.0f);
  scan_f32((rowscan_spec){.length = 3, .flags = ROWSCAN_EXCLUSIVE}, minus, NULL, &init, out, &total);
  is_float(out[0], -0.0f);
  scan_f32((rowscan_spec){.length = 3, .mask_mode = ROWSCAN_MASK_SELECT}, minus, none, NULL, out, &total);
  is_float(out[0], 0.0f);
  is_float(total, 0.0f);
  scan_f32((rowscan_spec){.length = 0}, NULL, NULL, NULL, NULL, &total);
  is_float(total, 0.0f);
  scan_f32((rowscan_spec){.length = 0}, NULL, NULL, &init, NULL, &total);
  is_float(total, -0.0f);
  scan_f32((rowscan_spec){.length = 0, .op = ROWSCAN_PROD}, NULL, NULL, NULL, NULL, &total);
  is_float(total, 1.0f);
}
END_TEST

/* Summed one by one, these ones would all be lost. */
START_TEST(the_order_by_hand) {
  const float big = 0x1p24f, in[] = {big, 1, 1, 1, 1, 1, 1};
  const float should[] = {big, big, big, big + 2, big + 4, big + 4, big + 4};
  float out[7];
  scan_f32((rowscan_spec){.length = 7}, in, NULL, NULL, out, NULL);
  for (int i = 0; i < 7; i++)
    is_float(out[i], should[i]);
}
END_TEST

/* ---- logarithms and products of wide range ----------------------------------------------------------------------- */

START_TEST(logarithms_of_the_extremes) {
  const float inf = INFINITY, in[] = {-inf, -inf, -0.0f, 0, inf, 3, inf};
  float out[7], total;
  scan_f32((rowscan_spec){.length = 7, .op = ROWSCAN_LOGSUMEXP}, in, NULL, NULL, out, &total);
  is_float(out[0], -inf);
  is_float(out[1], -inf);
  is_float(out[2], -0.0f);
  is_float(out[3], 0x1.62e430p-1f); /* log(2) */
  for (int i = 4; i < 7; i++)
    is_float(out[i], inf);
  is_float(total, inf);
  const float with_nan[] = {1, NAN, inf};
  scan_f32((rowscan_spec){.length = 3, .op = ROWSCAN_LOGSUMEXP}, with_nan, NULL, NULL, out, NULL);
  is_float(out[0], 1);
  ck_assert(isnan(out[1]) && isnan(out[2]));
  scan_f32((rowscan_spec){.length = 3, .op = ROWSCAN_LOGSUMEXP, .flags = ROWSCAN_OMIT_NAN | ROWSCAN_EXCLUSIVE},
           with_nan, NULL, NULL, out, NULL);
  is_float(out[0], -inf);
  is_float(out[1], 1);
  is_float(out[2], 1);
}
END_TEST

/* Where exp(x) is infinite, and where it is 0; log(1 .. n) above the element. */
START_TEST(logarithms_far_from_one) {
  float in[100], out[100];
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int i = 0; i < 100; i++)
      in[i] = (float)sign * 1000;
    scan_f32((rowscan_spec){.length = 100, .op = ROWSCAN_LOGSUMEXP}, in, NULL, NULL, out, NULL);
    for (int i = 0; i < 100; i++)
      ck_assert(fabs(out[i] - (sign * 1000 + log(i + 1))) <= 0x1p-14); /* an ulp of 1000 */
  }
}
END_TEST

START_TEST(products_that_overflow_in_between) {
  float out[50], in[50], total;
  const float back[16] = {1e9f, 1e9f, 1e9f, 1e9f, 1e-12f, 1e-12f, 1e-12f, 1e-12f, 1, 1, 1, 1, 1, 1, 1, 1};
  scan_f32((rowscan_spec){.length = 16, .op = ROWSCAN_EXTENDED_PROD}, back, NULL, NULL, out, &total);
  is_float(out[3], 1e36f);
  ck_assert(fabs(out[7] / 1e-12 - 1) < 1e-6);
  is_float(total, out[7]);
  for (int i = 0; i < 50; i++)
    in[i] = 0.5f * (float)i;
  scan_f32((rowscan_spec){.length = 50, .op = ROWSCAN_EXTENDED_PROD}, in, NULL, NULL, out, &total);
  for (int i = 0; i < 50; i++)
    is_float(out[i], 0); /* inf * 0 is NaN where products are floats */
  const float subnormal[4] = {0x1p-149f, 0x1p-149f, 0x1p127f, 0x1p127f}, infinite[3] = {0, INFINITY, 1};
  scan_f32((rowscan_spec){.length = 4, .op = ROWSCAN_EXTENDED_PROD}, subnormal, NULL, NULL, out, NULL);
  is_float(out[0], 0x1p-149f);
  is_float(out[1], 0);
  is_float(out[2], 0);
  is_float(out[3], 0x1p-44f);
  scan_f32((rowscan_spec){.length = 3, .op = ROWSCAN_EXTENDED_PROD}, infinite, NULL, NULL, out, NULL);
  ck_assert(isnan(out[1]) && isnan(out[2]));
}
END_TEST

/* ---- fixed point ------------------------------------------------------------------------------------------------- */

enum { FIXED_ROWS = 33 };

/* Rows of {x, 0}: their totals, which are all the same. */
static int64_t fixed_total(double x, int point) {
  double in[2 * FIXED_ROWS], out[2 * FIXED_ROWS];
  int64_t totals[FIXED_ROWS];
  rowscan_spec spec = {.size = sizeof spec, .in_type = ROWSCAN_F64, .acc_type = ROWSCAN_FIXED(point), .length = 2};
  rs_rows rows = {.rank = 1,
                  .shape = {FIXED_ROWS},
                  .count = FIXED_ROWS,
                  .array[RS_IN] = {.data = in, .step = 1, .stride = {2}},
                  .array[RS_OUT] = {.data = out, .step = 1, .stride = {2}},
                  .array[RS_TOTALS] = {.data = totals, .stride = {1}}};
  for (int i = 0; i < FIXED_ROWS; i++) {
    in[2 * i] = x;
    in[2 * i + 1] = 0;
  }
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_host_run(hosts[0], &spec, &rows);
  for (int i = 1; i < FIXED_ROWS; i++)
    ck_assert_int_eq(totals[i], totals[0]);
  return totals[0];
}

/* An initial value as a result. */
static void show_fixed(int64_t init, int point, rowscan_type out_type, void *out) {
  float in = 0;
  rowscan_spec spec = {.size = sizeof spec,
                       .out_type = out_type,
                       .acc_type = ROWSCAN_FIXED(point),
                       .flags = ROWSCAN_EXCLUSIVE,
                       .length = 1};
  rs_rows rows = {.rank = 1,
                  .shape = {1},
                  .count = 1,
                  .array[RS_IN] = {.data = &in, .step = 1},
                  .array[RS_OUT] = {.data = out, .step = 1},
                  .array[RS_INIT].data = &init};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_host_run(hosts[0], &spec, &rows);
}

START_TEST(fixed_point_by_hand) {
  static const struct {
    double x;
    int point;
    int64_t whole;
  } table[] = {
      {0.5, 0, 0},
      {1.5, 0, 2},
      {2.5, 0, 2},
      {-0.5, 0, 0},
      {-1.5, 0, -2},
      {0.75, 1, 2},
      {-0.75, 1, -2},
      {0x1.4p-20, 20, 1},
      {2147483647.5, 0, 2147483648},
      {-2147483648.5, 0, -2147483648},
      {4294967296.5, 0, 4294967296},
      {4294967297.5, 0, 4294967298},
      {0x1.0000000000001p51, 0, INT64_C(1) << 51},
      {0x1.fffffffffffffp62, 0, INT64_MAX - 1023},
      {1, 62, INT64_C(1) << 62},
      {0x1p63, 0, INT64_MAX},
      {2, 62, INT64_MAX},
      {-2, 62, INT64_MIN},
      {-0x1.0000000000001p63, 0, INT64_MIN},
      {0x1p-1074, 62, 0},
      {0x1.fffffffffffffp1023, 62, INT64_MAX},
      {(double)INFINITY, 0, INT64_MAX},
      {-(double)INFINITY, 62, INT64_MIN},
      {(double)NAN, 31, INT64_MIN},
  };
  for (int level = 0; level < levels; level++) {
    rs_host_force(hosts[0], isas[level], INT64_MAX);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
      int64_t is = fixed_total(table[i].x, table[i].point);
      ck_assert_msg(is == table[i].whole, "%s: %a * 2^%d is %lld", isas[level]->name, table[i].x, table[i].point,
                    (long long)is);
    }
    float single;
    double real;
    uint16_t half;
    const int64_t odd = (INT64_C(1) << 53) + 1, above = (((INT64_C(1) << 24) + 1) << 30) + 1;
    show_fixed(odd, 3, ROWSCAN_F64, &real);
    ck_assert(real == 0x1p50);
    show_fixed(-odd - 2, 3, ROWSCAN_F64, &real);
    ck_assert(real == -0x1.0000000000002p50);
    show_fixed(above - 1, 30, ROWSCAN_F32, &single);
    is_float(single, 0x1p24f);
    show_fixed(above, 30, ROWSCAN_F32, &single);
    is_float(single, 0x1.000002p24f);
    show_fixed(-above, 62, ROWSCAN_F32, &single);
    is_float(single, -0x1.000002p-8f);
    show_fixed((INT64_C(0x1002) << 40) + 1, 52, ROWSCAN_F16, &half); /* a little above a tie */
    ck_assert_uint_eq(half, 0x3c01);
    show_fixed(0, 0, ROWSCAN_F32, &single);
    is_float(single, 0);
  }
}
END_TEST

/* What a cumulative distribution needs: floats step down, and end elsewhere when turned round. */
START_TEST(fixed_point_does_not_step_down) {
  enum { N = 100000 };
  static float in[N], turned[N], out[N];
  uint64_t r = seed;
  int down = 0, fixed_down = 0;
  int64_t total, other;
  for (int i = 0; i < N; i++)
    in[i] = turned[N - 1 - i] = (float)unit(&r) / N;
  scan_f32((rowscan_spec){.length = N}, in, NULL, NULL, out, NULL);
  for (int i = 1; i < N; i++)
    down += out[i] < out[i - 1];
  ck_assert_int_gt(down, 0);
  rowscan_spec fixed = {.length = N, .acc_type = ROWSCAN_FIXED(60)};
  scan_f32(fixed, turned, NULL, NULL, out, &other);
  scan_f32(fixed, in, NULL, NULL, out, &total);
  for (int i = 1; i < N; i++)
    fixed_down += out[i] < out[i - 1];
  ck_assert_int_eq(fixed_down, 0);
  ck_assert_int_eq(total, other);
  double exact = 0;
  for (int i = 0; i < N; i++)
    exact += (double)in[i];
  ck_assert(fabs(out[N - 1] - exact) < 0x1p-24);
}
END_TEST

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/* `out`: 7 indices. */
static void scan_indices(rowscan_spec spec, const float *in, const bool *mask, int64_t *out, int64_t *total) {
  rs_rows rows = {.rank = 1,
                  .shape = {1},
                  .count = 1,
                  .array[RS_IN] = {.data = (void *)in, .step = 1},
                  .array[RS_OUT] = {.data = out, .step = 1},
                  .array[RS_MASK] = {.data = (void *)mask, .step = 1},
                  .array[RS_TOTALS].data = total};
  spec.size = sizeof spec;
  spec.length = 7;
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_host_run(hosts[0], &spec, &rows);
}

static void are(const int64_t *is, const char *should) {
  char text[64] = "";
  for (int i = 0; i < 7; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? " " : "", (long long)is[i]);
  ck_assert_str_eq(text, should);
}

START_TEST(indices_by_hand) {
  const float in[7] = {1, 3, -0.0f, 3, 0, NAN, NAN};
  const bool mask[7] = {false, true, true, false, true, true, false};
  int64_t out[7], total;
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMAX}, in, NULL, out, &total);
  are(out, "0 1 1 3 3 5 6");
  ck_assert_int_eq(total, 6);
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMAX, .flags = ROWSCAN_TIES_FIRST | ROWSCAN_EXCLUSIVE}, in, NULL, out,
               NULL);
  are(out, "-1 0 1 1 1 1 5");
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMAX, .flags = ROWSCAN_OMIT_NAN | ROWSCAN_REVERSE}, in, NULL, out,
               &total);
  are(out, "1 1 3 3 4 -1 -1");
  ck_assert_int_eq(total, 1);
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMIN}, in, NULL, out, NULL);
  are(out, "0 0 2 2 2 5 6"); /* -0 is less than +0 */
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMIN, .mask_mode = ROWSCAN_MASK_SELECT}, in, mask, out, NULL);
  are(out, "-1 1 2 2 2 5 5");
}
END_TEST

/* Whatever libm's fma() makes of it: -2^-1074 / 2 + 0. */
START_TEST(a_product_that_vanishes_keeps_its_sign) {
  const double in[2] = {-0x1p-1074, 0}, coefficient[2] = {1, 0.5};
  double out[2];
  rowscan_spec spec = {.size = sizeof spec, .op = ROWSCAN_LINEAR_RECURRENCE, .in_type = ROWSCAN_F64, .length = 2};
  ck_assert_int_eq(rowscan_spec_complete(&spec), ROWSCAN_OK);
  rs_rows rows = {.rank = 1,
                  .shape = {1},
                  .count = 1,
                  .array[RS_IN] = {.data = (void *)in, .step = 1},
                  .array[RS_OUT] = {.data = out, .step = 1},
                  .array[RS_MASK] = {.data = (void *)coefficient, .step = 1}};
  for (int level = 0; rs_isa_at(level); level++) {
    rs_host_force(hosts[0], rs_isa_at(level), INT64_MAX);
    rs_host_run(hosts[0], &spec, &rows);
    ck_assert(out[0] == -0x1p-1074);
    ck_assert(out[1] == 0 && signbit(out[1]));
  }
}
END_TEST

/* ---- recurrences with a mask ------------------------------------------------------------------------------------- */

/* Of integers, which no order of combination changes: as a loop has them. The coefficients are one for all if !step. */
static void masked_loop(uint64_t *out, const int64_t *x, const int64_t *c, int64_t step, const uint8_t *mask,
                        const uint8_t *tails, uint64_t y, const rowscan_spec *spec) {
  bool reverse = spec->flags & ROWSCAN_REVERSE, exclusive = spec->flags & ROWSCAN_EXCLUSIVE;
  int64_t n = spec->length;
  for (int64_t k = 0; k < n; k++) {
    int64_t i = reverse ? n - 1 - k : k;
    if (reverse ? tails[i] : k > 0 && tails[i - 1])
      y = 0;
    if (exclusive)
      out[i] = y;
    if (mask[i])
      y = (uint64_t)c[step * i] * y + (uint64_t)x[i];
    if (!exclusive)
      out[i] = y;
  }
  out[n] = y;
}

START_TEST(masked_recurrences_are_a_loop) {
  enum { N = 3000 };
  uint64_t r = seed + 900, should[N + 1], init = 12345;
  int64_t x[N], c[N], out[N + 1];
  uint8_t mask[N], tails[N];
  for (int turn = 0; turn < 32; turn++) {
    for (int i = 0; i < N; i++) {
      x[i] = (int64_t)rs_random(&r);
      c[i] = (int64_t)rs_random(&r) | 1;
      mask[i] = below(&r, 3) > 0;
      tails[i] = turn & 4 && below(&r, 500) == 0;
    }
    rowscan_spec spec = {.size = sizeof spec,
                         .op = ROWSCAN_LINEAR_RECURRENCE,
                         .in_type = ROWSCAN_I64,
                         .mask_mode = ROWSCAN_MASK_SELECT,
                         .flags = (unsigned)turn % 4,
                         .segment_mode = turn & 4 ? ROWSCAN_MASK_TAILS : ROWSCAN_MASK_NONE,
                         .length = 1 + below(&r, N)};
    ck_assert(!rowscan_spec_complete(&spec));
    rs_rows rows = {.rank = 1, .count = 1, .shape = {1}, .further = true};
    int64_t n = spec.length, step = turn & 8 ? 0 : 1;
    rows.array[RS_IN] = (rs_operand){.data = x, .bytes = 8, .step = 1};
    rows.array[RS_OUT] = (rs_operand){.data = turn & 16 ? x : out, .bytes = 8, .step = 1};
    rows.array[RS_MASK] = (rs_operand){.data = mask, .bytes = 1, .step = 1};
    rows.array[RS_MORE_IN] = (rs_operand){.data = c, .bytes = 8, .step = step};
    if (spec.segment_mode)
      rows.array[RS_SEGMENTS] = (rs_operand){.data = tails, .bytes = 1, .step = 1};
    rows.array[RS_INIT] = (rs_operand){.data = &init, .bytes = 8};
    rows.array[RS_TOTALS] = (rs_operand){.data = &out[n], .bytes = 8};
    masked_loop(should, x, c, step, mask, tails, init, &spec);
    rs_host_run(hosts[turn % POOLS], &spec, &rows);
    for (int64_t i = 0; i <= n; i++)
      ck_assert_msg((uint64_t)(i < n && turn & 16 ? x : out)[i] == should[i], "turn %d element %lld of %lld", turn,
                    (long long)i, (long long)n);
  }
}
END_TEST

/* The state goes on where the mask is 0, whatever is there. */
START_TEST(masked_recurrences_by_hand) {
  const float x[] = {NAN, 2, 3, INFINITY}, c[] = {NAN, 10, INFINITY, -INFINITY}, mask[] = {0, 1, -0.0f, 0};
  const double init = 7;
  float out[4];
  double total;
  rowscan_spec spec = {.size = sizeof spec,
                       .op = ROWSCAN_LINEAR_RECURRENCE,
                       .mask_mode = ROWSCAN_MASK_SELECT,
                       .mask_type = ROWSCAN_F32,
                       .length = 4};
  ck_assert(!rowscan_spec_complete(&spec));
  rs_rows rows = {.rank = 1, .count = 1, .shape = {1}, .further = true};
  rows.array[RS_IN] = (rs_operand){.data = (void *)x, .bytes = 4, .step = 1};
  rows.array[RS_OUT] = (rs_operand){.data = out, .bytes = 4, .step = 1};
  rows.array[RS_MASK] = (rs_operand){.data = (void *)mask, .bytes = 4, .step = 1};
  rows.array[RS_MORE_IN] = (rs_operand){.data = (void *)c, .bytes = 4, .step = 1};
  rows.array[RS_INIT] = (rs_operand){.data = (void *)&init, .bytes = 8};
  rows.array[RS_TOTALS] = (rs_operand){.data = &total, .bytes = 8};
  rs_host_run(hosts[0], &spec, &rows);
  is_float(out[0], 7);
  is_float(out[1], 72);
  is_float(out[2], 72);
  is_float(out[3], 72);
  ck_assert(total == 72);
  rows.array[RS_INIT].data = NULL;
  spec.flags = ROWSCAN_EXCLUSIVE;
  rs_host_run(hosts[0], &spec, &rows);
  is_float(out[0], 0);
  is_float(out[1], 0);
  is_float(out[2], 2);
  is_float(out[3], 2);
}
END_TEST

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* Of 1, 2, 4 .. 64 after 1000, as "outputs | total". */
static void are_sums(rowscan_mask_mode mode, unsigned flags, const char *mask, const char *should) {
  const float in[7] = {1, 2, 4, 8, 16, 32, 64}, init = 1000;
  float out[7], total;
  char text[64] = "", marks[7];
  for (int i = 0; i < 7; i++)
    marks[i] = (char)(mask[i] - '0');
  scan_f32((rowscan_spec){.length = 7, .mask_mode = mode, .flags = flags}, in, (const bool *)marks, &init, out, &total);
  for (int i = 0; i < 7; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%g ", (double)out[i]);
  snprintf(text + strlen(text), sizeof text - strlen(text), "| %g", (double)total);
  ck_assert_str_eq(text, should);
}

START_TEST(segments_by_hand) {
  are_sums(ROWSCAN_MASK_HEADS, 0, "1010010", "1 3 4 12 28 32 96 | 96");
  are_sums(ROWSCAN_MASK_HEADS, 0, "0010010", "1001 1003 4 12 28 32 96 | 96");
  are_sums(ROWSCAN_MASK_HEADS, ROWSCAN_EXCLUSIVE, "1010010", "0 1 0 4 12 0 32 | 96");
  are_sums(ROWSCAN_MASK_HEADS, ROWSCAN_REVERSE, "1010010", "3 2 28 24 16 1096 1064 | 3");
  are_sums(ROWSCAN_MASK_HEADS, ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE, "1010010", "2 0 24 16 0 1064 1000 | 3");
  are_sums(ROWSCAN_MASK_TAILS, 0, "1010010", "1001 2 6 8 24 56 64 | 64");
  are_sums(ROWSCAN_MASK_TAILS, ROWSCAN_EXCLUSIVE, "0010011", "1000 1001 1003 0 8 24 0 | 64");
  are_sums(ROWSCAN_MASK_TAILS, ROWSCAN_REVERSE, "1010010", "1 6 4 56 48 32 1064 | 1");
  are_sums(ROWSCAN_MASK_TAILS, ROWSCAN_REVERSE | ROWSCAN_EXCLUSIVE, "0010011", "6 4 0 48 32 0 0 | 7");
  are_sums(ROWSCAN_MASK_KEYS, 0, "1200031", "1001 1003 4 12 28 32 96 | 96");
  are_sums(ROWSCAN_MASK_KEYS, ROWSCAN_EXCLUSIVE, "1200031", "1000 1001 0 4 12 0 32 | 96");
  are_sums(ROWSCAN_MASK_KEYS, ROWSCAN_REVERSE, "1200031", "3 2 28 24 16 1096 1064 | 3");
}
END_TEST

/* Infinities and NaNs before a segment are none of its elements, and an omitted NaN is, and may begin it. */
START_TEST(segments_drop_what_came_before) {
  const float inf = INFINITY, in[7] = {inf, NAN, 1, 2, NAN, -0.0f, 3};
  const bool heads[7] = {false, false, true, false, true, true, false};
  float out[7];
  scan_f32((rowscan_spec){.length = 7, .mask_mode = ROWSCAN_MASK_HEADS}, in, heads, NULL, out, NULL);
  is_float(out[2], 1);
  is_float(out[3], 3);
  ck_assert(isnan(out[4]));
  is_float(out[5], -0.0f);
  is_float(out[6], 3);
  scan_f32((rowscan_spec){.length = 7, .mask_mode = ROWSCAN_MASK_HEADS, .flags = ROWSCAN_OMIT_NAN}, in, heads, NULL,
           out, NULL);
  is_float(out[1], inf);
  is_float(out[4], 0);
  int64_t index[7], total;
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMAX, .mask_mode = ROWSCAN_MASK_HEADS, .flags = ROWSCAN_OMIT_NAN}, in,
               heads, index, &total);
  are(index, "0 0 2 3 -1 5 6");
  scan_indices((rowscan_spec){.op = ROWSCAN_ARGMIN, .mask_mode = ROWSCAN_MASK_TAILS, .flags = ROWSCAN_REVERSE}, in,
               heads, index, &total);
  are(index, "1 1 2 4 4 5 6");
  ck_assert_int_eq(total, 1);
}
END_TEST

START_TEST(omitted_nans_by_hand) {
  const float in[] = {NAN, 2, NAN, 3};
  float out[4], total;
  scan_f32((rowscan_spec){.length = 4, .flags = ROWSCAN_OMIT_NAN}, in, NULL, NULL, out, &total);
  is_float(out[0], 0);
  is_float(out[1], 2);
  is_float(out[2], 2);
  is_float(out[3], 5);
  is_float(total, 5);
  scan_f32((rowscan_spec){.length = 4, .flags = ROWSCAN_OMIT_NAN, .op = ROWSCAN_MIN}, in, NULL, NULL, out, &total);
  is_float(out[0], INFINITY);
  is_float(out[3], 2);
  scan_f32((rowscan_spec){.length = 4, .flags = ROWSCAN_OMIT_NAN | ROWSCAN_REVERSE, .op = ROWSCAN_PROD}, in, NULL, NULL,
           out, &total);
  is_float(out[3], 3);
  is_float(out[0], 6);
}
END_TEST

/* ---- conversions ------------------------------------------------------------------------------------------------- */

/* Check notes each assertion in a file, which is too slow for millions of them. */
static void same_bits(rowscan_type type, double x, const void *is, const void *should) {
  if (!judge_equal(type, is, should)) {
    uint64_t a = 0, b = 0;
    memcpy(&a, is, rowscan_type_bytes(type));
    memcpy(&b, should, rowscan_type_bytes(type));
    ck_abort_msg("%a: %s %llx, not %llx", x, rowscan_type_name(type), (unsigned long long)a, (unsigned long long)b);
  }
}

/* Rounds x, and x as a float, by each instruction set; as a whole vector and more, since loops have ends. */
static void check_rounding(rowscan_type type, double x) {
  enum { N = 19 };
  uint16_t is[N], from_double = judge_round(type, x), from_single = judge_round(type, (double)(float)x);
  for (int level = 0; level < levels; level++) {
    double twice[N];
    float single[N];
    for (int i = 0; i < N; i++) {
      twice[i] = x;
      single[i] = (float)x;
    }
    isas[level]->save[RS_WIDE_f64][type](is, twice, (rs_grid){.lines = 1, .n = N});
    for (int i = 0; i < N; i++)
      same_bits(type, x, &is[i], &from_double);
    isas[level]->save[RS_WIDE_f32][type](is, single, (rs_grid){.lines = 1, .n = N});
    for (int i = 0; i < N; i++)
      same_bits(type, (double)(float)x, &is[i], &from_single);
  }
}

START_TEST(halves_to_wide_and_back) {
  rowscan_type type = _i ? ROWSCAN_BF16 : ROWSCAN_F16;
  static uint16_t all[65536], back[65536];
  static float single[65536];
  static double twice[65536];
  const rs_grid everything = {.lines = 1, .n = 65536};
  for (int i = 0; i < 65536; i++)
    all[i] = (uint16_t)i;
  for (int level = 0; level < levels; level++) {
    isas[level]->load[type][RS_WIDE_f32](single, all, everything);
    isas[level]->load[type][RS_WIDE_f64](twice, all, everything);
    for (int i = 0; i < 65536; i++) {
      double value = judge_value(type, (uint16_t)i), widened = (double)single[i];
      same_bits(ROWSCAN_F64, value, &twice[i], &value);
      same_bits(ROWSCAN_F64, value, &widened, &value);
    }
    for (int wide = 0; wide < 2; wide++) {
      isas[level]->save[wide ? RS_WIDE_f64 : RS_WIDE_f32][type](back, wide ? (void *)twice : single, everything);
      for (int i = 0; i < 65536; i++)
        same_bits(type, twice[i], &back[i], &all[i]);
    }
  }
}
END_TEST

/* Every half, the point between it and the next, and both sides of that, from close by and from afar. */
START_TEST(halves_from_wide) {
  rowscan_type type = _i ? ROWSCAN_BF16 : ROWSCAN_F16;
  uint16_t last = type == ROWSCAN_F16 ? 0x7bff : 0x7f7f;
  for (uint16_t i = 0; i <= last; i++) {
    double low = judge_value(type, i), high = i == last ? 2 * low - judge_value(type, i - 1) : judge_value(type, i + 1);
    double tie = (low + high) / 2;
    double near[] = {low,
                     tie,
                     high,
                     nextafter(tie, 0),
                     nextafter(tie, HUGE_VAL),
                     (double)nextafterf((float)tie, 0),
                     (double)nextafterf((float)tie, HUGE_VALF),
                     tie * (1 + 0x1p-30),
                     tie * (1 - 0x1p-30)};
    for (size_t k = 0; k < sizeof near / sizeof *near; k++) {
      check_rounding(type, near[k]);
      check_rounding(type, -near[k]);
    }
  }
}
END_TEST

START_TEST(any_bits_from_wide) {
  rowscan_type type = _i ? ROWSCAN_BF16 : ROWSCAN_F16;
  uint64_t r = seed + 500;
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = rs_random(&r);
    float single;
    double x;
    memcpy(&x, &bits, 8);
    memcpy(&single, &bits, 4);
    check_rounding(type, i % 2 ? x : (double)single);
    check_rounding(type, ldexp(unit(&r), (int)below(&r, 60) - 40));
  }
}
END_TEST

/* ---- and the rest ------------------------------------------------------------------------------------------------ */

/* The caller's rounding mode and flushing of subnormals change no bit, and are left as they were. */
START_TEST(the_environment_is_the_callers) {
  uint64_t r = seed + 600;
  for (int i = 0; i < 40; i++) {
    rowscan_spec spec = {.op = i % 2 ? ROWSCAN_PROD : ROWSCAN_SUM,
                         .in_type = ROWSCAN_F16,
                         .out_type = i % 4 < 2 ? ROWSCAN_F16 : ROWSCAN_F32,
                         .acc_type = ROWSCAN_F32};
    int64_t length = i % 3 ? 60000 : 20; /* short ones go another way */
    problem p = any_problem(&r, spec, (int64_t[]){3, length}, 2, true), q = p;
    char *should = malloc(p.out.bytes + 1);
    q.rows.array[RS_OUT].data = should;
    if (!p.in_place) {
      rs_host_run(hosts[i % POOLS], &q.spec, &q.rows);
      fesetround(FE_UPWARD);
#if defined(__SSE2__)
      _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
      rs_host_run(hosts[i % POOLS], &p.spec, &p.rows);
      ck_assert_int_eq(fegetround(), FE_UPWARD);
#if defined(__SSE2__)
      ck_assert_uint_eq(_mm_getcsr() & 0x8040, 0x8040);
#endif
      fesetenv(FE_DFL_ENV);
      compare(&p, spec.out_type, "output", p.out.memory, should, p.out.bytes, "another environment");
    }
    free(should);
    free_problem(&p);
  }
}
END_TEST

START_TEST(pieces_join) {
  rowscan_spec spec = {.acc_type = ROWSCAN_F32};
  float a = 0x1p24f, b = 1, c;
  rs_host_combine(&spec, &c, &b, &b);
  rs_host_combine(&spec, &a, &a, &c);
  is_float(a, 0x1p24f + 2);
  int8_t x = 100, y = 100;
  spec.acc_type = ROWSCAN_I8;
  rs_host_combine(&spec, &x, &x, &y);
  ck_assert_int_eq(x, -56);
  uint64_t big = 1ull << 63, three = 3;
  spec = (rowscan_spec){.acc_type = ROWSCAN_U64, .op = ROWSCAN_PROD};
  rs_host_combine(&spec, &big, &big, &three);
  ck_assert(big == 1ull << 63);
}
END_TEST

START_TEST(no_rows) {
  rs_rows rows = {.rank = 2, .shape = {0, 5}};
  rowscan_spec spec = {.in_type = ROWSCAN_F32, .out_type = ROWSCAN_F32, .acc_type = ROWSCAN_F32, .length = 1000};
  rs_host_run(hosts[1], &spec, &rows);
  rows = (rs_rows){.rank = 1, .shape = {(int64_t)1 << 24}, .count = (int64_t)1 << 24};
  spec.length = 0;
  rs_host_run(hosts[1], &spec, &rows);
  ck_assert_int_eq(rs_host_threads(hosts[1]), 2);
}
END_TEST

#if defined(__x86_64__)
/* Whether the system names all of these among the processor's features, each between spaces. */
static bool has_all(const char *features, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!strstr(features, names[i]))
      return false;
  return true;
}
#endif

/* No processor is given slower loops than it has instructions for, whatever compiled the library. */
START_TEST(the_best_loops_for_this_processor) {
  int best = 0;
#if defined(__x86_64__)
  static const char *const avx2[] = {" avx2 ", " fma ", " f16c "}, *const avx512[] = {" avx512f ", " avx512bw ",
                                                                                      " avx512dq ", " avx512vl "};
  char line[8192] = "";
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file)
    return;
  while (fgets(line, sizeof line, file) && strncmp(line, "flags", 5))
    line[0] = 0;
  fclose(file);
  line[strcspn(line, "\n")] = ' ';
  best = has_all(line, avx2, 3) ? has_all(line, avx512, 4) ? 2 : 1 : 0;
#endif
  ck_assert_int_eq(levels - 1, best);
}
END_TEST

/* More than 2^31 elements: as one row, as rows, as columns. */
START_TEST(beyond_two_billion) {
  const int64_t n = ((int64_t)1 << 31) + 77;
  if (!getenv("ROWSCAN_TEST_BIG"))
    return;
  uint8_t one = 1, *out = malloc((size_t)n);
  ck_assert_ptr_nonnull(out);
  rowscan_spec spec = {.in_type = ROWSCAN_U8, .out_type = ROWSCAN_U8, .acc_type = ROWSCAN_U8, .length = n};
  for (int i = 0; i < 3; i++) {
    memset(out, 0, (size_t)n);
    rs_rows rows = {.array[RS_IN].data = &one,
                    .array[RS_OUT].data = out,
                    .count = 1,
                    .array[RS_OUT].step = 1,
                    .rank = 1,
                    .shape = {1}};
    if (i == 1)
      spec.length = 1, rows.count = rows.shape[0] = n, rows.array[RS_OUT].stride[0] = 1;
    if (i == 2)
      spec.length = n / 7, rows.count = rows.shape[0] = 7, rows.array[RS_OUT].stride[0] = 1,
      rows.array[RS_OUT].step = 7;
    rs_host_run(hosts[i % 2], &spec, &rows);
    for (int64_t e = 0; e < (i == 2 ? n / 7 * 7 : n); e++)
      if (out[e] != (uint8_t)(i == 0 ? e + 1 : i == 1 ? 1 : e / 7 + 1))
        ck_abort_msg("element %lld of kind %d", (long long)e, i);
  }
  free(out);
}
END_TEST

/* What one thread computes. */
static TCase *numbers(void) {
  TCase *cases = tcase_create("numbers");
  tcase_set_tags(cases, "alone");
  tcase_add_checked_fixture(cases, open_hosts, close_hosts);
  tcase_set_timeout(cases, 600);
  tcase_add_test(cases, zeros_and_empty_rows);
  tcase_add_test(cases, the_order_by_hand);
  tcase_add_test(cases, logarithms_of_the_extremes);
  tcase_add_test(cases, logarithms_far_from_one);
  tcase_add_test(cases, products_that_overflow_in_between);
  tcase_add_test(cases, a_product_that_vanishes_keeps_its_sign);
  tcase_add_test(cases, masked_recurrences_are_a_loop);
  tcase_add_test(cases, masked_recurrences_by_hand);
  tcase_add_test(cases, segments_by_hand);
  tcase_add_test(cases, segments_drop_what_came_before);
  tcase_add_test(cases, omitted_nans_by_hand);
  tcase_add_test(cases, fixed_point_by_hand);
  tcase_add_test(cases, fixed_point_does_not_step_down);
  tcase_add_test(cases, indices_by_hand);
  lot_add_loop_test(cases, halves_to_wide_and_back, 0, 2);
  lot_add_loop_test(cases, halves_from_wide, 0, 2);
  lot_add_loop_test(cases, any_bits_from_wide, 0, 2);
  tcase_add_test(cases, pieces_join);
  tcase_add_test(cases, the_best_loops_for_this_processor);
  return cases;
}

int main(void) {
  if (getenv("ROWSCAN_TEST_SEED"))
    seed = strtoull(getenv("ROWSCAN_TEST_SEED"), NULL, 0);
  if (is_quick())
    random_cases /= 8;
  lot_tell();
  Suite *suite = suite_create("host");
  TCase *cases = tcase_create("host");
  tcase_add_checked_fixture(cases, open_hosts, close_hosts);
  tcase_set_timeout(cases, 600);
  lot_add_loop_test(cases, everything_at_random, 0, ROWSCAN_BOOL);
  lot_add_loop_test(cases, further_arrays, 0, ROWSCAN_BOOL);
  lot_add_loop_test(cases, gradients, 0, 5);
  lot_add_loop_test(cases, second_outputs_at_cuts, 0, 1);
  lot_add_loop_test(cases, two_outputs_past_the_caches, 0, 1);
  lot_add_loop_test(cases, every_length, 0, sizeof plain_types / sizeof *plain_types);
  lot_add_loop_test(cases, columns, 0, sizeof plain_types / sizeof *plain_types);
  lot_add_loop_test(cases, every_offset, 0, 6);
  lot_add_loop_test(cases, short_rows_with_gaps, 0, sizeof plain_types / sizeof *plain_types);
  lot_add_loop_test(cases, long_rows, 0, sizeof plain_types / sizeof *plain_types);
  lot_add_loop_test(cases, many_callers, 0, 2 + WAYS);
  lot_add_loop_test(cases, threads_of_the_programs, 0, WAYS);
  lot_add_loop_test(cases, threads_may_be_more_or_fewer, 0, 1);
  lot_add_loop_test(cases, the_environment_is_the_callers, 0, 1);
  tcase_add_test(cases, no_rows);
  tcase_add_test(cases, beyond_two_billion);
  suite_add_tcase(suite, cases);
  suite_add_tcase(suite, numbers());
  return run_tests(suite);
}
