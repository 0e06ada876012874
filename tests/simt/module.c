/*
 * module.c - compiled kernels, loaded
 * SPDX-License-Identifier: MIT
 *
 * A CUBIN of the simulator is a shared object. It is loaded from a file that is gone afterwards; SIMT_KEEP=1 leaves it,
 * for debuggers and for the names in reports of sanitizers.
 */
#include "module.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/cuda.h"
#include "image.h"
#include "report.h"

enum { SHARED_BYTES = 48 * 1024 }; /* that a kernel may have without asking */

/* Bytes of the object, which follows the header; an image may lie at any address. */
static int check_image(const char *image, int arch, bool of_ptx, size_t *bytes) {
  simt_image head;
  if (strncmp(image, SIMT_IMAGE_MAGIC, sizeof head.magic) != 0) /* PTX of a real architecture, too: it has no image */
    return CUDA_ERROR_INVALID_IMAGE;
  memcpy(&head, image, sizeof head);
  if (head.header_sum != simt_header_sum(&head) || head.sum != simt_sum(SIMT_SUM, image + sizeof head, head.bytes) ||
      head.twin != simt_twin_sum(simt_flags()))
    return CUDA_ERROR_INVALID_IMAGE;
  int made_for = (int)head.arch; /* serves the same major architecture, from its own minor on; as PTX all newer ones */
  if ((made_for / 10 != arch / 10 && !of_ptx) || made_for > arch)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  *bytes = head.bytes;
  return CUDA_SUCCESS;
}

static bool write_all(int fd, const char *bytes, size_t count) {
  while (count) {
    ssize_t wrote = write(fd, bytes, count);
    if (wrote <= 0)
      return false;
    bytes += wrote;
    count -= (size_t)wrote;
  }
  return true;
}

static void *open_object(const void *bytes, size_t count) {
  const char *dir = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/simt-module-XXXXXX", dir && *dir ? dir : "/tmp");
  int fd = mkstemp(path);
  bool wrote = fd >= 0 && write_all(fd, bytes, count);
  if (fd >= 0)
    close(fd);
  void *handle = wrote ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (fd >= 0 && !simt_setting("SIMT_KEEP", 0))
    unlink(path);
  if (wrote && !handle)
    simt_die("%s", dlerror());
  return handle;
}

static void find_shared(simt_module *module, const char *object) {
  struct link_map *map;
  int count = simt_object_shared(object, NULL);
  if (count < 0 || dlinfo(module->handle, RTLD_DI_LINKMAP, &map))
    simt_die("compiled kernels without a table of symbols");
  simt_span *spans = calloc((size_t)count + 1, sizeof *spans);
  module->shared = calloc((size_t)count + 1, sizeof *module->shared);
  if (!spans || !module->shared)
    simt_die("no memory");
  simt_object_shared(object, spans);
  for (int i = 0; i < count; i++) {
    module->shared[i] = (simt_shared){(unsigned char *)(map->l_addr + spans[i].at), spans[i].bytes};
    module->shared_bytes += (unsigned)spans[i].bytes;
  }
  module->shared_count = count;
  free(spans);
  if (module->shared_bytes > SHARED_BYTES)
    simt_die("kernels with %u bytes of static shared memory", module->shared_bytes);
}

/* ---- modules -------------------------------------------------------------------------------------------------------
 */

static int load_image(simt_module **module, const char *image, int arch, bool of_ptx) {
  size_t bytes;
  int error = check_image(image, arch, of_ptx, &bytes);
  if (error)
    return error;
  simt_module *made = calloc(1, sizeof *made);
  char *object = malloc(bytes);
  if (!made || !object)
    simt_die("no memory");
  memcpy(object, image + sizeof(simt_image), bytes);
  made->handle = open_object(object, bytes);
  simt_state **state = made->handle ? (simt_state **)dlsym(made->handle, "simt") : NULL;
  if (!state)
    simt_die("compiled kernels that can't be loaded");
  *state = &simt_grid_state;
  find_shared(made, object);
  free(object);
  *module = made;
  return CUDA_SUCCESS;
}

int simt_module_load(simt_module **module, const void *image, int arch) {
  char *of_ptx = strncmp(image, "//", 2) == 0 ? simt_image_of_ptx(image) : NULL;
  int error = load_image(module, of_ptx ? of_ptx : image, arch, of_ptx != NULL);
  free(of_ptx);
  return error;
}

static void release(simt_module *module) {
  if (!module->gone || module->users)
    return;
  while (module->kernels) {
    simt_kernel *kernel = module->kernels;
    module->kernels = kernel->next;
    free(kernel->name);
    free(kernel);
  }
  dlclose(module->handle); /* launches that are left have their parameters' sizes from it */
  free(module->shared);
  free(module);
}

void simt_module_unload(simt_module *module) {
  module->gone = true;
  release(module);
}

void simt_module_use(simt_module *module, int users) {
  module->users += users;
  release(module);
}

simt_kernel *simt_module_kernel(simt_module *module, const char *name) {
  for (simt_kernel *kernel = module->kernels; kernel; kernel = kernel->next)
    if (strcmp(kernel->name, name) == 0)
      return kernel;
  char facts[512];
  snprintf(facts, sizeof facts, "simt_facts_%s", name);
  simt_kernel made = {.entry = (void (*)(void))dlsym(module->handle, name),
                      .facts = dlsym(module->handle, facts),
                      .module = module,
                      .dynamic_limit = SHARED_BYTES,
                      .next = module->kernels};
  if (!made.entry || !made.facts)
    return NULL;
  simt_kernel *kernel = malloc(sizeof *kernel);
  made.name = strdup(name);
  if (!kernel || !made.name)
    simt_die("no memory");
  *kernel = made;
  return module->kernels = kernel;
}
