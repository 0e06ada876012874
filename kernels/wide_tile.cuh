// wide_tile.cuh - regime column, neighbouring columns: a tile of them, and what its threads tell one another
// SPDX-License-Identifier: MIT
//
// A tile is a strip of neighbouring columns by some steps along the length, or by all of it; then it may have several
// outers. A thread has a segment: STEPS consecutive steps of VECTOR columns, each NEXT columns after the one before.
// Threads stand side by side along a step, then along the length. src/family/wide_cut.c cuts the tensor so, for the
// number of columns of this run. Tiles of one strip hand one another the totals of their columns.
#pragma once
#include "abreast.cuh"
#include "beside.cuh"
#include "cuts.h"
#include "prefetch.cuh"
#include "rows.cuh"

// Self, a kernel's own tile, says how elements come and go:
//   brought()                       where a thread finds what there is of its segment in shared memory: its get(j) is
//                                   step j of all inputs, as Vectors (inputs.cuh)
//   void bring()                    asks for it; it is there after fetch_wait() and, if IN_COMMON, a warp_barrier()
//   void give(before, end)          stores the segment's results, given the prefixes before it and through it
// Where elements do not lie there it has an each_batch(), a BATCH and BATCHES of its own, and no Brought.
template <class P, int THREADS, int VECTOR, int STEPS, int WIDTH, bool COMMON, bool PACKED, class Self>
struct WideTile {
  RS_TYPES_OF(P);
  using Each = Beside<P, VECTOR, PACKED>; // a thread's columns
  using Values = typename Each::Values;
  using Stored = typename Each::Stored;
  RS_METHOD static constexpr int least(int a, int b) {
    return a < b ? a : b;
  }
  static constexpr bool ALL_LOOK = false; // eight lanes for a column, so that each takes few registers
  static constexpr int RANK = P::rank;
  static constexpr bool IN_COMMON = COMMON;                  // a warp has the strip's whole width
  static constexpr int NEXT = IN_COMMON && !PACKED ? 32 : 1; // columns from one of a thread to its next
  static constexpr bool SINGLE = P::length <= STEPS;         // a thread has all steps
  static constexpr bool WHOLE = P::length % STEPS == 0;      // or none of a segment
  static constexpr int SEGMENTS = THREADS / WIDTH;           // of a tile, at least, if there are several tiles
  static constexpr bool CUTS = P::length > SEGMENTS *STEPS;  // there may be
  static constexpr int OUTER = Offsets<P>::OUTER;
  static constexpr int THREADS_LOG = log2_floor(THREADS);
  // Segments of all outers, at most.
  static constexpr int ROWS = IN_COMMON ? SEGMENTS : VECTOR == 1 ? THREADS : least(THREADS, 32 * VECTOR);
  static constexpr int FEW = IN_COMMON && sizeof(In) == sizeof(Out) ? 16 / (int)sizeof(In) : 1; // whole words
  static constexpr int MANY = 128 / (int)sizeof(Values);
  static constexpr int BATCH = least(STEPS, MANY > FEW ? MANY : FEW); // in registers at a time
  static constexpr int BATCHES = STEPS / BATCH;
  // Keeps lanes along the length out of each other's banks.
  static constexpr int PAD = least(16, (int)sizeof(Values)) / (int)sizeof(Stored);

  // Where a tile lies. at: its first step and column.
  struct Place : ColumnPlace {
    u32 number, run; // of the turn
    i32 outers;      // there are
    Offsets<P> at;
  };
  struct Shared {
    Place place;
    alignas(16) Stored totals[SINGLE ? 1 : THREADS * VECTOR + ROWS * PAD]; // by outer, segment, column
    alignas(16) Stored carry[CUTS ? WIDTH * VECTOR : 1], end[CUTS ? WIDTH * VECTOR : 1];
  };
  RS_METHOD const Self &self() const {
    return static_cast<const Self &>(*this);
  }
  const Rows<P::rank> &rows;
  const WideCut &cut;
  Shared &shared;
  int column, outer, segment; // this thread's
  unsigned char *memory;

  RS_METHOD WideTile(const Rows<P::rank> &rows, const WideCut &cut, Shared &shared, unsigned char *memory)
      : rows(rows), cut(cut), shared(shared), memory(memory) {
    int row = (int)thread_index() >> cut.width, lane = (int)thread_index() & ((1 << cut.width) - 1);
    column = NEXT > 1 ? lane : lane * VECTOR;
    outer = row >> cut.segments;
    segment = row & ((1 << cut.segments) - 1);
  }

  // Of a step of the scan in a column.
  RS_METHOD static Offsets<P> start(const Rows<P::rank> &rows, i64 step, i64 column) {
    Offsets<P> at = Offsets<P>::of_step(rows, P::reverse ? P::length - 1 - step : step);
    at.move_beside(rows, column);
    return at;
  }
  // One thread finds the tile's place.
  RS_METHOD void find(u32 number, u32 run) const {
    ColumnPlace place = ColumnPlace::of<P::reverse, CUTS>(cut, number);
    Offsets<P> at = Self::start(rows, ((i64)place.tile << cut.segments) * STEPS, (i64)place.strip * cut.apart);
    i32 outers = at.move_to_outers(rows, place.outer, cut.outers, cut.groups);
    shared.place = {place, number, run, outers, at};
  }

  // Slow memory would make a tile late, and all after it. What it asks for is not its own share of the run, but as
  // much.
  RS_METHOD void prefetch() const {
    i64 all = rows.count * P::length, at = ((i64)shared.place.number + cut.ahead) * cut.share, left = all - at;
    if (cut.ahead == 0 || left <= 0)
      return;
    i64 count = left < cut.share ? left : cut.share, first = P::reverse ? left - count : at;
    prefetch_run(rows.template data<In>(RS_IN), first, count);
    if (MASKED)
      prefetch_run(rows.template data<Mask>(RS_MASK), first, count);
  }

  // Columns of the strip that there are.
  RS_METHOD int columns() const {
    return least(cut.columns - shared.place.strip * cut.apart, cut.most);
  }
  // Those that no other strip stores.
  RS_METHOD int own_columns() const {
    return shared.place.strip < cut.strips - 1 ? cut.apart : columns();
  }
  // Steps from the tile's first, or from this thread's first, to the end of the row.
  RS_METHOD i64 tile_left() const {
    return CUTS ? P::length - ((i64)shared.place.tile << cut.segments) * STEPS : P::length;
  }
  RS_METHOD i64 left() const {
    return tile_left() - segment * STEPS;
  }
  // Those that its segment has.
  RS_METHOD int steps() const {
    i64 count = left();
    return WHOLE || count > STEPS ? STEPS : (int)count;
  }
  RS_METHOD bool there() const {
    return (IN_COMMON || column < columns()) && outer < shared.place.outers && left() > 0;
  }
  // To the next step of the scan.
  RS_METHOD i64 step(int which) const {
    i64 step = Offsets<P>::step(rows, which);
    return P::reverse ? -step : step;
  }
  // The first step of the segment, in the tile's first column.
  template <class E> RS_METHOD E *first(int which) const {
    i64 outers = P::rank > 1 ? outer * Offsets<P>::stride(rows, which, OUTER) : 0;
    return array_of<E, P>(rows, which) + (shared.place.at.of[which] + outers + segment * STEPS * step(which));
  }

  // f(k, steps of batch k), for one batch after another.
  template <class F> RS_METHOD void each_batch(const F &f) const {
    auto all = self().brought();
    const typename R::Params params = R::params_of(rows);
    bool first = is_first();
#pragma unroll 1
    for (int k = 0; k < BATCHES; k++) {
      Values x[BATCH];
#pragma unroll
      for (int j = 0; j < BATCH; j++)
        x[j] = Each::enter(all.get(k * BATCH + j), first && k == 0 && j == 0, params);
      f(k, x);
    }
  }

  // In shared memory, from one segment to the next.
  RS_METHOD int pitch() const {
    return (VECTOR << cut.width) + PAD;
  }
  RS_METHOD Stored *totals(int row, int first) const {
    return shared.totals + row * pitch() + first;
  }
  RS_METHOD static Values values(const Stored *at) {
    return *reinterpret_cast<const Values *>(at);
  }
  RS_METHOD static void share(Stored *at, const Values &value) {
    if constexpr (PACKED)
      *reinterpret_cast<Values *>(at) = value;
    else
      share_vector<Acc, VECTOR>(at, value);
  }
  // Those of a thread's columns, `at` the first one's.
  RS_METHOD static Values own_values(const Stored *at) {
    if constexpr (NEXT == 1)
      return values(at);
    else
      return Each::each([&](int v) { return at[v * NEXT]; });
  }
  // Leaves for each segment the total of the aligned block of segments that ends with it, as large as can be.
  RS_METHOD void up() {
    Counter<Each, Self::BATCHES, Values> all;
    self().each_batch([&](int k, const Values *x) { all.add(k, total<Each, Self::BATCH>(x)); });
    Values mine = all.digit[all.LEVELS - 1];
    if constexpr (!SINGLE) {
      Stored *own = totals((int)thread_index() >> cut.width, column);
      if constexpr (NEXT == 1)
        share(own, mine);
      else
#pragma unroll
        for (int v = 0; v < VECTOR; v++)
          own[v * NEXT] = Each::one(mine, v);
      block_barrier();
      // threads stand along the length, then side by side
      int log = THREADS_LOG - cut.width, row = (int)thread_index() & ((1 << log) - 1);
      Stored *at = totals(row, ((int)thread_index() >> log) * VECTOR);
      mine = values(at);
#pragma unroll
      for (int d = 0; d < 5; d++)
        if (d < cut.segments) {
          Values other = Each::exchange(mine, 1 << d);
          if ((~row & ((2 << d) - 1)) == 0)
            mine = Each::combine(other, mine);
        }
      share(at, mine);
#pragma unroll 1
      for (int d = 5; d < cut.segments; d++) { // between warps
        block_barrier();
        int i = (int)thread_index();
        if (i < 1 << (log - d - 1 + cut.width)) {
          int end = (((i >> cut.width) + 1) << (d + 1)) - 1, first = (i & ((1 << cut.width) - 1)) * VECTOR;
          share(totals(end, first), Each::combine(values(totals(end - (1 << d), first)), values(totals(end, first))));
        }
      }
    }
  }

  RS_METHOD Ends<P> ends(int outer, int column) const {
    return ends_of(rows, shared.place.at, outer, column);
  }

  // What the folds of the thread's columns start from.
  RS_METHOD Values starts() const {
    return starts(start_of<P>(rows));
  }
  // The same; without: where there is no initial value.
  RS_METHOD Values starts(Acc without) const {
    return Each::each([&](int v) {
      return !IN_COMMON || column + v * NEXT < columns() ? ends(outer, column + v * NEXT).started(without) : without;
    });
  }

  // Of prefixes before elements x, what an exclusive scan shows; is_first: x is the row's first batch.
  RS_METHOD void show_exclusive(Values *prefix, const Values *x, bool is_first) const {
    if (P::exclusive && is_first)
      prefix[0] = starts(Op::identity());
    if constexpr (P::exclusive && has_segments<Op>)
#pragma unroll
      for (int j = 0; j < BATCH; j++)
        prefix[j] = Each::each([&](int v) { return shown_before<Op>(Each::one(prefix[j], v), Each::one(x[j], v)); });
  }

  // The prefixes before the tile and through it.
  RS_METHOD void look() const {
    using Ahead = ColumnsAhead<Op, Acc>;
    block_barrier();
    const Place &place = shared.place;
    const Stored *total = totals((1 << cut.segments) - 1, 0);
    Ahead others = Ahead::of(rows.workspace, cut, (u32)cut.columns, place, place.run);
    bool last = place.tile == cut.tiles - 1; // nobody asks for its total
    u32 first = (u32)(place.strip * cut.apart);
    constexpr int LANES = Self::ALL_LOOK ? Ahead::GROUP : 1;
    Ahead::template each_column<LANES, THREADS>(columns(), [&](int c, bool mine) {
      bool tells = mine && !last && c < own_columns();
      Acc carry, end;
      if (tells)
        others.tell((u32)place.tile, first + c, total[c]);
      others.template look<LANES>((u32)place.tile, first + c, tells, total[c], ends(0, c).start(), carry, end);
      if (mine) {
        shared.carry[c] = (Stored)carry;
        shared.end[c] = (Stored)end;
      }
    });
  }

  // Stores the prefixes.
  RS_METHOD void down() {
    if (!there())
      return;
    bool cuts = CUTS && cut.tiles > 1;
    Values before, end;
    if (CUTS && cuts)
      before = own_values(shared.carry + column);
    else
      before = starts();
    if constexpr (!SINGLE) {
      // the ones at the end of the segment's number are the blocks that its own joins
      int low = segment & ~(segment + 1), bit = 1 << cut.segments >> 1;
      const Stored *at = totals((int)thread_index() >> cut.width, column);
#pragma unroll 1
      for (; bit > low; bit >>= 1)
        if (segment & bit)
          before = Each::combine(before, own_values(at - ((segment & (bit - 1)) + 1) * pitch()));
      end = Each::combine(before, own_values(at));
#pragma unroll 1
      for (; bit; bit >>= 1)
        before = Each::combine(before, own_values(at - ((segment & (bit - 1)) + 1) * pitch()));
      if (CUTS && cuts && segment == (1 << cut.segments) - 1)
        end = own_values(shared.end + column);
    }
    self().give(before, end);
  }

  static constexpr int TAIL = (int)((P::length - 1) % STEPS + 1); // steps of the last segment
  RS_METHOD bool is_first() const {
    return left() == P::length;
  }
  RS_METHOD bool keeps() const { // the row's totals
    return left() == TAIL && rows.has(RS_TOTALS);
  }

  // The totals of the thread's columns.
  RS_METHOD void keep(const Values &value) const {
#pragma unroll
    for (int v = 0; v < VECTOR; v++)
      if (!IN_COMMON || column + v * NEXT < own_columns())
        ends(outer, column + v * NEXT).keep(Each::one(value, v));
  }
};

template <class T> RS_DEVICE void scan_wide_tile(const Rows<T::RANK> &rows, const WideCut &cut) {
  RS_DYNAMIC_SHARED(memory); // of all that is brought
  RS_SHARED typename T::Shared shared;
  T tile(rows, cut, shared, memory);
  bool cuts = T::CUTS && cut.tiles > 1;
  if (thread_index() == 0) {
    Turn turn{block_index(), 0};
    if (cuts)
      turn = take_turn(static_cast<TurnState *>(rows.workspace), block_count());
    tile.find(turn.number, turn.run);
  }
  block_barrier();
  tile.bring();
  if (thread_index() == 32)
    tile.prefetch();
  fetch_wait();
  if (T::IN_COMMON)
    warp_barrier();
  tile.up();
  if constexpr (T::CUTS)
    if (cuts)
      tile.look();
  if constexpr (!T::SINGLE)
    block_barrier();
  tile.down();
}
