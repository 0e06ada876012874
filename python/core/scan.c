/*
 * scan.c - one scan of arrays, once all of their library's conventions are settled
 * SPDX-License-Identifier: MIT
 */
#include "scan.h"

#include <math.h>
#include <string.h>

#include "contexts.h"
#include "errors.h"
#include "shard.h"
#include "torch.h"

static const int64_t one = 1;

/* An array without dimensions is a row of one element. */
static void give_dimension(rp_view *view) {
  if (view->rank)
    return;
  view->rank = 1;
  view->shape = view->strides = &one;
}

/* A complete spec of an operator; one of a user's may be of either of these types. */
static rowscan_spec spec_of(rowscan_op op) {
  static const rowscan_type served[] = {ROWSCAN_F32, ROWSCAN_I32};
  rowscan_spec spec;
  for (int i = 0; i < 2; i++) {
    spec = (rowscan_spec){.size = sizeof spec, .op = op, .in_type = served[i], .length = 1};
    if (!rowscan_spec_complete(&spec))
      break;
  }
  return spec;
}

bool rp_op_has_coefficient(rowscan_op op) {
  return op == ROWSCAN_LINEAR_RECURRENCE ||
         (op >= ROWSCAN_FIRST_CREATED && spec_of(op).mask_mode == ROWSCAN_MASK_COEFFICIENT);
}

int rp_op_more(rowscan_op op) {
  if (op < ROWSCAN_GAE) /* as in most calls */
    return 0;
  rowscan_spec spec = spec_of(op);
  int count = 0;
  while (count < RP_MOST_MORE && spec.more_types[count])
    count++;
  return count;
}

enum { MOST_CREATED = 64 };
static signed char params_of[MOST_CREATED];

int rp_op_params(rowscan_op op) {
  unsigned number = (unsigned)op - ROWSCAN_FIRST_CREATED;
  if (op < ROWSCAN_FIRST_CREATED)
    return op == ROWSCAN_GAE ? 2 : op == ROWSCAN_DECAYED_SUM;
  return number < MOST_CREATED ? params_of[number] : 0;
}

void rp_op_tell_params(rowscan_op op, int count) {
  unsigned number = (unsigned)op - ROWSCAN_FIRST_CREATED;
  if (number < MOST_CREATED)
    params_of[number] = (signed char)count;
}

/* Whether elements would be converted before they are scanned. */
static bool converts_first(rowscan_op op, rowscan_type in, rowscan_type out) {
  return rp_is_floating(in) && !rp_is_floating(out) && !rp_op_makes_indices(op);
}

/* In x's shape; with `rows`, in that with a scanned dimension of 1. */
static bool fit(rp_view *view, const rp_view *x, long dim, bool rows) {
  int64_t shape[RP_MOST_RANK];
  if (!view->type)
    return true;
  for (int d = 0; d < x->rank; d++)
    shape[d] = rows && d == dim ? 1 : x->shape[d];
  return rp_view_broadcast(view, x->rank, shape);
}

/* Whether x is multiplied by what lies in the place of a mask. */
static bool multiplies(rowscan_mask_mode mode) {
  return mode == ROWSCAN_MASK_MULTIPLY || mode == ROWSCAN_MASK_COEFFICIENT;
}

/* Whether the library has room for keys beside totals; if not, Python compares neighbours itself. */
static bool keys_fit(const rp_call *call, const rp_views *v) {
  rowscan_spec spec = {.size = sizeof spec,
                       .op = call->op,
                       .in_type = v->x.type,
                       .out_type = call->out_type ? call->out_type : v->out.type,
                       .acc_type = call->acc_type,
                       .mask_mode = ROWSCAN_MASK_KEYS,
                       .mask_type = v->mask.type,
                       .length = 1};
  return rowscan_spec_complete(&spec) != ROWSCAN_UNSUPPORTED;
}

/* The mode of a mask that comes without a word for it. False: it may be meant to multiply. */
static bool settle_mask_mode(rp_call *call, const rp_views *v) {
  if (call->mask_mode || !v->mask.type)
    return true;
  if (rp_is_floating(v->mask.type))
    return false;
  call->mask_mode = ROWSCAN_MASK_SELECT;
  return true;
}

/* A mask of a type that the library takes. Where uint8 as a factor of bool decides y's type, Python has its say. */
static bool mask_fits(const rp_call *call, const rp_views *v, bool decides) {
  rowscan_type type = v->mask.type;
  if (type && call->mask_mode == ROWSCAN_MASK_KEYS)
    return !rp_is_floating(type) && keys_fit(call, v);
  return !type || type == v->x.type || type == ROWSCAN_BOOL ||
         (type == ROWSCAN_U8 && (!multiplies(call->mask_mode) || !decides || v->x.type != ROWSCAN_BOOL));
}

/* Totals are written: none is repeated. */
static bool totals_fit(const rp_views *v) {
  for (int d = 0; v->totals.type && !rp_view_is_empty(&v->totals) && d < v->x.rank; d++)
    if (v->totals.shape[d] > 1 && !v->totals.strides[d])
      return false;
  return true;
}

bool rp_fit(rp_views *v, rp_call *call, rowscan_type unsigned_sum) {
  give_dimension(&v->x);
  if (call->dim < -v->x.rank || call->dim >= v->x.rank)
    return false;
  call->dim += call->dim < 0 ? v->x.rank : 0;
  bool decides = !call->out_type && !v->out.type;
  if (decides)
    call->out_type = rp_default_out(call->op, unsigned_sum, v->x.type);
  if (call->out_type && converts_first(call->op, v->x.type, call->out_type))
    return false;
  return fit(&v->mask, &v->x, call->dim, false) && fit(&v->init, &v->x, call->dim, true) &&
         fit(&v->totals, &v->x, call->dim, true) && settle_mask_mode(call, v) && mask_fits(call, v, decides) &&
         totals_fit(v);
}

bool rp_fit_out(rp_views *v, const rp_call *call) {
  give_dimension(&v->out);
  if (v->out.rank != v->x.rank || v->out.read_only || (call->out_type && v->out.type != call->out_type) ||
      converts_first(call->op, v->x.type, v->out.type))
    return false;
  for (int d = 0; d < v->x.rank; d++)
    if (v->out.shape[d] != v->x.shape[d] + (d == call->dim && call->flags & ROWSCAN_INCLUDE_INITIAL))
      return false;
  return true;
}

static void add_further(rowscan_problem *problem, const rp_further *further) {
  int more = further->count - (further->segment_mode ? 1 : 0);
  for (int i = 0; i < more; i++)
    problem->more[i] = rp_view_input(&further->more_views[i]);
  if (further->segment_mode) {
    problem->segments = rp_view_input(&further->more_views[more]);
    problem->segment_mode = further->segment_mode;
  }
  const rp_view *second = &further->second_view;
  if (second->type)
    problem->second = (rowscan_output){.data = second->data, .type = second->type, .strides = second->strides};
  memcpy(problem->params, further->params, sizeof problem->params);
}

rowscan_status rp_run(const rp_call *call, const rp_views *v, void *stream, rowscan_spec *spec) {
  rowscan_problem problem = {.size = sizeof problem,
                             .op = call->op,
                             .flags = call->flags,
                             .rank = v->x.rank,
                             .dim = (int)call->dim,
                             .shape = v->x.shape,
                             .input = {.data = v->x.data, .type = v->x.type, .strides = v->x.strides},
                             .output = {.data = v->out.data, .type = v->out.type, .strides = v->out.strides},
                             .acc_type = call->acc_type};
  if (v->mask.type) {
    problem.mask = (rowscan_input){.data = v->mask.data, .type = v->mask.type, .strides = v->mask.strides};
    problem.mask_mode = call->mask_mode;
  }
  if (v->init.type)
    problem.init = (rowscan_input){.data = v->init.data, .type = v->init.type, .strides = v->init.strides};
  if (v->totals.type)
    problem.totals = (rowscan_output){.data = v->totals.data, .type = v->totals.type, .strides = v->totals.strides};
  if (call->further)
    add_further(&problem, call->further);
  if (call->wanted == RP_SPEC)
    return rowscan_problem_spec(&problem, spec);
  rowscan_context *context;
  rowscan_status status = rp_context_of(v->x.device, &context);
  if (status)
    return status;
  return call->wanted == RP_PREPARE ? rowscan_prepare(context, &problem) : rp_shard_scan(context, &problem, stream);
}

static rp_looked look_beside(rp_view *view, PyObject *array, const rp_kind *kind, const rp_view *x) {
  view->type = ROWSCAN_TYPE_DEFAULT;
  return array == Py_None ? RP_SEEN : rp_look_beside(view, array, kind, x);
}

/*
 * A number as a coefficient, rounded as an array of x's type would have it: beside elements of f32 or f64. Halves, of
 * which rounded coefficients would make another recurrence, and whole numbers are left to Python.
 */
static bool coefficient_of(double *value, PyObject *number, const rp_view *x) {
  if (x->type != ROWSCAN_F32 && x->type != ROWSCAN_F64)
    return false;
  *value = PyFloat_AsDouble(number);
  if (PyErr_Occurred()) { /* too large */
    PyErr_Clear();
    return false;
  }
  float single = (float)*value;
  if (x->type == ROWSCAN_F64)
    return true;
  bool fits = !isinf(single) || isinf(*value); /* torch refuses what is too large, NumPy warns */
  *value = (double)single;
  return fits;
}

/* In the host's memory the view holds it. */
static rp_looked look_at_number(rp_view *view, PyObject *number, const rp_view *x) {
  double value;
  if (x->device != RP_HOST || !coefficient_of(&value, number, x))
    return RP_DECLINED;
  float single = (float)value;
  memcpy(&view->number, x->type == ROWSCAN_F32 ? (void *)&single : (void *)&value, rowscan_type_bytes(x->type));
  view->data = &view->number;
  view->type = x->type;
  view->rank = 0;
  view->device = RP_HOST;
  view->read_only = true;
  view->shape = view->strides = NULL;
  return RP_SEEN;
}

/* A mask, or what lies in its place. A number there alone is a parameter of the run. */
static rp_looked look_at_mask(rp_view *view, rp_call *call, rp_further *decay, const rp_kind *kind, const rp_view *x) {
  if (call->mask_mode != ROWSCAN_MASK_COEFFICIENT || !rp_is_number(call->mask))
    return look_beside(view, call->mask, kind, x);
  if (call->op != ROWSCAN_LINEAR_RECURRENCE || call->further)
    return look_at_number(view, call->mask, x);
  view->type = ROWSCAN_TYPE_DEFAULT;
  decay->second = Py_None;
  decay->count = 0;
  decay->segment_mode = ROWSCAN_MASK_NONE;
  decay->second_type = ROWSCAN_TYPE_DEFAULT;
  memset(decay->params, 0, sizeof decay->params);
  if (!coefficient_of(&decay->params[0], call->mask, x))
    return RP_DECLINED;
  call->further = decay;
  call->op = ROWSCAN_DECAYED_SUM;
  call->mask_mode = ROWSCAN_MASK_NONE;
  return RP_SEEN;
}

/* A stand-in for the output of what is not run: in C order, in memory that begins as an allocation does. */
static void suppose_out(rp_view *out, const rp_view *x, rowscan_type type) {
  static _Alignas(256) char aligned[1];
  *out = (rp_view){.data = aligned, .type = type, .rank = x->rank, .device = x->device, .shape = x->shape};
}

/* Types that the library takes beside x's. Where uint8 as a factor of bool may decide y's type, Python has its say. */
static bool takes_further(rowscan_type type, rowscan_type x, bool keys) {
  return keys ? !rp_is_floating(type) : type == x || type == ROWSCAN_BOOL || (type == ROWSCAN_U8 && x != ROWSCAN_BOOL);
}

/* Sees them in x's shape; a second output is no broadcast one. */
static rp_looked look_at_further(rp_further *further, const rp_call *call, const rp_views *v, const rp_kind *kind) {
  rp_looked looked = RP_SEEN;
  for (int i = 0; i < further->count && looked == RP_SEEN; i++) {
    rp_view *view = &further->more_views[i];
    bool segments = further->segment_mode && i == further->count - 1;
    bool number = !segments && rp_op_has_coefficient(call->op) && rp_is_number(further->arrays[i]);
    looked = number ? look_at_number(view, further->arrays[i], &v->x)
                    : rp_look_beside(view, further->arrays[i], kind, &v->x);
    bool keys = segments && further->segment_mode == ROWSCAN_MASK_KEYS;
    if (looked == RP_SEEN && (!fit(view, &v->x, call->dim, false) || !takes_further(view->type, v->x.type, keys)))
      looked = RP_DECLINED;
  }
  rp_view *second = &further->second_view;
  second->type = ROWSCAN_TYPE_DEFAULT;
  if (looked != RP_SEEN || further->second == Py_None) {
    if (looked == RP_SEEN && further->second_type)
      suppose_out(second, &v->x, further->second_type);
    return looked;
  }
  looked = rp_look_beside(second, further->second, kind, &v->x);
  give_dimension(second);
  return looked == RP_SEEN && (second->read_only || !rp_view_same_shape(second, &v->x)) ? RP_DECLINED : looked;
}

/* Looks at all arrays but an output that is still to be made, and settles its type in `call`, whose further arrays may
 * become `decay`. */
static rp_looked look_at_all(rp_views *v, rp_call *call, rp_further *decay, const rp_kind *kind) {
  rp_looked looked = rp_look(&v->x, kind, call->x);
  if (looked != RP_SEEN || (looked = look_at_mask(&v->mask, call, decay, kind, &v->x)) != RP_SEEN ||
      (looked = look_beside(&v->init, call->init, kind, &v->x)) != RP_SEEN ||
      (looked = look_beside(&v->totals, call->totals, kind, &v->x)) != RP_SEEN ||
      (looked = look_beside(&v->out, call->out, kind, &v->x)) != RP_SEEN)
    return looked;
  if (!v->x.rank && !kind->torch) /* torch's results have no dimension then either, others' have one */
    return RP_DECLINED;
  call->in_type = v->x.type;
  call->mask_type = v->mask.type;
  int autocast = call->autocasts && kind->torch ? rp_torch_autocasts(call, &v->x) : 0;
  if (autocast < 0)
    return RP_FAILED;
  if (autocast)
    call->out_type = ROWSCAN_F32;
  if (!rp_fit(v, call, kind->unsigned_sum))
    return RP_DECLINED;
  return call->further ? look_at_further(call->further, call, v, kind) : RP_SEEN;
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

/* What look_at_mask() made of a number; `declined`: Python gets the call as it was. */
static void forget_decay(rp_call *call, const rp_further *decay, bool declined) {
  if (call->further != decay)
    return;
  call->further = NULL;
  if (declined) {
    call->op = ROWSCAN_LINEAR_RECURRENCE;
    call->mask_mode = ROWSCAN_MASK_COEFFICIENT;
  }
}

/* The scan of arrays that were looked at; what rp_scan() says. */
static PyObject *scan_seen(rp_call *call, const rp_kind *kind, rp_views *v) {
  rp_looked looked = RP_SEEN;
  PyObject *out = NULL;
  if (call->out == Py_None && call->wanted) {
    suppose_out(&v->out, &v->x, call->out_type);
    out = rp_new_ref(Py_None);
  } else {
    /* x's own view may be that of a row of one element; a new array is made like the array itself. */
    out = call->out != Py_None ? rp_new_ref(call->out) : rp_new_like(kind, call->x, &v->x, call->out_type);
    looked = !out ? RP_FAILED : call->out != Py_None ? RP_SEEN : rp_look_beside(&v->out, out, kind, &v->x);
    if (looked == RP_SEEN && !rp_fit_out(v, call))
      looked = RP_DECLINED;
  }
  void *stream;
  if (looked == RP_SEEN && !rp_stream_of(kind, &v->x, &stream))
    looked = RP_FAILED;
  if (looked != RP_SEEN) {
    Py_XDECREF(out);
    return looked == RP_DECLINED ? rp_new_ref(Py_NotImplemented) : NULL;
  }
  rowscan_spec spec = {.size = sizeof spec};
  PyThreadState *state = PyEval_SaveThread();
  rowscan_status status = rp_run(call, v, stream, &spec);
  PyEval_RestoreThread(state);
  if (!status && call->wanted == RP_SCAN)
    return out;
  Py_DECREF(out);
  return status ? rp_fail(status) : call->wanted == RP_SPEC ? spec_text(&spec) : rp_new_ref(Py_None);
}

PyObject *rp_scan(rp_call *call, const rp_kind *kind) {
  rp_views v;
  rp_further decay;
  rp_looked looked = look_at_all(&v, call, &decay, kind);
  PyObject *y = looked == RP_SEEN       ? scan_seen(call, kind, &v)
                : looked == RP_DECLINED ? rp_new_ref(Py_NotImplemented)
                                        : NULL;
  forget_decay(call, &decay, y == Py_NotImplemented);
  return y;
}
