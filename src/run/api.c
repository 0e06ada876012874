/*
 * api.c - the API border: checks arguments, nothing else
 * SPDX-License-Identifier: MIT
 */
#include "rowscan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/sized.h"
#include "carry.h"
#include "family/emit.h"
#include "gpu/launch.h"
#include "scan.h"
#include "spec/arch.h"
#include "spec/overlap.h"
#include "spec/spec_parse.h"
#include "tools/measure.h"
#include "tools/packs.h"
#include "tools/warm.h"
#include "tools/why.h"

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

rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) {
  RS_UNCANCELLED;
  rowscan_options complete = {.size = sizeof complete};
  rowscan_status status =
      options ? rs_sized_read(&complete, sizeof complete, options, "options", "ROWSCAN_OPTIONS") : ROWSCAN_OK;
  if (status)
    return status;
  options = &complete;
  if ((unsigned)options->engine > ROWSCAN_ENGINE_HOST)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'engine': %d is no engine", (int)options->engine);
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
  bool gpu = context->engine == ROWSCAN_ENGINE_CUDA;
  rowscan_context_info found = {.engine = context->engine,
                                .device = gpu ? context->device.ordinal : -1,
                                .threads = rs_host_threads(context->host),
                                .why = context->why ? context->why : ""};
  if (gpu)
    snprintf(found.arch, sizeof found.arch, "sm_%d", context->device.arch);
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
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (status)
    return status;
  rs_text text = {0};
  rs_spec_line(&complete, &text);
  return give_text(&text, "a spec", out);
}

rowscan_status rowscan_spec_parse(rowscan_spec *spec, const char *text) {
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
  return plan->runnable
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_UNSUPPORTED, "a plan of rowscan_plan_compile, for sm_%d, can't be run", plan->arch);
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
  rowscan_status status = check_runnable(plan);
  if (!status && args)
    status = read_args(&args, &given);
  if (!status && args)
    status = rs_rows_from_args(&rows, &plan->spec, args);
  return status ? status : rs_plan_prepare(plan, args ? &rows : NULL);
}

void rowscan_plan_destroy(rowscan_plan *plan) {
  RS_UNCANCELLED;
  rs_plan_destroy(plan);
}

rowscan_status rowscan_plan_spec(const rowscan_plan *plan, rowscan_spec *spec) {
  return rs_spec_write(spec, &plan->spec);
}

rowscan_status rowscan_plan_info_get(const rowscan_plan *plan, rowscan_plan_info *info) {
  rowscan_plan_info found = {.modules = plan->arch ? rs_geometry_kernels(&plan->modules.geometry) : 0,
                             .workspace_bytes = rs_launch_workspace(plan)};
  return give_info(info, &found, sizeof found);
}

rowscan_status rowscan_plan_module(const rowscan_plan *plan, int index, rowscan_module_info *info) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(info, "info", "ROWSCAN_INFO");
  if (status)
    return status;
  const rs_geometry *geometry = &plan->modules.geometry;
  int count = plan->arch ? rs_geometry_kernels(geometry) : 0;
  if (index < 0 || index >= count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'module': %d; the plan has %d", index, count);
  rs_kernel kernel = rs_geometry_kernel(geometry, index);
  const rs_module *module = &plan->modules.of[kernel];
  const rs_binary *binary;
  status = rs_plan_binary((rowscan_plan *)plan, kernel, &binary); /* which keeps it */
  if (status)
    return status;
  rowscan_module_info found = {.kernel = rs_kernel_name(kernel),
                               .regime = rs_kernel_regime(geometry, kernel),
                               .threads = geometry->shape[kernel].threads,
                               .registers = binary->registers,
                               .shared_bytes = binary->shared_bytes,
                               .local_bytes = binary->local_bytes,
                               .spill_bytes = binary->spill_bytes,
                               .ptx_bytes = binary->ptx_bytes,
                               .cubin_bytes = binary->cubin_bytes,
                               .build_ms = module->binary.milliseconds,
                               .cached = module->binary.cached,
                               .geometry = module->words.data,
                               .source = module->source.data,
                               .ptx = binary->ptx,
                               .cubin = binary->cubin};
  snprintf(found.arch, sizeof found.arch, "sm_%d", plan->arch);
  rs_sized_write(info, &found, sizeof found);
  return ROWSCAN_OK;
}

rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  rs_rows rows;
  rowscan_args given;
  rowscan_status status = check_runnable(plan);
  if (!status)
    status = read_args(&args, &given);
  if (!status)
    status = rs_rows_from_args(&rows, &plan->spec, args);
  if (!status)
    status = rs_overlap_check(&rows, &plan->spec, plan->arch ? args->workspace : NULL, args->workspace_bytes);
  return status ? status : rs_plan_run(plan, &rows, args->workspace, args->workspace_bytes, stream);
}

rowscan_status rowscan_archs(rowscan_context *context, int *archs, int *count) {
  RS_UNCANCELLED;
  return rs_builder_archs(context->builder, archs, count);
}

rowscan_status rowscan_source(const rowscan_spec *spec, const char *arch, int module, char **source) {
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  if (status)
    return status;
  rs_geometry geometry = rs_tune(&complete, number);
  int count = rs_geometry_kernels(&geometry);
  if (module < 0 || module >= count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'module': %d; the spec has %d", module, count);
  rs_text text = {0};
  rs_emit(&complete, &geometry, rs_geometry_kernel(&geometry, module), &text);
  return give_text(&text, "a source", source);
}

void rowscan_free(void *memory) {
  free(memory);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

rowscan_status rowscan_scan(rowscan_context *context, const rowscan_problem *problem, struct CUstream_st *stream) {
  return rs_scan(context, problem, stream);
}

rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) {
  RS_UNCANCELLED;
  return rs_scan_host(context, problem);
}

rowscan_status rowscan_prepare(rowscan_context *context, const rowscan_problem *problem) {
  RS_UNCANCELLED;
  return rs_scan_prepare(context, problem);
}

rowscan_status rowscan_workspace_bytes(rowscan_context *context, const rowscan_problem *problem, size_t *bytes) {
  RS_UNCANCELLED;
  rs_rows rows;
  rowscan_spec spec;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  return status ? status : rs_plan_scratch(context, &spec, &rows, bytes);
}

rowscan_status rowscan_carry_create(rowscan_carry **carry, rowscan_context *context) {
  RS_UNCANCELLED;
  return rs_carry_create(carry, context);
}

rowscan_status rowscan_carry_scan(rowscan_carry *carry, const rowscan_problem *chunk, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  return rs_carry_scan(carry, chunk, stream);
}

void rowscan_carry_reset(rowscan_carry *carry) {
  RS_UNCANCELLED;
  rs_carry_reset(carry);
}

void rowscan_carry_destroy(rowscan_carry *carry) {
  RS_UNCANCELLED;
  rs_carry_destroy(carry);
}

rowscan_status rowscan_problem_spec(const rowscan_problem *problem, rowscan_spec *spec) {
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

rowscan_status rowscan_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args, int repeat,
                               rowscan_timing *timing) {
  RS_UNCANCELLED;
  if (repeat < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'repeat': %d is negative", repeat);
  rowscan_spec complete;
  rowscan_args given;
  rowscan_timing found = {.size = sizeof found};
  rowscan_status status = rs_sized_check(timing, "timing", "ROWSCAN_INFO");
  if (!status)
    status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_sized_read(&given, sizeof given, args, "args", "ROWSCAN_ARGS");
  if (!status)
    status = rs_measure(context, &complete, &given, repeat, &found);
  if (!status)
    rs_sized_write(timing, &found, sizeof found);
  return status;
}

/* ---- ahead of need ----------------------------------------------------------------------------------------------- */

rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *given) {
  RS_UNCANCELLED;
  rowscan_warming read, *list = &read;
  rowscan_status status = rs_sized_read(list, sizeof *list, given, "warming", "ROWSCAN_WARMING");
  if (status)
    return status;
  if (list->spec_count < 0 || (list->spec_count && !list->specs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'spec_count': %lld%s", (long long)list->spec_count,
                   list->specs ? " is negative" : ", but 'specs' is NULL");
  if (list->arch_count < 0 || (list->arch_count && !list->archs))
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'arch_count': %d%s", list->arch_count,
                   list->archs ? " is negative" : ", but 'archs' is NULL");
  if (list->threads < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "warming: field 'threads': %d is negative", list->threads);
  return rs_warm(context, list);
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static rowscan_cache_counts tell_counts(const rs_store_counts *counts) {
  return (rowscan_cache_counts){.hits = counts->of[RS_COUNT_hits],
                                .misses = counts->of[RS_COUNT_misses],
                                .compiles = counts->of[RS_COUNT_compiles],
                                .saved_ms = 1e-3 * (double)counts->of[RS_COUNT_saved_us],
                                .evictions = counts->of[RS_COUNT_evictions],
                                .damaged = counts->of[RS_COUNT_damaged],
                                .rejected = counts->of[RS_COUNT_rejected]};
}

rowscan_status rowscan_cache_info_get(rowscan_context *context, rowscan_cache_info *info) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(info, "info", "ROWSCAN_INFO");
  if (status)
    return status;
  rs_store *store = rs_builder_store(context->builder);
  rs_store_counts mine, all;
  if (!rs_store_counted(store, &mine, &all))
    return rs_fail(ROWSCAN_CACHE_FAILED, "the counts of the cache directory %s can't be read: %m",
                   rs_store_path(store));
  rowscan_cache_info found = {.size = sizeof found,
                              .path = rs_store_path(store),
                              .why = rs_store_why(store),
                              .limit_bytes = rs_store_limit(store),
                              .packs = rs_store_packs(store, NULL),
                              .counts = tell_counts(&mine),
                              .all = tell_counts(&all)};
  rs_store_packs(store, &found.pack_entries);
  if (!rs_store_count(store, &found.entries, &found.bytes) && errno != EACCES) /* of those the log tells */
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read: %m", rs_store_path(store));
  rs_sized_write(info, &found, sizeof found);
  return ROWSCAN_OK;
}

typedef struct visitor {
  int (*visit)(void *user, const rowscan_cache_entry *entry);
  void *user;
} visitor;

static int visit_item(void *user, const rs_store_item *item) {
  const visitor *to = user;
  rowscan_cache_entry entry = {.size = sizeof entry,
                               .name = item->name,
                               .key = item->key,
                               .bytes = item->bytes,
                               .used = item->used,
                               .damage = item->damage,
                               .pack = item->pack};
  return to->visit(to->user, &entry);
}

rowscan_status rowscan_cache_visit(rowscan_context *context, int (*visit)(void *user, const rowscan_cache_entry *entry),
                                   void *user) {
  RS_UNCANCELLED;
  rs_store *store = rs_builder_store(context->builder);
  visitor to = {visit, user};
  if (!rs_store_visit(store, visit_item, &to))
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read", rs_store_path(store));
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                         int (*visit)(void *user, const rowscan_cache_entry *entry), void *user) {
  RS_UNCANCELLED;
  visitor to = {visit, user};
  return rs_store_visit_packs(rs_builder_store(context->builder), visit_item, &to)
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_CACHE_FAILED, "not all entries of the packs can be read: %m");
}

rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                 int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  return status ? status : rs_why(context, &complete, number, visit, user);
}

rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) {
  RS_UNCANCELLED;
  rowscan_status status = rs_sized_check(pruned, "pruned", "ROWSCAN_INFO");
  if (status)
    return status;
  rs_store *store = rs_builder_store(context->builder);
  rs_store_pruned sum;
  if (!rs_store_prune(store, &sum))
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read and pruned",
                   rs_store_path(store));
  rowscan_cache_pruned found = {.removed = sum.removed,
                                .removed_bytes = sum.removed_bytes,
                                .swept = sum.swept,
                                .swept_bytes = sum.swept_bytes,
                                .left = sum.left,
                                .left_bytes = sum.left_bytes};
  rs_sized_write(pruned, &found, sizeof found);
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_clear(rowscan_context *context, int64_t *removed, int64_t *bytes) {
  RS_UNCANCELLED;
  rs_store *store = rs_builder_store(context->builder);
  int64_t gone = 0, gone_bytes = 0;
  bool cleared = rs_store_clear(store, &gone, &gone_bytes);
  if (removed)
    *removed = gone;
  if (bytes)
    *bytes = gone_bytes;
  return cleared
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be cleared", rs_store_path(store));
}

static rowscan_status check_file(const char *file) {
  return *file ? ROWSCAN_OK : rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'file': \"\", which names none");
}

rowscan_status rowscan_cache_export(rowscan_context *context, const char *file, const rowscan_cache_filter *filter,
                                    rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  rowscan_status status = check_file(file);
  return status ? status : rs_packs_export_file(rs_builder_store(context->builder), filter, file, exported);
}

rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter, void **pack,
                                           size_t *bytes, rowscan_cache_exported *exported) {
  RS_UNCANCELLED;
  return rs_packs_export(rs_builder_store(context->builder), filter, pack, bytes, exported);
}

rowscan_status rowscan_cache_import(rowscan_context *context, const char *file, rowscan_cache_imported *imported) {
  RS_UNCANCELLED;
  rowscan_status status = check_file(file);
  return status ? status : rs_packs_import(rs_builder_store(context->builder), file, NULL, 0, imported);
}

rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                           rowscan_cache_imported *imported) {
  RS_UNCANCELLED;
  if (!pack && bytes)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "pack: NULL, but bytes: %zu", bytes);
  return rs_packs_import(rs_builder_store(context->builder), NULL, pack, bytes, imported);
}
