/*
 * program.c - the kernels of a spec on one GPU: spec -> tune -> emit -> build -> load, each when it is first needed
 * SPDX-License-Identifier: MIT
 */
#include "program.h"

#include <stdlib.h>

/* ---- preferred --------------------------------------------------------------------------------------------------- */

/* What the tuning table has of the spec. Forced regimes are for those who time them. Without memory there is none. */
static rs_preferred *read_preferred(const rs_program *program, int tuned) {
  const rs_gpu *gpu = program->gpu;
  if (!gpu->tuning || !program->runnable || program->spec.length <= 0 || program->spec.regime != ROWSCAN_REGIME_AUTO)
    return NULL;
  rs_preferred *preferred = calloc(1, sizeof *preferred);
  if (preferred)
    preferred->count = rs_tuning_of(gpu->tuning, &program->spec, tuned, preferred->tuned);
  if (preferred && preferred->count <= 0) {
    free(preferred);
    return NULL;
  }
  if (preferred)
    pthread_mutex_init(&preferred->lock, NULL); /* which cannot fail with no attributes */
  return preferred;
}

static void close_preferred(rs_program *program) {
  rs_preferred *preferred = program->preferred;
  program->preferred = NULL;
  if (!preferred)
    return;
  for (int i = 0; i < preferred->count; i++) {
    rs_program *one = atomic_load(&preferred->program[i]);
    if (one)
      rs_program_close(one);
    free(one);
  }
  pthread_mutex_destroy(&preferred->lock);
  free(preferred);
}

static void open_alone(rs_program *program, rs_gpu *gpu, const rowscan_spec *spec, int given, bool runnable);

/* NULL: out of memory. */
static rs_program *open_one(rs_program *program, int i) {
  rs_preferred *preferred = program->preferred;
  pthread_mutex_lock(&preferred->lock);
  rs_program *one = atomic_load_explicit(&preferred->program[i], memory_order_relaxed);
  if (!one && (one = malloc(sizeof *one)) != NULL) {
    open_alone(one, program->gpu, &program->spec, program->gpu->device.arch, true);
    rs_program_force(one, &preferred->tuned[i].kernel);
    one->otherwise = program;
    atomic_store_explicit(&preferred->program[i], one, memory_order_release);
  }
  pthread_mutex_unlock(&preferred->lock);
  return one;
}

rs_program *rs_program_preferred(rs_program *program, const rs_rows *rows) {
  rs_preferred *preferred = program->preferred;
  int i = rs_rows_any(rows, program->spec.length)
              ? rs_tuning_for(preferred->tuned, preferred->count, rows, &program->spec)
              : -1;
  rs_program *one = i < 0 ? NULL : atomic_load_explicit(&preferred->program[i], memory_order_acquire);
  if (i >= 0 && !one)
    one = open_one(program, i);
  return one && !atomic_load_explicit(&one->given_up, memory_order_relaxed) &&
                 rs_kernels_forced_takes(&one->kernels, rows)
             ? one
             : program;
}

bool rs_program_usable(rs_program *preferred) {
  CUfunction function;
  if (!rs_modules_function(&preferred->modules, preferred->kernels.only, &function))
    return true;
  if (!atomic_exchange(&preferred->given_up, true))
    rs_log_write(preferred->gpu->log, ROWSCAN_LOG_INFO,
                 "sm_%d: a kernel of the tuning table is not used, and another one serves: %s", preferred->arch,
                 rowscan_last_error());
  return false;
}

/* ---- made ready -------------------------------------------------------------------------------------------------- */

/* What can't be made another program has: no error. */
static rowscan_status make_preferred(rs_program *program) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; program->preferred && i < program->preferred->count && !status; i++) {
    rs_program *one = open_one(program, i);
    if (one && rs_program_usable(one) && one->kernels.scratch)
      status = rs_workspaces_prepare_all(&one->workspaces);
  }
  return status;
}

/* What rows of any length need is known when they come: the longest would take hundreds of megabytes. */
static rowscan_status make_all(rs_program *program, int threads) {
  rowscan_status status = rs_modules_make_all(&program->modules, threads);
  if (!status)
    status = make_preferred(program);
  return status || !program->kernels.scratch || program->spec.length == RS_ANY_LENGTH
             ? status
             : rs_workspaces_prepare_all(&program->workspaces);
}

static rowscan_status make_one(rs_program *program, const rs_rows *rows) {
  rowscan_status status = rs_modules_make(&program->modules, rs_kernels_choose(&program->kernels, rows));
  size_t bytes = status || !program->kernels.scratch ? 0 : rs_kernels_scratch(&program->kernels, rows);
  return bytes ? rs_workspaces_prepare(&program->workspaces, bytes) : status;
}

static rowscan_status make_for(rs_program *program, const rs_rows *rows) {
  if (!rs_rows_any(rows, rs_length(&program->spec, rows)))
    return ROWSCAN_OK;
  rs_program *one = rs_program_for(program, rows);
  return make_one(one == program || rs_program_usable(one) ? one : program, rows);
}

rowscan_status rs_program_prepare(rs_program *program, const rs_rows *rows, int threads) {
  const rs_device *device = &program->gpu->device;
  bool pushed;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  status = rows ? make_for(program, rows) : make_all(program, threads);
  rs_device_leave(device, pushed);
  return status;
}

rowscan_status rs_program_binary(rs_program *program, rs_kernel kernel, const rs_binary **binary) {
  const rs_device *device = &program->gpu->device;
  bool pushed = false;
  rowscan_status status = program->runnable ? rs_device_enter(device, &pushed) : ROWSCAN_OK;
  if (status)
    return status;
  status = rs_modules_make(&program->modules, kernel);
  if (program->runnable)
    rs_device_leave(device, pushed);
  return status ? status : rs_modules_binary(&program->modules, kernel, binary);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void open_alone(rs_program *program, rs_gpu *gpu, const rowscan_spec *spec, int given, bool runnable) {
  const rs_device *device = &gpu->device;
  int arch = rs_compiled_arch(spec, given);
  *program = (rs_program){.gpu = gpu, .spec = *spec, .arch = arch, .runnable = runnable};
  pthread_mutex_init(&program->pairs, NULL); /* which cannot fail with no attributes */
  rs_kernels_open(&program->kernels, &program->spec, rs_tuned_arch(gpu->builder, spec, arch),
                  runnable ? device->multiprocessors : 0, device->peak_gbs);
  rs_modules_open(&program->modules, gpu, &program->spec, &program->kernels.geometry, arch, runnable);
  if (runnable)
    rs_workspaces_open(&program->workspaces, &device->memory, program->kernels.scratch, gpu->log);
}

void rs_program_open(rs_program *program, rs_gpu *gpu, const rowscan_spec *spec, int given, bool runnable) {
  open_alone(program, gpu, spec, given, runnable);
  if (gpu->tuning)
    program->preferred = read_preferred(program, rs_tuned_arch(gpu->builder, spec, program->arch));
}

void rs_program_force(rs_program *program, const rs_contender *contender) {
  close_preferred(program);
  rs_kernels_force(&program->kernels, contender);
  rs_workspaces_close(&program->workspaces);
  rs_workspaces_open(&program->workspaces, &program->gpu->device.memory, program->kernels.scratch, program->gpu->log);
}

static void unload_program(rs_program *program) {
  const rs_device *device = &program->gpu->device;
  bool pushed;
  if (rs_device_enter(device, &pushed))
    return;
  int mode = rs_cuda_relax(device->cuda);
  rs_workspaces_close(&program->workspaces);
  rs_modules_unload(&program->modules);
  rs_cuda_restore(device->cuda, mode);
  rs_device_leave(device, pushed);
}

void rs_program_close(rs_program *program) {
  close_preferred(program);
  if (program->runnable)
    unload_program(program);
  rs_modules_close(&program->modules);
  pthread_mutex_destroy(&program->pairs);
}

size_t rs_program_bound(rs_program *program) {
  size_t most = program->kernels.scratch;
  for (int i = 0; program->preferred && i < program->preferred->count; i++) {
    const rs_program *one = open_one(program, i);
    most = one && one->kernels.scratch > most ? one->kernels.scratch : most;
  }
  return most;
}

static size_t scratch_of(const rs_program *program, const rs_rows *rows) {
  return program->kernels.scratch ? rs_kernels_scratch(&program->kernels, rows) : 0;
}

size_t rs_program_scratch(rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows) {
  rs_program program;
  rs_program_open(&program, gpu, spec, gpu->device.arch, true);
  bool any = rs_rows_any(rows, rs_length(spec, rows));
  size_t bytes = any ? scratch_of(&program, rows) : 0,
         preferred = any ? scratch_of(rs_program_for(&program, rows), rows) : 0;
  rs_program_close(&program);
  return preferred > bytes ? preferred : bytes;
}
