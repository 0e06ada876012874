/*
 * docs.c - the manual of what Python users call in C, for help() and inspect.signature()
 * SPDX-License-Identifier: MIT
 */
#include "docs.h"

/*
 * The manual of one operator: its name, what it makes, its sign, the identity, what it does with two elements, which
 * gradients there are, and the results of the examples.
 */
#define MANUAL(name, Results, sign, identity, combine, gradient, inclusive, reverse, exclusive, totals)                \
  name                                                                                                                 \
      "(x, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False, mask=None, mask_mode=None, "        \
      "heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None, out=None)\n--\n\n" Results    \
      " along one dimension: y[i] = x[0] " sign " x[1] " sign " ... " sign " x[i] in each row.\n"                      \
      "\n"                                                                                                             \
      "A row is the elements of x along that dimension, at one position of all the others.\n"                          \
      "\n"                                                                                                             \
      ">>> import numpy as np, rowscan\n"                                                                              \
      ">>> x = np.array([[1., 2., 3.], [4., 5., 6.]])\n"                                                               \
      ">>> rowscan." name "(x, 1)\n" inclusive ">>> rowscan." name "(x, 1, reverse=True, mask=x != 2)\n" reverse       \
      ">>> y, totals = rowscan." name "(x, 1, exclusive=True, init=10, totals=True)\n"                                 \
      ">>> y\n" exclusive ">>> totals\n" totals "\n"                                                                   \
      "Arguments\n"                                                                                                    \
      "    x          The array to scan, of any shape and strides, read where it lies: a torch tensor, an array of\n"  \
      "               NumPy, CuPy or JAX, or an object with __dlpack__ or __cuda_array_interface__. Its elements\n"    \
      "               are float16, bfloat16, float32, float64, bool, or integers of 8 to 64 bits.\n"                   \
      "    dim, axis  Two names of one integer, the dimension; negative ones count from the last. Without it, torch\n" \
      "               tensors must have one dimension, and other arrays are scanned in C order as one row.\n"          \
      "    reverse    True: scan from the last element to the first, y[i] = x[i] " sign " ... " sign " x[N-1].\n"      \
      "    exclusive  True: leave each element out of its own result, y[i] = x[0] " sign " ... " sign                  \
      " x[i-1], y[0] = " identity ".\n"                                                                                \
      "    omit_nan   True: count elements that are NaN as " identity ". Integers have none.\n"                        \
      "    mask       An array that broadcasts to x's shape, on x's device; what it does is for mask_mode to say.\n"   \
      "    mask_mode  'select': count elements where mask is 0 or False as " identity ", whatever they are, NaN\n"     \
      "               included; the default for masks of bool and integers. 'multiply': scan x * mask, in which\n"     \
      "               NaN * 0 is NaN. A floating mask, which may be one of weights, needs one of these words.\n"       \
      "    heads, tails, keys\n"                                                                                       \
      "               One of them cuts each row into segments, beside a mask too, and the scan begins anew in\n"       \
      "               each: an array that broadcasts to x's shape, on x's device. A segment begins with each\n"        \
      "               element whose flag in heads is not 0; or ends with each whose flag in tails is not 0; or\n"      \
      "               lies where neighbours have equal keys, which are integers or bool. All of this is in\n"          \
      "               memory's order, whatever reverse says. Nothing of a segment, NaN included, is in results\n"      \
      "               of another one. Exclusive results begin each segment with " identity ". init is for the\n"       \
      "               segment that a row starts with, unless a flag says that one begins there; totals are of\n"       \
      "               the last one.\n"                                                                                 \
      "    init       What each row begins with, y[0] = init " sign " x[0]: a number, or an array that broadcasts\n"   \
      "               to x's shape with size 1 in the scanned dimension. It is converted to the accumulator's\n"       \
      "               type.\n"                                                                                         \
      "    totals     True: return a pair, of which the second is each row's init " sign " x[0] " sign " ... " sign    \
      " x[N-1],\n"                                                                                                     \
      "               in x's shape without the scanned dimension and in the accumulator's type.\n"                     \
      "    dtype      The type of the result. Elements are not converted to it first, except floating ones to an\n"    \
      "               integer type. Default: x's own type if that is floating, else int64 in torch, uint64 or\n"       \
      "               int64, by sign, in NumPy and CuPy, and what its own " name " gives in JAX. Under torch's\n"      \
      "               autocast for CUDA, float32 for 16-bit floats on a GPU, as torch's own " name " gives.\n"         \
      "    acc        The type of the accumulator; 'f64' may be asked for where results are floating. Default:\n"      \
      "               float32 for elements and results of 32 bits and less; float64 for float64 and for integers\n"    \
      "               of 32 and 64 bits with a floating result; the result's type if that is an integer, where\n"      \
      "               overflow wraps. Results are rounded once, from the accumulator. 'fixed:K', for sums of\n"        \
      "               floating elements: fixed point, see below.\n"                                                    \
      "    out        An array for the result, of x's shape and on its device; x itself is allowed. JAX has none.\n"   \
      "\n"                                                                                                             \
      "Returns the result, or the pair with totals: out if it was given, else a new array of x's library, shape\n"     \
      "and device, in C order.\n"                                                                                      \
      "\n"                                                                                                             \
      "Errors\n"                                                                                                       \
      "    TypeError      x is no array, or arrays are of a type that is not served or contradict dtype.\n"            \
      "    IndexError     There is no such dimension.\n"                                                               \
      "    ValueError     Shapes do not fit, arrays are on different devices, a word is unknown. Where x's library\n"  \
      "                   has an error of its own, it is that: a RuntimeError for shapes in torch, say.\n"             \
      "    rowscan.Error  What the library refuses or fails at. Each of its subclasses is also Python's own kind:\n"   \
      "                   BadArgument (arrays overlap, say) a ValueError, Unsupported a NotImplementedError,\n"        \
      "                   OutOfMemory a MemoryError, NoDriver and NoCompiler an OSError.\n"                            \
      "\n"                                                                                                             \
      "Bits\n"                                                                                                         \
      "    " combine " in an order that depends on the index alone. A row has the same result in any batch, on\n"      \
      "    any device, in each library and with any number of threads, bit for bit, but for the sign and payload\n"    \
      "    of NaN; exclusive is inclusive shifted by one. The order is a tree, so that results differ from those\n"    \
      "    of a loop by rounding errors, and results of float elements that should rise may step down by one or\n"     \
      "    two units in the last place; sums in a float64 accumulator (acc='f64') were not seen to.\n"                 \
      "    Sums with acc='fixed:K', K from 0 to 62, never do, and no order changes a bit: each element becomes\n"      \
      "    the integer of 64 bits nearest to x * 2**K, and sums of these are exact as long as none reaches 2**63,\n"   \
      "    which is yours to see to. init and totals are these integers then, int64.\n"                                \
      "\n"                                                                                                             \
      "Threads and streams\n"                                                                                          \
      "    Any thread may call; the GIL is released. On the CPU the calling thread and the library's own (see\n"       \
      "    set_threads) work until the result is there. On a GPU the scan is queued on the current stream of x's\n"    \
      "    library, and the call returns; it may be captured in a CUDA graph. A kernel is compiled when first\n"       \
      "    needed, and kept on disk: see prepare and warm.\n"                                                          \
      "\n"                                                                                                             \
      "Gradients, in torch and JAX\n" gradient

const char rp_cumsum_doc[] =
    MANUAL("cumsum", "Cumulative sums", "+", "0", "Elements are added",
           "    Of x and init, of a floating mask with mask_mode='multiply', and through totals; 0 where omit_nan\n"
           "    leaves x out. None with out.\n",
           "array([[ 1.,  3.,  6.],\n"
           "       [ 4.,  9., 15.]])\n",
           "array([[ 4.,  3.,  3.],\n"
           "       [15., 11.,  6.]])\n",
           "array([[10., 11., 13.],\n"
           "       [10., 14., 19.]])\n",
           "array([16., 25.])\n");

const char rp_cumprod_doc[] = MANUAL(
    "cumprod", "Cumulative products", "*", "1", "Elements are multiplied",
    "    Of x and init, of a floating mask with mask_mode='multiply', and through totals, whatever is 0: in torch a\n"
    "    recurrence from the other end, without a division. With omit_nan, and with heads, tails or keys beside a\n"
    "    mask that multiplies, Unsupported is raised. None with out.\n",
    "array([[  1.,   2.,   6.],\n"
    "       [  4.,  20., 120.]])\n",
    "array([[  3.,   3.,   3.],\n"
    "       [120.,  30.,   6.]])\n",
    "array([[ 10.,  10.,  20.],\n"
    "       [ 10.,  40., 200.]])\n",
    "array([  60., 1200.])\n");

/* Of a maximum or minimum: its name, what it makes, its function, the identity, and the results of the examples. */
#define MANUAL_OF_ORDER(name, Results, function, identity, inclusive, exclusive, totals)                               \
  name "(x, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False, mask=None, mask_mode=None, "       \
       "heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None, out=None, "                  \
       "indices=False, ties='last')\n--\n\n" Results " along one dimension: y[i] = " function                          \
       "(x[0], ..., x[i]) in each row.\n"                                                                              \
       "\n"                                                                                                            \
       "A NaN wins over every number, and -0.0 is less than 0.0.\n"                                                    \
       "\n"                                                                                                            \
       ">>> import numpy as np, rowscan\n"                                                                             \
       ">>> x = np.array([[2., 1., 3.], [6., 4., 5.]])\n"                                                              \
       ">>> rowscan." name "(x, 1)\n" inclusive ">>> y, totals = rowscan." name                                        \
       "(x, 1, exclusive=True, totals=True)\n"                                                                         \
       ">>> y\n" exclusive ">>> totals\n" totals "\n"                                                                  \
       "Arguments\n"                                                                                                   \
       "    x, dim, axis, reverse, mask, heads, tails, keys, init, totals, acc, out\n"                                 \
       "               Those of cumsum.\n"                                                                             \
       "    exclusive  True: leave each element out of its own result; y[0] = " identity " of the\n"                   \
       "               accumulator's type, an infinity where it has one.\n"                                            \
       "    omit_nan   True: leave out elements that are NaN.\n"                                                       \
       "    mask_mode  'select' alone, the word that a floating mask needs: leave out elements where mask is 0 or\n"   \
       "               False.\n"                                                                                       \
       "    dtype      The type of the result: one that has all values of x's, or any floating type of floating\n"     \
       "               elements. Default: x's own.\n"                                                                  \
       "    indices    True: return a pair, of values and of where in the row each is, and -1 where there is none.\n"  \
       "               int64 (in JAX without 64 bits int32); a second scan, of scan()'s 'arg" function "'. There is\n" \
       "               none with init, totals and out.\n"                                                              \
       "    ties       'last': indices are those of the last of equal elements that was scanned. 'first': of the\n"    \
       "               first. It is for indices alone, and changes no gradient.\n"                                     \
       "\n"                                                                                                            \
       "Returns and errors are those of cumsum. Results are exact, whatever the order, and the same everywhere.\n"     \
       "\n"                                                                                                            \
       "Gradients, in torch and JAX\n"                                                                                 \
       "    Of x, and through totals: an element has those of the results that it is, of equal ones the last that\n"   \
       "    was scanned, as with indices. Unsupported is raised where one is wanted with init, or with heads, tails\n" \
       "    or keys of elements of 64 bits. None with out.\n"

const char rp_cummax_doc[] = MANUAL_OF_ORDER("cummax", "Cumulative maxima", "max", "the lowest value",
                                             "array([[2., 2., 3.],\n"
                                             "       [6., 6., 6.]])\n",
                                             "array([[-inf,   2.,   2.],\n"
                                             "       [-inf,   6.,   6.]])\n",
                                             "array([3., 6.])\n");

const char rp_cummin_doc[] = MANUAL_OF_ORDER("cummin", "Cumulative minima", "min", "the highest value",
                                             "array([[2., 1., 1.],\n"
                                             "       [6., 4., 4.]])\n",
                                             "array([[inf,  2.,  1.],\n"
                                             "       [inf,  6.,  4.]])\n",
                                             "array([1., 4.])\n");

const char rp_logcumsumexp_doc[] =
    "logcumsumexp(x, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False, mask=None, "
    "mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None, "
    "out=None)\n--\n\n"
    "Logarithms of cumulative sums of exponentials along one dimension: y[i] = log(exp(x[0]) + ... + exp(x[i])).\n"
    "\n"
    "Nothing overflows or vanishes on the way. y[i] is -inf where all elements are, and inf where one is.\n"
    "\n"
    ">>> import numpy as np, rowscan\n"
    ">>> x = np.array([[1000., 1000., 1000.], [-np.inf, 0., -1000.]])\n"
    ">>> rowscan.logcumsumexp(x, 1).round(3)\n"
    "array([[1000.   , 1000.693, 1001.099],\n"
    "       [    -inf,    0.   ,    0.   ]])\n"
    ">>> y, totals = rowscan.logcumsumexp(x, 1, exclusive=True, init=1000, totals=True)\n"
    ">>> totals.round(3)\n"
    "array([1001.386, 1000.   ])\n"
    "\n"
    "Arguments\n"
    "    x          Those of cumsum, with floating elements.\n"
    "    exclusive  True: leave each element out of its own result; y[0] = -inf, or init.\n"
    "    omit_nan   True: count elements that are NaN as -inf.\n"
    "    mask_mode  'select' alone, the word that a floating mask needs: elements where mask is 0 or False count as\n"
    "               -inf.\n"
    "    init       What each row begins with, a logarithm as x's elements are.\n"
    "    dtype      The type of the result, a floating one. Default: x's own.\n"
    "    acc        The type of the accumulator, 'f64' by choice. Default: float64 if x or the result is float64,\n"
    "               else float32.\n"
    "    dim, axis, reverse, mask, heads, tails, keys, totals, out\n"
    "               Those of cumsum.\n"
    "\n"
    "Returns and errors are those of cumsum. Results have the same bits everywhere; the first is the first element.\n"
    "\n"
    "Gradients, in torch and JAX\n"
    "    Of x and init, and through totals: a recurrence from the other end, in the same segments, of factors from 0\n"
    "    to 1, so that nothing cancels. They are 0 where a result is -inf. None with out and omit_nan.\n";

const char rp_linear_recurrence_doc[] =
    "linear_recurrence(x, coefficient, dim=None, *, axis=None, reverse=False, exclusive=False, omit_nan=False, "
    "mask=None, mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None, "
    "out=None)\n--\n\n"
    "Linear recurrences along one dimension: y[i] = coefficient[i] * y[i-1] + x[i] in each row, from y[-1] = 0.\n"
    "\n"
    ">>> import numpy as np, rowscan\n"
    ">>> x = np.array([[1., 2., 3.], [4., 5., 6.]])\n"
    ">>> rowscan.linear_recurrence(x, 0.5, 1)\n"
    "array([[1.  , 2.5 , 4.25],\n"
    "       [4.  , 7.  , 9.5 ]])\n"
    ">>> rowscan.linear_recurrence(x, np.array([[1.], [0.]]), 1, reverse=True)  # one coefficient a row\n"
    "array([[6., 5., 3.],\n"
    "       [4., 5., 6.]])\n"
    ">>> y, totals = rowscan.linear_recurrence(x, np.array([1, 2, 3]), 1, exclusive=True, init=10, totals=True)\n"
    ">>> y\n"
    "array([[10., 11., 24.],\n"
    "       [10., 14., 33.]])\n"
    ">>> totals\n"
    "array([ 75., 105.])\n"
    "\n"
    "Arguments\n"
    "    coefficient\n"
    "               What the result before an element is multiplied by, before the element is added: a number, or an\n"
    "               array that broadcasts to x's shape, on x's device. Of bool, uint8 or x's type it is read where it\n"
    "               lies; else x and coefficient are converted to the type of their product. Beside elements of 16\n"
    "               bits a number counts as float32 has it, and they are converted to that if need be.\n"
    "    mask       Where it is 0 or False y[i] = y[i-1], whatever x and coefficient are there, a NaN too: what\n"
    "               broadcasts to x's shape. mask_mode is 'select', which a floating mask needs; 'multiply' has no\n"
    "               meaning here.\n"
    "    heads, tails, keys\n"
    "               Those of cumsum: where a segment begins, what came before is dropped, a NaN too, whatever the\n"
    "               coefficient there is.\n"
    "    reverse    True: go from the last element to the first, y[i] = coefficient[i] * y[i+1] + x[i].\n"
    "    exclusive  True: give what there is before each element, y[i-1].\n"
    "    omit_nan   True: where an element is NaN, y[i] = y[i-1], whatever its coefficient is.\n"
    "    init       y[-1], instead of 0: a number, or an array that broadcasts to x's shape with size 1 in the\n"
    "               scanned dimension. It is converted to the accumulator's type.\n"
    "    totals     True: return a pair, of which the second is each row's last y, in x's shape without the scanned\n"
    "               dimension and in the accumulator's type.\n"
    "    acc        The type of the accumulator. Default: float64 where results are floating, for errors grow with\n"
    "               coefficients, and products of many may overflow; else the result's type, in which integers\n"
    "               wrap. 'f32' may be asked for where a sum has it by default.\n"
    "    x, dim, axis, dtype, out\n"
    "               Those of cumsum; the default type of results is that of sums of x, as it was converted.\n"
    "\n"
    "Returns and errors are those of cumsum. Results have the same bits everywhere. Products of coefficients are\n"
    "made on the way: where those of a part of a row overflow, results may be infinite or NaN though a loop's are\n"
    "not.\n"
    "\n"
    "Gradients, in torch and JAX\n"
    "    Of x, coefficient and init, and through totals; each is a recurrence from the other end, in the same\n"
    "    segments. None with out and omit_nan.\n";

const char rp_scan_doc[] =
    "scan(x, dim=None, op='sum', *, coefficient=None, axis=None, reverse=False, exclusive=False, omit_nan=False, "
    "mask=None, mask_mode=None, heads=None, tails=None, keys=None, init=None, totals=False, dtype=None, acc=None, "
    "out=None, ties='last', more=None, params=None, second=False)\n--\n\n"
    "Scans along one dimension with any operator: y[i] = x[0] op x[1] op ... op x[i] in each row.\n"
    "\n"
    ">>> import numpy as np, rowscan\n"
    ">>> rowscan.scan(np.array([False, True, False]), 0, 'or')  # whether any was True so far\n"
    "array([False,  True,  True])\n"
    ">>> y, totals = rowscan.scan(np.array([[6, 3, 5], [7, 1, 4]]), 1, 'xor', exclusive=True, totals=True)\n"
    ">>> y\n"
    "array([[0, 6, 5],\n"
    "       [0, 7, 6]])\n"
    ">>> totals\n"
    "array([0, 2])\n"
    ">>> rowscan.scan(np.array([[2., 1., 3.], [6., 4., 6.]]), 1, 'argmax')\n"
    "array([[0, 0, 2],\n"
    "       [0, 0, 2]])\n"
    ">>> rowscan.scan(np.array([2., 1., 3.]), 0, 'argmin', second=True)  # and what is there\n"
    "(array([0, 1, 1]), array([2., 1., 1.]))\n"
    ">>> rowscan.scan(np.array([1., 2., 3.]), 0, 'weighted_recurrence', more=(0.5, 2), second=True)\n"
    "(array([2. , 5. , 8.5]), array([1.  , 2.5 , 4.25]))\n"
    ">>> rowscan.scan(np.array([1., 2., 3.]), 0, 'decayed_sum', params=(0.5,))\n"
    "array([1.  , 2.5 , 4.25])\n"
    ">>> x, g = np.array([3., 1., 4., 1., 5.]), np.ones(5)  # g: the gradients of the results of a scan of x\n"
    ">>> rowscan.scan(g, 0, 'sum_gradient', reverse=True, more=(x > 2,))\n"
    "array([5., 0., 3., 0., 1.])\n"
    ">>> rowscan.scan(g, 0, 'extremum_gradient', reverse=True, more=(x, rowscan.cummax(x, 0)))\n"
    "array([2., 0., 2., 0., 1.])\n"
    ">>> rowscan.scan(g, 0, 'logsumexp_gradient', reverse=True, more=(x, rowscan.logcumsumexp(x, 0))).round(3)\n"
    "array([2.479, 0.2  , 1.626, 0.046, 0.649])\n"
    ">>> rowscan.scan(np.array([1e200, 1e200, 1e-300]), 0, 'extended_prod')  # which ends with inf in cumprod\n"
    "array([1.e+200,     inf, 1.e+100])\n"
    ">>> rowscan.scan(np.array([6, 3, 5]), 0, 'and')\n"
    "array([6, 2, 0])\n"
    "\n"
    "Arguments\n"
    "    op         'sum', 'prod', 'max', 'min': the scan is that of cumsum, cumprod, cummax or cummin, with its "
    "types,\n"
    "               bits, gradients and errors. 'and', 'or', 'xor': bit by bit, of integers and bool; floating\n"
    "               elements are refused. Of bool: whether all were True so far, any was, an odd number was.\n"
    "               'linear_recurrence': that of linear_recurrence, with a coefficient.\n"
    "               'logsumexp': that of logcumsumexp. 'extended_prod': products of floating elements alone, which\n"
    "               neither overflow nor vanish on the way. 'argmax', 'argmin': where in the row the maximum or\n"
    "               minimum so far is, of equal elements the last that was scanned; -1 where there is none.\n"
    "               'gae': with reverse=True the advantages of gae(), of rewards. more has values, next values and\n"
    "               flags of terminated and of done steps, params has gamma and lam, the second output returns.\n"
    "               'weighted_recurrence': a linear recurrence of floats, times weights; more has coefficients and\n"
    "               weights, the second output is the recurrence itself.\n"
    "               'decayed_sum': a linear recurrence of floats; params has its one coefficient.\n"
    "               'sum_gradient', 'extremum_gradient', 'logsumexp_gradient': gradients of the elements of a sum\n"
    "               under a mask, of a maximum or minimum, and of logsumexp. x has those of the results; reverse is\n"
    "               True if that scan's was False. more has the mask; or the elements and the results, of one type.\n"
    "               The latter two are those of inclusive scans, and reject mask and omit_nan.\n"
    "               What create_op returned: an operator of yours, of arrays on GPUs.\n"
    "    coefficient\n"
    "               That of linear_recurrence, or of an operator of yours with coefficients; others have none.\n"
    "    x, dim, axis, reverse, mask, heads, tails, keys, init, totals, acc, out\n"
    "               Those of cumsum, and beside a coefficient the mask of linear_recurrence.\n"
    "    exclusive  True: leave each element out of its own result; y[0] is the operator's identity, which has all\n"
    "               bits set for 'and', and none for 'or' and 'xor'.\n"
    "    omit_nan   True: leave out elements that are NaN, with any operator. Integers have none.\n"
    "    mask_mode  'select': leave out elements where mask is 0 or False; a floating mask needs the word. 'multiply'\n"
    "               is for 'sum', 'prod' and 'extended_prod', and for operators of yours.\n"
    "    dtype      The type of the result. For 'and', 'or', 'xor' bool or an integer type with all values of x's;\n"
    "               for 'argmax' and 'argmin' int64, the default, or int32 (which JAX without 64 bits has).\n"
    "               Default: x's own for all others but 'sum', 'prod' and 'linear_recurrence' of integers.\n"
    "    ties       'first': 'argmax' and 'argmin', which alone take it, tell the first of equal elements that was\n"
    "               scanned. Default: 'last'.\n"
    "    more       A tuple of the other inputs of 'gae', 'weighted_recurrence', gradients and operators of yours\n"
    "               with inputs=: numbers, or arrays that broadcast to x's shape, on x's device. Those of bool, uint8\n"
    "               or x's type are read where they lie, others are converted to x's.\n"
    "    params     A tuple of the numbers of 'gae', 'decayed_sum' and operators of yours with params=. Other numbers\n"
    "               compile no kernel anew; in JAX they must not be traced, and jit traces anew.\n"
    "    second     True: return the second output, too, a new array of x's shape: result, second output, totals.\n"
    "               'argmax', 'argmin': the elements that the indices are of, in x's type. 'gae': the returns.\n"
    "               'weighted_recurrence', gradients: the sums before weights or masks. With outputs=2 what an\n"
    "               operator of yours shows, in the result's type.\n"
    "\n"
    "Returns and errors are those of cumsum. A name of no operator is a ValueError. Results of 'and', 'or' and 'xor'\n"
    "are exact, whatever the order, and the same everywhere.\n"
    "\n"
    "Gradients, in torch and JAX\n"
    "    Those of cumsum, cumprod, cummax, cummin, logcumsumexp and linear_recurrence. There is none of other\n"
    "    operators, and of indices none that could be wanted. With more, params or second, and of products with\n"
    "    heads, tails or keys beside a mask that multiplies, Unsupported is raised where one is wanted, and in torch\n"
    "    inside of torch.func.grad and other transforms that want one.\n";

const char rp_devices_doc[] =
    "devices()\n--\n\n"
    "The GPUs: a list of dicts, empty where there is no GPU or no driver.\n"
    "\n"
    "device           ordinal, as in torch's \"cuda:0\"\n"
    "name             NVIDIA's\n"
    "arch             \"sm_90\"; those older than \"sm_75\" are not served\n"
    "multiprocessors\n"
    "memory_bytes, l2_bytes\n"
    "peak_gbs         what its memory moves at most, in 10^9 bytes a second; 0 if the driver does not say\n"
    "\n"
    ">>> [gpu[\"arch\"] for gpu in rowscan.devices() if gpu[\"memory_bytes\"] < 0]\n"
    "[]\n";

const char rp_archs_doc[] =
    "archs()\n--\n\n"
    "The architectures that NVRTC, NVIDIA's compiler, can make kernels for: [\"sm_75\", ...]. Needs no GPU.\n"
    "\n"
    "Raises NoCompiler where there is no NVRTC.\n";

const char rp_set_threads_doc[] =
    "set_threads(count, /)\n--\n\n"
    "Sets how many threads a scan on the CPU uses at most, the calling one included.\n"
    "\n"
    "count    0 is the default: one for each processor that the process may use\n"
    "\n"
    "Results do not depend on it. The setting is the process's, and apart from those of NumPy, torch and OpenMP.\n"
    "\n"
    ">>> rowscan.set_threads(1)\n"
    ">>> rowscan.set_threads(0)\n";
