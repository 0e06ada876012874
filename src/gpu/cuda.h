/*
 * cuda.h - the CUDA driver: one table of function pointers, filled from libcuda.so.1 at run time
 * SPDX-License-Identifier: MIT
 *
 * The declarations are rowscan's own, so that it builds with no toolkit. Names, types and numbers are those of the CUDA
 * Driver API reference; the suffixed names (_v2) are the symbols that its header maps the plain names to.
 */
#ifndef RS_CUDA_H
#define RS_CUDA_H

#include <stdbool.h>

#include "rowscan.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUuserObject_st *CUuserObject;
typedef void (*CUhostFn)(void *user);
/* Of type CU_DEV_RESOURCE_TYPE_SM; larger than any driver's, which writes it. */
typedef struct CUdevResource {
  int type;
  unsigned char padding[92];
  unsigned smCount;
  unsigned char rest[412];
} CUdevResource;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600
};
enum {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
};
enum {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
};
enum {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12
};
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2, CU_MEMHOSTALLOC_PORTABLE = 1 };
/* Handles that name a stream without being one: the legacy default stream, as 0 does; the calling thread's own. */
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
enum { CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1 };
enum { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum { CU_DEV_RESOURCE_TYPE_SM = 1 };
enum { CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1, CU_GRAPH_USER_OBJECT_MOVE = 1 };

enum { CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
typedef union CUlaunchAttributeValue {
  char pad[64];
  int programmaticStreamSerializationAllowed;
} CUlaunchAttributeValue;
typedef struct CUlaunchAttribute {
  int id;
  char pad[4];
  CUlaunchAttributeValue value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

/* X(symbol, parameters); each returns CUresult. */
#define RS_CUDA_CALLS(X)                                                                                               \
  X(cuInit, (unsigned flags))                                                                                          \
  X(cuDriverGetVersion, (int *version))                                                                                \
  X(cuGetErrorName, (CUresult error, const char **name))                                                               \
  X(cuGetErrorString, (CUresult error, const char **text))                                                             \
  X(cuDeviceGetCount, (int *count))                                                                                    \
  X(cuDeviceGet, (CUdevice * device, int ordinal))                                                                     \
  X(cuDeviceGetName, (char *name, int room, CUdevice device))                                                          \
  X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                                                \
  X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                                                            \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                                  \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                                                   \
  X(cuCtxGetDevice, (CUdevice * device))                                                                               \
  X(cuCtxGetCurrent, (CUcontext * context))                                                                            \
  X(cuCtxPushCurrent_v2, (CUcontext context))                                                                          \
  X(cuCtxPopCurrent_v2, (CUcontext * context))                                                                         \
  X(cuCtxSynchronize, (void))                                                                                          \
  X(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr pointer))                                          \
  X(cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                                                      \
  X(cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                                                              \
  X(cuMemFree_v2, (CUdeviceptr pointer))                                                                               \
  X(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                                                    \
  X(cuMemFreeHost, (void *pointer))                                                                                    \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                           \
  X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                 \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                           \
  X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                             \
  X(cuStreamCreate, (CUstream * stream, unsigned flags))                                                               \
  X(cuStreamDestroy_v2, (CUstream stream))                                                                             \
  X(cuStreamSynchronize, (CUstream stream))                                                                            \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                               \
  X(cuThreadExchangeStreamCaptureMode, (int *mode))                                                                    \
  X(cuStreamGetCaptureInfo, (CUstream stream, int *status, unsigned long long *id))                                    \
  X(cuEventCreate, (CUevent * event, unsigned flags))                                                                  \
  X(cuEventDestroy_v2, (CUevent event))                                                                                \
  X(cuEventRecord, (CUevent event, CUstream stream))                                                                   \
  X(cuEventQuery, (CUevent event))                                                                                     \
  X(cuEventSynchronize, (CUevent event))                                                                               \
  X(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))                                             \
  X(cuModuleLoadData, (CUmodule * module, const void *image))                                                          \
  X(cuModuleUnload, (CUmodule module))                                                                                 \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                                   \
  X(cuFuncGetAttribute, (int *value, int attribute, CUfunction function))                                              \
  X(cuFuncSetAttribute, (CUfunction function, int attribute, int value))                                               \
  X(cuLaunchKernel,                                                                                                    \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,       \
     unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, void **extra))

/* Calls that a driver may be too old for; NULL in the table then: from CUDA 12.0, 11.8 and 12.4, and the last four
 * from 11.3 on. */
#define RS_CUDA_LATER_CALLS(X)                                                                                         \
  X(cuStreamGetId, (CUstream stream, unsigned long long *id))                                                          \
  X(cuLaunchKernelEx, (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra))            \
  X(cuCtxGetDevResource, (CUcontext context, CUdevResource * resource, int type))                                      \
  X(cuStreamGetCaptureInfo_v2, (CUstream stream, int *status, unsigned long long *id, CUgraph *graph,                  \
                                const void **dependencies, size_t *dependency_count))                                  \
  X(cuUserObjectCreate, (CUuserObject * object, void *user, CUhostFn destroy, unsigned references, unsigned flags))    \
  X(cuUserObjectRelease, (CUuserObject object, unsigned count))                                                        \
  X(cuGraphRetainUserObject, (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))

typedef struct rs_cuda {
#define X(symbol, parameters) CUresult(*symbol) parameters;
  RS_CUDA_CALLS(X)
  RS_CUDA_LATER_CALLS(X)
#undef X
  int version; /* of the driver: 1000 * major + 10 * minor */
} rs_cuda;

/*
 * The table, filled and initialised once a process; the library stays open. Errors: NO_DRIVER (says what was tried),
 * NO_DEVICE (there is a driver, and it sees no GPU).
 */
rowscan_status rs_cuda_open(const rs_cuda **cuda);

/* After rs_cuda_open failed: whether there is a driver nevertheless, which does not start or is too old. */
bool rs_cuda_is_there(void);

/*
 * Turns a failed call into a status and a message: "cuMemAlloc_v2(...) failed: CUDA_ERROR_OUT_OF_MEMORY (out of
 * memory)". OUT_OF_MEMORY for that error, else CUDA_FAILED. `call` names it, with what it was asked where that helps.
 */
rowscan_status rs_cuda_failed(const rs_cuda *cuda, CUresult result, const char *call);

/* Of an image that was to be loaded: whether another may do better. */
static inline bool rs_cuda_rejects(CUresult result) {
  return result && result != CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * Between the two this thread may load kernels, take and free memory and wait while streams are captured, by it or
 * others, who have nothing to do with that. The mode is what was before.
 */
int rs_cuda_relax(const rs_cuda *cuda);
void rs_cuda_restore(const rs_cuda *cuda, int mode);

#endif
