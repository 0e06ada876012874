/*
 * launch.c - a run on the GPU
 * SPDX-License-Identifier: MIT
 */
#include "launch.h"

#include <string.h>

#include "spec/types.h"

/* The header of Rows<RANK> in kernels/rows.cuh, and its five arrays of RANK numbers. */
typedef struct packed {
  const void *in;
  void *out;
  const void *mask;
  const void *init;
  void *totals;
  void *workspace;
  int64_t first, count;
  int64_t in_step, out_step, mask_step;
  int64_t dims[5 * RS_MAX_ROW_RANK];
} packed;

static void pack(packed *to, const rs_rows *rows) {
  to->in = rows->in;
  to->out = rows->out;
  to->mask = rows->mask;
  to->init = rows->init;
  to->totals = rows->totals;
  to->first = 0;
  to->count = rows->count;
  to->in_step = rows->in_step;
  to->out_step = rows->out_step;
  to->mask_step = rows->mask_step;
  const int64_t *const arrays[] = {rows->shape, rows->in_stride, rows->out_stride, rows->mask_stride, rows->row_stride};
  for (int i = 0; i < 5; i++)
    memcpy(to->dims + i * rows->rank, arrays[i], (size_t)rows->rank * sizeof *to->dims);
}

/* ---- which kernel ------------------------------------------------------------------------------------------------ */

/* One of the arrays of a run. */
typedef struct array {
  const void *data;
  int64_t step;
  const int64_t *stride;
  int64_t bytes; /* of an element */
} array;

enum { MOST_ARRAYS = 3 };

static int arrays_of(const rs_rows *rows, const rowscan_spec *spec, array arrays[MOST_ARRAYS]) {
  arrays[0] = (array){rows->in, rows->in_step, rows->in_stride, (int64_t)rowscan_type_bytes(spec->in_type)};
  arrays[1] = (array){rows->out, rows->out_step, rows->out_stride, (int64_t)rowscan_type_bytes(spec->out_type)};
  if (!rows->mask)
    return 2;
  arrays[2] = (array){rows->mask, rows->mask_step, rows->mask_stride, (int64_t)rowscan_type_bytes(spec->mask_type)};
  return 3;
}

/* Elements of a row are neighbours, and so are rows. */
static bool dense(const array *a, const rs_rows *rows, const rowscan_spec *spec) {
  int64_t next = spec->length;
  for (int d = rows->rank - 1; d >= 0; next *= rows->shape[d--])
    if (rows->shape[d] > 1 && a->stride[d] != next)
      return false;
  return a->step == 1;
}

static bool begins_aligned(const array *a) {
  return (uintptr_t)a->data % 16 == 0;
}

/* Rows are neighbours element by element and begin on multiples of 16 bytes. */
static bool rows_aligned(const array *a, const rs_rows *rows, const rowscan_spec *spec) {
  int64_t all = (int64_t)(uintptr_t)a->data;
  if (spec->flags & ROWSCAN_REVERSE) /* tiles count from the end of the row */
    all += spec->length * a->bytes;
  for (int d = 0; d < rows->rank; d++)
    if (rows->shape[d] > 1)
      all |= a->stride[d] * a->bytes;
  return a->step == 1 && all % 16 == 0;
}

static bool takes_array(const rs_shape *shape, const array *a, const rs_rows *rows, const rowscan_spec *spec) {
  switch (shape->made_of) {
  case RS_TEMPLATE_RING_ANY:
  case RS_TEMPLATE_STREAM_ANY:
    return a->step == 1;
  case RS_TEMPLATE_SLAB:
    return dense(a, rows, spec) && (shape->word == 1 || begins_aligned(a));
  default:
    return rows_aligned(a, rows, spec);
  }
}

/* Whether a kernel that is not for any strides takes these rows. */
static bool takes(const rs_shape *shape, const rs_rows *rows, const rowscan_spec *spec) {
  array arrays[MOST_ARRAYS];
  int count = arrays_of(rows, spec, arrays);
  for (int i = 0; i < count; i++) {
    if (!takes_array(shape, &arrays[i], rows, spec))
      return false;
  }
  return true;
}

static int64_t ceiling(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static int64_t tiles_of_row(const rs_program *program, const rs_shape *shape) {
  return ceiling(program->spec.length, rs_tile(shape));
}

/* Blocks that take rows in groups of threads. */
static int64_t groups_blocks(const rs_shape *shape, int64_t rows) {
  return ceiling(rows, shape->threads / (shape->warps * shape->lanes));
}

static bool few(const rs_program *program, const rs_shape *shape, int64_t rows) {
  int64_t most = rs_tune_few_blocks(shape, program->gpu->device.multiprocessors);
  return shape->made_of == RS_TEMPLATE_ROWS ? groups_blocks(shape, rows) <= most
                                            : rows <= most / tiles_of_row(program, shape);
}

static rs_kernel column_kernel(rs_columns_kernel kernel) {
  static const rs_kernel kernels[] = {[RS_COLUMNS_ANY] = RS_KERNEL_ANY,      [RS_COLUMNS_ASKEW] = RS_KERNEL_NEIGHBOURS,
                                      [RS_COLUMNS_STREAM] = RS_KERNEL_DENSE, [RS_COLUMNS_WIDE] = RS_KERNEL_ALIGNED,
                                      [RS_COLUMNS_SHORT] = RS_KERNEL_DENSE,  [RS_COLUMNS_AT_ONCE] = RS_KERNEL_AT_ONCE,
                                      [RS_COLUMNS_PAIRS] = RS_KERNEL_FEW};
  return kernels[kernel];
}

/* Of one regime: the last that takes these rows, from `few_rows` down to `any`, which takes all. */
static rs_kernel best(const rs_program *program, const rs_rows *rows, rs_kernel any, rs_kernel few_rows) {
  for (rs_kernel kernel = few_rows; kernel > any; kernel--) {
    const rs_shape *shape = &program->modules.geometry.shape[kernel];
    if (shape->made_of && (kernel != few_rows || few(program, shape, rows->count)) &&
        takes(shape, rows, &program->spec))
      return kernel;
  }
  return any;
}

rs_kernel rs_launch_kernel(const rs_program *program, const rs_rows *rows) {
  rowscan_regime regime = program->modules.geometry.regime;
  if (regime == ROWSCAN_REGIME_COLUMN)
    return column_kernel(rs_columns_chosen(&program->columns, rows));
  if (regime == ROWSCAN_REGIME_LONG || regime == ROWSCAN_REGIME_AUTO) {
    rs_kernel kernel = best(program, rows, RS_KERNEL_LONG_ANY, RS_KERNEL_LONG_FEW);
    if (regime == ROWSCAN_REGIME_LONG || rs_tune_long(&program->spec, &program->modules.geometry, kernel, rows->count,
                                                      program->gpu->device.multiprocessors))
      return kernel;
  }
  return best(program, rows, RS_KERNEL_ANY, RS_KERNEL_FEW);
}

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/*
 * Tiles that a launch takes, unless one row has more: 64 K of them are 2 GB of f32, and their nodes half a megabyte in
 * each of a plan's workspaces.
 */
static const int64_t MOST_TILES = 65536;

/* Blocks that stay, one a multiprocessor. */
static bool stays(const rs_shape *shape) {
  return shape->made_of == RS_TEMPLATE_STREAM || shape->made_of == RS_TEMPLATE_STREAM_ANY;
}

static bool cut_over_blocks(const rs_shape *shape) {
  return stays(shape) || shape->made_of == RS_TEMPLATE_TILES || shape->made_of == RS_TEMPLATE_AT_ONCE;
}

static int64_t rows_at_once(const rs_program *program, const rs_shape *shape) {
  int64_t rows = MOST_TILES / tiles_of_row(program, shape);
  return rows > 1 ? rows : 1;
}

/* Words from the state of the turns to the nodes. */
static int64_t state_words(const rs_shape *shape) {
  return shape->made_of == RS_TEMPLATE_AT_ONCE ? RS_AT_ONCE_STATE : 1;
}

/* As kernels/ahead.cuh lays it out: the state of the turns; nodes, each a word for 4 bytes of an accumulator. */
static int64_t ahead_bytes(const rs_program *program, const rs_shape *shape, int64_t rows) {
  int64_t words = rs_spec_register_bytes(&program->spec) / 4, nodes = 0;
  for (int64_t count = tiles_of_row(program, shape);; count = ceiling(count, 32)) {
    nodes += count;
    if (count <= 32)
      break;
  }
  return (state_words(shape) + rows * nodes * words) * 8;
}

size_t rs_launch_needs(const rs_program *program, rs_kernel kernel, int64_t rows) {
  const rs_shape *shape = &program->modules.geometry.shape[kernel];
  return (size_t)ahead_bytes(program, shape, lesser(rows, rows_at_once(program, shape)));
}

size_t rs_launch_workspace(const rs_program *program) {
  size_t most = 0;
  if (program->modules.geometry.regime == ROWSCAN_REGIME_COLUMN)
    return rs_columns_bound(&program->columns);
  for (int kernel = 0; kernel < RS_KERNELS; kernel++) {
    if (cut_over_blocks(&program->modules.geometry.shape[kernel])) {
      size_t bytes = rs_launch_needs(program, (rs_kernel)kernel, INT64_MAX);
      most = bytes > most ? bytes : most;
    }
  }
  return most;
}

/* whole: a run of regime column in one launch; NULL: in several, one after another in the same workspace. */
static size_t column_bytes(const rs_program *program, const rs_columns_launch *whole) {
  return whole ? whole->need.workspace : program->scratch;
}

size_t rs_launch_scratch(const rs_program *program, const rs_rows *rows) {
  if (program->modules.geometry.regime != ROWSCAN_REGIME_COLUMN) {
    rs_kernel kernel = rs_launch_kernel(program, rows);
    return cut_over_blocks(&program->modules.geometry.shape[kernel]) ? rs_launch_needs(program, kernel, rows->count)
                                                                     : 0;
  }
  rs_columns_launch launch = {.rows = rows, .kernel = rs_columns_best(&program->columns, rows)};
  return column_bytes(program, rs_columns_whole(&launch, &program->columns) ? &launch : NULL);
}

/* ---- queueing ---------------------------------------------------------------------------------------------------- */

/* A run of one kernel. */
typedef struct launching {
  rs_program *program;
  rs_kernel kernel;
  const rs_shape *shape;
  CUfunction function;
  const char *name;
  CUstream stream;
  packed arguments;
} launching;

/* Which is made ready if this is the first run that needs it. */
static rowscan_status choose(launching *run, rs_kernel kernel) {
  run->kernel = kernel;
  run->shape = &run->program->modules.geometry.shape[kernel];
  run->name = rs_kernel_symbol(kernel);
  return rs_modules_function(&run->program->modules, kernel, &run->function);
}

/*
 * A programmatic dependent launch: a kernel before it in the stream may still run, and await_dependencies() of
 * kernels/device.cuh waits for it. Measured on an H100, one after another in a graph, microseconds without and with: 1
 * x 1024 1.9, 1.5; 1 x 65536 3.4, 2.7; 1 x 2^20 6.7, 6.0; 8192 x 64 3.5, 2.9; 32768 x 129 along dimension 0 27.2, 26.2.
 */
static CUresult launch_overlapped(const launching *run, unsigned blocks, unsigned shared_bytes, void **parameters) {
  CUlaunchAttribute overlap = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
  overlap.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {blocks, 1, 1, (unsigned)run->shape->threads, 1, 1, shared_bytes, run->stream, &overlap, 1};
  return run->program->gpu->device.cuda->cuLaunchKernelEx(&config, run->function, parameters, NULL);
}

/* more: a second parameter, if the kernel has one. */
static rowscan_status queue_with(launching *run, int64_t blocks, int64_t shared_bytes, void *more) {
  const rs_device *device = &run->program->gpu->device;
  void *parameters[] = {&run->arguments, more};
  CUresult result =
      device->overlaps
          ? launch_overlapped(run, (unsigned)blocks, (unsigned)shared_bytes, parameters)
          : device->cuda->cuLaunchKernel(run->function, (unsigned)blocks, 1, 1, (unsigned)run->shape->threads, 1, 1,
                                         (unsigned)shared_bytes, run->stream, parameters, NULL);
  return result ? rs_cuda_failed(device->cuda, result, run->name) : ROWSCAN_OK;
}

static rowscan_status queue(launching *run, int64_t blocks) {
  return queue_with(run, blocks, run->shape->shared_bytes, NULL);
}

/* Blocks that one launch may have. A kernel that goes round for the rows that are left needs no more. */
enum { MOST_BLOCKS = INT32_MAX };

static rowscan_status launch_groups(launching *run) {
  return queue(run, lesser(groups_blocks(run->shape, run->arguments.count), MOST_BLOCKS));
}

/* Blocks that end when they have scanned their rows. */
static rowscan_status launch_once(launching *run, int64_t rows_of_block) {
  int64_t all = run->arguments.count, most = MOST_BLOCKS * rows_of_block;
  rowscan_status status = ROWSCAN_OK;
  for (int64_t first = 0; first < all && !status; first += most) {
    run->arguments.first = first;
    run->arguments.count = lesser(all - first, most);
    status = queue(run, ceiling(run->arguments.count, rows_of_block));
  }
  return status;
}

/* ---- rows cut over blocks ---------------------------------------------------------------------------------------- */

/* A workspace that holds anything must be cleared before each launch; a plan's own each leaves as the next needs it. */
static rowscan_status clear(launching *run, bool fresh, int64_t bytes) {
  const rs_cuda *cuda = run->program->gpu->device.cuda;
  if (!fresh || !bytes)
    return ROWSCAN_OK;
  CUresult result =
      cuda->cuMemsetD8Async((CUdeviceptr)(uintptr_t)run->arguments.workspace, 0, (size_t)bytes, run->stream);
  return result ? rs_cuda_failed(cuda, result, "clearing the caller's workspace") : ROWSCAN_OK;
}

static rowscan_status launch_ahead(launching *run, bool fresh) {
  int64_t all = run->arguments.count, at_once = rows_at_once(run->program, run->shape);
  int64_t row_tiles = tiles_of_row(run->program, run->shape);
  rowscan_status status = ROWSCAN_OK;
  for (int64_t first = 0; first < all && !status; first += at_once) {
    int64_t rows = lesser(all - first, at_once), blocks = rows * row_tiles;
    run->arguments.first = first;
    run->arguments.count = rows;
    if (stays(run->shape))
      blocks = lesser(blocks, run->program->gpu->device.multiprocessors);
    status = clear(run, fresh, ahead_bytes(run->program, run->shape, rows));
    if (!status)
      status = queue(run, blocks);
  }
  return status;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static rowscan_status launch_part(launching *run, rs_columns_launch *part, bool fresh) {
  rowscan_status status = choose(run, column_kernel(part->kernel));
  if (status)
    return status;
  pack(&run->arguments, part->rows);
  status = clear(run, fresh, (int64_t)part->need.workspace);
  return status ? status : queue_with(run, part->need.blocks, part->need.shared, &part->cut);
}

static rowscan_status launch_parts(launching *run, const rs_rows *rows, bool fresh) {
  rs_columns_parts parts;
  rs_columns_launch part;
  rs_columns_begin(&parts, &run->program->columns, rows);
  rowscan_status status = ROWSCAN_OK;
  while (!status && rs_columns_next(&parts, &part))
    status = launch_part(run, &part, fresh);
  return status;
}

/* ---- with a workspace -------------------------------------------------------------------------------------------- */

/* whole: regime column in one launch; NULL: in several, or another regime. */
static rowscan_status launch_with(launching *run, const rs_rows *rows, rs_columns_launch *whole, bool fresh) {
  if (run->program->modules.geometry.regime != ROWSCAN_REGIME_COLUMN)
    return launch_ahead(run, fresh);
  return whole ? launch_part(run, whole, fresh) : launch_parts(run, rows, fresh);
}

static size_t bytes_needed(const launching *run, const rs_columns_launch *whole) {
  const rs_program *program = run->program;
  return program->modules.geometry.regime == ROWSCAN_REGIME_COLUMN
             ? column_bytes(program, whole)
             : rs_launch_needs(program, run->kernel, run->arguments.count);
}

static rowscan_status with_workspace(launching *run, const rs_rows *rows, rs_columns_launch *whole, void *workspace,
                                     size_t bytes) {
  size_t needed = bytes_needed(run, whole);
  if (workspace) {
    if (bytes < needed)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'workspace_bytes': %zu; this run needs %zu", bytes, needed);
    if ((uintptr_t)workspace % 8)
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "args: field 'workspace': %p is not a multiple of 8", workspace);
    run->arguments.workspace = workspace;
    return launch_with(run, rows, whole, true);
  }
  if (!needed)
    return launch_with(run, rows, whole, false);
  rs_scratch own;
  rowscan_status status = rs_workspace_take(&run->program->workspaces, run->stream, needed, &own);
  if (status)
    return status;
  run->arguments.workspace = (void *)(uintptr_t)own.memory;
  status = launch_with(run, rows, whole, false);
  rowscan_status given = rs_workspace_give(&run->program->workspaces, &own, run->stream);
  return status ? status : given;
}

static rowscan_status launch(rs_program *program, const rs_rows *rows, void *workspace, size_t bytes, CUstream stream) {
  launching run; /* large: not to be cleared first */
  run.program = program;
  run.stream = stream;
  run.arguments.workspace = NULL;
  if (program->modules.geometry.regime == ROWSCAN_REGIME_COLUMN) {
    rs_columns_launch whole;
    bool one = rs_columns_recall(&program->cuts, &whole, &program->columns, rows);
    return with_workspace(&run, rows, one ? &whole : NULL, workspace, bytes);
  }
  rowscan_status status = choose(&run, rs_launch_kernel(program, rows));
  if (status)
    return status;
  pack(&run.arguments, rows);
  switch (run.shape->made_of) {
  case RS_TEMPLATE_SLAB:
    return launch_once(&run, run.shape->rows);
  case RS_TEMPLATE_RING:
  case RS_TEMPLATE_RING_ANY:
  case RS_TEMPLATE_GATHER:
    return launch_once(&run, 1);
  case RS_TEMPLATE_TILES:
  case RS_TEMPLATE_STREAM:
  case RS_TEMPLATE_STREAM_ANY:
  case RS_TEMPLATE_AT_ONCE:
    return with_workspace(&run, rows, NULL, workspace, bytes);
  default:
    return launch_groups(&run);
  }
}

rowscan_status rs_launch(rs_program *program, const rs_rows *rows, void *workspace, size_t workspace_bytes,
                         CUstream stream) {
  if (!rs_rows_any(rows, program->spec.length))
    return ROWSCAN_OK;
  bool pushed;
  rowscan_status status = rs_device_enter(&program->gpu->device, &pushed);
  if (status)
    return status;
  status = launch(program, rows, workspace, workspace_bytes, stream);
  rs_device_leave(&program->gpu->device, pushed);
  return status;
}
