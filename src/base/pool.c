/*
 * pool.c - a pool of threads that works through numbered chunks
 * SPDX-License-Identifier: MIT
 */
#include "pool.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "must_return.h"
#include "signals.h"

enum {
  SEAT_ALIGNMENT = 4096,
  STACK_BYTES = 8 << 20, /* as threads have by default: compilers work here too */
  SHELVES = 16,          /* a power of two */
  LINE_BYTES = 64,
};

/* One run; lives on its caller's stack. A job is in the queue while chunks may be left. */
typedef struct job {
  void (*work)(void *what, int64_t chunk, void *seat);
  void *what;
  int64_t chunks;
  atomic_int_least64_t next; /* the first chunk that nobody has taken */
  int most, helpers;         /* threads of the pool that may be in it, and are; under the lock, like the links */
  bool queued;
  struct job *before, *after;
} job;

/* Where a thread that calls again finds the seat that it left. */
typedef struct shelf {
  void *_Atomic seat;
  char alone[LINE_BYTES - sizeof(void *)]; /* in its cache line */
} shelf;

/* A seat while nobody has it. */
typedef struct spare {
  struct spare *next;
} spare;

typedef struct helper {
  pthread_t thread;
  rs_pool *pool;
  void *seat;
  bool ended; /* there are fewer now: to be joined, or to be started again */
  struct helper *next;
} helper;

struct rs_pool {
  shelf shelf[SHELVES];
  size_t seat_bytes;
  atomic_int most_helpers; /* that may be at work: fewer than asked for, once the system has given none */
  atomic_int waiting;      /* callers that found no memory for a seat */
  pthread_mutex_t lock;    /* of all that follows */
  pthread_cond_t wanted;   /* a job was queued, or the pool closes: for helpers */
  pthread_cond_t left;     /* a seat was left: for callers */
  pthread_cond_t finished; /* a helper left a job: for its caller */
  spare *spares;
  job queue; /* the head of a ring */
  bool closing;
  int helpers, busy;             /* that were started and have not ended, and of these that are in a job */
  helper *first;                 /* of those that were ever started */
  rs_parallel_for *parallel_for; /* threads of the program's, instead of helpers; NULL: none */
  void *user;
};

/* ---- seats ------------------------------------------------------------------------------------------------------- */

static void *make_seat(const rs_pool *pool) {
  return pool->seat_bytes ? aligned_alloc(SEAT_ALIGNMENT, pool->seat_bytes) : NULL;
}

/* Threads that call at the same time mostly have different ones, so that they meet neither at a lock nor in a line. */
static shelf *own_shelf(rs_pool *pool) {
  uint64_t thread = (uint64_t)(uintptr_t)pthread_self() * 0x9e3779b97f4a7c15;
  return &pool->shelf[thread >> 32 & (SHELVES - 1)];
}

static void *take_spare(rs_pool *pool) {
  spare *seat = pool->spares;
  if (seat)
    pool->spares = seat->next;
  return seat;
}

static void *take_from_shelves(rs_pool *pool) {
  void *seat = NULL;
  for (int i = 0; i < SHELVES && !seat; i++)
    seat = atomic_exchange(&pool->shelf[i].seat, NULL);
  return seat;
}

/* There is a seat at least, the one that the pool was opened with. */
static void *wait_for_seat(rs_pool *pool) {
  void *seat;
  atomic_fetch_add(&pool->waiting, 1); /* before looking: who puts one on a shelf after that sees it */
  while (!(seat = take_spare(pool)) && !(seat = take_from_shelves(pool)))
    pthread_cond_wait(&pool->left, &pool->lock);
  atomic_fetch_sub(&pool->waiting, 1);
  return seat;
}

/* Waits for one where there is no memory; or there is none then. */
static void *take_seat(rs_pool *pool, bool waits) {
  void *seat = atomic_exchange(&own_shelf(pool)->seat, NULL);
  if (seat)
    return seat;
  pthread_mutex_lock(&pool->lock);
  seat = take_spare(pool);
  if (!seat)
    seat = take_from_shelves(pool);
  if (!seat)
    seat = make_seat(pool);
  if (!seat && waits)
    seat = wait_for_seat(pool);
  pthread_mutex_unlock(&pool->lock);
  return seat;
}

void *rs_pool_enter(rs_pool *pool) {
  return pool->seat_bytes ? take_seat(pool, true) : NULL;
}

static void add_spare(rs_pool *pool, void *seat) {
  spare *s = seat;
  pthread_mutex_lock(&pool->lock);
  s->next = pool->spares;
  pool->spares = s;
  pthread_cond_signal(&pool->left);
  pthread_mutex_unlock(&pool->lock);
}

void rs_pool_leave(rs_pool *pool, void *seat) {
  shelf *own = own_shelf(pool);
  void *none = NULL;
  if (!seat)
    return;
  if (atomic_compare_exchange_strong(&own->seat, &none, seat)) {
    if (!atomic_load(&pool->waiting))
      return;
    seat = atomic_exchange(&own->seat, NULL);
  }
  if (seat)
    add_spare(pool, seat);
}

static void free_helper(helper *h) {
  free(h->seat);
  free(h);
}

static void free_seats(rs_pool *pool) {
  void *seat;
  while ((seat = take_spare(pool)) || (seat = take_from_shelves(pool)))
    free(seat);
  helper *next;
  for (helper *h = pool->first; h; h = next) {
    next = h->next;
    free_helper(h);
  }
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

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

/* The first that may have one more; it becomes the last, so that helpers spread over the jobs. NULL: none. */
static job *next_job(rs_pool *pool) {
  if (pool->busy >= pool->most_helpers)
    return NULL;
  job *j = pool->queue.after;
  while (j != &pool->queue && j->helpers >= j->most)
    j = j->after;
  if (j == &pool->queue)
    return NULL;
  drop(j);
  push(pool, j);
  return j;
}

static RS_OWN_FRAME void work_through(job *j, void *seat) {
  RS_MUST_RETURN;
  for (;;) {
    int64_t chunk = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
    if (chunk >= j->chunks)
      return;
    j->work(j->what, chunk, seat);
  }
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static void help_with(rs_pool *pool, job *j, void *seat) {
  j->helpers++;
  pool->busy++;
  pthread_mutex_unlock(&pool->lock);
  work_through(j, seat);
  pthread_mutex_lock(&pool->lock);
  drop(j);
  pool->busy--;
  if (--j->helpers == 0)
    pthread_cond_broadcast(&pool->finished);
}

static void *help(void *argument) {
  helper *self = argument;
  rs_pool *pool = self->pool;
  fesetenv(FE_DFL_ENV); /* a thread inherits the rounding of the one that made it */
  pthread_mutex_lock(&pool->lock);
  while (!pool->closing && pool->helpers <= pool->most_helpers) {
    job *j = next_job(pool);
    if (j)
      help_with(pool, j, self->seat);
    else
      pthread_cond_wait(&pool->wanted, &pool->lock);
  }
  self->ended = true;
  pool->helpers--;
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

/* What the first one that has ended was, which needs nothing any more but to return; NULL: none has. */
static helper *ended_helper(rs_pool *pool) {
  for (helper **at = &pool->first; *at; at = &(*at)->next) {
    helper *h = *at;
    if (h->ended) {
      *at = h->next;
      pthread_join(h->thread, NULL);
      return h;
    }
  }
  return NULL;
}

static helper *new_helper(rs_pool *pool) {
  helper *h = calloc(1, sizeof *h);
  if (!h)
    return NULL;
  h->pool = pool;
  h->seat = make_seat(pool);
  if (!pool->seat_bytes || h->seat)
    return h;
  free(h);
  return NULL;
}

static bool start_helper(rs_pool *pool, const pthread_attr_t *attributes) {
  helper *h = ended_helper(pool);
  if (!h)
    h = new_helper(pool);
  if (!h)
    return false;
  h->ended = false;
  if (pthread_create(&h->thread, attributes, help, h)) {
    free_helper(h);
    return false;
  }
  h->next = pool->first;
  pool->first = h;
  return true;
}

/* Until there are so many. Called with the lock, for which they wait. */
static void start_helpers(rs_pool *pool, int count) {
  pthread_attr_t attributes;
  sigset_t old;
  if (pthread_attr_init(&attributes))
    return;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  rs_signals_block(&old);
  while (pool->helpers < count && start_helper(pool, &attributes))
    pool->helpers++;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  pthread_attr_destroy(&attributes);
  if (pool->helpers < count)
    pool->most_helpers = pool->helpers;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int smaller(int a, int64_t b) {
  return a < b ? a : (int)b;
}

static void call_helpers(rs_pool *pool, job *j) {
  pthread_mutex_lock(&pool->lock);
  int64_t wanted = (int64_t)pool->busy + j->most;
  if (pool->helpers < wanted && pool->helpers < pool->most_helpers)
    start_helpers(pool, smaller(pool->most_helpers, wanted));
  push(pool, j);
  for (int i = 0; i < j->most && i < pool->helpers; i++)
    pthread_cond_signal(&pool->wanted);
  pthread_mutex_unlock(&pool->lock);
}

static void dismiss_helpers(rs_pool *pool, job *j) {
  pthread_mutex_lock(&pool->lock);
  drop(j);
  while (j->helpers)
    pthread_cond_wait(&pool->finished, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

/* A job in threads of the program's. */
typedef struct outside {
  rs_pool *pool;
  job *job;
  void *seat; /* the caller's, who does nothing meanwhile: the first part's; NULL: none is needed */
  atomic_bool seated;
} outside;

/*
 * Whichever parts are run, and in whatever order, the first takes the first chunk, and each takes the next when it has
 * done one. So a part waits only for chunks that others have begun. It does not wait for a seat: others go on.
 */
static void take_part(void *data, int64_t index) {
  outside *o = data;
  fenv_t environment;
  (void)index;
  bool first = !atomic_exchange(&o->seated, true);
  bool own = o->seat && !first;
  if (atomic_load(&o->job->next) >= o->job->chunks)
    return;
  void *seat = own ? take_seat(o->pool, false) : o->seat;
  if (own && !seat)
    return;
  fegetenv(&environment); /* which is the program's; the bits must not depend on it */
  fesetenv(FE_DFL_ENV);
  work_through(o->job, seat);
  fesetenv(&environment);
  if (own)
    rs_pool_leave(o->pool, seat);
}

static RS_OWN_FRAME void run(rs_pool *pool, void *seat, int helpers, job *j) {
  RS_MUST_RETURN;
  j->most = smaller(helpers, j->chunks - 1);
  if (j->most <= 0) {
    work_through(j, seat);
    return;
  }
  if (pool->parallel_for) {
    outside o = {.pool = pool, .job = j, .seat = seat};
    pool->parallel_for(pool->user, 1 + (int64_t)j->most, take_part, &o);
    work_through(j, seat); /* what nobody took: not all parts were run */
    return;
  }
  call_helpers(pool, j);
  work_through(j, seat);
  dismiss_helpers(pool, j);
}

void rs_pool_run(rs_pool *pool, void *seat, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat),
                 void *what) {
  run(pool, seat, pool->most_helpers, &(job){.work = work, .what = what, .chunks = chunks});
}

void rs_pool_run_in(rs_pool *pool, int threads, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat),
                    void *what) {
  run(pool, NULL, smaller(threads - 1, pool->most_helpers), &(job){.work = work, .what = what, .chunks = chunks});
}

bool rs_pool_once(int threads, int64_t chunks, void (*work)(void *what, int64_t chunk, void *seat), void *what) {
  int64_t most = chunks > 1 ? chunks : 1;
  rs_pool *pool = rs_pool_open(smaller(threads, most), 0);
  if (!pool)
    return false;
  rs_pool_run(pool, NULL, chunks, work, what);
  rs_pool_close(pool);
  return true;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static size_t rounded_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static void free_pool(rs_pool *pool) {
  pthread_cond_destroy(&pool->finished);
  pthread_cond_destroy(&pool->left);
  pthread_cond_destroy(&pool->wanted);
  pthread_mutex_destroy(&pool->lock);
  free_seats(pool);
  free(pool);
}

rs_pool *rs_pool_open(int threads, size_t seat_bytes) {
  rs_pool *pool = aligned_alloc(LINE_BYTES, rounded_up(sizeof(rs_pool), LINE_BYTES));
  if (!pool)
    return NULL;
  memset(pool, 0, sizeof *pool);
  pool->seat_bytes = rounded_up(seat_bytes, SEAT_ALIGNMENT);
  pool->most_helpers = threads - 1;
  pool->queue.before = pool->queue.after = &pool->queue;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->wanted, NULL);
  pthread_cond_init(&pool->left, NULL);
  pthread_cond_init(&pool->finished, NULL);
  void *seat = make_seat(pool);
  pool->shelf[0].seat = seat;
  if (pool->seat_bytes && !seat) {
    free_pool(pool);
    return NULL;
  }
  return pool;
}

void rs_pool_close(rs_pool *pool) {
  if (!pool)
    return;
  pthread_mutex_lock(&pool->lock);
  pool->closing = true;
  pthread_cond_broadcast(&pool->wanted);
  pthread_mutex_unlock(&pool->lock);
  for (const helper *h = pool->first; h; h = h->next)
    pthread_join(h->thread, NULL);
  free_pool(pool);
}

void rs_pool_set_threads(rs_pool *pool, int threads) {
  pthread_mutex_lock(&pool->lock);
  pool->most_helpers = threads - 1;
  pthread_cond_broadcast(&pool->wanted); /* those that are too many end */
  pthread_mutex_unlock(&pool->lock);
}

void rs_pool_lend(rs_pool *pool, rs_parallel_for *parallel_for, void *user) {
  pool->parallel_for = parallel_for;
  pool->user = user;
}

int rs_pool_threads(const rs_pool *pool) {
  return pool->most_helpers + 1;
}
