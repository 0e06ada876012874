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
  bool named;   /* by a variable that is for this; what is elsewhere is to be trusted (trust.h) before it is opened */
  dev_t device; /* this and the next: which directory it is, whatever its name */
  ino_t file;
} rs_place;

/* What matched the pattern that was looked for last: patterns beside each other often begin with the same one. */
typedef struct rs_listing {
  char *pattern;         /* of a path, its last component with the star; NULL: none yet */
  struct dirent **names; /* the newest version last */
  int count;
} rs_listing;

/* Starts as {0}. */
typedef struct rs_places {
  rs_place *place; /* of those looked at so far: the ones that exist, each once, best first */
  int count;
  int source, below; /* what is looked at next: its row in places.c, and the pattern of that */
  char prefix[4096]; /* of this source, if `below` is not 0 */
  rs_listing last;
} rs_places;

/*
 * The place at an index, looking no further than it takes; *place is NULL if there are not as many, and lives until the
 * next call. False: out of memory.
 */
bool rs_places_get(rs_places *places, int index, const rs_place **place);
void rs_places_free(rs_places *places);

#endif
