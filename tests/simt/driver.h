/*
 * driver.h - what all calls of the simulated driver share
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_DRIVER_H
#define SIMT_DRIVER_H

#include "calls.h"
#include "gpu/cuda.h"
#include "queue.h"
#include "report.h"
#include "simt.h"

/* The rest of cuda.h, under names that it will not take. */
enum {
  SIMT_ERROR_INVALID_VALUE = 1,
  SIMT_ERROR_NOT_INITIALIZED = 3,
  SIMT_ERROR_INVALID_CONTEXT = 201,
  SIMT_ERROR_INVALID_HANDLE = 400,
  SIMT_ERROR_NOT_FOUND = 500,
  SIMT_ERROR_ILLEGAL_ADDRESS = 700,
  SIMT_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  SIMT_ERROR_NOT_SUPPORTED = 801,
  SIMT_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  SIMT_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  SIMT_ERROR_CAPTURED_EVENT = 907
};

/* What a call needs: nothing, cuInit, or a current context as well. */
typedef enum simt_need { SIMT_NOTHING, SIMT_INIT, SIMT_CONTEXT } simt_need;

/* One call at a time. Takes the lock, counts, and says what a failure asked for by simt_fail is, or what is needed. */
int simt_driver_enter(const char *symbol, simt_need need);
void simt_driver_leave(const int *entered);

/*
 * Every call begins with one of these. `entered` is the error that was asked for: calls that free something do so all
 * the same and return it.
 */
#define BEGIN(need) int entered __attribute__((cleanup(simt_driver_leave))) = simt_driver_enter(__func__, need)

/* The stream that a handle means; what is wrong with it otherwise, a CUresult. */
int simt_driver_stream(CUstream handle, CUstream *stream, const char *symbol);

/* Queues work, or captures it. The work becomes the queue's. */
int simt_driver_submit(CUstream stream, simt_work work);

#endif
