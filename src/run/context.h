/*
 * context.h - what a context binds: an engine, a device, a builder, and the plans of one-call scans
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CONTEXT_H
#define RS_CONTEXT_H

#include <sys/types.h>

#include "compile/build.h"
#include "gpu/memory.h"
#include "gpu/table.h"
#include "gpu/verdicts.h"
#include "host/host.h"
#include "stage_slots.h"

typedef struct rs_device {
  const rs_cuda *cuda;
  int ordinal;
  CUdevice handle;
  CUcontext context;       /* the caller's, or the primary one */
  bool retained;           /* and is to be released */
  rs_device_memory memory; /* scratch, and the stream of its own for that */
  int arch;                /* 90 for sm_90 */
  bool overlaps;           /* programmatic dependent launches */
  int multiprocessors;
  double peak_gbs; /* of its memory; 0: not told */
  int64_t l2_bytes;
} rs_device;

struct rowscan_context {
  rowscan_engine engine;
  char *why; /* AUTO ended up with the host; NULL: it did not */
  rs_log log;
  void *user;
  void (*progress)(void *user, int64_t done_bytes, int64_t total_bytes);
  size_t staging_bytes;
  rs_host *host;
  rs_device device;    /* engine cuda */
  rs_slots_kept slots; /* of rowscan_scan_host on it */
  rs_builder *builder;
  rs_verdicts verdicts; /* of the device's driver, which no other context's need share */
  rs_table plans;
  pid_t process; /* that opened it */
};

/* This process is a child, by fork(), of the one that opened the context. */
bool rs_context_inherited(const rowscan_context *context);

/* nvrtc: taken over, in place of the one that the options name or that is found; NULL for that one. */
rowscan_status rs_context_open(rowscan_context **context, const rowscan_options *options, rs_nvrtc *nvrtc);
void rs_context_close(rowscan_context *context);

/* The device's CUDA context is current between the two; `pushed` says whether there is something to undo. */
rowscan_status rs_device_enter(const rs_device *device, bool *pushed);
void rs_device_leave(const rs_device *device, bool pushed);

rowscan_status rs_device_count(int *count);
rowscan_status rs_device_of(const void *pointer, int *ordinal); /* -1: the host's */
rowscan_status rs_device_info(int ordinal, rowscan_device_info *info);

#endif
