/*
 * pack.c - many entries in one file that is read in place
 * SPDX-License-Identifier: MIT
 *
 * Entries are read by pread, not mapped: a mapped file that is cut short, or whose disk or server fails, ends its
 * reader by SIGBUS; read, it is a miss. An entry is copied once either way.
 */
#include "pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

/* As an entry's, but for its fourth byte. */
static const unsigned char pack_magic[8] = {0x89, 'r', 's', 'p', '\r', '\n', 0x1a, '\n'};

/* Offsets in the header and in an item of the index. */
enum { AT_VERSION = sizeof pack_magic, AT_COUNT = AT_VERSION + 4 };
enum { AT_ID = 0, AT_STEM = AT_ID + RS_ENTRY_ID, AT_OFFSET = AT_STEM + RS_ENTRY_ID, AT_BYTES = AT_OFFSET + 8 };
_Static_assert(AT_COUNT + 4 == RS_PACK_HEADER && AT_BYTES + 8 == RS_PACK_ITEM, "README.md has the same sizes");

static const unsigned char *item_at(const rs_pack *pack, uint32_t place) {
  return pack->head + RS_PACK_HEADER + (size_t)place * RS_PACK_ITEM;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_at(const rs_pack *pack, void *to, uint64_t offset, size_t bytes) {
  return pack->fd >= 0 ? rs_file_read_at(pack->fd, to, bytes, offset)
                       : pack->source.read(pack->source.user, to, offset, bytes);
}

/* What the items so far say. */
typedef struct index_check {
  uint64_t end, sum; /* where entries end; their bytes, with the header's */
  unsigned char last[RS_ENTRY_ID];
  bool any;
} index_check;

/* In order, each entry within the file, and all together no longer than the file has room for. */
static const char *check_items(index_check *all, const unsigned char *item, uint32_t count) {
  for (uint32_t i = 0; i < count; i++, item += RS_PACK_ITEM) {
    uint64_t offset = rs_get_number(item + AT_OFFSET, 8), bytes = rs_get_number(item + AT_BYTES, 8);
    if (all->any && memcmp(all->last, item + AT_ID, RS_ENTRY_ID) >= 0)
      return "its index is not sorted";
    if (offset < RS_PACK_HEADER || offset > all->end || bytes > all->end - offset || bytes > all->end - all->sum)
      return "its index points outside the pack";
    all->sum += bytes;
    all->any = true;
    memcpy(all->last, item + AT_ID, RS_ENTRY_ID);
  }
  return NULL;
}

static const char *check_index(const rs_pack *pack, uint64_t end) {
  index_check all = {.end = end, .sum = RS_PACK_HEADER};
  const char *damage = check_items(&all, pack->head + RS_PACK_HEADER, pack->count);
  return damage ? damage : all.sum == end ? NULL : "its index leaves out part of the pack";
}

/* The same for one that is not in memory. One of nothing but holes, whose file has a size and no blocks, ends here. */
static const char *check_pieces(const rs_pack *pack, uint64_t end) {
  enum { PIECE = 1024 };
  index_check all = {.end = end, .sum = RS_PACK_HEADER};
  const char *damage = NULL;
  unsigned char *items = malloc((size_t)PIECE * RS_PACK_ITEM);
  if (!items)
    return rs_entry_too_large;
  for (uint32_t done = 0, more; done < pack->count && !damage; done += more) {
    more = pack->count - done < PIECE ? pack->count - done : PIECE;
    damage = read_at(pack, items, end + (uint64_t)done * RS_PACK_ITEM, (size_t)more * RS_PACK_ITEM)
                 ? check_items(&all, items, more)
                 : rs_entry_unread;
  }
  free(items);
  return damage;
}

/* The header first, and of a large index all: no memory is taken for one that the file has no more than a size for. */
static const char *read_pack_head(rs_pack *pack) {
  unsigned char header[RS_PACK_HEADER], expected[RS_ENTRY_DIGEST], digest[RS_ENTRY_DIGEST];
  if (pack->bytes < RS_PACK_HEADER + RS_ENTRY_DIGEST)
    return "truncated";
  if (!read_at(pack, header, 0, sizeof header))
    return rs_entry_unread;
  if (memcmp(header, pack_magic, sizeof pack_magic) != 0)
    return "not a pack of rowscan";
  if (rs_get_number(header + AT_VERSION, 4) != RS_PACK_VERSION)
    return "its format version is not supported";
  pack->count = (uint32_t)rs_get_number(header + AT_COUNT, 4);
  uint64_t index_bytes = (uint64_t)pack->count * RS_PACK_ITEM, end = pack->bytes - RS_ENTRY_DIGEST;
  if (index_bytes > end - RS_PACK_HEADER)
    return "truncated";
  end -= index_bytes;
  const char *damage = index_bytes > RS_ENTRY_AT_ONCE ? check_pieces(pack, end) : NULL;
  if (damage)
    return damage;
  if (index_bytes > SIZE_MAX - RS_PACK_HEADER || !(pack->head = malloc(RS_PACK_HEADER + (size_t)index_bytes)))
    return rs_entry_too_large;
  memcpy(pack->head, header, sizeof header);
  if (!read_at(pack, pack->head + RS_PACK_HEADER, end, (size_t)index_bytes) ||
      !read_at(pack, expected, end + index_bytes, sizeof expected))
    return rs_entry_unread;
  rs_entry_digest(pack->head, RS_PACK_HEADER + (size_t)index_bytes, digest);
  if (memcmp(digest, expected, sizeof digest) != 0)
    return "its digest differs, or it is truncated";
  return check_index(pack, end);
}

static const char *open_pack(rs_pack *pack) {
  const char *damage = read_pack_head(pack);
  if (damage)
    rs_pack_close(pack);
  return damage;
}

const char *rs_pack_open(rs_pack *pack, int fd, uint64_t bytes) {
  *pack = (rs_pack){.fd = fd, .bytes = bytes};
  return open_pack(pack);
}

const char *rs_pack_open_path(rs_pack *pack, int dir, const char *name) {
  struct stat status;
  const char *wrong;
  *pack = (rs_pack){.fd = -1};
  int fd = rs_shared_file_open(dir, name, &status, &wrong);
  if (fd >= 0)
    return rs_pack_open(pack, fd, (uint64_t)status.st_size);
  return wrong ? wrong : errno == ENOENT ? "there is no such file" : "cannot be opened";
}

const char *rs_pack_view_source(rs_pack *pack, const rs_source *source) {
  *pack = (rs_pack){.fd = -1, .source = *source, .bytes = source->bytes};
  return open_pack(pack);
}

static bool read_memory(void *user, void *to, uint64_t offset, size_t bytes) {
  memcpy(to, (const char *)user + offset, bytes);
  return true;
}

const char *rs_pack_view(rs_pack *pack, const void *memory, size_t bytes) {
  return rs_pack_view_source(pack, &(rs_source){read_memory, (void *)(uintptr_t)memory, bytes});
}

void rs_pack_close(rs_pack *pack) {
  if (pack->fd >= 0)
    close(pack->fd);
  free(pack->head);
  *pack = (rs_pack){.fd = -1};
}

/* Where an entry lies, and what goes on from there. */
typedef struct cursor {
  const rs_pack *pack;
  uint64_t at;
} cursor;

static bool read_from_pack(void *user, void *to, size_t bytes) {
  cursor *from = user;
  bool read = read_at(from->pack, to, from->at, bytes);
  from->at += bytes;
  return read;
}

static const char *read_header(cursor *from, uint64_t bytes, unsigned char header[RS_ENTRY_HEADER]) {
  errno = 0;
  if (bytes < RS_ENTRY_HEADER)
    return "truncated";
  if (!read_from_pack(from, header, RS_ENTRY_HEADER))
    return rs_entry_unread;
  errno = 0; /* of a signal */
  return rs_entry_check_header(header, bytes);
}

uint64_t rs_pack_look(const rs_pack *pack, uint32_t place, const char **damage) {
  const unsigned char *item = item_at(pack, place);
  unsigned char header[RS_ENTRY_HEADER];
  cursor from = {pack, rs_get_number(item + AT_OFFSET, 8)};
  uint64_t bytes = rs_get_number(item + AT_BYTES, 8);
  *damage = read_header(&from, bytes, header);
  return bytes;
}

/* Of what is large the header, the size and the digest, before there is room for it. */
static const char *check_large(const rs_pack *pack, uint64_t offset, uint64_t bytes) {
  unsigned char header[RS_ENTRY_HEADER];
  cursor from = {pack, offset};
  const char *damage = read_header(&from, bytes, header);
  if (!damage && pack->most && bytes > pack->most)
    return "too large for the cache's limit";
  return damage ? damage : rs_entry_check_digest(header, bytes, read_from_pack, &from);
}

/* errno: what kept it from being read, else 0. The entry is in memory if there is no damage. */
static const char *read_entry(const rs_pack *pack, uint64_t offset, uint64_t bytes, unsigned char **entry,
                              rs_decoded *texts) {
  errno = 0;
  const char *damage = bytes > RS_ENTRY_AT_ONCE ? check_large(pack, offset, bytes) : NULL;
  if (damage)
    return damage;
  *entry = bytes <= SIZE_MAX ? malloc(bytes ? (size_t)bytes : 1) : NULL;
  if (!*entry) {
    errno = ENOMEM;
    return rs_entry_too_large;
  }
  if (!read_at(pack, *entry, offset, (size_t)bytes))
    return rs_entry_unread;
  errno = 0; /* of a signal */
  return rs_entry_decode(*entry, (size_t)bytes, texts);
}

bool rs_pack_load(const rs_pack *pack, uint32_t place, rs_loaded *loaded, const char **damage) {
  const unsigned char *item = item_at(pack, place);
  uint64_t bytes = rs_get_number(item + AT_BYTES, 8);
  unsigned char *entry = NULL;
  *loaded = (rs_loaded){.status = {.st_size = (off_t)bytes}};
  *damage = read_entry(pack, rs_get_number(item + AT_OFFSET, 8), bytes, &entry, &loaded->texts);
  loaded->error = *damage && !rs_file_is_at_fault(errno) ? errno : 0;
  if (!*damage) {
    unsigned char id[RS_ENTRY_ID];
    rs_entry_id(loaded->texts.key, strlen(loaded->texts.key), id);
    if (memcmp(id, item + AT_ID, sizeof id) != 0)
      *damage = "it holds another key";
  }
  if (*damage)
    free(entry);
  else
    loaded->memory = entry;
  return !*damage;
}

void rs_pack_names(const rs_pack *pack, uint32_t place, char name[RS_ENTRY_NAME], char stem[RS_ENTRY_NAME]) {
  rs_entry_id_name(item_at(pack, place) + AT_ID, name);
  rs_entry_id_name(item_at(pack, place) + AT_STEM, stem);
}

enum { LONGEST_KEY = 64 * 1024 }; /* bytes; some 500 are usual */

char *rs_pack_key(const rs_pack *pack, uint32_t place) {
  const unsigned char *item = item_at(pack, place);
  unsigned char header[RS_ENTRY_HEADER], id[RS_ENTRY_ID];
  cursor from = {pack, rs_get_number(item + AT_OFFSET, 8)};
  if (read_header(&from, rs_get_number(item + AT_BYTES, 8), header))
    return NULL;
  size_t bytes = rs_entry_key_bytes(header);
  char *key = bytes <= LONGEST_KEY ? calloc(1, bytes + 1) : NULL;
  if (key && read_from_pack(&from, key, bytes)) {
    rs_entry_id(key, bytes, id);
    if (memcmp(id, item + AT_ID, sizeof id) == 0)
      return key;
  }
  free(key);
  return NULL;
}

bool rs_pack_get(const rs_pack *pack, const char *key, rs_loaded *loaded, const char **damage) {
  unsigned char id[RS_ENTRY_ID];
  uint32_t low = 0, high = pack->count;
  rs_entry_id(key, strlen(key), id);
  while (low < high) { /* the first that is not below it */
    uint32_t middle = low + (high - low) / 2;
    if (memcmp(item_at(pack, middle) + AT_ID, id, sizeof id) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  *damage = NULL;
  loaded->error = 0;
  if (low == pack->count || memcmp(item_at(pack, low) + AT_ID, id, sizeof id) != 0)
    return false;
  if (!rs_pack_load(pack, low, loaded, damage))
    return false;
  if (strcmp(loaded->texts.key, key) == 0)
    return true;
  *damage = "it holds another key";
  free(loaded->memory);
  return false;
}

/* Not in order of stems: all of an index is soon seen. */
bool rs_pack_get_stem(const rs_pack *pack, const char *stem, size_t length, rs_loaded *loaded, const char **damage) {
  unsigned char id[RS_ENTRY_ID];
  *damage = NULL;
  loaded->error = 0;
  rs_entry_id(stem, length, id);
  for (uint32_t i = 0; i < pack->count; i++) {
    if (memcmp(item_at(pack, i) + AT_STEM, id, sizeof id) != 0 || !rs_pack_load(pack, i, loaded, damage))
      continue;
    if (rs_entry_stem(loaded->texts.key) == length && strncmp(loaded->texts.key, stem, length) == 0) {
      *damage = NULL;
      return true;
    }
    *damage = "it holds another key";
    free(loaded->memory);
  }
  return false;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Room for so many bytes more. */
static bool grow(unsigned char **bytes, size_t used, size_t *room, size_t more) {
  size_t needed = used + more, larger = *room ? *room : 4096;
  if (needed < used)
    return false;
  while (larger < needed && larger <= SIZE_MAX / 2)
    larger *= 2;
  if (larger < needed)
    return false;
  if (larger == *room)
    return true;
  unsigned char *moved = realloc(*bytes, larger);
  if (!moved)
    return false;
  *bytes = moved;
  *room = larger;
  return true;
}

/* The header is written last: a copy that is not finished is no pack. */
static bool begin_pack(rs_pack_writer *writer) {
  if (writer->used)
    return true;
  if (!grow(&writer->bytes, 0, &writer->room, RS_PACK_HEADER))
    return false;
  memset(writer->bytes, 0, RS_PACK_HEADER);
  writer->used = RS_PACK_HEADER;
  return true;
}

void rs_pack_add(rs_pack_writer *writer, const char *key, const void *entry, size_t bytes) {
  size_t index_used = (size_t)writer->count * RS_PACK_ITEM;
  if (writer->failed || writer->count == UINT32_MAX || !begin_pack(writer) ||
      !grow(&writer->bytes, writer->used, &writer->room, bytes) ||
      !grow(&writer->index, index_used, &writer->index_room, RS_PACK_ITEM)) {
    writer->failed = true;
    return;
  }
  unsigned char *item = writer->index + index_used;
  rs_entry_id(key, strlen(key), item + AT_ID);
  rs_entry_id(key, rs_entry_stem(key), item + AT_STEM);
  rs_put_number(item + AT_OFFSET, writer->used, 8);
  rs_put_number(item + AT_BYTES, bytes, 8);
  memcpy(writer->bytes + writer->used, entry, bytes);
  writer->used += bytes;
  writer->count++;
}

/* The digest is over header and index, which do not lie together in the file. */
static bool digest(const rs_pack_writer *writer, size_t index_bytes, unsigned char to[RS_ENTRY_DIGEST]) {
  unsigned char *head = malloc(RS_PACK_HEADER + index_bytes);
  if (!head)
    return false;
  memcpy(head, writer->bytes, RS_PACK_HEADER);
  if (index_bytes)
    memcpy(head + RS_PACK_HEADER, writer->index, index_bytes);
  rs_entry_digest(head, RS_PACK_HEADER + index_bytes, to);
  free(head);
  return true;
}

static bool finish(rs_pack_writer *writer) {
  size_t index_bytes = (size_t)writer->count * RS_PACK_ITEM;
  if (writer->failed || !begin_pack(writer) ||
      !grow(&writer->bytes, writer->used, &writer->room, index_bytes + RS_ENTRY_DIGEST))
    return false;
  memcpy(writer->bytes, pack_magic, sizeof pack_magic);
  rs_put_number(writer->bytes + AT_VERSION, RS_PACK_VERSION, 4);
  rs_put_number(writer->bytes + AT_COUNT, writer->count, 4);
  if (index_bytes)
    memcpy(writer->bytes + writer->used, writer->index, index_bytes);
  writer->used += index_bytes;
  if (!digest(writer, index_bytes, writer->bytes + writer->used))
    return false;
  writer->used += RS_ENTRY_DIGEST;
  return true;
}

/* Without the room that was left for more. */
static unsigned char *fit(rs_pack_writer *writer) {
  unsigned char *fitted = realloc(writer->bytes, writer->used);
  if (fitted)
    writer->bytes = fitted;
  return writer->bytes;
}

unsigned char *rs_pack_finish(rs_pack_writer *writer, size_t *bytes) {
  unsigned char *pack = finish(writer) ? fit(writer) : NULL;
  *bytes = pack ? writer->used : 0;
  if (!pack)
    free(writer->bytes);
  free(writer->index);
  *writer = (rs_pack_writer){0};
  return pack;
}
