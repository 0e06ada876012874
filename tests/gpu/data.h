/*
 * data.h - elements to scan: the usual, the extreme and the odd
 * SPDX-License-Identifier: MIT
 */
#ifndef GPU_DATA_H
#define GPU_DATA_H

#include "random.h"
#include "rowscan.h"

typedef enum data_kind {
  DATA_GENTLE,  /* floats below 1 (around 1 for a product), small integers */
  DATA_WIDE,    /* magnitudes far apart; any integers */
  DATA_SPECIAL, /* zeros of both signs, subnormals; the largest, the infinite and NaN, a few a row; limits of integers
                 */
  DATA_EXACT,   /* small whole numbers and zeros of both signs */
  DATA_SPARSE,  /* the usual, between stretches of zeros of one sign */
  DATA_RAW,     /* any bits */
  DATA_KINDS
} data_kind;

extern const char *const data_kind_names[DATA_KINDS];

/* Fills count elements; rows are about `length` long. */
void data_elements(void *to, rowscan_type type, rowscan_op op, data_kind kind, int64_t count, int64_t length,
                   random_source *random);

/* About half of them zero; the rest any that the type has. */
void data_mask(void *to, rowscan_type type, int64_t count, random_source *random);

bool data_is_nan(rowscan_type type, const void *element);

#endif
