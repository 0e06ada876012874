// arrays.h - the arrays of a run, and the head of what a kernel is told of them
// SPDX-License-Identifier: MIT
//
// In C and in CUDA C++: src/spec/ has the same arrays, and src/gpu/packed.h hands them to kernels in one loop.
#ifndef RS_ARRAYS_H
#define RS_ARRAYS_H

// Arrays of elements come first, RS_ELEMENTS of them. Initial values and totals: one a row, of the accumulator's type.
// After these five, the further arrays of elements that few problems have: inputs, one output, and flags or keys beside
// a mask. Kernels without them have no room for them.
#define RS_MOST_MORE 4 // further inputs
typedef enum rs_which {
  RS_IN,
  RS_OUT,
  RS_MASK,
  RS_INIT,
  RS_TOTALS,
  RS_ARRAYS,
  RS_ELEMENTS = RS_INIT,
  RS_MORE_IN = RS_ARRAYS,
  RS_SECOND = RS_MORE_IN + RS_MOST_MORE,
  RS_SEGMENTS,
  RS_ALL_ARRAYS,
  RS_FURTHER = RS_ALL_ARRAYS - RS_ARRAYS
} rs_which;

// Numbers of a run that operators may have beside their inputs.
#define RS_MOST_PARAMS 4

// Rows<RANK> of rows.cuh begins so; the shape of the rows' index and the strides of each array follow, RANK numbers of
// 8 bytes each. What small kernels read lies in as few words of 64 bytes as can be: one more takes them 0.1 us.
typedef struct RowsHead {
  void *at[RS_ARRAYS]; // null: there is none
  void *workspace;
  long long first;             // number of the first row of this launch; only those who launch in parts use it
  long long count;             // rows of this launch
  long long step[RS_ELEMENTS]; // from an element of a row to the next one
} RowsHead;

// In place of a length: a number that a launch tells, in AnyRows<RANK>, as it tells whether the scan is exclusive.
#define RS_ANY_LENGTH (-1)

#endif
