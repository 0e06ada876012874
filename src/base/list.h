/*
 * list.h - lists that grow by one element at a time
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_LIST_H
#define RS_LIST_H

#include <stddef.h>
#include <stdlib.h>

/*
 * A list of `count` elements, each of so many bytes, with room for one more: moved or not. It starts as NULL with a
 * room of 0. NULL: out of memory, and the list is as it was.
 */
static inline void *rs_list_room(void *list, size_t count, size_t *room, size_t bytes) {
  size_t larger = *room ? 2 * *room : 16;
  if (count < *room)
    return list;
  void *moved = realloc(list, larger * bytes);
  if (moved)
    *room = larger;
  return moved;
}

#endif
