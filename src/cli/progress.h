/*
 * progress.h - a line on the terminal for a job that takes longer than a second
 * SPDX-License-Identifier: MIT
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

double progress_seconds(void); /* of a clock that only goes forward */

bool progress_possible(void);                                /* is stderr a terminal? */
void progress_start(void);                                   /* without it the others do nothing */
void progress_show(void *user, int64_t done, int64_t total); /* in bytes; any thread */
void progress_bar(int64_t done, int64_t total);              /* of things that take about as long as one another */
void progress_writing(void);
void progress_end(void); /* takes the line away, until it is due again; any thread */

#endif
