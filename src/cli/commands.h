/*
 * commands.h - the subcommands: each takes the arguments after its name and returns the exit status
 * SPDX-License-Identifier: MIT
 */
#ifndef COMMANDS_H
#define COMMANDS_H

int command_scan(int argc, char **argv);
int command_compile(int argc, char **argv);
int command_warm(int argc, char **argv);
int command_source(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_cache(int argc, char **argv);

#endif
