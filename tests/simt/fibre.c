/*
 * fibre.c - threads of a simulated GPU: stacks that take turns on one thread of the CPU
 * SPDX-License-Identifier: MIT
 *
 * makecontext gives a fibre its stack; from then on the compiler's __builtin_setjmp and __builtin_longjmp switch, which
 * make no system call as swapcontext does, and save three words: four groups of test_gpu take 11.4 s with them, 15.6
 * with libc's _longjmp. AddressSanitizer is told of every switch where it is there: its functions are weak.
 * ThreadSanitizer takes 14 us to follow a switch, so it is kept out: what runs on fibres is SIMT_UNSEEN by it.
 */
#include "fibre.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* AddressSanitizer would take the red zones off the stack before a jump. */
#define KEEPS_STACK __attribute__((no_sanitize_address))

enum { STACK = 128 * 1024, GUARD = 4096 };

struct simt_fibre {
  char *stack; /* GUARD bytes that nobody may touch, then STACK */
  void (*work)(void *);
  void *argument;
  bool entered;
  void *at[5];
  ucontext_t first;
  void *fake_stack; /* AddressSanitizer's */
  simt_fibre *next; /* in the pool */
};

void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size) __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size) __attribute__((weak));

static simt_fibre *pool, *running;
static void *home[5]; /* where the fibre that runs was entered */
static const void *home_bottom;
static size_t home_size;

/* A jump must not be in the function it goes to. */
SIMT_UNSEEN KEEPS_STACK __attribute__((noinline, noreturn)) static void jump(void **to) {
  __builtin_longjmp(to, 1);
}

SIMT_UNSEEN static void tell_leaving(void **save, const void *bottom, size_t size) {
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(save, bottom, size);
}

SIMT_UNSEEN static void tell_arrived(void *save, const void **bottom, size_t *size) {
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(save, bottom, size);
}

/* A fibre never ends: when its work is done it waits for more. */
SIMT_UNSEEN static void run(void) {
  tell_arrived(NULL, &home_bottom, &home_size);
  for (;;) {
    simt_fibre *self = running;
    self->work(self->argument);
    simt_fibre_leave();
  }
}

static bool make(simt_fibre *fibre) {
  void *stack = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED)
    return false;
  if (mprotect(stack, GUARD, PROT_NONE) || getcontext(&fibre->first)) {
    munmap(stack, GUARD + STACK);
    return false;
  }
  /* Hot ends of all stacks at the same offset of a page would share the same few lines of the first-level cache. */
  static unsigned made;
  size_t colour = 64 * (made++ * 5 % 32);
  fibre->stack = stack;
  fibre->first.uc_stack.ss_sp = fibre->stack + GUARD;
  fibre->first.uc_stack.ss_size = STACK - colour;
  fibre->first.uc_link = NULL;
  makecontext(&fibre->first, run, 0);
  return true;
}

simt_fibre *simt_fibre_take(void) {
  simt_fibre *fibre = pool;
  if (fibre) {
    pool = fibre->next;
    return fibre;
  }
  fibre = calloc(1, sizeof *fibre);
  if (fibre && !make(fibre)) {
    free(fibre);
    fibre = NULL;
  }
  return fibre;
}

void simt_fibre_give(simt_fibre *fibre) {
  fibre->next = pool;
  pool = fibre;
}

void simt_fibre_start(simt_fibre *fibre, void (*work)(void *), void *argument) {
  fibre->work = work;
  fibre->argument = argument;
}

SIMT_UNSEEN KEEPS_STACK void simt_fibre_enter(simt_fibre *fibre) {
  void *volatile save = NULL;
  running = fibre;
  if (!__builtin_setjmp(home)) {
    tell_leaving((void **)&save, fibre->stack + GUARD, STACK);
    if (fibre->entered)
      jump(fibre->at);
    fibre->entered = true;
    setcontext(&fibre->first);
    abort();
  }
  tell_arrived(save, NULL, NULL);
  running = NULL;
}

SIMT_UNSEEN KEEPS_STACK void simt_fibre_leave(void) {
  simt_fibre *volatile self = running;
  if (!__builtin_setjmp(self->at)) {
    tell_leaving(&self->fake_stack, home_bottom, home_size);
    jump(home);
  }
  tell_arrived(self->fake_stack, &home_bottom, &home_size);
}

void simt_fibre_free_pool(void) {
  while (pool) {
    simt_fibre *fibre = pool;
    pool = fibre->next;
    munmap(fibre->stack, GUARD + STACK);
    free(fibre);
  }
}
