/*
 * module.h - compiled kernels, loaded
 * SPDX-License-Identifier: MIT
 */
#ifndef SIMT_MODULE_H
#define SIMT_MODULE_H

#include <stdbool.h>

#include "grid.h"

typedef struct simt_module simt_module;

typedef struct simt_kernel {
  char *name;
  void (*entry)(void);
  const simt_facts *facts;
  simt_module *module;
  unsigned dynamic_limit; /* bytes of dynamic shared memory a launch may ask for */
  struct simt_kernel *next;
} simt_kernel;

struct simt_module {
  void *handle;        /* of dlopen */
  simt_shared *shared; /* static shared variables of all its kernels */
  int shared_count;
  unsigned shared_bytes;
  simt_kernel *kernels; /* those that were asked for */
  int users;            /* launches that are queued or in graphs */
  bool gone;            /* unloaded: they must not run any more */
};

/* Loads what nvrtc.c made for this architecture. Returns 0 or a CUresult. */
int simt_module_load(simt_module **module, const void *image, int arch);
void simt_module_unload(simt_module *module);
void simt_module_use(simt_module *module, int users); /* so many more, or fewer */

/* NULL: there is no such kernel. */
simt_kernel *simt_module_kernel(simt_module *module, const char *name);

#endif
