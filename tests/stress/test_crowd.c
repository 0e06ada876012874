/*
 * test_crowd.c - very many processes and threads on one cache: who compiles, and what is evicted meanwhile
 * SPDX-License-Identifier: MIT
 *
 * RS_QUICK=1: 16 processes of 4 threads, one round of eviction, not three, and a fifth of the measurements; else 64 of
 * 8, or as many as CROWD_PROCESSES and CROWD_THREADS say.
 */
#include "../support/file_faults.h"

#include "../support/cache_help.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../support/fake_nvrtc.h"
#include "../support/lot.h"
#include "compile/build.h"

enum { SPECS = 50, MOST_PROCESSES = 1024, MOST_THREADS = 64 };

/* What the processes tell the test. */
typedef struct report {
  atomic_int ready, go; /* who is here; whether they may begin */
  atomic_int built, cached, wrong, failed, timed_out, without_lock;
} report;
static report *crowd;

static void share_memory(void) {
  crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert(crowd != MAP_FAILED);
}

static void pause_us(int microseconds) {
  nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000L}, NULL);
}

/* All begin together: `ready` counts those that are here. */
static void wait_for_all(void) {
  crowd->ready++;
  while (!crowd->go)
    pause_us(500);
}

static void release_all(int count) {
  while (crowd->ready < count)
    pause_us(500);
  crowd->go = 1;
}

static void expect_exit(pid_t child) {
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process ended with status %#x", (unsigned)status);
}

/* ---- all want the same ------------------------------------------------------------------------------------------- */

/* A lock that was waited for in vain is not one that failed. */
static void hear(void *user, rowscan_log_level level, const char *message) {
  (void)user, (void)level;
  if (strstr(message, "continuing without a lock"))
    ++*(strstr(message, strerror(EAGAIN)) ? &crowd->timed_out : &crowd->without_lock);
}

typedef struct member {
  rs_builder *builder;
  int number;
  pthread_t thread;
} member;

static void *build_all(void *argument) {
  const member *one = argument;
  for (int i = 0; i < SPECS; i++) {
    int spec = (i * 7 + one->number * 13) % SPECS;
    char canonical[64], source[64];
    snprintf(canonical, sizeof canonical, "op=sum\nlength=%d\n", spec);
    snprintf(source, sizeof source, "int x%d;\n", spec);
    rs_binary binary;
    if (rs_build(one->builder, &binary, canonical, source, 90, false) != ROWSCAN_OK) {
      crowd->failed++;
      continue;
    }
    crowd->built++;
    crowd->cached += binary.cached;
    crowd->wrong += !is_made_from(&binary, source, 90);
    rs_binary_free(&binary);
  }
  return NULL;
}

static void be_a_process(const char *dir, int number, int threads) {
  static member members[MOST_THREADS];
  rs_builder *builder = rs_builder_open(rs_store_open(&(rs_store_options){.dir = dir, .log = {.call = hear}}),
                                        make_compiler(13000), NULL);
  wait_for_all();
  for (int i = 0; i < threads; i++) {
    members[i] = (member){.builder = builder, .number = number * threads + i};
    if (pthread_create(&members[i].thread, NULL, build_all, &members[i]) != 0)
      _exit(2);
  }
  for (int i = 0; i < threads; i++)
    pthread_join(members[i].thread, NULL);
  rs_builder_close(builder);
}

static int no_locks(file_call call, int dir, const char *name, int command) {
  (void)dir, (void)name;
  return call == CALL_fcntl && command == F_OFD_SETLK ? ENOLCK : 0;
}

/* _i: with locks that work, and with locks that fail. */
START_TEST(all_specs_are_right_and_compiled_once) {
  enum { WAIT_MILLISECONDS = 3000 }; /* of build.c */
  static pid_t children[MOST_PROCESSES];
  bool locks = _i == 0;
  int processes = asked_for("CROWD_PROCESSES", is_quick() ? 16 : 64),
      threads = asked_for("CROWD_THREADS", is_quick() ? 4 : 8);
  ck_assert(processes <= MOST_PROCESSES && threads <= MOST_THREADS);
  char *dir = fresh();
  rs_store_close(open_at(dir));
  told->compile_ms = 2;
  if (!locks)
    file_hook = no_locks;
  for (int i = 0; i < processes; i++) {
    children[i] = fork();
    ck_assert_int_ge(children[i], 0);
    if (children[i] == 0) {
      be_a_process(dir, i, threads);
      _exit(0);
    }
  }
  file_hook = NULL;
  release_all(processes);
  double start = monotonic_ms();
  for (int i = 0; i < processes; i++)
    expect_exit(children[i]);
  double taken = monotonic_ms() - start;
  printf("%d processes of %d threads, %d specs, locks that %s: %d builds, %d failed, %d wrong, %d cached, %d compiles, "
         "%d waited in vain; %.0f ms\n",
         processes, threads, SPECS, locks ? "work" : "fail", crowd->built, crowd->failed, crowd->wrong, crowd->cached,
         told->compiles, crowd->timed_out, taken);
  ck_assert_int_eq(crowd->built, processes * threads * SPECS);
  ck_assert(!crowd->failed && !crowd->wrong && !told->wrong);
  ck_assert_int_eq(crowd->built - crowd->cached, told->compiles);
  ck_assert(!crowd->timed_out || (locks && taken >= WAIT_MILLISECONDS)); /* only a very busy machine */
  if (locks) {
    ck_assert_int_eq(crowd->without_lock, 0);
    ck_assert(told->compiles == SPECS || (told->compiles > SPECS && told->compiles <= SPECS + crowd->timed_out));
  } else {
    ck_assert_int_gt(crowd->without_lock, 0);
    ck_assert(told->compiles >= SPECS && told->compiles <= SPECS * processes);
  }
  rs_store *store = open_at(dir);
  visit_book book = {0};
  ck_assert(rs_store_visit(store, keep_visit, &book));
  ck_assert(book.entries == SPECS && !book.damaged);
  ck_assert_int_eq(temporaries_in(dir), 0);
  rs_store_close(store);
}
END_TEST

/* ---- eviction under load ----------------------------------------------------------------------------------------- */

enum {
  LOADERS = 6,
  BYTES = 4000,
  LIMIT = 16 << 20, /* some 4000 entries: a thirty-second part is what others may put during a survey */
  HOT = 100,
  PUTS = 150 /* of a process in a round: all together are far less than the limit */
};

static void make_text(char text[BYTES], const char *key) {
  size_t length = strlen(key);
  for (size_t i = 0; i + 1 < BYTES; i++)
    text[i] = key[i % length];
  text[BYTES - 1] = 0;
}

static void put_text(rs_store *store, const char *key) {
  char text[BYTES];
  make_text(text, key);
  crowd->failed += !put(store, key, text);
}

/* A hit is right, or it is none. */
static bool hits_rightly(rs_store *store, const char *key) {
  char text[BYTES];
  rs_entry entry;
  if (!rs_store_get(store, key, RS_STORE_PARTS, &entry))
    return false;
  make_text(text, key);
  crowd->wrong += strcmp(entry.part[0].data, text) != 0;
  rs_entry_free(&entry);
  return true;
}

static const char *numbered(char key[64], const char *name, int round, int number) {
  snprintf(key, 64, "%s=%d.%d\n", name, round, number);
  return key;
}

/* Puts new entries, uses the hot ones, and asks for those that may be gone. */
static void load_store(const char *dir, int round, int process) {
  rs_store *store = open_logged(dir, LIMIT, NULL);
  char key[64];
  unsigned seed = (unsigned)(round * LOADERS + process + 1);
  for (int i = 0; i < HOT; i++)
    crowd->failed += !hits_rightly(store, numbered(key, "hot", 0, i));
  wait_for_all();
  for (int i = 0; i < PUTS; i++) {
    put_text(store, numbered(key, "new", round, process * PUTS + i));
    for (int k = 0; k < 3; k++) {
      crowd->failed += !hits_rightly(store, numbered(key, "hot", 0, rand_r(&seed) % HOT));
      crowd->cached += hits_rightly(store, numbered(key, "cold", 0, rand_r(&seed) % 3700));
      crowd->built++;
    }
    pause_us(1000); /* stands for the compile */
  }
  rs_store_close(store);
}

static int64_t most_bytes;

/* All processes stand still while the store is measured. */
static void measure_standing(rs_store *store, const pid_t *children, bool *ended) {
  int status;
  for (int i = 0; i < LOADERS; i++) {
    if (ended[i])
      continue;
    kill(children[i], SIGSTOP);
    ck_assert_int_eq(waitpid(children[i], &status, WUNTRACED), children[i]);
    ended[i] = !WIFSTOPPED(status);
    ck_assert(!ended[i] || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  int64_t bytes = bytes_in(store);
  most_bytes = bytes > most_bytes ? bytes : most_bytes;
  for (int i = 0; i < LOADERS; i++)
    if (!ended[i])
      kill(children[i], SIGCONT);
}

static int count_ended(const bool *ended) {
  int count = 0;
  for (int i = 0; i < LOADERS; i++)
    count += ended[i];
  return count;
}

static int run_round(const char *dir, rs_store *store, int round) {
  pid_t children[LOADERS];
  bool ended[LOADERS] = {false};
  int measured = 0;
  crowd->ready = crowd->go = 0;
  for (int i = 0; i < LOADERS; i++) {
    children[i] = fork();
    ck_assert_int_ge(children[i], 0);
    if (children[i] == 0) {
      load_store(dir, round, i);
      _exit(0);
    }
  }
  release_all(LOADERS);
  for (; count_ended(ended) < LOADERS; measured++) {
    pause_us(15000);
    measure_standing(store, children, ended);
  }
  return measured;
}

START_TEST(eviction_under_load) {
  char *dir = fresh(), key[64];
  int measured = 0, rounds = is_quick() ? 1 : 3;
  rs_store *store = open_logged(dir, LIMIT, NULL);
  for (int i = 0; i < HOT; i++)
    put_text(store, numbered(key, "hot", 0, i));
  for (int i = 0; i < 3700; i++)
    put_text(store, numbered(key, "cold", 0, i));
  int64_t evicted = 0;
  for (int round = 1; round <= rounds; round++) {
    rs_store_counts all;
    measured += run_round(dir, store, round);
    for (int i = 0; i < LOADERS * PUTS; i++)
      ck_assert_msg(hits_rightly(store, numbered(key, "new", round, i)), "round %d: %s went", round, key);
    rs_store_counted(store, NULL, &all);
    ck_assert_int_gt(all.of[RS_COUNT_evictions], evicted);
    evicted = all.of[RS_COUNT_evictions];
  }
  printf("%d processes put %d entries, measured %d times: at most %.3f of the limit; %d evicted, none of %d in use or "
         "new; of %d reads of old ones %d hit; %d failed, %d wrong\n",
         LOADERS, rounds * LOADERS * PUTS, measured, (double)most_bytes / LIMIT, (int)evicted, HOT, crowd->built,
         crowd->cached, crowd->failed, crowd->wrong);
  ck_assert(!crowd->failed && !crowd->wrong);
  ck_assert(crowd->cached > 0 && crowd->cached < crowd->built);
  ck_assert_int_le(most_bytes, LIMIT + LOADERS * (BYTES + 200));
  ck_assert_int_gt(most_bytes, LIMIT / 2);
  ck_assert_int_ge(measured, rounds * 3);
  rs_store_close(store);
}
END_TEST

/* ---- the bound at full speed ------------------------------------------------------------------------------------- */

static const struct {
  int writers, bytes;
  int64_t limit;
  bool locks;
} storms[] = {{16, 30000, 4 << 20, true}, {8, 24000, 64 << 20, true}, {16, 30000, 4 << 20, false}};
enum { STORMS = sizeof storms / sizeof *storms, MOST_WRITERS = 16 };

/* It asserts nothing: it is killed (see test_killed.c). */
static void put_for_ever(const char *dir, int writer, int bytes, int64_t limit) {
  char *data = calloc(1, (size_t)bytes), key[64];
  rs_store *store = rs_store_open(&(rs_store_options){.dir = dir, .limit_bytes = limit});
  if (!data || !store)
    _exit(1);
  wait_for_all();
  for (int i = 0;; i++) {
    rs_part parts[RS_STORE_PARTS] = {{data, (size_t)bytes}};
    crowd->built++;
    crowd->failed += !rs_store_put(store, numbered(key, "storm", writer, i), parts);
  }
}

static void stop_and_go(const pid_t *children, int count, int number) {
  int status;
  for (int i = 0; i < count; i++)
    kill(children[i], number);
  for (int i = 0; number == SIGSTOP && i < count; i++) {
    ck_assert_int_eq(waitpid(children[i], &status, WUNTRACED), children[i]);
    ck_assert_msg(WIFSTOPPED(status), "a process ended with status %#x", (unsigned)status);
  }
}

/* So many times, once the store is full; all stand still meanwhile. */
static int64_t measure_storm(rs_store *store, const pid_t *children, int count, int times) {
  rs_store_counts all = {{0}};
  int64_t most = 0;
  for (int measured = 0; measured<times; measured += all.of[RS_COUNT_evictions]> 0) {
    pause_us(5000);
    stop_and_go(children, count, SIGSTOP);
    int64_t bytes = bytes_in(store);
    most = bytes > most ? bytes : most;
    stop_and_go(children, count, SIGCONT);
    rs_store_counted(store, NULL, &all);
  }
  return most;
}

/* Nothing is between one put and the next, in any of the processes. _i: how many of them, of what, with locks or not.
 */
START_TEST(the_bound_holds_at_full_speed) {
  int writers = storms[_i].writers, times = is_quick() ? 60 : 300;
  int64_t limit = storms[_i].limit, each = storms[_i].bytes + 200;
  pid_t children[MOST_WRITERS];
  char *dir = fresh();
  rs_store *store = open_logged(dir, limit, NULL);
  if (!storms[_i].locks)
    file_hook = no_locks;
  for (int i = 0; i < writers; i++) {
    children[i] = fork();
    ck_assert_int_ge(children[i], 0);
    if (children[i] == 0)
      put_for_ever(dir, i, storms[_i].bytes, limit);
  }
  file_hook = NULL;
  release_all(writers);
  int64_t most = measure_storm(store, children, writers, times);
  stop_and_go(children, writers, SIGKILL);
  for (int i = 0; i < writers; i++)
    ck_assert_int_eq(waitpid(children[i], NULL, 0), children[i]);
  printf("%d processes put %d entries of %d bytes at full speed, locks that %s, measured %d times: at most %.3f of the "
         "limit, of %.3f with an entry for each process; %d failed\n",
         writers, crowd->built, storms[_i].bytes, storms[_i].locks ? "work" : "fail", times,
         (double)most / (double)limit, (double)(limit + writers * each) / (double)limit, crowd->failed);
  ck_assert_int_eq(crowd->failed, 0);
  ck_assert_int_le(most, limit + writers * each);
  ck_assert_int_gt(most, limit / 2);
  rs_store_close(store);
}
END_TEST

int main(void) {
  lot_tell();
  Suite *suite = suite_create("crowd");
  TCase *cases = add_case(suite, "crowd");
  tcase_set_timeout(cases, 600);
  tcase_add_checked_fixture(cases, fresh_tally, NULL);
  tcase_add_checked_fixture(cases, share_memory, NULL);
  lot_add_loop_test(cases, all_specs_are_right_and_compiled_once, 0, 2);
  tcase_add_test(cases, eviction_under_load);
  lot_add_loop_test(cases, the_bound_holds_at_full_speed, 0, STORMS);
  return run_suite(suite);
}
