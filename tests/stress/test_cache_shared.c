/*
 * test_cache_shared.c - the store of cache/ in many threads and processes at once
 * SPDX-License-Identifier: MIT
 *
 * Locks hold and end, and whoever reads sees whole entries that someone put. (Who is killed: test_killed.c.)
 */
#include "../support/cache_help.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(int milliseconds) {
  nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L}, NULL);
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

START_TEST(a_lock_excludes_its_key_alone) {
  char *dir = fresh();
  rs_store *store = open_at(dir), *other = open_at(dir);
  rs_store_lock a = rs_store_acquire(store, "a", 0), b = rs_store_acquire(store, "b", 0);
  ck_assert(a.fd >= 0 && b.fd >= 0);
  ck_assert_int_eq(rs_store_acquire(store, "a", 0).fd, -1);
  ck_assert_int_eq(rs_store_acquire(other, "a", -5).fd, -1);
  rs_store_release(a);
  a = rs_store_acquire(other, "a", 0);
  ck_assert_int_ge(a.fd, 0);
  ck_assert(put(store, "a", "whoever has no lock may put as well"));
  rs_store_release(a);
  rs_store_release(b);
  ck_assert_int_eq(entries_in(store), 1);
  rs_store_close(store);
  rs_store_close(other);
}
END_TEST

START_TEST(the_wait_for_a_lock_is_bounded) {
  rs_store *store = open_at(fresh());
  rs_store_lock held = rs_store_acquire(store, "key", 0);
  int64_t start = now_ms();
  ck_assert_int_eq(rs_store_acquire(store, "key", 200).fd, -1);
  ck_assert_int_ge(now_ms() - start, 199);
  ck_assert_int_lt(now_ms() - start, 5000);
  rs_store_release(held);
  start = now_ms();
  held = rs_store_acquire(store, "key", 60000);
  ck_assert_int_lt(now_ms() - start, 5000);
  ck_assert_int_ge(held.fd, 0);
  rs_store_release(held);
  rs_store_close(store);
}
END_TEST

typedef struct holder {
  rs_store *store;
  rs_store_lock lock;
} holder;

static void *release_later(void *user) {
  holder *holder_ = user;
  sleep_ms(100);
  rs_store_release(holder_->lock);
  return NULL;
}

START_TEST(who_waits_gets_the_lock) {
  rs_store *store = open_at(fresh());
  holder user = {store, rs_store_acquire(store, "key", 0)};
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &user), 0);
  int64_t start = now_ms();
  rs_store_lock lock = rs_store_acquire(store, "key", 20000);
  ck_assert_int_ge(lock.fd, 0);
  ck_assert_int_ge(now_ms() - start, 50);
  ck_assert_int_lt(now_ms() - start, 10000);
  pthread_join(thread, NULL);
  rs_store_release(lock);
  rs_store_close(store);
}
END_TEST

/* A child has copies of its parent's descriptors: neither it nor its death may hold or drop its parent's lock. */
START_TEST(locks_and_processes) {
  char *dir = fresh();
  rs_store *store = open_at(dir);
  rs_store_lock lock = rs_store_acquire(store, "key", 0);
  pid_t child = fork();
  if (child == 0) {
    sleep_ms(30000);
    _exit(0);
  }
  rs_store_release(lock);
  lock = rs_store_acquire(store, "key", 0);
  ck_assert_int_ge(lock.fd, 0);
  rs_store_release(lock);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);

  int ready[2];
  ck_assert_int_eq(pipe(ready), 0);
  child = fork();
  if (child == 0) {
    rs_store_lock own = rs_store_acquire(store, "key", 0);
    if (write(ready[1], own.fd >= 0 ? "y" : "n", 1) == 1) /* asserts nothing: it is killed (see test_killed.c) */
      sleep_ms(30000);
    _exit(0);
  }
  char answer;
  ck_assert_int_eq(read(ready[0], &answer, 1), 1);
  ck_assert_int_eq(answer, 'y');
  ck_assert_int_eq(rs_store_acquire(store, "key", 20).fd, -1);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  lock = rs_store_acquire(store, "key", 1000);
  ck_assert_int_ge(lock.fd, 0);
  rs_store_release(lock);
  rs_store_close(store);
}
END_TEST

START_TEST(a_lock_file_that_does_not_work) {
  char *dir = fresh();
  log_book book = {0};
  rs_store *store = open_logged(dir, 0, &book);
  ck_assert_int_eq(mkdir(path_of("%s/lock", dir), 0700), 0);
  int64_t start = now_ms();
  ck_assert_int_eq(rs_store_acquire(store, "key", 60000).fd, -1);
  ck_assert_int_lt(now_ms() - start, 5000);
  ck_assert_int_eq(book.messages[2], 2); /* where the cache is, and this */
  ck_assert(put(store, "key", "text"));
  rs_store_close(store);
}
END_TEST

/* ---- many at once ------------------------------------------------------------------------------------------------ */

enum { WORKERS = 8, KEYS = 12, LIMIT = 60000 };

/* The text of a key's n-th version: whoever reads a mixture of two sees it. */
static void version_text(char text[4000], int key, int n) {
  int length = 500 + n % 7 * 400;
  snprintf(text, 4000, "%d:%d:", key, n);
  memset(text + strlen(text), 'a' + n % 26, (size_t)length);
  text[length] = 0;
}

static bool is_a_version(const rs_entry *entry, int key) {
  int found_key, n;
  char text[4000];
  if (sscanf(entry->part[0].data, "%d:%d:", &found_key, &n) != 2 || found_key != key)
    return false;
  version_text(text, key, n);
  return entry->part[0].bytes == strlen(text) && strcmp(entry->part[0].data, text) == 0;
}

/* Reads, writes, removes, clears and prunes at random; false: saw what nobody put. */
static bool stir(rs_store *store, unsigned seed, int rounds, bool with_clear) {
  for (int i = 0; i < rounds; i++) {
    seed = seed * 1664525 + 1013904223;
    int key = (int)(seed >> 16) % KEYS, what = (int)(seed >> 8) % 64;
    char name[32], text[4000];
    snprintf(name, sizeof name, "op=sum\nkey=%d\n", key);
    rs_entry entry;
    if (what < 24) {
      version_text(text, key, i);
      if (!put(store, name, text) && !with_clear)
        return false; /* losing a race is success */
    } else if (what < 56) {
      bool hit = rs_store_get(store, name, RS_STORE_PARTS, &entry);
      bool sound = !hit || is_a_version(&entry, key);
      rs_entry_free(&entry);
      if (!sound)
        return false;
    } else if (what < 60) {
      rs_store_release(rs_store_acquire(store, name, 2));
    } else if (what == 60) {
      rs_store_remove(store, name);
    } else if (what == 61) {
      rs_store_prune(store, NULL);
    } else if (what == 62) {
      visit_book book = {0};
      if (!rs_store_visit(store, keep_visit, &book) || book.damaged)
        return false;
    } else if (with_clear) {
      rs_store_clear(store, NULL, NULL);
    }
  }
  return true;
}

typedef struct worker {
  rs_store *store;
  unsigned seed;
  bool with_clear, sound;
} worker;

static void *work(void *user) {
  worker *self = user;
  self->sound = stir(self->store, self->seed, 300, self->with_clear);
  return NULL;
}

static void expect_tidy(const char *dir) {
  log_book book = {0};
  rs_store *store = open_logged(dir, LIMIT, &book);
  visit_book visits = {0};
  ck_assert(rs_store_visit(store, keep_visit, &visits));
  ck_assert_int_eq(visits.damaged, 0);
  ck_assert_int_eq(temporaries_in(dir), 0);
  ck_assert_int_eq(book.messages[0], 0);
  rs_store_close(store);
}

/* In the first round all threads share one store, in the second each has its own, in the third they clear as well. */
START_TEST(threads_together) {
  char *dir = fresh();
  rs_store *shared = open_logged(dir, LIMIT, NULL);
  pthread_t threads[WORKERS];
  worker workers[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){_i == 1 ? open_logged(dir, LIMIT, NULL) : shared, (unsigned)(i + 1), _i == 2, false};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_msg(workers[i].sound, "thread %d", i);
    if (_i == 1)
      rs_store_close(workers[i].store);
  }
  rs_store_close(shared);
  expect_tidy(dir);
}
END_TEST

START_TEST(processes_together) {
  char *dir = fresh();
  pid_t children[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    children[i] = fork();
    ck_assert_int_ge(children[i], 0);
    if (children[i] == 0)
      _exit(stir(open_logged(dir, LIMIT, NULL), (unsigned)(i + 1), 300, _i == 1) ? 0 : 1);
  }
  for (int i = 0; i < WORKERS; i++) {
    int status;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d", i);
  }
  expect_tidy(dir);
}
END_TEST

/* ---- suite ------------------------------------------------------------------------------------------------------- */

int main(void) {
  Suite *suite = suite_create("cache_shared");
  TCase *locks = add_case(suite, "locks");
  tcase_add_test(locks, a_lock_excludes_its_key_alone);
  tcase_add_test(locks, the_wait_for_a_lock_is_bounded);
  tcase_add_test(locks, who_waits_gets_the_lock);
  tcase_add_test(locks, locks_and_processes);
  tcase_add_test(locks, a_lock_file_that_does_not_work);

  TCase *many = add_case(suite, "many at once");
  tcase_add_loop_test(many, threads_together, 0, 3);
  tcase_add_loop_test(many, processes_together, 0, 2);
  return run_suite(suite);
}
