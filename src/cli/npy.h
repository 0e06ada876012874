/*
 * npy.h - the header of .npy files, versions 1.0 to 3.0: bytes in, facts out, and the other way
 * SPDX-License-Identifier: MIT
 */
#ifndef NPY_H
#define NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rowscan.h"

enum { NPY_RANK_MAX = 64, NPY_HEADER_MAX = 2048, NPY_WHY_MAX = 512, NPY_SHAPE_TEXT_MAX = 2048 };

typedef struct npy_header {
  rowscan_type type;
  char descr[16]; /* the type as the file names it, "<f4" */
  bool fortran;   /* the first dimension is the dense one */
  int rank;       /* 0 to NPY_RANK_MAX */
  int64_t shape[NPY_RANK_MAX];
  int64_t count;     /* elements; count * 8 fits in int64_t */
  int64_t bytes;     /* of the data */
  size_t data_start; /* offset of the data in the file, aligned to nothing */
} npy_header;

/*
 * Reads the header of a file of `size` bytes. NumPy has no bfloat16 and names such arrays "V2", 2 bytes of anything:
 * they are BF16 if allow_bf16, else an error. On failure `why` says which field is wrong, and its value.
 */
bool npy_parse(npy_header *header, const void *file, size_t size, bool allow_bf16, char why[NPY_WHY_MAX]);

/*
 * How many bytes of a file have to be there, as its first `size` bytes tell: no more than those once npy_parse can say
 * what they are.
 */
size_t npy_wanted(const void *file, size_t size, bool allow_bf16);

/* Writes the header of a C-order array; returns its length, a multiple of 64. */
size_t npy_format(char header[NPY_HEADER_MAX], rowscan_type type, int rank, const int64_t *shape);

/* Strides in elements of a dense array, in C or Fortran order. */
void npy_strides(int64_t *strides, int rank, const int64_t *shape, bool fortran);

/* "(3, 4)", as Python writes a tuple; returns text. */
const char *npy_shape_text(char text[NPY_SHAPE_TEXT_MAX], int rank, const int64_t *shape);

#endif
