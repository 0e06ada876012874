// cuts.h - what the host and kernels both count with: cuts, which are kernels' second parameters, and their numbers
// SPDX-License-Identifier: MIT
//
// In C and in CUDA C++: src/family/ cuts rows so, and kernels are given it.
#ifndef RS_CUTS_H
#define RS_CUTS_H

#include "arrays.h"

// Words of 8 bytes from the state of the turns to the nodes, where all tiles are in work at once: the nodes keep off
// the word that all blocks count themselves in.
enum { RS_AT_ONCE_STATE = 32 };

// Columns of a tuple, in row_stream.cuh: from two to so many.
enum { RS_MOST_TUPLE = 8 };

// ---- columns.cuh ----

enum {
  RS_COLUMN_STEPS = 32,        // of a tile, at least, if a column has several
  RS_COLUMN_GROUP_LOG = 3,     // log2 of the tiles of a group, in abreast.cuh
  RS_COLUMN_LANE_SEGMENTS = 4, // segments of a lane
  RS_COLUMN_CHUNKS = 4         // of 32 lanes in a tile, at most
};

// How an array's part of a tile travels.
typedef enum ColumnMode {
  ONE_BY_ONE,  // any strides
  STRAIGHT,    // results alone, of any strides: a thread stores its own, and there is no copy
  BY_STEPS,    // in words of 16 bytes: each step is a run of neighbours, wherever it begins
  BY_SEGMENTS, // in words of 16 bytes: all of the tile is one run of neighbours, wherever it begins, and so is each
               // segment of the copy
  AS_A_RUN     // all of the tile is one run of neighbours, wherever it begins, and so is the copy
} ColumnMode;

typedef struct ColumnCut {
  int columns, strips;     // of a strip (the last may have fewer), and how many there are
  int steps, tiles;        // of a tile, and tiles along the length
  int outers, groups;      // of a tile, and how many tiles the last outer dimension takes
  int segments, lanes_log; // of a tile along the length; log2 of the lanes that add them up
  int in_mode, mask_mode, out_mode;
  int in_pitch, mask_pitch, out_pitch;        // elements between steps, in the copies
  int in_pad, mask_pad, out_pad;              // and more of them between segments
  int mask_at, out_at, totals_at, carries_at; // bytes; the copy of the input lies at 0
  unsigned by_columns, by_segments;           // for divide()
  unsigned by_in, by_mask, by_out;            // the same: by the words of a step
  unsigned by_segment, by_outer;              // by the elements of a segment and of an outer
} ColumnCut;

// ---- wide.cuh and askew.cuh ----

typedef struct WideCut {
  int width, segments; // log2 of the threads side by side, and of those along the length, of one outer
  int columns, strips; // there are
  int apart, most;     // columns from a strip to the next one, and of a strip at most: askew they may overlap
  int tiles;           // along the length
  int outers, groups;  // of a tile, and how many tiles the last outer dimension takes
  int ahead, share;    // where all is one run: a tile asks L2 for so many elements, so many tiles further on
  // Askew: elements from a step to the next one in shared memory; bytes that a warp has there, and from its first to
  // its mask's and its results' first.
  int in_pitch, mask_pitch, out_pitch;
  int room, mask_at, out_at;
} WideCut;

// ---- stream_columns.cuh ----

enum {
  RS_STREAM_STAGES = 16,     // at most
  RS_STREAM_PARTS_LOG = 4,   // log2 of the parts of a piece, at most
  RS_STREAM_TILES = 1 << 18, // of a row, at most
  RS_STREAM_BAND = 32,       // columns that the lanes of a warp have
  RS_STREAM_SLOTS_LOG = 2,   // log2 of the lanes that read tiles of a column, at most
  RS_STREAM_EACH_BYTES = 64, // of totals that such a lane reads
  RS_STREAM_MOVERS = 2       // warps that move tiles
};

typedef struct StreamCut {
  int columns, bands;                          // bands: of 32 columns
  int steps, tiles;                            // of a tile, and tiles along the length
  int pieces_log, parts_log;                   // log2 of the pieces of a tile, and of the parts of a piece
  int lanes;                                   // columns of all pieces
  unsigned by_lanes, by_columns;               // for divide()
  int in_pitch, mask_pitch;                    // elements between pieces, in the copies
  int mask_at, parts_at, ends_at, stage_bytes; // bytes, of a stage; the copy of the input lies at 0
  int stages;
  int ahead;              // turns from a tile to the one that it has brought to L2
  int scanners, reducers; // warps; besides the movers, and two for each band that walk
} StreamCut;

// ---- ring_columns.cuh ----

enum {
  RS_RING_BUFFERS = 2, // tiles of results
  RS_RING_MOVERS = 2   // warps
};

// An array's part of a tile in shared memory.
typedef struct RingPart {
  int at;           // bytes: where it begins in a stage
  int pitch, outer; // elements from a step to the next one, and from an outer to the next one
  int is_run;       // or each step is one
} RingPart;

typedef struct RingCut {
  int columns, strips;           // there are
  int apart, most;               // columns from a strip to the next one, and of a strip at most: they may overlap
  int outers, groups;            // of a block, and how many blocks the last outer dimension takes
  unsigned by_most;              // for divide()
  int warps;                     // that have columns; besides the movers
  int stage_bytes, buffer_bytes; // of a tile of inputs, and of results, which lie after all stages
  RingPart part[RS_ALL_ARRAYS];
} RingCut;

// ---- short_columns.cuh ----

typedef struct ShortCut {
  int columns; // of an outer
  int outers;  // of a slab
} ShortCut;

// ---- columns_at_once.cuh ----

enum { RS_AT_ONCE_EACH = 8 }; // segments of a lane, at most

// How an array's part of a tile travels: in words of 16 bytes, where all of it is one run, or each step is; or one by
// one.
typedef struct AtOnceSheet {
  int at;                       // bytes: where its copy lies
  int pad;                      // elements between segments there
  int one_by_one;               // or not
  unsigned by_step, by_segment; // for divide(), by the words of each; by_step only where steps are apart
} AtOnceSheet;

typedef struct AtOnceCut {
  int columns, strips;  // of a strip (the last may have fewer), and how many there are
  int segments, tiles;  // of a tile, a power of two; and tiles along the length
  int pitch, totals_at; // of the segments' totals: elements from one segment's to the next one's, and bytes
  unsigned by_columns, by_strips, by_tiles; // for divide()
  AtOnceSheet in, mask, out;
} AtOnceCut;

#endif
