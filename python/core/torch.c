/*
 * torch.c - what torch must see for itself, and the node that records a scan
 * SPDX-License-Identifier: MIT
 *
 * The node is an autograd.Function whose forward is gradient.c's, and whose context's apply() goes backward there.
 * Function's own apply has a half in Python that serves torch.func's transforms, which the guard leaves to
 * rowscan/_torch.py.
 */
#include "torch.h"

/* Of torch and rowscan/_torch.py: functions, and the module of forward-mode differentiation, whose level is -1 where it
 * is off. */
static struct {
  PyObject *grad_enabled; /* torch.is_grad_enabled() */
  PyObject *autocast;     /* a tuple of functions (), all of which are true where autocast is on for CUDA */
  PyObject *watchers;     /* a tuple of such tuples: for whatever may look through the dispatcher */
  PyObject *is_neg;       /* torch.Tensor.is_neg(x) */
  PyObject *written;      /* (tensors): counts a version up */
  PyObject *forward_ad;   /* torch.autograd.forward_ad */
  PyObject *node;         /* (what is kept): apply() of a new class of nodes, of torch._C._FunctionBase */
  PyObject *backward;     /* (what is kept, what is saved or None, a number as coefficient or None, which inputs want
                             gradients, gradient): what gradient.c leaves to Python */
} torch;

static PyObject *s_requires_grad, *s_level, *s_shape;

/* ---- guards ------------------------------------------------------------------------------------------------------ */

/* Whether all functions () of a tuple return what is true: 1 or 0; -1 with an exception. */
static int are_all(PyObject *functions) {
  int is = 1;
  Py_ssize_t count = PyTuple_Size(functions);
  for (Py_ssize_t i = 0; i < count && is == 1; i++)
    is = rp_truth(PyObject_CallNoArgs(PyTuple_GetItem(functions, i)));
  return is;
}

/* A tensor with the negative bit, x.conj().imag, shows its elements with the wrong sign to all but torch. */
static rp_guard guard_tensor(PyObject *tensor, bool *gradient) {
  int is = rp_truth(PyObject_GetAttr(tensor, s_requires_grad));
  *gradient = is == 1;
  if (is >= 0)
    is = rp_truth(PyObject_CallFunctionObjArgs(torch.is_neg, tensor, NULL));
  return is < 0 ? RP_GUARD_FAILED : is ? RP_GUARD_OTHER : RP_GUARD_PLAIN;
}

static rp_guard guard_thread(void) {
  Py_ssize_t count = PyTuple_Size(torch.watchers);
  for (Py_ssize_t i = 0; i < count; i++) {
    int looks = are_all(PyTuple_GetItem(torch.watchers, i));
    if (looks)
      return looks < 0 ? RP_GUARD_FAILED : RP_GUARD_OTHER;
  }
  PyObject *level = PyObject_GetAttr(torch.forward_ad, s_level);
  long number = level ? PyLong_AsLong(level) : -1;
  Py_XDECREF(level);
  return PyErr_Occurred() ? RP_GUARD_FAILED : number >= 0 ? RP_GUARD_OTHER : RP_GUARD_PLAIN;
}

/* Whether two tensors have one shape: 1 or 0; -1 with an exception. */
static int have_one_shape(PyObject *a, PyObject *b) {
  PyObject *of_a = PyObject_GetAttr(a, s_shape), *of_b = of_a ? PyObject_GetAttr(b, s_shape) : NULL;
  int is = of_b ? PyObject_RichCompareBool(of_a, of_b, Py_EQ) : -1;
  Py_XDECREF(of_a);
  Py_XDECREF(of_b);
  return is;
}

/* Whether the node has a gradient for what is asked for: 1 or 0; -1 with an exception. of_others: that of the mask is
 * wanted, or of what lies in its place. */
static int is_recorded(const rp_call *call, bool of_others) {
  bool plain = !call->further && call->out == Py_None && call->init == Py_None && call->totals == Py_None &&
               !call->acc_type && !(call->flags & ROWSCAN_OMIT_NAN);
  switch ((int)call->op) {
  case ROWSCAN_SUM:
    return plain && !of_others;
  case ROWSCAN_PROD:
  case ROWSCAN_MAX:
  case ROWSCAN_MIN:
  case ROWSCAN_LOGSUMEXP:
    return plain && !of_others && !call->out_type && call->mask == Py_None;
  case ROWSCAN_LINEAR_RECURRENCE:
    if (!plain || call->out_type || call->mask_mode != ROWSCAN_MASK_COEFFICIENT)
      return 0;
    return rp_is_number(call->mask) ? 1 : have_one_shape(call->x, call->mask);
  default:
    return 0;
  }
}

static rp_guard guard_gradient(const rp_call *call, bool of_others) {
  int is = rp_truth(PyObject_CallNoArgs(torch.grad_enabled));
  if (is <= 0)
    return is < 0 ? RP_GUARD_FAILED : RP_GUARD_PLAIN;
  is = is_recorded(call, of_others);
  return is < 0 ? RP_GUARD_FAILED : is ? RP_GUARD_GRADIENT : RP_GUARD_OTHER;
}

rp_guard rp_torch_guard(const rp_call *call, const rp_kind *kind) {
  bool gradient, of_others = false;
  rp_guard guard = guard_thread();
  if (guard == RP_GUARD_PLAIN)
    guard = guard_tensor(call->x, &gradient);
  enum { OTHERS = 3 };
  PyObject *others[OTHERS + RP_MOST_MORE + 1] = {call->mask, call->init, call->out};
  int count = OTHERS + (call->further ? call->further->count : 0);
  for (int i = OTHERS; i < count; i++)
    others[i] = call->further->arrays[i - OTHERS];
  for (int i = 0; i < count && guard == RP_GUARD_PLAIN; i++)
    if (others[i] != Py_None && !rp_is_number(others[i])) {
      bool its;
      const rp_kind *of = Py_TYPE(others[i]) == kind->type ? kind : rp_kind_of(others[i], false);
      guard = !of || !of->torch ? RP_GUARD_OTHER : guard_tensor(others[i], &its);
      of_others |= its;
    }
  if (guard != RP_GUARD_PLAIN || !(gradient || of_others))
    return guard;
  return guard_gradient(call, of_others);
}

int rp_torch_autocasts(const rp_call *call, const rp_view *x) {
  bool casts = !call->out_type && call->out == Py_None && (call->op == ROWSCAN_SUM || call->op == ROWSCAN_PROD) &&
               (x->type == ROWSCAN_F16 || x->type == ROWSCAN_BF16) && x->device != RP_HOST;
  return casts ? are_all(torch.autocast) : 0;
}

bool rp_torch_written(PyObject *array) {
  PyObject *tuple = PyTuple_Pack(1, array),
           *none = tuple ? PyObject_CallFunctionObjArgs(torch.written, tuple, NULL) : NULL;
  Py_XDECREF(tuple);
  Py_XDECREF(none);
  return none != NULL;
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

/* What the gradient depends on besides tensors is kept by the node's class: apply() of the one for this. */
static PyObject *apply_of(const rp_call *call, int mask_mode) {
  static PyObject *classes; /* by what they keep */
  if (!classes && !(classes = PyDict_New()))
    return NULL;
  PyObject *kept = Py_BuildValue("(lIiiii)", call->dim, call->flags, (int)call->in_type, mask_mode,
                                 mask_mode ? (int)call->mask_type : 0, (int)call->op);
  PyObject *apply = kept ? PyDict_GetItemWithError(classes, kept) : NULL;
  if (apply) {
    Py_INCREF(apply);
  } else if (kept && !PyErr_Occurred()) {
    apply = PyObject_CallFunctionObjArgs(torch.node, kept, NULL);
    if (apply && PyDict_SetItem(classes, kept, apply)) {
      Py_DECREF(apply);
      apply = NULL;
    }
  }
  Py_XDECREF(kept);
  return apply;
}

PyObject *rp_torch_record(const rp_call *call, PyObject *y) {
  bool number = call->op == ROWSCAN_DECAYED_SUM;
  PyObject *mask = call->mask == Py_None || number ? NULL : call->mask;
  PyObject *apply = apply_of(call, mask ? (int)call->mask_mode : ROWSCAN_MASK_NONE);
  PyObject *held = !apply ? NULL : PyTuple_Pack(2, y, number ? call->mask : Py_None); /* y would be an input itself */
  PyObject *recorded = held ? PyObject_CallFunctionObjArgs(apply, call->x, held, mask, NULL) : NULL;
  Py_XDECREF(apply);
  Py_XDECREF(held);
  Py_DECREF(y);
  return recorded;
}

PyObject *rp_torch_leave(PyObject *kept, PyObject *saved, PyObject *number, PyObject *wanted, PyObject *gradient) {
  return PyObject_CallFunctionObjArgs(torch.backward, kept, saved, number, wanted, gradient, NULL);
}

/* ---- what Python tells ------------------------------------------------------------------------------------------- */

PyObject *rp_set_torch(PyObject *self, PyObject *dict) {
  (void)self;
  const struct {
    const char *name;
    PyObject **to;
  } table[] = {{"grad_enabled", &torch.grad_enabled},
               {"autocast", &torch.autocast},
               {"watchers", &torch.watchers},
               {"is_neg", &torch.is_neg},
               {"written", &torch.written},
               {"forward_ad", &torch.forward_ad},
               {"node", &torch.node},
               {"backward", &torch.backward}};
  if (!PyDict_Check(dict)) {
    PyErr_SetString(PyExc_TypeError, "set_torch takes a dict");
    return NULL;
  }
  s_requires_grad = PyUnicode_InternFromString("requires_grad");
  s_level = PyUnicode_InternFromString("_current_level");
  s_shape = PyUnicode_InternFromString("shape");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    PyObject *value = PyDict_GetItemString(dict, table[i].name);
    if (!value) {
      PyErr_Format(PyExc_KeyError, "set_torch lacks %s", table[i].name);
      return NULL;
    }
    Py_XDECREF(*table[i].to);
    *table[i].to = rp_new_ref(value);
  }
  Py_RETURN_NONE;
}
