/*
 * calls.h - a call that differs from one before in addresses alone, read once
 * SPDX-License-Identifier: MIT
 */
#ifndef RS_CALLS_H
#define RS_CALLS_H

#include <stdatomic.h>

#include "host/host.h"

enum {
  RS_CALLS = 32,        /* of a table */
  RS_CALL_NUMBERS = 64, /* the most sizes and strides of a call that is kept */
  RS_CALL_WORDS = sizeof(rowscan_problem) / sizeof(uint64_t)
};

/* Two words of a caller's struct. */
typedef uint64_t rs_words __attribute__((vector_size(16), may_alias));

/* A caller's struct: its words, which of their bits must be the same, and the numbers behind its pointers. */
typedef struct rs_given {
  rs_words words[RS_CALL_WORDS / 2], mask[RS_CALL_WORDS / 2];
  int numbers;
  struct {
    size_t word, at; /* of the pointer; index from there */
    int64_t value;
  } number[RS_CALL_NUMBERS];
} rs_given;

/* A call as it was read. Fields after `known` are set only if it is. */
typedef struct rs_call {
  rowscan_spec spec;
  rs_rows rows;
  struct rs_call_place *place; /* which this thread has; NULL: the call is not kept */
  const struct rs_form *form;  /* of `source` */
  const void *source;          /* the caller's struct that was read */
  unsigned missed;             /* calls with the same number that did not match */
  bool described;              /* `run` is set */
  bool known;                  /* it was accepted, and may be compared with others */
  rs_given given;
  rs_pairs pairs;
  int moved; /* arrays that are present */
  struct {
    size_t word;   /* of the caller's struct: the address */
    void **data;   /* its place in the rows */
    uintptr_t odd; /* the bits that must be 0 */
  } move[RS_ALL_ARRAYS];
  int64_t shift; /* from the caller's output to that of the rows, in bytes */
  rs_run *run;   /* the host engine's description; NULL: no memory for one yet */
} rs_call;

typedef struct rs_call_place {
  atomic_bool busy;
  uint64_t last; /* the number of the last call: a call is kept when its number recurs */
  rs_call *call;
  char apart[40]; /* so that threads do not share cache lines */
} rs_call_place;

/*
 * Earlier calls, by thread and shape. Any thread may use a table, and none waits for another: a call whose place is
 * taken is read in full. All zeros: an empty table.
 */
typedef struct rs_calls {
  rs_call_place place[RS_CALLS];
} rs_calls;

void rs_calls_free(rs_calls *calls);

/*
 * rs_rows_from_problem of a problem of this library's size, into *call: a kept one or `own`. rs_call_end must follow,
 * also after an error.
 */
rowscan_status rs_call_problem(rs_calls *calls, rs_call **call, rs_call *own, const rowscan_problem *problem);

/* The same of a run: rs_spec_of_run and rs_rows_from_args. A table serves one spec. */
rowscan_status rs_call_args(rs_calls *calls, rs_call **call, rs_call *own, const rowscan_spec *spec,
                            const rowscan_args *args);

/* rs_overlap_check. A call that passes is known from then on. */
rowscan_status rs_call_check_all(rs_call *call, const void *workspace, size_t workspace_bytes);
static inline rowscan_status rs_call_check(rs_call *call, const void *workspace, size_t workspace_bytes) {
  return call->known && !workspace && rs_pairs_apart(&call->pairs)
             ? ROWSCAN_OK
             : rs_call_check_all(call, workspace, workspace_bytes);
}

/* rs_host_run. */
void rs_call_host_first(rs_call *call, rs_host *host);
static inline void rs_call_host(rs_call *call, rs_host *host) {
  if (call->described)
    rs_host_repeat(host, call->run, &call->rows);
  else
    rs_call_host_first(call, host);
}

static inline void rs_call_end(rs_call *call) {
  if (call->place)
    atomic_store_explicit(&call->place->busy, false, memory_order_release);
}

#endif
