/*
 * gae.c - advantages and returns of a rollout in one pass
 * SPDX-License-Identifier: MIT
 */
#include "gae.h"

#include "contexts.h"
#include "errors.h"
#include "torch.h"

enum {
  REWARDS,
  VALUES,
  NEXT_VALUES,
  TERMINATED,
  DONE,
  ADVANTAGES,
  RETURNS,
  ARRAYS,
  GAMMA = ARRAYS,
  LAM,
  DIM,
  ACC,
  ARGUMENTS
};

/* Whether only numbers matter: no gradient is asked for. */
static rp_guard guard_of(PyObject *const *args, const rp_kind *kind) {
  rp_call call = {
      .x = args[REWARDS], .mask = args[VALUES], .init = args[NEXT_VALUES], .totals = Py_None, .out = Py_None};
  return kind->torch ? rp_torch_guard(&call, kind) : RP_GUARD_PLAIN;
}

static bool fits(rp_view *view, int which, const rp_view *rewards) {
  bool flags = which == TERMINATED || which == DONE;
  return view->type == (flags ? ROWSCAN_BOOL : rewards->type) &&
         (which < ADVANTAGES || (!view->read_only && rp_view_same_shape(view, rewards))) &&
         rp_view_broadcast(view, rewards->rank, rewards->shape);
}

/* Sees all arrays in the shape of the rewards. */
static rp_looked look_at_arrays(rp_view views[ARRAYS], PyObject *const *args, const rp_kind *kind) {
  rp_looked looked = rp_look(&views[REWARDS], kind, args[REWARDS]);
  for (int i = VALUES; i < ARRAYS && looked == RP_SEEN; i++) {
    looked = rp_look_beside(&views[i], args[i], kind, &views[REWARDS]);
    if (looked == RP_SEEN && !fits(&views[i], i, &views[REWARDS]))
      looked = RP_DECLINED;
  }
  return looked;
}

static rowscan_output output_of(const rp_view *view) {
  return (rowscan_output){.data = view->data, .type = view->type, .strides = view->strides};
}

static rowscan_status run_gae(const rp_view views[ARRAYS], rowscan_problem *problem, void *stream) {
  rowscan_context *context;
  rowscan_status status = rp_context_of(views[REWARDS].device, &context);
  problem->rank = views[REWARDS].rank;
  problem->shape = views[REWARDS].shape;
  problem->input = rp_view_input(&views[REWARDS]);
  problem->output = output_of(&views[ADVANTAGES]);
  problem->second = output_of(&views[RETURNS]);
  for (int i = VALUES; i <= DONE; i++)
    problem->more[i - VALUES] = rp_view_input(&views[i]);
  return status ? status : rowscan_scan(context, problem, stream);
}

PyObject *rp_gae(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  rp_view views[ARRAYS];
  void *stream;
  if (count != ARGUMENTS)
    return PyErr_Format(PyExc_TypeError, "gae takes %d arguments, not %zd", ARGUMENTS, count);
  rowscan_problem problem = {.size = sizeof problem,
                             .op = ROWSCAN_GAE,
                             .flags = ROWSCAN_REVERSE,
                             .dim = (int)PyLong_AsLong(args[DIM]),
                             .acc_type = (rowscan_type)PyLong_AsLong(args[ACC]),
                             .params = {PyFloat_AsDouble(args[GAMMA]), PyFloat_AsDouble(args[LAM])}};
  if (PyErr_Occurred())
    return NULL;
  const rp_kind *kind = rp_kind_of(args[REWARDS], false);
  rp_guard guard = kind ? guard_of(args, kind) : RP_GUARD_OTHER;
  rp_looked looked = guard == RP_GUARD_FAILED  ? RP_FAILED
                     : guard != RP_GUARD_PLAIN ? RP_DECLINED
                                               : look_at_arrays(views, args, kind);
  if (looked == RP_SEEN && !rp_stream_of(kind, &views[REWARDS], &stream))
    looked = RP_FAILED;
  if (looked != RP_SEEN)
    return looked == RP_DECLINED ? rp_new_ref(Py_NotImplemented) : NULL;
  PyThreadState *state = PyEval_SaveThread();
  rowscan_status status = run_gae(views, &problem, stream);
  PyEval_RestoreThread(state);
  return status ? rp_fail(status) : rp_new_ref(Py_None);
}
