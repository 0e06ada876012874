/*
 * work.h - one run of the host engine: what is scanned, how it is cut, and what a thread needs to do its part
 * SPDX-License-Identifier: MIT
 *
 * Rows are taken in tiles. A tile is made of strips, which are scanned side by side, panel by panel (isa.h): a
 * strip is one row, or as many columns as make a line of a panel; a tile is one row, a few rows that lie between one
 * another, or so many columns that whole stretches of memory are read at a time. Where tiles are too few for the
 * threads, they are cut into pieces of a power of two steps. A piece is read twice, the second time from the L2 cache:
 * first for its total, which is handed on through a binary counter in the order of the pieces, then to be scanned from
 * the prefix before it. All of these are blocks of the order in rowscan.h, so no way of cutting changes a bit.
 */
#ifndef RS_HOST_WORK_H
#define RS_HOST_WORK_H

#include "run.h"

enum {
  RS_TILE_BYTES = 4096,                      /* of accumulators: the most columns of a tile */
  RS_TILE_ROWS = RS_TILE_BYTES / 4,          /* the most rows of a tile, */
  RS_STRIPS = RS_TILE_BYTES / RS_LINE_BYTES, /* and strips, be they columns or rows */
  RS_SMALL_BYTES = 1024,                     /* of widest elements: a problem that is scanned without a seat */
  RS_MOST_WORDS = 4,                         /* of a total that is scanned by blocks, of which */
  RS_BESIDE = 1 + RS_MOST_MORE,              /* arrays whose elements a total is made of, beside the first */
  RS_LEVELS_BYTES = RS_MOST_WORDS * (2 * RS_PANEL_BYTES + 4096), /* all levels take less, their ends included */
};

/* The counters of the strips of a tile, and their memory. */
typedef struct rs_bank {
  rs_counter counter[RS_STRIPS];
  char total[RS_LEVELS * RS_TILE_BYTES] __attribute__((aligned(64)));
  char prefix[(RS_LEVELS + 1) * RS_TILE_BYTES] __attribute__((aligned(64)));
} rs_bank;

typedef struct rs_tile {
  int64_t rows;
  int64_t at[RS_ALL_ARRAYS][RS_TILE_ROWS]; /* where its rows start, in each array that there is */
  bool unit[RS_ALL_ARRAYS];                /* they are known to be neighbours */
} rs_tile;

/* What a thread has of further arrays: panels of a strip, of one row but for coefficients and weights. */
typedef struct rs_further {
  char raw[RS_BESIDE][RS_PANEL_BYTES + RS_LINE_BYTES] __attribute__((aligned(64))); /* elements as they are, and */
  char number[RS_BESIDE][RS_PANEL_BYTES + RS_LINE_BYTES]
      __attribute__((aligned(64)));                         /* converted, with a line before */
  char second[RS_PANEL_BYTES] __attribute__((aligned(64))); /* results of the second output */
} rs_further;

/* Memory that a thread works with: large, but most of it is never touched. */
typedef struct rs_seat {
  char x[RS_PANEL_BYTES] __attribute__((aligned(64)));
  char e[RS_PANEL_BYTES + RS_LINE_BYTES] __attribute__((aligned(64)));
  char factor[RS_PANEL_BYTES] __attribute__((aligned(64)));
  char raw[RS_PANEL_BYTES] __attribute__((aligned(64)));
  char raw_mask[RS_PANEL_BYTES + RS_LINE_BYTES] __attribute__((aligned(64))); /* with a line before, */
  char turned[RS_PANEL_BYTES + RS_LINE_BYTES] __attribute__((aligned(64)));   /* rows on their way to columns or back */
  char start[RS_TILE_BYTES] __attribute__((aligned(64)));      /* prefixes of a piece's strips: before it, */
  char after[RS_TILE_BYTES] __attribute__((aligned(64)));      /* after it, if after_step says where that is, */
  char total[RS_TILE_BYTES] __attribute__((aligned(64)));      /* and of it alone */
  char levels[RS_LEVELS_BYTES] __attribute__((aligned(64)));   /* of a block's totals: blocks.h */
  char joint[RS_PANEL_BYTES / RS_LINE_BYTES * RS_JOINT_BYTES]; /* ends of a strip's lines, for the next strip */
  int64_t after_step;                                          /* or -1 */
  rs_tile tile;
  rs_bank bank;
  rs_bank chain; /* of the run that this seat's thread has called, over its pieces */
  rs_further further;
} rs_seat;

/* Chunk number `chunk` of the run: of `chunk_tiles` whole tiles, or of one piece of a tile. */
void rs_run_tiles(void *run, int64_t chunk, void *seat);
void rs_run_piece(void *run, int64_t chunk, void *seat);

/* ---- whole rows of up to a panel's elements, many at a time ------------------------------------------------------ */

/*
 * Rows that lie at even distances are read as they are, one after another, into a panel of rows, where no element is
 * moved to another place than its own: converted, masked, scanned by loops->lines, rounded, and written. Where there is
 * nothing to convert, gather or mask, the scan reads the input itself.
 */

/* Whether rows of this run may go so. */
bool rs_batch_serves(const rs_run *run);

/* Whether the run is small enough to go at once, without a seat, however its rows lie. */
bool rs_small_serves(const rs_run *run);

/* Chunk number `chunk` of the run, of `chunk_tiles` whole tiles. */
void rs_run_batch(void *run, int64_t chunk, void *seat);

/* Bytes of all results, if nothing is to be gathered, converted or masked, without initial values and totals. Else 0.
 */
int64_t rs_bare_bytes(const rs_run *run);

/* All of a small run, of which nothing is known but what describe() in host.c says: one with rs_bare_bytes, or any. */
void rs_run_bare(const rs_run *run, const rs_rows *rows);
void rs_run_small(const rs_run *run);

#endif
