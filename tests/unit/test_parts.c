/*
 * test_parts.c - rows cut anywhere have the bits of one scan
 * SPDX-License-Identifier: MIT
 *
 * Random scans of any operator, types, flags, masks, segments, further arrays and layouts. Each is scanned in one call;
 * then its rows are cut, records are made of the parts and merged in any order, and each part is scanned by itself. All
 * bytes must be the same. A carry takes the parts in turn, and ranks of a communicator, which are threads here, one
 * each; they must give the same, too. RS_SEED draws.
 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu/any_op.h"
#include "../support/judge.h"
#include "../support/lot.h"
#include "../support/quick.h"
#include "../support/run_tests.h"
#include "base/ints.h"
#include "spec/rows.h"

enum { MOST_RANK = 3, MOST_PARTS = 9, MOST_TEXT = 1024 };

static rowscan_context *context;

static void open_context(void) {
  ck_assert(!rowscan_open(&context, ROWSCAN_OPTIONS(.engine = ROWSCAN_ENGINE_HOST, .threads = 3)));
}

static void close_context(void) {
  rowscan_close(context);
}

static int64_t below(uint64_t *random, int64_t n) {
  return (int64_t)(rs_random(random) % (uint64_t)n);
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

typedef struct array {
  char *memory;
  size_t bytes;
  int64_t strides[MOST_RANK], origin; /* of element [0, ...], in bytes */
} array;

enum { IN, OUT, MASK, INIT, TOTALS, MORE, SECOND = MORE + 4, SEGMENTS, ARRAYS };

typedef struct scan {
  rowscan_spec spec;
  int rank, dim;
  int64_t shape[MOST_RANK], length, rows;
  array array[ARRAYS];
  bool in_place, initial; /* initial: P(0) is wanted, too */
  double params[4];
  char text[MOST_TEXT];
} scan;

static rowscan_spec draw_spec(uint64_t *random) {
  rowscan_spec spec;
  do {
    spec = (rowscan_spec){.size = sizeof spec, .in_type = (rowscan_type)(1 + below(random, ROWSCAN_BOOL))};
    spec.op = op_at((int)below(random, op_count()));
    spec.out_type = (rowscan_type)(below(random, 3) ? 0 : below(random, ROWSCAN_BOOL + 1));
    spec.acc_type = below(random, 4) ? ROWSCAN_TYPE_DEFAULT : ROWSCAN_F64;
    if (spec.op == ROWSCAN_SUM && below(random, 6) == 0)
      spec.acc_type = ROWSCAN_FIXED(below(random, 40));
    spec.flags = (unsigned)below(random, 4);
    if (below(random, 4) == 0)
      spec.flags |= ROWSCAN_TIES_FIRST;
    if (below(random, 6) == 0)
      spec.flags |= ROWSCAN_OMIT_NAN;
    spec.mask_mode = (rowscan_mask_mode)(below(random, 2) ? 0 : below(random, (int64_t)rs_mask_mode_values.most + 1));
    if (spec.mask_mode && below(random, 2))
      spec.mask_type = (rowscan_type)(1 + below(random, ROWSCAN_BOOL));
    if (below(random, 3) == 0)
      spec.segment_mode = (rowscan_mask_mode)(ROWSCAN_MASK_HEADS + below(random, 3));
    if (spec.segment_mode && below(random, 2))
      spec.segment_type = (rowscan_type)(1 + below(random, ROWSCAN_BOOL));
    if (below(random, 3) == 0 && (rs_op_of(spec.op)->second || rs_op_of(spec.op)->weighs))
      spec.second_type = spec.in_type;
    spec.length = 1;
  } while (rowscan_spec_complete(&spec));
  return spec;
}

static rowscan_type type_of(const scan *s, int which) {
  const rowscan_spec *spec = &s->spec;
  const rowscan_type kept = rs_kept_type(spec->acc_type), *more = spec->more_types;
  const rowscan_type types[ARRAYS] = {spec->in_type,
                                      spec->out_type,
                                      spec->mask_mode ? spec->mask_type : 0,
                                      kept,
                                      kept,
                                      more[0],
                                      more[1],
                                      more[2],
                                      more[3],
                                      spec->second_type,
                                      spec->segment_mode ? spec->segment_type : 0};
  return types[which];
}

/* In C order or another one, with gaps, some backward. */
static void lay_out(uint64_t *random, const scan *s, int which, array *a) {
  int64_t step = 1, size = (int64_t)rowscan_type_bytes(type_of(s, which)), first = 0;
  bool ends = which == INIT || which == TOTALS, turned = below(random, 2);
  for (int i = 0; i < s->rank; i++) {
    int d = turned ? i : s->rank - 1 - i;
    int64_t extent = d == s->dim ? (ends ? 1 : s->length + (which == OUT && s->initial)) : rs_larger(s->shape[d], 1);
    bool back = below(random, 4) == 0;
    a->strides[d] = back ? -step : step;
    first += back && extent ? step * (extent - 1) : 0;
    step = step * rs_larger(extent, 1) + (below(random, 3) ? 0 : below(random, 3));
  }
  a->origin = first * size;
  a->bytes = (size_t)(step * size);
  a->memory = malloc(a->bytes);
}

static double any_real(uint64_t *random, const scan *s) {
  double x = (double)below(random, 1 << 20) / (1 << 20), sign = below(random, 2) ? 1 : -1;
  switch (below(random, 40)) {
  case 0:
    return sign * 0.0;
  case 1:
    return below(random, 4) ? 1 : sign * (below(random, 2) ? (double)NAN : (double)INFINITY);
  default:
    return s->spec.op == ROWSCAN_PROD ? sign * (0.9 + x / 5) : sign * ldexp(x, (int)below(random, 9) - 4);
  }
}

static void put_real(rowscan_type type, void *p, double x) {
  uint16_t half = judge_round(type, x);
  float single = (float)x;
  if (type == ROWSCAN_F64)
    memcpy(p, &x, sizeof x);
  else if (type == ROWSCAN_F32)
    memcpy(p, &single, sizeof single);
  else
    memcpy(p, &half, sizeof half);
}

/* Marks are rare, or nothing would carry over. */
static void fill(uint64_t *random, const scan *s, int which, const array *a) {
  rowscan_type type = type_of(s, which);
  size_t bytes = rowscan_type_bytes(type);
  bool marks = which == SEGMENTS || (which == MASK && s->spec.mask_mode != ROWSCAN_MASK_COEFFICIENT);
  int64_t rare = 1 << below(random, 8), same = 0;
  for (size_t i = 0; i + bytes <= a->bytes; i += bytes) {
    if (rs_type_kind(type) == RS_FLOAT)
      put_real(type, a->memory + i, marks && below(random, rare) ? 0 : any_real(random, s));
    else if (marks && which == SEGMENTS && below(random, rare))
      judge_write(type, a->memory + i, (uint64_t)same);
    else
      judge_write(type, a->memory + i, marks ? (uint64_t)(same = below(random, 3)) : rs_random(random));
  }
}

static void describe(scan *s) {
  rs_text line = {0};
  rs_spec_line(&s->spec, &line);
  snprintf(s->text, sizeof s->text, "RS_SEED=%llu: %s; length %lld, %lld rows, rank %d, dim %d%s%s",
           (unsigned long long)lot_drawn()->seed, line.data, (long long)s->length, (long long)s->rows, s->rank, s->dim,
           s->initial ? ", P(0)" : "", s->in_place ? ", in place" : "");
  rs_text_free(&line);
}

static void make(scan *s, uint64_t *random, const rowscan_spec *spec, int64_t length, int64_t most_rows) {
  *s = (scan){.spec = *spec, .length = length, .rows = 1, .rank = 1 + (int)below(random, MOST_RANK)};
  s->dim = (int)below(random, s->rank);
  for (int d = 0; d < s->rank; d++) {
    s->shape[d] = d == s->dim ? length : 1 + below(random, rs_larger(most_rows / rs_larger(s->rows, 1), 1));
    if (d != s->dim && below(random, 40) == 0) /* no rows */
      s->shape[d] = 0;
    s->rows *= d == s->dim ? 1 : s->shape[d];
  }
  bool weighs = rs_op_of(spec->op)->weighs; /* then a prefix is not the result before it */
  s->initial = !weighs && !(spec->flags & ROWSCAN_EXCLUSIVE) && below(random, 4) == 0;
  s->in_place =
      !s->initial && rowscan_type_bytes(spec->in_type) == rowscan_type_bytes(spec->out_type) && below(random, 3) == 0;
  for (int a = 0; a < ARRAYS; a++) {
    bool absent = (a == INIT && (below(random, 2) || rs_op_of(spec->op)->kind == RS_INDEX)) ||
                  (a == IN && s->in_place) || (a == TOTALS && below(random, 2));
    if (absent || !type_of(s, a))
      continue;
    lay_out(random, s, a, &s->array[a]);
    fill(random, s, a, &s->array[a]);
  }
  for (int i = 0; i < rs_op_of(spec->op)->params; i++)
    s->params[i] = (double)below(random, 1000) / 1000;
  describe(s);
}

static void drop(scan *s) {
  for (int a = 0; a < ARRAYS; a++)
    free(s->array[a].memory);
}

/* Of everything that is written, and read. */
static scan copy_of(const scan *s) {
  scan copy = *s;
  for (int a = 0; a < ARRAYS; a++)
    if (copy.array[a].memory) {
      copy.array[a].memory = malloc(copy.array[a].bytes);
      memcpy(copy.array[a].memory, s->array[a].memory, copy.array[a].bytes);
    }
  return copy;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Elements [begin, begin + count) in the order of the scan. */
static rowscan_problem problem_of(const scan *s, int64_t begin, int64_t count, int64_t *shape) {
  const rowscan_spec *spec = &s->spec;
  char *at[ARRAYS];
  int64_t index = spec->flags & ROWSCAN_REVERSE ? s->length - begin - count : begin;
  for (int a = 0; a < ARRAYS; a++) {
    const array *from = &s->array[a == IN && s->in_place ? OUT : a];
    int64_t shift = a == INIT || a == TOTALS ? 0 : index * from->strides[s->dim];
    at[a] = from->memory ? from->memory + from->origin + shift * (int64_t)rowscan_type_bytes(type_of(s, a)) : NULL;
  }
  memcpy(shape, s->shape, sizeof s->shape);
  shape[s->dim] = count;
#define ARRAY(which, a) {.data = at[which], .type = type_of(s, which), .strides = s->array[a].strides}
  rowscan_problem problem = {.size = sizeof problem,
                             .op = spec->op,
                             .flags = spec->flags | (s->initial ? ROWSCAN_INCLUDE_INITIAL : 0),
                             .rank = s->rank,
                             .dim = s->dim,
                             .shape = shape,
                             .input = ARRAY(IN, s->in_place ? OUT : IN),
                             .output = ARRAY(OUT, OUT),
                             .mask = ARRAY(MASK, MASK),
                             .mask_mode = spec->mask_mode,
                             .acc_type = spec->acc_type,
                             .init = ARRAY(INIT, INIT),
                             .totals = ARRAY(TOTALS, TOTALS),
                             .second = ARRAY(SECOND, SECOND),
                             .segments = ARRAY(SEGMENTS, SEGMENTS),
                             .segment_mode = spec->segment_mode};
  for (int i = 0; i < 4; i++)
    problem.more[i] = (rowscan_input)ARRAY(MORE + i, MORE + i);
  memcpy(problem.params, s->params, sizeof problem.params);
  return problem;
}

#define OK(call) ck_assert_msg((call) == ROWSCAN_OK, "%s: %s", s->text, rowscan_last_error())

static void compare(const scan *s, const scan *is, const scan *should, const char *what) {
  for (int a = 0; a < ARRAYS; a++) {
    if (a != OUT && a != TOTALS && a != SECOND)
      continue;
    rowscan_type type = type_of(s, a);
    size_t bytes = type ? rowscan_type_bytes(type) : 1;
    for (size_t i = 0; s->array[a].memory && i + bytes <= s->array[a].bytes; i += bytes)
      if (!judge_equal(type, is->array[a].memory + i, should->array[a].memory + i))
        ck_abort_msg("%s: %s, array %d, element %zu of %zu", s->text, what, a, i / bytes, s->array[a].bytes / bytes);
  }
}

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* As torch.chunk cuts, at multiples of a power of two, with parts of one element and of none, or anywhere. */
static void cut(uint64_t *random, int64_t length, int64_t *cuts, int parts) {
  int kind = (int)below(random, 4);
  int64_t unit = INT64_C(1) << below(random, 8), chunk = rs_ceiling(length, parts);
  cuts[0] = 0;
  for (int i = 1; i < parts; i++) {
    int64_t at = below(random, length + 1);
    cuts[i] = kind == 0   ? rs_smaller(i * chunk, length)
              : kind == 1 ? at / unit * unit
              : kind == 2 ? rs_smaller(cuts[i - 1] + below(random, 2), length)
                          : at;
  }
  cuts[parts] = length;
  qsort(cuts, (size_t)parts + 1, sizeof *cuts, by_size);
}

typedef struct piece {
  void *record;
  size_t bytes;
} piece;

static piece room_for(const scan *s, int64_t begin, int64_t end) {
  int64_t shape[MOST_RANK];
  piece made;
  rowscan_problem problem = problem_of(s, 0, s->length, shape);
  OK(rowscan_record_bytes(&problem, begin, end, &made.bytes));
  made.record = malloc(made.bytes);
  return made;
}

static piece record_of(const scan *s, int64_t begin, int64_t end) {
  int64_t shape[MOST_RANK];
  piece made = room_for(s, begin, end);
  rowscan_problem problem = problem_of(s, begin, end - begin, shape);
  problem.output.data = NULL;
  memset(made.record, 0x5a, made.bytes);
  OK(rowscan_part_record(context, &problem, ROWSCAN_PART(.begin = begin, .length = s->length), made.record, made.bytes,
                         NULL));
  return made;
}

static piece merge(const scan *s, const piece *from, int count, int64_t begin, int64_t end) {
  int64_t shape[MOST_RANK];
  const void *records[MOST_PARTS];
  size_t bytes[MOST_PARTS];
  piece made = room_for(s, begin, end);
  rowscan_problem problem = problem_of(s, 0, s->length, shape);
  for (int i = 0; i < count; i++) {
    records[i] = from[i].record;
    bytes[i] = from[i].bytes;
  }
  OK(rowscan_record_merge(&problem, count, records, bytes, made.record, made.bytes));
  return made;
}

/* Of parts first .. last, merged two by two in any order. */
static piece merge_any(uint64_t *random, const scan *s, const piece *of, const int64_t *cuts, int first, int last) {
  if (last - first == 1)
    return merge(s, of + first, 1, cuts[first], cuts[last]);
  int middle = first + 1 + (int)below(random, last - first - 1);
  piece two[] = {merge_any(random, s, of, cuts, first, middle), merge_any(random, s, of, cuts, middle, last)};
  piece both = merge(s, two, 2, cuts[first], cuts[last]);
  free(two[0].record);
  free(two[1].record);
  return both;
}

static void same_record(const scan *s, const piece *a, const piece *b, const char *what) {
  ck_assert_msg(a->bytes == b->bytes && !memcmp(a->record, b->record, a->bytes), "%s: %s", s->text, what);
}

static void scan_part(const scan *s, const scan *on, const piece *of, const int64_t *cuts, int part, bool own) {
  int64_t shape[MOST_RANK];
  piece before = {NULL, 0};
  rowscan_problem problem = problem_of(on, cuts[part], cuts[part + 1] - cuts[part], shape);
  if (cuts[part + 1] < s->length || (part && cuts[part] == s->length))
    problem.totals.data = NULL; /* those of the row are wanted */
  if (part)
    before = merge(s, of, part, 0, cuts[part]);
  OK(rowscan_part_scan(context, &problem,
                       ROWSCAN_PART(.begin = cuts[part], .length = s->length, .before = before.record,
                                    .before_bytes = before.bytes, .own = own ? of[part].record : NULL,
                                    .own_bytes = own ? of[part].bytes : 0),
                       NULL));
  free(before.record);
}

static void scan_parts(uint64_t *random, const scan *s, const scan *should) {
  int64_t cuts[MOST_PARTS + 1];
  int parts = 1 + (int)below(random, MOST_PARTS);
  piece of[MOST_PARTS], all, merged;
  scan is = copy_of(s);
  cut(random, s->length, cuts, parts);
  for (int i = 0; i < parts; i++)
    of[i] = record_of(s, cuts[i], cuts[i + 1]);
  all = record_of(s, 0, s->length);
  merged = merge_any(random, s, of, cuts, 0, parts);
  same_record(s, &merged, &all, "records merged two by two are not that of the row");
  for (int i = parts - 1; i >= 0; i--)
    scan_part(s, &is, of, cuts, i, below(random, 2));
  compare(s, &is, should, "parts");
  for (int i = 0; i < parts; i++)
    free(of[i].record);
  free(all.record);
  free(merged.record);
  drop(&is);
}

static void scan_chunks(uint64_t *random, const scan *s, const scan *should) {
  int64_t cuts[MOST_PARTS + 1], shape[MOST_RANK];
  int parts = 1 + (int)below(random, MOST_PARTS);
  rowscan_carry *carry;
  if (rs_op_of(s->spec.op)->kind == RS_INDEX && s->spec.flags & ROWSCAN_REVERSE)
    return;
  scan is = copy_of(s);
  cut(random, s->length, cuts, parts);
  OK(rowscan_carry_create(&carry, context));
  for (int i = 0; i < parts; i++) {
    rowscan_problem problem = problem_of(&is, cuts[i], cuts[i + 1] - cuts[i], shape);
    OK(rowscan_carry_scan(carry, &problem, NULL));
  }
  rowscan_carry_destroy(carry);
  compare(s, &is, should, "chunks");
  drop(&is);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

/* Threads in the place of processes: an all-gather through memory that all see. */
typedef struct meeting {
  pthread_barrier_t barrier;
  const void *sent[MOST_PARTS];
  int ranks;
  bool fails; /* the second all-gather of rank 1 does, on purpose */
} meeting;

typedef struct rank {
  meeting *at;
  int number, met;
  rowscan_problem problem;
  int64_t shape[MOST_RANK];
  rowscan_status status;
  char message[MOST_TEXT];
  rowscan_context *context;
} rank;

static int meet(void *user, const void *send, void *receive, size_t bytes) {
  rank *own = user;
  meeting *at = own->at;
  at->sent[own->number] = send;
  pthread_barrier_wait(&at->barrier);
  for (int r = 0; r < at->ranks; r++)
    memcpy((char *)receive + (size_t)r * bytes, at->sent[r], bytes);
  pthread_barrier_wait(&at->barrier);
  return at->fails && own->number == 1 && ++own->met == 2 ? 7 : 0;
}

static void *run_rank(void *of) {
  rank *own = of;
  own->status = rowscan_shard_scan(
      own->context, &own->problem,
      ROWSCAN_COMM(.ranks = own->at->ranks, .rank = own->number, .user = own, .all_gather = meet), NULL);
  snprintf(own->message, sizeof own->message, "%s", own->status ? rowscan_last_error() : "");
  return NULL;
}

static void run_ranks(rank *all, meeting *at) {
  pthread_t threads[MOST_PARTS];
  ck_assert(!pthread_barrier_init(&at->barrier, NULL, (unsigned)at->ranks));
  for (int r = 0; r < at->ranks; r++) {
    all[r].at = at;
    all[r].number = r;
    all[r].met = 0;
    all[r].problem.shape = all[r].shape;
    all[r].context = context;
    ck_assert(!pthread_create(&threads[r], NULL, run_rank, &all[r]));
  }
  for (int r = 0; r < at->ranks; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&at->barrier);
}

/* Each rank has totals of its own, those of the row. */
static void scan_ranks(uint64_t *random, const scan *s, const scan *should) {
  int64_t cuts[MOST_PARTS + 1];
  meeting at = {.ranks = 1 + (int)below(random, MOST_PARTS)};
  rank all[MOST_PARTS];
  scan is = copy_of(s), own[MOST_PARTS]; /* what strides point to stays until all are done */
  array totals[MOST_PARTS];
  cut(random, s->length, cuts, at.ranks);
  for (int r = 0; r < at.ranks; r++) {
    int place = s->spec.flags & ROWSCAN_REVERSE ? at.ranks - 1 - r : r;
    totals[r] = s->array[TOTALS];
    if (totals[r].memory) {
      totals[r].memory = malloc(totals[r].bytes);
      memcpy(totals[r].memory, s->array[TOTALS].memory, totals[r].bytes);
    }
    own[r] = is;
    own[r].array[TOTALS] = totals[r];
    all[r].problem = problem_of(&own[r], cuts[place], cuts[place + 1] - cuts[place], all[r].shape);
  }
  run_ranks(all, &at);
  for (int r = 0; r < at.ranks; r++) {
    ck_assert_msg(all[r].status == ROWSCAN_OK, "%s: rank %d: %s", s->text, r, all[r].message);
    compare(s, &own[r], should, "ranks");
    free(totals[r].memory);
  }
  drop(&is);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void try(uint64_t *random, const rowscan_spec *spec, int64_t length, int64_t most_rows) {
  int64_t shape[MOST_RANK];
  scan one, should, *s = &one;
  make(s, random, spec, length, most_rows);
  should = copy_of(s);
  rowscan_problem problem = problem_of(&should, 0, length, shape);
  rowscan_status status = rowscan_scan(context, &problem, NULL);
  ck_assert_msg(!status || status == ROWSCAN_UNSUPPORTED, "%s: %s", s->text, rowscan_last_error());
  if (!status) {
    scan_parts(random, s, &should);
    scan_chunks(random, s, &should);
    scan_ranks(random, s, &should);
  }
  drop(&should);
  drop(s);
}

START_TEST(cut_rows_have_the_bits_of_one_scan) {
  uint64_t random = lot_drawn()->seed * 1000 + (uint64_t)_i;
  for (int i = 0; i < 60; i++) {
    rowscan_spec spec = draw_spec(&random);
    try(&random, &spec, below(&random, below(&random, 2) ? 40 : 700), 12);
  }
}
END_TEST

START_TEST(long_rows_too) {
  uint64_t random = lot_drawn()->seed * 1000 + 500 + (uint64_t)_i;
  for (int i = 0; i < 4; i++) {
    rowscan_spec spec = draw_spec(&random);
    try(&random, &spec, 1 + below(&random, 300000), 1 + below(&random, 3));
  }
  for (int i = 0; i < 4; i++) {
    rowscan_spec spec = draw_spec(&random);
    try(&random, &spec, 1 + below(&random, 3000), 200);
  }
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum { ROWS = 3, LENGTH = 37, CUT = 21 };

static float elements[ROWS][LENGTH];

/* Of elements [begin, end) of some rows. */
static rowscan_problem plain(int64_t begin, int64_t end, int64_t *shape) {
  static const int64_t strides[] = {LENGTH, 1};
  shape[0] = ROWS;
  shape[1] = end - begin;
  float *at = &elements[0][begin];
  return *ROWSCAN_PROBLEM(.rank = 2, .dim = 1, .shape = shape,
                          .input = {.data = at, .type = ROWSCAN_F32, .strides = strides},
                          .output = {.data = at, .type = ROWSCAN_F32, .strides = strides});
}

static void refuse(rowscan_status status, rowscan_status wanted, const char *words) {
  ck_assert_msg(status == wanted && strstr(rowscan_last_error(), words), "%d: %s, not: %s", status,
                rowscan_last_error(), words);
}

#define BAD(part, words)                                                                                               \
  refuse(rowscan_part_scan(context, &problem, part, NULL), ROWSCAN_BAD_ARGUMENT, words);                               \
  ck_assert(!memcmp(elements, as_before, sizeof elements))

START_TEST(what_is_no_part_is_refused) {
  int64_t shape[2];
  size_t bytes, own_bytes;
  rowscan_problem problem = plain(0, CUT, shape);
  ck_assert(!rowscan_record_bytes(&problem, 0, CUT, &bytes));
  char *record = malloc(bytes), *own = malloc(2 * bytes);
  for (int i = 0; i < ROWS * LENGTH; i++)
    elements[i / LENGTH][i % LENGTH] = (float)i;
  float as_before[ROWS][LENGTH];
  memcpy(as_before, elements, sizeof elements);
  ck_assert(!rowscan_part_record(context, &problem, ROWSCAN_PART(.length = LENGTH), record, bytes, NULL));
  refuse(rowscan_part_record(context, &problem, ROWSCAN_PART(.length = LENGTH), own, bytes - 1, NULL),
         ROWSCAN_BAD_ARGUMENT, "record: ");
  problem = plain(CUT, LENGTH, shape);
  ck_assert(!rowscan_record_bytes(&problem, CUT, LENGTH, &own_bytes) && own_bytes <= 2 * bytes);
  ck_assert(
      !rowscan_part_record(context, &problem, ROWSCAN_PART(.begin = CUT, .length = LENGTH), own, own_bytes, NULL));
  BAD(ROWSCAN_PART(.begin = -1, .length = LENGTH), "part: field 'begin': -1 is negative");
  BAD(ROWSCAN_PART(.length = -1), "part: field 'length': -1 is not between 0 and 2^56");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH - 1),
      "part: field 'length': 36, but the part has 16 elements from 21 on");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH), "part: field 'before': NULL ends at 0, but the part begins at 21");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = 63), "63 bytes, but a record has");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = bytes - 1),
      "part: field 'before': ");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH + 1, .before = record, .before_bytes = bytes),
      "part: field 'before': field 'length': 37, but 38 is expected");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = own, .before_bytes = own_bytes),
      "part: field 'before': field 'begin': 21, but 0 is expected");
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = bytes, .own = record,
                   .own_bytes = bytes),
      "part: field 'own': field 'begin': 0, but 21 is expected");
  problem.op = ROWSCAN_MAX;
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = bytes),
      "is of the scan 'op=sum in=f32");
  problem.op = ROWSCAN_SUM;
  shape[0] = ROWS - 1;
  BAD(ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = bytes),
      "field 'rows': 3, but 2 is expected");
  shape[0] = ROWS;
  refuse(rowscan_record_merge(&problem, 2, (const void *[]){own, record}, (size_t[]){own_bytes, bytes}, record, bytes),
         ROWSCAN_BAD_ARGUMENT, "records[1]: field 'begin': 0, but 37 is expected");
  refuse(rowscan_record_merge(&problem, 0, (const void *[]){own}, (size_t[]){own_bytes}, record, bytes),
         ROWSCAN_BAD_ARGUMENT, "count: 0");
  refuse(rowscan_record_bytes(&problem, 3, 2, &bytes), ROWSCAN_BAD_ARGUMENT, "begin, end: 3 and 2");
  ck_assert(!rowscan_part_scan(context, &problem,
                               ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = bytes,
                                            .own = own, .own_bytes = own_bytes),
                               NULL));
  free(record);
  free(own);
}
END_TEST

/* All ranks are told the same, and nothing is written. */
static void refuse_ranks(rank *all, meeting *at, rowscan_status status, const char *message) {
  float as_before[ROWS][LENGTH];
  memcpy(as_before, elements, sizeof elements);
  run_ranks(all, at);
  for (int r = 0; r < at->ranks; r++)
    ck_assert_msg(all[r].status == status && strstr(all[r].message, message), "rank %d: %d, %s, not: %s", r,
                  all[r].status, all[r].message, message);
  ck_assert(!memcmp(elements, as_before, sizeof elements));
}

static void good_ranks(rank *all) {
  static const int64_t cuts[] = {0, 5, CUT, CUT, LENGTH};
  for (int r = 0; r < 4; r++)
    all[r].problem = plain(cuts[r], cuts[r + 1], all[r].shape);
}

START_TEST(one_rank_that_fails_fails_all) {
  rank all[4];
  meeting at = {.ranks = 4};
  good_ranks(all);
  all[2].problem.acc_type = ROWSCAN_F64;
  refuse_ranks(all, &at, ROWSCAN_BAD_ARGUMENT, "rank 2: scans 'op=sum in=f32 out=f32 acc=f64 ");
  good_ranks(all);
  all[1].problem.input.data = NULL;
  refuse_ranks(all, &at, ROWSCAN_BAD_ARGUMENT, "rank 1: field 'input': NULL, but there are elements");
  good_ranks(all);
  all[3].shape[0] = ROWS - 1;
  refuse_ranks(all, &at, ROWSCAN_BAD_ARGUMENT, "rank 3: has 2 rows, but rank 0 has 3");
  good_ranks(all);
  all[3].problem.flags = ROWSCAN_REVERSE;
  all[1].problem.rank = 0;
  refuse_ranks(all, &at, ROWSCAN_BAD_ARGUMENT, "rank 1: problem: field 'rank': 0 is not between 1 and 64");
  good_ranks(all);
  at.fails = true;
  run_ranks(all, &at);
  ck_assert_int_eq(all[0].status, ROWSCAN_OK);
  ck_assert_int_eq(all[1].status, ROWSCAN_COMM_FAILED);
  ck_assert_msg(strstr(all[1].message, "bytes returned 7"), "%s", all[1].message);
}
END_TEST

/* Indices of a row that is longer than its part. */
START_TEST(indices_that_no_output_holds_are_refused) {
  int64_t shape[2], outputs[5];
  float x[] = {1, 5, 2, 7, 3};
  rowscan_problem problem = plain(0, 5, shape);
  shape[0] = 1;
  problem.op = ROWSCAN_ARGMAX;
  problem.input = (rowscan_input){.data = x, .type = ROWSCAN_F32};
  problem.output = (rowscan_output){.data = outputs, .type = ROWSCAN_I32};
  refuse(rowscan_part_scan(context, &problem, ROWSCAN_PART(.length = INT64_C(1) << 33), NULL), ROWSCAN_UNSUPPORTED,
         "field 'length': 8589934592");
  problem.output.type = ROWSCAN_I64;
  refuse(rowscan_part_scan(context, &problem, ROWSCAN_PART(.length = INT64_C(1) << 33), NULL), ROWSCAN_UNSUPPORTED,
         "field 'length': 8589934592");
  ck_assert(!rowscan_part_scan(context, &problem, ROWSCAN_PART(.length = INT64_C(1) << 31), NULL));
}
END_TEST

/* Parameters are part of what is scanned; and to ask for a size takes no memory. */
START_TEST(records_say_what_was_scanned) {
  int64_t shape[2];
  size_t bytes;
  rowscan_problem problem = plain(0, CUT, shape);
  problem.op = ROWSCAN_DECAYED_SUM;
  problem.params[0] = 0.5;
  ck_assert(!rowscan_record_bytes(&problem, 0, CUT, &bytes));
  void *record = malloc(bytes);
  ck_assert(!rowscan_part_record(context, &problem, ROWSCAN_PART(.length = LENGTH), record, bytes, NULL));
  problem = plain(CUT, LENGTH, shape);
  problem.op = ROWSCAN_DECAYED_SUM;
  problem.params[0] = 0.9;
  refuse(rowscan_part_scan(context, &problem,
                           ROWSCAN_PART(.begin = CUT, .length = LENGTH, .before = record, .before_bytes = bytes), NULL),
         ROWSCAN_BAD_ARGUMENT, "param0=0.5', but this one is 'op=decayed_sum");
  free(record);
  problem = plain(0, 1, shape);
  shape[0] = INT64_C(1) << 40;
  problem.mask_mode = ROWSCAN_MASK_KEYS;
  ck_assert(!rowscan_record_bytes(&problem, 0, CUT, &bytes) && bytes > (size_t)1 << 40);
}
END_TEST

START_TEST(what_is_no_communicator_is_refused) {
  int64_t shape[2];
  rowscan_problem problem = plain(0, LENGTH, shape);
#define NO(comm, words) refuse(rowscan_shard_scan(context, &problem, comm, NULL), ROWSCAN_BAD_ARGUMENT, words)
  NO(ROWSCAN_COMM(.ranks = 0, .all_gather = meet), "comm: field 'ranks': 0 is not at least 1");
  NO(ROWSCAN_COMM(.ranks = 2, .rank = 2, .all_gather = meet), "comm: field 'rank': 2 is not between 0 and 1");
  NO(ROWSCAN_COMM(.ranks = 2, .rank = 1), "comm: field 'all_gather': NULL");
}
END_TEST

/* Any bytes in the place of a record: an error, or other numbers. */
START_TEST(damaged_records_do_no_harm) {
  uint64_t random = lot_drawn()->seed + 7;
  int64_t shape[2];
  size_t bytes, merged_bytes;
  rowscan_problem problem = plain(0, CUT, shape);
  problem.mask_mode = ROWSCAN_MASK_KEYS;
  problem.mask = (rowscan_input){.data = elements, .type = ROWSCAN_I32};
  ck_assert(!rowscan_record_bytes(&problem, 0, CUT, &bytes) && !rowscan_record_bytes(&problem, 0, 64, &merged_bytes));
  char *record = malloc(bytes), *bad = malloc(bytes), *merged = malloc(merged_bytes);
  rowscan_record_info info = ROWSCAN_INFO(rowscan_record_info);
  ck_assert(!rowscan_part_record(context, &problem, ROWSCAN_PART(.length = LENGTH), record, bytes, NULL));
  ck_assert(!rowscan_record_info_get(record, bytes, &info));
  ck_assert(info.begin == 0 && info.end == CUT && info.length == LENGTH);
  for (int i = 0; i < 20000; i++) {
    memcpy(bad, record, bytes);
    size_t room = below(&random, 4) ? bytes : (size_t)below(&random, (int64_t)bytes);
    char *exact = malloc(room + !room); /* so that a sanitizer sees what is read beyond */
    for (int64_t n = 1 + below(&random, 3); n > 0; n--)
      bad[below(&random, below(&random, 3) ? 64 : (int64_t)bytes)] = (char)rs_random(&random);
    memcpy(exact, bad, room);
    rowscan_status status =
        rowscan_record_merge(&problem, 1, (const void *[]){exact}, (size_t[]){room}, merged, merged_bytes);
    ck_assert(status == ROWSCAN_OK || status == ROWSCAN_BAD_ARGUMENT || status == ROWSCAN_OUT_OF_MEMORY);
    status = rowscan_record_info_get(exact, room, &info);
    ck_assert(status == ROWSCAN_OK || status == ROWSCAN_BAD_ARGUMENT);
    free(exact);
  }
  free(record);
  free(bad);
  free(merged);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("parts");
  TCase *cases = tcase_create("parts");
  tcase_add_checked_fixture(cases, open_context, close_context);
  tcase_set_timeout(cases, 600);
  lot_add_loop_test(cases, cut_rows_have_the_bits_of_one_scan, 0, is_quick() ? 12 : 48);
  lot_add_loop_test(cases, long_rows_too, 0, is_quick() ? 12 : 24);
  lot_add_test(cases, what_is_no_part_is_refused);
  lot_add_test(cases, one_rank_that_fails_fails_all);
  lot_add_test(cases, indices_that_no_output_holds_are_refused);
  lot_add_test(cases, records_say_what_was_scanned);
  lot_add_test(cases, what_is_no_communicator_is_refused);
  lot_add_test(cases, damaged_records_do_no_harm);
  suite_add_tcase(suite, cases);
  return run_tests(suite);
}
