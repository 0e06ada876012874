/*
 * handlers.c - the program's signal handlers, which a compile must not change
 * SPDX-License-Identifier: MIT
 */
#include "handlers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const int taken[] = {SIGINT, SIGTERM, SIGXFSZ};
enum { TAKEN = sizeof taken / sizeof *taken };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int under_way;
static struct sigaction before[TAKEN];

static uintptr_t handler(const struct sigaction *action) {
  return action->sa_flags & (int)SA_SIGINFO ? (uintptr_t)action->sa_sigaction : (uintptr_t)action->sa_handler;
}

/* Left behind, where compiles on two threads put back what they found. */
static bool is_compilers(uintptr_t at) {
  Dl_info info;
  return dladdr((void *)at, &info) && info.dli_fname && strstr(info.dli_fname, "libnvrtc");
}

/* Another handler is one that the program has chosen meanwhile. */
static void restore(int signal, const struct sigaction *old) {
  struct sigaction now = {.sa_flags = 0};
  if (sigaction(signal, NULL, &now))
    return;
  bool same = handler(&now) == handler(old);
  if ((same && memcmp(&now, old, sizeof now) != 0) || (!same && is_compilers(handler(&now))))
    sigaction(signal, old, NULL);
}

void rs_handlers_keep(void) {
  pthread_mutex_lock(&lock);
  if (!under_way++)
    for (int i = 0; i < TAKEN; i++)
      sigaction(taken[i], NULL, &before[i]);
  pthread_mutex_unlock(&lock);
}

void rs_handlers_restore(void) {
  pthread_mutex_lock(&lock);
  if (!--under_way)
    for (int i = 0; i < TAKEN; i++)
      restore(taken[i], &before[i]);
  pthread_mutex_unlock(&lock);
}
