/*
 * facts.h - what a kernel takes of the hardware, as the assembler tells it, and what making it took
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_FACTS_H
#define RS_FACTS_H

#include <stdbool.h>

#include "base/text.h"

/* The most of a source's kernels; registers are 0 if it was not told. */
typedef struct rs_facts {
  int registers, shared_bytes, local_bytes, spill_bytes; /* as in rowscan_module_info */
  int fewer_blocks; /* a multiprocessor than its source's launch bounds say (compile.h); not in the log */
  int compile_us;   /* of NVRTC, once it was loaded; not in its log */
} rs_facts;

/*
 * Reads NVRTC's log of a compile with --ptxas-options=-v, and adds the lines that are not such facts (warnings and
 * errors) to `rest`.
 */
rs_facts rs_facts_from_log(const char *log, rs_text *rest);

/* One field=value a line, and the other way. False: not such a text, byte for byte. */
void rs_facts_print(const rs_facts *facts, rs_text *text);
bool rs_facts_parse(rs_facts *facts, const char *text);

#endif
