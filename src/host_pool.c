/*
 * host_pool.c - a pool of threads that works through numbered chunks
 * SPDX-License-Identifier: MIT
 */
#include "host_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SEAT_ALIGNMENT = 4096, STACK_BYTES = 8 << 20 /* as threads have by default: compilers work here too */ };

/* One run; lives on its caller's stack. A job is in the queue while chunks may be left. */
typedef struct job {
  void (*work)(void *what, int64_t chunk, void *seat);
  void *what;
  int64_t chunks;
  atomic_int_least64_t next; /* the first chunk that nobody has taken */
  int helpers;               /* threads of the pool that are in it; under the lock, like the links */
  bool queued;
  struct job *before, *after;
} job;

struct rs_pool {
  pthread_mutex_t lock;
  pthread_cond_t wanted;   /* a job was queued, or a seat left, or the pool closes: for helpers */
  pthread_cond_t left;     /* a seat was left: for callers */
  pthread_cond_t finished; /* a helper left a job: for its caller */
  job queue;               /* the head of a ring */
  bool closing;
  char *seats;
  int threads, helpers, free_seats;
  struct {
    void *free_seat;
    pthread_t helper;
  } slot[];
};

static void push(rs_pool *pool, job *j) {
  j->after = &pool->queue;
  j->before = pool->queue.before;
  j->before->after = j->after->before = j;
  j->queued = true;
}

static void drop(job *j) {
  if (j->queued) {
    j->before->after = j->after;
    j->after->before = j->before;
    j->queued = false;
  }
}

static void work_through(job *j, void *seat) {
  for (;;) {
    int64_t chunk = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (chunk >= j->chunks)
      return;
    j->work(j->what, chunk, seat);
  }
}

static void *take_seat(rs_pool *pool) {
  return pool->slot[--pool->free_seats].free_seat;
}

static void leave_seat(rs_pool *pool, void *seat) {
  pool->slot[pool->free_seats++].free_seat = seat;
  pthread_cond_signal(&pool->left);
  if (pool->queue.after != &pool->queue)
    pthread_cond_signal(&pool->wanted);
}

static void *help(void *argument) {
  rs_pool *pool = argument;
  fesetenv(FE_DFL_ENV); /* a thread inherits the rounding of the one that made it */
  pthread_mutex_lock(&pool->lock);
  while (!pool->closing) {
    job *j = pool->queue.after;
    if (j == &pool->queue || !pool->free_seats) {
      pthread_cond_wait(&pool->wanted, &pool->lock);
      continue;
    }
    void *seat = take_seat(pool);
    j->helpers++;
    pthread_mutex_unlock(&pool->lock);
    work_through(j, seat);
    pthread_mutex_lock(&pool->lock);
    drop(j);
    leave_seat(pool, seat);
    if (--j->helpers == 0)
      pthread_cond_broadcast(&pool->finished);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

/*
 * Threads of the pool take no signals, which are for the application's own, but those that tell of what they do
 * themselves: blocked, these would kill the process without its handler, say where a mapped file has become shorter.
 */
static void block_signals(sigset_t *old) {
  static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    sigdelset(&blocked, own[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, old);
}

static void start_helpers(rs_pool *pool) {
  pthread_attr_t attributes;
  sigset_t old;
  if (pthread_attr_init(&attributes))
    return;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  block_signals(&old);
  while (pool->helpers < pool->threads - 1 &&
         !pthread_create(&pool->slot[pool->helpers].helper, &attributes, help, pool))
    pool->helpers++;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
}

rs_pool *rs_pool_open(int threads, size_t seat_bytes) {
  size_t bytes = (seat_bytes + SEAT_ALIGNMENT - 1) / SEAT_ALIGNMENT * SEAT_ALIGNMENT;
  rs_pool *pool = calloc(1, sizeof *pool + (size_t)threads * sizeof *pool->slot);
  if (!pool)
    return NULL;
  pool->seats = aligned_alloc(SEAT_ALIGNMENT, (size_t)threads * bytes);
  if (!pool->seats) {
    free(pool);
    return NULL;
  }
  for (int i = 0; i < threads; i++)
    pool->slot[i].free_seat = pool->seats + (size_t)i * bytes;
  pool->threads = pool->free_seats = threads;
  pool->queue.before = pool->queue.after = &pool->queue;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->wanted, NULL);
  pthread_cond_init(&pool->left, NULL);
  pthread_cond_init(&pool->finished, NULL);
  start_helpers(pool);
  return pool;
}

void rs_pool_close(rs_pool *pool) {
  if (!pool)
    return;
  pthread_mutex_lock(&pool->lock);
  pool->closing = true;
  pthread_cond_broadcast(&pool->wanted);
  pthread_mutex_unlock(&pool->lock);
  for (int i = 0; i < pool->helpers; i++)
    pthread_join(pool->slot[i].helper, NULL);
  pthread_cond_destroy(&pool->finished);
  pthread_cond_destroy(&pool->left);
  pthread_cond_destroy(&pool->wanted);
  pthread_mutex_destroy(&pool->lock);
  free(pool->seats);
  free(pool);
}

int rs_pool_threads(const rs_pool *pool) {
  return pool->helpers + 1;
}

void *rs_pool_enter(rs_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  while (!pool->free_seats)
    pthread_cond_wait(&pool->left, &pool->lock);
  void *seat = take_seat(pool);
  pthread_mutex_unlock(&pool->lock);
  return seat;
}

void rs_pool_leave(rs_pool *pool, void *seat) {
  pthread_mutex_lock(&pool->lock);
  leave_seat(pool, seat);
  pthread_mutex_unlock(&pool->lock);
}

void rs_pool_run(rs_pool *pool, void *seat, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat),
                 void *what) {
  job j = {.work = work, .what = what, .chunks = chunks};
  if (chunks <= 1 || !pool->helpers) {
    work_through(&j, seat);
    return;
  }
  pthread_mutex_lock(&pool->lock);
  push(pool, &j);
  for (int64_t i = 1; i < chunks && i <= pool->helpers; i++)
    pthread_cond_signal(&pool->wanted);
  pthread_mutex_unlock(&pool->lock);
  work_through(&j, seat);
  pthread_mutex_lock(&pool->lock);
  drop(&j);
  while (j.helpers)
    pthread_cond_wait(&pool->finished, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

bool rs_pool_once(int threads, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat), void *what) {
  int64_t most = chunks > 1 ? chunks : 1;
  rs_pool *pool = rs_pool_open(threads < most ? threads : (int)most, 0);
  if (!pool)
    return false;
  void *seat = rs_pool_enter(pool);
  rs_pool_run(pool, seat, chunks, work, what);
  rs_pool_leave(pool, seat);
  rs_pool_close(pool);
  return true;
}
