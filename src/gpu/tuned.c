/*
 * tuned.c - which architecture's geometries the kernels of a spec have: their own, or an older one's
 * SPDX-License-Identifier: MIT
 *
 * From sm_90 on kernels make bulk copies, which NVRTC before CUDA 12 does not know; what is made for sm_80 runs there.
 * Which of the two a cache has depends on who filled it. Asking it takes two sources and a look: 0.06 ms on a slow
 * core, of those who have no compiler or forbid it. And $ROWSCAN_TUNE names another's, which have the same bits: so a
 * GPU tests the geometries of those that are not at hand.
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "spec/arch.h"

enum { BULK_COPIES = 90, BEFORE_THEM = 80, SMALL_BEFORE_THEM = 86 };

int rs_compiled_arch(const rowscan_spec *spec, int arch) {
  return spec->length == RS_ANY_LENGTH ? rs_arch_generation(arch) : arch;
}

/* The key of one of its kernels without the last line; empty: there is none. False: out of memory. */
static bool write_stem(const rowscan_spec *spec, const rs_geometry *geometry, int i, int arch, rs_text *stem) {
  rs_text canonical = {0}, source = {0};
  if (i >= rs_geometry_kernels(geometry))
    return true;
  rs_kernel kernel = rs_geometry_kernel(geometry, i);
  rs_kernel_canonical(spec, geometry, kernel, &canonical);
  rs_emit(spec, geometry, kernel, &source);
  bool enough =
      !canonical.failed && !source.failed && rs_builder_stem(canonical.data, source.data, arch, stem) == ROWSCAN_OK;
  rs_text_free(&canonical);
  rs_text_free(&source);
  return enough;
}

/* packed: a pack has it, whose entries serve whichever compiler made them. */
static bool has(rs_builder *builder, const rs_text *stem, bool packed) {
  char *key = stem->data ? rs_store_key_of_stem(rs_builder_store(builder), stem->data, packed) : NULL;
  free(key);
  return key != NULL;
}

/* Whose kernel of this place the cache has; NOBODY: neither's, or both have the same. */
typedef enum kept_by { NOBODY, OWN, OLDER } kept_by;

static kept_by kept(rs_builder *builder, const rowscan_spec *spec, const rs_geometry geometry[2], int i, int arch,
                    bool packed) {
  rs_text own = {0}, older = {0};
  kept_by whose = NOBODY;
  if (write_stem(spec, &geometry[0], i, arch, &own) && write_stem(spec, &geometry[1], i, arch, &older) &&
      !(own.data && older.data && !strcmp(own.data, older.data)))
    whose = has(builder, &own, packed) ? OWN : has(builder, &older, packed) ? OLDER : NOBODY;
  rs_text_free(&own);
  rs_text_free(&older);
  return whose;
}

/* Not the first alone: a pack may have been made of some. */
static kept_by any_kept(rs_builder *builder, const rowscan_spec *spec, int own, int older, int arch, bool packed) {
  const rs_geometry geometry[2] = {rs_tune(spec, own), rs_tune(spec, older)};
  kept_by whose = NOBODY;
  if (packed && !rs_store_packs(rs_builder_store(builder), NULL))
    return NOBODY;
  for (int i = 0; i < RS_KERNELS && whose == NOBODY; i++)
    whose = kept(builder, spec, geometry, i, arch, packed);
  return whose;
}

/* Whether an architecture's multiprocessors have room for the blocks of another's geometries, and its copies. */
static bool holds(int arch, int others) {
  return rs_arch_shared_bytes(others) <= rs_arch_shared_bytes(arch) && (others < BULK_COPIES || arch >= BULK_COPIES);
}

int rs_tuned_arch(rs_builder *builder, const rowscan_spec *spec, int arch) {
  int named = rs_builder_tuned_for(builder), own = named && holds(arch, named) ? named : arch;
  if (own < BULK_COPIES)
    return own;
  int older = holds(arch, BEFORE_THEM) ? BEFORE_THEM : SMALL_BEFORE_THEM;
  switch (rs_builder_makes(builder, arch)) {
  case RS_MAKES_ALL:
    return own;
  case RS_MAKES_NO_BULK_COPIES:
    return any_kept(builder, spec, own, older, arch, true) == OWN ? own : older;
  case RS_MAKES_OLD_PTX:
    return any_kept(builder, spec, own, older, arch, false) == OWN ? own : older;
  default:
    return any_kept(builder, spec, own, older, arch, false) == OLDER ? older : own;
  }
}
