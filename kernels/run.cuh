// run.cuh - neighbours in memory, and the whole words of 16 bytes among them
// SPDX-License-Identifier: MIT
//
// Bulk copies take whole words; what lies around them goes element by element. Copies in shared memory keep the offset
// from a word that their originals have, so that words come to words.
#pragma once
#include "device.cuh"

// Elements of a word.
template <class T> constexpr int UNIT_OF = 16 / (int)sizeof(T);

// Elements from the first of a word to the one at `at`.
template <class T> RS_DEVICE int offset_of(const T *at) {
  return (int)((u32) reinterpret_cast<u64>(at) % 16) / (int)sizeof(T);
}

// Some of them: the first one's number, and how many.
template <class I> struct Span {
  I from;
  int count;
};

// Of some neighbours those before the first word that is whole, and those in whole words.
template <class I> struct WholeWords {
  I head, body;

  // Of `count` from `at` on; or from an element on that lies at an offset in its word.
  template <class T> RS_METHOD static WholeWords of(const T *at, I count) {
    return behind<T>(offset_of(at), count);
  }
  template <class T> RS_METHOD static WholeWords behind(int offset, I count) {
    int before = (UNIT_OF<T> - offset) % UNIT_OF<T>;
    I head = before < count ? before : count;
    return {head, (count - head) / UNIT_OF<T> * UNIT_OF<T>};
  }
  // The one after the last of them.
  RS_METHOD I end() const {
    return head + body;
  }
  // Of these words those that have any of `count` elements from `from` on, which is `offset` elements into a word.
  template <class T> RS_METHOD Span<I> around(I from, int offset, int count) const {
    I low = from - offset, high = low + (offset + count + UNIT_OF<T> - 1) / UNIT_OF<T> * UNIT_OF<T>;
    low = low > head ? low : head;
    high = high < end() ? high : end();
    return {low, high > low ? (int)(high - low) : 0};
  }
};
