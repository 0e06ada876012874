/*
 * guard.h - a temporary file does not outlive the process when a signal ends it
 * SPDX-License-Identifier: MIT
 *
 * Interrupted, the command removes the file it was writing and dies of the signal. When a mapped file cannot be read or
 * written (it was cut short, the disk is full or broken), the kernel sends SIGBUS: then the command says which file it
 * was and exits with EXIT_FAILED.
 */
#ifndef GUARD_H
#define GUARD_H

#include <signal.h>
#include <stddef.h>

void guard_install(void);

/* Keeps the signals away while a file is created and made known. */
void guard_hold(sigset_t *before);
void guard_release(const sigset_t *before);

/* The file to remove, by its name in an open directory; the name must stay valid. NULL: none. */
void guard_file(int dir, const char *name);

/* A mapped file; `trouble` is what to say of it. NULL start: forget all. The strings must stay valid. */
void guard_map(const void *start, size_t bytes, const char *name, const char *trouble);

#endif
