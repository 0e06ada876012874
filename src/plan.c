/*
 * plan.c - a plan: spec -> tune -> emit -> build -> load
 * SPDX-License-Identifier: MIT
 */
#include "plan.h"

#include <stdlib.h>

#include "clock.h"
#include "key.h"
#include "launch.h"

static rowscan_status out_of_memory(void) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a plan");
}

static rowscan_status tell_missing(const rowscan_spec *spec, const rs_module *module) {
  rowscan_spec missing = *spec;
  rs_text line = {0};
  missing.regime = module->geometry.regime;
  rs_spec_line(&missing, &line);
  rs_fail_more(ROWSCAN_NOT_CACHED, ": %s", line.failed ? "out of memory to say what" : line.data);
  rs_text_free(&line);
  return ROWSCAN_NOT_CACHED;
}

/* All its texts, for which there was memory. */
static bool has_texts(const rs_module *module) {
  return !module->canonical.failed && !module->source.failed && !module->words.failed;
}

static rowscan_status build(rowscan_plan *plan, rs_module *module, bool fresh) {
  rs_builder *builder = plan->context->builder;
  const char *canonical = module->canonical.data, *source = module->source.data;
  if (!has_texts(module))
    return out_of_memory();
  rowscan_status status = plan->runnable && !fresh
                              ? rs_build_to_load(builder, &module->binary, canonical, source, plan->arch)
                              : rs_build(builder, &module->binary, canonical, source, plan->arch, fresh);
  return status == ROWSCAN_NOT_CACHED ? tell_missing(&plan->spec, module) : status;
}

static bool read_whole(const rowscan_plan *plan, const rs_module *module, rs_binary *binary) {
  return rs_builder_whole(plan->context->builder, binary, module->canonical.data, module->source.data, plan->arch);
}

rowscan_status rs_plan_binary(rowscan_plan *plan, const rs_binary **binary) {
  rs_module *module = &plan->module;
  rs_binary *whole = atomic_load(&module->whole), *before = NULL;
  *binary = module->binary.ptx ? &module->binary : whole;
  if (*binary)
    return ROWSCAN_OK;
  whole = calloc(1, sizeof *whole);
  if (!whole)
    return out_of_memory();
  rowscan_status status = ROWSCAN_OK;
  if (!read_whole(plan, module, whole))
    status = rs_build(plan->context->builder, whole, module->canonical.data, module->source.data, plan->arch, false);
  if (status) {
    free(whole);
    return status == ROWSCAN_NOT_CACHED ? tell_missing(&plan->spec, module) : status;
  }
  if (!atomic_compare_exchange_strong(&module->whole, &before, whole)) { /* another thread has it as well */
    rs_binary_free(whole);
    free(whole);
    whole = before;
  }
  *binary = whole;
  return ROWSCAN_OK;
}

/* What the driver said of an image, and where. */
typedef struct refusal {
  CUresult result;
  const char *call;
} refusal;

/* With its kernels: a driver that loads lazily sees as late as there what it will not have. */
static refusal load_image(const rs_cuda *cuda, rs_module *module, const void *image) {
  refusal said = {cuda->cuModuleLoadData(&module->module, image), "cuModuleLoadData of a compiled kernel"};
  if (said.result) {
    module->module = NULL;
    return said;
  }
  for (int kernel = 0; kernel < RS_KERNELS && !said.result; kernel++)
    if (module->geometry.shape[kernel].made_of) {
      said.call = rs_kernel_names[kernel];
      said.result = cuda->cuModuleGetFunction(&module->function[kernel], module->module, rs_kernel_names[kernel]);
    }
  if (said.result) {
    cuda->cuModuleUnload(module->module);
    module->module = NULL;
  }
  return said;
}

/* Whether another image may do better. */
static bool is_rejected(CUresult result) {
  return result && result != CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * The CUBIN first: it needs no compiler in the driver, and loads where the PTX is newer than the driver. The PTX is the
 * way out for a GPU that the CUBIN is not for.
 */
static refusal load_binary(const rowscan_plan *plan, rs_module *module) {
  const rs_cuda *cuda = plan->context->device.cuda;
  refusal said = load_image(cuda, module, module->binary.cubin);
  rs_binary whole;
  if (!is_rejected(said.result))
    return said;
  if (!module->binary.ptx) {
    if (!read_whole(plan, module, &whole))
      return said;
    whole.milliseconds = module->binary.milliseconds;
    rs_binary_free(&module->binary);
    module->binary = whole;
  }
  return load_image(cuda, module, module->binary.ptx);
}

/* What is said of the image, and not of the moment: the same bytes will be rejected again. */
static bool is_final(CUresult result) {
  switch (result) {
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_JIT_COMPILATION_DISABLED:
  case CUDA_ERROR_INVALID_SOURCE:
  case CUDA_ERROR_NOT_FOUND:
    return true;
  default:
    return false;
  }
}

static bool key_of(const rowscan_plan *plan, const rs_module *module, rs_text *key) {
  return has_texts(module) && rs_builder_key(plan->context->builder, module->canonical.data, module->source.data,
                                             plan->arch, key) == ROWSCAN_OK;
}

/* The driver rejected what was compiled a moment before: `status`, and why is the last error. */
static rowscan_status remember(const rowscan_plan *plan, const rs_module *module, rowscan_status status) {
  rs_text key = {0};
  if (key_of(plan, module, &key)) {
    rs_verdicts_add(&plan->context->verdicts, key.data, status);
    rs_log_write(&plan->context->log, ROWSCAN_LOG_WARNING,
                 "sm_%d: the driver rejects a kernel that was compiled just now, which is not tried again: regime %s: "
                 "%s",
                 plan->arch, rowscan_regime_name(module->geometry.regime), rowscan_last_error());
  }
  rs_text_free(&key);
  return status;
}

/* OK: nothing is known against it. */
static rowscan_status recall(const rowscan_plan *plan, const rs_module *module) {
  rs_text key = {0};
  rowscan_status status = ROWSCAN_OK;
  if (rs_verdicts_any(&plan->context->verdicts) && key_of(plan, module, &key))
    status = rs_verdicts_ask(&plan->context->verdicts, key.data);
  rs_text_free(&key);
  if (status)
    rs_log_write(&plan->context->log, ROWSCAN_LOG_DEBUG,
                 "sm_%d: not tried again, for the driver rejected it though it was compiled anew: regime %s, %s",
                 plan->arch, rowscan_regime_name(module->geometry.regime), module->words.data);
  return status;
}

/* An entry that the driver rejects is compiled once more. */
static rowscan_status load_or_rebuild(rowscan_plan *plan, rs_module *module) {
  const rs_cuda *cuda = plan->context->device.cuda;
  refusal said = load_binary(plan, module);
  if (is_rejected(said.result) && module->binary.cached) {
    CUresult before = said.result;
    rs_log_write(&plan->context->log, ROWSCAN_LOG_WARNING,
                 "the driver rejected an entry of the cache (CUDA error %d); compiling again", before);
    rs_binary_free(&module->binary);
    rowscan_status status = build(plan, module, true);
    if (status)
      return rs_fail_more(status, " (the driver rejected an entry of the cache with CUDA error %d)", before);
    said = load_binary(plan, module);
  }
  if (!said.result)
    return ROWSCAN_OK;
  rowscan_status status = rs_cuda_failed(cuda, said.result, said.call);
  return is_final(said.result) ? remember(plan, module, status) : status;
}

static rowscan_status load(rowscan_plan *plan, rs_module *module) {
  const rs_cuda *cuda = plan->context->device.cuda;
  double start = rs_now_ms();
  rowscan_status status = load_or_rebuild(plan, module);
  if (status)
    return status;
  for (int kernel = 0; kernel < RS_KERNELS; kernel++) {
    const rs_shape *shape = &module->geometry.shape[kernel];
    if (!shape->made_of || shape->shared_bytes <= 0)
      continue;
    CUresult result = cuda->cuFuncSetAttribute(module->function[kernel],
                                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shape->shared_bytes);
    if (result)
      return rs_cuda_failed(cuda, result, rs_kernel_names[kernel]);
  }
  rs_log_write(&plan->context->log, ROWSCAN_LOG_DEBUG, "sm_%d: loaded into the driver in %.2f ms: regime %s, %s",
               plan->arch, rs_now_ms() - start, rowscan_regime_name(module->geometry.regime), module->words.data);
  return ROWSCAN_OK;
}

static rowscan_status make_module(rowscan_plan *plan) {
  rs_module *module = &plan->module;
  int tuned = rs_builder_tuned_arch(plan->context->builder, plan->arch);
  module->geometry = rs_tune(&plan->spec, tuned);
  rs_tune_device(&module->geometry, &plan->spec, tuned, plan->context->device.peak_gbs);
  if (module->geometry.regime == ROWSCAN_REGIME_COLUMN) {
    rs_tune_column_cuts(&plan->spec, tuned, &module->columns);
    module->columns.any.multiprocessors = plan->context->device.multiprocessors;
    module->columns.stream.multiprocessors = plan->context->device.multiprocessors;
    module->columns.brief.multiprocessors = plan->context->device.multiprocessors;
  }
  rs_key_canonical(&plan->spec, &module->geometry, &module->canonical);
  rs_emit(&plan->spec, &module->geometry, &module->source);
  rs_shape_text(rs_main_shape(&module->geometry), &module->words);
  rowscan_status status = plan->runnable ? recall(plan, module) : ROWSCAN_OK;
  return status ? status : build(plan, module, false);
}

static rowscan_status open_scratch(rowscan_plan *plan) {
  const rs_device *device = &plan->context->device;
  double start = rs_now_ms();
  plan->scratch = rs_launch_workspace(plan);
  rowscan_status status = rs_workspaces_open(&plan->workspaces, device->cuda, plan->scratch, device->clearing);
  if (!status && plan->scratch)
    rs_log_write(&plan->context->log, ROWSCAN_LOG_DEBUG, "sm_%d: scratch memory of %d runs made ready in %.2f ms: %zu",
                 plan->arch, RS_WORKSPACES, rs_now_ms() - start, plan->scratch);
  return status;
}

/* So that a run on any stream finds it cleared, and nobody frees it before. status: of what was done meanwhile. */
static rowscan_status await_scratch(const rowscan_plan *plan, rowscan_status status) {
  const rs_device *device = &plan->context->device;
  CUresult result = plan->scratch ? device->cuda->cuStreamSynchronize(device->clearing) : CUDA_SUCCESS;
  return status || !result ? status : rs_cuda_failed(device->cuda, result, "clearing a plan's workspaces");
}

/* Memory is cleared while the driver loads. */
static rowscan_status make_ready(rowscan_plan *plan) {
  if (!plan->runnable)
    return make_module(plan);
  const rs_device *device = &plan->context->device;
  bool pushed;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  status = make_module(plan);
  if (!status) {
    status = open_scratch(plan);
    if (!status)
      status = load(plan, &plan->module);
    status = await_scratch(plan, status);
  }
  rs_device_leave(device, pushed);
  return status;
}

rowscan_status rs_plan_create(rowscan_plan **out, rowscan_context *context, const rowscan_spec *spec, int arch) {
  rowscan_plan *plan = calloc(1, sizeof *plan);
  if (!plan)
    return out_of_memory();
  plan->context = context;
  plan->spec = *spec;
  plan->runnable = arch == 0;
  plan->arch = arch ? arch : context->device.arch;
  rowscan_status status = plan->arch ? make_ready(plan) : ROWSCAN_OK;
  if (status) {
    rs_plan_destroy(plan);
    return status;
  }
  *out = plan;
  return ROWSCAN_OK;
}

static void unload(rowscan_plan *plan) {
  const rs_device *device = &plan->context->device;
  bool pushed;
  if (rs_device_enter(device, &pushed))
    return;
  rs_workspaces_close(&plan->workspaces);
  if (plan->module.module)
    device->cuda->cuModuleUnload(plan->module.module);
  rs_device_leave(device, pushed);
}

void rs_plan_destroy(rowscan_plan *plan) {
  if (!plan)
    return;
  if (plan->runnable && plan->arch)
    unload(plan);
  rs_text_free(&plan->module.canonical);
  rs_text_free(&plan->module.source);
  rs_text_free(&plan->module.words);
  rs_binary_free(&plan->module.binary);
  rs_binary *whole = atomic_load(&plan->module.whole);
  if (whole)
    rs_binary_free(whole);
  free(whole);
  free(plan);
}

rowscan_status rs_plan_run(rowscan_plan *plan, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                           CUstream stream) {
  if (plan->arch)
    return rs_launch(plan, rows, workspace, workspace_bytes, stream);
  rs_host_run(plan->context->host, &plan->spec, rows);
  return ROWSCAN_OK;
}
