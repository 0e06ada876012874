/*
 * rowscan.c - the API border: checks arguments, nothing else
 * SPDX-License-Identifier: MIT
 */
#include "rowscan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch.h"
#include "emit.h"
#include "launch.h"
#include "measure.h"
#include "packs.h"
#include "spec_parse.h"
#include "stage.h"
#include "version.h"
#include "warm.h"
#include "why.h"

const char *rowscan_version(void) {
  return ROWSCAN_VERSION;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) {
  static const rowscan_options defaults = {.size = sizeof defaults};
  if (!options)
    options = &defaults;
  if (options->size != sizeof *options)
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "options: field 'size': %zu; use ROWSCAN_OPTIONS or set sizeof(rowscan_options), %zu", options->size,
                   sizeof *options);
  if ((unsigned)options->engine > ROWSCAN_ENGINE_HOST)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'engine': %d is no engine", (int)options->engine);
  if (options->device < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'device': %d is negative", options->device);
  if (options->threads < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'threads': %d is negative", options->threads);
  if (options->cache_limit < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "options: field 'cache_limit': %lld is negative",
                   (long long)options->cache_limit);
  return rs_context_open(context, options, NULL);
}

void rowscan_close(rowscan_context *context) {
  rs_context_close(context);
}

rowscan_engine rowscan_context_engine(const rowscan_context *context) {
  return context->engine;
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
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  return status ? status : rs_plan_create(plan, context, &complete, NULL);
}

rowscan_status rowscan_plan_compile(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                                    const char *arch) {
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

rowscan_status rowscan_plan_prepare(rowscan_plan *plan, const rowscan_args *args) {
  rs_rows rows;
  rowscan_status status = check_runnable(plan);
  if (!status && args)
    status = rs_rows_from_args(&rows, &plan->spec, args);
  return status ? status : rs_plan_prepare(plan, args ? &rows : NULL);
}

void rowscan_plan_destroy(rowscan_plan *plan) {
  rs_plan_destroy(plan);
}

rowscan_status rowscan_plan_info_get(const rowscan_plan *plan, rowscan_plan_info *info) {
  if (info->size != sizeof *info)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "info: field 'size': %zu, not %zu", info->size, sizeof *info);
  *info = (rowscan_plan_info){.size = sizeof *info,
                              .spec = plan->spec,
                              .modules = plan->arch ? rs_geometry_kernels(&plan->modules.geometry) : 0,
                              .workspace_bytes = rs_launch_workspace(plan)};
  return ROWSCAN_OK;
}

rowscan_status rowscan_plan_module(const rowscan_plan *plan, int index, rowscan_module_info *info) {
  if (info->size != sizeof *info)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "info: field 'size': %zu, not %zu", info->size, sizeof *info);
  const rs_geometry *geometry = &plan->modules.geometry;
  int count = plan->arch ? rs_geometry_kernels(geometry) : 0;
  if (index < 0 || index >= count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'module': %d; the plan has %d", index, count);
  rs_kernel kernel = rs_geometry_kernel(geometry, index);
  const rs_module *module = &plan->modules.of[kernel];
  const rs_binary *binary;
  rowscan_status status = rs_plan_binary((rowscan_plan *)plan, kernel, &binary); /* which keeps it */
  if (status)
    return status;
  *info = (rowscan_module_info){.size = sizeof *info,
                                .kernel = rs_kernel_name(kernel),
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
  snprintf(info->arch, sizeof info->arch, "sm_%d", plan->arch);
  return ROWSCAN_OK;
}

rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args, struct CUstream_st *stream) {
  rs_rows rows;
  rowscan_status status = check_runnable(plan);
  if (!status)
    status = rs_rows_from_args(&rows, &plan->spec, args);
  return status ? status : rs_plan_run(plan, &rows, args->workspace, args->workspace_bytes, stream);
}

rowscan_status rowscan_archs(rowscan_context *context, int *archs, int *count) {
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
  rs_rows rows;
  rowscan_spec spec;
  rowscan_plan *plan;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  if (!status)
    status = rs_table_plan(&context->plans, context, &spec, &rows, &plan);
  return status ? status : rs_plan_run(plan, &rows, NULL, 0, stream);
}

rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) {
  rs_rows rows;
  rowscan_spec spec;
  rowscan_status status = rs_rows_from_problem(&rows, &spec, problem);
  return status ? status : rs_stage(context, &spec, &rows);
}

/* ---- devices and measuring --------------------------------------------------------------------------------------- */

rowscan_status rowscan_device_count(int *count) {
  int found = 0;
  rowscan_status status = rs_device_count(&found);
  if (!status || status == ROWSCAN_NO_DRIVER)
    *count = found;
  return status;
}

rowscan_status rowscan_device_get(int device, rowscan_device_info *info) {
  if (info->size != sizeof *info)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "info: field 'size': %zu, not %zu", info->size, sizeof *info);
  return rs_device_info(device, info);
}

rowscan_status rowscan_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args, int repeat,
                               rowscan_timing *timing) {
  if (timing->size != sizeof *timing)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "timing: field 'size': %zu, not %zu", timing->size, sizeof *timing);
  if (repeat < 0)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "field 'repeat': %d is negative", repeat);
  rowscan_spec complete;
  rowscan_status status = rs_spec_read(&complete, spec);
  return status ? status : rs_measure(context, &complete, args, repeat, timing);
}

/* ---- ahead of need ----------------------------------------------------------------------------------------------- */

rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *list) {
  if (list->size != sizeof *list)
    return rs_fail(ROWSCAN_BAD_ARGUMENT,
                   "warming: field 'size': %zu; use ROWSCAN_WARMING or set sizeof(rowscan_warming), %zu", list->size,
                   sizeof *list);
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
  if (info->size != sizeof *info)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "info: field 'size': %zu, not %zu", info->size, sizeof *info);
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
  *info = found;
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
  rs_store *store = rs_builder_store(context->builder);
  visitor to = {visit, user};
  if (!rs_store_visit(store, visit_item, &to))
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read", rs_store_path(store));
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                         int (*visit)(void *user, const rowscan_cache_entry *entry), void *user) {
  visitor to = {visit, user};
  return rs_store_visit_packs(rs_builder_store(context->builder), visit_item, &to)
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_CACHE_FAILED, "not all entries of the packs can be read: %m");
}

rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                 int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  return status ? status : rs_why(context, &complete, number, visit, user);
}

rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) {
  if (pruned->size != sizeof *pruned)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "pruned: field 'size': %zu, not %zu", pruned->size, sizeof *pruned);
  rs_store *store = rs_builder_store(context->builder);
  rs_store_pruned sum;
  if (!rs_store_prune(store, &sum))
    return rs_fail(ROWSCAN_CACHE_FAILED, "not all of the cache directory %s can be read and pruned",
                   rs_store_path(store));
  *pruned = (rowscan_cache_pruned){.size = sizeof *pruned,
                                   .removed = sum.removed,
                                   .removed_bytes = sum.removed_bytes,
                                   .swept = sum.swept,
                                   .swept_bytes = sum.swept_bytes,
                                   .left = sum.left,
                                   .left_bytes = sum.left_bytes};
  return ROWSCAN_OK;
}

rowscan_status rowscan_cache_clear(rowscan_context *context, int64_t *removed, int64_t *bytes) {
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
  rowscan_status status = check_file(file);
  return status ? status : rs_packs_export_file(rs_builder_store(context->builder), filter, file, exported);
}

rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter, void **pack,
                                           size_t *bytes, rowscan_cache_exported *exported) {
  return rs_packs_export(rs_builder_store(context->builder), filter, pack, bytes, exported);
}

rowscan_status rowscan_cache_import(rowscan_context *context, const char *file, rowscan_cache_imported *imported) {
  rowscan_status status = check_file(file);
  return status ? status : rs_packs_import(rs_builder_store(context->builder), file, NULL, 0, imported);
}

rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                           rowscan_cache_imported *imported) {
  if (!pack && bytes)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "pack: NULL, but bytes: %zu", bytes);
  return rs_packs_import(rs_builder_store(context->builder), NULL, pack, bytes, imported);
}
