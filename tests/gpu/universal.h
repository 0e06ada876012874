/*
 * universal.h - runs by universal kernels, which no context chooses while it waits for others
 * SPDX-License-Identifier: MIT
 */
#ifndef GPU_UNIVERSAL_H
#define GPU_UNIVERSAL_H

#include "check.h"
#include "spec/rows.h"

/* Whether there are universal kernels for a spec. */
bool universal_serves(const rowscan_spec *spec);

/* Queues a scan by them; and one of any rows of a complete spec, which may have flags of parts of rows. */
bool universal_queue(const check_run *run, device_stream stream);
bool universal_launch(const rowscan_spec *spec, const rs_rows *rows, device_stream stream);

/* Before the suite's context is closed, or is another one. */
void universal_close(void);

#endif
