/*
 * main.c - the rowscan command as a program of its own; the Python package has it in its extension
 * SPDX-License-Identifier: MIT
 */
#include "commands.h"

int main(int argc, char **argv) {
  return command_main(argc, argv);
}
