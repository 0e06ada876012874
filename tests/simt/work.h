/*
 * work.h - one thing that the simulated GPU does: a copy, a fill, a launch
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_WORK_H
#define SIMT_WORK_H

#include "gpu/cuda.h"
#include "module.h"

typedef enum simt_work_kind { SIMT_COPY, SIMT_FILL, SIMT_LAUNCH } simt_work_kind;

typedef struct simt_work {
  simt_work_kind kind;
  unsigned char *to;
  const unsigned char *from;
  size_t bytes;
  unsigned char value;
  unsigned char *staged; /* owned: a copy of pageable host memory, which `from` points to */
  simt_kernel *kernel;
  simt_launch launch; /* owns its parameters */
} simt_work;

/* Takes the arguments of cuLaunchKernel, which have been checked; parameters are copied. */
simt_work simt_work_launch(simt_kernel *kernel, unsigned blocks, unsigned threads, unsigned dynamic_bytes,
                           void **parameters);

simt_work simt_work_copy(const simt_work *work);
void simt_work_free(simt_work *work);

/* Does it. Memory that is gone by now is misuse. */
void simt_work_run(const simt_work *work);

#endif
