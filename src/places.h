/*
 * places.h - the directories where NVRTC may lie
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_PLACES_H
#define RS_PLACES_H

#include <stdbool.h>
#include <sys/stat.h>

typedef struct rs_place {
  char *dir;
  dev_t device; /* this and the next: which directory it is, whatever its name */
  ino_t file;
} rs_place;

typedef struct rs_places {
  rs_place *place; /* those that exist, each once, best first */
  int count;
} rs_places;

/* Starts as {0}. False: out of memory. */
bool rs_places_find(rs_places *places);
void rs_places_free(rs_places *places);

#endif
