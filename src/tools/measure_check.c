/*
 * measure_check.c - whether what was timed is right
 * SPDX-License-Identifier: MIT
 */
#include "measure_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "sample.h"

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

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t bytes_of(rowscan_type type) {
  return (int64_t)rowscan_type_bytes(type);
}

/* The first, the last, and some between of `count` places. */
static int64_t place(int64_t count, int run) {
  uint64_t random = (uint64_t)(run + 1) * 0x9e3779b97f4a7c15u;
  return run == 0 ? 0 : run == 1 ? count - 1 : (int64_t)((random >> 1) % (uint64_t)count);
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

/* An array of an excerpt: what of it lies between the first and the last of its elements, copied to the host. */
typedef struct image {
  rs_span span;
  int64_t element, stride, step; /* bytes; elements from one slice, and one element of a row, to the next */
  char *data;
} image;

enum { IN, MASK, OUT, EXPECTED, IMAGES };

/* Slices of the first dimension of the rows; only the first `part` elements of each row in the order of the scan. */
typedef struct excerpt {
  int64_t part, slices, elements;
  rs_rows rows;
  image image[IMAGES];
} excerpt;

static bool make_image(excerpt *piece, int which, rowscan_type type, const int64_t *stride, int64_t step) {
  image *made = &piece->image[which];
  *made = (image){.element = bytes_of(type), .stride = stride[0], .step = step};
  return rs_span_of(&made->span, &piece->rows, stride, step, piece->part) &&
         (made->data = malloc((size_t)(made->span.count * made->element) + 1)) != NULL;
}

static void free_images(excerpt *piece) {
  for (int i = 0; i < IMAGES; i++)
    free(piece->image[i].data);
}

static int64_t element_bytes(const rowscan_spec *spec) {
  return bytes_of(spec->in_type) + (spec->mask_mode ? bytes_of(spec->mask_type) : 0) + 2 * bytes_of(spec->out_type);
}

static rowscan_status make_excerpt(const rs_sets *sets, excerpt *piece) {
  const rowscan_spec *spec = sets->spec;
  const rs_rows *rows = &sets->rows;
  int64_t inner = rows->count / rows->shape[0]; /* rows of a slice */
  int64_t steps = lesser(MOST_CHECK_ELEMENTS, MOST_CHECK_BYTES / element_bytes(spec)) / inner;
  piece->part = lesser(spec->length, steps > 1 ? steps : 1);
  int64_t unit = piece->part * inner;
  int64_t fitting = piece->part < spec->length ? 1 : CHECK_ELEMENTS / CHECK_RUNS / unit;
  piece->slices = lesser(fitting > 1 ? fitting : 1, rows->shape[0]);
  piece->elements = piece->slices * unit;
  piece->rows = *rows;
  piece->rows.shape[0] = piece->slices;
  piece->rows.count = piece->slices * inner;
  if (make_image(piece, IN, spec->in_type, rows->array[RS_IN].stride, rows->array[RS_IN].step) &&
      make_image(piece, OUT, spec->out_type, rows->array[RS_OUT].stride, rows->array[RS_OUT].step) &&
      make_image(piece, EXPECTED, spec->out_type, rows->array[RS_OUT].stride, rows->array[RS_OUT].step) &&
      (!spec->mask_mode ||
       make_image(piece, MASK, spec->mask_type, rows->array[RS_MASK].stride, rows->array[RS_MASK].step)))
    return ROWSCAN_OK;
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory to check %lld elements", (long long)piece->elements);
}

static int choose_runs(const rs_sets *sets, const excerpt *piece) {
  int64_t wanted = CHECK_ELEMENTS / piece->elements, there = (sets->rows.shape[0] - 1) / piece->slices + 1, read = 1;
  if (wanted < 3) /* rows are long: three of them, unless one is enough to wait for */
    wanted = lesser(3, MOST_CHECK_ELEMENTS / piece->elements);
  for (int i = IN; i <= OUT; i++)
    read += piece->image[i].span.count * piece->image[i].element;
  wanted = lesser(lesser(lesser(wanted, there), CHECK_RUNS), MOST_READ_BYTES / read);
  return wanted > 1 ? (int)wanted : 1;
}

/* `array` is the pointer of the whole array; `first`, its slice that becomes the excerpt's first. */
static rowscan_status read_image(const rs_sets *sets, const excerpt *piece, int which, const void *array,
                                 int64_t first) {
  const image *to = &piece->image[which];
  bool reverse = sets->spec->flags & ROWSCAN_REVERSE;
  int64_t at = first * to->stride + (reverse ? sets->spec->length - piece->part : 0) * to->step + to->span.low;
  return rs_meter_read(sets->meter, to->data, (const char *)array + at * to->element,
                       (size_t)(to->span.count * to->element));
}

static void *pointer(const image *array) {
  return array->data - array->span.low * array->element;
}

static rowscan_status read_excerpt(const rs_sets *sets, const excerpt *piece, int64_t set, int64_t first) {
  rs_rows rows = sets->rows;
  rs_sets_rows(sets, set, &rows);
  rowscan_status status = read_image(sets, piece, IN, rows.array[RS_IN].data, first);
  if (!status && rows.array[RS_MASK].data)
    status = read_image(sets, piece, MASK, rows.array[RS_MASK].data, first);
  return status ? status : read_image(sets, piece, OUT, rows.array[RS_OUT].data, first);
}

/* What the host engine leaves alone is as the GPU has it, and does not differ. */
static void compare(const rs_sets *sets, excerpt *piece, rs_host *host, rowscan_timing *timing) {
  const image *out = &piece->image[OUT], *expected = &piece->image[EXPECTED];
  rowscan_spec spec = *sets->spec;
  spec.length = piece->part;
  memcpy(expected->data, out->data, (size_t)(out->span.count * out->element));
  piece->rows.array[RS_IN].data = pointer(&piece->image[IN]);
  piece->rows.array[RS_OUT].data = pointer(expected);
  if (spec.mask_mode)
    piece->rows.array[RS_MASK].data = pointer(&piece->image[MASK]);
  rs_host_run(host, &spec, &piece->rows);
  timing->wrong += rs_sample_differ(spec.out_type, out->data, expected->data, out->span.count);
  timing->checked += piece->elements;
}

rowscan_status rs_check_scan(const rs_sets *sets, int64_t written, rs_host *host, rowscan_timing *timing) {
  if (!sets->elements)
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

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static int64_t distance(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

/* Words of a line's piece, such that neither side of it spans too much memory. */
static int64_t piece_words(const rs_box *box) {
  const rs_axis *last = &box->axis[RS_BOX_RANK - 1];
  int64_t step = distance(last->in) > distance(last->out) ? distance(last->in) : distance(last->out);
  int64_t words = COPY_BYTES / box->bytes / (step > 1 ? step : 1);
  return lesser(words > 1 ? words : 1, last->size);
}

/* A piece of a line on one side: word i lies at data + (low + i * step) * bytes. */
typedef struct line {
  int64_t step, low, count;
  char *data;
} line;

static rowscan_status read_line(const rs_sets *sets, line *to, const char *from, int64_t words, int64_t step,
                                int bytes) {
  *to = (line){.step = step, .low = step < 0 ? (words - 1) * step : 0, .count = (words - 1) * distance(step) + 1};
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

rowscan_status rs_check_copy(const rs_sets *sets, const rs_copier *copier) {
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
