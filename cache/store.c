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
#include "base/word.h"
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

void rs_tell_unread(const rs_store *store, const char *name, const rs_loaded *loaded) {
  errno = loaded->error;
  rs_store_say(store, RS_WARNING, "%s/%s can't be read: %m", store->path, name);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool is_off(const rs_store_options *options) {
  const char *value = secure_getenv("ROWSCAN_CACHE");
  return options->off || (value && rs_is_word(value, "off"));
}

static void open_place(rs_store *store) {
  double start = rs_store_ms();
  store->dir = rs_place_open(&store->place, &store->path, store->why);
  rs_plain_in_place(store->why, sizeof store->why, false);
  if (store->dir < 0)
    rs_store_say(store, RS_WARNING, "nothing is kept on disk: %s", store->why);
  else if (*store->why)
    rs_store_say(store, RS_WARNING, "the cache is in %s: %s", store->path, store->why);
  if (store->dir < 0)
    return;
  *store->why = 0;
  rs_store_say(store, RS_DEBUG, "the cache is %s, of at most %lld bytes; opened in %.2f ms", store->path,
               (long long)store->options.limit_bytes, rs_store_ms() - start);
}

void rs_store_need(rs_store *store) {
  if (atomic_load_explicit(&store->needed, memory_order_acquire))
    return;
  pthread_mutex_lock(&store->lock);
  if (!store->needed && store->off_by)
    rs_store_say(store, RS_DEBUG, "there is no cache on disk: %s", store->why);
  else if (!store->needed) {
    open_place(store);
    rs_tier_open(store);
  }
  atomic_store_explicit(&store->needed, true, memory_order_release);
  pthread_mutex_unlock(&store->lock);
}

rs_store *rs_store_open(const rs_store_options *options) {
  rs_store *store = calloc(1, sizeof *store);
  if (!store || pthread_mutex_init(&store->lock, NULL) != 0) {
    free(store);
    return NULL;
  }
  store->options = *options;
  if (store->options.limit_bytes <= 0)
    store->options.limit_bytes = default_limit;
  store->dir = -1;
  if (is_off(options)) {
    store->off_by = options->off ? "the program" : "ROWSCAN_CACHE=off";
    snprintf(store->why, sizeof store->why, "turned off by %s", store->off_by);
  } else if (!rs_place_choose(&store->place, options->dir, options->later) || !rs_tier_choose(store)) {
    rs_store_close(store);
    return NULL;
  }
  store->options.dir = store->options.packs = store->options.installed_packs = NULL;
  if (!options->later)
    rs_store_need(store);
  return store;
}

void rs_store_close(rs_store *store) {
  if (!store)
    return;
  rs_counts_save(store);
  if (store->dir >= 0)
    close(store->dir);
  rs_tier_close(store->tier);
  rs_place_free(&store->place);
  pthread_mutex_destroy(&store->lock);
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

int64_t rs_store_largest(const rs_store *store) {
  return store->options.limit_bytes > default_limit ? store->options.limit_bytes : default_limit;
}

/* ---- use --------------------------------------------------------------------------------------------------------- */

/*
 * Whether this process has set an entry's time within the last minute and since the same survey: by a clock that only
 * goes forward, so that no other clock, this machine's or a file server's, has each hit write. A table by hash: two
 * entries that share a place in it, in want of it at the same time, write more often.
 */
static bool touched_lately(rs_store *store, uint64_t which) {
  _Atomic uint64_t *place = &store->touched[which % RS_TOUCHED];
  uint64_t last = atomic_load_explicit(place, memory_order_relaxed);
  uint32_t tag = (uint32_t)(which >> 32), now = (uint32_t)(rs_store_ms() / 1e3) + 1;
  if (last && last >> 32 == tag && now - (uint32_t)last < RS_TOUCH_SECONDS)
    return true;
  atomic_store_explicit(place, (uint64_t)tag << 32 | now, memory_order_relaxed);
  return false;
}

/* In the same tick of the clock counts as after the survey. */
static bool is_before(const struct timespec *time, const struct timespec *survey) {
  return time->tv_sec < survey->tv_sec || (time->tv_sec == survey->tv_sec && time->tv_nsec <= survey->tv_nsec);
}

static void touch(rs_store *store, int fan, const char *file, const char *key, const struct stat *status) {
  bool ahead;
  int64_t age = rs_file_age(status);
  struct timespec survey = rs_surveyed(store, &ahead);
  bool since = !ahead && is_before(&status->st_mtim, &survey);
  if (age <= RS_TOUCH_SECONDS && age >= -RS_AHEAD_SECONDS && !since)
    return;
  uint64_t which = rs_entry_hash(key) ^ ((uint64_t)survey.tv_sec * 1000000000 + (uint64_t)survey.tv_nsec);
  if (!touched_lately(store, which * UINT64_C(0x9e3779b97f4a7c15)))
    rs_file_touch(fan, file);
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
    touch(store, fan, file, key, &loaded->status);
  close(fan);
  if (!sound && loaded->error && use)
    rs_tell_unread(store, name, loaded);
  else if (damage && use) {
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
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  uint64_t size = rs_entry_bytes(key, parts);
  if (!size || size > (uint64_t)rs_store_target(store)) {
    rs_store_say(store, RS_WARNING, "entry %s/%s is not kept: %llu bytes are too many for a cache of at most %lld",
                 store->path, name, (unsigned long long)size, (long long)store->options.limit_bytes);
    return false;
  }
  size_t bytes;
  unsigned char *file = rs_entry_encode(key, parts, &bytes);
  if (!file)
    return false;
  bool noted = rs_evict_before_put(store, (int64_t)bytes), kept = publish(store, name, file, bytes);
  if (!kept)
    rs_store_say(store, RS_WARNING, "entry %s/%s is not kept: %m", store->path, name);
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
