/*
 * beside.h - temporaries beside a file that a user named, and what writers who died left of them
 * SPDX-License-Identifier: MIT
 *
 * The directory is the user's: a temporary there has a name that nobody else gives by chance, and its writer keeps a
 * lock on it until it gets its own. Who writes the next file there removes what is left of others: a file of just such
 * a name, regular, this user's, older than an hour, and held by nobody. Inline, for the command has nothing of the
 * library but rowscan.h.
 */
#ifndef RS_BESIDE_H
#define RS_BESIDE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RS_BESIDE_BEGIN ".rowscan-"
#define RS_BESIDE_END ".tmp"

enum {
  RS_BESIDE_NAME = 80,
  RS_BESIDE_NUMBERS = 3, /* of a name: process, seconds, nanoseconds */
  RS_BESIDE_SECONDS = 3600
};

/* Unique by O_EXCL; process and time only make a second try rare. */
static inline void rs_beside_name(char name[RS_BESIDE_NAME]) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, RS_BESIDE_NAME, RS_BESIDE_BEGIN "%ld-%lld-%ld" RS_BESIDE_END, (long)getpid(), (long long)now.tv_sec,
           now.tv_nsec);
}

/* The process in such a name; 0: it is not of this form. */
static inline long rs_beside_process(const char *name) {
  size_t begin = strlen(RS_BESIDE_BEGIN);
  if (strncmp(name, RS_BESIDE_BEGIN, begin) != 0)
    return 0;
  const char *at = name + begin;
  for (int i = 0; i < RS_BESIDE_NUMBERS; i++) {
    size_t digits = strspn(at, "0123456789");
    at += digits;
    if (!digits || (i < RS_BESIDE_NUMBERS - 1 && *at++ != '-'))
      return 0;
  }
  return strcmp(at, RS_BESIDE_END) == 0 ? strtol(name + begin, NULL, 10) : 0;
}

/* Ends with the descriptor. errno of a failure: EAGAIN or EACCES if another has it. */
static inline bool rs_beside_hold(int fd) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

/* Where locks don't work, a process of that number may be the writer. */
static inline bool rs_beside_is_held(int fd, long process) {
  if (rs_beside_hold(fd))
    return false;
  return errno == EAGAIN || errno == EACCES || errno == EINTR || kill((pid_t)process, 0) == 0 || errno != ESRCH;
}

static inline bool rs_beside_is_old(const struct stat *status) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  long long age = (long long)now.tv_sec - (long long)status->st_mtim.tv_sec;
  return S_ISREG(status->st_mode) && status->st_uid == geteuid() && status->st_nlink == 1 &&
         (age > RS_BESIDE_SECONDS || age < -RS_BESIDE_SECONDS);
}

static inline bool rs_beside_is_left(int dir, const char *name) {
  struct stat status;
  long process = rs_beside_process(name);
  if (process <= 0 || fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !rs_beside_is_old(&status))
    return false;
  int fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0)
    return false;
  bool left = fstat(fd, &status) == 0 && rs_beside_is_old(&status) && !rs_beside_is_held(fd, process);
  close(fd);
  return left;
}

/* dir: -1: none. */
static inline void rs_beside_sweep(int dir) {
  int copy = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = copy < 0 ? NULL : fdopendir(copy);
  if (!list) {
    if (copy >= 0)
      close(copy);
    return;
  }
  for (const struct dirent *at; (at = readdir(list)) != NULL;)
    if (rs_beside_is_left(dir, at->d_name))
      unlinkat(dir, at->d_name, 0);
  closedir(list);
}

#endif
