/*
 * whole.c - a file that appears whole or not at all in the place that a user named
 * SPDX-License-Identifier: MIT
 */
#include "whole.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"

/* ---- temporaries, and what writers who died left of them --------------------------------------------------------- */

static const char name_begin[] = RS_BESIDE_BEGIN, name_end[] = ".tmp";

enum {
  NUMBERS = 3, /* of a name: process, seconds, nanoseconds */
  OLD_SECONDS = 3600
};

/* O_EXCL makes it unique; process and time only make a second try rare. */
static void name_temporary(char name[RS_BESIDE_NAME]) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(name, RS_BESIDE_NAME, "%s%ld-%lld-%ld%s", name_begin, (long)getpid(), (long long)now.tv_sec, now.tv_nsec,
           name_end);
}

long rs_beside_process(const char *name) {
  size_t length = sizeof name_begin - 1;
  if (strncmp(name, name_begin, length) != 0)
    return 0;
  const char *at = name + length;
  for (int i = 0; i < NUMBERS; i++) {
    size_t digits = strspn(at, "0123456789");
    at += digits;
    if (!digits || (i < NUMBERS - 1 && *at++ != '-'))
      return 0;
  }
  return strcmp(at, name_end) == 0 ? strtol(name + length, NULL, 10) : 0;
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

/* dir: -1: none. One that can't be read is left as it is. */
static void sweep(int dir) {
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

/* ---- the file ---------------------------------------------------------------------------------------------------- */

enum { MOST_LINKS = 40, MOST_TRIES = 1000 };

/* What is there of the temporary goes, and all is closed. */
static void end(rs_whole *whole, bool remove) {
  if (whole->file >= 0) {
    if (remove)
      unlinkat(whole->dir, whole->temporary, 0);
    close(whole->file);
  }
  if (whole->dir >= 0)
    close(whole->dir);
  free(whole->acl);
  whole->dir = whole->file = -1;
  whole->acl = NULL;
}

static bool fail(rs_whole *whole, const char *wrong, int error) {
  end(whole, true);
  whole->wrong = wrong;
  errno = error;
  return false;
}

void rs_whole_abandon(rs_whole *whole) {
  int error = errno;
  end(whole, true);
  errno = error;
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

/* Opens the directory of a path that begins in the one that is open, and keeps its last component. */
static bool enter(rs_whole *whole, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char above[PATH_MAX + 2];
  size_t length = (size_t)(name - path);
  if (length >= PATH_MAX || strlen(name) >= sizeof whole->name)
    return fail(whole, "cannot be written", ENAMETOOLONG);
  memcpy(above, path, length);
  strcpy(above + length, "."); /* a link before it is not the last component, which the kernel is stricter with */
  int dir = rs_openat(whole->dir >= 0 ? whole->dir : AT_FDCWD, above, O_PATH | O_DIRECTORY, 0);
  if (dir < 0)
    return fail(whole, "its directory cannot be opened", errno);
  if (whole->dir >= 0)
    close(whole->dir);
  whole->dir = dir;
  strcpy(whole->name, name);
  return *name ? true : fail(whole, "cannot be written", EISDIR);
}

/* The rule of protected_symlinks, whether the kernel has it on or not. */
static bool may_follow(const rs_whole *whole, const struct stat *link) {
  const mode_t for_all = S_ISVTX | S_IWOTH;
  struct stat dir;
  if (link->st_uid == geteuid())
    return true;
  return fstat(whole->dir, &dir) == 0 && ((dir.st_mode & for_all) != for_all || dir.st_uid == link->st_uid);
}

static bool follow(rs_whole *whole, const struct stat *link) {
  char path[PATH_MAX];
  if (!may_follow(whole, link))
    return fail(whole, "is a symbolic link of another user in a directory that is writable by everybody", 0);
  ssize_t length = readlinkat(whole->dir, whole->name, path, sizeof path);
  if (length < 0 || length == sizeof path)
    return fail(whole, "is a symbolic link that cannot be read", length < 0 ? errno : ENAMETOOLONG);
  path[length] = 0;
  return enter(whole, path);
}

/* Goes through links to what they lead to; *status is that of the target, whose st_mode is 0 if it is not there. */
static bool resolve(rs_whole *whole, const char *path, struct stat *status) {
  struct stat by_kernel;
  if (!enter(whole, path))
    return false;
  for (int links = 0;; links++) {
    if (fstatat(whole->dir, whole->name, status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT || links)
        return fail(whole, links ? "is a symbolic link to a file that cannot be written" : "cannot be written", errno);
      *status = (struct stat){0};
      return true;
    }
    if (!S_ISLNK(status->st_mode)) {
      /* Links of /proc lead to open files, whatever they say. */
      bool same = !links || (stat(path, &by_kernel) == 0 && by_kernel.st_dev == status->st_dev &&
                             by_kernel.st_ino == status->st_ino);
      return same || fail(whole, "is a symbolic link to a file without a name", 0);
    }
    if (links == MOST_LINKS)
      return fail(whole, "cannot be written", ELOOP);
    if (!follow(whole, status))
      return false;
  }
}

/* ---- what is kept of it ------------------------------------------------------------------------------------------ */

static const char acl_name[] = "system.posix_acl_access";

/* The list as the kernel gives it: a version, and entries. */
enum { ACL_GROUP = 0x04, ACL_OTHERS = 0x20 };
typedef struct acl_entry {
  uint16_t tag, may; /* little-endian, as the next */
  uint32_t id;
} acl_entry;
enum { ACL_HEAD = 4 };

static bool has_no_acl(int error) {
  return error == ENODATA || error == EOPNOTSUPP || error == ENOSYS;
}

static bool read_acl(rs_whole *whole, int file) {
  ssize_t bytes = fgetxattr(file, acl_name, NULL, 0);
  if (bytes > 0) {
    whole->acl = malloc((size_t)bytes);
    bytes = whole->acl ? fgetxattr(file, acl_name, whole->acl, (size_t)bytes) : -1;
  }
  if (bytes < 0 && !has_no_acl(errno))
    return false;
  if (bytes <= 0) {
    free(whole->acl);
    whole->acl = NULL;
  }
  whole->acl_bytes = bytes > 0 ? (size_t)bytes : 0;
  return true;
}

static acl_entry *entry_of(const rs_whole *whole, int tag) {
  for (size_t at = ACL_HEAD; at + sizeof(acl_entry) <= whole->acl_bytes; at += sizeof(acl_entry)) {
    acl_entry *entry = (acl_entry *)((char *)whole->acl + at);
    if (le16toh(entry->tag) == tag)
      return entry;
  }
  return NULL;
}

/* Opened for writing, so that what the process may not write it does not replace. */
static bool look_at_old(rs_whole *whole, const struct stat *status) {
  if (S_ISDIR(status->st_mode))
    return fail(whole, "cannot be written", EISDIR);
  if (!S_ISREG(status->st_mode))
    return fail(whole, "is not a regular file", 0);
  int file = rs_openat(whole->dir, whole->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
  if (file < 0)
    return fail(whole, "cannot be written", errno);
  bool known = fstat(file, &whole->old) == 0 && read_acl(whole, file);
  int error = errno;
  close(file);
  if (!known)
    return fail(whole, "its access control list cannot be read", error);
  whole->replaces = true;
  return S_ISREG(whole->old.st_mode) || fail(whole, "is not a regular file", 0);
}

bool rs_whole_find(rs_whole *whole, const char *path) {
  struct stat status;
  *whole = RS_WHOLE_NONE;
  if (!resolve(whole, path, &status) || (status.st_mode && !look_at_old(whole, &status)))
    return false;
  sweep(whole->dir);
  return true;
}

/* False: the file has another group than the old one. */
static bool give_to_old_owner(const rs_whole *whole) {
  return fchown(whole->file, whole->old.st_uid, whole->old.st_gid) == 0 ||
         fchown(whole->file, (uid_t)-1, whole->old.st_gid) == 0;
}

/* The directory may have given the file a list of its own. */
static bool set_acl(const rs_whole *whole, bool same_group) {
  if (!whole->acl)
    return fremovexattr(whole->file, acl_name) == 0 || has_no_acl(errno);
  acl_entry *group = entry_of(whole, ACL_GROUP), *others = entry_of(whole, ACL_OTHERS);
  if (!same_group && group && others)
    group->may &= others->may;
  return fsetxattr(whole->file, acl_name, whole->acl, whole->acl_bytes, 0) == 0;
}

static bool keep_rights(rs_whole *whole) {
  bool same_group = give_to_old_owner(whole);
  mode_t mode = whole->old.st_mode & 0777;
  if (!same_group && !whole->acl)
    mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
  if (!set_acl(whole, same_group))
    return fail(whole, "its access control list cannot be kept", errno);
  return whole->acl || fchmod(whole->file, mode) == 0 || fail(whole, "its permissions cannot be kept", errno);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* One that replaces another is nobody else's to read until it has the rights of that. */
bool rs_whole_create(rs_whole *whole, mode_t mode) {
  for (int tries = 0; tries < MOST_TRIES && whole->file < 0; tries++) {
    name_temporary(whole->temporary);
    whole->file =
        rs_openat(whole->dir, whole->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, whole->replaces ? 0600 : mode);
    if (whole->file < 0 && errno != EEXIST)
      break;
  }
  if (whole->file < 0)
    return fail(whole, "cannot be created", errno);
  rs_beside_hold(whole->file);
  return !whole->replaces || keep_rights(whole);
}

static bool has_size(const rs_whole *whole, uint64_t bytes) {
  struct stat status;
  return fstat(whole->file, &status) != 0 || (uint64_t)status.st_size == bytes;
}

bool rs_whole_join(rs_whole *whole, const char *temporary, uint64_t bytes) {
  bool own = whole->file >= 0;
  if (own)
    close(whole->file);
  memmove(whole->temporary, temporary, strlen(temporary) + 1);
  whole->file = rs_openat(whole->dir, temporary, O_WRONLY | O_NOFOLLOW, 0);
  if (whole->file < 0) {
    int error = errno;
    if (own)
      unlinkat(whole->dir, temporary, 0);
    return fail(whole, "the temporary file that was created beside it cannot be opened", error);
  }
  rs_beside_hold(whole->file); /* one of the processes has it */
  if (has_size(whole, bytes))
    return true;
  if (!own) {
    close(whole->file);
    whole->file = -1;
  }
  return fail(whole, "does not have the size that another process gave it", 0);
}

bool rs_whole_private(rs_whole *whole) {
  struct stat status;
  return (fstat(whole->file, &status) == 0 &&
          fchmod(whole->file, status.st_mode & 0777 & ~(mode_t)(S_IWGRP | S_IWOTH)) == 0) ||
         fail(whole, "its permissions cannot be set", errno);
}

static int flush(int fd) {
  int result;
  do
    result = fsync(fd);
  while (result != 0 && errno == EINTR);
  return result != 0 && errno != EINVAL ? -1 : 0; /* EINVAL: a file system that has no such thing */
}

/* So that the rename is on the disk too; where that can't be asked for, the file is whole all the same. */
static void flush_directory(const rs_whole *whole) {
  int dir = rs_openat(whole->dir, ".", O_RDONLY | O_DIRECTORY, 0);
  if (dir >= 0) {
    flush(dir);
    close(dir);
  }
}

bool rs_whole_flush(rs_whole *whole) {
  return flush(whole->file) == 0 || fail(whole, "cannot be written", errno);
}

void rs_whole_leave(rs_whole *whole) {
  end(whole, false);
}

bool rs_whole_commit(rs_whole *whole, uint64_t bytes) {
  static const char changed[] = "does not have the size that was written: another process changed it";
  if (flush(whole->file) != 0)
    return fail(whole, "cannot be written", errno);
  if (!has_size(whole, bytes))
    return fail(whole, changed, 0);
  if (renameat(whole->dir, whole->temporary, whole->dir, whole->name) != 0)
    return fail(whole, "cannot be renamed into place", errno);
  bool same = has_size(whole, bytes);
  flush_directory(whole);
  end(whole, false);
  if (!same) {
    whole->wrong = changed;
    errno = 0;
  }
  return same;
}
