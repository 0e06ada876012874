/*
 * copier.c - a copy kernel on the GPU: the yardstick of scans that memcpy is none for
 * SPDX-License-Identifier: MIT
 */
#include "copier.h"

#include <stdlib.h>

#include "base/ints.h"
#include "base/status.h"

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

enum { WIDEST = 16 };

static int by_output(const void *left, const void *right) {
  const rs_axis *a = left, *b = right;
  int64_t x = rs_distance(a->out), y = rs_distance(b->out);
  if (x == y) {
    x = rs_distance(a->in);
    y = rs_distance(b->in);
  }
  return (x < y) - (x > y);
}

static bool joins(const rs_axis *outer, const rs_axis *inner) {
  return outer->in == inner->in * inner->size && outer->out == inner->out * inner->size;
}

/* Drops axes of one element, sorts the others and joins those that run on into one another. Returns how many are left,
 * at least 1; 0: one of them is empty. */
static int simplify(rs_axis *to, const rs_axis *axes, int count) {
  int kept = 0, joined = 0;
  for (int i = 0; i < count; i++) {
    if (axes[i].size < 1)
      return 0;
    if (axes[i].size > 1)
      to[kept++] = axes[i];
  }
  if (!kept)
    to[kept++] = (rs_axis){1, 1, 1};
  qsort(to, (size_t)kept, sizeof *to, by_output);
  for (int i = 1; i < kept; i++) {
    if (joins(&to[joined], &to[i]))
      to[joined] = (rs_axis){to[joined].size * to[i].size, to[i].in, to[i].out};
    else
      to[++joined] = to[i];
  }
  return joined + 1;
}

/* The widest word that every run of neighbours is made of. */
static int widest_word(const rs_axis *axes, int count, int element, int64_t in_at, int64_t out_at) {
  const rs_axis *last = &axes[count - 1];
  if (last->in != 1 || last->out != 1)
    return element;
  int64_t all = in_at | out_at | last->size * element;
  for (int i = 0; i < count - 1; i++)
    all |= axes[i].in * element | axes[i].out * element;
  int bytes = WIDEST;
  while (bytes > element && (all & (bytes - 1)))
    bytes /= 2;
  return bytes;
}

static void use_words(rs_axis *axes, int count, int elements) {
  axes[count - 1].size /= elements;
  for (int i = 0; i < count - 1; i++) {
    axes[i].in /= elements;
    axes[i].out /= elements;
  }
}

/* Brings the axis of the input's neighbours before the last, if the last is that of the output's alone. */
static bool cross(rs_axis *axes, int count) {
  rs_axis last = axes[count - 1];
  if (last.out != 1 || rs_distance(last.in) == 1)
    return false;
  for (int i = 0; i < count - 1; i++)
    if (axes[i].in == 1) {
      rs_axis found = axes[i];
      axes[i] = axes[count - 2];
      axes[count - 2] = found;
      return true;
    }
  return false;
}

bool rs_box_make(rs_box *box, const rs_axis *axes, int count, int element_bytes, int64_t in_at, int64_t out_at) {
  rs_axis simple[RS_BOX_MOST_AXES];
  int left = count <= RS_BOX_MOST_AXES ? simplify(simple, axes, count) : 0;
  if (left < 1 || left > RS_BOX_RANK)
    return false;
  box->bytes = widest_word(simple, left, element_bytes, in_at, out_at);
  use_words(simple, left, box->bytes / element_bytes);
  box->crossed = cross(simple, left);
  for (int i = 0; i < RS_BOX_RANK; i++)
    box->axis[i] = i < RS_BOX_RANK - left ? (rs_axis){1, 0, 0} : simple[i - (RS_BOX_RANK - left)];
  return true;
}

rs_box rs_box_of_bytes(int64_t bytes) {
  return (rs_box){.bytes = WIDEST, .axis = {{1, 0, 0}, {1, 0, 0}, {(bytes + WIDEST - 1) / WIDEST, 1, 1}}};
}

int64_t rs_box_words(const rs_box *box) {
  return box->axis[0].size * box->axis[1].size * box->axis[2].size;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

enum { THREADS = 256, SIDE = 64 };

static const char name[] = "rowscan_copy";

/* Box of kernels/copy.cuh. */
typedef struct packed {
  const void *in;
  void *out;
  int64_t size[RS_BOX_RANK], in_stride[RS_BOX_RANK], out_stride[RS_BOX_RANK];
} packed;

/* Loads of a thread that are on their way at a time: 64 bytes of large arrays; small ones want more threads. */
static int items_of(const rs_box *box, const rs_device *device) {
  int items = box->bytes >= 16 ? 4 : 8;
  return rs_box_words(box) < 2 * (int64_t)items * THREADS * device->multiprocessors ? 1 : items;
}

static int64_t blocks_of(const rs_box *box, int items) {
  const rs_axis *axis = box->axis;
  if (box->crossed)
    return axis[0].size * rs_ceiling(axis[1].size, SIDE) * rs_ceiling(axis[2].size, SIDE);
  return axis[0].size * axis[1].size * rs_ceiling(axis[2].size, THREADS * items);
}

static rowscan_status build(rs_copier *copier, const rowscan_context *context, int items, bool fresh) {
  rs_text canonical = {0}, source = {0};
  const char *template = copier->box.crossed ? "copy_squares" : "copy_lines";
  int last = copier->box.crossed ? SIDE : items;
  rs_text_add(&canonical, "copy=%s\nbytes=%d\nthreads=%d\nlast=%d\n", template, copier->box.bytes, THREADS, last);
  rs_text_add(&source, "// rowscan: a copy in words of %d bytes\n#include \"copy.cuh\"\n", copier->box.bytes);
  rs_text_add(&source, "RS_KERNEL(%d, 1) %s(RS_PARAMETER(Box, box)) {\n  %s<%d, %d, %d>(box);\n}\n", THREADS, name,
              template, copier->box.bytes, THREADS, last);
  rowscan_status status = canonical.failed || source.failed
                              ? rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a copy kernel")
                              : rs_build(context->gpu.builder, &copier->binary, canonical.data, source.data,
                                         context->gpu.device.arch, fresh);
  rs_text_free(&canonical);
  rs_text_free(&source);
  return status == ROWSCAN_NOT_CACHED ? rs_fail_more(status, ": %s of %d bytes", template, copier->box.bytes) : status;
}

/* As a plan's: the PTX is the way out if the driver will not have the CUBIN. */
static CUresult load_copier(rs_copier *copier) {
  const rs_cuda *cuda = copier->device->cuda;
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (copier->binary.cubin)
    result = cuda->cuModuleLoadData(&copier->module, copier->binary.cubin);
  if (rs_cuda_rejects(result))
    result = cuda->cuModuleLoadData(&copier->module, copier->binary.ptx);
  if (result)
    copier->module = NULL;
  return result;
}

/* And as there, an entry of the cache that the driver rejects is compiled once more. */
static rowscan_status build_and_load(rs_copier *copier, const rowscan_context *context, int items) {
  const rs_cuda *cuda = copier->device->cuda;
  rowscan_status status = build(copier, context, items, false);
  if (status)
    return status;
  CUresult result = load_copier(copier);
  if (rs_cuda_rejects(result) && copier->binary.cached) {
    rs_binary_free(&copier->binary);
    status = build(copier, context, items, true);
    if (status)
      return status;
    result = load_copier(copier);
  }
  if (result)
    return rs_cuda_failed(cuda, result, "cuModuleLoadData of a copy kernel");
  result = cuda->cuModuleGetFunction(&copier->function, copier->module, name);
  return result ? rs_cuda_failed(cuda, result, name) : ROWSCAN_OK;
}

rowscan_status rs_copier_open(rs_copier *copier, const rowscan_context *context, const rs_box *box) {
  *copier = (rs_copier){.device = &context->gpu.device, .box = *box};
  int items = items_of(box, copier->device);
  int64_t blocks = blocks_of(box, items);
  copier->blocks = blocks < INT32_MAX ? (unsigned)blocks : INT32_MAX; /* they go round for the rest */
  return build_and_load(copier, context, items);
}

void rs_copier_close(rs_copier *copier) {
  if (copier->module)
    copier->device->cuda->cuModuleUnload(copier->module);
  rs_binary_free(&copier->binary);
  *copier = (rs_copier){0};
}

rowscan_status rs_copier_run(const rs_copier *copier, void *to, const void *from, CUstream stream) {
  packed arguments = {.in = from, .out = to};
  for (int i = 0; i < RS_BOX_RANK; i++) {
    arguments.size[i] = copier->box.axis[i].size;
    arguments.in_stride[i] = copier->box.axis[i].in;
    arguments.out_stride[i] = copier->box.axis[i].out;
  }
  void *parameters[] = {&arguments};
  const rs_cuda *cuda = copier->device->cuda;
  CUresult result =
      cuda->cuLaunchKernel(copier->function, copier->blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL);
  return result ? rs_cuda_failed(cuda, result, name) : ROWSCAN_OK;
}
