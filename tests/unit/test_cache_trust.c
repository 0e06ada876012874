/*
 * test_cache_trust.c - the store of cache/: where it lives, whom it trusts, what it survives
 * SPDX-License-Identifier: MIT
 *
 * What goes wrong is done to real files: links, FIFOs, other owners, full disks. Root may do everything, so what rests
 * on permissions runs in a child process that has become another user. `test_cache_trust environment` is what one of
 * its tests runs, setuid and not: a program that tells whether it used what its environment says.
 */
#include "../support/cache_help.h"
#include "../support/lot.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "compile/nvrtc.h"
#include "inside.h"
#include "pack.h"

enum { NOBODY = 65534 };

/* Runs body in a child process; its answer. */
static bool in_child(bool (*body)(const char *dir), const char *dir, uid_t user) {
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit((geteuid() == user || (setgid(user) == 0 && setuid(user) == 0)) && body(dir) ? 0 : 1);
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool can_reach(const char *dir) {
  return access(dir, X_OK) == 0;
}

/* A user that permissions bind; -1 if there is none who can get at path. */
static int64_t bound_user(const char *path) {
  if (geteuid() != 0)
    return geteuid();
  return in_child(can_reach, parent_of(path), NOBODY) ? NOBODY : -1;
}

static int give_one(const char *path, const struct stat *status, int type, struct FTW *ftw) {
  (void)status, (void)type, (void)ftw;
  return lchown(path, NOBODY, NOBODY);
}

/* To the user that bound_user found. */
static void give_tree(const char *path) {
  if (geteuid() == 0)
    ck_assert_int_eq(nftw(path, give_one, 16, FTW_PHYS), 0);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void expect_path(const char *path) {
  rs_store *store = open_at(NULL);
  ck_assert_str_eq(rs_store_path(store), path);
  ck_assert_str_eq(rs_store_why(store), "");
  ck_assert(put(store, "key", path) && has(store, "key", path));
  rs_store_close(store);
}

static void expect_none(const rs_store_options *options, const char *why) {
  rs_store *store = rs_store_open(options);
  ck_assert_str_eq(rs_store_path(store), "");
  ck_assert_msg(strstr(rs_store_why(store), why) != NULL, "\"%s\" does not tell of \"%s\"", rs_store_why(store), why);
  ck_assert(!put(store, "key", "text") && !hits(store, "key"));
  rs_store_remove(store, "key");
  ck_assert_int_eq(rs_store_acquire(store, "key", 10000).fd, -1);
  rs_store_release((rs_store_lock){-1});
  visit_book book = {0};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert_int_eq(book.entries, 0);
  ck_assert_int_eq(entries_in(store), 0);
  int64_t removed = -1, bytes = -1;
  rs_store_pruned pruned;
  ck_assert(rs_store_prune(store, &pruned) && !pruned.removed && !pruned.swept && !pruned.left);
  removed = bytes = -1;
  ck_assert(rs_store_clear(store, &removed, &bytes) && removed == 0 && bytes == 0);
  rs_store_close(store);
}

START_TEST(the_places_in_their_order) {
  no_environment();
  char *home = fresh(), *xdg = fresh(), *own = fresh();
  setenv("HOME", home, 1);
  expect_path(path_of("%s/.cache/rowscan", home));
  setenv("XDG_CACHE_HOME", "", 1);
  expect_path(path_of("%s/.cache/rowscan", home));
  setenv("XDG_CACHE_HOME", xdg, 1);
  expect_path(path_of("%s/rowscan", xdg));
  setenv("ROWSCAN_CACHE_DIR", own, 1);
  expect_path(own);
  rs_store *store = open_at(path_of("%s/given", home));
  ck_assert_str_eq(rs_store_path(store), path_of("%s/given", home));
  rs_store_close(store);
}
END_TEST

START_TEST(directories_are_made_for_their_user_alone) {
  no_environment();
  umask(0);
  char *home = fresh();
  setenv("HOME", home, 1);
  char *path = path_of("%s/.cache/rowscan", home);
  expect_path(path);
  ck_assert_int_eq(mode_of(home), 0700);
  ck_assert_int_eq(mode_of(path_of("%s/.cache", home)), 0700);
  ck_assert_int_eq(mode_of(path), 0700);
  char *entry = entry_path(path, "key");
  ck_assert_int_eq(mode_of(entry), 0600);
  ck_assert_int_eq(mode_of(parent_of(entry)), 0700);
}
END_TEST

START_TEST(an_unusable_place_gives_way_to_the_next) {
  no_environment();
  char *home = fresh(), *file = fresh();
  spill(file, "", 0);
  setenv("HOME", home, 1);
  char *path = path_of("%s/.cache/rowscan", home);
  setenv("XDG_CACHE_HOME", file, 1);
  expect_path(path);
  setenv("XDG_CACHE_HOME", "relative", 1);
  expect_path(path);
  log_book book = {0};
  rs_store *store = rs_store_open(&(rs_store_options){.log = {note, &book}});
  ck_assert_int_eq(book.messages[0], 1);
  ck_assert_ptr_nonnull(strstr(rs_store_path(store), path));
  rs_store_close(store);
}
END_TEST

/* A place that is named for this cache means that one: a home may be small, or a network away. */
START_TEST(a_named_place_gives_way_to_none) {
  no_environment();
  char *home = fresh(), *file = fresh();
  spill(file, "", 0);
  setenv("HOME", home, 1);
  setenv("XDG_CACHE_HOME", path_of("%s/xdg", home), 1);
  const char *const bad[] = {"relative/to/what", path_of("%s/..", home), path_of("%s/../store", home), file,
                             path_of("%s/below", file)};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    setenv("ROWSCAN_CACHE_DIR", bad[i], 1);
    expect_none(&(rs_store_options){0}, bad[i]);
    ck_assert(!exists(home));
    log_book book = {0};
    rs_store_close(rs_store_open(&(rs_store_options){.log = {note, &book}}));
    ck_assert_int_eq(book.messages[0], 1);
    ck_assert_ptr_nonnull(strstr(book.last, "nothing is kept on disk: "));
    ck_assert_ptr_nonnull(strstr(book.last, bad[i]));
  }
  setenv("ROWSCAN_CACHE_DIR", path_of("%s/..a/b..", home), 1);
  expect_path(path_of("%s/..a/b..", home));
  setenv("ROWSCAN_CACHE_DIR", "", 1);
  expect_path(path_of("%s/xdg/rowscan", home));
}
END_TEST

START_TEST(no_place_is_no_failure) {
  no_environment();
  rs_store_options options = {0};
  expect_none(&options, "none of ROWSCAN_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
  setenv("HOME", "somewhere", 1);
  expect_none(&options, "HOME=somewhere: not an absolute path without \"..\"");
  char *file = fresh();
  spill(file, "", 0);
  setenv("HOME", file, 1);
  expect_none(&options, path_of("%s/.cache/rowscan: Not a directory", file));
  char name[PATH_MAX + 300] = "/";
  memset(name + 1, 'n', sizeof name - 2);
  setenv("HOME", name, 1);
  expect_none(&options, "/nnnn");
}
END_TEST

START_TEST(of_an_optional_place_nobody_is_warned) {
  char *file = fresh(), *dir = fresh();
  spill(file, "", 0);
  for (int optional = 0; optional < 2; optional++) {
    log_book book = {0};
    rs_store_options options = {.dir = file, .optional = optional, .log = {note, &book}};
    rs_store *store = rs_store_open(&options);
    ck_assert_int_eq(book.messages[0], !optional);
    ck_assert_int_eq(book.messages[1], optional);
    ck_assert_ptr_nonnull(strstr(book.last, "nothing is kept on disk: "));
    rs_store_close(store);
    options.dir = dir;
    store = rs_store_open(&options);
    ck_assert_str_eq(rs_store_path(store), dir);
    rs_store_close(store);
  }
}
END_TEST

/* A program that names a directory means that one. */
START_TEST(a_given_place_is_the_only_one) {
  no_environment();
  char *file = fresh();
  spill(file, "", 0);
  setenv("HOME", fresh(), 1);
  expect_none(&(rs_store_options){.dir = file}, "Not a directory");
  expect_none(&(rs_store_options){.dir = path_of("%s/below", file)}, "Not a directory");
}
END_TEST

START_TEST(it_can_be_turned_off) {
  no_environment();
  char *dir = fresh();
  setenv("ROWSCAN_CACHE_DIR", dir, 1);
  expect_none(&(rs_store_options){.dir = dir, .off_by = "the program"}, "turned off by the program");
  expect_none(&(rs_store_options){.off_by = "me"}, "turned off by me");
  ck_assert(!exists(dir));
  expect_path(dir);
}
END_TEST

START_TEST(a_relative_place_may_be_given) {
  char *dir = fresh();
  ck_assert_int_eq(chdir(parent_of(dir)), 0);
  rs_store *store = open_at("store/below/");
  ck_assert_str_eq(rs_store_path(store), "store/below");
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert(put(store, "key", "text") && has(store, "key", "text"));
  rs_store_close(store);
  ck_assert(exists(entry_path(path_of("%s/below", dir), "key")));
}
END_TEST

/* Nothing is made, opened or told before it is needed; and then what was said when the store was opened counts. */
START_TEST(a_store_may_be_opened_later) {
  no_environment();
  char *dir = fresh(), *other = fresh(), *file = fresh();
  int before = descriptors();
  log_book book = {0};
  rs_store_options options = {.later = true, .log = {note, &book}};
  spill(file, "", 0);
  ck_assert_int_eq(chdir(parent_of(dir)), 0);
  for (int given = 0; given < 2; given++) {
    options.dir = given ? "store" : NULL;
    options.packs = given ? "pack" : NULL;
    setenv("ROWSCAN_CACHE_DIR", given ? other : dir, 1);
    setenv("ROWSCAN_CACHE_PACKS", "relative", 1);
    rs_store *store = rs_store_open(&options);
    rs_store_add(store, RS_COUNT_hits, 1);
    ck_assert_int_eq(rs_store_limit(store), 256 << 20);
    ck_assert_int_eq(descriptors(), before);
    ck_assert(!exists(dir) && !exists(other) && !book.messages[0] && !book.messages[1] && !book.messages[2]);
    setenv("ROWSCAN_CACHE_DIR", other, 1);
    setenv("ROWSCAN_CACHE_PACKS", "off", 1);
    ck_assert_int_eq(chdir("/"), 0);
    rs_store_need(store);
    rs_store_need(store);
    ck_assert_str_eq(rs_store_path(store), dir);
    ck_assert(exists(dir) && !exists(other));
    ck_assert_int_eq(book.messages[0], 1); /* of the packs */
    ck_assert_ptr_nonnull(strstr(book.last, given ? path_of("%s/pack", parent_of(dir)) : "relative"));
    ck_assert(put(store, "key", "text") && has(store, "key", "text"));
    rs_store_close(store);
    remove_tree(dir);
    book = (log_book){0};
    ck_assert_int_eq(chdir(parent_of(dir)), 0);
  }
  for (int i = 0; i < 2; i++) { /* one that can't be used, and none */
    options = (rs_store_options){.dir = file, .off_by = i ? "the program" : NULL, .later = true, .log = {note, &book}};
    book = (log_book){0};
    rs_store_close(rs_store_open(&options));
    ck_assert(!book.messages[0] && !book.messages[2]);
    rs_store *store = rs_store_open(&options);
    rs_store_need(store);
    ck_assert_int_eq(book.messages[0], !i);
    ck_assert_ptr_nonnull(strstr(rs_store_why(store), i ? "turned off" : "Not a directory"));
    rs_store_close(store);
  }
}
END_TEST

static void *needs(void *store) {
  rs_store_need(store);
  return (void *)(uintptr_t)(*rs_store_path(store) && put(store, "key", "text") && has(store, "key", "text"));
}

START_TEST(threads_may_need_it_together) {
  enum { THREADS = 8 };
  log_book book = {0};
  char *dir = fresh();
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .later = true, .log = {note, &book}});
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, needs, store), 0);
  for (int i = 0; i < THREADS; i++) {
    void *worked;
    pthread_join(threads[i], &worked);
    ck_assert_ptr_nonnull(worked);
  }
  ck_assert_int_eq(book.messages[0], 0);
  rs_store_close(store);
}
END_TEST

START_TEST(the_limit_has_a_default) {
  rs_store *store = open_at(fresh());
  ck_assert_int_eq(rs_store_limit(store), 256 << 20);
  rs_store_close(store);
  store = open_logged(fresh(), 12345, NULL);
  ck_assert_int_eq(rs_store_limit(store), 12345);
  rs_store_close(store);
}
END_TEST

START_TEST(a_directory_of_its_own_is_tagged) {
  char *made = fresh(), *empty = fresh(), *full = fresh();
  rs_store_close(open_at(made));
  size_t count;
  unsigned char *tag = slurp(path_of("%s/CACHEDIR.TAG", made), &count);
  ck_assert_mem_eq(tag, "Signature: 8a477f597d28d172789f06886806bc55\n", 44);
  free(tag);
  ck_assert_int_eq(mkdir(empty, 0700), 0);
  rs_store_close(open_at(empty));
  ck_assert(exists(path_of("%s/CACHEDIR.TAG", empty)));
  ck_assert_int_eq(mkdir(full, 0700), 0);
  spill(path_of("%s/thesis.tex", full), "", 0);
  rs_store *store = open_at(full);
  ck_assert(put(store, "key", "text"));
  rs_store_close(store);
  ck_assert(!exists(path_of("%s/CACHEDIR.TAG", full)));
}
END_TEST

/* ---- trust ------------------------------------------------------------------------------------------------------- */

static atomic_int *refused; /* what hostile neighbours did, and was not used, in all tests */

static void expect_missed(rs_store *store, const char *key) {
  ck_assert(!hits(store, key));
  ++*refused;
}

static void expect_not_kept(rs_store *store, const char *key) {
  expect_missed(store, key);
  ck_assert(!put(store, key, "text"));
  ++*refused;
}

static void expect_no_place(const char *dir, const char *why) {
  expect_none(&(rs_store_options){.dir = dir}, why);
  ++*refused;
}

static void begin_refusals(void) {
  refused = mmap(NULL, sizeof *refused, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (refused == MAP_FAILED)
    abort();
}

static void tell_refusals(void) {
  printf("hostile neighbours: refused %d times, never used, followed or waited for\n", *refused);
}

START_TEST(a_directory_that_others_can_write_is_not_used) {
  static const mode_t modes[] = {0720, 0702, 0777, 01777};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    char *dir = fresh();
    rs_store *store = open_at(dir);
    ck_assert(put(store, "key", "text"));
    char *fan = parent_of(entry_path(dir, "key"));
    ck_assert_int_eq(chmod(fan, modes[i]), 0);
    expect_not_kept(store, "key");
    visit_book book = {0};
    ck_assert(!rs_store_visit(store, keep_visit, &book) && !rs_store_prune(store, NULL));
    ck_assert_int_eq(book.entries, 0);
    ck_assert(!rs_store_clear(store, NULL, NULL));
    ck_assert_int_eq(chmod(fan, 0755), 0);
    ck_assert(hits(store, "key"));
    rs_store_close(store);
    ck_assert_int_eq(chmod(dir, modes[i]), 0);
    expect_no_place(dir, "writable by others");
    ck_assert_int_eq(chmod(dir, 0755), 0);
    store = open_at(dir);
    ck_assert(hits(store, "key"));
    rs_store_close(store);
  }
}
END_TEST

START_TEST(an_entry_that_others_can_write_is_a_miss) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  ck_assert_int_eq(chmod(path, 0620), 0);
  expect_missed(store, "key");
  ck_assert_int_eq(chmod(path, 0602), 0);
  expect_missed(store, "key");
  ck_assert_str_eq(damage_of_only(store), "writable by others");
  ck_assert_int_eq(chmod(path, 0644), 0);
  ck_assert(hits(store, "key"));
  rs_store_close(store);
}
END_TEST

START_TEST(what_belongs_to_others_is_not_used) {
  if (geteuid() != 0) {
    expect_no_place("/", "owned by another user");
    return;
  }
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
  expect_missed(store, "key");
  ck_assert_str_eq(damage_of_only(store), "owned by another user");
  ck_assert_int_eq(chown(path, 0, 0), 0);
  ck_assert(hits(store, "key"));
  ck_assert_int_eq(chown(parent_of(path), NOBODY, NOBODY), 0);
  expect_not_kept(store, "key");
  ck_assert_int_eq(chown(parent_of(path), 0, 0), 0);
  rs_store_close(store);
  ck_assert_int_eq(chown(dir, NOBODY, NOBODY), 0);
  expect_no_place(dir, "owned by another user");
}
END_TEST

/* sudo with the user's HOME: a cache of root there would lock its user out. */
START_TEST(root_makes_no_directory_at_another_users) {
  if (geteuid() != 0)
    return;
  char *dir = fresh(), *home = parent_of(dir);
  ck_assert_int_eq(chown(home, NOBODY, NOBODY), 0);
  expect_no_place(path_of("%s/below", dir), "belongs to another user");
  ck_assert(!exists(dir));
}
END_TEST

START_TEST(links_are_not_followed) {
  char *dir = fresh(), *elsewhere = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir), *other = open_at(elsewhere);
  ck_assert(put(store, "key", "text") && put(other, "key", "elsewhere"));
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(symlink(entry_path(elsewhere, "key"), path), 0);
  expect_missed(store, "key");
  ck_assert_str_eq(damage_of_only(store), "a symbolic link");
  ck_assert(put(store, "key", "text") && has(store, "key", "text") && has(other, "key", "elsewhere"));

  char *fan = parent_of(path);
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(rmdir(fan), 0);
  ck_assert_int_eq(symlink(parent_of(entry_path(elsewhere, "key")), fan), 0);
  expect_not_kept(store, "key");
  rs_store_remove(store, "key");
  ck_assert(rs_store_clear(store, NULL, NULL)); /* which has nothing there */
  ck_assert(exists(fan) && has(other, "key", "elsewhere"));

  char *target = path_of("%s/target", elsewhere);
  remove(path_of("%s/lock", dir)); /* who counted made one */
  ck_assert_int_eq(symlink(target, path_of("%s/lock", dir)), 0);
  ck_assert_int_eq(rs_store_acquire(store, "key", 10000).fd, -1);
  ck_assert(!exists(target));
  rs_store_close(store);
  rs_store_close(other);
}
END_TEST

START_TEST(the_place_may_be_a_link_of_its_user) {
  char *dir = fresh(), *place = fresh();
  ck_assert_int_eq(mkdir(dir, 0700), 0);
  ck_assert_int_eq(symlink(dir, place), 0);
  rs_store *store = open_at(path_of("%s/", place));
  ck_assert_str_eq(rs_store_path(store), place);
  ck_assert(put(store, "key", "text"));
  rs_store_close(store);
  ck_assert(exists(entry_path(dir, "key")));
  if (geteuid() == 0) {
    ck_assert_int_eq(lchown(place, NOBODY, NOBODY), 0);
    char *why = path_of("%s: a symbolic link of another user", place);
    expect_no_place(place, why);
    expect_no_place(path_of("%s/", place), why);
  }
  ck_assert_int_eq(unlink(place), 0);
  ck_assert_int_eq(symlink("/nonexistent/nothing", place), 0);
  expect_no_place(place, "No such file or directory");
}
END_TEST

/* The time limit of the suite is the assertion: a FIFO without a writer blocks who opens it plainly. */
START_TEST(a_fifo_does_not_block) {
  char *dir = fresh(), *path = entry_path(dir, "key"), *fan = parent_of(path), *fifo = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  expect_missed(store, "key");
  ck_assert_str_eq(damage_of_only(store), "not a regular file");
  ck_assert(put(store, "key", "text") && has(store, "key", "text"));
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(rmdir(fan), 0);
  ck_assert_int_eq(mkfifo(fan, 0600), 0);
  expect_not_kept(store, "key");
  remove(path_of("%s/lock", dir));
  ck_assert_int_eq(mkfifo(path_of("%s/lock", dir), 0600), 0);
  ck_assert_int_eq(rs_store_acquire(store, "key", 10000).fd, -1);
  rs_store_close(store);
  ck_assert_int_eq(mkfifo(fifo, 0600), 0);
  expect_no_place(fifo, "Not a directory");
}
END_TEST

START_TEST(a_directory_in_the_place_of_an_entry) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  expect_not_kept(store, "key");
  ck_assert_str_eq(damage_of_only(store), "not a regular file");
  ck_assert_int_eq(temporaries_in(dir), 0);
  ck_assert(!rs_store_clear(store, NULL, NULL));
  ck_assert(exists(path));
  rs_store_close(store);
}
END_TEST

START_TEST(a_file_in_the_place_of_a_directory) {
  char *dir = fresh();
  log_book book = {0};
  rs_store *store = open_logged(dir, 0, &book);
  spill(parent_of(entry_path(dir, "key")), "", 0);
  expect_missed(store, "key");
  ck_assert_int_eq(book.messages[0], 1);
  ck_assert(!put(store, "key", "text"));
  rs_store_close(store);
}
END_TEST

/* ---- a setuid program -------------------------------------------------------------------------------------------- */

enum { USED = 1, SECURE = 2 };

/* What this program does when its first argument says so. It ends at once: LeakSanitizer can't look at it. */
static void tell_of_environment(void) {
  rs_store *store = rs_store_open(&(rs_store_options){0});
  rs_nvrtc *nvrtc = rs_nvrtc_open(NULL, NULL);
  const char *id;
  bool used = *rs_store_path(store) || rs_store_packs(store, NULL) > 0 ||
              (rs_nvrtc_id(nvrtc, &id) != ROWSCAN_OK && strstr(rowscan_last_error(), "hostile"));
  _exit((used ? USED : 0) | (getauxval(AT_SECURE) ? SECURE : 0));
}

static int run_with(const char *program, uid_t user, const char *variable) {
  char what[] = "environment", *variables[] = {(char *)variable, NULL}, *arguments[] = {(char *)program, what, NULL};
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    if (user == 0 || (setgid(user) == 0 && setuid(user) == 0))
      execve(program, arguments, variables);
    _exit(127);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* This program, under another name. */
static char *copy_program(const char *path, mode_t mode) {
  size_t count;
  unsigned char *bytes = slurp("/proc/self/exe", &count);
  spill(path, bytes, count);
  free(bytes);
  ck_assert_int_eq(chmod(path, mode), 0);
  return path_of("%s", path);
}

/* All that the variables name is root's: nothing but who set them speaks against it. */
START_TEST(a_setuid_program_ignores_its_environment) {
  char *dir = fresh(), *pack = path_of("%s/hostile.pack", parent_of(dir));
  if (geteuid() != 0 || bound_user(dir) != NOBODY) {
    printf("SKIP: a setuid program is root's to make, where others can reach it\n");
    return;
  }
  char *plain = copy_program(path_of("%s/plain", parent_of(dir)), 0755),
       *setuid_root = copy_program(path_of("%s/setuid", parent_of(dir)), 04755);
  rs_pack_writer writer = {0};
  size_t bytes;
  void *empty = rs_pack_finish(&writer, &bytes);
  ck_assert(empty && rs_store_write_pack(pack, empty, bytes, NULL));
  free(empty);
  const char *variables[] = {path_of("ROWSCAN_CACHE_DIR=%s", dir), path_of("ROWSCAN_CACHE_PACKS=%s", pack),
                             path_of("ROWSCAN_NVRTC=%s/hostile.so", dir), path_of("XDG_CACHE_HOME=%s", dir),
                             path_of("HOME=%s", dir)};
  enum { VARIABLES = sizeof variables / sizeof *variables };
  if (!(run_with(setuid_root, NOBODY, variables[0]) & SECURE)) {
    printf("SKIP: a setuid program has no more rights here\n");
    return;
  }
  for (int i = 0; i < VARIABLES; i++) {
    ck_assert_msg(run_with(plain, 0, variables[i]) == USED, "%s is not used", variables[i]);
    ck_assert_msg(run_with(setuid_root, NOBODY, variables[i]) == SECURE, "%s is used", variables[i]);
  }
  printf("%d variables that a program of root's uses, and a setuid one does not\n", VARIABLES);
}
END_TEST

/* ---- failing files ----------------------------------------------------------------------------------------------- */

/* The limit on the size of files cuts a write short as a full disk does, then fails it. */
START_TEST(a_full_disk_keeps_nothing_half) {
  char *dir = fresh();
  log_book book = {0};
  rs_store *store = open_logged(dir, 0, &book);
  ck_assert(put(store, "key", "text") && put(store, "other", "text"));
  limit_files(1000);
  bool kept = put_bytes(store, "key", 5000);
  limit_files(RLIM_INFINITY);
  ck_assert(!kept);
  ck_assert_int_eq(book.messages[0], 1);
  ck_assert_ptr_nonnull(strstr(book.last, "File too large"));
  ck_assert_int_eq(temporaries_in(dir), 0);
  ck_assert(has(store, "key", "text"));
  ck_assert(put_bytes(store, "key", 5000));
  rs_store_close(store);
}
END_TEST

enum { MOST_LIMIT = 700 /* no file of a small store has as many bytes */ };

/* A store's life, and a pack, where a file may have no more than so many bytes: what of it was kept. */
static int live_within(const char *dir, rlim_t bytes) {
  char *path = path_of("%s/%d", dir, (int)bytes), *pack = path_of("%s.pack", path), data[MOST_LIMIT] = "";
  limit_files(bytes);
  rs_store *store = rs_store_open(&(rs_store_options){.dir = path});
  rs_store_add(store, RS_COUNT_hits, 1);
  int kept = put(store, "key=1\nby=me\n", "text");
  rs_store_close(store);
  kept += rs_store_write_pack(pack, data, sizeof data / 2, NULL);
  limit_files(RLIM_INFINITY);
  return temporaries_in(path) + names_in(dir, RS_TEMPORARY) ? -1 : kept;
}

static bool survives_each_limit(const char *dir) {
  int of[3] = {0};
  signal(SIGXFSZ, SIG_DFL);
  for (rlim_t bytes = 0; bytes < MOST_LIMIT; bytes++) {
    int kept = live_within(dir, bytes);
    if (kept < 0)
      return false;
    of[kept]++;
  }
  printf("files of at most 0 to %d bytes, SIGXFSZ as it is by default: %d times nothing was kept, %d times one of an "
         "entry and a pack, %d times both\n",
         MOST_LIMIT - 1, of[0], of[1], of[2]);
  fflush(stdout);
  return of[0] && of[1] && of[2];
}

/* Wherever it cuts, a limit on the size of files does not end the program. */
START_TEST(no_limit_on_files_ends_the_program) {
  char *dir = fresh();
  ck_assert_int_eq(mkdir(dir, 0700), 0);
  ck_assert(in_child(survives_each_limit, dir, geteuid()));
}
END_TEST

static volatile sig_atomic_t handled;

static void handle(int number) {
  (void)number;
  handled++;
}

static bool is_waiting(void) {
  sigset_t waiting;
  return sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ);
}

/* A program that handles the signal, one that holds it, and one that holds one: each has what it had. */
static bool keeps_signals(const char *dir) {
  sigset_t limit, before, after;
  rs_store *store = open_at(dir);
  int kept = 0;
  sigemptyset(&limit);
  before = after = limit; /* of which the kernel fills in a part */
  sigaddset(&limit, SIGXFSZ);
  signal(SIGXFSZ, handle);
  limit_files(100);
  sigprocmask(SIG_SETMASK, NULL, &before);
  kept += put_bytes(store, "key", 5000);
  sigprocmask(SIG_SETMASK, NULL, &after);
  bool sound = !handled && memcmp(&before, &after, sizeof before) == 0;
  sigprocmask(SIG_BLOCK, &limit, NULL);
  kept += put_bytes(store, "key", 5000);
  sound = sound && !is_waiting();
  raise(SIGXFSZ);
  kept += put_bytes(store, "key", 5000);
  sound = sound && is_waiting() && !handled;
  sigprocmask(SIG_UNBLOCK, &limit, NULL);
  limit_files(RLIM_INFINITY);
  rs_store_close(store);
  return sound && handled == 1 && !kept;
}

START_TEST(a_signal_of_the_program_stays_its_own) {
  ck_assert(in_child(keeps_signals, fresh(), geteuid()));
}
END_TEST

START_TEST(no_descriptors_left) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  struct rlimit old, none;
  ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
  for (int more = 0; more < 3; more++) {
    int next = dup(0);
    close(next);
    none = (struct rlimit){.rlim_cur = (rlim_t)(next + more), .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool hit = hits(store, "key"), kept = put(store, "new", "text");
    int64_t entries;
    bool counted = rs_store_count(store, &entries, NULL), cleared = more == 0 && rs_store_clear(store, NULL, NULL);
    rs_store_lock lock = rs_store_acquire(store, "key", 10000);
    rs_store_release(lock);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert_int_eq(hit, more == 2);
    ck_assert_int_eq(kept, more == 2);
    ck_assert_int_eq(counted, more > 0);
    ck_assert(!cleared);
    ck_assert_int_eq(lock.fd >= 0, more > 0);
  }
  ck_assert(has(store, "key", "text") && has(store, "new", "text"));
  rs_store_close(store);
}
END_TEST

START_TEST(nothing_leaks_descriptors) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  int before = descriptors();
  rs_store *store = open_at(dir);
  for (int i = 0; i < 20; i++) {
    ck_assert(put(store, "key", "text") && hits(store, "key") && !hits(store, "none"));
    spill(path, "short", 5);
    ck_assert(!hits(store, "key"));
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert(!hits(store, "key"));
    ck_assert_int_eq(chmod(parent_of(path), 0777), 0);
    ck_assert(!put(store, "key", "text"));
    ck_assert_int_eq(chmod(parent_of(path), 0700), 0);
    rs_store_lock lock = rs_store_acquire(store, "key", 0), none = rs_store_acquire(store, "key", 0);
    ck_assert(lock.fd >= 0 && none.fd < 0);
    rs_store_release(lock);
    rs_store_release(none);
    ck_assert(rs_store_prune(store, NULL) && rs_store_clear(store, NULL, NULL));
  }
  rs_store_close(store);
  for (int i = 0; i < 5; i++)
    rs_store_close(open_at("/dev/null"));
  ck_assert_int_eq(descriptors(), before);
}
END_TEST

static bool reads_only(const char *dir) {
  rs_store *store = open_at(dir);
  bool reads = *rs_store_path(store) && has(store, "key", "text");
  bool writes = put(store, "key", "new") || put(store, "new", "text");
  rs_store_lock lock = rs_store_acquire(store, "key", 10000);
  bool sound = reads && !writes && lock.fd < 0 && has(store, "key", "text") && !rs_store_clear(store, NULL, NULL);
  rs_store_close(store);
  return sound;
}

START_TEST(a_read_only_store_is_read) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  int64_t user = bound_user(dir);
  if (user < 0)
    return;
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  rs_store_close(store);
  ck_assert_int_eq(unlink(path_of("%s/lock", dir)), 0); /* of the survey */
  ck_assert_int_eq(chmod(path, 0400), 0);
  ck_assert_int_eq(chmod(parent_of(path), 0500), 0);
  ck_assert_int_eq(chmod(dir, 0500), 0);
  give_tree(dir);
  ck_assert(in_child(reads_only, dir, (uid_t)user));
  ck_assert_int_eq(chmod(parent_of(path), 0700), 0);
  ck_assert_int_eq(chmod(dir, 0700), 0);
}
END_TEST

static void note_first(void *user, rowscan_log_level level, const char *message) {
  log_book *book = user;
  if (!level && !book->messages[level])
    note(book, level, message);
  else
    book->messages[level]++;
}

static bool cannot_prune(const char *dir) {
  log_book book = {0};
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .limit_bytes = 10, .log = {note_first, &book}});
  rs_store_pruned pruned;
  bool sound = !rs_store_prune(store, &pruned) && pruned.removed == 0 && pruned.left == 2 && book.messages[0] == 1 &&
               strstr(book.last, "cannot be removed: Permission denied");
  rs_store_close(store);
  return sound;
}

/* Once, however many there are. */
START_TEST(what_cannot_be_pruned_is_told) {
  char *dir = fresh();
  int64_t user = bound_user(dir);
  if (user < 0)
    return;
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text") && put(store, "other", "text"));
  rs_store_close(store);
  char *fans[] = {parent_of(entry_path(dir, "key")), parent_of(entry_path(dir, "other"))};
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(chmod(fans[i], 0500), 0);
  give_tree(dir);
  ck_assert(in_child(cannot_prune, dir, (uid_t)user));
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(chmod(fans[i], 0700), 0);
}
END_TEST

static bool sees_nothing(const char *dir) {
  rs_store *store = open_at(dir);
  bool sound = *rs_store_path(store) && !hits(store, "key") && put(store, "new", "text") && has(store, "new", "text");
  rs_store_close(store);
  return sound;
}

START_TEST(an_unreadable_entry_is_a_miss) {
  char *dir = fresh(), *path = entry_path(dir, "key");
  int64_t user = bound_user(dir);
  if (user < 0)
    return;
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  rs_store_close(store);
  ck_assert_int_eq(chmod(path, 0), 0);
  give_tree(dir);
  ck_assert(in_child(sees_nothing, dir, (uid_t)user));
}
END_TEST

static bool finds_no_place(const char *dir) {
  rs_store *store = open_at(dir);
  bool sound = !*rs_store_path(store) && strstr(rs_store_why(store), "Permission denied") &&
               strstr(rs_store_why(store), dir) && !put(store, "key", "text");
  rs_store_close(store);
  return sound;
}

START_TEST(a_place_that_may_not_be_made) {
  char *dir = fresh();
  int64_t user = bound_user(dir);
  if (user < 0)
    return;
  ck_assert_int_eq(chmod(parent_of(dir), 0500), 0);
  give_tree(parent_of(dir));
  ck_assert(in_child(finds_no_place, dir, (uid_t)user));
  ck_assert_int_eq(chmod(parent_of(dir), 0700), 0);
}
END_TEST

START_TEST(a_directory_that_vanishes) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text"));
  remove_tree(dir);
  ck_assert(!hits(store, "key") && !put(store, "key", "text"));
  ck_assert_int_eq(entries_in(store), 0);
  ck_assert(rs_store_clear(store, NULL, NULL) && rs_store_prune(store, NULL));
  ck_assert_int_eq(rs_store_acquire(store, "key", 10000).fd, -1);
  rs_store_close(store);
}
END_TEST

/* ---- files beside the entries ------------------------------------------------------------------------------------ */

/* There is no such file, and nothing is wrong. */
static bool lacks(rs_store *store, const char *name) {
  const char *wrong = "";
  return !rs_store_read_file(store, name, &wrong) && !wrong;
}

static bool reads(rs_store *store, const char *text) {
  const char *wrong = "";
  char *found = rs_store_read_file(store, "table.txt", &wrong);
  bool same = found && !wrong && strcmp(found, text) == 0;
  free(found);
  return same;
}

static void expect_written(rs_store *store, const char *text) {
  const char *wrong = NULL;
  ck_assert_msg(rs_store_write_file(store, "table.txt", text, strlen(text), &wrong), "%s: %s", wrong, strerror(errno));
  ck_assert(reads(store, text));
}

START_TEST(a_file_beside_is_read_as_it_was_written) {
  umask(0);
  log_book book = {0};
  char *dir = fresh(), *path = path_of("%s/table.txt", dir);
  rs_store *store = open_logged(dir, 0, &book);
  ck_assert(lacks(store, "table.txt"));
  ck_assert(put(store, "key", "text"));
  int before = names_in(dir, ""), held = descriptors();
  expect_written(store, "a long text\nof two lines\n");
  ck_assert_int_eq(mode_of(path), 0600);
  struct stat was, is;
  ck_assert_int_eq(stat(path, &was), 0);
  int old = open(path, O_RDONLY | O_CLOEXEC);
  char kept[8] = "";
  expect_written(store, "short\n");
  ck_assert(stat(path, &is) == 0 && is.st_ino != was.st_ino && is.st_size == 6);
  ck_assert(read(old, kept, 6) == 6 && !memcmp(kept, "a long", 6)); /* who reads it has the old one */
  close(old);
  expect_written(store, "");
  ck_assert_int_eq(names_in(dir, ""), before + 1);
  ck_assert_int_eq(descriptors(), held);
  ck_assert(lacks(store, "other.txt"));
  ck_assert(!book.messages[0] && !book.messages[1]);
  rs_store_close(store);
  store = open_at(dir);
  ck_assert(reads(store, "") && has(store, "key", "text"));
  rs_store_close(store);
}
END_TEST

START_TEST(a_file_beside_outlives_a_clear) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  expect_written(store, "a table");
  ck_assert(put(store, "key", "text") && entries_in(store) == 1);
  visit_book book = {0};
  ck_assert(rs_store_visit(store, keep_visit, &book) && book.entries == 1);
  int64_t removed;
  ck_assert(rs_store_clear(store, &removed, NULL) && rs_store_prune(store, NULL));
  ck_assert_int_eq(removed, 1);
  ck_assert(reads(store, "a table"));
  rs_store_close(store);
}
END_TEST

/* The file is not read, for this reason; nothing is logged. */
static void expect_unread(const char *dir, const char *why) {
  log_book book = {0};
  rs_store *store = open_logged(dir, 0, &book);
  book = (log_book){0};
  int held = descriptors();
  const char *wrong = NULL;
  ck_assert_ptr_null(rs_store_read_file(store, "table.txt", &wrong));
  const char *said = errno ? strerror(errno) : "";
  ck_assert_msg(wrong && (strstr(wrong, why) || strstr(said, why)), "%s: %s", wrong ? wrong : "nothing", said);
  ck_assert(!book.messages[0] && !book.messages[1] && !book.messages[2]);
  ck_assert_int_eq(descriptors(), held);
  rs_store_close(store);
  ++*refused;
}

START_TEST(a_file_beside_is_not_trusted_blindly) {
  char *dir = fresh(), *path = path_of("%s/table.txt", dir), *elsewhere = path_of("%s/elsewhere", parent_of(dir));
  rs_store *store = open_at(dir);
  expect_written(store, "a table");
  static const mode_t modes[] = {0620, 0602, 0666};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    ck_assert_int_eq(chmod(path, modes[i]), 0);
    expect_unread(dir, "writable by others");
  }
  ck_assert_int_eq(chmod(path, 0644), 0);
  ck_assert(reads(store, "a table"));
  if (geteuid() == 0) {
    ck_assert_int_eq(chown(path, NOBODY, NOBODY), 0);
    expect_unread(dir, "owned by another user");
  }
  ck_assert_int_eq(unlink(path), 0);
  spill(elsewhere, "another", 7);
  ck_assert_int_eq(symlink(elsewhere, path), 0);
  expect_unread(dir, "a symbolic link");
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkfifo(path, 0600), 0);
  expect_unread(dir, "not a regular file");
  ck_assert_int_eq(unlink(path), 0);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  expect_unread(dir, "not a regular file");
  const char *wrong = NULL;
  ck_assert(!rs_store_write_file(store, "table.txt", "text", 4, &wrong) && (wrong || errno));
  ck_assert_int_eq(rmdir(path), 0);
  expect_written(store, "a table");
  rs_store_close(store);
}
END_TEST

START_TEST(a_file_beside_may_have_so_many_bytes) {
  char *dir = fresh(), *path = path_of("%s/table.txt", dir);
  rs_store *store = open_at(dir);
  expect_written(store, "a table");
  ck_assert_int_eq(truncate(path, RS_STORE_FILE_MOST), 0);
  ck_assert(reads(store, "a table")); /* and zeros */
  ck_assert_int_eq(truncate(path, RS_STORE_FILE_MOST + 1), 0);
  expect_unread(dir, "too large");
  ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
  expect_unread(dir, "too large");
  expect_written(store, "a table");
  rs_store_close(store);
}
END_TEST

START_TEST(no_place_has_no_file_beside) {
  char *file = fresh();
  spill(file, "", 0);
  log_book book = {0};
  const rs_store_options options[] = {{.dir = file, .log = {note, &book}},
                                      {.off_by = "the program", .log = {note, &book}}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    rs_store *store = rs_store_open(&options[i]);
    book = (log_book){0};
    const char *wrong = NULL;
    ck_assert(lacks(store, "table.txt"));
    errno = ENOSPC;
    ck_assert(!rs_store_write_file(store, "table.txt", "text", 4, &wrong));
    ck_assert_int_eq(errno, 0);
    ck_assert_str_eq(wrong, "there is no cache on disk");
    ck_assert(!book.messages[0] && !book.messages[1] && !book.messages[2]);
    rs_store_close(store);
  }
}
END_TEST

static bool cannot_write_beside(const char *dir) {
  rs_store *store = open_at(dir);
  const char *wrong = NULL;
  bool sound = reads(store, "a table") && !rs_store_write_file(store, "table.txt", "text", 4, &wrong) &&
               errno == EACCES && reads(store, "a table");
  rs_store_close(store);
  return sound;
}

START_TEST(a_read_only_place_has_a_file_to_read) {
  char *dir = fresh();
  int64_t user = bound_user(dir);
  if (user < 0)
    return;
  rs_store *store = open_at(dir);
  expect_written(store, "a table");
  rs_store_close(store);
  ck_assert_int_eq(chmod(dir, 0500), 0);
  give_tree(dir);
  ck_assert(in_child(cannot_write_beside, dir, (uid_t)user));
  ck_assert_int_eq(chmod(dir, 0700), 0);
}
END_TEST

/* It is the directory that was opened, wherever the program has gone since. */
START_TEST(a_relative_place_has_its_file_beside) {
  char *dir = fresh(), *parent = parent_of(dir);
  ck_assert_int_eq(chdir(parent), 0);
  rs_store *store = open_at("store");
  ck_assert_int_eq(mkdir("elsewhere", 0700), 0);
  ck_assert_int_eq(chdir("elsewhere"), 0);
  expect_written(store, "a table");
  ck_assert(exists(path_of("%s/table.txt", dir)));
  rs_store_close(store);
}
END_TEST

/* ---- suite ------------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
  if (getauxval(AT_SECURE) || (argc == 2 && strcmp(argv[1], "environment") == 0)) /* setuid, it does nothing else */
    tell_of_environment();
  lot_tell();
  Suite *suite = suite_create("cache_trust");
  TCase *places = add_case(suite, "places");
  tcase_add_test(places, the_places_in_their_order);
  tcase_add_test(places, directories_are_made_for_their_user_alone);
  tcase_add_test(places, an_unusable_place_gives_way_to_the_next);
  tcase_add_test(places, a_named_place_gives_way_to_none);
  tcase_add_test(places, no_place_is_no_failure);
  tcase_add_test(places, of_an_optional_place_nobody_is_warned);
  tcase_add_test(places, a_given_place_is_the_only_one);
  tcase_add_test(places, it_can_be_turned_off);
  tcase_add_test(places, a_relative_place_may_be_given);
  tcase_add_test(places, a_store_may_be_opened_later);
  tcase_add_test(places, threads_may_need_it_together);
  tcase_add_test(places, the_limit_has_a_default);
  tcase_add_test(places, a_directory_of_its_own_is_tagged);

  TCase *trust = add_case(suite, "trust");
  tcase_add_unchecked_fixture(trust, begin_refusals, tell_refusals);
  tcase_add_test(trust, a_directory_that_others_can_write_is_not_used);
  tcase_add_test(trust, an_entry_that_others_can_write_is_a_miss);
  tcase_add_test(trust, what_belongs_to_others_is_not_used);
  tcase_add_test(trust, root_makes_no_directory_at_another_users);
  tcase_add_test(trust, links_are_not_followed);
  tcase_add_test(trust, the_place_may_be_a_link_of_its_user);
  tcase_add_test(trust, a_fifo_does_not_block);
  tcase_add_test(trust, a_directory_in_the_place_of_an_entry);
  tcase_add_test(trust, a_file_in_the_place_of_a_directory);
  tcase_add_test(trust, a_setuid_program_ignores_its_environment);

  TCase *failures = add_case(suite, "failures");
  tcase_add_test(failures, a_full_disk_keeps_nothing_half);
  lot_add_loop_test(failures, no_limit_on_files_ends_the_program, 0, 1);
  tcase_add_test(failures, a_signal_of_the_program_stays_its_own);
  tcase_add_test(failures, no_descriptors_left);
  tcase_add_test(failures, nothing_leaks_descriptors);
  tcase_add_test(failures, a_read_only_store_is_read);
  tcase_add_test(failures, what_cannot_be_pruned_is_told);
  tcase_add_test(failures, an_unreadable_entry_is_a_miss);
  tcase_add_test(failures, a_place_that_may_not_be_made);
  tcase_add_test(failures, a_directory_that_vanishes);

  TCase *beside = add_case(suite, "beside");
  tcase_add_unchecked_fixture(beside, begin_refusals, tell_refusals);
  tcase_add_test(beside, a_file_beside_is_read_as_it_was_written);
  tcase_add_test(beside, a_file_beside_outlives_a_clear);
  tcase_add_test(beside, a_file_beside_is_not_trusted_blindly);
  tcase_add_test(beside, a_file_beside_may_have_so_many_bytes);
  tcase_add_test(beside, no_place_has_no_file_beside);
  tcase_add_test(beside, a_read_only_place_has_a_file_to_read);
  tcase_add_test(beside, a_relative_place_has_its_file_beside);
  return run_suite(suite);
}
