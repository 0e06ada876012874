// test_simt.cuh - kernels that use, and misuse, everything that the simulated GPU has
// SPDX-License-Identifier: MIT
#pragma once
#include "device.cuh"

struct Arguments {
  const u32 *in;
  u32 *out;
  i64 count;
};
RS_DEVICE u32 global() {
  return block_index() * 256 + thread_index();
}
RS_KERNEL(256, 2) shuffles(RS_PARAMETER(Arguments, a)) {
  u32 x = load_stream(a.in + global());
  u64 wide = shuffle_xor((u64)x << 32 | x, 5);
  u32 y = shuffle_down(x) * 3 + shuffle_from(x, (lane_index() * 7 + 3) % 32) * 5 + (u32)(wide >> 32) * 7;
  f64 half = shuffle_xor((f64)x / 2, 16);
  store_word(a.out + global(), y + (u32)(half * 2) * 11);
}
template <int BARRIER> RS_DEVICE void turned(const Arguments &a) {
  RS_SHARED u32 all[256];
  for (i64 at = block_index(); at < a.count; at += block_count()) {
    all[thread_index()] = load_stream(a.in + at * 256 + thread_index());
    if (BARRIER)
      block_barrier();
    u32 x = all[255 - thread_index()];
    if (BARRIER)
      block_barrier();
    store_word(a.out + at * 256 + thread_index(), x);
  }
}
RS_KERNEL(256, 2) turn(RS_PARAMETER(Arguments, a)) {
  turned<1>(a);
}
RS_KERNEL(256, 2) turn_without_barriers(RS_PARAMETER(Arguments, a)) {
  turned<0>(a);
}
RS_KERNEL(256, 2) unset_shared(RS_PARAMETER(Arguments, a)) {
  RS_SHARED u32 word[32];
  u32 x = word[lane_index()];
  block_barrier();
  word[lane_index()] = 0;
  a.out[global()] = x;
}
// Block b waits for what block b - 1 writes, and keeps a number of its own in shared memory meanwhile.
RS_KERNEL(256, 2) chain(RS_PARAMETER(Arguments, a)) {
  RS_SHARED u32 mine;
  if (thread_index() == 0) {
    mine = block_index();
    while (block_index() && !a.out[block_index() - 1])
      simt->spin();
    a.out[block_index()] = mine + 1 + (block_index() ? a.out[block_index() - 1] : 0);
    simt->progress++;
  }
  block_barrier();
}
RS_KERNEL(32, 1) add_one(RS_PARAMETER(Arguments, a)) {
  for (i64 i = thread_index(); i < a.count; i += 32)
    store_word(a.out + i, load_stream(a.in + i) + 1);
}
RS_KERNEL(32, 1) add_one_later(RS_PARAMETER(Arguments, a)) {
  await_dependencies();
  store_word(a.out + thread_index(), load_stream(a.in + thread_index()) + 1);
}
RS_KERNEL(32, 1) idle(RS_PARAMETER(Arguments, a)) {
}
RS_KERNEL(32, 1) two_parameters(RS_PARAMETER(Arguments, a), RS_PARAMETER(u32, add)) {
  store_word(a.out + thread_index(), add + thread_index());
}
RS_KERNEL(32, 1) halves(RS_PARAMETER(Arguments, a)) {
  for (i64 i = thread_index(); i < a.count; i += 32) {
    f32 x = float_from_bits(a.in[i]);
    f64 wide = (f64)x * 1.00000003;
    a.out[4 * i] = float_to_half(x) | (u32)float_to_bfloat(x) << 16;
    a.out[4 * i + 1] = float_bits(half_to_float((u16)a.in[i]));
    a.out[4 * i + 2] = float_bits(float_toward_zero(wide));
    a.out[4 * i + 3] = float_to_half(wide) | (u32)float_to_bfloat(wide) << 16;
  }
}
// Reverses the order of 1 KB pieces; WRONG leaves a step out.
template <int WRONG> RS_DEVICE void bulk(const Arguments &a) {
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival arrival[1];
  u32 *words = reinterpret_cast<u32 *>(memory);
  if (thread_index() == 0)
    arrivals_init(arrival, 1);
  block_barrier();
  for (u32 t = 0; t < 8; t++) {
    if (thread_index() == 0) {
      arrival_expect(arrival, 1024);
      bulk_load(words, a.in + t * 256, 1024, arrival);
    }
    if (WRONG != 1)
      arrival_wait(arrival, t);
    u32 x = words[thread_index()];
    if (WRONG != 2)
      bulk_wait<0>();
    words[256 + thread_index()] = x;
    if (WRONG != 3)
      bulk_fence();
    u32 warp = thread_index() / 32 * 32;
    if (lane_index() == 0)
      bulk_store(a.out + (7 - t) * 256 + warp, words + 256 + warp, WRONG == 4 ? 100 : 128);
    block_barrier();
  }
  if (WRONG != 5)
    bulk_wait<0>();
}
RS_KERNEL(256, 1) bulk_turn(RS_PARAMETER(Arguments, a)) {
  bulk<0>(a);
}
RS_KERNEL(256, 1) bulk_early(RS_PARAMETER(Arguments, a)) {
  bulk<1>(a);
}
RS_KERNEL(256, 1) bulk_over(RS_PARAMETER(Arguments, a)) {
  bulk<2>(a);
}
RS_KERNEL(256, 1) bulk_unfenced(RS_PARAMETER(Arguments, a)) {
  bulk<3>(a);
}
RS_KERNEL(256, 1) bulk_odd(RS_PARAMETER(Arguments, a)) {
  bulk<4>(a);
}
RS_KERNEL(256, 1) bulk_left(RS_PARAMETER(Arguments, a)) {
  bulk<5>(a);
}
// One warp brings two pieces, one after another, to one place, and another reads them; without a fence between.
template <int WRONG> RS_DEVICE void given_back(const Arguments &a) {
  RS_DYNAMIC_SHARED(memory);
  RS_SHARED Arrival full, empty;
  u32 *words = reinterpret_cast<u32 *>(memory);
  if (thread_index() == 0) {
    arrivals_init(&full, 1);
    arrivals_init(&empty, 1);
  }
  block_barrier();
  for (u32 t = 0; t < 2; t++)
    if (thread_index() < 32) {
      if (t > 0)
        arrival_wait(&empty, 0);
      if (thread_index() == 0) {
        arrival_expect(&full, 128);
        bulk_load(words, a.in + t * 32, 128, &full);
      }
    } else if (thread_index() < 64) {
      arrival_wait(&full, t);
      u32 x = words[lane_index()];
      if (WRONG)
        warp_barrier();
      else
        bulk_fence();
      if (lane_index() == 0)
        arrival_signal(&empty);
      store_word(a.out + t * 32 + lane_index(), x);
    }
}
RS_KERNEL(256, 1) given_back_fenced(RS_PARAMETER(Arguments, a)) {
  given_back<0>(a);
}
RS_KERNEL(256, 1) given_back_unfenced(RS_PARAMETER(Arguments, a)) {
  given_back<1>(a);
}
// Orders; WRONG leaves one out.
template <int WRONG> RS_DEVICE void lanes_swap(const Arguments &a) {
  RS_SHARED u32 all[256];
  all[thread_index()] = load_stream(a.in + thread_index());
  if (WRONG == 1)
    shuffle_xor(1u, 1);
  else
    warp_barrier();
  u32 x = all[thread_index() ^ 1];
  if (WRONG != 2)
    warp_barrier();
  all[thread_index()] = x + 1;
  store_word(a.out + thread_index(), x);
}
RS_KERNEL(256, 1) lanes_in_turn(RS_PARAMETER(Arguments, a)) {
  lanes_swap<0>(a);
}
RS_KERNEL(256, 1) lanes_after_shuffle(RS_PARAMETER(Arguments, a)) {
  lanes_swap<1>(a);
}
RS_KERNEL(256, 1) lanes_write_early(RS_PARAMETER(Arguments, a)) {
  lanes_swap<2>(a);
}
RS_KERNEL(256, 1) bytes_side_by_side(RS_PARAMETER(Arguments, a)) {
  RS_SHARED u8 all[256];
  all[thread_index()] = (u8)thread_index();
  block_barrier();
  store_word(a.out + thread_index(), all[255 - thread_index()]);
}
// Warp 0 writes a word, which all read and tell of, and then another in its place.
template <int WRONG> RS_DEVICE void told(const Arguments &a) {
  RS_SHARED Arrival written, seen;
  RS_SHARED u32 word;
  if (thread_index() == 0) {
    arrivals_init(&written, 1);
    arrivals_init(&seen, 1, 7);
  }
  if (WRONG != 1)
    block_barrier();
  if (thread_index() == 0) {
    if (WRONG == 2)
      arrival_signal(&written);
    word = 1;
    if (WRONG != 2)
      arrival_signal(&written);
    arrival_wait(&seen, 0);
    word = 2;
  } else if (thread_index() >= 32) {
    arrival_wait(&written, 0);
    u32 x = word;
    if (WRONG != 3)
      x += shuffle_from(x, 1);
    if (WRONG == 4)
      x += word;
    if (lane_index() == 0)
      arrival_signal(&seen);
    store_word(a.out + thread_index(), x);
  }
}
RS_KERNEL(256, 1) told_in_turn(RS_PARAMETER(Arguments, a)) {
  told<0>(a);
}
RS_KERNEL(256, 1) told_unprepared(RS_PARAMETER(Arguments, a)) {
  told<1>(a);
}
RS_KERNEL(256, 1) told_early(RS_PARAMETER(Arguments, a)) {
  told<2>(a);
}
RS_KERNEL(256, 1) told_by_one_of_all(RS_PARAMETER(Arguments, a)) {
  told<3>(a);
}
RS_KERNEL(256, 1) told_and_read_again(RS_PARAMETER(Arguments, a)) {
  told<4>(a);
}
template <int BARRIER> RS_DEVICE void fetched(const Arguments &a) {
  RS_SHARED u32 all[256];
  fetch(all + thread_index(), a.in + thread_index());
  fetch_wait();
  if (BARRIER)
    block_barrier();
  store_word(a.out + thread_index(), all[255 - thread_index()]);
}
RS_KERNEL(256, 1) fetched_in_turn(RS_PARAMETER(Arguments, a)) {
  fetched<1>(a);
}
RS_KERNEL(256, 1) fetched_by_others(RS_PARAMETER(Arguments, a)) {
  fetched<0>(a);
}
// Mistakes.
RS_KERNEL(256, 1) other_shuffle(RS_PARAMETER(Arguments, a)) {
  u32 x = thread_index();
  a.out[x] = x % 32 == 3 ? shuffle_down(x) : shuffle_xor(x, 1);
}
RS_KERNEL(256, 1) other_mask(RS_PARAMETER(Arguments, a)) {
  a.out[0] = shuffle_xor(1u, thread_index() == 7 ? 2 : 1);
}
RS_KERNEL(256, 1) shuffle_alone(RS_PARAMETER(Arguments, a)) {
  if (thread_index() != 40)
    shuffle_down(1u);
}
RS_KERNEL(256, 1) barrier_alone(RS_PARAMETER(Arguments, a)) {
  if (thread_index() != 40)
    block_barrier();
}
RS_KERNEL(256, 1) barrier_or_shuffle(RS_PARAMETER(Arguments, a)) {
  if (thread_index() == 40)
    block_barrier();
  else
    shuffle_down(1u);
}
RS_KERNEL(256, 1) warps_return(RS_PARAMETER(Arguments, a)) {
  if (thread_index() < 64)
    return;
  block_barrier();
  a.out[thread_index()] = 1;
}
RS_KERNEL(256, 1) two_barriers(RS_PARAMETER(Arguments, a)) {
  simt->barrier(1 + thread_index() / 128, 256);
}
RS_KERNEL(256, 1) for_ever(RS_PARAMETER(Arguments, a)) {
  for (;;)
    simt->spin();
}
RS_KERNEL(256, 1) misaligned(RS_PARAMETER(Arguments, a)) {
  store_word(reinterpret_cast<u64 *>(a.out + 1), 1);
}
RS_KERNEL(256, 1) far_outside(RS_PARAMETER(Arguments, a)) {
  load_stream(a.in + (1 << 28));
}
RS_KERNEL(256, 1) just_outside(RS_PARAMETER(Arguments, a)) {
  store_word(a.out + a.count + 2, 1);
}
RS_KERNEL(256, 1) quietly_outside(RS_PARAMETER(Arguments, a)) {
  if (thread_index() == 0)
    a.out[a.count + 2] = 1;
}
