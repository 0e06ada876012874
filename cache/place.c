/*
 * place.c - which directory a store lives in
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "file.h"
#include "inside.h"

/* Adds to what the places that were tried are not used for, one after the other. */
__attribute__((format(printf, 2, 3))) static void add_reason(char why[RS_WHY], const char *format, ...) {
  size_t length = strlen(why);
  if (length > 0)
    length += (size_t)snprintf(why + length, RS_WHY - length, "; ");
  if (length >= RS_WHY)
    return;
  va_list list;
  va_start(list, format);
  vsnprintf(why + length, RS_WHY - length, format, list);
  va_end(list);
}

/*
 * Makes a directory, if it is not there. Root makes none inside another user's: with `sudo` and the user's HOME, that
 * would leave a cache that its user can't use.
 */
static bool make_directory(const char *path, uid_t *above, const char **wrong) {
  struct stat status;
  if (stat(path, &status) == 0) {
    *above = status.st_uid;
    return true;
  }
  if (errno != ENOENT)
    return false;
  if (geteuid() == 0 && *above != 0) {
    *wrong = "not created: the directory above it belongs to another user";
    return false;
  }
  *above = geteuid();
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool make_directories(char *path, const char **wrong) {
  struct stat status;
  if (stat(*path == '/' ? "/" : ".", &status) != 0)
    return false;
  for (char *end = path + 1;; end++) {
    if (*end && *end != '/')
      continue;
    char kept = *end;
    *end = 0;
    bool there = make_directory(path, &status.st_uid, wrong);
    *end = kept;
    if (!there || !kept)
      return there;
  }
}

/* The last component may be a symbolic link of this user, who may keep caches on another disk. */
static bool is_own_link(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid == geteuid();
}

static bool is_empty(int dir) {
  int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = copy < 0 ? NULL : fdopendir(copy);
  if (!list) {
    if (copy >= 0)
      close(copy);
    return false;
  }
  int names = 0;
  while (names <= 2 && readdir(list))
    names++;
  closedir(list);
  return names <= 2;
}

/*
 * Tells backup programs to leave the directory out. Only in one that was empty: someone may name a directory that holds
 * more than this cache, and its backup must not end.
 */
static void tag(int dir) {
  static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                             "# This file marks a directory that rowscan can make anew: compiled kernels.\n"
                             "# For information about cache directory tags see https://bford.info/cachedir/\n";
  if (!is_empty(dir))
    return;
  int fd = rs_openat(dir, "CACHEDIR.TAG", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0)
    return;
  if (!rs_file_write(fd, text, sizeof text - 1))
    unlinkat(dir, "CACHEDIR.TAG", 0);
  close(fd);
}

static int open_or_make(char *path, char why[RS_WHY]) {
  const char *wrong = NULL;
  int dir = -1;
  if (make_directories(path, &wrong))
    dir = rs_dir_open(AT_FDCWD, path, is_own_link(path), &wrong);
  if (dir >= 0)
    tag(dir);
  else
    add_reason(why, "%s: %s", path, wrong ? wrong : strerror(errno));
  return dir;
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

/* A variable is read by processes in many directories, and must name the same place in all of them. */
bool rs_place_is_plain(const char *path) {
  if (*path != '/')
    return false;
  for (const char *at = path; (at = strstr(at, "/..")) != NULL; at += 3)
    if (at[3] == '/' || at[3] == 0)
      return false;
  return true;
}

static char *join(const char *base, const char *below) {
  char *path;
  return asprintf(&path, "%s%s", base, below) < 0 ? NULL : path;
}

char *rs_place_here(const char *path) {
  if (*path == '/')
    return strdup(path);
  char *here = getcwd(NULL, 0), *with_slash = here ? join(here, "/") : NULL;
  char *whole = with_slash ? join(with_slash, path) : NULL;
  int error = errno;
  free(with_slash);
  free(here);
  errno = error;
  return whole;
}

/* False: out of memory. */
static bool add_path(rs_place *place, char *path) {
  size_t length = path ? strlen(path) : 0;
  if (!path)
    return false;
  /* A link with a slash behind it would be followed, whoever's it is. */
  while (length > 1 && path[length - 1] == '/')
    path[--length] = 0;
  place->paths[place->count++] = path;
  return true;
}

static bool add_given(rs_place *place, const char *dir, bool later) {
  char *path = later ? rs_place_here(dir) : strdup(dir);
  if (path || errno == ENOMEM)
    return add_path(place, path);
  add_reason(place->why, "%s: the working directory is unknown: %m", dir);
  return true;
}

/* *any: it is set. */
static bool add_variable(rs_place *place, const char *name, const char *below, bool *any) {
  const char *value = secure_getenv(name);
  if (!value || !*value)
    return true;
  *any = true;
  if (rs_place_is_plain(value))
    return add_path(place, join(value, below));
  add_reason(place->why, "%s=%s: not an absolute path without \"..\"", name, value);
  return true;
}

/* Who names a directory for this cache means that one, and not one of a home that may be small or slow. */
bool rs_place_choose(rs_place *place, const char *dir, bool later) {
  bool any = false;
  *place = (rs_place){.count = 0};
  if (dir && *dir)
    return add_given(place, dir, later);
  bool added = add_variable(place, "ROWSCAN_CACHE_DIR", "", &any);
  if (any)
    return added;
  added =
      add_variable(place, "XDG_CACHE_HOME", "/rowscan", &any) && add_variable(place, "HOME", "/.cache/rowscan", &any);
  if (!any)
    add_reason(place->why, "none of ROWSCAN_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
  return added;
}

void rs_place_free(rs_place *place) {
  for (int i = 0; i < place->count; i++)
    free(place->paths[i]);
  place->count = 0;
}

int rs_place_open(const rs_place *place, const char **path, char why[RS_WHY]) {
  int fd = -1;
  *path = NULL;
  snprintf(why, RS_WHY, "%s", place->why);
  for (int i = 0; i < place->count && fd < 0; i++) {
    fd = open_or_make(place->paths[i], why);
    *path = fd < 0 ? NULL : place->paths[i];
  }
  return fd;
}
