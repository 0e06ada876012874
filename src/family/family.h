/*
 * family.h - kernel families: one row for each template of kernels/ that emitted source instantiates
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_FAMILY_H
#define RS_FAMILY_H

#include "shape.h"
#include "spec/rows.h"

/* How blocks of a launch share out the rows. */
typedef enum rs_sharing {
  RS_BY_GROUPS,  /* groups of threads take a row each and go round for those that are left */
  RS_BY_BLOCKS,  /* each block takes shape.rows rows, or one, and ends */
  RS_BY_TILES,   /* rows are cut over blocks, a tile each, which hand one another totals in scratch memory */
  RS_PERSISTENT, /* the same, with one block a multiprocessor */
  RS_BY_CUT      /* a cut of its own, which is the kernel's second parameter: layout COLUMNS */
} rs_sharing;

typedef struct rs_family {
  const char *name;   /* for people and keys */
  const char *header; /* of kernels/ */
  const char *call;   /* the template, with fields of rs_shape in braces */
  const char *cut;    /* type of the kernel's second parameter; NULL: it has none */
  rs_sharing sharing;
  /* Whether it takes an array of these rows; NULL: any. Of RS_BY_CUT the cut says so. */
  bool (*takes)(const rs_shape *shape, const rs_operand *array, const rs_rows *rows, const rowscan_spec *spec);
} rs_family;

/* By template. */
extern const rs_family rs_families[RS_TEMPLATES];

static inline const rs_family *rs_family_of(const rs_shape *shape) {
  return &rs_families[rs_template_kind(shape->made_of)];
}

/* The call of a shape's template. aligned: whether it is for rows on multiples of 16 bytes, where a template is both.
 */
void rs_family_call(const rs_shape *shape, bool aligned, rs_text *source);

#endif
