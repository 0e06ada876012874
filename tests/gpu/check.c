/*
 * check.c - one run on the GPU, compared with the host engine bit for bit
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "any_op.h"
#include "universal.h"

enum { GUARD = 1024, POISON = 0xc7 };

static const char *const image_names[CHECK_IMAGES] = {"in",      "mask",     "init", "more[0]", "more[1]", "more[2]",
                                                      "more[3]", "segments", "out",  "totals",  "second"};

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static rowscan_type type_of(const test_case *test, int which) {
  const rowscan_spec *spec = &test->spec;
  const rowscan_type *more = spec->more_types, kept = rs_kept_type(spec->acc_type);
  const rowscan_type types[CHECK_IMAGES] = {
      spec->in_type, spec->mask_type,    kept,           more[0], more[1],          more[2],
      more[3],       spec->segment_type, spec->out_type, kept,    spec->second_type};
  return types[which];
}

static const case_array *array_of(const test_case *test, int which) {
  const case_array *const arrays[CHECK_IMAGES] = {&test->in,      &test->mask,    &test->init,    &test->more[0],
                                                  &test->more[1], &test->more[2], &test->more[3], &test->segments,
                                                  &test->out,     &test->totals,  &test->second};
  return arrays[which];
}

static bool has_image(const test_case *test, int which) {
  switch (which) {
  case CHECK_IN:
    return true;
  case CHECK_MASK:
    return test->spec.mask_mode != ROWSCAN_MASK_NONE;
  case CHECK_INIT:
    return test->has_init && op_begins(&test->spec);
  case CHECK_OUT:
    return !test->in_place;
  case CHECK_TOTALS:
    return test->has_totals;
  default:
    return type_of(test, which) != ROWSCAN_TYPE_DEFAULT;
  }
}

/* In place the input's image is the output's too. */
static int image_of(const test_case *test, int which) {
  return which == CHECK_OUT && test->in_place ? CHECK_IN : which;
}

static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory) {
    printf("FAIL out of host memory\n");
    exit(1);
  }
  return memory;
}

static unsigned char *copy_of(const unsigned char *bytes, size_t count) {
  return memcpy(allocate(count), bytes, count);
}

/* Some coefficients become the NaN that says in kernels that a segment begins (Reset in kernels/ops.cuh). */
static void add_resets(void *coefficients, rowscan_type type, int64_t count, random_source *random) {
  const uint32_t single = 0x7fe5e5e5;
  const uint64_t real = UINT64_C(0x7ffce5e5e5e5e5e5);
  size_t bytes = rowscan_type_bytes(type);
  for (int64_t i = 0; i < count && (type == ROWSCAN_F32 || type == ROWSCAN_F64); i++)
    if (random_one_in(random, 8))
      memcpy((char *)coefficients + (size_t)i * bytes, bytes == 4 ? (const void *)&single : &real, bytes);
}

/* Results that are their elements, at times. */
static data_kind data_beside(const test_case *test) {
  bool gentle = test->data == DATA_GENTLE || test->data == DATA_WIDE;
  return test->spec.op == ROWSCAN_EXTREMUM_GRADIENT && gentle ? DATA_EXACT : test->data;
}

static void fill_image(const test_case *test, int which, void *to, int64_t count) {
  random_source random = random_for(test->seed, (uint64_t)which, 0);
  const rowscan_spec *spec = &test->spec;
  if (which == CHECK_IN)
    data_elements(to, spec->in_type, spec->op, test->data, count, spec->length, &random);
  else if (which == CHECK_MASK && spec->mask_mode == ROWSCAN_MASK_COEFFICIENT) /* multiplied as those of a product */
    data_elements(to, spec->mask_type, ROWSCAN_PROD, test->data, count, spec->length, &random);
  else if (which == CHECK_MASK || which == CHECK_SEGMENTS)
    data_mask(to, type_of(test, which), count, &random);
  else if (which >= CHECK_MORE && which < CHECK_SEGMENTS)
    data_elements(to, type_of(test, which), ROWSCAN_PROD, data_beside(test), count, spec->length, &random);
  else if (which == CHECK_INIT)
    data_elements(to, rs_kept_type(spec->acc_type), spec->op, test->data == DATA_SPECIAL ? DATA_EXACT : test->data,
                  count, count, &random);
  int coefficients = spec->mask_mode == ROWSCAN_MASK_COEFFICIENT ? CHECK_MASK : CHECK_MORE;
  if (which == coefficients && spec->segment_mode && rs_op_has_coefficient(spec->op) &&
      (test->data == DATA_RAW || test->data == DATA_SPECIAL))
    add_resets(to, type_of(test, which), count, &random);
}

static void make_image(check_run *run, int which) {
  const test_case *test = run->test;
  check_image *image = &run->image[which];
  const case_array *array = array_of(test, which);
  size_t element = rowscan_type_bytes(type_of(test, which)), lead = (size_t)array->lead * element;
  int64_t low, high, count = case_extent(test, array, &low, &high) ? high - low + 1 : 0;
  image->bytes = GUARD + lead + (size_t)count * element + GUARD;
  image->origin = GUARD + lead - (size_t)low * element;
  image->before = allocate(image->bytes);
  memset(image->before, POISON, image->bytes);
  fill_image(test, which, image->before + GUARD + lead, count);
  image->device = device_alloc(image->bytes);
}

void check_args(const check_run *run, rowscan_args *args, bool host) {
  const test_case *test = run->test;
  char *at[CHECK_IMAGES];
  for (int which = 0; which < CHECK_IMAGES; which++) {
    const check_image *image = &run->image[image_of(test, which)];
    char *base = host ? (char *)(image->after ? image->after : image->before) : image->device;
    at[which] = base ? base + image->origin : NULL;
  }
  *args = (rowscan_args){.size = sizeof *args, .rows = test->rows, .row_shape = test->shape};
  args->input =
      host && test->in_place ? (char *)run->image[CHECK_IN].before + run->image[CHECK_IN].origin : at[CHECK_IN];
  args->output = at[CHECK_OUT];
  args->mask = at[CHECK_MASK];
  args->init = at[CHECK_INIT];
  args->totals = at[CHECK_TOTALS];
  args->segments = at[CHECK_SEGMENTS];
  args->second = at[CHECK_SECOND];
  for (int i = 0; i < RS_MOST_MORE; i++) {
    args->more[i] = at[CHECK_MORE + i];
    args->more_strides[i] = test->more[i].unsaid ? NULL : test->more[i].strides;
    args->params[i] = test->params[i];
  }
  args->segment_strides = test->segments.unsaid ? NULL : test->segments.strides;
  args->second_strides = test->second.unsaid ? NULL : test->second.strides;
  args->input_strides = test->in.unsaid ? NULL : test->in.strides;
  args->output_strides = test->out.unsaid ? NULL : test->out.strides;
  args->mask_strides = test->mask.unsaid ? NULL : test->mask.strides;
  args->init_strides = test->init.unsaid ? NULL : test->init.strides;
  args->totals_strides = test->totals.unsaid ? NULL : test->totals.strides;
}

bool check_prepare(check_run *run, const test_case *test, rowscan_plan *host) {
  *run = (check_run){.test = test};
  for (int which = 0; which < CHECK_IMAGES; which++)
    if (has_image(test, which))
      make_image(run, which);
  for (int which = CHECK_OUT; which < CHECK_IMAGES; which++) {
    check_image *image = &run->image[image_of(test, which)];
    if (image->before)
      image->after = copy_of(image->before, image->bytes);
  }
  rowscan_args args;
  check_args(run, &args, true);
  return !host || suite_ok(rowscan_plan_run(host, &args, NULL), "rowscan_plan_run on the host");
}

void check_free(check_run *run) {
  for (int which = 0; which < CHECK_IMAGES; which++) {
    free(run->image[which].before);
    free(run->image[which].after);
    device_free(run->image[which].device);
  }
}

static void move_row(check_run *run, const check_run *from, int which, int64_t to_row, int64_t from_row) {
  check_image *to = &run->image[image_of(run->test, which)];
  const check_image *source = &from->image[image_of(from->test, which)];
  const case_array *to_array = array_of(run->test, which), *from_array = array_of(from->test, which);
  unsigned char *to_bytes = which < CHECK_OUT ? to->before : to->after;
  const unsigned char *from_bytes = which < CHECK_OUT ? source->before : source->after;
  int64_t element = (int64_t)rowscan_type_bytes(type_of(run->test, which));
  for (int64_t i = 0, count = case_elements(run->test, to_array); i < count; i++) {
    int64_t to_at = case_offset(run->test, to_array, to_row, i);
    int64_t from_at = case_offset(from->test, from_array, from_row, i);
    memcpy(to_bytes + (int64_t)to->origin + to_at * element, from_bytes + (int64_t)source->origin + from_at * element,
           (size_t)element);
  }
}

void check_transplant(check_run *run, const test_case *test, const check_run *from, int64_t first) {
  (void)check_prepare(run, test, NULL);
  for (int which = 0; which < CHECK_IMAGES; which++)
    for (int64_t row = 0; run->image[image_of(test, which)].before && row < test->rows; row++)
      move_row(run, from, which, row, first + row);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

void check_reset(check_run *run, device_stream stream) {
  for (int which = 0; which < CHECK_IMAGES; which++) {
    check_image *image = &run->image[which];
    if (image->before)
      device_upload(image->device, image->before, image->bytes, stream);
  }
}

bool check_queue(check_run *run, rowscan_plan *gpu, device_stream stream) {
  rowscan_args args;
  check_args(run, &args, false);
  return suite_ok(rowscan_plan_run(gpu, &args, stream), "rowscan_plan_run on the GPU");
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

typedef struct difference {
  int64_t count, row, element; /* of the first */
  uint64_t got, wanted;
} difference;

static void compare_element(difference *found, rowscan_type type, unsigned char *now, const unsigned char *wanted,
                            int64_t row, int64_t element) {
  size_t bytes = rowscan_type_bytes(type);
  if (memcmp(now, wanted, bytes) && !(data_is_nan(type, now) && data_is_nan(type, wanted)) && found->count++ == 0) {
    found->row = row;
    found->element = element;
    memcpy(&found->got, now, bytes);
    memcpy(&found->wanted, wanted, bytes);
  }
  memcpy(now, wanted, bytes); /* what differs after this is none of the elements */
}

static void compare_elements(const check_run *run, int which, difference *found, unsigned char *now) {
  const test_case *test = run->test;
  const check_image *image = &run->image[image_of(test, which)];
  const case_array *array = array_of(test, which);
  rowscan_type type = type_of(test, which);
  int64_t bytes = (int64_t)rowscan_type_bytes(type), step = array->strides[test->spec.row_rank];
  for (int64_t row = 0; row < test->rows; row++) {
    int64_t first = case_offset(test, array, row, 0), count = case_elements(test, array);
    for (int64_t i = 0; i < count; i++) {
      int64_t at = (int64_t)image->origin + (first + i * step) * bytes;
      compare_element(found, type, now + at, image->after + at, row, i);
    }
  }
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t count) {
  size_t at = 0;
  while (at < count && a[at] == b[at])
    at++;
  return at;
}

static bool fail_elements(const check_run *run, int which, const difference *found) {
  char text[CASE_TEXT];
  case_text(run->test, text);
  suite_fail("%s\n  %s: %lld of %lld elements differ, first row %lld element %lld: 0x%llx instead of 0x%llx", text,
             image_names[which], (long long)found->count,
             (long long)(run->test->rows * case_elements(run->test, array_of(run->test, which))), (long long)found->row,
             (long long)found->element, (unsigned long long)found->got, (unsigned long long)found->wanted);
  return false;
}

static bool fail_byte(const check_run *run, int which, size_t at) {
  const check_image *image = &run->image[image_of(run->test, which)];
  char text[CASE_TEXT];
  case_text(run->test, text);
  suite_fail("%s\n  %s: a byte that is %s was written, %lld bytes from the first element", text, image_names[which],
             which < CHECK_OUT ? "input" : "no element", (long long)at - (long long)image->origin);
  return false;
}

bool check_bytes(const check_run *run, int which, unsigned char *now) {
  const check_image *image = &run->image[image_of(run->test, which)];
  const unsigned char *wanted = image->after ? image->after : image->before;
  if (!memcmp(now, wanted, image->bytes))
    return true;
  if (which >= CHECK_OUT) {
    difference found = {0};
    compare_elements(run, which, &found, now);
    if (found.count)
      return fail_elements(run, which, &found);
  }
  size_t at = first_difference(now, wanted, image->bytes);
  return at == image->bytes || fail_byte(run, which, at);
}

static bool verify_image(const check_run *run, int which, device_stream stream) {
  const check_image *image = &run->image[image_of(run->test, which)];
  unsigned char *now = allocate(image->bytes);
  device_download(now, image->device, image->bytes, stream);
  device_wait(stream);
  bool same = check_bytes(run, which, now);
  free(now);
  return same;
}

bool check_verify(check_run *run, device_stream stream) {
  char text[CASE_TEXT];
  case_text(run->test, text);
  device_doing(text);
  device_wait(stream);
  bool same = true;
  for (int which = 0; which < CHECK_IMAGES; which++) {
    bool there = run->image[image_of(run->test, which)].before != NULL;
    if (there && !(which == CHECK_IN && run->test->in_place))
      same = verify_image(run, which, stream) && same;
  }
  device_doing("nothing");
  if (same)
    suite_pass();
  return same;
}

/* The same by the kernels for any length; of those that are slow to compile a part. */
static bool check_any_length(check_run *run, suite_plans *plans, device_stream stream) {
  enum { QUICK_PART = 4 };
  random_source random = random_for(run->test->seed, CHECK_IMAGES, suite.seed);
  rowscan_args args;
  if (suite.quick && !plans->any && !random_one_in(&random, QUICK_PART))
    return true;
  if (!suite_plan_any(plans))
    return false;
  check_args(run, &args, false);
  args.length = run->test->spec.length;
  check_reset(run, stream);
  return suite_ok(rowscan_plan_run(plans->any, &args, stream), "rowscan_plan_run, any length") &&
         check_verify(run, stream);
}

/* The same by universal kernels. */
static bool check_universal(check_run *run, device_stream stream) {
  if (!universal_serves(&run->test->spec))
    return true;
  check_reset(run, stream);
  return universal_queue(run, stream) && check_verify(run, stream);
}

bool check_case(const test_case *test, suite_plans *plans) {
  check_run run;
  device_stream stream = device_stream_new();
  bool same = check_prepare(&run, test, plans->host);
  check_reset(&run, stream);
  same = same && check_queue(&run, plans->gpu, stream) && check_verify(&run, stream) &&
         check_any_length(&run, plans, stream) && check_universal(&run, stream);
  device_stream_free(stream);
  check_free(&run);
  return same;
}
