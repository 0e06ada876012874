/*
 * run.h - one run of the host engine: what is scanned and how it is cut; its numbers and totals
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_HOST_RUN_H
#define RS_HOST_RUN_H

#include <stdatomic.h>
#include <string.h>

#include "isa.h"
#include "resume.h"
#include "spec/rows.h"
#include "spec/spec.h"

enum { RS_MOST_TOTAL = 64 }; /* bytes of a total, at most */

/* An array of elements: element e of the row at offset `at` is element at + e * step. */
typedef struct rs_view {
  char *data;
  rowscan_type type;
  int64_t bytes, step; /* of an element; from one to the next */
  int log2;            /* of bytes */
  bool wide;           /* elements are accumulators */
  int64_t first;       /* from the array's first element to where the scan begins, in bytes */
} rs_view;

struct rs_run {
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
  int64_t acc_bytes;             /* of a number in init and totals, */
  int64_t init_bytes, end_bytes; /* from one row's to the next */
  rs_states states;              /* what stands there in place of numbers */
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
  struct rs_bank *chain;      /* the prefixes between pieces */
  atomic_int_least64_t turn;  /* the piece that may use it */
};

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

/* to = left o right, of one total; to may be either of them. */
void rs_join_totals(const rs_run *run, void *to, const void *left, const void *right);

/* The total that a fold from an initial value starts with, and what is kept of a row's total. */
void rs_load_init(const rs_run *run, void *total, const void *init);
void rs_save_total(const rs_run *run, void *kept, const void *total);
void rs_save_identity(const rs_run *run, void *kept); /* that of no elements without an initial value */
void rs_save_number(const rs_run *run, void *kept, const void *number);

/* A total as a number, or as a key, if there are keys. */
void rs_number_of(const rs_run *run, void *number, const void *total);

/* Makes numbers of so many keys, if that is what is scanned. */
void rs_show(const rs_run *run, void *numbers, int64_t count);

/* ---- states: totals as bytes (states.h) -------------------------------------------------------------------------- */

void rs_state_load(const rs_run *run, void *total, const void *state);
void rs_state_save(const rs_run *run, void *state, const void *total);
bool rs_state_begins(const rs_run *run, const void *state);

#endif
