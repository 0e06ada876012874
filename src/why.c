/*
 * why.c - why a kernel is, or is not, in the cache
 * SPDX-License-Identifier: MIT
 *
 * The keys of a spec's kernels are compared with those of all entries. The nearest one is that which differs in the
 * fewest fields, of several the one that was used last. Where nothing can be compiled, an entry serves whichever
 * compiler made it, and what else there is is compared as well as can be: no compiler is no value of the field.
 */
#include "why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "key.h"
#include "key_diff.h"

/* One kernel that is looked for. */
typedef struct wanted {
  rowscan_regime regime;
  rs_key_fields key;
  char name[RS_STORE_NAME];
  bool hit;
  const char *pack;
  char *damage;
  rs_key_fields other; /* what serves though its last line differs, for nothing can be compiled */
  char other_name[RS_STORE_NAME];
  const char *other_pack;
  rs_key_fields nearest;
  char nearest_name[RS_STORE_NAME];
  int distance;
  int64_t used;
} wanted;

typedef struct search {
  wanted kernel[RS_MAX_MODULES];
  int count;
  bool failed; /* out of memory */
} search;

static rowscan_status out_of_memory(void) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a comparison of keys");
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

/* Without a compiler a key has no last line, and no entry is quite what is asked for. */
static rowscan_status want_key(wanted *kernel, rs_builder *builder, const char *canonical, const char *source, int arch,
                               const char *stem) {
  rs_text key = {0};
  rowscan_status status = rs_builder_key(builder, canonical, source, arch, &key);
  if (!status) {
    rs_store_name(key.data, kernel->name);
    kernel->pack = rs_store_pack_of(rs_builder_store(builder), key.data);
    kernel->hit = kernel->pack != NULL;
  }
  if (!status || status == ROWSCAN_NO_COMPILER)
    status = rs_key_cut(&kernel->key, status ? stem : key.data) ? ROWSCAN_OK : out_of_memory();
  rs_text_free(&key);
  return status;
}

static rowscan_status want_any(wanted *kernel, rs_builder *builder, const char *stem) {
  char *other = rs_builder_served(builder, stem);
  if (!other)
    return ROWSCAN_OK;
  rs_store_name(other, kernel->other_name);
  kernel->other_pack = rs_store_pack_of(rs_builder_store(builder), other);
  bool cut = rs_key_cut(&kernel->other, other);
  free(other);
  return cut ? ROWSCAN_OK : out_of_memory();
}

static rowscan_status want(wanted *kernel, rs_builder *builder, const rowscan_spec *spec, const rs_geometry *geometry,
                           int arch) {
  rs_text canonical = {0}, source = {0}, stem = {0};
  kernel->regime = geometry->regime;
  rs_key_canonical(spec, geometry, &canonical);
  rs_emit(spec, geometry, &source);
  rowscan_status status =
      canonical.failed || source.failed ? out_of_memory() : rs_builder_stem(canonical.data, source.data, arch, &stem);
  if (!status)
    status = want_key(kernel, builder, canonical.data, source.data, arch, stem.data);
  if (!status)
    status = want_any(kernel, builder, stem.data);
  rs_text_free(&canonical);
  rs_text_free(&source);
  rs_text_free(&stem);
  return status;
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static void compare(wanted *kernel, const rs_store_item *item, rs_key_fields *key) {
  int distance = rs_key_differences(&kernel->key, key, NULL);
  if (kernel->nearest.text &&
      (distance > kernel->distance || (distance == kernel->distance && item->used <= kernel->used)))
    return;
  rs_key_fields_free(&kernel->nearest);
  kernel->nearest = *key;
  *key = (rs_key_fields){0}; /* it is the kernel's now */
  kernel->distance = distance;
  kernel->used = item->used;
  snprintf(kernel->nearest_name, sizeof kernel->nearest_name, "%s", item->name);
}

static int look(void *user, const rs_store_item *item) {
  search *all = user;
  for (int i = 0; i < all->count && !all->failed; i++) {
    wanted *kernel = &all->kernel[i];
    rs_key_fields key = {0};
    if (!strcmp(item->name, kernel->name)) {
      kernel->hit = kernel->hit || !item->damage;
      kernel->damage = item->damage ? strdup(item->damage) : NULL;
      all->failed = item->damage && !kernel->damage;
    } else if (item->key) {
      all->failed = !rs_key_cut(&key, item->key);
      if (!all->failed)
        compare(kernel, item, &key);
    }
    rs_key_fields_free(&key);
  }
  return all->failed;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static int tell(const wanted *kernel, int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rowscan_cache_difference differences[2 * RS_KEY_FIELDS];
  rowscan_cache_reason reason = {.size = sizeof reason,
                                 .regime = kernel->regime,
                                 .name = kernel->name,
                                 .hit = kernel->hit,
                                 .damage = kernel->hit ? NULL : kernel->damage,
                                 .differences = differences,
                                 .pack = kernel->pack};
  if (!kernel->hit && kernel->other.text) {
    reason.hit = 1;
    reason.damage = NULL;
    reason.name = kernel->other_name;
    reason.pack = kernel->other_pack;
    reason.difference_count = rs_key_differences(&kernel->key, &kernel->other, differences);
  } else if (!kernel->hit && !kernel->damage && kernel->nearest.text) {
    reason.nearest = kernel->nearest_name;
    reason.difference_count = rs_key_differences(&kernel->key, &kernel->nearest, differences);
  }
  return visit(user, &reason);
}

rowscan_status rs_why(rowscan_context *context, const rowscan_spec *spec, int arch,
                      int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rs_store *store = rs_builder_store(context->builder);
  if (!*rs_store_path(store) && !rs_store_packs(store, NULL))
    return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s", rs_store_why(store));
  search all = {0};
  rs_geometry geometry[RS_MAX_MODULES];
  rowscan_status status = ROWSCAN_OK;
  all.count = rs_tune(spec, rs_builder_tuned_arch(context->builder, arch), geometry);
  for (int i = 0; i < all.count && !status; i++)
    status = want(&all.kernel[i], context->builder, spec, &geometry[i], arch);
  if (!status && !rs_store_visit(store, look, &all))
    status = rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s can't be read", rs_store_path(store));
  if (!status && all.failed)
    status = out_of_memory();
  for (int i = 0; i < all.count && !status; i++)
    if (tell(&all.kernel[i], visit, user))
      break;
  for (int i = 0; i < all.count; i++) {
    rs_key_fields_free(&all.kernel[i].key);
    rs_key_fields_free(&all.kernel[i].nearest);
    rs_key_fields_free(&all.kernel[i].other);
    free(all.kernel[i].damage);
  }
  return status;
}
