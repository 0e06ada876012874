/*
 * library.c - what the library tells and does beside scans: specs, kernels made ahead, GPUs, the cache
 * SPDX-License-Identifier: MIT
 */
#include "library.h"

#include <string.h>

#include "contexts.h"
#include "errors.h"
#include "scan.h"
#include "view.h"

enum { MOST_ARCHS = 128 };

/* The context of the host has the cache too, and needs no GPU. NULL: an exception is set. */
static rowscan_context *host(void) {
  rowscan_context *context = NULL;
  PyThreadState *state = PyEval_SaveThread();
  rowscan_status status = rp_context_of(RP_HOST, &context);
  PyEval_RestoreThread(state);
  if (status)
    rp_fail(status);
  return context;
}

/* ---- lists of strings -------------------------------------------------------------------------------------------- */

/* One of them; NULL: an exception is set. */
static PyObject *take_string(PyObject *item, const char *what) {
  if (!PyUnicode_Check(item))
    return PyErr_Format(PyExc_TypeError, "%s has %R, not a string", what, item);
  PyObject *bytes = PyUnicode_AsUTF8String(item);
  if (bytes && strlen(PyBytes_AsString(bytes)) != (size_t)PyBytes_Size(bytes)) {
    PyErr_Format(PyExc_ValueError, "%s has %R, which has a NUL in it", what, item);
    Py_CLEAR(bytes);
  }
  return bytes;
}

/* The strings of a sequence, in UTF-8, for as long as the list of bytes lives; NULL: an exception is set. */
static PyObject *take_strings(PyObject *sequence, const char ***strings, Py_ssize_t *count, const char *what) {
  *count = PySequence_Check(sequence) && !PyUnicode_Check(sequence) ? PySequence_Size(sequence) : -1;
  if (*count < 0) {
    PyErr_Format(PyExc_TypeError, "%s is %R, not a list of strings", what, sequence);
    return NULL;
  }
  PyObject *list = PyList_New(0);
  *strings = PyMem_Calloc((size_t)*count + 1, sizeof **strings);
  for (Py_ssize_t i = 0; list && *strings && i < *count; i++) {
    PyObject *item = PySequence_GetItem(sequence, i), *bytes = item ? take_string(item, what) : NULL;
    if (bytes && !PyList_Append(list, bytes))
      (*strings)[i] = PyBytes_AsString(bytes);
    Py_XDECREF(item);
    Py_XDECREF(bytes);
  }
  if (list && *strings && !PyErr_Occurred())
    return list;
  if (!PyErr_Occurred())
    PyErr_NoMemory();
  PyMem_Free(*strings);
  *strings = NULL;
  Py_XDECREF(list);
  return NULL;
}

/* ---- specs ------------------------------------------------------------------------------------------------------- */

/* The types of elements, of results, and of initial values and totals. */
PyObject *rp_complete(PyObject *self, PyObject *args) {
  (void)self;
  const char *text;
  rowscan_spec spec = {.size = sizeof spec};
  if (!PyArg_ParseTuple(args, "s", &text))
    return NULL;
  rowscan_status status = rowscan_spec_parse(&spec, text);
  bool fixed = spec.acc_type >= ROWSCAN_FIXED_0;
  return status
             ? rp_fail(status)
             : Py_BuildValue("iii", (int)spec.in_type, (int)spec.out_type, (int)(fixed ? ROWSCAN_I64 : spec.acc_type));
}

/* {name: number} */
PyObject *rp_ops(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  PyObject *ops = PyDict_New();
  for (int op = 0; ops && rowscan_op_by_name(rowscan_op_name((rowscan_op)op)) == op; op++) {
    PyObject *number = PyLong_FromLong(op);
    if (!number || PyDict_SetItemString(ops, rowscan_op_name((rowscan_op)op), number))
      Py_CLEAR(ops);
    Py_XDECREF(number);
  }
  return ops;
}

/* A digit of the first line of a text, which the library has read and found right; `usual` where it is not there. */
static int field_of(const char *source, const char *name, int usual) {
  const char *at = strstr(source, name);
  return at && at < source + strcspn(source, "\n") ? at[strlen(name)] - '0' : usual;
}

PyObject *rp_create_op(PyObject *self, PyObject *args) {
  (void)self;
  rowscan_operator given = {.size = sizeof given};
  rowscan_op op;
  if (!PyArg_ParseTuple(args, "s:create_op", &given.source))
    return NULL;
  rowscan_status status = rowscan_op_create(&op, &given);
  if (status)
    return rp_fail(status);
  int params = field_of(given.source, " params=", 0), outputs = field_of(given.source, " outputs=", 1);
  rp_op_tell_params(op, params);
  return Py_BuildValue("siiiii", rowscan_op_name(op), (int)op, (int)rp_op_has_coefficient(op), rp_op_more(op), params,
                       outputs);
}

static int count_warmed(void *user, const rowscan_warmed *one) {
  long long *sums = user;
  sums[0] += one->modules;
  sums[1] += one->compiled;
  return 0;
}

static PyObject *warm(rowscan_warming *list, const char *const *texts) {
  rowscan_context *context = host();
  rowscan_spec *specs = context ? PyMem_Calloc((size_t)list->spec_count + 1, sizeof *specs) : NULL;
  if (!specs)
    return context ? PyErr_NoMemory() : NULL;
  rowscan_status status = ROWSCAN_OK;
  for (int64_t i = 0; i < list->spec_count && !status; i++) {
    specs[i].size = sizeof *specs;
    status = rowscan_spec_parse(&specs[i], texts[i]);
  }
  long long sums[2] = {0};
  list->specs = specs;
  list->visit = count_warmed;
  list->user = sums;
  if (!status) {
    PyThreadState *state = PyEval_SaveThread();
    status = rowscan_warm(context, list);
    PyEval_RestoreThread(state);
  }
  PyMem_Free(specs);
  return status ? rp_fail(status) : Py_BuildValue("LL", sums[0], sums[1]);
}

PyObject *rp_warm(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *given_specs, *given_archs, *archs = NULL, *result = NULL;
  const char **texts = NULL, **names = NULL;
  Py_ssize_t arch_count = 0, spec_count;
  rowscan_warming list = {.size = sizeof list};
  if (!PyArg_ParseTuple(args, "OOi", &given_specs, &given_archs, &list.threads))
    return NULL;
  PyObject *specs = take_strings(given_specs, &texts, &spec_count, "specs");
  if (specs && given_archs != Py_None)
    archs = take_strings(given_archs, &names, &arch_count, "archs");
  if (specs && !PyErr_Occurred()) {
    list.spec_count = spec_count;
    list.archs = names;
    list.arch_count =
        arch_count > MOST_ARCHS ? MOST_ARCHS + 1 : (int)arch_count; /* the library says what is too many */
    result = warm(&list, texts);
  }
  PyMem_Free(texts);
  PyMem_Free(names);
  Py_XDECREF(specs);
  Py_XDECREF(archs);
  return result;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

PyObject *rp_devices(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  int count;
  rowscan_status status = rowscan_device_count(&count);
  if (status && status != ROWSCAN_NO_DRIVER)
    return rp_fail(status);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    rowscan_device_info info = ROWSCAN_INFO(info);
    status = rowscan_device_get(i, &info);
    PyObject *dict =
        status ? rp_fail(status)
               : Py_BuildValue("{s:i,s:s,s:s,s:i,s:L,s:L,s:d}", "device", i, "name", info.name, "arch", info.arch,
                               "multiprocessors", info.multiprocessors, "memory_bytes", (long long)info.memory_bytes,
                               "l2_bytes", (long long)info.l2_bytes, "peak_gbs", info.peak_gbs);
    if (!dict || PyList_Append(list, dict)) {
      Py_DECREF(list);
      list = NULL;
    }
    Py_XDECREF(dict);
  }
  return list;
}

PyObject *rp_archs(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  rowscan_context *context = host();
  int archs[MOST_ARCHS], count = MOST_ARCHS;
  if (!context)
    return NULL;
  rowscan_status status = rowscan_archs(context, archs, &count);
  if (status)
    return rp_fail(status);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    PyObject *name = PyUnicode_FromFormat("sm_%d", archs[i]);
    if (!name || PyList_Append(list, name)) {
      Py_DECREF(list);
      list = NULL;
    }
    Py_XDECREF(name);
  }
  return list;
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static PyObject *counts(const rowscan_cache_counts *c) {
  return Py_BuildValue("{s:L,s:L,s:L,s:d,s:L,s:L,s:L}", "hits", (long long)c->hits, "misses", (long long)c->misses,
                       "compiles", (long long)c->compiles, "saved_ms", c->saved_ms, "evictions",
                       (long long)c->evictions, "damaged", (long long)c->damaged, "rejected", (long long)c->rejected);
}

PyObject *rp_cache_info(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  rowscan_context *context = host();
  rowscan_cache_info info = ROWSCAN_INFO(info);
  if (!context)
    return NULL;
  rowscan_status status = rowscan_cache_info_get(context, &info);
  if (status)
    return rp_fail(status);
  return Py_BuildValue("{s:s,s:s,s:i,s:L,s:L,s:L,s:L,s:N}", "path", info.path, "why", info.why, "packs", info.packs,
                       "pack_entries", (long long)info.pack_entries, "entries", (long long)info.entries, "bytes",
                       (long long)info.bytes, "limit_bytes", (long long)info.limit_bytes, "counts", counts(&info.all));
}

static int list_entry(void *user, const rowscan_cache_entry *entry) {
  PyObject *dict = Py_BuildValue("{s:s,s:z,s:L,s:L,s:z,s:z}", "name", entry->name, "key", entry->key, "bytes",
                                 (long long)entry->bytes, "used", (long long)entry->used, "damage", entry->damage,
                                 "pack", entry->pack);
  int failed = !dict || PyList_Append(user, dict);
  Py_XDECREF(dict);
  return failed;
}

PyObject *rp_cache_entries(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  rowscan_context *context = host();
  PyObject *list = context ? PyList_New(0) : NULL;
  if (!list)
    return NULL;
  rowscan_status status = rowscan_cache_visit(context, list_entry, list);
  if (!status && !PyErr_Occurred())
    status = rowscan_cache_visit_packs(context, list_entry, list);
  if (!status && !PyErr_Occurred())
    return list;
  Py_DECREF(list);
  return PyErr_Occurred() ? NULL : rp_fail(status);
}

PyObject *rp_cache_prune(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  rowscan_context *context = host();
  rowscan_cache_pruned pruned = ROWSCAN_INFO(pruned);
  if (!context)
    return NULL;
  rowscan_status status = rowscan_cache_prune(context, &pruned);
  if (status)
    return rp_fail(status);
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "removed", (long long)pruned.removed, "removed_bytes",
                       (long long)pruned.removed_bytes, "swept", (long long)pruned.swept, "swept_bytes",
                       (long long)pruned.swept_bytes, "left", (long long)pruned.left, "left_bytes",
                       (long long)pruned.left_bytes);
}

PyObject *rp_cache_clear(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  rowscan_context *context = host();
  int64_t removed, bytes;
  if (!context)
    return NULL;
  rowscan_status status = rowscan_cache_clear(context, &removed, &bytes);
  return status ? rp_fail(status) : Py_BuildValue("LL", (long long)removed, (long long)bytes);
}

PyObject *rp_cache_export(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *file = NULL, *given, *archs = NULL;
  const char **names = NULL, *spec;
  Py_ssize_t count = 0;
  rowscan_context *context = host();
  if (!context || !PyArg_ParseTuple(args, "O&Oz", PyUnicode_FSConverter, &file, &given, &spec))
    return NULL;
  if (given != Py_None)
    archs = take_strings(given, &names, &count, "archs");
  rowscan_cache_filter filter = {.size = sizeof filter, .archs = names, .arch_count = (int)count, .spec = spec};
  rowscan_cache_exported exported = ROWSCAN_INFO(exported);
  PyObject *result = NULL;
  if (!PyErr_Occurred()) {
    PyThreadState *state = PyEval_SaveThread();
    rowscan_status status = rowscan_cache_export(context, PyBytes_AsString(file), &filter, &exported);
    PyEval_RestoreThread(state);
    result = status ? rp_fail(status)
                    : Py_BuildValue("{s:L,s:L,s:L}", "entries", (long long)exported.entries, "damaged",
                                    (long long)exported.damaged, "bytes", (long long)exported.bytes);
  }
  PyMem_Free(names);
  Py_XDECREF(archs);
  Py_DECREF(file);
  return result;
}

PyObject *rp_cache_import(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *file = NULL;
  rowscan_context *context = host();
  if (!context || !PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &file))
    return NULL;
  rowscan_cache_imported imported = ROWSCAN_INFO(imported);
  PyThreadState *state = PyEval_SaveThread();
  rowscan_status status = rowscan_cache_import(context, PyBytes_AsString(file), &imported);
  PyEval_RestoreThread(state);
  Py_DECREF(file);
  if (status)
    return rp_fail(status);
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L}", "entries", (long long)imported.entries, "added",
                       (long long)imported.added, "present", (long long)imported.present, "damaged",
                       (long long)imported.damaged, "failed", (long long)imported.failed);
}
