/*
 * carry.c - one scan in chunks, each by a call of its own, with the bits of a single call
 * SPDX-License-Identifier: MIT
 *
 * A chunk is the next shard of a fold (shard.h), but for operators of numbers on a GPU, whose chunks wait for nothing.
 * Of these: after k elements a row's state is that of a binary counter: for each bit of k the total of the aligned
 * block that it stands for, and the prefix through that block. A chunk is taken in pieces that are aligned blocks of
 * the whole row. A piece is scanned twice: for its total, which the counter needs, and from the prefix before it, for
 * its results. Where the piece completes a larger block, the prefix after it is another grouping than the prefix before
 * it combined with its total, and its last inclusive result is taken from the counter. All of this is scans, of one
 * element where two values are combined.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/ints.h"
#include "base/status.h"
#include "context.h"
#include "shard.h"
#include "spec/rows.h"
#include "spec/types.h"

enum { LEVELS = 57, MOST_RANK = RS_MAX_ROW_RANK + 1 };

/* Of all rows, in the memory that the engine works in. */
typedef struct block {
  void *memory;
  size_t bytes;
} block;

struct rowscan_carry {
  rowscan_context *context;
  int64_t count; /* elements of each row so far */
  bool broken;   /* a chunk failed while it was scanned */
  bool begun;    /* a chunk has said what is scanned, which is what follows */
  rowscan_problem form;
  int64_t shape[MOST_RANK]; /* of one element a row */
  rowscan_spec spec;        /* but for its length, and how rows lie */
  size_t state_bytes;       /* of a block of the state */
  bool has_init;
  block init, fresh, scratch;          /* `fresh`: the total of the piece at hand */
  block total[LEVELS], prefix[LEVELS]; /* by the bits of count */
  CUevent done;                        /* recorded after the last chunk; NULL: none yet */
  rs_fold fold;                        /* or all before the next chunk */
};

static bool on_host(const rowscan_carry *carry) {
  return carry->context->engine == ROWSCAN_ENGINE_HOST;
}

/* Whether chunks are shards of a fold. On a GPU those are of which a number is not all that a total is. */
static bool by_fold(const rowscan_carry *carry, const rowscan_spec *spec) {
  return on_host(carry) || rs_spec_has_further(spec) || !rs_spec_keeps_totals(spec);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* So that memory is not given back under what is queued. */
static void wait(const rowscan_carry *carry) {
  if (carry->done)
    carry->context->gpu.device.cuda->cuEventSynchronize(carry->done);
}

/* These two: with the device's context current. */
static rowscan_status take(const rowscan_carry *carry, block *at, size_t bytes) {
  CUdeviceptr memory = 0;
  rowscan_status status = rs_device_memory_take(&carry->context->gpu.device.memory, bytes, "a carry", &memory);
  if (!status)
    *at = (block){(void *)(uintptr_t)memory, bytes};
  return status;
}

static void give_block(const rowscan_carry *carry, block *at) {
  if (at->memory) {
    wait(carry);
    rs_device_memory_give(&carry->context->gpu.device.memory, (CUdeviceptr)(uintptr_t)at->memory, at->bytes);
  }
  *at = (block){0};
}

/* So that the block has so many bytes at least; what it held is lost if it has not. */
static rowscan_status hold(const rowscan_carry *carry, block *at, size_t bytes) {
  if (at->bytes >= bytes)
    return ROWSCAN_OK;
  give_block(carry, at);
  return take(carry, at, bytes);
}

/* ---- values of all rows ------------------------------------------------------------------------------------------ */

/*
 * a o b for each row, or b where a is NULL. All are as totals are kept, which in fixed point are whole numbers that are
 * added as such.
 */
static rowscan_status combine(const rowscan_carry *carry, rowscan_output to, const void *a, rowscan_input b,
                              struct CUstream_st *stream) {
  rowscan_type kept = rs_kept_type(carry->spec.acc_type);
  to.type = b.type = kept;
  rowscan_problem one = {.size = sizeof one,
                         .op = carry->spec.op,
                         .rank = carry->form.rank,
                         .dim = carry->form.dim,
                         .shape = carry->shape,
                         .input = b,
                         .output = to,
                         .acc_type = kept,
                         .init = {.data = a}};
  return rowscan_scan(carry->context, &one, stream);
}

static rowscan_status combine_state(const rowscan_carry *carry, void *to, const void *a, const void *b,
                                    struct CUstream_st *stream) {
  rowscan_output dense = {.data = to};
  return combine(carry, dense, a, (rowscan_input){.data = b}, stream);
}

/* P(count) as a result, at `at` in the output: one exclusive step from there, whose element does not matter. */
static rowscan_status show(const rowscan_carry *carry, void *at, const int64_t *strides, const void *prefix,
                           struct CUstream_st *stream) {
  rowscan_type out = carry->spec.out_type;
  rowscan_problem one = {.size = sizeof one,
                         .op = carry->spec.op,
                         .flags = ROWSCAN_EXCLUSIVE,
                         .rank = carry->form.rank,
                         .dim = carry->form.dim,
                         .shape = carry->shape,
                         .input = {.data = at, .type = out, .strides = strides},
                         .output = {.data = at, .type = out, .strides = strides},
                         .acc_type = carry->spec.acc_type,
                         .init = {.data = prefix}};
  return rowscan_scan(carry->context, &one, stream);
}

/* P(count); NULL: nothing was counted, and there is no initial value. */
static const void *prefix_of(const rowscan_carry *carry, int64_t count) {
  const void *init = carry->has_init ? carry->init.memory : NULL;
  return count ? carry->prefix[__builtin_ctzll((unsigned long long)count)].memory : init;
}

/* Counts a piece of 2^level elements, whose total is `fresh`. */
static rowscan_status push(rowscan_carry *carry, int level, struct CUstream_st *stream) {
  int64_t after = carry->count + (INT64_C(1) << level);
  rowscan_status status = ROWSCAN_OK;
  for (; carry->count >> level & 1 && !status; level++)
    status = combine_state(carry, carry->fresh.memory, carry->total[level].memory, carry->fresh.memory, stream);
  if (!status)
    status = hold(carry, &carry->total[level], carry->state_bytes);
  if (!status)
    status = hold(carry, &carry->prefix[level], carry->state_bytes);
  if (!status)
    status = combine_state(carry, carry->total[level].memory, NULL, carry->fresh.memory, stream);
  if (!status)
    status = combine_state(carry, carry->prefix[level].memory, prefix_of(carry, after & (after - 1)),
                           carry->fresh.memory, stream);
  if (!status)
    carry->count = after;
  return status;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* A chunk, and the strides of its arrays, which a part of it has too. */
typedef struct chunk {
  rowscan_problem problem;
  int64_t length, outputs; /* of each row */
  int64_t in[MOST_RANK], out[MOST_RANK], mask[MOST_RANK];
  struct CUstream_st *stream;
} chunk;

static int64_t bytes_of(const int64_t *strides, int dim, int64_t index, rowscan_type type) {
  return index * strides[dim] * (int64_t)rowscan_type_bytes(type);
}

/* Elements begin .. begin + length of the scan, which goes backward through the memory of a reverse one. */
static rowscan_problem part_of(const rowscan_carry *carry, const chunk *all, int64_t begin, int64_t *shape) {
  rowscan_problem part = all->problem;
  int dim = part.dim;
  bool reverse = part.flags & ROWSCAN_REVERSE;
  int64_t index = reverse ? all->length - begin - shape[dim] : begin;
  int64_t shift = reverse ? 0 : all->outputs - all->length;
  part.shape = shape;
  part.flags &= ~ROWSCAN_INCLUDE_INITIAL;
  part.input.data = (const char *)part.input.data + bytes_of(all->in, dim, index, carry->spec.in_type);
  part.output.data = (char *)part.output.data + bytes_of(all->out, dim, index + shift, carry->spec.out_type);
  if (part.mask_mode)
    part.mask.data =
        (const char *)part.mask.data + bytes_of(all->mask, dim, index, part.mask.type ? part.mask.type : ROWSCAN_BOOL);
  part.init = (rowscan_input){0};
  part.totals = (rowscan_output){0};
  return part;
}

/* Leaves the total of a part in `fresh`. Results go where those that count come next, or if the input is there, aside.
 */
static rowscan_status sum_up(rowscan_carry *carry, const chunk *all, rowscan_problem part) {
  part.totals.data = carry->fresh.memory;
  if (part.output.data == part.input.data) {
    size_t bytes = rowscan_type_bytes(carry->spec.out_type);
    for (int d = 0; d < part.rank; d++)
      bytes *= (size_t)part.shape[d];
    rowscan_status status = hold(carry, &carry->scratch, bytes);
    if (status)
      return status;
    part.output = (rowscan_output){.data = carry->scratch.memory, .type = carry->spec.out_type};
  }
  return rowscan_scan(carry->context, &part, all->stream);
}

/* The last result of a part that completes a larger block. */
static rowscan_status put_last(const rowscan_carry *carry, const chunk *all, int64_t begin, int64_t length) {
  int64_t shape[MOST_RANK];
  memcpy(shape, carry->shape, sizeof shape);
  rowscan_problem last = part_of(carry, all, begin + length - 1, shape);
  return show(carry, last.output.data, all->out, prefix_of(carry, carry->count), all->stream);
}

static rowscan_status scan_piece(rowscan_carry *carry, const chunk *all, int64_t begin, int level) {
  int64_t shape[MOST_RANK], length = INT64_C(1) << level;
  memcpy(shape, carry->shape, sizeof shape);
  shape[all->problem.dim] = length;
  rowscan_problem part = part_of(carry, all, begin, shape);
  bool completes = carry->count >> level & 1;
  rowscan_status status = sum_up(carry, all, part);
  part.init.data = prefix_of(carry, carry->count);
  if (!status)
    status = rowscan_scan(carry->context, &part, all->stream);
  if (!status)
    status = push(carry, level, all->stream);
  if (!status && completes && !(part.flags & ROWSCAN_EXCLUSIVE))
    status = put_last(carry, all, begin, length);
  return status;
}

/* The largest aligned block that begins after `count` elements and has no more than `left`. */
static int level_of(int64_t count, int64_t left) {
  int most = 63 - __builtin_clzll((unsigned long long)left);
  int aligned = count ? __builtin_ctzll((unsigned long long)count) : most;
  return aligned < most ? aligned : most;
}

/* P(count) as it is before the chunk, which INCLUDE_INITIAL asks for. */
static rowscan_status put_initial(const rowscan_carry *carry, const chunk *all) {
  bool reverse = all->problem.flags & ROWSCAN_REVERSE;
  char *at = (char *)all->problem.output.data +
             bytes_of(all->out, all->problem.dim, reverse ? all->length : 0, carry->spec.out_type);
  return show(carry, at, all->out, prefix_of(carry, carry->count), all->stream);
}

/* P(count) after the chunk. */
static rowscan_status put_totals(const rowscan_carry *carry, const chunk *all) {
  const rowscan_output *totals = &all->problem.totals;
  const void *prefix = prefix_of(carry, carry->count);
  if (prefix)
    return combine(carry, *totals, NULL, (rowscan_input){.data = prefix}, all->stream);
  int64_t shape[MOST_RANK];
  memcpy(shape, carry->shape, sizeof shape);
  shape[all->problem.dim] = 0;
  rowscan_problem none = all->problem;
  none.flags &= ~ROWSCAN_INCLUDE_INITIAL;
  none.shape = shape;
  return rowscan_scan(carry->context, &none, all->stream);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* What the first chunk fixes of those that follow. */
static void set_form(rowscan_carry *carry, const chunk *all, const rowscan_spec *form) {
  carry->form = all->problem;
  memcpy(carry->shape, all->problem.shape, (size_t)all->problem.rank * sizeof *carry->shape);
  carry->shape[all->problem.dim] = 1;
  carry->spec = *form;
}

static rowscan_status differs(const char *field, long long is, long long was) {
  return rs_fail(ROWSCAN_BAD_ARGUMENT, "chunk: field '%s': %lld, but the first chunk's is %lld", field, is, was);
}

/* What chunks have in common: of a spec all but the length, and how the rows lie. */
static rowscan_spec shared(const rowscan_spec *spec) {
  rowscan_spec form = *spec;
  form.length = 0;
  form.layout = ROWSCAN_LAYOUT_ROWS;
  form.row_rank = 0;
  return form;
}

static rowscan_status check_same(const rowscan_carry *carry, const rowscan_problem *problem, const rowscan_spec *spec) {
  const rowscan_problem *form = &carry->form;
  const rowscan_spec is = shared(spec);
  rowscan_status status = rs_spec_same(&is, &carry->spec, "chunk", "the first chunk's");
  if (status)
    return status;
  if (problem->rank != form->rank)
    return differs("rank", problem->rank, form->rank);
  if (problem->dim != form->dim)
    return differs("dim", problem->dim, form->dim);
  for (int i = 0; i < RS_MOST_PARAMS; i++)
    if (problem->params[i] != form->params[i])
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "chunk: field 'params': element %d, %g, but the first chunk's is %g", i,
                     problem->params[i], form->params[i]);
  for (int d = 0; d < form->rank; d++)
    if (d != form->dim && problem->shape[d] != carry->shape[d])
      return rs_fail(ROWSCAN_BAD_ARGUMENT, "chunk: field 'shape': element %d, %lld, but the first chunk's is %lld", d,
                     (long long)problem->shape[d], (long long)carry->shape[d]);
  if (problem->init.data && problem->init.data != form->init.data)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "chunk: field 'init': %p, but only the first chunk accepts initial values",
                   problem->init.data);
  return ROWSCAN_OK;
}

/* What the first chunk fixes, its initial values included. */
static rowscan_status begin_carry(rowscan_carry *carry, const chunk *all, const rowscan_spec *spec, int64_t rows) {
  rowscan_spec form = shared(spec);
  set_form(carry, all, &form);
  carry->state_bytes = (size_t)rs_product(rs_larger(rows, 1), (int64_t)rowscan_type_bytes(spec->acc_type));
  rowscan_status status = hold(carry, &carry->fresh, carry->state_bytes);
  carry->has_init = all->problem.init.data != NULL;
  if (!status && carry->has_init) {
    status = hold(carry, &carry->init, carry->state_bytes);
    if (!status)
      status = combine(carry, (rowscan_output){.data = carry->init.memory}, NULL, carry->form.init, all->stream);
  }
  carry->begun = !status;
  return status;
}

static rowscan_status scan_chunk(rowscan_carry *carry, const chunk *all) {
  rowscan_status status = ROWSCAN_OK;
  if (all->problem.flags & ROWSCAN_INCLUDE_INITIAL)
    status = put_initial(carry, all);
  for (int64_t done = 0; done < all->length && !status;) {
    int level = level_of(carry->count, all->length - done);
    status = scan_piece(carry, all, done, level);
    done += INT64_C(1) << level;
  }
  if (!status && all->problem.totals.data)
    status = put_totals(carry, all);
  return status;
}

static rowscan_status work(rowscan_carry *carry, const chunk *all, const rowscan_spec *spec, int64_t rows) {
  rowscan_status status = carry->begun ? ROWSCAN_OK : begin_carry(carry, all, spec, rows);
  if (!status && rows)
    status = scan_chunk(carry, all);
  carry->broken = status != ROWSCAN_OK;
  return status;
}

/* ---- by a fold --------------------------------------------------------------------------------------------------- */

static rowscan_status begin_fold(rowscan_carry *carry, const chunk *all, const rs_shard *shard) {
  rowscan_spec form = shared(&shard->spec);
  void *inits;
  if (rs_op_of(form.op)->kind == RS_INDEX && form.flags & ROWSCAN_REVERSE) /* which count from the first element */
    return rs_fail(ROWSCAN_UNSUPPORTED, "chunk: field 'op': a carry does not support %s in reverse",
                   rowscan_op_name(form.op));
  set_form(carry, all, &form);
  rowscan_status status = rs_shard_inits(shard, &inits);
  if (!status)
    status = rs_fold_open(&carry->fold, &shard->spec, &shard->rows, all->length, 0);
  if (!status)
    status = rs_fold_start(&carry->fold, inits);
  free(inits);
  carry->begun = !status;
  return status;
}

/* A chunk is a shard that follows all before it. */
static rowscan_status fold_chunk(rowscan_carry *carry, const chunk *all) {
  rs_shard shard;
  rs_fold own = {.blocks = 0};
  rowscan_status status = rs_shard_read(&shard, carry->context, &all->problem, false, all->stream);
  if (status)
    return status;
  if (!carry->begun)
    status = begin_fold(carry, all, &shard);
  if (!status)
    status = rs_fold_open(&own, &shard.spec, &shard.rows, carry->count + all->length, carry->count);
  if (!status)
    status = rs_shard_total(&shard, &own);
  if (!status)
    status = rs_shard_ready(&shard, &own);
  if (!status)
    status = rs_shard_scan(&shard, &carry->fold, &own);
  if (!status)
    status = rs_shard_totals(&shard, &carry->fold);
  rs_fold_close(&own);
  carry->broken = status != ROWSCAN_OK;
  carry->count += status ? 0 : all->length;
  return status;
}

/* ---- on a GPU ---------------------------------------------------------------------------------------------------- */

static rowscan_status record(rowscan_carry *carry, struct CUstream_st *stream) {
  const rs_cuda *cuda = carry->context->gpu.device.cuda;
  CUresult result = carry->done ? CUDA_SUCCESS : cuda->cuEventCreate(&carry->done, CU_EVENT_DISABLE_TIMING);
  if (!result)
    result = cuda->cuEventRecord(carry->done, stream);
  return result ? rs_cuda_failed(cuda, result, "recording an event after a chunk") : ROWSCAN_OK;
}

static rowscan_status on_device(rowscan_carry *carry, const chunk *all, const rowscan_spec *spec, int64_t rows) {
  const rs_device *device = &carry->context->gpu.device;
  bool pushed;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  int mode = rs_cuda_relax(device->cuda);
  status = work(carry, all, spec, rows);
  rowscan_status recorded = record(carry, all->stream);
  rs_cuda_restore(device->cuda, mode);
  rs_device_leave(device, pushed);
  return status ? status : recorded;
}

static rowscan_status check_capture(const rowscan_carry *carry, struct CUstream_st *stream) {
  const rs_cuda *cuda = carry->context->gpu.device.cuda;
  int captured = CU_STREAM_CAPTURE_STATUS_NONE;
  unsigned long long id;
  if (on_host(carry))
    return ROWSCAN_OK;
  CUresult result = cuda->cuStreamGetCaptureInfo(stream, &captured, &id);
  if (result)
    return rs_cuda_failed(cuda, result, "cuStreamGetCaptureInfo");
  return captured == CU_STREAM_CAPTURE_STATUS_NONE
             ? ROWSCAN_OK
             : rs_fail(ROWSCAN_UNSUPPORTED,
                       "a carry cannot be captured in a graph: each of its chunks does different work");
}

rowscan_status rowscan_carry_scan(rowscan_carry *carry, const rowscan_problem *given, struct CUstream_st *stream) {
  RS_UNCANCELLED;
  chunk all = {.stream = stream};
  rowscan_spec spec;
  rs_rows rows;
  rowscan_problem *problem = &all.problem;
  rowscan_status status = rs_problem_read(problem, given);
  if (!status)
    status = rs_rows_from_problem(&rows, &spec, problem);
  if (!status && on_host(carry))
    status = rs_context_check_host(carry->context, &spec, &rows, stream);
  if (status)
    return status;
  if (problem->dim < 0)
    problem->dim += problem->rank;
  all.length = problem->shape[problem->dim];
  all.outputs = all.length + (problem->flags & ROWSCAN_INCLUDE_INITIAL ? 1 : 0);
  rs_problem_strides(all.in, problem->input.strides, problem, all.length);
  rs_problem_strides(all.out, problem->output.strides, problem, all.outputs);
  rs_problem_strides(all.mask, problem->mask.strides, problem, all.length);
  if (carry->broken)
    status =
        rs_fail(ROWSCAN_BAD_ARGUMENT, "carry: an earlier chunk failed; reset the carry and start with the first chunk");
  if (!status && carry->begun)
    status = check_same(carry, problem, &spec);
  if (!status && all.length > (INT64_C(1) << 56) - carry->count)
    status = rs_fail(ROWSCAN_BAD_ARGUMENT, "chunk: field 'shape': %lld elements after %lld exceed 2^56",
                     (long long)all.length, (long long)carry->count);
  if (!status)
    status = check_capture(carry, stream);
  if (status)
    return status;
  problem->input.strides = all.in;
  problem->output.strides = all.out;
  problem->mask.strides = all.mask;
  return by_fold(carry, &spec) ? fold_chunk(carry, &all) : on_device(carry, &all, &spec, rows.count);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

rowscan_status rowscan_carry_create(rowscan_carry **carry, rowscan_context *context) {
  RS_UNCANCELLED;
  rowscan_carry *made = calloc(1, sizeof *made);
  if (!made)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a carry");
  made->context = context;
  *carry = made;
  return ROWSCAN_OK;
}

void rowscan_carry_reset(rowscan_carry *carry) {
  rs_fold_close(&carry->fold);
  carry->count = 0;
  carry->begun = carry->broken = false;
}

static void give_all(rowscan_carry *carry) {
  give_block(carry, &carry->init);
  give_block(carry, &carry->fresh);
  give_block(carry, &carry->scratch);
  for (int level = 0; level < LEVELS; level++) {
    give_block(carry, &carry->total[level]);
    give_block(carry, &carry->prefix[level]);
  }
}

static void give_device(rowscan_carry *carry) {
  const rs_device *device = &carry->context->gpu.device;
  bool pushed;
  if (rs_device_enter(device, &pushed))
    return;
  int mode = rs_cuda_relax(device->cuda);
  give_all(carry);
  if (carry->done)
    device->cuda->cuEventDestroy_v2(carry->done);
  rs_cuda_restore(device->cuda, mode);
  rs_device_leave(device, pushed);
}

void rowscan_carry_destroy(rowscan_carry *carry) {
  RS_UNCANCELLED;
  if (!carry || rs_context_inherited(carry->context))
    return;
  rs_fold_close(&carry->fold);
  if (!on_host(carry))
    give_device(carry);
  free(carry);
}
