/*
 * tuning.h - a tuning table: which kernels were the fastest for which rows on one kind of GPU
 * SPDX-License-Identifier: MIT
 *
 * A table is a text. Its first line says what it is and which version of the library made it, the second one for which
 * GPU. Each further line is a measurement of one spec and one size:
 *
 *   op=sum in=u8 ... length=26 layout=columns; rows=2403846 columns=4; column dense short_columns threads=128 ...;
 * ms=0.12253 before=0.22861
 *
 * A kernel is named by its regime, its place in a plan and its shape. Only contenders (contenders.h) are ever taken: a
 * line that names anything else, of another version perhaps, is as if it were not there. Bits do not depend on it.
 */
#ifndef RS_TUNING_H
#define RS_TUNING_H

#include "choose.h"

typedef struct rs_tuned {
  int64_t rows, columns; /* that were measured; layout ROWS: columns is 1 */
  rs_contender kernel;
} rs_tuned;

enum { RS_MOST_TUNED = 64 }; /* sizes of one spec; more are not looked at */

/* The two first lines of a table, each with its end; and whether a table begins so: else nobody should look at it. */
void rs_tuning_head(rs_text *text, const char *gpu, int arch, int multiprocessors);
bool rs_tuning_has_head(const char *table, const rs_text *head);

/* A line, with its end; times in milliseconds, by this kernel and by the one that would serve without the table. */
void rs_tuning_line(rs_text *text, const rowscan_spec *spec, const rs_tuned *tuned, double ms, double before_ms);

/* Adds the lines of a table that are not of this spec and this size; spec NULL: all. Each with its end. */
void rs_tuning_others(rs_text *text, const char *table, const rowscan_spec *spec, int64_t rows, int64_t columns);

/*
 * What a table has of a spec, which is complete, at most RS_MOST_TUNED; tuned: the architecture whose geometries its
 * kernels have. Returns the number, -1 if there is no memory.
 */
int rs_tuning_of(const char *table, const rowscan_spec *spec, int tuned, rs_tuned list[RS_MOST_TUNED]);

/*
 * The one of a list that serves these rows, -1: none. Measured were dense arrays; it serves such with as many columns
 * and with a number of rows that is a quarter larger or smaller at most, the nearest if there are several.
 */
int rs_tuning_for(const rs_tuned *list, int count, const rs_rows *rows, const rowscan_spec *spec);

#endif
