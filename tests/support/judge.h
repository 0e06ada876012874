/*
 * judge.h - the order of combination, slowly and obviously: what every engine is compared with
 * SPDX-License-Identifier: MIT
 */
#ifndef JUDGE_H
#define JUDGE_H

#include <stdbool.h>

#include "spec/rows.h"

/* Does what rs_host_run does, and writes P(0) too where rows have `initial`. */
void judge_scan(const rowscan_spec *spec, const rs_rows *rows);

/* The value of a half or bfloat16, and the one nearest to x, ties to even. */
double judge_value(rowscan_type type, uint16_t bits);
uint16_t judge_round(rowscan_type type, double x);

/* Stores the lowest bits of a number as an element. */
void judge_write(rowscan_type type, void *p, uint64_t bits);

/* Equal bit for bit, or both NaN. */
bool judge_equal(rowscan_type type, const void *a, const void *b);

#endif
