/*
 * file.c - files and directories that may be trusted, read and written whole
 * SPDX-License-Identifier: MIT
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"

/* Whose files are trusted. */
typedef enum owner { OWN, OWN_OR_ROOT } owner;

static const char *distrust(const struct stat *status, mode_t type, owner whose) {
  if ((status->st_mode & S_IFMT) != type)
    return type == S_IFDIR ? "not a directory" : "not a regular file";
  if (status->st_uid != geteuid() && !(whose == OWN_OR_ROOT && status->st_uid == 0))
    return "owned by another user";
  return status->st_mode & (S_IWGRP | S_IWOTH) ? "writable by others" : NULL;
}

/* The link that O_NOFOLLOW refused: that is ELOOP, or ENOTDIR with O_DIRECTORY. NULL: it was something else. */
static const char *refused_link(int at, const char *name, int flags, int error) {
  struct stat status;
  if (error != ELOOP && (error != ENOTDIR || !(flags & O_NOFOLLOW)))
    return NULL;
  if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(status.st_mode))
    return error == ELOOP ? "a symbolic link" : NULL;
  return status.st_uid == geteuid() ? "a symbolic link" : "a symbolic link of another user";
}

static int open_trusted(int at, const char *name, int flags, mode_t type, owner whose, struct stat *status,
                        const char **wrong) {
  struct stat unasked;
  const char *untold;
  status = status ? status : &unasked;
  wrong = wrong ? wrong : &untold;
  *wrong = NULL;
  int fd = rs_openat(at, name, flags, 0600);
  if (fd < 0) {
    int error = errno;
    *wrong = refused_link(at, name, flags, error);
    errno = error;
    return -1;
  }
  if (fstat(fd, status) == 0) {
    *wrong = distrust(status, type, whose);
    if (!*wrong)
      return fd;
  }
  int error = *wrong ? EACCES : errno;
  close(fd);
  errno = error;
  return -1;
}

int rs_dir_open(int at, const char *name, bool follow, const char **wrong) {
  return open_trusted(at, name, O_RDONLY | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW), S_IFDIR, OWN, NULL, wrong);
}

int rs_file_open(int dir, const char *name, int flags, struct stat *status, const char **wrong) {
  return open_trusted(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, S_IFREG, OWN, status, wrong);
}

int rs_shared_dir_open(const char *name, const char **wrong) {
  return open_trusted(AT_FDCWD, name, O_RDONLY | O_DIRECTORY, S_IFDIR, OWN_OR_ROOT, NULL, wrong);
}

int rs_shared_file_open(int dir, const char *name, struct stat *status, const char **wrong) {
  int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  return open_trusted(dir, name, flags, S_IFREG, OWN_OR_ROOT, status, wrong);
}

/* offset: of the first byte; NULL: where the file stands. */
static bool read_all(int fd, char *at, size_t bytes, off_t *offset) {
  while (bytes > 0) {
    ssize_t got = offset ? pread(fd, at, bytes, *offset) : read(fd, at, bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got == 0)
      errno = 0;
    if (got <= 0)
      return false;
    at += got;
    bytes -= (size_t)got;
    if (offset)
      *offset += got;
  }
  return true;
}

bool rs_file_read(int fd, void *to, size_t bytes) {
  return read_all(fd, to, bytes, NULL);
}

bool rs_file_read_at(int fd, void *to, size_t bytes, uint64_t offset) {
  return read_all(fd, to, bytes, &(off_t){(off_t)offset});
}

/* ---- writing -----------------------------------------------------------------------------------------------------
 *
 * A file that would pass the limit on their size (RLIMIT_FSIZE) makes the kernel send SIGXFSZ to the thread that
 * writes, which ends a program that has not thought of it. A cache is no reason to: the thread holds the signal
 * meanwhile, and takes the one that it caused. One that waited before, as the program wished, waits on.
 */

typedef struct held {
  sigset_t before;
  bool waited;
} held;

static void hold(sigset_t *signals, held *state) {
  sigset_t waiting;
  sigemptyset(signals);
  sigaddset(signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, signals, &state->before);
  state->waited = sigismember(&state->before, SIGXFSZ) && sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ);
}

/* `done`: without an error; else errno has it. */
static void release(const sigset_t *signals, const held *state, bool done) {
  int error = errno;
  if (!done && error == EFBIG && !state->waited)
    sigtimedwait(signals, NULL, &(struct timespec){0});
  pthread_sigmask(SIG_SETMASK, &state->before, NULL);
  errno = error;
}

static bool write_all(int fd, const char *at, size_t bytes) {
  while (bytes > 0) {
    ssize_t put = write(fd, at, bytes);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    at += put;
    bytes -= (size_t)put;
  }
  return true;
}

bool rs_file_write(int fd, const void *from, size_t bytes) {
  sigset_t signals;
  held state;
  hold(&signals, &state);
  bool done = write_all(fd, from, bytes);
  release(&signals, &state, done);
  return done;
}

bool rs_file_resize(int fd, uint64_t bytes) {
  sigset_t signals;
  held state;
  hold(&signals, &state);
  bool done = ftruncate(fd, (off_t)bytes) == 0;
  release(&signals, &state, done);
  return done;
}

bool rs_file_is_at_fault(int error) {
  switch (error) {
  case 0:
  case EACCES:
  case EISDIR:
  case ELOOP:
  case ENODEV:
  case ENOENT:
  case ENOTDIR:
  case ENXIO:
  case EPERM:
    return true;
  default:
    return false;
  }
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* By the clock that files on a local disk have their times of: who compares two of them finds no finer ticks in one. */
static struct timespec now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return time;
}

int64_t rs_file_age(const struct stat *status) {
  int64_t age, time = now().tv_sec, then = status->st_mtim.tv_sec;
  if (!__builtin_sub_overflow(time, then, &age))
    return age;
  return then < 0 ? INT64_MAX : INT64_MIN;
}

bool rs_file_touch(int dir, const char *name) {
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, now()};
  return utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) == 0;
}
