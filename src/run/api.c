/*
 * api.c - the API border of contexts, plans, scans and devices: checks arguments, nothing else; scan.c and carry.c have
 * their own SPDX-License-Identifier: MIT
 */
#include "rowscan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/sized.h"
#include "family/tune.h"
#include "plan.h"
#include "spec/arch.h"
#include "spec/rows.h"
#include "spec/spec.h"

const char *rowscan_version(void) {
  return ROWSCAN_VERSION_STRING;
}

int rowscan_version_number(void) {
  return ROWSCAN_VERSION;
}

/* Fills a caller's info struct, if its size is one. */
static rowscan_status give_info(void *info, const void *found, size_t known) {
  rowscan_status status = rs_sized_check(info, "info", "ROWSCAN_INFO");
  if (!status)
    rs_sized_write(info, found, known);
  return status;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static rowscan_status check_devices(rowscan_options *options) {
  const int *devices = options->devices;
  int count = options->device_count;
  if (count < 0 || count > RS_MOST_GPUS)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'device_count': %d is not between 0 and %d", count,
                   (int)RS_MOST_GPUS);
  if (count && !devices)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'devices': NULL, but 'device_count' is %d", count);
  for (int i = 0; i < count; i++)
    if (devices[i] < 0)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'devices': %d is negative", devices[i]);
  for (int i = 0; i < count; i++)
    for (int j = 0; j < i; j++)
      if (devices[i] == devices[j])
        return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'devices': names GPU %d twice", devices[i]);
  if (count && options->cuda_context)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'devices': is set, but so is 'cuda_context', which has a GPU");
  if (count && options->device && options->device != devices[0])
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'device': %d, but 'devices' begins with %d", options->device,
                   devices[0]);
  if (count)
    options->device = devices[0];
  return ROWSCAN_OK;
}

rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) {
  RS_UNCANCELLED;
  rowscan_options complete = {.size = sizeof complete};
  rowscan_status status =
      options ? rs_sized_read(&complete, sizeof complete, options, "options", "ROWSCAN_OPTIONS") : ROWSCAN_OK;
  if (!status)
    status = check_devices(&complete);
  if (status)
    return status;
  options = &complete;
  if ((unsigned)options->engine > ROWSCAN_ENGINE_HOST)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'engine': %d is not between 0 and %d", (int)options->engine,
                   (int)ROWSCAN_ENGINE_HOST);
  if ((unsigned)options->compile > ROWSCAN_COMPILE_NEVER)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'compile': %d is not between 0 and %d", (int)options->compile,
                   (int)ROWSCAN_COMPILE_NEVER);
  if (options->device < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'device': %d is negative", options->device);
  if (options->threads < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'threads': %d is negative", options->threads);
  if (options->cache_limit < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'cache_limit': %lld is negative",
                   (long long)options->cache_limit);
  if (!options->allocate != !options->release)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field '%s': NULL, but '%s' is not",
                   options->allocate ? "release" : "allocate", options->allocate ? "allocate" : "release");
  return rs_context_open(context, options, NULL);
}

void rowscan_close(rowscan_context *context) {
  RS_UNCANCELLED;
  rs_context_close(context);
}

rowscan_status rowscan_set_threads(rowscan_context *context, int threads) {
  RS_UNCANCELLED;
  if (threads < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'threads': %d is negative", threads);
  rs_host_set_threads(context->host, threads);
  return ROWSCAN_OK;
}

rowscan_engine rowscan_context_engine(const rowscan_context *context) {
  return context->engine;
}

rowscan_status rowscan_context_info_get(const rowscan_context *context, rowscan_context_info *info) {
  RS_UNCANCELLED;
  bool gpu = context->engine == ROWSCAN_ENGINE_CUDA;
  rowscan_context_info found = {.engine = context->engine,
                                .device = gpu ? context->gpu.device.ordinal : -1,
                                .threads = rs_host_threads(context->host),
                                .why = context->why ? context->why : ""};
  const rs_tiers *tiers = context->gpu.tiers;
  if (tiers) {
    found.any_length_runs = atomic_load_explicit(&tiers->runs, memory_order_relaxed);
    found.universal_runs = atomic_load_explicit(&tiers->universal_runs, memory_order_relaxed);
    found.background_kernels = atomic_load_explicit(&tiers->made, memory_order_relaxed);
    found.background_failed = atomic_load_explicit(&tiers->failed, memory_order_relaxed);
    found.background_ms = 1e-3 * (double)atomic_load_explicit(&tiers->made_us, memory_order_relaxed);
  }
  if (gpu)
    snprintf(found.arch, sizeof found.arch, "sm_%d", context->gpu.device.arch);
  return give_info(info, &found, sizeof found);
}

/* Hands a text over to the caller. */
static rowscan_status give_text(rs_text *text, const char *what, char **out) {
  if (text->failed) {
    rs_text_free(text);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the text of %s", what);
  }
  *out = text->data;
  return ROWSCAN_OK;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

rowscan_status rowscan_spec_text(const rowscan_spec *spec, char **out) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (status)
    return status;
  rs_text text = {0};
  rs_spec_line(&complete, &text);
  return give_text(&text, "a spec", out);
}

rowscan_status rowscan_spec_parse(rowscan_spec *spec, const char *text) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  rowscan_status status = rs_spec_parse(&complete, text);
  return status ? status : rs_spec_write(spec, &complete);
}

rowscan_status rowscan_plan_create(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  return status ? status : rs_plan_create(plan, context, &complete, NULL);
}

rowscan_status rowscan_plan_compile(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                                    const char *arch) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  return status ? status : rs_plan_look(plan, context, &complete, number, rs_host_threads(context->host));
}

static rowscan_status check_runnable(const rowscan_plan *plan) {
  return rs_plan_runs(plan)
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_UNSUPPORTED,
                       "a plan from rowscan_plan_compile, for sm_%d, cannot be run; use rowscan_plan_create",
                       plan->program.arch);
}

/* Those of another size are copied, since a run must not wait for that. */
static rowscan_status read_args(const rowscan_args **args, rowscan_args *copy) {
  if ((*args)->size == sizeof **args)
    return ROWSCAN_OK;
  rowscan_status status = rs_sized_read(copy, sizeof *copy, *args, "args", "ROWSCAN_ARGS");
  *args = copy;
  return status;
}

rowscan_status rowscan_plan_prepare(rowscan_plan *plan, const rowscan_args *args) {
  RS_UNCANCELLED;
  rs_rows rows;
  rowscan_args given;
  rowscan_spec own;
  const rowscan_spec *spec = &plan->spec;
  rowscan_status status = check_runnable(plan);
  if (!status && args)
    status = read_args(&args, &given);
  if (!status && args)
    status = rs_spec_of_run(&spec, &own, args);
  if (!status && args)
    status = rs_rows_from_args(&rows, spec, args);
  return status ? status : rs_plan_prepare(plan, args ? &rows : NULL);
}

void rowscan_plan_destroy(rowscan_plan *plan) {
  RS_UNCANCELLED;
  rs_plan_destroy(plan);
}

rowscan_status rowscan_plan_spec(const rowscan_plan *plan, rowscan_spec *spec) {
  RS_UNCANCELLED;
  return rs_spec_write(spec, &plan->spec);
}

rowscan_status rowscan_plan_info_get(const rowscan_plan *plan, rowscan_plan_info *info) {
  RS_UNCANCELLED;
  rowscan_plan_info found = {.modules = plan->program.arch ? rs_geometry_kernels(&plan->program.kernels.geometry) : 0,
                             .workspace_bytes =
                                 plan->program.arch ? rs_program_bound((rs_program *)&plan->program) : 0};
  return give_info(info, &found, sizeof found);
}

rowscan_status rowscan_plan_module(const rowscan_plan *plan, int index, rowscan_module_info *info) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(info, "info", "ROWSCAN_INFO");
  if (status)
    return status;
  const rs_geometry *geometry = &plan->program.kernels.geometry;
  int count = plan->program.arch ? rs_geometry_kernels(geometry) : 0;
  if (index < 0 || index >= count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'module': %d, but the plan has %d modules", index, count);
  rs_kernel kernel = rs_geometry_kernel(geometry, index);
  const rs_module *module = &plan->program.modules.of[kernel];
  const rs_binary *binary;
  status = rs_program_binary((rs_program *)&plan->program, kernel, &binary); /* which keeps it */
  if (status)
    return status;
  rowscan_module_info found = {.kernel = rs_kernel_name(kernel),
                               .regime = rs_kernel_regime(geometry, kernel),
                               .threads = geometry->shape[kernel].threads,
                               .registers = binary->facts.registers,
                               .shared_bytes = binary->facts.shared_bytes,
                               .local_bytes = binary->facts.local_bytes,
                               .spill_bytes = binary->facts.spill_bytes,
                               .ptx_bytes = binary->ptx_bytes,
                               .cubin_bytes = binary->cubin_bytes,
                               .build_ms = module->binary.milliseconds,
                               .cached = module->binary.cached,
                               .geometry = module->words.data,
                               .source = module->source.data,
                               .ptx = binary->ptx,
                               .cubin = binary->cubin};
  snprintf(found.arch, sizeof found.arch, "sm_%d", plan->program.arch);
  rs_sized_write(info, &found, sizeof found);
  return ROWSCAN_OK;
}

rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  rowscan_args given;
  rs_call own, *call;
  rowscan_status status = check_runnable(plan);
  if (!status)
    status = read_args(&args, &given);
  if (status)
    return status;
  status = rs_call_args(&plan->calls, &call, &own, &plan->spec, args);
  if (!status)
    status = rs_call_check(call, plan->program.arch ? args->workspace : NULL, args->workspace_bytes);
  if (!status)
    status = rs_plan_call(plan, call, args->workspace, args->workspace_bytes, stream);
  rs_call_end(call);
  return status;
}

rowscan_status rowscan_archs(rowscan_context *context, int *archs, int *count) {
  RS_UNCANCELLED;
  return rs_nvrtc_archs(rs_builder_nvrtc(context->gpu.builder), archs, count);
}

rowscan_status rowscan_source(const rowscan_spec *spec, const char *arch, int module, char **source) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  if (status)
    return status;
  number = rs_compiled_arch(&complete, number);
  rs_geometry geometry = rs_tune(&complete, number);
  rs_tune_device(&geometry, &complete, number, 0); /* a plan for the architecture, not for a device */
  int count = rs_geometry_kernels(&geometry);
  if (module < 0 || module >= count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'module': %d, but the spec has %d modules", module, count);
  rs_text text = {0};
  rs_emit(&complete, &geometry, rs_geometry_kernel(&geometry, module), &text);
  return give_text(&text, "a source", source);
}

void rowscan_free(void *memory) {
  free(memory);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

rowscan_status rowscan_workspace_bytes(rowscan_context *context, const rowscan_problem *problem, size_t *bytes) {
  RS_UNCANCELLED;
  rs_rows rows;
  rowscan_spec spec;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  if (!status)
    *bytes = context->engine == ROWSCAN_ENGINE_CUDA ? rs_program_scratch(&context->gpu, &spec, &rows) : 0;
  return status;
}

rowscan_status rowscan_problem_spec(const rowscan_problem *problem, rowscan_spec *spec) {
  RS_UNCANCELLED;
  rs_rows rows;
  rowscan_spec found;
  rowscan_status status = rs_rows_from_problem(&rows, &found, problem);
  return status ? status : rs_spec_write(spec, &found);
}

/* ---- devices and measuring --------------------------------------------------------------------------------------- */

rowscan_status rowscan_device_count(int *count) {
  RS_UNCANCELLED;
  int found = 0;
  rowscan_status status = rs_device_count(&found);
  if (!status || status == ROWSCAN_NO_DRIVER)
    *count = found;
  return status;
}

rowscan_status rowscan_device_get(int device, rowscan_device_info *info) {
  RS_UNCANCELLED;
  rowscan_device_info found;
  rowscan_status status = rs_device_info(device, &found);
  return status ? status : give_info(info, &found, sizeof found);
}

rowscan_status rowscan_device_of(const void *pointer, int *device) {
  RS_UNCANCELLED;
  return rs_device_of(pointer, device);
}
