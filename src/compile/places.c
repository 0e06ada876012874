/*
 * places.c - the directories where NVRTC may lie
 * SPDX-License-Identifier: MIT
 *
 * Libraries are looked for as files, where the dynamic linker and the usual installers put them, because asking the
 * linker would load them. Each process with a filled cache does so before its first launch: hence one place after the
 * other, as far as it takes, and not more system calls than that.
 */
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/text.h"
#include "prefixes.h"

#ifndef ROWSCAN_CUDA_DIR
#define ROWSCAN_CUDA_DIR "/usr/local/cuda"
#endif

/* Below an installation prefix: where NVIDIA's wheels for CUDA 13, and those for each CUDA before, put the library. */
#define WHEELS(packages) packages "/nvidia/cu13/lib", packages "/nvidia/cuda_nvrtc/lib"
static const char *const below_python[] = {WHEELS("/lib/python3*/site-packages"), NULL};
static const char *const below_conda[] = {"/lib", WHEELS("/lib/python3*/site-packages"), NULL};
static const char *const below_packages[] = {WHEELS(""), NULL};
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

static const char *const below_library[] = {"", NULL};

/*
 * What can be a prefix, in order. Relative ones, which mean another directory after a chdir, are passed over. Who sets
 * a variable that is for this has said whom to trust; HOME is another user's under sudo.
 */
static const struct {
  const char *variable; /* NULL: none */
  rs_prefix *find;      /* without a variable; NULL: `constant` is it */
  const char *constant;
  const char *const *below; /* patterns; NULL: the variable lists directories */
  bool named;
} sources[] = {
    {"LD_LIBRARY_PATH", NULL, NULL, NULL, true},
    {"VIRTUAL_ENV", NULL, NULL, below_python, true},
    {"CONDA_PREFIX", NULL, NULL, below_conda, true},
    {NULL, rs_prefix_packages, NULL, below_packages, false},
    {NULL, rs_prefix_environment, NULL, below_python, false},
    {NULL, rs_prefix_called, NULL, below_python, false},
    {NULL, rs_prefix_conda, NULL, below_conda, false},
    {NULL, rs_prefix_program, NULL, below_python, false},
    {NULL, rs_prefix_base, NULL, below_python, false},
    {"HOME", NULL, NULL, below_home, false},
    {NULL, NULL, "", below_root, false},
    {"CUDA_HOME", NULL, NULL, below_toolkit, true},
    {"CUDA_PATH", NULL, NULL, below_toolkit, true},
    {NULL, rs_prefix_library, NULL, below_library, false},
    {NULL, NULL, ROWSCAN_CUDA_DIR, below_toolkit, false},
    {NULL, NULL, "", below_system, false},
};
enum { SOURCES = sizeof sources / sizeof *sources };

/* ---- directories ------------------------------------------------------------------------------------------------- */

/* One that is named after all counts again. */
static bool is_known(const rs_places *places, const struct stat *status, bool named) {
  for (int i = 0; i < places->count; i++)
    if (places->place[i].device == status->st_dev && places->place[i].file == status->st_ino &&
        (places->place[i].named || !named))
      return true;
  return false;
}

static bool add(rs_places *places, const char *dir) {
  struct stat status;
  bool named = sources[places->source].named;
  if (stat(dir, &status) != 0 || !S_ISDIR(status.st_mode) || is_known(places, &status, named))
    return true;
  rs_place *more = realloc(places->place, (size_t)(places->count + 1) * sizeof *more);
  if (!more)
    return false;
  places->place = more;
  rs_place *place = &more[places->count];
  place->dir = strdup(dir);
  if (!place->dir)
    return false;
  place->named = named;
  place->device = status.st_dev;
  place->file = status.st_ino;
  places->count++;
  return true;
}

static void forget(rs_listing *last) {
  for (int i = 0; i < last->count; i++)
    free(last->names[i]);
  free(last->names);
  free(last->pattern);
  *last = (rs_listing){0};
}

/* For scandir, which hands nothing on. */
static _Thread_local const char *wanted;

static int is_wanted(const struct dirent *at) {
  return fnmatch(wanted, at->d_name, FNM_PERIOD) == 0;
}

/* Of a directory and a pattern for names in it, which `both` has with a slash between. One that can't be read has none.
 */
static bool list(rs_listing *last, const char *both, const char *dir, const char *pattern) {
  if (last->pattern && strcmp(last->pattern, both) == 0)
    return true;
  forget(last);
  wanted = pattern;
  last->count = scandir(dir, &last->names, is_wanted, versionsort);
  if (last->count < 0) {
    *last = (rs_listing){0};
    if (errno == ENOMEM)
      return false;
  }
  last->pattern = strdup(both);
  return last->pattern != NULL;
}

/* The newest version first. */
static bool add_matches(rs_places *places, const char *dir, const char *rest) {
  bool good = true;
  for (int i = places->last.count; good && i-- > 0;) {
    rs_text path = {0};
    rs_text_add(&path, "%s/%s%s", dir, places->last.names[i]->d_name, rest);
    good = !path.failed && add(places, path.data);
    rs_text_free(&path);
  }
  return good;
}

/* Cuts PATH/pattern/rest, whose pattern has the star, into three. */
static bool add_starred(rs_places *places, char *path, char *star) {
  char *slash = memrchr(path, '/', (size_t)(star - path)), *rest = star + strcspn(star, "/");
  char *both = strndup(path, (size_t)(rest - path));
  *slash = 0;
  bool good = both && list(&places->last, both, path, both + (slash + 1 - path)) && add_matches(places, path, rest);
  free(both);
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

/* ---- where they are ---------------------------------------------------------------------------------------------- */

/* False: there is none of this kind, or none that is a path. */
static bool find_prefix(int source, char *prefix, size_t room) {
  const char *text = sources[source].constant;
  if (sources[source].find)
    return sources[source].find(prefix, room);
  if (sources[source].variable) {
    text = secure_getenv(sources[source].variable);
    if (!text || !*text)
      return false;
  }
  return (!*text || *text == '/') && (size_t)snprintf(prefix, room, "%s", text) < room;
}

/* Looks at the next list, or for the next pattern. False: out of memory, and the same one is next again. */
static bool look_further(rs_places *places) {
  const char *const *below = sources[places->source].below;
  if (!below) {
    if (!add_list(places, secure_getenv(sources[places->source].variable)))
      return false;
  } else if (places->below || find_prefix(places->source, places->prefix, sizeof places->prefix)) {
    if (!add_pattern(places, places->prefix, below[places->below]))
      return false;
    if (below[++places->below])
      return true;
  }
  places->source++;
  places->below = 0;
  return true;
}

bool rs_places_get(rs_places *places, int index, const rs_place **place) {
  *place = NULL;
  while (index >= places->count && places->source < SOURCES)
    if (!look_further(places))
      return false;
  if (index < places->count)
    *place = &places->place[index];
  return true;
}

void rs_places_free(rs_places *places) {
  forget(&places->last);
  for (int i = 0; i < places->count; i++)
    free(places->place[i].dir);
  free(places->place);
  *places = (rs_places){0};
}
