/*
 * work.c - one thing that the simulated GPU does: a copy, a fill, a launch
 * SPDX-License-Identifier: MIT
 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "report.h"

/* A copy of exactly the size, so that AddressSanitizer sees a kernel read past it. */
static void *duplicate(const void *bytes, size_t count, size_t align) {
  void *copy = NULL;
  if (posix_memalign(&copy, align < 16 ? 16 : align, count))
    simt_die("no memory");
  memcpy(copy, bytes, count);
  return copy;
}

static void own_parameters(simt_work *work, void *const *parameters) {
  const simt_facts *facts = work->launch.facts;
  for (unsigned i = 0; i < facts->parameters; i++)
    work->launch.parameter[i] = duplicate(parameters[i], facts->bytes[i], facts->align[i]);
  simt_module_use(work->kernel->module, 1);
}

simt_work simt_work_launch(simt_kernel *kernel, unsigned blocks, unsigned threads, unsigned dynamic_bytes,
                           void **parameters) {
  simt_work work = {.kind = SIMT_LAUNCH,
                    .kernel = kernel,
                    .launch = {.name = kernel->name,
                               .entry = kernel->entry,
                               .facts = kernel->facts,
                               .shared = kernel->module->shared,
                               .shared_count = kernel->module->shared_count,
                               .blocks = blocks,
                               .threads = threads,
                               .dynamic_bytes = dynamic_bytes}};
  own_parameters(&work, parameters);
  return work;
}

simt_work simt_work_copy(const simt_work *work) {
  simt_work copy = *work;
  if (work->kind == SIMT_LAUNCH)
    own_parameters(&copy, work->launch.parameter);
  if (work->staged)
    copy.from = copy.staged = duplicate(work->staged, work->bytes, 16);
  return copy;
}

void simt_work_free(simt_work *work) {
  if (work->kind == SIMT_LAUNCH) {
    for (unsigned i = 0; i < work->launch.facts->parameters; i++)
      free(work->launch.parameter[i]);
    simt_module_use(work->kernel->module, -1);
  }
  free(work->staged);
}

/* What was the GPU's when the work was queued must still be. Pageable memory is the caller's affair. */
static void run_copy(const simt_work *work) {
  if (!simt_memory_around(work->to, work->bytes) && !simt_memory_around(work->from, work->bytes))
    simt_die("a copy of %zu bytes from %p to %p: the memory of the GPU was freed before", work->bytes,
             (const void *)work->from, (void *)work->to);
  memmove(work->to, work->from, work->bytes);
}

static void run_fill(const simt_work *work) {
  if (!simt_memory_around(work->to, work->bytes))
    simt_die("a fill of %zu bytes at %p: the memory was freed before", work->bytes, (void *)work->to);
  memset(work->to, work->value, work->bytes);
}

void simt_work_run(const simt_work *work) {
  char after[300];
  switch (work->kind) {
  case SIMT_COPY:
    run_copy(work);
    break;
  case SIMT_FILL:
    run_fill(work);
    break;
  case SIMT_LAUNCH:
    if (work->kernel->module->gone)
      simt_die("kernel %s runs after its module was unloaded", work->launch.name);
    simt_grid_run(&work->launch);
    snprintf(after, sizeof after, "after kernel %s", work->launch.name);
    simt_memory_check(after);
    break;
  }
}
