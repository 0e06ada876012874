/*
 * output.h - a file that appears whole or not at all
 * SPDX-License-Identifier: MIT
 *
 * What base/whole.h makes, with messages. "-" is standard output, to which nothing is written before all of it is
 * there.
 *
 * Two outputs are never one file, by whatever names, links or descriptors: the second one would take the first one's
 * place.
 *
 * Interrupted, the command removes the file it was writing and dies of the signal. When a mapped file cannot be read or
 * written (it was cut short, the disk is full or broken), the kernel sends SIGBUS: then the command says which file it
 * was and exits with EXIT_FAILED.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stddef.h>

#include "base/whole.h"

/* One at a time. */
typedef struct cli_output {
  const char *name; /* as messages have it */
  bool standard;    /* output: the bytes are in memory until then */
  rs_whole whole;
  struct stat dir, made; /* of the target, and the new file */
  uint64_t bytes;        /* that it has when it is complete */
  void *map;
  size_t map_bytes;
} cli_output;

#define OUTPUT_NONE                                                                                                    \
  {                                                                                                                    \
    .whole = {.dir = -1, .file = -1 }                                                                                  \
  }

/* Each returns EXIT_OK, or EXIT_FAILED having said why and removed the file. */
int output_open(cli_output *output, const char *name);
int output_map(cli_output *output, size_t bytes); /* space for the whole file, reserved on the disk where it can be */
int output_write(cli_output *output, const void *bytes, size_t length);
int output_private(cli_output *output); /* nobody else may write it, whatever the umask */
int output_commit(cli_output *output);

/*
 * A file that several processes write: one opens it and reserves its bytes, the others find it, and all join it by the
 * name of its temporary. Then each puts its own bytes, and flushes. One commits, when all have flushed; the others
 * leave. Any of them that fails, or is interrupted, removes the file.
 */
int output_reserve(cli_output *output, size_t bytes);
int output_find(cli_output *output, const char *name);
int output_join(cli_output *output, const char *temporary, size_t bytes);
int output_put(cli_output *output, const void *bytes, size_t length, off_t offset);
int output_flush(cli_output *output);
void output_leave(cli_output *output);

/*
 * Whether a second output may be written to a file of this name, which an option gives: as a rule before the scan, and
 * again when the first output is there, which some file systems have under other names too. EXIT_USAGE or EXIT_FAILED,
 * having said why not.
 */
int output_apart(const cli_output *output, const char *option, const char *name);

/* Standard output is an output too: text is printed there. To be called before files are opened. */
void output_prints(void);

/* Removes it if it is still open. */
void output_abandon(cli_output *output);

/* The four calls for a file whose bytes are at hand. */
int output_file(const char *name, const void *bytes, size_t length);

/* ---- signals ----------------------------------------------------------------------------------------------------- */

/* For main, before any file is made: from then on the signals that end a process remove the file first. */
void guard_install(void);

/* A mapped file; `trouble` is what to say of it. NULL start: forget all. The strings must stay valid. */
void guard_map(const void *start, size_t bytes, const char *name, const char *trouble);

#endif
