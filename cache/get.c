/*
 * get.c - an entry, verified, by its key or stem, from the directory or a pack
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "inside.h"

/*
 * Whether this process has set an entry's time within the last minute and since the same survey: by a clock that only
 * goes forward, so that no other clock, this machine's or a file server's, has each hit write. A table by hash: two
 * entries that share a place in it, in want of it at the same time, write more often.
 */
static bool touched_lately(rs_store *store, uint64_t which) {
  _Atomic uint64_t *place = &store->touched[which % RS_TOUCHED];
  uint64_t last = atomic_load_explicit(place, memory_order_relaxed);
  uint32_t tag = (uint32_t)(which >> 32), now = (uint32_t)(rs_now_ms() / 1e3) + 1;
  if (last && last >> 32 == tag && now - (uint32_t)last < RS_TOUCH_SECONDS)
    return true;
  atomic_store_explicit(place, (uint64_t)tag << 32 | now, memory_order_relaxed);
  return false;
}

/* In the same tick of the clock counts as after the survey. */
static bool is_before(const struct timespec *time, const struct timespec *survey) {
  return time->tv_sec < survey->tv_sec || (time->tv_sec == survey->tv_sec && time->tv_nsec <= survey->tv_nsec);
}

static void touch(rs_store *store, int shard, const char *file, const char *key, const struct stat *status) {
  bool ahead;
  int64_t age = rs_file_age(status);
  struct timespec survey = rs_surveyed(store, &ahead);
  bool since = !ahead && is_before(&status->st_mtim, &survey);
  if (age <= RS_TOUCH_SECONDS && age >= -RS_AHEAD_SECONDS && !since)
    return;
  uint64_t which = rs_entry_hash(key) ^ ((uint64_t)survey.tv_sec * 1000000000 + (uint64_t)survey.tv_nsec);
  if (!touched_lately(store, which * UINT64_C(0x9e3779b97f4a7c15)))
    rs_file_touch(shard, file);
}

static void hand_out(const rs_loaded *loaded, rs_entry *entry) {
  memcpy(entry->part, loaded->texts.part, sizeof entry->part);
  entry->memory = loaded->memory;
}

bool rs_load_key(rs_store *store, const char *key, bool use, int without, rs_loaded *loaded) {
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  int shard = rs_shard_open(store, name);
  if (shard < 0)
    return false;
  const char *file = name + 3, *damage = NULL;
  bool sound = rs_load(shard, file, without, loaded, &damage);
  if (sound && strcmp(loaded->texts.key, key) != 0) {
    damage = "it holds another key";
    free(loaded->memory);
    sound = false;
  }
  if (sound && use)
    touch(store, shard, file, key, &loaded->status);
  close(shard);
  if (!sound && loaded->error && use)
    rs_tell_unread(store, name, loaded);
  else if (damage && use) {
    rs_store_add(store, RS_COUNT_damaged, 1);
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "entry %s/%s is not used: %s", store->path, name, damage);
  }
  return sound;
}

static bool same(const char *key, const char *other) {
  return other && strcmp(key, other) == 0;
}

/* The same for a stem and any last line but one; *key, to be freed, is the whole. */
static bool load_stem(rs_store *store, const char *stem, const char *missed, bool use, rs_loaded *loaded, char **key) {
  char *endings = rs_endings_read(store);
  const char *at = endings;
  while ((*key = rs_endings_next(&at, stem)) != NULL &&
         (same(*key, missed) || !rs_load_key(store, *key, use, RS_STORE_PARTS, loaded)))
    free(*key);
  free(endings);
  return *key != NULL;
}

static bool get_own(rs_store *store, const char *key, bool use, int without, rs_entry *entry) {
  rs_loaded loaded;
  if (!rs_load_key(store, key, use, without, &loaded))
    return false;
  hand_out(&loaded, entry);
  return true;
}

static bool get_own_stem(rs_store *store, const char *stem, const char *missed, rs_entry *entry) {
  rs_loaded loaded;
  char *key;
  if (!load_stem(store, stem, missed, true, &loaded, &key))
    return false;
  free(key);
  hand_out(&loaded, entry);
  return true;
}

static bool get_packed(rs_store *store, const char *key, rs_asked by, rs_entry *entry) {
  rs_loaded loaded;
  const char *path;
  int damaged = 0;
  bool found = rs_tier_get(store, key, by, &loaded, &path, &damaged);
  rs_store_add(store, RS_COUNT_damaged, damaged);
  if (!found)
    return false;
  hand_out(&loaded, entry);
  return true;
}

bool rs_store_get(rs_store *store, const char *key, int without, rs_entry *entry) {
  *entry = (rs_entry){0};
  return get_own(store, key, true, without, entry) || get_packed(store, key, RS_BY_KEY_OR_STEM, entry);
}

bool rs_store_get_again(rs_store *store, const char *key, rs_entry *entry) {
  *entry = (rs_entry){0};
  return get_own(store, key, false, RS_STORE_PARTS, entry);
}

bool rs_store_get_stem(rs_store *store, const char *stem, const char *missed, rs_entry *entry) {
  *entry = (rs_entry){0};
  return get_own_stem(store, stem, missed, entry) || get_packed(store, stem, RS_BY_STEM, entry);
}

char *rs_store_key_of_stem(rs_store *store, const char *stem, bool packed) {
  rs_loaded loaded;
  const char *path;
  char *key;
  int damaged = 0; /* looking is not using */
  if (packed || !load_stem(store, stem, NULL, false, &loaded, &key)) {
    if (!rs_tier_get(store, stem, RS_BY_STEM, &loaded, &path, &damaged))
      return NULL;
    key = strdup(loaded.texts.key);
  }
  free(loaded.memory);
  return key;
}

const char *rs_store_pack_of(rs_store *store, const char *key) {
  rs_loaded loaded;
  const char *path;
  int damaged = 0; /* looking is not using */
  if (!rs_tier_get(store, key, RS_BY_KEY, &loaded, &path, &damaged))
    return NULL;
  free(loaded.memory);
  return path;
}

void rs_entry_free(rs_entry *entry) {
  free(entry->memory);
  *entry = (rs_entry){0};
}
