/*
 * inside.h - what the files of the store share, and nobody else sees
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_STORE_INSIDE_H
#define RS_STORE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "entry.h"

/* Names of temporaries begin so; README.md has all names. */
#define RS_TEMPORARY "tmp-"
enum { RS_TEMPORARY_NAME = 64 };

typedef struct rs_tier rs_tier;

/* place.c: where a store may be: paths, to be tried in this order, and what is wrong with others. */
enum { RS_PLACES = 2, RS_WHY = 1024 };
typedef struct rs_place {
  char *paths[RS_PLACES];
  int count;
  char why[RS_WHY];
} rs_place;

enum { RS_TOUCHED = 64 };

/* Nothing in it changes once what is needed is open, but for the counts and the times of use. */
struct rs_store {
  rs_store_options options; /* completed; its texts are not kept */
  rs_place place;
  pthread_mutex_t lock;
  atomic_bool needed; /* rs_store_need has done its work, which is this: */
  int dir;            /* descriptor of the directory, -1 if there is none */
  const char *path;   /* NULL if there is none */
  char why[RS_WHY];
  rs_tier *tier;                                       /* packs; NULL: none */
  _Atomic int64_t counts[RS_COUNTS], saved[RS_COUNTS]; /* since it was opened; of these, in the file */
  _Atomic uint64_t touched[RS_TOUCHED];                /* what this process set the times of, and when; see get.c */
};

enum {
  /*
   * A hit sets the time of use again after this long, or if there was a survey since. Each is a write of metadata, on
   * network file systems a round trip; but one for all that read the entry in that time, so a minute is long enough.
   */
  RS_TOUCH_SECONDS = 60,
  RS_AHEAD_SECONDS = 3600 /* what is further in the future was set by a clock that was wrong */
};

/*
 * place.c: what `dir` or else the environment says now. False: out of memory. later: to be opened later, so that a
 * relative path becomes an absolute one. Opening makes the directory if need be; *path is the place's. -1: none, *path
 * is NULL. `why` says why, or what is wrong with the places that were passed over.
 */
bool rs_place_choose(rs_place *place, const char *dir, bool later);
int rs_place_open(const rs_place *place, const char **path, char why[RS_WHY]);
void rs_place_free(rs_place *place);

/* place.c: the same place for all processes: an absolute path without "..". */
bool rs_place_is_plain(const char *path);

/* place.c: a path that stays the same when this process goes elsewhere, to be freed; NULL, and errno says why. */
char *rs_place_here(const char *path);

/* walk.c: the directories of a store, "00" to "ff". */
enum { RS_SHARDS = 256 };

/* walk.c: the directory of the entries whose names begin as `name` does; -1 with errno: none that may be used. */
int rs_shard_open(const rs_store *store, const char *name);

/*
 * walk.c: calls `each` for every entry and temporary until it returns not 0. False: a directory can't be read; errno is
 * EACCES if that was its own fault each time, see rs_file_is_at_fault.
 */
typedef struct rs_found {
  char name[3 + RS_TEMPORARY_NAME]; /* below the store's directory */
  const char *file;                 /* below `shard` */
  int shard;
  bool temporary;
  struct stat status; /* of the link, if it is a symbolic link */
  int64_t bytes;      /* of the file; of one that is too large to be an entry no more than RS_MOST_BYTES */
} rs_found;
bool rs_walk(const rs_store *store, int (*each)(void *user, const rs_found *found), void *user);

/* walk.c: removes an entry or temporary; tells the warning log if it can't. */
/* More than an entry can have, and so few that the bytes of all files of a store can be added up. */
#define RS_MOST_BYTES ((int64_t)1 << 36)
static inline int64_t rs_countable(uint64_t bytes) {
  return bytes < (uint64_t)RS_MOST_BYTES ? (int64_t)bytes : RS_MOST_BYTES;
}

typedef enum rs_removal { RS_REMOVED, RS_GONE /* before */, RS_STAYS } rs_removal;
rs_removal rs_remove(const rs_store *store, const char *name, bool tell);

/*
 * load.c: reads an entry and verifies all but its key. False: *damage says what is wrong; NULL: there is no entry.
 * loaded->error is not 0 where that is no damage: an errno that kept the file from being read, which may be sound.
 * without: a part that is not kept; RS_STORE_PARTS: none.
 */
typedef struct rs_loaded {
  rs_decoded texts; /* these point into `memory`, which is to be freed */
  void *memory;
  struct stat status;
  int error;
} rs_loaded;
bool rs_load(int shard, const char *file, int without, rs_loaded *loaded, const char **damage);

/* load.c: a warning of what rs_load could not read, by its name below the store's path. */
void rs_tell_unread(const rs_store *store, const char *name, const rs_loaded *loaded);

/*
 * get.c: reads and verifies the entry of a key in the store's directory. `use`: so that it counts as used, or as
 * damaged. without: as in rs_load.
 */
bool rs_load_key(rs_store *store, const char *key, bool use, int without, rs_loaded *loaded);

/*
 * endings.c: the last lines of all keys, a text to be freed (NULL: out of memory), noted by each put. rs_endings_next
 * goes through them: a stem with the next line as a key, to be freed; NULL: there is none.
 */
void rs_endings_note(const rs_store *store, const char *key);
char *rs_endings_read(const rs_store *store);
char *rs_endings_next(const char **at, const char *stem);

/* Bytes of the largest entry that any store of this limit, or of the default one, would have kept. */
#define RS_DEFAULT_LIMIT ((int64_t)256 << 20)
static inline int64_t rs_store_largest(const rs_store *store) {
  return store->options.limit_bytes > RS_DEFAULT_LIMIT ? store->options.limit_bytes : RS_DEFAULT_LIMIT;
}

/*
 * tier.c: the packs of a store, first by the names that its options or the environment have now (false: out of
 * memory), then opened. An entry from the first pack that has a sound one; *path is that pack's. *damaged grows by each
 * that is not sound, which is told.
 */
typedef enum rs_asked {
  RS_BY_KEY,
  RS_BY_STEM,       /* of the key that is asked for, which has no last line */
  RS_BY_KEY_OR_STEM /* of the key */
} rs_asked;
bool rs_tier_choose(rs_store *store);
void rs_tier_open(rs_store *store);
void rs_tier_close(rs_tier *tier);
bool rs_tier_get(rs_store *store, const char *key, rs_asked by, rs_loaded *loaded, const char **path, int *damaged);

/* tier.c: the packs in the order in which they are asked, from index 0 on; NULL: there are no more. */
const struct rs_pack *rs_tier_pack(const rs_store *store, int index);

/*
 * evict.c: when the last survey began; 1970: none is known of. *ahead: that time has yet to come, for the clock was set
 * back: it tells nothing until the next survey.
 */
struct timespec rs_surveyed(const rs_store *store, bool *ahead);

/*
 * ledger.c: notes bytes that are to be put, and tells how many there are with them. *noted: the survey since which this
 * put stands there, 0 at first: it is not noted twice. False: it can't be noted.
 */
#define RS_LEDGER_UNKNOWN (INT64_MAX / 2)
typedef struct rs_ledger {
  int64_t bytes; /* that the store holds at most, or RS_LEDGER_UNKNOWN */
  int64_t since; /* of these, put since the last survey */
} rs_ledger;
bool rs_ledger_note(const rs_store *store, int64_t bytes, uint64_t *noted, rs_ledger *known);

/* ledger.c: around a survey, which tells at its end what there is. make: the file, if it is not there. */
typedef struct rs_ledger_survey {
  int fd; /* -1: there is no ledger */
  uint64_t name;
} rs_ledger_survey;
rs_ledger_survey rs_ledger_begin(const rs_store *store, bool make);
void rs_ledger_end(const rs_ledger_survey *survey, int64_t bytes);

/* lock.c: at once, and told to nobody. *busy: another has it. */
rs_store_lock rs_lock_try(rs_store *store, const char *key, bool *busy);
void rs_sleep_ms(double milliseconds);

/*
 * evict.c: the largest entry that is kept, and what eviction leaves; and what comes before a put, which false says is
 * to be followed by the last one: it could not be noted.
 */
int64_t rs_store_target(const rs_store *store);
bool rs_evict_before_put(rs_store *store, int64_t bytes);
void rs_evict_after_put(rs_store *store);

/* counts.c: adds what was counted to the store's file. */
void rs_counts_save(rs_store *store);

#endif
