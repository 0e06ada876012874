// terms.h - what a universal kernel is told of a scan, beside where its rows lie
// SPDX-License-Identifier: MIT
//
// In C and in CUDA C++: src/family/universal.c fills them, kernels/universal.cuh takes them.
#ifndef RS_TERMS_H
#define RS_TERMS_H

#include "arrays.h"

// Row dimensions that a universal kernel has strides for.
#define RS_UNIVERSAL_RANK 6

// Rows that are cut into pieces take two launches.
enum { RS_WHOLE_ROWS, RS_TOTALS_OF_PIECES, RS_PREFIXES };

// Types of elements, numbered as rowscan_type.
enum {
  RS_IS_F16 = 1,
  RS_IS_BF16,
  RS_IS_F32,
  RS_IS_F64,
  RS_IS_I8,
  RS_IS_U8,
  RS_IS_I16,
  RS_IS_U16,
  RS_IS_I32,
  RS_IS_U32,
  RS_IS_I64,
  RS_IS_U64,
  RS_IS_BOOL
};

// What a further input is; of its roles in one operator the later ones are asked for first.
enum {
  RS_IS_NONE,
  RS_IS_FACTOR,     // the coefficients
  RS_IS_WEIGHT,     // of results
  RS_IS_CHOICE,     // whether a result is shown
  RS_IS_VALUE,      // four of generalized advantages
  RS_IS_NEXT_VALUE, // from here on: of kernels with segments
  RS_IS_TERMINATED,
  RS_IS_DONE,
  RS_IS_ELEMENT, // of gradients; one that is its result ends a segment, where there are segments
  RS_IS_RESULT
};
// What is taken of an array on the way in: flags, or from RS_TAKES_NUMBERS on numbers, of elements, of the mask that
// multiplies them, and from RS_TAKES_FURTHER on of a further input.
enum { RS_TAKES_SEGMENTS, RS_TAKES_MASK, RS_TAKES_NAN, RS_TAKES_NUMBERS, RS_TAKES_MULTIPLIER, RS_TAKES_FURTHER };
#define RS_MOST_TAKES (5 + RS_MOST_MORE)
// What an output shows.
enum { RS_SHOWS_TOTAL, RS_SHOWS_WEIGHED, RS_SHOWS_CHOSEN, RS_SHOWS_RETURNS, RS_SHOWS_GRADIENT };

// Which elements of an array count as true, and which are no numbers, by their bits.
typedef struct rs_element_bits {
  unsigned long long truth; // true: one of these is set
  unsigned long long value; // no number: these, as a number, are more than `most`
  unsigned long long most;
} rs_element_bits;

typedef struct rs_terms {
  int type[RS_ALL_ARRAYS];  // of an array's elements; initial values and totals: the accumulator
  int bytes[RS_ALL_ARRAYS]; // of an element
  int selects;              // the mask leaves out elements
  int multiplies;           // the mask is a factor
  int told;                 // how segments begin: NOT_TOLD, MARKED_ITSELF, MARKED_BEFORE or KEY_CHANGES
  int omits;                // a NaN is left out
  int reverse;              // indices count from the end
  int last;                 // reverse: what the first one counted is shown as; modulo 2^32
  int states;               // initial values and totals are as states.cuh has them
  int state_bytes;          // of the first number in one; of indices: of the key
  int key_at, word_at;      // in segments, where its key and its state are
  int spare;                // bits of 64 that keys of a signed type do not have, else 0
  int exclusive;            // as AnyRows<RANK> has it
  int numbers;              // what elements are compared as: RS_IS_F32, RS_IS_F64, or RS_IS_I64 or RS_IS_U64
  unsigned long long turn;  // all bits, where the lowest is wanted or bits are joined by and: totals are turned
  unsigned long long least; // the key that an extremum of nothing has
  double scale, unit;       // fixed point: 2^k and 2^-k
  double factor, gamma;     // recurrences: the coefficient where there is no array of them; of advantages
  int role[RS_MOST_MORE];   // of the further inputs
  int shows[2];             // the first output, and the second
  rs_element_bits in, mask, segments;

  // How warps share the rows, and the shared memory of one.
  int log_lanes;       // lanes a row: 2^log_lanes
  int rows_of_group;   // of rows of one tile, those of several tiles
  int groups_of_width; // of rows that are side by side, of which the last group may have fewer; 0: groups follow one
                       // another
  int phase;           // of the two launches
  int pieces;          // of a row
  int levels;          // of its counter of tiles, and of pieces
  long long width;     // rows that are side by side
  long long piece;     // elements of one
  long long units;     // groups, or pieces of groups
  int digits_at, warp_bytes;
  int takes, fetches, stores;
  struct {
    int array, as; // RS_TAKES_SEGMENTS ...
  } take[RS_MOST_TAKES];
  int uses, use[RS_ALL_ARRAYS];                           // arrays of elements that there are
  int fetch[RS_ALL_ARRAYS], store[2];                     // arrays that come and go as runs (kernels/runs.cuh)
  int is_run[RS_ALL_ARRAYS];                              // whether one does
  int begins_at[RS_ALL_ARRAYS], places_at[RS_ALL_ARRAYS]; // where its rows begin, and lanes' elements
  int copy_at[RS_ALL_ARRAYS], room[RS_ALL_ARRAYS];        // inputs have two copies of so many bytes, which take turns
  long long apart[RS_ALL_ARRAYS];                         // bytes from an element to the next one
  unsigned long long begin[RS_ALL_ARRAYS], end[RS_ALL_ARRAYS]; // of an array: the bytes that may be read
} rs_terms;

#endif
