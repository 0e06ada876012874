// ring_columns.cuh - regime column, from sm_90 on: a block has neighbouring columns from the first step to the last
// SPDX-License-Identifier: MIT
//
// As row_ring.cuh, for rows that lie side by side: bulk copies bring tiles of STEPS steps to a ring in shared memory
// and take results away. A thread has a column, whose prefix stays in a register, so that no block waits for another;
// it pays where there are columns for all multiprocessors. Two warps more move tiles, one in and one out, and the
// others wait for these alone. Tiles lie in shared memory at their offset from a word of 16 bytes: one run of
// neighbours for each outer, or one for each step where a block has a strip of the columns, which then overlaps the
// next one as in askew.cuh, so that no two blocks write one sector. src/family/ring_cut.c says how many outers and
// columns a block has.
#pragma once
#include "cuts.h"
#include "divide.cuh"
#include "inputs.cuh"
#include "run.cuh"
#include "stages.cuh"

// One array: its tiles in global memory, and in a copy in shared memory.
template <class P, class E, int STEPS> struct RingSheet {
  static constexpr int SIZE = (int)sizeof(E), UNIT = UNIT_OF<E>, SECTOR = 32 / SIZE;

  E *first;        // the strip's first column, of the first outer, at step 0 of memory
  i64 step, outer; // strides
  RingPart part;

  // The lowest step of a tile, which may be before the column's in a reverse scan: its last tile lacks lower ones.
  RS_METHOD static i64 lowest(int tile) {
    return P::reverse ? P::length - (i64)(tile + 1) * STEPS : (i64)tile * STEPS;
  }
  RS_METHOD E *at(int outer_number, int tile) const {
    return first + (outer_number * outer + lowest(tile) * step);
  }
  // Where an outer's tile begins in the copy, at the place of its lowest step.
  RS_METHOD int place(int outer_number, int tile) const {
    return outer_number * part.outer + offset_of(at(outer_number, tile));
  }

  // Where a column's first step of the scan is in a tile's copy, and how far the next one is from it.
  RS_METHOD int column_at(int outer_number, int column, int tile) const {
    return place(outer_number, tile) + (P::reverse ? (STEPS - 1) * part.pitch : 0) + column;
  }
  RS_METHOD int next() const {
    return P::reverse ? -part.pitch : part.pitch;
  }

  // A run of neighbours: in memory, and the place of the first one in the copy.
  struct Run {
    E *at;
    int place, count;
  };
  // The one that a lane moves, of a tile that has `steps` of its steps, of so many outers and columns; or none.
  RS_METHOD Run run(int tile, int steps, int outers, int columns) const {
    int lane = (int)lane_index(), lacking = P::reverse ? STEPS - steps : 0;
    int o = part.is_run ? lane : 0, j = part.is_run ? lacking : lane;
    bool there = part.is_run ? o < outers : j >= lacking && j < lacking + steps;
    return {at(o, tile) + j * step, place(o, tile) + j * part.pitch, (part.is_run ? steps * columns : columns) * there};
  }
};

// Where the last whole word of 16 bytes of an array ends. What memory has after its highest element is not read; before
// its lowest one there is as much as to a multiple of 16 bytes.
template <class P> RS_DEVICE u64 end_of_words(const Rows<P::rank> &rows, int which, int size) {
  i64 last = (P::length - 1) * Offsets<P>::step(rows, which), high = last > 0 ? last : 0;
  RS_EACH_DIMENSION
  for (int d = 0; d < P::rank; d++) {
    i64 far = (rows.shape[d] - 1) * Offsets<P>::stride(rows, which, d);
    high += far > 0 ? far : 0;
  }
  return (reinterpret_cast<u64>(array_of<void, P>(rows, which)) + (u64)((high + 1) * size)) & ~(u64)15;
}

// What a lane brings of an array: the whole words that its run lies in, and at the array's end single elements.
template <class S> struct Bringing {
  typename S::Run run;
  int first, count; // of the words: elements from the run's first on

  RS_METHOD Bringing(const typename S::Run &run, u64 end) : run(run) {
    u64 at = reinterpret_cast<u64>(run.at), low = at & ~(u64)15,
        high = (at + (u64)(run.count * S::SIZE) + 15) & ~(u64)15;
    high = high < end ? high : end;
    first = -(int)(at - low) / S::SIZE;
    count = run.count > 0 && high > low ? (int)(high - low) / S::SIZE : 0;
  }
  RS_METHOD u32 bytes() const {
    return (u32)(count * S::SIZE);
  }
  template <class E> RS_METHOD void load(E *to, Filling stage) const {
    stage.load(to + run.place + first, run.at + first, bytes());
  }
  // Returns whether there was one.
  template <class E> RS_METHOD bool put_rest(E *to) const {
    int rest = count ? first + count : 0;
#pragma unroll 1
    for (int e = rest; e < run.count; e++)
      to[run.place + e] = load_element(run.at + e);
    return rest < run.count;
  }
};

// A list of inputs.
template <class P, int STEPS, class L = typename InputsOf<P>::type> struct RingInputs;
template <class P, int STEPS> struct RingInputs<P, STEPS, List<>> {
  static constexpr int COUNT = 0;
  struct Bring {
    RS_METHOD u32 bytes() const {
      return 0;
    }
    RS_METHOD bool put_rest(unsigned char *) const {
      return false;
    }
    RS_METHOD void load(unsigned char *, Filling) const {
    }
  };
  struct Column {
    RS_METHOD NoVectors get(int) const {
      return {};
    }
  };
  template <class Ring> RS_METHOD explicit RingInputs(const Ring &) {
  }
  RS_METHOD static void find_ends(const Rows<P::rank> &, u64 *) {
  }
  RS_METHOD Bring bring(int, int, int, int, const u64 *) const {
    return {};
  }
  RS_METHOD Column column(unsigned char *, int, int, int) const {
    return {};
  }
};
template <class P, int STEPS, class I, class... Rest> struct RingInputs<P, STEPS, List<I, Rest...>> {
  using E = typename I::Type;
  using Sheet = RingSheet<P, E, STEPS>;
  using Others = RingInputs<P, STEPS, List<Rest...>>;
  static constexpr int COUNT = 1 + Others::COUNT;
  Sheet own;
  Others others;

  template <class Ring>
  RS_METHOD explicit RingInputs(const Ring &ring) : own(ring.template sheet<E>(I::WHICH)), others(ring) {
  }
  // Where words end that may be read, of each input.
  RS_METHOD static void find_ends(const Rows<P::rank> &rows, u64 *end) {
    *end = end_of_words<P>(rows, I::WHICH, sizeof(E));
    Others::find_ends(rows, end + 1);
  }
  struct Bring {
    Bringing<Sheet> own;
    int at;
    typename Others::Bring others;
    RS_METHOD u32 bytes() const {
      return own.bytes() + others.bytes();
    }
    RS_METHOD bool put_rest(unsigned char *stage) const {
      bool rest = own.put_rest(reinterpret_cast<E *>(stage + at));
      return others.put_rest(stage) || rest;
    }
    RS_METHOD void load(unsigned char *stage, Filling to) const {
      own.load(reinterpret_cast<E *>(stage + at), to);
      others.load(stage, to);
    }
  };
  // What the lane brings of a tile.
  RS_METHOD Bring bring(int tile, int steps, int outers, int columns, const u64 *end) const {
    return {{own.run(tile, steps, outers, columns), *end},
            own.part.at,
            others.bring(tile, steps, outers, columns, end + 1)};
  }
  // A thread's column of a tile.
  struct Column {
    const E *at;
    int next;
    typename Others::Column others;
    RS_METHOD auto get(int j) const {
      return vectors<I::WHICH>(Vector<E, 1>{{at[j * next]}}, Nothing{}, others.get(j));
    }
  };
  RS_METHOD Column column(unsigned char *stage, int outer, int column, int tile) const {
    return {reinterpret_cast<const E *>(stage + own.part.at) + own.column_at(outer, column, tile), own.next(),
            others.column(stage, outer, column, tile)};
  }
};

template <class P, int STEPS, int STAGES> struct ColumnRing {
  RS_TYPES_OF(P);
  using I = Inside<P>;
  using Inner = typename I::Inner;
  using Part = typename I::Part;
  static constexpr int TILES = (int)((P::length + STEPS - 1) / STEPS);
  static constexpr int BUFFERS = RS_RING_BUFFERS;
  static constexpr bool COUNTS = !is_exact<Inner>; // else the order of tiles changes no bit
  using Inputs = RingInputs<P, STEPS>;
  using Second = typename FurtherOf<P>::Second;
  template <class E> using SheetOf = RingSheet<P, E, STEPS>;
  static_assert(STEPS <= 32, "a lane moves a step");

  struct Shared {
    Gate<STAGES> full, read;
    Gate<BUFFERS> written, taken;
    Offsets<P> at;
    u64 end[Inputs::COUNT];
    int strip, outers;
  };
  const Rows<P::rank> &rows;
  const RingCut &cut;
  Shared &shared;
  unsigned char *memory;
  Inputs inputs;
  SheetOf<Out> out;
  int columns; // of the strip

  // One thread finds the block's place.
  RS_METHOD static void find(const Rows<P::rank> &rows, const RingCut &cut, Shared &shared) {
    u32 number = block_index(), strips = (u32)cut.strips, outer = number / strips;
    shared.strip = (int)(number - outer * strips);
    shared.at = Offsets<P>::of_step(rows, 0);
    shared.at.move_beside(rows, (i64)shared.strip * cut.apart);
    shared.outers = shared.at.move_to_outers(rows, outer, cut.outers, cut.groups);
    Inputs::find_ends(rows, shared.end);
    shared.full.init(32);
    shared.read.init((u32)cut.warps);
    shared.written.init((u32)cut.warps);
    shared.taken.init();
  }
  template <class E> RS_METHOD SheetOf<E> sheet(int which) const {
    using O = Offsets<P>;
    return {array_of<E, P>(rows, which) + shared.at.of[which], O::step(rows, which),
            P::rank > 1 ? O::stride(rows, which, O::OUTER) : 0, cut.part[which]};
  }
  RS_METHOD ColumnRing(const Rows<P::rank> &rows, const RingCut &cut, Shared &shared, unsigned char *memory)
      : rows(rows), cut(cut), shared(shared), memory(memory), inputs(*this), out(sheet<Out>(RS_OUT)) {
    int left = cut.columns - shared.strip * cut.apart;
    columns = left < cut.most ? left : cut.most;
  }
  RS_METHOD unsigned char *stage(int tile) const {
    return memory + tile % STAGES * cut.stage_bytes;
  }
  template <class E> RS_METHOD E *results_copy(const SheetOf<E> &sheet, int tile) const {
    return reinterpret_cast<E *>(memory + STAGES * cut.stage_bytes + tile % BUFFERS * cut.buffer_bytes + sheet.part.at);
  }
  RS_METHOD static RingPlace stage_of(int tile) {
    return RingPlace(STAGES, tile);
  }
  RS_METHOD static RingPlace buffer_of(int tile) {
    return RingPlace(BUFFERS, tile);
  }
  RS_METHOD static int steps_of(int tile) {
    return P::length % STEPS && tile == TILES - 1 ? (int)(P::length % STEPS) : STEPS;
  }

  // ---- two warps that move tiles ----

  // Starts the copies of a tile.
  RS_METHOD void fetch(int tile) const {
    auto bring = inputs.bring(tile, steps_of(tile), shared.outers, columns, shared.end);
    if (any_lane(bring.put_rest(stage(tile))))
      bulk_fence(); // a bulk copy will write over it
    Filling to = shared.full.fill(stage_of(tile));
    to.expect(bring.bytes());
    bring.load(stage(tile), to);
  }
  // Stores a tile's results of an output, a run a lane: words by a bulk copy, and the elements around them.
  template <class E> RS_METHOD void store(const SheetOf<E> &out, int tile) const {
    using Sheet = SheetOf<E>;
    constexpr int UNIT = Sheet::UNIT;
    typename Sheet::Run run = out.run(tile, steps_of(tile), shared.outers, columns);
    const E *from = results_copy(out, tile) + run.place;
    int low = 0, high = run.count;
    if (!out.part.is_run && high > 0) { // the sectors that begin in the strip's own columns
      int sector = -(int)((u32) reinterpret_cast<u64>(run.at) / Sheet::SIZE) & (Sheet::SECTOR - 1);
      bool overlaps = cut.apart < cut.most;
      low = overlaps && shared.strip > 0 ? sector : 0;
      high = cut.apart + (overlaps ? sector : 0);
      high = shared.strip < cut.strips - 1 && high < run.count ? high : run.count;
    }
    int head = low + (UNIT - offset_of(run.at + low)) % UNIT;
    head = head < high ? head : high;
    int tail = high > head ? head + (high - head) / UNIT * UNIT : head;
    if (tail > head)
      bulk_store(run.at + head, from + head, (tail - head) * (u32)sizeof(E));
    E before[UNIT], after[UNIT]; // all are read before one is stored
#pragma unroll
    for (int e = 0; e < UNIT - 1; e++) {
      if (low + e < head)
        before[e] = from[low + e];
      if (tail + e < high)
        after[e] = from[tail + e];
    }
#pragma unroll
    for (int e = 0; e < UNIT - 1; e++) {
      if (low + e < head)
        store_element(run.at + low + e, before[e]);
      if (tail + e < high)
        store_element(run.at + tail + e, after[e]);
    }
  }
  RS_METHOD void bring_all() const {
#pragma unroll 1
    for (int t = 0; t < TILES; t++) {
      if (t >= STAGES)
        shared.read.wait_for_last(stage_of(t));
      fetch(t);
    }
  }
  RS_METHOD void store_all() const {
#pragma unroll 1
    for (int t = 0; t < TILES; t++) {
      shared.written.wait(buffer_of(t));
      bulk_wait_own(); // results of the tile before
      bulk_fence();    // once more: each warp has for its own results
      if (t > 0 && lane_index() == 0)
        shared.taken.signal(buffer_of(t - 1));
      store(out, t);
      if constexpr (HAS_SECOND<P>)
        store(sheet<Second>(RS_SECOND), t);
    }
    bulk_wait_own();
  }

  // ---- the others ----

  struct Column {
    const ColumnRing &ring;
    int outer, column;
    RS_METHOD Ends<P> ends() const {
      return ends_of(ring.rows, ring.shared.at, outer, column);
    }
    RS_METHOD void keep(Acc value) const {
      ends().keep(value);
    }
    RS_METHOD Acc empty() const {
      return ends().empty();
    }
  };
  // An element of a column, and whether a segment begins with it, given that of the one before.
  template <class X> RS_METHOD static Acc enter(const X &x, bool begins, const typename R::Params &params) {
    if constexpr (FurtherOf<P>::ANY)
      return R::value(held(x, begins), params);
    else if constexpr (MASKED)
      return R::enter(x.own.at[0], x.template of<RS_MASK>().own.at[0]);
    else
      return R::enter(x.own.at[0], Mask{});
  }
  template <class X> RS_METHOD static Gathered<P> held(const X &x, bool begins) {
    Gathered<P> held = gathered<P>(x, 0);
    if constexpr (TOLD<P>)
      held.begins = begins;
    return held;
  }
  // What tells segments of the element before; and the bits of those of a tile that begin one.
  struct Beginning {
    typename FurtherOf<P>::Segment last;
    u32 bits;
    template <class X> RS_METHOD bool with(const X &x, int j, bool first) {
      bool begins = false;
      if constexpr (TOLD<P>) {
        auto own = x.template of<RS_SEGMENTS>().own.at[0];
        begins = begins_segment<P>(first, last, own);
        bits = (j ? bits : 0) | (u32)begins << j;
        last = own;
      }
      return begins;
    }
  };
  RS_METHOD void write(const Column &own, int tile, const Acc *x) const {
    Out *at = results_copy(out, tile) + out.column_at(own.outer, own.column, tile);
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      at[j * out.next()] = R::leave(x[j]);
  }
  // The SECOND output or the first, of what is held of its elements.
  template <bool SECOND, class T, class From>
  RS_METHOD void write_own(const SheetOf<T> &sheet, const Column &own, int tile, const From &from, u32 begins,
                           const Acc *shown, const typename R::Params &params) const {
    T *at = results_copy(sheet, tile) + sheet.column_at(own.outer, own.column, tile);
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      at[j * sheet.next()] =
          Narrow<T>::from(held(from.get(j), begins >> j & 1).template shown<SECOND>(shown[j], params));
  }
  // The prefixes before the elements of a tile, and after the last one.
  template <class C>
  RS_METHOD static void prefixes(int t, Acc carry, Acc start, C &counter, const Part *x, Acc *prefix) {
    if constexpr (I::SPLIT) {
      Part inside[STEPS + 1];
      carries<Inner, STEPS>(Inner::neutral(), x, inside);
      inside[STEPS] = Inner::combine(inside[STEPS - 1], x[STEPS - 1]);
#pragma unroll
      for (int j = 0; j <= STEPS; j++)
        prefix[j] = I::prefix(carry, inside[j]);
    } else {
      carries<Op, STEPS>(carry, x, prefix);
      prefix[STEPS] =
          COUNTS ? counter.push(t, total<Op, STEPS>(x), start) : Op::combine(prefix[STEPS - 1], x[STEPS - 1]);
    }
  }
  RS_METHOD void scan() const {
    Column own{*this, divide((int)thread_index(), cut.by_most), 0};
    own.column = (int)thread_index() - own.outer * cut.most;
    bool there = own.outer < shared.outers && own.column < columns;
    bool keeps = there && rows.has(RS_TOTALS) && (shared.strip == cut.strips - 1 || own.column < cut.apart);
    Acc start = there ? own.ends().start() : Op::neutral(), carry = start;
    Counter<Op, COUNTS ? TILES : 1, Acc> counter;
    const typename R::Params params = R::params_of(rows);
    Beginning beginning{};
#pragma unroll 1
    for (int t = 0; t < TILES; t++) {
      Part x[STEPS];
      auto from = inputs.column(stage(t), own.outer, own.column, t);
      shared.full.wait(stage_of(t));
      if (there)
#pragma unroll
        for (int j = 0; j < STEPS; j++) {
          auto element = from.get(j);
          x[j] = (Part)enter(element, beginning.with(element, j, t == 0 && j == 0), params);
        }
      if (!SHOWS_OWN<P>)
        shared.read.signal_behind(stage_of(t));
      if (t >= BUFFERS)
        shared.taken.wait_for_last(buffer_of(t));
      if (there) {
        Acc prefix[STEPS + 1]; // prefix[j]: of all elements before element j
        prefixes(t, carry, start, counter, x, prefix);
        carry = prefix[STEPS];
        const Acc *shown = results<P, STEPS>(rows, prefix, t * STEPS, keeps, own);
        if constexpr (TOLD<P> && P::exclusive)
#pragma unroll
          for (int j = 0; j < STEPS; j++)
            prefix[j] = beginning.bits >> j & 1 ? Op::identity() : prefix[j];
        if constexpr (WEIGHS<P>)
          write_own<false>(out, own, t, from, beginning.bits, shown, params);
        else
          write(own, t, shown);
        if constexpr (HAS_SECOND<P>)
          write_own<true>(sheet<Second>(RS_SECOND), own, t, from, beginning.bits, shown, params);
      }
      if (SHOWS_OWN<P>) // which has read the elements once more
        shared.read.signal_behind(stage_of(t));
      shared.written.signal_behind(buffer_of(t));
    }
  }
};

template <class P, int STEPS, int STAGES>
RS_DEVICE void scan_ring_columns(const Rows<P::rank> &rows, const RingCut &cut) {
  using Ring = ColumnRing<P, STEPS, STAGES>;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED typename Ring::Shared shared;
  if (thread_index() == 0)
    Ring::find(rows, cut, shared);
  block_barrier();
  Ring ring(rows, cut, shared, memory);
  bool brings = alike((int)thread_index() / 32 == cut.warps), stores = alike((int)thread_index() / 32 > cut.warps);
  if (brings)
    ring.bring_all();
  else if (stores)
    ring.store_all();
  else
    ring.scan();
}
