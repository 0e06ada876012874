/*
 * check.h - one run on the GPU, compared with the host engine bit for bit
 * SPDX-License-Identifier: MIT
 */
#ifndef GPU_CHECK_H
#define GPU_CHECK_H

#include "cases.h"
#include "device.h"
#include "suite.h"

/*
 * An array amid guard zones. The bytes between its elements and around them are as much part of the test as the
 * elements: they must stay as they are.
 */
typedef struct check_image {
  unsigned char *before; /* what it holds when a run begins; of the size of the device's memory */
  unsigned char *after;  /* what it must hold after; NULL for what a run must not change */
  void *device;
  size_t bytes, origin; /* of element [0, ..., 0] */
} check_image;

enum { /* those that are written come last, from CHECK_OUT on */
       CHECK_IN,
       CHECK_MASK,
       CHECK_INIT,
       CHECK_MORE,
       CHECK_SEGMENTS = CHECK_MORE + RS_MOST_MORE,
       CHECK_OUT,
       CHECK_TOTALS,
       CHECK_SECOND,
       CHECK_IMAGES
};

typedef struct check_run {
  const test_case *test; /* must live as long */
  check_image image[CHECK_IMAGES];
} check_run;

/* Makes the arrays on host and device, fills them, and has the host engine work out what must come out. */
bool check_prepare(check_run *run, const test_case *test, rowscan_plan *host);
void check_free(check_run *run);

/*
 * Makes `run` for rows of another run, from number `first` on, that lie elsewhere: its elements and what must come out
 * are those of the other run, and no engine is asked.
 */
void check_transplant(check_run *run, const test_case *test, const check_run *from, int64_t first);

/* Queues the arrays' first state; then a scan. */
void check_reset(check_run *run, device_stream stream);
bool check_queue(check_run *run, rowscan_plan *gpu, device_stream stream);

/* Waits, reads back, compares; counts the run as passed or failed. */
bool check_verify(check_run *run, device_stream stream);

/* The addresses of a run's arrays on one of the engines. */
void check_args(const check_run *run, rowscan_args *args, bool host);

/* All of it, on a stream of its own. */
bool check_case(const test_case *test, suite_plans *plans);

/* Reads back and compares what was put into the arrays by another call than rowscan_plan_run. */
bool check_bytes(const check_run *run, int which, unsigned char *now);

#endif
