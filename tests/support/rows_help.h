/*
 * rows_help.h - rows that a test describes by hand
 * SPDX-License-Identifier: MIT
 */
#ifndef ROWS_HELP_H
#define ROWS_HELP_H

#include "spec/rows.h"

/* Bytes of the elements of all arrays. */
static inline void set_bytes(rs_rows *rows, const rowscan_spec *spec) {
  const rowscan_type types[RS_ARRAYS] = {[RS_IN] = spec->in_type,
                                         [RS_OUT] = spec->out_type,
                                         [RS_MASK] = spec->mask_mode ? spec->mask_type : ROWSCAN_TYPE_DEFAULT,
                                         [RS_INIT] = rs_kept_type(spec->acc_type),
                                         [RS_TOTALS] = rs_kept_type(spec->acc_type)};
  for (int a = 0; a < RS_ARRAYS; a++)
    rows->array[a].bytes = (int64_t)rowscan_type_bytes(types[a]);
}

#endif
