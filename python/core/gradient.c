/*
 * gradient.c - forward and backward of the node that torch.c records: the gradient of a scan is a scan
 * SPDX-License-Identifier: MIT
 */
#include "gradient.h"

#include "call.h"
#include "torch.h"

static PyObject *s_kept, *s_save, *s_saved, *s_wanted, *s_number; /* attributes of the node's context */

/* What the class of a node keeps: rp_torch_record makes it. */
typedef struct kept {
  long dim;
  unsigned flags;
  int type, mask_mode, mask_type, op;
} kept;

static bool read_kept(kept *to, PyObject *from) {
  return from &&
         PyArg_ParseTuple(from, "lIiiii", &to->dim, &to->flags, &to->type, &to->mask_mode, &to->mask_type, &to->op);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Whether the backward pass is made of results. Rounded ones and exclusive ones are computed anew. */
static bool needs_results(const kept *node) {
  bool exact = node->type == ROWSCAN_F32 || node->type == ROWSCAN_F64;
  switch (node->op) {
  case ROWSCAN_MAX:
  case ROWSCAN_MIN:
    return !(node->flags & ROWSCAN_EXCLUSIVE);
  case ROWSCAN_PROD:
  case ROWSCAN_LOGSUMEXP:
    return exact && !(node->flags & ROWSCAN_EXCLUSIVE);
  default:
    return node->op == ROWSCAN_LINEAR_RECURRENCE && rp_is_floating((rowscan_type)node->mask_type);
  }
}

/* Whether it is made of elements. */
static bool needs_elements(const kept *node) {
  return node->op != ROWSCAN_SUM && node->op != ROWSCAN_LINEAR_RECURRENCE && node->op != ROWSCAN_DECAYED_SUM;
}

static bool saves(const kept *node) {
  return node->mask_mode || needs_elements(node);
}

static bool save(PyObject *context, const kept *node, PyObject *const *args, Py_ssize_t count) {
  PyObject *x = needs_elements(node) ? args[1] : Py_None, *mask = count > 3 ? args[3] : Py_None;
  PyObject *y = needs_results(node) ? PyTuple_GetItem(args[2], 0) : Py_None;
  if (!saves(node))
    return true;
  PyObject *none = PyObject_CallMethodObjArgs(context, s_save, x, mask, y, NULL);
  Py_XDECREF(none);
  return none != NULL;
}

PyObject *rp_torch_forward(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count < 3 || !PyTuple_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "forward takes a context, x, (y, coefficient), and perhaps a mask");
    return NULL;
  }
  kept node;
  PyObject *from = PyObject_GetAttr(args[0], s_kept);
  bool fine = read_kept(&node, from) && save(args[0], &node, args, count);
  Py_XDECREF(from);
  if (fine && node.op == ROWSCAN_DECAYED_SUM)
    fine = !PyObject_SetAttr(args[0], s_number, PyTuple_GetItem(args[2], 1));
  return fine ? rp_new_ref(PyTuple_GetItem(args[2], 0)) : NULL;
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* What forward has saved: x, a mask or what lies in its place, y; each may be None. Borrowed from a tuple, which is
 * read once: hooks of saved tensors let nobody read it twice. */
typedef struct saved {
  PyObject *all, *x, *mask, *y;
} saved;

static bool read_saved(saved *to, PyObject *context, const kept *node) {
  *to = (saved){saves(node) ? PyObject_GetAttr(context, s_saved) : rp_new_ref(Py_None), Py_None, Py_None, Py_None};
  return to->all && (to->all == Py_None || PyArg_ParseTuple(to->all, "OOO", &to->x, &to->mask, &to->y));
}

/* Makes a call of the scan that is the gradient; false: Python has to make it of several. */
static bool make_call(rp_call *call, rp_further *further, const kept *node, const saved *saved) {
  bool selects = node->op == ROWSCAN_SUM && saved->mask != Py_None && !rp_has_segments(call->mask_mode);
  *further = (rp_further){.second = Py_None};
  if (selects) {
    if (node->mask_mode == ROWSCAN_MASK_MULTIPLY)
      return false;
    call->op = ROWSCAN_SUM_GRADIENT;
    call->mask_mode = ROWSCAN_MASK_NONE;
    further->arrays[further->count++] = saved->mask;
  } else if (node->op == ROWSCAN_SUM) {
    call->mask = saved->mask;
    return true;
  } else {
    if (saved->y == Py_None || node->flags & ROWSCAN_EXCLUSIVE)
      return false;
    call->op = node->op == ROWSCAN_LOGSUMEXP ? ROWSCAN_LOGSUMEXP_GRADIENT : ROWSCAN_EXTREMUM_GRADIENT;
    further->arrays[further->count++] = saved->x;
    further->arrays[further->count++] = saved->y;
  }
  call->further = further;
  return true;
}

/* The scan from the other end, or NotImplemented. */
static PyObject *scan_back(PyObject *context, const kept *node, const saved *saved, PyObject *gradient) {
  rp_further further;
  rp_call call = {.x = gradient,
                  .init = Py_None,
                  .totals = Py_None,
                  .out = Py_None,
                  .mask = Py_None,
                  .dim = node->dim,
                  .flags = node->flags ^ ROWSCAN_REVERSE,
                  .out_type = (rowscan_type)node->type};
  if (node->op == ROWSCAN_LINEAR_RECURRENCE || node->op == ROWSCAN_PROD)
    Py_RETURN_NOTIMPLEMENTED;
  if (node->op == ROWSCAN_DECAYED_SUM) { /* whose coefficient is every step's */
    PyObject *number = PyObject_GetAttr(context, s_number);
    call.op = ROWSCAN_LINEAR_RECURRENCE;
    call.mask = number;
    call.mask_mode = ROWSCAN_MASK_COEFFICIENT;
    PyObject *dx = number ? rp_call_quick(&call) : NULL;
    Py_XDECREF(number);
    return dx;
  }
  call.mask_mode = (rowscan_mask_mode)node->mask_mode;
  return make_call(&call, &further, node, saved) ? rp_call_quick(&call) : rp_new_ref(Py_NotImplemented);
}

static PyObject *backward(PyObject *context, PyObject *gradient) {
  kept node;
  saved saved = {NULL, NULL, NULL, NULL};
  PyObject *from = PyObject_GetAttr(context, s_kept), *made = NULL;
  if (read_kept(&node, from) && read_saved(&saved, context, &node))
    made = scan_back(context, &node, &saved, gradient);
  if (made == Py_NotImplemented) {
    Py_DECREF(made);
    PyObject *number = node.op == ROWSCAN_DECAYED_SUM ? PyObject_GetAttr(context, s_number) : rp_new_ref(Py_None);
    PyObject *wanted = number ? PyObject_GetAttr(context, s_wanted) : NULL;
    made = wanted ? rp_torch_leave(from, saved.all, number, wanted, gradient) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(wanted);
  } else if (made) {
    PyObject *dx = made;
    made = node.mask_mode ? PyTuple_Pack(3, dx, Py_None, Py_None) : PyTuple_Pack(2, dx, Py_None);
    Py_DECREF(dx);
  }
  Py_XDECREF(from);
  Py_XDECREF(saved.all);
  return made;
}

/* A base of the node's context, whose apply() is what torch's engine calls. */
static PyObject *context_apply(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  if (count == 1)
    return backward(self, args[0]);
  return PyErr_Format(PyExc_TypeError, "apply takes a gradient, not %zd arguments", count);
}

int rp_add_torch_context(PyObject *module) {
  const struct {
    PyObject **to;
    const char *name;
  } names[] = {{&s_kept, "rowscan"},
               {&s_save, "save_for_backward"},
               {&s_saved, "saved_tensors"},
               {&s_wanted, "needs_input_grad"},
               {&s_number, "rowscan_coefficient"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(*names[i].to = PyUnicode_InternFromString(names[i].name)))
      return -1;
  static PyMethodDef methods[] = {
      {"apply", (PyCFunction)(void (*)(void))context_apply, METH_FASTCALL, "apply(gradient) -> gradients"},
      {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
  static PyType_Spec spec = {
      .name = "rowscan._core.TorchContext", .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots};
  PyObject *type = PyType_FromSpec(&spec);
  int failed = type ? PyModule_AddObjectRef(module, "TorchContext", type) : -1;
  Py_XDECREF(type);
  return failed;
}
