/*
 * nvrtc.c - the compiler: where it is, and its table
 * SPDX-License-Identifier: MIT
 *
 * Candidates are the files of the right names in all places, best first; then the bare names, which only the dynamic
 * linker can resolve and which therefore are loaded to be looked at; then what the process has loaded under any name.
 * The search stops at one that can be used, and goes on from there if that one is of no use after all. NVRTC needs a
 * library of builtins, which it loads when it compiles: a candidate without one beside it is taken only where there is
 * no other.
 */
#include "nvrtc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/library.h"
#include "buildid.h"
#include "digest.h"
#include "places.h"
#include "spec/arch.h"
#include "trust.h"

typedef struct candidate {
  struct candidate *next; /* the one before it */
  char *name;             /* a path, or a bare name for the dynamic linker */
  const char *path;
  int major; /* as the name tells; 0: it does not */
  bool lone; /* put off until there is no other, for its builtins are not beside it */
  bool loaded;
  rs_nvrtc_calls calls; /* once it is; who has them may use them whatever is found after this */
  char id[RS_BUILDID_ROOM];
} candidate;

static const struct {
  const char *name;
  int major;
} sonames[] = {{"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {"libnvrtc.so.11.2", 11}};
enum { SONAMES = sizeof sonames / sizeof *sonames };

struct rs_nvrtc {
  char *asked;          /* the only name to try, or NULL */
  const char *asked_by; /* whose wish that was */
  const char *names[SONAMES];
  int name_count;
  rs_log log;
  bool alone;           /* there is one candidate: the file that was named, or a table */
  pthread_mutex_t lock; /* of all that follows */
  rs_places places;
  int name, place;            /* what is looked for next, and where */
  bool bare;                  /* nowhere: the name itself is the next candidate */
  bool starved;               /* the last search ran out of memory */
  candidate *tried_last, *at; /* all that there were; the one that is found, NULL: none yet */
  rs_text tried;
};

static const rs_symbol symbols[] = {
#define X(symbol, parameters) {#symbol, offsetof(rs_nvrtc_calls, symbol)},
    RS_NVRTC_CALLS(X)
#undef X
        {"nvrtcGetErrorString", offsetof(rs_nvrtc_calls, nvrtcGetErrorString)}};

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static rs_nvrtc *create_nvrtc(void) {
  rs_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);
  if (nvrtc && pthread_mutex_init(&nvrtc->lock, NULL) != 0) {
    free(nvrtc);
    return NULL;
  }
  return nvrtc;
}

static void begin_search(rs_nvrtc *nvrtc) {
  nvrtc->name = nvrtc->place = 0;
  nvrtc->bare = nvrtc->alone;
}

/* Newest first, but those that the driver may be too old for last. */
static void name_all(rs_nvrtc *nvrtc, int driver) {
  nvrtc->name_count = 0;
  for (int too_new = 0; too_new < 2; too_new++)
    for (int i = 0; i < SONAMES; i++)
      if ((driver > 0 && sonames[i].major > driver / 1000) == too_new)
        nvrtc->names[nvrtc->name_count++] = sonames[i].name;
}

rs_nvrtc *rs_nvrtc_open(const char *name, const rs_log *log) {
  rs_nvrtc *nvrtc = create_nvrtc();
  if (!nvrtc)
    return NULL;
  if (log)
    nvrtc->log = *log;
  nvrtc->asked_by = "the program's options";
  if (!name || !*name) {
    name = secure_getenv("ROWSCAN_NVRTC");
    nvrtc->asked_by = "ROWSCAN_NVRTC";
  }
  if (!name || !*name) {
    name_all(nvrtc, 0);
    return nvrtc;
  }
  nvrtc->asked = strdup(name);
  if (!nvrtc->asked) {
    rs_nvrtc_close(nvrtc);
    return NULL;
  }
  nvrtc->names[nvrtc->name_count++] = nvrtc->asked;
  nvrtc->alone = strchr(nvrtc->asked, '/') != NULL;
  begin_search(nvrtc);
  return nvrtc;
}

void rs_nvrtc_prefer(rs_nvrtc *nvrtc, int driver) {
  if (!nvrtc->asked)
    name_all(nvrtc, driver);
}

rs_nvrtc *rs_nvrtc_from_table(const rs_nvrtc_calls *calls, const char *id) {
  rs_nvrtc *nvrtc = create_nvrtc();
  if (!nvrtc)
    return NULL;
  candidate *one = calloc(1, sizeof *one);
  if (!one) {
    rs_nvrtc_close(nvrtc);
    return NULL;
  }
  snprintf(one->id, sizeof one->id, "%s", id);
  one->path = "(a table)";
  nvrtc->tried_last = nvrtc->at = one;
  nvrtc->alone = true;
  one->calls = *calls;
  one->loaded = true;
  return nvrtc;
}

void rs_nvrtc_close(rs_nvrtc *nvrtc) {
  if (!nvrtc)
    return;
  while (nvrtc->tried_last) {
    candidate *one = nvrtc->tried_last;
    nvrtc->tried_last = one->next;
    free(one->name);
    free(one);
  }
  rs_places_free(&nvrtc->places);
  rs_text_free(&nvrtc->tried);
  pthread_mutex_destroy(&nvrtc->lock);
  free(nvrtc->asked);
  free(nvrtc);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static bool may_be_opened(rs_nvrtc *nvrtc, const rs_place *place, const char *path) {
  rs_text why = {0};
  bool good = place->named || rs_trusts(path, &why);
  if (!good)
    rs_text_add(&nvrtc->tried, "  %s: not opened: %s\n", path, why.data ? why.data : "out of memory");
  rs_text_free(&why);
  return good;
}

/* The file of the name in the next place that has one, to be freed; *path is NULL if there is none left. False: out of
 * memory, and the search can go on from there; so in what follows. */
static bool next_file(rs_nvrtc *nvrtc, char **path) {
  const rs_place *place;
  *path = NULL;
  for (; rs_places_get(&nvrtc->places, nvrtc->place, &place); nvrtc->place++) {
    if (!place)
      return true;
    rs_text text = {0};
    rs_text_add(&text, "%s/%s", place->dir, nvrtc->names[nvrtc->name]);
    if (text.failed)
      return false;
    if (access(text.data, F_OK) == 0 && may_be_opened(nvrtc, place, text.data)) {
      nvrtc->place++;
      *path = text.data;
      return true;
    }
    rs_text_free(&text);
  }
  return false;
}

/* A name with a slash is a file, which is to stay the same one after a chdir. */
static char *bare_name(const char *name) {
  char *path = *name != '/' && strchr(name, '/') ? realpath(name, NULL) : NULL;
  return path ? path : strdup(name);
}

/* Under whatever name its owner has it, and not tried yet. */
static bool is_another(void *user, const char *path) {
  const rs_nvrtc *nvrtc = user;
  const char *name = strrchr(path, '/') + 1;
  if (strncmp(name, "libnvrtc", 8) != 0 || !strncmp(name, "libnvrtc-builtins", 17) || !strstr(name, ".so"))
    return false;
  for (const candidate *one = nvrtc->tried_last; one; one = one->next)
    if ((one->path && !strcmp(one->path, path)) || !strcmp(one->name, path))
      return false;
  return true;
}

/* The name of the next candidate, to be freed; *name is NULL if there are no more. */
static bool next_name(rs_nvrtc *nvrtc, char **name) {
  while (!nvrtc->bare) {
    if (!next_file(nvrtc, name))
      return false;
    if (*name)
      return true;
    nvrtc->place = 0;
    if (++nvrtc->name == nvrtc->name_count) {
      nvrtc->bare = true;
      nvrtc->name = 0;
    }
  }
  if (nvrtc->name == nvrtc->name_count) {
    *name = nvrtc->asked || nvrtc->alone ? NULL : rs_library_loaded(is_another, nvrtc);
    return true;
  }
  *name = bare_name(nvrtc->names[nvrtc->name]);
  nvrtc->name += *name != NULL;
  return *name != NULL;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool is_regular(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* A FIFO must not make us wait. */
static bool identify(rs_nvrtc *nvrtc, candidate *one) {
  int fd = open(one->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    rs_text_add(&nvrtc->tried, "  %s: %s\n", one->path, strerror(errno));
    return false;
  }
  const char *wrong = is_regular(fd) ? rs_buildid_read(fd, one->id) : "not a regular file";
  if (!wrong && !*one->id) {
    char digest[RS_DIGEST_ROOM];
    if (rs_digest_file(digest, fd))
      snprintf(one->id, sizeof one->id, "xxh3-%s", digest);
    else
      wrong = "cannot be read";
  }
  if (wrong)
    rs_text_add(&nvrtc->tried, "  %s: %s\n", one->path, wrong);
  close(fd);
  return !wrong;
}

static bool load_one(rs_nvrtc *nvrtc, candidate *one) {
  void *library = rs_library_load(one->name, symbols, sizeof symbols / sizeof *symbols, &one->calls, &nvrtc->tried);
  if (!library)
    return false;
  int major = 0, minor = 0;
  if (one->calls.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) {
    rs_text_add(&nvrtc->tried, "  %s: does not report its version\n", one->name);
    return false;
  }
  one->calls.version = 1000 * major + 10 * minor;
  if (!one->path)
    one->path = rs_library_path(library);
  return one->loaded = true;
}

static int major_in(const char *path) {
  const char *slash = strrchr(path, '/'), *name = strstr(slash ? slash : path, "nvrtc");
  const char *digits = name ? strstr(name, ".so.") : NULL;
  return digits ? atoi(digits + 4) : 0;
}

/* By its file's name, or the one that links lead to: libnvrtc.so.12.9.86. */
static int major_of(const char *path) {
  int major = major_in(path);
  char *real = major ? NULL : realpath(path, NULL);
  if (real)
    major = major_in(real);
  free(real);
  return major;
}

static bool examine(rs_nvrtc *nvrtc, candidate *one) {
  if (strchr(one->name, '/'))
    one->path = one->name;
  else if (!load_one(nvrtc, one))
    return false;
  bool good = one->path && identify(nvrtc, one);
  if (good)
    one->major = major_of(one->path);
  return good;
}

/* Whether a directory has libnvrtc-builtins.so.13.0, or another of a major version (0: any that is served). */
static bool has_builtins(const char *dir, int major) {
  enum { MINORS = 16 };
  for (int i = 0; i < SONAMES; i++)
    for (int minor = 0; minor < MINORS && (!major || major == sonames[i].major); minor++) {
      char path[PATH_MAX];
      snprintf(path, sizeof path, "%s/libnvrtc-builtins.so.%d.%d", dir, sonames[i].major, minor);
      if (access(path, F_OK) == 0)
        return true;
    }
  return false;
}

/* Beside its name, or beside the file that links lead to. */
static bool is_whole(const candidate *one) {
  char *real = realpath(one->path, NULL), *named = strdup(one->path);
  char *const paths[] = {named, real};
  bool whole = false;
  for (int i = 0; i < 2; i++) {
    char *slash = paths[i] ? strrchr(paths[i], '/') : NULL;
    if (slash) {
      *slash = 0;
      whole = whole || has_builtins(paths[i], one->major);
    }
  }
  free(real);
  free(named);
  return whole;
}

static rowscan_status fail_unfound(const rs_nvrtc *nvrtc) {
  rs_text message = {0};
  if (nvrtc->asked)
    rs_text_add(&message, "NVRTC was not found: %s names %s", nvrtc->asked_by, nvrtc->asked);
  else
    rs_text_add(&message, "NVRTC was not found: install the CUDA toolkit or the wheel nvidia-cuda-nvrtc, or set "
                          "ROWSCAN_NVRTC to its file");
  rs_text_add(&message, "; tried:\n%s", nvrtc->tried.data ? nvrtc->tried.data : "");
  for (int i = 0; i < nvrtc->places.count; i++)
    rs_text_add(&message, "%s  %s\n", i ? "" : "directories searched:\n", nvrtc->places.place[i].dir);
  rowscan_status status =
      rs_fail_lines(ROWSCAN_NO_COMPILER, "%s", message.failed ? "NVRTC was not found" : message.data);
  rs_text_free(&message);
  return status;
}

/* Without success. A message that is not whole is of no use: all is looked at once more when somebody asks again. */
static bool end_search(rs_nvrtc *nvrtc) {
  if (nvrtc->tried.failed) {
    nvrtc->starved = true;
    rs_text_free(&nvrtc->tried);
    begin_search(nvrtc);
  }
  return false;
}

/* The first of those that were put off; NULL: there are none. */
static candidate *take_lone(rs_nvrtc *nvrtc) {
  candidate *first = NULL;
  for (candidate *one = nvrtc->tried_last; one; one = one->next)
    if (one->lone)
      first = one;
  if (first)
    first->lone = false;
  return first;
}

/* What follows is called with the lock held. Leaves the last error alone if it can. */
static bool find_candidate(rs_nvrtc *nvrtc) {
  nvrtc->starved = false;
  while (!nvrtc->at) {
    candidate *one = calloc(1, sizeof *one);
    nvrtc->starved = !one || !next_name(nvrtc, &one->name);
    if (nvrtc->starved || !one->name) {
      free(one);
      nvrtc->at = nvrtc->starved ? NULL : take_lone(nvrtc);
      return nvrtc->at || end_search(nvrtc);
    }
    one->next = nvrtc->tried_last;
    nvrtc->tried_last = one;
    if (!examine(nvrtc, one))
      continue;
    one->lone = !is_whole(one);
    if (!one->lone)
      nvrtc->at = one;
  }
  return true;
}

static bool load(rs_nvrtc *nvrtc) {
  while (find_candidate(nvrtc)) {
    if (nvrtc->at->loaded || load_one(nvrtc, nvrtc->at))
      return true;
    nvrtc->at = NULL;
  }
  return false;
}

static int version_of(const candidate *one) {
  return one && one->loaded ? one->calls.version : 0;
}

static rowscan_status why_not(const rs_nvrtc *nvrtc) {
  return nvrtc->starved ? rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory while looking for NVRTC") : fail_unfound(nvrtc);
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static atomic_int inside; /* threads that compile */
static atomic_bool torn;  /* this process was forked while some did */

static void look_after_fork(void) {
  if (atomic_exchange(&inside, 0))
    torn = true;
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, look_after_fork);
}

void rs_nvrtc_enter(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  atomic_fetch_add(&inside, 1);
}

void rs_nvrtc_leave(void) {
  atomic_fetch_sub(&inside, 1);
}

static rowscan_status check_whole(void) {
  return torn ? rs_fail(ROWSCAN_NO_COMPILER,
                        "NVRTC cannot be used: this process was forked while its parent compiled a kernel and held "
                        "locks of NVRTC; fork before it compiles, or start another program (exec)")
              : ROWSCAN_OK;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* The one that there is, which the first call looks for; NULL: none, and *status says why, unless it is NULL. */
static const candidate *found(rs_nvrtc *nvrtc, rowscan_status *status) {
  double start = rs_now_ms();
  pthread_mutex_lock(&nvrtc->lock);
  bool before = nvrtc->at != NULL;
  const candidate *one = find_candidate(nvrtc) ? nvrtc->at : NULL;
  if (status)
    *status = one ? ROWSCAN_OK : why_not(nvrtc);
  pthread_mutex_unlock(&nvrtc->lock);
  if (one && !before)
    rs_log_write(&nvrtc->log, ROWSCAN_LOG_DEBUG, "found %s in %.2f ms, build-id %s", one->path, rs_now_ms() - start,
                 one->id);
  return one;
}

rowscan_status rs_nvrtc_id(rs_nvrtc *nvrtc, const char **id) {
  rowscan_status status;
  const candidate *one = found(nvrtc, &status);
  if (one)
    *id = one->id;
  return status;
}

rowscan_status rs_nvrtc_load(rs_nvrtc *nvrtc, const rs_nvrtc_calls **calls) {
  rowscan_status status = check_whole();
  if (status)
    return status;
  pthread_mutex_lock(&nvrtc->lock);
  double start = rs_now_ms();
  bool before = nvrtc->at && nvrtc->at->loaded;
  if (load(nvrtc))
    *calls = &nvrtc->at->calls;
  else
    status = why_not(nvrtc);
  bool now = !status && !before;
  pthread_mutex_unlock(&nvrtc->lock);
  char text[512];
  if (now)
    rs_log_write(&nvrtc->log, ROWSCAN_LOG_INFO, "loaded %s in %.2f ms", rs_nvrtc_describe(nvrtc, text, sizeof text),
                 rs_now_ms() - start);
  return status;
}

bool rs_nvrtc_next(rs_nvrtc *nvrtc, const rs_nvrtc_calls *calls) {
  if (nvrtc->alone)
    return false;
  pthread_mutex_lock(&nvrtc->lock);
  if (nvrtc->at && &nvrtc->at->calls == calls) { /* else another thread was here before */
    rs_text_add(&nvrtc->tried, "  %s: its libnvrtc-builtins is missing\n", nvrtc->at->path);
    nvrtc->at = NULL;
  }
  bool another = load(nvrtc);
  pthread_mutex_unlock(&nvrtc->lock);
  return another;
}

const char *rs_nvrtc_path(rs_nvrtc *nvrtc) {
  const candidate *one = found(nvrtc, NULL);
  return one ? one->path : "";
}

int rs_nvrtc_major(rs_nvrtc *nvrtc) {
  const candidate *one = found(nvrtc, NULL);
  pthread_mutex_lock(&nvrtc->lock);
  int version = version_of(nvrtc->at);
  pthread_mutex_unlock(&nvrtc->lock);
  return version ? version / 1000 : one ? one->major : 0;
}

const char *rs_nvrtc_describe(rs_nvrtc *nvrtc, char *text, size_t room) {
  const char *path = rs_nvrtc_path(nvrtc);
  pthread_mutex_lock(&nvrtc->lock);
  int version = version_of(nvrtc->at);
  pthread_mutex_unlock(&nvrtc->lock);
  if (version)
    snprintf(text, room, "NVRTC %d.%d (%s)", version / 1000, version % 1000 / 10, path);
  else
    snprintf(text, room, "NVRTC (%s)", path);
  return text;
}

rowscan_status rs_nvrtc_failed(rs_nvrtc *nvrtc, const rs_nvrtc_calls *calls, nvrtcResult result, const char *call) {
  char text[512];
  const char *error = calls->nvrtcGetErrorString(result);
  rs_nvrtc_describe(nvrtc, text, sizeof text);
  if (result == NVRTC_ERROR_OUT_OF_MEMORY)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "%s: %s failed: out of memory", text, call);
  return rs_fail(ROWSCAN_NO_COMPILER, "%s: %s failed: %s (%d)", text, call, error ? error : "unknown error", result);
}

/* Those that rowscan serves. */
static rowscan_status copy_archs(int *archs, int *count, const int *all, int known) {
  int first = 0; /* they ascend */
  while (first < known && all[first] < RS_OLDEST_ARCH)
    first++;
  int served = known - first;
  if (served > *count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "argument 'count': %d is less than the number of architectures, %d", *count,
                   served);
  memcpy(archs, all + first, (size_t)served * sizeof *archs);
  *count = served;
  return ROWSCAN_OK;
}

rowscan_status rs_nvrtc_archs(rs_nvrtc *nvrtc, int *archs, int *count) {
  const rs_nvrtc_calls *calls;
  rowscan_status status = rs_nvrtc_load(nvrtc, &calls);
  if (status != ROWSCAN_OK)
    return status;
  int known = 0;
  nvrtcResult result = calls->nvrtcGetNumSupportedArchs(&known);
  if (result != NVRTC_SUCCESS)
    return rs_nvrtc_failed(nvrtc, calls, result, "nvrtcGetNumSupportedArchs");
  int *all = calloc((size_t)known + 1, sizeof *all);
  if (!all)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory for %d architectures", known);
  result = calls->nvrtcGetSupportedArchs(all);
  status = result == NVRTC_SUCCESS ? copy_archs(archs, count, all, known)
                                   : rs_nvrtc_failed(nvrtc, calls, result, "nvrtcGetSupportedArchs");
  free(all);
  return status;
}
