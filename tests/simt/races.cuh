// races.cuh - what -fsanitize=thread calls at each access, for races.c instead of ThreadSanitizer's runtime
// SPDX-License-Identifier: MIT
//
// Read by device.cuh where SIMT_RACES is defined. Only accesses to shared memory of the block go on to the simulator.
#pragma once

#define SIMT_HOOK extern "C" __attribute__((visibility("hidden"), no_sanitize_thread))

static inline __attribute__((no_sanitize_thread)) bool simt_within(const void *at, const void *all, unsigned bytes) {
  return reinterpret_cast<unsigned long>(at) - reinterpret_cast<unsigned long>(all) < bytes;
}

static inline __attribute__((no_sanitize_thread)) void simt_used(const void *at, unsigned long bytes, int write) {
  if (simt_within(at, simt->dynamic, simt->dynamic_bytes) || simt_within(at, simt->fixed, simt->fixed_bytes))
    simt->used(at, bytes, write);
}

#define SIMT_HOOKS(bytes)                                                                                              \
  SIMT_HOOK void __tsan_read##bytes(void *at) {                                                                        \
    simt_used(at, bytes, 0);                                                                                           \
  }                                                                                                                    \
  SIMT_HOOK void __tsan_write##bytes(void *at) {                                                                       \
    simt_used(at, bytes, 1);                                                                                           \
  }                                                                                                                    \
  SIMT_HOOK void __tsan_unaligned_read##bytes(void *at) {                                                              \
    simt_used(at, bytes, 0);                                                                                           \
  }                                                                                                                    \
  SIMT_HOOK void __tsan_unaligned_write##bytes(void *at) {                                                             \
    simt_used(at, bytes, 1);                                                                                           \
  }
SIMT_HOOKS(1)
SIMT_HOOKS(2)
SIMT_HOOKS(4)
SIMT_HOOKS(8)
SIMT_HOOKS(16)
#undef SIMT_HOOKS

SIMT_HOOK void __tsan_read_range(void *at, unsigned long bytes) {
  simt_used(at, bytes, 0);
}
SIMT_HOOK void __tsan_write_range(void *at, unsigned long bytes) {
  simt_used(at, bytes, 1);
}
SIMT_HOOK void __tsan_init() {
}
SIMT_HOOK void __tsan_func_entry(void *) {
}
SIMT_HOOK void __tsan_func_exit() {
}
#undef SIMT_HOOK
