// universal.cuh - scans of any element types, masks, segments, strides and flags: a launch tells them
// SPDX-License-Identifier: MIT
//
// What a kernel is compiled for is how totals are combined. A warp combines a tile of so many rows at a time as a
// launch tells: 32 lanes of one row, or one lane of 32 rows, or what lies between. Elements of several tiles come to
// shared memory at once as bytes, each array by itself, whether its rows lie one after another or side by side
// (runs.cuh), and become numbers where a lane takes its own; results go back the same way.
//
// Rows that are few and long are cut into pieces of 2^k tiles, which warps have, in two launches: the first leaves the
// total of each piece in the workspace; in the second each warp joins those before its own.
#pragma once
#include "universal_ops.cuh"

struct UniversalRows : FurtherRows<RS_UNIVERSAL_RANK> {
  rs_terms terms;
};

// A problem as rows.cuh has it.
template <class U, bool IN_SEGMENTS> struct UniversalProblem {
  using Of = U;
  using Op = typename UniversalOp<typename U::Op, IN_SEGMENTS>::type;
  using Acc = typename Op::Total;
  static constexpr bool SEGMENTED = IN_SEGMENTS;
  static constexpr i64 length = RS_ANY_LENGTH, most = 1ll << 62;
  static constexpr int rank = RS_UNIVERSAL_RANK;
};

// Number of an array's element.
template <class B, class A> RS_CALLED A number_at(const u8 *from, int bytes, int type) {
  B bits = (B)load_bits_of(bytes, from);
  A x;
  widen_all<1>(type, &bits, &x);
  return x;
}

// ---- a row's ends -------------------------------------------------------------------------------------------------

template <class P> struct UniversalEnds {
  using U = typename P::Of;
  using Op = typename P::Op;
  using Acc = typename P::Acc;
  using Own = typename U::Op::Total;
  using Bits = typename U::Bits;

  // The fold's start, from where the initial value is; and the prefix of nothing, as users see it.
  RS_METHOD static Acc started(const rs_terms &terms, const u8 *init) {
    if (terms.states)
      return Op::started(load_state<U>(terms, init));
    Bits bits = (Bits)load_bits_of(terms.bytes[RS_INIT], init);
    return Op::started(U::first(terms, terms.type[RS_INIT], bits));
  }
  // Leaves a total; segments: where the row begins in what tells them.
  RS_METHOD static void keep(const UniversalRows &rows, u8 *to, const u8 *segments, Acc value) {
    const rs_terms &terms = rows.terms;
    if (!terms.states) {
      store_bits_of(terms.bytes[RS_TOTALS], to, U::keep(terms, terms.type[RS_TOTALS], Op::own(value)));
      return;
    }
    store_state<U>(terms, to, Op::own(value));
    if constexpr (P::SEGMENTED)
      if (terms.told != NOT_TOLD && rows.length > 0)
        keep_mark(rows, to, segments, Op::state(value));
  }
  // The last element's key, and what else kernels that hand on states have in segments (ops.cuh).
  RS_METHOD static void keep_mark(const UniversalRows &rows, u8 *to, const u8 *segments, u32 state) {
    const rs_terms &terms = rows.terms;
    const int bytes = terms.bytes[RS_SEGMENTS];
    const i64 apart = rows.further_step[RS_SEGMENTS - RS_ARRAYS] * bytes;
    const u64 last = load_bits_of(bytes, segments + (rows.length - 1) * apart);
    bool marked = terms.told != KEY_CHANGES && (last & terms.segments.truth) != 0;
    if (terms.told == KEY_CHANGES) {
      u64 key = terms.type[RS_SEGMENTS] == RS_IS_BOOL ? last != 0 : (u64)((i64)(last << terms.spare) >> terms.spare);
      store_bits_of(terms.word_at - terms.key_at, to + terms.key_at, key);
    }
    store_bits<u32>(to + terms.word_at, (state & INSIDE) | ANY | (marked ? (u32)MARKED : 0));
  }
};
// n / by, mostly of numbers that 32 bits have.
RS_DEVICE u64 divided(u64 n, u64 by) {
  return (n | by) >> 32 ? n / by : (u32)n / (u32)by;
}

// x[i] of N, i modulo N; in halves, for compilers would keep the numbers in memory to index them.
template <int N, class T> RS_DEVICE T one_of(const T *x, int i) {
  if constexpr (N == 1) {
    return *x;
  } else {
    T half[N / 2];
#pragma unroll
    for (int j = 0; j < N / 2; j++)
      half[j] = i & N / 2 ? x[j + N / 2] : x[j];
    return one_of<N / 2>(half, i);
  }
}

// ---- a warp -------------------------------------------------------------------------------------------------------

// N: elements of a lane.
template <class P, int N> struct UniversalWarp {
  using U = typename P::Of;
  using Op = typename P::Op;
  using Acc = typename P::Acc;
  using Own = typename U::Op::Total;
  using Bits = typename U::Bits;
  using Number = typename U::Number;
  static constexpr bool SEGMENTED = P::SEGMENTED;

  const UniversalRows &rows;
  const rs_terms &terms;
  int room;        // the warp's shared memory: where rows begin, ways of arrays, digits, copies
  int log;         // lanes a row: 2^log
  int row, place;  // of the lane: its row, and its place among the row's lanes
  i64 number;      // of the first row
  int there;       // rows
  i64 first;       // of the elements that have come
  int count;       // of each row
  int slot, own;   // the lane has `own` of them, from slot * N on
  bool all;        // each lane has N, or none
  u64 word_before; // what the element before the lane's tells of segments

  RS_METHOD UniversalWarp(const UniversalRows &all, int memory)
      : rows(all), terms(all.terms), room(memory), log(all.terms.log_lanes), row((int)lane_index() >> log),
        place((int)lane_index() & ((1 << log) - 1)), count(0) {
  }
  RS_METHOD bool exists() const {
    return row < there;
  }

  // ---- where arrays are

  template <class F> RS_METHOD static void each(const F &f) {
    f(RS_IN), f(RS_OUT), f(RS_MASK), f(RS_INIT), f(RS_TOTALS);
#pragma unroll
    for (int k = 0; k < U::MORE; k++)
      f(RS_MORE_IN + k);
    if constexpr (U::SECOND)
      f(RS_SECOND);
    if constexpr (SEGMENTED)
      f(RS_SEGMENTS);
  }
  RS_METHOD i64 stride(int a, int d) const {
    return a < RS_ARRAYS ? rows.stride[a][d] : rows.further_stride[a - RS_ARRAYS][d];
  }
  RS_METHOD u8 *array(int a) const {
    return static_cast<u8 *>(a < RS_ARRAYS ? rows.at[a] : rows.further_at[a - RS_ARRAYS]);
  }
  RS_METHOD i64 apart(int a) const {
    return (a < RS_ARRAYS ? rows.step[a] : rows.further_step[a - RS_ARRAYS]) * terms.bytes[a];
  }
  RS_METHOD int begins_at(int a) const {
    return room + terms.begins_at[a];
  }
  RS_METHOD u8 **begins(int a) const {
    return reinterpret_cast<u8 **>(shared_byte(begins_at(a)));
  }
  RS_METHOD RunsWay &way(int a) const {
    return *reinterpret_cast<RunsWay *>(shared_byte(room + terms.ways_at[a]));
  }
  RS_METHOD Acc &digit(int d) const {
    return reinterpret_cast<Acc *>(shared_byte(room + terms.digits_at))[(d << (5 - log)) + ((int)lane_index() >> log)];
  }
  RS_METHOD Acc *total_of_piece(int piece) const {
    return static_cast<Acc *>(rows.workspace) + (number + row) * terms.pieces + piece;
  }
  RS_METHOD int copy_at(int a) const {
    return room + terms.copy_at[a];
  }
  // Lanes find where rows begin.
  RS_METHOD void enter(i64 group) {
    const int rows_of_group = terms.rows_of_group;
    number = group * rows_of_group;
    there = rows.count - number < rows_of_group ? (int)(rows.count - number) : rows_of_group;
    if (terms.groups_of_width) { // no group has rows of two widths
      const u32 width = (u32)group / (u32)terms.groups_of_width;
      const i64 before = (i64)((u32)group - width * (u32)terms.groups_of_width) * rows_of_group;
      number = (i64)width * terms.width + before;
      there = terms.width - before < rows_of_group ? (int)(terms.width - before) : rows_of_group;
    }
    warp_barrier(); // nobody asks for the rows before any more
#pragma unroll 1
    for (int r = (int)lane_index(); r < there; r += 32) {
      i64 at[RS_ALL_ARRAYS] = {};
      u64 left = (u64)(number + r);
#pragma unroll 1
      for (int d = P::rank - 1; left; d--) { // until all dimensions before have index 0
        u64 size = (u64)rows.shape[d], outer = left < size ? 0 : divided(left, size), index = left - outer * size;
        left = outer;
        each([&](int a) { at[a] += (i64)index * stride(a, d); });
      }
      each([&](int a) {
        if (array(a))
          begins(a)[r] = array(a) + at[a] * terms.bytes[a];
      });
    }
    warp_barrier();
  }

  // ---- the ends of the lane's row

  RS_METHOD Acc started(Own without) const {
    return exists() && rows.has(RS_INIT) ? UniversalEnds<P>::started(terms, begins(RS_INIT)[row])
                                         : Op::started(without);
  }
  RS_METHOD Acc start() const {
    return started(U::neutral(terms));
  }
  RS_METHOD Acc empty() const {
    return started(U::identity(terms));
  }
  RS_METHOD void keep(Acc value) const {
    UniversalEnds<P>::keep(rows, begins(RS_TOTALS)[row], SEGMENTED ? begins(RS_SEGMENTS)[row] : nullptr, value);
  }

  // ---- elements

  RS_METHOD Runs runs(int a) const {
    return {begins_at(a), apart(a), terms.bytes[a], there, first, count, count == rows.length};
  }
  RS_METHOD LaneElements elements(int a) const {
    const RunsWay &it = way(a);
    return {it.in_copy, it.in_words != 0, all, terms.bytes[a], apart(a) < 0, row, slot, own, count};
  }
  RS_METHOD LaneCopy lane_copy(int a) const {
    return {copy_at(a), elements(a)};
  }
  RS_METHOD bool masked() const {
    return terms.selects | terms.multiplies;
  }
  RS_METHOD i64 element() const { // the lane's first one
    return first + slot * N;
  }
  // Ways are found for the first tiles, and again where there are fewer of them, or they begin at other bytes of words.
  RS_METHOD void find_ways(bool anew) const {
#pragma unroll 1
    for (int i = 0; i < terms.arrays; i++) {
      const int a = terms.array[i];
      if (anew || ((u32)count * (u32)apart(a) & 15)) {
        RunsWay found = way_of<N>(runs(a));
        warp_barrier();
        if (lane_index() == 0)
          way(a) = found;
      }
    }
    warp_barrier();
  }
  RS_METHOD void fetch_all(bool anew) const {
    warp_barrier(); // nobody asks for what came before any more
    find_ways(anew);
#pragma unroll 1
    for (int i = 0; i < terms.inputs; i++) {
      const int a = terms.array[i];
      fetch_runs(runs(a), way(a), terms.begin[a], terms.end[a], shared_byte(copy_at(a)));
    }
    fetch_wait();
    warp_barrier();
  }
  RS_METHOD void store_all() const {
    warp_barrier();
#pragma unroll 1
    for (int i = terms.inputs; i < terms.arrays; i++) {
      const int a = terms.array[i];
      store_runs(runs(a), way(a), shared_byte(copy_at(a)));
    }
  }

  // ---- segments

  // What the element before the lane's first one tells of whether a segment begins there.
  RS_METHOD void look_before() {
    word_before = 0;
    const i64 i = element() - 1;
    if (own <= 0 || i < 0)
      return;
    if (terms.told > MARKED_ITSELF)
      word_before = load_bits_of(terms.bytes[RS_SEGMENTS], begins(RS_SEGMENTS)[row] + i * apart(RS_SEGMENTS));
    if constexpr (U::MORE > 2)
      if (terms.role[0] == RS_IS_ELEMENT) {
        auto number_of_input = [&](int k) {
          const int a = RS_MORE_IN + k;
          return number_at<Bits, Number>(begins(a)[row] + i * apart(a), terms.bytes[a], terms.type[a]);
        };
        word_before = U::are_one(number_of_input(0), number_of_input(1));
      }
  }
  // The flag or key of the element before a row that is a part of one; whether there is one.
  RS_METHOD bool mark_before(u64 &last) const {
    const u8 *init = begins(RS_INIT)[row];
    u32 word = (u32)load_bits<u32>(init + terms.word_at);
    last = word & MARKED ? ~0ull : 0;
    if (terms.told == KEY_CHANGES)
      last = load_bits_of(terms.word_at - terms.key_at, init + terms.key_at) &
             ~0ull >> (64 - 8 * terms.bytes[RS_SEGMENTS]);
    return word & ANY;
  }
  // Bit j: a segment begins with the lane's element j.
  RS_METHOD u32 beginnings() const {
    u64 bits[N], last = word_before;
    bits_all<N>(lane_copy(RS_SEGMENTS), bits);
    bool before = element() > 0; // whether anything tells of the element before
    if (terms.states && element() == 0 && exists() && rows.has(RS_INIT))
      before = mark_before(last);
    u32 begins = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
      u64 mine = bits[j] & terms.segments.truth;
      bool so = terms.told == MARKED_ITSELF             ? mine != 0
                : terms.told == MARKED_BEFORE           ? before && (last & terms.segments.truth) != 0
                : terms.type[RS_SEGMENTS] == RS_IS_BOOL ? before && (bits[j] != 0) != (last != 0)
                                                        : before && bits[j] != last;
      before = true;
      begins |= number_of(so) << j;
      last = bits[j];
    }
    return begins;
  }
  // Bit j: all there is begins anew with element j. One that is left out does not say so itself.
  RS_METHOD u32 resets(u32 out, Notes &notes) const {
    u32 said = notes.resets & ~out;
    if (terms.told != NOT_TOLD)
      notes.begins = beginnings();
    if constexpr (U::MORE > 2)
      if (terms.role[0] == RS_IS_ELEMENT)
        said = notes.chosen << 1 | (u32)word_before;
    return notes.begins | said;
  }

  // ---- totals of elements

  // Elements of a further input, as numbers.
  struct MoreOf {
    const UniversalWarp &warp;
    template <class A> RS_METHOD void operator()(int k, A *z) const {
      widen_all<N>(warp.terms.type[RS_MORE_IN + k], warp.lane_copy(RS_MORE_IN + k), z);
    }
  };
  // Elements as numbers; bit j of what it returns: element j is left out.
  RS_METHOD u32 numbers(Number *z) const {
    u32 out = 0;
    if (!U::MULTIPLIES && terms.omits) {
      Bits bits[N];
      bits_all<N>(lane_copy(RS_IN), bits);
#pragma unroll
      for (int j = 0; j < N; j++)
        out |= number_of((bits[j] & terms.in.value) > terms.in.most) << j;
    }
    U::template take<N>(terms, terms.type[RS_IN], lane_copy(RS_IN), z);
    if (terms.selects) {
      Bits bits[N];
      bits_all<N>(lane_copy(RS_MASK), bits);
#pragma unroll
      for (int j = 0; j < N; j++)
        out |= number_of((bits[j] & terms.mask.truth) == 0) << j;
    }
    if constexpr (U::MULTIPLIES)
      if (terms.multiplies) {
        Number by[N];
        widen_all<N>(terms.type[RS_MASK], lane_copy(RS_MASK), by);
#pragma unroll
        for (int j = 0; j < N; j++)
          z[j] = z[j] * by[j];
      }
    if (U::MULTIPLIES && terms.omits)
#pragma unroll
      for (int j = 0; j < N; j++)
        out |= number_of(z[j] != z[j]) << j;
    return out;
  }
  RS_METHOD void totals(Notes &notes, Acc *x) const {
    Number z[N], y[N];
    const u32 out = numbers(z);
    U::template gather<N>(MoreOf{*this}, terms, z, y, notes);
    if constexpr (SEGMENTED)
      notes.resets = resets(out, notes);
    Own mine[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      mine[j] = U::load(terms, z[j], U::MORE ? y[j] : z[j]);
    if (any_lane(out != 0))
#pragma unroll
      for (int j = 0; j < N; j++)
        if (out >> j & 1)
          mine[j] = U::identity(terms);
#pragma unroll
    for (int j = 0; j < N; j++)
      x[j] = Op::told(mine[j], notes.resets >> j & 1);
    if (!rows.has(RS_OUT)) // where totals are all that is wanted, what lies past the row is part of one
#pragma unroll
      for (int j = 0; j < N; j++)
        if (j >= own)
          x[j] = Op::started(U::neutral(terms));
  }
  // Of pieces, from number `first_piece` on, of `pieces` that are whole.
  RS_METHOD void totals_of_pieces(int first_piece, int pieces, Acc *x) const {
#pragma unroll
    for (int j = 0; j < N; j++) {
      const int piece = first_piece + place * N + j;
      x[j] = exists() && piece < pieces ? *total_of_piece(piece) : Op::started(U::neutral(terms));
    }
  }

  // ---- results

  RS_METHOD void show(const Notes &notes, Acc *prefix) const {
    const i64 left = rows.length - element(); // of the row
    if (exists() && rows.has(RS_TOTALS) && left > 0 && left <= N)
      keep(one_of<N>(prefix + 1, (int)left - 1));
    if (rows.exclusive && element() == 0)
      prefix[0] = empty();
    Acc *shown = prefix + 1;
    if (rows.exclusive) {
      stay_branch();
#pragma unroll
      for (int j = N - 1; j >= 0; j--)
        shown[j] = shown_before<Op>(prefix[j], shown[j]);
    }
    Own total[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      total[j] = Op::own(shown[j]);
    if constexpr (SEGMENTED)
      if (rows.exclusive)
#pragma unroll
        for (int j = 0; j < N; j++)
          if (notes.begins >> j & 1)
            total[j] = U::identity(terms);
    if constexpr (U::SECOND) {
#pragma unroll 1
      for (int o = array(RS_SECOND) ? 1 : 0; o >= 0; o--) {
        const int a = o ? RS_SECOND : RS_OUT;
        U::template output<N>(MoreOf{*this}, o, terms, terms.type[a], total, notes, lane_copy(a));
      }
    } else {
      U::template show<N>(terms, terms.type[RS_OUT], total, lane_copy(RS_OUT));
    }
  }

  // ---- levels of the order: lanes, and tiles in time

  // The total of all lanes of a row; sibling[d]: of the other half of the lane's block of 2^(d+1) lanes.
  RS_METHOD Acc up(Acc mine, Acc *sibling) const {
#pragma unroll
    for (int d = 0; d < 5; d++)
      if (d < log) {
        Acc other = sibling[d] = shuffle_xor(mine, 1 << d);
        if constexpr (HasJoined<Op>::value)
          mine = Op::joined(mine, other, place >> d & 1);
        else
          mine = Op::commutative || !(place >> d & 1) ? Op::combine(mine, other) : Op::combine(other, mine);
      }
    return mine;
  }
  RS_METHOD Acc down(Acc carry, const Acc *sibling) const {
#pragma unroll
    for (int d = 4; d >= 0; d--)
      if (d < log && (place >> d & 1))
        carry = Op::combine(carry, sibling[d]);
    return carry;
  }
  // Tile k of a row or piece, whose total is known: the prefix through it.
  RS_METHOD Acc push(int k, Acc mine, Acc start) const {
    int d = 0;
#pragma unroll 1
    for (; k >> d & 1; d++)
      mine = Op::combine(digit(d), mine);
    warp_barrier(); // all lanes have read
    if (place == 0)
      digit(d) = mine;
    warp_barrier();
#pragma unroll 1
    for (int h = terms.levels - 1; h > d; h--)
      if ((k + 1) >> h & 1)
        start = Op::combine(start, digit(h));
    return Op::combine(start, mine);
  }

  // Of a group of rows a piece, or all there is. Either several tiles of their rows come at a time, or, of rows of one
  // tile, several tiles of rows.
  RS_METHOD void scan(i64 group, int piece) {
    constexpr int LOG_N = log2_floor(N);
    const int tile = N << log, log_tile = LOG_N + log, rows_of_tile = 32 >> log;
    const bool outputs = rows.has(RS_OUT), of_rows = terms.rows_of_group > rows_of_tile;
    i64 begin = 0, end = rows.length;
    enter(group);
    if (terms.pieces > 1) {
      begin = piece * terms.piece;
      end = end - begin < terms.piece ? end : begin + terms.piece;
    }
    const bool whole = terms.pieces > 1 && end - begin == terms.piece;
    if (terms.phase == RS_TOTALS_OF_PIECES && !whole)
      return; // nobody asks for it
    const int tiles = (int)((end - begin + tile - 1) >> log_tile);
    const int joins = terms.phase == RS_PREFIXES ? (piece >> log_tile) + 1 : 0; // tiles of totals of pieces
    Acc start = this->start(), carry = start, through = start;
    if (rows.length == 0) {
      for (row = (int)lane_index(); row < there; row += 32)
        if (rows.has(RS_TOTALS))
          keep(empty());
      return;
    }
#pragma unroll 1
    for (int t = -joins; t < tiles;) {
      const bool join = t < 0;
      int todo = 1;
      if (!join) {
        const int most = terms.tiles_at_a_time << log_tile;
        const int before = count;
        first = begin + ((i64)t << log_tile);
        count = end - first < most ? (int)(end - first) : most;
        todo = of_rows ? (there + rows_of_tile - 1) / rows_of_tile : (count + tile - 1) >> log_tile;
        fetch_all(count != before);
      }
#pragma unroll 1
      for (int i = 0; i < todo; i++) {
        const int k = join ? t + joins : of_rows ? 0 : t + i;
        Acc x[N];
        Notes notes;
        if (join) {
          totals_of_pieces(k << log_tile, piece + whole, x);
        } else {
          if (of_rows) {
            row = i * rows_of_tile + ((int)lane_index() >> log);
            start = carry = this->start();
          }
          slot = of_rows ? place : (i << log) + place;
          own = exists() ? count - slot * N : 0;
          own = own > N ? N : own;
          all = !any_lane(own > 0 && own < N);
          if constexpr (SEGMENTED)
            look_before();
          totals(notes, x);
        }
        Acc sibling[5];
        Acc after = push(k, up(total<Op, N>(x), sibling), start);
        const bool last = !join && k == tiles - 1;
        if (last && whole)
          after = through;
        if (last && place == 0 && exists()) {
          if (terms.phase == RS_TOTALS_OF_PIECES)
            *total_of_piece(piece) = digit(log2_floor(tiles));
          else if (!outputs && rows.has(RS_TOTALS)) // of 2^k elements, of which no fold starts
            keep(digit(log2_floor(tiles)));
        }
        if (terms.phase == RS_TOTALS_OF_PIECES || !outputs)
          continue;
        Acc before = down(carry, sibling), next = shuffle_down(before);
        Acc prefix[N + 1]; // prefix[j]: of all elements before element j
        carries<Op, N>(before, x, prefix);
        prefix[N] = place == (1 << log) - 1 ? after : next;
        carry = after;
        if (!join) {
          show(notes, prefix);
        } else if (t == -1) { // the prefix before the piece, and through it
          before = one_of<N>(prefix, piece);
          next = one_of<N>(prefix + 1, piece);
          const int lane = (row << log) + (piece >> LOG_N & ((1 << log) - 1));
          start = carry = shuffle_from(before, lane);
          through = shuffle_from(next, lane);
        }
      }
      if (!join && outputs && terms.phase != RS_TOTALS_OF_PIECES)
        store_all();
      t += of_rows ? 1 : todo;
    }
  }
};

// A warp has a group of rows, or a piece of each.
template <class P, int N, int THREADS> RS_DEVICE void scan_universal(const UniversalRows &rows) {
  const int warp = THREADS > 32 ? (int)thread_index() / 32 : 0, pieces = rows.terms.pieces;
  const i64 unit = (i64)block_index() * (THREADS / 32) + warp;
  if (unit >= rows.terms.units)
    return;
  const u32 group = pieces == 1 ? (u32)unit : (u32)unit / (u32)pieces; // a launch has less than 2^31 blocks
  UniversalWarp<P, N> all(rows, warp * rows.terms.warp_bytes);
  all.scan(group, (int)((u32)unit - group * pieces));
  delay();
}
