/*
 * growth.h - the cells that show how a scan's time grows
 * SPDX-License-Identifier: MIT
 */
#ifndef GROWTH_H
#define GROWTH_H

#include "cell.h"

/*
 * First 2^26 elements of f32 in rows of every length from 1 to 2^26, in steps of x2 and at an odd length between each
 * two (the last row may make it a few more); then rows of a few lengths, from one to 2^28 elements, in steps of x2.
 * Last arrays of about 2^26 elements, then of about 2^22, along their columns: 1 to 4096 of these, in steps as lengths.
 * Not to be called by two threads at a time.
 */
const bench_cell *growth_cells(int *count);

#endif
