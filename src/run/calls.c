/*
 * calls.c - a call that differs from one before in addresses alone, read once
 * SPDX-License-Identifier: MIT
 *
 * Reading and checking a problem takes longer than scanning a small array. The result of that depends on:
 *
 *   - the words of the caller's struct,
 *   - the numbers behind its pointers to shapes and strides,
 *   - which arrays are present,
 *   - the arrays' addresses: only for alignment and overlap.
 *
 * The first three are compared with those of an earlier call; addresses are checked on every call. If anything differs
 * or a check fails, the call is read in full, which also writes the error message.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/must_return.h"

/* ---- callers' structs as words ----------------------------------------------------------------------------------- */

#define WORD(type, member) (offsetof(type, member) / sizeof(uint64_t))
#define PROBLEM(member) WORD(rowscan_problem, member)
#define ARGS(member) WORD(rowscan_args, member)

/* Which words of a struct are pointers. `workspace` is followed by its size. */
typedef struct rs_form {
  size_t words, shape, workspace;
  size_t data[RS_ALL_ARRAYS], strides[RS_ALL_ARRAYS];
  bool types; /* a problem: after each address comes a type, in the lower half of a word */
} rs_form;

static const rs_form problems = {
    sizeof(rowscan_problem) / sizeof(uint64_t),
    PROBLEM(shape),
    PROBLEM(workspace),
    {PROBLEM(input.data), PROBLEM(output.data), PROBLEM(mask.data), PROBLEM(init.data), PROBLEM(totals.data),
     PROBLEM(more[0].data), PROBLEM(more[1].data), PROBLEM(more[2].data), PROBLEM(more[3].data), PROBLEM(second.data),
     PROBLEM(segments.data)},
    {PROBLEM(input.strides), PROBLEM(output.strides), PROBLEM(mask.strides), PROBLEM(init.strides),
     PROBLEM(totals.strides), PROBLEM(more[0].strides), PROBLEM(more[1].strides), PROBLEM(more[2].strides),
     PROBLEM(more[3].strides), PROBLEM(second.strides), PROBLEM(segments.strides)},
    true};
static const rs_form arguments = {sizeof(rowscan_args) / sizeof(uint64_t),
                                  ARGS(row_shape),
                                  ARGS(workspace),
                                  {ARGS(input), ARGS(output), ARGS(mask), ARGS(init), ARGS(totals), ARGS(more[0]),
                                   ARGS(more[1]), ARGS(more[2]), ARGS(more[3]), ARGS(second), ARGS(segments)},
                                  {ARGS(input_strides), ARGS(output_strides), ARGS(mask_strides), ARGS(init_strides),
                                   ARGS(totals_strides), ARGS(more_strides[0]), ARGS(more_strides[1]),
                                   ARGS(more_strides[2]), ARGS(more_strides[3]), ARGS(second_strides),
                                   ARGS(segment_strides)},
                                  false};

_Static_assert(sizeof(rowscan_args) <= sizeof(rowscan_problem), "RS_CALL_WORDS are enough for either");

static inline const void *pointer_at(const void *from, size_t word) {
  const void *pointer;
  memcpy(&pointer, (const char *)from + word * sizeof(uint64_t), sizeof pointer);
  return pointer;
}

/* Of an odd number of words the first is left out: it is the size, and the form tells that. */
static inline bool same_words(const rs_given *given, const rs_form *form, const void *as) {
  const char *from = (const char *)as + form->words % 2 * sizeof(uint64_t);
  rs_words differ = {0};
#pragma GCC unroll 8
  for (size_t i = 0; i < form->words / 2; i++) {
    rs_words now;
    memcpy(&now, from + i * sizeof now, sizeof now);
    differ |= (given->words[i] ^ now) & given->mask[i];
  }
  return !(differ[0] | differ[1]);
}

static inline bool same_numbers(const rs_given *given, const void *as) {
  int64_t differ = 0;
  for (int i = 0; i < given->numbers; i++) {
    const int64_t *list = pointer_at(as, given->number[i].word);
    if (!list)
      return false;
    differ |= list[given->number[i].at] ^ given->number[i].value;
  }
  return !differ;
}

/* ---- keeping a call ---------------------------------------------------------------------------------------------- */

/* Of a word, only the bits `but` must be the same. */
static void let_differ(rs_given *given, const rs_form *form, size_t word, uint64_t but) {
  size_t at = word - form->words % 2;
  given->mask[at / 2][at % 2] = but;
}

/* Compares the numbers behind a pointer instead of the pointer. False: there are too many. */
static bool keep_numbers(rs_given *given, const rs_form *form, const void *source, size_t word, int count) {
  const int64_t *list = pointer_at(source, word);
  if (!list)
    return true;
  if (given->numbers + count > RS_CALL_NUMBERS)
    return false;
  let_differ(given, form, word, 0);
  for (int n = 0; n < count; n++) {
    given->number[given->numbers].word = word;
    given->number[given->numbers].at = (size_t)n;
    given->number[given->numbers++].value = list[n];
  }
  return true;
}

/* Padding between members is not compared. */
static void keep_words(rs_given *given, const rs_form *form, const void *source) {
  size_t bytes = form->words / 2 * sizeof *given->words;
  memcpy(given->words, (const char *)source + form->words % 2 * sizeof(uint64_t), bytes);
  memset(given->mask, 0xff, bytes);
  let_differ(given, form, form->workspace, 0);
  let_differ(given, form, form->workspace + 1, 0);
  for (int a = 0; a < RS_ALL_ARRAYS && form->types; a++)
    let_differ(given, form, form->data[a] + 1, UINT32_MAX);
  if (form->types)
    let_differ(given, form, PROBLEM(segment_mode), UINT32_MAX);
  given->numbers = 0;
}

/* Which of the caller's arrays is array `which` of the rows: segments without a mask take the place of one. */
static int array_of(const rs_call *call, rs_which which) {
  return which == RS_MASK && !pointer_at(call->source, call->form->data[RS_MASK]) ? RS_SEGMENTS : (int)which;
}

/* Numbers of the caller's shape. */
static int rank_of(const rs_call *call) {
  return call->form->types ? ((const rowscan_problem *)call->source)->rank : call->spec.row_rank;
}

static bool keep(rs_call *call) {
  const rs_form *form = call->form;
  rs_given *given = &call->given;
  int rank = rank_of(call);
  if (!rs_pairs_of(&call->pairs, &call->rows, &call->spec))
    return false;
  keep_words(given, form, call->source);
  bool kept = keep_numbers(given, form, call->source, form->shape, rank);
  call->moved = 0;
  for (int a = 0; a < rs_arrays(&call->rows) && kept; a++) {
    if (!call->rows.array[a].data)
      continue;
    int array = array_of(call, (rs_which)a), end = !form->types && (a == RS_INIT || a == RS_TOTALS);
    call->move[call->moved].word = form->data[array];
    call->move[call->moved].data = &call->rows.array[a].data;
    call->move[call->moved++].odd = (uintptr_t)(call->rows.array[a].bytes - 1);
    let_differ(given, form, form->data[array], 0);
    kept = keep_numbers(given, form, call->source, form->strides[array], form->types || end ? rank : rank + 1);
  }
  call->shift =
      (int64_t)((uintptr_t)call->rows.array[RS_OUT].data - (uintptr_t)pointer_at(call->source, form->data[RS_OUT]));
  return kept;
}

/* Sets the addresses. False: one of them is NULL, or not aligned to its elements. */
static inline bool move(rs_call *call, const void *source) {
  uintptr_t least = UINTPTR_MAX, odd = 0;
  for (int i = 0; i < call->moved; i++) {
    uintptr_t at = (uintptr_t)pointer_at(source, call->move[i].word);
    least = at < least ? at : least;
    odd |= at & call->move[i].odd;
    *call->move[i].data = (void *)at;
  }
  rs_operand *out = &call->rows.array[RS_OUT];
  out->data = (void *)((uintptr_t)out->data + (uintptr_t)call->shift);
  return least && !odd;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static inline uint64_t mixed(uint64_t number, uint64_t with) {
  return (number ^ with) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Roughly where the thread's stack is, so that threads seldom share a place. */
static inline uint64_t number_of_thread(const rs_call *own) {
  return (uintptr_t)own >> 16;
}

static void leave_place(rs_call_place *place) {
  atomic_store_explicit(&place->busy, false, memory_order_release);
}

/*
 * The call kept for this number, or `own`: another thread has the place, the number does not recur, or no call is kept
 * yet. In the last case `own` has the place.
 */
static inline rs_call *take_call(rs_calls *calls, rs_call *own, uint64_t number) {
  rs_call_place *place = &calls->place[number >> 59];
  bool free = !atomic_exchange_explicit(&place->busy, true, memory_order_acquire),
       recurs = free && place->last == number;
  if (recurs && place->call)
    return place->call;
  if (free)
    place->last = number;
  if (free && !recurs)
    leave_place(place);
  own->place = recurs ? place : NULL;
  own->known = own->described = false;
  return own;
}
_Static_assert(RS_CALLS == 32, "take_call() takes 5 bits");

void rs_calls_free(rs_calls *calls) {
  for (int i = 0; i < RS_CALLS; i++) {
    rs_call *call = calls->place[i].call;
    if (call)
      free(call->run);
    free(call);
  }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static inline bool recalls(rs_call *call, const rs_form *form, const void *source) {
  return call->known && same_words(&call->given, form, source) && move(call, source) &&
         same_numbers(&call->given, source);
}

static rs_call *nowhere(rs_call *own) {
  own->place = NULL;
  own->known = own->described = false;
  return own;
}

/* A new call for the place that `own` has; `own`, if there is no memory. */
static rs_call *first_call(rs_call *own) {
  rs_call_place *place = own->place;
  place->call = calloc(1, sizeof *own);
  if (place->call) {
    place->call->place = place;
    return place->call;
  }
  leave_place(place);
  return nowhere(own);
}

/*
 * The call to read into, after `taken` did not match. A kept call is replaced only at every fourth mismatch: two calls
 * with the same number that alternate would replace each other every time.
 */
static rs_call *call_to_read(rs_call *taken, rs_call *own, const rs_form *form, const void *source) {
  enum { PATIENCE = 4 };
  if (taken == own && own->place) {
    taken = first_call(own);
  } else if (taken->known && ++taken->missed % PATIENCE) {
    leave_place(taken->place);
    taken = nowhere(own);
  }
  taken->known = taken->described = false;
  taken->form = form;
  taken->source = source;
  return taken;
}

/* Not inlined: a call that matches would save registers for these two. */
static RS_OWN_FRAME rowscan_status read_problem_anew(rs_call **call, rs_call *own, const rowscan_problem *problem) {
  *call = call_to_read(*call, own, &problems, problem);
  return rs_rows_from_problem(&(*call)->rows, &(*call)->spec, problem);
}

static RS_OWN_FRAME rowscan_status read_args_anew(rs_call **call, rs_call *own, const rowscan_spec *spec,
                                                  const rowscan_args *args) {
  *call = call_to_read(*call, own, &arguments, args);
  const rowscan_spec *of_run = spec;
  rowscan_spec *to = &(*call)->spec;
  rowscan_status status = rs_spec_of_run(&of_run, to, args);
  if (!status && of_run == spec)
    *to = *spec;
  return status ? status : rs_rows_from_args(&(*call)->rows, to, args);
}

rowscan_status rs_call_problem(rs_calls *calls, rs_call **call, rs_call *own, const rowscan_problem *problem) {
  enum { MOST_RANK = 8 };
  uint64_t number = mixed(number_of_thread(own), (uint64_t)problem->op << 32 | problem->flags);
  number = mixed(number, (uint64_t)problem->rank << 32 | (unsigned)problem->dim);
  number = mixed(number, (uint64_t)problem->input.type << 32 | (unsigned)problem->output.type);
  for (int d = 0; d < problem->rank && problem->rank <= MOST_RANK && problem->shape; d++)
    number = mixed(number, (uint64_t)problem->shape[d]);
  *call = take_call(calls, own, number);
  return recalls(*call, &problems, problem) ? ROWSCAN_OK : read_problem_anew(call, own, problem);
}

rowscan_status rs_call_args(rs_calls *calls, rs_call **call, rs_call *own, const rowscan_spec *spec,
                            const rowscan_args *args) {
  uint64_t number = mixed(number_of_thread(own), (uint64_t)args->rows ^ (uint64_t)args->length << 32);
  for (int d = 0; args->row_shape && d < spec->row_rank; d++)
    number = mixed(number, (uint64_t)args->row_shape[d]);
  *call = take_call(calls, own, number);
  return recalls(*call, &arguments, args) ? ROWSCAN_OK : read_args_anew(call, own, spec, args);
}

rowscan_status rs_call_check_all(rs_call *call, const void *workspace, size_t workspace_bytes) {
  rowscan_status status = rs_overlap_check(&call->rows, &call->spec, workspace, workspace_bytes);
  if (!status && call->place && !call->known)
    call->known = keep(call);
  return status;
}

void rs_call_host_first(rs_call *call, rs_host *host) {
  if (call->known)
    call->described = rs_host_describe(host, &call->run, &call->spec, &call->rows);
  if (call->described)
    rs_host_repeat(host, call->run, &call->rows);
  else
    rs_host_run(host, &call->spec, &call->rows);
}
