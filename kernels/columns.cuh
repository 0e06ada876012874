// columns.cuh - regime column: a block of threads scans a tile of neighbouring rows, in shared memory, and ends
// SPDX-License-Identifier: MIT
//
// Rows that lie side by side are columns: [outer, length, column]. A tile is a few neighbouring columns (a strip) by a
// power of two of steps along the length, or by all of it; then it may have several outers that follow one another in
// memory. src/columns_cut.c cuts the tensor so, for the number of columns of this run. Tiles of one strip hand one
// another the totals of their columns.
#pragma once
#include "abreast.cuh"
#include "rows.cuh"
#include "slab.cuh"

// How an array's part of a tile travels.
enum ColumnMode {
  ONE_BY_ONE, // any strides
  BY_STEPS,   // the columns of a step are neighbours, and the copy keeps every step on its offset from 16 bytes
  AS_A_RUN    // all of the tile is one run of neighbours
};

// The second parameter of the kernel; rs_column_cut of src/columns_cut.h.
struct ColumnCut {
  i32 columns, strips; // of a strip (the last may have fewer), and how many there are
  i32 steps, tiles;    // of a tile, and tiles along the length
  i32 outers, groups;  // of a tile, and how many tiles the last outer dimension takes
  i32 segments, top;   // of a tile along the length; the largest power of two less than that, or 0
  i32 in_mode, mask_mode, out_mode;
  i32 in_pitch, mask_pitch, out_pitch;        // elements between steps, in the copies
  i32 mask_at, out_at, totals_at, carries_at; // bytes; the copy of the input lies at 0
  u32 by_columns, by_segments;                // for divide()
  i32 turn_shift, turn_mask; // which step a thread reads first, so that lanes keep out of each other's banks
};

// n / d for n < 2^16, given `by` = 2^32 / d rounded up, 0 for d = 1.
RS_DEVICE int divide(int n, u32 by) {
  return by ? (int)((u64)(u32)n * by >> 32) : n;
}

// One array's part of a tile: where it lies, and its copy.
template <class T> struct Sheet {
  T *global, *shared;       // of the element that comes first in memory
  i64 outer, step, column;  // strides
  int outer_pitch, pitch;   // of the copy, whose columns are neighbours
  int outers, steps, width; // there are
  int mode;

  static constexpr int UNIT = 16 / (int)sizeof(T);

  RS_METHOD static int offset_of(const T *at) {
    return (int)(reinterpret_cast<u64>(at) % 16 / sizeof(T));
  }
  RS_METHOD Slab<T> run() const {
    Slab<T> slab(global, 1, outers * steps * width, nullptr);
    slab.shared = shared;
    return slab;
  }
  RS_METHOD Slab<T> piece(int k) const {
    Slab<T> slab(global + k * step, 1, width, nullptr);
    slab.shared = shared + k * pitch;
    return slab;
  }
  // Bytes of the bulk copies that a lane starts.
  RS_METHOD u32 bulk_bytes(int lane) const {
    u32 bytes = 0;
    if (mode == AS_A_RUN)
      bytes = lane == 0 ? run().body_bytes() : 0;
    else if (mode == BY_STEPS)
#pragma unroll 1
      for (int k = lane; k < steps; k += 32)
        bytes += piece(k).body_bytes();
    return bytes;
  }
  template <class F> RS_METHOD void each_bulk(int lane, const F &f) const {
    if (mode == AS_A_RUN) {
      Slab<T> slab = run();
      if (lane == 0 && slab.body)
        f(slab);
    } else if (mode == BY_STEPS) {
#pragma unroll 1
      for (int k = lane; k < steps; k += 32) {
        Slab<T> slab = piece(k);
        if (slab.body)
          f(slab);
      }
    }
  }
  // The same words by plain accesses: a warp takes a piece.
  template <int THREADS, class F> RS_METHOD void each_word(const F &f) const {
    if (mode == AS_A_RUN) {
      run().template each_word<THREADS>(f);
    } else if (mode == BY_STEPS) {
#pragma unroll 1
      for (int k = (int)thread_index() / 32; k < steps; k += THREADS / 32) {
        Slab<T> slab = piece(k);
#pragma unroll 1
        for (int i = slab.head + (int)lane_index() * UNIT; i < slab.head + slab.body; i += 32 * UNIT)
          f(reinterpret_cast<u128 *>(slab.global + i), reinterpret_cast<u128 *>(slab.shared + i));
      }
    }
  }
  // The elements outside the words.
  template <int THREADS, class F> RS_METHOD void each_end(const F &f) const {
    if (mode == AS_A_RUN) {
      Slab<T> slab = run();
      slab.each_end([&](int i) { f(slab.global + i, slab.shared + i); });
    } else if (mode == BY_STEPS) {
      if (offset_of(global) == 0 && step % UNIT == 0 && width % UNIT == 0)
        return;
#pragma unroll 1
      for (int i = (int)thread_index(); i < steps * 2 * UNIT; i += THREADS) {
        Slab<T> slab = piece(i / (2 * UNIT));
        int e = i % (2 * UNIT), at = e < UNIT ? e : slab.head + slab.body + e - UNIT;
        if (e < UNIT ? e < slab.head : at < width)
          f(slab.global + at, slab.shared + at);
      }
    }
  }
  RS_METHOD static i64 distance(i64 stride) {
    return stride < 0 ? -stride : stride;
  }
  template <int THREADS, i64 LENGTH, class F> RS_METHOD void each_element(const ColumnCut &cut, const F &f) const {
    if (outers == 1 && distance(step) < distance(column)) {
      // steps are nearer to one another than columns: 8 lanes fill a sector of 4-byte elements, and more would meet in
      // the same banks of shared memory
      int lane = (int)lane_index(), warp = (int)thread_index() / 32;
      for (int c = warp * 4 + lane / 8; c < width; c += THREADS / 8)
#pragma unroll 4
        for (int k = lane % 8; k < steps; k += 8)
          f(global + k * step + c * column, shared + k * pitch + c);
      return;
    }
#pragma unroll 4
    for (int i = (int)thread_index(); i < outers * steps * cut.columns; i += THREADS) {
      int q = divide(i, cut.by_columns), c = i - q * cut.columns;
      int o = outers > 1 ? (int)((u32)q / (u32)LENGTH) : 0, k = q - o * steps; // several outers have all steps
      if (c < width)
        f(global + o * outer + k * step + c * column, shared + o * outer_pitch + k * pitch + c);
    }
  }
};

template <class P, int THREADS, int STEPS, int LANES> struct ColumnTile {
  using In = typename P::In;
  using Out = typename P::Out;
  using Mask = typename P::Mask;
  using Acc = typename P::Acc;
  using Kept = typename P::Kept;
  using Op = typename P::Op;
  using R = Row<P>;
  static constexpr bool MASKED = P::mask != NO_MASK;
  static constexpr bool IN_PLACE = sizeof(In) == sizeof(Out); // results take the place of elements
  static constexpr bool SINGLE = P::length <= STEPS;          // a thread has a whole row
  static constexpr int LAST = P::rank - 1, OUTER = P::rank > 1 ? P::rank - 2 : 0;

  const Rows<P::rank> &rows;
  const ColumnCut &cut;
  i64 first; // step of the scan
  int count, width, outers;
  Sheet<In> in;
  Sheet<Mask> mask;
  Sheet<Out> out;
  i64 row_at;
  Acc *totals;  // by outer, segment, column
  Acc *carries; // prefixes before and through the tile, by column, if there are several tiles

  // A tile's place among the others: strips fastest, so that memory is swept in order, then tiles along the length.
  struct Place {
    i64 outer; // number of the tile's outers
    i32 tile, strip;
    RS_METHOD Place(const ColumnCut &cut, u32 number) {
      u32 q = number / (u32)cut.strips;
      strip = (i32)(number - q * (u32)cut.strips);
      u32 o = q / (u32)cut.tiles;
      tile = (i32)(q - o * (u32)cut.tiles);
      outer = o;
    }
  };

  template <class T>
  RS_METHOD Sheet<T> sheet(const void *data, i64 at, i64 step, const i64 *stride, int mode, int pitch,
                           unsigned char *memory) const {
    Sheet<T> s;
    s.global = static_cast<T *>(const_cast<void *>(data)) + at;
    s.mode = mode;
    s.shared = reinterpret_cast<T *>(memory) + (mode == ONE_BY_ONE ? 0 : s.offset_of(s.global));
    s.outer = P::rank > 1 ? stride[OUTER] : 0;
    s.step = step;
    s.column = stride[LAST];
    s.pitch = pitch;
    s.outer_pitch = (int)P::length * pitch;
    s.outers = outers;
    s.steps = count;
    s.width = width;
    return s;
  }

  RS_METHOD ColumnTile(const Rows<P::rank> &rows, const ColumnCut &cut, const Place &place, unsigned char *memory)
      : rows(rows), cut(cut) {
    first = (i64)place.tile * cut.steps;
    count = P::length - first < cut.steps ? (int)(P::length - first) : cut.steps;
    i64 lowest = P::reverse ? P::length - first - count : first;
    i64 column = (i64)place.strip * cut.columns;
    width = rows.shape[LAST] - column < cut.columns ? (int)(rows.shape[LAST] - column) : cut.columns;
    outers = 1;
    i64 in_at = lowest * rows.in_step + column * rows.in_stride[LAST];
    i64 mask_at = lowest * rows.mask_step + column * rows.mask_stride[LAST];
    i64 out_at = lowest * rows.out_step + column * rows.out_stride[LAST];
    row_at = column * rows.row_stride[LAST];
    if constexpr (P::rank > 1) {
      i64 left = place.outer;
#pragma unroll
      for (int d = OUTER; d >= 0; d--) {
        i64 size = d == OUTER ? cut.groups : rows.shape[d], i = left;
        if (d > 0) {
          left /= size;
          i -= left * size;
        }
        if (d == OUTER) {
          i *= cut.outers;
          outers = rows.shape[d] - i < cut.outers ? (int)(rows.shape[d] - i) : cut.outers;
        }
        in_at += i * rows.in_stride[d];
        mask_at += i * rows.mask_stride[d];
        out_at += i * rows.out_stride[d];
        row_at += i * rows.row_stride[d];
      }
    }
    in = sheet<In>(rows.in, in_at, rows.in_step, rows.in_stride, cut.in_mode, cut.in_pitch, memory);
    if constexpr (MASKED)
      mask = sheet<Mask>(rows.mask, mask_at, rows.mask_step, rows.mask_stride, cut.mask_mode, cut.mask_pitch,
                         memory + cut.mask_at);
    out =
        sheet<Out>(rows.out, out_at, rows.out_step, rows.out_stride, cut.out_mode, cut.out_pitch, memory + cut.out_at);
    if constexpr (IN_PLACE) {
      if (in.mode == ONE_BY_ONE) { // the copy lies as the results need it
        in.shared = reinterpret_cast<In *>(out.shared);
        in.pitch = out.pitch;
        in.outer_pitch = out.outer_pitch;
      } else {
        out.shared = reinterpret_cast<Out *>(in.shared);
        out.pitch = in.pitch;
        out.outer_pitch = in.outer_pitch;
        bool fits = out.offset_of(out.global) == in.offset_of(in.global);
        if (out.mode == AS_A_RUN ? in.mode != AS_A_RUN : (out.step - out.pitch) % Sheet<Out>::UNIT != 0)
          fits = false;
        if (!fits)
          out.mode = ONE_BY_ONE;
      }
    }
    totals = reinterpret_cast<Acc *>(memory + cut.totals_at);
    carries = reinterpret_cast<Acc *>(memory + cut.carries_at);
  }

  RS_METHOD void load(Arrival *arrival) const {
#if RS_BULK
    if (thread_index() < 32) {
      int lane = (int)lane_index();
      u32 bytes = in.bulk_bytes(lane);
      if constexpr (MASKED)
        bytes += mask.bulk_bytes(lane);
#pragma unroll
      for (int d = 16; d > 0; d /= 2)
        bytes += shuffle_xor(bytes, d);
      if (lane == 0) {
        arrivals_init(arrival, 1);
        arrival_expect(arrival, bytes);
      }
      bulk_publish(); // to the lanes
      in.each_bulk(
          lane, [&](const Slab<In> &s) { bulk_load(s.shared + s.head, s.global + s.head, s.body_bytes(), arrival); });
      if constexpr (MASKED)
        mask.each_bulk(lane, [&](const Slab<Mask> &s) {
          bulk_load(s.shared + s.head, s.global + s.head, s.body_bytes(), arrival);
        });
    }
#endif
    load_rest(in);
    if constexpr (MASKED)
      load_rest(mask);
    block_barrier();
#if RS_BULK
    arrival_wait(arrival, 0);
#endif
  }
  template <class T> RS_METHOD void load_rest(const Sheet<T> &sheet) const {
    auto one = [](T *global, T *shared) { *shared = load_element(global); };
    if (sheet.mode == ONE_BY_ONE) {
      sheet.template each_element<THREADS, P::length>(cut, one);
      return;
    }
#if !RS_BULK
    sheet.template each_word<THREADS>([](u128 *global, u128 *shared) { *shared = load_stream(global); });
#endif
    sheet.template each_end<THREADS>(one);
  }

  RS_METHOD void store() const {
    auto one = [](Out *global, Out *shared) { store_element(global, *shared); };
    if (out.mode == ONE_BY_ONE) {
      out.template each_element<THREADS, P::length>(cut, one);
      return;
    }
#if RS_BULK
    if (thread_index() < 32)
      out.each_bulk((int)lane_index(),
                    [](const Slab<Out> &s) { bulk_store(s.global + s.head, s.shared + s.head, s.body_bytes()); });
#else
    out.template each_word<THREADS>([](u128 *global, u128 *shared) { store_word(global, *shared); });
#endif
    out.template each_end<THREADS>(one);
#if RS_BULK
    bulk_wait_own();
#endif
  }

  // STEPS consecutive steps of a column.
  struct Item {
    int index, outer, segment, column;
    int at, count; // first step inside the tile, and how many there are
    int turn;      // the step that is read first
  };
  template <class F> RS_METHOD void each_item(const F &f) const {
#pragma unroll 1
    for (int i = (int)thread_index(); i < outers * cut.segments * cut.columns; i += THREADS) {
      Item item;
      int q = divide(i, cut.by_columns);
      item.index = i;
      item.column = i - q * cut.columns;
      item.outer = SINGLE ? q : cut.outers > 1 ? divide(q, cut.by_segments) : 0;
      item.segment = q - item.outer * cut.segments;
      item.at = item.segment * STEPS;
      item.count = count - item.at;
      item.turn = q >> cut.turn_shift & cut.turn_mask;
      if (item.column < width && item.count > 0)
        f(item);
    }
  }

  // Where a sheet has the first step of an item, and how far the next is from it.
  template <class T> RS_METHOD T *place_of(const Sheet<T> &sheet, const Item &item) const {
    int k = P::reverse ? count - 1 - item.at : item.at;
    return sheet.shared + (item.outer * sheet.outer_pitch + k * sheet.pitch + item.column);
  }
  template <class T> RS_METHOD static int next_of(const Sheet<T> &sheet) {
    return P::reverse ? -sheet.pitch : sheet.pitch;
  }

  // x[j] is what was x[(j + turn) % STEPS], or the other way round.
  template <bool BACK> RS_METHOD void turn(Acc *x, int turn) const {
#pragma unroll
    for (int bit = 1; bit < STEPS; bit *= 2)
      if (cut.turn_mask & bit) {
        Acc y[STEPS];
        bool now = turn & bit;
#pragma unroll
        for (int j = 0; j < STEPS; j++)
          y[j] = now ? x[(j + (BACK ? STEPS - bit : bit)) % STEPS] : x[j];
#pragma unroll
        for (int j = 0; j < STEPS; j++)
          x[j] = y[j];
      }
  }
  RS_METHOD void read(const Item &item, Acc *x) const {
    const In *at = place_of(in, item);
    const Mask *mask_at = MASKED ? place_of(mask, item) : nullptr;
    int next = next_of(in), mask_next = MASKED ? next_of(mask) : 0;
    auto one = [&](int j) { return widen<Acc>(R::hold(at[j * next], MASKED ? mask_at[j * mask_next] : Mask{})); };
    if (item.count >= STEPS && cut.turn_mask) {
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        x[j] = one((j + item.turn) % STEPS);
      turn<true>(x, item.turn);
    } else if (item.count >= STEPS) {
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        x[j] = one(j);
    } else {
#pragma unroll
      for (int j = 0; j < STEPS; j++) {
        x[j] = Op::neutral();
        if (j < item.count)
          x[j] = one(j);
      }
    }
  }
  RS_METHOD void write(const Item &item, Acc *x) const {
    Out *at = place_of(out, item);
    int next = next_of(out);
    if (item.count >= STEPS && cut.turn_mask) {
      turn<false>(x, item.turn);
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        at[(j + item.turn) % STEPS * next] = Narrow<Out>::from(x[j]);
    } else {
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        if (j < item.count)
          at[j * next] = Narrow<Out>::from(x[j]);
    }
  }

  RS_METHOD i64 row_of(int outer, int column) const {
    return row_at + (P::rank > 1 ? outer * rows.row_stride[OUTER] : 0) + column * rows.row_stride[LAST];
  }
  RS_METHOD Acc start(int outer, int column) const {
    return rows.init ? widen<Acc>(static_cast<const Kept *>(rows.init)[row_of(outer, column)]) : Op::neutral();
  }

  // Leaves in totals[k] the total of the aligned block of segments that ends with segment k, as large as can be.
  RS_METHOD void up() const {
    if constexpr (!SINGLE) {
      each_item([&](const Item &item) {
        Acc x[STEPS];
        read(item, x);
        totals[item.index] = total<Op, STEPS>(x);
      });
      int pairs = cut.top, shift = log2_floor_of(cut.top);
#pragma unroll 1
      for (int half = 1; half < cut.segments; half *= 2, pairs /= 2, shift--) {
        block_barrier();
#pragma unroll 1
        for (int i = (int)thread_index(); i < outers * pairs * cut.columns; i += THREADS) {
          int q = divide(i, cut.by_columns), c = i - q * cut.columns;
          int o = q >> shift, right = (q - (o << shift)) * 2 * half + 2 * half - 1;
          if (right < cut.segments) {
            Acc *at = totals + ((o * cut.segments + right) * cut.columns + c);
            *at = Op::combine(at[-half * cut.columns], *at);
          }
        }
      }
    }
  }
  RS_METHOD static int log2_floor_of(int n) {
    int log = 0;
    while (n >> (log + 1))
      log++;
    return log;
  }

  // Writes the prefixes.
  RS_METHOD void down() const {
    each_item([&](const Item &item) {
      Acc x[STEPS], prefix[STEPS + 1]; // prefix[j]: of all elements before element j
      read(item, x);
      Acc before = P::length > STEPS && cut.tiles > 1 ? carries[item.column] : start(item.outer, item.column), end;
      if constexpr (SINGLE) {
        end = Op::combine(before, total<Op, STEPS>(x));
      } else {
        // the ones at the end of the segment's number are the blocks that its own joins
        int s = item.segment, low = s & ~(s + 1), bit = cut.top;
        const Acc *at = totals + item.index;
#pragma unroll 1
        for (; bit > low; bit >>= 1)
          if (s & bit)
            before = Op::combine(before, at[-((s & (bit - 1)) + 1) * cut.columns]);
        end = Op::combine(before, *at);
#pragma unroll 1
        for (; bit; bit >>= 1)
          before = Op::combine(before, at[-((s & (bit - 1)) + 1) * cut.columns]);
        if (cut.tiles > 1 && s == cut.segments - 1)
          end = carries[cut.columns + item.column];
      }
      ::carries<Op, STEPS>(before, x, prefix);
      prefix[STEPS] = end;

      constexpr i64 TAIL = (P::length - 1) / STEPS * STEPS;
      i64 i = first + item.at;
      if (rows.totals && i == TAIL)
        static_cast<Kept *>(rows.totals)[row_of(item.outer, item.column)] = (Kept)prefix[P::length - TAIL];
      if (P::exclusive && i == 0)
        prefix[0] = rows.init ? start(item.outer, item.column) : Op::identity();
      write(item, P::exclusive ? prefix : prefix + 1);
    });
  }
};

// Steps of a tile, at least, if there are several tiles.
constexpr int COLUMN_STEPS = 32;

template <class P, int THREADS, int STEPS, int LANES>
RS_DEVICE void scan_column_tiles(const Rows<P::rank> &rows, const ColumnCut &cut) {
  using T = ColumnTile<P, THREADS, STEPS, LANES>;
  using Acc = typename P::Acc;
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival arrival;
  RS_SHARED Turn turn;

  u32 number = block_index();
  bool cuts = P::length > COLUMN_STEPS && cut.tiles > 1;
  if (cuts) {
    if (thread_index() == 0)
      turn = take_turn(static_cast<TurnState *>(rows.workspace), block_count());
    block_barrier();
    number = turn.number;
  }
  typename T::Place place(cut, number);
  T tile(rows, cut, place, memory);
  tile.load(&arrival);
  tile.up();
  if constexpr (!T::SINGLE)
    block_barrier();
  if constexpr (P::length > COLUMN_STEPS) {
    if (cut.tiles > 1) {
      using A = ColumnsAhead<typename P::Op, LANES, (P::length + COLUMN_STEPS - 1) / COLUMN_STEPS, Acc>;
      u32 columns = (u32)rows.shape[T::LAST], outers = block_count() / ((u32)cut.tiles * (u32)cut.strips);
      u32 column = (u32)place.strip * (u32)cut.columns;
      A ahead{reinterpret_cast<Node<Acc> *>(static_cast<TurnState *>(rows.workspace) + 1),
              turn.run,
              outers,
              (u32)place.outer,
              columns,
              (u32)cut.tiles};
      const Acc *mine = tile.totals + (cut.segments - 1) * cut.columns;
      bool last = place.tile == cut.tiles - 1; // nobody asks for its total
      if (!last)
        for (int c = (int)thread_index(); c < tile.width; c += THREADS)
          ahead.tell(place.tile, column + c, mine[c]);
#pragma unroll 1
      for (int base = (int)thread_index() / 32 * 32 / LANES; base < tile.width; base += THREADS / LANES) {
        int c = base + (int)lane_index() / LANES;
        bool there = c < tile.width;
        c = there ? c : tile.width - 1;
        Acc carry, end;
        ahead.look(place.tile, column + c, there && !last, tile.count < cut.steps ? P::Op::neutral() : mine[c],
                   tile.start(0, c), carry, end);
        if (there && lane_index() % LANES == 0) {
          tile.carries[c] = carry;
          tile.carries[cut.columns + c] = end;
        }
      }
      block_barrier();
    }
  }
  tile.down();
#if RS_BULK
  bulk_publish();
#endif
  block_barrier();
  // worked out anew, so that it need not be kept till now
  tile.store();
}
