/*
 * why.c - why a spec's kernels are, or are not, in the cache
 * SPDX-License-Identifier: MIT
 *
 * The key of each of a spec's kernels is compared with those of all entries, those of packs included. The nearest one
 * is that which differs in the fewest fields, of several the one that was used last, and that of a pack, whose use is
 * not known, after those of the directory; one of the same kernel before any other. A pack's entry serves whichever
 * compiler made it, and so does any where nothing can be compiled; what else there is is compared as well as can be: no
 * compiler is no value of the field.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/status.h"
#include "compile/key.h"
#include "family/tune.h"
#include "run/plan.h"
#include "spec/arch.h"

/* An entry, by its name; of one in a pack, its file. */
typedef struct found {
  rs_key_fields key;
  char name[RS_STORE_NAME];
  const char *pack;
} found;

/* The entry that is looked for. */
typedef struct wanted {
  rs_kernel kernel;
  rowscan_regime regime;
  found asked;
  char stem[RS_STORE_NAME]; /* of the key */
  bool hit;
  char *damage;
  found damaged; /* without its key */
  found other;   /* what serves though its last line differs: a pack's, or where nothing can be compiled */
  found nearest;
  int distance; /* of that, and when it was used */
  int64_t used;
} wanted;

typedef struct search {
  wanted entry[RS_KERNELS];
  int count;
  bool failed; /* out of memory */
} search;

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
    rs_store_name(key.data, entry->asked.name);
    entry->asked.pack = rs_store_pack_of(rs_builder_store(builder), key.data);
    entry->hit = entry->asked.pack != NULL;
  }
  if (!status || status == ROWSCAN_NO_COMPILER)
    status = rs_key_cut(&entry->asked.key, status ? stem : key.data) ? ROWSCAN_OK : out_of_memory();
  rs_text_free(&key);
  return status;
}

static rowscan_status want_any(wanted *entry, rs_builder *builder, const char *stem, int arch) {
  rs_store_name(stem, entry->stem);
  char *other = rs_builder_served(builder, stem, arch);
  if (!other)
    return ROWSCAN_OK;
  rs_store_name(other, entry->other.name);
  entry->other.pack = rs_store_pack_of(rs_builder_store(builder), other);
  bool cut = rs_key_cut(&entry->other.key, other);
  free(other);
  return cut ? ROWSCAN_OK : out_of_memory();
}

static rowscan_status want(wanted *entry, rs_builder *builder, const rowscan_spec *spec, const rs_geometry *geometry,
                           int arch) {
  rs_text canonical = {0}, source = {0}, stem = {0};
  entry->regime = rs_kernel_regime(geometry, entry->kernel);
  rs_kernel_canonical(spec, geometry, entry->kernel, &canonical);
  rs_emit(spec, geometry, entry->kernel, &source);
  rowscan_status status =
      canonical.failed || source.failed ? out_of_memory() : rs_builder_stem(canonical.data, source.data, arch, &stem);
  if (!status)
    status = want_key(entry, builder, canonical.data, source.data, arch, stem.data);
  if (!status)
    status = want_any(entry, builder, stem.data, arch);
  rs_text_free(&canonical);
  rs_text_free(&source);
  rs_text_free(&stem);
  return status;
}

static rowscan_status want_all(search *all, rs_builder *builder, const rowscan_spec *spec, int given) {
  int arch = rs_compiled_arch(spec, given);
  rs_geometry geometry = rs_tune(spec, rs_tuned_arch(builder, spec, arch));
  rowscan_status status = ROWSCAN_OK;
  all->count = rs_geometry_kernels(&geometry);
  for (int i = 0; i < all->count && !status; i++) {
    all->entry[i].kernel = rs_geometry_kernel(&geometry, i);
    status = want(&all->entry[i], builder, spec, &geometry, arch);
  }
  return status;
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static int distance_of(const rs_key_fields *asked, const rs_key_fields *found) {
  const char *kernel = rs_key_value(found, "kernel");
  bool same = kernel && !strcmp(kernel, rs_key_value(asked, "kernel"));
  return rs_key_differences(asked, found, NULL) + (same ? 0 : 2 * RS_KEY_FIELDS);
}

static bool is_universal(const rs_key_fields *key) {
  return rs_key_value(key, "universal") != NULL;
}

static void compare(wanted *entry, const rs_store_item *item, rs_key_fields *key) {
  if (is_universal(key) != is_universal(&entry->asked.key))
    return; /* near to no scan, or to all */
  int distance = distance_of(&entry->asked.key, key);
  if (entry->nearest.key.text &&
      (distance > entry->distance || (distance == entry->distance && item->used <= entry->used)))
    return;
  rs_key_fields_free(&entry->nearest.key);
  entry->nearest.key = *key;
  *key = (rs_key_fields){0}; /* it is the entry's now */
  entry->distance = distance;
  entry->used = item->used;
  snprintf(entry->nearest.name, sizeof entry->nearest.name, "%s", item->name);
  entry->nearest.pack = item->pack;
}

/* The first that is damaged is told. Whether there was memory for it. */
static bool note_damage(wanted *entry, const rs_store_item *item) {
  if (entry->damage)
    return true;
  entry->damage = strdup(item->damage);
  snprintf(entry->damaged.name, sizeof entry->damaged.name, "%s", item->name);
  entry->damaged.pack = item->pack;
  return entry->damage;
}

/* What is damaged has no key, but the index of a pack has its stem. */
static bool is_wanted(const wanted *entry, const rs_store_item *item) {
  return !strcmp(item->name, entry->asked.name) || (item->damage && item->stem && !strcmp(item->stem, entry->stem));
}

/* Whether there was memory for it. */
static bool look_for(wanted *entry, const rs_store_item *item) {
  rs_key_fields key = {0};
  bool enough = true;
  if (is_wanted(entry, item)) {
    entry->hit = entry->hit || !item->damage;
    enough = !item->damage || note_damage(entry, item);
  } else if (item->key) {
    enough = rs_key_cut(&key, item->key);
    if (enough)
      compare(entry, item, &key);
  }
  rs_key_fields_free(&key);
  return enough;
}

static int look_at_item(void *user, const rs_store_item *item) {
  search *all = user;
  for (int i = 0; i < all->count && !all->failed; i++)
    all->failed = !look_for(&all->entry[i], item);
  return all->failed;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static int tell_reason(const wanted *entry, int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rowscan_cache_difference differences[2 * RS_KEY_FIELDS];
  const found *shown = entry->hit                ? &entry->asked
                       : entry->other.key.text   ? &entry->other
                       : entry->damage           ? &entry->damaged
                       : entry->nearest.key.text ? &entry->nearest
                                                 : &entry->asked;
  bool nearest = shown == &entry->nearest, other = shown == &entry->other;
  rowscan_cache_reason reason = {.size = sizeof reason,
                                 .kernel = rs_kernel_name(entry->kernel),
                                 .regime = entry->regime,
                                 .name = nearest ? entry->asked.name : shown->name,
                                 .nearest = nearest ? shown->name : NULL,
                                 .damage = shown == &entry->damaged ? entry->damage : NULL,
                                 .hit = entry->hit || other,
                                 .differences = differences,
                                 .pack = shown->pack};
  if (nearest || other)
    reason.difference_count = rs_key_differences(&entry->asked.key, &shown->key, differences);
  return visit(user, &reason);
}

static void free_wanted(wanted *entry) {
  rs_key_fields_free(&entry->asked.key);
  rs_key_fields_free(&entry->nearest.key);
  rs_key_fields_free(&entry->other.key);
  free(entry->damage);
}

static rowscan_status explain(rowscan_context *context, const rowscan_spec *spec, int arch,
                              int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  rs_store *store = rs_builder_store(context->gpu.builder);
  if (!*rs_store_path(store) && !rs_store_packs(store, NULL))
    return rs_fail(ROWSCAN_CACHE_FAILED, "there is no cache on disk: %s%s", rs_store_why(store),
                   rs_store_unused(store));
  search *all = calloc(1, sizeof *all);
  if (!all)
    return out_of_memory();
  rowscan_status status = want_all(all, context->gpu.builder, spec, arch);
  if (!status && !rs_store_visit(store, look_at_item, all))
    status = rs_fail(ROWSCAN_CACHE_FAILED, "the cache directory %s cannot be read completely", rs_store_path(store));
  if (!status && !rs_store_visit_packs(store, look_at_item, all))
    status = rs_fail(ROWSCAN_CACHE_FAILED, "some entries of the packs cannot be read: %m");
  if (!status && all->failed)
    status = out_of_memory();
  for (int i = 0; i < all->count && !status; i++)
    if (tell_reason(&all->entry[i], visit, user))
      break;
  for (int i = 0; i < all->count; i++)
    free_wanted(&all->entry[i]);
  free(all);
  return status;
}

rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                 int (*visit)(void *user, const rowscan_cache_reason *reason), void *user) {
  RS_UNCANCELLED;
  rowscan_spec complete;
  int number;
  rowscan_status status = rs_spec_read(&complete, spec);
  if (!status)
    status = rs_arch_read(arch, &number);
  return status ? status : explain(context, &complete, number, visit, user);
}
