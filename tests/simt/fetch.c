/*
 * fetch.c - words on their way from global to shared memory, one thread's at a time
 * SPDX-License-Identifier: MIT
 */
#include "fetch.h"

#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "memory.h"
#include "report.h"

void simt_fetch(void *to, const void *from, unsigned bytes) {
  simt_fetches *all = simt_grid_fetches();
  if (all->count == all->room) {
    all->room = 2 * all->room + 16;
    all->word = realloc(all->word, all->room * sizeof *all->word);
    if (!all->word)
      simt_die("out of memory");
  }
  all->word[all->count++] = (simt_fetched){to, from, bytes};
  simt_grid_used(simt_grid_state.thread, to, bytes, SIMT_WRITE);
  memset(to, SIMT_POISON, bytes);
}

/* The first so many arrive. */
static void arrive(simt_fetches *all, unsigned count) {
  if (!count)
    return;
  for (unsigned i = 0; i < count; i++) {
    simt_grid_used(simt_grid_state.thread, all->word[i].to, all->word[i].bytes, SIMT_WRITE);
    memcpy(all->word[i].to, all->word[i].from, all->word[i].bytes);
  }
  all->count -= count;
  memmove(all->word, all->word + count, all->count * sizeof *all->word);
}

void simt_fetch_wait(void) {
  simt_fetches *all = simt_grid_fetches();
  arrive(all, all->count);
  all->last = all->open = 0;
}

void simt_fetch_group(void) {
  simt_fetches *all = simt_grid_fetches();
  all->last = all->open;
  all->open = all->count;
}

void simt_fetch_wait_but_last(void) {
  simt_fetches *all = simt_grid_fetches();
  arrive(all, all->last);
  all->open -= all->last;
  all->last = 0;
}
