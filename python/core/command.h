/*
 * command.h - the rowscan command, for `python -m rowscan`
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_COMMAND_H
#define RP_COMMAND_H

#include "python.h"

/*
 * command(arguments): runs the command with a list of bytes, those after its name, and returns the exit status. The
 * process is the command's from then on: its signals, and its standard streams, of which Python must have printed all
 * that it holds back. To be called once, in the main thread, by a process that then exits with the status.
 */
PyObject *rp_command(PyObject *self, PyObject *arguments);

#endif
