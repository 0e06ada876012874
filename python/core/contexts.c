/*
 * contexts.c - the library's contexts: one for the host, one a GPU, opened when first needed and never closed
 * SPDX-License-Identifier: MIT
 */
#include "contexts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "errors.h"

enum { MOST_DEVICES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(rowscan_context *) contexts[1 + MOST_DEVICES]; /* [0]: the host's */
static int host_threads;                                      /* guarded by lock */

static rowscan_status open_context(int device, _Atomic(rowscan_context *) *slot) {
  rowscan_context *made;
  rowscan_options options = {.size = sizeof options,
                             .engine = device < 0 ? ROWSCAN_ENGINE_HOST : ROWSCAN_ENGINE_CUDA,
                             .device = device < 0 ? 0 : device,
                             .threads = host_threads};
  rowscan_status status = rowscan_open(&made, &options);
  if (!status)
    atomic_store(slot, made);
  return status;
}

rowscan_status rp_context_of(int device, rowscan_context **context) {
  if (device >= MOST_DEVICES)
    return ROWSCAN_NO_DEVICE;
  _Atomic(rowscan_context *) *slot = &contexts[device < 0 ? 0 : 1 + device];
  if ((*context = atomic_load_explicit(slot, memory_order_acquire)))
    return ROWSCAN_OK;
  pthread_mutex_lock(&lock);
  rowscan_status status = atomic_load(slot) ? ROWSCAN_OK : open_context(device, slot);
  *context = atomic_load(slot);
  pthread_mutex_unlock(&lock);
  return status;
}

PyObject *rp_set_threads(PyObject *self, PyObject *count) {
  (void)self;
  long n = PyLong_AsLong(count);
  if (n == -1 && PyErr_Occurred())
    return NULL;
  if (n < 0 || n > 4096) {
    PyErr_Format(PyExc_ValueError, "threads is %ld, not 0 (the default) to 4096", n);
    return NULL;
  }
  rowscan_status status = ROWSCAN_OK;
  PyThreadState *state = PyEval_SaveThread();
  pthread_mutex_lock(&lock);
  host_threads = (int)n;
  for (int i = 0; i <= MOST_DEVICES && !status; i++)
    if (contexts[i])
      status = rowscan_set_threads(contexts[i], host_threads);
  pthread_mutex_unlock(&lock);
  PyEval_RestoreThread(state);
  if (status)
    return rp_fail(status);
  Py_RETURN_NONE;
}

PyObject *rp_forget(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  pthread_mutex_init(&lock, NULL); /* another thread of the parent may have held it */
  for (int i = 0; i <= MOST_DEVICES; i++)
    atomic_store(&contexts[i], NULL);
  Py_RETURN_NONE;
}
