/*
 * why.c - why a spec's kernels are, or are not, in the cache
 * SPDX-License-Identifier: MIT
 *
 * The key of a spec's kernels is compared with those of all entries. The nearest one is that which differs in the
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

/* The entry that is looked for. */
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
  bool failed; /* out of memory */
} wanted;

static rowscan_status out_of_memory(void) {
  return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for a comparison of keys");
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

/* Without a compiler a key has no last line, and no entry is quite what is asked for. */
static rowscan_status want_key(wanted *entry, rs_builder *builder, const char *canonical, const char *source, int arch,
                               const char *stem) {
  rs_text key = {0};
  rowscan_status status = rs_builder_key(builder, canonical, source, arch, &key);
  if (!status) {
    rs_store_name(key.data, entry->name);
    entry->pack = rs_store_pack_of(rs_builder_store(builder), key.data);
    entry->hit = entry->pack != NULL;
  }
  if (!status || status == ROWSCAN_NO_COMPILER)
    status = rs_key_cut(&entry->key, status ? stem : key.data) ? ROWSCAN_OK : out_of_memory();
  rs_text_free(&key);
  return status;
}

static rowscan_status want_any(wanted *entry, rs_builder *builder, const char *stem) {
  char *other = rs_builder_served(builder, stem);
  if (!other)
    return ROWSCAN_OK;
  rs_store_name(other, entry->other_name);
  entry->other_pack = rs_store_pack_of(rs_builder_store(builder), other);
  bool cut = rs_key_cut(&entry->other, other);
  free(other);
  return cut ? ROWSCAN_OK : out_of_memory();
}

static rowscan_status want(wanted *entry, rs_builder *builder, const rowscan_spec *spec, int arch) {
  rs_text canonical = {0}, source = {0}, stem = {0};
  rs_geometry geometry = rs_tune(spec, rs_builder_tuned_arch(builder, arch));
  entry->regime = geometry.regime;
  rs_key_canonical(spec, &geometry, &canonical);
  rs_emit(spec, &geometry, &source);
  rowscan_status status =
      canonical.failed || source.failed ? out_of_memory() : rs_builder_stem(canonical.data, source.data, arch, &stem);
  if (!status)
    status = want_key(entry, builder, canonical.data, source.data, arch, stem.data);
  if (!status)
    status = want_any(entry, builder, stem.data);
  rs_text_free(&canonical);
  rs_text_free(&source);
  rs_text_free(&stem);
  return status;
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static void compare(wanted *entry, const rs_store_item *item, rs_key_fields *key) {
  int distance = rs_key_differences(&entry->key, key, NULL);
  if (entry->nearest.text && (distance > entry->distance || (distance == entry->distance && item->used <= entry->used)))
    return;
  rs_key_fields_free(&entry->nearest);
  entry->nearest = *key;
  *key = (rs_key_fields){0}; /* it is the entry's now */
  entry->distance = distance;
  entry->used = item->used;
  snprintf(entry->nearest_name, sizeof entry->nearest_name, "%s", item->name);
}

static int look(void *user, const rs_store_item *item) {
  wanted *entry = user;
  rs_key_fields key = {0};
  if (!strcmp(item->name, entry->name)) {
    entry->hit = entry->hit || !item->damage;
    entry->damage = item->damage ? strdup(item->damage) : NULL;
    entry->failed = item->damage && !entry->damage;
  } else if (item->key) {
    entry->failed = !rs_key_cut(&key, item->key);
    if (!entry->failed)
      compare(entry, item, &key);
  }
  rs_key_fields_free(&key);
  return entry->failed;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static void tell(const wanted *entry, int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rowscan_cache_difference differences[2 * RS_KEY_FIELDS];
  rowscan_cache_reason reason = {.size = sizeof reason,
                                 .regime = entry->regime,
                                 .name = entry->name,
                                 .hit = entry->hit,
                                 .damage = entry->hit ? NULL : entry->damage,
                                 .differences = differences,
                                 .pack = entry->pack};
  if (!entry->hit && entry->other.text) {
    reason.hit = 1;
    reason.damage = NULL;
    reason.name = entry->other_name;
    reason.pack = entry->other_pack;
    reason.difference_count = rs_key_differences(&entry->key, &entry->other, differences);
  } else if (!entry->hit && !entry->damage && entry->nearest.text) {
    reason.nearest = entry->nearest_name;
    reason.difference_count = rs_key_differences(&entry->key, &entry->nearest, differences);
  }
  visit(user, &reason);
}

rowscan_status rs_why(rowscan_context *context, const rowscan_spec *spec, int arch,
                      int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rs_store *store = rs_builder_store(context->builder);
  if (!*rs_store_path(store) && !rs_store_packs(store, NULL))
    return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s", rs_store_why(store));
  wanted entry = {0};
  rowscan_status status = want(&entry, context->builder, spec, arch);
  if (!status && !rs_store_visit(store, look, &entry))
    status = rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s can't be read", rs_store_path(store));
  if (!status && entry.failed)
    status = out_of_memory();
  if (!status)
    tell(&entry, visit, user);
  rs_key_fields_free(&entry.key);
  rs_key_fields_free(&entry.nearest);
  rs_key_fields_free(&entry.other);
  free(entry.damage);
  return status;
}
