/*
 * export.c - entries into packs, and out of them
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/whole.h"
#include "file.h"
#include "inside.h"
#include "pack.h"

/* ---- export ------------------------------------------------------------------------------------------------------ */

/* An entry by its name, of the directory or of a pack. */
typedef struct place {
  char name[RS_ENTRY_NAME];
  int pack;       /* as rs_tier_pack counts them; -1: the directory */
  uint32_t index; /* in the pack */
} place;

typedef struct places {
  place *list;
  size_t count, room;
  bool failed; /* out of memory */
} places;

static bool keep_place(places *all, const place *one) {
  void *list = rs_list_room(all->list, all->count, &all->room, sizeof *all->list);
  all->failed = !list;
  if (!list)
    return false;
  all->list = list;
  all->list[all->count++] = *one;
  return true;
}

static int keep_file(void *user, const rs_found *found) {
  place one = {.pack = -1};
  memcpy(one.name, found->name, sizeof one.name);
  return !found->temporary && !keep_place(user, &one);
}

static void keep_packed(const rs_store *store, places *all) {
  const rs_pack *pack;
  char stem[RS_ENTRY_NAME];
  for (place one = {.pack = 0}; !all->failed && (pack = rs_tier_pack(store, one.pack)) != NULL; one.pack++)
    for (one.index = 0; one.index < pack->count && !all->failed; one.index++) {
      rs_pack_names(pack, one.index, one.name, stem);
      keep_place(all, &one);
    }
}

/* Those of one name in the order in which a get asks them. */
static int by_name(const void *left, const void *right) {
  const place *a = left, *b = right;
  int order = strcmp(a->name, b->name);
  return order ? order : (a->pack > b->pack) - (a->pack < b->pack);
}

typedef struct export {
  rs_pack_writer writer;
  rs_store_taker *take;
  void *user;
  rs_store_exported *sum;
  bool failed; /* an entry can't be read, which may be sound */
}
export;

/* Written anew where `take` may have changed it. */
static void add(export *job, rs_loaded *loaded) {
  const char *key = loaded->texts.key;
  if (!job->take) {
    rs_pack_add(&job->writer, key, loaded->memory, (size_t)loaded->status.st_size);
    return;
  }
  size_t bytes;
  unsigned char *entry = rs_entry_encode(key, loaded->texts.part, &bytes);
  job->writer.failed = job->writer.failed || !entry;
  if (entry)
    rs_pack_add(&job->writer, key, entry, bytes);
  free(entry);
}

/* False: it can't be read, or *damage says what is wrong, or it vanished. */
static bool load_file(rs_store *store, const char *name, rs_loaded *loaded, const char **damage) {
  int shard = rs_shard_open(store, name);
  *loaded = (rs_loaded){0};
  *damage = NULL;
  if (shard < 0) { /* which was told */
    loaded->error = rs_file_is_at_fault(errno) ? 0 : errno;
    *damage = errno == ENOENT ? NULL : "in a directory that is not used";
    return false;
  }
  char right_name[RS_ENTRY_NAME];
  bool sound = rs_load(shard, name + 3, RS_STORE_PARTS, loaded, damage);
  close(shard);
  if (loaded->error)
    rs_tell_unread(store, name, loaded);
  if (!sound)
    return false;
  rs_entry_name(loaded->texts.key, right_name);
  if (strcmp(name, right_name) == 0)
    return true;
  *damage = "it holds another key";
  free(loaded->memory);
  return false;
}

/* Whether there is a sound entry: then no other one of its name is looked at. */
static bool export_one(rs_store *store, export *job, const place *one) {
  const char *damage;
  rs_loaded loaded;
  bool sound = one->pack < 0 ? load_file(store, one->name, &loaded, &damage)
                             : rs_pack_load(rs_tier_pack(store, one->pack), one->index, &loaded, &damage);
  if (!sound) {
    job->failed = loaded.error != 0;
    job->sum->damaged += damage && !loaded.error;
    return false;
  }
  if (!job->take || job->take(job->user, loaded.texts.key, loaded.texts.part)) {
    add(job, &loaded);
    job->sum->entries++;
  }
  free(loaded.memory);
  return true;
}

static const char *export_places(rs_store *store, export *job, const places *all) {
  const place *last = NULL; /* that had a sound entry */
  for (size_t i = 0; i < all->count && !job->failed; i++) {
    const place *one = &all->list[i];
    if ((!last || strcmp(last->name, one->name) != 0) && export_one(store, job, one))
      last = one;
  }
  return job->failed ? "an entry cannot be read" : NULL;
}

/* The names first, so that entries are read one at a time and in their order. */
void *rs_store_export(rs_store *store, rs_store_taker *take, void *user, size_t *bytes, rs_store_exported *sum,
                      const char **wrong) {
  places all = {0};
  bool complete = rs_walk(store, keep_file, &all);
  keep_packed(store, &all);
  *sum = (rs_store_exported){0};
  *bytes = 0;
  *wrong = all.failed ? "out of memory" : complete ? NULL : "a directory cannot be read";
  if (*wrong) {
    free(all.list);
    return NULL;
  }
  if (all.count)
    qsort(all.list, all.count, sizeof *all.list, by_name);
  export job = {.take = take, .user = user, .sum = sum};
  *wrong = export_places(store, &job, &all);
  free(all.list);
  job.writer.failed = job.writer.failed || *wrong;
  void *pack = rs_pack_finish(&job.writer, bytes);
  if (!pack && !*wrong)
    *wrong = "out of memory";
  return pack;
}

bool rs_store_write_pack(const char *path, const void *pack, size_t bytes, const char **wrong) {
  rs_whole file;
  bool done = rs_whole_find(&file, path) && rs_whole_create(&file, 0644) && rs_whole_private(&file);
  if (done && !rs_file_write(file.file, pack, bytes)) {
    rs_whole_abandon(&file);
    file.wrong = "cannot be written";
    done = false;
  }
  done = done && rs_whole_commit(&file, bytes);
  if (wrong)
    *wrong = done ? NULL : file.wrong;
  return done;
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

static bool is_there(rs_store *store, const char *key) {
  rs_loaded loaded;
  bool there = rs_load_key(store, key, false, RS_STORE_PARTS, &loaded);
  if (there)
    free(loaded.memory);
  return there;
}

/* An entry that is in the store, where it was before or not; name "": none. */
typedef struct kept {
  char name[RS_STORE_NAME];
  bool added;
} kept;

/* The last ones may have evicted the first. */
static void recount(rs_store *store, const kept *all, uint32_t count, rs_store_imported *sum) {
  long gone = 0;
  for (uint32_t i = 0; i < count; i++)
    if (*all[i].name && !rs_store_has(store, all[i].name)) {
      --*(all[i].added ? &sum->added : &sum->present);
      gone++;
    }
  sum->failed += gone;
  if (gone)
    rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING,
                "%ld of the %lu entries of the pack were evicted again: the cache keeps at most %lld bytes", gone,
                (unsigned long)count, (long long)rs_store_limit(store));
}

static void tell_left_out(rs_store *store, const rs_pack *pack, uint32_t place, const char *why) {
  rs_log_line(&store->options.log, ROWSCAN_LOG_WARNING, "entry %lu of %lu of the pack is not imported: %s",
              (unsigned long)place + 1, (unsigned long)pack->count, why);
}

/* What the store would not keep is not read. */
static bool is_too_large(rs_store *store, const rs_pack *pack, uint32_t place) {
  const char *damage;
  return rs_pack_look(pack, place, &damage) > (uint64_t)rs_store_target(store) && !damage;
}

static void import_one(rs_store *store, const rs_pack *pack, uint32_t place, kept *one, rs_store_imported *sum) {
  const char *damage;
  rs_loaded loaded;
  if (is_too_large(store, pack, place)) {
    tell_left_out(store, pack, place, "too large for the cache's limit");
    sum->failed++;
    return;
  }
  if (!rs_pack_load(pack, place, &loaded, &damage)) {
    tell_left_out(store, pack, place, loaded.error ? strerror(loaded.error) : damage);
    ++*(loaded.error ? &sum->failed : &sum->damaged);
    return;
  }
  bool present = is_there(store, loaded.texts.key);
  one->added = !present && rs_store_put(store, loaded.texts.key, loaded.texts.part);
  if (present || one->added)
    rs_store_name(loaded.texts.key, one->name);
  ++*(present ? &sum->present : one->added ? &sum->added : &sum->failed);
  free(loaded.memory);
}

/* wrong: with the pack, which is not open then; NULL: nothing, and it is closed here. */
static const char *import(rs_store *store, rs_pack *pack, const char *wrong, rs_store_imported *sum) {
  *sum = (rs_store_imported){0};
  if (wrong)
    return wrong;
  sum->entries = pack->count;
  kept *all = calloc(pack->count ? pack->count : 1, sizeof *all);
  for (uint32_t i = 0; all && i < pack->count; i++)
    import_one(store, pack, i, &all[i], sum);
  if (all)
    recount(store, all, pack->count, sum);
  free(all);
  rs_pack_close(pack);
  return all ? NULL : "out of memory";
}

const char *rs_store_import(rs_store *store, const void *bytes, size_t count, rs_store_imported *sum) {
  rs_pack pack;
  return import(store, &pack, rs_pack_view(&pack, bytes, count), sum);
}

const char *rs_store_import_file(rs_store *store, const char *path, rs_store_imported *sum) {
  rs_pack pack;
  return import(store, &pack, rs_pack_open_path(&pack, AT_FDCWD, path), sum);
}
