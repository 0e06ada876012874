/*
 * box.c - a copy from strides to strides, with as few dimensions and as wide words as it allows
 * SPDX-License-Identifier: MIT
 */
#include "box.h"

#include <stdlib.h>

enum { WIDEST = 16 };

static int64_t distance(int64_t stride) {
  return stride < 0 ? -stride : stride;
}

static int by_output(const void *left, const void *right) {
  const rs_axis *a = left, *b = right;
  int64_t x = distance(a->out), y = distance(b->out);
  if (x == y) {
    x = distance(a->in);
    y = distance(b->in);
  }
  return (x < y) - (x > y);
}

static bool joins(const rs_axis *outer, const rs_axis *inner) {
  return outer->in == inner->in * inner->size && outer->out == inner->out * inner->size;
}

/* Drops axes of one element, sorts the others and joins those that run on into one another. Returns how many are left,
 * at least 1; 0: one of them is empty. */
static int simplify(rs_axis *to, const rs_axis *axes, int count) {
  int kept = 0, joined = 0;
  for (int i = 0; i < count; i++) {
    if (axes[i].size < 1)
      return 0;
    if (axes[i].size > 1)
      to[kept++] = axes[i];
  }
  if (!kept)
    to[kept++] = (rs_axis){1, 1, 1};
  qsort(to, (size_t)kept, sizeof *to, by_output);
  for (int i = 1; i < kept; i++) {
    if (joins(&to[joined], &to[i]))
      to[joined] = (rs_axis){to[joined].size * to[i].size, to[i].in, to[i].out};
    else
      to[++joined] = to[i];
  }
  return joined + 1;
}

/* The widest word that every run of neighbours is made of. */
static int widest_word(const rs_axis *axes, int count, int element, int64_t in_at, int64_t out_at) {
  const rs_axis *last = &axes[count - 1];
  if (last->in != 1 || last->out != 1)
    return element;
  int64_t all = in_at | out_at | last->size * element;
  for (int i = 0; i < count - 1; i++)
    all |= axes[i].in * element | axes[i].out * element;
  int bytes = WIDEST;
  while (bytes > element && (all & (bytes - 1)))
    bytes /= 2;
  return bytes;
}

static void use_words(rs_axis *axes, int count, int elements) {
  axes[count - 1].size /= elements;
  for (int i = 0; i < count - 1; i++) {
    axes[i].in /= elements;
    axes[i].out /= elements;
  }
}

/* Brings the axis of the input's neighbours before the last, if the last is that of the output's alone. */
static bool cross(rs_axis *axes, int count) {
  rs_axis last = axes[count - 1];
  if (last.out != 1 || distance(last.in) == 1)
    return false;
  for (int i = 0; i < count - 1; i++)
    if (axes[i].in == 1) {
      rs_axis found = axes[i];
      axes[i] = axes[count - 2];
      axes[count - 2] = found;
      return true;
    }
  return false;
}

bool rs_box_make(rs_box *box, const rs_axis *axes, int count, int element_bytes, int64_t in_at, int64_t out_at) {
  rs_axis simple[RS_BOX_MOST_AXES];
  int left = count <= RS_BOX_MOST_AXES ? simplify(simple, axes, count) : 0;
  if (left < 1 || left > RS_BOX_RANK)
    return false;
  box->bytes = widest_word(simple, left, element_bytes, in_at, out_at);
  use_words(simple, left, box->bytes / element_bytes);
  box->crossed = cross(simple, left);
  for (int i = 0; i < RS_BOX_RANK; i++)
    box->axis[i] = i < RS_BOX_RANK - left ? (rs_axis){1, 0, 0} : simple[i - (RS_BOX_RANK - left)];
  return true;
}

rs_box rs_box_of_bytes(int64_t bytes) {
  return (rs_box){.bytes = WIDEST, .axis = {{1, 0, 0}, {1, 0, 0}, {(bytes + WIDEST - 1) / WIDEST, 1, 1}}};
}

int64_t rs_box_words(const rs_box *box) {
  return box->axis[0].size * box->axis[1].size * box->axis[2].size;
}
