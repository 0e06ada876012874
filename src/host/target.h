/*
 * target.h - how the files of the host engine's loops are compiled, whatever the flags of the build
 * SPDX-License-Identifier: MIT
 *
 * RS_TARGET_STRING, if defined, names instructions that the rest of the library does without. No contraction: a
 * multiplication and an addition stay two roundings. GCC vectorises as these loops need it at -O3 only, selections of
 * floats only where it need not fear for exceptions, which nobody looks at, and must not make `rep movs` of the copying
 * of a few elements: that took half the time of rows of 100.
 */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#define RS_PRAGMA(text) _Pragma(#text)
#ifdef RS_TARGET_STRING
#define RS_CLANG_PUSH(string) RS_PRAGMA(clang attribute push(__attribute__((target(string))), apply_to = function))
RS_CLANG_PUSH(RS_TARGET_STRING)
#endif
#else
#define RS_PRAGMA(text) _Pragma(#text)
#define RS_GCC_TARGET(string) RS_PRAGMA(GCC target(string))
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3", "fp-contract=off", "no-trapping-math", "no-tree-loop-distribute-patterns")
#else
#pragma GCC optimize("fp-contract=off")
#endif
#ifdef RS_TARGET_STRING
RS_GCC_TARGET(RS_TARGET_STRING)
#endif
#endif
