/*
 * run.c - numbers and totals of one run of the host engine
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

void rs_load_init(const rs_run *s, void *total, const void *init) {
  uint64_t number;
  if (s->acc_bytes == s->size)
    rs_move(&number, init, s->size);
  else
    s->isa->load[s->spec->acc_type][s->wide](&number, init, (rs_grid){.lines = 1, .n = 1});
  if (s->key && !s->keeps_keys)
    s->key(&number, &number, s->key_by, (rs_grid){.lines = 1, .n = 1});
  if (!s->totals) {
    rs_move(total, &number, s->size);
    return;
  }
  memcpy(total, s->neutral, (size_t)s->state);
  if (s->totals->begin)
    s->totals->begin(total, &number);
  else
    s->totals->load(total, &number, NULL);
}

void rs_save_number(const rs_run *s, void *kept, const void *number) {
  if (s->acc_bytes == s->size)
    rs_move(kept, number, s->size);
  else
    s->isa->save[s->wide][s->spec->acc_type](kept, number, (rs_grid){.lines = 1, .n = 1});
}

void rs_number_of(const rs_run *s, void *key, const void *total) {
  if (s->totals)
    s->totals->store(key, total);
  else
    rs_move(key, total, s->size);
}

void rs_show(const rs_run *s, void *numbers, int64_t count) {
  if (s->value)
    s->value(numbers, numbers, s->value_by, (rs_grid){.lines = 1, .n = count});
}

void rs_save_total(const rs_run *s, void *kept, const void *total) {
  uint64_t number;
  rs_number_of(s, &number, total);
  if (!s->keeps_keys)
    rs_show(s, &number, 1);
  rs_save_number(s, kept, &number);
}

void rs_save_identity(const rs_run *s, void *kept) {
  rs_save_number(s, kept, &s->identity);
}

/* Without blocks totals in segments have a byte more, whether one begins inside. */
static void join(const rs_run *s, char *to, const char *left, const char *right) {
  int64_t bytes = s->totals->bytes;
  bool cut = s->state > bytes, begins = cut && right[bytes];
  char any = cut ? left[bytes] | right[bytes] : 0;
  if (begins)
    memmove(to, right, (size_t)bytes);
  else
    s->totals->combine(to, left, right);
  if (cut)
    to[bytes] = any;
}

void rs_join_totals(const rs_run *s, void *to, const void *left, const void *right) {
  if (s->totals)
    join(s, to, left, right);
  else
    s->loops->combine(to, left, right);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

enum { WORD = sizeof(uint64_t) };

int64_t rs_state_bytes(const rs_run *op) {
  return op->totals ? op->state : op->acc_bytes;
}

int64_t rs_state_init_bytes(const rs_run *op) {
  return (rs_state_bytes(op) + WORD - 1) / WORD * WORD + WORD;
}

void rs_state_load(const rs_run *run, void *total, const void *state) {
  if (run->totals)
    memcpy(total, state, (size_t)run->state);
  else
    rs_load_init(run, total, state);
}

void rs_state_save(const rs_run *run, void *state, const void *total) {
  if (run->totals)
    memcpy(state, total, (size_t)run->state);
  else
    rs_save_total(run, state, total);
}

bool rs_state_begins(const rs_run *run, const void *state) {
  uint64_t word;
  memcpy(&word, (const char *)state + run->init_bytes - WORD, sizeof word);
  return word;
}
