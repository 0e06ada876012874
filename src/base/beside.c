/*
 * beside.c - temporaries beside a file that a user named, and what writers who died left of them
 * SPDX-License-Identifier: MIT
 */
#include "beside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"

static const char begin[] = RS_BESIDE_BEGIN, end[] = ".tmp";

enum {
  NUMBERS = 3, /* of a name: process, seconds, nanoseconds */
  OLD_SECONDS = 3600
};

void rs_beside_name(char name[RS_BESIDE_NAME]) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, RS_BESIDE_NAME, "%s%ld-%lld-%ld%s", begin, (long)getpid(), (long long)now.tv_sec, now.tv_nsec, end);
}

long rs_beside_process(const char *name) {
  size_t length = sizeof begin - 1;
  if (strncmp(name, begin, length) != 0)
    return 0;
  const char *at = name + length;
  for (int i = 0; i < NUMBERS; i++) {
    size_t digits = strspn(at, "0123456789");
    at += digits;
    if (!digits || (i < NUMBERS - 1 && *at++ != '-'))
      return 0;
  }
  return strcmp(at, end) == 0 ? strtol(name + length, NULL, 10) : 0;
}

bool rs_beside_hold(int fd) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

/* Where locks don't work, a process of that number may be the writer. */
static bool is_held(int fd, long process) {
  if (rs_beside_hold(fd))
    return false;
  return errno == EAGAIN || errno == EACCES || errno == EINTR || kill((pid_t)process, 0) == 0 || errno != ESRCH;
}

static bool is_old(const struct stat *status) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  long long written = (long long)status->st_mtim.tv_sec, present = (long long)now.tv_sec;
  return S_ISREG(status->st_mode) && status->st_uid == geteuid() && status->st_nlink == 1 &&
         (written < present - OLD_SECONDS || written > present + OLD_SECONDS);
}

static bool is_left(int dir, const char *name) {
  struct stat status;
  long process = rs_beside_process(name);
  if (process <= 0 || fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !is_old(&status))
    return false;
  int fd = rs_openat(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
  if (fd < 0)
    return false;
  bool left = fstat(fd, &status) == 0 && is_old(&status) && !is_held(fd, process);
  close(fd);
  return left;
}

void rs_beside_sweep(int dir) {
  int copy = dir < 0 ? -1 : rs_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
  DIR *list = copy < 0 ? NULL : fdopendir(copy);
  if (!list) {
    if (copy >= 0)
      close(copy);
    return;
  }
  for (const struct dirent *at; (at = readdir(list)) != NULL;)
    if (is_left(dir, at->d_name))
      unlinkat(dir, at->d_name, 0);
  closedir(list);
}
