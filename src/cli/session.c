/*
 * session.c - a context of the library, as the options and the environment want it
 * SPDX-License-Identifier: MIT
 */
#include "session.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"

static const char *const levels[] = {
    [ROWSCAN_LOG_WARNING] = "warning", [ROWSCAN_LOG_INFO] = "info", [ROWSCAN_LOG_DEBUG] = "debug"};
enum { LEVELS = sizeof levels / sizeof *levels };

static int wanted_level; /* -1: silent */

static void print_log(void *user, rowscan_log_level level, const char *message) {
  (void)user;
  if ((int)level <= wanted_level)
    fprintf(stderr, "rowscan: %s: %s\n", levels[level], message);
}

static void read_level(void) {
  const char *name = getenv("ROWSCAN_LOG");
  wanted_level = LEVELS - 1;
  while (name && wanted_level >= 0 && strcmp(name, levels[wanted_level]))
    wanted_level--;
  if (!name)
    wanted_level = -1;
  else if (wanted_level < 0 && *name)
    say_note("ROWSCAN_LOG: '%s' is not one of warning, info, debug", name);
}

int session_open(rowscan_context **context, const cli_session *session) {
  read_level();
  rowscan_options options = {
      .size = sizeof options,
      .engine = session->engine,
      .device = session->device < 0 ? 0 : session->device,
      .threads = session->threads,
      .cache_limit = session->cache_limit,
      .log = wanted_level < 0 ? NULL : print_log,
      .progress = session->progress,
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
