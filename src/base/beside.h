/*
 * beside.h - temporaries beside a file that a user named, and what writers who died left of them
 * SPDX-License-Identifier: MIT
 *
 * The directory is the user's: a temporary there has a name that nobody else gives by chance, and its writer keeps a
 * lock on it until it gets its own. Who writes the next file there removes what is left of others: a file of just such
 * a name, regular, this user's, older than an hour, and held by nobody.
 */
#ifndef RS_BESIDE_H
#define RS_BESIDE_H

#include <stdbool.h>

/* A name is this, process, seconds and nanoseconds with "-" between them, and ".tmp". */
#define RS_BESIDE_BEGIN ".rowscan-"
enum { RS_BESIDE_NAME = 80 };

/* O_EXCL makes it unique; process and time only make a second try rare. */
void rs_beside_name(char name[RS_BESIDE_NAME]);

/* The process in such a name; 0: it is not of this form. */
long rs_beside_process(const char *name);

/* Ends with the descriptor. errno of a failure: EAGAIN or EACCES if another has it. */
bool rs_beside_hold(int fd);

/* dir: -1: none. One that can't be read is left as it is. */
void rs_beside_sweep(int dir);

#endif
