/*
 * file.c - files and directories that may be trusted, read and written whole
 * SPDX-License-Identifier: MIT
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"

/* Whose files are trusted. */
typedef enum owner { OWN, OWN_OR_ROOT } owner;

static bool is_owner(const struct stat *status, owner whose) {
  return status->st_uid == geteuid() || (whose == OWN_OR_ROOT && status->st_uid == 0);
}

static const char by_others[] = "writable by others";

/* As a volume of Kubernetes has its directory: writable by all, if it were not mounted to be read. */
static bool is_read_only(int fd) {
  struct statvfs mount;
  return fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY);
}

/* NULL: nothing is wrong. A directory to be read that others may write is none where it can't be written. */
static const char *distrust(int fd, const struct stat *status, mode_t type, owner whose) {
  if ((status->st_mode & S_IFMT) != type)
    return type == S_IFDIR ? "not a directory" : "not a regular file";
  if (!is_owner(status, whose))
    return "owned by another user";
  if (!(status->st_mode & (S_IWGRP | S_IWOTH)) || (type == S_IFDIR && whose == OWN_OR_ROOT && is_read_only(fd)))
    return NULL;
  return by_others;
}

/* The link that O_NOFOLLOW refused: that is ELOOP, or ENOTDIR with O_DIRECTORY. NULL: it was something else. */
static const char *refused_link(int at, const char *name, int flags, int error) {
  struct stat status;
  if (!(flags & O_NOFOLLOW) || (error != ELOOP && error != ENOTDIR))
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
    *wrong = distrust(fd, status, type, whose);
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

static int open_shared(int dir, const char *name, struct stat *status, const char **wrong) {
  int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  return open_trusted(dir, name, flags, S_IFREG, OWN_OR_ROOT, status, wrong);
}

/* ---- links -------------------------------------------------------------------------------------------------------
 *
 * A file that is only read may be a symbolic link, as those of a volume of Kubernetes are: x.pack to ..data/x.pack, and
 * ..data to a directory with a date for its name. Links are followed here, a component at a time, and not by the
 * kernel: each is opened, looked at, and read by its descriptor, so that what was looked at is what is followed.
 */

typedef struct walk {
  int at; /* the directory so far */
  char rest[PATH_MAX];
  int links;
  const char *wrong; /* NULL: errno says it */
} walk;

/* False: errno, or walk->wrong. Takes the directory over. */
static bool go_into(walk *way, int dir) {
  if (dir < 0)
    return false;
  if (way->at >= 0)
    close(way->at);
  way->at = dir;
  return true;
}

/* What is in a sticky directory is replaced by nobody but its owner, who is asked for as well. */
static bool folder_is_trusted(walk *way) {
  struct stat status;
  if (fstat(way->at, &status) != 0)
    return false;
  const char *wrong = distrust(way->at, &status, S_IFDIR, OWN_OR_ROOT);
  if (wrong == by_others && (status.st_mode & S_ISVTX))
    wrong = NULL;
  if (wrong)
    way->wrong = wrong == by_others ? "a symbolic link through a directory that is writable by others"
                                    : "a symbolic link through a directory of another user";
  return !wrong;
}

/* Puts what a link says in front of the rest. */
static bool follow(walk *way, int link, const struct stat *status) {
  enum { MOST_LINKS = 40 };
  char target[PATH_MAX], rest[PATH_MAX];
  if (!is_owner(status, OWN_OR_ROOT)) {
    way->wrong = "a symbolic link of another user";
    return false;
  }
  ssize_t length = readlinkat(link, "", target, sizeof target - 1);
  target[length > 0 ? length : 0] = 0;
  if (length <= 0 || ++way->links > MOST_LINKS ||
      (size_t)snprintf(rest, sizeof rest, "%s/%s", target, way->rest) >= sizeof rest) {
    way->wrong = "a symbolic link that cannot be followed";
    return false;
  }
  memcpy(way->rest, rest, sizeof rest);
  return *target != '/' || go_into(way, rs_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0));
}

/* Cuts the next component off the rest. True: it is the last one. */
static bool cut_component(walk *way, char name[NAME_MAX + 2]) {
  const char *at = way->rest + strspn(way->rest, "/");
  size_t length = strcspn(at, "/");
  snprintf(name, NAME_MAX + 2, "%.*s", (int)length, at);
  at += length;
  at += strspn(at, "/");
  memmove(way->rest, at, strlen(at) + 1);
  return !*way->rest;
}

/* A link is followed, a directory entered. *last: there is nothing more but the file, or a link, of this name. */
static bool step(walk *way, char name[NAME_MAX + 2], bool *last) {
  struct stat status;
  *last = cut_component(way, name);
  if (!folder_is_trusted(way))
    return false;
  int fd = rs_openat(way->at, name, O_PATH | O_NOFOLLOW, 0);
  if (fd < 0 || fstat(fd, &status) != 0) {
    if (fd >= 0)
      close(fd);
    return false;
  }
  if (S_ISLNK(status.st_mode)) {
    *last = false;
    bool followed = follow(way, fd, &status);
    close(fd);
    return followed;
  }
  if (!*last)
    return go_into(way, fd);
  close(fd);
  return true;
}

static int open_by_links(int dir, const char *path, struct stat *status, const char **wrong) {
  walk way = {.at = -1};
  char name[NAME_MAX + 2];
  bool last = false, found = (size_t)snprintf(way.rest, sizeof way.rest, "%s", path) < sizeof way.rest &&
                             go_into(&way, rs_openat(dir, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY, 0));
  while (found && !last)
    found = step(&way, name, &last);
  int fd = found ? open_shared(way.at, name, status, wrong) : -1, error = errno;
  if (way.at >= 0)
    close(way.at);
  if (!found)
    *wrong = way.wrong;
  errno = way.wrong ? EACCES : error;
  return fd;
}

int rs_shared_file_open(int dir, const char *name, struct stat *status, const char **wrong) {
  int fd = open_shared(dir, name, status, wrong);
  return fd >= 0 || errno != ELOOP ? fd : open_by_links(dir, name, status, wrong);
}

/* offset: of the first byte; NULL: where the file stands. */
static bool read_bytes(int fd, char *at, size_t bytes, off_t *offset) {
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
  return read_bytes(fd, to, bytes, NULL);
}

bool rs_file_read_at(int fd, void *to, size_t bytes, uint64_t offset) {
  return read_bytes(fd, to, bytes, &(off_t){(off_t)offset});
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
