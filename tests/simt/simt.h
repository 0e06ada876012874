/*
 * simt.h - what a test may ask of the simulated driver and the simulated NVRTC
 * SPDX-License-Identifier: MIT
 *
 * The functions are in the simulated libraries, so get them with dlsym: dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD),
 * and a library without them is a real one.
 */
#ifndef SIMT_H
#define SIMT_H

#define SIMT_EXPORT __attribute__((visibility("default")))

/*
 * The driver. simt_fail: from now on the nth call (1 is the next) of `symbol`, or of any if it is NULL, fails with
 * `error`; once. nth 0: none does. What frees or closes something does so before it fails. simt_fired: whether that has
 * happened. SIMT_FAIL=symbol:nth:error in the environment does the same; the symbol * is any.
 */
SIMT_EXPORT void simt_fail(const char *symbol, long nth, int error);
SIMT_EXPORT const char *simt_fired(void);

/* Calls so far, of one symbol or (NULL) of all. */
SIMT_EXPORT long simt_calls(const char *symbol);

/*
 * Objects that nobody has freed: memory, pinned memory, streams, events, modules, graphs, user objects, retained
 * contexts, contexts that this thread has pushed. simt_leaks_text says which, until the next call.
 */
SIMT_EXPORT long simt_leaks(void);
SIMT_EXPORT const char *simt_leaks_text(void);

/* Bytes of device memory in use, and the most there were since simt_memory_reset_peak. */
SIMT_EXPORT unsigned long long simt_memory_in_use(void);
SIMT_EXPORT unsigned long long simt_memory_peak(void);
SIMT_EXPORT void simt_memory_reset_peak(void);

/* The same for NVRTC; leaks are programs. Compiles counts those that ran g++. */
SIMT_EXPORT void simt_nvrtc_fail(const char *symbol, long nth, int error);
SIMT_EXPORT const char *simt_nvrtc_fired(void);
SIMT_EXPORT long simt_nvrtc_calls(const char *symbol);
SIMT_EXPORT long simt_nvrtc_leaks(void);
SIMT_EXPORT long simt_nvrtc_compiles(void);

#endif
