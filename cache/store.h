/*
 * store.h - bytes in, bytes out, by key text: entries on disk that many processes share
 * SPDX-License-Identifier: MIT
 *
 * A store never makes its user fail: a damaged, foreign or vanished entry is a miss, and what can't be written is not
 * kept. Knows libc, xxHash and base/; nothing of CUDA. The format of an entry, and all that is promised, is in
 * README.md. All calls may be made from many threads and processes at once, but none while the store is closed.
 */
#ifndef RS_STORE_H
#define RS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/source.h"
#include "base/status.h"

typedef struct rs_store rs_store;

enum { RS_STORE_PARTS = 4 };

/* The payload of an entry: RS_STORE_PARTS byte strings. Empty parts are {NULL or anything, 0}. */
typedef struct rs_part {
  const void *data;
  size_t bytes;
} rs_part;

/*
 * What rs_store_get returns: parts point into `memory`; rs_entry_free frees all. Each part starts on 16 bytes and is
 * followed by a NUL byte that it does not count.
 */
typedef struct rs_entry {
  rs_part part[RS_STORE_PARTS];
  void *memory;
} rs_entry;

typedef struct rs_store_options {
  const char *dir;     /* this one or none; NULL or "": $ROWSCAN_CACHE_DIR, that one or none, else
                          $XDG_CACHE_HOME/rowscan, else ~/.cache/rowscan, the first that can be used */
  const char *off_by;  /* by whose wish nothing is kept on disk, a constant string; packs are read. NULL: nobody's */
  bool optional;       /* that there is no directory is nothing to warn of */
  bool later;          /* nothing is made, opened or told before rs_store_need */
  int64_t limit_bytes; /* <= 0: 256 MB */
  const char *packs;   /* files of packs, and directories of *.pack, between colons; NULL: $ROWSCAN_CACHE_PACKS; "off":
                          none, not even the following */
  const char *installed_packs; /* such a directory, which need not be there; NULL: none */
  /* A pack that is no file: asked for once, with the first miss, whatever `packs` says. NULL, or false: none. */
  bool (*built_in)(void *user, rs_source *pack);
  void *built_in_user;
  rs_log log; /* whose messages have one line each */
} rs_store_options;

/*
 * Opens the store, and makes its directory if it is not there. If none is usable it stands open, empty, and keeps
 * nothing. NULL: out of memory.
 */
rs_store *rs_store_open(const rs_store_options *options);
void rs_store_close(rs_store *store);

/*
 * Opens what `later` has put off, once, at the place that options, environment and working directory told when the
 * store was opened. Until then it stands empty; it comes before all calls but rs_store_add, rs_store_limit and closing.
 */
void rs_store_need(rs_store *store);

/* The directory, or "" if there is none, with the reason in rs_store_why (else ""). They live as long as the store. */
const char *rs_store_path(const rs_store *store);
const char *rs_store_why(const rs_store *store);
int64_t rs_store_limit(const rs_store *store);

/*
 * Reads the entry of a key, from the directory or else from the packs; false: a miss, and *entry is empty. Of a pack an
 * entry serves whatever the last line of its key says: whoever made the pack meant it to be used. A part that
 * is not needed (RS_STORE_PARTS: all are) is verified as all is, and then {NULL, its bytes}: memory is what takes most
 * of the time of reading. An entry of a pack has it nevertheless.
 */
bool rs_store_get(rs_store *store, const char *key, int without, rs_entry *entry);

/* The same for a key that was missed a moment ago: what is damaged is not told again, and packs are as they were. */
bool rs_store_get_again(rs_store *store, const char *key, rs_entry *entry);

/*
 * The same for a key that is `stem` and one more line, whatever that says, but not `missed`, which was missed a moment
 * ago (NULL: none).
 */
bool rs_store_get_stem(rs_store *store, const char *stem, const char *missed, rs_entry *entry);

/* That key, to be freed, without the entry and without using it; NULL: there is none, or no memory. packed: of a pack.
 */
char *rs_store_key_of_stem(rs_store *store, const char *stem, bool packed);

/* The file of the first pack that has a sound entry of a key; NULL: none. It lives as long as the store. */
const char *rs_store_pack_of(rs_store *store, const char *key);

/* How many packs are used, and how many entries they have together (may be NULL). */
int rs_store_packs(const rs_store *store, int64_t *entries);

/*
 * What is wrong with packs that were named and are not used, to be added to a message: " (pack x is not used: writable
 * by others)", or "". It lives as long as the store.
 */
const char *rs_store_unused(const rs_store *store);

void rs_entry_free(rs_entry *entry);

/*
 * Publishes an entry, atomically, in place of one that is there, having evicted the least recently used if it would not
 * fit; waits half a second at most for another who does. false: not kept; an entry of more than seven eighths of the
 * limit never is.
 */
bool rs_store_put(rs_store *store, const char *key, const rs_part parts[RS_STORE_PARTS]);

/* The name of a key's entry below the store's path, as a visit tells it. */
enum { RS_STORE_NAME = 34 };
void rs_store_name(const char *key, char name[RS_STORE_NAME]);

/* Whether the store's directory has an entry of this name, without reading it. */
bool rs_store_has(rs_store *store, const char name[RS_STORE_NAME]);

/* Removes one entry, e.g. because what is in it was rejected. */
void rs_store_remove(rs_store *store, const char *key);

/*
 * A file of the store's directory beside its entries, which its user names, a text: to be freed; NULL: there is none,
 * or *wrong says why it is not read: it is not to be trusted, or exceeds RS_STORE_FILE_MOST bytes, or errno tells more.
 * It appears whole, in place of one that is there, and stays when the store is cleared; false: *wrong says why not, and
 * errno, if it is not 0, tells more.
 */
enum { RS_STORE_FILE_MOST = 16 << 20 };
char *rs_store_read_file(rs_store *store, const char *name, const char **wrong);
bool rs_store_write_file(rs_store *store, const char *name, const char *text, size_t bytes, const char **wrong);

/*
 * Only an optimisation: tries to be the one process and thread that makes an entry. Waits up to milliseconds for
 * whoever has the key; whoever waited may find the entry there, so ask for it again after this. Never fails: locks that
 * don't work (network file systems) count as taken by nobody. Each acquired lock is released once, held or not.
 */
typedef struct rs_store_lock {
  int fd; /* -1: not held */
} rs_store_lock;
rs_store_lock rs_store_acquire(rs_store *store, const char *key, int milliseconds);
void rs_store_release(rs_store_lock lock);

/*
 * What happened to a store, counted by this process since it was opened, and by all processes that ever used it. The
 * store itself counts evictions, and entries that it finds damaged; its user tells the rest, in units of its own.
 */
#define RS_STORE_COUNTS(X) X(hits) X(misses) X(compiles) X(saved_us) X(evictions) X(damaged) X(rejected)
typedef enum rs_store_event {
#define X(name) RS_COUNT_##name,
  RS_STORE_COUNTS(X)
#undef X
      RS_COUNTS
} rs_store_event;
typedef struct rs_store_counts {
  int64_t of[RS_COUNTS];
} rs_store_counts;
void rs_store_add(rs_store *store, rs_store_event event, int64_t number);

/*
 * mine and all may be NULL. Without a directory, or if it can't be written, all are those of this process. false: those
 * of the others can't be read, and errno says why; all are those of this process.
 */
bool rs_store_counted(rs_store *store, rs_store_counts *mine, rs_store_counts *all);

typedef struct rs_store_item {
  const char *name; /* below the store's path, or that it would have there */
  const char *key;  /* NULL if damaged */
  int64_t bytes;
  int64_t used;       /* seconds since 1970; the entry was used within the minute that follows; of a pack: 0 */
  const char *damage; /* what is wrong with it; NULL if nothing */
  const char *pack;   /* its file, which lives as long as the store; NULL: the entry is in the store's directory */
  const char *stem;   /* of a pack: the name that its key's stem would have, damaged or not */
} rs_store_item;

/*
 * Reads and verifies every entry, in no order; a visit that returns not 0 ends it. The strings live until visit
 * returns. false: a directory of the store can't be read or is not to be trusted, or an entry can't be read, for want
 * of memory or descriptors, or because the disk failed: that is no damage; all others were visited. An empty store, or
 * one without a directory, has no entries to visit: true; nor has a file or a link where a directory would be.
 */
bool rs_store_visit(rs_store *store, int (*visit)(void *user, const rs_store_item *item), void *user);

/*
 * The same for the entries of the packs that are used, in the order in which these are asked. Nothing is logged; false:
 * errno says what kept an entry from being read.
 */
bool rs_store_visit_packs(const rs_store *store, int (*visit)(void *user, const rs_store_item *item), void *user);

/*
 * The keys of packs' entries alone, none of which is verified or used, until visit returns not 0. The first of each
 * pack come first, for what a pack has is mostly of one kind.
 */
void rs_store_visit_packed_keys(const rs_store *store, int (*visit)(void *user, const char *key), void *user);

/*
 * Entries that a visit of the directory would find, and their bytes, without reading them. false: as there, and errno
 * says why: EACCES if nothing failed but that directories are not to be trusted.
 */
bool rs_store_count(rs_store *store, int64_t *entries, int64_t *bytes);

/* Removes every entry and temporary and says how many entries and bytes that were. false: something could not be. */
bool rs_store_clear(rs_store *store, int64_t *removed, int64_t *bytes);

/*
 * What a put does now and then, done now: sweeps temporaries that were left behind and, if the store is close to its
 * limit, evicts the least recently used. false: out of memory, or a directory can't be read or is not to be trusted,
 * or something can't be removed (what could be done was).
 */
typedef struct rs_store_pruned {
  int64_t removed, removed_bytes; /* entries */
  int64_t swept, swept_bytes;     /* temporaries */
  int64_t left, left_bytes;       /* entries */
} rs_store_pruned;
bool rs_store_prune(rs_store *store, rs_store_pruned *pruned); /* pruned may be NULL */

/*
 * A pack, many entries in one: of all sound entries of the store's directory, and of packs what the directory lacks,
 * that `take` says true for (NULL: all). It may change the parts, which must live until the next call: what it leaves
 * is exported. The pack is to be freed; while it grows it has room for twice its bytes at most. NULL: *wrong says why;
 * so it is if an entry can't be read that may be sound.
 */
typedef bool rs_store_taker(void *user, const char *key, rs_part parts[RS_STORE_PARTS]);
typedef struct rs_store_exported {
  int64_t entries; /* in the pack */
  int64_t damaged; /* left out */
} rs_store_exported;
void *rs_store_export(rs_store *store, rs_store_taker *take, void *user, size_t *bytes, rs_store_exported *sum,
                      const char **wrong);

/*
 * Makes the file of a pack appear as a whole, or not at all: false, *wrong (may be NULL) says why, and errno, if it is
 * not 0, tells more. The file is for all to read and nobody else to write, as far as the process makes files so; it
 * takes the place of another as base/whole.h says.
 */
bool rs_store_write_pack(const char *path, const void *pack, size_t bytes, const char **wrong);

/*
 * Puts the entries of a pack into the store, but for those that it has. What is wrong with the pack as a whole; NULL:
 * nothing, and *sum says what became of its entries.
 */
typedef struct rs_store_imported {
  int64_t entries; /* in the pack: the sum of what follows */
  int64_t added;
  int64_t present;
  int64_t damaged;
  int64_t failed; /* not kept, or evicted again, or can't be read though it may be sound */
} rs_store_imported;
const char *rs_store_import(rs_store *store, const void *bytes, size_t count, rs_store_imported *sum);
const char *rs_store_import_file(rs_store *store, const char *path, rs_store_imported *sum);

#endif
