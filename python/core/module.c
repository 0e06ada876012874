/*
 * module.c - rowscan._core: all that Python has of the library, in one binary for all Pythons from 3.10 on
 * SPDX-License-Identifier: MIT
 */
#include "boxed.h"
#include "call.h"
#include "command.h"
#include "contexts.h"
#include "docs.h"
#include "errors.h"
#include "gae.h"
#include "gradient.h"
#include "library.h"
#include "shard.h"
#include "torch.h"
#include "xla.h"

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL
#define FAST_WITH_NAMES(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

#define X(name, op) {#name, FAST_WITH_NAMES(rp_##name), rp_##name##_doc},
static PyMethodDef methods[] = {RP_SCANS(X){"scan", FAST_WITH_NAMES(rp_scan_by_name), rp_scan_doc},
                                {"scan_settled", FAST(rp_scan_settled), NULL},
                                {"cumulative", FAST(rp_cumulative), NULL},
                                {"returns", FAST(rp_returns), NULL},
                                {"gae", FAST(rp_gae), NULL},
                                {"look", rp_look_for_python, METH_O, NULL},
                                {"add_kind", rp_add_kind, METH_VARARGS, NULL},
                                {"set_fresh", rp_set_fresh, METH_VARARGS, NULL},
                                {"set_python", rp_set_python, METH_O, NULL},
                                {"set_errors", rp_set_errors, METH_O, NULL},
                                {"set_threads", rp_set_threads, METH_O, rp_set_threads_doc},
                                {"forget", rp_forget, METH_NOARGS, NULL},
                                {"set_torch", rp_set_torch, METH_O, NULL},
                                {"torch_forward", FAST(rp_torch_forward), NULL},
                                {"box", rp_box, METH_VARARGS, NULL},
                                {"unbox", rp_unbox, METH_O, NULL},
                                {"sharded", rp_sharded, METH_VARARGS, NULL},
                                {"shard_tell", rp_shard_tell, METH_VARARGS, NULL},
                                {"is_sharded", rp_is_sharded, METH_NOARGS, NULL},
                                {"record_bytes", rp_record_bytes, METH_VARARGS, NULL},
                                {"xla_handler", rp_xla_handler, METH_O, NULL},
                                {"ops", rp_ops, METH_NOARGS, NULL},
                                {"create_op", rp_create_op, METH_VARARGS, NULL},
                                {"complete", rp_complete, METH_VARARGS, NULL},
                                {"warm", rp_warm, METH_VARARGS, NULL},
                                {"devices", rp_devices, METH_NOARGS, rp_devices_doc},
                                {"archs", rp_archs, METH_NOARGS, rp_archs_doc},
                                {"cache_info", rp_cache_info, METH_NOARGS, NULL},
                                {"cache_entries", rp_cache_entries, METH_NOARGS, NULL},
                                {"cache_prune", rp_cache_prune, METH_NOARGS, NULL},
                                {"cache_clear", rp_cache_clear, METH_NOARGS, NULL},
                                {"cache_export", rp_cache_export, METH_VARARGS, NULL},
                                {"cache_import", rp_cache_import, METH_VARARGS, NULL},
                                {"command", rp_command, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
#undef X

/*
 * What these files keep in static variables (the exceptions, the kinds of arrays) belongs to the first interpreter that
 * imports them. Returns 0, or -1 with an exception in any other one.
 */
static int claim(void) {
  static int64_t owner = -1;
  int64_t own = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (owner < 0)
    owner = own;
  if (owner == own)
    return 0;
  PyErr_SetString(PyExc_ImportError, "rowscan serves one interpreter of a process, and another one has imported it");
  return -1;
}

static int fill_module(PyObject *module) {
  return claim() || PyModule_AddStringConstant(module, "library_version", rowscan_version()) ||
                 rp_add_torch_context(module)
             ? -1
             : 0;
}

PyMODINIT_FUNC PyInit__core(void) {
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)fill_module}, {0, NULL}};
  static struct PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "rowscan._core", NULL, 0, methods, slots, NULL, NULL, NULL};
  return PyModuleDef_Init(&definition);
}
