/*
 * gae.c - returns of a rollout, and its advantages and returns in one pass
 * SPDX-License-Identifier: MIT
 */
#include "gae.h"

#include "call.h"
#include "contexts.h"
#include "errors.h"
#include "torch.h"

/* ---- returns ----------------------------------------------------------------------------------------------------- */

PyObject *rp_returns(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != 4)
    return PyErr_Format(PyExc_TypeError, "returns takes 4 arguments, not %zd", count);
  PyObject *gamma = args[1], *done = args[2];
  if (!rp_is_number(gamma) || !PyLong_Check(args[3]))
    Py_RETURN_NOTIMPLEMENTED;
  int overflow;
  rp_further further = {.arrays = {done}, .second = Py_None, .count = 1, .segment_mode = ROWSCAN_MASK_TAILS};
  rp_call call = {.x = args[0],
                  .mask = gamma,
                  .init = Py_None,
                  .totals = Py_None,
                  .out = Py_None,
                  .dim = PyLong_AsLongAndOverflow(args[3], &overflow),
                  .op = ROWSCAN_LINEAR_RECURRENCE,
                  .flags = ROWSCAN_REVERSE,
                  .mask_mode = ROWSCAN_MASK_COEFFICIENT,
                  .further = done == Py_None ? NULL : &further};
  return overflow ? rp_new_ref(Py_NotImplemented) : rp_call_quick(&call);
}

/* ---- advantages -------------------------------------------------------------------------------------------------- */

enum { REWARDS, VALUES, NEXT_VALUES, TERMINATED, DONE, MASK, INPUTS, GAMMA = INPUTS, LAM, DIM, ACC, ARGUMENTS };

/* A call of gae(). */
typedef struct rollout {
  const rp_kind *kind;
  rp_view views[INPUTS], advantages, returns;
  rowscan_problem problem;
  void *stream;
} rollout;

/* Whether only numbers matter: no gradient is asked for. */
static rp_guard guard_of(PyObject *const *args, const rp_kind *kind) {
  rp_call call = {.x = args[REWARDS],
                  .mask = args[VALUES],
                  .init = args[NEXT_VALUES],
                  .totals = Py_None,
                  .out = Py_None,
                  .op = ROWSCAN_GAE};
  return kind->torch ? rp_torch_guard(&call, kind) : RP_GUARD_PLAIN;
}

/* Flags that are not given: of no step. */
static bool suppose_flags(rp_view *view, const rp_view *rewards) {
  static char none;
  static const int64_t extent = 1;
  *view = (rp_view){.data = &none, .type = ROWSCAN_BOOL, .rank = 1, .device = RP_HOST, .read_only = true};
  view->shape = view->strides = &extent;
  return rewards->device == RP_HOST;
}

/* Values, and the next ones: where these are not given, the same one step on, of values that are one longer. */
static bool split_values(rollout *all) {
  rp_view *values = &all->views[VALUES], *next = &all->views[NEXT_VALUES];
  const rp_view *rewards = &all->views[REWARDS];
  int dim = all->problem.dim;
  if (next->type)
    return rp_view_same_shape(values, rewards) && rp_view_same_shape(next, rewards) && next->type == rewards->type;
  if (values->rank != rewards->rank)
    return false;
  for (int d = 0; d < values->rank; d++)
    if (values->shape[d] != rewards->shape[d] + (d == dim))
      return false;
  int64_t step = 1;
  for (int d = values->rank - 1; d >= 0; d--) { /* strides of its own, for its shape changes */
    values->own[RP_MOST_RANK + d] = values->strides ? values->strides[d] : step;
    step *= values->shape[d];
  }
  values->strides = values->own + RP_MOST_RANK;
  *next = *values;
  next->data = (char *)values->data + values->strides[dim] * (int64_t)rowscan_type_bytes(values->type);
  next->strides = next->own + RP_MOST_RANK;
  values->shape = next->shape = rewards->shape;
  return true;
}

static bool fits(rollout *all, const rowscan_type acc) {
  const rp_view *rewards = &all->views[REWARDS];
  bool served = !acc || acc == ROWSCAN_F64 || (acc == ROWSCAN_F32 && rewards->type != ROWSCAN_F64);
  if (!served || !rp_is_floating(rewards->type) || all->views[VALUES].type != rewards->type || !split_values(all))
    return false;
  for (int i = TERMINATED; i <= MASK; i++) {
    rp_view *flags = &all->views[i];
    if (i == MASK && !flags->type)
      continue;
    if (flags->type != ROWSCAN_BOOL || !rp_view_broadcast(flags, rewards->rank, rewards->shape))
      return false;
  }
  return true;
}

/* dim as it is given, or that of rewards which have one alone. */
static bool take_dim(rollout *all, PyObject *given) {
  int overflow = 0, rank = all->views[REWARDS].rank;
  long dim = given == Py_None      ? (rank == 1 ? 0 : rank)
             : PyLong_Check(given) ? PyLong_AsLongAndOverflow(given, &overflow)
                                   : rank;
  if (overflow || dim < -rank || dim >= rank)
    return false;
  all->problem.dim = (int)(dim < 0 ? dim + rank : dim);
  return true;
}

/* Sees all arrays in the shape of the rewards. */
static rp_looked look_at_inputs(rollout *all, PyObject *const *args) {
  rp_view *rewards = &all->views[REWARDS];
  rp_looked looked = rp_look(rewards, all->kind, args[REWARDS]);
  for (int i = VALUES; i < INPUTS && looked == RP_SEEN; i++) {
    rp_view *view = &all->views[i];
    if (args[i] != Py_None)
      looked = rp_look_beside(view, args[i], all->kind, rewards);
    else if (i == NEXT_VALUES || i == MASK)
      view->type = ROWSCAN_TYPE_DEFAULT;
    else if (i == VALUES || !suppose_flags(view, rewards))
      looked = RP_DECLINED;
  }
  if (looked == RP_SEEN && !(take_dim(all, args[DIM]) && fits(all, all->problem.acc_type)))
    looked = RP_DECLINED;
  return looked;
}

static rowscan_output output_of(const rp_view *view) {
  return (rowscan_output){.data = view->data, .type = view->type, .strides = view->strides};
}

static rowscan_status run_gae(rollout *all) {
  rowscan_context *context;
  rowscan_problem *problem = &all->problem;
  const rp_view *rewards = &all->views[REWARDS];
  rowscan_status status = rp_context_of(rewards->device, &context);
  problem->rank = rewards->rank;
  problem->shape = rewards->shape;
  problem->input = rp_view_input(rewards);
  problem->output = output_of(&all->advantages);
  problem->second = output_of(&all->returns);
  for (int i = VALUES; i <= DONE; i++)
    problem->more[i - VALUES] = rp_view_input(&all->views[i]);
  if (all->views[MASK].type) {
    problem->mask = rp_view_input(&all->views[MASK]);
    problem->mask_mode = ROWSCAN_MASK_SELECT;
  }
  return status ? status : rowscan_scan(context, problem, all->stream);
}

/* A new array of rewards' shape; NULL: an exception is set. */
static PyObject *new_output(rollout *all, PyObject *rewards, rp_view *view) {
  const rp_view *like = &all->views[REWARDS];
  PyObject *made = rp_new_like(all->kind, rewards, like, like->type);
  if (made && rp_look_beside(view, made, all->kind, like) != RP_SEEN) {
    Py_DECREF(made);
    made = NULL;
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "a new array can't be written where it lies");
  }
  return made;
}

static PyObject *fill_outputs(rollout *all, PyObject *rewards) {
  PyObject *advantages = new_output(all, rewards, &all->advantages);
  PyObject *returns = advantages ? new_output(all, rewards, &all->returns) : NULL;
  PyObject *both = returns ? PyTuple_Pack(2, advantages, returns) : NULL;
  Py_XDECREF(advantages);
  Py_XDECREF(returns);
  if (!both)
    return NULL;
  PyThreadState *state = PyEval_SaveThread();
  rowscan_status status = run_gae(all);
  PyEval_RestoreThread(state);
  if (!status)
    return both;
  Py_DECREF(both);
  return rp_fail(status);
}

PyObject *rp_gae(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count != ARGUMENTS)
    return PyErr_Format(PyExc_TypeError, "gae takes %d arguments, not %zd", ARGUMENTS, count);
  if (!rp_is_number(args[GAMMA]) || !rp_is_number(args[LAM]))
    Py_RETURN_NOTIMPLEMENTED;
  rollout all = {.kind = rp_kind_of(args[REWARDS], false),
                 .problem = {.size = sizeof all.problem,
                             .op = ROWSCAN_GAE,
                             .flags = ROWSCAN_REVERSE,
                             .acc_type = (rowscan_type)PyLong_AsLong(args[ACC]),
                             .params = {PyFloat_AsDouble(args[GAMMA]), PyFloat_AsDouble(args[LAM])}}};
  if (PyErr_Occurred())
    return NULL;
  rp_guard guard = all.kind ? guard_of(args, all.kind) : RP_GUARD_OTHER;
  rp_looked looked = guard == RP_GUARD_FAILED  ? RP_FAILED
                     : guard != RP_GUARD_PLAIN ? RP_DECLINED
                                               : look_at_inputs(&all, args);
  if (looked == RP_SEEN && !rp_stream_of(all.kind, &all.views[REWARDS], &all.stream))
    looked = RP_FAILED;
  if (looked != RP_SEEN)
    return looked == RP_DECLINED ? rp_new_ref(Py_NotImplemented) : NULL;
  return fill_outputs(&all, args[REWARDS]);
}
