/*
 * cuda.c - the CUDA driver, loaded once a process
 * SPDX-License-Identifier: MIT
 */
#include "cuda.h"

#include <pthread.h>

#include "base/library.h"
#include "base/status.h"

/* The driver's own name; plain libcuda.so may be the toolkit's stub, which loads and then fails every call. */
static const char name[] = "libcuda.so.1";

static const rs_symbol symbols[] = {
#define X(symbol, parameters) {#symbol, offsetof(rs_cuda, symbol)},
    RS_CUDA_CALLS(X)
#undef X
};
static const rs_symbol later_symbols[] = {
#define X(symbol, parameters) {#symbol, offsetof(rs_cuda, symbol)},
    RS_CUDA_LATER_CALLS(X)
#undef X
};

static rowscan_status initialise(rs_cuda *cuda) {
  CUresult result = cuda->cuInit(0);
  const char *error = NULL, *text = NULL;
  if (result == CUDA_SUCCESS)
    result = cuda->cuDriverGetVersion(&cuda->version);
  if (result == CUDA_SUCCESS)
    return ROWSCAN_OK;
  cuda->cuGetErrorName(result, &error);
  cuda->cuGetErrorString(result, &text);
  rowscan_status status = result == CUDA_ERROR_NO_DEVICE ? ROWSCAN_NO_DEVICE : ROWSCAN_NO_DRIVER;
  return rs_fail(status, "the CUDA driver (%s) does not start: %s (%s)", name, error ? error : "unknown error",
                 text ? text : "no description");
}

static rowscan_status load_driver(rs_cuda *cuda) {
  rs_text tried = {0};
  rowscan_status status;
  void *library = rs_library_load(name, symbols, sizeof symbols / sizeof *symbols, cuda, &tried);
  if (library) {
    rs_library_ask(library, later_symbols, sizeof later_symbols / sizeof *later_symbols, cuda);
    status = initialise(cuda);
  } else
    status = rs_fail_lines(ROWSCAN_NO_DRIVER, "the CUDA driver was not found; tried:\n%s",
                           tried.failed ? "  (out of memory)\n" : tried.data);
  rs_text_free(&tried);
  return status;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next two */
static bool ready, inherited; /* inherited: this process was forked from one that uses the driver */

static void look_after_fork(void) {
  inherited |= ready;
  pthread_mutex_init(&lock, NULL); /* another thread may have held it */
}

static void watch_forks(void) {
  pthread_atfork(NULL, NULL, look_after_fork);
}

static rowscan_status refuse_inherited(void) {
  return rs_fail(
      ROWSCAN_NO_DRIVER,
      "the CUDA driver (%s) cannot be used in a forked child of a process that used it; fork before the first use, or "
      "start another program (exec)",
      name);
}

/* A failure is not remembered: a later call tries again, and tells its own thread what happened. */
rowscan_status rs_cuda_open(const rs_cuda **cuda) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static rs_cuda table;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
  rowscan_status status = inherited ? refuse_inherited() : ready ? ROWSCAN_OK : load_driver(&table);
  if (status == ROWSCAN_OK) {
    ready = true;
    *cuda = &table;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

bool rs_cuda_is_there(void) {
  return rs_library_is_loaded(name);
}

rowscan_status rs_cuda_failed(const rs_cuda *cuda, CUresult result, const char *call) {
  const char *error = NULL, *text = NULL;
  rowscan_status status = result == CUDA_ERROR_OUT_OF_MEMORY ? ROWSCAN_OUT_OF_MEMORY : ROWSCAN_CUDA_FAILED;
  if (cuda->cuGetErrorName(result, &error) != CUDA_SUCCESS || !error)
    return rs_fail(status, "%s failed: CUDA error %d", call, result);
  if (cuda->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no description";
  return rs_fail(status, "%s failed: %s (%s)", call, error, text);
}

enum { NOT_RELAXED = -1 };

/* Where it fails, the calls that are not allowed then say so themselves. */
int rs_cuda_relax(const rs_cuda *cuda) {
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  return cuda->cuThreadExchangeStreamCaptureMode(&mode) ? NOT_RELAXED : mode;
}

void rs_cuda_restore(const rs_cuda *cuda, int mode) {
  if (mode != NOT_RELAXED)
    cuda->cuThreadExchangeStreamCaptureMode(&mode);
}
