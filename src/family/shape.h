/*
 * shape.h - what a kernel is made of: its template, and how that cuts rows
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SHAPE_H
#define RS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ints.h"
#include "base/text.h"
#include "kernels/cuts.h"

/* The template of kernels/ that a kernel instantiates. */
typedef enum rs_template {
  RS_TEMPLATE_NONE, /* the plan has no such kernel */
  RS_TEMPLATE_ROWS, /* groups of threads load their tiles themselves */
  RS_TEMPLATE_SLAB,
  RS_TEMPLATE_ROW_RING,
  RS_TEMPLATE_TILES,
  RS_TEMPLATE_ROW_STREAM,
  RS_TEMPLATE_GATHER,
  RS_TEMPLATE_AT_ONCE,
  RS_TEMPLATE_DIRECT,
  RS_TEMPLATE_TOTALS, /* totals alone: this and the next */
  RS_TEMPLATE_TOTALS_EACH,
  RS_TEMPLATE_UNIVERSAL,
  RS_TEMPLATE_FURTHER_COLUMNS, /* this and what follows: layout COLUMNS; with further arrays these two */
  RS_TEMPLATE_FURTHER_WALK,
  RS_TEMPLATE_COLUMNS,
  RS_TEMPLATE_ASKEW,
  RS_TEMPLATE_WIDE,
  RS_TEMPLATE_RING_COLUMNS,
  RS_TEMPLATE_STREAM_COLUMNS,
  RS_TEMPLATE_SHORT_COLUMNS,
  RS_TEMPLATE_STREAM_TUPLES, /* of two columns, and after it of each number up to RS_MOST_TUPLE */
  RS_TEMPLATE_LAST_TUPLES = RS_TEMPLATE_STREAM_TUPLES + RS_MOST_TUPLE - 2,
  RS_TEMPLATE_COLUMNS_AT_ONCE,
  RS_TEMPLATE_PAIRS,
  RS_TEMPLATES
} rs_template;

/* How a kernel cuts rows. Powers of two, but for bytes, stages and min_blocks; what a template does not use is 0. */
typedef struct rs_shape {
  rs_template made_of;
  int threads;      /* of a block */
  int min_blocks;   /* that a multiprocessor must hold: caps the registers; fewer if it would spill, see compile.h */
  int shared_bytes; /* dynamic shared memory of a block; layout COLUMNS: at most */
  int warps;        /* of a stream of columns, or of a group; the tile is warps * chunks * lanes * vector elements */
  int chunks;
  int lanes;
  int vector;   /* elements that a thread moves at once; or tuples of columns */
  int stages;   /* tiles of input in flight in shared memory */
  int reducers; /* of a stream: warps that only reduce */
  int buffers;  /* tiles of output on their way */
  int steps;    /* columns: of a thread */
  int width;    /* columns: vectors side by side in a tile */
  int rows;     /* of a slab; any number; of any length: its elements. Columns at once: tiles of a column, at most */
  int word;     /* of a slab: elements that are moved at once in shared memory */
  int words;    /* row_ring, row_stream: rows begin on words of 16 bytes; 0: anywhere */
  int prefetch; /* elements that a block asks L2 for before the work before it is done; 0: none */
  int packed;   /* wide, askew: bytes are summed four to a word */
  int columns;  /* that the template takes as one row of tuples; 0: rows of elements */
  int tiles;    /* of a row, at most, where rows may have any length; 0: they have one */

  /* Layout COLUMNS: what the cut of a run counts with. */
  int64_t length;
  int in, out, mask, acc; /* bytes of an element, and of a total in registers; mask 0: none */
  int beside, second;     /* bytes of an element in further inputs, and in a second output; 0: there are none */
  int part;               /* of a total inside of a tile */
  bool reverse;           /* tiles count from the end of the columns */
  bool bytes;             /* columns: sums of bytes in 32 bits */
  bool straight;          /* columns: results have no copy in shared memory */
  int multiprocessors;    /* of the device, which small tensors should keep busy; 0: not known */
  int shared;             /* columns: bytes of shared memory of a multiprocessor */
  int tile_bytes;         /* of a tile, or of a slab each way: about; at once: at most; stream: most of several bands */
  int most_bytes;         /* short columns: of a slab, at most, if one outer takes more */
  int strip_bytes;        /* columns: of a step of a strip, about, where a tile is not as wide as the tensor */
  int band_bytes;         /* stream: of a tile of one band of columns, at most */
  int pieced_bytes;       /* stream: of a tile of so few columns that lanes share them in pieces, at most */
  int least_tiles;        /* stream: for each multiprocessor, while tiles are larger than they must be */
  int ahead;              /* wide, askew: tiles from one to the one whose elements it asks L2 for; 0: none */
  int ahead_strips;       /* askew: ask where there are no more strips, and many tiles of one outer; 0: always */
} rs_shape;

/* "ring threads=512 warps=16 ...": for people. */
void rs_shape_text(const rs_shape *shape, rs_text *text);

/* Numbers of an element of a row, which may be a tuple of columns. */
static inline int rs_side_by_side(const rs_shape *shape) {
  return shape->columns ? shape->columns : 1;
}

/* The template of streams of so many columns; and of all of these the first, which stands for them. */
static inline rs_template rs_stream_of_tuples(int columns) {
  return (rs_template)(RS_TEMPLATE_STREAM_TUPLES + columns - 2);
}
static inline rs_template rs_template_kind(rs_template made_of) {
  return made_of > RS_TEMPLATE_STREAM_TUPLES && made_of <= RS_TEMPLATE_LAST_TUPLES ? RS_TEMPLATE_STREAM_TUPLES
                                                                                   : made_of;
}

/* Elements of a tile of a template that has tiles. */
static inline int64_t rs_tile(const rs_shape *shape) {
  return (int64_t)shape->warps * shape->chunks * shape->lanes * shape->vector;
}

/* Elements of the longest rows, where they may have any length. Columns have tiles of RS_COLUMN_STEPS at least. */
static inline int64_t rs_most(const rs_shape *shape) {
  return shape->tiles * (shape->made_of == RS_TEMPLATE_COLUMNS ? RS_COLUMN_STEPS : rs_tile(shape));
}

/* n as a multiple of a unit, rounded up; n >= 0. */
static inline int64_t rs_up(int64_t n, int64_t unit) {
  return rs_ceiling(n, unit) * unit;
}

/* The least power of two that is no less than n, from `least` to `most`, powers of two. */
static inline int rs_power(int64_t n, int least, int most) {
  int power = least;
  while (power < n && power < most)
    power *= 2;
  return power;
}

/* Shared memory of `count` neighbours of `size` bytes, whatever their offset from 16 bytes: Slab::room in slab.cuh. */
static inline int rs_slab_room(int64_t count, int size) {
  return (int)((count * size + 15) / 128 * 128) + 128;
}

/* Of so many elements, masks (0 bytes: none) and results, which in_place take the place of elements: piece.cuh. */
static inline int rs_piece_bytes(int64_t count, int in, int mask, int out, bool in_place) {
  return rs_slab_room(count, in) + (mask ? rs_slab_room(count, mask) : 0) + (in_place ? 0 : rs_slab_room(count, out));
}

#endif
