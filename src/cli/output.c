/*
 * output.c - a file that appears whole or not at all
 * SPDX-License-Identifier: MIT
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/plain.h"
#include "say.h"

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM};
enum { ENDINGS = sizeof endings / sizeof *endings, MAPS_MAX = 8 };

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

/* Keeps the signals away while a file is created and made known. */
static void hold_signals(sigset_t *before) {
  sigset_t held;
  sigemptyset(&held);
  for (int i = 0; i < ENDINGS; i++)
    sigaddset(&held, endings[i]);
  sigprocmask(SIG_BLOCK, &held, before);
}

static void release_signals(const sigset_t *before) {
  sigprocmask(SIG_SETMASK, before, NULL);
}

/* The file to remove, by its name in an open directory; the name must stay valid. NULL: none. */
static void guard_file(int dir, const char *name) {
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

/* ---- files ------------------------------------------------------------------------------------------------------- */

enum { MOST_BYTES = 1 << 30 }; /* that are written at a time */

static void unmap(cli_output *output) {
  if (output->map)
    munmap(output->map, output->map_bytes);
  output->map = NULL;
}

void output_abandon(cli_output *output) {
  unmap(output);
  rs_whole_abandon(&output->whole);
  guard_file(-1, NULL);
}

/* error: 0: `what` is all that is to be told. */
static int failed(cli_output *output, const char *what, int error) {
  output_abandon(output);
  return say_failed("%s: %s%s%s", output->name, what, error ? ": " : "", error ? strerror(error) : "");
}

/* Of a call of base/whole.h. */
static int result_of(cli_output *output, bool done) {
  return done ? EXIT_OK : failed(output, output->whole.wrong, errno);
}

static bool prints;

void output_prints(void) {
  prints = true;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the target is there, and is this file. */
static bool replaces(const rs_whole *whole, const struct stat *file) {
  return whole->replaces && is_same(&whole->old, file);
}

static bool replaces_standard(const rs_whole *whole) {
  struct stat standard;
  return fstat(STDOUT_FILENO, &standard) == 0 && replaces(whole, &standard);
}

/* Whether what is found for another output is this one's target, or will be. */
static bool is_target(const cli_output *output, const rs_whole *other) {
  struct stat dir;
  if (output->standard)
    return replaces_standard(other);
  bool same_name =
      fstat(other->dir, &dir) == 0 && is_same(&dir, &output->dir) && !strcmp(other->name, output->whole.name);
  return same_name || replaces(other, &output->made) || (output->whole.replaces && replaces(other, &output->whole.old));
}

int output_apart(const cli_output *output, const char *option, const char *name) {
  cli_output other = {.name = name};
  if (!rs_whole_find(&other.whole, name))
    return say_failed("%s: %s%s%s", name, other.whole.wrong, errno ? ": " : "", errno ? strerror(errno) : "");
  bool same = is_target(output, &other.whole);
  rs_whole_abandon(&other.whole);
  return same ? say_usage("%s: '%s' is the same file as the first output, %s", option, name, output->name) : EXIT_OK;
}

/* Signals are held, so that no file is made that nobody would remove. */
static bool create(cli_output *output) {
  sigset_t before;
  hold_signals(&before);
  bool created = rs_whole_create(&output->whole, 0666);
  int error = errno;
  if (created) {
    guard_file(output->whole.dir, output->whole.temporary);
    fstat(output->whole.dir, &output->dir);
    fstat(output->whole.file, &output->made);
  }
  release_signals(&before);
  errno = error;
  return created;
}

/* It is asked now what would else be told after a long scan. */
static int open_standard(cli_output *output) {
  int flags = fcntl(STDOUT_FILENO, F_GETFL);
  *output = (cli_output){.name = "standard output", .standard = true, .whole = RS_WHOLE_NONE};
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
    return failed(output, "cannot be written", EBADF);
  return isatty(STDOUT_FILENO) ? failed(output, "is a terminal, which cannot show an array", 0) : EXIT_OK;
}

int output_open(cli_output *output, const char *name) {
  if (!strcmp(name, "-"))
    return open_standard(output);
  *output = (cli_output){.name = name};
  if (!rs_whole_find(&output->whole, name))
    return result_of(output, false);
  if (prints && replaces_standard(&output->whole))
    return failed(output, "is standard output too, which receives text", 0);
  return result_of(output, create(output));
}

/*
 * Without a reservation a full disk shows only when a page is written, as SIGBUS, which on_bus turns into a message.
 * Some file systems cannot reserve.
 */
static int reserve(int file, off_t bytes) {
  int result;
  do
    result = fallocate(file, 0, 0, bytes);
  while (result && errno == EINTR);
  if (result && (errno == EOPNOTSUPP || errno == ENOSYS))
    result = ftruncate(file, bytes);
  return result;
}

int output_reserve(cli_output *output, size_t bytes) {
  char what[80];
  snprintf(what, sizeof what, "no room for %zu bytes", bytes);
  output->bytes = bytes;
  return reserve(output->whole.file, (off_t)bytes) ? failed(output, what, errno) : EXIT_OK;
}

int output_map(cli_output *output, size_t bytes) {
  char what[80];
  snprintf(what, sizeof what, "no room for %zu bytes", bytes);
  if (!output->standard && output_reserve(output, bytes) != EXIT_OK)
    return EXIT_FAILED;
  int flags = output->standard ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, output->whole.file, 0);
  if (map == MAP_FAILED)
    return failed(output, output->standard ? what : "cannot be mapped", errno);
  output->map = map;
  output->bytes = output->map_bytes = bytes;
  if (!output->standard)
    guard_map(map, bytes, output->name, "cannot be written to its end: is the disk full, or did it fail?");
  return EXIT_OK;
}

static int write_all(cli_output *output, int file, const char *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    size_t left = length - done;
    ssize_t written = write(file, bytes + done, left < MOST_BYTES ? left : MOST_BYTES);
    if (written < 0 && errno == EAGAIN)
      poll(&(struct pollfd){.fd = file, .events = POLLOUT}, 1, -1);
    else if (written < 0 && errno != EINTR)
      return failed(output, "cannot be written", errno);
    done += written > 0 ? (size_t)written : 0;
  }
  return EXIT_OK;
}

int output_write(cli_output *output, const void *bytes, size_t length) {
  output->bytes += length;
  return write_all(output, output->whole.file, bytes, length);
}

/* ---- files that several processes write -------------------------------------------------------------------------- */

int output_find(cli_output *output, const char *name) {
  *output = (cli_output){.name = name};
  return result_of(output, rs_whole_find(&output->whole, name));
}

int output_join(cli_output *output, const char *temporary, size_t bytes) {
  sigset_t before;
  hold_signals(&before);
  bool joined = rs_whole_join(&output->whole, temporary, bytes);
  int error = errno;
  if (joined)
    guard_file(output->whole.dir, output->whole.temporary);
  output->bytes = bytes;
  release_signals(&before);
  errno = error;
  return result_of(output, joined);
}

int output_put(cli_output *output, const void *bytes, size_t length, off_t offset) {
  for (size_t done = 0; done < length;) {
    size_t left = length - done;
    ssize_t written = pwrite(output->whole.file, (const char *)bytes + done, left < MOST_BYTES ? left : MOST_BYTES,
                             offset + (off_t)done);
    if (written < 0 && errno != EINTR)
      return failed(output, "cannot be written", errno);
    done += written > 0 ? (size_t)written : 0;
  }
  return EXIT_OK;
}

int output_flush(cli_output *output) {
  return result_of(output, rs_whole_flush(&output->whole));
}

void output_leave(cli_output *output) {
  guard_file(-1, NULL);
  rs_whole_leave(&output->whole);
}

/* ---- the end of a file ------------------------------------------------------------------------------------------- */

int output_private(cli_output *output) {
  return result_of(output, rs_whole_private(&output->whole));
}

int output_commit(cli_output *output) {
  if (output->standard) {
    int written = write_all(output, STDOUT_FILENO, output->map, output->map_bytes);
    unmap(output);
    return written;
  }
  unmap(output);
  int status = result_of(output, rs_whole_commit(&output->whole, output->bytes));
  guard_file(-1, NULL);
  return status;
}

int output_file(const char *name, const void *bytes, size_t length) {
  cli_output output;
  int status = output_open(&output, name);
  if (status == EXIT_OK)
    status = output_write(&output, bytes, length);
  return status == EXIT_OK ? output_commit(&output) : status;
}
