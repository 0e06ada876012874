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

void simt_fetch_wait(void) {
  simt_fetches *all = simt_grid_fetches();
  for (unsigned i = 0; i < all->count; i++) {
    simt_grid_used(simt_grid_state.thread, all->word[i].to, all->word[i].bytes, SIMT_WRITE);
    memcpy(all->word[i].to, all->word[i].from, all->word[i].bytes);
  }
  all->count = 0;
}
