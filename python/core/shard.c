/*
 * shard.c - scans of arrays that are cut over the ranks of a communicator
 * SPDX-License-Identifier: MIT
 */
#include "shard.h"

#include <string.h>

#include "errors.h"

typedef struct shard {
  PyObject *gather;
  int ranks, rank;
  int scans;                   /* that were begun */
  PyObject *type, *value, *at; /* what gather() has raised */
} shard;

static _Thread_local shard *current;

/* With the GIL. False: an exception is set. */
static bool call_gather(const shard *s, const void *send, void *receive, size_t bytes) {
  char *data;
  Py_ssize_t length, all = (Py_ssize_t)bytes * s->ranks;
  PyObject *sent = PyBytes_FromStringAndSize(send, (Py_ssize_t)bytes);
  PyObject *received = sent ? PyObject_CallFunctionObjArgs(s->gather, sent, NULL) : NULL;
  bool good = received && !PyBytes_AsStringAndSize(received, &data, &length);
  if (good && length == all) {
    memcpy(receive, data, (size_t)all);
  } else if (good) {
    good = false;
    PyErr_Format(PyExc_ValueError, "gather returned %zd bytes, but %d ranks sent %zu", length, s->ranks, bytes);
  }
  Py_XDECREF(sent);
  Py_XDECREF(received);
  return good;
}

static int gather(void *user, const void *send, void *receive, size_t bytes) {
  shard *s = user;
  PyGILState_STATE state = PyGILState_Ensure();
  bool good = call_gather(s, send, receive, bytes);
  if (!good)
    PyErr_Fetch(&s->type, &s->value, &s->at);
  PyGILState_Release(state);
  return good ? 0 : 1;
}

static rowscan_comm comm_of(shard *s) {
  return (rowscan_comm){
      .size = sizeof(rowscan_comm), .ranks = s->ranks, .rank = s->rank, .user = s, .all_gather = gather};
}

rowscan_status rp_shard_scan(rowscan_context *context, const rowscan_problem *problem, void *stream) {
  shard *s = current;
  if (!s)
    return rowscan_scan(context, problem, stream);
  rowscan_comm comm = comm_of(s);
  s->scans++;
  return rowscan_shard_scan(context, problem, &comm, stream);
}

static PyObject *call_sharded(PyObject *call, shard *s) {
  shard *outer = current;
  current = s;
  PyObject *result = PyObject_CallFunctionObjArgs(call, NULL);
  current = outer;
  if (result && !s->scans) {
    Py_CLEAR(result);
    PyErr_SetString(PyExc_NotImplementedError, "this scan is none that can be cut over ranks");
  }
  if (!result && s->type) { /* what the transport has raised says more */
    PyErr_Clear();
    PyErr_Restore(s->type, s->value, s->at);
    s->type = s->value = s->at = NULL;
  }
  Py_XDECREF(s->type);
  Py_XDECREF(s->value);
  Py_XDECREF(s->at);
  return result;
}

PyObject *rp_sharded(PyObject *self, PyObject *args) {
  PyObject *call;
  shard s = {.scans = 0};
  (void)self;
  if (!PyArg_ParseTuple(args, "OOii:sharded", &call, &s.gather, &s.ranks, &s.rank))
    return NULL;
  return call_sharded(call, &s);
}

PyObject *rp_shard_tell(PyObject *self, PyObject *args) {
  shard s = {.scans = 0};
  const char *message;
  (void)self;
  if (!PyArg_ParseTuple(args, "Oiis:shard_tell", &s.gather, &s.ranks, &s.rank, &message))
    return NULL;
  rowscan_comm comm = comm_of(&s);
  rowscan_status status;
  Py_BEGIN_ALLOW_THREADS status = rowscan_shard_fail(&comm, ROWSCAN_BAD_ARGUMENT, message);
  Py_END_ALLOW_THREADS(void) status; /* the caller has an exception to raise */
  Py_XDECREF(s.type);
  Py_XDECREF(s.value);
  Py_XDECREF(s.at);
  Py_RETURN_NONE;
}

PyObject *rp_is_sharded(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return PyBool_FromLong(current != NULL);
}

PyObject *rp_record_bytes(PyObject *self, PyObject *args) {
  PyObject *extents;
  int op, in_type, out_type, acc_type, mask_mode, mask_type, dim;
  unsigned flags;
  long long begin, end;
  int64_t shape[RP_MOST_RANK];
  size_t bytes;
  (void)self;
  if (!PyArg_ParseTuple(args, "iIiiiiiO!iLL:record_bytes", &op, &flags, &in_type, &out_type, &acc_type, &mask_mode,
                        &mask_type, &PyTuple_Type, &extents, &dim, &begin, &end))
    return NULL;
  int rank = (int)PyTuple_Size(extents);
  for (int d = 0; d < rank && d < RP_MOST_RANK; d++)
    shape[d] = PyLong_AsLongLong(PyTuple_GetItem(extents, d));
  if (PyErr_Occurred())
    return NULL;
  rowscan_problem problem = {.size = sizeof problem,
                             .op = (rowscan_op)op,
                             .flags = flags,
                             .rank = rank,
                             .dim = dim,
                             .shape = shape,
                             .input = {.type = (rowscan_type)in_type},
                             .output = {.type = (rowscan_type)out_type},
                             .mask = {.type = (rowscan_type)mask_type},
                             .mask_mode = (rowscan_mask_mode)mask_mode,
                             .acc_type = (rowscan_type)acc_type};
  rowscan_status status = rowscan_record_bytes(&problem, begin, end, &bytes);
  return status ? rp_fail(status) : PyLong_FromSize_t(bytes);
}
