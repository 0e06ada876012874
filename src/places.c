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

/* The directory that was read last: patterns beside each other often begin in the same one. */
typedef struct listing {
  char *dir;
  struct dirent **names; /* the newest version last */
  int count;
} listing;

typedef struct finder {
  rs_places *places;
  listing last;
} finder;

static bool is_known(const rs_places *places, const struct stat *status) {
  for (int i = 0; i < places->count; i++)
    if (places->place[i].device == status->st_dev && places->place[i].file == status->st_ino)
      return true;
  return false;
}

static bool add(finder *find, const char *dir) {
  struct stat status;
  rs_places *places = find->places;
  if (stat(dir, &status) != 0 || !S_ISDIR(status.st_mode) || is_known(places, &status))
    return true;
  rs_place *more = realloc(places->place, (size_t)(places->count + 1) * sizeof *more);
  if (!more)
    return false;
  places->place = more;
  rs_place *place = &more[places->count];
  place->dir = strdup(dir);
  if (!place->dir)
    return false;
  place->device = status.st_dev;
  place->file = status.st_ino;
  places->count++;
  return true;
}

static void forget(listing *last) {
  for (int i = 0; i < last->count; i++)
    free(last->names[i]);
  free(last->names);
  free(last->dir);
  *last = (listing){0};
}

/* A directory that can't be read has no names. */
static bool list(listing *last, const char *dir) {
  if (last->dir && strcmp(last->dir, dir) == 0)
    return true;
  forget(last);
  int count = scandir(dir, &last->names, NULL, versionsort);
  if (count < 0) {
    last->names = NULL;
    return errno != ENOMEM;
  }
  last->count = count;
  last->dir = strdup(dir);
  return last->dir != NULL;
}

/* The names in a directory that match, the newest version first. */
static bool add_matches(finder *find, const char *dir, const char *pattern, const char *rest) {
  if (!list(&find->last, dir))
    return false;
  bool good = true;
  for (int i = find->last.count; good && i-- > 0;) {
    const char *name = find->last.names[i]->d_name;
    if (fnmatch(pattern, name, FNM_PERIOD) != 0)
      continue;
    rs_text path = {0};
    rs_text_add(&path, "%s/%s%s", dir, name, rest);
    good = !path.failed && add(find, path.data);
    rs_text_free(&path);
  }
  return good;
}

/* Cuts PATH/pattern/rest, whose pattern has the star, into three. */
static bool add_starred(finder *find, char *path, char *star) {
  char *slash = memrchr(path, '/', (size_t)(star - path)), *rest = star + strcspn(star, "/");
  char *pattern = strndup(slash + 1, (size_t)(rest - slash - 1));
  *slash = 0;
  bool good = pattern && add_matches(find, path, pattern, rest);
  free(pattern);
  return good;
}

/* `below` may hold one star, "/targets/x*y/lib". (glob would do, but glibc's crashes when memory runs out.) */
static bool add_pattern(finder *find, const char *prefix, const char *below) {
  rs_text path = {0};
  rs_text_add(&path, "%s%s", prefix, below);
  char *star = path.failed ? NULL : strchr(path.data + strlen(prefix), '*');
  bool good = !path.failed && (star ? add_starred(find, path.data, star) : add(find, path.data));
  rs_text_free(&path);
  return good;
}

/* Relative prefixes, which mean another directory after a chdir, are passed over. */
static bool add_below(finder *find, const char *prefix, const char *const *below) {
  if (*prefix && *prefix != '/')
    return true;
  for (; *below; below++)
    if (!add_pattern(find, prefix, *below))
      return false;
  return true;
}

static bool add_below_variable(finder *find, const char *variable, const char *const *below) {
  const char *prefix = secure_getenv(variable);
  return !prefix || !*prefix || add_below(find, prefix, below);
}

/* Of the dynamic linker's, which parts it at semicolons too. */
static bool add_list(finder *find, const char *list) {
  while (list && *list) {
    size_t length = strcspn(list, ":;");
    char *dir = strndup(list, length);
    bool good = dir && (*dir != '/' || add(find, dir));
    free(dir);
    if (!good)
      return false;
    list += length + (list[length] != 0);
  }
  return true;
}

/* The prefix of the program that runs, which may be a Python interpreter with wheels of its own: PREFIX/bin/python3. */
static bool add_below_program(finder *find) {
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
  return !*path || add_below(find, path, below_python);
}

static bool find_all(finder *find) {
  return add_list(find, secure_getenv("LD_LIBRARY_PATH")) && add_below_variable(find, "VIRTUAL_ENV", below_python) &&
         add_below_variable(find, "CONDA_PREFIX", below_conda) && add_below_program(find) &&
         add_below_variable(find, "HOME", below_home) && add_below(find, "", below_root) &&
         add_below_variable(find, "CUDA_HOME", below_toolkit) && add_below_variable(find, "CUDA_PATH", below_toolkit) &&
         add_below(find, ROWSCAN_CUDA_DIR, below_toolkit) && add_below(find, "", below_system);
}

bool rs_places_find(rs_places *places) {
  finder find = {.places = places};
  bool good = find_all(&find);
  forget(&find.last);
  return good;
}

void rs_places_free(rs_places *places) {
  for (int i = 0; i < places->count; i++)
    free(places->place[i].dir);
  free(places->place);
  *places = (rs_places){0};
}
