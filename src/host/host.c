/*
 * host.c - the host engine: the same scans on the CPU, on all cores, with the same bits
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <stdlib.h>

#include "base/ints.h"
#include "base/must_return.h"
#include "base/processors.h"
#include "base/status.h"
#include "describe.h"
#include "environment.h"
#include "work.h"

enum {
  SEGMENT = 32,        /* from so many neighbours on, a tile of columns leaves off where they end */
  NARROW_BYTES = 1024, /* tiles of columns are not made narrower than this to have one for every thread */
  ROWS_BYTES = 4096,   /* of a panel of rows: what is read next arrives while one is written; 8192: 1.1 times slower */
  SHORT_ROW = 64,      /* rows up to this length are scanned side by side even if they don't lie so */
  PIECE = 1 << 16,     /* elements of a piece, and of a chunk of whole tiles: at home in an L2 cache */
  STREAM_BYTES = 256,  /* lines of the output shorter than this are not written past the caches */
  LAST_CACHE = 32 << 20, /* bytes, where the system does not tell */
  CACHE_SHARE = 4,       /* other cores use it too; 1000 x 1000 f64, 16 of 32 MB: columns 2.0 ms, 0.8 ms past it */
};

struct rs_host {
  rs_pool *pool;
  const rs_isa *isa;
  int64_t cache_bytes; /* of the last level */
};

/* ---- how it is cut ----------------------------------------------------------------------------------------------- */

/* Whether rows lie within one another's steps. */
static bool woven(int64_t stride, int64_t step) {
  return stride && rs_distance(stride) < rs_distance(step);
}

/* Which rows make a strip, and which make a tile. */
static void choose_tiles(rs_run *s, int threads) {
  const rs_rows *r = &s->rows;
  int64_t neighbours = r->shape[r->rank - 1], lanes = s->isa->vector_bytes / s->size, widest = s->widest;
  int64_t each = s->state > 2 * s->size ? RS_MOST_WORDS * s->size : s->state; /* room for a total */
  bool apart = neighbours == 1 ||
               !(woven(s->stride[RS_IN], r->array[RS_IN].step) || woven(s->stride[RS_OUT], r->array[RS_OUT].step));
  s->columns =
      (s->loops || s->totals->scan_block) && r->count >= 8 && (apart ? s->spec->length <= SHORT_ROW : neighbours >= 8);
  s->segment = s->columns && !apart && neighbours >= SEGMENT ? neighbours : r->count;
  s->batch = apart && rs_batch_serves(s);
  if (s->batch) {
    s->columns = false;
    s->segment = r->rank == 1 ? r->count : neighbours;
    s->tile_rows = rs_smaller(rs_ceiling(ROWS_BYTES, s->spec->length * widest), s->segment);
    while (s->tile_rows * s->spec->length * widest > RS_PANEL_BYTES)
      s->tile_rows--;
    s->strip_rows = s->width = 1;
  } else if (s->columns) {
    int64_t rows = (apart ? RS_LINE_BYTES : RS_TILE_BYTES) / each;
    while (apart && rows > lanes && rows * s->spec->length * widest > RS_PANEL_BYTES)
      rows /= 2; /* a panel holds whole rows */
    while (rows * s->size > NARROW_BYTES && r->count / rows < threads)
      rows /= 2;
    s->tile_rows = rs_smaller(rows, s->segment);
    s->strip_rows = rs_smaller(RS_LINE_BYTES / each, s->tile_rows);
    s->width = rs_ceiling(s->strip_rows, lanes) * lanes;
  } else {
    s->tile_rows = apart ? 1 : rs_smaller(neighbours, RS_STRIPS);
    s->strip_rows = s->width = 1;
  }
  s->segment_tiles = rs_ceiling(s->segment, s->tile_rows);
  s->tiles = s->segment_tiles * (r->count / s->segment);
  s->panel = (s->columns ? RS_PANEL_BYTES : ROWS_BYTES) / widest;
  while (s->panel * s->width * widest > RS_PANEL_BYTES)
    s->panel /= 2;
  if (s->states == RS_STATES_TOTAL && s->totals) /* which counters have of whole panels */
    s->panel = rs_smaller(s->panel, s->spec->length);
}

/* Whether tiles are cut, and how many make a chunk of work. */
static void choose_chunks(rs_run *s, int threads) {
  int64_t length = s->spec->length > 0 ? s->spec->length : 1;
  s->chunk_tiles = length < PIECE / s->tile_rows ? rs_ceiling(PIECE, length * s->tile_rows) : 1;
  s->piece = PIECE;
  while (s->piece > s->panel && s->piece * s->tile_rows > PIECE)
    s->piece /= 2;
  int64_t rounds = rs_ceiling(s->tiles, threads);
  bool idle = !s->batch && 4 * rounds * threads > 5 * s->tiles; /* a fifth of the threads' time */
  s->pieces = idle ? rs_ceiling(length, s->piece) : 1;
}

/* Writing past the caches pays for long lines that would not stay in them and were not read just now. */
static void choose_stream(rs_run *s, int64_t cache_bytes) {
  const rs_view *in = &s->part[RS_IN], *out = &s->part[RS_OUT];
  double bytes = (double)s->rows.count * (double)s->spec->length * (double)(in->bytes + out->bytes);
  int64_t length = s->spec->length, line = s->columns ? s->strip_rows : length;
  if (s->batch && s->stride[RS_OUT] == length)
    line *= s->tile_rows;
  if (s->columns && s->stride[RS_OUT] == 1 && out->step == s->strip_rows)
    line *= length; /* few columns, all of them in a strip */
  s->stream = bytes > (double)cache_bytes && in->data != out->data && line * out->bytes >= STREAM_BYTES;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static void run_small(rs_run *s) {
  rs_environment saved;
  s->stream = false;
  rs_enter_environment(&saved);
  rs_run_small(s);
  rs_leave_environment(&saved);
}

static void run_bare(const rs_run *s, const rs_rows *rows) {
  rs_environment saved;
  rs_enter_environment(&saved);
  rs_run_bare(s, rows);
  rs_leave_environment(&saved);
}

/* Not inlined: small runs would save registers for it. */
static RS_OWN_FRAME void run_large(rs_host *host, rs_run *s) {
  RS_MUST_RETURN;
  int threads = rs_pool_threads(host->pool);
  rs_environment saved;
  choose_tiles(s, threads);
  choose_chunks(s, threads);
  choose_stream(s, host->cache_bytes);
  atomic_init(&s->turn, 0);
  rs_enter_environment(&saved);
  rs_seat *seat = rs_pool_enter(host->pool);
  s->chain = &seat->chain;
  if (s->batch)
    rs_pool_run(host->pool, seat, rs_ceiling(s->tiles, s->chunk_tiles), rs_run_batch, s);
  else if (s->pieces == 1)
    rs_pool_run(host->pool, seat, rs_ceiling(s->tiles, s->chunk_tiles), rs_run_tiles, s);
  else
    rs_pool_run(host->pool, seat, s->tiles * s->pieces, rs_run_piece, s);
  rs_pool_leave(host->pool, seat);
  rs_leave_environment(&saved);
}

void rs_host_repeat(rs_host *host, rs_run *run, const rs_rows *rows) {
  if (run->bare) {
    run_bare(run, rows);
    return;
  }
  rs_run_address(run, rows);
  if (run->small)
    run_small(run);
  else
    run_large(host, run);
}

bool rs_host_describe(const rs_host *host, rs_run **run, const rowscan_spec *spec, const rs_rows *rows) {
  if (!*run)
    *run = malloc(sizeof **run);
  if (!*run || !rs_rows_any(rows, spec->length))
    return false;
  rs_describe(*run, host->isa, spec, rows);
  return true;
}

void rs_host_run(rs_host *host, const rowscan_spec *spec, const rs_rows *rows) {
  rs_run s; /* large, and not cleared: describe and choose_ set what is used */
  if (!rs_rows_any(rows, spec->length))
    return;
  rs_describe(&s, host->isa, spec, rows);
  rs_host_repeat(host, &s, rows);
}

void rs_host_run_states(rs_host *host, const rowscan_spec *spec, const rs_rows *rows, rs_states states,
                        int64_t length) {
  rs_run s;
  if (!rs_rows_any(rows, spec->length))
    return;
  rs_describe(&s, host->isa, spec, rows);
  rs_describe_states(&s, states, length);
  rs_run_address(&s, rows);
  run_large(host, &s);
}

void rs_host_combine(const rowscan_spec *spec, void *out, const void *a, const void *b) {
  rs_run s;
  uint64_t x, y;
  rs_environment saved;
  rs_enter_environment(&saved);
  rs_describe_op(&s, rs_isa_at(0), spec);
  rs_load_init(&s, &x, a);
  rs_load_init(&s, &y, b);
  s.loops->combine(&x, &x, &y);
  rs_save_total(&s, out, &x);
  rs_leave_environment(&saved);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

rowscan_status rs_host_open(rs_host **host, int threads) {
  if (threads <= 0)
    threads = rs_processors();
  rs_host *h = malloc(sizeof *h);
  rs_pool *pool = rs_pool_open(threads, sizeof(rs_seat));
  if (!h || !pool) {
    free(h);
    rs_pool_close(pool);
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "options: field 'threads': out of memory for %d threads", threads);
  }
  int64_t cache = rs_last_cache_bytes();
  *h = (rs_host){.pool = pool, .cache_bytes = (cache ? cache : LAST_CACHE) / CACHE_SHARE};
  for (int level = 0; rs_isa_at(level); level++)
    h->isa = rs_isa_at(level);
  *host = h;
  return ROWSCAN_OK;
}

void rs_host_close(rs_host *host) {
  if (!host)
    return;
  rs_pool_close(host->pool);
  free(host);
}

int rs_host_threads(const rs_host *host) {
  return rs_pool_threads(host->pool);
}

void rs_host_set_threads(rs_host *host, int threads) {
  rs_pool_set_threads(host->pool, threads > 0 ? threads : rs_processors());
}

rs_pool *rs_host_pool(const rs_host *host) {
  return host->pool;
}

void rs_host_force(rs_host *host, const rs_isa *isa, int64_t cache_bytes) {
  host->isa = isa;
  host->cache_bytes = cache_bytes;
}
