/*
 * pack.h - many entries in one file that is read in place; the grammar is in README.md
 * SPDX-License-Identifier: MIT
 *
 * A pack is opened once: its header and index are verified and kept. An entry is then found by a search in memory and
 * read by one call, and verified like one that has a file of its own. Nothing in the bytes is trusted, a right digest
 * included. Many threads may read an open pack.
 */
#ifndef RS_PACK_H
#define RS_PACK_H

#include "base/source.h"
#include "inside.h"

enum {
  RS_PACK_VERSION = 1, /* one more for every change of the format */
  RS_PACK_HEADER = 16,
  RS_PACK_ITEM = 48 /* of the index */
};

typedef struct rs_pack {
  int fd;           /* -1: the pack is no file */
  rs_source source; /* else */
  uint64_t bytes;
  unsigned char *head; /* header and index */
  uint32_t count;
  uint64_t most; /* bytes that an entry may have; 0, as it is opened: any number */
} rs_pack;

/* What is wrong with it, and nothing stays open; NULL: nothing. The file is the pack's from then on, either way. */
const char *rs_pack_open(rs_pack *pack, int fd, uint64_t bytes);

/* The same for a file's name. The file is to be trusted as rs_shared_file_open says. */
const char *rs_pack_open_path(rs_pack *pack, int dir, const char *name);

/* The same for bytes that stay as they are while the pack is open: in memory, or wherever they are read from. */
const char *rs_pack_view(rs_pack *pack, const void *memory, size_t bytes);
const char *rs_pack_view_source(rs_pack *pack, const rs_source *source);
void rs_pack_close(rs_pack *pack);

/* The size of an entry, by its place in the index, 0 to count - 1. *damage: what is wrong with its head; NULL: nothing.
 */
uint64_t rs_pack_look(const rs_pack *pack, uint32_t place, const char **damage);

/*
 * Reads an entry by its place. False: *damage says what is wrong, or loaded->error what kept it from being read, as of
 * rs_load; its size is told. The same for the next two.
 */
bool rs_pack_load(const rs_pack *pack, uint32_t place, rs_loaded *loaded, const char **damage);

/* The names that the index has for it: of its key and of its key's stem. They tell nothing of the entry itself. */
void rs_pack_names(const rs_pack *pack, uint32_t place, char name[RS_ENTRY_NAME], char stem[RS_ENTRY_NAME]);

/*
 * The key of an entry by its place, to be freed: right by the index, while all else of the entry is not looked at.
 * NULL: it is damaged, can't be read, or is longer than 64 KB.
 */
char *rs_pack_key(const rs_pack *pack, uint32_t place);

/* Reads the entry of a key. False: *damage says what is wrong with it; NULL: there is none. */
bool rs_pack_get(const rs_pack *pack, const char *key, rs_loaded *loaded, const char **damage);

/* The same for the first sound entry whose key is `stem`, of so many bytes, and one more line, whatever that says. */
bool rs_pack_get_stem(const rs_pack *pack, const char *stem, size_t length, rs_loaded *loaded, const char **damage);

/* Grows as entries are added; starts as zeros. */
typedef struct rs_pack_writer {
  unsigned char *bytes; /* header and entries */
  unsigned char *index;
  size_t used, room, index_room;
  uint32_t count;
  bool failed; /* out of memory, or more entries than a pack holds */
} rs_pack_writer;

/* Adds an entry as rs_entry_encode made it, with its key. Entries are added in the order of their names. */
void rs_pack_add(rs_pack_writer *writer, const char *key, const void *entry, size_t bytes);

/* The whole pack, to be freed, and its size; NULL: it has failed. The writer is empty after this. */
unsigned char *rs_pack_finish(rs_pack_writer *writer, size_t *bytes);

#endif
