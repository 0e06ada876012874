/*
 * test_bad_files.c - the store of cache/ on a file system that fails, with a wrong clock, or with very much in it
 * SPDX-License-Identifier: MIT
 *
 * Each call on files that a store's life makes fails in turn, once or for good, with each error that file systems know.
 * What the store then says must be true, nothing may leak, stay open or be left behind, and who wants a kernel has it.
 * What could not be read is no damage, be it for want of memory, of which each allocation fails in turn as well.
 * RS_QUICK=1 takes fewer errors, and 20,000 entries in place of 100,000.
 */
#include "../support/file_faults.h"

#include "../support/cache_help.h"

#include <signal.h>
#include <sys/wait.h>

#include "../support/fake_nvrtc.h"
#include "../support/lot.h"
#include "pack.h"

/* ---- calls that fail --------------------------------------------------------------------------------------------- */

static struct {
  long left;    /* calls until the one that fails; 0: none does */
  bool forever; /* it, and all that follow */
  int error;
  int only; /* a call, or -1: any */
  long calls, failed;
  file_call first; /* that failed */
} fault;

/* A walk opens 256 directories, most of which are not there: these are no calls worth failing. */
static bool is_nothing(file_call call, int dir, const char *name, int flags) {
  return call == CALL_openat && !(flags & O_CREAT) && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

static int fail_one(file_call call, int dir, const char *name, int flags) {
  if ((fault.only >= 0 && (int)call != fault.only) || is_nothing(call, dir, name, flags))
    return 0;
  fault.calls++;
  bool fails = fault.left && (fault.calls == fault.left || (fault.forever && fault.calls > fault.left));
  if (!fails)
    return 0;
  if (!fault.failed++)
    fault.first = call;
  return fault.error;
}

static void arm(long nth, int error, bool forever) {
  fault = (__typeof__(fault)){.left = nth, .error = error, .forever = forever, .only = -1};
  file_hook = fail_one;
}

static void disarm(void) {
  file_hook = NULL;
}

/* ---- a store's life ---------------------------------------------------------------------------------------------- */

enum { OLD = 3 };

static const char *const old_keys[OLD] = {"a=1\nby=x\n", "a=2\nby=x\n", "a=3\nby=y\n"};

typedef struct life {
  char *dir, *pack, *made; /* of the store; to import; to export */
  int expected, done;      /* what should have succeeded, and what did */
  bool kept, written;      /* what the store said of its put, and of the pack */
} life;

/* Of a store in which nothing is damaged: neither is what can't be read now. */
static void expect_no_damage(rs_store *store) {
  rs_store_counts mine;
  rs_store_counted(store, &mine, NULL);
  ck_assert_int_eq(mine.of[RS_COUNT_damaged], 0);
}

static void expect(life *one, bool done) {
  one->expected++;
  one->done += done;
}

/* Either a miss, or what was put. */
static void expect_text(life *one, rs_store *store, const char *key) {
  rs_entry entry;
  bool hit = rs_store_get(store, key, RS_STORE_PARTS, &entry);
  ck_assert_msg(!hit || strcmp(entry.part[0].data, key) == 0, "%s was loaded for %s", (const char *)entry.part[0].data,
                key);
  rs_entry_free(&entry);
  expect(one, hit);
}

static const char packed_key[] = "packed=1\nby=z\n";

/* Entries, whatever calls fail now; *and_packed: that of the pack included, if it is used. */
static int entries_there(rs_store *store, const char *dir, int *and_packed) {
  __typeof__(file_hook) hook = file_hook;
  file_hook = NULL;
  int count = files_in(dir, "") - temporaries_in(dir);
  *and_packed = count + (rs_store_packs(store, NULL) && !exists(entry_path(dir, packed_key)));
  file_hook = hook;
  return count;
}

static void live(life *one) {
  rs_store *store = rs_store_open(&(rs_store_options){.dir = one->dir, .packs = one->pack});
  rs_entry entry;
  rs_store_imported imported;
  rs_store_exported exported;
  const char *wrong;
  size_t bytes;
  ck_assert_ptr_nonnull(store);
  for (int i = 0; i < OLD; i++)
    expect_text(one, store, old_keys[i]);
  expect_text(one, store, packed_key);
  expect(one, rs_store_get_stem(store, "a=2\n", NULL, &entry));
  ck_assert(!entry.memory || strcmp(entry.part[0].data, old_keys[1]) == 0);
  rs_entry_free(&entry);
  rs_store_release(rs_store_acquire(store, "new=1\n", 0));
  rs_store_add(store, RS_COUNT_misses, 1);
  one->kept = put(store, "new=1\n", "new=1\n");
  expect(one, one->kept);
  expect_text(one, store, "new=1\n");
  expect(one, put(store, old_keys[0], old_keys[0])); /* in place of one that is there */
  expect(one, rs_store_prune(store, NULL));
  bool imports = !rs_store_import_file(store, one->pack, &imported) && imported.added == 1;
  expect(one, imports);
  void *pack = rs_store_export(store, NULL, NULL, &bytes, &exported, &wrong);
  ck_assert_int_eq(exported.damaged, 0);
  int and_packed, there = entries_there(store, one->dir, &and_packed);
  if (pack && *rs_store_path(store)) /* then nothing was left out */
    ck_assert_int_eq(exported.entries, and_packed);
  expect(one, pack && exported.entries == OLD + 2);
  one->written = pack && rs_store_write_pack(one->made, pack, bytes, NULL);
  expect(one, one->written);
  free(pack);
  visit_book visits = {0};
  bool visited = rs_store_visit(store, keep_visit, &visits);
  ck_assert_int_eq(visits.damaged, 0);
  ck_assert(!visited || !*rs_store_path(store) || visits.entries == there);
  expect(one, visited);
  visits = (visit_book){0};
  visited = rs_store_visit_packs(store, keep_visit, &visits);
  ck_assert_int_eq(visits.damaged, 0);
  expect(one, visited);
  expect_no_damage(store);
  rs_store_close(store);
}

/* A directory with three entries that were not used for long, one stale temporary, and a pack beside it. */
static life begin_life(void) {
  life one = {.dir = fresh(), .made = fresh()};
  rs_store *store = open_at(one.dir), *other = open_at(fresh());
  rs_store_exported exported;
  const char *wrong;
  size_t bytes;
  for (int i = 0; i < OLD; i++) {
    ck_assert(put(store, old_keys[i], old_keys[i]));
    age(entry_path(one.dir, old_keys[i]), 2 * HOUR);
  }
  ck_assert(put(other, packed_key, packed_key));
  void *pack = rs_store_export(other, NULL, NULL, &bytes, &exported, &wrong);
  one.pack = fresh();
  ck_assert(rs_store_write_pack(one.pack, pack, bytes, NULL));
  free(pack);
  rs_store_close(store);
  rs_store_close(other);
  char *stale = path_of("%s/tmp-1-2-3", parent_of(entry_path(one.dir, old_keys[0])));
  spill(stale, "half", 4);
  age(stale, 2 * HOUR);
  return one;
}

/* What is left is sound, and serves. `once`: one call failed, so that what follows it could tidy up. */
static void expect_sound(life *one, bool once) {
  log_book book = {0};
  rs_store *store = open_logged(one->dir, 0, &book);
  visit_book visits = {0};
  ck_assert(rs_store_visit(store, keep_visit, &visits));
  ck_assert_int_eq(visits.damaged, 0);
  rs_store_pruned pruned;
  ck_assert(rs_store_prune(store, &pruned));
  ck_assert(!one->kept || has(store, "new=1\n", "new=1\n"));
  if (once && fault.first != CALL_unlinkat)
    ck_assert_int_eq(temporaries_in(one->dir), 0);
  for (int i = 0; i < OLD; i++)
    ck_assert(has(store, old_keys[i], old_keys[i]));
  ck_assert(put(store, "more=1\n", "more=1\n") && has(store, "more=1\n", "more=1\n"));
  ck_assert_int_eq(book.messages[0], 0);
  rs_store_close(store);
  rs_pack pack;
  ck_assert(exists(one->made) || !one->written);
  if (exists(one->made)) {
    ck_assert_ptr_null(rs_pack_open_path(&pack, AT_FDCWD, one->made));
    rs_pack_close(&pack);
  }
}

static const struct {
  int error;
  const char *name;
  bool forever, quick; /* from then on; with RS_QUICK too */
} errors[] = {{EINTR, "EINTR", false, true},
              {EIO, "EIO", false, false},
              {EMFILE, "EMFILE for good", true, false},
              {ENOSPC, "ENOSPC for good", true, true},
              {EROFS, "EROFS for good", true, false}};
enum { ERRORS = sizeof errors / sizeof *errors };

/* _i: the error. */
START_TEST(each_call_on_files_may_fail) {
  int error = errors[_i].error;
  bool forever = errors[_i].forever;
  long by_call[FILE_CALL_COUNT] = {0}, all_done = 0;
  if (is_quick() && !errors[_i].quick)
    return;
  int before = descriptors();
  long nth = 1;
  for (;; nth += forever ? 3 : 1) { /* those that follow fail anyway */
    life one = begin_life();
    arm(nth, error, forever);
    live(&one);
    disarm();
    if (!fault.failed) {
      ck_assert_int_eq(one.done, one.expected);
      break;
    }
    by_call[fault.first]++;
    all_done += one.done == one.expected;
    /* A signal costs nothing, but where what it interrupted can't be asked for again. */
    bool asked_again = fault.first != CALL_renameat && fault.first != CALL_unlinkat && fault.first != CALL_mkdirat &&
                       fault.first != CALL_readdir && fault.first != CALL_fstat && fault.first != CALL_fstatat &&
                       fault.first != CALL_mkdir && fault.first != CALL_ftruncate;
    if (error == EINTR && !forever && asked_again)
      ck_assert_msg(one.done == one.expected, "call %ld, %s: %d of %d", nth, file_call_names[fault.first], one.done,
                    one.expected);
    expect_sound(&one, !forever);
    ck_assert_int_eq(descriptors(), before);
    remove_tree(parent_of(one.dir));
    remove_tree(parent_of(one.made));
  }
  printf("%s: of %ld calls each%s failed, which %ld times cost nothing:", errors[_i].name, nth - 1,
         forever ? " third, and all that followed," : "", all_done);
  for (int call = 0; call < FILE_CALL_COUNT; call++)
    if (by_call[call])
      printf(" %s %ld", file_call_names[call], by_call[call]);
  printf("\n");
}
END_TEST

/* A read or write that a signal cuts short is gone on with. */
static int interrupt_half(file_call call, int dir, const char *name, int flags) {
  (void)dir, (void)name, (void)flags;
  static const bool asked_again[FILE_CALL_COUNT] = {
      [CALL_read] = true,  [CALL_pread] = true, [CALL_write] = true, [CALL_openat] = true,
      [CALL_fsync] = true, [CALL_fcntl] = true, [CALL_close] = true};
  return asked_again[call] && ++fault.calls % 2 ? EINTR : 0;
}

START_TEST(a_storm_of_signals_costs_nothing) {
  life one = begin_life();
  fault = (__typeof__(fault)){.only = -1};
  file_hook = interrupt_half;
  live(&one);
  disarm();
  ck_assert_int_eq(one.done, one.expected);
  printf("%ld calls, every second one interrupted: %d of %d things done\n", fault.calls, one.done, one.expected);
  expect_sound(&one, true);
}
END_TEST

/* The nth reading of the entry finds that another machine has replaced the file. */
static int stale_at(file_call call, int dir, const char *name, int flags) {
  (void)dir, (void)name, (void)flags;
  return call == CALL_read && (++fault.calls == fault.left || fault.forever) ? ESTALE : 0;
}

START_TEST(a_stale_handle_is_looked_for_once_more) {
  rs_store *store = open_at(fresh());
  rs_store_counts mine;
  ck_assert(put(store, "key", "text"));
  for (int nth = 1; nth <= 3; nth++) { /* the header, the rest, and for good */
    fault = (__typeof__(fault)){.left = nth, .forever = nth == 3};
    file_hook = stale_at;
    bool hit = has(store, "key", "text");
    disarm();
    ck_assert_int_eq(hit, nth < 3);
    rs_store_counted(store, &mine, NULL);
    ck_assert_int_eq(mine.of[RS_COUNT_damaged], 0); /* nobody knows what is in it */
  }
  ck_assert_int_eq(fault.calls, 2); /* twice and no more */
  rs_store_close(store);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static long allocations, failing; /* that one and no other fails; 0: none */

static bool memory_fails(void) {
  allocations += failing > 0;
  return failing > 0 && allocations == failing;
}

extern void *__real_malloc(size_t bytes);
extern void *__real_calloc(size_t count, size_t bytes);
extern void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes) {
  return memory_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return memory_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return memory_fails() ? NULL : __real_realloc(memory, bytes);
}

/* With no assertion, which takes memory. */
static int tally_visit(void *user, const rs_store_item *item) {
  visit_book *book = user;
  book->entries++;
  book->damaged += item->damage != NULL;
  return 0;
}

/* What it says of all entries is the truth, or that it can't say it. Returns whether it said it. */
static bool tells_all(const life *one, bool *counts_known) {
  rs_store_exported exported;
  rs_store_counts mine, all;
  const char *wrong = NULL;
  size_t bytes;
  visit_book visits = {0}, packed = {0};
  rs_store *store = rs_store_open(&(rs_store_options){.dir = one->dir, .packs = one->pack});
  if (!store)
    return false;
  void *pack = rs_store_export(store, NULL, NULL, &bytes, &exported, &wrong);
  rs_entry entry;
  bool visited = rs_store_visit(store, tally_visit, &visits);
  bool packs = rs_store_visit_packs(store, tally_visit, &packed) && rs_store_packs(store, NULL) == 1;
  bool hit = rs_store_get(store, old_keys[0], RS_STORE_PARTS, &entry);
  *counts_known = rs_store_counted(store, &mine, &all);
  bool told = pack && visited && packs && hit && *counts_known;
  failing = 0;
  rs_entry_free(&entry);
  ck_assert(!pack == !!wrong && !exported.damaged && (!pack || exported.entries == OLD + rs_store_packs(store, NULL)));
  ck_assert(!visits.damaged && (!visited || visits.entries == OLD));
  ck_assert(!packed.damaged && (!packs || packed.entries == 1));
  ck_assert(!mine.of[RS_COUNT_damaged] && (!*counts_known || all.of[RS_COUNT_hits] >= 1));
  free(pack);
  rs_store_close(store);
  return told;
}

START_TEST(memory_may_run_out_anywhere) {
  life one = begin_life();
  rs_store *store = open_at(one.dir);
  rs_store_counts all;
  bool known = true;
  long untold = 0, unknown = 0, nth = 1;
  rs_store_add(store, RS_COUNT_hits, 1);
  rs_store_close(store);
  for (;; nth++) {
    allocations = 0;
    failing = nth;
    untold += !tells_all(&one, &known);
    unknown += !known;
    if (allocations < nth)
      break;
  }
  ck_assert(known && untold > 0 && unknown > 0);
  store = open_at(one.dir);
  ck_assert(rs_store_counted(store, NULL, &all) && all.of[RS_COUNT_hits] == 1 && !all.of[RS_COUNT_damaged]);
  rs_store_close(store);
  printf("each of %ld allocations failed: %ld times not all could be told, and nothing was called damaged\n", nth - 1,
         untold);
}
END_TEST

/* What is counted while the file can't be read is added later, and what it has is not lost. */
START_TEST(counts_outlive_want_of_memory) {
  char *dir = fresh();
  rs_store_counts all;
  for (int i = 0; i < 3; i++) {
    rs_store *store = open_at(dir);
    rs_store_add(store, RS_COUNT_hits, 10);
    ck_assert(put(store, "key", "text"));
    rs_store_add(store, RS_COUNT_hits, 1);
    allocations = 0;
    failing = i == 1; /* the first is for what is in the file */
    rs_store_close(store);
    failing = 0;
  }
  rs_store *store = open_at(dir);
  ck_assert(rs_store_counted(store, NULL, &all));
  ck_assert_int_eq(all.of[RS_COUNT_hits], 3 * 10 + 2);
  rs_store_close(store);
}
END_TEST

/* ---- builds ------------------------------------------------------------------------------------------------------ */

/* dir: NULL: the environment's. How many of two builds compiled: what the store does not keep, the builder does. */
static int expect_built(const char *dir) {
  static const char canonical[] = "op=sum\nlength=7\n", source[] = "int x;\n";
  rs_builder *builder = rs_builder_open(rs_store_open(&(rs_store_options){.dir = dir}), make_compiler(13000), NULL);
  int compiled = 0;
  for (int i = 0; i < 2; i++) {
    rs_binary binary;
    ck_assert_msg(rs_build(builder, &binary, canonical, source, 90, false) == ROWSCAN_OK, "%s", rowscan_last_error());
    ck_assert(is_made_from(&binary, source, 90));
    compiled += !binary.cached;
    rs_binary_free(&binary);
  }
  rs_builder_close(builder);
  return compiled;
}

/* Whatever the file system says, from whichever call on, who wants a kernel has it. _i: the error. */
START_TEST(a_kernel_is_had_whatever_fails) {
  long nth = 1;
  if (is_quick() && !errors[_i].quick)
    return;
  int before = descriptors();
  for (;; nth++) {
    char *dir = fresh();
    arm(nth, errors[_i].error, errors[_i].error != EINTR);
    expect_built(dir);
    disarm();
    remove_tree(parent_of(dir));
    ck_assert_int_eq(descriptors(), before);
    if (!fault.failed)
      break;
  }
  printf("%s from each of %ld calls on: built each time\n", errors[_i].name, nth - 1);
  ck_assert_int_gt(nth, 20);
}
END_TEST

/* In a program that left SIGXFSZ as it is. Check's own files are too large for it: it tells by its exit status. */
static bool in_child_with_small_files(const char *dir) {
  static const char source[] = "int x;\n";
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_DFL);
    limit_files(100);
    rs_builder *builder = rs_builder_open(rs_store_open(&(rs_store_options){.dir = dir}), make_compiler(13000), NULL);
    rs_binary binary;
    bool right = rs_build(builder, &binary, "op=sum\nlength=7\n", source, 90, false) == ROWSCAN_OK && !binary.cached &&
                 is_made_from(&binary, source, 90);
    rs_builder_close(builder);
    _exit(right ? 0 : 1);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

START_TEST(a_kernel_is_had_in_bad_places) {
  char *file = fresh(), *full = fresh(), *closed = fresh();
  ck_assert_int_eq(expect_built(NULL), 1); /* no $HOME, nor any other place */
  setenv("HOME", "/dev/null", 1);
  ck_assert_int_eq(expect_built(NULL), 1);
  spill(file, "", 0);
  ck_assert_int_eq(expect_built(file), 1);
  ck_assert_int_eq(expect_built(path_of("%s/below", file)), 1);
  ck_assert_int_eq(mkdir(closed, 0500), 0);
  ck_assert_int_eq(chmod(closed, 0500), 0);
  ck_assert_int_eq(expect_built(closed), 1);
  ck_assert(in_child_with_small_files(full));
  ck_assert_int_eq(temporaries_in(full), 0);
  ck_assert_int_eq(told->compiles, 6);
}
END_TEST

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static const struct {
  const char *key;
  int64_t age;
} in_order[] = {{"b", -48 * HOUR}, {"a", -72 * HOUR}, {"c", 3 * HOUR}, {"d", HOUR / 2}, {"e", -HOUR / 2}};
enum { AGED = sizeof in_order / sizeof *in_order, AGED_BYTES = 1000 };

/*
 * Entries of the future are not used since the clock was set back, or they would be of the present: they go before
 * those that were used since, the earliest of them first. (Less than an hour ahead is another machine's clock.)
 */
START_TEST(entries_of_the_future_go_first) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  for (int i = 0; i < AGED; i++) {
    ck_assert(put_bytes(store, in_order[i].key, AGED_BYTES));
    age(entry_path(dir, in_order[i].key), in_order[i].age);
  }
  int64_t each = bytes_in(store) / AGED;
  rs_store_close(store);
  for (int left = AGED - 1; left > 0; left--) {
    store = open_logged(dir, (2 * left + 1) * each / 2 * 8 / 7, NULL);
    ck_assert(rs_store_prune(store, NULL));
    for (int i = 0; i < AGED; i++)
      ck_assert_msg(exists(entry_path(dir, in_order[i].key)) == (i >= AGED - left), "%d left: %s", left,
                    in_order[i].key);
    rs_store_close(store);
  }
}
END_TEST

/* A store that a wrong clock filled takes new entries, and keeps them. */
START_TEST(a_full_store_of_the_future_does_not_push_out_the_present) {
  enum { FULL = 80, NEW = 30 };
  char *dir = fresh();
  rs_store *store = open_logged(dir, (int64_t)FULL * (AGED_BYTES + 200), NULL);
  for (int i = 0; i < FULL; i++) {
    ck_assert(put_bytes(store, path_of("future %d", i), AGED_BYTES));
    if (exists(entry_path(dir, path_of("future %d", i))))
      age(entry_path(dir, path_of("future %d", i)), -1000 * HOUR - i);
  }
  int64_t before = entries_in(store);
  for (int i = 0; i < NEW; i++) {
    ck_assert(put_bytes(store, path_of("now %d", i), AGED_BYTES));
    ck_assert_int_le(bytes_in(store), rs_store_limit(store));
  }
  for (int i = 0; i < NEW; i++)
    ck_assert_msg(hits(store, path_of("now %d", i)), "%d", i);
  printf("%d new entries among %d of the future: all kept, %d of these left\n", NEW, (int)before,
         (int)entries_in(store) - NEW);
  rs_store_close(store);
}
END_TEST

static bool clock_is_mad;

extern int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

/* Some days before or after, never the same twice. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  static unsigned seed = 1;
  int result = __real_clock_gettime(clock, time);
  if (clock_is_mad && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += (int)(rand_r(&seed) % 1000000) - 500000;
  return result;
}

static int times_set(file_call call, int dir, const char *name, int flags) {
  (void)dir, (void)name, (void)flags;
  fault.calls += call == CALL_utimensat;
  return 0;
}

/* A clock of this machine, or of a file server, that jumps as it likes. */
START_TEST(hits_write_once_a_minute_whatever_the_clock_does) {
  enum { HITS = 500 };
  char *dir = fresh();
  rs_store *store = open_at(dir);
  ck_assert(put(store, "key", "text") && put(store, "other", "text"));
  fault = (__typeof__(fault)){.only = -1};
  file_hook = times_set;
  clock_is_mad = true;
  for (int i = 0; i < HITS; i++)
    ck_assert(hits(store, "key") && hits(store, "other"));
  clock_is_mad = false;
  disarm();
  ck_assert_int_ge(fault.calls, 1);
  ck_assert_int_le(fault.calls, 2);
  rs_store_close(store);
}
END_TEST

START_TEST(temporaries_of_the_future_are_swept) {
  static const int64_t ages[] = {2 * HOUR, -2 * HOUR, HOUR / 2, -HOUR / 2};
  char *dir = fresh(), *path[4];
  rs_store *store = open_at(dir);
  ck_assert_int_eq(mkdir(path_of("%s/7f", dir), 0700), 0);
  for (int i = 0; i < 4; i++) {
    path[i] = path_of("%s/7f/tmp-1-2-%d", dir, i);
    spill(path[i], "half", 4);
    age(path[i], ages[i]);
  }
  rs_store_pruned pruned;
  ck_assert(rs_store_prune(store, &pruned));
  ck_assert_int_eq(pruned.swept, 2);
  for (int i = 0; i < 4; i++)
    ck_assert_int_eq(exists(path[i]), i >= 2);
  rs_store_close(store);
}
END_TEST

/* ---- very many entries ------------------------------------------------------------------------------------------- */

static int count_call(file_call call, int dir, const char *name, int flags) {
  (void)dir, (void)name, (void)flags;
  fault.calls += call != CALL_close;
  fault.failed += call == CALL_unlinkat;
  return 0;
}

static void count_calls(void) {
  fault = (__typeof__(fault)){.only = -1};
  file_hook = count_call;
}

/* What a hit, a miss and a put that surveys nothing ask of the file system. */
typedef struct costs {
  long hit, miss, put;
} costs;

static costs costs_of(rs_store *store) {
  costs found;
  ck_assert(put(store, "nothing", "text") && put(store, "key", "text") && put(store, "key", "text"));
  rs_store_remove(store, "nothing"); /* but its directory is there */
  count_calls();
  ck_assert(has(store, "key", "text"));
  found.hit = fault.calls;
  ck_assert(!hits(store, "nothing"));
  found.miss = fault.calls - found.hit;
  ck_assert(put(store, "key", "text"));
  found.put = fault.calls - found.hit - found.miss;
  disarm();
  return found;
}

static void spill_at(int dir, const char *name) {
  int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  ck_assert_int_eq(write(fd, "0123456789", 10), 10);
  close(fd);
}

/* Links to a few files, for a file system bears some 65,000 to one. */
static void fill_with_links(const char *dir, int count) {
  enum { A_FILE = 20000 };
  char name[64];
  const char *file = NULL;
  int at = open(dir, O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "%02x", (unsigned)i % 256);
    if (i < 256)
      mkdirat(at, name, 0700);
    if (i % A_FILE == 0)
      spill(file = path_of("%s/../%d", dir, i), "0123456789", 10);
    snprintf(name, sizeof name, "%02x/%030d", (unsigned)i % 256, i);
    if (linkat(AT_FDCWD, file, at, name, 0) != 0) /* a file system without links */
      spill_at(at, name);
  }
  close(at);
}

START_TEST(very_many_entries) {
  int count = is_quick() ? 20000 : 100000;
  char *dir = fresh();
  rs_store *store = open_at(dir);
  costs few = costs_of(store);
  double start = monotonic_ms();
  fill_with_links(dir, count);
  double made = monotonic_ms();
  costs many = costs_of(store);
  ck_assert(many.hit == few.hit && many.miss == few.miss && many.put == few.put);
  count_calls();
  double counted = monotonic_ms();
  ck_assert_int_eq(entries_in(store), count + 1);
  counted = monotonic_ms() - counted;
  long per_count = fault.calls;
  disarm();
  ck_assert_int_le(per_count, 2L * count + 10 * 256); /* each name read once, and looked at once */
  rs_store_close(store);

  /* Half of them go. */
  store = open_logged(dir, (int64_t)count * 10 / 2 * 8 / 7, NULL);
  rs_store_pruned pruned;
  count_calls();
  double evicted = monotonic_ms();
  ck_assert(rs_store_prune(store, &pruned));
  evicted = monotonic_ms() - evicted;
  ck_assert_int_eq(fault.failed, pruned.removed);
  ck_assert_int_le(fault.calls, 2L * count + 10 * 256 + pruned.removed);
  ck_assert_int_ge(pruned.removed, count / 2);
  ck_assert_int_le(pruned.removed, count / 2 + count / 100);
  disarm();
  printf("%d entries, made in %.0f ms: counted in %.0f ms by %ld calls; %lld evicted in %.0f ms by %ld; a hit takes "
         "%ld calls, a miss %ld, a put %ld, as among few\n",
         count, made - start, counted, per_count, (long long)pruned.removed, evicted, fault.calls, many.hit, many.miss,
         many.put);
  rs_store_close(store);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("bad_files");
  TCase *faults = add_case(suite, "calls that fail");
  lot_add_loop_test(faults, each_call_on_files_may_fail, 0, ERRORS);
  tcase_add_test(faults, a_storm_of_signals_costs_nothing);
  tcase_add_test(faults, a_stale_handle_is_looked_for_once_more);
  tcase_add_test(faults, memory_may_run_out_anywhere);
  tcase_add_test(faults, counts_outlive_want_of_memory);

  TCase *builds = add_case(suite, "builds");
  tcase_add_checked_fixture(builds, fresh_tally, NULL);
  lot_add_loop_test(builds, a_kernel_is_had_whatever_fails, 0, ERRORS);
  tcase_add_test(builds, a_kernel_is_had_in_bad_places);

  TCase *clocks = add_case(suite, "clocks");
  tcase_add_test(clocks, entries_of_the_future_go_first);
  tcase_add_test(clocks, a_full_store_of_the_future_does_not_push_out_the_present);
  tcase_add_test(clocks, temporaries_of_the_future_are_swept);
  tcase_add_test(clocks, hits_write_once_a_minute_whatever_the_clock_does);

  TCase *many = add_case(suite, "very many");
  tcase_add_test(many, very_many_entries);
  return run_suite(suite);
}
