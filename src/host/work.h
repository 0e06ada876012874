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

#include <stdatomic.h>
#include <string.h>

#include "isa.h"
#include "spec/rows.h"
#include "spec/spec.h"

enum {
  RS_TILE_BYTES = 4096,                      /* of accumulators: the most columns of a tile */
  RS_TILE_ROWS = RS_TILE_BYTES / 4,          /* the most rows of a tile, */
  RS_STRIPS = RS_TILE_BYTES / RS_LINE_BYTES, /* and strips, be they columns or rows */
  RS_SMALL_BYTES = 1024,                     /* of widest elements: a problem that is scanned without a seat */
  RS_MOST_TOTAL = 64,                        /* bytes of a total, at most */
  RS_MOST_WORDS = 4,                         /* of a total that is scanned by blocks, of which */
  RS_BESIDE = 1 + RS_MOST_MORE,              /* arrays whose elements a total is made of, beside the first */
  RS_LEVELS_BYTES = RS_MOST_WORDS * (2 * RS_PANEL_BYTES + 4096), /* all levels take less, their ends included */
};

/* An array of elements: element e of the row at offset `at` is element at + e * step. */
typedef struct rs_view {
  char *data;
  rowscan_type type;
  int64_t bytes, step; /* of an element; from one to the next */
  int log2;            /* of bytes */
  bool wide;           /* elements are accumulators */
  int64_t first;       /* from the array's first element to where the scan begins, in bytes */
} rs_view;

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

typedef struct rs_run {
  const rs_isa *isa;
  bool small;   /* rs_small_serves */
  int64_t bare; /* rs_bare_bytes, if it is small */
  const rowscan_spec *spec;
  rs_rows rows; /* neighbouring dimensions joined */
  rs_view part[RS_ALL_ARRAYS];
  int there;                     /* how many arrays are present, */
  rs_which which[RS_ALL_ARRAYS]; /* and which */
  int64_t stride[RS_ALL_ARRAYS]; /* from row to row in the last dimension */
  rs_wide wide, in_wide;         /* of numbers, which elements are converted to and from; in_wide: to */
  int64_t size;                  /* bytes of a number */
  int64_t widest;                /* bytes of the widest elements of all arrays, numbers included */
  int64_t acc_bytes;             /* of a number in init and totals */
  const rs_loops *loops;         /* scan totals, which are numbers or, */
  rs_map *key, *value;           /* unless NULL, keys of the same size, */
  double key_by, value_by;       /* made by these; */
  bool keeps_keys;               /* which init and totals are, too */
  bool omits;                    /* a NaN becomes the identity, as a number; */
  bool selects;                  /* an element that a mask takes away, likewise */
  rowscan_mask_mode segments;    /* whether flags or keys cut rows, and how */
  rs_which marks;                /* those, */
  uint64_t mark_bits;            /* and what makes one true; of keys the highest one */
  bool further;                  /* further arrays, of which rows are scanned one element after another, */
  bool weighted;                 /* but where these are coefficients, and weights of results; */
  bool weighs;                   /* the first output shows results with their elements, and the second one results */
  rs_wide second_wide;           /* of numbers of the second output; of indices */
  rs_map *element;               /* keys of elements to these, unless NULL, */
  uint64_t no_element;           /* and the key where there is none */
  const rs_totals *totals;       /* or else, unless NULL, of several numbers; */
  rs_totals created;             /* those of an operator of the caller's, or with further arrays */
  int64_t state;                 /* bytes of a total */
  char neutral[RS_MOST_TOTAL] __attribute__((aligned(16)));
  char start[RS_MOST_TOTAL] __attribute__((aligned(16)));  /* of a fold without an initial value; if not `loops` */
  char masked[RS_MOST_TOTAL] __attribute__((aligned(16))); /* total of an element taken away; if not `loops` */
  uint64_t identity, one;                                  /* numbers, in the first bytes */
  uint64_t mask_bits, more_bits;                           /* those that make a mask true, or the first input more */
  bool batch;                                              /* whole rows, many at a time (batch.c); else */
  bool columns;                                            /* strips are columns, not single rows */
  bool stream;                                             /* outputs are written past the caches */
  int64_t strip_rows, width;  /* rows of a strip, and the same in a panel: whole vectors of columns */
  int64_t panel;              /* steps of a panel */
  int64_t tile_rows;          /* rows of a tile, */
  int64_t segment;            /* which stays within a segment of so many rows, */
  int64_t segment_tiles;      /* or of so many tiles */
  int64_t tiles, chunk_tiles; /* of all, of a chunk of work */
  int64_t pieces, piece;      /* of a tile, and the steps of one; 1 if tiles are not cut */
  rs_bank *chain;             /* the prefixes between pieces */
  atomic_int_least64_t turn;  /* the piece that may use it */
} rs_run;

/* Chunk number `chunk` of the run: of `chunk_tiles` whole tiles, or of one piece of a tile. */
void rs_run_tiles(void *run, int64_t chunk, void *seat);
void rs_run_piece(void *run, int64_t chunk, void *seat);

/* One number; sizes that the compiler knows spare a call. */
static inline void rs_move(void *to, const void *from, int64_t size) {
  memcpy(to, from, 4);
  if (size == 8)
    memcpy((char *)to + 4, (const char *)from + 4, 4);
}

/* One total. */
static inline void rs_move_total(const rs_run *run, void *to, const void *from) {
  if (run->loops)
    rs_move(to, from, run->size);
  else
    memcpy(to, from, (size_t)run->state);
}

/* The total that a fold from an initial value starts with, and what is kept of a row's total. */
void rs_load_init(const rs_run *run, void *total, const void *init);
void rs_save_total(const rs_run *run, void *kept, const void *total);

/* Makes numbers of so many keys, if that is what is scanned. */
void rs_show(const rs_run *run, void *numbers, int64_t count);

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
