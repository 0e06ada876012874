/*
 * xla.c - scans as calls of XLA, for jax.ffi
 * SPDX-License-Identifier: MIT
 *
 * The structs of XLA's C interface are declared here as far as they are used: they only grow at their ends, and say
 * their size. XLA loads a handler whose version of the interface is not newer than its own; this one uses what all of
 * version 0 has, and so answers with the caller's. Source: xla/ffi/api/c_api.h of OpenXLA.
 */
#include "xla.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "scan.h"

typedef struct xla_extension {
  size_t size;
  int type;
  struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
  size_t size;
  xla_extension *extensions;
  int major, minor;
} xla_version;

typedef struct xla_buffer {
  size_t size;
  xla_extension *extensions;
  int type;
  void *data;
  int64_t rank;
  int64_t *shape;
} xla_buffer;

typedef struct xla_buffers {
  size_t size;
  xla_extension *extensions;
  int64_t count;
  int *types;
  xla_buffer **at;
} xla_buffers;

typedef struct xla_span {
  const char *text;
  size_t length;
} xla_span;

typedef struct xla_scalar {
  int type;
  void *value;
} xla_scalar;

typedef struct xla_attributes {
  size_t size;
  xla_extension *extensions;
  int64_t count;
  int *types;
  xla_span **names;
  xla_scalar **at;
} xla_attributes;

typedef struct xla_error_args {
  size_t size;
  xla_extension *extensions;
  const char *message;
  int code;
} xla_error_args;

typedef struct xla_stream_args {
  size_t size;
  xla_extension *extensions;
  void *execution;
  void *stream;
} xla_stream_args;

typedef struct xla_device_args {
  size_t size;
  xla_extension *extensions;
  void *execution;
  int32_t device;
} xla_device_args;

typedef struct xla_api {
  size_t size;
  xla_extension *extensions;
  xla_version version;
  const void *internal;
  void *(*make_error)(xla_error_args *);
  void *unused[3];
  void *(*get_stream)(xla_stream_args *);
  void *unused_too[12];
  void *(*get_device)(xla_device_args *);
} xla_api;

typedef struct xla_metadata {
  size_t size;
  xla_version version;
  uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
  xla_extension base;
  xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_frame {
  size_t size;
  xla_extension *extensions;
  const xla_api *api;
  void *execution;
  int stage;
  xla_buffers args, results;
  xla_attributes attributes;
} xla_frame;

enum { EXTENSION_METADATA = 1, STAGE_EXECUTE = 3, TRAIT_CAPTURABLE = 1 };
enum { INVALID_ARGUMENT = 3, UNIMPLEMENTED = 12, INTERNAL = 13 };

/* The attribute "has": which arrays there are besides x and y. */
enum { HAS_MASK = 1, HAS_INIT = 2, HAS_TOTALS = 4, HAS_SECOND = 8 };

static void *make_error(const xla_frame *frame, int code, const char *message) {
  xla_error_args args = {.size = sizeof args, .message = message, .code = code};
  return frame->api->make_error(&args); /* cppcheck-suppress returnDanglingLifetime ; it copies them */
}

static void *fail(const xla_frame *frame, rowscan_status status) {
  int code = status == ROWSCAN_BAD_ARGUMENT  ? INVALID_ARGUMENT
             : status == ROWSCAN_UNSUPPORTED ? UNIMPLEMENTED
                                             : INTERNAL;
  return make_error(frame, code, rowscan_last_error());
}

static rowscan_type buffer_type(int type) {
  static const rowscan_type types[] = {
      [1] = ROWSCAN_BOOL, [2] = ROWSCAN_I8,   [3] = ROWSCAN_I16,  [4] = ROWSCAN_I32, [5] = ROWSCAN_I64,
      [6] = ROWSCAN_U8,   [7] = ROWSCAN_U16,  [8] = ROWSCAN_U32,  [9] = ROWSCAN_U64, [10] = ROWSCAN_F16,
      [11] = ROWSCAN_F32, [12] = ROWSCAN_F64, [16] = ROWSCAN_BF16};
  return type >= 0 && (size_t)type < sizeof types / sizeof *types ? types[type] : ROWSCAN_TYPE_DEFAULT;
}

/* The 8 bytes of an attribute; NULL where there is none. */
static const void *attribute(const xla_frame *frame, const char *name) {
  const xla_attributes *attributes = &frame->attributes;
  for (int64_t i = 0; i < attributes->count; i++)
    if (attributes->names[i]->length == strlen(name) && !memcmp(attributes->names[i]->text, name, strlen(name)))
      return attributes->at[i]->value;
  return NULL;
}

/* An int64 attribute; 0 where there is none. */
static int64_t number(const xla_frame *frame, const char *name) {
  const int64_t *found = attribute(frame, name);
  return found ? *found : 0;
}

static rowscan_input buffer_input(const xla_buffer *buffer) {
  return (rowscan_input){.data = buffer->data, .type = buffer_type(buffer->type)};
}

static rowscan_output buffer_output(const xla_buffer *buffer) {
  return (rowscan_output){.data = buffer->data, .type = buffer_type(buffer->type)};
}

/* Strides of a dense array as seen in x's shape, which its own broadcasts to from the end. */
static const int64_t *strides_beside(const xla_buffer *x, const xla_buffer *array, int64_t *strides) {
  int64_t step = 1;
  for (int64_t d = x->rank - 1; d >= 0; d--) {
    int64_t own = d - (x->rank - array->rank), extent = own < 0 ? 1 : array->shape[own];
    strides[d] = extent == 1 ? 0 : step;
    step *= extent;
  }
  return strides;
}

typedef struct call {
  rowscan_problem problem;
  int64_t mask_strides[RP_MOST_RANK], init_strides[RP_MOST_RANK], more_strides[RP_MOST_MORE + 1][RP_MOST_RANK];
} call;

/* Further inputs, from an argument on, of which the last may tell segments, and the numbers of the run. */
static void fill_further(call *c, const xla_frame *frame, int64_t next) {
  static const char *const names[] = {"param0", "param1", "param2", "param3"};
  int64_t count = number(frame, "more"), mode = number(frame, "segment_mode");
  for (int64_t i = 0; i < count && i <= RP_MOST_MORE; i++) {
    const xla_buffer *array = frame->args.at[next + i];
    rowscan_input *input = mode && i == count - 1 ? &c->problem.segments : &c->problem.more[i];
    *input = buffer_input(array);
    input->strides = strides_beside(frame->args.at[0], array, c->more_strides[i]);
  }
  c->problem.segment_mode = (rowscan_mask_mode)mode;
  for (int i = 0; i < 4; i++) {
    const double *param = attribute(frame, names[i]);
    c->problem.params[i] = param ? *param : 0;
  }
}

/*
 * Arguments: x, a mask, initial values, further inputs, which broadcast to x's shape; results: y, a second output,
 * totals. All are dense. Attributes are as rowscan/_jax.py gives them.
 */
static void fill_problem(call *c, const xla_frame *frame) {
  rowscan_problem *problem = &c->problem;
  const xla_buffer *x = frame->args.at[0], *y = frame->results.at[0];
  int64_t has = number(frame, "has"), next = 1;
  *problem = (rowscan_problem){.size = sizeof *problem,
                               .op = (rowscan_op)number(frame, "op"),
                               .flags = (unsigned)number(frame, "flags"),
                               .acc_type = (rowscan_type)number(frame, "acc_type"),
                               .rank = (int)x->rank,
                               .dim = (int)number(frame, "dim"),
                               .shape = x->shape,
                               .input = buffer_input(x),
                               .output = buffer_output(y)};
  if (has & HAS_MASK) {
    const xla_buffer *mask = frame->args.at[next++];
    problem->mask = buffer_input(mask);
    problem->mask.strides = strides_beside(x, mask, c->mask_strides);
    problem->mask_mode = (rowscan_mask_mode)number(frame, "mask_mode");
  }
  if (has & HAS_INIT) {
    const xla_buffer *init = frame->args.at[next++];
    problem->init = buffer_input(init);
    problem->init.strides = strides_beside(x, init, c->init_strides);
  }
  fill_further(c, frame, next);
  next = 1;
  if (has & HAS_SECOND)
    problem->second = buffer_output(frame->results.at[next++]);
  if (has & HAS_TOTALS)
    problem->totals = buffer_output(frame->results.at[next]);
}

/* ---- parts of rows ----------------------------------------------------------------------------------------------- */

/*
 * The attribute "part": 0 is a scan of whole rows. Else this device has one of as many parts of the same length as
 * there are `ranks`, and the last argument, an int32, tells which, in memory. RECORD: the result is its record, of an
 * output of the type that `out_type` tells. RESUME: the last argument but one has the records of all, one after
 * another.
 */
enum { PART_NONE, PART_RECORD, PART_RESUME };

typedef struct place {
  rowscan_part part;
  int64_t rank, ranks; /* in the order of the scan */
  bool reverse;
} place;

static place place_of(const call *c, const xla_frame *frame) {
  const xla_buffer *index = frame->args.at[frame->args.count - 1];
  int64_t length = c->problem.shape[c->problem.dim < 0 ? c->problem.dim + c->problem.rank : c->problem.dim];
  place p = {.ranks = number(frame, "ranks"), .reverse = c->problem.flags & ROWSCAN_REVERSE};
  p.rank = *(const int32_t *)index->data;
  p.rank = p.reverse ? p.ranks - 1 - p.rank : p.rank;
  p.part = (rowscan_part){.size = sizeof p.part, .begin = p.rank * length, .length = p.ranks * length};
  return p;
}

/* Of a rank in the order of the scan. */
static const void *record_of(const place *p, const xla_buffer *records, int64_t rank) {
  int64_t bytes = records->shape[records->rank - 1];
  return (const char *)records->data + (p->reverse ? p->ranks - 1 - rank : rank) * bytes;
}

/* The record of all parts before this one. */
static rowscan_status merge_before(place *p, const call *c, const xla_buffer *records) {
  size_t bytes = 0, each = (size_t)records->shape[records->rank - 1];
  rowscan_status status = rowscan_record_bytes(&c->problem, 0, p->part.begin, &bytes);
  const void **from = malloc((size_t)p->rank * sizeof *from);
  size_t *sizes = malloc((size_t)p->rank * sizeof *sizes);
  void *before = status ? NULL : malloc(bytes);
  for (int64_t r = 0; from && sizes && r < p->rank; r++) {
    from[r] = record_of(p, records, r);
    sizes[r] = each;
  }
  p->part.before = before;
  p->part.before_bytes = bytes;
  if (!status)
    status = from && sizes && before ? rowscan_record_merge(&c->problem, (int)p->rank, from, sizes, before, bytes)
                                     : ROWSCAN_OUT_OF_MEMORY;
  free(from);
  free(sizes);
  return status;
}

static rowscan_status execute_part(rowscan_context *context, call *c, const xla_frame *frame, int64_t part) {
  place p = place_of(c, frame);
  const xla_buffer *y = frame->results.at[0], *records = frame->args.at[frame->args.count - 2];
  if (part == PART_RECORD) {
    c->problem.output = (rowscan_output){.type = (rowscan_type)number(frame, "out_type")};
    return rowscan_part_record(context, &c->problem, &p.part, y->data, (size_t)y->shape[0], NULL);
  }
  rowscan_status status = p.rank ? merge_before(&p, c, records) : ROWSCAN_OK;
  p.part.own = record_of(&p, records, p.rank);
  p.part.own_bytes = (size_t)records->shape[records->rank - 1];
  if (!status)
    status = rowscan_part_scan(context, &c->problem, &p.part, NULL);
  free((void *)p.part.before);
  return status;
}

/* The GPU of a call: XLA tells from version 0.1 on; before, where its memory lies does. */
static bool find_frame_device(const xla_frame *frame, const void *data, int *device) {
  xla_device_args args = {.size = sizeof args, .execution = frame->execution};
  if (frame->api->size > offsetof(xla_api, get_device) && !frame->api->get_device(&args)) {
    *device = args.device;
    return true;
  }
  return !rowscan_device_of(data, device) && *device >= 0;
}

static void *execute(const xla_frame *frame, bool gpu) {
  call c;
  fill_problem(&c, frame);
  xla_stream_args stream = {.size = sizeof stream, .execution = frame->execution};
  int device = RP_HOST;
  if (gpu) {
    void *error = frame->api->get_stream(&stream);
    if (error)
      return error; /* cppcheck-suppress returnDanglingLifetime ; XLA's own */
    if (!find_frame_device(frame, c.problem.input.data, &device))
      return make_error(frame, INTERNAL, "XLA does not tell the GPU of this call");
  }
  rowscan_context *context;
  rowscan_status status = rp_context_of(device, &context);
  int64_t part = number(frame, "part");
  if (gpu && part)
    return make_error(frame, UNIMPLEMENTED, "arrays that are cut along the scanned axis are scanned on CPUs only");
  if (!status)
    status = part ? execute_part(context, &c, frame, part) : rowscan_scan(context, &c.problem, stream.stream);
  return status ? fail(frame, status) : NULL;
}

static void *handle(const xla_frame *frame, bool gpu) {
  if (frame->extensions && frame->extensions->type == EXTENSION_METADATA) {
    xla_metadata *metadata = ((xla_metadata_extension *)frame->extensions)->metadata;
    metadata->version = (xla_version){.size = sizeof(xla_version), .minor = frame->api ? frame->api->version.minor : 1};
    metadata->traits = TRAIT_CAPTURABLE;
    return NULL;
  }
  return frame->stage == STAGE_EXECUTE ? execute(frame, gpu) : NULL;
}

static void *handle_host(xla_frame *frame) {
  return handle(frame, false);
}

static void *handle_gpu(xla_frame *frame) {
  return handle(frame, true);
}

PyObject *rp_xla_handler(PyObject *self, PyObject *gpu) {
  (void)self;
  int is = PyObject_IsTrue(gpu);
  return is < 0 ? NULL : PyCapsule_New(is ? (void *)handle_gpu : (void *)handle_host, NULL, NULL);
}
