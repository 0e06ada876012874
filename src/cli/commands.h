/*
 * commands.h - the command and its subcommands: they return the exit status
 * SPDX-License-Identifier: MIT
 */
#ifndef COMMANDS_H
#define COMMANDS_H

/*
 * All that main() does, with its arguments: the process is the command's from here on. It fills closed standard
 * streams, takes the signals that end a process, and writes to stdout and stderr.
 */
int command_main(int argc, char **argv);

/* Each takes the arguments after its name. */
int command_scan(int argc, char **argv);
int command_compile(int argc, char **argv);
int command_warm(int argc, char **argv);
int command_source(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_tune(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_cache(int argc, char **argv);
int command_completion(int argc, char **argv);

typedef struct cli_command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
} cli_command;

/* All of them, in the order of the help. */
extern const cli_command cli_commands[];
extern const int cli_command_count;

#endif
