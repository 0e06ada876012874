/*
 * rowscan.h - prefix scans along one dimension of a tensor, on NVIDIA GPUs and on the CPU
 * SPDX-License-Identifier: MIT
 *
 * A tensor is seen as rows: a row is the `length` elements along the scanned dimension at one position of all the other
 * dimensions. A *spec* is what a kernel is specialised to: operator, types, flags, length and layout. The number of
 * rows, the pointers and the strides are run-time arguments. A *plan* is a spec made ready in a *context*, which binds
 * one GPU or the CPU. README.md has a short program, and a table of which call to take when.
 *
 * Bits. The result depends on the row alone, never on the batch, the device, the engine or the run. The elements of a
 * row x[0..N) are combined in this order, for an operator o:
 *   - an aligned block of 2^b elements starts at a multiple of 2^b; its total is T(left half) o T(right half);
 *   - P(k), the prefix of k elements, is a left fold over the aligned blocks that make up [0, k), largest first; with
 *     an initial value the fold starts from it;
 *   - inclusive(i) = P(i + 1), exclusive(i) = P(i), and the total of a row is P(N); a reverse scan is the same on the
 *     row read backwards.
 * LINEAR_RECURRENCE combines maps: an element x with coefficient c is y -> c * y + x, and a block has the map of its
 * elements one after another, {c1, x1} o {c2, x2} = {c1 * c2, fma(c2, x1, x2)}; the fold starts from the initial value,
 * or -0, and applies the blocks to it: y = fma(c, y, x). Where an element is to be multiplied by the coefficient of the
 * one before it, as in gradients of recurrences, scan from the second element on, with coefficients from the first on
 * and the first element as the initial value: it is the first result. An element that a mask takes away is {1, +0}: the
 * state goes on, whatever element and coefficient are there.
 * LOGSUMEXP combines pairs, an element x being {x, 1}: {m1, s1} o {m2, s2} has the larger m, a NaN if either is one,
 * and s = fma(s of the smaller m, exp(-|m1 - m2|), s of the larger), where of |m1 - m2| no more than 87 counts, of f64
 * 708; a result is m + log(s). exp and log are those of kernels/exp_log.h. EXTENDED_PROD multiplies fractions of 1 to
 * 2, each product rounded, and adds exponents; a result is rounded once more where it is subnormal. ARGMAX and ARGMIN
 * combine elements with their indices. Without an initial value P(0) is the operator's identity: +0 for a sum and a
 * recurrence, 1 for a product; for a maximum -inf, or the lowest value of an integer accumulator, and for a minimum
 * +inf, or the highest; for AND all bits, for OR and XOR no bit; -inf for LOGSUMEXP, and -1, no index, for ARGMAX and
 * ARGMIN. Two NaNs may differ in sign and payload; everything else is equal bit for bit.
 *
 * Segments. Flags or keys beside the elements cut a row into segments, which begin where a mode of rowscan_mask_mode
 * says, in memory, in reverse scans too. A prefix then holds no more than the elements of its last segment, whatever
 * came before, an infinity or a NaN, and bits depend on the row and its flags: of a block in which segments begin, the
 * total is that of what follows the last beginning, in the order of the row's blocks. An exclusive result of a
 * segment's first element, in the scan's order, is the identity; an initial value belongs to the segment that the row
 * starts with, and is gone if a flag says that one begins with its first element. The row's total is that of its last
 * segment. Indices are those in the row. Flags or keys lie in the place of a mask (mask_mode), or beside a mask or
 * coefficients, or both (segment_mode); a coefficient with which a segment begins is not looked at.
 *
 * Further arrays. Some scans have more than an input, a mask and an output: GAE and operators of the caller's with
 * several inputs (`more`), and with numbers that each run tells (`params`); those with a second output (`second`),
 * which shows something else of the same prefixes; segments beside a mask or coefficients (`segments`); and
 * LINEAR_RECURRENCE with a mask, whose coefficients are `more[0]` then, since the mask has their place. The second
 * output of ARGMAX and ARGMIN has the elements that the indices are of, and what P(0) of MAX or MIN is where there is
 * none. In GAE an element is the map y -> c * y + delta, where c = gamma * lambda and delta = fma(gamma, next value,
 * reward) - value, or reward - value in a terminal state; such maps combine as those of LINEAR_RECURRENCE do, but one
 * that ends an episode drops what came before, a NaN too. All layouts, flags, strides and lengths serve, with the same
 * bits everywhere. Kernels are others than those of one input, and slower for the same bytes. There is no
 * rowscan_carry, and ROWSCAN_REGIME_COLUMN cannot be forced.
 *
 * Fixed point. With acc_type ROWSCAN_FIXED(k) a sum of floating elements is one of integers of 64 bits: an element x,
 * or in f64 its product with a mask, becomes the integer nearest to x * 2^k, ties to even, and a result is the sum of
 * these times 2^-k, rounded once to the output type. So the order does not matter: the same elements in another order
 * have the same total, bit for bit. Results of elements >= 0 never step down, and a sum of N elements is off by no more
 * than N * 2^-(k+1), and that rounding. Initial values and totals are the integers themselves, as i64. What overflows:
 * sums wrap where one reaches 2^63, which as a result is 2^(63-k), so choose k small enough for the largest prefix.
 * Elements of 2^(63-k) and more, inf too, are 2^63 - 1; those of -2^(63-k) and less, -inf and NaN are -2^63, and so the
 * sum of two NaNs is 0: look for NaN before, or leave it out by ROWSCAN_OMIT_NAN. For probabilities, whose sum is about
 * 1, ROWSCAN_FIXED(60) has room for 8, and an error that is less than that of rounding to f32 in rows of up to 2^36.
 *
 * Rounding. Results are a fixed tree of roundings, and differ from a loop that adds one element after another:
 *   - Sums of numbers >= 0 may step down by an ulp or two from one element to the next, since neighbours are rounded
 *     along different branches (222 of 10^6 random numbers in f32). Where that matters, as in the search of a
 *     cumulative distribution, ask for acc_type ROWSCAN_FIXED(k), with which none can be, or for f64 (no step down was
 *     seen with it).
 *   - A block of a product that overflows before it meets a zero gives inf * 0, NaN, where a loop gives 0; blocks that
 *     underflow give 0. Likewise the sum of -3e38, 0, 3e38, 3e38 in f32 is inf, where a loop gives 3e38. For f32 and
 *     narrower types acc_type f64 avoids it; of products EXTENDED_PROD; else scale the input.
 *   - A linear recurrence whose coefficients' product overflows within a block gives inf or NaN where a loop need not.
 *     The default accumulator, f64, reaches 1e308.
 *   - Passing the totals of a call to the next one as its initial values adds a fold, and may change bits.
 *     rowscan_carry gives the bits of one scan.
 *
 * Structs. A struct that a caller fills, or has filled, starts with `.size`, the sizeof that the caller's header gives:
 * it is the struct's version. A field that is zero takes its default, and so does a field that an older, shorter struct
 * lacks. A newer, longer struct is accepted if everything that this library does not know is zero. A struct of results
 * is filled up to its size. A size that no struct can have is BAD_ARGUMENT. The macros ROWSCAN_OPTIONS,
 * ROWSCAN_OPERATOR, ROWSCAN_SPEC, ROWSCAN_ARGS, ROWSCAN_PROBLEM, ROWSCAN_WARMING and ROWSCAN_CACHE_FILTER make such a
 * struct with `.size` set; it lives as long as the enclosing block (in C++: the enclosing expression). ROWSCAN_INFO
 * initialises a struct of results. In C++ the macros need C++20, and fields in the order of their declaration. Before
 * C++20 set the fields one by one, of options and results too:
 *     rowscan_problem problem = {};
 *     problem.size = sizeof problem;
 *     problem.rank = 1;
 *
 * Threads. Different contexts share nothing. Any calls on one context or plan may be made from many threads at once,
 * but a context or plan must not be used while it is closed or destroyed. A scan on the host runs in the calling thread
 * and in those of the context's other threads that become idle. No call is a cancellation point: a thread that is
 * cancelled in a call completes the call first. Every call but rowscan_close may be made while this thread or another
 * one captures a stream, in any capture mode, and leaves the capture as it is, unless it runs on that very stream.
 * (Runs on the legacy default stream are an exception: they wait for all other streams, which the driver refuses while
 * one is captured.) Callbacks may be called from threads of the library, except progress, which is called from the
 * caller's thread. A callback must not call the library with the same context or its plans.
 *
 * Functions of the program. Callbacks, parallel_for and the functions of an operator must return. An exception that
 * leaves one ends the process, whoever would catch it: in C++ by std::terminate, as if the function were noexcept. A
 * thread that ends in one by pthread_exit ends the process, too, where that unwinds the stack, as it does with glibc.
 * Nothing notices a longjmp out of one: what happens then is undefined.
 *
 * Processes. fork() may be called at any time, and waits for nothing. A child must not use what its parent opened;
 * closing and destroying it does nothing there. The child opens a context of its own. The CUDA driver works there only
 * if the parent has not used it, which is the driver's rule; else opening a GPU is NO_DRIVER, and ENGINE_AUTO chooses
 * the host. A child that was forked while a thread of the parent compiled, be it a thread of the library's, cannot
 * compile, since locks of NVRTC were held: a kernel that is not in the cache is NO_COMPILER there. To compile in
 * children, fork before anything is compiled, or start another program (exec).
 *
 * Errors. A call that fails returns a status other than ROWSCAN_OK and leaves its outputs unchanged.
 * rowscan_last_error() then has the message, which names the field and its value and holds no control characters of a
 * terminal. The library never aborts. It prints in two cases only: $ROWSCAN_LOG asks for the log of a program that sets
 * no log callback, or one of the variables ROWSCAN_* of such a program has a word that is unknown (known words may be
 * in capitals). Then it prints to standard error, unless file descriptor 2 was closed when the library was loaded, is
 * closed now, or would be closed by exec. No file that the library opens for writing has descriptor 0, 1 or 2.
 */
#ifndef ROWSCAN_H
#define ROWSCAN_H

/* The macros below leave fields out, which are 0 then: that is no reason to warn of each use. */
#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

/* The version of this header; ROWSCAN_VERSION is one number that grows: 10000 * major + 100 * minor + patch. */
#define ROWSCAN_VERSION_MAJOR 0
#define ROWSCAN_VERSION_MINOR 2
#define ROWSCAN_VERSION_PATCH 0
#define ROWSCAN_VERSION (ROWSCAN_VERSION_MAJOR * 10000 + ROWSCAN_VERSION_MINOR * 100 + ROWSCAN_VERSION_PATCH)
#define ROWSCAN_VERSION_TEXT2(a, b, c) #a "." #b "." #c
#define ROWSCAN_VERSION_TEXT(a, b, c) ROWSCAN_VERSION_TEXT2(a, b, c)
#define ROWSCAN_VERSION_STRING ROWSCAN_VERSION_TEXT(ROWSCAN_VERSION_MAJOR, ROWSCAN_VERSION_MINOR, ROWSCAN_VERSION_PATCH)

/* Clang warns by where the caller's own braces stand. */
#ifdef __clang__
#define ROWSCAN_QUIET(...)                                                                                             \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")                \
      __VA_ARGS__ _Pragma("clang diagnostic pop")
#else
#define ROWSCAN_QUIET(...) __VA_ARGS__
#endif

/* ROWSCAN_STRUCT(type, .field = value, ...) is the address of such a struct, with its .size set. */
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

struct CUstream_st; /* the driver's CUstream is a pointer to this struct, */
struct CUctx_st;    /* and its CUcontext is a pointer to this one */
typedef struct rowscan_context rowscan_context;
typedef struct rowscan_plan rowscan_plan;
typedef struct rowscan_carry rowscan_carry;

/* ---- enumerations ------------------------------------------------------------------------------------------------ */

typedef enum rowscan_status {
  ROWSCAN_OK = 0,
  ROWSCAN_BAD_ARGUMENT,   /* a field is out of range or contradicts another */
  ROWSCAN_UNSUPPORTED,    /* a valid request that rowscan does not serve */
  ROWSCAN_OUT_OF_MEMORY,  /* host or device memory */
  ROWSCAN_NO_DRIVER,      /* libcuda.so.1 is missing or too old */
  ROWSCAN_NO_DEVICE,      /* there is no such GPU */
  ROWSCAN_NO_COMPILER,    /* NVRTC is needed and is missing, or does not know the architecture */
  ROWSCAN_COMPILE_FAILED, /* NVRTC rejected the text of an operator of the caller's; else a bug in rowscan */
  ROWSCAN_CUDA_FAILED,    /* a call of the CUDA driver failed */
  ROWSCAN_CACHE_FAILED,   /* a call about the cache itself failed; never returned where compiling can serve */
  ROWSCAN_NOT_CACHED      /* a kernel is not in the cache, and compiling is forbidden (cache_only) */
} rowscan_status;

/* The oldest architecture that kernels are compiled for: sm_75. */
#define ROWSCAN_OLDEST_ARCH 75

typedef enum rowscan_engine {
  ROWSCAN_ENGINE_AUTO = 0, /* CUDA where there is a GPU that can serve, else HOST: see rowscan_open. FOR ARRAYS IN
                              DEVICE MEMORY ASK FOR ROWSCAN_ENGINE_CUDA: the host cannot reach them */
  ROWSCAN_ENGINE_CUDA,
  ROWSCAN_ENGINE_HOST
} rowscan_engine;

typedef enum rowscan_op {
  ROWSCAN_SUM = 0,
  ROWSCAN_PROD,
  ROWSCAN_MAX, /* a NaN wins over all numbers, and -0 is less than +0 */
  ROWSCAN_MIN, /* likewise */
  ROWSCAN_AND, /* and the next two: bit by bit, of integers and bool */
  ROWSCAN_OR,
  ROWSCAN_XOR,
  ROWSCAN_LINEAR_RECURRENCE, /* y = coefficient * y + x, from an initial value or 0: see ROWSCAN_MASK_COEFFICIENT */
  ROWSCAN_LOGSUMEXP, /* y = log(exp(y) + exp(x)), from -inf: of floats, and never over- or underflowing in between */
  ROWSCAN_EXTENDED_PROD, /* y = y * x of floats, with an exponent of 32 bits (of f64: 64) in between: what overflows or
                           vanishes for a while comes back; after a zero all is 0, until an infinity or a NaN */
  ROWSCAN_ARGMAX, /* the index of what ROWSCAN_MAX gives, in memory's order in reverse scans too: of equal elements the
                     last that was scanned, or with ROWSCAN_TIES_FIRST the first; -1 where there is none. As i64, or
                     i32; of rows of up to 2^32 - 3 elements, or 2^31. No initial values */
  ROWSCAN_ARGMIN, /* likewise, of ROWSCAN_MIN */
  ROWSCAN_GAE,    /* advantages of reinforcement learning, of floats, from the last step to the first (ROWSCAN_REVERSE):
                     y = delta + gamma * lambda * y, delta being reward + gamma * next value - value. The input has
                     rewards; `more` has values, next values, flags of steps that end in a terminal state, whose next
                     value is not looked at, and flags of steps that end an episode, where no y is passed on; `params`
                     are gamma and lambda, no NaN. The second output has returns, y + value. See Further arrays above */
  ROWSCAN_FIRST_CREATED = 1024 /* this number and those after it are the operators of rowscan_op_create */
} rowscan_op;

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
  ROWSCAN_BOOL,          /* one byte; every value except 0 is true and counts as 1 */
  ROWSCAN_FIXED_0 = 256, /* and up to the next: accumulators, see ROWSCAN_FIXED */
  ROWSCAN_FIXED_62 = ROWSCAN_FIXED_0 + 62
} rowscan_type;

/*
 * An accumulator, fixed point with k bits after the point, k from 0 to 62: exact sums, see Fixed point above. Texts
 * have it as "fixed:20".
 */
#define ROWSCAN_FIXED(k) ((rowscan_type)(ROWSCAN_FIXED_0 + (k)))

typedef enum rowscan_mask_mode {
  ROWSCAN_MASK_NONE = 0,
  ROWSCAN_MASK_SELECT,      /* where the mask is 0, the element is replaced by the identity: a NaN there is gone */
  ROWSCAN_MASK_MULTIPLY,    /* the element is multiplied by the mask, in the accumulator type: a NaN stays; SUM and
                               products */
  ROWSCAN_MASK_COEFFICIENT, /* what came before is multiplied by the array: LINEAR_RECURRENCE, whose only other mode is
                               SELECT, with the coefficients in more[0] */
  ROWSCAN_MASK_HEADS, /* the scan starts anew with each element, in memory, whose flag is not 0: see Segments above */
  ROWSCAN_MASK_TAILS, /* ... that follows, in memory, one whose flag is not 0 */
  ROWSCAN_MASK_KEYS   /* ... whose key, an integer or bool, is not that of its neighbour */
} rowscan_mask_mode;

/* How the rows lie in memory, which decides what kernels a plan holds. Either layout serves any strides; the wrong one
 * is slow. */
typedef enum rowscan_layout {
  ROWSCAN_LAYOUT_ROWS = 0, /* [rows..., length]: the elements of a row are adjacent */
  ROWSCAN_LAYOUT_COLUMNS   /* [rows..., length, inner]: element i of a row is adjacent to element i of the next row */
} rowscan_layout;

typedef enum rowscan_regime {
  ROWSCAN_REGIME_AUTO = 0,
  ROWSCAN_REGIME_ROW,   /* one block of threads per row */
  ROWSCAN_REGIME_SHORT, /* several rows per block of threads */
  ROWSCAN_REGIME_LONG,  /* many blocks of threads per row */
  ROWSCAN_REGIME_COLUMN /* many adjacent rows per block of threads; long rows are cut over blocks */
} rowscan_regime;

/* Flags of a spec, combined by |. */
#define ROWSCAN_EXCLUSIVE 1u /* element i of the output leaves out element i of the input */
#define ROWSCAN_REVERSE 2u   /* the scan runs from the last element to the first */
/* A NaN counts as the identity, of any operator; integers have none. Where a mask multiplies, the product decides:
 * 0 * inf is a NaN, and omitted. */
#define ROWSCAN_OMIT_NAN 16u
#define ROWSCAN_TIES_FIRST 32u /* ROWSCAN_ARGMAX, ROWSCAN_ARGMIN: the first of equal elements */
/* Of a problem only, not of a spec: the output has length + 1 elements, P(0) to P(length). */
#define ROWSCAN_INCLUDE_INITIAL 8u

/* ---- library ----------------------------------------------------------------------------------------------------- */

/* The library's ROWSCAN_VERSION_STRING and ROWSCAN_VERSION, which may differ from those of the header. */
ROWSCAN_API const char *rowscan_version(void);
ROWSCAN_API int rowscan_version_number(void);

/* The name of a status, such as "ROWSCAN_OK"; never NULL. */
ROWSCAN_API const char *rowscan_status_name(rowscan_status status);

/*
 * The name of a type, such as "f32" or "fixed:20"; the type of a name, ROWSCAN_TYPE_DEFAULT for an unknown one; the
 * bytes of an element of a type, 0 for ROWSCAN_TYPE_DEFAULT and values that are no type.
 */
ROWSCAN_API const char *rowscan_type_name(rowscan_type type);
ROWSCAN_API rowscan_type rowscan_type_by_name(const char *name) ROWSCAN_NONNULL(1);
ROWSCAN_API size_t rowscan_type_bytes(rowscan_type type);

/* The name of an operator, such as "sum"; the operator of a name, -1 for an unknown one; the name of a regime. */
ROWSCAN_API const char *rowscan_op_name(rowscan_op op);
ROWSCAN_API int rowscan_op_by_name(const char *name) ROWSCAN_NONNULL(1);
ROWSCAN_API const char *rowscan_regime_name(rowscan_regime regime);

/*
 * The message of the last call that failed in this thread: what was asked, which field has which value, and what the
 * driver or the compiler said (with the numbered source). Read it after a call has failed and before the next call,
 * since a call that succeeds may leave there a problem that it overcame. It is "" before the first failure.
 */
ROWSCAN_API const char *rowscan_last_error(void);

/* ---- operators of the caller's own ------------------------------------------------------------------------------- */

/*
 * The operator on the host, for numbers of one type: what its text says (see rowscan_op_create), in C. A total is
 * memory of the operator's `numbers`, aligned to 8 bytes; x, y and a coefficient, which is NULL if there is none, are
 * one number each. Results may differ from a GPU's if a * b + c is one rounding here: -ffp-contract=off keeps GCC from
 * it. The functions may be called by many threads at once, and must return (see above). This struct never grows.
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
 * What its second output shows of a prefix: y, a number, of a total and of what `load` has of the prefix's own element,
 * x and `coefficient`.
 */
typedef void rowscan_op_second(void *y, const void *total, const void *x, const void *coefficient);

typedef struct rowscan_operator {
  size_t size;
  const char *source;              /* its text, for GPUs: see rowscan_op_create */
  const rowscan_op_functions *f32; /* these four: on the host, by the type that is computed in, A of the text, which */
  const rowscan_op_functions *f64; /* the host does not serve if they are NULL */
  const rowscan_op_functions *u32;
  const rowscan_op_functions *u64;
  rowscan_op_second *second_f32; /* these four: beside those, of an operator with outputs=2 */
  rowscan_op_second *second_f64;
  rowscan_op_second *second_u32;
  rowscan_op_second *second_u64;
} rowscan_operator;

#define ROWSCAN_OPERATOR(...) ROWSCAN_STRUCT(rowscan_operator, __VA_ARGS__)

/*
 * Makes an operator of a struct in CUDA C++. *op is a number that all calls take as they take ROWSCAN_SUM, in every
 * context of the process, at once and until it ends. Text and functions are copied. The same text and functions again
 * give the same number. docs/operators.md has an example.
 *
 * The text begins with a line that says what the library must know of the struct:
 *
 *     // rowscan: op=Welford numbers=3 types=floats
 *
 *   op=NAME        needed: the struct's name, a letter or _, then letters, digits and _, 40 in all at most; it is the
 *                  operator's name in the texts of specs, too
 *   numbers=N      what a total takes: sizeof(Total) is at most that of N numbers as they are computed in; 1 to 4,
 *                  default 1. Totals of more than 16 bytes serve, but their kernels are slower, and take the compiler
 *                  up to half a minute
 *   types=T        the accumulators that it serves: any (default), floats or integers
 *   coefficient=1  there is a second array, as LINEAR_RECURRENCE has one: ROWSCAN_MASK_COEFFICIENT, or more[0]
 *   inputs=N       arrays that an element comes from, 1 to 5; default 1. The others are `more` of a problem
 *   params=N       numbers that each run tells it (`params`), 0 to 4, which compile nothing anew: of floats; default 0
 *   outputs=2      there may be a second output, `second` of a problem; default 1
 *
 * and then defines template <class A, class K> struct NAME. A is what is computed in: f32, f64, u32 or u64, since
 * integers wrap, whatever their sign; K is the accumulator itself, such as i32. Its functions are RS_METHOD static:
 *
 *   Total          what a block of elements comes to: a type of plain data, of whole words of 4 bytes
 *   load(x, ...)   the Total of one element, an A. A coefficient follows, the other inputs, and the params, each an A,
 *                  as many as there are; on the host they lie one after another, where a coefficient does
 *   combine(l, r)  the Total of two blocks, l before r. It must be associative, but for rounding, and need not commute
 *   store(t)       the A that users see of a prefix, t
 *   neutral()      the Total of no elements: combined with any t, from the left or the right, it is t, bit for bit
 *
 * and, where the default will not do:
 *
 *   identity()     what P(0) is made of, and what an element counts as that a mask takes away; default neutral()
 *   begin(y)       the Total that a fold from an initial value starts with; default load(y); needed where there is a
 *                  coefficient, or inputs=, or params=
 *   second(t, x, ...)  needed with outputs=2: the A that users see in the second output, of a prefix t and of what load
 *                  has of that prefix's own element. x is the element itself where a mask takes it away
 *                  (ROWSCAN_MASK_SELECT) or where it is an omitted NaN, and the product with ROWSCAN_MASK_MULTIPLY
 *   commutative    static constexpr bool: whether combine(l, r) is combine(r, l), which saves time; default false
 *
 * The text may use u32, i32, u64, i64, f32, f64 and fused(a, b, c), an fma of one rounding, where a * b + c has two. In
 * the compiler's messages it is a file of its name, with its own lines. Kernels in the cache and in packs belong to
 * this very text: a change of it makes new ones. It stands alone and reads no files: #include, #import, #embed,
 * __has_include, __has_embed, parts that make up one of these, and a comment between # and a directive's name are
 * BAD_ARGUMENT, wherever they stand, in comments and strings too.
 *
 * All layouts, flags, masks and types serve, by the rules of ROWSCAN_SUM; segments where a total and what tells them
 * have no more than 16 bytes. Totals cannot be taken up again: there is no rowscan_carry, and rowscan_scan_host on a
 * GPU has no rows that are cut. Those with inputs=, params= or outputs= are as ROWSCAN_GAE is: see Further arrays.
 *
 * Without host functions for the accumulator's type, what takes the host engine is UNSUPPORTED.
 *
 * Errors: BAD_ARGUMENT, which names what is wrong with the first line, what would read a file, or the operator that has
 * the name but another text; UNSUPPORTED (the process has 64 operators); OUT_OF_MEMORY. What is wrong with the struct
 * shows when it is compiled: COMPILE_FAILED. May be called by any thread.
 */
ROWSCAN_API rowscan_status rowscan_op_create(rowscan_op *op, const rowscan_operator *given) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* What a run on a GPU does whose kernel is not compiled yet; see rowscan_open. */
typedef enum rowscan_compile {
  ROWSCAN_COMPILE_DEFAULT = 0,
  ROWSCAN_COMPILE_NOW,        /* it waits for it */
  ROWSCAN_COMPILE_BACKGROUND, /* another kernel serves, and a thread compiles what comes back */
  ROWSCAN_COMPILE_NEVER       /* another kernel serves, for good */
} rowscan_compile;

typedef enum rowscan_log_level { ROWSCAN_LOG_WARNING = 0, ROWSCAN_LOG_INFO, ROWSCAN_LOG_DEBUG } rowscan_log_level;

typedef struct rowscan_options {
  size_t size;
  rowscan_engine engine;
  int device;              /* ordinal of the GPU; default 0 */
  int threads;             /* number of threads of a scan on the host, the caller's included; the others start with the
                              first scan that has work for them; default: one for each processor that this process may
                              use, and no more than the quotas of its control groups allow */
  const char *nvrtc;       /* file name of the NVRTC library; default: $ROWSCAN_NVRTC, else the places that rowscan(1)
                              lists under ENVIRONMENT */
  const char *cache_dir;   /* directory of the cache; default: $ROWSCAN_CACHE_DIR, else $XDG_CACHE_HOME/rowscan, else
                              ~/.cache/rowscan. If the directory that this field or that variable names is unusable,
                              nothing is kept on disk, and the log and rowscan_cache_info_get say why. The host engine
                              opens or makes it, and reports problems, when it is first asked for kernels or for the
                              cache */
  int cache_off;           /* not 0: keep nothing on disk. Packs are read all the same. $ROWSCAN_CACHE=off sets it */
  int cache_only;          /* not 0: never compile, so that a miss is NOT_CACHED, unless a kernel for any length is
                              there. Needs no directory: a missing one is not reported as a warning.
                              $ROWSCAN_CACHE=only sets it, and $ROWSCAN_CACHE=off,only sets both */
  const char *cache_packs; /* packs that are read besides the cache: files, and directories of *.pack, separated by
                              colons; default: $ROWSCAN_CACHE_PACKS. The packs that came with the library follow: those
                              in the directory rowscan-packs beside the library's file, else in ../share/rowscan or
                              ../../share/rowscan from there, else in $(pkgdatadir). "off" means no packs at all.
                              rowscan_cache_import lists whose files are trusted; a pack that is not used is named,
                              with the reason, in the log and in the message of NOT_CACHED */
  int64_t cache_limit;     /* bytes that the cache may hold on disk; default 256 MB */
  size_t staging_bytes;    /* GPU memory that rowscan_scan_host uses for pieces; default: a quarter of what is free,
                              or with `allocate` 96 MB */
  void *user;              /* passed to the callbacks */
  void (*log)(void *user, rowscan_log_level level, const char *message); /* may be called by any thread; default: the
                            levels that $ROWSCAN_LOG names (warning, info or debug; any other word is reported and means
                            warning) go to standard error; nothing without that variable. debug reports each decision
                            about a kernel with the time that it took */
  void (*progress)(void *user, int64_t done_bytes, int64_t total_bytes); /* of rowscan_scan_host; default none */
  struct CUctx_st *cuda_context; /* CUDA context to work in, which also determines the GPU; it must outlive the rowscan
                                    context. Default: the primary context of `device` */
  void *(*allocate)(void *user, size_t bytes, struct CUstream_st *stream); /* allocates scratch memory on the GPU, and
                            `release` frees it; set both or neither; see rowscan_open. Default: cuMemAlloc, cuMemFree */
  void (*release)(void *user, void *memory, size_t bytes, struct CUstream_st *stream);
  void (*parallel_for)(void *user, int64_t count, void (*body)(void *data, int64_t index), void *data); /* calls
                            body(data, 0) to body(data, count - 1), each once, in any order and in any threads, and
                            returns when all have returned; see rowscan_open. Default: the context's own threads */
  rowscan_compile compile; /* default: $ROWSCAN_COMPILE (now, background or never), else BACKGROUND */
} rowscan_options;

#define ROWSCAN_OPTIONS(...) ROWSCAN_STRUCT(rowscan_options, __VA_ARGS__)

/*
 * Opens a context. On a GPU it retains the device's primary context, which the CUDA runtime and frameworks use too, and
 * looks for NVRTC without loading it; that there is none becomes an error when it is needed.
 *
 * ENGINE_AUTO chooses what can serve, unless a `cuda_context` is given. IF THE ARRAYS LIE IN DEVICE MEMORY, ASK FOR
 * ENGINE_CUDA, whose error comes when the context is opened: on the host a stream, and memory of a GPU where a driver
 * has started that knows it, are BAD_ARGUMENT in the calls that scan. Without a driver or a GPU it is the host, and
 * the log says so at level info. With a GPU that cannot serve it is the host too, and the log has one warning with the
 * reason, which rowscan_context_info_get gives as well: the GPU is older than sm_75; it is in exclusive use of another
 * process, or gives no context for another reason; there is no NVRTC, and no kernel for the GPU in the cache or in
 * packs; the driver does not start or is too old. ENGINE_CUDA returns the error instead, that of a missing NVRTC when
 * it is needed. A GPU that is newer than the NVRTC at hand is served under both: by kernels of a newer NVRTC in the
 * cache or in a pack, else by PTX of the newest architecture that NVRTC knows, which the driver compiles when it loads
 * it.
 *
 * A `cuda_context` is neither retained nor released. It may come from cuCtxCreate, or be that of a green context
 * (cuCtxFromGreenCtx): rows are then cut for the multiprocessors of the green context, which no two threads may use at
 * the same time, as the driver demands. The memory and the streams of all runs must belong to that context.
 *
 * `allocate` returns memory aligned to 256 bytes, or NULL for OUT_OF_MEMORY. Any thread that prepares or runs may call
 * it, with the context current, also while streams are captured: it must leave those alone; the calling thread's
 * capture mode is relaxed. `stream` is always one of the context's own, which is never captured. The memory need be
 * free for later work on that stream only: rowscan clears it there, waits for that, and uses it on other streams
 * afterwards. `release` gets the same bytes and the same stream, when no pending work uses the memory. So pools that
 * order by stream (PyTorch's, RMM's, cuMemAllocAsync) serve as well as others.
 *
 * `parallel_for` runs the host engine and the copies of rowscan_scan_host, with a count of at most `threads`; compiling
 * uses threads of its own. The parts may run one after another. Parts that run at the same time may wait for a part
 * that has begun before them: a part that has begun must not be suspended until others end.
 *
 * `compile`. Each length has kernels of its own, which take NVRTC some 100 to 600 ms once, and are kept in the cache.
 * With COMPILE_BACKGROUND a run whose kernel is not there is served by a kernel for any length (see
 * ROWSCAN_ANY_LENGTH), with the same bits: that of common scans comes with the library where it was built so, others
 * are compiled once for each operator, types and variant. What has been served so eight times is compiled by a thread
 * of low priority, and used from then on; a graph that was captured before stays as it is. COMPILE_NEVER is the same
 * without the thread. With COMPILE_NOW a run waits for its own kernel. rowscan_plan_prepare waits
 * for a plan's own kernels whatever the option is. Closing a context, and the end of the process, wait for a kernel
 * that the thread is compiling; fork() does not.
 *
 * options may be NULL. Errors: BAD_ARGUMENT; NO_DEVICE (no GPU has that ordinal; with ENGINE_AUTO only if others
 * exist); OUT_OF_MEMORY; with ENGINE_CUDA NO_DRIVER, CUDA_FAILED and UNSUPPORTED (a GPU older than sm_75).
 */
ROWSCAN_API rowscan_status rowscan_open(rowscan_context **context, const rowscan_options *options) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/*
 * Closes a context; NULL is ignored. Destroy its plans before. On a GPU it waits for all work that is queued in the
 * device's primary context, since scans may be among it, and then unloads their kernels.
 *
 * The shared library is never unloaded (it is linked with -z nodelete), since threads of its own may be running in it:
 * contexts stay valid after dlclose, and dlopen returns the same library again.
 */
ROWSCAN_API void rowscan_close(rowscan_context *context);

/*
 * Changes the option `threads`; 0 restores its default. Calls in progress keep the threads that they have. Surplus
 * threads end when they are idle. Errors: BAD_ARGUMENT.
 */
ROWSCAN_API rowscan_status rowscan_set_threads(rowscan_context *context, int threads) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/* The engine that the context uses: CUDA or HOST. */
ROWSCAN_API rowscan_engine rowscan_context_engine(const rowscan_context *context) ROWSCAN_NONNULL(1);

/* What a context uses. */
typedef struct rowscan_context_info {
  size_t size;
  rowscan_engine engine;      /* CUDA or HOST */
  int device;                 /* ordinal of the GPU; -1 on the host */
  char arch[16];              /* of the GPU, "sm_90"; "" on the host */
  int threads;                /* of the host engine, which also checks and copies arrays for a GPU */
  const char *why;            /* why ENGINE_AUTO chose the host, else ""; valid as long as the context */
  int64_t any_length_runs;    /* runs whose own kernel was not made yet (option compile) */
  int64_t background_kernels; /* that the thread has made, */
  int64_t background_failed;  /* and that it could not make, of which the log tells */
  double background_ms;       /* that both took, and nobody waited for */
} rowscan_context_info;

/* Fills info, whose .size is set. Errors: BAD_ARGUMENT. */
ROWSCAN_API rowscan_status rowscan_context_info_get(const rowscan_context *context,
                                                    rowscan_context_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* ---- specs and plans --------------------------------------------------------------------------------------------- */

/*
 * In place of a length: a plan serves rows of any length, which each run tells (rowscan_args). Its kernels are compiled
 * once, whatever lengths come; those of a plan for one length are as fast or faster.
 */
#define ROWSCAN_ANY_LENGTH (-1)

typedef struct rowscan_spec {
  size_t size;
  rowscan_op op;
  rowscan_type in_type;  /* default f32 */
  rowscan_type out_type; /* default: the input's if floating or for MAX, MIN; else u64 for unsigned, i64 for others; i64
                            for ARGMAX, ARGMIN */
  rowscan_type acc_type; /* accumulator; default: see rowscan_spec_complete */
  rowscan_type mask_type;      /* bool, u8 or the input's type; default bool, of a coefficient the input's type;
                                  keys: any integer or bool; default i32 */
  rowscan_mask_mode mask_mode; /* default: no mask; of LINEAR_RECURRENCE: COEFFICIENT, else SELECT */
  unsigned flags;              /* ROWSCAN_EXCLUSIVE, ROWSCAN_REVERSE, ... */
  int64_t length;              /* elements of a row, 0 to 2^56, or ROWSCAN_ANY_LENGTH */
  rowscan_layout layout;
  int row_rank;               /* number of row dimensions, 1 to 63; default 1 for LAYOUT_ROWS, 2 for COLUMNS */
  rowscan_regime regime;      /* forces one; default: chosen from the spec and, for each run, from the number of rows */
  rowscan_type more_types[4]; /* of further inputs, or of coefficients beside a mask: each bool, u8 or the input's type;
                                 default the input's type */
  rowscan_type second_type;   /* of the second output: the input's or the output's; default: it is not written */
  rowscan_mask_mode segment_mode; /* HEADS, TAILS or KEYS: of segments beside a mask or coefficients; default none */
  rowscan_type segment_type;      /* as mask_type is for that mode */
} rowscan_spec;

#define ROWSCAN_SPEC(...) ROWSCAN_STRUCT(rowscan_spec, __VA_ARGS__)

/*
 * Checks a spec and replaces each default by its value; `.size` stays as it is.
 *
 * The accumulator of a floating output is f32 for f16, bf16, f32, bool and integers of 8 and 16 bits, and f64 for f64
 * and integers of 32 and 64 bits (where every element but those of i64 and u64 is exact); f64 may be asked for instead
 * of f32, and for sums of floating elements ROWSCAN_FIXED(k). The accumulator of an integer output is the output type,
 * and wraps. Results are rounded once, from the accumulator to the output type. Of LINEAR_RECURRENCE a floating
 * accumulator is f64, unless f32 is asked for where f32 would be the default. A floating input has a floating output,
 * and no output is bool, but for MAX, MIN, AND, OR and XOR of bool; their integer outputs have every value of the input
 * type. The output of ARGMAX and ARGMIN is i64 or i32, and their totals likewise. LOGSUMEXP, EXTENDED_PROD and GAE are
 * of floating inputs, and GAE accumulates as LINEAR_RECURRENCE does.
 *
 * Errors: BAD_ARGUMENT, UNSUPPORTED.
 */
ROWSCAN_API rowscan_status rowscan_spec_complete(rowscan_spec *spec) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/*
 * rowscan_spec_text writes a spec as text, and rowscan_spec_parse reads it: field=value pairs separated by blanks or
 * line ends, as they begin the key of a cache entry. The text is "op=sum in=f32 out=f32 acc=f32 mask=none reverse=0
 * exclusive=0 length=1000 layout=rows row_rank=1", with mask_type after a mask, and with regime at the end if one is
 * forced. A text that is read may have its fields in any order, and may leave out all but length, for their defaults;
 * the spec, whose .size is set before, is then complete. Free a written text with rowscan_free. Errors: BAD_ARGUMENT,
 * UNSUPPORTED; they name the field and the value.
 */
ROWSCAN_API rowscan_status rowscan_spec_text(const rowscan_spec *spec, char **text) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_spec_parse(rowscan_spec *spec, const char *text) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Makes a plan of a spec. On a GPU a plan has a kernel for each kind of rows: elements adjacent and aligned to 16
 * bytes, adjacent and unaligned, at any strides, and few rows. Each kernel is a module of its own that is made ready
 * when it is first needed: read from the cache or compiled, and loaded. This call makes one ready, the kernel of many
 * rows or columns whose elements are adjacent and aligned, which most runs need, or one for any length that serves in
 * its place (option `compile`). With cache_only nothing is compiled: where both are missing that is NOT_CACHED, and the
 * message names the spec and the architecture. (The build-id of the NVRTC that is found is part of a kernel's key, in
 * the cache and in packs. A kernel of a pack serves whichever NVRTC made it, and so does any where there is no NVRTC,
 * or it must not be used.)
 *
 * Errors: BAD_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, NO_COMPILER, COMPILE_FAILED, NOT_CACHED, CUDA_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_plan_create(rowscan_plan **plan, rowscan_context *context,
                                               const rowscan_spec *spec) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3);

/*
 * Makes a plan, with all its kernels, for an architecture ("sm_90") that need not be present: the plan can be examined
 * but not run. Needs no GPU and no driver. Errors: those of rowscan_plan_create.
 */
ROWSCAN_API rowscan_status rowscan_plan_compile(rowscan_plan **plan, rowscan_context *context, const rowscan_spec *spec,
                                                const char *arch) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

/* Destroys a plan and unloads its kernels; its runs on the GPU must have finished. NULL is ignored. */
ROWSCAN_API void rowscan_plan_destroy(rowscan_plan *plan);

/*
 * The arrays of a run. Pointers are device pointers on a GPU and host pointers on the host, aligned to their element.
 * Strides are in elements, in the order [row dimensions..., scanned dimension]; they may have any sign, and 0 repeats
 * an element of what is read. NULL strides mean dense in C order, with the scanned dimension last (LAYOUT_ROWS) or last
 * but one (COLUMNS). init and totals have one element of the accumulator type per row (i64 for ROWSCAN_FIXED), and each
 * its own strides.
 *
 * Overlaps. `output` may be the same array as `input`, with equal strides and element size. Otherwise no element of
 * output, totals or workspace may share a byte with another array or with another element of its own array: such a run
 * is BAD_ARGUMENT, names both arrays, and writes nothing. Elements decide, not address ranges: arrays that interleave
 * in one allocation (even and odd elements, halves of each line) are accepted. The search is exact and bounded: if
 * unrelated strides of many dimensions leave it open after 2000 steps (0.2 ms), the run is accepted, and elements that
 * overlap have wrong values. The caller must not let two runs at a time write what the other one reads or writes.
 */
typedef struct rowscan_args {
  size_t size;
  const void *input;
  void *output;
  union {
    const void *mask;        /* required if the spec has a mask mode, else NULL */
    const void *coefficient; /* of LINEAR_RECURRENCE, in its place: required, unless there is a mask (SELECT) */
  };
  const void *init;              /* initial value of each row, in the accumulator type; default none */
  void *totals;                  /* total of each row, in the accumulator type, unrounded; default: not written */
  int64_t rows;                  /* number of rows; with row_shape: 0, or the product of row_shape */
  const int64_t *row_shape;      /* [row_rank]; may be NULL if row_rank is 1 */
  const int64_t *input_strides;  /* [row_rank + 1] */
  const int64_t *output_strides; /* [row_rank + 1] */
  union {
    const int64_t *mask_strides;        /* [row_rank + 1] */
    const int64_t *coefficient_strides; /* likewise; 0 in the last place: one for a row */
  };
  const int64_t *init_strides;   /* [row_rank]; default dense, rows in C order */
  const int64_t *totals_strides; /* [row_rank], likewise */
  void *workspace; /* device memory for this run alone, aligned to 8; default: one of the plan's, see below */
  size_t workspace_bytes;
  int64_t length;                 /* elements of a row, of a plan for ROWSCAN_ANY_LENGTH; else 0 or the plan's */
  const void *more[4];            /* the operator's further inputs, or beside a mask its coefficients: required */
  void *second;                   /* required if the spec has a second_type */
  const void *segments;           /* required if it has a segment_mode */
  const int64_t *more_strides[4]; /* [row_rank + 1]; all 0: one number for all */
  const int64_t *second_strides;
  const int64_t *segment_strides;
  double params[4]; /* of an operator that has such numbers */
} rowscan_args;

#define ROWSCAN_ARGS(...) ROWSCAN_STRUCT(rowscan_args, __VA_ARGS__)

/*
 * Makes ready the kernel and the scratch memory that runs with such args need, and queues no scan. No element is read
 * or written: the pointers need only be as far from a multiple of 32 bytes as those of the runs. The scratch memory is
 * for the next stream that runs the plan. With args NULL all kernels are made ready, and all scratch memory that may be
 * needed, six times what the plan's info says, so that no later run compiles, loads or allocates anything unless it is
 * captured; of a plan for any length, which may need hundreds of MB for the longest rows, the kernels alone. May be
 * called by several threads, and under stream capture. On the host it does nothing. Errors: those of
 * rowscan_plan_create; BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile).
 */
ROWSCAN_API rowscan_status rowscan_plan_prepare(rowscan_plan *plan, const rowscan_args *args) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1);

/*
 * Runs a plan. On a GPU it queues the scan on `stream` (NULL: the default stream) and returns; on the host, where
 * `stream` must be NULL, it returns when the scan is done. The first run that needs a kernel or scratch memory that is
 * not ready makes it ready, or a kernel for any length (option `compile`), which takes the time of reading or
 * compiling, loading and allocating; the driver may delay these until running kernels are done (see
 * rowscan_plan_prepare). Otherwise a run never compiles, allocates or synchronises. May be called under stream capture.
 *
 * Launches. From sm_90 and CUDA 12.3 on a scan is a programmatic dependent launch: its blocks may start while the
 * kernel before it in the stream ends. They wait for that kernel before they read or write anything, though they may
 * ask the L2 cache for input. A captured graph has a programmatic edge there. With $ROWSCAN_PDL=off, read when a
 * context is opened, launches and edges are plain ones.
 *
 * Workspace. A run whose rows are cut over blocks of threads needs scratch memory, at most workspace_bytes of the
 * plan's info. The first such run of a stream allocates it, as a power of two; a run that needs more than any run
 * before allocates more besides. Each run leaves it ready for the next one, so that a run is one launch (more launches
 * where adjacent rows exceed 2 GB, or columns need more scratch memory than that bound). The first two streams that run
 * the plan many times keep their scratch memory as long as the plan lives; all other streams share four, and wait for
 * one another on the GPU if they are more.
 *
 * A run under capture takes scratch memory for its graph, and shares it with
 * later runs on the same stream in the same capture: two executables made from one graph must not run at the same time.
 * It is used again when the graph, all that was made from it and their launches are gone (before CUDA 11.3: when the
 * plan is destroyed). At most 512 streams of graphs have some at a time, up to eight times workspace_bytes together. A
 * graph may outlive the plan, but must not be launched then.
 *
 * A stream may be destroyed while runs are pending, but not
 * before a capture that it takes part in ends. A driver older than CUDA 12.0 cannot tell a new stream from a destroyed
 * one: there all streams share the four.
 *
 * A run with a workspace of its own (args), of workspace_bytes with any content, needs none of that, but queues a
 * clearing of it before each launch.
 *
 * Errors: BAD_ARGUMENT; UNSUPPORTED (a plan of rowscan_plan_compile); OUT_OF_MEMORY (captured graphs hold all scratch
 * memory that they may have); CUDA_FAILED; those of rowscan_plan_prepare. After these nothing is queued, and the next
 * run tries again.
 */
ROWSCAN_API rowscan_status rowscan_plan_run(rowscan_plan *plan, const rowscan_args *args,
                                            struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/* The modules of a plan. On a GPU each has one kernel; the first is the one that rowscan_plan_create makes ready. */
typedef struct rowscan_plan_info {
  size_t size;
  int modules;            /* 0 on the host */
  size_t workspace_bytes; /* see rowscan_plan_run */
} rowscan_plan_info;

typedef struct rowscan_module_info {
  size_t size;
  const char *kernel;    /* which of the plan's kernels, named by the rows that it takes: "aligned" */
  rowscan_regime regime; /* of the kernel; a plan may have row and long, and each run chooses by its number of rows */
  char arch[16];         /* "sm_90" */
  int threads;           /* per block */
  int registers;         /* per thread */
  int shared_bytes;      /* static shared memory per block */
  int local_bytes;       /* local memory per thread */
  int spill_bytes;       /* of registers spilled to local memory, stores and loads */
  size_t ptx_bytes;
  size_t cubin_bytes;
  double build_ms;      /* time to read the kernel from the cache or to compile it */
  int cached;           /* not 0: read from the cache */
  const char *geometry; /* of the tile: "threads=1024 vector=4 chunks=4"; valid as long as the plan */
  const char *source;   /* generated CUDA source */
  const char *ptx;   /* ends in a NUL that ptx_bytes does not count; valid as long as the plan, as cubin is. NULL: the
                        kernel is from a pack without PTX, and nothing can be compiled */
  const void *cubin; /* NULL where NVRTC does not know the architecture and the driver compiles the PTX */
} rowscan_module_info;

#define ROWSCAN_INFO(type) ROWSCAN_QUIET({.size = sizeof(type)})

/*
 * These fill a struct whose .size is set: the completed spec of a plan, its info, and that of one module.
 * rowscan_plan_module makes the module's kernel ready, and reads its PTX, which a plan that can be run does not keep,
 * from the cache or makes it anew. Errors: BAD_ARGUMENT (module is not in 0 .. modules-1); of rowscan_plan_module also
 * those of rowscan_plan_prepare.
 */
ROWSCAN_API rowscan_status rowscan_plan_spec(const rowscan_plan *plan, rowscan_spec *spec) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_plan_info_get(const rowscan_plan *plan, rowscan_plan_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);
ROWSCAN_API rowscan_status rowscan_plan_module(const rowscan_plan *plan, int module,
                                               rowscan_module_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 3);

/*
 * Lists the architectures that the NVRTC at hand knows as ascending numbers (90 for sm_90). *count is the room in archs
 * before the call, and their number after it. Errors: BAD_ARGUMENT (not enough room), NO_COMPILER, OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_archs(rowscan_context *context, int *archs, int *count) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/*
 * Gives the generated source of a spec for an architecture without compiling it; module is as in rowscan_plan_module.
 * Needs no NVRTC. Free the text with rowscan_free. Errors: BAD_ARGUMENT (also if there is no such module), UNSUPPORTED,
 * OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_source(const rowscan_spec *spec, const char *arch, int module,
                                          char **source) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 4);
/* Frees memory that a call returned and whose comment says so; NULL is ignored. */
ROWSCAN_API void rowscan_free(void *memory);

/* ---- one call ---------------------------------------------------------------------------------------------------- */

/* An array that is read, and one that is written; data points to element [0, ..., 0]. */
typedef struct rowscan_input {
  const void *data;
  rowscan_type type;      /* default: as for in_type, out_type and mask_type of rowscan_spec. AN INPUT WITHOUT A TYPE IS
                             F32, WHATEVER IT HAS; where the output's is another floating type, that is BAD_ARGUMENT */
  const int64_t *strides; /* [rank], in elements; NULL: dense in C order */
  const void *reserved[2]; /* must be NULL */
} rowscan_input;

typedef struct rowscan_output {
  void *data;
  rowscan_type type;
  const int64_t *strides;
  const void *reserved[2];
} rowscan_output;

/*
 * A scan along one dimension of tensors of any rank and any strides; no tensor is copied to make it dense. Tensors may
 * overlap as the arrays of rowscan_args may, and overlaps are reported likewise.
 */
typedef struct rowscan_problem {
  size_t size;
  rowscan_op op;
  unsigned flags;
  int rank; /* 1 to 64 */
  int dim;  /* scanned dimension, -rank to rank - 1. LEFT OUT IT IS 0, THE FIRST: rows of a matrix in C order
               are scanned along -1, the last */
  const int64_t *shape; /* [rank], of all tensors; each >= 0; no more than 2^56 elements */
  rowscan_input input;
  rowscan_output output; /* with ROWSCAN_INCLUDE_INITIAL it is one element longer than shape in dimension `dim` */
  union {
    rowscan_input mask;        /* required if mask_mode is set, else .data must be NULL */
    rowscan_input coefficient; /* of LINEAR_RECURRENCE, in its place: required; mask_mode may be left out. With SELECT
                                  there is a mask, and the coefficients are more[0] */
  };
  rowscan_mask_mode mask_mode;
  rowscan_type acc_type;
  rowscan_input init;    /* initial value of each row, in the accumulator type, i64 for ROWSCAN_FIXED; its shape lacks
                            `dim`, for which it has a stride that is not used; default none */
  rowscan_output totals; /* total of each row, unrounded, of the same form, with strides of its own; default: not
                            written */
  void *workspace; /* device memory for this scan alone, as in rowscan_args; rowscan_workspace_bytes says how much */
  size_t workspace_bytes;
  rowscan_input more[4];          /* the operator's further inputs, or beside a mask its coefficients: required */
  rowscan_output second;          /* second output, of `shape` with ROWSCAN_INCLUDE_INITIAL too; default: not written */
  rowscan_input segments;         /* required if segment_mode is set */
  rowscan_mask_mode segment_mode; /* segments beside a mask or coefficients; without these as mask_mode */
  double params[4];               /* of an operator that has such numbers */
} rowscan_problem;

#define ROWSCAN_PROBLEM(...) ROWSCAN_STRUCT(rowscan_problem, __VA_ARGS__)

/*
 * Scans tensors that the context's engine can reach: in device memory on a GPU, where the scan is queued on `stream`;
 * in host memory on the host, which needs no plan, and no stream: there `stream` must be NULL. On a GPU the first call
 * of a kind makes a plan, with the kernels that are needed, and the context keeps it. A context keeps 256 plans. Of
 * these up to 192 that have run 16 times stay; of the others the least recently used is destroyed when a new one is
 * made, which may wait for running kernels; its kernels remain in the cache, if there is one. A plan whose runs are
 * pending is not destroyed, nor is one that ran under capture, since a graph may run it at any time: with these there
 * may be more than 256. Until a plan stays, an event is recorded after each of its runs, and a fifth and later stream
 * that runs it waits for others after its run. A program that needs more lengths at hand should keep plans of its own.
 * Errors: those of rowscan_plan_create and rowscan_plan_run.
 */
ROWSCAN_API rowscan_status rowscan_scan(rowscan_context *context, const rowscan_problem *problem,
                                        struct CUstream_st *stream) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * Gives the bytes of workspace that rowscan_scan needs for such a problem, 0 for none. Nothing is compiled, and no
 * element is read or written; pointers are as for rowscan_plan_prepare. Errors: those of rowscan_scan for what the
 * problem says; OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_workspace_bytes(rowscan_context *context, const rowscan_problem *problem,
                                                   size_t *bytes) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3);

/*
 * Scans tensors in host memory, not in device memory, with either engine, and returns when it is done. On a GPU they
 * travel in pieces through pinned memory, with copies and kernels overlapped; tensors, and single rows, may be larger
 * than the GPU's memory. The bits are the same. The context keeps the streams, the pinned memory and the GPU memory
 * (staging_bytes) of up to four such scans at a time for the next ones, until it is closed. Errors: those of
 * rowscan_plan_create and rowscan_plan_run; UNSUPPORTED (on a GPU, rows that do not fit into a piece, of an operator
 * that a carry does not serve, or with further arrays).
 */
ROWSCAN_API rowscan_status rowscan_scan_host(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Makes ready the plan, the kernel and the scratch memory that rowscan_scan needs for such a problem, and queues no
 * scan, so that the first scan takes no longer than later ones. No element is read or written: the pointers need only
 * be as far from a multiple of 32 bytes as those of the scans. On the host it does nothing. Errors: those of
 * rowscan_scan.
 */
ROWSCAN_API rowscan_status rowscan_prepare(rowscan_context *context, const rowscan_problem *problem) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Gives the complete spec that rowscan_scan makes a plan of for a problem, so that a program can list what it runs
 * (rowscan_spec_text) and have it made ready elsewhere (rowscan_warm, `rowscan warm`). Pointers are as for
 * rowscan_prepare. ROWSCAN_INCLUDE_INITIAL is not part of a spec. Errors: BAD_ARGUMENT, UNSUPPORTED.
 */
ROWSCAN_API rowscan_status rowscan_problem_spec(const rowscan_problem *problem, rowscan_spec *spec) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- chunk by chunk ---------------------------------------------------------------------------------------------- */

/*
 * A carry is one scan whose elements come in chunks: its results are, bit for bit, those of a single call with all of
 * them. (Passing the totals of a call to the next one as its initial values groups the elements differently: the bits
 * are the same for integers, and for other types only up to the third chunk of 2^n elements.)
 *
 * rowscan_carry_scan scans the next chunk of each row, as rowscan_scan does: in memory that the engine can reach, on a
 * GPU queued on `stream` (NULL on the host), in place if wanted. All chunks have the same op, flags, types, mask mode,
 * rank, dim and shape, except shape[dim], which may be 0. The first chunk of a reverse scan holds the last elements.
 * Initial values are those of the first chunk; totals are those of all elements so far. With ROWSCAN_INCLUDE_INITIAL
 * the additional element is the prefix before the chunk.
 *
 * A carry keeps up to two values of the accumulator type per row for each power of two of the number of elements, in
 * the engine's memory; in place it needs as much memory again as a chunk. A chunk is read twice. It is scanned in
 * pieces of powers of two, aligned in the row: one piece if all chunks have the same power of two, else up to 2
 * log2(length), with a few launches each. One thread at a time may call with a carry, on one stream or on streams that
 * wait for one another. The calls cannot be captured. After a call that fails the carry can only be reset or destroyed.
 *
 * rowscan_carry_reset begins another scan, of any form. rowscan_carry_destroy waits for what is queued, and must be
 * called before the context is closed; NULL is ignored. Errors: those of rowscan_scan; BAD_ARGUMENT (a chunk of another
 * form); UNSUPPORTED (under capture; LINEAR_RECURRENCE, LOGSUMEXP, EXTENDED_PROD, ARGMAX, ARGMIN, whose totals are
 * more than a value; further arrays).
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
  int shared_bytes; /* most shared memory per block */
  double peak_gbs;  /* 10^9 bytes per second of device memory, by its clock and width; 0 if unknown */
} rowscan_device_info;

/* Counts the GPUs. Errors: NO_DRIVER, which sets *count to 0; CUDA_FAILED. */
ROWSCAN_API rowscan_status rowscan_device_count(int *count) ROWSCAN_CHECKED ROWSCAN_NONNULL(1);

/* Fills info, whose .size is set. Errors: BAD_ARGUMENT, NO_DRIVER, NO_DEVICE (no GPU has that ordinal), CUDA_FAILED. */
ROWSCAN_API rowscan_status rowscan_device_get(int device, rowscan_device_info *info) ROWSCAN_CHECKED ROWSCAN_NONNULL(2);

/*
 * Gives the ordinal of the GPU whose memory, managed memory included, a pointer points to. It is -1 for host memory,
 * pinned or not, for any other memory that belongs to no GPU, and where there is no driver or no GPU. Errors:
 * CUDA_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_device_of(const void *pointer, int *device) ROWSCAN_CHECKED ROWSCAN_NONNULL(2);

/* ---- ahead of need ----------------------------------------------------------------------------------------------- */

/* The outcome of rowscan_warm for one spec and one architecture. */
typedef struct rowscan_warmed {
  size_t size;
  int64_t spec;          /* its index in the list */
  const char *arch;      /* "sm_90"; this and message are valid until visit returns */
  rowscan_status status; /* OK: all its kernels are in the cache or in packs */
  const char *message;   /* the error message; "" if there is none */
  int modules;           /* number of its kernels, each a cache entry, see rowscan_plan_info; 0 if they were not made */
  int compiled;          /* how many of these were in neither before */
  double ms;
  int64_t done;  /* pairs of spec and architecture so far, this one included */
  int64_t total; /* pairs in all */
} rowscan_warmed;

typedef struct rowscan_warming {
  size_t size;
  const rowscan_spec *specs; /* [spec_count], all with the same .size */
  int64_t spec_count;
  const char *const *archs; /* [arch_count], "sm_90", at most 128; NULL: all that the NVRTC at hand knows */
  int arch_count;
  int threads; /* that compile at the same time; default: the context's `threads` */
  int (*visit)(void *user, const rowscan_warmed *one); /* called for each pair when it is done, from any thread, one
                                                          call at a time; if it returns not 0 no further pair is begun,
                                                          which is no error. Default none */
  void *user;
} rowscan_warming;

#define ROWSCAN_WARMING(...) ROWSCAN_STRUCT(rowscan_warming, __VA_ARGS__)

/*
 * Fills the cache: compiles, on all cores, the kernels of each spec and architecture that neither it nor a pack has.
 * Needs no GPU and no driver. A kernel that fails does not keep the others from being made; the status is that of the
 * first failure. With cache_only nothing is compiled, and the status says whether all kernels are there: a check for
 * the start of a program, which needs neither a directory nor NVRTC. Without a directory to keep kernels in nothing is
 * compiled either. Errors: BAD_ARGUMENT and UNSUPPORTED, before anything is compiled; those of rowscan_plan_compile;
 * CACHE_FAILED (there is no cache on disk, and packs lack a kernel; or what was compiled could not be kept, or the last
 * entries evicted the first: the cache's limit is too small for the list).
 */
ROWSCAN_API rowscan_status rowscan_warm(rowscan_context *context, const rowscan_warming *list) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* ---- the cache on disk ------------------------------------------------------------------------------------------- */

/* Each counts kernels, of which a plan has several; see rowscan_plan_info. */
typedef struct rowscan_cache_counts {
  int64_t hits;      /* found on disk, or just made by another thread, and so not compiled */
  int64_t misses;    /* not found */
  int64_t compiles;  /* compiled after a miss, or after the driver rejected an entry */
  double saved_ms;   /* time that compiling the hits took when it was done; packs do not record it, and count as 0 */
  int64_t evictions; /* entries removed to keep the limit, least recently used first */
  int64_t damaged;   /* times that a damaged entry was found and not used */
  int64_t rejected;  /* entries that the driver did not load, and that were compiled again. If the driver does not load
                        the new one either, plans that need it fail with the driver's message, and the context compiles
                        it no more and counts nothing */
  int64_t reserved[9];
} rowscan_cache_counts;

typedef struct rowscan_cache_info {
  size_t size;
  const char *path; /* of the cache's directory, valid as long as the context; "" if nothing is kept on disk */
  const char *why;  /* why nothing is kept on disk, else "" */
  int packs;        /* number of packs that are read besides */
  int64_t pack_entries;
  int64_t entries; /* readable entries on disk, and their bytes */
  int64_t bytes;
  int64_t limit_bytes;
  rowscan_cache_counts counts; /* of this context */
  rowscan_cache_counts all;    /* of all contexts of all processes that used this directory; another process adds its
                                  counts when it writes an entry or closes its context */
} rowscan_cache_info;

typedef struct rowscan_cache_entry {
  size_t size;
  const char *name; /* file name below the cache's path; an entry of a pack has the name that it would have there */
  const char *key;  /* canonical text, one field=value per line; NULL if the entry is damaged */
  int64_t bytes;
  int64_t used;       /* time of the last use in seconds since 1970; 0 for an entry of a pack */
  const char *damage; /* what is wrong with the entry; NULL if it is sound */
  const char *pack;   /* file of the pack that holds the entry; NULL if it is a file of the cache */
} rowscan_cache_entry;

/*
 * Fills info, whose .size is set. Errors: BAD_ARGUMENT; CACHE_FAILED (the counts or the directories cannot be read, for
 * lack of memory or descriptors, or because the disk fails). It is no error if there is no cache on disk.
 */
ROWSCAN_API rowscan_status rowscan_cache_info_get(rowscan_context *context, rowscan_cache_info *info) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/*
 * Reads and verifies each entry on disk, those of packs excepted, and calls visit with it; stops early if visit returns
 * not 0. Strings are valid until visit returns. Errors: CACHE_FAILED (some of the directory or its entries cannot be
 * read, for lack of memory or descriptors: that is no damage, and visit is called for the others).
 */
ROWSCAN_API rowscan_status rowscan_cache_visit(rowscan_context *context,
                                               int (*visit)(void *user, const rowscan_cache_entry *entry),
                                               void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * Does the same for each entry of the packs that are read besides. A file that is no pack, or is not trusted, has no
 * entries; the log said so when the cache was opened. Errors: CACHE_FAILED, likewise.
 */
ROWSCAN_API rowscan_status rowscan_cache_visit_packs(rowscan_context *context,
                                                     int (*visit)(void *user, const rowscan_cache_entry *entry),
                                                     void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2);

/*
 * A field in which the requested key and that of an entry differ; NULL where one of them lacks it. This struct never
 * grows.
 */
typedef struct rowscan_cache_difference {
  const char *field;
  const char *asked;
  const char *found;
} rowscan_cache_difference;

/* Why a kernel of a spec is, or is not, in the cache. Strings are valid until visit returns. */
typedef struct rowscan_cache_reason {
  size_t size;
  const char *kernel; /* this and regime are as in rowscan_module_info */
  rowscan_regime regime;
  const char *name;   /* file name of its entry below the cache's path, whether it exists or not; "" if the name depends
                         on a compiler that is missing */
  int hit;            /* not 0: a sound entry exists */
  const char *damage; /* what is wrong with the entry that exists; else NULL */
  const char *nearest;  /* of a miss: the entry, in the cache or a pack, whose key differs in the fewest fields; NULL if
                           there is no sound entry */
  int difference_count; /* fields in which the nearest entry differs, those of the spec first. A hit has none, except
                           where an entry of another compiler serves, of a pack or because nothing can be compiled: then
                           the field nvrtc */
  const rowscan_cache_difference *differences;
  const char *pack; /* file of the pack with the hit, the damaged entry or the nearest one; NULL if it is in no pack */
} rowscan_cache_reason;

/*
 * Explains a hit or a miss of a spec for an architecture: calls visit for each of its modules (see rowscan_plan_info)
 * until visit returns not 0. Reads all entries, those of packs included; compiles nothing and counts nothing. Needs no
 * compiler: without one every entry differs in that field. Errors: BAD_ARGUMENT, UNSUPPORTED, CACHE_FAILED,
 * OUT_OF_MEMORY.
 */
ROWSCAN_API rowscan_status rowscan_cache_why(rowscan_context *context, const rowscan_spec *spec, const char *arch,
                                             int (*visit)(void *user, const rowscan_cache_reason *reason),
                                             void *user) ROWSCAN_CHECKED ROWSCAN_NONNULL(1, 2, 3, 4);

typedef struct rowscan_cache_pruned {
  size_t size;
  int64_t removed; /* entries, least recently used first; only if the cache is close to its limit */
  int64_t removed_bytes;
  int64_t swept; /* temporary files that processes left behind when they died, more than an hour ago */
  int64_t swept_bytes;
  int64_t left; /* entries that remain */
  int64_t left_bytes;
} rowscan_cache_pruned;

/*
 * Removes entries and temporary files now, as the cache does by itself from time to time. Fills pruned, whose .size is
 * set. Errors: CACHE_FAILED.
 */
ROWSCAN_API rowscan_status rowscan_cache_prune(rowscan_context *context, rowscan_cache_pruned *pruned) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2);

/* Removes all entries; *removed and *bytes are set even if it fails. Errors: CACHE_FAILED. */
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
  int without_ptx;  /* of an export, not 0: leave out the PTX, half of the bytes, which only GPUs of an
                       architecture that the entry is not for need */
  int reserved;     /* must be 0 */
} rowscan_cache_filter;

#define ROWSCAN_CACHE_FILTER(...) ROWSCAN_STRUCT(rowscan_cache_filter, __VA_ARGS__)

typedef struct rowscan_cache_exported {
  size_t size;
  int64_t entries; /* in the pack */
  int64_t damaged; /* entries that were left out */
  int64_t bytes;   /* of the pack */
} rowscan_cache_exported;

/*
 * Writes a pack: one file with many entries, which other machines can use (cache/README.md has its format). It holds
 * the entries that filter selects, all if it is NULL: those on disk, and those of the packs in use that the disk lacks.
 * With ROWSCAN_CACHE_PACKS=off, or the option, it holds those on disk alone; rowscan_warm must run with the same
 * setting, since it compiles no kernel that a pack has. The same kernels of the same NVRTC make the same bytes on
 * every machine: times are left out. The file appears as a whole or not at all. It may replace a
 * regular file, whose permissions, access control list and, where the process may give files away, owner it keeps.
 * Anything there that is not a regular file, such as /dev/null, is left alone, and so is what lies behind another
 * user's symbolic link in a directory like /tmp. Fills exported, whose .size is set. Errors: BAD_ARGUMENT,
 * OUT_OF_MEMORY, CACHE_FAILED (no entry is selected, or none for one of the filter's architectures, which the message
 * names; there is neither a cache on disk nor a pack; an entry cannot be read, or the file cannot be written); then
 * nothing is left behind.
 */
ROWSCAN_API rowscan_status rowscan_cache_export(rowscan_context *context, const char *file,
                                                const rowscan_cache_filter *filter,
                                                rowscan_cache_exported *exported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 4);

/*
 * Writes a pack into memory, for a process that sends it to others. Free it with rowscan_free. A pack is as large as
 * its entries, and so no larger than the cache's limit and the packs in use; making one, in a file too, takes memory
 * for at most twice its bytes.
 */
ROWSCAN_API rowscan_status rowscan_cache_export_memory(rowscan_context *context, const rowscan_cache_filter *filter,
                                                       void **pack, size_t *bytes,
                                                       rowscan_cache_exported *exported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 3, 4, 5);

typedef struct rowscan_cache_imported {
  size_t size;
  int64_t entries; /* in the pack, the sum of the next four */
  int64_t added;
  int64_t present; /* in the cache before */
  int64_t damaged;
  int64_t failed; /* not kept: the disk is full or cannot be written, the cache's limit is too small for them, or they
                     cannot be read, for lack of memory or because the disk fails */
} rowscan_cache_imported;

/*
 * Puts the entries of a pack that are not in the cache on disk there. The file must belong to this user or to root, and
 * must be writable by no one else, since a kernel is a program. Symbolic links to it are followed, as Kubernetes makes
 * them in volumes, if the links, and all directories from the root to the file, belong to this user or to root, and
 * each of these directories is writable by no one else, has the sticky bit, or is mounted read-only. Fills imported,
 * whose .size is set. Errors: BAD_ARGUMENT, CACHE_FAILED (there is no cache on disk; the file is no pack, is damaged as
 * a whole or is not trusted).
 */
ROWSCAN_API rowscan_status rowscan_cache_import(rowscan_context *context, const char *file,
                                                rowscan_cache_imported *imported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 2, 3);

/* Imports a pack from memory, which may hold any bytes: no pack is an error, and damaged entries are left out. */
ROWSCAN_API rowscan_status rowscan_cache_import_memory(rowscan_context *context, const void *pack, size_t bytes,
                                                       rowscan_cache_imported *imported) ROWSCAN_CHECKED
    ROWSCAN_NONNULL(1, 4);

#ifdef __cplusplus
}
#endif
#endif
