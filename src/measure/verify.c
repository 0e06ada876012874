/*
 * verify.c - whether what is timed is right: scans against the host engine, copies against what they copy
 * SPDX-License-Identifier: MIT
 */
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/status.h"
#include "sample.h"
#include "spec/types.h"

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
      return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a check of %lld elements", (long long)piece->elements);
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
static void compare_excerpt(const rs_sets *sets, excerpt *piece, rs_host *host, rs_verdict *verdict) {
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
    verdict->wrong +=
        rs_sample_differ(rs_array_type(&spec, (rs_which)a), image->data, image->expected, image->span.count);
    verdict->checked += piece->elements;
  }
}

rowscan_status rs_verify_scan(const rs_sets *sets, int64_t written, rs_host *host, rs_verdict *verdict) {
  if (!sets->elements || rs_spec_check_host(sets->spec) != ROWSCAN_OK)
    return ROWSCAN_OK;
  excerpt piece = {0};
  rowscan_status status = make_excerpt(sets, &piece);
  int64_t places = sets->rows.shape[0] - piece.slices + 1;
  for (int run = 0, runs = status ? 0 : choose_runs(sets, &piece); run < runs && !status; run++) {
    status = read_excerpt(sets, &piece, written - 1 - run % written, place(places, run));
    if (!status)
      compare_excerpt(sets, &piece, host, verdict);
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
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a check of a copy");
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
    status = rs_fail(ROWSCAN_CUDA_FAILED, "the copy kernel that scans are compared with returns wrong results");
  free(from.data);
  free(to.data);
  return status;
}

rowscan_status rs_verify_copy(const rs_sets *sets, const rs_copier *copier) {
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
