/*
 * nvrtc.c - the compiler: where it is, and its table
 * SPDX-License-Identifier: MIT
 *
 * Candidates are the files of the right names in all places, best first, and at the end the bare names, which only the
 * dynamic linker can resolve and which therefore are loaded to be looked at. `at` moves on when one is of no use.
 */
#include "nvrtc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch.h"
#include "buildid.h"
#include "clock.h"
#include "digest.h"
#include "library.h"
#include "places.h"

typedef struct candidate {
  char *name; /* a path, or a bare name for the dynamic linker */
  const char *path;
  char id[RS_BUILDID_ROOM];
} candidate;

struct rs_nvrtc {
  char *asked;          /* the only name to try, or NULL */
  const char *asked_by; /* whose wish that was */
  int driver;
  rs_log log;
  pthread_mutex_t lock; /* of all that follows; the table doesn't change once `loaded` is set */
  bool listed, found, loaded;
  candidate *candidates;
  int count, at; /* candidates[at] is the one, if `found` is set */
  rs_text looked, tried;
  rs_nvrtc_calls calls;
};

static const struct {
  const char *name;
  int major;
} sonames[] = {{"libnvrtc.so.13", 13}, {"libnvrtc.so.12", 12}, {"libnvrtc.so.11.2", 11}};
enum { SONAMES = sizeof sonames / sizeof *sonames };

static const rs_symbol symbols[] = {
#define X(symbol, parameters) {#symbol, offsetof(rs_nvrtc_calls, symbol)},
    RS_NVRTC_CALLS(X)
#undef X
        {"nvrtcGetErrorString", offsetof(rs_nvrtc_calls, nvrtcGetErrorString)}};

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static rs_nvrtc *create(void) {
  rs_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);
  if (nvrtc && pthread_mutex_init(&nvrtc->lock, NULL) != 0) {
    free(nvrtc);
    return NULL;
  }
  return nvrtc;
}

rs_nvrtc *rs_nvrtc_open(const char *name, const rs_log *log) {
  rs_nvrtc *nvrtc = create();
  if (!nvrtc)
    return NULL;
  if (log)
    nvrtc->log = *log;
  nvrtc->asked_by = "the program's options";
  if (!name || !*name) {
    name = secure_getenv("ROWSCAN_NVRTC");
    nvrtc->asked_by = "ROWSCAN_NVRTC";
  }
  if (name && *name && !(nvrtc->asked = strdup(name))) {
    rs_nvrtc_close(nvrtc);
    return NULL;
  }
  return nvrtc;
}

void rs_nvrtc_prefer(rs_nvrtc *nvrtc, int driver) {
  nvrtc->driver = driver;
}

rs_nvrtc *rs_nvrtc_from_table(const rs_nvrtc_calls *calls, const char *id) {
  rs_nvrtc *nvrtc = create();
  if (!nvrtc)
    return NULL;
  nvrtc->candidates = calloc(1, sizeof *nvrtc->candidates);
  if (!nvrtc->candidates) {
    rs_nvrtc_close(nvrtc);
    return NULL;
  }
  snprintf(nvrtc->candidates->id, sizeof nvrtc->candidates->id, "%s", id);
  nvrtc->candidates->path = "(a table)";
  nvrtc->count = 1;
  nvrtc->calls = *calls;
  nvrtc->listed = nvrtc->found = nvrtc->loaded = true;
  return nvrtc;
}

static void forget_candidates(rs_nvrtc *nvrtc) {
  for (int i = 0; i < nvrtc->count; i++)
    free(nvrtc->candidates[i].name);
  free(nvrtc->candidates);
  nvrtc->candidates = NULL;
  nvrtc->count = 0;
  rs_text_free(&nvrtc->looked);
}

void rs_nvrtc_close(rs_nvrtc *nvrtc) {
  if (!nvrtc)
    return;
  forget_candidates(nvrtc);
  rs_text_free(&nvrtc->tried);
  pthread_mutex_destroy(&nvrtc->lock);
  free(nvrtc->asked);
  free(nvrtc);
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static bool add(rs_nvrtc *nvrtc, const char *dir, const char *name) {
  rs_text path = {0};
  rs_text_add(&path, "%s%s%s", dir, *dir ? "/" : "", name);
  candidate *more = path.failed ? NULL : realloc(nvrtc->candidates, (size_t)(nvrtc->count + 1) * sizeof *more);
  if (!more) {
    rs_text_free(&path);
    return false;
  }
  nvrtc->candidates = more;
  more[nvrtc->count++] = (candidate){.name = path.data};
  return true;
}

static bool add_in_places(rs_nvrtc *nvrtc, const rs_places *places, const char *name) {
  for (int i = 0; i < places->count; i++) {
    rs_text path = {0};
    rs_text_add(&path, "%s/%s", places->place[i].dir, name);
    bool good = !path.failed && (access(path.data, F_OK) != 0 || add(nvrtc, places->place[i].dir, name));
    rs_text_free(&path);
    if (!good)
      return false;
  }
  return true;
}

/* Newest first, but those that the driver may be too old for last. */
static bool add_sonames(rs_nvrtc *nvrtc, const rs_places *places) {
  for (int too_new = 0; too_new < 2; too_new++)
    for (int i = 0; i < SONAMES; i++)
      if ((nvrtc->driver > 0 && sonames[i].major > nvrtc->driver / 1000) == too_new)
        if (places ? !add_in_places(nvrtc, places, sonames[i].name) : !add(nvrtc, "", sonames[i].name))
          return false;
  return true;
}

static bool list_all(rs_nvrtc *nvrtc) {
  rs_places places = {0};
  bool good = rs_places_find(&places);
  for (int i = 0; good && i < places.count; i++)
    rs_text_add(&nvrtc->looked, "  %s\n", places.place[i].dir);
  if (nvrtc->asked)
    good = good && add_in_places(nvrtc, &places, nvrtc->asked) && add(nvrtc, "", nvrtc->asked);
  else
    good = good && add_sonames(nvrtc, &places) && add_sonames(nvrtc, NULL);
  rs_places_free(&places);
  return good && !nvrtc->looked.failed;
}

/* A name with a slash is a file, which is to stay the same one after a chdir. */
static bool list_file(rs_nvrtc *nvrtc) {
  char *path = *nvrtc->asked == '/' ? NULL : realpath(nvrtc->asked, NULL);
  bool good = add(nvrtc, "", path ? path : nvrtc->asked);
  free(path);
  return good;
}

static bool list(rs_nvrtc *nvrtc) {
  if (!nvrtc->listed)
    nvrtc->listed = nvrtc->asked && strchr(nvrtc->asked, '/') ? list_file(nvrtc) : list_all(nvrtc);
  if (!nvrtc->listed)
    forget_candidates(nvrtc);
  return nvrtc->listed;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static bool identify(rs_nvrtc *nvrtc, candidate *one) {
  int fd = open(one->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    rs_text_add(&nvrtc->tried, "  %s: %s\n", one->path, strerror(errno));
    return false;
  }
  const char *wrong = rs_buildid_read(fd, one->id);
  if (!wrong && !*one->id) {
    char digest[RS_DIGEST_ROOM];
    if (rs_digest_file(digest, fd))
      snprintf(one->id, sizeof one->id, "xxh3-%s", digest);
    else
      wrong = "can't be read";
  }
  if (wrong)
    rs_text_add(&nvrtc->tried, "  %s: %s\n", one->path, wrong);
  close(fd);
  return !wrong;
}

static bool load_one(rs_nvrtc *nvrtc, candidate *one) {
  void *library = rs_library_load(one->name, symbols, sizeof symbols / sizeof *symbols, &nvrtc->calls, &nvrtc->tried);
  if (!library)
    return false;
  int major = 0, minor = 0;
  if (nvrtc->calls.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) {
    rs_text_add(&nvrtc->tried, "  %s: does not tell its version\n", one->name);
    return false;
  }
  nvrtc->calls.version = 1000 * major + 10 * minor;
  if (!one->path)
    one->path = rs_library_path(library);
  return nvrtc->loaded = true;
}

static bool examine(rs_nvrtc *nvrtc, candidate *one) {
  if (strchr(one->name, '/'))
    one->path = one->name;
  else if (!load_one(nvrtc, one))
    return false;
  nvrtc->found = one->path && identify(nvrtc, one);
  nvrtc->loaded = nvrtc->loaded && nvrtc->found;
  return nvrtc->found;
}

static rowscan_status tell(const rs_nvrtc *nvrtc) {
  if (nvrtc->tried.failed)
    return rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory while looking for NVRTC");
  rs_text story = {0};
  if (nvrtc->asked)
    rs_text_add(&story, "no NVRTC: %s names %s", nvrtc->asked_by, nvrtc->asked);
  else
    rs_text_add(&story, "no NVRTC: it is part of the CUDA toolkit, and of the wheel nvidia-cuda-nvrtc; ROWSCAN_NVRTC "
                        "may name its file");
  rs_text_add(&story, "; tried:\n%s", nvrtc->tried.data ? nvrtc->tried.data : "");
  if (nvrtc->looked.data)
    rs_text_add(&story, "after looking for the file in:\n%s", nvrtc->looked.data);
  rowscan_status status = rs_fail(ROWSCAN_NO_COMPILER, "%s", story.failed ? "no NVRTC" : story.data);
  rs_text_free(&story);
  return status;
}

/* What follows is called with the lock held. Leaves the last error alone if it can. */
static bool find(rs_nvrtc *nvrtc) {
  if (!list(nvrtc))
    return false;
  while (!nvrtc->found && nvrtc->at < nvrtc->count)
    if (!examine(nvrtc, &nvrtc->candidates[nvrtc->at]))
      nvrtc->at++;
  return nvrtc->found;
}

static bool load(rs_nvrtc *nvrtc) {
  while (!nvrtc->loaded && find(nvrtc))
    if (!nvrtc->loaded && !load_one(nvrtc, &nvrtc->candidates[nvrtc->at])) {
      nvrtc->found = false;
      nvrtc->at++;
    }
  return nvrtc->loaded;
}

static rowscan_status why_not(const rs_nvrtc *nvrtc) {
  return nvrtc->listed ? tell(nvrtc) : rs_fail(ROWSCAN_OUT_OF_MEMORY, "out of memory while looking for NVRTC");
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* The one that there is, which the first call looks for; NULL: none, and *status says why, unless it is NULL. */
static const candidate *found(rs_nvrtc *nvrtc, rowscan_status *status) {
  double start = rs_now_ms();
  pthread_mutex_lock(&nvrtc->lock);
  bool before = nvrtc->found;
  const candidate *one = find(nvrtc) ? &nvrtc->candidates[nvrtc->at] : NULL;
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
  pthread_mutex_lock(&nvrtc->lock);
  rowscan_status status = ROWSCAN_OK;
  double start = rs_now_ms();
  bool before = nvrtc->loaded;
  if (load(nvrtc))
    *calls = &nvrtc->calls;
  else
    status = why_not(nvrtc);
  bool now = nvrtc->loaded && !before;
  pthread_mutex_unlock(&nvrtc->lock);
  char text[512];
  if (now)
    rs_log_write(&nvrtc->log, ROWSCAN_LOG_INFO, "loaded %s in %.2f ms", rs_nvrtc_describe(nvrtc, text, sizeof text),
                 rs_now_ms() - start);
  return status;
}

const char *rs_nvrtc_path(rs_nvrtc *nvrtc) {
  const candidate *one = found(nvrtc, NULL);
  return one ? one->path : "";
}

/* By its file's name, the one that links lead to: libnvrtc.so.12.9.86. */
static int major_of(const char *path) {
  char *real = path ? realpath(path, NULL) : NULL;
  const char *name = real ? strrchr(real, '/') : NULL, *digits = name ? strstr(name, ".so.") : NULL;
  int major = digits ? atoi(digits + 4) : 0;
  free(real);
  return major;
}

int rs_nvrtc_major(rs_nvrtc *nvrtc) {
  const candidate *one = found(nvrtc, NULL);
  pthread_mutex_lock(&nvrtc->lock);
  int version = nvrtc->loaded ? nvrtc->calls.version : 0;
  pthread_mutex_unlock(&nvrtc->lock);
  return version ? version / 1000 : one ? major_of(one->path) : 0;
}

const char *rs_nvrtc_describe(rs_nvrtc *nvrtc, char *text, size_t room) {
  const char *path = rs_nvrtc_path(nvrtc);
  pthread_mutex_lock(&nvrtc->lock);
  int version = nvrtc->loaded ? nvrtc->calls.version : 0;
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
  int served = 0;
  for (int i = 0; i < known; i++)
    if (all[i] >= RS_OLDEST_ARCH && served++ < *count)
      archs[served - 1] = all[i];
  if (served > *count)
    return rs_fail(ROWSCAN_BAD_ARGUMENT, "argument 'count': room for %d architectures, and there are %d", *count,
                   served);
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
