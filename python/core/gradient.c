/*
 * gradient.c - forward and backward of the node that torch.c records: the gradient of a sum is a scan
 * SPDX-License-Identifier: MIT
 */
#include "gradient.h"

#include "call.h"
#include "torch.h"

static PyObject *s_kept, *s_save, *s_saved; /* attributes of the node's context */

PyObject *rp_torch_forward(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  (void)self;
  if (count < 3 || !PyTuple_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "forward takes a context, x, (y,), and perhaps a mask");
    return NULL;
  }
  if (count > 3) {
    PyObject *none = PyObject_CallMethodObjArgs(args[0], s_save, args[3], NULL);
    Py_XDECREF(none);
    if (!none)
      return NULL;
  }
  return rp_new_ref(PyTuple_GetItem(args[2], 0));
}

/* What forward has saved: a mask, or flags or keys. Hooks of saved tensors let nobody read it twice. NULL: an exception
 * is set. */
static PyObject *saved_mask(PyObject *context) {
  PyObject *saved = PyObject_GetAttr(context, s_saved);
  PyObject *mask = saved ? PySequence_GetItem(saved, 0) : NULL;
  Py_XDECREF(saved);
  return mask;
}

/* The scan from the other end, which begins anew where the first did. */
static PyObject *scan_back(rp_call *call, PyObject *kept, PyObject *mask) {
  bool quick = mask == Py_None || rp_has_segments(call->mask_mode);
  PyObject *gradient = call->x;
  call->mask = mask;
  PyObject *dx = quick ? rp_call_quick(call) : rp_new_ref(Py_NotImplemented);
  if (dx == Py_NotImplemented) {
    Py_DECREF(dx);
    dx = rp_torch_leave(kept, mask, gradient);
  }
  return dx;
}

/* The gradient of a sum is the same scan from the other end. */
static PyObject *backward(PyObject *context, PyObject *gradient) {
  PyObject *kept = PyObject_GetAttr(context, s_kept);
  int flags, type, mask_mode;
  rp_call call = {.x = gradient, .init = Py_None, .totals = Py_None, .out = Py_None};
  bool known = kept && PyArg_ParseTuple(kept, "liii", &call.dim, &flags, &type, &mask_mode);
  PyObject *mask = !known ? NULL : mask_mode ? saved_mask(context) : rp_new_ref(Py_None), *dx = NULL;
  if (mask) {
    call.flags = (unsigned)flags ^ ROWSCAN_REVERSE;
    call.out_type = (rowscan_type)type;
    call.mask_mode = (rowscan_mask_mode)mask_mode;
    dx = scan_back(&call, kept, mask);
  }
  Py_XDECREF(kept);
  Py_XDECREF(mask);
  if (!dx)
    return NULL;
  return mask_mode ? Py_BuildValue("NOO", dx, Py_None, Py_None) : Py_BuildValue("NO", dx, Py_None);
}

/* A base of the node's context, whose apply() is what torch's engine calls. */
static PyObject *context_apply(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  if (count == 1)
    return backward(self, args[0]);
  return PyErr_Format(PyExc_TypeError, "apply takes a gradient, not %zd arguments", count);
}

int rp_add_torch_context(PyObject *module) {
  s_kept = PyUnicode_InternFromString("rowscan");
  s_save = PyUnicode_InternFromString("save_for_backward");
  s_saved = PyUnicode_InternFromString("saved_tensors");
  if (!s_kept || !s_save || !s_saved)
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
