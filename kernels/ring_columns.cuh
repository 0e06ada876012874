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
#include "held.cuh"
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
  i64 last = (P::length - 1) * rows.step[which], high = last > 0 ? last : 0;
  RS_EACH_DIMENSION
  for (int d = 0; d < P::rank; d++) {
    i64 far = (rows.shape[d] - 1) * rows.stride[which][d];
    high += far > 0 ? far : 0;
  }
  return (reinterpret_cast<u64>(rows.at[which]) + (u64)((high + 1) * size)) & ~(u64)15;
}

template <class P, int STEPS, int STAGES> struct ColumnRing {
  RS_TYPES_OF(P);
  using I = Inside<P>;
  using Inner = typename I::Inner;
  using Part = typename I::Part;
  static constexpr int TILES = (int)((P::length + STEPS - 1) / STEPS);
  static constexpr int BUFFERS = RS_RING_BUFFERS;
  static constexpr bool COUNTS = !is_exact<Inner>; // else the order of tiles changes no bit
  using InSheet = RingSheet<P, In, STEPS>;
  using MaskSheet = RingSheet<P, Mask, STEPS>;
  using OutSheet = RingSheet<P, Out, STEPS>;
  static_assert(STEPS <= 32, "a lane moves a step");

  struct Shared {
    Gate<STAGES> full, read;
    Gate<BUFFERS> written, taken;
    Offsets<P> at;
    u64 in_end, mask_end; // of words that may be read
    int strip, outers;
  };
  const Rows<P::rank> &rows;
  const RingCut &cut;
  Shared &shared;
  unsigned char *memory;
  InSheet in;
  MaskSheet mask;
  OutSheet out;
  int columns; // of the strip

  // One thread finds the block's place.
  RS_METHOD static void find(const Rows<P::rank> &rows, const RingCut &cut, Shared &shared) {
    u32 number = block_index(), strips = (u32)cut.strips, outer = number / strips;
    shared.strip = (int)(number - outer * strips);
    shared.at = Offsets<P>::of_step(rows, 0);
    shared.at.move_beside(rows, (i64)shared.strip * cut.apart);
    shared.outers = shared.at.move_to_outers(rows, outer, cut.outers, cut.groups);
    shared.in_end = end_of_words<P>(rows, RS_IN, sizeof(In));
    if (MASKED)
      shared.mask_end = end_of_words<P>(rows, RS_MASK, sizeof(Mask));
    shared.full.init(32);
    shared.read.init((u32)cut.warps);
    shared.written.init((u32)cut.warps);
    shared.taken.init();
  }
  template <class S, class E> RS_METHOD S sheet(int which, const RingPart &part) const {
    return {rows.template data<E>(which) + shared.at.of[which], rows.step[which],
            P::rank > 1 ? rows.stride[which][Offsets<P>::OUTER] : 0, part};
  }
  RS_METHOD ColumnRing(const Rows<P::rank> &rows, const RingCut &cut, Shared &shared, unsigned char *memory)
      : rows(rows), cut(cut), shared(shared), memory(memory), in(sheet<InSheet, In>(RS_IN, cut.in)),
        mask(sheet<MaskSheet, Mask>(RS_MASK, cut.mask)), out(sheet<OutSheet, Out>(RS_OUT, cut.out)) {
    int left = cut.columns - shared.strip * cut.apart;
    columns = left < cut.most ? left : cut.most;
  }
  template <class S> RS_METHOD auto *copy(const S &sheet, int tile) const {
    return reinterpret_cast<decltype(sheet.first)>(memory + tile % STAGES * cut.stage_bytes + sheet.part.at);
  }
  RS_METHOD Out *results_copy(int tile) const {
    return reinterpret_cast<Out *>(memory + STAGES * cut.stage_bytes + tile % BUFFERS * cut.buffer_bytes);
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
    template <class E> RS_METHOD void bring_words(E *to, Filling stage) const {
      stage.load(to + run.place + first, run.at + first, bytes());
    }
    // Says whether there was one.
    template <class E> RS_METHOD bool bring_rest(E *to) const {
      int rest = count ? first + count : 0;
#pragma unroll 1
      for (int e = rest; e < run.count; e++)
        to[run.place + e] = load_element(run.at + e);
      return rest < run.count;
    }
  };
  RS_METHOD static void settle(bool wrote) {
    if (any_lane(wrote))
      bulk_fence(); // a bulk copy will write over it
  }
  // Starts the copies of a tile.
  RS_METHOD void fetch(int tile) const {
    Filling stage = shared.full.fill(stage_of(tile));
    Bringing<InSheet> elements(in.run(tile, steps_of(tile), shared.outers, columns), shared.in_end);
    bool rest = elements.bring_rest(copy(in, tile));
    if constexpr (MASKED) {
      Bringing<MaskSheet> others(mask.run(tile, steps_of(tile), shared.outers, columns), shared.mask_end);
      settle(others.bring_rest(copy(mask, tile)) || rest);
      stage.expect(elements.bytes() + others.bytes());
      others.bring_words(copy(mask, tile), stage);
    } else {
      settle(rest);
      stage.expect(elements.bytes());
    }
    elements.bring_words(copy(in, tile), stage);
  }
  // Stores the results of a tile, a run a lane: words by a bulk copy, and the elements around them.
  RS_METHOD void store(int tile) const {
    constexpr int UNIT = OutSheet::UNIT;
    typename OutSheet::Run run = out.run(tile, steps_of(tile), shared.outers, columns);
    const Out *from = results_copy(tile) + run.place;
    int low = 0, high = run.count;
    if (!out.part.is_run && high > 0) { // the sectors that begin in the strip's own columns
      int sector = -(int)((u32) reinterpret_cast<u64>(run.at) / OutSheet::SIZE) & (OutSheet::SECTOR - 1);
      bool overlaps = cut.apart < cut.most;
      low = overlaps && shared.strip > 0 ? sector : 0;
      high = cut.apart + (overlaps ? sector : 0);
      high = shared.strip < cut.strips - 1 && high < run.count ? high : run.count;
    }
    int head = low + (UNIT - offset_of(run.at + low)) % UNIT;
    head = head < high ? head : high;
    int tail = high > head ? head + (high - head) / UNIT * UNIT : head;
    if (tail > head)
      bulk_store(run.at + head, from + head, (tail - head) * (u32)sizeof(Out));
    Out before[UNIT], after[UNIT]; // all are read before one is stored
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
      store(t);
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
  // Where a column's first step of the scan is in a tile, and how far the next one is from it.
  template <class S> RS_METHOD static int place_of(const S &sheet, const Column &own, int tile) {
    return sheet.place(own.outer, tile) + (P::reverse ? (STEPS - 1) * sheet.part.pitch : 0) + own.column;
  }
  template <class S> RS_METHOD static int next_of(const S &sheet) {
    return P::reverse ? -sheet.part.pitch : sheet.part.pitch;
  }
  RS_METHOD void read(const Column &own, int tile, Part *x) const {
    const In *at = copy(in, tile) + place_of(in, own, tile);
    const Mask *mask_at = MASKED ? copy(mask, tile) + place_of(mask, own, tile) : nullptr;
    int next = next_of(in), mask_next = MASKED ? next_of(mask) : 0;
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      x[j] = (Part)R::enter(at[j * next], MASKED ? mask_at[j * mask_next] : Mask{});
  }
  RS_METHOD void write(const Column &own, int tile, const Acc *x) const {
    Out *at = results_copy(tile) + place_of(out, own, tile);
    int next = next_of(out);
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      at[j * next] = R::leave(x[j]);
  }
  RS_METHOD void scan() const {
    Column own{*this, divide((int)thread_index(), cut.by_most), 0};
    own.column = (int)thread_index() - own.outer * cut.most;
    bool there = own.outer < shared.outers && own.column < columns;
    bool keeps = there && rows.has(RS_TOTALS) && (shared.strip == cut.strips - 1 || own.column < cut.apart);
    Acc start = there ? own.ends().start() : Op::neutral(), carry = start;
    Counter<Op, COUNTS ? TILES : 1, Acc> counter;
#pragma unroll 1
    for (int t = 0; t < TILES; t++) {
      Part x[STEPS];
      shared.full.wait(stage_of(t));
      if (there)
        read(own, t, x);
      shared.read.signal_behind(stage_of(t));
      if (t >= BUFFERS)
        shared.taken.wait_for_last(buffer_of(t));
      if (there) {
        Acc prefix[STEPS + 1]; // prefix[j]: of all elements before element j
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
        carry = prefix[STEPS];
        write(own, t, results<P, STEPS>(rows, prefix, t * STEPS, keeps, own));
      }
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
