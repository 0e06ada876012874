/*
 * tune.h - (spec, architecture) to kernels, their shapes and their sources: a pure function of what was measured
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_TUNE_H
#define RS_TUNE_H

#include "shape.h"
#include "spec/spec.h"

/* The kernels of a plan, by the rows that they take; it has those it needs, and always the first of row, or of long. */
typedef enum rs_kernel {
  RS_KERNEL_ANY,        /* any strides */
  RS_KERNEL_NEIGHBOURS, /* columns: neighbours, wherever they begin */
  RS_KERNEL_DENSE,      /* elements of a row are neighbours, and short rows neighbours too; columns: few, all one run */
  RS_KERNEL_ALIGNED,    /* the same, on multiples of 16 bytes; columns: in words */
  RS_KERNEL_ALIGNED_SLOW, /* the same, beside memory that is slow for its multiprocessors: see rs_tune_device */
  RS_KERNEL_FEW,          /* so few rows that all are in work at once; columns: two */
  RS_KERNEL_AT_ONCE,      /* columns: so few steps that all tiles are in work at once */
  RS_KERNEL_TUPLES,       /* columns: two, and long; and after it for each number up to RS_MOST_TUPLE */
  RS_KERNEL_LAST_TUPLES = RS_KERNEL_TUPLES + RS_MOST_TUPLE - 2,
  RS_KERNEL_MANY,     /* columns: so many that blocks have all their steps */
  RS_KERNEL_WALK,     /* columns: so many that groups of threads have them; any strides */
  RS_KERNEL_LONG_ANY, /* from here on regime long, with the same meanings */
  RS_KERNEL_LONG_DENSE,
  RS_KERNEL_LONG_ALIGNED,
  RS_KERNEL_LONG_FEW,
  RS_KERNELS
} rs_kernel;

/* All kernels of a plan. */
typedef struct rs_geometry {
  rowscan_regime regime; /* AUTO: row and long, and rs_tune_long says which a run has */
  rs_shape shape[RS_KERNELS];
  size_t scratch;     /* regime column: bytes that a launch may have, unless one column takes more */
  rs_template forced; /* serves all runs, to be measured; none: whichever is the fastest */
} rs_geometry;

/* Those that runs of any number of rows may need. */
rs_geometry rs_tune(const rowscan_spec *spec, int arch);

/* Sets what follows from the rest of a kernel's shape: blocks that have threads, and what it asks L2 for. */
void rs_tune_finish(const rowscan_spec *spec, int arch, rs_kernel kernel, rs_shape *shape);

/* What is left to choose when the device is known, and changes no kernel. peak_gbs: of its memory; 0: not known. */
void rs_tune_device(rs_geometry *geometry, const rowscan_spec *spec, int arch, double peak_gbs);

rowscan_regime rs_kernel_regime(const rs_geometry *geometry, rs_kernel kernel);

/* Layout COLUMNS: which of a plan's kernels a template is, and its shape there; made of nothing: the plan has none. */
rs_kernel rs_column_kernel(rs_template made_of);
const rs_shape *rs_column_shape(const rs_geometry *geometry, rs_template made_of);

/* Kernels of a plan, and the i-th of them: first the one for many rows that begin where allocations do. */
int rs_geometry_kernels(const rs_geometry *geometry);
rs_kernel rs_geometry_kernel(const rs_geometry *geometry, int i);

/* "aligned": for people and keys; "rowscan_aligned": in the module. */
const char *rs_kernel_name(rs_kernel kernel);
const char *rs_kernel_symbol(rs_kernel kernel);

/*
 * Of a plan for any length: whether a warp each is faster than slabs for dense rows that are short enough for these.
 * words: of 16 bytes, which the rows come in.
 */
bool rs_tune_warp_each(const rowscan_spec *spec, bool words, int64_t length, int64_t rows, int multiprocessors);

/* Whether regime long serves a run, where a plan has it and row. kernel: the one that it has for these rows. */
bool rs_tune_long(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, int64_t length, int64_t rows,
                  int multiprocessors);

/* Blocks that a kernel for few rows serves. */
int64_t rs_tune_few_blocks(const rs_shape *shape, int multiprocessors);

/*
 * Of kernels that work out totals of rows of 2^k elements, and no results: k of the longest rows that have a block
 * each, and a thread each; and of the shortest that have a block.
 */
enum { RS_TOTALS_OF_BLOCKS = 18, RS_TOTALS_OF_THREADS = 14 };
int rs_tune_totals_least(const rowscan_spec *spec);

/*
 * How kernels keep the totals of a spec with ROWSCAN_PART_STATES, or numbers: kernels/states.cuh. Of an index its
 * element's key comes first. In segments the last element's key follows the total where keys tell them, and then a word
 * of INSIDE, MARKED and ANY (kernels/ops.cuh).
 */
typedef struct rs_kept_states {
  int64_t bytes;           /* of all of it */
  int64_t total, index_at; /* of a total; where an index and a count of 32 bits are */
  int64_t key_at, word_at; /* in segments; word_at - key_at: bytes of a key, 0 of flags */
} rs_kept_states;
rs_kept_states rs_tune_states(const rowscan_spec *spec);

/* Which kernel it is, and its shape: for the key. */
void rs_kernel_text(const rs_geometry *geometry, rs_kernel kernel, rs_text *text);

/* The lines of the key of its binary that name the spec and the kernel, one field=value each. */
void rs_kernel_canonical(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *text);

/* The source of one kernel, which the geometry has: some 15 lines that name templates of kernels/. */
void rs_emit(const rowscan_spec *spec, const rs_geometry *geometry, rs_kernel kernel, rs_text *source);

#endif
