/*
 * docs.c - the manual of cumsum() and cumprod(), for help() and inspect.signature()
 * SPDX-License-Identifier: MIT
 */
#include "call.h"

#define SIGNATURE                                                                                                      \
  "(x, dim=None, *, axis=None, reverse=False, exclusive=False, mask=None, mask_mode='select', init=None, "             \
  "totals=False, dtype=None, acc=None, out=None)\n--\n\n"
const char rp_cumsum_doc[] = "cumsum" SIGNATURE;
const char rp_cumprod_doc[] = "cumprod" SIGNATURE;
