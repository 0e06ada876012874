/*
 * scan.c - one scan of arrays, once all of their library's conventions are settled
 * SPDX-License-Identifier: MIT
 */
#include "scan.h"

#include "contexts.h"
#include "errors.h"

typedef struct views {
  rp_view x, out, mask, init, totals;
} views;

static const int64_t one = 1;

/* An array without dimensions is a row of one element. */
static void give_dimension(rp_view *view) {
  if (view->rank)
    return;
  view->rank = 1;
  view->shape = view->strides = &one;
}

static bool is_floating(rowscan_type type) {
  return type >= ROWSCAN_F16 && type <= ROWSCAN_F64;
}

/* An array that may be left out, seen in x's shape; with `rows`, in that with a scanned dimension of 1. */
static rp_looked look_at(rp_view *view, PyObject *array, const rp_kind *kind, const rp_view *x, long dim, bool rows) {
  if (array == Py_None)
    return RP_SEEN;
  rp_looked looked = rp_look_beside(view, array, kind, x);
  if (looked != RP_SEEN)
    return looked;
  int64_t shape[RP_MOST_RANK];
  for (int d = 0; d < x->rank; d++)
    shape[d] = rows && d == dim ? 1 : x->shape[d];
  return rp_view_broadcast(view, x->rank, shape) ? RP_SEEN : RP_DECLINED;
}

/* Totals are written: they have the shape of the rows, and none is repeated. */
static rp_looked look_at_totals(rp_view *view, PyObject *array, const rp_kind *kind, const rp_view *x, long dim) {
  rp_looked looked = look_at(view, array, kind, x, dim, true);
  for (int d = 0; array != Py_None && looked == RP_SEEN && d < x->rank; d++)
    if (view->shape[d] > 1 && view->strides[d] == 0)
      return RP_DECLINED;
  return looked;
}

static rp_looked look_at_out(rp_view *view, PyObject *out, const rp_kind *kind, const rp_call *call, const rp_view *x) {
  rp_looked looked = rp_look_beside(view, out, kind, x);
  if (looked != RP_SEEN)
    return looked;
  give_dimension(view);
  if (view->rank != x->rank || view->read_only || (call->out_type && view->type != call->out_type) ||
      is_floating(view->type) != is_floating(view->type | x->type))
    return RP_DECLINED;
  for (int d = 0; d < x->rank; d++)
    if (view->shape[d] != x->shape[d] + (d == call->dim && call->flags & ROWSCAN_INCLUDE_INITIAL))
      return RP_DECLINED;
  return RP_SEEN;
}

static rowscan_status run(const rp_call *call, const views *v, void *stream, rowscan_spec *spec) {
  rowscan_problem problem = {.size = sizeof problem,
                             .op = call->op,
                             .flags = call->flags,
                             .rank = v->x.rank,
                             .dim = (int)call->dim,
                             .shape = v->x.shape,
                             .input = {.data = v->x.data, .type = v->x.type, .strides = v->x.strides},
                             .output = {.data = v->out.data, .type = v->out.type, .strides = v->out.strides},
                             .acc_type = call->acc_type};
  if (call->mask != Py_None) {
    problem.mask = (rowscan_input){.data = v->mask.data, .type = v->mask.type, .strides = v->mask.strides};
    problem.mask_mode = call->mask_mode;
  }
  if (call->init != Py_None)
    problem.init = (rowscan_input){.data = v->init.data, .type = v->init.type, .strides = v->init.strides};
  if (call->totals != Py_None)
    problem.totals = (rowscan_output){.data = v->totals.data, .type = v->totals.type, .strides = v->totals.strides};
  if (call->wanted == RP_SPEC)
    return rowscan_problem_spec(&problem, spec);
  rowscan_context *context;
  rowscan_status status = rp_context_of(v->x.device, &context);
  if (status)
    return status;
  return call->wanted == RP_PREPARE ? rowscan_prepare(context, &problem) : rowscan_scan(context, &problem, stream);
}

/* Looks at all arrays, and settles the type of the output in `call`. */
static rp_looked look_at_all(views *v, rp_call *call, const rp_kind *kind) {
  rp_looked looked = rp_look(&v->x, kind, call->x);
  if (looked != RP_SEEN)
    return looked;
  give_dimension(&v->x);
  if (call->dim < -v->x.rank || call->dim >= v->x.rank)
    return RP_DECLINED;
  call->dim += call->dim < 0 ? v->x.rank : 0;
  if (!call->out_type && call->out == Py_None)
    call->out_type = rp_default_out(kind, v->x.type);
  if (call->out_type && is_floating(v->x.type) && !is_floating(call->out_type)) /* elements are converted first */
    return RP_DECLINED;
  if ((looked = look_at(&v->mask, call->mask, kind, &v->x, call->dim, false)) != RP_SEEN ||
      (looked = look_at(&v->init, call->init, kind, &v->x, call->dim, true)) != RP_SEEN)
    return looked;
  return look_at_totals(&v->totals, call->totals, kind, &v->x, call->dim);
}

/* A stand-in for the output of what is not run: in C order, in memory that begins as an allocation does. */
static void suppose_out(rp_view *out, const rp_view *x, rowscan_type type) {
  static _Alignas(256) char aligned[1];
  *out = (rp_view){.data = aligned, .type = type, .rank = x->rank, .device = x->device, .shape = x->shape};
}

static PyObject *spec_text(const rowscan_spec *spec) {
  char *text;
  rowscan_status status = rowscan_spec_text(spec, &text);
  if (status)
    return rp_fail(status);
  PyObject *made = PyUnicode_FromString(text);
  rowscan_free(text);
  return made;
}

PyObject *rp_scan(const rp_call *given, const rp_kind *kind) {
  rp_call call = *given;
  views v;
  rp_looked looked = look_at_all(&v, &call, kind);
  if (looked == RP_DECLINED)
    Py_RETURN_NOTIMPLEMENTED;
  if (looked == RP_FAILED)
    return NULL;
  PyObject *out = NULL;
  if (call.out == Py_None && call.wanted) {
    suppose_out(&v.out, &v.x, call.out_type);
    out = rp_new_ref(Py_None);
  } else {
    /* x's own view may be that of a row of one element; a new array is made like the array itself. */
    out = call.out != Py_None ? rp_new_ref(call.out) : rp_new_like(kind, call.x, &v.x, call.out_type);
    looked = out ? look_at_out(&v.out, out, kind, &call, &v.x) : RP_FAILED;
  }
  void *stream;
  if (looked == RP_SEEN && !rp_stream_of(kind, &v.x, &stream))
    looked = RP_FAILED;
  if (looked != RP_SEEN) {
    Py_XDECREF(out);
    return looked == RP_DECLINED ? rp_new_ref(Py_NotImplemented) : NULL;
  }
  rowscan_spec spec = {.size = sizeof spec};
  PyThreadState *state = PyEval_SaveThread();
  rowscan_status status = run(&call, &v, stream, &spec);
  PyEval_RestoreThread(state);
  if (!status && call.wanted == RP_SCAN)
    return out;
  Py_DECREF(out);
  return status ? rp_fail(status) : call.wanted == RP_SPEC ? spec_text(&spec) : rp_new_ref(Py_None);
}
