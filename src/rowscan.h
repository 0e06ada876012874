/*
 * rowscan.h - prefix scans along one dimension of a tensor, on NVIDIA GPUs and on the CPU
 * SPDX-License-Identifier: MIT
 *
 * A tensor is seen as rows: a row is the `length` elements along the scanned dimension at one position of all the
 * others. A *spec* is what a kernel is specialised to (operator, types, flags, length, layout); the number of rows, the
 * pointers and the strides are run-time arguments. A *plan* is a spec made ready in a *context*, which binds one GPU or
 * the CPU. See README.md for a program of 15 lines.
 *
 * Bits. The result depends on the row alone, never on the batch, the device, the engine or the run. The elements of a
 * row x[0..N) are combined in this order, for an operator o:
 *   - an aligned block of 2^b elements starts at a multiple of 2^b; its total is T(left half) o T(right half);
 *   - P(k), the prefix of k elements, is a left fold over the aligned blocks that make up [0, k), largest first; with
 * an initial value, the fold starts from it;
 *   - inclusive(i) = P(i + 1), exclusive(i) = P(i), the total of a row is P(N); reverse is the same on the row read
 *     backwards.
 * P(0) without an initial value is the identity of the operator: +0 for a sum, 1 for a product. A NaN may differ from
 * another NaN in sign and payload; everything else is equal bit for bit.
 *
 * Structs that a caller fills start with `.size`; a field left zero takes its default. The macros ROWSCAN_OPTIONS,
 * ROWSCAN_SPEC, ROWSCAN_ARGS and ROWSCAN_PROBLEM make such a struct and set `.size`. (C only; in C++ set the fields.)
 *
 * Threads. Different contexts share nothing. All calls on one context or plan may be made from many threads at once,
 * but a context or plan must not be used while it is closed or destroyed. Any of them, but for opening and closing
 * contexts, may be made while this thread or another captures a stream, in whatever mode: but for runs on that stream
 * it leaves the capture as it is. (Runs on the legacy default stream are no part of this: they wait for all other
 * streams, and the driver refuses that while one is captured.) Callbacks may run in threads of the library, but for
 * progress, which the caller's thread tells. They may make no call with the same context or its plans.
 *
 * Processes. After fork() a child may neither use nor tidy up what its parent opened: closing and destroying that do
 * nothing there. It opens a context of its own, on a GPU only if the parent has not used CUDA, which is the driver's
 * rule.
 *
 * Errors. A call that fails returns a status other than ROWSCAN_OK and leaves its outputs as they were; what went
 * wrong, with the name of the field and its value, is in rowscan_last_error(). The library never aborts, and prints
 * nothing, unless $ROWSCAN_LOG asks a program for its log that has no callback for it.
 */
#ifndef ROWSCAN_H
#define ROWSCAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ROWSCAN_API __attribute__((visibility("default")))
#define ROWSCAN_CHECKED __attribute__((warn_unused_result))
#define ROWSCAN_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#else
#define ROWSCAN_API
#define ROWSCAN_CHECKED
#define ROWSCAN_NONNULL(...)
#endif

struct CUstream_st; /* the driver's CUstream is a pointer to this */
typedef struct rowscan_context rowscan_context;
typedef struct rowscan_plan rowscan_plan;

/* ---- enumerations ------------------------------------------------------------------------------------------------ */

typedef enum rowscan_status {
  ROWSCAN_OK = 0,
  ROWSCAN_BAD_ARGUMENT,   /* a field is out of range or contradicts another */
  ROWSCAN_UNSUPPORTED,    /* a valid request that rowscan does not serve */
  ROWSCAN_OUT_OF_MEMORY,  /* host or device memory */
  ROWSCAN_NO_DRIVER,      /* libcuda.so.1 is not there or too old */
  ROWSCAN_NO_DEVICE,      /* there is no such GPU */
  ROWSCAN_NO_COMPILER,    /* NVRTC is needed and is not there, or does not know the architecture */
  ROWSCAN_COMPILE_FAILED, /* NVRTC rejected the generated source: a bug in rowscan */
  ROWSCAN_CUDA_FAILED,    /* a call of the CUDA driver failed */
  ROWSCAN_CACHE_FAILED,   /* a call that is about the cache itself failed; never returned where compiling can serve */
  ROWSCAN_NOT_CACHED      /* a kernel is not in the cache, and compiling is forbidden (cache_only) */
} rowscan_status;

typedef enum rowscan_engine {
  ROWSCAN_ENGINE_AUTO = 0, /* cuda where there is a GPU, else host */
  ROWSCAN_ENGINE_CUDA,
  ROWSCAN_ENGINE_HOST
} rowscan_engine;

typedef enum rowscan_op { ROWSCAN_SUM = 0, ROWSCAN_PROD } rowscan_op;

typedef enum rowscan_type {
  ROWSCAN_TYPE_DEFAULT = 0,
  ROWSCAN_F16,
  ROWSCAN_BF16,
  ROWSCAN_F32,
  ROWSCAN_F64,
  ROWSCAN_I8,
  ROWSCAN_U8,
  ROWSCAN_I16,
  ROWSCAN_U16,
  ROWSCAN_I32,
  ROWSCAN_U32,
  ROWSCAN_I64,
  ROWSCAN_U64,
  ROWSCAN_BOOL /* one byte; every value but 0 is true, and counts as 1 */
} rowscan_type;

typedef enum rowscan_mask_mode {
  ROWSCAN_MASK_NONE = 0,
  ROWSCAN_MASK_SELECT,  /* where the mask is 0, the element is replaced by the identity: a NaN there is gone */
  ROWSCAN_MASK_MULTIPLY /* the element is multiplied by the mask, in the accumulator type: a NaN stays */
} rowscan_mask_mode;

/* How the rows lie in memory: which kernels a plan holds. Either serves any strides; the wrong one is slow. */
typedef enum rowscan_layout {
  ROWSCAN_LAYOUT_ROWS = 0, /* [rows..., length]: the elements of a row are neighbours */
  ROWSCAN_LAYOUT_COLUMNS   /* [rows..., length, inner]: neighbouring rows are neighbours, element by element */
} rowscan_layout;

typedef enum rowscan_regime {
  ROWSCAN_REGIME_AUTO = 0,
  ROWSCAN_REGIME_ROW,   /* a block of threads a row */
  ROWSCAN_REGIME_SHORT, /* several rows a block of threads */
  ROWSCAN_REGIME_LONG,  /* many blocks of threads a row */
  ROWSCAN_REGIME_COLUMN /* many rows side by side a block of threads, rows cut where they are long */
} rowscan_regime;

/* Flags of a spec, or-ed. */
#define ROWSCAN_EXCLUSIVE 1u /* element i of the output leaves out element i of the input */
#define ROWSCAN_REVERSE 2u   /* from the last element to the first */
#define ROWSCAN_DELAYS 4u    /* for tests: blocks of the GPU that hand one another values pause at random places */

/* ---- library ----------------------------------------------------------------------------------------------------- */

/* "major.minor.patch" of the library. */
ROWSCAN_API const char *rowscan_version(void);

/* "ROWSCAN_OK", ...; never NULL. */
ROWSCAN_API const char *rowscan_status_name(rowscan_status status);

/* "f32", "bool", ..., and the other way: ROWSCAN_TYPE_DEFAULT for an unknown name. Bytes of one element, 0 for none. */
ROWSCAN_API const char *rowscan_type_name(rowscan_type type);
ROWSCAN_API rowscan_type rowscan_type_by_name(const char *name) ROWSCAN_NONNULL(1);
ROWSCAN_API size_t rowscan_type_bytes(rowscan_type type);

/* "sum", ..., and the other way: -1 for an unknown name. "row", "short", "long", "column". */
ROWSCAN_API const char *rowscan_op_name(rowscan_op op);
ROWSCAN_API int rowscan_op_by_name(const char *name) ROWSCAN_NONNULL(1);
ROWSCAN_API const char *rowscan_regime_name(rowscan_regime regime);

/*
 * The story of the last call that failed in this thread: what was asked, which field, which value, what the driver or
 * the compiler said (with the numbered source). To be read after a call has failed and before the next one: a call
 * that succeeds may leave there what it got over. "" before the first.
 */
ROWSCAN_API const char *rowscan_last_error(void);

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

typedef enum rowscan_log_level { ROWSCAN_LOG_WARNING = 0, ROWSCAN_LOG_INFO, ROWSCAN_LOG_DEBUG } rowscan_log_level;

typedef struct rowscan_options {
  size_t size;
  rowscan_engine engine;
  int device;              /* ordinal of the GPU; default 0 */
  int threads;             /* of the host engine; default: one for each processor this process may use */
  const char *nvrtc;       /* file name of the NVRTC library; default: $ROWSCAN_NVRTC, else the places in README.md */
  const char *cache_dir;   /* default: $ROWSCAN_CACHE_DIR, else $XDG_CACHE_HOME/rowscan, else ~/.cache/rowscan */
  int cache_off;           /* not 0: keep nothing on disk; $ROWSCAN_CACHE=off does the same */
  int cache_only;          /* not 0: never compile, so that a miss is NOT_CACHED; $ROWSCAN_CACHE=only does the same */
  const char *cache_packs; /* packs to read besides: files, and directories of *.pack, between colons; default:
                              $ROWSCAN_CACHE_PACKS. Then those installed in $(pkgdatadir); "off": none at all */
  int64_t cache_limit;     /* bytes the cache may hold on disk; default 256 MB */
  size_t staging_bytes;    /* of rowscan_scan_host on a GPU: memory for pieces on the GPU; default a quarter of what is
                              free */
  void *user;              /* handed to the callbacks */
  void (*log)(void *user, rowscan_log_level level, const char *message); /* may be called by any thread; default: what
                            $ROWSCAN_LOG asks for (warning, info or debug; what else it says is told, and means warning)
                            goes to standard error, else nothing. debug tells each decision about a kernel, with the
                            time that it took */
  void (*progress)(void *user, int64_t done_bytes, int64_t total_bytes); /* of rowscan_scan_host; default none */
} rowscan_options;

#define ROWSCAN_OPTIONS(...) (&(rowscan_options){.size = sizeof(rowscan_options), __VA_ARGS__})

/*
 * Opens a context. On a GPU it retains the device's primary context, the one that the CUDA runtime and frameworks use,
 * and looks for NVRTC, which it does not load; that none is found is told when one is needed.
 * options may be NULL. Errors: BAD_ARGUMENT, NO_DRIVER and NO_DEVICE (with ENGINE_AUTO only where there are GPUs, and
 * none of that ordinal), OUT_OF_MEMORY, CUDA_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/* Closes a context; NULL is nothing. Plans must be destroyed before. Does not wait for runs on the GPU. */
ROWSCAN_API void rowscan_close(rowscan_context *context);

/* The engine that the context ended up with: CUDA or HOST. */
ROWSCAN_API rowscan_engine rowscan_context_engine(const rowscan_context *context) ROWSCAN_NONNULL(1);

/* ---- specs and plans --------------------------------------------------------------------------------------------- */

typedef struct rowscan_spec {
  size_t size;
  rowscan_op op;
  rowscan_type in_type;   /* default f32 */
  rowscan_type out_type;  /* default: the input's if floating, u64 for unsigned, i64 for signed integers and bool */
  rowscan_type acc_type;  /* accumulator, see rowscan_spec_complete */
  rowscan_type mask_type; /* bool, u8 or the input's; default bool */
  rowscan_mask_mode mask_mode; /* default: no mask */
  unsigned flags;              /* ROWSCAN_EXCLUSIVE, ROWSCAN_REVERSE, ... */
  int64_t length;              /* elements of a row, 0 to 2^56 */
  rowscan_layout layout;
  int row_rank;          /* dimensions that number the rows, 1 to 63; default 1 for LAYOUT_ROWS, 2 for COLUMNS */
  rowscan_regime regime; /* force one; default: chosen from the spec and, run by run, from the number of rows */
} rowscan_spec;

#define ROWSCAN_SPEC(...) (&(rowscan_spec){.size = sizeof(rowscan_spec), __VA_ARGS__})

/*
 * Checks a spec and replaces each default by what it stands for; its .size stays.
 *   Accumulator: for floating outputs f32 for f16, bf16, f32, bool and integers of 8 and 16 bits, f64 for f64 and
 *   integers of 32 and 64 bits (so that every element but those of i64 and u64 is exact); the caller may ask for f64.
 *   For integer outputs it is the output type, and wraps. There is one rounding, from the accumulator to the output.
 *   Outputs: a floating input has floating outputs only, and no output is bool.
 * Errors: BAD_ARGUMENT, UNSUPPORTED.
 */
ROWSCAN_API rowscan_status rowscan_spec_complete(rowscan_spec *spec) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/*
 * A spec as text, and the other way: field=value pairs, separated by blanks or ends of lines, as they begin the key of
 * a cache entry. The text is "op=sum in=f32 out=f32 acc=f32 mask=none reverse=0 exclusive=0 length=1000 layout=rows
 * row_rank=1", with mask_type after a mask, and with regime at the end if one is forced. Reading, fields may stand in
 * any order, and all but length may be left out for their defaults; the spec, whose .size is set before, comes out
 * complete. Free the text with rowscan_free. Errors: BAD_ARGUMENT, UNSUPPORTED; they name the field and the value.
 */
ROWSCAN_API rowscan_status rowscan_spec_text(const rowscan_spec *spec, char **text) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_spec_parse(rowscan_spec *spec, const char *text) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Makes a plan of a spec. On a GPU it has a kernel for each kind of rows (neighbours on multiples of 16 bytes,
 * neighbours anywhere, any strides; and few of them), each a module of its own that is made ready when it is first
 * needed: read from the cache or compiled, and loaded. This call does so for the kernel that most runs need: many rows
 * or columns, neighbours, that begin where allocations do. With cache_only nothing is compiled: what would have to be
 * is NOT_CACHED, and the story names the spec and the architecture. (The build-id of the NVRTC that is found is part of
 * what a kernel is found by, in the cache's directory and in packs; where there is no NVRTC, or it must not be used, a
 * kernel serves whichever NVRTC made it.)
 * Errors: BAD_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, NO_COMPILER, COMPILE_FAILED, NOT_CACHED, CUDA_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_plan_create(rowscan_plan **plan, rowscan_context *context,
                                               const rowscan_spec *spec) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3);

/*
 * The same for an architecture ("sm_90") that need not be present: a plan to look at, not to run, with all its kernels.
 * Needs no GPU and no driver. Errors as above.
 */
ROWSCAN_API rowscan_status rowscan_plan_compile(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                                                const char *arch) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

/* NULL is nothing. Runs of the plan on the GPU must have finished. */
ROWSCAN_API void rowscan_plan_destroy(rowscan_plan *plan);

/*
 * What a run works on. Pointers are device pointers on a GPU, host pointers on the host, aligned to their element.
 * Strides are in elements, in the order [row dimensions..., scanned dimension]; any sign, 0 in inputs and masks repeats
 * an element. NULL strides: dense in C order, with the scanned dimension last (LAYOUT_ROWS) or last but one (COLUMNS).
 * init and totals are dense, one element of the accumulator type a row, rows in C order.
 *
 * Overlaps. `output` may be the same as `input`, with the same strides and element size. Else no element of output,
 * totals or workspace may share a byte with another array or with another element of its own: a run is then
 * BAD_ARGUMENT, names both arrays, and writes nothing. Strides decide, and not ranges: arrays that interleave in one
 * allocation (even and odd elements, halves of each line) are served. The search is exact, and bounded: where unrelated
 * strides of many dimensions leave it open after 2000 steps (0.2 ms), the run is served, and what overlaps then has
 * wrong elements. That no two runs at once write what the other reads or writes is the caller's part.
 */
typedef struct rowscan_args {
  size_t size;
  const void *input;
  void *output;
  const void *mask;              /* needed if the spec has a mask mode */
  const void *init;              /* initial value of each row; default none */
  void *totals;                  /* total of each row, unrounded; default not written */
  int64_t rows;                  /* number of rows; with row_shape: 0 or its product */
  const int64_t *row_shape;      /* [row_rank]; may be NULL if row_rank is 1 */
  const int64_t *input_strides;  /* [row_rank + 1] */
  const int64_t *output_strides; /* [row_rank + 1] */
  const int64_t *mask_strides;   /* [row_rank + 1] */
  void *workspace; /* device memory of this run's own, a multiple of 8; default one of the plan's, see below */
  size_t workspace_bytes;
} rowscan_args;

#define ROWSCAN_ARGS(...) (&(rowscan_args){.size = sizeof(rowscan_args), __VA_ARGS__})

/*
 * Makes ready what runs with such args need, the kernel and scratch memory, and queues nothing. No element is read or
 * written, so that pointers may be any that begin as those of the runs will: how far from a multiple of 32 bytes.
 * Scratch memory is that of the next stream which runs the plan. args NULL: all kernels, and all scratch memory if
 * there may be need of it, six times what the plan's info says, so that no later run compiles, loads or allocates
 * anything, unless it is captured. May be called by several threads, and under stream capture. On the host there is
 * nothing to do. Errors: those of plan_create; BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile).
 */
ROWSCAN_API rowscan_status rowscan_plan_prepare(rowscan_plan *plan, const rowscan_args *args) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/*
 * Runs a plan: on a GPU queues it on `stream` (NULL: the default stream) and returns; on the host works and returns
 * when done. The first run that needs a kernel or scratch memory that is not ready makes it so, which takes as long as
 * reading or compiling, and loading or allocating, which the driver may delay until kernels that run are done; see
 * rowscan_plan_prepare. Else it never compiles, allocates or synchronises. May be called under stream capture.
 *
 * From sm_90 and CUDA 12.3 on a launch is a programmatic dependent one: its blocks may be started while the kernel
 * before it in the stream ends. They wait until that is done before they read or write anything, though they may ask
 * the L2 cache for input. A captured graph has a programmatic edge there. With $ROWSCAN_PDL=off, read when a context is
 * opened, launches and edges are plain ones.
 *
 * Workspace. Where rows are cut over blocks of threads a run needs scratch memory, workspace_bytes of the plan's
 * info at most. A stream's first such run allocates what it needs, as a power of two; one that needs more than any
 * before allocates that besides; and each leaves it ready for the next, so that a run is one launch (more where rows
 * that are neighbours exceed 2 GB, or rows side by side need more than that bound). The
 * first two streams to run the plan many times keep theirs for as long as it lives; all other streams have four, and
 * where they are more they wait for one another on the GPU. A run under capture allocates what it needs, for as long
 * as the plan lives, and shares it with later runs on the same stream in the same capture; so do at most 512 streams
 * of graphs, in all with as much as eight times workspace_bytes. It is part of the graph: two executables made of one
 * must not run at the same time. Streams may be destroyed while runs are pending, but not before a capture that they
 * are part of ends. A driver older than CUDA 12.0 can't tell a new stream from a destroyed one: with it no stream keeps
 * one, and all share the four. A run with a workspace of its own (args), workspace_bytes that may hold anything, needs
 * none of that, but queues a clearing of it before each launch.
 *
 * Errors: BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile); OUT_OF_MEMORY (captured graphs have all that
 * there is for them); CUDA_FAILED; those of plan_prepare, after which nothing is queued, and the next run tries again.
 */
ROWSCAN_API rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args,
                                            struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* What a plan is made of: on a GPU modules of one kernel each, first the one that plan_create makes ready. */
typedef struct rowscan_plan_info {
  size_t size;
  rowscan_spec spec;      /* completed */
  int modules;            /* 0 on the host */
  size_t workspace_bytes; /* see rowscan_plan_run */
} rowscan_plan_info;

typedef struct rowscan_module_info {
  size_t size;
  const char *kernel;    /* "aligned": which of the plan's, by the rows that it takes */
  rowscan_regime regime; /* it belongs to; in a plan of row and long each run chooses by its number of rows */
  char arch[16];         /* "sm_90" */
  int threads;           /* of a block */
  int registers;         /* of a thread */
  int shared_bytes;      /* static shared memory of a block */
  int local_bytes;       /* local memory of a thread */
  int spill_bytes;       /* registers spilled to local memory, stores and loads */
  size_t ptx_bytes;
  size_t cubin_bytes;
  double build_ms;      /* reading the cache, or compiling */
  int cached;           /* not 0: came from the cache */
  const char *geometry; /* "threads=1024 vector=4 chunks=4": the tile, in words; lives as long as the plan */
  const char *source;   /* generated CUDA source */
  const char *ptx;      /* NUL-terminated; ptx_bytes counts without it; it and cubin live as long as the plan */
  const void *cubin;
} rowscan_module_info;

#define ROWSCAN_INFO(type)                                                                                             \
  { .size = sizeof(type) }

/*
 * Fills info, whose .size is set. Errors: BAD_ARGUMENT (module is not in 0 .. modules-1); and of rowscan_plan_module
 * those of plan_prepare, for it makes that kernel ready; a plan that can be run leaves PTX in the cache, and has it
 * from there, or anew, when asked.
 */
ROWSCAN_API rowscan_status rowscan_plan_info_get(const rowscan_plan *plan, rowscan_plan_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_plan_module(const rowscan_plan *plan, int module,
                                               rowscan_module_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 3);

/*
 * Architectures that the NVRTC at hand knows, as numbers (90 for sm_90), ascending; *count: room in, number out.
 * Errors: BAD_ARGUMENT (there is no room for all), NO_COMPILER, OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_archs(rowscan_context *context, int *archs, int *count) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/*
 * The generated source of a spec for an architecture, without compiling. module: as in rowscan_plan_module. Free the
 * text with rowscan_free. Needs no NVRTC. Errors: BAD_ARGUMENT (also where there are fewer modules), UNSUPPORTED,
 * OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_source(const rowscan_spec *spec, const char *arch, int module,
                                          char **source) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 4);
ROWSCAN_API void rowscan_free(void *memory);

/* ---- one call ---------------------------------------------------------------------------------------------------- */

typedef struct rowscan_tensor {
  void *data;             /* element [0, ..., 0]; inputs and masks are not written */
  rowscan_type type;      /* defaults as those of rowscan_spec's in_type, out_type and mask_type */
  const int64_t *strides; /* [rank], in elements; NULL: dense, C order */
} rowscan_tensor;

/*
 * A scan along one dimension of tensors of any rank and any strides; nothing is copied to straighten them. They may
 * overlap as arrays of rowscan_args may, and are told likewise.
 */
typedef struct rowscan_problem {
  size_t size;
  rowscan_op op;
  unsigned flags;
  int rank;             /* 1 to 64 */
  int dim;              /* scanned dimension, -rank to rank - 1 */
  const int64_t *shape; /* [rank], of all tensors; each >= 0 */
  rowscan_tensor input;
  rowscan_tensor output;
  rowscan_tensor mask; /* needed if mask_mode is set */
  rowscan_mask_mode mask_mode;
  rowscan_type acc_type;
  const void *init; /* accumulator type, dense over `shape` without `dim`, C order; default none */
  void *totals;     /* likewise */
} rowscan_problem;

#define ROWSCAN_PROBLEM(...) (&(rowscan_problem){.size = sizeof(rowscan_problem), __VA_ARGS__})

/*
 * Scans tensors that the context's engine can reach: device memory on a GPU, queued on `stream`; host memory on the
 * host, where there is nothing to make or keep. On a GPU the plan is made by the first call of its kind and kept in the
 * context; of its kernels those that are needed. A context keeps 256 plans: one that has run 16 times stays (192 at
 * most), of the others the least recently used goes when a new one is made, which then may wait for kernels that run;
 * its kernels are in the cache, if there is one. One whose runs aren't done does not go, nor does one that ran under
 * capture, for a graph may run it at any time: these may be more than 256. Until a plan stays an event is recorded
 * after each of its runs, and of streams that run it the fifth and later ones wait for others after their run. Who
 * needs more lengths at hand keeps plans of his own. Errors: those of plan_create and plan_run.
 */
ROWSCAN_API rowscan_status rowscan_scan(rowscan_context *context, const rowscan_problem *problem,
                                        struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * Scans tensors in host memory with either engine, and returns when done. On a GPU they travel in pieces through pinned
 * memory, copies and kernels overlapped, and may be larger than the GPU's memory, single rows too; the bits are the
 * same. Errors: those of plan_create and plan_run.
 */
ROWSCAN_API rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- devices ----------------------------------------------------------------------------------------------------- */

typedef struct rowscan_device_info {
  size_t size;
  char name[128];
  char arch[16]; /* "sm_90" */
  int multiprocessors;
  int64_t memory_bytes;
  int64_t l2_bytes;
  int shared_bytes; /* the most shared memory a block may have */
  double peak_gbs;  /* 10^9 bytes a second of device memory by its clock and width; 0 if not told */
} rowscan_device_info;

/* Number of GPUs. Errors: NO_DRIVER, CUDA_FAILED; NO_DRIVER sets it to 0. */
ROWSCAN_API rowscan_status rowscan_device_count(int *count) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/* Fills info, whose .size is set. Errors: BAD_ARGUMENT, NO_DRIVER, NO_DEVICE (of that ordinal), CUDA_FAILED. */
ROWSCAN_API rowscan_status rowscan_device_get(int device, rowscan_device_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(2);

/* ---- measuring --------------------------------------------------------------------------------------------------- */

typedef struct rowscan_timing {
  size_t size;
  double scan_ms;   /* this and the next two: of one scan or copy, medians over interleaved repetitions */
  double copy_ms;   /* the engine's own copy (cuMemcpyDtoDAsync, memcpy) of as many bytes as the scan reads and writes,
                       half each */
  double kernel_ms; /* a plain copy kernel of the same access: from the input's strides to the output's; of dense
                       arrays, of as many bytes as copy_ms. 0 where there is none: on the host, and where strides come
                       with a mask, or with elements of two sizes */
  int64_t bytes;    /* that the scan must read and write */
  int64_t wrong;    /* elements whose bits differ from the host engine's; checked on a sample of rows */
  int64_t checked;  /* elements compared */
  int replayed;     /* not 0: scans were replayed from a CUDA graph, so that no launch of the host is in their time */
  rowscan_regime regime;
  char geometry[160];
} rowscan_timing;

/*
 * Times a spec on random numbers in memory of its own, against copies of the same bytes, and checks what it timed.
 * args says how many rows there are and how they lie, as for rowscan_plan_run (rows, row_shape and strides); its
 * pointers are not used. Buffers rotate when they would fit in the GPU's L2 cache. repeat: repetitions, 0 for a
 * sensible number. Errors: those of plan_create and plan_run; BAD_ARGUMENT without rows.
 */
ROWSCAN_API rowscan_status rowscan_measure(rowscan_context *context, const rowscan_spec *spec, const rowscan_args *args,
                                           int repeat, rowscan_timing *timing) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3, 5);

/* ---- ahead of need ----------------------------------------------------------------------------------------------- */

/* What became of one spec for one architecture. */
typedef struct rowscan_warmed {
  size_t size;
  int64_t spec;          /* which: its place in the list */
  const char *arch;      /* "sm_90"; this and story live until visit returns */
  rowscan_status status; /* OK: all its kernels are in the cache */
  const char *story;     /* what went wrong; "" if nothing */
  int modules;           /* entries of the cache that it takes, see rowscan_plan_info; 0 if they were not made */
  int compiled;          /* of these, not in the cache before */
  double ms;
  int64_t done; /* pairs of spec and architecture so far, this one too */
  int64_t total;
} rowscan_warmed;

typedef struct rowscan_warming {
  size_t size;
  const rowscan_spec *specs; /* [spec_count], all with the same .size */
  int64_t spec_count;
  const char *const *archs; /* [arch_count], "sm_90", at most 128; NULL: all that the NVRTC at hand knows */
  int arch_count;
  int threads;                                         /* that compile at a time; default: as many as the context's
                                                          `threads` */
  int (*visit)(void *user, const rowscan_warmed *one); /* called for each pair when it is done, from any thread, by
                                                          one at a time; not 0: begin no more, which is no
                                                          error. Default none */
  void *user;
} rowscan_warming;

#define ROWSCAN_WARMING(...) (&(rowscan_warming){.size = sizeof(rowscan_warming), __VA_ARGS__})

/*
 * Fills the cache: compiles what it lacks of each spec for each architecture, on all cores. Needs no GPU and no driver.
 * One that fails does not keep the others from being made; the status is that of the first. With cache_only nothing is
 * compiled: it says whether all is there. Errors: BAD_ARGUMENT and UNSUPPORTED, before anything is compiled; those of
 * plan_compile; CACHE_FAILED (there is no cache on disk, or what was compiled could not be kept, or the last entries
 * evicted the first: the cache's limit is too small for the list).
 */
ROWSCAN_API rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *list) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- the cache on disk ------------------------------------------------------------------------------------------- */

/* Kernels are counted, of which a plan has several; see rowscan_plan_info. */
typedef struct rowscan_cache_counts {
  int64_t hits;      /* not compiled, for they were on disk, or made at that moment by another thread */
  int64_t misses;    /* neither */
  int64_t compiles;  /* of these, and of what was rejected */
  double saved_ms;   /* what compiling the hits took, when it was done */
  int64_t evictions; /* entries removed to keep the limit, least recently used first */
  int64_t damaged;   /* times that an entry was found and not used, for it was not what it should be */
  int64_t rejected;  /* entries that the driver did not load, and that were compiled again; if it does not load that
                        either, plans that need it fail with what the driver said, and the context compiles it no more
                        (and counts nothing) */
} rowscan_cache_counts;

typedef struct rowscan_cache_info {
  size_t size;
  const char *path; /* "" if there is none: nothing is kept on disk; lives as long as the context */
  const char *why;  /* why there is none, else "" */
  int packs;        /* that are read besides */
  int64_t pack_entries;
  int64_t entries; /* this and the next: of those that can be read */
  int64_t bytes;
  int64_t limit_bytes;
  rowscan_cache_counts counts; /* of this context */
  rowscan_cache_counts all;    /* of all contexts of all processes that used this directory; those of another process
                                  are here when it has put an entry or has closed its context */
} rowscan_cache_info;

typedef struct rowscan_cache_entry {
  size_t size;
  const char *name; /* file name below the cache's path; of an entry of a pack: that it would have there */
  const char *key;  /* canonical text, one field=value a line; NULL if damaged */
  int64_t bytes;
  int64_t used;       /* last use, seconds since 1970; of an entry of a pack: 0 */
  const char *damage; /* what is wrong with it; NULL if nothing */
  const char *pack;   /* the file of the pack that has it; NULL: it is on disk by itself */
} rowscan_cache_entry;

/* Fills info, whose .size is set. Errors: BAD_ARGUMENT. That there is no cache on disk is none. */
ROWSCAN_API rowscan_status rowscan_cache_info_get(rowscan_context *context, rowscan_cache_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Calls visit for each entry on disk, read and verified, but for those of packs; stops early if it returns not 0.
 * Strings live until visit returns. Errors: CACHE_FAILED (not all of the directory can be read, or out of memory).
 */
ROWSCAN_API rowscan_status rowscan_cache_visit(rowscan_context *context,
                                               int (*visit)(void *user, const rowscan_cache_entry *entry),
                                               void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * The same for each entry of the packs that are read besides. One that is no pack, or is not to be trusted, has none:
 * the log has told it when the context was opened. Errors: none.
 */
ROWSCAN_API rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                                     int (*visit)(void *user, const rowscan_cache_entry *entry),
                                                     void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* A field in which the key that is asked for differs from an entry's; NULL where one of them lacks it. */
typedef struct rowscan_cache_difference {
  const char *field;
  const char *asked;
  const char *found;
} rowscan_cache_difference;

/* Why a kernel of a spec is, or is not, in the cache. Strings live until visit returns. */
typedef struct rowscan_cache_reason {
  size_t size;
  const char *kernel; /* this and the next as in rowscan_module_info */
  rowscan_regime regime;
  const char *name;     /* file name of its entry below the cache's path, there or not; "" if that depends on a compiler
                           that is not there */
  int hit;              /* not 0: it is there, and sound */
  const char *damage;   /* it is there, and this is wrong with it; else NULL */
  const char *nearest;  /* if neither: the entry, of packs too, that differs in the fewest fields; NULL if there is no
                           sound one */
  int difference_count; /* of the nearest: the fields of the spec first. Of a hit: none, but where nothing can be
                           compiled an entry serves whichever compiler made it, and this is its field (nvrtc) */
  const rowscan_cache_difference *differences;
  const char *pack; /* the file of the pack that has the hit, what is damaged, or the nearest; NULL: none has it */
} rowscan_cache_reason;

/*
 * Explains a hit or a miss of a spec for an architecture: calls visit for each of its modules, see rowscan_plan_info,
 * until it returns not 0. Reads all entries, those of packs too; compiles nothing, counts nothing, and needs no
 * compiler: without one, that is what every entry differs in. Errors: BAD_ARGUMENT, UNSUPPORTED, CACHE_FAILED,
 * OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                             int (*visit)(void *user, const rowscan_cache_reason *reason),
                                             void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

typedef struct rowscan_cache_pruned {
  size_t size;
  int64_t removed; /* entries, least recently used first: only if the cache is close to its limit */
  int64_t removed_bytes;
  int64_t swept; /* temporaries that processes which died left behind more than an hour ago */
  int64_t swept_bytes;
  int64_t left; /* entries */
  int64_t left_bytes;
} rowscan_cache_pruned;

/* Does at once what the cache does by itself now and then. Fills pruned, whose .size is set. Errors: CACHE_FAILED. */
ROWSCAN_API rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* Removes all entries; *removed and *bytes say how many, also if it fails. Errors: CACHE_FAILED. */
ROWSCAN_API rowscan_status rowscan_cache_clear(rowscan_context *context, int64_t *removed,
                                               int64_t *bytes) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/* ---- packs ------------------------------------------------------------------------------------------------------- */

/* Which entries: all that have one of the architectures, and all of the fields. */
typedef struct rowscan_cache_filter {
  size_t size;
  const char *const *archs; /* [arch_count], "sm_90"; NULL: all */
  int arch_count;
  const char *spec; /* field=value pairs as rowscan_spec_text writes them, separated by blanks: "in=f32 reverse=1"; of
                       other fields of keys, too: "kernel=aligned"; default: any */
} rowscan_cache_filter;

#define ROWSCAN_CACHE_FILTER(...) (&(rowscan_cache_filter){.size = sizeof(rowscan_cache_filter), __VA_ARGS__})

typedef struct rowscan_cache_exported {
  size_t size;
  int64_t entries; /* in the pack */
  int64_t damaged; /* left out */
  int64_t bytes;   /* of the pack */
} rowscan_cache_exported;

/*
 * A pack has many entries of the cache in one file, which other machines can use: cache/README.md has its format.
 * Writes one: of the entries on disk that filter asks for, NULL: all. There may be none. The file appears as a whole
 * or not at all, and replaces one that is there. Fills exported, whose .size is set. Errors: BAD_ARGUMENT, CACHE_FAILED
 * (there is no cache on disk, or it can't be read, or the file can't be written), and then nothing is left behind.
 */
ROWSCAN_API rowscan_status rowscan_cache_export(rowscan_context *context, const char *file,
                                                const rowscan_cache_filter *filter,
                                                rowscan_cache_exported *exported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 4);

/*
 * The same into memory, for a process that sends it to others. Free it with rowscan_free. A pack is as large as its
 * entries, and so no larger than the cache's limit; making it, in a file too, takes room for twice its bytes at most.
 */
ROWSCAN_API rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter,
                                                       void **pack, size_t *bytes,
                                                       rowscan_cache_exported *exported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 3, 4, 5);

typedef struct rowscan_cache_imported {
  size_t size;
  int64_t entries; /* in the pack: the sum of what follows */
  int64_t added;
  int64_t present; /* in the cache before */
  int64_t damaged;
  int64_t failed; /* not kept: the disk is full or can't be written, or the cache's limit is too small for them */
} rowscan_cache_imported;

/*
 * Puts the entries of a pack into the cache on disk, but for those that are there. The file must be this user's or
 * root's, writable by no one else, and no symbolic link: a kernel is a program. Fills imported, whose .size is set.
 * Errors: BAD_ARGUMENT, CACHE_FAILED (there is no cache on disk; the file is no pack, is damaged as a whole or is not
 * to be trusted).
 */
ROWSCAN_API rowscan_status rowscan_cache_import(rowscan_context *context, const char *file,
                                                rowscan_cache_imported *imported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/* The same from memory, which may be any bytes: what is no pack is an error, what is damaged in it is left out. */
ROWSCAN_API rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                                       rowscan_cache_imported *imported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 4);

#ifdef __cplusplus
}
#endif
#endif
