/*
 * session.c - a context of the library, as the options and the environment want it
 * SPDX-License-Identifier: MIT
 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "progress.h"
#include "say.h"

/* What the library only logs its user may want to hear of: a cache that can't be used, a variable misspelt. */
static void warn(void *user, rowscan_log_level level, const char *message) {
  (void)user;
  if (level != ROWSCAN_LOG_WARNING)
    return;
  flockfile(stderr);
  progress_end();
  say_note("%s", message);
  funlockfile(stderr);
}

/* Who asks for the log has these in it; on the host no kernels are needed, nor their cache, unless to look at them. */
static bool wants_warnings(const cli_session *session) {
  const char *log = getenv("ROWSCAN_LOG");
  return (!log || !*log) && (session->kernels || session->engine != ROWSCAN_ENGINE_HOST);
}

int session_open(rowscan_context **context, const cli_session *session) {
  rowscan_options options = {
      .size = sizeof options,
      .engine = session->engine,
      .device = session->device < 0 ? 0 : session->device,
      .threads = session->threads,
      .cache_limit = session->cache_limit,
      .progress = session->progress,
      .log = wants_warnings(session) ? warn : NULL,
  };
  if (session->device >= 0 && session->engine == ROWSCAN_ENGINE_HOST)
    return say_usage("--device: %d is the number of a GPU, but --engine is host", session->device);
  if (session->device >= 0)
    options.engine = ROWSCAN_ENGINE_CUDA;
  rowscan_status status = rowscan_open(context, &options);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(NULL, status);
}

int session_check_cache(const char *path) {
  const char *asked = getenv("ROWSCAN_CACHE_DIR");
  struct stat there, here;
  if (!asked || !*asked || !*path)
    return EXIT_OK;
  if (!stat(asked, &there) && !stat(path, &here) && there.st_dev == here.st_dev && there.st_ino == here.st_ino)
    return EXIT_OK;
  return say_failed("ROWSCAN_CACHE_DIR=%s cannot be used, and the cache in %s is another", asked, path);
}

const char *session_engine_name(const rowscan_context *context) {
  return rowscan_context_engine(context) == ROWSCAN_ENGINE_CUDA ? "cuda" : "host";
}
