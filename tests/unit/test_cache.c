/*
 * test_cache.c - the store of cache/: entries, their damage, eviction, visits, counts
 * SPDX-License-Identifier: MIT
 *
 * A cache that returns a wrong byte is worse than none: every byte of an entry is flipped, every length tried, and what
 * has a right digest but lies is refused as well.
 */
#include "../support/cache_help.h"
#include "../support/lot.h"

#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/commands.h"
#include "file.h"
#include "inside.h"

/* ---- entries ----------------------------------------------------------------------------------------------------- */

START_TEST(a_hit_returns_what_was_put) {
  rs_store *store = open_at(fresh());
  static const char cubin[] = "\x7f"
                              "ELF\0\0binary\xff";
  char *ptx = malloc(100001);
  memset(ptx, 'p', 100000);
  rs_part parts[RS_STORE_PARTS] = {{ptx, 100000}, {cubin, sizeof cubin}, {NULL, 0}, {"r", 1}};
  ck_assert(rs_store_put(store, "op=sum\ntype=f32\n", parts));
  rs_entry entry;
  ck_assert(rs_store_get(store, "op=sum\ntype=f32\n", RS_STORE_PARTS, &entry));
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    const char *data = entry.part[i].data;
    ck_assert_uint_eq(entry.part[i].bytes, parts[i].bytes);
    ck_assert(parts[i].bytes == 0 || memcmp(data, parts[i].data, parts[i].bytes) == 0);
    ck_assert_int_eq(data[entry.part[i].bytes], 0);
    ck_assert_uint_eq((uintptr_t)data % 16, 0);
  }
  rs_entry_free(&entry);
  ck_assert_ptr_null(entry.memory);
  rs_entry_free(&entry);
  rs_store_close(store);
  free(ptx);
}
END_TEST

START_TEST(every_length_of_key_and_part_survives) {
  rs_store *store = open_at(fresh());
  char key[64] = "", text[64] = "";
  for (int i = 0; i < 40; i++) {
    ck_assert(put(store, key, text));
    ck_assert(has(store, key, text));
    key[i] = 'k';
    text[i] = 't';
  }
  ck_assert_int_eq(entries_in(store), 40);
  rs_store_close(store);
}
END_TEST

START_TEST(an_unknown_key_is_a_miss) {
  log_book book = {0};
  rs_store *store = open_logged(fresh(), 0, &book);
  rs_entry entry = {.memory = &book};
  ck_assert(!rs_store_get(store, "a", RS_STORE_PARTS, &entry));
  ck_assert_ptr_null(entry.memory);
  ck_assert_int_eq(book.messages[0], 0);
  rs_store_close(store);
  rs_store_close(NULL);
}
END_TEST

START_TEST(a_put_replaces) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "first") && has(store, "key", "first"));
  ck_assert(put(store, "key", "second") && has(store, "key", "second"));
  ck_assert_int_eq(entries_in(store), 1);
  ck_assert_int_eq(temporaries_in(dir), 0);
  rs_store_close(store);
}
END_TEST

START_TEST(a_store_outlives_its_process) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  rs_store_close(store);
  store = open_at(dir);
  ck_assert(has(store, "key", "text"));
  rs_store_close(store);
}
END_TEST

/* An entry is found by its key without the last line, whatever that says. */
START_TEST(a_stem_finds_an_entry) {
  char *dir = fresh(), *endings = path_of("%s/endings", dir);
  rs_store *store = open_at(dir);
  rs_entry entry;
  ck_assert(put(store, "a=1\nby=x\n", "1x") && put(store, "a=2\nby=x\n", "2x") && put(store, "a=2\nby=y\n", "2y"));
  ck_assert(put(store, "no line at the end", "text") && put(store, "by=z\n", "no stem"));
  size_t count;
  unsigned char *bytes = slurp(endings, &count);
  ck_assert_uint_eq(count, 10); /* each once */
  ck_assert_mem_eq(bytes, "by=x\nby=y\n", 10);
  free(bytes);
  ck_assert(rs_store_get_stem(store, "a=1\n", NULL, &entry));
  ck_assert_str_eq(entry.part[0].data, "1x");
  rs_entry_free(&entry);
  ck_assert(!rs_store_get_stem(store, "a=3\n", NULL, &entry) && !entry.memory);
  ck_assert(!rs_store_get_stem(store, "a=1\nby=x\n", NULL, &entry) && !rs_store_get_stem(store, "", NULL, &entry));
  /* one that is damaged hides no other */
  spill(entry_path(dir, "a=2\nby=x\n"), "nonsense", 8);
  char *key = rs_store_key_of_stem(store, "a=2\n", false);
  ck_assert_str_eq(key, "a=2\nby=y\n");
  free(key);
  rs_store_counts mine;
  rs_store_counted(store, &mine, NULL);
  ck_assert_int_eq(mine.of[RS_COUNT_damaged], 0); /* looking is not using */
  ck_assert(rs_store_get_stem(store, "a=2\n", NULL, &entry));
  ck_assert_str_eq(entry.part[0].data, "2y");
  rs_entry_free(&entry);
  rs_store_remove(store, "a=2\nby=y\n");
  ck_assert(!rs_store_get_stem(store, "a=2\n", NULL, &entry) && !rs_store_key_of_stem(store, "a=2\n", false));
  rs_store_close(store);
}
END_TEST

/* The file of endings is a hint: lost, damaged or not to be trusted, it hides entries from stems and nothing else. */
START_TEST(endings_come_back_with_the_next_put) {
  static const struct {
    const char *text;
    size_t bytes;
  } damages[] = {{"", 0},
                 {"by=", 3},
                 {"\n\n", 2},
                 {"by=x", 4},
                 {"by=\377\001\n\n\n", 8},
                 {"nonsense\nby=xx\nby=\n", 19},
                 {"\0\0\0\0\0", 5},
                 {"by=y\n\0\0\0\0\n", 10}};
  enum { DAMAGES = sizeof damages / sizeof *damages, LINK = DAMAGES, LOST };
  char *dir = fresh(), *endings = path_of("%s/endings", dir), *other = fresh();
  rs_store *store = open_at(dir);
  rs_entry entry;
  spill(other, "by=x\n", 5);
  for (int i = 0; i <= LOST; i++) {
    ck_assert(put(store, "a=1\nby=x\n", "text"));
    ck_assert(rs_store_get_stem(store, "a=1\n", NULL, &entry));
    rs_entry_free(&entry);
    ck_assert_int_eq(unlink(endings), 0);
    if (i < DAMAGES)
      spill(endings, damages[i].text, damages[i].bytes);
    if (i == LINK)
      ck_assert_int_eq(symlink(other, endings), 0);
    ck_assert_msg(!rs_store_get_stem(store, "a=1\n", NULL, &entry), "damage %d", i);
    ck_assert(hits(store, "a=1\nby=x\n"));
    if (i == LINK)
      ck_assert_int_eq(unlink(endings), 0);
    if (i == 3 || i == 1) /* a line that was torn spoils the next one, but not the one after it */
      ck_assert(put(store, "a=1\nby=x\n", "text"));
  }
  for (int i = 0; i < 100; i++) {
    struct stat status;
    ck_assert(put(store, path_of("a=%d\nby=%040d\n", i, i), "text"));
    ck_assert(rs_store_get_stem(store, path_of("a=%d\n", i), NULL, &entry));
    rs_entry_free(&entry);
    ck_assert(stat(endings, &status) == 0 && status.st_size <= 4096 && status.st_size > 0);
  }
  rs_store_close(store);
}
END_TEST

START_TEST(remove_removes_one) {
  rs_store *store = open_at(fresh());
  ck_assert(put(store, "a", "1") && put(store, "b", "2"));
  rs_store_remove(store, "a");
  rs_store_remove(store, "a");
  rs_store_remove(store, "never put");
  ck_assert(!hits(store, "a") && has(store, "b", "2"));
  rs_store_close(store);
}
END_TEST

/* The bytes that README.md shows. If they change, so must the version. */
START_TEST(the_format_is_what_it_was) {
  static const unsigned char head[] = {0x89, 'r', 's', 'c', '\r', '\n', 0x1a, '\n', 1, 0, 0, 0, 5, 0, 0, 0,
                                       3,    0,   0,   0,   0,    0,    0,    0,    0, 0, 0, 0, 1, 0, 0, 0};
  static const char body[] = "a=1\n\n\0\0\0\0\0\0\0\0\0\0\0"
                             "ptx\0\0\0\0\0\0\0\0\0\0\0\0\0"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                             "r\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
  static const unsigned char digest[16] = {0xc3, 0xec, 0x0b, 0xbd, 0x55, 0x02, 0x02, 0x20,
                                           0xa7, 0x4a, 0xee, 0xe9, 0x2f, 0x95, 0x28, 0xe0};
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(rs_store_put(store, "a=1\n\n", (rs_part[RS_STORE_PARTS]){{"ptx", 3}, {0}, {0}, {"r", 1}}));
  rs_store_close(store);
  size_t count;
  unsigned char *bytes = slurp(path_of("%s/e2/4a37e6114ded50fbbcc3307baf542d", dir), &count);
  ck_assert_uint_eq(count, 32 + 80 + 16);
  ck_assert_mem_eq(bytes, head, sizeof head);
  ck_assert_mem_eq(bytes + 32, body, 80);
  ck_assert_mem_eq(bytes + 112, digest, 16);
  free(bytes);
}
END_TEST

/* ---- a part less ------------------------------------------------------------------------------------------------- */

/* An entry whose parts have these sizes, and every byte its own value. */
static void put_sizes(rs_store *store, const size_t sizes[RS_STORE_PARTS], unsigned char *bytes) {
  rs_part parts[RS_STORE_PARTS];
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    parts[i] = (rs_part){bytes, sizes[i]};
    for (size_t k = 0; k < sizes[i]; k++)
      *bytes++ = (unsigned char)(k * 7 + k / 256 + (size_t)i + 1);
  }
  ck_assert(rs_store_put(store, "op=sum\n", parts));
}

/* All parts are there but one, and nothing lies where it was. */
static void expect_without(rs_store *store, int without, const size_t sizes[RS_STORE_PARTS],
                           const unsigned char *bytes) {
  rs_entry entry;
  ck_assert(rs_store_get(store, "op=sum\n", without, &entry));
  for (int i = 0; i < RS_STORE_PARTS; i++) {
    const char *data = entry.part[i].data;
    ck_assert_uint_eq(entry.part[i].bytes, sizes[i]);
    ck_assert_int_eq(data == NULL, i == without);
    ck_assert(!data || (memcmp(data, bytes, sizes[i]) == 0 && !data[sizes[i]] && (uintptr_t)data % 16 == 0));
    bytes += sizes[i];
  }
  rs_entry_free(&entry);
}

/* _i: which part; of sizes around that of the pieces in which it is read, before parts that are small and large. */
START_TEST(a_part_may_stay_on_disk) {
  static const size_t sizes[] = {0, 1, 15, 16, 17, 47, 32752, 32767, 32768, 32769, 65520, 65536, 100000};
  static const size_t following[] = {0, 17, 32768, 100000};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  char *dir = fresh(), *path = entry_path(dir, "op=sum\n");
  rs_store *store = open_at(dir);
  unsigned char *bytes = malloc(400000);
  int reads = 0, damages = 0;
  for (int i = 0; i < SIZES * 4; i++) {
    const size_t others = following[i / SIZES];
    size_t all[RS_STORE_PARTS] = {others, 3, others / 2, 1};
    all[_i] = sizes[i % SIZES];
    put_sizes(store, all, bytes);
    for (int without = 0; without <= RS_STORE_PARTS; without++, reads++)
      expect_without(store, without, all, bytes);
    /* a flip anywhere, and a byte less, is a miss */
    size_t count;
    unsigned char *file = slurp(path, &count);
    for (size_t k = 0; k < 12; k++, damages++) {
      size_t at = (k * 2654435761u + (size_t)i * 40503) % count;
      file[at] ^= 4;
      spill(path, file, count);
      file[at] ^= 4;
      ck_assert_msg(!hits_without(store, "op=sum\n", _i), "sizes %d, byte %zu", i, at);
    }
    spill(path, file, count - 1);
    ck_assert(!hits_without(store, "op=sum\n", _i));
    damages++;
    free(file);
  }
  printf("part %d of many sizes: %d reads without one part, all right; %d damages, all misses\n", _i, reads, damages);
  rs_store_close(store);
  free(bytes);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------------
 *
 * _i: the part that is not asked for; RS_STORE_PARTS: all are.
 */

START_TEST(every_flipped_byte_is_a_miss) {
  char *dir = fresh(), *path = entry_path(dir, "op=sum\n");
  log_book book = {0};
  rs_store *store = open_logged(dir, 0, &book);
  ck_assert(put(store, "op=sum\n", "the text of a kernel"));
  size_t count;
  unsigned char *bytes = slurp(path, &count);
  int flips = 0;
  for (size_t i = 0; i < count; i++)
    for (int bit = 0; bit < 8; bit++, flips++) {
      bytes[i] ^= (unsigned char)(1 << bit);
      spill(path, bytes, count);
      bytes[i] ^= (unsigned char)(1 << bit);
      int before = book.messages[0];
      ck_assert_msg(!hits_without(store, "op=sum\n", _i), "byte %zu, bit %d", i, bit);
      ck_assert_int_eq(book.messages[0], before + 1);
      ck_assert_str_ne(damage_of_only(store), "");
    }
  spill(path, bytes, count);
  ck_assert(hits(store, "op=sum\n"));
  ck_assert_str_eq(damage_of_only(store), "");
  printf("an entry read without part %d: each bit of %zu bytes flipped, %d misses\n", _i, count, flips);
  rs_store_close(store);
  free(bytes);
}
END_TEST

START_TEST(every_truncation_and_growth_is_a_miss) {
  char *dir = fresh(), *path = entry_path(dir, "op=sum\n");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "op=sum\n", "the text of a kernel"));
  size_t count;
  unsigned char *bytes = slurp(path, &count);
  int misses = 0;
  for (size_t kept = 0; kept < count; kept++, misses++) {
    spill(path, bytes, kept);
    ck_assert_msg(!hits_without(store, "op=sum\n", _i), "%zu bytes", kept);
    ck_assert_str_eq(damage_of_only(store), "truncated");
  }
  unsigned char *longer = calloc(1, count + 64);
  memcpy(longer, bytes, count);
  for (size_t more = 1; more <= 64; more++, misses++) {
    spill(path, longer, count + more);
    ck_assert_msg(!hits_without(store, "op=sum\n", _i), "%zu bytes more", more);
    ck_assert_str_eq(damage_of_only(store), "longer than its header says");
  }
  printf("an entry of %zu bytes read without part %d: each other length up to %zu, %d misses\n", count, _i, count + 64,
         misses);
  rs_store_close(store);
  free(longer);
  free(bytes);
}
END_TEST

static void seal(unsigned char *bytes, size_t count) {
  XXH128_hash_t hash = XXH3_128bits(bytes, count - 16);
  for (int i = 0; i < 8; i++) {
    bytes[count - 16 + (size_t)i] = (unsigned char)(hash.low64 >> (8 * i));
    bytes[count - 8 + (size_t)i] = (unsigned char)(hash.high64 >> (8 * i));
  }
}

START_TEST(a_right_digest_excuses_nothing) {
  static const struct {
    size_t at;
    unsigned char value;
    const char *damage;
  } lies[] = {
      {0, 'R', "not an entry of rowscan"},
      {8, 2, "its format version is not supported"},
      {8, 0, "its format version is not supported"},
      {11, 1, "its format version is not supported"},
      {12, 17, "truncated"},
      {15, 0xff, "truncated"},
      {16, 0, "the padding of a part is not zero"},
      {63, 1, "the padding of a part is not zero"},
      {64, 1, "the padding of a part is not zero"},
      {16, 16, "truncated"},
      {12, 5, "its key is not text"},
      {12, 8, "its key is not text"},
      {34, 0, "its key is not text"},
      {39, 1, "its key is not text"},
      {47, 1, "its key is not text"},
  };
  char *dir = fresh(), *path = entry_path(dir, "op=sum\n");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "op=sum\n", "text"));
  size_t count;
  unsigned char *bytes = slurp(path, &count);
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    unsigned char kept = bytes[lies[i].at];
    bytes[lies[i].at] = lies[i].value;
    seal(bytes, count);
    spill(path, bytes, count);
    bytes[lies[i].at] = kept;
    ck_assert(!hits_without(store, "op=sum\n", _i));
    ck_assert_str_eq(damage_of_only(store), lies[i].damage);
  }
  printf("an entry read without part %d: %zu lies with a right digest, all misses\n", _i, sizeof lies / sizeof *lies);
  rs_store_close(store);
  free(bytes);
}
END_TEST

/* For the sanitizers: whatever the bytes are, decoding stays within them. */
START_TEST(no_bytes_lead_astray) {
  size_t count;
  unsigned char *sound =
      rs_entry_encode("op=sum\ntype=f32\n", (rs_part[RS_STORE_PARTS]){{"abc", 3}, {"de", 2}, {0}, {"f", 1}}, &count);
  uint64_t random = 1;
  int accepted = 0;
  for (int round = 0; round < 50000; round++) {
    size_t size = round % 4 ? count : (size_t)round % (count + 1);
    unsigned char *bytes = malloc(size ? size : 1);
    memcpy(bytes, sound, size);
    for (int change = round % 3; size && change >= 0; change--) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      bytes[(random >> 33) % (random >> 62 ? size : size < 48 ? size : 48)] = (unsigned char)(random >> 55);
    }
    if (size >= 16)
      seal(bytes, size);
    rs_decoded decoded;
    if (!rs_entry_decode(bytes, size, &decoded)) {
      accepted++;
      ck_assert_uint_lt(strlen(decoded.key), size);
      for (int i = 0; i < RS_STORE_PARTS; i++)
        ck_assert_int_eq(((const char *)decoded.part[i].data)[decoded.part[i].bytes], 0);
    }
    free(bytes);
  }
  ck_assert_int_gt(accepted, 0);
  printf("50000 entries with bytes changed and a right digest: %d decoded, and within their bytes\n", accepted);
  free(sound);
}
END_TEST

START_TEST(another_key_under_the_same_name_is_a_miss) {
  char *dir = fresh(), *a = entry_path(dir, "a"), *b = entry_path(dir, "b");
  log_book book = {0};
  rs_store *store = open_logged(dir, 0, &book);
  ck_assert(put(store, "a", "of a") && put(store, "b", "of b"));
  ck_assert_int_eq(rename(a, b), 0);
  ck_assert(!hits(store, "a") && !hits(store, "b"));
  ck_assert_int_eq(book.messages[0], 1);
  ck_assert_str_eq(damage_of_only(store), "it holds another key");
  ck_assert(put(store, "b", "of b") && has(store, "b", "of b"));
  ck_assert_str_eq(damage_of_only(store), "");
  rs_store_close(store);
}
END_TEST

START_TEST(a_put_heals_what_is_damaged) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  spill(path, "", 0);
  ck_assert(!hits(store, "key"));
  ck_assert(put(store, "key", "text") && has(store, "key", "text"));
  rs_store_close(store);
}
END_TEST

/* A file whose header and size lie takes no memory: this one says 16 GB. */
START_TEST(a_huge_file_is_not_read) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  if (truncate(path, (off_t)1 << 34) == 0) {
    ck_assert(!hits(store, "key"));
    ck_assert_str_eq(damage_of_only(store), "longer than its header says");
  }
  rs_store_close(store);
}
END_TEST

/* ---- eviction ---------------------------------------------------------------------------------------------------- */

/* Five entries of a bit over 1000 bytes, key "0" the oldest; `keys` has room for one digit each. */
static rs_store *five_entries(const char *dir, int64_t limit) {
  rs_store *store = open_at(dir);
  for (int i = 0; i < 5; i++) {
    char key[2] = {(char)('0' + i), 0};
    ck_assert(put_bytes(store, key, 1000));
    age(entry_path(dir, key), 10 * HOUR - 600 * i);
  }
  rs_store_close(store);
  return open_logged(dir, limit, NULL);
}

/* The keys of five_entries that are there, and "n" for one called "new". */
static const char *there(const char *dir) {
  static char keys[8];
  char *end = keys;
  for (const char *key = "01234"; *key; key++)
    if (exists(entry_path(dir, (char[2]){*key, 0})))
      *end++ = *key;
  if (exists(entry_path(dir, "new")))
    *end++ = 'n';
  *end = 0;
  return keys;
}

START_TEST(the_least_recently_used_goes_first) {
  char *dir = fresh();
  rs_store *store = five_entries(dir, 6000);
  ck_assert_int_eq(entries_in(store), 5);
  ck_assert_int_gt(bytes_in(store), 5 * 1000);
  ck_assert(hits(store, "1"));
  ck_assert(put_bytes(store, "new", 1000));
  ck_assert_str_eq(there(dir), "134n");
  ck_assert_int_le(bytes_in(store), 6000 - 6000 / 8);
  rs_store_close(store);
}
END_TEST

/* Six entries are 6720 bytes: less than fifteen sixteenths of the limit, and more than what eviction would leave. */
START_TEST(nothing_goes_below_the_limit) {
  char *dir = fresh();
  rs_store *store = five_entries(dir, 7400);
  ck_assert(put_bytes(store, "new", 1000));
  ck_assert_str_eq(there(dir), "01234n");
  rs_store_close(store);
}
END_TEST

START_TEST(prune_evicts_without_a_put) {
  char *dir = fresh();
  rs_store *store = five_entries(dir, 4000);
  int64_t before = bytes_in(store);
  rs_store_pruned pruned;
  ck_assert(rs_store_prune(store, &pruned));
  ck_assert_str_eq(there(dir), "234");
  ck_assert_int_eq(pruned.removed, 2);
  ck_assert_int_eq(pruned.removed_bytes, before - bytes_in(store));
  ck_assert_int_eq(pruned.left, 3);
  ck_assert_int_eq(pruned.left_bytes, bytes_in(store));
  ck_assert(rs_store_prune(store, &pruned));
  ck_assert(pruned.removed == 0 && pruned.removed_bytes == 0 && pruned.left == 3);
  rs_store_close(store);
}
END_TEST

START_TEST(a_hit_is_noted_once_a_minute) {
  static const struct {
    int64_t age;
    bool touched;
  } cases[] = {{0, false},         {30, false},   {50, false},    {70, true},
               {100 * HOUR, true}, {-100, false}, {-3500, false}, {-7200, true}};
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  age(path_of("%s/surveyed", dir), 1000 * HOUR);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    age(path, cases[i].age);
    rs_store_close(store);
    store = open_at(dir); /* as by another process: one of them writes no time twice in a minute */
    ck_assert(hits(store, "key"));
    int64_t error = age_of(path) - (cases[i].touched ? 0 : cases[i].age);
    ck_assert_msg(error >= -2 && error <= 20, "aged %lld: %lld", (long long)cases[i].age, (long long)age_of(path));
  }
  age(path, 2 * HOUR);
  visit_book book = {0};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert_int_eq(entries_in(store), 1);
  ck_assert_int_gt(age_of(path), HOUR);
  rs_store_close(store);
}
END_TEST

START_TEST(a_hit_is_noted_once_a_survey) {
  char *dir = fresh(), *path = entry_path(dir, "key"), *surveyed = path_of("%s/surveyed", dir);
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  for (int i = 0; i < 3; i++) {
    age(path, 40);
    age(surveyed, i == 0 ? 41 : 40 - i);
    ck_assert(hits(store, "key"));
    ck_assert_int_eq(age_of(path) > 20, i == 0);
    ck_assert_int_eq(age_of(surveyed) > 20, true);
    if (i == 1)
      ck_assert(rs_store_prune(store, NULL) && age_of(surveyed) < 20);
  }
  ck_assert_int_eq(unlink(surveyed), 0); /* no survey is known of */
  age(path, 40);
  ck_assert(hits(store, "key"));
  ck_assert_int_gt(age_of(path), 20);
  rs_store_close(store);
}
END_TEST

/* A clock that was set back leaves times that have yet to come: the survey's, the entry's, or both. */
START_TEST(a_clock_set_back_has_no_hit_write_more) {
  static const struct {
    int64_t survey, entry; /* their ages */
  } cases[] = {{-HOUR / 2, 0},  {-HOUR / 2, -HOUR / 4}, {-HOUR / 2, 2 * HOUR},  {-72 * HOUR, -72 * HOUR},
               {-72 * HOUR, 0}, {-HOUR / 4, -HOUR / 2}, {3 * HOUR, -72 * HOUR}, {-HOUR / 2, -72 * HOUR}};
  enum { HITS = 200 };
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int reopened = 0; reopened < 2; reopened++) {
      int writes = 0;
      age(path_of("%s/surveyed", dir), cases[i].survey);
      age(path, cases[i].entry);
      for (int hit = 0; hit < HITS; hit++) {
        struct stat before, after;
        if (reopened || !hit) {
          rs_store_close(store);
          store = open_at(dir);
        }
        ck_assert_int_eq(stat(path, &before), 0);
        ck_assert(hits(store, "key"));
        ck_assert_int_eq(stat(path, &after), 0);
        writes += memcmp(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim) != 0 ||
                  memcmp(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim) != 0;
      }
      ck_assert_msg(writes <= 1, "survey aged %lld, entry %lld: %d of %d hits wrote", (long long)cases[i].survey,
                    (long long)cases[i].entry, writes, HITS);
    }
  rs_store_close(store);
}
END_TEST

/* Times and sizes that only a file made for it has. */
START_TEST(no_time_or_size_overflows) {
  ck_assert_int_eq(rs_file_age(&(struct stat){.st_mtim = {.tv_sec = INT64_MIN}}), INT64_MAX);
  ck_assert_int_lt(rs_file_age(&(struct stat){.st_mtim = {.tv_sec = INT64_MAX}}), -INT64_MAX / 2);
  char *dir = fresh();
  rs_store *store = open_at(dir);
  for (int i = 0; i < 3; i++) {
    char *path = entry_path(dir, (char[]){(char)('a' + i), 0});
    struct timespec times[2] = {{.tv_sec = i ? INT64_MAX : INT64_MIN}, {.tv_sec = i ? INT64_MAX : INT64_MIN}};
    ck_assert(put(store, (char[]){(char)('a' + i), 0}, "text"));
    if (truncate(path, INT64_MAX) != 0) /* where the file system has so large ones */
      ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
    ck_assert(utimensat(AT_FDCWD, path, times, 0) == 0 || errno == EINVAL);
  }
  const char *const sized[] = {"ledger", "endings", "counts"};
  for (int i = 0; i < 3; i++)
    if (truncate(path_of("%s/%s", dir, sized[i]), INT64_MAX) != 0 && i == 0)
      ck_assert_int_eq(truncate(path_of("%s/%s", dir, sized[i]), (off_t)1 << 40), 0);
  ck_assert_int_eq(entries_in(store), 3);
  ck_assert_int_gt(bytes_in(store), 0);
  visit_book book = {0};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert(book.damaged == 3 && book.bytes > 0);
  ck_assert(!hits(store, "a"));
  ck_assert(put(store, "more=1\nby=x\n", "text"));
  ck_assert(rs_store_prune(store, NULL) && entries_in(store) < 4);
  rs_store_close(store);
}
END_TEST

/* However fast the store turns over. The one that is used is used before each put, or before every third. */
START_TEST(what_is_used_outlives_what_is_not) {
  enum { LIMIT = 1 << 20, BYTES = 8000, PUTS = 1000, EVERY = 3 };
  char *dir = fresh(), *path = entry_path(dir, "hot");
  struct timespec last = {0};
  int writes = 0;
  rs_store *store = open_logged(dir, LIMIT, NULL);
  ck_assert(put_bytes(store, "hot", BYTES) && put_bytes(store, "at times", BYTES));
  for (int i = 0; i < PUTS; i++) {
    struct stat status;
    ck_assert_msg(hits(store, "hot"), "gone after %d puts", i);
    ck_assert_msg(i % EVERY || hits(store, "at times"), "gone after %d puts", i);
    ck_assert_int_eq(stat(path, &status), 0);
    writes += memcmp(&last, &status.st_mtim, sizeof last) != 0;
    last = status.st_mtim;
    ck_assert(put_bytes(store, path_of("%d", i), BYTES));
  }
  rs_store_counts mine;
  rs_store_counted(store, &mine, NULL);
  printf(
      "%d puts into room for %d, %d evicted: an entry that was used before each put stayed, and was written %d times\n",
      PUTS, LIMIT / BYTES, (int)mine.of[RS_COUNT_evictions], writes);
  ck_assert_int_gt(mine.of[RS_COUNT_evictions], PUTS / 2);
  ck_assert_int_lt(writes, PUTS / 2);
  rs_store_close(store);
}
END_TEST

START_TEST(the_bound_holds) {
  enum { LIMIT = 200000 };
  char *dir = fresh(), *ledger = path_of("%s/ledger", dir);
  size_t count;
  rs_store *store = open_logged(dir, LIMIT, NULL);
  for (int i = 0; i < 150; i++) {
    char key[32];
    snprintf(key, sizeof key, "%d", i);
    ck_assert(put_bytes(store, key, (size_t)(i * 37 % 9000)));
    ck_assert(hits(store, key));
    ck_assert_int_le(bytes_in(store), LIMIT);
    free(slurp(ledger, &count));
    ck_assert_uint_le(count, 32 + LIMIT / 16 / 4096); /* it begins again: not every put surveys */
  }
  ck_assert_int_gt(bytes_in(store), LIMIT / 2);
  rs_store_close(store);
}
END_TEST

START_TEST(the_bound_holds_for_processes_together) {
  enum { LIMIT = 400000, STORES = 4 };
  char *dir = fresh();
  rs_store *stores[STORES];
  for (int i = 0; i < STORES; i++)
    stores[i] = open_logged(dir, LIMIT, NULL);
  for (int i = 0; i < 100; i++) {
    char key[32];
    snprintf(key, sizeof key, "%d", i);
    ck_assert(put_bytes(stores[i % STORES], key, 8000));
    ck_assert_int_le(bytes_in(stores[0]), LIMIT);
  }
  for (int i = 0; i < STORES; i++)
    rs_store_close(stores[i]);
}
END_TEST

START_TEST(the_bound_holds_without_a_ledger) {
  enum { LIMIT = 40000 };
  char *dir = fresh();
  rs_store *store = open_logged(dir, LIMIT, NULL);
  ck_assert_int_eq(mkdir(path_of("%s/ledger", dir), 0700), 0);
  for (int i = 0; i < 60; i++) {
    ck_assert(put_bytes(store, path_of("%d", i), 1000));
    ck_assert_int_le(bytes_in(store), LIMIT);
  }
  rs_store_close(store);
}
END_TEST

/* Whatever is in the ledger, the bound holds, and the next put surveys no more. */
START_TEST(a_damaged_ledger_is_begun_anew) {
  enum { LIMIT = 400000, HEAD = 32, LENGTHS = 40 };
  char *dir = fresh(), *ledger = path_of("%s/ledger", dir), *surveyed = path_of("%s/surveyed", dir);
  unsigned char bad[HEAD + LENGTHS] = {0};
  size_t count;
  rs_store *store = open_logged(dir, LIMIT, NULL);
  for (int i = 0; i < 30; i++)
    ck_assert(put_bytes(store, path_of("%d", i), 10000));
  for (int i = 0; i < 2 * HEAD + LENGTHS; i++) {
    unsigned char *sound = slurp(ledger, &count);
    ck_assert_uint_ge(count, HEAD);
    memcpy(bad, sound, HEAD);
    free(sound);
    if (i < HEAD)
      bad[i] ^= 1;
    else if (i >= 2 * HEAD)
      memset(bad, 0, sizeof bad); /* as after a crash */
    spill(ledger, bad, i < HEAD ? HEAD : (size_t)i - HEAD);
    for (int k = 0; k < 2; k++) {
      age(surveyed, HOUR);
      ck_assert(put_bytes(store, path_of("bad %d", i), k ? 10 : 10000));
      ck_assert_msg((age_of(surveyed) < HOUR / 2) == !k, "damage %d, put %d", i, k);
      ck_assert_int_le(bytes_in(store), LIMIT);
    }
  }
  printf("a ledger with each of %d bytes flipped and of %d lengths: begun anew\n", HEAD, HEAD + LENGTHS);
  rs_store_close(store);
}
END_TEST

/* What was noted before a survey began is cut off then: one that began earlier and ends later has not seen it. */
START_TEST(of_two_surveys_the_later_one_counts) {
  enum { SEEN = 5000000, UNIT = 4096 };
  rs_store *store = open_at(fresh());
  uint64_t noted = 0;
  rs_ledger known;
  rs_ledger_survey first = rs_ledger_begin(store, true);
  ck_assert(rs_ledger_note(store, SEEN, &noted, &known));
  ck_assert_int_eq(known.bytes, RS_LEDGER_UNKNOWN);
  rs_ledger_survey second = rs_ledger_begin(store, false);
  rs_ledger_end(&second, SEEN);
  rs_ledger_end(&first, 1);
  ck_assert(rs_ledger_note(store, 1, &noted, &known));
  ck_assert_int_eq(known.bytes, SEEN + UNIT);
  rs_store_close(store);
}
END_TEST

/* Whoever makes it may be stopped, or on a machine that is gone. */
START_TEST(a_survey_that_does_not_end_is_waited_for_in_vain) {
  enum { LIMIT = 200000 };
  rs_store *store = open_logged(fresh(), LIMIT, NULL);
  rs_store_lock lock = rs_store_acquire(store, "survey\n", 0);
  ck_assert_int_ge(lock.fd, 0);
  double longest = 0, start = monotonic_ms();
  for (int i = 0; i < 40; i++) {
    double before = monotonic_ms();
    ck_assert(put_bytes(store, path_of("%d", i), 4000));
    ck_assert_int_le(bytes_in(store), LIMIT);
    longest = monotonic_ms() - before > longest ? monotonic_ms() - before : longest;
  }
  printf("40 puts while a survey did not end: %.0f ms, the longest of them %.0f\n", monotonic_ms() - start, longest);
  ck_assert(longest >= 500 && longest < 10000);
  rs_store_release(lock);
  rs_store_close(store);
}
END_TEST

START_TEST(an_entry_too_large_is_not_kept) {
  char *dir = fresh();
  rs_store *store = open_logged(dir, 8000, NULL);
  ck_assert(put(store, "small", "text"));
  ck_assert(!put_bytes(store, "large", 7000));
  ck_assert(put_bytes(store, "large", 6800));
  ck_assert(hits(store, "small") && hits(store, "large"));
  rs_store_close(store);
}
END_TEST

static char *leave_temporary(const char *dir, const char *name, int64_t seconds) {
  char *path = path_of("%s/%s", dir, name);
  mkdir(parent_of(path), 0700);
  spill(path, "half an ent", 11);
  age(path, seconds);
  return path;
}

START_TEST(stale_temporaries_are_swept) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  char *old = leave_temporary(dir, "00/tmp-1-2-3", 2 * HOUR), *young = leave_temporary(dir, "ff/tmp-1-2-3", HOUR / 2);
  char *foreign = leave_temporary(dir, "00/temporary", 2 * HOUR);
  ck_assert_int_eq(entries_in(store), 0);
  ck_assert(put(store, "key", "text"));
  ck_assert(!exists(old) && exists(young) && exists(foreign));
  old = leave_temporary(dir, "aa/tmp-1-2-3", 2 * HOUR);
  ck_assert(put(store, "another", "text"));
  rs_store_close(store);
  store = open_at(dir);
  ck_assert(put(store, "third", "text"));
  ck_assert(exists(old)); /* neither each put surveys, nor each process */
  rs_store_pruned pruned;
  ck_assert(rs_store_prune(store, &pruned));
  ck_assert(pruned.swept == 1 && pruned.swept_bytes == 11 && pruned.left == 3 && !pruned.removed);
  ck_assert(!exists(old) && exists(young) && hits(store, "key"));
  rs_store_close(store);
}
END_TEST

/* ---- visit, count, clear ----------------------------------------------------------------------------------------- */

START_TEST(a_visit_sees_every_entry) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  for (int i = 0; i < 100; i++) {
    char key[32];
    snprintf(key, sizeof key, "key=%d\n", i);
    ck_assert(put(store, key, key));
  }
  spill(entry_path(dir, "key=7\n"), "x", 1);
  leave_temporary(dir, "00/tmp-1-2-3", 0);
  leave_temporary(dir, "00/notes.txt", 0);
  leave_temporary(dir, "00/ABCDEF0123456789ABCDEF01234567", 0);
  leave_temporary(dir, "00/abcdef", 0);
  visit_book book = {0};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert_int_eq(book.entries, 100);
  ck_assert_int_eq(book.damaged, 1);
  ck_assert_int_eq(entries_in(store), 100);
  ck_assert_int_eq(bytes_in(store), book.bytes);
  ck_assert(book.damaged && exists(path_of("%s/%s", dir, book.name)));
  char name[RS_ENTRY_NAME];
  rs_entry_name(book.key, name);
  ck_assert_str_eq(name, book.name);
  book = (visit_book){.stop_after = 10};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert_int_eq(book.entries, 10);
  rs_store_close(store);
}
END_TEST

typedef struct eraser {
  rs_store *store;
  int visited;
} eraser;

static int erase_visited(void *user, const rs_store_item *item) {
  eraser *eraser_ = user;
  eraser_->visited++;
  rs_store_remove(eraser_->store, item->key);
  ck_assert(put(eraser_->store, "again", "text"));
  return 0;
}

START_TEST(a_visit_may_change_the_store) {
  rs_store *store = open_at(fresh());
  for (char key[2] = "a"; *key < 'z'; ++*key)
    ck_assert(put(store, key, "text"));
  eraser user = {.store = store};
  ck_assert(rs_store_visit(store, erase_visited, &user));
  ck_assert_int_ge(user.visited, 25);
  ck_assert_int_le(entries_in(store), 1);
  rs_store_close(store);
}
END_TEST

START_TEST(clear_removes_what_is_ours) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "a", "1") && put(store, "b", "2"));
  char *temporary = leave_temporary(dir, "00/tmp-1-2-3", 0), *foreign = leave_temporary(dir, "01/notes.txt", 0);
  spill(path_of("%s/notes.txt", dir), "", 0);
  spill(entry_path(dir, "a"), "x", 1);
  int64_t held = bytes_in(store), removed, bytes;
  ck_assert(rs_store_clear(store, &removed, &bytes));
  ck_assert_int_eq(removed, 2);
  ck_assert_int_eq(bytes, held);
  ck_assert(!exists(temporary) && exists(foreign) && exists(path_of("%s/notes.txt", dir)) &&
            exists(path_of("%s/CACHEDIR.TAG", dir)));
  ck_assert(!exists(path_of("%s/00", dir)) && !exists(parent_of(entry_path(dir, "a"))));
  ck_assert(put(store, "a", "1") && has(store, "a", "1"));
  rs_store_close(store);
}
END_TEST

/* ---- suite ------------------------------------------------------------------------------------------------------- */

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static int64_t counted(rs_store *store, rs_store_event event) {
  rs_store_counts all;
  rs_store_counted(store, NULL, &all);
  return all.of[event];
}

static int64_t counted_here(rs_store *store, rs_store_event event) {
  rs_store_counts mine;
  rs_store_counted(store, &mine, NULL);
  return mine.of[event];
}

START_TEST(counts_outlive_their_store) {
  char *dir = fresh();
  for (int round = 1; round <= 3; round++) {
    rs_store *store = open_at(dir), *other = open_at(dir);
    for (int event = 0; event < RS_COUNTS; event++)
      rs_store_add(store, (rs_store_event)event, event + 1);
    rs_store_add(other, RS_COUNT_rejected, 1000);
    for (int event = 0; event < RS_COUNTS; event++) {
      int64_t others = event == RS_COUNT_rejected ? 1000 : 0;
      ck_assert_int_eq(counted_here(store, (rs_store_event)event), event + 1);
      ck_assert_int_eq(counted(store, (rs_store_event)event), round * (event + 1) + (round - 1) * others);
    }
    if (round == 2)
      ck_assert(put(store, "key", "text")); /* saves, and closing does not save again */
    ck_assert_int_eq(counted(store, RS_COUNT_misses), 2 * round);
    rs_store_close(store);
    rs_store_close(other);
  }
  rs_store *store = open_at(dir);
  ck_assert_int_eq(counted(store, RS_COUNT_rejected), 3 * (RS_COUNT_rejected + 1 + 1000));
  ck_assert_int_eq(counted_here(store, RS_COUNT_rejected), 0);
  ck_assert(rs_store_clear(store, NULL, NULL));
  ck_assert_int_eq(counted(store, RS_COUNT_hits), 3);
  rs_store_close(store);
  ck_assert_int_eq(mode_of(path_of("%s/counts", dir)), 0600);
}
END_TEST

START_TEST(nothing_counted_writes_nothing) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(!hits(store, "key"));
  ck_assert_int_eq(counted(store, RS_COUNT_hits), 0);
  rs_store_close(store);
  ck_assert(!exists(path_of("%s/counts", dir)));
}
END_TEST

/* To the last one, where locks work. */
START_TEST(processes_count_together) {
  enum { PROCESSES = 4, ROUNDS = 50 };
  char *dir = fresh();
  rs_store_close(open_at(dir));
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    if ((children[i] = fork()) == 0) {
      for (int round = 0; round < ROUNDS; round++) {
        rs_store *store = open_at(dir);
        rs_store_add(store, RS_COUNT_hits, 1);
        rs_store_add(store, RS_COUNT_saved_us, 1000000007);
        rs_store_close(store);
      }
      _exit(0);
    }
  for (int i = 0; i < PROCESSES; i++) {
    int status;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert_int_eq(status, 0);
  }
  rs_store *store = open_at(dir);
  ck_assert_int_eq(counted(store, RS_COUNT_hits), PROCESSES * ROUNDS);
  ck_assert_int_eq(counted(store, RS_COUNT_saved_us), PROCESSES * ROUNDS * INT64_C(1000000007));
  rs_store_close(store);
}
END_TEST

START_TEST(evictions_and_damage_are_counted) {
  char *dir = fresh();
  rs_store *store = five_entries(dir, 4000);
  rs_store_pruned pruned;
  ck_assert(rs_store_prune(store, &pruned));
  ck_assert_int_eq(counted_here(store, RS_COUNT_evictions), 2);
  ck_assert(put(store, "key", "text"));
  spill(entry_path(dir, "key"), "nonsense", 8);
  ck_assert(!hits(store, "key") && !hits(store, "key") && !hits(store, "never put"));
  ck_assert_int_eq(counted_here(store, RS_COUNT_damaged), 2);
  rs_store_close(store);
}
END_TEST

/* Whatever is in the file is the sum, or nothing; and the next one who counts heals it. */
START_TEST(damaged_counts_begin_anew) {
  char *dir = fresh(), *path = path_of("%s/counts", dir);
  rs_store *store = open_at(dir);
  rs_store_add(store, RS_COUNT_hits, 7);
  rs_store_close(store);
  size_t count;
  unsigned char *bytes = slurp(path, &count), *bad = malloc(count + 1);
  store = open_at(dir);
  int damages = 0;
  for (size_t i = 0; i < count; i++, damages += 2) {
    memcpy(bad, bytes, count);
    bad[i] ^= 1;
    spill(path, bad, count);
    ck_assert_int_eq(counted(store, RS_COUNT_hits), 0);
    spill(path, bytes, i);
    ck_assert_int_eq(counted(store, RS_COUNT_hits), 0);
  }
  printf("counts of %zu bytes, each byte changed and each length: %d times begun anew\n", count, damages);
  memcpy(bad, bytes, count);
  bad[count] = 0;
  spill(path, bad, count + 1);
  ck_assert_int_eq(counted(store, RS_COUNT_hits), 0);
  /* sound, but of something else */
  static const char *const texts[] = {"", "hits=1\n",
                                      "hits=1\nmisses=1\ncompiles=1\nsaved_us=1\nevictions=1\n"
                                      "damaged=1\nrejected=-1\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t length;
    unsigned char *other =
        rs_entry_encode("counts=1\n", (rs_part[RS_STORE_PARTS]){{texts[i], strlen(texts[i])}}, &length);
    spill(path, other, length);
    free(other);
    ck_assert_int_eq(counted(store, RS_COUNT_hits), 0);
  }
  for (int i = 0; i < 2; i++) { /* shorter and longer than it will be */
    spill(path, bytes, i ? count : count / 2);
    if (i) {
      int fd = open(path, O_WRONLY | O_APPEND);
      ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
      close(fd);
    }
    rs_store_add(store, RS_COUNT_hits, 1);
    rs_store_close(store);
    store = open_at(dir);
    ck_assert_int_eq(counted(store, RS_COUNT_hits), 1);
  }
  spill(path, bytes, count);
  ck_assert_int_eq(counted(store, RS_COUNT_hits), 7);
  rs_store_close(store);
  free(bytes);
  free(bad);
}
END_TEST

/* Hostile things in its place are neither followed nor waited for, and a file that can't be written is no failure. */
START_TEST(counts_that_can_not_be_kept_are_told_all_the_same) {
  char *dir = fresh(), *path = path_of("%s/counts", dir), *other = path_of("%s/mine", parent_of(dir));
  rs_store_close(open_at(dir));
  spill(other, "mine", 4);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(i == 0 ? symlink(other, path) : i == 1 ? mkfifo(path, 0600) : mkdir(path, 0700), 0);
    rs_store *store = open_at(dir);
    rs_store_add(store, RS_COUNT_hits, 5);
    ck_assert(put(store, "key", "text"));
    ck_assert_int_eq(counted(store, RS_COUNT_hits), 5);
    rs_store_close(store);
    ck_assert_int_eq(remove(path), 0);
  }
  size_t count;
  unsigned char *bytes = slurp(other, &count);
  ck_assert(count == 4 && memcmp(bytes, "mine", 4) == 0);
  free(bytes);
  rs_store *none = rs_store_open(&(rs_store_options){.off_by = "the program"});
  rs_store_add(none, RS_COUNT_hits, 5);
  ck_assert_int_eq(counted(none, RS_COUNT_hits), 5);
  rs_store_close(none);
}
END_TEST

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* What a command about a cache prints; its arguments between blanks. */
static char *told_by(const char *dir, const char *arguments) {
  char *file = path_of("%s/told", parent_of(dir)), *words = path_of("%s", arguments), *argument[8], *rest = NULL;
  int count = 0;
  for (char *word = strtok_r(words, " ", &rest); word && count < 8; word = strtok_r(NULL, " ", &rest))
    argument[count++] = word;
  setenv("ROWSCAN_CACHE_DIR", dir, 1);
  fflush(stdout);
  int before = dup(STDOUT_FILENO), to = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(to, STDOUT_FILENO);
  int status = command_cache(count, argument);
  fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  close(to);
  ck_assert_int_eq(status, 0);
  size_t bytes;
  char *told = (char *)slurp(file, &bytes);
  told[bytes] = 0;
  return told;
}

/* Whoever may write into the cache or a pack chooses its keys, but does not control the terminal. */
START_TEST(keys_are_shown_plainly) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "op=\x1b[31m\nin=\xc2\x9b[31m\nodd\x7f=\x07\n", "ptx"));
  rs_store_close(store);
  char *told = told_by(dir, "why --arch=sm_90 length=7"), *objects = told_by(dir, "why --arch=sm_90 length=7 --json"),
       *listed = told_by(dir, "list --json");
  ck_assert_msg(strstr(told, "  op         \\x1b[31m, not sum\n") &&
                    strstr(told, "  in         \\xc2\\x9b[31m, not f32\n") &&
                    strstr(told, "  odd\\x7f       \\x07, not (none)\n"),
                "%s", told);
  ck_assert_ptr_nonnull(strstr(objects, "\"\\u009b[31m\""));
  ck_assert_ptr_nonnull(strstr(listed, "op=\\u001b[31m\\u000ain="));
  ck_assert_ptr_nonnull(strstr(listed, "odd\\u007f=\\u0007"));
  ck_assert_ptr_null(strpbrk(told, "\x1b\x7f\x07\x9b"));
  ck_assert_ptr_null(strpbrk(objects, "\x1b\x7f\x07\x9b"));
  ck_assert_ptr_null(strpbrk(listed, "\x1b\x7f\x07\x9b"));
  free(told);
  free(objects);
  free(listed);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("cache");
  TCase *entries = add_case(suite, "entries");
  tcase_add_test(entries, a_hit_returns_what_was_put);
  tcase_add_test(entries, every_length_of_key_and_part_survives);
  tcase_add_test(entries, an_unknown_key_is_a_miss);
  tcase_add_test(entries, a_put_replaces);
  tcase_add_test(entries, a_store_outlives_its_process);
  tcase_add_test(entries, a_stem_finds_an_entry);
  tcase_add_test(entries, endings_come_back_with_the_next_put);
  tcase_add_test(entries, remove_removes_one);
  lot_add_loop_test(entries, a_part_may_stay_on_disk, 0, RS_STORE_PARTS);
  tcase_add_test(entries, the_format_is_what_it_was);

  TCase *damage = add_case(suite, "damage");
  lot_add_loop_test(damage, every_flipped_byte_is_a_miss, 0, RS_STORE_PARTS + 1);
  lot_add_loop_test(damage, every_truncation_and_growth_is_a_miss, 0, RS_STORE_PARTS + 1);
  lot_add_loop_test(damage, a_right_digest_excuses_nothing, 0, RS_STORE_PARTS + 1);
  tcase_add_test(damage, no_bytes_lead_astray);
  tcase_add_test(damage, another_key_under_the_same_name_is_a_miss);
  tcase_add_test(damage, a_put_heals_what_is_damaged);
  tcase_add_test(damage, a_huge_file_is_not_read);

  TCase *eviction = add_case(suite, "eviction");
  tcase_add_test(eviction, the_least_recently_used_goes_first);
  tcase_add_test(eviction, nothing_goes_below_the_limit);
  tcase_add_test(eviction, prune_evicts_without_a_put);
  tcase_add_test(eviction, a_hit_is_noted_once_a_minute);
  tcase_add_test(eviction, a_hit_is_noted_once_a_survey);
  tcase_add_test(eviction, a_clock_set_back_has_no_hit_write_more);
  tcase_add_test(eviction, no_time_or_size_overflows);
  tcase_add_test(eviction, what_is_used_outlives_what_is_not);
  tcase_add_test(eviction, the_bound_holds);
  tcase_add_test(eviction, the_bound_holds_for_processes_together);
  tcase_add_test(eviction, the_bound_holds_without_a_ledger);
  tcase_add_test(eviction, a_damaged_ledger_is_begun_anew);
  tcase_add_test(eviction, of_two_surveys_the_later_one_counts);
  tcase_add_test(eviction, a_survey_that_does_not_end_is_waited_for_in_vain);
  tcase_add_test(eviction, an_entry_too_large_is_not_kept);
  tcase_add_test(eviction, stale_temporaries_are_swept);

  TCase *all = add_case(suite, "visit, count, clear");
  tcase_add_test(all, a_visit_sees_every_entry);
  tcase_add_test(all, a_visit_may_change_the_store);
  tcase_add_test(all, clear_removes_what_is_ours);
  TCase *counts = add_case(suite, "counts");
  tcase_add_test(counts, counts_outlive_their_store);
  tcase_add_test(counts, nothing_counted_writes_nothing);
  tcase_add_test(counts, processes_count_together);
  tcase_add_test(counts, evictions_and_damage_are_counted);
  tcase_add_test(counts, damaged_counts_begin_anew);
  tcase_add_test(counts, counts_that_can_not_be_kept_are_told_all_the_same);
  tcase_add_test(add_case(suite, "command"), keys_are_shown_plainly);
  return run_suite(suite);
}
