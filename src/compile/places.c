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
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/library.h"
#include "base/text.h"

/* ---- installations that this process belongs to: of Python, and of this library ---------------------------------- */

/*
 * A virtual environment has bin/python, mostly a link to the Python that it was made from, and pyvenv.cfg beside bin.
 * No variable names one that was not activated (containers, services, cron), and the program that runs is the other
 * Python; what tells is the name that it was called by, which is an argument or what the system was given to run, and
 * where this library is. All of this is believed as far as trust.h says.
 */

/* Writes a directory without a slash at its end. False: there is none, or it does not fit. */
typedef bool prefix_finder(char *prefix, size_t room);

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

/* PREFIX, if the program that runs is PREFIX/bin/python3 or another Python. */
static bool prefix_program(char *prefix, size_t room) {
  ssize_t length = readlink("/proc/self/exe", prefix, room - 1);
  if (length <= 0 || (size_t)length >= room - 1)
    return false;
  prefix[length] = 0;
  return cut_python(prefix);
}

/* The same, if it is an environment of conda, which has libraries of its own. */
static bool prefix_conda(char *prefix, size_t room) {
  char mark[PATH_MAX];
  return prefix_program(prefix, room) && (size_t)snprintf(mark, sizeof mark, "%s/conda-meta", prefix) < sizeof mark &&
         access(mark, F_OK) == 0;
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

/* The same as the first by the name that it was called by: of a virtual environment, whose python is a link. */
static bool prefix_called(char *prefix, size_t room) {
  if (getauxval(AT_SECURE)) /* who calls it has fewer rights */
    return false;
  return called_as(program_invocation_name, prefix, room) ||
         called_as((const char *)getauxval(AT_EXECFN), prefix, room);
}

/* The directory that this library is in. */
static bool prefix_library(char *prefix, size_t room) {
  return rs_library_own_path(prefix, room) && go_up(prefix);
}

/* The site-packages or dist-packages directory that this library is in. */
static bool prefix_packages(char *prefix, size_t room) {
  for (bool more = prefix_library(prefix, room); more; more = go_up(prefix))
    if (!strcmp(last_of(prefix), "site-packages") || !strcmp(last_of(prefix), "dist-packages"))
      return true;
  return false;
}

/* Of a virtual environment that this library is in. */
static bool prefix_environment(char *prefix, size_t room) {
  for (bool more = prefix_library(prefix, room); more; more = go_up(prefix))
    if (is_environment(prefix))
      return true;
  return false;
}

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

/* Of the Python that one of these was made from, as its pyvenv.cfg says: HOME is the directory of the Python. */
static bool prefix_base(char *prefix, size_t room) {
  prefix_finder *const environments[] = {prefix_environment, prefix_called, prefix_program};
  for (int i = 0; i < 3; i++) {
    char environment[PATH_MAX];
    if (environments[i](environment, sizeof environment) && read_home(environment, prefix, room))
      return !strcmp(last_of(prefix), "bin") && go_up(prefix);
  }
  return false;
}

/* ---- where to look ----------------------------------------------------------------------------------------------- */

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
  prefix_finder *find;  /* without a variable; NULL: `constant` is it */
  const char *constant;
  const char *const *below; /* patterns; NULL: the variable lists directories */
  bool named;
} sources[] = {
    {"LD_LIBRARY_PATH", NULL, NULL, NULL, true},
    {"VIRTUAL_ENV", NULL, NULL, below_python, true},
    {"CONDA_PREFIX", NULL, NULL, below_conda, true},
    {NULL, prefix_packages, NULL, below_packages, false},
    {NULL, prefix_environment, NULL, below_python, false},
    {NULL, prefix_called, NULL, below_python, false},
    {NULL, prefix_conda, NULL, below_conda, false},
    {NULL, prefix_program, NULL, below_python, false},
    {NULL, prefix_base, NULL, below_python, false},
    {"HOME", NULL, NULL, below_home, false},
    {NULL, NULL, "", below_root, false},
    {"CUDA_HOME", NULL, NULL, below_toolkit, true},
    {"CUDA_PATH", NULL, NULL, below_toolkit, true},
    {NULL, prefix_library, NULL, below_library, false},
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
