/*
 * program.c - the kernels of a spec on one GPU: spec -> tune -> emit -> build -> load, each when it is first needed
 * SPDX-License-Identifier: MIT
 */
#include "program.h"

/* ---- made ready -------------------------------------------------------------------------------------------------- */

/* What rows of any length need is known when they come: the longest would take hundreds of megabytes. */
static rowscan_status make_all(rs_program *program, int threads) {
  rowscan_status status = rs_modules_make_all(&program->modules, threads);
  return status || !program->kernels.scratch || program->spec.length == RS_ANY_LENGTH
             ? status
             : rs_workspaces_prepare_all(&program->workspaces);
}

static rowscan_status make_for(rs_program *program, const rs_rows *rows) {
  if (!rs_rows_any(rows, rs_length(&program->spec, rows)))
    return ROWSCAN_OK;
  rowscan_status status = rs_modules_make(&program->modules, rs_kernels_choose(&program->kernels, rows));
  size_t bytes = status || !program->kernels.scratch ? 0 : rs_kernels_scratch(&program->kernels, rows);
  return bytes ? rs_workspaces_prepare(&program->workspaces, bytes) : status;
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

void rs_program_open(rs_program *program, rs_gpu *gpu, const rowscan_spec *spec, int given, bool runnable) {
  const rs_device *device = &gpu->device;
  int arch = rs_compiled_arch(spec, given);
  *program = (rs_program){.gpu = gpu, .spec = *spec, .arch = arch, .runnable = runnable};
  rs_kernels_open(&program->kernels, &program->spec, rs_tuned_arch(gpu->builder, spec, arch),
                  runnable ? device->multiprocessors : 0, device->peak_gbs);
  rs_modules_open(&program->modules, gpu, &program->spec, &program->kernels.geometry, arch, runnable);
  if (runnable)
    rs_workspaces_open(&program->workspaces, &device->memory, program->kernels.scratch, gpu->log);
}

void rs_program_force(rs_program *program, const rs_contender *contender) {
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
  if (program->runnable)
    unload_program(program);
  rs_modules_close(&program->modules);
}

size_t rs_program_scratch(rs_gpu *gpu, const rowscan_spec *spec, const rs_rows *rows) {
  rs_program program;
  rs_program_open(&program, gpu, spec, gpu->device.arch, true);
  size_t bytes = program.kernels.scratch && rs_rows_any(rows, rs_length(spec, rows))
                     ? rs_kernels_scratch(&program.kernels, rows)
                     : 0;
  rs_program_close(&program);
  return bytes;
}
