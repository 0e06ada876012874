/*
 * stage_gpu.c - arrays in host memory through the GPU, in pieces
 * SPDX-License-Identifier: MIT
 *
 * A piece is some whole rows or, where one row is larger than a piece may be, one block of it. Pieces go round a ring
 * of slots, each with a stream of its own and with memory on both sides: while the GPU copies and scans some, the CPU
 * packs the next into pinned memory and spreads the results of an earlier one. Of several GPUs each has every n-th
 * slot.
 *
 * Blocks are aligned blocks of the order in rowscan.h, M elements each, a power of two; only the last of a row may be
 * shorter. A run without an initial value gives the total T of a block. Once that is here, the prefix P(kM) before the
 * block is known from a binary counter of totals, and a second run on what already is on the GPU starts from it. For
 * j < M that makes every P(kM + j) right, whose blocks are those of kM and then those of j. P(kM + M) is another
 * matter: M may end a larger block. It is taken from the counter, as the block's last element and as the total of a row
 * of whole blocks.
 */
#include <string.h>

#include "base/ints.h"
#include "base/status.h"
#include "host/host.h"
#include "spec/types.h"
#include "stage.h"
#include "stage_copy.h"
#include "stage_slots.h"

/*
 * Not measured: 16 MB each way take some 300 us on the fastest PCIe so far, launches and waits some 10. Larger ones
 * would cost more to pin than they gain. Jobs smaller than PIECES full pieces have smaller ones, or nothing would
 * overlap.
 */
enum {
  SLOTS = RS_SLOTS,
  MOST_SLOT = 32 << 20, /* bytes of a slot on the GPU */
  LEAST_SLOT = 1 << 20,
  PIECES = 8,
  LEAST_BLOCK = 16,       /* elements, however little memory the caller allows */
  MOST_THREADS = 8,       /* that copy: more do not copy faster */
  THREAD_BYTES = 4 << 20, /* of a job, for each of them: less is not worth waking one */
  ALIGN = 256,            /* of arrays in a slot */
};

/* ---- the prefixes of a row that comes in blocks of one power of two ---------------------------------------------- */

enum { BLOCK_LEVELS = 63 };

/* One element of the accumulator type, in the first bytes. */
typedef union value {
  char bytes[8];
  uint64_t aligned;
} value;

/* A binary counter: after k blocks, total[b] belongs to the block of 2^b blocks that bit b of k stands for. */
typedef struct blocks {
  const rowscan_spec *spec;
  int64_t count;
  bool has_init;
  value init;
  value total[BLOCK_LEVELS];
} blocks;

static value read_value(const rowscan_spec *spec, const void *from) {
  value read = {.aligned = 0};
  memcpy(read.bytes, from, rowscan_type_bytes(spec->acc_type));
  return read;
}

/* Begins a row. init: NULL for none. */
static void blocks_start(blocks *blocks, const rowscan_spec *spec, const void *init) {
  blocks->spec = spec;
  blocks->count = 0;
  blocks->has_init = init;
  if (init)
    blocks->init = read_value(spec, init);
}

/* The prefix of the blocks so far. False: it is the one of no elements and of no initial value. */
static bool blocks_prefix(const blocks *blocks, value *prefix) {
  bool some = blocks->has_init;
  if (some)
    *prefix = blocks->init;
  for (int b = BLOCK_LEVELS - 1; b >= 0; b--) {
    if (!(blocks->count >> b & 1))
      continue;
    if (some)
      rs_host_combine(blocks->spec, prefix, prefix, &blocks->total[b]);
    else
      *prefix = blocks->total[b];
    some = true;
  }
  return some;
}

/* Adds the total of the next block. */
static void blocks_push(blocks *blocks, const void *total) {
  value sum = read_value(blocks->spec, total);
  int b = 0;
  for (; blocks->count >> b & 1; b++)
    rs_host_combine(blocks->spec, &sum, &blocks->total[b], &sum);
  blocks->total[b] = sum;
  blocks->count++;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Where the arrays of a piece lie: first what goes to the GPU, `up` bytes, then what comes back, `down` bytes. */
typedef struct places {
  int64_t init, in, mask, up;
  int64_t totals, out, down;   /* offsets in the part that comes back */
  int64_t further[RS_FURTHER]; /* of further arrays, in either */
} places;

typedef struct piece {
  rs_section part;
  bool first, last; /* block of its row */
  places at;
} piece;

/* A GPU that pieces are dealt to. */
typedef struct site {
  rowscan_context *context;
  rs_slots *slots;
  rs_table_node *plan[2]; /* of whole blocks, and of the last, shorter one; NULL: there are none of these */
} site;

/* In pinned memory what comes back takes the place of what went out, which by then has arrived. */
typedef struct slot {
  rs_slot own; /* of the set that the ring has taken */
  site *on;
  piece piece;
  value after; /* of a whole block: the prefix through it */
} slot;

typedef struct ring {
  rowscan_context *context;
  const rs_cuda *cuda;
  rowscan_spec spec; /* of the device, but for the length */
  const rs_rows *rows;
  rs_strided in, out, mask, init, totals;
  int64_t in_bytes, out_bytes, mask_bytes, acc_bytes;
  rs_strided further[RS_FURTHER];      /* of 0 bytes where there is none */
  bool has_mask, has_init, has_totals; /* on the device */

  bool cut;       /* rows are cut in blocks */
  int64_t length; /* of a row */
  int64_t block;  /* elements of a block; of a row if not cut */
  int64_t blocks; /* of a row */
  int64_t rows_a_piece;
  int64_t pieces;

  rs_pool *pool;  /* of the context: */
  int threads;    /* so many of them copy */
  blocks counter; /* of the row whose blocks are scanned */
  int sites, slots;
  site site[RS_MOST_GPUS];
  slot slot[SLOTS * RS_MOST_GPUS];
} ring;

/* ---- how it is cut ----------------------------------------------------------------------------------------------- */

static int64_t place(int64_t *end, int64_t bytes) {
  int64_t at = *end;
  *end += rs_ceiling(bytes, ALIGN) * ALIGN;
  return at;
}

/* Of further arrays, whether it is one that comes back. */
static bool comes_back(int further) {
  return RS_ARRAYS + further == RS_SECOND;
}

static places places_of(const ring *r, const rs_section *part) {
  places at = {0};
  int64_t elements = part->rows * part->elements;
  at.init = place(&at.up, r->has_init ? part->rows * r->acc_bytes : 0);
  at.in = place(&at.up, elements * r->in_bytes);
  at.mask = place(&at.up, elements * r->mask_bytes);
  at.totals = place(&at.down, r->has_totals ? part->rows * r->acc_bytes : 0);
  at.out = place(&at.down, elements * r->out_bytes);
  for (int f = 0; f < RS_FURTHER; f++)
    at.further[f] = place(comes_back(f) ? &at.down : &at.up, elements * r->further[f].bytes);
  return at;
}

static piece piece_at(const ring *r, int64_t number) {
  piece p = {.first = true, .last = true};
  if (r->cut) {
    int64_t block = number % r->blocks, begin = block * r->block, elements = rs_smaller(r->block, r->length - begin);
    bool reverse = r->spec.flags & ROWSCAN_REVERSE;
    p.part = (rs_section){number / r->blocks, 1, reverse ? r->length - begin - elements : begin, elements};
    p.first = block == 0;
    p.last = block == r->blocks - 1;
  } else {
    int64_t row = number * r->rows_a_piece;
    p.part = (rs_section){row, rs_smaller(r->rows_a_piece, r->rows->count - row), 0, r->length};
  }
  p.at = places_of(r, &p.part);
  return p;
}

/* Of one GPU. */
static rowscan_status memory_allowed(const ring *r, const site *on, int64_t *bytes) {
  size_t allowed = r->context->staging_bytes;
  if (!allowed && on->context->gpu.device.memory.allocate)
    allowed = SLOTS * (size_t)MOST_SLOT; /* what a pool has left, the driver can't tell */
  if (!allowed) {
    size_t all;
    CUresult result = r->cuda->cuMemGetInfo_v2(&allowed, &all);
    if (result)
      return rs_cuda_failed(r->cuda, result, "cuMemGetInfo_v2");
    allowed = (allowed + (size_t)rs_slots_bytes(on->slots)) / 4;
  }
  *bytes = allowed < SLOTS * (size_t)MOST_SLOT ? (int64_t)allowed : SLOTS * (int64_t)MOST_SLOT;
  return ROWSCAN_OK;
}

static void choose_pieces(ring *r, int64_t allowed) {
  const int64_t around = RS_ALL_ARRAYS * ALIGN; /* lost between the arrays, at most */
  int64_t count = r->rows->count, element = r->in_bytes + r->mask_bytes + r->out_bytes;
  for (int f = 0; f < RS_FURTHER; f++)
    element += r->further[f].bytes;
  int64_t row = r->length * element + 2 * r->acc_bytes, slot_bytes = allowed / SLOTS - around;
  int64_t wanted = rs_smaller(rs_larger(rs_ceiling(count * row, PIECES * r->sites), LEAST_SLOT), slot_bytes);
  r->cut = row > slot_bytes;
  r->block = r->length;
  r->rows_a_piece = rs_larger(rs_smaller(wanted / row, count), 1);
  if (r->cut) {
    r->block = LEAST_BLOCK;
    while (2 * r->block * element + 2 * r->acc_bytes <= wanted)
      r->block *= 2;
    r->rows_a_piece = 1;
    r->has_init = r->has_totals = true; /* where prefixes go in and totals come out */
  }
  r->blocks = rs_ceiling(r->length, r->block);
  r->pieces = r->cut ? count * r->blocks : rs_ceiling(count, r->rows_a_piece);
}

/* Those of a piece, in memory at `device`. */
static rs_rows rows_of(const ring *r, const piece *p, CUdeviceptr device, bool init, bool totals) {
  const places *at = &p->at;
  const rs_section *part = &p->part;
  char *up = (char *)(uintptr_t)device, *down = up + at->up;
  const int64_t elements = part->elements;
  rs_rows rows = {.array = {[RS_IN] = {up + at->in, r->in_bytes, 1, {elements}},
                            [RS_OUT] = {down + at->out, r->out_bytes, 1, {elements}},
                            [RS_MASK] = {r->has_mask ? up + at->mask : NULL,
                                         r->mask_bytes,
                                         r->has_mask,
                                         {r->has_mask ? elements : 0}},
                            [RS_INIT] = {init ? up + at->init : NULL, r->acc_bytes, 0, {1}},
                            [RS_TOTALS] = {totals ? down + at->totals : NULL, r->acc_bytes, 0, {1}}},
                  .length = part->elements,
                  .count = part->rows,
                  .rank = 1,
                  .shape = {part->rows},
                  .further = r->rows->further};
  for (int f = 0; f < RS_FURTHER && rows.further; f++)
    if (r->further[f].bytes)
      rows.array[RS_ARRAYS + f] =
          (rs_operand){(comes_back(f) ? down : up) + at->further[f], r->further[f].bytes, 1, {elements}};
  if (rows.further)
    memcpy(rows.params, r->rows->params, sizeof rows.params);
  return rows;
}

static rs_table_node **plan_of(const ring *r, site *on, const piece *p) {
  return &on->plan[p->part.elements != r->block];
}

/* The kernels for a piece and all like it, before anything is done: wherever it will lie, that begins on ALIGN bytes.
 */
static rowscan_status make_plan(ring *r, site *on, int64_t number) {
  piece p = piece_at(r, number);
  rs_rows rows = rows_of(r, &p, ALIGN, r->has_init, r->has_totals);
  rs_table_node **plan = plan_of(r, on, &p);
  r->spec.length = p.part.elements;
  rowscan_status status =
      *plan ? ROWSCAN_OK : rs_table_take(&on->context->programs, &on->context->gpu, &r->spec, &rows, plan);
  return status ? status : rs_program_prepare(rs_table_program(*plan), &rows, 1);
}

/* After all that they queued is done. */
static void give_plans(site *on) {
  for (int i = 0; i < 2; i++)
    if (on->plan[i])
      rs_table_give(&on->context->programs, on->plan[i]);
}

/* ---- memory and streams ------------------------------------------------------------------------------------------ */

/* All pieces are like the first, but for the last, or the last of a row. */
static rowscan_status make_plans(ring *r, site *on) {
  rowscan_status status = make_plan(r, on, 0);
  return status ? status : make_plan(r, on, r->pieces - 1);
}

/* The slots of a GPU, each of which has work. */
static rowscan_status open_slots(ring *r, site *on, int64_t allowed) {
  const places at = piece_at(r, 0).at; /* no later piece is larger */
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0, at_ring = (int)(on - r->site); i < SLOTS && at_ring < r->pieces && !status;
       i++, at_ring += r->sites) {
    status = rs_slot_ready(&on->context->slots, &on->context->gpu.device.memory, &on->slots->slot[i], at.up + at.down,
                           rs_larger(at.up, at.down), allowed / SLOTS);
    r->slot[at_ring].own = on->slots->slot[i];
    r->slot[at_ring].on = on;
  }
  return status;
}

static rowscan_status to_device(const ring *r, const slot *s, int64_t offset, int64_t bytes) {
  CUresult result = r->cuda->cuMemcpyHtoDAsync_v2(s->own.device + (CUdeviceptr)offset, s->own.pinned + offset,
                                                  (size_t)bytes, s->own.stream);
  return result ? rs_cuda_failed(r->cuda, result, "cuMemcpyHtoDAsync_v2") : ROWSCAN_OK;
}

static rowscan_status from_device(const ring *r, const slot *s, int64_t offset, int64_t bytes) {
  CUresult result = r->cuda->cuMemcpyDtoHAsync_v2(
      s->own.pinned + offset, s->own.device + (CUdeviceptr)(s->piece.at.up + offset), (size_t)bytes, s->own.stream);
  return result ? rs_cuda_failed(r->cuda, result, "cuMemcpyDtoHAsync_v2") : ROWSCAN_OK;
}

static rowscan_status await(const ring *r, const slot *s) {
  CUresult result = r->cuda->cuStreamSynchronize(s->own.stream);
  return result ? rs_cuda_failed(r->cuda, result, "cuStreamSynchronize") : ROWSCAN_OK;
}

/* ---- a piece ----------------------------------------------------------------------------------------------------- */

/* A block that has a prefix after it in the counter. */
static bool whole_block(const ring *r, const slot *s) {
  return r->cut && s->piece.part.elements == r->block;
}

static rowscan_status scan(ring *r, const slot *s, bool init, bool totals) {
  rs_rows rows = rows_of(r, &s->piece, s->own.device, init, totals);
  return rs_launch(rs_table_program(*plan_of(r, s->on, &s->piece)), &rows, NULL, 0, s->own.stream);
}

/* Packs a piece and sends it off; of a whole block, asks for the total. */
static rowscan_status begin_piece(ring *r, slot *s, int64_t number) {
  s->piece = piece_at(r, number);
  const piece *p = &s->piece;
  rs_gather_rows(r->pool, r->threads, s->own.pinned + p->at.in, &r->in, &p->part);
  if (r->has_mask)
    rs_gather_rows(r->pool, r->threads, s->own.pinned + p->at.mask, &r->mask, &p->part);
  if (r->has_init && !r->cut)
    rs_gather_rows(r->pool, r->threads, s->own.pinned + p->at.init, &r->init,
                   &(rs_section){p->part.row, p->part.rows, 0, 1});
  for (int f = 0; f < RS_FURTHER; f++)
    if (r->further[f].bytes && !comes_back(f))
      rs_gather_rows(r->pool, r->threads, s->own.pinned + p->at.further[f], &r->further[f], &p->part);
  int64_t skipped = r->cut ? p->at.in : 0; /* the prefix comes later */
  rowscan_status status = to_device(r, s, skipped, p->at.up - skipped);
  if (status || !whole_block(r, s))
    return status;
  status = scan(r, s, false, true);
  return status ? status : from_device(r, s, p->at.totals, r->acc_bytes);
}

static void start_row(ring *r, const slot *s) {
  value init;
  if (r->rows->array[RS_INIT].data)
    rs_gather_rows(r->pool, r->threads, &init, &r->init, &(rs_section){s->piece.part.row, 1, 0, 1});
  blocks_start(&r->counter, &r->spec, r->rows->array[RS_INIT].data ? &init : NULL);
}

/* Takes the total of a whole block. */
static rowscan_status count_block(ring *r, slot *s) {
  rowscan_status status = await(r, s);
  if (status)
    return status;
  blocks_push(&r->counter, s->own.pinned + s->piece.at.totals);
  blocks_prefix(&r->counter, &s->after);
  return ROWSCAN_OK;
}

/* The next block of a row: sends the prefix before it, if there is one, and counts it. */
static rowscan_status send_prefix(ring *r, slot *s, bool *some) {
  value before;
  if (s->piece.first)
    start_row(r, s);
  *some = blocks_prefix(&r->counter, &before);
  rowscan_status status = whole_block(r, s) ? count_block(r, s) : ROWSCAN_OK;
  if (status || !*some)
    return status;
  memcpy(s->own.pinned + s->piece.at.init, &before, (size_t)r->acc_bytes);
  return to_device(r, s, s->piece.at.init, r->acc_bytes);
}

/* Scans a piece and calls it back. */
static rowscan_status go_on(ring *r, slot *s) {
  bool init = r->has_init, totals = r->has_totals;
  if (r->cut) {
    rowscan_status status = send_prefix(r, s, &init);
    if (status)
      return status;
    totals = !whole_block(r, s);
  }
  rowscan_status status = scan(r, s, init, totals);
  int64_t skipped = r->cut && !totals ? s->piece.at.out : 0;
  return status ? status : from_device(r, s, skipped, s->piece.at.down - skipped);
}

/* Rounds a prefix to the output type: it is what an exclusive scan of one element shows. */
static void show_prefix(const ring *r, const value *prefix, void *out) {
  value unused = {.aligned = 0};
  rowscan_spec spec = r->spec;
  spec.length = 1;
  spec.flags = ROWSCAN_EXCLUSIVE;
  spec.mask_mode = ROWSCAN_MASK_NONE;
  spec.mask_type = ROWSCAN_TYPE_DEFAULT;
  rs_rows rows = {.array = {[RS_IN] = {&unused, r->out_bytes, 1, {0}},
                            [RS_OUT] = {out, r->out_bytes, 1, {0}},
                            [RS_INIT] = {(void *)prefix, r->acc_bytes, 0, {0}}},
                  .count = 1,
                  .rank = 1,
                  .shape = {1}};
  rs_host_run(r->context->host, &spec, &rows);
}

/* The prefix through a whole block, where it belongs. */
static void put_prefix(const ring *r, const slot *s) {
  int64_t last = r->spec.flags & ROWSCAN_REVERSE ? 0 : s->piece.part.elements - 1;
  if (!(r->spec.flags & ROWSCAN_EXCLUSIVE))
    show_prefix(r, &s->after, s->own.pinned + s->piece.at.out + last * r->out_bytes);
  memcpy(s->own.pinned + s->piece.at.totals, &s->after, (size_t)r->acc_bytes);
}

/* Spreads the results of a piece. */
static rowscan_status end(const ring *r, const slot *s, rs_progress *progress) {
  const piece *p = &s->piece;
  rowscan_status status = await(r, s);
  if (status)
    return status;
  if (whole_block(r, s))
    put_prefix(r, s);
  rs_scatter_rows(r->pool, r->threads, &r->out, s->own.pinned + p->at.out, &p->part);
  for (int f = 0; f < RS_FURTHER; f++)
    if (r->further[f].bytes && comes_back(f))
      rs_scatter_rows(r->pool, r->threads, &r->further[f], s->own.pinned + p->at.further[f], &p->part);
  if (r->rows->array[RS_TOTALS].data && p->last)
    rs_scatter_rows(r->pool, r->threads, &r->totals, s->own.pinned + p->at.totals,
                    &(rs_section){p->part.row, p->part.rows, 0, 1});
  rs_progress_add(progress, p->part.rows * p->part.elements);
  return ROWSCAN_OK;
}

/* ---- all pieces -------------------------------------------------------------------------------------------------- */

/* Of a GPU, with its context current; the first one's is anyway. */
typedef rowscan_status visit(ring *r, site *on, void *user);

static rowscan_status at_site(ring *r, site *on, visit *what, void *user) {
  bool pushed;
  const rs_device *device = &on->context->gpu.device;
  if (r->sites == 1)
    return what(r, on, user);
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  status = what(r, on, user);
  rs_device_leave(device, pushed);
  return status;
}

static rowscan_status at_all(ring *r, visit *what, void *user) {
  rowscan_status status = ROWSCAN_OK;
  for (int i = 0; i < r->sites && !status; i++)
    status = at_site(r, &r->site[i], what, user);
  return status;
}

/* What becomes of piece number i, one after another: it ends the one before it in its slot, is begun, and goes on. */
typedef struct turn {
  int64_t number;
  rs_progress *progress;
} turn;

static slot *slot_of(ring *r, int64_t number) {
  return &r->slot[number % r->slots];
}

static rowscan_status end_then_begin(ring *r, site *on, void *user) {
  const turn *t = user;
  rowscan_status status = t->number >= r->slots ? end(r, slot_of(r, t->number), t->progress) : ROWSCAN_OK;
  (void)on;
  return status || t->number >= r->pieces ? status : begin_piece(r, slot_of(r, t->number), t->number);
}

static rowscan_status go_on_with(ring *r, site *on, void *user) {
  const turn *t = user;
  (void)on;
  return go_on(r, slot_of(r, t->number));
}

/* A block goes on only after the next of all GPUs were sent off, so that the wait for its total costs nothing. */
static rowscan_status go_round(ring *r, rs_progress *progress) {
  int64_t lag = r->cut ? r->sites : 0;
  rowscan_status status = ROWSCAN_OK;
  for (int64_t i = 0; i < r->pieces + r->slots && !status; i++) {
    turn now = {i, progress}, before = {i - lag, progress};
    status = at_site(r, &r->site[i % r->sites], end_then_begin, &now);
    if (!status && i >= lag && i - lag < r->pieces)
      status = at_site(r, &r->site[(i - lag) % r->sites], go_on_with, &before);
  }
  return status;
}

static void describe(ring *r, rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows) {
  *r =
      (ring){.context = context, .cuda = context->gpu.device.cuda, .spec = *spec, .rows = rows, .length = spec->length};
  r->spec.layout = ROWSCAN_LAYOUT_ROWS;
  r->spec.row_rank = 1;
  r->in = rs_strided_of(rows, RS_IN, spec->length);
  r->out = rs_strided_of(rows, RS_OUT, spec->length);
  r->mask = rs_strided_of(rows, RS_MASK, spec->length);
  r->init = rs_strided_of(rows, RS_INIT, spec->length);
  r->totals = rs_strided_of(rows, RS_TOTALS, spec->length);
  for (int f = 0; f < RS_FURTHER && rows->further; f++)
    if (rows->array[RS_ARRAYS + f].data)
      r->further[f] = rs_strided_of(rows, (rs_which)(RS_ARRAYS + f), spec->length);
  r->in_bytes = r->in.bytes;
  r->out_bytes = r->out.bytes;
  r->mask_bytes = r->mask.bytes;
  r->acc_bytes = (int64_t)rowscan_type_bytes(spec->acc_type);
  r->has_mask = spec->mask_mode != ROWSCAN_MASK_NONE;
  r->has_init = rows->array[RS_INIT].data;
  r->has_totals = rows->array[RS_TOTALS].data;
  r->pool = rs_host_pool(context->host);
  r->site[0].context = context;
  for (int i = 0; i < context->further_count; i++)
    r->site[i + 1].context = context->further[i];
  r->sites = 1 + context->further_count;
  r->slots = SLOTS * r->sites;
}

static rowscan_status take_slots(ring *r, site *on, void *user) {
  int64_t *least = user, allowed = 0;
  on->slots = rs_slots_take(&on->context->slots);
  if (!on->slots)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for the streams of a scan of host memory");
  rowscan_status status = memory_allowed(r, on, &allowed);
  *least = rs_smaller(*least, allowed);
  return status;
}

static rowscan_status open_site(ring *r, site *on, void *user) {
  const int64_t *allowed = user;
  rowscan_status status = make_plans(r, on);
  return status ? status : open_slots(r, on, *allowed);
}

static rowscan_status run_in_slots(ring *r, rs_progress *progress) {
  int64_t allowed = INT64_MAX;
  rowscan_status status = at_all(r, take_slots, &allowed);
  if (status)
    return status;
  choose_pieces(r, allowed);
  if (r->cut && !rs_spec_keeps_totals(&r->spec)) /* blocks' totals would have to come down whole */
    return rs_fail(ROWSCAN_UNSUPPORTED, "problem: rows of %lld elements in host memory are too long for %s%s on a GPU",
                   (long long)r->length, rowscan_op_name(r->spec.op), rs_spec_segments(&r->spec) ? " in segments" : "");
  const places at = piece_at(r, 0).at;
  r->threads = (int)rs_larger(rs_smaller(MOST_THREADS, rs_product(r->pieces, at.up + at.down) / THREAD_BYTES), 1);
  status = at_all(r, open_site, &allowed);
  return status ? status : go_round(r, progress);
}

/* whole: nothing has failed; else copies may be under way. Also where its context can't be made current. */
static rowscan_status close_site(site *on, bool whole) {
  bool pushed;
  const rs_device *device = &on->context->gpu.device;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (on->slots)
    rs_slots_give(&on->context->slots, &device->memory, on->slots, whole && !status);
  give_plans(on);
  rs_device_leave(device, pushed);
  return status;
}

static rowscan_status run_ring(ring *r, rs_progress *progress) {
  rowscan_status status = run_in_slots(r, progress);
  bool whole = !status;
  for (int i = 0; i < r->sites; i++) {
    rowscan_status closed = close_site(&r->site[i], whole);
    status = status ? status : closed;
  }
  return status;
}

rowscan_status rs_stage_gpu(rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                            rs_progress *progress) {
  ring r;
  bool pushed;
  describe(&r, context, spec, rows);
  rowscan_status status = rs_device_enter(&context->gpu.device, &pushed);
  if (status)
    return status;
  int mode = rs_cuda_relax(r.cuda);
  status = run_ring(&r, progress);
  rs_cuda_restore(r.cuda, mode);
  rs_device_leave(&context->gpu.device, pushed);
  return status;
}
