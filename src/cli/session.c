/*
 * session.c - what options of several subcommands ask for
 * SPDX-License-Identifier: MIT
 */
#include "session.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
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

int devices_read(cli_session *session, const char *at) {
  if (!at)
    return OPTIONS_READ;
  if (session->device >= 0)
    return say_usage("--devices: '%s', but --device is given, too: name that GPU among the others", at);
  for (const char *next = at;; next++) {
    char *end;
    unsigned long number = strtoul(next, &end, 10);
    if (!isdigit((unsigned char)*next) || number > INT_MAX || (*end && *end != ','))
      return say_usage("--devices: '%s' is not a list of numbers of GPUs, such as 0,1", at);
    if (session->device_count == DEVICES_MAX)
      return say_usage("--devices: '%s' has more than %d GPUs", at, DEVICES_MAX);
    session->devices[session->device_count++] = (int)number;
    next = end;
    if (!*end)
      return OPTIONS_READ;
  }
}

int session_open(rowscan_context **context, const cli_session *session) {
  rowscan_options options = {
      .size = sizeof options,
      .engine = session->engine,
      .device = session->device < 0 ? 0 : session->device,
      .threads = session->threads,
      .cache_limit = session->cache_limit,
      .cache_off = session->bare,
      .cache_packs = session->bare ? "off" : NULL,
      .compile = session->compile,
      .progress = session->progress,
      .log = has_log() ? NULL : warn,
      .devices = session->devices,
      .device_count = session->device_count,
  };
  int device = session->device_count ? session->devices[0] : session->device;
  if (device >= 0 && session->engine == ROWSCAN_ENGINE_HOST)
    return say_usage("--device%s: %d is the number of a GPU, but --engine is host", session->device_count ? "s" : "",
                     device);
  if (device >= 0)
    options.engine = ROWSCAN_ENGINE_CUDA;
  rowscan_status status = rowscan_open(context, &options);
  return status == ROWSCAN_OK ? EXIT_OK : say_library(NULL, status);
}

const char *session_engine_name(const rowscan_context *context) {
  return rowscan_context_engine(context) == ROWSCAN_ENGINE_CUDA ? "cuda" : "host";
}

/* ---- --arch ------------------------------------------------------------------------------------------------------ */

/* "sm_90" */
static bool is_arch(const char *name, size_t length) {
  size_t digits = 0;
  if (length < 4 || length >= ARCH_MAX || memcmp(name, "sm_", 3) || name[3] == '0')
    return false;
  while (3 + digits < length && isdigit((unsigned char)name[3 + digits]))
    digits++;
  return digits && 3 + digits == length;
}

/* Not twice: who names one again means the same. */
static bool add(cli_archs *archs, const char *name, size_t length) {
  for (int i = 0; i < archs->count; i++)
    if (strlen(archs->name[i]) == length && !memcmp(archs->name[i], name, length))
      return true;
  if (archs->count == ARCHS_MAX)
    return false;
  snprintf(archs->name[archs->count++], ARCH_MAX, "%.*s", (int)length, name);
  return true;
}

int archs_read(cli_archs *archs, const char *at) {
  if (!at)
    return say_usage("--arch is required: sm_90, or sm_80,sm_90, or all");
  archs->all = !strcmp(at, "all");
  while (!archs->all) {
    size_t length = strcspn(at, ",");
    if (!is_arch(at, length))
      return say_usage("--arch: '%.*s' is not an architecture such as sm_90", (int)length, at);
    if (strtoul(at + 3, NULL, 10) < ROWSCAN_OLDEST_ARCH)
      return say_usage("--arch: %.*s is older than sm_%d, the oldest supported architecture", (int)length, at,
                       ROWSCAN_OLDEST_ARCH);
    if (!add(archs, at, length))
      return say_usage("--arch: more than %d architectures", ARCHS_MAX);
    if (!at[length])
      break;
    at += length + 1;
  }
  return OPTIONS_READ;
}

int archs_find(cli_archs *archs, rowscan_context *context) {
  int known[ARCHS_MAX], count = ARCHS_MAX;
  if (!archs->all)
    return EXIT_OK;
  rowscan_status status = rowscan_archs(context, known, &count);
  if (status != ROWSCAN_OK)
    return say_library("--arch all", status);
  for (int i = 0; i < count && i < ARCHS_MAX; i++)
    snprintf(archs->name[archs->count++], ARCH_MAX, "sm_%d", known[i]);
  return EXIT_OK;
}
