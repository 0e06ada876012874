/*
 * tune.h - (spec, architecture) to tile geometry: a pure function, with its measurements beside it
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_H
#define RS_TUNE_H

#include "spec.h"

/* How one regime's kernel cuts rows. Powers of two; fields that a regime does not use are 0. */
typedef struct rs_geometry {
  rowscan_regime regime;
  int threads;    /* of a block */
  int min_blocks; /* that a multiprocessor must hold of the ring's kernel: caps its registers */
  int warps;      /* of a group; row, short, long: the tile is warps * chunks * lanes * vector elements */
  int chunks;
  int lanes;
  int vector;
  int stages; /* row: tiles of input in flight in shared memory; 0: no bulk copies, tiles are loaded by their threads */
  int buffers; /* row, with stages: tiles of output on their way */
  int steps;   /* column: elements loaded before the first is used */
} rs_geometry;

enum { RS_MAX_MODULES = 2 };

/* Fills the geometries of the regimes that a spec may need, the one for many rows first; returns how many. */
int rs_tune(const rowscan_spec *spec, int arch, rs_geometry geometry[RS_MAX_MODULES]);

/* Elements of a tile of a regime that has tiles. */
static inline int64_t rs_tile(const rs_geometry *geometry) {
  return (int64_t)geometry->warps * geometry->chunks * geometry->lanes * geometry->vector;
}

/* Dynamic shared memory of a block: the ring of kernels/ring.cuh. */
int rs_shared_bytes(const rowscan_spec *spec, const rs_geometry *geometry);

/* Which of a plan's geometries serves a run: true for the second, long. */
bool rs_tune_long(const rowscan_spec *spec, int64_t rows, int multiprocessors);

/* "threads=1024 min_blocks=1 ..." with `separator` between the fields: for people, or a line each for the key. */
void rs_geometry_text(const rs_geometry *geometry, char separator, rs_text *text);

#endif
