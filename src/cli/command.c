/*
 * command.c - the rowscan command: a table of subcommands
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/descriptor.h"
#include "commands.h"
#include "options.h"
#include "output.h"
#include "say.h"

const cli_command cli_commands[] = {
    {"scan", command_scan, "scan an array in an .npy file along one dimension"},
    {"compile", command_compile, "compile the kernels of a scan, for any GPU architectures"},
    {"warm", command_warm, "compile the kernels of a list of scans into the cache, before they are needed"},
    {"source", command_source, "print the CUDA source that would be compiled"},
    {"bench", command_bench, "time scans against copies of the same size, and check their results"},
    {"tune", command_tune, "measure which kernels are the fastest on this GPU, for later scans"},
    {"ops", command_ops, "list the operators"},
    {"devices", command_devices, "list the GPUs"},
    {"cache", command_cache, "manage the compiled kernels on disk: list, check, explain, export, remove"},
    {"completion", command_completion, "print the completion script of a shell"},
};
const int cli_command_count = COUNT_OF(cli_commands);

static int print_command_list(void) {
  printf(
      "Usage: rowscan COMMAND [OPTION]... [OPERAND]...\n\n"
      "Prefix scans along one dimension of an array, on NVIDIA GPUs and on the CPU, with the same bits everywhere.\n\n"
      "Commands:\n");
  for (int i = 0; i < cli_command_count; i++)
    printf("  %-10s %s\n", cli_commands[i].name, cli_commands[i].summary);
  printf(
      "\n'rowscan COMMAND --help' or 'rowscan help COMMAND' prints the options of a command; 'rowscan --version', the\n"
      "version. Exit status: 0 for success; 1 for a failure, which leaves no file half-written; 2 for a wrong command\n"
      "line.\n");
  return EXIT_OK;
}

static const cli_command *find_command(const char *name) {
  for (int i = 0; i < cli_command_count; i++)
    if (!strcmp(cli_commands[i].name, name))
      return &cli_commands[i];
  return NULL;
}

static int run_command(const char *name, int argc, char **argv) {
  const cli_command *found = find_command(name);
  if (!found)
    return say_usage("unknown command '%s'", name);
  say_command(found->name);
  return found->run(argc, argv);
}

static int help(int argc, char **argv) {
  char option[] = "--help", *arguments[] = {option, NULL};
  return argc ? run_command(argv[0], 1, arguments) : print_command_list();
}

static int dispatch(int argc, char **argv) {
  if (argc < 2)
    return say_usage("missing command");
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
    return print_command_list();
  if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
    printf("rowscan %s\n", rowscan_version());
    return EXIT_OK;
  }
  if (!strcmp(argv[1], "help"))
    return help(argc - 2, argv + 2);
  if (*argv[1] == '-')
    return say_usage("unknown option '%s'", argv[1]);
  return run_command(argv[1], argc - 2, argv + 2);
}

int command_main(int argc, char **argv) {
  if (!rs_fill_standard())
    return EXIT_FAILED;
  guard_install();
  int status = dispatch(argc, argv);
  bool failed = ferror(stdout); /* some time ago: errno is another call's since */
  if (!fflush(stdout) && !failed)
    return status;
  const char *why = failed ? "" : strerror(errno);
  int told = say_failed("standard output cannot be written%s%s", *why ? ": " : "", why);
  return status == EXIT_OK ? told : status;
}
