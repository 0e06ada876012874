/*
 * output.h - a file that appears whole or not at all
 * SPDX-License-Identifier: MIT
 *
 * It is written under another name in the directory of its target, and renamed when all of it is on the disk. A target
 * that was there keeps its permissions; one that is a symbolic link stays one, and the file it names is replaced. What
 * a command that was killed left in that directory more than an hour ago is removed.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <limits.h>
#include <stddef.h>

/* One at a time. */
typedef struct cli_output {
  const char *name; /* as the user gave it */
  char target[PATH_MAX];
  char temporary[PATH_MAX + 80];
  int file; /* -1: not open */
  void *map;
  size_t map_bytes;
} cli_output;

/* Each returns EXIT_OK, or EXIT_FAILED having said why and removed the file. */
int output_open(cli_output *output, const char *name);
int output_map(cli_output *output, size_t bytes); /* space for the whole file, reserved on the disk where it can be */
int output_write(cli_output *output, const void *bytes, size_t length);
int output_private(cli_output *output); /* nobody else may write it, whatever the umask */
int output_commit(cli_output *output);

/* Removes it if it is still open. */
void output_abandon(cli_output *output);

/* The four calls for a file whose bytes are at hand. */
int output_file(const char *name, const void *bytes, size_t length);

#endif
