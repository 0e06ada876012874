/*
 * python.h - Python's limited API of 3.10, and reference counts that are right in every later version
 * SPDX-License-Identifier: MIT
 */
#ifndef RP_PYTHON_H
#define RP_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

/*
 * The running interpreter counts references. The inline forms of these macros differ between headers before and from
 * 3.12 on, where None and NotImplemented became immortal, and each is wrong in the other's interpreters.
 */
#undef Py_INCREF
#undef Py_XINCREF
#undef Py_DECREF
#undef Py_XDECREF
#undef Py_RETURN_NONE
#undef Py_RETURN_NOTIMPLEMENTED
#define Py_INCREF(object) Py_IncRef((PyObject *)(object))
#define Py_XINCREF(object) Py_IncRef((PyObject *)(object))
#define Py_DECREF(object) Py_DecRef((PyObject *)(object))
#define Py_XDECREF(object) Py_DecRef((PyObject *)(object))
#define Py_RETURN_NONE return rp_new_ref(Py_None)
#define Py_RETURN_NOTIMPLEMENTED return rp_new_ref(Py_NotImplemented)

static inline PyObject *rp_new_ref(PyObject *object) {
  Py_IncRef(object);
  return object;
}

/* The truth of a new reference, which is given back: 1, 0, or -1 with an exception. NULL is -1. */
static inline int rp_truth(PyObject *object) {
  int is = object ? PyObject_IsTrue(object) : -1;
  Py_DecRef(object);
  return is;
}

#endif
