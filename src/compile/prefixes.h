/*
 * prefixes.h - installations that this process belongs to: of Python, and of this library
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PREFIXES_H
#define RS_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>

/* Writes a directory without a slash at its end. False: there is none, or it does not fit. */
typedef bool rs_prefix(char *prefix, size_t room);

/* PREFIX, if the program that runs is PREFIX/bin/python3 or another Python. */
rs_prefix rs_prefix_program;

/* The same, if it is an environment of conda, which has libraries of its own. */
rs_prefix rs_prefix_conda;

/* The same as the first by the name that it was called by: of a virtual environment, whose python is a link. */
rs_prefix rs_prefix_called;

/* Of a virtual environment that this library is in. */
rs_prefix rs_prefix_environment;

/* Of the Python that one of these was made from, as its pyvenv.cfg says. */
rs_prefix rs_prefix_base;

/* The site-packages or dist-packages directory that this library is in, and the directory that it is in itself. */
rs_prefix rs_prefix_packages;
rs_prefix rs_prefix_library;

#endif
