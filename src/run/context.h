/*
 * context.h - what a context binds: an engine, a device, a builder, and the plans of one-call scans
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CONTEXT_H
#define RS_CONTEXT_H

#include <sys/types.h>

#include "calls.h"
#include "gpu/table.h"
#include "gpu/tiers.h"
#include "host/host.h"
#include "spares.h"
#include "stage_slots.h"

/* That one scan of host memory may be dealt to. */
enum { RS_MOST_GPUS = 16 };

struct rowscan_context {
  rowscan_engine engine;
  char *why;             /* AUTO ended up with the host; NULL: it did not */
  const rs_cuda *driver; /* that has started nevertheless, and knows memory of GPUs; NULL: none */
  rs_log log;
  void *user;
  void (*progress)(void *user, int64_t done_bytes, int64_t total_bytes);
  size_t staging_bytes;
  rs_host *host;
  rs_gpu gpu;          /* its device: engine cuda */
  rs_tiers tiers;      /* of the gpu, if it has them */
  rs_slots_kept slots; /* of rowscan_scan_host on it */
  rs_spares spares;    /* of calls about parts of rows on it */
  rs_table programs;   /* of one-call scans */
  rs_calls calls;      /* those, as they were read */
  pid_t process;       /* that opened it */
  /* Of each further GPU for rowscan_scan_host, at engine cuda. */
  rowscan_context *further[RS_MOST_GPUS - 1];
  int further_count;
};

/* This process is a child, by fork(), of the one that opened the context. */
bool rs_context_inherited(const rowscan_context *context);

/* A driver that the context has, or has started; NULL: none. */
static inline const rs_cuda *rs_context_driver(const rowscan_context *context) {
  return context->driver ? context->driver : context->gpu.device.cuda;
}

/*
 * Whether the processor may read and write these rows, and nobody waits for a stream of its own: memory of a GPU is
 * looked for where the context has a driver. Errors: BAD_ARGUMENT.
 */
rowscan_status rs_context_check_memory(const rowscan_context *context, const rowscan_spec *spec, const rs_rows *rows,
                                       const void *stream);
static inline rowscan_status rs_context_check_host(const rowscan_context *context, const rowscan_spec *spec,
                                                   const rs_rows *rows, const void *stream) {
  return stream || rs_context_driver(context) ? rs_context_check_memory(context, spec, rows, stream) : ROWSCAN_OK;
}

/* nvrtc: taken over, in place of the one that the options name or that is found; NULL for that one. */
rowscan_status rs_context_open(rowscan_context **context, const rowscan_options *options, rs_nvrtc *nvrtc);
void rs_context_close(rowscan_context *context);

#endif
