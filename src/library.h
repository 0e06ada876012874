/*
 * library.h - shared libraries that are loaded at run time
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LIBRARY_H
#define RS_LIBRARY_H

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

#endif
