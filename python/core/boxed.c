/*
 * boxed.c - kernels of torch's dispatcher in C, through libtorch's C functions that are found at run time
 * SPDX-License-Identifier: MIT
 *
 * The functions are those of torch/csrc/inductor/aoti_torch/c/shim.h, which promises that they stay; they register
 * kernels from torch 2.8 on. A kernel gets its arguments as 64-bit words: a tensor is a handle that it owns, a number
 * is itself, and what may be None is NULL or the address of a word from operator new. It is called without the GIL,
 * from C++, and tells errors as C++ code does: by throwing. It has nothing then that would have to be tidied up.
 */
#include "boxed.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "scan.h"

typedef void *handle;
typedef void kernel(uint64_t *stack, uint64_t inputs, uint64_t outputs);

static struct {
  int (*get_data_ptr)(handle, void **);
  int (*get_dim)(handle, int64_t *);
  int (*get_sizes)(handle, int64_t **);
  int (*get_strides)(handle, int64_t **);
  int (*get_dtype)(handle, int32_t *);
  int (*get_device_type)(handle, int32_t *);
  int (*get_device_index)(handle, int32_t *);
  int (*empty_strided)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t, handle *);
  int (*delete_tensor_object)(handle);
  int (*call_dispatcher)(const char *, const char *, uint64_t *);
  int (*library_init_impl)(const char *, const char *, const char *, uint32_t, handle *);
  int (*library_impl)(handle, const char *, kernel *);
  int (*delete_library_object)(handle);
  int (*get_current_cuda_stream)(int32_t, void **); /* of libtorch_cuda; NULL without */
  void (*throw)(const char *);                      /* std::__throw_runtime_error */
  void (*delete)(void *);                           /* operator delete */
  int32_t types[RP_TYPES];                          /* torch's numbers of the library's types */
} libtorch;

enum { CPU = 0, CUDA = 1 }; /* c10::DeviceType */

/* ---- arguments and results --------------------------------------------------------------------------------------- */

/* A kernel's tensors, and what it came to. */
typedef struct frame {
  rp_call call;
  rp_views views;
  handle owned[5];
  int owned_count;
  int32_t device_type;
  const char *error; /* NULL: none yet */
  char message[96];
} frame;

static rowscan_type type_of_torch(int32_t dtype) {
  for (int type = 1; type < RP_TYPES; type++)
    if (libtorch.types[type] == dtype)
      return (rowscan_type)type;
  return ROWSCAN_TYPE_DEFAULT;
}

/* Sees a tensor, and leaves its type ROWSCAN_TYPE_DEFAULT if the library has none for it. */
static bool see(frame *f, rp_view *view, handle tensor) {
  int64_t rank, *shape, *strides;
  int32_t dtype, device;
  if (libtorch.get_data_ptr(tensor, &view->data) || libtorch.get_dim(tensor, &rank) ||
      libtorch.get_sizes(tensor, &shape) || libtorch.get_strides(tensor, &strides) ||
      libtorch.get_dtype(tensor, &dtype) || libtorch.get_device_type(tensor, &f->device_type) ||
      libtorch.get_device_index(tensor, &device)) {
    f->error = "rowscan: a tensor has no memory of its own";
    return false;
  }
  view->type = type_of_torch(dtype);
  view->rank = (int)rank;
  view->device = f->device_type == CUDA ? device : RP_HOST;
  view->read_only = false;
  view->shape = shape;
  view->strides = strides;
  if (rank > RP_MOST_RANK)
    f->error = "rowscan: a tensor has more than 64 dimensions";
  return !f->error;
}

static void take(frame *f, rp_view *view, uint64_t word) {
  f->owned[f->owned_count++] = (handle)word;
  if (f->error || !see(f, view, (handle)word))
    return;
  if (!view->type)
    f->error = "rowscan: a tensor has a dtype that there is no type for";
  else if (view != &f->views.x && view->device != f->views.x.device)
    f->error = "rowscan: tensors are on different devices";
}

static uint64_t unwrap(uint64_t word) {
  uint64_t inner = *(uint64_t *)word;
  libtorch.delete((void *)word);
  return inner;
}

static void take_optional(frame *f, rp_view *view, uint64_t word) {
  if (word)
    take(f, view, unwrap(word));
}

static void begin(frame *f, uint64_t dim, rowscan_op op) {
  f->call = (rp_call){.dim = (long)(int64_t)dim, .op = op, .wanted = RP_SCAN};
  f->views.x.type = f->views.out.type = f->views.mask.type = f->views.init.type = f->views.totals.type =
      ROWSCAN_TYPE_DEFAULT;
  f->views.x.rank = 0;
  f->owned_count = 0;
  f->error = NULL;
}

/* A new tensor in C order: the kernel's result, which it does not own. */
static handle make(frame *f, rp_view *view, rowscan_type type, int rank, const int64_t *shape) {
  int64_t strides[RP_MOST_RANK], step = 1;
  handle made = NULL;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape[d] ? shape[d] : 1;
  }
  int32_t device = f->views.x.device == RP_HOST ? 0 : f->views.x.device;
  if (libtorch.empty_strided(rank, shape, strides, libtorch.types[type], f->device_type, device, &made))
    f->error = "rowscan: torch could not allocate the result";
  else
    see(f, view, made);
  return made;
}

static bool is_dim(frame *f) {
  int rank = f->views.x.rank ? f->views.x.rank : 1;
  if (f->call.dim >= -rank && f->call.dim < rank)
    return true;
  PyOS_snprintf(f->message, sizeof f->message,
                "Dimension out of range (expected to be in range of [%d, %d], but got %ld)", -rank, rank - 1,
                f->call.dim);
  f->error = f->message;
  return false;
}

static void settle(frame *f) {
  if (!f->error && is_dim(f) && !rp_fit(&f->views, &f->call, ROWSCAN_I64))
    f->error = "rowscan: dtype, mask, init or totals does not fit x";
}

static handle make_out(frame *f, int rank) {
  int64_t shape[RP_MOST_RANK];
  if (f->error)
    return NULL;
  if (f->call.flags & ROWSCAN_INCLUDE_INITIAL)
    rank = f->views.x.rank;
  for (int d = 0; d < rank; d++)
    shape[d] = f->views.x.shape[d] + (d == f->call.dim && f->call.flags & ROWSCAN_INCLUDE_INITIAL);
  return make(f, &f->views.out, f->call.out_type, rank, shape);
}

static void run_frame(frame *f) {
  void *stream = NULL;
  if (f->error)
    return;
  if (!rp_fit_out(&f->views, &f->call))
    f->error = "rowscan: out does not fit x and dim";
  else if (f->views.x.device != RP_HOST && libtorch.get_current_cuda_stream(f->views.x.device, &stream))
    f->error = "rowscan: torch has no current stream";
  else if (rp_run(&f->call, &f->views, stream, NULL))
    f->error = rowscan_last_error();
}

/* Gives back the arguments, and after an error the results too, and throws it. */
static void finish(frame *f, handle *results, int count) {
  for (int i = 0; i < f->owned_count; i++)
    libtorch.delete_tensor_object(f->owned[i]);
  for (int i = 0; f->error && i < count; i++)
    if (results[i])
      libtorch.delete_tensor_object(results[i]);
  if (f->error)
    libtorch.throw(f->error);
}

/* ---- rowscan's operators ----------------------------------------------------------------------------------------- */

/* Their arguments begin (x, dim, op, flags, out_type, acc, mask_mode, mask, init). */
enum { SCAN_ARGUMENTS = 9 };

static void take_scan(frame *f, const uint64_t *stack) {
  begin(f, stack[1], (rowscan_op)stack[2]);
  f->call.flags = (unsigned)stack[3];
  f->call.out_type = (rowscan_type)stack[4];
  f->call.acc_type = (rowscan_type)stack[5];
  f->call.mask_mode = (rowscan_mask_mode)stack[6];
  if (stack[4] >= RP_TYPES || (stack[5] && !rowscan_type_bytes(f->call.acc_type)))
    f->error = "rowscan: out_type or acc is no type";
  take(f, &f->views.x, stack[0]);
  take_optional(f, &f->views.mask, stack[7]);
  take_optional(f, &f->views.init, stack[8]);
}

static void scan(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  (void)inputs, (void)outputs;
  frame f;
  take_scan(&f, stack);
  int rank = f.views.x.rank;
  settle(&f);
  handle y = make_out(&f, rank);
  run_frame(&f);
  finish(&f, &y, 1);
  stack[0] = (uint64_t)y;
}

/* Has the type of the totals besides. */
static void scan_totals(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  (void)inputs, (void)outputs;
  int64_t type = (int64_t)stack[SCAN_ARGUMENTS], rows[RP_MOST_RANK];
  frame f;
  take_scan(&f, stack);
  int rank = f.views.x.rank;
  settle(&f);
  if (!f.error && (type <= 0 || type >= RP_TYPES))
    f.error = "rowscan: totals_type is no type";
  handle made[2] = {make_out(&f, rank), NULL};
  if (!f.error) {
    for (int d = 0; d < rank; d++)
      rows[d] = d == f.call.dim ? 1 : f.views.x.shape[d];
    made[1] = make(&f, &f.views.totals, (rowscan_type)type, rank, rows);
  }
  settle(&f);
  run_frame(&f);
  finish(&f, made, 2);
  stack[0] = (uint64_t)made[0];
  stack[1] = (uint64_t)made[1];
}

/* Has out and totals besides. */
static void scan_out(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  (void)inputs, (void)outputs;
  frame f;
  take_scan(&f, stack);
  take(&f, &f.views.out, stack[SCAN_ARGUMENTS]);
  take_optional(&f, &f.views.totals, stack[SCAN_ARGUMENTS + 1]);
  settle(&f);
  run_frame(&f);
  finish(&f, NULL, 0);
}

/* ---- aten's ------------------------------------------------------------------------------------------------------ */

/* (self, dim, dtype or None). What the library has no type for, and what is converted first, goes to Python. */
static void aten(uint64_t *stack, rowscan_op op, const char *other) {
  frame f;
  begin(&f, stack[1], op);
  f.call.out_type = stack[2] ? type_of_torch(*(int32_t *)stack[2]) : ROWSCAN_TYPE_DEFAULT;
  bool known = see(&f, &f.views.x, (handle)stack[0]) && f.views.x.type && (f.call.out_type || !stack[2]);
  int rank = f.views.x.rank;
  if (!f.error && is_dim(&f) && !(known && rp_fit(&f.views, &f.call, ROWSCAN_I64))) {
    if (libtorch.call_dispatcher(other, "", stack))
      libtorch.throw("rowscan: what torch has for this dtype failed");
    return;
  }
  f.owned[f.owned_count++] = (handle)stack[0];
  if (stack[2])
    unwrap(stack[2]);
  handle y = make_out(&f, rank);
  run_frame(&f);
  finish(&f, &y, 1);
  stack[0] = (uint64_t)y;
}

static void cumsum(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  (void)inputs, (void)outputs;
  aten(stack, ROWSCAN_SUM, "rowscan::other_cumsum");
}

static void cumprod(uint64_t *stack, uint64_t inputs, uint64_t outputs) {
  (void)inputs, (void)outputs;
  aten(stack, ROWSCAN_PROD, "rowscan::other_cumprod");
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static bool find(void *library, void *to, const char *prefix, const char *name) {
  char symbol[64];
  PyOS_snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
  void *found = dlsym(library, symbol);
  memcpy(to, &found, sizeof found);
  return found != NULL;
}

static bool find_all(void *cpu, void *cuda) {
  static const char *const names[RP_TYPES] = {NULL,    "float16", "bfloat16", "float32", "float64", "int8",   "uint8",
                                              "int16", "uint16",  "int32",    "uint32",  "int64",   "uint64", "bool"};
  void *runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
#define FIND(name) find(cpu, &libtorch.name, "aoti_torch_", #name)
  bool found = runtime && find(runtime, &libtorch.throw, "", "_ZSt21__throw_runtime_errorPKc") &&
               find(runtime, &libtorch.delete, "", "_ZdlPv") && FIND(get_data_ptr) && FIND(get_dim) &&
               FIND(get_sizes) && FIND(get_strides) && FIND(get_dtype) && FIND(get_device_type) &&
               FIND(get_device_index) && FIND(empty_strided) && FIND(delete_tensor_object) && FIND(call_dispatcher) &&
               FIND(library_init_impl) && FIND(library_impl) && FIND(delete_library_object);
#undef FIND
  for (int type = 1; type < RP_TYPES && found; type++) {
    int32_t (*number)(void);
    found = find(cpu, &number, "aoti_torch_dtype_", names[type]);
    libtorch.types[type] = found ? number() : -1;
  }
  if (found && cuda)
    found = find(cuda, &libtorch.get_current_cuda_stream, "aoti_torch_", "get_current_cuda_stream");
  return found;
}

static kernel *kernel_of(PyObject *name) {
  static const struct {
    const char *name;
    kernel *kernel;
  } table[] = {
      {"scan", scan}, {"scan_totals", scan_totals}, {"scan_out", scan_out}, {"cumsum", cumsum}, {"cumprod", cumprod}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, table[i].name))
      return table[i].kernel;
  PyErr_Format(PyExc_ValueError, "there is no kernel %R", name);
  return NULL;
}

static bool put(handle library, PyObject *kernels) {
  PyObject *operator, * name;
  for (Py_ssize_t at = 0; PyDict_Next(kernels, &at, &operator, & name);) {
    kernel *its = kernel_of(name);
    PyObject *text = its ? PyUnicode_AsASCIIString(operator) : NULL;
    if (text && libtorch.library_impl(library, PyBytes_AsString(text), its))
      PyErr_Format(PyExc_RuntimeError, "torch takes no kernel for %R", operator);
    Py_XDECREF(text);
    if (PyErr_Occurred())
      return false;
  }
  return true;
}

PyObject *rp_box(PyObject *self, PyObject *args) {
  (void)self;
  const char *cpu_name, *cuda_name, *space, *key;
  PyObject *kernels;
  if (!PyArg_ParseTuple(args, "szssO", &cpu_name, &cuda_name, &space, &key, &kernels) || !PyDict_Check(kernels))
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "kernels is %R, not a dict", kernels);
  void *cpu = dlopen(cpu_name, RTLD_LAZY | RTLD_NOLOAD);
  void *cuda = cuda_name ? dlopen(cuda_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  if (!cpu || (cuda_name && !cuda) || !find_all(cpu, cuda))
    Py_RETURN_NONE;
  handle library;
  if (libtorch.library_init_impl(space, key, "rowscan", 1, &library))
    return PyErr_Format(PyExc_RuntimeError, "torch opens no library %s for %s", space, key);
  if (put(library, kernels))
    return PyLong_FromVoidPtr(library);
  libtorch.delete_library_object(library);
  return NULL;
}

PyObject *rp_unbox(PyObject *self, PyObject *number) {
  (void)self;
  handle library = PyLong_AsVoidPtr(number);
  if (!library)
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "0 is no library");
  if (libtorch.delete_library_object(library))
    return PyErr_Format(PyExc_RuntimeError, "torch does not close a library");
  Py_RETURN_NONE;
}
