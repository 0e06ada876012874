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
  int64_t up, down;
  int64_t at[RS_ALL_ARRAYS]; /* offset in either */
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
  rs_strided array[RS_ALL_ARRAYS]; /* of 0 bytes where there is none on the device */
  bool pinned[RS_ALL_ARRAYS], any_pinned;

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

static bool comes_back(int a) {
  return a == RS_TOTALS || rs_is_output((rs_which)a);
}

static bool is_one_a_row(int a) {
  return a == RS_INIT || a == RS_TOTALS;
}

/* A piece's elements of an array. */
static rs_section section_of(const rs_section *part, int a) {
  return is_one_a_row(a) ? (rs_section){part->row, part->rows, 0, 1} : *part;
}

static int64_t piece_bytes(const ring *r, const rs_section *part, int a) {
  return part->rows * section_of(part, a).elements * r->array[a].bytes;
}

/* Initial values and totals come first. */
static places places_of(const ring *r, const rs_section *part) {
  places p = {0};
  p.at[RS_INIT] = place(&p.up, piece_bytes(r, part, RS_INIT));
  p.at[RS_TOTALS] = place(&p.down, piece_bytes(r, part, RS_TOTALS));
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    if (!is_one_a_row(a))
      p.at[a] = place(comes_back(a) ? &p.down : &p.up, piece_bytes(r, part, a));
  return p;
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
  int64_t count = r->rows->count, element = 0, number = (int64_t)rowscan_type_bytes(r->spec.acc_type);
  for (int a = 0; a < RS_ALL_ARRAYS; a++)
    element += is_one_a_row(a) ? 0 : r->array[a].bytes;
  int64_t row = r->length * element + 2 * number, slot_bytes = allowed / SLOTS - around;
  int64_t wanted = rs_smaller(rs_larger(rs_ceiling(count * row, PIECES * r->sites), LEAST_SLOT), slot_bytes);
  r->cut = row > slot_bytes;
  r->block = r->length;
  r->rows_a_piece = rs_larger(rs_smaller(wanted / row, count), 1);
  if (r->cut) {
    r->block = LEAST_BLOCK;
    while (2 * r->block * element + 2 * number <= wanted)
      r->block *= 2;
    r->rows_a_piece = 1;
    r->array[RS_INIT].bytes = r->array[RS_TOTALS].bytes = number; /* where prefixes go in and totals come out */
  }
  r->blocks = rs_ceiling(r->length, r->block);
  r->pieces = r->cut ? count * r->blocks : rs_ceiling(count, r->rows_a_piece);
}

/* Those of a piece, in memory at `device`. */
static rs_rows rows_of(const ring *r, const piece *p, CUdeviceptr device, bool init, bool totals) {
  char *up = (char *)(uintptr_t)device, *down = up + p->at.up;
  rs_rows rows = {.length = p->part.elements,
                  .count = p->part.rows,
                  .rank = 1,
                  .shape = {p->part.rows},
                  .further = r->rows->further};
  for (int a = 0; a < rs_arrays(&rows); a++)
    if (r->array[a].bytes)
      rows.array[a] = (rs_operand){(comes_back(a) ? down : up) + p->at.at[a],
                                   r->array[a].bytes,
                                   !is_one_a_row(a),
                                   {section_of(&p->part, a).elements}};
  if (!init)
    rows.array[RS_INIT].data = NULL;
  if (!totals)
    rows.array[RS_TOTALS].data = NULL;
  if (rows.further)
    memcpy(rows.params, r->rows->params, sizeof rows.params);
  return rows;
}

static bool has(const ring *r, rs_which which) {
  return r->array[which].bytes;
}

static rs_table_node **plan_of(const ring *r, site *on, const piece *p) {
  return &on->plan[p->part.elements != r->block];
}

/* The kernels for a piece and all like it, before anything is done: wherever it will lie, that begins on ALIGN bytes.
 */
static rowscan_status make_plan(ring *r, site *on, int64_t number) {
  piece p = piece_at(r, number);
  rs_rows rows = rows_of(r, &p, ALIGN, has(r, RS_INIT), has(r, RS_TOTALS));
  rs_table_node **plan = plan_of(r, on, &p);
  r->spec.length = p.part.elements;
  rowscan_status status =
      *plan ? ROWSCAN_OK : rs_table_take(&on->context->programs, &on->context->gpu, &r->spec, &rows, plan);
  return status ? status : rs_tiers_prepare(rs_table_program(*plan), &rows, 1);
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

static rowscan_status to_device(const ring *r, const slot *s, int64_t offset, const void *from, int64_t bytes) {
  CUresult result =
      r->cuda->cuMemcpyHtoDAsync_v2(s->own.device + (CUdeviceptr)offset, from, (size_t)bytes, s->own.stream);
  return result ? rs_cuda_failed(r->cuda, result, "cuMemcpyHtoDAsync_v2") : ROWSCAN_OK;
}

static rowscan_status from_device(const ring *r, const slot *s, int64_t offset, void *to, int64_t bytes) {
  CUresult result = r->cuda->cuMemcpyDtoHAsync_v2(to, s->own.device + (CUdeviceptr)(s->piece.at.up + offset),
                                                  (size_t)bytes, s->own.stream);
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

/* Where a piece of an array waits in memory of the host. */
static char *host_of(const ring *r, const slot *s, int a) {
  const rs_section *part = &s->piece.part;
  if (r->pinned[a])
    return r->array[a].data + (part->row * r->length + part->element) * r->array[a].bytes;
  return s->own.pinned + s->piece.at.at[a];
}

static rowscan_status move_one(const ring *r, const slot *s, int a) {
  int64_t at = s->piece.at.at[a], bytes = piece_bytes(r, &s->piece.part, a);
  if (!bytes)
    return ROWSCAN_OK;
  return comes_back(a) ? from_device(r, s, at, host_of(r, s, a), bytes) : to_device(r, s, at, host_of(r, s, a), bytes);
}

/* All that goes up, or comes back, in one copy if all of it is packed. numbers: initial values or totals, too. */
static rowscan_status move_all(const ring *r, const slot *s, bool back, bool numbers) {
  const places *at = &s->piece.at;
  int64_t skipped = numbers ? 0 : at->at[back ? RS_OUT : RS_IN], bytes = (back ? at->down : at->up) - skipped;
  char *packed = s->own.pinned + skipped;
  rowscan_status status = ROWSCAN_OK;
  if (!r->any_pinned)
    return back ? from_device(r, s, skipped, packed, bytes) : to_device(r, s, skipped, packed, bytes);
  for (int a = 0; a < RS_ALL_ARRAYS && !status; a++)
    if (comes_back(a) == back && (numbers || !is_one_a_row(a)))
      status = move_one(r, s, a);
  return status;
}

/* Packs a piece and sends it off; of a whole block, asks for the total. The prefix before a block comes later. */
static rowscan_status begin_piece(ring *r, slot *s, int64_t number) {
  s->piece = piece_at(r, number);
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    rs_section part = section_of(&s->piece.part, a);
    if (has(r, (rs_which)a) && !comes_back(a) && !r->pinned[a] && !(r->cut && a == RS_INIT))
      rs_gather_rows(r->pool, r->threads, host_of(r, s, a), &r->array[a], &part);
  }
  rowscan_status status = move_all(r, s, false, !r->cut);
  if (status || !whole_block(r, s))
    return status;
  status = scan(r, s, false, true);
  return status ? status : move_one(r, s, RS_TOTALS);
}

static void start_row(ring *r, const slot *s) {
  value init;
  if (r->rows->array[RS_INIT].data)
    rs_gather_rows(r->pool, r->threads, &init, &r->array[RS_INIT], &(rs_section){s->piece.part.row, 1, 0, 1});
  blocks_start(&r->counter, &r->spec, r->rows->array[RS_INIT].data ? &init : NULL);
}

/* Takes the total of a whole block. */
static rowscan_status count_block(ring *r, slot *s) {
  rowscan_status status = await(r, s);
  if (status)
    return status;
  blocks_push(&r->counter, host_of(r, s, RS_TOTALS));
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
  memcpy(host_of(r, s, RS_INIT), &before, (size_t)r->array[RS_INIT].bytes);
  return move_one(r, s, RS_INIT);
}

/* Scans a piece and calls it back. */
static rowscan_status go_on(ring *r, slot *s) {
  bool init = has(r, RS_INIT), totals = has(r, RS_TOTALS);
  if (r->cut) {
    rowscan_status status = send_prefix(r, s, &init);
    if (status)
      return status;
    totals = !whole_block(r, s);
  }
  rowscan_status status = scan(r, s, init, totals);
  return status ? status : move_all(r, s, true, totals || !r->cut);
}

/* Rounds a prefix to the output type: it is what an exclusive scan of one element shows. */
static void show_prefix(const ring *r, const value *prefix, void *out) {
  value unused = {.aligned = 0};
  rowscan_spec spec = r->spec;
  spec.length = 1;
  spec.flags = ROWSCAN_EXCLUSIVE;
  spec.mask_mode = ROWSCAN_MASK_NONE;
  spec.mask_type = ROWSCAN_TYPE_DEFAULT;
  int64_t bytes = r->array[RS_OUT].bytes;
  rs_rows rows = {.array = {[RS_IN] = {&unused, bytes, 1, {0}},
                            [RS_OUT] = {out, bytes, 1, {0}},
                            [RS_INIT] = {(void *)prefix, r->array[RS_INIT].bytes, 0, {0}}},
                  .count = 1,
                  .rank = 1,
                  .shape = {1}};
  rs_host_run(r->context->host, &spec, &rows);
}

/* The prefix through a whole block, where it belongs. */
static void put_prefix(const ring *r, const slot *s) {
  int64_t last = r->spec.flags & ROWSCAN_REVERSE ? 0 : s->piece.part.elements - 1;
  if (!(r->spec.flags & ROWSCAN_EXCLUSIVE))
    show_prefix(r, &s->after, host_of(r, s, RS_OUT) + last * r->array[RS_OUT].bytes);
  memcpy(host_of(r, s, RS_TOTALS), &s->after, (size_t)r->array[RS_TOTALS].bytes);
}

/* Spreads the results of a piece. */
static rowscan_status end(const ring *r, const slot *s, rs_progress *progress) {
  const piece *p = &s->piece;
  rowscan_status status = await(r, s);
  if (status)
    return status;
  if (whole_block(r, s))
    put_prefix(r, s);
  for (int a = 0; a < RS_ALL_ARRAYS; a++) {
    rs_section part = section_of(&p->part, a);
    if (has(r, (rs_which)a) && comes_back(a) && !r->pinned[a] && r->array[a].data && (p->last || a != RS_TOTALS))
      rs_scatter_rows(r->pool, r->threads, &r->array[a], host_of(r, s, a), &part);
  }
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

/* Whether an array needs no packing. */
static bool is_pinned(const ring *r, int a) {
  const rs_strided *array = &r->array[a];
  return array->bytes && !is_one_a_row(a) && array->packed &&
         rs_device_pinned(r->cuda, array->data, rs_product(r->rows->count, r->length) * array->bytes);
}

static void describe(ring *r, rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows) {
  *r =
      (ring){.context = context, .cuda = context->gpu.device.cuda, .spec = *spec, .rows = rows, .length = spec->length};
  r->spec.layout = ROWSCAN_LAYOUT_ROWS;
  r->spec.row_rank = 1;
  for (int a = 0; a < rs_arrays(rows); a++) {
    r->array[a] = rs_strided_of(rows, (rs_which)a, spec->length);
    if (!rows->array[a].data)
      r->array[a].bytes = 0;
    r->pinned[a] = is_pinned(r, a);
    r->any_pinned = r->any_pinned || r->pinned[a];
  }
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
