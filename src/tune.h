/*
 * tune.h - (spec, architecture) to kernels and their shapes: a pure function, with its measurements beside it
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_H
#define RS_TUNE_H

#include "columns_parts.h"
#include "spec.h"

/* The kernels of a plan, by the rows that they take; it has those it needs, and always the first of row, or of long. */
typedef enum rs_kernel {
  RS_KERNEL_ANY,        /* any strides */
  RS_KERNEL_NEIGHBOURS, /* columns: neighbours, wherever they begin */
  RS_KERNEL_DENSE,      /* elements of a row are neighbours, and short rows neighbours too; columns: few, all one run */
  RS_KERNEL_ALIGNED,    /* the same, on multiples of 16 bytes; columns: in words */
  RS_KERNEL_ALIGNED_SLOW, /* the same, beside memory that is slow for its multiprocessors: see rs_tune_device */
  RS_KERNEL_FEW,          /* the same, and so few that registers hold all of the run at once; columns: two */
  RS_KERNEL_AT_ONCE,      /* columns: so few steps that all tiles are in work at once */
  RS_KERNEL_LONG_ANY,     /* from here on regime long, with the same meanings */
  RS_KERNEL_LONG_DENSE,
  RS_KERNEL_LONG_ALIGNED,
  RS_KERNEL_LONG_FEW,
  RS_KERNELS
} rs_kernel;

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
  RS_TEMPLATE_COLUMNS,
  RS_TEMPLATE_STREAM_COLUMNS,
  RS_TEMPLATE_WIDE,
  RS_TEMPLATE_ASKEW,
  RS_TEMPLATE_SHORT_COLUMNS,
  RS_TEMPLATE_PAIRS,
  RS_TEMPLATE_COLUMNS_AT_ONCE
} rs_template;

/* How a kernel cuts rows. Powers of two, but for bytes, stages and min_blocks; what a template does not use is 0. */
typedef struct rs_shape {
  rs_template made_of;
  int threads;      /* of a block */
  int min_blocks;   /* that a multiprocessor must hold: caps the registers */
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

/* All kernels of a plan. */
typedef struct rs_geometry {
  rowscan_regime regime; /* AUTO: row and long, and rs_tune_long says which a run has */
  rs_shape shape[RS_KERNELS];
} rs_geometry;

/* Those that runs of any number of rows may need. */
rs_geometry rs_tune(const rowscan_spec *spec, int arch);

/* What is left to choose when the device is known, and changes no kernel. peak_gbs: of its memory; 0: not known. */
void rs_tune_device(rs_geometry *geometry, const rowscan_spec *spec, int arch, double peak_gbs);

rowscan_regime rs_kernel_regime(const rs_geometry *geometry, rs_kernel kernel);

/* What cuts the rows of regime column for its two kernels. */
void rs_tune_column_cuts(const rowscan_spec *spec, int arch, rs_columns *columns);

/* Elements of a tile of a template that has tiles. */
static inline int64_t rs_tile(const rs_shape *shape) {
  return (int64_t)shape->warps * shape->chunks * shape->lanes * shape->vector;
}

/* Kernels of a plan, and the i-th of them: first the one for many rows that begin where allocations do. */
int rs_geometry_kernels(const rs_geometry *geometry);
rs_kernel rs_geometry_kernel(const rs_geometry *geometry, int i);

/* "aligned": for people and keys; "rowscan_aligned": in the module. */
const char *rs_kernel_name(rs_kernel kernel);
const char *rs_kernel_symbol(rs_kernel kernel);

/* Whether regime long serves a run, where a plan has it and row. kernel: the one that it has for these rows. */
bool rs_tune_long(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, int64_t rows,
                  int multiprocessors);

/* Blocks that a kernel for few rows serves. */
int64_t rs_tune_few_blocks(const rs_shape *shape, int multiprocessors);

/* "ring threads=512 warps=16 ...": for people. */
void rs_shape_text(const rs_shape *shape, rs_text *text);

/* Which kernel it is, and its shape: for the key. */
void rs_kernel_text(const rs_geometry *geometry, rs_kernel kernel, rs_text *text);

#endif
