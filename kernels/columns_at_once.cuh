// columns_at_once.cuh - regime column, so few elements that all tiles are in work at once, each in shared memory
// SPDX-License-Identifier: MIT
//
// As at_once.cuh has rows: a block has the tile of its own number, so that its loads begin at once, and the total of
// each of its columns is one hop from the tiles after it. A tile is a strip of neighbouring columns, of all where these
// are few, by a power of two of steps. In shared memory STEPS steps make a segment; between segments lie words that
// keep lanes out of each other's banks. A thread takes a column of a segment at a time, then a warp a column of the
// tile. src/family/at_once_cut.c cuts the tensor so, for the number of columns of this run.
#pragma once
#include "at_once.cuh"
#include "cuts.h"
#include "divide.cuh"

template <class P, int THREADS, int STEPS, int TILES> struct AtOnceTile {
  RS_TYPES_OF(P);
  using Ahead = OneHop<Op, TILES, Acc>;
  static constexpr bool IN_PLACE = sizeof(In) == sizeof(Out); // results take the place of elements
  static constexpr int LAST = P::rank - 1, WARPS = THREADS / 32;
  static constexpr int EACH = RS_AT_ONCE_EACH; // segments of a lane

  const Rows<P::rank> &rows;
  const AtOnceCut &cut;
  u32 tile;
  i64 first;                // step of the scan
  int count, width, column; // steps and columns that there are; the first column
  int lead;                 // in reverse the segment that comes first in memory may have fewer steps
  int outer;
  Offsets<P> at; // the first column's lowest step
  unsigned char *memory;

  RS_METHOD AtOnceTile(const Rows<P::rank> &rows, const AtOnceCut &cut, unsigned char *memory)
      : rows(rows), cut(cut), memory(memory) {
    int block = (int)block_index(), q = divide(block, cut.by_strips);
    outer = divide(q, cut.by_tiles);
    tile = (u32)(q - outer * cut.tiles);
    column = (block - q * cut.strips) * cut.columns;
    width = rows.shape[LAST] - column < cut.columns ? (int)(rows.shape[LAST] - column) : cut.columns;
    first = (i64)tile * steps();
    count = P::length - first < steps() ? (int)(P::length - first) : steps();
    lead = P::reverse ? (STEPS - count % STEPS) % STEPS : 0;
    i64 lowest = P::reverse ? P::length - first - count : first;
    at = Offsets<P>::of_step(rows, lowest);
    at.move_beside(rows, column);
    at.move_to(rows, LAST - 1, (u32)outer);
  }
  RS_METHOD int steps() const { // of a tile that has all
    return cut.segments * STEPS;
  }
  RS_METHOD int segments() const { // that have steps
    return (count + STEPS - 1) / STEPS;
  }

  // word(place in memory, its copy), both u128, for each word of an array's part; and element(place, copy) for those
  // that travel in none.
  template <class T, class W, class E>
  RS_METHOD void each_word(T *global, i64 step, const AtOnceSheet &sheet, const W &word, const E &element) const {
    constexpr int UNIT = 16 / (int)sizeof(T);
    T *copy = reinterpret_cast<T *>(memory + sheet.at);
    if (sheet.one_by_one) {
      constexpr int AT_ONCE = sizeof(T) < 4 ? 4 : 1; // smaller ones go through registers
#pragma unroll AT_ONCE
      for (int i = (int)thread_index(); i < count * cut.columns; i += THREADS) {
        int k = divide(i, cut.by_columns), c = i - k * cut.columns, at = lead + k;
        if (c < width)
          element(global + (k * step + c), copy + (at * cut.columns + at / STEPS * sheet.pad + c));
      }
      return;
    }
    int before = lead * cut.columns / UNIT, words = count * cut.columns / UNIT, of_step = cut.columns / UNIT;
    i64 gap = step - cut.columns; // 0: one run
#pragma unroll 1
    for (int i = (int)thread_index(); i < words; i += THREADS) {
      int n = i + before, k = divide(i, sheet.by_step), segment = divide(n, sheet.by_segment);
      if (width == cut.columns || (i - k * of_step) * UNIT < width)
        word(reinterpret_cast<u128 *>(global + (i * UNIT + k * gap)),
             reinterpret_cast<u128 *>(copy + (n * UNIT + segment * sheet.pad)));
    }
    int left = count * cut.columns % UNIT, i = (int)thread_index();
    if (i < left) // the last segment's
      element(global + words * UNIT + i, copy + ((before + words) * UNIT + i + (segments() - 1) * sheet.pad));
  }
  template <class T> RS_METHOD T *first_of(int which) const {
    return rows.template data<T>(which) + at.of[which];
  }
  RS_METHOD void load() const {
    Bring bring;
    each_word(first_of<In>(RS_IN), rows.step[RS_IN], cut.in, bring, bring);
    if constexpr (MASKED)
      each_word(first_of<Mask>(RS_MASK), rows.step[RS_MASK], cut.mask, bring, bring);
    fetch_wait();
  }
  RS_METHOD void store() const {
    each_word(
        first_of<Out>(RS_OUT), rows.step[RS_OUT], cut.out, [](u128 *global, u128 *copy) { store_word(global, *copy); },
        [](Out *global, Out *copy) { store_element(global, *copy); });
  }

  // A column of a segment.
  struct Item {
    int segment, column;
  };
  template <class F> RS_METHOD void each_item(const F &f) const {
#pragma unroll 1
    for (int i = (int)thread_index(); i < segments() * cut.columns; i += THREADS) {
      Item item;
      item.segment = divide(i, cut.by_columns);
      item.column = i - item.segment * cut.columns;
      if (item.column < width)
        f(item);
    }
  }
  // Its step j in an array's copy.
  template <class T> RS_METHOD T *place_of(const AtOnceSheet &sheet, const Item &item, int j) const {
    int segment = P::reverse ? segments() - 1 - item.segment : item.segment;
    return reinterpret_cast<T *>(memory + sheet.at) +
           (segment * (STEPS * cut.columns + sheet.pad) + (P::reverse ? STEPS - 1 - j : j) * cut.columns + item.column);
  }
  RS_METHOD void read(const Item &item, Acc *x) const {
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      x[j] = R::enter(*place_of<In>(cut.in, item, j), MASKED ? *place_of<Mask>(cut.mask, item, j) : Mask{});
  }
  // Where the total of a segment is, or the prefix before it.
  RS_METHOD Acc *total_of(int segment, int column) const {
    return reinterpret_cast<Acc *>(memory + cut.totals_at) + (segment * cut.pitch + column);
  }
  // Leaves the totals of segments.
  RS_METHOD void up() const {
    each_item([&](const Item &item) {
      Acc x[STEPS];
      read(item, x);
      *total_of(item.segment, item.column) = total<Op, STEPS>(x);
    });
  }

  RS_METHOD Ends<P> ends(int beside) const {
    Offsets<P> row{}; // anew: few ask, and registers are few
    row.move_to(rows, LAST - 1, (u32)outer);
    return ends_of(rows, row, 0, column + beside);
  }
  // A warp adds up the totals of a column's segments, some of each lane; in the end there are neutral ones.
  struct Upwards {
    Acc x[EACH], all;
    Lanes<Op, 32, Acc> lanes;
  };
  RS_METHOD int each() const {
    return cut.segments > 32 ? cut.segments / 32 : 1;
  }
  RS_METHOD Upwards up_lanes(int column) const {
    Upwards up;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      int segment = (int)lane_index() * each() + j;
      bool there = j < each() && segment < segments();
      Acc here = *total_of(there ? segment : 0, column); // no branch: all are under way at a time
      up.x[j] = there ? here : Op::neutral();
    }
    up.all = up.lanes.up(total<Op, EACH>(up.x), lane_index());
    return up;
  }
  // The total of a column of another block's tile, which has all its steps, by a warp.
  RS_METHOD Acc total_of_tile(u32 other, int column) const {
    Counter<Op, EACH * STEPS, Acc> mine; // of 32 steps each
    int all = steps() / 32;
    i64 step = (i64)other * steps() - first + lane_index();
    step = P::reverse ? count - 1 - step : step;
    i64 in_step = rows.step[RS_IN], mask_step = rows.step[RS_MASK];
    const In *in = first_of<const In>(RS_IN) + (step * in_step + column);
    const Mask *mask = first_of<const Mask>(RS_MASK) + (step * mask_step + column);
#pragma unroll 1
    for (int k = 0; k < all; k++) {
      Mask m{};
      if constexpr (MASKED)
        m = load_element(mask);
      Lanes<Op, 32, Acc> lanes;
      mine.add(k, lanes.up(R::enter(load_element(in), m), lane_index()));
      in += (P::reverse ? -32 : 32) * in_step;
      mask += (P::reverse ? -32 : 32) * mask_step;
    }
    Acc whole = mine.digit[0];
#pragma unroll
    for (int d = 1; d < mine.LEVELS; d++)
      whole = all >> d & 1 ? mine.digit[d] : whole;
    return whole;
  }
  // The prefixes before the tile (carry) and through it (end), for a warp, given the tile's total.
  RS_METHOD void meet(int column, u32 run, Acc mine, Acc &carry, Acc &end) const {
    TurnState *state = static_cast<TurnState *>(rows.workspace);
    Ahead ahead{reinterpret_cast<Node<Acc> *>(state + RS_AT_ONCE_STATE) +
                    (outer * rows.shape[LAST] + this->column + column) * cut.tiles,
                run};
    if (lane_index() == 0 && (int)tile < cut.tiles - 1) {
      ahead.nodes[tile].tell(mine, run);
      if (rows.at[RS_IN] == rows.at[RS_OUT])
        word_fence(); // whoever finds results instead of elements finds the total too
    }
    typename Ahead::Totals before = ahead.template look<true>(tile, [&](u32 late) {
      Acc total = total_of_tile(late, column);
      word_fence();
      warp_barrier();
      if (lane_index() == 0 && !ahead.nodes[late].look().told(run)) // else it may have found results
        ahead.nodes[late].tell(total, run);
    });
    Acc begin = ends(column).start();
    carry = shuffle_from(before.prefix(tile, begin), (int)(tile % 32));
    end = shuffle_from(before.push(tile, mine, begin), (int)(tile % 32));
  }
  // A warp turns the totals of a column's segments into the prefixes before them, and leaves the one after the last.
  RS_METHOD void pass(int column, u32 run) const {
    Acc mine = up_lanes(column).all, carry, end;
    if (cut.tiles > 1) {
      meet(column, run, mine, carry, end);
    } else {
      carry = ends(column).start();
      end = Op::combine(carry, mine);
    }
    Upwards again = up_lanes(column); // registers are few
    Acc prefix[EACH];
    carries<Op, EACH>(again.lanes.down(carry, lane_index()), again.x, prefix);
    warp_barrier(); // lanes without a segment read the first one's total
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      int segment = (int)lane_index() * each() + j;
      if (j < each() && segment < cut.segments)
        *total_of(segment, column) = prefix[j];
    }
    if (lane_index() == 0)
      *total_of(cut.segments, column) = end;
  }

  // Leaves the prefixes where results travel from.
  RS_METHOD void down() const {
    each_item([&](const Item &item) {
      Acc x[STEPS], prefix[STEPS + 1]; // prefix[j]: of all elements before element j
      read(item, x);
      carries<Op, STEPS>(*total_of(item.segment, item.column), x, prefix);
      prefix[STEPS] = *total_of(item.segment + 1, item.column);
      i64 i = first + item.segment * STEPS;
      const Acc *result = results<P, STEPS>(rows, prefix, i, rows.has(RS_TOTALS), ends(item.column));
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        *place_of<Out>(cut.out, item, j) = R::leave(result[j]);
    });
  }
};

template <class P, int THREADS, int STEPS, int TILES>
RS_DEVICE void scan_columns_at_once(const Rows<P::rank> &rows, const AtOnceCut &cut) {
  using T = AtOnceTile<P, THREADS, STEPS, TILES>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED u32 run;
  TurnState *state = static_cast<TurnState *>(rows.workspace); // there is none for tiles that are alone
  bool several = cut.tiles > 1;
  u64 run_word = 0;
  if (several && thread_index() == 0)
    run_word = ask_run(state); // before the elements, and what comes of it after them
  T tile(rows, cut, memory);
  tile.load();
  delay();
  if (thread_index() == 0)
    run = answered_run(run_word);
  block_barrier();
  tile.up();
  block_barrier();
  u64 asked = 0; // a turn, only to count blocks: the last one ends the run, and none waits for it
  if (several && thread_index() == THREADS - 1)
    asked = ask_turn(state);
#pragma unroll 1
  for (int column = (int)thread_index() / 32; alike(column < tile.width); column += T::WARPS)
    tile.pass(column, run);
  block_barrier();
  delay();
  tile.down();
  block_barrier();
  tile.store();
  if (several && thread_index() == THREADS - 1)
    answered_turn(state, asked, block_count());
}
