// universal.cuh - scans of any element types, masks, segments, strides and flags: a launch tells them
// SPDX-License-Identifier: MIT
//
// What a kernel is compiled for is how totals are combined. A warp combines a tile of so many rows at a time as a
// launch tells: 32 lanes of one row, or one lane of 32 rows, or what lies between. Each lane takes its own elements of
// an array where they are in memory, or from a run of bytes in shared memory (runs.cuh), and makes numbers of them;
// results go back the same way. The next tile's runs are on their way meanwhile.
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
// The number of the lowest bit that is set, of which there is one.
RS_DEVICE int lowest_bit(u32 word) {
#ifdef __CUDACC__
  return __ffs((int)word) - 1;
#else
  return __builtin_ctz(word);
#endif
}
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
  using Number = typename U::Number;
  static constexpr bool SEGMENTED = P::SEGMENTED;
  static constexpr int LOG_N = log2_floor(N);
  // Of elements on their way in: keys of segments may have 8 bytes.
  using Bits = typename BitsFor<typename Either<SEGMENTED, u64, Number>::type>::type;

  const UniversalRows &rows;
  const rs_terms &terms;
  int room;        // the warp's shared memory: where rows begin, digits, copies
  int log;         // lanes a row: 2^log
  int row, place;  // of the lane: its row, and its place among the row's lanes
  i64 number;      // of the group's first row
  int there;       // its rows
  int tile_row;    // the first of the tile's rows
  i64 first;       // element of the tile
  int count;       // of each row
  int step;        // number of the tile
  int found;       // of that for which the places of lanes' elements were found
  int own;         // elements that the lane has
  bool all;        // each lane has N, or none
  u64 word_before; // what the element before the lane's tells of segments

  RS_METHOD UniversalWarp(const UniversalRows &all, int memory)
      : rows(all), terms(all.terms), room(memory), log(all.terms.log_lanes), row((int)lane_index() >> log),
        place((int)lane_index() & ((1 << log) - 1)), tile_row(0) {
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
  RS_METHOD u8 *&begin(int a, int r) const {
    return reinterpret_cast<u8 **>(shared_byte(room + terms.begins_at[a]))[r];
  }
  // Digits of the counter of tiles, and the prefix that each has led to; after the last digit, the prefix through a
  // piece, and that before all tiles. They lie in shared memory, not in registers: registers that are spilled are
  // loaded behind all fetches that are under way.
  RS_METHOD Acc &digit(int d) const {
    return reinterpret_cast<Acc *>(shared_byte(room + terms.digits_at))[(d << (6 - log)) + ((int)lane_index() >> log)];
  }
  RS_METHOD Acc &prefix_at(int d) const {
    return (&digit(d))[32 >> log];
  }
  RS_METHOD Acc *total_of_piece(int piece) const {
    return static_cast<Acc *>(rows.workspace) + (number + row) * terms.pieces + piece;
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
          begin(a, r) = array(a) + at[a] * terms.bytes[a];
      });
    }
    warp_barrier();
  }

  // ---- the ends of the lane's row

  RS_METHOD Acc started(Own without) const {
    return exists() && rows.has(RS_INIT) ? UniversalEnds<P>::started(terms, begin(RS_INIT, row)) : Op::started(without);
  }
  RS_METHOD Acc start() const {
    return started(U::neutral(terms));
  }
  RS_METHOD Acc empty() const {
    return started(U::identity(terms));
  }
  RS_METHOD void keep(Acc value) const {
    UniversalEnds<P>::keep(rows, begin(RS_TOTALS, row), SEGMENTED ? begin(RS_SEGMENTS, row) : nullptr, value);
  }

  // ---- elements

  RS_METHOD int copy_at(int a) const {
    return room + terms.copy_at[a] + (step & 1) * terms.room[a];
  }
  RS_METHOD static constexpr bool is_output(int a) {
    return a == RS_OUT || a == RS_SECOND;
  }
  // Results of one row lie in their copy so that lanes have whole words, wherever the run begins.
  RS_METHOD Run run(int a) const {
    const i64 apart = terms.apart[a];
    const int bytes = terms.bytes[a], left = there - tile_row, tile_rows = 32 >> log;
    const i64 low = apart < 0 ? first + count - 1 : first;
    u8 *memory = begin(a, tile_row) + low * apart;
    const int skew = !is_output(a) || log < 5 ? (int)((u64)memory & 15) : apart < 0 ? -count * bytes & 15 : 0;
    return {memory, (left < tile_rows ? left : tile_rows) * count * bytes, bytes, copy_at(a), skew};
  }
  // What elements() goes on from, of each lane: the same for all tiles of a row that have as many elements.
  struct alignas(16) Place {
    u64 memory;
    int at;
    u16 bytes;
    u8 way, reverse;
  };
  RS_METHOD Place &place_of(int a) const {
    return reinterpret_cast<Place *>(shared_byte(room + terms.places_at[a]))[lane_index()];
  }
  RS_METHOD Place find(int a) const {
    const int bytes = terms.bytes[a];
    const i64 apart = terms.apart[a];
    if (!terms.is_run[a])
      return {(u64)begin(a, own > 0 ? row : 0) + (u64)((first + place * N) * apart), 0, (u16)bytes, IN_MEMORY, 0};
    const bool reverse = apart < 0, one_row = log == 5;
    const int of_row = count * bytes, skew = run(a).skew, word = N * bytes < 16 ? N * bytes : 16;
    const bool whole = is_output(a) ? one_row || all : !reverse || all;
    const bool words = whole && !((reverse ? skew + of_row : skew) & (word - 1)) && (one_row || !(of_row & (word - 1)));
    const int way = words ? IN_WORDS : is_output(a) ? ONE_BY_ONE : ASKEW;
    int at = skew + (row - tile_row) * of_row + place * N * bytes;
    if (reverse)
      at = skew + (row - tile_row + 1) * of_row - (place * N + (way == ONE_BY_ONE ? 1 : N)) * bytes;
    return {0, own > 0 ? at : 0, (u16)bytes, (u8)way, reverse};
  }
  RS_METHOD void find_all() {
#pragma unroll 1
    for (int i = 0; i < terms.uses; i++)
      place_of(terms.use[i]) = find(terms.use[i]);
    found = step;
  }
  RS_METHOD LaneElements elements(int a) const {
    const Place it = place_of(a);
    const i64 apart = terms.apart[a];
    const u64 further = (u64)((i64)(step - found) * (N << log) * apart);
    return {it.bytes,   own,   count < N ? count : N,       it.way, it.reverse != 0,
            copy_at(a), it.at, (u8 *)(it.memory + further), apart};
  }
  RS_METHOD i64 element() const { // the lane's first one
    return first + place * N;
  }
  RS_METHOD void fetch_tile() const {
#pragma unroll 1
    for (int i = 0; i < terms.fetches; i++) {
      const int a = terms.fetch[i];
      run(a).fetch_words(terms.begin[a], terms.end[a]);
    }
  }
  RS_METHOD void store_tile() const {
#pragma unroll 1
    for (int i = 0; i < terms.stores; i++)
      run(terms.store[i]).store_words();
  }

  // ---- segments

  // What the element before the lane's first one tells of whether a segment begins there.
  RS_METHOD void look_before() {
    word_before = 0;
    const i64 i = element() - 1;
    if (own <= 0 || i < 0)
      return;
    if (terms.told > MARKED_ITSELF)
      word_before = load_bits_of(terms.bytes[RS_SEGMENTS], begin(RS_SEGMENTS, row) + i * terms.apart[RS_SEGMENTS]);
    if constexpr (U::MORE > 2)
      if (terms.role[0] == RS_IS_ELEMENT) {
        auto number_of_input = [&](int k) {
          const int a = RS_MORE_IN + k;
          return number_at<typename U::Bits, Number>(begin(a, row) + i * terms.apart[a], terms.bytes[a], terms.type[a]);
        };
        word_before = U::are_one(number_of_input(0), number_of_input(1));
      }
  }
  // The flag or key of the element before a row that is a part of one; whether there is one.
  RS_METHOD bool mark_before(u64 &last) const {
    const u8 *init = begin(RS_INIT, row);
    u32 word = (u32)load_bits<u32>(init + terms.word_at);
    last = word & MARKED ? ~0ull : 0;
    if (terms.told == KEY_CHANGES)
      last = load_bits_of(terms.word_at - terms.key_at, init + terms.key_at) &
             ~0ull >> (64 - 8 * terms.bytes[RS_SEGMENTS]);
    return word & ANY;
  }
  // Bit j: a segment begins with the lane's element j.
  RS_METHOD u32 beginnings(const Elements<N, Bits> &from) const {
    u64 last = word_before;
    bool before = element() > 0; // whether anything tells of the element before
    if (terms.states && element() == 0 && exists() && rows.has(RS_INIT))
      before = mark_before(last);
    u32 begins = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
      const u64 told = from.bits(j), mine = told & terms.segments.truth;
      bool so = terms.told == MARKED_ITSELF             ? mine != 0
                : terms.told == MARKED_BEFORE           ? before && (last & terms.segments.truth) != 0
                : terms.type[RS_SEGMENTS] == RS_IS_BOOL ? before && (told != 0) != (last != 0)
                                                        : before && told != last;
      before = true;
      begins |= number_of(so) << j;
      last = told;
    }
    return begins;
  }
  // Bit j: all there is begins anew with element j. One that is left out does not say so itself.
  RS_METHOD u32 resets(u32 out, const Notes &notes) const {
    u32 said = notes.resets & ~out;
    if constexpr (U::MORE > 2)
      if (terms.role[0] == RS_IS_ELEMENT)
        said = notes.chosen << 1 | (u32)word_before;
    return notes.begins | said;
  }

  // ---- totals of elements

  // Bit j: element j is left out, or is no number.
  RS_METHOD static u32 flags(int as, const rs_terms &terms, const Elements<N, Bits> &from) {
    u32 out = 0;
#pragma unroll
    for (int j = 0; j < N; j++)
      out |= number_of(as == RS_TAKES_MASK ? (from.bits(j) & terms.mask.truth) == 0
                                           : (from.bits(j) & terms.in.value) > terms.in.most)
             << j;
    return out;
  }
  // Elements as numbers x, and y of further inputs. Bit j of what it returns: element j is left out.
  RS_METHOD u32 take(Number *x, Number *y, Notes &notes) const {
    u32 out = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
      x[j] = 0; // or the compiler would keep those of the tile before
      if constexpr (U::MORE > 0)
        y[j] = (Number)terms.factor;
    }
#pragma unroll 1
    for (int i = 0; i < terms.takes; i++) {
      const int a = terms.take[i].array, as = terms.take[i].as;
      Elements<N, Bits> from(elements(a));
      from.take();
      if (as < RS_TAKES_NUMBERS) {
        unpack(from);
        if (!SEGMENTED || as != RS_TAKES_SEGMENTS)
          out |= flags(as, terms, from);
        else
          notes.begins = beginnings(from);
        continue;
      }
      if (as == RS_TAKES_NUMBERS) {
        U::template take<N>(terms, terms.type[a], from, x);
        continue;
      }
      if constexpr (U::MULTIPLIES || U::MORE > 0) {
        Number z[N];
        widen_all<N>(terms.type[a], from, z);
        if constexpr (U::MORE > 0)
          U::template further<N>(as - RS_TAKES_FURTHER, z, terms, x, y, notes);
        else
#pragma unroll
          for (int j = 0; j < N; j++)
            x[j] = x[j] * z[j];
      }
    }
    if constexpr (U::MULTIPLIES)
      if (terms.omits)
#pragma unroll
        for (int j = 0; j < N; j++)
          out |= number_of(x[j] != x[j]) << j;
    return out;
  }
  RS_METHOD void totals(Notes &notes, Acc *x) const {
    Number z[N], y[N];
    const u32 out = take(z, y, notes);
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

  // Elements of a further input, as numbers.
  struct MoreOf {
    const UniversalWarp &warp;
    RS_METHOD void operator()(int k, Number *z) const {
      const int a = RS_MORE_IN + k;
      Elements<N, typename U::Bits> from(warp.elements(a));
      from.take();
      widen_all<N>(warp.terms.type[a], from, z);
    }
  };
  // As elements of output o, the second or the first; further inputs are looked at again: no output is one of these.
  RS_METHOD void give(int o, Own *total, const Notes &notes) const {
    const int a = o ? RS_SECOND : RS_OUT;
    Elements<N, typename U::Bits> to(elements(a));
    if constexpr (U::SECOND)
      U::template output<N>(MoreOf{*this}, o, terms, terms.type[a], total, notes, to);
    else
      U::template show<N>(terms, terms.type[a], total, to);
    to.give();
  }
  RS_METHOD void show(const Notes &notes, Acc *prefix) const {
    if (rows.has(RS_TOTALS)) {
      const i64 left = rows.length - element(); // of the row
      if (exists() && left > 0 && left <= N)
        keep(one_of<N>(prefix + 1, (int)left - 1));
    }
    Acc *shown = prefix + 1;
    if (rows.exclusive) {
      stay_branch();
      if (element() == 0)
        prefix[0] = empty();
#pragma unroll
      for (int j = N - 1; j >= 0; j--)
        shown[j] = shown_before<Op>(prefix[j], shown[j]);
    }
    Own total[N];
#pragma unroll
    for (int j = 0; j < N; j++)
      total[j] = Op::own(shown[j]);
    if constexpr (SEGMENTED) {
      if (rows.exclusive)
#pragma unroll
        for (int j = 0; j < N; j++)
          if (notes.begins >> j & 1)
            total[j] = U::identity(terms);
    }
    if constexpr (U::SECOND) {
#pragma unroll 1
      for (int o = array(RS_SECOND) ? 1 : 0; o >= 0; o--)
        give(o, total, notes);
    } else {
      give(0, total, notes);
    }
  }

  // ---- levels of the order: lanes, and tiles in time

  // The total of all lanes of a row; sibling[d]: of the other half of the lane's block of 2^(d+1) lanes.
  RS_METHOD Acc up(Acc mine, Acc *sibling) const {
#pragma unroll
    for (int d = 0; d < 5; d++) {
      sibling[d] = mine;
      if (d < log) {
        Acc other = sibling[d] = shuffle_xor(mine, 1 << d);
        if constexpr (HasJoined<Op>::value)
          mine = Op::joined(mine, other, place >> d & 1);
        else
          mine = Op::commutative || !(place >> d & 1) ? Op::combine(mine, other) : Op::combine(other, mine);
      }
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
  // Of so many tiles, which have been counted.
  RS_METHOD Acc prefix_of(int tiles) const {
    return prefix_at(tiles ? lowest_bit((u32)tiles) : terms.levels);
  }
  // No tile has been counted; nobody looks at digits any more.
  RS_METHOD void count_from(Acc start) const {
    if (place == 0)
      prefix_at(terms.levels) = start;
    warp_barrier();
  }
  // Tile k of a row or piece, whose total is `mine`, and then of the aligned block that ends with it: the prefix
  // through it. Digit d keeps the total of such a block of 2^d tiles, and the prefix through it, which the next block
  // of fewer tiles goes on from.
  RS_METHOD Acc push(int k, Acc &mine, bool last) const {
    int d = 0;
#pragma unroll 1
    for (; k >> d & 1; d++)
      mine = Op::combine(digit(d), mine);
    Acc after = Op::combine(prefix_of(k & (k + 1)), mine);
    if (!last) {
      warp_barrier(); // all lanes have read
      if (place == 0) {
        digit(d) = mine;
        prefix_at(d) = after;
      }
      warp_barrier();
    }
    return after;
  }
  // The prefixes before the lane's elements, whose totals are x, and through them: of tile k, through which it is
  // `after`.
  RS_METHOD void prefixes(Acc carry, Acc after, const Acc *sibling, const Acc *x, Acc *prefix) const {
    Acc before = down(carry, sibling), next = shuffle_down(before);
    carries<Op, N>(before, x, prefix);
    prefix[N] = place == (1 << log) - 1 ? after : next;
  }

  // The prefix before a piece, and through it, from the totals of all before it, as if these were elements.
  RS_METHOD void join_pieces(int piece, bool whole) const {
    const int log_tile = LOG_N + log, last = piece >> log_tile;
#pragma unroll 1
    for (int k = 0; k <= last; k++) {
      Acc x[N], sibling[5], prefix[N + 1];
      totals_of_pieces(k << log_tile, piece + whole, x);
      Acc mine = up(total<Op, N>(x), sibling), carry = prefix_of(k), after = push(k, mine, k == last);
      prefixes(carry, after, sibling, x, prefix);
      if (k == last) {
        const int lane = (row << log) + (piece >> LOG_N & ((1 << log) - 1));
        Acc start = shuffle_from(one_of<N>(prefix, piece), lane);
        Acc through = shuffle_from(one_of<N>(prefix + 1, piece), lane);
        warp_barrier(); // all lanes have read
        if (place == 0)
          digit(terms.levels) = through;
        count_from(start);
      }
    }
  }
  RS_METHOD void keep_all_empty() {
    if (rows.has(RS_TOTALS))
      for (row = (int)lane_index(); row < there; row += 32)
        keep(empty());
  }

  // Of a group of rows a piece, or all there is: tile after tile of these rows, or, of rows of one tile, tiles of rows.
  RS_METHOD void scan(i64 group, int piece) {
    const int log_tile = LOG_N + log, tile = 1 << log_tile, tile_rows = 32 >> log;
    const bool totals_alone = terms.phase == RS_TOTALS_OF_PIECES || !rows.has(RS_OUT);
    const bool of_rows = terms.rows_of_group > tile_rows;
    i64 begin = 0, end = rows.length;
    enter(group);
    if (terms.pieces > 1) {
      begin = piece * terms.piece;
      end = end - begin < terms.piece ? end : begin + terms.piece;
    }
    const bool whole = terms.pieces > 1 && end - begin == terms.piece;
    if (terms.phase == RS_TOTALS_OF_PIECES && !whole)
      return; // nobody asks for it
    if (end == begin) {
      keep_all_empty();
      return;
    }
    const int tiles = of_rows ? 1 : (int)((end - begin + tile - 1) >> log_tile);
    const int steps = of_rows ? (there + tile_rows - 1) / tile_rows : tiles;
    count_from(start());
    if (terms.phase == RS_PREFIXES)
      join_pieces(piece, whole);
    const int rest = (int)(end - begin - ((i64)(tiles - 1) << log_tile)); // elements of the last tile
    first = begin;
    step = tile_row = 0;
    count = steps > 1 && !of_rows ? tile : rest;
    int before = -1; // elements of the tile before
    auto advance = [&] {
      step++;
      if (of_rows)
        tile_row += tile_rows;
      else
        first += tile, count = step + 1 < steps ? tile : rest;
    };
    fetch_tile();
    fetch_group();
#pragma unroll 1
    for (; step < steps; advance()) {
      if (step + 1 < steps) {
        const int step_now = step, row_now = tile_row, count_now = count;
        const i64 first_now = first;
        advance();
        fetch_tile();
        step = step_now, tile_row = row_now, count = count_now, first = first_now;
      }
      fetch_group(); // or none
      fetch_wait_but_last();
      warp_barrier();
      if (of_rows) {
        row = tile_row + ((int)lane_index() >> log);
        count_from(start());
      }
      own = exists() ? count - place * N : 0;
      own = own > N ? N : own;
      if (of_rows || count != before) {
        all = !any_lane(own > 0 && own < N);
        find_all();
        before = count;
      }
      if constexpr (SEGMENTED)
        look_before();
      Acc x[N], sibling[5];
      Notes notes;
      totals(notes, x);
      const int k = of_rows ? 0 : step;
      const bool last = k == tiles - 1;
      Acc mine = up(total<Op, N>(x), sibling), carry = prefix_of(k), after = push(k, mine, last);
      if (!totals_alone) {
        Acc prefix[N + 1];
        if (last && whole)
          after = digit(terms.levels);
        prefixes(carry, after, sibling, x, prefix);
        show(notes, prefix);
      } else if (last && place == 0 && exists()) { // of 2^k tiles, of which no fold starts
        if (terms.phase == RS_TOTALS_OF_PIECES)
          *total_of_piece(piece) = mine;
        else if (rows.has(RS_TOTALS))
          keep(mine);
      }
      warp_barrier(); // results are there, and nobody asks for what came
      if (!totals_alone)
        store_tile();
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
  UniversalWarp<P, N> all(rows, shared_begin() + warp * rows.terms.warp_bytes);
  all.scan(group, (int)((u32)unit - group * pieces));
  delay();
}
