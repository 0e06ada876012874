/*
 * spec_parse.h - a spec from its text: the inverse of rs_spec_text and rs_spec_line
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SPEC_PARSE_H
#define RS_SPEC_PARSE_H

#include "spec.h"

/*
 * Reads field=value pairs, separated by blanks or ends of lines, in any order, and completes the spec. Fields are those
 * of rs_spec_line; each stands once, and all but `length` may be left out for their defaults. Errors: BAD_ARGUMENT and
 * UNSUPPORTED, which name the field and the value.
 */
rowscan_status rs_spec_parse(rowscan_spec *spec, const char *text);

/* Whether a pair of so many characters is one that could stand in such a text. Errors: BAD_ARGUMENT. */
rowscan_status rs_spec_check_pair(const char *pair, size_t length);

#endif
