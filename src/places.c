/*
 * places.c - the directories where NVRTC may lie
 * SPDX-License-Identifier: MIT
 *
 * Libraries are looked for as files, where the dynamic linker and the usual installers put them, because asking the
 * linker would load them.
 */
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "text.h"

#ifndef ROWSCAN_CUDA_DIR
#define ROWSCAN_CUDA_DIR "/usr/local/cuda"
#endif

/* Below an installation prefix: where NVIDIA's wheels for CUDA 13, and those for each CUDA before, put the library. */
#define WHEELS(packages) packages "/nvidia/cu13/lib", packages "/nvidia/cuda_nvrtc/lib"
static const char *const below_python[] = {WHEELS("/lib/python3*/site-packages"), NULL};
static const char *const below_conda[] = {"/lib", WHEELS("/lib/python3*/site-packages"), NULL};
static const char *const below_home[] = {WHEELS("/.local/lib/python3*/site-packages"), NULL};
static const char *const below_toolkit[] = {"/lib64", "/targets/*/lib", "/lib", NULL};
static const char *const below_root[] = {
    WHEELS("/usr/local/lib/python3*/site-packages"), WHEELS("/usr/local/lib/python3*/dist-packages"),
    WHEELS("/usr/lib/python3*/site-packages"), WHEELS("/usr/lib/python3/dist-packages"), NULL};
static const char *const below_system[] = {"/usr/local/lib64",
                                           "/usr/local/lib",
                                           "/lib/*-linux-gnu",
                                           "/usr/lib/*-linux-gnu",
                                           "/lib64",
                                           "/usr/lib64",
                                           "/lib",
                                           "/usr/lib",
                                           NULL};

static bool is_known(const rs_places *places, const struct stat *status) {
  for (int i = 0; i < places->count; i++) {
    struct stat other;
    if (stat(places->dir[i], &other) == 0 && other.st_dev == status->st_dev && other.st_ino == status->st_ino)
      return true;
  }
  return false;
}

static bool add(rs_places *places, const char *dir) {
  struct stat status;
  if (stat(dir, &status) != 0 || !S_ISDIR(status.st_mode) || is_known(places, &status))
    return true;
  char **more = realloc(places->dir, (size_t)(places->count + 1) * sizeof *more);
  if (!more)
    return false;
  places->dir = more;
  char *copy = strdup(dir);
  if (!copy)
    return false;
  more[places->count++] = copy;
  return true;
}

/* The names in a directory that match, the newest version first. */
static bool add_matches(rs_places *places, const char *dir, const char *pattern, const char *rest) {
  struct dirent **names;
  int count = scandir(dir, &names, NULL, versionsort);
  if (count < 0)
    return errno != ENOMEM;
  bool good = true;
  while (count-- > 0) {
    if (good && fnmatch(pattern, names[count]->d_name, FNM_PERIOD) == 0) {
      rs_text path = {0};
      rs_text_add(&path, "%s/%s%s", dir, names[count]->d_name, rest);
      good = !path.failed && add(places, path.data);
      rs_text_free(&path);
    }
    free(names[count]);
  }
  free(names);
  return good;
}

/* Cuts PATH/pattern/rest, whose pattern has the star, into three. */
static bool add_starred(rs_places *places, char *path, char *star) {
  char *slash = memrchr(path, '/', (size_t)(star - path)), *rest = star + strcspn(star, "/");
  char *pattern = strndup(slash + 1, (size_t)(rest - slash - 1));
  *slash = 0;
  bool good = pattern && add_matches(places, path, pattern, rest);
  free(pattern);
  return good;
}

/* `below` may hold one star, "/targets/x*y/lib". (glob would do, but glibc's crashes when memory runs out.) */
static bool add_pattern(rs_places *places, const char *prefix, const char *below) {
  rs_text path = {0};
  rs_text_add(&path, "%s%s", prefix, below);
  char *star = path.failed ? NULL : strchr(path.data + strlen(prefix), '*');
  bool good = !path.failed && (star ? add_starred(places, path.data, star) : add(places, path.data));
  rs_text_free(&path);
  return good;
}

/* Relative prefixes, which mean another directory after a chdir, are passed over. */
static bool add_below(rs_places *places, const char *prefix, const char *const *below) {
  if (*prefix && *prefix != '/')
    return true;
  for (; *below; below++)
    if (!add_pattern(places, prefix, *below))
      return false;
  return true;
}

static bool add_below_variable(rs_places *places, const char *variable, const char *const *below) {
  const char *prefix = secure_getenv(variable);
  return !prefix || !*prefix || add_below(places, prefix, below);
}

/* Of the dynamic linker's, which parts it at semicolons too. */
static bool add_list(rs_places *places, const char *list) {
  while (list && *list) {
    size_t length = strcspn(list, ":;");
    char *dir = strndup(list, length);
    bool good = dir && (*dir != '/' || add(places, dir));
    free(dir);
    if (!good)
      return false;
    list += length + (list[length] != 0);
  }
  return true;
}

/* The prefix of the program that runs, which may be a Python interpreter with wheels of its own: PREFIX/bin/python3. */
static bool add_below_program(rs_places *places) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0)
    return true;
  path[length] = 0;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (!slash)
      return true;
    *slash = 0;
  }
  return !*path || add_below(places, path, below_python);
}

bool rs_places_find(rs_places *places) {
  return add_list(places, secure_getenv("LD_LIBRARY_PATH")) &&
         add_below_variable(places, "VIRTUAL_ENV", below_python) &&
         add_below_variable(places, "CONDA_PREFIX", below_conda) && add_below_program(places) &&
         add_below_variable(places, "HOME", below_home) && add_below(places, "", below_root) &&
         add_below_variable(places, "CUDA_HOME", below_toolkit) &&
         add_below_variable(places, "CUDA_PATH", below_toolkit) && add_below(places, ROWSCAN_CUDA_DIR, below_toolkit) &&
         add_below(places, "", below_system);
}

void rs_places_free(rs_places *places) {
  for (int i = 0; i < places->count; i++)
    free(places->dir[i]);
  free(places->dir);
  *places = (rs_places){0};
}
