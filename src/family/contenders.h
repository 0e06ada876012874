/*
 * contenders.h - every kernel that could serve a spec, preferred or not: what a choice is to be judged by
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CONTENDERS_H
#define RS_CONTENDERS_H

#include "tune.h"

typedef struct rs_contender {
  rowscan_regime regime; /* not AUTO */
  rs_kernel kernel;      /* its place in a plan, which says what rows it takes */
  rs_shape shape;
} rs_contender;

enum { RS_MOST_CONTENDERS = 512 };

/*
 * Fills `list` with the contenders of a spec and returns their number: each template with the shape that the tables
 * give it, and with warps, chunks, steps and blocks halved and doubled as far as the architecture has room. Shapes that
 * nobody measured may spill registers; compile.h then gives them fewer blocks a multiprocessor. The spec is complete
 * and its length is known and more than 0.
 */
int rs_contenders(const rowscan_spec *spec, int arch, rs_contender list[RS_MOST_CONTENDERS]);

#endif
