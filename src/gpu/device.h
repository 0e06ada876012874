/*
 * device.h - a GPU and its CUDA context, the caller's or the primary one
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_DEVICE_H
#define RS_DEVICE_H

#include "memory.h"

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

/* The device that the options name, or that of their CUDA context. Release it also if binding failed. */
rowscan_status rs_device_bind(rs_device *device, const rowscan_options *options);

/* Waits for all that is queued. */
void rs_device_finish(const rs_device *device);
void rs_device_release(const rs_device *device);

/* The device's CUDA context is current between the two; `pushed` says whether there is something to undo. */
rowscan_status rs_device_enter(const rs_device *device, bool *pushed);
void rs_device_leave(const rs_device *device, bool pushed);

rowscan_status rs_device_count(int *count);
rowscan_status rs_device_of(const void *pointer, int *ordinal); /* -1: the host's */
/* Whether the driver knows it as memory that a GPU has for itself: managed memory it shares. */
bool rs_device_alone(const rs_cuda *cuda, const void *pointer);
/* Whether the driver knows all of it as pinned memory of the host. */
bool rs_device_pinned(const rs_cuda *cuda, const void *pointer, int64_t bytes);
rowscan_status rs_device_info(int ordinal, rowscan_device_info *info);

#endif
