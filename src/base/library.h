/*
 * library.h - shared libraries that are loaded at run time
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LIBRARY_H
#define RS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "text.h"

/* A function to look up, and where in the table its pointer goes. */
typedef struct rs_symbol {
  const char *name;
  size_t offset;
} rs_symbol;

/*
 * Loads a library and fills a table of function pointers. NULL: it can't be loaded or lacks a symbol; why is added to
 * `tried` as a line, and what the table holds is of no use. A library that was loaded is never unloaded: threads of its
 * own may be running in it.
 */
void *rs_library_load(const char *name, const rs_symbol *symbols, size_t count, void *table, rs_text *tried);

/* Looks up functions that a loaded library may be too old for: NULL in the table for each that it lacks. */
void rs_library_ask(void *library, const rs_symbol *symbols, size_t count, void *table);

/* The file that a loaded library came from; NULL: not known. Lives as long as the library. */
const char *rs_library_path(void *library);

/* The file that this code itself came from: the library, or a program that it was linked into. False: not known. */
bool rs_library_own_path(char *path, size_t room);

/* What lies beside that file, or "../" from there, without links and dots. False: there is nothing of that name. */
bool rs_library_beside(char path[PATH_MAX], const char *name);

/* Whether the process has loaded a library of this name, one that failed to fill its table too. */
bool rs_library_is_loaded(const char *name);

/* The file of the first library that the process has loaded and `wants` says true for, to be freed; NULL: none. */
char *rs_library_loaded(bool (*wants)(void *user, const char *path), void *user);

#endif
