/*
 * shape.h - what a kernel is made of: its template, and how that cuts rows
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SHAPE_H
#define RS_SHAPE_H

#include <stdint.h>

/* The template of kernels/ that a kernel instantiates. */
typedef enum rs_template {
  RS_TEMPLATE_NONE, /* the plan has no such kernel */
  RS_TEMPLATE_ROWS, /* groups of threads load their tiles themselves */
  RS_TEMPLATE_SLAB,
  RS_TEMPLATE_RING,
  RS_TEMPLATE_TILES,
  RS_TEMPLATE_STREAM,
  RS_TEMPLATE_STREAM_ANY,
  RS_TEMPLATE_RING_ANY,
  RS_TEMPLATE_GATHER,
  RS_TEMPLATE_AT_ONCE,
  RS_TEMPLATE_COLUMNS, /* this and what follows: layout COLUMNS, the one that is preferred last */
  RS_TEMPLATE_ASKEW,
  RS_TEMPLATE_WIDE,
  RS_TEMPLATE_STREAM_COLUMNS,
  RS_TEMPLATE_SHORT_COLUMNS,
  RS_TEMPLATE_COLUMNS_AT_ONCE,
  RS_TEMPLATE_PAIRS,
  RS_TEMPLATES
} rs_template;

/* How a kernel cuts rows. Powers of two, but for bytes, stages and min_blocks; what a template does not use is 0. */
typedef struct rs_shape {
  rs_template made_of;
  int threads;      /* of a block */
  int min_blocks;   /* that a multiprocessor must hold: caps the registers; fewer if it would spill, see compile.h */
  int shared_bytes; /* dynamic shared memory of a block */
  int warps;        /* of a stream of columns, or of a group; the tile is warps * chunks * lanes * vector elements */
  int chunks;
  int lanes;
  int vector;
  int stages;   /* tiles of input in flight in shared memory */
  int reducers; /* of a stream: warps that only reduce */
  int buffers;  /* tiles of output on their way */
  int steps;    /* columns: of a thread */
  int width;    /* columns: vectors side by side in a tile */
  int rows;     /* of a slab; any number */
  int word;     /* of a slab: elements that are moved at once in shared memory */
  int prefetch; /* elements that a block asks L2 for before the work before it is done; 0: none */
} rs_shape;

/* Elements of a tile of a template that has tiles. */
static inline int64_t rs_tile(const rs_shape *shape) {
  return (int64_t)shape->warps * shape->chunks * shape->lanes * shape->vector;
}

#endif
