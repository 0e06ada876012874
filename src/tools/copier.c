/*
 * copier.c - a copy kernel on the GPU: the yardstick of scans that memcpy is none for
 * SPDX-License-Identifier: MIT
 */
#include "copier.h"

#include "base/status.h"

enum { THREADS = 256, SIDE = 64 };

static const char name[] = "rowscan_copy";

/* Box of kernels/copy.cuh. */
typedef struct packed {
  const void *in;
  void *out;
  int64_t size[RS_BOX_RANK], in_stride[RS_BOX_RANK], out_stride[RS_BOX_RANK];
} packed;

static int64_t ceiling(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

/* Loads of a thread that are on their way at a time: 64 bytes of large arrays; small ones want more threads. */
static int items_of(const rs_box *box, const rs_device *device) {
  int items = box->bytes >= 16 ? 4 : 8;
  return rs_box_words(box) < 2 * (int64_t)items * THREADS * device->multiprocessors ? 1 : items;
}

static int64_t blocks_of(const rs_box *box, int items) {
  const rs_axis *axis = box->axis;
  if (box->crossed)
    return axis[0].size * ceiling(axis[1].size, SIDE) * ceiling(axis[2].size, SIDE);
  return axis[0].size * axis[1].size * ceiling(axis[2].size, THREADS * items);
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
static CUresult load(rs_copier *copier) {
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
  CUresult result = load(copier);
  if (rs_cuda_rejects(result) && copier->binary.cached) {
    rs_binary_free(&copier->binary);
    status = build(copier, context, items, true);
    if (status)
      return status;
    result = load(copier);
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
