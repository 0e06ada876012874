/*
 * stage_slots.h - streams and memory for pieces, which a context keeps from one scan of host memory to the next
 * SPDX-License-Identifier: MIT
 *
 * Pinning memory takes longer than scanning a small array does. A scan takes a set of slots, or makes one, and lays it
 * back; so there are as many sets as there were scans at a time, and a few of them stay until the context is closed.
 * The device's CUDA context is current in every call but rs_slots_init.
 */
#ifndef RS_STAGE_SLOTS_H
#define RS_STAGE_SLOTS_H

#include <pthread.h>
#include <stdbool.h>

#include "gpu/memory.h"

enum { RS_SLOTS = 3 };

/* A stream of its own, and memory on both sides: none at first, and then more and more. */
typedef struct rs_slot {
  CUstream stream;
  CUdeviceptr device;
  char *pinned;
  int64_t device_bytes, pinned_bytes;
} rs_slot;

typedef struct rs_slots {
  rs_slot slot[RS_SLOTS];
  struct rs_slots *next;
} rs_slots;

typedef struct rs_slots_kept {
  pthread_mutex_t lock;
  rs_slots *idle; /* the last that was used comes first */
  int count;
} rs_slots_kept;

void rs_slots_init(rs_slots_kept *kept);
void rs_slots_close(rs_slots_kept *kept, const rs_device_memory *memory);

/* NULL: no memory. */
rs_slots *rs_slots_take(rs_slots_kept *kept);

/* whole: nothing has failed, and nothing is under way. Else it waits for what is, and the set is not kept. */
void rs_slots_give(rs_slots_kept *kept, const rs_device_memory *memory, rs_slots *slots, bool whole);

/* Of a set, on the GPU. */
int64_t rs_slots_bytes(const rs_slots *slots);

/*
 * Gives a slot a stream, and memory for so many bytes; to grow rarely it takes more of what it is short of, but `most`
 * at most. Where the GPU has none left, sets that nobody uses are freed. What is new on the GPU is clear.
 */
rowscan_status rs_slot_ready(rs_slots_kept *kept, const rs_device_memory *memory, rs_slot *slot, int64_t device_bytes,
                             int64_t pinned_bytes, int64_t most);

#endif
