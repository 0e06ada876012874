/*
 * cache_help.h - what the suites of the cache share: paths, files, small entries, a visit that keeps what it saw
 * SPDX-License-Identifier: MIT
 *
 * Each suite has a directory for its run, below $TMPDIR or else the current one, and removes it at its end.
 */
#ifndef RS_CACHE_HELP_H
#define RS_CACHE_HELP_H

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "entry.h"
#include "quick.h"
#include "run_tests.h"
#include "store.h"

enum { HOUR = 3600 };

static char top[PATH_MAX]; /* of the whole run */

/* A path that need not be freed: tests make a few thousand. */
static inline char *path_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline char *path_of(const char *format, ...) {
  static char memory[4 << 20];
  static size_t used;
  va_list list;
  va_start(list, format);
  int length = vsnprintf(memory + used, sizeof memory - used, format, list);
  va_end(list);
  ck_assert(length >= 0 && used + (size_t)length < sizeof memory);
  used += (size_t)length + 1;
  return memory + used - length - 1;
}

/* A path that doesn't exist yet, in a directory of its own. */
static inline char *fresh(void) {
  char *parent = path_of("%s/XXXXXX", top);
  ck_assert_ptr_nonnull(mkdtemp(parent));
  ck_assert_int_eq(chmod(parent, 0755), 0);
  return path_of("%s/store", parent);
}

static inline char *parent_of(const char *path) {
  return path_of("%.*s", (int)(strrchr(path, '/') - path), path);
}

static inline char *entry_path(const char *dir, const char *key) {
  char name[RS_ENTRY_NAME];
  rs_entry_name(key, name);
  return path_of("%s/%s", dir, name);
}

static inline bool exists(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0;
}

static inline mode_t mode_of(const char *path) {
  struct stat status;
  ck_assert_msg(lstat(path, &status) == 0, "%s: %s", path, strerror(errno));
  return status.st_mode & 07777;
}

static inline void spill(const char *path, const void *bytes, size_t count) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
  ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
  close(fd);
}

static inline unsigned char *slurp(const char *path, size_t *count) {
  struct stat status;
  int fd = open(path, O_RDONLY);
  ck_assert_msg(fd >= 0 && fstat(fd, &status) == 0, "%s: %s", path, strerror(errno));
  *count = (size_t)status.st_size;
  unsigned char *bytes = malloc(*count + 1);
  ck_assert_int_eq(read(fd, bytes, *count), (ssize_t)*count);
  close(fd);
  return bytes;
}

/* Makes the file this many seconds old; negative: from the future. */
static inline void age(const char *path, int64_t seconds) {
  struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
  ck_assert_msg(utimensat(AT_FDCWD, path, times, 0) == 0, "%s: %s", path, strerror(errno));
}

static inline int64_t age_of(const char *path) {
  struct stat status;
  ck_assert_msg(lstat(path, &status) == 0, "%s: %s", path, strerror(errno));
  return time(NULL) - status.st_mtim.tv_sec;
}

/* Names in a directory that begin so; "" counts all but . and .. */
static inline int names_in(const char *dir, const char *begin) {
  DIR *list = opendir(dir);
  int count = 0;
  for (struct dirent *at; list && (at = readdir(list)) != NULL;)
    count += strcmp(at->d_name, ".") && strcmp(at->d_name, "..") && !strncmp(at->d_name, begin, strlen(begin));
  if (list)
    closedir(list);
  return count;
}

/* In all fans of a store. */
static inline int files_in(const char *dir, const char *begin) {
  DIR *list = opendir(dir);
  int count = 0;
  for (struct dirent *at; list && (at = readdir(list)) != NULL;) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, at->d_name);
    count += strlen(at->d_name) == 2 && *at->d_name != '.' ? names_in(path, begin) : 0;
  }
  if (list)
    closedir(list);
  return count;
}

static inline int temporaries_in(const char *dir) {
  return files_in(dir, "tmp-");
}

/* The size that a file may have; RLIM_INFINITY: any. Until that is back, nothing may be asserted: Check writes files.
 */
static inline void limit_files(rlim_t bytes) {
  struct rlimit limit;
  bool set = getrlimit(RLIMIT_FSIZE, &limit) == 0;
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  if (!set || setrlimit(RLIMIT_FSIZE, &limit) != 0)
    abort();
}

static inline int descriptors(void) {
  return names_in("/proc/self/fd", "");
}

typedef struct log_book {
  int messages[3];
  char last[1024];
} log_book;

static inline void note(void *user, rowscan_log_level level, const char *message) {
  log_book *book = user;
  ck_assert(level >= 0 && level < 3);
  book->messages[level]++;
  snprintf(book->last, sizeof book->last, "%s", message);
}

static inline rs_store *open_logged(const char *dir, int64_t limit, log_book *book) {
  rs_store *store =
      rs_store_open(&(rs_store_options){.dir = dir, .limit_bytes = limit, .log = {book ? note : NULL, book}});
  ck_assert_ptr_nonnull(store);
  return store;
}

static inline rs_store *open_at(const char *dir) {
  return open_logged(dir, 0, NULL);
}

static inline bool put(rs_store *store, const char *key, const char *text) {
  return rs_store_put(store, key, (rs_part[RS_STORE_PARTS]){{text, strlen(text)}});
}

/* Of about so many bytes on disk. */
static inline bool put_bytes(rs_store *store, const char *key, size_t bytes) {
  char *data = calloc(1, bytes);
  bool kept = rs_store_put(store, key, (rs_part[RS_STORE_PARTS]){{0}, {data, bytes}});
  free(data);
  return kept;
}

static inline bool has(rs_store *store, const char *key, const char *text) {
  rs_entry entry;
  if (!rs_store_get(store, key, RS_STORE_PARTS, &entry))
    return false;
  bool same = entry.part[0].bytes == strlen(text) && strcmp(entry.part[0].data, text) == 0;
  rs_entry_free(&entry);
  return same;
}

static inline bool hits_without(rs_store *store, const char *key, int part) {
  rs_entry entry;
  bool hit = rs_store_get(store, key, part, &entry);
  ck_assert(hit == (entry.memory != NULL));
  rs_entry_free(&entry);
  return hit;
}

static inline bool hits(rs_store *store, const char *key) {
  return hits_without(store, key, RS_STORE_PARTS);
}

typedef struct visit_book {
  int entries, damaged, stop_after;
  int64_t bytes;
  char damage[256], key[256], name[256];
} visit_book;

static inline int keep_visit(void *user, const rs_store_item *item) {
  visit_book *book = user;
  ck_assert((item->key == NULL) == (item->damage != NULL));
  book->entries++;
  book->damaged += item->damage != NULL;
  book->bytes += item->bytes;
  snprintf(book->damage, sizeof book->damage, "%s", item->damage ? item->damage : "");
  snprintf(book->key, sizeof book->key, "%s", item->key ? item->key : "");
  snprintf(book->name, sizeof book->name, "%s", item->name);
  return book->entries == book->stop_after;
}

/* What a visit says of the only entry; "" if it is sound. */
static inline const char *damage_of_only(rs_store *store) {
  static visit_book book;
  book = (visit_book){0};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert_int_eq(book.entries, 1);
  return book.damage;
}

static inline int64_t bytes_in(rs_store *store) {
  int64_t bytes;
  ck_assert(rs_store_count(store, NULL, &bytes));
  return bytes;
}

static inline int64_t entries_in(rs_store *store) {
  int64_t entries;
  ck_assert(rs_store_count(store, &entries, NULL));
  return entries;
}

/* A number from the environment, for the long form of a test. */
static inline int asked_for(const char *variable, int by_default) {
  const char *value = getenv(variable);
  return value && atoi(value) > 0 ? atoi(value) : by_default;
}

static inline double monotonic_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static inline void no_environment(void) {
  unsetenv("ROWSCAN_CACHE");
  unsetenv("ROWSCAN_CACHE_DIR");
  setenv("ROWSCAN_CACHE_PACKS", "off", 1); /* none that are installed */
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
}

static inline int remove_path(const char *path, const struct stat *status, int type, struct FTW *ftw) {
  (void)status, (void)type, (void)ftw;
  return remove(path);
}

static inline void remove_tree(const char *path) {
  nftw(path, remove_path, 16, FTW_DEPTH | FTW_PHYS);
}

static inline TCase *add_case(Suite *suite, const char *name) {
  TCase *group = tcase_create(name);
  tcase_set_timeout(group, 120);
  tcase_add_checked_fixture(group, no_environment, NULL);
  suite_add_tcase(suite, group);
  return group;
}

/* Runs a suite whose tests have a directory to themselves, and says how main is to end. */
static inline int run_suite(Suite *suite) {
  const char *base = getenv("TMPDIR");
  char where[PATH_MAX];
  if (!base || *base != '/')
    base = getcwd(where, sizeof where);
  snprintf(top, sizeof top, "%s/test_cache.XXXXXX", base ? base : "/tmp");
  if (!mkdtemp(top) || chmod(top, 0755) != 0) {
    perror(top);
    return EXIT_FAILURE;
  }
  int status = run_tests(suite);
  remove_tree(top);
  return status;
}

#endif
