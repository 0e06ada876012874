/*
 * rowscan.h - prefix scans along one dimension of a tensor, on NVIDIA GPUs and on the CPU
 * SPDX-License-Identifier: MIT
 *
 * A row is the `length` elements along the scanned dimension at one position of all other dimensions. A spec describes
 * a kernel: operator, types, flags, length and layout. A plan is a spec made ready in a context, which binds one GPU or
 * the CPU. A result's bits depend on its row alone. The order of combination, rounding, segments and processes are
 * explained in docs/ (index: docs/README.md).
 *
 * Threads. Many threads may call with the same context or plan at once, but not while it is closed or destroyed.
 * Contexts share nothing. Callbacks must return, and must not call with the context that calls them.
 *
 * Errors. A call that fails returns a status other than ROWSCAN_OK, leaves its outputs unchanged, and sets the message
 * of rowscan_last_error(). The library never aborts.
 *
 * Structs. `.size` is the sizeof of the caller's struct: its version. Macros such as ROWSCAN_SPEC set it. Zero fields,
 * and fields that a shorter struct lacks, take their defaults. A longer struct is accepted if all unknown fields are
 * zero. Structs of results are filled up to their size. A size that no version has is BAD_ARGUMENT.
 */
#ifndef ROWSCAN_H
#define ROWSCAN_H

/* Or -Wextra would warn of fields that the macros below omit. */
#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

/* The version of this header. ROWSCAN_VERSION grows: 10000 * major + 100 * minor + patch. */
#define ROWSCAN_VERSION_MAJOR 0
#define ROWSCAN_VERSION_MINOR 2
#define ROWSCAN_VERSION_PATCH 0
#define ROWSCAN_VERSION (ROWSCAN_VERSION_MAJOR * 10000 + ROWSCAN_VERSION_MINOR * 100 + ROWSCAN_VERSION_PATCH)
#define ROWSCAN_VERSION_TEXT2(a, b, c) #a "." #b "." #c
#define ROWSCAN_VERSION_TEXT(a, b, c) ROWSCAN_VERSION_TEXT2(a, b, c)
#define ROWSCAN_VERSION_STRING ROWSCAN_VERSION_TEXT(ROWSCAN_VERSION_MAJOR, ROWSCAN_VERSION_MINOR, ROWSCAN_VERSION_PATCH)

/* Clang warns at the caller's own braces. */
#ifdef __clang__
#define ROWSCAN_QUIET(...)                                                                                             \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")                \
      __VA_ARGS__ _Pragma("clang diagnostic pop")
#else
#define ROWSCAN_QUIET(...) __VA_ARGS__
#endif

/* The address of a struct with `.size` set; C99 or C++20. See ROWSCAN_OPTIONS. */
#ifdef __cplusplus
template <class Struct> inline const Struct *rowscan_address_of(const Struct &temporary) {
  return &temporary;
}
#define ROWSCAN_STRUCT(type, ...) ROWSCAN_QUIET((rowscan_address_of(type{.size = sizeof(type), __VA_ARGS__})))
extern "C" {
#else
#define ROWSCAN_STRUCT(type, ...) ROWSCAN_QUIET((&(type){.size = sizeof(type), __VA_ARGS__}))
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

struct CUstream_st; /* CUstream and cudaStream_t are pointers to this struct */
struct CUctx_st;    /* CUcontext is a pointer to this struct */

/*
 * One GPU or the CPU, with its threads, cache and plans. rowscan_open makes it.
 *
 * Threads. Many threads may call with one context at once, but not while it is closed. No call is a cancellation point:
 * a thread that is cancelled in a call completes the call first.
 *
 * Stream capture. Every call but rowscan_close may be made while this thread or another one captures a stream, in any
 * capture mode. It leaves the capture as it is, unless it runs on that very stream. Runs on the legacy default stream
 * are an exception: they wait for all other streams, which the driver refuses while one is captured.
 *
 * Processes. fork() may be called at any time and waits for nothing. A child must not use what its parent opened;
 * closing or destroying it there does nothing. The child opens a context of its own:
 *   - The CUDA driver works in the child only if the parent has not used it, which is the driver's rule. Otherwise
 *     ENGINE_CUDA fails with NO_DRIVER, and ENGINE_AUTO chooses the host.
 *   - A child that was forked while a thread of the parent, or of the library in it, was compiling cannot compile,
 *     since NVRTC's locks were held. A kernel that is not in the cache is NO_COMPILER there. To compile in children,
 *     fork before anything is compiled, or start another program (exec).
 */
typedef struct rowscan_context rowscan_context;

/*
 * A spec made ready in a context. rowscan_plan_create makes it. Many threads may call with one plan at once, but not
 * while it is destroyed.
 */
typedef struct rowscan_plan rowscan_plan;

/* A scan whose elements arrive in chunks. rowscan_carry_create makes it. One thread at a time may call with it. */
typedef struct rowscan_carry rowscan_carry;

/* ---- enumerations ------------------------------------------------------------------------------------------------ */

/* What a call returns. */
typedef enum rowscan_status {
  ROWSCAN_OK = 0,
  ROWSCAN_BAD_ARGUMENT = 1,   /* a field is out of range or contradicts another field */
  ROWSCAN_UNSUPPORTED = 2,    /* a valid request that rowscan does not support */
  ROWSCAN_OUT_OF_MEMORY = 3,  /* host or device memory */
  ROWSCAN_NO_DRIVER = 4,      /* libcuda.so.1 is missing, too old, or does not start */
  ROWSCAN_NO_DEVICE = 5,      /* no GPU with that ordinal */
  ROWSCAN_NO_COMPILER = 6,    /* NVRTC is needed, and is missing or does not support the architecture */
  ROWSCAN_COMPILE_FAILED = 7, /* NVRTC rejected the text of an operator of yours; otherwise a bug in rowscan */
  ROWSCAN_CUDA_FAILED = 8,    /* a call of the CUDA driver failed */
  ROWSCAN_CACHE_FAILED = 9,   /* a call about the cache itself failed; never returned where compiling can help */
  ROWSCAN_NOT_CACHED = 10,    /* a kernel is not in the cache, and compilation is disabled (option `cache_only`) */
  ROWSCAN_COMM_FAILED = 11    /* a rowscan_comm's all_gather failed */
} rowscan_status;

/* The oldest supported architecture: sm_75. */
#define ROWSCAN_OLDEST_ARCH 75

/* What executes scans. */
typedef enum rowscan_engine {
  ROWSCAN_ENGINE_AUTO = 0, /* CUDA if a GPU can be used, else HOST: see rowscan_open. FOR ARRAYS IN DEVICE MEMORY
                              REQUEST ROWSCAN_ENGINE_CUDA: the host engine cannot reach them */
  ROWSCAN_ENGINE_CUDA = 1, /* a GPU, or an error from rowscan_open */
  ROWSCAN_ENGINE_HOST = 2  /* the CPU, with `threads` threads */
} rowscan_engine;

/*
 * Operators. x is an element, y the running result, and "from" names the identity: the result before the first element
 * if there is no initial value (exclusive scans show it).
 *
 * The formulas are those of a loop. Elements are combined in a fixed tree instead, and floating results are rounded
 * differently:
 *   - Sums of numbers >= 0 may step down by an ulp or two from one element to the next. With ROWSCAN_FIXED(k) none
 *     does.
 *   - A block of elements may overflow where a loop does not. A block of a product that overflows before it meets a
 *     zero gives inf * 0, NaN, where a loop gives 0. The sum of -3e38, 0, 3e38, 3e38 in f32 is inf, where a loop
 *     gives 3e38. acc_type f64 avoids both for f32 and narrower types; EXTENDED_PROD avoids it for products; else scale
 *     the input.
 */
typedef enum rowscan_op {
  ROWSCAN_SUM = 0,  /* y + x, from +0 */
  ROWSCAN_PROD = 1, /* y * x, from 1 */
  ROWSCAN_MAX = 2,  /* the larger, from -inf or the accumulator's lowest integer; NaN wins over all numbers; -0 < +0 */
  ROWSCAN_MIN = 3, /* the smaller, from +inf or the accumulator's highest integer; NaN wins over all numbers; -0 < +0 */
  ROWSCAN_AND = 4, /* y & x, bitwise, of integers and bool, from ~0 */
  ROWSCAN_OR = 5,  /* y | x, bitwise, of integers and bool, from 0 */
  ROWSCAN_XOR = 6, /* y ^ x, bitwise, of integers and bool, from 0 */
  /* coefficient * y + x, rounded once, from +0. The coefficients are an array: see ROWSCAN_MASK_COEFFICIENT. If the
   * product of a block's coefficients overflows, results may be inf or NaN where a loop's are not; the default
   * accumulator, f64, reaches 1e308. To multiply an element by the coefficient of the element before it, as gradients
   * of recurrences do, scan from the second element on, with coefficients from the first on and the first element as
   * the initial value: that value is the first result. */
  ROWSCAN_LINEAR_RECURRENCE = 7,
  /* log(exp(y) + exp(x)) of floats, from -inf. Nothing overflows or underflows in between. */
  ROWSCAN_LOGSUMEXP = 8,
  /* y * x of floats, from 1, with an exponent of 32 bits (f64: 64 bits) in between: a product that overflows or
   * vanishes for a while recovers. After a zero all results are 0, until an infinity or a NaN. Subnormal results are
   * rounded once more. */
  ROWSCAN_EXTENDED_PROD = 9,
  /* The index of the element that ROWSCAN_MAX selects, counted in memory order in reverse scans too, from -1: no index.
   * Of equal elements it is the one scanned last, or with ROWSCAN_TIES_FIRST the one scanned first. The output is i64
   * (rows of up to 2^32 - 3 elements) or i32 (up to 2^31). Initial values are not supported. The second output, of the
   * input's type, is the element at the index, or the identity of ROWSCAN_MAX if there is none. */
  ROWSCAN_ARGMAX = 10,
  ROWSCAN_ARGMIN = 11, /* the same for ROWSCAN_MIN */
  /* Generalised advantage estimation of reinforcement learning, of floats. Set ROWSCAN_REVERSE: the scan runs from the
   * last step to the first. y = delta + gamma * lambda * y, from 0, where delta = reward + gamma * next value - value,
   * computed as fma(gamma, next value, reward) - value.
   *   input     rewards
   *   more[0]   values
   *   more[1]   next values
   *   more[2]   flags of terminal steps: delta is reward - value, and the next value is not read
   *   more[3]   flags of steps that end an episode: nothing carries over from the steps after it, not even a NaN
   *   params    gamma, lambda; neither may be a NaN
   *   output    advantages y
   *   second    returns, y + value
   * A terminal step that ends an episode needs both flags. See rowscan_problem.more for the rules of further arrays. */
  ROWSCAN_GAE = 12,
  /* A linear recurrence of floats, times weights. So the backward pass of a recurrence is one scan: see
   * docs/operators.md, "Gradients".
   *   input     x
   *   more[0]   coefficients c
   *   more[1]   weights w
   *   output    y * w, where y = c * y + x, from 0 or init, as ROWSCAN_LINEAR_RECURRENCE has it
   *   second    y */
  ROWSCAN_WEIGHTED_RECURRENCE = 13,
  /* A linear recurrence of floats with one coefficient, such as discounted returns: y = c * y + x, with the bits that
   * ROWSCAN_LINEAR_RECURRENCE has with an array of that coefficient.
   *   params    c */
  ROWSCAN_DECAYED_SUM = 14,
  /* Gradients of scans of floats. Set ROWSCAN_REVERSE if the scan had it not. Let g be the gradients of its results y;
   * each of these operators makes those of its elements x in one pass. docs/operators.md, "Gradients", has examples.
   *
   * Of ROWSCAN_SUM under a mask that selects. With the flags of the scan but ROWSCAN_REVERSE.
   *   input     g
   *   more[0]   the mask
   *   output    s where the mask is true, else 0; s = s + g, from 0 or init
   *   second    s */
  ROWSCAN_SUM_GRADIENT = 15,
  /* Of ROWSCAN_MAX and ROWSCAN_MIN, inclusive ones, without a mask. An element has the gradients of all results that it
   * is; of equal ones the last has them.
   *   input     g
   *   more[0]   x
   *   more[1]   y, of x's type
   *   output    s where x is y or both are NaN, else 0; s = s + g, from g behind such an element
   *   second    s */
  ROWSCAN_EXTREMUM_GRADIENT = 16,
  /* Of ROWSCAN_LOGSUMEXP, an inclusive one, without a mask: that of x[t] is the sum of all g[u] * exp(x[t] - y[u]),
   * u from t on. Elements of -inf have 0.
   *   input     g
   *   more[0]   x
   *   more[1]   y
   *   output    s * exp(x - y); s = s * exp(y - y of the step before) + g, from 0
   *   second    s
   * An initial value is as the gradient of a result of +inf. */
  ROWSCAN_LOGSUMEXP_GRADIENT = 17,
  ROWSCAN_FIRST_CREATED = 1024 /* rowscan_op_create returns this number and those above it */
} rowscan_op;

/* Types of elements, and accumulators. */
typedef enum rowscan_type {
  ROWSCAN_TYPE_DEFAULT = 0, /* the default of the field */
  ROWSCAN_F16 = 1,
  ROWSCAN_BF16 = 2,
  ROWSCAN_F32 = 3,
  ROWSCAN_F64 = 4,
  ROWSCAN_I8 = 5,
  ROWSCAN_U8 = 6,
  ROWSCAN_I16 = 7,
  ROWSCAN_U16 = 8,
  ROWSCAN_I32 = 9,
  ROWSCAN_U32 = 10,
  ROWSCAN_I64 = 11,
  ROWSCAN_U64 = 12,
  ROWSCAN_BOOL = 13,     /* one byte; every value except 0 is true and counts as 1 */
  ROWSCAN_FIXED_0 = 256, /* ROWSCAN_FIXED(0); the numbers up to ROWSCAN_FIXED_62 are accumulators, not element types */
  ROWSCAN_FIXED_62 = 318
} rowscan_type;

/*
 * An accumulator for sums of floats: fixed point with k bits after the point, k from 0 to 62. Texts write it as
 * "fixed:20".
 *   - An element x (in f64 its product with a mask) becomes the integer of 64 bits nearest to x * 2^k, ties to even. A
 *     result is the sum of these integers times 2^-k, rounded once to the output type.
 *   - The order of the elements does not matter: a permutation has the same total, bit for bit. Results of elements >=
 *     0 never step down.
 *   - The error of a sum of N elements is at most N * 2^-(k+1), plus the rounding to the output type.
 *   - Initial values and totals are the integers themselves, as i64.
 *   - A sum that reaches 2^63, which is 2^(63-k) as a result, overflows and wraps. The caller must rule that out:
 *     choose k small enough for the largest prefix.
 *   - Elements of 2^(63-k) and more, inf included, count as 2^63 - 1. Elements of -2^(63-k) and less, -inf and NaN
 *     count as -2^63, so the sum of two NaNs is 0. Look for NaN before the scan, or set ROWSCAN_OMIT_NAN.
 * For probabilities, whose sum is about 1, ROWSCAN_FIXED(60) leaves room for sums up to 8. Its error is below that of
 * rounding to f32 in rows of up to 2^36 elements.
 */
#define ROWSCAN_FIXED(k) ((rowscan_type)(ROWSCAN_FIXED_0 + (k)))

/*
 * What the array `mask` does. It has one element for each input element.
 *
 * HEADS, TAILS and KEYS cut rows into segments. The scan restarts at each segment's beginning:
 *   - Beginnings are judged in memory order, in reverse scans too.
 *   - Nothing carries over from the previous segment, not even an infinity or a NaN. Bits depend on the row and its
 *     flags.
 *   - An exclusive result at a segment's first element, in the scan's order, is the identity.
 *   - An initial value belongs to the segment that the row starts with. It is dropped if a flag says that a segment
 *     begins with the row's first element.
 *   - The row's total is that of its last segment. Indices (ARGMAX, ARGMIN) count from the start of the row.
 *   - A coefficient at a segment's beginning is not read.
 *   - A total with its flag or key is limited to 16 bytes. UNSUPPORTED are, for example, LOGSUMEXP, EXTENDED_PROD and
 *     LOGSUMEXP_GRADIENT in f64, ARGMAX and ARGMIN by keys, and keys of 64 bits with accumulators of 64 bits.
 *     WEIGHTED_RECURRENCE and DECAYED_SUM in f64 accept `segments` only, without a mask too. EXTREMUM_GRADIENT rejects
 *     segments.
 * If there is also a mask or a coefficient, pass the flags or keys as `segments` with `segment_mode`.
 */
typedef enum rowscan_mask_mode {
  ROWSCAN_MASK_NONE = 0,
  /* An element whose mask is 0 is replaced by the identity: a NaN there has no effect. In LINEAR_RECURRENCE y passes
   * through unchanged, whatever the element and its coefficient are. */
  ROWSCAN_MASK_SELECT = 1,
  /* The element is multiplied by the mask, in the accumulator type; a NaN stays. Only SUM, PROD, EXTENDED_PROD and
   * operators of your own without coefficients support it. */
  ROWSCAN_MASK_MULTIPLY = 2,
  /* What came before is multiplied by the array: the coefficients of LINEAR_RECURRENCE, or of an operator of your own
   * with coefficient=1. Their only other mode is SELECT: then the array is a mask, and the coefficients are more[0]. */
  ROWSCAN_MASK_COEFFICIENT = 3,
  ROWSCAN_MASK_HEADS = 4, /* a segment begins with each element whose flag is not 0 */
  ROWSCAN_MASK_TAILS = 5, /* a segment begins with each element that follows one whose flag is not 0 */
  ROWSCAN_MASK_KEYS = 6   /* a segment begins with each element whose key, an integer or bool, differs from that of the
                             element before it */
} rowscan_mask_mode;

/* How rows lie in memory. It decides which kernels a plan contains. Either layout supports any strides; the wrong one
 * is slow. */
typedef enum rowscan_layout {
  ROWSCAN_LAYOUT_ROWS = 0,   /* [rows..., length]: the elements of a row are adjacent */
  ROWSCAN_LAYOUT_COLUMNS = 1 /* [rows..., length, inner]: element i of a row is adjacent to element i of the next row */
} rowscan_layout;

/* Kinds of kernels. AUTO is the best choice. */
typedef enum rowscan_regime {
  ROWSCAN_REGIME_AUTO = 0,  /* chosen from the spec and, for each run, from the number of rows */
  ROWSCAN_REGIME_ROW = 1,   /* one block of threads per row */
  ROWSCAN_REGIME_SHORT = 2, /* several rows per block of threads */
  ROWSCAN_REGIME_LONG = 3,  /* many blocks of threads per row */
  ROWSCAN_REGIME_COLUMN = 4 /* many adjacent rows per block of threads; long rows are cut over blocks. UNSUPPORTED with
                               further arrays: see rowscan_problem.more */
} rowscan_regime;

/* Flags of a spec or a problem, combined by |. */
#define ROWSCAN_EXCLUSIVE 1u /* element i of the output leaves out element i of the input */
#define ROWSCAN_REVERSE 2u   /* the scan runs from the last element to the first */
/* A NaN counts as the operator's identity; integers are unaffected. With ROWSCAN_MASK_MULTIPLY the product decides: 0 *
 * inf is a NaN, and omitted. */
#define ROWSCAN_OMIT_NAN 16u
/* ROWSCAN_ARGMAX, ROWSCAN_ARGMIN: of equal elements take the one scanned first. Other operators reject the flag. */
#define ROWSCAN_TIES_FIRST 32u
/* Allowed in a problem only, not in a spec: the output has length + 1 elements, the result before the first element
 * (the initial value or the identity) and then those after each element. */
#define ROWSCAN_INCLUDE_INITIAL 8u

/* ---- library ----------------------------------------------------------------------------------------------------- */

/* The library's ROWSCAN_VERSION_STRING and ROWSCAN_VERSION. They may differ from the header's. */
ROWSCAN_API const char *rowscan_version(void);
ROWSCAN_API int rowscan_version_number(void);

/* The name of a status, such as "ROWSCAN_OK"; never NULL. */
ROWSCAN_API const char *rowscan_status_name(rowscan_status status);

/*
 * rowscan_type_name returns a type's name, such as "f32" or "fixed:20". rowscan_type_by_name returns the type of a
 * name, or ROWSCAN_TYPE_DEFAULT for an unknown name. rowscan_type_bytes returns the bytes of an element, or 0 for
 * ROWSCAN_TYPE_DEFAULT and numbers that are no type.
 */
ROWSCAN_API const char *rowscan_type_name(rowscan_type type);
ROWSCAN_API rowscan_type rowscan_type_by_name(const char *name) ROWSCAN_NONNULL(1);
ROWSCAN_API size_t rowscan_type_bytes(rowscan_type type);

/*
 * rowscan_op_name returns an operator's name, such as "sum". rowscan_op_by_name returns the operator of a name, or -1
 * for an unknown name. rowscan_regime_name returns a regime's name.
 */
ROWSCAN_API const char *rowscan_op_name(rowscan_op op);
ROWSCAN_API int rowscan_op_by_name(const char *name) ROWSCAN_NONNULL(1);
ROWSCAN_API const char *rowscan_regime_name(rowscan_regime regime);

/*
 * The message of this thread's last call that failed: what was requested, which field has which value, and what the
 * driver or the compiler said (with the numbered source). It contains no control characters of a terminal. Read it
 * after a call has failed and before the next call: a call that succeeds may replace it by a problem that it overcame.
 * It is "" before the first failure.
 */
ROWSCAN_API const char *rowscan_last_error(void);

/* ---- operators of your own --------------------------------------------------------------------------------------- */

/*
 * An operator on the host, for numbers of one type: in C, what the operator's text does on a GPU (see
 * rowscan_op_create). A total is memory for the operator's `numbers`, aligned to 8 bytes. x and y are one number each.
 * A coefficient, further inputs and params lie one after another at `coefficient`, which is NULL if there are none.
 *
 * Many threads may call the functions at once. They must return: an exception that leaves one ends the process, in C++
 * by std::terminate, even if a caller would catch it; so does pthread_exit where it unwinds the stack, as with glibc. A
 * longjmp out of one is not noticed, and undefined.
 *
 * Results may differ from a GPU's if the compiler rounds a * b + c once; -ffp-contract=off makes GCC round twice. This
 * struct never grows.
 */
typedef struct rowscan_op_functions {
  void (*load)(void *total, const void *x, const void *coefficient);
  void (*combine)(void *total, const void *left, const void *right); /* total may be left or right */
  void (*store)(void *y, const void *total);
  void (*neutral)(void *total);
  void (*identity)(void *total);             /* NULL: neutral */
  void (*begin)(void *total, const void *y); /* NULL: load, without a coefficient */
} rowscan_op_functions;

/*
 * The second output on the host: writes the number y of a prefix, from its total and from what `load` receives of the
 * prefix's own element, x and `coefficient`. It must return, as rowscan_op_functions must.
 */
typedef void rowscan_op_second(void *y, const void *total, const void *x, const void *coefficient);

/* What rowscan_op_create makes an operator of. */
typedef struct rowscan_operator {
  size_t size;
  const char *source; /* the text in CUDA C++, for GPUs: see rowscan_op_create */
  /* Functions for the host, by the type that is computed in (A of the text). Where one is NULL, the host engine does
   * not support that type. */
  const rowscan_op_functions *f32;
  const rowscan_op_functions *f64;
  const rowscan_op_functions *u32;
  const rowscan_op_functions *u64;
  /* Needed beside the functions above if the text says outputs=2. */
  rowscan_op_second *second_f32;
  rowscan_op_second *second_f64;
  rowscan_op_second *second_u32;
  rowscan_op_second *second_u64;
} rowscan_operator;

/* A rowscan_operator with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_OPERATOR(...) ROWSCAN_STRUCT(rowscan_operator, __VA_ARGS__)

/*
 * Makes an operator from a struct in CUDA C++. Every call accepts the number *op as it accepts ROWSCAN_SUM, at once, in
 * every context of the process, until the process ends. Text and functions are copied. The same text and functions
 * again return the same number. docs/operators.md has an example.
 *
 * The first line of the text describes the struct:
 *
 *     // rowscan: op=Welford numbers=3 types=floats
 *
 *   op=NAME        required: the struct's name, a letter or _, then letters, digits and _, at most 40 in all; texts of
 *                  specs use this name too
 *   numbers=N      the size of a total: sizeof(Total) is at most that of N numbers of type A; 1 to 4, default 1. Totals
 *                  of more than 16 bytes are supported, but their kernels are slower and take the compiler up to half a
 *                  minute
 *   types=T        supported accumulators: any (default), floats or integers
 *   coefficient=1  there is a second array, like that of LINEAR_RECURRENCE: ROWSCAN_MASK_COEFFICIENT, or more[0]
 *   inputs=N       arrays that an element comes from, 1 to 5, default 1. Those after the first are the problem's `more`
 *   params=N       numbers that each run passes (`params`), 0 to 4, default 0; for floats. They compile nothing anew
 *   outputs=2      there may be a second output, the problem's `second`; default 1
 *
 * The text then defines template <class A, class K> struct NAME. A is the type that is computed in: f32, f64, u32 or
 * u64 (integers wrap, whatever their sign). K is the accumulator type itself, such as i32. Required members, each
 * function RS_METHOD static:
 *
 *   Total          the total of a block of elements: a type of plain data, in whole words of 4 bytes
 *   load(x, ...)   returns the Total of one element, an A. After x come the coefficient, the further inputs and the
 *                  params, each an A, as many as there are
 *   combine(l, r)  returns the Total of two blocks, l before r. It must be associative, but for rounding, and need not
 *                  commute
 *   store(t)       returns the A that users see of a prefix with total t
 *   neutral()      returns the Total of no elements: combined with any t, from the left or the right, it gives t, bit
 *                  for bit
 *
 * Optional members:
 *
 *   identity()     the Total of an empty prefix without initial value; a masked-out element counts as it, too; default
 *                  neutral()
 *   begin(y)       the Total that a fold from the initial value y starts with; default load(y); required with
 *                  coefficient=, inputs= or params=
 *   second(t, x, ...)  required with outputs=2: the A that users see in the second output, from a prefix's total t and
 *                  from what load receives of the prefix's own element. x is the element itself where a mask removes it
 *                  (ROWSCAN_MASK_SELECT) or where it is an omitted NaN, and the product with ROWSCAN_MASK_MULTIPLY
 *   commutative    static constexpr bool: whether combine(l, r) equals combine(r, l), which saves time; default false
 *
 * The text may use u32, i32, u64, i64, f32, f64 and fused(a, b, c), an fma with one rounding; a * b + c rounds twice.
 * Compiler messages name the text by its struct, and its own lines. Kernels in the cache and in packs belong to this
 * very text: a changed text compiles new ones. The text stands alone and reads no files: #include, #import, #embed,
 * __has_include, __has_embed, parts that make up one of these words, and a comment between # and a directive's name are
 * BAD_ARGUMENT anywhere, in comments and strings too.
 *
 * The operator supports all layouts, flags, masks and types, by the rules of ROWSCAN_SUM. Not supported: rowscan_carry
 * and rows that are cut in rowscan_scan_host, both on a GPU; segments where a total and its flag or key exceed 16
 * bytes; the host engine without functions for the accumulator's type. Each of these is UNSUPPORTED. For inputs=,
 * params= and outputs= the rules of rowscan_problem.more apply.
 *
 * Errors: BAD_ARGUMENT (the first line is wrong; the text would read a file; another text already uses the name);
 * UNSUPPORTED (the process has 64 operators); OUT_OF_MEMORY. Errors in the struct show when a kernel is compiled:
 * COMPILE_FAILED. Any thread may call it.
 */
ROWSCAN_API rowscan_status rowscan_op_create(rowscan_op *op, const rowscan_operator *given) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* What a run on a GPU does if its kernel is not compiled yet; see rowscan_open. */
typedef enum rowscan_compile {
  ROWSCAN_COMPILE_DEFAULT = 0,    /* $ROWSCAN_COMPILE, else BACKGROUND */
  ROWSCAN_COMPILE_NOW = 1,        /* it waits for the compiler */
  ROWSCAN_COMPILE_BACKGROUND = 2, /* it uses a kernel for any length; a thread compiles those that recur */
  ROWSCAN_COMPILE_NEVER = 3       /* it uses a kernel for any length, always */
} rowscan_compile;

typedef enum rowscan_log_level {
  ROWSCAN_LOG_WARNING = 0,
  ROWSCAN_LOG_INFO = 1,
  ROWSCAN_LOG_DEBUG = 2
} rowscan_log_level;

/*
 * Options of rowscan_open. Zero fields take their defaults.
 *
 * Callbacks (`log`, `progress`, `allocate`, `release`, `parallel_for`) may be called from threads of the library,
 * except `progress`, which is called from the caller's thread. A callback must not call the library with this context
 * or its plans. It must return: an exception that leaves one ends the process, in C++ by std::terminate, even if a
 * caller would catch it; so does pthread_exit where it unwinds the stack, as with glibc. A longjmp out of one is not
 * noticed, and undefined.
 */
typedef struct rowscan_options {
  size_t size;
  rowscan_engine engine;
  int device; /* ordinal of the GPU; default 0 */
  /* Threads of a scan on the host, the caller's included. A scan runs in the calling thread and in those of the others
   * that become idle. They start with the first scan that has work for them. Default: one for each processor that this
   * process may use, within the quotas of its control groups. */
  int threads;
  const char *nvrtc; /* file name of the NVRTC library; default: $ROWSCAN_NVRTC, else the places that rowscan(1) lists
                        under ENVIRONMENT */
  /* Directory of the cache. Default: $ROWSCAN_CACHE_DIR, else $XDG_CACHE_HOME/rowscan, else ~/.cache/rowscan. If the
   * directory that this field or that variable names is unusable, nothing is kept on disk; the log and
   * rowscan_cache_info_get report why. The host engine opens or creates the directory, and reports problems, when it is
   * first asked for kernels or for the cache. Files opened for writing never get descriptor 0, 1 or 2. */
  const char *cache_dir;
  int cache_off; /* not 0: keep nothing on disk. Packs are still read. $ROWSCAN_CACHE=off sets it */
  /* Not 0: never compile. A missing kernel is NOT_CACHED, unless a kernel for any length or a universal one can
   * replace it. Needs no directory: a missing one causes no warning. $ROWSCAN_CACHE=only sets it,
   * $ROWSCAN_CACHE=off,only sets both. */
  int cache_only;
  /* Packs to read besides the cache: files, and directories of *.pack, separated by colons. Default:
   * $ROWSCAN_CACHE_PACKS. The packs that came with the library follow: those in the directory rowscan-packs beside the
   * library's file, else in ../share/rowscan or ../../share/rowscan from there, else in $(pkgdatadir). "off": no packs
   * at all. rowscan_cache_import states which files are trusted. A pack that is not used is named, with the reason, in
   * the log and in the message of NOT_CACHED. */
  const char *cache_packs;
  int64_t cache_limit;  /* bytes that the cache may hold on disk; default 256 MB */
  size_t staging_bytes; /* bytes of GPU memory that rowscan_scan_host uses for pieces; default: a quarter of the free
                           memory, or with `allocate` 96 MB */
  void *user;           /* passed to the callbacks */
  /* Receives the log. Any thread may call it. Level debug reports each decision about a kernel with the time that it
   * took.
   *
   * Without this callback the library prints to standard error in two cases only. $ROWSCAN_LOG (warning, info or debug;
   * any other word is reported and means warning) requests the levels up to its own. A variable ROWSCAN_* with an
   * unknown word is reported; known words may be in capitals. Nothing is printed if file descriptor 2 was closed when
   * the library was loaded, is closed now, or would be closed by exec. */
  void (*log)(void *user, rowscan_log_level level, const char *message);
  void (*progress)(void *user, int64_t done_bytes, int64_t total_bytes); /* of rowscan_scan_host; default: none */
  struct CUctx_st *cuda_context; /* CUDA context to work in, which also determines the GPU; it must outlive the rowscan
                                    context. Default: the primary context of `device` */
  /* Allocate scratch memory on the GPU, and free it; set both or neither; rules: see rowscan_open. Default: cuMemAlloc
   * and cuMemFree. */
  void *(*allocate)(void *user, size_t bytes, struct CUstream_st *stream);
  void (*release)(void *user, void *memory, size_t bytes, struct CUstream_st *stream);
  /* Calls body(data, 0) to body(data, count - 1), each once, in any order and in any threads, and returns when all have
   * returned; rules: see rowscan_open. Default: the context's own threads. */
  void (*parallel_for)(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data);
  rowscan_compile compile; /* default: $ROWSCAN_COMPILE (now, background or never), else BACKGROUND */
  /* GPUs that rowscan_scan_host deals its pieces to, by ordinals: `device_count` of them, at most 16, each named once.
   * The first one takes the place of `device`, which must be 0 or the same: all other calls use it alone. Each of them
   * has `staging_bytes`, and calls `allocate` with a context of its own current. The host engine uses none of them.
   * Default: `device` alone. */
  const int *devices;
  int device_count;
} rowscan_options;

/*
 * A pointer to a rowscan_options with `.size` and the given fields set, as in ROWSCAN_OPTIONS(.threads = 4). It is
 * valid until the enclosing block ends (in C++: the enclosing expression). This macro and its relatives
 * (ROWSCAN_OPERATOR, ROWSCAN_SPEC, ROWSCAN_ARGS, ROWSCAN_PROBLEM, ROWSCAN_WARMING, ROWSCAN_CACHE_FILTER) need C99 or
 * C++20. In C++ fields must be in the order of their declaration. Before C++20, clear a struct and set its fields one
 * by one, also structs of results:
 *     rowscan_problem problem = {};
 *     problem.size = sizeof problem;
 *     problem.rank = 1;
 */
#define ROWSCAN_OPTIONS(...) ROWSCAN_STRUCT(rowscan_options, __VA_ARGS__)

/*
 * Opens a context. options may be NULL. On a GPU it retains the device's primary context, which the CUDA runtime and
 * frameworks use too. It looks for NVRTC without loading it; a missing NVRTC is an error when it is first needed.
 *
 * `engine`. IF THE ARRAYS LIE IN DEVICE MEMORY, REQUEST ENGINE_CUDA: then a GPU that cannot be used is an error of this
 * call. ENGINE_AUTO chooses the host instead, unless a `cuda_context` is given; there a stream, and GPU memory that a
 * started driver knows, are BAD_ARGUMENT in the calls that scan. AUTO chooses the host
 *   - without a driver or a GPU, which the log reports at level info;
 *   - with a GPU that cannot be used. The log has one warning with the reason, which rowscan_context_info_get reports
 *     as well: the GPU is older than sm_75; it is in exclusive use of another process, or gives no context for another
 *     reason; there is no NVRTC, and no kernel for the GPU in the library, the cache or packs; the driver does not
 *     start or is too old. ENGINE_CUDA returns these errors (for a missing NVRTC, when it is needed).
 * A GPU that is newer than the NVRTC found is supported with both: by kernels of a newer NVRTC in the cache or in a
 * pack, else by PTX of the newest architecture that NVRTC supports, which the driver compiles when it loads it.
 *
 * `cuda_context` is neither retained nor released. It may come from cuCtxCreate or be that of a green context
 * (cuCtxFromGreenCtx). Rows are then cut for the multiprocessors of the green context, which no two threads may use at
 * the same time, as the driver demands. The memory and the streams of all runs must belong to that context.
 *
 * `allocate` returns memory aligned to 256 bytes, or NULL for OUT_OF_MEMORY. Any thread that prepares or runs may call
 * it, with the context current, also while streams are captured: it must leave the captures alone; the calling thread's
 * capture mode is relaxed. `stream` is always one of the context's own streams, which is never captured. The memory
 * only needs to be free for later work on that stream: rowscan clears it there, waits for that, and then uses it on
 * other streams. `release` receives the same bytes and the same stream, when no pending work uses the memory. So
 * allocators that order by stream (PyTorch's, RMM's, cuMemAllocAsync) and those that do not can both be used.
 *
 * `parallel_for` runs the host engine and the copies of rowscan_scan_host, with a count of at most `threads`. Compiling
 * uses threads of its own. The parts may run one after another. Parts that run at the same time may wait for a part
 * that began before them: a part that has begun must not be suspended until others end.
 *
 * `compile`. Each length has its own kernels, which NVRTC compiles once, in 100 to 600 ms, and the cache keeps. If a
 * run's own kernel is missing,
 *   - COMPILE_BACKGROUND uses another one, with the same bits: a kernel for any length (see ROWSCAN_ANY_LENGTH) that
 *     the cache or a pack has, else a universal kernel, which takes twice to four times as long, and some shapes
 *     longer (docs/performance.md). A library that was built
 *     where NVRTC was has universal kernels inside; without them a kernel for any length is compiled, once for each
 *     operator, types and variant, and the run waits. After eight such runs a thread of low priority compiles the
 *     run's own kernel, which later runs use. A graph that was captured before keeps its kernel.
 *   - COMPILE_NEVER does the same without the thread. The log has one warning where universal kernels serve for good.
 *   - COMPILE_NOW waits until the run's own kernel is compiled.
 * rowscan_plan_prepare waits for a plan's own kernels whatever the option is. Where these cannot be had, and universal
 * kernels serve the plan's runs, it makes ready those. Closing a context, and the end of the process, wait for a kernel
 * that the thread is compiling; fork() does not.
 *
 * Errors: BAD_ARGUMENT; NO_DEVICE (no GPU has that ordinal; with ENGINE_AUTO only if other GPUs exist); OUT_OF_MEMORY;
 * with ENGINE_CUDA also NO_DRIVER, CUDA_FAILED and UNSUPPORTED (a GPU older than sm_75). If `devices` names several
 * GPUs, all of them must be usable, with ENGINE_AUTO too. Any thread may call it.
 */
ROWSCAN_API rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/*
 * Closes a context; NULL is ignored. Destroy its plans and carries first. No other thread may use the context, and no
 * stream may be captured. On a GPU it waits for all work that is queued in the device's primary context, since scans
 * may be among it, and then unloads the kernels. In a child process that inherited the context it does nothing.
 *
 * The shared library is never unloaded (it is linked with -z nodelete), since threads of its own may be running in it:
 * contexts stay valid after dlclose, and dlopen returns the same library again.
 */
ROWSCAN_API void rowscan_close(rowscan_context *context);

/*
 * Changes the option `threads`; 0 restores its default. Calls in progress keep their threads. Surplus threads end when
 * they are idle. Errors: BAD_ARGUMENT (threads is negative).
 */
ROWSCAN_API rowscan_status rowscan_set_threads(rowscan_context *context, int threads) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/* The engine that the context uses: CUDA or HOST. */
ROWSCAN_API rowscan_engine rowscan_context_engine(const rowscan_context *context) ROWSCAN_NONNULL(1);

/* What a context uses, and what it did. */
typedef struct rowscan_context_info {
  size_t size;
  rowscan_engine engine;      /* CUDA or HOST */
  int device;                 /* ordinal of the GPU; -1 on the host */
  char arch[16];              /* of the GPU, "sm_90"; "" on the host */
  int threads;                /* of the host engine, which also checks and copies arrays for a GPU */
  const char *why;            /* why ENGINE_AUTO chose the host, else ""; valid as long as the context */
  int64_t any_length_runs;    /* runs whose own kernel was not compiled yet (option `compile`) */
  int64_t background_kernels; /* kernels that the background thread compiled */
  int64_t background_failed;  /* kernels that it failed to compile; the log has the reasons */
  double background_ms;       /* time in milliseconds that it spent on both; no call waited for it */
  int64_t universal_runs;     /* of any_length_runs, those served by kernels that are not compiled for their scan */
} rowscan_context_info;

/* Fills info. Set info->size before. Errors: BAD_ARGUMENT. */
ROWSCAN_API rowscan_status rowscan_context_info_get(const rowscan_context *context,
                                                    rowscan_context_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* ---- specs and plans --------------------------------------------------------------------------------------------- */

/*
 * In place of a length: the plan supports rows of any length, which each run passes (rowscan_args.length). Its kernels
 * are compiled once for all lengths. Those of a plan for one length are as fast or faster.
 */
#define ROWSCAN_ANY_LENGTH (-1)

/* What a kernel is specialised to. The number of rows, the pointers and the strides are arguments of each run. */
typedef struct rowscan_spec {
  size_t size;
  rowscan_op op;
  rowscan_type in_type;   /* default f32 */
  rowscan_type out_type;  /* default: i64 for ARGMAX and ARGMIN; the input's type if that is floating, and for MAX, MIN,
                             AND, OR, XOR; else u64 for unsigned integers, i64 for signed ones and bool */
  rowscan_type acc_type;  /* accumulator; default: see rowscan_spec_complete */
  rowscan_type mask_type; /* masks and flags: bool, u8 or the input's type, default bool; coefficients: the same,
                             default the input's type; keys: any integer or bool, default i32 */
  rowscan_mask_mode mask_mode; /* default: no mask; LINEAR_RECURRENCE: COEFFICIENT (default) or SELECT */
  unsigned flags;              /* ROWSCAN_EXCLUSIVE, ROWSCAN_REVERSE, ... */
  int64_t length;              /* elements of a row, 0 to 2^56, or ROWSCAN_ANY_LENGTH */
  rowscan_layout layout;       /* default ROWS */
  int row_rank;                /* number of row dimensions, 1 to 63; default 1 for LAYOUT_ROWS, 2 for COLUMNS */
  rowscan_regime regime;       /* default: the library chooses; else forces one */
  rowscan_type more_types[4]; /* of further inputs, or of coefficients beside a mask: each bool, u8 or the input's type;
                                 default the input's type */
  rowscan_type second_type;   /* of the second output. ARGMAX, ARGMIN: the input's type; other operators: the output's,
                                 or the input's if it is of the same kind (floating, signed or unsigned). Default: the
                                 second output is not written */
  rowscan_mask_mode segment_mode; /* segments beside a mask or coefficients: HEADS, TAILS or KEYS; default: none */
  rowscan_type segment_type;      /* flags: bool (default), u8 or the input's type; keys: any integer or bool, default
                                     i32 */
} rowscan_spec;

/* A rowscan_spec with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_SPEC(...) ROWSCAN_STRUCT(rowscan_spec, __VA_ARGS__)

/*
 * Checks a spec and replaces each default by its value; `.size` is unchanged. Results are rounded once, from the
 * accumulator to the output type.
 *
 * The accumulator:
 *   - Floating output: f32 if the input is f16, bf16, f32, bool or an integer of 8 or 16 bits; f64 if input or output
 *     is f64, or the input is an integer of 32 or 64 bits (in f64 every element but those of i64 and u64 is exact). f64
 *     may be requested instead of f32, and ROWSCAN_FIXED(k) for sums of floating elements.
 *   - LINEAR_RECURRENCE, GAE, WEIGHTED_RECURRENCE and DECAYED_SUM with floating output: f64. f32 may be requested where
 *     it is the default of other operators.
 *   - Integer output: the output type; sums and products wrap.
 *   - ARGMAX and ARGMIN: the output type, i64 or i32.
 * The output:
 *   - A floating input requires a floating output, except for ARGMAX and ARGMIN.
 *   - Only MAX, MIN, AND, OR and XOR of bool may write bool. The integer outputs of these five operators must be able
 *     to hold every value of the input type.
 *   - ARGMAX and ARGMIN write i64 or i32.
 * The input: LOGSUMEXP, EXTENDED_PROD and all operators from GAE to LOGSUMEXP_GRADIENT require floats; AND, OR and XOR
 * integers or bool. EXTREMUM_GRADIENT and LOGSUMEXP_GRADIENT reject ROWSCAN_MASK_SELECT and ROWSCAN_OMIT_NAN
 * (UNSUPPORTED).
 *
 * Errors: BAD_ARGUMENT, UNSUPPORTED.
 */
ROWSCAN_API rowscan_status rowscan_spec_complete(rowscan_spec *spec) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/*
 * rowscan_spec_text writes a spec as text, and rowscan_spec_parse reads one. The text consists of field=value pairs
 * separated by blanks or line ends, as at the start of a cache entry's key: "op=sum in=f32 out=f32 acc=f32 mask=none
 * reverse=0 exclusive=0 length=1000 layout=rows row_rank=1", with mask_type after a mask, and with regime at the end if
 * one is forced. A text to be read may list its fields in any order and omit all but length; omitted fields take their
 * defaults. Set spec->size before parsing; the parsed spec is complete. Free a written text with rowscan_free. Errors:
 * BAD_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY; the message names the field and the value.
 */
ROWSCAN_API rowscan_status rowscan_spec_text(const rowscan_spec *spec, char **text) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_spec_parse(rowscan_spec *spec, const char *text) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Makes a plan of a spec. On a GPU a plan has one kernel for each kind of rows: elements adjacent and aligned to 16
 * bytes, adjacent and unaligned, at any strides, and few rows. Each kernel is a module of its own. It is made ready
 * when it is first needed: read from the cache or compiled, and loaded.
 *
 * This call makes one kernel ready: that of many rows or columns whose elements are adjacent and aligned, which most
 * runs need, or one that serves in its place (option `compile`). With `cache_only` nothing is compiled: if nothing
 * serves the call fails with NOT_CACHED, and the message names the spec and the architecture.
 *
 * A kernel's key, in the cache and in packs, includes the build-id of the NVRTC that is found. A kernel of a pack is
 * used whichever NVRTC made it. So is one of the cache if there is no NVRTC or it must not be used.
 *
 * Destroy the plan before its context is closed. Errors: BAD_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, NO_COMPILER,
 * COMPILE_FAILED, NOT_CACHED, CUDA_FAILED. Many threads may call it with one context.
 */
ROWSCAN_API rowscan_status rowscan_plan_create(rowscan_plan **plan, rowscan_context *context,
                                               const rowscan_spec *spec) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3);

/*
 * Makes a plan, with all its kernels, for an architecture ("sm_90") that need not be present: the plan can be examined
 * but not run. Needs no GPU and no driver. Errors: those of rowscan_plan_create.
 */
ROWSCAN_API rowscan_status rowscan_plan_compile(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                                                const char *arch) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

/*
 * Destroys a plan and unloads its kernels; NULL is ignored. Its runs on the GPU must have finished, and no other thread
 * may use it. In a child process that inherited the plan it does nothing.
 */
ROWSCAN_API void rowscan_plan_destroy(rowscan_plan *plan);

/*
 * The arrays of a run.
 *
 * Pointers are device pointers on a GPU and host pointers on the host, aligned to their element. Strides are in
 * elements, in the order [row dimensions..., scanned dimension]. They may have any sign; a stride of 0 repeats an
 * element of an array that is read. NULL strides mean dense in C order, with the scanned dimension last (LAYOUT_ROWS)
 * or last but one (COLUMNS). init and totals have one element of the accumulator type per row (i64 for ROWSCAN_FIXED),
 * and each its own strides.
 *
 * Overlaps. `output` may be the same array as `input`, with equal strides and element size. Otherwise no element of
 * output, second, totals or workspace may share a byte with another array or with another element of its own array:
 * such a run is BAD_ARGUMENT, names both arrays, and writes nothing. Overlap is judged element by element, not by
 * address range: arrays that interleave in one allocation (even and odd elements, halves of each line) are accepted.
 * The search is exact and bounded: if unrelated strides of many dimensions leave it open after 2000 steps (0.2 ms), the
 * run is accepted, and elements that overlap get wrong values. The caller must not let two runs at a time write what
 * the other one reads or writes.
 */
typedef struct rowscan_args {
  size_t size;
  const void *input;
  void *output;
  union {
    const void *mask;        /* required if the spec has a mask mode, else NULL */
    const void *coefficient; /* of LINEAR_RECURRENCE, in the same place: required, unless there is a mask (SELECT); then
                                the coefficients are more[0] */
  };
  const void *init;              /* initial value of each row, in the accumulator type; default: none */
  void *totals;                  /* total of each row, in the accumulator type, unrounded; default: not written */
  int64_t rows;                  /* number of rows; with row_shape: 0, or the product of row_shape */
  const int64_t *row_shape;      /* [row_rank]; may be NULL if row_rank is 1 */
  const int64_t *input_strides;  /* [row_rank + 1] */
  const int64_t *output_strides; /* [row_rank + 1] */
  union {
    const int64_t *mask_strides;        /* [row_rank + 1] */
    const int64_t *coefficient_strides; /* [row_rank + 1]; a last stride of 0: one coefficient per row */
  };
  const int64_t *init_strides;   /* [row_rank]; default: dense, rows in C order */
  const int64_t *totals_strides; /* [row_rank]; default: dense, rows in C order */
  void *workspace;               /* device memory for this run alone, aligned to 8 bytes; default: scratch memory of the
                                    plan, see rowscan_plan_run */
  size_t workspace_bytes;        /* at least the workspace_bytes of rowscan_plan_info */
  int64_t length;                /* elements of a row, for a plan of ROWSCAN_ANY_LENGTH; else 0 or the plan's length */
  const void *more[4];  /* required: the operator's further inputs, or beside a mask its coefficients; rules: see
                           rowscan_problem.more */
  void *second;         /* second output; required if the spec has a second_type, else NULL */
  const void *segments; /* flags or keys; required if the spec has a segment_mode, else NULL */
  const int64_t *more_strides[4]; /* each [row_rank + 1]; all strides 0: one number for all elements */
  const int64_t *second_strides;  /* [row_rank + 1] */
  const int64_t *segment_strides; /* [row_rank + 1] */
  double params[4];               /* numbers of the operator, such as GAE's gamma and lambda, or DECAYED_SUM's c */
} rowscan_args;

/* A rowscan_args with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_ARGS(...) ROWSCAN_STRUCT(rowscan_args, __VA_ARGS__)

/*
 * Makes ready the kernel and the scratch memory that runs with such args need, and queues no scan. No element is read
 * or written: the pointers only need the same distance from a multiple of 32 bytes as those of the runs. The scratch
 * memory is for the next stream that runs the plan.
 *
 * With args NULL it makes ready all kernels, and all scratch memory that may be needed, six times the plan's
 * workspace_bytes: no later run compiles, loads or allocates anything unless it is captured. A plan for any length may
 * need hundreds of MB for the longest rows: of such a plan only the kernels are made ready.
 *
 * Many threads may call it, also under stream capture. On the host it does nothing. Errors: those of
 * rowscan_plan_create; BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile).
 */
ROWSCAN_API rowscan_status rowscan_plan_prepare(rowscan_plan *plan, const rowscan_args *args) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/*
 * Runs a plan. On a GPU it queues the scan on `stream` (NULL: the default stream) and returns. On the host `stream`
 * must be NULL, GPU memory that a started driver knows is BAD_ARGUMENT, and the scan is done when the call returns.
 *
 * The first run that needs a kernel or scratch memory makes it ready, or uses another kernel (option `compile`). That
 * takes the time of reading or compiling, loading and allocating; the driver may delay these until running kernels are
 * done (see rowscan_plan_prepare). Otherwise a run never compiles, allocates or synchronises. Many threads may call it
 * with one plan, also under stream capture.
 *
 * Launches. From sm_90 and CUDA 12.3 on a scan is a programmatic dependent launch: its blocks may start while the
 * previous kernel of the stream ends. They wait for that kernel before they read or write anything, though they may
 * prefetch input into the L2 cache. A captured graph has a programmatic edge there. With $ROWSCAN_PDL=off, read when a
 * context is opened, launches and edges are plain.
 *
 * Workspace. A run whose rows are cut over blocks of threads needs scratch memory, at most the plan's workspace_bytes.
 * The first such run of a stream allocates it, as a power of two; a run that needs more than any run before allocates
 * more besides. Each run leaves it ready for the next one, so that a run is one launch (more launches where adjacent
 * rows exceed 2 GB, or columns need more scratch memory than that bound). The first two streams that run the plan many
 * times keep their scratch memory as long as the plan lives. All other streams share four pieces, and wait for one
 * another on the GPU if they are more.
 *
 * A run under capture takes scratch memory for its graph, and shares it with later runs on the same stream in the same
 * capture: two executables made from one graph must not run at the same time. The memory is reused when the graph, all
 * that was made from it and their launches are gone (before CUDA 11.3: when the plan is destroyed). At most 512 streams
 * of graphs hold such memory at a time, up to eight times workspace_bytes together. A graph may outlive the plan, but
 * must not be launched then.
 *
 * A stream may be destroyed while runs are pending, but not before a capture that it takes part in ends. A driver older
 * than CUDA 12.0 cannot tell a new stream from a destroyed one: there all streams share the four pieces.
 *
 * A run with a workspace of its own (args->workspace), of workspace_bytes with any content, needs no scratch memory of
 * the plan, but queues a clearing of it before each launch.
 *
 * Errors: BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile); OUT_OF_MEMORY (among others, captured graphs hold
 * all scratch memory that they may have); CUDA_FAILED; those of rowscan_plan_prepare. After an error nothing is queued,
 * and the next run tries again.
 */
ROWSCAN_API rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args,
                                            struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* The modules of a plan. On a GPU each has one kernel; the first is the one that rowscan_plan_create makes ready. */
typedef struct rowscan_plan_info {
  size_t size;
  int modules;            /* number of modules; 0 on the host */
  size_t workspace_bytes; /* most scratch memory of a run: see rowscan_plan_run */
} rowscan_plan_info;

/* A module of a plan. */
typedef struct rowscan_module_info {
  size_t size;
  const char *kernel;    /* which of the plan's kernels, named by the rows that it scans: "aligned" */
  rowscan_regime regime; /* of the kernel; a plan may have ROW and LONG, and each run chooses by its number of rows */
  char arch[16];         /* "sm_90" */
  int threads;           /* per block */
  int registers;         /* per thread */
  int shared_bytes;      /* static shared memory per block */
  int local_bytes;       /* local memory per thread */
  int spill_bytes;       /* of registers spilled to local memory, stores and loads */
  size_t ptx_bytes;      /* length of `ptx`, without its NUL */
  size_t cubin_bytes;    /* length of `cubin` */
  double build_ms;       /* milliseconds to read the kernel from the cache or to compile it */
  int cached;            /* not 0: read from the cache */
  const char *geometry;  /* of the tile: "threads=1024 vector=4 chunks=4"; valid as long as the plan */
  const char *source;    /* generated CUDA source; valid as long as the plan */
  const char *ptx;       /* ends in a NUL; valid as long as the plan. NULL: the kernel is from a pack without PTX, and
                            nothing can be compiled */
  const void *cubin;     /* valid as long as the plan. NULL: NVRTC does not support the architecture, and the driver
                            compiles the PTX */
} rowscan_module_info;

/* Initialises a struct of results: rowscan_plan_info info = ROWSCAN_INFO(rowscan_plan_info); in C++ from C++20 on. */
#define ROWSCAN_INFO(type) ROWSCAN_QUIET({.size = sizeof(type)})

/*
 * Each fills a struct whose .size is set: the completed spec of a plan, its info, and the info of one module, 0 to
 * modules - 1. rowscan_plan_module makes the module's kernel ready. It reads the PTX, which a plan that can be run does
 * not keep, from the cache, or compiles it anew. Errors: BAD_ARGUMENT (also: there is no such module);
 * rowscan_plan_module also those of rowscan_plan_prepare.
 */
ROWSCAN_API rowscan_status rowscan_plan_spec(const rowscan_plan *plan, rowscan_spec *spec) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_plan_info_get(const rowscan_plan *plan, rowscan_plan_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_plan_module(const rowscan_plan *plan, int module,
                                               rowscan_module_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 3);

/*
 * Lists the architectures that the NVRTC found supports, as ascending numbers (90 for sm_90). Set *count to the
 * capacity of archs; the call sets it to their number. Errors: BAD_ARGUMENT (the capacity is too small), NO_COMPILER,
 * OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_archs(rowscan_context *context, int *archs, int *count) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/*
 * Returns the generated source of a spec's module (0 and up, as in rowscan_plan_module) for an architecture ("sm_90"),
 * without compiling it. Needs no NVRTC and no context. Free the text with rowscan_free. Errors: BAD_ARGUMENT (also:
 * there is no such module), UNSUPPORTED, OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_source(const rowscan_spec *spec, const char *arch, int module,
                                          char **source) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 4);

/* Frees memory that a call returned and whose comment says so; NULL is ignored. */
ROWSCAN_API void rowscan_free(void *memory);

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* An array that is read. */
typedef struct rowscan_input {
  const void *data;        /* element [0, ..., 0] */
  rowscan_type type;       /* AN INPUT WITHOUT A TYPE IS F32, WHATEVER IT CONTAINS; if the output has another floating
                              type, that is BAD_ARGUMENT. Other arrays have the defaults of rowscan_spec, and
                              init the accumulator's type */
  const int64_t *strides;  /* [rank], in elements; NULL: dense in C order */
  const void *reserved[2]; /* must be NULL */
} rowscan_input;

/* An array that is written. */
typedef struct rowscan_output {
  void *data;              /* element [0, ..., 0] */
  rowscan_type type;       /* default: of output, as out_type of rowscan_spec; of second, the input's type; of
                              totals, the accumulator's type */
  const int64_t *strides;  /* [rank], in elements; NULL: dense in C order */
  const void *reserved[2]; /* must be NULL */
} rowscan_output;

/*
 * A scan along one dimension of tensors of any rank and any strides. No tensor is copied to make it dense. SET THE
 * TYPES AND `dim` OF EVERY PROBLEM: their defaults are seldom what a program means.
 *
 * `output` may be the same array as `input`, with equal strides and element size. Otherwise no element that is written
 * may share a byte with another array or with another element of its own array; that is BAD_ARGUMENT, as rowscan_args
 * explains.
 */
typedef struct rowscan_problem {
  size_t size;
  rowscan_op op;
  unsigned flags; /* ROWSCAN_EXCLUSIVE, ROWSCAN_REVERSE, ROWSCAN_INCLUDE_INITIAL, ... */
  int rank;       /* 1 to 64 */
  int dim;        /* scanned dimension, -rank to rank - 1. LEFT OUT IT IS 0, THE FIRST: to scan the rows of a matrix in
                     C order set it to -1, the last */
  const int64_t *shape; /* [rank], of all tensors; each >= 0; at most 2^56 elements */
  rowscan_input input;
  rowscan_output output; /* with ROWSCAN_INCLUDE_INITIAL it is one element longer than shape in dimension `dim` */
  union {
    rowscan_input mask;        /* of `shape`; required if mask_mode is set, else .data must be NULL */
    rowscan_input coefficient; /* of LINEAR_RECURRENCE, in the same place: required; mask_mode may be left out. With
                                  SELECT this field is the mask, and the coefficients are more[0] */
  };
  rowscan_mask_mode mask_mode; /* default: no mask, or coefficients */
  rowscan_type acc_type;       /* default: see rowscan_spec_complete */
  rowscan_input init;    /* initial value of each row, in the accumulator type (i64 for ROWSCAN_FIXED); its shape lacks
                            `dim`, for which it has a stride that is not used; default: none */
  rowscan_output totals; /* total of each row, unrounded; type, shape and strides as for init, with strides of its own;
                            default: not written */
  void *workspace; /* device memory for this scan alone, aligned to 8 bytes; default: scratch memory of the library */
  size_t workspace_bytes; /* at least what rowscan_workspace_bytes returns */
  /* Required, each of `shape`: the operator's further inputs, or the coefficients of a recurrence with a mask
   * (more[0]). Default type: the input's. Strides of 0 repeat one number for all elements.
   *
   * Further arrays are `more`, `second`, segments beside a mask or coefficients, and the numbers `params`. Scans with
   * them support all layouts, flags, strides and lengths, with the same bits everywhere. Their kernels are others, and
   * slower for the same bytes. On a GPU rowscan_carry, and forcing ROWSCAN_REGIME_COLUMN, are UNSUPPORTED. */
  rowscan_input more[4];
  rowscan_output second;  /* second output, of `shape` with ROWSCAN_INCLUDE_INITIAL too. ARGMAX, ARGMIN: the elements at
                             the indices; GAE: returns; WEIGHTED_RECURRENCE and gradients: the sums before the weights.
                             Default: not written */
  rowscan_input segments; /* flags or keys, of `shape`; required if segment_mode is set */
  rowscan_mask_mode segment_mode; /* HEADS, TAILS or KEYS: segments, also beside a mask or coefficients. Without these
                                     it is the same as mask_mode; default: none */
  double params[4];               /* numbers of the operator: gamma and lambda of GAE, c of DECAYED_SUM, params= of your
                                     own operators */
} rowscan_problem;

/* A rowscan_problem with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_PROBLEM(...) ROWSCAN_STRUCT(rowscan_problem, __VA_ARGS__)

/*
 * Scans tensors that the context's engine can reach. On a GPU they lie in device memory, and the scan is queued on
 * `stream` (NULL: the default stream). On the host they lie in host memory, `stream` must be NULL, no plan is needed,
 * and the scan is done when the call returns; GPU memory that a started driver knows is BAD_ARGUMENT there.
 *
 * On a GPU the first call of a kind makes a plan, with the kernels that are needed, and the context keeps it. A context
 * keeps 256 plans. Up to 192 that have run 16 times stay. Of the others the least recently used is destroyed when a new
 * one is made, which may wait for running kernels; its kernels remain in the cache, if there is one. A plan is not
 * destroyed while its runs are pending, nor if it ran under capture, since a graph may run it at any time: with such
 * plans there may be more than 256. Until a plan stays, an event is recorded after each of its runs, and a fifth and
 * later stream that runs it waits for others after its run. A program that needs more lengths at hand should keep plans
 * of its own.
 *
 * Many threads may call it with one context, also under stream capture. The tensors of a queued scan must stay valid
 * until it is done. Errors: those of rowscan_plan_create and rowscan_plan_run.
 */
ROWSCAN_API rowscan_status rowscan_scan(rowscan_context *context, const rowscan_problem *problem,
                                        struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * Returns in *bytes the size of the workspace that rowscan_scan needs for such a problem, 0 for none. Nothing is
 * compiled, and no element is read or written: the pointers only need the same distance from a multiple of 32 bytes as
 * those of the scans. Errors: those of rowscan_scan for the fields of a problem; OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_workspace_bytes(rowscan_context *context, const rowscan_problem *problem,
                                                   size_t *bytes) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3);

/*
 * Scans tensors in host memory, not in device memory, with either engine, and returns when it is done. On a GPU they
 * travel in pieces through pinned memory, and copies overlap kernels; tensors, and single rows, may be larger than the
 * GPU's memory. A tensor that is in C order in pinned memory (cuMemHostAlloc, cuMemHostRegister) with the scanned
 * dimension last is copied from and to where it is. With the option `devices` pieces go to several GPUs. The bits are
 * the same. The context keeps the streams, the pinned memory and the GPU memory
 * (`staging_bytes`) of up to four such scans at a time for the next ones, until it is closed. Many threads may call it.
 * Errors: those of rowscan_plan_create and rowscan_plan_run; UNSUPPORTED (on a GPU: rows that do not fit into a piece,
 * with segments or further arrays, or of LINEAR_RECURRENCE, LOGSUMEXP, EXTENDED_PROD, ARGMAX, ARGMIN or an operator of
 * your own).
 */
ROWSCAN_API rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Makes ready the plan, the kernel and the scratch memory that rowscan_scan needs for such a problem, so that the first
 * scan takes no longer than later ones. It queues no scan. No element is read or written: the pointers only need the
 * same distance from a multiple of 32 bytes as those of the scans. On the host it does nothing. Errors: those of
 * rowscan_scan.
 */
ROWSCAN_API rowscan_status rowscan_prepare(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Returns the complete spec that rowscan_scan makes a plan of for a problem; set spec->size before. With it a program
 * can list what it runs (rowscan_spec_text) and have the kernels compiled elsewhere (rowscan_warm, `rowscan warm`). No
 * element is read or written: the pointers only need the same distance from a multiple of 32 bytes as those of the
 * scans. ROWSCAN_INCLUDE_INITIAL is not part of a spec. Errors: BAD_ARGUMENT, UNSUPPORTED.
 */
ROWSCAN_API rowscan_status rowscan_problem_spec(const rowscan_problem *problem, rowscan_spec *spec) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- chunk by chunk ---------------------------------------------------------------------------------------------- */

/*
 * A carry is one scan whose elements arrive in chunks: its results are, bit for bit, those of a single call with all
 * elements. (Passing the totals of a call to the next one as its initial values groups the elements differently: the
 * bits are the same for integers, and for other types only up to the third chunk of 2^n elements.)
 *
 * rowscan_carry_scan scans the next chunk of each row, as rowscan_scan does: in memory that the engine can reach, in
 * place if wanted; on a GPU it is queued on `stream`, which must be NULL on the host. Of segments, LINEAR_RECURRENCE,
 * LOGSUMEXP, EXTENDED_PROD, ARGMAX and ARGMIN the call waits for the stream. All chunks have the same op,
 * flags, types, mask mode, rank, dim and shape, except shape[dim], which may be 0. The first chunk of a reverse scan
 * holds the last elements. Initial values are those of the first chunk; totals are those of all elements so far. With
 * ROWSCAN_INCLUDE_INITIAL the additional element is the prefix before the chunk.
 *
 * A carry keeps up to two totals per row for each power of two of the number of elements, in the engine's memory, or
 * in the host's where the call waits for the stream. In place on a GPU other calls need as much memory again as a
 * chunk. A chunk is read twice. It is scanned in pieces of powers of two, aligned in the row: one piece if all chunks
 * have the same power of two, else up to 2 log2(length), with a few launches each.
 *
 * One thread at a time may call with a carry, on one stream or on streams that wait for one another. The calls cannot
 * be captured. After a call that fails the carry can only be reset or destroyed. rowscan_carry_reset begins another
 * scan, of any form. rowscan_carry_destroy waits for what is queued, and must be called before the context is closed;
 * NULL is ignored.
 *
 * Errors: those of rowscan_scan; BAD_ARGUMENT (a chunk of another form); UNSUPPORTED (ARGMAX and ARGMIN in reverse,
 * whose indices count from an element that is not known yet; on a GPU: under capture; operators of your own; further
 * arrays, see rowscan_problem.more).
 */
ROWSCAN_API rowscan_status rowscan_carry_create(rowscan_carry **carry, rowscan_context *context) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_carry_scan(rowscan_carry *carry, const rowscan_problem *chunk,
                                              struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);
ROWSCAN_API void rowscan_carry_reset(rowscan_carry *carry) ROWSCAN_NONNULL(1);
ROWSCAN_API void rowscan_carry_destroy(rowscan_carry *carry);

/* ---- parts of rows ----------------------------------------------------------------------------------------------- */

/*
 * Rows that are cut over processes, hosts or files. Each part is scanned where it lies. Its results are, bit for bit,
 * those of a single call with all elements, for any number of cuts at any places.
 *
 * Parts exchange records. A record of elements [begin, end) contains the totals of the aligned blocks that make up
 * [begin, end): for each row at most 2 log2(end - begin + 1) of them, and one if all parts have the same power of two.
 * Records of neighbours merge to the record of both, in any order of merging. docs/distributed.md has examples.
 *
 *   rowscan_part_record(context, &problem, &part, mine, bytes, NULL);  each process, of its part
 *   MPI_Allgather(...)                                              records, by the caller's own means
 *   rowscan_record_merge(&problem, rank, records, sizes, before, ...);
 *   rowscan_part_scan(context, &problem, &part, NULL);              with part.before and part.own
 *
 * All operators, masks, segments, further arrays, flags and types are supported on the host engine. On a GPU operators
 * of the caller's are UNSUPPORTED so far, and so are further arrays but those of WEIGHTED_RECURRENCE (without a mask,
 * segments and INCLUDE_INITIAL), and a stream that is being captured: calls wait for the work on theirs. Records have
 * the same bytes on both engines, and are little-endian; src/run/fold.h documents their format.
 *
 * Many threads may call with one context. Errors: those of rowscan_scan; BAD_ARGUMENT (the bytes are no record, or are
 * damaged, or the record is of another scan or of other elements).
 */
typedef struct rowscan_part {
  size_t size;
  int64_t begin;  /* elements of the row before the part, in the order of the scan: in reverse scans those behind it */
  int64_t length; /* elements of the whole row */
  const void *before; /* rowscan_part_scan: the record of [0, begin); NULL: begin is 0 */
  size_t before_bytes;
  const void *own; /* rowscan_part_scan: the part's own record; NULL: the elements are read once more */
  size_t own_bytes;
} rowscan_part;

/* A rowscan_part with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_PART(...) ROWSCAN_STRUCT(rowscan_part, __VA_ARGS__)

/*
 * Bytes of a record of elements [begin, end) of each row. Of the problem only what rows have in common is read: types,
 * flags, modes, which arrays there are, and the shape without dimension `dim`.
 */
ROWSCAN_API rowscan_status rowscan_record_bytes(const rowscan_problem *problem, int64_t begin, int64_t end,
                                                size_t *bytes) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 4);

/*
 * Writes the record of a part, whose elements are the problem's: [begin, begin + shape[dim]). Reads the inputs once,
 * and writes no output: output.data may be NULL. Initial values are not read. A record is a reduction with the bits of
 * the scan, too. `record` is memory of the host. stream: NULL on the host engine.
 */
ROWSCAN_API rowscan_status rowscan_part_record(rowscan_context *context, const rowscan_problem *problem,
                                               const rowscan_part *part, void *record, size_t bytes,
                                               struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

/*
 * Writes the record of all elements of `count` records, each of which begins where the one before it ends. Records of
 * no elements take part. `merged` may not overlap a record. A record of more elements may be larger: an operator of
 * MPI_Op_create wants buffers of the largest size of all, and is not commutative.
 */
ROWSCAN_API rowscan_status rowscan_record_merge(const rowscan_problem *problem, int count, const void *const *records,
                                                const size_t *bytes, void *merged, size_t merged_bytes) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 3, 4, 5);

/* What elements a record is of. */
typedef struct rowscan_record_info {
  size_t size;
  int64_t begin, end; /* elements [begin, end) of each row, in the order of the scan */
  int64_t length;     /* elements of the whole row */
} rowscan_record_info;

/* Fills info. Set info->size before. The record may be any bytes. Errors: BAD_ARGUMENT. */
ROWSCAN_API rowscan_status rowscan_record_info_get(const void *record, size_t bytes,
                                                   rowscan_record_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 3);

/*
 * Scans a part, in place if wanted. problem.init has the initial values of the whole rows, which each part must be
 * given. totals, unless NULL, become the totals of all elements up to the part's last. With ROWSCAN_INCLUDE_INITIAL the
 * additional element is the prefix before the part. stream: NULL on the host engine. On a GPU the context keeps up to
 * 32 MB of scratch memory for the next call about parts. After OUT_OF_MEMORY and CUDA_FAILED some results may be
 * written; after all other errors none.
 */
ROWSCAN_API rowscan_status rowscan_part_scan(rowscan_context *context, const rowscan_problem *problem,
                                             const rowscan_part *part, struct CUstream_st *stream) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/*
 * A communicator: how the ranks of a scan reach one another. rowscan has no transport of its own. rowscan_mpi.h makes
 * one of an MPI_Comm, rowscan_nccl.h of an ncclComm_t; docs/distributed.md has others.
 */
typedef struct rowscan_comm {
  size_t size;
  int ranks, rank; /* number of ranks; this one, from 0 on, in the order of the parts in memory */
  void *user;      /* for all_gather */
  /* Sends `bytes` bytes, a multiple of 8, to all ranks, and receives those of rank r at receive + r * bytes. Blocks.
   * Returns 0, or any other number: then the call fails with COMM_FAILED on this rank. */
  int (*all_gather)(void *user, const void *send, void *receive, size_t bytes);
} rowscan_comm;

/* A rowscan_comm with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_COMM(...) ROWSCAN_STRUCT(rowscan_comm, __VA_ARGS__)

/*
 * Scans rows that are cut over the ranks of a communicator. All ranks call it, each with a problem of its own part of
 * the rows, which may have no elements. Rank 0 has the first elements in memory, in reverse scans too. The results are,
 * bit for bit, those of a single call with all elements. All problems are of the same scan: op, flags, types, modes,
 * params, number of rows. Each is given the initial values of the whole rows, which are not compared. totals become
 * those of the whole rows, on each rank that asks for them. With ROWSCAN_INCLUDE_INITIAL the additional element is the
 * prefix before the part.
 *
 * Two exchanges of 4 KB a rank, and a third one if a record exceeds 3 KB. All ranks return the same status, and where
 * one fails the message has its number: "rank 3: ...". Nothing is written then. Exceptions are errors of `comm` itself,
 * which are this rank's own; COMM_FAILED; and OUT_OF_MEMORY after the exchanges. A rank that does not call blocks the
 * others as long as their all_gather waits.
 *
 * Serves what rowscan_part_scan does, on either engine; ranks may have different ones. all_gather has memory of the
 * host. Errors: those of rowscan_part_scan; COMM_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_shard_scan(rowscan_context *context, const rowscan_problem *problem,
                                              const rowscan_comm *comm, struct CUstream_st *stream) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/*
 * Takes part in a scan that the other ranks call, where this one cannot: all of them return this status and the message
 * "rank N: ...", and so does this call. Errors: those of `comm`; BAD_ARGUMENT (the status is ROWSCAN_OK or none).
 */
ROWSCAN_API rowscan_status rowscan_shard_fail(const rowscan_comm *comm, rowscan_status status,
                                              const char *message) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 3);

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* A GPU. */
typedef struct rowscan_device_info {
  size_t size;
  char name[128];
  char arch[16]; /* "sm_90" */
  int multiprocessors;
  int64_t memory_bytes; /* of device memory */
  int64_t l2_bytes;     /* of the L2 cache */
  int shared_bytes;     /* most shared memory per block */
  double peak_gbs; /* peak bandwidth of device memory, in 10^9 bytes per second, by its clock and width; 0 if unknown */
} rowscan_device_info;

/* Counts the GPUs. Errors: NO_DRIVER, which sets *count to 0; CUDA_FAILED. Any thread may call it. */
ROWSCAN_API rowscan_status rowscan_device_count(int *count) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/*
 * Fills info for the GPU of ordinal `device`. Set info->size before. Errors: BAD_ARGUMENT, NO_DRIVER, NO_DEVICE (no GPU
 * has that ordinal), CUDA_FAILED. Any thread may call it.
 */
ROWSCAN_API rowscan_status rowscan_device_get(int device, rowscan_device_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(2);

/*
 * Returns in *device the ordinal of the GPU whose memory, managed memory included, a pointer points to. It is -1 for
 * host memory, pinned or not, for any other memory that belongs to no GPU, and without a driver or a GPU. Errors:
 * CUDA_FAILED. Any thread may call it.
 */
ROWSCAN_API rowscan_status rowscan_device_of(const void *pointer, int *device) ROWSCAN_CHECKED ROWSCAN_NONNULL(2);

/* ---- ahead of need ----------------------------------------------------------------------------------------------- */

/* The outcome of rowscan_warm for one spec and one architecture. */
typedef struct rowscan_warmed {
  size_t size;
  int64_t spec;          /* the spec's index in the list */
  const char *arch;      /* "sm_90"; this string and message are valid until visit returns */
  rowscan_status status; /* OK: all its kernels are in the cache or in packs */
  const char *message;   /* the error message; "" if there is none */
  int modules;           /* number of its kernels, each a cache entry, see rowscan_plan_info; 0 if they were not made */
  int compiled;          /* how many of these were neither in the cache nor in a pack before */
  double ms;             /* milliseconds that it took */
  int64_t done;          /* pairs of spec and architecture so far, this one included */
  int64_t total;         /* pairs in all */
} rowscan_warmed;

/* What rowscan_warm compiles: each spec for each architecture. */
typedef struct rowscan_warming {
  size_t size;
  const rowscan_spec *specs; /* [spec_count], all with the same .size */
  int64_t spec_count;
  const char *const *archs; /* [arch_count], "sm_90", at most 128; NULL: all that the NVRTC found supports */
  int arch_count;
  int threads; /* threads that compile; default: the context's `threads` */
  /* Called when a pair of spec and architecture is done, from any thread, one call at a time. If it returns not 0 no
   * further pair is begun, which is no error. It must return, as the callbacks of rowscan_options must, and must not
   * call with this context. Default: none. */
  int (*visit)(void *user, const rowscan_warmed *one);
  void *user;    /* passed to visit */
  int universal; /* not 0: after the specs, the kernels that serve every spec of the library's operators until its own
                    are compiled; visit counts them as specs from spec_count on. A library that was built where NVRTC
                    was has them inside */
  int reserved;  /* must be 0 */
} rowscan_warming;

/* A rowscan_warming with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_WARMING(...) ROWSCAN_STRUCT(rowscan_warming, __VA_ARGS__)

/*
 * Fills the cache: compiles, on all cores, the kernels of each spec and architecture that are neither in it nor in a
 * pack. Needs no GPU and no driver. If a kernel fails, the others are still made; the status is that of the first
 * failure.
 *
 * With `cache_only` nothing is compiled, and the status says whether all kernels are there: a check for the start of a
 * program, which needs neither a directory nor NVRTC. Without a directory to keep kernels in nothing is compiled
 * either.
 *
 * Errors: BAD_ARGUMENT and UNSUPPORTED, before anything is compiled; those of rowscan_plan_compile; CACHE_FAILED (there
 * is no cache on disk, and packs lack a kernel; or what was compiled could not be kept, or the last entries evicted the
 * first: the cache's limit is too small for the list).
 */
ROWSCAN_API rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *list) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- the cache on disk ------------------------------------------------------------------------------------------- */

/* Counts of kernels. A plan has several; see rowscan_plan_info. */
typedef struct rowscan_cache_counts {
  int64_t hits;      /* found on disk, or just compiled by another thread, and so not compiled */
  int64_t misses;    /* not found */
  int64_t compiles;  /* compiled after a miss, or after the driver rejected an entry */
  double saved_ms;   /* milliseconds that compiling the hits once took; kernels of packs count as 0 */
  int64_t evictions; /* entries removed to keep the limit, least recently used first */
  int64_t damaged;   /* times that a damaged entry was found and not used */
  int64_t rejected;  /* entries that the driver did not load, and that were compiled again. If the driver does not load
                        the new one either, plans that need it fail with the driver's message, and the context compiles
                        it no more and counts nothing */
  int64_t reserved[9];
} rowscan_cache_counts;

/* The cache that a context uses. */
typedef struct rowscan_cache_info {
  size_t size;
  const char *path;            /* the cache's directory, valid as long as the context; "" if nothing is kept on disk */
  const char *why;             /* why nothing is kept on disk, else ""; valid as long as the context */
  int packs;                   /* number of packs that are read besides */
  int64_t pack_entries;        /* entries in these packs */
  int64_t entries;             /* readable entries on disk */
  int64_t bytes;               /* of these entries */
  int64_t limit_bytes;         /* the option `cache_limit` or its default */
  rowscan_cache_counts counts; /* of this context */
  rowscan_cache_counts all;    /* of all contexts of all processes that used this directory; another process adds its
                                  counts when it writes an entry or closes its context */
} rowscan_cache_info;

/* An entry of the cache or of a pack: one kernel. */
typedef struct rowscan_cache_entry {
  size_t size;
  const char *name;   /* file name below the cache's path; an entry of a pack has the name that it would have there */
  const char *key;    /* canonical text, one field=value per line; NULL if the entry is damaged */
  int64_t bytes;      /* of the entry */
  int64_t used;       /* time of the last use in seconds since 1970; 0 for an entry of a pack */
  const char *damage; /* what is wrong with the entry; NULL if it is sound */
  const char *pack;   /* file of the pack that holds the entry; NULL if it is a file of the cache */
} rowscan_cache_entry;

/*
 * Fills info. Set info->size before. A missing cache on disk is no error. Errors: BAD_ARGUMENT; CACHE_FAILED (the
 * counts or the directories cannot be read, for lack of memory or descriptors, or because the disk fails).
 */
ROWSCAN_API rowscan_status rowscan_cache_info_get(rowscan_context *context, rowscan_cache_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Reads and verifies each entry on disk, those of packs excepted, and calls visit with it; stops early if visit returns
 * not 0. Strings are valid until visit returns. visit must return, as the callbacks of rowscan_options must, and must
 * not call with this context. Errors: CACHE_FAILED (a part of the directory or an entry cannot be read, for lack of
 * memory or descriptors: that is no damage, and visit is called for the other entries).
 */
ROWSCAN_API rowscan_status rowscan_cache_visit(rowscan_context *context,
                                               int (*visit)(void *user, const rowscan_cache_entry *entry),
                                               void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * Does what rowscan_cache_visit does for each entry of the packs that are read besides the cache. A file that is no
 * pack, or is not trusted, has no entries; the log reported it when the cache was opened. Errors: CACHE_FAILED (an
 * entry cannot be read, for lack of memory or descriptors).
 */
ROWSCAN_API rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                                     int (*visit)(void *user, const rowscan_cache_entry *entry),
                                                     void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * A field in which the requested key and that of an entry differ; a value is NULL if its key lacks the field. This
 * struct never grows.
 */
typedef struct rowscan_cache_difference {
  const char *field;
  const char *asked; /* value in the requested key */
  const char *found; /* value in the entry's key */
} rowscan_cache_difference;

/* Why a kernel of a spec is, or is not, in the cache. Strings are valid until visit returns. */
typedef struct rowscan_cache_reason {
  size_t size;
  const char *kernel;    /* as in rowscan_module_info: "aligned" */
  rowscan_regime regime; /* as in rowscan_module_info */
  const char *name;      /* file name of its entry below the cache's path, whether it exists or not; "" if the name
                            depends on a compiler that is missing */
  int hit;               /* not 0: a sound entry exists */
  const char *damage;    /* what is wrong with the entry that exists; else NULL */
  const char *nearest; /* for a miss: the entry, in the cache or a pack, whose key differs in the fewest fields; NULL if
                          there is no sound entry */
  int difference_count; /* number of fields in which the nearest entry differs, those of the spec first. 0 for a hit,
                           except where an entry of another compiler is used, from a pack or because nothing can be
                           compiled: then the field nvrtc differs */
  const rowscan_cache_difference *differences; /* [difference_count] */
  const char *pack; /* file of the pack with the hit, the damaged entry or the nearest one; NULL if it is in no pack */
} rowscan_cache_reason;

/*
 * Explains a hit or a miss of a spec for an architecture ("sm_90"): calls visit for each of its modules (see
 * rowscan_plan_info) until visit returns not 0. Reads all entries, those of packs included; compiles nothing and counts
 * nothing. Needs no compiler: without one every entry differs in the field nvrtc. visit must return, as the callbacks
 * of rowscan_options must, and must not call with this context. Errors: BAD_ARGUMENT, UNSUPPORTED, CACHE_FAILED,
 * OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                             int (*visit)(void *user, const rowscan_cache_reason *reason),
                                             void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

/* What rowscan_cache_prune removed. */
typedef struct rowscan_cache_pruned {
  size_t size;
  int64_t removed;       /* entries, least recently used first; only if the cache is close to its limit */
  int64_t removed_bytes; /* of these entries */
  int64_t swept;         /* temporary files that processes left behind when they died, more than an hour ago */
  int64_t swept_bytes;   /* of these files */
  int64_t left;          /* entries that remain */
  int64_t left_bytes;    /* of these entries */
} rowscan_cache_pruned;

/*
 * Removes entries and temporary files now, as the cache does by itself from time to time. Fills pruned. Set
 * pruned->size before. Errors: BAD_ARGUMENT, CACHE_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* Removes all entries. *removed (entries) and *bytes are set even if it fails; either may be NULL. Errors:
 * CACHE_FAILED. */
ROWSCAN_API rowscan_status rowscan_cache_clear(rowscan_context *context, int64_t *removed,
                                               int64_t *bytes) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/* ---- packs ------------------------------------------------------------------------------------------------------- */

/* Selects the entries that have one of the architectures and all of the fields. */
typedef struct rowscan_cache_filter {
  size_t size;
  const char *const *archs; /* [arch_count], "sm_90"; NULL: all. Kernels for any length serve a generation: those that
                               sm_89 uses are entries of sm_80, and selected by either name */
  int arch_count;
  const char *spec; /* field=value pairs as rowscan_spec_text writes them, separated by blanks: "in=f32 reverse=1";
                       other fields of keys are allowed too: "kernel=aligned"; default: any */
  int without_ptx;  /* of an export, not 0: leave out the PTX, half of the bytes. Only GPUs of an architecture that the
                       entry is not for need it */
  int reserved;     /* must be 0 */
} rowscan_cache_filter;

/* A rowscan_cache_filter with `.size` set, valid as ROWSCAN_OPTIONS is. */
#define ROWSCAN_CACHE_FILTER(...) ROWSCAN_STRUCT(rowscan_cache_filter, __VA_ARGS__)

/* What a pack contains. */
typedef struct rowscan_cache_exported {
  size_t size;
  int64_t entries; /* in the pack */
  int64_t damaged; /* entries that were left out */
  int64_t bytes;   /* of the pack */
} rowscan_cache_exported;

/*
 * Writes a pack: one file with many entries, which other machines can use (cache/README.md describes its format). It
 * contains the entries that filter selects, all if filter is NULL: those on disk, and those of the packs in use that
 * the disk lacks. With ROWSCAN_CACHE_PACKS=off, or the option `cache_packs`, it contains those on disk alone;
 * rowscan_warm must run with the same setting, since it compiles no kernel that a pack has. The same kernels of the
 * same NVRTC make the same bytes on every machine: times are left out.
 *
 * The file appears as a whole or not at all. It may replace a regular file, and keeps that file's permissions, access
 * control list and, where the process may give files away, owner. Anything there that is not a regular file, such as
 * /dev/null, is left alone, and so is the target of another user's symbolic link in a directory like /tmp.
 *
 * Fills exported. Set exported->size before. Errors: BAD_ARGUMENT, OUT_OF_MEMORY, CACHE_FAILED (no entry is selected,
 * or none for one of the filter's architectures, which the message names; there is neither a cache on disk nor a pack;
 * an entry cannot be read, or the file cannot be written); then nothing is left behind.
 */
ROWSCAN_API rowscan_status rowscan_cache_export(rowscan_context *context, const char *file,
                                                const rowscan_cache_filter *filter,
                                                rowscan_cache_exported *exported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 4);

/*
 * Does what rowscan_cache_export does, with memory instead of a file, for a process that sends the pack to others. Free
 * the pack with rowscan_free. A pack is as large as its entries, and so no larger than the cache's limit and the packs
 * in use; making one, in a file too, takes memory for at most twice its bytes. Errors: those of rowscan_cache_export.
 */
ROWSCAN_API rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter,
                                                       void **pack, size_t *bytes,
                                                       rowscan_cache_exported *exported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 3, 4, 5);

/* What an import did with the entries of a pack. */
typedef struct rowscan_cache_imported {
  size_t size;
  int64_t entries; /* in the pack, the sum of the next four */
  int64_t added;   /* to the cache */
  int64_t present; /* in the cache before */
  int64_t damaged; /* left out */
  int64_t failed;  /* not kept: the disk is full or cannot be written, the cache's limit is too small for them, or they
                      cannot be read, for lack of memory or because the disk fails */
} rowscan_cache_imported;

/*
 * Adds the entries of a pack that are not in the cache on disk. The file must belong to this user or to root, and must
 * be writable by no one else, since a kernel is a program. Symbolic links to it are followed, as Kubernetes makes them
 * in volumes, if the links, and all directories from the root to the file, belong to this user or to root, and each of
 * these directories is writable by no one else, has the sticky bit, or is mounted read-only.
 *
 * Fills imported. Set imported->size before. Errors: BAD_ARGUMENT, CACHE_FAILED (there is no cache on disk; the file is
 * no pack, is damaged as a whole or is not trusted).
 */
ROWSCAN_API rowscan_status rowscan_cache_import(rowscan_context *context, const char *file,
                                                rowscan_cache_imported *imported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/*
 * Does what rowscan_cache_import does, with a pack in memory, which may hold any bytes: no pack is an error, and
 * damaged entries are left out. Errors: BAD_ARGUMENT, CACHE_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                                       rowscan_cache_imported *imported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 4);

#ifdef __cplusplus
}
#endif
#endif
