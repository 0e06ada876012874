/*
 * prefixes.c - installations that this process belongs to
 * SPDX-License-Identifier: MIT
 *
 * A virtual environment has bin/python, mostly a link to the Python that it was made from, and pyvenv.cfg beside bin.
 * No variable names one that was not activated (containers, services, cron), and the program that runs is the other
 * Python; what tells is the name that it was called by, which is an argument or what the system was given to run, and
 * where this library is. All of this is believed as far as trust.h says.
 */
#include "prefixes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library.h"

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static bool copy(char *to, size_t room, const char *path) {
  return (size_t)snprintf(to, room, "%s", path) < room;
}

static const char *last_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Cuts off the last component. False: nothing would be left. */
static bool go_up(char *path) {
  char *slash = strrchr(path, '/');
  if (!slash || slash == path)
    return false;
  *slash = 0;
  return true;
}

/* PREFIX/bin/python3.12 to PREFIX. */
static bool cut_python(char *path) {
  const char *name = last_of(path);
  bool python = !strncmp(name, "python", 6) || !strncmp(name, "pypy", 4);
  return python && go_up(path) && !strcmp(last_of(path), "bin") && go_up(path);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

bool rs_prefix_program(char *prefix, size_t room) {
  ssize_t length = readlink("/proc/self/exe", prefix, room - 1);
  if (length <= 0 || (size_t)length >= room - 1)
    return false;
  prefix[length] = 0;
  return cut_python(prefix);
}

bool rs_prefix_conda(char *prefix, size_t room) {
  char mark[PATH_MAX];
  return rs_prefix_program(prefix, room) &&
         (size_t)snprintf(mark, sizeof mark, "%s/conda-meta", prefix) < sizeof mark && access(mark, F_OK) == 0;
}

static bool is_program(const char *path) {
  struct stat named, runs;
  return stat(path, &named) == 0 && stat("/proc/self/exe", &runs) == 0 && named.st_dev == runs.st_dev &&
         named.st_ino == runs.st_ino;
}

/* Open, and a regular file; a FIFO must not make us wait. */
static int open_config(const char *prefix) {
  char path[PATH_MAX];
  struct stat status;
  if ((size_t)snprintf(path, sizeof path, "%s/pyvenv.cfg", prefix) >= sizeof path)
    return -1;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
    close(fd);
    return -1;
  }
  return fd;
}

static bool is_environment(const char *prefix) {
  int fd = open_config(prefix);
  if (fd >= 0)
    close(fd);
  return fd >= 0;
}

/* With the directory as an absolute path. */
static bool make_absolute(char *path, size_t room, const char *name) {
  char dir[PATH_MAX];
  if (*name == '/')
    return copy(path, room, name);
  if ((size_t)snprintf(dir, sizeof dir, "./%s", name) >= sizeof dir || !go_up(dir))
    return false;
  char *absolute = realpath(dir, NULL);
  bool good = absolute && (size_t)snprintf(path, room, "%s/%s", absolute, last_of(name)) < room;
  free(absolute);
  return good;
}

/* A relative name counts from a directory that may not be the current one any more: is_program tells. */
static bool called_as(const char *name, char *prefix, size_t room) {
  return name && strchr(name, '/') && is_program(name) && make_absolute(prefix, room, name) && cut_python(prefix) &&
         is_environment(prefix);
}

bool rs_prefix_called(char *prefix, size_t room) {
  if (getauxval(AT_SECURE)) /* who calls it has fewer rights */
    return false;
  return called_as(program_invocation_name, prefix, room) ||
         called_as((const char *)getauxval(AT_EXECFN), prefix, room);
}

/* ---- this library ------------------------------------------------------------------------------------------------ */

bool rs_prefix_library(char *prefix, size_t room) {
  return rs_library_own_path(prefix, room) && go_up(prefix);
}

bool rs_prefix_packages(char *prefix, size_t room) {
  for (bool more = rs_prefix_library(prefix, room); more; more = go_up(prefix))
    if (!strcmp(last_of(prefix), "site-packages") || !strcmp(last_of(prefix), "dist-packages"))
      return true;
  return false;
}

bool rs_prefix_environment(char *prefix, size_t room) {
  for (bool more = rs_prefix_library(prefix, room); more; more = go_up(prefix))
    if (is_environment(prefix))
      return true;
  return false;
}

/* ---- what an environment was made from --------------------------------------------------------------------------- */

/* The value of the line "home = /usr/bin", which Python writes first, cut off the text. */
static char *find_home(char *text) {
  for (char *line; (line = strsep(&text, "\r\n")) != NULL;) {
    line += strspn(line, " \t");
    if (strncmp(line, "home", 4) != 0)
      continue;
    line += 4 + strspn(line + 4, " \t");
    if (*line == '=')
      return line + 1 + strspn(line + 1, " \t");
  }
  return NULL;
}

static bool read_home(const char *environment, char *home, size_t room) {
  char text[PATH_MAX + 512];
  int fd = open_config(environment);
  if (fd < 0)
    return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length > 0 ? length : 0] = 0;
  const char *value = find_home(text);
  return value && *value == '/' && copy(home, room, value);
}

/* HOME is the directory of the Python. */
bool rs_prefix_base(char *prefix, size_t room) {
  rs_prefix *const environments[] = {rs_prefix_environment, rs_prefix_called, rs_prefix_program};
  for (int i = 0; i < 3; i++) {
    char environment[PATH_MAX];
    if (environments[i](environment, sizeof environment) && read_home(environment, prefix, room))
      return !strcmp(last_of(prefix), "bin") && go_up(prefix);
  }
  return false;
}
