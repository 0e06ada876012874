/*
 * spec.h - a normalised problem: every field filled, checked, its canonical text, and the way back
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SPEC_H
#define RS_SPEC_H

#include <stdbool.h>

#include "base/text.h"
#include "rowscan.h"
#include "spec_fields.h"

/* Copies the caller's struct (of its own .size) and completes it. */
rowscan_status rs_spec_read(rowscan_spec *spec, const rowscan_spec *from);

/* The spec of a problem whose scanned dimension has so many elements, but for its layout and its rows' rank. */
rowscan_status rs_spec_of_problem(rowscan_spec *spec, const rowscan_problem *problem, int64_t length);

/* Into a caller's struct, no more than its own .size. Errors: BAD_ARGUMENT. */
rowscan_status rs_spec_write(rowscan_spec *to, const rowscan_spec *spec);

/* Whether two complete specs are the same. Errors: BAD_ARGUMENT: "what: field 'op': prod, but whose is sum". */
rowscan_status rs_spec_same(const rowscan_spec *spec, const rowscan_spec *as, const char *what, const char *whose);

/* Adds the spec as canonical text, one field=value a line, in a fixed order. */
void rs_spec_text(const rowscan_spec *spec, rs_text *text);

/* The same on one line, fields separated by blanks, and with the regime at the end if one is forced. */
void rs_spec_line(const rowscan_spec *spec, rs_text *text);

/* Bytes of a masked element's mask; 0: there is no mask. */
int rs_spec_mask_bytes(const rowscan_spec *spec);

/* Bytes of one element in all arrays of a complete spec's run: those that a scan must read and write. */
int rs_spec_element_bytes(const rowscan_spec *spec);

/* Whether rows of its length can be served. Errors: UNSUPPORTED. */
rowscan_status rs_spec_check_length(const rowscan_spec *spec);

/* Whether flags or keys in the place of a mask cut its rows into segments. */
bool rs_spec_has_segments(const rowscan_spec *spec);

/* How flags or keys cut its rows into segments, there or beside a mask; none: they do not. */
rowscan_mask_mode rs_spec_segments(const rowscan_spec *spec);

/* Whether the element before an element tells, too, whether a segment begins with it: by keys, or flags of the last. */
bool rs_spec_asks_neighbours(const rowscan_spec *spec);

/* How many further inputs it has, once its mask's mode is complete: its operator's, or one, of coefficients beside a
 * mask. */
int rs_spec_more(const rowscan_spec *spec);

/* Whether there are arrays of elements beside input, output and mask, or numbers that each run tells. */
bool rs_spec_has_further(const rowscan_spec *spec);

/* Whether its flags mark the last element of a segment, in the order of the scan, not the first. */
bool rs_spec_marks_last(const rowscan_spec *spec);

/* Whether a number is all that a block's total is: so that what comes of one row's elements may start another's. */
bool rs_spec_keeps_totals(const rowscan_spec *spec);

/* Whether the host engine can serve it: an operator of the caller's may have no functions. Errors: UNSUPPORTED. */
rowscan_status rs_spec_check_host(const rowscan_spec *spec);

/* Bytes of a total in registers, a power of two: of numbers of 4 or 8 bytes each, integers of no fewer than 32 bits. */
int rs_spec_register_bytes(const rowscan_spec *spec);

/*
 * Whether kernels have the dimensions of the rows' index in a loop, one at a time, which takes no more registers for
 * many than for few: unrolled, u64 rows of 2^28 spill 216 bytes with nine dimensions on sm_90. Three and fewer are
 * common, were measured unrolled, and stay so.
 */
bool rs_spec_loops(const rowscan_spec *spec);

/* "inclusive sum of f32 along rows of 32768, f32 out": for messages and the first line of generated sources. */
void rs_spec_describe(const rowscan_spec *spec, rs_text *text);

/* ---- from text --------------------------------------------------------------------------------------------------- */

/*
 * Reads field=value pairs, separated by blanks or ends of lines, in any order, and completes the spec. Fields are those
 * of rs_spec_line; each stands once, and all but `length` may be left out for their defaults. Errors: BAD_ARGUMENT and
 * UNSUPPORTED, which name the field and the value.
 */
rowscan_status rs_spec_parse(rowscan_spec *spec, const char *text);

/* Whether a pair of so many characters is one that could stand in such a text. Errors: BAD_ARGUMENT. */
rowscan_status rs_spec_check_pair(const char *pair, size_t length);

#endif
