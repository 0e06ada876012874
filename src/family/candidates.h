/*
 * candidates.h - geometries as rows of tables, and the search for one that an architecture has room for
 * SPDX-License-Identifier: MIT
 *
 * The first candidates of a table were measured (tests/results/geometry.csv). What is legal is arithmetic, so that a
 * type, an operator or an architecture that nobody measured has a sane geometry too. Registers that it does not foresee
 * compile.c finds: it compiles a kernel that spills again with fewer blocks a multiprocessor.
 */
#ifndef RS_CANDIDATES_H
#define RS_CANDIDATES_H

#include "shape.h"
#include "spec/spec.h"
#include "spec/types.h"

typedef struct rs_candidate {
  int warps;  /* of a block */
  int chunks; /* of a warp; columns: steps of a thread */
  int blocks; /* of a multiprocessor, at most */
  int weight; /* of an element of its tiles, the empty ones of a row's last tile too; 0: the first legal one is taken */
} rs_candidate;

/* What is tried next where a candidate does not fit with its blocks. */
typedef enum rs_next { RS_ONE_BLOCK_LESS, RS_HALF_THE_BLOCKS, RS_NEXT_CANDIDATE } rs_next;

/* Whether a multiprocessor has room for shape->min_blocks blocks; tells stages and bytes of shared memory. */
typedef bool rs_legal(const rowscan_spec *spec, int arch, rs_shape *shape);

/* The first or cheapest candidate that is legal. The shape has what all of them share. False: none is legal. */
bool rs_search(const rowscan_spec *spec, int arch, const rs_candidate *candidates, int count, rs_next next,
               rs_legal *legal, rs_shape *shape);

/*
 * As many tiles of input in shared memory as fit beside `other` bytes of a block, `most` at most; false: fewer than
 * two, or than `most`.
 */
bool rs_fit_stages(rs_shape *shape, int arch, int64_t stage_bytes, int64_t other, int most);

/* Blocks of so many threads that a multiprocessor has so many registers a thread for; one at least. */
int rs_blocks_with(int registers, int threads);

/* Whether its geometries were measured, and their registers seen to suffice: those of sm_90 alone. */
static inline bool rs_arch_measured(int arch) {
  return arch / 10 == 9;
}

static inline int rs_bytes_of(rowscan_type type) {
  return (int)rowscan_type_bytes(type);
}

/* Arrays of elements that a scan reads, and bytes of an element in all of them; the same of those that it writes. */
int rs_inputs(const rowscan_spec *spec);
int rs_read_bytes(const rowscan_spec *spec);
int rs_outputs(const rowscan_spec *spec);
int rs_written_bytes(const rowscan_spec *spec);

/* Whether totals take two registers. */
static inline bool rs_is_wide(const rowscan_spec *spec) {
  return rs_spec_register_bytes(spec) > 4;
}

/* Whether elements are bytes whose sums are exact, and inside of a tile of 32 bits: Inside in kernels/held.cuh. */
static inline bool rs_sums_bytes(const rowscan_spec *spec) {
  bool integers = rs_type_kind(spec->acc_type) != RS_FLOAT && !rs_is_fixed(spec->acc_type);
  return spec->op == ROWSCAN_SUM && rs_bytes_of(spec->in_type) == 1 && integers &&
         spec->mask_mode <= ROWSCAN_MASK_SELECT;
}

/* Whether totals are wider than most floats: f64, or fixed point, which takes as many registers. */
static inline bool rs_in_doubles(const rowscan_spec *spec) {
  return spec->acc_type == ROWSCAN_F64 || rs_is_fixed(spec->acc_type);
}

/* Whether instructions, and not memory, are what a scan waits for, or its totals take eight registers; and whether they
 * take so many that some templates spill. */
static inline bool rs_computes(const rowscan_spec *spec) {
  return rs_op_computes(rs_op_of(spec->op)) || rs_spec_has_segments(spec) || rs_spec_register_bytes(spec) > 16;
}
static inline bool rs_computes_wide(const rowscan_spec *spec) {
  bool wide = rs_in_doubles(spec) || rowscan_type_bytes(spec->in_type) == 8;
  return rs_computes(spec) && (wide || rs_spec_has_segments(spec));
}

/*
 * Whether a multiprocessor has room for the blocks of a shape, which differs from one that was tuned in warps, chunks,
 * steps or blocks; sets the stages and bytes of shared memory that follow from these. By the kind of its template.
 */
bool rs_rows_fit(const rowscan_spec *spec, int arch, rs_shape *shape);
bool rs_slab_fits(const rowscan_spec *spec, int arch, rs_shape *shape);
bool rs_columns_fit(const rowscan_spec *spec, int arch, rs_shape *shape);

/* The kernels of regimes row and long, length > 0, and of short; by rs_kernel, which tune.h has. */
void rs_tune_row(const rowscan_spec *spec, int arch, rs_shape kernels[]);
void rs_tune_long_rows(const rowscan_spec *spec, int arch, rs_shape kernels[]);
void rs_tune_short(const rowscan_spec *spec, int arch, rs_shape kernels[]);

/* How a stream of the template that the shape is made of cuts rows, or few long columns; whether it can. */
bool rs_tune_stream(const rowscan_spec *spec, int arch, rs_shape *shape);

/* Whether a ring of rows has room. */
bool rs_ring_fits_rows(const rowscan_spec *spec, int arch, rs_shape *shape);

/*
 * All kernels of rows with further arrays, and of columns where a regime is forced, of the spec's length or of any. And
 * whether rows of these are cut over blocks.
 */
void rs_tune_further(const rowscan_spec *spec, int arch, rs_shape kernels[]);
void rs_tune_universal(const rowscan_spec *spec, rs_shape kernels[]);
bool rs_tune_further_long(const rowscan_spec *spec, const rs_shape kernels[], int64_t length, int64_t rows,
                          int multiprocessors);

/* Those of columns of a length that is known, where no regime is forced; `of` has what their cuts count with. */
void rs_tune_further_columns(const rowscan_spec *spec, rs_shape of[RS_TEMPLATES]);

/* Those of rows of any length: few tiles of a warp each, many of a block each. */
void rs_tune_any_length(const rowscan_spec *spec, int arch, rs_shape kernels[]);

/* Those that work out totals of rows, and no results. */
void rs_tune_totals(const rowscan_spec *spec, rs_shape kernels[]);

/* Whether rows are short enough for slabs (kernels/short.cuh). */
bool rs_slab_serves(const rowscan_spec *spec);

/*
 * words: the kernel for input, output and mask that begin on multiples of 16 bytes; false where it would be that for
 * any place, since the length is odd. Rows that slabs do not serve have shapes too, up to 8 KB.
 */
bool rs_tune_slab(const rowscan_spec *spec, int arch, bool words, rs_shape *shape);

/* The kernels of layout COLUMNS, by template; length > 0. */
void rs_tune_columns(const rowscan_spec *spec, int arch, rs_shape of[RS_TEMPLATES]);

#endif
