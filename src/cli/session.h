/*
 * session.h - what options of several subcommands ask for: a context of the library, and architectures
 * SPDX-License-Identifier: MIT
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>

#include "rowscan.h"

enum { DEVICES_MAX = 16 };

typedef struct cli_session {
  rowscan_engine engine;
  int device;                             /* -1: any; a number asks for the cuda engine */
  int devices[DEVICES_MAX], device_count; /* instead, several */
  int threads;                            /* 0: all */
  int64_t cache_limit;                    /* 0: the default */
  bool bare;                              /* neither cache nor packs: kernels that the library has inside serve */
  rowscan_compile compile;
  void (*progress)(void *user, int64_t done, int64_t total);
} cli_session;

#define SESSION_DEFAULT                                                                                                \
  { .device = -1 }
#define SESSION_KERNELS                                                                                                \
  { .engine = ROWSCAN_ENGINE_HOST, .device = -1 }

/* The options of a subcommand that works on an engine, for its table. */
#define SESSION_OPTIONS(session)                                                                                       \
  {"engine", 0, &kind_engine, &(session).engine, "where to run (auto: on a GPU that can serve, else on the CPU)"},     \
      {"device", 0, &kind_natural, &(session).device, "number of the GPU in the list of 'rowscan devices' (0)"}, {     \
    "threads", 0, &kind_natural, &(session).threads, "threads of the host engine (0: one for each processor)"          \
  }

/* Reads "0,1"; NULL: --devices was not given. Returns OPTIONS_READ, or EXIT_USAGE having said why. */
int devices_read(cli_session *session, const char *list);

/* Opens a context, whose warnings are said. Returns EXIT_OK, or EXIT_FAILED or EXIT_USAGE having said why. */
int session_open(rowscan_context **context, const cli_session *session);

const char *session_engine_name(const rowscan_context *context);

/* ---- --arch ------------------------------------------------------------------------------------------------------ */

enum { ARCH_MAX = 16, ARCHS_MAX = 64 };

typedef struct cli_archs {
  char name[ARCHS_MAX][ARCH_MAX];
  int count;
  bool all; /* those that the compiler knows */
} cli_archs;

/* The line of an option table for a list that archs_read is to read. */
#define ARCHS_OPTION(target)                                                                                           \
  { "arch", 0, &kind_list, &(target), "sm_75,sm_90,... or all (those that NVRTC knows)" }

/* Reads "sm_80,sm_90" or "all"; NULL: --arch was not given. Returns OPTIONS_READ, or EXIT_USAGE having said why. */
int archs_read(cli_archs *archs, const char *list);

/* Fills in what `all` stands for. Returns EXIT_OK, or EXIT_FAILED having said why. */
int archs_find(cli_archs *archs, rowscan_context *context);

#endif
