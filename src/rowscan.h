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
 * What a fixed tree of roundings means, where a loop that adds one by one would differ:
 *   - Sums of numbers >= 0 may step down by an ulp or two from one element to the next, as neighbours are rounded along
 *     other branches (222 of 10^6 random numbers in f32). If order matters, as for the search in a cumulative
 *     distribution, ask for acc_type f64 (no step down was seen with it), or take the maximum with the one before.
 *   - A product is a tree too: a block that overflows before it meets a zero gives inf * 0, NaN, where one by one gives
 *     0; blocks that underflow give 0. Sums likewise: -3e38, 0, 3e38, 3e38 in f32 ends in inf, one by one in 3e38. For
 *     f32 and narrower acc_type f64 is the way out, else scale the input.
 *   - Handing a call's totals to the next call as its initial values is one more fold: rowscan_carry has the bits of
 * one scan.
 *
 * Structs that a caller fills, or has filled, start with `.size`, the sizeof that the caller's header has for them: it
 * is their version. A field left zero takes its default, and so does one that an older, shorter struct lacks; a newer,
 * longer one is taken if all that this library does not know is zero. A struct to be filled is filled as far as it
 * goes. The macros ROWSCAN_OPTIONS, ROWSCAN_SPEC, ROWSCAN_ARGS, ROWSCAN_PROBLEM, ROWSCAN_WARMING and
 * ROWSCAN_CACHE_FILTER make such a struct, which lives as long as the block (in C++ as the expression) that it stands
 * in, and set `.size`; so does ROWSCAN_INFO for one to be filled. In C++ they want C++20 and fields in their order
 * (g++ -Wextra remarks on those left out).
 *
 * Threads. Different contexts share nothing. All calls on one context or plan may be made from many threads at once,
 * but a context or plan must not be used while it is closed or destroyed. A scan on the host works in the thread that
 * calls, at once, and in the context's other threads as they become idle. A call is no cancellation point: a thread
 * that is cancelled in one ends it first. Any of them, but for closing contexts, may be made while this thread or
 * another captures a stream, in whatever mode: but for runs on that stream it leaves the capture as it is. (Runs on the
 * legacy default stream are no part of this: they wait for all other streams, and the driver refuses that while one is
 * captured.) Callbacks may run in threads of the library, but for progress, which the caller's thread tells. They may
 * make no call with the same context or its plans.
 *
 * Processes. After fork() a child may neither use nor tidy up what its parent opened: closing and destroying that do
 * nothing there. It opens a context of its own, on a GPU only if the parent has not used CUDA, which is the driver's
 * rule. A child that was forked while another thread of its parent compiled may hang in NVRTC, whose locks that thread
 * held, when it compiles itself: fork before anything is compiled, or start another program (exec), or have all kernels
 * in the cache beforehand and open the child's context with cache_only, which never calls NVRTC.
 *
 * Errors. A call that fails returns a status other than ROWSCAN_OK and leaves its outputs as they were; what went
 * wrong, with the name of the field and its value, is in rowscan_last_error(), as text that does not control a
 * terminal. The library never aborts, and prints nothing, unless $ROWSCAN_LOG asks a program for its log that has no
 * callback for it, or such a program's user has misspelt a word in one of the variables ROWSCAN_* (known words may be
 * in capitals); nothing even then if number 2 was closed when the library was loaded, is closed, or is a file that exec
 * would close. No file that it opens for writing has one of the numbers 0, 1 and 2.
 */
#ifndef ROWSCAN_H
#define ROWSCAN_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header, and as one number that grows: 10000 * major + 100 * minor + patch. */
#define ROWSCAN_VERSION_MAJOR 0
#define ROWSCAN_VERSION_MINOR 2
#define ROWSCAN_VERSION_PATCH 0
#define ROWSCAN_VERSION (ROWSCAN_VERSION_MAJOR * 10000 + ROWSCAN_VERSION_MINOR * 100 + ROWSCAN_VERSION_PATCH)
#define ROWSCAN_VERSION_TEXT2(a, b, c) #a "." #b "." #c
#define ROWSCAN_VERSION_TEXT(a, b, c) ROWSCAN_VERSION_TEXT2(a, b, c)
#define ROWSCAN_VERSION_STRING ROWSCAN_VERSION_TEXT(ROWSCAN_VERSION_MAJOR, ROWSCAN_VERSION_MINOR, ROWSCAN_VERSION_PATCH)

/* ROWSCAN_STRUCT(type, .field = value, ...): the address of such a struct, with its .size set. */
#ifdef __cplusplus
template <class Struct> inline const Struct *rowscan_address_of(const Struct &temporary) {
  return &temporary;
}
#define ROWSCAN_STRUCT(type, ...) (rowscan_address_of(type{.size = sizeof(type), __VA_ARGS__}))
extern "C" {
#else
#define ROWSCAN_STRUCT(type, ...) (&(type){.size = sizeof(type), __VA_ARGS__})
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

struct CUstream_st; /* the driver's CUstream is a pointer to this, */
struct CUctx_st;    /* and its CUcontext to this */
typedef struct rowscan_context rowscan_context;
typedef struct rowscan_plan rowscan_plan;
typedef struct rowscan_carry rowscan_carry;

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

/* The oldest architecture that kernels are made for: sm_75. */
#define ROWSCAN_OLDEST_ARCH 75

typedef enum rowscan_engine {
  ROWSCAN_ENGINE_AUTO = 0, /* cuda where there is a GPU that can serve, else host: see rowscan_open */
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
/* 4u is for the library's own tests. Of a problem alone: */
#define ROWSCAN_INCLUDE_INITIAL 8u /* the output has length + 1 elements, P(0) to P(length) */

/* ---- library ----------------------------------------------------------------------------------------------------- */

/* ROWSCAN_VERSION_STRING and ROWSCAN_VERSION of the library, which need not be those of the header. */
ROWSCAN_API const char *rowscan_version(void);
ROWSCAN_API int rowscan_version_number(void);

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
  int threads;             /* of a scan on the host, the caller's included; the others start with the first scan that
                              has work for them; default: one for each processor this process may use, and no more than
                              the quotas of its control groups are worth */
  const char *nvrtc;       /* file name of the NVRTC library; default: $ROWSCAN_NVRTC, else the places in README.md */
  const char *cache_dir;   /* default: $ROWSCAN_CACHE_DIR, else $XDG_CACHE_HOME/rowscan, else ~/.cache/rowscan. If
                              what this or that variable names can't be used nothing is kept on disk, and the log and
                              rowscan_cache_info_get say why. The host engine opens, or makes, it when it is first asked
                              for kernels or for the cache, and tells no sooner */
  int cache_off;           /* not 0: keep nothing on disk; $ROWSCAN_CACHE=off does the same */
  int cache_only;          /* not 0: never compile, so that a miss is NOT_CACHED; $ROWSCAN_CACHE=only does the same */
  const char *cache_packs; /* packs to read besides: files, and directories of *.pack, between colons; default:
                              $ROWSCAN_CACHE_PACKS. Then those installed in $(pkgdatadir); "off": none at all */
  int64_t cache_limit;     /* bytes the cache may hold on disk; default 256 MB */
  size_t staging_bytes;    /* of rowscan_scan_host on a GPU: memory for pieces on the GPU; default a quarter of what is
                              free, or with `allocate` 96 MB */
  void *user;              /* handed to the callbacks */
  void (*log)(void *user, rowscan_log_level level, const char *message); /* may be called by any thread; default: what
                            $ROWSCAN_LOG asks for (warning, info or debug; what else it says is told, and means warning)
                            goes to standard error, else nothing. debug tells each decision about a kernel, with the
                            time that it took */
  void (*progress)(void *user, int64_t done_bytes, int64_t total_bytes); /* of rowscan_scan_host; default none */
  struct CUctx_st *cuda_context; /* the CUDA context to work in, and its GPU, instead of `device` and its primary
                                    context; must outlive this one. Default: that */
  void *(*allocate)(void *user, size_t bytes, struct CUstream_st *stream); /* scratch memory on the GPU, and its return;
                            both or neither; see rowscan_open. Default: cuMemAlloc and cuMemFree */
  void (*release)(void *user, void *memory, size_t bytes, struct CUstream_st *stream);
  void (*parallel_for)(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data); /* calls
                            body(data, 0) to body(data, count - 1), each once, in any order and in any threads, and
                            returns when all have returned; see rowscan_open. Default: threads of the context's own */
} rowscan_options;

#define ROWSCAN_OPTIONS(...) ROWSCAN_STRUCT(rowscan_options, __VA_ARGS__)

/*
 * Opens a context. On a GPU it retains the device's primary context, the one that the CUDA runtime and frameworks use,
 * and looks for NVRTC, which it does not load; that none is found is told when one is needed.
 *
 * ENGINE_AUTO means what can serve, unless a `cuda_context` says where. Where there is no driver or no GPU, it is the
 * host, and the log tells that as information. Where there is one that cannot serve, it is the host as well, and the
 * log has one warning with the reason, which rowscan_context_info_get tells too: a GPU older than sm_75; one in
 * exclusive use of another process, or that gives no context for another reason; one with no NVRTC, and no kernel for
 * it in the cache or in packs; a driver that does not start or is too old. ENGINE_CUDA has the error instead, the one
 * of a missing NVRTC when it is needed. A GPU that is newer than NVRTC at hand is served by either: with what the cache
 * or a pack has of a newer NVRTC, else with PTX of the newest architecture that NVRTC knows, which the driver compiles
 * when it loads it.
 *
 * A `cuda_context` is neither retained nor released. It may be one that cuCtxCreate made, or of a green context
 * (cuCtxFromGreenCtx), whose multiprocessors are then those that rows are cut for; the driver has it that no two
 * threads use a green context at a time. Memory and streams of all runs must belong to that context, as the driver
 * demands.
 *
 * `allocate` gives memory on a multiple of 256 bytes, or NULL for OUT_OF_MEMORY. It is called with the context current,
 * by any thread that prepares or runs, also while streams are captured: those it must leave alone, and the calling
 * thread's capture mode is relaxed. `stream` is always one of the context's own, which no capture has: the memory need
 * be free only for what is queued there from then on. rowscan clears it there and waits for that, and only then has it
 * used on other streams. `release` is told the same bytes and the same stream, when no work is left that uses the
 * memory. So pools that are ordered by streams (PyTorch's, RMM's, cuMemAllocAsync) serve as well as others.
 *
 * `parallel_for` is what the host engine and the copies of rowscan_scan_host run in, count at most `threads`; compiling
 * has threads of its own. Parts may run one after another. Those that run at a time wait for one another now and then,
 * each for one that has begun before it: no part may be suspended in the middle for others to end first.
 *
 * options may be NULL. Errors: BAD_ARGUMENT; NO_DEVICE (there is none of that ordinal; with ENGINE_AUTO only where
 * there are others); OUT_OF_MEMORY; with ENGINE_CUDA NO_DRIVER, CUDA_FAILED and UNSUPPORTED (a GPU older than sm_75).
 */
ROWSCAN_API rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/*
 * Closes a context; NULL is nothing. Plans must be destroyed before. On a GPU it waits for all that is queued in the
 * device's primary context, as scans may be, whose kernels it unloads.
 *
 * The shared library is never unloaded (it is linked with -z nodelete), for threads of its own may be running in it:
 * after dlclose contexts are what they were, and dlopen gives the same library again.
 */
ROWSCAN_API void rowscan_close(rowscan_context *context);

/*
 * Changes the option `threads`, 0 for its default; calls that are under way keep what they have. Threads that are too
 * many end when they are idle. Errors: BAD_ARGUMENT.
 */
ROWSCAN_API rowscan_status rowscan_set_threads(rowscan_context *context, int threads) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/* The engine that the context ended up with: CUDA or HOST. */
ROWSCAN_API rowscan_engine rowscan_context_engine(const rowscan_context *context) ROWSCAN_NONNULL(1);

/* What a context works with. */
typedef struct rowscan_context_info {
  size_t size;
  rowscan_engine engine; /* CUDA or HOST */
  int device;            /* ordinal of the GPU; -1 on the host */
  char arch[16];         /* of the GPU, "sm_90"; "" on the host */
  int threads;           /* of the host engine, which checks and moves arrays for a GPU too */
  const char *why;       /* why ENGINE_AUTO is the host; else ""; lives as long as the context */
} rowscan_context_info;

/* Fills info, whose .size is set. Errors: BAD_ARGUMENT. */
ROWSCAN_API rowscan_status rowscan_context_info_get(const rowscan_context *context,
                                                    rowscan_context_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

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

#define ROWSCAN_SPEC(...) ROWSCAN_STRUCT(rowscan_spec, __VA_ARGS__)

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

/* NULL is nothing. Runs of the plan on the GPU must have finished: it unloads their kernels. */
ROWSCAN_API void rowscan_plan_destroy(rowscan_plan *plan);

/*
 * What a run works on. Pointers are device pointers on a GPU, host pointers on the host, aligned to their element.
 * Strides are in elements, in the order [row dimensions..., scanned dimension]; any sign, 0 in inputs and masks repeats
 * an element. NULL strides: dense in C order, with the scanned dimension last (LAYOUT_ROWS) or last but one (COLUMNS).
 * init and totals have one element of the accumulator type a row; where both have strides these are the same.
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
  const void *init;              /* initial value of each row, of the accumulator type; default none */
  void *totals;                  /* total of each row, of the accumulator type, unrounded; default not written */
  int64_t rows;                  /* number of rows; with row_shape: 0 or its product */
  const int64_t *row_shape;      /* [row_rank]; may be NULL if row_rank is 1 */
  const int64_t *input_strides;  /* [row_rank + 1] */
  const int64_t *output_strides; /* [row_rank + 1] */
  const int64_t *mask_strides;   /* [row_rank + 1] */
  const int64_t *init_strides;   /* [row_rank]; default dense, rows in C order */
  const int64_t *totals_strides; /* [row_rank], the same as init_strides if there are both; default dense */
  void *workspace; /* device memory of this run's own, a multiple of 8; default one of the plan's, see below */
  size_t workspace_bytes;
} rowscan_args;

#define ROWSCAN_ARGS(...) ROWSCAN_STRUCT(rowscan_args, __VA_ARGS__)

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
 * where they are more they wait for one another on the GPU. A run under capture takes what it needs, and shares it with
 * later runs on the same stream in the same capture. It is part of the graph: two executables made of one must not run
 * at the same time. When the graph, all that was made of it and their launches are gone, later captures have it (before
 * CUDA 11.3 the graph keeps it as long as the plan lives). At most 512 streams of graphs have some at a time, in all
 * as much as eight times workspace_bytes. A graph may outlive the plan, but not be launched then. Streams may be
 * destroyed while runs are pending, but not before a capture that they are part of ends. A driver older than CUDA 12.0
 * can't tell a new stream from a destroyed one: with it no stream keeps one, and all share the four. A run with a
 * workspace of its own (args), workspace_bytes that may hold anything, needs none of that, but queues a clearing of it
 * before each launch.
 *
 * Errors: BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile); OUT_OF_MEMORY (captured graphs have all that
 * there is for them); CUDA_FAILED; those of plan_prepare, after which nothing is queued, and the next run tries again.
 */
ROWSCAN_API rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args,
                                            struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* What a plan is made of: on a GPU modules of one kernel each, first the one that plan_create makes ready. */
typedef struct rowscan_plan_info {
  size_t size;
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
  const char *geometry; /* "threads=1024 vector=4 chunks=4": the tile as it is, in words; lives as long as the plan */
  const char *source;   /* generated CUDA source */
  const char *ptx;      /* NUL-terminated; ptx_bytes counts without it; it and cubin live as long as the plan */
  const void *cubin;    /* NULL: NVRTC does not know the architecture, and the driver compiles the PTX */
} rowscan_module_info;

#define ROWSCAN_INFO(type)                                                                                             \
  { .size = sizeof(type) }

/*
 * Fills info, whose .size is set. Errors: BAD_ARGUMENT (module is not in 0 .. modules-1); and of rowscan_plan_module
 * those of plan_prepare, for it makes that kernel ready; a plan that can be run leaves PTX in the cache, and has it
 * from there, or anew, when asked.
 */
ROWSCAN_API rowscan_status rowscan_plan_spec(const rowscan_plan *plan, rowscan_spec *spec) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2); /* completed */
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

/* An array that is read, and one that is written: data is element [0, ..., 0]. */
typedef struct rowscan_input {
  const void *data;
  rowscan_type type;       /* defaults as those of rowscan_spec's in_type, out_type and mask_type */
  const int64_t *strides;  /* [rank], in elements; NULL: dense, C order */
  const void *reserved[2]; /* NULL */
} rowscan_input;

typedef struct rowscan_output {
  void *data;
  rowscan_type type;
  const int64_t *strides;
  const void *reserved[2];
} rowscan_output;

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
  rowscan_input input;
  rowscan_output output; /* with ROWSCAN_INCLUDE_INITIAL one element longer than shape in dimension `dim` */
  rowscan_input mask;    /* needed if mask_mode is set */
  rowscan_mask_mode mask_mode;
  rowscan_type acc_type;
  rowscan_input init;    /* initial value of each row, of the accumulator type: shape without `dim`, which a stride is
                            given for and not used; default none */
  rowscan_output totals; /* total of each row, unrounded, likewise; its strides are those of init if there are both;
                            default not written */
  void *workspace;       /* of this scan's own, as in rowscan_args; how much it takes says rowscan_workspace_bytes */
  size_t workspace_bytes;
} rowscan_problem;

#define ROWSCAN_PROBLEM(...) ROWSCAN_STRUCT(rowscan_problem, __VA_ARGS__)

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
 * Bytes of workspace that rowscan_scan needs for such a problem, which is all that is asked: no element is read or
 * written, and nothing is compiled. Pointers are as for rowscan_plan_prepare. 0: the scan takes none. Errors: those of
 * rowscan_scan for what the problem says; OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_workspace_bytes(rowscan_context *context, const rowscan_problem *problem,
                                                   size_t *bytes) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3);

/*
 * Scans tensors in host memory with either engine, and returns when done. On a GPU they travel in pieces through pinned
 * memory, copies and kernels overlapped, and may be larger than the GPU's memory, single rows too; the bits are the
 * same. The streams, the pinned memory and the GPU's (staging_bytes) are kept for the next such scans, those of four at
 * a time, until the context is closed. Errors: those of plan_create and plan_run.
 */
ROWSCAN_API rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Makes ready what rowscan_scan needs for such a problem, plan, kernel and scratch memory, and queues nothing: so that
 * the first scan takes no longer than others. Pointers may be any that begin as those of the scans will (how far from a
 * multiple of 32 bytes), as no element is read or written. On the host there is nothing to do. Errors: those of
 * rowscan_scan.
 */
ROWSCAN_API rowscan_status rowscan_prepare(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * The spec of a problem, complete: what rowscan_scan makes a plan of. So that what ran can be listed
 * (rowscan_spec_text) and made ready elsewhere (rowscan_warm, `rowscan warm`). Pointers are used as by rowscan_prepare.
 * Of ROWSCAN_INCLUDE_INITIAL it says nothing. Errors: BAD_ARGUMENT, UNSUPPORTED.
 */
ROWSCAN_API rowscan_status rowscan_problem_spec(const rowscan_problem *problem, rowscan_spec *spec) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- chunk by chunk ---------------------------------------------------------------------------------------------- */

/*
 * One scan whose elements come in chunks: the results are, bit for bit, those of a single call with all of them.
 * (Handing the totals of a call to the next one as its initial values gives the same sums in another grouping: the same
 * bits for integers, and for others only up to the third chunk of 2^n elements.)
 *
 * rowscan_carry_scan scans the next chunk of each row, as rowscan_scan does: in memory that the engine can reach, on a
 * GPU queued on `stream`; in place if wanted. All chunks have the same op, flags, types, mask mode, rank, dim and shape
 * but for shape[dim], which may be 0. Those of a reverse scan begin with the last elements. Initial values are those of
 * the first chunk; totals are those of all elements so far. ROWSCAN_INCLUDE_INITIAL is the prefix before this chunk.
 *
 * A carry keeps up to two values of the accumulator type a row for each power of two of the elements, in the engine's
 * memory, and in place as much again as a chunk. A chunk is read twice. It is scanned in pieces of powers of two,
 * aligned in the row: one if all chunks have the same power of two, else up to 2 log2(length), each with a few
 * launches. Calls with a carry are made by one thread at a time, and on one stream, or on streams that wait for one
 * another. They can't be captured. A call that fails leaves a carry that can only be reset or destroyed.
 *
 * rowscan_carry_reset begins another scan, of any form. rowscan_carry_destroy, before the context is closed, waits for
 * what is queued; NULL is nothing. Errors: those of rowscan_scan; BAD_ARGUMENT (a chunk of another form); UNSUPPORTED
 * (under capture).
 */
ROWSCAN_API rowscan_status rowscan_carry_create(rowscan_carry **carry, rowscan_context *context) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_carry_scan(rowscan_carry *carry, const rowscan_problem *chunk,
                                              struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);
ROWSCAN_API void rowscan_carry_reset(rowscan_carry *carry) ROWSCAN_NONNULL(1);
ROWSCAN_API void rowscan_carry_destroy(rowscan_carry *carry);

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

/*
 * The ordinal of the GPU whose memory a pointer points to, managed memory too; -1 for memory of the host, pinned or
 * not, for anything else that no GPU's is, and where there is no driver or no GPU. Errors: CUDA_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_device_of(const void *pointer, int *device) ROWSCAN_CHECKED ROWSCAN_NONNULL(2);

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

#define ROWSCAN_WARMING(...) ROWSCAN_STRUCT(rowscan_warming, __VA_ARGS__)

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
  int64_t reserved[9];
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

/*
 * Fills info, whose .size is set. Errors: BAD_ARGUMENT; CACHE_FAILED (its counts or its directories can't be read, for
 * want of memory or descriptors, or because the disk fails). That there is no cache on disk is none.
 */
ROWSCAN_API rowscan_status rowscan_cache_info_get(rowscan_context *context, rowscan_cache_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Calls visit for each entry on disk, read and verified, but for those of packs; stops early if it returns not 0.
 * Strings live until visit returns. Errors: CACHE_FAILED (not all of the directory and its entries can be read, be it
 * for want of memory or descriptors: that is no damage, and visit is called for the others).
 */
ROWSCAN_API rowscan_status rowscan_cache_visit(rowscan_context *context,
                                               int (*visit)(void *user, const rowscan_cache_entry *entry),
                                               void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * The same for each entry of the packs that are read besides. One that is no pack, or is not to be trusted, has none:
 * the log has told it when the cache was opened. Errors: CACHE_FAILED, likewise.
 */
ROWSCAN_API rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                                     int (*visit)(void *user, const rowscan_cache_entry *entry),
                                                     void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* A field in which the key that is asked for differs from an entry's; NULL where one of them lacks it. Stays as it is.
 */
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

#define ROWSCAN_CACHE_FILTER(...) ROWSCAN_STRUCT(rowscan_cache_filter, __VA_ARGS__)

typedef struct rowscan_cache_exported {
  size_t size;
  int64_t entries; /* in the pack */
  int64_t damaged; /* left out */
  int64_t bytes;   /* of the pack */
} rowscan_cache_exported;

/*
 * A pack has many entries of the cache in one file, which other machines can use: cache/README.md has its format.
 * Writes one: of the entries on disk that filter asks for, NULL: all. There may be none. The file appears as a whole
 * or not at all, and replaces one that is there, whose permissions, access control list and, where the process may give
 * files away, owner it keeps; what is there and no regular file, such as /dev/null, is left alone, and so is what lies
 * behind another user's symbolic link in a directory like /tmp. Fills exported, whose .size is set. Errors:
 * BAD_ARGUMENT, CACHE_FAILED (there is no cache on disk, or it or an entry can't be read, or the file can't be
 * written), and then nothing is left behind.
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
  int64_t failed; /* not kept: the disk is full or can't be written, the cache's limit is too small for them, or they
                     can't be read, for want of memory or because the disk fails */
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
