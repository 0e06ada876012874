/*
 * guard.c - a temporary file does not outlive the process when a signal ends it
 * SPDX-License-Identifier: MIT
 */
#include "guard.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/plain.h"
#include "say.h"

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM};
enum { ENDINGS = sizeof endings / sizeof *endings, MAPS_MAX = 4 };

static const char *volatile temporary;
static volatile sig_atomic_t directory; /* of it */

static struct {
  uintptr_t start, end;
  const char *name, *trouble;
} maps[MAPS_MAX];
static volatile sig_atomic_t map_count;

/* In a handler: only what is safe there. */
static void remove_temporary(void) {
  const char *name = temporary;
  if (name)
    unlinkat(directory, name, 0);
}

static void write_text(const char *text) {
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
}

static void write_plain(const char *text) {
  while (*text) {
    char next[RS_PLAIN_BYTES];
    ssize_t written = write(STDERR_FILENO, next, rs_plain_next(next, &text, false));
    (void)written;
  }
}

/* Sent again, the signal ends the process. */
static void on_ending(int number) {
  remove_temporary();
  signal(number, SIG_DFL); /* not left to SA_RESETHAND, which NVRTC takes away while it compiles */
  raise(number);
}

/*
 * Several threads may run into the same file: one speaks. A fault that is not about our files is met again on return,
 * without this handler, and ends the process.
 */
static void on_bus(int number, siginfo_t *info, void *machine) {
  static int speaking;
  (void)machine;
  uintptr_t at = (uintptr_t)info->si_addr;
  while (__atomic_exchange_n(&speaking, 1, __ATOMIC_SEQ_CST))
    pause();
  remove_temporary();
  for (int i = 0; i < map_count; i++)
    if (at >= maps[i].start && at < maps[i].end) {
      write_text(say_prefix());
      write_plain(maps[i].name);
      write_text(": ");
      write_text(maps[i].trouble);
      write_text("\n");
      _exit(EXIT_FAILED);
    }
  signal(number, SIG_DFL);
}

void guard_install(void) {
  struct sigaction now = {.sa_handler = on_ending, .sa_flags = 0}, before;
  struct sigaction bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
  for (int i = 0; i < ENDINGS; i++)
    if (!sigaction(endings[i], NULL, &before) && before.sa_handler != SIG_IGN) /* as under nohup */
      sigaction(endings[i], &now, NULL);
  sigaction(SIGBUS, &bus, NULL);
  signal(SIGXFSZ, SIG_IGN); /* a file over the limit is then an error of the call that made it so */
}

void guard_hold(sigset_t *before) {
  sigset_t held;
  sigemptyset(&held);
  for (int i = 0; i < ENDINGS; i++)
    sigaddset(&held, endings[i]);
  sigprocmask(SIG_BLOCK, &held, before);
}

void guard_release(const sigset_t *before) {
  sigprocmask(SIG_SETMASK, before, NULL);
}

void guard_file(int dir, const char *name) {
  temporary = NULL;
  directory = dir;
  temporary = name;
}

void guard_map(const void *start, size_t bytes, const char *name, const char *trouble) {
  if (!start) {
    map_count = 0;
    return;
  }
  if (map_count == MAPS_MAX)
    return;
  maps[map_count].start = (uintptr_t)start;
  maps[map_count].end = (uintptr_t)start + bytes;
  maps[map_count].name = name;
  maps[map_count].trouble = trouble;
  map_count++;
}
