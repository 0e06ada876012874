/*
 * session.c - a context of the library, as the options and the environment want it
 * SPDX-License-Identifier: MIT
 */
#include "session.h"

#include "say.h"

int session_open(rowscan_context **context, const cli_session *session) {
  rowscan_options options = {
      .size = sizeof options,
      .engine = session->engine,
      .device = session->device < 0 ? 0 : session->device,
      .threads = session->threads,
      .cache_limit = session->cache_limit,
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
