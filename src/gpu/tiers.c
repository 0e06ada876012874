/*
 * tiers.c - which kernel serves until that for a program's length is made, and the thread that makes it
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tiers.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "family/universal.h"
#include "spec/developer.h"

typedef struct rs_shared_program {
  struct rs_shared_program *next;
  rs_program program;
} shared_program;

/* ---- programs that several share --------------------------------------------------------------------------------- */

static shared_program *find_shared(shared_program *one, const rowscan_spec *spec) {
  while (one && !rs_spec_equal(&one->program.spec, spec))
    one = one->next;
  return one;
}

/* NULL: out of memory. It stays as long as the context. */
static rs_program *program_for(rs_tiers *tiers, const rowscan_spec *wanted) {
  pthread_mutex_lock(&tiers->lock);
  shared_program *one = find_shared(tiers->programs, wanted);
  if (!one && (one = malloc(sizeof *one))) {
    rs_program_open(&one->program, tiers->gpu, wanted, tiers->gpu->device.arch, true);
    one->next = tiers->programs;
    tiers->programs = one;
  }
  pthread_mutex_unlock(&tiers->lock);
  return one ? &one->program : NULL;
}

/* NULL: the program has any length itself, or rows of nothing, which have a kernel of their own. */
static rs_program *program_for_any(rs_tiers *tiers, rs_program *program) {
  rs_program *any = atomic_load_explicit(&program->any, memory_order_acquire);
  rowscan_spec wanted = program->spec;
  if (any || wanted.length <= 0)
    return any;
  wanted.length = RS_ANY_LENGTH;
  any = program_for(tiers, &wanted);
  if (any)
    atomic_store_explicit(&program->any, any, memory_order_release);
  return any;
}

/* NULL: there are no universal kernels for its spec. */
static rs_program *program_for_all(rs_tiers *tiers, rs_program *program) {
  rs_program *universal = atomic_load_explicit(&program->universal, memory_order_acquire);
  rowscan_spec wanted;
  if (universal || !rs_universal_spec(&program->spec, &wanted))
    return universal;
  universal = program_for(tiers, &wanted);
  if (universal)
    atomic_store_explicit(&program->universal, universal, memory_order_release);
  return universal;
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static rs_tiers *working; /* those that have a thread in this process */
static pid_t process;     /* which one that is */
static pthread_mutex_t working_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Until no thread is inside the compiler or the driver, nor gets there. A thread does not wait for itself, when a log
 * callback of the program's ends it.
 */
static void hold_all(void) {
  pthread_mutex_lock(&working_lock);
  for (rs_tiers *tiers = working; tiers && process == getpid(); tiers = tiers->next) {
    pthread_mutex_lock(&tiers->lock);
    while (tiers->at_work && !pthread_equal(tiers->thread, pthread_self()))
      pthread_cond_wait(&tiers->idle, &tiers->lock);
  }
}

static void let_go(void) {
  for (rs_tiers *tiers = working; tiers && process == getpid(); tiers = tiers->next)
    pthread_mutex_unlock(&tiers->lock);
  pthread_mutex_unlock(&working_lock);
}

/*
 * A child has no such threads, and its contexts serve nobody. fork() waits for none of them: the child can't use the
 * driver in any case, and knows whether it can use the compiler (rs_nvrtc_enter).
 */
static void forget_all(void) {
  working = NULL;
  pthread_mutex_init(&working_lock, NULL); /* another thread may have held it */
}

/*
 * A process that ends while a kernel is compiled waits for it: the destructors of the compiler and the driver would
 * otherwise take from under the thread what it uses. Nothing is begun after that.
 */
static void end_all(void) {
  if (process != getpid())
    return;
  hold_all();
  for (rs_tiers *tiers = working; tiers; tiers = tiers->next)
    tiers->stop = true;
  let_go();
}

/* The first time for a process, before its first thread. With the lock held. */
static bool join_process(void) {
  static bool forks;
  if (process == getpid())
    return true;
  if (atexit(end_all) || (!forks && pthread_atfork(NULL, NULL, forget_all)))
    return false;
  forks = true;
  process = getpid();
  return true;
}

static void make_wanted(rs_tiers *tiers, const rs_wanted *wanted) {
  double start = rs_now_ms();
  bool pushed;
  rs_program *program = wanted->program;
  rowscan_status status = rs_device_enter(&tiers->gpu->device, &pushed);
  if (!status) {
    status = rs_modules_make(&program->modules, wanted->kernel);
    rs_device_leave(&tiers->gpu->device, pushed);
  }
  double milliseconds = rs_now_ms() - start;
  atomic_fetch_add(status ? &tiers->failed : &tiers->made, 1);
  atomic_fetch_add(&tiers->made_us, (int64_t)(1e3 * milliseconds));
  if (status)
    rs_log_write(tiers->gpu->log, ROWSCAN_LOG_WARNING, "sm_%d: kernel %s could not be prepared in the background: %s",
                 program->arch, rs_kernel_name(wanted->kernel), rowscan_last_error());
  else
    rs_log_write(tiers->gpu->log, ROWSCAN_LOG_DEBUG, "sm_%d: kernel %s prepared in the background in %.2f ms",
                 program->arch, rs_kernel_name(wanted->kernel), milliseconds);
}

static void *work(void *user) {
  enum { LOWEST = 19 };
  rs_tiers *tiers = user;
  bool first = true;
  setpriority(PRIO_PROCESS, 0, LOWEST); /* on Linux of the thread alone */
  pthread_mutex_lock(&tiers->lock);
  for (;;) {
    while (!tiers->count && !tiers->stop)
      pthread_cond_wait(&tiers->wake, &tiers->lock);
    if (tiers->stop)
      break;
    rs_wanted wanted = tiers->wanted[0];
    for (int i = 1; i < tiers->count; i++)
      tiers->wanted[i - 1] = tiers->wanted[i];
    tiers->count--;
    tiers->at_work = wanted.program;
    pthread_mutex_unlock(&tiers->lock);
    make_wanted(tiers, &wanted);
    if (first) /* again, for the compiler has destructors by now, which are to come after it */
      atexit(end_all);
    first = false;
    pthread_mutex_lock(&tiers->lock);
    tiers->at_work = NULL;
    pthread_cond_broadcast(&tiers->idle);
  }
  pthread_mutex_unlock(&tiers->lock);
  return NULL;
}

/* With the lock held. */
static bool start(rs_tiers *tiers) {
  sigset_t before;
  rs_signals_block(&before);
  tiers->started = pthread_create(&tiers->thread, NULL, work, tiers) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return tiers->started;
}

/* Among those that have a thread, which it gets with its first work. */
static bool join(rs_tiers *tiers) {
  pthread_mutex_lock(&working_lock);
  if (!tiers->joined && join_process()) {
    tiers->joined = true;
    tiers->next = working;
    working = tiers;
  }
  bool joined = tiers->joined;
  pthread_mutex_unlock(&working_lock);
  return joined;
}

/* False: it can't be had now. Without a compiler it is never had, and asked for no more. */
static bool want(rs_tiers *tiers, rs_program *program, rs_kernel kernel) {
  if (rs_builder_makes(tiers->gpu->builder, program->arch) == RS_MAKES_NOTHING)
    return true;
  if (!join(tiers))
    return false;
  pthread_mutex_lock(&tiers->lock);
  bool room = !tiers->stop && tiers->count < RS_TIERS_WANTED && (tiers->started || start(tiers));
  if (room) {
    tiers->wanted[tiers->count++] = (rs_wanted){program, kernel};
    pthread_cond_signal(&tiers->wake);
  }
  pthread_mutex_unlock(&tiers->lock);
  return room;
}

/* NULL: one that was never opened. */
static void forget(rs_tiers *tiers, const rs_program *program) {
  pthread_mutex_lock(&tiers->lock);
  int kept = 0;
  for (int i = 0; i < tiers->count; i++)
    if (tiers->wanted[i].program != program)
      tiers->wanted[kept++] = tiers->wanted[i];
  tiers->count = kept;
  while (program && tiers->at_work == program)
    pthread_cond_wait(&tiers->idle, &tiers->lock);
  pthread_mutex_unlock(&tiers->lock);
}

void rs_tiers_close_program(rs_program *program) {
  rs_tiers *tiers = program->runnable ? program->gpu->tiers : NULL;
  if (tiers)
    forget(tiers, program);
  for (int i = 0; tiers && program->preferred && i < program->preferred->count; i++)
    forget(tiers, atomic_load(&program->preferred->program[i]));
  rs_program_close(program);
}

/* ---- who serves -------------------------------------------------------------------------------------------------- */

/* Whether there is another kernel beside a program's own. Forced regimes are for those who time them. */
static bool may_change(const rs_tiers *tiers, const rs_program *program) {
  return tiers->compile != ROWSCAN_COMPILE_NOW && program->runnable && program->spec.regime == ROWSCAN_REGIME_AUTO;
}

/* rows: NULL for those of most runs. */
static rs_kernel kernel_for(const rs_program *program, const rs_rows *rows) {
  return rows ? rs_kernels_choose(&program->kernels, rows) : rs_geometry_kernel(&program->kernels.geometry, 0);
}

/* Its kernel takes these rows, and is ready, or can be without a compiler; or by one, if it `waits`. */
static bool serves(rs_program *any, const rs_rows *rows, bool waits) {
  rs_kernel kernel = kernel_for(any, rows);
  return (!rows || rows->length <= rs_most(&any->kernels.geometry.shape[kernel])) &&
         (waits || rs_modules_look(&any->modules, kernel)) && rs_modules_make(&any->modules, kernel) == ROWSCAN_OK;
}

/* The same of universal kernels, for rows of a spec. */
static bool serves_all(rs_program *universal, const rs_rows *rows, const rowscan_spec *spec) {
  rs_rows told;
  rs_terms terms;
  if (rows)
    (void)rs_universal_rows(&told, &terms, rows, spec, 0);
  return serves(universal, rows ? &told : NULL, false);
}

/* Once, where no other kernel is going to serve. */
static void count_universal(rs_tiers *tiers, const rs_program *program) {
  bool never = tiers->compile == ROWSCAN_COMPILE_NEVER;
  atomic_fetch_add_explicit(&tiers->universal_runs, 1, memory_order_relaxed);
  if ((never || rs_builder_makes(tiers->gpu->builder, program->arch) == RS_MAKES_NOTHING) &&
      !atomic_exchange_explicit(&tiers->told, true, memory_order_relaxed))
    rs_log_write(tiers->gpu->log, ROWSCAN_LOG_WARNING,
                 "sm_%d: scans run by universal kernels, which are slower than kernels of their own, for %s",
                 tiers->gpu->device.arch,
                 never ? "the option `compile` is never" : "none may be compiled, or there is no NVRTC");
}

/* A kernel that would have served a run. What is wanted is asked for once, as soon as there is room. */
static void count_module(rs_tiers *tiers, rs_program *program, rs_kernel kernel) {
  rs_module *module = &program->modules.of[kernel];
  int runs = atomic_fetch_add_explicit(&module->runs_of_any, 1, memory_order_relaxed) + 1;
  if (runs < RS_TIERS_RUNS || tiers->compile == ROWSCAN_COMPILE_NEVER ||
      atomic_exchange_explicit(&module->wanted, true, memory_order_relaxed))
    return;
  if (!want(tiers, program, kernel))
    atomic_store_explicit(&module->wanted, false, memory_order_relaxed);
}

/* Where lengths change all the time, it is the kernel for any length that comes back. */
void rs_tiers_count(rs_tiers *tiers, rs_program *program, rs_kernel kernel, const rs_rows *rows,
                    const rs_program *serving) {
  rs_program *any = atomic_load_explicit(&program->any, memory_order_acquire);
  atomic_fetch_add_explicit(&tiers->runs, 1, memory_order_relaxed);
  count_module(tiers, program, kernel);
  if (!(serving->spec.flags & ROWSCAN_UNIVERSAL))
    return;
  count_universal(tiers, program);
  if (any && !atomic_load_explicit(&program->modules.of[kernel].wanted, memory_order_relaxed))
    count_module(tiers, any, kernel_for(any, rows));
}

rs_program *rs_tiers_serving(rs_tiers *tiers, rs_program *program, rs_kernel kernel, const rs_rows *rows) {
  if (!may_change(tiers, program) || rs_modules_look(&program->modules, kernel))
    return program;
  if (program->otherwise)
    return program->otherwise;
  rs_program *any = program_for_any(tiers, program), *universal = program_for_all(tiers, program);
  if (any && serves(any, rows, false))
    return any;
  if (universal && serves_all(universal, rows, &program->spec))
    return universal;
  return any && serves(any, rows, true) ? any : program; /* which says what is wrong, if it can't be made either */
}

static rowscan_status make_serving(rs_program *program, const rs_rows *rows) {
  rs_tiers *tiers = program->gpu->tiers;
  rs_kernel kernel = kernel_for(program, rows);
  rs_program *serving = tiers ? rs_tiers_serving(tiers, program, kernel, rows) : program;
  if (serving == program)
    return rs_modules_make(&program->modules, kernel);
  return serving == program->otherwise ? make_serving(serving, rows) : ROWSCAN_OK;
}

rowscan_status rs_tiers_ready(rs_program *program, const rs_rows *rows) {
  const rs_device *device = &program->gpu->device;
  bool pushed;
  rs_program *serving = rows ? rs_program_for(program, rows) : program;
  rowscan_status status = rs_device_enter(device, &pushed);
  if (status)
    return status;
  if (!rows || rs_rows_any(rows, rs_length(&program->spec, rows)))
    status = make_serving(serving, rows);
  if (status && serving != program) /* which is asked again, with its first run */
    status = make_serving(program, rows);
  rs_device_leave(device, pushed);
  return status;
}

rowscan_status rs_tiers_prepare(rs_program *program, const rs_rows *rows, int threads) {
  rowscan_status status = rs_program_prepare(program, rows, threads);
  bool none = status == ROWSCAN_NO_COMPILER || status == ROWSCAN_NOT_CACHED;
  return none && program->gpu->tiers ? rs_tiers_ready(program, rows) : status;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

void rs_tiers_open(rs_tiers *tiers, rs_gpu *gpu, rowscan_compile compile) {
  *tiers = (rs_tiers){.gpu = gpu, .compile = compile};
  pthread_mutex_init(&tiers->lock, NULL); /* none of which can fail with no attributes */
  pthread_cond_init(&tiers->wake, NULL);
  pthread_cond_init(&tiers->idle, NULL);
}

static void leave_working(rs_tiers *tiers) {
  pthread_mutex_lock(&working_lock);
  rs_tiers **at = &working;
  while (*at && *at != tiers)
    at = &(*at)->next;
  if (*at)
    *at = tiers->next;
  pthread_mutex_unlock(&working_lock);
}

void rs_tiers_stop(rs_tiers *tiers) {
  pthread_mutex_lock(&tiers->lock);
  bool started = tiers->started;
  tiers->stop = true;
  pthread_cond_signal(&tiers->wake);
  pthread_mutex_unlock(&tiers->lock);
  if (started)
    pthread_join(tiers->thread, NULL);
  leave_working(tiers);
}

void rs_tiers_close(rs_tiers *tiers) {
  while (tiers->programs) {
    shared_program *one = tiers->programs;
    tiers->programs = one->next;
    rs_program_close(&one->program);
    free(one);
  }
  pthread_cond_destroy(&tiers->idle);
  pthread_cond_destroy(&tiers->wake);
  pthread_mutex_destroy(&tiers->lock);
}
