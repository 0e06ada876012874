// columns.cuh - regime column: a block of threads scans a tile of neighbouring rows, in shared memory, and ends
// SPDX-License-Identifier: MIT
//
// Rows that lie side by side are columns: [outer, length, column]. A tile is a few neighbouring columns (a strip) by a
// power of two of steps along the length, or by all of it; then it may have several outers that follow one another in
// memory. src/family/columns_cut.c cuts the tensor so, for the number of columns of this run. Tiles of one strip hand
// one another the totals of their columns.
//
// In shared memory STEPS steps make a segment, in the order of memory; where columns are few, segments lie apart, which
// keeps lanes out of each other's banks. A thread takes one column of a segment at a time. The last segment of a long
// column has room for all its steps, too: what lies there is scanned like elements, and reaches no result.
#pragma once
#include "abreast.cuh"
#include "cuts.h"
#include "divide.cuh"
#include "held.cuh"
#include "slab.cuh"

// The first so many bytes of one word, and the others of another.
RS_DEVICE u128 spliced(u128 first, u128 second, int bytes) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int mine = bytes - 4 * i;
    u32 of_first = mine >= 4 ? ~0u : mine <= 0 ? 0 : (1u << 8 * mine) - 1;
    second.part[i] = (first.part[i] & of_first) | (second.part[i] & ~of_first);
  }
  return second;
}

// A word of a run lies in the copy of each segment that has an element of it. k: the first element that the next
// segment has; next(k): the word in that segment's copy, after which k is that of the segment after it. From the word's
// size on there is none.
struct BringShared {
  template <class T, class F> RS_METHOD void operator()(T *global, u128 *shared, int k, const F &next) const {
    Bring bring;
    bring(reinterpret_cast<u128 *>(global), shared);
    while (k < 16 / (int)sizeof(T))
      bring(reinterpret_cast<u128 *>(global), next(k));
  }
};
struct Store {
  RS_METHOD void operator()(u128 *global, u128 *shared) const {
    store_word(global, *shared);
  }
  template <class T> RS_METHOD void operator()(T *global, T *shared) const {
    store_element(global, *shared);
  }
};
struct StoreShared {
  template <class T, class F> RS_METHOD void operator()(T *global, u128 *shared, int k, const F &next) const {
    u128 word = *shared;
    while (k < 16 / (int)sizeof(T)) {
      int bytes = k * (int)sizeof(T);
      word = spliced(word, *next(k), bytes);
    }
    store_word(reinterpret_cast<u128 *>(global), word);
  }
};

// One array's part of a tile: where it lies, and its copy. Both are told for step 0 of the first segment, which may be
// before the tile: in reverse the segment that comes first in memory may have fewer steps.
template <class T, int STEPS> struct Sheet {
  T *global, *shared;
  i64 outer, step, column;     // strides
  int outer_pitch, pitch, pad; // of the copy, whose columns are neighbours
  int lead;                    // steps before the tile
  int outers, steps, width;    // there are
  int mode;
  int offset, wrap; // of the copy's segments: the first one's from a word of 16 bytes, and UNIT - 1; or 0

  static constexpr int UNIT = UNIT_OF<T>;

  // By segments each lies as far from a word as in global memory.
  RS_METHOD int shift(int o, int segment) const {
    constexpr int STEPS_OFF = STEPS % UNIT; // other segments are whole words
    return (offset + (o * steps + (STEPS_OFF ? segment * STEPS : 0)) * pitch) & wrap;
  }
  RS_METHOD int start(int o, int segment) const { // of a segment
    return o * outer_pitch + segment * (STEPS * pitch + pad) + shift(o, segment);
  }
  RS_METHOD int place(int o, int k) const { // of step k of an outer
    return o * outer_pitch + k * pitch + k / STEPS * pad + shift(o, k / STEPS);
  }
  template <class E> RS_METHOD void lie_as(const Sheet<E, STEPS> &other) {
    shared = reinterpret_cast<T *>(other.shared);
    pitch = other.pitch;
    outer_pitch = other.outer_pitch;
    pad = other.pad;
    offset = other.offset;
    wrap = other.wrap;
  }
  RS_METHOD Slab<T> run() const {
    Slab<T> slab(global + lead * step, 1, outers * steps * width, nullptr);
    slab.shared = shared + place(0, lead);
    return slab;
  }
  RS_METHOD u32 bulk_bytes() const {
    return mode == AS_A_RUN ? run().body_bytes() : 0;
  }
  // The words of 16 bytes that steps have, wherever each begins: whole, if columns from `least` to `most` of the row
  // are all that is in it, else one by one. by: for divide(), by the words of a step, at most.
  template <int THREADS, class F>
  RS_METHOD void each_word(const ColumnCut &cut, u32 by, int least, int most, const F &f) const {
    int words = (cut.columns + 2 * UNIT - 2) / UNIT;
#pragma unroll 4
    for (int i = (int)thread_index(); i < steps * words; i += THREADS) {
      int k = divide(i, by);
      T *row = global + (k + lead) * step, *copy = shared + place(0, k + lead);
      int c = (i - k * words) * UNIT - offset_of(row);
      if (c >= least && c < width && c + UNIT <= most)
        f(reinterpret_cast<u128 *>(row + c), reinterpret_cast<u128 *>(copy + c));
      else
#pragma unroll 1
        for (int e = c < 0 ? 0 : c; e < c + UNIT && e < width; e++)
          f(row + e, copy + e);
    }
  }

  // Where the copy has an element of the run, and how many follow in its segment, itself included.
  struct Spot {
    int place, left;
  };
  // n: from the first element of the tile's first step on.
  template <bool APART> RS_METHOD Spot spot(const ColumnCut &cut, int n) const {
    int size = STEPS * pitch, of_outer = steps * pitch, o = APART && outers > 1 ? divide(n, cut.by_outer) : 0;
    int at = n - o * of_outer + lead * pitch, segment = divide(at, cut.by_segment), end = (segment + 1) * size;
    if (APART && end > of_outer + lead * pitch)
      end = of_outer + lead * pitch;
    return {start(o, segment) + at - segment * size, end - at};
  }
  // Words of 16 bytes of the run, as BringShared and StoreShared take them, and in the end the elements that make up
  // none. APART: outers are no whole segments.
  template <int THREADS, bool APART, class W, class E>
  RS_METHOD void each_word_of_run(const ColumnCut &cut, const W &word, const E &element) const {
    T *first = global + lead * step;
    int all = outers * steps * pitch;
    auto words = WholeWords<int>::of(first, all);
#pragma unroll 4
    for (int i = words.head + (int)thread_index() * UNIT; i < words.end(); i += THREADS * UNIT) {
      Spot there = spot<APART>(cut, i);
      word(first + i, reinterpret_cast<u128 *>(shared + there.place), there.left, [&](int &k) {
        Spot other = spot<APART>(cut, i + k);
        u128 *copy = reinterpret_cast<u128 *>(shared + other.place - k);
        k += other.left;
        return copy;
      });
    }
    int i = (int)thread_index();
    if (i < all - words.body) {
      i = i < words.head ? i : words.body + i;
      element(first + i, shared + spot<APART>(cut, i).place);
    }
  }
  RS_METHOD static i64 distance(i64 stride) {
    return stride < 0 ? -stride : stride;
  }
  // Elements that a thread finds one after another, without a division for each.
  template <int THREADS, class F> RS_METHOD void each_element(const ColumnCut &cut, i64 length, const F &f) const {
    int i = (int)thread_index(), next = THREADS;
    const T *first = global + lead * step;
    if (outers == 1 && distance(step) < distance(column)) {
      // steps are nearer to one another than columns: 8 lanes fill a sector of 4-byte elements, and more would meet in
      // the same banks of shared memory
#pragma unroll 1
      for (int c = i / 8; c < width; c += THREADS / 8)
#pragma unroll 4
        for (int k = i % 8; k < steps; k += 8)
          f(const_cast<T *>(first) + (k * step + c * column), shared + place(0, lead + k) + c);
    } else if (outers == 1) {
      int k = divide(i, cut.by_columns), c = i - k * cut.columns;
      int dk = divide(next, cut.by_columns), dc = next - dk * cut.columns;
      T *at = const_cast<T *>(first) + (k * step + c * column);
      i64 on = dk * step + dc * column, wrap = step - cut.columns * column;
#pragma unroll 4
      for (; k < steps; k += dk) {
        if (c < width)
          f(at, shared + place(0, lead + k) + c);
        at += on;
        c += dc;
        if (c >= cut.columns) {
          c -= cut.columns;
          k++;
          at += wrap;
        }
      }
    } else {
#pragma unroll 4
      for (; i < outers * steps * cut.columns; i += next) {
        int q = divide(i, cut.by_columns), c = i - q * cut.columns;
        int o = (int)((u32)q / (u32)length), k = q - o * steps; // several outers have all steps
        if (c < width)
          f(const_cast<T *>(first) + (o * outer + k * step + c * column), shared + place(o, lead + k) + c);
      }
    }
  }
};

template <class P, int THREADS, int STEPS> struct ColumnTile {
  RS_TYPES_OF(P);
  using I = Inside<P>;
  using Inner = typename I::Inner;
  using Part = typename I::Part;
  static constexpr bool IN_PLACE = sizeof(In) == sizeof(Out);                     // results take the place of elements
  static constexpr i64 LENGTH = Length<P>::most();                                // of a row, at most
  static constexpr bool SINGLE = LENGTH <= STEPS;                                 // a thread has a whole row
  static constexpr bool WHOLE = Length<P>::multiple_of(STEPS);                    // every segment has all its steps
  static constexpr bool APART = !WHOLE && (Length<P>::ANY || LENGTH < 32 * 1024); // longer ones: one outer in a tile
  static constexpr int TAKEN = SINGLE ? (int)LENGTH : STEPS;                      // steps of a segment that have room
  static constexpr int LAST = Offsets<P>::LAST, OUTER = Offsets<P>::OUTER;

  const Rows<P::rank> &rows;
  const ColumnCut &cut;
  i64 first; // step of the scan
  int count, width, outers;
  int segments;      // that have steps
  int before, right; // columns of the row before the tile's first, and from it on
  Sheet<In, STEPS> in;
  Sheet<Mask, STEPS> mask;
  Sheet<Out, STEPS> out;
  Offsets<P> at; // its first row's lowest step
  Part *totals;  // by outer, segment, column: of segments, then the prefixes before them, and one more
  Acc *carries;  // prefixes before and through the tile, and its total, by column, if there are several tiles

  RS_METHOD i64 length() const {
    return Length<P>::of(rows);
  }
  template <class T>
  RS_METHOD Sheet<T, STEPS> sheet(int which, int mode, int pitch, int pad, unsigned char *memory) const {
    Sheet<T, STEPS> s;
    s.lead = P::reverse ? segments * STEPS - count : 0;
    s.step = mode >= BY_SEGMENTS ? cut.columns : rows.step[which]; // the stride of a single step may be anything
    s.global = rows.template data<T>(which) + at.of[which] - s.lead * s.step;
    s.mode = mode;
    s.wrap = mode == BY_SEGMENTS ? s.UNIT - 1 : 0;
    s.offset = offset_of(s.global);
    s.shared = reinterpret_cast<T *>(memory) + (mode == AS_A_RUN || mode == BY_STEPS ? offset_of(s.global) : 0);
    s.outer = P::rank > 1 ? rows.stride[which][OUTER] : 0;
    s.column = rows.stride[which][LAST];
    s.pitch = pitch;
    s.pad = pad;
    s.outer_pitch = (int)((length() + TAKEN - 1) / TAKEN) * (TAKEN * pitch + s.pad);
    s.outers = outers;
    s.steps = count;
    s.width = width;
    return s;
  }

  RS_METHOD ColumnTile(const Rows<P::rank> &rows, const ColumnCut &cut, const ColumnPlace &place, unsigned char *memory)
      : rows(rows), cut(cut) {
    first = (i64)place.tile * cut.steps;
    count = length() - first < cut.steps ? (int)(length() - first) : cut.steps;
    segments = (count + STEPS - 1) / STEPS;
    i64 lowest = P::reverse ? length() - first - count : first;
    i64 column = (i64)place.strip * cut.columns;
    before = (int)column;
    right = (int)(rows.shape[LAST] - column);
    width = right < cut.columns ? right : cut.columns;
    at = Offsets<P>::of_step(rows, lowest);
    at.move(rows, LAST, column);
    outers = at.move_to_outers(rows, place.outer, cut.outers, cut.groups);
    in = sheet<In>(RS_IN, cut.in_mode, cut.in_pitch, cut.in_pad, memory);
    if constexpr (MASKED)
      mask = sheet<Mask>(RS_MASK, cut.mask_mode, cut.mask_pitch, cut.mask_pad, memory + cut.mask_at);
    out = sheet<Out>(RS_OUT, cut.out_mode, cut.out_pitch, cut.out_pad, memory + cut.out_at);
    if constexpr (IN_PLACE) {
      if (in.mode == ONE_BY_ONE) { // the copy lies as the results need it
        in.lie_as(out);
      } else {
        bool same = out.offset == (in.wrap ? in.offset : offset_of(in.shared));
        out.lie_as(in);
        if (!same || (out.mode == BY_STEPS ? (out.pitch - out.step) % out.UNIT != 0 : out.mode != in.mode))
          out.mode = ONE_BY_ONE;
      }
    }
    totals = reinterpret_cast<Part *>(memory + cut.totals_at);
    carries = reinterpret_cast<Acc *>(memory + cut.carries_at);
  }

  RS_METHOD void load(Gate<1> &there) const {
    u32 bytes = in.bulk_bytes();
    if constexpr (MASKED)
      bytes += mask.bulk_bytes();
    SlabLoads<THREADS> loads(there, bytes);
    load_sheet(loads, in, cut.by_in);
    if constexpr (MASKED)
      load_sheet(loads, mask, cut.by_mask);
    fetch_wait();
    loads.wait();
  }
  template <class T>
  RS_METHOD void load_sheet(const SlabLoads<THREADS> &loads, const Sheet<T, STEPS> &sheet, u32 by) const {
    Bring bring;
    if (sheet.mode == AS_A_RUN)
      loads.load(sheet.run());
    else if (sheet.mode == BY_STEPS)
      sheet.template each_word<THREADS>(cut, by, -before, right, bring);
    else if (sheet.mode == ONE_BY_ONE)
      sheet.template each_element<THREADS>(cut, length(), bring);
    else
      sheet.template each_word_of_run<THREADS, APART>(cut, BringShared(), bring);
  }

  RS_METHOD void store() const {
    if (out.mode == STRAIGHT)
      return;
    if (out.mode == AS_A_RUN) {
      store_slab<THREADS>(out.run());
      return;
    }
    block_barrier();
    if (out.mode == BY_STEPS)
      out.template each_word<THREADS>(cut, cut.by_out, 0, width, Store());
    else if (out.mode == ONE_BY_ONE)
      out.template each_element<THREADS>(cut, length(), Store());
    else
      out.template each_word_of_run<THREADS, APART>(cut, StoreShared(), Store());
  }

  // A column of a segment.
  struct Item {
    int outer, segment, column;
    int at; // first step inside the tile
  };
  template <class F> RS_METHOD void each_item(const F &f) const {
#pragma unroll 1
    for (int i = (int)thread_index(); i < outers * cut.segments * cut.columns; i += THREADS) {
      Item item;
      int q = divide(i, cut.by_columns);
      item.column = i - q * cut.columns;
      item.outer = SINGLE ? q : cut.outers > 1 ? divide(q, cut.by_segments) : 0;
      item.segment = q - item.outer * cut.segments;
      item.at = item.segment * STEPS;
      if (item.column < width && item.at < count)
        f(item);
    }
  }
  // Where the total of a segment is, or the prefix before it.
  RS_METHOD Part *total_of(int outer, int segment, int column) const {
    return totals + ((outer * (cut.segments + 1) + segment) * cut.columns + column);
  }

  // Where a sheet has the first step of an item, and how far the next is from it.
  template <class T> RS_METHOD T *place_of(const Sheet<T, STEPS> &sheet, const Item &item) const {
    int segment = P::reverse ? segments - 1 - item.segment : item.segment;
    return sheet.shared +
           (sheet.start(item.outer, segment) + (P::reverse ? (STEPS - 1) * sheet.pitch : 0) + item.column);
  }
  template <class T> RS_METHOD static int next_of(const Sheet<T, STEPS> &sheet) {
    return P::reverse ? -sheet.pitch : sheet.pitch;
  }
  RS_METHOD void read(const Item &item, Part *x) const {
    const In *at = place_of(in, item);
    const Mask *mask_at = MASKED ? place_of(mask, item) : nullptr;
    int next = next_of(in), mask_next = MASKED ? next_of(mask) : 0;
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      x[j] = Inner::neutral();
      if (j < TAKEN)
        x[j] = (Part)R::enter(at[j * next], MASKED ? mask_at[j * mask_next] : Mask{});
    }
  }
  RS_METHOD void write(const Item &item, const Acc *x) const {
    Out *at = place_of(out, item);
    int next = next_of(out);
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (j < TAKEN)
        at[j * next] = R::leave(x[j]);
  }
  RS_METHOD void write_straight(const Item &item, const Acc *x) const {
    int segment = P::reverse ? segments - 1 - item.segment : item.segment;
    Out *at = out.global + (item.outer * out.outer + (segment * STEPS + (P::reverse ? STEPS - 1 : 0)) * out.step +
                            item.column * out.column);
    i64 next = P::reverse ? -out.step : out.step;
    if (item.at + TAKEN <= count) { // no condition for each
#pragma unroll
      for (int j = 0; j < TAKEN; j++)
        store_element(at + j * next, R::leave(x[j]));
    } else {
#pragma unroll
      for (int j = 0; j < TAKEN; j++)
        if (item.at + j < count)
          store_element(at + j * next, R::leave(x[j]));
    }
  }

  RS_METHOD Ends<P> ends(int outer, int column) const {
    return ends_of(rows, at, outer, column);
  }

  // Leaves the totals of segments.
  RS_METHOD void up() const {
    each_item([&](const Item &item) {
      Part x[STEPS];
      read(item, x);
      *total_of(item.outer, item.segment, item.column) = total<Inner, STEPS>(x);
    });
  }

  // As Lanes of order.cuh, 2^log of them; each has EACH segments.
  struct Group {
    int log, lane;
    Part sibling[5];
    RS_METHOD Part up(Part mine) {
#pragma unroll
      for (int d = 0; d < 5; d++)
        if (d < log) {
          Part other = sibling[d] = shuffle_xor(mine, 1 << d);
          mine = lane >> d & 1 ? Inner::combine(other, mine) : Inner::combine(mine, other);
        }
      return mine;
    }
    RS_METHOD Part down(Part carry) const {
#pragma unroll
      for (int d = 4; d >= 0; d--)
        if (d < log && lane >> d & 1)
          carry = Inner::combine(carry, sibling[d]);
      return carry;
    }
  };
  static constexpr int EACH = RS_COLUMN_LANE_SEGMENTS, MOST_CHUNKS = RS_COLUMN_CHUNKS; // of a group's segments
  using Chunks = Counter<Inner, MOST_CHUNKS, Part>;

  // f(outer, column, whether there is one, group) for each column; all lanes of a warp call it.
  template <class F> RS_METHOD void each_column(const F &f) const {
    int log = cut.lanes_log, lane = (int)lane_index(), columns = outers * cut.columns;
#pragma unroll 1
    for (int base = (int)thread_index() / 32 << (5 - log); base < columns; base += THREADS / 32 << (5 - log)) {
      int i = base + (lane >> log);
      bool there = i < columns;
      i = there ? i : base;
      int o = divide(i, cut.by_columns), c = i - o * cut.columns;
      f(o, c, there && c < width, Group{log, lane & ((1 << log) - 1), {}});
    }
  }
  RS_METHOD void values_of(int outer, int segment, int column, Part *x) const {
    const Part *at = total_of(outer, segment, column);
#pragma unroll
    for (int j = 0; j < EACH; j++)
      x[j] = segment + j < segments ? at[j * cut.columns] : Inner::neutral();
  }
  // f(column, the tile's total), for a tile that has all its steps.
  template <class F> RS_METHOD void tile_totals(const F &f) const {
    each_column([&](int, int c, bool there, Group group) {
      Chunks chunks;
      int count = cut.segments >> (group.log + 2); // a power of two, or there is one
      count = count > 1 ? count : 1;
#pragma unroll 1
      for (int k = 0; k < count; k++) {
        Part x[EACH];
        values_of(0, ((k << group.log) + group.lane) * EACH, c, x);
        chunks.add(k, group.up(total<Inner, EACH>(x)));
      }
      Part all = chunks.digit[0];
#pragma unroll
      for (int d = 1; d < chunks.LEVELS; d++)
        if (count >> d & 1)
          all = chunks.digit[d];
      if (there && group.lane == 0)
        f(c, I::outer(all));
    });
  }
  // Turns the totals of segments into the prefixes before them, and leaves the one after the last.
  RS_METHOD void prefixes() const {
    bool cuts = cut.tiles > 1, told = cuts && count == cut.steps; // the last is no fold over this tile's segments then
    each_column([&](int o, int c, bool there, Group group) {
      Chunks chunks;
      Part first = I::SPLIT ? Inner::neutral()
                            : I::inner(cuts    ? carries[c]
                                       : there ? ends(o, c).start()
                                               : Op::neutral());
      int chunk = EACH << group.log, count = (segments + chunk - 1) / chunk;
#pragma unroll 1
      for (int k = 0; k < count; k++) {
        Part x[EACH], before[EACH];
        int s = k * chunk + group.lane * EACH;
        values_of(o, there ? s : segments, c, x);
        Part all = group.up(total<Inner, EACH>(x));
        ::carries<Inner, EACH>(group.down(chunks.prefix(k, first)), x, before);
#pragma unroll
        for (int j = 0; j < EACH; j++)
          if (there && s + j < segments + !told)
            *total_of(o, s + j, c) = before[j];
        chunks.add(k, all);
      }
      if (there && group.lane == 0 && (told || segments % chunk == 0))
        *total_of(o, segments, c) = told ? I::inner(carries[cut.columns + c]) : chunks.prefix(count, first);
    });
  }

  // The prefixes before the tile and through it, of columns whose totals are told. tells: those of groups, too.
  using Ahead = ColumnsAhead<Op, Acc>;
  template <int LANES> RS_METHOD void look(const Ahead &ahead, const ColumnPlace &place, bool tells) const {
    Ahead::template each_column<LANES, THREADS>(width, [&](int c, bool mine) {
      Acc carry, end;
      ahead.template look<LANES>((u32)place.tile, (u32)(before + c), tells && mine, carries[2 * cut.columns + c],
                                 ends(0, c).start(), carry, end);
      if (mine) {
        carries[c] = carry;
        carries[cut.columns + c] = end;
      }
    });
  }

  // Writes the prefixes.
  RS_METHOD void down() const {
    each_item([&](const Item &item) {
      Part x[STEPS];
      Acc prefix[STEPS + 1]; // prefix[j]: of all elements before element j
      read(item, x);
      Ends<P> its = ends(item.outer, item.column);
      const Part *at = total_of(item.outer, item.segment, item.column);
      if constexpr (I::SPLIT) {
        Acc carry = cut.tiles > 1 ? carries[item.column] : its.start();
        Part inside[STEPS + 1];
        ::carries<Inner, STEPS>(SINGLE ? Inner::neutral() : *at, x, inside);
        inside[STEPS] = Inner::combine(inside[STEPS - 1], x[STEPS - 1]);
#pragma unroll
        for (int j = 0; j <= STEPS; j++)
          prefix[j] = I::prefix(carry, inside[j]);
      } else {
        Acc before = SINGLE ? its.start() : *at;
        ::carries<Op, STEPS>(before, x, prefix);
        prefix[STEPS] = SINGLE ? Op::combine(before, total<Op, STEPS>(x)) : at[cut.columns];
      }

      const Acc *result = results<P, STEPS>(rows, prefix, first + item.at, rows.has(RS_TOTALS), its);
      if (!IN_PLACE && out.mode == STRAIGHT)
        write_straight(item, result);
      else
        write(item, result);
    });
  }
};

template <class P, int THREADS, int STEPS>
RS_DEVICE void scan_column_tiles(const Rows<P::rank> &rows, const ColumnCut &cut) {
  using T = ColumnTile<P, THREADS, STEPS>;
  using Acc = typename P::Acc;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Gate<1> there;
  RS_SHARED Turn turn;

  u32 number = block_index();
  constexpr bool LONG = T::LENGTH > RS_COLUMN_STEPS;
  bool cuts = LONG && cut.tiles > 1;
  if (cuts) {
    if (thread_index() == 0)
      turn = take_turn(static_cast<TurnState *>(rows.workspace), block_count());
    block_barrier();
    number = turn.number;
  }
  auto place = ColumnPlace::of<P::reverse, LONG>(cut, number);
  T tile(rows, cut, place, memory);
  tile.load(there);
  if constexpr (!T::SINGLE) {
    tile.up();
    block_barrier();
  }
  if constexpr (LONG) {
    if (cuts) {
      auto ahead = T::Ahead::of(rows.workspace, cut, (u32)rows.shape[T::LAST], place, turn.run);
      bool last = place.tile == cut.tiles - 1; // nobody asks for its total
      if (!last || tile.count == cut.steps)
        tile.tile_totals([&](int c, Acc mine) {
          tile.carries[2 * cut.columns + c] = mine;
          if (!last)
            ahead.tell(place.tile, (u32)tile.before + c, mine);
        });
      block_barrier();
      constexpr int GROUP = T::Ahead::GROUP;
      if (cut.columns * GROUP <= THREADS)
        tile.template look<GROUP>(ahead, place, !last);
      else
        tile.template look<1>(ahead, place, !last);
      block_barrier();
    }
  }
  if constexpr (!T::SINGLE) {
    tile.prefixes();
    block_barrier();
  }
  tile.down();
  tile.store();
}
