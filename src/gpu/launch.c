/*
 * launch.c - a run on the GPU
 * SPDX-License-Identifier: MIT
 */
#include "family/universal.h"
#include "packed.h"
#include "program.h"
#include "tiers.h"

/* ---- queueing ---------------------------------------------------------------------------------------------------- */

/* A run of one kernel. */
typedef struct launching {
  rs_program *program;
  rs_kernel kernel;
  const rs_shape *shape;
  CUfunction function;
  const char *name;
  CUstream stream;
  rs_packed arguments;
} launching;

/* Which is made ready if this is the first run that needs it. */
static rowscan_status choose(launching *run, rs_kernel kernel) {
  run->kernel = kernel;
  run->shape = &run->program->kernels.geometry.shape[kernel];
  run->name = rs_kernel_symbol(kernel);
  return rs_modules_function(&run->program->modules, kernel, &run->function);
}

/*
 * A programmatic dependent launch: a kernel before it in the stream may still run, and await_dependencies() of
 * kernels/device.cuh waits for it. Measured on an H100, one after another in a graph, microseconds without and with: 1
 * x 1024 1.9, 1.5; 1 x 65536 3.4, 2.7; 1 x 2^20 6.7, 6.0; 8192 x 64 3.5, 2.9; 32768 x 129 along dimension 0 27.2, 26.2.
 */
static CUresult launch_overlapped(const launching *run, unsigned blocks, unsigned threads, unsigned shared_bytes,
                                  void **parameters) {
  CUlaunchAttribute overlap = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
  overlap.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {blocks, 1, 1, threads, 1, 1, shared_bytes, run->stream, &overlap, 1};
  return run->program->gpu->device.cuda->cuLaunchKernelEx(&config, run->function, parameters, NULL);
}

/* more: a second parameter, if the kernel has one. */
static rowscan_status queue(launching *run, int64_t blocks, int threads, int64_t shared_bytes, void *more) {
  const rs_device *device = &run->program->gpu->device;
  void *parameters[] = {&run->arguments, more};
  CUresult result =
      device->overlaps ? launch_overlapped(run, (unsigned)blocks, (unsigned)threads, (unsigned)shared_bytes, parameters)
                       : device->cuda->cuLaunchKernel(run->function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                                                      (unsigned)shared_bytes, run->stream, parameters, NULL);
  return result ? rs_cuda_failed(device->cuda, result, run->name) : ROWSCAN_OK;
}

/* A workspace that holds anything must be cleared before each launch; a plan's own each leaves as the next needs it. */
static rowscan_status clear_workspace(launching *run, bool fresh, int64_t bytes) {
  const rs_cuda *cuda = run->program->gpu->device.cuda;
  if (!fresh || !bytes)
    return ROWSCAN_OK;
  CUresult result =
      cuda->cuMemsetD8Async((CUdeviceptr)(uintptr_t)run->arguments.head.workspace, 0, (size_t)bytes, run->stream);
  return result ? rs_cuda_failed(cuda, result, "clearing the caller's workspace") : ROWSCAN_OK;
}

/* Layout ROWS, from the first launch on, which mostly takes all rows. */
static rowscan_status launch_rows(launching *run, int64_t length, rs_rows_launch part, bool fresh) {
  int64_t left = run->arguments.head.count;
  for (;;) {
    run->arguments.head.count = part.rows;
    rowscan_status status = clear_workspace(run, fresh, (int64_t)part.workspace);
    if (!status)
      status = queue(run, part.blocks, run->shape->threads, run->shape->shared_bytes, NULL);
    left -= part.rows;
    if (status || !left)
      return status;
    run->arguments.head.first += part.rows;
    part = rs_kernels_launch(&run->program->kernels, run->kernel, length, left);
  }
}

/* Of a kernel for any length. */
static rowscan_status check_tiles(const launching *run, int64_t length, int64_t tiles) {
  int most = run->shape->tiles;
  return tiles <= most ? ROWSCAN_OK
                       : rs_fail(ROWSCAN_UNSUPPORTED,
                                 "args: field 'length': %lld: kernel %s for any length supports %d tiles per row, and "
                                 "these rows have %lld",
                                 (long long)length, rs_kernel_name(run->kernel), most, (long long)tiles);
}

static rowscan_status launch_part(launching *run, rs_columns_launch *part, bool fresh) {
  rowscan_status status = choose(run, rs_column_kernel(part->made_of));
  if (!status && run->shape->tiles)
    status = check_tiles(run, part->rows->length, part->cut.any.tiles);
  if (status)
    return status;
  rs_pack(&run->arguments, part->rows, run->program->spec.flags);
  status = clear_workspace(run, fresh, (int64_t)part->need.workspace);
  return status ? status : queue(run, part->need.blocks, part->need.threads, part->need.shared, &part->cut);
}

static rowscan_status launch_parts(launching *run, const rs_rows *rows, bool fresh) {
  rs_columns_parts parts;
  rs_columns_launch part;
  rs_columns_begin(&parts, &run->program->kernels.geometry, rows);
  rowscan_status status = ROWSCAN_OK;
  while (!status && rs_columns_next(&parts, &part))
    status = launch_part(run, &part, fresh);
  return status;
}

/* ---- with a workspace -------------------------------------------------------------------------------------------- */

/* Rows to launch. */
typedef struct work {
  const rs_rows *rows;
  int64_t length;
  bool columns;
  rs_rows_launch first;     /* else */
  rs_columns_launch *whole; /* columns: in one launch; NULL: in several, one after another in the same workspace */
  size_t needed;            /* bytes of scratch memory */
  rs_terms *terms;          /* of universal kernels: in one launch, or two if scratch memory is needed; else NULL */
  rs_universal_cut cut;
} work;

static rowscan_status launch_terms(launching *run, const work *all) {
  rowscan_status status = ROWSCAN_OK;
  for (int phase = all->needed ? RS_TOTALS_OF_PIECES : RS_PREFIXES; phase <= RS_PREFIXES && !status; phase++) {
    all->terms->phase = all->needed ? phase : RS_WHOLE_ROWS;
    rs_pack_terms(&run->arguments, all->rows, all->terms);
    status = queue(run, all->cut.blocks, run->shape->threads, all->cut.shared, NULL);
  }
  return status;
}

static rowscan_status launch_all(launching *run, const work *all, bool fresh) {
  if (all->terms)
    return launch_terms(run, all); /* a first launch writes what a second one reads */
  if (!all->columns)
    return launch_rows(run, all->length, all->first, fresh);
  return all->whole ? launch_part(run, all->whole, fresh) : launch_parts(run, all->rows, fresh);
}

static rowscan_status check_workspace(const void *workspace, size_t bytes, size_t needed) {
  if (bytes < needed)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'workspace_bytes': %zu, but this run requires %zu", bytes,
                   needed);
  if ((uintptr_t)workspace % 8)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'workspace': %p is not a multiple of 8", workspace);
  return ROWSCAN_OK;
}

/* workspace NULL: one of the program's. */
static rowscan_status launch_with(launching *run, const work *all, void *workspace, size_t bytes) {
  if (workspace) {
    rowscan_status status = check_workspace(workspace, bytes, all->needed);
    run->arguments.head.workspace = workspace;
    return status ? status : launch_all(run, all, true);
  }
  rs_scratch own;
  rowscan_status status = rs_workspace_take(&run->program->workspaces, run->stream, all->needed, &own);
  if (status)
    return status;
  run->arguments.head.workspace = (void *)(uintptr_t)own.memory;
  status = launch_all(run, all, false);
  rowscan_status given = rs_workspace_give(&run->program->workspaces, &own, run->stream);
  return status ? status : given;
}

static rowscan_status launch(rs_program *program, const rs_rows *rows, void *workspace, size_t bytes, CUstream stream);

/* In the caller's workspace, if it is large enough, and on words of totals. */
static rowscan_status launch_other(rs_program *serving, const rs_rows *rows, void *workspace, size_t bytes,
                                   CUstream stream) {
  enum { WORD = 16 };
  bool own = workspace && (rs_kernels_scratch(&serving->kernels, rows) > bytes || (uintptr_t)workspace % WORD);
  return launch(serving, rows, own ? NULL : workspace, own ? 0 : bytes, stream);
}

/* Rows of a spec by its universal kernels. */
static rowscan_status launch_universal(rs_program *serving, const rowscan_spec *spec, const rs_rows *rows,
                                       void *workspace, size_t bytes, CUstream stream) {
  rs_rows told;
  rs_terms terms;
  rowscan_status status = ROWSCAN_OK;
  int64_t parts = 1;
  for (int64_t part = 0; part < parts && !status; part++) {
    parts = rs_universal_rows(&told, &terms, rows, spec, part);
    status = launch_other(serving, &told, workspace, bytes, stream);
  }
  return status;
}

/* A run whose kernel is not loaded: with that, or by the program that serves until it is made. */
static rowscan_status launch_serving(rs_program *program, rs_kernel kernel, const rs_rows *rows, void *workspace,
                                     size_t bytes, CUstream stream) {
  bool whole = rows->length == rs_length(&program->spec, rows);
  rs_program *serving = whole ? rs_tiers_serving(program->gpu->tiers, program, kernel, rows) : program;
  if (serving == program) {
    rowscan_status status = rs_modules_make(&program->modules, kernel);
    return status ? status : launch(program, rows, workspace, bytes, stream);
  }
  rs_tiers_count(program->gpu->tiers, program, kernel, rows, serving);
  if (serving->spec.flags & ROWSCAN_UNIVERSAL)
    return launch_universal(serving, &program->spec, rows, workspace, bytes, stream);
  return launch_other(serving, rows, workspace, bytes, stream);
}

/* Another may serve, for this kernel is not loaded. */
static bool may_wait(rs_program *program, rs_kernel kernel) {
  return program->gpu->tiers && !atomic_load_explicit(&program->modules.of[kernel].function, memory_order_acquire);
}

/* Rows that rs_universal_rows() gave, by the kernel of that spec. */
static rowscan_status launch_told(launching *run, const rs_rows *rows, void *workspace, size_t bytes) {
  rs_terms terms = *rows->terms;
  work all = {.rows = rows, .terms = &terms};
  rowscan_status status = choose(run, RS_KERNEL_ANY);
  if (status)
    return status;
  rs_pack(&run->arguments, rows, run->program->spec.flags);
  all.cut = rs_universal_share(&terms, rows, run->shape, &run->program->spec);
  all.needed = all.cut.workspace;
  if (all.cut.blocks > INT32_MAX)
    return rs_fail(ROWSCAN_UNSUPPORTED, "rows: %lld: a universal kernel would need %lld blocks, and a launch has %d",
                   (long long)rows->count, (long long)all.cut.blocks, INT32_MAX);
  if (!all.needed)
    return launch_all(run, &all, false);
  pthread_mutex_lock(&run->program->pairs); /* what the second launch reads the first one has left */
  status = launch_with(run, &all, workspace, bytes);
  pthread_mutex_unlock(&run->program->pairs);
  return status;
}

static rowscan_status launch(rs_program *program, const rs_rows *rows, void *workspace, size_t bytes, CUstream stream) {
  rs_kernels *kernels = &program->kernels;
  launching run; /* large: not to be cleared first */
  rs_columns_launch whole;
  work all = {.rows = rows,
              .length = rs_length(&program->spec, rows),
              .columns = kernels->geometry.regime == ROWSCAN_REGIME_COLUMN};
  run.program = program;
  run.stream = stream;
  run.arguments.head.workspace = NULL;
  if (all.columns) {
    all.whole = rs_columns_recall(&kernels->cuts, &whole, &kernels->geometry, rows) ? &whole : NULL;
    if (!all.whole && program->otherwise) /* was measured in one launch */
      return launch(program->otherwise, rows, workspace, bytes, stream);
    all.needed = all.whole ? whole.need.workspace : kernels->scratch;
    if (program->gpu->tiers) {
      rs_template made_of = all.whole ? whole.made_of : rs_columns_chosen(&kernels->geometry, rows);
      if (may_wait(program, rs_column_kernel(made_of)))
        return launch_serving(program, rs_column_kernel(made_of), rows, workspace, bytes, stream);
    }
  } else {
    rs_kernel kernel = rs_kernels_choose(kernels, rows);
    if (may_wait(program, kernel))
      return launch_serving(program, kernel, rows, workspace, bytes, stream);
    if (program->spec.flags & ROWSCAN_UNIVERSAL)
      return launch_told(&run, rows, workspace, bytes);
    rowscan_status status = choose(&run, kernel);
    if (!status && run.shape->tiles)
      status = check_tiles(&run, all.length, rs_ceiling(all.length, rs_tile(run.shape)));
    if (status)
      return status;
    rs_pack(&run.arguments, rows, program->spec.flags);
    all.first = rs_kernels_launch(kernels, run.kernel, all.length, rows->count);
    all.needed = all.first.workspace;
  }
  return all.needed || (workspace && all.columns) ? launch_with(&run, &all, workspace, bytes)
                                                  : launch_all(&run, &all, false);
}

/* One that is preferred, if its kernel is ready or need not be yet, and the caller's workspace is large enough. */
static rs_program *serving_of(rs_program *program, const rs_rows *rows, const void *workspace, size_t bytes) {
  rs_program *serving = rs_program_for(program, rows);
  if (serving == program || (workspace && rs_kernels_scratch(&serving->kernels, rows) > bytes))
    return program;
  return program->gpu->tiers || rs_program_usable(serving) ? serving : program;
}

rowscan_status rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream) {
  if (!rs_rows_any(rows, rs_length(&program->spec, rows)))
    return ROWSCAN_OK;
  bool pushed;
  rowscan_status status = rs_device_enter(&program->gpu->device, &pushed);
  if (status)
    return status;
  status = launch(serving_of(program, rows, workspace, workspace_bytes), rows, workspace, workspace_bytes, stream);
  rs_device_leave(&program->gpu->device, pushed);
  return status;
}
