/*
 * bench_line.h - a line of rowscan bench: a cell's figures, what they are worth, and how they are written
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_LINE_H
#define BENCH_LINE_H

#include "cells.h"
#include "spec/developer.h"

enum { BENCH_CSV_MAX = 1024 };

typedef struct bench_line {
  bench_cell cell;
  char shape[CELL_TEXT_MAX], type[CELL_TEXT_MAX];
  char label[4 * CELL_TEXT_MAX]; /* "short: 65536 x 512 inclusive f32": what --filter looks at */
  const char *variant, *group;
  cell_target target; /* its ratio is 0 where there is none */
  rowscan_timing timing;
  double gbs;
  double peak;          /* percent of the GPU's memory; 0 if that is not known */
  double ratio, kernel; /* the time of memcpy, and of the copy kernel (0: none), to the scan's */
  bool of_kernel;       /* what it is judged by */
  double score;         /* that ratio, to the target where there is one: the least is the worst */
} bench_line;

/* Names. targets: those of the suite hold on this engine. */
void bench_line_name(bench_line *line, const bench_cell *cell, unsigned variant, bool targets);

/* Figures, from the timing. peak_gbs: of the GPU's memory, 0 if it is not known. */
void bench_line_judge(bench_line *line, double peak_gbs);
bool bench_line_reached(const bench_line *line); /* its target; true where there is none */

void bench_line_head(void);
void bench_line_print(const bench_line *line);
void bench_line_print_worst(const bench_line *line);

/* A line of CSV; line NULL: the names of the columns. Returns its length. */
size_t bench_line_csv(char text[BENCH_CSV_MAX], const char *suite, const bench_line *line);

#endif
