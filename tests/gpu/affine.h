/*
 * affine.h - an operator that tests add: it does not commute, and its totals are two numbers
 * SPDX-License-Identifier: MIT
 *
 * An element x is the map y -> f * y + x, with f = x, but in -1 .. 1, of floats and f = x | 1 of integers. A block's
 * total is the map of all its elements, one after another; a prefix is what such a map makes of an initial value, or of
 * 0. Programs with affine.c have it beside the library's operators.
 */
#ifndef AFFINE_H
#define AFFINE_H

#include "rowscan.h"

enum { AFFINE = ROWSCAN_ARGMIN + 1 };

#endif
