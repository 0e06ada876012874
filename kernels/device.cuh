// device.cuh - everything that kernels ask of the hardware, and nothing else
// SPDX-License-Identifier: MIT
//
// tests/simt/device.cuh has the same names for a CPU, one fibre a thread. Whoever adds one here adds it there.
#pragma once

#define RS_DEVICE static __device__ __forceinline__
#define RS_METHOD __device__ __forceinline__
// A kernel that spills is compiled again with launch bounds of so many fewer blocks (src/compile/compile.c).
#ifndef RS_FEWER_BLOCKS
#define RS_FEWER_BLOCKS 0
#endif
#define RS_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, (blocks)-RS_FEWER_BLOCKS)
#define RS_PARAMETER(type, name) const __grid_constant__ type name
#define RS_SHARED __shared__

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// Where a thread stands. Blocks and grids have one dimension; the last warp of a block is whole.
RS_DEVICE u32 thread_index() {
  return threadIdx.x;
}
RS_DEVICE u32 lane_index() {
  return threadIdx.x & 31;
}
RS_DEVICE u32 block_index() {
  return blockIdx.x;
}
RS_DEVICE u32 block_count() {
  return gridDim.x;
}

// Programmatic dependent launch, from sm_90 on: what every thread of a kernel does before it reads or writes memory.
// The grid may have been started before the work that it depends on was done; this waits until it is, and all that it
// wrote is seen. What depends on this grid in turn may be started from then on, and waits likewise.
RS_DEVICE void await_dependencies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n"
               "griddepcontrol.launch_dependents;" ::
                   : "memory");
#endif
}

// Exchanges inside a warp, which all 32 lanes must reach. T: a number, or plain data of whole words of 4 bytes, which
// go one by one.
template <class T> constexpr bool is_number = false;
template <> constexpr bool is_number<f32> = true;
template <> constexpr bool is_number<f64> = true;
template <> constexpr bool is_number<i32> = true;
template <> constexpr bool is_number<u32> = true;
template <> constexpr bool is_number<i64> = true;
template <> constexpr bool is_number<u64> = true;
template <class...> using Void = void;
// Words of a struct that mean something: all, or as many as it says.
template <class T, class = void> constexpr int WORDS_OF = sizeof(T) / 4;
template <class T> constexpr int WORDS_OF<T, Void<decltype(T::WORDS)>> = T::WORDS;
template <class T, class F> RS_DEVICE T each_word_of(T value, const F &exchange) {
  union Words {
    T value;
    u32 word[sizeof(T) / 4];
  } words;
  words.value = value;
#pragma unroll
  for (int i = 0; i < WORDS_OF<T>; i++)
    words.word[i] = exchange(words.word[i]);
  return words.value;
}
template <class T> RS_DEVICE T shuffle_xor(T value, int mask) {
  if constexpr (is_number<T>)
    return __shfl_xor_sync(~0u, value, mask);
  else
    return each_word_of(value, [&](u32 word) { return __shfl_xor_sync(~0u, word, mask); });
}
template <class T> RS_DEVICE T shuffle_down(T value) { // from the next lane; lane 31 keeps its own
  if constexpr (is_number<T>)
    return __shfl_down_sync(~0u, value, 1);
  else
    return each_word_of(value, [&](u32 word) { return __shfl_down_sync(~0u, word, 1); });
}
template <class T> RS_DEVICE T shuffle_from(T value, int lane) {
  if constexpr (is_number<T>)
    return __shfl_sync(~0u, value, lane);
  else
    return each_word_of(value, [&](u32 word) { return __shfl_sync(~0u, word, lane); });
}

// Waits for the other lanes of the warp; orders their accesses to shared memory.
RS_DEVICE void warp_barrier() {
  __syncwarp();
}
// Waits for all threads of the block; orders their accesses to shared memory.
RS_DEVICE void block_barrier() {
  __syncthreads();
}

// Whether any lane of the warp says so.
RS_DEVICE bool any_lane(bool mine) {
  return __any_sync(~0u, mine);
}
// What all lanes say alike, so that the compiler knows it: else it takes a branch on it for one that may part them, and
// makes a second copy of each exchange after it. All 32 lanes must come here.
RS_DEVICE bool alike(bool all) {
  return __all_sync(~0u, all);
}

// Words through which blocks tell one another: each word is whole, and nothing else is ordered by it.
RS_DEVICE u64 word_add(u64 *at, u64 value) { // returns what was there
  // Where ptxas does not see that one lane asks, it has the lanes add up first, and wait at once for the answer to hand
  // it round: unless they may add different values, for all it knows.
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return atomicAdd(at, value + lane / 32);
}
RS_DEVICE u64 word_peek(const u64 *at) { // for one who waits: another block may have told something since
  u64 value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
// A word that was asked for, where it is needed: what is made of it is not made before, which would wait for it.
RS_DEVICE u64 word_answer(u64 word) {
  asm volatile("" : "+l"(word));
  return word;
}
RS_DEVICE void word_peek_if(u64 &value, const u64 *at, bool now) { // no branch: several are under way at a time
  asm volatile("{\n"
               ".reg .pred now;\n"
               "setp.ne.u32 now, %2, 0;\n"
               "@now ld.relaxed.gpu.global.u64 %0, [%1];\n"
               "}"
               : "+l"(value)
               : "l"(at), "r"((u32)now)
               : "memory");
}
RS_DEVICE void word_tell(u64 *at, u64 value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

// For one thread: who sees what it writes after sees what it wrote before, and it reads anew.
RS_DEVICE void word_fence() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

// For tests of schedules, where a source defines RS_DELAYS: one call in four takes up to 16 us.
RS_DEVICE void delay() {
#ifdef RS_DELAYS
  u32 random = (u32)clock64() * 2654435761u ^ (blockIdx.x * 40503u + threadIdx.x / 32) * 2246822519u;
  if (random >> 30 == 0)
    for (long long until = clock64() + (random & 0x7fff); clock64() < until;)
      ;
#endif
}

// A word of 1, 2, 4, 8 or 16 bytes, for accesses of that width.
struct alignas(16) u128 {
  u32 part[4];
};
template <int BYTES> struct Word;
template <> struct Word<1> { using type = u8; };
template <> struct Word<2> { using type = u16; };
template <> struct Word<4> { using type = u32; };
template <> struct Word<8> { using type = u64; };
template <> struct Word<16> { using type = u128; };

// Loads of global memory that is used once, and need not displace anything from the caches. Stores are ordinary: lines
// that stay in L2 a while are written back in larger runs (rows of 4096 f32 on an H200: 0.961 of memcpy with st.cs,
// 0.969 so).
template <class W> RS_DEVICE W load_stream(const W *at) {
  return __ldcs(at);
}
RS_DEVICE u128 load_stream(const u128 *at) {
  uint4 v = __ldcs(reinterpret_cast<const uint4 *>(at));
  return {v.x, v.y, v.z, v.w};
}
template <class W> RS_DEVICE void store_word(W *at, W value) {
  *at = value;
}
RS_DEVICE void store_word(u128 *at, u128 value) {
  *reinterpret_cast<uint4 *>(at) = make_uint4(value.part[0], value.part[1], value.part[2], value.part[3]);
}

// One word from global to shared memory, past the registers from sm_80 on where it has 4 bytes or more: the thread
// itself, and nobody else yet, sees it there after fetch_wait().
template <class T> RS_DEVICE void fetch(T *to, const T *from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
  else if constexpr (sizeof(T) >= 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
                 "n"(sizeof(T))
                 : "memory");
  else
#endif
    *to = load_stream(from);
}
RS_DEVICE void fetch_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// The compiler forgets what it has worked out from `word`: for what is cheaper to work out twice than to keep.
RS_DEVICE void forget(u32 &word) {
  asm volatile("" : "+r"(word));
}

// Of the 64 bits of high and low, the 32 that begin `bits` above the lowest, and those that end as many below the
// highest. bits: modulo 32.
RS_DEVICE u32 funnel_right(u32 low, u32 high, u32 bits) {
  return __funnelshift_r(low, high, bits);
}
RS_DEVICE u32 funnel_left(u32 low, u32 high, u32 bits) {
  return __funnelshift_l(low, high, bits);
}

// Byte k of a word, the lowest first: with its sign, and without. And the lowest bytes of four, as one word.
RS_DEVICE i32 signed_byte(u32 word, u32 k) {
  i32 value;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(value) : "r"(word), "r"(0x8880 + 0x1111 * k));
  return value;
}
RS_DEVICE u32 unsigned_byte(u32 word, u32 k) {
  return __byte_perm(word, 0, 0x4440 + k);
}
RS_DEVICE u32 pack_bytes(u32 a, u32 b, u32 c, u32 d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

// to, and the bytes of a word whose byte of `which` is 1, of others 0: without a sign, and with one.
// As PTX, since NVRTC 11.8 leaves __dp4a() to a library that it does not link.
RS_DEVICE u32 add_bytes(u32 bytes, u32 which, u32 to) {
  u32 sum;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(bytes), "r"(which), "r"(to));
  return sum;
}
RS_DEVICE u32 add_signed_bytes(u32 bytes, u32 which, u32 to) {
  u32 sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(bytes), "r"(which), "r"(to));
  return sum;
}

// Conversions; each rounds once, to nearest even.
RS_DEVICE u32 float_bits(f32 value) {
  return __float_as_uint(value);
}
RS_DEVICE f32 float_from_bits(u32 bits) {
  return __uint_as_float(bits);
}
RS_DEVICE f32 float_toward_zero(f64 value) { // these two do not round to nearest
  return __double2float_rz(value);
}
RS_DEVICE f32 float_toward_zero(i64 value) {
  return __ll2float_rz(value);
}
// So that rounding once more, to a type of at most 22 significant bits, gives what rounding once would: toward zero,
// with the last bit set if anything was lost (rounding to odd).
RS_DEVICE f32 float_to_odd(f64 value) {
  f32 kept = float_toward_zero(value);
  return (f64)kept == value || value != value ? kept : float_from_bits(float_bits(kept) | 1);
}
RS_DEVICE i64 nearest_whole(f32 value) { // the highest or the lowest, beyond; of a NaN the lowest
  return __float2ll_rn(value);
}
RS_DEVICE i64 nearest_whole(f64 value) {
  return __double2ll_rn(value);
}
RS_DEVICE f32 half_to_float(u16 bits) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
RS_DEVICE u16 float_to_half(f32 value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
RS_DEVICE u16 float_to_half(f64 value) {
  u16 bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
  return bits;
}
RS_DEVICE u16 float_to_bfloat(f32 value) {
#if __CUDA_ARCH__ >= 900
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  u32 bits = float_bits(value);
  return value != value ? (u16)0x7fff : (u16)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
#endif
}
RS_DEVICE u16 float_to_bfloat(f64 value) {
#if __CUDA_ARCH__ >= 900
  u16 bits;
  asm("cvt.rn.bf16.f64 %0, %1;" : "=h"(bits) : "d"(value));
  return bits;
#else
  return float_to_bfloat(float_to_odd(value));
#endif
}

// a * b + c: of floats with one rounding, of integers modulo 2^32 and 2^64.
RS_DEVICE f32 fused(f32 a, f32 b, f32 c) {
  return __fmaf_rn(a, b, c);
}
RS_DEVICE f64 fused(f64 a, f64 b, f64 c) {
  return __fma_rn(a, b, c);
}
RS_DEVICE u32 fused(u32 a, u32 b, u32 c) {
  return a * b + c;
}
RS_DEVICE u64 fused(u64 a, u64 b, u64 c) {
  return a * b + c;
}

RS_DEVICE f32 absolute(f32 x) {
  return fabsf(x);
}
RS_DEVICE f64 absolute(f64 x) {
  return fabs(x);
}
// The smaller one; of a NaN and a number the number.
RS_DEVICE f32 smaller(f32 a, f32 b) {
  return fminf(a, b);
}
RS_DEVICE f64 smaller(f64 a, f64 b) {
  return fmin(a, b);
}
// The larger one, or a NaN if either is one; of zeros either.
RS_DEVICE f32 larger(f32 a, f32 b) {
#if __CUDA_ARCH__ >= 800
  f32 c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
#else
  return a > b || a != a ? a : b;
#endif
}
RS_DEVICE f64 larger(f64 a, f64 b) {
  return a > b || a != a ? a : b;
}

// Two at once, the first in the lower half.
RS_DEVICE u32 floats_to_halves(f32 low, f32 high) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return float_to_half(low) | (u32)float_to_half(high) << 16;
#endif
}
RS_DEVICE u32 floats_to_bfloats(f32 low, f32 high) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return float_to_bfloat(low) | (u32)float_to_bfloat(high) << 16;
#endif
}

// Bulk copies, from sm_90 and CUDA 12 on, between global and shared memory; addresses and bytes are multiples of 16. An
// Arrival tells when loads are there: each use is a phase, and waiting names it by its number's last bit.
#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ >= 12
#define RS_BULK 1
#else
#define RS_BULK 0
#endif
#define RS_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

RS_DEVICE u32 shared_address(const void *at) {
  return (u32)__cvta_generic_to_shared(at);
}
// A word to shared memory. By hand, since the compiler may cut 16 bytes into four words of 4, and then the lanes of a
// warp get into one another's way: bf16, 32768 rows of 65536 on an H200, 0.947 of memcpy with the compiler's words,
// 0.985 with these.
template <class T> RS_DEVICE void share_word(T *at, T value) {
  *at = value;
}
template <> RS_METHOD void share_word<u128>(u128 *at, u128 value) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(at)), "r"(value.part[0]),
               "r"(value.part[1]), "r"(value.part[2]), "r"(value.part[3])
               : "memory");
}

// A word from shared to global memory. By hand for the same reason: 16 bytes would go in four stores.
RS_DEVICE void send(u128 *to, const u128 *from) {
  asm volatile("{\n"
               ".reg .b32 part<4>;\n"
               "ld.shared.v4.b32 {part0, part1, part2, part3}, [%1];\n"
               "st.global.v4.b32 [%0], {part0, part1, part2, part3};\n"
               "}" ::"l"(to),
               "r"(shared_address(from))
               : "memory");
}

struct Arrival {
  u64 state;
};
// One thread prepares them, then all pass a block_barrier(). A phase ends when `parties` have signalled and all bytes
// that one of them expects have come.
RS_DEVICE void arrivals_init(Arrival *arrivals, int count, u32 parties = 1) {
  for (int i = 0; i < count; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(arrivals + i)), "r"(parties)
                 : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// What the thread wrote to shared memory before is seen by those who wait for the phase.
RS_DEVICE void arrival_signal(Arrival *arrival) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(arrival)) : "memory");
}
// A signal, and that `bytes` will come; the same thread then starts the copies that bring them.
RS_DEVICE void arrival_expect(Arrival *arrival, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrival)), "r"(bytes)
               : "memory");
}
RS_DEVICE void arrival_wait(Arrival *arrival, u32 phase) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "WAIT_%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra WAIT_%=;\n"
               "}" ::"r"(shared_address(arrival)),
               "r"(phase & 1)
               : "memory");
}
RS_DEVICE void bulk_load(void *to, const void *from, u32 bytes, Arrival *arrival) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(arrival))
               : "memory");
}
// To L2 only; nobody waits for it.
RS_DEVICE void bulk_prefetch(const void *from, u32 bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
// Between a warp's own accesses to shared memory and bulk copies: what it wrote, stores that are started next have; and
// what it read, no load overwrites that is started once others know that it is past this. A signal alone does not
// promise the latter: it passes reads that are still on their way, and then a load may, too. Seen on an H200: one tile
// in a million had elements of the tile that came to its place.
RS_DEVICE void bulk_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
}
RS_DEVICE void bulk_store(void *to, const void *from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
               "cp.async.bulk.commit_group;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
// Until at most PENDING of the calling warp's bulk stores, which its first lane has started, still read shared memory.
template <int PENDING> RS_DEVICE void bulk_wait() {
  if ((threadIdx.x & 31) == 0)
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
  __syncwarp();
}
// Until at most PENDING of the calling thread's bulk stores still read shared memory; for stores that several lanes
// have started.
template <int PENDING = 0> RS_DEVICE void bulk_wait_own() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}
