/*
 * command.c - the rowscan command, for `python -m rowscan`
 * SPDX-License-Identifier: MIT
 */
#include "command.h"

#include <signal.h>

#include "cli/commands.h"

/* The arguments behind the command's name, for as long as the list lives. NULL: an exception is set. */
static char **command_arguments(PyObject *list, int *count) {
  Py_ssize_t given = PyList_Size(list);
  char **argv = given < 0 ? NULL : PyMem_Calloc((size_t)given + 2, sizeof *argv);
  if (!argv)
    return given < 0 ? NULL : (char **)PyErr_NoMemory();
  static char name[] = "rowscan";
  argv[0] = name;
  for (Py_ssize_t i = 0; i < given; i++)
    if (PyBytes_AsStringAndSize(PyList_GetItem(list, i), &argv[i + 1], NULL)) { /* without a NUL inside */
      PyMem_Free(argv);
      return NULL;
    }
  *count = (int)given + 1;
  return argv;
}

PyObject *rp_command(PyObject *self, PyObject *arguments) {
  (void)self;
  int count = 0;
  char **argv = command_arguments(arguments, &count);
  if (!argv)
    return NULL;
  /* Python ignores SIGPIPE, whatever it was started with: the command dies of it, as in a shell's pipe. */
  signal(SIGPIPE, SIG_DFL);
  PyThreadState *state = PyEval_SaveThread();
  int status = command_main(count, argv);
  PyEval_RestoreThread(state);
  PyMem_Free(argv);
  return PyLong_FromLong(status);
}
