// stages.cuh - a ring of stages in shared memory, through which one tile after another goes
// SPDX-License-Identifier: MIT
//
// What some threads do with a stage's tile and others wait for has a gate: that it is there, that it was read, that its
// results were written. A gate is passed once in each round of the ring.
#pragma once
#include "device.cuh"

// Where a tile lies in a ring of so many stages: the k-th that goes through it.
struct RingPlace {
  int stages, stage;
  u32 round; // its last bit is told alone

  template <class I = int>
  RS_METHOD explicit RingPlace(int stages, I k = 0)
      : stages(stages), stage((int)(k % stages)), round((u32)(k / stages)) {
  }
  RS_METHOD void next() {
    if (++stage == stages) {
      stage = 0;
      round ^= 1;
    }
  }
};

// A stage on its way to be filled: by bulk copies, and by what threads write themselves.
struct Filling {
  Arrival *arrival;

  // By one thread, before the copies that bring so many bytes; it counts as a signal.
  RS_METHOD void expect(u32 bytes) const {
    arrival_expect(arrival, bytes);
  }
  template <class T> RS_METHOD void load(T *to, const T *from, u32 bytes) const {
    if (bytes)
      bulk_load(to, from, bytes, arrival);
  }
  RS_METHOD void signal() const {
    arrival_signal(arrival);
  }
};

// COUNT: stages, at most.
template <int COUNT> struct Gate {
  Arrival arrival[COUNT];

  // By one thread; then all pass a block_barrier(). parties: signals that open it, for each tile.
  RS_METHOD void init(u32 parties = 1) {
    arrivals_init(arrival, COUNT, parties);
  }
  RS_METHOD Filling fill(const RingPlace &at) {
    return {arrival + at.stage};
  }
  RS_METHOD void signal(const RingPlace &at) {
    arrival_signal(arrival + at.stage);
  }
  // By one lane for its warp, which has read what a bulk copy will write over, or written what one will take away: the
  // fence is what keeps the copy behind it. All lanes come here.
  RS_METHOD void signal_behind(const RingPlace &at) {
    bulk_fence();
    if (lane_index() == 0)
      signal(at);
  }
  // Until the place's tile has passed; and until the one has that was there a round before.
  RS_METHOD void wait(const RingPlace &at) {
    arrival_wait(arrival + at.stage, at.round);
  }
  RS_METHOD void wait_for_last(const RingPlace &at) {
    arrival_wait(arrival + at.stage, at.round ^ 1);
  }
};
