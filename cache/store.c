/*
 * store.c - bytes in, bytes out, by key text
 * SPDX-License-Identifier: MIT
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "file.h"
#include "inside.h"

static const int64_t default_limit = (int64_t)256 << 20;

void rs_store_say(const rs_store *store, int level, const char *format, ...) {
  if (!store->options.log)
    return;
  char line[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  rs_plain_in_place(line, sizeof line, false);
  store->options.log(store->options.user, level, line);
}

static bool is_off(const rs_store_options *options) {
  const char *value = secure_getenv("ROWSCAN_CACHE");
  return options->off || (value && strcmp(value, "off") == 0);
}

static void open_place(rs_store *store, const char *dir) {
  store->dir = rs_place_open(dir, &store->path, store->why, sizeof store->why);
  rs_plain_in_place(store->why, sizeof store->why, false);
  if (!*store->why)
    return;
  if (store->dir < 0) {
    rs_store_say(store, RS_WARNING, "nothing is kept on disk: %s", store->why);
    return;
  }
  rs_store_say(store, RS_WARNING, "the cache is in %s: %s", store->path, store->why);
  *store->why = 0;
}

rs_store *rs_store_open(const rs_store_options *options) {
  rs_store *store = calloc(1, sizeof *store);
  if (!store)
    return NULL;
  store->options = *options;
  if (store->options.limit_bytes <= 0)
    store->options.limit_bytes = default_limit;
  store->dir = -1;
  if (!is_off(options)) {
    open_place(store, options->dir);
    rs_tier_open(store);
  } else
    snprintf(store->why, sizeof store->why, "turned off by %s", options->off ? "the program" : "ROWSCAN_CACHE=off");
  store->options.dir = store->options.packs = store->options.installed_packs = NULL;
  return store;
}

void rs_store_close(rs_store *store) {
  if (!store)
    return;
  rs_counts_save(store);
  if (store->dir >= 0)
    close(store->dir);
  rs_tier_close(store->tier);
  free(store->path);
  free(store);
}

const char *rs_store_path(const rs_store *store) {
  return store->path ? store->path : "";
}

const char *rs_store_why(const rs_store *store) {
  return store->why;
}

int64_t rs_store_limit(const rs_store *store) {
  return store->options.limit_bytes;
}

static void touch(const rs_store *store, int fan, const char *file, const struct stat *status) {
  int64_t age = rs_file_age(status);
  if (age > RS_TOUCH_SECONDS || age < -RS_AHEAD_SECONDS || rs_surveyed_since(store, &status->st_mtim))
    utimensat(fan, file, NULL, AT_SYMLINK_NOFOLLOW);
}

static void hand_out(const rs_loaded *loaded, rs_entry *entry) {
  memcpy(entry->part, loaded->texts.part, sizeof entry->part);
  entry->memory = loaded->memory;
}

bool rs_load_key(rs_store *store, const char *key, bool use, int without, rs_loaded *loaded) {
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  int fan = rs_fan_open(store, name);
  if (fan < 0)
    return false;
  const char *file = name + 3, *damage = NULL;
  bool sound = rs_load(fan, file, without, loaded, &damage);
  if (sound && strcmp(loaded->texts.key, key) != 0) {
    damage = "it is another key's";
    free(loaded->memory);
    sound = false;
  }
  if (sound && use)
    touch(store, fan, file, &loaded->status);
  close(fan);
  if (damage && use) {
    rs_store_add(store, RS_COUNT_damaged, 1);
    rs_store_say(store, RS_WARNING, "entry %s/%s is not used: %s", store->path, name, damage);
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

static bool get_packed(rs_store *store, const char *key, bool is_stem, rs_entry *entry) {
  rs_loaded loaded;
  const char *path;
  int damaged = 0;
  bool found = rs_tier_get(store, key, is_stem, &loaded, &path, &damaged);
  rs_store_add(store, RS_COUNT_damaged, damaged);
  if (!found)
    return false;
  hand_out(&loaded, entry);
  return true;
}

bool rs_store_get(rs_store *store, const char *key, rs_entry *entry) {
  return rs_store_get_without(store, key, RS_STORE_PARTS, entry);
}

bool rs_store_get_without(rs_store *store, const char *key, int part, rs_entry *entry) {
  *entry = (rs_entry){0};
  return get_own(store, key, true, part, entry) || get_packed(store, key, false, entry);
}

bool rs_store_get_again(rs_store *store, const char *key, rs_entry *entry) {
  *entry = (rs_entry){0};
  return get_own(store, key, false, RS_STORE_PARTS, entry);
}

bool rs_store_get_stem(rs_store *store, const char *stem, const char *missed, rs_entry *entry) {
  *entry = (rs_entry){0};
  return get_own_stem(store, stem, missed, entry) || get_packed(store, stem, true, entry);
}

char *rs_store_key_of_stem(rs_store *store, const char *stem) {
  rs_loaded loaded;
  const char *path;
  char *key;
  int damaged = 0; /* looking is not using */
  if (!load_stem(store, stem, NULL, false, &loaded, &key)) {
    if (!rs_tier_get(store, stem, true, &loaded, &path, &damaged))
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
  if (!rs_tier_get(store, key, false, &loaded, &path, &damaged))
    return NULL;
  free(loaded.memory);
  return path;
}

void rs_entry_free(rs_entry *entry) {
  free(entry->memory);
  *entry = (rs_entry){0};
}

static bool publish(const rs_store *store, const char *name, const void *bytes, size_t count) {
  char fan_name[3] = {name[0], name[1], 0};
  if (mkdirat(store->dir, fan_name, 0700) != 0 && errno != EEXIST)
    return false;
  int fan = rs_fan_open(store, name);
  if (fan < 0)
    return false;
  bool kept = rs_publish(fan, name + 3, bytes, count);
  int error = errno;
  close(fan);
  errno = error;
  return kept;
}

bool rs_store_put(rs_store *store, const char *key, const rs_part parts[RS_STORE_PARTS]) {
  if (store->dir < 0)
    return false;
  size_t bytes;
  unsigned char *file = rs_entry_encode(key, parts, &bytes);
  if (!file)
    return false;
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  bool kept = false, noted = false;
  if ((uint64_t)bytes > (uint64_t)rs_store_target(store)) {
    rs_store_say(store, RS_WARNING, "entry %s/%s is not kept: %zu bytes are too many for a cache of at most %lld",
                 store->path, name, bytes, (long long)store->options.limit_bytes);
  } else {
    noted = rs_evict_before_put(store, (int64_t)bytes);
    kept = publish(store, name, file, bytes);
    if (!kept)
      rs_store_say(store, RS_WARNING, "entry %s/%s is not kept: %m", store->path, name);
  }
  free(file);
  if (kept)
    rs_endings_note(store, key);
  if (kept && !noted)
    rs_evict_after_put(store);
  rs_counts_save(store);
  return kept;
}

_Static_assert((int)RS_STORE_NAME == (int)RS_ENTRY_NAME, "store.h tells the room that names take");
void rs_store_name(const char *key, char name[RS_STORE_NAME]) {
  rs_entry_name(key, name);
}

bool rs_store_has(rs_store *store, const char name[RS_STORE_NAME]) {
  int fan = rs_fan_open(store, name);
  bool has = fan >= 0 && faccessat(fan, name + 3, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (fan >= 0)
    close(fan);
  return has;
}

void rs_store_remove(rs_store *store, const char *key) {
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  int fan = rs_fan_open(store, name);
  if (fan < 0)
    return;
  unlinkat(fan, name + 3, 0);
  close(fan);
}
