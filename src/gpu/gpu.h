/*
 * gpu.h - what programs of a GPU share: the device, what makes their code, and what its driver rejects
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_GPU_H
#define RS_GPU_H

#include "base/status.h"
#include "compile/build.h"
#include "device.h"
#include "verdicts.h"

typedef struct rs_gpu {
  rs_device device; /* arch 0: there is none, and programs can only be looked at */
  rs_builder *builder;
  rs_verdicts verdicts; /* of the device's driver, which no other context's need share */
  const rs_log *log;
} rs_gpu;

#endif
