/*
 * signals.h - what threads of the library's own leave to those of the program
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_SIGNALS_H
#define RS_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/*
 * For a thread that is started now: signals are for the program, but those that tell of what the thread does itself.
 * Blocked, these would kill the process without its handler, say where a mapped file has become shorter.
 */
static inline void rs_signals_block(sigset_t *old) {
  static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    sigdelset(&blocked, own[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, old);
}

#endif
