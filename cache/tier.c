/*
 * tier.c - packs that a store reads besides its directory, and never writes
 * SPDX-License-Identifier: MIT
 *
 * They are named when the store is opened, and opened when it is first needed. One that can't be used is told, and is
 * as if it were not there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/status.h"
#include "base/text.h"
#include "file.h"
#include "inside.h"
#include "pack.h"

typedef struct tier_pack {
  rs_pack pack;
  char *path;
} tier_pack;

/* A pack, or a directory of packs. */
typedef struct named {
  char *path;
  bool refused;   /* a variable says it, and it is not the same place for all processes */
  bool installed; /* and need not be there */
} named;

struct rs_tier {
  named *names;
  int name_count;
  size_t name_room;
  tier_pack *packs;
  int count;
  size_t room;
  rs_text unused; /* what is told of those that are not used, see rs_store_unused */
  int unused_count;
  pthread_mutex_t lock; /* of what follows */
  bool asked;
  tier_pack built_in; /* path NULL: there is none */
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* False: out of memory. */
static bool add_name(rs_tier *tier, char *path, bool refused, bool installed) {
  named *names = path ? rs_list_room(tier->names, (size_t)tier->name_count, &tier->name_room, sizeof *names) : NULL;
  if (!names) {
    free(path);
    return false;
  }
  tier->names = names;
  names[tier->name_count++] = (named){path, refused, installed};
  return true;
}

/* What a program names is what it means; a variable must name the same place to all processes. */
static bool add_list(rs_tier *tier, const char *list, bool variable, bool later) {
  bool enough = true;
  while (*list && enough) {
    size_t length = strcspn(list, ":");
    char *path = length ? strndup(list, length) : NULL;
    bool refused = path && variable && !rs_place_is_plain(path);
    if (path && !refused && later) { /* where nobody knows where this is, it is not there either */
      char *here = rs_place_here(path);
      if (here)
        free(path);
      path = here ? here : path;
    }
    enough = !length || add_name(tier, path, refused, false);
    list += length + (list[length] == ':');
  }
  return enough;
}

bool rs_tier_choose(rs_store *store) {
  const rs_store_options *options = &store->options;
  const char *list = options->packs ? options->packs : secure_getenv("ROWSCAN_CACHE_PACKS");
  bool off = list && rs_is_word(list, "off");
  if (off && !options->built_in)
    return true;
  store->tier = calloc(1, sizeof *store->tier);
  if (store->tier)
    pthread_mutex_init(&store->tier->lock, NULL); /* which cannot fail with no attributes */
  if (off)
    return store->tier != NULL;
  if (!store->tier || (list && !add_list(store->tier, list, !options->packs, options->later)))
    return false;
  return !options->installed_packs || add_name(store->tier, strdup(options->installed_packs), false, true);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* A warning, and the first few of them are added to what is told to those who miss an entry. */
__attribute__((format(printf, 2, 3))) static void leave_out(rs_store *store, const char *format, ...) {
  enum { MOST_TOLD = 3 };
  rs_text *unused = &store->tier->unused;
  char line[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "%s", line);
  if (store->tier->unused_count == MOST_TOLD)
    return;
  store->tier->unused_count++;
  if (unused->length)
    unused->data[unused->length - 1] = ';'; /* it was the parenthesis */
  rs_text_add(unused, "%s%s)", unused->length ? " " : " (", line);
}

static bool keep(rs_tier *tier, const rs_pack *pack, char *path) {
  tier_pack *packs = rs_list_room(tier->packs, (size_t)tier->count, &tier->room, sizeof *packs);
  if (!packs)
    return false;
  tier->packs = packs;
  packs[tier->count++] = (tier_pack){*pack, path};
  return true;
}

static void open_file(rs_store *store, int dir, const char *name, const char *path) {
  rs_pack pack;
  double start = rs_now_ms();
  const char *wrong = rs_pack_open_path(&pack, dir, name);
  if (wrong) {
    leave_out(store, "pack %s is not used: %s", path, wrong);
    return;
  }
  char *copy = strdup(path);
  uint32_t entries = pack.count;
  pack.most = (uint64_t)rs_store_largest(store);
  if (!copy || !keep(store->tier, &pack, copy)) {
    leave_out(store, "pack %s is not used: out of memory", path);
    rs_pack_close(&pack);
    free(copy);
    return;
  }
  rs_log_line(&store->options.log, ROWSCAN_LOG_DEBUG, "pack %s has %lu entries; opened in %.2f ms", path,
              (unsigned long)entries, rs_now_ms() - start);
}

static bool is_pack(const char *name) {
  size_t length = strlen(name);
  return *name != '.' && length > 5 && strcmp(name + length - 5, ".pack") == 0;
}

typedef struct file_names {
  char **of;
  size_t count, room;
} file_names;

static bool add_file(file_names *to, const char *name) {
  char **of = rs_list_room(to->of, to->count, &to->room, sizeof *of);
  if (!of)
    return false;
  to->of = of;
  of[to->count] = strdup(name);
  return of[to->count] && ++to->count;
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, so that all processes see the same. The names are read by hand: musl has no scandirat.
 */
static void open_packs(rs_store *store, DIR *list, const char *path) {
  file_names packs = {0};
  bool all = true;
  for (const struct dirent *at; all && (errno = 0, at = readdir(list)) != NULL;)
    all = !is_pack(at->d_name) || add_file(&packs, at->d_name);
  if (!all || errno)
    leave_out(store, "some packs in %s are not used: %s", path, strerror(errno));
  if (packs.count)
    qsort(packs.of, packs.count, sizeof *packs.of, by_bytes);
  for (size_t i = 0; i < packs.count; i++) {
    char full[4096];
    snprintf(full, sizeof full, "%s/%s", path, packs.of[i]);
    open_file(store, dirfd(list), packs.of[i], full);
    free(packs.of[i]);
  }
  free(packs.of);
}

/* A pack, or a directory of packs. */
static void open_path(rs_store *store, const char *path) {
  const char *wrong;
  int dir = rs_shared_dir_open(path, &wrong);
  if (dir >= 0) {
    DIR *list = fdopendir(dir);
    if (list) {
      open_packs(store, list, path);
      closedir(list);
    } else {
      leave_out(store, "packs in %s are not used: %s", path, strerror(errno));
      close(dir);
    }
  } else if (wrong)
    leave_out(store, "packs in %s are not used: %s", path, wrong);
  else
    open_file(store, AT_FDCWD, path, path);
}

void rs_tier_open(rs_store *store) {
  for (int i = 0; store->tier && i < store->tier->name_count; i++) {
    const named *one = &store->tier->names[i];
    if (one->refused)
      leave_out(store, "ROWSCAN_CACHE_PACKS: %s: not an absolute path without \"..\"", one->path);
    else if (!one->installed || access(one->path, F_OK) == 0 || errno != ENOENT)
      open_path(store, one->path);
  }
}

void rs_tier_close(rs_tier *tier) {
  for (int i = 0; tier && i < tier->count; i++) {
    rs_pack_close(&tier->packs[i].pack);
    free(tier->packs[i].path);
  }
  for (int i = 0; tier && i < tier->name_count; i++)
    free(tier->names[i].path);
  if (tier) {
    if (tier->built_in.path) /* else it was never opened */
      rs_pack_close(&tier->built_in.pack);
    free(tier->built_in.path);
    pthread_mutex_destroy(&tier->lock);
    rs_text_free(&tier->unused);
    free(tier->names);
    free(tier->packs);
  }
  free(tier);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void tell(const rs_store *store, const tier_pack *one, const rs_loaded *loaded, const char *damage) {
  errno = loaded->error;
  if (errno)
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "an entry of pack %s cannot be read: %m", one->path);
  else
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "an entry of pack %s is not used: %s", one->path, damage);
}

/* NULL: there is none, or no memory. */
static const tier_pack *built_in(rs_store *store) {
  rs_tier *tier = store->tier;
  pthread_mutex_lock(&tier->lock);
  if (!tier->asked && store->options.built_in) {
    rs_source bytes;
    bool there = store->options.built_in(store->options.built_in_user, &bytes);
    const char *damage = there ? rs_pack_view_source(&tier->built_in.pack, &bytes) : NULL;
    if (damage)
      rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "the kernels inside of the library are not used: %s",
                  damage);
    else if (there && !(tier->built_in.path = strdup("inside of the library")))
      rs_pack_close(&tier->built_in.pack);
  }
  tier->asked = true;
  pthread_mutex_unlock(&tier->lock);
  return tier->built_in.path ? &tier->built_in : NULL;
}

/* stem: its bytes; 0: by the whole key. damaged: NULL: nothing is told. */
static bool get_from(rs_store *store, const tier_pack *one, const char *key, size_t stem, rs_loaded *loaded,
                     const char **path, int *damaged) {
  const char *damage;
  bool found =
      stem ? rs_pack_get_stem(&one->pack, key, stem, loaded, &damage) : rs_pack_get(&one->pack, key, loaded, &damage);
  *path = one->path;
  if (!found && damage && damaged) {
    *damaged += !loaded->error;
    tell(store, one, loaded, damage);
  }
  return found;
}

static bool get(rs_store *store, const char *key, size_t stem, rs_loaded *loaded, const char **path, int *damaged) {
  const rs_tier *tier = store->tier;
  for (int i = 0; tier && i < tier->count; i++)
    if (get_from(store, &tier->packs[i], key, stem, loaded, path, damaged))
      return true;
  const tier_pack *own = tier ? built_in(store) : NULL;
  return own && get_from(store, own, key, stem, loaded, path, damaged);
}

/* What is damaged by its key is so by its stem, and told once. */
bool rs_tier_get(rs_store *store, const char *key, rs_asked by, rs_loaded *loaded, const char **path, int *damaged) {
  if (by == RS_BY_STEM)
    return get(store, key, strlen(key), loaded, path, damaged);
  int before = *damaged;
  if (get(store, key, 0, loaded, path, damaged))
    return true;
  return by == RS_BY_KEY_OR_STEM &&
         get(store, key, rs_entry_stem(key), loaded, path, *damaged > before ? NULL : damaged);
}

/* *error: what kept an entry from being read; it stays as it is if nothing did. */
static int visit_place(const tier_pack *one, uint32_t place, int (*visit)(void *user, const rs_store_item *item),
                       void *user, int *error) {
  rs_loaded loaded;
  rs_store_item item = {.pack = one->path};
  char name[RS_ENTRY_NAME], stem[RS_ENTRY_NAME];
  rs_pack_names(&one->pack, place, name, stem);
  item.name = name;
  item.stem = stem;
  bool sound = rs_pack_load(&one->pack, place, &loaded, &item.damage);
  item.bytes = rs_countable((uint64_t)loaded.status.st_size);
  if (loaded.error) {
    *error = loaded.error;
    return 0;
  }
  if (!sound)
    return visit(user, &item);
  item.key = loaded.texts.key;
  int end = visit(user, &item);
  free(loaded.memory);
  return end;
}

bool rs_store_visit_packs(const rs_store *store, int (*visit)(void *user, const rs_store_item *item), void *user) {
  const rs_tier *tier = store->tier;
  int end = 0, error = 0;
  for (int i = 0; tier && i < tier->count && !end; i++)
    for (uint32_t place = 0; place < tier->packs[i].pack.count && !end; place++)
      end = visit_place(&tier->packs[i], place, visit, user, &error);
  errno = error;
  return !error;
}

void rs_store_visit_packed_keys(const rs_store *store, int (*visit)(void *user, const char *key), void *user) {
  const rs_tier *tier = store->tier;
  bool more = true, end = false;
  for (uint32_t place = 0; more && !end; place++) {
    more = false;
    for (int i = 0; tier && i < tier->count && !end; i++) {
      bool here = place < tier->packs[i].pack.count;
      char *key = here ? rs_pack_key(&tier->packs[i].pack, place) : NULL;
      end = key && visit(user, key);
      more = more || here;
      free(key);
    }
  }
}

int rs_store_packs(const rs_store *store, int64_t *entries) {
  const rs_tier *tier = store->tier;
  int64_t sum = 0;
  for (int i = 0; tier && i < tier->count; i++)
    sum += tier->packs[i].pack.count;
  if (entries)
    *entries = sum;
  return tier ? tier->count : 0;
}

const char *rs_store_unused(const rs_store *store) {
  const rs_text *unused = store->tier ? &store->tier->unused : NULL;
  return unused && unused->length && !unused->failed ? unused->data : "";
}

const struct rs_pack *rs_tier_pack(const rs_store *store, int index) {
  const rs_tier *tier = store->tier;
  return tier && index < tier->count ? &tier->packs[index].pack : NULL;
}
