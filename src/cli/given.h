/*
 * given.h - cells of shapes that the caller of rowscan bench gives
 * SPDX-License-Identifier: MIT
 */
#ifndef GIVEN_H
#define GIVEN_H

#include "cells.h"

enum { GIVEN_MOST = 64 };

/*
 * Reads one shape as bench prints them, and its type: "65536 x 512", "64 x 4096 x 1024 dim 1 bf16", "8 x 100 i8 ->
 * i32", "8 x 100 f32 in f64", "8 x 100 of every 2nd f32" (or transposed, padded). Any number of dimensions up to 8;
 * without dim the last one is scanned, without a type it is f32. Whether the library can scan it is left to the
 * library. False: text is no shape; *cell is then of no use.
 */
bool given_cell(const char *text, bench_cell *cell);

#endif
