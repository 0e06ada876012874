/*
 * shard_gpu.c - the part of a row's elements that one call has, in memory of a GPU
 * SPDX-License-Identifier: MIT
 *
 * Kernels read blocks for their totals, and scan them from the prefixes before them. What joins totals is the fold, on
 * the host: so a call waits for the GPU once before the totals are known, and once when its memory is given back.
 *
 * A block is cut further into rows of 2^k elements, each of which a block of threads, or a thread, has for itself.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/status.h"
#include "context.h"
#include "family/tune.h"
#include "shard_part.h"
#include "shard_states.h"
#include "spec/types.h"

/* Memory of the GPU, of one call. */
typedef struct memory {
  CUdeviceptr at;
  size_t bytes;
  rs_spare block; /* that it begins */
} memory;

static rs_device *device_of(const rs_shard *part) {
  return &part->context->gpu.device;
}

static rowscan_status take_memory(const rs_shard *part, memory *taken, int64_t bytes) {
  *taken = (memory){.bytes = (size_t)rs_larger(bytes, 1)};
  rowscan_status status = rs_spares_take(&part->context->spares, &device_of(part)->memory, (int64_t)taken->bytes,
                                         "parts of rows", &taken->block);
  taken->at = taken->block.at;
  return status;
}

static rowscan_status finish(const rs_shard *part) {
  const rs_cuda *cuda = device_of(part)->cuda;
  CUresult result = cuda->cuStreamSynchronize(part->stream);
  return result ? rs_cuda_failed(cuda, result, "cuStreamSynchronize") : ROWSCAN_OK;
}

/* Waits for all work, and returns `status`, or else how that ended. */
static rowscan_status give_memory(const rs_shard *part, const memory *taken, rowscan_status status) {
  rowscan_status finished = taken->at ? finish(part) : ROWSCAN_OK;
  if (taken->at && !finished)
    rs_spares_give(&part->context->spares, &device_of(part)->memory, taken->block);
  return status ? status : finished;
}

static rowscan_status to_gpu(const rs_shard *part, const memory *to, const void *from) {
  const rs_cuda *cuda = device_of(part)->cuda;
  CUresult result = cuda->cuMemcpyHtoDAsync_v2(to->at, from, to->bytes, part->stream);
  return result ? rs_cuda_failed(cuda, result, "cuMemcpyHtoDAsync_v2") : ROWSCAN_OK;
}

static rowscan_status to_host(const rs_shard *part, void *to, const memory *from) {
  const rs_cuda *cuda = device_of(part)->cuda;
  CUresult result = cuda->cuMemcpyDtoHAsync_v2(to, from->at, from->bytes, part->stream);
  return result ? rs_cuda_failed(cuda, result, "cuMemcpyDtoHAsync_v2") : finish(part);
}

static rowscan_status run(const rs_shard *part, const rowscan_spec *spec, const rs_rows *rows) {
  rowscan_context *context = part->context;
  return rs_table_run(&context->programs, &context->gpu, spec, rows, NULL, 0, part->stream);
}

/* ---- what is served ---------------------------------------------------------------------------------------------- */

static rowscan_status check_part(const rs_shard *part) {
  const rs_cuda *cuda = device_of(part)->cuda;
  int capturing;
  unsigned long long id;
  CUresult result = cuda->cuStreamGetCaptureInfo(part->stream, &capturing, &id);
  if (result)
    return rs_cuda_failed(cuda, result, "cuStreamGetCaptureInfo");
  if (capturing != CU_STREAM_CAPTURE_STATUS_NONE)
    return rs_fail(ROWSCAN_UNSUPPORTED, "stream: it is being captured, and calls about parts of rows wait for it");
  if (part->rows.rank == RS_MAX_ROW_RANK) /* parts are rows of one dimension more */
    return rs_fail(ROWSCAN_UNSUPPORTED, "field 'rank': parts of rows of %d dimensions are not supported on GPUs",
                   part->rows.rank);
  if (part->rows.further && part->rows.initial) /* the result before a part has the weight of another's element */
    return rs_fail(ROWSCAN_UNSUPPORTED, "field 'flags': INCLUDE_INITIAL: parts of rows with further arrays do not "
                                        "support it on GPUs");
  return rs_kernel_states_check(&part->spec);
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

/* A copy of the flag or key of element `at` of each row, by a scan of one element. */
static void mark_rows(const rs_shard *part, int64_t at, const memory *to, rowscan_spec *spec, rs_rows *rows) {
  rowscan_spec element;
  rs_shard_block(part, at, 1, &element, rows);
  rowscan_type type = element.mask_type,
               acc = rs_type_kind(type) == RS_FLOAT && rowscan_type_bytes(type) == 2 ? ROWSCAN_F32 : type;
  *spec = (rowscan_spec){.size = sizeof *spec,
                         .op = ROWSCAN_MAX,
                         .in_type = type,
                         .out_type = type,
                         .acc_type = acc,
                         .length = 1,
                         .layout = ROWSCAN_LAYOUT_ROWS,
                         .row_rank = rows->rank};
  rows->array[RS_IN] = rows->array[RS_MASK];
  rows->array[RS_OUT] = rows->array[RS_TOTALS];
  rows->array[RS_OUT].data = (void *)(uintptr_t)to->at;
  rows->array[RS_OUT].bytes = (int64_t)rowscan_type_bytes(type);
  rows->array[RS_MASK].data = rows->array[RS_TOTALS].data = NULL;
}

/* The marks of element `at` of each row, which the host tells from copies of them. */
static rowscan_status read_marks_at(const rs_shard *part, const rs_run *op, int64_t at, uint64_t *marks) {
  rowscan_spec spec;
  rs_rows rows;
  memory on_gpu = {0};
  int64_t bytes = rs_product(part->rows.count, rs_spec_mask_bytes(&part->spec));
  char *copies = malloc((size_t)rs_larger(bytes, 1));
  rowscan_status status = copies ? take_memory(part, &on_gpu, bytes) : rs_fold_no_memory(bytes);
  if (!status) {
    mark_rows(part, at, &on_gpu, &spec, &rows);
    status = run(part, &spec, &rows);
  }
  if (!status)
    status = to_host(part, copies, &on_gpu);
  if (!status) {
    rows = part->rows;
    rows.array[RS_MASK] = rows.array[RS_TOTALS];
    rows.array[RS_MASK].data = copies;
    rows.array[RS_MASK].bytes = rs_spec_mask_bytes(&part->spec);
    rs_state_marks(op, &rows, marks);
  }
  status = give_memory(part, &on_gpu, status);
  free(copies);
  return status;
}

/* ---- totals ------------------------------------------------------------------------------------------------------ */

/* Neighbouring blocks of the part that one launch cuts to rows of 2^k elements, and where the totals of these rows go,
 * among those of all. */
typedef struct piece {
  int64_t at, elements, first; /* element of the part; state */
  int lowest, k;               /* of its smallest block */
} piece;

static bool are_neighbours(const rs_shard *part) {
  bool all = true;
  for (int a = 0; a < RS_ELEMENTS; a++)
    all = all && (a == RS_OUT || !part->rows.array[a].data || part->rows.array[a].step == 1);
  return all;
}

enum { LEAST = 5 }; /* of a thread's rows, where there are larger blocks */

/* The smallest rows of the kernel that blocks of a level have. */
static int least_of(const rs_shard *part, int level) {
  int least = are_neighbours(part) ? rs_tune_totals_least(&part->spec) : LEAST;
  return level >= least ? least : level >= LEAST ? LEAST : 0;
}

/* Few rows are cut further, so that there is work for all multiprocessors. */
static int cut_of(const rs_shard *part, const piece *one) {
  enum { BLOCKS = 4, THREADS = 1024 }; /* of a multiprocessor */
  int least = least_of(part, one->lowest);
  bool blocks = are_neighbours(part) && least > LEAST;
  int k = (int)rs_smaller(one->lowest, blocks ? RS_TOTALS_OF_BLOCKS : RS_TOTALS_OF_THREADS);
  int64_t wanted = (int64_t)(blocks ? BLOCKS : THREADS) * device_of(part)->multiprocessors;
  while (k > least && least && rs_product(part->rows.count, one->elements >> k) < wanted)
    k--;
  return k;
}

/* Whether the next block goes with a piece: a launch takes as long as some totals more. */
static bool goes_with(const rs_shard *part, const piece *one, int level) {
  enum { MOST_TOTALS = 1024 };
  int64_t elements = one->elements + (INT64_C(1) << level);
  return least_of(part, one->lowest) == least_of(part, level) &&
         rs_product(part->rows.count, elements >> rs_smaller(one->lowest, level)) <= MOST_TOTALS;
}

/* The blocks from the fold's end on. Returns how many states there are of each row. */
static int64_t pieces_of(const rs_shard *part, const rs_fold *fold, piece *pieces, int *count) {
  int64_t states = 0, end = fold->end + part->elements;
  *count = 0;
  for (int64_t at = fold->end; at < end;) {
    int level = rs_fold_level(at, end);
    if (!*count || !goes_with(part, &pieces[*count - 1], level))
      pieces[(*count)++] = (piece){.at = at - fold->end, .lowest = level};
    piece *last = &pieces[*count - 1];
    last->elements += INT64_C(1) << level;
    last->lowest = (int)rs_smaller(last->lowest, level);
    at += INT64_C(1) << level;
  }
  for (int i = 0; i < *count; i++) {
    pieces[i].k = cut_of(part, &pieces[i]);
    pieces[i].first = states;
    states += pieces[i].elements >> pieces[i].k;
  }
  return states;
}

/* Makes rows of the 2^k elements that are next to one another in rows; the first ones in the order of the scan first.
 */
static void cut_rows(rs_rows *rows, int k, int64_t parts, bool reverse, int64_t state_bytes) {
  int64_t count = rows->count;
  for (int a = 0; a < RS_ARRAYS; a++) {
    memmove(rows->array[a].stride + 1, rows->array[a].stride, (size_t)rows->rank * sizeof *rows->array[a].stride);
    rows->array[a].stride[0] = a < RS_ELEMENTS ? rows->array[a].step * (INT64_C(1) << k) : 0;
  }
  memmove(rows->shape + 1, rows->shape, (size_t)rows->rank * sizeof *rows->shape);
  rows->rank++;
  rows->shape[0] = parts;
  rows->count *= parts;
  rows->length = INT64_C(1) << k;
  rows->array[RS_TOTALS].stride[0] = reverse ? -count : count;
  if (reverse)
    rows->array[RS_TOTALS].data = (char *)rows->array[RS_TOTALS].data + (parts - 1) * count * state_bytes;
}

static rowscan_status total_piece(const rs_shard *part, const rs_fold *fold, const piece *one, const memory *states) {
  rowscan_spec spec;
  rs_rows rows;
  rs_shard_block(part, one->at, one->elements, &spec, &rows);
  rows.array[RS_OUT].data = NULL;
  rows.array[RS_TOTALS].bytes = rs_kernel_state_bytes(&part->spec);
  rows.array[RS_TOTALS].data =
      (char *)(uintptr_t)states->at + one->first * fold->rows * rs_kernel_state_bytes(&part->spec);
  cut_rows(&rows, one->k, one->elements >> one->k, spec.flags & ROWSCAN_REVERSE, rs_kernel_state_bytes(&part->spec));
  spec.flags = (spec.flags & ~(unsigned)ROWSCAN_EXCLUSIVE) | ROWSCAN_PART_TOTALS | rs_kernel_states_flag(&spec);
  spec.length = RS_ANY_LENGTH;
  spec.layout = ROWSCAN_LAYOUT_ROWS;
  spec.row_rank = rows.rank;
  return run(part, &spec, &rows);
}

/* The fold takes the next block, whose rows have these totals. */
static rowscan_status push_rows(rs_fold *fold, int level, char *states, int64_t parts) {
  int64_t bytes = fold->rows * fold->bytes;
  char *total = malloc((size_t)rs_larger(bytes, 1));
  if (!total)
    return rs_fold_no_memory(bytes);
  rs_state_join_all(fold->op, states, parts, fold->rows);
  memcpy(total, states, (size_t)bytes);
  return rs_fold_push(fold, level, total);
}

static rowscan_status push_piece(rs_fold *fold, const piece *one, char *states) {
  rowscan_status status = ROWSCAN_OK;
  int64_t begin = fold->end, end = begin + one->elements;
  while (fold->end < end && !status) {
    int level = rs_fold_level(fold->end, end);
    int64_t first = one->first + ((fold->end - begin) >> one->k);
    status = push_rows(fold, level, states + first * fold->rows * fold->bytes, INT64_C(1) << (level - one->k));
  }
  return status;
}

/* Launches kernels, waits for them, and has their states in `kept`. */
static rowscan_status read_totals(const rs_shard *part, const rs_fold *fold, const piece *pieces, int count,
                                  const memory *on_gpu, char *kept) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < count && !status; i++)
    status = total_piece(part, fold, &pieces[i], on_gpu);
  return status ? status : to_host(part, kept, on_gpu);
}

static rowscan_status total_part(const rs_shard *given, rs_fold *fold) {
  piece pieces[RS_FOLD_BLOCKS];
  memory on_gpu = {0};
  int count;
  const rs_shard plain = rs_shard_plain(given), *part = &plain;
  int64_t blocks = pieces_of(part, fold, pieces, &count), all = rs_product(blocks, fold->rows);
  int64_t bytes = rs_product(all, fold->bytes), kept_bytes = rs_product(all, rs_kernel_state_bytes(&part->spec));
  if (!count)
    return ROWSCAN_OK;
  char *states = malloc((size_t)rs_larger(bytes, 1)), *kept = malloc((size_t)rs_larger(kept_bytes, 1));
  rowscan_status status = states && kept ? take_memory(part, &on_gpu, kept_bytes) : rs_fold_no_memory(bytes);
  if (!status && fold->rows)
    status = read_totals(part, fold, pieces, count, &on_gpu, kept);
  if (!status)
    rs_kernel_states_read(fold->op, &part->spec, states, kept, blocks, fold->rows);
  for (int i = 0; i < count && !status; i++)
    status = push_piece(fold, &pieces[i], states);
  if (!status && fold->first && fold->rows)
    status = read_marks_at(part, fold->op, 0, fold->first);
  if (!status && fold->first && fold->rows)
    status = read_marks_at(part, fold->op, part->elements - 1, fold->last);
  status = give_memory(part, &on_gpu, status);
  free(states);
  free(kept);
  return status;
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

/* What the blocks of a part start from (states; of scans with further arrays numbers), and show last: of each block and
 * row. */
typedef struct starts {
  char *state, *shown;
  memory states, numbers;
  int64_t state_bytes, shown_bytes; /* of a block */
  bool none;                        /* the first block has none: folds of indices always have one */
} starts;

static int64_t start_bytes(const rs_shard *part) {
  return part->rows.further ? rs_shard_number_bytes(part) : rs_kernel_state_bytes(&part->spec);
}

/* The prefix after a block is another grouping than that before it combined with its total. */
static bool regroups(const rs_fold_block *block) {
  return block->begin >> block->level & 1;
}

/* Marks of the elements before block i of the part; NULL: there are none. */
static rowscan_status marks_before(const rs_shard *part, const rs_fold *before, const rs_fold *own, int i,
                                   uint64_t *room, const uint64_t **marks) {
  *marks = NULL;
  if (!own->first || !own->rows)
    return ROWSCAN_OK;
  if (i == 0) {
    *marks = before->end > before->begin ? before->last : NULL;
    return ROWSCAN_OK;
  }
  *marks = room;
  return read_marks_at(part, own->op, own->block[i].begin - own->begin - 1, room);
}

/* What block i needs, before it is appended to all before it. */
static rowscan_status fill_start_of(const rs_shard *part, const rs_fold *before, const rs_fold *own, int i,
                                    const starts *all) {
  const uint64_t *marks = NULL;
  if (part->rows.further) {
    rs_shard_show(part, before, all->state + i * all->state_bytes);
    return ROWSCAN_OK;
  }
  uint64_t *room = malloc((size_t)rs_larger(own->rows, 1) * sizeof *room);
  rowscan_status status = room ? marks_before(part, before, own, i, room, &marks) : rs_fold_no_memory(own->rows);
  if (!status && rs_fold_prefix(before))
    rs_kernel_states_write(before->op, &part->spec, all->state + i * all->state_bytes, rs_fold_prefix(before), marks,
                           before->rows);
  free(room);
  return status;
}

/* Appends the part's blocks to all before it, one by one, and keeps what each of them needs. */
static rowscan_status fill_starts(const rs_shard *part, rs_fold *before, const rs_fold *own, starts *all) {
  rowscan_status status = ROWSCAN_OK;
  all->none = !before->blocks && !before->starts && rs_op_of(part->spec.op)->kind != RS_INDEX;
  for (int i = 0; i < own->blocks && !status; i++) {
    status = fill_start_of(part, before, own, i, all);
    if (!status)
      status = rs_shard_append(before, own, i);
    if (!status && regroups(&own->block[i]))
      rs_shard_show(part, before, all->shown + i * all->shown_bytes);
  }
  return status;
}

static rowscan_status open_starts(const rs_shard *part, const rs_fold *own, starts *all) {
  int64_t number = rs_shard_number_bytes(part);
  all->state_bytes = rs_product(own->rows, start_bytes(part));
  all->shown_bytes = rs_product(own->rows, number);
  int64_t states = rs_product(all->state_bytes, own->blocks), shown = rs_product(all->shown_bytes, own->blocks);
  all->state = calloc(1, (size_t)rs_larger(states, 1));
  all->shown = calloc(1, (size_t)rs_larger(shown, 1));
  if (!all->state || !all->shown)
    return rs_fold_no_memory(states);
  rowscan_status status = take_memory(part, &all->states, states);
  return status ? status : take_memory(part, &all->numbers, shown);
}

/* What is done with a launch: run() or make_ready(). */
typedef rowscan_status launcher(const rs_shard *part, const rowscan_spec *spec, const rs_rows *rows);

static rowscan_status make_ready(const rs_shard *part, const rowscan_spec *spec, const rs_rows *rows) {
  rowscan_context *context = part->context;
  return rs_table_ready(&context->programs, &context->gpu, spec, rows);
}

/* The largest blocks have kernels of their length, all others those for any: there may be one for each power of two. */
static void settle_length(const rs_fold *own, const rs_fold_block *block, rowscan_spec *spec, rs_rows *rows) {
  int largest = 0;
  for (int i = 0; i < own->blocks; i++)
    largest = own->block[i].level > largest ? own->block[i].level : largest;
  rows->length = INT64_C(1) << block->level;
  if (block->level < largest)
    spec->length = RS_ANY_LENGTH;
}

static void *address_in(const memory *block, int64_t offset) {
  return block->at ? (char *)(uintptr_t)block->at + offset : NULL;
}

/* A block's scan, and what writes its last result, where that comes from the fold. */
static rowscan_status launch_block(const rs_shard *part, const rs_fold *own, int i, const starts *all,
                                   launcher *launch) {
  const rs_fold_block *block = &own->block[i];
  int64_t at = block->begin - own->begin, elements = INT64_C(1) << block->level;
  rowscan_spec spec;
  rs_rows rows;
  rs_shard_block(part, at, elements, &spec, &rows);
  rows.array[RS_INIT] = rows.array[RS_TOTALS];
  rows.array[RS_INIT].bytes = start_bytes(part);
  rows.array[RS_INIT].data = i || !all->none ? address_in(&all->states, i * all->state_bytes) : NULL;
  rows.array[RS_TOTALS].data = NULL;
  spec.flags |= rows.further ? 0 : rs_kernel_states_flag(&spec);
  settle_length(own, block, &spec, &rows);
  rowscan_status status = launch(part, &spec, &rows);
  if (status || spec.flags & ROWSCAN_EXCLUSIVE || !regroups(block))
    return status;
  void *numbers = address_in(&all->numbers, i * all->shown_bytes);
  if (part->rows.further)
    rs_shard_last_rows(part, at + elements, numbers, &spec, &rows);
  else
    rs_shard_prefix_rows(part, at + elements, false, numbers, &spec, &rows);
  return launch(part, &spec, &rows);
}

static rowscan_status launch_blocks(const rs_shard *part, const rs_fold *own, const starts *all, launcher *launch) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < own->blocks && own->rows && !status; i++)
    status = launch_block(part, own, i, all, launch);
  return status;
}

/* The prefixes before the part, which INCLUDE_INITIAL asks for. */
static rowscan_status write_before(const rs_shard *part, const rs_fold *before) {
  rowscan_spec spec;
  rs_rows rows;
  memory numbers = {0};
  bool none = !before->blocks && !before->starts;
  int64_t bytes = rs_product(before->rows, rs_shard_number_bytes(part));
  if (!part->rows.initial || !before->rows)
    return ROWSCAN_OK;
  char *shown = malloc((size_t)rs_larger(bytes, 1));
  rowscan_status status = shown ? take_memory(part, &numbers, bytes) : rs_fold_no_memory(bytes);
  if (!status) {
    rs_shard_show(part, before, shown);
    status = to_gpu(part, &numbers, shown);
  }
  if (!status) {
    rs_shard_prefix_rows(part, 0, none, (void *)(uintptr_t)numbers.at, &spec, &rows);
    status = run(part, &spec, &rows);
  }
  status = give_memory(part, &numbers, status);
  free(shown);
  return status;
}

static rowscan_status scan_part(const rs_shard *part, rs_fold *before, const rs_fold *own) {
  starts all = {.state = NULL};
  rowscan_status status = write_before(part, before);
  if (status || !own->blocks)
    return status;
  status = open_starts(part, own, &all);
  if (!status)
    status = fill_starts(part, before, own, &all);
  if (!status)
    status = to_gpu(part, &all.states, all.state);
  if (!status)
    status = to_gpu(part, &all.numbers, all.shown);
  if (!status)
    status = launch_blocks(part, own, &all, run);
  status = give_memory(part, &all.states, status);
  status = give_memory(part, &all.numbers, status);
  free(all.state);
  free(all.shown);
  return status;
}

/* ---- numbers of rows, in C order --------------------------------------------------------------------------------- */

/* Copies one number of each row, of the accumulator's type as it is kept, by a scan of one element. shape: room. */
static rowscan_problem copy_of_numbers(const rs_shard *part, rowscan_input from, rowscan_output to, int64_t *shape) {
  const rowscan_problem *problem = part->problem;
  bool of_numbers = rs_op_is_of_numbers(rs_op_of(problem->op));
  memcpy(shape, problem->shape, (size_t)problem->rank * sizeof *shape);
  shape[problem->dim < 0 ? problem->dim + problem->rank : problem->dim] = 1;
  from.type = to.type = rs_kept_type(part->spec.acc_type);
  return (rowscan_problem){.size = sizeof(rowscan_problem),
                           .op = of_numbers ? problem->op : ROWSCAN_SUM,
                           .rank = problem->rank,
                           .dim = problem->dim,
                           .shape = shape,
                           .input = from,
                           .output = to,
                           .acc_type = from.type};
}

static rowscan_status copy_numbers(const rs_shard *part, rowscan_input from, rowscan_output to) {
  int64_t shape[RS_MAX_ROW_RANK + 1];
  rowscan_problem copy = copy_of_numbers(part, from, to, shape);
  return rowscan_scan(part->context, &copy, part->stream);
}

/* All that is launched after the first result is written. */
static rowscan_status make_part_ready(const rs_shard *part, const rs_fold *own) {
  const starts none = {.none = true};
  int64_t shape[RS_MAX_ROW_RANK + 1];
  rowscan_spec spec;
  rs_rows rows;
  rowscan_status status = launch_blocks(part, own, &none, make_ready);
  if (!status && part->rows.initial && own->rows) {
    rs_shard_prefix_rows(part, 0, false, NULL, &spec, &rows);
    status = make_ready(part, &spec, &rows);
  }
  if (status || !part->problem->totals.data || !own->rows)
    return status;
  rowscan_input from = {.data = part->problem->totals.data}; /* dense memory, in its place */
  rowscan_problem copy = copy_of_numbers(part, from, part->problem->totals, shape);
  return rowscan_prepare(part->context, &copy);
}

static rowscan_status fetch_inits(const rs_shard *part, void *inits) {
  memory dense = {0};
  int64_t bytes = rs_product(part->rows.count, rs_shard_number_bytes(part));
  if (!part->rows.count)
    return ROWSCAN_OK;
  rowscan_status status = take_memory(part, &dense, bytes);
  if (!status)
    status = copy_numbers(part, part->problem->init, (rowscan_output){.data = (void *)(uintptr_t)dense.at});
  if (!status)
    status = to_host(part, inits, &dense);
  return give_memory(part, &dense, status);
}

static rowscan_status send_totals(const rs_shard *part, const void *numbers) {
  memory dense = {0};
  int64_t bytes = rs_product(part->rows.count, rs_shard_number_bytes(part));
  if (!part->rows.count)
    return ROWSCAN_OK;
  rowscan_status status = take_memory(part, &dense, bytes);
  if (!status)
    status = to_gpu(part, &dense, numbers);
  if (!status)
    status = copy_numbers(part, (rowscan_input){.data = (const void *)(uintptr_t)dense.at}, part->problem->totals);
  return give_memory(part, &dense, status);
}

/* ---- with the device's context current --------------------------------------------------------------------------- */

#define CURRENT(part, call)                                                                                            \
  bool pushed;                                                                                                         \
  rowscan_status status = rs_device_enter(device_of(part), &pushed);                                                   \
  if (status)                                                                                                          \
    return status;                                                                                                     \
  int mode = rs_cuda_relax(device_of(part)->cuda);                                                                     \
  status = call;                                                                                                       \
  rs_cuda_restore(device_of(part)->cuda, mode);                                                                        \
  rs_device_leave(device_of(part), pushed);                                                                            \
  return status

rowscan_status rs_shard_gpu_check(const rs_shard *part) {
  CURRENT(part, check_part(part));
}

rowscan_status rs_shard_gpu_total(const rs_shard *part, rs_fold *fold) {
  CURRENT(part, total_part(part, fold));
}

rowscan_status rs_shard_gpu_scan(const rs_shard *part, rs_fold *before, const rs_fold *own) {
  CURRENT(part, scan_part(part, before, own));
}

rowscan_status rs_shard_gpu_inits(const rs_shard *part, void *inits) {
  CURRENT(part, fetch_inits(part, inits));
}

rowscan_status rs_shard_gpu_totals(const rs_shard *part, const void *numbers) {
  CURRENT(part, send_totals(part, numbers));
}

rowscan_status rs_shard_gpu_ready(const rs_shard *part, const rs_fold *own) {
  CURRENT(part, make_part_ready(part, own));
}
