/*
 * session.c - a context of the library, as the options and the environment want it
 * SPDX-License-Identifier: MIT
 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Who asks for the log has them there. */
static bool has_log(void) {
  const char *log = getenv("ROWSCAN_LOG");
  return log && *log;
}

int session_open(rowscan_context **context, const cli_session *session) {
  rowscan_options options = {
      .size = sizeof options,
      .engine = session->engine,
      .device = session->device < 0 ? 0 : session->device,
      .threads = session->threads,
      .cache_limit = session->cache_limit,
      .progress = session->progress,
      .log = has_log() ? NULL : warn,
  };
  if (session->device >= 0 && session->engine == ROWSCAN_ENGINE_HOST)
    return say_usage("--device: %d is the number of a GPU, but --engine is host", session->device);
  if (session->device >= 0)
    options.engine = ROWSCAN_ENGINE_CUDA;
  rowscan_status status = rowscan_open(context, &options);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(NULL, status);
}

const char *session_engine_name(const rowscan_context *context) {
  return rowscan_context_engine(context) == ROWSCAN_ENGINE_CUDA ? "cuda" : "host";
}
