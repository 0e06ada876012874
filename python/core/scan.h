/*
 * scan.h - one scan of arrays, once all of their library's conventions are settled
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_SCAN_H
#define RP_SCAN_H

#include "kinds.h"

enum { RP_MOST_MORE = 4 };

/* What few calls have besides: further inputs, a second output of x's shape, and numbers of the run. */
typedef struct rp_further {
  PyObject *arrays[RP_MOST_MORE + 1], *second; /* Py_None: there is none, or one is only supposed */
  int count;
  rowscan_mask_mode segment_mode; /* if set, the last array tells segments beside a mask or coefficients */
  rowscan_type second_type;       /* of a second output that is supposed */
  double params[4];
  rp_view more_views[RP_MOST_MORE + 1], second_view;
} rp_further;

/* What is asked for. Arrays that are not given are None. */
typedef struct rp_call {
  PyObject *x, *mask, *init, *totals, *out;
  long dim;
  rowscan_op op;
  unsigned flags;
  rowscan_type in_type, mask_type; /* of x and of a mask, as they were seen */
  rowscan_type out_type, acc_type; /* ROWSCAN_TYPE_DEFAULT: the library's convention */
  rowscan_mask_mode mask_mode;     /* of a mask, if there is one, which may also have coefficients, flags or keys;
                                      ROWSCAN_MASK_NONE: one that selects, and is not floating */
  enum { RP_SCAN, RP_PREPARE, RP_SPEC } wanted;
  rp_further *further; /* NULL: nothing of it */
  bool autocasts;      /* torch's autocast has a say in out_type, if that is ROWSCAN_TYPE_DEFAULT: see torch.h */
} rp_call;

/* Whether an operator has coefficients, which lie where others have a mask. */
bool rp_op_has_coefficient(rowscan_op op);

/* How many inputs an operator has beside x and coefficients. */
int rp_op_more(rowscan_op op);

/* How many numbers of a run; told for an operator of a user's, which the library does not tell of. */
int rp_op_params(rowscan_op op);
void rp_op_tell_params(rowscan_op op, int count);

/* Whether what lies in the place of a mask cuts rows into segments. */
static inline bool rp_has_segments(rowscan_mask_mode mode) {
  return mode >= ROWSCAN_MASK_HEADS;
}

/* The arrays of a call. One that is not given has the type ROWSCAN_TYPE_DEFAULT, and nothing else of it is looked at.
 */
typedef struct rp_views {
  rp_view x, out, mask, init, totals;
} rp_views;

/*
 * Sees the inputs and the totals in x's shape, makes dim count from the front, and settles the type of the output.
 * False: they are not what the library takes. rp_fit_out() then asks the same of the output. Neither these two nor
 * rp_run(), which does what is wanted, needs the GIL.
 */
bool rp_fit(rp_views *v, rp_call *call, rowscan_type unsigned_sum);
bool rp_fit_out(rp_views *v, const rp_call *call);
rowscan_status rp_run(const rp_call *call, const rp_views *v, void *stream, rowscan_spec *spec);

/*
 * Settles what a call leaves open, in it: dim is counted from the front, and types are known. Then RP_SCAN: the result,
 * which is out if that is given. RP_PREPARE: None, when all that the scan needs is ready. RP_SPEC: the text of its
 * spec. NotImplemented, with nothing done, where the arrays are not what the library takes as they are; NULL with an
 * exception.
 */
PyObject *rp_scan(rp_call *call, const rp_kind *kind);

#endif
