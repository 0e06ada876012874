/*
 * grid.c - runs a kernel over a grid, one fibre a thread
 * SPDX-License-Identifier: MIT
 *
 * A thread runs until it must wait: for the other lanes of its warp, at a barrier, or for what a thread elsewhere will
 * write. Each resident block has its own contents of the kernel's static shared variables; the compiled code knows one
 * place for them, so they are exchanged when another block's turn comes.
 */
#include "grid.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fibre.h"
#include "memory.h"
#include "races.h"
#include "report.h"

enum { WARPS = SIMT_MAX_THREADS / SIMT_WARP, BARRIERS = 16, IDLE_TURNS = 20000 };

/* Lanes are bits. A lane is in exactly one of the five sets; the one that runs is in `ready`. */
typedef struct warp {
  unsigned ready, meeting, waiting, spinning, done;
  unsigned awaited; /* lanes that have awaited what the launch depends on */
  int kind, bytes;  /* of the meeting */
  int argument[SIMT_WARP];
  unsigned long long in[SIMT_WARP], out[SIMT_WARP];
} warp;

typedef struct barrier {
  unsigned arrived, wanted; /* wanted: 0 for all that live */
} barrier;

typedef struct block {
  unsigned number, live;
  warp warps[WARPS];
  barrier barriers[BARRIERS];
  unsigned char barrier_of[SIMT_MAX_THREADS];
  simt_fibre *fibre[SIMT_MAX_THREADS];
  unsigned char *shared; /* contents of static shared memory while it is another block's turn */
  unsigned char *dynamic;
  simt_fetches fetches[SIMT_MAX_THREADS];
  simt_bulk bulk;
  simt_races *races; /* NULL: nobody asks */
  bool hasty;        /* bulk copies may be done before anyone waits for them */
} block;

static struct grid {
  const simt_launch *launch;
  block *resident;
  unsigned resident_count;
  block *now;
  bool ordered; /* seed 0 */
  unsigned long long random;
  unsigned long long started;      /* blocks */
  unsigned long long step, offset; /* the order of blocks: (step * i + offset) % blocks */
} grid;

/* ---- reports -------------------------------------------------------------------------------------------------------
 */

void simt_grid_wrong(const char *format, ...) {
  char message[512];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  simt_die("kernel %s, block %u, thread %u: %s", grid.launch->name, simt_grid_state.block, simt_grid_state.thread,
           message);
}

static const char *kind_name(int kind) {
  static const char *const names[] = {[SIMT_SHUFFLE_XOR] = "shuffle_xor", [SIMT_SHUFFLE_DOWN] = "shuffle_down",
                                      [SIMT_SHUFFLE_UP] = "shuffle_up",   [SIMT_SHUFFLE_FROM] = "shuffle_from",
                                      [SIMT_BALLOT] = "ballot",           [SIMT_WARP_BARRIER] = "warp_barrier"};
  return names[kind];
}

static unsigned own_warp(void) {
  return simt_grid_state.thread / SIMT_WARP;
}

/* A thread of a set of lanes of the warp that runs. */
static unsigned thread_of(unsigned lanes) {
  return own_warp() * SIMT_WARP + (unsigned)__builtin_ctz(lanes);
}

static void fail(const char *what, const void *at) {
  simt_grid_wrong("%s at %p", what, at);
}

static bool has_awaited(void) {
  unsigned thread = simt_grid_state.thread;
  return !grid.launch->dependent || (grid.now->warps[thread / SIMT_WARP].awaited >> thread % SIMT_WARP & 1);
}

static void check_access(const void *at, unsigned long bytes, int write) {
  const simt_memory *memory = simt_memory_around(at, bytes);
  const char *what = write ? "store" : "load";
  if (!has_awaited())
    simt_grid_wrong("%s of %lu bytes at %p, before it awaits what the launch depends on", what, bytes, at);
  if (memory) {
    simt_grid_state.low = (uintptr_t)memory->at;
    simt_grid_state.room = memory->bytes;
    return;
  }
  memory = simt_memory_around((const char *)at - 4096, 0);
  if (memory)
    simt_grid_wrong("%s of %lu bytes at %p, byte %lld of a block of %zu", what, bytes, at,
                    (long long)((uintptr_t)at - (uintptr_t)memory->at), memory->bytes);
  simt_grid_wrong("%s of %lu bytes at %p, which is no memory of the GPU", what, bytes, at);
}

static void look_for_race(const void *at, unsigned long bytes, int write) {
  simt_grid_used(simt_grid_state.thread, at, bytes, write ? SIMT_WRITE : SIMT_READ);
}

/* ---- what threads call ---------------------------------------------------------------------------------------------
 */

SIMT_UNSEEN static void check_alone(const warp *w, const char *what) {
  if (w->done)
    simt_grid_wrong("at %s, but thread %u of its warp has returned", what, thread_of(w->done));
}

SIMT_UNSEEN static void exchange(warp *w) {
  for (int lane = 0; lane < SIMT_WARP; lane++) {
    int from = lane, argument = w->argument[lane];
    switch (w->kind) {
    case SIMT_SHUFFLE_XOR:
      from = (lane ^ argument) % SIMT_WARP;
      break;
    case SIMT_SHUFFLE_DOWN:
      from = lane + argument < SIMT_WARP ? lane + argument : lane;
      break;
    case SIMT_SHUFFLE_UP:
      from = lane >= argument ? lane - argument : lane;
      break;
    case SIMT_SHUFFLE_FROM:
      from = argument & (SIMT_WARP - 1);
      break;
    }
    w->out[lane] = w->in[from];
  }
  if (w->kind == SIMT_BALLOT) {
    unsigned long long ballot = 0;
    for (int lane = 0; lane < SIMT_WARP; lane++)
      ballot |= (unsigned long long)(w->in[lane] != 0) << lane;
    for (int lane = 0; lane < SIMT_WARP; lane++)
      w->out[lane] = ballot;
  }
}

/* All lanes must come with the same call; only the lane that shuffle_from reads may be each one's own. */
SIMT_UNSEEN static void check_same(const warp *w, int kind, int bytes, int argument) {
  int first = __builtin_ctz(w->meeting);
  if (w->kind != kind || w->bytes != bytes)
    simt_grid_wrong("at %s of %d bytes, but thread %u of its warp is at %s of %d bytes", kind_name(kind), bytes,
                    thread_of(w->meeting), kind_name(w->kind), w->bytes);
  if (kind != SIMT_SHUFFLE_FROM && w->argument[first] != argument)
    simt_grid_wrong("at %s by %d, but thread %u of its warp is at one by %d", kind_name(kind), argument,
                    thread_of(w->meeting), w->argument[first]);
}

static void met_in_warp(int kind, unsigned index) {
  unsigned short thread[SIMT_WARP];
  if (kind != SIMT_WARP_BARRIER) {
    simt_races_shuffled(grid.now->races, index * SIMT_WARP);
    return;
  }
  for (unsigned lane = 0; lane < SIMT_WARP; lane++)
    thread[lane] = (unsigned short)(index * SIMT_WARP + lane);
  simt_races_met(grid.now->races, thread, SIMT_WARP);
}

SIMT_UNSEEN static unsigned long long meet(int kind, unsigned long long value, int bytes, int argument) {
  warp *w = &grid.now->warps[own_warp()];
  unsigned lane = simt_grid_state.thread % SIMT_WARP, bit = 1u << lane;
  check_alone(w, kind_name(kind));
  if (w->waiting)
    simt_grid_wrong("at %s, but thread %u of its warp waits at a barrier", kind_name(kind), thread_of(w->waiting));
  if (w->meeting)
    check_same(w, kind, bytes, argument);
  w->kind = kind;
  w->bytes = bytes;
  w->argument[lane] = argument;
  w->in[lane] = value;
  w->meeting |= bit;
  w->ready &= ~bit;
  if (w->meeting == ~0u) {
    exchange(w);
    met_in_warp(kind, own_warp());
    w->meeting = 0;
    w->ready = ~0u;
    simt_grid_state.progress++;
  } else {
    simt_fibre_leave();
  }
  return w->out[lane];
}

SIMT_UNSEEN static void release(block *b, unsigned number) {
  unsigned short met[SIMT_MAX_THREADS];
  unsigned count = 0;
  for (unsigned t = 0; t < simt_grid_state.threads; t++) {
    warp *w = &b->warps[t / SIMT_WARP];
    unsigned bit = 1u << t % SIMT_WARP;
    if ((w->waiting & bit) && b->barrier_of[t] == number) {
      w->waiting &= ~bit;
      w->ready |= bit;
      met[count++] = (unsigned short)t;
    }
  }
  simt_races_met(b->races, met, count);
  b->barriers[number].arrived = 0;
  simt_grid_state.progress++;
}

SIMT_UNSEEN static void release_if_full(block *b, unsigned number) {
  const barrier *bar = &b->barriers[number];
  if (bar->arrived && bar->arrived == (bar->wanted ? bar->wanted : b->live))
    release(b, number);
}

SIMT_UNSEEN static void wait_at_barrier(unsigned number, unsigned threads) {
  block *b = grid.now;
  warp *w = &b->warps[own_warp()];
  unsigned bit = 1u << simt_grid_state.thread % SIMT_WARP;
  barrier *bar = &b->barriers[number % BARRIERS];
  check_alone(w, "a barrier");
  if (number >= BARRIERS || threads % SIMT_WARP || threads > simt_grid_state.threads)
    simt_grid_wrong("there is no barrier %u of %u threads", number, threads);
  if (w->meeting)
    simt_grid_wrong("at a barrier, but thread %u of its warp is at %s", thread_of(w->meeting), kind_name(w->kind));
  if (bar->arrived && bar->wanted != threads)
    simt_grid_wrong("at barrier %u of %u threads, where others wait for %u", number, threads, bar->wanted);
  bar->wanted = threads;
  bar->arrived++;
  b->barrier_of[simt_grid_state.thread] = (unsigned char)number;
  w->waiting |= bit;
  w->ready &= ~bit;
  release_if_full(b, number);
  if (w->waiting & bit)
    simt_fibre_leave();
}

SIMT_UNSEEN static void await_dependencies(void) {
  grid.now->warps[own_warp()].awaited |= 1u << simt_grid_state.thread % SIMT_WARP;
}

SIMT_UNSEEN static void spin(void) {
  warp *w = &grid.now->warps[own_warp()];
  unsigned bit = 1u << simt_grid_state.thread % SIMT_WARP;
  w->spinning |= bit;
  w->ready &= ~bit;
  simt_fibre_leave();
}

simt_state simt_grid_state = {.meet = meet,
                              .barrier = wait_at_barrier,
                              .spin = spin,
                              .await_dependencies = await_dependencies,
                              .fetch = simt_fetch,
                              .fetch_wait = simt_fetch_wait,
                              .fetch_group = simt_fetch_group,
                              .fetch_wait_but_last = simt_fetch_wait_but_last,
                              .bulk_init = simt_bulk_init,
                              .bulk_expect = simt_bulk_expect,
                              .bulk_await = simt_bulk_await,
                              .bulk_load = simt_bulk_load,
                              .bulk_prefetch = simt_bulk_prefetch,
                              .bulk_fence = simt_bulk_fence,
                              .bulk_store = simt_bulk_store,
                              .bulk_drain = simt_bulk_drain,
                              .access = check_access,
                              .used = look_for_race,
                              .fail = fail};

simt_fetches *simt_grid_fetches(void) {
  return &grid.now->fetches[simt_grid_state.thread];
}

simt_bulk *simt_grid_bulk(void) {
  return &grid.now->bulk;
}

static bool within(const void *at, size_t bytes, const void *all, size_t all_bytes) {
  uintptr_t first = (uintptr_t)at, start = (uintptr_t)all;
  return first >= start && first - start <= all_bytes && bytes <= all_bytes - (first - start);
}

simt_races *simt_grid_races(void) {
  return grid.now->races;
}

/* Where static variables begin, for races.c: after the dynamic bytes. */
static size_t fixed_at(void) {
  return ((size_t)grid.launch->dynamic_bytes + 15) & ~(size_t)15;
}

void simt_grid_used(unsigned thread, const void *at, size_t bytes, simt_access how) {
  const unsigned char *byte = at, *dynamic = simt_grid_state.dynamic, *fixed = simt_grid_state.fixed;
  if (!grid.now->races)
    return;
  simt_bulk_used(&grid.now->bulk, at, bytes, how == SIMT_WRITE || how == SIMT_BULK_WRITE);
  if (within(at, bytes, dynamic, simt_grid_state.dynamic_bytes))
    simt_races_access(grid.now->races, thread, (size_t)(byte - dynamic), bytes, how);
  else if (within(at, bytes, fixed, simt_grid_state.fixed_bytes))
    simt_races_access(grid.now->races, thread, fixed_at() + (size_t)(byte - fixed), bytes, how);
}

bool simt_grid_in_shared(const void *at, size_t bytes) {
  const simt_launch *launch = grid.launch;
  bool found = within(at, bytes, grid.now->dynamic, launch->dynamic_bytes);
  for (int i = 0; i < launch->shared_count; i++)
    found = found || within(at, bytes, launch->shared[i].at, launch->shared[i].bytes);
  return found;
}

/* ---- a thread's life -----------------------------------------------------------------------------------------------
 */

SIMT_UNSEEN static void call_kernel(const simt_launch *launch) {
  void *const *p = launch->parameter;
  switch (launch->facts->parameters) {
  case 0:
    launch->entry();
    break;
  case 1:
    ((void (*)(const void *))launch->entry)(p[0]);
    break;
  case 2:
    ((void (*)(const void *, const void *))launch->entry)(p[0], p[1]);
    break;
  case 3:
    ((void (*)(const void *, const void *, const void *))launch->entry)(p[0], p[1], p[2]);
    break;
  default:
    ((void (*)(const void *, const void *, const void *, const void *))launch->entry)(p[0], p[1], p[2], p[3]);
  }
}

/* A thread that returns no longer counts at the barriers of all; but a warp that goes on must be whole. */
SIMT_UNSEEN static void work(void *unused) {
  (void)unused;
  call_kernel(grid.launch);
  block *b = grid.now;
  warp *w = &b->warps[own_warp()];
  unsigned bit = 1u << simt_grid_state.thread % SIMT_WARP;
  if (w->meeting)
    simt_grid_wrong("has returned, but thread %u of its warp is at %s", thread_of(w->meeting), kind_name(w->kind));
  if (w->waiting)
    simt_grid_wrong("has returned, but thread %u of its warp waits at a barrier", thread_of(w->waiting));
  if (simt_bulk_stores(&b->bulk, simt_grid_state.thread))
    simt_grid_wrong("has returned, but a bulk store that it started was not waited for");
  if (b->fetches[simt_grid_state.thread].count)
    simt_grid_wrong("has returned, but what it fetched was not waited for");
  if (!has_awaited())
    simt_grid_wrong("has returned, and never awaited what the launch depends on");
  w->done |= bit;
  w->ready &= ~bit;
  b->live--;
  if (!b->live && simt_bulk_loads(&b->bulk))
    simt_grid_wrong("is the last of its block to return, but bulk loads are under way");
  simt_grid_state.progress++;
  for (unsigned number = 0; number < BARRIERS; number++)
    if (!b->barriers[number].wanted)
      release_if_full(b, number);
}

/* ---- turns ---------------------------------------------------------------------------------------------------------
 */

/* A permutation of 0..31 that is quick to make: i -> (i * odd + offset) % 32. */
typedef struct order {
  unsigned odd, offset;
} order;

static order any_order(void) {
  if (grid.ordered)
    return (order){1, 0};
  unsigned random = simt_random(&grid.random);
  return (order){2 * (random & 15) + 1, random >> 8};
}

static unsigned at_turn(order o, unsigned i) {
  return (i * o.odd + o.offset) % SIMT_WARP;
}

static void run_lane(block *b, unsigned thread) {
  simt_grid_state.thread = thread;
  if (!has_awaited())
    simt_grid_state.room = 0; /* its accesses are looked at */
  simt_fibre_enter(b->fibre[thread]);
}

static void run_warp(block *b, unsigned index) {
  warp *w = &b->warps[index];
  unsigned most = grid.ordered ? ~0u : 1 + simt_random(&grid.random) % 16;
  for (unsigned turn = 0; w->ready && turn < most; turn++) {
    order lanes = any_order();
    for (unsigned i = 0; i < SIMT_WARP; i++) {
      unsigned lane = at_turn(lanes, i);
      if (w->ready >> lane & 1)
        run_lane(b, index * SIMT_WARP + lane);
    }
  }
}

/* Every warp once. False: no thread could run. */
static bool run_round(block *b) {
  unsigned warps = simt_grid_state.threads / SIMT_WARP;
  order turns = any_order();
  bool ran = false;
  for (unsigned i = 0; i < WARPS; i++) {
    unsigned index = at_turn(turns, i);
    if (index >= warps)
      continue;
    warp *w = &b->warps[index];
    w->ready |= w->spinning;
    w->spinning = 0;
    ran = ran || w->ready;
    run_warp(b, index);
  }
  return ran;
}

/* All threads that live wait, and none spins: says for what the first of them waits. */
static void deadlock(const block *b) {
  for (unsigned t = 0; t < simt_grid_state.threads; t++) {
    const warp *w = &b->warps[t / SIMT_WARP];
    unsigned bit = 1u << t % SIMT_WARP;
    simt_grid_state.thread = t;
    if (w->meeting & bit)
      simt_grid_wrong("deadlock: waits at %s for %d other lanes", kind_name(w->kind),
                      SIMT_WARP - __builtin_popcount(w->meeting));
    if (w->waiting & bit)
      simt_grid_wrong("deadlock: waits at barrier %u, where %u threads are of %u", b->barrier_of[t],
                      b->barriers[b->barrier_of[t]].arrived,
                      b->barriers[b->barrier_of[t]].wanted ? b->barriers[b->barrier_of[t]].wanted : b->live);
  }
}

static bool any_ready(const block *b) {
  for (unsigned w = 0; w < simt_grid_state.threads / SIMT_WARP; w++)
    if (b->warps[w].ready)
      return true;
  return false;
}

/* Loads go on where all threads wait, because one may wait for them. In some blocks all copies go on by chance before
 * that. */
static void advance_copies(block *b) {
  if (!b->bulk.first)
    return;
  unsigned random = grid.ordered ? 0 : simt_random(&grid.random);
  if (!any_ready(b))
    simt_bulk_advance(&b->bulk, true, random & 0xffff);
  else if (b->hasty && (random >> 16) % 4 == 0)
    simt_bulk_advance(&b->bulk, b->races, random & 0xffff); /* a store races until somebody waits for it */
}

/* Rounds until the block is done, or gets nowhere without other blocks, or has had its share. */
static void run_slice(block *b) {
  unsigned most = grid.ordered ? ~0u : 1 + simt_random(&grid.random) % 64;
  for (unsigned i = 0; i < most && b->live; i++) {
    unsigned long long before = simt_grid_state.progress;
    advance_copies(b);
    if (!run_round(b))
      deadlock(b);
    if (simt_grid_state.progress == before)
      return;
  }
}

/* ---- blocks --------------------------------------------------------------------------------------------------------
 */

/* Not memcpy: where clang has put a red zone after a variable, the symbol's size counts it in. */
__attribute__((no_sanitize_address)) static void copy_bytes(unsigned char *to, const unsigned char *from,
                                                            size_t count) {
  for (volatile unsigned char *at = to; count > 0; count--)
    *at++ = *from++;
}

static void move_shared(unsigned char *contents, bool save) {
  const simt_launch *launch = grid.launch;
  for (int i = 0; i < launch->shared_count; i++) {
    const simt_shared *variable = &launch->shared[i];
    copy_bytes(save ? contents : variable->at, save ? variable->at : contents, variable->bytes);
    contents += variable->bytes;
  }
}

static void give_turn(block *b) {
  if (grid.now != b) {
    if (grid.now)
      move_shared(grid.now->shared, true);
    move_shared(b->shared, false);
    grid.now = b;
  }
  simt_grid_state.block = b->number;
  simt_grid_state.dynamic = b->dynamic;
}

static size_t shared_bytes(void) {
  size_t bytes = 0;
  for (int i = 0; i < grid.launch->shared_count; i++)
    bytes += grid.launch->shared[i].bytes;
  return bytes;
}

/* Puts the next block in place of one that is done. False: there is none. */
static bool next_block(block *b) {
  const simt_launch *launch = grid.launch;
  if (grid.started == launch->blocks)
    return false;
  b->number = (unsigned)((grid.started++ * grid.step + grid.offset) % launch->blocks);
  b->live = launch->threads;
  memset(b->warps, 0, sizeof b->warps);
  memset(b->barriers, 0, sizeof b->barriers);
  memset(&b->bulk, 0, sizeof b->bulk);
  simt_races_begin(b->races);
  b->hasty = !grid.ordered && simt_random(&grid.random) % 2;
  for (unsigned t = 0; t < launch->threads; t++)
    simt_fibre_start(b->fibre[t], work, NULL);
  for (unsigned w = 0; w < launch->threads / SIMT_WARP; w++)
    b->warps[w].ready = ~0u;
  memset(b->shared, SIMT_POISON, shared_bytes());
  memset(b->dynamic, SIMT_POISON, launch->dynamic_bytes);
  if (grid.now == b)
    move_shared(b->shared, false);
  return true;
}

/* From the first of the static variables to the last. */
static void find_fixed(const simt_launch *launch) {
  uintptr_t low = UINTPTR_MAX, high = 0;
  for (int i = 0; i < launch->shared_count; i++) {
    uintptr_t at = (uintptr_t)launch->shared[i].at, end = at + launch->shared[i].bytes;
    low = at < low ? at : low;
    high = end > high ? end : high;
  }
  low &= ~(uintptr_t)15;
  simt_grid_state.fixed = high ? (void *)low : NULL;
  simt_grid_state.fixed_bytes = high ? (unsigned)(high - low) : 0;
}

static void make_block(block *b) {
  void *dynamic = NULL;
  b->shared = malloc(shared_bytes() + 1);
  bool made = b->shared && posix_memalign(&dynamic, 1024, grid.launch->dynamic_bytes) == 0;
  b->dynamic = dynamic;
  b->races =
      simt_races_wanted() ? simt_races_make(grid.launch->threads, fixed_at() + simt_grid_state.fixed_bytes) : NULL;
  for (unsigned t = 0; t < grid.launch->threads; t++)
    made = (b->fibre[t] = simt_fibre_take()) && made;
  if (!made)
    simt_die("no memory for a block of %u threads", grid.launch->threads);
}

static void free_block(block *b) {
  for (unsigned t = 0; t < grid.launch->threads; t++)
    simt_fibre_give(b->fibre[t]);
  for (int thread = 0; thread < SIMT_MAX_THREADS; thread++)
    free(b->fetches[thread].word);
  simt_races_free(b->races);
  free(b->shared);
  free(b->dynamic);
}

/* ---- the grid ------------------------------------------------------------------------------------------------------
 */

static unsigned long long common_divisor(unsigned long long a, unsigned long long b) {
  while (b) {
    unsigned long long rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static void choose_order(void) {
  static unsigned long long launches;
  unsigned long long seed = (unsigned long long)simt_setting("SIMT_SEED", 1), blocks = grid.launch->blocks;
  grid.ordered = seed == 0;
  grid.random = seed * 1000003 + launches++;
  grid.step = 1;
  grid.offset = 0;
  if (grid.ordered)
    return;
  grid.offset = simt_random(&grid.random) % blocks;
  do
    grid.step = 1 + simt_random(&grid.random) % blocks;
  while (common_divisor(grid.step, blocks) != 1);
}

static unsigned resident_blocks(const simt_launch *launch) {
  long long bound = launch->facts->blocks ? launch->facts->blocks : 1;
  long long count = simt_setting("SIMT_RESIDENT", simt_setting("SIMT_SMS", 4) * bound);
  if (count < 1)
    count = 1;
  return count < launch->blocks ? (unsigned)count : launch->blocks;
}

static block *any_live(void) {
  unsigned count = grid.resident_count, first = grid.ordered ? 0 : simt_random(&grid.random) % count;
  static unsigned last; /* ascending: the one after the last, so that all have their turn */
  if (grid.ordered)
    first = ++last % count;
  for (unsigned i = 0; i < count; i++)
    if (grid.resident[(first + i) % count].live)
      return &grid.resident[(first + i) % count];
  return NULL;
}

static void run_blocks(void) {
  unsigned long long progress = simt_grid_state.progress;
  unsigned idle = 0;
  for (block *b; (b = any_live());) {
    give_turn(b);
    run_slice(b);
    if (!b->live)
      next_block(b);
    idle = simt_grid_state.progress == progress ? idle + 1 : 0;
    progress = simt_grid_state.progress;
    if (idle > IDLE_TURNS * grid.resident_count)
      simt_grid_wrong("waits for what no thread of the %u blocks under way will write", grid.resident_count);
  }
}

void simt_grid_run(const simt_launch *launch) {
  grid.launch = launch;
  grid.now = NULL;
  grid.started = 0;
  grid.resident_count = resident_blocks(launch);
  grid.resident = calloc(grid.resident_count, sizeof *grid.resident);
  if (!grid.resident)
    simt_die("no memory for %u blocks", grid.resident_count);
  choose_order();
  simt_grid_state.threads = launch->threads;
  simt_grid_state.blocks = launch->blocks;
  simt_grid_state.dynamic_bytes = launch->dynamic_bytes;
  simt_grid_state.low = simt_grid_state.room = 0;
  find_fixed(launch);
  for (unsigned i = 0; i < grid.resident_count; i++) {
    make_block(&grid.resident[i]);
    next_block(&grid.resident[i]);
  }
  run_blocks();
  for (unsigned i = 0; i < grid.resident_count; i++)
    free_block(&grid.resident[i]);
  free(grid.resident);
  grid.resident = NULL;
}
